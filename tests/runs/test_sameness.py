"""What runs of before come to is found out once, and never taken from another policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from company import LOCK, Company, job, without_proof

from compiler.project import Project
from compiler.runs.publishing import Published


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    """With a job that has been edited three times."""
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    made = Company(tmp_path)
    made.write("policy/rules.yaml", "operational_env: [LOG_*]\n")
    for rate in range(3):
        made.write("jobs/nlp/a.yaml", job(args=f"[--lr, {rate}e-4]", env=f"{{LOG_LEVEL: x{rate}}}"))
        made.merge()
        made.publish()
    return made


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The declarations that are judged from now on, by their text."""
    judged: list[str] = []
    real = Project.judge

    def judge(self: Project, path: Path, data: bytes | None = None, *more: Any) -> Any:
        judged.append((path.read_bytes() if data is None else data).decode())
        return real(self, path, data, *more)

    monkeypatch.setattr(Project, "judge", judge)
    return judged


def actions(done: Published) -> list[str]:
    return [item.decision.action for item in done.outcome.decisions]


def test_a_publish_judges_each_declaration_once(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the starting jobs too; and what ran before is known from the publish before."""
    company.write("jobs/nlp/b.yaml", job())
    company.write("jobs/nlp/c.yaml", job(args="[--lr, 7e-4]"))
    company.merge()
    company.publish(dry_run=True)
    judged = counted(monkeypatch)
    assert actions(company.publish()) == ["none", "start", "start"]
    assert len(judged) == len(set(judged)) == 3


def test_the_object_of_a_run_that_is_judged_once_is_that_of_one_judged_for_itself(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    from compiler.runs.emission import Emission

    company.write("jobs/nlp/a.yaml", job(args="[--lr, 1e-4]", env="{LOG_LEVEL: y}"))
    company.write("jobs/nlp/c.yaml", job(num_nodes=2))
    company.merge()
    once = company.publish(dry_run=True)
    monkeypatch.setattr(Emission, "_as_judged", lambda *_: None)
    again = company.publish(dry_run=True)
    assert once.tree is not None
    assert again.tree is not None
    assert once.tree.files == again.tree.files
    assert [claim.objects for claim in once.tree.claims] == [
        claim.objects for claim in again.tree.claims
    ]
    assert len(once.tree.claims) == 2


def test_another_policy_is_another_measure(company: Company) -> None:
    """A variable that has become part of the training was so for the runs of before, too."""
    assert actions(company.publish(dry_run=True)) == ["none"]
    company.write("policy/rules.yaml", "operational_env: []\n")
    company.merge()
    assert actions(company.publish()) == ["none"]
    company.write("jobs/nlp/a.yaml", job(args="[--lr, 2e-4]", env="{LOG_LEVEL: z}"))
    company.merge()
    (item,) = company.publish(dry_run=True).outcome.decisions
    assert (item.decision.row, item.decision.then) == ("g", "h")
    company.write("policy/rules.yaml", "operational_env: [LOG_*]\n")
    company.merge()
    (item,) = company.publish(dry_run=True).outcome.decisions
    assert (item.decision.row, item.decision.then) == ("g", "l")


@pytest.mark.parametrize("how", ["cut", "changed", "a list"])
def test_a_broken_memory_is_no_memory(company: Company, how: str) -> None:
    file = company.repository.cache / "digests.json"
    text = file.read_text("utf-8")
    whole = {
        "cut": text[: len(text) // 2],
        "changed": text.replace("[", '["x", ', 1),
        "a list": "[]",
    }
    file.write_text(whole[how], "utf-8")
    company.write("images/lock.yaml", LOCK.replace("aa01", "bb02"))
    company.merge()
    assert actions(company.publish()) == ["none"]
