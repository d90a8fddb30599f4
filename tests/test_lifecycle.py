"""docs/lifecycle.md is what happens: its commands run in real git, from the top, in order.

The page is told in a clone of a bare remote that holds the policy, base and images of the example
repository and no job. A `console` block may name the present time after its language; each git
command takes a minute. Names of commits are shown as `<hash>`.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator
from test_documents import ROOT, Block, blocks, commands, ours, put, shortened, told

from compiler.cli import main
from compiler.kustomize import find
from compiler.schemas import schemas

PAGE = ROOT / "docs" / "lifecycle.md"
WHO = {"NAME": "kim", "EMAIL": "kim@example.com"}
# A commit, a digest or a tree, also as git shortens it in what `revert` prints.
HASH = re.compile(r"\b(?=[0-9a-f]*[0-9])(?:[0-9a-f]{40}|[0-9a-f]{12})\b|(?<=\[main )[0-9a-f]{7,}")


class Clone:
    """The clone of the story, and its time."""

    def __init__(self, folder: Path) -> None:
        self.at = datetime(2027, 1, 4, 9, tzinfo=UTC)
        self.root = folder / "clone"
        remote = folder / "remote.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(remote)], check=True)
        self.root.mkdir()
        for part in ("policy", "images", "base"):
            shutil.copytree(ROOT / part, self.root / part, symlinks=True)
        # The waivers of the example repository name jobs that are not here.
        shutil.rmtree(self.root / "policy" / "waivers")
        (self.root / "pyproject.toml").write_text("[tool.compiler]\nexample = true\n", "utf-8")
        (self.root / ".gitignore").write_text(".cache/\n/*.json\n", "utf-8")
        for line in (
            "git init -q -b main",
            f"git remote add origin {remote}",
            "git add -A",
            "git commit -qm Begin",
            "git push -q -u origin main",
            "git remote set-head origin main",
        ):
            self.git(shlex.split(line))

    def git(self, words: list[str]) -> str:
        """What git prints; its commits are of a person and a time that do not change."""
        self.at += timedelta(minutes=1)
        who = {**WHO, "DATE": self.at.isoformat()}
        names = {f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()}
        settings = ["commit.gpgsign=false", "core.autocrlf=false", "advice.detachedHead=false"]
        options = [word for setting in settings for word in ("-c", setting)]
        done = subprocess.run(
            ["git", *options, *words[1:]],
            cwd=self.root,
            env={**os.environ, **names, "GIT_EDITOR": "true"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        assert done.returncode == 0, f"{words}: {done.stdout}"
        return done.stdout


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Clone:
    kustomize = find(ROOT)
    assert kustomize is not None, "make tools"
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    return Clone(tmp_path)


def happens(clone: Clone, block: Block, said: Callable[[], tuple[str, str]]) -> list[list[str]]:
    """Each command of a console block, with what is shown of it and what it prints."""
    _, _, at = block.info.partition(" ")
    if at:
        clone.at = datetime.fromisoformat(at)
    found: list[list[str]] = []
    for command, shown in commands(block.text):
        words = ours(command)
        if words is None:
            words = shlex.split(command)
            assert words[0] == "git", command
            printed = clone.git(words)
        else:
            status = main(["--at", clone.at.isoformat(), *words[1:]])
            out, err = said()
            assert status in (0, 1), err
            printed = out + err
        found.append([command, shown, HASH.sub("<hash>", printed)])
    return found


def test_the_page_shows_what_happens(
    clone: Clone,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    update_golden: bool,
) -> None:
    monkeypatch.chdir(clone.root)
    text = PAGE.read_text("utf-8")
    wrong: list[str] = []
    changes: list[tuple[Block, str]] = []
    for block in blocks(text):
        language, _, rest = block.info.partition(" ")
        if language == "yaml" and block.file is not None:
            put(clone.root, block)
        elif language == "json":
            (clone.root / rest).write_text(block.text, "utf-8")
        elif language == "console":
            new = ""
            for command, shown, printed in happens(clone, block, capsys.readouterr):
                if not told(shown, printed):
                    wrong.append(f"$ {command}\n{printed}")
                    shown = shortened(shown, printed)
                new += f"$ {command}\n{shown}"
            changes.append((block, new))
    assert len(changes) > 10
    made = schemas()
    ledger = yaml.safe_load((clone.root / "overlays/ledger/nlp/tune.yaml").read_text("utf-8"))
    Draft202012Validator(made["ledger"]).validate(ledger)
    assert len(ledger["runs"]) == 7
    seen = json.loads((clone.root / "seen.json").read_text("utf-8"))
    Draft202012Validator(made["archive"]).validate(seen)
    assert len(seen["runs"]) == 1
    if update_golden:
        for block, new in reversed(changes):
            text = text[: block.start] + new + text[block.end :]
        PAGE.write_text(text, "utf-8")
    else:
        assert wrong == []


def test_the_readme_shows_what_the_page_shows() -> None:
    """The README's revert is the page's, shortened."""
    ((command, shown),) = (
        part
        for block in blocks((ROOT / "README.md").read_text("utf-8"))
        if block.info == "text"
        for part in commands(block.text)
    )
    page = [
        part
        for block in blocks(PAGE.read_text("utf-8"))
        if block.info.startswith("console")
        for part in commands(block.text)
    ]
    assert told(shown, dict(page)[command])


def test_the_readme_counts_what_the_page_of_designs_counts() -> None:
    """Its table has the last three columns of that page's, in the same order of rows."""

    def numbers(path: str) -> list[list[str]]:
        text = (ROOT / path).read_text("utf-8")
        rows = [re.findall(r"(?<=\| )[\d,]+(?= \|)", line) for line in text.splitlines()]
        return [row[-3:] for row in rows if len(row) >= 3]

    readme, page = numbers("README.md"), numbers("docs/naive-designs.md")
    assert len(readme) == 5
    assert readme == [*page[:4], page[5]]
    said = (ROOT / "docs/naive-designs.md").read_text("utf-8")
    flagged = re.search(r"`plan` had flagged ([\d,]+) as", said)
    assert flagged is not None
    told = (page[3][0], flagged[1], page[4][0])
    text = " ".join((ROOT / "README.md").read_text("utf-8").split())
    assert f"The ledger alone leaves {told[0]}:" in text
    assert f"flagged {told[1]} of these hours; with `archive` before each publish {told[2]}" in text


def test_the_page_has_every_row_of_the_table() -> None:
    """The rows that the engine decides by are the rows that people can read about."""
    rows = re.findall(r"^\| \*\*([a-z])\*\* \|", PAGE.read_text("utf-8"), re.MULTILINE)
    assert rows == list("abcdefghijklmn")
