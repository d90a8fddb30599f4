"""The guard of a run: which commands get one, and what it does in every shell."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from declarations import TODAY, job, repository
from guarding import SHELLS, Pods, expanded, pods, sh, training, until
from msgspec.structs import replace

from compiler import guard
from compiler.digests import training as training_digest
from compiler.model import Image, Mount, Run
from compiler.project import Project, RunResult
from compiler.repository import Repository

NASTY = [
    "",
    " two  words ",
    'it\'s "quoted"',
    "back\\slash\\n",
    "line\nbreak\n",
    "$HOME ${HOME} $(hostname) `id` $$ $",
    "*",
    "~",
    "-n",
    "--",
    "täglich ✓",
    "a;b|c&d>e#f",
]
SHOW = """\
import json, os, sys
with open(os.environ["LOG"], "w") as log:
    json.dump({"argv": sys.argv[1:], "env": dict(os.environ)}, log)
"""


@pytest.fixture(params=sorted(SHELLS))
def pod(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pods]:
    with pods(request.param, tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = repository(tmp_path_factory.mktemp("guard"))
    # The carrier's image keeps the protocol by itself; here it is one that does not.
    about = root / "images/llm-sft/image.yaml"
    about.write_text(about.read_text("utf-8").replace("guard: native", "guard: shell"), "utf-8")
    return Project(Repository(root), at=TODAY)


def result(project: Project, text: str) -> RunResult:
    path = project.repository.root / "jobs" / "example.yaml"
    path.write_text(text, "utf-8")
    judged = project.judge(path)
    assert [f.message for f in judged.findings if f.severity.name == "ERROR"] == []
    (made,) = judged.runs
    return made


def made(project: Project, text: str) -> Run:
    return result(project, text).run


def container(project: Project, text: str) -> dict[str, object]:
    (first, *_) = result(project, text).objects
    spec = first["spec"]
    template = spec["template"] if "template" in spec else spec["pytorchReplicaSpecs"]["Master"]
    return template.get("template", template)["spec"]["containers"][0]


# Which runs are guarded


def test_a_foreign_command_with_a_checkpoint_is_wrapped(project: Project) -> None:
    one = container(project, job("args: [--lr, '1']\nstop: {grace: 10m}"))
    command = one["command"]
    assert isinstance(command, list)
    assert [command[:2], command[3:]] == [
        ["/bin/sh", "-c"],
        ["runwright-guard", "600", "torchrun", "train.py"],
    ]
    assert one["args"] == ["--lr", "1"]
    assert guard.inner(command) == ["torchrun", "train.py"]


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (job(checkpoint=None, image="ddp-mini"), "no checkpoint"),
        (job(image="ddp-mini", checkpoint="{path: /tmp/here}"), "a folder that goes with the pod"),
        (job("args: [--fast]", image="tts", accelerators="'H100:1'"), "the image's own entry"),
        (job("env: {my.name: x}", command="[torchrun, t.py]"), "a name that shells drop"),
        (
            job("pod: {spec: {containers: [{name: pytorch, command: [torchrun, t.py]}]}}"),
            "a command in pod:",
        ),
    ],
    ids=lambda value: value if "\n" not in value else "",
)
def test_what_cannot_be_kept_is_left_as_it_is(project: Project, text: str, why: str) -> None:
    run = made(project, text)
    assert not guard.guarded(run), why
    assert guard.NAME not in str(container(project, text))


def test_a_checkpoint_below_a_mounted_claim_is_kept(project: Project) -> None:
    text = job("mounts: {/logs: {claim: logs}}", checkpoint="{path: /logs/ckpt}")
    assert guard.guarded(made(project, text))


def test_only_a_claim_that_may_be_written_keeps_anything(project: Project) -> None:
    run = made(project, job())
    assert run.checkpoint is not None

    def with_mounts(*mounts: Mount, claim: str | None = None) -> bool:
        checkpoint = replace(run.checkpoint, claim=claim)
        return guard.guarded(replace(run, checkpoint=checkpoint), replace(run.first, mounts=mounts))

    assert with_mounts(claim="checkpoints")
    assert not with_mounts()
    assert with_mounts(Mount("/ckpt", "claim", "logs"))
    assert with_mounts(Mount("/", "claim", "logs"))
    assert not with_mounts(Mount("/ckpt2", "claim", "logs"))
    assert not with_mounts(Mount("/ckpt", "scratch", ""))
    assert not with_mounts(Mount("/ckpt", "claim", "logs", read_only=True))
    # The nearest mount decides, and the claim of `checkpoint:` is one of its own.
    assert not with_mounts(Mount("/", "claim", "logs"), Mount("/ckpt", "scratch", ""))
    assert with_mounts(Mount("/", "scratch", ""), claim="checkpoints")
    assert not with_mounts(Mount("/ckpt", "scratch", ""), claim="checkpoints")


def test_the_image_says_who_guards(project: Project) -> None:
    run = made(project, job())

    def of(**changes: object) -> tuple[bool, bool]:
        image: Image = replace(run.first.image, **changes)  # type: ignore[arg-type]
        member = replace(run.first, image=image)
        return guard.guarded(run, member), guard.wrapped(run, member)

    assert of(guard="shell") == (True, True)
    assert of(guard="native") == (True, False)
    assert of(guard="native", shell=False) == (True, False)
    assert of(guard="shell", shell=False) == (False, False)
    assert of(guard="none") == (False, False)


def test_a_run_is_guarded_if_each_of_its_nodes_is(project: Project) -> None:
    text = job("num_nodes: 2\nmaster: {image: tts, env: {WRITE: 'true'}}", command=None)
    run = made(project, text)
    assert [guard.guarded(run, member) for member in run.members] == [
        member.command is not None for member in run.members
    ]
    other = replace(run, first=replace(run.first, command=None))
    assert guard.guarded(other, other.others)
    assert not guard.guarded(other)


def test_who_guards_is_no_part_of_what_is_learned(project: Project) -> None:
    run = made(project, job())
    image = replace(run.first.image, guard="none")
    member = replace(run.first, image=image)
    assert training_digest(run) == training_digest(replace(run, first=member, others=member))


# The script as Kubernetes hands it to the shell


def test_kubernetes_hands_on_the_script_letter_for_letter() -> None:
    # Every name that could stand between $( and ) is set: none may be taken.
    text = guard.script()
    names = set(re.findall(r"\$\(([^)]*)\)", text))
    assert names
    variables = dict.fromkeys(names, "WRONG")
    assert expanded(text, variables) != text
    assert expanded(guard.escaped(text), variables) == text


@pytest.mark.parametrize("text", ["$", "$$", "$(A)", "$$(A)", "$$$(A)", "${A}", "$((1))", "$A$("])
def test_an_escaped_text_comes_back(text: str) -> None:
    assert expanded(guard.escaped(text), {"A": "WRONG", "(1": "WRONG"}) == text


def test_the_script_is_short_and_says_nothing_twice() -> None:
    text = guard.script()
    assert text.count("\n") < 125
    assert len(text) < 4096
    assert not re.search(r"^\s|^#", text, re.MULTILINE)


def test_only_the_programs_that_are_named_are_used() -> None:
    source = guard.script()
    for word in ("sed", "grep", "awk", "rm", "ls", "touch", "test", "sync", "hostname", "seq"):
        assert not re.search(rf"(^|[;|&(]|\$\()\s*{word}\s", source, re.MULTILINE), word
    assert not re.search(r"\[\[|\blocal\b|\bfunction\b|<<<|&>|\bsource\b|==", source)


# What it does to the command


@pytest.mark.parametrize("code", [0, 1, 77, 127, 255])
def test_the_exit_code_is_the_commands(pod: Pods, code: int) -> None:
    assert pod.run(sh(f"exit {code}"))[0] == code
    assert pod.complete.exists() is (code == 0)
    assert pod.entry("7.sft-r7-x") == "released\n"


def test_a_killed_command_counts_as_in_a_shell(pod: Pods) -> None:
    assert pod.run(sh("kill -KILL $$"))[0] == 137
    assert pod.run(sh("kill -TERM $$"))[0] == 143
    assert not pod.complete.exists()


def test_nothing_is_left_of_a_guard_that_has_ended(pod: Pods) -> None:
    for script in ("exit 0", "sleep 1"):
        started = pod.start(sh(script), 7)
        assert started.end()[0] == 0
        started.leaves_nothing()
        pod.complete.unlink()


def test_a_command_that_does_not_exist_fails(pod: Pods) -> None:
    code, errors = pod.run(["no-such-program", "x"])
    assert code == 127
    assert "no-such-program" in errors
    assert not pod.complete.exists()


def test_a_program_is_not_taken_for_a_function_of_the_guard(pod: Pods) -> None:
    bin_folder = pod.root / "bin"
    bin_folder.mkdir()
    for name in ("_say", "echo", "cd"):
        program = bin_folder / name
        program.write_text(f'#!/bin/sh\necho "program {name}" >>"$LOG"\n')
        program.chmod(0o755)
        assert pod.run([name, "x"], PATH=f"{bin_folder}:{os.environ['PATH']}")[0] == 0
        pod.complete.unlink()
    assert pod.lines == ["program _say", "program echo", "program cd"]


def test_arguments_and_environment_reach_the_command_letter_for_letter(pod: Pods) -> None:
    given = {f"NASTY_{index}": text for index, text in enumerate(NASTY)}
    given |= dict.fromkeys(("code", "dir", "owner", "state", "name", "x"), "mine")
    assert pod.run([sys.executable, "-c", SHOW, *NASTY], **given)[0] == 0
    seen = json.loads(pod.log.read_text())
    assert seen["argv"] == NASTY
    wanted = pod.environment(7, given)
    assert {name: seen["env"].get(name) for name in wanted} == wanted
    # What a shell itself adds; nothing of the guard.
    assert set(seen["env"]) - set(wanted) <= {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"}


@pytest.mark.parametrize("shell", sorted(SHELLS))
def test_a_declared_command_reaches_the_program_as_without_the_guard(
    shell: str, project: Project, tmp_path: Path
) -> None:
    """The whole way: declaration, object, kubelet, shell, program."""
    words = [text for text in NASTY if "\n" not in text and "$(" not in text]
    words += ["$(RUN_NAME)", "$$(RUN_NAME)", "$$$$"]
    listed = json.dumps([sys.executable, "-c", SHOW, *words])
    one = container(project, job(command=listed, args=json.dumps(["$(RUN_NUMBER)", "last"])))
    command, args = one["command"], one["args"]
    assert isinstance(command, list)
    assert isinstance(args, list)
    with pods(shell, tmp_path) as pod:
        variables = pod.environment(7, {})
        process = [expanded(word, variables) for word in [*command, *args]]
        assert process[2] == guard.script()
        assert pod.run(process[5:])[0] == 0
        seen = json.loads(pod.log.read_text())["argv"]
    assert seen == [expanded(word, variables) for word in [*words, "$(RUN_NUMBER)", "last"]]


def test_term_lets_the_command_write_its_last_checkpoint(pod: Pods) -> None:
    started = pod.start(training(7, "exit 5"))
    pod.logged("7 began")
    started.signal(signal.SIGTERM)
    assert started.end()[0] == 5
    assert pod.lines == ["7 began", "7 saves", "7 saved"]
    assert not pod.complete.exists()


def test_a_command_that_was_told_to_stop_is_not_complete(pod: Pods) -> None:
    started = pod.start(training(7, "exit 0"))
    pod.logged("7 began")
    started.signal(signal.SIGTERM)
    pod.logged("7 saves")
    until(lambda: pod.entry("7.sft-r7-x") == "stopping 30\n", "the word that it is stopping")
    code, errors = started.end()
    assert (code, pod.lines[-1]) == (143, "7 saved")
    assert "told to stop: not complete" in errors
    assert not pod.complete.exists()
    assert pod.entry("7.sft-r7-x") == "stopped\n"


def test_a_signal_after_the_first_ends_neither_the_guard_nor_the_command(pod: Pods) -> None:
    started = pod.start(sh("trap 'log term; sleep 1; exit 5' TERM; log began; sleep 60 & wait"))
    pod.logged("began")
    started.signal(signal.SIGTERM)
    pod.logged("term")
    for number in (signal.SIGTERM, signal.SIGINT) * 3:
        started.signal(number)
    assert started.end()[0] == 5
    assert pod.lines == ["began", "term"]


def test_signals_while_the_command_ends_lose_no_exit_code(pod: Pods) -> None:
    # A shell in its place could itself be killed, between its trap and its end.
    ends = """
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(5))
with open(os.environ["LOG"], "a") as log:
    log.write("began\\n")
