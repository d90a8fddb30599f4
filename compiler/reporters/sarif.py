"""For code scanning: SARIF 2.1.0 (OASIS, sections named below).

Columns are code points (3.14.17, `columnKind`); paths count from the root of the git work tree,
which readers know as `%SRCROOT%` (3.14.14).
"""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import compiler
from compiler.diagnostics import Edit, Finding, Place, Severity
from compiler.jsontext import json_text
from compiler.report import CheckReport
from compiler.rules import lookup

NAME = "sarif"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}


def render(report: CheckReport) -> str:
    """One SARIF log with one run; valid without findings too."""
    return json_text(document(report), ascii=True)


def document(report: CheckReport) -> dict[str, Any]:
    """The log as plain data."""
    names = sorted({finding.rule for finding in report.findings})
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "runwright",
                        "version": compiler.__version__,
                        "semanticVersion": compiler.__version__,
                        "rules": [_rule(name, report) for name in names],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "originalUriBaseIds": {
                    "%SRCROOT%": {"description": {"text": "The root of the git work tree."}}
                },
                "results": [
                    _result(finding, names.index(finding.rule), report.prefix)
                    for finding in report.findings
                ],
            }
        ],
    }


def _rule(name: str, report: CheckReport) -> dict[str, Any]:
    """A reporting descriptor (3.49): what the rule's page says."""
    registered = lookup(name)
    if registered is None:
        code = next(finding.code for finding in report.findings if finding.rule == name)
        return {"id": code, "name": name}
    page = registered.page.strip()
    return {
        "id": registered.rule.code,
        "name": name,
        "shortDescription": {"text": registered.title + "."},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[registered.rule.severity]},
        "properties": {"tags": [registered.rule.stage]},
    }


def _result(finding: Finding, index: int, prefix: str) -> dict[str, Any]:
    text = finding.message + (f"\nhelp: {finding.help}" if finding.help else "")
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": _location(finding.place, prefix)}],
    }
    if finding.related:
        result["relatedLocations"] = [
            {
                "id": number,
                "physicalLocation": _location(related.place, prefix),
                "message": {"text": related.message},
            }
            for number, related in enumerate(finding.related, 1)
        ]
    if finding.edits:
        result["fixes"] = [{"artifactChanges": _changes(finding.edits, prefix)}]
    return result


def _changes(edits: tuple[Edit, ...], prefix: str) -> list[dict[str, Any]]:
    return [
        {
            "artifactLocation": _artifact(path, prefix),
            "replacements": [
                {"deletedRegion": _region(edit.place), "insertedContent": {"text": edit.text}}
                for edit in edits
                if edit.place.path == path
            ],
        }
        for path in dict.fromkeys(edit.place.path for edit in edits)
    ]


def _location(place: Place, prefix: str) -> dict[str, Any]:
    location: dict[str, Any] = {"artifactLocation": _artifact(place.path, prefix)}
    if place.line is not None:
        location["region"] = _region(place)
    return location


def _artifact(path: str, prefix: str) -> dict[str, str]:
    raw = (prefix + path).encode("utf-8", "surrogateescape")
    return {"uri": quote(raw), "uriBaseId": "%SRCROOT%"}


def _region(place: Place) -> dict[str, int]:
    """A region (3.30): lines and columns from 1, the end column exclusive, as ours."""
    line = place.line or 1
    region = {"startLine": line}
    if place.column is not None:
        region["startColumn"] = place.column
    if place.end_line is not None:
        region["endLine"] = max(line, place.end_line)
    if place.end_column is not None:
        region["endColumn"] = place.end_column
    return region
