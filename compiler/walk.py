"""The modules of a package, found in its folder: to add one is to add a file."""

from __future__ import annotations

import os
from collections.abc import Iterable


def modules(folders: Iterable[str]) -> list[str]:
    """The names of the modules in the folders of a package's `__path__`, sorted.

    `pkgutil.iter_modules` would find the same, and takes ten milliseconds to import.
    """
    files = (entry.name for folder in folders for entry in os.scandir(folder))
    names = {name.removesuffix(".py") for name in files if name.endswith(".py")}
    return sorted(name for name in names - {"__init__"} if name.isidentifier())
