"""What is learned, and how it is run: the two digests of a run.

They are taken over the neutral model, where `24h` and `1440m` are the same seconds and a default
that is written out is the default.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, is_dataclass
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import Any

from compiler.model import Image, Member, Run, Variable
from compiler.nodes import plain
from compiler.quantity import Quantity

# Variables that change how a run goes, not what it learns; `policy/rules.yaml` may say others.
OPERATIONAL_ENV = ("NCCL_*", "UCX_*", "FI_*", "GLOO_*", "OMP_*", "TORCH_NCCL_*", "*LOG_LEVEL")
_TRAINING = frozenset({"image", "command", "args", "env", "files", "mounts"})


def operational(name: str, patterns: tuple[str, ...] = OPERATIONAL_ENV) -> bool:
    """Whether an environment variable does not count as training."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def training(run: Run) -> str:
    """The digest of what is learned: image, command, arguments, environment, files, data."""
    checkpoint = run.checkpoint
    return _digest(
        {
            "members": [_learned(run.first), *([_learned(run.others)] if run.nodes > 1 else [])],
            "checkpoint": None if checkpoint is None else [checkpoint.path, checkpoint.resume],
            "rerun": run.rerun,
        }
    )


def operation(run: Run) -> str:
    """The digest of how it is run: everything else that reaches the object."""
    checkpoint = run.checkpoint
    return _digest(
        {
            "members": [_operated(run.first), *([_operated(run.others)] if run.nodes > 1 else [])],
            "run": [
                run.nodes,
                run.elastic,
                run.queue,
                run.priority,
                run.preemptible,
                run.topology,
                run.max_duration,
                run.retries,
                run.grace,
                run.host_network,
                run.pull_secrets,
            ],
            "checkpoint": None
            if checkpoint is None
            else [checkpoint.claim, checkpoint.every, checkpoint.keep],
        }
    )


def _learned(member: Member) -> dict[str, Any]:
    image: Image = member.image
    return {
        # The name, not the digest, of an image of the lock: pinning it anew restarts nothing.
        "image": image.name or image.digest or image.reference,
        "command": member.command,
        "args": member.args,
        "env": sorted(
            (v.name, v.value, v.secret, v.key) for v in member.env if not operational(v.name)
        ),
        "files": sorted((file.path, file.digest) for file in member.files),
        "mounts": member.mounts,
        "working_dir": member.working_dir,
    }


def _operated(member: Member) -> dict[str, Any]:
    kept = {
        field.name: getattr(member, field.name)
        for field in fields(member)
        if field.name not in _TRAINING | {"working_dir", "pod"}
    }
    kept["env"] = sorted((v.name, v.value) for v in member.env if operational(v.name))
    kept["pod"] = plain(member.pod)
    return kept


def _digest(value: Any) -> str:
    text = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _canonical(value: Any) -> Any:
    if isinstance(value, Quantity):
        return str(value.value)
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, Variable):
        return [value.name, value.value, value.secret, value.key]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _canonical(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, dict):
        return {str(key): _canonical(item) for key, item in value.items()}  # type: ignore[misc]
    if isinstance(value, (list, tuple)):
        return [_canonical(item) for item in value]  # type: ignore[misc]
    if isinstance(value, bytes):
        return hashlib.sha256(value).hexdigest()
    return value
