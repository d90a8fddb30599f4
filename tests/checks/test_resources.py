"""Rules about what a pod asks for, and what a node has."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, only, policy, spot

WEST = "policy/clusters/west.yaml"

REPORTED = {
    "sixteen accelerators on a node of eight": (
        job(accelerators="H100:16"),
        "too-many-accelerators-per-node",
        "3:15",
        "16 H100 on one node; a node of west has 8",
        "write H100:8 and num_nodes: 2",
    ),
    "a first node with too many": (
        job("num_nodes: 2\nmaster: {accelerators: H100:9}"),
        "too-many-accelerators-per-node",
        "8:24",
        "9 H100 on one node",
        "write H100:8",
    ),
    "more cores than a node has": (
        job("cpu: 190"),
        "node-too-small",
        "7:6",
        "a pod asks for 190 cores; a node with H100 has 184 cores beside the 4 cores reserved",
        "write 184 or less",
    ),
    "memory that only fits without the reserved part": (
        job("memory: 1890Gi"),
        "node-too-small",
        "7:9",
        "a pod asks for 1890Gi; a node with H100 has 1876Gi of memory beside the 24Gi reserved",
        "write 1876Gi or less",
    ),
    "a sidecar on a full node": (
        job(
            "memory: 1876Gi\nsidecars:\n  - name: exporter\n"
            "    image: gpu-exporter\n    memory: 512Mi"
        ),
        "node-too-small",
        "11:13",
        "a pod asks for 1876.5Gi in 2 containers",
        "ask for less",
    ),
    "a container of pod: on a full node": (
        job(
            "memory: 1876Gi\n"
            "pod:\n  spec:\n    containers:\n"
            "      - name: helper\n"
            f"        image: registry.example.com/mirror/helper@sha256:{'0' * 64}\n"
            "        resources: {requests: {memory: 2Gi}, limits: {memory: 2Gi}}"
        ),
        "node-too-small",
        "13:40",
        "a pod asks for 1878Gi in 2 containers",
        "ask for less",
    ),
    "a sidecar of pod:, an init container that is restarted": (
        job(
            "memory: 1876Gi\n"
            "pod:\n  spec:\n    initContainers:\n"
            "      - name: helper\n        restartPolicy: Always\n"
            f"        image: registry.example.com/mirror/helper@sha256:{'0' * 64}\n"
            "        resources: {requests: {memory: 2Gi}, limits: {memory: 2Gi}}"
        ),
        "node-too-small",
        "14:40",
        "a pod asks for 1878Gi in 2 containers",
        "ask for less",
    ),
    "an init container larger than a node": (
        job(
            "init:\n  - name: stage\n    image: data-tools\n    command: [copy]\n    memory: 2000Gi"
        ),
        "node-too-small",
        "11:13",
        "a pod asks for 2000Gi in 2 containers",
        "write 1876Gi or less",
    ),
    "a run on CPUs larger than their nodes": (
        job(
            "cpu: 61\nmemory: 10Gi\nshm_size: 1Gi",
            accelerators=None,
            image="ddp-mini",
            queue="data",
        ),
        "node-too-small",
        "6:6",
        "a node without accelerators has 60 cores",
        "write 60 or less",
    ),
    "more nodes than there are": (
        job("num_nodes: 7", accelerators="A100-80GB:8"),
        "more-nodes-than-exist",
        "7:12",
        "7 nodes are wanted; west has 6 nodes with A100-80GB",
        "write 6 or less",
    ),
    "more nodes at the most": (
        job("num_nodes: {min: 2, max: 8}", accelerators="A100-80GB:8"),
        "more-nodes-than-exist",
        "7:26",
        "8 nodes are wanted; west has 6",
        "write 6 or less",
    ),
    "a request above the limit": (
        job("memory: {request: 1025Gi, limit: 1Ti}"),
        "request-above-limit",
        "7:19",
        "pytorch requests 1025Gi of memory, and its limit is 1Ti",
        "write 1Ti or less, or raise the limit",
    ),
    "a sidecar's request above its limit": (
        job(
            "sidecars:\n  - name: exporter\n    image: gpu-exporter\n"
            "    cpu: {request: 600m, limit: 500m}"
        ),
        "request-above-limit",
        "10:20",
        "exporter requests 600m of cpu, and its limit is 500m",
        "write 500m or less, or raise the limit",
    ),
    "a request above the limit under pod:": (
        job(
            "pod:\n  spec:\n    containers:\n      - name: pytorch\n"
            "        resources: {limits: {memory: 100Gi}}"
        ),
        "request-above-limit",
        None,
        "pytorch requests 1600Gi of memory, and its limit is 100Gi",
        "write 100Gi or less, or raise the limit",
    ),
    "shared memory as large as memory": (
        job("memory: 64Gi\nshm_size: 65536Mi"),
        "shm-above-memory",
        "8:11",
        "shared memory may grow to 65536Mi, and the container has 64Gi for it and all else",
        "write 32Gi, half of it, or raise `memory`",
    ),
    "memory below the shared memory of the catalogue": (
        job("memory: 100Gi"),
        "shm-above-memory",
        "7:9",
        "shared memory may grow to 128Gi, and the container has 100Gi",
        "write more than 128Gi, or set `shm_size` to 50Gi",
    ),
    "halves of two nodes": (
        job("num_nodes: 2", accelerators="H100:4"),
        "part-of-a-node",
        "3:15",
        "2 nodes with 4 of their 8 H100 each",
        "write H100:8 and take num_nodes out",
    ),
    "six of eight on three nodes": (
        job("num_nodes: 3", accelerators="H100:6"),
        "part-of-a-node",
        "3:15",
        "3 nodes with 6 of their 8 H100 each",
        "write H100:8 and num_nodes: 3",
    ),
}
CLEAN = {
    "the largest pod that fits": job("cpu: 184\nmemory: 1876Gi"),
    "an init container as large as the pod, for it runs before": job(
        "memory: 1876Gi\ninit:\n"
        "  - {name: stage, image: data-tools, command: [copy], memory: 1876Gi}"
    ),
    "all nodes of a kind": job("num_nodes: 6", accelerators="A100-80GB:8"),
    "four pods on two nodes of slices": job(
        "num_nodes: 4", accelerators="MIG-1g.10gb:14", queue="interactive"
    ),
    "equal quantities in two spellings": job("memory: {request: 1024Gi, limit: 1Ti}"),
    "a small memory, with the built-in shared memory": job(
        "cpu: 1\nmemory: 1Gi", accelerators=None, image="ddp-mini", queue="data"
    ),
    "no shared memory": job("memory: 8Gi\nshm_size: 0", accelerators="H100:1"),
    "a part of one node": job(accelerators="H100:4"),
    "decimal units": job("memory: 1600G"),
}


@pytest.mark.parametrize("case", REPORTED)
def test_reports(case: str) -> None:
    text, rule, place, message, remedy = REPORTED[case]
    item = only(rule, findings(text))
    assert message in item.message
    assert item.help.startswith(remedy)
    if place is not None:
        assert spot(item) == f"jobs/example.yaml:{place}"


@pytest.mark.parametrize("case", CLEAN)
def test_leaves_alone(case: str) -> None:
    assert [f"{item.rule}: {item.message}" for item in findings(CLEAN[case])] == []


def test_the_line_of_policy_is_shown_beside_the_fault() -> None:
    item = only("too-many-accelerators-per-node", findings(job(accelerators="H100:16")))
    (related,) = item.related
    assert related.place.path == WEST
    assert related.message == "what a node has"


def test_a_catalogue_that_gives_more_than_a_node_has_is_at_fault_itself() -> None:
    files = policy(
        WEST,
        ("per_accelerator: {cpu: 20, memory: 200Gi", "per_accelerator: {cpu: 24, memory: 200Gi"),
    )
    item = only("node-too-small", findings(job(), files))
    assert item.place.path == WEST
    assert "192 cores" in item.message
    assert [related.place.path for related in item.related] == [WEST, "jobs/example.yaml"]


def test_a_node_that_is_full_with_pods_of_the_system_has_room_for_none() -> None:
    node = "reserved_cpu: 4, reserved_memory: 24Gi}\n    price: 2.95"
    full = node.replace("24Gi}", "24Gi, pods: 20, reserved_pods: 20}")
    item = only("nothing-left-on-a-node", findings(job(), policy(WEST, (node, full))))
    assert item.message == "the system is said to take 20 pods of each node, which has 20 pods"
    assert spot(item) == f"{WEST}:18:103"
    assert [related.place.path for related in item.related] == [WEST]
    room = node.replace("24Gi}", "24Gi, pods: 20, reserved_pods: 19}")
    assert findings(job(), policy(WEST, (node, room))) == []


def test_a_node_has_room_for_so_many_pods_and_no_more() -> None:
    # Runs without accelerators may share their nodes: 20 of them, with two pods each.
    files = policy(
        WEST, ("reserved_memory: 8Gi}", "reserved_memory: 8Gi, pods: 6, reserved_pods: 4}")
    ) | policy("policy/teams/nlp.yaml", ("  nodes: 8\n", "  nodes: 100\n"))
    small = "cpu: 2\nmemory: 4Gi\ncommand: [torchrun, a.py]"
    text = job(small, num_nodes="41", accelerators=None)
    (item,) = of("more-nodes-than-exist", findings(text, files))
    assert item.message == (
        "41 nodes are wanted; west has 20 nodes without accelerators, "
        "with room for 2 of these pods on each"
    )
    assert of("more-nodes-than-exist", findings(text.replace("41", "40"), files)) == []


def test_a_cap_below_the_nodes_that_exist_speaks_alone() -> None:
    files = policy("policy/teams/nlp.yaml", ("  nodes: 8\n", "  nodes: 5\n"))
    found = findings(job("num_nodes: 9", accelerators="A100-80GB:8"), files)
    only("nodes-above-cap", found)


def test_the_first_node_counts_among_nodes_of_its_own_kind() -> None:
    text = job("num_nodes: 7\nmaster: {accelerators: H100:8}", accelerators="A100-80GB:8")
    assert of("more-nodes-than-exist", findings(text)) == []
    text = job("num_nodes: 8\nmaster: {accelerators: H100:8}", accelerators="A100-80GB:8")
    item = only("more-nodes-than-exist", findings(text))
    assert "7 nodes are wanted; west has 6 nodes with A100-80GB" in item.message
    assert item.help.startswith("write 7 or less")


@pytest.mark.parametrize("memory", ["512m", "16gb", "512mi", "16GiB", "16 Gi"])
def test_a_misspelt_size_is_one_finding(memory: str) -> None:
    (item,) = findings(job(f"memory: {memory}"))
    assert spot(item) == "jobs/example.yaml:7:9"
