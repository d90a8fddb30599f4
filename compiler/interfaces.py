"""The network interfaces that NCCL and gloo are told to use."""

from __future__ import annotations

from msgspec import Struct

VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")


class Interfaces(Struct, frozen=True):
    """A choice of interfaces: these names or all but these, whole or as beginnings of names."""

    names: tuple[str, ...]
    excluded: bool
    whole: bool

    def takes(self, interface: str) -> bool:
        """Whether this choice lets the interface be used."""
        found = any(
            interface == name if self.whole else interface.startswith(name) for name in self.names
        )
        return found != self.excluded


def interfaces(variable: str, value: str) -> Interfaces | None:
    """The choice that a value makes; None where it makes none, or refers to another variable.

    NCCL takes a list of beginnings, after `^` those to leave out, after `=` whole names
    (NVIDIA/nccl src/misc/socket.cc, findInterfaces); gloo takes a list of whole names
    (torch/csrc/distributed/c10d/ProcessGroupGloo.cpp).
    """
    if "$(" in value or not value.strip():
        return None
    excluded, whole = False, True
    if variable.startswith("NCCL_"):
        excluded = value.startswith("^")
        value = value.removeprefix("^")
        whole = value.startswith("=")
        value = value.removeprefix("=")
    # An address may follow a name, after a colon, to choose one of several.
    names = tuple(name.strip().partition(":")[0] for name in value.split(",") if name.strip())
    return Interfaces(names, excluded, whole) if names else None
