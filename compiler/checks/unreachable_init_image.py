"""The operator's own init container comes from a registry that the cluster does not list.

## What it does
Reports PyTorchJobs with a first node and others on a cluster that lists its registries, docker.io
not among them, and has no `init_image`.

## Why it is bad
The operator puts an init container with `alpine:3.10` into every worker, which waits until the
first node's name resolves. Where nodes reach no public registry, all workers stop at
ImagePullBackOff. The operator takes another image by `--pytorch-init-container-image`;
`init_image` tells the compiler that this is done.

## Example
```sh
sed -i '/^init_image:/d' policy/clusters/west.yaml
```

## Use instead
```sh
sed -i 's/alpine:3.22/alpine:3.23/' policy/clusters/west.yaml
```

## References
- kubeflow/pytorch-operator#339
- kubeflow/trainer#1696
- kubeflow/training-operator: pkg/controller.v1/pytorch/initcontainer.go
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site, listed_registry

PUBLIC = ("docker.io", "index.docker.io")

RULE = Rule(
    code="NET624",
    severity=Severity.WARNING,
    stage="run",
    sources=(
        "kubeflow/pytorch-operator#339",
        "kubeflow/trainer#1696",
        "kubeflow/training-operator: pkg/controller.v1/pytorch/initcontainer.go",
    ),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The registries of a cluster that lack the operator's image."""
    cluster = site.cluster.value
    if site.backend != "pytorchjob" or run.nodes < 2 or run.elastic is not None:
        return
    listed = cluster.registries or {}
    own = cluster.init_image
    if not listed:
        return
    if own is not None:
        if listed_registry(own.repository, listed) is None:
            yield Report(
                (),
                f"the image of the operator's init container, {own.text}, is from none of the"
                f" registries of {site.cluster.name}",
                "write where a registry of the cluster has it, or list its registry under"
                " `registries`",
                place=site.cluster.place("init_image"),
            )
        return
    if any(name.partition("/")[0] in PUBLIC for name in listed):
        return
    yield Report(
        (),
        "runs on several nodes get the operator's init container, alpine:3.10 from docker.io,"
        f" which {site.cluster.name} does not list",
        "add `init_image:` with the image that the operator is started with"
        " (--pytorch-init-container-image)",
        place=site.cluster.place("registries", key=True),
    )
