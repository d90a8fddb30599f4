"""The containers of a member's pod as they will run: words and variables with their places.

The training container, the sidecars, the init containers, and what `pod:` adds to them or beside
them, in one form, so that a rule about a command holds for every command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from compiler.arguments.schemafile import schema_for
from compiler.arguments.words import spelled
from compiler.diagnostics import Place
from compiler.model import Companion, Member, Run, Variable
from compiler.nodes import Mapping, Scalar, Sequence
from compiler.passthrough import CONTAINER
from compiler.rules import Route
from compiler.site import Site

# A sidecar is an init container that goes on; "plain" is a further container, of `pod:`.
Kind = Literal["training", "sidecar", "init", "plain"]


class Word(Struct, frozen=True):
    """One word of a command, and where it stands; `place` only where no route leads there."""

    text: str
    route: Route
    place: Place | None = None

    @property
    def related(self) -> tuple[tuple[Route, str], ...]:
        """The job that takes the word from elsewhere, for a report at the word's own place."""
        return (((), "in this job"),) if self.place is not None else ()


class Setting(Struct, frozen=True):
    """A variable of a container: its text (None where a Secret or the like holds it), its route."""

    name: str
    value: str | None
    route: Route


# A flag and its value in one word, which no program knows.
FLAG_AND_VALUE = re.compile(r"(--?[A-Za-z][A-Za-z0-9_.-]*)[ \t]+([^\s=]+)")


class Container(Struct, frozen=True):
    """What one container runs.

    `command` and `args` are Kubernetes' own two halves; `command` is None where the image's
    entrypoint starts. `open` tells that some variables come from a place that cannot be read here
    (`envFrom`).
    """

    name: str
    kind: Kind
    command: tuple[Word, ...] | None
    args: tuple[Word, ...]
    env: tuple[Setting, ...]
    open: bool = False

    @property
    def words(self) -> tuple[Word, ...]:
        """Command and arguments together, as far as they are known here."""
        return (*(self.command or ()), *self.args)

    def holds(self, text: str) -> bool:
        """Whether a text is anywhere in the words or the variables."""
        return any(text in word.text for word in self.words) or any(
            text in setting.value for setting in self.env if setting.value is not None
        )


def every_container(run: Run, site: Site) -> Iterator[tuple[Member, Container]]:
    """All containers of all members of a run."""
    for member in run.members:
        for container in containers(run, member, site):
            yield member, container


# Every rule about commands asks for the containers of the run at hand: the last answer is kept.
_kept: list[tuple[Run, Member, list[Container]]] = []


def containers(run: Run, member: Member, site: Site) -> list[Container]:
    """The containers of a member's pod, the training container first."""
    for of_run, of_member, answer in _kept:
        if of_run is run and of_member is member:
            return answer
    answer = _containers(run, member, site)
    _kept[:] = [entry for entry in _kept if entry[0] is run]
    _kept.append((run, member, answer))
    return answer


def _containers(run: Run, member: Member, site: Site) -> list[Container]:
    found = [_training(run, member, site)]
    found += [
        _companion(run, member, companion, ("sidecars", index), "sidecar")
        for index, companion in enumerate(member.sidecars)
    ]
    found += [
        _companion(run, member, companion, ("init", index), "init")
        for index, companion in enumerate(member.init)
    ]
    for kind, field in (("plain", "containers"), ("init", "initContainers")):
        for entry, route in _passed(run, member, field):
            _merge(found, entry, route, kind)  # type: ignore[arg-type]
    return found


def training(run: Run, member: Member, site: Site) -> Container:
    """The training container of a member."""
    return containers(run, member, site)[0]


def _training(run: Run, member: Member, site: Site) -> Container:
    command = None if member.command is None else _command(run, member, site)
    return Container(
        CONTAINER, "training", command, _args(run, member, site), _env(run, member, member.env, ())
    )


