"""The arithmetic of a step against plain programs that share none of it."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from finetuning import madeup, modeling, schedule
from finetuning.chat import Chat
from finetuning.preferences import Preferences
from finetuning.rows import Listed
from launching import until
from runwright_runtime.distributed import World
from torch import nn
from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, SequentialLR
from tunings import COLOURS, Tuner, arguments, asked, events, same, saved, steps, write

STEPS, WARM, RATE = 8, 2, 0.01


def learned(folder: Path, step: int) -> dict[str, torch.Tensor]:
    return {
        name.removeprefix("model."): tensor
        for name, tensor in saved(folder, step).items()
        if name.startswith("model.")
    }


def scheduled(optimizer: torch.optim.Optimizer, total: int, warm: int) -> SequentialLR:
    """torch's own schedulers, put together."""
    rising = LinearLR(optimizer, 1 / (warm + 1), total_iters=warm)
    falling = CosineAnnealingLR(optimizer, total - warm)
    return SequentialLR(optimizer, [rising, falling], [warm])


def plainly(rows: list[dict[str, Any]]) -> dict[str, torch.Tensor]:
    """A training on all rows in each step, one after the other, with nothing around the model."""
    model = madeup.model(madeup.config(), 0).train()
    tokenizer = madeup.tokenizer()
    matrices = [one for one in model.parameters() if one.ndim > 1]
    vectors = [one for one in model.parameters() if one.ndim == 1]
    optimizer = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0}], RATE
    )
    rates = scheduled(optimizer, STEPS, WARM)
    for _ in range(STEPS):
        losses: list[torch.Tensor] = []
        for row in rows:
            question, answer = (message["content"] for message in row["messages"])
            asks = f"<|begin|>user\n{question}<|end|><|begin|>assistant\n"
            before = tokenizer(asks)["input_ids"]
            ids = torch.tensor([before + tokenizer(f"{answer}<|end|>")["input_ids"]])
            scores = torch.log_softmax(model(input_ids=ids, use_cache=False).logits[0], -1)
            losses += [-scores[at - 1, ids[0, at]] for at in range(len(before), ids.shape[1])]
        torch.stack(losses).mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        rates.step()
        optimizer.zero_grad()
    return model.state_dict()


def test_a_tuning_is_what_a_plain_program_does(tuner: Tuner, tmp_path: Path) -> None:
    # Answers of unlike lengths: the mean over samples would be another one than that over tokens.
    rows = [asked(thing, colour * (1 + at)) for at, (thing, colour) in enumerate(COLOURS.items())]
    data = write(tmp_path / "data.jsonl", *rows)
    shared = ["--model=made-up", f"--data={data}", "--sequence-length=128", "--no-packing",
              "--precision=fp32", "--workers=0", "--no-export", f"--learning-rate={RATE}",
              f"--max-steps={STEPS}", f"--warmup={WARM / STEPS}", "--weight-decay=0.1",
              "--max-gradient-norm=0.5", "--global-batch=4"]  # fmt: skip
    wanted = plainly(rows)
    begun = madeup.model(madeup.config(), 0).state_dict()
    nodes = [
        tuner.start(tmp_path / "alone", *shared, "--micro-batch=1"),
        tuner.start(tmp_path / "none", *shared, "--sharding=none", processes=2),
        tuner.start(tmp_path / "full", *shared, "--micro-batch=2", processes=2),
    ]
    for node, name in zip(nodes, ("alone", "none", "full"), strict=True):
        assert node.wait() == 0, node.text
        found = learned(tmp_path / name, STEPS)
        assert found.keys() == wanted.keys()
        for key, tensor in wanted.items():
            torch.testing.assert_close(found[key], tensor, rtol=1e-3, atol=3e-5, msg=key)
            assert not torch.allclose(begun[key], tensor, atol=1e-3), key


@pytest.mark.parametrize(("total", "warm"), [(10, 3), (7, 0), (40, 1)])
def test_the_learning_rate_is_that_of_the_schedulers_of_torch(total: int, warm: int) -> None:
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], 1.0)
    rates = scheduled(optimizer, total, warm) if warm else CosineAnnealingLR(optimizer, total)
    for step in range(total):
        (wanted,) = rates.get_last_lr()
        assert schedule.rate("cosine", step, total, warm / total) == pytest.approx(wanted)
        optimizer.step()
        rates.step()


def test_other_schedules_fall_evenly_or_stay() -> None:
    linear = [schedule.rate("linear", step, 6, 2 / 6) for step in range(6)]
    assert linear == pytest.approx([1 / 3, 2 / 3, 1, 0.75, 0.5, 0.25])
    constant = [schedule.rate("constant", step, 4, 0.25) for step in range(4)]
    assert constant == [0.5, 1, 1, 1]


