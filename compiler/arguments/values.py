"""From the text of an argument to its value, as the image's parser reads it, or what is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec import Struct

from compiler.arguments.schema import Branch, Property
from compiler.suggestions import any_of, nearest

# What int() and float() of Python take, of the forms that people write; `2e-5` is a number.
_WHOLE = re.compile(r"[+-]?[0-9]{1,30}(_[0-9]{1,3})*", re.ASCII)
_NUMBER = re.compile(
    r"[+-]?([0-9]{1,30}(_[0-9]{1,3})*(\.[0-9]{0,40})?|\.[0-9]{1,40})([eE][+-]?[0-9]{1,4})?",
    re.ASCII,
)
_TRUTH = {"true": True, "false": False}
_CALLED = {
    "boolean": "true or false",
    "integer": "a whole number",
    "number": "a number",
    "string": "a text",
    "array": "a list",
    "object": "a mapping",
    "null": "nothing",
    "any": "a value",
}

Kind = Literal["type", "range"]


class Fault(Struct, frozen=True):
    """What is wrong with a value: its type or its range, in words, and what to write."""

    kind: Kind
    message: str
    help: str
    index: int | None = None


def read(prop: Property, texts: Sequence[str]) -> tuple[Any, Fault | None]:
    """The value of the texts that an argument got, or what is wrong with it."""
    array = prop.of("array")
    others = [branch for branch in prop.branches if branch.kind not in ("array", "object", "null")]
    if array is not None and (len(texts) != 1 or not others):
        return _list(prop, array, texts)
    # Of one that is given several times, the last counts.
    return _one(prop.name, others or list(prop.branches), texts[-1])


def _list(prop: Property, array: Branch, texts: Sequence[str]) -> tuple[Any, Fault | None]:
    values: list[Any] = []
    for index, text in enumerate(texts):
        if array.items:
            value, fault = _one(prop.name, list(array.items), text)
            if fault is not None:
                return None, Fault(fault.kind, fault.message, fault.help, index)
        else:
            value = text
        values.append(value)
    least, most = array.bounds.get("minItems", 0), array.bounds.get("maxItems", math.inf)
    if not least <= len(values) <= most:
        wanted = f"at least {least}" if len(values) < least else f"at most {most}"
        return None, Fault(
            "range",
            f"`{prop.name}` has {len(values)} values, and takes {wanted}",
            f"write {wanted}",
        )
    return values, None


def _one(name: str, branches: Sequence[Branch], text: str) -> tuple[Any, Fault | None]:
    near: Fault | None = None
    for branch in branches:
        for value in _candidates(branch, text):
            fault = _within(name, branch, value, text)
            if fault is None:
                return value, None
            near = near or fault
    if near is not None:
        return None, near
    wanted = " or ".join(dict.fromkeys(_CALLED[branch.kind] for branch in branches))
    return None, Fault(
        "type", f"`{name}` is {_shown(text)}, and takes {wanted}", _help(branches, text)
    )


def _candidates(branch: Branch, text: str) -> Iterator[Any]:
    """What a text can be as a value of one kind."""
    match branch.kind:
        case "boolean":
            if text.lower() in _TRUTH:
                yield _TRUTH[text.lower()]
        case "integer":
            if _WHOLE.fullmatch(text):
                yield int(text)
        case "number":
            if _NUMBER.fullmatch(text):
                yield int(text) if _WHOLE.fullmatch(text) else float(text)
        case "string" | "any":
            yield text
        case _:
            pass


def _within(name: str, branch: Branch, value: Any, text: str) -> Fault | None:
    if branch.choices is not None and not any(_same(value, choice) for choice in branch.choices):
        words = [str(choice) for choice in branch.choices if choice is not None]
        near = nearest(text, words)
        remedy = f"write `{near}`" if near else any_of(words) if words else "take it out"
        return Fault("type", f"`{name}` is {_shown(text)}, which is none of its values", remedy)
    if not branch.bounds or isinstance(value, bool):
        return None
    if isinstance(value, str):
        least = branch.bounds.get("minLength", 0)
        most = branch.bounds.get("maxLength", math.inf)
        if least <= len(value) <= most:
            return None
        side, bound = ("least", least) if len(value) < least else ("most", most)
        letters = f"at {side} {bound} character{'' if bound == 1 else 's'}"
        return Fault(
            "range", f"`{name}` is {_shown(text)}, and takes {letters}", f"write {letters}"
        )
    if not math.isfinite(value):
        return Fault("range", f"`{name}` is {_shown(text)}, which is too large", "write a number")
    beyond = _beyond(value, branch)
    if beyond is None:
        return None
    return Fault(
        "range", f"`{name}` is {_shown(text)}, and {beyond}", f"write {range_words(branch)}"
    )


def _beyond(value: float, branch: Branch) -> str | None:
    bounds = branch.bounds
    if "minimum" in bounds and value < bounds["minimum"]:
        return f"may be {bounds['minimum']} at the least"
    if "exclusiveMinimum" in bounds and value <= bounds["exclusiveMinimum"]:
        return f"must be above {bounds['exclusiveMinimum']}"
    if "maximum" in bounds and value > bounds["maximum"]:
        return f"may be {bounds['maximum']} at the most"
    if "exclusiveMaximum" in bounds and value >= bounds["exclusiveMaximum"]:
        return f"must be below {bounds['exclusiveMaximum']}"
    step = bounds.get("multipleOf")
    if step is not None:
        parts = value / step
        if abs(parts - round(parts)) > 1e-9 * max(1.0, abs(parts)):
            return f"must be a multiple of {step}"
    return None


def range_words(branch: Branch) -> str:
    """What a number of this form may be: `a whole number from 1 to 8`."""
    bounds = branch.bounds
    if "minimum" in bounds and "maximum" in bounds:
        limits = [f"from {bounds['minimum']} to {bounds['maximum']}"]
    else:
        limits = [
            f"{words} {bounds[name]}"
            for name, words in (
                ("minimum", "of at least"),
                ("exclusiveMinimum", "above"),
                ("maximum", "of at most"),
                ("exclusiveMaximum", "below"),
            )
            if name in bounds
        ]
    if "multipleOf" in bounds:
        limits.append(f"a multiple of {bounds['multipleOf']}")
    return f"{_CALLED[branch.kind]} {' and '.join(limits)}".strip()


def _same(value: Any, choice: Any) -> bool:
    return isinstance(value, bool) == isinstance(choice, bool) and value == choice


def _help(branches: Sequence[Branch], text: str) -> str:
    kinds = {branch.kind for branch in branches}
    if "integer" in kinds and "number" not in kinds and _NUMBER.fullmatch(text):
        number = float(text)
        if math.isfinite(number) and number == int(number) and abs(number) < 2**53:
            return f"write {int(number)}"
    if kinds == {"boolean"} and text.lower() in ("yes", "on", "1", "no", "off", "0", "y", "n"):
        return f"write {'true' if text.lower() in ('yes', 'on', '1', 'y') else 'false'}"
    words = dict.fromkeys(
        range_words(branch) if branch.bounds else _CALLED[branch.kind] for branch in branches
    )
    return "write " + " or ".join(words)


def _shown(text: str) -> str:
    return f"`{text[:60]}...`" if len(text) > 60 else f"`{text}`"
