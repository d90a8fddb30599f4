"""The processes of a run, joined: who each is, which device it has, and how they agree."""

from __future__ import annotations

import atexit
import gc
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import nn

from runwright_runtime.failures import RunFailure, WrongWorld
from runwright_runtime.meeting import watched

T = TypeVar("T")

TIMEOUT = timedelta(minutes=10)
"""How long a collective waits for the slowest process (torch: 10 min for NCCL, 30 for gloo)."""
SAVING_TIMEOUT = timedelta(hours=1)
"""The same for the collectives of a checkpoint, which wait for the slowest disk."""


@dataclass(frozen=True)
class World:
    """All processes of a run, seen from one of them.

    `control` is a group on the CPUs for what the processes tell each other in the loop, `saving`
    one for the thread that writes checkpoints: collectives of two threads must not share a group.
    """

    rank: int
    size: int
    local_rank: int
    local_size: int
    device: torch.device
    control: dist.ProcessGroup
    saving: dist.ProcessGroup

    @property
    def first(self) -> bool:
        """Whether this process speaks for the run."""
        return self.rank == 0

    def together(self, act: Callable[[], T]) -> T:
        """What `act` returns here, once it has returned everywhere.

        A RunFailure in one process is raised in all, so that none waits for one that has ended.
        """
        failure: RunFailure | None = None
        value: list[T] = []
        try:
            value.append(act())
        except RunFailure as error:
            failure = error
        found: list[RunFailure | None] = [None] * self.size
        dist.all_gather_object(found, failure, group=self.control)
        for other in found:
            if other is not None:
                raise told(other)
        return value[0]

    def told(self, act: Callable[[], T], group: dist.ProcessGroup | None = None) -> T:
        """What `act` returns in the first process, in all; a RunFailure is raised in all.

        The others wait for it as long as `group` does; by default `control`.
        """
        failure: RunFailure | None = None
        value: T | None = None
        if self.first:
            try:
                value = act()
            except RunFailure as error:
                failure = error
        sent: list[object] = [value, failure]
        dist.broadcast_object_list(sent, src=0, group=group or self.control)
        if isinstance(sent[1], RunFailure):
            raise told(sent[1])
        return sent[0]  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    def largest(self, values: Sequence[int]) -> list[int]:
        """The largest of each value over all processes."""
        return self._reduced(values, torch.int64, dist.ReduceOp.MAX)  # type: ignore[return-value]  # pyright: ignore[reportReturnType]

    def sums(self, values: Sequence[float]) -> list[float]:
        """The sum of each value over all processes."""
        return self._reduced(values, torch.float64, dist.ReduceOp.SUM)

    def _reduced(
        self, values: Sequence[float], kind: torch.dtype, operation: dist.ReduceOp.RedOpType
    ) -> list[float]:
        tensor = torch.tensor(list(values), dtype=kind)
        dist.all_reduce(tensor, op=operation, group=self.control)
        return tensor.tolist()


def told(failure: RunFailure) -> RunFailure:
    """Mark a failure as known to all processes, so that only the first of them prints it."""
    failure.everywhere = True
    return failure


def declared(environment: Mapping[str, str]) -> tuple[int, int] | None:
    """The fewest and the most processes that the run may have, as the operator's variables say.

    None where they say nothing that can be counted on.
    """
    nodes, each = environment.get("PET_NNODES", ""), environment.get("PET_NPROC_PER_NODE", "")
    low, _, high = nodes.partition(":")
    if not (low.isdigit() and (high or low).isdigit() and each.isdigit()):
        return None
    return int(low) * int(each), int(high or low) * int(each)


def join(timeout: timedelta = TIMEOUT, environment: Mapping[str, str] | None = None) -> World:
    """Join the run's processes; nccl where there are accelerators, gloo elsewhere.

    Raises WrongWorld where there are others than the run has, where a process has no accelerator
    for itself, and where some have not come within the timeout. Ends the process where the place
    to meet is gone before all have come.
    """
    values = os.environ if environment is None else environment
    launched = "LOCAL_RANK" in values
    size = int(values.get("WORLD_SIZE", "1")) if launched else 1
    local_rank = int(values.get("LOCAL_RANK", "0"))
    local_size = int(values.get("LOCAL_WORLD_SIZE", "1")) if launched else 1
    rank = int(values.get("RANK", "0")) if launched else 0
    _refuse_other_world(values, size, launched)
    device = _device(local_rank, local_size)
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    try:
        with watched(values):
            dist.init_process_group(
                backend,
                rank=rank,
                world_size=size,
                timeout=timeout,
                # One process needs no address to be found at.
                store=None if launched else dist.HashStore(),
            )
            control = cast("dist.ProcessGroup", dist.new_group(backend="gloo", timeout=timeout))
            # Says which processes are missing, where all others only wait.
            dist.monitored_barrier(control, timeout, wait_all_ranks=True)
            patience = max(timeout, SAVING_TIMEOUT)
            saving = cast("dist.ProcessGroup", dist.new_group(backend="gloo", timeout=patience))
    except (dist.DistError, RuntimeError) as error:
        raise WrongWorld(
            f"the {size} processes did not find each other within {timeout}: "
            f"{str(error).splitlines()[0] if str(error) else type(error).__name__}"
        ) from error
    return World(rank, size, local_rank, local_size, device, control, saving)


def warm_up(model: nn.Module, loss: Callable[[], torch.Tensor]) -> None:
    """Make a step that teaches nothing, for sums that are the same to the bit after a stop.

    DistributedDataParallel lays out its gradients anew once it has seen the first of them come
    (torch, nn/parallel/distributed.py, `_rebuild_buckets`), and where a number lies decides in
    which order the processes' shares of it are added. Without this the first step after each start
    is rounded in its own way. Call it before generators are seeded and a checkpoint is put back;
    `loss` makes a loss as any step does.
    """
    loss().backward()
    model.zero_grad(set_to_none=True)


def leave() -> None:
    """Close all groups of processes, for one that ends."""
    if dist.is_initialized():
        dist.destroy_process_group()
    # The interpreter would look for circles among all objects of torch before it ends, for seconds
    # of the grace on a busy machine.
    atexit.register(gc.freeze)


def _refuse_other_world(values: Mapping[str, str], size: int, launched: bool) -> None:
    if not launched and int(values.get("WORLD_SIZE") or "1") > 1:
        raise WrongWorld(
            f"WORLD_SIZE is {values['WORLD_SIZE']} and LOCAL_RANK is not set: start the program "
            "with torchrun, which gives each process its rank"
        )
    bounds = declared(values)
    if bounds and not bounds[0] <= size <= bounds[1]:
        wanted = str(bounds[0]) if bounds[0] == bounds[1] else f"{bounds[0]} to {bounds[1]}"
        hint = "" if launched else ": start the program with torchrun"
        raise WrongWorld(
            f"there are {size} processes, and the run has {wanted} (PET_NNODES "
            f"{values['PET_NNODES']} × PET_NPROC_PER_NODE {values['PET_NPROC_PER_NODE']}){hint}"
        )


def _device(local_rank: int, local_size: int) -> torch.device:
    if not torch.cuda.is_available():
        return torch.device("cpu")
    if local_rank >= torch.cuda.device_count():
        raise WrongWorld(
            f"{local_size} processes on this node, and {torch.cuda.device_count()} accelerators"
        )
    device = torch.device("cuda", local_rank)
    torch.cuda.set_device(device)
    return device
