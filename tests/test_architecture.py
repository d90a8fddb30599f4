"""Who may import whom, who may touch the disk, and how large a module may grow.

The rooms of the compiler, in order, stand in a table of docs/design.md. Sources are parsed, never
imported: what must not load cannot hide behind what happens to be loaded.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "compiler"
DESIGN = ROOT / "docs" / "design.md"

# What only these modules do, each for the reason in docs/design.md, "Files and programs".
STARTS_PROGRAMS = {
    "kustomize",
    "processes",
    "registry",
    "rehearsal.interpreter",
    "rehearsal.keeper",
    "rehearsal.processes",
    "runs.git",
    "runs.verification",
    "workers",
}
WRITES = {
    "base",
    "buildcache",
    "cachefile",
    "disk",
    "docgen",
    "kustomize",
    "memory",
    "proof",
    "rehearsal.casting",
    "rehearsal.folders",
    "rehearsal.interpreter",
    "rehearsal.keeper",
    "rehearsal.processes",
    "rehearsal.records",
    "replacement",
    "runs.emission",
    "runs.git",
    "runs.publishing",
    "runs.supposition",
    "runs.verification",
    "verbs.new",
    "verbs.schema",
    "writer",
}
READS = {
    "arguments.schemafile",
    "attachments",
    "authorship",
    "base",
    "buildcache",
    "cachefile",
    "cli",
    "data",
    "disk",
    "docgen",
    "formatting",
    "guard",
    "imagefiles",
    "imagesource",
    "kustomization",
    "kustomize",
    "memory",
    "mending",
    "passthrough",
    "policytests",
    "printing",
    "processes",
    "project",
    "quota.remembered",
    "rehearsal.course",
    "rehearsal.watching",
    "report",
    "repository",
    "runs.archive",
    "runs.history",
    "runs.idlestops",
    "selection",
    "starter",
    "walk",
    "writer",
}
HEAVY = {"pydantic", "yaml", "ruamel", "jsonschema", "multiprocessing", "concurrent"}
READ_CALLS = frozenset(
    {
        "open",
        "read_bytes",
        "read_text",
        "iterdir",
        "glob",
        "rglob",
        "is_file",
        "is_dir",
        "exists",
        "is_symlink",
        "stat",
        "lstat",
        "resolve",
        "readlink",
        "cwd",
        "scandir",
        "listdir",
    }
)
WRITE_CALLS = frozenset(
    {
        "write_bytes",
        "write_text",
        "mkdir",
        "makedirs",
        "unlink",
        "rmdir",
        "rename",
        "touch",
        "symlink_to",
        "hardlink_to",
        "chmod",
        "mkstemp",
        "mkdtemp",
        "TemporaryDirectory",
        "NamedTemporaryFile",
        "rmtree",
        "copytree",
        "copyfile",
        "fsync",
    }
)
PROGRAM_MODULES = frozenset({"subprocess", "multiprocessing", "pty"})
NETWORK = frozenset(
    {
        "socket",
        "ssl",
        "http",
        "urllib.request",
        "ftplib",
        "smtplib",
        "requests",
        "httpx",
        "urllib3",
        "aiohttp",
        "kubernetes",
    }
)


class Module:
    """One source file of the compiler, parsed."""

    def __init__(self, path: Path) -> None:
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.path = path
        self.text = path.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)

    def __repr__(self) -> str:
        return self.name or "compiler"

    def imports(self, typing: bool = False, lazy: bool = True) -> Iterator[str]:
        """The full names that are imported; `typing` adds those for the type checker alone.

        Without `lazy` those inside functions are left out.
        """
        pending: list[ast.AST] = [self.tree]
        while pending:
            node = pending.pop()
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                assert not node.level, f"{self}: a relative import hides its room"
                assert node.module is not None
                for alias in node.names:
                    inner = f"{node.module}.{alias.name}"
                    yield inner if inner in full_names() else node.module
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)) and not lazy:
                continue
            elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
                pending += node.orelse + (node.body if typing else [])
            else:
                pending += ast.iter_child_nodes(node)

    def ours(self, typing: bool = False, lazy: bool = True) -> set[str]:
        """The modules of the compiler among them, by their short names."""
        names = {name for name in self.imports(typing, lazy) if name in full_names()}
        return {name.removeprefix("compiler").lstrip(".") for name in names}

    def foreign(self) -> set[str]:
        """All others."""
        return {name for name in self.imports() if name not in full_names()}

    def calls(self) -> set[str]:
        """The names of all methods that are called, and of the functions that Python brings."""
        called = [node.func for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        methods = {part.attr for part in called if isinstance(part, ast.Attribute)}
        return methods | {
            part.id for part in called if isinstance(part, ast.Name) and hasattr(builtins, part.id)
        }


@cache
def files() -> tuple[Path, ...]:
    return tuple(sorted(PACKAGE.rglob("*.py")))


@cache
def full_names() -> frozenset[str]:
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files()]
    return frozenset(name.removesuffix(".__init__") for name in names)


@cache
def modules() -> dict[str, Module]:
    return {module.name: module for module in map(Module, files())}


@cache
def rooms() -> dict[str, int]:
    """The room of each module by its place in the table of docs/design.md."""
    found: dict[str, int] = {}
    section = DESIGN.read_text(encoding="utf-8").partition("## Rooms\n")[2].partition("\n## ")[0]
    rows = [line.split("|") for line in section.splitlines() if line.startswith("| **")]
    assert len(rows) > 5, "docs/design.md has no table of rooms"
    named = [re.findall(r"`([a-z_./*]+)`", row[2]) for row in rows]
    # A module that is named by itself is not meant by the package around it.
    own = {name.replace("/", ".") for names in named for name in names if "*" not in name}
    for rank, names in enumerate(named):
        for name in names:
            for module in matching(name):
                if "*" in name and module in own:
                    continue
                assert module not in found, f"{module} is in two rooms"
                found[module] = rank
    return found


def matching(name: str) -> list[str]:
    """The modules of an entry of the table: one, or with `x/*` a package and all in it."""
    if not name.endswith("/*"):
        return [name.replace("/", ".")]
    package = name.removesuffix("/*").replace("/", ".")
    return [module for module in modules() if f"{module}.".startswith(f"{package}.")]


def inside(package: str) -> list[Module]:
    return [module for name, module in modules().items() if name.startswith(f"{package}.")]


def test_the_table_of_rooms_names_every_module_and_no_other() -> None:
    known, named = set(modules()) - {""}, set(rooms())
    assert known - named == set(), "give these a room in docs/design.md"
    assert named - known == set(), "these are gone; take them out of docs/design.md"


def test_imports_go_from_later_rooms_to_earlier_ones() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, module in modules().items()
        for other in sorted(module.ours() - {""})
        # Rules, back ends, reporters and verbs are found by a walk, which needs their package.
        if rooms()[other] > rooms()[name] and (name, other) != ("rules", "checks")
    ]
    assert wrong == []


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = {
        name: {other for other in module.ours() if (name, other) != ("rules", "checks")}
        for name, module in modules().items()
    }
    while leaves := [name for name, others in graph.items() if not others & graph.keys()]:
        for name in leaves:
            del graph[name]
    assert graph == {}


@pytest.mark.parametrize("bottom", ["nodes", "diagnostics"])
def test_the_bottom_knows_no_stage(bottom: str) -> None:
    assert modules()[bottom].ours() <= {"diagnostics", "refusals"}


def test_a_check_sees_runs_and_policy_and_nothing_that_reads_or_writes() -> None:
    banned = {"project", "check", "repository", "writer", "build", "overlay", "base", "kustomize"}
    banned |= {"kustomization", "tree", "validation", "effective", "layers", "lowering", "cli"}
    for module in inside("checks"):
        assert not module.ours() & banned, module
        assert not any(name.startswith(("verbs", "reporters")) for name in module.ours()), module
        assert not module.foreign() & (HEAVY | {"os", "sys", "pathlib", "tempfile"}), module


def test_a_check_knows_no_other_check() -> None:
    assert [m for m in inside("checks") if any(o.startswith("checks") for o in m.ours(True))] == []


def test_a_back_end_knows_neither_checks_nor_declarations() -> None:
    for name in ("podtemplate", *(module.name for module in inside("backends"))):
        known = modules()[name].ours(typing=True)
        assert not known & {"rules", "diagnostics", "declaration", "effective", "layers", "tree"}, (
            name
        )
        assert not any(other.startswith(("checks", "policy")) for other in known), name


def test_the_neutral_model_knows_neither_yaml_nor_kubernetes() -> None:
    assert modules()["model"].ours(typing=True) == {"diagnostics", "nodes", "quantity"}
    words = {
        node.value
        for node in ast.walk(modules()["model"].tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value
    }
    assert not words & {"spec", "containers", "PyTorchJob", "Job", "nvidia.com/gpu", "Master"}


def test_a_reporter_sees_only_the_report() -> None:
    allowed = {"", "diagnostics", "jsontext", "report", "rules", "snippet", "source", "terminal"}
    for module in inside("reporters"):
        assert module.ours(typing=True) <= allowed, module
        assert not module.foreign() & {"os", "sys", "pathlib"}, module


def test_only_some_modules_start_programs() -> None:
    starting = {n for n, m in modules().items() if m.foreign() & PROGRAM_MODULES}
    starting |= {
        n for n, m in modules().items() if {"system", "popen", "execv", "fork"} & m.calls()
    }
    assert starting - STARTS_PROGRAMS == set()


def test_only_some_modules_write_files() -> None:
    writing = {name for name, module in modules().items() if module.calls() & WRITE_CALLS}
    assert writing - WRITES == set()


def test_only_some_modules_look_at_files() -> None:
    reading = {
        name
        for name, module in modules().items()
        if module.calls() & READ_CALLS and not name.startswith("verbs.")
    }
    assert reading - READS - WRITES == set()


def test_only_some_modules_use_the_operating_system() -> None:
    using = {n for n, m in modules().items() if m.foreign() & {"os", "shutil", "tempfile", "fcntl"}}
    assert using - READS - WRITES - STARTS_PROGRAMS == {"__main__", "terminal"}


def test_the_lists_of_those_who_may_are_no_longer_than_needed() -> None:
    existing = set(modules())
    assert existing >= STARTS_PROGRAMS | WRITES | READS
    for name in READS | WRITES | STARTS_PROGRAMS:
        module = modules()[name]
        used = module.calls() & (READ_CALLS | WRITE_CALLS | {"fork"})
        assert used or module.foreign() & PROGRAM_MODULES, name


def test_nothing_talks_to_a_network_and_nothing_trains() -> None:
    for name, module in modules().items():
        if name == "rehearsal.ports":
            continue
        tops = {other.partition(".")[0] for other in module.foreign()} | module.foreign()
        assert not tops & (NETWORK | {"torch", "numpy"}), name


def test_nothing_runs_text_as_code() -> None:
    banned = {"eval", "exec", "compile", "__import__", "loads_pickle", "full_load", "unsafe_load"}
    for name, module in modules().items():
        called = {
            node.func.id
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        assert not called & banned, name
        assert not module.foreign() & {"pickle", "marshal", "shelve"}, name


def test_every_yaml_library_has_its_own_room() -> None:
    users: dict[str, set[str]] = {"ruamel": set(), "yaml": set()}
    for name, module in modules().items():
        for other in module.foreign():
            if (top := other.partition(".")[0]) in users:
                users[top].add(name)
    assert users["ruamel"] == {"formatting", "lockfile"}
    assert users["yaml"] <= {"tree", "layout", "syntax", "manifests", "repository"}


def test_help_loads_nothing_heavy() -> None:
    """What `--help` imports: the command line, and the top of every verb."""
    pending = ["cli", *(module.name for module in inside("verbs"))]
    seen: set[str] = set()
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        module = modules()[name]
        tops = {other.partition(".")[0] for other in module.imports(lazy=False)}
        assert not tops & HEAVY, f"{name} is loaded for --help"
        pending += module.ours(lazy=False)
    assert "cli" in seen
    assert len(seen) < 30, f"--help loads {sorted(seen)}"


@pytest.mark.parametrize("path", files(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_is_short_and_says_what_it_is(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    docstring = ast.get_docstring(ast.parse(text))
    assert docstring
    assert docstring.splitlines()[0].endswith((".", ":"))


def test_a_module_is_named_by_a_noun_of_its_own() -> None:
    banned = {"utils", "util", "helpers", "common", "manager", "misc", "tools", "core", "lib"}
    assert [name for name in modules() if set(name.split(".")) & banned] == []
