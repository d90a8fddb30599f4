"""Back ends: one module each, found by a walk.

A back end has `TARGET`, which says what it can carry, and ``emit(run, site) -> list of objects``.
What a run uses and a target does not keep is a finding, never dropped in silence.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

from msgspec import Struct

from compiler.model import Run
from compiler.site import Site
from compiler.walk import modules

Object = dict[str, Any]


class Target(Struct, frozen=True):
    """What a back end writes.

    `keeps` names the features of a run that it can carry (see `compiler.features`). `templates`
    are the places of pod templates in the object; `base` is its folder under `base/`.
    """

    name: str
    api_version: str
    kind: str
    keeps: frozenset[str]
    templates: tuple[tuple[str, ...], ...]


class Backend(Struct, frozen=True):
    """A back end: its target, and the function that makes a run's objects."""

    target: Target
    emit: Callable[[Run, Site], list[Object]]
    page: str


@cache
def backends() -> dict[str, Backend]:
    """All back ends by name."""
    found: dict[str, Backend] = {}
    for name in modules(__path__):
        module = import_module(f"{__name__}.{name}")
        target: Target = module.TARGET
        found[target.name] = Backend(target, module.emit, module.__doc__ or "")
    return found
