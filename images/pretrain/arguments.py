"""The arguments of the pre-training, declared once.

`args.schema.json` is made from this (`make docs`), and the compiler checks jobs by it: it never
imports this file.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]

OURS = {
    # What the file says comes under what the command line says.
    "file": "config",
    "rules": [
        {
            "check": "width % heads == 0",
            "at": "heads",
            "message": "every head takes the same part of the width",
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
_FLAG = {"x-runwright": {"style": "flag"}}


class Arguments(BaseModel):
    """Sharded pre-training of a GPT."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"x-runwright": OURS})

    config: str | None = Field(
        None, min_length=1, description="YAML file of arguments, which a command line overrides."
    )
    data: str = Field("/data", min_length=1, description="Folder of token shards.")
    vocabulary: int = Field(50_304, ge=2, le=2_000_000, description="Tokens of the vocabulary.")
    layers: int = Field(12, ge=1, le=1000, description="Blocks of the model.")
    width: int = Field(768, ge=8, le=131_072, description="Width of the model.")
    heads: int = Field(12, ge=1, le=1024, description="Heads of each attention.")
    sequence_length: int = Field(1024, ge=8, le=1_048_576, description="Tokens of a sequence.")

    micro_batch: int = Field(1, ge=1, le=4096, description="Sequences of a process at once.")
    global_batch: Count | None = Field(
        None, description="Sequences of a step; default: micro_batch on each process."
    )
    steps: Count = Field(10_000, description="After how many steps to end.")
    warmup_steps: int = Field(100, ge=0, description="Steps in which the learning rate rises.")
    learning_rate: float = Field(3e-4, gt=0, le=1, description="The highest learning rate.")
    weight_decay: float = Field(0.1, ge=0, le=1, description="AdamW's weight decay.")
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
        json_schema_extra=_FLAG,
    )
    compile: bool = Field(
        True, description="Whether torch.compile is used.", json_schema_extra=_FLAG
    )

    log_every: Count = Field(10, description="Steps between two lines of progress.")
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Of the order and of all random numbers.")
