"""Taking a syncer away, as its page says. In the order of files, this one comes last."""

from __future__ import annotations

import time

from controlplane.configuration import distributed, job
from controlplane.following import Following, Team

KEPT = {"flux": "Orphan", "argo_cd": "<none>"}


def test_uninstalling_stops_no_run(following: Following, team: Team) -> None:
    team.write("one", job())
    team.write("two", distributed())
    following.change()
    team.until("one-r1", "two-r1")
    team.write("one", None)
    following.change()
    before = team.until("two-r1")
    team.started("two-r1", 2)
    syncer = following.syncer
    names = [item["metadata"]["name"] for item in syncer.followers()]
    said = syncer.told(following.configuration.mine, "Uninstalling without stopping a run")
    lines = dict(line.split()[:2] for line in said.splitlines() if line.startswith("runwright"))
    assert {name: lines[name] for name in names} == dict.fromkeys(names, KEPT[syncer.name])
    team.api.until(syncer.followers, lambda found: not found, 60, "end of what follows")
    time.sleep(5)
    assert team.uids() == before
    assert len(team.pods("two-r1")) == 2
    assert team.tombstones() == ["one-r1"]
    for kind, name in (
        ("v1/PersistentVolumeClaim", "checkpoints"),
        ("kueue.x-k8s.io/v1beta1/LocalQueue", "training"),
    ):
        assert "deletionTimestamp" not in team.api.get(kind, name, team.namespace)["metadata"]
