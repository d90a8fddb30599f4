"""What is learned, and how it is run: the two digests of a run.

They are taken over the neutral model, where `24h` and `1440m` are the same seconds and a default
that is written out is the default.
"""

from __future__ import annotations

import hashlib
import json
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from typing import Any

from msgspec import Struct

from compiler.model import Image, Member, Run
from compiler.nodes import plain
from compiler.quantity import Quantity

# Variables that change how a run goes, not what it learns; `policy/rules.yaml` may say others.
OPERATIONAL_ENV = ("NCCL_*", "UCX_*", "FI_*", "GLOO_*", "OMP_*", "TORCH_NCCL_*", "*LOG_LEVEL")
# Fields of a member that count as training, or that are taken apart below.
_OWN = frozenset({"image", "command", "args", "env", "files", "mounts", "working_dir", "pod"})


@lru_cache(maxsize=4096)
def operational(name: str, patterns: tuple[str, ...] = OPERATIONAL_ENV) -> bool:
    """Whether an environment variable does not count as training."""
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def training(run: Run, patterns: tuple[str, ...] = OPERATIONAL_ENV) -> str:
    """The digest of what is learned: image, command, arguments, environment, files, data."""
    checkpoint = run.checkpoint
    return _digest(
        {
            "members": [_learned(member, patterns) for member in _members(run)],
            "checkpoint": None if checkpoint is None else [checkpoint.path, checkpoint.resume],
            "rerun": run.rerun,
        }
    )


def operation(run: Run, patterns: tuple[str, ...] = OPERATIONAL_ENV) -> str:
    """The digest of how it is run: everything else that reaches the object."""
    checkpoint = run.checkpoint
    return _digest(
        {
            "members": [_operated(member, patterns) for member in _members(run)],
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


def _members(run: Run) -> tuple[Member, ...]:
    """The first node, and the others where there are any: equal ones once."""
    return (run.first,) if run.nodes == 1 or run.first is run.others else (run.first, run.others)


def _learned(member: Member, patterns: tuple[str, ...]) -> dict[str, Any]:
    image: Image = member.image
    return {
        # The name, not the digest, of an image of the lock: pinning it anew restarts nothing.
        "image": image.name or image.digest or image.reference,
        "command": member.command,
        "args": member.args,
        "env": sorted(
            (v.name, v.value or "", v.secret or "", v.key or "")
            for v in member.env
            if not operational(v.name, patterns)
        ),
        "files": sorted((file.path, file.digest) for file in member.files),
        "mounts": member.mounts,
        "working_dir": member.working_dir,
    }


def _operated(member: Member, patterns: tuple[str, ...]) -> dict[str, Any]:
    kept = {name: getattr(member, name) for name in _names(Member) if name not in _OWN}
    kept["env"] = sorted(
        (v.name, v.value or "", v.secret or "", v.key or "")
        for v in member.env
        if operational(v.name, patterns)
    )
    kept["pod"] = plain(member.pod)
    return kept


def _digest(value: Any) -> str:
    return hashlib.sha256(_canonical(value).encode()).hexdigest()[:16]


@cache
def _names(kind: type) -> tuple[str, ...]:
    """The fields of a struct; empty for anything else."""
    return kind.__struct_fields__ if issubclass(kind, Struct) else ()


def _open(value: Any) -> Any:
    """What JSON has no form for, in parts that it has one for."""
    if isinstance(value, Quantity):
        return str(value.value)
    names = _names(value.__class__)
    if names:
        return {name: getattr(value, name) for name in names}
    raise TypeError(f"a {value.__class__.__name__} has no canonical form")


_canonical = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_open
).encode
