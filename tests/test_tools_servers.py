"""`make e2e-tools`: how the servers of a control plane are pinned, built and fetched."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest
from test_tools import ROOT, install, load

__all__ = ["install"]

KUBERNETES = {
    "GoDebug": [{"Key": "default", "Value": "go1.24"}],
    "Replace": [
        {"Old": {"Path": "k8s.io/api"}, "New": {"Path": "./staging/src/k8s.io/api"}},
        {"Old": {"Path": "gopkg.in/a.v3"}, "New": {"Path": "gopkg.in/a.v3", "Version": "v3.0.1"}},
    ],
}


@pytest.fixture
def debian() -> ModuleType:
    return load("debian")


def program(folder: Path, name: str, script: str) -> Path:
    at = folder / name
    at.write_text(f"#!/bin/sh\n{script}\n")
    at.chmod(0o755)
    return at


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("tool", sorted(load("install").TOOLS))
def test_every_tool_has_its_version_its_package_and_its_digests_pinned(tool: str) -> None:
    install = load("install")
    folder = ROOT / "tools" / install.TOOLS[tool].part
    pinned = (folder / "go.mod").read_text().replace("tool ", "").split()
    digests = (folder / "go.sum").read_text()
    version = install.pinned(tool)
    assert re.fullmatch(r"v\d+\.\d+\.\d+", version)
    assert install.TOOLS[tool].package in pinned
    assert f"\n{install.TOOLS[tool].module} {version} h1:" in digests
    assert f"/{re.sub('-(oldest|newest)$', '', tool)}-{version[1:]}/" in str(install.target(tool))


def test_the_servers_of_kubernetes_know_their_version() -> None:
    install = load("install")
    major, minor, _ = install.pinned("kube-apiserver").removeprefix("v").split(".")
    for server in ("kube-apiserver", "kube-controller-manager"):
        assert f"version.gitVersion={install.pinned(server)} " in install.flags(server)
        assert f"version.gitMajor={major} " in install.flags(server)
        assert install.flags(server).endswith(f"version.gitMinor={minor}")


def test_the_modules_of_kubernetes_are_all_of_one_version() -> None:
    pinned = (ROOT / "tools/kubernetes/go.mod").read_text()
    version = load("install").pinned("kube-apiserver").replace("v1.", "v0.")
    replaced = re.findall(r"^\t(?:k8s.io/[a-z-]+) => k8s.io/[a-z-]+ (\S+)$", pinned, re.MULTILINE)
    assert len(replaced) > 25
    assert set(replaced) == {version}


def test_replacements_are_repeated_but_not_those_by_a_folder() -> None:
    modules = load("modules")
    assert modules.repeated(KUBERNETES, "v1.34.4") == (
        "godebug (\n\tdefault=go1.24\n)\n\n"
        "replace (\n"
        "\tk8s.io/api => k8s.io/api v0.34.4\n"
        "\tgopkg.in/a.v3 => gopkg.in/a.v3 v3.0.1\n"
        ")\n\n"
    )
    beside = {"Replace": [{"Old": {"Path": "a/api"}, "New": {"Path": "./api"}}], "GoDebug": None}
    assert modules.repeated(beside, "v1.2.3") == ""
    assert modules.repeated({"Replace": None}, "v1.2.3") == ""


def test_a_server_without_go_fails_and_names_the_version_of_go(
    install: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not install.install("etcd", if_missing=False)
    said = capsys.readouterr().err
    needed = re.search(r"^go (\d+\.\d+)", (ROOT / "tools/etcd/go.mod").read_text(), re.MULTILINE)
    assert needed
    assert f"there is no Go to build etcd {install.pinned('etcd')} with; {needed[1]} or" in said
    assert "left out" not in said


def test_a_build_tells_how_far_it_is_and_shows_errors_only(
    install: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}:/usr/bin:/bin")
    monkeypatch.setattr(install, "PAUSE", -1)
    lines = ["go: downloading a.b/c v1.0.0", "a.b/c", "d/e-f_g", "# d/e", "d/e.go:1:2: bad"]
    program(tmp_path, "go", "".join(f"echo '{line}' >&2\n" for line in lines) + "exit 1")
    assert not install.build("etcd", install.target("etcd"))
    said = capsys.readouterr().err
    assert "etcd: 2 packages compiled" in said
    assert "# d/e\n" in said
    assert "d/e.go:1:2: bad\n" in said
    assert "a.b/c" not in said


def test_a_built_server_is_put_at_its_place_and_not_built_again(
    install: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("SAW", str(tmp_path / "saw"))
    script = 'echo "$CGO_ENABLED $@" >> "$SAW"; while [ "$1" != -o ]; do shift; done; echo x > "$2"'
    program(tmp_path, "go", script)
    assert install.install("kueue", if_missing=False)
    assert install.install("kueue", if_missing=False)
    at = install.target("kueue")
    assert at.read_text() == "x\n"
    assert at.stat().st_mode & 0o777 == 0o755
    assert list(at.parent.iterdir()) == [at]
    saw = (tmp_path / "saw").read_text().splitlines()
    assert len(saw) == 1
    assert saw[0].startswith("0 build ")
    assert saw[0].endswith(" sigs.k8s.io/kueue/cmd/kueue")


def test_an_interrupted_build_leaves_nothing(tmp_path: Path) -> None:
    program(tmp_path, "go", f"echo $$ > {tmp_path}/pid\nexec sleep 60")
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {
        "PATH": f"{tmp_path}:/usr/bin:/bin",
        "COMPILER_CACHE": str(tmp_path / "cache"),
        "TMPDIR": str(scratch),
    }
    command = [sys.executable, ROOT / "tools/install.py", "etcd", "kwok"]
    with subprocess.Popen(
        command, env=environment, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        while not ((tmp_path / "pid").exists() and (tmp_path / "pid").read_text().endswith("\n")):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)  # As a terminal does: all of its group have it.
        _, said = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "interrupted; what is built stays" in said
    assert "Traceback" not in said
    assert not list(scratch.iterdir())
    assert not (tmp_path / "cache").exists()
    builder = int((tmp_path / "pid").read_text())
    for _ in range(1000):
        if not alive(builder):
            break
        time.sleep(0.01)
    assert not alive(builder)


def test_a_program_that_cannot_be_put_at_its_place_leaves_no_half(
    install: ModuleType, tmp_path: Path
) -> None:
    at = tmp_path / "tools" / "etcd"
    (at / "occupied").mkdir(parents=True)
    with pytest.raises(OSError):
        install.place(b"x", at)
    assert list(at.parent.iterdir()) == [at]


def test_the_control_plane_is_all_that_its_tests_ask_for() -> None:
    control_plane = set(load("install").GROUPS["control-plane"])
    asked: set[str] = set()
    for path in (ROOT / "tests/controlplane").rglob("*.py"):
        asked |= set(re.findall(r'\bfind\("([a-z-]+)"\)', path.read_text(encoding="utf-8")))
    assert asked - {"kustomize"} <= control_plane


def test_debians_packages_are_read_from_what_apt_would_do(debian: ModuleType) -> None:
    plan = (
        "Reading package lists...\n"
        "Inst liblzf1 (3.6-3 Debian:12.15/oldstable [amd64])\n"
        "Inst redis-tools [5:6.0-1] (5:7.0.15-1~deb12u10 Debian-Security:12 [amd64]) []\n"
        "Conf liblzf1 (3.6-3 Debian:12.15/oldstable [amd64])\n"
    )
    assert debian.wanted(plan) == {"liblzf1": "3.6-3", "redis-tools": "5:7.0.15-1~deb12u10"}


def test_the_machines_own_redis_is_used(
    debian: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = program(tmp_path, "redis-server", "exit 0")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert debian.find(tmp_path / "tools") == own
    assert debian.install(tmp_path / "tools")
    assert not (tmp_path / "tools").exists()


def test_without_redis_and_apt_the_message_says_what_to_install(
    debian: ModuleType,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not debian.install(tmp_path / "tools")
    assert "install Redis 6 or newer" in capsys.readouterr().err


@pytest.mark.skipif(not shutil.which("dpkg-deb"), reason="no dpkg-deb here")
def test_redis_is_unpacked_with_its_libraries_and_started(
    debian: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, apt, cache = tmp_path / "package", tmp_path / "bin", tmp_path / "cache"
    for folder in ("DEBIAN", "usr/bin", "usr/lib/x86_64-linux-gnu"):
        (package / folder).mkdir(parents=True)
    control = "Package: redis-server\nVersion: 5:7.0-1\nArchitecture: all\n"
    (package / "DEBIAN/control").write_text(control + "Maintainer: a <a@b>\nDescription: d\n")
    program(package / "usr/bin", "redis-server", 'echo "$LD_LIBRARY_PATH $*"')
    subprocess.run(["dpkg-deb", "--build", package, tmp_path / "r.deb"], check=True)
    apt.mkdir()
    script = (
        'case "$*" in *--simulate*) echo "Inst redis-server (5:7.0-1 Debian [amd64])";; '
        f'*"download redis-server=5:7.0-1") cp {tmp_path}/r.deb .;; *) exit 1;; esac'
    )
    program(apt, "apt-get", script)
    (apt / "dpkg-deb").symlink_to(str(shutil.which("dpkg-deb")))
    monkeypatch.setenv("PATH", f"{apt}:/usr/bin:/bin")
    monkeypatch.setattr(debian.shutil, "which", lambda name: None if "redis" in name else name)
    assert debian.install(cache)
    found = debian.find(cache)
    assert found == cache / "redis-server-5-7.0-1/redis-server"
    done = subprocess.run([found, "--port", "1"], capture_output=True, text=True, check=True)
    assert done.stdout == f"{found.parent}/usr/lib/x86_64-linux-gnu --port 1\n"
    assert [path.name for path in cache.iterdir()] == ["redis-server-5-7.0-1"]


def test_what_a_module_needs_is_json_that_go_prints() -> None:
    """`repeated` reads what this machine's Go prints of the go.mod that is pinned here."""
    if not shutil.which("go"):
        pytest.skip("no Go here")
    command = ["go", "mod", "edit", "-json", str(ROOT / "tools/kubernetes/go.mod")]
    printed = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    lines = load("modules").repeated(printed, "v1.34.4").split("\n")
    assert lines[:2] == ["godebug (", f"\tdefault={printed['GoDebug'][0]['Value']}"]
    assert f"\tk8s.io/api => k8s.io/api {printed['Replace'][0]['New']['Version']}" in lines
