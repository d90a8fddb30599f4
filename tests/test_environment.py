"""What a process finds in its environment, and the page that says so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from declarations import TODAY, job, repository

from compiler import environment
from compiler.model import Run
from compiler.project import Project
from compiler.repository import Repository

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "environment.md"
EAST = """\
team: speech
image: tts
accelerators: A100-80GB:8
max_duration: 24h
"""
TABLES = {
    "identity": environment.listing(environment.IDENTITY),
    "shapes": environment.table(),
    "launched": environment.listing(environment.LAUNCHED),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(Repository(repository(tmp_path_factory.mktemp("environment"))), at=TODAY)


def run(project: Project, text: str) -> tuple[Run, str]:
    """The run of a clean job, and the name of its back end."""
    path = project.repository.root / "jobs" / "example.yaml"
    path.write_text(text, "utf-8")
    (made,) = project.judge(path).runs
    return made.run, made.site.backend


def added(project: Project, text: str, node: int = 0) -> dict[str, str]:
    made, backend = run(project, text)
    return environment.added(made, backend, node)


def test_a_batch_job_has_two_variables(project: Project) -> None:
    assert added(project, job()) == {"PET_NPROC_PER_NODE": "8", "PET_NNODES": "1"}


def test_the_added_variables_of_a_batch_job_are_in_its_object(project: Project) -> None:
    path = project.repository.root / "jobs" / "example.yaml"
    path.write_text(job(), "utf-8")
    (made,) = project.judge(path).runs
    container = made.objects[0]["spec"]["template"]["spec"]["containers"][0]
    written = {variable["name"]: variable["value"] for variable in container["env"]}
    assert environment.added(made.run, "job").items() <= written.items()
    assert environment.identity_names(made.run) <= set(written)


def test_one_node_under_the_operator_is_its_own_master(project: Project) -> None:
    assert added(project, EAST) == {
        "PYTHONUNBUFFERED": "1",
        "MASTER_PORT": "23456",
        "PET_MASTER_PORT": "23456",
        "MASTER_ADDR": "example-r1-master-0",
        "PET_MASTER_ADDR": "example-r1-master-0",
        "WORLD_SIZE": "8",
        "RANK": "0",
        "PET_NODE_RANK": "0",
        "PET_NPROC_PER_NODE": "8",
        "PET_NNODES": "1",
    }


def test_ranks_of_a_static_run_count_nodes_and_its_world_processes(project: Project) -> None:
    values = added(project, job("num_nodes: 4"), node=3)
    assert (values["RANK"], values["PET_NODE_RANK"]) == ("3", "3")
    assert (values["WORLD_SIZE"], values["PET_NNODES"]) == ("32", "4")
    assert not any(name.startswith("PET_RDZV") for name in values)


def test_an_elastic_run_has_a_rendezvous_and_no_master(project: Project) -> None:
    text = job('num_nodes: {min: 2, max: 4}\nelastic: {conf: {join_timeout: "900", b: "c"}}')
    assert added(project, text) == {
        "PYTHONUNBUFFERED": "1",
        "PET_NPROC_PER_NODE": "8",
        "PET_NNODES": "2:4",
        "PET_RDZV_ENDPOINT": "example-r1-worker-0:23456",
        "PET_RDZV_BACKEND": "c10d",
        "PET_MAX_RESTARTS": "3",
        "PET_RDZV_ID": "example-r1",
        "PET_RDZV_CONF": "join_timeout=900,b=c",
    }


ELASTIC = "num_nodes: {min: 2, max: 4}"
OWN_STORE = "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        (ELASTIC, "1"),
        (f"{ELASTIC}\ncommand: [bash, -c, exec torchrun train.py]", "1"),
        (f"{ELASTIC}\nenv: {{{OWN_STORE}: '0'}}", "0"),
        (f"{ELASTIC}\ncommand: [/opt/start]", "1"),
        ("num_nodes: 4", None),
    ],
)
def test_nodes_of_an_elastic_run_can_join_late(
    project: Project, more: str, expected: str | None
) -> None:
    path = project.repository.root / "jobs" / "example.yaml"
    path.write_text(job(more), "utf-8")
    (made,) = project.judge(path).runs
    for replica in made.objects[0]["spec"]["pytorchReplicaSpecs"].values():
        container = replica["template"]["spec"]["containers"][0]
        values = [one["value"] for one in container["env"] if one["name"] == OWN_STORE]
        assert values == ([expected] if expected else [])


def test_an_endpoint_of_ones_own_is_the_endpoint(project: Project) -> None:
    text = job('num_nodes: {min: 2, max: 4}\nelastic: {backend: etcd, endpoint: "etcd.infra:2379"}')
    values = added(project, text)
    assert (values["PET_RDZV_BACKEND"], values["PET_RDZV_ENDPOINT"]) == ("etcd", "etcd.infra:2379")
    assert "PET_RDZV_CONF" not in values


def test_the_port_of_the_hosts_network_is_the_one_that_the_object_declares(
    project: Project,
) -> None:
    path = project.repository.root / "jobs" / "example.yaml"
    path.write_text(job("num_nodes: 2\nhost_network: true"), "utf-8")
    (made,) = project.judge(path).runs
    master = made.objects[0]["spec"]["pytorchReplicaSpecs"]["Master"]
    ports = master["template"]["spec"]["containers"][0]["ports"]
    declared = {port["name"]: port["containerPort"] for port in ports}
    values = environment.added(made.run, "pytorchjob")
    assert values["MASTER_PORT"] == str(declared["pytorchjob-port"]) != "23456"


def test_what_torchrun_is_told_is_what_the_object_says(project: Project) -> None:
    path = project.repository.root / "jobs" / "example.yaml"
    path.write_text(job("num_nodes: {min: 2, max: 4}\nelastic: {max_restarts: 7}"), "utf-8")
    (made,) = project.judge(path).runs
    policy = made.objects[0]["spec"]["elasticPolicy"]
    values = environment.added(made.run, "pytorchjob")
    assert values["PET_NPROC_PER_NODE"] == made.objects[0]["spec"]["nprocPerNode"]
    assert values["PET_NNODES"] == f"{policy['minReplicas']}:{policy['maxReplicas']}"
    assert values["PET_MAX_RESTARTS"] == str(policy["maxRestarts"]) == "7"
    assert values["PET_RDZV_ID"] == policy["rdzvId"]


def test_identity_has_a_checkpoint_folder_only_with_a_checkpoint(project: Project) -> None:
    with_one, _ = run(project, job())
    without, _ = run(project, job(image="ddp-mini", checkpoint=None))
    assert environment.identity_names(with_one) == set(environment.IDENTITY) - {"CHECKPOINT_FROM"}
    assert not any(name.startswith("CHECKPOINT_") for name in environment.identity_names(without))


def test_checkpoint_settings_reach_the_process(project: Project) -> None:
    path = project.repository.root / "jobs" / "example.yaml"
    block = "{claim: checkpoints, path: /ckpt/, every: 30m, keep: 3, from: r2}"
    path.write_text(job(checkpoint=block), "utf-8")
    (made,) = project.judge(path).runs
    env = made.objects[0]["spec"]["template"]["spec"]["containers"][0]["env"]
    values = {item["name"]: item.get("value") for item in env}
    assert values["CHECKPOINT_DIR"] == "/ckpt/west/nlp/example/r1"
    assert values["CHECKPOINT_EVERY"] == "1800"
    assert values["CHECKPOINT_KEEP"] == "3"
    assert values["CHECKPOINT_FROM"] == "/ckpt/west/nlp/example/r2"


@pytest.mark.parametrize(
    ("retry", "policy", "limit"), [("{max: 0}", "Never", 0), ("{max: 2}", "OnFailure", 9)]
)
def test_restarts_are_always_written_out_and_limited(
    project: Project, retry: str, policy: str, limit: int
) -> None:
    path = project.repository.root / "jobs" / "example.yaml"
    path.write_text(job(f"num_nodes: 4\nretry: {retry}"), "utf-8")
    (made,) = project.judge(path).runs
    spec = made.objects[0]["spec"]
    assert spec["runPolicy"]["backoffLimit"] == limit
    roles = spec["pytorchReplicaSpecs"]
    assert {role["restartPolicy"] for role in roles.values()} == {policy}


def test_the_page_has_the_tables_of_the_code(update_golden: bool) -> None:
    text = PAGE.read_text("utf-8")

    def fresh(match: re.Match[str]) -> str:
        return f"<!-- table: {match[1]} -->\n{TABLES[match[1]]}<!-- end -->"

    block = re.compile(r"<!-- table: (\w+) -->\n.*?<!-- end -->", re.DOTALL)
    assert set(block.findall(text)) == set(TABLES)
    if update_golden:
        PAGE.write_text(block.sub(fresh, text), "utf-8")
    assert PAGE.read_text("utf-8") == block.sub(fresh, text)


def test_the_links_of_the_page_lead_somewhere() -> None:
    links = re.findall(r"\]\((rules/)([a-z-]+)\.md\)", PAGE.read_text("utf-8"))
    from compiler.rules import registered

    assert len(links) >= 4
    assert {name for _, name in links} <= set(registered())
