"""The syncers' objects of the example repository: rights, whitelists, paths, schemas."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from following import (
    CLUSTER_WIDE,
    FLUX_KEEPS,
    RESOURCES,
    Object,
    Rights,
    group,
    objects,
    of_kind,
    permitted,
)

from compiler.build import build
from compiler.kustomize import find
from compiler.project import Project
from compiler.repository import Repository
from compiler.yamlout import dump, dump_all

ROOT = Path(__file__).resolve().parents[2]
MODULES = Path(os.environ.get("GOMODCACHE", Path.home() / "go/pkg/mod")) / "github.com"
HERE = "https://kubernetes.default.svc"
# Each syncer of the examples, its folder of Kustomizations or Applications, and who applies what.
CLUSTERS = ["east", "west"]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example repository, built."""
    folder = tmp_path_factory.mktemp("built") / "tree"
    build(Project(Repository(ROOT)), folder)
    return folder


@pytest.fixture(scope="module")
def files(tree: Path) -> dict[str, str]:
    return {
        path.relative_to(tree).as_posix(): path.read_text("utf-8") for path in tree.rglob("*.yaml")
    }


@pytest.fixture(scope="module")
def applied(tree: Path) -> dict[str, list[Object]]:
    """What kustomize makes of each folder that a syncer follows."""
    program = find(ROOT).command
    made: dict[str, list[Object]] = {}
    for cluster in CLUSTERS:
        for path in sorted((tree / "overlays" / cluster).iterdir()):
            if path.name in ("base", "sync"):
                continue
            done = subprocess.run(
                [*program, "build", str(path)], capture_output=True, text=True, check=True
            )
            items = [item for item in yaml.safe_load_all(done.stdout) if item]
            made[path.relative_to(tree).as_posix()] = items
    return made


def followers(files: dict[str, str], cluster: str) -> dict[str, tuple[Object, str]]:
    """Who follows each path: its object, and the account that it acts as."""
    found: dict[str, tuple[Object, str]] = {}
    items = objects(files, f"overlays/{cluster}/sync")
    for item in of_kind(items, "Kustomization").values():
        path = item["spec"]["path"].removeprefix("./")
        assert path not in found
        space = item["metadata"]["namespace"]
        found[path] = item, f"{space}/{item['spec']['serviceAccountName']}"
    for item in of_kind(items, "Application").values():
        path = item["spec"]["source"]["path"]
        assert path not in found
        project = of_kind(items, "AppProject")[item["spec"]["project"]]
        space = item["spec"]["destination"]["namespace"]
        (account,) = {
            one["defaultServiceAccount"]
            for one in project["spec"]["destinationServiceAccounts"]
            if one["namespace"] == space and one["server"] == item["spec"]["destination"]["server"]
        }
        found[path] = item, account.replace(":", "/")
    return found


@pytest.mark.kustomize
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_every_folder_has_exactly_one_follower_and_every_path_is_there(
    files: dict[str, str], applied: dict[str, list[Object]], cluster: str
) -> None:
    folders = {path for path in applied if path.startswith(f"overlays/{cluster}/")}
    # Tombstones are publish's alone: a build has no ended run, and no folder for them.
    assert set(followers(files, cluster)) == folders | {f"overlays/{cluster}/ended"}
    assert len(folders) >= 3


@pytest.mark.kustomize
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_whatever_a_syncer_applies_it_may_apply_and_prune_unless_it_never_prunes_it(
    files: dict[str, str], applied: dict[str, list[Object]], cluster: str
) -> None:
    rights = Rights(
        [*objects(files, f"overlays/{cluster}/sync"), *applied[f"overlays/{cluster}/platform"]]
    )
    seen: set[str] = set()
    for path, (_, account) in followers(files, cluster).items():
        for item in applied.get(path, ()):
            seen.add(item["kind"])
            for verb in ("get", "create", "patch"):
                assert rights.may(account, verb, item), (account, verb, item["kind"])
            key, value = FLUX_KEEPS
            kept = item["metadata"].get("annotations", {}).get(key) == value
            assert rights.may(account, "delete", item) is not kept, (account, item["kind"])
    assert {"ConfigMap", "PyTorchJob", "Namespace", "ValidatingAdmissionPolicy"} <= seen
    spaces = [i for i in applied[f"overlays/{cluster}/platform"] if i["kind"] == "Namespace"]
    stone: Object = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "ended-a-r1", "namespace": spaces[0]["metadata"]["name"]},
    }
    _, account = followers(files, cluster)[f"overlays/{cluster}/ended"]
    assert all(rights.may(account, verb, stone) for verb in ("get", "create", "patch"))
    assert not rights.may(account, "delete", stone)


