"""`bump`: the next `rerun`, or `checkpoint.from`, and not one letter else."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from declarations import repository
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.cli import main
from compiler.leaf import with_leaves
from compiler.runs.entries import Entry, Ledger, Moment
from compiler.runs.ledgerfile import dump
from compiler.source import Source, decode

TODAY = "2026-03-01T00:00:00Z"
JOB = """\
# What a person wrote, and why.
image: tts
command: [train]
accelerators: A100-80GB:8   # whole nodes
max_duration: 1d
checkpoint: {claim: checkpoints, path: /ckpt}
"""


def git(root: Path, *words: str) -> str:
    names = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *names, *words], cwd=root, capture_output=True, check=True)
    return done.stdout.decode().strip()


def run_of(number: int, cluster: str = "east", declared: str = JOB, **other: object) -> Entry:
    fields = {
        "number": number,
        "cluster": cluster,
        "name": f"voices-r{number}",
        "state": "ended",
        "reason": "finished",
        "outcome": "succeeded",
        "training": f"t{number}",
        "operation": "o",
        "lineage": number,
        "checkpoint_dir": f"/ckpt/{cluster}/speech/voices/r{number}",
        "declared": declared,
        "started": Moment("2026-01-01T00:00:00+00:00"),
    }
    return Entry(**{**fields, **other})  # type: ignore[arg-type]


class Place:
    """A git repository with one job, and with the ledger of its runs."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = repository(root)
        self.path = self.root / "jobs/speech/voices.yaml"
        self.path.parent.mkdir()
        self.capsys = capsys
        git(self.root, "init", "-q", "-b", "main")

    def declare(self, text: str | bytes) -> None:
        self.path.write_bytes(text.encode() if isinstance(text, str) else text)

    def publish(self, *runs: Entry) -> None:
        """A commit as publish makes one."""
        ledger = self.root / "overlays/ledger/speech/voices.yaml"
        ledger.parent.mkdir(parents=True, exist_ok=True)
        ledger.write_text(dump(Ledger("speech", "voices", runs)), "utf-8")
        git(self.root, "add", ".")
        tree = git(self.root, "write-tree", "--prefix=overlays/ledger")
        message = f"publish\n\nSource: none\nLedger: {tree}\nPrevious-Ledger: none\n"
        git(self.root, "commit", "-q", "-m", message)

    def __call__(self, *words: str) -> int:
        self.capsys.readouterr()
        status = main(["bump", "voices", *words, "--repo", str(self.root), "--at", TODAY])
        self.out, self.err = self.capsys.readouterr()
        return status

    def refused(self, *words: str) -> str:
        before = self.path.read_bytes()
        assert self(*words) == 2
        assert self.path.read_bytes() == before
        return self.err

    @property
    def text(self) -> str:
        return self.path.read_bytes().decode()


@pytest.fixture
def place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Place:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    made = Place(tmp_path / "repository", capsys)
    made.declare(JOB)
    return made


# --- rerun ---------------------------------------------------------------------------------------


def test_bump_adds_the_next_rerun_and_leaves_all_else(place: Place) -> None:
    place.publish(run_of(1))
    assert place() == 0
    assert place.text == JOB + "rerun: 2\n"
    assert "wrote rerun 2 for east" in place.out


def test_bump_raises_the_rerun_that_is_there(place: Place) -> None:
    place.publish(run_of(1))
    place.declare(JOB.replace("command", "rerun: 4 # once more\ncommand"))
    assert place() == 0
    assert place.text == JOB.replace("command", "rerun: 5 # once more\ncommand")


def test_a_rerun_that_was_used_and_reverted_is_not_used_again(place: Place) -> None:
    place.publish(run_of(1), run_of(2, declared=JOB + "rerun: 7\n"))
    assert place() == 0
    assert place.text == JOB + "rerun: 8\n"


