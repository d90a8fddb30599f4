"""What a cluster says of its runs: read from `kubectl get -o json`, and kept as an observation."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

from compiler.diagnostics import CompilerError
from compiler.runs.gathering import decimal
from compiler.runs.observations import Observation, Observed, Seen

VERSION = 1
LIMIT = 256 * 1024 * 1024
Object = Mapping[str, Any]


def observed(documents: Iterable[Object], cluster: str, at: datetime) -> dict[str, Any]:
    """The observation in objects that kubectl printed: single ones, or lists of them.

    An object counts if it carries the annotation `runwright/run`. The observation is complete
    if every document is a list, for then what is absent was not there.
    """
    runs: list[dict[str, Any]] = []
    complete = True
    for document in documents:
        items: Any = document.get("items")
        complete = complete and isinstance(items, list)
        for item in cast("list[Object]", items if isinstance(items, list) else [document]):
            run = _run(item, at)
            if run is not None:
                runs.append(run)
    runs.sort(key=lambda run: (run["namespace"], run["name"]))
    return {
        "version": VERSION,
        "at": at.astimezone(UTC).isoformat(timespec="seconds"),
        "cluster": cluster,
        "complete": complete,
        "runs": runs,
    }


def _run(item: Object, at: datetime) -> dict[str, Any] | None:
    metadata: Object = item.get("metadata") or {}
    annotations: Object = metadata.get("annotations") or {}
    name = metadata.get("name")
    if "runwright/run" not in annotations or not isinstance(name, str):
        return None
    outcome, ended = _outcome(item)
    began = _time((item.get("status") or {}).get("startTime"))
    seconds = None
    if began is not None:
        seconds = max(0, int(((ended or at) - began).total_seconds()))
    run: dict[str, Any] = {
        "name": name,
        "namespace": metadata.get("namespace") or "",
        "uid": metadata.get("uid") or "",
        "outcome": outcome,
        "seconds": seconds,
        "accelerator_hours": None
        if seconds is None
        else decimal(Fraction(seconds * _devices(item), 3600)),
    }
    return run


def _outcome(item: Object) -> tuple[Seen, datetime | None]:
    """How a training object stands, by its conditions.

    A condition counts only while its status is True: `kubectl get` shows the last one, whatever
    its status (training-operator, pkg/apis/kubeflow.org/v1). Suspended means waiting.
    """
    status: Object = item.get("status") or {}
    for condition in cast("list[Object]", status.get("conditions") or []):
        if condition.get("status") != "True":
            continue
        kind = condition.get("type")
        ended = _time(status.get("completionTime")) or _time(condition.get("lastTransitionTime"))
        if kind in ("Succeeded", "Complete"):
            return "succeeded", ended
        if kind == "Failed":
            return "failed", ended
    return "running", None


def _devices(item: Object) -> int:
    """Accelerators over all pods of an object, nodes where it has none."""
    spec: Object = item.get("spec") or {}
    roles: Object = spec.get("pytorchReplicaSpecs") or {
        "": {"replicas": spec.get("parallelism", 1), "template": spec.get("template")}
    }
    devices = pods = 0
    for role in cast("Iterable[Object]", roles.values()):
        replicas = role.get("replicas")
        count = replicas if isinstance(replicas, int) else 1
        pods += count
        pod: Object = (role.get("template") or {}).get("spec") or {}
        for container in cast("list[Object]", pod.get("containers") or []):
            limits: Object = (container.get("resources") or {}).get("limits") or {}
            for name, amount in limits.items():
                # An accelerator is an extended resource whose name says so; RDMA devices are not.
                if "/" in name and any(word in name for word in ("gpu", "mig-", "npu", "tpu")):
                    devices += count * int(amount) if str(amount).isdigit() else 0
    return devices or pods


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(value)) if value else None
    except ValueError:
        return None


def documents(text: str) -> list[Object]:
    """The JSON documents of a text, one after the other, as several kubectl calls print them."""
    decoder = json.JSONDecoder()
    found: list[Object] = []
    position = 0
    while position < len(text):
        while position < len(text) and text[position].isspace():
            position += 1
        if position == len(text):
            break
        try:
            document, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise CompilerError(f"this is not what `kubectl get -o json` prints: {error}") from None
        if not isinstance(document, dict):
            raise CompilerError("this is not what `kubectl get -o json` prints: not an object")
        found.append(cast("Object", document))
    return found


def read_text(name: str) -> str:
    """The text of a file; `-` is standard input."""
    import sys

    try:
        if name == "-":
            return sys.stdin.read(LIMIT)
        path = Path(name)
        if path.stat().st_size > LIMIT:
            raise CompilerError(f"{name} is larger than {LIMIT // 2**20} MiB")
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CompilerError(f"{name} cannot be read: {error}") from None


def read_observation(name: str) -> Observation:
    """The observation in a file that `archive` printed; raises CompilerError for anything else."""
    try:
        stored = json.loads(read_text(name))
        if stored["version"] != VERSION:
            raise CompilerError(f"{name} has version {stored['version']}, not {VERSION}")
        datetime.fromisoformat(stored["at"])
        runs = {
            (run["namespace"], run["name"]): Observed(
                _word(run["outcome"]), run.get("seconds"), run.get("accelerator_hours") or ""
            )
            for run in stored["runs"]
        }
        return Observation(stored["cluster"], stored["at"], stored["complete"] is True, runs)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CompilerError(
            f"{name} is not what `archive` prints ({type(error).__name__}: {error})"
        ) from None


def _word(value: object) -> Seen:
    if value in ("running", "succeeded", "failed"):
        return cast("Seen", value)
    raise ValueError(f"the outcome {value!r}")
