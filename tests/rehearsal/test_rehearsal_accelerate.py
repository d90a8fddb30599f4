"""What accelerate is given where it sees no accelerators."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from rehearsals import job, made

from compiler.launch import main
from compiler.programs import Container, Word
from compiler.refusals import Unavailable
from compiler.rehearsal.accelerators import single, told, unseen
from compiler.rehearsal.playing import Wish, rehearse
from compiler.rehearsal.scale import Scale

TWO_BY_TWO = Scale(2, 2, 20)


def started(*words: str, seen: int = 8, scale: Scale = TWO_BY_TWO) -> list[str]:
    """The words that a node starts for a command, on whose cluster a node has `seen` devices."""
    launch = main(Container("main", "main", tuple(Word(word, ()) for word in words), (), ()))
    return told(words, unseen(launch, seen, scale), single(launch, scale))


@pytest.mark.parametrize(
    ("command", "result"),
    [
        (
            "accelerate launch --num_processes 4 t.py",
            "accelerate launch --multi_gpu --num_processes 4 t.py",
        ),
        (
            "/opt/bin/accelerate-launch --num_processes=4 t.py launch",
            "/opt/bin/accelerate-launch --multi_gpu --num_processes=4 t.py launch",
        ),
        (
            "python -m accelerate.commands.launch --num-processes 4 t.py",
            "python -m accelerate.commands.launch --multi_gpu --num-processes 4 t.py",
        ),
        # Without a count it takes one for each accelerator that it sees.
        (
            "accelerate launch --num_machines 2 t.py",
            "accelerate launch --multi_gpu --num_processes 2 --num_machines 2 t.py",
        ),
        (
            "accelerate launch --config_file a.yaml t.py",
            "accelerate launch --num_processes 4 --num_machines 2 --config_file a.yaml t.py",
        ),
    ],
)
def test_flags_stand_for_accelerators_that_are_not_there(command: str, result: str) -> None:
    assert started(*command.split()) == result.split()
    script = f"cd /app; exec {command} && echo accelerate launched"
    said = f"cd /app; exec {result} && echo accelerate launched"
    assert started("bash", "-c", script) == ["bash", "-c", said]


@pytest.mark.parametrize(
    "command",
    [
        "accelerate launch --use_fsdp --num_processes 4 t.py",
        "accelerate launch --cpu --num_processes 4 t.py",
        "torchrun t.py accelerate launch",
    ],
)
def test_what_takes_nothing_from_accelerators_is_given_nothing(command: str) -> None:
    assert started(*command.split()) == command.split()


def test_nodes_of_one_accelerator_are_given_no_more_than_on_the_cluster() -> None:
    words = ["accelerate", "launch", "--num_processes", "2", "--num_machines", "2", "t.py"]
    assert started(*words, seen=1) == words


def test_one_process_is_not_told_that_it_is_several() -> None:
    words = ["accelerate", "launch", "--multi_gpu", "--num_processes", "1", "t.py"]
    assert started(*words, scale=Scale(1, 1, 20)) == [*words[:2], *words[3:]]
    script = ["bash", "-c", "accelerate launch --multi_gpu --num_processes 1 t.py"]
    assert started(*script, scale=Scale(1, 1, 20))[2].split() == [*words[:2], *words[3:]]


def test_a_python_without_accelerate_is_refused_with_what_to_do(tmp_path: Path) -> None:
    run = made(tmp_path, job(command="[accelerate, launch, --multi_gpu, train.py]", num_nodes="1"))
    with pytest.raises(Unavailable) as refused:
        rehearse(run, Wish(python=sys.executable), lambda text: None)
    assert "has no accelerate, which the job starts with" in str(refused.value)
    assert "--python PATH" in refused.value.help
