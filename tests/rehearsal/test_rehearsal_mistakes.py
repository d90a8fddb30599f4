"""What a rehearsal says of jobs that would fail, and which line it names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rehearsals import IMAGE, job, parts, place, played, problem

from compiler.rehearsal.scene import excerpt

JOB = "jobs/nlp/probe.yaml"


def wrong(*words: str, **fields: str | None) -> str:
    """The job on one node, with a training that does these things wrong."""
    fields.setdefault("num_nodes", None)
    return job(f"args: [--wrong, {','.join(words)!r}]", **fields)


def test_a_program_that_is_not_there_is_named_at_its_word_of_the_command(tmp_path: Path) -> None:
    account = played(tmp_path, job("command:\n  - pyhton\n  - train.py", num_nodes=None)).account
    found = problem(account)
    assert (found.kind, place(found)) == ("command-not-found", f"{JOB}:9:5")
    assert "`pyhton`" in found.message
    assert account.outcome == "failed"
    assert parts(account) == {"start": "failed"}


def test_a_program_behind_the_guard_is_named_all_the_same(tmp_path: Path) -> None:
    image = IMAGE.replace("native", "shell").replace("[python,", "[pyhton,")
    found = problem(played(tmp_path, job(num_nodes=None), image=image).account)
    assert (found.kind, place(found)) == ("command-not-found", "images/counter/image.yaml:1:9")


def test_a_program_within_a_script_is_named_at_the_script(tmp_path: Path) -> None:
    text = job("command: [bash, -c, 'exec pyhton train.py']", num_nodes=None)
    found = problem(played(tmp_path, text).account)
    assert (found.kind, place(found)) == ("command-not-found", f"{JOB}:8:21")


def test_a_script_that_is_not_there_is_named_at_its_word(tmp_path: Path) -> None:
    image = IMAGE.replace("workdir: /app\n", "")
    text = job("command: [python, trian.py]", num_nodes=None)
    found = problem(played(tmp_path, text, image=image).account)
    assert (found.kind, place(found)) == ("script-not-found", f"{JOB}:8:19")
    assert "trian.py" in found.message


def test_a_module_that_is_not_there_is_named_where_it_is_started(tmp_path: Path) -> None:
    image = IMAGE.replace("workdir: /app\n", "")
    text = job("command: [python, -m, trianer]", num_nodes=None)
    found = problem(played(tmp_path, text, image=image).account)
    assert (found.kind, place(found)) == ("module-not-found", f"{JOB}:8:23")
    assert not found.here


def test_a_package_that_is_not_there_may_be_in_the_image(tmp_path: Path) -> None:
    account = played(tmp_path, wrong("module")).account
    found = problem(account)
    assert (found.kind, place(found)) == ("module-not-found", f"{JOB}:2:8")
    assert "`no_such_package`" in found.message
    assert account.outcome == "incomplete"


def test_an_unknown_argument_is_named_at_its_word(tmp_path: Path) -> None:
    text = job("args:\n  - --steps=9\n  - --lerning-rate=3", num_nodes=None)
    found = problem(played(tmp_path, text).account)
    assert (found.kind, place(found)) == ("bad-argument", f"{JOB}:10:5")
    assert "unrecognized arguments: --lerning-rate=3" in found.message


def test_a_value_of_the_wrong_type_is_named_at_its_argument(tmp_path: Path) -> None:
    image = IMAGE.replace('tiny: [--steps, "60"]\n', "")
    text = job("args: {pace: 0.1, steps: many}", num_nodes=None)
    found = problem(played(tmp_path, text, image=image).account)
    assert (found.kind, found.field, found.place.line) == ("bad-argument", "args", 8)
    assert "invalid int value: 'many'" in found.message


def test_a_wrong_argument_of_the_small_profile_is_named_in_the_image(tmp_path: Path) -> None:
    image = IMAGE.replace("[--steps,", "[--stops,")
    found = problem(played(tmp_path, job(num_nodes=None), image=image).account)
    assert (found.kind, place(found)) == ("bad-argument", "images/counter/image.yaml:4:7")


def test_a_path_that_no_mount_leads_to_is_named_at_its_argument(tmp_path: Path) -> None:
    text = job("args: [--read, /datasets/words.txt]", num_nodes=None)
    account = played(tmp_path, text).account
    found = problem(account)
    assert (found.kind, place(found)) == ("path-not-mounted", f"{JOB}:8:16")
    assert account.outcome == "failed"


def test_an_empty_mount_is_no_mistake_of_the_job(tmp_path: Path) -> None:
    extra = "args: [--read, /data/words.txt]\nmounts:\n  /data: {claim: datasets, read_only: true}"
    image = IMAGE.replace('tiny: [--steps, "60"]\n', "")
    account = played(tmp_path, job(extra, num_nodes=None), image=image).account
    found = problem(account)
    assert (found.kind, found.field, found.place.line) == ("no-data", "mounts", 10)
    assert "--mount /data=DIR" in found.help
    assert account.outcome == "incomplete"


@pytest.mark.parametrize(
    "command",
    [
        "args: [--read, /data/words.txt]",
        "args: {read: /data/words.txt}",
        "command: [bash, -c, 'exec python train.py --read /data/words.txt']",
    ],
)
def test_a_small_profile_does_without_what_an_empty_mount_would_hold(
    command: str, tmp_path: Path
) -> None:
    extra = f"{command}\nmounts:\n  /data: {{claim: datasets, read_only: true}}"
    account = played(tmp_path, job(extra, num_nodes=None)).account
    assert account.outcome == "passed", account.text()
    assert any(re.match(r"--read[ =]/data/words.txt is left out", t) for t in account.changed)


def test_a_mount_that_is_given_is_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "words.txt").write_text("these are the words")
    extra = "args: [--read, /data/words.txt]\nmounts:\n  /data: {claim: datasets, read_only: true}"
    done = played(tmp_path, job(extra, num_nodes=None), mounts={"/data": data})
    assert done.account.outcome == "passed", done.account.text()
    assert "these are the words" in done.logs[0]


def test_writing_to_a_read_only_mount_is_told_at_the_mount(tmp_path: Path) -> None:
    mounts = "mounts:\n  /data: {claim: datasets, read_only: true}"
    extra = f"args: [--write, /data/new.txt, --steps, '60']\n{mounts}"
    image = IMAGE.replace('tiny: [--steps, "60"]\n', "")
    account = played(tmp_path, job(extra, num_nodes=None), image=image).account
    found = problem(account)
    assert (found.kind, found.place.line) == ("read-only", 10)


def test_a_world_of_another_size_is_told_at_the_command(tmp_path: Path) -> None:
    text = job("args: [--wrong, alone]")
    account = played(tmp_path, text).account
    found = problem(account)
    assert (found.kind, place(found)) == ("wrong-world-size", "images/counter/image.yaml:1:9")
    assert "has 1 processes, and should have 2" in found.message


def test_a_training_that_saves_nothing_is_told_at_checkpoint(tmp_path: Path) -> None:
    account = played(tmp_path, wrong("unsaved", "incomplete")).account
    found = problem(account)
    assert (found.kind, place(found)) == ("no-checkpoint", f"{JOB}:7:13")
    assert parts(account)["checkpoint"] == "failed"


def test_a_training_that_begins_anew_is_told_at_checkpoint(tmp_path: Path) -> None:
    account = played(tmp_path, wrong("anew")).account
    found = problem(account)
    assert (found.kind, place(found)) == ("not-resumed", f"{JOB}:7:13")
    assert "and began anew" in found.message


def test_a_training_that_does_not_heed_a_stop_is_told_at_its_grace(tmp_path: Path) -> None:
    account = played(
        tmp_path, wrong("deaf") + "stop: {grace: 2s}\n", more=("--steps", "250")
    ).account
    found = problem(account)
    assert (found.kind, found.place.line) == ("ignores-stop", 9)
    assert "2 s after SIGTERM" in found.message
    # The rest is tried all the same.
    assert parts(account)["once more"] == "ok"


def test_a_stop_that_saves_nothing_is_told_and_no_mistake(tmp_path: Path) -> None:
    account = played(tmp_path, wrong("careless")).account
    assert account.outcome == "passed"
    assert any("a stop saves nothing" in text for text in account.uncovered)


def test_a_finished_run_that_trains_again_is_told_at_the_image(tmp_path: Path) -> None:
    account = played(tmp_path, wrong("forgetful", "anew")).account
    kinds = {found.kind for found in account.problems}
    assert kinds == {"not-resumed"}
    account = played(tmp_path / "b", wrong("forgetful")).account
    found = problem(account)
    assert (found.kind, place(found)) == ("trains-again", f"{JOB}:2:8")


def test_a_finished_run_that_is_not_marked_complete_is_told_at_the_image(tmp_path: Path) -> None:
    found = problem(played(tmp_path, wrong("incomplete")).account)
    assert (found.kind, place(found)) == ("not-complete", f"{JOB}:2:8")


def test_any_other_end_is_told_with_its_code_and_last_words(tmp_path: Path) -> None:
    found = problem(played(tmp_path, wrong("exit-3")).account)
    assert (found.kind, place(found)) == ("exit-code", "images/counter/image.yaml:1:9")
    assert "ended with 3" in found.message
    assert found.output == "this is why"
    assert found.node == 0


def test_code_that_needs_an_accelerator_says_nothing_of_the_cluster(tmp_path: Path) -> None:
    account = played(tmp_path, wrong("nccl")).account
    assert problem(account).kind == "needs-accelerator"
    assert account.outcome == "incomplete"


def test_a_training_that_shows_nothing_is_ended_in_time(tmp_path: Path) -> None:
    account = played(tmp_path, wrong("hang"), seconds=2).account
    found = problem(account)
    assert found.kind == "timeout"
    assert "within 2 s" in found.message
    assert parts(account) == {"start": "failed"}


def test_of_a_flood_the_last_words_are_kept(tmp_path: Path) -> None:
    done = played(tmp_path, wrong("flood"))
    assert problem(done.account).output.endswith("the last words")
    assert len(done.logs[0]) < 5 << 20
    assert "bytes left out" in done.logs[0]


@pytest.mark.parametrize("form", ["pod", "job"])
def test_paths_of_this_machine_are_shown_as_those_of_the_container(
    form: str, tmp_path: Path
) -> None:
    text = "args: [--read, train.txt]" if form == "pod" else "args: [--read, /app/train.txt]"
    found = problem(played(tmp_path, job(text, num_nodes=None)).account)
    assert "rehearsal-" not in found.output
    assert "rehearsal-" not in found.message


def test_of_torchrun_and_its_program_the_program_is_heard() -> None:
    text = """\
step 1
Traceback (most recent call last):
  File "/app/train.py", line 3, in <module>
    load()
ValueError: no such tokenizer
E1130 15:46:39.668000 16279 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode)
Traceback (most recent call last):
  File "/opt/venv/bin/torchrun", line 10, in <module>
    sys.exit(main())
             ^^^^^^
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-30_15:46:39
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 16431)
============================================================
"""
    shown = excerpt(text).splitlines()
    assert shown[-1] == "ValueError: no such tokenizer"
    assert shown[0] == "step 1"
