"""All that is written for one small policy, reviewed by a person."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.platform.folder import platform_files
from compiler.repository import Repository
from compiler.syncers.flux import kustomization_name
from compiler.syncers.folder import namespaces_in, sync_files

GOLDEN = Path(__file__).parent / "golden"
CLUSTER = "backend: {single_node: job, multi_node: pytorchjob}\nadmission: ledger\n"
SYNC = {
    "flux": "sync: {flux: {url: 'https://git.example.com/ml', secret: deploy}}\n",
    "argo_cd": (
        "versions: {argo_cd: 3.1.5}\n"
        "sync: {argo_cd: {url: 'https://git.example.com/ml', path: training}}\n"
    ),
}
TEAM = "namespace: p-nlp\nowners: [kim]\nclusters: [west]\n"


def written(root: Path, syncer: str) -> dict[str, str]:
    """The files of `sync/`, and those of `platform/` that are there for the syncer."""
    for path, text in (
        ("clusters/west", CLUSTER + SYNC[syncer]),
        ("teams/nlp", TEAM),
    ):
        file = root / f"policy/{path}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    policy = Repository(root).policy()
    assert policy.findings == []
    platform = platform_files(policy, "west")
    spaces = namespaces_in("west", platform)
    made = sync_files(policy, "west", {"nlp": ["p-nlp"]}, spaces, None)
    return made | {path: text for path, text in platform.items() if "/access/" in path}


@pytest.mark.parametrize("syncer", sorted(SYNC))
def test_it_is_as_it_was_reviewed(tmp_path: Path, syncer: str, update_golden: bool) -> None:
    files = written(tmp_path, syncer)
    text = "".join(f"### {path}\n{files[path]}" for path in sorted(files))
    golden = GOLDEN / f"{syncer}.txt"
    if update_golden:
        golden.parent.mkdir(exist_ok=True)
        golden.write_text(text, "utf-8")
    assert text == golden.read_text("utf-8")


def test_a_kustomizations_name_fits_into_a_label_and_is_its_teams_alone() -> None:
    longest = "a" * 63
    names = {kustomization_name(team) for team in (longest, f"{longest[:-1]}b", "nlp", "n-lp")}
    assert len(names) == 4
    assert all(len(name) <= 63 and name[-1].isalnum() for name in names)
    assert kustomization_name("nlp") == "runwright-nlp"
