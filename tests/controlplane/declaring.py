"""Valid declarations, drawn at random from a seed: every shape of run, and every field of a job.

Three clusters stand for three settings: `west` (Kueue, Pod Security `privileged`), `east` (the
ledger, `baseline`) and `north` (Kueue, `restricted`). What is drawn is always valid; whoever uses
it asserts that. Imports nothing of the compiler.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import yaml

Fields = dict[str, Any]

DIGEST = "sha256:" + "5e" * 32
FULL = f"registry.example.com/training/nightly@{DIGEST}"
MIRROR = f"registry.example.com/mirror/toolbox@{DIGEST}"

NORTH = """\
description: L40S nodes; Kueue makes runs wait, and pods have no rights
versions: {kubernetes: 1.34.4, training_operator: 1.9.4, kueue: 0.17.0}
backend: {single_node: job, multi_node: pytorchjob}
admission: kueue
accelerators:
  L40S:
    resource: nvidia.com/gpu
    per_node: 4
    nodes: 40
    node: {cpu: 120, memory: 980Gi, reserved_cpu: 4, reserved_memory: 20Gi}
    flavor: l40s
    node_labels: {nvidia.com/gpu.product: NVIDIA-L40S}
    per_accelerator: {cpu: 24, memory: 180Gi, shm_size: 16Gi}
    partial: true
cpu_nodes:
  nodes: 20
  node: {cpu: 62, memory: 240Gi, reserved_cpu: 2, reserved_memory: 8Gi}
  flavor: cpu
  node_labels: {node.example.com/pool: cpu}
queues: {lab: {cluster_queue: lab, accelerators: [L40S], resources: [ephemeral-storage]}}
priorities: {low: 100, normal: 1000, high: 10000}
claims:
  datasets: {access: ReadOnlyMany, read_only: true}
  checkpoints: {access: ReadWriteMany}
  logs: {access: ReadWriteMany}
  raw: {access: ReadWriteOnce}
registries:
  registry.example.com/training: {pull_secret: registry-training}
  registry.example.com/mirror: {}
placements:
  fast: {node_labels: {node.example.com/disk: nvme}}
topology:
  block: {label: topology.example.com/block}
  rack: {label: topology.example.com/rack}
init_image: registry.example.com/mirror/alpine:3.22
pod_security: restricted
"""
LAB = """\
namespace: p-lab
owners: [lab-lead]
clusters: [west, east, north]
default_cluster: west
quota:
  west:
    H100: {guaranteed: 0, borrowing: 192}
    A100-80GB: {guaranteed: 0, borrowing: 48}
    MIG-1g.10gb: {guaranteed: 0, borrowing: 112}
  east:
    MI300X: {guaranteed: 0, borrowing: 64}
    A100-80GB: {guaranteed: 0, borrowing: 48}
  north:
    L40S: {guaranteed: 100, borrowing: 60}
"""
SCRIPT = "#!/bin/sh\nset -eu\nexec torchrun train.py\n"
TABLE = 'lr: 0.001\nnames: [é, \'quoted: "text"\', "tab\\there"]\n'
FILES = {
    "policy/clusters/north.yaml": NORTH,
    "policy/teams/lab.yaml": LAB,
    "configs/lab/run.sh": SCRIPT,
    "configs/lab/table.yaml": TABLE,
}
"""What stands beside the example's policy, by path."""

# Per cluster: accelerators with their number on a node, and whether a part of a node is usual.
KINDS = {
    "west": {"H100": 8, "A100-80GB": 8, "MIG-1g.10gb": 4},
    "east": {"MI300X": 8, "A100-80GB": 8},
    "north": {"L40S": 4},
}
MOST_NODES = {"H100": 24, "A100-80GB": 6, "MI300X": 8, "L40S": 40, "MIG-1g.10gb": 2}
DURATIONS = ("45m", "24h", "1h30m", "3d", "7d")
TEXTS = ("", "1e-5", "on", "null", "0o17", "a: b # c", "é ☃ \\ ' \"", "x" * 300, "%d $$(HOME)", "-")


