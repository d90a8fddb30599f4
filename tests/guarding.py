"""The guard as a test runs it: as a cluster would, in a shell of one's choice."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from compiler import guard

SHELLS: dict[str, list[str]] = {
    "dash": ["dash"],
    "busybox": ["busybox", "sh"],
    "bash": ["bash"],
    # What `sh` is where it is bash.
    "bash-posix": ["bash", "--posix"],
}
# Waiting ends here: far more than anything takes, so that a test that hangs fails.
LIMIT = 60


def shell_words(name: str) -> list[str]:
    """The words that start a shell; skips the test where it is missing, and fails in CI."""
    words = SHELLS[name]
    program = shutil.which(words[0])
    if program is None:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have {words[0]}")
        pytest.skip(f"{words[0]} is not installed")
    return [program, *words[1:]]


def expanded(text: str, variables: Mapping[str, str]) -> str:
    """A word of a command as the kubelet makes it.

    k8s.io/kubernetes, third_party/forked/golang/expansion/expand.go.
    """
    made, at = "", 0
    while at < len(text):
        following = text[at + 1 : at + 2]
        if text[at] != "$" or following not in ("$", "("):
            made, at = made + text[at], at + 1
        elif following == "$":
            made, at = made + "$", at + 2
        else:
            end = text.find(")", at)
            if end < 0:
                made, at = made + "$(", at + 2
            else:
                name = text[at + 2 : end]
                made += variables.get(name, f"$({name})")
                at = end + 1
    return made


def until(reached: Callable[[], object], what: str) -> None:
    """Wait for something to become true."""
    end = time.monotonic() + LIMIT
    while not reached():
        assert time.monotonic() < end, f"{what} never happened"
        time.sleep(0.02)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


class Started:
    """A guard that was started, with its command below it."""

    def __init__(self, process: subprocess.Popen[bytes], messages: Path) -> None:
        self.process = process
        self.messages = messages

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def says(self, text: str) -> None:
        """Wait for a message."""
        until(lambda: text in self.messages.read_text(), f"the message {text!r}")

    def end(self, limit: float = LIMIT) -> tuple[int, str]:
        """Exit code and messages, once it has ended."""
        return self.process.wait(limit), self.messages.read_text()

    def leaves_nothing(self) -> None:
        """Wait until no process of the pod is there any more."""
        until(lambda: not _alive(self.process.pid), "the end of the last process")


class Pods:
    """Pods of the runs of one lineage: one checkpoint folder, one shell."""

    def __init__(self, shell: str, root: Path) -> None:
        self.words = shell_words(shell)
        self.root = root
        self.folder = root / "check points" / "nlp" / "sft" / "r1"
        self.log = root / "log"
        self.log.touch()
        self._groups: list[int] = []

    def environment(self, number: int, variables: Mapping[str, str]) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "LOG": str(self.log),
            "RUN_NAME": f"sft-r{number}",
            "RUN_NUMBER": str(number),
            "RUN_LINEAGE": "sft-r1",
            "SOURCE_COMMIT": "0" * 40,
            "CHECKPOINT_DIR": str(self.folder),
            "HOSTNAME": f"sft-r{number}-x",
            **variables,
        }

    def start(
        self,
        command: Sequence[str],
        number: int = 7,
        *,
        grace: int = 30,
        poll: int = 1,
        margin: int = 1,
        user: int | None = None,
        **variables: str,
    ) -> Started:
        """Start a command under the guard, with shorter times than a cluster has."""
        script = guard.script()
        for name, was, now in (("_poll", 5, poll), ("_margin", 15, margin)):
            assert script.count(f"{name}={was}\n") == 1
            script = script.replace(f"{name}={was}\n", f"{name}={now}\n")
        messages = self.root / f"messages-{len(self._groups)}"
        with messages.open("wb") as errors:
            process = subprocess.Popen(
                [*self.words, "-c", script, guard.NAME, str(grace), *command],
                env=self.environment(number, variables),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
                user=user,
            )
        self._groups.append(process.pid)
        return Started(process, messages)

    def run(self, command: Sequence[str], number: int = 7, **options: object) -> tuple[int, str]:
        """Exit code and messages of a command under the guard."""
        return self.start(command, number, **options).end()  # type: ignore[arg-type]

    def freeze(self, started: Started) -> None:
        """Stop all of a pod at once, as on a node that hangs."""
        os.killpg(started.process.pid, signal.SIGSTOP)

    def thaw(self, started: Started) -> None:
        os.killpg(started.process.pid, signal.SIGCONT)

    def entry(self, name: str) -> str:
        return (self.folder / "OWNER" / name).read_text()

    def put(self, name: str, text: str) -> None:
        """A file of the folder, as some earlier run left it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    @property
    def complete(self) -> Path:
        return self.folder / "COMPLETE.json"

    @property
    def lines(self) -> list[str]:
        """What the commands have written to the log."""
        return self.log.read_text().splitlines()

    def logged(self, line: str) -> None:
        until(lambda: line in self.lines, f"the line {line!r}")

    def end(self) -> None:
        """End all that is left of the pods."""
        for group in self._groups:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                continue


@contextmanager
def pods(shell: str, root: Path) -> Iterator[Pods]:
    made = Pods(shell, root)
    try:
        yield made
    finally:
        made.end()


def sh(script: str) -> list[str]:
    """A command that runs a script; `log WORDS` writes a line to the log."""
    return ["sh", "-c", f'log() {{ echo "$*" >>"$LOG"; }}\n{script}']


def training(number: int, on_term: str = "exit 0") -> list[str]:
    """A command that logs that it began, and trains until TERM; then it saves, and `on_term`."""
    return sh(f"""
    trap 'log "{number} saves"; sleep 1; log "{number} saved"; {on_term}' TERM
    log '{number} began'
    while :; do sleep 0.1; done
    """)
