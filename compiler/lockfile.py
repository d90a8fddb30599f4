"""`images/lock.yaml` with one image pinned anew; comments and the order of all else stay."""

from __future__ import annotations

from collections.abc import Mapping
from io import StringIO
from typing import Any


def pinned(text: str, name: str, fields: Mapping[str, str | None]) -> str:
    """The text of a lock with fields of one image set, or (None) taken out; others stay."""
    from ruamel.yaml import YAML

    yaml: Any = YAML()
    yaml.preserve_quotes = True
    yaml.width = 4096
    tree: Any = yaml.load(text)
    if tree is None:
        tree = {"images": {}}
    if tree.get("images") is None:
        tree["images"] = {}
    entry = tree["images"].setdefault(name, {})
    for key, value in fields.items():
        if value is None:
            entry.pop(key, None)
        else:
            entry[key] = value
    out = StringIO()
    yaml.dump(tree, out)
    return out.getvalue()
