"""Rules about the words of commands and the variables in them."""

from __future__ import annotations

import json

import pytest
from declarations import findings, job, of, only, spot

from compiler.diagnostics import Severity

STATIC = "num_nodes: 4\n"
ELASTIC = "num_nodes: {min: 2, max: 4}\n"


def told(text: str) -> list[tuple[str, int | None, int | None]]:
    """Rule, line and column of everything that is found."""
    return [(f.rule, f.place.line, f.place.column) for f in findings(text)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(job('env: {PYTHONUNBUFFERED: "1", PET_LOG_DIR: /logs}'), id="harmless names"),
        pytest.param(job(STATIC + 'env: {PET_MAX_RESTARTS: "3"}'), id="restarts without elastic"),
        pytest.param(
            job(accelerators="H100:1", command="[python, t.py]", env="{MASTER_ADDR: localhost}"),
            id="a batch Job of plain python",
        ),
        pytest.param(
            job(
                STATIC
                + "init:\n  - {name: a, image: data-tools, command: [x], env: {RANK: one}}\n"
                + "sidecars:\n  - {name: b, image: gpu-exporter, env: {RUN_NAME: mine, RANK: one}}"
            ),
            id="names that do not reach a container",
        ),
        pytest.param(
            job(
                STATIC
                + "args: [--rank=$(RANK), --run=$(RUN_NAME), "
                + '--api=$(KUBERNETES_SERVICE_HOST), "$$(X)"]'
            ),
            id="references to what is there",
        ),
        pytest.param(
            job('env: {OUT: "$(ROOT)/x", ROOT: /ckpt, RUN: "$(RUN_NAME)", T: "$$(NO)"}'),
            id="references in env in any order",
        ),
        pytest.param(
            job('secrets: {TOKEN: hf/token}\nenv: {URL: "https://x:$(TOKEN)@host"}'),
            id="a reference to a secret",
        ),
        pytest.param(
            job('args: ["cost $5", "50$", "a$b", "${model.lr}", "$$RANK", "US$"]'),
            id="other dollars",
        ),
        pytest.param(job('env: {GREETING: "by$$WORD", NOTE: "${home}"}'), id="dollars in env"),
        pytest.param(
            job(
                'command: [bash, -c, "torchrun t.py --at=$HOME --n=$(nproc) '
                '--t=${X:-1} $(date +%s)"]'
            ),
            id="a shell that runs",
        ),
        pytest.param(
            job('command: [bash, -c, "exec torchrun t.py \\"$@\\"", --]\nargs: [--lr, "1"]'),
            id="a script that takes arguments",
        ),
        pytest.param(job('command: [bash, -o, pipefail, -ec, "torchrun t.py", bash]'), id="a name"),
        pytest.param(job("command: [bash, start.sh, --lr, 1]"), id="a script file"),
        pytest.param(
            job('args: [--prompt, "--why not", "two words", "--x=a b"]'), id="words with spaces"
        ),
        pytest.param(job('command: ["/opt/my tools/train", --lr, 1]'), id="a path with a space"),
        pytest.param(
            job(STATIC + 'command: [bash, -c, "torchrun --master_addr ${MASTER_ADDR} t.py"]'),
            id="the address of a static run",
        ),
        pytest.param(
            job(ELASTIC + 'command: [bash, -c, "torchrun --rdzv_id ${PET_RDZV_ID} t.py"]'),
            id="the rendezvous of an elastic run",
        ),
        pytest.param(
            job('command: [bash, -c, "RANK=0; echo ${RANK} ${WORLD_SIZE:-1}; exec torchrun t.py"]'),
            id="what a script sets itself",
        ),
        pytest.param(
            job("command: [bash, -c, \"torchrun --no-python bash -c 'echo $LOCAL_RANK'\"]"),
            id="what the processes read",
        ),
        pytest.param(
            job('command: [bash, -c, ". /etc/node.env; torchrun --node_rank $NODE_RANK t.py"]'),
            id="what another file may set",
        ),
    ],
)
def test_words_and_variables_that_work_are_clean(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("extra", "line", "column", "why"),
    [
        (STATIC + 'env: {WORLD_SIZE: "2"}', 8, 7, "the operator appends its own"),
        (STATIC + "secrets: {MASTER_ADDR: hf/token}", 8, 11, "the operator appends its own"),
        (STATIC + "env: {PET_RDZV_ID: x}", 8, 7, "`--rdzv_id`"),
        (STATIC + 'env: {LOCAL_RANK: "0"}', 8, 7, "torchrun gives each process its own"),
        (STATIC + 'env: {NODE_RANK: "0"}', 8, 7, "the same on all nodes"),
        (ELASTIC + 'env: {PET_NNODES: "2"}', 8, 7, "the operator appends its own"),
        (ELASTIC + "env: {MASTER_ADDR: a}", 8, 7, "torchrun gives each process its own"),
        ('env: {PET_NPROC_PER_NODE: "2"}', 7, 7, "follows from `accelerators`"),
        (
            STATIC
            + "pod: {spec: {containers: [{name: b, env: [{name: RANK, value: a}], image: 'registry."
            + f"example.com/mirror/b@sha256:{'ab' * 32}'}}]}}}}",
            8,
            43,
            "the operator appends its own",
        ),
        (
            STATIC
            + "pod:\n  spec:\n    containers:\n      - name: pytorch\n        env:\n"
            + '          - {name: WORLD_SIZE, value: "2"}',
            13,
            13,
            "the operator appends its own",
        ),
        (
            STATIC + 'master:\n  env: {RANK: "0"}',
            9,
            9,
            "the operator appends its own",
        ),
    ],
)
def test_a_variable_that_is_set_anyway(extra: str, line: int, column: int, why: str) -> None:
    found = only("operator-variable", findings(job(extra)))
    assert spot(found) == f"jobs/example.yaml:{line}:{column}"
    assert found.severity is Severity.ERROR
    assert why in found.message
    assert "take it out" in found.help


