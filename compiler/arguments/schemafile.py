"""Where an image's schema is, and the schema itself: read once for all jobs of the image."""

from __future__ import annotations

import os
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from msgspec import Struct

from compiler.arguments.limits import LONGEST, BadSchema
from compiler.arguments.schema import Schema, schema_of
from compiler.diagnostics import Place
from compiler.images import Image, Lock
from compiler.repository import Document
from compiler.site import Site
from compiler.suggestions import choose


class SchemaFile(Struct, frozen=True):
    """The schema that an image names: its path and place, and what is in it or why it is no use.

    `wrong` are the message and the help of a finding at `place`. `digest` is that of the content,
    where the file itself is there and was read to its end.
    """

    path: str
    place: Place
    schema: Schema | None = None
    wrong: tuple[str, str] | None = None
    digest: str | None = None


class _Loaded(Struct, frozen=True):
    schema: Schema | None = None
    wrong: tuple[str, str] | None = None
    digest: str | None = None


_read: dict[tuple[str, str], tuple[object, _Loaded]] = {}


def named(image: str | None, site: Site) -> tuple[str, Place] | None:
    """The path and the authored place of the schema of an image, None where it names none."""
    if image is None:
        return None
    about = site.images.get(image)
    if about is not None and about.value.args_schema is not None:
        return about.value.args_schema, about.place("args_schema")
    locked = site.lock.value.images.get(image) if site.lock is not None else None
    if locked is None or locked.args_schema is None or site.lock is None:
        return None
    return locked.args_schema, site.lock.place("images", image, "args_schema")


def paths(images: Mapping[str, Document[Image]], lock: Document[Lock] | None) -> set[str]:
    """The paths of all schemas that images name."""
    named_by = [about.value for about in images.values()]
    locked = lock.value.images.values() if lock is not None else ()
    return {one.args_schema for one in (*named_by, *locked) if one.args_schema is not None}


def schema_file(image: str | None, site: Site) -> SchemaFile | None:
    """What an image's schema says; None for an image without one."""
    where = named(image, site)
    if where is None:
        return None
    path, place = where
    state = _state(site.root, path)
    key = (str(site.root), path)
    known = _read.get(key)
    if known is None or known[0] != state:
        known = _read[key] = (state, _load(site.root, path))
    loaded = known[1]
    return SchemaFile(path, place, loaded.schema, loaded.wrong, loaded.digest)


def schema_for(image: str | None, site: Site) -> Schema | None:
    """The usable schema of an image, or None."""
    found = schema_file(image, site)
    return found.schema if found is not None else None


def _state(root: Path, path: str) -> object:
    try:
        facts = (root / path).stat()
    except (OSError, ValueError):
        return None
    return facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino


def _load(root: Path, path: str) -> _Loaded:
    file = root / path
    try:
        real = os.path.realpath(file)
        if not Path(real).is_relative_to(os.path.realpath(root)):
            return _useless(f"{path} is a link out of the repository", "put the file itself here")
        if not file.is_file():
            return _useless(f"there is no file {path}", _instead(root, path))
        with file.open("rb") as opened:
            content = opened.read(LONGEST + 1)
    except (OSError, ValueError) as error:
        return _useless(f"{path} cannot be read: {error}", "make it readable")
    whole = len(content) <= LONGEST and real == os.path.join(os.path.realpath(root), path)  # noqa: PTH118
    digest = sha256(content).hexdigest() if whole else None
    try:
        return _Loaded(schema_of(content), None, digest)
    except BadSchema as error:
        return _Loaded(None, (f"{path} is of no use: {error}", error.help), digest)


def _useless(message: str, remedy: str) -> _Loaded:
    return _Loaded(None, (message, remedy))


def _instead(root: Path, path: str) -> str:
    folder = (root / path).parent
    try:
        names = [entry.name for entry in folder.iterdir() if entry.suffix == ".json"]
    except OSError:
        names = []
    parent = path.rpartition("/")[0]
    return choose(path, [f"{parent}/{name}" if parent else name for name in names], "add the file")