def test_the_rerun_of_another_cluster_does_not_count(place: Place) -> None:
    told = JOB + "cluster: [west, east]\nqueue: research\nrerun: {west: 9, east: 2}\n"
    place.publish(run_of(1, declared=told), run_of(2, "west", declared=told))
    place.declare(told)
    assert place("--cluster", "east") == 0
    assert place.text == told.replace("east: 2}", "east: 3}")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "rerun: {east: 2}\n"),
        ("rerun: 3\n", "rerun: {west: 3, east: 4}\n"),
        ("rerun: {west: 5}\n", "rerun: {west: 5, east: 2}\n"),
        ("rerun:\n  west: 5 # here\n", "rerun:\n  west: 5 # here\n  east: 2\n"),
        ("rerun: { west: 5, } # here\n", "rerun: { west: 5, east: 2 } # here\n"),
    ],
)
def test_bump_for_one_cluster_writes_a_map_and_leaves_the_others(
    place: Place, before: str, after: str
) -> None:
    common = JOB + "cluster: [west, east]\nqueue: research\n"
    place.publish(run_of(1), run_of(2, "west"))
    place.declare(common + before)
    assert place("--cluster", "east") == 0
    assert place.text == common + after


def test_bump_without_a_cluster_raises_every_entry_of_a_map(place: Place) -> None:
    common = JOB + "cluster: [west, east]\nqueue: research\n"
    place.publish(run_of(1), run_of(2, "west"))
    place.declare(common + "rerun: {west: 5}\n")
    assert place() == 0
    assert place.text == common + "rerun: {west: 6, east: 6}\n"


def test_dry_run_writes_nothing(place: Place) -> None:
    place.publish(run_of(1))
    assert place("--dry-run") == 0
    assert place.text == JOB
    assert "would write rerun 2" in place.out


def test_a_person_is_told_that_a_run_will_end(place: Place) -> None:
    active = run_of(1, state="active", reason=None, outcome="unknown", listed=True)
    place.publish(active)
    assert place() == 0
    assert "r1 runs on east: publish will end it" in place.err


# --- resume --------------------------------------------------------------------------------------


def test_resume_names_the_last_launched_run(place: Place) -> None:
    withdrawn = run_of(3, reason="withdrawn", outcome="unknown")
    place.publish(run_of(1), run_of(2, outcome="failed"), withdrawn)
    assert place("--resume") == 0
    assert place.text == JOB.replace("/ckpt}", "/ckpt, from: r2}")


def test_resume_by_cluster_keeps_the_others(place: Place) -> None:
    common = JOB.replace("/ckpt}", "/ckpt, from: r1}") + "cluster: [west, east]\nqueue: research\n"
    place.publish(run_of(1), run_of(2), run_of(3, "west"))
    place.declare(common)
    assert place("--resume", "--cluster", "east") == 0
    assert place.text == common.replace("from: r1", "from: {west: r1, east: r2}")


def test_resume_everywhere_writes_each_clusters_own_run(place: Place) -> None:
    common = JOB + "cluster: [west, east]\nqueue: research\n"
    place.publish(run_of(1), run_of(2), run_of(3, "west"))
    place.declare(common)
    assert place("--resume") == 0
    assert place.text == common.replace("/ckpt}", "/ckpt, from: {west: r3, east: r2}}")


def test_resume_leaves_a_cluster_without_runs_at_zero(place: Place) -> None:
    common = JOB + "cluster: [west, east]\nqueue: research\n"
    place.publish(run_of(1))
    place.declare(common)
    assert place("--resume") == 0
    assert place.text == common.replace("/ckpt}", "/ckpt, from: {east: r1}}")


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("runs", "text", "words", "said"),
    [
        ([], JOB, [], "voices has no run on east yet"),
        ([], JOB, ["--resume"], "voices has no run on east to go on from"),
        ([run_of(1, reason="withdrawn")], JOB, ["--resume"], "no run on east to go on from"),
        ([run_of(1)], JOB, ["--cluster", "west"], "does not name the cluster `west`"),
        ([run_of(1)], JOB + "state: stopped\n", [], "voices.yaml:7 says `state: stopped`"),
        ([run_of(1, checkpoint_dir=None)], JOB, ["--resume"], "r1 kept no checkpoints"),
        (
            [run_of(1)],
            JOB.replace("checkpoint: {claim: checkpoints, path: /ckpt}\n", ""),
            ["--resume"],
            "declares no checkpoints",
        ),
        (
            [run_of(1)],
            JOB.replace("/ckpt}", "/ckpt, from: r1}"),
            ["--resume"],
            "goes on from r1 already",
        ),
        ([run_of(1)], "image: [\n", [], "cannot be judged"),
    ],
)
def test_bump_refuses_what_makes_no_sense(
    place: Place, runs: Sequence[Entry], text: str, words: list[str], said: str
) -> None:
    place.publish(*runs)
    place.declare(text)
    assert said in place.refused(*words)


