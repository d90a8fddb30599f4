"""Files of other programs, where one of ours is expected."""

from __future__ import annotations

from collections.abc import Container

from compiler.diagnostics import Finding
from compiler.nodes import Mapping, Node, Scalar
from compiler.rules import finding

# What tells that a file is another program's: keys that it has and no file of ours, and what it is.
_OTHERS = (
    (("apiVersion", "kind"), "an object of Kubernetes"),
    (("services",), "a file of Docker Compose"),
    (("jobs", "on"), "a workflow of GitHub Actions"),
    (("setup", "run"), "a task of SkyPilot"),
)


def pasted(known: Container[str], node: Node, values: str) -> Finding | None:
    """The one finding for a file that is not ours at all, whatever else is strange in it."""
    if not isinstance(node, Mapping):
        return None
    for keys, what in _OTHERS:
        first = node.key(keys[0])
        if first is None or any(key not in node or key in known for key in keys):
            continue
        kind = node.get("kind") if keys[0] == "apiVersion" else None
        shown_kind = f" ({kind})" if isinstance(kind, Scalar) and not kind.empty else ""
        remedy = f"write {values} in its own keys"
        if values == "a job":
            remedy += ": `python -m compiler new JOB` writes one to begin with"
        return finding(
            "unknown-key", first.place, f"this is {what}{shown_kind}, and not {values}", remedy
        )
    return None
