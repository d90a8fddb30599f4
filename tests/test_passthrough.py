"""`pod:`: what its fields mean, what is wrong with them, and what becomes of the template."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from compiler import passthrough
from compiler.diagnostics import Finding
from compiler.merge import merge
from compiler.model import mapping, scalar
from compiler.nodes import Mapping, Node, Scalar, Sequence
from compiler.passthrough import over, typed
from compiler.podproblems import problems
from compiler.project import Project
from compiler.repository import Repository
from compiler.results import JobResult
from compiler.source import decode
from compiler.tree import read
from tools import podschema

ROOT = Path(__file__).parents[1]
CARRIER = """\
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
"""
FIRST = CARRIER.count("\n") + 1  # the line that is added to the carrier first
MAIN = "pod:\n  spec:\n    containers:\n      - name: pytorch\n"
OURS: dict[str, Any] = {
    "spec": {
        "containers": [
            {
                "name": "pytorch",
                "image": "registry.example.com/a@sha256:0",
                "env": [
                    {"name": "A", "value": "1"},
                    {"name": "T", "valueFrom": {"secretKeyRef": {}}},
                ],
                "volumeMounts": [
                    {"name": "data", "mountPath": "/data", "readOnly": True, "subPath": "set"},
                    {"name": "shm", "mountPath": "/dev/shm"},
                ],
            }
        ],
        "volumes": [
            {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}},
        ],
    }
}


def tree(text: str) -> Mapping:
    source, findings = decode("jobs/a.yaml", text.encode())
    assert source is not None, findings
    node, findings = read(source)
    assert isinstance(node, Mapping), findings
    assert findings == []
    return node


def fragment(text: str) -> Mapping:
    """The fragment that stands in a file as it is, without `pod:` around it."""
    return tree(text)


def told(text: str, below: dict[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """The problems of a fragment: route, message, help."""
    reports = problems(fragment(text), (), OURS if below is None else below)
    return [(report.route, report.message, report.help) for report in reports]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The example repository, without its jobs."""
    root = tmp_path_factory.mktemp("repository")
    for name in ("policy", "images", "base", "configs"):
        shutil.copytree(ROOT / name, root / name)
    shutil.copy(ROOT / "pyproject.toml", root)
    west = root / "policy" / "clusters" / "west.yaml"
    text = west.read_text("utf-8")
    west.write_text(f"{text}node_local_paths: [/mnt/nvme/, /scratch]\n", "utf-8")
    (root / "jobs").mkdir()
    return Project(Repository(root))


def judged(project: Project, text: str) -> JobResult:
    path = project.repository.root / "jobs" / "example.yaml"
    path.write_text(text, "utf-8")
    return project.judge(path)


def findings(project: Project, added: str, carrier: str = CARRIER) -> list[Finding]:
    return judged(project, carrier + added).findings


def spots(found: list[Finding]) -> list[tuple[str, int | None, int | None]]:
    """Rule, line (counted from the first added one) and column of each finding."""
    lines = [f.place.line - FIRST + 1 if f.place.line is not None else None for f in found]
    return [(f.rule, line, f.place.column) for f, line in zip(found, lines, strict=True)]


def pods(project: Project, added: str, carrier: str = CARRIER) -> list[dict[str, Any]]:
    """The pod templates that a declaration becomes; it must be without findings."""
    result = judged(project, carrier + added)
    assert result.findings == []
    spec = result.runs[0].objects[0]["spec"]
    roles = spec.get("pytorchReplicaSpecs", {"Job": spec})
    return [role["template"] for role in roles.values()]


# The schema


def test_the_schema_is_what_the_client_makes() -> None:
    assert passthrough.SCHEMA.read_text("utf-8") == podschema.text()


def test_the_schema_is_a_schema() -> None:
    Draft202012Validator.check_schema(passthrough.schema())


def test_the_check_of_the_schema_notices_a_stale_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    stale = tmp_path / "podtemplate.json"
    stale.write_text(podschema.text().replace("Made by", "Made  by"), "utf-8")
    monkeypatch.setattr(podschema, "TARGET", stale)
    monkeypatch.setattr(sys, "argv", ["podschema", "--check"])
    assert podschema.main() == 1
    assert "stale" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["podschema"])
    assert podschema.main() == 0
    assert stale.read_text("utf-8") == podschema.text()


def test_a_client_without_a_listed_field_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(podschema, "PORTS", {*podschema.PORTS, ("Container", "haven")})
    with pytest.raises(ValueError, match="haven"):
        podschema.Tables().schema()


