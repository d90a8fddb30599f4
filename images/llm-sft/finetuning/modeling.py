"""The model: loaded, with adapters or without, and shared out over the processes.

Only the first process reads the weights. All lay the model out without any, shard it, and are sent
their shares.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import torch
from runwright_runtime import Unusable, flops
from runwright_runtime.distributed import World
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.checkpoint.state_dict import StateDictOptions, set_model_state_dict
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard

from finetuning import madeup

if TYPE_CHECKING:
    from arguments import Arguments

DTYPES = {"bf16": torch.bfloat16, "fp32": torch.float32}


def be_quiet() -> None:
    """Have transformers draw no bars: the log of a run is lines."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def tokenizer_of(name: str) -> Any:
    """The tokenizer of a model. Raises Unusable."""
    if name == madeup.NAME:
        return madeup.tokenizer()
    _refuse_missing(name)
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(name)
    except Exception as error:  # what it raises depends on the tokenizer
        raise Unusable(f"cannot load the tokenizer of {name}: {_line(error)}") from error


def config_of(name: str) -> Any:
    """How a model is made. Raises Unusable."""
    if name == madeup.NAME:
        return madeup.config()
    _refuse_missing(name)
    from transformers import AutoConfig

    try:
        return AutoConfig.from_pretrained(name)
    except Exception as error:  # as above
        raise Unusable(f"cannot load the model {name}: {_line(error)}") from error


def loaded(args: Arguments, config: Any) -> nn.Module:
    """The whole model, with its weights, on the CPU. Raises Unusable."""
    # What is frozen needs no more digits than the arithmetic has.
    dtype = DTYPES[args.precision] if args.tuning == "lora" else torch.float32
    # It takes note of the numbers that it is loaded in, and the export is to be as the model was.
    config = deepcopy(config)
    if args.model == madeup.NAME:
        model = madeup.model(config, args.seed).to(dtype)
    else:
        from transformers import AutoModelForCausalLM

        try:
            model = AutoModelForCausalLM.from_pretrained(args.model, config=config, dtype=dtype)
        except Exception as error:  # as above
            raise Unusable(f"cannot load the model {args.model}: {_line(error)}") from error
    return _adapted(model, args)


def laid_out(args: Arguments, config: Any) -> nn.Module:
    """The same model without memory for its weights; its buffers are there. Raises Unusable."""
    from accelerate import init_empty_weights

    config = deepcopy(config)
    with init_empty_weights(include_buffers=False):
        model = madeup.built(config)
        if args.tuning == "lora" and args.precision == "bf16":
            buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
            model = model.to(torch.bfloat16)
            _put_back(model, buffers)
        return _adapted(model, args)


def _adapted(model: nn.Module, args: Arguments) -> nn.Module:
    cast("Any", model).config.use_cache = False
    if args.tuning == "full":
        return model.train()
    from peft import LoraConfig, get_peft_model

    targets = args.lora_targets
    try:
        with warnings.catch_warnings():
            # peft asks transformers for what that has renamed.
            warnings.simplefilter("ignore", FutureWarning)
            return get_peft_model(
                cast("Any", model),
                LoraConfig(
                    r=args.lora_rank,
                    lora_alpha=args.lora_alpha,  # type: ignore[arg-type]  # pyright: ignore
                    lora_dropout=args.lora_dropout,
                    target_modules="all-linear" if targets == ["all-linear"] else targets,
                    task_type="CAUSAL_LM",
                ),
            ).train()
    except ValueError as error:
        raise Unusable(f"the model takes no such adapters: {_line(error)}") from error


def sharded(args: Arguments, config: Any, world: World) -> FSDPModule:
    """The model, shared out by `sharding`, on this process's device, with its weights.

    All processes call it. Raises Unusable, in all of them, where it cannot be loaded.
    """
    held: list[nn.Module] = []
    # The others hear of a failure; the model is not for them.
    world.told(lambda: held.append(loaded(args, config)))
    model = laid_out(args, config)
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
    mesh = mesh_of(args.sharding, world)
    for layers, index, layer in _layers(model):
        if args.activation_checkpointing:
            layer = layers[index] = checkpoint_wrapper(layer)
        if args.compile:
            layer.compile()
        fully_shard(layer, mesh=mesh, mp_policy=_policy(args))
    fully_shard(model, mesh=mesh, mp_policy=_policy(args))
    model.to_empty(device=world.device)
    cast("Any", base_of(model)).tie_weights()
    _put_back(model, buffers)
    set_model_state_dict(
        model,
        held[0].state_dict() if held else {},
        options=StateDictOptions(full_state_dict=True, broadcast_from_rank0=True),
    )
    assert isinstance(model, FSDPModule)
    return model


def mesh_of(sharding: str, world: World) -> DeviceMesh:
    """Over which processes weights are shared out, and over which they are repeated."""
    kind = world.device.type
    if sharding == "full":
        return init_device_mesh(kind, (world.size,), mesh_dim_names=("shard",))
    each = world.local_size if sharding == "hybrid" else 1
    return init_device_mesh(kind, (world.size // each, each), mesh_dim_names=("repeat", "shard"))


def base_of(model: nn.Module) -> nn.Module:
    """The model itself, without what peft puts around it."""
    inner = getattr(model, "get_base_model", None)
    return inner() if inner is not None else model


def flops_per_token(model: nn.Module, config: Any, attended: float) -> float:
    """FLOPs for one token, forward and backward, that attends to `attended` tokens on average.

    Frozen weights get no gradient: 4 for each instead of 6. Embeddings are looked up, not
    multiplied, unless they are the output's too.
    """
    parameters = list(model.parameters())
    trained = sum(p.numel() for p in parameters if p.requires_grad)
    frozen = sum(p.numel() for p in parameters) - trained
    looked_up = 0 if config.tie_word_embeddings else config.vocab_size * config.hidden_size
    if trained >= frozen:
        trained -= looked_up
    else:
        frozen -= looked_up
    heads = config.num_attention_heads
    size = getattr(config, "head_dim", None) or config.hidden_size // heads
    layers = config.num_hidden_layers
    attention = flops.transformer(0, layers, heads, size, 1) * attended
    return 4.0 * frozen + flops.transformer(trained) + attention


def _policy(args: Arguments) -> MixedPrecisionPolicy:
    if args.precision == "fp32":
        return MixedPrecisionPolicy()
    return MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)


def _layers(model: nn.Module) -> Iterator[tuple[nn.ModuleList, int, nn.Module]]:
    """The blocks of the decoder: the items of its longest list of modules of one class."""
    lists = [
        found
        for found in model.modules()
        if isinstance(found, nn.ModuleList) and len({type(item) for item in found}) == 1
    ]
    longest = max(lists, key=len, default=nn.ModuleList())
    for index, layer in enumerate(list(longest)):
        yield longest, index, layer


def _put_back(model: nn.Module, buffers: dict[str, torch.Tensor]) -> None:
    """Give buffers the values that they were made with."""
    for name, buffer in model.named_buffers():
        name = name.replace("_checkpoint_wrapped_module.", "")
        if buffer.dtype == buffers[name].dtype:
            buffer.copy_(buffers[name])
        else:
            owner, _, last = name.rpartition(".")
            setattr(model.get_submodule(owner), last, buffers[name].to(buffer.device))


def _refuse_missing(name: str) -> None:
    if (name.startswith(("/", ".")) or name.count("/") > 1) and not Path(name).is_dir():
        raise Unusable(f"there is no folder {name}: is the claim with the models mounted there?")


def _line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
