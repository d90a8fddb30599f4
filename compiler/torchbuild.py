"""What the version of torch in an image tells: how new it is, and for which devices it was built.

`2.13.0+cu130` is a build for CUDA 13.0, `2.9.1+rocm7.2` one for ROCm, `2.13.0+cpu` for neither. A
version without such an ending, or with another (`2.6.0a0+ecf3bae.nv25.1`), tells no device.
"""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

_VERSION = re.compile(r"v?(\d+)\.(\d+)[^+]*(?:\+(?P<build>.*))?", re.ASCII)
_CUDA = re.compile(r"cu(\d{2,3})(\d)", re.ASCII)


class Torch(Struct, frozen=True):
    """A version of torch; `device` and `cuda` are None where it does not tell."""

    version: tuple[int, int]
    device: Literal["cuda", "rocm", "cpu"] | None = None
    cuda: tuple[int, int] | None = None
    plain: bool = True
    """Whether nothing follows the version: the build that the package index gives."""


def torch_of(text: str | None) -> Torch | None:
    """The version that a text names; None where it names none."""
    match = _VERSION.fullmatch(text or "")
    if match is None:
        return None
    version = int(match[1]), int(match[2])
    build = match["build"]
    if build is None:
        return Torch(version)
    cuda = _CUDA.fullmatch(build)
    if cuda is not None:
        return Torch(version, "cuda", (int(cuda[1]), int(cuda[2])), plain=False)
    if build.startswith("rocm"):
        return Torch(version, "rocm", plain=False)
    return Torch(version, "cpu" if build == "cpu" else None, plain=False)