def test_a_pod_without_problems_needs_neither_jsonschema_nor_the_client() -> None:
    script = (
        "import sys, compiler.podtemplate, compiler.rules, compiler.passthrough;"
        "compiler.rules.registered();"
        "compiler.passthrough.violations({'spec': {'hostname': 'a', 'volumes': [{'name': 'a'}]}});"
        "print([m for m in ('jsonschema', 'kubernetes') if m in sys.modules])"
    )
    command = [sys.executable, "-c", script]
    run = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert (run.stdout, run.stderr) == ("[]\n", "")


# What fields mean


@pytest.mark.parametrize(
    "letters", ["1e-5", "on", "010", "true", "2024-01-01", "0x1F", "1_000", "5"]
)
@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("metadata: {{labels: {{a: {}}}}}", ("metadata", "labels", "a")),
        ("metadata: {{annotations: {{a: {}}}}}", ("metadata", "annotations", "a")),
        ("spec: {{nodeSelector: {{a: {}}}}}", ("spec", "nodeSelector", "a")),
        (
            "spec: {{containers: [{{name: pytorch, env: [{{name: A, value: {}}}]}}]}}",
            ("spec", "containers", 0, "env", 0, "value"),
        ),
        (
            "spec: {{containers: [{{name: pytorch, args: [--lr, {}]}}]}}",
            ("spec", "containers", 0, "args", 1),
        ),
        (
            "spec: {{tolerations: [{{key: a, operator: Equal, value: {}}}]}}",
            ("spec", "tolerations", 0, "value"),
        ),
    ],
)
def test_text_fields_keep_their_letters(
    text: str, route: tuple[str | int, ...], letters: str
) -> None:
    data = typed(fragment(text.format(letters)))
    for step in route:
        data = data[step]
    assert data == letters
    assert told(text.format(letters)) == []


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("spec: {priority: 5}", {"priority": 5}),
        ("spec: {priority: -5}", {"priority": -5}),
        ("spec: {hostPID: true}", {"hostPID": True}),
        ("spec: {hostPID: false}", {"hostPID": False}),
        ("spec: {priority: '5'}", {"priority": "5"}),
        ("spec: {priority: 05}", {"priority": "05"}),
        ("spec: {hostPID: 'true'}", {"hostPID": "true"}),
        ("spec: {hostPID: True}", {"hostPID": "True"}),
        ("spec: {hostPID: }", {"hostPID": None}),
        (
            "spec: {overhead: {cpu: 0.50, memory: 010}}",
            {"overhead": {"cpu": "0.50", "memory": "010"}},
        ),
    ],
)
def test_numbers_and_booleans_are_read_strictly(text: str, wanted: Any) -> None:
    data = typed(fragment(text))["spec"]
    assert data == wanted
    assert [type(value) for value in data.values()] == [type(value) for value in wanted.values()]


@pytest.mark.parametrize(
    ("letters", "wanted"), [("8080", 8080), ("http", "http"), ('"8080"', "8080")]
)
def test_an_int_or_string_field_is_a_number_where_it_is_a_plain_one(
    letters: str, wanted: Any
) -> None:
    probe = f"{{httpGet: {{port: {letters}}}}}"
    text = f"spec: {{containers: [{{name: pytorch, livenessProbe: {probe}}}]}}"
    data = typed(fragment(text))["spec"]["containers"][0]["livenessProbe"]["httpGet"]["port"]
    assert (data, type(data)) == (wanted, type(wanted))
    assert told(text) == []


# Problems

