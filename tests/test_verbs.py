"""The verbs on a copy of the example repository: what they print, write, and return."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.cli import main
from compiler.formatting import formatted
from compiler.nodes import Scalar, walk
from compiler.source import Source, decode
from compiler.tree import read

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("jobs", "policy", "images", "base", "configs", "schemas")
TODAY = "2026-03-01T00:00:00Z"


class Console:
    """Runs the program on a repository, and keeps what it said."""

    def __init__(self, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.root = root
        self.capsys = capsys
        self.out = self.err = ""

    def __call__(self, *words: str) -> int:
        self.capsys.readouterr()
        status = main([*words, "--repo", str(self.root), "--at", TODAY, "--color", "never"])
        self.out, self.err = self.capsys.readouterr()
        assert status != 3, self.err
        return status

    def write(self, name: str, text: str | bytes) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    def text(self, name: str) -> str:
        return (self.root / name).read_bytes().decode()

    def change(self, name: str, old: str, new: str) -> None:
        text = self.text(name)
        assert text.count(old) == 1, f"{old!r} is {text.count(old)} times in {name}"
        self.write(name, text.replace(old, new))


@pytest.fixture
def console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Console:
    """A copy of the example repository, and a program to run on it."""
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    root = tmp_path / "repository"
    root.mkdir()
    for part in PARTS:
        shutil.copytree(ROOT / part, root / part)
    (root / "pyproject.toml").write_text("[tool.compiler]\nexample = true\n", "utf-8")
    monkeypatch.chdir(root)
    return Console(root, capsys)


JOB = """\
team: nlp
image: llm-sft
accelerators: H100:8
queue: research
max_duration: 24h
checkpoint: {claim: checkpoints, path: /ckpt}
"""


# --- fmt -----------------------------------------------------------------------------------------


def laid_out(text: str) -> str | None:
    source, findings = decode("jobs/a.yaml", text.encode())
    assert source is not None, findings
    return formatted(source)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("env:\n    A: b\n    C: d\n", "env:\n  A: b\n  C: d\n"),
        ("args:\n- a\n- b\n", "args:\n  - a\n  - b\n"),
        ("args:\n-   a\n-   b: c\n    d: e\n", "args:\n  - a\n  - b: c\n    d: e\n"),
        ("a:   b\n\n\nc: d\n", "a: b\n\n\nc: d\n"),
        ("a: b\r\nc: d\r\n", "a: b\nc: d\n"),
        ("a: b\n\n\n\n", "a: b\n"),
        ("a: b", "a: b\n"),
        ("\ufeffa: b\n", "a: b\n"),
        ("---\na: b\n", "---\na: b\n"),
        ("a: 'b'\nc: \"d\"\n'e': f\n", "a: 'b'\nc: \"d\"\n'e': f\n"),
        ("a: |\n     x\n       y\n", "a: |\n  x\n    y\n"),
        ("a: {b: c,   d: [e,f]}\n", "a: {b: c, d: [e, f]}\n"),
        ("args:\n# one\n- a\n# two\n- b\n", "args:\n  # one\n  - a\n  # two\n  - b\n"),
        ("env:\n    A: b\n    # C: d\nx: y\n", "env:\n  A: b\n  # C: d\nx: y\n"),
        ("env:\n    A: b\n# about x\nx: y\n", "env:\n  A: b\n# about x\nx: y\n"),
        (
            "s:\n- name: a\n  # about image\n  image: b\n  # more to come\n- name: c\n",
            "s:\n  - name: a\n    # about image\n    image: b\n    # more to come\n  - name: c\n",
        ),
        ("a: b   \n#   \nc: d\n", "a: b\n#\nc: d\n"),
        ("a: [b,\n  c]\n", "a: [b, c]\n"),
        (
            f"a: [{'b' * 50}, {'c' * 30},\n  {'d' * 30}, e]  # why\nf: g\n",
            f"a: [{'b' * 50}, {'c' * 30},\n    {'d' * 30}, e]  # why\nf: g\n",
        ),
        (
            f"a:\n- k: {{{'b' * 50}: c, d: [e, {'f' * 50}]}}\n",
            f"a:\n  - k: {{{'b' * 50}: c,\n        d: [e, {'f' * 50}]}}\n",
        ),
        # One word stays whole, and so does text with spaces.
        (f"a: [{'b' * 120}]\n", f"a: [{'b' * 120}]\n"),
        (f"a: {'b ' * 80}c\n", f"a: {'b ' * 80}c\n"),
    ],
)
def test_fmt_lays_out(before: str, after: str) -> None:
    assert laid_out(before) == after
    assert laid_out(after) == after


@pytest.mark.parametrize(
    "value",
    [
        "1e-5",
        "1.50",
        "010",
        "08",
        "0o17",
        "1_000",
        "0x1F",
        "+1",
        ".inf",
        "12:30:00",
        "2024-01-01",
        "on",
        "yes",
        "True",
        "~",
        "null",
        "NO",
        "=",
    ],
)
def test_fmt_keeps_the_letters_of_values_that_readers_make_something_of(value: str) -> None:
    text = f"a: {value}\nb: [{value}]\n{value}: c\n"
    assert laid_out(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "args: [a, # inside brackets\n  b]\n",
        "a:\n  - |  # behind the mark of a block\n    text\n",
        "a: &x b\nc: *x # behind an alias\n",
        "a: b\n...\n# after the end\n",
    ],
)
def test_fmt_leaves_a_file_alone_whose_comments_would_be_lost(text: str) -> None:
    assert laid_out(text) is None


@pytest.mark.parametrize(
    "text",
    ["a: b\na: c\n", "a: [\n", "a: !x b\n", "", "# only this\n", "- a\n", "a: b\n---\nc: d\n"],
)
def test_fmt_leaves_a_file_alone_that_cannot_be_read(text: str) -> None:
    assert laid_out(text) is None


def test_fmt_keeps_space_at_the_end_of_a_line_of_text() -> None:
    text = "a: |\n  # a line of the text \n  \n  b\nc:   d\n"
    assert laid_out(text) == "a: |\n  # a line of the text \n\n  b\nc: d\n"


COMMENTED = st.lists(
    st.sampled_from(
        [
            *("a: 1", "b:", "  c: x # n", "    d: y", "  - e", "- f", "  g: |", "    text # no"),
            *("  # one", "# two", "      # three", "", "h: [i, j]  # k", "l: 'm # n'", "  - o: p"),
            *('    q: "r"', "s: >", "  t", "u: v#w", "x: &y z", "aa: *y"),
        ]
    ),
    max_size=14,
).map("\n".join)


@settings(max_examples=200, deadline=None, derandomize=True)
@given(COMMENTED)
def test_fmt_changes_neither_meaning_nor_comments_and_does_so_once(text: str) -> None:
    after = laid_out(text)
    if after is None:
        return

    def said(content: str) -> list[Any]:
        root = read(Source("a", content, ""))[0]
        assert root is not None
        return [(r, str(n), n.plain) for r, n in walk(root) if isinstance(n, Scalar)]

    def notes(content: str) -> list[str]:
        return [word for word in re.split(r"[\s]+", content) if word in ("one", "two", "three")]

    assert said(after) == said(text)
    assert notes(after) == notes(text)
    assert laid_out(after) in (after, None)


def test_fmt_writes_the_files_that_are_named_and_no_others(console: Console) -> None:
    console.write("jobs/one.yaml", "team:   nlp\n")
    console.write("jobs/two.yaml", "team:   nlp\n")
    assert console("fmt", "jobs/one.yaml") == 0
    assert console.out == "jobs/one.yaml: laid out anew\n"
    assert console.text("jobs/one.yaml") == "team: nlp\n"
    assert console.text("jobs/two.yaml") == "team:   nlp\n"
    assert console("fmt") == 0
    assert console.out == "jobs/two.yaml: laid out anew\n"
    assert console("fmt") == 0
    assert (console.out, console.err) == ("", "")


def test_fmt_check_writes_nothing_and_fails(console: Console) -> None:
    console.write("policy/teams/new.yaml", "namespace:  x\n")
    assert console("fmt", "--check") == 1
    assert console.out == "policy/teams/new.yaml: would be laid out anew\n"
    assert console.text("policy/teams/new.yaml") == "namespace:  x\n"


def test_fmt_says_why_it_leaves_a_file_alone(console: Console) -> None:
    console.write("jobs/broken.yaml", "team: [\n")
    console.write("jobs/bytes.yaml", b"team: \xff\n")
    console.write("jobs/noted.yaml", "args: [a, # note\n  b]\n")
    assert console("fmt") == 1
    assert console.out == ""
    assert "jobs/broken.yaml: left as it is; it cannot be read; run `check`" in console.err
    assert "jobs/bytes.yaml: left as it is; it cannot be read; run `check`" in console.err
    assert "jobs/noted.yaml: left as it is; a comment or a text would change" in console.err
    assert console.text("jobs/noted.yaml") == "args: [a, # note\n  b]\n"
    # A comment in brackets is nobody's mistake.
    assert console("fmt", "jobs/noted.yaml") == 0


FOLDERS = ("base", "compiler", "configs", "images", "jobs", "overlays", "policy", "tests")
AUTHORED = [
    path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.yaml"))
    if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
]


@pytest.mark.parametrize("folder", FOLDERS)
def test_fmt_would_change_no_file_of_this_repository(folder: str) -> None:
    changed: list[str] = []
    for path in AUTHORED:
        shown = path.relative_to(ROOT).as_posix()
        source, _ = decode(shown, path.read_bytes())
        text = formatted(source) if source is not None and shown.startswith(f"{folder}/") else None
        if source is not None and text not in (None, source.text):
            changed.append(shown)
    assert changed == []


def test_fmt_leaves_no_file_of_this_repository_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--repo", str(ROOT), "fmt", "--check"]) == 0
    assert capsys.readouterr() == ("", "")


def test_fmt_keeps_mode_and_link(console: Console) -> None:
    file = console.write("jobs/nlp/real.yaml", "team:   nlp\n")
    file.chmod(0o640)
    link = console.root / "jobs" / "link.yaml"
    link.symlink_to("nlp/real.yaml")
    assert console("fmt", "jobs/link.yaml") == 0
    assert link.is_symlink()
    assert console.text("jobs/nlp/real.yaml") == "team: nlp\n"
    assert file.stat().st_mode & 0o777 == 0o640


def test_fmt_does_not_write_through_a_link_out_of_the_repository(console: Console) -> None:
    outside = console.root.parent / "outside.yaml"
    outside.write_text("namespace:   x\n", "utf-8")
    (console.root / "policy/teams/out.yaml").symlink_to(outside)
    (console.root / "jobs/out.yaml").symlink_to(outside)
    assert console("fmt") == 0
    assert outside.read_text("utf-8") == "namespace:   x\n"


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("jobs/nothing.yaml", "there is no file or folder jobs/nothing.yaml"),
        ("x" * 5000, "there is no file or folder xxx"),
        ("base/job/job.yaml", "base/job/job.yaml is no declaration and no policy file"),
        ("..", ".. is outside the repository"),
    ],
)
@pytest.mark.parametrize("verb", ["fmt", "fix"])
def test_files_that_are_not_there_are_wrong_use(
    console: Console, verb: str, word: str, said: str
) -> None:
    assert console(verb, word) == 2
    assert said in console.err
    assert console.out == ""


# --- fix -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ('num_nodes: "2"  # two', "num_nodes: 2  # two"),
        ("num_nodes: '2'", "num_nodes: 2"),
        ("num_nodes: 2.0", "num_nodes: 2"),
        ("retry: {max: 1_0}", "retry: {max: 10}"),
        ("host_network: yes # let it", "host_network: true # let it"),
        ("host_network: True", "host_network: true"),
        ("host_network: Off", "host_network: false"),
        ('host_network: "false"', "host_network: false"),
        ("stop: {grace: 0:10:00}  # ten", "stop: {grace: 10m}  # ten"),
        ("stop: {grace: 1-00:00:00}", "stop: {grace: 24h}"),
        ("master:\n  accelerators: {H100: 8}", "master:\n  accelerators: H100:8"),
        (
            "mounts:\n  /data: {claim: datasets, read_only: yes}",
            "mounts:\n  /data: {claim: datasets, read_only: true}",
        ),
        ("retry: 3", "retry: {max: 3}"),
        ('retry: "3"', "retry: {max: 3}"),
        ("stop: 5m", "stop: {grace: 5m}"),
        ("num_nodes: 2-4", "num_nodes: {min: 2, max: 4}"),
        ("num_nodes: 2 to 4", "num_nodes: {min: 2, max: 4}"),
        ("pull_secrets: abc", "pull_secrets: [abc]"),
    ],
)
def test_fix_writes_what_can_only_have_been_meant(console: Console, wrong: str, right: str) -> None:
    frame = "# head\n" + JOB + "# before\nHERE\n\n# after\ndescription:   '2.0'\n"
    console.write("jobs/a.yaml", frame.replace("HERE", wrong))
    console("fix", "jobs/a.yaml")
    assert console.text("jobs/a.yaml") == frame.replace("HERE", right)
    (line,) = [line for line in console.out.splitlines() if line.startswith("jobs/a.yaml:")]
    assert re.match(r"jobs/a\.yaml:\d+:\d+: wrote .+ \([a-z-]+\)$", line)
    console("fix", "jobs/a.yaml")
    assert "wrote" not in console.out


def test_fix_mends_several_mistakes_at_once_and_keeps_line_ends_and_mark(console: Console) -> None:
    text = JOB.replace("24h", "24:00:00").replace("H100:8", "{H100: 8}") + 'num_nodes: "4"\n'
    mark = b"\xef\xbb\xbf"
    console.write("jobs/a.yaml", mark + text.replace("\n", "\r\n").encode())
    assert console("fix", "jobs/a.yaml") == 0
    assert console.out.count("wrote") == 3
    expected = mark + (JOB + "num_nodes: 4\n").replace("\n", "\r\n").encode()
    assert (console.root / "jobs/a.yaml").read_bytes() == expected
    assert console("check", "jobs/a.yaml") == 0


def test_fix_dry_run_writes_nothing(console: Console) -> None:
    text = JOB + 'num_nodes: "4"\n'
    console.write("jobs/a.yaml", text)
    assert console("fix", "--dry-run", "jobs/a.yaml") == 0
    assert console.out == "jobs/a.yaml:7:12: would write 4 (wrong-type)\n"
    assert console.text("jobs/a.yaml") == text


@pytest.mark.parametrize(
    "left",
    [
        "num_nodes: two",  # nobody knows
        "num_nodes: 2,4",  # a range, or two and four tenths
        "topology: rack\nnum_nodes: 2",  # required, or preferred
        "mounts: {/data: logs}",  # a claim, a ConfigMap or a Secret
        "num_nodes: 2.5",
        "num_nodes: 08",  # eight to some, an error to others
        "retry: {max: '1,000'}",  # a comma may be a decimal one
        "stop: {grace: 30:00}",  # minutes, or hours
        "stop: {grace: 30}",  # seconds, minutes or hours
        "memory: 512m",
        "nodes: 4",  # a key is the person's to rename
        "host_network: maybe",
    ],
)
def test_fix_leaves_what_has_two_meanings(console: Console, left: str) -> None:
    console.write("jobs/a.yaml", JOB + left + "\n")
    assert console("fix", "jobs/a.yaml") == 1
    assert console.text("jobs/a.yaml") == JOB + left + "\n"
    assert "is left for you" in console.out


def test_fix_mends_what_it_can_beside_what_it_cannot(console: Console) -> None:
    console.write("jobs/a.yaml", JOB + 'num_nodes: "4"\nmemory: 512m\n')
    assert console("fix", "jobs/a.yaml") == 1
    assert console.text("jobs/a.yaml") == JOB + "num_nodes: 4\nmemory: 512m\n"


def test_fix_mends_a_number_that_then_proves_too_large(console: Console) -> None:
    """The mistake of form is certain; the cap of the team is another matter."""
    console.write("jobs/a.yaml", JOB + 'num_nodes: "4000"\n')
    assert console("fix", "jobs/a.yaml") == 1
    assert console.text("jobs/a.yaml") == JOB + "num_nodes: 4000\n"


def test_fix_leaves_a_value_that_an_alias_repeats_elsewhere(console: Console) -> None:
    text = JOB + "num_nodes: &n 2.0\nenv: {VERSION: *n}\n"
    console.write("jobs/a.yaml", text)
    assert console("fix", "jobs/a.yaml") == 1
    assert console.text("jobs/a.yaml") == text


def test_fix_reads_policy_again_too(console: Console) -> None:
    console.change("policy/teams/nlp.yaml", "  nodes: 8\n", '  nodes: "8"\n')
    console.change("policy/teams/nlp.yaml", "runs: 12", "runs: twelve")
    assert console("fix", "policy/teams/nlp.yaml") == 1
    assert "nodes: 8\n" in console.text("policy/teams/nlp.yaml")
    assert console.out.splitlines()[-1] == "1 finding is left for you: run `check`"


@pytest.mark.parametrize("data", [b"", b"\xff", b"a: [\n", b"a: 1\na: 2\n", b"- a\n"])
def test_fix_leaves_a_file_alone_that_cannot_be_read(console: Console, data: bytes) -> None:
    path = console.write("jobs/a.yaml", data)
    assert console("fix", "jobs/a.yaml") == 1
    assert path.read_bytes() == data


def test_fix_finds_nothing_to_do_in_the_examples(console: Console) -> None:
    assert console("fix") == 0
    assert console.out == ""


# --- new -----------------------------------------------------------------------------------------

TEAMS = {"nlp": ["west"], "speech": ["east", "west"], "vision": ["west", "east"]}
CATALOGUE = {
    "west": ["H100:8", "A100-80GB:8", "MIG-1g.10gb:1", "H100"],
    "east": ["MI300X:8", "A100-80GB:8"],
}
# Whose quota has no such accelerators.
NO_QUOTA = {
    ("speech", "west", "H100"),
    ("speech", "west", "MIG-1g.10gb"),
    ("vision", "east", "A100-80GB"),
}
WISHES = [
    (team, cluster, accelerators, nodes)
    for team, clusters in TEAMS.items()
    for cluster, nodes in product(clusters, (1, 2))
    for accelerators in (None, *CATALOGUE[cluster])
    # One accelerator of eight on each of two nodes is a warning of its own.
    if (accelerators, nodes) != ("H100", 2)
    and (team, cluster, (accelerators or "").partition(":")[0]) not in NO_QUOTA
]


@pytest.mark.parametrize(("team", "cluster", "accelerators", "nodes"), WISHES)
def test_new_writes_a_declaration_that_checks_clean(
    console: Console, team: str, cluster: str, accelerators: str | None, nodes: int
) -> None:
    words = ["--num-nodes", str(nodes), "--cluster", cluster]
    words += ["--accelerators", accelerators] if accelerators else []
    assert console("new", f"{team}/fresh", *words) == 0
    assert console.err == ""
    name = f"jobs/{team}/fresh.yaml"
    assert name in console.out
    assert console("check", name, "--strict") == 0
    assert console("fmt", "--check", name) == 0
    written = yaml.safe_load(console.text(name))
    assert written.get("num_nodes", 1) == nodes
    assert written["accelerators"] == (accelerators or written["accelerators"])
    assert console("render", f"{team}/fresh", "--format", "json") == 0
    assert {thing["metadata"]["namespace"] for thing in json.loads(console.out)} == {f"p-{team}"}


@pytest.mark.parametrize(("team", "cluster", "accelerators"), sorted(NO_QUOTA))
def test_new_refuses_accelerators_that_the_team_has_no_quota_for(
    console: Console, team: str, cluster: str, accelerators: str
) -> None:
    words = ["--cluster", cluster, "--accelerators", f"{accelerators}:1"]
    assert console("new", f"{team}/fresh", *words) == 2
    assert f"the team {team} has no quota for {accelerators} on {cluster}" in console.err
    assert not (console.root / "jobs" / team / "fresh.yaml").exists()


def test_new_takes_the_cluster_that_has_the_accelerators(console: Console) -> None:
    assert console("new", "vision/amd", "--accelerators", "MI300X:8") == 0
    assert "cluster: east\n" in console.text("jobs/vision/amd.yaml")
    assert console("new", "vision/own", "--accelerators", "A100-80GB:8") == 0
    assert "cluster:" not in console.text("jobs/vision/own.yaml")


def test_new_dry_run_prints_the_file_and_writes_nothing(console: Console) -> None:
    assert console("new", "nlp/fresh", "--dry-run") == 0
    assert yaml.safe_load(console.out)["image"]
    assert not (console.root / "jobs/nlp/fresh.yaml").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["fresh"], "which team?"),
        (["fresh", "--team", "nope"], "there is no team `nope`"),
        (["nlp/fresh", "--team", "vision"], "nlp/fresh says team nlp, --team says vision"),
        (["nlp/Big_Name"], "call the file big-name.yaml"),
        (["nlp/" + "x" * 41], "the name has 41 characters"),
        (["nlp/a-r3"], "would be taken for another job's run"),
        (["nlp/../a"], "there is no team `nlp/..`"),
        (["nlp/"], "lower-case letters"),
        (["nlp/a", "--num-nodes", "0"], "one node or more"),
        (["nlp/a", "--num-nodes", "two"], "invalid int value"),
        (["nlp/a", "--accelerators", "H200:8"], "write `H100`"),
        (["nlp/a", "--cluster", "wset"], "write `west`"),
        (["nlp/my-train"], "jobs/nlp/my-train.yaml is there already"),
        (["nlp/llm-sft"], "jobs/llm-sft.yaml is there already"),
    ],
)
def test_new_refuses_what_cannot_be(console: Console, words: list[str], said: str) -> None:
    before = sorted(console.root.rglob("*"))
    assert console("new", *words) == 2
    assert said in console.err
    assert sorted(console.root.rglob("*")) == before


def test_new_says_what_is_wrong_with_an_image_and_keeps_the_file_to_edit(
    console: Console,
) -> None:
    assert console("new", "nlp/fresh", "--image", "nothing") == 1
    assert "unknown-image" in console.err
    assert "image: nothing" in console.text("jobs/nlp/fresh.yaml")


# --- render --------------------------------------------------------------------------------------


def test_render_prints_the_same_objects_as_text_and_as_json(console: Console) -> None:
    assert console("render", "detector") == 0
    objects = list(yaml.safe_load_all(console.out))
    assert console.err == ""
    assert console("render", "detector", "--format", "json") == 0
    assert json.loads(console.out) == objects
    assert [thing["kind"] for thing in objects] == ["Job", "ConfigMap"]


def test_render_names_the_run_by_its_number(console: Console) -> None:
    assert console("render", "llm-sft", "--number", "12", "--format", "json") == 0
    (job,) = json.loads(console.out)
    assert job["metadata"]["name"] == "llm-sft-r12"
    assert job["metadata"]["annotations"]["runwright/run"] == "12"


def test_render_of_one_cluster(console: Console) -> None:
    assert console("render", "asr-eval", "--format", "json") == 0
    assert [thing["kind"] for thing in json.loads(console.out)] == ["Job", "PyTorchJob"]
    assert console("render", "asr-eval", "--cluster", "east", "--format", "json") == 0
    assert [thing["kind"] for thing in json.loads(console.out)] == ["PyTorchJob"]


@pytest.mark.parametrize(
    "word", ["llm-sft", "nlp/llm-sft", "jobs/llm-sft.yaml", "./jobs/llm-sft.yaml"]
)
def test_a_job_has_several_names(console: Console, word: str) -> None:
    assert console("render", word) == 0
    assert 'name: "llm-sft-r1"' in console.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nothing"], "there is no job `nothing`"),
        (["llm-stf"], "write `llm-sft`"),
        (["vision/llm-sft"], "there is no job `vision/llm-sft`"),
        (["policy/rules.yaml"], "there is no job `policy/rules.yaml`"),
        (["llm-sft", "--number", "0"], "a run's number is 1 or more, not 0"),
        (["llm-sft", "--format", "sarif"], "render has no form `sarif`"),
        (["x" * 5000], "there is no job"),
    ],
)
@pytest.mark.parametrize("verb", ["render", "explain-job"])
def test_a_job_that_cannot_be_meant_is_wrong_use(
    console: Console, verb: str, words: list[str], said: str
) -> None:
    if verb == "explain-job" and "--number" in words:
        return
    assert console(verb, *words) == 2
    assert said.replace("render", verb) in console.err
    assert console.out == ""


@pytest.mark.parametrize("verb", ["render", "explain-job"])
def test_an_ambiguous_name_is_wrong_use_with_the_candidates(console: Console, verb: str) -> None:
    console.write("jobs/vision/llm-sft.yaml", JOB.replace("team: nlp\n", ""))
    assert console(verb, "llm-sft") == 2
    assert "jobs/llm-sft.yaml, jobs/vision/llm-sft.yaml" in console.err
    assert console(verb, "nlp/llm-sft") == 0
    assert console(verb, "vision/llm-sft") == 0


def test_render_of_a_faulty_job_says_why_and_prints_no_object(console: Console) -> None:
    console.write("jobs/a.yaml", JOB + "memory: 512m\n")
    assert console("render", "a") == 1
    assert console.out == ""
    assert "jobs/a.yaml:7:9" in console.err


# --- explain-job ---------------------------------------------------------------------------------


def origins(console: Console, job: str = "probe") -> dict[str, tuple[str, str]]:
    """Each field of a job with its value and origin."""
    assert console("explain-job", job, "--format", "json") == 0
    answer = json.loads(console.out)
    assert answer["version"] == 1
    (table,) = answer["runs"]
    return {line["field"]: (line["value"], line["from"]) for line in table["values"]}


PROBE = (
    "image: llm-sft\naccelerators: H100:8\nqueue: research\nmax_duration: 24h\n"
    "checkpoint: {claim: checkpoints, path: /ckpt}\n"
)


def line_of(console: Console, name: str, start: str) -> str:
    lines = console.text(name).splitlines()
    (number,) = [n for n, line in enumerate(lines, 1) if line.strip().startswith(start)]
    return f"{name}:{number}"


Step = Callable[[Console], None]


def declare(text: str) -> Step:
    return lambda console: console.change("jobs/nlp/probe.yaml", "queue:", f"{text}\nqueue:")


def default(text: str) -> Step:
    return lambda console: console.change(
        "policy/teams/nlp.yaml", "defaults:\n", f"defaults:\n  {text}\n"
    )


def of_image(text: str) -> Step:
    return lambda console: console.change(
        "images/llm-sft/image.yaml", "defaults:\n", f"defaults:\n  {text}\n"
    )


def of_shape(old: str, new: str) -> Step:
    return lambda console: console.change("policy/clusters/west.yaml", old, new)


@pytest.mark.parametrize(
    ("field", "upper", "value", "origin", "lower", "below", "beneath"),
    [
        (
            "env.PROBE",
            declare("env: {PROBE: up}"),
            "up",
            "jobs/nlp/probe.yaml:3 (declaration)",
            lambda console: console.change(
                "policy/teams/nlp.yaml", "env: {HF", "env: {PROBE: low, HF"
            ),
            "low",
            "policy/teams/nlp.yaml:23 (team)",
        ),
        (
            "memory",
            default("memory: 300Gi"),
            "300Gi",
            "policy/teams/nlp.yaml:21 (team)",
            of_image("memory: 200Gi"),
            "200Gi",
            "images/llm-sft/image.yaml:9 (image)",
        ),
        (
            "memory",
            of_image("memory: 200Gi"),
            "200Gi",
            "images/llm-sft/image.yaml:9 (image)",
            of_shape("{cpu: 20, memory: 200Gi", "{cpu: 20, memory: 100Gi"),
            "800Gi",
            "policy/clusters/west.yaml:24 (cluster)",
        ),
        (
            "shm_size",
            of_shape("200Gi, shm_size: 16Gi", "200Gi, shm_size: 4Gi"),
            "32Gi",
            "policy/clusters/west.yaml:24 (cluster)",
            lambda console: None,
            "8Gi",
            "built in",
        ),
    ],
)
def test_a_value_of_two_layers_has_the_origin_of_the_upper_one(
    console: Console,
    field: str,
    upper: Step,
    value: str,
    origin: str,
    lower: Step,
    below: str,
    beneath: str,
) -> None:
    console.write("jobs/nlp/probe.yaml", PROBE)
    kept = {
        path: path.read_bytes()
        for part in ("jobs", "policy", "images", "base")
        for path in (console.root / part).rglob("*.yaml")
    }
    upper(console)
    lower(console)
    assert origins(console)[field] == (value, origin)
    for path, data in kept.items():
        path.write_bytes(data)
    if field == "shm_size":
        of_shape(", shm_size: 16Gi", "")(console)
    lower(console)
    assert origins(console)[field] == (below, beneath)


def test_the_shape_of_the_accelerators_wins_over_the_base_and_the_base_over_what_is_built_in(
    console: Console,
) -> None:
    """One value, terminationGracePeriodSeconds, and shm's lower neighbour, from a real base."""
    console.write("jobs/vision/probe.yaml", PROBE.replace("llm-sft", "ddp-mini"))
    console.change("policy/teams/vision.yaml", "  stop: {grace: 2m}\n", "")
    assert origins(console)["stop.grace"] == ("30s", "built in")
    text = console.text("base/job/job.yaml")
    spec = "      automountServiceAccountToken: false\n"
    assert text.count(spec) == 1
    console.write(
        "base/job/job.yaml", text.replace(spec, spec + "      terminationGracePeriodSeconds: 90\n")
    )
    made = line_of(console, "base/job/job.yaml", "terminationGrace")
    assert origins(console)["stop.grace"] == ("90s", f"{made} (base)")
    console.change("policy/teams/vision.yaml", "defaults:\n", "defaults:\n  stop: {grace: 3m}\n")
    assert origins(console)["stop.grace"][1].endswith("(team)")