def test_a_value_that_an_alias_repeats_is_left_to_a_person(place: Place) -> None:
    place.publish(run_of(1))
    place.declare(JOB + "rerun: &again 2\nretry: {max: *again}\n")
    assert "write `rerun: 3` by hand" in place.refused()


def test_without_git_there_is_no_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    root = repository(tmp_path / "plain", {"jobs/speech/voices.yaml": JOB})
    assert main(["bump", "voices", "--repo", str(root)]) == 2
    assert "this needs git history" in capsys.readouterr().err


# --- the text ------------------------------------------------------------------------------------


def source_of(text: str) -> Source:
    source, findings = decode("jobs/a.yaml", text.encode())
    assert source is not None, findings
    return source


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: b", "a: b\nc: 2\n"),
        ("a: b # why\n\n# the end\n", "a: b # why\nc: 2\n\n# the end\n"),
        ("a: b\r\nd: e\r\n", "a: b\r\nd: e\r\nc: 2\r\n"),
        ("{a: b}\n", "{a: b, c: 2}\n"),
        ("{\n  a: b, # why\n}\n", "{c: 2, a: b, # why\n}\n"),
        ("a: |\n  text\n\n", "a: |\n  text\nc: 2\n\n"),
        # The empty line belongs to the text of `a`.
        ("a: |+\n  text\n\n", "c: 2\na: |+\n  text\n\n"),
        ("a:\n  - b\n  # more to come\n", "a:\n  - b\nc: 2\n  # more to come\n"),
        ("a: b\nc:\n", "a: b\nc: 2\n"),
        ("a: b\nc: 1\n", "a: b\nc: 2\n"),
        ("---\na: b\n...\n", "---\na: b\nc: 2\n...\n"),
    ],
)
def test_a_value_is_set_and_all_letters_around_it_stay(before: str, after: str) -> None:
    assert with_leaves(source_of(before), [(("c",), "2")]) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a: b\n", "a: b\nx: {y: r1}\n"),
        ("x: {z: w}\n", "x: {z: w, y: r1}\n"),
        ("x: {}\n", "x: {y: r1}\n"),
        ("x:\n    z: w\na: b\n", "x:\n    z: w\n    y: r1\na: b\n"),
        ("x: &k {z: w}\na: b\n", "x: &k {z: w, y: r1}\na: b\n"),
    ],
)
def test_a_value_within_a_mapping_is_set(before: str, after: str) -> None:
    assert with_leaves(source_of(before), [(("x", "y"), "r1")]) == after


@pytest.mark.parametrize(
    "text",
    ["x: &k {z: w}\nother: *k\n", "x: w\n", "x: [z]\n", "x: &k w\nx: v\n", "x: {y: {a: b}}\n"],
)
def test_a_value_that_cannot_be_set_alone_is_not_set(text: str) -> None:
    assert with_leaves(source_of(text), [(("x", "y"), "r1")]) is None


NAMES = st.sampled_from(["a", "b", "x", "'q r'"])
VALUES = st.recursive(
    st.sampled_from(["1", "text#no", "'it''s'", '"#"', "~"]),
    lambda inner: st.dictionaries(NAMES, inner, min_size=1, max_size=3).map(
        lambda entries: "{" + ", ".join(f"{key}: {value}" for key, value in entries.items()) + "}"
    ),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(
    entries=st.dictionaries(NAMES, VALUES, min_size=1, max_size=4),
    notes=st.lists(st.sampled_from(["", " # why", "\n# alone", "\n"]), min_size=4, max_size=4),
)
def test_no_line_but_the_one_of_the_value_changes(
    entries: dict[str, str], notes: list[str]
) -> None:
    lines = [
        f"{key}: {value}{note}" for (key, value), note in zip(entries.items(), notes, strict=False)
    ]
    text = "\n".join(lines) + "\n"
    after = with_leaves(source_of(text), [(("new", "leaf"), "r2")])
    assert after is not None
    was, now = text.splitlines(), after.splitlines()
    now.remove("new: {leaf: r2}")
    assert now == was