PROBLEMS = [
    ("spek: {}", ("spek",), "a pod template has no field `spek`", "write `spec`"),
    (
        "containers: []",
        ("containers",),
        "a pod template has no field `containers`",
        "write it under `spec:`",
    ),
    (
        "template: {spec: {}}",
        ("template",),
        "a pod template has no field `template`",
        "take `template:` out: `pod:` is the template itself",
    ),
    (
        "metadata: {name: x}",
        ("metadata", "name"),
        "`name` is not passed on: pods take labels and annotations from their template",
        "write one of: annotations, labels",
    ),
    (
        "spec: {image: x}",
        ("spec", "image"),
        "a pod spec has no field `image`",
        "write it under `containers:`",
    ),
    (
        "spec: {labels: {a: b}}",
        ("spec", "labels"),
        "a pod spec has no field `labels`",
        "write it under `pod:`, as metadata: {labels: ...}",
    ),
    (
        "spec: {host_network: true}",
        ("spec", "host_network"),
        "a pod spec has no field `host_network`",
        "write `hostNetwork`",
    ),
    (
        "spec: {hostNetwork: yes}",
        ("spec", "hostNetwork"),
        "`yes` is not true or false",
        "write true",
    ),
    (
        'spec: {priority: "5"}',
        ("spec", "priority"),
        '`"5"` is text, because it is quoted; a whole number is wanted',
        "write 5 without quotes",
    ),
    (
        "spec: {priority: 1.5}",
        ("spec", "priority"),
        "`1.5` is not a whole number",
        "write a whole number in plain decimal digits",
    ),
    (
        "spec: {priority: 9999999999999999999}",
        ("spec", "priority"),
        f"`9999999999999999999` is out of range: {-(2**63)} to {2**63 - 1} is possible",
        "write a whole number from -9223372036854775808 to 9223372036854775807",
    ),
    (
        "spec: {volumes: {a: b}}",
        ("spec", "volumes"),
        "a mapping stands where a list is wanted",
        "write a list",
    ),
    (
        "spec: {hostname: }",
        ("spec", "hostname"),
        "there is no value here, where text is wanted",
        'write the value, or `""` for an empty text, or leave the key out',
    ),
    (
        "spec: {volumes: [{name: a, emptyDir: }]}",
        ("spec", "volumes", 0, "emptyDir"),
        "there is no value here, where a mapping (key: value) is wanted",
        "write the value, or {} for an empty one, or leave the key out",
    ),
    (
        "spec: {volumes: [{name: a, hostPath: {}}]}",
        ("spec", "volumes", 0, "hostPath"),
        "a host path volume needs the field `path`",
        "add `path:` here",
    ),
    (
        "spec: {volumes: [{emptyDir: {}}]}",
        ("spec", "volumes", 0),
        "a volume needs the field `name`",
        "add `name:` here",
    ),
    (
        "spec: {containers: [{name: side}]}",
        ("spec", "containers", 0),
        "a container needs the field `image`",
        "add `image:` here",
    ),
    (
        "spec: {containers: [{name: side, imgae: x}]}",
        ("spec", "containers", 0, "imgae"),
        "a container has no field `imgae`",
        "write `image`",
    ),
    (
        "spec: {containers: [{name: pytorch, volumeMounts: [{mountPath: /new}]}]}",
        ("spec", "containers", 0, "volumeMounts", 0),
        "a volume mount needs the field `name`",
        "add `name:` here",
    ),
    (
        "spec: {containers: [{name: pytorch, imagePullPolicy: always}]}",
        ("spec", "containers", 0, "imagePullPolicy"),
        "`always` is not one of: Always, IfNotPresent, Never",
        "write Always",
    ),
    (
        "spec: {containers: [{name: pytorch, ports: [{containerPort: 70000}]}]}",
        ("spec", "containers", 0, "ports", 0, "containerPort"),
        "`70000` is out of range: 1 to 65535 is possible",
        "write a whole number from 1 to 65535",
    ),
    (
        "spec: {containers: [{name: pytorch, resources: {limits: {memory: 16gb}}}]}",
        ("spec", "containers", 0, "resources", "limits", "memory"),
        "`16gb`: `gb` is not a unit that Kubernetes knows",
        "write 16Gi (binary) or 16G (decimal)",
    ),
    (
        "spec: {containers: [{name: pytorch, resources: {limits: {memory: 512m}}}]}",
        ("spec", "containers", 0, "resources", "limits", "memory"),
        "`m` is a thousandth, so `512m` is 0.512 bytes",
        "write 512Mi (2^20 bytes) or 512M (10^6 bytes)",
    ),
    (
        "spec: {containers: [{name: pytorch, resources: {limits: {example.com/nic: 0.5}}}]}",
        ("spec", "containers", 0, "resources", "limits", "example.com/nic"),
        "`0.5` is a part of a device: `example.com/nic` is counted whole",
        "write 1",
    ),
    (
        'spec: {volumes: [{name: a, emptyDir: {sizeLimit: "8Gi\\n"}}]}',
        ("spec", "volumes", 0, "emptyDir", "sizeLimit"),
        '`"8Gi\n"`: no space can stand in a size',
        "write 8Gi (binary) or 8G (decimal)",
    ),
    (
        "spec: {volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]}",
        ("spec", "volumes", 1, "name"),
        "`a` is listed twice under `volumes`",
        "put what both say into one item",
    ),
    (
        "spec: {volumes: [{name: a, emptyDir: {}, hostPath: {path: /a}}]}",
        ("spec", "volumes", 0, "hostPath"),
        "`hostPath` and `emptyDir` exclude each other",
        "keep one of the two",
    ),
]