def test_a_moved_line_moves_its_origin(console: Console) -> None:
    console.write("jobs/nlp/probe.yaml", PROBE)
    assert origins(console)["queue"] == ("research", "jobs/nlp/probe.yaml:3 (declaration)")
    console.write("jobs/nlp/probe.yaml", "# one\n# more\n\n" + PROBE)
    assert origins(console)["queue"] == ("research", "jobs/nlp/probe.yaml:6 (declaration)")


def test_explain_job_shows_what_differs_on_the_first_node(console: Console) -> None:
    values = origins(console, "wav2vec")
    assert values["memory"][0] == "800Gi"
    assert values["master.memory"] == ("900Gi", "jobs/speech/wav2vec.yaml:12 (declaration)")
    assert values["master.image"][0] == "pretrain"


def test_explain_job_gives_each_value_once_with_a_place_that_exists(console: Console) -> None:
    assert console("explain-job", "llm-sft", "--format", "json") == 0
    values = json.loads(console.out)["runs"][0]["values"]
    assert len({value["field"] for value in values}) == len(values)
    for value in values:
        if value["path"] is None:
            assert (value["line"], value["layer"]) == (None, "built in")
        else:
            lines = console.text(value["path"]).splitlines()
            assert 1 <= value["line"] <= len(lines)
            if value["layer"] in ("declaration", "team", "base") and value["value"]:
                assert value["value"] in lines[value["line"] - 1]
    assert {"false", "1"} <= {value["value"] for value in values if value["layer"] == "base"}


