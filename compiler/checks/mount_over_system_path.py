"""Something is mounted over a folder that the system in the container needs.

## What it does
Reports mounts of the job, its files, its checkpoints and of `pod:` at `/`, at the folders of the
kernel and of the image's programs, inside `/proc`, where the kubelet puts the pod's token, and what
cannot be written at `/dev/shm`. The files of `/proc` that the runtime lets another file stand for,
such as `/proc/meminfo` (lxcfs), are left alone.

## Why it is bad
The container runtime refuses some of these and the container never starts. Others hide the devices
or the image's own programs. Loaders and NCCL write to shared memory, and fail where they cannot.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/proc: {claim: logs}}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts: {/logs: {claim: logs}}
```

## References
- opencontainers/runc: libcontainer/rootfs_linux.go (checkProcMount)
- k8s.io/kubernetes: plugin/pkg/admission/serviceaccount/admission.go (DefaultAPITokenMountPath)
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.passthrough import SHARED_MEMORY
from compiler.rules import Report, Rule
from compiler.site import Site
from compiler.volumes import Mounted, mounted, within

RULE = Rule(
    code="STO715",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "opencontainers/runc: libcontainer/rootfs_linux.go",
        "k8s.io/kubernetes: plugin/pkg/admission/serviceaccount/admission.go",
    ),
)
TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount"  # noqa: S105 - a path, no secret
_PROGRAMS = "the programs and settings of the image"
_SYSTEM = {
    "/": "everything in the image",
    "/proc": "what the kernel tells of processes",
    "/sys": "what the kernel tells of devices",
    "/dev": "the devices",
    TOKEN: "the token that the kubelet puts there",
    **dict.fromkeys(("/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr", "/usr/bin"), _PROGRAMS),
}
# checkProcMount lets these through: what they tell of the node is wrong in a container.
_TOLD_OTHERWISE = frozenset(
    f"/proc/{name}"
    for name in (
        *("cpuinfo", "diskstats", "loadavg", "meminfo", "net/dev", "slabinfo", "stat", "swaps"),
        *("sys/crypto/fips_enabled", "sys/kernel/ns_last_pid", "uptime"),
    )
)
_NEVER_WRITTEN = ("config_map", "secret", "file")


def check(run: Run, site: Site) -> Iterator[Report]:
    """The mounts in the place of what the container needs."""
    for member in run.members:
        for item in mounted(run, member):
            path = "/proc" if within(item.path, "/proc") else item.path
            if item.path in _TOLD_OTHERWISE and item.by in ("files", "pod"):
                continue
            # Whoever asks for no token may put one there by hand, of another audience.
            if path in _SYSTEM and not (path == TOKEN and item.by == "pod"):
                yield _report(
                    item,
                    f"a mount at {item.path} would hide {_SYSTEM[path]}",
                    "mount it at a path of its own, such as /data",
                )
            elif path == SHARED_MEMORY and (item.read_only or item.kind in _NEVER_WRITTEN):
                yield _report(
                    item,
                    f"{path} is shared memory, and what is mounted there cannot be written",
                    "mount it at a path of its own, such as /data",
                )


def _report(item: Mounted, message: str, remedy: str) -> Report:
    route = ("checkpoint", "path") if item.by == "checkpoint" else item.route
    return Report(route, message, remedy, key=item.by in ("mounts", "files"))
