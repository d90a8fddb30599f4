"""What `plan` and `publish` print: text, JSON, and a comment that nothing can break out of."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from compiler.runs.account import Account, Held, Line, last_observed
from compiler.runs.entries import Entry, Ledger, Moment
from compiler.runs.markdown import LIMIT, MARKER, as_markdown, code
from compiler.runs.reporting import Report, age, as_json, as_text
from compiler.runs.stopguard import Guard

GOLDEN = Path(__file__).parent / "golden"
NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


def line(action: str, job: str, number: int | None = None, **more: object) -> Line:
    fields: dict[str, object] = {
        "row": "h",
        "reason": "this training has never run here",
        "number": number,
        "name": f"{job}-r{number}" if number else None,
    }
    if number is not None:
        fields |= {"accelerators": {"H100": 32}, "nodes": 4, "hours": "768", "lineage": number}
    fields.update(more)
    return Line("west", "nlp", job, action, **fields)  # type: ignore[arg-type]


def example() -> Report:
    """One line of every kind."""
    lines = [
        line(
            "stop",
            "llm-sft",
            1,
            row="g",
            reason="superseded by r2",
        ),
        line(
            "start",
            "llm-sft",
            2,
            row="g",
            rows="gh",
            replaces=1,
            compared=1,
            differences=("args: learning_rate 2e-5 → 3e-5", "nodes: 2 → 4"),
            cost="9062.4",
            currency="USD",
            risks=(("unguarded", "nothing in its pods notices that it is done"),),
        ),
        line(
            "resume",
            "dpo",
            3,
            row="l",
            rows="l",
            reason="r1 of this training was not finished: it goes on from its checkpoints",
            came_from=1,
            lineage=1,
            compared=2,
        ),
        line("stop", "old", 7, row="b", reason="its file is gone"),
        line(
            "hold",
            "big",
            1,
            row="n",
            reason="there is no room for it now",
            change="it starts by itself when there is",
            cost="9062.4",
            currency="USD",
        ),
        line(
            "withdraw", "small", 2, row="c", reason="it waited, and is no longer what is declared"
        ),
        line(
            "none",
            "done",
            row="i",
            rows="i",
            reason="r1 of this training has succeeded",
            change="`bump` trains again",
        ),
        line(
            "blocked",
            "torn",
            4,
            row="a",
            reason="SRC105 syntax-error at jobs/nlp/torn.yaml:3: never closed; r4 stays as it is",
            change="mend the finding",
        ),
        line("none", "calm", 1, row="d", rows="d", reason="r1 is what is declared", caused=False),
        line("none", "cpu", 1, row="d", rows="d", accelerators={"cpu": 2}, nodes=2, caused=False),
    ]
    return Report(
        Account(
            lines,
            [
                Held("west", "nlp", "H100", 64, 96, 80),
                Held("west", "nlp", "cpu", 2, 1, None),
                Held("west", "cv", "H100", 8, 8, 64),
            ],
            {"east": None, "west": "2026-03-02T09:30:00+00:00"},
            Guard(3, 96, 128, Fraction(1, 2), True, ("llm-sft-r1", "old-r7", "small-r2")),
        ),
        "1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d",
        "9f8e7d6c5b4a9f8e7d6c5b4a9f8e7d6c5b4a9f8e",
        NOW,
        head="the work tree",
        notes=["base/ changes: runs that start from now on stand on it"],
        diff="--- overlays/a/r1/run.yaml\n+++ overlays/a/r2/run.yaml\n@@ -1 +1 @@\n-a: 1\n+a: 2",
        pending=[line("start", "waiting", 5)],
        title="plan",
    )


def compared(name: str, text: str, update: bool) -> None:
    path = GOLDEN / name
    if update:
        path.write_text(text, "utf-8")
    assert text == path.read_text("utf-8")


def test_text_is_as_reviewed(update_golden: bool) -> None:
    compared("plan.txt", as_text(example()), update_golden)


def test_comment_is_as_reviewed(update_golden: bool) -> None:
    compared("plan.md", as_markdown(example()), update_golden)


def test_sections_come_in_the_order_in_which_a_reviewer_asks() -> None:
    titles = [row for row in as_text(example()).splitlines() if re.fullmatch(r"[A-Z ]+", row)]
    order = ["STARTS", "RESUMES", "STOPS", "HELD", "WITHDRAWN", "WILL NOT START", "BLOCKED"]
    assert titles == order


def test_json_holds_every_field_of_the_contract() -> None:
    answer = json.loads(json.dumps(as_json(example())))
    assert answer["version"] == 1
    assert set(answer["base"]) == {"source", "published"}
    assert answer["observed"][1] == {
        "cluster": "west",
        "at": "2026-03-02T09:30:00+00:00",
        "rests_on_it": ["nlp/done", "nlp/dpo"],
    }
    fields = {"cluster", "team", "job", "number", "name", "action", "row", "reason", "from"}
    fields |= {"lineage", "accelerators", "nodes", "hours", "cost", "risks"}
    for row in answer["runs"]:
        assert fields <= set(row)
    assert {row["action"] for row in answer["runs"]} == {
        "start", "resume", "stop", "hold", "withdraw", "none", "blocked",
    }  # fmt: skip
    assert answer["quota"][0] == {
        "cluster": "west",
        "team": "nlp",
        "accelerator": "H100",
        "before": 64,
        "after": 96,
        "limit": 80,
    }
    assert answer["guard"]["withheld"] is True
    assert answer["guard"]["runs"] == 3
    assert answer["unchanged"] == 2


def test_nothing_to_say_is_said() -> None:
    empty = Report(Account([], [], {}), "", "", NOW, head="the work tree", title="plan")
    assert as_text(empty) == (
        "plan: the work tree against nothing (nothing published yet)\n\n"
        "nothing changes; 0 unchanged\n"
    )
    assert "No run starts or stops" in as_markdown(empty)


@pytest.mark.parametrize(
    ("at", "said"),
    [
        (None, "never observed"),
        ("2026-03-02T11:59:30+00:00", "2026-03-02T11:59:30+00:00, just now"),
        ("2026-03-02T11:13:30+00:00", "2026-03-02T11:13:30+00:00, 46m ago"),
        ("2026-03-02T09:10:00+00:00", "2026-03-02T09:10:00+00:00, 2h ago"),
        ("2026-02-27T09:10:00+00:00", "2026-02-27T09:10:00+00:00, 3d ago"),
        ("2026-03-02T13:00:00+01:00", "2026-03-02T13:00:00+01:00, just now"),
    ],
)
def test_age_is_told_in_the_unit_that_matters(at: str | None, said: str) -> None:
    assert age(at, NOW) == said


def test_the_newest_observation_counts_wherever_it_is_told() -> None:
    def ended(at: str, by: str) -> Entry:
        return Entry(
            1, "west", "a-r1", "ended", "t", "o", 1, ended=Moment(at, by=by), reason="finished"
        )

    ledgers = [
        Ledger("nlp", "a", (ended("2026-03-01T10:00:00+02:00", "observation"),)),
        Ledger("nlp", "b", (ended("2026-03-01T23:00:00+00:00", "publish"),)),
    ]
    assert last_observed(ledgers, [], ["west", "east"]) == {
        "east": None,
        "west": "2026-03-01T10:00:00+02:00",
    }
    told = [("west", "2026-03-01T09:00:00+00:00"), ("east", "2026-02-01T00:00:00+00:00")]
    assert last_observed(ledgers, told, ["west"]) == {
        "west": "2026-03-01T09:00:00+00:00",
        "east": "2026-02-01T00:00:00+00:00",
    }


def rest(text: str) -> str:
    """What of a comment is not in a code span or a fence, by the rules of CommonMark."""
    text = re.sub(r"^(`{3,})diff\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines: list[str] = []
    for row in text.splitlines():
        kept, position = "", 0
        while (opening := re.compile(r"`+").search(row, position)) is not None:
            kept += row[position : opening.start()]
            mark = re.escape(opening[0])
            closing = re.compile(rf"(?<!`){mark}(?!`)").search(row, opening.end())
            if closing is None:
                kept += opening[0]
                position = opening.end()
            else:
                position = closing.end()
        lines.append(kept + row[position:])
    return "\n".join(lines)


OURS = re.compile(r"<!-- runwright-plan -->|</?(details|summary)>")
HOSTILE = [
    "@kim please merge",
    "`@kim`",
    "``` \n# heading",
    "</details><script>alert(1)</script>",
    "<!-- runwright-plan -->",
    "[a](javascript:alert)",
    "![x](//evil)",
    "a\nb\r\nc",
    "````\n```diff\n",
    "\u202egnp.exe",
    "`" * 40,
    "example-org/repo#1",
    "",
    " ",
    "\\`",
]


def hostile(text: str) -> Report:
    """A report in which everything that a pull request chooses is this text."""
    base = example()
    lines = [
        replace(
            one,
            job=text,
            name=text or None,
            team=text,
            cluster=text,
            reason=text,
            change=text,
            currency=text,
            accelerators={text: 1} if one.nodes else {},
            differences=(text, text),
            notes=(text,),
            risks=(("unguarded", text),),
        )
        for one in base.account.runs
    ]
    held = [Held(text, text, text, 1, 2, 3)]
    account = Account(lines, held, {text: "2026-03-02T09:30:00+00:00"}, base.account.guard)
    return replace(base, account=account, head=text, notes=[text], diff=f"+{text}\n-{text}")


def assert_contained(text: str) -> None:
    comment = as_markdown(hostile(text))
    assert len(comment) <= LIMIT
    assert comment.startswith(MARKER + "\n")
    assert comment.count(MARKER) == 1 or MARKER in text
    left = OURS.sub("", rest(comment))
    assert not set("@<>[]`!") & set(left.replace("> **Stop guard", "Stop guard"))
    # Lines are ours alone: lists, headings, folds.
    for row in left.splitlines():
        assert re.fullmatch(
            r" *(- .*|#{3,4} [\w ]+|\*\*.*\*\*|…? ?[\w ,.:;…→]*|> \*\*Stop guard.*)", row
        ), row


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_a_pull_request_says_leaves_its_code_span(text: str) -> None:
    assert_contained(text)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("`@<>[]()!#\\\n\r\t -ab|&*_~\u202e\x00"), max_size=30))
def test_no_text_at_all_leaves_its_code_span(text: str) -> None:
    assert_contained(text)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=60))
def test_a_code_span_is_one_line_and_closes_where_it_ends(text: str) -> None:
    made = code(text)
    assert "\n" not in made
    assert rest(made) == ""


@pytest.mark.parametrize("jobs", [1, 400, 3000])
def test_a_comment_never_exceeds_the_limit_and_counts_what_it_leaves_out(jobs: int) -> None:
    report = example()
    many = [line("start", f"job-{number}", 1, caused=True) for number in range(jobs)]
    report.account.runs[:] = many
    report.diff = "\n".join(f"+line {number}" for number in range(20_000))
    text = as_markdown(report)
    assert len(text) <= LIMIT
    shown = text.count("- `nlp/job-")
    left = re.search(r"… and (\d+) more, which", text)
    assert shown + (int(left[1]) if left else 0) == jobs
    kept = len(re.findall(r"^\+line", text, flags=re.MULTILINE))
    cut = re.search(r"… (\d+) of 20000 lines are left out", text)
    assert cut is not None
    assert kept + int(cut[1]) == 20_000


def test_a_long_text_of_one_line_is_cut_with_a_count() -> None:
    assert code("x" * 700) == "`" + "x" * 600 + " … 100 characters more`"
