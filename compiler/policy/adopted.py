"""`policy/adopted/<team>/<job>.yaml`: a training object that ran before the job was declared."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field, WithJsonSchema

from compiler.fields import AbsolutePath, Fields, Label, Text, described

# A Kubernetes object as it was found; what must be in it is judged where it is used.
LiveObject = Annotated[dict[Text, Any], WithJsonSchema({"type": "object"})]


class AdoptedRun(Fields):
    """A live object that becomes the first run of its job, under its own name."""

    cluster: Label = Field(description="The cluster that it runs on.")
    checkpoint_dir: AbsolutePath | None = described(
        "The folder that it really keeps its checkpoints in; left out where that is not known."
    )
    object: LiveObject = Field(description="The object, without what the cluster adds to it.")
