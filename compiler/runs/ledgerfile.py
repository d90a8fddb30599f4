"""`overlays/ledger/<team>/<job>.yaml`: the runs of a job, as a file that people can read.

Only `publish` writes it. The declaration of each run is kept as it was written, so that a later
compiler reads both sides of every comparison itself.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from compiler import yamlout
from compiler.diagnostics import Finding
from compiler.fields import Count, Fields, Flag, Label, OneOf, Subdomain, Text, Whole, described
from compiler.nodes import Mapping
from compiler.runs.entries import Entry, Ledger, Moment
from compiler.source import decode
from compiler.tree import read
from compiler.validation import validate

VERSION = 1
# A job that runs every day for years must still have a readable ledger.
LIMIT = 16 * 1024 * 1024


class MomentFields(Fields):
    """When something happened to a run, and what brought it about."""

    at: Text = Field(description="The time, RFC 3339.")
    source: Text | None = described("The commit of the declarations.")
    by: Text | None = described("publish, observation, clock, reset or adopt.")


class InputFields(Fields):
    """What the run's bytes were made from, besides the declaration."""

    image: Text | None = described("The image, by digest.")
    image_name: Text | None = described("Its name under images/.")
    base: Text | None = described("The base snapshot.")
    compiler: Text | None = described("The version of the compiler.")


class HourFields(Fields):
    """Accelerator-hours (node-hours without accelerators), as exact decimal numbers."""

    declared: Text | None = described("At the most, by max_duration.")
    real: Text | None = described("As observed.")


class SeenFields(Fields):
    """When its pods ran, as its cluster told."""

    began: Text | None = described("When it began, RFC 3339.")
    finished: Text | None = described("When it came to its end, RFC 3339.")


class RunFields(Fields):
    """One run."""

    number: Count = Field(description="The run's number; used once, ever.")
    cluster: Label = Field(description="Where it ran.")
    name: Subdomain = Field(description="The object's name.")
    namespace: Label | None = described("Where the object is.")
    state: Annotated[Literal["held", "active", "ended"], OneOf()] = Field(
        description="Where it is."
    )
    listed: Flag = Field(description="Whether the overlays list it.")
    reason: (
        Annotated[
            Literal["removed", "stopped", "expired", "superseded", "withdrawn", "finished", "lost"],
            OneOf(),
        ]
        | None
    ) = described("Why it ended.")
    outcome: Annotated[Literal["unknown", "incomplete", "succeeded", "failed"], OneOf()] = Field(
        description="How it ended, as far as is known."
    )
    guarded: Flag = Field(description="Whether a finished lineage ends at once when started again.")
    lineage: Count = Field(description="The first run that it shares its checkpoints with.")
    from_: Count | None = described("The run whose checkpoints it went on from.", alias="from")
    checkpoint_dir: Text | None = described("Where its checkpoints are.")
    training: Text = Field(description="Digest of what is learned.")
    operation: Text = Field(description="Digest of how it is run.")
    declared: Text = Field(description="The declaration, as it was written.")
    inputs: InputFields | None = described("What its bytes were made from.")
    files: dict[Text, Text] | None = described("Digests of the files it mounts.")
    held: MomentFields | None = described("Since when it waited.")
    started: MomentFields | None = described("When it was listed.")
    seen: SeenFields | None = described("When it ran, as far as somebody has looked.")
    ended: MomentFields | None = described("When it ended.")
    accelerators: dict[Text, Whole] | None = described("Accelerators over all nodes.")
    nodes: Count = Field(description="Nodes, at the most.")
    hours: HourFields | None = described("Accelerator-hours.")


class LedgerFields(Fields):
    """The ledger of one job."""

    version: Count = Field(description="The version of this form: 1.")
    team: Label = Field(description="The team that owns the job.")
    job: Label = Field(description="The job's first name.")
    also: list[Label] | None = described("Further names of the job: `was` has joined them.")
    runs: list[RunFields] = Field(description="All runs, in the order of their numbers.")


def parse(path: str, data: bytes) -> tuple[Ledger | None, list[Finding]]:
    """The ledger in a file's bytes, or what is wrong with it."""
    source, findings = decode(path, data, LIMIT)
    if source is None:
        return None, findings
    node, findings = read(source)
    if not isinstance(node, Mapping) or findings:
        return None, findings
    fields, findings = validate(LedgerFields, node, "a ledger")
    if fields is None:
        return None, findings
    also = tuple(fields.also or ())
    return Ledger(fields.team, fields.job, tuple(_entry(run) for run in fields.runs), also), []


def dump(ledger: Ledger) -> str:
    """The ledger as the text of its file."""
    head = "# The runs of this job, written by `publish` alone: an edit here is refused.\n"
    also = {"also": list(ledger.also)} if ledger.also else {}
    return head + yamlout.dump(
        {
            "version": VERSION,
            "team": ledger.team,
            "job": ledger.job,
            **also,
            "runs": [_row(run) for run in ledger.runs],
        }
    )


def _entry(run: RunFields) -> Entry:
    return Entry(
        number=run.number,
        cluster=run.cluster,
        name=run.name,
        state=run.state,
        training=run.training,
        operation=run.operation,
        lineage=run.lineage,
        listed=run.listed,
        reason=run.reason,
        outcome=run.outcome,
        guarded=run.guarded,
        came_from=run.from_,
        checkpoint_dir=run.checkpoint_dir,
        declared=run.declared,
        inputs={
            name: value
            for name in ("image", "image_name", "base", "compiler")
            if run.inputs is not None and (value := getattr(run.inputs, name)) is not None
        },
        files=dict(run.files or {}),
        held=_moment(run.held),
        started=_moment(run.started),
        ended=_moment(run.ended),
        accelerators=dict(run.accelerators or {}),
        nodes=run.nodes,
        declared_hours=(run.hours.declared if run.hours else None) or "",
        real_hours=(run.hours.real if run.hours else None) or "",
        namespace=run.namespace or "",
        began=(run.seen.began if run.seen else None) or "",
        finished=(run.seen.finished if run.seen else None) or "",
    )


def _moment(fields: MomentFields | None) -> Moment | None:
    return None if fields is None else Moment(fields.at, fields.source or "", fields.by or "")


def _row(run: Entry) -> dict[str, Any]:
    row: dict[str, Any] = {
        "number": run.number,
        "cluster": run.cluster,
        "name": run.name,
        "namespace": run.namespace or None,
        "state": run.state,
        "listed": run.listed,
        "reason": run.reason,
        "outcome": run.outcome,
        "guarded": run.guarded,
        "lineage": run.lineage,
        "from": run.came_from,
        "checkpoint_dir": run.checkpoint_dir,
        "training": run.training,
        "operation": run.operation,
        "declared": run.declared,
        "inputs": dict(run.inputs),
        "files": dict(sorted(run.files.items())),
        "held": _stamp(run.held),
        "started": _stamp(run.started),
        "seen": {
            name: value
            for name, value in (("began", run.began), ("finished", run.finished))
            if value
        },
        "ended": _stamp(run.ended),
        "accelerators": dict(run.accelerators),
        "nodes": run.nodes,
        "hours": {
            name: value
            for name, value in (("declared", run.declared_hours), ("real", run.real_hours))
            if value
        },
    }
    return {key: value for key, value in row.items() if value is not None and value != {}}


def _stamp(moment: Moment | None) -> dict[str, str] | None:
    if moment is None:
        return None
    stamp = {"at": moment.at, "source": moment.source, "by": moment.by}
    return {key: value for key, value in stamp.items() if value}
