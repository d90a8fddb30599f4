"""Which conversations share a sequence."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence


def packed(lengths: Sequence[int], limit: int) -> list[list[int]]:
    """Groups of indices whose lengths sum to at most `limit`: best fit, the longest first.

    The same for the same lengths. A group needs at most a fifth more room than the best way would
    (best fit decreasing: 11/9 of the optimum; Johnson, 1974).
    """
    groups: list[list[int]] = []
    # Room that is left and the group that has it, the least first.
    rooms: list[tuple[int, int]] = []
    for index in sorted(range(len(lengths)), key=lambda index: (-lengths[index], index)):
        length = lengths[index]
        at = bisect_left(rooms, (length, 0))
        if at < len(rooms):
            room, group = rooms.pop(at)
            groups[group].append(index)
        else:
            room, group = limit, len(groups)
            groups.append([index])
        if room > length:
            insort(rooms, (room - length, group))
    return groups