@pytest.mark.parametrize(
    ("text", "route", "message", "remedy"), PROBLEMS, ids=[case[0] for case in PROBLEMS]
)
def test_each_problem_is_told_once(
    text: str, route: tuple[str | int, ...], message: str, remedy: str
) -> None:
    assert told(text) == [(route, message, remedy)]


def test_what_the_template_has_need_not_be_said_again() -> None:
    assert told("spec: {containers: [{name: pytorch, workingDir: /a}]}") == []
    mount = "{mountPath: /data/, readOnly: false}"
    assert told(f"spec: {{containers: [{{name: pytorch, volumeMounts: [{mount}]}}]}}") == []
    assert told("spec: {volumes: [{name: data, persistentVolumeClaim: {readOnly: true}}]}") == []
    claim = "spec: {volumes: [{name: data, persistentVolumeClaim: {}}]}"
    assert told(claim) == []
    message = "a persistent volume claim needs the field `claimName`"
    assert message in [said for _, said, _ in told(claim, {"spec": {}})]


def test_several_missing_fields_are_each_told() -> None:
    told_of = told("spec: {volumes: [{name: a, nfs: {}}]}")
    assert [message for _, message, _ in told_of] == [
        "an NFS volume needs the field `path`",
        "an NFS volume needs the field `server`",
    ]


def test_a_problem_stands_at_its_line_and_column(project: Project) -> None:
    found = findings(project, MAIN + "        volumeMount: []\n        tty: yes\n")
    assert spots(found) == [("bad-pod-field", 5, 9), ("bad-pod-field", 6, 14)]
    found = findings(project, "pod:\n  spec:\n    volumes:\n      - emptyDir: {}\n")
    assert spots(found) == [("bad-pod-field", 4, 9)]


@pytest.mark.parametrize(
    ("value", "words"), [("5", "`5` stands here"), ("", "there is nothing here")]
)
def test_a_pod_that_is_no_mapping_is_a_finding(project: Project, value: str, words: str) -> None:
    found = findings(project, f"pod: {value}\n")
    assert spots(found) == [("bad-pod-field", 1, 6 if value else 5)]
    assert found[0].message.startswith(words)


def test_a_problem_in_the_defaults_of_a_team_stands_there(project: Project) -> None:
    team = project.repository.root / "policy" / "teams" / "nlp.yaml"
    text = team.read_text("utf-8")
    lines = text.count("\n")
    team.write_text(f"{text}  pod: {{spec: {{hostname: 5, prioriti: 5}}}}\n", "utf-8")
    try:
        found = findings(Project(Repository(project.repository.root)), "")
    finally:
        team.write_text(text, "utf-8")
    assert [f.rule for f in found] == ["bad-pod-field"]
    place = found[0].place
    assert (place.path, place.line, place.column) == ("policy/teams/nlp.yaml", lines + 1, 29)


def test_a_problem_of_the_first_node_alone_stands_there(project: Project) -> None:
    found = findings(project, "num_nodes: 2\nmaster:\n  pod: {spec: {hostIPC: 1}}\n")
    assert spots(found) == [("bad-pod-field", 3, 25)]


def test_a_problem_that_both_kinds_of_node_share_is_told_once(project: Project) -> None:
    found = findings(project, "num_nodes: 2\nmaster: {cpu: 8}\npod: {spec: {hostIPC: 1}}\n")
    assert spots(found) == [("bad-pod-field", 3, 23)]


# Rules

