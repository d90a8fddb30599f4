"""The rule about flags that torchrun does not know."""

from __future__ import annotations

import pytest
from declarations import findings, job, only, spot

IMAGE = "images/llm-sft/image.yaml"


def torch(version: str) -> dict[str, str]:
    line = f"torch: {version}\n" if version else ""
    return {IMAGE: f"entry: [torchrun, train.py]\n{line}"}


@pytest.mark.parametrize(
    ("command", "version", "message", "remedy"),
    [
        ("[torchrun, --lr=1, t.py]", "2.13.0", "knows no flag `--lr`", "write it behind the"),
        ("[torchrun, --rdzv-endpont, a, t.py]", "", "`--rdzv-endpont`", "write `--rdzv_endpoint`"),
        ("[python, -m, torch.distributed.run, --max_restart_s=1, t]", "3.0", "restart_s", "write"),
        ("[bash, -c, 'torchrun --lr 1 t.py']", "2.9.1", "`--lr`", "write it behind"),
        ("[torchrun, --shutdown-timeout=9, t.py]", "2.9.1", "from torch 2.12 on", "take it out"),
    ],
)
def test_a_flag_that_torchrun_does_not_know_is_an_error(
    command: str, version: str, message: str, remedy: str
) -> None:
    text = job(f"stop: {{grace: 30s}}\ncommand: {command}")
    item = only("unknown-launcher-flag", findings(text, torch(version)))
    assert item.severity == "error"
    assert message in item.message
    assert item.help.startswith(remedy)
    assert item.place.line == 8


def test_the_flag_is_shown() -> None:
    item = only("unknown-launcher-flag", findings(job("command: [torchrun, --lr=1, t.py]")))
    assert spot(item) == "jobs/example.yaml:7:21"


@pytest.mark.parametrize(
    ("command", "version"),
    [
        ("[torchrun, --nproc-per-node=8, --max_restarts, '3', --role=a, -r, '3', t.py]", "2.13.0"),
        ("[torchrun, --tee=3, --local-ranks-filter=0, --no-python, ./t.sh]", "2.13.0"),
        ("[torchrun, --max_res=1, t.py]", "2.13.0"),
        ("[torchrun, t.py, --lr=1]", "2.13.0"),
        ("[torchrun, -m, pkg.train, --lr=1]", "2.13.0"),
        ("[python, -m, torch.distributed.launch, --use_env, t.py]", "2.0.1"),
        ("[torchrun, --print-completion=x, --log_line_prefix_template=x, t.py]", "2.15.0"),
        ("[torchrun, --some-flag-of-the-future=1, t.py]", "2.16.0"),
        ("[torchrun, --some-flag-of-the-future=1, t.py]", ""),
        ("[torchrun, --shutdown_timeout=25, t.py]", "2.12.0"),
        ("[accelerate, launch, --lr=1, t.py]", "2.13.0"),
    ],
)
def test_flags_that_are_known_or_may_be_are_left_alone(command: str, version: str) -> None:
    text = job(f"stop: {{grace: 30s}}\ncommand: {command}")
    assert [item.message for item in findings(text, torch(version))] == []
