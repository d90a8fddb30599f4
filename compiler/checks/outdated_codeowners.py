"""CODEOWNERS is not what policy says.

## What it does
Compares `.github/CODEOWNERS` (on GitLab `.gitlab/CODEOWNERS`), where the repository has one, with
what `runwright codeowners` writes. Repositories without one are left alone: another host may know
its owners in another way.

## Why it is bad
The host asks those who stand in the file. A team whose owners changed in policy alone is approved
by people who left it, and a new team's folder by anybody.

## Example
```sh
mkdir .github
echo '/jobs/nlp/ @kim-nlp' > .github/CODEOWNERS
```

## Use instead
```sh
mkdir .github
cat > .github/CODEOWNERS <<'END'
# Who approves what; from `owners` in policy/rules.yaml and policy/teams/.
# Written by `runwright codeowners`; edits are lost. The last pattern that matches decides.

# The platform team's.
/jobs/*.yaml      @example-org/platform
/jobs/*.yml       @example-org/platform
/policy/          @example-org/platform
/base/            @example-org/platform
/images/lock.yaml @example-org/platform
/overlays/        @example-org/platform
/ci/              @example-org/platform
/pyproject.toml   @example-org/platform
/requirements.txt @example-org/platform
/.github/         @example-org/platform

# The teams'.
/jobs/nlp/    @kim-nlp @example-org/nlp-leads
/jobs/speech/ @lee-speech @example-org/speech-leads
/jobs/vision/ @example-org/vision
END
```

## References
- rubyatscale/code_ownership#9
- grafana/helm-charts#345
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from compiler.codeowners import PLACES, is_readable, platform_owners, text
from compiler.diagnostics import Finding, Place, Severity
from compiler.rules import Rule, finding

if TYPE_CHECKING:
    from compiler.check import Judged
    from compiler.project import Project

RULE = Rule(
    code="OPS891",
    severity=Severity.ERROR,
    stage="repository",
    sources=("rubyatscale/code_ownership#9", "grafana/helm-charts#345"),
    policy=True,
)


def check(jobs: Sequence[Judged], project: Project) -> Iterator[Finding]:
    """The files that a host reads and that policy would have otherwise."""
    if not is_readable(project.policy) or not platform_owners(project.policy):
        # Without owners there is no right file: policy-without-owners tells of that.
        return
    for host, place in PLACES.items():
        there = project.repository.surroundings.get(place)
        if there is None:
            continue
        wanted = text(project.policy, host)
        if there == wanted.encode():
            continue
        lines, right = there.decode("utf-8", "replace").splitlines(), wanted.splitlines()
        at = next(
            (n for n, (is_, be) in enumerate(zip(lines, right, strict=False)) if is_ != be),
            min(len(lines), len(right)),
        )
        at = min(at, max(len(lines) - 1, 0))
        length = len(lines[at]) if lines else 0
        yield finding(
            "outdated-codeowners",
            Place(place, at + 1, 1, at + 1, length + 1),
            f"{place} is not what policy says about owners",
            "run `runwright codeowners` and commit what it writes",
        )
