"""A policy file names something that does not exist.

## What it does
Looks up every name in policy: a team's clusters, default cluster, quota, cohorts, queues, claims
and priorities; a queue's accelerators and a cohort's parent; the rules in `policy/rules.yaml` and
in waivers; the team of a stop, and of the run that it stops.

## Why it is bad
A list with a misspelt name silently allows less, or more, than it says: a quota for `H10` guards
nothing, the weight of a rule that does not exist changes nothing, and a stop of a team that there
is not stops nothing.

## Example
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
queues: [research, interactiv, data]
defaults: {priority: normal, stop: {grace: 5m}}
```

## Use instead
```yaml
# policy/teams/nlp.yaml
namespace: p-nlp
owners: [kim-nlp]
clusters: [west]
queues: [research, interactive, data]
defaults: {priority: normal, stop: {grace: 5m}}
```

## References
- prow: kubernetes-sigs/prow cmd/checkconfig
- kubernetes-sigs/kueue#7929
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Place, Related, Severity
from compiler.policy.cluster import Cluster
from compiler.policy.rules import RulesPolicy
from compiler.policy.team import Team
from compiler.rules import Rule, finding, lookup, registered
from compiler.suggestions import choose, choose_accelerator

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project
    from compiler.repository import Document, Policy

RULE = Rule(
    code="DEC230",
    severity=Severity.ERROR,
    stage="repository",
    sources=("prow: kubernetes-sigs/prow cmd/checkconfig", "kubernetes-sigs/kueue#7929"),
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The names in policy that stand for nothing."""
    policy = project.policy
    for team in policy.teams.values():
        yield from _team(team, policy)
        yield from _defaults(team, policy)
    for cluster in policy.clusters.values():
        yield from _queues(cluster)
        yield from _parents(cluster)
    if policy.rules is not None:
        yield from _weights(policy.rules, policy)
    for waiver in policy.waivers.values():
        if lookup(waiver.value.rule) is None:
            yield _unknown("rule", waiver.value.rule, registered(), waiver.place("rule"))
    # A team whose file is broken is there all the same.
    teams = {*policy.teams, *_broken(policy, "teams")}
    for stop in policy.stops.values():
        if stop.value.team is not None and stop.value.team not in teams:
            yield _unknown("team", stop.value.team, teams, stop.place("team"))
        # A run is `team/job-rN`; only the ledger knows which there were.
        team, slash, _ = (stop.value.run or "").partition("/")
        if slash and team not in teams:
            yield _unknown("team", team, teams, stop.place("run"))


def _weights(rules: Document[RulesPolicy], policy: Policy) -> Iterator[Finding]:
    weights = [(("severity", name), name) for name in rules.value.severity or ()]
    # A team whose file is broken is there all the same.
    teams = {*policy.teams, *_broken(policy, "teams")}
    for team, own in (rules.value.teams or {}).items():
        weights += [(("teams", team, "severity", name), name) for name in own.severity]
        if team not in teams:
            yield _unknown("team", team, teams, rules.place("teams", team, key=True))
    for route, name in weights:
        if lookup(name) is None:
            yield _unknown("rule", name, registered(), rules.place(*route, key=True))


def _broken(policy: Policy, kind: str) -> Iterator[str]:
    folder = f"policy/{kind}/"
    for path in policy.broken:
        if path.startswith(folder):
            yield path.removeprefix(folder).rpartition(".")[0]


def _team(team: Document[Team], policy: Policy) -> Iterator[Finding]:
    value = team.value
    # A cluster whose file is broken is there all the same.
    known = {
        *policy.clusters,
        *_broken(policy, "clusters"),
    }
    for index, name in enumerate(value.clusters):
        if name not in known:
            yield _unknown("cluster", name, known, team.place("clusters", index))
    if value.default_cluster is not None and value.default_cluster not in value.clusters:
        yield _unknown(
            "cluster of the team",
            value.default_cluster,
            value.clusters,
            team.place("default_cluster"),
            [Related(team.place("clusters"), "the team's clusters")],
        )
    for name, quota in (value.quota or {}).items():
        if name not in value.clusters:
            place = team.place("quota", name, key=True)
            related = [Related(team.place("clusters"), "the team's clusters")]
            yield _unknown("cluster of the team", name, value.clusters, place, related)
        elif name in policy.clusters:
            cluster = policy.clusters[name]
            catalogue = cluster.value.accelerators or {}
            for accelerator in quota:
                if accelerator not in catalogue:
                    place = team.place("quota", name, accelerator, key=True)
                    related = [Related(cluster.place("accelerators", key=True), "its catalogue")]
                    yield _unknown(f"accelerator of {name}", accelerator, catalogue, place, related)
    yield from _cohorts(team, policy)
    yield from _listed(team, policy)


