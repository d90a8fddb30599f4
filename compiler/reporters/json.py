"""For programs: one JSON object, described by `schemas/check.schema.json`."""

from __future__ import annotations

from typing import Any

from compiler.diagnostics import Finding, Place
from compiler.jsontext import json_text
from compiler.report import CheckReport

NAME = "json"
VERSION = 1


def render(report: CheckReport) -> str:
    """One JSON object; letters outside ASCII are escaped, so any reader's encoding will do."""
    return json_text(document(report), ascii=True)


def document(report: CheckReport) -> dict[str, Any]:
    """The report as plain data."""
    return {
        "version": VERSION,
        "findings": [finding_data(finding) for finding in report.findings],
        "summary": {
            "files": report.files,
            "jobs": report.jobs,
            "errors": report.errors,
            "warnings": report.warnings,
            "notices": report.notices,
        },
        "verdict": list(report.verdict),
    }


def finding_data(finding: Finding) -> dict[str, Any]:
    """A finding as plain data; other verbs print findings this way too."""
    return {
        "code": finding.code,
        "rule": finding.rule,
        "severity": finding.severity.value,
        **_place(finding.place),
        "message": finding.message,
        "help": finding.help,
        "related": [
            {
                "path": related.place.path,
                "line": related.place.line,
                "column": related.place.column,
                "message": related.message,
            }
            for related in finding.related
        ],
    }


def _place(place: Place) -> dict[str, Any]:
    return {
        "path": place.path,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }
