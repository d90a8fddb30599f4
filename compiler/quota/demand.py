"""What a run holds: accelerators by name, or its nodes where it has none."""

from __future__ import annotations

from compiler.model import Run
from compiler.quota.limits import CPU


def demand(run: Run, nodes: int | None = None) -> dict[str, int]:
    """What a run holds at the most, or on so many nodes: accelerators by name, else its nodes."""
    count = run.nodes if nodes is None else nodes
    held: dict[str, int] = {}
    for member, number in ((run.first, 1), (run.others, count - 1)):
        if member.devices is not None and number:
            name = member.devices.name
            held[name] = held.get(name, 0) + member.devices.count * number
    return held or {CPU: count}


def least(run: Run) -> dict[str, int]:
    """What it holds at the least: an elastic run begins with its least nodes."""
    return demand(run, run.least_nodes)
