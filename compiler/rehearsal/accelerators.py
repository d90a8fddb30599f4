"""What `accelerate launch` takes from the accelerators it sees, told by flags where there are none.

With several on the node it starts torch's agent as if by `--multi_gpu`, and without
`--num_processes` one process for each; without any it starts one process, with the variables of
the pod (accelerate 1.15, commands/launch.py, _validate_launch_command). A file of its own may say
both: then counts of the rehearsal are given, which win.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from compiler.launch import Launch
from compiler.rehearsal.scale import Scale

# With these it starts torch's agent or another launcher, whatever it sees.
_KINDS = ("multi_gpu", "cpu", "tpu", "use_deepspeed", "use_fsdp", "use_megatron_lm")
_WITHIN = re.compile(
    r"(?<![\w./-])(?:[\w./-]*/)?(?:accelerate-launch|accelerate\s+launch)(?=\s)"
    r"|(?<=-m\s)\s*accelerate\.commands\.(?:launch|accelerate_cli\s+launch)(?=\s)"
)
_ALONE = re.compile(r"(?:.*/)?accelerate-launch|accelerate\.commands\.launch")
_BEFORE = re.compile(r"(?:.*/)?accelerate|accelerate\.commands\.accelerate_cli")
_SEVERAL = re.compile(r"(?<!\S)--multi[-_]gpu(?!\S)")


def unseen(launch: Launch | None, seen: int, scale: Scale) -> list[str]:
    """The flags to give accelerate in a rehearsal, in place of the `seen` ones of a node."""
    if launch is None or launch.launcher != "accelerate":
        return []
    if launch.flag("config_file"):
        given = [("num_processes", scale.world), ("num_machines", scale.nodes)]
        return [
            word
            for name, count in given
            if not launch.flag(name)
            for word in (f"--{name}", str(count))
        ]
    found: list[str] = []
    if seen > 1 and scale.world > 1 and not launch.flag(*_KINDS):
        found.append("--multi_gpu")
    if not launch.flag("num_processes"):
        found += ["--num_processes", str(scale.processes)]
    return found


def single(launch: Launch | None, scale: Scale) -> bool:
    """Whether one process is left of those that `--multi_gpu` asks for, which refuses one."""
    return (
        launch is not None
        and launch.launcher == "accelerate"
        and scale.world == 1
        and launch.flag("multi_gpu") is not None
    )


def told(words: Sequence[str], flags: Sequence[str], alone: bool) -> list[str]:
    """The words of a command with the flags behind `launch`, in a list or within a script.

    `alone` takes `--multi_gpu` out.
    """
    made: list[str] = []
    for index, word in enumerate(words):
        before = words[index - 1] if index else ""
        if alone and _SEVERAL.search(word):
            word = _SEVERAL.sub("", word)
            if not word:
                continue
        starts = _ALONE.fullmatch(word) or (word == "launch" and _BEFORE.fullmatch(before))
        if starts:
            made += [word, *flags]
        elif flags:
            made.append(_WITHIN.sub(lambda found: " ".join([found[0], *flags]), word))
        else:
            made.append(word)
    return made
