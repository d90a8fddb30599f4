"""`images/lock.yaml` and `images/<name>/image.yaml`: what an image is, and its digest."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from compiler.declaration import Args, Defaults
from compiler.fields import (
    AbsolutePath,
    Command,
    Fields,
    Flag,
    Form,
    Label,
    OneOf,
    Reads,
    RelativePath,
    Seconds,
    Text,
    described,
    matching,
)
from compiler.names import DIGEST

Digest = Annotated[
    str,
    Reads(
        matching(
            DIGEST,
            "a digest",
            "write sha256: and 64 hex digits",
            rule="bad-image-reference",
        ),
        Form(DIGEST),
    ),
]


class Locked(Fields):
    """One image of the lock: a reference and the digest that it stood for."""

    reference: Text = Field(description="Registry, name and tag, as it was pinned.")
    digest: Digest = Field(description="What jobs run.")
    source: Text | None = described("Hash of the tree of images/<name>/ that it was built from.")
    commit: Text | None = described("The commit that it was built from.")
    example: Flag | None = described("No such image exists: the digest stands in an example.")
    args_schema: RelativePath | None = described(
        "JSON Schema of the image's arguments, relative to the repository, for an image that has "
        "no folder here."
    )


class Lock(Fields):
    """The whole of `images/lock.yaml`."""

    images: dict[Label, Locked] = Field(description="By the name that jobs use.")


class Image(Fields):
    """The whole of `images/<name>/image.yaml`: the contract between image and compiler."""

    description: Text | None = described("What the image trains.")
    entry: Command = Field(description="The command of a job that gives none.")
    needs: (
        list[Annotated[Literal["accelerators", "checkpoint", "several-nodes"], OneOf()]] | None
    ) = described("What a job of this image must have.")
    guard: Annotated[Literal["native", "shell", "none"], OneOf()] | None = described(
        "Who keeps a finished run from training again: the image's own code, "
        "the compiler's shell wrapper (default), or nobody."
    )
    torch: Text | None = described(
        "The version of torch in the image, with its build where that is known.",
        examples=["2.13.0", "2.13.0+cu130"],
    )
    workdir: AbsolutePath | None = described(
        "Where the image holds the files of images/<name>/, and where commands start in it."
    )
    checkpoint_takes: Seconds | None = described(
        "How long a checkpoint of the image takes to write.", examples=["2m"]
    )
    shell: Flag | None = described("Whether the image has a POSIX shell; default true.")
    args_schema: RelativePath | None = described(
        "JSON Schema of the image's arguments, relative to the repository."
    )
    tiny: Args | None = described(
        "Arguments that, after those of a job, make the image finish within seconds on a CPU.",
        examples=[["--steps", "20"]],
    )
    defaults: Defaults | None = described(
        "Values for every job of the image that does not set them."
    )
