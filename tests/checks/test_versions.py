"""Rules about versions: of a cluster, and of an image's torch."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from declarations import findings, job, of, only, policy, spot

from compiler.torchbuild import Torch, torch_of

WEST = "policy/clusters/west.yaml"
EAST = "policy/clusters/east.yaml"
IMAGE = "images/llm-sft/image.yaml"


def image(torch: str) -> dict[str, str]:
    return {IMAGE: f"entry: [torchrun, train.py]\ntorch: {torch}\n"}


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("kubernetes: 1.33.4", "kubernetes: v1.29.14", 4, "Kubernetes v1.29.14 is older than 1.30"),
        ("kueue: 0.17.0", "kueue: 0.14.8", 6, "Kueue 0.14.8 is older than 0.15"),
        (
            "training_operator: 1.9.4",
            "training_operator: 1.6.0",
            5,
            "the training operator 1.6.0 is older than 1.7",
        ),
    ],
)
def test_a_version_that_is_too_old_is_an_error(old: str, new: str, line: int, message: str) -> None:
    item = only("unsupported-version", findings(job(), policy(WEST, (old, new))))
    assert item.severity == "error"
    assert (item.place.path, item.place.line) == (WEST, line)
    assert item.message.startswith(message)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kubernetes: 1.33.4", "kubernetes: 1.30.0"),
        ("kubernetes: 1.33.4", "kubernetes: 1.100.2"),
        ("kueue: 0.17.0", "kueue: v0.15.0"),
        ("  kueue: 0.17.0\n", ""),
        ("training_operator: 1.9.4", "training_operator: 1.7.0"),
        ("training_operator: 1.9.4", "training_operator: '1'"),
    ],
)
def test_versions_that_will_do_are_left_alone(old: str, new: str) -> None:
    assert of("unsupported-version", findings(job(), policy(WEST, (old, new)))) == []


def test_a_cluster_that_needs_no_kueue_may_have_any() -> None:
    files = policy(EAST, ("  flux: 1.9.6", "  flux: 1.9.6\n  kueue: 0.1.0"))
    assert of("unsupported-version", findings(job(), files)) == []


@pytest.mark.parametrize(
    ("text", "torch"),
    [
        ("2.13.0", Torch((2, 13))),
        ("v2.1", Torch((2, 1))),
        ("2.13.0+cu130", Torch((2, 13), "cuda", (13, 0), plain=False)),
        ("1.13.1+cu117", Torch((1, 13), "cuda", (11, 7), plain=False)),
        ("2.9.1+rocm7.2.3", Torch((2, 9), "rocm", plain=False)),
        ("2.13.0+cpu", Torch((2, 13), "cpu", plain=False)),
        ("2.6.0a0+ecf3bae40a.nv25.1", Torch((2, 6), plain=False)),
        ("nightly", None),
        (None, None),
    ],
)
def test_a_version_of_torch_tells_its_build(text: str | None, torch: Torch | None) -> None:
    assert torch_of(text) == torch


@pytest.mark.parametrize(
    ("torch", "message"),
    [
        ("2.13.0+cpu", "H100 needs torch for CUDA, and `llm-sft` has 2.13.0+cpu, for CPUs"),
        ("2.9.1+rocm7.2", "H100 needs torch for CUDA, and `llm-sft` has 2.9.1+rocm7.2, for ROCm"),
    ],
)
def test_a_torch_for_another_device_is_an_error(torch: str, message: str) -> None:
    found = [f for f in findings(job(), image(torch)) if f.rule != "grace-beyond-launcher"]
    item = only("torch-for-another-device", found)
    assert item.severity == "error"
    assert spot(item) == "jobs/example.yaml:3:15"
    assert item.message == message
    assert [related.place.path for related in item.related] == [IMAGE]


def test_an_amd_accelerator_cannot_use_a_build_for_cuda() -> None:
    text = job(team="vision", accelerators="MI300X:8", cluster="east", queue=None, image="llm-sft")
    item = only("torch-for-another-device", findings(text, image("2.13.0+cu130")))
    assert item.message.startswith("MI300X needs torch for ROCm")
    assert findings(text, image("2.13.0+rocm7.2")) == []


def named(accelerator: str, torch: str) -> list[str]:
    """The rules found for a job on H100 nodes that are called something else."""
    text = policy(WEST)[WEST].replace("  H100:\n", f"  {accelerator}:\n")
    files: Mapping[str, str] = {
        WEST: text.replace("[H100, A100-80GB]", f"[{accelerator}, A100-80GB]"),
        "policy/teams/nlp.yaml": policy("policy/teams/nlp.yaml")["policy/teams/nlp.yaml"].replace(
            "    H100: {", f"    {accelerator}: {{"
        ),
        "policy/teams/vision.yaml": policy("policy/teams/vision.yaml")[
            "policy/teams/vision.yaml"
        ].replace("    H100: {", f"    {accelerator}: {{"),
        **image(torch),
    }
    found = findings(job("stop: {grace: 30s}", accelerators=f"{accelerator}:8"), files)
    return [item.rule for item in found]


@pytest.mark.parametrize(
    ("accelerator", "torch"),
    [
        ("H100", "1.13.1"),
        ("H100", "2.0.1+cu117"),
        ("NVIDIA-H200-SXM", "1.13.1+cu117"),
        ("B200", "2.6.0"),
        ("GB300", "2.7.0+cu126"),
    ],
)
def test_a_torch_older_than_the_accelerator_is_a_warning(accelerator: str, torch: str) -> None:
    assert named(accelerator, torch) == ["torch-older-than-accelerator"]


@pytest.mark.parametrize(
    ("accelerator", "torch"),
    [
        ("H100", "2.0.1"),
        ("H100", "2.0.1+cu118"),
        ("B200", "2.7.0+cu128"),
        ("B200", "2.13.0"),
        ("B200", "2.6.0a0+ecf3bae40a.nv25.1"),
        ("A800", "1.13.1"),
        ("RTX-H1000", "1.13.1"),
    ],
)
def test_a_torch_with_code_for_the_accelerator_is_left_alone(accelerator: str, torch: str) -> None:
    assert named(accelerator, torch) == []


@pytest.mark.parametrize(
    ("torch", "variable", "remedy"),
    [
        ("2.1.2", "TORCH_NCCL_BLOCKING_WAIT", "write NCCL_BLOCKING_WAIT, or take"),
        (
            "2.11.0",
            "TORCH_ELASTIC_SHUTDOWN_TIMEOUT",
            "take it out, or take an image with torch 2.12",
        ),
    ],
)
def test_a_variable_that_nobody_reads_yet_is_a_warning(
    torch: str, variable: str, remedy: str
) -> None:
    text = job(f"stop: {{grace: 30s}}\nenv: {{{variable}: '1'}}")
    item = only("variable-before-its-torch", findings(text, image(torch)))
    assert item.severity == "warning"
    assert item.place.line == 8
    assert item.help.startswith(remedy)


@pytest.mark.parametrize(
    ("torch", "variable"),
    [
        ("2.2.0", "TORCH_NCCL_BLOCKING_WAIT"),
        ("2.1.2", "NCCL_BLOCKING_WAIT"),
        ("2.1.2", "TORCH_NCCL_AVOID_RECORD_STREAMS"),
    ],
)
def test_variables_that_are_read_are_left_alone(torch: str, variable: str) -> None:
    text = job(f"stop: {{grace: 30s}}\nenv: {{{variable}: '1'}}")
    assert findings(text, image(torch)) == []
