"""What the API server refuses in single values and names of a pod, beyond their types.

The rules are those of k8s.io/kubernetes, pkg/apis/core/validation/validation.go, as far as every
supported version has them. `podneeds` has what fields demand of one another.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from ipaddress import ip_address

from msgspec import Struct

from compiler.containers import OWN_FIELDS, is_device
from compiler.model import Route
from compiler.nodes import Mapping
from compiler.passthrough import Object
from compiler.quantity import parse
from compiler.scalars import shown
from compiler.suggestions import nearest

# What is wrong, and what to write; None where nothing is.
Told = tuple[str, str] | None
Limit = Callable[[str], Told]
# The same of fields together: the step below the mapping, or the steps ("" for the mapping itself),
# whether the key is meant, what is wrong, and what to write.
Mistake = tuple[str | Route, bool, str, str]
# Of a mapping, of it with what is below it, and of its route.
Need = Callable[[Mapping, Object, Route], Iterator[Mistake]]
_LARGEST = 2**31 - 1
_WHOLE = re.compile(r"-?[0-9]{1,19}")
# With a zero before it no number is taken for one, and has a finding for that.
_OCTAL = re.compile(r"-?0[0-9]")
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_DOTTED = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_PART = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_KEY = re.compile(r"[-._a-zA-Z0-9]{1,253}")
_DOMAIN = re.compile(r"_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*\.?|\.")
_IQN = re.compile(
    r"iqn\.\d{4}-\d{2}\.([a-z0-9.-]+)(:[^,;*&$|\s]+)|eui\.[0-9A-Fa-f]{16}|naa\.[0-9A-Fa-f]{32}"
)
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


def or_none(limit: Limit) -> Limit:
    """A limit on a text that may be empty, which says as much as no text."""

    def told(text: str) -> Told:
        return limit(text) if text else None

    return told


def search_domain(text: str) -> Told:
    """A domain in which names are looked for; a dot alone is the root."""
    if len(text) <= 254 and _DOMAIN.fullmatch(text):
        return None
    near = re.sub(r"[^-_.a-z0-9]+", "-", text.lower()).strip("-.")
    return (
        f"{shown(text)} is not a domain: lower-case letters, digits, hyphens and dots",
        f"write {near}" if near else "write a domain such as team.svc.cluster.local",
    )


def rooted(text: str) -> Told:
    """A path from the root."""
    if text.startswith("/"):
        return None
    return f"{shown(text)} is not an absolute path", f"write /{text}"


def profile(text: str) -> Told:
    """A profile's file, within the folder of profiles that the kubelet has."""
    if inner_path(text) is None:
        return None
    told = [step for step in text.split("/") if step not in ("", "..")]
    return (
        f"{shown(text)} is not a path inside the kubelet's folder of profiles",
        f"write {'/'.join(told)}" if told else "write the profile's file",
    )


def header(text: str) -> Told:
    """The name of a header of HTTP."""
    if re.fullmatch("[-A-Za-z0-9]+", text):
        return None
    near = re.sub("[^A-Za-z0-9]+", "-", text).strip("-")
    return (
        f"{shown(text)} is not the name of a header: letters, digits and hyphens",
        f"write {near}" if near else "write a name such as X-Purpose",
    )


def target(text: str) -> Told:
    """The name of a target of iSCSI."""
    if _IQN.fullmatch(text):
        return None
    return (
        f"{shown(text)} is not the name of an iSCSI target",
        "write a name such as iqn.2026-01.com.example:disk",
    )


def driver(text: str) -> Told:
    """The name of a CSI driver."""
    if len(text) <= 63 and _DOTTED.fullmatch(text.lower()):
        return None
    return (
        f"{shown(text)} is not the name of a CSI driver: at most 63 letters, digits, - and .",
        "write a name such as csi.example.com",
    )


def one_of(*known: str) -> Limit:
    """A word of a few."""

    def told(text: str) -> Told:
        if text in known:
            return None
        near = next((word for word in known if word.lower() == text.lower()), None)
        near = near or nearest(text, known)
        message = f"{shown(text)} is not one of: {', '.join(known)}"
        return message, f"write {near}" if near else f"write {' or '.join(known)}"

    return told