while True:
    time.sleep(0.01)
"""
    for _ in range(10):
        started = pod.start([sys.executable, "-S", "-c", ends])
        pod.logged("began")
        while started.process.poll() is None:
            started.signal(signal.SIGTERM)
            time.sleep(0.001)
        assert started.end()[0] == 5
        pod.log.write_text("")


def test_int_reaches_who_listens_to_it(pod: Pods) -> None:
    listens = """
import os, signal, sys, time
def heard(number, frame):
    with open(os.environ["LOG"], "a") as log:
        log.write("interrupted\\n")
    sys.exit(9)
signal.signal(signal.SIGINT, heard)
with open(os.environ["LOG"], "a") as log:
    log.write("began\\n")
while True:
    time.sleep(0.1)
"""
    started = pod.start([sys.executable, "-c", listens])
    pod.logged("began")
    started.signal(signal.SIGINT)
    assert started.end()[0] == 9
    assert pod.lines == ["began", "interrupted"]


def test_int_stops_who_does_not_listen_to_it(pod: Pods) -> None:
    started = pod.start(training(7))
    pod.logged("7 began")
    started.signal(signal.SIGINT)
    # bash leaves INT as it was, the others start a command that ignores it.
    wanted = (130, "7 began") if pod.words[0].endswith("bash") else (143, "7 saved")
    assert (started.end()[0], pod.lines[-1]) == wanted
    assert not pod.complete.exists()


# COMPLETE.json


def test_the_marker_says_who_and_when(pod: Pods) -> None:
    assert pod.run(["true"]) == (0, "")
    said = json.loads(pod.complete.read_text())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", said.pop("at"))
    assert said == {"run": "sft-r7", "step": None}


@pytest.mark.parametrize(
    ("variables", "written"),
    [
        ({"RANK": "0", "PET_NODE_RANK": "0"}, True),
        ({"RANK": "1", "PET_NODE_RANK": "1"}, False),
        ({"PET_NODE_RANK": "0"}, True),
        ({"PET_NODE_RANK": "2"}, False),
        ({"PET_RDZV_BACKEND": "c10d", "PET_NNODES": "2:4"}, True),
        ({}, True),
    ],
)
def test_the_first_node_or_any_elastic_one_writes_the_marker(
    pod: Pods, variables: dict[str, str], written: bool
) -> None:
    assert pod.run(["true"], **variables)[0] == 0
    assert pod.complete.exists() is written


@pytest.mark.parametrize("rank", ["", "0", "3"])
@pytest.mark.parametrize("number", [1, 7, 8])
def test_a_complete_training_ends_at_once(pod: Pods, rank: str, number: int) -> None:
    pod.put("COMPLETE.json", '{"run": "sft-r7", "at": null, "step": 12}\n')
    started = pod.start(sh("log began"), number, RANK=rank)
    code, errors = started.end(limit=5)
    assert (code, "complete" in errors) == (0, True)
    assert pod.lines == []
    assert not (pod.folder / "OWNER").exists()


def test_a_marker_by_hand_counts_in_any_layout(pod: Pods) -> None:
    pod.put("COMPLETE.json", json.dumps({"at": None, "run": "sft-r1"}, indent=2))
    assert pod.run(sh("log began"))[0] == 0
    assert pod.lines == []


@pytest.mark.parametrize("text", ["", "\n", "{", '{"run": "sft-r7", "at', "null", "\x00\x01"])
def test_a_damaged_marker_starts_nothing(pod: Pods, text: str) -> None:
    pod.put("COMPLETE.json", text)
    code, errors = pod.run(sh("log began"))
    assert code == 78
    assert "COMPLETE.json is damaged: delete it if" in errors
    assert pod.lines == []


def test_a_folder_in_the_place_of_the_marker_starts_nothing(pod: Pods) -> None:
    pod.complete.mkdir(parents=True)
    assert pod.run(sh("log began"))[0] == 78
    assert pod.lines == []


def test_a_marker_that_cannot_be_written_is_told(pod: Pods) -> None:
    # Nothing can be renamed over a folder with something in it.
    code, errors = pod.run(
        sh('mkdir "$CHECKPOINT_DIR/COMPLETE.json"; chmod 555 "$CHECKPOINT_DIR/OWNER"'),
        user=pod_user(pod),
    )
    assert code == 0
    assert "this training would start again" in errors


def pod_user(pod: Pods) -> int:
    """A user without rights of its own, who may write below the test's folder."""
    if os.geteuid() != 0:
        return os.geteuid()
    user = 65534
    for folder in (pod.root, *pod.root.parents):
        if folder != folder.parent and not folder.stat().st_mode & 0o001:
            folder.chmod(folder.stat().st_mode | 0o011)
    os.chown(pod.root, user, user)
    os.chown(pod.log, user, user)
    return user


