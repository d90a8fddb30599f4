"""The text of a new declaration: short, complete, and clean under `check`."""

from __future__ import annotations

from msgspec import Struct

from compiler.diagnostics import CompilerError
from compiler.names import job_name_problem
from compiler.policy.cluster import Accelerator, Cluster
from compiler.policy.team import Team
from compiler.repository import Document, Policy
from compiler.suggestions import any_of, choose


class Wish(Struct, frozen=True):
    """What the author said on the command line; None where policy chooses."""

    name: str
    team: str | None = None
    image: str | None = None
    accelerators: str | None = None
    num_nodes: int = 1
    cluster: str | None = None


def scaffold(wish: Wish, policy: Policy) -> tuple[str, str]:
    """The path and text of a new declaration; raises CompilerError where the wish cannot be met."""
    problem = job_name_problem(wish.name)
    if problem is not None:
        raise CompilerError(f"`{wish.name}` is no name for a job: {problem[0]}", problem[1])
    team = _team(wish, policy)
    cluster = _cluster(wish, team, policy)
    image = wish.image or _first_image(policy)
    accelerators = wish.accelerators or _first_accelerator(team, cluster)
    lines = ["# yaml-language-server: $schema=../../schemas/job.schema.json"]
    lines += [f"description: what {wish.name} trains, for whom", f"image: {image}"]
    if cluster.name != _default(team):
        lines.append(f"cluster: {cluster.name}")
    if accelerators is not None:
        lines.append(f"accelerators: {accelerators}    # per node")
    if wish.num_nodes != 1:
        lines.append(f"num_nodes: {wish.num_nodes}")
    queue = _queue(team, cluster, accelerators)
    if queue is not None:
        lines.append(f"queue: {queue}")
    lines += ["max_duration: 24h", "retry: {max: 3}", "stop: {grace: 5m}"]
    readable = _claim(team, cluster, writable=False)
    if readable is not None:
        lines += ["mounts:", f"  /data: {{claim: {readable}, read_only: true}}"]
    writable = _claim(team, cluster, writable=True)
    if writable is not None:
        lines.append(f"checkpoint: {{claim: {writable}, path: /ckpt, every: 30m, keep: 3}}")
    return f"jobs/{team.name}/{wish.name}.yaml", "\n".join(lines) + "\n"


def _team(wish: Wish, policy: Policy) -> Document[Team]:
    if wish.team is None:
        if not policy.teams:
            raise CompilerError("there is no team yet", "add one, policy/teams/<team>.yaml")
        if len(policy.teams) == 1:
            return next(iter(policy.teams.values()))
        raise CompilerError("which team?", any_of(sorted(policy.teams), start="add --team with"))
    if policy.unreadable("teams", wish.team):
        raise CompilerError(f"policy/teams/{wish.team}.yaml cannot be read", "run `check`")
    if wish.team not in policy.teams:
        remedy = choose(wish.team, policy.teams, f"add policy/teams/{wish.team}.yaml")
        raise CompilerError(f"there is no team `{wish.team}`", remedy)
    return policy.teams[wish.team]


def _default(team: Document[Team]) -> str | None:
    """The cluster of a job that names none."""
    clusters = team.value.clusters
    return team.value.default_cluster or (clusters[0] if len(clusters) == 1 else None)


def _cluster(wish: Wish, team: Document[Team], policy: Policy) -> Document[Cluster]:
    """The cluster that is wished for, else the first of the team's that has the accelerators."""
    own = team.value.clusters
    if wish.cluster is not None and wish.cluster not in own:
        raise CompilerError(
            f"the team {team.name} has no cluster `{wish.cluster}`", choose(wish.cluster, own)
        )
    default = _default(team)
    names = (
        [wish.cluster] if wish.cluster else list(dict.fromkeys([*filter(None, [default]), *own]))
    )
    known = [policy.clusters[name] for name in names if name in policy.clusters]
    if not known:
        raise CompilerError(f"no cluster of the team {team.name} can be read", "run `check`")
    if wish.accelerators is None:
        return known[0]
    wanted = wish.accelerators.partition(":")[0]
    for cluster in known:
        if wanted in _allowed(team, cluster):
            return cluster
    catalogue = sorted({name for cluster in known for name in _allowed(team, cluster)})
    if any(wanted in (cluster.value.accelerators or {}) for cluster in known):
        raise CompilerError(
            f"the team {team.name} has no quota for {wanted} on {' or '.join(names)}",
            any_of(catalogue) if catalogue else f"ask for a quota in policy/teams/{team.name}.yaml",
        )
    raise CompilerError(
        f"no cluster of the team {team.name} has accelerators `{wanted}`"
        if wish.cluster is None
        else f"the cluster {wish.cluster} has no accelerators `{wanted}`",
        choose(wanted, catalogue),
    )


def _first_image(policy: Policy) -> str:
    locked = policy.lock.value.images if policy.lock else {}
    ready = sorted(name for name in policy.images if name in locked)
    return (ready or sorted(locked) or ["registry/name@sha256:..."])[0]


def _allowed(team: Document[Team], cluster: Document[Cluster]) -> dict[str, Accelerator]:
    """The accelerators of a cluster that a team may hold any of."""
    catalogue = cluster.value.accelerators or {}
    quota = (team.value.quota or {}).get(cluster.name)
    if quota is None:
        return catalogue
    shares = {name: share.guaranteed + (share.borrowing or 0) for name, share in quota.items()}
    return {name: entry for name, entry in catalogue.items() if shares.get(name)}


def _first_accelerator(team: Document[Team], cluster: Document[Cluster]) -> str | None:
    name, entry = next(iter(_allowed(team, cluster).items()), (None, None))
    return None if entry is None else f"{name}:{entry.per_node}"


def _queue(
    team: Document[Team], cluster: Document[Cluster], accelerators: str | None
) -> str | None:
    wanted = (accelerators or "").partition(":")[0]
    for name, queue in (cluster.value.queues or {}).items():
        if team.value.queues is not None and name not in team.value.queues:
            continue
        if wanted and queue.accelerators is not None and wanted not in queue.accelerators:
            continue
        if not wanted and queue.cpu_only is False:
            continue
        return name
    return None


def _claim(team: Document[Team], cluster: Document[Cluster], *, writable: bool) -> str | None:
    for name, claim in (cluster.value.claims or {}).items():
        if team.value.claims is not None and name not in team.value.claims:
            continue
        writes = claim.access == "ReadWriteMany" and not claim.read_only
        reads = claim.access in ("ReadOnlyMany", "ReadWriteMany")
        if writes if writable else reads and not writes:
            return name
    return None
