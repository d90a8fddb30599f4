"""The rule about variables of a shell in the values of env."""

from __future__ import annotations

import pytest
from declarations import findings, job, only, spot


@pytest.mark.parametrize(
    ("extra", "place", "remedy"),
    [
        ("env: {A: $HOME/x}", "7:10", "write the whole value"),
        ('env: {A: "${HOME}/x"}', "7:10", "write the whole value"),
        ("env: {A: x, B: $A/y}", "7:16", "write $(A), which"),
    ],
)
def test_a_shell_variable_in_env_is_told(extra: str, place: str, remedy: str) -> None:
    item = only("shell-variable-in-env", findings(job(extra)))
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert item.help.startswith(remedy)


@pytest.mark.parametrize("value", ["$(RUN_NAME)", "$$HOME", "'${lower}'", "5$"])
def test_what_no_shell_variable_is_stays_silent(value: str) -> None:
    assert findings(job(f"env: {{A: {value}}}")) == []


@pytest.mark.parametrize(
    ("extra", "place", "what"),
    [
        ("env: {A: %s}", "7:10", "the variable `A`"),
        ("command: [torchrun, %s]", "7:21", "this word"),
    ],
)
def test_a_text_that_no_program_starts_with_is_told(extra: str, place: str, what: str) -> None:
    most = 131071 - (2 if "env" in extra else 0)
    assert findings(job(extra % ("x" * most))) == []
    item = only("text-too-long-to-start", findings(job(extra % ("x" * (most + 1)))))
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert item.message.startswith(f"{what} has 131072 bytes")
