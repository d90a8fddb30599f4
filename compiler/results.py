"""What becomes of one declaration: findings, models, and the objects of its runs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from msgspec import Struct, field

from compiler.backends import Backend, Object
from compiler.base import Base
from compiler.diagnostics import Finding, Place, Severity
from compiler.effective import Effective
from compiler.memory import Judged, RunSummary, stored_place
from compiler.model import Run
from compiler.nodes import Mapping, Scalar
from compiler.outputs import held, written
from compiler.overlay import desired
from compiler.quota.demand import demand, least
from compiler.site import Site
from compiler.source import Source


class Ask(Struct, frozen=True):
    """Which run of a declaration is meant, where it is not simply the first.

    `image` and `base` are the digest and the snapshot that an earlier run of the lineage had, where
    this one goes on with them.
    """

    number: int = 1
    lineage: int | None = None
    folder: str | None = None
    source: str = "unpublished"
    image: str | None = None
    base: Base | None = None


FIRST = Ask()


class RunResult(Struct, frozen=True, dict=True):
    """One run of a job on one cluster: the model, and the objects that it becomes."""

    run: Run
    site: Site
    effective: Effective
    base: Base
    backend: Backend

    @cached_property
    def objects(self) -> tuple[Object, ...]:
        """The training object with the base merged in, then the ConfigMaps.

        They are made when somebody asks: a check of many jobs needs the models alone.
        """
        training, *others = self.backend.emit(self.run, self.site)
        return (desired(self.base, training, self.backend.target), *others)


class JobResult(Struct):
    """What became of one declaration.

    `runs` are the runs that are right in every respect; `models` holds, by cluster, also those
    that an error stands against, for what runs already is judged by what it is. `waivers` are the
    files under `policy/waivers/` without which there were more findings.
    """

    path: str
    digest: str = ""
    team: str = ""
    job: str = ""
    clusters: tuple[str, ...] = ()
    findings: list[Finding] = field(default_factory=list)  # type: ignore[assignment]
    runs: list[RunResult] = field(default_factory=list)  # type: ignore[assignment]
    depends: dict[str, str] = field(default_factory=dict)  # type: ignore[assignment]
    models: dict[str, Run] = field(default_factory=dict[str, Run])
    waivers: list[str] = field(default_factory=list[str])
    node: Mapping | None = None
    source: Source | None = None

    @property
    def usable(self) -> bool:
        """Whether no error stands against it."""
        return all(f.severity is not Severity.ERROR for f in self.findings)


# Rules that refuse a run for its team's quota alone.
QUOTA_RULES = frozenset({"above-quota"})


def summarised(result: JobResult) -> Judged:
    """A job's result without its trees."""
    wrong = {item.rule for item in result.findings if item.severity is Severity.ERROR}
    made = {run.run.identity.cluster for run in result.runs}
    beyond = [model for cluster, model in result.models.items() if cluster not in made]
    return Judged(
        result.path,
        result.digest,
        result.team,
        result.job,
        result.findings,
        [
            _summary(made.run, made.effective.declaration.owner or "", made.site)
            for made in result.runs
        ],
        result.depends,
        result.waivers,
        [_summary(model) for model in beyond] if wrong and wrong <= QUOTA_RULES else [],
        str(result.node.get("was") or "") if result.node is not None else "",
        list(dict.fromkeys(map(str, resumed_from(result.node)))),
    )


def resumed_from(node: Mapping | None) -> list[Scalar]:
    """The runs that a declaration names under `checkpoint.from`, one or by cluster."""
    checkpoint = node.get("checkpoint") if node is not None else None
    named = checkpoint.get("from") if isinstance(checkpoint, Mapping) else None
    found = named.values() if isinstance(named, Mapping) else (named,)
    return [value for value in found if isinstance(value, Scalar)]


def _summary(run: Run, owner: str = "", site: Site | None = None) -> RunSummary:
    identity = run.identity
    return RunSummary(
        cluster=identity.cluster,
        team=identity.team,
        job=identity.job,
        name=identity.name,
        namespace=identity.namespace,
        nodes=run.nodes,
        least_nodes=run.least_nodes,
        accelerator=run.others.devices.name if run.others.devices else "",
        accelerators=run.accelerators,
        demand=demand(run),
        least=least(run) if run.least_nodes != run.nodes else None,
        queue=run.queue or "",
        seconds=run.max_duration or 0,
        retries=run.retries,
        stopped=run.stopped,
        owner=owner,
        writes=_places(written(run, site)) if site is not None else {},
        claims=_places(held(run, site)) if site is not None else {},
    )


def _places(found: dict[str, Place]) -> dict[str, list[Any]]:
    return {name: stored_place(place) for name, place in found.items()}