def test_explain_job_keeps_long_values_whole_in_json_and_short_on_the_terminal(
    console: Console,
) -> None:
    script = "echo one\n" + "echo two\n" * 20
    console.write("jobs/a.yaml", JOB + f"env:\n  LONG: {'x' * 200}\n  BELL: {json.dumps(script)}\n")
    console("explain-job", "a")
    assert "x" * 81 not in console.out
    assert "echo two" not in console.out
    values = origins(console, "a")
    assert values["env.LONG"][0] == "x" * 200
    assert values["env.BELL"][0] == script


def test_explain_job_prints_nothing_that_moves_the_cursor(console: Console) -> None:
    console.write("jobs/a.yaml", JOB + 'env: {BELL: "\\e[2J\\a"}\n')
    assert console("explain-job", "a") == 0
    assert "\x1b" not in console.out
    assert "env.BELL" in console.out


def test_explain_job_of_a_faulty_job_says_why(console: Console) -> None:
    console.write("jobs/a.yaml", JOB + "nope: 1\n")
    assert console("explain-job", "a") == 1
    assert "unknown-key" in console.err


# --- check ---------------------------------------------------------------------------------------


def paths(console: Console, *words: str) -> list[str]:
    """The files with findings that `check` reports on."""
    console("check", "--format", "json", *words)
    return [finding["path"] for finding in json.loads(console.out)["findings"]]


