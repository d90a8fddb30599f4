"""A training from its arguments to its last step."""

from __future__ import annotations

import os
from collections.abc import Iterator
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from runwright_runtime import Unusable, WrongWorld, distributed, randomness
from runwright_runtime.data import Order
from runwright_runtime.distributed import World
from runwright_runtime.session import Session
from runwright_runtime.state import State
from torch import Tensor, nn
from torch.utils.data import DataLoader

from pretraining import madeup, schedule
from pretraining.sequences import Sequences, Unchanged
from pretraining.sharding import flops_per_token, optimizer_for, sharded
from pretraining.shards import Shards, Tokens

if TYPE_CHECKING:
    from arguments import Arguments

FREE = (
    *("activation_checkpointing", "compile", "config", "data", "global_batch", "log_every"),
    *("micro_batch", "save_every", "sharding", "verify", "workers"),
)
"""Arguments that may differ when a training goes on: they say where things are, and how the work
is shared. That tokens and batch are the same is seen by what they are."""


def free(args: Arguments) -> tuple[str, ...]:
    """The arguments that may differ; a rate that stays the same does not depend on the steps."""
    return (*FREE, "steps") if args.schedule == "constant" else FREE


def tokens_of(args: Arguments, world: World) -> Tokens:
    """The tokens to train on, looked at by all processes together. Raises Unusable."""
    if args.data == madeup.NAME:
        return madeup.MadeUp()
    found = Shards(Path(args.data))
    if found.vocabulary > args.vocabulary:
        raise Unusable(
            f"the shards in {args.data} have a vocabulary of {found.vocabulary} tokens, and the "
            f"model one of {args.vocabulary}: give --vocabulary"
        )
    if args.verify == "all":
        found.verify(world.rank, world.size)
    return found


def batch_of(args: Arguments, world: World) -> int:
    """The sequences of a step. Raises WrongWorld where some size of the run cannot share them."""
    bounds = distributed.declared(os.environ) or (world.size, world.size)
    least, most = bounds
    if least < most and args.global_batch is None:
        raise WrongWorld(
            f"the run has {least} to {most} processes, and a step must have as many sequences "
            "with each number of them: give --global-batch"
        )
    try:
        for size in range(least, most + 1, world.local_size):
            args.batch(size)
        return args.batch(world.size)
    except ValueError as error:
        raise WrongWorld(str(error)) from error


class Training:
    """Model, optimizer and data of one process, and the steps that it makes with them."""

    def __init__(self, args: Arguments, session: Session) -> None:
        self.args = args
        self.session = session
        world = session.world
        batch = world.together(lambda: batch_of(args, world))
        tokens = world.together(lambda: tokens_of(args, world))
        self.sequences = world.together(lambda: Sequences(tokens, args.sequence_length))
        self.order = Order(len(self.sequences), batch, args.seed)
        self.accumulation = batch // (args.micro_batch * world.size)
        session.tell(
            "data",
            f"{tokens.count} tokens in {len(self.sequences)} sequences, {batch} a step",
            tokens=tokens.count,
            sequences=len(self.sequences),
            batch=batch,
        )
        self.model = sharded(args, world)
        self.optimizer = optimizer_for(self.model, args, session.device)
        session.flops_per_token = flops_per_token(self.model, args)
        self._unchanged = Unchanged(tokens.fingerprint, batch, world.size)

    def restore(self) -> None:
        """Go on from the newest checkpoint. Raises what restoring raises."""
        randomness.seed(self.args.seed * 1_000_003 + self.session.world.rank)
        parts = {"data": self._unchanged}
        self.session.restore(State(self.model, [self.optimizer], self.order, parts))

    def steps(self) -> None:
        """Make all steps that are left."""
        args, session = self.args, self.session
        batches = self.batches()
        for step in session.steps(args.steps):
            share = schedule.rate(
                args.schedule, step, args.steps, args.warmup_steps, args.last_rate
            )
            for group in self.optimizer.param_groups:
                group["lr"] = args.learning_rate * share
            loss, tokens = self.step(batches)
            if (step + 1) % args.log_every == 0 or step + 1 == args.steps:
                self._refuse_diverged(loss, step)
            share_of_batch = self.order.batch // session.world.size
            session.report(loss, tokens=tokens, samples=share_of_batch)

    def step(self, batches: Iterator[tuple[Tensor, Tensor]]) -> tuple[Tensor, int]:
        """One step. Returns the loss, whose mean over all processes is that of the step, and how
        many tokens this process was asked for."""
        device = self.session.device
        size = self.session.world.size
        # Known to all without asking: how many targets count in the whole step.
        ahead = range(self.order.consumed, self.order.consumed + self.order.batch)
        weight = self.sequences.weight(self.order.sample(at) for at in ahead)
        total = torch.zeros((), device=device)
        tokens = 0
        for turn in range(self.accumulation):
            inputs, targets = next(batches)
            tokens += inputs.numel()
            if self.args.sharding == "none":
                # Where each has all gradients it is enough to add them up over processes once.
                self.model.set_requires_gradient_sync(turn + 1 == self.accumulation)
            loss = self.model(
                inputs.to(device, non_blocking=True), targets.to(device, non_blocking=True)
            )
            # Gradients are averaged over the processes; what is wanted is the sum over the weight.
            loss = loss * (size / weight)
            loss.backward()
            total += loss.detach()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.args.max_gradient_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return total, tokens

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """This process's micro batches, from where the training is."""
        args, world = self.args, self.session.world
        sampler = self.order.batches(world.rank, world.size, args.micro_batch)
        return iter(
            DataLoader(
                self.sequences,
                batch_sampler=sampler,  # type: ignore[arg-type]  # pyright: ignore
                num_workers=args.workers,
                pin_memory=self.session.device.type == "cuda",
            )
        )

    def _refuse_diverged(self, loss: Tensor, step: int) -> None:
        if self.session.world.largest([not isfinite(float(loss))])[0]:
            raise distributed.told(
                Unusable(
                    f"the loss of step {step + 1} is no finite number: take a lower learning_rate"
                )
            )


def train(args: Arguments) -> None:
    """Train as the arguments say. Ends the program as a run does that did not come to its end."""
    recorded = args.model_dump(mode="json")
    with Session(
        recorded, free(args), every_steps=args.save_every, log_every=args.log_every
    ) as session:
        training = Training(args, session)
        training.restore()
        training.steps()
