"""Understanding a command: which launcher starts the training processes, and with which flags.

A launcher is found behind wrappers (`env`, `numactl`, `uv run`), under its other names
(`python -m torch.distributed.run`), and within a shell's script. A flag's value is None where it
is only known once the command runs (`${RANK}`, `$(nproc)`); variables whose values are written down
are put in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from compiler import shell
from compiler.expansion import Constants, expanded, of_environment, of_script
from compiler.programs import Container, Word

Launcher = Literal["torchrun", "accelerate", "deepspeed", "python", "other"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Programs that start the program in the words after them.
_WRAPPERS = _words(
    "catatonit chrt dumb-init env exec gosu ionice nice nohup nsys numactl setsid stdbuf su-exec "
    "sudo taskset time timeout tini catchsegv command conda mamba micromamba poetry pixi uv "
    "nvidia_entrypoint.sh rocprof rocprofv3"
)
_KEYWORDS = _words("! { do elif else if then time until while")
# Commands at the end of a script that train nothing.
_AFTERWARDS = _words("cp date done echo exit fi ls mv rm sleep sync true wait }")
_PYTHON = re.compile(r"(?:python|pypy)[0-9.]*")
_PYTHON_VALUES = frozenset({"-W", "-X", "--check-hash-based-pycs"})
_MODULES: dict[str, Launcher] = {
    "torch.distributed.run": "torchrun",
    "torch.distributed.launch": "torchrun",
    "torch.distributed.launcher": "torchrun",
    "accelerate.commands.launch": "accelerate",
    "accelerate.commands.accelerate_cli": "accelerate",
    "deepspeed.launcher.runner": "deepspeed",
}
_PROGRAMS: dict[str, Launcher] = {
    "torchrun": "torchrun",
    "accelerate": "accelerate",
    "accelerate-launch": "accelerate",
    "deepspeed": "deepspeed",
    "ds": "deepspeed",
}
# torch, distributed/run.py: the options that take a value. argparse takes any clear beginning.
_TORCHRUN = _words(
    "nnodes nproc_per_node rdzv_backend rdzv_endpoint rdzv_id rdzv_conf max_restarts "
    "monitor_interval start_method event_log_handler role log_dir redirects tee "
    "local_ranks_filter duplicate_stdout_filters duplicate_stderr_filters node_rank master_addr "
    "master_port local_addr logs_specs numa_binding signals_to_handle shutdown_timeout "
    "log_line_prefix_template print_completion"
)
_SWITCHES: dict[str, frozenset[str]] = {
    "torchrun": _words("standalone module m no_python run_path virtual_local_rank use_env help h"),
    "accelerate": _words(
        "multi_gpu cpu tpu ipex use_deepspeed use_fsdp use_tp use_megatron_lm "
        "use_parallelism_config use_xpu quiet q debug no_python m module same_network "
        "downcast_bf16 "
        "dynamo_use_dynamic dynamo_use_fullgraph dynamo_use_regional_compilation "
        "enable_cpu_affinity tpu_use_cluster no_tpu_cluster tpu_use_sudo use_mpirun help h"
    ),
    "deepspeed": _words(
        "no_python no_local_rank module no_ssh no_ssh_check force_multi save_pid "
        "bind_cores_to_rank elastic_training help h"
    ),
}

# Every flag that some torchrun knows, with `_` for `-`.
TORCHRUN_FLAGS = _TORCHRUN | _SWITCHES["torchrun"]

# No variables; never changed.
_NOTHING: dict[str, str] = {}


class Flag(Struct, frozen=True):
    """A flag of a launcher: its name with `_`, its text as it is written, and its value.

    `value` is None where only the running command knows it. `passed` tells that it stands behind
    the training script, whose own argument it then is.
    """

    name: str
    text: str
    value: str | None
    word: Word
    passed: bool = False

    @property
    def number(self) -> int | None:
        """The value as a whole number, None where it is none or is not known."""
        return (
            int(self.value)
            if self.value is not None and re.fullmatch(r"[0-9]{1,9}", self.value)
            else None
        )


class Launch(Struct, frozen=True):
    """One program that a container starts: the launcher, its flags, and where it stands.

    `target` is what it runs, a file or (`module`) a Python module; `rest` are the words behind it.
    `constants` are the variables whose values are known there.
    """

    launcher: Launcher
    program: str
    word: Word
    flags: tuple[Flag, ...]
    scripted: bool = False
    target: Word | None = None
    module: bool = False
    rest: tuple[Word, ...] = ()
    constants: Constants = _NOTHING

    def flag(self, *names: str) -> Flag | None:
        """The launcher's own flag of one of these names: the last, which wins."""
        own = [flag for flag in self.flags if flag.name in names and not flag.passed]
        return own[-1] if own else None


