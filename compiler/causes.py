"""Findings that are only the consequence of another one are left out.

A mistake in policy reaches every job that stands on the line. Told at each of them, it buries the
one place where it can be mended; and what such a job says is not known to be wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.diagnostics import Finding, Place, Severity
from compiler.rules import lookup

# What policy names and nobody has.
_NAME = "unknown-name-in-policy"
_TAG = "yaml-tag"
# Where policy weighs and waives: what cannot be read there may be what a finding needs.
_WEIGHTS = ("policy/rules.", "policy/waivers")


def rooted(findings: Sequence[Finding]) -> list[Finding]:
    """The findings without those that rest on a place of policy that is itself reported.

    A finding rests on its own place, where policy made the value, and on what its other places
    show. Where policy's weights or waivers are at fault, so does every finding about a job that
    one of them could be for.
    """
    tags = {_start(item) for item in findings if item.rule == _TAG}
    if tags:
        # Without its tag a value may well be what is wanted.
        findings = [item for item in findings if item.rule == _TAG or _start(item) not in tags]
    names = [item for item in findings if item.rule == _NAME]
    weights = any(
        item.severity is Severity.ERROR and item.place.path.startswith(_WEIGHTS)
        for item in findings
    )
    if not names and not weights:
        return list(findings)
    kept: list[Finding] = []
    for item in findings:
        places = [related.place for related in item.related]
        if item.rule != _NAME and not item.place.path.startswith("jobs/"):
            places.append(item.place)
        if _any_within(names, item, places):
            continue
        if weights and item.place.path.startswith("jobs/") and _weighed(item):
            continue
        kept.append(item)
    return kept


def _any_within(causes: Iterable[Finding], item: Finding, places: Iterable[Place]) -> bool:
    return any(
        cause is not item and _within(cause.place, place) for place in places for cause in causes
    )


def _start(item: Finding) -> tuple[str, int | None, int | None]:
    return item.place.path, item.place.line, item.place.column


def _within(inner: Place, outer: Place) -> bool:
    """Whether a place is a part of another one of the same file."""
    if inner.path != outer.path or inner.line is None or outer.line is None:
        return False
    start = (outer.line, outer.column or 0)
    end = (outer.end_line or outer.line, outer.end_column or 0)
    return start <= (inner.line, inner.column or 0) < end


def _weighed(item: Finding) -> bool:
    known = lookup(item.rule)
    return known is not None and known.rule.kind != "form"
