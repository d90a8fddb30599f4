"""The rule about tensor, pipeline, context and expert parallelism."""

from __future__ import annotations

import pytest
from declarations import findings, job, only, spot

from compiler.diagnostics import Severity


def split(nodes: str, *words: str, command: str = "") -> str:
    listed = ", ".join(f'"{word}"' for word in words)
    return job(f"num_nodes: {nodes}\n{command}args: [{listed}]")


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("4", ["--tensor-model-parallel-size=8", "--pipeline-model-parallel-size=4"]),
        ("4", ["--tensor-model-parallel-size", "8", "--pipeline-model-parallel-size", "2"]),
        ("{min: 2, max: 4}", ["--tensor-model-parallel-size=8"]),
        (
            "2",
            [
                "--parallelism.tensor_parallel_degree=4",
                "--parallelism.data_parallel_shard_degree=4",
            ],
        ),
        (
            "2",
            [
                "--parallelism.tensor_parallel_degree=4",
                "--parallelism.data_parallel_shard_degree=-1",
            ],
        ),
        # Two models, each with a split of its own.
        ("2", ["actor.tensor_model_parallel_size=16", "critic.pipeline_model_parallel_size=16"]),
        # The last one wins.
        ("2", ["model.tensor_model_parallel_size=3", "++model.tensor_model_parallel_size=4"]),
        # Where a value is not known, nothing is.
        ("2", ["--tensor-model-parallel-size=$(TP)", "--pipeline-model-parallel-size=2"]),
        ("2", ["--tensor-model-parallel-size=auto"]),
        ("2", ["--sequence-parallel", "--num-layers=3"]),
        # Experts have tensor parallelism of their own, and none of context.
        (
            "1",
            [
                "--context-parallel-size=4",
                "--pipeline-model-parallel-size=2",
                "--expert-model-parallel-size=4",
                "--expert-tensor-parallel-size=1",
            ],
        ),
    ],
)
def test_a_split_that_fits_is_left_alone(nodes: str, words: list[str]) -> None:
    text = split(nodes, *words)
    # TP is not a variable of the job: another rule says so.
    found = [item for item in findings(text) if item.rule != "unknown-reference"]
    assert [item.message for item in found] == []


@pytest.mark.parametrize(
    ("nodes", "words", "message"),
    [
        (
            "3",
            ["--tensor-model-parallel-size=8", "--pipeline-model-parallel-size=4"],
            "8 x 4 = 32 does not divide the 24 processes of the run (3 x H100:8)",
        ),
        (
            "2",
            ["++model.tensor_model_parallel_size=8", "model.context_parallel_size=4"],
            "8 x 4 = 32 does not divide the 16 processes",
        ),
        (
            "2",
            [
                "--parallelism.tensor_parallel_degree=2",
                "--parallelism.data_parallel_shard_degree=4",
            ],
            "2 x 4 = 8 is not the 16 processes",
        ),
        (
            "2",
            [
                "--parallelism.tensor_parallel_degree",
                "8",
                "--parallelism.pipeline_parallel_degree",
                "4",
            ],
            "8 x 4 = 32 does not divide the 16 processes",
        ),
        ("1", ["--pipe-parallel-size=3"], "3 does not divide the 8 processes"),
        (
            "2",
            ["--tensor-model-parallel-size=2", "--expert-model-parallel-size=16"],
            "2 x 16 = 32 does not divide the 16 processes",
        ),
        (
            "{min: 2, max: 4}",
            ["--tensor-model-parallel-size=8", "--pipeline-model-parallel-size=2"],
            "8 x 2 = 16 does not divide the 24 processes of 3 nodes",
        ),
        (
            "{min: 1, max: 4}",
            ["--tensor-model-parallel-size=16"],
            "16 does not divide the 8 processes of 1 node",
        ),
    ],
)
def test_a_split_that_does_not_fit_is_an_error(nodes: str, words: list[str], message: str) -> None:
    item = only("parallelism-mismatch", findings(split(nodes, *words)))
    assert item.severity is Severity.ERROR
    assert message in item.message
    assert (item.place.path, item.place.line) == ("jobs/example.yaml", 8)


