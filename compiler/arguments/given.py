"""The words of a command as the arguments of its training script, read as the image's parser does.

`--name value` and `--name=value` are one thing, and so are `-` and `_` in a name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from compiler.arguments.schema import Property, Schema
from compiler.expansion import Constants, expanded
from compiler.programs import Word


class Given(Struct, frozen=True):
    """One argument as a command gives it: what is written, what it means, and its words.

    `texts` holds None for a value that only the running pod knows; it is empty where the command
    ends before it. `prop` is None for a name that the schema has not, and `name` "" for a word that
    belongs to no name.
    """

    name: str
    prop: Property | None
    texts: tuple[str | None, ...]
    words: tuple[Word, ...]


def given(words: Sequence[Word], constants: Constants, schema: Schema) -> Iterator[Given]:
    """What the words behind a script give, in their order."""
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.text.startswith("--") or word.text == "--":
            # Whoever expands it may find anything in it.
            if word.text != "--" and expanded(word.text, constants) is not None:
                yield Given("", None, (word.text,), (word,))
            continue
        name, equals, text = word.text[2:].partition("=")
        prop, negated = _meant(name, schema)
        if equals:
            yield Given(name, prop, _split(prop, text, constants), (word,))
            continue
        if prop is not None and (negated or prop.style in ("switch", "pair")):
            yield Given(name, prop, ("false" if negated else "true",), (word,))
            continue
        taken = _values(words[index:], prop)
        index += len(taken)
        texts = tuple(piece for value in taken for piece in _split(prop, value.text, constants))
        if not texts and prop is not None and prop.style == "flag":
            texts = ("true",)
        yield Given(name, prop, texts, (word, *taken))


def _meant(name: str, schema: Schema) -> tuple[Property | None, bool]:
    """The argument that a name stands for, and whether it says no to it."""
    prop = schema.find(name)
    if prop is not None:
        return prop, False
    if name.startswith(("no-", "no_")):
        prop = schema.find(name[3:])
        if prop is not None and prop.style in ("pair", "flag"):
            return prop, True
    if schema.abbreviations and name:
        begun = name.replace("-", "_")
        near = {real for spelt, real in schema.spellings.items() if spelt.startswith(begun)}
        if len(near) == 1:
            return schema.properties[near.pop()], False
    return None, False


def _values(words: Sequence[Word], prop: Property | None) -> Sequence[Word]:
    """The words that are values of the name before them."""
    most = len(words) if prop is not None and prop.style == "words" else 1
    taken = 0
    while taken < most and taken < len(words) and not _is_name(words[taken].text):
        taken += 1
    return words[:taken]


def _is_name(text: str) -> bool:
    """Whether argparse would take a word for a flag: one with a `-`, and no negative number."""
    return text.startswith("-") and len(text) > 1 and not text[1].isdigit() and text[1] != "."


def _split(prop: Property | None, text: str, constants: Constants) -> tuple[str | None, ...]:
    value = expanded(text, constants)
    if value is not None and prop is not None and prop.style == "comma":
        return tuple(value.split(","))
    return (value,)
