"""What is learned, and how it leaves: full tuning, adapters, and their exports."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tunings import COLOURS, FAST, Tuner, answers, asked, events, read, saved, steps, write

OTHERS = {"coal": "not white", "snow": "not black", "grass": "not red", "a rose": "not green"}
QUESTIONS = [f"What colour is {thing}?" for thing in COLOURS]


def test_full_tuning_learns_the_answers_and_leaves_what_transformers_loads(base: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(base)
    tokenizer = AutoTokenizer.from_pretrained(base)
    wanted = [f"It is {colour}." for colour in COLOURS.values()]
    assert answers(model, tokenizer, QUESTIONS) == wanted
    assert list(base.glob("*.safetensors"))
    assert model.config.use_cache
    lines = steps(base.parent)
    assert lines[max(lines)]["loss"] < 0.05 < lines[10]["loss"]
    assert all(line["flops_per_s"] > 0 and line["tokens_per_s"] > 0 for line in lines.values())
    # What is exported is what was saved last.
    last = saved(base.parent, max(lines))
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, last[f"model.{name}"]), name
    assert json.loads((base.parent / "COMPLETE.json").read_text())["step"] == max(lines)


def test_adapters_learn_other_answers_and_leave_merged_or_alone(
    base: Path, tuner: Tuner, tmp_path: Path
) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    data = write(tmp_path / "data.jsonl", *(asked(*one) for one in OTHERS.items()))
    folder, exported = tmp_path / "r1", tmp_path / "r1" / "export"
    words = (f"--model={base}", f"--data={data}", *FAST, "--tuning=lora", "--lora-rank=8",
             "--epochs=40")  # fmt: skip
    begun = AutoModelForCausalLM.from_pretrained(base).state_dict()

    def learned() -> dict[str, torch.Tensor]:
        # transformers loads both: adapters on the model that they name.
        tokenizer = AutoTokenizer.from_pretrained(exported)
        model = AutoModelForCausalLM.from_pretrained(exported)
        wanted = [f"It is {text}." for text in OTHERS.values()]
        assert answers(model, tokenizer, QUESTIONS) == wanted
        return model.state_dict()

    node = tuner.start(folder, *words)
    assert node.wait() == 0, node.text
    assert {path.name for path in exported.glob("*.safetensors")} == {"model.safetensors"}
    changed = {name for name, tensor in learned().items() if not tensor.equal(begun[name])}
    assert changed == {name for name in begun if name.endswith("proj.weight")}
    names = {name for name in saved(folder, max(steps(folder))) if name.startswith("model.")}
    assert len(names) == 2 * len(changed)
    assert all("lora_" in name for name in names)

    # As if it had been ended on the way: the last step is made, and the export is not there.
    (folder / "COMPLETE.json").unlink()
    again = tuner.start(folder, *words, "--no-merge-adapters")
    assert again.wait() == 0, again.text
    assert {path.name for path in exported.glob("*.safetensors")} == {"adapter_model.safetensors"}
    kept = learned()
    assert all(kept[name].equal(tensor) for name, tensor in begun.items() if name not in changed)


@pytest.mark.parametrize("tuning", ["full", "lora"])
def test_a_model_of_another_kind_leaves_in_the_numbers_that_it_came_in(
    tuning: str, tuner: Tuner, tmp_path: Path
) -> None:
    """In half precision, and with the same matrix before and behind."""
    from finetuning import madeup
    from transformers import AutoModelForCausalLM, Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(
        vocab_size=260, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, tie_word_embeddings=True,
        max_position_embeddings=512, bos_token_id=None, eos_token_id=2, pad_token_id=0,
    )  # fmt: skip
    first = Qwen2ForCausalLM(config).bfloat16()
    first.save_pretrained(tmp_path / "model")
    madeup.tokenizer().save_pretrained(tmp_path / "model")
    node = tuner.start(
        tmp_path / "r1", f"--model={tmp_path / 'model'}", "--data=made-up", "--max-steps=2",
        "--sequence-length=128", "--workers=0", f"--tuning={tuning}", "--learning-rate=0.001",
        "--warmup=0", processes=2 if tuning == "full" else None,
    )  # fmt: skip
    assert node.wait() == 0, node.text
    kept = saved(tmp_path / "r1", 2)
    assert {tensor.dtype for name, tensor in kept.items() if "step" not in name} == {torch.float32}
    model = AutoModelForCausalLM.from_pretrained(tmp_path / "r1" / "export", dtype="auto")
    found, before = model.state_dict(), first.state_dict()
    assert found.keys() == before.keys()
    assert model.lm_head.weight is model.model.embed_tokens.weight
    changed = {name for name in found if not found[name].equal(before[name])}
    assert {tensor.dtype for tensor in found.values()} == {torch.bfloat16}
    if tuning == "full":
        assert "model.embed_tokens.weight" in changed
        for name, tensor in found.items():
            if name != "lm_head.weight":
                assert tensor.equal(kept[f"model.{name}"].bfloat16()), name
    else:
        assert changed == {name for name in found if name.endswith("proj.weight")}


def test_half_precision_shared_out_learns_nearly_the_same(tuner: Tuner, tmp_path: Path) -> None:
    """Two processes in bf16, with activations computed again, against one in full precision."""
    data = write(tmp_path / "data.jsonl", *(asked(*one) for one in COLOURS.items()))
    shared = ["--model=made-up", f"--data={data}", "--no-packing", "--sequence-length=128",
              "--max-steps=12", "--global-batch=4", "--learning-rate=0.002", "--workers=0",
              "--log-every=1", "--no-export", f"--eval-data={data}", "--eval-every=6"]  # fmt: skip
    whole = tuner.start(tmp_path / "a", *shared, "--precision=fp32", "--micro-batch=4")
    halves = tuner.start(
        tmp_path / "b", *shared, "--micro-batch=2", "--sharding=hybrid", processes=2
    )
    assert (whole.wait(), halves.wait()) == (0, 0), halves.text
    one, other = steps(tmp_path / "a"), steps(tmp_path / "b")
    assert list(one) == list(other) == list(range(1, 13))
    assert all(abs(one[step]["loss"] - other[step]["loss"]) < 0.05 for step in one)
    assert one[12]["loss"] < one[1]["loss"] - 1
    for folder, lines in (("a", one), ("b", other)):
        evaluated = events(tmp_path / folder, "evaluated")
        assert [line["made"] for line in evaluated] == [6, 12]
        # The loss of a step is that of the model before it: all data are in each.
        assert evaluated[0]["eval_loss"] == pytest.approx(lines[7]["loss"], rel=1e-4)
    assert not (tmp_path / "a" / "export").exists()


def test_a_trial_is_the_same_in_both_spellings() -> None:
    words = ["--model=/models/none", "--epochs=3", "--max-steps=15"]
    alone, declared = (read([*words[:2], word, words[2]]) for word in ("--trial", "--trial=true"))
    assert declared == alone
    assert (declared.model, declared.max_steps, declared.trial) == ("made-up", 15, True)


def test_the_trial_of_both_entries_ends_within_its_steps(tuner: Tuner, tmp_path: Path) -> None:
    # What stands before is a job's, and would not fit; what stands behind it counts.
    words = ["--model=/models/none", "--epochs=3", "--accumulation=64", "--trial", "--max-steps=15"]
    nodes = [
        tuner.start(tmp_path / script, *words, script=script) for script in ("train.py", "dpo.py")
    ]
    for node, script in zip(nodes, ("train.py", "dpo.py"), strict=True):
        assert node.wait() == 0, node.text
        lines = steps(tmp_path / script)
        assert max(lines) == 15
        assert lines[15]["loss"] < lines[5]["loss"] * 0.8
