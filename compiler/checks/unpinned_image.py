"""An image is named by a tag, which can come to mean other bytes.

## What it does
Reports an image of any container or image volume that has no digest, neither in the reference nor
through `images/lock.yaml`: of the job, of `pod:`, and of a base.

## Why it is bad
A tag can be moved between the start of one pod and the restart of another. Then one run trains
with two builds, nobody can repeat it, and what was reviewed is not what runs.

## Example
```yaml
team: nlp
image: registry.example.com/training/llm-sft:0.1.1
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
- vllm-project/ci-infra#542
- docker-library/official-images#12277
- NetApp/trident#1177
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.references import images, locked_name
from compiler.site import Site

RULE = Rule(
    code="SEC920",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "vllm-project/ci-infra#542",
        "docker-library/official-images#12277",
        "NetApp/trident#1177",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The images without a digest."""
    for one in images(run, site):
        if one.image.digest is None:
            known = locked_name(one.image, site)
            # Only a field of the declaration knows the names of the lock.
            if known is not None and one.place is None and "pod" not in one.route[:2]:
                remedy = f"write {known}: images/lock.yaml has its digest"
            elif one.place is not None:
                remedy = "add @sha256:<64 hex digits>"
            else:
                remedy = "add @sha256:<64 hex digits>, or an entry with this reference and its "
                remedy += "digest to images/lock.yaml"
            said = f"`{one.image.reference}` has no digest, so it can mean another image tomorrow"
            if not one.image.reference:
                said, remedy = "there is no image here", "write its reference, with a digest"
            yield one.report(said, remedy)
