"""The smallest edits with which a job that waits, or can never start, would pass.

Nothing is suggested that was not tried: the edited text is judged as a declaration, and what it
stands for then must have room beside all that have room now.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from compiler.diagnostics import Place, Severity
from compiler.model import Run
from compiler.nodes import Mapping as Tree
from compiler.nodes import Scalar
from compiler.project import Project
from compiler.quantity import duration_text
from compiler.quota.demand import demand, least
from compiler.quota.limits import ClusterLimits, accelerators
from compiler.quota.month import HOUR, Purse
from compiler.quota.sums import Claim, Counted, beside, summed
from compiler.results import JobResult
from compiler.rewriting import line_starts
from compiler.runs.room import HOURS, RUNS
from compiler.source import Source

# So many are shown, and so many texts are tried for one kind of edit.
MOST, TRIES = 3, 4
# The most accelerators or nodes that are counted down one by one.
STEPS = 4096


class Suggestion(Struct, frozen=True):
    """One value to write instead of another; `old` is the one in force, whoever says it."""

    job: str
    field: str
    old: str
    new: str

    @property
    def text(self) -> str:
        """How people read it: `num_nodes: 4 → 2`."""
        return f"{self.field}: {self.old} → {self.new}"


class _Change(Struct, frozen=True):
    field: str
    route: tuple[str, ...]
    old: str
    new: str
    cluster: str


def suggestions(
    project: Project,
    claim: Claim,
    claims: Sequence[Claim],
    limits: Mapping[str, ClusterLimits],
    result: JobResult,
    purse: Purse | None = None,
) -> list[Suggestion]:
    """At most three edits that pass: fewer nodes, fewer accelerators, another accelerator or
    cluster, less time, in this order.

    `claims` are those of all jobs in the order of their turns, and `result` the judged file.
    """
    run, source, node = result.models.get(claim.cluster), result.source, result.node
    if run is None or source is None or node is None:
        return []
    counted = beside(claims, (claim.cluster, claim.team, claim.job), limits, purse)
    if any(lack.accelerator == RUNS for lack in counted.lacking(claim)):
        # No smaller run passes a cap on the number of runs.
        return []
    made: list[Suggestion] = []
    trial = _Trial(project, claim, claims, limits, source, node, result, purse)
    kinds = (_fewer_nodes, _fewer_accelerators, _other_accelerator, _other_cluster, _less_time)
    for kind in kinds:
        for number, change in enumerate(kind(run, claim, counted, limits)):
            if trial.passes(change):
                said = f"{claim.team}/{claim.job}"
                made.append(Suggestion(said, change.field, change.old, change.new))
                break
            if number + 1 == TRIES:
                break
        if len(made) == MOST:
            break
    return made


def _room(counted: Counted, claim: Claim, held: dict[str, int], begins: dict[str, int]) -> bool:
    return not counted.lacking(replace(claim, demand=held, least=begins))


def _fewer_nodes(
    run: Run, claim: Claim, counted: Counted, limits: Mapping[str, ClusterLimits]
) -> Iterator[_Change]:
    least_nodes = run.least_nodes if run.elastic is not None else 1
    route = ("num_nodes", "max") if run.elastic is not None else ("num_nodes",)
    for nodes in range(run.nodes - 1, max(least_nodes, run.nodes - STEPS) - 1, -1):
        if _room(counted, claim, demand(run, nodes), demand(run, min(nodes, least_nodes))):
            yield _Change(".".join(route), route, str(run.nodes), str(nodes), claim.cluster)
            return


def _fewer_accelerators(
    run: Run, claim: Claim, counted: Counted, limits: Mapping[str, ClusterLimits]
) -> Iterator[_Change]:
    devices = run.others.devices
    if devices is None or run.first is not run.others:
        return
    for count in range(devices.count - 1, max(0, devices.count - STEPS), -1):
        held = {devices.name: count * run.nodes}
        if _room(counted, claim, held, {devices.name: count * run.least_nodes}):
            old = f"{devices.name}:{devices.count}"
            new = f"{devices.name}:{count}"
            yield _Change("accelerators", ("accelerators",), old, new, claim.cluster)


def _other_accelerator(
    run: Run, claim: Claim, counted: Counted, limits: Mapping[str, ClusterLimits]
) -> Iterator[_Change]:
    devices = run.others.devices
    if devices is None or run.first is not run.others:
        return
    shares = limits[claim.cluster].shares.get(claim.team, {})
    for name in shares:
        held = {name: devices.count * run.nodes}
        if name == devices.name:
            continue
        if _room(counted, claim, held, {name: devices.count * run.least_nodes}):
            old, new = f"{devices.name}:{devices.count}", f"{name}:{devices.count}"
            yield _Change("accelerators", ("accelerators",), old, new, claim.cluster)


def _other_cluster(
    run: Run, claim: Claim, counted: Counted, limits: Mapping[str, ClusterLimits]
) -> Iterator[_Change]:
    for name, cluster in limits.items():
        if name == claim.cluster or claim.team not in cluster.shares:
            continue
        if not counted.lacking(replace(claim, cluster=name)):
            yield _Change("cluster", ("cluster",), claim.cluster, name, name)


def _less_time(
    run: Run, claim: Claim, counted: Counted, limits: Mapping[str, ClusterLimits]
) -> Iterator[_Change]:
    """As many whole hours as the budget of the team's month leaves."""
    del limits
    lacks = counted.lacking(claim)
    count = accelerators(claim.demand)
    if not count or run.max_duration is None or any(one.accelerator != HOURS for one in lacks):
        return
    for lack in lacks:
        hours = min(lack.free // count, (run.max_duration - 1) // HOUR)
        if hours > 0:
            old, new = duration_text(run.max_duration), duration_text(hours * HOUR)
            yield _Change("max_duration", ("max_duration",), old, new, claim.cluster)


class _Trial:
    """The file of a claim, with one value of it replaced."""

    def __init__(
        self,
        project: Project,
        claim: Claim,
        claims: Sequence[Claim],
        limits: Mapping[str, ClusterLimits],
        source: Source,
        node: Tree,
        result: JobResult,
        purse: Purse | None,
    ) -> None:
        self.project = project
        self.claim = claim
        self.claims = claims
        self.limits = limits
        self.purse = purse
        self.holding = summed(claims, limits, purse).holding
        self.source = source
        self.node = node
        self.clusters = result.clusters
        self.known = {item.rule for item in result.findings}

    def passes(self, change: _Change) -> bool:
        """Whether the edited file has no error and no new warning, and its run has room.

        All who have room now keep it.
        """
        if change.field == "cluster" and len(self.clusters) > 1:
            return False
        text = self._text(change)
        if text is None:
            return False
        path = self.project.repository.root / self.claim.path
        after = self.project.judge(path, text.encode())
        for item in after.findings:
            new = item.severity is Severity.WARNING and item.rule not in self.known
            if item.severity is Severity.ERROR or new:
                return False
        run = after.models.get(change.cluster)
        if run is None:
            return False
        claim = replace(
            self.claim,
            cluster=change.cluster,
            queue=run.queue or "",
            demand=demand(run),
            least=least(run),
            seconds=run.max_duration or 0,
        )
        return self._all_keep(claim)

    def _all_keep(self, edited: Claim) -> bool:
        """Whether the edited claim has room at its turn, and takes it from none after it."""
        changed = [edited if one is self.claim else one for one in self.claims]
        after = {id(one) for one in summed(changed, self.limits, self.purse).holding}
        return id(edited) in after and all(id(one) in after for one in self.holding)

    def _text(self, change: _Change) -> str | None:
        """The file's text with the change; None where the value has no place in it."""
        node = self.node
        for step in change.route[:-1]:
            inner = node.get(step)
            if not isinstance(inner, Tree):
                return None
            node = inner
        value = node.get(change.route[-1])
        if isinstance(value, Scalar):
            return self._replaced(value.place, change.new)
        if value is not None or len(change.route) > 1 or self.node.flow:
            return None
        text = self.source.text
        end = "" if text.endswith("\n") else "\n"
        return f"{text}{end}{change.field}: {change.new}\n"

    def _replaced(self, place: Place, new: str) -> str:
        starts = line_starts(self.source.text)
        assert place.line
        assert place.column
        assert place.end_line
        assert place.end_column
        start = starts[place.line - 1] + place.column - 1
        end = starts[place.end_line - 1] + place.end_column - 1
        return self.source.text[:start] + new + self.source.text[end:]
