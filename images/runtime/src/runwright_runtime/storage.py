"""The checkpoint folder: what is in it, which of it is whole, and how a new one gets its name.

step-000012000/     one checkpoint, published: it is there whole, or not at all
    manifest.json   step, arguments, where the data were, and a checksum of each other file
.step-000012400.7/  one that run 7 is writing, or was writing when it was killed
.damaged-step-…/    one that was found damaged; goes with the next checkpoints
LATEST              the name of the newest, written last
progress/<run>.jsonl
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

from runwright_runtime.failures import Damaged, Unwritable
from runwright_runtime.files import save, sync_folder

MANIFEST = "manifest.json"
MARKER = "LATEST"
FORMAT = 1
_STEP = re.compile(r"step-([0-9]{9,})")
_HIDDEN = re.compile(r"\.(?:damaged-)?step-([0-9]{9,})(?:\.([0-9]+))?")
_PROBE = 1 << 20


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint says of itself. `files` are the size and SHA-256 of each, by name."""

    step: int
    run: str
    commit: str
    at: str
    world: int
    torch: str
    arguments: dict[str, object]
    state: dict[str, object]
    files: dict[str, tuple[int, str]] = field(default_factory=dict[str, tuple[int, str]])


def name(step: int) -> str:
    """The name of a step's folder."""
    return f"step-{step:09d}"


def steps(folder: Path) -> list[int]:
    """The steps of all published checkpoints, the newest first. Raises Damaged."""
    try:
        entries = sorted(entry.name for entry in folder.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        raise Damaged(f"cannot read {folder}: {error.strerror}") from error
    found = [_STEP.fullmatch(entry) for entry in entries]
    return sorted((int(match[1]) for match in found if match), reverse=True)


def latest(folder: Path) -> int | None:
    """The step that the marker names; None where there is none that can be read."""
    with suppress(OSError, ValueError):
        match = _STEP.fullmatch((folder / MARKER).read_text("ascii").strip())
        return int(match[1]) if match else None
    return None


def read(folder: Path, step: int) -> Manifest:
    """What a checkpoint says of itself. Raises Damaged."""
    path = folder / name(step) / MANIFEST
    try:
        found: object = json.loads(path.read_bytes())
    except OSError as error:
        raise Damaged(f"{MANIFEST}: {error.strerror}") from error
    except ValueError as error:
        raise Damaged(f"{MANIFEST} is no JSON") from error
    if not isinstance(found, dict):
        raise Damaged(f"{MANIFEST} is no map")
    said = cast("dict[str, object]", found)
    if said.pop("seal", None) != _seal(said):
        raise Damaged(f"{MANIFEST} was changed after it was written")
    if said.pop("format", None) != FORMAT:
        raise Damaged(f"{MANIFEST} has a format that this version does not know")
    try:
        made = Manifest(**said)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    except TypeError as error:
        raise Damaged(f"{MANIFEST} lacks something: {error}") from error
    if made.step != step:
        raise Damaged(f"{MANIFEST} is of step {made.step}")
    return made


def fingerprint(path: Path) -> tuple[int, str]:
    """Size and SHA-256 of a file. Raises OSError."""
    with path.open("rb") as file:
        digest = hashlib.sha256()
        while part := file.read(1 << 22):
            digest.update(part)
        return file.tell(), digest.hexdigest()


def damage(folder: Path, files: Iterable[tuple[str, tuple[int, str]]]) -> str | None:
    """What is wrong with the first file that is not what its manifest says; None if all are."""
    for file, (size, digest) in files:
        path = folder / file
        try:
            there = path.stat().st_size
            if there != size:
                return f"{file} has {there} bytes and should have {size}"
            if fingerprint(path)[1] != digest:
                return f"{file} has other content than was written"
        except OSError as error:
            return f"{file}: {error.strerror}"
    return None


def scratch(folder: Path, step: int, number: int) -> Path:
    """Where a run writes a checkpoint before it is published. No two runs write in one."""
    return folder / f".{name(step)}.{number}"


def publish(written: Path, folder: Path, manifest: Manifest) -> None:
    """Give a written checkpoint its name, and then say that it is the newest.

    One of the same step that is there already is replaced. Raises Unwritable.
    """
    said: dict[str, object] = {**asdict(manifest), "format": FORMAT}
    text = json.dumps({**said, "seal": _seal(said)}, indent=1)
    save(written / MANIFEST, f"{text}\n".encode())
    target = folder / name(manifest.step)
    try:
        sync_folder(written)
        if target.exists():
            discard(folder, manifest.step)
        written.rename(target)
        sync_folder(folder)
    except OSError as error:
        raise Unwritable(f"cannot publish {target}: {error.strerror}") from error
    save(folder / MARKER, f"{name(manifest.step)}\n".encode())


def discard(folder: Path, step: int) -> None:
    """Take a checkpoint's name from it; its files go with the next pruning. Raises Unwritable."""
    aside = folder / f".damaged-{name(step)}"
    try:
        shutil.rmtree(aside, ignore_errors=True)
        (folder / name(step)).rename(aside)
    except OSError as error:
        raise Unwritable(f"cannot set {folder / name(step)} aside: {error.strerror}") from error


def prune(folder: Path, keep: int, number: int, writing: Path | None = None) -> list[int]:
    """Delete all but the newest `keep` checkpoints, and what earlier runs have left half written.

    Returns the steps that went. What cannot be deleted stays.
    """
    gone = steps(folder)[max(keep, 1) :]
    for step in gone:
        # Without its name first: a reader never sees half a checkpoint.
        hidden = folder / f".damaged-{name(step)}"
        with suppress(OSError):
            (folder / name(step)).rename(hidden)
    for entry in folder.iterdir():
        match = _HIDDEN.fullmatch(entry.name)
        if match and entry != writing and int(match[2] or 0) <= number:
            shutil.rmtree(entry, ignore_errors=True)
    return gone


def probe(folder: Path, who: str) -> None:
    """Write a file to a folder and delete it again. Raises Unwritable, and says why.

    A folder that is read-only, full or not there is told now, and not at the first checkpoint.
    """
    path = folder / f".probe.{who}.{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            with path.open("wb") as file:
                file.write(bytes(_PROBE))
                file.flush()
                os.fsync(file.fileno())
        finally:
            with suppress(OSError):
                path.unlink()
    except OSError as error:
        raise Unwritable(
            f"cannot write to {folder} ({error.strerror}): is the claim there, has it room, and "
            "may user and group write to it?"
        ) from error


def room(folder: Path) -> int | None:
    """Bytes that can still be written to a folder; None where its file system does not say."""
    try:
        said = os.statvfs(folder)
    except OSError:
        return None
    return said.f_bavail * said.f_frsize if said.f_blocks else None


def _seal(said: Mapping[str, object]) -> str:
    text = json.dumps(said, sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
