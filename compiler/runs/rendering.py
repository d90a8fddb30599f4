"""The overlays of runs that are to start, beside those of the runs before them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import unified_diff
from pathlib import Path

from compiler.project import Project
from compiler.results import JobResult
from compiler.runs.books import Books
from compiler.runs.emission import Emission
from compiler.runs.fold import JobDecision, Key, Outcome
from compiler.runs.git import Git
from compiler.runs.publishing import published_files
from compiler.security.hiding import masked, secrets_in
from compiler.source import Source

# The commit that a run will be of is not made yet.
UNPUBLISHED = "unpublished"


def rendered(
    project: Project,
    git: Git,
    books: Books,
    outcome: Outcome,
    items: Sequence[JobDecision],
    scratch: Path,
    results: Mapping[Key, JobResult],
) -> str:
    """A unified diff from each run's predecessor on its cluster (nothing, for a first run).

    `results` are what is declared. Raises CompilerError where a run cannot be rendered.
    """
    keys = {(item.team, item.book) for item in items}
    part = Outcome(list(items), {key: outcome.ledgers[key] for key in sorted(keys)})
    published = published_files(git, books)
    tree = Emission(project, part, published, UNPUBLISHED, scratch, results).make()
    rows: list[str] = []
    for item in items:
        key, number = (item.team, item.book), item.decision.number
        assert number is not None
        folder = f"overlays/{item.cluster}/{item.team}/{item.job}"
        earlier = [
            run.number
            for run in outcome.ledgers[key].on(item.cluster)
            if run.number < number and run.launched
        ]
        before: dict[str, str] = {}
        for last in earlier[-1:]:
            for book in dict.fromkeys((item.job, item.book)):
                place = f"overlays/{item.cluster}/{item.team}/{book}/r{last}"
                for path, data in (published(place) or {}).items():
                    before.setdefault(path.removeprefix(f"{place}/"), data.decode())
        after = tree.run_files[key, number]
        names = {path.rpartition("/")[2]: text for path, text in after.items()}
        secrets = [
            secret
            for texts in (before, names)
            for path, text in texts.items()
            for secret in secrets_in(Source(path, text, ""))
        ]
        begin = len(rows)
        for name in sorted({*before, *names}):
            old = f"{folder}/r{earlier[-1]}/{name}" if name in before else "/dev/null"
            new = f"{folder}/r{number}/{name}" if name in names else "/dev/null"
            rows += unified_diff(
                before.get(name, "").splitlines(),
                names.get(name, "").splitlines(),
                old,
                new,
                lineterm="",
            )
        rows[begin:] = [masked(row, secrets) for row in rows[begin:]]
    return "\n".join(rows)
