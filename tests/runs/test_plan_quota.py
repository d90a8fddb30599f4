"""What a plan says of the quota: who holds what the change's runs want, and what would fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from company import CLUSTER, TEAM, Company, job, without_proof
from jsonschema import validate

from compiler.runs.reporting import as_json, as_text
from compiler.schemas import schemas


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    return Company(tmp_path)


def ledgers(company: Company) -> list[dict[str, Any]]:
    """All runs, as the ledgers have them."""
    paths = sorted(company.root.glob("overlays/ledger/nlp/*.yaml"))
    return [run for path in paths for run in yaml.safe_load(path.read_text("utf-8"))["runs"]]


def active(company: Company) -> list[str]:
    return [run["name"] for run in ledgers(company) if run["state"] == "active"]


def test_a_plan_names_the_runs_that_hold_what_a_held_one_wants(company: Company) -> None:
    company.write("jobs/nlp/a.yaml", job())
    company.merge()
    company.publish()
    company.write("jobs/nlp/b.yaml", job(accelerators="H100:8", num_nodes="2"))
    company.write("jobs/nlp/c.yaml", job())
    company.commit()
    planned = company.plan()
    found = as_json(planned.report)
    validate(found, schemas()["plan"])
    (row,) = found["verdict"]
    assert (row["cluster"], row["team"], row["accelerator"]) == ("west", "nlp", "H100")
    assert (row["limit"], row["held"], row["requested"]) == (24, 24, 8)
    assert row["limit_at"] == {"path": "policy/teams/nlp.yaml", "line": 6}
    b, a = row["holders"]
    assert (b["job"], b["run"], b["accelerators"], b["until"]) == ("nlp/b", None, 16, None)
    # It began with the commit of the second hour and may take a day.
    assert (a["job"], a["run"], a["accelerators"]) == ("nlp/a", "a-r1", 8)
    assert a["until"] == "2026-03-02T11:00:00+00:00"
    assert a["owner"] == "kim"
    assert row["waiting"] == [{"job": "nlp/c", "accelerators": 8}]
    assert row["edits"] == [{"job": "nlp/c", "field": "cluster", "from": "west", "to": "east"}]
    said = as_text(planned.report)
    assert "nlp on west: 24 of 24 H100 taken, 8 more wanted (policy/teams/nlp.yaml:6)" in said
    assert "nlp/a-r1 (8): until 2026-03-02T11:00Z, kim" in said


def test_a_plan_under_kueue_says_who_waits_although_it_starts(company: Company) -> None:
    kueue = CLUSTER.replace("admission: ledger", "admission: kueue")
    queued = "queues: {all: {cluster_queue: all}}\n"
    kueue = kueue.replace("    nodes: 4\n", "    nodes: 4\n    flavor: h100\n") + queued
    company.write("policy/clusters/west.yaml", kueue)
    for name in ("a", "b", "c", "d"):
        company.write(f"jobs/nlp/{name}.yaml", job(queue="all"))
    company.commit()
    found = as_json(company.plan().report)
    assert {line["action"] for line in found["runs"]} == {"start"}
    (row,) = found["verdict"]
    assert [one["job"] for one in row["waiting"]] == ["nlp/d"]
    assert row["queue"] == "all"


def test_a_plan_of_another_job_does_not_speak_of_those_that_wait_already(
    company: Company,
) -> None:
    for name in ("a", "b", "c", "d"):
        company.write(f"jobs/nlp/{name}.yaml", job())
    company.merge()
    company.publish()
    company.write("jobs/nlp/other.yaml", job(cluster="east"))
    company.commit()
    assert as_json(company.plan().report)["verdict"] == []


def test_what_the_budget_leaves_no_hours_for_is_held_until_there_are_some(
    company: Company,
) -> None:
    company.write("policy/teams/nlp.yaml", TEAM + "budget: 400\n")
    for name in ("a", "b", "c"):
        company.write(f"jobs/nlp/{name}.yaml", job())
    company.commit()
    report = company.plan().report
    found = as_json(report)
    validate(found, schemas()["plan"])
    # 8 accelerators for 24 hours are 192.
    assert [(line["job"], line["row"], line["action"]) for line in found["runs"]] == [
        ("a", "h", "start"),
        ("b", "h", "start"),
        ("c", "n", "hold"),
    ]
    assert "of the 400 accelerator-hours of nlp this month 16 are left" in as_text(report)
    (row,) = found["verdict"]
    assert (row["cluster"], row["accelerator"]) == (None, "accelerator-hours")
    assert (row["limit"], row["held"], row["requested"]) == (400, 384, 192)
    assert [one["job"] for one in row["holders"]] == ["nlp/a", "nlp/b"]
    assert {"job": "nlp/c", "field": "max_duration", "from": "24h", "to": "2h"} in row["edits"]
    assert "nlp this month: 384 of 400 accelerator-hours taken, 192 more wanted" in as_text(report)
    company.merge()
    company.publish()
    assert active(company) == ["a-r1", "b-r1"]
    # Nothing has ended, and the month is the same.
    company.hours += 1
    assert as_json(company.plan().report)["due"] == 0
    # One has ended after a few of its 24 hours.
    company.publish(observations=[company.seen(a_r1="succeeded")])
    assert active(company) == ["b-r1", "c-r1"]


def test_a_new_month_starts_what_the_budget_held(company: Company) -> None:
    company.write("policy/teams/nlp.yaml", TEAM + "budget: 200\n")
    for name in ("a", "b"):
        company.write(f"jobs/nlp/{name}.yaml", job())
    company.merge()
    company.publish()
    assert active(company) == ["a-r1"]
    company.hours = 31 * 24
    company.publish()
    assert active(company) == ["a-r1", "b-r1"]
    b = next(run for run in ledgers(company) if run["name"] == "b-r1")
    # When it was started, and not when somebody last committed.
    assert b["started"]["at"].startswith("2026-04-01")


def test_kueue_knows_no_budgets_so_publish_holds_there_too(company: Company) -> None:
    kueue = CLUSTER.replace("admission: ledger", "admission: kueue")
    queued = "queues: {all: {cluster_queue: all}}\n"
    kueue = kueue.replace("    nodes: 4\n", "    nodes: 4\n    flavor: h100\n") + queued
    company.write("policy/clusters/west.yaml", kueue)
    company.write("policy/teams/nlp.yaml", TEAM + "budget: 200\n")
    for name in ("a", "b"):
        company.write(f"jobs/nlp/{name}.yaml", job(queue="all"))
    company.merge()
    company.publish()
    assert active(company) == ["a-r1"]


def test_an_edited_run_is_asked_only_for_what_it_uses_beyond_the_one_it_replaces(
    company: Company,
) -> None:
    company.write("policy/teams/nlp.yaml", TEAM + "budget: 400\n")
    company.write("jobs/nlp/a.yaml", job())
    company.merge()
    company.publish()
    company.write("jobs/nlp/a.yaml", job(args="[--lr, 2e-4]"))
    company.merge()
    company.publish()
    assert active(company) == ["a-r2"]
    # Fifty hours there are; both have used some of them.
    company.write("jobs/nlp/a.yaml", job(args="[--lr, 2e-4]", max_duration="49h"))
    company.merge()
    (line,) = as_json(company.plan(base="HEAD~1").report)["runs"]
    assert (line["row"], line["action"]) == ("f", "hold")
    company.publish()
    assert active(company) == ["a-r2"]
