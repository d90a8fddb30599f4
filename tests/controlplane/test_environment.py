"""What the real operator puts into pods is what docs/environment.md says, and what rehearse gives.

One job of each shape is built and applied; each pod runs `env` and stays. What is expected of
values is written here by hand, and what the documentation says is read from its tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from declarations import ROOT

from compiler.environment import added
from compiler.rehearsal.references import environment
from controlplane.api import Manifest
from controlplane.laboratory import Laboratory, job
from controlplane.stack import Stack

PRINT = ["sh", "-c", "env | sort; echo $(RUN_NAME) is told; exec sleep 600"]
# Beside the training, to see which containers get what.
BESIDE = {
    "init": [{"name": "first", "image": "ddp-mini", "command": ["env"], "cpu": 1, "memory": "1Gi"}],
    # One that ended would be started again, and each restart counts against `retry`.
    "sidecars": [
        {
            "name": "side",
            "image": "ddp-mini",
            "command": ["sh", "-c", "env; exec sleep 600"],
            "cpu": 1,
            "memory": "1Gi",
        }
    ],
}
JOBS = {
    "batch": job(cluster="batch", accelerators="H100:2", command=PRINT, **BESIDE),
    "single": job(accelerators="H100:2", command=PRINT),
    "several": job(accelerators="H100:2", num_nodes=3, command=PRINT, **BESIDE),
    "stretched": job(
        accelerators="H100:2",
        num_nodes={"min": 2, "max": 3},
        elastic={"max_restarts": 7, "conf": {"join_timeout": "900"}},
        command=PRINT,
    ),
    "hosted": job(num_nodes=2, host_network=True, command=PRINT),
}
# The column of the documentation's table, and the pods in the order of their nodes.
SHAPES = {
    "batch": ("Batch Job on one node", [""]),
    "single": ("PyTorchJob on one node", ["master-0"]),
    "several": ("Run on several nodes", ["master-0", "worker-0", "worker-1"]),
    "stretched": ("Elastic run", ["worker-0", "worker-1", "worker-2"]),
    "hosted": ("Run on several nodes", ["master-0", "worker-0"]),
}


def meeting(name: str, port: str, world: int, rank: int, each: int, nodes: int) -> dict[str, str]:
    address = f"{name}-r1-master-0"
    return {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": port,
        "PET_MASTER_PORT": port,
        "MASTER_ADDR": address,
        "PET_MASTER_ADDR": address,
        "WORLD_SIZE": str(world),
        "RANK": str(rank),
        "PET_NODE_RANK": str(rank),
        "PET_NPROC_PER_NODE": str(each),
        "PET_NNODES": str(nodes),
    }


def expected(name: str, node: int, port: str) -> dict[str, str]:
    """What operator and back end add on a node."""
    if name == "batch":
        return {"PET_NPROC_PER_NODE": "2", "PET_NNODES": "1"}
    if name == "stretched":
        return {
            "PYTHONUNBUFFERED": "1",
            "PET_NPROC_PER_NODE": "2",
            "PET_NNODES": "2:3",
            "PET_RDZV_ENDPOINT": "stretched-r1-worker-0:23456",
            "PET_RDZV_BACKEND": "c10d",
            "PET_MAX_RESTARTS": "7",
            "PET_RDZV_ID": "stretched-r1",
            "PET_RDZV_CONF": "join_timeout=900",
        }
    nodes, each = {"single": (1, 2), "several": (3, 2), "hosted": (2, 1)}[name]
    return meeting(name, port, nodes * each, node, each, nodes)


@pytest.fixture(scope="module")
def laboratory(stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with Laboratory(stack, tmp_path_factory.mktemp("environment"), JOBS) as made:
        for name in JOBS:
            made.start(name)
        yield made


@pytest.fixture(params=sorted(JOBS))
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def nodes(laboratory: Laboratory, name: str) -> list[Manifest]:
    return laboratory.all_pods(name, len(SHAPES[name][1]))


def container(pod: Manifest, name: str = "pytorch") -> Manifest:
    spec = pod["spec"]
    every = [*spec["containers"], *spec.get("initContainers", ())]
    return next(each for each in every if each["name"] == name)


def variables(pod: Manifest, name: str = "pytorch") -> dict[str, str]:
    """The variables of a container as they are listed: of two of a name the last one counts."""
    listed = container(pod, name).get("env") or []
    return {each["name"]: each.get("value", "") for each in listed}


def table(heading: str) -> list[list[str]]:
    """The rows of a table of docs/environment.md, which a comment names."""
    text = (ROOT / "docs/environment.md").read_text("utf-8")
    found = text.partition(f"<!-- table: {heading} -->")[2].partition("<!-- end -->")[0]
    rows = [line.strip("|").split("|") for line in found.strip().splitlines()]
    return [[cell.strip() for cell in row] for row in rows if not set(row[0]) <= set("-")]


def documented(column: str) -> dict[str, str]:
    """The variables that a shape has, with what the documentation says of their values."""
    head, *rows = table("shapes")
    at = head.index(column)
    return {row[0].strip("`"): row[at] for row in rows if row[at] != "–"}


def test_the_operator_adds_what_is_expected_on_every_node(
    shape: str, laboratory: Laboratory
) -> None:
    declared = declared_variables(laboratory.job(shape))
    for node, pod in enumerate(nodes(laboratory, shape)):
        name = f"{shape}-r1-{SHAPES[shape][1][node]}"
        assert pod["metadata"]["name"].startswith(name)
        found = variables(pod)
        port = found.get("MASTER_PORT", "")
        if shape == "hosted":
            assert re.fullmatch(r"2\d{4}", port)
        elif shape in ("single", "several"):
            assert port == "23456"
        wanted = expected(shape, node, port)
        # A batch Job's are the compiler's own.
        operators = {key: value for key, value in found.items() if key not in declared}
        assert operators == ({} if shape == "batch" else wanted)
        assert found.items() >= wanted.items()


def declared_variables(manifest: Manifest) -> dict[str, str]:
    spec: Any = manifest["spec"]
    if manifest["kind"] == "PyTorchJob":
        spec = next(iter(spec["pytorchReplicaSpecs"].values()))
    return variables(spec["template"])


def test_the_documentation_names_exactly_these(shape: str, laboratory: Laboratory) -> None:
    said = documented(SHAPES[shape][0])
    if shape == "stretched":
        # `conf` as `key=value,...`, if any.
        assert "if any" in said["PET_RDZV_CONF"]
    every = {row[0].strip("`") for row in table("shapes")[1:]}
    for node, pod in enumerate(nodes(laboratory, shape)):
        found = variables(pod)
        assert {name for name in found if name in every} == set(said)
        for name, text in said.items():
            # A cell that is one literal, or begins with the one of most runs.
            literal = re.fullmatch(r"`(\d+|min:max)`(, or one of its own)?", text)
            if literal is not None and literal[2] is None and literal[1] != "min:max":
                assert found[name] == literal[1], (name, node)
            if text == "the same":
                assert found[name] == found[name.removeprefix("PET_").replace("NODE_RANK", "RANK")]


def test_rehearse_gives_the_same_in_the_same_order(shape: str, laboratory: Laboratory) -> None:
    made = laboratory.run(shape)
    for node, pod in enumerate(nodes(laboratory, shape)):
        laboratory.wrote(pod["metadata"]["name"], "is told")
        listed = container(pod)["env"]
        appended = added(made.run, made.site.backend, node)
        operators = [
            each for each in listed if each["name"] not in declared_variables(made.objects[0])
        ]
        if shape != "batch":
            assert [(each["name"], each["value"]) for each in operators] == list(appended.items())
        own = [each for each in listed if each["name"] not in appended]
        ours = environment(
            [*own, *({"name": key, "value": value} for key, value in appended.items())],
            pod["metadata"]["name"],
        )
        assert ours == laboratory.kubelet.environment(laboratory.namespace, pod["metadata"]["name"])


def test_identity_is_documented_and_right(shape: str, laboratory: Laboratory) -> None:
    said = {row[0].strip("`") for row in table("identity")[1:]}
    for pod in nodes(laboratory, shape):
        found = variables(pod)
        # CHECKPOINT_FROM is for runs that begin from another one's checkpoints.
        assert said - set(found) == {"CHECKPOINT_FROM"}
        assert found["RUN_NAME"] == f"{shape}-r1"
        assert (found["RUN_NUMBER"], found["RUN_LINEAGE"]) == ("1", f"{shape}-r1")
        cluster = "batch" if shape == "batch" else "operated"
        assert found["CHECKPOINT_DIR"] == f"/ckpt/{cluster}/lab/{shape}/r1"
        assert found["CHECKPOINT_EVERY"] == "600"


@pytest.mark.parametrize("name", ["batch", "several"])
def test_neither_sidecars_nor_init_containers_get_anything(
    name: str, laboratory: Laboratory
) -> None:
    every = {row[0].strip("`") for row in table("shapes")[1:]}
    for node, pod in enumerate(nodes(laboratory, name)):
        for beside in ("side", "first"):
            assert every.isdisjoint(variables(pod, beside))
        waits = ["init-pytorch"] if node else []
        assert [one["name"] for one in pod["spec"]["initContainers"]] == ["first", "side", *waits]


def test_a_process_sees_them(shape: str, laboratory: Laboratory) -> None:
    for node, pod in enumerate(nodes(laboratory, shape)):
        name = pod["metadata"]["name"]
        log = laboratory.wrote(name, f"{shape}-r1 is told")
        seen = dict(line.partition("=")[::2] for line in log.splitlines() if "=" in line)
        # Names, ports and paths are those of this machine.
        wanted = {
            key: value
            for key, value in expected(shape, node, "").items()
            if not key.endswith(("_PORT", "_ADDR", "_ENDPOINT", "_CONF"))
        }
        assert seen.items() >= wanted.items()
        assert seen["HOSTNAME"] == name
        checkpoints = str(laboratory.checkpoints(shape))
        assert seen["CHECKPOINT_DIR"] == checkpoints
