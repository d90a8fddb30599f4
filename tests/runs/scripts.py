"""Histories as lists of steps, drawn before anything happens: the same for every design."""

from __future__ import annotations

import random

Step = tuple[str, int, int]

# What happens, and how often. Two numbers say to whom and how; each is taken modulo what is there.
EVENTS: dict[str, int] = {
    # People edit declarations.
    "learn": 10,
    "way": 8,
    "size": 5,
    "image": 2,
    "note": 3,
    "broken": 4,
    "remove": 4,
    "add": 4,
    "state": 5,
    "expires": 3,
    "move": 5,
    "rerun": 4,
    "from": 2,
    "rename": 4,
    "copy": 1,
    # They take things back.
    "revert": 12,
    "rewind": 5,
    "unpublish": 5,
    # The platform team changes what is around them.
    "cap": 4,
    "quota": 5,
    "base": 2,
    "lock": 3,
    "compiler": 4,
    "guards": 2,
    "halt": 5,
    "unhalt": 3,
    # And what nobody should do, or can help.
    "hand": 3,
    "race": 2,
    "wipe": 2,
    "reset": 2,
    "guarded": 3,
    "wait": 6,
    "told": 4,
}
# Some histories are about one thing: these events come more often then.
THEMES: tuple[dict[str, int], ...] = (
    {},
    {},
    {},
    {"size": 30, "way": 20, "quota": 20, "revert": 20, "add": 10},
    {"size": 20, "learn": 20, "quota": 20, "revert": 30, "state": 10},
    {"halt": 30, "unhalt": 10, "lock": 30, "learn": 20, "way": 15, "size": 15},
    {"rename": 20, "copy": 6, "revert": 20, "remove": 10},
    {"guarded": 25, "remove": 15, "rewind": 15, "move": 10},
)
# What neither starts nor stops a run.
INERT = frozenset({"note", "base", "lock", "compiler", "hand", "race", "unpublish"})


def script(seed: int, least: int = 5, most: int = 9) -> list[Step]:
    """A history: events, and in between publishes, syncs, hours and observations.

    One in ten is twice as long.
    """
    rng = random.Random(seed)
    events = rng.randint(least, most) * (2 if seed % 10 == 9 else 1)
    steps: list[Step] = [("publish", 0, 0), ("sync", 0, 0), ("hours", rng.randrange(1, 9), 0)]
    weights = {**EVENTS, **THEMES[seed % len(THEMES)]}
    for name in rng.choices(list(weights), list(weights.values()), k=events):
        steps.append((name, rng.randrange(1 << 16), rng.randrange(1 << 16)))
        if rng.random() < 0.2:
            steps.append(("observe", rng.randrange(2), rng.randrange(4)))
        if rng.random() < 0.2:
            steps.append(("deliver", rng.randrange(8), rng.randrange(8)))
        if rng.random() < 0.3:
            steps.append(("look", 0, 0))
        if rng.random() < 0.75:
            steps.append(("publish", 0, 0))
        if rng.random() < 0.85:
            steps.append(("sync", 0, 0))
        if rng.random() < 0.6:
            steps.append(("hours", rng.randrange(1, 16), 0))
    return steps