@pytest.mark.kustomize
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_teams_account_may_do_nothing_elsewhere(
    files: dict[str, str], applied: dict[str, list[Object]], cluster: str
) -> None:
    platform = applied[f"overlays/{cluster}/platform"]
    rights = Rights([*objects(files, f"overlays/{cluster}/sync"), *platform])
    spaces = [item["metadata"]["name"] for item in platform if item["kind"] == "Namespace"]
    for path, (_, account) in followers(files, cluster).items():
        team = path.rpartition("/")[2]
        if team in ("platform", "ended"):
            continue
        own = {item["metadata"]["namespace"] for item in applied[path]}
        assert len(own) == 1
        for space in {*spaces, "kube-system", "flux-system", "argocd", "runwright-sync", ""} - own:
            for api, kind in RESOURCES:
                for verb in ("get", "create", "patch", "delete"):
                    resource = RESOURCES[api, kind]
                    where = "" if resource in CLUSTER_WIDE else space
                    assert not rights.allowed(account, verb, api, resource, where, "x")
        for resource in ("secrets", "pods", "serviceaccounts", "persistentvolumeclaims"):
            assert not rights.allowed(account, "get", "", resource, *own, "x")


@pytest.mark.kustomize
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_the_platforms_account_can_give_nobody_more_than_the_two_roles(
    files: dict[str, str], applied: dict[str, list[Object]], cluster: str
) -> None:
    sync = objects(files, f"overlays/{cluster}/sync")
    rights = Rights(sync)
    _, account = followers(files, cluster)[f"overlays/{cluster}/platform"]
    api = "rbac.authorization.k8s.io"
    given = {
        item["roleRef"]["name"]
        for item in applied[f"overlays/{cluster}/platform"]
        if item["kind"] == "RoleBinding"
    }
    assert given == {"runwright-team", "runwright-ended"}
    for name in [*of_kind(sync, "ClusterRole"), "cluster-admin"]:
        assert rights.allowed(account, "bind", api, "clusterroles", "", name) is (name in given)
    for verb in ("create", "patch", "update", "escalate", "delete"):
        for resource in ("roles", "clusterroles", "clusterrolebindings"):
            assert not rights.allowed(account, verb, api, resource, "", "runwright-team")
    for api, resource in (
        ("kustomize.toolkit.fluxcd.io", "kustomizations"),
        ("argoproj.io", "applications"),
        ("argoproj.io", "appprojects"),
        ("batch", "jobs"),
        ("", "secrets"),
        ("", "pods"),
    ):
        assert not rights.allowed(account, "create", api, resource, "flux-system", "x")
    # Kubernetes lets nobody write a policy over parameters that he cannot read.
    assert rights.allowed(account, "get", "", "configmaps", "", "*")
    assert rights.allowed(account, "list", "", "configmaps", "", "*")


@pytest.mark.kustomize
def test_a_project_permits_what_its_application_brings_and_nothing_of_others(
    files: dict[str, str], applied: dict[str, list[Object]]
) -> None:
    projects = of_kind(objects(files, "overlays/west/sync"), "AppProject")
    for path, (application, _) in followers(files, "west").items():
        spec = application["spec"]
        project = projects[spec["project"]]
        assert project["spec"]["sourceRepos"] == [spec["source"]["repoURL"]]
        assert spec["destination"] in project["spec"]["destinations"]
        for other, items in applied.items():
            if other.startswith("overlays/west/"):
                for item in items:
                    mine = permitted(project, item, HERE)
                    if other == path:
                        assert mine, (project["metadata"]["name"], item["kind"])
                    elif "platform" not in (
                        path.rpartition("/")[2],
                        other.rpartition("/")[2],
                    ) and not path.endswith("/ended"):
                        assert not mine, (project["metadata"]["name"], other, item["kind"])
    kinds = {
        row["kind"] for row in projects["runwright.west.nlp"]["spec"]["clusterResourceWhitelist"]
    }
    assert kinds == set()


@pytest.mark.kustomize
def test_argo_cd_compares_the_spec_of_no_kind_of_run(
    files: dict[str, str], applied: dict[str, list[Object]]
) -> None:
    for path, (application, _) in followers(files, "west").items():
        if path.endswith(("/platform", "/ended")):
            continue
        ignored = {
            (row["group"], row["kind"])
            for row in application["spec"]["ignoreDifferences"]
            if row["jsonPointers"] == ["/spec"]
        }
        runs = {
            (group(item), item["kind"])
            for item in applied[path]
            if "runwright/run" in item["metadata"].get("annotations", {})
        }
        assert runs <= ignored
        assert "RespectIgnoreDifferences=true" in application["spec"]["syncPolicy"]["syncOptions"]


