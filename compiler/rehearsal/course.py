"""A rehearsal: begin, save, lose a node, go on, stop in time, end, start once more."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from typing import NoReturn

from compiler import guard
from compiler.diagnostics import Place
from compiler.rehearsal.account import Account, Part, Problem, Status
from compiler.rehearsal.casting import Cast, launch_of
from compiler.rehearsal.diagnosis import diagnose
from compiler.rehearsal.folders import contents
from compiler.rehearsal.running import LOOK, Running
from compiler.rehearsal.scale import Scale
from compiler.rehearsal.scene import Scene, excerpt
from compiler.rehearsal.survivors import Survivors

# A finished training that takes longer than this, and than its first start did, to say so loads
# what it does not need. torchrun alone takes seconds.
_QUICK = 5.0


class Over(Exception):
    """Nothing more can be rehearsed."""


class Course:
    """Plays the parts in order, and writes the account; raises nothing for a run that fails."""

    def __init__(
        self,
        scene: Scene,
        scale: Scale,
        cast: Cast,
        account: Account,
        seconds: float,
        say: Callable[[str], None],
    ) -> None:
        self.scene = scene
        self.scale = scale
        self.cast = cast
        self.account = account
        self.say = say
        self.running = Running(
            cast, seconds, scene.made.site.backend == "job", scene.run.elastic is not None
        )
        self.watch = self.running.watch
        self.starts = ["from the beginning"]
        self._seconds = seconds
        self._part = ("start", time.monotonic())

    def play(self) -> None:
        """All of it, as far as it goes."""
        with suppress(Over):
            self._begin()
            if self.cast.checkpoints is None:
                self._end("trained to its end; without `checkpoint` nothing else can be tried")
                return
            if self._first_checkpoint() and self._lose_a_node():
                self._stop()
            self._end("the training reached its end")
            self._start_again()
        for path, (folder, before) in self.cast.untouched.items():
            if contents(folder) != before:
                place = self.scene.place("mounts", path)
                self._problem(
                    "read-only",
                    ("mounts", place),
                    f"the training writes to {path}, which is mounted read-only",
                    "write elsewhere, or take `read_only` out",
                )

    # The parts

    def _begin(self) -> None:
        self._enter("start")
        nodes = self.scale.nodes
        self.say(f"starting {self.account.name} on {nodes} node{'' if nodes == 1 else 's'}")
        self.running.start_all()
        came = self.running.wait(lambda: self.watch.signs)
        if came == "failed":
            self._failed()
        if came == "late":
            self._late("nothing was heard of the training")
        world, expected = self.watch.world, self._world()
        if world is not None and world != expected:
            self._problem(
                "wrong-world-size",
                self.scene.counted(0),
                f"the training has {world} processes, and should have {expected}",
                "start it by torchrun, without counts of its own",
            )
            self._over(f"{world} processes in place of {expected}")
        several = world is not None and world > 1
        self._done("ok", f"{world} processes found each other" if several else "training began")

    def _first_checkpoint(self) -> bool:
        """Whether there is a checkpoint to go on from while the training still runs."""
        self._enter("checkpoint")
        self.say("waiting for a checkpoint")
        came = self.running.wait(lambda: bool(self.watch.of("saved") or self._files()))
        if came == "failed":
            self._failed()
        if came == "late":
            self._late("no checkpoint came", "checkpoint", "no-checkpoint")
        if came == "ended":
            if not self.watch.saved():
                self._no_checkpoint()
            return self._too_soon()
        step = self._saved_step()
        self._done("ok", f"one came{'' if step is None else f', of step {step}'}")
        return True

    def _too_soon(self) -> bool:
        self._done("left out", "the training was over before a node could be lost")
        self.account.uncovered.append(
            "the loss of a node, and a stop: the training was over too soon. Give it more steps "
            "with --args, or in the image's `tiny`"
        )
        return False

    def _lose_a_node(self) -> bool:
        """Whether one could be lost while the training ran."""
        self._enter("lost node")
        victim = self.cast.nodes[-1]
        saved = self._saved_step()
        ended = self.running.processes[victim.index].code == 0
        self.running.processes[victim.index].kill()
        self.watch.look()
        if ended or self._complete():
            self.running.kill_all()
            return self._too_soon()
        mark, before = self.watch.mark(), self.watch.saved()
        reached = self.watch.step
        retries = self.cast.restarts
        self.say(f"node {victim.index} was killed at step {reached}; going on")
        self._next_start("after a lost node")
        self.running.restarted.clear()
        if not retries:
            self.running.kill_all()
            self.running.start_all()
        anew = self._went_on(mark, before, retries)
        if anew is None:
            how = "the run went on; it does not say from which step"
        elif anew == 0:
            self._problem(
                "not-resumed",
                ("checkpoint", self.scene.place("checkpoint")),
                f"the training saved{_of_step(saved)}, and began anew after the loss of a node",
                "load the newest checkpoint of $CHECKPOINT_DIR at every start",
            )
            self._over("began anew")
        else:
            lost = max(reached - anew, 0)
            how = f"went on after step {anew}" + (f"; {lost} steps were lost" if lost else "")
        if not retries:
            how += ", as a new run: with `retry: {max: 0}` the loss of a node ends this one"
        self._done("ok", f"node {victim.index} was killed; {how}")
        return True

    def _went_on(
        self, mark: tuple[int, int], before: frozenset[tuple[str, int]], retries: int
    ) -> int | None:
        """The step that the run went on from; None where it went on and does not say."""
        fixed = self.scene.run.elastic is None
        survivors = Survivors(self.running, self.cast.nodes[-1].index, self.say)

        def on() -> bool:
            went = self.watch.went_on(mark) is not None
            if went or not fixed or not retries:
                return went or bool(self.watch.saved() - before)
            if not survivors.noticed():
                survivors.hurry()
                return False
            return not self.watch.events and bool(self.watch.saved() - before)

        def ready(index: int) -> bool:
            return not fixed or survivors.ready(index)

        came = self.running.wait(on, restarting=bool(retries), ready=ready)
        if came == "failed":
            self._failed()
        if came == "late":
            self._late("the run did not go on", "retry" if retries else "checkpoint", "not-resumed")
        return self.watch.went_on(mark)

    def _stop(self) -> None:
        self._enter("stop")
        self.watch.look()
        mark, before = len(self.watch.events), self.watch.saved()
        if all(process.code == 0 for process in self.running.processes.values()):
            self._done("left out", "the training ended before it could be stopped")
            return
        self.say("telling all nodes to stop")
        for process in self.running.processes.values():
            process.signal(signal.SIGTERM)
        began = time.monotonic()
        while any(process.code is None for process in self.running.processes.values()):
            self.watch.look()
            if time.monotonic() - began > self.scale.grace:
                break
            time.sleep(LOOK)
        took = time.monotonic() - began
        left = [process for process in self.running.processes.values() if process.code is None]
        said = left[0].text if left else ""
        self.running.kill_all()
        self.watch.look()
        if left:
            node = left[0].node.index
            self._problem(
                "ignores-stop",
                ("stop", self.scene.place("stop", "grace")),
                f"node {node} still ran {self.scale.grace} s after SIGTERM" + self._scaled_grace(),
                "save and end on SIGTERM, let a script `exec` its training so that the signal "
                "reaches it, or give more time",
                node,
                said,
            )
            self._done("failed", "was not heeded within the grace")
        elif all(process.code == 0 for process in self.running.processes.values()):
            self._done("left out", "the training ended before it was stopped")
        else:
            saved = bool(self.watch.of("stopped", since=mark)) or self.watch.saved() != before
            step = self.watch.step
            how = f"saved step {step}" if saved else "nothing was saved"
            self._done("ok", f"ended {took:.1f} s after SIGTERM; {how}")
            if not saved:
                self.account.uncovered.append(
                    "a stop saves nothing: what was trained since the last checkpoint is lost each "
                    "time that a node is taken back"
                )
        self._next_start("after a stop")

    def _end(self, reached: str) -> None:
        self._enter("end")
        if any(process.code is not None for process in self.running.processes.values()) and not all(
            process.code == 0 for process in self.running.processes.values()
        ):
            mark = self.watch.mark()
            self.say("starting again, to the end")
            self.running.start_all()
        else:
            mark = None
        came = self.running.wait(lambda: False)
        if came == "failed":
            self._failed()
        if came == "late":
            self._late("the training did not reach its end", "tiny", "too-long", here=True)
        if self.cast.checkpoints is not None and not self.watch.saved():
            self._no_checkpoint()
        went = self.watch.went_on(mark) if mark is not None else None
        since = f", on from step {went}" if went else ""
        step = f" at step {self.watch.step}" if self.watch.step else ""
        self._done("ok", f"{reached}{step}{since}")

    def _start_again(self) -> None:
        self._enter("once more")
        run, folder = self.scene.run, self.cast.checkpoints
        if not guard.guarded(run):
            self._done("left out", "not guarded: a finished run would train again")
            return
        assert folder is not None
        if not self._complete():
            self._problem(
                "not-complete",
                ("image", self.scene.place("image")),
                "the training ended with 0 and wrote no COMPLETE.json, so it would train again",
                "write it when the last step is saved (docs/guard.md), or let the compiler wrap "
                "the command: `guard: shell` in image.yaml",
            )
            self._over("is not marked complete")
        self.say("starting the finished run once more")
        self.watch.look()
        mark, before = self.watch.mark(), self.watch.saved()
        self._next_start("once more")
        self.running.start_all()
        came = self.running.wait(lambda: False)
        if came == "failed":
            self._failed()
        if came == "late":
            self._late("the finished run did not end", "image", "trains-again")
        took = time.monotonic() - self._part[1]
        if self.watch.went_on(mark) is not None or self.watch.saved() != before:
            self._problem(
                "trains-again",
                ("image", self.scene.place("image")),
                "the finished run trained again when it was started once more",
                "end at once where COMPLETE.json is there (docs/guard.md)",
            )
            self._over("trained again")
        loads = took > max(_QUICK, self.account.parts[0].seconds)
        slow = ", as slow as a start: look for it before torch is imported" if loads else ""
        self._done("ok", f"the finished run trained nothing and ended after {took:.1f} s{slow}")

    # What the parts are made of

    def _next_start(self, what: str) -> None:
        self.watch.look()
        self.watch.start += 1
        self.starts.append(what)

    def _complete(self) -> bool:
        folder = self.cast.checkpoints
        return folder is not None and (folder / "COMPLETE.json").exists()

    def _files(self) -> bool:
        """Whether files are there that a program without lines of progress has saved."""
        return not self.watch.events and bool(self.watch.saved())

    def _saved_step(self) -> int | None:
        saved = self.watch.of("saved")
        step = saved[-1].get("step") if saved else None
        return step if isinstance(step, int) else None

    def _world(self) -> int:
        launch = launch_of(self.scene.made, self.scene.run.others)
        alone = launch is None or launch.launcher in ("python", "other")
        return self.scale.nodes if alone else self.scale.world

    def _enter(self, name: str) -> None:
        self._part = (name, time.monotonic())

    def _done(self, status: Status, text: str) -> None:
        name, began = self._part
        self.account.parts.append(Part(name, status, text, time.monotonic() - began))

    def _over(self, text: str) -> NoReturn:
        self._done("failed", text)
        raise Over

    def _failed(self) -> NoReturn:
        failed = [p for p in self.running.processes.values() if p.code not in (None, 0)]
        problem = diagnose(self.scene, failed)
        self.account.problems.append(problem)
        self._over(
            f"node {problem.node} ended with {self.running.processes[problem.node or 0].code}"
        )

    def _late(
        self, told: str, field: str = "command", kind: str = "timeout", here: bool = False
    ) -> NoReturn:
        texts = [process.text for process in self.running.processes.values()]
        at = (field, self.scene.place(field))
        if field == "command":
            at = self.scene.command(0)
        elif field == "tiny":
            at = (field, self.scene.tiny_place(0))
        self._problem(
            kind,
            at,
            f"{told} within {self._seconds:g} s",
            "see what the nodes wait for; --timeout gives them longer",
            0,
            texts[0],
            here,
        )
        self._over(told)

    def _no_checkpoint(self) -> NoReturn:
        self._problem(
            "no-checkpoint",
            ("checkpoint", self.scene.place("checkpoint")),
            "the training ended, and nothing was saved in $CHECKPOINT_DIR",
            "save there, at least at the end; without it a lost node costs everything",
        )
        self._over("nothing was saved")

    def _scaled_grace(self) -> str:
        declared = self.scene.run.grace
        return "" if declared == self.scale.grace else f" (scaled from {declared} s)"

    def _problem(
        self,
        kind: str,
        at: tuple[str, Place],
        message: str,
        help: str,
        node: int | None = None,
        output: str = "",
        here: bool = False,
    ) -> None:
        field, place = at
        self.account.problems.append(
            Problem(kind, place, field, message, help, node, excerpt(output), here)
        )


def _of_step(step: int | None) -> str:
    return "" if step is None else f" step {step}"
