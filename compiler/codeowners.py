"""`CODEOWNERS`: who approves what, from policy alone.

GitHub and GitLab let the last pattern that matches a path decide, and read the file of the branch
that a change goes to. No pattern here depends on which jobs there are: a new job changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from compiler.diagnostics import Severity

if TYPE_CHECKING:
    from compiler.repository import Policy

# Where a host looks first; what stands elsewhere is not ours to write.
PLACES = {"github": ".github/CODEOWNERS", "gitlab": ".gitlab/CODEOWNERS"}
# What no team owns. Declarations outside a team's folder may be of any team.
PLATFORM = (
    "/jobs/*.yaml",
    "/jobs/*.yml",
    "/policy/",
    "/base/",
    "/images/lock.yaml",
    "/overlays/",
    "/ci/",
    "/pyproject.toml",
    "/requirements.txt",
)
_PIPELINES = {"github": ("/.github/",), "gitlab": ("/.gitlab/", "/.gitlab-ci.yml")}
_HEADER = (
    "# Who approves what; from `owners` in policy/rules.yaml and policy/teams/.",
    "# Written by `runwright codeowners`; edits are lost. The last pattern that matches decides.",
)


def text(policy: Policy, host: str) -> str:
    """The file for a host (a key of PLACES), of a policy that has owners."""
    lines = list(_HEADER)
    lines += ["", "# The platform team's."]
    lines += _rows((*PLATFORM, *_PIPELINES[host]), platform_owners(policy))
    teams = [(name, team.value.owners) for name, team in sorted(policy.teams.items())]
    if teams:
        lines += ["", "# The teams'."]
        width = max(len(_folder(name)) for name, _ in teams)
        lines += [row for name, own in teams for row in _rows([_folder(name)], own, width)]
    return "\n".join(lines) + "\n"


def platform_owners(policy: Policy) -> Sequence[str]:
    """Who approves what is no team's; nobody where policy does not say."""
    return (policy.rules.value.owners if policy.rules is not None else None) or ()


def is_readable(policy: Policy) -> bool:
    """Whether all that the file is made from could be read, and may be called as it is."""
    found = (item for item in policy.findings if item.severity is Severity.ERROR)
    wrong = {*policy.broken, *(item.place.path for item in found)}
    return not any(path.startswith(("policy/teams/", "policy/rules.")) for path in wrong)


def _folder(team: str) -> str:
    return f"/jobs/{team}/"


def _rows(patterns: Iterable[str], owners: Sequence[str], width: int = 0) -> list[str]:
    patterns = list(patterns)
    width = max([width, *map(len, patterns)])
    handles = " ".join(dict.fromkeys(handle(owner) for owner in owners))
    return [f"{pattern:<{width}} {handles}" for pattern in patterns]


def handle(owner: str) -> str:
    """An owner as a host reads it: `@kim`, `@org/team`."""
    return owner if owner.startswith("@") else f"@{owner}"
