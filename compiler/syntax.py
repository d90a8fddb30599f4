"""What a syntax error of libyaml means, in words that say what to write.

libyaml says where it gave up, which is often a line after the mistake, and in terms of its own
tokens. Each function here takes one of its problems, looks at the lines around, and names the
mistake that people make there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from compiler.diagnostics import Finding, Place
from compiler.layout import odd_space_in
from compiler.rules import finding
from compiler.source import Source, quote
from compiler.trouble import Trouble, says_nothing

_LONGEST_KEY = 1024  # YAML 1.2.2, section 7.4
_GLUED = re.compile(r"""\s*(?:- )?(["']?)[\w./-]+\1:(?=[^\s:/])""")
_KEY = re.compile(r"""(?:\s|- )*(?:"[^"]*"|'[^']*'|[^\s#:][^:#]*):(?=\s|$)\s*""")


def explain(
    source: Source, error: Exception, depth: int, ended: bool, bracket: Place | None
) -> Finding:
    """The finding for an exception of libyaml's scanner or parser.

    `depth` is the bound to name where libyaml's own is passed first; `ended` tells that a document
    was closed by `...` before, and `bracket` is the innermost one that is still open.
    """
    mark: Any = getattr(error, "problem_mark", None)
    if mark is None:
        message = "libyaml cannot read this file"
        return finding("syntax-error", Place.start(source.path), message, "look for odd characters")
    start: Any = getattr(error, "context_mark", None) or mark
    last = len(source.lines)  # without a line end there, libyaml stops on a line after it
    trouble = Trouble(
        source=source,
        problem=str(getattr(error, "problem", None) or ""),
        context=str(getattr(error, "context", None) or ""),
        line=min(mark.line + 1, last),
        column=mark.column + 1 if mark.line < last else len(source.line_at(last)) + 1,
        since_line=start.line + 1,
        since_column=start.column + 1,
        ended=ended,
        bracket=bracket,
    )
    for number in dict.fromkeys((trouble.line, trouble.since_line, trouble.above())):
        if odd := odd_space_in(source, number):
            return odd
    if "maximum nesting" in trouble.problem:
        place = Place(source.path, trouble.line, trouble.column, trouble.line, trouble.column + 1)
        return too_deep(place, depth)
    if "directive" in trouble.context + trouble.problem or "incompatible" in trouble.problem:
        line = source.line_at(trouble.since_line)
        return directive(source.path, trouble.since_line, line)
    if trouble.context.endswith("a tag") or "tag handle" in trouble.problem:
        message = "text that starts with `!` is a tag to YAML, and tags have no meaning here"
        return trouble.since(message, "leave the tag out, or put the text in quotes", "yaml-tag")
    for part, describe in _PROBLEMS:
        if part in trouble.problem:
            return describe(trouble)
    message = f"this is not YAML: {quote(trouble.problem, 80)}"
    return trouble.found(message, "put text with special characters in quotes")


def directive(path: str, number: int, line: str) -> Finding:
    """The finding for a line that starts with `%`."""
    place = Place(path, number, 1, number, max(len(line.rstrip()), 1) + 1)
    message = f"{quote(line.rstrip())} is a YAML directive, which kubectl and kustomize refuse"
    remedy = "delete the line; put text that starts with `%` in quotes"
    return finding("yaml-directive", place, message, remedy)


def too_deep(place: Place, depth: int) -> Finding:
    """The finding for a value inside too many others."""
    message = f"this value stands inside more than {depth} others"
    return finding("too-deep", place, message, "write it with fewer levels")


def _no_token(trouble: Trouble) -> Finding:
    character = trouble.character
    if character == "\t":
        return _tab(trouble)
    message = f"text without quotes cannot start with {quote(character)}"
    return trouble.found(message, f"put it in quotes: {_quoted(trouble.rest)}")


def _tab(trouble: Trouble) -> Finding:
    message = "a tab indents this line, and YAML takes only spaces there"
    remedy = "write two spaces for each level"
    return trouble.at(trouble.line, trouble.column, 1, message, remedy)


def _colon(trouble: Trouble) -> Finding:
    """`mapping values are not allowed in this context`: a colon where no key can be."""
    key = _KEY.match(trouble.before)
    if key and key.end() < len(trouble.before):
        value = trouble.text[key.end() :].split(" #", maxsplit=1)[0].rstrip()
        message = f"text with `: ` in it needs quotes: {quote(value)} reads as a second key"
        first = trouble.text[: key.end()].strip()
        remedy = f"write {quote(first)} and then {_quoted(value)}"
        counted = re.fullmatch(r"([A-Za-z][\w.-]*):\s+(\d+)", value)
        if counted and first == "accelerators:":
            remedy = f"write {quote(f'{first} {counted[1]}:{counted[2]}')}, without a space"
        if re.fullmatch(r"[a-z][a-z_]*:\s[^\s,{}\[\]#]+", value):
            braced = f"{first.removeprefix('- ')} {{{value}}}"
            remedy = f"write {quote(braced)}, or the text in quotes: {_quoted(value)}"
        return trouble.at(trouble.line, key.end() + 1, len(value), message, remedy)
    number = trouble.above()
    text = trouble.source.line_at(number)
    if _GLUED.match(text):
        return _missing_space(trouble, number)
    if _KEY.match(text) and _indent(trouble.text) > _indent(text):
        return _too_far_right(trouble, number)
    if number and not _KEY.match(text):
        return _no_colon(trouble, number)
    if trouble.column > _LONGEST_KEY:
        return _long_key(trouble, trouble.line, _indent(trouble.text) + 1)
    message = "a colon stands here where no key can be"
    return trouble.at(trouble.line, trouble.column, 1, message, "put text with a colon in quotes")


def _too_far_right(trouble: Trouble, number: int) -> Finding:
    width = _indent(trouble.text)
    message = f"this line is indented by {width}, deeper than line {number}, which has its value"
    remedy = f"indent it as deep as line {number}, or take the value off line {number}"
    return trouble.at(trouble.line, width + 1, 1, message, remedy)


def _key_without_colon(trouble: Trouble) -> Finding:
    """`could not find expected ':'`: a line that is no `key: value`."""
    text = trouble.source.line_at(trouble.since_line)
    if _GLUED.match(text):
        return _missing_space(trouble, trouble.since_line)
    if len(text) > _LONGEST_KEY:
        return _long_key(trouble, trouble.since_line, trouble.since_column)
    return _no_colon(trouble, trouble.since_line)


def _long_key(trouble: Trouble, line: int, column: int) -> Finding:
    message = f"no colon follows within {_LONGEST_KEY:,} characters, the most that a key may have"
    return trouble.at(line, column, 1, message, "write a colon and a space after the key")


def _missing_space(trouble: Trouble, number: int) -> Finding:
    text = trouble.source.line_at(number)
    match = _GLUED.match(text)
    end = match.end() if match else 1
    message = f"a space is missing after the colon in {quote(text.strip())}"
    remedy = f"write {quote(text[:end].strip() + ' ' + text[end:].strip())}"
    return trouble.at(number, end, 1, message, remedy)


def _no_colon(trouble: Trouble, number: int) -> Finding:
    text = trouble.source.line_at(number)
    bare = text.strip()
    message = f"{quote(bare)} is not `key: value`"
    remedy = (
        "write a key, a colon and a space; indent the line where it goes on with the text above"
    )
    if re.match(r"(?:<{7}|={7}|>{7}|\|{7})(?:\s|$)", bare):
        message = f"{quote(bare)} marks a conflict of a merge that was not resolved"
        remedy = "keep one of the two texts, and delete the other and the lines that mark them"
    elif re.match(r"-[^\s-]", bare):
        message = f"a space is missing after the dash in {quote(bare)}"
        remedy = f"write {quote('- ' + bare[1:])}"
    elif match := re.match(r"([\w.-]+)\s*=\s*(.*)", bare):
        remedy = f"write {quote(f'{match[1]}: {match[2]}')}"
    return trouble.at(number, _indent(text) + 1, max(len(bare), 1), message, remedy)


def _unclosed_quote(trouble: Trouble) -> Finding:
    mark = trouble.source.line_at(trouble.since_line)[trouble.since_column - 1 :][:1]
    message = f"the quote {quote(mark)} that opens here is never closed"
    if mark == "'":
        remedy = "close it; inside '…' an apostrophe is written twice: ''"
    else:
        remedy = 'close it; inside "…" a double quote is written \\"'
    return trouble.since(message, remedy)


def _escape(trouble: Trouble) -> Finding:
    start = trouble.text.rfind("\\", 0, trouble.column + 1)
    start = start if start >= 0 else trouble.column - 1
    shown = trouble.text[start : start + 2]
    message = f"{quote(shown)} is no escape that YAML knows, or is not complete"
    remedy = "write \\\\ for a backslash, or use '…', where a backslash is a backslash"
    return trouble.at(trouble.line, start + 1, len(shown) or 1, message, remedy)


def _block_header(trouble: Trouble) -> Finding:
    mark = trouble.source.line_at(trouble.since_line)[trouble.since_column - 1 :][:1]
    message = f"after {quote(mark)} the text must start on the next line"
    remedy = f"start a new line there, indented; put text that starts with {quote(mark)} in quotes"
    return trouble.found(message, remedy)


def _anchor(trouble: Trouble) -> Finding:
    mark = trouble.source.line_at(trouble.since_line)[trouble.since_column - 1 :]
    message = f"text without quotes cannot start with {quote(mark[:1])}"
    return trouble.since(message, f"put it in quotes: {_quoted(mark)}")


def _bracket(trouble: Trouble) -> Finding:
    """A flow list or mapping that does not go on as it must."""
    opening = trouble.source.line_at(trouble.since_line)
    inside = trouble.line == trouble.since_line or _indent(trouble.text) > _indent(opening)
    if not trouble.rest or not inside:
        return _open_bracket(trouble, trouble.since_line, trouble.since_column)
    closing = "}" if opening[trouble.since_column - 1 :][:1] == "{" else "]"
    joined = re.search(r"([^\s,{}\[\]:]+)\s+([A-Za-z_][\w-]*)$", trouble.before)
    after = re.match(r":\s+([^\s,{}\[\]]+)", trouble.rest)
    if closing == "}" and joined and after:
        message = f"a comma is missing before {quote(f'{joined[2]}: {after[1]}')}"
        remedy = f"write {quote(f'{joined[1]}, {joined[2]}: {after[1]}')}"
        return trouble.at(trouble.line, joined.start(2) + 1, len(joined[2]), message, remedy)
    message = f"a comma or {quote(closing)} is missing before {quote(trouble.rest)}"
    remedy = "write one, or put text with any of , [ ] { } in quotes"
    return trouble.at(trouble.line, trouble.column, 1, message, remedy)


def _open_bracket(trouble: Trouble, line: int, column: int) -> Finding:
    mark = trouble.source.line_at(line)[column - 1 :][:1]
    message = f"the bracket {quote(mark)} that opens here is never closed"
    remedy = f"write {quote('}' if mark == '{' else ']')} at its end"
    return trouble.at(line, column, 1, message, remedy)


def _no_key(trouble: Trouble) -> Finding:
    """`did not find expected key`: something in a mapping that is no key."""
    before, rest = trouble.before, trouble.rest
    if not before.strip(" -"):
        return _misplaced_line(trouble)
    return _after_value(trouble, before[-1], rest)


def _after_value(trouble: Trouble, last: str, rest: str) -> Finding:
    """Something behind a value that has ended on the same line."""
    if rest.startswith(":") and _GLUED.match(trouble.text):
        return _missing_space(trouble, trouble.line)
    if last and last in "'\"" and trouble.before.count(last) % 2:
        return _earlier_quote(trouble, last)
    if last and last in "'\"":
        message = f"{quote(rest)} stands after the closing quote"
        remedy = "put the whole text in one pair of quotes"
        if last == "'":
            remedy += "; inside '…' an apostrophe is written twice: ''"
        else:
            remedy += '; inside "…" a double quote is written \\"'
    elif rest[:1] in ("]", "}"):
        message = f"no bracket is open that this {quote(rest[:1])} could close"
        remedy = "delete it, or open one before; text with brackets in it can be put in quotes"
    elif last in "]}":
        message = f"{quote(rest)} stands after the closing bracket"
        remedy = "put the whole text in quotes, or write a comma inside the brackets"
    elif re.search(r"(^|\s)[*&]\S+$", trouble.before):
        message = f"{quote(rest)} stands after an anchor or alias, which is a value by itself"
        remedy = "put text that starts with `*` or `&` in quotes"
    else:
        message = f"{quote(rest)} cannot stand here"
        remedy = "start a new line, or put the whole text in quotes"
    return trouble.found(message, remedy)


def _earlier_quote(trouble: Trouble, mark: str) -> Finding:
    """A quote closed by the opening one of a later line: the mistake stands where it opens."""
    number = trouble.line - 1
    while number > 1 and trouble.source.line_at(number).count(mark) % 2 == 0:
        number -= 1
    column = trouble.source.line_at(number).rfind(mark) + 1
    message = f"the quote {quote(mark)} that opens here is closed only on line {trouble.line}"
    return trouble.at(number, max(column, 1), 1, message, "close it where its text ends")


def _misplaced_line(trouble: Trouble) -> Finding:
    width, number = _indent(trouble.text), trouble.above()
    above = trouble.source.line_at(number)
    if trouble.rest.startswith(":"):
        message = "a value stands here without a key"
        return trouble.found(message, "write a key before the colon", "unsupported-key")
    if trouble.character in ("]", "}"):
        return _after_value(trouble, "", trouble.rest)
    if _KEY.match(above) and width > _indent(above):
        return _too_far_right(trouble, number)
    if trouble.rest.startswith("- ") or trouble.rest == "-":
        message = "this list item stands where a key is wanted"
        remedy = "indent it below its key, as deep as the items beside it"
    else:
        message = f"this line is indented by {width}, which fits no line above it"
        remedy = "indent it as deep as the keys or items that it stands beside"
        if number and not _KEY.match(above):
            remedy += "; text that goes on must be indented deeper than its key"
    return trouble.at(trouble.line, trouble.column, 1, message, remedy)


def _no_item(trouble: Trouble) -> Finding:
    before = trouble.before
    if before.strip(" -"):
        return _after_value(trouble, before[-1], trouble.rest)
    message = f"{quote(trouble.rest)} stands among list items and is none"
    remedy = "start it with `- `, or indent it as deep as what it belongs to"
    return trouble.found(message, remedy)


def _item_in_line(trouble: Trouble) -> Finding:
    message = "a list cannot start behind its key on the same line"
    remedy = "start each item on a line of its own, or write `[a, b]`; text with `- ` needs quotes"
    return trouble.found(message, remedy)


def _no_content(trouble: Trouble) -> Finding:
    character, opened = trouble.character, trouble.bracket
    if not trouble.rest and opened and opened.line and opened.column:
        return _open_bracket(trouble, opened.line, opened.column)
    if character in ("]", "}", ",", ":") and trouble.before.endswith((",", "[", "{", ":")):
        message = f"a value is missing before {quote(character)}"
        remedy = "write the value; put text that starts with one of , [ ] { } in quotes"
    elif character:
        message = f"a value cannot start with {quote(character)}"
        remedy = f"put text in quotes: {_quoted(trouble.rest)}"
    else:
        message, remedy = "a value is missing at the end of the file", "write it"
    return trouble.at(trouble.line, trouble.column, 1, message, remedy)


def _behind_document(trouble: Trouble) -> Finding:
    """Something after the end of the only document."""
    if trouble.ended:
        message = "text stands after `...`, which ends a document; Kubernetes would drop it"
        remedy = "delete the line `...`, or the text after it"
        return trouble.found(message, remedy, "several-documents")
    if trouble.before.strip():
        return _after_value(trouble, trouble.before[-1], trouble.rest)
    if trouble.rest.startswith("..."):
        return trouble.found("`...` ends a document, and none is open here", "delete the line")
    first = next((t for t in trouble.source.lines if not says_nothing(t) and t[:3] != "---"), "")
    if _indent(trouble.text) < _indent(first):
        message = "this line starts to the left of the first one, so it belongs to nothing"
        remedy = f"indent it by {_indent(first)}, or move the lines above to the left"
    else:
        message = "the text above is complete, and this line belongs to nothing"
        remedy = "write the whole file as `key: value` lines, or delete this line"
    return trouble.found(message, remedy)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _quoted(text: str) -> str:
    """The text as it would stand in quotes; its end may be cut."""
    bare = text.split(" #", maxsplit=1)[0].strip()
    doubled = bare.replace("'", "''")
    return quote(f"'{doubled}'" if '"' in bare or "\\" in bare else f'"{bare}"', 60)


_PROBLEMS: tuple[tuple[str, Callable[[Trouble], Finding]], ...] = (
    ("cannot start any token", _no_token),
    ("found a tab character", _tab),
    ("mapping values are not allowed", _colon),
    ("could not find expected ':'", _key_without_colon),
    ("found unexpected end of stream", _unclosed_quote),
    ("found unexpected document indicator", _unclosed_quote),
    ("unknown escape character", _escape),
    ("expected hexdecimal number", _escape),
    ("invalid Unicode character escape", _escape),
    ("expected comment or line break", _block_header),
    ("indentation indicator", _block_header),
    ("expected alphabetic or numeric character", _anchor),
    ("expected ',' or", _bracket),
    ("did not find expected key", _no_key),
    ("expected '-' indicator", _no_item),
    ("block sequence entries are not allowed", _item_in_line),
    ("mapping keys are not allowed", _no_token),
    ("did not find expected node content", _no_content),
    ("expected <document start>", _behind_document),
)
