"""`policy/rules.yaml`, `policy/waivers/*.yaml` and `policy/stops/*.yaml`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from compiler.fields import Day, Fields, Label, Price, Reads, Seconds, Text, described, one_of
from compiler.policy.team import Handle

Weight = Annotated[
    str,
    Reads(
        one_of("error", "warning", "notice", "off"),
        {"type": "string", "enum": ["error", "warning", "notice", "off"]},
    ),
]


class TeamRules(Fields):
    """What weighs otherwise for the jobs of one team."""

    severity: dict[Text, Weight] = Field(
        description="A rule's weight, by its name or code; it wins over that for all teams."
    )


class RulesPolicy(Fields):
    """How the compiler behaves for the whole repository."""

    severity: dict[Text, Weight] | None = described(
        "A rule's weight, by its name or code; rules about the form of a job are always errors."
    )
    teams: dict[Label, TeamRules] | None = described("What weighs otherwise for single teams.")
    waiver_notice: Seconds | None = described(
        "So long before its last day a waiver that is needed is noticed; default 14d."
    )
    owners: list[Handle] | None = described(
        "Who may approve what is no team's: policy, bases, the image lock, and the pipelines."
    )
    operational_env: list[Text] | None = described(
        "Environment variables (with *) that do not change what is learned."
    )
    keep_finished: Seconds | None = described(
        "How long a finished run stays listed, so that its logs can be read."
    )
    stop_guard: Price | None = described(
        "The share of running accelerators that one publish may stop unasked, 0 to 1."
    )


class WaiverPolicy(Fields):
    """A rule that does not apply to some jobs for a while."""

    rule: Text = Field(description="The rule's name or code; none about the form of a job.")
    jobs: list[Text] = Field(
        min_length=1, description="The jobs, as team/name; * stands for any part."
    )
    reason: Text = Field(description="Why it does not apply.")
    approver: Text = Field(description="Who agreed: one of the `owners` in policy/rules.yaml.")
    until: Day = Field(description="The last day of the waiver.")


class StopPolicy(Fields):
    """Stops runs now."""

    run: Text | None = described("A run, as team/job-rN.")
    team: Label | None = described("All runs of a team.")
    image: Text | None = described("All runs of an image, as a name or a digest.")
    reason: Text = Field(description="Why.")
    until: Day | None = described("The last day of the stop.")