@pytest.mark.parametrize(
    ("nodes", "words", "remedy"),
    [
        ("3", ["--tensor-model-parallel-size=32"], "change a degree, or write num_nodes: 4"),
        ("3", ["--tensor-model-parallel-size=5"], "change a degree"),
        (
            "4",
            ["--a.tensor_parallel_degree=8", "--a.data_parallel_shard_degree=2"],
            "change a degree, or write num_nodes: 2",
        ),
        (
            "{min: 1, max: 3}",
            ["--tensor-model-parallel-size=16"],
            "change a degree, or write num_nodes: {min: 2, max: 2}",
        ),
        (
            "{min: 1, max: 4}",
            ["--tensor-model-parallel-size=16"],
            "change a degree, or take a fixed number of nodes",
        ),
    ],
)
def test_the_advice_passes_by_itself(nodes: str, words: list[str], remedy: str) -> None:
    item = only("parallelism-mismatch", findings(split(nodes, *words)))
    assert item.help == remedy
    if "num_nodes: " in remedy:
        assert findings(split(remedy.partition("num_nodes: ")[2], *words)) == []


def test_variables_of_a_script_are_put_in() -> None:
    text = job(
        "env: {PP: '3'}\n"
        "command:\n  - bash\n  - -c\n  - |\n    TP=8\n    torchrun train.py \\\n"
        "      --tensor-model-parallel-size ${TP} \\\n      --pipeline-model-parallel-size $PP\n"
    )
    item = only("parallelism-mismatch", findings(text))
    assert "`--tensor-model-parallel-size ${TP}`" in item.message
    assert "8 x 3 = 24 does not divide the 8 processes" in item.message


def test_a_variable_that_a_script_changes_is_not_known() -> None:
    script = "TP=3; if true; then TP=8; fi; torchrun t.py --tensor-model-parallel-size $TP"
    assert findings(job(f'command: [bash, -c, "{script}"]')) == []


def test_degrees_of_accelerate_stand_before_the_script() -> None:
    words = "--use_megatron_lm, --megatron_lm_tp_degree=3, train.py"
    item = only("parallelism-mismatch", findings(job(f"command: [accelerate, launch, {words}]")))
    assert spot(item) == "jobs/example.yaml:7:50"


def test_each_degree_is_shown() -> None:
    text = job("args:\n  - --tensor-model-parallel-size=8\n  - --pipeline-model-parallel-size=2")
    item = only("parallelism-mismatch", findings(text))
    assert spot(item) == "jobs/example.yaml:8:5"
    assert [related.place.line for related in item.related] == [9]


def test_a_run_on_cpus_has_as_many_processes_as_its_launcher_says() -> None:
    text = job(
        accelerators=None,
        image="ddp-mini",
        queue="data",
        cpu="8",
        memory="16Gi",
        command="[torchrun, --nproc_per_node=4, train.py, --tensor-model-parallel-size=4]",
    )
    assert findings(text) == []


@pytest.mark.parametrize(
    ("nodes", "words", "column", "remedy"),
    [
        ("4", ["trainer.devices=8", "trainer.num_nodes=2"], 29, "write 4 for 2"),
        ("4", ["++trainer.devices=4", "++trainer.num_nodes=4"], 8, "write 8 for 4"),
        ("2", ["--trainer.devices=8", "--trainer.num_nodes", "4"], 31, "write 2 for 4"),
        ("{min: 2, max: 4}", ["trainer.devices=8", "trainer.num_nodes=8"], 29, "write 4 for 8"),
    ],
)
def test_another_shape_of_a_trainer_is_a_warning(
    nodes: str, words: list[str], column: int, remedy: str
) -> None:
    item = only("trainer-shape-mismatch", findings(split(nodes, *words)))
    assert item.severity is Severity.WARNING
    assert spot(item) == f"jobs/example.yaml:8:{column}"
    assert item.help == remedy


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ("4", ["trainer.devices=8", "trainer.num_nodes=4"]),
        ("4", ["trainer.devices=-1", "trainer.num_nodes=4"]),
        ("4", ["trainer.devices=auto", "trainer.num_nodes=1"]),
        ("4", ["trainer.devices=8"]),
        ("4", ["other.devices=8", "other.num_nodes=1"]),
        ("{min: 1, max: 8}", ["trainer.devices=8", "trainer.num_nodes=2"]),
    ],
)
def test_a_shape_that_the_run_can_have_is_left_alone(nodes: str, words: list[str]) -> None:
    assert [item.message for item in findings(split(nodes, *words))] == []
