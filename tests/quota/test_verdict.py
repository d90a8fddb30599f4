"""The verdict of `check` over whole repositories equals the reference's, edits included."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import quota_reference as reference
from hypothesis import HealthCheck, given, settings
from quota_company import Company, Job, companies

from compiler.check import check
from compiler.memory import Checked
from compiler.project import Project
from compiler.repository import Repository

NOW = datetime(2026, 2, 10, 12, tzinfo=UTC)


def checked(root: Path) -> Checked:
    return check(Project(Repository(root), at=NOW), processes=1)


def told(company: Company) -> tuple[list[dict[str, Any]], Checked]:
    with TemporaryDirectory() as folder:
        found = checked(company.write(Path(folder)))
    return found.verdict, found


def as_reference(row: dict[str, Any]) -> tuple[object, ...]:
    return (
        row["cluster"],
        row["team"],
        row["accelerator"] or reference.RUNS,
        row["limit"],
        row["held"],
        row["requested"],
        sorted((one["job"], one["accelerators"]) for one in row["holders"]),
        sorted((one["job"], one["accelerators"]) for one in row["waiting"]),
    )


def expected(company: Company) -> list[tuple[object, ...]]:
    return [
        (
            one.cluster,
            one.team,
            one.accelerator,
            one.limit,
            one.held,
            sum(number for _, number in one.waiting),
            sorted(one.holders),
            sorted(one.waiting),
        )
        for one in reference.verdict(company.world, company.of())
    ]


def edited(company: Company, edit: dict[str, str]) -> Company:
    """The company with an edit, made on its records and not on any text."""
    job = next(job for job in company.jobs if job.title == edit["job"])
    if edit["field"] == "num_nodes":
        changed = replace(job, nodes=int(edit["to"]), most=int(edit["to"]))
    elif edit["field"] == "num_nodes.max":
        changed = replace(job, most=int(edit["to"]))
    elif edit["field"] == "accelerators":
        name, each = edit["to"].split(":")
        changed = replace(job, accelerator=name, each=int(each))
    else:
        assert edit["field"] == "cluster"
        changed = replace(job, cluster=edit["to"])
    return replace(company, jobs=tuple(changed if one is job else one for one in company.jobs))


def passes(company: Company, job: Job) -> bool:
    """Whether a job has room when its turn comes."""
    runs = company.of()
    run = next(run for run in runs if (run.team, run.job) == (job.team, job.name))
    held = reference.held_before(company.world, runs, run)
    return not run.refused and not reference.obstacles(company.world, held, run)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(companies())
def test_the_verdict_is_that_of_the_reference_and_each_edit_really_passes(
    company: Company,
) -> None:
    rows, _ = told(company)
    key = repr
    assert sorted(map(as_reference, rows), key=key) == sorted(expected(company), key=key)
    for row in rows:
        for edit in row["edits"]:
            assert edit["from"] != edit["to"]
            after = edited(company, edit)
            job = next(job for job in after.jobs if job.title == edit["job"])
            assert not passes(company, next(j for j in company.jobs if j.title == edit["job"]))
            assert passes(after, job), edit
            # Nobody pays for it: whoever had room keeps it.
            asks = {(run.team, run.job) for run in company.of()}
            for one, was in zip(after.jobs, company.jobs, strict=True):
                if (was.team, was.name) in asks and passes(company, was):
                    assert passes(after, one), (edit, one.title)
