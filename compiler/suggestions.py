"""What to write instead of a name that does not exist."""

from __future__ import annotations

import re
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


def choose_accelerator(
    wrong: str,
    known: Iterable[str],
    count: int = 1,
    none: str = "take it out: the catalogue has none",
) -> str:
    """The help for an accelerator that a cluster lacks, of which `count` were read.

    An H200 is no misspelt H100: with other digits a name means another thing.
    """
    names = sorted(known)
    alike = {_plain(name): name for name in names}
    if count == 1 and (found := re.fullmatch(r"(.+?)[xX*_-]([1-9][0-9]?)", wrong)):
        meant = alike.get(_plain(found[1]))
        if meant is not None and _plain(wrong) not in alike:
            return f"write `{meant}:{found[2]}`"
    if (meant := alike.get(_plain(wrong))) is not None:
        return f"write `{meant}`"
    longer = [name for plain, name in alike.items() if plain.startswith(_plain(wrong))]
    if longer:
        return any_of(longer)
    # What another catalogue adds to the name, as the memory in H100-80GB.
    shorter = [n for n in names if re.match(rf"{re.escape(n)}[^A-Za-z0-9]", wrong, re.IGNORECASE)]
    if shorter:
        return f"write `{max(shorter, key=len)}`"
    same = [name for name in names if _digits(name) == _digits(wrong)]
    near = nearest(wrong, same)
    if near is not None:
        return f"write `{near}`"
    return any_of(names) if names else none


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _digits(name: str) -> str:
    return re.sub(r"[^0-9]", "", name)
