"""From a pull request to the end of a training, by the product's own commands, on both syncers."""

from __future__ import annotations

from controlplane.configuration import distributed, job
from controlplane.following import Following, Team
from controlplane.kubelet.agent import Kubelet

# All nodes end together: a first node that ends takes the others with it.
TRAIN = (
    'at="$CHECKPOINT_DIR/steps"; echo "$RUN_NAME node ${RANK:-0} of $PET_NNODES" >>"$at"; '
    'until [ "$(wc -l <"$at")" -ge "$PET_NNODES" ]; do sleep 0.2; done'
)


def test_a_pull_request_becomes_a_training_that_ends_and_leaves(
    following: Following, team: Team
) -> None:
    configuration, syncer = following.configuration, following.syncer
    train = ["sh", "-c", TRAIN]
    team.write("one", job(command=train))
    team.write("two", distributed(command=train, num_nodes=3, accelerators="H100:8"))
    plan = configuration.propose("Train")
    assert "**STARTS 2**" in plan
    assert f"`{team.name}/two-r1` on `{configuration.cluster}`, `24 × H100 on 3 nodes`" in plan
    assert not team.runs()

    syncer.sync(configuration.merge())
    team.until("one-r1", "two-r1")
    with Kubelet(team.api, takes=lambda pod: pod["metadata"]["namespace"] == team.namespace) as it:
        team.finished("one-r1", "two-r1")
        place = it.claim(team.namespace, "checkpoints") / configuration.cluster / team.name
        one = (place / "one/r1/steps").read_text("utf-8").splitlines()
        two = (place / "two/r1/steps").read_text("utf-8").splitlines()
        assert one == ["one-r1 node 0 of 1"]
        assert sorted(two) == [f"two-r1 node {node} of 3" for node in range(3)]

        following.observe()
        for name in ("one", "two"):
            (run,) = configuration.ledger(team.name, name)
            assert (run["state"], run["reason"], run["outcome"]) == (
                "ended",
                "finished",
                "succeeded",
            )
        assert "one/r1" in configuration.listed(team.name)
        # Three days for its logs are over.
        following.publish(hours=73)
        team.until()
        assert team.tombstones() == ["one-r1", "two-r1"]
        assert syncer.complaint(team.name) is None
        before = configuration.git("rev-parse", "HEAD")
        assert configuration.publish() == before
        syncer.look_at_all()
    assert team.births() == {"one-r1": 1, "two-r1": 1}
