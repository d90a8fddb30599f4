"""`policy/rules.yaml`, `policy/waivers/*.yaml` and `policy/stops/*.yaml`."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated

from pydantic import Field

from compiler.fields import (
    Day,
    Fields,
    Form,
    Label,
    Reads,
    Seconds,
    Text,
    described,
    matching,
    one_of,
)
from compiler.policy.team import Handle
from compiler.scalars import fault, letters, shown

_WORDS = r"(?s).*\S.*"
Words = Annotated[
    str, Reads(matching(_WORDS, "a reason", "say why, in a sentence"), Form(r"[\s\S]*\S[\s\S]*"))
]
_ENV_PATTERN = r"(?:[A-Za-z0-9_*?]|\[[^\]]+\])+"
EnvPattern = Annotated[
    str,
    Reads(
        matching(
            _ENV_PATTERN,
            "the name of a variable",
            "write letters, digits and _, and * for any of them, such as NCCL_*",
        ),
        Form(_ENV_PATTERN),
    ),
]


def _share(value: object) -> Fraction:
    """A share of a whole, 0 to 1, as an exact fraction."""
    if isinstance(value, Fraction):
        return value
    word = letters(value, "a share such as 0.5")
    percent = re.fullmatch(r"([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*%", word)
    if percent is None and not re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", word):
        raise fault(
            "wrong-type",
            f"{shown(value)} is not a share",
            "write a decimal number from 0 to 1, such as 0.5",
        )
    if percent is None and (found := Fraction(word)) <= 1:
        return found
    # A number well above 1 was meant as so many of a hundred.
    of_hundred = Fraction(percent[1] if percent is not None else word) / 100
    plain = of_hundred <= 1 and (percent is not None or of_hundred >= Fraction(2, 100))
    raise fault(
        "number-out-of-range",
        f"{shown(value)} is out of range: a share is 0 to 1",
        f"write {float(of_hundred):g}" if plain else "write 1 for all of it, or less",
    )


Weight = Annotated[
    str,
    Reads(
        one_of(
            "error",
            "warning",
            "notice",
            "off",
            meant={
                **dict.fromkeys(("none", "false", "no", "ignore", "disable", "disabled"), "off"),
                **dict.fromkeys(("info", "information", "note", "hint"), "notice"),
                "warn": "warning",
            },
        ),
        {"type": "string", "enum": ["error", "warning", "notice", "off"]},
    ),
]


Share = Annotated[
    Fraction,
    Reads(_share, {"type": "number", "minimum": 0, "maximum": 1, "examples": [0.5]}),
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
    operational_env: list[EnvPattern] | None = described(
        "Environment variables (with *) that do not change what is learned."
    )
    keep_finished: Seconds | None = described(
        "How long a finished run stays listed, so that its logs can be read."
    )
    stop_guard: Share | None = described(
        "The share of running accelerators that one publish may stop unasked, 0 to 1."
    )


class WaiverPolicy(Fields):
    """A rule that does not apply to some jobs for a while."""

    rule: Text = Field(description="The rule's name or code; none about the form of a job.")
    jobs: list[Text] = Field(
        min_length=1, description="The jobs, as team/name; * stands for any part."
    )
    reason: Words = Field(description="Why it does not apply.")
    approver: Text = Field(description="Who agreed: one of the `owners` in policy/rules.yaml.")
    until: Day = Field(description="The last day of the waiver.")


class StopPolicy(Fields):
    """Stops runs now."""

    run: Text | None = described("A run, as team/job-rN.")
    team: Label | None = described("All runs of a team.")
    image: Text | None = described("All runs of an image, as a name or a digest.")
    reason: Words = Field(description="Why.")
    until: Day | None = described("The last day of the stop.")
