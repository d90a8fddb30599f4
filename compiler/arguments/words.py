"""The words that `args:` becomes: a list as it is, a mapping as the image's parser wants it.

Without a schema, and for every argument whose schema says nothing of its style, a mapping is
`--name=value`, and a list in it one such word for each item.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from compiler.arguments.schema import Schema

Inner = tuple[str | int, ...]


def spelled(args: Any, schema: Schema | None = None) -> Iterator[tuple[str, Inner]]:
    """Each word, and where in `args` it comes from."""
    if args is None:
        return
    if not isinstance(args, dict):
        for index, word in enumerate(cast("list[str]", args)):
            yield word, (index,)
        return
    for name, value in cast("dict[str, Any]", args).items():
        prop = schema.find(str(name)) if schema is not None else None
        at: Inner = (str(name),)
        spelt = str(name) if prop is None else prop.name
        style = "repeat" if prop is None else prop.style
        if isinstance(value, list):
            items = [str(item) for item in cast("list[Any]", value)]
            if style == "words":
                yield f"--{spelt}", at
                yield from ((item, (*at, index)) for index, item in enumerate(items))
            elif style == "comma":
                yield f"--{spelt}={','.join(items)}", at
            else:
                yield from ((f"--{spelt}={item}", (*at, index)) for index, item in enumerate(items))
        elif style in ("switch", "pair") and str(value).lower() in ("true", "false"):
            if str(value).lower() == "true":
                yield f"--{spelt}", at
            elif style == "pair":
                yield f"--no-{spelt}", at
        else:
            yield f"--{spelt}={value}", at
