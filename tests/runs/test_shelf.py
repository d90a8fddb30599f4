"""What publish commits wrote is read once, and says the same as reading all of it again."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from company import Company, job, without_proof

from compiler.runs import shelf
from compiler.runs.books import Books, read_books
from compiler.runs.entries import Ledger
from compiler.runs.git import Git
from compiler.runs.ledgerfile import parse
from compiler.runs.past import Past
from compiler.runs.union import union


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    without_proof(monkeypatch)
    return Company(tmp_path)


def lived(company: Company, seed: int, steps: int = 14) -> list[str]:
    """A history with edits, removals, texts that look like ledgers, ends and reverts."""
    chance = random.Random(seed)
    texts = ["", "# runs:\n#   - number: 7\n", "#\tx\n", "# é\n"]
    tips: list[str] = []
    for step in range(steps):
        name = chance.choice("abc")
        path = f"jobs/nlp/{name}.yaml"
        there = (company.root / path).exists()
        what = chance.randrange(6)
        if what == 0 and there:
            company.write(path, None)
        elif what == 1 and tips:
            company.git("revert", "--no-edit", "HEAD")
        else:
            company.write(path, chance.choice(texts) + job(args=f"[--lr, {chance.randrange(4)}]"))
        company.merge(f"Step {step}")
        seen = company.seen(**{f"{name}_r1": "succeeded"}) if what == 2 else None
        company.publish(observations=(seen,) if seen is not None else ())
        tips.append(company.git("rev-parse", "HEAD"))
    return tips


def plainly(git: Git, books: Books) -> dict[tuple[str, str], Ledger]:
    """The union of every version of every ledger, each read as a whole."""
    every: dict[tuple[str, str], list[Ledger]] = {}
    for made in books.commits:
        for path, (_, blob) in git.files(made.commit, "overlays/ledger").items():
            ledger, findings = parse(path, git.blobs([blob])[blob])
            assert ledger is not None
            assert findings == []
            every.setdefault((ledger.team, ledger.job), []).append(ledger)
    return {key: union(ledgers) for key, ledgers in sorted(every.items())}


@pytest.mark.parametrize("seed", range(3))
def test_whatever_is_remembered_the_ledgers_are_the_same(company: Company, seed: int) -> None:
    tips = lived(company, seed)
    git, cache = Git(company.root), company.folder / "other"
    # In any order: the cache may know of more, or of less, than is asked about.
    for tip in random.Random(seed).sample(tips, len(tips)):
        books = read_books(git, tip, cache=cache)
        assert books.ledgers == read_books(git, tip).ledgers == plainly(git, books)
        assert books.ledgers == read_books(git, tip, cache=cache).ledgers


def test_what_is_known_is_not_read_again(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    lived(company, 5, 6)
    git, cache = Git(company.root), company.folder / "other"
    read_books(git, "HEAD", cache=cache)
    asked: list[tuple[str, ...]] = []
    real = Git.attempt

    def attempt(self: Git, *words: str, **more: Any) -> Any:
        asked.append(words)
        return real(self, *words, **more)

    def again(path: str, data: bytes) -> Any:
        raise AssertionError(f"{path} is read again")

    monkeypatch.setattr(Git, "attempt", attempt)
    monkeypatch.setattr(shelf, "parse", again)
    assert read_books(git, "HEAD", cache=cache).ledgers
    assert not [words for words in asked if words[0] == "diff-tree" or words[1:] == ("--batch",)]


@pytest.mark.parametrize("how", ["cut", "changed", "another compiler's", "unwritable"])
def test_a_broken_cache_is_worked_without(company: Company, how: str) -> None:
    lived(company, 7, 5)
    git, cache = Git(company.root), company.folder / "other"
    expected = read_books(git, "HEAD", cache=cache).ledgers
    (file,) = cache.glob("published-*.json")
    data = file.read_bytes()
    if how == "cut":
        file.write_bytes(data[: len(data) // 2])
    elif how == "changed":
        file.write_bytes(data.replace(b'"active"', b'"ended!"'))
    elif how == "another compiler's":
        file.write_bytes(data.replace(b'"format":"1 ', b'"format":"0 '))
    else:
        file.unlink()
        file.mkdir()
    assert read_books(git, "HEAD", cache=cache).ledgers == expected


def test_a_folder_is_found_as_the_newest_commit_that_has_it_left_it(company: Company) -> None:
    lived(company, 11)
    git = Git(company.root)
    books = read_books(git, "HEAD")
    commits = [made.commit for made in books.commits]
    trees = [git.files(commit, "overlays") for commit in commits]
    past = Past(git, commits, books.touched)
    folders = {path.rpartition("/")[0] for tree in trees for path in tree}
    folders |= {"overlays/west/nlp", "overlays/west/nlp/a", "overlays/nowhere", "overlays/west/n"}
    assert len(folders) > 12
    for folder in sorted(folders):
        expected = next(
            (
                found
                for tree in trees
                if (found := {p: b for p, (_, b) in tree.items() if p.startswith(f"{folder}/")})
            ),
            None,
        )
        found = past(folder)
        if expected is None:
            assert found is None
        else:
            contents = git.blobs(expected.values())
            assert found == {path: contents[blob] for path, blob in expected.items()}
