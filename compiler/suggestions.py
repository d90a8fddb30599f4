"""What to write instead of a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

SHOWN = 10


def nearest(wrong: str, known: Iterable[str], likeness: float = 0.6) -> str | None:
    """The known name that `wrong` was probably meant to be, or None.

    `likeness` is the share of letters, from 0 to 1, that the two must at least have in common.
    """
    from difflib import get_close_matches  # not needed where nothing is wrong

    near = get_close_matches(wrong, list(known), 1, likeness)
    return near[0] if near else None


def choose(
    wrong: str, known: Iterable[str], none: str = "take it out: the catalogue has none"
) -> str:
    """The help for an unknown name: the nearest, else the first few; `none` if there are none."""
    names = sorted(known)
    near = nearest(wrong, names)
    if near is not None:
        return f"write `{near}`"
    return any_of(names) if names else none


def any_of(names: Sequence[str], most: int = SHOWN, start: str = "write") -> str:
    """The help for a choice among names: the only one, else the first few in their order.

    `start` are the words before them: "write", "copy it to".
    """
    if len(names) == 1:
        return f"{start} `{names[0]}`"
    return f"{start} one of: " + ", ".join(names[:most]) + (", ..." if len(names) > most else "")
