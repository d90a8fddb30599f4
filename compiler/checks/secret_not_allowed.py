"""The team may not use this Secret.

## What it does
Reports a Secret in `secrets`, in a mount, in a sidecar, an init container or anywhere in `pod:`
that is missing from the team's `secrets`, where the team has such a list. Pull secrets are not
meant: the process never sees them.

## Why it is bad
Whoever may start a pod in a namespace can read every Secret of it. The list is what keeps a job
from taking another's credentials with it.

## Example
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
secrets: {API_TOKEN: payments/token}
```

## Use instead
```yaml
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt, every: 30m, keep: 3}
secrets: {HF_TOKEN: hf/token}
```

## References
- k8s.io/website: content/en/docs/concepts/security/secrets-good-practices.md
"""

from collections.abc import Iterator
from typing import Any

from compiler.diagnostics import Severity
from compiler.model import Companion, Member, Run
from compiler.nodes import Mapping, Scalar, walk
from compiler.rules import Report, Route, Rule
from compiler.site import Site
from compiler.suggestions import choose

# Where a pod names a Secret (k8s.io/api/core/v1): the field around the name, and the name's own.
_FIELDS = {"secretKeyRef": "name", "secretRef": "name", "secret": "secretName"}

RULE = Rule(
    code="SEC922",
    severity=Severity.ERROR,
    stage="run",
    sources=("k8s.io/website: content/en/docs/concepts/security/secrets-good-practices.md",),
    policy=True,
)


def check(run: Run, site: Site) -> Iterator[Report]:
    """The Secrets that the team's list lacks."""
    allowed = site.team.value.secrets
    if allowed is None:
        return
    for member in run.members:
        for name, route in _named(run, member):
            if name not in allowed:
                yield Report(
                    route,
                    f"the team {site.team.name} may not use the Secret `{name}`",
                    choose(name, allowed) + ", or ask the platform team for it",
                    ((site.team.place("secrets"), "the team's Secrets"),),
                )


def _named(run: Run, member: Member) -> Iterator[tuple[str, Route]]:
    yield from _of(member, run.routes(member))
    for kind, companions in (("sidecars", member.sidecars), ("init", member.init)):
        for index, companion in enumerate(companions):
            yield from _of(companion, run.routes(member, kind, index))
    if not isinstance(member.pod, Mapping):
        return
    for route, node in walk(member.pod):
        field = str(route[-1]) if route else ""
        names: list[str] = [_FIELDS[field]] if field in _FIELDS else []
        if field == "secret":
            # A projected volume has the name under another key than a secret volume.
            names.append("name")
        for key in names:
            value: Any = node.get(key) if isinstance(node, Mapping) else None
            if isinstance(value, Scalar) and not value.empty:
                yield str(value), run.routes(member, "pod", *route, key)


def _of(part: Member | Companion, at: Route) -> Iterator[tuple[str, Route]]:
    for variable in part.env:
        if variable.secret is not None:
            yield variable.secret, (*at, "secrets", variable.name)
    for mount in part.mounts:
        if mount.kind == "secret":
            yield mount.source, (*at, "mounts", mount.path, "secret")
