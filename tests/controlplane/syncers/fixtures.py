"""The fixtures of tests with a syncer: one after the other, beside the same control plane.

Tests are put in order by the syncer that they want, so each is started once.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.following import RUNS, Following, Team
from controlplane.stack import Stack
from controlplane.syncers.argo_cd import ArgoCd
from controlplane.syncers.flux import Flux
from controlplane.syncers.syncer import Syncer

SYNCERS: dict[str, type[Syncer]] = {each.name: each for each in (Flux, ArgoCd)}
# One for each test that wants one or two; the first three are those of the pages.
TEAMS = """\
vision nlp speech audio search ads maps video music robots chess papers climate proteins fonts
"""
# What the platform's folder has on the cluster beside namespaces: the next syncer brings its own.
OURS = (
    "kueue.x-k8s.io/v1beta1/ClusterQueue",
    "kueue.x-k8s.io/v1beta1/Cohort",
    "kueue.x-k8s.io/v1beta1/ResourceFlavor",
    "kueue.x-k8s.io/v1beta1/WorkloadPriorityClass",
    "rbac.authorization.k8s.io/v1/ClusterRole",
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
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
        made.set_up()
        yield made
    finally:
        made.stop()
        _clean(made)


@pytest.fixture
def team(following: Following) -> Iterator[Team]:
    """A team that no other test has; none of its runs was ever made twice, unless it was told."""
    made = following.team()
    yield made
    twice = {name: count for name, count in made.births().items() if count > 1}
    assert set(twice) <= made.may_come_back, f"made twice: {twice}"


def _clean(following: Following) -> None:
    """Take all runs and namespaces of teams away, and what stands for them."""
    api = following.api
    for item in following.syncer.followers():
        api.delete(following.syncer.kind, item["metadata"]["name"], item["metadata"]["namespace"])
    spaces = [item["metadata"]["name"] for item in api.list("v1/Namespace", None, "runwright/team")]
    for space in spaces:
        for kind in RUNS:
            api.delete_all(kind, space)
        api.delete("v1/Namespace", space)
    for name in spaces:
        api.gone("v1/Namespace", name, seconds=90)
    for kind in OURS:
        for item in api.list(kind):
            if "runwright" in item["metadata"]["name"] or "kueue" in kind:
                api.delete(kind, item["metadata"]["name"])
