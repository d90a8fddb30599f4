"""What a publish does, run by run: what `plan` and `publish` tell people and programs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from compiler.cost import cost
from compiler.model import Run
from compiler.project import Project
from compiler.results import Ask, JobResult, RunResult
from compiler.runs.declared import Key
from compiler.runs.differences import differences
from compiler.runs.engine import End
from compiler.runs.entries import Entry, Ledger
from compiler.runs.fold import JobDecision, Outcome
from compiler.runs.gathering import Gathered, decimal
from compiler.runs.risks import renames, risks
from compiler.runs.room import CPU, Limits
from compiler.runs.stopguard import Guard

# Rows that ask how a run ended, which only an observation of its cluster can tell.
OBSERVED_ROWS = frozenset("ijklm")
_WHY: Mapping[str, str] = {
    "removed": "its declaration is gone from here",
    "stopped": "it is stopped",
    "expired": "its last day is over",
    "superseded": "the declaration asks for another run",
    "withdrawn": "it waited, and is no longer what is declared",
    "finished": "it has come to its end",
    "lost": "its cluster was rebuilt",
}


class Line(Struct, frozen=True):
    """What happens to one run, or to one job where no run is touched.

    `accelerators` are over all nodes, `hours` accelerator-hours and `cost` the price of all tries
    together, both at the most and as exact decimals; empty where they cannot be told.
    `differences` are what has changed since the run `compared`. `risks` pair a fixed word with
    what it means here. `caused` tells whether it is news; in a plan, whether this change brings it
    about. `rows` are the rows that decided, which `observed` asks about. `adopted` tells that what
    ran before its job was declared becomes its first run.
    """

    cluster: str
    team: str
    job: str
    action: str
    row: str
    reason: str
    change: str = ""
    number: int | None = None
    name: str | None = None
    came_from: int | None = None
    lineage: int | None = None
    replaces: int | None = None
    accelerators: Mapping[str, int] = field(default_factory=dict[str, int])
    nodes: int | None = None
    hours: str = ""
    cost: str = ""
    currency: str = ""
    risks: tuple[tuple[str, str], ...] = ()
    differences: tuple[str, ...] = ()
    compared: int | None = None
    notes: tuple[str, ...] = ()
    rows: str = ""
    caused: bool = True
    adopted: bool = False

    @property
    def observed(self) -> bool:
        """Whether it rests on what was seen, or not seen, in the cluster."""
        return bool(OBSERVED_ROWS & set(self.rows))


class Held(Struct, frozen=True):
    """How many accelerators a team holds on a cluster before and after, and how many it may."""

    cluster: str
    team: str
    accelerator: str
    before: int
    after: int
    limit: int | None


class Account(Struct):
    """All lines, sums and warnings of one publish or plan.

    `observed` is the time of each cluster's last observation, None where there was none.
    """

    runs: list[Line]
    quota: list[Held]
    observed: dict[str, str | None]
    guard: Guard | None = None

    @property
    def news(self) -> list[Line]:
        """The lines that something happens in, or that this change brings about."""
        return [line for line in self.runs if line.caused]


Caused = Callable[[JobDecision], bool]


def is_news(item: JobDecision) -> bool:
    """Whether a publish does anything about a decision, or refuses to."""
    return item.decision.action != "none" or bool(item.decision.ends) or bool(item.adopts)


def account(
    outcome: Outcome,
    before: Mapping[Key, Ledger],
    project: Project,
    gathered: Gathered,
    limits: Mapping[str, Limits],
    observed: Mapping[str, str | None],
    caused: Caused = is_news,
    held_before: Mapping[Key, Ledger] | None = None,
) -> Account:
    """The account of an outcome; `before` are the ledgers that it started from.

    `held_before` are the ledgers that the quota is counted in before, where they are others: a plan
    leaves out what happens without the change.
    """
    texts = {declared.key: declared.text for declared in gathered.declared}
    renamed = renames(outcome.decisions, before, texts)
    writer = _Writer(before, outcome, project, gathered, renamed)
    lines = [line for item in outcome.decisions for line in writer.lines(item, caused(item))]
    sums = quota(held_before if held_before is not None else before, outcome.ledgers, limits)
    return Account(lines, sums, dict(observed), outcome.guard)


class _Writer:
    def __init__(
        self,
        before: Mapping[Key, Ledger],
        outcome: Outcome,
        project: Project,
        gathered: Gathered,
        renamed: Mapping[tuple[Key, str], str],
    ) -> None:
        self.before = before
        self.after = outcome.ledgers
        self.project = project
        self.results = gathered.results
        self.renamed = renamed

    def lines(self, item: JobDecision, caused: bool) -> list[Line]:
        """What is taken in, the runs that end, then what starts, waits, or does not start."""
        decision = item.decision
        ledger = self.after.get((item.team, item.book)) or Ledger(item.team, item.book)
        runs = {run.number: run for run in ledger.runs}
        adopted = self._adopted(item, runs, caused)
        made = [self._end(item, end, runs[end.number], caused) for end in decision.ends]
        if adopted and decision.action == "none" and not made:
            return adopted
        made = adopted + made
        if decision.row == "b" and decision.action != "blocked":
            # What is ended is told; of a job that is gone and has nothing left there is no news.
            return made or ([self._rest(item, runs, caused)] if item.path else [])
        if decision.action in ("start", "resume", "hold") and decision.number is not None:
            made.append(self._start(item, runs[decision.number], ledger, caused))
        elif decision.action != "withdraw" or decision.row != "d":
            made.append(self._rest(item, runs, caused))
        return made

    def _adopted(self, item: JobDecision, runs: Mapping[int, Entry], caused: bool) -> list[Line]:
        if not item.adopts:
            return []
        said = f"it runs already, and becomes r1 of {item.job} as it is"
        line = self._line(item, "none", said, caused)
        return [replace(_of_entry(line, runs[1]), adopted=True, rows="")]

    def _line(self, item: JobDecision, action: str, reason: str, caused: bool) -> Line:
        decision = item.decision
        rows = decision.row + decision.then
        return Line(
            item.cluster,
            item.team,
            item.job,
            action,
            decision.row,
            reason,
            rows=rows,
            caused=caused,
        )

    def _end(self, item: JobDecision, end: End, run: Entry, caused: bool) -> Line:
        decision = item.decision
        action = "withdraw" if end.reason == "withdrawn" else "stop"
        why = _WHY[end.reason]
        if end.reason == "superseded" and decision.starts and decision.number is not None:
            why = f"superseded by r{decision.number}"
        elif decision.row == "b" and end.reason != "withdrawn":
            why = decision.reason
        line = _of_entry(self._line(item, action, why, caused), run)
        return replace(line, rows="")

    def _start(self, item: JobDecision, run: Entry, ledger: Ledger, caused: bool) -> Line:
        decision, key = item.decision, (item.team, item.job)
        line = _of_entry(self._line(item, decision.action, decision.reason, caused), run)
        result = self.results.get(key)
        model = result.models.get(item.cluster) if result is not None else None
        made = _made(result.runs if result is not None else (), item.cluster)
        found = risks(model, item.target, decision)
        old_name = self.renamed.get((key, item.cluster))
        if old_name is not None:
            said = f"it looks like {old_name}, which is gone: `was: {old_name}` keeps its history"
            found.append(("looks-like-rename", f"{said} and its checkpoints"))
        if decision.action == "resume" and model is not None:
            line, more = self._resumed(item, line, run, ledger, model)
            found += more
        ends = [end.number for end in decision.ends if end.reason != "withdrawn"]
        compared, said = self._differences(item, run, ledger) if caused else (None, ())
        most = cost(made.run, made.site) if made is not None else None
        return replace(
            line,
            change=decision.change,
            replaces=ends[-1] if ends else None,
            cost=decimal(most) if most is not None else "",
            currency=(made.site.cluster.value.currency or "") if made is not None else "",
            risks=tuple(found),
            differences=said,
            compared=compared,
            notes=(*decision.notes, *self._waived(result)),
        )

    def _resumed(
        self, item: JobDecision, line: Line, run: Entry, ledger: Ledger, new: Run
    ) -> tuple[Line, list[tuple[str, str]]]:
        """The line of a run that goes on, and the risk that it does not find what was saved."""
        if new.checkpoint is None:
            before = f"r{run.came_from} of this training was not finished"
            said = f"{before} and saved nothing: it begins from zero"
            return replace(line, came_from=None, reason=said), []
        earlier = next((one for one in ledger.runs if one.number == run.came_from), None)
        old = self._as_it_was(item, earlier) if earlier is not None else None
        if earlier is None or old is None or old.checkpoint is None:
            return line, []
        moved = bool(earlier.namespace) and earlier.namespace != run.namespace
        places = [
            f"the claim {claim} in {namespace}" if moved else f"the claim {claim}"
            for claim, namespace in (
                (old.checkpoint.claim, earlier.namespace),
                (new.checkpoint.claim, run.namespace),
            )
        ]
        if places[0] == places[1]:
            return line, []
        meaning = (
            f"r{earlier.number} saved on {places[0]}, and it looks on {places[1]}: without a copy "
            "there it begins from zero"
        )
        return line, [("other-volume", meaning)]

    def _waived(self, result: JobResult | None) -> list[str]:
        """What was waived for a run to start: by which rule, until when, and who agreed."""
        paths = set(result.waivers) if result is not None else ()
        return [
            f"{waiver.value.rule} is waived until {waiver.value.until}: {waiver.path}, approved by "
            f"{waiver.value.approver}"
            for waiver in self.project.policy.waivers.values()
            if waiver.path in paths
        ]

    def _rest(self, item: JobDecision, runs: Mapping[int, Entry], caused: bool) -> Line:
        """What stays, does not start, or is blocked."""
        decision = item.decision
        ended = {end.number for end in decision.ends}
        action = decision.action if decision.action == "blocked" else "none"
        line = self._line(item, action, decision.reason, caused)
        line = replace(line, change=decision.change, notes=decision.notes)
        run = runs.get(decision.number) if decision.number is not None else None
        if run is None and action == "blocked":
            # What was to start is not there; what goes on instead is.
            run = next((r for r in runs.values() if r.active and r.cluster == item.cluster), None)
        return line if run is None or run.number in ended else _of_entry(line, run)

    def _differences(
        self, item: JobDecision, run: Entry, ledger: Ledger
    ) -> tuple[int | None, tuple[str, ...]]:
        """What is otherwise than in the run before it: the one it replaces, else the last one."""
        earlier = [one for one in ledger.on(item.cluster) if one.number < run.number]
        earlier = [one for one in earlier if one.launched] or earlier
        result = self.results.get((item.team, item.job))
        new = result.models.get(item.cluster) if result is not None else None
        if not earlier or new is None or result is None:
            return None, ()
        last = earlier[-1]
        old = self._as_it_was(item, last)
        if old is None:
            return last.number, ("what it was can no longer be read with today's policy",)
        return last.number, tuple(differences(old, new, last.files))

    def _as_it_was(self, item: JobDecision, run: Entry) -> Run | None:
        """What a run of the ledger was declared as, as today's policy reads it."""
        result = self.results.get((item.team, item.job))
        if result is None:
            return None
        path = self.project.repository.root / result.path
        then = self.project.judge(path, run.declared.encode(), {item.cluster: Ask()})
        return then.models.get(item.cluster)


