"""What each node runs: the rendered pod's command and environment, as they are on this machine."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct

from compiler import guard
from compiler.arguments.schemafile import schema_for
from compiler.arguments.words import spelled
from compiler.backends.pytorchjob import port
from compiler.containers import MAIN
from compiler.environment import added
from compiler.launch import Launch, main, script
from compiler.model import Member, Run
from compiler.programs import training
from compiler.refusals import CompilerError
from compiler.rehearsal import accelerators
from compiler.rehearsal.folders import Paths, contents, copy_image, lay_out, nest, rewrite_files
from compiler.rehearsal.interpreter import Interpreter, put_on_path
from compiler.rehearsal.ports import free_port, taken
from compiler.rehearsal.references import Object, environment, expanded, listed, looked_up
from compiler.rehearsal.scale import Scale, small, with_counts, without_data
from compiler.results import RunResult

SELF = "127.0.0.1"
LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"
# Variables whose whole value is the rendezvous' port.
PORTS = frozenset({"MASTER_PORT", "PET_MASTER_PORT"})
# An image's folder stands here where nothing says where the image has it.
FOLDER = "/workspace/image"
# Seconds between checkpoints, so that one comes within a rehearsal.
EVERY = 1


class Node(Struct):
    """One node: what it starts, and under what. `pod` is its name on the cluster."""

    index: int
    pod: str
    words: list[str]
    env: dict[str, str]
    folder: Path
    cwd: Path
    paths: Paths


class Cast(Struct):
    """All nodes of a rehearsal, and what was changed so that they can run here.

    `checkpoints` is the folder that $CHECKPOINT_DIR stands for; `untouched` are folders that nobody
    may write to, by the container's path, with what was in them.
    """

    nodes: list[Node]
    changed: list[str]
    checkpoints: Path | None
    restarts: int
    untouched: dict[str, tuple[Path, frozenset[tuple[str, int]]]]


class Choice(Struct, frozen=True):
    """What the user chose: folders for the image and for mounts, and arguments at the end."""

    folder: Path | None
    mounts: Mapping[str, Path]
    more: tuple[str, ...]


def launch_of(made: RunResult, member: Member) -> Launch | None:
    """The launch that trains, with its places in the declaration."""
    return main(training(made.run, member, made.site))


def image_folder(made: RunResult, member: Member, choice: Choice) -> Path:
    """The folder that stands for the image. Raises CompilerError where there is none."""
    if choice.folder is not None:
        return choice.folder
    name = member.image.name
    own = made.site.root / "images" / name if name is not None else None
    if own is None or name not in made.site.images or not own.is_dir():
        raise CompilerError(
            f"the image {name or member.image.reference} is no folder of images/: its code is not "
            "here, so there is nothing to run",
            "check its code out, and name that folder with --folder DIR: it stands for the folder "
            "in which the image starts commands",
        )
    return own


def cast(made: RunResult, scale: Scale, python: Interpreter, choice: Choice, root: Path) -> Cast:
    """Make the folders of all nodes below `root`, and say what each of them runs."""
    run = small(made.run, scale)
    maps = {
        str(item["metadata"]["name"]): item for item in made.objects if item["kind"] == "ConfigMap"
    }
    here = free_port()
    changed = _told(made, scale, here)
    nodes: list[Node] = []
    left_out: dict[str, None] = {}
    untouched: dict[str, tuple[Path, frozenset[tuple[str, int]]]] = {}
    for index in range(scale.nodes):
        member = made.run.first if index == 0 else made.run.others
        pod, container = _pod(made, index)
        folder = root / f"node-{index}"
        mounts = lay_out(folder, root / "claims", pod, container, maps, choice.mounts)
        work, cwd = _workdir(made, member, container)
        copy = folder / "image"
        copy_image(image_folder(made, member, choice), copy)
        paths = Paths({work: copy, **mounts})
        nest(paths, root)
        for mount in listed(container, "volumeMounts"):
            path = str(PurePosixPath(str(mount.get("mountPath"))))
            if mount.get("readOnly") and path in mounts and mounts[path].is_dir():
                untouched[path] = (mounts[path], contents(mounts[path]))
        for path in mounts.values():
            if path.is_relative_to(folder / "files"):
                rewrite_files(paths, path)
        name = _pod_name(made, index)
        env = _environment(made, run, index, container, name)
        more = [*tiny(made, member), *choice.more]
        words = _words(made, member, container, env, scale)
        if tiny(made, member):
            empty = [path for path in untouched if path not in choice.mounts]
            words, dropped = without_data(words, empty)
            left_out |= dict.fromkeys(dropped)
        launch = launch_of(made, member)
        scripted = script(training(made.run, member, made.site)) is not None
        shims = folder / "programs"
        for part in ("home", "tmp"):
            (folder / part).mkdir(exist_ok=True)
        if not scripted:
            words += more
        local = _Local(made.run, here)
        env = {key: local.here(paths.here(value), port=key in PORTS) for key, value in env.items()}
        env |= {
            "HOME": str(folder / "home"),
            "TMPDIR": str(folder / "tmp"),
            "HOSTNAME": name,
            "LANG": "C.UTF-8",
            "PATH": put_on_path(python, shims, launch, more if scripted else ()),
        }
        head = len(words) - len(guard.inner(words))
        words = words[:head] + [local.here(paths.here(word), port=True) for word in words[head:]]
        _fill_environment(made, env, index)
        nodes.append(Node(index, name, words, env, folder, Path(paths.here(cwd)), paths))
    folder = nodes[0].env.get("CHECKPOINT_DIR")
    if folder is not None:
        changed.append(f"CHECKPOINT_EVERY is {EVERY}: a checkpoint comes within seconds")
        for node in nodes:
            node.env["CHECKPOINT_EVERY"] = str(EVERY)
    more = [*tiny(made, made.run.first), *choice.more]
    if more:
        changed.append("the arguments end with " + " ".join(more))
    changed += [f"{text} is left out: the mount is empty here" for text in left_out]
    changed += _secrets(made)
    return Cast(nodes, changed, Path(folder) if folder else None, _restarts(made), untouched)


class _Local:
    """The names and the port of a run's Services, as those of this machine."""

    def __init__(self, run: Run, here: int) -> None:
        name = re.escape(run.identity.name)
        space = re.escape(run.identity.namespace)
        self._names = re.compile(
            rf"(?<![\w.-]){name}-(?:master|worker)-\d+(?:\.{space}(?:\.svc[\w.-]*)?)?(?![\w-])"
        )
        self._port = re.compile(rf"(?<![\w.]){port(run)}(?![\w.])")
        self._at = re.compile(rf"(?<={re.escape(SELF)}:){port(run)}(?!\d)")
        self._here = str(here)
        elastic = run.elastic
        self._endpoint = None
        if elastic is not None and elastic.endpoint is not None:
            self._endpoint = elastic.endpoint.rpartition(":")[0] or elastic.endpoint

    def here(self, text: str, port: bool = False) -> str:
        """A text with the Services' names, and their port beside them; `port`: the port alone."""
        text = self._names.sub(SELF, text)
        if self._endpoint is not None and self._endpoint in text:
            text = text.replace(self._endpoint, SELF)
        return (self._port if port else self._at).sub(self._here, text)


