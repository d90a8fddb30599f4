"""JSON Schemas (Draft 2020-12) made from the models, for editors and other programs.

A schema never refuses what `check` accepts; what only the whole repository can tell (names of the
catalogue, sums, layers) is left to `check`.
"""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic import BaseModel

from compiler.declaration import Declaration
from compiler.diagnostics import Severity
from compiler.images import Image, Lock
from compiler.policy.adopted import AdoptedRun
from compiler.policy.cluster import Cluster
from compiler.policy.expectation import PolicyTest
from compiler.policy.rules import RulesPolicy, StopPolicy, WaiverPolicy
from compiler.policy.team import Team
from compiler.rehearsal.form import rehearsal
from compiler.runs.ledgerfile import LedgerFields

DIALECT = "https://json-schema.org/draft/2020-12/schema"
# Name of the schema -> the model, its title, and the files that it is for.
MODELS: dict[str, tuple[type[BaseModel], str, str]] = {
    "job": (Declaration, "Job", "jobs/*.yaml and jobs/<team>/*.yaml"),
    "cluster": (Cluster, "Cluster", "policy/clusters/*.yaml"),
    "team": (Team, "Team", "policy/teams/*.yaml"),
    "rules": (RulesPolicy, "Rules", "policy/rules.yaml"),
    "waiver": (WaiverPolicy, "Waiver", "policy/waivers/*.yaml"),
    "stop": (StopPolicy, "Stop", "policy/stops/*.yaml"),
    "policy-test": (PolicyTest, "Policy test", "policy/tests/*.yaml"),
    "adopted": (AdoptedRun, "Adopted run", "policy/adopted/<team>/*.yaml"),
    "lock": (Lock, "Image lock", "images/lock.yaml"),
    "image": (Image, "Image", "images/<name>/image.yaml"),
}
# What publish writes, and no person.
WRITTEN: dict[str, tuple[type[BaseModel], str, str]] = {
    "ledger": (LedgerFields, "Ledger", "overlays/ledger/<team>/<job>.yaml"),
}
EXAMPLES: dict[str, Any] = {
    "job": {
        "team": "nlp",
        "image": "llm-sft",
        "accelerators": "H100:8",
        "num_nodes": 4,
        "queue": "research",
        "max_duration": "24h",
        "checkpoint": {"claim": "checkpoints", "path": "/ckpt", "every": "30m"},
    },
    "waiver": {
        "rule": "RES403",
        "jobs": ["nlp/*"],
        "reason": "moves to the new queue in spring",
        "approver": "kim",
        "until": "2027-03-31",
    },
    "policy-test": {
        "description": "Half of an accelerator is not to be had",
        "job": {"team": "nlp", "image": "llm-sft", "accelerators": "H100:0.5"},
        "expect": [{"rule": "fractional-accelerators", "at": "accelerators"}],
    },
    "stop": {"team": "nlp", "reason": "the budget of the month is spent", "until": "2027-01-31"},
}


def schemas() -> dict[str, dict[str, Any]]:
    """All schemas by name, in the order of the names; those of machine output among them."""
    made = {name: _of_model(name) for name in (*MODELS, *WRITTEN)}
    made["archive"] = _archive()
    made["check"] = _check()
    made["policy-results"] = _policy_results()
    made["plan"] = _plan()
    made["rehearse"] = _rehearse()
    return dict(sorted(made.items()))


def text(schema: dict[str, Any]) -> str:
    """A schema as the text of its file."""
    return json.dumps(schema, indent=2) + "\n"


def _head(name: str, title: str, description: str) -> dict[str, Any]:
    return {
        "$schema": DIALECT,
        "$id": f"urn:runwright:schema:{name}",
        "title": title,
        "description": description,
    }


def _of_model(name: str) -> dict[str, Any]:
    model, title, files = (MODELS | WRITTEN)[name]
    raw = _tidied(model.model_json_schema(by_alias=True))
    about = f"{raw.pop('description')} Files: {files}."
    for key in ("title", "description"):
        raw.pop(key, None)
    schema = _head(name, title, about)
    if name in EXAMPLES:
        schema["examples"] = [EXAMPLES[name]]
    return schema | raw


def _tidied(node: Any) -> Any:
    """The schema as we mean it: a key may be absent but never null, and other keys are refused."""
    if isinstance(node, list):
        return [_tidied(item) for item in cast("list[Any]", node)]
    if not isinstance(node, dict):
        return node
    fields = {key: _tidied(value) for key, value in cast("dict[str, Any]", node).items()}
    if isinstance(fields.get("anyOf"), list):
        options = [option for option in fields["anyOf"] if option != {"type": "null"}]
        if len(options) < len(fields["anyOf"]):
            if fields.get("default", 0) is None:
                del fields["default"]
            del fields["anyOf"]
            # What the field itself says (its description) goes before what its type says.
            fields = (options[0] if len(options) == 1 else {"anyOf": options}) | fields
    if isinstance(fields.get("oneOf"), list):
        fields.pop("discriminator", None)
    if "patternProperties" in fields:
        fields["additionalProperties"] = False
    return fields


