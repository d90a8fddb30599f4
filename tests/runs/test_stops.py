"""Files of `policy/stops/`, as publish and check read them beside the ledger."""

from __future__ import annotations

from pathlib import Path

import pytest
from company import Company, job, without_proof

from compiler.diagnostics import Finding
from compiler.runs.publishing import Published
from compiler.runs.verification import verified

STOP = "policy/stops/now.yaml"


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    """With one run, stopped now."""
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    made = Company(tmp_path)
    made.write("jobs/nlp/a.yaml", job())
    made.merge()
    made.publish()
    made.write(STOP, "run: nlp/a-r1\nreason: the volume is full\n")
    made.merge()
    made.publish()
    return made


def actions(done: Published) -> list[tuple[str, str, str]]:
    return [(item.job, item.decision.row, item.decision.action) for item in done.outcome.decisions]


def found(company: Company) -> list[Finding]:
    told = verified(company.repository)
    assert told.skipped == ""
    return told.findings


@pytest.mark.parametrize(
    "text",
    [
        "run: [nlp/a-r1\nreason: the volume is full\n",
        "reason: the volume is full\n",
        "run: nlp/a-r1\nteam: vision\nreason: the volume is full\n",
        "run: a-r1\nreason: the volume is full\n",
    ],
    ids=["broken", "of nothing", "of two things", "of half a name"],
)
def test_a_stop_that_cannot_be_read_is_not_absent(company: Company, text: str) -> None:
    """What it stopped does not go on, and nothing else starts; runs may still be ended."""
    company.write("jobs/nlp/b.yaml", job(args="[--lr, 3e-4]"))
    company.merge()
    company.publish()
    company.write(STOP, text)
    company.write("jobs/nlp/b.yaml", None)
    company.write("jobs/nlp/c.yaml", job(args="[--lr, 4e-4]"))
    company.merge()
    done = company.publish()
    assert actions(done) == [
        ("b", "b", "stop"),
        ("a", "a", "blocked"),
        ("c", "a", "blocked"),
    ]
    assert STOP in done.outcome.decisions[1].decision.reason
    company.write(STOP, None)
    company.merge()
    assert ("a", "l", "resume") in actions(company.publish())


def test_a_broken_stop_leaves_what_runs_alone(company: Company) -> None:
    company.write(STOP, None)
    company.merge()
    company.publish()
    company.write(STOP, "reason: x\n")
    company.merge()
    assert actions(company.publish()) == [("a", "d", "none")]
    # What would take its place waits, and the run goes on.
    company.write("jobs/nlp/a.yaml", job(args="[--lr, 5e-4]"))
    company.merge()
    (item,) = company.publish().outcome.decisions
    assert (item.decision.row, item.decision.ends) == ("a", ())
    assert "r2 stays as it is" in item.decision.reason


def test_a_stop_of_a_run_of_the_ledger_is_silent_even_where_it_has_ended(company: Company) -> None:
    assert found(company) == []


@pytest.mark.parametrize("name", ["nlp/a-r2", "nlp/a-r11", "nlp/b-r1"])
def test_a_stop_of_a_run_that_never_was_is_told_at_its_line(company: Company, name: str) -> None:
    company.write(STOP, f"# Now.\nrun: {name}\nreason: the volume is full\n")
    (item,) = found(company)
    assert (item.rule, item.place.path, item.place.line) == ("idle-stop", STOP, 2)
    assert f"`{name.partition('/')[2]}`" in item.message


def test_a_run_that_only_the_remote_knows_can_be_stopped(company: Company) -> None:
    """The clone is behind: publish has started the run since."""
    company.write(STOP, None)
    company.merge()
    company.publish()
    company.git("checkout", "-q", "HEAD~1")
    company.write(STOP, "run: nlp/a-r2\nreason: the volume is full\n")
    assert [item.rule for item in found(company)] == []


def test_a_ledger_on_a_branch_that_is_not_here_blames_nobody(company: Company) -> None:
    company.write("pyproject.toml", '[tool.compiler.publish]\nbranch = "deploy"\n')
    company.git("rm", "-rq", "overlays")
    company.write(STOP, "run: nlp/a-r9\nreason: the volume is full\n")
    assert [item.rule for item in found(company) if item.rule == "idle-stop"] == []


def test_an_image_that_only_the_ledger_remembers_can_be_stopped(company: Company) -> None:
    digest = "sha256:" + "aa01" * 16
    company.write("images/lock.yaml", "images: {}\n")
    company.write("jobs/nlp/a.yaml", None)
    company.write(STOP, f"image: {digest}\nreason: it deletes checkpoints\n")
    assert found(company) == []
    company.write(STOP, f"image: {digest[:-1]}2\nreason: it deletes checkpoints\n")
    assert [item.rule for item in found(company)] == ["idle-stop"]


@pytest.mark.parametrize("part", ["train", "trainer2", "a", "sha256", "trainer:"])
def test_a_part_of_an_images_name_is_no_image(company: Company, part: str) -> None:
    company.write(STOP, f'image: "{part}"\nreason: it deletes checkpoints\n')
    (item,) = found(company)
    assert (item.rule, item.place.line) == ("idle-stop", 1)


@pytest.mark.parametrize(
    "form", ["image: X", "image: 'X'", "{image: X, team: nlp}", '{"image": "X"}']
)
def test_an_image_that_a_declaration_names_can_be_stopped(company: Company, form: str) -> None:
    digest = "sha256:" + "bb02" * 16
    whole = f"registry.example.com/other@{digest}"
    company.write("jobs/nlp/c.yaml", form.replace("X", whole) + "\n")
    for image in (whole, digest):
        company.write(STOP, f"image: {image}\nreason: it deletes checkpoints\n")
        assert [item.rule for item in found(company) if item.rule == "idle-stop"] == []
    company.write(STOP, f"image: {digest[:-1]}\nreason: it deletes checkpoints\n")
    assert "idle-stop" in [item.rule for item in found(company)]
