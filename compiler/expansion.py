"""The variables whose values are written down: in a container's environment, or in its script.

`GPUS=4; torchrun --nproc_per_node $GPUS` says 4 as surely as the number itself. What only the
running pod knows (`${RANK}`, `$(nproc)`, what a loop or another file sets) stays unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from compiler.programs import Container

_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.ASCII | re.DOTALL)
_REFERENCE = re.compile(
    r"\$(?:\((?P<pod>[A-Za-z_]\w*)\)|\{(?P<braced>[A-Za-z_]\w*)\}|(?P<bare>[A-Za-z_]\w*))",
    re.ASCII,
)
_KEYWORDS = frozenset({"export", "local", "readonly", "declare", "typeset", "set"})
# A name that is given a value after one of these has it once, several times, or never.
_UNSURE = frozenset({"if", "then", "else", "elif", "for", "while", "until", "do", "case", "{"})

# Characters of a text with its variables put in; a declaration has at most 256 KiB.
LONGEST = 64 * 1024

Constants = Mapping[str, str]


def of_environment(container: Container) -> dict[str, str]:
    """The variables of a container that the declaration gives a text without references."""
    known: dict[str, str] = {}
    for setting in container.env:
        value = None if setting.value is None else expanded(setting.value, known)
        if value is None:
            known.pop(setting.name, None)
        else:
            known[setting.name] = value
    return known


def of_script(commands: Iterable[Sequence[str]], outer: Constants) -> dict[str, str]:
    """`outer`, and over it what a script assigns just once, outside of branches and loops."""
    known = dict(outer)
    given: set[str] = set()
    unsure = False
    for command in commands:
        while command and command[0] in _UNSURE:
            unsure, command = True, command[1:]
        words = command[1:] if command and command[0] in _KEYWORDS else command
        for word in words:
            match = _ASSIGNED.fullmatch(word)
            if match is None:
                # Assignments before a program hold for it alone.
                break
        else:
            for word in words:
                name, _, text = word.partition("=")
                value = expanded(text, known)
                if unsure or name in given or value is None:
                    known.pop(name, None)
                else:
                    known[name] = value
                given.add(name)
        if command and command[0] in ("read", "unset"):
            for word in command[1:]:
                known.pop(word, None)
        if command and command[0] in ("eval", "source", "."):
            known.clear()
    return known


def expanded(text: str, constants: Constants) -> str | None:
    """The text with the known variables put in; None where something unknown is left.

    Also where it would become longer than anything that is written: twenty variables that each
    name the one before twice stand for a million times the first.
    """
    if "$" in text:
        values = [constants.get(name) for name in _names(text)]
        if None in values or sum(len(value or "") for value in values) > LONGEST:
            return None
        text = _REFERENCE.sub(lambda m: constants[m["pod"] or m["braced"] or m["bare"]], text)
    return None if "$" in text or "`" in text else text


def _names(text: str) -> list[str]:
    """The variables that a text refers to, as often as it does."""
    return [m["pod"] or m["braced"] or m["bare"] for m in _REFERENCE.finditer(text)]
