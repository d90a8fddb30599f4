"""What `rehearse --format json` prints, as a schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Made = Callable[..., dict[str, Any]]


def rehearsal(mapping: Made) -> dict[str, Any]:
    """The schema of an account; `mapping` makes that of a mapping: its description, its fields."""
    count, seconds = {"type": "integer", "minimum": 0}, {"type": "number", "minimum": 0}
    word, place = {"type": "string"}, {"type": ["integer", "null"], "minimum": 1}
    words = {"type": "array", "items": word}
    part = mapping(
        "One part of the rehearsal.",
        name=word,
        status={"enum": ["ok", "failed", "left out"]},
        text=word,
        seconds=seconds,
    )
    problem = mapping(
        "What would have failed, or kept the rehearsal from going on.",
        kind={"type": "string", "pattern": "^[a-z]+(-[a-z]+)*$"},
        path={**word, "description": "Of the file that says it, relative to the repository."},
        line=place,
        column=place,
        field={**word, "description": "The field of the declaration, or of the image's file."},
        message=word,
        help=word,
        node={"type": ["integer", "null"], "minimum": 0},
        here={
            "type": "boolean",
            "description": "Whether the reason may lie in this machine alone.",
        },
        output={**word, "description": "The end of what the node wrote; may be empty."},
    )
    loss = mapping(
        "A loss that the training told of.",
        step=count,
        loss={"type": "number"},
        start={**count, "description": "Which start of the run, from 0."},
    )
    return mapping(
        "What `rehearse --format json` prints.",
        version={"const": 1, "description": "The version of this format."},
        run=word,
        cluster=word,
        team=word,
        job=word,
        outcome={"enum": ["passed", "failed", "incomplete"]},
        nodes=count,
        processes={**count, "description": "Of each node."},
        seconds=seconds,
        parts={"type": "array", "items": part},
        problems={"type": "array", "items": problem},
        changed={**words, "description": "What is unlike the cluster, so that it can run here."},
        not_covered={**words, "description": "What this rehearsal says nothing about."},
        loss={"type": "array", "items": loss},
    )
