"""Checkpoints of all processes together: written beside the training, whole or not there at all.

The tensors are written by torch.distributed.checkpoint, copied first, so that the loop goes on
while they are (torch, distributed/checkpoint/state_dict_saver.py, async_save). `storage` says how
the folder looks and what gives a checkpoint its name.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.staging import DefaultStager, StagingOptions
from torch.distributed.checkpoint.state_dict_saver import AsyncSaveResponse

from runwright_runtime import arguments as argued
from runwright_runtime import randomness, storage
from runwright_runtime.distributed import World
from runwright_runtime.failures import Damaged, Incompatible, Superseded, Unwritable
from runwright_runtime.fence import Fence
from runwright_runtime.files import save
from runwright_runtime.run import Run
from runwright_runtime.state import State
from runwright_runtime.storage import Manifest

PATIENCE = 3
"""How many checkpoints in a row may fail before the run does."""


@dataclass(frozen=True)
class Restored:
    """Where a training goes on: the step, and what there is to say about how it got there."""

    step: int
    notes: tuple[str, ...]
    generators: Callable[[], None]
    """Puts the states of the random number generators back. Raises Damaged."""


@dataclass(frozen=True)
class Saved:
    """How a checkpoint went. `failure` says what went wrong; `superseded`: the folder is lost."""

    step: int
    seconds: float
    bytes: int
    failure: str | None = None
    superseded: bool = False


class Checkpoints:
    """The checkpoints of a run, as one of its processes has a hand in them.

    Each method is called by all processes together. `waited` are the seconds that the loop has
    stood still for saving.
    """

    def __init__(
        self,
        run: Run,
        world: World,
        fence: Fence,
        arguments: dict[str, object],
        free: Collection[str] = (),
        keep: int = 3,
    ) -> None:
        self.run = run
        self.world = world
        self.fence = fence
        self.arguments = arguments
        self.free = free
        self.keep = keep
        self.waited = 0.0
        self.last: int | None = None
        """The step of the checkpoint that was read, or begun, last."""
        self.failed = 0
        """How many checkpoints in a row have failed."""
        self._writing: Future[Saved] | None = None
        self._thread = ThreadPoolExecutor(1, "checkpoints")
        cuda = world.device.type == "cuda"
        self._stager = DefaultStager(StagingOptions(cuda, False, False, cuda))

    # Saving

    def save(self, step: int, state: State) -> None:
        """Begin to save; returns as soon as the training may go on.

        Waits for the checkpoint before, if that is still being written.
        """
        self.wait()
        with self._measured():
            written = storage.scratch(self.run.folder, step, self.run.number)
            said = Manifest(
                step=step,
                run=self.run.name,
                commit=self.run.commit,
                at=datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),  # noqa: UP017
                world=self.world.size,
                torch=torch.__version__,
                arguments=self.arguments,
                state=state.rest(),
            )
            generators = json.dumps(randomness.state()).encode()
            made = dcp.async_save(
                state.tensors(),
                storage_writer=dcp.FileSystemWriter(written, single_file_per_rank=True),
                async_stager=self._stager,
                process_group=self.world.saving,
            )
            data = made.upload_completion if isinstance(made, AsyncSaveResponse) else made
            self.last = step
            self._writing = self._thread.submit(self._finish, written, said, generators, data)

    def wait(self) -> Saved | None:
        """How the checkpoint that is being written went, once it has; None without one."""
        if self._writing is None:
            return None
        with self._measured():
            done = self._writing.result()
        self._writing = None
        self.failed = self.failed + 1 if done.failure else 0
        if done.failure:
            self.last = None
        return done

    @property
    def writing(self) -> bool:
        """Whether a checkpoint was begun, and nobody has looked yet how it went."""
        return self._writing is not None

    @property
    def done(self) -> bool:
        """Whether a checkpoint was begun and is written, here: others may still be at it."""
        return self._writing is not None and self._writing.done()

    def close(self) -> None:
        """Let go of threads and memory; does not wait for what is being written."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        self._stager.close()

    def _finish(self, written: Path, said: Manifest, generators: bytes, data: Future[Any]) -> Saved:
        """Runs beside the training, in each process: waits for the tensors, and publishes."""
        began = time.monotonic()
        files: dict[str, tuple[int, str]] = {}
        failure: str | None = None
        try:
            data.result()
            own = f"random-{self.world.rank:05d}.json"
            save(written / own, generators)
            names = [own, *(path.name for path in written.glob(f"__{self.world.rank}_*"))]
            if self.world.first:
                names.append(".metadata")
            files = {name: storage.fingerprint(written / name) for name in names}
        except CheckpointException as error:
            failure = _first(error)
        except (OSError, Unwritable) as error:
            failure = str(error)
        found: list[Any] | None = [None] * self.world.size if self.world.first else None
        dist.gather_object((files, failure), found, dst=0, group=self.world.saving)
        outcome: list[object] = [None]
        if found is not None:
            outcome = [self._publish(written, said, found, began)]
        dist.broadcast_object_list(outcome, src=0, group=self.world.saving)
        assert isinstance(outcome[0], Saved)
        return outcome[0]

    def _publish(self, written: Path, said: Manifest, found: list[Any], began: float) -> Saved:
        files: dict[str, tuple[int, str]] = {}
        failure: str | None = None
        superseded = False
        for theirs, failed in found:
            files.update(theirs)
            failure = failure or failed
        try:
            self.fence.check()
            if failure is None:
                storage.publish(written, self.run.folder, replace(said, files=files))
                storage.prune(self.run.folder, self.keep, self.run.number)
        except Superseded as error:
            failure, superseded = str(error), True
        except (OSError, Unwritable) as error:
            failure = str(error)
        if failure is not None:
            shutil.rmtree(written, ignore_errors=True)
        size = sum(size for size, _ in files.values())
        return Saved(said.step, time.monotonic() - began, size, failure, superseded)

    # Going on

    def restore(self, state: State) -> Restored | None:
        """Put the newest whole checkpoint back; None where there is none to begin from.

        A damaged one is set aside, and the one before is taken. Raises ArgumentsChanged,
        Incompatible, and Damaged where there are checkpoints and none is whole.
        """
        notes: list[str] = []
        folder, own = self.run.folder, True
        steps = self.world.told(lambda: storage.steps(folder))
        if not steps and self.run.source is not None:
            folder, own = self.run.source, False
            steps = self.world.told(lambda: storage.steps(folder))
            if not steps:
                raise Damaged(f"there is no checkpoint in {folder} to start from")
        named = self.world.told(lambda: storage.latest(folder))
        if named is not None and named not in steps:
            notes.append(f"{storage.name(named)} was the newest and is missing")
            if not steps:
                raise Damaged(f"{folder / storage.name(named)} is missing, and there is no other")
        for step in steps:
            said, problem = self._examined(folder, step)
            if said is not None and problem is None:
                self._refuse(said, folder / storage.name(step), own, notes)
                generators = self._load(folder / storage.name(step), said, state, notes)
                self.last = step if own else None
                return Restored(step, tuple(notes), generators)
            notes.append(f"{storage.name(step)} is damaged: {problem}")
            if own:
                self.world.told(lambda: storage.discard(folder, step))  # noqa: B023
        if steps:
            raise Damaged(
                f"no checkpoint in {folder} is whole ({'; '.join(notes)}): delete the folder to "
                "train from the beginning"
            )
        return None

    def _examined(self, folder: Path, step: int) -> tuple[Manifest | None, str | None]:
        """What a checkpoint says of itself, and what is wrong with it; each process reads a part.

        All get the same answer.
        """

        def read() -> tuple[Manifest | None, str | None]:
            try:
                return storage.read(folder, step), None
            except Damaged as error:
                return None, str(error)

        said, problem = self.world.told(read)
        if said is None:
            return None, problem
        mine = sorted(said.files.items())[self.world.rank :: self.world.size]
        here = storage.damage(folder / storage.name(step), mine)
        found: list[str | None] = [None] * self.world.size
        dist.all_gather_object(found, here, group=self.world.saving)
        return said, next((one for one in found if one is not None), None)

    def _refuse(self, said: Manifest, where: Path, own: bool, notes: list[str]) -> None:
        if own:
            argued.refuse_change(said.arguments, self.arguments, self.free, str(where))
            return
        notes.append(f"starts from {where}")
        changed = argued.differences(said.arguments, self.arguments, self.free)
        notes.extend(f"other arguments than there: {one}" for one in changed)

    def _load(
        self, where: Path, said: Manifest, state: State, notes: list[str]
    ) -> Callable[[], None]:
        """Put tensors and the rest back; returns what puts the random number generators back."""
        tensors = state.tensors()
        try:
            dcp.load(
                tensors,
                storage_reader=dcp.FileSystemReader(where),
                process_group=self.world.saving,
            )
        except CheckpointException as error:
            raise Incompatible(f"{where} does not fit this model: {_first(error)}") from error
        state.put_back(tensors)
        state.put_back_rest(said.state)
        if said.torch != torch.__version__:
            notes.append(f"saved by torch {said.torch}, and this is {torch.__version__}")
        if said.world == self.world.size:
            path = where / f"random-{self.world.rank:05d}.json"
            found = self.world.together(lambda: _read(path))
            return lambda: randomness.restore(found)
        notes.append(
            f"{self.world.size} processes go on where {said.world} were: the random numbers of "
            "each begin anew"
        )
        return lambda: randomness.seed(said.step * 1_000_003 + self.world.rank)

    @contextmanager
    def _measured(self) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.waited += time.monotonic() - began


def _read(path: Path) -> dict[str, object]:
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError) as error:
        raise Damaged(f"cannot read {path}: {error}") from error


def _first(error: CheckpointException) -> str:
    """What the first process that failed has to say, in a line."""
    rank, (failure, _) = min(error.failures.items())
    text = str(failure).strip() or type(failure).__name__
    return f"process {rank}: {text.splitlines()[0]}"
