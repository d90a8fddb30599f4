"""Declarations as people write them: one finding a mistake, at its place, or none at all."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from compiler.check import check
from compiler.diagnostics import Finding
from compiler.project import Project
from compiler.repository import Repository

ROOT = Path(__file__).parent.parent
CARRIER = {
    "team": "nlp",
    "image": "llm-sft",
    "accelerators": "H100:8",
    "queue": "research",
    "max_duration": "24h",
    "checkpoint": "{claim: checkpoints, path: /ckpt, every: 30m}",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The example repository without its jobs."""
    root = tmp_path_factory.mktemp("rules") / "repository"
    for part in ("policy", "images", "base", "configs"):
        shutil.copytree(ROOT / part, root / part)
    (root / "jobs" / "nlp").mkdir(parents=True)
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "configs" / "big.txt").write_text("x" * 900_000)
    (root / "configs" / "huge.txt").write_text("x" * 5_000_000)
    (root / "configs" / "dos.sh").write_bytes(b"#!/bin/sh\r\necho\r\n")
    (root / "configs" / "dos.txt").write_bytes(b"one\r\ntwo\r\n")
    (root / "configs" / "out").symlink_to("/etc")
    return Project(Repository(root))


def findings(project: Project, text: str, name: str = "jobs/example.yaml") -> list[Finding]:
    path = project.repository.root / name
    path.write_text(text, "utf-8")
    try:
        return project.judge(path).findings
    finally:
        path.unlink()


def declaration(changes: str) -> str:
    """The carrier with lines put at its front; a line `-key` only takes the key out."""
    lines = changes.split("\n")
    gone = {line[1:] for line in lines if line.startswith("-") and ":" not in line}
    own = [line for line in lines if not (line.startswith("-") and ":" not in line)]
    named = gone | {line.partition(":")[0] for line in own if not line.startswith(" ")}
    return "\n".join([*own, *(f"{k}: {v}" for k, v in CARRIER.items() if k not in named), ""])


@pytest.mark.parametrize(
    "changes",
    [
        "description: on",
        "description: 2024-01-01",
        "env: {LR: 1e-5, N: 010, FLAG: on, EMPTY: ''}",
        'env: {A: "$(B)/x", B: "$(C)", C: "$$(A)"}',
        "command: torchrun train.py --learning_rate 1e-5",
        "command: torchrun 'a train.py'",
        "cpu: 0.5",
        "cpu: 500m\nmemory: 68719476736\nshm_size: 32Gi",
        "memory: 1600G",
        "max_duration: 1d12h",
        "image: registry.example.com/training/llm-sft@sha256:" + "0" * 64,
        "mounts: {/data: {claim: datasets, read_only: true, sub_path: a/b..c}}",
        "mounts: {/..data: {scratch: 1Gi}}",
        "files: {/etc/job/x.txt: configs/dos.txt}",
        "files: {/etc/job/big.txt: configs/big.txt}",
        "secrets: {HF_TOKEN: hf/token.v1}",
        "labels: {example.com/purpose: '', a: 'true'}",
        "topology: {preferred: rack}\nnum_nodes: 2",
        "cluster: [west]",
        "checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, from: {west: r12}}",
    ],
)
def test_right_declarations_are_left_alone(project: Project, changes: str) -> None:
    assert findings(project, declaration(changes)) == []


