"""Changes of policy, on a cluster that has the objects of the policy before."""

from __future__ import annotations

import pytest

from controlplane.byhand import ByHand

FLAVOR = "kueue.x-k8s.io/v1beta2/ResourceFlavor"


@pytest.mark.parametrize("cluster", ["kueue"], indirect=True)
def test_a_flavor_may_lose_the_last_label_of_its_nodes(cluster: ByHand) -> None:
    labels = {"nvidia.com/gpu.product": "H100"}
    before = cluster.policy
    cluster.write(before.replace("flavor: h100", f"flavor: h100\n    node_labels: {labels}"))
    cluster.change()
    assert cluster.api.get(FLAVOR, "h100")["spec"]["nodeLabels"] == labels
    cluster.write(before)
    cluster.change()
    assert not cluster.api.get(FLAVOR, "h100")["spec"].get("nodeLabels")
