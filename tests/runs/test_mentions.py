"""Names and runs in declarations that only the ledger confirms: `was`, and `checkpoint.from`."""

from __future__ import annotations

from pathlib import Path

import pytest
from company import Company, job, rows, without_proof

from compiler.check import check_again


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    return Company(tmp_path)


def told(company: Company) -> list[tuple[str, str, int | None]]:
    """What `check` finds, without the weights."""
    found = check_again(company.repository, company.now).findings
    return [(item.rule, item.place.path, item.place.line) for item in found]


def test_a_copy_with_was_is_found_at_its_line_and_blocks_both(company: Company) -> None:
    company.write("jobs/nlp/a.yaml", job())
    company.merge()
    company.publish()
    company.write("jobs/nlp/zz.yaml", job() + "was: a\n")
    last = len(job().splitlines()) + 1
    assert told(company) == [("two-files-by-was", "jobs/nlp/zz.yaml", last)]
    (item,) = check_again(company.repository, company.now).findings
    assert [one.place.path for one in item.related] == ["jobs/nlp/a.yaml"]
    found = rows(company.plan())
    assert {row["action"] for row in found} == {"blocked"}
    for row in found:
        assert f"NAM305 two-files-by-was at jobs/nlp/zz.yaml:{last}" in row["reason"]
    company.merge()
    assert [run.state for run in company.publish().outcome.ledgers["nlp", "a"].runs] == ["active"]


def test_two_copies_with_one_former_name_leave_its_run_as_it_is(company: Company) -> None:
    company.write("jobs/nlp/a.yaml", job())
    company.merge()
    company.publish()
    company.git("mv", "jobs/nlp/a.yaml", "jobs/nlp/b.yaml")
    for name in ("b", "c"):
        company.write(f"jobs/nlp/{name}.yaml", job() + "was: a\n")
    assert [row[:2] for row in told(company)] == [("two-files-by-was", "jobs/nlp/c.yaml")]
    found = company.plan()
    assert {row["action"] for row in rows(found)} == {"blocked"}
    company.merge()
    assert [run.state for run in company.publish().outcome.ledgers["nlp", "a"].runs] == ["active"]


def test_the_former_name_of_a_file_that_cannot_be_used_is_not_absent(company: Company) -> None:
    company.write("jobs/nlp/a.yaml", job())
    company.merge()
    company.publish()
    company.git("mv", "jobs/nlp/a.yaml", "jobs/nlp/b.yaml")
    company.write("jobs/nlp/b.yaml", job(max_duration="soon") + "was: a\n")
    assert {row["action"] for row in rows(company.plan())} == {"blocked"}


def test_a_file_that_comes_back_beside_its_new_name_is_found(company: Company) -> None:
    company.write("jobs/nlp/a.yaml", job())
    company.merge()
    company.publish()
    company.git("mv", "jobs/nlp/a.yaml", "jobs/nlp/b.yaml")
    company.write("jobs/nlp/b.yaml", job() + "was: a\n")
    assert told(company) == []
    company.merge()
    company.publish()
    # The ledger remembers, also where the file does not say so any more.
    company.write("jobs/nlp/b.yaml", job())
    company.write("jobs/nlp/a.yaml", job())
    assert [row[0] for row in told(company)] == ["two-files-by-was"]


def test_was_comes_too_late_for_a_job_that_has_runs(company: Company) -> None:
    for name in ("a", "b"):
        company.write(f"jobs/nlp/{name}.yaml", job())
    company.merge()
    company.publish()
    company.write("jobs/nlp/a.yaml", None)
    company.write("jobs/nlp/b.yaml", job() + "was: a\n")
    assert [row[:2] for row in told(company)] == [("two-files-by-was", "jobs/nlp/b.yaml")]
    assert {row["action"] for row in rows(company.plan())} == {"blocked"}


@pytest.mark.parametrize("named", ["r9", "{west: r9}"])
def test_a_run_that_never_was_is_found_and_nothing_goes_on_from_it(
    company: Company, named: str
) -> None:
    company.write("jobs/nlp/a.yaml", job())
    company.merge()
    company.publish()
    fields: dict[str, object] = {
        "args": "[--lr, 2e-4]",
        "checkpoint": f"{{claim: checkpoints, path: /ckpt, every: 30m, from: {named}}}",
    }
    company.write("jobs/nlp/a.yaml", job(**fields))
    assert [row[:2] for row in told(company)] == [("unknown-run", "jobs/nlp/a.yaml")]
    (row,) = rows(company.plan())
    assert row["action"] == "blocked"
    assert "no run r9 of a has ever started" in row["reason"]
    company.merge()
    assert company.publish().blocked
    company.write("jobs/nlp/a.yaml", job(**fields).replace("r9", "r1"))
    assert told(company) == []
    started = [row["from"] for row in rows(company.plan()) if row["action"] == "start"]
    assert started == [1]


@pytest.mark.parametrize("named", ["2", "last", "r" + "9" * 5000], ids=["2", "last", "endless"])
def test_what_is_no_run_at_all_is_one_mistake(company: Company, named: str) -> None:
    company.write("jobs/nlp/a.yaml", job())
    company.merge()
    company.publish()
    checkpoint = f"{{claim: checkpoints, path: /ckpt, every: 30m, from: {named}}}"
    company.write("jobs/nlp/a.yaml", job(checkpoint=checkpoint))
    assert [row[0] for row in told(company)] == ["bad-run-reference"]


def test_a_ledger_that_cannot_be_read_denies_no_run(company: Company) -> None:
    for name in ("a", "b"):
        company.write(f"jobs/nlp/{name}.yaml", job())
    company.merge()
    company.publish()
    checkpoint = "{claim: checkpoints, path: /ckpt, every: 30m, from: r1}"
    company.write("jobs/nlp/a.yaml", job(checkpoint=checkpoint))
    company.write("overlays/ledger/nlp/a.yaml", "version: [\n")
    assert [row[0] for row in told(company)] == ["edited-ledger"]
