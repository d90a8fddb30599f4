"""`policy/tests/*.yaml`: a small job, and what is to be found about it."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from compiler.fields import Day, Fields, Label, Reads, Text, described, one_of

Severity = Annotated[
    str,
    Reads(
        one_of("error", "warning", "notice"),
        {"type": "string", "enum": ["error", "warning", "notice"]},
    ),
]
# Wrong ones are what is tested: what may stand in it is left to the test itself.
Job = Annotated[dict[Text, Any], WithJsonSchema({"type": "object"})]


class Expected(Fields):
    """One finding that must come, or several that are alike."""

    rule: Text = Field(description="The rule's name or code.")
    severity: Severity | None = described("What it must weigh.")
    at: Text | None = described(
        "Where: a field of the job, such as `num_nodes` or `mounts./data.claim`, or a file.",
        examples=["num_nodes", "checkpoint.path", "policy/clusters/west.yaml"],
    )
    message: Text | None = described("What its message must hold.")


class PolicyTest(Fields):
    """A small job and what is to be found about it, which is nothing if `expect` is empty."""

    description: Text | None = described("What the test is about.")
    name: Label | None = described("The job's name; default: test.")
    day: Day | None = described("The day on which it is judged; default: today.")
    job: Job = Field(description="The declaration, with its `team`.")
    expect: list[Expected] = Field(
        description="The errors and warnings to be found, all of them; notices if they matter."
    )
