"""What `bump` writes into a declaration, so that a job trains once more or goes on."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct
from msgspec.structs import replace

from compiler.diagnostics import CompilerError, Severity
from compiler.leaf import Route, with_leaves
from compiler.nodes import Mapping, Scalar
from compiler.project import Project
from compiler.results import JobResult
from compiler.runs.books import read_books
from compiler.runs.entries import Entry, Ledger
from compiler.runs.git import Git
from compiler.runs.union import union
from compiler.source import decode
from compiler.suggestions import choose
from compiler.tree import read

RERUN: Route = ("rerun",)
RESUME: Route = ("checkpoint", "from")
# What a job without the field has (compiler/lowering.py).
FIRST = 1


class Bump(Struct, frozen=True):
    """The declaration's new text, what was written by cluster, and what a person should know."""

    text: str
    written: dict[str, str]
    notes: list[str]


def ledger_of(git: Git, branch: str | None, result: JobResult) -> Ledger:
    """The job's ledger, as far as this clone knows it; without runs where there is none.

    No network is used: the remote's branch counts as it was last fetched.
    """
    names = ["HEAD", "refs/remotes/origin/HEAD"]
    names += [f"refs/remotes/origin/{branch}", f"refs/heads/{branch}"] if branch else []
    tips = dict.fromkeys(tip for name in names if (tip := git.known(name)) is not None)
    was = result.node.get("was") if result.node is not None else None
    jobs = {result.job, str(was) if isinstance(was, Scalar) else result.job}
    found = [
        ledger
        for tip in tips
        for (team, job), ledger in read_books(git, tip).ledgers.items()
        if team == result.team and jobs & {job, *ledger.also}
    ]
    return replace(union(found), team=result.team) if found else Ledger(result.team, result.job)


def bump(
    project: Project, result: JobResult, ledger: Ledger, cluster: str | None, *, resume: bool
) -> Bump:
    """The declaration with the next `rerun`, or with `checkpoint: {from: rN}`.

    Without `cluster` it is for every cluster that the job names. Raises CompilerError where that
    would start nothing, or where the text cannot be changed with certainty.
    """
    source, node = result.source, result.node
    if source is None or node is None or not result.clusters:
        raise CompilerError(f"{result.path} cannot be judged", f"run `check {result.path}`")
    if cluster is not None and cluster not in result.clusters:
        raise CompilerError(
            f"{result.path} does not name the cluster `{cluster}`", choose(cluster, result.clusters)
        )
    _refuse_idle(result, node)
    clusters = (cluster,) if cluster is not None else result.clusters
    values = (_resumed if resume else _rerun)(result, node, ledger, clusters)
    route = RESUME if resume else RERUN
    leaves = list(_leaves(node, route, result.clusters, values, by_cluster=cluster is not None))
    text = with_leaves(source, leaves)
    if text is None or not _proved(project, result, text, values, resume=resume):
        what = "; ".join(f"{'.'.join(route)}: {value}" for route, value in leaves)
        raise CompilerError(
            f"{result.path} cannot be changed without changing more than that",
            f"write `{what}` by hand",
        )
    return Bump(text, values, list(_notes(ledger, clusters)))


def _refuse_idle(result: JobResult, node: Mapping) -> None:
    """Refuse where the declaration says that nothing is to run."""
    state = node.get("state")
    if isinstance(state, Scalar) and state == "stopped":
        raise CompilerError(
            f"{result.path}:{state.line} says `state: stopped`: nothing would start",
            "take the line out first",
        )


def _rerun(
    result: JobResult, node: Mapping, ledger: Ledger, clusters: Iterable[str]
) -> dict[str, str]:
    """One more than every `rerun` that these clusters have, or that a run of theirs ever had."""
    wanted = list(clusters)
    runs = [run for name in wanted for run in ledger.on(name)]
    if not runs:
        raise CompilerError(
            f"{result.job} has no run on {' or '.join(wanted)} yet",
            "publish starts the first one by itself; fetch, if it has been published",
        )
    used = [_number(_at(node.get("rerun"), name)) for name in wanted]
    used += [_number(_at(_declared(run).get("rerun"), run.cluster)) for run in runs]
    return dict.fromkeys(wanted, str(max(used) + 1))


