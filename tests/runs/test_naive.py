"""The same histories through designs that real repositories use, and through ours."""

from __future__ import annotations

from pathlib import Path

import pytest
from ledgered import Ledgered
from naive import NAIVE, Hours
from scripts import script
from stories import Decl

PAGE = Path(__file__).resolve().parents[2] / "docs" / "naive-designs.md"
HISTORIES = 400


class EveryImageGuarded(Ledgered):
    """Ours, where every program leaves a marker when it is done."""

    def guardable(self, decl: Decl) -> bool:
        return True


class ArchiveOnSchedule(Ledgered):
    """Ours, where every publish has looked at the clusters first."""

    def do_publish(self, a: int, b: int) -> None:
        self.do_look(a, b)
        super().do_publish(a, b)


@pytest.mark.slow
def test_ours_trains_next_to_nothing_twice_where_the_others_do(update_golden: bool) -> None:
    designs = {
        **{
            f"{design.title} ([{design.report}]({link(design.report)}))": design for design in NAIVE
        },
        "Runwright": Ledgered,
        "Runwright, `archive` before each publish": ArchiveOnSchedule,
        "Runwright, every image with the guard": EveryImageGuarded,
    }
    sums = {title: Hours() for title in designs}
    flagged = 0
    for seed in range(HISTORIES):
        steps = script(seed)
        for title, design in designs.items():
            story = design(seed)
            story.play(steps)
            sums[title].add(story)
            if title == "Runwright":
                assert isinstance(story, Ledgered)
                flagged += story.flagged_hours
    *others, ours, archived, guarded = sums.values()
    for naive in others:
        assert naive.once > 1000
        assert naive.twice + naive.torn > 5 * ours.twice
        assert naive.twice > 20 * archived.twice
    assert {hours.torn for hours in (ours, archived, guarded)} == {0}
    assert guarded.twice == 0
    text = page(sums, ours.twice, flagged)
    if update_golden:
        PAGE.write_text(text, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == text, "make golden writes the page anew"


def link(report: str) -> str:
    repository, _, number = report.partition("#")
    kind = "pull" if "fissile" in repository else "issues"
    return f"https://github.com/{repository}/{kind}/{number}"


def page(sums: dict[str, Hours], twice: int, flagged: int) -> str:
    """The page, with the table."""
    rows = "".join(
        f"| {title} | {h.once:,} | {h.twice:,} | {h.torn:,} | {h.lost:,} |\n"
        for title, h in sums.items()
    )
    return f"""# What other designs train twice

{HISTORIES} histories of a configuration repository, drawn at random and played through each design:
edits, renames, reverts, reverts of reverts, moves between clusters, upgrades of the base and of
images, clusters that are wiped. A model of a syncer, of clusters and of pods counts every
accelerator-hour. `tests/runs/` holds the model; a test writes this page.

| design | trained once | trained twice | torn | lost |
|---|---|---|---|---|
{rows}
*Trained twice*: the training had already been done to its end on that cluster. *Torn*: the object
was edited in place while its pods ran, so that a pod which restarts runs something else than the
others. *Lost*: hours that had been trained before, and were trained again because their checkpoint
was not there or was not used.

In all designs a program that finds the checkpoint of a finished training begins anew, as most do,
unless the guard tells it otherwise; a full cluster makes pods wait; a file that does not parse
changes nothing. The other designs have no stops by policy, no expiry and no quota.

In these histories somebody looks at a cluster now and then, and half of the programs have no guard.
Of the {twice:,} accelerator-hours that Runwright trains twice, `plan` had flagged {flagged:,} as
`unobserved` before they began: an unguarded run was replaced in the publish that ended it, or
retried, and nobody had seen that it was done. The rest are unguarded runs whose end nobody had seen
and whose object the syncer made again, because the cluster was wiped or the tree changed by hand.
"""
