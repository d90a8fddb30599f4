"""What `check` accepts, the cluster accepts: every overlay, by server-side apply.

The trees are those of `build`, as kustomize gives them: of the example repository, of the public
cases, and of declarations drawn at random. All objects are applied without being kept, and so are
the Pods and Services that would be made of them, in namespaces at the Pod Security level that
policy gives.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml
from declarations import ROOT, TODAY, checked, repository

from compiler.diagnostics import Severity
from controlplane import declaring, replicas
from controlplane.api import Api, Manifest, Refused
from controlplane.binaries import find
from controlplane.stack import Stack

SEED, COUNT = 20261130, 300
CASES = ROOT / "tests" / "cases" / "real"
# What a cluster has beside the platform's objects: named under `pod:` of a declaration.
BESIDE: tuple[Manifest, ...] = (
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "nvidia"},
        "handler": "nvidia",
    },
)
# The manifests are in namespaces that no team may have where the platform's objects are written.
OF_A_TEAM = (
    ("policy/teams/kubeflow.yaml", "namespace: kubeflow", "namespace: p-kubeflow"),
    ("policy/teams/kueue-users.yaml", "namespace: default", "namespace: p-kueue-users"),
    ("policy/clusters/kueue.yaml", "cpu_nodes: {", "cpu_nodes: {flavor: plain, "),
)
JOB_KINDS = ("Job", "PyTorchJob")


@pytest.fixture(scope="module")
def repositories(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The repositories by their names, each of them without an error."""
    top = tmp_path_factory.mktemp("repositories")
    drawn = {**declaring.FILES, **declaring.declarations(SEED, COUNT)}
    found = {
        "example": repository(top / "example", jobs=True, arguments=True),
        "cases": cases(top / "cases"),
        "drawn": repository(top / "drawn", drawn),
    }
    for root in found.values():
        errors = [item for item in checked(root) if item.severity is Severity.ERROR]
        assert errors == []
    return found


def cases(root: Path) -> Path:
    """One repository of all public cases, whose jobs have their numbers before their names."""
    for shared in ("policy", "images", "base"):
        shutil.copytree(CASES / shared, root / shared)
    for path, old, new in OF_A_TEAM:
        text = (root / path).read_text("utf-8")
        assert text.count(old) == 1
        (root / path).write_text(text.replace(old, new), "utf-8")
    (root / "jobs").mkdir()
    for job in sorted(CASES.glob("*/job.yaml")):
        name = f"c{job.parent.name}"[:40].rstrip("-")
        shutil.copy(job, root / "jobs" / f"{name}.yaml")
        for file in job.parent.rglob("*"):
            if file.is_file() and file.name not in ("job.yaml", "differences.yaml"):
                target = root / file.relative_to(job.parent)
                assert not target.exists()
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, target)
    (root / "pyproject.toml").write_text("[tool.compiler]\n", "utf-8")
    return root


@pytest.fixture(scope="module")
def trees(repositories: Mapping[str, Path]) -> dict[str, Path]:
    """The tree of overlays that `build` makes of each repository."""
    found: dict[str, Path] = {}
    for name, root in repositories.items():
        found[name] = root.parent / f"{name}-built"
        command = [sys.executable, "-m", "compiler", "build", "--repo", str(root)]
        command += ["--at", TODAY.isoformat().replace("+00:00", "Z"), "-o", str(found[name])]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return found


def built(folder: Path) -> list[Manifest]:
    """What kustomize makes of a folder."""
    done = subprocess.run(
        [find("kustomize"), "build", folder], capture_output=True, text=True, check=True
    )
    return [each for each in yaml.load_all(done.stdout, Loader=yaml.CSafeLoader) if each]


def together(api: Api, manifests: Iterable[Manifest], how: str) -> list[tuple[Manifest, str]]:
    """The objects that the server does not accept, or changes, and why."""

    def one(manifest: Manifest) -> tuple[Manifest, str]:
        try:
            if how == "apply":
                answer = api.apply(manifest, dry_run=True)
            else:
                answer = api.create(manifest, dry_run=True)
        except Refused as error:
            return manifest, error.message
        return manifest, lost(manifest, answer)

    with ThreadPoolExecutor(4) as pool:
        return [(manifest, why) for manifest, why in pool.map(one, manifests) if why]


def lost(sent: Any, kept: Any, at: str = "") -> str:
    """What of an object is not in the server's answer, if anything; quantities may look other."""
    if isinstance(sent, Mapping):
        if not isinstance(kept, Mapping):
            return f"{at} is {kept!r}"
        return next(
            (said for key in sent if (said := lost(sent[key], kept.get(key), f"{at}/{key}"))), ""
        )
    if isinstance(sent, list):
        if not isinstance(kept, list) or len(kept) < len(sent):
            return f"{at} is {kept!r}"
        return next(
            (said for i, one in enumerate(sent) if (said := lost(one, kept[i], f"{at}/{i}"))), ""
        )
    if sent in (None, "", 0, False) and kept is None:
        return ""
    resources = any(f"/{word}/" in f"{at}/" for word in ("limits", "requests", "sizeLimit"))
    return "" if sent == kept or (resources and kept is not None) else f"{at} is {kept!r}"


def applied(stack: Stack, tree: Path) -> Iterator[tuple[str, list[Manifest]]]:
    """The runs of each cluster of a tree, once its platform's objects are there."""
    stack.api.apply_all(BESIDE)
    account = {"apiVersion": "v1", "kind": "ServiceAccount"}
    for cluster in sorted(path.name for path in (tree / "overlays").iterdir() if path.is_dir()):
        folder = tree / "overlays" / cluster
        platform = built(folder / "platform")
        for each in platform:
            # The value of a class cannot change: syncers are told to replace it.
            if each["kind"] == "PriorityClass":
                stack.api.delete("scheduling.k8s.io/v1/PriorityClass", each["metadata"]["name"])
        stack.api.apply_all(platform)
        for each in platform:
            if each["kind"] == "Namespace":
                about = {"name": "trainer.lab", "namespace": each["metadata"]["name"]}
                stack.api.apply({**account, "metadata": about})
        runs: list[Manifest] = []
        for team in sorted(folder.iterdir()):
            if team.name not in ("base", "platform", "sync", "ended"):
                runs += built(team)
        yield cluster, runs


@pytest.mark.parametrize("name", ["example", "cases", "drawn"])
def test_the_server_accepts_every_overlay_as_it_is(
    name: str, stack: Stack, trees: Mapping[str, Path], record_property: Any
) -> None:
    counted: Counter[str] = Counter()
    refused: list[tuple[Manifest, str]] = []
    for _, objects in applied(stack, trees[name]):
        refused += together(stack.api, objects, "apply")
        jobs = [each for each in objects if each["kind"] in JOB_KINDS]
        made = [each for job in jobs for each in replicas.pods(job) + replicas.services(job)]
        refused += together(stack.api, made, "create")
        counted.update(each["kind"] for each in (*objects, *made))
    assert [(each["kind"], each["metadata"]["name"], why) for each, why in refused] == []
    assert counted["Pod"] >= counted["Job"] + counted["PyTorchJob"] > 0
    record_property("counted", {f"{name}, accepted": dict(counted)})
