"""What makes a check quick, as facts that hold on every machine: no time is measured here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pytest

from benchmarks.generate import write
from compiler import repository as repository_module
from compiler.check import check, check_again
from compiler.memory import Checked
from compiler.project import Project
from compiler.repository import Repository

ROOT = Path(__file__).resolve().parents[1]
AT = datetime(2026, 12, 1, tzinfo=UTC)
# What the compiler does while it runs, told by the interpreter itself.
WATCHED = """
import json, os, sys
events = []
root = sys.argv[2]
def watch(event, arguments):
    if event == "open" and isinstance(arguments[0], (str, bytes)):
        events.append(["open", os.path.relpath(os.fsdecode(arguments[0]), root)])
    elif event in ("subprocess.Popen", "os.fork", "os.exec", "os.posix_spawn", "os.system"):
        events.append(["program", event])
sys.addaudithook(watch)
from compiler.cli import main
status = main(["--repo", root, "--at", "2026-12-01T00:00:00Z", *sys.argv[3:]])
with open(sys.argv[1], "w") as file:
    json.dump({"status": status, "events": events, "modules": sorted(sys.modules)}, file)
"""


def watched(root: Path, *words: str, **environment: str) -> dict[str, Any]:
    """What one run of the command line did: its status, files, programs, modules and output."""
    report = root.parent / "report.json"
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, str(report), str(root), *words],
        cwd=ROOT,
        env={**os.environ, "COMPILER_CACHE": str(root / ".cache"), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    seen: dict[str, Any] = json.loads(report.read_text())
    seen["output"] = done.stdout
    seen["read"] = Counter(path for kind, path in seen["events"] if kind == "open")
    seen["programs"] = [what for kind, what in seen["events"] if kind == "program"]
    return seen


def tops(modules: list[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


def authored(read: Counter[str], *folders: str) -> dict[str, int]:
    return {path: count for path, count in read.items() if Path(path).parts[0] in folders}


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Thirty declarations, none of them with a `pod:`, which needs the pod schema."""
    monkeypatch.delenv("COMPILER_CACHE", raising=False)
    root = tmp_path / "repository"
    for path in write(root, 30):
        if "\npod:" in path.read_text():
            path.unlink()
    return root


@contextmanager
def counted() -> Iterator[list[str]]:
    """The declarations that are judged within the block."""
    judged: list[str] = []
    judge = Project.judge

    def count(self: Project, path: Path, *more: Any) -> Any:
        judged.append(path.stem)
        return judge(self, path, *more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Project, "judge", count)
        yield judged


def again(root: Path) -> tuple[Checked, list[str]]:
    """A check by memory, and what it judged."""
    with counted() as judged:
        return check_again(Repository(root), AT), judged


def files(root: Path) -> list[Path]:
    return sorted((root / "jobs").rglob("*.yaml"))


def test_help_loads_no_models_and_no_yaml(repository: Path) -> None:
    seen = watched(repository, "--help")
    assert not tops(seen["modules"]) & {
        "pydantic",
        "yaml",
        "ruamel",
        "jsonschema",
        "multiprocessing",
    }


def test_check_loads_no_training_no_cluster_and_no_schema_library(repository: Path) -> None:
    seen = watched(repository, "check")
    assert "compiler.declaration" in seen["modules"]
    assert not tops(seen["modules"]) & {"torch", "kubernetes", "jsonschema", "ruamel", "numpy"}


def test_check_makes_no_objects_and_so_no_overlays(repository: Path) -> None:
    project = Project(Repository(repository), at=AT)
    made = [run for path in files(repository) for run in project.judge(path).runs]
    assert made
    assert not any("objects" in vars(run) for run in made)


def test_check_starts_no_program(repository: Path) -> None:
    assert watched(repository, "check")["programs"] == []
    assert watched(repository, "check")["programs"] == []


def test_every_authored_file_is_read_once(repository: Path) -> None:
    changed = files(repository)[3]
    for turn in ("cold", "nothing changed", "one file changed"):
        if turn == "one file changed":
            changed.write_text(changed.read_text() + "# more\n")
        read = authored(watched(repository, "check")["read"], "jobs", "policy", "images")
        assert len([path for path in read if path.startswith("jobs")]) == len(files(repository))
        assert any(path.startswith("policy") for path in read)
        assert {path: count for path, count in read.items() if count != 1} == {}, turn


def test_a_check_with_nothing_changed_loads_neither_models_nor_rules(repository: Path) -> None:
    first = watched(repository, "check")
    second = watched(repository, "check")
    assert second["output"] == first["output"]
    assert not tops(second["modules"]) & {"pydantic", "yaml"}
    assert not [name for name in second["modules"] if name.startswith("compiler.checks.")]


def test_a_check_judges_what_has_changed_and_nothing_else(repository: Path) -> None:
    cold, judged = again(repository)
    assert len(judged) == len(files(repository)) > 20
    assert again(repository) == (cold, [])
    changed = files(repository)[5]
    changed.write_text(changed.read_text() + "colour: blue\n")
    broken, judged = again(repository)
    assert judged == [changed.stem]
    assert [(item.rule, item.place.path) for item in broken.findings] == [
        ("unknown-key", changed.relative_to(repository).as_posix())
    ]
    assert again(repository) == (broken, [])


def test_a_file_that_comes_or_goes_is_noticed(repository: Path) -> None:
    cold, _ = again(repository)
    gone = files(repository)[0]
    text = gone.read_text()
    gone.unlink()
    assert len(again(repository)[0].jobs) == len(cold.jobs) - 1
    gone.write_text(text)
    assert again(repository) == (cold, [gone.stem])


