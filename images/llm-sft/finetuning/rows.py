"""The rows of a dataset, one at a time, each with the place where a person finds it.

JSON Lines are read where they lie: only the offset of each line is kept. Everything else is read by
`datasets`, which is imported only then.
"""

from __future__ import annotations

import json
from array import array
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from runwright_runtime import Unusable

Row = Mapping[str, Any]


class Rows(Protocol):
    """Rows by their number."""

    def __len__(self) -> int:
        """How many there are."""
        ...

    def __getitem__(self, index: int) -> Row:
        """The row. Raises Unusable for one that is broken."""
        ...

    def place(self, index: int) -> str:
        """Where it is, for a person."""
        ...


class Lines:
    """The lines of files of JSON, one after the other. Raises Unusable where one cannot be read."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self._firsts = [0]
        self._offsets: list[array[int]] = []
        self._numbers: list[array[int]] = []
        for path in paths:
            offsets, numbers = array("Q"), array("Q")
            at = 0
            try:
                with path.open("rb") as file:
                    for number, line in enumerate(file, 1):
                        if line.strip():
                            offsets.append(at)
                            numbers.append(number)
                        at += len(line)
            except OSError as error:
                raise Unusable(f"cannot read {path}: {error.strerror}") from error
            self._offsets.append(offsets)
            self._numbers.append(numbers)
            self._firsts.append(self._firsts[-1] + len(offsets))

    def __len__(self) -> int:
        return self._firsts[-1]

    def _found(self, index: int) -> tuple[int, int]:
        if not 0 <= index < len(self):
            raise IndexError(index)
        file = bisect_right(self._firsts, index) - 1
        return file, index - self._firsts[file]

    def place(self, index: int) -> str:
        file, within = self._found(index)
        return f"{self._paths[file]}:{self._numbers[file][within]}"

    def __getitem__(self, index: int) -> Row:
        file, within = self._found(index)
        with self._paths[file].open("rb") as opened:
            opened.seek(self._offsets[file][within])
            line = opened.readline()
        try:
            row = json.loads(line)
        except UnicodeDecodeError as error:
            raise Unusable(f"{self.place(index)} is not UTF-8") from error
        except (ValueError, RecursionError) as error:
            raise Unusable(f"{self.place(index)} is no JSON: {error}") from error
        if not isinstance(row, dict):
            raise Unusable(f"{self.place(index)} is no JSON object, but {type(row).__name__}")
        return row


class Listed:
    """Rows that are in memory, or that can be looked up as in a list."""

    def __init__(self, rows: Any, name: str) -> None:
        self._rows = rows
        self._name = name

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Row:
        return self._rows[index]

    def place(self, index: int) -> str:
        return f"row {index} of {self._name}"


def rows_of(name: str) -> Rows:
    """The rows that an argument names: a file, a folder, or a dataset of the hub.

    Raises Unusable where there are none.
    """
    path = Path(name)
    if path.is_dir():
        found = _of_folder(path)
    elif path.is_file():
        found = _loaded(path, [path]) if path.suffix == ".parquet" else Lines([path])
    elif path.is_absolute() or name.startswith(".") or name.count("/") != 1:
        raise Unusable(f"there is no file or folder {name}, and no dataset has such a name")
    else:
        found = _loaded(name, None)
    if not len(found):
        raise Unusable(f"{name} has no rows")
    return found


def _of_folder(folder: Path) -> Rows:
    if (folder / "dataset_info.json").is_file() and (folder / "state.json").is_file():
        return _loaded(folder, [])
    for pattern in ("*.jsonl", "*.parquet"):
        # A hidden folder is one that something else keeps there.
        paths = sorted(
            path
            for path in folder.rglob(pattern)
            if not any(part.startswith(".") for part in path.relative_to(folder).parts)
        )
        if paths:
            return Lines(paths) if pattern == "*.jsonl" else _loaded(folder, paths)
    raise Unusable(f"{folder} has no *.jsonl and no *.parquet, and `datasets` did not save it")


def _loaded(name: Path | str, paths: Sequence[Path] | None) -> Rows:
    """What `datasets` reads: files of Parquet, a folder that it saved (no paths), or the hub."""
    import datasets

    datasets.disable_progress_bars()
    try:
        if paths is None:
            found = datasets.load_dataset(str(name), split="train")
        elif paths:
            found = datasets.load_dataset(
                "parquet", data_files=[str(path) for path in paths], split="train"
            )
        else:
            found = datasets.load_from_disk(str(name))
    except Exception as error:  # each of its readers has exceptions of its own
        said = str(error).strip().splitlines() or [type(error).__name__]
        raise Unusable(f"`datasets` cannot load {name}: {said[0]}") from error
    return Listed(found, str(name))
