"""The four forms of a report."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from msgspec.structs import replace

from compiler.diagnostics import Edit, Finding, Place, Related, Severity, arrange
from compiler.report import CheckReport, folded, render, tally
from compiler.schemas import schemas
from compiler.source import decode

JOB = "team: nlp\n\naccelerators: H100:0.5\n"
POLICY = "backend: {}\nqueues:\n  research: {}\n"


def finding(place: Place, **fields: Any) -> Finding:
    base = Finding(
        rule="fractional-accelerators",
        code="RES403",
        severity=Severity.ERROR,
        message="`H100:0.5`: a pod gets whole accelerators",
        place=place,
        help="write H100:1",
    )
    return replace(base, **fields)


HALF = finding(Place("jobs/x.yaml", 3, 15, 3, 23))


def report(findings: Sequence[Finding], colored: bool = False, **files: str) -> CheckReport:
    texts = {"jobs/x.yaml": JOB, "policy/clusters/west.yaml": POLICY} | files
    sources = {path: decode(path, text.encode())[0] for path, text in texts.items()}
    return CheckReport(
        findings, files=3, jobs=1, source=sources.get, root=Path("/nowhere/at/all"), colored=colored
    )


def drawn(place: Place, text: str) -> list[str]:
    """The two lines of a snippet: source text and marks, without the gutter."""
    printed = render("text", report([finding(place)], **{place.path: text})).splitlines()
    bar = next(i for i, line in enumerate(printed) if line.strip() == "|")
    return [line.partition("|")[2][1:] for line in printed[bar + 1 : bar + 3]]


def test_text_shows_the_line_the_mark_the_help_and_the_tally() -> None:
    assert render("text", report([HALF])) == (
        "error[RES403] fractional-accelerators: `H100:0.5`: a pod gets whole accelerators\n"
        " --> jobs/x.yaml:3:15\n"
        "  |\n"
        "3 | accelerators: H100:0.5\n"
        "  |               ^^^^^^^^\n"
        "  |\n"
        "  = help: write H100:1\n"
        "\n"
        "1 error in 3 files (1 job)\n"
        "`python -m compiler explain RES403` tells more about a rule\n"
    )


def test_text_shows_related_places_in_this_file_and_in_another() -> None:
    related = (
        Related(Place("policy/clusters/west.yaml", 3, 3, 3, 11), "the queue"),
        Related(Place("jobs/x.yaml", 1, 1, 1, 5), "the team"),
    )
    assert render("text", report([replace(HALF, related=related)])).splitlines()[1:14] == [
        " --> jobs/x.yaml:3:15",
        "  |",
        "1 | team: nlp",
        "  | ---- the team",
        "...",
        "3 | accelerators: H100:0.5",
        "  |               ^^^^^^^^",
        "  |",
        " ::: policy/clusters/west.yaml:3:3",
        "  |",
        "3 |   research: {}",
        "  |   -------- the queue",
        "  |",
    ]


def test_text_lines_the_gutter_up_for_the_longest_number() -> None:
    text = "a: 1\n" * 120
    related = (Related(Place("jobs/x.yaml", 9, 1, 9, 2), "first"),)
    made = finding(Place("jobs/x.yaml", 101, 4, 101, 5), related=related)
    lines = render("text", report([made], **{"jobs/x.yaml": text})).splitlines()
    assert "  9 | a: 1" in lines
    assert "101 | a: 1" in lines
    assert "   --> jobs/x.yaml:101:4" in lines


def test_text_of_a_clean_check_is_the_tally_alone() -> None:
    assert render("text", report([])) == "no findings in 3 files (1 job)\n"


def test_text_without_a_line_or_a_source_still_names_the_places() -> None:
    related = (Related(Place("jobs/gone.yaml", 4, 2, 4, 3), "the first"),)
    whole = finding(Place("jobs/gone.yaml"), related=related)
    lines = render("text", report([whole])).splitlines()
    assert "--> jobs/gone.yaml" in [line.strip() for line in lines]
    assert "--> jobs/gone.yaml:4:2: the first" in [line.strip() for line in lines]
    empty = finding(Place("jobs/x.yaml", 1, 1, 1, 1))
    assert "team: nlp" not in render("text", report([empty]))


def test_text_colours_only_when_asked() -> None:
    plain, bright = render("text", report([HALF])), render("text", report([HALF], colored=True))
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", bright) == plain


def test_text_marks_under_tabs_and_wide_letters() -> None:
    assert drawn(Place("a.yaml", 1, 7, 1, 9), "漢字\tx: ab\n") == ["漢字    x: ab", " " * 11 + "^^"]
    assert drawn(Place("a.yaml", 1, 1, 1, 3), "漢字: b\n") == ["漢字: b", "^^^^"]


def test_text_of_a_span_over_lines_marks_the_rest_of_its_first_line() -> None:
    assert drawn(Place("a.yaml", 1, 4, 3, 2), "a: [b,\n c,\n]\n") == ["a: [b,", "   ^^^"]


def test_text_marks_an_empty_span_and_one_past_the_end() -> None:
    assert drawn(Place("a.yaml", 1, 3, 1, 3), "a:\n") == ["a:", "  ^"]
    assert drawn(Place("a.yaml", 2, 9, 2, 12), "a:\nb:\n") == ["b:", "  ^"]


@given(
    before=st.integers(0, 400),
    after=st.integers(0, 400),
    size=st.integers(1, 300),
    wide=st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_text_cuts_a_long_line_around_its_mark(
    before: int, after: int, size: int, wide: bool
) -> None:
    text = ("字" if wide else "b") * before + "M" * size + "a" * after
    shown, marks = drawn(Place("a.yaml", 1, before + 1, 1, before + size + 1), text + "\n")
    assert len(shown) <= 100
    columns = [c for c in shown for _ in range(2 if c == "字" else 1)]
    under = [columns[at] for at, sign in enumerate(marks) if sign == "^"]
    assert under
    assert set(under) == {"M"}
    # Nothing of the mark is left out as long as it fits.
    assert len(under) == size or len(under) > 50


def test_text_obeys_no_control_character_of_a_file_or_a_message() -> None:
    made = finding(Place("jobs/x.yaml", 1, 1, 1, 2), message="bad\x1b[2J\nvalue\u202e")
    printed = render("text", report([made], **{"jobs/x.yaml": "a\u00a0\u3000b\n"}))
    assert "\x1b" not in printed
    assert "bad\\x1b[2J\\nvalue\\u202e" in printed


def caused_by_policy(job: int) -> Finding:
    return finding(
        Place("policy/clusters/west.yaml", 1, 1, 1, 8),
        related=(Related(Place(f"jobs/j{job}.yaml", 1, 1, 1, 2), "in this job"),),
    )


def test_one_cause_in_policy_is_told_once_and_counted_for_each_job() -> None:
    findings = [caused_by_policy(job) for job in range(9)]
    printed = render("text", report([*findings, HALF]))
    assert printed.count("error[RES403]") == 2
    assert (
        "= note: the same in jobs/j1.yaml, jobs/j2.yaml, jobs/j3.yaml, jobs/j4.yaml, jobs/j5.yaml"
        " and 3 more" in printed
    )
    assert "10 errors in 3 files" in printed
    assert len(json.loads(render("json", report(findings)))["findings"]) == 9


def test_only_equal_causes_are_folded() -> None:
    other_rule = replace(caused_by_policy(1), rule="missing-base")
    other_place = replace(caused_by_policy(2), place=Place("policy/clusters/west.yaml", 2, 1, 2, 3))
    own = replace(HALF, related=(Related(Place("jobs/y.yaml", 1, 1, 1, 2), "the other job"),))
    alone = replace(caused_by_policy(3), related=())
    findings = [caused_by_policy(0), other_rule, other_place, own, alone, alone]
    assert [(first, len(more)) for first, more in folded(findings)] == [(f, 0) for f in findings]


@pytest.mark.parametrize(
    ("severities", "words"),
    [
        ([], "no findings in 3 files (1 job)"),
        (["error", "error"], "2 errors in 3 files (1 job)"),
        (["warning", "error"], "1 error and 1 warning in 3 files (1 job)"),
        (["notice", "warning", "error"], "1 error, 1 warning and 1 notice in 3 files (1 job)"),
    ],
)
def test_tally_counts_in_words(severities: list[str], words: str) -> None:
    assert tally(report([HALF.with_severity(Severity(word)) for word in severities])) == words


def test_status_is_1_for_errors_and_under_strict_for_warnings() -> None:
    def status(severity: str, strict: bool) -> int:
        return report([HALF.with_severity(Severity(severity))]).status(strict)

    assert [status("error", False), status("error", True)] == [1, 1]
    assert [status("warning", False), status("warning", True)] == [0, 1]
    assert [status("notice", False), status("notice", True)] == [0, 0]
    assert report([]).status(strict=True) == 0


def test_unknown_form_is_refused() -> None:
    for form in ("xml", "../text", "__init__x"):
        with pytest.raises(ValueError):
            render(form, report([]))


def annotations(text: str) -> list[tuple[str, dict[str, str], str]]:
    """Workflow commands as the runner reads them (actions/runner, ActionCommand.cs)."""
    found: list[tuple[str, dict[str, str], str]] = []
    for line in text.splitlines():
        match = re.fullmatch(r"::(\w+) ?(.*?)::(.*)", line)
        if match is None:
            continue
        kind, written, message = match.groups()
        properties = {}
        for part in written.split(","):
            key, _, value = part.partition("=")
            value = value.replace("%3A", ":").replace("%2C", ",")
            properties[key] = unescaped(value)
        found.append((kind, properties, unescaped(message)))
    return found


def unescaped(text: str) -> str:
    return text.replace("%0D", "\r").replace("%0A", "\n").replace("%25", "%")


def test_github_annotates_with_line_and_columns() -> None:
    ((kind, properties, message),) = annotations(render("github", report([HALF])))
    assert kind == "error"
    assert properties == {
        "file": "jobs/x.yaml",
        "line": "3",
        "endLine": "3",
        "col": "15",
        "endColumn": "22",
        "title": "RES403 fractional-accelerators",
    }
    assert message == f"{HALF.message}\nhelp: write H100:1"


def test_github_gives_no_columns_over_several_lines_and_no_line_for_a_file() -> None:
    long = finding(Place("jobs/x.yaml", 1, 3, 2, 1))
    whole = finding(Place("jobs/x.yaml"))
    first, second = annotations(render("github", report([long, whole])))
    assert (first[1]["line"], first[1]["endLine"]) == ("1", "2")
    assert "col" not in first[1]
    assert set(second[1]) == {"file", "title"}


@given(message=st.text(), name=st.text(min_size=1))
@settings(max_examples=100, deadline=None)
def test_github_escapes_what_would_end_a_command(message: str, name: str) -> None:
    path = f"jobs/{name}"
    made = finding(Place(path, 1, 1, 1, 2), message=message, help="")
    text = render("github", report([made]))
    first = text.split("\n")[0]
    assert "\r" not in text
    assert first.startswith("::error file=jobs/")
    match = re.fullmatch(r"::error (.*?)::(.*)", first)
    assert match is not None
    assert unescaped(match[2]) == message
    file = match[1].partition(",")[0].removeprefix("file=")
    assert unescaped(file.replace("%3A", ":").replace("%2C", ",")) == path


def many(severity: Severity, number: int) -> list[Finding]:
    return [
        finding(Place("jobs/x.yaml", line, 1, line, 2), severity=severity)
        for line in range(1, number + 1)
    ]


def test_github_shows_ten_of_a_kind_worst_first_and_counts_the_rest() -> None:
    findings = [*many(Severity.NOTICE, 3), *many(Severity.WARNING, 10), *many(Severity.ERROR, 25)]
    text = render("github", report(arrange(findings)))
    found = annotations(text)
    assert [kind for kind, _, _ in found] == ["error"] * 10 + ["warning"] * 10 + ["notice"] * 3
    assert [int(p["line"]) for _, p, _ in found[:9]] == list(range(1, 10))
    assert found[9][2] == "16 more of this kind in 1 file, see the log of this step"
    assert all("line" in properties for _, properties, _ in found[10:])
    # What did not fit is in the log, in lines that are no commands.
    rest = [line for line in text.splitlines() if line.startswith(" jobs/x.yaml:")]
    assert len(rest) == 16
    assert rest[0].startswith(" jobs/x.yaml:10:1: error[RES403]")


def test_github_tells_one_cause_once() -> None:
    text = render("github", report([caused_by_policy(job) for job in range(30)]))
    ((_, _, message),) = annotations(text)
    assert message.endswith("and the same 29 times more, see the log of this step")
    assert text.count("\n policy/clusters/west.yaml:1:1: error") == 29


def test_paths_count_from_the_work_tree_for_github_and_sarif(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    inner = tmp_path / "configs" / "jobs repo"
    inner.mkdir(parents=True)
    made = replace(report([HALF]), root=inner)
    assert annotations(render("github", made))[0][1]["file"] == "configs/jobs repo/jobs/x.yaml"
    result = json.loads(render("sarif", made))["runs"][0]["results"][0]
    uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    assert uri == "configs/jobs%20repo/jobs/x.yaml"
    assert json.loads(render("json", made))["findings"][0]["path"] == "jobs/x.yaml"
    assert replace(made, root=tmp_path).prefix == ""


def test_json_has_the_keys_that_programs_rely_on() -> None:
    related = (Related(Place("policy/clusters/west.yaml", 3, 3, 3, 11), "the queue"),)
    assert json.loads(render("json", report([replace(HALF, related=related)]))) == {
        "version": 1,
        "findings": [
            {
                "code": "RES403",
                "rule": "fractional-accelerators",
                "severity": "error",
                "path": "jobs/x.yaml",
                "line": 3,
                "column": 15,
                "end_line": 3,
                "end_column": 23,
                "message": "`H100:0.5`: a pod gets whole accelerators",
                "help": "write H100:1",
                "related": [
                    {
                        "path": "policy/clusters/west.yaml",
                        "line": 3,
                        "column": 3,
                        "message": "the queue",
                    }
                ],
            }
        ],
        "summary": {"files": 3, "jobs": 1, "errors": 1, "warnings": 0, "notices": 0},
        "verdict": [],
    }


CHECK = Draft202012Validator(schemas()["check"])
places = st.one_of(
    st.just(Place("jobs/x.yaml")),
    st.builds(
        lambda line, column, more: Place("jobs/x.yaml", line, column, line + more, column + 1),
        st.integers(1, 4),
        st.integers(1, 30),
        st.integers(0, 2),
    ),
    st.just(Place("policy/clusters/west.yaml", 1, 1, 1, 1)),
    st.just(Place("jobs/sp ace/ü#?%.yaml", 2, 1, 2, 5)),
)
findings_drawn = st.lists(
    st.builds(
        finding,
        places,
        severity=st.sampled_from(Severity),
        message=st.text(),
        help=st.text(),
        related=st.lists(st.builds(Related, places, st.text()), max_size=2).map(tuple),
        edits=st.lists(
            st.builds(Edit, st.just(Place("jobs/x.yaml", 1, 1, 1, 5)), st.text()), max_size=2
        ).map(tuple),
    ),
    max_size=4,
)


@given(findings=findings_drawn)
@settings(max_examples=150, deadline=None)
def test_every_form_takes_any_finding(findings: list[Finding]) -> None:
    made = report(findings)
    printed = render("text", made)
    assert all(line.isprintable() for line in printed.split("\n"))
    assert render("github", made).endswith(f" {tally(made)}\n")
    data = json.loads(render("json", made))
    CHECK.validate(data)
    Draft202012Validator(SARIF).validate(json.loads(render("sarif", made)))


def test_sarif_is_valid_without_findings() -> None:
    log = json.loads(render("sarif", report([])))
    Draft202012Validator(SARIF).validate(log)
    assert log["runs"][0]["results"] == []
    assert log["runs"][0]["tool"]["driver"]["rules"] == []


def test_sarif_results_point_to_their_rule_place_and_fix() -> None:
    edit = Edit(Place("jobs/x.yaml", 3, 15, 3, 23), "H100:1")
    related = (Related(Place("policy/clusters/west.yaml", 3, 3, 3, 11), "the queue"),)
    other = finding(Place("jobs/a b.yaml"), rule="bad-name", code="NAM301")
    made = [replace(HALF, related=related, edits=(edit,)), other.with_severity(Severity.NOTICE)]
    (run,) = json.loads(render("sarif", report(made)))["runs"]
    rules = run["tool"]["driver"]["rules"]
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    assert {rule["id"] for rule in rules} == {"RES403", "NAM301"}
    half, name = run["results"]
    assert "## What it does" in rules[half["ruleIndex"]]["help"]["markdown"]
    assert half["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "jobs/x.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 3, "startColumn": 15, "endLine": 3, "endColumn": 23},
    }
    (replacement,) = half["fixes"][0]["artifactChanges"][0]["replacements"]
    assert replacement["insertedContent"] == {"text": "H100:1"}
    assert half["relatedLocations"][0]["message"] == {"text": "the queue"}
    assert name["level"] == "note"
    location = name["locations"][0]["physicalLocation"]
    assert "region" not in location
    assert unquote(location["artifactLocation"]["uri"]) == "jobs/a b.yaml"


# The parts of the SARIF 2.1.0 schema that our logs use, with its constraints (sections 3.13-3.58).
_MESSAGE = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}}
_REGION = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        key: {"type": "integer", "minimum": 1}
        for key in ("startLine", "startColumn", "endLine", "endColumn")
    },
    "required": ["startLine"],
}
_ARTIFACT = {
    "type": "object",
    "required": ["uri", "uriBaseId"],
    "additionalProperties": False,
    "properties": {
        # A relative reference: no scheme, nothing that a URI may not hold.
        "uri": {"type": "string", "pattern": r"^(?!/)(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+$"},
        "uriBaseId": {"const": "%SRCROOT%"},
    },
}
_PHYSICAL = {
    "type": "object",
    "required": ["artifactLocation"],
    "additionalProperties": False,
    "properties": {"artifactLocation": _ARTIFACT, "region": _REGION},
}
_LOCATION = {
    "type": "object",
    "required": ["physicalLocation"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "integer", "minimum": -1},
        "physicalLocation": _PHYSICAL,
        "message": _MESSAGE,
    },
}
_RESULT = {
    "type": "object",
    "required": ["message", "ruleId", "ruleIndex", "level", "locations"],
    "additionalProperties": False,
    "properties": {
        "ruleId": {"type": "string"},
        "ruleIndex": {"type": "integer", "minimum": 0},
        "level": {"enum": ["none", "note", "warning", "error"]},
        "message": _MESSAGE,
        "locations": {"type": "array", "items": _LOCATION, "minItems": 1},
        "relatedLocations": {"type": "array", "items": _LOCATION, "uniqueItems": True},
        "fixes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["artifactChanges"],
                "additionalProperties": False,
                "properties": {
                    "artifactChanges": {
                        "type": "array",
                        "minItems": 1,
                        "uniqueItems": True,
                        "items": {
                            "type": "object",
                            "required": ["artifactLocation", "replacements"],
                            "additionalProperties": False,
                            "properties": {
                                "artifactLocation": _ARTIFACT,
                                "replacements": {
                                    "type": "array",
                                    "minItems": 1,
                                    "items": {
                                        "type": "object",
                                        "required": ["deletedRegion"],
                                        "additionalProperties": False,
                                        "properties": {
                                            "deletedRegion": _REGION,
                                            "insertedContent": _MESSAGE,
                                        },
                                    },
                                },
                            },
                        },
                    }
                },
            },
        },
    },
}
_RULE = {
    "type": "object",
    "required": ["id"],
    "additionalProperties": False,
    "properties": {
        "id": {"type": "string"},
        "name": {"type": "string"},
        "shortDescription": _MESSAGE,
        "help": _MESSAGE,
        "defaultConfiguration": {
            "type": "object",
            "properties": {"level": {"enum": ["none", "note", "warning", "error"]}},
            "additionalProperties": False,
        },
        "properties": {"type": "object"},
    },
}
SARIF: dict[str, Any] = {
    "type": "object",
    "required": ["version", "runs"],
    "additionalProperties": False,
    "properties": {
        "$schema": {"type": "string", "format": "uri"},
        "version": {"const": "2.1.0"},
        "runs": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["tool", "results"],
                "additionalProperties": False,
                "properties": {
                    "tool": {
                        "type": "object",
                        "required": ["driver"],
                        "properties": {
                            "driver": {
                                "type": "object",
                                "required": ["name"],
                                "properties": {
                                    "name": {"type": "string"},
                                    "version": {"type": "string"},
                                    "semanticVersion": {"type": "string"},
                                    "rules": {"type": "array", "items": _RULE, "uniqueItems": True},
                                },
                                "additionalProperties": False,
                            }
                        },
                    },
                    "columnKind": {"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
                    "originalUriBaseIds": {"type": "object"},
                    "results": {"type": "array", "items": _RESULT},
                },
            },
        },
    },
}


def test_findings_that_differ_in_what_they_show_beside_have_one_order() -> None:
    jobs = [Related(Place("jobs/nlp/a.yaml", line, 1), "in this job") for line in (3, 1, 2)]
    same = [replace(HALF, related=(each,)) for each in jobs]
    orders = [arrange(order) for order in (same, same[::-1], [*same[1:], same[0], same[2]])]
    assert orders[0] == orders[1] == orders[2]
    assert [item.related[0].place.line for item in orders[0]] == [1, 2, 3]
