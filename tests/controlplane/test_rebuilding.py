"""A cluster that is built anew: what has ended stays away, what had not goes on."""

from __future__ import annotations

from controlplane.configuration import distributed, job
from controlplane.following import Following, Team


def test_a_cluster_that_is_built_anew_trains_nothing_twice_and_loses_no_run(
    following: Following, team: Team
) -> None:
    team.write("done", job())
    team.write("one", job())
    team.write("two", distributed())
    following.change()
    team.until("done-r1", "one-r1", "two-r1")
    folder = team.environment("two-r1")["CHECKPOINT_DIR"]
    team.started("done-r1")
    team.end("done-r1")
    following.observe()
    team.write("one", job(env={"NCCL_DEBUG": "INFO"}))
    following.change()
    team.until("done-r1", "one-r2", "two-r1")

    following.wipe()
    assert not team.runs()
    following.set_up(following.configuration.rebuilt())
    team.until("one-r3", "two-r2")
    assert team.environment("two-r2")["CHECKPOINT_DIR"] == folder
    assert team.tombstones() == ["done-r1", "one-r1", "one-r2", "two-r1"]
    team.claim()
    following.publish()
    team.until("one-r3", "two-r2")
