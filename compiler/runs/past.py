"""What publish commits wrote: the files of `overlays/`, by their folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from compiler.runs.git import Git


class Past:
    """The folders of publish commits, the newest commit first. Each commit is read at most once."""

    def __init__(self, git: Git, commits: Sequence[str]) -> None:
        self._git = git
        self._commits = commits
        self._listings: list[dict[str, dict[str, str]]] = []
        self._contents: dict[str, bytes] = {}

    def __call__(self, folder: str) -> Mapping[str, bytes] | None:
        """The files of a folder by path, as the newest commit that has any wrote it; else None."""
        for at in range(len(self._commits)):
            found = self._listing(at).get(folder)
            if found is not None:
                self._read(at, found)
                return {path: self._contents[blob] for path, blob in found.items()}
        return None

    def _listing(self, at: int) -> dict[str, dict[str, str]]:
        while len(self._listings) <= at:
            commit = self._commits[len(self._listings)]
            made: dict[str, dict[str, str]] = {}
            for path, (_, blob) in self._git.files(commit, "overlays").items():
                folder = path.rpartition("/")[0]
                while folder:
                    made.setdefault(folder, {})[path] = blob
                    folder = folder.rpartition("/")[0]
            self._listings.append(made)
        return self._listings[at]

    def _read(self, at: int, wanted: Mapping[str, str]) -> None:
        """Read all of the newest commit at once, for most of it is kept; of others the asked."""
        if all(blob in self._contents for blob in wanted.values()):
            return
        asked = self._listing(at)["overlays"] if at == 0 else wanted
        missing = {blob for blob in asked.values() if blob not in self._contents}
        self._contents |= self._git.blobs(sorted(missing))