def declarations(seed: int, count: int) -> dict[str, str]:
    """The text of each declaration by its path, all of the team `lab`."""
    found: dict[str, str] = {}
    for number in range(count):
        draw = Random(f"{seed}/{number}")
        name = f"gen-{number:03}"
        if draw.random() < 0.2:
            # The longest name that there may be.
            name = f"{name}-{'abcdefghijklmnopqrstuvwxyz0123456789'[: 40 - len(name) - 1]}"
        text = yaml.safe_dump(declared(draw), sort_keys=False, allow_unicode=True, width=100)
        found[f"jobs/lab/{name}.yaml"] = text
    return found


def declared(draw: Random) -> Fields:
    """One declaration."""
    cluster: str = draw.choice(("west", "west", "east", "north"))
    both = cluster == "west" and draw.random() < 0.08
    shape = draw.choice(("one", "one", "several", "several", "elastic", "cpu", "cpus"))
    job: Fields = {"cluster": ["west", "east"] if both else cluster, "image": "ddp-mini"}
    if draw.random() < 0.5:
        job |= {"description": "A run of the lab: é, ☃", "owner": "lab", "contact": "#lab"}
    nodes = 1
    kind = "" if shape in ("cpu", "cpus") else draw.choice(sorted(KINDS[cluster]))
    if both and kind:
        kind = "A100-80GB"
    if kind == "MIG-1g.10gb":
        shape = "one"
    if kind:
        per_node = KINDS[cluster][kind]
        whole = shape != "one" and cluster != "north"
        job["accelerators"] = f"{kind}:{per_node if whole else draw.randint(1, per_node)}"
    if shape in ("several", "cpus"):
        nodes = draw.randint(2, min(6, MOST_NODES.get(kind, 4)))
        job["num_nodes"] = nodes
    if shape == "elastic":
        nodes = draw.randint(2, min(8, MOST_NODES[kind]))
        job["num_nodes"] = {"min": draw.randint(1, nodes), "max": nodes}
        if draw.random() < 0.7:
            job["elastic"] = elastic(draw)
    for part in PARTS:
        part(job, draw, cluster, kind, shape)
    if both:
        # What only one of the two clusters has.
        for key in ("placement", "topology", "host_network"):
            job.pop(key, None)
        job["queue"] = "research" if kind else "data"
    if shape == "several" and draw.random() < 0.5:
        job["master"] = master(draw, cluster)
    return job


def elastic(draw: Random) -> Fields:
    """How the nodes of an elastic run meet."""
    found: Fields = {"max_restarts": draw.choice((0, 3, 100))}
    if draw.random() < 0.3:
        found |= {"backend": draw.choice(("etcd", "etcd-v2")), "endpoint": "etcd.infra:2379"}
    elif draw.random() < 0.5:
        found["backend"] = "c10d"
    if draw.random() < 0.5:
        found["conf"] = {"join_timeout": "900", "timeout": "60"}
    return found


def master(draw: Random, cluster: str) -> Fields:
    """What differs on the first node."""
    found: Fields = {"env": {"FIRST": "true"}}
    if draw.random() < 0.5:
        found["ports"] = {"tensorboard": 6006}
    if draw.random() < 0.5:
        found["mounts"] = {"/events": {"claim": "logs"}}
    if draw.random() < 0.3:
        found["sidecars"] = [companion(draw, "board", cluster)]
    if draw.random() < 0.3:
        found["labels"] = {"example.com/first": "yes"}
    if draw.random() < 0.2:
        found["annotations"] = {"example.com/first": "a note"}
    return found


# --- one field, or a few that belong together ----------------------------------------------------


