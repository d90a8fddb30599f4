"""Where processes find each other: torchrun's store on the first node, watched until they have.

A node that is started again before the first one has noticed its loss finds the store of the group
that is about to end, and in it the old addresses of the others. It would knock at them for the
whole timeout, long after the first node has a new store.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from datetime import timedelta

import torch.distributed as dist

PAUSE = 1.0
"""Seconds between two looks at the store."""
PATIENCE = timedelta(seconds=30)
"""How long a look may take: a busy first node is no lost one."""


@contextmanager
def watched(values: Mapping[str, str]) -> Generator[None]:
    """End this process with status 1 where torchrun's store goes while the body still runs.

    The launcher then fails, its container is started again, and meets the others at the new store.
    Nothing is watched where torchrun on the first node holds no store at MASTER_ADDR
    (torch, distributed/rendezvous.py, `_agent_store_serves`).
    """
    if values.get("TORCHELASTIC_USE_AGENT_STORE") != "True":
        yield
        return
    met = threading.Event()
    place = values["MASTER_ADDR"], int(values["MASTER_PORT"])
    threading.Thread(target=_watch, args=(*place, met), name="meeting", daemon=True).start()
    try:
        yield
    finally:
        met.set()


def _watch(host: str, port: int, met: threading.Event) -> None:
    try:
        store = dist.TCPStore(host, port, None, False, PATIENCE, wait_for_workers=False)
    except dist.DistError:
        # The body needs the store as well, and says what is wrong with it.
        return
    while not met.wait(PAUSE):
        try:
            store.num_keys()
        except dist.DistNetworkError:
            # A thread cannot raise in another, which waits outside of Python.
            if not met.is_set():
                print(
                    f"runwright: the store of the first node, {host}:{port}, went while the "
                    "processes were finding each other: this one ends, to be started again and "
                    "find the new one",
                    file=sys.stderr,
                    flush=True,
                )
                os._exit(1)
        except dist.DistError:
            # Slow is not gone.
            continue