def test_no_date_no_time(pod: Pods) -> None:
    if pod.words[-1] == "sh":
        pytest.skip("busybox has date built in")
    tools = pod.root / "tools"
    tools.mkdir()
    for name in ("mkdir", "mv", "cat", "sleep"):
        (tools / name).symlink_to(f"/bin/{name}")
    assert pod.run(["/bin/true"], PATH=str(tools))[0] == 0
    assert json.loads(pod.complete.read_text())["at"] is None


def test_an_image_without_a_tool_starts_nothing(pod: Pods) -> None:
    if pod.words[-1] == "sh":
        pytest.skip("busybox has them built in")
    code, errors = pod.run(sh("log began"), PATH=str(pod.root))
    assert (code, "this image has no mkdir" in errors) == (78, True)
    assert pod.lines == []


# The folder


def test_a_folder_that_cannot_be_made_is_told_before_anything_starts(pod: Pods) -> None:
    pod.folder.parent.parent.mkdir(parents=True)
    pod.folder.parent.write_text("a file in its place")
    code, errors = pod.run(sh("log began"))
    assert code == 78
    assert f"cannot write to {pod.folder}" in errors
    assert pod.lines == []


def test_a_folder_without_rights_is_told_before_anything_starts(pod: Pods) -> None:
    user = pod_user(pod)
    pod.folder.mkdir(parents=True)
    pod.folder.chmod(0o555)
    code, errors = pod.run(sh("log began"), user=user)
    assert code == 78
    assert "may user and group write to it?" in errors
    assert pod.lines == []