def _of_entry(line: Line, run: Entry) -> Line:
    return replace(
        line,
        number=run.number,
        name=run.name,
        came_from=run.came_from,
        lineage=run.lineage,
        accelerators={name or "cpu": count for name, count in run.accelerators.items()},
        nodes=run.nodes,
        hours=run.declared_hours,
    )


def _made(runs: Iterable[RunResult], cluster: str) -> RunResult | None:
    return next((made for made in runs if made.run.identity.cluster == cluster), None)


def quota(
    before: Mapping[Key, Ledger], after: Mapping[Key, Ledger], limits: Mapping[str, Limits]
) -> list[Held]:
    """Who holds what before and after, with every limit, in the order of clusters and teams."""
    sums = [_sums(before.items()), _sums(after.items())]
    places = set(sums[0]) | set(sums[1])
    for cluster, limit in limits.items():
        for team, own in limit.quota.items():
            places |= {(cluster, team, accelerator) for accelerator in own}
    made: list[Held] = []
    for cluster, team, accelerator in sorted(places):
        own = limits[cluster].quota.get(team) if cluster in limits else None
        most = None if own is None or accelerator == CPU else own.get(accelerator, 0)
        place = (cluster, team, accelerator)
        now, then = sums[0].get(place, 0), sums[1].get(place, 0)
        made.append(Held(cluster, team, accelerator or "cpu", now, then, most))
    return made


def _sums(books: Iterable[tuple[Key, Ledger]]) -> dict[tuple[str, str, str], int]:
    made: dict[tuple[str, str, str], int] = {}
    for (team, _), ledger in books:
        for run in ledger.runs:
            for name, count in run.accelerators.items() if run.active else ():
                place = (run.cluster, team, name)
                made[place] = made.get(place, 0) + count
    return made


def last_observed(
    ledgers: Iterable[Ledger], told: Sequence[tuple[str, str]], clusters: Iterable[str]
) -> dict[str, str | None]:
    """When each cluster was last observed, as far as the ledgers and publish commits tell.

    `told` are (cluster, time) pairs. The times are RFC 3339, and the newest counts.
    """
    from datetime import datetime

    made: dict[str, str | None] = dict.fromkeys(sorted(clusters))
    seen = list(told)
    for ledger in ledgers:
        seen += [
            (run.cluster, run.ended.at)
            for run in ledger.runs
            if run.ended is not None and run.ended.by == "observation"
        ]
    for cluster, at in seen:
        known = made.get(cluster)
        if known is None or datetime.fromisoformat(known) < datetime.fromisoformat(at):
            made[cluster] = at
    return made
