"""A rehearsal with torch itself, in the environment of the images where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest
from rehearsals import job, parts, played

PYTHON = Path(__file__).resolve().parents[2] / ".venv-images" / "bin" / "python"


@pytest.mark.slow
@pytest.mark.skipif(not PYTHON.exists(), reason="no .venv-images (make images-setup)")
def test_ddp_mini_on_two_nodes_goes_on_after_the_loss_of_one(tmp_path: Path) -> None:
    text = job(image="ddp-mini", accelerators="H100:1")
    more = ("--epochs", "60", "--log-every", "20")
    done = played(tmp_path, text, python=str(PYTHON), seconds=600, more=more)
    account = done.account
    assert account.outcome == "passed", account.text() + done.logs[0][-4000:]
    assert account.parts[0].text == "2 processes found each other"
    assert parts(account)["lost node"] == "ok"
    assert parts(account)["once more"] == "ok"
    assert "goes on after step" in done.logs[0]
    first, last = account.points[0].loss, account.points[-1].loss
    assert last < first / 2