def _finding() -> dict[str, Any]:
    """A finding as every verb prints it."""
    position = {"type": ["integer", "null"], "minimum": 1}
    word = {"type": "string"}
    related = _object(
        "Another place that explains the finding.",
        path=word,
        line=position,
        column=position,
        message=word,
    )
    return _object(
        "One mistake.",
        code={"type": "string", "pattern": "^[A-Z]{3}[0-9]{3}$"},
        rule={"type": "string", "pattern": "^[a-z0-9]+(-[a-z0-9]+)*$"},
        severity={"enum": [severity.value for severity in Severity]},
        path={"type": "string", "description": "Relative to the repository, with /."},
        line={**position, "description": "From 1; null only where the file itself is meant."},
        column={**position, "description": "From 1, in code points."},
        end_line=position,
        end_column={**position, "description": "Exclusive."},
        message=word,
        help={"type": "string", "description": "What to write instead; may be empty."},
        related={"type": "array", "items": related},
    )


def _check() -> dict[str, Any]:
    """What `check --format json` prints. Output may grow by keys, so others are not refused."""
    count = {"type": "integer", "minimum": 0}
    summary = _object(
        "The counts.", files=count, jobs=count, errors=count, warnings=count, notices=count
    )
    return _head("check", "Check", "What `check --format json` prints.") | {
        "type": "object",
        "required": ["version", "findings", "summary", "verdict"],
        "properties": {
            "version": {"const": 1, "description": "The version of this format."},
            "findings": {"type": "array", "items": {"$ref": "#/$defs/finding"}},
            "summary": summary,
            "verdict": _verdict(),
        },
        "$defs": {"finding": _finding()},
    }


def _policy_results() -> dict[str, Any]:
    """What `policy test --format json` prints."""
    word, perhaps = {"type": "string"}, {"type": ["string", "null"]}
    count, number = {"type": "integer", "minimum": 0}, {"type": "integer", "minimum": 1}
    found = {"type": "array", "items": {"$ref": "#/$defs/finding"}}
    missing = _object(
        "What was expected, and did not come.",
        rule=word,
        severity=perhaps,
        at=perhaps,
        message=perhaps,
        line={**number, "description": "Where the test says so."},
        column=number,
        note={**word, "description": "What came in its place; may be empty."},
    )
    test = _object(
        "One test.",
        path=word,
        description=word,
        passed={"type": "boolean"},
        problems={**found, "description": "What is wrong with the test itself."},
        missing={"type": "array", "items": missing},
        unexpected=found,
    )
    whole = _object(
        "What `policy test --format json` prints.",
        version={"const": 1, "description": "The version of this format."},
        tests={"type": "array", "items": test},
        summary=_object("The counts.", tests=count, passed=count, failed=count),
    )
    head = _head("policy-results", "Policy results", whole.pop("description"))
    return head | whole | {"$defs": {"finding": _finding()}}


def _verdict() -> dict[str, Any]:
    """The limits that are passed; `plan` prints those that stand against what it starts."""
    count = {"type": "integer", "minimum": 0}
    word, perhaps = {"type": "string"}, {"type": ["string", "null"]}
    holder = _object(
        "A run that holds some of it, or would when its turn comes.",
        job={**word, "description": "team/name"},
        run={**perhaps, "description": "The object's name; null where it has not started."},
        accelerators=count,
        owner={**word, "description": "Whom the job names, else the owners of its team."},
        until={**perhaps, "description": "The latest end, RFC 3339; null where there is none."},
    )
    edit = _object(
        "One value to write instead of another, with which the job would pass; it was tried.",
        job=word,
        field={**word, "description": "The field, with dots: num_nodes.max."},
        **{"from": {**word, "description": "The value in force, whoever says it."}},
        to=word,
    )
    row = _object(
        "A limit that is passed, or would be.",
        cluster={**perhaps, "description": "Null for a budget, which counts over all of them."},
        team={**perhaps, "description": "Null where the limit is what the cluster has."},
        queue={**perhaps, "description": "Where all that is requested waits, if in one queue."},
        accelerator={
            **perhaps,
            "description": "cpu counts nodes without any; null counts the team's runs, and "
            "accelerator-hours are those of the month, rounded up to whole ones.",
        },
        limit=count,
        limit_at=_object("The line of policy.", path=word, line={"type": "integer", "minimum": 1}),
        requested={**count, "description": "What those ask for that do not fit."},
        held={**count, "description": "What is taken, or would be, before their turn."},
        holders={"type": "array", "items": holder},
        waiting={
            "type": "array",
            "items": _object("A job that does not fit.", job=word, accelerators=count),
        },
        edits={"type": "array", "items": edit},
    )
    return {
        "type": "array",
        "items": row,
        "description": "The limits that are passed: who holds them, who waits, what would fit.",
    }


