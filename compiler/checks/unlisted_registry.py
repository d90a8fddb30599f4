"""An image comes from a registry that the cluster does not list.

## What it does
Reports an image of any container or image volume, of the job, of `pod:` or of a base, whose
registry is not under `registries` in the cluster's policy. A cluster that lists none takes images
from everywhere.

## Why it is bad
Nodes without a way to that registry wait in ImagePullBackOff while the run holds its
accelerators; and where there is a way, the image has passed nobody's scan.

## Example
```yaml
team: nlp
image: "docker.io/pytorch/pytorch@sha256:\\
  0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
```

## References
- kubeflow/chainer-operator#24
- kubeflow/pytorch-operator#339
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.references import images, locked_name
from compiler.site import Site, registry_of
from compiler.suggestions import any_of

RULE = Rule(
    code="SEC921",
    severity=Severity.ERROR,
    stage="run",
    sources=("kubeflow/chainer-operator#24", "kubeflow/pytorch-operator#339"),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The images from registries that the catalogue lacks."""
    known = site.cluster.value.registries
    if not known:
        return
    for one in images(run, site):
        if "/" not in one.image.registry and locked_name(one.image, site) is not None:
            # `llm-sft:latest` is a name of the lock with a tag: unpinned-image tells of that.
            continue
        if one.image.digest is None and "/" not in one.image.reference:
            # A name alone, or nothing: unpinned-image tells of that too.
            continue
        if registry_of(one.image, site) is None:
            yield one.report(
                f"the cluster {site.cluster.name} takes no images from `{one.image.registry}`",
                any_of(sorted(known), start="copy it to"),
                ((site.cluster.place("registries", key=True), "its registries"),),
            )
