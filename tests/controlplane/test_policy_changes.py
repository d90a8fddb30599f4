"""Changes of policy, on a cluster that has the objects of the policy before."""

from __future__ import annotations

import pytest

from controlplane.api import Refused
from controlplane.byhand import ByHand
from controlplane.kueue import VERSION
from controlplane.stack import Stack

FLAVOR = f"{VERSION}/ResourceFlavor"


@pytest.mark.parametrize("cluster", ["kueue"], indirect=True)
def test_a_flavor_may_lose_the_last_label_of_its_nodes(cluster: ByHand) -> None:
    labels = {"nvidia.com/gpu.product": "H100"}
    before = cluster.policy
    cluster.write(before.replace("flavor: by-hand", f"flavor: by-hand\n    node_labels: {labels}"))
    cluster.change()
    assert cluster.api.get(FLAVOR, "by-hand")["spec"]["nodeLabels"] == labels
    cluster.write(before)
    cluster.change()
    assert not cluster.api.get(FLAVOR, "by-hand")["spec"].get("nodeLabels")


@pytest.mark.shows("repeated-topology-level")
def test_levels_of_one_label_are_refused(stack: Stack) -> None:
    levels = [{"nodeLabel": "example.com/block"}] * 2
    made = {"apiVersion": VERSION, "kind": "Topology", "metadata": {"name": "twice"}}
    with pytest.raises(Refused, match="must be unique"):
        stack.api.create({**made, "spec": {"levels": levels}}, dry_run=True)
