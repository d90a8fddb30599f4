"""`policy test`: what a test of policy may say, and what is told when it does not come true."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from declarations import ROOT, repository
from jsonschema import validate

from compiler.cli import main
from compiler.schemas import schemas
from compiler.starter import files

TEST = """\
description: what it is about
job:
  team: nlp
  image: llm-sft
  accelerators: H100:8
  num_nodes: 16   # too many
  queue: research
  max_duration: 24h
  checkpoint: {claim: checkpoints, path: /ckpt}
expect:
  - {rule: nodes-above-cap, severity: error, at: num_nodes, message: a run of the team nlp}
"""


class Tried:
    """A repository with tests of policy, and what `policy test` says of them."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = repository(root)
        shutil.rmtree(self.root / "policy/tests")
        self.capsys = capsys
        self.err = ""

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def said(self, *words: str, status: int = 0) -> str:
        argv = ["--repo", str(self.root), "--at", "2026-03-01T00:00:00Z", "policy", "test", *words]
        assert main(argv) == status
        printed = self.capsys.readouterr()
        self.err = printed.err
        return printed.out

    def one(self, text: str, status: int) -> dict[str, Any]:
        """What is said of one test, as data."""
        self.write("policy/tests/one.yaml", text)
        told = json.loads(self.said("--format", "json", status=status))
        validate(told, schemas()["policy-results"])
        (test,) = told["tests"]
        assert test["passed"] is (status == 0)
        return test


@pytest.fixture
def tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Tried:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    made = Tried(tmp_path / "repository", capsys)
    monkeypatch.chdir(made.root)
    return made


def test_the_tests_of_this_repository_pass(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--repo", str(ROOT), "policy", "test"]) == 0
    count = len(list((ROOT / "policy/tests").glob("*.yaml")))
    assert count >= 4
    assert capsys.readouterr().out == f"{count} tests of policy passed\n"


def test_they_fail_without_the_policy_that_they_are_about(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository(tmp_path, jobs=True)
    for path, cut in {
        "policy/teams/nlp.yaml": r"(?m)^  nodes: 8\n|^secrets:.*\n",
        "policy/clusters/west.yaml": r"(?ms)^registries:\n(  .*?\n)+(?=\w)",
    }.items():
        text = (root / path).read_text("utf-8")
        changed = re.sub(cut, "", text)
        assert changed != text
        (root / path).write_text(changed, "utf-8")
    (root / "policy/waivers/wav2vec.yaml").unlink()
    assert main(["--repo", str(root), "policy", "test"]) == 1
    said = capsys.readouterr().out
    for name in ("nodes-above-cap", "secret-of-another-team", "wav2vec-again", "wav2vec-waived"):
        assert f"FAILED policy/tests/{name}.yaml" in said


def test_a_new_repository_has_a_test_that_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(tmp_path / "new")]) == 0
    assert [name for name in files("github", "x==1") if name.startswith("policy/tests/")]
    capsys.readouterr()
    assert main(["--repo", str(tmp_path / "new"), "policy", "test"]) == 0
    assert capsys.readouterr().out == "1 test of policy passed\n"


def test_what_comes_as_expected_passes(tried: Tried) -> None:
    tried.write("policy/tests/one.yaml", TEST)
    assert tried.said() == "1 test of policy passed\n"


def test_a_code_is_as_good_as_a_name(tried: Tried) -> None:
    tried.one(TEST.replace("nodes-above-cap", "OPS817"), 0)


def test_what_is_found_and_not_expected_is_told_where_it_stands(tried: Tried) -> None:
    tried.write("policy/tests/one.yaml", TEST.partition("expect:")[0] + "expect: []\n")
    assert tried.said(status=1) == (
        "FAILED policy/tests/one.yaml: what it is about\n"
        "  found, and not expected: error[OPS817] nodes-above-cap:"
        " 16 nodes; a run of the team nlp may have 8\n"
        "    --> policy/tests/one.yaml:6:14\n"
        "    ::: policy/teams/nlp.yaml:12:10: the team's cap\n"
        "    = help: write 8 or less\n"
        "\n"
        "1 test of policy: 1 failed\n"
    )


