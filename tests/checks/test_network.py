"""Rules about interfaces, ports, the mesh and pull secrets."""

from __future__ import annotations

import pytest
from declarations import TODAY, findings, job, only, policy, repository, spot

from compiler.interfaces import interfaces
from compiler.project import Project
from compiler.repository import Repository

WEST = "policy/clusters/west.yaml"
PINNED = f"registry.example.com/training/exporter@sha256:{'5' * 64}"


def nodes(value: str, count: str = "2", name: str = "NCCL_SOCKET_IFNAME") -> str:
    return job(f'num_nodes: {count}\nenv:\n  {name}: "{value}"')


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("lo", "NCCL_SOCKET_IFNAME"),
        ("=lo", "NCCL_SOCKET_IFNAME"),
        ("eth0,lo", "NCCL_SOCKET_IFNAME"),
        ("lo", "GLOO_SOCKET_IFNAME"),
    ],
)
def test_the_loopback_of_several_nodes_is_an_error(value: str, name: str) -> None:
    item = only("loopback-interface", findings(nodes(value, name=name)))
    assert spot(item) == "jobs/example.yaml:9:23"
    assert item.message.startswith(f"{name} is `{value}`, and 2 nodes cannot meet")
    assert item.help == "write eth0"
    assert [related.place.path for related in item.related] == [WEST]


@pytest.mark.parametrize(
    ("value", "name", "remedy"),
    [
        ("ens6", "NCCL_SOCKET_IFNAME", "write eth0"),
        ("=eth", "NCCL_SOCKET_IFNAME", "write eth0"),
        ("^eth,ib,lo", "NCCL_SOCKET_IFNAME", "write eth0"),
        ("^docker0", "NCCL_SOCKET_IFNAME", "write ^docker0,lo, or eth0"),
        ("eth", "GLOO_SOCKET_IFNAME", "write eth0"),
    ],
)
def test_an_interface_that_the_cluster_lacks_is_a_warning(
    value: str, name: str, remedy: str
) -> None:
    item = only("foreign-interface", findings(nodes(value, name=name)))
    assert item.severity == "warning"
    assert spot(item) == "jobs/example.yaml:9:23"
    assert item.help.startswith(remedy)


@pytest.mark.parametrize(
    "text",
    [
        nodes("eth0"),
        nodes("eth"),
        nodes("=eth0,ib0"),
        nodes("ib0"),
        nodes("^docker0,lo"),
        nodes("^lo"),
        nodes("lo", count="1"),
        nodes("ens6,eth0"),
    ],
)
def test_interfaces_of_the_cluster_pass(text: str) -> None:
    assert findings(text) == []


def test_an_interface_in_pod_counts_as_well() -> None:
    text = job(
        "num_nodes: 2\npod:\n  spec:\n    containers:\n      - name: pytorch\n"
        "        env: [{name: NCCL_SOCKET_IFNAME, value: lo}]"
    )
    item = only("loopback-interface", findings(text))
    assert spot(item) == "jobs/example.yaml:12:49"


def test_a_value_that_refers_to_another_variable_is_nobodys_guess() -> None:
    assert interfaces("NCCL_SOCKET_IFNAME", "$(NODE_INTERFACE)") is None
    assert interfaces("NCCL_SOCKET_IFNAME", " ") is None


PORTS = {
    "the rendezvous port under another name": (
        job("num_nodes: 2\nports: {metrics: 23456}"),
        "8:18",
        "23456 is the port of the rendezvous",
    ),
    "the name of the rendezvous port": (
        job("num_nodes: 2\nports: {pytorchjob-port: 9400}"),
        "8:9",
        "`pytorchjob-port` is the name of the rendezvous port",
    ),
    "one number in two containers": (
        job(
            "ports: {metrics: 9400}\nsidecars:\n"
            "  - {name: exporter, image: gpu-exporter, ports: {gpu: 9400}}"
        ),
        "9:56",
        "the port 9400 is taken by another container of the pod",
    ),
    "one name in two containers": (
        job(
            "ports: {metrics: 9400}\nsidecars:\n"
            "  - {name: exporter, image: gpu-exporter, ports: {metrics: 9401}}"
        ),
        "9:51",
        "two ports of the pod are called metrics",
    ),
    "one number under two names": (
        job("ports: {metrics: 9400, status: 9400}"),
        "7:32",
        "the port 9400 is taken",
    ),
    "a long name": (
        job("ports: {tensorboard-of-run: 6006}"),
        "7:9",
        "`tensorboard-of-run` has 18 characters; 15 are possible",
    ),
    "a name without a letter": (
        job('ports: {"6006": 6006}'),
        "7:9",
        "the port's name `6006` has no letter",
    ),
}


