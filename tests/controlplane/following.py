"""A configuration repository, a syncer that follows it, and what becomes of its runs.

The syncer is set up by the commands of its page, with the files that publish wrote.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from controlplane.api import Api, Manifest, condition
from controlplane.configuration import Configuration
from controlplane.syncers.gitserver import GitServer
from controlplane.syncers.syncer import Syncer

RUNS = ("batch/v1/Job", "kubeflow.org/v1/PyTorchJob")
# Titles of the pages in their order; not every page has them all.
SET_UP = (
    "Tell Argo CD when a run is healthy",
    "Rights",
    "The platform first",
    "The teams",
)
# What the platform's folder has on a cluster beside namespaces and the policy over tombstones.
OF_THE_CLUSTER = (
    "kueue.x-k8s.io/v1beta1/ClusterQueue",
    "kueue.x-k8s.io/v1beta1/Cohort",
    "kueue.x-k8s.io/v1beta1/ResourceFlavor",
    "kueue.x-k8s.io/v1beta1/WorkloadPriorityClass",
    "rbac.authorization.k8s.io/v1/ClusterRole",
    "rbac.authorization.k8s.io/v1/ClusterRoleBinding",
)
TEAM = "runwright/team"
POLICY = "admissionregistration.k8s.io/v1/ValidatingAdmissionPolicy"
CLAIM: Manifest = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "checkpoints"},
    "spec": {
        "accessModes": ["ReadWriteMany"],
        "resources": {"requests": {"storage": "1Gi"}},
        "storageClassName": "none",
    },
}


class Births:
    """Every object of the kinds of runs that has come to be, by namespace and name."""

    def __init__(self, api: Api) -> None:
        self._uids: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._watch, args=(api, kind), daemon=True) for kind in RUNS
        ]
        for thread in self._threads:
            thread.start()

    def _watch(self, api: Api, kind: str) -> None:
        for event in api.watch(kind, stopped=self._over.is_set):
            metadata = event.object["metadata"]
            known = self._uids[metadata["namespace"], metadata["name"]]
            if metadata["uid"] not in known:
                known.append(metadata["uid"])

    def of(self, namespace: str) -> dict[str, int]:
        """How often an object of each name was made in a namespace."""
        return {name: len(uids) for (at, name), uids in self._uids.items() if at == namespace}

    def stop(self) -> None:
        """End the watches."""
        self._over.set()
        for thread in self._threads:
            thread.join()


class Following:
    """A syncer that has been set up, and the repository that it follows."""

    def __init__(self, syncer: Syncer, folder: Path, teams: list[str]) -> None:
        self.syncer = syncer
        self.api = syncer.api
        self.git = GitServer(folder)
        self.births = Births(self.api)
        url = self.git.url("remote.git")
        self.configuration = Configuration(folder, syncer.cluster, syncer.policy(url), teams)
        self._free = iter(teams)

    def set_up(self, commit: str) -> None:
        """What the page says, for a published commit: the platform first, then the teams."""
        for title in SET_UP:
            if self.syncer.says(title):
                self.syncer.told(self.configuration.mine, title)
        self.syncer.sync(commit)

    def wipe(self) -> None:
        """Leave nothing on the cluster of what follows, of teams, and of the platform."""
        for item in self.syncer.followers():
            metadata = item["metadata"]
            self.api.delete(self.syncer.kind, metadata["name"], metadata["namespace"])
        self.api.until(self.syncer.followers, lambda found: not found, 30, "end of followers")
        teams = [item["metadata"]["name"] for item in self.api.list("v1/Namespace", None, TEAM)]
        for name in teams:
            for kind in RUNS:
                self.api.delete_all(kind, name)
            # A pod that a kubelet had taken would wait for it to say that it has ended.
            for pod in self.api.list("v1/Pod", name):
                self.api.delete("v1/Pod", pod["metadata"]["name"], name, grace=0)
            self.api.delete("v1/Namespace", name)
        for name in teams:
            self.api.gone("v1/Namespace", name, seconds=120)
        for kind in (POLICY, f"{POLICY}Binding"):
            self.api.delete(kind, "runwright-tombstones")
        for kind in OF_THE_CLUSTER:
            for item in self.api.list(kind):
                if "rbac" not in kind or item["metadata"]["name"].startswith("runwright-"):
                    self.api.delete(kind, item["metadata"]["name"])

    def stop(self) -> None:
        """No more is served and watched."""
        self.births.stop()
        self.git.stop()

    def team(self) -> Team:
        """A team that no test has had, with the claim that people make for it."""
        made = Team(self, next(self._free))
        made.claim()
        return made

    def publish(self, hours: float = 0) -> str:
        """Publish what is on the main branch, in so many hours, and wait until it is synced."""
        commit = self.configuration.publish(hours=hours)
        self.syncer.sync(commit)
        return commit

    def change(self, message: str = "Change") -> str:
        """Bring a person's files onto the main branch, publish, wait; returns the commit of
        publish."""
        commit = self.configuration.change(message)
        self.syncer.sync(commit)
        return commit

    def revert(self, commit: str, status: int = 0) -> str:
        """Revert a commit, publish, wait; returns the commit of publish, which ends so."""
        made = self.configuration.revert(commit, status)
        self.syncer.sync(made)
        return made

    def observe(self) -> str:
        """Publish what is seen on the cluster and wait until that is synced."""
        seen = self.configuration.observe(self.syncer.kubeconfig)
        commit = self.configuration.publish(seen)
        self.syncer.sync(commit)
        return commit

    def past_ci(self, message: str) -> str:
        """Bring a person's files onto the main branch, where nobody publishes yet, and wait."""
        commit = self.configuration.push(message)
        self.syncer.sync(commit)
        return commit


