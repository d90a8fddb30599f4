"""The features of a run that a back end may or may not be able to carry."""

from __future__ import annotations

from compiler.model import Route, Run

# Feature -> the route at which a declaration asks for it.
ROUTES: dict[str, Route] = {
    "several-nodes": ("num_nodes",),
    "elastic": ("num_nodes",),
    "master": ("master",),
    "sidecars": ("sidecars",),
    "init": ("init",),
    "files": ("files",),
    "ports": ("ports",),
    "host-network": ("host_network",),
    "queue": ("queue",),
    "topology": ("topology",),
    "pod": ("pod",),
    "retry": ("retry", "max"),
    "max-duration": ("max_duration",),
}
FEATURES = frozenset(ROUTES)


def used(run: Run) -> frozenset[str]:
    """The features that a run uses."""
    flags = {
        "several-nodes": run.nodes > 1,
        "elastic": run.elastic is not None,
        "master": run.first is not run.others,
        "sidecars": any(member.sidecars for member in run.members),
        "init": any(member.init for member in run.members),
        "files": any(member.files for member in run.members),
        "ports": any(member.ports for member in run.members),
        "host-network": run.host_network,
        "queue": run.queue is not None,
        "topology": run.topology is not None,
        "pod": any(member.pod for member in run.members),
        "retry": run.retries > 0,
        "max-duration": run.max_duration is not None,
    }
    return frozenset(name for name, present in flags.items() if present)
