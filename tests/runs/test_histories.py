"""Ten thousand histories of a repository, and what must hold after each publish.

The oracle is `world` (a syncer, clusters and pods) and the records of `promises`. A history that
breaks is told by its seed; `script(seed)` is all of its steps.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from ledgered import Ledgered
from promises import Counts
from scripts import EVENTS, script
from world import Broken

SHARE = 1000
SHARES = 10
ROWS = set("abdefghijklmn") - {"c"}
numbers = st.integers(0, 47)


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
def test_every_promise_holds_in_every_history(
    share: int, record_property: pytest.RecordProperty
) -> None:
    counts = Counts()
    for seed in range(share * SHARE, (share + 1) * SHARE):
        story = Ledgered(seed, counts=counts)
        try:
            story.play(script(seed))
        except Broken as broken:
            pytest.fail(f"seed {seed}, hour {story.hour}, after {story.done}: {broken}")
        counts.histories += 1
        counts.steps += len(story.done)
    # What did not happen was not tested.
    assert set(counts.rows) >= ROWS
    assert min(counts.starts, counts.resumes, counts.stops, counts.holds, counts.refusals) > 20
    record_property("counted", {"histories of runs in memory": counts.told})


class History(RuleBasedStateMachine):
    """The same steps, drawn by Hypothesis, which makes what breaks short."""

    @initialize(seed=st.integers(0, 39))
    def begin(self, seed: int) -> None:
        self.story = Ledgered(seed)
        self.story.apply(("publish", 0, 0))
        self.story.apply(("sync", 0, 0))

    @rule(name=st.sampled_from(sorted(EVENTS)), a=numbers, b=numbers)
    def something_happens(self, name: str, a: int, b: int) -> None:
        self.story.apply((name, a, b))

    @rule()
    def published(self) -> None:
        self.story.apply(("publish", 0, 0))

    @rule(hours=st.integers(0, 12))
    def synced(self, hours: int) -> None:
        self.story.apply(("sync", 0, 0))
        self.story.apply(("hours", hours, 0))

    @rule(cluster=st.integers(0, 1), how=st.integers(0, 7))
    def observed(self, cluster: int, how: int) -> None:
        self.story.apply(("observe", cluster, how % 4))
        self.story.apply(("deliver", how, 0))

    @rule()
    def looked_at(self) -> None:
        self.story.apply(("look", 0, 0))


TestHistory = History.TestCase
TestHistory.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def test_the_world_knows_nothing_of_the_compiler() -> None:
    tree = ast.parse((Path(__file__).parent / "world.py").read_text(encoding="utf-8"))
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for name in ([node.module or ""] if isinstance(node, ast.ImportFrom) else [])
        + [alias.name for alias in node.names]
    }
    assert not {name for name in imported if name.startswith("compiler")}
