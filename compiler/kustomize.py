"""kustomize, the program: found, asked for its version, and run on folders.

It is always a separate process, 5.4 or newer, on its own or inside kubectl; what such a process
may see and do is decided in `compiler.processes`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections import deque
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct, field

from compiler.cachefile import load_cached, save_cached
from compiler.diagnostics import Unavailable
from compiler.manifests import Unreadable, parse
from compiler.processes import BuildFailed, Running, complaint, environment


class Version(NamedTuple):
    """A version of kustomize; compares by number."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


OLDEST = Version(5, 4, 0)
"""Older ones are refused: the overlays are tested from 5.4 on, which is also kubectl 1.31's."""

NEWEST = Version(5, 8, 1)
"""The newest that the overlays are tested with, and the one that `make tools` installs."""

BUILD_SECONDS = 120.0
"""How long one build of up to 100 overlays may take; it needs about one second."""

_PROBE_SECONDS = 20.0
_VERSION = re.compile(r"(?<![\d.])v?(\d+)\.(\d+)\.(\d+)(?![\d.])")
_KUBECTL_VERSION = re.compile(r"^Kustomize Version: (.*)$", re.MULTILINE)


class Kustomize(Struct, frozen=True):
    """A kustomize that can be used: the words that start it, and its version."""

    command: tuple[str, ...]
    version: Version

    @property
    def name(self) -> str:
        """`kustomize 5.8.1`, or `kubectl's kustomize 5.5.0`."""
        owner = "kubectl's " if len(self.command) > 1 else ""
        return f"{owner}kustomize {self.version}"

    def build(self, directory: Path) -> list[dict[str, Any]]:
        """The objects that the kustomization in a folder makes, in kustomize's order.

        Raises BuildFailed where kustomize refuses the folder, and Unavailable where it cannot be
        started or does not end within `BUILD_SECONDS`.
        """
        with Running() as running:
            return self._objects(directory, self._text(running, directory))

    def build_many(
        self, directories: Iterable[Path], processes: int
    ) -> Generator[list[dict[str, Any]]]:
        """The objects of each folder, in the order of the folders, built side by side.

        At most `processes` programs run at a time, and no more than a few results wait to be
        taken. The first failure is raised as by `build`, in its turn; it, and a caller who stops
        early, end the programs still running. Who may stop early closes the generator: left to
        the garbage collector, it would take the lock of all pools from whichever thread collects.
        """
        with Running() as running, ThreadPoolExecutor(max(processes, 1)) as pool:
            waiting: deque[tuple[Path, Future[str]]] = deque()
            rest = iter(directories)
            try:
                while True:
                    while len(waiting) <= processes and (directory := next(rest, None)):
                        waiting.append((directory, pool.submit(self._text, running, directory)))
                    if not waiting:
                        return
                    directory, text = waiting.popleft()
                    yield self._objects(directory, text.result())
            finally:
                for _, text in waiting:
                    text.cancel()
                running.stop()

    def _text(self, running: Running, directory: Path) -> str:
        words = [*self.command, "build"] if len(self.command) == 1 else [*self.command]
        words += ["--load-restrictor", "LoadRestrictionsRootOnly", "."]
        return running.run(words, self.name, directory, BUILD_SECONDS)

    def _objects(self, directory: Path, text: str) -> list[dict[str, Any]]:
        try:
            return parse(text)
        except Unreadable as error:
            message = f"{self.name} printed what is not a list of objects: {error}"
            raise BuildFailed(directory, message) from None


def find(root: Path | None = None) -> Kustomize:
    """The kustomize to use: $KUSTOMIZE, on PATH, installed by `make tools`, or kubectl's own.

    `root` is the configuration repository, whose `.cache` is the default cache. What $KUSTOMIZE
    names is used or refused, never silently replaced. Raises Unavailable with everything that
    was found and why it does not serve.
    """
    search = _Search(root)
    for kustomize in search.usable():
        return kustomize
    raise Unavailable(search.complaint(), search.advice())


def all_available(root: Path | None = None) -> list[Kustomize]:
    """Every usable kustomize on this machine, one of each version, the newest first."""
    by_version: dict[Version, Kustomize] = {}
    for kustomize in _Search(root, everywhere=True).usable():
        by_version.setdefault(kustomize.version, kustomize)
    return sorted(by_version.values(), key=lambda kustomize: kustomize.version, reverse=True)


