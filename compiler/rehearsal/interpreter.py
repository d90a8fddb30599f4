"""The Python that stands for the image's: found, asked for torch, and put on the nodes' PATH."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from compiler.launch import Launch
from compiler.refusals import Unavailable

ENVIRONMENT = ".venv-images"
MAKE = "make images-setup"


class Interpreter(Struct, frozen=True):
    """A Python; `modules` are those of the ones asked for that it has."""

    path: Path
    modules: frozenset[str]

    @property
    def folder(self) -> Path:
        """Where its programs are, such as torchrun."""
        return self.path.parent


def needed(launch: Launch | None, torch: bool) -> str | None:
    """The module without which a launch cannot begin; None where any Python does."""
    launcher = launch.launcher if launch is not None else "other"
    if launcher in ("accelerate", "deepspeed"):
        return launcher
    return "torch" if torch or launcher == "torchrun" else None


def find(root: Path, named: str | None, module: str | None) -> Interpreter:
    """The Python named by --python, that of the images, or one of PATH that has the module.

    Raises Unavailable, with the command that makes one, where there is none.
    """
    if named is not None:
        path = Path(named).absolute()
        if path.is_dir():
            path = (
                path / "bin" / "python" if (path / "bin" / "python").exists() else path / "python"
            )
        if not os.access(path, os.X_OK) or path.is_dir():
            raise Unavailable(f"there is no Python at {named}", "name the program: .../bin/python")
        return _with(path, module, named)
    own = root / ENVIRONMENT / "bin" / "python"
    if own.exists():
        return _with(own, module, f"{ENVIRONMENT}/bin/python")
    for name in ("python", "python3"):
        found = shutil.which(name)
        if found is not None and (module is None or _has(Path(found), module)):
            return Interpreter(Path(found), frozenset({module} if module else ()))
    if module is None:
        raise Unavailable("there is no python3 on PATH", "name one with --python PATH")
    raise Unavailable(
        f"no Python here has {module}, which the job starts with: there is no {ENVIRONMENT}/, "
        "and none on PATH",
        f"run `{MAKE}` (some minutes, 4 GB), or name a Python that has it with --python PATH",
    )


def _with(path: Path, module: str | None, shown: str) -> Interpreter:
    if module is not None and not _has(path, module):
        raise Unavailable(
            f"{shown} has no {module}, which the job starts with",
            f"install it there, or name another with --python PATH; `{MAKE}` makes one with torch",
        )
    return Interpreter(path, frozenset({module} if module else ()))


def _has(path: Path, module: str) -> bool:
    """Whether a Python finds a module, without importing it (torch takes seconds)."""
    ask = "import sys, importlib.util as u; sys.exit(u.find_spec(sys.argv[1]) is None)"
    try:
        done = subprocess.run(
            [str(path), "-c", ask, module],
            capture_output=True,
            check=False,
            timeout=60,
            env={"PATH": os.defpath, "PYTHONDONTWRITEBYTECODE": "1"},
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def put_on_path(
    python: Interpreter, folder: Path, launch: Launch | None, more: Sequence[str]
) -> str:
    """Write into a folder what PATH lacks; returns the PATH of the nodes.

    `more` are arguments for a training that a script starts, where there is no list to put them
    at the end of: the launcher is then a script of ours that adds them.
    """
    folder.mkdir(parents=True, exist_ok=True)
    programs = {
        "python": [str(python.path)],
        "python3": [str(python.path)],
        "torchrun": [str(python.path), "-m", "torch.distributed.run"],
        "accelerate": [str(python.path), "-m", "accelerate.commands.accelerate_cli"],
        "accelerate-launch": [str(python.path), "-m", "accelerate.commands.launch"],
    }
    adding = launch.program if launch is not None and more else None
    for name, words in programs.items():
        own = python.folder / name
        if own.exists():
            words = [str(own)]
        if name == adding and launch is not None and launch.target is not None:
            _write(folder / name, words, launch.target.text, more)
        elif not own.exists() and (name.startswith("python") or "torch" in python.modules):
            _write(folder / name, words)
    return os.pathsep.join([str(folder), str(python.folder), "/usr/local/bin", "/usr/bin", "/bin"])


def _write(path: Path, words: Sequence[str], target: str = "", more: Sequence[str] = ()) -> None:
    lines = ["#!/bin/sh"]
    if more:
        # Only where it starts the training: the same script may call it for other things.
        lines += [
            'for word; do case "$word" in',
            f'  {shlex.quote(target)}) exec {shlex.join(words)} "$@" {shlex.join(more)} ;;',
            "esac; done",
        ]
    lines.append(f'exec {shlex.join(words)} "$@"')
    path.write_text("\n".join(lines) + "\n", "utf-8")
    path.chmod(0o755)