@pytest.fixture
def faulty(console: Console) -> Console:
    console.write("jobs/a.yaml", JOB + "nope: 1\n")
    console.write("jobs/nlp/b.yaml", JOB + "nope: 1\n")
    console.write("jobs/vision/c.yaml", JOB.replace("nlp", "vision") + "nope: 1\n")
    waiver = console.text("policy/waivers/wav2vec.yaml")
    console.write("policy/waivers/more.yaml", waiver + "nope: 1\n")
    return console


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["jobs/a.yaml"], ["jobs/a.yaml"]),
        (["jobs/nlp"], ["jobs/nlp/b.yaml"]),
        (["jobs/nlp/"], ["jobs/nlp/b.yaml"]),
        (["jobs"], ["jobs/a.yaml", "jobs/nlp/b.yaml", "jobs/vision/c.yaml"]),
        (["policy"], ["policy/waivers/more.yaml"]),
        (["jobs/a.yaml", "policy/teams"], ["jobs/a.yaml"]),
        (["jobs/llm-sft.yaml"], []),
        (["base"], []),
    ],
)
def test_check_reports_only_on_what_is_named(
    faulty: Console, words: list[str], expected: list[str]
) -> None:
    assert paths(faulty, *words) == expected
    # From what is remembered, too.
    assert paths(faulty, *words) == expected


