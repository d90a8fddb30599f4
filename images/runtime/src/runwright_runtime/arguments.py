"""The arguments of a training: recorded with each checkpoint, and the same when it goes on."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import PurePath

from runwright_runtime.failures import ArgumentsChanged, Unusable

_MISSING = object()


def recorded(arguments: Mapping[str, object]) -> dict[str, object]:
    """The arguments as JSON keeps them, paths as texts. Raises Unusable for one without a form."""
    kept: dict[str, object] = {}
    for name, value in arguments.items():
        plain = str(value) if isinstance(value, PurePath) else value
        try:
            kept[name] = json.loads(json.dumps(plain, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise Unusable(
                f"the argument {name} is {value!r}, which cannot be recorded: give numbers, texts, "
                "lists and maps"
            ) from error
    return kept


def differences(
    before: Mapping[str, object], now: Mapping[str, object], free: Collection[str] = ()
) -> Iterator[str]:
    """One line for each argument that is another one now: `lr: 0.1 → 0.2`."""
    for name in sorted({*before, *now} - set(free)):
        old, new = before.get(name, _MISSING), now.get(name, _MISSING)
        if old is _MISSING or new is _MISSING or json.dumps(old) != json.dumps(new):
            yield f"{name}: {_shown(old)} → {_shown(new)}"


def refuse_change(
    before: Mapping[str, object],
    now: Mapping[str, object],
    free: Collection[str],
    where: str,
) -> None:
    """Raise ArgumentsChanged, with all differences, unless only free ones differ."""
    found = list(differences(before, now, free))
    if found:
        raise ArgumentsChanged(
            f"{where} was made with other arguments ({'; '.join(found)}): give the old ones, or "
            "train in another folder"
        )


def _shown(value: object) -> str:
    return "not given" if value is _MISSING else json.dumps(value, ensure_ascii=False)