@pytest.mark.parametrize(
    "name", ["policy/teams/nlp.yaml", "images/lock.yaml", "base/job/job.yaml", "policy/rules.yaml"]
)
def test_what_declarations_rest_on_judges_them_all_anew(repository: Path, name: str) -> None:
    again(repository)
    path = repository / name
    path.write_text(path.read_text() + "# more\n")
    assert len(again(repository)[1]) == len(files(repository))


def test_another_day_and_another_cluster_are_other_checks(repository: Path) -> None:
    again(repository)
    with counted() as judged:
        check_again(Repository(repository), AT.replace(day=2))
    assert len(judged) == len(files(repository))
    with counted() as judged:
        check_again(Repository(repository), AT.replace(day=2), "east")
    assert len(judged) == len(files(repository))


def test_a_mounted_file_is_a_part_of_its_job(repository: Path) -> None:
    job = repository / "jobs" / "vision" / "mounting.yaml"
    job.write_text(
        "image: ddp-mini\ncluster: west\naccelerators: A100-80GB:1\nqueue: research\n"
        "max_duration: 1h\nfiles: {/etc/a.txt: configs/a.txt}\n"
    )
    assert "missing-file" in {item.rule for item in again(repository)[0].findings}
    assert again(repository)[1] == []
    mounted = repository / "configs" / "a.txt"
    mounted.write_text("one\n")
    found, judged = again(repository)
    assert (found.findings, judged) == ([], ["mounting"])
    mounted.write_text("two\n")
    assert again(repository)[1] == ["mounting"]
    mounted.unlink()
    found, judged = again(repository)
    assert ([item.rule for item in found.findings], judged) == (["missing-file"], ["mounting"])


@pytest.mark.parametrize(
    "content", [b"", b"\xff", b"{", b"[]", b"null", b'{"context": 1}', b'{"jobs": 3}']
)
def test_a_broken_memory_is_a_check_from_the_start(repository: Path, content: bytes) -> None:
    cold, _ = again(repository)
    memory = Repository(repository).cache / "check.json"
    memory.write_bytes(content)
    assert again(repository)[0] == cold


def test_rows_of_another_form_are_judged_anew(repository: Path) -> None:
    cold, _ = again(repository)
    memory = Repository(repository).cache / "check.json"
    stored = json.loads(memory.read_text())
    for number, name in enumerate(stored["jobs"]):
        stored["jobs"][name] = [stored["jobs"][name][:1], [], 3, {}][number % 4]
    memory.write_text(json.dumps(stored))
    again_, judged = again(repository)
    assert again_ == cold
    assert len(judged) == len(files(repository))


def test_a_cache_that_cannot_be_written_is_done_without(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold, _ = again(repository)
    (repository / "file").write_text("")
    monkeypatch.setenv("COMPILER_CACHE", str(repository / "file" / "cache"))
    assert again(repository)[0] == cold
    assert len(again(repository)[1]) == len(files(repository))


def faulty(root: Path, count: int) -> None:
    """Many declarations, every seventh with a mistake of its own kind."""
    faults = ("colour: blue\n", "queue: [\n", "team: nobody\n", "priority: urgent\n", "\tx: 1\n")
    for number, path in enumerate(write(root, count, seed=7)):
        if number % 7 == 0:
            text = "".join(
                line
                for line in path.read_text().splitlines(keepends=True)
                if not line.startswith(("queue:", "priority:"))
            )
            path.write_text(text + faults[number // 7 % len(faults)])


def test_results_are_the_same_for_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repository"
    faulty(root, 150)
    results: list[Checked] = []
    for processes in (1, 2, 3):
        monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / f"cache-{processes}"))
        results.append(check(Project(Repository(root), at=AT), processes=processes))
    assert len({item.rule for item in results[0].findings}) >= 4
    assert results[1] == results[0]
    assert results[2] == results[0]


def test_output_is_the_same_for_any_order_of_hashes_and_folders(tmp_path: Path) -> None:
    outputs: set[str] = set()
    for turn, seed in enumerate(("0", "1", "20")):
        root = tmp_path / str(turn) / "repository"
        root.parent.mkdir()
        faulty(root, 40)
        if turn:
            # The same files, made in another order.
            texts = {path: path.read_text() for path in files(root)}
            for path in texts:
                path.unlink()
            for path in sorted(texts, key=lambda path: path.name[::-1], reverse=turn == 1):
                path.write_text(texts[path])
        seen = watched(root, "check", "--format", "json", PYTHONHASHSEED=seed, LC_ALL="C")
        assert seen["status"] == 1
        outputs.add(seen["output"])
    assert len(outputs) == 1


def test_the_order_in_which_a_folder_is_listed_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repository"
    faulty(root, 40)
    expected = check(Project(Repository(root), at=AT), processes=1)
    scandir = os.scandir

    class Backwards:
        def __init__(self, path: Any) -> None:
            with scandir(path) as entries:
                self.entries = sorted(entries, key=lambda entry: entry.name, reverse=True)

        def __iter__(self) -> Self:
            return self

        def __next__(self) -> os.DirEntry[str]:
            if not self.entries:
                raise StopIteration
            return self.entries.pop(0)

        def __enter__(self) -> Self:
            return self

        def close(self) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            pass

    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "other"))
    monkeypatch.setattr(repository_module.os, "scandir", Backwards)
    assert check(Project(Repository(root), at=AT), processes=1) == expected


def test_generated_repositories_are_clean_and_the_same_for_a_seed(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write(tmp_path / name, 120, seed=3)
    one, other = ({p.name: p.read_text() for p in files(tmp_path / n)} for n in ("one", "other"))
    assert one == other
    assert check(Project(Repository(tmp_path / "one"), at=AT)).findings == []
    write(tmp_path / "third", 120, seed=4)
    assert {p.name: p.read_text() for p in files(tmp_path / "third")} != one
