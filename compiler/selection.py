"""Which declaration a person means by NAME, TEAM/NAME or a file."""

from __future__ import annotations

from pathlib import Path

from compiler.diagnostics import CompilerError
from compiler.repository import SUFFIXES, Repository
from compiler.suggestions import choose


def select(repository: Repository, word: str) -> Path:
    """The declaration's file; raises CompilerError where there is none, or more than one.

    A job's team may be written in the file, so a name alone is looked for by file name, and
    TEAM/NAME also among the files of `jobs/` that say that team.
    """
    files, _ = repository.job_files()
    if Path(word).suffix in SUFFIXES:
        by_place = {file.resolve(): file for file in files}
        for base in (Path.cwd(), repository.root):
            file = by_place.get((base / word).resolve())
            if file is not None:
                return file
    found = named(repository, word)
    if not found:
        name = word.rpartition("/")[2]
        names = [file.stem for file in files]
        raise CompilerError(
            f"there is no job `{word}`", choose(name, names, "add a file under jobs/")
        )
    if len(found) > 1:
        shown = ", ".join(repository.relative(file) for file in found)
        raise CompilerError(f"`{word}` is more than one job: {shown}", "name the team, or the file")
    return found[0]


def named(repository: Repository, word: str) -> list[Path]:
    """The declarations of NAME, or of TEAM/NAME."""
    team, slash, name = word.rpartition("/")
    found = [file for file in repository.job_files()[0] if file.stem == name]
    return [file for file in found if _team(repository, file) == team] if slash else found


def _team(repository: Repository, file: Path) -> str:
    if file.parent != repository.root / "jobs":
        return file.parent.name
    from compiler.nodes import Mapping, Scalar
    from compiler.source import decode
    from compiler.tree import read

    source, _ = decode(repository.relative(file), repository.read_bytes(file))
    node = read(source)[0] if source is not None else None
    team = node.get("team") if isinstance(node, Mapping) else None
    return str(team) if isinstance(team, Scalar) else ""


def authored(repository: Repository, words: list[str]) -> list[Path]:
    """The declarations and policy files under the named files and folders, or all of them.

    A link that leads out of the repository is left out: it is not ours to write.
    """
    files = list(repository.job_files()[0])
    for folder in ("clusters", "teams", "waivers", "stops", "tests", ""):
        where = repository.root / "policy" / folder
        if where.is_dir():
            files += [p for p in sorted(where.iterdir()) if p.suffix in SUFFIXES and p.is_file()]
    files += sorted((repository.root / "images").glob("*/image.yaml"))
    files = [file for file in files if repository.contains(file)]
    if not words:
        return files
    wanted: list[Path] = []
    for word in words:
        path = existing(repository, word)
        inside = [file for file in files if file.resolve().is_relative_to(path.resolve())]
        if not inside:
            raise CompilerError(f"{word} is no declaration and no policy file")
        wanted += inside
    return list(dict.fromkeys(wanted))


def existing(repository: Repository, word: str) -> Path:
    """The file or folder that a person names, from here or from the repository's root.

    Raises CompilerError where there is none, or where it is outside the repository.
    """
    for base in (Path.cwd(), repository.root):
        path = base / word
        try:
            found = path.exists()
        except (OSError, ValueError):  # a name that no file can have
            found = False
        if found:
            if not repository.contains(path):
                raise CompilerError(f"{word} is outside the repository")
            return path
    raise CompilerError(f"there is no file or folder {word}")


def readable(repository: Repository, word: str, path: Path) -> None:
    """Refuse a path that `check` reads nothing of: it would look clean."""
    inside = path.resolve()
    if inside.is_relative_to((repository.root / "policy" / "tests").resolve()):
        raise CompilerError(f"{word} is a test of policy", f"run `policy test {word}`")
    shared = [repository.root / name for name in ("policy", "base", "images")]
    if any(inside.is_relative_to(folder.resolve()) for folder in shared):
        return
    if not any(file.resolve().is_relative_to(inside) for file in repository.job_files()[0]):
        folders = any(folder.resolve().is_relative_to(inside) for folder in shared)
        if not folders:
            raise CompilerError(
                f"{word} holds no declaration and no policy",
                "declarations are jobs/<job>.yaml and jobs/<team>/<job>.yaml",
            )
