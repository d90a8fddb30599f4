"""Why a node failed, from what it wrote and how it ended, and which line says so.

Each reading looks for one kind of mistake; the first that finds it, on any node, is the answer.
What the texts look like was read in CPython 3.11, torch 2.13, dash and bash.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from posixpath import dirname

from compiler.diagnostics import Place
from compiler.rehearsal.account import Problem
from compiler.rehearsal.casting import launch_of
from compiler.rehearsal.processes import Process
from compiler.rehearsal.scene import WIDEST, Scene, excerpt
from compiler.volumes import Mounted

_NOT_FOUND = re.compile(
    r"^(?P<a>[^\s:]+): No such file or directory$"
    r"|(?:^|: )(?:line )?\d+: (?:exec: )?(?P<b>[^\s:]+): (?:command )?not found"
    r"|^(?P<c>[^\s:]+): Permission denied$",
    re.MULTILINE,
)
_NO_SCRIPT = re.compile(r"can't open file '(?P<path>[^']+)'")
_NO_MODULE = re.compile(r"No module named '?(?P<name>[\w.]+)'?")
_USAGE = re.compile(r"^(?P<program>[\w.-]+(?: \w+)?): error: (?P<said>.+)$", re.MULTILINE)
_NO_FILE = re.compile(
    r"No such file or directory: [\"'](?P<a>/[^\"']+)[\"']"
    r"|[Cc]annot (?:read|open|find|access) [\"']?(?P<b>/[^\s\"':]+)"
    r"|(?P<c>/[^\s\"':]+)[\"']?: No such file or directory"
    r"|(?:[Cc]ould not|[Cc]annot|[Cc]ouldn't) (?:read|open|find|load) .*?[\"'](?P<d>/[^\"']+)[\"']"
)
_READ_ONLY = re.compile(r"Read-only file system: [\"'](?P<path>/[^\"']+)[\"']")
_WORLD = re.compile(
    r"^.*(?:world[ _]?size|WORLD_SIZE|PET_NNODES).*(?:mismatch|expected|but|not|instead).*$"
    r"|^runwright: .*\bprocesses\b.*$",
    re.MULTILINE | re.IGNORECASE,
)
_NCCL = re.compile(
    r"ProcessGroupNCCL is only supported with GPUs|NCCL.*(?:not|no) (?:available|built)|"
    r"No CUDA GPUs are available|Found no NVIDIA driver|Torch not compiled with CUDA enabled|"
    r"no CUDA-capable device|Found no CUDA",
    re.IGNORECASE,
)
_NETWORK = re.compile(
    r"Name or service not known|Temporary failure in name resolution|"
    r"Network is unreachable|nodename nor servname|Connection error.*(?:huggingface|hub)"
)
_PORT = re.compile(r"[Aa]ddress already in use")
_MEMORY = re.compile(r"MemoryError|Cannot allocate memory|DefaultCPUAllocator: can't allocate")

Reading = Callable[["Scene", Process, str], Problem | None]


def diagnose(scene: Scene, failed: Iterable[Process]) -> Problem:
    """The one problem that explains best why these nodes failed."""
    seen = [(process, process.text) for process in failed]
    for reading in _READINGS:
        for process, text in seen:
            problem = reading(scene, process, text)
            if problem is not None:
                return problem
    process, text = seen[0]
    return _ended(scene, process, text)


def _made(
    scene: Scene,
    process: Process,
    text: str,
    kind: str,
    at: tuple[str, Place],
    *told: str,
    here: bool = False,
) -> Problem:
    message, *advice = told
    field, place = at
    return Problem(
        kind, place, field, message, " ".join(advice), process.node.index, excerpt(text), here
    )


def _command(scene: Scene, process: Process, text: str) -> Problem | None:
    if process.code not in (126, 127):
        return None
    match = _NOT_FOUND.search(process.failure or text)
    name = next((found for found in match.groups() if found), None) if match else None
    node = process.node.index
    first = scene.words(node)
    name = name or (first[0].text if first else "the command")
    at = scene.word(node, name) or scene.command(node)
    foreign = "/" not in name and not name.startswith(("python", "torchrun", "accelerate"))
    told = f"there is no program `{name}`"
    if process.failure is not None and process.nowhere:
        at = ("working_dir", scene.place("working_dir"))
        told = f"there is no folder {name} to start in"
        foreign = False
    return _made(
        scene,
        process,
        text,
        "command-not-found",
        at,
        told,
        "correct its name, or see that the image has it and that PATH leads there",
        here=foreign and scene.made.site.images.get(scene.member(node).image.name or "") is None,
    )


def _script(scene: Scene, process: Process, text: str) -> Problem | None:
    match = _NO_SCRIPT.search(text)
    if match is None:
        return None
    node, path = process.node.index, match["path"]
    mount = scene.mount(node, path)
    if mount is not None:
        return _empty(scene, process, text, path, mount)
    name = path.rpartition("/")[2]
    at = scene.word(node, name) or scene.command(node)
    return _made(
        scene,
        process,
        text,
        "script-not-found",
        at,
        f"there is no {path}, which the command starts",
        "write the name of a file of the image's folder, or a path where one is mounted",
    )


def _module(scene: Scene, process: Process, text: str) -> Problem | None:
    match = _NO_MODULE.search(text)
    if match is None:
        return None
    node, name = process.node.index, match["name"]
    launch = launch_of(scene.made, scene.member(node))
    if (
        launch is not None
        and launch.module
        and launch.target is not None
        and (launch.target.text == name or launch.target.text.startswith(f"{name}."))
    ):
        at = ("command", launch.target.place or scene.routed(launch.target.route))
        return _made(
            scene,
            process,
            text,
            "module-not-found",
            at,
            f"the image's folder has no module `{name}`, which the command starts",
            "correct its name, or name the folder that has it with --folder DIR",
        )
    return _made(
        scene,
        process,
        text,
        "module-not-found",
        ("image", scene.place("image")),
        f"the code needs the module `{name}`, which neither the image's folder nor this Python has",
        "whether the image has it is not known here; install it, or choose a Python by --python",
        here=True,
    )


def _usage(scene: Scene, process: Process, text: str) -> Problem | None:
    match = _USAGE.search(text)
    if match is None or "usage:" not in text:
        return None
    node, said = process.node.index, match["said"]
    program = match["program"].rpartition("/")[2]
    named = re.findall(r"(?<![\w-])(--?[A-Za-z][\w.-]*)", said) or re.findall(r"'([^']+)'", said)
    if program.startswith(("torchrun", "run.py", "accelerate")):
        at = next(filter(None, (scene.word(node, one) for one in named)), scene.command(node))
        return _made(
            scene,
            process,
            text,
            "bad-launcher-argument",
            at,
            f"{program}: {said}",
            "correct the launcher's own flags, which stand before the script",
        )
    for one in named:
        if at := scene.word(node, one):
            return _made(
                scene,
                process,
                text,
                "bad-argument",
                at,
                f"{program}: {said}",
                f"`{program} --help` lists its arguments",
            )
    # The image's own arguments come last, so what the job says wins the blame.
    for one in named:
        if one in scene.more:
            break
        if one in scene.tiny:
            return _made(
                scene,
                process,
                text,
                "bad-argument",
                ("tiny", scene.tiny_place(node)),
                f"{program}: {said}",
                "correct the image's `tiny`",
            )
    node_args = scene.run.origins.node(scene.run.routes(scene.member(node), "args"))
    at = ("args", scene.place("args")) if node_args is not None else scene.command(node)
    return _made(
        scene,
        process,
        text,
        "bad-argument",
        at,
        f"{program}: {said}",
        f"`{program} --help` lists its arguments",
    )


def _file(scene: Scene, process: Process, text: str) -> Problem | None:
    match = None
    for match in _NO_FILE.finditer(text):
        path = next(found for found in match.groups() if found)
        if not path.startswith(("/proc", "/sys")):
            break
    else:
        return None
    assert match is not None
    node = process.node.index
    mount = scene.mount(node, path)
    if mount is not None:
        return _empty(scene, process, text, path, mount)
    at = scene.word(node, path) or scene.word(node, dirname(path))
    place = scene.place("mounts")
    if at is None:
        at = ("mounts", place)
    return _made(
        scene,
        process,
        text,
        "path-not-mounted",
        at,
        f"there is no {path} in the container: no mount leads there, and the image's folder has "
        "no such file",
        f"mount what holds it: `mounts: {{{dirname(path) or path}: ...}}`",
    )


def _empty(scene: Scene, process: Process, text: str, path: str, mount: Mounted) -> Problem:
    return _made(
        scene,
        process,
        text,
        "no-data",
        ("mounts", scene.routed(mount.route)),
        f"{path} is not there: {mount.path} is an empty folder here, in place of "
        f"the {mount.kind} {mount.source}",
        f"give it something to read with --mount {mount.path}=DIR, or let the image's `tiny` "
        "name data of its own",
        here=True,
    )


def _read_only(scene: Scene, process: Process, text: str) -> Problem | None:
    match = _READ_ONLY.search(text)
    mount = scene.mount(process.node.index, match["path"]) if match else None
    if match is None or mount is None:
        return None
    return _made(
        scene,
        process,
        text,
        "read-only",
        ("mounts", scene.routed(mount.route)),
        f"the training writes to {match['path']}, and {mount.path} is read-only",
        "write elsewhere, or take `read_only` out",
    )


def _world(scene: Scene, process: Process, text: str) -> Problem | None:
    match = _WORLD.search(text)
    if match is None:
        return None
    node = process.node.index
    at = scene.counted(node)
    return _made(
        scene,
        process,
        text,
        "wrong-world-size",
        at,
        match[0].strip()[:WIDEST],
        "let torchrun take the counts from its environment, and leave them out of the command",
    )


def _nccl(scene: Scene, process: Process, text: str) -> Problem | None:
    match = _NCCL.search(text)
    if match is None:
        return None
    return _made(
        scene,
        process,
        text,
        "needs-accelerator",
        scene.command(process.node.index),
        f"the code insists on an accelerator ({match[0]}), and a rehearsal has none",
        "choose gloo and the CPU where torch.cuda.is_available() is false, by the image's `tiny` "
        "or in the code",
        here=True,
    )


def _network(scene: Scene, process: Process, text: str) -> Problem | None:
    match = _NETWORK.search(text)
    if match is None:
        return None
    return _made(
        scene,
        process,
        text,
        "needs-network",
        scene.command(process.node.index),
        f"the code wants something of the network ({match[0]})",
        "whether the cluster has it is not known here",
        here=True,
    )


def _port(scene: Scene, process: Process, text: str) -> Problem | None:
    if _PORT.search(text) is None:
        return None
    several = scene.run.nodes > 1
    field = "ports" if scene.run.origins.node(("ports",)) is not None else "command"
    at = (field, scene.place(field)) if field == "ports" else scene.command(process.node.index)
    return _made(
        scene,
        process,
        text,
        "port-taken",
        at,
        "a port is in use already",
        "the nodes share this machine, unlike pods: rehearse with --nodes 1"
        if several
        else "end what listens there, or choose another port",
        here=several,
    )


def _memory(scene: Scene, process: Process, text: str) -> Problem | None:
    if process.code != 137 and _MEMORY.search(text) is None:
        return None
    return _made(
        scene,
        process,
        text,
        "out-of-memory",
        ("memory", scene.place("memory")),
        "a process was killed, or got no memory",
        "the tiny profile is too large for this machine, or its memory grows without end",
        here=True,
    )


def _ended(scene: Scene, process: Process, text: str) -> Problem:
    at = scene.command(process.node.index)
    said = re.findall(r"^runwright(?:-guard)?: (.+)$", text, re.MULTILINE)
    words = f": {said[-1]}" if said else ""
    return _made(
        scene,
        process,
        text,
        "exit-code",
        at,
        f"the command ended with {process.code}{words}",
        "its last lines say why" if excerpt(text) else "it wrote nothing",
    )


_READINGS: tuple[Reading, ...] = (
    _command,
    _script,
    _usage,
    _module,
    _nccl,
    _read_only,
    _file,
    _world,
    _port,
    _network,
    _memory,
)
