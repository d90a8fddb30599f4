"""What rules say that a cluster refuses: for each of them, an object with the fault in it.

A fault comes from the example on the rule's page, or from a declaration, compiled with the checks
out of the way; where the reader of declarations stands before, a right object is changed by hand.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from declarations import job

from controlplane import emitting
from controlplane.api import Manifest

emitting.beside()

from test_passthrough import PROBLEMS  # noqa: E402, F401
from test_pod_needs import REFUSED as POD_NEEDS  # noqa: E402
from test_pod_security import BASELINE, RESTRICTED  # noqa: E402
from test_pod_values import REFUSED as POD_VALUES  # noqa: E402

Step = Literal["applied", "pods", "services"]
Change = Callable[[Manifest], object]

SEVERAL = job(num_nodes="2")
ELASTIC = job(num_nodes="{min: 2, max: 4}")


class Fault(NamedTuple):
    """One fault: where it comes from, who refuses it when, and a part of what is said then.

    `step` is `applied` where the object itself is refused, else what controllers make of it and
    cannot. `declaration` is empty where the rule's page has the example. `level` is the Pod
    Security level of the namespace. `kind` is the kind of object that is tried; where the
    declaration gives a batch Job and a PyTorchJob is wanted, it gets the same template.
    """

    rule: str
    what: str
    step: Step
    says: str
    declaration: str = ""
    change: Change | None = None
    kind: Literal["Job", "PyTorchJob"] = "PyTorchJob"
    level: str = "privileged"

    @property
    def title(self) -> str:
        return f"{self.rule}: {self.what} ({self.kind}, {self.step})"


def spec_of(manifest: Manifest) -> dict[str, Any]:
    """The spec of the first Pod template of a training object."""
    spec: dict[str, Any] = manifest["spec"]
    if manifest["kind"] == "Job":
        return spec["template"]["spec"]
    roles = spec["pytorchReplicaSpecs"]
    return (roles.get("Master") or roles["Worker"])["template"]["spec"]


def main_of(manifest: Manifest) -> dict[str, Any]:
    """The training container of that template."""
    return next(each for each in spec_of(manifest)["containers"] if each["name"] == "pytorch")


def as_pytorchjob(manifest: Manifest) -> Manifest:
    """The same template in a PyTorchJob of one node."""
    if manifest["kind"] == "PyTorchJob":
        return manifest
    template = copy.deepcopy(manifest["spec"]["template"])
    # What a PyTorchJob says in a place of its own.
    policy = template["spec"].pop("restartPolicy", "Never")
    master = {"replicas": 1, "restartPolicy": policy, "template": template}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": copy.deepcopy(manifest["metadata"]),
        "spec": {"pytorchReplicaSpecs": {"Master": master}},
    }


def setting(path: str, value: Any) -> Change:
    """A change that puts a value at a path of the training container, or of its Pod (`/...`)."""

    def change(manifest: Manifest) -> None:
        at: Any = spec_of(manifest) if path.startswith("/") else main_of(manifest)
        *steps, last = path.strip("/").split("/")
        for step in steps:
            at = at[int(step)] if step.isdigit() else at.setdefault(step, {})
        at[int(last) if last.isdigit() else last] = value

    return change


def adding(path: str, value: Any) -> Change:
    """A change that appends to a list at a path, as `setting` reads it."""

    def change(manifest: Manifest) -> None:
        at: Any = spec_of(manifest) if path.startswith("/") else main_of(manifest)
        *steps, last = path.strip("/").split("/")
        for step in steps:
            at = at[step]
        at.setdefault(last, []).append(value)

    return change


def policy(**fields: Any) -> Change:
    """A change of the run policy of a PyTorchJob."""
    return lambda manifest: manifest["spec"]["runPolicy"].update(fields)


def role(**fields: Any) -> Change:
    """A change of the first node's replica of a PyTorchJob."""
    return lambda manifest: manifest["spec"]["pytorchReplicaSpecs"]["Master"].update(fields)


