"""The fixtures of tests with a syncer: one after the other, beside the same control plane.

Tests are put in order by the syncer that they want, so each is started once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.following import Following, Team
from controlplane.stack import Stack
from controlplane.syncers.argo_cd import ArgoCd
from controlplane.syncers.flux import Flux
from controlplane.syncers.syncer import Syncer

SYNCERS: dict[str, type[Syncer]] = {each.name: each for each in (Flux, ArgoCd)}
# One for each test that wants one or two; the first three are those of the pages.
TEAMS = (
    "vision nlp speech audio search ads maps video music robots chess papers climate proteins"
    " fonts weather traffic crops drones games"
)


@pytest.fixture(scope="session", params=sorted(SYNCERS, reverse=True))
def syncer(request: pytest.FixtureRequest, stack: Stack) -> Iterator[Syncer]:
    """A syncer that runs beside the control plane and follows nothing yet."""
    name: str = request.param
    made = SYNCERS[name](stack, stack.folder / name)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture(scope="session")
def following(syncer: Syncer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Following]:
    """A repository with teams, followed by the syncer; nothing of it is left afterwards."""
    folder: Path = tmp_path_factory.mktemp(syncer.name)
    made = Following(syncer, folder, TEAMS.split())
    try:
        made.set_up(made.configuration.publish())
        yield made
    finally:
        made.stop()
        made.wipe()


@pytest.fixture
def team(following: Following) -> Iterator[Team]:
    """A team that no other test has; none of its runs was ever made twice, unless it was told."""
    made = following.team()
    yield made
    twice = {name: count for name, count in made.births().items() if count > 1}
    assert set(twice) <= made.may_come_back, f"made twice: {twice}"
