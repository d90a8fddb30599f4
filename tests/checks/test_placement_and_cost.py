"""Where a run may be placed, what its image needs, and what it may cost."""

from __future__ import annotations

import pytest
from declarations import findings, job, only, policy, spot

WEST = "policy/clusters/west.yaml"
EAST = """\
team: speech
cluster: east
image: llm-sft
accelerators: A100-80GB:8
num_nodes: 2
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
"""


def test_toleration_beside_queue_is_the_flavors_to_give() -> None:
    item = only("toleration-beside-queue", findings(job("preemptible: true")))
    assert spot(item) == "jobs/example.yaml:7:14"
    item = only("toleration-beside-queue", findings(job("placement: [preemptible]")))
    assert spot(item) == "jobs/example.yaml:7:12"


def test_toleration_without_a_queue_reaches_the_pods() -> None:
    assert findings(EAST + "preemptible: true\n") == []


def test_preemptible_needs_a_placement_of_that_name() -> None:
    edit = policy(WEST, ("  preemptible:\n", "  other:\n"))
    item = only("unknown-placement", findings(job("preemptible: true"), edit))
    assert spot(item) == "jobs/example.yaml:7:14"


def test_topology_without_queue_is_heeded_by_nobody() -> None:
    item = only("topology-without-queue", findings(EAST + "topology: {preferred: rack}\n"))
    assert spot(item) == "jobs/example.yaml:8:1"
    assert findings(job("topology: {preferred: rack}", num_nodes="2")) == []


@pytest.mark.parametrize(
    ("fields", "need"),
    [
        ({"checkpoint": None}, "checkpoint"),
        ({"accelerators": None, "queue": "data"}, "accelerators"),
    ],
)
def test_unmet_image_need_is_said_at_the_image(fields: dict[str, str | None], need: str) -> None:
    extra = "" if fields.get("accelerators", "") is not None else "cpu: 4\nmemory: 32Gi"
    item = only("unmet-image-need", findings(job(extra, **fields)))
    assert spot(item) == "jobs/example.yaml:2:8"
    assert f"needs {need}" in item.message


def test_cost_above_limit_counts_the_time_of_all_tries_once() -> None:
    # 8 H100 for 24 hours at 2.95 each: 566.4.
    assert findings(job("max_cost: 567")) == []
    item = only("cost-above-limit", findings(job("max_cost: 566")))
    assert spot(item) == "jobs/example.yaml:7:11"
    assert "may cost 567 USD (24h)" in item.message
    # The deadline runs over all tries together.
    assert findings(job("max_cost: 567\nretry: {max: 2}")) == []


def test_cost_above_limit_needs_a_price() -> None:
    edit = policy(WEST, ("    price: 2.95\n", ""))
    item = only("cost-above-limit", findings(job("max_cost: 567"), edit))
    assert "the cost cannot be told" in item.message
