"""How a training comes along: lines of JSON for programs, and of text for a person."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import TextIO

_UNITS = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


class Progress:
    """Writes one line for each thing that is told; of all processes only the first has one.

    JSON goes to the end of `path`, or to standard output for "-"; text to standard output, except
    in the latter case. A line that cannot be written is lost: a full disk must not end a training.
    """

    def __init__(self, run: str | None, path: Path | str | None, speaks: bool = True) -> None:
        self.run = run
        self.path = path
        self.speaks = speaks
        self._lost = False

    def tell(self, event: str, text: str, **values: object) -> None:
        """Write a line. `values` are the fields of the JSON beside `at`, `run` and `event`."""
        if not self.speaks:
            return
        at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")  # noqa: UP017
        line = json.dumps({"at": at, "run": self.run, "event": event, **values})
        if self.path == "-":
            _print(line, sys.stdout)
            return
        _print(text, sys.stdout)
        if self.path is None:
            return
        try:
            path = Path(self.path)
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")
        except OSError as error:
            if not self._lost:
                _print(f"runwright: cannot write {self.path}: {error.strerror}", sys.stderr)
            self._lost = True


class Window:
    """The steps between two lines of progress, as one process has seen them."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.began = time.monotonic()
        self.losses: list[object] = []
        self.tokens = self.samples = 0

    def add(self, loss: object, tokens: int, samples: int) -> None:
        """Take note of a step. The loss may be a tensor: it is looked at when a line is due."""
        detach = getattr(loss, "detach", None)
        self.losses.append(detach() if detach is not None else loss)
        self.tokens += tokens
        self.samples += samples

    def sums(self) -> list[float]:
        """What is summed over the processes: losses, their number, tokens, samples."""
        total = sum(float(loss) for loss in self.losses)  # type: ignore[arg-type]  # pyright: ignore
        return [total, len(self.losses), self.tokens, self.samples]

    def values(self, step: int, sums: list[float], size: int) -> dict[str, float]:
        """The fields of a line, from the sums over `size` processes."""
        loss, losses, tokens, samples = sums
        seconds = max(time.monotonic() - self.began, 1e-9)
        found: dict[str, float] = {"step": step, "world": size}
        if losses:
            found["loss"] = loss / losses
        if tokens:
            found["tokens_per_s"] = tokens / seconds
        if samples:
            found["samples_per_s"] = samples / seconds
        found["step_s"] = seconds / max(step - self.step, 1)
        return found


def described(step: int, total: int | None, values: Mapping[str, float]) -> str:
    """A line of progress for a person."""
    parts = [f"step {step}" + (f"/{total}" if total is not None else "")]
    if "loss" in values:
        parts.append(f"loss {values['loss']:.4f}")
    for name, unit in (("tokens_per_s", "tokens/s"), ("samples_per_s", "samples/s")):
        if name in values:
            parts.append(f"{amount(values[name])} {unit}")
    if "mfu" in values:
        parts.append(f"MFU {values['mfu']:.1%}")
    if "waited_share" in values:
        parts.append(f"waited for saving {values['waited_share']:.2%}")
    return "  ".join(parts)


def amount(value: float) -> str:
    """A number in three digits: 12.3k."""
    for size, unit in _UNITS:
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def _print(text: str, where: TextIO) -> None:
    print(text, file=where, flush=True)
