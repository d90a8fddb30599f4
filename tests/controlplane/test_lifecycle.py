"""What becomes of runs when the repository changes, on both syncers: nothing is trained twice.

No pod runs here; where a run has to end, its pods are told to have ended. `team` fails each test
in which an object of one name was made twice.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
import yaml

from controlplane.api import Refused, condition
from controlplane.configuration import distributed, job
from controlplane.following import Following, Team
from controlplane.kubelet.agent import Kubelet
from controlplane.metering import Writes

QUIET = 60.0
LATER = "exec sleep 3601"
# Each node says that it has begun, and ends once all have: a first node that ends takes the others
# with it, whatever they have done.
BEGIN = (
    'at="$CHECKPOINT_DIR/begun"; echo "${RANK:-0}" >>"$at"; '
    'until [ "$(wc -l <"$at")" -ge "$PET_NNODES" ]; do sleep 0.2; done'
)


def both(team: Team, **fields: object) -> None:
    """A job of each kind that is emitted."""
    team.write("one", job(**fields))
    team.write("two", distributed(**fields))


def test_an_edit_in_place_changes_nothing(following: Following, team: Team) -> None:
    both(team)
    following.change()
    before = team.until("one-r1", "two-r1")
    team.started("two-r1", 2)
    generations = {name: run["metadata"]["generation"] for name, run in team.runs().items()}
    folder = f"overlays/{following.configuration.cluster}/{team.name}"
    for name in ("one", "two"):
        path = f"{folder}/{name}/r1/run.yaml"
        text = (following.configuration.mine / path).read_text("utf-8")
        assert "sleep 3600" in text
        following.configuration.write(path, text.replace("sleep 3600", LATER))
    following.past_ci("Edit what runs")
    assert following.syncer.complaint(team.name) is None
    assert team.uids() == before
    assert LATER not in str(team.runs())
    assert {n: r["metadata"]["generation"] for n, r in team.runs().items()} == generations
    following.publish()
    assert following.syncer.complaint(team.name) is None
    assert team.uids() == before


def test_an_edit_of_operation_resumes_and_one_of_training_begins_anew(
    following: Following, team: Team
) -> None:
    both(team)
    following.change()
    team.until("one-r1", "two-r1")
    folder = team.environment("one-r1")["CHECKPOINT_DIR"]
    both(team, env={"NCCL_DEBUG": "INFO"})
    following.change()
    team.until("one-r2", "two-r2")
    assert team.environment("one-r2")["CHECKPOINT_DIR"] == folder
    assert team.environment("two-r2")["RUN_LINEAGE"] == "two-r1"
    assert team.tombstones() == ["one-r1", "two-r1"]
    both(team, env={"NCCL_DEBUG": "INFO"}, command=["sh", "-c", LATER])
    following.change()
    team.until("one-r3", "two-r3")
    assert team.environment("one-r3")["CHECKPOINT_DIR"] != folder
    assert team.environment("two-r3")["RUN_LINEAGE"] == "two-r3"
    assert team.births() == {f"{name}-r{n}": 1 for name in ("one", "two") for n in (1, 2, 3)}


def test_a_revert_resumes_and_so_does_its_revert_until_one_has_ended(
    following: Following, team: Team
) -> None:
    both(team)
    following.change()
    team.until("one-r1", "two-r1")
    folder = team.environment("one-r1")["CHECKPOINT_DIR"]
    both(team, command=["sh", "-c", LATER])
    edit = following.configuration.push("Sleep longer")
    following.publish()
    team.until("one-r2", "two-r2")
    second = team.environment("one-r2")["CHECKPOINT_DIR"]
    following.revert(edit)
    team.until("one-r3", "two-r3")
    assert team.environment("one-r3")["CHECKPOINT_DIR"] == folder
    following.revert(following.configuration.git("rev-parse", "HEAD~1"))
    team.until("one-r4", "two-r4")
    assert team.environment("one-r4")["CHECKPOINT_DIR"] == second
    # The second training has succeeded: no way back to it starts it again.
    for run, nodes in (("one-r4", 1), ("two-r4", 2)):
        team.started(run, nodes)
        team.end(run)
    following.observe()
    following.revert(edit)
    kept = ("one-r4", "two-r4")
    team.until(*kept, "one-r5", "two-r5")
    following.revert(following.configuration.git("rev-parse", "HEAD~1"))
    assert "r4 of this training has succeeded" in following.configuration.said
    team.until(*kept)
    assert team.births() == {f"{name}-r{n}": 1 for name in ("one", "two") for n in range(1, 6)}


def test_a_reverted_publish_commit_starts_and_stops_nothing(
    following: Following, team: Team
) -> None:
    other = following.team()
    other.write("steady", job())
    both(team)
    following.change()
    team.until("one-r1", "two-r1")
    both(team, command=["sh", "-c", LATER])
    published = following.change()
    before = team.until("one-r2", "two-r2")
    steady = other.until("steady-r1")
    team.started("two-r2", 2)
    following.configuration.git("revert", "--no-edit", published)
    following.configuration.git("push", "-q", "origin", "main")
    reverted = following.configuration.git("rev-parse", "HEAD")
    assert "one/r1" in following.configuration.listed(team.name)
    following.syncer.sync(reverted)
    said = following.syncer.complaint(team.name)
    assert said is not None
    assert "has ended, and a run never starts twice" in said
    time.sleep(3)
    assert team.uids() == before
    assert team.tombstones() == ["one-r1", "two-r1"]
    assert following.syncer.complaint(other.name) is None
    # What another team does meanwhile reaches the cluster.
    other.write("steady", None)
    other.write("new", job())
    following.change("Another team's change")
    assert other.until("new-r1").keys() != steady.keys()
    assert following.syncer.complaint(team.name) is None
    assert team.uids() == before
    assert team.births() == {"one-r1": 1, "one-r2": 1, "two-r1": 1, "two-r2": 1}


def test_a_change_is_not_lost_while_a_run_is_still_stopping(
    following: Following, team: Team
) -> None:
    both(team)
    following.change()
    team.until("one-r1", "two-r1")
    # A finalizer holds the object as long as pods with a grace of minutes would.
    run = ("batch/v1/Job", "one-r1", team.namespace)
    held = [*team.run("one-r1")["metadata"].get("finalizers", []), "example.com/held"]
    team.api.patch(*run, {"metadata": {"finalizers": held}})
    team.write("one", None)
    following.configuration.change()
    following.syncer.look()
    team.until("two-r1")
    team.write("two", None)
    team.write("three", job())
    following.configuration.change()
    following.syncer.look()
    time.sleep(15)
    stopping = team.api.get(*run)["metadata"]["finalizers"]
    team.api.patch(*run, {"metadata": {"finalizers": [f for f in stopping if f != held[-1]]}})
    team.until("three-r1")
    team.api.gone(*run)


def test_a_change_is_not_lost_while_the_one_before_it_is_tried_again(
    following: Following, team: Team
) -> None:
    # One run is refused for a while, as by a webhook that is down.
    tombstone = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "ended-one-r1",
            "namespace": team.namespace,
            "labels": {"runwright/tombstone": "true"},
        },
        "data": {"run": "one-r1"},
    }
    team.api.create(tombstone)
    team.write("one", job())
    following.change()
    assert following.syncer.complaint(team.name) is not None
    team.write("two", distributed())
    following.configuration.change()
    following.syncer.look()
    time.sleep(6)
    assert not team.runs()
    team.api.delete("v1/ConfigMap", "ended-one-r1", team.namespace)
    team.until("one-r1", "two-r1")


@pytest.mark.parametrize("make", [job, distributed], ids=["Job", "PyTorchJob"])
def test_an_ended_run_is_refused_to_everybody(
    following: Following, team: Team, make: Callable[[], str]
) -> None:
    team.write("one", make())
    following.change()
    team.until("one-r1")
    run = team.run("one-r1")
    metadata = {key: run["metadata"][key] for key in ("name", "namespace", "labels")}
    again = {**run, "metadata": metadata, "status": {}}
    for key in ("selector", "manualSelector"):
        again["spec"].pop(key, None)
    template = again["spec"].get("template")
    if template is not None:
        template["metadata"].pop("labels", None)
    team.write("one", None)
    following.change()
    team.until()
    with pytest.raises(Refused, match="one-r1 has ended, and a run never starts twice"):
        team.api.create(again)
    # The one that comes next is nobody's tombstone.
    team.api.create({**again, "metadata": {**metadata, "name": "one-r2"}}, dry_run=True)


def test_the_last_run_of_a_team_is_stopped(following: Following, team: Team) -> None:
    both(team)
    following.change()
    team.until("one-r1", "two-r1")
    team.started("two-r1", 2)
    team.write("one", None)
    team.write("two", None)
    following.change()
    assert following.syncer.complaint(team.name) is None
    team.until()
    team.api.until(
        lambda: team.api.list("v1/Pod", team.namespace), lambda found: not found, 60, "end of pods"
    )
    both(team)
    following.change()
    team.until("one-r2", "two-r2")


def test_a_finished_run_that_is_deleted_by_hand_is_not_trained_again(
    following: Following, team: Team
) -> None:
    both(team, command=["sh", "-c", BEGIN])
    following.change()
    with Kubelet(team.api, takes=lambda pod: pod["metadata"]["namespace"] == team.namespace) as it:
        before = team.until("one-r1", "two-r1")
        team.finished("one-r1", "two-r1")
        following.observe()
        assert following.configuration.states(team.name, "one") == ["one-r1 ended"]
        team.may_come_back |= set(before)
        for kind, run in (("batch/v1/Job", "one-r1"), ("kubeflow.org/v1/PyTorchJob", "two-r1")):
            team.api.delete(kind, run, team.namespace)
        team.until()
        # Kept for its logs, so the next change of the team brings the object back; it has to end
        # without a second training.
        team.write("three", job())
        following.change()
        following.syncer.look_at_all()
        after = team.until("one-r1", "three-r1", "two-r1")
        assert not set(after.values()) & set(before.values())
        team.finished("one-r1", "two-r1")
        begun = it.claim(team.namespace, "checkpoints").glob("*/*/*/r1/begun")
        lines = [path.read_text("utf-8").split() for path in begun]
        assert sorted(map(len, lines)) == [1, 2]
        # Three days later it is listed no more, and may not come back.
        following.publish(hours=73)
        team.until("three-r1")
        following.syncer.look_at_all()
    assert team.tombstones() == ["one-r1", "two-r1"]


def test_a_namespace_that_is_wiped_comes_back_with_what_has_not_ended(
    following: Following, team: Team
) -> None:
    both(team)
    following.change()
    team.until("one-r1", "two-r1")
    both(team, command=["sh", "-c", LATER])
    following.change()
    before = team.until("one-r2", "two-r2")
    team.may_come_back |= {"one-r2", "two-r2"}
    team.api.delete("v1/Namespace", team.namespace)
    uid = team.api.get("v1/Namespace", team.namespace)["metadata"]["uid"]
    team.api.until(
        lambda: team.api.find("v1/Namespace", team.namespace),
        lambda found: found is None or found["metadata"]["uid"] != uid,
        90,
        "end of the namespace",
    )
    ends = time.monotonic() + 120
    while team.tombstones() != ["one-r1", "two-r1"] or len(team.uids()) < 2:
        # Flux would look again in ten minutes, Argo CD with the team's next publish.
        for folder in ("platform", "ended", team.name):
            following.syncer.again(folder)
        assert time.monotonic() < ends, (team.tombstones(), team.uids())
        time.sleep(3)
    after = team.until("one-r2", "two-r2")
    assert not set(after.values()) & set(before.values())
    assert team.births()["one-r1"] == team.births()["two-r1"] == 1


def test_a_team_that_came_and_whose_policy_is_reverted_keeps_claims_and_runs(
    following: Following, team: Team
) -> None:
    team.write("steady", distributed())
    following.change()
    configuration = following.configuration
    configuration.team("newcomers")
    configuration.owners()
    came = configuration.push("A team comes")
    following.publish()
    following.syncer.told(configuration.mine, "The teams")
    # Argo CD has not been allowed into the new namespace before, and tries again minutes later.
    for folder in ("platform", "ended"):
        following.syncer.again(folder)
    steady = team.until("steady-r1")
    newcomers = Team(following, "newcomers")
    team.api.until(lambda: team.api.find("v1/Namespace", newcomers.namespace), seconds=60)
    newcomers.claim()
    both(newcomers)
    following.change()
    runs = newcomers.until("one-r1", "two-r1")
    newcomers.started("two-r1", 2)
    following.revert(came, status=1)
    assert "newcomers/one-r1" in configuration.said.partition("BLOCKED")[2]
    following.syncer.told(configuration.mine, "The teams")
    following.syncer.look_at_all()
    time.sleep(3)
    assert newcomers.uids() == runs
    assert len(newcomers.pods("two-r1")) == 2
    claim = team.api.get("v1/PersistentVolumeClaim", "checkpoints", newcomers.namespace)
    assert "deletionTimestamp" not in claim["metadata"]
    assert team.uids() == steady
    # Its runs can still be stopped, and the claim outlives them.
    for name in ("one", "two"):
        newcomers.write(name, None)
    following.change()
    newcomers.until()
    assert team.api.find("v1/PersistentVolumeClaim", "checkpoints", newcomers.namespace)


def test_nobody_fights_over_a_run(following: Following, team: Team) -> None:
    both(team)
    team.write("waiting", distributed(num_nodes=6))
    following.change()
    team.until("one-r1", "two-r1", "waiting-r1")
    team.started("two-r1", 2)
    team.started("one-r1")
    assert not team.pods("waiting-r1")
    time.sleep(5)
    before = {name: run["metadata"]["resourceVersion"] for name, run in team.runs().items()}
    writes = Writes(team.api)
    time.sleep(QUIET)
    following.syncer.look_at_all()
    time.sleep(5)
    assert writes.since() == {}
    after = {name: run["metadata"]["resourceVersion"] for name, run in team.runs().items()}
    assert after == before


def test_a_failed_run_that_is_kept_keeps_no_other_from_stopping(
    following: Following, team: Team
) -> None:
    both(team, retry=None)
    team.write("bad", job(retry=None))
    following.change()
    before = team.until("bad-r1", "one-r1", "two-r1")
    team.started("bad-r1")
    team.end("bad-r1", failed=True)
    team.write("one", None)
    team.write("two", distributed(command=["sh", "-c", LATER]))
    following.change()
    after = team.until("bad-r1", "two-r2")
    assert after["bad-r1"] == before["bad-r1"]
    assert condition(team.run("bad-r1"), "Failed") == "True"


def test_a_manifest_that_is_refused_keeps_no_other_team_from_stopping(
    following: Following, team: Team
) -> None:
    other = following.team()
    other.write("one", job())
    both(team)
    following.change()
    before = team.until("one-r1", "two-r1")
    other.until("one-r1")
    cluster = following.configuration.cluster
    # A third run that no API server takes, and another team's stop, both past CI and publish.
    folder = f"overlays/{cluster}/{team.name}"
    bad = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "bad-r1", "namespace": team.namespace},
        "spec": {"pytorchReplicaSpecs": {"Worker": {"replicas": "many"}}},
    }
    following.configuration.write(f"{folder}/bad.yaml", yaml.safe_dump(bad))
    for where, change in ((team, "bad.yaml"), (other, None)):
        path = f"overlays/{cluster}/{where.name}/kustomization.yaml"
        whole = yaml.safe_load((following.configuration.mine / path).read_text("utf-8"))
        listed = whole["resources"]
        whole["resources"] = [*listed, change] if change else listed[:1]
        following.configuration.write(path, yaml.safe_dump(whole))
    following.past_ci("Force it")
    said = following.syncer.complaint(team.name)
    assert said is not None
    assert "bad-r1" in said
    assert team.uids() == before
    other.until()
    # Publish puts the tree right: stops of the team itself go through again.
    following.configuration.git("revert", "--no-edit", "HEAD")
    team.write("one", None)
    following.change()
    team.until("two-r1")
    assert following.syncer.complaint(team.name) is None
    other.may_come_back.add("one-r1")
