"""Where the servers and the sources of their manifests are, as `make e2e-tools` left them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import debian
import install

# What the tests start besides kustomize and Redis.
STARTED = tuple(name for name in install.GROUPS["control-plane"] if name != "redis-server")

# `make e2e-matrix` runs the tests with some programs in another version: `newest`, `oldest`.
OTHER = os.environ.get("RUNWRIGHT_E2E_VERSIONS", "")


class Missing(Exception):
    """A program or a Go module is not on this machine; the text says what gets it."""


def find(name: str) -> Path:
    """The program of that name, as `kube-apiserver`, in the pinned version.

    Raises:
        Missing: If it has not been built.
    """
    if name == "redis-server":
        there = debian.find(install.folder())
    else:
        there = install.target(chosen(name))
    if there is None or not there.exists():
        target = "tools" if name.startswith("kustomize") else "e2e-tools"
        raise Missing(f"there is no {name}; make {target} gets it")
    return there


def version(name: str) -> str:
    """The pinned version of a program, as `v1.34.4`."""
    return install.pinned(chosen(name))


def chosen(name: str) -> str:
    """The tool of `tools/install.py` that serves under that name in this session."""
    other = f"{name}-{OTHER}"
    return other if other in install.TOOLS else name


@cache
def module(path: str) -> Path:
    """The folder of a Go module, as `sigs.k8s.io/kueue`, in the version that a program is built of.

    Go fetches it where it is no longer in the module cache.

    Raises:
        Missing: If no program is built of it, or Go cannot have it.
    """
    part = next((tool.part for tool in install.TOOLS.values() if tool.module == path), None)
    if part is None:
        raise Missing(f"no program of tools/install.py is built of the module {path}")
    try:
        done = subprocess.run(
            ["go", "mod", "download", "-json", path],
            cwd=install.ROOT / "tools" / part,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise Missing(f"there is no Go, which has the module {path}") from None
    if done.returncode:
        raise Missing(f"the module {path} cannot be had:\n{done.stderr}{done.stdout}")
    return Path(json.loads(done.stdout)["Dir"])
