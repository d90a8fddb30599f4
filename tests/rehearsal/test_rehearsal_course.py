"""The course of a rehearsal: what is started, under what, and what is tried."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import pytest
from rehearsals import IMAGE, JOB, job, made, parts, played

from compiler.refusals import CompilerError, Unavailable
from compiler.rehearsal import interpreter, keeper
from compiler.rehearsal.casting import Cast
from compiler.rehearsal.picture import BARS, sparkline
from compiler.rehearsal.ports import free_port
from compiler.rehearsal.references import environment, expanded
from compiler.rehearsal.running import Running
from compiler.rehearsal.scale import Scale, with_counts

ROOT = Path(__file__).resolve().parents[2]
# Two processes under a launcher that reads the same variables as torchrun, without torch.
TORCHRUN = """\
import os, signal, subprocess, sys
each, nodes = int(os.environ["PET_NPROC_PER_NODE"]), int(os.environ["PET_NNODES"])
node = int(os.environ.get("PET_NODE_RANK", "0"))
workers = []
for local in range(each):
    env = {**os.environ, "RANK": str(node * each + local), "WORLD_SIZE": str(nodes * each)}
    env.setdefault("MASTER_ADDR", os.environ.get("PET_MASTER_ADDR", "127.0.0.1"))
    env.setdefault("MASTER_PORT", os.environ.get("PET_MASTER_PORT", "0"))
    workers.append(
        subprocess.Popen([sys.executable, *sys.argv[1:]], env=env, start_new_session=True)
    )
def stop(number, frame):
    for worker in workers:
        worker.send_signal(number)
signal.signal(signal.SIGTERM, stop)
sys.exit(1 if any([worker.wait() for worker in workers]) else 0)
"""


def fake_python(folder: Path, launcher: str = TORCHRUN) -> str:
    """A Python with a torch that does nothing, and a torchrun beside it."""
    programs = folder / "bin"
    (folder / "lib" / "torch").mkdir(parents=True)
    (folder / "lib" / "torch" / "__init__.py").write_text("")
    programs.mkdir()
    (programs / "torchrun.py").write_text(launcher)
    start = f'PYTHONPATH="{folder}/lib:$PYTHONPATH" exec "{sys.executable}"'
    (programs / "python").write_text(f'#!/bin/sh\n{start} "$@"\n')
    (programs / "torchrun").write_text(f'#!/bin/sh\n{start} "{programs}/torchrun.py" "$@"\n')
    for path in (programs / "python", programs / "torchrun"):
        path.chmod(0o755)
    return str(programs / "python")


def test_a_run_on_two_nodes_loses_one_goes_on_stops_ends_and_trains_no_more(
    tmp_path: Path,
) -> None:
    account = played(tmp_path, JOB).account
    assert account.outcome == "passed", account.text()
    names = ("start", "checkpoint", "lost node", "stop", "end", "once more")
    assert parts(account) == dict.fromkeys(names, "ok")
    told = {part.name: part.text for part in account.parts}
    assert told["start"] == "2 processes found each other"
    assert re.match(r"node 1 was killed; went on after step [1-9]", told["lost node"])
    assert "at step 60" in told["end"]
    # It went on: no step was told of in the third start that the second had made before.
    starts = [[p.step for p in account.points if p.start == start] for start in range(3)]
    assert starts[0][0] == 1
    assert starts[1][0] > 1
    assert starts[2][0] > starts[1][0]
    assert starts[2][-1] == 60


def test_torchrun_gets_the_counts_of_the_rehearsal(tmp_path: Path) -> None:
    image = IMAGE.replace("[python, train.py]", "[torchrun, train.py]")
    text = job(accelerators="H100:8", num_nodes="4")
    account = played(tmp_path, text, image=image, python=fake_python(tmp_path / "fake")).account
    assert account.outcome == "passed", account.text()
    assert (account.nodes, account.processes) == (2, 2)
    assert account.parts[0].text == "4 processes found each other"
    assert "2 nodes of 2 processes for 4 of 8" in account.changed
    assert "more than 2 nodes at a time" in account.uncovered


# As torchrun of a fixed number of nodes: node 0 keeps a store and closes it late, and who joins the
# one that it has been in already waits for a round that never comes.
STORED = """\
import os, pathlib, time
here = pathlib.Path(__file__)
store, joined = here.with_name("store"), here.with_name("joined")
def alive():
    try:
        os.kill(int(store.read_text() or "0"), 0)
    except (OSError, ValueError):
        return False
    return True
