"""One mistake is one finding, which says what is so and what to write."""

from __future__ import annotations

from pathlib import Path

import pytest
from declarations import TODAY, findings, job, only, repository, spot

from compiler.causes import rooted
from compiler.cli import main

# What is written, the rule, the place, a part of the message, and the help's beginning.
CASES = {
    "a tag on a number": ('num_nodes: !!int "2"', "yaml-tag", "7:12", "`!!int`", "leave it out"),
    "a mount at the root": (
        "mounts: {/: {claim: models, read_only: true}}",
        "mount-over-system-path",
        "7:10",
        "would hide everything",
        "mount it at a path of its own",
    ),
    "a mount the other way round": (
        "mounts: {models: /models}",
        "bad-path",
        "7:10",
        "`models` is not an absolute path",
        "write `/models: {claim: models}`",
    ),
    "a file the other way round": (
        "files: {configs/nlp/llm-train.yaml: /etc/train.yaml}",
        "bad-path",
        "7:9",
        "is not an absolute path",
        "write `/etc/train.yaml: configs/nlp/llm-train.yaml`",
    ),
    "an image volume of nothing": (
        "pod: {spec: {volumes: [{name: a, image: {reference: ''}}]}}",
        "unpinned-image",
        "7:53",
        "there is no image here",
        "write its reference",
    ),
    "an image by its name alone": (
        "pod: {spec: {containers: [{name: x, image: busybox}]}}",
        "unpinned-image",
        "7:44",
        "`busybox` has no digest",
        "add @sha256",
    ),
    "two ports of one number": (
        "ports: {a: 8000, b: 8000}",
        "conflicting-ports",
        "7:21",
        "the port 8000 is taken by another name",
        "choose another number",
    ),
    "part of the first node": (
        "num_nodes: 2\nmaster: {accelerators: H100:4}",
        "part-of-a-node",
        "8:24",
        "the first of 2 nodes with 4 of 8 H100",
        "write H100:8 here too",
    ),
    "part of the other nodes": (
        "num_nodes: 3\nmaster: {accelerators: H100:8}",
        "part-of-a-node",
        "3:15",
        "2 of 3 nodes with 4 of 8 H100",
        "write H100:8 here too",
    ),
    "a path with a step upwards": (
        "mounts: {/ckpt/../etc: {claim: logs}}",
        "bad-path",
        "7:10",
        "has a step `..`",
        "write /etc",
    ),
    "a path with a colon": (
        "working_dir: /x:y",
        "bad-path",
        "7:14",
        "`/x:y` has a colon",
        "write a path",
    ),
    "no time at all": (
        "stop: {grace: 0s}",
        "bad-duration",
        "7:15",
        "is no time at all",
        "write 1s",
    ),
    "a port in capitals": (
        "ports: {HTTP: 80}",
        "bad-name",
        "7:9",
        "`HTTP` is not",
        "write at most 15",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_mistake_is_one_finding(case: str) -> None:
    extra, rule, place, message, remedy = CASES[case]
    half = "H100:4" if case == "part of the other nodes" else "H100:8"
    item = only(rule, rooted(findings(job(extra, accelerators=half))))
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert message in item.message
    assert item.help.startswith(remedy)


def test_two_mistakes_in_one_entry_are_two_findings() -> None:
    found = findings(job("mounts: {models: logs}"))
    assert [item.rule for item in found] == ["bad-path", "wrong-type"]


@pytest.mark.parametrize(("letter", "shown"), [("\u200b", "\\u200b"), ("\x07", "\\x07")])
def test_the_line_of_an_invisible_letter_is_shown(
    letter: str, shown: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = repository(tmp_path, {"jobs/example.yaml": job(f"owner: a{letter}b")})
    main(["--repo", str(root), "--at", TODAY.isoformat(), "--color", "never", "check"])
    assert f"7 | owner: a{shown}b\n  |         ^^^^" in capsys.readouterr().out