@pytest.mark.parametrize("name", ["OWNER", "COMPLETE.json/OWNER"])
def test_a_file_in_the_place_of_the_fence_starts_nothing(pod: Pods, name: str) -> None:
    pod.put(name, "7\n")
    assert pod.run(sh("log began"))[0] == 78
    assert pod.lines == []


@pytest.mark.parametrize("missing", ["RUN_NUMBER", "CHECKPOINT_DIR"])
def test_without_an_identity_nothing_starts(pod: Pods, missing: str) -> None:
    assert pod.run(sh("log began"), **{missing: ""})[0] == 78
    assert pod.lines == []


# Predecessor and successor


def test_a_successor_waits_for_the_last_checkpoint(pod: Pods) -> None:
    first = pod.start(training(7), 7)
    pod.logged("7 began")
    second = pod.start(training(8), 8)
    pod.logged("8 began")
    assert pod.lines == ["7 began", "7 saves", "7 saved", "8 began"]
    code, errors = first.end()
    assert code == 143
    assert "run 8 wants this folder" in errors
    assert not pod.complete.exists()
    second.signal(signal.SIGTERM)
    _, errors = second.end()
    assert "waiting for 7.sft-r7-x, at most 31 s" in errors


def test_a_successor_waits_for_every_node_of_the_run_before(pod: Pods) -> None:
    pod.put("OWNER/7.0", "released\n")
    pod.put("OWNER/7.1", "held 300\n")
    second = pod.start(sh("log began"), 8, grace=3000)
    second.says("waiting for 7.1, at most 301 s")
    assert pod.entry("8.sft-r8-x") == "held 3000\n"
    pod.put("OWNER/7.1", "stopped\n")
    assert second.end()[0] == 0
    assert pod.lines == ["began"]


