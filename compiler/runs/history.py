"""The runs of one job, as the ledger has them: for `runs JOB`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from compiler.diagnostics import CompilerError
from compiler.repository import SUFFIXES, Repository
from compiler.runs.books import FOLDER, read_books
from compiler.runs.entries import Entry, Ledger, Moment
from compiler.runs.fold import Key
from compiler.runs.ledgerfile import parse
from compiler.runs.planning import Question, published_tips
from compiler.runs.supposition import supposing
from compiler.selection import named
from compiler.suggestions import choose
from compiler.terminal import width

VERSION = 1
COLUMNS = (
    "run",
    "cluster",
    "state",
    "reason",
    "outcome",
    "published",
    "began",
    "ended",
    "accelerators",
    "hours",
    "from",
    "commit",
)


def ledgers(repository: Repository, question: Question) -> dict[Key, Ledger]:
    """Every ledger that the published branch holds, as this clone last saw it.

    Outside git, the files under `overlays/` as they are. Raises CompilerError where the branch is
    not known here.
    """
    root = repository.root.resolve()
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return _of_files(repository)
    with supposing(repository.root, datetime.now(UTC)) as git:
        tips, _, _ = published_tips(git, question)
        return read_books(git, *tips, cache=repository.cache).ledgers


def _of_files(repository: Repository) -> dict[Key, Ledger]:
    made: dict[Key, Ledger] = {}
    for path in sorted((repository.root / FOLDER).glob("*/*.yaml")):
        ledger, _ = parse(repository.relative(path), path.read_bytes())
        if ledger is not None:
            made[ledger.team, ledger.job] = ledger
    return made


def chosen(repository: Repository, books: Mapping[Key, Ledger], word: str) -> tuple[Key, Ledger]:
    """The job that a person means by NAME, TEAM/NAME or a file, and its ledger.

    A job whose file is gone is still known by its ledger, a renamed one by each of its names.
    Raises CompilerError where no job is meant, or more than one.
    """
    plain = Path(word)
    name = plain.stem if plain.suffix in SUFFIXES else word
    team, slash, job = name.rpartition("/")
    if plain.suffix in SUFFIXES:
        team, slash, job = _of_path(repository, word)
    found = {
        key: ledger
        for key, ledger in books.items()
        if job in (key[1], *ledger.also) and (not slash or key[0] == team)
    }
    known = {(key[0], name) for key, ledger in found.items() for name in (key[1], *ledger.also)}
    for key in _declared(repository, f"{team}{slash}{job}"):
        if key not in known:
            found[key] = Ledger(*key)
    if not found:
        names = sorted({key[1] for key in books})
        raise CompilerError(
            f"there is no job `{word}`, and no run of one", choose(job, names, "look under jobs/")
        )
    if len(found) > 1:
        said = ", ".join(f"{key[0]}/{key[1]}" for key in sorted(found))
        raise CompilerError(f"`{word}` is more than one job: {said}", "name the team too")
    return next(iter(found.items()))


def _of_path(repository: Repository, word: str) -> tuple[str, str, str]:
    """Team and name of a file's job, whether the file is still there or not."""
    for base in (Path.cwd(), repository.root):
        path = base / word
        if path.is_file() and repository.contains(path):
            from compiler.project import Project

            result = Project(repository).judge(path.resolve())
            return result.team, "/" if result.team else "", path.stem
    folder = Path(word).parent.name
    known = folder not in ("", ".", "jobs")
    return folder if known else "", "/" if known else "", Path(word).stem


def _declared(repository: Repository, word: str) -> list[Key]:
    from compiler.project import Project

    project = Project(repository)
    results = [project.judge(path) for path in named(repository, word)]
    return [(result.team, result.job) for result in results if result.team]


def as_table(ledger: Ledger, runs: Sequence[Entry]) -> str:
    """The runs as a table, the oldest first.

    A run is published at the time of the commit that asked for it; when it began, and when it ended
    by itself, its cluster tells.
    """
    if not runs:
        return f"{ledger.team}/{ledger.job}: no runs\n"
    rows = [COLUMNS, *(_row(run) for run in runs)]
    widths = [max(width(row[at]) for row in rows) for at in range(len(COLUMNS))]
    also = f" (also {', '.join(ledger.also)})" if ledger.also else ""
    lines = [f"{ledger.team}/{ledger.job}{also}"]
    for row in rows:
        cells = (cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True))
        lines.append("  " + "  ".join(cells).rstrip())
    return "\n".join(lines) + "\n"


def _row(run: Entry) -> tuple[str, ...]:
    began = run.started or run.held
    return (
        f"r{run.number}",
        run.cluster,
        run.state,
        run.reason or "-",
        "-" if run.state != "ended" or not run.launched else run.outcome,
        _time(run.started),
        _minute(run.began),
        _minute(run.finished) if run.finished else _time(run.ended),
        " + ".join(f"{count} {name or 'nodes'}" for name, count in run.accelerators.items()) or "-",
        run.real_hours or (f"≤ {run.declared_hours}" if run.declared_hours else "-"),
        f"r{run.came_from}" if run.came_from is not None else "-",
        (began.source[:12] if began is not None else "") or "-",
    )


def _time(moment: Moment | None) -> str:
    return _minute(moment.at) if moment is not None else "-"


def _minute(at: str) -> str:
    """A time to the minute, in UTC: `2026-03-01 09:30Z`."""
    if not at:
        return "-"
    return datetime.fromisoformat(at).astimezone(UTC).strftime("%Y-%m-%d %H:%MZ")


def as_json(ledger: Ledger, runs: Iterable[Entry]) -> dict[str, Any]:
    """The runs for programs, in the words of the ledger; without the declarations."""
    return {
        "version": VERSION,
        "team": ledger.team,
        "job": ledger.job,
        "also": list(ledger.also),
        "runs": [
            {
                "number": run.number,
                "cluster": run.cluster,
                "name": run.name,
                "state": run.state,
                "listed": run.listed,
                "reason": run.reason,
                "outcome": run.outcome,
                "guarded": run.guarded,
                "lineage": run.lineage,
                "from": run.came_from,
                "checkpoint_dir": run.checkpoint_dir,
                "training": run.training,
                "operation": run.operation,
                "inputs": dict(run.inputs),
                "held": _moment(run.held),
                "started": _moment(run.started),
                "ended": _moment(run.ended),
                "namespace": run.namespace or None,
                "began": run.began or None,
                "finished": run.finished or None,
                "accelerators": {name or "cpu": n for name, n in run.accelerators.items()},
                "nodes": run.nodes,
                "hours": {
                    "declared": run.declared_hours or None,
                    "real": run.real_hours or None,
                },
            }
            for run in runs
        ],
    }


def _moment(moment: Moment | None) -> dict[str, str] | None:
    if moment is None:
        return None
    return {"at": moment.at, "source": moment.source, "by": moment.by}
