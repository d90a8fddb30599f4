"""Rules about the fast network, shared memory, and what a node has to spare."""

from __future__ import annotations

import pytest
from declarations import findings, job, only, policy, spot

WEST = "policy/clusters/west.yaml"
POD = "pod:\n  spec:\n    containers:\n      - name: pytorch\n"
OFF = "NCCL_IB_DISABLE=1 keeps NCCL from the rdma/hca_shared_devices_a that each of the 2 nodes"


@pytest.mark.parametrize(
    ("extra", "message", "place"),
    [
        ("env: {NCCL_IB_DISABLE: '1'}", OFF, "8:24"),
        ("env: {NCCL_NET: Socket}", "NCCL_NET=Socket keeps", "8:17"),
        ("command: [bash, -c, 'export NCCL_IB_DISABLE=1; torchrun t.py']", OFF, "8:21"),
        (f"{POD}        env: [{{name: NCCL_IB_DISABLE, value: '1'}}]", OFF, "12:46"),
    ],
)
def test_a_device_that_nobody_uses_is_a_warning(extra: str, message: str, place: str) -> None:
    item = only("rdma-switched-off", findings(job(f"num_nodes: 2\n{extra}")))
    assert item.severity == "warning"
    assert message in item.message
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert WEST in {related.place.path for related in item.related}


@pytest.mark.parametrize(
    "text",
    [
        job("env: {NCCL_IB_DISABLE: '1'}"),
        job("num_nodes: 2\nenv: {NCCL_IB_DISABLE: '0'}"),
        job("num_nodes: 2\nenv: {NCCL_NET: IB}"),
        job("num_nodes: 2\nenv: {NCCL_IB_DISABLE: '1'}", accelerators="A100-80GB:8"),
        job("num_nodes: 2\ncommand: [bash, -c, 'NCCL_IB_DISABLE=1 ./test.sh; torchrun t.py']"),
    ],
)
def test_a_fast_network_in_use_or_none_is_left_alone(text: str) -> None:
    found = [item for item in findings(text) if item.rule != "above-quota"]
    assert [item.message for item in found] == []


def test_capabilities_of_ones_own_lose_those_of_the_cluster() -> None:
    text = job("num_nodes: 2\nsecurity:\n  capabilities: []")
    item = only("lost-network-setting", findings(text))
    assert spot(item) == "jobs/example.yaml:9:17"
    assert "without IPC_LOCK, which west gives" in item.message
    assert item.help == "add IPC_LOCK, or take the list out"
    assert [related.place.path for related in item.related] == [WEST]


@pytest.mark.parametrize(
    "text",
    [
        job("security: {capabilities: []}"),
        job("num_nodes: 2\nsecurity: {capabilities: [IPC_LOCK]}"),
        job("num_nodes: 2\nsecurity: {run_as_user: 1000}"),
        job(
            "num_nodes: 2\nsecurity: {capabilities: []}\npod:\n  spec:\n"
            "    containers:\n      - name: pytorch\n"
            "        securityContext: {capabilities: {add: [IPC_LOCK]}}"
        ),
    ],
)
def test_capabilities_that_suffice_are_left_alone(text: str) -> None:
    assert [item.message for item in findings(text)] == []


def test_an_annotation_of_the_cluster_is_not_to_be_replaced() -> None:
    files = policy(
        WEST,
        (
            "      capabilities: [IPC_LOCK]",
            "      capabilities: [IPC_LOCK]\n      annotations: {example.com/networks: fast}",
        ),
    )
    assert findings(job("num_nodes: 2"), files) == []
    text = job("num_nodes: 2\nannotations: {example.com/networks: slow}")
    item = only("lost-network-setting", findings(text, files))
    assert spot(item) == "jobs/example.yaml:8:37"


@pytest.mark.parametrize("value", ["bnxt_re0", "=bnxt_re0:1,bnxt_re1:1", "mlx4_0"])
def test_a_device_of_another_cluster_is_a_warning(value: str) -> None:
    item = only("foreign-rdma-device", findings(job(f"num_nodes: 2\nenv:\n  NCCL_IB_HCA: {value}")))
    assert item.severity == "warning"
    assert spot(item) == "jobs/example.yaml:9:16"
    assert item.message == f"NCCL_IB_HCA is `{value}`, and west has mlx5"


