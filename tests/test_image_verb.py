"""`image status` and `image pin`, what an image was built from, and runs of older images."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from declarations import ROOT, checked, job, only, repository

from compiler.cli import main
from compiler.imagesource import git_of, source_hash
from compiler.lockfile import pinned
from compiler.registry import complaint

A, B = (f"sha256:{letter * 64}" for letter in "ab")


def git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words],
        cwd=root, check=True, capture_output=True, text=True,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the example repository under git."""
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    made = repository(tmp_path / "repository", {"jobs/example.yaml": job()})
    (made / "images/llm-sft/train.py").write_text("print(1)\n")
    git(made, "init", "--quiet")
    git(made, "add", "--all")
    git(made, "commit", "--quiet", "-m", "all")
    return made


def run(root: Path, *words: str) -> int:
    return main(["--repo", str(root), "image", *words])


def asks(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, name: str = "crane") -> Path:
    """Only one program is on the way to programs: git, and what asks a registry."""
    folder.mkdir()
    for there in ("git", "sh"):
        found = next(p for d in os.get_exec_path() if (p := Path(d, there)).exists())
        (folder / there).symlink_to(found.resolve())
    program = folder / name
    program.write_text(f'#!/bin/sh\necho "$@" >"{folder}/asked"\n{script}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return folder / "asked"


def test_pinning_a_folder_says_what_it_was_built_from(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = (root / "images/lock.yaml").read_text()
    assert run(root, "pin", "llm-sft", "--digest", A) == 0
    after = (root / "images/lock.yaml").read_text()
    gone = set(before.splitlines()) - set(after.splitlines())
    assert gone == {f"    digest: sha256:{'e001' * 16}"}
    entry = after.partition("  llm-sft:\n")[2].partition("  ddp-mini:\n")[0]
    assert "example: true" not in entry
    assert f"digest: {A}" in entry
    assert f"commit: {git(root, 'rev-parse', 'HEAD')}" in entry
    capsys.readouterr()
    assert run(root, "status", "--check") == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert lines["llm-sft"] == "current"
    assert lines["tts"] == "example: no such image exists"
    assert checked(root) == []


@pytest.mark.parametrize("path", ["images/llm-sft/train.py", "images/runtime/src/new.py"])
def test_a_run_of_an_older_image_is_told(
    root: Path, path: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run(root, "pin", "llm-sft", "--digest", A)
    assert main(["--repo", str(root), "check"]) == 0
    assert "stale-image" not in capsys.readouterr().out
    (root / path).write_text("print(2)\n")
    git(root, "add", "--all")
    # Also the check that remembers the one of before.
    assert main(["--repo", str(root), "check"]) == 0
    assert "stale-image" in capsys.readouterr().out
    item = only("stale-image", checked(root))
    assert (item.place.path, item.place.line) == ("jobs/example.yaml", 2)
    assert item.related[0].place.path == "images/lock.yaml"
    assert run(root, "status", "--check") == 1
    assert "older than images/llm-sft/: built from that of commit" in capsys.readouterr().out


@pytest.mark.parametrize(
    "path",
    ["images/llm-sft/image.yaml", "images/llm-sft/tests/test_x.py", "images/llm-sft/README.md",
     "images/llm-sft/args.schema.json", "images/ddp-mini/train.py", "jobs/example.yaml"],
)  # fmt: skip
def test_what_is_not_in_an_image_does_not_make_it_old(root: Path, path: str) -> None:
    before = source_hash(root, "llm-sft", git_of(root))
    (root / path).parent.mkdir(exist_ok=True)
    with (root / path).open("a") as file:
        file.write("\n# more\n")
    git(root, "add", "--all")
    assert source_hash(root, "llm-sft", git_of(root)) == before


def test_the_hash_is_of_what_git_tracks_and_the_same_without_git(root: Path) -> None:
    before = source_hash(root, "llm-sft", git_of(root))
    assert before == source_hash(root, "llm-sft", None)
    (root / "images/llm-sft/scratch.txt").write_text("x")
    assert source_hash(root, "llm-sft", git_of(root)) == before
    (root / "images/llm-sft/train.py").chmod(0o755)
    assert source_hash(root, "llm-sft", git_of(root)) != before
    assert source_hash(root, "nowhere", git_of(root)) is None


def test_what_no_commit_holds_is_not_pinned(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (root / "images/llm-sft/train.py").write_text("print(2)\n")
    before = (root / "images/lock.yaml").read_bytes()
    assert run(root, "pin", "llm-sft", "--digest", A) == 2
    assert "commit them first" in capsys.readouterr().err
    assert (root / "images/lock.yaml").read_bytes() == before


def test_a_reference_is_asked_for_and_gets_a_name(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asks(tmp_path / "bin", monkeypatch, f"echo {B}")
    assert run(root, "pin", "registry.example.com/other/whisper:3") == 0
    assert asked.read_text().split() == ["digest", "registry.example.com/other/whisper:3"]
    text = (root / "images/lock.yaml").read_text()
    wanted = f"  whisper:\n    reference: registry.example.com/other/whisper:3\n    digest: {B}\n"
    assert text.endswith(wanted)
    # A newer tag of what is there keeps its name, and what is said of it besides.
    assert run(root, "pin", "registry.example.com/training/tts:3.0.0") == 0
    text = (root / "images/lock.yaml").read_text()
    assert (
        f"  tts:\n    reference: registry.example.com/training/tts:3.0.0\n    digest: {B}\n" in text
    )
    assert checked(root) == []


def test_a_reference_with_a_digest_asks_nobody(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = asks(tmp_path / "bin", monkeypatch, "exit 1")
    assert run(root, "pin", f"registry.example.com/other/whisper:3@{A}", "--name", "ear") == 0
    assert not asked.exists()
    assert (
        f"  ear:\n    reference: registry.example.com/other/whisper:3\n    digest: {A}\n"
        in (root / "images/lock.yaml").read_text()
    )


@pytest.mark.parametrize(
    ("name", "script", "words"),
    [
        ("crane", "echo MANIFEST_UNKNOWN >&2; exit 1", "crane: MANIFEST_UNKNOWN"),
        ("skopeo", "echo unauthorized >&2; exit 1", "skopeo: unauthorized"),
        ("docker", "echo latest", "docker: latest"),
        ("podman", "", "no program here can ask a registry"),
    ],
)
def test_a_registry_that_gives_no_digest_changes_nothing(
    name: str,
    script: str,
    words: str,
    root: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asks(tmp_path / "bin", monkeypatch, script, name)
    before = (root / "images/lock.yaml").read_bytes()
    assert run(root, "pin", "tts") != 0
    said = capsys.readouterr().err
    assert words in said
    assert "--digest sha256:" in said
    assert (root / "images/lock.yaml").read_bytes() == before


@pytest.mark.parametrize(
    "words",
    [["pin"], ["pin", "https://example.com/a:1"], ["pin", "tts", "--digest", "sha256:1"],
     ["pin", "tts", "--reference", "--digest=x", "--digest", A], ["drop"],
     ["pin", "registry.example.com/Other/X_Y:1", "--digest", A]],
)  # fmt: skip
def test_what_cannot_be_pinned_is_refused(
    root: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    before = (root / "images/lock.yaml").read_bytes()
    assert run(root, *words) == 2
    assert "\n  help: " in capsys.readouterr().err
    assert (root / "images/lock.yaml").read_bytes() == before


def test_pinning_keeps_every_other_byte() -> None:
    text = (ROOT / "images/lock.yaml").read_text("utf-8")
    assert pinned(text, "tts", {"example": "true"}).replace("'true'", "true") == text
    assert pinned("", "a", {"digest": A}) == f"images:\n  a:\n    digest: {A}\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "docker: unknown command: docker buildx\n\nRun 'docker --help' for more information\n",
            "unknown command: docker buildx",
        ),
        (
            "docker: 'buildx' is not a docker command.\nSee 'docker --help'\n",
            "'buildx' is not a docker command.",
        ),
        ("a warning\nERROR: no such manifest\n", "ERROR: no such manifest"),
        ("See 'docker --help'\n", "See 'docker --help'"),
        ("\n", ""),
    ],
)
def test_what_a_program_complains_of_is_not_its_advice(text: str, said: str) -> None:
    assert complaint(text, "docker") == said