@pytest.mark.parametrize(
    ("changes", "rule", "line", "column"),
    [
        ("num_node: 4", "unknown-key", 1, 1),
        ("gpus: 8", "unknown-key", 1, 1),
        ("ttlSecondsAfterFinished: 5", "unknown-key", 1, 1),
        ("checkpoint: {claim: checkpoints, path: /ckpt, evry: 30m}", "unknown-key", 1, 47),
        ("cpu: {request: 4}", "missing-key", 1, 6),
        ("waive:\n  - {rule: RES403, until: 2030-01-01}", "missing-key", 2, 5),
        ("-image\n-team\nteam: nlp", "missing-key", 1, 1),
        ("num_nodes: '4'", "wrong-type", 1, 12),
        ("num_nodes: 2.0", "wrong-type", 1, 12),
        ("num_nodes: 1_000", "wrong-type", 1, 12),
        ("num_nodes: [4]", "wrong-type", 1, 12),
        ("host_network: yes", "wrong-type", 1, 15),
        ("expires: 2026-02-30", "wrong-type", 1, 10),
        ("env: [A, B]", "wrong-type", 1, 6),
        ("env: {A: {B: C}}", "wrong-type", 1, 10),
        ("args: {a: {b: c}}", "wrong-type", 1, 11),
        ("queue:", "empty-value", 1, 7),
        ("queue: ~", "empty-value", 1, 8),
        ("cluster: []", "empty-value", 1, 10),
        ("command: []", "empty-value", 1, 10),
        ("ports: {metrics: 70000}", "number-out-of-range", 1, 18),
        ("memory: 9Ei", "number-out-of-range", 1, 9),
        ("cpu: 0", "number-out-of-range", 1, 6),
        ("max_duration: 24", "bad-duration", 1, 15),
        ("max_duration: 1-00:00:00", "bad-duration", 1, 15),
        ("max_duration: 24 hours", "bad-duration", 1, 15),
        ("stop: {grace: 400d}", "bad-duration", 1, 15),
        ("mounts: {data: {scratch: 1Gi}}", "bad-path", 1, 10),
        ("mounts: {/data: {claim: datasets, sub_path: ../b}}", "bad-path", 1, 45),
        ("mounts: {/a/../b: {scratch: 1Gi}}", "bad-path", 1, 10),
        ('mounts: {"/a\\n/../b": {scratch: 1Gi}}', "bad-path", 1, 10),
        ('mounts: {"/a:ro": {scratch: 1Gi}}', "bad-path", 1, 10),
        ("files: {/etc/a: /etc/passwd}", "bad-path", 1, 17),
        ("files: {/etc/a: configs/../../a}", "bad-path", 1, 17),
        ("pull: sometimes", "unknown-choice", 1, 7),
        ("image: Registry/Name:Tag", "bad-image-reference", 1, 8),
        ("image: a/b@sha256:123", "bad-image-reference", 1, 8),
        ("checkpoint: {claim: checkpoints, from: r0}", "bad-run-reference", 1, 40),
        ("mounts:\n  /a: {}", "ambiguous-mount", 2, 3),
        ("mounts:\n  /a: {claim: datasets, scratch: 1Gi}", "ambiguous-mount", 2, 3),
        ("team: NLP", "unknown-team", 1, 7),
        ("queue: Research", "bad-name", 1, 8),
        ("env: {1A: b}", "bad-name", 1, 7),
        ("ports: {Metrics: 9400}", "bad-name", 1, 9),
        ("memory: 512m", "memory-in-milli", 1, 9),
        ("memory: 16gb", "bad-quantity", 1, 9),
        ("memory: 16 Gi", "bad-quantity", 1, 9),
        ("cpu: 0.0001", "bad-quantity", 1, 6),
        ("accelerators: H100:0.5", "fractional-accelerators", 1, 15),
        ("accelerators: H100:0", "fractional-accelerators", 1, 15),
        ("accelerators: {H100: 8}", "bad-accelerators", 1, 15),
        ("accelerators: 8", "bad-accelerators", 1, 15),
        ("accelerators: H100:all", "bad-accelerators", 1, 15),
        ("accelerators: B300:8", "unknown-accelerator", 1, 15),
        ("command: a | b", "bad-command", 1, 10),
        ("command: echo $HOME", "bad-command", 1, 10),
        ("command: echo 'a", "bad-command", 1, 10),
        ('env:\n  A: "$(B)"\n  B: "$(A)"', "circular-variables", 2, 6),
        ('env:\n  A: "x$(A)"', "circular-variables", 2, 6),
        ("env: {HF_TOKEN: x}\nsecrets: {HF_TOKEN: hf/token}", "variable-set-twice", 1, 7),
        ("files: {/etc/a: configs/none.txt}", "missing-file", 1, 17),
        ("files: {/etc/a: configs}", "missing-file", 1, 17),
        ("files: {/etc/a: configs/huge.txt}", "files-too-large", 1, 17),
        ("files: {/a: configs/big.txt, /b: configs/big.txt}", "files-too-large", 1, 1),
        ("files: {/etc/a: configs/out/passwd}", "link-out-of-repository", 1, 17),
        ("secrets: {HF_TOKEN: abc}", "bad-secret-reference", 1, 21),
        ("image: llm-stf", "unknown-image", 1, 8),
        ("topology: {required: floor}\nnum_nodes: 2", "unknown-topology", 1, 22),
        ("placement: [fast]", "unknown-placement", 1, 13),
        ("team: npl", "unknown-team", 1, 7),
        ("cluster: east", "unknown-cluster", 1, 10),
        ("cluster: [west, wset]", "unknown-cluster", 1, 17),
        ("master: {env: {A: b}}", "unsupported-by-backend", 1, 1),
    ],
)
def test_a_mistake_is_one_finding_at_its_place(
    project: Project, changes: str, rule: str, line: int, column: int
) -> None:
    found = [
        (finding.rule, finding.place.line, finding.place.column)
        for finding in findings(project, declaration(changes))
    ]
    assert found == [(rule, line, column)]