def test_check_of_everything_reports_on_everything(faulty: Console) -> None:
    every = ["policy/waivers/more.yaml", "jobs/a.yaml", "jobs/nlp/b.yaml", "jobs/vision/c.yaml"]
    assert paths(faulty) == every
    assert paths(faulty, ".") == every


def test_check_takes_a_path_from_here_or_from_the_root(
    faulty: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(faulty.root / "jobs" / "nlp")
    assert paths(faulty, "b.yaml") == ["jobs/nlp/b.yaml"]
    assert paths(faulty, "jobs/a.yaml") == ["jobs/a.yaml"]
    assert paths(faulty, "../a.yaml") == ["jobs/a.yaml"]


def test_check_exit_status(faulty: Console) -> None:
    assert faulty("check", "jobs/a.yaml") == 1
    assert faulty("check", "jobs/llm-sft.yaml") == 0
    assert faulty("check", "jobs/nope.yaml") == 2
    assert "there is no file or folder jobs/nope.yaml" in faulty.err
    assert faulty("check", "..") == 2
    assert faulty("check", "x" * 5000) == 2


def test_check_strict_fails_on_warnings(console: Console) -> None:
    console.write("jobs/a.yaml", JOB + "env: {NCCL_SOCKET_IFNAME: ens9}\nnum_nodes: 2\n")
    assert console("check", "jobs/a.yaml") == 0
    assert "warning" in console.out
    assert console("check", "--strict", "jobs/a.yaml") == 1
