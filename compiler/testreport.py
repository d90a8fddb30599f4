"""The outcomes of policy tests as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from compiler.diagnostics import Finding
from compiler.policytests import Missing, Outcome
from compiler.reporters.json import finding_data
from compiler.rules import lookup
from compiler.terminal import visible

VERSION = 1


def as_text(outcomes: Sequence[Outcome]) -> str:
    """The tests that fail, with why they do, and a count of all."""
    blocks = ["\n".join(_block(outcome)) for outcome in outcomes if not outcome.passed]
    failed = len(blocks)
    count = f"{len(outcomes)} test{'' if len(outcomes) == 1 else 's'} of policy"
    told = f"{count}: {failed} failed" if failed else f"{count} passed" if outcomes else "no tests"
    return "\n\n".join([*blocks, told]) + "\n"


def _block(outcome: Outcome) -> Iterator[str]:
    about = f": {visible(outcome.description)}" if outcome.description else ""
    yield f"FAILED {visible(outcome.path)}{about}"
    for item in outcome.problems:
        yield from _told(item, "is wrong in the test")
    for missing in outcome.missing:
        yield f"  expected, and not found: {visible(_wanted(missing))}"
        yield f"    --> {_spot(missing)}"
        if missing.near:
            yield f"    = note: {visible(missing.near)}"
    for item in outcome.unexpected:
        yield from _told(item, "found, and not expected")


def _told(item: Finding, how: str) -> Iterator[str]:
    head = f"{item.severity.value}[{item.code}] {item.rule}"
    yield f"  {how}: {head}: {visible(item.message)}"
    places = [(item.place, "-->", ""), *((r.place, ":::", f": {r.message}") for r in item.related)]
    for place, arrow, note in places:
        at = "" if place.line is None else f":{place.line}:{place.column or 1}"
        yield f"    {arrow} {visible(place.path)}{at}{visible(note)}"
    if item.help:
        yield f"    = help: {visible(item.help)}"


def _spot(missing: Missing) -> str:
    return f"{visible(missing.place.path)}:{missing.place.line}:{missing.place.column}"


def _wanted(missing: Missing) -> str:
    expected = missing.expected
    known = lookup(expected.rule)
    assert known is not None
    said = f"[{known.rule.code}] {known.name}"
    said = f"{expected.severity or 'finding'}{said}"
    said += f" at {expected.at}" if expected.at else ""
    return said + (f", saying `{expected.message}`" if expected.message else "")


def as_json(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The outcomes as `schemas/policy-results.schema.json` describes them."""
    failed = sum(not outcome.passed for outcome in outcomes)
    return {
        "version": VERSION,
        "tests": [
            {
                "path": outcome.path,
                "description": outcome.description,
                "passed": outcome.passed,
                "problems": [finding_data(item) for item in outcome.problems],
                "missing": [_missing(missing) for missing in outcome.missing],
                "unexpected": [finding_data(item) for item in outcome.unexpected],
            }
            for outcome in outcomes
        ],
        "summary": {"tests": len(outcomes), "passed": len(outcomes) - failed, "failed": failed},
    }


def _missing(missing: Missing) -> dict[str, Any]:
    expected = missing.expected
    return {
        "rule": expected.rule,
        "severity": expected.severity,
        "at": expected.at,
        "message": expected.message,
        "line": missing.place.line,
        "column": missing.place.column,
        "note": missing.near,
    }
