"""The arguments of the fine-tuning, declared once.

`args.schema.json` is made from this (`make docs`), and the compiler checks jobs by it: it never
imports this file. `read` is how the training itself gets them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Share = Annotated[float, Field(ge=0, lt=1)]

_WHY = (
    "a step takes global_batch samples: micro_batch on each process, accumulation times; leave "
    "`accumulation` out to have it worked out"
)
OURS = {
    "rules": [
        {
            "check": "global_batch == micro_batch * accumulation * world_size",
            "at": "global_batch",
            "message": _WHY,
        },
        {
            "check": "global_batch % (micro_batch * world_size) == 0",
            "at": "global_batch",
            "message": "write a multiple: a step takes whole micro batches on every process",
            "unless": ["accumulation"],
        },
    ],
    "exclusive": [["max_steps", "epochs"]],
    "memory": {
        "model": "model",
        "sequence": "sequence_length",
        "micro_batch": "micro_batch",
        "precision": "precision",
        "sharding": "sharding",
        "checkpointing": "activation_checkpointing",
        "tuning": "tuning",
        "lora_rank": "lora_rank",
    },
}

TRIAL = {
    "model": "made-up",
    "data": "made-up",
    "eval_data": None,
    "chat_template": None,
    "sequence_length": 128,
    "max_steps": 40,
    "epochs": None,
    "learning_rate": 0.005,
    # With one process, two or four.
    "global_batch": 4,
    "micro_batch": 1,
    "accumulation": None,
    "precision": "fp32",
    "activation_checkpointing": False,
    "compile": False,
    "eval_every": None,
    "log_every": 5,
    "workers": 0,
}
"""What `--trial` says."""


class Arguments(BaseModel):
    """Supervised fine-tuning (or preference tuning) of a causal language model."""

    model_config = ConfigDict(extra="forbid", frozen=True, json_schema_extra={"x-runwright": OURS})

    method: Literal["sft", "dpo"] = Field("sft", description="What is learned from the data.")
    model: str = Field(
        "/models/base",
        min_length=1,
        description="Folder (or hub name) of the model to begin with; made-up: a tiny one.",
    )
    data: str = Field(
        "/data",
        min_length=1,
        description="Conversations: a file or folder of JSON Lines or Parquet, a folder that "
        "`datasets` saved, or a name on the hub; made-up: a few.",
    )
    eval_data: str | None = Field(None, min_length=1, description="The same, to evaluate on.")
    chat_template: str | None = Field(
        None,
        min_length=1,
        description="File with the Jinja template of a conversation; default: the model's.",
    )
    sequence_length: int = Field(2048, ge=8, le=1_048_576, description="Tokens of a sequence.")
    too_long: Literal["refuse", "drop", "cut"] = Field(
        "refuse", description="What becomes of conversations longer than a sequence."
    )
    packing: bool = Field(
        True,
        description="Whether several conversations share a sequence.",
        json_schema_extra={"x-runwright": {"style": "flag"}},
    )
    answers_only: bool = Field(
        True,
        description="Whether only the tokens of answers count in the loss.",
        json_schema_extra={"x-runwright": {"style": "flag"}},
    )

    tuning: Literal["full", "lora"] = Field(
        "full", description="Whether all weights are trained, or low-rank adapters."
    )
    lora_rank: int = Field(16, ge=1, le=4096, description="Rank of the adapters.")
    lora_alpha: float = Field(32, gt=0, description="Scale of the adapters, over their rank.")
    lora_dropout: Share = Field(0, description="Dropout before the adapters.")
    lora_targets: list[str] = Field(
        ["all-linear"], min_length=1, description="Names of the modules that get an adapter."
    )
    dpo_beta: float = Field(0.1, gt=0, description="How closely DPO keeps to the first model.")

    learning_rate: float = Field(2e-5, gt=0, le=1, description="The highest learning rate.")
    schedule: Literal["cosine", "linear", "constant"] = Field(
        "cosine", description="How the learning rate falls after the warm-up."
    )
    warmup: Share = Field(0.03, description="Share of the steps in which the rate rises.")
    weight_decay: float = Field(0, ge=0, le=1, description="AdamW's weight decay.")
    max_gradient_norm: float = Field(1, gt=0, description="The norm that gradients are cut to.")
    micro_batch: int = Field(1, ge=1, le=4096, description="Sequences of a process at once.")
    accumulation: Count | None = Field(
        None, description="Micro batches of a step; default: as global_batch needs, else 1."
    )
    global_batch: Count | None = Field(
        None, description="Sequences of a step, of all processes together."
    )
    epochs: float | None = Field(
        None, gt=0, description="How often the data is seen; default 1, unless max_steps is given."
    )
    max_steps: Count | None = Field(None, description="After how many steps to end.")

    precision: Literal["bf16", "fp32"] = Field(
        "bf16", description="Of the arithmetic; what is trained is kept in fp32."
    )
    sharding: Literal["full", "hybrid", "none"] = Field(
        "full", description="Over which processes the weights are shared out: all, a node's, none."
    )
    activation_checkpointing: bool = Field(
        True,
        description="Whether activations are computed again instead of kept.",
        json_schema_extra={"x-runwright": {"style": "flag"}},
    )
    compile: bool = Field(
        False,
        description="Whether torch.compile is used.",
        json_schema_extra={"x-runwright": {"style": "flag"}},
    )

    eval_every: Count | None = Field(None, description="Steps between two evaluations.")
    log_every: Count = Field(10, description="Steps between two lines of progress.")
    export: bool = Field(
        True,
        description="Whether the end writes the model as safetensors, beside the checkpoints.",
        json_schema_extra={"x-runwright": {"style": "flag"}},
    )
    merge_adapters: bool = Field(
        True,
        description="Whether the model is written with its adapters merged in, or they alone.",
        json_schema_extra={"x-runwright": {"style": "flag"}},
    )
    workers: int = Field(2, ge=0, le=256, description="Processes that load data, for each one.")
    trial: bool = Field(
        False,
        description="Whether a made-up model learns made-up conversations, on a CPU and within a "
        "minute, whatever the arguments before this one say.",
        json_schema_extra={"x-runwright": {"style": "flag"}},
    )
    seed: int = Field(0, ge=0, le=2**31 - 1, description="Of the order and of all random numbers.")

    @model_validator(mode="after")
    def _consistent(self) -> Arguments:
        if self.max_steps is not None and self.epochs is not None:
            raise ValueError("max_steps and epochs exclude each other")
        if self.eval_every is not None and self.eval_data is None:
            raise ValueError("eval_every needs eval_data")
        return self

    def accumulated(self, world_size: int) -> int:
        """How many micro batches each process takes in a step. Raises ValueError."""
        at_once = self.micro_batch * world_size
        if self.global_batch is None:
            return self.accumulation or 1
        if self.global_batch % at_once or self.accumulation not in (
            None,
            self.global_batch // at_once,
        ):
            raise ValueError(
                f"global_batch is {self.global_batch}, and {world_size} processes with "
                f"micro_batch {self.micro_batch} take {at_once} at once"
                + (f", {self.accumulation} times" if self.accumulation else "")
            )
        return self.global_batch // at_once


def read(words: Sequence[str]) -> Arguments:
    """The arguments of a command line, as `commandline.read` takes them.

    With `--trial` what stands before it counts only where the trial says nothing, and what stands
    behind it counts as it does without.
    """
    # Here, because the schema is made without the runtime.
    from runwright_runtime import commandline

    # The second is how a job's `args: {trial: true}` is written.
    trials = [at for at, word in enumerate(words, 1) if word in ("--trial", "--trial=true")]
    if not trials:
        return commandline.read(Arguments, words)
    at = trials[-1]
    before = commandline.given(Arguments, words[:at])
    after = commandline.given(Arguments, words[at:])
    found = {name: text for name, text in before.items() if name not in TRIAL} | TRIAL | after
    if "epochs" in after and "max_steps" not in after:
        found["max_steps"] = None
    return commandline.validated(Arguments, found)
