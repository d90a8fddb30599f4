"""Labels and annotations of a run's pods, from a declaration's own fields and from `pod:`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct

from compiler.model import Member, Route, Run
from compiler.nodes import Mapping


class Mark(Struct, frozen=True):
    """A label or an annotation, and where the declaration has it."""

    kind: Literal["labels", "annotations"]
    name: str
    value: str
    route: Route


def marks(run: Run, member: Member) -> Iterator[Mark]:
    """The labels and annotations that the pods of a member are given by the declaration."""
    for name, value in member.labels:
        yield Mark("labels", name, value, run.routes(member, "labels", name))
    for name, value in member.annotations:
        yield Mark("annotations", name, value, run.routes(member, "annotations", name))
    metadata: Any = member.pod.get("metadata")
    kinds: tuple[Literal["labels", "annotations"], ...] = ("labels", "annotations")
    for kind in kinds:
        entries = metadata.get(kind) if isinstance(metadata, Mapping) else None
        for name, value in entries.items() if isinstance(entries, Mapping) else ():
            yield Mark(
                kind, str(name), str(value), run.routes(member, "pod", "metadata", kind, str(name))
            )
