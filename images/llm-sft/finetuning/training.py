"""A training from its arguments to its export, whatever the task is."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import ceil, isfinite
from typing import TYPE_CHECKING, Any, cast

import torch
from runwright_runtime import (
    ArgumentsChanged,
    Incompatible,
    Unusable,
    WrongWorld,
    distributed,
    randomness,
)
from runwright_runtime.data import Order
from runwright_runtime.session import Session
from runwright_runtime.state import State
from torch import Tensor, nn
from torch.distributed.fsdp import FSDPModule
from torch.utils.data import DataLoader

from finetuning import exporting, modeling, schedule
from finetuning.chat import Chat
from finetuning.rows import Rows
from finetuning.task import Batch, Task

if TYPE_CHECKING:
    from arguments import Arguments

FREE = (
    *("accumulation", "activation_checkpointing", "chat_template", "compile", "data", "eval_data"),
    *("eval_every", "export", "global_batch", "log_every", "merge_adapters", "micro_batch"),
    *("sharding", "workers"),
)
"""Arguments that may differ when a training goes on: they say where things are, and how the work
is shared. That the data and the batch are the same is seen by what they are."""


class Same:
    """A value that a training keeps when it goes on; `refuse` says what is wrong with another."""

    def __init__(self, value: object, refuse: Callable[[object], Exception]) -> None:
        self._value = value
        self._refuse = refuse

    def state_dict(self) -> dict[str, object]:
        """The value."""
        return {"value": self._value}

    def load_state_dict(self, state_dict: Mapping[str, object]) -> None:
        """Raise what is wrong with this value, unless it is the same."""
        if state_dict.get("value") != self._value:
            raise self._refuse(state_dict.get("value"))


class Training:
    """What a task needs to be learned: the model, its optimizer, the order of the samples."""

    def __init__(self, args: Arguments, session: Session, chat: Chat, task: Task) -> None:
        self.args = args
        self.session = session
        self.chat = chat
        self.task = task
        world = session.world
        self.accumulation = world.together(lambda: _accumulation(args, world.size))
        batch = args.micro_batch * self.accumulation * world.size
        self.order = Order(len(task), batch, args.seed)
        passes = args.epochs or 1
        self.total = args.max_steps or max(1, ceil(passes * len(task) / batch))
        self.config = world.together(lambda: modeling.config_of(args.model))
        world.together(lambda: _refuse_unfit(args, chat, self.config))
        randomness.seed(args.seed)
        self.model = modeling.sharded(args, self.config, world)
        self.optimizer = torch.optim.AdamW(
            _groups(self.model, args.weight_decay),
            lr=args.learning_rate,
            fused=True,
        )
        model = cast("nn.Module", self.model)
        session.flops_per_token = modeling.flops_per_token(model, self.config, task.attended)

    def restore(self) -> None:
        """Go on from the newest checkpoint. Raises what restoring raises."""
        args, world, batch = self.args, self.session.world, self.order.batch
        parts = {
            "batch": Same(
                batch,
                lambda before: ArgumentsChanged(
                    f"a step had {before} samples, and would have {batch} with {world.size} "
                    f"processes: give --global_batch={before}"
                ),
            ),
            "data": Same(
                self.task.fingerprint,
                lambda before: Incompatible(
                    f"the data, their template or the tokenizer are not those that the checkpoint "
                    f"was made with (tokens {before}, now {self.task.fingerprint})"
                ),
            ),
        }
        # From here on each process draws its own numbers: dropout differs between them.
        randomness.seed(args.seed * 1_000_003 + world.rank)
        model = self.model
        assert isinstance(model, nn.Module)
        self.session.restore(
            State(model, [self.optimizer], self.order, parts, trainable_only=args.tuning == "lora")
        )

    def steps(self, evaluation: Task | None) -> None:
        """Make all steps that are left, and evaluate on the way."""
        args, session, task = self.args, self.session, self.task
        batches = self._batches()
        for step in session.steps(self.total):
            positions = range(self.order.consumed, self.order.consumed + self.order.batch)
            weight = sum(task.weight(self.order.sample(at)) for at in positions)
            share = args.learning_rate * schedule.rate(args.schedule, step, self.total, args.warmup)
            for group in self.optimizer.param_groups:
                group["lr"] = share
            loss, tokens = self._step(batches, weight)
            last = step + 1 == self.total
            if (step + 1) % args.log_every == 0 or last:
                self._refuse_diverged(loss, step)
            session.report(loss, tokens=tokens, samples=self.order.batch // session.world.size)
            if evaluation is not None and (
                last or (args.eval_every and (step + 1) % args.eval_every == 0)
            ):
                self.evaluate(evaluation)

    def _step(self, batches: Iterator[Batch], weight: int) -> tuple[Tensor, int]:
        """One step; the loss here, so that its mean over all processes is that of the step."""
        model, world = self.model, self.session.world
        loss = torch.zeros((), device=self.session.device)
        tokens = 0
        for turn in range(self.accumulation):
            batch = next(batches)
            tokens += int(batch["tokens"])
            if self.args.sharding == "none":
                # Nothing is gained by adding gradients up sooner where each has all of them.
                model.set_requires_gradient_sync(turn + 1 == self.accumulation)
            lost = self._measured(self.task, batch)[0]
            # Gradients are averaged over the processes; what is wanted is the sum over the weight.
            lost = lost * (world.size / weight)
            lost.backward()
            loss += lost.detach()
        assert isinstance(model, nn.Module)
        nn.utils.clip_grad_norm_(model.parameters(), self.args.max_gradient_norm)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return loss, tokens

    def _measured(self, task: Task, batch: Batch) -> list[Tensor]:
        model = self.model
        assert isinstance(model, nn.Module)
        placed = {
            name: tensor.to(self.session.device, non_blocking=True)
            for name, tensor in batch.items()
        }
        return task.measure(model, placed)

    def _batches(self) -> Iterator[Batch]:
        """This process's micro batches, from where the training is."""
        args, world = self.args, self.session.world
        sampler = self.order.batches(world.rank, world.size, args.micro_batch)
        return iter(
            DataLoader(
                range(len(self.task)),  # type: ignore[arg-type]  # pyright: ignore
                batch_sampler=sampler,  # type: ignore[arg-type]  # pyright: ignore
                collate_fn=self.task.batch,
                num_workers=args.workers,
                pin_memory=self.session.device.type == "cuda",
            )
        )

    def evaluate(self, task: Task) -> dict[str, float]:
        """Means over a task's samples; all processes call it, and each takes a part."""
        model, world, micro = self.model, self.session.world, self.args.micro_batch
        assert isinstance(model, nn.Module)
        sums = [0.0] * (len(task.measured) + 1)
        model.eval()
        with torch.no_grad():
            for begin in range(0, len(task), micro * world.size):
                mine = range(begin + world.rank * micro, begin + (world.rank + 1) * micro)
                samples = [sample for sample in mine if sample < len(task)]
                # All have to take part in each pass, also those that have no sample left.
                found = self._measured(task, task.batch(samples or [0]))
                if samples:
                    weights = sum(task.weight(sample) for sample in samples)
                    values = [*(float(one) for one in found), weights]
                    sums = [a + b for a, b in zip(sums, values, strict=True)]
        model.train()
        *sums, weight = world.sums(sums)
        means = {
            f"eval_{name}": one / weight for name, one in zip(task.measured, sums, strict=True)
        }
        text = "  ".join(f"{name} {value:.4f}" for name, value in means.items())
        self.session.tell("evaluated", text, made=self.session.step + 1, **means)
        return means

    def export(self) -> None:
        """Write what was learned, if it is asked for."""
        if self.args.export:
            model = self.model
            assert isinstance(model, nn.Module)
            exporting.export(self.args, model, self.config, self.chat.tokenizer, self.session)

    def _refuse_diverged(self, loss: Tensor, step: int) -> None:
        diverged = not isfinite(float(loss))
        if self.session.world.largest([diverged])[0]:
            raise distributed.told(
                Unusable(
                    f"the loss of step {step + 1} is no finite number: take a lower learning_rate, "
                    "or look at the rows"
                )
            )


