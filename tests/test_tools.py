"""`make tools` and `make setup`: what they fetch, check, skip and say."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tools_{name}", ROOT / "tools" / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The installer on a Linux machine with an empty cache, without Go, kustomize or network."""
    module = load("install")
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KUSTOMIZE", raising=False)
    monkeypatch.setattr(module.platform, "system", lambda: "Linux")
    monkeypatch.setattr(module.platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(module, "RELEASE", (tmp_path / "{version}.tar.gz").as_uri())
    monkeypatch.setattr(sys, "path", list(sys.path))
    # The addresses of files have their braces escaped.
    monkeypatch.setattr(module, "RELEASE", module.RELEASE.replace("%7B", "{").replace("%7D", "}"))
    return module


def release(folder: Path, version: str, script: str) -> str:
    """Write a release archive; returns its digest."""
    with tarfile.open(folder / f"{version}.tar.gz", "w:gz") as archive:
        member = tarfile.TarInfo("kustomize")
        member.size = len(script)
        archive.addfile(member, io.BytesIO(script.encode()))
    return hashlib.sha256((folder / f"{version}.tar.gz").read_bytes()).hexdigest()


def test_a_release_with_the_pinned_digest_is_installed(
    install: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = install.pinned("kustomize")
    digest = release(tmp_path, version, "#!/bin/sh\necho v5.8.1\n")
    monkeypatch.setitem(install.DIGESTS, (version, "linux", "amd64"), digest)
    assert install.install("kustomize", if_missing=False)
    at = install.target("kustomize")
    assert at == tmp_path / f"cache/tools/kustomize-{version[1:]}/kustomize"
    assert at.stat().st_mode & 0o777 == 0o755
    assert list(at.parent.iterdir()) == [at]
    assert install.usable() == "kustomize 5.8.1"


def test_a_release_with_another_digest_is_thrown_away(
    install: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release(tmp_path, install.pinned("kustomize"), "#!/bin/sh\necho v5.8.1\n")
    assert not install.install("kustomize", if_missing=False)
    assert not install.target("kustomize").exists()
    said = capsys.readouterr().err
    assert "is not what was pinned" in said
    assert "install Go, or kustomize 5.4 or newer, or kubectl 1.31 or newer" in said


def test_without_network_and_go_a_kubectl_serves(
    install: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho Kustomize Version: v5.4.2\n")
    kubectl.chmod(0o755)
    assert install.install("kustomize", if_missing=False)
    assert "kubectl's kustomize 5.4.2 serves" in capsys.readouterr().err


def test_if_missing_fetches_nothing_where_one_serves(
    install: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(install, "download", lambda _: pytest.fail("asked for a download"))
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho Kustomize Version: v5.4.2\n")
    kubectl.chmod(0o755)
    assert install.install("kustomize", if_missing=True)


def test_what_is_there_is_left_alone(install: ModuleType) -> None:
    at = install.target("kustomize")
    at.parent.mkdir(parents=True)
    at.write_text("mine")
    assert install.install("kustomize", if_missing=False)
    assert at.read_text() == "mine"


def test_a_build_that_fails_leaves_nothing(
    install: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    go = tmp_path / "go"
    go.write_text("#!/bin/sh\nexit 1\n")
    go.chmod(0o755)
    assert not install.install("kustomize", if_missing=False)
    assert not install.target("kustomize").parent.exists()
    assert "the build of kustomize" in capsys.readouterr().err


def test_what_only_tests_use_is_left_out_without_go(
    install: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install.install("actionlint", if_missing=False)
    assert "what needs actionlint is left out" in capsys.readouterr().err


def test_every_digest_belongs_to_the_pinned_version() -> None:
    install = load("install")
    version = install.pinned("kustomize")
    assert {v for v, _, _ in install.DIGESTS} == {version}
    assert {(s, m) for _, s, m in install.DIGESTS} == {
        (system, machine) for system in ("linux", "darwin") for machine in ("amd64", "arm64")
    }
    assert all(len(bytes.fromhex(digest)) == 32 for digest in install.DIGESTS.values())


def test_setup_is_done_again_only_when_its_inputs_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup = load("setup")
    lock = tmp_path / "dev.lock"
    lock.write_text("a==1\n")
    done: list[tuple[str, ...]] = []
    monkeypatch.setattr(setup, "LOCK", lock)
    monkeypatch.setattr(setup, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(setup, "PYTHON", Path(sys.executable))
    monkeypatch.setattr(setup, "pip", lambda *arguments: done.append(arguments))

    assert setup.main() == 0
    assert done[0] == ("--require-hashes", "-r", str(lock))
    assert setup.main() == 0
    assert len(done) == 2

    lock.write_text("a==2\n")
    assert setup.main() == 0
    assert len(done) == 4


def test_setup_tells_an_old_python_what_to_do(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    setup = load("setup")
    monkeypatch.setattr(setup.sys, "version_info", (3, 9, 2, "final", 0))
    assert setup.main() == 1
    assert "Python 3.11 or newer is needed" in capsys.readouterr().err


def test_setup_without_ensurepip_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    setup = load("setup")
    monkeypatch.setattr(setup, "STAMP", tmp_path / "stamp")
    monkeypatch.setattr(setup, "PYTHON", tmp_path / "missing")
    monkeypatch.setitem(sys.modules, "ensurepip", None)
    assert setup.main() == 1
    said = capsys.readouterr().err
    assert "ensurepip module is missing" in said
    assert "python3-venv" in said