RULES = [
    ("pod: {ttlSecondsAfterFinished: 60}", ("job-field-in-pod", 1, 7)),
    ("pod: {spec: {backoff_limit: 3}}", ("job-field-in-pod", 1, 14)),
    ("pod: {spec: {suspend: true}}", ("job-field-in-pod", 1, 14)),
    ("pod: {runPolicy: {cleanPodPolicy: All}}", ("job-field-in-pod", 1, 7)),
    ("pod: {replicas: 2}", ("job-field-in-pod", 1, 7)),
    ("pod: {restartPolicy: Never}", ("job-field-in-pod", 1, 7)),
    ("pod: {spec: {restartPolicy: Never}}", ("pod-restart-policy", 1, 14)),
    (
        "pod: {spec: {initContainers: [{name: a, image: llm, restartPolicy: Always}]}}",
        None,
    ),
    ("pod: {spec: {activeDeadlineSeconds: 60}}", ("key-overridden-in-pod", 1, 14)),
    ("pod: {spec: {nodeSelector: {a: b}}}", ("node-selector-beside-queue", 1, 14)),
    ("pod: {spec: {tolerations: [{operator: Exists}]}}", ("node-selector-beside-queue", 1, 14)),
    ("pod: {spec: {tolerations: []}}", None),
    ("sidecars: [{name: pytorch, image: llm-sft}]", ("second-training-container", 1, 19)),
    ("init: [{name: pytorch, image: llm-sft}]", ("second-training-container", 1, 15)),
    (
        "pod: {spec: {initContainers: [{name: pytorch, image: llm}]}}",
        ("second-training-container", 1, 38),
    ),
    ("pod: {spec: {containers: [{name: pytorch, tty: true}]}}", None),
    ("sidecars: [{name: pytorch2, image: llm-sft}]", None),
    ("pod: {spec: {volumes: [{name: a, hostPath: {path: /etc}}]}}", ("host-path", 1, 51)),
    ("pod: {spec: {volumes: [{name: a, hostPath: {path: /mnt/nvme}}]}}", None),
    ("pod: {spec: {volumes: [{name: a, hostPath: {path: /mnt/nvme/x}}]}}", None),
    ("pod: {spec: {volumes: [{name: a, hostPath: {path: /mnt/nvme2}}]}}", ("host-path", 1, 51)),
    (
        "pod: {spec: {volumes: [{name: a, hostPath: {path: /scratch/../etc}}]}}",
        ("host-path", 1, 51),
    ),
    ("pod: {spec: {volumes: [{name: a, hostPath: {path: /}}]}}", ("host-path", 1, 51)),
]


@pytest.mark.parametrize(("added", "spot"), RULES, ids=[case[0] for case in RULES])
def test_rules_about_pod(
    project: Project, added: str, spot: tuple[str, int | None, int | None] | None
) -> None:
    mine = {"job-field-in-pod", "pod-restart-policy", "node-selector-beside-queue"}
    mine |= {"key-overridden-in-pod", "field-set-by-cluster"}
    mine |= {"second-training-container", "host-path", "bad-pod-field"}
    found = [f for f in findings(project, added + "\n") if f.rule in mine]
    assert spots(found) == ([] if spot is None else [spot])


def test_nodes_may_be_selected_where_no_queue_admits(project: Project) -> None:
    text = (
        "team: vision\nimage: vit-rocm\naccelerators: MI300X:8\ncluster: east\nmax_duration: 1d\n"
    )
    text += "command: [torchrun, train.py]\npod: {spec: {nodeSelector: {a: b}}}\n"
    rules = {f.rule for f in judged(project, text).findings}
    assert "node-selector-beside-queue" not in rules


def resources(requests: str, limits: str) -> str:
    parts = [f"{k}: {{{v}}}" for k, v in (("requests", requests), ("limits", limits)) if v]
    return f"{MAIN}        resources: {{{', '.join(parts)}}}\n"


@pytest.mark.parametrize(
    ("requests", "limits", "spot"),
    [
        ("rdma/roce: 1", "", ("unequal-device-requests", 5, 43)),
        ("rdma/roce: 1", "rdma/roce: 2", ("unequal-device-requests", 5, 67)),
        ("rdma/roce: 1", "rdma/roce: '1'", None),
        ("rdma/roce: 1", "rdma/roce: 1000m", None),
        ("", "rdma/roce: 1", None),
        ("cpu: 1", "cpu: 2", None),
        ("hugepages-2Mi: 1Gi", "hugepages-2Mi: 2Gi", ("unequal-device-requests", 5, 77)),
        ("", "nvidia.com/gpu: 4", ("unequal-device-requests", 5, 46)),
        ("nvidia.com/gpu: 4", "", ("unequal-device-requests", 5, 48)),
        ("nvidia.com/gpu: 8", "nvidia.com/gpu: 8", None),
        ("nvidia.com/gpu: 4", "nvidia.com/gpu: 4", ("accelerators-in-pod", 5, 77)),
        (
            "nvidia.com/mig-1g.10gb: 1",
            "nvidia.com/mig-1g.10gb: 1",
            ("accelerators-in-pod", 5, 93),
        ),
    ],
)
def test_devices_are_requested_as_they_are_limited(
    project: Project, requests: str, limits: str, spot: tuple[str, int, int] | None
) -> None:
    rules = (
        "unequal-device-requests",
        "accelerators-in-pod",
        "request-above-limit",
        "bad-pod-field",
    )
    found = [f for f in findings(project, resources(requests, limits)) if f.rule in rules]
    assert spots(found) == ([] if spot is None else [spot])


