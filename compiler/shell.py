"""What a shell script runs, as far as it can be told without running it.

The reader splits a script into simple commands and their words, by the rules of POSIX shells that
matter for training scripts: quotes, escapes, continued lines, comments, substitutions,
redirections and here-documents. It never fails: what it does not understand stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import PurePosixPath

from msgspec import Struct

SHELLS = frozenset({"sh", "bash", "dash", "ash", "zsh", "ksh"})
_ENDS = frozenset("\n;&|()")
# What may stand before the program of a command.
ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=", re.ASCII)
_VARIABLE = re.compile(
    r"\$(?:(?P<bare>[A-Za-z_]\w*)|\{[#!]?(?P<braced>[A-Za-z_]\w*)(?P<rest>[^}]*)\})", re.ASCII
)
# What people write for a shell to expand where none runs: a variable in capitals.
UNEXPANDED = re.compile(
    r"(?<!\$)\$(?:(?P<bare>[A-Z][A-Z0-9_]*)(?![a-z(])|\{(?P<braced>[A-Z][A-Z0-9_]*)(?P<rest>[^A-Za-z0-9_}][^}]*)?\})"
)
_ASSIGNED = re.compile(
    r"(?:^|[\s;&|({])(?:(?P<set>[A-Za-z_]\w*)\+?=|(?:read(?:\s+-\w+)*|for)\s+(?P<read>[A-Za-z_]\w*))",
    re.ASCII | re.MULTILINE,
)
_SOURCED = re.compile(r"(?:^|[\s;&|({])(?:\.|source|eval)\s", re.MULTILINE)
_POSITIONAL = re.compile(r"\$(?:[0-9@*#]|\{[#!]?[0-9@*])")


class Use(Struct, frozen=True):
    """A variable that a script reads; `optional` where the script has a value without it."""

    name: str
    text: str
    optional: bool


@lru_cache(maxsize=4096)
def program(word: str) -> str:
    """The name of the program that a word starts: the last part of its path."""
    return PurePosixPath(word).name


def script_index(words: Sequence[str]) -> int | None:
    """The index of the script in the words of a shell (`bash -c SCRIPT`), None if there is none.

    `words[0]` is the shell. Options may be bundled (`-lc`, `-euxc`) and may have a value
    (`-o pipefail`).
    """
    if not words or program(words[0]) not in SHELLS:
        return None
    script = False
    index = 1
    while index < len(words):
        word = words[index]
        if word == "--" or len(word) < 2 or word[0] not in "-+":
            break
        if not word.startswith("--"):
            script = script or (word[0] == "-" and "c" in word[1:])
            index += word[-1] in "oO"
        index += 1
    if index < len(words) and words[index] == "--":
        index += 1
    return index if script and index < len(words) else None


def commands(script: str) -> list[list[str]]:
    """The simple commands of a script, each as its words.

    A word keeps the letters of the variables and substitutions in it (`$RANK`, `$(nproc)`).
    """
    return _Reader(script).commands()


def sequence(script: str) -> list[tuple[list[str], str]]:
    """The simple commands of a script in their order, each with what ends it.

    That is the operator (`;`, `&&`, `||`, `|`, `&`), a line's end, a bracket, or several of them.
    """
    reader = _Reader(script)
    return list(zip(reader.commands(), reader.ends, strict=True))


def uses(script: str) -> Iterator[Use]:
    """The variables that the shell itself reads: not those in single quotes or comments."""
    seen: set[tuple[str, bool]] = set()
    for match in _VARIABLE.finditer(_expanded(script)):
        name = match["bare"] or match["braced"]
        # `${X:?}` fails without the variable; every other operator gives a value or an empty one.
        rest = (match["rest"] or "").lstrip(":")
        optional = rest[:1] in ("-", "=", "+")
        if (name, optional) not in seen:
            seen.add((name, optional))
            yield Use(name, match[0], optional)


def assigned(script: str) -> frozenset[str]:
    """The names that the script itself gives a value to."""
    return frozenset(match["set"] or match["read"] for match in _ASSIGNED.finditer(script))


def reads_elsewhere(script: str) -> bool:
    """Whether the script takes variables from another file or from text that it evaluates."""
    return _SOURCED.search(script) is not None


def takes_arguments(script: str) -> bool:
    """Whether the script reads the words after it (`$@`, `$1`)."""
    return _POSITIONAL.search(_expanded(script)) is not None


def _expanded(script: str) -> str:
    """The script without what a shell leaves as it is: single quotes, comments, escaped dollars."""
    kept: list[str] = []
    index, double = 0, False
    while index < len(script):
        letter = script[index]
        if letter == "\\":
            index += 2
            continue
        if letter == "'" and not double:
            end = script.find("'", index + 1)
            index = len(script) if end < 0 else end + 1
            kept.append(" ")
            continue
        if letter == "#" and not double and (index == 0 or script[index - 1] in " \t\n;&|("):
            end = script.find("\n", index)
            index = len(script) if end < 0 else end
            continue
        if letter == '"':
            double = not double
        kept.append(letter)
        index += 1
    return "".join(kept)


class _Reader:
    def __init__(self, script: str) -> None:
        self.script = script
        self.index: int = 0
        self.word: str | None = None
        self.words: list[str] = []
        self.found: list[list[str]] = []
        self.ends: list[str] = []
        self.documents: list[str] = []

    def commands(self) -> list[list[str]]:
        while self.index < len(self.script):
            self.step(self.script[self.index])
        self.end_command()
        return self.found

    def step(self, letter: str) -> None:
        if letter == "\\":
            following = self.script[self.index + 1 : self.index + 2]
            self.index += 2
            if following == "\r" and self.script[self.index : self.index + 1] == "\n":
                self.index += 1
            elif following != "\n":
                self.add(following)
        elif letter == "'":
            end = self.script.find("'", self.index + 1)
            end = len(self.script) if end < 0 else end
            self.add(self.script[self.index + 1 : end])
            self.index = end + 1
        elif letter == '"':
            self.quoted()
        elif letter in "$`":
            self.add(self.substitution())
        elif letter == "#" and self.word is None:
            end = self.script.find("\n", self.index)
            self.index = len(self.script) if end < 0 else end
        elif letter in "<>" or self.script[self.index : self.index + 2] == "&>":
            self.redirection()
        elif letter in _ENDS:
            self.index += 1
            self.end_command()
            if self.ends:
                self.ends[-1] += letter
            if letter == "\n":
                self.skip_documents()
        elif letter.isspace():
            self.index += 1
            self.end_word()
        else:
            self.add(letter)
            self.index += 1

    def add(self, text: str) -> None:
        self.word = (self.word or "") + text

    def end_word(self) -> None:
        if self.word is not None:
            self.words.append(self.word)
        self.word = None

    def end_command(self) -> None:
        self.end_word()
        if self.words:
            self.found.append(self.words)
            self.ends.append("")
        self.words = []

    def quoted(self) -> None:
        self.index += 1
        self.add("")
        while self.index < len(self.script):
            letter = self.script[self.index]
            if letter == '"':
                break
            if letter == "\\" and self.script[self.index + 1 : self.index + 2] in '"\\$`\n':
                following = self.script[self.index + 1 : self.index + 2]
                self.add("" if following == "\n" else following)
                self.index += 2
            elif letter in "$`":
                self.add(self.substitution())
            else:
                self.add(letter)
                self.index += 1
        self.index += 1

    def substitution(self) -> str:
        """The text of `$NAME`, `${...}`, `$(...)` or backquotes, which begins here."""
        start = self.index
        opening = self.script[start : start + 2]
        if opening in ("$(", "${"):
            close = ")" if opening == "$(" else "}"
            depth, self.index = 1, start + 2
            while self.index < len(self.script) and depth:
                depth += (self.script[self.index] == opening[1]) - (
                    self.script[self.index] == close
                )
                self.index += 1
        elif opening[0] == "`":
            end = self.script.find("`", start + 1)
            self.index = len(self.script) if end < 0 else end + 1
        else:
            self.index = start + 1
        return self.script[start : self.index]

    def redirection(self) -> None:
        """Step over `>file`, `2>&1`, `<<EOF`; the file's name is no word of the command."""
        if self.word is not None and not self.word.isdigit():
            self.end_word()
        self.word = None
        match = re.compile(r"<<-?|&>>?|[<>]+[|&]?").match(self.script, self.index)
        assert match is not None
        self.index = match.end()
        target = re.compile(r"[ \t]*(?P<q>['\"]?)([^\s;&|()'\"]*)(?P=q)").match(
            self.script, self.index
        )
        if target is not None:
            self.index = target.end()
            if match[0] in ("<<", "<<-") and target[2]:
                self.documents.append(target[2])

    def skip_documents(self) -> None:
        for end in self.documents:
            match = re.compile(rf"^\t*{re.escape(end)}$", re.MULTILINE).search(
                self.script, self.index
            )
            self.index = len(self.script) if match is None else match.end()
        self.documents = []
