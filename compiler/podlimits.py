"""What the API server refuses in a pod beyond the types of its fields: values and names, in tables.

The rules are those of k8s.io/kubernetes, pkg/apis/core/validation/validation.go, as far as every
supported version has them. `podneeds` has what fields demand of one another.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from ipaddress import ip_address

from msgspec import Struct

from compiler.containers import OWN_FIELDS, is_device
from compiler.quantity import parse
from compiler.scalars import shown
from compiler.suggestions import nearest

# What is wrong, and what to write; None where nothing is.
Told = tuple[str, str] | None
Limit = Callable[[str], Told]
_LARGEST = 2**31 - 1
_WHOLE = re.compile(r"-?[0-9]{1,19}")
# With a zero before it no number is taken for one, and has a finding for that.
_OCTAL = re.compile(r"-?0[0-9]")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DOTTED = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_SYSCTL = re.compile(r"[a-z0-9]([-_a-z0-9]*[a-z0-9])?([./][a-z0-9]([-_a-z0-9]*[a-z0-9])?)*")
_AMOUNT = ("cpu", "memory", "ephemeral-storage")
POD_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
# A volume has whole maps too, and knows nothing of the node.
FILE_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "metadata.labels",
    "metadata.annotations",
)
_OF_MAP = re.compile(r"metadata\.(?:labels|annotations)\['([^']+)'\]")


class Range(Struct, frozen=True):
    """Whole numbers from `low` to `high`."""

    low: int
    high: int = _LARGEST

    def __call__(self, text: str) -> Told:
        if not _WHOLE.fullmatch(text) or _OCTAL.match(text):
            return None
        if self.low <= int(text) <= self.high:
            return None
        if self.high == _LARGEST and int(text) < self.low:
            return (
                f"{shown(text)} is out of range: {self.low} or more is possible",
                f"write {self.low} or more",
            )
        return (
            f"{shown(text)} is out of range: {self.low} to {self.high} is possible",
            f"write a whole number from {self.low} to {self.high}",
        )


def label(text: str) -> Told:
    """A name of one part, such as a container's (DNS-1123 label)."""
    if _LABEL.fullmatch(text):
        return None
    return (
        f"{shown(text)} is not a name: lower-case letters, digits and hyphens, at most 63",
        _instead(text, 63),
    )


def dotted(text: str) -> Told:
    """The name of an object (DNS-1123 subdomain)."""
    if len(text) <= 253 and _DOTTED.fullmatch(text):
        return None
    return (
        f"{shown(text)} is not the name of an object: lower-case letters, digits, hyphens and dots",
        _instead(text, 253),
    )


def _instead(text: str, longest: int) -> str:
    near = re.sub(r"[^a-z0-9]+", "-", text.lower())[:longest].strip("-")
    return f"write {near}" if near else "write a name"


def port_name(text: str) -> Told:
    """A port's name (IANA_SVC_NAME, k8s.io/apimachinery pkg/util/validation, IsValidPortName)."""
    if len(text) > 15:
        return (
            f"the port's name `{text}` has {len(text)} characters; 15 are possible",
            _instead(text, 15),
        )
    if not re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", text):
        return (
            f"the port's name `{text}` may have lower-case letters, digits and single hyphens only",
            _instead(text, 15),
        )
    if "--" in text:
        return (
            f"the port's name `{text}` has two hyphens beside each other",
            f"write {re.sub('-+', '-', text)}",
        )
    if not re.search("[a-z]", text):
        return f"the port's name `{text}` has no letter", f"write p{text}"[:21]
    return None


def port(text: str) -> Told:
    """A port of a probe, by its number or its name."""
    return Range(1, 65535)(text) if _WHOLE.fullmatch(text) else port_name(text)


def variable(text: str) -> Told:
    """The name of an environment variable: any printable letters but `=`."""
    if not text:
        return "a variable without a name", "write its name"
    if "=" in text:
        name, _, value = text.partition("=")
        return f"{shown(text)} is not the name of a variable", f"write name: {name}, value: {value}"
    if not (text.isascii() and text.isprintable()):
        return f"{shown(text)} is not the name of a variable", "write letters, digits and _"
    return None


def qualified(text: str) -> Told:
    """A key of labels, annotations, taints or resources: name, or prefix/name."""
    prefix, slash, name = text.rpartition("/")
    if _PART.fullmatch(name) and (not slash or (len(prefix) <= 253 and _DOTTED.fullmatch(prefix))):
        return None
    return (
        f"{shown(text)} is not a key: name or prefix/name, the name with at most 63 characters",
        "write a key such as example.com/purpose",
    )


