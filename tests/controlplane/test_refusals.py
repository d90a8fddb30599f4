"""What rules say is refused, is refused: by the API server, by a webhook, or by a namespace.

`faults.py` has the faults. One in an object's own form is applied without being kept. One in a
Pod or a Service of it is applied for real: it is accepted, and the operator says what the server
answered when it tried to make them.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from declarations import job, policy

from controlplane import emitting, replicas
from controlplane.api import Api, Manifest, Refused
from controlplane.faults import ELASTIC, FAULTS, SEVERAL, Fault, as_pytorchjob
from controlplane.stack import Stack

LEVELS = ("privileged", "baseline", "restricted")
ENFORCED = "pod-security.kubernetes.io/enforce"
QUEUE = "kueue.x-k8s.io/queue-name"
WEST = "policy/clusters/west.yaml"


@pytest.fixture(scope="module")
def levels(stack: Stack) -> Iterator[dict[str, str]]:
    """A namespace of each Pod Security level, in which the example's priorities are known."""
    api = stack.api
    names = {level: f"refusals-{level}" for level in LEVELS}
    for level, name in names.items():
        about = {"name": name, "labels": {ENFORCED: level}}
        api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": about})
        api.until(lambda name=name: api.get("v1/ServiceAccount", "default", name))
    for name, value in (("low", 100), ("normal", 1000), ("high", 10000)):
        made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
        if api.find("scheduling.k8s.io/v1/PriorityClass", name) is None:
            api.create({**made, "metadata": {"name": name}, "value": value})
    yield names
    for name in names.values():
        api.delete("v1/Namespace", name)


