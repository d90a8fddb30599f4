"""Scripts that end with 0 whatever the training ends with, and those that do not."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from declarations import findings, job, of

from compiler.scriptend import hidden

TRAIN = "torchrun train.py --lr 1"
QUIET = [
    TRAIN,
    f"{TRAIN} &> /logs/x",
    f"{TRAIN} > /logs/x 2>&1",
    f"{TRAIN} || exit 1",
    f"{TRAIN} && echo done",
    f"set -e; {TRAIN}; echo done",
    f"set -euxo pipefail\n{TRAIN} 2>&1 | tee /logs/x",
    f"set -o pipefail; {TRAIN} | tee /logs/x",
    f"{TRAIN} | tee /logs/x; exit ${{PIPESTATUS[0]}}",
    f"{TRAIN} & wait $!",
    f"{TRAIN} &\nwait",
    f"{TRAIN}; code=$?; echo $code; exit $code",
    f"nvidia-smi || true; {TRAIN}",
    f"nvidia-smi | tee /logs/x; {TRAIN}",
    f"sleep 5 & {TRAIN}",
    f"{TRAIN}; python report.py",
    f"if {TRAIN}; then echo good; else exit 3; fi",
    f"trap 'echo end' EXIT; {TRAIN}; true",
    f"({TRAIN}) | tee /logs/x",
    f"echo '{TRAIN} || true'",
    f"{TRAIN} --note 'a || true'",
    f"{TRAIN} # || true",
    f"{TRAIN} | python filter.py",
    f"{TRAIN} || cp -r /tmp/x /logs",
    "",
]
HIDDEN = [
    (f"{TRAIN} || true", "or", "|| true"),
    (f"{TRAIN} || :", "or", "|| :"),
    (f"{TRAIN} ||\n  echo failed", "or", "|| echo failed"),
    (f"set -e; {TRAIN} || true", "or", "|| true"),
    (f"{TRAIN} 2>&1 | tee /logs/x", "pipe", "| tee"),
    (f"set -e\n{TRAIN} |& tee -a /logs/x", "pipe", "|& tee"),
    (f"{TRAIN} | sed s/a/b/ | tee /logs/x; echo done", "pipe", "| tee"),
    (f"{TRAIN} &", "background", "&"),
    (f"nohup {TRAIN} > /logs/x 2>&1 &", "background", "&"),
    (f"{TRAIN}; echo done", "after", "echo done"),
    (f"cd /app\n{TRAIN}\n\ndate\n", "after", "date"),
    (f"{TRAIN}\nexit 0", "after", "exit 0"),
]


@pytest.mark.parametrize("script", QUIET)
def test_a_script_that_fails_with_its_training_is_left_alone(script: str) -> None:
    assert hidden(["bash", "-c", script], 2, "torchrun") is None


@pytest.mark.parametrize(
    "words", [["bash", "-ec"], ["bash", "-e", "-c"], ["sh", "-o", "errexit", "-c"]]
)
def test_options_of_the_shell_count(words: list[str]) -> None:
    assert hidden([*words, f"{TRAIN}; echo done"], len(words), "torchrun") is None
    assert hidden([*words, f"{TRAIN} || true"], len(words), "torchrun") is not None


def test_pipefail_as_an_option_counts() -> None:
    words = ["bash", "-eo", "pipefail", "-c", f"{TRAIN} | tee /logs/x"]
    assert hidden(words, 4, "torchrun") is None


@pytest.mark.parametrize(("script", "how", "text"), HIDDEN)
def test_a_hidden_exit_code_is_found(script: str, how: str, text: str) -> None:
    found = hidden(["bash", "-c", script], 2, "torchrun")
    assert found is not None
    assert (found.how, found.text, found.program) == (how, text, "torchrun")


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize("script", [each[0] for each in HIDDEN])
def test_what_is_found_ends_with_0_in_a_real_shell(script: str) -> None:
    failing = script.replace(TRAIN, "false").replace("/logs/x", "/dev/null").replace("/app", "/")
    done = subprocess.run(["bash", "-c", failing], capture_output=True, check=False)
    assert done.returncode == 0, done


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
@pytest.mark.parametrize(
    "script", [each for each in QUIET if TRAIN in each and "python" not in each and "'" not in each]
)
def test_what_is_left_alone_fails_in_a_real_shell(script: str) -> None:
    failing = script.replace(TRAIN, "false").replace("/logs/x", "/dev/null")
    failing = failing.replace("cp -r /tmp/x /logs", "cp -r /no/such /nowhere").replace(
        "sleep 5", ":"
    )
    if failing.startswith("(") or "#" in failing:
        return
    done = subprocess.run(["bash", "-c", failing], capture_output=True, check=False)
    # `wait` alone does not tell; the script looks after itself.
    assert done.returncode != 0 or "wait" in failing, done


@pytest.mark.parametrize(
    ("shell", "remedy"),
    [
        ("bash, -c", "write `set -o pipefail;` at its beginning"),
        ("/bin/bash, -o, errexit, -c", "write `set -o pipefail;` at its beginning"),
        ("sh, -o, errexit, -c", "write `set -o pipefail;` at its beginning, and take bash for it"),
    ],
)
def test_pipefail_is_advised_for_a_shell_that_has_it(shell: str, remedy: str) -> None:
    text = job(f'command: [{shell}, "{TRAIN} | tee /logs/x"]')
    (found,) = of("hidden-exit-code", findings(text))
    assert found.help == remedy