class _Search(Struct):
    """One look for kustomize: the candidates in order, and why each refused one was refused."""

    root: Path | None
    everywhere: bool = False
    refused: list[str] = field(default_factory=list[str])

    def usable(self) -> Iterator[Kustomize]:
        probes = _Probes(self.cache / "kustomize.json")
        seen: set[str] = set()
        for path in self._candidates():
            real = os.path.realpath(path)
            if real in seen:
                continue
            seen.add(real)
            found = probes.version(path)
            if isinstance(found, str):
                self.refused.append(f"{path}: {found}")
            elif found < OLDEST:
                self.refused.append(f"{path}: {_kind(path)} {found} is older than {_minor(OLDEST)}")
            else:
                words = (path, "kustomize") if _is_kubectl(path) else (path,)
                yield Kustomize(words, found)

    @property
    def cache(self) -> Path:
        if chosen := os.environ.get("COMPILER_CACHE"):
            return Path(chosen)
        return (self.root or Path.cwd()) / ".cache" / "compiler"

    def _candidates(self) -> Iterator[str]:
        if chosen := os.environ.get("KUSTOMIZE"):
            path = shutil.which(chosen)
            if path is None:
                self.refused.append(f"{chosen}, named by $KUSTOMIZE: no such program")
            else:
                yield os.path.abspath(path)  # noqa: PTH100 (a link keeps its own name)
            if not self.everywhere:
                return
        yield from _on_path("kustomize")
        own = [(_version(path.parent.name), path) for path in self._installed()]
        for _, path in sorted(own, key=lambda pair: pair[0] or (0, 0, 0), reverse=True):
            yield str(path)
        yield from _on_path("kubectl")

    def _installed(self) -> list[Path]:
        return list(self.cache.absolute().glob("tools/kustomize-*/kustomize"))

    def complaint(self) -> str:
        if not self.refused:
            return "kustomize is needed here, and there is neither kustomize nor kubectl"
        found = "; ".join(self.refused)
        return f"kustomize {_minor(OLDEST)} or newer is needed here; found {found}"

    def advice(self) -> str:
        if os.environ.get("KUSTOMIZE"):
            return "let $KUSTOMIZE name a newer kustomize or kubectl, or unset it"
        return "run `make tools`, or install kustomize, or kubectl 1.31 or newer"


class _Probes:
    """The versions of programs, remembered by path, time and size: asking costs a process."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._known: dict[str, Any] = {}
        try:
            known = json.loads(load_cached(file))
            self._known = known if isinstance(known, dict) else {}
        except (OSError, ValueError):
            pass

    def version(self, path: str) -> Version | str:
        """The version of a program, or why it could not be had."""
        try:
            status = Path(path).stat()
        except OSError as error:
            return error.strerror or "cannot be read"
        # A dispatcher may choose its kubectl by what stands in its folder; the name is the key.
        stamp = [status.st_mtime_ns, status.st_size]
        match self._known.get(path):
            case {"stamp": known, "version": [int(a), int(b), int(c)]} if known == stamp:
                return Version(a, b, c)
            case _:
                found = _ask(path)
        if isinstance(found, Version):
            self._known[path] = {"stamp": stamp, "version": list(found)}
            save_cached(self._file, json.dumps(self._known).encode())
        return found


def _ask(path: str) -> Version | str:
    """What a program says its kustomize's version is, or why that is not known."""
    kubectl = _is_kubectl(path)
    words = ["version", "--client"] if kubectl else ["version"]
    try:
        done = subprocess.run(
            [path, *words],
            env=environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"`{' '.join(words)}` did not answer within {_PROBE_SECONDS:.0f} s"
    except OSError as error:
        return f"cannot be started ({error.strerror})"
    output = done.stdout.decode(errors="replace")
    if done.returncode:
        said = complaint(done.stderr)[:200] or "nothing"
        return f"`{' '.join(words)}` failed with status {done.returncode} and said {said}"
    if kubectl:
        line = _KUBECTL_VERSION.search(output)
        if line is None:
            return "this kubectl names no kustomize of its own"
        output = line[1]
    said = output.strip().splitlines()[0][:80] if output.strip() else "nothing"
    return _version(output) or f"its version is not known; it says {said}"


def _version(text: str) -> Version | None:
    found = _VERSION.search(text)
    return Version(*map(int, found.groups())) if found else None


def _minor(version: Version) -> str:
    return f"{version.major}.{version.minor}"


def _kind(path: str) -> str:
    return "kubectl's kustomize" if _is_kubectl(path) else "kustomize"


def _is_kubectl(path: str) -> bool:
    return Path(path).name.startswith("kubectl")


def _on_path(program: str) -> Iterator[str]:
    """Every program of a name on PATH, not the first alone, as absolute paths."""
    for folder in os.get_exec_path():
        if folder and (path := shutil.which(program, path=folder)):
            yield os.path.abspath(path)  # noqa: PTH100 (a link keeps its own name)
