"""What of a file or a text is a secret, so that it is shown to nobody, whatever it is shown for.

Nothing here depends on rules: a declaration that cannot be judged, or one that policy lets hold a
secret, has it hidden all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from compiler.diagnostics import Finding, Place
from compiler.nodes import Mapping, Node, Scalar, Sequence, walk
from compiler.security.formats import in_file, known, suspicious
from compiler.security.naming import assigned, assigned_in_file, credential, literal, naming, surely
from compiler.source import Source
from compiler.tree import read

MASK = "****"
# A shorter one is in every other word.
SHORTEST = 4
# Below these a name is that of a variable, an option or a word of a command.
_SPOKEN = frozenset({"env", "args", "command"})


class Hidden(Struct, frozen=True):
    """A secret, and where it stands."""

    secret: str
    place: Place


def hidden(source: Source) -> list[Hidden]:
    """The secrets of a file of any kind, in their order."""
    if not (suspicious(source.text) or naming(source.text)):
        return []
    if source.path.endswith((".yaml", ".yml")):
        node = read(source)[0]
        if node is not None:
            return list(in_tree(node))
    return [
        Hidden(line[start:end], Place(source.path, number, start + 1, number, end + 1))
        for number, line in enumerate(source.text.splitlines(), 1)
        for start, end in _spans(line)
    ]


def in_tree(root: Node) -> Iterator[Hidden]:
    """The secrets of a tree: those of a known form anywhere, others where a name tells."""
    for route, node in walk(root):
        if isinstance(node, Scalar):
            spoken = not _SPOKEN.isdisjoint(route[:-1]) and isinstance(route[-1], str)
            yield from _whole(node, str(route[-1])) if spoken else ()
            if suspicious(node):
                yield from (_part(node, form.start, form.end) for form in known(str(node)))
            if not _SPOKEN.isdisjoint(route) and naming(node):
                yield from (_part(node, one.start, one.end) for one in assigned(str(node)))
        elif isinstance(node, Mapping):
            for key in node:
                if isinstance(key, Scalar) and suspicious(key):
                    yield from (_part(key, form.start, form.end) for form in known(str(key)))
            name, value = node.get("name"), node.get("value")
            if isinstance(name, Scalar) and isinstance(value, Scalar):
                yield from _whole(value, str(name))
        elif not _SPOKEN.isdisjoint(route):
            yield from _words(node)


def secrets_of(root: Node | None) -> list[str]:
    """The secrets of a tree as texts, and each line of those that have several."""
    return texts(one.secret for one in in_tree(root)) if root is not None else []


def secrets_in(source: Source) -> list[str]:
    """The secrets of a file of any kind as texts."""
    return texts(one.secret for one in hidden(source))


def masked(text: str, secrets: Iterable[str] = ()) -> str:
    """A text with asterisks for some secrets, and for what has the form of one."""
    for secret in secrets:
        text = text.replace(secret, MASK)
    for form in reversed(known(text)) if suspicious(text) else ():
        text = text[: form.start] + MASK + text[form.end :]
    return text


def without_secrets(found: Iterable[Finding], secrets: Iterable[str]) -> list[Finding]:
    """Findings with asterisks for some secrets; an edit that would write one is left out."""
    every = list(secrets)
    if not every:
        return list(found)
    return [_without(item, every) for item in found]


def _without(item: Finding, secrets: list[str]) -> Finding:
    def hide(text: str) -> str:
        for secret in secrets:
            text = text.replace(secret, MASK)
        return text

    told = (item.message, item.help, *(edit.text for edit in item.edits))
    if not any(secret in text for secret in secrets for text in told):
        return item
    edits = tuple(edit for edit in item.edits if not any(one in edit.text for one in secrets))
    return replace(item, message=hide(item.message), help=hide(item.help), edits=edits)


def _whole(value: Scalar, name: str) -> Iterator[Hidden]:
    kind = credential(name)
    if kind and literal(str(value), kind, sure=True):
        yield Hidden(str(value), value.place)


def _words(words: Sequence) -> Iterator[Hidden]:
    """The words that follow an option which names a credential."""
    option = ""
    for word in words:
        if not isinstance(word, Scalar):
            continue
        kind = credential(option) if option else ""
        if kind and literal(str(word), kind, surely(option)):
            yield Hidden(str(word), word.place)
        option = word.lstrip("-") if word.startswith("-") and "=" not in word else ""


def _part(node: Scalar, start: int, end: int) -> Hidden:
    """A part of a scalar, at its own place if the file says the scalar letter for letter."""
    place, secret = node.place, str(node)[start:end]
    quote = 0 if node.plain else 1
    if node.line == node.end_line and node.end_column - node.column == len(node) + 2 * quote:
        first = node.column + quote
        place = Place(node.path, node.line, first + start, node.line, first + end)
    return Hidden(secret, place)


def _spans(line: str) -> Iterator[tuple[int, int]]:
    """Secrets in a text without a structure, in their order, none within another."""
    found = [(form.start, form.end) for form in in_file(line)]
    found += [(one.start, one.end) for one in (*assigned(line), *assigned_in_file(line))]
    last = 0
    for start, end in sorted(found):
        if start >= last:
            yield start, end
            last = end


def texts(secrets: Iterable[str]) -> list[str]:
    """What is to be looked for in a text: secrets and each of their lines, the longest first."""
    made = {secret.strip() for secret in secrets}
    made |= {line.strip() for text in made for line in text.splitlines()}
    return sorted(
        (text for text in made if len(text) >= SHORTEST), key=lambda one: (-len(one), one)
    )
