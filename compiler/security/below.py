"""What a base brings into every pod: images, folders of the node, tokens of the cluster's API."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from compiler.backends import backends
from compiler.diagnostics import Place
from compiler.passthrough import Object, items, mapped
from compiler.site import Site

Route = tuple[str | int, ...]


class Brought(Struct, frozen=True):
    """A text of a base, the container or volume that it is of, and its place."""

    text: str
    name: str
    place: Place


class Below(Struct, frozen=True):
    """What all templates of a base bring."""

    images: tuple[Brought, ...] = ()
    host_paths: tuple[Brought, ...] = ()
    tokens: tuple[Place, ...] = ()


_NOTHING = Below()
# By site, of which there are few; each is kept, so that no other one is ever taken for it.
_known: dict[int, tuple[Site, Below]] = {}
_MOST = 256


def below(site: Site) -> Below:
    """What the base of a site brings; nothing where there is none."""
    known = _known.get(id(site))
    if known is None:
        if len(_known) >= _MOST:
            _known.clear()
        known = _known[id(site)] = (site, _below(site))
    return known[1]


def template_of(site: Site, template: tuple[str, ...]) -> Object:
    """A pod template of the site's base; empty where there is none."""
    value = site.base.object if site.base is not None else {}
    for step in template:
        value = mapped(value.get(step))
    return value


def _below(site: Site) -> Below:
    if site.base is None:
        return _NOTHING
    images: list[Brought] = []
    paths: list[Brought] = []
    tokens: list[Place] = []
    for template in backends()[site.backend].target.templates:
        spec = mapped(template_of(site, template).get("spec"))
        at = (*template, "spec")
        for name, text, route in _images(spec):
            images.append(Brought(text, name, site.base.place((*at, *route))))
        for index, volume in enumerate(items(spec, "volumes")):
            path = mapped(volume.get("hostPath")).get("path")
            if isinstance(path, str):
                place = site.base.place((*at, "volumes", index, "hostPath", "path"))
                paths.append(Brought(path, str(volume.get("name")), place))
        tokens += [site.base.place((*at, *route)) for route in _tokens(spec)]
    return Below(tuple(images), tuple(paths), tuple(tokens))


def _images(spec: Object) -> Iterator[tuple[str, str, Route]]:
    for field in ("initContainers", "containers"):
        for index, container in enumerate(items(spec, field)):
            if isinstance(container.get("image"), str):
                yield str(container.get("name")), container["image"], (field, index, "image")
    for index, volume in enumerate(items(spec, "volumes")):
        reference = mapped(volume.get("image")).get("reference")
        if isinstance(reference, str):
            # Volumes have names of their own, which no container's hides.
            yield "", reference, ("volumes", index, "image", "reference")


def _tokens(spec: Object) -> Iterator[Route]:
    if spec.get("automountServiceAccountToken") is True:
        yield ("automountServiceAccountToken",)
    for index, volume in enumerate(items(spec, "volumes")):
        for number, source in enumerate(items(volume.get("projected"), "sources")):
            if "serviceAccountToken" in source:
                yield ("volumes", index, "projected", "sources", number, "serviceAccountToken")