def _cohorts(team: Document[Team], policy: Policy) -> Iterator[Finding]:
    for name, cohort in (team.value.cohort or {}).items():
        if name not in team.value.clusters:
            place = team.place("cohort", name, key=True)
            related = [Related(team.place("clusters"), "the team's clusters")]
            yield _unknown("cluster of the team", name, team.value.clusters, place, related)
        elif name in policy.clusters:
            known = policy.clusters[name].value.cohorts or {}
            if cohort not in known:
                place = team.place("cohort", name)
                yield _unknown(f"cohort of {name}", cohort, known, place)


def _parents(cluster: Document[Cluster]) -> Iterator[Finding]:
    cohorts = cluster.value.cohorts or {}
    for name, cohort in cohorts.items():
        if cohort.parent is not None and cohort.parent not in cohorts:
            place = cluster.place("cohorts", name, "parent")
            others = [each for each in cohorts if each != name]
            yield _unknown("cohort of the cluster", cohort.parent, others, place)


def _clusters(team: Document[Team], policy: Policy) -> list[Cluster]:
    """The team's clusters; none where one is not there: what that has, nobody knows."""
    names = team.value.clusters
    return [policy.clusters[n].value for n in names] if set(names) <= set(policy.clusters) else []


def _listed(team: Document[Team], policy: Policy) -> Iterator[Finding]:
    clusters = _clusters(team, policy)
    caps = team.value.caps
    lists: tuple[tuple[str, tuple[str, ...], Sequence[str] | None, set[str] | None], ...] = (
        ("queue", ("queues",), team.value.queues, _all(c.queues for c in clusters)),
        ("claim", ("claims",), team.value.claims, _all(c.claims for c in clusters)),
        (
            "priority",
            ("caps", "priorities"),
            caps.priorities if caps is not None else None,
            _all(c.priorities for c in clusters),
        ),
    )
    for what, route, names, known in lists:
        for index, name in enumerate(names or ()):
            if known is not None and name not in known:
                yield _unknown(
                    f"{what} of the team's clusters", name, known, team.place(*route, index)
                )


def _defaults(team: Document[Team], policy: Policy) -> Iterator[Finding]:
    """What every job of a team gets that does not say, and nobody has."""
    defaults, clusters = team.value.defaults, _clusters(team, policy)
    if defaults is None or not clusters:
        return
    queues = _all(cluster.queues for cluster in clusters)
    if defaults.queue is not None and queues is not None and defaults.queue not in queues:
        place = team.place("defaults", "queue")
        yield _unknown("queue of the team's clusters", defaults.queue, queues, place)
    image = defaults.image
    images = {*policy.images, *(policy.lock.value.images if policy.lock is not None else ())}
    if image is not None and image.local and image.text not in images and not policy.broken:
        yield _unknown("image", image.text, images, team.place("defaults", "image"))


def _all(catalogues: Iterable[Iterable[str] | None]) -> set[str] | None:
    """The names of all catalogues together; None where no cluster has one."""
    present = [set(names) for names in catalogues if names is not None]
    return set[str]().union(*present) if present else None


def _queues(cluster: Document[Cluster]) -> Iterator[Finding]:
    catalogue = cluster.value.accelerators or {}
    for queue, entry in (cluster.value.queues or {}).items():
        for index, name in enumerate(entry.accelerators or ()):
            if name not in catalogue:
                place = cluster.place("queues", queue, "accelerators", index)
                related = [Related(cluster.place("accelerators", key=True), "the catalogue")]
                yield _unknown("accelerator of the cluster", name, catalogue, place, related)


def _unknown(
    what: str, name: str, known: Iterable[str], place: Place, related: Iterable[Related] = ()
) -> Finding:
    nearest = choose_accelerator if what.startswith("accelerator") else choose
    remedy = nearest(name, known, none="take it out: there is none")
    return finding(
        "unknown-name-in-policy", place, f"there is no {what} called `{name}`", remedy, related
    )