# Several rules ask about one container in turn; hashing its words would cost more than this.
_answers: dict[int, tuple[Container, tuple[Launch, ...]]] = {}


def launches(container: Container) -> tuple[Launch, ...]:
    """What a container starts, in order; empty where the image's own entrypoint decides.

    An entrypoint that is not known may run its arguments (many images' do), so arguments that
    begin with a launcher or a shell are read as a command.
    """
    known = _answers.get(id(container))
    if known is not None and known[0] is container:
        return known[1]
    found = tuple(_started(container.words, of_environment(container)))
    if container.command is None and all(launch.launcher == "other" for launch in found):
        found = ()
    if len(_answers) > 32:
        _answers.clear()
    _answers[id(container)] = (container, found)
    return found


def file_of(launch: Launch) -> Word | None:
    """What has to be there: what the launcher runs, or the file that a shell is given."""
    if launch.program not in shell.SHELLS:
        return launch.target
    rest = launch.rest
    while rest and rest[0].text[:1] in ("-", "+"):
        # `-o pipefail` takes the word behind it.
        rest = rest[2 if rest[0].text[-1] in "oO" else 1 :]
    return rest[0] if rest else None


def main(container: Container) -> Launch | None:
    """The launch that trains: the first by a launcher, else the last; None where not known."""
    found = launches(container)
    for one in found:
        if one.launcher not in ("python", "other"):
            return one
    return next((one for one in reversed(found) if one.program not in _AFTERWARDS), None)


def script(container: Container) -> tuple[Word, int] | None:
    """The script that a shell runs (`bash -c`), and its index in the words; None without one."""
    words = container.words
    start = _program(words)
    if start is None:
        return None
    index = shell.script_index([word.text for word in words[start:]])
    return None if index is None else (words[start + index], start + index)


def scripts(container: Container) -> frozenset[int]:
    """The indices of all words that are a shell's script, also of one that another program starts.

    Such as `torchrun --no-python bash -c SCRIPT`, where each process is a shell.
    """
    texts = [word.text for word in container.words]
    found = (
        (start, shell.script_index(texts[start:]))
        for start, text in enumerate(texts)
        if shell.program(text) in shell.SHELLS
    )
    return frozenset(start + index for start, index in found if index is not None)


@lru_cache(maxsize=4096)
def starts_torchrun(words: tuple[str, ...]) -> bool:
    """Whether a command starts torchrun or accelerate, whose processes torch's agent ends."""
    return any(
        launch.launcher in ("torchrun", "accelerate")
        for launch in _started([Word(word, ()) for word in words], _NOTHING)
    )


def _started(words: Sequence[Word], constants: Constants) -> Iterator[Launch]:
    start = _program(words)
    if start is None:
        return
    index = shell.script_index([word.text for word in words[start:]])
    if index is None:
        yield _launch(words[start:], constants)
        return
    text = words[start + index]
    commands = shell.commands(text.text)
    constants = of_script(commands, constants)
    for command in commands:
        inner = [Word(word, text.route, text.place) for word in command]
        for launch in _started(_bare(inner), constants):
            yield replace(launch, scripted=True)


def _bare(words: Sequence[Word]) -> Sequence[Word]:
    """A command of a script without the assignments and keywords before it."""
    for index, word in enumerate(words):
        if word.text not in _KEYWORDS and not shell.ASSIGNMENT.match(word.text):
            return words[index:]
    return ()