def test_what_is_expected_and_not_found_is_told_where_the_test_says_so(tried: Tried) -> None:
    tried.write("policy/tests/one.yaml", TEST.replace("num_nodes: 16", "num_nodes: 4"))
    assert tried.said(status=1) == (
        "FAILED policy/tests/one.yaml: what it is about\n"
        "  expected, and not found: error[OPS817] nodes-above-cap at num_nodes,"
        " saying `a run of the team nlp`\n"
        "    --> policy/tests/one.yaml:11:12\n"
        "\n"
        "1 test of policy: 1 failed\n"
    )


@pytest.mark.parametrize(
    ("old", "new", "note"),
    [
        ("severity: error", "severity: warning", "it came as an error"),
        ("at: num_nodes", "at: accelerators", "it came at policy/tests/one.yaml:6"),
        ("at: num_nodes", "at: policy/teams/nlp.yaml", "it came at policy/tests/one.yaml:6"),
        ("at: num_nodes", "at: num_node", "it came at policy/tests/one.yaml:6"),
        (
            "message: a run of the team nlp",
            "message: vision",
            "it says: 16 nodes; a run of the team nlp may have 8",
        ),
    ],
)
def test_what_came_otherwise_is_told(tried: Tried, old: str, new: str, note: str) -> None:
    told = tried.one(TEST.replace(old, new), 1)
    assert [missing["note"] for missing in told["missing"]] == [note]
    assert [item["rule"] for item in told["unexpected"]] == ["nodes-above-cap"]


def test_a_field_that_the_job_does_not_have_is_told(tried: Tried) -> None:
    text = TEST.replace("num_nodes: 16", "num_nodes: 4").replace("at: num_nodes", "at: num_node")
    (missing,) = tried.one(text, 1)["missing"]
    assert missing["note"] == "the job has no `num_node`"


def test_of_a_rule_about_several_jobs_that_is_told(tried: Tried) -> None:
    (missing,) = tried.one(TEST + "  - {rule: names-alike}\n", 1)["missing"]
    assert missing["note"] == "this rule is about several jobs together, and a test has one"


@pytest.mark.parametrize(
    ("fields", "rule", "at"),
    [
        ("mounts: {/d.x: {claim: dataset}}", "unknown-claim", "mounts./d.x.claim"),
        ("mounts: {/d: {claim: dataset}}", "unknown-claim", "mounts"),
        ("sidecars: [{name: a, image: gpu-exporte}]", "unknown-image", "sidecars[0].image"),
        ("env: {RANK: 1}", "operator-variable", "env.RANK"),
    ],
)
def test_a_place_is_a_field_at_any_depth(tried: Tried, fields: str, rule: str, at: str) -> None:
    head = TEST.replace("num_nodes: 16", fields).partition("expect:")[0]
    tried.one(f"{head}expect: [{{rule: {rule}, at: {json.dumps(at)}}}]\n", 0)
    tried.one(f"{head}expect: [{{rule: {rule}, at: image}}]\n", 1)


def test_a_notice_need_not_be_expected_and_may_be(tried: Tried) -> None:
    rules = "severity: {nodes-above-cap: notice}\n"
    tried.write("policy/rules.yaml", rules)
    tried.one(TEST.partition("expect:")[0] + "expect: []\n", 0)
    tried.one(TEST.replace("severity: error", "severity: notice"), 0)
    tried.write("policy/rules.yaml", rules.replace("notice", "warning"))
    tried.one(TEST.partition("expect:")[0] + "expect: []\n", 1)


def test_a_job_in_braces_keeps_its_places(tried: Tried) -> None:
    text = (
        "job: {team: nlp, image: llm-sft, accelerators: 'H100:8', queue: research,\n"
        "  max_duration: 1h, checkpoint: {claim: checkpoints, path: /ckpt}, num_nodes: 9}\n"
        "expect: []\n"
    )
    (item,) = tried.one(text, 1)["unexpected"]
    assert (item["path"], item["line"], item["column"]) == ("policy/tests/one.yaml", 2, 79)


