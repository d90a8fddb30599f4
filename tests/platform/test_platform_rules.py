"""The rules about what Kueue's objects and namespaces can be made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from compiler.check import check
from compiler.diagnostics import Finding
from compiler.project import Project
from compiler.repository import Repository

NODE = {"cpu": 100, "memory": "800Gi"}


def accelerator(**fields: Any) -> dict[str, Any]:
    return {"resource": "nvidia.com/gpu", "per_node": 8, "nodes": 2, "node": NODE, **fields}


def found(tmp_path: Path, namespace: str = "p-nlp", **fields: Any) -> list[Finding]:
    """What is wrong on a cluster with these fields."""
    cluster = {
        "backend": {"single_node": "job", "multi_node": "job"},
        "queues": {"main": {"cluster_queue": "main"}},
        **fields,
    }
    cluster = {key: value for key, value in cluster.items() if value is not None}
    team = {"namespace": namespace, "owners": ["kim"], "clusters": ["west"]}
    for path, data in (("clusters/west", cluster), ("teams/nlp", team)):
        file = tmp_path / f"policy/{path}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(data, sort_keys=False), "utf-8")
    (tmp_path / "pyproject.toml").write_text("[tool.compiler]\n", "utf-8")
    findings = check(Project(Repository(tmp_path)), processes=1).findings
    return [
        item
        for item in findings
        if item.rule
        in ("ambiguous-flavor", "beyond-kueue", "foreign-namespace", "indistinct-nodes")
    ]


def told(items: list[Finding]) -> list[tuple[str, int | None]]:
    return [(item.rule, item.place.line) for item in items]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("namespace", "is_foreign"),
    [
        ("kube-system", True),
        ("kube-anything", True),
        ("default", True),
        ("argocd", True),
        ("kubernetes", False),
        ("default-2", False),
        ("p-kube-system", False),
    ],
)
def test_foreign_namespace(tmp_path: Path, namespace: str, is_foreign: bool) -> None:
    items = found(tmp_path, namespace)
    assert [item.rule for item in items] == ["foreign-namespace"] * is_foreign
    assert all(item.place.path == "policy/teams/nlp.yaml" for item in items)


LABELS = {"pool": "a"}


@pytest.mark.parametrize(
    ("first", "second", "admission", "rules"),
    [
        ({"flavor": "f", "node_labels": {"p": "a"}}, {"node_labels": {"p": "b"}}, None, []),
        (
            {"flavor": "f", "node_labels": {"p": "a"}},
            {"flavor": "f", "node_labels": {"p": "b"}},
            None,
            ["ambiguous-flavor"],
        ),
        (
            {"flavor": "f", "node_labels": {"p": "a"}},
            {"flavor": "f", "node_labels": {"p": "b"}},
            "ledger",
            [],
        ),
        # The name that the other one has by itself.
        (
            {"flavor": "a100", "node_labels": {"p": "a"}},
            {"node_labels": {"p": "b"}},
            None,
            ["ambiguous-flavor"],
        ),
        (
            {"flavor": "f", "resource": "amd.com/gpu", "taints": [{"key": "x"}]},
            {"flavor": "f"},
            None,
            ["ambiguous-flavor"],
        ),
        # Two resources of the same nodes.
        (
            {"flavor": "f", "resource": "nvidia.com/mig-1g.10gb", "node_labels": LABELS},
            {"flavor": "f", "node_labels": LABELS},
            None,
            [],
        ),
        ({}, {}, None, ["indistinct-nodes"]),
        ({}, {}, "ledger", ["indistinct-nodes"]),
        ({"node_labels": {"p": "a"}}, {}, None, ["indistinct-nodes"]),
        ({"node_labels": {"p": "a"}}, {"node_labels": {"q": "b"}}, None, ["indistinct-nodes"]),
        ({"node_labels": LABELS}, {"node_labels": LABELS}, None, ["indistinct-nodes"]),
        ({"resource": "amd.com/gpu"}, {}, None, []),
    ],
)
def test_ambiguous_flavor_and_indistinct_nodes(
    tmp_path: Path,
    first: dict[str, Any],
    second: dict[str, Any],
    admission: str | None,
    rules: list[str],
) -> None:
    items = found(
        tmp_path,
        admission=admission,
        accelerators={"H100": accelerator(**first), "A100": accelerator(**second)},
    )
    assert [item.rule for item in items] == rules
    # At the second one; the first is shown beside it.
    text = (tmp_path / "policy/clusters/west.yaml").read_text("utf-8").splitlines()
    at = next(n for n, line in enumerate(text, 1) if "A100:" in line)
    for item in items:
        assert item.place.line is not None
        assert item.place.line >= at > (item.related[0].place.line or 0)


def test_indistinct_nodes_are_told_of_once_each(tmp_path: Path) -> None:
    items = found(tmp_path, accelerators={name: accelerator() for name in ("A", "B", "C", "D")})
    assert [item.rule for item in items] == ["indistinct-nodes"] * 3


def many(count: int) -> dict[str, str]:
    return {f"l{n}": "x" for n in range(count)}


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"cpu_nodes": {"nodes": 1, "node": NODE, "node_labels": many(8)}}, []),
        ({"cpu_nodes": {"nodes": 1, "node": NODE, "node_labels": many(9)}}, ["9 node labels"]),
        ({"accelerators": {"A": accelerator(node_labels=many(9))}}, ["9 node labels"]),
        (
            {"accelerators": {"A": accelerator(taints=[{"key": k} for k in many(9)])}},
            ["9 tolerations"],
        ),
        (
            {"accelerators": {"A": accelerator(node_labels=many(9))}, "kueue_objects": False},
            [],
        ),
        ({"accelerators": {"A": accelerator(node_labels=many(9))}, "admission": "ledger"}, []),
        ({"accelerators": {"A": accelerator(node_labels=many(9))}, "queues": None}, []),
        (
            {
                "queues": {
                    "q": {"cluster_queue": "q", "resources": [f"x.y/r{n}" for n in range(62)]}
                }
            },
            [],
        ),
        (
            {
                "queues": {
                    "q": {"cluster_queue": "q", "resources": [f"x.y/r{n}" for n in range(63)]}
                }
            },
            ["65 resources"],
        ),
        (
            {
                "accelerators": {
                    f"A{n}": accelerator(node_labels={"pool": str(n)}) for n in range(65)
                }
            },
            ["65 flavors"],
        ),
        (
            {
                "accelerators": {
                    f"A{n}": accelerator(node_labels={"pool": str(n)}) for n in range(20)
                },
                "queues": {
                    "q": {"cluster_queue": "q", "resources": [f"x.y/r{n}" for n in range(23)]}
                },
            },
            ["520 pairs"],
        ),
    ],
)
def test_beyond_kueue(tmp_path: Path, fields: dict[str, Any], says: list[str]) -> None:
    items = found(tmp_path, **fields)
    assert {item.rule for item in items} <= {"beyond-kueue"}
    assert len(items) == len(says)
    assert all(item.message.startswith(word) for item, word in zip(items, says, strict=True))