@pytest.mark.kustomize
@pytest.mark.parametrize("cluster", CLUSTERS)
def test_kustomize_builds_the_folder_that_a_person_applies(
    tree: Path, files: dict[str, str], cluster: str
) -> None:
    root = f"overlays/{cluster}/sync"
    done = subprocess.run(
        [*find(ROOT).command, "build", str(tree / root)],
        capture_output=True,
        text=True,
        check=True,
    )
    built = [item for item in yaml.safe_load_all(done.stdout) if item]
    # A part of argocd-cm would delete all of it, were the folder deleted.
    wanted = [item for item in objects(files, root) if item["metadata"]["name"] != "argocd-cm"]

    def order(item: Object) -> tuple[str, str]:
        return item["kind"], item["metadata"]["name"]

    assert sorted(built, key=order) == sorted(wanted, key=order)
    assert "Namespace" not in {i["kind"] for i in built if i["metadata"]["name"].startswith("p-")}
    assert "Secret" not in {item["kind"] for item in built}


@pytest.mark.kustomize
def test_no_folder_that_a_syncer_follows_brings_syncers_or_roles(
    applied: dict[str, list[Object]],
) -> None:
    for items in applied.values():
        assert not {item["kind"] for item in items} & {
            "Application",
            "AppProject",
            "Kustomization",
            "GitRepository",
            "ClusterRole",
            "ClusterRoleBinding",
            "Role",
        }


def test_deleting_a_syncers_object_deletes_no_run(files: dict[str, str]) -> None:
    for item in objects(files, "overlays/west/sync") + objects(files, "overlays/east/sync"):
        assert "finalizers" not in item["metadata"]
        if item["kind"] == "Kustomization":
            assert item["spec"]["deletionPolicy"] == "Orphan"


def test_every_file_is_as_our_printer_writes_it(files: dict[str, str]) -> None:
    seen = 0
    for path, text in files.items():
        if "/sync/" in path or "/platform/access/" in path:
            head, _, body = text.partition("\n")
            assert head.startswith("# "), path
            documents = list(yaml.safe_load_all(body))
            one = dump(documents[0]) if len(documents) == 1 else dump_all(documents)
            assert body == one, path
            seen += 1
    assert seen > 15


# -- the schemas of the syncers themselves


def schemas(folder: Path) -> dict[tuple[str, str], Any]:
    """The schemas of the CRDs in a folder, by API version and kind; no field beside them."""
    found: dict[tuple[str, str], Any] = {}
    for path in folder.glob("*.yaml"):
        document = yaml.load(path.read_text("utf-8"), Loader=yaml.CSafeLoader)
        if document["kind"] == "CustomResourceDefinition":
            for version in document["spec"]["versions"]:
                schema = version["schema"]["openAPIV3Schema"]
                schema["properties"]["metadata"] = {"type": "object"}
                name = f"{document['spec']['group']}/{version['name']}"
                found[name, document["spec"]["names"]["kind"]] = closed(schema)
    return found


def closed(schema: Any) -> Any:
    """The API server drops fields that a schema does not know; here they are an error."""
    if isinstance(schema, dict):
        made = {key: closed(value) for key, value in schema.items()}
        if "properties" in made and not made.get("x-kubernetes-preserve-unknown-fields"):
            made.setdefault("additionalProperties", False)
        return made
    return [closed(value) for value in schema] if isinstance(schema, list) else schema


def cases(cluster: str, kind: str, owner: str, pattern: str, below: str) -> list[Any]:
    """A case for each version in Go's module cache; without any, one that is skipped."""
    found = sorted(path for path in (MODULES / owner).glob(pattern) if (path / below).is_dir())
    skip = pytest.mark.skip(f"no {owner} in Go's module cache")
    return [
        pytest.param(cluster, kind, path / below, id=f"{kind} of {path.name}") for path in found
    ] or [pytest.param(cluster, kind, None, id=kind, marks=skip)]


@pytest.mark.parametrize(
    ("cluster", "kind", "folder"),
    [
        *cases("east", "Kustomization", "fluxcd", "kustomize-controller@*", "config/crd/bases"),
        *cases("east", "GitRepository", "fluxcd", "source-controller@*", "config/crd/bases"),
        *cases("west", "AppProject", "argoproj/argo-cd", "v3@v3.[2-9]*", "manifests/crds"),
        *cases("west", "Application", "argoproj/argo-cd", "v3@v3.[2-9]*", "manifests/crds"),
    ],
)
def test_the_schemas_of_flux_and_argo_cd_allow_them(
    files: dict[str, str], cluster: str, kind: str, folder: Path
) -> None:
    known = schemas(folder)
    found = of_kind(objects(files, f"overlays/{cluster}/sync"), kind)
    assert found
    for item in found.values():
        jsonschema.validate(item, known[item["apiVersion"], kind])
