"""The arguments of train.py as the compiler checks them: `args.schema.json` is made from this.

Not part of the image, which has no pydantic: train.py reads its command line with argparse, and a
test holds the two together.
"""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

OURS = {
    # argparse takes the beginning of a name for the whole.
    "abbreviations": True,
    "rules": [
        {
            "check": "batch % world_size == 0",
            "message": "the samples of a step are shared evenly by all processes",
        }
    ],
}


class Arguments(BaseModel):
    """A small data-parallel training of a classifier."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"x-runwright": OURS})

    data: str | None = Field(
        None,
        min_length=1,
        description="Folder with features.npy and labels.npy; default: made-up data.",
    )
    samples: int = Field(4096, ge=1, description="How many samples to make up.")
    epochs: int = Field(10, ge=1, description="How often the data is seen.")
    batch: int = Field(256, ge=1, description="Samples in a step, of all processes together.")
    width: int = Field(256, ge=1, description="Width of each hidden layer.")
    depth: int = Field(2, ge=0, description="How many hidden layers.")
    lr: float = Field(1e-3, gt=0, description="The learning rate.")
    seed: int = Field(0, ge=0, description="Of the order and of all random numbers.")
    workers: int = Field(0, ge=0, description="Processes that load data, for each one.")
    log_every: int = Field(
        10, ge=1, alias="log-every", description="Steps between two lines of progress."
    )
