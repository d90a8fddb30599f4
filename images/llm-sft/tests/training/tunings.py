"""Trainings of the image as its jobs start them, and what they leave."""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
import torch.distributed.checkpoint as dcp
import yaml
from launching import RUNTIME, Launcher, Node, free_port, identity, static
from torch import Tensor

IMAGE = Path(__file__).resolve().parents[2]
SLOWLY = Path(__file__).with_name("slowly.py")
ABOUT = yaml.safe_load((IMAGE / "image.yaml").read_text())

COLOURS = {"coal": "black", "snow": "white", "grass": "green", "a rose": "red"}
# Nothing comes from anywhere else.
SURROUNDINGS = {
    "HF_HUB_OFFLINE": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
# As many answers as can be learned within seconds.
FAST = (
    "--sequence-length=128", "--precision=fp32", "--learning-rate=0.005", "--workers=0",
    "--no-activation-checkpointing", "--micro-batch=2", "--global-batch=2",
)  # fmt: skip


def _arguments() -> ModuleType:
    """The image's module `arguments`: other images have one of that name."""
    spec = importlib.util.spec_from_file_location("llm_sft_arguments", IMAGE / "arguments.py")
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules["llm_sft_arguments"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


Arguments = _arguments().Arguments
read = _arguments().read


def arguments(**values: object) -> Any:
    """Arguments for what is made up, in full precision, with some of them others."""
    plain = {
        "model": "made-up",
        "data": "made-up",
        "sequence_length": 128,
        "precision": "fp32",
        "activation_checkpointing": False,
        "workers": 0,
    }
    return Arguments(**{**plain, **values})


def asked(thing: str, colour: str) -> dict[str, object]:
    """A conversation."""
    return {
        "messages": [
            {"role": "user", "content": f"What colour is {thing}?"},
            {"role": "assistant", "content": f"It is {colour}."},
        ]
    }


class Tuner:
    """Starts trainings."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher

    def start(
        self,
        folder: Path | None,
        *words: str,
        script: str = "train.py",
        processes: int | None = None,
        every: int = 3600,
        pause: float = 0,
    ) -> Node:
        """Start one on one node: under torchrun with so many processes, or alone.

        `every`: seconds between checkpoints; `pause`: seconds after each step.
        """
        environment = {
            **identity(folder, CHECKPOINT_EVERY=str(every), **SURROUNDINGS),
            "PYTHONPATH": f"{RUNTIME}:{IMAGE}",
            "PAUSE": str(pause),
        }
        if processes is not None:
            environment |= static(1, processes, free_port())[0]
        argv = [*([str(SLOWLY)] if pause else []), str(IMAGE / script), *words]
        return self._launcher.start(argv, environment, processes is not None)


def write(path: Path, *rows: object) -> Path:
    """A file of JSON Lines; texts are lines as they stand."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def events(folder: Path, kind: str) -> list[dict[str, Any]]:
    """Lines of progress of one kind, of all starts."""
    found: list[dict[str, Any]] = []
    for path in sorted((folder / "progress").glob("*.jsonl")):
        found += [json.loads(line) for line in path.read_text().splitlines() if line[-1:] == "}"]
    return [event for event in found if event["event"] == kind]


def steps(folder: Path) -> dict[int, dict[str, Any]]:
    """The last line of progress of each step."""
    return {line["step"]: line for line in events(folder, "step")}


def saved(folder: Path, step: int) -> dict[str, Tensor]:
    """The tensors of a checkpoint, whole, by name."""
    reader = dcp.FileSystemReader(folder / f"step-{step:09d}")
    found: dict[str, Any] = {
        name: torch.empty(about.size, dtype=about.properties.dtype)
        for name, about in reader.read_metadata().state_dict_metadata.items()
        if hasattr(about, "size")
    }
    with warnings.catch_warnings():
        # That there are no other processes.
        warnings.simplefilter("ignore", UserWarning)
        dcp.load(found, storage_reader=reader, no_dist=True)
    return found


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    """Whether two checkpoints are the same, to the bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def answers(model: Any, tokenizer: Any, questions: Iterable[str]) -> list[str]:
    """What a model of transformers says, always taking the likeliest token."""
    found: list[str] = []
    for question in questions:
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
        )
        ids = tokenizer(text, return_tensors="pt", add_special_tokens=False)["input_ids"]
        with torch.no_grad():
            made = model.generate(input_ids=ids, max_new_tokens=40, do_sample=False)
        found.append(tokenizer.decode(made[0, ids.shape[1] :], skip_special_tokens=True))
    return found
