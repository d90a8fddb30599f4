"""The control plane that all tests here share, and what is kept of it when one fails."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from xdist.scheduler import LoadScopeScheduling
from xdist.workermanage import WorkerController

from controlplane.binaries import STARTED, version
from controlplane.byhand import ByHand
from controlplane.fakenodes import FakeNodes
from controlplane.processes import tail
from controlplane.stack import Stack
from controlplane.syncers.fixtures import SYNCERS, following, syncer, team

__all__ = ["following", "syncer", "team"]

SESSIONS = Path(__file__).resolve().parents[2] / ".cache" / "e2e"
# Of sessions that failed, the newest are kept.
KEPT = 5

FOLDER = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--scale",
        action="store_true",
        help="run the tests marked `scale` too, which take minutes",
    )
    parser.addoption(
        "--record",
        metavar="FILE",
        help="write which versions were started, and how often what became of a test, as JSON",
    )


def pytest_configure(config: pytest.Config) -> None:
    name = f"{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
    given = getattr(config, "workerinput", {}).get("folder")
    config.stash[FOLDER] = Path(given) if given else SESSIONS / name
    config.addinivalue_line("markers", "scale: takes minutes; left out without --scale")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: WorkerController) -> None:
    """Give each process a folder in that of the session."""
    folder = node.config.stash[FOLDER] / node.gateway.id
    node.workerinput["folder"] = str(folder)


class BySyncer(LoadScopeScheduling):
    """Tests with one syncer share a process and so a control plane, and all others do."""

    def _split_scope(self, nodeid: str) -> str:
        words = re.split(r"[][-]", nodeid.rpartition("::")[2])
        return next((name for name in SYNCERS if name in words), "others")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process what belongs together."""
    return BySyncer(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # They take the platform's objects away again, which those of other tests would keep in use.
    items.sort(key=lambda item: item.path.name != "test_stack.py")
    if not config.getoption("--scale"):
        for item in items:
            if item.get_closest_marker("scale"):
                item.add_marker(pytest.mark.skip(reason="takes minutes: --scale runs it"))


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Keep the logs of a session in which something failed, and nothing of any other."""
    if hasattr(session.config, "workerinput"):
        return
    folder = session.config.stash[FOLDER]
    if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        shutil.rmtree(folder, ignore_errors=True)
        return
    for database in folder.glob("**/etcd"):
        shutil.rmtree(database, ignore_errors=True)
    over = [each for each in sorted(SESSIONS.glob("*")) if not _runs(each)]
    for old in over[:-KEPT]:
        shutil.rmtree(old, ignore_errors=True)


def _runs(folder: Path) -> bool:
    """Whether the session of a folder, whose name ends with its process id, still runs."""
    try:
        os.kill(int(folder.name.rpartition("-")[2]), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        return True
    return True


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if file := config.getoption("--record"):
        Path(file).write_text(json.dumps(_recorded(terminalreporter.stats)), "utf-8")
    folder = config.stash[FOLDER]
    logs = sorted(folder.glob("**/*.log"))
    if logs:
        terminalreporter.section("the ends of the servers' logs")
    for log in logs:
        terminalreporter.write_line(f"--- {os.path.relpath(log)}")
        terminalreporter.write_line(tail(log, 8))


def _recorded(stats: dict[str, list[Any]]) -> dict[str, Any]:
    """The versions, and by file of tests how many passed, failed and were left out."""
    outcomes = {"passed": "passed", "failed": "failed", "error": "failed", "skipped": "skipped"}
    files: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, outcome in outcomes.items():
        for report in stats.get(name, ()):
            files[Path(report.nodeid.partition("::")[0]).name][outcome] += 1
    versions = {name: version(name) for name in (*STARTED, "kustomize")}
    return {"versions": versions, "files": files}


@pytest.fixture(scope="session")
def session_folder(request: pytest.FixtureRequest) -> Path:
    """Where the servers of this session write; kept, without databases, when a test fails."""
    folder: Path = request.config.stash[FOLDER]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def stack(session_folder: Path) -> Iterator[Stack]:
    """The control plane of this session, with the operator and Kueue; nothing runs Pods."""
    with Stack(session_folder / "stack") as started:
        yield started


@pytest.fixture
def namespace(stack: Stack) -> Iterator[str]:
    """A new namespace with its default ServiceAccount; deleted afterwards with all in it."""
    name = f"test-{uuid.uuid4().hex[:8]}"
    stack.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    stack.api.until(lambda: stack.api.get("v1/ServiceAccount", "default", name))
    yield name
    stack.api.delete("v1/Namespace", name)


@pytest.fixture
def cluster(stack: Stack, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[ByHand]:
    """A cluster with one of the two kinds of admission, to which people apply what is published."""
    made = ByHand(stack, tmp_path, request.param)
    yield made
    made.stop()


@pytest.fixture
def kwok(stack: Stack, session_folder: Path) -> Iterator[FakeNodes]:
    """Nodes that pretend to run Pods, made on demand; gone after the test."""
    with FakeNodes(stack, session_folder / "kwok") as nodes:
        yield nodes