def _resumed(
    result: JobResult, node: Mapping, ledger: Ledger, clusters: Iterable[str]
) -> dict[str, str]:
    """The last launched run of each of these clusters that has one."""
    values: dict[str, str] = {}
    wanted = list(clusters)
    for name in wanted:
        launched = [run for run in ledger.on(name) if run.launched]
        if not launched:
            continue
        model = result.models.get(name)
        if model is None:
            raise CompilerError(f"{result.path} has errors", f"run `check {result.path}`")
        if model.checkpoint is None or launched[-1].checkpoint_dir is None:
            what = f"r{launched[-1].number} kept" if model.checkpoint else f"{result.path} declares"
            raise CompilerError(
                f"{what} no checkpoints: there is nothing to go on from",
                "`bump` without --resume trains from zero",
            )
        values[name] = f"r{launched[-1].number}"
    if not values:
        raise CompilerError(
            f"{result.job} has no run on {' or '.join(wanted)} to go on from",
            "publish starts the first one by itself; fetch, if it has been published",
        )
    checkpoint = node.get("checkpoint")
    now = checkpoint.get("from") if isinstance(checkpoint, Mapping) else None
    if all(_at(now, name) == value for name, value in values.items()):
        shown = ", ".join(values.values())
        raise CompilerError(
            f"{result.path} goes on from {shown} already", "publish it, or `bump` from zero"
        )
    return values


def _leaves(
    node: Mapping,
    route: Route,
    declared: tuple[str, ...],
    values: dict[str, str],
    *,
    by_cluster: bool,
) -> Iterable[tuple[Route, str]]:
    """What to write where: a single value, or a map by cluster where one is there or wanted."""
    inner = node.get(route[0])
    now = inner.get(route[1]) if isinstance(inner, Mapping) and len(route) > 1 else inner
    if len(route) > 1 and not isinstance(inner, Mapping):
        now = None
    if isinstance(now, Mapping):
        yield from (((*route, name), value) for name, value in values.items())
    elif by_cluster or len(set(values.values())) > 1 or len(values) < len(declared):
        if isinstance(now, Scalar) and not now.empty:
            # Clusters that are not meant keep what they had.
            values = {name: values.get(name, str(now)) for name in declared}
        pairs = ", ".join(f"{name}: {value}" for name, value in values.items())
        yield route, f"{{{pairs}}}"
    else:
        yield route, next(iter(values.values()))


def _at(value: object, cluster: str) -> str:
    """The letters of a value, or of its entry for a cluster; empty where there is none."""
    if isinstance(value, Mapping):
        value = value.get(cluster)
    return str(value) if isinstance(value, Scalar) else ""


def _number(text: str) -> int:
    return int(text) if text.isdecimal() else FIRST


def _declared(run: Entry) -> Mapping:
    """The declaration of a run as it was; empty where it can no longer be read."""
    source, _ = decode("overlays/ledger", run.declared.encode())
    node = read(source)[0] if source is not None else None
    return node if isinstance(node, Mapping) else Mapping()


def _proved(
    project: Project, before: JobResult, text: str, values: dict[str, str], *, resume: bool
) -> bool:
    """Whether the new text, judged, says this on these clusters and the same on all others."""
    path = project.repository.root / before.path
    after = project.judge(path, text.encode())
    errors = [
        {(item.rule, item.message) for item in result.findings if item.severity is Severity.ERROR}
        for result in (before, after)
    ]
    if errors[1] - errors[0] or after.clusters != before.clusters:
        return False
    for name, model in before.models.items():
        now = after.models.get(name)
        if now is None:
            return False
        was = (model.rerun, model.checkpoint.resume if model.checkpoint else None)
        told = (now.rerun, now.checkpoint.resume if now.checkpoint else None)
        if name in values:
            was = (was[0], values[name]) if resume else (int(values[name]), was[1])
        if told != was:
            return False
    return True


def _notes(ledger: Ledger, clusters: Iterable[str]) -> Iterable[str]:
    for name in clusters:
        active, held = ledger.active(name), ledger.held(name)
        if active is not None:
            yield f"r{active.number} runs on {name}: publish will end it for this one"
        if held is not None:
            yield f"r{held.number} waits on {name}: publish will withdraw it"