if os.environ.get("PET_NODE_RANK", "0") == "0":
    store.write_text(str(os.getpid()))
else:
    while not alive():
        time.sleep(0.02)
    if joined.exists() and joined.read_text() == store.read_text():
        time.sleep(600)
    joined.write_text(store.read_text())
"""


def test_a_lost_node_of_a_fixed_number_comes_back_after_node_0_has_closed_its_store(
    tmp_path: Path,
) -> None:
    launcher = STORED + TORCHRUN.replace(
        "sys.exit(1 if",
        "codes = [worker.wait() for worker in workers]; time.sleep(1)\nsys.exit(1 if",
    )
    image = IMAGE.replace("[python, train.py]", "[torchrun, train.py]")
    python = fake_python(tmp_path / "fake", launcher)
    text = job(accelerators="H100:8")
    account = played(tmp_path, text, image=image, python=python, seconds=40).account
    assert account.outcome == "passed", account.text()
    assert parts(account)["lost node"] == "ok"


def test_a_batch_job_is_one_node_whose_pod_is_replaced(tmp_path: Path) -> None:
    text = job(
        "command: [bash, -c, 'echo \"pod $HOSTNAME\"; exec python train.py']", num_nodes=None
    )
    done = played(tmp_path, text, more=("--steps", "60"))
    assert done.account.outcome == "passed", done.account.text()
    pods = re.findall(r"^pod (.*)$", done.logs[0], re.MULTILINE)
    assert pods[:2] == ["probe-r1-0", "probe-r1-1"]


def test_arguments_reach_a_training_that_a_script_starts(tmp_path: Path) -> None:
    script = (
        "command:\n  - bash\n  - -c\n  - |\n    python -c 'print(1 + 1)'\n    exec python train.py"
    )
    account = played(tmp_path, job(script, num_nodes=None)).account
    assert account.outcome == "passed", account.text()
    assert "at step 60" in account.parts[-2].text


def test_the_shells_guard_is_rehearsed_with_a_training_that_knows_nothing_of_it(
    tmp_path: Path,
) -> None:
    image = IMAGE.replace("native", "shell")
    text = job("args: [--wrong, 'forgetful,incomplete,plain']")
    done = played(tmp_path, text, image=image)
    assert done.account.outcome == "passed", done.account.text()
    assert parts(done.account)["once more"] == "ok"
    assert "this training is complete" in done.logs[0]
    # Without lines of progress the losses are those that were printed.
    assert done.account.points[0].loss == 2.0


def test_without_a_checkpoint_the_training_is_run_to_its_end_alone(tmp_path: Path) -> None:
    account = played(tmp_path, job(checkpoint=None, retry="{max: 0}")).account
    assert account.outcome == "passed", account.text()
    assert list(parts(account)) == ["start", "end"]


def test_a_run_without_retries_goes_on_as_a_new_one(tmp_path: Path) -> None:
    account = played(tmp_path, job(retry="{max: 0}")).account
    assert account.outcome == "passed", account.text()
    (lost,) = [part for part in account.parts if part.name == "lost node"]
    assert "with `retry: {max: 0}` the loss of a node ends this one" in lost.text


def test_a_training_that_is_too_quick_to_be_stopped_says_what_was_not_tried(
    tmp_path: Path,
) -> None:
    account = played(tmp_path, job(num_nodes=None), more=("--steps", "3")).account
    assert account.outcome == "passed"
    assert "left out" in (parts(account)["checkpoint"], parts(account).get("lost node"))
    assert "stop" not in parts(account)
    assert any("was over too soon" in text for text in account.uncovered)


def test_the_environment_is_the_pods_and_nothing_of_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("USERS_OWN_TOKEN", "do-not-hand-on")
    extra = (
        "command: [bash, -c, 'env; exec python train.py']\n"
        "env: {GREETING: 'hello $(RUN_NAME)', PLAIN: $$(RUN_NAME)}\n"
        "secrets: {HF_TOKEN: hf/token}"
    )
    done = played(tmp_path, job(extra), more=("--steps", "60"))
    assert done.account.outcome == "passed", done.account.text()
    first, second = (
        dict(line.split("=", 1) for line in done.logs[node].splitlines() if re.match(r"\w+=", line))
        for node in (0, 1)
    )
    assert "USERS_OWN_TOKEN" not in first
    assert first["GREETING"] == "hello probe-r1"
    assert first["PLAIN"] == "$(RUN_NAME)"
    assert first["HF_TOKEN"] == "placeholder-HF_TOKEN"
    assert (first["RANK"], second["RANK"]) == ("0", "1")
    assert first["MASTER_ADDR"] == first["PET_MASTER_ADDR"] == "127.0.0.1"
    assert first["MASTER_PORT"] == second["MASTER_PORT"] == first["PET_MASTER_PORT"]
    # The operator's port may be another rehearsal's, here.
    assert first["MASTER_PORT"] != "23456"
    assert (first["HOSTNAME"], second["HOSTNAME"]) == ("probe-r1-master-0", "probe-r1-worker-0")
    assert first["CHECKPOINT_DIR"] == second["CHECKPOINT_DIR"] == "/ckpt/west/nlp/probe/r1"
    assert first["CUDA_VISIBLE_DEVICES"] == ""
    assert "placeholders stand for HF_TOKEN" in done.account.changed


def test_a_claim_is_shared_and_mounted_files_are_there(tmp_path: Path) -> None:
    extra = (
        "command: [bash, -c, 'cat /etc/words/text.yaml; touch /logs/$PET_NODE_RANK; "
        "ls /logs; exec python train.py']\n"
        "files: {/etc/words/text.yaml: configs/words.yaml}\n"
        "mounts: {/logs: {claim: logs}}"
    )
    files = {"configs/words.yaml": "out: /logs/here\n"}
    done = played(tmp_path, job(extra), files, more=("--steps", "60"))
    assert done.account.outcome == "passed", done.account.text()
    # Both nodes see what both have written, and the file's path is one of the container.
    assert "out: /logs/here" in done.logs[0]
    assert any(re.search(r"^0\n1$", text, re.MULTILINE) for text in done.logs.values())


def test_a_mount_within_the_images_folder_is_found_by_a_relative_path(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "words.txt").write_text("these are the words")
    extra = "args: [--read, data/words.txt]\nmounts: {/app/data: {claim: logs}}"
    done = played(tmp_path, job(extra, num_nodes=None), mounts={"/app/data": data})
    assert done.account.outcome == "passed", done.account.text()
    assert "these are the words" in done.logs[0]


def test_nothing_of_a_rehearsal_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    account = played(tmp_path, job("args: [--wrong, orphan]", num_nodes=None)).account
    assert account.outcome == "passed", account.text()
    assert list((tmp_path / "temporary").iterdir()) == []
    assert keeper.belonging(str(tmp_path / "temporary")) == set()


def command(root: Path, *words: str) -> list[str]:
    return [sys.executable, "-m", "compiler", "--repo", str(root), "rehearse", *words]


def environment_of(folder: Path) -> dict[str, str]:
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_a_rehearsal_is_ended_nothing_runs_on(number: int, tmp_path: Path) -> None:
    root = tmp_path / "repository"
    made(
        root,
        job("args: [--wrong, 'orphan,deaf', --steps, '999999']", num_nodes=None),
        image=IMAGE.replace('tiny: [--steps, "60"]\n', ""),
    )
    program = subprocess.Popen(
        command(root, "probe", "--python", sys.executable),
        env=environment_of(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stderr is not None
    for line in program.stderr:
        if "telling all nodes" in line:
            break
    temporary = tmp_path / "temporary"
    assert len(keeper.belonging(str(temporary))) >= 2
    program.send_signal(number)
    program.communicate()
    assert program.returncode in (130, 143, -9)
    until = time.monotonic() + 30
    while keeper.belonging(str(temporary)) or any(temporary.iterdir()):
        assert time.monotonic() < until, keeper.belonging(str(temporary))
        time.sleep(0.05)


def test_the_verb_prints_the_account_and_keeps_what_is_asked_for(tmp_path: Path) -> None:
    root, kept = tmp_path / "repository", tmp_path / "kept"
    made(root, job(num_nodes=None))
    done = subprocess.run(
        command(root, "probe", "--python", sys.executable, "--format", "json", "-o", str(kept)),
        env=environment_of(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    schema = json.loads((ROOT / "schemas" / "rehearse.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator(schema).validate(said)
    assert (said["outcome"], said["run"], said["problems"]) == ("passed", "probe-r1", [])
    names = {path.name for path in kept.iterdir()}
    assert names == {"loss.svg", "node-0.log", "rehearse.json", "rehearse.txt"}
    picture = ElementTree.parse(kept / "loss.svg").getroot()
    lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 3
    # A loss that falls is a line that goes down, which is where y grows.
    points = [tuple(map(float, pair.split(","))) for pair in lines[0].get("points", "").split()]
    assert points == sorted(points)


def test_a_job_with_errors_is_not_rehearsed(tmp_path: Path) -> None:
    root = tmp_path / "repository"
    made(root, JOB)
    (root / "jobs/nlp/probe.yaml").write_text(job(queue="nowhere"))
    done = subprocess.run(
        command(root, "probe"),
        env=environment_of(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "unknown-queue" in done.stderr
    assert "nothing to rehearse until the errors above are gone" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("probe", "--mount", "/nowhere=."), "probe-r1 mounts nothing at /nowhere"),
        (("probe", "--mount", "data"), "`data` is no mount"),
        (("probe", "--folder", "no/such"), "there is no folder no/such"),
        (("probe", "--nodes", "0"), "`0` is no number from 1 to 16"),
        (("probe", "--timeout", "soon"), "`soon` is no number of seconds"),
        (("probe", "--args", "'open"), "No closing quotation"),
        (("foreign",), "the image tts is no folder of images/"),
    ],
)
def test_wrong_use_is_refused_in_one_line(
    words: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    root = tmp_path / "repository"
    made(root, JOB, {"jobs/nlp/foreign.yaml": job("command: [python, t.py]", image="tts")})
    done = subprocess.run(
        command(root, *words),
        env=environment_of(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_stands_for_a_foreign_image(tmp_path: Path) -> None:
    code = tmp_path / "code"
    code.mkdir()
    shutil.copy(Path(__file__).with_name("training.py"), code / "main.py")
    text = job("command: [python, main.py, --steps, '60']", image="tts", num_nodes=None)
    account = played(tmp_path, text, folder=code).account
    assert account.outcome == "passed", account.text()
    assert parts(account)["lost node"] == "ok"
    assert "the image: a folder stands for it" in account.uncovered
    assert sorted(path.name for path in code.iterdir()) == ["main.py"]


def test_without_torch_anywhere_the_command_that_gets_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable) as refused:
        interpreter.find(tmp_path, None, "torch")
    assert "no .venv-images/" in str(refused.value)
    assert "make images-setup" in refused.value.help


def test_a_named_python_without_torch_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unavailable) as refused:
        interpreter.find(tmp_path, sys.executable, "no_such_module")
    assert "has no no_such_module" in str(refused.value)


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("$(A)", "1"),
        ("$$(A)", "$(A)"),
        ("$$$(A)", "$1"),
        ("$(B)", "$(B)"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("a$$b", "a$b"),
    ],
)
def test_references_are_put_in_as_kubernetes_does(text: str, result: str) -> None:
    assert expanded(text, {"A": "1"}) == result


def test_a_variable_sees_those_before_it_only() -> None:
    listed = [
        {"name": "FIRST", "value": "$(SECOND)"},
        {"name": "SECOND", "value": "2"},
        {"name": "THIRD", "value": "$(FIRST)$(SECOND)"},
        {"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    found = environment(listed, "a-pod")
    assert found == {"FIRST": "$(SECOND)", "SECOND": "2", "THIRD": "$(SECOND)2", "POD": "a-pod"}


class Ended:
    """A node's process that has ended, or runs until it is killed."""

    def __init__(self, code: int | None) -> None:
        self.code = code

    def kill(self) -> None:
        self.code = -9

    def settle(self) -> None:
        """Everything has been read."""