def _command(run: Run, member: Member, site: Site) -> tuple[Word, ...]:
    assert member.command is not None
    route = run.routes(member, "command")
    node = run.origins.node(route)
    if isinstance(node, Sequence):
        return tuple(Word(text, (*route, index)) for index, text in enumerate(member.command))
    about = site.images.get(member.image.name or "")
    if node is None and about is not None:
        return tuple(
            Word(text, route, about.place("entry", index))
            for index, text in enumerate(member.command)
        )
    return tuple(Word(text, route) for text in member.command)


def _args(run: Run, member: Member, site: Site) -> tuple[Word, ...]:
    route = run.routes(member, "args")
    node = run.origins.node(route)
    if not isinstance(node, Mapping):
        return tuple(Word(text, (*route, index)) for index, text in enumerate(member.args))
    routes = (at for _, at in spelled(node, schema_for(member.image.name, site)))
    return tuple(Word(text, (*route, *at)) for text, at in zip(member.args, routes, strict=True))


def _env(run: Run, member: Member, env: tuple[Variable, ...], at: Route) -> tuple[Setting, ...]:
    texts, secrets = run.routes(member, *at, "env"), run.routes(member, *at, "secrets")
    return tuple(
        Setting(
            variable.name,
            variable.value,
            (*(texts if variable.secret is None else secrets), variable.name),
        )
        for variable in env
    )


def _companion(run: Run, member: Member, companion: Companion, at: Route, kind: Kind) -> Container:
    command = None
    if companion.command is not None:
        route = run.routes(member, *at, "command")
        listed = isinstance(run.origins.node(route), Sequence)
        command = tuple(
            Word(text, (*route, index) if listed else route)
            for index, text in enumerate(companion.command)
        )
    args = tuple(
        Word(text, run.routes(member, *at, "args", index))
        for index, text in enumerate(companion.args)
    )
    return Container(companion.name, kind, command, args, _env(run, member, companion.env, at))


def _passed(run: Run, member: Member, field: str) -> Iterator[tuple[Mapping, Route]]:
    spec: Any = member.pod.get("spec")
    entries: Any = spec.get(field) if isinstance(spec, Mapping) else None
    for index, entry in enumerate(entries if isinstance(entries, Sequence) else ()):
        if isinstance(entry, Mapping):
            yield entry, run.routes(member, "pod", "spec", field, index)


def _merge(found: list[Container], entry: Mapping, route: Route, kind: Kind) -> None:
    """Lay an entry of `pod:` over the container of its name, or put it beside the others."""
    name = str(entry.get("name", ""))
    same = next(
        (
            index
            for index, container in enumerate(found)
            if container.name == name
            and (container.kind in ("init", "sidecar")) == (kind == "init")
        ),
        None,
    )
    if same is None:
        found.append(Container(name, kind, None, (), ()))
        same = len(found) - 1
    below = found[same]
    command = _texts(entry, route, "command")
    args = _texts(entry, route, "args")
    own = _settings(entry, route)
    names = {setting.name for setting in own}
    found[same] = replace(
        below,
        command=below.command if command is None else command,
        args=below.args if args is None else args,
        env=(*(setting for setting in below.env if setting.name not in names), *own),
        open=below.open or bool(entry.get("envFrom")),
    )


def _texts(entry: Mapping, route: Route, field: str) -> tuple[Word, ...] | None:
    items = entry.get(field)
    if not isinstance(items, Sequence):
        return None
    return tuple(
        Word(str(item), (*route, field, index))
        for index, item in enumerate(items)
        if isinstance(item, Scalar)
    )


def _settings(entry: Mapping, route: Route) -> tuple[Setting, ...]:
    items = entry.get("env")
    made: list[Setting] = []
    for index, item in enumerate(items if isinstance(items, Sequence) else ()):
        if isinstance(item, Mapping) and isinstance(item.get("name"), Scalar):
            value = item.get("value")
            text = str(value) if isinstance(value, Scalar) else None
            field = "name" if text is None else "value"
            made.append(Setting(str(item["name"]), text, (*route, "env", index, field)))
    return tuple(made)
