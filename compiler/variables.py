"""Environment variables: their order, and the references between them."""

from __future__ import annotations

import re

REFERENCE = re.compile(r"\$\$|\$\(([-._a-zA-Z][-._a-zA-Z0-9]*)\)")


def references(text: str) -> list[str]:
    """The names that Kubernetes would expand in a text: $(NAME), but not $$(NAME)."""
    return [match[1] for match in REFERENCE.finditer(text) if match[1]]


def circular(texts: dict[str, str]) -> list[str]:
    """The names of a circle of references, the first one repeated at the end; [] for none."""
    done: set[str] = set()
    for start, text in texts.items():
        if start in done:
            continue
        # The way to where we are: each name with those of its references still to be followed.
        path = {start: iter(references(text))}
        while path:
            name = next(reversed(path))
            other = next((r for r in path[name] if r in texts and r not in done), None)
            if other is None:
                done.add(name)
                del path[name]
            elif other in path:
                names = list(path)
                return [*names[names.index(other) :], other]
            else:
                path[other] = iter(references(texts[other]))
    return []


def circle_in_words(circle: list[str]) -> tuple[str, str]:
    """Message and help for a circle of references."""
    if len(circle) == 2:
        name = circle[0]
        return f"`{name}` refers to itself", f"write $$({name}) for these letters, or another name"
    shown = circle if len(circle) < 8 else [*circle[:5], "...", *circle[-2:]]
    return (
        "these variables refer to one another in a circle: " + " -> ".join(shown),
        "write one of them without $(...)",
    )


def ordered(texts: dict[str, str]) -> dict[str, str]:
    """The variables in their own order, but each after those that it refers to.

    The kubelet expands $(NAME) only for names that stand earlier in the list
    (k8s.io/kubernetes pkg/kubelet/kubelet_pods.go, makeEnvironmentVariables). There must be no
    circle.
    """
    placed: dict[str, str] = {}
    for start in texts:
        stack = [start]
        while stack:
            name = stack[-1]
            waiting = [
                r for r in references(texts[name]) if r in texts and r not in placed and r != name
            ]
            if name in placed or not waiting:
                placed.setdefault(name, texts[name])
                stack.pop()
            else:
                stack += waiting[:1]
    return placed