def test_a_training_that_ends_while_its_successor_waits_is_complete(pod: Pods) -> None:
    pod.put("OWNER/7.sft-r7-x", "held 300\n")
    second = pod.start(sh("log began"), 8)
    second.says("waiting for 7.sft-r7-x")
    pod.put("COMPLETE.json", '{"run": "sft-r7"}\n')
    pod.put("OWNER/7.sft-r7-x", "released\n")
    assert second.end()[0] == 0
    assert pod.lines == []
    assert pod.entry("8.sft-r8-x") == "released\n"


def test_who_never_lets_go_is_taken_over(pod: Pods) -> None:
    pod.put("OWNER/6.0", "held 2\n")
    pod.put("OWNER/7.0", "held 1\n")
    code, errors = pod.run(sh("log began"), 8, margin=0)
    assert code == 0
    assert "waiting for 6.0 7.0, at most 2 s" in errors
    assert "did not let go: 6.0 7.0; taking over" in errors
    assert pod.lines == ["began"]
    assert [pod.entry("6.0"), pod.entry("7.0")] == ["taken by 8\n"] * 2


def test_the_longer_grace_of_the_run_before_counts(pod: Pods) -> None:
    pod.put("OWNER/7.0", "held 4000\n")
    second = pod.start(sh("log began"), 8, grace=1, margin=0)
    second.says("at most 4000 s")
    second.signal(signal.SIGTERM)
    assert second.end()[0] == 143
    assert pod.lines == []
    assert pod.entry("8.sft-r8-x") == "released\n"


