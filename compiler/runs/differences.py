"""What has changed between two runs of a job, in words: image, command, data, output, shape."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

from compiler.amounts import size
from compiler.model import Bounds, Checkpoint, Devices, Image, Member, Mount, Run, Variable
from compiler.quantity import Quantity, duration_text
from compiler.security.hiding import masked, secrets_of

_LONGEST = 100
# Beyond this, what is left is a count: a reviewer reads the rendered diff then.
_MOST = 24
# Fields of a run with one plain value, and what people call them.
_PLAIN = {
    "queue": "queue",
    "priority": "priority",
    "preemptible": "preemptible",
    "retries": "retries",
    "host_network": "host network",
    "rerun": "rerun",
    "max_cost": "max_cost",
}
# Fields with an inner shape that words would not make clearer.
_SHAPED = {
    "topology": "topology",
    "pull_secrets": "pull secrets",
    "resources": "further resources",
    "ports": "ports",
    "sidecars": "sidecars",
    "init": "init containers",
    "security": "user and rights of the processes",
    "placement": "placement",
    "pod": "the passthrough `pod:`",
}


def differences(old: Run, new: Run, files: Mapping[str, str]) -> list[str]:
    """What `new` does otherwise than `old`, a phrase each; empty where both are the same.

    `files` are the digests of the files that the old run was started with, by path.
    """
    found = [*_of_member(old.others, new.others, files), *_of_run(old, new)]
    roots = [root for run in (old, new) for root in (run.origins.effective, run.origins.master)]
    secrets = [form for root in roots for secret in secrets_of(root) for form in _told(secret)]
    if old.first is not old.others or new.first is not new.others:
        known = set(found)
        first = _of_member(old.first, new.first, files)
        found += [f"first node: {said}" for said in first if said not in known]
    found = [masked(said, secrets) for said in found]
    if len(found) > _MOST:
        found[_MOST:] = [f"and {len(found) - _MOST} more"]
    return found


def _of_member(old: Member, new: Member, files: Mapping[str, str]) -> Iterator[str]:
    yield from _image(old.image, new.image)
    yield from _words("command", old.command or (), new.command or ())
    yield from _words("args", old.args, new.args)
    yield from _pairs("env", _env(old.env), _env(new.env))
    yield from _pairs("data at", _mounts(old.mounts), _mounts(new.mounts))
    yield from _files(old, new, files)
    yield from _value("accelerators per node", _devices(old.devices), _devices(new.devices))
    yield from _value("cpu", _cores(old.cpu), _cores(new.cpu))
    yield from _value("memory", _bytes(old.memory), _bytes(new.memory))
    yield from _value("shared memory", _size(old.shm), _size(new.shm))
    yield from _value("local storage", _size(old.storage), _size(new.storage))
    yield from _value("working directory", old.working_dir, new.working_dir)
    yield from _pairs("label", dict(old.labels), dict(new.labels))
    yield from _pairs("annotation", dict(old.annotations), dict(new.annotations))
    yield from _shapes(old, new)


def _of_run(old: Run, new: Run) -> Iterator[str]:
    yield from _value("nodes", _nodes(old), _nodes(new))
    if old.elastic != new.elastic and _nodes(old) == _nodes(new):
        yield "elastic: changed"
    yield from _value("duration", _seconds(old.max_duration), _seconds(new.max_duration))
    yield from _value("grace", _seconds(old.grace), _seconds(new.grace))
    yield from _output(old.checkpoint, new.checkpoint)
    for name, said in _PLAIN.items():
        yield from _value(said, getattr(old, name, None), getattr(new, name, None))
    yield from _shapes(old, new)


def _shapes(old: Any, new: Any) -> Iterator[str]:
    for name, said in _SHAPED.items():
        if getattr(old, name, None) != getattr(new, name, None):
            yield f"{said}: changed"


def _image(old: Image, new: Image) -> Iterator[str]:
    if old.name != new.name or (new.name is None and old.reference != new.reference):
        yield f"image: {_short(old.name or old.reference)} → {_short(new.name or new.reference)}"
    elif old.digest != new.digest:
        yield f"image: pinned anew, {_digest(old.digest)} → {_digest(new.digest)}"


def _digest(digest: str | None) -> str:
    return "no digest" if digest is None else digest.removeprefix("sha256:")[:12]


def _words(name: str, old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """The words that differ, each with the flag that it is the value of."""
    if tuple(old) == tuple(new):
        return
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    parts: list[str] = []
    for kind, start, end, begin, finish in matcher.get_opcodes():
        if kind == "equal":
            continue
        before, after = _joined(old[start:end]), _joined(new[begin:finish])
        flag = new[begin - 1] if begin and new[begin - 1].startswith("-") else ""
        lead = f"{flag} " if flag and kind == "replace" and "=" not in flag else ""
        if kind == "replace":
            parts.append(f"{lead}{before} → {after}")
        else:
            parts.append(f"without {before}" if kind == "delete" else f"with {after}")
    yield f"{name}: {'; '.join(parts)}"


def _joined(words: Iterable[str]) -> str:
    return _short(shlex.join(words))


def _pairs(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[str]:
    for key in dict.fromkeys((*old, *new)):
        before, after = old.get(key), new.get(key)
        if before == after:
            continue
        if before is None:
            yield f"{name} {_short(key)}: new, {_short(after)}"
        elif after is None:
            yield f"{name} {_short(key)}: gone, was {_short(before)}"
        else:
            yield f"{name} {_short(key)}: {_short(before)} → {_short(after)}"


def _env(variables: Iterable[Variable]) -> dict[str, str]:
    return {
        one.name: f"secret {one.secret}/{one.key}" if one.value is None else f"`{one.value}`"
        for one in variables
    }


def _mounts(mounts: Iterable[Mount]) -> dict[str, str]:
    made: dict[str, str] = {}
    for mount in mounts:
        said = f"{mount.kind.replace('_', ' ')} {mount.source}".rstrip()
        if mount.size is not None:
            said += f" of {mount.size}"
        said += f" below {mount.sub_path}" if mount.sub_path else ""
        made[mount.path] = said + (" (read only)" if mount.read_only else "")
    return made


def _files(old: Member, new: Member, digests: Mapping[str, str]) -> Iterator[str]:
    before = {file.path: file.source for file in old.files}
    after = {file.path: file.source for file in new.files}
    yield from _pairs("file", before, after)
    for file in new.files:
        then = digests.get(file.source)
        if before.get(file.path) == file.source and then is not None and then != file.digest:
            yield f"file {_short(file.path)}: {_short(file.source)} has other content"


def _output(old: Checkpoint | None, new: Checkpoint | None) -> Iterator[str]:
    if old is None or new is None:
        yield from _value("checkpoints", old and old.path, new and new.path)
        return
    yield from _value("checkpoints in", old.path, new.path)
    yield from _value("checkpoints on claim", old.claim, new.claim)
    yield from _value("checkpoint every", _seconds(old.every), _seconds(new.every))
    yield from _value("checkpoints kept", old.keep, new.keep)
    yield from _value("goes on from", old.resume, new.resume)


def _value(name: str, old: Any, new: Any) -> Iterator[str]:
    if old == new:
        return
    yield f"{name}: {_shown(old)} → {_shown(new)}"


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else _short(str(value))


def _devices(devices: Devices | None) -> str | None:
    return None if devices is None else f"{devices.name}:{devices.count}"


def _nodes(run: Run) -> str:
    return f"{run.elastic.min} to {run.elastic.max}" if run.elastic else str(run.nodes)


def _seconds(seconds: int | None) -> str | None:
    return None if seconds is None else duration_text(seconds)


def _cores(bounds: Bounds | None) -> str | None:
    return None if bounds is None else _range(str(bounds.request), str(bounds.limit))


def _bytes(bounds: Bounds | None) -> str | None:
    if bounds is None:
        return None
    return _range(size(bounds.request.value), size(bounds.limit.value))


def _range(least: str, most: str) -> str:
    return least if least == most else f"{least} to {most}"


def _size(quantity: Quantity | None) -> str | None:
    return None if quantity is None else size(quantity.value)


def _told(secret: str) -> Iterator[str]:
    """A secret, and what a cut may leave of it."""
    yield secret
    for length in range(min(len(secret) - 1, _LONGEST), 7, -1) if len(secret) > 40 else ():
        yield secret[:length]


def _short(text: str | None) -> str:
    if text is None:
        return "none"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."
