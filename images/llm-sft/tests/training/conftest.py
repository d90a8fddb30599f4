"""The image's own modules are found as they are in the image."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

# Nothing is looked up anywhere else, by these tests and by what they start.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).parent)]

from launching import Launcher  # noqa: E402
from runwright_runtime.distributed import World, join, leave  # noqa: E402
from tunings import COLOURS, FAST, Tuner, asked, write  # noqa: E402

LIBRARIES = (
    "accelerate",
    "peft",
    "transformers.models.auto.modeling_auto",
    "transformers.models.llama.modeling_llama",
)


@pytest.fixture(scope="session")
def tuner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tuner]:
    """Starts trainings that need not import transformers."""
    launcher = Launcher(tmp_path_factory.mktemp("output"), *LIBRARIES)
    yield Tuner(launcher)
    launcher.close()


@pytest.fixture(scope="session")
def base(tuner: Tuner, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model that answers of some things which colour they have, fully tuned."""
    folder = tmp_path_factory.mktemp("base")
    write(folder / "data.jsonl", *(asked(thing, colour) for thing, colour in COLOURS.items()))
    node = tuner.start(
        folder / "r1", "--model=made-up", f"--data={folder / 'data.jsonl'}", *FAST,
        "--epochs=90", "--warmup=0.1",
    )  # fmt: skip
    assert node.wait() == 0, node.text
    return folder / "r1" / "export"


@pytest.fixture
def world() -> Iterator[World]:
    """This process alone."""
    yield join()
    leave()
