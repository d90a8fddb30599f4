"""What publish commits wrote: the files of `overlays/`, by their folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from compiler.runs.git import Git


class Past:
    """The folders of publish commits, the newest commit first. Each commit is read at most once.

    `touched` are the commits that wrote or deleted a file, by its path.
    """

    def __init__(
        self, git: Git, commits: Sequence[str], touched: Mapping[str, Sequence[str]]
    ) -> None:
        self._git = git
        self._commits = commits
        self._folders: dict[str, set[str]] = {}
        for path, names in touched.items():
            for folder in _around(path):
                self._folders.setdefault(folder, set()).update(names)
        self._listings: dict[str, dict[str, dict[str, str]]] = {}
        self._contents: dict[str, bytes] = {}

    def __call__(self, folder: str) -> Mapping[str, bytes] | None:
        """The files of a folder by path, as the newest commit that has any wrote it; else None.

        Between the commits that touch it a folder stays as it is: no other has to be looked at.
        """
        touching = self._folders.get(folder, set())
        for commit in self._commits:
            if commit in touching or commit == self._commits[0]:
                found = self._listing(commit).get(folder)
                if found is not None:
                    self._read(commit, found)
                    return {path: self._contents[blob] for path, blob in found.items()}
        return None

    def _listing(self, commit: str) -> dict[str, dict[str, str]]:
        if commit not in self._listings:
            made: dict[str, dict[str, str]] = {}
            for path, (_, blob) in self._git.files(commit, "overlays").items():
                for folder in _around(path):
                    made.setdefault(folder, {})[path] = blob
            self._listings[commit] = made
        return self._listings[commit]

    def _read(self, commit: str, wanted: Mapping[str, str]) -> None:
        """Read all of the newest commit at once, for most of it is kept; of others the asked."""
        if all(blob in self._contents for blob in wanted.values()):
            return
        newest = commit == self._commits[0]
        asked = self._listing(commit)["overlays"] if newest else wanted
        missing = {blob for blob in asked.values() if blob not in self._contents}
        self._contents |= self._git.blobs(sorted(missing))


def _around(path: str) -> Iterator[str]:
    """The folders that a file is in, the innermost first."""
    folder = path.rpartition("/")[0]
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
