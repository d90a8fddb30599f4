"""A base gives every pod a token of the cluster's API.

## What it does
Reports `automountServiceAccountToken: true` and volumes with a service account token in a base. The
compiler writes `automountServiceAccountToken: false`; a job, or a team in its defaults, that needs
the token asks for it with `security: {service_account: NAME, service_account_token: true}`.

## Why it is bad
Training talks to the cluster's API next to never, and runs code from many places. With a token in
the pod, whatever that code is may do all that the account may.

## Example
```sh
sed -i 's/automountServiceAccountToken: false/automountServiceAccountToken: true/' base/job/job.yaml
```

```yaml
team: nlp
image: llm-sft
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
security: {service_account: job-reader, service_account_token: true}
```

## References
- kubernetes.io: tasks/configure-pod-container/configure-service-account
- kubernetes/kubernetes#57601
"""

from collections.abc import Iterator

from compiler.diagnostics import Severity
from compiler.model import Run
from compiler.rules import Report, Rule
from compiler.security.below import below
from compiler.site import Site

RULE = Rule(
    code="SEC924",
    severity=Severity.ERROR,
    stage="run",
    sources=(
        "kubernetes.io: tasks/configure-pod-container/configure-service-account",
        "kubernetes/kubernetes#57601",
    ),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The tokens that the run's base mounts."""
    for place in below(site).tokens:
        yield Report(
            (),
            "every pod gets a token of the cluster's API, whether it asks for one or not",
            "take it out; jobs that need it write security: {service_account_token: true}",
            ((run.origins.anchor, "in this job"),),
            place=place,
        )
