"""What a training shows of itself while it runs: lines of progress, steps, checkpoints."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from msgspec import Struct

from compiler.rehearsal.processes import Output

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LOSS = re.compile(rf"\b(?:train_)?loss\b[\"']?\s*[:=]?\s*({_NUMBER})(?![\w.])", re.IGNORECASE)
_STEP = re.compile(r"\b(?:global_)?(?:step|iter(?:ation)?)\b[\"']?\s*[:=]?\s*(\d+)", re.IGNORECASE)
# What the guard and the lines of progress have in the folder.
_NOT_SAVED = frozenset({"OWNER", "COMPLETE.json", "progress"})
_MOST = 20_000


class Point(Struct, frozen=True):
    """A loss that was told: after which step, and in which start of the run (from 0)."""

    step: int
    loss: float
    start: int


class Watch:
    """Reads what comes; `start` is which start of the run the next lines belong to.

    `events` are the lines of progress that images/runtime writes. A program without them is
    understood as far as it prints steps and losses.
    """

    def __init__(self, folder: Path | None, outputs: Mapping[int, Output]) -> None:
        self.folder = folder
        self.start = 0
        self.events: list[dict[str, Any]] = []
        self._printed: list[Point] = []
        self._steps: list[int] = []
        self._outputs = outputs
        self._read: dict[int, int] = {}
        self._places: dict[Path, int] = {}
        self._told: list[Point] = []

    def look(self) -> None:
        """Take in what came since the last look."""
        for index, output in self._outputs.items():
            text, self._read[index] = output.lines(self._read.get(index, 0))
            self._lines(text)
        for path in sorted((self.folder / "progress").glob("*.jsonl")) if self.folder else ():
            self._jsonl(path)

    def _lines(self, text: str) -> None:
        for line in text.splitlines():
            step, loss = _STEP.search(line), _LOSS.search(line)
            if step is not None:
                self._steps.append(int(step[1]))
            if loss is not None and len(self._printed) < _MOST:
                number = int(step[1]) if step is not None else len(self._printed) + 1
                self._point(self._printed, number, loss[1])

    def _jsonl(self, path: Path) -> None:
        at = self._places.get(path, 0)
        try:
            with path.open("rb") as file:
                file.seek(at)
                data = file.read(1 << 20).rpartition(b"\n")[0]
        except OSError:
            return
        if not data:
            return
        self._places[path] = at + len(data) + 1
        for line in data.splitlines():
            try:
                event: object = json.loads(line)
            except ValueError:
                continue
            if not isinstance(event, dict):
                continue
            told = cast("dict[str, Any]", event)
            self.events.append(told)
            if told.get("event") == "step" and len(self._told) < _MOST:
                self._point(self._told, told.get("step"), told.get("loss"))

    def _point(self, points: list[Point], step: object, loss: object) -> None:
        try:
            value = float(str(loss))
            number = int(str(step))
        except ValueError:
            return
        if math.isfinite(value):
            points.append(Point(number, value, self.start))

    @property
    def points(self) -> list[Point]:
        """The losses that were told, in their order."""
        return self._told or self._printed

    @property
    def world(self) -> int | None:
        """How many processes the training says it has; None where it does not say."""
        for event in reversed(self.events):
            if isinstance(event.get("world"), int):
                return event["world"]
        return None

    def of(self, *kinds: str, since: int = 0) -> list[dict[str, Any]]:
        """The events of some kinds, from the `since`th event on."""
        return [event for event in self.events[since:] if event.get("event") in kinds]

    def mark(self) -> tuple[int, int]:
        """A place in all that came, to ask what came after it."""
        return len(self.events), len(self._steps)

    def went_on(self, mark: tuple[int, int]) -> int | None:
        """The step from which the training went on since a mark; None while it has not.

        0 tells that it began anew.
        """
        events, steps = mark
        begun = False
        for event in self.events[events:]:
            kind = event.get("event")
            begun = begun or kind == "begun"
            if kind == "resumed" and isinstance(event.get("step"), int):
                return event["step"]
            if kind == "step" and begun:
                return 0
        if self.events:
            return None
        new = self._steps[steps:]
        return max(new[0] - 1, 0) if new else None

    @property
    def step(self) -> int:
        """The last step that was told of; 0 without any."""
        for event in reversed(self.events):
            if isinstance(event.get("step"), int):
                return event["step"]
        return self._steps[-1] if self._steps else 0

    @property
    def signs(self) -> bool:
        """Whether the training has shown anything yet."""
        return bool(self.events or self._steps or self.saved())

    def saved(self) -> frozenset[tuple[str, int]]:
        """What looks like checkpoints in the folder: names, and when they were changed (ns)."""
        if self.folder is None:
            return frozenset()
        found: set[tuple[str, int]] = set()
        try:
            for path in self.folder.iterdir():
                if path.name not in _NOT_SAVED and path.name[0] != ".":
                    found.add((path.name, path.stat().st_mtime_ns))
        except OSError:
            pass
        return frozenset(found)
