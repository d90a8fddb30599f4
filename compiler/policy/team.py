"""`policy/teams/<team>.yaml`: who a team is, and what it may use."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from compiler.declaration import Defaults
from compiler.fields import (
    Count,
    Fields,
    Form,
    Label,
    Reads,
    Seconds,
    Subdomain,
    Text,
    Whole,
    described,
    matching,
)
from compiler.policy.cluster import AcceleratorName

_HANDLE = r"@?[A-Za-z0-9][A-Za-z0-9-]*(/[A-Za-z0-9._-]+)?"
Handle = Annotated[
    str,
    Reads(
        matching(
            _HANDLE,
            "a GitHub handle",
            "write a login such as kim, or org/team",
        ),
        Form(_HANDLE),
    ),
]


class Quota(Fields):
    """How many accelerators of one kind a team may hold at once."""

    guaranteed: Whole = Field(description="Always there for the team.")
    borrowing: Whole | None = described("On top of it while others leave theirs idle.")


class Caps(Fields):
    """The most that one run of the team may ask for."""

    nodes: Count | None = described("Nodes per run.")
    accelerators: Count | None = described("Accelerators per run, over all nodes.")
    runs: Count | None = described("Runs at once.")
    duration: Seconds | None = described("The longest max_duration.")
    priorities: list[Subdomain] | None = Field(
        default=None,
        min_length=1,
        description="The priority classes that may be named; default: all.",
    )


class Team(Fields):
    """One team."""

    description: Text | None = described("What the team does.")
    namespace: Label = Field(description="The team's namespace, in each of its clusters.")
    owners: list[Handle] = Field(min_length=1, description="Who may approve the team's jobs.")
    clusters: list[Label] = Field(min_length=1, description="The clusters that the team may use.")
    default_cluster: Label | None = described(
        "Where jobs run that name no cluster; default: the only one."
    )
    quota: dict[Label, dict[AcceleratorName, Quota]] | None = described(
        "By cluster and accelerator."
    )
    cohort: dict[Label, Label] | None = described(
        "By cluster: the cohort that the team is in; default: none but the whole cluster."
    )
    caps: Caps | None = described("The most that one run may ask for.")
    budget: Count | None = described("Accelerator-hours in a month.")
    queues: list[Subdomain] | None = Field(
        default=None,
        min_length=1,
        description="The queues that may be named; default: all of the cluster.",
    )
    claims: list[Subdomain] | None = described(
        "The claims that may be mounted; default: all of the cluster."
    )
    secrets: list[Subdomain] | None = described("The Secrets that may be named; default: any.")
    defaults: Defaults | None = described(
        "Values for every job of the team that does not set them."
    )
