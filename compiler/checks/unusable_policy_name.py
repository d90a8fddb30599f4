"""A team or a cluster has a name that no object can have.

## What it does
Reports files of `policy/teams/` and `policy/clusters/` whose name is not a DNS label: lower-case
letters, digits and hyphens, at most 63 of them, with a letter or a digit at both ends.

## Why it is bad
The file's name is the name of the team or cluster. It becomes a part of the names of ConfigMaps,
cluster queues, cohorts and accounts, and the value of a label: the API server refuses all of these
with an upper-case letter or an underscore, and the syncer stands still for everybody.

## Example
```sh
cp policy/teams/speech.yaml policy/teams/Speech_2.yaml
sed -i -e 's/p-speech/p-speech-2/' -e '/^quota:/,/^caps:/{/^caps:/!d}' policy/teams/Speech_2.yaml
```

## Use instead
```sh
cp policy/teams/speech.yaml policy/teams/speech-2.yaml
sed -i -e 's/p-speech/p-speech-2/' -e '/^quota:/,/^caps:/{/^caps:/!d}' policy/teams/speech-2.yaml
```

## References
- RFC 1123, section 2.1
- kubernetes/kubernetes: staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Finding, Place, Severity
from compiler.names import proposed_name
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="NAM307",
    severity=Severity.ERROR,
    stage="repository",
    sources=("RFC 1123, section 2.1",),
)
_LABEL = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The teams and clusters whose files have such names."""
    policy = project.policy
    for what, documents in (("team", policy.teams), ("cluster", policy.clusters)):
        for document in documents.values():
            name = document.name
            # Where another file has the same letters, names-alike tells it.
            if _LABEL.fullmatch(name) or (name != name.lower() and name.lower() in documents):
                continue
            folder = document.path.rpartition("/")[0]
            yield finding(
                "unusable-policy-name",
                Place.start(document.path),
                f"no {what} can be called `{name}`: a name has lower-case letters, digits and "
                "hyphens, at most 63, and ends with none of the hyphens",
                f"call the file {folder}/{proposed_name(name)}.yaml",
            )