def _environment(
    made: RunResult, run: Run, index: int, container: Object, pod: str
) -> dict[str, str]:
    """The container's list, and after it what operator or back end append."""
    appended = added(run, made.site.backend, index)
    own = [item for item in listed(container, "env") if item["name"] not in appended]
    return environment([*own, *({"name": k, "value": v} for k, v in appended.items())], pod)


def _fill_environment(made: RunResult, env: dict[str, str], index: int) -> None:
    """What this machine needs beside the pod's own variables."""
    shutdown = env.get("TORCH_ELASTIC_SHUTDOWN_TIMEOUT")
    if shutdown is not None:
        env["TORCH_ELASTIC_SHUTDOWN_TIMEOUT"] = "15"
    env |= {
        "CUDA_VISIBLE_DEVICES": "",
        "HIP_VISIBLE_DEVICES": "",
        "GLOO_SOCKET_IFNAME": LOOPBACK,
        "NCCL_SOCKET_IFNAME": LOOPBACK,
    }
    env.setdefault("OMP_NUM_THREADS", "1")
    # What is imported from the repository leaves nothing there.
    env.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    runtime = made.site.root / "images" / "runtime" / "src"
    if runtime.is_dir():
        before = env.get("PYTHONPATH")
        env["PYTHONPATH"] = f"{before}:{runtime}" if before else str(runtime)


