"""The image's own modules are found as they are in the image."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).parent)]

from launching import Launcher  # noqa: E402
from pretrainings import Pretraining, arguments, shards  # noqa: E402
from runwright_runtime.session import Session  # noqa: E402

LIBRARIES = (
    "pydantic",
    "yaml",
    "torch.distributed.fsdp",
    "torch.utils.data",
    "torch.utils.checkpoint",
)


@pytest.fixture(scope="session")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launcher]:
    """Starts trainings that need not import what takes seconds."""
    made = Launcher(tmp_path_factory.mktemp("output"), *LIBRARIES)
    yield made
    made.close()


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three shards of tokens in which no sequence is like another."""
    return shards(tmp_path_factory.mktemp("data") / "shards")


@pytest.fixture
def pretraining(starter: Launcher, data: Path, tmp_path: Path) -> Pretraining:
    """A training that has not begun."""
    return Pretraining(starter, tmp_path / "r1", data)


@pytest.fixture
def session() -> Iterator[Session]:
    """This process alone, in a run that saves nothing."""
    with Session(arguments().model_dump(), log_every=1000) as made:
        yield made
