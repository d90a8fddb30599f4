"""The compiler's estimate of memory against what torch keeps for small models on a CPU."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from pretraining.gpt import GPT
from torch import Tensor, nn

SOURCE = Path(__file__).resolve().parents[4] / "compiler/arguments/footprint.py"
_spec = importlib.util.spec_from_file_location("footprint", SOURCE)
assert _spec is not None
assert _spec.loader is not None
estimates = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(estimates)

VOCABULARY = 512


class OneKernel(torch.autograd.Function):
    """A norm as accelerators have it: of its inside it keeps one number for each token.

    torch, native/cuda/layer_norm_kernel.cu; on a CPU a norm is several operations.
    """

    @staticmethod
    def forward(ctx, x: Tensor, weight: Tensor) -> Tensor:  # type: ignore[no-untyped-def]
        scale = x.float().pow(2).mean(-1, keepdim=True).rsqrt()
        ctx.save_for_backward(x, weight, scale)
        return (x.float() * scale).type_as(x) * weight

    @staticmethod
    def backward(ctx, *_: Tensor) -> tuple[None, None]:  # type: ignore[no-untyped-def]
        return None, None


Made = tuple[nn.Module, Callable[[Tensor], Tensor]]
"""A model, and the loss of tokens under it."""


def gpt(layers: int, width: int, checkpointing: bool = False) -> Made:
    model = GPT(VOCABULARY, layers, width, 4, checkpointing)
    return model, lambda tokens: model(tokens, tokens)


def llama(layers: int, width: int) -> Made:
    # Seconds, which the other tests do without.
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=8 * width // 3,
        num_hidden_layers=layers,
        num_attention_heads=4,
        use_cache=False,
    )
    model = LlamaForCausalLM(config)
    return model, lambda tokens: model(input_ids=tokens, labels=tokens).loss


def kept(made: Made, sequence: int, batch: int) -> int:
    """Bytes that the forward pass keeps for the backward pass; the weights' own do not count."""
    model, forward = made
    own = {parameter.untyped_storage().data_ptr() for parameter in model.parameters()}
    saved: dict[int, Tensor] = {}

    def keep(tensor: Tensor) -> Tensor:
        address = tensor.untyped_storage().data_ptr()
        if address not in own:
            # Held, so that no other tensor gets its address.
            saved[address] = tensor
        return tensor

    tokens = torch.randint(VOCABULARY, (batch, sequence))
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        forward(tokens)
    return sum(tensor.untyped_storage().nbytes() for tensor in saved.values())


def estimated(layers: int, width: int, sequence: int, batch: int, **more: bool) -> int:
    """Bytes of activations and logits."""
    shape = estimates.shape_of(layers, width, VOCABULARY)
    made = estimates.footprint(shape, sequence=sequence, micro_batch=batch, precision=4, **more)
    return made.activations + made.logits


SIZES = [(2, 128, 64, 2), (6, 128, 128, 1), (4, 256, 32, 4)]


@pytest.mark.parametrize(("layers", "width", "sequence", "batch"), SIZES)
def test_with_norms_of_one_kernel_the_sum_is_what_torch_keeps(
    layers: int, width: int, sequence: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nn.RMSNorm, "forward", lambda norm, x: OneKernel.apply(x, norm.weight))
    real = kept(gpt(layers, width), sequence, batch)
    assert 1 <= real / estimated(layers, width, sequence, batch) < 1.15


@pytest.mark.parametrize("model", [gpt, llama])
@pytest.mark.parametrize(("layers", "width", "sequence", "batch"), SIZES)
def test_with_the_norms_of_a_cpu_or_of_transformers_the_sum_is_a_lower_bound(
    model: Callable[[int, int], Made],
    layers: int,
    width: int,
    sequence: int,
    batch: int,
) -> None:
    real = kept(model(layers, width), sequence, batch)
    assert 1 <= real / estimated(layers, width, sequence, batch) < 1.25


def test_with_checkpointing_a_block_keeps_what_it_begins_with() -> None:
    # The difference of two depths: what is outside of the blocks is the same in both.
    few, many = (kept(gpt(layers, 128, True), 64, 2) for layers in (2, 6))
    sums = [estimated(layers, 128, 64, 2, checkpointing=True) for layers in (2, 6)]
    assert many - few == sums[1] - sums[0]


@pytest.mark.parametrize(("layers", "width"), [(2, 128), (1, 64)])
def test_weights_gradients_and_optimizer_are_what_torch_allocates(layers: int, width: int) -> None:
    model = GPT(VOCABULARY, layers, width, 4)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(VOCABULARY, (2, 32))
    model(tokens, tokens).backward()
    optimizer.step()
    parameters = sum(parameter.numel() for parameter in model.parameters())
    shape = estimates.shape_of(layers, width, VOCABULARY)
    # Norms are all that the shape leaves out.
    assert abs(shape.parameters / parameters - 1) < 0.01
    made = estimates.footprint(shape._replace(parameters=parameters), sequence=1, micro_batch=1)
    assert made.weights == sum(p.nbytes for p in model.parameters())
    assert made.gradients == sum(p.grad.nbytes for p in model.parameters() if p.grad is not None)
    assert made.optimizer == sum(
        tensor.nbytes
        for state in optimizer.state.values()
        for name, tensor in state.items()
        if name != "step"
    )
