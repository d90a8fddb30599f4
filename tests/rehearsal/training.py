"""A training without torch, for rehearsals: it counts steps, together with the other nodes.

What it does wrong, its arguments say.
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser(prog="train.py")
parser.add_argument("--steps", type=int, default=10**6)
parser.add_argument("--pace", type=float, default=0.02)
parser.add_argument("--wrong", default="")
parser.add_argument("--read", type=Path)
parser.add_argument("--write", type=Path)
args = parser.parse_args()
wrong = set(args.wrong.split(","))

rank, size = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
if "alone" in wrong:
    rank, size = 0, 1
folder = Path(os.environ["CHECKPOINT_DIR"]) if "CHECKPOINT_DIR" in os.environ else None
stopped = []


def stop(number, frame):
    stopped.append(number)


if "deaf" in wrong:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
else:
    signal.signal(signal.SIGTERM, stop)


def tell(event, **values):
    if rank or "plain" in wrong:
        if not rank and event == "step":
            print(f"step {values['step']} loss {values['loss']:.4f}", flush=True)
        return
    if folder is None:
        print(f"{event} {values}", flush=True)
        return
    path = folder / "progress" / (os.environ["RUN_NAME"] + ".jsonl")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps({"event": event, **values}) + "\n")


complete = folder / "COMPLETE.json" if folder is not None else None
if complete is not None and complete.exists() and "forgetful" not in wrong:
    sys.exit(0)
if args.read is not None:
    print(args.read.read_text())
if args.write is not None:
    args.write.write_text("written")
for part in wrong:
    if part.startswith("exit-"):
        print("this is why", file=sys.stderr)
        sys.exit(int(part.removeprefix("exit-")))
if "module" in wrong:
    import no_such_package  # noqa: F401
if "nccl" in wrong:
    sys.exit("RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!")
if "flood" in wrong:
    sys.stdout.write(("x" * 99 + "\n") * 120_000)
    sys.exit("the last words")
if "hang" in wrong:
    time.sleep(600)
if "orphan" in wrong:
    # A process that leaves the group and the session of the node, and forgets its parent.
    script = "trap '' TERM HUP; sleep 600"
    subprocess.Popen(["/bin/sh", "-c", script], start_new_session=True)

# All processes meet at the first one; whoever loses another one ends.
others = []
address = (os.environ.get("MASTER_ADDR", "127.0.0.1"), int(os.environ.get("MASTER_PORT", "1")))
if size > 1 and rank == 0:
    server = socket.create_server(address)
    others = [server.accept()[0] for _ in range(size - 1)]
elif size > 1:
    while True:
        try:
            others = [socket.create_connection(address)]
            break
        except OSError:
            time.sleep(0.05)


def together(step):
    """Whether anybody was told to stop; ends the process where somebody is gone."""
    try:
        if rank == 0:
            told = [other.recv(1) for other in others]
            if b"" in told:
                raise ConnectionError
            answer = b"1" if stopped or b"1" in told else b"0"
            for other in others:
                other.sendall(answer)
        else:
            others[0].sendall(b"1" if stopped else b"0")
            answer = others[0].recv(1)
            if not answer:
                raise ConnectionError
    except OSError:
        sys.exit("a node is gone")
    return answer == b"1"


step = 0
if folder is not None and "unsaved" not in wrong:
    folder.mkdir(parents=True, exist_ok=True)
saved = folder / "state.json" if folder is not None else None
tell("begun", world=size)
if saved is not None and saved.exists() and "anew" not in wrong:
    step = json.loads(saved.read_text())["step"]
    tell("resumed", step=step)


def save():
    if rank or saved is None or "unsaved" in wrong:
        return
    new = saved.with_name(".new")
    new.write_text(json.dumps({"step": step}))
    new.rename(saved)
    tell("saved", step=step)


while step < args.steps:
    if together(step):
        if "careless" not in wrong:
            save()
            tell("stopped", step=step)
        sys.exit(143)
    step += 1
    tell("step", step=step, world=size, loss=2.0 / step)
    if step % 5 == 0:
        save()
    time.sleep(args.pace)
save()
if complete is not None and rank == 0 and "incomplete" not in wrong:
    complete.parent.mkdir(parents=True, exist_ok=True)
    complete.write_text(json.dumps({"run": os.environ["RUN_NAME"], "step": step}))
