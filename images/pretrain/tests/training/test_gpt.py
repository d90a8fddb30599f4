"""The model against one that is written another way, and the arithmetic that is counted for it."""

from __future__ import annotations

import math

import pytest
import torch
from pretraining.gpt import GPT, IGNORED
from pretraining.sharding import flops_per_token, sharded
from pretraining.training import Training
from pretrainings import LENGTH, arguments
from runwright_runtime.session import Session
from torch import Tensor
from torch.distributed.tensor import DTensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


def plain(weights: dict[str, Tensor], tokens: list[int], layers: int, heads: int) -> Tensor:
    """Logits of a sequence in float64: head by head, position by position, complex rotations."""
    weights = {name: tensor.double() for name, tensor in weights.items()}

    def normed(x: Tensor, name: str) -> Tensor:
        eps = torch.finfo(torch.float32).eps
        return x / (x.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weights[f"{name}.weight"]

    def turned(vector: Tensor, position: int) -> Tensor:
        half = len(vector) // 2
        angles = [position / 10_000 ** (2 * i / len(vector)) for i in range(half)]
        turn = torch.tensor([complex(math.cos(a), math.sin(a)) for a in angles])
        made = torch.complex(vector[:half], vector[half:]) * turn.to(torch.complex128)
        return torch.cat([made.real, made.imag])

    x = weights["embedding.weight"][tokens]
    width = x.shape[1]
    size = width // heads
    for layer in range(layers):
        at = f"blocks.{layer}"
        mixed = normed(x, f"{at}.before") @ weights[f"{at}.mix.weight"].T
        outs: list[Tensor] = []
        for head in range(heads):
            columns = [slice(part * width + head * size, part * width + (head + 1) * size)
                       for part in range(3)]  # fmt: skip
            query, key, value = (mixed[:, one] for one in columns)
            rows: list[Tensor] = []
            for position in range(len(tokens)):
                q = turned(query[position], position)
                seen = torch.stack([turned(key[p], p) for p in range(position + 1)])
                share = torch.softmax(seen @ q / math.sqrt(size), 0)
                rows.append(share @ value[: position + 1])
            outs.append(torch.stack(rows))
        x = x + torch.cat(outs, 1) @ weights[f"{at}.out.weight"].T
        inner = normed(x, f"{at}.between") @ weights[f"{at}.up.weight"].T
        inner = inner * (1 + torch.erf(inner / math.sqrt(2))) / 2
        x = x + inner @ weights[f"{at}.down.weight"].T
    # The embedding is the output, too.
    return normed(x, "last") @ weights["embedding.weight"].T


def random_model() -> GPT:
    torch.manual_seed(1)
    model = GPT(vocabulary=31, layers=2, width=24, heads=3)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + (parameter.ndim == 1))
    return model


def test_the_model_is_what_it_says() -> None:
    model = random_model()
    tokens = torch.randint(31, (2, 12))
    logits = model(tokens)
    for row in range(2):
        expected = plain(model.state_dict(), tokens[row].tolist(), 2, 3)
        torch.testing.assert_close(logits[row].double(), expected, rtol=1e-4, atol=1e-4)
    targets = torch.randint(31, (2, 12))
    targets[1, 7:] = IGNORED
    chosen = torch.log_softmax(logits.double(), -1)
    lost = [
        -chosen[row, at, int(targets[row, at])]
        for row in range(2)
        for at in range(12)
        if targets[row, at] != IGNORED
    ]
    assert model(tokens, targets).item() == pytest.approx(sum(one.item() for one in lost), rel=1e-5)


def test_what_comes_later_does_not_change_what_was_foretold() -> None:
    model = random_model()
    tokens = torch.randint(31, (1, 12))
    other = tokens.clone()
    other[0, 8:] = (other[0, 8:] + 1) % 31
    one, two = model(tokens), model(other)
    torch.testing.assert_close(one[:, :8], two[:, :8])
    assert not torch.allclose(one[:, 8:], two[:, 8:])