def metadata(**fields: Any) -> Change:
    """A change of the object's metadata."""
    return lambda manifest: manifest["metadata"].update(fields)


def limits(**fields: Any) -> Change:
    """A change of what the training container may use; `_` in a name stands for `/`."""
    named = {name.replace("_", "/"): value for name, value in fields.items()}
    return lambda manifest: main_of(manifest)["resources"]["limits"].update(named)


def without(path: str) -> Change:
    """A change that takes a field of the training container out."""
    return lambda manifest: main_of(manifest).pop(path)


def page(rule: str, step: Step, says: str, **more: Any) -> Fault:
    """The example of a rule's page."""
    return Fault(rule, "as on its page", step, says, **more)


def by_hand(rule: str, what: str, step: Step, says: str, change: Change, **more: Any) -> Fault:
    """A run on two nodes, changed by hand; or the Job of one node, where that kind is wanted."""
    declaration = job() if more.get("kind") == "Job" else SEVERAL
    return Fault(rule, what, step, says, more.pop("declaration", declaration), change, **more)


# What the API server says of each value in tests/checks/test_pod_values.py: of the Pod where it is
# in a PyTorchJob, of the object itself where it is in a batch Job.
VALUES = {
    "a volume's name": 'volumes[0].name: Invalid value: "V_1"',
    "a mount of no volume": 'volumeMounts[0].name: Not found: "dta"',
    "a path out of the volume": "must not contain '..'",
    "a variable's name": "a valid environment variable name must consist only of",
    "a variable without a name": "name: Required value",
    "a field of the pod": "field label not supported: metadata.nme",
    "all labels as a variable": 'fieldPath: Unsupported value: "metadata.labels"',
    "a value from nowhere": "must specify one of: `fieldRef`",
    "an unnamed ConfigMap": "configMap.name: Required value",
    "a mode that is none": "must be a number between 0 and 0777",
    "a probe's port": "httpGet.port: Invalid value: 99999",
    "a liveness that succeeds twice": "successThreshold: Invalid value: 2: must be 1",
    "a probe that does nothing": "startupProbe: Required value: must specify a handler type",
    "a hook that does nothing": "preStop: Required value: must specify a handler type",
    "a profile without its name": "localhostProfile: Required value",
    "no time at all": "terminationGracePeriodSeconds: Invalid value: 0",
    "a host's name": 'hostname: Invalid value: "A_B"',
    "no name server": "must provide `dnsConfig` when `dnsPolicy` is None",
    "an address": "must be a valid IP address",
    "nodes of no value": "must be specified when `operator` is 'In'",
    "nodes with a value too many": "may not be specified when `operator` is 'Exists'",
    "a weight": "must be in the range 1-100",
    "a skew of nothing": "must be greater than zero",
    "a label's value": "a valid label must be an empty string or consist of",
    "a label's key": "name part must consist of alphanumeric characters",
    "a resource": "must be a standard resource type or fully qualified",
    "less than nothing": "must be greater than or equal to 0",
    "a root that gains nothing": "cannot set `allowPrivilegeEscalation` to false and",
}
# The same of tests/checks/test_pod_needs.py.
NEEDS = {
    "a fourth name server": "must not have more than 3 nameservers",
    "a 33rd domain": "must not have more than 32 search paths",
    "domains that are too long": "must not have more than 2048 characters",
    "a domain with a space": 'searches[0]: Invalid value: "_foo bar"',
    "an option without a name": "options[0]: Required value",
    "an empty name of an option": "options[0]: Required value",
    "Windows": "cannot be set for a windows pod",
    "own users in the node's network": "hostNetwork: Forbidden: when `hostUsers` is false",
    "a device of the whole pod": "resources.limits[example.com/nic]: Unsupported value",
    "a kernel setting twice": 'sysctls[1].name: Duplicate value: "net.a"',
    "a folder of a server": 'nfs.path: Invalid value: "rel"',
    "no server": "nfs.server: Required value",
    "a target of iSCSI": "must be valid format starting with iqn",
    "a unit of iSCSI": "must be between 0 and 255",
    "a driver": 'csi.driver: Invalid value: "A B"',
    "no claim of its own": "volumeClaimTemplate: Required value",
    "a claim without a size": "resources[storage]: Required value",
    "a claim without a mode": "at least 1 access mode is required",
    "a claim of nothing": "must be greater than zero",
    "a mode of a claim": 'accessModes: Unsupported value: "RWO"',
    "a mode that stands alone": "may not use ReadWriteOncePod with other access modes",
    "a mode of a volume": 'volumeMode: Unsupported value: "block"',
    "two sources in one": "may not specify more than 1 volume type per source",
    "two files with one path": "conflicting duplicate paths",
    "two files of the pod with one path": "conflicting duplicate paths",
    "a unit of memory": "are supported with the memory resource",
    "nobody's resources": "resourceFieldRef.containerName: Required value",
    "a version of the fields": "unsupported pod version: v2",
    "a claim of a device without its name": "must specify one of: `resourceClaimName`",
    "the name of a ConfigMap": 'Invalid value: "A B"',
    "a long sleep": "less than terminationGracePeriodSeconds (300)",
    "a hook without a program": "preStop.exec.command: Required value",
    "a header": 'httpHeaders: Invalid value: "X_a"',
    "an open /proc": "`hostUsers` must be false to use `Unmasked`",
    "a profile from the root": "localhostProfile: Invalid value",
    "a mount that is seen by the node": "Bidirectional mount propagation is available only to",
    "keys without a selector": "must not be specified when labelSelector is not set",
    "a key on both sides": "exists in both matchLabelKeys and mismatchLabelKeys",
    "a namespace": 'namespace: Invalid value: "A B"',
    "keys of a spread without a selector": "must not be specified when labelSelector is not set",
    "a field of a node": "not a valid field selector key",
    "two names of one node": "must be only one value",
    "any field of a node": "not a valid selector operator",
    "a value of a node's label": 'values[0]: Invalid value: "A B"',
}

