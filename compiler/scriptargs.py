"""The settings that a training program gets: `--name=value`, `--name value`, `name=value`.

Frameworks spell one thing in many ways: Megatron-LM `--tensor-model-parallel-size 4`, NeMo
`++model.tensor_model_parallel_size=4`, torchtitan `--parallelism.tensor_parallel_degree 4`. Here it
is one setting with a group (what stands before the last dot) and a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

from compiler.expansion import expanded
from compiler.launch import Launch
from compiler.programs import Word

# Hydra: an override, `+` to add, `++` to add or override (hydra.cc, basic_override grammar).
_OVERRIDE = re.compile(r"\+{0,2}(?P<name>[A-Za-z_][\w./@-]*)=(?P<value>.*)", re.ASCII | re.DOTALL)


class Setting(Struct, frozen=True):
    """One setting: `group` is "" where the name has no dots, `value` None where it is not known.

    `text` is what is written, in one or two words; `name` has `_` for `-`.
    """

    group: str
    name: str
    value: str | None
    text: str
    word: Word

    @property
    def number(self) -> int | None:
        """The value as a whole number, None where it is none or is not known."""
        return (
            int(self.value)
            if self.value is not None and re.fullmatch(r"-?[0-9]{1,9}", self.value)
            else None
        )


def settings(launch: Launch) -> Iterator[Setting]:
    """The settings of the program that a launcher starts, in their order."""
    words = launch.rest
    for index, word in enumerate(words):
        text = word.text
        if text.startswith("-"):
            name, equals, value = text.lstrip("-").partition("=")
            if not equals:
                following = words[index + 1] if index + 1 < len(words) else None
                if following is None or following.text[:2] == "--":
                    continue
                value = following.text
                text = f"{text} {value}"
        else:
            match = _OVERRIDE.fullmatch(text)
            if match is None:
                continue
            name, value = match["name"], match["value"]
        group, _, last = name.replace("-", "_").rpartition(".")
        yield Setting(group, last, expanded(value.strip("'\""), launch.constants), text, word)


def last(launch: Launch) -> dict[tuple[str, str], Setting]:
    """The settings by group and name: of several the last, which wins."""
    return {(found.group, found.name): found for found in settings(launch)}