@pytest.mark.parametrize("value", ["mlx5_0,mlx5_1", "=mlx5_2:1", "mlx", "^mlx5_3", "$(HCA)"])
def test_devices_of_the_cluster_are_left_alone(value: str) -> None:
    text = job(f"num_nodes: 2\nenv:\n  HCA: mlx5\n  NCCL_IB_HCA: '{value}'")
    assert [item.message for item in findings(text)] == []


def unreserved() -> dict[str, str]:
    return policy(
        WEST,
        (
            "node: {cpu: 188, memory: 1900Gi, reserved_cpu: 4, reserved_memory: 24Gi}",
            "node: {cpu: 188, memory: 1900Gi}",
        ),
    )


@pytest.mark.parametrize(
    ("extra", "message", "place"),
    [
        ("cpu: 188", "a pod asks for 188 cores of the 188 cores that a node with H100", "7:6"),
        ("cpu: 187.95", "a pod asks for 187.95 cores of the 188 cores", "7:6"),
        ("memory: 1900Gi", "a pod asks for 1900Gi of the 1900Gi that a node with H100", "7:9"),
    ],
)
def test_a_node_without_room_for_system_pods_is_a_warning(
    extra: str, message: str, place: str
) -> None:
    item = only("whole-node-request", findings(job(extra), unreserved()))
    assert item.severity == "warning"
    assert item.message.startswith(message)
    assert spot(item) == f"jobs/example.yaml:{place}"


@pytest.mark.parametrize("extra", ["cpu: 187", "memory: 1899Gi", ""])
def test_a_node_with_some_room_is_left_alone(extra: str) -> None:
    assert findings(job(extra), unreserved()) == []


def test_a_node_whose_reserve_is_known_may_be_filled() -> None:
    assert findings(job("cpu: 184\nmemory: 1876Gi")) == []


@pytest.mark.parametrize(
    ("extra", "fields", "message", "place"),
    [
        ("shm_size: 0", {}, "8 processes on a node share 64Mi at /dev/shm", "7:11"),
        ("shm_size: 256Mi", {}, "8 processes on a node share 256Mi", "7:11"),
        (
            "shm_size: 0\nargs: [--num_workers, '8']",
            {"accelerators": "H100:1"},
            "`--num_workers 8` on a node share 64Mi",
            "7:11",
        ),
    ],
)
def test_too_little_shared_memory_is_a_warning(
    extra: str, fields: dict[str, str], message: str, place: str
) -> None:
    item = only("too-little-shared-memory", findings(job(extra, **fields)))
    assert item.severity == "warning"
    assert message in item.message
    assert spot(item) == f"jobs/example.yaml:{place}"


@pytest.mark.parametrize(
    ("extra", "fields"),
    [
        ("shm_size: 512Mi", {}),
        ("shm_size: 0", {"accelerators": "H100:1"}),
        ("shm_size: 0\nargs: [--num_workers=0]", {"accelerators": "H100:1"}),
        ("shm_size: 0\nmounts: {/dev/shm: {scratch: 10Gi}}", {}),
        ("", {}),
    ],
)
def test_enough_shared_memory_is_left_alone(extra: str, fields: dict[str, str]) -> None:
    assert [item.message for item in findings(job(extra, **fields))] == []


def in_memory(size: str) -> str:
    folder = f"{{medium: Memory, sizeLimit: {size}}}" if size else "{medium: Memory}"
    return (
        "memory: 64Gi\nshm_size: 16Gi\npod:\n  spec:\n    volumes:\n      - name: cache\n"
        f"        emptyDir: {folder}"
    )


def test_volumes_in_memory_count_as_shared_memory() -> None:
    item = only("shm-above-memory", findings(job(in_memory("48Gi"))))
    assert spot(item) == "jobs/example.yaml:13:47"
    assert "may grow to 64Gi, and the container has 64Gi" in item.message
    assert [related.place.line for related in item.related] == [7]


@pytest.mark.parametrize("size", ["47Gi", ""])
def test_volumes_in_memory_that_leave_some_are_left_alone(size: str) -> None:
    assert [item.message for item in findings(job(in_memory(size)))] == []