_VALUES = [
    Fault("refused-pod-value", what, step, said, POD_VALUES[what][0], kind=kind)
    for what, said in VALUES.items()
    for step, kind in (("pods", "PyTorchJob"), ("applied", "Job"))
]
# One kind is enough: that a PyTorchJob is accepted with a Pod that is refused is shown above.
_NEEDS = [
    Fault("refused-pod-value", what, "applied", said, POD_NEEDS[what][0], kind="Job")
    for what, said in NEEDS.items()
]

# What becomes of each problem in tests/test_passthrough.py in a PyTorchJob, by the beginning of it.
_UNDECLARED = "field not declared in schema"
_NO_TEXT = "in body must be of type"
FIELDS: dict[str, tuple[Step, str] | None] = {
    "spek: {}": ("applied", _UNDECLARED),
    # Nothing is lost, and nothing is there.
    "containers: []": None,
    "template: {spec: {}}": ("applied", _UNDECLARED),
    # Dropped by the compiler already: a template's name is none of the Pod.
    "metadata: {name: x}": None,
    "spec: {image: x}": ("applied", _UNDECLARED),
    "spec: {labels: {a: b}}": ("applied", _UNDECLARED),
    "spec: {host_network: true}": ("applied", _UNDECLARED),
    "spec: {hostNetwork: yes}": ("applied", "hostNetwork: expected boolean"),
    'spec: {priority: "5"}': ("applied", "priority: expected numeric"),
    "spec: {priority: 1.5}": ("applied", "priority: expected numeric"),
    "spec: {priority: 9999999999999999999}": ("applied", "of type int32"),
    "spec: {volumes: {a: b}}": ("pods", "Not found"),
    "spec: {hostname: }": ("applied", _NO_TEXT),
    "spec: {volumes: [{name: a, emptyDir: }]}": ("applied", _NO_TEXT),
    "spec: {volumes: [{name: a, hostPath: {}}]}": ("applied", "hostPath.path: Required value"),
    "spec: {volumes: [{emptyDir: {}}]}": ("applied", 'omits all key fields ["name"]'),
    "spec: {containers: [{name: side}]}": ("applied", "image: Required value"),
    "spec: {containers: [{name: side, imgae: x}]}": ("applied", _UNDECLARED),
    "spec: {containers: [{name: pytorch, volumeMounts: [{mountPath: /new}]}]}": (
        "applied",
        "volumeMounts[0].name: Required value",
    ),
    "spec: {containers: [{name: pytorch, imagePullPolicy: always}]}": (
        "pods",
        'Unsupported value: "always"',
    ),
    "spec: {containers: [{name: pytorch, ports: [{containerPort: 70000}]}]}": (
        "pods",
        "must be between 1 and 65535",
    ),
    "spec: {containers: [{name: pytorch, resources: {limits: {memory: 16gb}}}]}": (
        "applied",
        "must match the regular expression",
    ),
    "spec: {containers: [{name: pytorch, resources: {limits: {memory: 512m}}}]}": (
        "pods",
        "must be less than or equal to memory limit of 512m",
    ),
    "spec: {containers: [{name: pytorch, resources: {limits: {example.com/nic: 0.5}}}]}": (
        "pods",
        "must be an integer",
    ),
    'spec: {volumes: [{name: a, emptyDir: {sizeLimit: "8Gi\\n"}}]}': (
        "applied",
        "must match the regular expression",
    ),
    "spec: {volumes: [{name: a, emptyDir: {}}, {name: a, emptyDir: {}}]}": (
        "applied",
        'duplicate entries for key [name="a"]',
    ),
    "spec: {volumes: [{name: a, emptyDir: {}, hostPath: {path: /a}}]}": (
        "pods",
        "may not specify more than 1 volume type",
    ),
}
_FIELDS = [
    Fault("bad-pod-field", text, *said, job(f"pod: {{{text}}}"))
    for text, said in FIELDS.items()
    if said is not None
]

