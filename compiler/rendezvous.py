"""Where a launcher's flags send the nodes to find each other."""

from __future__ import annotations

from compiler.launch import Flag, Launch
from compiler.model import Run

_HOSTS = ("master_addr", "main_process_ip")


def written_host(run: Run, launch: Launch, flag: Flag) -> str | None:
    """The host that a flag of the launcher sends all nodes to; None where it names none.

    That is a pod of the run, and so nobody can write it down, but for the endpoint of etcd, which
    is a service of its own: it counts as none.
    """
    if not flag.value or flag.passed:
        return None
    if flag.name in _HOSTS:
        return flag.value
    if flag.name != "rdzv_endpoint":
        return None
    backend = launch.flag("rdzv_backend")
    name = backend.value if backend is not None else run.elastic.backend if run.elastic else "c10d"
    if name is None or name.startswith("etcd"):
        return None
    host, colon, port = flag.value.rpartition(":")
    return host if colon and port.isdigit() else flag.value
