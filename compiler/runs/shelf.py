"""What publish commits wrote, each commit and each run of a ledger read once for all time.

A ledger holds all runs of its job, and every publish writes it whole: read version by version, a
long history costs its square. But a commit never changes, and most of a version is in the version
before, letter for letter. So a version is cut into the texts of its runs, and each text is read
once; what was read is kept in the cache by the names of commits and blobs, which stand for their
content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import Struct, field

from compiler import __version__
from compiler.cachefile import load_cached, save_cached
from compiler.diagnostics import Finding
from compiler.runs.entries import Entry, Ledger
from compiler.runs.git import Git
from compiler.runs.ledgerfile import parse

OVERLAYS = "overlays"
LEDGER = "overlays/ledger"
_RUNS = "\nruns:\n"
_RUN = re.compile(r"^(?=  - )", re.MULTILINE)


class _Version(Struct):
    """A version of a ledger: whose it is, and its runs by their place among all that are known."""

    team: str
    job: str
    also: tuple[str, ...]
    runs: list[int]


class _Kept(Struct):
    """All that is kept. `commits` are rows of a path's place and a blob, '' for a deletion."""

    format: str = ""
    paths: list[str] = field(default_factory=list[str])
    commits: dict[str, list[tuple[int, str]]] = field(
        default_factory=dict[str, list[tuple[int, str]]]
    )
    runs: list[Entry] = field(default_factory=list[Entry])
    # The place of each run by the digest of its text.
    texts: dict[str, int] = field(default_factory=dict[str, int])
    versions: dict[str, _Version] = field(default_factory=dict[str, _Version])


class Shelf:
    """The files that publish commits wrote, with what the cache remembers of them."""

    def __init__(self, git: Git, cache: Path | None = None) -> None:
        self.git = git
        # A cache may serve several repositories, and several folders of one.
        place = sha256(f"{git.root}\n{git.prefix}".encode()).hexdigest()[:12]
        self.file = cache / f"published-{place}.json" if cache is not None else None
        self._kept = self._read()
        self._places = {path: at for at, path in enumerate(self._kept.paths)}
        self._changed = False
        self._strange: dict[tuple[str, str], tuple[Ledger | None, list[Finding]]] = {}

    def changes(self, commits: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
        """What each commit did to the files under `overlays/`: (path, blob), '' for a deletion."""
        new = [commit for commit in commits if commit not in self._kept.commits]
        for commit, rows in (self.git.changes(new, OVERLAYS) if new else {}).items():
            self._kept.commits[commit] = [(self._place(path), blob) for path, blob in rows]
            self._changed = True
        paths = self._kept.paths
        return {
            commit: [(paths[at], blob) for at, blob in self._kept.commits.get(commit, ())]
            for commit in commits
        }

    def _place(self, path: str) -> int:
        found = self._places.get(path)
        if found is None:
            found = self._places[path] = len(self._kept.paths)
            self._kept.paths.append(path)
        return found

    def fill(self, blobs: Iterable[tuple[str, str]]) -> None:
        """Read versions of ledgers, (path, blob), that are not known yet, in one process of git."""
        wanted = [
            one
            for one in dict.fromkeys(blobs)
            if one[1] not in self._kept.versions and one not in self._strange
        ]
        contents = self.git.blobs(blob for _, blob in wanted)
        for path, blob in wanted:
            self._changed = True
            if not self._taken(path, blob, contents[blob]):
                self._strange[path, blob] = parse(path, contents[blob])

    def _taken(self, path: str, blob: str, data: bytes) -> bool:
        """Whether a version was read by its parts: publish wrote it, and nothing is wrong in it."""
        head, runs = _parts(data)
        digests = [sha256(text.encode()).hexdigest()[:32] for text in runs]
        new = [at for at, digest in enumerate(digests) if digest not in self._kept.texts]
        shown = (
            head + "".join(runs[at] for at in new) if new else f"{head[: -len(_RUNS)]}\nruns: []\n"
        )
        if not runs:
            return False
        ledger, findings = parse(path, shown.encode())
        if ledger is None or findings or len(ledger.runs) != len(new):
            return False
        for at, run in zip(new, ledger.runs, strict=True):
            self._kept.texts[digests[at]] = len(self._kept.runs)
            self._kept.runs.append(run)
        places = [self._kept.texts[digest] for digest in digests]
        self._kept.versions[blob] = _Version(ledger.team, ledger.job, ledger.also, places)
        return True

    def ledger(self, path: str, blob: str) -> tuple[Ledger | None, list[Finding]]:
        """A version of a ledger that `fill` has read, and what is wrong with it."""
        found = self._kept.versions.get(blob)
        if found is None:
            return self._strange[path, blob]
        runs = tuple(self._kept.runs[at] for at in found.runs)
        return Ledger(found.team, found.job, runs, found.also), []

    def ledgers(self, versions: Iterable[tuple[str, str]]) -> list[Ledger]:
        """These versions, each without the runs that stand in one before it letter for letter."""
        made: list[Ledger] = []
        seen: set[int] = set()
        for path, blob in versions:
            found = self._kept.versions.get(blob)
            if found is None:
                ledger, _ = self._strange[path, blob]
                made += [ledger] if ledger is not None else []
                continue
            new = [at for at in found.runs if at not in seen]
            seen.update(new)
            runs = tuple(self._kept.runs[at] for at in new)
            made.append(Ledger(found.team, found.job, runs, found.also))
        return made

    def save(self) -> None:
        """Keep what was read; a cache that cannot be written is worked without."""
        if self.file is None or not self._changed:
            return
        self._kept.format = _FORMAT
        body = msgspec.json.encode(self._kept)
        save_cached(self.file, sha256(body).hexdigest().encode() + b"\n" + body)

    def _read(self) -> _Kept:
        if self.file is not None:
            with suppress(OSError, msgspec.MsgspecError, ValueError):
                digest, _, body = load_cached(self.file).partition(b"\n")
                if digest == sha256(body).hexdigest().encode():
                    kept = msgspec.json.decode(body, type=_Kept)
                    if kept.format == _FORMAT:
                        return kept
        return _Kept()


_FORMAT = f"1 {__version__} {' '.join(Entry.__struct_fields__)}"


def _parts(data: bytes) -> tuple[str, list[str]]:
    """What stands before the runs of a ledger, and the text of each run; no runs where it differs.

    Publish indents by two and keeps texts deeper: only a run begins where a run begins.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "", []
    head, mark, rest = text.partition(_RUNS)
    first, *runs = _RUN.split(rest)
    return head + mark, [] if first or "\r" in text else runs
