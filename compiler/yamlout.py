"""The one YAML printer: plain data in, text that every reader takes for the same data out.

Kubernetes reads YAML 1.1, ruamel.yaml reads 1.2, and kustomize something in between, so a bare
`on`, `010` or `1e-5` means three things. Nothing here is bare but safe keys, integers, `true`,
`false` and `null`: text is always quoted, or a literal block where it has several lines and a block
loses nothing. There are no anchors, no tags, no folded lines and no directives, and the order is
the order of the data, so that a changed value changes its own line and no other.

It is also the hot path of `build`. A general emitter turns each value into events and asks for
each of them how it may be written; here that is decided once, and a document costs little more
than joining its strings.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Any, Final

# What readers take for something else than text, in any case, is a YAML 1.1 type (yaml.org/type);
# the first letter keeps out numbers, dates, `~`, `=`, `<<` and `.inf`.
_BARE_KEY: Final = re.compile(
    r"(?!(?i:y|n|yes|no|on|off|true|false|null)\Z)[A-Za-z][A-Za-z0-9_./-]*"
)

# A reader gives up on a key on one line when its colon comes later than this (YAML 1.2.2, 7.4.3).
# Kubernetes' longest key, a prefix and a name, has 317 characters.
_LONGEST_KEY: Final = 1024

# Characters that are line breaks or errors to some reader when they stand as themselves (C0, DEL,
# C1, U+2028, U+2029, U+FEFF, U+FFFE, U+FFFF), that cannot be told from others or from nothing in
# review (odd spaces, zero-width and direction marks, tags), or that are no characters (surrogates).
# The ranges are spelled out, as `str.isprintable` changes with the version of Python.
_UNSEEN: Final = (
    "\x7f-\xa0\xad\u061c\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f"
    "\ud800-\udfff\ufeff\ufff0-\uffff\U000e0000-\U000e0fff"
)
_ESCAPED: Final = re.compile(f'["\\\\\x00-\x1f{_UNSEEN}]')

# What a literal block would lose, hide, or need an indentation mark for: space at the start of the
# text or the end of a line, tabs at the start of a line, empty lines at either end (which hooks
# that trim files take away), and all that needs an escape.
_UNFIT_FOR_BLOCK: Final = re.compile(
    f"\\A[ \t\n]|\n\t|[ \t\u3000](?:\n|\\Z)|\n\n\\Z|[\x00-\x08\x0b-\x1f{_UNSEEN}]"
)


# No printing brings these through kustomize: it hands each object on as JSON, where they stand as
# themselves, and reads that as YAML, which refuses them, or makes a space of U+0085.
LOST_BY_KUSTOMIZE: Final = re.compile("[\x7f-\x9f\ufffe\uffff]")

# The same, and what is lost in a patch: text of several lines that starts with a tab becomes a
# literal block there, whose first line no reader takes for an indented one.
LOST_IN_PATCH: Final = re.compile("[\x7f-\x9f\ufffe\uffff]|\\A\t(?=[^\n]*\n)")


def dump(document: object) -> str:
    """Return the document as block-style YAML that ends with a line feed.

    The document is made of `dict` (text keys, printed in their order), `list`, `str`, `int`,
    `bool` and `None`, and of nothing derived from them. Text of several lines is a literal block
    where every reader gives it back letter for letter, else one quoted line with escapes.

    Raises `TypeError` for any other type, `float` among them: readers differ on how to read and
    round one, and Kubernetes objects have quantities as text. Raises `ValueError` for a lone
    surrogate, an integer beyond 64 bits (kubectl rounds it), and a key too long for one line.
    """
    kind = type(document)
    lines: list[str] = []
    if kind is dict and document:
        _print_mapping(document, "", "", lines)
    elif kind is list and document:
        _print_sequence(document, "", "", lines)
    elif kind is str:
        lines.append(f"{_quote(str(document))}\n")
    else:
        lines.append(f"{_plain(document)}\n")
    return "".join(lines)


def dump_all(documents: Iterable[object]) -> str:
    """Return the documents, each as `dump` prints it, with a line `---` between any two.

    No documents give the empty text. Raises what `dump` raises.
    """
    return "---\n".join([dump(document) for document in documents])


def _print_mapping(mapping: Any, lead: str, pad: str, lines: list[str]) -> None:
    """Append the lines of a mapping that is not empty: `lead` opens the first, `pad` the others."""
    for key, value in mapping.items():
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            lines.append(f"{lead}{_key(key)}: {_text(value, pad)}\n")
        elif kind is dict and value:
            lines.append(f"{lead}{_key(key)}:\n")
            deeper = pad + "  "
            _print_mapping(value, deeper, deeper, lines)
        elif kind is list and value:
            lines.append(f"{lead}{_key(key)}:\n")
            deeper = pad + "  "
            _print_sequence(value, deeper, deeper, lines)
        else:
            lines.append(f"{lead}{_key(key)}: {_plain(value)}\n")
        lead = pad


def _print_sequence(sequence: Any, lead: str, pad: str, lines: list[str]) -> None:
    """Append the lines of a list that is not empty: `lead` opens the first, `pad` the others."""
    deeper = pad + "  "
    for value in sequence:
        kind = type(value)  # pyright: ignore[reportUnknownVariableType]
        if kind is str:
            lines.append(f"{lead}- {_text(value, pad)}\n")
        elif kind is dict and value:
            _print_mapping(value, lead + "- ", deeper, lines)
        elif kind is list and value:
            _print_sequence(value, lead + "- ", deeper, lines)
        else:
            lines.append(f"{lead}- {_plain(value)}\n")
        lead = pad


@lru_cache(maxsize=4096)
def _key(key: object) -> str:
    """Return a key as it is printed: bare where no reader takes it for anything but text."""
    if type(key) is not str:
        raise TypeError(f"a key is text, not {type(key).__name__}: {key!r}")
    if _BARE_KEY.fullmatch(key) and len(key) <= _LONGEST_KEY:
        return key
    quoted = _quote(key)
    if len(quoted.encode()) > _LONGEST_KEY:
        raise ValueError(f"a key is printed in at most {_LONGEST_KEY} bytes: {key[:40]!r}…")
    return quoted


def _text(text: str, pad: str) -> str:
    """Return text that stands under `pad`: a literal block where that is safe, else quoted."""
    # Nearly all text is this: on ASCII, JSON's escapes are YAML's, and its encoder is written in C.
    if text.isascii() and "\n" not in text:
        return encode_basestring_ascii(text)
    if "\n" not in text or _UNFIT_FOR_BLOCK.search(text):
        return _quote(text)
    if text[-1] == "\n":
        style, text = "|", text[:-1]
    else:
        style = "|-"
    # An empty line stays empty: spaces on it would be the trailing spaces that editors remove.
    return "\n".join([style, *(f"{pad}  {line}" if line else "" for line in text.split("\n"))])


def _quote(text: str) -> str:
    """Return text in double quotes on one line, escaped where a reader or reviewer needs it."""
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(match: re.Match[str]) -> str:
    character = match[0]
    if character.isascii():
        return encode_basestring_ascii(character)[1:-1]
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"a lone surrogate is no text: {match.string[:40]!r}")
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def _plain(value: object) -> str:
    """Return a value that is neither text nor a collection with items."""
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if type(value) is int:
        if not -(2**63) <= value < 2**63:
            raise ValueError(f"an integer of more than 64 bits is rounded by kubectl: {value:#x}")
        return str(value)
    if type(value) is dict:
        return "{}"
    if type(value) is list:
        return "[]"
    raise TypeError(f"cannot print {type(value).__name__}: {value!r}")