def test_a_script_with_carriage_returns_is_shown_in_the_script(project: Project) -> None:
    (found,) = findings(project, declaration("files: {/etc/job/x.sh: configs/dos.sh}"))
    assert found.rule == "script-with-carriage-returns"
    assert (found.place.path, found.place.line) == ("configs/dos.sh", 1)


def test_a_team_is_named_by_key_or_folder_but_not_by_both_differently(project: Project) -> None:
    text = declaration("-team")
    assert findings(project, text, "jobs/nlp/example.yaml") == []
    assert [f.rule for f in findings(project, text)] == ["missing-key"]
    (found,) = findings(project, declaration("team: vision"), "jobs/nlp/example.yaml")
    assert (found.rule, found.place.line, found.place.column) == ("team-and-folder-differ", 1, 7)


@pytest.mark.parametrize(
    ("name", "proposal"),
    [
        ("LLM", "llm.yaml"),
        ("1st", "job-1st.yaml"),
        ("a_b", "a-b.yaml"),
        ("train-r2", "train-v2.yaml"),
        ("a" * 41, "a" * 40 + ".yaml"),
        ("été", "ete.yaml"),
    ],
)
def test_a_job_that_cannot_be_an_object_is_given_a_name(
    project: Project, name: str, proposal: str
) -> None:
    (found,) = findings(project, declaration(""), f"jobs/{name}.yaml")
    assert found.rule == ("name-too-long-for-pods" if len(name) > 40 else "bad-name")
    assert found.help.endswith(proposal)


def test_files_that_nobody_reads_are_told(project: Project) -> None:
    root = project.repository.root
    made = [root / "jobs" / name for name in ("a.YAML", "nlp/b.yaml~", "c.json")]
    for path in made:
        path.write_text("team: nlp\n")
    (root / "jobs" / "d.yaml").symlink_to("/etc/hostname")
    try:
        found = project.repository.job_files()[1]
    finally:
        for path in (*made, root / "jobs" / "d.yaml"):
            path.unlink()
    assert [(f.rule, f.place.path) for f in found] == [
        ("not-a-declaration", "jobs/a.YAML"),
        ("not-a-declaration", "jobs/c.json"),
        ("link-out-of-repository", "jobs/d.yaml"),
        ("not-a-declaration", "jobs/nlp/b.yaml~"),
    ]


def test_a_cluster_without_a_base_is_told_once(tmp_path: Path) -> None:
    for part in ("jobs", "policy", "images", "base", "configs"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    shutil.rmtree(tmp_path / "base" / "job")
    found = check(Project(Repository(tmp_path)), processes=1).findings
    assert {finding.rule for finding in found} == {"missing-base"}
    # One cause in policy, whatever the number of jobs.
    assert len({finding.place for finding in found}) == 1