@pytest.mark.parametrize(
    ("extra", "line", "column"),
    [
        ("env: {RUN_NAME: mine}", 7, 7),
        ("env: {RUN_NUMBER: 1}", 7, 7),
        ("env: {RUN_LINEAGE: mine}", 7, 7),
        ("env: {SOURCE_COMMIT: abc}", 7, 7),
        ("secrets: {CHECKPOINT_DIR: hf/token}", 7, 11),
        (
            "pod: {spec: {containers: [{name: pytorch, env: [{name: RUN_NAME, value: mine}]}]}}",
            7,
            49,
        ),
    ],
)
def test_a_variable_of_the_runs_identity(extra: str, line: int, column: int) -> None:
    found = only("reserved-variable", findings(job(extra)))
    assert spot(found) == f"jobs/example.yaml:{line}:{column}"


@pytest.mark.parametrize(
    ("extra", "line", "column", "help"),
    [
        (STATIC + "args: [--node_rank=$RANK]", 8, 8, "write $(RANK)"),
        (STATIC + "args: ['--node_rank=${RANK}']", 8, 8, "write $(RANK)"),
        (STATIC + "args: {out: $RUN_NAME/x}", 8, 13, "write $(RUN_NAME)"),
        ("command: [torchrun, t.py, --out, '${OUT:-/tmp}']", 7, 34, "[bash, -c,"),
        ("args: [$HOME/x]", 7, 8, "[bash, -c,"),
        ('args: ["--at=$(date +%s)"]', 7, 8, "[bash, -c,"),
        ("command: [bash, -c, 'torchrun t.py \"$@\"', --, $RUN_NAME]", 7, 47, "$(RUN_NAME)"),
        ('env: {PATH: "/opt/bin:$PATH"}', 7, 13, "export PATH="),
        (
            STATIC + "sidecars:\n  - {name: b, image: gpu-exporter, args: [$RANK]}",
            9,
            43,
            "[bash, -c,",
        ),
        ("init:\n  - {name: b, image: data-tools, command: [cp, $A, /b]}", 8, 48, "[bash, -c,"),
    ],
)
def test_a_shell_variable_without_a_shell(extra: str, line: int, column: int, help: str) -> None:
    found = only("unexpanded-shell-variable", findings(job(extra)))
    assert spot(found) == f"jobs/example.yaml:{line}:{column}"
    assert help in found.help


