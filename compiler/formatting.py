"""The house's layout of authored files; comments, quotes, order and meaning stay."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

from compiler.nodes import Mapping, Node, Scalar, Sequence, walk
from compiler.source import Source, decode, split
from compiler.tree import read

# Columns of a line, as in the rest of the repository.
WIDTH = 100
_LINE_END = re.compile(r"\r\n|\r|\n")
_COMMENT = re.compile(
    r"(?:(?P<alone>(?:\A|(?<=[\r\n]))[ \t]*)|(?<=[ \t]))(?P<text>#[^\r\n]*?)[ \t]*(?=[\r\n]|\Z)"
)
# Where a comment can stand below a line: under its first letter, or under what follows a dash.
_LEVELS = re.compile(r"( *)((?:- +)*)")
# A scalar's first line and its further ones, in a text without its scalars.
_FIRST, _FURTHER = "_", "\0"


def formatted(source: Source) -> str | None:
    """The file in the house's layout, or None where that could change what it says.

    Two spaces a level, lists indented under their key, LF, one final newline, and brackets broken
    at the width of a line; quotes, comments, blank lines and order stay as they are. The outcome is
    read again: unless every scalar has the same letters and kind of style as before, and every
    comment is there, the file is left alone.
    """
    before, findings = read(source)
    if before is None or findings:
        return None
    text = _laid_out(source.text)
    if text is None:
        return None
    bare = _without_scalars(source, before)
    # Space at the end of a line within a block of text belongs to the text.
    trimmed = "\n".join(line.rstrip() if _trims(line) else line for line in text.split("\n"))
    for candidate in (trimmed.rstrip("\n") + "\n", text):
        again, after = _read(source.path, candidate)
        if again is None or after is None or _meaning(after) != _meaning(before):
            continue
        laid_out = _without_scalars(again, after)
        if comments(laid_out) != comments(bare):
            continue
        candidate = _kept(source.path, candidate, _aligned(candidate, laid_out, bare), before)
        return _kept(source.path, candidate, _in_width(source.path, candidate), before)
    return None


def _kept(path: str, text: str, changed: str, before: Node) -> str:
    """The changed text, or the text where the change would say something else."""
    again, after = _read(path, changed)
    if again is None or after is None or _meaning(after) != _meaning(before):
        return text
    return changed


def _read(path: str, text: str) -> tuple[Source | None, Node | None]:
    source, _ = decode(path, text.encode())
    return source, None if source is None else read(source)[0]


def _laid_out(text: str) -> str | None:
    """The text as ruamel.yaml lays it out; None where it cannot."""
    from ruamel.yaml import YAML
    from ruamel.yaml.resolver import VersionedResolver

    class Letters(VersionedResolver):
        """Takes every scalar for text, so that `1e-5`, `on` and `~` are printed as they stand."""

        def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
            known: Any = super()
            return known.resolve(kind, value, implicit if value == "" else (False, True))

    yaml: Any = YAML()
    yaml.Resolver = Letters
    yaml.preserve_quotes = True
    yaml.width = 1_000_000
    yaml.indent(mapping=2, sequence=4, offset=2)
    yaml.explicit_start = text.startswith("---")
    out = io.StringIO()
    try:
        yaml.dump(yaml.load(_LINE_END.sub("\n", text)), out)
    except Exception:  # noqa: BLE001 - it raises whatever happens inside it
        return None
    return out.getvalue()


def _in_width(path: str, text: str) -> str:
    """The text with what stands in brackets broken after commas where its line is too long.

    Further lines begin under the first item. Items stay whole, whatever their length.
    """
    _, root = _read(path, text)
    lines = text.split("\n")
    if root is None or all(len(line) <= WIDTH for line in lines):
        return text
    broken: dict[int, str] = {}
    for _, node in walk(root):
        if isinstance(node, Scalar) or not node.flow or node.line != node.end_line:
            continue
        number = node.line - 1
        # The outermost brackets come first, and are the ones to break.
        if number not in broken and len(lines[number]) > WIDTH:
            broken[number] = _broken(lines[number], node)
    return "\n".join(broken.get(number, line) for number, line in enumerate(lines))


def _broken(line: str, node: Mapping | Sequence) -> str:
    items: list[Any] = list(node)
    starts = [item.column - 1 for item in items]
    if not starts:
        return line
    rest = line[node.end_column - 1 :]
    if rest.strip().startswith("#"):
        # ruamel.yaml puts it where it was, which is not where the broken line ends.
        rest = f"  {rest.strip()}"
    ends = [*starts[1:], node.end_column - 1]
    made = [line[: starts[0]]]
    for start, end in zip(starts, ends, strict=True):
        item = line[start:end]
        if start != starts[0] and len(made[-1]) + len(item.rstrip()) > WIDTH:
            made[-1] = made[-1].rstrip()
            made.append(" " * starts[0])
        made[-1] += item
    made[-1] += rest
    return "\n".join(made)


def _trims(line: str) -> bool:
    """Whether a line is empty or a comment, so that space at its end says nothing."""
    return line.strip() == "" or line.lstrip().startswith("#")


def comments(bare: str) -> list[str]:
    """The comments of a text without its scalars, in their order, each with where it stands.

    ruamel.yaml drops some without a word: within brackets, or behind the `|` of a block.
    """
    return [
        f"{'on its own line' if match['alone'] is not None else 'after a value'} {match['text']}"
        for match in _COMMENT.finditer(bare)
    ]


def _without_scalars(source: Source, root: Node) -> str:
    """The text with other letters in the place of its scalars: a `#` in it begins a comment."""
    starts = [0, *(match.end() for match in _LINE_END.finditer(source.text))]
    letters = list(source.text)
    for _, node in walk(root):
        for scalar in (node, *node) if isinstance(node, Mapping) else (node,):
            if not isinstance(scalar, Scalar) or not (scalar or scalar.style):
                continue
            start = starts[scalar.line - 1] + scalar.column - 1
            end = starts[scalar.end_line - 1] + scalar.end_column - 1
            line = starts[scalar.line] if scalar.line < len(starts) else len(letters)
            for at in range(start, min(end, line)):
                # The first line of a block of text is not text: `| # why`.
                if scalar.style not in ("|", ">") and letters[at] not in "\r\n":
                    letters[at] = _FIRST
            for at in range(min(end, line), end):
                if letters[at] not in "\r\n":
                    letters[at] = _FURTHER
    return "".join(letters)


def _aligned(text: str, bare: str, was: str) -> str:
    """The text with each comment below or above the same line as it was.

    `bare` is the text without its scalars, `was` the text that it was made of, without its own.
    ruamel.yaml indents values anew and leaves comments in their old columns.
    """
    lines, new, old = text.split("\n"), split(bare), split(was)
    here, there = list(_contents(new)), list(_contents(old))
    alone, were = list(_alone(new)), list(_alone(old))
    if len(here) != len(there) or len(alone) != len(were):
        return text
    for number, then in zip(alone, were, strict=True):
        column = len(old[then]) - len(old[then].lstrip())
        above = [index for index, line in enumerate(there) if line < then]
        below = len(above)
        for index in (*([below] if below < len(there) else []), *reversed(above)):
            levels = zip(_levels(old[there[index]]), _levels(new[here[index]]), strict=False)
            moved = next((to for level, to in levels if level == column), None)
            if moved is not None:
                lines[number] = " " * moved + lines[number].lstrip()
                break
    return "\n".join(lines)


def _contents(lines: list[str]) -> Iterator[int]:
    """The numbers of the lines with a value or key that begins on them."""
    for number, line in enumerate(lines):
        if line.strip(f" \t{_FURTHER}") and not line.lstrip().startswith("#"):
            yield number


def _alone(lines: list[str]) -> Iterator[int]:
    """The numbers of the lines with nothing but a comment."""
    return (number for number, line in enumerate(lines) if line.lstrip().startswith("#"))


def _levels(line: str) -> list[int]:
    """The columns, from 0, at which what belongs to a line may begin."""
    match = _LEVELS.match(line)
    assert match is not None
    columns = [len(match[1])]
    for dash in re.findall("- +", match[2]):
        columns.append(columns[-1] + len(dash))
    return columns


def _meaning(root: Node) -> list[tuple[object, str, str]]:
    return [(route, type(node).__name__, _said(node)) for route, node in walk(root)]


def _said(node: Node) -> str:
    if not isinstance(node, Scalar):
        return str(len(node))
    return f"{'plain' if node.plain else 'text'} {node}"
