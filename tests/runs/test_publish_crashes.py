"""A publish that stops at any point: the remote has the old tree or the new one, and the next
publish completes it."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from company import Company, job, without_proof

from compiler.diagnostics import CompilerError
from compiler.runs.git import Git
from compiler.runs.publishing import Request, publish


class Crash(BaseException):
    """The process is gone: nothing catches it."""


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    """One run that is to be superseded, one that is to start, and one that is to go."""
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    made = Company(tmp_path)
    made.write("jobs/nlp/a.yaml", job())
    made.write("jobs/nlp/b.yaml", job())
    made.merge()
    made.publish()
    made.write("jobs/nlp/a.yaml", job(args="[--lr, 2e-4]"))
    made.write("jobs/nlp/b.yaml", None)
    made.write("jobs/nlp/c.yaml", job())
    made.merge()
    return made


class Broken:
    """Everything that a publish does to files and git, counted, failing at the n-th time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.count = 0
        self.at: int | None = None
        self.after = False
        self.error: BaseException = Crash()
        self.steps: list[str] = []
        real = Git.attempt

        def attempt(
            git: Git, *words: str, data: bytes | None = None, env: Mapping[str, str] | None = None
        ) -> tuple[int, bytes, list[str]]:
            if self._due(f"git {words[0]}") and not self.after:
                return self._fail()
            count = self.count
            made = real(git, *words, data=data, env=env)
            return self._fail() if count == self.at else made

        monkeypatch.setattr(Git, "attempt", attempt)
        for name in ("write_bytes", "mkdir", "symlink_to"):
            monkeypatch.setattr(Path, name, self._wrapped(name, getattr(Path, name)))
        monkeypatch.setattr(tempfile, "mkdtemp", self._wrapped("mkdtemp", tempfile.mkdtemp))

    def _due(self, step: str) -> bool:
        self.count += 1
        self.steps.append(step)
        return self.count == self.at

    def _fail(self) -> tuple[int, bytes, list[str]]:
        if isinstance(self.error, subprocess.SubprocessError):
            return 128, b"", ["fatal: no space left on device"]
        raise self.error

    def _wrapped(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*words: Any, **named: Any) -> Any:
            if self._due(name):
                if isinstance(self.error, Crash):
                    raise self.error
                raise OSError(28, "No space left on device")
            return real(*words, **named)

        return call

    def once(self, at: int | None, error: BaseException, after: bool) -> None:
        self.count, self.at, self.error, self.after = 0, at, error, after
        self.steps.clear()


def test_a_publish_that_stops_anywhere_is_old_or_new_and_the_next_completes(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every git command and every file operation, killed or failing; with RUNWRIGHT_CRASHES=all
    each of them in every way."""
    remote = company.folder / "remote.git"
    broken = Broken(monkeypatch)
    old, noted = tip(remote), git(remote, "rev-parse", "refs/runwright/main")
    company.hours += 1
    # Twice: the first time caches are filled, after which fewer steps lead to the same end.
    for _ in range(2):
        git(remote, "update-ref", "refs/heads/main", old)
        git(remote, "update-ref", "refs/runwright/main", noted)
        broken.once(None, Crash(), after=False)
        publish(company.repository, Request(), company.now)
    steps = list(broken.steps)
    wanted = overlays(remote)
    assert {"git push", "git commit-tree", "git write-tree", "git fetch"} <= set(steps)
    assert "write_bytes" in steps

    outcomes: list[str] = []
    for at, killed, after in ways(steps):
        git(remote, "update-ref", "refs/heads/main", old)
        git(remote, "update-ref", "refs/runwright/main", noted)
        broken.once(at, Crash() if killed else subprocess.SubprocessError(), after)
        said = (steps[at - 1], killed, after)
        try:
            publish(company.repository, Request(), company.now)
        except (Crash, CompilerError, OSError):
            outcomes.append("old" if tip(remote) == old else "new")
        else:
            # What failed was of no consequence, or was tried again.
            outcomes.append("done")
        assert tip(remote) == old or overlays(remote) == wanted, said
        assert outcomes[-1] != "done" or overlays(remote) == wanted, said
        broken.once(None, Crash(), after=False)
        publish(company.repository, Request(), company.now)
        assert overlays(remote) == wanted, said
    assert set(outcomes) == {"old", "new", "done"}
    assert publish(company.repository, Request(), company.now).commit is None
    git(remote, "fsck", "--strict", "main")


def ways(steps: list[str]) -> Iterator[tuple[int, bool, bool]]:
    """Where to stop, whether killed or failing, and whether after the step has taken effect."""
    for at in chosen(steps):
        everything = os.environ.get("RUNWRIGHT_CRASHES") == "all"
        for killed in (True, False):
            if everything or killed == bool(at % 2):
                yield at, killed, False
        if everything or steps[at - 1] in ("git push", "git commit-tree"):
            yield at, True, True
            yield at, False, True


def chosen(steps: list[str]) -> list[int]:
    """The steps to fail at: all git commands, and of many file operations in a row the first and
    the last."""
    return [
        number
        for number, step in enumerate(steps, 1)
        if step.startswith("git")
        or number == 1
        or steps[number - 2] != step
        or steps[number : number + 1] != [step]
    ]


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def tip(remote: Path) -> str:
    return git(remote, "rev-parse", "main")


def overlays(remote: Path) -> str:
    return git(remote, "rev-parse", "main:overlays")


def test_a_remote_whose_disk_is_full_keeps_the_old_tree(company: Company, tmp_path: Path) -> None:
    remote = company.folder / "remote.git"
    old = tip(remote)
    hook = remote / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho 'no space left on device' >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(CompilerError, match="git push"):
        publish(company.repository, Request(), company.now)
    assert tip(remote) == old
    hook.unlink()
    assert publish(company.repository, Request(), company.now).commit == tip(remote)


def test_a_remote_that_takes_no_marks_is_published_to_all_the_same(company: Company) -> None:
    hook = company.folder / "remote.git" / "hooks" / "update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text('#!/bin/sh\ncase "$1" in refs/heads/*) exit 0;; *) exit 1;; esac\n')
    hook.chmod(0o755)
    done = publish(company.repository, Request(), company.now)
    assert done.commit == tip(company.folder / "remote.git")
