"""A folder of the node is mounted that policy does not list.

## What it does
Reports a `hostPath` volume, under `pod:` or in a base, whose path is neither one of the cluster's
`node_local_paths` nor below one. Where the Pod Security level of the namespaces refuses all such
volumes, `refused-volume` says so.

## Why it is bad
A host path reaches past the container: into other users' files, the kubelet's credentials or the
container runtime. The cluster's owners say which folders are meant for training.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
pod:
  spec:
    volumes: [{name: docker, hostPath: {path: /var/run/docker.sock}}]
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
mounts:
  /tmp/cache: {scratch: 100Gi}
```

## References
- Kubernetes: Pod Security Standards (baseline: no hostPath volumes)
"""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import normpath

from compiler.diagnostics import Place, Severity
from compiler.model import Run
from compiler.nodes import Scalar
from compiler.passthrough import fragments, mapped, places
from compiler.rules import Report, Route, Rule
from compiler.security.below import below
from compiler.security.posture import level_of
from compiler.site import Site

RULE = Rule(
    code="SEC910",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubernetes.io: concepts/security/pod-security-standards",),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """Host paths that the cluster's policy does not allow."""
    if level_of(site) != "privileged":
        return
    allowed = site.cluster.value.node_local_paths or []
    for path, route, place in _paths(run, site):
        if any(_within(path, root) for root in allowed):
            continue
        yield Report(
            route,
            f"`{path}` of the node is not among the paths that the cluster"
            f" {site.cluster.name} lets jobs mount",
            "write a path under " + ", ".join(allowed)
            if allowed
            else "mount a claim or a scratch folder with `mounts:`, or have the path"
            " listed under node_local_paths",
            (
                *(
                    ((site.cluster.place("node_local_paths"), "the paths of the cluster"),)
                    if allowed
                    else ()
                ),
                *(((run.origins.anchor, "in this job"),) if place is not None else ()),
            ),
            place=place,
        )


def _paths(run: Run, site: Site) -> Iterator[tuple[str, Route, Place | None]]:
    for _, at, pod in fragments(run):
        for route, volume in places(pod.get("spec"), "volumes", (*at, "spec")):
            path = mapped(volume.get("hostPath")).get("path")
            if isinstance(path, Scalar):
                yield path, (*route, "hostPath", "path"), None
    for brought in below(site).host_paths:
        yield brought.text, (), brought.place


def _within(path: str, root: str) -> bool:
    if ".." in path.split("/"):
        return False
    whole, above = normpath(path), normpath(root)
    return whole == above or whole.startswith(above.rstrip("/") + "/")