def _program(words: Sequence[Word]) -> int | None:
    """The index of the program, behind wrappers; None where there are no words."""
    if not words:
        return None
    if shell.program(words[0].text) not in _WRAPPERS:
        return 0
    for index, word in enumerate(words):
        name = shell.program(word.text)
        if name in _PROGRAMS or name in shell.SHELLS or _PYTHON.fullmatch(name):
            return index
    return 0


def _launch(words: Sequence[Word], constants: Constants = _NOTHING) -> Launch:
    name = shell.program(words[0].text)
    launcher: Launcher = _PROGRAMS.get(name, "other")
    rest = words[1:]
    if launcher == "accelerate" and name == "accelerate":
        if not rest or rest[0].text != "launch":
            return Launch("other", name, words[0], ())
        rest = rest[1:]
    module: Word | None = None
    if _PYTHON.fullmatch(name):
        launcher, module, rest = _python(rest)
    flags: list[Flag] = []
    target = _read(launcher, rest, constants, flags)
    if module is not None:
        return Launch(
            launcher, name, words[0], tuple(flags), False, module, True, tuple(rest), constants
        )
    if launcher == "other":
        return Launch(
            launcher, name, words[0], tuple(flags), False, words[0], False, tuple(rest), constants
        )
    behind = () if target is None else tuple(rest[target + 1 :])
    return Launch(
        launcher,
        name,
        words[0],
        tuple(flags),
        target=None if target is None else rest[target],
        module=any(flag.name in ("m", "module") and not flag.passed for flag in flags),
        rest=behind,
        constants=constants,
    )


def _python(words: Sequence[Word]) -> tuple[Launcher, Word | None, Sequence[Word]]:
    """The launcher that python runs as a module or a file, and the words for it.

    A module that is no launcher comes between them: it is what is run.
    """
    index = 0
    while index < len(words) and words[index].text.startswith("-"):
        option = words[index].text
        if option.startswith("-m"):
            module, after = (option[2:], 1) if len(option) > 2 else ("", 2)
            word = words[index]
            if not module and index + 1 < len(words):
                module, word = words[index + 1].text, words[index + 1]
            launcher = _MODULES.get(module, "python")
            named = Word(module, word.route, word.place) if launcher == "python" else None
            return launcher, named, words[index + after :]
        if option.startswith("-c"):
            return "python", None, ()
        index += 2 if option in _PYTHON_VALUES else 1
    if index < len(words):
        name = shell.program(words[index].text)
        if name in _PROGRAMS and not name.endswith(".py"):
            return _launch(words[index:]).launcher, None, words[index + 1 :]
    return "python", None, words[index:]


def _read(
    launcher: Launcher, words: Sequence[Word], constants: Constants, flags: list[Flag]
) -> int | None:
    """The index of what the launcher runs; None where there is nothing.

    The flags before it are added to `flags`, then (`passed`) those of the script.
    """
    passed = launcher in ("python", "other")
    target: int | None = None
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if not word.text.startswith("-") or word.text in ("-", "--"):
            # A flag of the script never swallows the next word in a way that hides a flag.
            passed = True
            if target is None and not word.text.startswith("-"):
                target = index - 1
            continue
        spelt, equals, value = word.text.partition("=")
        name = _canonical("" if passed else launcher, spelt)
        if equals:
            flags.append(_flag(name, word.text, value, word, passed, constants))
            continue
        switch = name in _SWITCHES.get(launcher, frozenset())
        following = words[index] if index < len(words) else None
        if following is None or (switch and not passed) or (passed and following.text[:1] == "-"):
            flags.append(Flag(name, word.text, "", word, passed))
            continue
        text = f"{word.text} {following.text}"
        flags.append(_flag(name, text, following.text, word, passed, constants))
        index += 1
    return target


def _flag(
    name: str, text: str, written: str, word: Word, passed: bool, constants: Constants
) -> Flag:
    value = expanded(written, constants)
    if value is not None and value != written:
        text += f" ({value})"
    return Flag(name, text, value, word, passed)


def _canonical(launcher: str, spelt: str) -> str:
    name = spelt.lstrip("-").replace("-", "_")
    if launcher != "torchrun" or name in _TORCHRUN or not spelt.startswith("--") or len(name) < 4:
        return name
    near = [known for known in _TORCHRUN if known.startswith(name)]
    return near[0] if len(near) == 1 else name
