"""kustomize as a process: what it may see, how long it may take, and what it complains of.

It runs without the network, without plugins and without the user's settings, so that a build
depends on the files in its folder alone.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from compiler.diagnostics import CompilerError, Unavailable

_ERROR = re.compile(r"^[Ee]rror: (.*)", re.MULTILINE | re.DOTALL)
_KUBECTL_ERROR = re.compile(
    r'^E\d{4} .* err=(?:<\n(?P<block>.*)\n >|"(?P<line>.*)")\Z', re.MULTILINE | re.DOTALL
)


class BuildFailed(CompilerError):
    """kustomize refused a folder: the message is its own, with paths relative to that folder."""

    status = 1

    def __init__(self, directory: Path, message: str) -> None:
        super().__init__(message)
        self.directory = directory


def environment() -> dict[str, str]:
    """What kustomize sees of the caller's environment: enough to start, nothing to steer it.

    No home and no XDG folders, so no plugins and no `kuberc`; git and proxies that lead nowhere,
    so that a remote resource fails instead of being fetched. It runs on one processor and seldom
    frees memory (GOGC): a third less of CPU time for a batch, in 60 to 110 MB, and others beside
    it have the other processors.
    """
    kept = ("PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "LD_LIBRARY_PATH")
    nowhere = "http://127.0.0.1:9"
    return {name: os.environ[name] for name in kept if name in os.environ} | {
        "GOGC": "800",
        "GOMAXPROCS": "1",
        "KUBERC": "off",
        "LC_ALL": "C.UTF-8",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_TERMINAL_PROMPT": "0",
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "NO_PROXY": "",
    }


class Running:
    """The programs under way, so that none outlives the work it was started for."""

    def __init__(self) -> None:
        self._programs: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End what runs; what is started after this ends at once."""
        self._stopped = True
        for program in tuple(self._programs):
            program.kill()

    def run(self, words: Sequence[str], name: str, directory: Path, seconds: float) -> str:
        """What the program prints when it is run in the folder.

        Raises BuildFailed, with `name` and the program's own complaint, where it fails, and
        Unavailable where it cannot be started or takes longer than `seconds`.
        """
        try:
            program = subprocess.Popen(
                words,
                cwd=directory,
                env=environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
            )
        except OSError as error:
            if not directory.is_dir():
                raise BuildFailed(directory, f"there is no folder {directory.name}") from None
            raise Unavailable(f"{name} cannot be started ({error.strerror})") from None
        self._programs.add(program)
        if self._stopped:
            program.kill()
        try:
            output, errors = program.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"{name} did not end within {seconds:g} s") from None
        finally:
            if program.poll() is None:
                program.kill()
                program.communicate()
            self._programs.discard(program)
        if program.returncode:
            said = complaint(errors) or f"it ended with status {program.returncode} and no word"
            raise BuildFailed(directory, f"{name}: {_relative(said, directory)}")
        try:
            return output.decode()
        except UnicodeDecodeError:
            raise BuildFailed(directory, f"{name} printed what is not UTF-8") from None


def complaint(output: bytes) -> str:
    """What a program says at its end, on one line, without what frames it.

    kustomize writes `Error: …`; kubectl writes a log line that ends in `err="…"`, or in `err=<` and
    the text below it when that has several lines. Warnings may stand before either.
    """
    text = output.decode(errors="replace").strip()
    if framed := _KUBECTL_ERROR.search(text):
        text = framed["block"] or framed["line"].replace('\\"', '"')
    elif found := _ERROR.search(text):
        text = found[1]
    else:
        text = "".join(text.splitlines()[-1:])
    return " ".join(text.split())


def _relative(said: str, directory: Path) -> str:
    """The text with paths relative to the folder: the same on every machine."""
    for folder in (directory.absolute(), directory.resolve()):
        said = said.replace(f"{folder}/", "")
        for depth, parent in enumerate(list(folder.parents)[:-1], start=1):
            said = said.replace(f"{parent}/", "../" * depth)
    return said
