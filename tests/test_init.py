"""`init`: a new configuration repository that checks clean and builds, offline."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

import compiler
from compiler.cli import main
from compiler.formatting import formatted
from compiler.source import decode
from compiler.starter import HOSTS, files

ROOT = Path(__file__).resolve().parents[1]
START = ROOT / "compiler/data/init"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "jobs"


def written(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git/" not in path.as_posix()
    }


@pytest.mark.parametrize("host", HOSTS)
def test_a_new_repository_checks_clean_and_strictly(
    folder: Path, host: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", str(folder), "--host", host]) == 0
    assert main(["check", "--strict", "--repo", str(folder)]) == 0
    assert "no findings in 6 files (1 job)" in capsys.readouterr().out
    assert main(["schema", "--check", "--repo", str(folder)]) == 0


def test_its_files_are_laid_out_as_fmt_lays_them_out() -> None:
    for path in sorted(START.rglob("*.yaml")):
        if path.relative_to(START).parts[0] in ("jobs", "policy", "images"):
            source, _ = decode(path.name, path.read_bytes())
            assert source is not None
            assert formatted(source) == path.read_text("utf-8"), path


@pytest.mark.kustomize
def test_its_job_is_built(folder: Path, tmp_path: Path) -> None:
    assert main(["init", str(folder)]) == 0
    assert main(["build", "-o", str(tmp_path / "out"), "--repo", str(folder)]) == 0
    assert list((tmp_path / "out").rglob("hello/r1/kustomization.yaml"))


def test_a_first_declaration_can_be_made_from_it(folder: Path) -> None:
    assert main(["init", str(folder)]) == 0
    assert main(["new", "research/mine", "--repo", str(folder)]) == 0
    assert main(["check", "--repo", str(folder)]) == 0


def test_its_image_is_marked_as_made_up_and_the_repository_as_real(folder: Path) -> None:
    assert main(["init", str(folder)]) == 0
    settings = tomllib.loads((folder / "pyproject.toml").read_text("utf-8"))
    assert settings["tool"]["compiler"].get("example") is None
    lock = yaml.safe_load((folder / "images/lock.yaml").read_text("utf-8"))
    assert all(entry["example"] is True for entry in lock["images"].values())


def test_github_gets_the_workflows_of_this_repository_and_gitlab_its_pipeline() -> None:
    github, gitlab = files("github", "runwright==1"), files("gitlab", "runwright==1")
    for name in ("archive", "check", "plan", "plan-comment", "publish"):
        path = f".github/workflows/{name}.yml"
        assert github[path] == (ROOT / path).read_bytes()
    assert not [name for name in github if "gitlab" in name]
    assert not [name for name in gitlab if "github" in name]
    (included,) = yaml.safe_load(gitlab[".gitlab-ci.yml"])["include"]
    assert included["local"] in gitlab


@pytest.mark.parametrize("host", HOSTS)
def test_every_script_that_a_pipeline_calls_is_there(host: str) -> None:
    made = files(host, "runwright==1")
    text = b"\n".join(made[name] for name in made if name.endswith(".yml")).decode()
    called = set(re.findall(r"\bci/[a-z/]+\.sh", text))
    assert len(called) >= 4
    assert called <= set(made)
    # The one workflow that is about this repository's own code stays here.
    assert ".github/workflows/test.yml" not in made


def test_the_compiler_is_pinned_as_the_owner_wishes(folder: Path, tmp_path: Path) -> None:
    assert main(["init", str(folder)]) == 0
    text = (folder / "requirements.txt").read_text("utf-8")
    assert f"\nrunwright=={compiler.__version__}\n" in text
    wish = "runwright @ git+https://example.com/r.git@0123abc"
    assert main(["init", str(tmp_path / "other"), "--compiler", wish]) == 0
    assert f"\n{wish}\n" in (tmp_path / "other/requirements.txt").read_text("utf-8")


@pytest.mark.parametrize("wish", ["", " ", "a\nb"])
def test_a_requirement_is_one_line(folder: Path, wish: str) -> None:
    assert main(["init", str(folder), "--compiler", wish]) == 2
    assert not folder.exists()


def test_a_folder_with_something_in_it_is_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder.mkdir()
    (folder / "notes").write_text("mine", "utf-8")
    assert main(["init", str(folder)]) == 2
    assert "is not empty: it has notes" in capsys.readouterr().err
    assert written(folder) == {"notes": b"mine"}
    assert main(["init", str(folder / "notes")]) == 2
    assert "is no folder" in capsys.readouterr().err


def test_a_clone_of_an_empty_repository_is_taken(folder: Path) -> None:
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    assert main(["init", str(folder)]) == 0
    assert (folder / "jobs/research/hello.yaml").is_file()


def test_the_same_files_every_time(folder: Path, tmp_path: Path) -> None:
    assert main(["init", str(folder)]) == 0
    assert main(["init", str(tmp_path / "again")]) == 0
    assert (
        written(folder)
        == written(tmp_path / "again")
        == files("github", f"runwright=={compiler.__version__}")
    )


def test_it_names_nothing_of_where_it_was_made() -> None:
    for name, content in files("github", "runwright==1").items():
        assert str(ROOT).encode() not in content, name
        assert b"@COMPILER@" not in content, name


@pytest.mark.slow
def test_the_installed_package_makes_the_same_repository(tmp_path: Path) -> None:
    wheels = tmp_path / "wheels"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(wheels)]
    subprocess.run(build, cwd=ROOT, capture_output=True, check=True)
    (wheel,) = wheels.glob("runwright-*.whl")
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    # A fresh interpreter with this environment's packages, and the wheel instead of the checkout.
    packages = next(path for path in sys.path if path.endswith("site-packages"))
    code = (
        f"import sys; sys.path[:0] = [{str(site)!r}]; sys.path.append({packages!r});"
        "from compiler.cli import main; import compiler;"
        f"assert compiler.__file__.startswith({str(site)!r});"
        f"sys.exit(main(['init', {str(tmp_path / 'made')!r}]))"
    )
    subprocess.run([sys.executable, "-S", "-c", code], cwd=tmp_path, check=True)
    assert written(tmp_path / "made") == files("github", f"runwright=={compiler.__version__}")


@pytest.mark.parametrize(
    ("below", "said"),
    [("file/new", "is no folder"), ("/proc/new", "takes no new folders"), ("n" * 300, "too long")],
)
def test_a_place_where_there_can_be_no_folder_is_told_in_a_line(
    below: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["init", str(tmp_path / below)]) in (1, 2)
    (first, *_) = capsys.readouterr().err.splitlines()
    assert said in first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file"]


def test_a_name_that_is_too_long_for_a_folder_of_build_is_told_in_a_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    into = tmp_path / ("n" * 300)
    assert main(["init", str(tmp_path / "new")]) == 0
    capsys.readouterr()
    assert main(["--repo", str(tmp_path / "new"), "build", "-o", str(into)]) == 2
    assert "cannot be written" in capsys.readouterr().err
