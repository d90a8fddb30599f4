"""A command line as the arguments that an image declares, in the spellings that a job's may have.

Needs pydantic, which the image brings.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pydantic import BaseModel

    M = TypeVar("M", bound=BaseModel)


def read(model: type[M], words: Sequence[str]) -> M:
    """The arguments of a command line, each as `--name=value` with `-` or `_` in its name.

    A list is given by repeating its name; a truth value also as `--name` or `--no-name`. Ends the
    process, as argparse does, with status 2 where one is wrong.
    """
    return validated(model, given(model, words))


def given(model: type[BaseModel], words: Sequence[str]) -> dict[str, Any]:
    """What a command line says, by the arguments' names: texts, and lists of them."""
    found = vars(_parser(model).parse_args(words))
    return {name: text for name, text in found.items() if text is not None}


def validated(model: type[M], values: Mapping[str, Any]) -> M:
    """The arguments with these values. Ends the process as `read` does."""
    from pydantic import ValidationError

    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        reasons = [
            f"{'.'.join(map(str, item['loc'])) or 'arguments'}: {item['msg']}"
            for item in error.errors()
        ]
        _parser(model).error("; ".join(reasons))


def _parser(model: type[BaseModel]) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=model.__doc__, allow_abbrev=False)
    for name, field in model.model_fields.items():
        spellings = dict.fromkeys((f"--{name.replace('_', '-')}", f"--{name}"))
        more: dict[str, Any] = {}
        if field.annotation is bool:
            more = {"nargs": "?", "const": "true"}
            negated = dict.fromkeys((f"--no-{name.replace('_', '-')}", f"--no-{name}"))
            parser.add_argument(
                *negated, dest=name, action="store_const", const="false", help=argparse.SUPPRESS
            )
        elif field.annotation == list[str]:
            more = {"action": "append"}
        text = f"{field.description} Default: {field.default}".replace("%", "%%")
        parser.add_argument(*spellings, dest=name, default=None, help=text, **more)
    return parser
