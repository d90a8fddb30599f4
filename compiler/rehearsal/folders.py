"""The file system of each node, as temporary folders: mounts, files, and the image's own folder.

There are no mounts without root, so a path of the container is another path here. Wherever a word,
a variable or a mounted file names one, the other is written in its place, and turned back in what
is shown.
"""

from __future__ import annotations

import base64
import re
import shutil
from collections.abc import Mapping
from itertools import islice
from pathlib import Path, PurePosixPath

from compiler.refusals import CompilerError
from compiler.rehearsal.references import Object, listed

# An image's folder holds code; more than this is data or an environment that went astray.
LARGEST = 512 << 20
# So many entries of a read-only mount are looked at.
LOOKED_AT = 10_000
_KEPT = ("/dev", "/proc", "/sys", "/etc", "/usr")


class Paths:
    """The paths of a container and what stands for them here."""

    def __init__(self, known: Mapping[str, Path]) -> None:
        ordered = sorted(known, key=len, reverse=True)
        self.known = {path: str(known[path]) for path in ordered}
        names = "|".join(re.escape(path) for path in ordered)
        # A path begins where no other goes on, and ends at a slash or where no name goes on.
        self._inside = re.compile(rf"(?<![\w./-])(?:{names})(?![\w-]|\.\w)") if ordered else None

    def here(self, text: str) -> str:
        """A text with the container's paths turned into those of this machine."""
        if self._inside is None:
            return text
        return self._inside.sub(lambda match: self.known[match[0]], text)

    def there(self, text: str) -> str:
        """A text with the paths of this machine turned back into the container's."""
        for path, real in self.known.items():
            text = text.replace(real, path)
        return text


def lay_out(
    node: Path,
    claims: Path,
    pod: Object,
    container: Object,
    config_maps: Mapping[str, Object],
    filled: Mapping[str, Path],
) -> dict[str, Path]:
    """Make the folders of one node's mounts; the container's paths with what stands for them.

    `claims` is shared by all nodes. `filled` are folders of this machine that stand for mounts.
    Shared memory and devices stay what they are.
    """
    volumes = {str(item.get("name")): item for item in listed(pod, "volumes")}
    made: dict[str, Path] = {}
    for index, mount in enumerate(listed(container, "volumeMounts")):
        path = str(PurePosixPath(str(mount.get("mountPath"))))
        if path == "/" or path.startswith("/dev/") or path in _KEPT:
            continue
        if path in filled:
            made[path] = filled[path]
            continue
        volume = volumes.get(str(mount.get("name")), {})
        sub = str(mount.get("subPath") or "")
        claim = volume.get("persistentVolumeClaim")
        config = volume.get("configMap")
        if claim is not None:
            made[path] = _inside(claims / str(claim.get("claimName")), sub)
        elif config is not None and str(config.get("name")) in config_maps:
            made[path] = node / "files" / str(index)
            _config_map(made[path], config_maps[str(config["name"])], sub)
            continue
        else:
            made[path] = _inside(node / "volumes" / str(mount.get("name")), sub)
        made[path].mkdir(parents=True, exist_ok=True)
    return made


def copy_image(source: Path, target: Path) -> None:
    """Copy an image's folder: what runs may write into it. Raises CompilerError for a huge one."""
    size = 0
    for path in source.rglob("*"):
        if path.is_file() and not path.is_symlink() and not _left_out(path.relative_to(source)):
            size += path.stat().st_size
            if size > LARGEST:
                raise CompilerError(
                    f"{source.name}/ holds more than {LARGEST >> 20} MiB, and would be copied",
                    "name a folder with the code alone; data comes by --mount PATH=DIR",
                )
    shutil.copytree(
        source, target, symlinks=True, ignore=lambda _, names: [n for n in names if _hidden(n)]
    )


def nest(paths: Paths, root: Path) -> None:
    """Show a mount that lies in another folder there too, for who goes by a relative path.

    Only in folders below `root`: those of the user stay as they are.
    """
    for path, real in paths.known.items():
        for parent in PurePosixPath(path).parents:
            outer = paths.known.get(str(parent))
            if outer is None:
                continue
            link = Path(outer) / PurePosixPath(path).relative_to(parent)
            if link.is_relative_to(root) and not link.exists():
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(real)
            break


def rewrite_files(paths: Paths, folder: Path) -> None:
    """Turn the container's paths in mounted text files into those of this machine."""
    for path in folder.rglob("*") if folder.is_dir() else [folder]:
        if path.is_file():
            data = path.read_bytes()
            try:
                path.write_bytes(paths.here(data.decode()).encode())
            except UnicodeDecodeError:
                continue


def contents(folder: Path) -> frozenset[tuple[str, int]]:
    """What is in a folder, with when it was changed: to see that nobody wrote to it.

    Of a folder of the user's it may be a part only, for there may be millions of files.
    """
    return frozenset(
        (str(path.relative_to(folder)), path.lstat().st_mtime_ns)
        for path in islice(folder.rglob("*"), LOOKED_AT)
        if not path.is_dir()
    )


def _config_map(target: Path, config_map: Object, key: str) -> None:
    texts: dict[str, str] = config_map.get("data") or {}
    binary: dict[str, str] = config_map.get("binaryData") or {}
    data = {name: text.encode() for name, text in texts.items()}
    data |= {name: base64.b64decode(text) for name, text in binary.items()}
    if key:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data.get(key, b""))
        return
    target.mkdir(parents=True, exist_ok=True)
    for name, content in data.items():
        (target / name).write_bytes(content)


def _inside(folder: Path, sub: str) -> Path:
    parts = [part for part in PurePosixPath(sub).parts if part not in ("/", "..")]
    return folder.joinpath(*parts)


def _hidden(name: str) -> bool:
    return name[0] == "." or name == "__pycache__"


def _left_out(path: Path) -> bool:
    return any(_hidden(part) for part in path.parts)
