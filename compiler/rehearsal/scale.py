"""How small a run is rehearsed: fewer nodes, fewer processes on each, less time to stop."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from compiler.model import Member, Run

NODES = 2
PROCESSES = 2
# More seconds from SIGTERM to SIGKILL than this nobody waits for on a laptop.
GRACE = 20
# Flags of torchrun and accelerate that say how many there are.
_PROCESSES = ("nproc_per_node", "nproc-per-node")
_NODES = ("nnodes", "num_machines", "num-machines")
_WORLD = ("num_processes", "num-processes")


class Scale(Struct, frozen=True):
    """The counts of a rehearsal, beside those of the run. `grace` is in seconds."""

    nodes: int
    processes: int
    grace: int

    @property
    def world(self) -> int:
        """Training processes over all nodes."""
        return self.nodes * self.processes


def scaled(run: Run, nodes: int | None, processes: int | None) -> Scale:
    """The counts to rehearse a run with: what is asked for, never more than the run has."""
    most = max(member.processes for member in run.members)
    return Scale(
        nodes=min(nodes or NODES, run.nodes),
        processes=min(processes or PROCESSES, most),
        grace=min(run.grace, GRACE),
    )


def small(run: Run, scale: Scale) -> Run:
    """The run with the counts of a rehearsal, so that all variables follow from them."""
    elastic = run.elastic
    if elastic is not None:
        conf = dict(elastic.conf)
        # What waits for nodes that there are none of would wait for nothing.
        conf.setdefault("last_call_timeout", "1")
        conf.setdefault("keep_alive_interval", "1")
        conf.setdefault("keep_alive_max_attempt", "3")
        elastic = replace(
            elastic,
            min=min(elastic.min, scale.nodes),
            max=scale.nodes,
            conf=tuple(conf.items()),
        )
    first = _member(run.first, scale)
    others = first if run.others is run.first else _member(run.others, scale)
    return replace(
        run, nodes=scale.nodes, elastic=elastic, first=first, others=others, grace=scale.grace
    )


def _member(member: Member, scale: Scale) -> Member:
    if member.devices is None:
        return member
    return replace(member, devices=replace(member.devices, count=scale.processes))


def with_counts(words: Sequence[str], scale: Scale) -> list[str]:
    """The words of a command with written counts of nodes and processes made those of a rehearsal.

    Also within a word, for a script holds the whole command line. A range `min:max` of nodes is a
    count too.
    """
    made = list(words)
    for names, value in (
        (_PROCESSES, str(scale.processes)),
        (_NODES, str(scale.nodes)),
        (_WORLD, str(scale.world)),
    ):
        flag = "|".join(names)
        inside = re.compile(rf"(--(?:{flag})(?:=|\s+)[\"']?)(?:(?:\d+:)?\d+|auto|gpu)(?![\w:])")
        made = [inside.sub(rf"\g<1>{value}", word) for word in made]
        for index, word in enumerate(made[:-1]):
            if (
                word[:2] == "--"
                and word[2:] in names
                and re.fullmatch(r"(\d+:)?\d+|auto|gpu", made[index + 1])
            ):
                made[index + 1] = value
    return made


def without_data(words: Sequence[str], empty: Sequence[str]) -> tuple[list[str], list[str]]:
    """The words without the arguments whose value is a path in one of the empty folders.

    The second list has what was taken out. For images that can do without: their `tiny` says how.
    Also within a word, for a script holds the whole command line.
    """
    if not empty:
        return list(words), []
    paths = "|".join(re.escape(path) for path in empty)
    path = rf"(?:{paths})(?:/[\w./-]*)?"
    made: list[str] = []
    dropped: list[str] = []
    for word in words:
        if made and re.fullmatch(r"--[A-Za-z][\w.-]*", made[-1]) and re.fullmatch(path, word):
            dropped.append(f"{made.pop()} {word}")
        elif re.fullmatch(rf"--[A-Za-z][\w.-]*={path}", word):
            dropped.append(word)
        else:
            inside = re.compile(rf"(?<=\s)--[A-Za-z][\w.-]*[= ]{path}(?=\s|$)")
            dropped += inside.findall(word)
            made.append(inside.sub("", word))
    return made, dropped