def test_a_killed_guard_is_taken_over(pod: Pods) -> None:
    first = pod.start(sh("log began; exec sleep 300"), 7, grace=1)
    pod.logged("began")
    os.killpg(first.process.pid, signal.SIGKILL)
    first.end()
    assert pod.entry("7.sft-r7-x") == "held 1\n"
    assert pod.run(sh("log after"), 8, margin=0)[0] == 0
    assert pod.lines == ["began", "after"]


def test_a_killed_guard_leaves_nothing_behind_its_command(pod: Pods) -> None:
    first = pod.start(sh('log began; while ! [ -e "$LOG.end" ]; do sleep 0.1; done'), 7)
    pod.logged("began")
    first.signal(signal.SIGKILL)
    assert first.end()[0] == -9
    Path(f"{pod.log}.end").touch()
    first.leaves_nothing()
    assert not pod.complete.exists()


def test_the_same_run_starts_again_at_once(pod: Pods) -> None:
    pod.put("OWNER/7.sft-r7-x", "held 4000\n")
    pod.put("OWNER/7.sft-r7-y", "held 4000\n")
    assert pod.run(sh("log began"), 7)[0] == 0
    assert pod.lines == ["began"]


def test_a_frozen_run_that_wakes_up_later_writes_nothing_more(pod: Pods) -> None:
    # It would go on for a long grace, and call itself complete at its end.
    deaf = sh("trap 'log ignored' TERM; log began; while :; do sleep 0.1; done")
    first = pod.start(deaf, 7, grace=3000)
    pod.logged("began")
    pod.freeze(first)
    pod.put("OWNER/7.sft-r7-x", "held 1\n")
    assert pod.run(sh("log after; exit 3"), 8, margin=0)[0] == 3
    pod.thaw(first)
    assert first.end()[0] == 137
    assert not pod.complete.exists()


