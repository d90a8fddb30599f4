"""Which job a declaration is: its name, its team, and its clusters."""

from __future__ import annotations

from pathlib import Path

from compiler.diagnostics import Place, Related
from compiler.names import LONGEST_JOB, job_name_problem
from compiler.nodes import Mapping, Scalar
from compiler.nodes import Sequence as NodeSequence
from compiler.policy.team import Team
from compiler.repository import Document, Policy, Repository
from compiler.results import JobResult
from compiler.rules import finding
from compiler.suggestions import choose


def name_of(result: JobResult) -> None:
    """Report what is wrong with the name of the file, which is the name of the job."""
    problem = job_name_problem(result.job)
    if problem is not None:
        rule = "name-too-long-for-pods" if len(result.job) > LONGEST_JOB else "bad-name"
        result.findings.append(finding(rule, Place.start(result.path), *problem))


def folder_of(path: str) -> str:
    """The folder below jobs/ that a declaration is in, which names its team; empty for none."""
    parts = path.split("/")
    return parts[1] if len(parts) > 2 and parts[0] == "jobs" else ""


def team_of(
    result: JobResult, path: Path, node: Mapping, repository: Repository, policy: Policy
) -> Document[Team] | None:
    """The team that the folder or the file names; None where a finding says why not."""
    folder = path.parent.name if path.parent != repository.root / "jobs" else None
    written = node.get("team")
    if isinstance(written, Scalar) and not written.empty:
        name = str(written)
        if folder is not None and folder != name:
            result.findings.append(
                finding(
                    "team-and-folder-differ",
                    written.place,
                    f"the file is in jobs/{folder}/, and says that it belongs to {name}",
                    f"take the line out, or move the file to jobs/{name}/",
                )
            )
            return None
    elif folder is not None:
        name = folder
    elif "team" in node:
        return None
    else:
        first = next(iter(node), None)
        place = first.place if isinstance(first, Scalar) else Place.start(result.path)
        result.findings.append(
            finding(
                "missing-key",
                place,
                "nothing says which team the job belongs to",
                "add `team:`, or move the file to jobs/<team>/",
            )
        )
        return None
    result.team = name
    team = policy.teams.get(name)
    if team is None and not policy.unreadable("teams", name):
        place = written.place if isinstance(written, Scalar) else Place.start(result.path)
        result.findings.append(
            finding(
                "unknown-team",
                place,
                f"there is no team `{name}`",
                choose(name, policy.teams, f"add policy/teams/{name}.yaml"),
            )
        )
    return team


def clusters_of(
    result: JobResult, team: Document[Team], node: Mapping, policy: Policy
) -> list[str]:
    """The clusters that the file names, or the team's default; unknown ones are reported."""
    written = node.get("cluster")
    places: list[tuple[str, Place]] = []
    if isinstance(written, Scalar) and not written.empty:
        places = [(str(written), written.place)]
    elif isinstance(written, NodeSequence):
        places = [(str(item), item.place) for item in written if isinstance(item, Scalar)]
    elif written is None:
        names = list(dict.fromkeys(team.value.clusters))
        default = team.value.default_cluster or (names[0] if len(names) == 1 else None)
        if default is None:
            result.findings.append(
                finding(
                    "missing-key",
                    team.place("clusters"),
                    f"the team {team.name} has several clusters and no default_cluster",
                    f"add `default_cluster:` with one of {', '.join(names)} here, or `cluster:` to"
                    " each job",
                    [Related(Place.start(result.path), "in this job")],
                )
            )
            return []
        route = ("default_cluster",) if team.value.default_cluster else ("clusters", 0)
        places = [(default, team.place(*route))]
    names: list[str] = []
    for name, place in places:
        if name not in team.value.clusters:
            result.findings.append(
                finding(
                    "unknown-cluster",
                    place,
                    f"the team {team.name} has no cluster `{name}`",
                    choose(name, team.value.clusters),
                    [Related(team.place("clusters"), "the team's clusters")],
                )
            )
        elif name in policy.clusters and name not in names:
            names.append(name)
        elif name not in policy.clusters and not policy.unreadable("clusters", name):
            result.findings.append(
                finding(
                    "unknown-cluster",
                    place,
                    f"there is no cluster `{name}`",
                    choose(name, policy.clusters, f"add policy/clusters/{name}.yaml"),
                )
            )
    result.clusters = tuple(names)
    if names and len(names) == len(dict.fromkeys(name for name, _ in places)):
        _by_cluster(result, node, names)
    return names


def _by_cluster(result: JobResult, node: Mapping, clusters: list[str]) -> None:
    """Report values for clusters on which the job does not run."""
    checkpoint = node.get("checkpoint")
    of = checkpoint.get("from") if isinstance(checkpoint, Mapping) else None
    for field, value in (("rerun", node.get("rerun")), ("checkpoint.from", of)):
        for name in value if isinstance(value, Mapping) else ():
            if str(name) not in clusters and isinstance(name, Scalar):
                result.findings.append(
                    finding(
                        "unknown-cluster",
                        name.place,
                        f"`{field}` is for {name}, and the job does not run there",
                        choose(str(name), clusters) + ", or take it out",
                    )
                )
