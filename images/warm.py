"""Starts training processes that need not import torch, which takes each of them seconds.

Its arguments name modules to import beside torch.

Reads one start a line from standard input, `{"nodes": true, "argv": [...], "env": {...}, "out":
"file"}`, and writes `{"started": pid}` and `{"ended": pid, "code": n}`. Each start is a fork of
this process with a session, an environment and output of its own. With `nodes` it is torchrun: the
same reading of flags and PET_ variables, rendezvous and agent, whose workers are forks too.
"""

from __future__ import annotations

import importlib
import json
import os
import runpy
import selectors
import signal
import sys
import traceback

# Whatever a training imports, some of which torch imports late.
import numpy.random  # noqa: F401
import torch._dynamo
import torch._inductor
import torch.distributed.run as torchrun
import torch.onnx  # noqa: F401
from runwright_runtime import session, state  # noqa: F401
from torch.distributed.launcher.api import elastic_launch


def program(script: str, *arguments: str) -> None:
    """Run a script as `python script.py` does."""
    sys.argv = [script, *arguments]
    sys.path.insert(0, os.path.dirname(script))  # noqa: PTH120
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        # The agent waits for a value of a function that ends well.
        if ended.code not in (None, 0):
            raise


def nodes(argv: list[str]) -> None:
    """What torchrun does, with forks for workers (torch, distributed/run.py, run)."""
    config, _, _ = torchrun.config_from_args(torchrun.parse_args(argv))
    config.start_method = "fork"
    at = next(i for i, word in enumerate(argv) if word.endswith(".py"))
    elastic_launch(config=config, entrypoint=program)(*argv[at:])


def child(wanted: dict[str, object]) -> None:
    """Become the process that was asked for; does not return."""
    code = 1
    try:
        os.setsid()
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        out = os.open(str(wanted["out"]), os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in ((0, nothing), (1, out), (2, out)):
            os.dup2(source, target)
        os.environ.clear()
        os.environ.update(wanted["env"])  # type: ignore[call-overload]
        argv = [str(word) for word in wanted["argv"]]  # type: ignore[attr-defined]
        if wanted["nodes"]:
            nodes(argv)
        else:
            program(*argv)
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
    except BaseException:  # noqa: BLE001 (as the interpreter does)
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main() -> None:
    """Serve until the standard input ends."""
    for name in sys.argv[1:]:
        importlib.import_module(name)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    waiting = selectors.DefaultSelector()
    waiting.register(sys.stdin, selectors.EVENT_READ)
    waiting.register(reading, selectors.EVENT_READ)
    running: set[int] = set()

    def say(**values: int) -> None:
        print(json.dumps(values), flush=True)

    while True:
        for key, _ in waiting.select():
            if key.fileobj == reading:
                os.read(reading, 512)
                for pid in list(running):
                    ended, status = os.waitpid(pid, os.WNOHANG)
                    if ended:
                        running.discard(pid)
                        say(ended=pid, code=os.waitstatus_to_exitcode(status))
                continue
            line = sys.stdin.readline()
            if not line:
                return
            pid = os.fork()
            if pid == 0:
                child(json.loads(line))
            running.add(pid)
            say(started=pid)


if __name__ == "__main__":
    main()
