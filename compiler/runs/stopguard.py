"""The stop guard: a publish that stops much of what runs is asked whether it means it.

A rename of a folder or a mistaken merge can make many declarations absent at once. So what stops
more than the policy's share of the running accelerators waits for `--allow-stops N`. Stops of
`policy/stops/` are not asked: they are how somebody stops runs now.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

from msgspec import Struct

from compiler.runs.declared import Key
from compiler.runs.engine import Decision
from compiler.runs.entries import Entry, Ledger

Place = tuple[Key, str]
"""A ledger and a cluster: what one decision is about."""


class Guard(Struct, frozen=True):
    """What the stop guard saw. A run without accelerators counts its nodes.

    `runs` is the N of `--allow-stops N`; `names` are the runs. `withheld` is false where it only
    warns, because the publish does nothing but undo an earlier commit.
    """

    runs: int
    accelerators: int
    running: int
    share: Fraction
    withheld: bool
    names: tuple[str, ...]

    @property
    def text(self) -> str:
        """It in words."""
        said = (
            f"stops {self.runs} runs with {self.accelerators} of {self.running} running "
            f"accelerators, more than the share of {self.share} that policy allows"
        )
        return f"{said}: --allow-stops {self.runs} does it" if self.withheld else said


def guarded(
    books: Mapping[Key, Ledger],
    stopping: Iterable[tuple[Place, Decision]],
    share: Fraction,
    allowed: int | None,
    pure_revert: Callable[[], bool],
    source: str,
) -> tuple[Guard | None, dict[Place, Decision]]:
    """The guard where it speaks, and the decisions that it withholds.

    `books` are the ledgers before the decisions, which are made as if there were endless room: so
    that what the guard sees does not change with what else the publish does. Nor do runs count as
    running that began with this very `source`: the same publish, done again, must withhold the
    same, and what replaces a folder of jobs does not make their stops a smaller share.

    One run alone never wakes it: in a small repository every edit of a running job stops a large
    share.
    """
    running = sum(
        _weight(run)
        for book in books.values()
        for run in book.runs
        if run.active and (run.started is None or run.started.source != source)
    )
    found: dict[Place, Decision] = {}
    ended: list[Entry] = []
    for place, decision in stopping:
        active = books[place[0]].active(place[1]) if place[0] in books else None
        if active is not None and any(end.number == active.number for end in decision.ends):
            found[place] = decision
            ended.append(active)
    weight = sum(_weight(run) for run in ended)
    if len(ended) < 2 or weight <= share * running:
        return None, {}
    if allowed is not None and len(ended) <= allowed:
        return None, {}
    names = tuple(sorted(run.name for run in ended))
    guard = Guard(len(ended), weight, running, share, not pure_revert(), names)
    return guard, found if guard.withheld else {}


def _weight(run: Entry) -> int:
    return sum(run.accelerators.values()) or run.nodes
