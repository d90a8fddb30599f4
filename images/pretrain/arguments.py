"""The arguments of the pre-training, declared once.

`args.schema.json` is made from this (`make docs`), and the compiler checks jobs by it: it never
imports this file. `read` is how the training itself gets them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]

OURS = {
    # What the file says comes under what the command line says.
    "file": "config",
    "rules": [
        {
            # Even, because rotary positions turn the entries of a head in pairs.
            "check": "width % (2 * heads) == 0",
            "at": "heads",
            "message": "every head takes the same, even part of the width",
        },
        {
            "check": "global_batch % (micro_batch * world_size) == 0",
            "at": "global_batch",
            "message": "write a multiple: a step takes whole micro batches on every process",
        },
        {
            "check": "warmup_steps <= steps",
            "at": "warmup_steps",
            "message": "the learning rate would never get to its height",
        },
    ],
    "memory": {
        "layers": "layers",
        "width": "width",
        "vocabulary": "vocabulary",
        "sequence": "sequence_length",
        "micro_batch": "micro_batch",
        "precision": "precision",
        "sharding": "sharding",
        "checkpointing": "activation_checkpointing",
    },
}


class Arguments(BaseModel):
    """Sharded pre-training of a GPT."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"x-runwright": OURS})

    config: str | None = Field(
        None,
        min_length=1,
        description="YAML file of arguments by their names, which a command line overrides.",
    )
    data: str = Field(
        "/data",
        min_length=1,
        description="Folder of token shards, as pack.py writes it; made-up: a little text.",
    )
    verify: Literal["all", "sizes"] = Field(
        "all",
        description="What is looked at before the first step: each byte of the shards, each "
        "process a part; or the sizes of the files.",
    )
    vocabulary: int = Field(50_304, ge=2, le=2_000_000, description="Tokens of the vocabulary.")
    layers: int = Field(12, ge=1, le=1000, description="Blocks of the model.")
    width: int = Field(768, ge=8, le=131_072, description="Width of the model.")
    heads: int = Field(12, ge=1, le=1024, description="Heads of each attention.")
    sequence_length: int = Field(1024, ge=8, le=1_048_576, description="Tokens of a sequence.")

    micro_batch: int = Field(1, ge=1, le=4096, description="Sequences of a process at once.")
    global_batch: Count | None = Field(
        None,
        description="Sequences of a step, of all processes together; default: micro_batch on each "
        "process, which an elastic run cannot keep to.",
    )
    steps: Count = Field(10_000, description="After how many steps to end.")
    schedule: Literal["cosine", "linear", "constant"] = Field(
        "cosine", description="How the learning rate falls after the warm-up."
    )
    warmup_steps: int = Field(100, ge=0, description="Steps in which the learning rate rises.")
    learning_rate: float = Field(3e-4, gt=0, le=1, description="The highest learning rate.")
    last_rate: float = Field(
        0.1, ge=0, le=1, description="The learning rate at the end, as a share of the highest."
    )
    weight_decay: float = Field(0.1, ge=0, le=1, description="AdamW's weight decay.")
    beta2: float = Field(0.95, ge=0, lt=1, description="AdamW's decay of squared gradients.")
    max_gradient_norm: float = Field(1, gt=0, description="The norm that gradients are cut to.")

    precision: Literal["bf16", "fp32"] = Field(
        "bf16", description="Of the arithmetic; weights and optimizer are kept in fp32."
    )
    sharding: Literal["full", "hybrid", "none"] = Field(
        "full", description="Over which processes the weights are shared out: all, a node's, none."
    )
    activation_checkpointing: bool = Field(
        False,
        description="Whether activations are computed again instead of kept.",
        json_schema_extra={"x-runwright": {"style": "flag"}},
    )
    compile: Literal["auto", "always", "never"] = Field(
        "auto", description="Whether torch.compile is used; auto: on accelerators."
    )

    log_every: Count = Field(10, description="Steps between two lines of progress.")
    save_every: Count | None = Field(
        None, description="Steps between two checkpoints, beside those that are due by time."
    )
    workers: int = Field(2, ge=0, le=256, description="Processes that load data, for each one.")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Of the order and of all random numbers.")

    @model_validator(mode="after")
    def _consistent(self) -> Arguments:
        if self.width % (2 * self.heads):
            raise ValueError(
                f"each of {self.heads} heads takes the same, even part of the width, which "
                f"{self.width} does not have"
            )
        if self.warmup_steps > self.steps:
            raise ValueError("warmup_steps is more than steps")
        return self

    def batch(self, world_size: int) -> int:
        """The sequences of a step. Raises ValueError where so many processes cannot share them."""
        at_once = self.micro_batch * world_size
        batch = at_once if self.global_batch is None else self.global_batch
        if batch % at_once:
            raise ValueError(
                f"global_batch is {batch}, and {world_size} processes with micro_batch "
                f"{self.micro_batch} take {at_once} sequences at once"
            )
        return batch

    def compiled(self, device: str) -> bool:
        """Whether torch.compile is used on a kind of device."""
        return self.compile == "always" or (self.compile == "auto" and device != "cpu")


def read(words: Sequence[str]) -> Arguments:
    """The arguments of a command line, as `commandline.read` takes them, over those of `config`.

    Raises Unusable for a file that holds none.
    """
    # Here, because the schema is made without the runtime.
    from runwright_runtime import commandline

    given = commandline.given(Arguments, words)
    path = given.get("config")
    under = {} if path is None else _from_file(Path(path))
    return commandline.validated(Arguments, {**under, **given})


def _from_file(path: Path) -> Mapping[str, Any]:
    import yaml
    from runwright_runtime import Unusable

    try:
        found: object = yaml.safe_load(path.read_text("utf-8"))
    except OSError as error:
        raise Unusable(f"cannot read {path}: {error.strerror}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise Unusable(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, Mapping):
        raise Unusable(f"{path} is no map of arguments")
    known = [name for name in Arguments.model_fields if name != "config"]
    for name in found:
        if name not in known:
            near = get_close_matches(str(name), known, 1)
            hint = f": do you mean {near[0]}?" if near else ""
            raise Unusable(f"{path} has {name!r}, which is no argument{hint}")
    return found
