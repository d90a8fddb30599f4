"""What another field says, names that a pod has once, root, and paths that the system needs."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, only, policy, spot

SIDES = "memory: 1500Gi\nsidecars: [{name: a, image: gpu-exporter, memory: 1Gi}"
# The declaration, the rule, the place of its one finding, a part of the message, what to write.
REPORTED = {
    "accelerators past their field": (
        job("resources: {nvidia.com/gpu: 8}", accelerators="H100:1"),
        "resource-with-a-field",
        "7:13",
        "`nvidia.com/gpu` under `resources` is counted nowhere",
        "write accelerators: H100:8 instead",
    ),
    "accelerators of another kind": (
        job("resources: {nvidia.com/mig-1g.10gb: 1}"),
        "resource-with-a-field",
        "7:13",
        "counted nowhere",
        "write accelerators: MIG-1g.10gb:1 instead",
    ),
    "accelerators on a queue for CPUs": (
        job(
            "command: [python, train.py]\nresources: {nvidia.com/gpu: 8}",
            image="gpu-exporter",
            accelerators=None,
            queue="data",
        ),
        "resource-with-a-field",
        "7:13",
        "counted nowhere",
        "write accelerators: H100:8 instead (or A100-80GB)",
    ),
    "accelerators of the first node": (
        job("num_nodes: 2\nmaster: {resources: {nvidia.com/gpu: 4}}"),
        "resource-with-a-field",
        "8:22",
        "counted nowhere",
        "write accelerators: H100:4 instead",
    ),
    "cores": (
        job("resources: {cpu: 4}"),
        "resource-with-a-field",
        "7:13",
        "would replace what `cpu` says",
        "write cpu: 4 instead",
    ),
    "memory": (
        job("resources: {memory: 5}"),
        "resource-with-a-field",
        "7:13",
        "would replace what `memory` says",
        "write memory: 5Gi instead",
    ),
    "disk": (
        job("resources: {ephemeral-storage: 5}"),
        "resource-with-a-field",
        "7:13",
        "would replace what `ephemeral_storage` says",
        "write ephemeral_storage: 5Gi instead",
    ),
    "no device": (
        job("resources: {hca: 1}"),
        "resource-with-a-field",
        "7:13",
        "`hca` is no resource of a container",
        "write its whole name",
    ),
    "accelerators by another tool's word": (
        job("resources: {gpu: 8}"),
        "resource-with-a-field",
        "7:13",
        "`gpu` is no resource of a container: `accelerators` is the field for it",
        "take it out",
    ),
    "accelerators by another tool's word alone": (
        job(
            "command: [python, train.py]\nresources: {gpus: 2}",
            image="gpu-exporter",
            accelerators=None,
            queue="data",
        ),
        "resource-with-a-field",
        "7:13",
        "`accelerators` is the field for it",
        "write accelerators: H100:2 instead",
    ),
    "two sidecars of one name": (
        job(f"{SIDES}, {{name: a, image: gpu-exporter, memory: 1Gi}}]"),
        "containers-of-one-name",
        "8:64",
        "two containers of the pod are called `a`",
        "give one of them another name",
    ),
    "a sidecar and an init container of one name": (
        job(f"{SIDES}]\ninit: [{{name: a, image: gpu-exporter, memory: 1Gi}}]"),
        "containers-of-one-name",
        "8:19",
        "two containers of the pod are called `a`",
        "give one of them another name",
    ),
    "the operator's init container": (
        job(
            "num_nodes: 2\nmemory: 1500Gi\n"
            "sidecars: [{name: init-pytorch, image: gpu-exporter, memory: 1Gi}]"
        ),
        "containers-of-one-name",
        "9:19",
        "`init-pytorch` is the init container that the training operator adds",
        "give this container another name",
    ),
    "root that is forbidden": (
        job("security: {run_as_user: 0, non_root: true}"),
        "root-refused-by-kubelet",
        "7:25",
        "the pod is to run as the user 0",
        "write another user id",
    ),
    "a container of pod: that must not be the pod's root": (
        job(
            "security: {run_as_user: 0}\n"
            "pod: {spec: {containers: [{name: pytorch, securityContext: {runAsNonRoot: true}}]}}"
        ),
        "root-refused-by-kubelet",
        "8:75",
        "the container `pytorch` is to run as the user 0",
        "write another user id",
    ),
    **{
        f"a mount at {path}": (
            job(f"mounts: {{{path}: {{scratch: 1Gi}}}}"),
            "mount-over-system-path",
            "7:10",
            "would hide",
            "mount it at a path of its own",
        )
        for path in (
            "/proc",
            "/proc/acpi",
            "/sys/",
            "/dev",
            "/usr",
            "/var/run/secrets/kubernetes.io/serviceaccount",
        )
    },
    "checkpoints among the devices": (
        job(checkpoint="{claim: checkpoints, path: /dev, every: 30m}"),
        "mount-over-system-path",
        "6:40",
        "would hide the devices",
        "mount it at a path of its own",
    ),
    "shared memory that cannot be written": (
        job("mounts: {/dev/shm: {claim: datasets, read_only: true}}"),
        "mount-over-system-path",
        "7:10",
        "/dev/shm is shared memory, and what is mounted there cannot be written",
        "mount it at a path of its own",
    ),
    "a port with two hyphens": (
        job("ports: {a--b: 6006}"),
        "conflicting-ports",
        "7:9",
        "two hyphens beside each other",
        "write a-b",
    ),
    "a port with a long name": (
        job("ports: {a-long-name-of-a-port: 6006}"),
        "conflicting-ports",
        "7:9",
        "has 21 characters; 15 are possible",
        "write a-long-name-of",
    ),
    "a port of an init container": (
        job(
            "memory: 1500Gi\ninit: [{name: a, image: gpu-exporter, memory: 1Gi, ports: {a--b: 70}}]"
        ),
        "conflicting-ports",
        "8:60",
        "two hyphens beside each other",
        "write a-b",
    ),
}


@pytest.mark.parametrize(
    ("text", "rule", "place", "message", "remedy"), REPORTED.values(), ids=list(REPORTED)
)
def test_it_is_one_finding_at_its_place(
    text: str, rule: str, place: str, message: str, remedy: str
) -> None:
    found = only(rule, findings(text))
    assert spot(found) == f"jobs/example.yaml:{place}"
    assert message in found.message
    assert remedy in found.help


RIGHT = {
    "an RDMA device": job("num_nodes: 2\nresources: {rdma/hca_shared_devices_a: 2}"),
    "pod: adds to a sidecar": job(
        f"{SIDES}]\npod: {{spec: {{initContainers: [{{name: a, env: [{{name: B, value: c}}]}}]}}}}"
    ),
    "root that nothing forbids": job("security: {run_as_user: 0}"),
    "devices and writable shared memory": job(
        "mounts: {/dev/infiniband: {scratch: 1Gi}, /dev/shm: {scratch: 1Gi}}"
    ),
    "a file of the kernel's that may be another": job(
        "files: {/proc/cpuinfo: configs/nlp/llm-train.yaml}"
    ),
    "the longest port": job("ports: {a-name-of-15-ch: 6006}"),
}


@pytest.mark.parametrize("text", RIGHT.values(), ids=list(RIGHT))
def test_what_is_right_is_no_finding(text: str) -> None:
    assert [f.message for f in findings(text)] == []


def test_an_accelerator_among_the_resources_of_policy_is_told_there() -> None:
    files = policy(
        "policy/clusters/west.yaml",
        ("resources: {rdma/hca_shared_devices_a: 1}", "resources: {nvidia.com/gpu: 2}"),
    )
    (found,) = of("resource-with-a-field", findings(job("num_nodes: 2"), files))
    assert spot(found).startswith("policy/clusters/west.yaml:")


@pytest.mark.parametrize(
    ("written", "remedy"),
    [
        ("5", "write 0.05"),
        ("50%", "write 0.5"),
        ("150", "write 1 for all of it, or less"),
        ("1.5", "write 1 for all of it, or less"),
    ],
)
def test_a_share_above_all_is_out_of_range(written: str, remedy: str) -> None:
    files = policy("policy/rules.yaml", ("stop_guard: 0.5", f"stop_guard: {written}"))
    found = only("number-out-of-range", findings(job(), files))
    assert (spot(found), found.help) == ("policy/rules.yaml:19:13", remedy)


@pytest.mark.parametrize("written", ["0", "1", "0.25", "1.0"])
def test_a_share_is_from_nothing_to_all(written: str) -> None:
    files = policy("policy/rules.yaml", ("stop_guard: 0.5", f"stop_guard: {written}"))
    assert [f.message for f in findings(job(), files)] == []


@pytest.mark.parametrize(
    ("written", "meant"), [("none", "off"), ("ignore", "off"), ("info", "notice"), ("wrn", "warn")]
)
def test_other_words_for_a_weight_are_known(written: str, meant: str) -> None:
    files = policy("policy/rules.yaml", ('"off"', written))
    found = only("unknown-choice", findings(job(), files))
    assert found.help.startswith(f"write {meant}")
