"""A training from its first to its last step, as the run's contract has it.

with Session(arguments=vars(args)) as session:
    ...
    session.restore(State(model, [optimizer], order))
    for step in session.steps(args.steps):
        ...
        session.report(loss, samples=len(batch))
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import TypeVar

import torch

from runwright_runtime import arguments as argued
from runwright_runtime import flops as arithmetic
from runwright_runtime import starting, storage
from runwright_runtime.checkpoints import PATIENCE, Checkpoints, Restored
from runwright_runtime.distributed import TIMEOUT, World, join, leave, told
from runwright_runtime.failures import RunFailure, Superseded, Unwritable
from runwright_runtime.fence import Fence
from runwright_runtime.progress import Progress, Window, amount, described
from runwright_runtime.run import Run
from runwright_runtime.signals import STOP, Signals
from runwright_runtime.starting import Stopped
from runwright_runtime.state import State

T = TypeVar("T")

EVERY = 1800
"""Seconds between two checkpoints where neither the job nor the program says."""
KEEP = 3
NOTICE = 1.0
"""Seconds within which the processes agree on a stop: they do not ask each other at each step."""
LOOK = 2.0
"""Seconds between two looks for a successor."""


@dataclass(frozen=True)
class Agreement:
    """What the processes do between two steps; the same in each of them."""

    stop: int
    """Number of the signal that one of them got, or 0."""
    save: bool
    successor: bool
    written: bool
    """Whether the checkpoint that was begun is written everywhere."""
    steps: int
    """In how many steps to agree again."""


class Session:
    """One process's part in a run.

    To enter it: ends with 0 if the training is complete, joins the processes, waits for the run
    before to let go of the folder, and tries whether it can be written. To leave it after the last
    step saves, and marks the training complete; to leave it before ends the program with 1.

    `arguments` are recorded in each checkpoint, and must be the same when it is loaded, but for
    those in `free`. Without CHECKPOINT_DIR in the environment nothing is saved.
    """

    def __init__(
        self,
        arguments: Mapping[str, object],
        free: Collection[str] = (),
        *,
        every: int | None = None,
        every_steps: int | None = None,
        keep: int | None = None,
        log_every: int = 10,
        flops_per_token: float | None = None,
        grace: int | None = None,
        timeout: timedelta = TIMEOUT,
        progress: Path | str | None = None,
    ) -> None:
        self.arguments = arguments
        self.free = free
        self.every = every
        self.every_steps = every_steps
        self.keep = keep
        self.log_every = log_every
        self.flops_per_token = flops_per_token
        self.grace = grace
        self.timeout = timeout
        self.progress_path = progress
        self.step = 0
        """How many steps were made."""
        self.run: Run | None = None
        self.world: World
        self.checkpoints: Checkpoints | None = None
        self.progress: Progress
        self._signals = Signals()
        self._fence: Fence | None = None
        self._state: State | None = None
        self._total: int | None = None
        self._generators: Callable[[], None] | None = None
        self._finished = False
        self._agree_at = 0
        self._saved_at = self._looked_at = self._began = 0.0
        self._timed = (0, 0.0)
        self._wanted = False
        self._window = Window(0)

    @property
    def device(self) -> torch.device:
        """The device of this process."""
        return self.world.device

    # To begin

    def __enter__(self) -> Session:  # noqa: PYI034 (Self came with Python 3.11)
        self._signals.__enter__()
        try:
            self._begin()
        except BaseException as error:
            self._end(error)
            raise AssertionError from error  # _end has raised
        return self

    def _begin(self) -> None:
        run = self.run = Run.here()
        recorded = argued.recorded(self.arguments)
        if run is not None and run.complete():
            raise SystemExit(0)
        self.world = join(self.timeout)
        path = self.progress_path
        if path is None and run is not None:
            path = run.folder / "progress" / f"{run.name}.jsonl"
        self.progress = Progress(run.name if run else None, path, self.world.first)
        if run is None:
            self.progress.tell("begun", "no CHECKPOINT_DIR: nothing will be saved", **self._who())
            return
        grace = starting.grace() if self.grace is None else self.grace
        self._fence = run.fence(grace)
        starting.acquire(self.world, self._fence, self._signals)
        if self.world.told(run.complete):
            raise SystemExit(0)
        starting.probe(self.world, run)
        keep = self.keep or run.keep or KEEP
        self.checkpoints = Checkpoints(run, self.world, self._fence, recorded, self.free, keep)
        self.world.told(lambda: storage.prune(run.folder, 1 << 30, run.number))
        self.every = self.every or run.every or EVERY
        self.progress.tell("begun", f"run {run.name}, {self.world.size} processes", **self._who())

    def _who(self) -> dict[str, object]:
        name = str(self.device)
        if self.device.type == "cuda":
            name = torch.cuda.get_device_name(self.device)
        return {"world": self.world.size, "device": name, "torch": torch.__version__}

    def restore(self, state: State) -> int:
        """Go on from the newest checkpoint; returns the steps that were made, 0 at the beginning.

        Call it once, with all that a training needs to go on, before the first step. Raises
        ArgumentsChanged, Incompatible, Damaged, Unwritable (no room for a checkpoint), WrongWorld
        (the batch cannot be shared by so many processes).
        """
        self._state = state
        order = state.order
        if order is not None:
            self.world.together(lambda: order.share(self.world.size))
        if self.checkpoints is None or self.run is None:
            return 0
        starting.refuse_full(self.world, self.run.folder, state)
        # What cannot be saved is told now.
        self.world.together(state.rest)
        found: Restored | None = self.checkpoints.restore(state)
        if found is None:
            return 0
        for note in found.notes:
            self.progress.tell("note", f"runwright: {note}", note=note)
        self.step = found.step
        self._generators = found.generators
        self.progress.tell("resumed", f"goes on after step {self.step}", step=self.step)
        return self.step

    # Step by step

    def steps(self, total: int) -> Iterator[int]:
        """The steps that are left, as numbers from 0; between two of them the run saves or stops.

        Raises Stopped, Superseded, and Unwritable after three failed checkpoints in a row.
        """
        self._total = total
        if self._generators is not None:
            # Only now: a DataLoader, among others, draws from them when it begins.
            self.world.together(self._generators)
        self._began = self._saved_at = time.monotonic()
        self._timed = (self.step, self._began)
        self._window = Window(self.step)
        self._between()
        while self.step < total and not self._finished:
            yield self.step
            self.step += 1
            if self._state is not None and self._state.order is not None:
                self._state.order.advance()
            last = self.step == total or self._finished
            if self.step % self.log_every == 0 or last:
                self._tell_progress()
            if not last:
                self._between()
        self._finished = True

    def report(self, loss: torch.Tensor | float, *, tokens: int = 0, samples: int = 0) -> None:
        """Tell of a step: its mean loss here, and what this process has worked on.

        The lines have the mean loss over all processes and the steps since the line before. Does
        not wait for the accelerator.
        """
        self._window.add(loss, tokens, samples)

    def tell(self, event: str, text: str, **values: object) -> None:
        """Write a line of one's own among those of progress; only the first process does."""
        self.progress.tell(event, text, step=self.step, **values)

    def alone(self, act: Callable[[], T]) -> T:
        """What `act` returns in the first process, in all, if it takes up to an hour.

        A RunFailure is raised in all. Waits first for a checkpoint, which has the same group.
        """
        if self.checkpoints is not None:
            self._settle(self.checkpoints)
        return self.world.told(act, self.world.saving)

    def save(self) -> None:
        """Save after this step, whatever the time is. All processes must ask for it."""
        self._wanted = True

    def finish(self) -> None:
        """Say that this step is the last, whatever was planned. All processes must say so."""
        self._finished = True

    def _between(self) -> None:
        """Between two steps: agree on what is to be done, and do it."""
        planned = bool(self.every_steps and self.step and self.step % self.every_steps == 0)
        planned, self._wanted = planned or self._wanted, False
        if self.step < self._agree_at and not planned:
            return
        agreed = self._agree()
        self._agree_at = self.step + agreed.steps
        checkpoints = self.checkpoints
        if checkpoints is None:
            if agreed.stop:
                self._stop(agreed.stop, "told to stop; without CHECKPOINT_DIR nothing is saved")
            return
        if agreed.written:
            self._settle(checkpoints)
        if agreed.stop or agreed.successor:
            why = f"signal {agreed.stop}" if agreed.stop else "a later run wants the folder"
            self._save(checkpoints, why)
            self._settle(checkpoints, last=True)
            self._stop(agreed.stop or STOP[0], f"stops after step {self.step}: {why}")
        if planned or agreed.save:
            self._save(checkpoints, "planned" if planned else "due")

    def _agree(self) -> Agreement:
        """What all processes do after this step, from what each of them knows."""
        now = time.monotonic()
        before, since = self._timed
        made, self._timed = self.step - before, (self.step, now)
        save, successor = self._signals.save, False
        self._signals.save = False
        if self._fence is not None and self.world.first:
            save = save or now - self._saved_at >= (self.every or EVERY)
            if now - self._looked_at >= LOOK:
                self._looked_at = now
                successor = self._fence.successor() is not None
        writing = self.checkpoints is not None and self.checkpoints.writing
        unwritten = self.checkpoints is not None and writing and not self.checkpoints.done
        slowest = int((now - since) / made * 1e6) if made else 0
        known = [self._signals.stop or 0, save, successor, unwritten, slowest]
        stop, save, successor, unwritten, slowest = self.world.largest([int(one) for one in known])
        steps = max(1, min(1000, int(NOTICE * 1e6 / slowest))) if slowest else 1
        return Agreement(stop, bool(save), bool(successor), writing and not unwritten, steps)

    def _save(self, checkpoints: Checkpoints, why: str) -> None:
        """Save, unless this step is saved already."""
        self._settle(checkpoints)
        self._saved_at = time.monotonic()
        if checkpoints.last == self.step:
            return
        assert self._state is not None, "call restore() before the first step"
        checkpoints.save(self.step, self._state)
        self.progress.tell("saving", f"saves step {self.step} ({why})", step=self.step, why=why)

    def _settle(self, checkpoints: Checkpoints, last: bool = False) -> None:
        """Wait for a checkpoint that is being written, and see how it went.

        Raises Superseded; Unwritable if too many have failed, or this was the last chance.
        """
        if (done := checkpoints.wait()) is None:
            return
        waited, share = checkpoints.waited, self._waited(checkpoints)
        values = {"step": done.step, "bytes": done.bytes, "seconds": round(done.seconds, 3)}
        if done.superseded:
            raise told(Superseded(str(done.failure)))
        if done.failure is None:
            text = f"saved step {done.step}: {amount(done.bytes)}B in {done.seconds:.1f} s"
            self.progress.tell(
                "saved", text, **values, waited=round(waited, 3), waited_share=round(share, 6)
            )
            return
        text = f"step {done.step} was not saved: {done.failure}"
        self.progress.tell("not-saved", f"runwright: {text}", step=done.step, why=done.failure)
        if last or checkpoints.failed >= PATIENCE:
            raise told(Unwritable(text))

    def _waited(self, checkpoints: Checkpoints) -> float:
        """The share of the time since the first step that the loop stood still for saving."""
        return checkpoints.waited / max(time.monotonic() - self._began, 1e-9)

    def _stop(self, signal: int, why: str) -> None:
        self.progress.tell("stopped", why, step=self.step, signal=int(signal))
        raise Stopped(128 + signal)

    def _tell_progress(self) -> None:
        window, self._window = self._window, Window(self.step)
        sums = self.world.sums(window.sums())
        if not self.world.first:
            return
        values = window.values(self.step, sums, self.world.size)
        rate = values.get("tokens_per_s")
        peak = arithmetic.peak(torch.cuda.get_device_name()) if self.device.type == "cuda" else None
        if rate and self.flops_per_token:
            values["flops_per_s"] = rate * self.flops_per_token
            if peak:
                values["mfu"] = rate * self.flops_per_token / (self.world.size * peak)
        if self.checkpoints is not None:
            values["waited_share"] = round(self._waited(self.checkpoints), 6)
        if self._state is not None and self._state.order is not None:
            values["epoch"] = self._state.order.epoch
        self.progress.tell("step", described(self.step, self._total, values), **values)

    # To end

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            try:
                self._complete()
            except BaseException as failure:  # noqa: BLE001 (_end raises it again)
                error = failure
        self._end(error)

    def _complete(self) -> None:
        """Save what was learned last, and mark the training complete."""
        checkpoints = self.checkpoints
        if self._total is not None and not self._finished:
            if checkpoints is not None:
                self._settle(checkpoints)
            text = f"left after step {self.step} of {self._total}: not complete"
            self.progress.tell("left", text, step=self.step)
            # With 0 the cluster would take it for a success.
            raise SystemExit(1)
        if checkpoints is None or self.run is None:
            return
        if self._state is not None:
            self._save(checkpoints, "the last")
            self._settle(checkpoints, last=True)
        run = self.run
        self.world.told(lambda: run.mark_complete(self.step))
        text = f"complete after step {self.step}"
        waited, share = round(checkpoints.waited, 3), round(self._waited(checkpoints), 6)
        self.progress.tell("complete", text, step=self.step, waited=waited, waited_share=share)

    def _end(self, error: BaseException | None) -> None:
        """Let go of everything. Raises what ended the program, as what its exit code should be."""
        try:
            if self.checkpoints is not None:
                self.checkpoints.close()
            if self._fence is not None and not isinstance(error, Superseded):
                self._fence.release()
            if error is None or isinstance(error, SystemExit):
                leave()
        except RunFailure as failure:
            error = error or failure
        finally:
            self._signals.__exit__(None, None, None)
        if isinstance(error, RunFailure):
            # What all processes were told, one of them says.
            if not error.everywhere or self.world.first:
                print(f"runwright: {error}", file=sys.stderr, flush=True)
            raise SystemExit(error.status) from error
        if error is not None:
            raise error