def size(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    if not kind:
        job |= {"cpu": draw.choice((2, 0.5, "1500m", 16)), "memory": draw.choice(("4Gi", "1.5Gi"))}
        if draw.random() < 0.3:
            job["cpu"] = {"request": "500m", "limit": 2}
            job["memory"] = {"request": "1Gi", "limit": "4G"}
        if draw.random() < 0.3:
            job["shm_size"] = "256Mi"
    elif draw.random() < 0.2:
        job |= {"cpu": 12, "memory": "48Gi", "shm_size": "8Gi"}
    # The queue of the slices has no disk.
    if draw.random() < 0.2 and kind != "MIG-1g.10gb":
        job["ephemeral_storage"] = draw.choice(("20Gi", "500M"))


def queue(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    if cluster == "north":
        job["queue"] = "lab"
    elif cluster == "west":
        job["queue"] = {"": "data", "MIG-1g.10gb": "interactive"}.get(kind, "research")
    if draw.random() < 0.6:
        job["priority"] = draw.choice(("low", "normal", "high"))
    # Kueue's Topology of a cluster has one name, and here one control plane stands for all.
    if cluster != "east" and shape != "cpu" and draw.random() < 0.3:
        job["topology"] = {draw.choice(("required", "preferred")): draw.choice(("rack", "block"))}


def ends(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    if draw.random() < 0.8:
        job["max_duration"] = draw.choice(DURATIONS)
    if draw.random() < 0.6:
        job["retry"] = {"max": draw.choice((0, 1, 3, 50))}
    if draw.random() < 0.5:
        job["stop"] = {"grace": draw.choice(("10s", "30s", "5m", "20m"))}
    if draw.random() < 0.2:
        job["expires"] = "2029-12-31"
    if "max_duration" in job and cluster == "west" and draw.random() < 0.2:
        job["max_cost"] = 10_000_000
    if draw.random() < 0.1:
        job["rerun"] = draw.randint(2, 9)
    if draw.random() < 0.1:
        job["state"] = "running"


def image(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    chance = draw.random()
    if chance < 0.4:
        job["image"] = draw.choice((FULL, "data-tools")) if not kind else FULL
        job["command"] = command(draw)
    elif chance < 0.6 and kind == "MI300X":
        job |= {"image": "vit-rocm", "command": ["torchrun", "-m", "vit.train"]}
    elif kind == "MI300X":
        job |= {"image": "asr-rocm", "command": command(draw)}
    elif chance < 0.5:
        job["command"] = command(draw)
    if draw.random() < 0.4:
        job["pull"] = draw.choice(("always", "if-not-present", "never"))
    if draw.random() < 0.2:
        job["working_dir"] = "/srv/code"
    if draw.random() < 0.3:
        job["pull_secrets"] = ["partner-registry", "registry-training"]
    if draw.random() < 0.5 and "bash" not in job.get("command", ()):
        job["args"] = args(draw)


def command(draw: Random) -> Any:
    return draw.choice(
        (
            ["torchrun", "train.py"],
            "torchrun -m lab.train",
            ["torchrun", "--log_dir", "/tmp/torchrun", "train.py"],
            ["bash", "-c", "set -e\nexec torchrun train.py --out /tmp\n"],
        )
    )


def args(draw: Random) -> Any:
    if draw.random() < 0.3:
        return {"learning_rate": "1e-5", "names": ["a", "b"], "note": draw.choice(TEXTS)}
    return ["--lr", "1e-5", "--flag=on", *draw.sample(TEXTS[1:], 2)]


def environment(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    if draw.random() < 0.6:
        names = draw.sample(("A", "b_2", "dotted.name", "With-Hyphen", "_X", "NCCL_DEBUG_FILE"), 3)
        job["env"] = {name: draw.choice(TEXTS) for name in names}
        job["env"] |= {"BASE": "/tmp", "BELOW": "$(BASE)/below"}
    if draw.random() < 0.4:
        job["secrets"] = {"HF_TOKEN": "hf/token", "OTHER": "object-store.v2/the.key-1"}


def volumes(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    several = shape not in ("one", "cpu")
    every: Fields = {
        "/data": {"claim": "datasets", "read_only": True},
        "/data/set one": {"claim": "datasets", "read_only": True, "sub_path": "sets/one two"},
        "/logs": {"claim": "logs", "sub_path": "of/the.lab"},
        "/etc/app": {"config_map": "app.settings"},
        "/etc/one.conf": {"config_map": "app.settings", "sub_path": "one.conf"},
        "/var/run/keys": {"secret": "hf", "read_only": True},
        "/scratch": {"scratch": draw.choice(("10Gi", "500M"))},
        "/raw": {"claim": "raw"},
    }
    if several or cluster == "east":
        del every["/raw"]
    names = draw.sample(sorted(every), draw.randint(0, 5))
    if names:
        job["mounts"] = {name: every[name] for name in names}
    if draw.random() < 0.4:
        job["files"] = {"/etc/train/table.yaml": "configs/lab/table.yaml"}
        if draw.random() < 0.5:
            job["files"]["/opt/lab/run.sh"] = "configs/lab/run.sh"
    if draw.random() < 0.5:
        job["checkpoint"] = {"claim": "checkpoints", "path": "/ckpt", "every": "20m", "keep": 2}
        if draw.random() < 0.3:
            job["checkpoint"] = {"claim": "checkpoints", "path": "/logs-of/ckpt"}
    elif draw.random() < 0.1:
        job.setdefault("mounts", {})["/ckpt"] = {"claim": "checkpoints", "sub_path": "lab"}
        job["checkpoint"] = {"path": "/ckpt/own", "every": "1h"}


def ports(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    if draw.random() < 0.4:
        job["ports"] = {"metrics": 9400}
        if draw.random() < 0.5:
            job["ports"]["a-15-char-long1"] = 65535


def beside(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    if draw.random() < 0.3:
        job["sidecars"] = [companion(draw, "exporter", cluster)]
    if draw.random() < 0.3:
        job["init"] = [companion(draw, "stage-data", cluster), companion(draw, "x", cluster)]


def companion(draw: Random, name: str, cluster: str) -> Fields:
    """A sidecar or an init container."""
    found: Fields = {"name": name, "image": draw.choice((MIRROR, "data-tools"))}
    found |= {"cpu": "100m", "memory": "64Mi"}
    if draw.random() < 0.5:
        found |= {"command": ["sh", "-c", "sleep 1"]}
    elif draw.random() < 0.5:
        found["args"] = ["--listen", ":9401"]
    if draw.random() < 0.4:
        found["env"] = {"WHO": name, "WHAT": draw.choice(TEXTS)}
    if draw.random() < 0.3:
        found["secrets"] = {"KEY": "object-store/key"}
    if draw.random() < 0.3:
        found["mounts"] = {"/share": {"scratch": "1Gi"}, "/models": {"claim": "datasets"}}
        found["mounts"]["/models"]["read_only"] = True
    if name == "exporter" and draw.random() < 0.5:
        found["ports"] = {"gpu-metrics": 9401}
    return found


def rights(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    if cluster == "north" or draw.random() < 0.3:
        user = draw.choice((1000, 65534, 2147483647))
        job["security"] = {"run_as_user": user, "non_root": True}
        if draw.random() < 0.5:
            job["security"] |= {"run_as_group": 1000, "fs_group": 2000}
        if draw.random() < 0.3:
            job["security"] |= {"service_account": "trainer.lab"}
            job["security"]["service_account_token"] = draw.random() < 0.5
    if cluster == "west" and kind == "H100" and draw.random() < 0.3:
        job.setdefault("security", {})["capabilities"] = ["IPC_LOCK"]
    if cluster == "west" and draw.random() < 0.15:
        job["host_network"] = True


def names(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    if draw.random() < 0.3:
        job["labels"] = {"purpose": "test", f"example.com/{'l' * 63}": "v" * 63, "empty": ""}
    if draw.random() < 0.3:
        job["annotations"] = {"example.com/note": draw.choice(TEXTS), "plain": "é"}
    if cluster == "east" and draw.random() < 0.4:
        job["placement"] = ["local-nvme"]
        if draw.random() < 0.3:
            job["preemptible"] = True
    if cluster == "north" and draw.random() < 0.4:
        job["placement"] = ["fast"]


PASSED: tuple[Fields, ...] = (
    {"dnsConfig": {"options": [{"name": "ndots", "value": "1"}]}},
    {"shareProcessNamespace": True},
    {"hostAliases": [{"ip": "10.1.2.3", "hostnames": ["store.internal"]}]},
    {"schedulerName": "bin-packing"},
    {"runtimeClassName": "nvidia"},
    {"enableServiceLinks": True, "hostname": "trainer"},
    {"topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "rack", "whenUnsatisfiable": "ScheduleAnyway",
         "labelSelector": {"matchLabels": {"app.kubernetes.io/part-of": "training"}}}
    ]},
    {"affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 50, "podAffinityTerm": {
            "topologyKey": "kubernetes.io/hostname",
            "labelSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]}}}
    ]}}},
    {"securityContext": {"supplementalGroups": [3000], "fsGroupChangePolicy": "OnRootMismatch"}},
    {"readinessGates": [{"conditionType": "example.com/ready"}]},
    {"containers": [{"name": "pytorch", "tty": True, "stdin": True,
                     "lifecycle": {"preStop": {"exec": {"command": ["sync"]}}},
                     "livenessProbe": {"exec": {"command": ["pgrep", "python"]},
                                       "periodSeconds": 60, "failureThreshold": 10}}]},
    {"containers": [{"name": "pytorch", "env": [
        {"name": "NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        {"name": "CORES", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu"}}},
        {"name": "MODE", "valueFrom": {"configMapKeyRef": {"name": "app", "key": "mode"}}}],
        "envFrom": [{"prefix": "APP_", "configMapRef": {"name": "app", "optional": True}}]}]},
    {"volumes": [
        {"name": "pod-info", "downwardAPI": {"items": [
            {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
        {"name": "both", "projected": {"sources": [
            {"configMap": {"name": "app"}}, {"secret": {"name": "hf"}}]}}],
     "containers": [{"name": "pytorch", "volumeMounts": [
        {"name": "pod-info", "mountPath": "/etc/pod-info"},
        {"name": "both", "mountPath": "/etc/both", "readOnly": True}]}]},
    {"volumes": [{"name": "drive", "ephemeral": {"volumeClaimTemplate": {"spec": {
        "accessModes": ["ReadWriteOnce"], "storageClassName": "fast",
        "resources": {"requests": {"storage": "20Gi"}}}}}}],
     "containers": [{"name": "pytorch", "volumeMounts": [
        {"name": "drive", "mountPath": "/drive"}]}]},
)  # fmt: skip
"""Pod specs that a `pod:` may merge in, on every cluster."""


def passthrough(job: Fields, draw: Random, cluster: str, kind: str, shape: str) -> None:
    if draw.random() < 0.5:
        spec: Fields = {}
        for part in draw.sample(PASSED, draw.randint(1, 3)):
            for key, value in part.items():
                # Two parts with one list are for another run.
                spec.setdefault(key, value)
        mounted = {"volumes", "containers"} & set(spec)
        if "volumes" in mounted and not any(part.get("volumes") is spec["volumes"]
                                            and part.get("containers") is spec["containers"]
                                            for part in PASSED):  # fmt: skip
            del spec["volumes"], spec["containers"]
        if spec:
            job["pod"] = {"spec": spec}
    if draw.random() < 0.1:
        job.setdefault("pod", {})["metadata"] = {"labels": {"example.com/by-pod": "yes"}}


PARTS: tuple[Callable[[Fields, Random, str, str, str], None], ...] = (
    size, queue, ends, image, environment, volumes, ports, beside, rights, names, passthrough,
)  # fmt: skip