_STANDARD = 'violates PodSecurity "{}:latest"'
# What no Pod may say is refused before the level of the namespace is looked at.
_SOONER = {
    "privileged: true": "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
    "hostProcess: true": "hostNetwork must be true if pod contains any hostProcess containers",
    "procMount: Unmasked": "`hostUsers` must be false to use `Unmasked`",
}


def _breach(extra: str, level: str) -> str:
    sooner = [said for part, said in _SOONER.items() if part in extra]
    if "hostUsers: false" in extra:
        sooner = [said for said in sooner if "hostUsers" not in said]
    return sooner[0] if sooner else _STANDARD.format(level)


_POD_SECURITY = [
    Fault(rule, extra or "nothing", "pods", _breach(extra, level), job(extra), level=level)
    for level, table in (("baseline", BASELINE), ("restricted", RESTRICTED))
    for extra, rule in table
]

FAULTS: tuple[Fault, ...] = (
    *_VALUES,
    *_NEEDS,
    *_FIELDS,
    *_POD_SECURITY,
    # Pod Security, as on the pages.
    page("added-capability", "pods", "SYS_PTRACE", level="baseline"),
    page("host-port", "pods", "hostPort", level="baseline"),
    page("probe-of-another-host", "pods", "probe or lifecycle host", level="baseline"),
    page("refused-volume", "pods", "hostPath volumes", level="baseline"),
    page("host-path", "pods", "hostPath volumes", level="baseline"),
    page("privileged-container", "pods", "privileged", level="baseline"),
    page("relaxed-confinement", "pods", "seccompProfile", level="baseline"),
    page("unsafe-sysctl", "pods", "forbidden sysctls", level="baseline"),
    page("shared-host-namespace", "pods", "host namespaces", level="baseline"),
    page("root-user", "pods", "runAsUser=0", level="restricted"),
    page("unrestricted-container", "pods", "allowPrivilegeEscalation", level="restricted"),
    page("operator-container-refused", "pods", 'container "init-pytorch"', level="restricted"),
    # Fields and values.
    page("bad-pod-field", "applied", ".volumeMount: field not declared in schema"),
    page("bad-pod-field", "applied", ".volumeMount: field not declared in schema", kind="Job"),
    page("job-field-in-pod", "applied", ".backoffLimit: field not declared in schema"),
    page("field-set-by-cluster", "pods", "the integer value of priority (5) must not be provided"),
    by_hand("field-set-by-cluster", "whether it pushes others out", "pods",
            "the string value of PreemptionPolicy (Never) must not be provided",
            setting("/preemptionPolicy", "Never")),
    by_hand("field-set-by-cluster", "what the runtime takes", "pods",
            "Pod Overhead set without corresponding RuntimeClass",
            setting("/overhead", {"cpu": "1"})),
    page("refused-pod-value", "pods", 'volumeMounts[0].name: Not found: "cache"'),
    by_hand("bad-base-field", "a variable without a name", "applied", "omits all key fields",
            adding("env", {"value": "1"})),
    by_hand("bad-base-field", "the same in a Job", "applied", "name: Required value",
            adding("env", {"value": "1"}), kind="Job"),
    by_hand("bad-base-field", "an annotation that is no text", "applied", "expected string",
            metadata(annotations={"a": True})),
    by_hand("forbidden-base-value", "a number for text", "applied", "nprocPerNode: expected string",
            lambda made: made["spec"].update(nprocPerNode=8)),
    by_hand("wrong-type", "text for a truth value", "applied", "tty: expected boolean",
            setting("tty", "true")),
    by_hand("wrong-type", "a number for text", "applied", "value: expected string",
            adding("env", {"name": "A", "value": 5})),
    by_hand("wrong-type", "text for a number", "applied", "backoffLimit: expected numeric",
            policy(backoffLimit="3")),
    by_hand("number-out-of-range", "a port", "pods", "must be between 1 and 65535",
            adding("ports", {"name": "a", "containerPort": 70000})),
    by_hand("number-out-of-range", "more retries than 32 bits hold", "applied", "of type int32",
            policy(backoffLimit=2**33)),
    by_hand("number-out-of-range", "no workers", "applied", "must be at least 1",
            lambda made: made["spec"]["pytorchReplicaSpecs"]["Worker"].update(replicas=0)),
    by_hand("unknown-choice", "a restart policy", "pods", 'Unsupported value: "OnFailur"',
            role(restartPolicy="OnFailur")),
    by_hand("bad-quantity", "16gb", "applied", "must match the regular expression",
            limits(memory="16gb")),
    by_hand("bad-quantity", "16GiB", "applied", "must match the regular expression",
            limits(memory="16GiB")),
    by_hand("bad-quantity", "512mi", "applied", "unable to parse quantity's suffix",
            limits(memory="512mi")),
    by_hand("bad-quantity", "16gb, in a Job", "applied", "must match the regular expression",
            limits(memory="16gb"), kind="Job"),
    by_hand("fractional-accelerators", "half of one", "pods", "must be an integer",
            lambda made: main_of(made)["resources"].update(
                limits={"nvidia.com/gpu": "0.5"}, requests={"nvidia.com/gpu": "0.5"})),
    page("unequal-device-requests", "pods", "Limit must be set for non overcommitable resources"),
    page("request-above-limit", "pods", "must be less than or equal to memory limit of 1Ti"),
    page("request-above-limit", "applied", "must be less than or equal to memory limit of 1Ti",
         kind="Job"),
    by_hand("resource-with-a-field", "no name of Kubernetes'", "pods",
            "must be a standard resource type or fully qualified", limits(gpus="1")),
    # Names.
    by_hand("bad-name", "capital letters", "applied", "a lowercase RFC 1123 subdomain must",
            metadata(name="My-Train-r1")),
    by_hand("bad-name", "a letter too many", "services", "must be no more than 63 characters",
            metadata(name="a" * 55)),
    by_hand("unusable-policy-name", "capital letters", "applied",
            "a lowercase RFC 1123 subdomain must", metadata(name="runwright-Speech_2")),
    by_hand("name-too-long-for-pods", "55 letters", "services",
            "must be no more than 63 characters", metadata(name="a" * 55)),
    by_hand("name-too-long-for-pods", "64 letters", "applied", "must be no more than 63 characters",
            metadata(name="a" * 64)),
    by_hand("name-too-long-for-pods", "64 letters in a Job", "applied",
            "must be no more than 63 characters", metadata(name="a" * 64), kind="Job"),
    by_hand("unknown-team", "no namespace", "applied", 'namespaces "nowhere" not found',
            metadata(namespace="nowhere")),
    # What stands twice.
    by_hand("ambiguous-mount", "two sources", "pods", "may not specify more than 1 volume type",
            adding("/volumes", {"name": "two", "emptyDir": {}, "hostPath": {"path": "/a"}})),
    page("containers-of-one-name", "applied", 'duplicate entries for key [name="metrics"]'),
    by_hand("containers-of-one-name", "one in each list", "pods", 'Duplicate value: "pytorch"',
            adding("/initContainers", {"name": "pytorch", "image": "a"})),
    page("second-training-container", "pods", 'Duplicate value: "pytorch"'),
    by_hand("overlapping-mounts", "one path", "applied",
            'duplicate entries for key [mountPath="/ckpt"]',
            adding("volumeMounts", {"name": "shm", "mountPath": "/ckpt"})),
    by_hand("variable-set-twice", "twice", "applied", 'duplicate entries for key [name="A"]',
            lambda made: main_of(made)["env"].extend([{"name": "A", "value": "1"}] * 2)),
    by_hand("variable-set-twice", "twice", "applied", 'duplicate entries for key [name="A"]',
            lambda made: main_of(made)["env"].extend([{"name": "A", "value": "1"}] * 2),
            kind="Job"),
    page("conflicting-ports", "applied", "duplicate entries for key [containerPort=23456"),
    by_hand("conflicting-ports", "the port under another name", "services", "Duplicate value",
            setting("ports/0", {"name": "rdzv", "containerPort": 23456})),
    by_hand("conflicting-ports", "the name on another port", "pods",
            'Duplicate value: "pytorchjob-port"',
            adding("ports", {"name": "pytorchjob-port", "containerPort": 80})),
    by_hand("conflicting-ports", "a long name", "pods", "must be no more than 15 characters",
            adding("ports", {"name": "a-name-of-sixteen", "containerPort": 80})),
    page("unnamed-port", "services", "name: Required value"),
    by_hand("unnamed-port", "one number for two protocols", "services", "Duplicate value",
            lambda made: main_of(made)["ports"].extend([
                {"name": "a", "containerPort": 80, "protocol": "TCP"},
                {"name": "b", "containerPort": 80, "protocol": "UDP"}])),
    page("ambiguous-topology", "applied", "must not contain more than one topology annotation",
         change=lambda made: made["spec"]["pytorchReplicaSpecs"]["Master"]["template"][
             "metadata"]["annotations"].update({
                 "kueue.x-k8s.io/podset-required-topology": "example.com/rack",
                 "kueue.x-k8s.io/podset-preferred-topology": "example.com/rack"})),
    # What is missing.
    by_hand("missing-key", "no image", "applied", "image: Required value: must be required",
            without("image")),
    by_hand("missing-key", "no image in a Job", "applied", "image: Required value",
            without("image"), kind="Job"),
    by_hand("missing-key", "no image of an init container", "pods", "image: Required value",
            adding("/initContainers", {"name": "stage"})),
    by_hand("incomplete-base-container", "no image", "applied",
            "image: Required value: must be required",
            adding("/containers", {"name": "exporter"})),
    by_hand("incomplete-base-container", "no image, in a Job", "applied", "image: Required value",
            adding("/containers", {"name": "exporter"}), kind="Job"),
)  # fmt: skip
