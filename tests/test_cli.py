"""The command line: flags, exit statuses, and what goes to which stream."""

from __future__ import annotations

import argparse
import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import compiler
from compiler import cli
from compiler.diagnostics import CompilerError, Unavailable
from compiler.terminal import colored, visible, width

ROOT = Path(__file__).parent.parent


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "compiler", *words]
    options = {"cwd": ROOT, "capture_output": True, "text": True} | options
    return subprocess.run(command, check=False, **options)


def verb(action: Any, name: str = "try") -> dict[str, Any]:
    """The verbs of a program that has only this one."""
    made = SimpleNamespace(
        NAME=name,
        HELP="try it",
        NEEDS_REPOSITORY=False,
        arguments=lambda parser: parser.add_argument("words", nargs="*"),
        run=lambda options, repository: action(options),
    )
    return {name: made}


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Replaces all verbs by one that does what it is told."""

    def replace(action: Any) -> None:
        monkeypatch.setattr(cli, "find_verbs", lambda: verb(action))

    return replace


def raising(error: BaseException) -> Any:
    def action(options: argparse.Namespace) -> int:
        raise error

    return action


def test_every_module_of_the_verbs_is_a_verb_and_help_lists_it() -> None:
    found = cli.find_verbs()
    files = {path.stem for path in (ROOT / "compiler" / "verbs").glob("[a-z]*.py")}
    assert {name.replace("-", "_") for name in found} == files
    assert {"check", "explain", "schema"} <= set(found)
    shown = run("--help")
    assert shown.returncode == 0
    assert shown.stderr == ""
    for name, made in found.items():
        assert f"    {name} " in shown.stdout
        assert made.HELP[0].islower()
        assert not made.HELP.endswith(".")


def test_help_imports_nothing_slow() -> None:
    program = (
        "import sys; from compiler.cli import main; status = main(['--help']);"
        "print('slow:', sorted({'pydantic', 'yaml', 'ruamel', 'jsonschema', 'kubernetes',"
        " 'msgspec', 'dataclasses', 'pathlib', 'compiler.rules', 'compiler.repository'}"
        " & set(sys.modules)), status)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("slow: [] 0\n")


@pytest.mark.parametrize("order", ["before", "after"])
def test_global_flags_stand_before_or_after_the_verb(only: Any, order: str) -> None:
    seen: list[argparse.Namespace] = []
    only(lambda options: seen.append(options) or 0)
    flags = ["--repo", "x", "--format", "json", "--color", "never", "--cluster", "c", "--strict"]
    flags += ["--at", "2026-12-31T12:00:00+01:00"]
    assert cli.main([*flags, "try"] if order == "before" else ["try", *flags]) == 0
    (options,) = seen
    assert (options.repo, options.format, options.color) == ("x", "json", "never")
    assert (options.cluster, options.strict) == ("c", True)
    assert options.at.isoformat() == "2026-12-31T12:00:00+01:00"


def test_global_flags_have_defaults(only: Any) -> None:
    seen: list[argparse.Namespace] = []
    only(lambda options: seen.append(options) or 0)
    assert cli.main(["try"]) == 0
    assert {key: getattr(seen[0], key) for key in cli.DEFAULTS} == cli.DEFAULTS
    assert seen[0].format == "text"


def test_forms_are_the_files_of_the_reporters() -> None:
    files = {path.stem for path in (ROOT / "compiler" / "reporters").glob("[a-z]*.py")}
    assert set(cli.formats()) == files == {"text", "json", "github", "sarif"}
    assert cli.formats()[0] == "text"


@pytest.mark.parametrize(
    "moment",
    ["2026-12-31", "2026-12-31T12:00:00", "noon", "2026-13-01T00:00:00Z", "20261231T120000Z", "١"],
)
def test_a_moment_needs_a_date_a_time_and_an_offset(
    moment: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["explain", "--at", moment]) == 2
    assert "not a time with its offset, such as" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message", "help"),
    [
        (["chekc"], "there is no verb `chekc`", "write `check`"),
        (["zzzzzz"], "there is no verb `zzzzzz`", "write one of: "),
        ([], "the following arguments are required: VERB", "--help"),
        (["explain", "--forma", "json"], "unrecognized arguments", "--help"),
        (["explain", "--format", "xml"], "argument --format: invalid choice: 'xml'", "--help"),
        (["explain", "RES-403"], "there is no rule `RES-403`", "write `RES403`"),
        (["explain", "fractional-gpu"], "there is no rule", "write `fractional-accelerators`"),
        (["schema", "--stdout", "jobs"], "there is no schema `jobs`", "write one of: "),
        (["schema", "--repo", "nowhere"], "no repository at ", "--repo DIR"),
    ],
)
def test_wrong_use_is_two_lines_and_status_2(
    words: list[str], message: str, help: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("runwright: ")
    assert message in first
    assert second.startswith("  help: ")
    assert help in second


def test_a_terminal_never_obeys_what_the_user_passed(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", "\x1b[2Jx"]) == 2
    assert "\x1b" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (CompilerError("cannot do it", "do that"), 2, "runwright: cannot do it\n  help: do that\n"),
        (CompilerError("cannot do it"), 2, "runwright: cannot do it\n"),
        (Unavailable("no kustomize"), 1, "runwright: no kustomize\n"),
        (KeyboardInterrupt(), 130, ""),
        (BrokenPipeError(), 141, ""),
        (
            OSError(errno.ENOSPC, "No space left on device", "/x"),
            1,
            "runwright: /x: No space left ",
        ),
        (PermissionError(errno.EACCES, "Permission denied", "/y"), 1, "runwright: /y: Permission "),
    ],
)
def test_failures_have_their_status_and_one_line(
    only: Any, capfd: pytest.CaptureFixture[str], error: BaseException, status: int, text: str
) -> None:
    only(raising(error))
    assert cli.main(["try"]) == status
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith(text)
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "error", [KeyError("boom"), FileNotFoundError(2, "boom", "z"), MemoryError("boom")]
)
def test_a_bug_of_ours_ends_in_a_report_to_paste(
    only: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    monkeypatch.setenv("REGISTRY_TOKEN", "s3cret-value")
    only(raising(error))
    assert cli.main(["try", "s3cret-word"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    for part in ("this is a bug", compiler.__version__, "Python 3", "verb: try", "boom"):
        assert part in err
    assert type(error).__name__ in err
    assert "compiler/cli.py:" in err
    assert " in action" in err
    # Neither the environment, nor the command line, nor folders of this machine.
    assert "s3cret" not in err
    assert str(ROOT) not in err
    assert str(Path.home()) not in err.replace(str(ROOT), "")


def test_results_go_to_stdout_and_a_clean_run_is_silent_on_stderr() -> None:
    done = run("explain", "RES403")
    assert done.returncode == 0
    assert done.stdout.startswith("RES403 fractional-accelerators (error)\n\n")
    assert done.stderr == ""


def test_a_reader_that_leaves_early_is_not_an_error() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = run("explain", capture_output=False, stdout=writing, stderr=subprocess.PIPE)
    finally:
        os.close(writing)
    assert done.returncode == 141
    assert done.stderr == ""


def test_output_is_utf8_whatever_the_locale() -> None:
    environment = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    program = r"from compiler.cli import main; main(['explain', '\xe9t\xe9'])"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=True)
    assert "there is no rule `été`".encode() in done.stderr


def test_explain_lists_every_rule_once_by_code(capsys: pytest.CaptureFixture[str]) -> None:
    from compiler.rules import registered

    assert cli.main(["explain"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == [
        rule.name for rule in sorted(registered().values(), key=lambda rule: rule.rule.code)
    ]


@pytest.mark.parametrize(
    "word", ["RES403", "res403", "fractional-accelerators", "Fractional_Accelerators"]
)
def test_explain_takes_a_code_or_a_name(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["explain", word]) == 0
    assert "## Use instead" in capsys.readouterr().out


def test_explain_gives_programs_the_same_facts(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--format", "json", "explain", "RES403"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert (page["code"], page["rule"]) == ("RES403", "fractional-accelerators")
    assert page["sources"]
    assert cli.main(["--format", "json", "explain"]) == 0
    listed = json.loads(capsys.readouterr().out)["rules"]
    assert page["code"] in {rule["code"] for rule in listed}


def test_schema_writes_compares_and_removes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.compiler]\n")
    repo = ["--repo", str(tmp_path)]
    assert cli.main([*repo, "schema", "--check"]) == 1
    assert "schemas/job.schema.json is out of date" in capsys.readouterr().err
    assert cli.main([*repo, "schema"]) == 0
    assert "schemas/job.schema.json" in capsys.readouterr().out.splitlines()
    assert cli.main([*repo, "schema", "--check"]) == 0
    job = tmp_path / "schemas" / "job.schema.json"
    job.write_text(job.read_text() + " ")
    (tmp_path / "schemas" / "gone.schema.json").write_text("{}")
    assert cli.main([*repo, "schema", "--check"]) == 1
    assert "schemas/gone.schema.json is out of date" in capsys.readouterr().err
    assert cli.main([*repo, "schema"]) == 0
    assert cli.main([*repo, "schema", "--check"]) == 0
    capsys.readouterr()
    assert cli.main([*repo, "schema", "--stdout", "job"]) == 0
    assert capsys.readouterr().out == job.read_text()


def test_colours_follow_the_flag_then_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal:
        def isatty(self) -> bool:
            return True

    screen: Any = Terminal()
    for name in ("NO_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    assert colored("auto", screen)
    assert not colored("never", screen)
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colored("auto", screen)
    assert colored("always", screen)
    monkeypatch.setenv("NO_COLOR", "")
    monkeypatch.setenv("TERM", "dumb")
    assert not colored("auto", screen)


def test_text_is_measured_and_shown_as_a_terminal_does() -> None:
    assert width("漢字") == 4
    assert width("e\u0301") == 1
    assert visible("a\x1b[0m\n\u202e\t") == "a\\x1b[0m\\n\\u202e\\t"
    assert visible("漢字 é") == "漢字 é"


def test_the_process_ends_with_the_status_and_all_that_was_printed(tmp_path: Path) -> None:
    names = [f"job-{number}.txt" for number in range(2000)]
    (tmp_path / "pyproject.toml").write_text("[tool.compiler]\n")
    (tmp_path / "jobs").mkdir()
    for name in names:
        (tmp_path / "jobs" / name).write_text("team: nlp\n")
    done = run("--repo", str(tmp_path), "check", "--format", "json")
    assert done.returncode == 1
    found = {item["path"].rpartition("/")[2] for item in json.loads(done.stdout)["findings"]}
    assert set(names) <= found


def test_exit_functions_run_before_the_process_ends() -> None:
    program = (
        "import atexit, sys; atexit.register(lambda: print('at the end'));"
        "sys.argv = ['x', '--version']; from compiler.__main__ import run; run()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("at the end\n")