@pytest.mark.parametrize(
    "command",
    [
        "[bash, -c, 'exec torchrun t.py $A']",
        "[env, B=1, sh, -euc, 'exec torchrun t.py ${A}']",
        "[torchrun, --no-python, sh, -c, 'exec python t.py --of=$RANK']",
    ],
)
def test_a_shell_variable_where_a_shell_runs(command: str) -> None:
    found = findings(job(f"command: {command}"))
    assert not [one for one in found if one.rule == "unexpanded-shell-variable"]


@pytest.mark.parametrize(
    ("extra", "line", "column", "message", "help"),
    [
        ('args: ["$(NOPE)"]', 7, 8, "no variable NOPE", "$$(NOPE)"),
        ('env: {A: "$(NOPE)"}', 7, 10, "no variable NOPE", "set NOPE in env"),
        ('args: ["$(RUN_NAM)"]', 7, 8, "no variable RUN_NAM", "write $(RUN_NAME)"),
        (STATIC + 'env: {A: "$(RANK)"}', 8, 10, "come after the job's own", "in command or args"),
        ('args: ["$(RANK)"]', 7, 8, "a batch Job on one node has no RANK", "take it out"),
        (ELASTIC + 'args: ["$(RANK)"]', 8, 8, "an elastic run has no RANK", "take it out"),
        ('args: ["$(HOME)/x"]', 7, 8, "the image's own", "let a shell read $HOME"),
        ('command: [bash, -c, "torchrun t.py $(NOPE)"]', 7, 21, "no variable NOPE", "NOPE"),
        (
            "sidecars:\n  - {name: b, image: gpu-exporter, args: [$(RUN_NAME)]}",
            8,
            43,
            "no variable RUN_NAME",
            "env",
        ),
        (
            STATIC + "init:\n  - {name: b, image: data-tools, command: [x, $(RANK)]}",
            9,
            47,
            "has no RANK",
            "",
        ),
    ],
)
def test_a_reference_that_nothing_answers(
    extra: str, line: int, column: int, message: str, help: str
) -> None:
    found = only("unknown-reference", findings(job(extra)))
    assert spot(found) == f"jobs/example.yaml:{line}:{column}"
    assert message in found.message
    assert help in found.help


def test_variables_from_elsewhere_may_answer_any_reference() -> None:
    text = job(
        'args: ["$(NOPE)"]\npod:\n  spec:\n    containers:\n      - name: pytorch\n'
        "        envFrom: [{configMapRef: {name: more}}]"
    )
    assert of("unknown-reference", findings(text)) == []


def test_a_variable_of_pod_is_later_than_those_of_env() -> None:
    text = job(
        'env: {A: "$(B)"}\npod:\n  spec:\n    containers:\n      - name: pytorch\n'
        "        env: [{name: B, value: x}]"
    )
    found = of("unknown-reference", findings(text))
    assert [(spot(item), item.help) for item in found] == [
        ("jobs/example.yaml:7:10", "put B before it")
    ]


@pytest.mark.parametrize(
    ("extra", "line", "column", "fixed"),
    [
        ("command: [bash, -c, torchrun, train.py]", 7, 31, '[bash, -c, "torchrun train.py"]'),
        (
            'command: [/bin/sh, -ec, "torchrun t.py"]\nargs: [--note, "a b"]',
            8,
            8,
            "[/bin/sh, -ec, \"torchrun t.py --note 'a b'\"], and take `args` out",
        ),
        (
            "sidecars:\n  - {name: b, image: gpu-exporter, command: [sh, -c, sleep, 1d]}",
            8,
            61,
            '[sh, -c, "sleep 1d"]',
        ),
    ],
)
def test_a_script_in_several_words(extra: str, line: int, column: int, fixed: str) -> None:
    found = only("script-in-several-words", findings(job(extra)))
    assert spot(found) == f"jobs/example.yaml:{line}:{column}"
    assert found.help == f"write {fixed}"


