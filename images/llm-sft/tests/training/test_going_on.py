"""A tuning that is killed, stopped or started anew, and what it refuses."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest
from launching import until
from tunings import COLOURS, FAST, Tuner, asked, events, same, saved, steps, write

LORA = ("--tuning=lora", "--lora-rank=4", "--lora-dropout=0.1")

# With a pause after each, these take ten times the second after which the first checkpoint comes.
MANY = 40


def data(folder: Path, colours: dict[str, str] | None = None) -> str:
    rows = [asked(thing, colour) for thing, colour in (colours or COLOURS).items()]
    # Lengths that fill sequences unevenly, so that steps differ.
    rows += [asked(f"thing number {number} of {number * 'many '}", "grey") for number in range(9)]
    return f"--data={write(folder / 'data.jsonl', *rows)}"


def test_a_killed_tuning_goes_on_to_the_bit(tuner: Tuner, tmp_path: Path) -> None:
    """Alone, with masks that are drawn at random and several micro batches in a step."""
    shared = ("--model=made-up", data(tmp_path), *FAST, *LORA, "--micro-batch=1", "--no-export",
              "--log-every=1", f"--max-steps={MANY}")  # fmt: skip
    killed = tuner.start(tmp_path / "a", *shared, every=1, pause=0.25)
    until(lambda: events(tmp_path / "a", "saved"), killed)
    killed.kill()
    killed.wait()
    made = max(steps(tmp_path / "a"))
    again = tuner.start(tmp_path / "a", *shared)
    whole = tuner.start(tmp_path / "b", *shared)
    assert (again.wait(), whole.wait()) == (0, 0), again.text
    (resumed,) = events(tmp_path / "a", "resumed")
    assert 0 < resumed["step"] <= made < MANY
    assert same(saved(tmp_path / "a", MANY), saved(tmp_path / "b", MANY))
    one, other = steps(tmp_path / "a"), steps(tmp_path / "b")
    assert [one[step]["loss"] for step in one] == [other[step]["loss"] for step in other]


def test_a_killed_node_goes_on_to_the_bit_and_with_one_process_nearly(
    tuner: Tuner, tmp_path: Path
) -> None:
    """All weights, shared out over two processes."""
    shared = ("--model=made-up", data(tmp_path), *FAST, "--micro-batch=1", "--no-export",
              "--log-every=1", "--weight-decay=0.1", f"--max-steps={MANY}")  # fmt: skip
    killed = tuner.start(tmp_path / "a", *shared, processes=2, every=1, pause=0.25)
    until(lambda: events(tmp_path / "a", "saved"), killed)
    killed.kill()
    killed.wait()
    shutil.copytree(tmp_path / "a", tmp_path / "c")
    again = tuner.start(tmp_path / "a", *shared, processes=2)
    whole = tuner.start(tmp_path / "b", *shared, processes=2)
    alone = tuner.start(tmp_path / "c", *shared)
    assert (again.wait(), whole.wait(), alone.wait()) == (0, 0, 0), again.text
    assert 0 < events(tmp_path / "a", "resumed")[0]["step"] < MANY
    assert same(saved(tmp_path / "a", MANY), saved(tmp_path / "b", MANY))
    one, other, third = (steps(tmp_path / name) for name in ("a", "b", "c"))
    assert [one[step]["loss"] for step in one] == [other[step]["loss"] for step in other]
    assert {line["world"] for line in third.values()} == {1, 2}
    assert list(third) == list(other)
    losses = [line["loss"] for line in third.values()]
    assert losses == pytest.approx([line["loss"] for line in other.values()], rel=1e-2, abs=1e-3)


def test_a_tuning_that_is_told_to_stop_saves_and_changed_arguments_are_refused(
    tuner: Tuner, tmp_path: Path
) -> None:
    folder = tmp_path / "r1"
    words = ("--model=made-up", data(tmp_path), *FAST, "--max-steps=4000")
    node = tuner.start(folder, *words)
    until(lambda: events(folder, "step"), node)
    node.signal(signal.SIGTERM)
    assert node.wait() == 128 + signal.SIGTERM
    (stopped,) = events(folder, "stopped")
    assert saved(folder, stopped["step"])
    assert not (folder / "export").exists()

    changed = tuner.start(folder, *words, "--learning-rate=0.001", "--log-every=1", "--lora-rank=4")
    assert changed.wait() == 78
    said = "was made with other arguments (learning_rate: 0.005 → 0.001; lora_rank: 16 → 4)"
    assert said in changed.text

    (tmp_path / "other").mkdir()
    other = data(tmp_path / "other", {**COLOURS, "coal": "white"})
    wrong = tuner.start(folder, *words, other)
    assert wrong.wait() == 78
    assert "the data, their template or the tokenizer are not those" in wrong.text

    # With another number of processes a step would have another size, unless it is said.
    none = [word for word in words if not word.startswith("--global")]
    more = tuner.start(folder, *none, "--micro-batch=1", processes=1)
    assert more.wait() == 1
    said = "a step had 2 samples, and would have 1 with 1 processes: give --global_batch=2"
    assert said in more.text
    assert "Traceback" not in changed.text + wrong.text
    assert len(events(folder, "stopped")) == 1
    assert not events(folder, "complete")


@pytest.mark.parametrize(
    ("words", "processes", "said"),
    [
        (["--data=made-up", "--global-batch=3"], 2, "global_batch is 3, and 2 processes with"),
        (["--data={}/data.jsonl"], None, "{}/data.jsonl:2 is no JSON: "),
        (["--data={}/data.jsonl"], 2, "{}/data.jsonl:2 is no JSON: "),
        (["--data={}/none"], None, "there is no file or folder {}/none"),
        (["--model=/models/none"], None, "there is no folder /models/none: is the claim"),
        (["--model={}/broken"], None, "cannot load the tokenizer of {}/broken: "),
        (["--data=made-up", "--sequence-length=1024"], None, "the model has positions for 512"),
        (["--data=made-up", "--eval-data={}/none"], None, "no file or folder {}/none"),
        (
            ["--data=made-up", "--tuning=lora", "--lora-targets=q_prj"],
            None,
            "the model takes no such adapters: ",
        ),
    ],
)
def test_what_cannot_be_learned_is_told_before_the_first_step(
    words: list[str], processes: int | None, said: str, tuner: Tuner, tmp_path: Path
) -> None:
    write(tmp_path / "data.jsonl", asked("coal", "black"), '{"messages": ')
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{")
    given = [word.format(tmp_path) for word in words]
    node = tuner.start(
        tmp_path / "r1", "--model=made-up", "--data=made-up", "--max-steps=9",
        "--sequence-length=128", "--workers=0", *given, processes=processes,
    )  # fmt: skip
    # torchrun makes 1 of it.
    assert node.wait() == (78 if processes is None else 1)
    # Once, whatever the number of processes, and without more than the line.
    (line,) = [line for line in node.text.splitlines() if line.startswith("runwright:")]
    assert said.format(tmp_path) in line
    if processes is None:
        assert "Traceback" not in node.text
    assert not events(tmp_path / "r1", "step")


def test_a_loss_that_is_no_number_ends_the_tuning(base: Path, tuner: Tuner, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(base)
    model.lm_head.weight.data[0, 0] = float("inf")
    model.save_pretrained(tmp_path / "model")
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "model")
    node = tuner.start(
        tmp_path / "r1", f"--model={tmp_path / 'model'}", "--data=made-up", *FAST, "--log-every=1"
    )
    assert node.wait() == 78
    said = "runwright: the loss of step 1 is no finite number: take a lower learning_rate"
    assert said in node.text
