"""`$(NAME)` in `command`, `args` and `env`, put in as the kubelet does it.

k8s.io/kubernetes, third_party/forked/golang/expansion/expand.go: `$(NAME)` stands for a variable
that is known, `$$` for one dollar sign, and everything else for itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from compiler.refusals import CompilerError

# Bytes. Linux starts no program with a longer word or variable (MAX_ARG_STRLEN in
# include/uapi/linux/binfmts.h); a few variables that double each other pass any limit.
_LONGEST = 128 * 1024
_EXPANDED = re.compile(r"\$(?:(?P<dollar>\$)|\((?P<name>[^)]*)\))")
Object = dict[str, Any]


def listed(owner: Object, field: str) -> list[Any]:
    """A list of an object; empty where there is none."""
    found: list[Any] = owner.get(field) or []
    return found


def expanded(text: str, known: Mapping[str, str]) -> str:
    """The text with the variables that are known put in; others stay as letters.

    Raises CompilerError where it would be longer than what a program can be started with.
    """
    length = len(text)

    def value(match: re.Match[str]) -> str:
        nonlocal length
        found = "$" if match["dollar"] else known.get(match["name"], match[0])
        length += len(found) - len(match[0])
        if length >= _LONGEST:
            raise CompilerError(
                f"`{text[:60]}` has over {_LONGEST // 1024} KiB with its variables put in: "
                "no program starts with that",
                "let the training read it from a file: `files:`",
            )
        return found

    return _EXPANDED.sub(value, text)


def environment(variables: Iterable[Object], pod: str) -> dict[str, str]:
    """The variables of a container's list, each with those before it put in.

    What the cluster would look up becomes a text that says so: `placeholder-<name>` for the key of
    a Secret or a ConfigMap, the pod's name for its own name.
    """
    found: dict[str, str] = {}
    for variable in variables:
        name = str(variable["name"])
        source = variable.get("valueFrom")
        if source is None:
            found[name] = expanded(str(variable.get("value") or ""), found)
        elif source.get("fieldRef", {}).get("fieldPath") == "metadata.name":
            found[name] = pod
        else:
            found[name] = f"placeholder-{name}"
    return found


def looked_up(variables: Iterable[Object]) -> list[str]:
    """The names of the variables that a cluster takes from elsewhere."""
    return [
        str(variable["name"]) for variable in variables if variable.get("valueFrom") is not None
    ]
