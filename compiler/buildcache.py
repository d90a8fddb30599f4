"""What earlier builds made and proved, by content; no cache at all is never an error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

try:
    import sqlite3
except ImportError:  # a Python that was built without it
    sqlite3 = None

# About 100 bytes each. A build of everything proves one entry a run and version of kustomize.
MOST_PROOFS = 200_000


class BuildCache:
    """The folder's database; every method does without it where it fails."""

    def __init__(self, folder: Path) -> None:
        self._database: Any = None
        if sqlite3 is None:
            return
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._open(folder / "builds.sqlite")
        except (OSError, sqlite3.Error):
            self._database = None

    def _open(self, file: Path) -> None:
        assert sqlite3 is not None
        try:
            self._connect(file)
        except sqlite3.OperationalError:  # locked, or not to be written
            raise
        except sqlite3.DatabaseError:  # damaged: it only holds what can be made again
            file.unlink()
            self._connect(file)

    def _connect(self, file: Path) -> None:
        assert sqlite3 is not None
        database = sqlite3.connect(file, timeout=2, isolation_level=None)
        # What a power cut takes from the cache is made again.
        database.execute("PRAGMA synchronous = OFF")
        database.execute("CREATE TABLE IF NOT EXISTS rendered (stamp TEXT PRIMARY KEY, made TEXT)")
        database.execute("CREATE TABLE IF NOT EXISTS proved (key TEXT PRIMARY KEY)")
        self._database = database

    def rendered(self, stamps: Iterable[str]) -> dict[str, Any]:
        """What was made under each of these stamps, where it is known."""
        found: dict[str, Any] = {}
        wanted = set(stamps)
        for stamp, made in self._rows("SELECT stamp, made FROM rendered"):
            if stamp in wanted:
                with suppress(msgspec.MsgspecError, TypeError):
                    found[stamp] = msgspec.json.decode(made)
        return found

    def keep(self, made: Mapping[str, Any], current: Iterable[str] | None) -> None:
        """Remember what was made; where `current` is given, all other stamps are forgotten."""
        rows = [(stamp, msgspec.json.encode(entry).decode()) for stamp, entry in made.items()]
        self._write("INSERT OR REPLACE INTO rendered VALUES (?, ?)", rows)
        if current is not None:
            known = {row[0] for row in self._rows("SELECT stamp FROM rendered")}
            gone = [(stamp,) for stamp in known.difference(current)]
            self._write("DELETE FROM rendered WHERE stamp = ?", gone)

    def proved(self, keys: Iterable[str]) -> set[str]:
        """Those of the keys that an earlier build proved."""
        return set(keys) & {row[0] for row in self._rows("SELECT key FROM proved")}

    def prove(self, keys: Iterable[str]) -> None:
        """Remember that these are proved."""
        if sum(1 for _ in self._rows("SELECT 1 FROM proved")) > MOST_PROOFS:
            self._write("DELETE FROM proved WHERE 1 OR key = ?", [("",)])
        self._write("INSERT OR IGNORE INTO proved VALUES (?)", [(key,) for key in keys])

    def close(self) -> None:
        """Let go of the file."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def _rows(self, query: str) -> list[tuple[Any, ...]]:
        if self._database is None:
            return []
        assert sqlite3 is not None
        try:
            return self._database.execute(query).fetchall()
        except sqlite3.Error:
            return []

    def _write(self, statement: str, rows: list[tuple[str, ...]]) -> None:
        if self._database is None or not rows:
            return
        assert sqlite3 is not None
        try:
            self._database.execute("BEGIN")
            self._database.executemany(statement, rows)
            self._database.execute("COMMIT")
        except sqlite3.Error:
            with suppress(sqlite3.Error):
                self._database.execute("ROLLBACK")