def annotation(text: str) -> Told:
    """A key of annotations, whose letters the API server takes for small ones."""
    return None if qualified(text.lower()) is None else qualified(text)


def label_value(text: str) -> Told:
    """The value of a label."""
    if not text or _PART.fullmatch(text):
        return None
    near = re.sub(r"[^-A-Za-z0-9_.]+", "-", text)[:63].strip("-_.")
    return (
        f"{shown(text)} is not a label's value: at most 63 letters, digits, - _ and .",
        f"write {near}" if near else "write such a value, or an annotation instead",
    )


def resource(text: str) -> Told:
    """A resource of a container."""
    if text in OWN_FIELDS or (is_device(text) and qualified(text) is None):
        return None
    near = nearest(text, _AMOUNT, 0.75)
    meant = near or "the device plugin's whole name, such as nvidia.com/gpu"
    return f"`{text}` is no resource of a container", f"write {meant}"


def amount(text: str) -> Told:
    """A quantity that is not below nothing."""
    if text.startswith("-") and (size := parse(text[1:])) is not None and size.value:
        return f"{shown(text)} is below 0", f"write {text[1:]}"
    return None


def inner_path(text: str) -> Told:
    """A path within a volume."""
    if not text.startswith("/") and ".." not in text.split("/"):
        return None
    steps = [step for step in text.split("/") if step not in ("", "..")]
    meant = f"write {'/'.join(steps)}" if steps else "write a folder of the volume"
    return f"{shown(text)} is not a path inside the volume", meant


def file_path(text: str) -> Told:
    """A path of a file that a volume makes."""
    return ("there is no path here", "write the file's name") if not text else inner_path(text)


def host_path(text: str) -> Told:
    """A path on the node, or that of a device in the container."""
    if ".." in text.split("/"):
        return f"{shown(text)} has a step `..`", "write the path without it"
    return None


def key(text: str) -> Told:
    """A key of a ConfigMap or a Secret."""
    if _KEY.fullmatch(text) and not re.match(r"\.\.|\.\Z", text):
        return None
    return (
        f"{shown(text)} is not a key: letters, digits, - _ and . are possible",
        "write the key as the Secret or ConfigMap has it",
    )


def address(text: str) -> Told:
    """An IP address."""
    try:
        ip_address(text)
    except ValueError:
        return f"{shown(text)} is not an IP address", "write an address such as 10.0.0.1"
    return None


def sysctl(text: str) -> Told:
    """The name of a kernel setting."""
    if len(text) <= 253 and _SYSCTL.fullmatch(text):
        return None
    return f"{shown(text)} is not a kernel setting", "write a name such as net.core.somaxconn"


def filled(text: str) -> Told:
    """Any text but none."""
    return None if text else ("there is nothing here", "write the value, or leave the key out")


def container_amount(text: str) -> Told:
    """The resource that a variable or file tells, such as limits.memory."""
    kind, _, name = text.partition(".")
    if kind in ("limits", "requests") and (name in OWN_FIELDS or name.startswith("hugepages-")):
        return None
    known = [f"{kind}.{name}" for kind in ("limits", "requests") for name in _AMOUNT]
    near = nearest(text, known)
    return f"{shown(text)} cannot be told to a container", f"write {near or known[1]}"


def field_of(known: tuple[str, ...]) -> Limit:
    """The fields of a pod that can be told to its containers."""

    def told(text: str) -> Told:
        of_map = _OF_MAP.fullmatch(text)
        keyed = annotation if text.startswith("metadata.annotations") else qualified
        if text in known or (of_map is not None and keyed(of_map[1]) is None):
            return None
        near = nearest(text, known)
        return (
            f"{shown(text)} is no field that a container can be told",
            f"write {near}" if near else f"write one of: {', '.join(known)}",
        )

    return told


def _or_none(limit: Limit) -> Limit:
    """A limit on a text that may be empty, which says as much as no text."""

    def told(text: str) -> Told:
        return limit(text) if text else None

    return told


