"""The rows of a verdict as lines of text, for terminals and comments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

# So many holders, waiting jobs and edits of one limit are named.
NAMED = 5


def lines_of(verdict: Iterable[Mapping[str, Any]]) -> list[str]:
    """Each limit that is passed: how much is held and asked for, by whom, and what would fit."""
    made: list[str] = []
    told: set[str] = set()
    for row in verdict:
        unit = row["accelerator"] or "runs"
        unit = "nodes" if unit == "cpu" else unit
        whose = f"{row['team']} on {row['cluster']}" if row["team"] else f"all of {row['cluster']}"
        if row["cluster"] is None:
            # A budget counts over all clusters; what is active may come to so much.
            whose = f"{row['team']} this month"
        at = row["limit_at"]
        made.append(
            f"{whose}: {row['held']:,} of {row['limit']:,} {unit} taken, "
            f"{row['requested']:,} more wanted ({at['path']}:{at['line']})"
        )
        made += _listed("taken by", [_holder(one) for one in row["holders"]])
        waiting = [f"{one['job']} ({one['accelerators']:,})" for one in row["waiting"]]
        made += _listed("wanted by", waiting)
        # One job may pass several limits; what fits, fits them all.
        edits = [one for one in map(_edit, row["edits"]) if one not in told]
        told |= set(edits)
        made += _listed("would fit", edits)
    return made


def _listed(title: str, entries: list[str]) -> Iterator[str]:
    for at, entry in enumerate(entries[:NAMED]):
        yield f"  {title if at == 0 else '':<9}  {entry}"
    if len(entries) > NAMED:
        yield f"  {'':<9}  and {len(entries) - NAMED:,} more"


def _holder(one: Mapping[str, Any]) -> str:
    team = one["job"].partition("/")[0]
    name = f"{team}/{one['run']}" if one["run"] else one["job"]
    when = f"until {one['until'][:16]}Z" if one["until"] else ""
    if not one["run"]:
        when = "would start"
    said = ", ".join(part for part in (when, one["owner"]) if part)
    return f"{name} ({one['accelerators']:,}){f': {said}' if said else ''}"


def _edit(one: Mapping[str, str]) -> str:
    return f"{one['job']} with {one['field']}: {one['from']} → {one['to']}"
