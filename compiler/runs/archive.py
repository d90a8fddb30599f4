"""What a cluster says of its runs: read from `kubectl get -o json`, and kept as an observation."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from compiler.diagnostics import CompilerError
from compiler.runs.gathering import decimal
from compiler.runs.observations import Observation, Observed, Seen
from compiler.runs.standing import (
    POD,
    TRAINING,
    WORKLOAD,
    Object,
    hours,
    kind_of,
    owner_of,
    part,
    parts,
    standing,
    word,
)

VERSION = 1
LIMIT = 256 * 1024 * 1024
_SPACE = re.compile(r"\s*")
_NOT_KUBECTL = "this is not what `kubectl get -o json` prints"


def observed(
    documents: Sequence[Object], cluster: str, at: datetime, *, partial: bool = False
) -> dict[str, Any]:
    """The observation in objects that kubectl printed: single ones, or lists of them.

    A run is an object with the annotation `runwright/run`, or any PyTorchJob, which may have been
    adopted. The observation is complete if every document is a whole list, for then what is absent
    was not there; `partial` says that they do not list everything. Raises CompilerError for
    documents that kubectl does not print.
    """
    items = [item for document in documents for item in _items(document)]
    complete = not partial and all(_whole(document) for document in documents)
    workloads, pods = _by_owner(items, WORKLOAD), _by_owner(items, POD)
    runs: dict[tuple[str, str], dict[str, Any]] = {}
    for item in items:
        if kind_of(item) in TRAINING:
            metadata = part(item, "metadata")
            place = (word(metadata, "namespace"), kind_of(item)[1], word(metadata, "name"))
            run = _run(item, workloads.get(place, ()), pods.get(place, ()), at)
            if run is not None:
                runs[run["namespace"], run["name"]] = run
    return {
        "version": VERSION,
        "at": at.astimezone(UTC).isoformat(timespec="seconds"),
        "cluster": cluster,
        "complete": complete,
        "runs": [run for _, run in sorted(runs.items())],
    }


def _by_owner(
    items: Iterable[Object], kind: tuple[str, str]
) -> dict[tuple[str, str, str] | None, list[Object]]:
    """The objects of a kind by the namespace, kind and name of their owner."""
    found: dict[tuple[str, str, str] | None, list[Object]] = {}
    for item in items:
        if kind_of(item) == kind:
            found.setdefault(owner_of(item), []).append(item)
    return found


def _items(document: Object) -> list[Object]:
    if document.get("kind") == "Status":
        why = word(document, "message") or word(document, "reason") or "a Status, and no objects"
        raise CompilerError(
            f"the API server has answered: {' '.join(why.split())[:300]}",
            "look at what kubectl says: nothing was seen, which is not the same as nothing there",
        )
    if "items" in document:
        if document["items"] is None:
            raise CompilerError(
                f"{_NOT_KUBECTL}: `items` is null",
                "an empty cluster has `items: []`; look whether something has changed the list",
            )
        return parts(document, "items")
    if not document.get("kind"):
        raise CompilerError(f"{_NOT_KUBECTL}: an object without a kind")
    return [document]


def _whole(document: Object) -> bool:
    """Whether a document is a list that does not go on elsewhere."""
    return "items" in document and not part(document, "metadata").get("continue")


def _run(
    item: Object, workloads: Iterable[Object], pods: Iterable[Object], at: datetime
) -> dict[str, Any] | None:
    metadata = part(item, "metadata")
    name = word(metadata, "name")
    ours = "runwright/run" in part(metadata, "annotations")
    if not name or not (ours or kind_of(item)[1] == "PyTorchJob"):
        return None
    found = standing(item, workloads, pods)
    seconds = None
    if found.began is not None:
        seconds = max(0, int(((found.ended or at) - found.began).total_seconds()))
    return {
        "name": name,
        "namespace": word(metadata, "namespace"),
        "uid": word(metadata, "uid"),
        "outcome": found.outcome,
        "seconds": seconds,
        "accelerator_hours": None if seconds is None else decimal(hours(seconds, item)),
        "began": _stamp(found.began),
        "finished": _stamp(found.ended),
        "exit": found.exit,
        "reason": found.reason or None,
    }


def _stamp(at: datetime | None) -> str | None:
    return None if at is None else at.astimezone(UTC).isoformat(timespec="seconds")


def documents(text: str) -> list[Object]:
    """The JSON documents of a text, one after the other, as several kubectl calls print them.

    Raises CompilerError for anything else, also for no text at all: a kubectl that has failed has
    not seen that nothing runs.
    """
    decoder = json.JSONDecoder()
    found: list[Object] = []
    position = _next(text, 0)
    while position < len(text):
        try:
            document, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise CompilerError(f"{_NOT_KUBECTL}: {error}") from None
        if not isinstance(document, dict):
            raise CompilerError(f"{_NOT_KUBECTL}: not an object")
        found.append(cast("Object", document))
        position = _next(text, position)
    if not found:
        raise CompilerError(f"{_NOT_KUBECTL}: it is empty", "look whether kubectl has failed")
    return found


def _next(text: str, position: int) -> int:
    """Where the next letter stands that is no space."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def read_text(name: str) -> str:
    """The text of a file; `-` is standard input. Raises CompilerError where it cannot be read."""
    shown = "standard input" if name == "-" else name
    try:
        if name == "-":
            data = sys.stdin.buffer.read(LIMIT + 1)
        else:
            with Path(name).open("rb") as file:
                data = file.read(LIMIT + 1)
        if len(data) > LIMIT:
            raise CompilerError(f"{shown} is larger than {LIMIT // 2**20} MiB")
        return data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise CompilerError(f"{shown} cannot be read: {error}") from None