def _words(
    made: RunResult, member: Member, container: Object, env: Mapping[str, str], scale: Scale
) -> list[str]:
    """Command and arguments with their references put in, and the counts of the rehearsal."""
    command = listed(container, "command")
    if not command:
        raise CompilerError(
            f"{made.run.identity.name} has no command: what its image starts is not known here",
            "write `command` in the job, or `entry` in the image's image.yaml",
        )
    words = [expanded(str(word), env) for word in command]
    words += [expanded(str(word), env) for word in listed(container, "args")]
    inner = guard.inner(words)
    head = words[: len(words) - len(inner)]
    if head:
        head[4] = str(scale.grace)
    launch = launch_of(made, member)
    flags = accelerators.unseen(launch, member.processes, scale)
    inner = accelerators.told(inner, flags, accelerators.single(launch, scale))
    return head + with_counts(inner, scale)


def _workdir(made: RunResult, member: Member, container: Object) -> tuple[str, str]:
    """Where the image's folder stands, and where the command starts, as the container has them."""
    about = made.site.images.get(member.image.name or "")
    work = about.value.workdir if about is not None else None
    start = container.get("workingDir")
    work = str(PurePosixPath(work or start or FOLDER))
    start = str(PurePosixPath(start or work))
    # The root holds more than the image's folder, and stands for all of this machine's.
    return (FOLDER, FOLDER if start == "/" else start) if work == "/" else (work, start)


def tiny(made: RunResult, member: Member) -> list[str]:
    """The arguments that make the image small, as its image.yaml says; none for another's image."""
    about = made.site.images.get(member.image.name or "")
    if about is None:
        return []
    schema = schema_for(member.image.name, made.site)
    return [word for word, _ in spelled(about.value.tiny, schema)]


def _pod(made: RunResult, index: int) -> tuple[Object, Object]:
    """The pod's spec of a node, and its training container."""
    spec: Any = made.objects[0]["spec"]
    if "template" not in spec:
        roles = spec["pytorchReplicaSpecs"]
        spec = roles["Master"] if index == 0 and "Master" in roles else roles["Worker"]
    pod = spec["template"]["spec"]
    containers = pod["containers"]
    own = next((item for item in containers if item["name"] == MAIN), containers[0])
    return pod, own


def _pod_name(made: RunResult, index: int) -> str:
    name = made.run.identity.name
    if made.site.backend == "job":
        return f"{name}-0"
    if made.run.elastic is not None:
        return f"{name}-worker-{index}"
    return f"{name}-master-0" if index == 0 else f"{name}-worker-{index - 1}"


def _restarts(made: RunResult) -> int:
    """How often the cluster would start pods again after they fail."""
    spec = made.objects[0]["spec"]
    return int(spec.get("runPolicy", spec).get("backoffLimit", 0))


def _secrets(made: RunResult) -> list[str]:
    names = {name: None for index in (0, 1) for name in looked_up(_env_of(made, index))}
    if not names:
        return []
    return [f"placeholders stand for {', '.join(names)}"]


def _env_of(made: RunResult, index: int) -> Sequence[Object]:
    if index >= made.run.nodes:
        return ()
    return listed(_pod(made, index)[1], "env")


def _told(made: RunResult, scale: Scale, here: int) -> list[str]:
    run = made.run
    found: list[str] = []
    each = run.others.processes
    if (run.nodes, each) != (scale.nodes, scale.processes):
        found.append(
            f"{_count(scale.nodes, 'node')} of {_count(scale.processes, 'process')} "
            f"for {run.nodes} of {each}"
        )
    if made.site.backend == "pytorchjob":
        found.append(f"the nodes' names are {SELF}, and port {port(run)} is {here}")
    found.append(f"accelerators are hidden: gloo on CPUs, over {LOOPBACK}")
    launch = launch_of(made, run.others)
    flags = accelerators.unseen(launch, run.others.processes, scale)
    if flags:
        found.append(f"accelerate, which sees no accelerators, is given {' '.join(flags)}")
    if accelerators.single(launch, scale):
        found.append("--multi_gpu is left out: accelerate refuses it for one process")
    if run.grace != scale.grace:
        found.append(f"the grace is {scale.grace} s for {run.grace} s")
    if run.elastic is not None:
        found.append("the rendezvous waits 1 s for further nodes, and notices a lost one after 3 s")
    found.append(
        "mounts are temporary folders, whose paths are written into command, env and files"
    )
    for name, number in run.first.ports:
        if taken(number):
            found.append(f"port {number} ({name}) is taken on this machine, unlike in a pod")
    return found


def _count(number: int, noun: str) -> str:
    plural = "es" if noun.endswith("s") else "s"
    return f"{number} {noun}{'' if number == 1 else plural}"