def test_a_command_that_does_not_stop_is_killed_after_its_grace(pod: Pods) -> None:
    first = pod.start(
        sh("trap 'log deaf' TERM; log began; while :; do sleep 0.1; done"), 7, grace=2
    )
    pod.logged("began")
    assert pod.run(sh("log after"), 8, margin=300)[0] == 0
    assert first.end()[0] == 137
    assert pod.lines == ["began", "deaf", "after"]


@pytest.mark.parametrize("state", ["held 30", "released", "stopped", "taken by 9", ""])
def test_a_lower_number_never_starts(pod: Pods, state: str) -> None:
    pod.put("OWNER/8.0", f"{state}\n")
    code, errors = pod.run(sh("log began"), 7)
    assert code == 77
    assert f"run 8 owns {pod.folder}" in errors
    assert pod.lines == []
    assert pod.entry("7.sft-r7-x") == "released\n"


def test_numbers_are_compared_as_numbers(pod: Pods) -> None:
    pod.put("OWNER/9.0", "released\n")
    assert pod.run(["true"], 10)[0] == 0
    pod.complete.unlink()
    assert pod.run(["true"], 9)[0] == 77


@pytest.mark.parametrize(
    "text", ["", "garbage", "held", "held many", "held -1", "held 9999999", "\x00"]
)
def test_a_damaged_entry_counts_as_held_for_the_runs_own_grace(pod: Pods, text: str) -> None:
    pod.put("OWNER/7.0", text)
    code, errors = pod.run(sh("log began"), 8, grace=1, margin=0)
    assert code == 0
    assert "waiting for 7.0, at most 1 s" in errors
    assert pod.lines == ["began"]


def test_what_is_no_entry_is_passed_over(pod: Pods) -> None:
    for name in ("x", "9x.0", "99999999999999999999.0", "1e9.0", ".9.0.new", "-9.0", "[0-9]*"):
        pod.put(f"OWNER/{name}", "held 300\n")
    assert pod.run(sh("log began"), 8)[0] == 0
    assert pod.lines == ["began"]


def test_an_entry_that_is_a_folder_is_held(pod: Pods) -> None:
    (pod.folder / "OWNER" / "7.0").mkdir(parents=True)
    assert pod.run(sh("log began"), 8, grace=1, margin=0)[0] == 0
    assert pod.lines == ["began"]


@pytest.mark.parametrize("round", range(3))
def test_of_two_that_start_together_the_higher_one_runs_alone(pod: Pods, round: int) -> None:
    numbers = (7, 8) if round % 2 else (8, 7)
    started = {number: pod.start(training(number), number) for number in numbers}
    pod.logged("8 began")
    code, _ = started[7].end()
    assert code in (77, 143)
    assert pod.lines in (["8 began"], ["7 began", "7 saves", "7 saved", "8 began"])
    started[8].signal(signal.SIGTERM)
    assert started[8].end()[0] == 143


# Several nodes


def test_a_static_run_whose_node_was_told_to_stop_is_not_complete(pod: Pods) -> None:
    """Programs that agree to stop end with 0 on all nodes, also on those that got no signal."""
    first = pod.start(
        sh('log began; while ! [ -e "$LOG.end" ]; do sleep 0.1; done'), RANK="0", PET_NODE_RANK="0"
    )
    other = pod.start(training(7), RANK="1", PET_NODE_RANK="1")
    pod.logged("began")
    pod.logged("7 began")
    other.signal(signal.SIGTERM)
    assert other.end()[0] == 143
    Path(f"{pod.log}.end").touch()
    code, errors = first.end()
    assert (code, "not complete" in errors) == (143, True)
    assert not pod.complete.exists()
    # Both come back, and this time they get to the end.
    assert pod.run(["true"], RANK="1")[0] == 0
    assert pod.run(["true"], RANK="0")[0] == 0
    assert pod.complete.exists()


def test_an_elastic_run_may_lose_a_node_and_be_complete(pod: Pods) -> None:
    other = pod.start(training(7), HOSTNAME="sft-r7-worker-1")
    pod.logged("7 began")
    other.signal(signal.SIGTERM)
    assert other.end()[0] == 143
    assert pod.run(["true"], HOSTNAME="sft-r7-worker-0")[0] == 0
    assert pod.complete.exists()
