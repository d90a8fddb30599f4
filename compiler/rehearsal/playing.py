"""A rehearsal from a judged job to its account."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from msgspec import Struct

from compiler.launch import Launch
from compiler.model import Member
from compiler.rehearsal import interpreter
from compiler.rehearsal.account import Account
from compiler.rehearsal.casting import Cast, Choice, cast, image_folder, launch_of, tiny
from compiler.rehearsal.course import Course
from compiler.rehearsal.processes import Stage
from compiler.rehearsal.scale import Scale, scaled
from compiler.rehearsal.scene import Scene
from compiler.results import RunResult


class Wish(Struct, frozen=True):
    """What a person asked for; None is the default."""

    nodes: int | None = None
    processes: int | None = None
    seconds: float = 120.0
    python: str | None = None
    choice: Choice = Choice(None, {}, ())


class Played(Struct, frozen=True):
    """The account, what each node wrote, and what each start of the run was."""

    account: Account
    logs: Mapping[int, str]
    starts: tuple[str, ...]


def rehearse(made: RunResult, wish: Wish, say: Callable[[str], None]) -> Played:
    """Run it, and tell what came of it; nothing that was started is left.

    Raises CompilerError where the image has no folder here, Unavailable without a fitting Python.
    """
    began = time.monotonic()
    run, root = made.run, made.site.root
    launch = launch_of(made, run.others)
    image_folder(made, run.first, wish.choice)
    python = interpreter.find(root, wish.python, _needed(made, run.first, launch))
    scale = scaled(run, wish.nodes, wish.processes)
    who = run.identity
    account = Account(who.name, who.cluster, who.team, who.job, scale.nodes, _each(launch, scale))
    with Stage() as stage:
        roles = cast(made, scale, python, wish.choice, stage.root)
        account.changed = roles.changed
        account.uncovered = _uncovered(made, scale, wish)
        scene = Scene(made, tuple(tiny(made, run.first)), wish.choice.more)
        course = Course(scene, scale, roles, account, wish.seconds, say)
        course.play()
        account.points = course.watch.points
        logs = {node.index: _log(roles, course, node.index) for node in roles.nodes}
    account.seconds = time.monotonic() - began
    return Played(account, logs, tuple(course.starts))


def _needed(made: RunResult, member: Member, launch: Launch | None) -> str | None:
    about = made.site.images.get(member.image.name or "")
    torch = about is not None and about.value.torch is not None
    return interpreter.needed(launch, torch)


def _each(launch: Launch | None, scale: Scale) -> int:
    alone = launch is None or launch.launcher in ("python", "other")
    return 1 if alone else scale.processes


def _log(roles: Cast, course: Course, index: int) -> str:
    return roles.nodes[index].paths.there(course.running.outputs[index].text())


def _uncovered(made: RunResult, scale: Scale, wish: Wish) -> list[str]:
    """What no rehearsal of this run can tell."""
    run = made.run
    found = [
        "accelerators, NCCL and the network between nodes; memory, speed and real data",
        "what the image holds beside its folder"
        if wish.choice.folder is None
        else "the image: a folder stands for it",
    ]
    if run.nodes > scale.nodes:
        found.append(f"more than {scale.nodes} nodes at a time")
    if scale.nodes > 1 and run.elastic is None:
        found.append("the loss of node 0; the one that was killed is the last")
    elif scale.nodes > 1:
        found.append("the loss of node 0, where the nodes of an elastic run find each other")
    members = run.members
    companions = sorted({one.name for m in members for one in (*m.init, *m.sidecars)})
    if companions:
        found.append("the containers beside the training: " + ", ".join(companions))
    if scale.nodes > 1 and any(member.ports for member in members):
        found.append("ports of the job's own: all nodes share those of this machine")
    return found
