"""The guard: what keeps a finished training from running again, and two runs from one folder.

`docs/guard.md` has the protocol. An image whose own code keeps it is guarded by itself; the command
of any other is wrapped in a script for its POSIX shell, `compiler/data/guard.sh`.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from compiler.model import Member, Run
from compiler.passthrough import CONTAINER, items

SHELL = "/bin/sh"
NAME = "runwright-guard"
SOURCE = Path(__file__).parent / "data" / "guard.sh"
# What dash and busybox do not hand on to the programs that they start.
_SHELL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# Kubernetes takes $$ for a dollar sign and $(NAME) for a variable of the container, and leaves
# every other $ alone (k8s.io/kubernetes, third_party/forked/golang/expansion/expand.go).
_EXPANDED = re.compile(r"\$(?=[$(])")


def guarded(run: Run, member: Member | None = None) -> bool:
    """Whether the nodes of a member (of all members, without one) end at once when they are done.

    They do where a checkpoint folder outlives the pods, and either the image keeps the protocol
    itself or its command can be wrapped.
    """
    if member is None:
        return all(guarded(run, one) for one in run.members)
    return _keeps(run, member) and (member.image.guard == "native" or wrapped(run, member))


def wrapped(run: Run, member: Member) -> bool:
    """Whether the command of a member is started by the guard.

    Not without a command (the image's own entry point is not known here), not where `pod:` replaces
    it, and not where a variable has a name that a shell would drop.
    """
    return (
        member.image.guard == "shell"
        and member.image.shell
        and bool(member.command)
        and "command" not in _passed(member)
        and all(_SHELL_NAME.fullmatch(name) for name in _names(member))
        and _keeps(run, member)
    )


def command(run: Run, member: Member) -> list[str] | None:
    """The command of the training container, wrapped where it can be; None where there is none."""
    if member.command is None or not wrapped(run, member):
        return None if member.command is None else list(member.command)
    return [SHELL, "-c", escaped(script()), NAME, str(run.grace), *member.command]


def inner(command: list[str]) -> list[str]:
    """The command as its author wrote it, out of one that may be wrapped."""
    return command[5:] if command[3:4] == [NAME] and command[0] == SHELL else command


@cache
def script() -> str:
    """The guard as a shell reads it, without comments and indentation."""
    lines = (line.strip() for line in SOURCE.read_text("utf-8").splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("#"))


def escaped(text: str) -> str:
    """A text that Kubernetes turns into this one when it expands `command` and `args`."""
    return _EXPANDED.sub("$$", text)


def _keeps(run: Run, member: Member) -> bool:
    """Whether what the run saves is still there for the next one: it lies on a claim."""
    checkpoint = run.checkpoint
    if checkpoint is None:
        return False
    path = PurePosixPath(checkpoint.path)
    above = [mount for mount in member.mounts if path.is_relative_to(mount.path)]
    if not above:
        return checkpoint.claim is not None
    nearest = max(above, key=lambda mount: len(PurePosixPath(mount.path).parts))
    if checkpoint.claim is not None and PurePosixPath(nearest.path) != path:
        return True
    return nearest.kind == "claim" and not nearest.read_only


def _names(member: Member) -> list[str]:
    passed = [str(variable.get("name")) for variable in items(_passed(member), "env")]
    return [variable.name for variable in member.env] + passed


def _passed(member: Member) -> dict[str, Any]:
    """What `pod:` says of the training container."""
    for container in items(member.pod.get("spec"), "containers"):
        if container.get("name") == CONTAINER:
            return container
    return {}
