"""What policy may say of a syncer, and what is told of it where it may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from compiler.check import check
from compiler.diagnostics import Finding
from compiler.project import Project
from compiler.repository import Repository
from compiler.syncers.site import Site

URL = "https://git.example.com/ml/training.git"


def found(
    root: Path, sync: dict[str, Any], settings: str = "", team: str = "p-nlp", **versions: str
) -> list[Finding]:
    """What is wrong with a cluster whose file says this."""
    cluster: dict[str, Any] = {
        "backend": {"single_node": "job", "multi_node": "job"},
        "admission": "ledger",
        "sync": sync,
    }
    if versions:
        cluster["versions"] = versions
    teams = {"namespace": team, "owners": ["kim"], "clusters": ["west"]}
    for path, data in (("clusters/west", cluster), ("teams/nlp", teams)):
        file = root / f"policy/{path}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
    (root / "pyproject.toml").write_text(f"[tool.compiler]\n{settings}", "utf-8")
    findings = check(Project(Repository(root)), processes=1).findings
    return [item for item in findings if item.place.path.startswith("policy/")]


def line(root: Path, item: Finding) -> str:
    """The line that a finding points at."""
    assert item.place.line is not None
    return (root / item.place.path).read_text("utf-8").splitlines()[item.place.line - 1].strip()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    "sync",
    [
        {"flux": {"url": URL}},
        {"flux": {"url": "ssh://git@git.example.com:2222/ml/training", "secret": "a.b"}},
        {"flux": {"url": URL, "branch": "deploy/west-1", "path": "ml/training", "namespace": "f"}},
        {"argo_cd": {"url": "http://10.0.0.1/x", "server": "https://10.0.0.1:6443"}},
    ],
)
def test_what_may_be_said(tmp_path: Path, sync: dict[str, Any]) -> None:
    assert found(tmp_path, sync) == []


@pytest.mark.parametrize(
    ("sync", "rule", "at"),
    [
        ({"flux": {"url": "git@git.example.com:ml/training.git"}}, "bad-name", "url:"),
        ({"flux": {"url": "https://kim:t0ken@git.example.com/ml"}}, "bad-name", "url:"),
        ({"flux": {"url": "https://t0ken@git.example.com/ml"}}, "bad-name", "url:"),
        ({"flux": {"url": "https://git.example.com"}}, "bad-name", "url:"),
        ({"flux": {"url": f"{URL}?token=x"}}, "bad-name", "url:"),
        ({"flux": {"url": "file:///srv/git"}}, "bad-name", "url:"),
        ({"flux": {"url": URL, "branch": "a..b"}}, "bad-name", "branch:"),
        ({"flux": {"url": URL, "branch": "-x"}}, "bad-name", "branch:"),
        ({"flux": {"url": URL, "branch": "main.lock"}}, "bad-name", "branch:"),
        ({"flux": {"url": URL, "path": "../other"}}, "bad-path", "path:"),
        ({"flux": {"url": URL, "secret": "Token"}}, "bad-name", "secret:"),
        ({"flux": {"branch": "main"}}, "missing-key", "branch:"),
        ({"flux": {"url": URL, "server": "https://x:6443"}}, "unknown-key", "server:"),
        ({"argo_cd": {"url": URL, "server": "west"}}, "bad-name", "server:"),
        ({"argo_cd": {"url": URL, "secret": "x"}}, "unknown-key", "secret:"),
        ({"argocd": {"url": URL}}, "unknown-key", "argocd:"),
        ({"flux": {"url": URL}, "argo_cd": {"url": URL}}, "two-syncers", "argo_cd:"),
    ],
)
def test_one_mistake_is_one_finding_at_its_line(
    tmp_path: Path, sync: dict[str, Any], rule: str, at: str
) -> None:
    (item,) = found(tmp_path, sync)
    assert (item.rule, line(tmp_path, item).partition(" ")[0]) == (rule, at)
    assert item.help
    assert "t0ken" not in item.message + item.help


@pytest.mark.parametrize(
    ("settings", "branch", "told"),
    [
        ("", "deploy", False),
        ('publish = {branch = "deploy"}\n', "deploy", False),
        ('publish = {branch = "deploy"}\n', None, False),
        ('publish = {branch = "deploy"}\n', "main", True),
    ],
)
def test_the_branch_is_the_one_that_publish_writes(
    tmp_path: Path, settings: str, branch: str | None, told: bool
) -> None:
    flux = {"url": URL} if branch is None else {"url": URL, "branch": branch}
    items = found(tmp_path, {"flux": flux}, settings)
    assert [item.rule for item in items] == ["unfollowed-branch"] * told
    assert all(line(tmp_path, item) == "branch: main" for item in items)


@pytest.mark.parametrize(
    ("sync", "versions", "told"),
    [
        ({"flux": {"url": URL}}, {"flux": "1.8.4"}, True),
        ({"flux": {"url": URL}}, {"flux": "1.7"}, True),
        ({"flux": {"url": URL}}, {"flux": "1.8"}, False),
        ({"flux": {"url": URL}}, {"flux": "v1.8.5"}, False),
        ({"flux": {"url": URL}}, {"flux": "1.10.0"}, False),
        ({"flux": {"url": URL}}, {"argo_cd": "2.9.0"}, False),
        ({"argo_cd": {"url": URL}}, {"argo_cd": "2.14.9"}, True),
        ({"argo_cd": {"url": URL}}, {"argo_cd": "3.0.0"}, False),
    ],
)
def test_old_syncers_are_told_of(
    tmp_path: Path, sync: dict[str, Any], versions: dict[str, str], told: bool
) -> None:
    items = found(tmp_path, sync, **versions)
    assert [item.rule for item in items] == ["unsupported-version"] * told


@pytest.mark.parametrize(
    ("namespace", "team", "told"),
    [(None, "runwright-sync", True), ("gitops", "gitops", True), ("gitops", "p-nlp", False)],
)
def test_no_team_has_the_namespace_of_a_syncer(
    tmp_path: Path, namespace: str | None, team: str, told: bool
) -> None:
    flux = {"url": URL} if namespace is None else {"url": URL, "namespace": namespace}
    items = found(tmp_path, {"flux": flux}, team=team)
    assert [item.rule for item in items] == ["foreign-namespace"] * told


@pytest.mark.parametrize(
    ("below", "prefix"),
    [(None, ""), (".", ""), ("./ml/", "ml/"), (".gitops", ".gitops/"), ("ml/./a", "ml/a/")],
)
def test_the_folder_is_below_the_path_as_it_is_spelt(below: str | None, prefix: str) -> None:
    site = Site("west", {}, [], "main")
    assert site.folder("nlp", below) == f"{prefix}overlays/west/nlp"