def running(*codes: int | None, elastic: bool) -> Running:
    cast = Cast([], [], None, 0, {})
    found = Running(cast, 0.5, one_ends_all=elastic)
    found.processes = {index: Ended(code) for index, code in enumerate(codes)}  # type: ignore[assignment]
    return found


def test_an_elastic_run_is_over_when_one_node_has_succeeded() -> None:
    nodes = running(0, 1, None, elastic=True)
    assert nodes.wait(lambda: False) == "ended"
    assert nodes.processes[2].code == -9


def test_a_run_of_fixed_size_is_over_when_all_nodes_have_succeeded() -> None:
    assert running(0, 1, elastic=False).wait(lambda: False) == "failed"
    assert running(0, None, elastic=False).wait(lambda: False) == "late"
    assert running(0, 0, elastic=False).wait(lambda: False) == "ended"


def test_variables_that_double_each_other_are_refused_before_they_fill_the_memory() -> None:
    listed = [{"name": "V0", "value": "x" * 100}]
    listed += [{"name": f"V{n}", "value": f"$(V{n - 1})" * 2} for n in range(1, 60)]
    with pytest.raises(CompilerError, match="over 128 KiB with its variables put in"):
        environment(listed, "a-pod")


@pytest.mark.parametrize(
    ("words", "result"),
    [
        (
            ["torchrun", "--nproc_per_node", "8", "a.py"],
            ["torchrun", "--nproc_per_node", "2", "a.py"],
        ),
        (
            ["torchrun", "--nnodes=4", "--nproc-per-node=gpu"],
            ["torchrun", "--nnodes=3", "--nproc-per-node=2"],
        ),
        (["--nnodes", "2:4"], ["--nnodes", "3"]),
        (
            ["accelerate", "launch", "--num_processes", "32"],
            ["accelerate", "launch", "--num_processes", "6"],
        ),
        (
            ["bash", "-c", "torchrun --nproc_per_node 8 a.py 8"],
            ["bash", "-c", "torchrun --nproc_per_node 2 a.py 8"],
        ),
        (
            ["bash", "-c", "torchrun --nproc_per_node gpu a.py gpu"],
            ["bash", "-c", "torchrun --nproc_per_node 2 a.py gpu"],
        ),
        (["--nproc_per_node", "$PET_NPROC_PER_NODE"], ["--nproc_per_node", "$PET_NPROC_PER_NODE"]),
    ],
)
def test_written_counts_become_those_of_the_rehearsal(words: list[str], result: list[str]) -> None:
    assert with_counts(words, Scale(3, 2, 20)) == result


def test_bars_follow_the_values() -> None:
    assert sparkline([]) == ""
    assert sparkline([1.0, 1.0]) == BARS[0] * 2
    assert sparkline([8, 7, 6, 5, 4, 3, 2, 1]) == BARS[::-1]
    assert len(sparkline(list(range(1000)))) == 32


def test_a_free_port_is_not_given_twice_while_it_is_used() -> None:
    import socket

    with socket.create_server(("127.0.0.1", free_port())) as server:
        assert free_port() != server.getsockname()[1]
