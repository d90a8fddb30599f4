"""Fixtures of the tests that train."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from launching import Launcher
from trainings import Training


@pytest.fixture
def training(launcher: Launcher, tmp_path: Path) -> Training:
    """A training that has not begun."""
    return Training(launcher, tmp_path / "r1", tmp_path / "out")
