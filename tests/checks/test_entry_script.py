"""The rule about scripts that an image's folder does not have."""

from __future__ import annotations

from pathlib import Path

import pytest
from declarations import TODAY, findings, job, only, repository, spot

from compiler.check import check_again
from compiler.repository import Repository

IMAGE = {
    "images/llm-sft/image.yaml": "entry: [torchrun, train.py]\nworkdir: /workspace\n",
    "images/llm-sft/train.py": "",
    "images/llm-sft/tools/convert.py": "",
    "images/llm-sft/sft/__init__.py": "",
    "images/llm-sft/sft/train.py": "",
    "images/llm-sft/start.sh": "",
}

ELSEWHERE = "pod: {spec: {containers: [{name: pytorch, workingDir: /x}]}}"


@pytest.mark.parametrize(
    "extra",
    [
        "",
        "command: [torchrun, train.py]",
        "command: [torchrun, ./train.py]",
        "command: [torchrun, /workspace/tools/convert.py]",
        "working_dir: /workspace/tools\ncommand: [torchrun, convert.py]",
        "command: [torchrun, -m, sft.train]",
        "command: [python, -m, torch.distributed.run, train.py]",
        "command: [bash, -c, 'exec torchrun train.py']",
        "command: [./start.sh]",
        "command: [bash, -eo, pipefail, start.sh]",
        "command: [sh, -c, ./start.sh]",
        "command: [torchrun, --no-python, program]",
        "command: [torchrun, tools]",
        # What is not the folder's.
        "command: [torchrun, /opt/other/train.py]",
        "working_dir: /elsewhere\ncommand: [torchrun, other.py]",
        "command: [torchrun, -m, axolotl.cli.train]",
        "command: [torchrun, /workspace/conf/other.py]\nmounts: {/workspace/conf: {claim: logs}}",
        "command: [torchrun, other.py]\nfiles: {/workspace/other.py: configs/nlp/llm-train.yaml}",
        "command: [bash, -c, 'git clone x .; torchrun other.py']",
        "command: [bash, -c, 'cd /data; torchrun other.py']",
        "command: [torchrun, $(SCRIPT)]\nenv: {SCRIPT: other.py}",
        "command: [some-program, other.py]",
        f"command: [torchrun, other.py]\n{ELSEWHERE}",
    ],
)
def test_scripts_that_are_there_or_elsewhere_are_left_alone(extra: str) -> None:
    assert [item.message for item in findings(job(extra), IMAGE)] == []


@pytest.mark.parametrize(
    ("extra", "place", "name", "remedy"),
    [
        ("command: [torchrun, trian.py]", "7:21", "trian.py", "write `train.py`"),
        ("command: [torchrun, --max_restarts=1, trian.py, -v]", "7:39", "trian.py", "write"),
        ("command: [torchrun, /workspace/tools/conv.py]", "7:21", "tools/conv.py", "write `tools"),
        (
            "working_dir: /workspace/tools\ncommand: [torchrun, train.py]",
            "8:21",
            "tools/train.py",
            "write",
        ),
        ("command: [torchrun, -m, sft.trian]", "7:25", "sft/trian.py", "write `sft/train.py`"),
        ("command: [torchrun, -m, sft]", "7:25", "sft/__main__.py", "write"),
        ("command: [bash, -c, 'exec torchrun trian.py']", "7:21", "trian.py", "write `train.py`"),
        ("command: [accelerate, launch, trian.py]", "7:31", "trian.py", "write `train.py`"),
        ("command: [./stort.sh]", "7:11", "stort.sh", "write `start.sh`"),
        ("command: [bash, stort.sh]", "7:17", "stort.sh", "write `start.sh`"),
        ("command: [bash, -eo, pipefail, stort.sh]", "7:32", "stort.sh", "write `start.sh`"),
        ("command: [torchrun, 1, true]", "7:21", "1", "write one of: "),
    ],
)
def test_a_script_that_is_not_there_is_an_error(
    extra: str, place: str, name: str, remedy: str
) -> None:
    item = only("missing-entry-script", findings(job(extra), IMAGE))
    assert item.severity == "error"
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert item.message == f"images/llm-sft/ has no {name}, which the run would start"
    assert item.help.startswith(remedy)


