"""Write a repository with a long history of publishes, the same one for the same numbers.

    python benchmarks/history.py FOLDER JOBS PUBLISHES

A bare remote and a clone of it. Every job has an active run that is what it declares; each publish
has superseded one run by the next, whose declaration differs in its words and in a number. The
commits are made by `git fast-import` from what the compiler's own printers give.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha1
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks import generate  # noqa: E402
from compiler.overlay import files, snapshot  # noqa: E402
from compiler.project import Project  # noqa: E402
from compiler.repository import Repository  # noqa: E402
from compiler.results import JobResult  # noqa: E402
from compiler.runs.entries import Entry, Ledger, Moment  # noqa: E402
from compiler.runs.gathering import demand  # noqa: E402
from compiler.runs.ledgerfile import dump  # noqa: E402

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
WHO = "runwright <runwright@localhost>"


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("folder", type=Path)
    words.add_argument("jobs", type=int)
    words.add_argument("publishes", type=int)
    options = words.parse_args()
    write(options.folder, options.jobs, options.publishes)


def write(folder: Path, jobs: int, publishes: int) -> Path:
    """The clone, in a new folder beside its remote."""
    root, remote = folder / "clone", folder / "remote.git"
    generate.write(root, jobs)
    (root / ".gitignore").write_text(".cache/\n")
    _git(folder, "init", "-q", "--bare", "-b", "main", str(remote))
    for line in ("init -q -b main", f"remote add origin {remote}", "add -A"):
        _git(root, *line.split())
    _git(root, *_AS_SOMEBODY, "commit", "-qm", "Begin")
    source = _git(root, "rev-parse", "HEAD").decode().strip()
    stream = "".join(_History(root, source, publishes).commits()).encode()
    _git(root, "fast-import", "--quiet", data=stream)
    _git(root, "reset", "-q", "--hard")
    _git(root, "push", "-q", "-u", "origin", "main")
    _git(root, "remote", "set-head", "origin", "main")
    return root


_AS_SOMEBODY = ("-c", "user.name=kim", "-c", "user.email=kim@example.com")


def _git(where: Path, *words: str, data: bytes | None = None) -> bytes:
    return subprocess.run(
        ["git", *words], cwd=where, input=data, capture_output=True, check=True
    ).stdout


class _History:
    def __init__(self, root: Path, source: str, publishes: int) -> None:
        project = Project(Repository(root), at=BEGIN)
        self.source, self.publishes = source, publishes
        # A job on several clusters would have runs that wait to be started here; one that is
        # stopped would have one to stop.
        self.jobs = [
            made
            for made in project.results()
            if len(made.runs) == len(made.clusters) == 1 and not made.runs[0].run.stopped
        ]
        self.ledgers = {(job.team, job.job): Ledger(job.team, job.job) for job in self.jobs}
        self.blobs: dict[str, dict[str, bytes]] = {}
        self.parent = source

    def commits(self) -> Iterator[str]:
        """The publish commits, as `git fast-import` reads them."""
        first = [(job, 0) for job in self.jobs]
        yield self._commit(0, first)
        for number in range(1, self.publishes):
            job = self.jobs[number % len(self.jobs)]
            yield self._commit(number, [(job, number)])

    def _commit(self, number: int, starts: list[tuple[JobResult, int]]) -> str:
        at = BEGIN + timedelta(hours=number)
        before = self._ledger_tree() if number else "none"
        rows: list[str] = []
        for job, _ in starts:
            rows += self._start(job, number, at)
        message = (
            f"publish: {len(starts)} start\n\nSource: {self.source}\n"
            f"Ledger: {self._ledger_tree()}\nPrevious-Ledger: {before}\n"
        )
        seconds = int(at.timestamp())
        head = f"commit refs/heads/main\nmark :{number + 1}\n"
        head += f"author {WHO} {seconds} +0000\ncommitter {WHO} {seconds} +0000\n{_data(message)}"
        parent = self.source if number == 0 else f":{number}"
        return f"{head}from {parent}\n{''.join(rows)}\n"

    def _start(self, job: JobResult, number: int, at: datetime) -> Iterator[str]:
        """The next run of a job, and the end of the one before."""
        (made,) = job.runs
        key, cluster = (job.team, job.job), made.run.identity.cluster
        ledger = self.ledgers[key]
        moment = Moment(at.isoformat(), self.source)
        folder = f"overlays/{cluster}/{job.team}/{job.job}"
        for run in ledger.runs[-1:]:
            ledger = ledger.with_run(run.end("superseded", "unknown", moment))
            yield f"D {folder}/r{run.number}\n"
        assert job.source is not None
        count = ledger.next_number
        run = Entry(
            number=count,
            cluster=cluster,
            name=f"{job.job}-r{count}",
            state="active",
            training="",
            operation="",
            lineage=count,
            listed=True,
            declared=job.source.text,
            inputs={"base": made.base.digest, "image": made.run.others.image.digest or ""},
            files=dict(job.depends),
            started=moment,
            accelerators=demand(made.run),
            nodes=made.run.nodes,
            namespace=made.run.identity.namespace,
        )
        # What ran before was declared otherwise, or it would be the same training.
        earlier = [
            self._otherwise(one, job.source.text) if one.declared == job.source.text else one
            for one in ledger.runs
        ]
        ledger = Ledger(job.team, job.job, (*earlier, run))
        self.ledgers[key] = ledger
        text = dump(ledger).encode()
        self.blobs.setdefault(job.team, {})[f"{job.job}.yaml"] = text
        yield f"M 100644 inline overlays/ledger/{job.team}/{job.job}.yaml\n{_data(text.decode())}"
        for path, content in files(made, made.base).items():
            name = path.rpartition("/")[2]
            yield f"M 100644 inline {folder}/r{count}/{name}\n{_data(content)}"
        if count == 1:
            for path, data in snapshot(cluster, made.base).items():
                yield f"M 100644 inline {path}\n{_data(data.decode())}"

    def _otherwise(self, run: Entry, text: str) -> Entry:
        from msgspec.structs import replace

        declared = f'# As it was in r{run.number}.\n{text}env: {{STEP: "{run.number}"}}\n'
        return replace(run, declared=text if "\nenv:" in text else declared)

    def _ledger_tree(self) -> str:
        """The name of the tree `overlays/ledger`, as git will give it."""
        teams = [
            (
                "40000",
                team,
                _tree([("100644", name, _name("blob", data)) for name, data in own.items()]),
            )
            for team, own in self.blobs.items()
        ]
        return _tree(teams).hex()


def _tree(rows: list[tuple[str, str, bytes]]) -> bytes:
    def place(row: tuple[str, str, bytes]) -> bytes:
        return row[1].encode() + (b"/" if row[0] == "40000" else b"")

    made = b"".join(f"{mode} {name}\0".encode() + of for mode, name, of in sorted(rows, key=place))
    return _name("tree", made)


def _name(kind: str, data: bytes) -> bytes:
    return sha1(f"{kind} {len(data)}\0".encode() + data).digest()


def _data(text: str) -> str:
    return f"data {len(text.encode())}\n{text}\n"


if __name__ == "__main__":
    main()