def test_accelerators_of_another_container_are_a_finding(project: Project) -> None:
    resources = "{limits: {nvidia.com/gpu: 1}}"
    text = f"pod: {{spec: {{containers: [{{name: b, image: i, resources: {resources}}}]}}}}\n"
    found = [f for f in findings(project, text) if f.rule == "accelerators-in-pod"]
    assert spots(found) == [("accelerators-in-pod", 1, 84)]


def test_unequal_numbers_name_the_field_that_set_the_other(project: Project) -> None:
    found = findings(project, resources("", "nvidia.com/gpu: 4"))
    [finding] = [f for f in found if f.rule == "unequal-device-requests"]
    assert finding.help == "take it out here: `accelerators` sets both"
    assert [related.place.line for related in finding.related] == [3]


@pytest.mark.parametrize(
    ("ports", "spot"),
    [
        ("[{containerPort: 9400}]", ("unnamed-port", 6, 33)),
        ("[{containerPort: 9400, name: metrics}]", None),
        ("[{containerPort: 23456, hostIP: 0.0.0.0, name: pytorchjob-port}]", None),
        ("[{containerPort: 23456, name: other}]", ("conflicting-ports", 6, 46)),
        ("[{containerPort: 23456, protocol: UDP, name: u}]", ("unnamed-port", 6, 33)),
        (
            "[{containerPort: 53, name: a}, {containerPort: 53, name: b, protocol: UDP}]",
            ("unnamed-port", 6, 63),
        ),
    ],
)
def test_ports_of_the_training_container_have_names(
    project: Project, ports: str, spot: tuple[str, int, int] | None
) -> None:
    found = findings(project, f"num_nodes: 2\n{MAIN}        ports: {ports}\n")
    found = [f for f in found if f.rule in ("unnamed-port", "conflicting-ports", "bad-pod-field")]
    assert spots(found) == ([] if spot is None else [spot])


def test_a_port_named_by_the_declaration_has_a_name(project: Project) -> None:
    text = (
        f"num_nodes: 2\nports: {{metrics: 9400}}\n{MAIN}        ports: [{{containerPort: 9400}}]\n"
    )
    assert "unnamed-port" not in {f.rule for f in findings(project, text)}


def test_ports_of_a_plain_job_need_no_names(project: Project) -> None:
    assert findings(project, f"{MAIN}        ports: [{{containerPort: 9400}}]\n") == []


PROBE = "        readinessProbe: {tcpSocket: {port: 8080}}\n"


@pytest.mark.parametrize(
    ("text", "spot"),
    [
        (f"num_nodes: 2\n{MAIN}{PROBE}", ("master-readiness-probe", 6, 9)),
        (
            f"num_nodes: 2\n{MAIN}{PROBE.replace('readiness', 'startup')}",
            ("master-readiness-probe", 6, 9),
        ),
        (f"num_nodes: 2\n{MAIN}{PROBE.replace('readiness', 'liveness')}", None),
        (f"num_nodes: {{min: 1, max: 2}}\n{MAIN}{PROBE}", ("master-readiness-probe", 6, 9)),
        (f"{MAIN}{PROBE}", None),
        (f"num_nodes: 2\n{MAIN.replace('pytorch', 'side')}        image: i\n{PROBE}", None),
    ],
)
def test_the_awaited_node_has_no_readiness_probe(
    project: Project, text: str, spot: tuple[str, int, int] | None
) -> None:
    found = [f for f in findings(project, text) if f.rule == "master-readiness-probe"]
    assert spots(found) == ([] if spot is None else [spot])


# The merge


def spec_over(text: str) -> dict[str, Any]:
    return over(fragment(text), OURS)["spec"]


def test_a_mount_on_dev_shm_replaces_ours_and_its_volume() -> None:
    for path in ("/dev/shm", "/dev/shm/", "//dev//shm"):
        spec = spec_over(
            "spec: {volumes: [{name: big, emptyDir: {medium: Memory}}], containers: "
            f"[{{name: pytorch, volumeMounts: [{{name: big, mountPath: {path}}}]}}]}}"
        )
        mounts = spec["containers"][0]["volumeMounts"]
        assert [m for m in mounts if "shm" in m["mountPath"]] == [
            {"name": "big", "mountPath": path}
        ]
        assert [volume["name"] for volume in spec["volumes"]] == ["big", "data"]