@pytest.mark.parametrize("case", PORTS)
def test_ports_in_each_others_way(case: str) -> None:
    text, place, message = PORTS[case]
    item = only("conflicting-ports", findings(text))
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert message in item.message


@pytest.mark.parametrize(
    "text",
    [
        # A batch Job has no rendezvous port.
        job("ports: {metrics: 23456}"),
        job("num_nodes: 2\nports: {metrics: 9400, tensorboard: 6006}"),
    ],
)
def test_ports_apart_pass(text: str) -> None:
    assert findings(text) == []


@pytest.mark.parametrize(
    ("extra", "place"),
    [
        ('annotations: {sidecar.istio.io/inject: "true"}', "7:40"),
        ('labels: {sidecar.istio.io/inject: "true"}', "7:35"),
        ('pod: {metadata: {labels: {sidecar.istio.io/inject: "true"}}}', "7:52"),
    ],
)
def test_the_mesh_stays_out_of_training_pods(extra: str, place: str) -> None:
    item = only("injected-sidecar", findings(job(extra)))
    assert spot(item) == f"jobs/example.yaml:{place}"


def test_every_replica_gets_the_pull_secret_and_the_mesh_s_refusal(tmp_path) -> None:
    text = job("num_nodes: 2\npull_secrets: [partner-registry]")
    root = repository(tmp_path, {"jobs/example.yaml": text})
    (result,) = Project(Repository(root), at=TODAY).results()
    replicas = result.runs[0].objects[0]["spec"]["pytorchReplicaSpecs"]
    assert set(replicas) == {"Master", "Worker"}
    for replica in replicas.values():
        template = replica["template"]
        # Text, for the CRD refuses a boolean here.
        assert template["metadata"]["annotations"]["sidecar.istio.io/inject"] == "false"
        assert template["spec"]["imagePullSecrets"] == [
            {"name": "partner-registry"},
            {"name": "registry-training"},
        ]


def test_a_misspelt_pull_secret_field_is_named() -> None:
    item = only("unknown-key", findings(job("pullSecrets: [partner-registry]")))
    assert spot(item) == "jobs/example.yaml:7:1"
    assert "pull_secrets" in item.help


def test_an_image_of_pod_needs_its_registry_s_secret() -> None:
    text = job(
        f"command: [torchrun, all_reduce.py]\npod:\n  spec:\n    containers:\n"
        f'      - {{name: exporter, image: "{PINNED}"}}',
        image="nccl-tests",
    )
    item = only("missing-pull-secret", findings(text))
    assert spot(item) == "jobs/example.yaml:11:33"
    assert item.help == "add pull_secrets: [registry-training]"
    assert findings(text + "pull_secrets: [registry-training]\n") == []


def test_the_operator_s_init_image_must_be_within_reach() -> None:
    line = "init_image: registry.example.com/mirror/alpine:3.22\n"
    files = policy(WEST, (line, ""))
    item = only("unreachable-init-image", findings(job("num_nodes: 2"), files))
    assert (item.place.path, item.severity) == (WEST, "warning")
    # Neither a batch Job nor an elastic run has that container.
    assert findings(job(), files) == []
    assert findings(job("num_nodes: {min: 2, max: 2}"), files) == []
    public = policy(WEST, (line, ""), ("\nregistries:\n", "\nregistries:\n  docker.io: {}\n"))
    assert findings(job("num_nodes: 2"), public) == []


def test_runs_on_the_nodes_network_have_ports_of_their_own(tmp_path) -> None:
    jobs = {f"jobs/{name}.yaml": job("num_nodes: 2\nhost_network: true") for name in ("one", "two")}
    root = repository(tmp_path, jobs)
    ports: list[int] = []
    for result in Project(Repository(root), at=TODAY).results():
        replicas = result.runs[0].objects[0]["spec"]["pytorchReplicaSpecs"].values()
        pods = [replica["template"]["spec"] for replica in replicas]
        assert [pod["dnsPolicy"] for pod in pods] == ["ClusterFirstWithHostNet"] * 2
        named = [pod["containers"][0]["ports"][-1] for pod in pods]
        assert [port["name"] for port in named] == ["pytorchjob-port"] * 2
        ports += {port["containerPort"] for port in named}
    assert len(ports) == 2
    assert 23456 not in ports