@pytest.mark.parametrize(
    "script",
    [
        "torchrun t.py || true",
        "torchrun t.py | tee /logs/x",
        "torchrun t.py &",
        "torchrun t.py; echo done",
    ],
)
def test_arguments_are_not_advised_behind_what_ends_a_script(script: str) -> None:
    text = job(f'command: [bash, -c, "{script}"]\nargs: [--lr, "1"]')
    (found,) = of("script-in-several-words", findings(text))
    assert found.help == (
        'write the arguments into the script where they belong, or `"$@"` there and -- before '
        "them, and take `args` out"
    )


@pytest.mark.parametrize(
    ("extra", "line", "column", "fixed"),
    [
        ('command: ["torchrun train.py"]', 7, 11, "[torchrun, train.py]"),
        ('command: ["torchrun --lr=1 t.py", --x]', 7, 11, "[torchrun, --lr=1, t.py]"),
        ('command: ["cd /w && torchrun t.py"]', 7, 11, '[bash, -c, "cd /w && torchrun t.py"]'),
        ('command: [torchrun, "train.py --x"]', 7, 21, "train.py, --x as words of their own"),
        ('command: [bash, "./a.sh x"]', 7, 17, "./a.sh, x as words of their own"),
        ('args: ["--lr 1e-4"]', 7, 8, '--lr, "1e-4" as two words, or --lr=1e-4'),
    ],
)
def test_several_words_in_one(extra: str, line: int, column: int, fixed: str) -> None:
    found = only("command-in-one-word", findings(job(extra)))
    assert spot(found) == f"jobs/example.yaml:{line}:{column}"
    assert found.help == f"write {fixed}"


@pytest.mark.parametrize(
    ("extra", "script", "message", "help"),
    [
        (
            STATIC,
            'torchrun --rdzv_endpoint "${PET_RDZV_ENDPOINT}" t.py',
            "several nodes",
            "num_nodes:",
        ),
        (STATIC, "torchrun --node_rank=$NODE_RANK t.py", "a pod has no", "${PET_NODE_RANK}"),
        (STATIC, "echo ${LOCAL_RANK}; exec torchrun t.py", "a pod has no", "each process"),
        (ELASTIC, "torchrun --master_addr=$MASTER_ADDR t.py", "an elastic run", "RDZV_ENDPOINT"),
        (ELASTIC, "echo ${RANK:?}; exec torchrun t.py", "an elastic run", "take it out"),
        ("num_nodes: 1\n", "torchrun --master_addr=$MASTER_ADDR t.py", "batch Job", "no flags"),
    ],
)
def test_a_script_that_reads_what_is_not_there(
    extra: str, script: str, message: str, help: str
) -> None:
    text = job(f"{extra}command: [bash, -c, {json.dumps(script)}]")
    found = only("static-rendezvous-variable", findings(text))
    assert spot(found) == "jobs/example.yaml:8:21"
    assert message in found.message
    assert help in found.help


@pytest.mark.parametrize(
    ("extra", "place"),
    [
        ('env: {A: "x\\0y"}', "7:10"),
        ('env: {"A\\0": x}', None),
        ('command: [torchrun, train.py, "\\x00"]', "7:31"),
        ('pod: {metadata: {annotations: {example.com/a: "\\u0000"}}}', "7:47"),
        ('description: "a\\0b"', None),
        ("env: {A: 'x\\0y'}", None),
    ],
)
def test_no_text_with_a_nul_reaches_a_process(extra: str, place: str | None) -> None:
    found = of("text-with-nul", findings(job(extra)))
    assert [spot(item) for item in found] == ([f"jobs/example.yaml:{place}"] if place else [])
