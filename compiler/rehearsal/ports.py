"""Ports of this machine. The one module that opens a socket: on loopback, and only to close it."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens at now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def taken(port: int) -> bool:
    """Whether somebody on this machine listens at a port already."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False
