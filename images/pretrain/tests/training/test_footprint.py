"""The compiler's estimate of memory against what torch allocates for a small GPT on a CPU."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention

SOURCE = Path(__file__).resolve().parents[4] / "compiler/arguments/footprint.py"
_spec = importlib.util.spec_from_file_location("footprint", SOURCE)
assert _spec is not None
assert _spec.loader is not None
estimates = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(estimates)

VOCABULARY = 512
HEADS = 4


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.before = nn.LayerNorm(width, bias=False)
        self.mix = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.between = nn.LayerNorm(width, bias=False)
        self.up = nn.Linear(width, 4 * width, bias=False)
        self.down = nn.Linear(4 * width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, sequence, width = x.shape
        parts = self.mix(self.before(x)).view(batch, sequence, 3, HEADS, width // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, sequence, width))
        return x + self.down(gelu(self.up(self.between(x))))


class Decoder(nn.Module):
    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.last = nn.LayerNorm(width, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.last(x) @ self.embedding.weight.T


def trained(layers: int, width: int, sequence: int, batch: int) -> tuple[nn.Module, list[int], int]:
    """A model after a step, its bytes (weights, gradients, optimizer), and those of activations."""
    model = Decoder(layers, width)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(VOCABULARY, (batch, sequence))
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    saved: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in own:
            # Held, so that no other tensor gets its address.
            saved[storage.data_ptr()] = tensor
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        loss = cross_entropy(model(tokens).flatten(0, 1), tokens.flatten())
    activations = sum(tensor.untyped_storage().nbytes() for tensor in saved.values())
    loss.backward()
    optimizer.step()
    weights = sum(p.nbytes for p in model.parameters())
    gradients = sum(p.grad.nbytes for p in model.parameters() if p.grad is not None)
    states = sum(
        tensor.nbytes
        for state in optimizer.state.values()
        for name, tensor in state.items()
        if name != "step"
    )
    return model, [weights, gradients, states], activations


@pytest.mark.parametrize(
    ("layers", "width", "sequence", "batch"),
    [(2, 128, 64, 2), (6, 128, 128, 1), (4, 256, 32, 4), (1, 64, 256, 3)],
)
def test_the_sum_is_what_torch_allocates(
    layers: int, width: int, sequence: int, batch: int
) -> None:
    model, measured, activations = trained(layers, width, sequence, batch)
    parameters = sum(p.numel() for p in model.parameters())
    shape = estimates.shape_of(layers, width, VOCABULARY)
    # Norms are all that the shape leaves out.
    assert abs(shape.parameters / parameters - 1) < 0.01
    made = estimates.footprint(
        shape._replace(parameters=parameters), sequence=sequence, micro_batch=batch, precision=4
    )
    assert [made.weights, made.gradients, made.optimizer] == measured
    assert made.gathered == 0
    assert abs((made.activations + made.logits) / activations - 1) < 0.1
