"""CUDA_VISIBLE_DEVICES and its like, against the accelerators of the container."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, spot


@pytest.mark.parametrize(
    "env",
    [
        '{CUDA_VISIBLE_DEVICES: "0,1,2,3,4,5,6,7"}',
        '{CUDA_VISIBLE_DEVICES: "7, 6, 5, 4, 3, 2, 1, 0"}',
        '{CUDA_VISIBLE_DEVICES: "GPU-3a4d0c8e"}',
        '{CUDA_VISIBLE_DEVICES: "$(DEVICES)", DEVICES: "0"}',
        '{CUDA_DEVICE_ORDER: "PCI_BUS_ID"}',
        # Of another vendor's accelerators.
        '{HIP_VISIBLE_DEVICES: "0"}',
    ],
)
def test_variables_that_hide_nothing(env: str) -> None:
    assert of("hidden-accelerators", findings(job(f"env: {env}"))) == []


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("0", "leaves 1 of the container's 8 accelerators visible"),
        ("0,1,2,2", "leaves 3 of the container's 8 accelerators visible"),
        ("", "hides all accelerators of the container, which has 8"),
        ("-1", "hides all accelerators of the container, which has 8"),
        ("8", "names accelerator 8, and the container has 8, which are 0 to 7"),
        ("1,2,3,4,5,6,7,8", "names accelerator 8, and the container has 8, which are 0 to 7"),
    ],
)
def test_variables_that_hide_accelerators(value: str, message: str) -> None:
    text = job(f'env:\n  CUDA_VISIBLE_DEVICES: "{value}"')
    (found,) = of("hidden-accelerators", findings(text))
    assert found.message == f"CUDA_VISIBLE_DEVICES {message}"
    assert spot(found) == "jobs/example.yaml:8:25"


def test_one_variable_of_several_nodes_is_one_mistake() -> None:
    text = job('num_nodes: 4\nenv: {CUDA_VISIBLE_DEVICES: "0"}')
    assert len(of("hidden-accelerators", findings(text))) == 1
