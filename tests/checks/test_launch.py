"""Rules about launchers: their flags, the shape of the run, elastic runs."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, only, policy, spot

from compiler.diagnostics import Severity

STATIC = "num_nodes: 4\n"
ELASTIC = "num_nodes: {min: 2, max: 4}\n"
ETCD = ELASTIC + 'elastic: {backend: etcd, endpoint: "e:2379"}\n'


def told(text: str) -> list[tuple[str, int | None, int | None]]:
    """Rule, line and column of everything that is found in the job itself."""
    return [(f.rule, f.place.line, f.place.column) for f in findings(text)]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(job(STATIC + "command: [torchrun, train.py]"), id="no flags"),
        pytest.param(
            job(STATIC + "command: [torchrun, --nproc_per_node=8, --nnodes=4, train.py]"),
            id="flags that agree",
        ),
        pytest.param(
            job(STATIC + "command: [torchrun, --nproc-per-node, gpu, train.py]"), id="words for all"
        ),
        pytest.param(
            job(
                STATIC
                + "command: [torchrun, --nnodes=$(PET_NNODES), --node_rank, $(RANK), train.py]"
            ),
            id="values of the operator",
        ),
        pytest.param(
            job(STATIC + 'command: [bash, -c, "torchrun --nproc_per_node $N --nnodes=${M} t.py"]'),
            id="values of the shell",
        ),
        pytest.param(
            job(STATIC + "command: [torchrun, train.py, --num_processes=3, --num_nodes=2]"),
            id="words of the script's own",
        ),
        pytest.param(
            job(STATIC + 'command: [bash, -c, "# torchrun --nnodes=9\\nexec torchrun t.py"]'),
            id="a comment in a script",
        ),
        pytest.param(job(STATIC + "command: [./start.sh, --fast]"), id="a program of one's own"),
        pytest.param(
            job(STATIC + 'command: [bash, -c, "python prepare.py && ./start.sh"]'),
            id="python before another program",
        ),
        pytest.param(
            job(
                STATIC
                + "command: [accelerate, launch, --multi_gpu, --num_processes=32, "
                + "--num_machines=4, --machine_rank, $(PET_NODE_RANK), --main_process_ip, "
                + "$(MASTER_ADDR), --main_process_port, $(MASTER_PORT), train.py]"
            ),
            id="accelerate over all nodes",
        ),
        pytest.param(
            job(
                STATIC
                + "command: [deepspeed, --hostfile=/etc/hosts.txt, --num_gpus=8, "
                + "--num_nodes, '4', train.py]"
            ),
            id="deepspeed",
        ),
        pytest.param(job("command: [torchrun, --standalone, train.py]"), id="one node alone"),
        pytest.param(
            job("command: [torchrun, --master_port=29501, train.py]"), id="a port on one node"
        ),
        pytest.param(job(ELASTIC + 'command: [torchrun, "--nnodes=2:4", t.py]'), id="the range"),
        pytest.param(
            job("num_nodes: {min: 2, max: 2}\ncommand: [torchrun, --nnodes=2, t.py]"),
            id="a range of one number",
        ),
        pytest.param(
            job(ELASTIC + 'elastic: {backend: etcd, endpoint: "etcd.infra:2379"}'), id="etcd"
        ),
        pytest.param(
            job(
                accelerators=None,
                image="ddp-mini",
                queue="data",
                cpu="8",
                memory="16Gi",
                command="[torchrun, --nproc_per_node=4, train.py]",
            ),
            id="processes on CPUs",
        ),
    ],
)
def test_a_command_that_fits_the_run_is_clean(text: str) -> None:
    assert told(text) == []


@pytest.mark.parametrize(
    ("command", "column", "named"),
    [
        ("[torchrun, --nproc_per_node=4, train.py]", 21, "`--nproc_per_node=4`"),
        ('[torchrun, --nproc-per-node, "4", train.py]', 21, "`--nproc-per-node 4`"),
        ("[torchrun, --nproc=16, train.py]", 21, "`--nproc=16`"),
        ("[python3, -m, torch.distributed.run, --nproc_per_node=4, t.py]", 47, "node=4`"),
        ("[python, -u, -m, torch.distributed.launch, --nproc_per_node=1, t.py]", 53, "node=1`"),
        ("[env, A=1, torchrun, --nproc_per_node=4, t.py]", 31, "`--nproc_per_node=4`"),
        ('[bash, -lc, "cd /w && exec torchrun --nproc_per_node=4 t.py"]', 22, "node=4`"),
        ("[deepspeed, --num_gpus=4, -H, hosts, train.py]", 22, "`--num_gpus=4`"),
        ("[torchrun, --nproc_per_node=cpu, train.py]", 21, "for each core"),
        ("torchrun --nproc_per_node=4 train.py", 10, "`--nproc_per_node=4`"),
    ],
)
def test_another_number_of_processes_is_an_error(command: str, column: int, named: str) -> None:
    found = only("process-count-mismatch", findings(job(f"{STATIC}command: {command}")))
    assert spot(found) == f"jobs/example.yaml:8:{column}"
    assert found.severity is Severity.ERROR
    assert named in found.message
    assert "8 processes on a node" in found.message
    assert "write 8" in found.help


def test_a_flag_in_a_folded_script_is_found() -> None:
    text = job(
        STATIC
        + "command:\n  - bash\n  - -c\n  - >\n    exec torchrun\n    --nproc_per_node 4\n"
        + '    --nnodes "${PET_NNODES}"\n    train.py\n'
    )
    assert told(text) == [("process-count-mismatch", 11, 5)]


def test_a_flag_over_continued_lines_is_found() -> None:
    text = job(
        STATIC
        + "command:\n  - bash\n  - -c\n  - |\n    exec torchrun \\\n      --nnodes 3 \\\n"
        + '      --rdzv_id "${RUN_NAME}" train.py\n'
    )
    found = only("node-count-mismatch", findings(text))
    assert "`--nnodes 3`, but the run has 4 nodes" in found.message


def test_processes_of_accelerate_count_over_all_nodes() -> None:
    found = only(
        "process-count-mismatch",
        findings(job(STATIC + "command: [accelerate, launch, --num_processes=8, t.py]")),
    )
    assert "32 processes over all nodes" in found.message
    assert found.help == "write 32, and --num_machines 4 beside it"


def test_auto_without_accelerators_is_an_error() -> None:
    text = job(
        accelerators=None,
        image="ddp-mini",
        queue="data",
        cpu="8",
        memory="16Gi",
        command="[torchrun, --nproc_per_node=auto, train.py]",
    )
    found = only("process-count-mismatch", findings(text))
    assert "each core of the node" in found.message
    assert "write 1" in found.help


def test_arguments_by_name_are_judged_at_their_values() -> None:
    assert told(job(STATIC + "args: {nproc_per_node: 4, master_port: 2057}")) == [
        ("process-count-mismatch", 8, 24),
        ("rendezvous-port-mismatch", 8, 40),
    ]


def test_a_command_of_the_image_is_judged_where_it_stands() -> None:
    image = policy(
        "images/llm-sft/image.yaml",
        ("entry: [torchrun, train.py]", "entry: [torchrun, --nproc_per_node=4, train.py]"),
    )
    found = only("process-count-mismatch", findings(job(STATIC), image))
    assert spot(found) == "images/llm-sft/image.yaml:4:19"
    assert [(r.place.path, r.message) for r in found.related] == [
        ("jobs/example.yaml", "in this job")
    ]


@pytest.mark.parametrize(
    "command", ["[python, train.py]", '[bash, -c, "pip install x; python3 -u train.py"]']
)
def test_one_process_for_several_accelerators_is_a_warning(command: str) -> None:
    found = only("missing-launcher", findings(job(f"{STATIC}command: {command}")))
    assert found.severity is Severity.WARNING
    assert "8 accelerators" in found.message
    assert "torchrun" in found.help


def test_one_process_for_one_accelerator_is_fine() -> None:
    text = job(accelerators="H100:1", command="[python, train.py]")
    assert of("missing-launcher", findings(text)) == []


@pytest.mark.parametrize(
    ("extra", "line", "column", "wanted"),
    [
        (STATIC + "command: [torchrun, --nnodes=2, t.py]", 8, 21, "write 4"),
        (STATIC + 'command: [torchrun, --nnodes, "1:4", t.py]', 8, 21, "write 4"),
        (STATIC + "command: [torchrun, --standalone, t.py]", 8, 21, "take it out"),
        (STATIC + "command: [torchrun, t.py, --nnodes=2]", 8, 27, "write 4"),
        (STATIC + 'command: [accelerate, launch, --num_machines, "2", t.py]', 8, 31, "write 4"),
        (STATIC + "command: [deepspeed, --num_nodes=2, t.py]", 8, 22, "write 4"),
        (ELASTIC + "command: [torchrun, --nnodes=4, t.py]", 8, 21, "write 2:4"),
        (ELASTIC + 'command: [torchrun, "--nnodes=1:4", t.py]', 8, 21, "write 2:4"),
        ("command: [torchrun, --nnodes=2, t.py]", 7, 21, "write 1"),
    ],
)
def test_another_number_of_nodes_is_an_error(
    extra: str, line: int, column: int, wanted: str
) -> None:
    found = only("node-count-mismatch", findings(job(extra)))
    assert spot(found) == f"jobs/example.yaml:{line}:{column}"
    assert wanted in found.help


@pytest.mark.parametrize(
    ("extra", "line", "column", "help"),
    [
        (STATIC + "host_network: true\nargs: [--master_port=2057]", 9, 8, "$(MASTER_PORT)"),
        (STATIC + "command: [torchrun, --master_port=2057, t.py]", 8, 21, "take it out"),
        (
            f'{ETCD}command: [torchrun, --rdzv-endpoint, "e:2057", t.py]',
            9,
            21,
            "RDZV_ENDPOINT",
        ),
        (
            STATIC + 'command: [bash, -c, "accelerate launch --main_process_port 1 t.py"]',
            8,
            21,
            "${",
        ),
    ],
)
def test_a_port_of_ones_own_is_an_error(extra: str, line: int, column: int, help: str) -> None:
    found = only("rendezvous-port-mismatch", findings(job(extra)))
    assert spot(found) == f"jobs/example.yaml:{line}:{column}"
    assert help in found.help


def test_the_port_that_the_run_has_is_fine() -> None:
    assert told(job(STATIC + "command: [torchrun, --master_port=23456, t.py]")) == []


@pytest.mark.parametrize(
    ("extra", "line", "column"),
    [
        (STATIC + "command: [torchrun, --node_rank=0, t.py]", 8, 21),
        (STATIC + 'command: [accelerate, launch, --machine-rank, "1", t.py]', 8, 31),
        (STATIC + 'command: [torchrun, --node-rank, "1", t.py]\nmaster: {memory: 1000Gi}', 8, 21),
    ],
)
def test_one_rank_for_several_nodes_is_an_error(extra: str, line: int, column: int) -> None:
    found = of("fixed-node-rank", findings(job(extra)))
    assert [spot(item) for item in found] == [f"jobs/example.yaml:{line}:{column}"]


def test_a_rank_of_each_of_two_nodes_is_fine() -> None:
    text = job(
        "num_nodes: 2\ncommand: [torchrun, --node_rank=1, t.py]\n"
        "master: {command: [torchrun, --node_rank=0, t.py]}\n"
    )
    assert of("fixed-node-rank", findings(text)) == []


def test_a_mistake_that_first_and_other_nodes_share_is_told_once() -> None:
    text = job(STATIC + "master: {memory: 1000Gi}\ncommand: [torchrun, --nnodes=3, t.py]")
    assert told(text) == [("node-count-mismatch", 9, 21)]


def test_a_mistake_on_the_first_node_stands_in_its_block() -> None:
    text = job(STATIC + "master:\n  command: [torchrun, --nnodes=3, t.py]")
    assert told(text) == [("node-count-mismatch", 9, 23)]


@pytest.mark.parametrize(
    ("extra", "line", "column", "wanted"),
    [
        ("num_nodes: {min: 4, max: 2}", 7, 18, "num_nodes: {min: 2, max: 4}"),
        (STATIC + "elastic: {max_restarts: 3}", 8, 1, "num_nodes: {min: 2, max: 4}"),
    ],
)
def test_a_range_that_cannot_be_is_an_error(
    extra: str, line: int, column: int, wanted: str
) -> None:
    found = only("elastic-range", findings(job(extra)))
    assert spot(found) == f"jobs/example.yaml:{line}:{column}"
    assert wanted in found.help


def test_elastic_settings_of_a_team_do_not_bind_static_jobs() -> None:
    team = policy(
        "policy/teams/nlp.yaml", ("defaults:\n", "defaults:\n  elastic: {max_restarts: 9}\n")
    )
    assert findings(job(STATIC), team) == []


def test_bounds_under_elastic_are_told_where_they_belong() -> None:
    found = findings(job(STATIC + "elastic: {min: 1, max: 4}"))
    assert {item.rule for item in found} == {"unknown-key"}


def test_a_master_of_an_elastic_run_is_an_error() -> None:
    found = only("elastic-with-master", findings(job(ELASTIC + "master: {memory: 1000Gi}")))
    assert spot(found) == "jobs/example.yaml:8:1"


@pytest.mark.parametrize(
    ("command", "column"),
    [
        ("[python, train.py]", 11),
        ("[accelerate, launch, train.py]", 11),
        ('[sh, -c, "exec deepspeed t.py"]', 19),
    ],
)
def test_an_elastic_run_needs_torchrun(command: str, column: int) -> None:
    found = only("elastic-without-launcher", findings(job(f"{ELASTIC}command: {command}")))
    assert spot(found) == f"jobs/example.yaml:8:{column}"


@pytest.mark.parametrize(
    ("elastic", "column", "wanted"),
    [
        ("{backend: etcd}", 20, 'endpoint: "HOST:2379"'),
        ("{backend: etcd-v2, max_restarts: 1}", 20, "c10d"),
        ("{backend: etcd, endpoint: etcd.infra}", 36, '"etcd.infra:2379"'),
        ('{endpoint: "x:1"}', 21, "take `endpoint` out"),
        ('{backend: c10d, endpoint: "x:1"}', 36, "take `endpoint` out"),
    ],
)
def test_etcd_alone_needs_a_host_and_a_port(elastic: str, column: int, wanted: str) -> None:
    found = only("missing-rendezvous-endpoint", findings(job(f"{ELASTIC}elastic: {elastic}")))
    assert spot(found) == f"jobs/example.yaml:8:{column}"
    assert wanted in found.help


OLD = policy("images/llm-sft/image.yaml", ("torch: 2.15.0", "torch: 2.9.1"))


@pytest.mark.parametrize(
    ("extra", "files", "expected"),
    [
        ("stop: {grace: 10m}", OLD, ["jobs/example.yaml:7:15"]),
        ("", OLD, ["policy/teams/nlp.yaml:22:17"]),
        ("stop: {grace: 30s}", OLD, []),
        ("stop: {grace: 10m}", {}, []),
        ("stop: {grace: 10m}\ncommand: [./train]", OLD, []),
    ],
    ids=["job", "team", "built in", "new torch", "another program"],
)
def test_a_grace_that_an_old_torchrun_cuts_off(
    extra: str, files: dict[str, str], expected: list[str]
) -> None:
    found = of("grace-beyond-launcher", findings(job(extra), files))
    assert [spot(item) for item in found] == expected
    assert all(item.severity is Severity.WARNING for item in found)
    assert all("torch 2.9.1" in item.message for item in found)


TOLD = policy("policy/rules.yaml", ('deadline-not-timed: "off"', "deadline-not-timed: notice"))
EAST = """\
team: speech
image: asr-rocm
command: [torchrun, -m, asr.train]
accelerators: MI300X:8
num_nodes: 2
max_duration: 24h
"""


def test_a_deadline_without_a_clock_is_noticed() -> None:
    found = of("deadline-not-timed", findings(EAST, TOLD))
    assert [(spot(item), item.severity) for item in found] == [
        ("jobs/example.yaml:6:15", Severity.NOTICE)
    ]
    assert [item.place.path for item in found[0].related] == ["policy/clusters/east.yaml"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(job(STATIC), id="kueue"),
        pytest.param(job(), id="batch job"),
    ],
)
def test_a_deadline_with_a_clock_is_fine(text: str) -> None:
    assert of("deadline-not-timed", findings(text, TOLD)) == []


@pytest.mark.parametrize(
    ("command", "column"),
    [
        ("[torchrun]", 11),
        ("[torchrun, --standalone]", 11),
        ("[python, -m, torch.distributed.run]", None),
        ("[/bin/bash, -c]", 22),
        ("[sh, -euxc]", 15),
        ('[bash, -c, ""]', 21),
        ('[timeout, 1h, sh, -c, " # later"]', 32),
        ("[torchrun, --help]", 0),
        ("[torchrun, train.py]", 0),
        ("[bash, -c, torchrun train.py]", 0),
    ],
)
def test_a_launcher_or_shell_has_something_to_start(command: str, column: int | None) -> None:
    found = of("nothing-to-start", findings(job(f"command: {command}")))
    assert len(found) == (0 if column == 0 else 1)
    if column:
        assert spot(found[0]) == f"jobs/example.yaml:7:{column}"
