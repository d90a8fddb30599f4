"""The containers of one pod while they run: started, watched, started again, stopped."""

from __future__ import annotations

import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from controlplane.kubelet.expansion import NotThere
from controlplane.kubelet.policies import Container, Ended, containers, starts_again
from controlplane.kubelet.processes import Process
from controlplane.kubelet.setting import Setting, Settings

Object = dict[str, Any]
# The longest pause before a container starts again; a real kubelet's is 300 s.
MOST_BACKOFF = 4.0


class Containers:
    """The containers of a pod. `backoff` is the pause before the first restart, in seconds."""

    def __init__(self, pod: Object, settings: Settings, logs: Path, backoff: float) -> None:
        self.all = containers(pod)
        self.policy: str = pod["spec"].get("restartPolicy", "Always")
        self.settings: dict[str, Setting] = {}
        self._settings = settings
        self._logs = logs
        self._backoff = backoff
        self._due: dict[str, float] = {}

    def named(self, name: str) -> Container:
        """A container of the pod."""
        return next(one for one in self.all if one.name == name)

    def process(self, container: Container) -> Process | None:
        """The process that runs in a container now."""
        return container.runs[-1] if container.running is not None else None

    def proceed(self) -> bool:
        """Take in what has ended and start what may start now; whether anything has changed."""
        changed = [self._take_in(one) for one in self.all]
        for one in self.all:
            if one.kind == "init":
                if one.ended is None or one.ended.code:
                    changed.append(self._start(one))
                    break
            elif one.running is None and (one.ended is None or self._again(one)):
                changed.append(self._start(one))
                if one.kind == "sidecar" and one.running is None:
                    break
        return any(changed)

    def _again(self, one: Container) -> bool:
        return starts_again(self.policy, one)

    def _take_in(self, one: Container) -> bool:
        process = self.process(one)
        ended = process.end(_logs_tell(one)) if process is not None else None
        if ended is None:
            return False
        one.running, one.ended = None, ended
        if self._again(one):
            pause = min(self._backoff * 2**one.restarts, MOST_BACKOFF)
            self._due[one.name] = time.monotonic() + pause
        return True

    def _start(self, one: Container) -> bool:
        """Start a container that does not run, if it is due; whether anything has changed."""
        if one.running is not None:
            return False
        if one.ended is not None and not self._again(one):
            return False
        if time.monotonic() < self._due.get(one.name, 0):
            return False
        try:
            setting = self._settings.of(one.spec)
        except NotThere as missing:
            self._due[one.name] = time.monotonic() + 0.3
            before = one.waiting, one.why
            one.waiting, one.why = "CreateContainerConfigError", str(missing)
            return before != (one.waiting, one.why)
        if one.ended is not None:
            one.before, one.ended = one.ended, None
            one.restarts += 1
        self.settings[one.name] = setting
        log = self._logs / f"{one.name}.{one.restarts}.log"
        process = Process(setting.words, setting.environment, setting.start, setting.folder, log)
        one.runs.append(process)
        one.running = datetime.now(UTC)
        return True

    def stop(self, grace: float, waiting: Callable[[], bool] = lambda: True) -> None:
        """End all containers as the deletion of a pod does, within `grace` seconds.

        Each gets its `preStop` command and SIGTERM, what is left at the end SIGKILL; sidecars after
        the others, the last one first. `waiting` is asked meanwhile and may end the patience.
        """
        until = time.monotonic() + grace
        ordered = [one for one in self.all if one.kind == "sidecar"]
        for group in [
            [one for one in self.all if one.kind != "sidecar"],
            *([s] for s in ordered[::-1]),
        ]:
            left = [one for one in group if one.running is not None]
            for one in left if grace else ():
                self._pre_stop(one, until)
                _running(self.process(one)).signal(signal.SIGTERM)
            while left and time.monotonic() < until and waiting():
                left = [one for one in left if not self._take_in(one)]
                time.sleep(0.02)
            for one in left:
                _running(self.process(one)).kill()
                self._take_in(one)

    def kill(self) -> None:
        """End all containers at once."""
        self.stop(0)

    def _pre_stop(self, one: Container, until: float) -> None:
        hook = (one.spec.get("lifecycle") or {}).get("preStop") or {}
        command = (hook.get("exec") or {}).get("command")
        if "sleep" in hook:
            time.sleep(max(0, min(hook["sleep"]["seconds"], until - time.monotonic())))
        if command:
            self.execute(one, command, max(0, until - time.monotonic()))

    def execute(self, one: Container, command: list[str], seconds: float) -> tuple[int, str]:
        """Run a command in a container: its exit code, and what it wrote."""
        setting = self.settings[one.name]
        try:
            done = subprocess.run(
                [setting.here(word) for word in command],
                cwd=setting.start,
                env=setting.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=seconds,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return 126, f"{shlex.join(command)}: {error}"
        return done.returncode, done.stdout + done.stderr

    def lost(self, code: int, reason: str) -> None:
        """Say of containers that never ran how they ended: their pod has ended before."""
        now = datetime.now(UTC)
        for one in self.all:
            if one.running is None and one.ended is None:
                one.ended = Ended(code, now, now, reason)


def _running(process: Process | None) -> Process:
    assert process is not None
    return process


def _logs_tell(one: Container) -> bool:
    return one.spec.get("terminationMessagePolicy") == "FallbackToLogsOnError"
