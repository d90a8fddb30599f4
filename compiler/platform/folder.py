"""`overlays/<cluster>/platform/`: all files of it, with the kustomization that lists them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler.backends import backends
from compiler.names import is_foreign
from compiler.overlay import API, NOTICE
from compiler.platform import admission, cohorts, flavors, namespaces, priorities, queues
from compiler.platform.flavors import Object
from compiler.quota.limits import limits_of
from compiler.syncers import access
from compiler.syncers.folder import syncer_of
from compiler.yamlout import dump, dump_all

if TYPE_CHECKING:
    from compiler.policy.cluster import Cluster
    from compiler.policy.team import Team
    from compiler.repository import Policy


@dataclass(frozen=True, slots=True)
class Before:
    """What there is on a cluster already.

    `files` is the folder as it was last published, by path from the root; `teams` are those with
    runs in the ledger, `homes` the namespaces of each team's active runs.
    """

    files: Mapping[str, str] = field(default_factory=dict[str, str])
    teams: frozenset[str] = frozenset()
    homes: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])


def folder_of(cluster: str) -> str:
    """The folder of a cluster's platform, from the repository's root."""
    return f"overlays/{cluster}/platform"


def namespaces_in(files: Mapping[str, str]) -> dict[str, set[str]]:
    """The namespaces of each team that a published folder lists."""
    found: dict[str, set[str]] = {}
    for path, text in files.items():
        folder, _, file = path.rpartition("/")
        team = namespaces.team_of(text) if folder.endswith("/namespaces") else None
        if team is not None:
            found.setdefault(team, set()).add(file.removesuffix(".yaml"))
    return found


def platform_files(policy: Policy, cluster: str, before: Before | None = None) -> dict[str, str]:
    """The folder's files by path from the root.

    As they were published, where policy about the cluster or about a team cannot be read: what
    cannot be read is not absent. A namespace stays listed as long as the ledger knows runs of its
    team, and a team's queues as long as it has active runs, whether policy still has it or not.
    """
    before = before or Before()
    if before.files and (_unreadable(policy, cluster) or cluster not in policy.clusters):
        return dict(before.files)
    kinds = {(b.target.api_version, admission.PLURALS[b.target.kind]) for b in backends().values()}
    made = {"tombstones.yaml": admission.objects(kinds)}
    kept: dict[str, str] = {}
    document = policy.clusters.get(cluster)
    if document is not None:
        teams = {
            name: team.value
            for name, team in sorted(policy.teams.items())
            if cluster in team.value.clusters
        }
        made |= _namespaces(document.value, teams)
        made |= _admitted(policy, cluster, document.value, teams, before)
        kept = _kept(cluster, document.value, teams, before, made)
    folder = folder_of(cluster)
    header = f"# What the platform needs on {cluster}. {NOTICE}\n"
    files = {
        f"{folder}/{name}": header + dump_all(objects) for name, objects in made.items() if objects
    }
    files |= kept
    if document is not None:
        files |= {
            f"{folder}/{name}": header + dump_all(objects)
            for name, objects in _access(document.value, folder, files).items()
        }
    names = sorted(path.removeprefix(f"{folder}/") for path in files)
    files[f"{folder}/kustomization.yaml"] = header + dump({**API, "resources": names})
    return files


def _access(cluster: Cluster, folder: str, files: Mapping[str, str]) -> dict[str, list[Object]]:
    """What the cluster's syncer may do in each of the namespaces."""
    found = syncer_of(cluster)
    if found is None:
        return {}
    module, setting = found
    start = f"{folder}/namespaces/"
    spaces = {
        path.removeprefix(start).removesuffix(".yaml"): text
        for path, text in files.items()
        if path.startswith(start)
    }
    return access.bindings(module.home(setting), spaces)


def _unreadable(policy: Policy, cluster: str) -> bool:
    return any(
        path.startswith(("policy/teams/", f"policy/clusters/{cluster}.")) for path in policy.broken
    )


def _namespaces(cluster: Cluster, teams: Mapping[str, Team]) -> dict[str, list[Object]]:
    made: dict[str, list[Object]] = {}
    for name, team in teams.items():
        if not is_foreign(team.namespace):
            # Two teams in one namespace are an error of policy; the first one is written.
            made.setdefault(
                f"namespaces/{team.namespace}.yaml", namespaces.objects(cluster, name, team)
            )
    return made


def writes_kueue(cluster: Cluster) -> bool:
    """Whether Kueue's flavors, quotas and queues of a cluster are made from policy."""
    return (
        (cluster.admission or "kueue") == "kueue"
        and cluster.kueue_objects is not False
        and flavors.served(cluster.versions.kueue if cluster.versions is not None else None)
    )


def _admitted(
    policy: Policy, name: str, cluster: Cluster, teams: Mapping[str, Team], before: Before
) -> dict[str, list[Object]]:
    """Kueue's own objects. A cluster whose policy names no queue has them from somewhere else.

    Pods that no queue holds name a priority themselves, so their classes are there instead.
    """
    if cluster.admission == "ledger" and cluster.kueue_objects is not False:
        return {"priorities.yaml": priorities.of_pods(cluster)}
    if not writes_kueue(cluster):
        return {}
    made = {"priorities.yaml": priorities.objects(cluster)}
    if not cluster.queues:
        made["priorities.yaml"] += priorities.of_pods(cluster)
    if not cluster.queues or not flavors.flavors(cluster):
        return made
    gone = [team for team, homes in before.homes.items() if homes and team not in teams]
    made["flavors.yaml"] = flavors.objects(cluster)
    made["cohorts.yaml"] = cohorts.objects(cluster, limits_of(policy)[name], gone)
    taken: set[str] = set()
    for team_name, team in teams.items():
        homes = {team.namespace, *before.homes.get(team_name, ())} - taken
        taken |= homes
        if homes:
            made[f"queues/{team_name}.yaml"] = queues.objects(
                cluster, team_name, team, sorted(homes)
            )
    return made


def _kept(
    name: str,
    cluster: Cluster,
    teams: Mapping[str, Team],
    before: Before,
    made: Mapping[str, list[Object]],
) -> dict[str, str]:
    """Files that policy no longer asks for and that runs still need, as they were published."""
    found: dict[str, str] = {}
    for path, text in sorted(before.files.items()):
        inner = path.removeprefix(f"{folder_of(name)}/")
        kind, _, file = inner.partition("/")
        if inner in made:
            continue
        if kind == "namespaces" and namespaces.team_of(text) in before.teams:
            found[path] = text
        elif kind == "queues" and writes_kueue(cluster):
            team = file.removesuffix(".yaml")
            if team not in teams and before.homes.get(team):
                found[path] = text
    return found