_ANY = Range(0)
_MODE = Range(0, 0o777)
_PERCENT = Range(1, 100)
# By the Kubernetes type and its field: each value, and each item of a list of texts.
VALUES: dict[tuple[str, str], Limit] = {
    ("PodSpec", "activeDeadlineSeconds"): Range(1),
    ("PodSpec", "terminationGracePeriodSeconds"): _ANY,
    ("PodSpec", "hostname"): _or_none(label),
    ("PodSpec", "subdomain"): _or_none(label),
    ("PodSpec", "nodeName"): _or_none(dotted),
    ("PodSpec", "priorityClassName"): _or_none(dotted),
    ("PodSpec", "runtimeClassName"): dotted,
    ("PodSpec", "serviceAccountName"): _or_none(dotted),
    ("PodDNSConfig", "nameservers"): address,
    ("HostAlias", "ip"): address,
    ("HostAlias", "hostnames"): dotted,
    ("PodSchedulingGate", "name"): qualified,
    ("PodReadinessGate", "conditionType"): qualified,
    ("PodResourceClaim", "name"): label,
    ("Container", "name"): label,
    ("ContainerPort", "hostIP"): _or_none(address),
    ("Volume", "name"): label,
    ("VolumeMount", "mountPath"): filled,
    ("VolumeMount", "subPath"): inner_path,
    ("VolumeMount", "subPathExpr"): inner_path,
    ("VolumeDevice", "devicePath"): host_path,
    ("EnvVar", "name"): variable,
    ("EnvFromSource", "prefix"): _or_none(variable),
    ("ResourceFieldSelector", "resource"): container_amount,
    ("ConfigMapKeySelector", "key"): key,
    ("SecretKeySelector", "key"): key,
    ("KeyToPath", "key"): key,
    ("KeyToPath", "mode"): _MODE,
    ("KeyToPath", "path"): file_path,
    ("DownwardAPIVolumeFile", "mode"): _MODE,
    ("DownwardAPIVolumeFile", "path"): file_path,
    ("ServiceAccountTokenProjection", "expirationSeconds"): Range(600),
    ("ServiceAccountTokenProjection", "path"): file_path,
    ("HostPathVolumeSource", "path"): host_path,
    ("PersistentVolumeClaimVolumeSource", "claimName"): dotted,
    ("EmptyDirVolumeSource", "sizeLimit"): amount,
    ("Probe", "initialDelaySeconds"): _ANY,
    ("Probe", "timeoutSeconds"): _ANY,
    ("Probe", "periodSeconds"): _ANY,
    ("Probe", "failureThreshold"): _ANY,
    ("Probe", "successThreshold"): _ANY,
    ("Probe", "terminationGracePeriodSeconds"): Range(1),
    ("HTTPGetAction", "port"): port,
    ("TCPSocketAction", "port"): port,
    ("SleepAction", "seconds"): _ANY,
    ("SecurityContext", "runAsUser"): _ANY,
    ("SecurityContext", "runAsGroup"): _ANY,
    ("PodSecurityContext", "runAsUser"): _ANY,
    ("PodSecurityContext", "runAsGroup"): _ANY,
    ("PodSecurityContext", "fsGroup"): _ANY,
    ("PodSecurityContext", "supplementalGroups"): _ANY,
    ("Sysctl", "name"): sysctl,
    ("Toleration", "value"): label_value,
    ("NodeSelectorRequirement", "key"): qualified,
    ("LabelSelectorRequirement", "key"): qualified,
    ("LabelSelectorRequirement", "values"): label_value,
    ("PreferredSchedulingTerm", "weight"): _PERCENT,
    ("WeightedPodAffinityTerm", "weight"): _PERCENT,
    ("PodAffinityTerm", "topologyKey"): qualified,
    ("TopologySpreadConstraint", "maxSkew"): Range(1),
    ("TopologySpreadConstraint", "minDomains"): Range(1),
    ("TopologySpreadConstraint", "topologyKey"): qualified,
    **{
        (kind, "defaultMode"): _MODE
        for kind in (
            "ConfigMapVolumeSource",
            "DownwardAPIVolumeSource",
            "ProjectedVolumeSource",
            "SecretVolumeSource",
        )
    },
}
# The keys and the values of a mapping whose keys are free.
MAPS: dict[tuple[str, str], tuple[Limit, Limit | None]] = {
    ("TemplateMetadata", "labels"): (qualified, label_value),
    ("TemplateMetadata", "annotations"): (annotation, None),
    ("PodSpec", "nodeSelector"): (qualified, label_value),
    ("LabelSelector", "matchLabels"): (qualified, label_value),
    ("ResourceRequirements", "limits"): (resource, amount),
    ("ResourceRequirements", "requests"): (resource, amount),
}
