"""Rules about claims, mounts and checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from declarations import TODAY, findings, job, only, policy, repository, spot

from compiler.project import Project
from compiler.repository import Repository

WEST = "policy/clusters/west.yaml"
RAW = "  raw: {access: ReadWriteOnce, "
VOLUME = "pod:\n  spec:\n    volumes:\n      - name: extra\n        persistentVolumeClaim: "

REPORTED = {
    "a misspelt claim": (
        job("mounts: {/data: {claim: dataset, read_only: true}}"),
        "unknown-claim",
        "7:25",
        "the cluster west has no claim `dataset`",
        "write `datasets`",
    ),
    "a misspelt claim for checkpoints": (
        job(checkpoint="{claim: checkpoint, path: /ckpt, every: 30m}"),
        "unknown-claim",
        "6:21",
        "has no claim `checkpoint`",
        "write `checkpoints`",
    ),
    "a misspelt claim in a sidecar": (
        job(
            "sidecars:\n  - name: exporter\n    image: gpu-exporter\n"
            "    mounts: {/logs: {claim: lgos}}"
        ),
        "unknown-claim",
        "10:29",
        "has no claim `lgos`",
        "write `logs`",
    ),
    "a misspelt claim under pod:": (
        job(f"{VOLUME}{{claimName: lgos}}"),
        "unknown-claim",
        "11:44",
        "has no claim `lgos`",
        "write `logs`",
    ),
    "a read-only claim mounted for writing": (
        job("mounts: {/data: {claim: datasets}}"),
        "read-only-claim-written",
        "7:25",
        "the claim `datasets` can only be read, and is mounted for writing",
        "add `read_only: true`",
    ),
    "a read-only claim for checkpoints": (
        job(checkpoint="{claim: models, path: /ckpt, every: 30m}"),
        "read-only-claim-written",
        "6:21",
        "checkpoints cannot be written to `models`, which is read-only",
        "write a claim that can be written: checkpoints, logs",
    ),
    "a claim for one node on two": (
        job("num_nodes: 2\nmounts: {/raw: {claim: raw}}"),
        "single-node-claim",
        "8:24",
        "2 nodes would mount `raw`, which is ReadWriteOnce",
        "take a claim with ReadWriteMany (checkpoints, logs)",
    ),
    "a claim for one node on an elastic run": (
        job("num_nodes: {min: 1, max: 4}\nmounts: {/raw: {claim: raw, read_only: true}}"),
        "single-node-claim",
        "8:24",
        "4 nodes would mount `raw`",
        "take a claim with ReadWriteMany",
    ),
    "a claim for one node under pod:": (
        job(f"num_nodes: 3\n{VOLUME}{{claimName: raw}}"),
        "single-node-claim",
        "12:44",
        "3 nodes would mount `raw`",
        "take a claim with ReadWriteMany",
    ),
    "one path in two spellings": (
        job("mounts:\n  /logs: {claim: logs}\n  /logs/: {claim: checkpoints}"),
        "overlapping-mounts",
        "9:3",
        "/logs is taken: the claim `logs` is there already",
        "mount one of the two at another path",
    ),
    "a file where a claim is": (
        job("mounts: {/etc/train: {claim: logs}}\nfiles: {/etc/train: configs/nlp/llm-train.yaml}"),
        "overlapping-mounts",
        "8:9",
        "/etc/train is taken: the claim `logs` is there already",
        "mount one of the two at another path",
    ),
    "checkpoints where another claim is": (
        job("mounts: {/ckpt: {claim: logs}}"),
        "overlapping-mounts",
        "6:40",
        "checkpoints go to the claim `checkpoints` at /ckpt, where the claim `logs` is mounted",
        "give them a path of their own",
    ),
    "checkpoints inside another claim": (
        job(
            "mounts: {/data: {claim: datasets, read_only: true}}",
            checkpoint="{claim: checkpoints, path: /data/ckpt, every: 30m}",
        ),
        "overlapping-mounts",
        "6:40",
        "the checkpoints' path /data/ckpt is inside /data, where the claim `datasets` is mounted",
        "give them a path of their own",
    ),
    "checkpoints on scratch space": (
        job("mounts: {/tmp: {scratch: 10Gi}}", checkpoint="{path: /tmp/ckpt, every: 30m}"),
        "overlapping-mounts",
        "6:20",
        "checkpoints at /tmp/ckpt would be written to scratch space, which cannot keep them",
        "add `claim:` to the checkpoint",
    ),
    "checkpoints that an image needs, on no volume": (
        job(checkpoint="{path: /ckpt}"),
        "checkpoint-on-no-volume",
        "6:20",
        "no volume is mounted at /ckpt, so the checkpoints go with the pod: the image `llm-sft`",
        "add `claim: checkpoints` to the checkpoint",
    ),
    "checkpoints for a retry, beside a mount": (
        job(
            "mounts: {/ckpts: {claim: logs}}\nretry: {max: 3}",
            image="ddp-mini",
            checkpoint="{path: /ckpt}",
        ),
        "checkpoint-on-no-volume",
        "6:20",
        "no volume is mounted at /ckpt, so the checkpoints go with the pod: a retry begins",
        "add `claim: checkpoints` to the checkpoint",
    ),
    "checkpoints of an elastic run, mounted in a sidecar alone": (
        job(
            "num_nodes: {min: 1, max: 2}\nsidecars:\n  - name: exporter\n"
            "    image: gpu-exporter\n    mounts: {/ckpt: {claim: checkpoints}}",
            checkpoint="{path: /ckpt}",
        ),
        "checkpoint-on-no-volume",
        "6:20",
        "a new node finds none of them",
        "add `claim: checkpoints` to the checkpoint",
    ),
    "checkpoints on a volume of pod: that goes with it": (
        job(
            "pod:\n  spec:\n    volumes: [{name: extra, emptyDir: {}}]\n    containers:\n"
            "      - name: pytorch\n        volumeMounts: [{name: extra, mountPath: /ckpt/}]",
            checkpoint="{path: /ckpt/here}",
        ),
        "checkpoint-on-no-volume",
        "6:20",
        "the checkpoints at /ckpt/here are lost with the pod's `emptyDir`",
        "add `claim: checkpoints` to the checkpoint",
    ),
    "a volume of pod: at a mount's path": (
        job(
            "mounts: {/logs: {claim: logs}}\n"
            f"{VOLUME}{{claimName: checkpoints}}\n"
            "    containers:\n      - name: pytorch\n"
            "        volumeMounts: [{name: extra, mountPath: /logs}]"
        ),
        "overlapping-mounts",
        "15:24",
        "/logs is taken: the claim `logs` is there already",
        "mount one of the two at another path",
    ),
}
CLEAN = {
    "a claim for one node on one": job("mounts: {/raw: {claim: raw}}"),
    "a claim for one node on the first of two": job(
        "num_nodes: 2\nmaster: {mounts: {/raw: {claim: raw}}}"
    ),
    "a shared claim on two": job("num_nodes: 2\nmounts: {/logs: {claim: logs}}"),
    "a read-only claim that is only read, on two": job(
        "num_nodes: 2\nmounts: {/data: {claim: datasets, read_only: true}}"
    ),
    "checkpoints whose claim is mounted there anyway": job("mounts: {/ckpt: {claim: checkpoints}}"),
    "checkpoints inside a mount of their own claim": job(
        "mounts: {/out: {claim: checkpoints}}", checkpoint="{path: /out/ckpt, every: 30m}"
    ),
    "checkpoints at the mount of a claim": job(
        "mounts: {/ckpt: {claim: checkpoints}}\nretry: {max: 3}", checkpoint="{path: /ckpt}"
    ),
    "checkpoints on a claim of pod:": job(
        f"{VOLUME}{{claimName: checkpoints}}\n    containers:\n      - name: pytorch\n"
        "        volumeMounts: [{name: extra, mountPath: /ckpt}]",
        checkpoint="{path: /ckpt}",
    ),
    "checkpoints that nobody looks for": job(image="ddp-mini", checkpoint="{path: /ckpt}"),
    "one path in two containers": job(
        "mounts: {/logs: {claim: logs}}\n"
        "sidecars: [{name: exporter, image: gpu-exporter, mounts: {/logs: {claim: logs}}}]"
    ),
    "a mount for shared memory": job("mounts: {/dev/shm: {scratch: 10Gi}}"),
}


@pytest.mark.parametrize("case", REPORTED)
def test_reports(case: str) -> None:
    text, rule, place, message, remedy = REPORTED[case]
    item = only(rule, findings(text))
    assert message in item.message
    assert item.help.startswith(remedy)
    assert spot(item) == f"jobs/example.yaml:{place}"


@pytest.mark.parametrize("case", CLEAN)
def test_leaves_alone(case: str) -> None:
    assert [f"{item.rule}: {item.message}" for item in findings(CLEAN[case])] == []


def test_the_claim_of_one_node_is_shown_in_policy() -> None:
    item = only("single-node-claim", findings(job("num_nodes: 2\nmounts: {/raw: {claim: raw}}")))
    (related,) = item.related
    assert (related.place.path, related.message) == (WEST, "the claim")
    line = (policy(WEST)[WEST]).splitlines()[(related.place.line or 0) - 1]
    assert line.startswith(RAW)


def test_a_claim_for_one_pod_may_be_mounted_by_one() -> None:
    files = policy(WEST, (RAW, "  raw: {access: ReadWriteOncePod, "))
    assert findings(job("mounts: {/raw: {claim: raw}}"), files) == []
    item = only(
        "single-node-claim", findings(job("num_nodes: 2\nmounts: {/raw: {claim: raw}}"), files)
    )
    assert "ReadWriteOncePod" in item.message


def test_a_cluster_without_claims_is_not_asked() -> None:
    start, _, rest = policy(WEST)[WEST].partition("\nclaims:")
    files = {WEST: start + "\n\nregistries:" + rest.partition("\nregistries:")[2]}
    assert findings(job("mounts: {/x: {claim: anything}}"), files) == []


def test_a_team_mounts_only_the_claims_on_its_list() -> None:
    text = job(
        "mounts: {/models: {claim: models, read_only: true}}", team="speech", image="tts",
        accelerators="A100-80GB:8", command="[torchrun, -m, tts.train]", cluster="west",
    )  # fmt: skip
    item = only("claim-not-allowed", findings(text))
    assert spot(item) == "jobs/example.yaml:9:27"
    assert item.message == "the team speech may not mount the claim `models`"
    assert [related.place.path for related in item.related] == ["policy/teams/speech.yaml"]


def shared_memory(root: Path, text: str) -> tuple[list[str], list[dict[str, Any]]]:
    """What is mounted at /dev/shm in the training container, and the volumes in memory."""
    (result,) = Project(
        Repository(repository(root, {"jobs/example.yaml": text})), at=TODAY
    ).results()
    spec = result.runs[0].objects[0]["spec"]["template"]["spec"]
    mounts = spec["containers"][0].get("volumeMounts", [])
    at = [mount["name"] for mount in mounts if mount["mountPath"] == "/dev/shm"]
    volumes = [v["emptyDir"] for v in spec.get("volumes", []) if "emptyDir" in v]
    return at, [volume for volume in volumes if volume.get("medium") == "Memory"]


@pytest.mark.parametrize(
    ("extra", "at", "sizes"),
    [
        ("", ["shm"], ["128Gi"]),
        ("shm_size: 10Gi", ["shm"], ["10Gi"]),
        ("shm_size: 0", [], []),
        ("mounts: {/dev/shm: {scratch: 10Gi}}", ["scratch-dev-shm"], []),
    ],
)
def test_shared_memory_has_a_size_and_gives_way(
    tmp_path: Path, extra: str, at: list[str], sizes: list[str]
) -> None:
    mounted, volumes = shared_memory(tmp_path, job(extra))
    assert mounted == at
    assert [volume["sizeLimit"] for volume in volumes] == sizes
