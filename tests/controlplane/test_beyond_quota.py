"""Two runs that do not fit together: the second starts once the first has ended.

Under Kueue both are on the cluster and the second waits there; with `admission: ledger` publish
holds it back until an observation says that the first has ended.
"""

from __future__ import annotations

import time

import pytest

from controlplane.api import condition
from controlplane.byhand import NAMESPACE, TEAM, ByHand
from controlplane.configuration import distributed, job
from controlplane.kueue import WORKLOAD

# The team's 48 accelerators, and some of them again, as each kind of object.
FIRST, SECOND = distributed(num_nodes=6), job(accelerators="H100:8")


def second_beside_the_first(cluster: ByHand) -> str:
    """Start the first, then publish the second; returns the plan of the pull request with it."""
    configuration = cluster.configuration
    configuration.write(f"jobs/{TEAM}/first.yaml", FIRST)
    cluster.change()
    cluster.started("first-r1", 6)
    configuration.write(f"jobs/{TEAM}/second.yaml", SECOND)
    plan = configuration.propose("Second")
    configuration.merge()
    cluster.change()
    return plan


@pytest.mark.parametrize("cluster", ["kueue"], indirect=True)
def test_kueue_lets_the_second_wait_until_the_first_has_ended(cluster: ByHand) -> None:
    assert "WAIT" in second_beside_the_first(cluster).upper()
    assert sorted(cluster.runs()) == ["first-r1", "second-r1"]
    (waiting,) = cluster.api.until(
        lambda: [
            item
            for item in cluster.api.list(WORKLOAD, NAMESPACE)
            if condition(item, "QuotaReserved") == "False"
        ],
        lambda found: len(found) == 1,
        60,
        "a workload without quota",
    )
    assert waiting["metadata"]["ownerReferences"][0]["name"] == "second-r1"
    time.sleep(3)
    assert not cluster.pods("second-r1")
    cluster.succeed("first-r1")
    cluster.started("second-r1", 1)


@pytest.mark.parametrize("cluster", ["ledger"], indirect=True)
def test_publish_holds_the_second_until_the_first_is_seen_to_have_ended(cluster: ByHand) -> None:
    assert "HOLD" in second_beside_the_first(cluster).upper()
    assert sorted(cluster.runs()) == ["first-r1"]
    # While the first is seen to run, looking changes nothing.
    cluster.change("", cluster.observe())
    assert sorted(cluster.runs()) == ["first-r1"]
    cluster.succeed("first-r1")
    cluster.change("", cluster.observe())
    cluster.started("second-r1", 1)
    configuration = cluster.configuration
    assert configuration.states(TEAM, "first") == ["first-r1 ended"]
    assert configuration.states(TEAM, "second") == ["second-r1 active"]
