"""Severities of policy, for all and for a team, and waivers of jobs and of policy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import pytest
from declarations import TODAY, findings, job, of, only, policy, repository, spot
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.check import check
from compiler.cli import main
from compiler.diagnostics import Finding
from compiler.project import Project
from compiler.repository import Repository
from compiler.rules import registered
from compiler.weights import obstacle

RULES = "policy/rules.yaml"
FILE = "policy/waivers/measured.yaml"
# A warning (RES416) in its third line, an error of policy (OPS819), and one of form (OPS813).
PART = {"accelerators": "H100:4", "num_nodes": "2"}
LONG = {"max_duration": "8d"}
UNKNOWN = {"queue": "reserch"}


def waiver(rule: str, until: str = "2126-01-31", jobs: str = "nlp/*") -> dict[str, str]:
    lines = f"rule: {rule}\njobs: [{jobs}]\nreason: measured\napprover: kim-nlp\nuntil: {until}\n"
    return {FILE: lines}


def own(rule: str, until: str = "2126-01-31") -> str:
    return f"waive: [{{rule: {rule}, reason: measured, until: {until}}}]"


def severities(found: list[Finding]) -> dict[str, str]:
    return {item.rule: item.severity.value for item in found}


def at(day: str, files: Mapping[str, str], tmp_path: Path) -> list[Finding]:
    root = repository(tmp_path / day, files)
    moment = datetime.fromisoformat(f"{day}T12:00:00+00:00")
    return check(Project(Repository(root), at=moment), processes=1).findings


def test_every_rule_that_policy_may_lift_is_an_error_about_one_run_or_all_jobs() -> None:
    lifted = [entry for entry in registered().values() if entry.rule.policy]
    assert len(lifted) >= 11
    for entry in lifted:
        assert entry.rule.severity == "error"
        assert obstacle(entry) == "" or entry.rule.stage == "repository", entry.name


def test_the_page_of_a_rule_says_that_policy_may_lift_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["explain", "OPS817"]) == 0
    assert "OPS817 nodes-above-cap (error, unless policy lifts it)\n" in capsys.readouterr().out
    kinds = {"OPS817": "policy", "OPS813": "form", "RES416": "advice"}
    for code, kind in kinds.items():
        assert main(["explain", code, "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out)["kind"] == kind


# Weights


DAY = date(2026, 3, 15)
WORDS = st.sampled_from(["RES416", "part-of-a-node", "OPS819", "unknown-queue"])
SEVERITIES = st.dictionaries(
    WORDS, st.sampled_from(["error", "warning", "notice", "off"]), max_size=3
)
WAIVERS = st.lists(
    st.tuples(WORDS, st.integers(-2, 2), st.sampled_from(["nlp/*", "vision/*", "nlp/exam?le"])),
    max_size=3,
)
OWN = st.lists(st.tuples(WORDS, st.integers(-2, 2)), max_size=3)
NAMES = {"RES416": "part-of-a-node", "OPS819": "duration-above-cap"}


def expected(
    everyone: dict[str, str], team: dict[str, str], agreed: list[Any], own: list[Any]
) -> dict[str, str]:
    """What is found about a job that breaks all three rules, told step by step."""
    left: dict[str, str] = {}
    for rule in ("part-of-a-node", "duration-above-cap", "unknown-queue"):
        weight = "warning" if rule == "part-of-a-node" else "error"
        if rule != "unknown-queue":
            for given in (everyone, team):
                for word, wish in given.items():
                    weight = wish if NAMES.get(word, word) == rule else weight
        if weight == "off":
            continue
        if rule != "unknown-queue":
            by_policy = [
                days >= 0 and jobs != "vision/*"
                for word, days, jobs in agreed
                if NAMES.get(word, word) == rule
            ]
            by_job = [days >= 0 for word, days in own if NAMES.get(word, word) == rule]
            if any(by_policy) or (weight != "error" and any(by_job)):
                continue
        left[rule] = weight
    return left


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return repository(tmp_path_factory.mktemp("weights") / "root")


@settings(max_examples=40, deadline=None)
@given(everyone=SEVERITIES, team=SEVERITIES, agreed=WAIVERS, own=OWN)
def test_weights_and_waivers_add_up_as_they_do_by_hand(
    place: Path,
    everyone: dict[str, str],
    team: dict[str, str],
    agreed: list[tuple[str, int, str]],
    own: list[tuple[str, int]],
) -> None:
    rules = {"severity": everyone, "teams": {"nlp": {"severity": team}}}
    (place / RULES).write_text(json.dumps(rules), "utf-8")
    shutil.rmtree(place / "policy/waivers", ignore_errors=True)
    (place / "policy/waivers").mkdir()
    for index, (rule, days, jobs) in enumerate(agreed):
        text = waiver(rule, str(DAY + timedelta(days=days)), jobs)[FILE]
        (place / f"policy/waivers/w{index}.yaml").write_text(text, "utf-8")
    entries = ", ".join(
        f"{{rule: {rule}, reason: r, until: {DAY + timedelta(days=days)}}}" for rule, days in own
    )
    text = job(f"waive: [{entries}]" if own else "", **PART, **LONG, **UNKNOWN)
    moment = datetime.combine(DAY, time(12), UTC)
    project = Project(Repository(place), at=moment)
    result = project.judge(place / "jobs/example.yaml", text.encode())
    about = ("part-of-a-node", "duration-above-cap", "unknown-queue")
    found = {item.rule: item.severity.value for item in result.findings if item.rule in about}
    assert found == expected(everyone, team, agreed, own)


@pytest.mark.parametrize("name", ["duration-above-cap", "OPS819", "ops819"])
@pytest.mark.parametrize("weight", ["warning", "notice"])
def test_an_error_of_policy_weighs_what_policy_says(name: str, weight: str) -> None:
    found = findings(job(**LONG), {RULES: f"severity: {{{name}: {weight}}}\n"})
    assert severities(found) == {"duration-above-cap": weight}


def test_an_error_of_policy_can_be_put_off() -> None:
    assert findings(job(**LONG), {RULES: "severity: {duration-above-cap: 'off'}\n"}) == []


def test_the_weight_of_a_team_wins_and_holds_for_that_team_alone(tmp_path: Path) -> None:
    rules = (
        "severity: {part-of-a-node: notice}\nteams:\n  nlp: {severity: {part-of-a-node: error}}\n"
    )
    vision = job(team=None, image="vit", command="[torchrun, vit.py]", checkpoint=None, **PART)
    files = {RULES: rules, "jobs/example.yaml": job(**PART), "jobs/vision/other.yaml": vision}
    found = of("part-of-a-node", at("2026-03-01", files, tmp_path))
    weights = {item.place.path: item.severity.value for item in found}
    assert weights == {"jobs/example.yaml": "error", "jobs/vision/other.yaml": "notice"}


def test_a_team_alone_can_have_a_weight() -> None:
    rules = {RULES: "teams: {nlp: {severity: {RES416: 'off'}}}\n"}
    assert findings(job(**PART), rules) == []


def test_a_run_that_breaks_a_raised_rule_is_no_run(tmp_path: Path) -> None:
    files = {RULES: "severity: {RES416: error}\n", "jobs/example.yaml": job(**PART)}
    root = repository(tmp_path, files)
    (result,) = Project(Repository(root), at=TODAY).results()
    assert not result.usable
    assert result.runs == []
    assert set(result.models) == {"west"}


@pytest.mark.parametrize(
    ("text", "place", "remedy"),
    [
        ("teams: {npl: {severity: {RES416: error}}}\n", "1:9", "write `nlp`"),
        ("teams: {nlp: {severity: {part-of-node: error}}}\n", "1:26", "write `part-of-a-node`"),
        ("severity: {part-of-node: error}\n", "1:12", "write `part-of-a-node`"),
    ],
)
def test_an_unknown_team_or_rule_is_told_with_the_nearest(
    text: str, place: str, remedy: str
) -> None:
    item = only("unknown-name-in-policy", findings(job(), {RULES: text}))
    assert (spot(item), item.help) == (f"{RULES}:{place}", remedy)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("severity: {unknown-queue: warning}\n", "1:27"),
        ("teams: {nlp: {severity: {OPS813: 'off'}}}\n", "1:34"),
        ("severity: {RES416: error, part-of-a-node: notice}\n", "1:27"),
    ],
)
def test_a_weight_without_effect_is_told(text: str, place: str) -> None:
    item = only("ineffective-weight", findings(job(), {RULES: text}))
    assert spot(item) == f"{RULES}:{place}"


def test_a_rule_of_form_stays_an_error_whatever_policy_says() -> None:
    found = findings(job(**UNKNOWN), {RULES: "severity: {unknown-queue: 'off'}\n"})
    assert severities(found) == {"unknown-queue": "error", "ineffective-weight": "error"}


def test_weights_hold_for_what_is_found_about_all_jobs_together() -> None:
    files = {**waiver("part-of-a-node"), RULES: "severity: {unused-waiver: error}\n"}
    assert severities(findings(job(), files)) == {"unused-waiver": "error"}
    files[RULES] = "severity: {unused-waiver: 'off'}\n"
    assert findings(job(), files) == []


# Waivers


@pytest.mark.parametrize("rule", ["duration-above-cap", "OPS819"])
def test_policy_waives_what_policy_forbids(rule: str) -> None:
    assert findings(job(**LONG), waiver(rule)) == []


def test_what_is_waived_makes_a_run(tmp_path: Path) -> None:
    root = repository(tmp_path, {**waiver("OPS819"), "jobs/example.yaml": job(**LONG)})
    (result,) = Project(Repository(root), at=TODAY).results()
    assert [made.run.identity.name for made in result.runs] == ["example-r1"]
    assert result.waivers == [FILE]


def test_a_waiver_is_for_the_jobs_that_it_names_alone() -> None:
    found = findings(job(**LONG), waiver("OPS819", jobs="nlp/exampl, vision/*"))
    assert sorted(item.rule for item in found) == ["duration-above-cap", *["unused-waiver"] * 2]


@pytest.mark.parametrize("rule", ["unknown-queue", "names-alike", "lost-run"])
def test_what_cannot_be_waived_is_told(rule: str) -> None:
    item = only("ineffective-weight", findings(job(), waiver(rule)))
    assert spot(item) == f"{FILE}:1:7"
    warned = only("ineffective-waiver", findings(job(own(rule))))
    assert spot(warned) == "jobs/example.yaml:7:16"


def test_a_run_beyond_the_budget_is_waived_for_a_job(tmp_path: Path) -> None:
    team = policy("policy/teams/nlp.yaml", ("budget: 60000", "budget: 10"))
    files = {**team, "jobs/example.yaml": job(), "jobs/nlp/other.yaml": job(team=None)}
    found = of("budget-passed", at("2026-03-01", files, tmp_path / "a"))
    assert len(found) == 2
    files |= waiver("budget-passed", "2026-03-20", jobs="nlp/other")
    (item,) = of("budget-passed", at("2026-03-01", files, tmp_path / "b"))
    assert item.place.path == "jobs/example.yaml"
    after = at("2026-03-21", files, tmp_path / "c")
    (item,) = [one for one in after if one.place.path == "jobs/nlp/other.yaml"]
    assert item.message.endswith("(waived until 2026-03-20)")
    assert of("unused-waiver", after) == []


def test_a_job_waives_a_warning_by_itself() -> None:
    assert severities(findings(job(**PART))) == {"part-of-a-node": "warning"}
    assert findings(job(own("part-of-a-node"), **PART)) == []


def test_a_job_waives_no_error_of_policy_by_itself() -> None:
    found = findings(job(own("duration-above-cap"), **LONG))
    assert severities(found) == {"duration-above-cap": "error", "ineffective-waiver": "warning"}
    (item,) = of("ineffective-waiver", found)
    assert "policy/waivers/" in item.help


def test_a_job_waives_no_warning_that_policy_has_made_an_error() -> None:
    rules = {RULES: "teams: {nlp: {severity: {RES416: error}}}\n"}
    found = findings(job(own("part-of-a-node"), **PART), rules)
    assert severities(found) == {"part-of-a-node": "error", "ineffective-waiver": "warning"}
    agreed = {**rules, **waiver("part-of-a-node")}
    assert findings(job(**PART), agreed) == []


def test_a_job_waives_an_error_that_policy_has_made_a_warning() -> None:
    rules = {RULES: "severity: {OPS819: warning}\n"}
    assert findings(job(own("duration-above-cap"), **LONG), rules) == []


@pytest.mark.parametrize("path", ["", FILE])
def test_a_waiver_holds_to_the_end_of_its_last_day(tmp_path: Path, path: str) -> None:
    def on(day: str) -> list[Finding]:
        until = "2026-03-31"
        if path:
            files = {**waiver("part-of-a-node", until), "jobs/example.yaml": job(**PART)}
        else:
            files = {"jobs/example.yaml": job(own("part-of-a-node", until), **PART)}
        return at(day, files, tmp_path)

    assert on("2026-03-16") == []
    (notice,) = on("2026-03-17")
    assert (notice.rule, notice.severity) == ("ending-waiver", "notice")
    assert notice.message.startswith("the waiver ends in 14 days, on 2026-03-31; ")
    assert "ends tomorrow" in on("2026-03-30")[0].message
    assert "ends today" in on("2026-03-31")[0].message
    after = on("2026-04-01")
    assert severities(after) == {"expired-waiver": "warning", "part-of-a-node": "warning"}
    (item,) = of("part-of-a-node", after)
    (told,) = of("expired-waiver", after)
    assert item.message.endswith("(waived until 2026-03-31)")
    assert item.related[-1].place == told.place
    assert told.place.path == (path or "jobs/example.yaml")
    # The date itself is marked.
    assert ((told.place.end_column or 0) - (told.place.column or 0)) == len("2026-03-31")


def test_how_long_before_its_end_a_waiver_is_noticed_is_policy(tmp_path: Path) -> None:
    files = {**waiver("OPS819", "2026-03-31"), "jobs/example.yaml": job(**LONG)}
    for days, expected in (("30d", 1), ("29d", 0)):
        files[RULES] = f"waiver_notice: {days}\n"
        found = at("2026-03-01", files, tmp_path / days)
        assert len(of("ending-waiver", found)) == len(found) == expected
    assert found == []


def test_a_notice_tells_whose_runs_cannot_start_any_more(tmp_path: Path) -> None:
    files = waiver("OPS819", "2026-03-02")
    files |= {f"jobs/nlp/j{index}.yaml": job(team=None, **LONG) for index in range(5)}
    (item,) = at("2026-03-01", files, tmp_path)
    assert "new runs of nlp/j0, nlp/j1, nlp/j2 and 2 more from starting" in item.message


@pytest.mark.parametrize("fields", [{}, {"accelerators": "H100:8", "num_nodes": "2"}])
def test_a_waiver_that_nothing_needs_is_told(fields: dict[str, str]) -> None:
    item = only("unused-waiver", findings(job(**fields), waiver("part-of-a-node")))
    assert (spot(item), item.severity) == (f"{FILE}:1:7", "warning")
    assert item.message == "nothing in nlp/example breaks `part-of-a-node`"
    item = only("unused-waiver", findings(job(own("part-of-a-node"), **fields)))
    assert item.message == "nothing here breaks `part-of-a-node`"


def test_a_waiver_that_one_of_many_jobs_needs_is_used() -> None:
    others = {f"jobs/nlp/j{index}.yaml": job(team=None) for index in range(3)}
    assert findings(job(**PART), {**others, **waiver("part-of-a-node")}) == []
    item = only("unused-waiver", findings(job(), {**others, **waiver("part-of-a-node")}))
    assert "any of 4 jobs" in item.message


def test_of_a_rule_that_is_off_a_waiver_is_not_needed() -> None:
    files = {**waiver("part-of-a-node"), RULES: "severity: {part-of-a-node: 'off'}\n"}
    only("unused-waiver", findings(job(**PART), files))


def test_of_a_job_that_could_not_be_judged_nobody_knows_what_it_needs() -> None:
    for broken in (job(accelerators="H100:2.5"), job(**UNKNOWN)):
        found = findings(broken, waiver("part-of-a-node"))
        assert of("unused-waiver", found) == []
        assert len(found) == 1


def test_a_pattern_that_is_no_job_is_told_with_the_nearest() -> None:
    found = findings(job(**PART), waiver("part-of-a-node", jobs="nlp/example, nlp/exmaple"))
    item = only("unused-waiver", found)
    assert spot(item) == f"{FILE}:2:21"
    assert item.help == "write `nlp/example`"


def test_where_a_file_names_no_team_a_pattern_may_be_its_own() -> None:
    files = {**waiver("part-of-a-node", jobs="nlp/other"), "jobs/other.yaml": "image: [\n"}
    assert of("unused-waiver", findings(job(), files)) == []


def test_a_check_of_one_cluster_does_not_tell_what_others_need(tmp_path: Path) -> None:
    files = {**waiver("part-of-a-node"), "jobs/example.yaml": job()}
    root = repository(tmp_path, files)
    project = Project(Repository(root), at=TODAY, cluster="west")
    assert check(project, processes=1).findings == []


def test_two_waivers_of_one_rule_are_both_needed_and_the_valid_one_counts() -> None:
    first = waiver("OPS819")[FILE]
    second = first.replace("2126", "2025")
    files = {"policy/waivers/a.yaml": second, "policy/waivers/b.yaml": first}
    item = only("expired-waiver", findings(job(**LONG), files))
    assert item.place.path == "policy/waivers/a.yaml"


def test_what_is_remembered_of_a_check_holds_for_waivers_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    files = {
        **waiver("OPS819"),
        "jobs/example.yaml": job(**LONG),
        "jobs/nlp/a.yaml": job(team=None),
    }
    root = repository(tmp_path / "root", files)
    moment = datetime(2026, 3, 1, tzinfo=UTC)
    for _ in range(2):
        assert check(Project(Repository(root), at=moment)).findings == []
    # Another job has changed: of the first one only the memory tells that it needs the waiver.
    (root / "jobs/nlp/a.yaml").write_text(job("description: b", team=None), "utf-8")
    assert check(Project(Repository(root), at=moment)).findings == []


@pytest.mark.parametrize(
    ("owners", "approver", "foreign"),
    [
        ("[kim, example-org/platform]", "@Kim", False),
        ("[kim, example-org/platform]", "Example-Org/platform", False),
        # Whether a login is of the team is known to the host alone.
        ("[example-org/platform]", "mallory", False),
        ("[example-org/platform]", "example-org/speech", True),
        ("[example-org/platform]", "the boss of speech", True),
        ("[kim]", "mallory", True),
    ],
)
def test_a_waiver_is_approved_by_an_owner_of_policy(
    owners: str, approver: str, foreign: bool, tmp_path: Path
) -> None:
    text = waiver("OPS819", "2026-06-30", "nlp/example")[FILE].replace("kim-nlp", approver)
    files = {FILE: text, RULES: f"owners: {owners}\n", "jobs/nlp/example.yaml": job(**LONG)}
    found = of("foreign-approver", at("2026-03-01", files, tmp_path))
    assert [spot(item) for item in found] == ([f"{FILE}:4:11"] if foreign else [])
    # One that has ended is nobody's concern any more.
    assert of("foreign-approver", at("2026-07-01", files, tmp_path)) == []
