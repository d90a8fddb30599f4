"""The Pod Security Standards: what a pod may say in a namespace of each level.

The rules are those that the API server enforces (k8s.io/pod-security-admission v0.35, package
policy), for pods of Linux. What each forbids is told one field at a time, so that each can be found
in the file where it is written.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

from msgspec import Struct

Level = Literal["privileged", "baseline", "restricted"]
Control = Literal[
    "privileged",
    "host-process",
    "host-namespaces",
    "host-path",
    "host-port",
    "probe-host",
    "capabilities",
    "dropped-capabilities",
    "confinement",
    "sysctls",
    "volume-types",
    "escalation",
    "non-root",
    "user",
]
# A field in a pod template: keys, and the names of the items of lists.
Path = tuple[str, ...]
Object = dict[str, Any]

LATEST = 35
DEFAULT_CAPABILITIES = frozenset((
    "AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD",
    "NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
))  # fmt: skip
# Each with the minor version of Kubernetes since which it counts as safe.
SYSCTLS = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
}
SELINUX_TYPES = {
    "": 0,
    "container_t": 0,
    "container_init_t": 0,
    "container_kvm_t": 0,
    "container_engine_t": 31,
}
VOLUMES = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
    "projected", "secret",
))  # fmt: skip
PROFILES = ("RuntimeDefault", "Localhost")
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


class Breach(Struct, frozen=True):
    """A field that a level forbids, or (where `value` is None) one that it demands.

    `container` is the container that it is about, "" for the pod as a whole.
    """

    control: Control
    path: Path
    value: Any
    container: str = ""


def breaches(pod: Object, level: Level, minor: int = LATEST) -> Iterator[Breach]:
    """What a pod (`metadata`, `spec`) has against a level, on Kubernetes 1.<minor>.

    One mistake is told once: at `restricted`, what its own control says of a field stands for what
    baseline says of it.
    """
    if level == "privileged":
        return
    restricted = level == "restricted"
    spec = _map(pod.get("spec"))
    windows = _map(spec.get("os")).get("name") == "windows"
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field) is True:
            yield Breach("host-namespaces", ("spec", field), True)
    yield from _confined(_map(spec.get("securityContext")), ("spec", "securityContext"), minor, "")
    for key, value in _map(_map(pod.get("metadata")).get("annotations")).items():
        if key.startswith(APPARMOR) and not _apparmor(str(value)):
            yield Breach("confinement", ("metadata", "annotations", key), value)
    yield from _sysctls(spec, minor)
    yield from _volumes(spec, restricted)
    for name, path, container in containers(spec):
        yield from _baseline(container, path, name, spec, restricted, minor)
        if restricted:
            yield from _capabilities(container, path, name, windows)
    if restricted:
        yield from _rootless(spec, minor)
        if not windows:
            yield from _seccomp(spec)


def containers(spec: Object) -> Iterator[tuple[str, Path, Object]]:
    """Every container of a pod: its name, its path and itself."""
    for field in CONTAINERS:
        for container in _list(spec.get(field)):
            name = str(container.get("name", ""))
            yield name, ("spec", field, name), container


def _baseline(
    container: Object, path: Path, name: str, spec: Object, restricted: bool, minor: int
) -> Iterator[Breach]:
    security, at = _map(container.get("securityContext")), (*path, "securityContext")
    if security.get("privileged") is True:
        yield Breach("privileged", (*at, "privileged"), True, name)
    yield from _confined(security, at, minor, name)
    mount = security.get("procMount")
    relaxed = minor >= 35 and spec.get("hostUsers") is False and not restricted
    if mount not in (None, "Default") and not relaxed:
        yield Breach("confinement", (*at, "procMount"), mount, name)
    if not restricted:
        for capability in _words(_map(security.get("capabilities")).get("add")):
            if capability not in DEFAULT_CAPABILITIES:
                yield Breach("capabilities", (*at, "capabilities", "add"), capability, name)
    for port in _list(container.get("ports")):
        if port.get("hostPort"):
            key = str(port.get("containerPort", ""))
            yield Breach("host-port", (*path, "ports", key, "hostPort"), port["hostPort"], name)
    if minor >= 34:
        yield from _hosts(container, path, name)


def _confined(security: Object, at: Path, minor: int, name: str) -> Iterator[Breach]:
    """What takes a container out of its confinement, at the pod and at each container."""
    for field in ("appArmorProfile", "seccompProfile"):
        kind = _map(security.get(field)).get("type")
        if field in security and security[field] is not None and kind not in PROFILES:
            yield Breach("confinement", (*at, field, "type"), kind or "", name)
    options = _map(security.get("seLinuxOptions"))
    kind = str(options.get("type") or "")
    if SELINUX_TYPES.get(kind, minor + 1) > minor:
        yield Breach("confinement", (*at, "seLinuxOptions", "type"), kind, name)
    for field in ("user", "role"):
        if options.get(field):
            yield Breach("confinement", (*at, "seLinuxOptions", field), options[field], name)
    if _map(security.get("windowsOptions")).get("hostProcess") is True:
        yield Breach("host-process", (*at, "windowsOptions", "hostProcess"), True, name)


def _apparmor(profile: str) -> bool:
    return profile in ("", "runtime/default") or profile.startswith("localhost/")


def _sysctls(spec: Object, minor: int) -> Iterator[Breach]:
    for sysctl in _list(_map(spec.get("securityContext")).get("sysctls")):
        name = str(sysctl.get("name", ""))
        if SYSCTLS.get(name, minor + 1) > minor:
            yield Breach("sysctls", ("spec", "securityContext", "sysctls", name), name)


def _volumes(spec: Object, restricted: bool) -> Iterator[Breach]:
    for volume in _list(spec.get("volumes")):
        kinds = [kind for kind, value in volume.items() if kind != "name" and value is not None]
        name = str(volume.get("name", ""))
        if "hostPath" in kinds:
            yield Breach("host-path", ("spec", "volumes", name, "hostPath"), "hostPath")
        elif restricted and not VOLUMES.intersection(kinds):
            # The API server takes a volume that names no source for an empty folder.
            for kind in kinds[:1]:
                yield Breach("volume-types", ("spec", "volumes", name, kind), kind)


def _hosts(container: Object, path: Path, name: str) -> Iterator[Breach]:
    lifecycle = _map(container.get("lifecycle"))
    handlers = [
        ((*path, field), _map(container.get(field)))
        for field in ("livenessProbe", "readinessProbe", "startupProbe")
    ]
    handlers += [
        ((*path, "lifecycle", field), _map(lifecycle.get(field)))
        for field in ("postStart", "preStop")
    ]
    for at, handler in handlers:
        for kind in ("httpGet", "tcpSocket"):
            host = _map(handler.get(kind)).get("host")
            if host:
                yield Breach("probe-host", (*at, kind, "host"), host, name)


def _capabilities(container: Object, path: Path, name: str, windows: bool) -> Iterator[Breach]:
    if windows:
        return
    security, at = _map(container.get("securityContext")), (*path, "securityContext")
    capabilities = _map(security.get("capabilities"))
    if security.get("allowPrivilegeEscalation") is not False:
        value = security.get("allowPrivilegeEscalation")
        yield Breach("escalation", (*at, "allowPrivilegeEscalation"), value, name)
    if "ALL" not in _words(capabilities.get("drop")):
        yield Breach("dropped-capabilities", (*at, "capabilities", "drop"), None, name)
    for capability in _words(capabilities.get("add")):
        if capability != "NET_BIND_SERVICE":
            yield Breach("capabilities", (*at, "capabilities", "add"), capability, name)


def _rootless(spec: Object, minor: int) -> Iterator[Breach]:
    if minor >= 35 and spec.get("hostUsers") is False:
        return
    pod = _map(spec.get("securityContext"))
    of_pod = pod.get("runAsNonRoot")
    missing: list[tuple[str, Path]] = []
    for name, path, security in (
        ("", ("spec",), pod),
        *((n, p, _map(c.get("securityContext"))) for n, p, c in containers(spec)),
    ):
        at = (*path, "securityContext")
        own = security.get("runAsNonRoot")
        if own is False:
            yield Breach("non-root", (*at, "runAsNonRoot"), False, name)
        elif own is None and name and of_pod is None:
            missing.append((name, path))
        if security.get("runAsUser") == 0 and security.get("runAsUser") is not False:
            yield Breach("user", (*at, "runAsUser"), 0, name)
    yield from _demanded("non-root", "runAsNonRoot", missing)


def _seccomp(spec: Object) -> Iterator[Breach]:
    of_pod = _map(spec.get("securityContext")).get("seccompProfile")
    if of_pod is not None:
        return
    missing = [
        (name, path)
        for name, path, container in containers(spec)
        if _map(container.get("securityContext")).get("seccompProfile") is None
    ]
    yield from _demanded("confinement", "seccompProfile", missing)


def _demanded(control: Control, field: str, missing: list[tuple[str, Path]]) -> Iterator[Breach]:
    """What neither the pod nor these containers say: one mistake, which the pod would mend."""
    if missing:
        name = missing[0][0] if len(missing) == 1 else ""
        yield Breach(control, ("spec", "securityContext", field), None, name)


def _map(value: Any) -> Object:
    return cast("Object", value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Object]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [cast("Object", item) for item in items if isinstance(item, dict)]


def _words(value: Any) -> list[str]:
    items = cast("list[Any]", value) if isinstance(value, list) else []
    return [str(item) for item in items]