def test_the_keys_may_stand_in_any_order_and_the_job_may_be_the_last(tried: Tried) -> None:
    head, _, tail = TEST.partition("expect:")
    tried.one(f"expect:{tail}{head}", 0)
    tried.one(f"expect:{tail}{head}".rstrip("\n"), 0)


def test_the_day_of_a_test_is_the_day_on_which_it_is_judged(tried: Tried) -> None:
    tried.write(
        "policy/waivers/w.yaml",
        "rule: OPS817\njobs: [nlp/big]\nreason: r\napprover: kim\nuntil: 2026-06-30\n",
    )
    for day, status in (("2026-06-30", 1), ("2026-07-01", 0)):
        told = tried.one(f"name: big\nday: {day}\n{TEST}", status)
        assert told["unexpected"] == []
    tried.one(f"day: 2026-06-30\n{TEST}", 0)


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        (TEST.replace("nodes-above-cap", "node-above-cap"), "unknown-name-in-policy", (11, 12)),
        (TEST.replace("severity: error", "severity: eror"), "unknown-choice", (11, 39)),
        (TEST.replace("expect:", "expects:"), "unknown-key", (10, 1)),
        (TEST.partition("expect:")[0], "missing-key", (1, 1)),
        ("job: nlp\nexpect: []\n", "wrong-type", (1, 6)),
        ("job: [\n", "syntax-error", (1, 6)),
        ("", "empty-file", (1, 1)),
        (f"day: tomorrow\n{TEST}", "wrong-type", (1, 6)),
    ],
)
def test_what_is_wrong_in_a_test_is_one_finding(
    tried: Tried, text: str, rule: str, place: tuple[int, int]
) -> None:
    told = tried.one(text, 1)
    (item,) = told["problems"]
    assert (item["rule"], (item["line"], item["column"])) == (rule, place)
    assert told["missing"] == told["unexpected"] == []


def test_a_test_for_a_job_whose_team_is_unknown_says_so(tried: Tried) -> None:
    text = TEST.replace("team: nlp", "team: npl").partition("expect:")[0]
    tried.one(f"{text}expect: [{{rule: unknown-team, at: team}}]\n", 0)


def test_with_broken_policy_no_test_is_run(tried: Tried) -> None:
    tried.write("policy/tests/one.yaml", TEST)
    tried.write("policy/teams/vision.yaml", "namespace: [\n")
    assert tried.said(status=1) == ""
    assert "policy/teams/vision.yaml" in tried.err


def test_only_the_named_tests_are_run(tried: Tried) -> None:
    tried.write("policy/tests/one.yaml", TEST)
    tried.write("policy/tests/caps/two.yml", TEST)
    tried.write("policy/tests/README.md", "x")
    assert tried.said() == "2 tests of policy passed\n"
    assert tried.said("policy/tests/caps") == "1 test of policy passed\n"
    assert tried.said("policy/tests/one.yaml", "policy/tests") == "2 tests of policy passed\n"
    tried.said("policy/teams", status=2)
    assert "holds no test of policy" in tried.err


def test_without_tests_that_is_said(tried: Tried) -> None:
    assert tried.said() == "no tests\n"
    assert "there are no tests under policy/tests/" in tried.err


def test_check_neither_reads_tests_nor_forgets_what_it_knows(tried: Tried) -> None:
    tried.write("jobs/a.yaml", "image: [\n")
    argv = ["--repo", str(tried.root), "check"]
    assert main(argv) == 1
    before = tried.capsys.readouterr().out
    memory = next((tried.root.parent / "cache").glob("check.json")).read_bytes()
    tried.write("policy/tests/one.yaml", "job: [\n")
    assert main(argv) == 1
    assert tried.capsys.readouterr().out == before
    assert next((tried.root.parent / "cache").glob("check.json")).read_bytes() == memory
    assert main([*argv, "policy/tests"]) == 2
    assert "`policy test policy/tests`" in tried.capsys.readouterr().err


def test_a_folder_with_nearly_that_name_is_told(tried: Tried) -> None:
    tried.write("policy/test/one.yaml", TEST)
    assert main(["--repo", str(tried.root), "check"]) == 1
    assert "move it to policy/tests/one.yaml" in tried.capsys.readouterr().out
