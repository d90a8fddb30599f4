"""What a change of policy does to jobs that it does not touch, and to runs that are active."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from company import BEGIN, TEAM, Company, acts, job, rows, without_proof
from jsonschema import validate

from compiler.runs import effects, markdown
from compiler.runs.planning import Planned
from compiler.runs.publishing import Published
from compiler.runs.reporting import Report, as_json, as_text
from compiler.schemas import schemas

NLP = "policy/teams/nlp.yaml"
RULES = "policy/rules.yaml"
CAPPED = TEAM + "caps: {duration: 12h}\n"
WAIVER = """\
rule: duration-above-cap
jobs: [nlp/*]
reason: epochs take a day
approver: kim
until: {until}
"""
AGREED = "policy/waivers/long.yaml"


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    return Company(tmp_path)


def declared(company: Company, *names: str, **fields: object) -> None:
    for name in names:
        company.write(f"jobs/nlp/{name}.yaml", job(**fields))
    company.merge()
    company.publish()


def data(planned: Planned) -> dict[str, Any]:
    told = as_json(planned.report)
    validate(told, schemas()["plan"])
    return told


def report(done: Published) -> Report:
    assert done.account is not None
    return Report(done.account, done.source, done.published, BEGIN)


def brief(planned: Planned) -> list[tuple[str, str, str | None, int | None, list[str]]]:
    return [
        (one["effect"], one["rule"], one["path"], one["line"], one["jobs"])
        for one in data(planned)["effects"]
    ]


def test_a_lower_cap_tells_which_jobs_it_fails_and_which_runs_go_on(company: Company) -> None:
    declared(company, "a", "b")
    declared(company, "short", max_duration="6h")
    company.write(NLP, CAPPED)
    planned = company.plan()
    assert brief(planned) == [("fails", "duration-above-cap", NLP, 8, ["nlp/a", "nlp/b"])]
    assert acts(rows(planned)) == []
    assert not planned.refused
    said = as_text(planned.report)
    assert f"2 jobs newly break OPS819 duration-above-cap ({NLP}:8): nlp/a, nlp/b\n" in said
    assert "  these runs go on, and no new one starts: nlp/a-r1, nlp/b-r1\n" in said
    assert "nlp/a-r1 on west goes on: OPS819 duration-above-cap at jobs/nlp/a.yaml" in said
    shown = markdown.as_markdown(planned.report)
    assert "2 jobs newly break OPS819" in shown
    assert "nlp/b-r1 on west goes on" in shown


def test_what_a_change_fails_keeps_the_next_run_from_starting(company: Company) -> None:
    declared(company, "a")
    company.write(NLP, CAPPED)
    company.merge()
    assert acts(as_json(report(company.publish()))["runs"]) == [("a-r1@west", "none")]
    company.write("jobs/nlp/a.yaml", job(args="[--lr, 2e-4]"))
    planned = company.plan()
    assert planned.refused
    ((name, action),) = acts(rows(planned))
    assert (name, action) == ("a-r1@west", "blocked")
    # The job itself is touched: it is no effect on others.
    assert brief(planned) == []


def test_a_higher_cap_tells_which_jobs_it_frees(company: Company) -> None:
    company.write(NLP, CAPPED)
    declared(company, "a")
    company.write(NLP, TEAM + "caps: {duration: 2d}\n")
    planned = company.plan()
    assert brief(planned) == [("frees", "duration-above-cap", NLP, 8, ["nlp/a"])]
    assert acts(rows(planned)) == [("a-r1@west", "start")]
    assert "1 job no longer breaks OPS819 duration-above-cap" in as_text(planned.report)


def test_a_cap_that_fails_a_job_before_and_after_is_no_news(company: Company) -> None:
    company.write(NLP, CAPPED)
    declared(company, "a")
    company.write(NLP, TEAM + "caps: {duration: 10h}\n")
    assert brief(company.plan()) == []


def test_many_jobs_are_told_by_the_first_ones(company: Company) -> None:
    names = [f"j{index:02}" for index in range(14)]
    declared(company, *names)
    company.write(NLP, CAPPED)
    planned = company.plan()
    ((*_, jobs),) = brief(planned)
    assert jobs == [f"nlp/{name}" for name in names]
    said = as_text(planned.report)
    assert "14 jobs newly break" in said
    assert f"nlp/{names[effects.NAMED - 1]} and 4 more\n" in said
    assert f"nlp/{names[effects.NAMED]}" not in said.partition("policy\n")[2].partition("\n")[0]


def test_a_waiver_that_comes_frees_and_one_that_goes_fails_at_its_line(company: Company) -> None:
    company.write(NLP, CAPPED)
    declared(company, "a")
    company.write(AGREED, WAIVER.format(until="2026-12-31"))
    assert brief(company.plan()) == [("frees", "duration-above-cap", AGREED, 1, ["nlp/a"])]
    company.merge()
    company.publish()
    company.write(AGREED, None)
    planned = company.plan()
    assert brief(planned) == [("fails", "duration-above-cap", AGREED, 1, ["nlp/a"])]
    assert data(planned)["effects"][0]["running"] == ["nlp/a-r1"]


def test_what_starts_under_a_waiver_says_so_and_who_agreed(company: Company) -> None:
    company.write(NLP, CAPPED)
    company.write(AGREED, WAIVER.format(until="2026-12-31"))
    company.write("jobs/nlp/a.yaml", job())
    company.write("jobs/nlp/b.yaml", job(max_duration="6h"))
    notes = {row["job"]: row["notes"] for row in rows(company.plan())}
    said = f"duration-above-cap is waived until 2026-12-31: {AGREED}, approved by kim"
    assert notes == {"a": [said], "b": []}


def test_a_weight_that_changes_is_told_at_its_line(company: Company) -> None:
    declared(company, "a", accelerators="H100:4", num_nodes=2)
    company.write(RULES, "severity:\n  part-of-a-node: error\n")
    assert brief(company.plan()) == [("fails", "part-of-a-node", RULES, 2, ["nlp/a"])]
    company.merge()
    company.write(
        RULES, "severity:\n  RES416: error\nteams:\n  nlp: {severity: {RES416: notice}}\n"
    )
    assert brief(company.plan()) == [("frees", "part-of-a-node", RULES, 4, ["nlp/a"])]


def test_policy_that_cannot_be_read_tells_whose_jobs_cannot_be_judged(company: Company) -> None:
    declared(company, "a", "b")
    company.write(NLP, TEAM + "cap: {duration: 12h}\n")
    assert brief(company.plan()) == [("fails", "unknown-key", NLP, 8, ["nlp/a", "nlp/b"])]


def test_a_base_and_an_image_have_effects_too(company: Company) -> None:
    declared(company, "a")
    lock = "images/lock.yaml"
    text = (company.root / lock).read_text("utf-8")
    company.write(lock, text.replace("trainer:", "trainers:"))
    assert brief(company.plan()) == [("fails", "unknown-image", None, None, ["nlp/a"])]


def test_no_run_is_touched_when_its_waiver_ends_and_none_starts_any_more(
    company: Company,
) -> None:
    company.write(NLP, CAPPED)
    last = (company.now + timedelta(days=20)).date()
    company.write(AGREED, WAIVER.format(until=last))
    declared(company, "a")
    company.hours += 24 * 21
    planned = company.plan()
    assert not planned.refused
    assert acts(rows(planned)) == []
    (told,) = data(planned)["grandfathered"]
    assert (told["team"], told["job"], told["number"]) == ("nlp", "a", 1)
    assert f"(waived until {last})" in told["reason"]
    assert "nlp/a-r1 on west goes on: OPS819" in as_text(planned.report)
    done = company.publish()
    assert [row["action"] for row in as_json(report(done))["runs"]] == ["none"]
    assert "grandfathered" in as_text(report(done))
    # Its next run waits for somebody to agree again.
    company.write("jobs/nlp/a.yaml", job(args="[--lr, 2e-4]"))
    blocked = company.plan()
    assert blocked.refused
    ((_, action),) = acts(rows(blocked))
    assert action == "blocked"
    assert f"(waived until {last})" in as_text(blocked.report)
    company.write(AGREED, WAIVER.format(until="2027-12-31"))
    assert acts(rows(company.plan())) == [("a-r1@west", "stop"), ("a-r2@west", "start")]


def test_a_run_that_waits_for_room_does_not_start_once_its_waiver_has_ended(
    company: Company,
) -> None:
    company.write(NLP, CAPPED)
    last = (company.now + timedelta(days=20)).date()
    company.write(AGREED, WAIVER.format(until=last))
    declared(company, "a", "b", "c", "d")
    company.hours += 24 * 21
    company.write("jobs/nlp/a.yaml", None)
    company.merge()
    done = as_json(report(company.publish()))["runs"]
    told = {(row["job"], row["action"]) for row in done}
    assert ("a", "stop") in told
    assert ("d", "blocked") in told
    assert not {row["job"] for row in done if row["action"] in ("start", "resume")}
