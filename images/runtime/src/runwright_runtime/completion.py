"""COMPLETE.json: the training of a lineage has come to its end, and is not started again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import cast

from runwright_runtime.failures import Damaged, Unwritable
from runwright_runtime.files import save

NAME = "COMPLETE.json"


@dataclass(frozen=True)
class Completion:
    """Which run came to the end, when (RFC 3339, UTC), and at which step; None: not known."""

    run: str
    at: str | None
    step: int | None


def read(folder: Path) -> Completion | None:
    """What the marker of a folder says; None where there is none.

    Raises Damaged for a marker that cannot be read: neither to train again nor to call it done
    would be right.
    """
    path = folder / NAME
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise Unwritable(f"{folder} is no folder") from error
    except OSError as error:
        raise Damaged(f"cannot read {path}: {error.strerror}") from error
    try:
        found: object = json.loads(text)
    except ValueError:
        found = None
    if isinstance(found, Mapping):
        said = cast("Mapping[str, object]", found)
        run, at, step = said.get("run"), said.get("at"), said.get("step")
        if isinstance(run, str) and run:
            return Completion(
                run,
                at if isinstance(at, str) else None,
                step if isinstance(step, int) and not isinstance(step, bool) else None,
            )
    raise Damaged(
        f'{path} is damaged: delete it if the training is not complete, else write {{"run": "…"}}'
    )


def write(folder: Path, run: str, step: int | None) -> Completion:
    """Mark a folder's training as complete. Raises Unwritable."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")  # noqa: UP017 (Python 3.10)
    made = Completion(run, now, step)
    text = json.dumps({"run": made.run, "at": made.at, "step": made.step})
    save(folder / NAME, f"{text}\n".encode())
    return made
