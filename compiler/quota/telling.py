"""The verdict in words: a row of JSON for each limit that is passed, a finding for each that waits.

Where many wait, the first are told of and the rest are counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from compiler.diagnostics import Finding, Place, Related
from compiler.model import Run
from compiler.project import Project
from compiler.quota.edits import Suggestion, suggestions
from compiler.quota.limits import CPU, ClusterLimits
from compiler.quota.month import Purse
from compiler.quota.sums import Breach, Claim
from compiler.results import JobResult
from compiler.rules import Route, finding
from compiler.runs.room import RUNS

# So many jobs that wait get a finding of their own, and edits that would pass.
MOST = 20
# So many holders are named in a sentence.
NAMED = 3


class Told:
    """What telling needs to know, and what was found out on the way."""

    def __init__(
        self,
        project: Project,
        claims: Sequence[Claim],
        limits: Mapping[str, ClusterLimits],
        wanted: Sequence[str] = (),
        results: Mapping[tuple[str, str], JobResult] | None = None,
        purse: Purse | None = None,
    ) -> None:
        self.project = project
        self.claims = claims
        self.limits = limits
        self.wanted = wanted
        self.purse = purse
        self._results = {result.path: result for result in (results or {}).values()}
        self._edits: dict[tuple[str, str, str], list[Suggestion]] = {}

    def result(self, claim: Claim) -> JobResult:
        """The judged file of a claim."""
        if claim.path not in self._results:
            path = self.project.repository.root / claim.path
            self._results[claim.path] = self.project.judge(path)
        return self._results[claim.path]

    def model(self, claim: Claim) -> Run | None:
        return self.result(claim).models.get(claim.cluster)

    def edits(self, claim: Claim) -> list[Suggestion]:
        """What would pass, for the first jobs that are asked about."""
        place = (claim.cluster, claim.team, claim.job)
        if place not in self._edits:
            if len(self._edits) >= MOST:
                return []
            self._edits[place] = suggestions(
                self.project, claim, self.claims, self.limits, self.result(claim), self.purse
            )
        return self._edits[place]

    def first(self, claims: Sequence[Claim]) -> list[Claim]:
        """The claims, those of the files that were asked about before the others."""
        asked = self.wanted
        return sorted(
            claims,
            key=lambda claim: (
                not any(
                    claim.path == path or path in (".", "") or claim.path.startswith(f"{path}/")
                    for path in asked
                )
            ),
        )

    def place(self, breach: Breach) -> Place:
        """Where policy says the limit."""
        policy, cluster = self.project.policy, self.project.policy.clusters[breach.cluster]
        if breach.team is None:
            if breach.accelerator == CPU:
                return cluster.place("cpu_nodes", "nodes")
            return cluster.place("accelerators", breach.accelerator, "nodes")
        team = policy.teams[breach.team]
        if breach.accelerator == RUNS:
            return team.place("caps", "runs")
        return team.place("quota", breach.cluster, breach.accelerator, key=True)

    def owner(self, claim: Claim) -> str:
        """Who answers for a job: whom it names, else the owners of its team."""
        return claim.owner or self.owners(claim.team)

    def owners(self, name: str) -> str:
        team = self.project.policy.teams.get(name)
        return ", ".join(team.value.owners) if team is not None else ""


def row_of(told: Told, breach: Breach) -> dict[str, Any]:
    """A limit that is passed, as docs/interfaces.md has it."""
    queues = {claim.queue for claim in breach.waiting}
    edits = [edit for claim in told.first(breach.waiting) for edit in told.edits(claim)]
    return {
        "cluster": breach.cluster,
        "team": breach.team,
        "queue": (queues.pop() or None) if len(queues) == 1 else None,
        "accelerator": shown(breach.accelerator),
        "limit": breach.limit,
        "limit_at": {"path": breach.at[0], "line": breach.at[1]},
        "requested": breach.requested,
        "held": breach.held,
        "holders": [
            {
                "job": f"{claim.team}/{claim.job}",
                "run": claim.run or None,
                "accelerators": breach.of(claim),
                "owner": told.owner(claim),
                "until": claim.until or None,
            }
            for claim in breach.holders
        ],
        "waiting": [
            {"job": f"{claim.team}/{claim.job}", "accelerators": breach.of(claim)}
            for claim in breach.waiting
        ],
        "edits": [
            {"job": edit.job, "field": edit.field, "from": edit.old, "to": edit.new}
            for edit in edits
        ],
    }


def shown(accelerator: str) -> str | None:
    """An accelerator as JSON has it: cpu counts nodes without any, null runs."""
    return None if accelerator == RUNS else accelerator or "cpu"


def amount(number: int, accelerator: str) -> str:
    """So many of something: `32 H100`, `3 nodes`, `12 runs`."""
    if accelerator in (RUNS, CPU):
        noun = "run" if accelerator == RUNS else "node"
        return f"{number} {noun}" + ("" if number == 1 else "s")
    return f"{number} {accelerator}"


def findings_of(told: Told, found: Sequence[Breach]) -> Iterator[Finding]:
    """A notice for each job that waits, once, and a warning where more is held than is allowed."""
    waiting: dict[tuple[str, str, str], tuple[Claim, Breach]] = {}
    for breach in found:
        for claim in breach.waiting:
            if not claim.refused:
                waiting.setdefault((claim.cluster, claim.team, claim.job), (claim, breach))
        if breach.held > breach.limit:
            yield _above(told, breach)
    order = {id(claim): at for at, claim in enumerate(told.first([c for c, _ in waiting.values()]))}
    pairs = sorted(waiting.values(), key=lambda pair: order[id(pair[0])])
    for at, (claim, breach) in enumerate(pairs[:MOST]):
        left = len(pairs) - MOST if at == MOST - 1 else 0
        yield _waits(told, claim, breach, left)


def _waits(told: Told, claim: Claim, breach: Breach, left: int) -> Finding:
    limits, model = told.limits[claim.cluster], told.model(claim)
    where = f"the team {breach.team}" if breach.team else f"the cluster {claim.cluster}"
    verb = "may have" if breach.team else "has"
    on = f" on {claim.cluster}" if breach.team else ""
    fits = "does" if breach.of(claim) == 1 else "do"
    message = (
        f"{amount(breach.of(claim), breach.accelerator)} more {fits} not fit now: {where} {verb} "
        f"{amount(breach.limit, breach.accelerator)}{on}, and {breach.held} are taken; "
    )
    names = ", ".join(_holder(holder, breach) for holder in breach.holders[:NAMED])
    more = len(breach.holders) - NAMED
    behind = names + (f" and {more} more" if more > 0 else "")
    if limits.waits:
        message += f"Kueue lets it wait behind {behind}" if behind else "Kueue lets it wait"
    else:
        message += "publish holds it until there is room"
        message += f"; before it come {behind}" if behind else ""
    if left > 0:
        message += f" ({left} more jobs wait)"
    edits = " or ".join(f"`{edit.text}`" for edit in told.edits(claim))
    place = Place.start(claim.path)
    if model is not None:
        place = model.origins.place(_route(model, breach.accelerator))
        if place.path != claim.path:
            place = model.origins.anchor
    return finding(
        "waits-for-quota",
        place,
        message,
        f"now would fit: {edits}" if edits else "nothing smaller would fit now: leave it to wait",
        [Related(told.place(breach), "the limit")],
    )


def _route(run: Run, accelerator: str) -> Route:
    if accelerator == RUNS:
        return ()
    if run.nodes > 1:
        return ("num_nodes", "max") if run.elastic is not None else ("num_nodes",)
    return ("accelerators",)


def _holder(claim: Claim, breach: Breach) -> str:
    said = claim.title
    if breach.accelerator != RUNS:
        said += f" ({breach.of(claim)}"
        said += f", until {claim.until[:16]}Z" if claim.until else ""
        said += ")"
    return said


def _above(told: Told, breach: Breach) -> Finding:
    whose = f"the team {breach.team}" if breach.team else f"the cluster {breach.cluster}"
    where = f" on {breach.cluster}" if breach.team else ""
    names = ", ".join(_holder(claim, breach) for claim in breach.holders[:NAMED])
    return finding(
        "quota-below-use",
        told.place(breach),
        f"{amount(breach.held, breach.accelerator)} are held{where}, and {whose} "
        f"{'may have' if breach.team else 'has'} {breach.limit}: {names}",
        "nothing is stopped for it, and nothing more starts; stop a run to make room sooner",
    )
