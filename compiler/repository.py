"""The repository: where it is, which files it has, and its policy as typed documents."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from msgspec import Struct, field

from compiler.codeowners import PLACES
from compiler.diagnostics import CompilerError, Finding, Place
from compiler.nodes import Mapping, Scalar, descend
from compiler.rules import finding
from compiler.source import LIMIT, Source, decode

if TYPE_CHECKING:
    # A check that finds nothing changed needs the files, and none of the models.
    from pydantic import BaseModel

    from compiler.images import Image, Lock
    from compiler.policy.adopted import AdoptedRun
    from compiler.policy.cluster import Cluster
    from compiler.policy.rules import RulesPolicy, StopPolicy, WaiverPolicy
    from compiler.policy.team import Team

M = TypeVar("M", bound="BaseModel")
SUFFIXES = (".yaml", ".yml")
FOLDERS = ("clusters", "teams", "waivers", "stops", "adopted")
"""The folders of `policy/` whose files are read."""


class Document(Struct, Generic[M], frozen=True):
    """A policy or image file: its name, its tree with places, and its typed value."""

    name: str
    path: str
    node: Mapping
    value: M

    def place(self, *route: str | int, key: bool = False) -> Place:
        """The authored place of a route, or of the nearest thing around it that is there."""
        while route:
            found, complete = descend(self.node, route, key)
            if complete:
                return found.place
            route, key = route[:-1], True
        first = next(iter(self.node), None)
        return first.place if isinstance(first, Scalar) else Place.start(self.path)


class Policy(Struct):
    """All of `policy/` and the image files, as far as they could be read.

    `findings` is what is wrong in them; a file with findings is missing from its mapping, and its
    name is in `broken`, so that a job that needs it is neither judged nor read as absent.
    """

    clusters: dict[str, Document[Cluster]] = field(default_factory=dict)  # type: ignore[assignment]
    teams: dict[str, Document[Team]] = field(default_factory=dict)  # type: ignore[assignment]
    images: dict[str, Document[Image]] = field(default_factory=dict)  # type: ignore[assignment]
    waivers: dict[str, Document[WaiverPolicy]] = field(default_factory=dict)  # type: ignore[assignment]
    stops: dict[str, Document[StopPolicy]] = field(default_factory=dict)  # type: ignore[assignment]
    # By team/job.
    adopted: dict[str, Document[AdoptedRun]] = field(default_factory=dict)  # type: ignore[assignment]
    rules: Document[RulesPolicy] | None = None
    lock: Document[Lock] | None = None
    findings: list[Finding] = field(default_factory=list)  # type: ignore[assignment]
    broken: set[str] = field(default_factory=set)  # type: ignore[assignment]
    sources: dict[str, Source] = field(default_factory=dict)  # type: ignore[assignment]
    digests: list[str] = field(default_factory=list)  # type: ignore[assignment]
    # Layers below declarations, merged once for all jobs that share them.
    layers: dict[Any, Mapping] = field(default_factory=dict)  # type: ignore[assignment]

    def unreadable(self, kind: str, name: str) -> bool:
        """Whether what policy says of one of the `clusters` or `teams` is there and no use.

        That is not the same as absent: nobody knows what it says.
        """
        folder = f"policy/{kind}"
        paths = ("policy", folder, *(f"{folder}/{name}{suffix}" for suffix in SUFFIXES))
        return any(path in self.broken for path in paths)


class Repository:
    """A folder with `[tool.compiler]` in its `pyproject.toml`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def find(cls, start: Path, explicit: bool = False) -> Repository:
        """The repository around `start`; raises CompilerError where there is none."""
        start = start.resolve()
        candidates = [start] if explicit else [start, *start.parents]
        for folder in candidates:
            manifest = folder / "pyproject.toml"
            try:
                if not manifest.is_file():
                    continue
                tool: Any = tomllib.loads(manifest.read_text("utf-8")).get("tool")
            except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
                raise CompilerError(f"{manifest} cannot be read: {error}") from None
            if isinstance(tool, dict) and isinstance(tool.get("compiler"), dict):  # type: ignore[misc]
                return cls(folder)
        raise CompilerError(
            f"no repository at {start}: no pyproject.toml with [tool.compiler]"
            + ("" if explicit else " here or in a folder above"),
            "name it with --repo DIR",
        )

    @cached_property
    def settings(self) -> dict[str, Any]:
        """The `[tool.compiler]` table."""
        manifest = tomllib.loads((self.root / "pyproject.toml").read_text("utf-8"))
        return manifest["tool"]["compiler"]

    @property
    def publish_branch(self) -> str | None:
        """`branch` of `[tool.compiler.publish]`; None where it is not set."""
        publish: Any = self.settings.get("publish")
        branch = cast("dict[str, Any]", publish).get("branch") if isinstance(publish, dict) else ""
        return branch if isinstance(branch, str) and branch else None

    @cached_property
    def cache(self) -> Path:
        """The folder of caches; it may be missing or unwritable."""
        named = os.environ.get("COMPILER_CACHE")
        return Path(named) if named else self.root / ".cache" / "compiler"

    def relative(self, path: Path) -> str:
        """A path as it is printed: from the root, with `/`."""
        start, text = self._prefix, str(path)
        if text.startswith(start) and os.sep == "/":
            return text[len(start) :]
        return path.relative_to(self.root).as_posix()

    @cached_property
    def _prefix(self) -> str:
        return str(self.root).rstrip("/") + "/"

    def contains(self, path: Path) -> bool:
        """Whether a path, with all links followed, is inside the repository."""
        # Not Path.resolve, which raises where links lead to one another in a circle.
        return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(self.root))

    def job_files(self) -> tuple[list[Path], list[Finding]]:
        """The declarations under `jobs/`, in the order of their paths, and what is wrong there.

        `jobs/x.yaml` and `jobs/<team>/x.yaml` are declarations. Folders below a team's folder hold
        the files that declarations mount, and are nobody's jobs.
        """
        files: list[Path] = []
        findings: list[Finding] = []
        jobs = self.root / "jobs"
        if not jobs.is_dir() or not self.contains(jobs):
            return [], self._no_jobs(jobs)
        for entry in _scanned(jobs):
            if entry.is_dir(follow_symlinks=False):
                for inner in _scanned(Path(entry.path)):
                    self._take(inner, files, findings)
            else:
                self._take(entry, files, findings)
        return files, findings

    def _no_jobs(self, jobs: Path) -> list[Finding]:
        """Why there are no declarations, where something else has the place of their folder."""
        if not os.path.lexists(jobs):
            return []
        rule, message = "not-a-declaration", "jobs is no folder, so there are no declarations"
        if not self.contains(jobs):
            rule, message = "link-out-of-repository", "jobs is a link out of the repository"
        place = Place.start(self.relative(jobs))
        return [finding(rule, place, message, "put the declarations into a folder jobs/ here")]

    def _take(self, entry: os.DirEntry[str], files: list[Path], findings: list[Finding]) -> None:
        path = Path(entry.path)
        if path.suffix in SUFFIXES and entry.is_file(follow_symlinks=False):
            files.append(path)
            return
        shown = self.relative(path)
        if entry.is_symlink() and not self.contains(path):
            findings.append(
                finding(
                    "link-out-of-repository",
                    Place.start(shown),
                    f"{shown} is a link to a file outside the repository",
                    "put the file itself here: what a reviewer sees must be what runs",
                )
            )
        elif path.is_dir():
            return
        elif path.suffix in SUFFIXES and path.is_file():
            files.append(path)
        elif path.suffix in SUFFIXES or (entry.is_symlink() and not path.exists()):
            what = "is a link to nothing" if entry.is_symlink() else "is no plain file"
            where = Place.start(shown)
            message, remedy = f"{shown} {what}", "put the declaration itself here"
            findings.append(finding("not-a-declaration", where, message, remedy))
        elif path.suffix.lower() in SUFFIXES or path.suffix.lower() in (
            ".json",
            ".yaml~",
            ".txt",
            "",
        ):
            if path.name.startswith(".") or path.name in ("CODEOWNERS", "OWNERS"):
                return
            findings.append(
                finding(
                    "not-a-declaration",
                    Place.start(shown),
                    f"{shown} is not read: declarations end in .yaml",
                    f"rename it to {path.stem}.yaml, or move it out of jobs/ "
                    "(a folder below a team's holds files)",
                )
            )

    def read_bytes(self, path: Path) -> bytes:
        """The bytes of a file, at most a little over the limit of a declaration."""
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 (a Path takes longer)
            return file.read(min(os.fstat(file.fileno()).st_size, LIMIT) + 1)

    @cached_property
    def surroundings(self) -> dict[str, bytes]:
        """The bytes of policy, image files, bases and CODEOWNERS by path: what checks rest on."""
        found: dict[str, bytes] = {}
        for top in ("policy", "base"):
            for folder, folders, names in os.walk(self.root / top):
                folders.sort()
                if folder == str(self.root / "policy") and "tests" in folders:
                    # They say what is to be found, and change nothing that is.
                    folders.remove("tests")
                for name in (*names, *(name for name in folders if name.endswith(SUFFIXES))):
                    self._keep(found, Path(folder, name))
        images = self.root / "images"
        for entry in _entries(images) if images.is_dir() else ():
            if entry.suffix in SUFFIXES:
                self._keep(found, entry)
            else:
                for suffix in SUFFIXES:
                    self._keep(found, entry / f"image{suffix}")
        for place in PLACES.values():
            self._keep(found, self.root / place)
        return found

    def _keep(self, found: dict[str, bytes], path: Path) -> None:
        with suppress(OSError):
            if path.is_file():
                found[self.relative(path)] = self.read_bytes(path)
            elif path.suffix in SUFFIXES and os.path.lexists(path):
                # That it is there is a finding, and no content goes with it.
                found[self.relative(path)] = b""

    def policy(self) -> Policy:
        """All of `policy/` and the image files."""
        from compiler.declaration import Defaults
        from compiler.images import Image, Lock
        from compiler.policy.adopted import AdoptedRun
        from compiler.policy.cluster import Cluster
        from compiler.policy.rules import RulesPolicy, StopPolicy, WaiverPolicy
        from compiler.policy.team import Team

        # A part of two other models: its validator is built once for both.
        Defaults.model_rebuild()
        policy = Policy()
        for name in ("policy", "images", *(f"policy/{folder}" for folder in FOLDERS)):
            path = self.root / name
            if os.path.lexists(path) and not path.is_dir():
                self._unread(policy, path, "a folder is wanted here")
        for path in _yaml_files(self.root / "policy" / "clusters"):
            self._load(policy, path, Cluster, policy.clusters, "a cluster")
        for path in _yaml_files(self.root / "policy" / "teams"):
            self._load(policy, path, Team, policy.teams, "a team")
        for path in _yaml_files(self.root / "policy" / "waivers"):
            self._load(policy, path, WaiverPolicy, policy.waivers, "a waiver")
        for path in _yaml_files(self.root / "policy" / "stops"):
            self._load(policy, path, StopPolicy, policy.stops, "a stop")
        adopted = self.root / "policy" / "adopted"
        for folder in _entries(adopted) if adopted.is_dir() else ():
            for path in _yaml_files(folder):
                name = f"{folder.name}/{path.stem}"
                self._load(policy, path, AdoptedRun, policy.adopted, "an adopted run", name)
        rules: dict[str, Document[RulesPolicy]] = {}
        locks: dict[str, Document[Lock]] = {}
        path = self.root / "policy" / "rules.yaml"
        if os.path.lexists(path):
            self._load(policy, path, RulesPolicy, rules, "the rules")
        lock = self.root / "images" / "lock.yaml"
        if os.path.lexists(lock):
            self._load(policy, lock, Lock, locks, "the image lock")
        elif os.path.lexists(lock.with_suffix(".yml")):
            # Its wrong name is a finding, and nothing that it says is missing.
            policy.broken.add(self.relative(lock))
        policy.rules, policy.lock = rules.get("rules"), locks.get("lock")
        images = self.root / "images"
        for folder in _entries(images) if images.is_dir() else ():
            path = folder / "image.yaml"
            if os.path.lexists(path):
                self._load(policy, path, Image, policy.images, "an image", folder.name)
            elif os.path.lexists(folder / "image.yml"):
                policy.broken.add(self.relative(path))
            elif folder.suffix not in SUFFIXES and folder.is_symlink() and not folder.exists():
                self._unread(policy, folder, "put the folder itself here")
        return policy

    def _unread(self, policy: Policy, path: Path, remedy: str) -> None:
        """Report what stands in the place of a file or folder of policy and is none."""
        shown = self.relative(path)
        link = path.is_symlink() and not path.exists()
        what = "is a link to nothing" if link else "is no plain file"
        if path.is_file():
            what = "is a file"
        policy.broken.add(shown)
        place = Place.start(shown)
        policy.findings.append(finding("unread-policy-file", place, f"{shown} {what}", remedy))

    def _load(
        self,
        policy: Policy,
        path: Path,
        model: type[M],
        into: dict[str, Document[M]],
        values: str,
        name: str = "",
    ) -> None:
        from compiler.tree import read
        from compiler.validation import validate

        shown = self.relative(path)
        name = name or path.stem
        if not self.contains(path):
            policy.broken.add(shown)
            policy.findings.append(
                finding(
                    "link-out-of-repository",
                    Place.start(shown),
                    f"{shown} is a link to a file outside the repository",
                    "put the file itself here: what a reviewer sees must be what runs",
                )
            )
            return
        if not path.is_file():
            self._unread(policy, path, "put the file itself here")
            return
        data = self.surroundings.get(shown)
        source, findings = decode(shown, self.read_bytes(path) if data is None else data)
        if source is None:
            policy.findings += findings
            policy.broken.add(shown)
            return
        policy.sources[shown] = source
        policy.digests.append(f"{shown}:{source.digest}")
        node, findings = read(source)
        policy.findings += findings
        value: M | None = None
        if isinstance(node, Mapping):
            value, more = validate(model, node, values)
            policy.findings += more
        if value is None or findings:
            policy.broken.add(shown)
        if isinstance(node, Mapping) and value is not None and not findings:
            into[name] = Document(name, shown, node, value)


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir(), key=lambda path: path.name.encode("utf-8", "surrogateescape"))


def _scanned(folder: Path) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return sorted(entries, key=lambda entry: os.fsencode(entry.name))


def _yaml_files(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        for path in _entries(folder):
            if path.suffix in SUFFIXES:
                yield path
