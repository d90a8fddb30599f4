"""The model shared out over the processes (FSDP2), with weights that depend on the seed alone."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import torch
from runwright_runtime import flops
from runwright_runtime.distributed import World
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from pretraining.gpt import GPT

if TYPE_CHECKING:
    from arguments import Arguments


class Sharded(GPT, FSDPModule):
    """What `fully_shard` makes of a GPT."""


def sharded(args: Arguments, world: World) -> Sharded:
    """A new model on this process's device, of which it holds its part. All processes call it."""
    with torch.device("meta"):
        # Without memory: no process ever holds all of it.
        model = GPT(
            args.vocabulary, args.layers, args.width, args.heads, args.activation_checkpointing
        )
    mesh = _mesh(args.sharding, world)
    bf16 = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16,
        reduce_dtype=torch.float32,
        # The embedding's output is bf16 already, and the angles of positions stay fp32.
        cast_forward_inputs=False,
    )
    policy = bf16 if args.precision == "bf16" else MixedPrecisionPolicy()
    for block in model.blocks:
        if args.compiled(world.device.type):
            # Block by block: they are the same, so one is compiled, and FSDP stays outside.
            block.compile()
        fully_shard(block, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    model.to_empty(device=world.device)
    _begin(model, args.seed, world.device)
    assert isinstance(model, FSDPModule)
    return model  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


def optimizer_for(model: nn.Module, args: Arguments, device: torch.device) -> torch.optim.AdamW:
    """AdamW; the weights of matrices decay, those of norms do not."""
    matrices = [parameter for parameter in model.parameters() if parameter.ndim > 1]
    norms = [parameter for parameter in model.parameters() if parameter.ndim < 2]
    return torch.optim.AdamW(
        [
            {"params": matrices, "weight_decay": args.weight_decay},
            {"params": norms, "weight_decay": 0.0},
        ],
        lr=args.learning_rate,
        betas=(0.9, args.beta2),
        fused=device.type == "cuda",
    )


def flops_per_token(model: nn.Module, args: Arguments) -> float:
    """FLOPs of a step for each of its tokens, forward and backward, as MFU counts them.

    The embedding counts once, as the output; the norms do not.
    """
    matrices = sum(parameter.numel() for parameter in model.parameters() if parameter.ndim > 1)
    size = args.width // args.heads
    return flops.transformer(matrices, args.layers, args.heads, size, args.sequence_length)


def _mesh(sharding: str, world: World) -> DeviceMesh:
    """Which processes share the weights out among them, and which hold the same part."""
    kind = world.device.type
    if sharding == "full":
        return init_device_mesh(kind, (world.size,), mesh_dim_names=("shard",))
    each = world.local_size if sharding == "hybrid" else 1
    shape = (world.size // each, each)
    return init_device_mesh(kind, shape, mesh_dim_names=("repeat", "shard"))


@torch.no_grad()
def _begin(model: GPT, seed: int, device: torch.device) -> None:
    """Give all weights their first values: the same for any number of processes.

    Each is drawn whole by a generator of its own, and a process keeps its part.
    """
    for name, parameter in model.named_parameters():
        scale = model.scale(name)
        if scale is None:
            whole = torch.ones(parameter.shape, device=device)
        else:
            digest = hashlib.sha256(f"{seed} {name}".encode()).digest()
            generator = torch.Generator(device).manual_seed(int.from_bytes(digest[:7], "big"))
            whole = torch.randn(parameter.shape, device=device, generator=generator) * scale
        _local(parameter).copy_(_local(_like(parameter, whole)))


def _like(parameter: Tensor, whole: Tensor) -> Tensor:
    if not isinstance(parameter, DTensor):
        return whole
    # None: every process has the whole and takes its part, nothing is sent.
    return distribute_tensor(whole, parameter.device_mesh, parameter.placements, src_data_rank=None)


def _local(tensor: Tensor) -> Tensor:
    return tensor.to_local() if isinstance(tensor, DTensor) else tensor
