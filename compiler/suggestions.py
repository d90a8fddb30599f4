"""What to write instead of a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

SHOWN = 10


def nearest(wrong: str, known: Iterable[str]) -> str | None:
    """The known name that `wrong` was probably meant to be, or None."""
    near = get_close_matches(wrong, list(known), 1, 0.6)
    return near[0] if near else None


def choose(
    wrong: str, known: Iterable[str], none: str = "take it out: the catalogue has none"
) -> str:
    """The help for an unknown name: the nearest, else the first few; `none` if there are none."""
    names = sorted(known)
    near = nearest(wrong, names)
    if near is not None:
        return f"write `{near}`"
    if not names:
        return none
    if len(names) == 1:
        return f"write `{names[0]}`"
    return "write one of: " + ", ".join(names[:SHOWN]) + (", ..." if len(names) > SHOWN else "")