def test_the_image_s_own_entry_is_checked() -> None:
    files = {"images/llm-sft/image.yaml": "entry: [torchrun, trian.py]\nworkdir: /workspace\n"}
    item = only("missing-entry-script", findings(job(), files))
    assert spot(item) == "images/llm-sft/image.yaml:1:19"


def test_an_image_that_does_not_say_where_its_files_are_is_left_alone() -> None:
    assert findings(job("command: [torchrun, trian.py]")) == []


def test_a_script_that_is_removed_is_missed_by_the_next_check(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    root = repository(tmp_path / "repository", {"jobs/example.yaml": job(), **IMAGE})

    def found() -> list[str]:
        return [item.rule for item in check_again(Repository(root), at=TODAY).findings]

    assert found() == []
    (root / "images/llm-sft/train.py").unlink()
    assert found() == ["missing-entry-script"]


MOUNTED = "pod: {spec: {volumes: [{name: x, emptyDir: {}}], containers: [{name: pytorch, "


@pytest.mark.parametrize(
    ("extra", "place", "what"),
    [
        ("mounts: {/workspace: {claim: logs}}", "7:10", "has /workspace/train.py"),
        ("mounts: {/workspace/: {scratch: 1Gi}}", "7:10", "has /workspace/train.py"),
        (
            "command: [torchrun, train.py]\nmounts: {/workspace: {claim: logs}}",
            "8:10",
            "has /workspace/train.py",
        ),
        (
            "command: [torchrun, -m, sft.train]\nmounts: {/workspace/sft: {claim: logs}}",
            "8:10",
            "has /workspace/sft/train.py",
        ),
        (
            "command: [torchrun, tools/convert.py]\nmounts: {/workspace/tools: {claim: logs}}",
            "8:10",
            "has /workspace/tools/convert.py",
        ),
        (
            f"{MOUNTED}volumeMounts: [{{name: x, mountPath: /workspace}}]}}]}}}}",
            "7:94",
            "has /workspace/train.py",
        ),
    ],
)
def test_a_mount_over_what_the_image_starts_is_told(extra: str, place: str, what: str) -> None:
    item = only("mount-over-image-code", findings(job(extra), IMAGE))
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert what in item.message
    assert item.help.startswith("mount it at a path of its own")


def test_a_mount_over_the_folder_of_a_program_is_told() -> None:
    files = {**IMAGE, "images/llm-sft/image.yaml": "entry: [sft]\nworkdir: /workspace\n"}
    item = only(
        "mount-over-image-code", findings(job("mounts: {/workspace: {claim: logs}}"), files)
    )
    assert "the image `llm-sft` has its files there" in item.message
    (related,) = item.related
    assert (related.place.path, related.place.line) == ("images/llm-sft/image.yaml", 2)


def test_a_mount_over_the_folder_of_a_sidecar_is_told() -> None:
    text = job("sidecars: [{name: x, image: llm-sft, mounts: {/workspace: {claim: logs}}}]")
    item = only("mount-over-image-code", findings(text, IMAGE))
    assert spot(item) == "jobs/example.yaml:7:47"


def test_checkpoints_over_the_image_are_told_at_their_path() -> None:
    text = job(checkpoint="{claim: checkpoints, path: /workspace}")
    item = only("mount-over-image-code", findings(text, IMAGE))
    assert spot(item) == "jobs/example.yaml:6:40"


@pytest.mark.parametrize(
    "extra",
    [
        "mounts: {/workspace/data: {claim: logs}}",
        "mounts: {/work: {claim: logs}}",
        "files: {/workspace/train.py: configs/nlp/llm-train.yaml}",
        # The job's own program, from where it is mounted.
        "command: [torchrun, mine.py]\nmounts: {/workspace: {claim: logs}}",
        "command: [torchrun, /workspace/train.py]\nmounts: {/workspace/tools: {claim: logs}}",
        "sidecars: [{name: x, image: gpu-exporter, mounts: {/workspace: {claim: logs}}}]",
    ],
)
def test_mounts_beside_the_code_are_left_alone(extra: str) -> None:
    assert [item.message for item in findings(job(extra), IMAGE)] == []