def scored(model: nn.Module, prompt: str, answer: str) -> float:
    """The log-probability of an answer, token by token, without batch or mask."""
    tokenizer = madeup.tokenizer()
    asks = f"<|begin|>user\n{prompt}<|end|><|begin|>assistant\n"
    before = tokenizer(asks)["input_ids"]
    ids = torch.tensor([before + tokenizer(f"{answer}<|end|>")["input_ids"]])
    with torch.no_grad():
        scores = torch.log_softmax(model(input_ids=ids).logits[0].double(), -1)
    return sum(float(scores[at - 1, ids[0, at]]) for at in range(len(before), ids.shape[1]))


def test_the_loss_of_preferences_is_that_of_the_formula(world: World) -> None:
    rows = madeup.preferences()
    args = arguments(method="dpo", dpo_beta=0.3)
    task = Preferences(args, Listed(rows, "it"), Chat(madeup.tokenizer()), world)
    first = madeup.model(madeup.config(), 1).eval()
    session = SimpleNamespace(world=world, run=None, device=torch.device("cpu"))
    task.refer(first, 5, session, "it")  # type: ignore[arg-type]
    texts = [(row["prompt"][0]["content"], row["chosen"], row["rejected"]) for row in rows]  # type: ignore[index]
    reference = [
        [scored(first, str(prompt), str(answer)) for answer in answers]
        for prompt, *answers in texts
    ]
    assert task.reference is not None
    torch.testing.assert_close(
        task.reference, torch.tensor(reference, dtype=torch.float64), rtol=1e-5, atol=1e-4
    )
    tuned = madeup.model(madeup.config(), 2).eval()
    samples = [7, 0, 3]
    with torch.no_grad():
        loss, margin, accuracy = task.measure(tuned, task.batch(samples))
    gains = [
        [scored(tuned, str(texts[at][0]), str(texts[at][which])) - reference[at][which - 1]
         for which in (1, 2)]
        for at in samples
    ]  # fmt: skip
    margins = torch.tensor([0.3 * (chosen - rejected) for chosen, rejected in gains])
    assert float(margin) == pytest.approx(float(margins.sum()), abs=1e-3)
    assert float(accuracy) == int((margins > 0).sum())
    assert float(loss) == pytest.approx(
        float(-torch.log(1 / (1 + torch.exp(-margins))).sum()), rel=1e-4
    )


def test_preferences_widen_the_margin_and_go_on_to_the_bit(tuner: Tuner, tmp_path: Path) -> None:
    words = ["--model=made-up", "--data=made-up", "--eval-data=made-up", "--sequence-length=128",
             "--precision=fp32", "--workers=0", "--no-export", "--learning-rate=0.005",
             "--micro-batch=4", "--global-batch=4", "--eval-every=15", "--max-steps=30",
             "--tuning=lora", "--no-activation-checkpointing", "--log-every=1"]  # fmt: skip
    killed = tuner.start(tmp_path / "a", *words, script="dpo.py", every=1, pause=0.25)
    until(lambda: events(tmp_path / "a", "saved"), killed)
    killed.kill()
    killed.wait()
    reference = tmp_path / "a" / "reference.json"
    before = reference.stat().st_mtime_ns
    again = tuner.start(tmp_path / "a", *words, script="dpo.py")
    # The same by the argument of the other entry.
    whole = tuner.start(tmp_path / "b", *words, "--method=dpo")
    assert (again.wait(), whole.wait()) == (0, 0), again.text
    (resumed,) = events(tmp_path / "a", "resumed")
    assert 0 < resumed["step"] < 30
    assert same(saved(tmp_path / "a", 30), saved(tmp_path / "b", 30))
    # Computed once, by the model as it began.
    assert reference.stat().st_mtime_ns == before
    assert json.loads(reference.read_bytes()) == json.loads(
        (tmp_path / "b" / "reference.json").read_bytes()
    )
    first, last = events(tmp_path / "b", "evaluated")
    assert 0 < first["eval_margin"] < last["eval_margin"]
    assert last["eval_accuracy"] == 1
    # In the first step both models are one: the loss is that of a guess.
    assert steps(tmp_path / "b")[1]["loss"] == pytest.approx(torch.log(torch.tensor(2.0)).item())
    assert last["eval_loss"] < 0.3


def test_only_what_is_multiplied_counts_as_arithmetic() -> None:
    model = madeup.model(madeup.config(), 0)
    # 2 blocks: 4 projections of the attention (of 2 heads of keys and values), 3 of the MLP, 2
    # norms; a norm and the output. 6 for each weight, 12 for each layer, width and token.
    block = 64 * 64 * 2 + 2 * 64 * 32 + 3 * 64 * 128 + 2 * 64
    wanted = 6 * (2 * block + 64 + 64 * 259) + 12 * 2 * 64 * 50
    assert modeling.flops_per_token(model, madeup.config(), 50) == wanted