def test_a_volume_that_the_fragment_lists_stays_without_a_mount() -> None:
    spec = spec_over("spec: {volumes: [{name: spare, emptyDir: {}}]}")
    assert [volume["name"] for volume in spec["volumes"]] == ["spare", "data", "shm"]


def test_our_shared_memory_can_be_made_larger() -> None:
    spec = spec_over("spec: {volumes: [{name: shm, emptyDir: {sizeLimit: 64Gi}}]}")
    assert spec["volumes"][0] == {
        "name": "shm",
        "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"},
    }


def test_another_source_replaces_that_of_a_volume() -> None:
    spec = spec_over("spec: {volumes: [{name: data, emptyDir: {}}]}")
    assert spec["volumes"][0] == {"name": "data", "emptyDir": {}}


def test_another_volume_at_a_path_takes_nothing_over_from_the_first() -> None:
    spec = spec_over(
        "spec: {volumes: [{name: x, emptyDir: {}}], containers: "
        "[{name: pytorch, volumeMounts: [{name: x, mountPath: /data}]}]}"
    )
    assert spec["containers"][0]["volumeMounts"][0] == {"name": "x", "mountPath": "/data"}
    same = spec_over(
        "spec: {containers: [{name: pytorch, volumeMounts: [{mountPath: /data, readOnly: false}]}]}"
    )
    assert same["containers"][0]["volumeMounts"][0] == {
        "name": "data",
        "mountPath": "/data",
        "readOnly": False,
        "subPath": "set",
    }


def test_a_text_replaces_the_secret_of_a_variable_and_back() -> None:
    spec = spec_over("spec: {containers: [{name: pytorch, env: [{name: T, value: x}]}]}")
    assert spec["containers"][0]["env"] == [
        {"name": "A", "value": "1"},
        {"name": "T", "value": "x"},
    ]
    source = {"fieldRef": {"fieldPath": "status.podIP"}}
    assert merge([{"name": "A", "valueFrom": source}], [{"name": "A", "value": "1"}], "env") == [
        {"name": "A", "valueFrom": source}
    ]


def test_the_training_container_stays_first() -> None:
    spec = spec_over("spec: {containers: [{name: b, image: i}, {name: pytorch, tty: true}]}")
    assert [container["name"] for container in spec["containers"]] == ["pytorch", "b"]
    assert spec["containers"][0]["tty"] is True
    spec = spec_over("spec: {containers: [{name: b, image: i}]}")
    assert [container["name"] for container in spec["containers"]] == ["pytorch", "b"]


def test_the_merge_changes_neither_side() -> None:
    before = json.dumps(OURS)
    pod = fragment(
        "spec: {containers: [{name: b, image: i}], volumes: [{name: shm, emptyDir: {}}]}"
    )
    again = typed(pod)
    over(pod, OURS)
    assert (json.dumps(OURS), typed(pod)) == (before, again)


def test_a_fragment_reaches_every_template(project: Project) -> None:
    added = "num_nodes: 2\n" + MAIN + "        env: [{name: LR, value: 1e-5}]\n"
    added += "  metadata: {annotations: {a: on}}\n"
    templates = pods(project, added)
    assert len(templates) == 2
    for made in templates:
        env = made["spec"]["containers"][0]["env"]
        assert {"name": "LR", "value": "1e-5"} in env
        assert made["metadata"]["annotations"]["a"] == "on"


def test_shared_memory_of_the_fragment_is_the_only_one_in_the_object(project: Project) -> None:
    added = (
        "pod:\n  spec:\n    volumes: [{name: big, hostPath: {path: /mnt/nvme/shm}}]\n"
        "    containers: [{name: pytorch, volumeMounts: [{name: big, mountPath: /dev/shm/}]}]\n"
    )
    [made] = pods(project, added)
    mounts = made["spec"]["containers"][0]["volumeMounts"]
    assert [m["name"] for m in mounts if m["mountPath"].rstrip("/") == "/dev/shm"] == ["big"]
    assert "shm" not in {volume["name"] for volume in made["spec"]["volumes"]}


# Any input

FIELDS = sorted(
    {name for part in passthrough.schema()["$defs"].values() for name in part.get("properties", {})}
)
KEYS = st.one_of(st.sampled_from(FIELDS), st.text(max_size=4))
WORDS = st.one_of(
    st.sampled_from(
        ["", "~", "null", "true", "1", "-1", "1e-5", "9" * 30, "8Gi", "1.5", "pytorch"]
    ),
    st.text(max_size=8),
)


