"""What a plan says of the quota: who holds what the change's runs want, and what would fit."""

from __future__ import annotations

from pathlib import Path

import pytest
from company import CLUSTER, TEAM, Company, job, without_proof
from jsonschema import validate

from compiler.runs.reporting import as_json, as_text
from compiler.schemas import schemas


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    return Company(tmp_path)


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


def test_a_plan_says_which_start_passes_the_budget(company: Company) -> None:
    company.write("policy/teams/nlp.yaml", TEAM + "budget: 400\n")
    company.write("jobs/nlp/a.yaml", job())
    company.write("jobs/nlp/b.yaml", job())
    company.write("jobs/nlp/c.yaml", job())
    company.commit()
    report = company.plan().report
    # 8 accelerators for 24 hours are 192.
    (said,) = report.budgets
    assert said.startswith("jobs/nlp/c.yaml: the run may use 192 accelerator-hours in March 2026")
    assert "budget" in as_text(report)
