"""What starts, what stops, what waits and what stays: the table of rows, as a pure function.

`decide` looks at one job on one cluster. The rows are tried in the order of their letters; f, g
and n look ahead at h to m and win over them. docs/lifecycle.md tells the same in words.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from compiler.runs.entries import Entry, Ledger, Outcome, Reason

Action = Literal["start", "resume", "stop", "hold", "withdraw", "none", "blocked"]
Ending = Literal["removed", "stopped", "expired"]


class Wanted(Struct, frozen=True):
    """What the declaration wants on one cluster now.

    `ends` says why nothing is wanted (row b); `unusable` why the file cannot be judged at all and
    `refused` which error rule stands against it (row a): it is empty where `policy/stops/` ends
    the job, which goes before row a. `resume_from` is `checkpoint: {from: rN}`.
    """

    training: str = ""
    operation: str = ""
    ends: Ending | None = None
    ends_because: str = ""
    unusable: str = ""
    refused: str = ""
    guarded: bool = False
    resume_from: int | None = None
    # Clusters that the declaration names: a success on one that it left counts here too (row i).
    names: frozenset[str] = frozenset()


class End(Struct, frozen=True):
    """A run that ends, and how."""

    number: int
    reason: Reason
    outcome: Outcome


class Decision(Struct, frozen=True):
    """What happens to one job on one cluster, and why.

    `number` is the run that starts or is held, or that the decision is about. `start_from` is the
    number whose checkpoints the new run goes on with, None for from zero. `change` says what would
    change the decision. `then` is the row of h to m that rows e and g went on with.
    """

    row: str
    action: Action
    reason: str
    change: str = ""
    number: int | None = None
    lineage: int | None = None
    start_from: int | None = None
    ends: tuple[End, ...] = ()
    # Take the image digest and the base snapshot of this run, so that a revert is a rollback.
    image_of: int | None = None
    base_of: int | None = None
    notes: tuple[str, ...] = ()
    then: str = ""

    @property
    def starts(self) -> bool:
        """Whether a run begins to hold accelerators."""
        return self.action in ("start", "resume")

    @property
    def waits(self) -> bool:
        """Whether room alone would change it: a run is held, or goes on waiting."""
        return self.action == "hold" or (self.row, self.action) == ("e", "none")


Fits = Callable[[bool], bool]


class _Next(Struct, frozen=True):
    """What rows h to m say about the training that is wanted."""

    row: str
    action: Action
    reason: str
    change: str = ""
    lineage: int | None = None
    start_from: int | None = None
    image_of: int | None = None
    base_of: int | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def starts(self) -> bool:
        return self.row in ("h", "k", "l")


def decide(cluster: str, wanted: Wanted, ledger: Ledger, fits: Fits, number: int) -> Decision:
    """The decision for one job on one cluster.

    `ledger` holds what is observed already: an active run seen ended is ended. `fits(release)`
    says whether the wanted run has room, with the active run's accelerators given back where
    `release` is set. `number` is the job's next free number, over all clusters.
    """
    active, held = ledger.active(cluster), ledger.held(cluster)
    if wanted.unusable and wanted.ends is None:
        return _blocked(wanted.unusable, active, held)
    found = _below_a(cluster, wanted, ledger, fits, number, active, held)
    if not wanted.refused:
        return found
    stops = active is not None and any(end.number == active.number for end in found.ends)
    if found.starts or stops or found.action == "hold":
        return _blocked(wanted.refused, active, held)
    return _noted(found, f"grandfathered: {wanted.refused}") if active else found


def _blocked(why: str, active: Entry | None, held: Entry | None) -> Decision:
    runs = [f"r{run.number} stays as it is" for run in (active, held) if run is not None]
    return Decision(
        "a",
        "blocked",
        "; ".join([why, *runs]) or why,
        "mend the finding",
        active.number if active else held.number if held else None,
    )


def _noted(decision: Decision, note: str) -> Decision:
    return replace(decision, notes=(*decision.notes, note))


def _below_a(
    cluster: str,
    wanted: Wanted,
    ledger: Ledger,
    fits: Fits,
    number: int,
    active: Entry | None,
    held: Entry | None,
) -> Decision:
    if wanted.ends is not None:
        return _ended(wanted.ends, wanted.ends_because, active, held)
    ends: list[End] = []
    asked = (wanted.training, wanted.operation)
    stays = active is not None and (active.training, active.operation) == asked
    # Where another run is active, its end would be known: rows e and g bring it about.
    following = next_run(cluster, wanted, ledger, None if stays else active)
    if held is not None:
        same = (held.training, held.operation) == asked
        if not same or following.row in ("i", "j", "m"):
            # Row c: its number is burnt; go on as if it had never been.
            ends.append(End(held.number, "withdrawn", "unknown"))
            held = None
    if active is not None:
        if stays:
            return _stays(cluster, wanted, ledger, active, ends)
        return _replaces(following, fits, number, active, held, ends)
    if held is not None:
        if fits(False):
            return _start(following, held.number, ends, "e")
        return Decision(
            "e",
            "none",
            f"r{held.number} waits for room",
            "room, or another declaration",
            held.number,
            ends=tuple(ends),
        )
    if following.starts and not fits(False):
        return Decision(
            "n",
            "hold",
            "there is no room for it now",
            "it starts by itself when there is",
            number,
            ends=tuple(ends),
        )
    return _start(following, number, ends, following.row)


def _ended(ending: Ending, because: str, active: Entry | None, held: Entry | None) -> Decision:
    ends: list[End] = []
    if active is not None:
        ends.append(End(active.number, ending, "unknown"))
    if held is not None:
        ends.append(End(held.number, "withdrawn", "unknown"))
    action: Action = "stop" if active else "withdraw" if held else "none"
    about = active or held
    return Decision("b", action, because, "", about.number if about else None, ends=tuple(ends))


def _stays(
    cluster: str, wanted: Wanted, ledger: Ledger, active: Entry, ends: list[End]
) -> Decision:
    notes: tuple[str, ...] = ()
    done = _succeeded(cluster, wanted, ledger)
    if done is not None:
        notes = (f"r{done.number} of this training has succeeded",)
    action: Action = "withdraw" if ends else "none"
    return Decision(
        "d",
        action,
        f"r{active.number} is what is declared",
        "",
        active.number,
        ends=tuple(ends),
        notes=notes,
    )


def _replaces(
    following: _Next,
    fits: Fits,
    number: int,
    active: Entry,
    held: Entry | None,
    ends: list[End],
) -> Decision:
    if following.starts and not fits(True):
        if held is not None:
            return Decision(
                "e",
                "none",
                f"r{held.number} waits until it fits after the release of r{active.number}",
                "room, or another declaration",
                held.number,
                ends=tuple(ends),
            )
        return Decision(
            "f",
            "hold",
            f"it would not fit even after the release of r{active.number}, which goes on",
            "it starts by itself when there is room",
            number,
            ends=tuple(ends),
        )
    # It may have finished before the syncer gets to it: only an observation can tell.
    ends.append(End(active.number, "superseded", "unknown"))
    if held is not None:
        return _start(following, held.number, ends, "e")
    return _start(following, number, ends, "g")


def _start(following: _Next, number: int, ends: list[End], row: str) -> Decision:
    if not following.starts:
        about = next((end.number for end in ends if end.reason == "superseded"), None)
        return Decision(
            following.row if row != "g" else "g",
            "stop" if about is not None else "withdraw" if ends else "none",
            following.reason,
            following.change,
            about,
            ends=tuple(ends),
            notes=following.notes,
            then=following.row,
        )
    return Decision(
        row,
        following.action,
        following.reason,
        following.change,
        number,
        following.lineage if following.lineage is not None else number,
        following.start_from,
        tuple(ends),
        following.image_of,
        following.base_of,
        following.notes,
        following.row,
    )


def _succeeded(cluster: str, wanted: Wanted, ledger: Ledger) -> Entry | None:
    """A run of this training that succeeded here, or on a cluster no longer named (row i)."""
    return next(
        (
            run
            for run in reversed(ledger.runs)
            if run.training == wanted.training
            and run.launched
            and run.outcome == "succeeded"
            and (run.cluster == cluster or run.cluster not in wanted.names)
        ),
        None,
    )


def next_run(cluster: str, wanted: Wanted, ledger: Ledger, ending: Entry | None) -> _Next:
    """Rows h to m: what follows for this training, were nothing active.

    `ending` is the active run that this publish would end (rows e and g): its end is known, so
    its successor may go on with its checkpoints.
    """
    runs = [run for run in ledger.on(cluster) if run.training == wanted.training and run.launched]
    done = _succeeded(cluster, wanted, ledger)
    if done is not None:
        where = "" if done.cluster == cluster else f" on {done.cluster}"
        return _Next(
            "i",
            "none",
            f"r{done.number} of this training has succeeded{where}",
            "`bump` trains again",
        )
    if not runs:
        return _Next(
            "h",
            "start",
            "this training has never run here"
            if wanted.resume_from is None
            else f"this training has never run here; it goes on from r{wanted.resume_from}",
            start_from=wanted.resume_from,
        )
    last = runs[-1]
    just_now = ending is not None and last.number == ending.number
    outcome: Outcome = last.outcome
    if outcome == "failed":
        return _after_failure(wanted, runs, last)
    # A marker that the last run left is of use to a run that looks for it.
    marked = last.guarded and wanted.guarded
    if outcome == "incomplete" or just_now or (outcome == "unknown" and marked):
        with_operation = [run for run in runs if run.operation == wanted.operation]
        return _Next(
            "l",
            "resume",
            f"r{last.number} of this training was not finished: it goes on from its checkpoints",
            lineage=last.lineage,
            start_from=last.number,
            image_of=last.number,
            base_of=with_operation[-1].number if with_operation else None,
            notes=_unobserved(wanted, runs),
        )
    return _Next(
        "m",
        "none",
        f"how r{last.number} ended was not observed, and nothing guards it",
        f"`publish --observed`, `checkpoint: {{from: r{last.number}}}`, or `bump`",
    )


def _after_failure(wanted: Wanted, runs: list[Entry], last: Entry) -> _Next:
    if any(run.operation == wanted.operation and run.outcome == "failed" for run in runs):
        return _Next(
            "j",
            "none",
            f"r{last.number} has failed, and so would this",
            "`bump --resume` goes on from its checkpoints, `bump` starts from zero",
        )
    return _Next(
        "k",
        "resume",
        f"r{last.number} has failed; this is the same training, run in another way",
        lineage=last.lineage,
        start_from=last.number,
        notes=_unobserved(wanted, runs),
    )


def _unobserved(wanted: Wanted, runs: list[Entry]) -> tuple[str, ...]:
    """A flag where an earlier run may have come to its end unseen, with nothing to tell it by."""
    unseen = [
        f"r{run.number}"
        for run in runs
        if run.outcome == "unknown" and not (run.guarded and wanted.guarded)
    ]
    return (f"unobserved: how {', '.join(unseen)} ended is not known",) if unseen else ()
