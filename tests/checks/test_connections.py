"""Rules about launchers that do not find the other nodes."""

from __future__ import annotations

import pytest
from declarations import findings, job, only, spot

from compiler.diagnostics import Severity

STATIC = "num_nodes: 4\n"
ELASTIC = "num_nodes: {min: 2, max: 4}\n"
RANKED = "--machine_rank, $(PET_NODE_RANK), --main_process_ip, $(MASTER_ADDR)"


def started(command: str, nodes: str = STATIC) -> str:
    return job(f"{nodes}command: {command}")


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("[torchrun, --master_addr=localhost, t.py]", "`--master_addr=localhost` on 4 nodes: each"),
        ("[torchrun, --master-addr, 127.0.0.1, t.py]", "each node would find only itself"),
        ("[torchrun, --rdzv_backend=c10d, '--rdzv_endpoint=localhost:29400', t.py]", "only itself"),
        ("[torchrun, '--rdzv_endpoint=10.0.0.1:29400', t.py]", "address `10.0.0.1` in every run"),
        ("[torchrun, --rdzv_endpoint=first-node, t.py]", "name or address `first-node`"),
        ("[bash, -c, 'HOST=localhost; torchrun --master_addr $HOST t.py']", "only itself"),
        ("[torchrun, t.py, --dist-url, 'tcp://127.0.0.1:23456']", "only itself"),
        (
            "[accelerate, launch, --num_machines=4, --machine_rank=$(RANK), --main_process_ip=a]",
            "address `a` in every run",
        ),
    ],
)
def test_an_address_that_no_pod_has_is_an_error(command: str, named: str) -> None:
    item = only("fixed-rendezvous-address", findings(started(command)))
    assert item.severity is Severity.ERROR
    assert named in item.message
    assert item.place.line == 8


@pytest.mark.parametrize(
    ("command", "remedy"),
    [
        ("[torchrun, --master_addr=localhost, t.py]", "take it out: torchrun finds"),
        ("[torchrun, t.py, '--init_method=tcp://localhost:1']", "write $(MASTER_ADDR) for"),
        ("[bash, -c, 'torchrun t.py --dist-url tcp://localhost:1']", "write ${MASTER_ADDR} for"),
    ],
)
def test_the_advice_is_the_launchers(command: str, remedy: str) -> None:
    assert only("fixed-rendezvous-address", findings(started(command))).help.startswith(remedy)


@pytest.mark.parametrize(
    "text",
    [
        started("[torchrun, --master_addr=$(MASTER_ADDR), t.py]"),
        started("[bash, -c, 'torchrun --master_addr ${MASTER_ADDR} t.py']"),
        started("[torchrun, t.py, '--dist-url=env://']"),
        started("[torchrun, t.py, '--dist-url=tcp://store.example.com:1']"),
        started("[torchrun, t.py, --master_addr=localhost]"),
        started("[torchrun, --standalone, --master_addr=localhost, t.py]", nodes=""),
        started("[torchrun, '--rdzv_endpoint=localhost:0', t.py]", nodes=""),
        job(
            ELASTIC + "elastic: {backend: etcd, endpoint: 'etcd:2379'}\n"
            "command: [torchrun, '--rdzv_endpoint=etcd:23456', t.py]"
        ),
        started("[torchrun, --rdzv_backend=etcd-v2, '--rdzv_endpoint=etcd.infra:23456', t.py]"),
        job(STATIC + "master: {command: [torchrun, --master_addr=localhost, t.py]}"),
    ],
)
def test_addresses_that_can_be_right_are_left_alone(text: str) -> None:
    assert [f.message for f in findings(text) if f.rule != "rendezvous-port-mismatch"] == []


@pytest.mark.parametrize(
    ("command", "message", "remedy"),
    [
        (
            "[deepspeed, t.py]",
            "`deepspeed` without a hostfile starts processes on its own node alone: 4 nodes",
            "write `torchrun`",
        ),
        ("[deepspeed, --no_ssh, --node_rank, $(RANK), t.py]", "without a hostfile", "write"),
        ("[python, -m, deepspeed.launcher.runner, t.py]", "without a hostfile", "write"),
        (
            "[accelerate, launch, --num_processes=32, --num_machines=4, t.py]",
            "`--num_machines=4` without --machine_rank and --main_process_ip",
            "add --machine_rank $(PET_NODE_RANK) --main_process_ip $(MASTER_ADDR), or",
        ),
        (
            "[bash, -c, 'accelerate launch --num_machines 4 --main_process_ip $MASTER_ADDR t.py']",
            "`--num_machines 4` without --machine_rank:",
            "add --machine_rank ${PET_NODE_RANK}, or",
        ),
        (
            f"[accelerate, launch, --use_deepspeed, --num_machines=4, {RANKED}, t.py]",
            "leaves the other nodes to pdsh",
            "add --deepspeed_multinode_launcher standard",
        ),
    ],
)
def test_a_launcher_that_knows_one_node_is_an_error(
    command: str, message: str, remedy: str
) -> None:
    item = only("unconnected-nodes", findings(started(command)))
    assert item.severity is Severity.ERROR
    assert message in item.message
    assert item.help.startswith(remedy)


@pytest.mark.parametrize(
    "text",
    [
        started("[deepspeed, t.py]", nodes=""),
        started("[deepspeed, --hostfile=/etc/hosts.txt, t.py]"),
        started("[deepspeed, -H, /etc/hosts.txt, t.py]"),
        started("[bash, -c, 'write-hosts > /job/hostfile; deepspeed t.py']"),
        job(
            STATIC
            + "command: [deepspeed, t.py]\nfiles: {/job/hostfile: configs/nlp/llm-train.yaml}"
        ),
        job(STATIC + "command: [deepspeed, t.py]\nmounts: {/job: {claim: logs}}"),
        started(f"[accelerate, launch, --num_machines=4, --num_processes=32, {RANKED}, t.py]"),
        started("[accelerate, launch, --config_file=/etc/acc.yaml, --num_machines=4, t.py]"),
        started("[accelerate, launch, --multi_gpu, t.py]"),
        started(
            f"[accelerate, launch, --use_deepspeed, --num_machines=4, {RANKED}, "
            "--deepspeed_multinode_launcher=standard, t.py]"
        ),
    ],
)
def test_launchers_that_are_told_are_left_alone(text: str) -> None:
    assert [item.message for item in findings(text)] == []


def test_processes_of_all_nodes_on_each_are_an_error() -> None:
    found = findings(started("[accelerate, launch, --num_processes=32, t.py]"))
    item = only("node-count-mismatch", found)
    assert spot(item) == "jobs/example.yaml:8:31"
    assert "32 processes on each of the 4" in item.message
    assert item.help == "add --num_machines 4"
