"""Rehearsals with torch and accelerate themselves, in the environment of the images."""

from __future__ import annotations

from pathlib import Path

import pytest
from rehearsals import job, parts, played

PYTHON = Path(__file__).resolve().parents[2] / ".venv-images" / "bin" / "python"


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON.exists(), reason="no .venv-images (make images-setup)"),
]
RANKED = (
    "--machine_rank, $(RANK), --main_process_ip, $(MASTER_ADDR), "
    "--main_process_port, $(MASTER_PORT)"
)


def test_ddp_mini_on_two_nodes_goes_on_after_the_loss_of_one(tmp_path: Path) -> None:
    text = job(image="ddp-mini", accelerators="H100:1")
    # Long enough for a checkpoint and the loss of a node on a fast machine.
    more = ("--epochs", "240", "--log-every", "80")
    done = played(tmp_path, text, python=str(PYTHON), seconds=600, more=more)
    account = done.account
    assert account.outcome == "passed", account.text() + done.logs[0][-4000:]
    assert account.parts[0].text == "2 processes found each other"
    assert parts(account)["lost node"] == "ok"
    assert parts(account)["once more"] == "ok"
    assert "goes on after step" in done.logs[0]
    first, last = account.points[0].loss, account.points[-1].loss
    assert last < first / 2


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            f'[accelerate, launch, --num_processes, "16", --num_machines, "2", {RANKED}, train.py]',
            "accelerate, which sees no accelerators, is given --multi_gpu",
        ),
        (
            "[python, -m, torch.distributed.run, train.py]",
            "2 nodes of 2 processes for 2 of 8",
        ),
    ],
)
def test_other_launchers_find_all_processes_of_two_nodes(
    tmp_path: Path, command: str, told: str
) -> None:
    # The tiny profile is over before a node can be lost: two starts in place of four.
    text = job(image="ddp-mini", accelerators="H100:8", command=command)
    done = played(tmp_path, text, python=str(PYTHON), seconds=600)
    account = done.account
    assert account.outcome == "passed", account.text() + done.logs[0][-4000:]
    assert account.parts[0].text == "4 processes found each other"
    assert parts(account)["end"] == "ok"
    assert told in account.changed
    assert account.points[-1].loss < account.points[0].loss
