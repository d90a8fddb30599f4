"""What the tests of all images share."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

# Without torch (the compiler's own environment) only what does not need it is tested.
collect_ignore_glob = [] if find_spec("torch") else ["*/tests/training"]


@pytest.fixture(scope="session")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[object]:
    """Starts processes that need not import torch."""
    from launching import Launcher

    made = Launcher(tmp_path_factory.mktemp("output"))
    yield made
    made.close()
