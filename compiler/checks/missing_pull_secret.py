"""A container of `pod:` has an image that needs a pull secret, and the pods have none for it.

## What it does
The pull secrets of the catalogue's registries are added to every pod by themselves for all images
that the declaration's own fields name. This reports an image in `pod:` from such a registry,
where neither another image nor `pull_secrets` nor `pod:` brings its secret.

## Why it is bad
The registry refuses the pull, the pod waits in ImagePullBackOff, and all other pods of the run
wait with it.

## Example
```yaml
team: nlp
image: nccl-tests
accelerators: H100:8
command: [torchrun, train.py]
queue: research
max_duration: 24h
pod:
  spec:
    containers:
      - name: exporter
        image: "registry.example.com/training/exporter@sha256:\
          0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
```

## Use instead
```yaml
team: nlp
image: nccl-tests
accelerators: H100:8
command: [torchrun, train.py]
queue: research
max_duration: 24h
pull_secrets: [registry-training]
pod:
  spec:
    containers:
      - name: exporter
        image: "registry.example.com/training/exporter@sha256:\
          0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
```

## References
- kubeflow/chainer-operator#24
- dask/dask-kubernetes#182
"""

from collections.abc import Iterator

from compiler.containers import containers, passed
from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.site import Site, registry_of

RULE = Rule(
    code="NET620",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubeflow/chainer-operator#24", "dask/dask-kubernetes#182"),
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The images of `pod:` whose registry's secret the pods lack."""
    for member in run.members:
        present = set(run.pull_secrets)
        present |= {
            str(node.get("name", "")) for _, node in passed(run, member, "spec", "imagePullSecrets")
        }
        for part in containers(run, member):
            registry = registry_of(part.image.value, site) if part.image is not None else None
            if part.image is None or registry is None or registry[1] in (None, *present):
                continue
            yield Report(
                part.image.route,
                f"images of {registry[0]} need the pull secret `{registry[1]}`",
                f"add pull_secrets: [{registry[1]}]",
                ((site.cluster.place("registries", registry[0], "pull_secret"), "the registry's"),),
            )