@st.composite
def scalars(draw: st.DrawFn) -> Scalar:
    node = scalar(draw(WORDS), path="jobs/a.yaml")
    node.style = draw(st.sampled_from(["", '"', "'", "|"]))
    return node


def listed(children: list[Node]) -> Sequence:
    node = Sequence(children)
    node.flow, node.path = False, "jobs/a.yaml"
    node.line = node.column = node.end_line = node.end_column = 1
    return node


def mapped(children: dict[str, Node]) -> Mapping:
    entries = {scalar(key, path="jobs/a.yaml"): value for key, value in children.items()}
    return mapping(entries, path="jobs/a.yaml")


TREES: st.SearchStrategy[Node] = st.recursive(
    scalars(),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(listed),
        st.dictionaries(KEYS, inner, max_size=4).map(mapped),
    ),
    max_leaves=12,
)


def grown(part: dict[str, Any], depth: int) -> st.SearchStrategy[Node]:
    """Trees that follow the schema most of the way, so that deep fields are reached."""
    part = passthrough.resolved(part)
    if depth == 0:
        return scalars()
    if "properties" in part:
        names = sorted(part["properties"])
        entry = st.sampled_from(names).flatmap(
            lambda name: st.tuples(st.just(name), grown(part["properties"][name], depth - 1))
        )
        own: st.SearchStrategy[Node] = st.lists(entry, max_size=3).map(lambda e: mapped(dict(e)))
    elif "items" in part:
        own = st.lists(grown(part["items"], depth - 1), max_size=3).map(listed)
    elif isinstance(part.get("additionalProperties"), dict):
        own = st.dictionaries(KEYS, grown(part["additionalProperties"], depth - 1), max_size=2).map(
            mapped
        )
    else:
        own = scalars()
    return st.one_of(own, own, own, TREES)


VALIDATOR = Draft202012Validator(passthrough.schema())
PODS = st.one_of(TREES, grown({"$ref": "#/$defs/PodTemplateSpec"}, 7))


@settings(max_examples=300, deadline=None)
@given(PODS)
def test_no_tree_breaks_the_conversion_the_merge_or_the_check(pod: Node) -> None:
    data = typed(pod)
    json.dumps(data)
    refused = bool(passthrough.violations(data))
    # The quick answer and the library's are one.
    assert VALIDATOR.is_valid(data) == passthrough.fits(data, passthrough.schema()) != refused
    reports = list(problems(pod, ("pod",), OURS))
    assert all(report.message and report.help for report in reports)
    if isinstance(pod, Mapping):
        over(pod, OURS)
    if refused and not isinstance(pod, Mapping):
        assert reports


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.sampled_from(["", '"', "'", "|"]))
def test_any_text_in_a_text_field_survives(text: str, style: str) -> None:
    node = scalar(text, path="jobs/a.yaml")
    node.style = style
    if node.empty:
        node.style = '"'
    variable = mapped({"name": scalar("A"), "value": node})
    container = mapped(
        {"name": scalar("pytorch"), "env": listed([variable]), "args": listed([node])}
    )
    pod = mapped(
        {
            "metadata": mapped({"annotations": mapped({text: node})}),
            "spec": mapped({"containers": listed([container])}),
        }
    )
    assert list(problems(pod, (), OURS)) == []
    merged = over(pod, OURS)
    main = merged["spec"]["containers"][0]
    assert {"name": "A", "value": text} in main["env"]
    assert main["args"] == [text]
    assert merged["metadata"]["annotations"] == {text: text}


def test_checks_meet_any_shape_of_pod(project: Project) -> None:
    shapes = ["[]", "{spec: []}", "{spec: {containers: {}}}", "{spec: {containers: [a, [b], {}]}}"]
    shapes += [
        "{spec: {volumes: [{hostPath: []}], initContainers: 5}}",
        "{spec: {nodeSelector: x}}",
    ]
    shapes += ["{spec: {containers: [{name: pytorch, ports: {a: b}, resources: [x]}]}}"]
    shapes += ["{spec: {containers: [{name: [pytorch], ports: [5, {containerPort: []}]}]}}"]
    shapes += ["{spec: {containers: [{name: pytorch, resources: {limits: x, requests: [y]}}]}}"]
    for shape in shapes:
        for nodes in ("", "num_nodes: 2\n"):
            found = findings(project, f"{nodes}pod: {shape}\n")
            assert "bad-pod-field" in {f.rule for f in found}, shape
