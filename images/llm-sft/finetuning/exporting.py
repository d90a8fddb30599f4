"""What was learned as a folder that transformers loads: safetensors, configuration, tokenizer."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from runwright_runtime import Unwritable
from runwright_runtime.session import Session
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

from finetuning import modeling

if TYPE_CHECKING:
    from arguments import Arguments

NAME = "export"
"""The folder, beside the checkpoints."""


def export(
    args: Arguments, model: nn.Module, config: Any, tokenizer: Any, session: Session
) -> None:
    """Write the model beside the checkpoints, whole or not at all.

    All processes call it: the first one gathers the weights on its CPU and writes. Raises
    Unwritable and Superseded, in all of them.
    """
    run = session.run
    if run is None:
        session.tell("note", "no CHECKPOINT_DIR: nothing is exported", note="nothing is exported")
        return
    options = StateDictOptions(
        full_state_dict=True, cpu_offload=True, ignore_frozen_params=args.tuning == "lora"
    )
    weights = cast("dict[str, Tensor]", get_model_state_dict(model, options=options))

    def write() -> None:
        run.fence().check()
        written = run.folder / f".{NAME}.{run.number}.new"
        try:
            shutil.rmtree(written, ignore_errors=True)
            whole = _whole(args, config, weights)
            whole.save_pretrained(written)
            tokenizer.save_pretrained(written)
            run.fence().check()
            _replace(written, run.folder / NAME)
        except OSError as error:
            raise Unwritable(f"cannot write {run.folder / NAME}: {error}") from error
        finally:
            shutil.rmtree(written, ignore_errors=True)

    session.alone(write)
    what = "adapters" if args.tuning == "lora" and not args.merge_adapters else "model"
    session.tell("exported", f"exported the {what} to {run.folder / NAME}", what=what)


def _whole(args: Arguments, config: Any, weights: dict[str, Tensor]) -> Any:
    """The model with what was learned, in the numbers that the first one was kept in."""
    dtype = getattr(config, "dtype", None) or torch.float32
    if args.tuning == "full":
        made = modeling.laid_out(args, config)
        made.load_state_dict(
            {name: tensor.to(dtype) for name, tensor in weights.items()}, assign=True
        )
        whole = cast("Any", made)
        whole.tie_weights()
        whole.config.dtype = dtype
    else:
        # In all digits: adding what was learned to the weights is rounded once.
        whole = cast("Any", modeling.loaded(args, config).float())
        unknown = whole.load_state_dict(weights, strict=False).unexpected_keys
        assert not unknown, unknown
        if not args.merge_adapters:
            return whole
        whole = whole.merge_and_unload().to(dtype)
    whole.config.use_cache = True
    return whole


def _replace(written: Path, path: Path) -> None:
    """Give a folder its name, in place of the one that may have it from an earlier start."""
    before = path.with_name(f".{path.name}.old")
    shutil.rmtree(before, ignore_errors=True)
    if path.exists():
        path.rename(before)
    written.rename(path)
    shutil.rmtree(before, ignore_errors=True)
