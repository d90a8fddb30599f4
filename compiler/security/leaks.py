"""Where a run has a secret in plain text: variables, commands, other texts, files, the base."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Literal, cast

from msgspec import Struct

from compiler.diagnostics import Finding, Place
from compiler.model import File, Run
from compiler.nodes import Scalar, walk
from compiler.programs import Container, Word, every_container
from compiler.rules import Report, Route
from compiler.security import hiding
from compiler.security.formats import in_file, known, suspicious
from compiler.security.naming import assigned, assigned_in_file, credential, literal, surely
from compiler.site import Site
from compiler.source import MOST
from compiler.wording import texts

# The rules about them.
SECRETS = frozenset({"secret-in-variable", "secret-in-text", "secret-in-file"})
Kind = Literal["variable", "text", "file"]


class Leak(Struct, frozen=True):
    """A secret in plain text: itself, what it is called and looks like, and where it stands."""

    kind: Kind
    secret: str
    name: str
    what: str
    route: Route
    place: Place | None = None
    related: tuple[tuple[Route | Place, str], ...] = ()

    @property
    def article(self) -> str:
        """What it looks like, with its article: `an AWS access key`."""
        vowels = "AEFHILMNORSX" if self.what[:2].isupper() else "aeiouAEIO"
        return f"{'an' if self.what[0] in vowels else 'a'} {self.what}"

    def report(self, message: str, help: str) -> Report:
        """The report about it; neither text may repeat the secret."""
        return Report(self.route, message, help, related=self.related, place=self.place)


class Span(Struct, frozen=True):
    """A secret in a text."""

    name: str
    what: str
    start: int
    end: int


_last: list[tuple[Run, list[Leak]]] = []


def leaks(run: Run, site: Site, kind: Kind) -> Iterator[Leak]:
    """The secrets of a run that are of one kind."""
    every = _of(run, site)
    return (leak for leak in every if leak.kind == kind) if every else iter(())


def without_secrets(found: list[Finding], run: Run, site: Site) -> list[Finding]:
    """The findings about a run with asterisks for its secrets, of which other rules do not know."""
    return hiding.without_secrets(found, hiding.texts(leak.secret for leak in _of(run, site)))


def _of(run: Run, site: Site) -> list[Leak]:
    if not _last or _last[0][0] is not run:
        _last[:] = [(run, list(_leaks(run, site)))]
    return _last[0][1]


def _leaks(run: Run, site: Site) -> Iterator[Leak]:
    told: set[Route] = set()
    for _, container in every_container(run, site):
        for leak in (*_in_variables(container), *_in_words(container)):
            told.add(leak.route)
            yield leak
    yield from _in_texts(run, told)
    seen: set[str] = set()
    for member in run.members:
        for file in member.files:
            if file.source not in seen:
                seen.add(file.source)
                yield from _in_file(file, run.routes(member, "files", file.path))
    yield from _in_base(run, site)


def _in_variables(container: Container) -> Iterator[Leak]:
    for setting in container.env:
        kind = credential(setting.name)
        if kind and setting.value is not None and literal(setting.value, kind, sure=True):
            yield Leak("variable", setting.value, setting.name, kind, setting.route)


def _in_words(container: Container) -> Iterator[Leak]:
    option = ""
    for word in container.words:
        text = word.text
        kind = credential(option) if option else ""
        if kind and literal(text, kind, surely(option)):
            yield _of_word(word, Span(option, kind, 0, len(text)))
        else:
            for one in assigned(text):
                yield _of_word(word, Span(one.name, one.kind, one.start, one.end))
        option = text.lstrip("-") if text.startswith("-") and "=" not in text else ""
        if word.place is not None:
            # It comes from an image, whose words are no part of the declaration's tree.
            for form in known(text) if suspicious(text) else ():
                yield _of_word(word, Span("", form.what, form.start, form.end))


def _of_word(word: Word, span: Span) -> Leak:
    secret = word.text[span.start : span.end]
    return Leak("text", secret, span.name, span.what, word.route, word.place, word.related)


# Texts without anything suspicious; most texts of a job are those of others too.
_clean: set[str] = set()
_MOST = 20_000


def _in_texts(run: Run, told: set[Route]) -> Iterator[Leak]:
    for start, root in (((), run.origins.effective), (("master",), run.origins.master)):
        if root is None:
            continue
        fresh = set(texts(root)) - _clean
        if not fresh:
            continue
        if not suspicious("\n".join(fresh)):
            if len(_clean) > _MOST:
                _clean.clear()
            _clean.update(fresh)
            continue
        for route, node in walk(root):
            where = (*start, *route)
            if isinstance(node, Scalar) and where not in told:
                for form in known(str(node)):
                    yield Leak("text", node[form.start : form.end], "", form.what, where)


# A file may be mounted by any number of jobs.
_files: dict[str, tuple[Span, ...]] = {}


def _in_file(file: File, route: Route) -> Iterator[Leak]:
    spans = _files.get(file.digest)
    if spans is None:
        every = _spans(file.content.decode("utf-8", "replace"))
        spans = _files[file.digest] = tuple(islice(every, MOST))
    if not spans:
        return
    text = file.content.decode("utf-8", "replace")
    for span in spans:
        place = _stretch(file.source, text, span.start, span.end)
        secret, at = text[span.start : span.end], ((route, "mounted here"),)
        yield Leak("file", secret, span.name, span.what, route, place, at)


def _spans(text: str) -> Iterator[Span]:
    forms = in_file(text)[:MOST]
    yield from (Span("", form.what, form.start, form.end) for form in forms)
    for one in assigned_in_file(text):
        if not any(form.start < one.end and one.start < form.end for form in forms):
            yield Span(one.name, one.kind, one.start, one.end)


def _stretch(path: str, text: str, start: int, end: int) -> Place:
    return Place(path, *_position(text, start), *_position(text, end))


def _position(text: str, offset: int) -> tuple[int, int]:
    before = text[:offset]
    return before.count("\n") + 1, offset - before.rfind("\n")


# Bases are few, and every run of a back end has the same one.
_bases: dict[str, tuple[tuple[Route, Leak], ...]] = {}


def _in_base(run: Run, site: Site) -> Iterator[Leak]:
    base = site.base
    if base is None:
        return
    found = _bases.get(base.digest)
    if found is None:
        found = _bases[base.digest] = tuple(_of_object(base.object, ()))
    for route, leak in found:
        job = ((run.origins.anchor, "in this job"),)
        yield Leak(leak.kind, leak.secret, leak.name, leak.what, (), base.place(route), job)


def _of_object(value: Any, route: Route) -> Iterator[tuple[Route, Leak]]:
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        name, text = fields.get("name"), fields.get("value")
        if isinstance(name, str) and isinstance(text, str) and route[-2:-1] == ("env",):
            kind = credential(name)
            if kind and literal(text, kind, sure=True):
                yield (*route, "value"), Leak("variable", text, name, kind, ())
                return
        for key, item in fields.items():
            yield from _of_object(item, (*route, key))
    elif isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _of_object(item, (*route, index))
    elif isinstance(value, str):
        form = next(iter(known(value)), None)
        if form is not None:
            yield route, Leak("text", value[form.start : form.end], "", form.what, ())
            return
        one = next(iter(assigned(value)), None)
        if one is not None and route[-2:-1] in (("command",), ("args",)):
            yield route, Leak("text", value[one.start : one.end], one.name, one.kind, ())
