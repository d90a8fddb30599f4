"""Nothing prints a secret of a file, whatever else is wrong with it and whichever rules are on."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime
from pathlib import Path

import pytest
from declarations import job, policy, repository

from compiler.cli import main
from compiler.model import Run
from compiler.project import Project
from compiler.repository import Repository
from compiler.runs.differences import differences

# Put together here, so that nobody who looks through this file takes it for real.
HUGGING_FACE = "hf_" + "AbCd" * 9
JSON_TOKEN = ".".join(
    urlsafe_b64encode(part).decode().rstrip("=")
    for part in (b'{"alg": "HS256", "typ": "JWT"}', b'{"sub": "%s"}' % (b"kim" * 40), b"x" * 32)
)
LATER = datetime(2026, 3, 1, tzinfo=UTC)
FORMS = ["text", "json", "sarif", "github"]
OFF = {"policy/rules.yaml": 'severity: {secret-in-variable: "off", secret-in-text: "off"}\n'}


def printed(
    folder: Path, files: dict[str, str], capsys: pytest.CaptureFixture[str], *words: str
) -> str:
    root = repository(folder / "repository", files)
    main(["--repo", str(root), "--at", LATER.isoformat(), "--color", "never", *words])
    told = capsys.readouterr()
    return told.out + told.err


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("rule", "files"),
    [
        # A value of the wrong shape on the line of a secret, and a secret as such a value.
        ("wrong-type", {"jobs/example.yaml": job("env: {DB_PASSWORD: hunter2hunter2, A: [1]}")}),
        ("unknown-key", {"jobs/example.yaml": job(f"{HUGGING_FACE}: 1")}),
        ("unknown-choice", {"jobs/example.yaml": job(f"state: {HUGGING_FACE}")}),
        ("bad-duration", {"jobs/example.yaml": job(max_duration=HUGGING_FACE)}),
        ("bad-name", {"jobs/example.yaml": job(queue=HUGGING_FACE)}),
        # Of no team, so that nobody knows which layers there are.
        (
            "unknown-team",
            {
                "jobs/example.yaml": job(
                    "env: {API_KEY: hunter2hunter2, API_KEY2: [x]}", team="nobody"
                )
            },
        ),
        # The rule is off, and another one shows its line.
        (
            "unexpanded-shell-variable",
            {
                "jobs/example.yaml": job('env: {DB_PASSWORD: hunter2hunter2, PATH: "/x:$PATH"}'),
                **OFF,
            },
        ),
        # The text is none.
        ("syntax-error", {"jobs/example.yaml": job('env: {API_KEY: hunter2hunter2, B: "x}')}),
        # A file of policy.
        (
            "wrong-type",
            policy(
                "policy/teams/nlp.yaml",
                ("HF_HUB_DISABLE_TELEMETRY: ", "DB_PASSWORD: hunter2hunter2, A: [1], B: "),
            ),
        ),
    ],
)
def test_no_form_of_a_report_shows_a_secret_for_another_finding(
    form: str,
    rule: str,
    files: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = printed(tmp_path, files, capsys, "check", "--format", form)
    assert rule in said or form == "github"
    assert "hunter2hunter2" not in said
    assert HUGGING_FACE not in said


def test_explain_job_tells_where_a_secret_comes_from_and_not_what_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = job(
        f"env: {{DB_PASSWORD: hunter2hunter2, DEPTH: hunter}}\nargs: [--key, {HUGGING_FACE}]"
    )
    files = {"jobs/example.yaml": text, **OFF}
    said = printed(tmp_path, files, capsys, "explain-job", "example", "--format", "json")
    values = {row["field"]: row["value"] for row in json.loads(said)["runs"][0]["values"]}
    assert values["env.DB_PASSWORD"] == "****"
    assert values["env.DEPTH"] == "hunter"
    assert values["args[1]"] == "****"


def run_of(folder: Path, more: str) -> Run:
    root = repository(folder, {"jobs/example.yaml": job(more), **OFF})
    result = Project(Repository(root), at=LATER).judge(root / "jobs/example.yaml")
    return result.models["west"]


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("env: {DB_PASSWORD: first-one}", "env: {DB_PASSWORD: other-one}", "env DB_PASSWORD: "),
        ("env: {A: b}", "env: {A: b, DB_PASSWORD: first-one}", "env DB_PASSWORD: new, `****`"),
        ("args: [--db-password, first-one]", "args: [--db-password, other-one]", "args: "),
        ("args: [--db-password=first-one]", "args: [--db-password=other-one]", "args: "),
        ("args: [a]", f"args: [a, {JSON_TOKEN}]", "args: with "),
        (f"env: {{API_KEY: {'x1' * 80}}}", "env: {API_KEY: other-one}", "env API_KEY: "),
    ],
)
def test_what_has_changed_between_runs_is_told_without_secrets(
    before: str, after: str, said: str, tmp_path: Path
) -> None:
    (phrase,) = differences(run_of(tmp_path / "old", before), run_of(tmp_path / "new", after), {})
    assert phrase.startswith(said)
    assert "****" in phrase
    for secret in ("first-one", "other-one", JSON_TOKEN[:20], "x1x1"):
        assert secret not in phrase
