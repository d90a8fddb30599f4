"""The run that was rehearsed: where its values stand, and how an output is cut short."""

from __future__ import annotations

import re
from collections.abc import Iterator

from compiler.diagnostics import Place
from compiler.model import Member, Route, Run
from compiler.programs import Word, training
from compiler.rehearsal.casting import launch_of
from compiler.results import RunResult
from compiler.volumes import Mounted, mounted, normal, within

SHOWN = 12
WIDEST = 200


class Scene:
    """The run that was rehearsed, and where its values stand."""

    def __init__(self, made: RunResult, tiny: tuple[str, ...], more: tuple[str, ...]) -> None:
        self.made = made
        self.tiny = tiny
        self.more = more

    @property
    def run(self) -> Run:
        """The run as it is declared."""
        return self.made.run

    def member(self, node: int) -> Member:
        """What a node is."""
        return self.run.first if node == 0 else self.run.others

    def place(self, *route: str | int) -> Place:
        """Where a field is written, in whichever file."""
        return self.run.origins.place(tuple(route))

    def routed(self, route: Route) -> Place:
        """The same for a whole route."""
        return self.run.origins.place(route)

    def words(self, node: int) -> tuple[Word, ...]:
        """Command and arguments of a node with their places."""
        return training(self.run, self.member(node), self.made.site).words

    def word(self, node: int, text: str) -> tuple[str, Place] | None:
        """The field and place of the first word that is a text, else of one that holds it."""
        words = self.words(node)
        whole = [word for word in words if word.text in (text, text.partition("=")[0])]
        for word in [*whole, *(word for word in words if text and text in word.text)]:
            field = word.route[-2:][0] if word.route else "command"
            return str(field), word.place or self.routed(word.route)
        return None

    def command(self, node: int) -> tuple[str, Place]:
        """The field and place of the command, in the job or in its image."""
        words = self.words(node)
        if words:
            return "command", words[0].place or self.routed(words[0].route)
        return "command", self.place("command")

    def mounts(self, node: int) -> list[Mounted]:
        """What the node's training container mounts."""
        return [item for item in mounted(self.run, self.member(node)) if item.path]

    def tiny_place(self, node: int) -> Place:
        """Where the image's small arguments stand."""
        about = self.made.site.images.get(self.member(node).image.name or "")
        return about.place("tiny") if about is not None else self.place("image")

    def counted(self, node: int) -> tuple[str, Place]:
        """Where the number of processes is said: by a flag of the launcher, or by the job."""
        launch = launch_of(self.made, self.member(node))
        if launch is not None:
            flag = launch.flag("nproc_per_node", "nnodes", "num_processes", "num_machines")
            if flag is not None:
                return "command", flag.word.place or self.routed(flag.word.route)
            if launch.launcher in ("python", "other"):
                return self.command(node)
        field = "num_nodes" if self.run.nodes > 1 else "accelerators"
        return field, self.place(field)

    def mount(self, node: int, path: str) -> Mounted | None:
        """The innermost mount that a path lies in."""
        path = normal(path)
        around: Iterator[Mounted] = (
            item for item in self.mounts(node) if item.path == path or within(path, item.path)
        )
        return max(around, key=lambda item: len(item.path), default=None)


def excerpt(text: str) -> str:
    """The last lines of an output, cut to a width; the program's own, if it has any."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    own: list[str] = []
    agent = False
    for index, line in enumerate(lines):
        if line.startswith("Traceback "):
            # torchrun's own trace says no more than that a process has failed.
            agent = any(
                part in below
                for below in lines[index + 1 : index + 2]
                for part in ("/torchrun", "torch/distributed/run.py", "<frozen runpy>")
            )
        elif line[:1] not in (" ", "=", "-") and "ChildFailedError" not in line:
            agent = agent and bool(re.match(r"[\w ]+(?:FAILED|Failures:|\(first observed)", line))
        if not agent and not _of_launcher(line):
            own.append(line)
    return "\n".join(line[:WIDEST] for line in (own or lines)[-SHOWN:])


def _of_launcher(line: str) -> bool:
    """What torchrun says after a failure, over which the program's own words scroll away."""
    return bool(
        re.match(r"[WEI]\d{4} [\d:.]+ ", line)
        or re.match(r"[\w./-]+ FAILED$", line)
        or "torch/distributed/" in line
        or "ChildFailedError" in line
        or re.match(r"\s*(?:<NO_OTHER_FAILURES>|Root Cause|Failures:|[-=]{20,}|\[\d+\]:$)", line)
        or re.match(r"\s*(?:time|host|rank|exitcode|error_file|traceback)\s*: ", line)
    )