def read_observation(name: str) -> Observation:
    """The observation in a file that `archive` printed; raises CompilerError for anything else."""
    shown = "standard input" if name == "-" else name
    remedy = "name a file that `runwright archive --cluster C -o FILE` has written"
    text = read_text(name)
    try:
        stored = json.loads(text)
    except (ValueError, RecursionError) as error:
        if not text.strip():
            why = "it is empty"
        elif isinstance(error, json.JSONDecodeError) and error.pos >= len(text.rstrip()):
            why = f"it breaks off in line {error.lineno}"
        else:
            why = f"it is no JSON ({error})"
        raise CompilerError(f"{shown} is no observation: {why}", remedy) from None
    try:
        if stored["version"] != VERSION:
            raise CompilerError(
                f"{shown} has version {stored['version']}, not {VERSION}",
                "write it with this version of runwright",
            )
        datetime.fromisoformat(stored["at"])
        runs = {
            (run["namespace"], run["name"]): Observed(
                _word(run["outcome"]),
                run.get("seconds"),
                run.get("accelerator_hours") or "",
                _time(run.get("began")),
                _time(run.get("finished")),
            )
            for run in stored["runs"]
        }
        return Observation(stored["cluster"], stored["at"], stored["complete"] is True, runs)
    except KeyError as error:
        raise CompilerError(
            f"{shown} is no observation: `{error.args[0]}` is missing", remedy
        ) from None
    except (TypeError, AttributeError):
        raise CompilerError(f"{shown} is no observation: its form is another", remedy) from None
    except ValueError as error:
        raise CompilerError(f"{shown} is no observation: {error}", remedy) from None


def _time(value: object) -> str:
    """An RFC 3339 time, or nothing; raises ValueError for anything else."""
    if value is None:
        return ""
    if not isinstance(value, str) or datetime.fromisoformat(value).tzinfo is None:
        raise ValueError(f"the time {value!r}")
    return value


def _word(value: object) -> Seen:
    if value in ("running", "succeeded", "failed"):
        return cast("Seen", value)
    raise ValueError(f"the outcome {value!r}")