def test_new_weights_have_the_scale_of_gpt2_and_foretell_nothing(session: Session) -> None:
    args = arguments("--width=128", "--layers=8", "--heads=4", "--vocabulary=1024")
    model = sharded(args, session.world)
    for name, parameter in model.named_parameters():
        found = whole(parameter).detach()
        if found.ndim == 1:
            assert torch.equal(found, torch.ones(128)), name
            continue
        # Four of each block lie in the stream: out and down get 1 / sqrt(2 × 8).
        wanted = 0.02 / 4 if name.endswith(("out.weight", "down.weight")) else 0.02
        assert float(found.std()) == pytest.approx(wanted, rel=0.03), name
        assert abs(float(found.mean())) < 0.001, name
    tokens = torch.randint(1024, (2, LENGTH))
    loss = model(tokens, torch.randint(1024, (2, LENGTH))).item() / (2 * LENGTH)
    assert loss == pytest.approx(math.log(1024), abs=0.1)
    again = sharded(args, session.world)
    other = sharded(args.model_copy(update={"seed": 1}), session.world)
    first, same, others = (whole(m.embedding.weight) for m in (model, again, other))
    assert torch.equal(first, same)
    assert not torch.allclose(first, others)


def test_the_arithmetic_of_mfu_is_what_is_counted(session: Session) -> None:
    args = arguments("--width=32", "--layers=3", "--heads=4", "--vocabulary=64")
    model = sharded(args, session.world)
    tokens = torch.randint(64, (2, LENGTH))
    # Kernels that are not fused are counted product by product.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(tokens, tokens).backward()
    counted = counter.get_total_flops() / tokens.numel()
    assert flops_per_token(model, args) == counted


def whole(tensor: Tensor) -> Tensor:
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def gradients(model: torch.nn.Module) -> list[Tensor]:
    return [whole(p.grad) for p in model.parameters() if p.grad is not None]


@pytest.mark.parametrize(
    ("more", "tolerance"),
    [
        ("--activation-checkpointing", 1e-6),
        ("--precision=bf16", 3e-2),
        ("--compile=always", 1e-4),
        ("--sharding=none", 0.0),
        ("--sharding=hybrid", 0.0),
    ],
)
def test_what_is_only_faster_or_smaller_learns_the_same(
    more: str, tolerance: float, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled = torch.nn.Module.compile
    # The graphs are made and run; a C++ compiler would take a minute for their kernels.
    monkeypatch.setattr(
        torch.nn.Module, "compile", lambda module: compiled(module, backend="aot_eager")
    )
    tokens = torch.arange(4 * LENGTH).view(4, LENGTH) % 64
    found: list[list[Tensor]] = []
    for words in ((), (more,)):
        model = sharded(arguments("--layers=1", *words), session.world)
        loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        found.append([loss.detach(), *gradients(model)])
    plain, other = found
    assert len(plain) == len(other) == 9
    for one, two in zip(plain, other, strict=True):
        assert two.dtype == torch.float32
        scale = max(float(one.abs().max()), 1e-6)
        assert float((one - two).abs().max()) <= tolerance * scale


def test_activations_are_computed_again_only_where_it_is_asked_for(session: Session) -> None:
    def kept(*words: str) -> int:
        model = sharded(arguments(*words), session.world)
        sizes: list[int] = []

        def keep(tensor: Tensor) -> Tensor:
            sizes.append(tensor.numel())
            return tensor

        tokens = torch.zeros(4, LENGTH, dtype=torch.int64)
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            model(tokens, tokens)
        return sum(sizes)

    assert kept("--activation-checkpointing", "--layers=6") < kept("--layers=6") / 3


def test_accumulating_is_one_large_batch(data: object, session: Session) -> None:
    made: list[list[Tensor]] = []
    for micro in (1, 2, 8):
        args = arguments(f"--data={data}", f"--micro-batch={micro}")
        training = Training(args, session)
        # The step takes the last sequence, too, of which only a part counts.
        last = len(training.sequences) - 1
        positions = range(training.order.samples)
        at = next(p for p in positions if training.order.sample(p) == last)
        training.order.consumed = at - 3
        loss, _ = training.step(training.batches())
        weights = [whole(parameter) for parameter in training.model.parameters()]
        made.append([loss, *weights])
    for other in made[1:]:
        for one, two in zip(made[0], other, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-5, atol=1e-6)
