"""What stands for an image: its folder of images/, and the environment that has torch."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[3]
ENVIRONMENT = ROOT / ".venv-images" / "bin"
RUNTIME = ROOT / "images" / "runtime" / "src"
DEFAULT = "/workspace/image"


@dataclass(frozen=True)
class Image:
    """An image: where its code is (None: it has none), and where a container finds that."""

    folder: Path | None = None
    workdir: str = DEFAULT
    entry: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=dict)

    def copy(self, target: Path) -> None:
        """Lay the code out for one container, which may write to it."""
        if self.folder is None:
            target.mkdir(parents=True, exist_ok=True)
            return
        hidden = shutil.ignore_patterns(".*", "__pycache__", "tests")
        shutil.copytree(self.folder, target, ignore=hidden, dirs_exist_ok=True)


class Images:
    """The images of a repository. Any other image has the programs of this machine, and no code."""

    def __init__(self, root: Path = ROOT) -> None:
        self._known: dict[str, Image] = {}
        lock = root / "images" / "lock.yaml"
        known: dict[str, Any] = yaml.safe_load(lock.read_text("utf-8"))["images"]
        for name, locked in known.items():
            about = root / "images" / name / "image.yaml"
            if about.exists():
                read: dict[str, Any] = yaml.safe_load(about.read_text("utf-8"))
                self._known[locked["digest"]] = Image(
                    about.parent, read.get("workdir") or DEFAULT, read.get("entry") or ()
                )

    def find(self, reference: str) -> Image:
        """The image that a container names."""
        return self._known.get(reference.partition("@")[2], Image())


def base(programs: Path) -> dict[str, str]:
    """The variables that an image has by itself; `programs` is a folder for PATH to begin with."""
    own = [str(ENVIRONMENT)] if ENVIRONMENT.is_dir() else []
    return {
        "PATH": ":".join([str(programs), *own, "/usr/local/bin", "/usr/bin", "/bin"]),
        "PYTHONPATH": str(RUNTIME),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
        # Of a machine with few cores, shared by all nodes.
        "OMP_NUM_THREADS": "1",
    }
