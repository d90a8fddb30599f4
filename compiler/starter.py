"""The files of a new configuration repository: one small working example of everything."""

from __future__ import annotations

from pathlib import Path

from compiler import codeowners, data
from compiler.repository import Repository
from compiler.schemas import schemas, text

# Files that would mean something else under their own names where they are kept.
_NAMES = {
    "gitattributes": ".gitattributes",
    "gitignore": ".gitignore",
    "gitlab-ci.yml": ".gitlab-ci.yml",
    "project.toml": "pyproject.toml",
}
_WORKFLOWS = ("archive", "check", "plan", "plan-comment", "publish")
HOSTS = ("github", "gitlab")


def files(host: str, compiler: str) -> dict[str, bytes]:
    """The content of each file by its path.

    `host` is where the repository will live, `compiler` the requirement that pins the compiler.
    """
    start = Path(data.__file__).parent / "init"
    found: dict[str, bytes] = {}
    for path in sorted(start.rglob("*")):
        if path.is_file():
            name = path.relative_to(start).as_posix()
            found[_NAMES.get(name, name)] = path.read_bytes()
    for name, schema in schemas().items():
        found[f"schemas/{name}.schema.json"] = text(schema).encode()
    for path in sorted(data.scripts().rglob("*")):
        if path.is_file():
            found[f"ci/{path.relative_to(data.scripts()).as_posix()}"] = path.read_bytes()
    if host == "github":
        found = {name: it for name, it in found.items() if "gitlab" not in name}
        for name in _WORKFLOWS:
            source = data.workflows() / f"{name}.yml"
            found[f".github/workflows/{name}.yml"] = source.read_bytes()
    else:
        del found["ci/comment.sh"]
    owners = codeowners.text(Repository(start).policy(), host)
    found[codeowners.PLACES[host]] = owners.encode()
    pinned = found["requirements.txt"].replace(b"@COMPILER@", compiler.encode())
    return {**found, "requirements.txt": pinned}
