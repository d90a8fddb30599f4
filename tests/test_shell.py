"""Scripts as a shell reads them."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler import shell
from compiler.launch import starts_torchrun


@pytest.mark.parametrize(
    ("script", "commands"),
    [
        ("torchrun train.py", [["torchrun", "train.py"]]),
        ("a 'b c' \"d e\"", [["a", "b c", "d e"]]),
        ("a \\\n  b \\\n  c", [["a", "b", "c"]]),
        ("a && b || c; d | e & f", [["a"], ["b"], ["c"], ["d"], ["e"], ["f"]]),
        ("a # b\nc", [["a"], ["c"]]),
        ("a b#c", [["a", "b#c"]]),
        ("a > out.log 2>&1 b", [["a", "b"]]),
        ("a <<EOF\ntorchrun x\nEOF\nb", [["a"], ["b"]]),
        ("a <<-'END'\n\tx\n\tEND\nb", [["a"], ["b"]]),
        ("a $(b c; d) `e f` ${g:-h i}", [["a", "$(b c; d)", "`e f`", "${g:-h i}"]]),
        ('a "$(b "c d")" e', [["a", '$(b "c d")', "e"]]),
        ("a 'open", [["a", "open"]]),
        ('a "open', [["a", "open"]]),
        ("", []),
        ("(a; b)", [["a"], ["b"]]),
        ("a \\\r\n b", [["a", "b"]]),
    ],
)
def test_commands_are_split_as_a_shell_does(script: str, commands: list[list[str]]) -> None:
    assert shell.commands(script) == commands


@pytest.mark.parametrize(
    ("words", "index"),
    [
        (["bash", "-c", "x"], 2),
        (["/bin/sh", "-euxc", "x", "y"], 2),
        (["bash", "--login", "-o", "pipefail", "-c", "x"], 5),
        (["bash", "-c", "--", "x"], 3),
        (["bash", "start.sh", "-c", "x"], None),
        (["bash"], None),
        (["bash", "-c"], None),
        (["python", "-c", "x"], None),
    ],
)
def test_the_script_of_a_shell_is_found(words: list[str], index: int | None) -> None:
    assert shell.script_index(words) == index


@pytest.mark.parametrize(
    ("script", "names"),
    [
        ("echo $A ${B} ${C:-1} ${D:?} ${#E}", {"A", "B", "D", "E"}),
        ("echo '$A' \\$B \"$C\" # $D", {"C"}),
        ('echo "it\'s $A"', {"A"}),
    ],
)
def test_variables_are_those_that_the_shell_reads(script: str, names: set[str]) -> None:
    assert {use.name for use in shell.uses(script) if not use.optional} == names


def test_what_a_script_assigns_is_its_own() -> None:
    script = "A=1; export B=2\nread -r C\nfor D in 1; do E+=x; done\necho F=G"
    assert {"A", "B", "C", "D", "E"} <= shell.assigned(script)


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab $(){}'\"\\`\n#<>;&|-=E@!\r\t", max_size=60))
def test_no_script_is_too_strange(script: str) -> None:
    words = [word for command in shell.commands(script) for word in command]
    assert sum(map(len, words)) <= len(script)
    list(shell.uses(script))
    shell.assigned(script)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("torchrun", "t.py"), True),
        (("/opt/venv/bin/torchrun", "t.py"), True),
        (("python", "-m", "torch.distributed.run", "t.py"), True),
        (("python", "/opt/venv/bin/torchrun", "t.py"), True),
        (("uv", "run", "torchrun", "t.py"), True),
        (("bash", "-c", "set -e\nexec torchrun t.py"), True),
        (("accelerate", "launch", "t.py"), True),
        (("python", "torchrun_notes.py"), False),
        (("echo", "torchrun"), False),
        (("bash", "-c", "# torchrun\npython t.py"), False),
        (("accelerate", "config"), False),
        (("--config", "x"), False),
        ((), False),
    ],
)
def test_torchrun_is_known_by_what_is_started(words: tuple[str, ...], expected: bool) -> None:
    assert starts_torchrun(words) is expected