class Shelf:
    """The objects that declarations and pages give, each compiled once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[tuple[str, str, str], Manifest] = {}

    def object(self, fault: Fault, namespaces: Mapping[str, str], name: str) -> Manifest:
        """The object with the fault in it, in no queue; called `name` unless that is the fault."""
        of_page = "" if fault.declaration else fault.rule
        key = (of_page, fault.declaration, fault.level)
        if key not in self._made:
            root = self._folder / str(len(self._made))
            self._made[key] = (
                emitting.of_page(root, fault.rule)
                if of_page
                else emitting.of_declaration(root, fault.declaration, _at(fault.level))
            )[0]
        made = copy.deepcopy(self._made[key])
        if fault.kind == "PyTorchJob":
            made = as_pytorchjob(made)
        made["metadata"] |= {"name": name, "namespace": namespaces[fault.level]}
        made["metadata"].get("labels", {}).pop(QUEUE, None)
        if fault.change is not None:
            fault.change(made)
        assert made["kind"] == fault.kind
        return made


def _at(level: str) -> dict[str, str]:
    return policy(WEST, ("pod_security: privileged", f"pod_security: {level}"))


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Shelf:
    return Shelf(tmp_path_factory.mktemp("shelf"))


@pytest.fixture(scope="module")
def later(stack: Stack, levels: dict[str, str], shelf: Shelf) -> dict[Fault, Manifest]:
    """Objects that are accepted, and of which no Pods or Services can be made."""
    found: dict[Fault, Manifest] = {}
    for number, fault in enumerate(FAULTS):
        if fault.step != "applied":
            found[fault] = stack.api.apply(shelf.object(fault, levels, f"fault-{number:03}"))
    return found


def warnings(api: Api, namespaces: Mapping[str, str]) -> dict[tuple[str, str], str]:
    """All that was warned of, by the namespace and the name of the object."""
    found: dict[tuple[str, str], str] = defaultdict(str)
    for namespace in namespaces.values():
        for event in api.list("v1/Event", namespace):
            if event["type"] == "Warning":
                about = event["involvedObject"]["name"]
                found[namespace, about] += f"{event['reason']}: {event['message']}\n"
    return found


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.step == "applied"], ids=lambda fault: fault.title
)
def test_an_object_with_the_fault_is_refused(
    fault: Fault, stack: Stack, levels: dict[str, str], shelf: Shelf
) -> None:
    with pytest.raises(Refused) as refused:
        stack.api.apply(shelf.object(fault, levels, "fault"), dry_run=True)
    assert fault.says in refused.value.message


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.step != "applied"], ids=lambda fault: fault.title
)
def test_an_object_is_accepted_and_what_is_made_of_it_is_refused(
    fault: Fault, stack: Stack, levels: dict[str, str], later: dict[Fault, Manifest]
) -> None:
    about = later[fault]["metadata"]
    kind = {"pods": "FailedCreatePod", "services": "FailedCreateService"}[fault.step]
    said = stack.api.until(
        lambda: warnings(stack.api, levels)[about["namespace"], about["name"]],
        lambda text: fault.says in text,
        60,
        f"warning of {about['name']} that says {fault.says!r}",
    )
    assert kind in said


@pytest.mark.parametrize("declaration", [job(), SEVERAL, ELASTIC])
@pytest.mark.parametrize("level", LEVELS)
def test_without_a_fault_nothing_is_refused(
    declaration: str, level: str, stack: Stack, levels: dict[str, str], shelf: Shelf
) -> None:
    """Else every fault above would be confirmed by something else."""
    if level != "privileged":
        # Several nodes of the example's cluster have a capability, for the network.
        declaration = job("security: {run_as_user: 1000, non_root: true}")
    fault = Fault("", "", "applied", "", declaration, level=level)
    made = shelf.object(fault, levels, "right")
    stack.api.apply(made, dry_run=True)
    for each in (*replicas.pods(made), *replicas.services(made)):
        stack.api.create(each, dry_run=True)


@pytest.mark.shows("files-too-large")
def test_a_config_map_beyond_a_mebibyte_is_refused(stack: Stack, levels: dict[str, str]) -> None:
    about = {"name": "files", "namespace": levels["privileged"]}
    large = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about}
    stack.api.apply({**large, "data": {"a": "x" * 1_000_000}}, dry_run=True)
    with pytest.raises(Refused, match="may not be more than 1048576 bytes"):
        stack.api.apply({**large, "data": {"a": "x" * 1_048_600}}, dry_run=True)


@pytest.mark.shows("file-too-large")
def test_an_object_beyond_a_mebibyte_and_a_half_is_refused(
    stack: Stack, levels: dict[str, str], shelf: Shelf
) -> None:
    made = shelf.object(Fault("", "", "applied", "", SEVERAL), levels, "large")
    fault = copy.deepcopy(made)
    spec = fault["spec"]["pytorchReplicaSpecs"]["Master"]["template"]["spec"]
    spec["containers"][0]["env"].append({"name": "A", "value": "x" * 1_600_000})
    with pytest.raises(Refused, match="request is too large"):
        stack.api.apply(fault)


def quota(flavors: int, resources: int) -> Manifest:
    """A ClusterQueue with so many flavors, each with so many resources."""
    names = [f"example.com/r{number}" for number in range(resources)]
    each = [{"name": name, "nominalQuota": 1} for name in names]
    listed = [{"name": f"f{number}", "resources": each} for number in range(flavors)]
    group = {"coveredResources": names, "flavors": listed}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "beyond"},
        "spec": {"resourceGroups": [group]},
    }


def flavor(**fields: object) -> Manifest:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "beyond"},
        "spec": fields,
    }


@pytest.mark.shows("beyond-kueue")
@pytest.mark.parametrize(
    ("made", "said"),
    [
        (flavor(nodeLabels=dict.fromkeys("abcdefghi", "a")), "must have at most 8 items"),
        (
            flavor(nodeTaints=[{"key": key, "effect": "NoSchedule"} for key in "abcdefghi"]),
            "must have at most 8 items",
        ),
        (quota(65, 1), "must have at most 64 items"),
        (quota(1, 65), "must have at most 64 items"),
        (quota(57, 9), "512"),
    ],
    ids=["labels", "taints", "flavors", "resources", "pairs"],
)
def test_more_than_kueue_holds_is_refused(made: Manifest, said: str, stack: Stack) -> None:
    with pytest.raises(Refused) as refused:
        stack.api.apply(made, dry_run=True)
    assert said in refused.value.message


def test_as_much_as_kueue_holds_is_accepted(stack: Stack) -> None:
    for made in (
        flavor(nodeLabels=dict.fromkeys("abcdefgh", "a")),
        quota(64, 1),
        quota(1, 64),
        quota(64, 8),
    ):
        stack.api.apply(made, dry_run=True)
