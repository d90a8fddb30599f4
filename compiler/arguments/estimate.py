"""What a run needs of its accelerators' memory, by the roles that a schema gives its arguments."""

from __future__ import annotations

from typing import Any

from compiler.arguments.footprint import (
    FULL,
    HALF,
    SMALLEST_VOCABULARY,
    Footprint,
    Shape,
    footprint,
    shape_of,
    shape_of_name,
)
from compiler.arguments.judging import Known, of_size
from compiler.model import Run

_BYTES = {
    **dict.fromkeys(("bf16", "bfloat16", "fp16", "float16", "half"), HALF),
    **dict.fromkeys(("fp32", "float32", "tf32", "full"), FULL),
}


def estimated(run: Run, one: Known) -> tuple[Footprint, Shape, int] | None:
    """The sum for one accelerator, the model, and over how many processes it is shared out.

    Of an elastic run it is that of the fewest nodes, which hold the most each. None where the
    arguments do not say enough.
    """
    roles = one.schema.memory
    if roles is None or any(name in one.unsure for name in roles.values()):
        return None

    def value(role: str, default: Any = None) -> Any:
        return one.values.get(roles.get(role, ""), default)

    shape = _shape(value)
    sequence, micro_batch = value("sequence"), value("micro_batch", 1)
    precision = _BYTES.get(str(value("precision", "bf16")))
    size = of_size(run, run.least_nodes)
    shards = {"full": size["world_size"], "hybrid": size["processes"], "none": 1}.get(
        str(value("sharding", "none"))
    )
    if shape is None or not isinstance(sequence, int) or not isinstance(micro_batch, int):
        return None
    if precision is None or shards is None:
        return None
    rank = value("lora_rank") if value("tuning") == "lora" else None
    made = footprint(
        shape,
        sequence=sequence,
        micro_batch=micro_batch,
        precision=precision,
        shards=shards,
        checkpointing=value("checkpointing") is True,
        lora_rank=rank,
    )
    return made, shape, shards


def _shape(value: Any) -> Shape | None:
    layers, width = value("layers"), value("width")
    if isinstance(layers, int) and isinstance(width, int):
        return shape_of(layers, width, value("vocabulary", SMALLEST_VOCABULARY))
    parameters = value("parameters")
    if isinstance(parameters, (int, float)):
        return shape_of_name(f"{parameters / 1e6:.3f}m")
    return shape_of_name(str(value("model", "")))