def begun(session: Session, args: Arguments, rows: Callable[[str], Rows]) -> tuple[Chat, Rows]:
    """The tokenizer and the rows, found in all processes. Raises Unusable in all of them."""
    world = session.world
    modeling.be_quiet()
    chat = world.together(lambda: Chat(modeling.tokenizer_of(args.model), args.chat_template))
    return chat, world.together(lambda: rows(args.data))


def told(session: Session, name: str, task: Any) -> None:
    """Say what the data are, and what becomes of those that are too long."""
    about = task.about
    text = ", ".join(f"{key} {value}" for key, value in about.items())
    session.tell("data", f"{name}: {text}", name=name, **about)
    if task.note is not None:
        session.tell("note", f"runwright: {task.note}", note=task.note)


def recorded(args: Arguments) -> dict[str, object]:
    """The arguments as a checkpoint keeps them."""
    return args.model_dump(mode="json")


def _accumulation(args: Arguments, size: int) -> int:
    try:
        return args.accumulated(size)
    except ValueError as error:
        raise WrongWorld(str(error)) from error


def _groups(model: FSDPModule, decay: float) -> list[dict[str, Any]]:
    """What is trained: matrices, whose weights decay, and vectors, whose do not."""
    assert isinstance(model, nn.Module)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    matrices = [parameter for parameter in trained if parameter.ndim > 1]
    vectors = [parameter for parameter in trained if parameter.ndim < 2]
    groups = [(matrices, decay), (vectors, 0.0)]
    return [{"params": found, "weight_decay": share} for found, share in groups if found]


def _refuse_unfit(args: Arguments, chat: Chat, config: Any) -> None:
    """Raise Unusable where tokenizer, model and arguments do not fit each other."""
    if len(chat.tokenizer) > config.vocab_size:
        raise Unusable(
            f"the tokenizer has {len(chat.tokenizer)} tokens, and the model {config.vocab_size}"
        )
    longest = getattr(config, "max_position_embeddings", None)
    if longest is not None and args.sequence_length > longest:
        raise Unusable(
            f"sequence_length is {args.sequence_length}, and the model has positions for {longest}"
        )
