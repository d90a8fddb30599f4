"""What an active run writes and mounts counts, although its declaration says so no more."""

from __future__ import annotations

from pathlib import Path

import pytest
from declarations import checked, job, only, repository, spot

WEST = "policy/clusters/west.yaml"
FOLDER = "mounts: {/out: {claim: logs}}\nargs: [--output_dir, /out/a]"
OTHER = "mounts: {/out: {claim: logs}}\nargs: [--output_dir, /out/b]"
RAW = "mounts: {/raw: {claim: raw}}"
CPU = {
    "accelerators": None,
    "image": "data-tools",
    "checkpoint": None,
    "queue": "data",
    "cpu": "8",
    "memory": "32Gi",
    "command": "[data-tools, clean]",
}
LEDGER = "overlays/ledger/nlp/old.yaml"


def ledger(declared: str, state: str = "active", also: str = "") -> str:
    text = "".join(f"      {line}\n" for line in declared.splitlines())
    return (
        f"version: 1\nteam: nlp\njob: old\n{also}runs:\n"
        f"  - number: 3\n    cluster: west\n    name: old-r3\n    state: {state}\n"
        "    listed: true\n    outcome: unknown\n    guarded: false\n    lineage: 3\n"
        "    training: t\n    operation: o\n    nodes: 1\n"
        "    started: {at: '2026-02-28T08:00:00+00:00'}\n    hours: {declared: '192'}\n"
        f"    accelerators: {{H100: 8}}\n    declared: |\n{text}"
    )


def test_the_folder_of_a_run_whose_file_is_gone_is_taken(tmp_path: Path) -> None:
    files = {"jobs/nlp/new.yaml": job(FOLDER), LEDGER: ledger(job(FOLDER))}
    item = only("output-of-two-runs", checked(repository(tmp_path / "r", files)))
    assert spot(item) == "jobs/nlp/new.yaml:8:8"
    assert item.message == ("`nlp/old-r3`, which is active, writes to /a of the claim `logs` too")
    assert [related.place.path for related in item.related] == [LEDGER]


def test_the_folder_that_a_changed_declaration_has_left_is_taken(tmp_path: Path) -> None:
    files = {
        "jobs/nlp/new.yaml": job(FOLDER),
        "jobs/nlp/old.yaml": job(OTHER),
        LEDGER: ledger(job(FOLDER)),
    }
    only("output-of-two-runs", checked(repository(tmp_path / "r", files)))


def test_a_folder_that_both_declare_is_told_of_once(tmp_path: Path) -> None:
    files = {
        "jobs/nlp/new.yaml": job(FOLDER),
        "jobs/nlp/old.yaml": job(f"{FOLDER}\ndescription: Anew"),
        LEDGER: ledger(job(FOLDER)),
    }
    item = only("output-of-two-runs", checked(repository(tmp_path / "r", files)))
    assert spot(item) == "jobs/nlp/old.yaml:8:8"


def test_the_volume_of_a_run_whose_file_is_gone_is_taken(tmp_path: Path) -> None:
    files = {"jobs/nlp/new.yaml": job(RAW, **CPU), LEDGER: ledger(job(RAW, **CPU))}
    item = only("claim-of-two-runs", checked(repository(tmp_path / "r", files)))
    assert item.message == (
        "`nlp/old-r3`, which is active, mounts `raw` too, and it is ReadWriteOnce"
    )
    assert [related.place.path for related in item.related] == [LEDGER, WEST]


@pytest.mark.parametrize(
    ("files", "state", "also"),
    [
        # It has ended; or it is the job itself, under its own name or an earlier one.
        ({"jobs/nlp/new.yaml": job(FOLDER)}, "ended", ""),
        ({"jobs/nlp/old.yaml": job(f"{FOLDER}\ndescription: Anew")}, "active", ""),
        ({"jobs/nlp/new.yaml": job(f"{FOLDER}\nwas: old")}, "active", ""),
        ({"jobs/nlp/new.yaml": job(FOLDER)}, "active", "also: [new]\n"),
        ({"jobs/nlp/new.yaml": job(OTHER)}, "active", ""),
        ({"jobs/nlp/new.yaml": job(f"{FOLDER}\nstate: stopped")}, "active", ""),
    ],
)
def test_what_is_shared_with_nobody_is_left_alone(
    files: dict[str, str], state: str, also: str, tmp_path: Path
) -> None:
    found = checked(repository(tmp_path / "r", {**files, LEDGER: ledger(job(FOLDER), state, also)}))
    assert [item.rule for item in found] == []