def _plan() -> dict[str, Any]:
    """What `plan --format json` prints, and `publish` with one key more."""
    count = {"type": "integer", "minimum": 0}
    word, perhaps = {"type": "string"}, {"type": ["string", "null"]}
    number = {"type": ["integer", "null"], "minimum": 1}
    words = {"type": "array", "items": word}
    decimal = {"type": ["string", "null"], "pattern": r"^[0-9]+(\.[0-9]+)?$"}
    actions = ["start", "resume", "stop", "hold", "withdraw", "none", "blocked"]
    run = _object(
        "What happens to one run, or to a job where no run is touched.",
        cluster=word,
        team=word,
        job=word,
        number={**number, "description": "Null where no run is touched."},
        name={**perhaps, "description": "The object's name."},
        action={"enum": actions},
        row={"type": "string", "pattern": "^[a-n]$", "description": "See docs/lifecycle.md."},
        reason=word,
        change={**perhaps, "description": "What to do next, if anything."},
        **{"from": {**number, "description": "The run whose checkpoints it goes on with."}},
        lineage=number,
        accelerators={
            "type": "object",
            "additionalProperties": count,
            "description": "Over all nodes, by name; cpu counts nodes without any.",
        },
        nodes=number,
        hours={**decimal, "description": "Accelerator-hours of all tries, at the most."},
        cost={**decimal, "description": "Of all tries, at the most."},
        currency=perhaps,
        risks=words,
        replaces={**number, "description": "The run that it stops."},
        differences={**words, "description": "What has changed since the run before it."},
        notes=words,
        caused={"type": "boolean", "description": "Whether this change brings it about."},
        adopted={"type": "boolean", "description": "Whether it ran before and is taken in now."},
    )
    sums = _object(
        "What a team holds on a cluster.",
        cluster=word,
        team=word,
        accelerator=word,
        before=count,
        after=count,
        limit={"type": ["integer", "null"], "minimum": 0},
    )
    seen = _object("The last observation.", cluster=word, at=perhaps, rests_on_it=words)
    guard = _object(
        "What the stop guard says.",
        runs=count,
        names=words,
        accelerators=count,
        running=count,
        share=word,
        withheld={"type": "boolean"},
        text=word,
    )
    effect = _object(
        "A rule that jobs break, or no longer break, which the change does not touch.",
        effect={"enum": ["fails", "frees"]},
        code={"type": "string", "pattern": "^[A-Z]{3}[0-9]{3}$"},
        rule=word,
        path={**perhaps, "description": "Where the line is that does it."},
        line=number,
        jobs={**words, "description": "As team/job."},
        running={**words, "description": "Their runs, which go on all the same."},
    )
    grandfathered = _object(
        "A run that goes on although an error stands against its declaration.",
        cluster=word,
        team=word,
        job=word,
        number=number,
        reason=word,
    )
    whole = _object(
        "What `plan --format json` prints; `publish` adds `commit`.",
        version={"const": 1, "description": "The version of this format."},
        base=_object("What it was made against.", source=perhaps, published=perhaps),
        head=perhaps,
        observed={"type": "array", "items": seen},
        runs={"type": "array", "items": run},
        quota={"type": "array", "items": sums},
        verdict=_verdict(),
        guard={"anyOf": [{"type": "null"}, guard]},
        effects={"type": "array", "items": effect},
        grandfathered={"type": "array", "items": grandfathered},
        unchanged=count,
        due={**count, "description": "Jobs that the next publish changes in any case."},
        stuck={**count, "description": "Jobs that the next publish refuses in any case."},
        notes=words,
    )
    return _head("plan", "Plan", whole.pop("description")) | whole


def _rehearse() -> dict[str, Any]:
    whole = rehearsal(_object)
    return _head("rehearse", "Rehearsal", whole.pop("description")) | whole


def _archive() -> dict[str, Any]:
    """What `archive` prints."""
    word, perhaps = {"type": "string"}, {"type": ["string", "null"]}
    run = _object(
        "One training object of the cluster.",
        name=word,
        namespace=word,
        uid=word,
        outcome={"enum": ["running", "succeeded", "failed"]},
        seconds={"type": ["integer", "null"], "minimum": 0, "description": "Since it began."},
        accelerator_hours={**perhaps, "pattern": r"^[0-9]+(\.[0-9]+)?$"},
        began={**perhaps, "description": "When its pods began, RFC 3339."},
        finished={**perhaps, "description": "When it came to its end, RFC 3339."},
        exit={"type": ["integer", "null"], "description": "Of the process that failed first."},
        reason=perhaps,
    )
    whole = _object(
        "What `archive` prints, and `publish --observed` reads.",
        version={"const": 1, "description": "The version of this format."},
        at={**word, "description": "When it was seen, RFC 3339."},
        cluster=word,
        complete={"type": "boolean", "description": "Whether absent means gone."},
        runs={"type": "array", "items": run},
    )
    return _head("archive", "Archive", whole.pop("description")) | whole


def _object(description: str, /, **properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "required": list(properties),
        "properties": properties,
    }
