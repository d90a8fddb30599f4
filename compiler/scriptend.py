"""Whether a failed training is a failed script: which commands behind it hide its exit code.

Only what is certain is said. A script with branches, loops or functions, or one that looks at exit
codes itself, is taken to know what it does.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from compiler import shell

# Words with which a script takes exit codes into its own hands.
_OWN = re.compile(r"\$\?|PIPESTATUS|pipestatus|\btrap\b|\bexec\b|\bwait\b|\bfunction\b|\(\)")
_BRANCHES = frozenset(["if", "for", "while", "until", "case", "select", "{", "}", "!"])
# What ends with 0 unless the node itself is broken.
_NEVER_FAIL = frozenset(["true", ":", "echo", "printf", "date", "sleep", "sync"])
# What people send their output through; each of them ends with 0 at its input's end.
_FILTERS = frozenset(
    ["tee", "cat", "ts", "tail", "head", "sed", "awk", "logger", "tr", "cut", "sort", "uniq"]
)


class Hidden(Struct, frozen=True):
    """How the exit code of a script's training is lost.

    `how` is `or` (`|| true`), `pipe` (`| tee`), `background` (`&`) or `after` (another command is
    the last, and ends with 0). `text` is what stands in the script, `program` what is started.
    """

    how: Literal["or", "pipe", "background", "after"]
    text: str
    program: str


def hidden(words: Sequence[str], index: int, start: str) -> Hidden | None:
    """How the script at `index` of a shell's words hides what its training ends with.

    `start` is the word that starts the training. None where nothing is hidden, or cannot be told.
    """
    script = words[index]
    if _OWN.search(script):
        return None
    commands = shell.sequence(script)
    if any(_BRANCHES & set(each[:1]) or "(" in end for each, end in commands):
        return None
    strict = _turns_on_e(words[:index])
    piped = "pipefail" in words[:index] or "pipefail" in script
    found: int | None = None
    for place, (each, _) in enumerate(commands):
        strict = strict or (each[0] == "set" and _turns_on_e(each))
        if start in each:
            found = place
    if found is None:
        return None
    end = commands[found][1].strip("\n") or commands[found][1][:1]
    return _after(shell.program(start), end, commands[found + 1 :], strict, piped)


def _after(
    started: str, end: str, rest: list[tuple[list[str], str]], strict: bool, piped: bool
) -> Hidden | None:
    behind = [shell.program(_program(other) or "") for other, _ in rest]
    if end == "&":
        if all(name in _NEVER_FAIL - {"sleep"} for name in behind):
            return Hidden("background", "&", started)
        return None
    if not rest:
        return None
    if end == "||":
        # What stands behind with `&&` or `;` is only asked for where nothing can fail.
        if all(_ends_with_0(other) for other, _ in rest):
            return Hidden("or", f"|| {' '.join(rest[0][0])}", started)
        return None
    if end in ("|", "|&"):
        last = next((n for n, (_, stop) in enumerate(rest) if stop not in ("|", "|&")), 0)
        if piped or any(name not in _FILTERS for name in behind[: last + 1]):
            return None
        if all(_ends_with_0(other) for other, _ in rest[last + 1 :]):
            return Hidden("pipe", f"{end} {behind[last]}", started)
        return None
    if end in (";", "\n") and not strict and all(_ends_with_0(other) for other, _ in rest):
        return Hidden("after", " ".join(rest[-1][0]), started)
    return None


def _ends_with_0(words: Sequence[str]) -> bool:
    name = shell.program(_program(words) or "")
    return name in _NEVER_FAIL or (name == "exit" and words[-1] == "0")


def _program(words: Sequence[str]) -> str | None:
    """The word that is started: behind assignments of variables."""
    return next((word for word in words if not shell.ASSIGNMENT.match(word)), None)


def _turns_on_e(words: Sequence[str]) -> bool:
    """Whether the options of a shell, or of its `set`, end it at the first failure."""
    return "errexit" in words or any(
        word.startswith("-") and not word.startswith("--") and "e" in word for word in words
    )