class Team:
    """A team of the repository, seen on the cluster."""

    def __init__(self, following: Following, name: str) -> None:
        self.following = following
        self.api = following.api
        self.name = name
        self.namespace = f"p-{name}"
        # The runs that a test has deleted by hand, so that the syncer may make them again.
        self.may_come_back: set[str] = set()

    def claim(self) -> None:
        """The claim that its jobs name: people make it, once the namespace is there."""
        metadata = {**CLAIM["metadata"], "namespace": self.namespace}
        self.api.apply({**CLAIM, "metadata": metadata})

    def write(self, job: str, text: str | None) -> None:
        """Write a declaration of the team, or delete it (None)."""
        self.following.configuration.write(f"jobs/{self.name}/{job}.yaml", text)

    def runs(self) -> dict[str, Manifest]:
        """The objects of its runs that are there now, and are not being deleted, by name."""
        return {
            item["metadata"]["name"]: item
            for kind in RUNS
            for item in self.api.list(kind, self.namespace)
            if "deletionTimestamp" not in item["metadata"]
        }

    def run(self, name: str) -> Manifest:
        """The object of a run. Raises KeyError."""
        return self.runs()[name]

    def uids(self) -> dict[str, str]:
        """The objects of its runs by name."""
        return {name: item["metadata"]["uid"] for name, item in self.runs().items()}

    def until(self, *names: str, seconds: float = 180) -> dict[str, str]:
        """Wait until exactly these runs are there; returns the uid of each."""
        return self.api.until(
            self.uids, lambda found: sorted(found) == sorted(names), seconds, f"runs {names}"
        )

    def births(self) -> dict[str, int]:
        """How often an object of each run was made."""
        return self.following.births.of(self.namespace)

    def pods(self, run: str) -> list[Manifest]:
        """The pods of a run."""
        return pods_of(self.api, self.namespace, run)

    def started(self, run: str, nodes: int = 1, seconds: float = 180) -> list[Manifest]:
        """Wait until Kueue has admitted a run and the operator has made its pods; returns them."""
        return self.api.until(
            lambda: self.pods(run), lambda found: len(found) == nodes, seconds, f"pods of {run}"
        )

    def tombstones(self) -> list[str]:
        """The runs that may not be created again."""
        found = self.api.list("v1/ConfigMap", self.namespace, "runwright/tombstone=true")
        return sorted(item["data"]["run"] for item in found)

    def finished(self, *names: str, seconds: float = 180) -> None:
        """Wait until runs have succeeded."""

        def states() -> dict[str, Any]:
            return {n: run.get("status") for n, run in self.runs().items() if n in names}

        def done(found: dict[str, Any]) -> bool:
            outcomes = [
                condition({"status": status}, outcome)
                for status in found.values()
                for outcome in ("Complete", "Succeeded")
            ]
            return outcomes.count("True") == len(names)

        self.api.until(states, done, seconds, f"success of {names}")

    def end(self, run: str, *, failed: bool = False) -> None:
        """Let the pods of a run end, as a kubelet reports it, and wait until the run has."""
        done = "Failed" if failed else "Succeeded"
        self.api.until(
            lambda: self._end_once(run, 1 if failed else 0, done),
            lambda ended: ended,
            180,
            f"end of {run}",
        )

    def _end_once(self, run: str, code: int, phase: str) -> bool:
        for pod in self.pods(run):
            if pod.get("status", {}).get("phase") in ("Pending", "Running"):
                self.api.patch(
                    "v1/Pod",
                    pod["metadata"]["name"],
                    self.namespace,
                    {"status": ended(pod, phase, code)},
                    subresource="status",
                )
        found = self.run(run)
        outcomes = ("Failed",) if code else ("Succeeded", "Complete")
        return any(condition(found, outcome) == "True" for outcome in outcomes)

    def environment(self, run: str) -> dict[str, str]:
        """The variables with a value that a run gives its containers."""
        template = next(_templates(self.run(run)))
        (container,) = template["spec"]["containers"]
        return {item["name"]: item["value"] for item in container["env"] if "value" in item}


def pods_of(api: Api, namespace: str, run: str) -> list[Manifest]:
    """The pods of a run, whichever kind of object it is."""
    labels = ("training.kubeflow.org/job-name", "batch.kubernetes.io/job-name")
    return [pod for label in labels for pod in api.list("v1/Pod", namespace, f"{label}={run}")]


def ended(pod: Manifest, phase: str, code: int) -> dict[str, Any]:
    """The status of a pod whose containers have all ended with a code."""
    at = pod["metadata"]["creationTimestamp"]
    terminated = {
        "exitCode": code,
        "reason": "Error" if code else "Completed",
        "startedAt": at,
        "finishedAt": at,
    }
    return {
        "phase": phase,
        "startTime": at,
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"terminated": terminated},
            }
            for container in pod["spec"]["containers"]
        ],
    }


def _templates(run: Manifest) -> Iterator[Manifest]:
    replicas = run["spec"].get("pytorchReplicaSpecs")
    for spec in replicas.values() if replicas else [run["spec"]]:
        yield spec["template"]
