"""Public reports of faults in training YAML, each with the behaviour that is right here.

The table at the end says which tests stand for which report; its ids are those of the list of
reports that these tests answer. Cases of the same kind that nobody reported stand beside them.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from declarations import TODAY, repository
from ruamel.yaml import YAML

from compiler import kustomize, yamlout
from compiler.backends.pytorchjob import PORT
from compiler.build import build
from compiler.diagnostics import Finding, Severity
from compiler.names import LONGEST_JOB
from compiler.project import JobResult, Project
from compiler.repository import Repository

ROOT = Path(__file__).resolve().parents[1]
AVAILABLE = kustomize.all_available(ROOT)
CARRIER = "team: nlp\nimage: ddp-mini\naccelerators: H100:8\nqueue: research\nmax_duration: 24h\n"
TWO = CARRIER + "num_nodes: 2\n"

Run = dict[str, Any]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The example repository without its jobs."""
    root = repository(tmp_path_factory.mktemp("traps") / "repository")
    script = root / "configs" / "windows.sh"
    script.write_bytes(b"#!/bin/sh\r\necho hi\r\n")
    (root / "configs" / "plain.sh").write_bytes(b"#!/bin/sh\necho hi\n")
    return Project(Repository(root), at=TODAY)


Judge = Callable[..., JobResult]


@pytest.fixture
def judge(project: Project) -> Judge:
    """Judges the text of a declaration; `extra` lines follow the carrier."""

    def judged(text: str | bytes, name: str = "probe") -> JobResult:
        data = text.encode() if isinstance(text, str) else text
        return project.judge(project.repository.root / "jobs" / f"{name}.yaml", data)

    return judged


def rules(result: JobResult) -> list[str]:
    return [finding.rule for finding in result.findings]


def only(result: JobResult, rule: str) -> Finding:
    """The one finding, which must be of this rule."""
    assert rules(result) == [rule], result.findings
    return result.findings[0]


def spot(finding: Finding) -> tuple[int | None, int | None]:
    return (finding.place.line, finding.place.column)


def objects(result: JobResult) -> list[Run]:
    assert result.usable, result.findings
    (made,) = result.runs
    return [dict(thing) for thing in made.objects]


def templates(result: JobResult) -> list[Run]:
    """The pod templates of the run's first object, the first node's first."""
    spec = objects(result)[0]["spec"]
    roles = spec.get("pytorchReplicaSpecs")
    return [spec["template"]] if roles is None else [role["template"] for role in roles.values()]


def main(result: JobResult) -> Run:
    """The training container of the last pod template."""
    return templates(result)[-1]["spec"]["containers"][0]


def env(result: JobResult) -> dict[str, Any]:
    return {item["name"]: item.get("value") for item in main(result)["env"]}


# --- readers -------------------------------------------------------------------------------------


def by_ruamel(text: str) -> Any:
    return YAML(typ="safe", pure=True).load(text)


def by_pyyaml(text: str) -> Any:
    return yaml.load(text, yaml.SafeLoader)


def by_libyaml(text: str) -> Any:
    return yaml.load(text, yaml.CSafeLoader)


def by_kubectl(text: str) -> Any:
    """As kubectl reads the file, without a cluster and without kustomize."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not on PATH")
    command = [kubectl, "annotate", "--local", "--filename=-", "--output=json", "seen=yes"]
    done = subprocess.run(command, input=text.encode(), capture_output=True, check=True)
    read = json.loads(done.stdout)
    del read["metadata"]["annotations"]["seen"]
    return read


READERS = [by_ruamel, by_pyyaml, by_libyaml, by_kubectl]
each_reader = pytest.mark.parametrize("reader", READERS)

# Every scalar of the tables, and more of their kind: words, numbers and dates of some reader.
AMBIGUOUS = [
    *("on", "off", "y", "n", "Y", "N", "yes", "no", "NO", "Yes", "True", "FALSE", "true"),
    *("010", "08", "0o10", "0x1F", "0b11", "1_000", "+1", "-0", "1e-5", "1e5", "1.", ".5", "1.50"),
    *("123456789012345678901", ".inf", "-.INF", ".nan", "12:30:00", "1:30", "2024-01-01"),
    *("2001-12-14t21:59:43.10-05:00", "=", "1,000", "0777", "1e3x", "null0", "nil", "None"),
]


@each_reader
def test_b001_bare_words_of_the_declaration_are_text_to_every_reader_of_the_file(
    judge: Judge, reader: Callable[[str], Any]
) -> None:
    names = {f"V{number}": word for number, word in enumerate(AMBIGUOUS)}
    lines = "".join(f"  {name}: {word}\n" for name, word in names.items())
    args = "".join(f"  - {word}\n" for word in AMBIGUOUS)
    labels = "labels: {a: on, b: 010, c: y}\nannotations: {on: off, y: 1e5}\n"
    result = judge(CARRIER + f"{labels}env:\n{lines}args:\n{args}")
    (job, *_) = objects(result)
    read = reader(yamlout.dump(job))
    assert read == job
    container = read["spec"]["template"]["spec"]["containers"][0]
    given = {item["name"]: item.get("value") for item in container["env"]}
    assert {name: given[name] for name in names} == names
    assert container["args"] == AMBIGUOUS
    pod = read["spec"]["template"]["metadata"]
    assert pod["labels"].items() >= {"a": "on", "b": "010", "c": "y"}.items()
    assert pod["annotations"].items() >= {"on": "off", "y": "1e5"}.items()


def test_b001_what_is_printed_does_not_rest_on_kustomize_to_quote_it(judge: Judge) -> None:
    result = judge(CARRIER + 'env: {FLAG: "on", ANSWER: "y", COUNTRY: "NO"}\n')
    text = yamlout.dump_all(objects(result))
    for word in ("on", "y", "NO"):
        assert f'value: "{word}"\n' in text


@pytest.mark.parametrize("word", AMBIGUOUS)
def test_b002_text_keeps_its_letters_wherever_text_is_wanted(judge: Judge, word: str) -> None:
    result = judge(
        CARRIER
        + f"env: {{LR: {word}}}\nargs: [--lr, {word}]\ncommand: [run, {word}]\n"
        + f"sidecars: [{{name: s, image: gpu-exporter, env: {{LR: {word}}}, args: [{word}]}}]\n"
        if "," not in word
        else CARRIER + f"env:\n  LR: {word}\nargs: [--lr, '{word}']\ncommand: [run, '{word}']\n"
    )
    assert env(result)["LR"] == word
    assert main(result)["args"] == ["--lr", word]
    assert main(result)["command"] == ["run", word]


def test_b002_arguments_by_name_keep_their_letters_too(judge: Judge) -> None:
    result = judge(CARRIER + "args: {lr: 1e-5, seed: 010, flag: on, betas: [0.90, 1_0]}\n")
    assert main(result)["args"] == [
        *("--lr=1e-5", "--seed=010", "--flag=on", "--betas=0.90", "--betas=1_0")
    ]


def test_b002_a_number_is_a_number_where_one_is_wanted(judge: Judge) -> None:
    result = judge(CARRIER + "cpu: 5e-1\nmemory: 4e11\n")
    assert main(result)["resources"]["limits"]["cpu"] == "5e-1"
    (made,) = result.runs
    assert made.run.others.cpu is not None
    assert float(made.run.others.cpu.limit.value) == 0.5


def test_b004_unquoted_numbers_and_booleans_are_text_as_written(judge: Judge) -> None:
    result = judge(CARRIER + "env: {EPOCHS: 10, DEBUG: true, PI: 3.10, BIG: 1E400}\n")
    assert env(result).items() >= {"EPOCHS": "10", "DEBUG": "true", "PI": "3.10"}.items()
    assert env(result)["BIG"] == "1E400"


@pytest.mark.parametrize("nothing", ["", "~", "null", "NULL"])
@pytest.mark.parametrize(
    "field", ["env: {{NOTE: {} }}", "args: [a, {}]", "labels: {{a: {} }}", "description: {}"]
)
def test_b004_no_value_where_text_is_wanted_is_one_finding(
    judge: Judge, field: str, nothing: str
) -> None:
    if (field, nothing) == ("args: [a, {}]", ""):
        return  # a comma at the end of a list says nothing
    found = only(judge(CARRIER + field.format(nothing) + "\n"), "empty-value")
    assert found.place.line == 6
    assert '""' in found.help


def test_b004_empty_text_may_be_written(judge: Judge) -> None:
    assert env(judge(CARRIER + 'env: {NOTE: ""}\n'))["NOTE"] == ""


# --- quantities ----------------------------------------------------------------------------------

WRONG_SIZES = [
    ("512m", "memory-in-milli", "0.512 bytes", "512Mi", "512M"),
    ("16gb", "bad-quantity", "`gb`", "16Gi", "16G"),
    ("16GiB", "bad-quantity", "`GiB`", "16Gi", "16G"),
    ("512mi", "bad-quantity", "`mi`", "512Mi", "512M"),
    ("16 Gi", "bad-quantity", "space", "16Gi", "16G"),
    ("16g", "bad-quantity", "`g`", "16Gi", "16G"),
    ("1TB", "bad-quantity", "`TB`", "1Ti", "1T"),
    ("64 GB", "bad-quantity", "`GB`", "64Gi", "64G"),
    ("64kb", "bad-quantity", "`kb`", "64Ki", "64k"),
]


@pytest.mark.parametrize(("size", "rule", "said", "binary", "decimal"), WRONG_SIZES)
@pytest.mark.parametrize(
    "field",
    [
        "memory: {}",
        "shm_size: {}",
        "ephemeral_storage: {}",
        "mounts: {{/x: {{scratch: {} }}}}",
        "memory: {{request: 1Gi, limit: {} }}",
        "sidecars: [{{name: s, image: gpu-exporter, memory: {} }}]",
        "master: {{memory: {} }}",
        "pod: {{spec: {{volumes: [{{name: x, emptyDir: {{sizeLimit: {} }}}}]}}}}",
    ],
)
def test_b006_a_size_that_means_something_else_is_one_finding_that_names_the_unit(
    judge: Judge, field: str, size: str, rule: str, said: str, binary: str, decimal: str
) -> None:
    result = judge(CARRIER + field.format(size) + "\n")
    found = only(result, "bad-pod-field" if field.startswith("pod") else rule)
    assert said in found.message
    assert re.search(rf"\b{binary}\b", found.help)
    assert re.search(rf"\b{decimal}\b", found.help)


def test_b006_decimal_units_are_units(judge: Judge) -> None:
    result = judge(CARRIER + "memory: 1600G\n")
    assert main(result)["resources"]["limits"]["memory"] == "1600G"


def test_b006_sizes_are_compared_as_numbers(judge: Judge) -> None:
    same = "memory: {request: 1024Gi, limit: 1Ti}\n"
    assert judge(CARRIER + same).usable
    more = "memory: {request: 1025Gi, limit: 1Ti}\n"
    assert only(judge(CARRIER + more), "request-above-limit").place.line == 6


@pytest.mark.parametrize("declared", ["accelerators: H100:8", "accelerators: A100-80GB:2"])
def test_b008_accelerators_are_requested_and_limited_alike(judge: Judge, declared: str) -> None:
    result = judge(CARRIER.replace("accelerators: H100:8", declared))
    amounts = main(result)["resources"]
    assert amounts["requests"]["nvidia.com/gpu"] == declared.rpartition(":")[2]
    assert amounts["limits"] == amounts["requests"]


@pytest.mark.parametrize(
    "resources",
    [
        "{requests: {nvidia.com/gpu: 4}}",
        "{limits: {nvidia.com/gpu: 4}}",
        "{requests: {nvidia.com/gpu: 2}, limits: {nvidia.com/gpu: 4}}",
        "{requests: {rdma/hca_shared_devices_a: 1}}",
        "{requests: {hugepages-2Mi: 4Mi}}",
    ],
)
def test_b008_unequal_requests_are_an_error(judge: Judge, resources: str) -> None:
    pod = f"pod: {{spec: {{containers: [{{name: pytorch, resources: {resources}}}]}}}}\n"
    assert "unequal-device-requests" in rules(judge(CARRIER + pod))


# --- names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("length", [LONGEST_JOB + 1, 54, 55, 63, 200])
def test_b009_a_name_that_its_pods_cannot_have_is_an_error_with_a_shorter_one(
    judge: Judge, length: int
) -> None:
    name = ("llm-sft-" * 40)[: length - 1] + "x"
    found = only(judge(TWO, name), "name-too-long-for-pods")
    assert f"has {length} characters" in found.message
    assert f"{LONGEST_JOB} are possible" in found.message
    proposed = re.search(r"call the file (\S+)\.yaml", found.help)
    assert proposed is not None
    assert len(proposed[1]) <= LONGEST_JOB
    assert judge(TWO, proposed[1]).usable


def test_b009_the_longest_name_fits_with_every_suffix(project: Project) -> None:
    """Names of pods are those of Services, 63 characters at most."""
    name = "n" * LONGEST_JOB
    last = Project(project.repository, at=TODAY, number=9999)
    result = last.judge(project.repository.root / "jobs" / f"{name}.yaml", TWO.encode())
    made = objects(result)[0]["metadata"]["name"]
    for suffix in ("-master-0", "-worker-9", "-worker-12", "-worker-9999"):
        assert len(made + suffix) <= 63


@pytest.mark.parametrize("name", ["A", "a_b", "1a", "a.b", "a-", "-a", "café", "a b", "a-r3"])
def test_b009_names_that_no_object_can_have_are_an_error(judge: Judge, name: str) -> None:
    found = only(judge(CARRIER, name), "bad-name")
    assert "call the file " in found.help


# --- launch --------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [CARRIER, TWO, CARRIER + "num_nodes: {min: 1, max: 2}\n"])
def test_b011_the_training_container_comes_first_and_is_called_pytorch(
    judge: Judge, text: str
) -> None:
    sidecar = "sidecars: [{name: aaa, image: gpu-exporter}]\n"
    for template in templates(judge(text + sidecar)):
        pod = template["spec"]
        names = [item["name"] for item in (*pod["containers"], *pod.get("initContainers", ()))]
        assert names[0] == "pytorch"
        assert names.count("pytorch") == 1


@pytest.mark.parametrize(
    "second",
    [
        "sidecars: [{name: pytorch, image: gpu-exporter}]",
        "init: [{name: pytorch, image: gpu-exporter}]",
        "master: {sidecars: [{name: pytorch, image: gpu-exporter}]}",
    ],
)
def test_b011_no_other_container_takes_its_name(judge: Judge, second: str) -> None:
    assert "another name" in only(judge(TWO + second + "\n"), "second-training-container").help


def test_b012_the_number_of_processes_is_written_from_the_accelerators(judge: Judge) -> None:
    assert objects(judge(TWO))[0]["spec"]["nprocPerNode"] == "8"
    cpus = "team: nlp\nimage: ddp-mini\nqueue: data\ncpu: 4\nmemory: 100Gi\nnum_nodes: 2\n"
    assert objects(judge(cpus + "max_duration: 1h\n"))[0]["spec"]["nprocPerNode"] == "1"


@pytest.mark.parametrize(
    "command",
    [
        "[torchrun, --nproc_per_node=4, train.py]",
        '[torchrun, --nproc-per-node, "4", train.py]',
        '[torchrun, --nproc_per_node, "16", train.py]',
        '[bash, -c, "torchrun --nproc_per_node=4 train.py"]',
        '[bash, -ec, "cd /x && exec torchrun --nproc_per_node 2 train.py"]',
        '[python, -m, torch.distributed.run, --nproc_per_node, "4", train.py]',
        "torchrun --nproc_per_node=4 train.py",
    ],
)
def test_b012_another_number_of_processes_is_an_error(judge: Judge, command: str) -> None:
    found = only(judge(CARRIER + f"command: {command}\n"), "process-count-mismatch")
    assert "8 processes" in found.message
    assert "write 8" in found.help


def test_b012_the_same_number_is_none(judge: Judge) -> None:
    assert rules(judge(CARRIER + "command: [torchrun, --nproc_per_node=8, train.py]\n")) == []


@pytest.mark.parametrize("name", ["WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"])
@pytest.mark.parametrize(
    "field",
    [
        'env: {{{}: "2"}}',
        'master: {{env: {{{}: "2"}}}}',
        "secrets: {{{}: hf/token}}",
        'pod: {{spec: {{containers: [{{name: pytorch, env: [{{name: {}, value: "1"}}]}}]}}}}',
    ],
)
@pytest.mark.parametrize("launcher", ["torchrun", "python"])
def test_b012_the_operators_variables_are_not_the_jobs_to_set(
    judge: Judge, name: str, field: str, launcher: str
) -> None:
    result = judge(TWO + f"command: [{launcher}, train.py]\n" + field.format(name) + "\n")
    found = [item for item in result.findings if item.severity is Severity.ERROR]
    assert [item.rule for item in found] == ["operator-variable"]
    assert f"`{name}`" in found[0].message
    assert found[0].place.line == 8


@pytest.mark.parametrize("name", ["PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK"])
def test_b012_the_launchers_variables_are_not_either(judge: Judge, name: str) -> None:
    assert "operator-variable" in rules(judge(TWO + f'env: {{{name}: "2"}}\n'))


@pytest.mark.parametrize("program", ["[python, train.py]", "[python3, -u, train.py]"])
def test_b012_several_accelerators_and_no_launcher_are_a_warning(
    judge: Judge, program: str
) -> None:
    found = only(judge(CARRIER + f"command: {program}\n"), "missing-launcher")
    assert found.severity is Severity.WARNING
    assert "torchrun" in found.help
    one = CARRIER.replace("H100:8", "H100:1") + f"command: {program}\n"
    assert rules(judge(one)) == []


@pytest.mark.parametrize(("least", "most"), [(1, 4), (2, 2), (1, 2)])
def test_b014_an_elastic_run_has_workers_only_and_both_bounds(
    judge: Judge, least: int, most: int
) -> None:
    job = objects(judge(CARRIER + f"num_nodes: {{min: {least}, max: {most}}}\n"))[0]
    assert list(job["spec"]["pytorchReplicaSpecs"]) == ["Worker"]
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == most
    policy = job["spec"]["elasticPolicy"]
    assert (policy["minReplicas"], policy["maxReplicas"]) == (least, most)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("num_nodes: {min: 4, max: 1}", "elastic-range"),
        ("num_nodes: {max: 4}", "missing-key"),
        ("num_nodes: {min: 0, max: 4}", "number-out-of-range"),
        ("num_nodes: {min: 2, max: 4}\nmaster: {env: {A: b}}", "elastic-with-master"),
        ("num_nodes: 4\nelastic: {max_restarts: 3}", "elastic-range"),
        ("num_nodes: {min: 2, max: 4}\ncommand: [python, train.py]", "elastic-without-launcher"),
    ],
)
def test_b014_a_range_that_is_none_is_an_error(judge: Judge, text: str, rule: str) -> None:
    assert only(judge(CARRIER + text + "\n"), rule).severity is Severity.ERROR


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_b016_how_often_a_run_restarts_is_always_written_out(judge: Judge, retries: int) -> None:
    job = objects(judge(TWO + f"retry: {{max: {retries}}}\n"))[0]
    wanted = "OnFailure" if retries else "Never"
    roles = job["spec"]["pytorchReplicaSpecs"]
    assert [role["restartPolicy"] for role in roles.values()] == [wanted, wanted]
    limit = job["spec"]["runPolicy"]["backoffLimit"]
    assert (limit == 0) == (retries == 0)
    # All pods share it, and each restart of a container counts.
    assert limit >= retries * 2
    single = objects(judge(CARRIER + f"retry: {{max: {retries}}}\n"))[0]["spec"]
    assert single["template"]["spec"]["restartPolicy"] in ("Never", "OnFailure")
    assert single["backoffLimit"] == retries


def test_b016_nothing_restarts_for_ever_where_nobody_says_how_often(judge: Judge) -> None:
    for text in (CARRIER, TWO, CARRIER + "num_nodes: {min: 1, max: 2}\n"):
        spec = objects(judge(text))[0]["spec"]
        assert isinstance(spec.get("runPolicy", spec)["backoffLimit"], int)


@pytest.mark.parametrize("line", ["restart: always", "restart: on-failure", "restartPolicy: Never"])
def test_b016_words_of_kubernetes_for_restarts_lead_to_retry(judge: Judge, line: str) -> None:
    assert "retry: {max: 3}" in only(judge(CARRIER + line + "\n"), "unknown-key").help


@pytest.mark.parametrize("policy", ["Never", "Always", "OnFailure"])
def test_b016_a_policy_in_the_template_does_not_count_and_is_an_error(
    judge: Judge, policy: str
) -> None:
    found = only(judge(TWO + f"pod: {{spec: {{restartPolicy: {policy}}}}}\n"), "pod-restart-policy")
    assert "overwrites" in found.message


# --- storage -------------------------------------------------------------------------------------


def shared_memory(result: JobResult) -> list[tuple[str, Any]]:
    """What is mounted on /dev/shm in each pod template."""
    found: list[tuple[str, Any]] = []
    for template in templates(result):
        pod = template["spec"]
        volumes = {volume["name"]: volume for volume in pod.get("volumes", ())}
        for mount in pod["containers"][0].get("volumeMounts", ()):
            if mount["mountPath"].rstrip("/") == "/dev/shm":
                found.append((mount["name"], volumes[mount["name"]].get("emptyDir")))
    return found


@pytest.mark.parametrize("text", [CARRIER, TWO, CARRIER + "num_nodes: {min: 1, max: 2}\n"])
def test_b017_every_pod_has_shared_memory_with_a_limit(judge: Judge, text: str) -> None:
    wanted = ("shm", {"medium": "Memory", "sizeLimit": "128Gi"})
    result = judge(text)
    assert shared_memory(result) == [wanted] * len(templates(result))
    sized = judge(text + "shm_size: 4Gi\n")
    assert {item[1]["sizeLimit"] for item in shared_memory(sized)} == {"4Gi"}


def test_b017_shared_memory_can_be_turned_off_or_mounted_otherwise(judge: Judge) -> None:
    assert shared_memory(judge(CARRIER + "shm_size: 0\n")) == []
    own = shared_memory(judge(CARRIER + "mounts: {/dev/shm: {scratch: 4Gi}}\n"))
    assert [item[1]["sizeLimit"] for item in own] == ["4Gi"]
    pod = (
        "pod:\n  spec:\n    volumes: [{name: mine, emptyDir: {medium: Memory}}]\n"
        "    containers:\n      - name: pytorch\n"
        "        volumeMounts: [{name: mine, mountPath: /dev/shm/}]\n"
    )
    assert shared_memory(judge(CARRIER + pod)) == [("mine", {"medium": "Memory"})]


RAW = "mounts: {/raw: {claim: raw}}\n"


@pytest.mark.parametrize(
    ("text", "column"),
    [
        (TWO + RAW, 24),
        (CARRIER + "num_nodes: {min: 1, max: 2}\n" + RAW, 24),
        (TWO + "sidecars: [{name: s, image: gpu-exporter, mounts: {/raw: {claim: raw}}}]\n", 66),
        (
            TWO + "pod: {spec: {volumes: [{name: r, persistentVolumeClaim: {claimName: raw}}]}}\n",
            69,
        ),
        (TWO + "checkpoint: {claim: raw, path: /ckpt}\n", 21),
    ],
)
def test_b020_a_claim_for_one_node_on_several_is_an_error_at_the_mount_and_the_claim(
    judge: Judge, text: str, column: int
) -> None:
    found = only(judge(text), "single-node-claim")
    assert spot(found) == (7, column)
    assert [item.place.path for item in found.related] == ["policy/clusters/west.yaml"]


def test_b020_where_one_node_mounts_it_all_is_well(judge: Judge) -> None:
    assert rules(judge(CARRIER + RAW)) == []
    assert rules(judge(TWO + "master: {mounts: {/raw: {claim: raw}}}\n")) == []
    assert rules(judge(TWO + "mounts: {/d: {claim: datasets, read_only: true}}\n")) == []
    assert rules(judge(TWO + "mounts: {/d: {claim: logs}}\n")) == []


def test_b020_a_claim_that_can_only_be_read_is_mounted_so(judge: Judge) -> None:
    found = only(judge(TWO + "mounts: {/d: {claim: datasets}}\n"), "read-only-claim-written")
    assert "read_only: true" in found.help


def test_b020_an_unknown_claim_is_a_warning(judge: Judge) -> None:
    found = only(judge(TWO + "mounts: {/d: {claim: dataset}}\n"), "unknown-claim")
    assert found.severity is Severity.WARNING
    assert "`datasets`" in found.help


# --- cluster -------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [CARRIER, TWO, CARRIER + "num_nodes: {min: 1, max: 2}\n"])
def test_b019_the_mesh_is_kept_off_every_template_with_text(judge: Judge, text: str) -> None:
    result = judge(text)
    for template in templates(result):
        assert template["metadata"]["annotations"]["sidecar.istio.io/inject"] == "false"
    printed = yamlout.dump(objects(result)[0])
    assert printed.count('sidecar.istio.io/inject: "false"\n') == len(templates(result))


def test_b019_a_cluster_without_a_mesh_needs_no_annotation(judge: Judge) -> None:
    text = (
        "team: vision\ncluster: east\nimage: ddp-mini\naccelerators: MI300X:8\nmax_duration: 1h\n"
    )
    assert "istio" not in yamlout.dump(objects(judge(text))[0])


@pytest.mark.parametrize("value", ["true", '"true"'])
def test_b019_a_job_does_not_bring_the_mesh_back(judge: Judge, value: str) -> None:
    for text in (
        f"annotations: {{sidecar.istio.io/inject: {value}}}",
        f"pod: {{metadata: {{annotations: {{sidecar.istio.io/inject: {value}}}}}}}",
    ):
        assert rules(judge(TWO + text + "\n")) == ["injected-sidecar"]


@pytest.mark.parametrize(
    ("value", "rule"),
    [
        ("lo", "loopback-interface"),
        ('"=lo"', "loopback-interface"),
        ('"eth0,lo"', "loopback-interface"),
        ("eth9", "foreign-interface"),
        ("ens6", "foreign-interface"),
        ('"^eth0,ib0"', "foreign-interface"),
        ("eth0", None),
        ("eth", None),
        ('"=eth0"', None),
        ('"^lo"', None),
        ('"^docker0,lo"', None),
        ('"ib0,eth0"', None),
    ],
)
@pytest.mark.parametrize("name", ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"])
def test_b034_the_interface_of_several_nodes_is_one_that_the_cluster_has(
    judge: Judge, name: str, value: str, rule: str | None
) -> None:
    if name.startswith("GLOO") and not value.isalnum():
        return  # Gloo takes names only
    result = judge(TWO + f"env: {{{name}: {value}}}\n")
    if rule is None or (name.startswith("GLOO") and value == "eth"):
        assert rule is not None or name.startswith("GLOO") or rules(result) == []
        return
    found = only(result, rule)
    assert "eth0" in found.help
    wanted = Severity.ERROR if rule == "loopback-interface" else Severity.WARNING
    assert found.severity is wanted


def test_b034_the_loopback_of_one_node_is_fine(judge: Judge) -> None:
    assert rules(judge(CARRIER + "env: {NCCL_SOCKET_IFNAME: lo}\n")) == []


def test_b035_the_pull_secret_is_on_every_template_without_a_word(judge: Judge) -> None:
    for text in (CARRIER, TWO, CARRIER + "num_nodes: {min: 1, max: 2}\n"):
        for template in templates(judge(text + "pull_secrets: [partner]\n")):
            names = [item["name"] for item in template["spec"]["imagePullSecrets"]]
            assert names == ["partner", "registry-training"]


@pytest.mark.parametrize("key", ["pullSecrets", "pull_secret", "imagePullSecrets", "pullSecret"])
def test_b035_a_misspelt_pull_secret_is_an_error(judge: Judge, key: str) -> None:
    assert "`pull_secrets`" in only(judge(TWO + f"{key}: [regcred]\n"), "unknown-key").help


def test_b035_a_container_of_pod_that_needs_a_secret_and_has_none_is_an_error(
    judge: Judge,
) -> None:
    image = f"registry.example.com/training/x@sha256:{'a' * 64}"
    text = CARRIER.replace("image: ddp-mini", "image: data-tools\ncommand: [data-tools]")
    pod = f"pod: {{spec: {{containers: [{{name: side, image: '{image}'}}]}}}}\n"
    found = only(judge(text + pod), "missing-pull-secret")
    assert "registry-training" in found.help


def test_b035_an_init_image_that_the_nodes_cannot_pull_is_told(tmp_path: Path) -> None:
    """The operator's own init container needs a registry too."""
    root = repository(tmp_path / "repository")
    cluster = root / "policy" / "clusters" / "west.yaml"
    text = cluster.read_text("utf-8")
    assert "init_image: registry.example.com" in text
    cluster.write_text(re.sub(r"init_image: \S+", "", text), "utf-8")
    result = Project(Repository(root), at=TODAY).judge(root / "jobs/a.yaml", TWO.encode())
    assert "unreachable-init-image" in rules(result)


def ports(result: JobResult) -> list[int]:
    """The rendezvous port of each template."""
    return [
        port["containerPort"]
        for template in templates(result)
        for port in template["spec"]["containers"][0]["ports"]
        if port["name"] == "pytorchjob-port"
    ]


def test_b036_on_the_nodes_network_each_run_has_a_port_of_its_own(judge: Judge) -> None:
    assert ports(judge(TWO)) == [PORT, PORT]
    mine = ports(judge(TWO + "host_network: true\n", "one"))
    other = ports(judge(TWO + "host_network: true\n", "two"))
    assert len(set(mine)) == len(set(other)) == 1
    assert len(mine) == len(other) == 2
    assert mine[0] not in (PORT, other[0])
    assert 1024 < mine[0] < 32768  # below the ports that the kernel hands out


@pytest.mark.parametrize("network", ["", "host_network: true\n"])
@pytest.mark.parametrize(
    "launch",
    [
        "args: [--master_port=2057]",
        'args: [--master-port, "2057"]',
        'command: [torchrun, --master_port, "2057", train.py]',
        'command: [bash, -c, "torchrun --master_port=2057 train.py"]',
    ],
)
def test_b036_a_port_on_the_command_line_does_not_change_the_service(
    judge: Judge, launch: str, network: str
) -> None:
    assert "rendezvous-port-mismatch" in rules(judge(TWO + network + launch + "\n"))


@pytest.mark.parametrize("network", ["", "host_network: true\n"])
def test_b036_nor_does_a_host_of_ones_own(judge: Judge, network: str) -> None:
    launch = "command: [torchrun, --rdzv_endpoint=x:2057, train.py]\n"
    assert rules(judge(TWO + network + launch)) == ["fixed-rendezvous-address"]


# --- commands and variables ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "named", "proposed"),
    [
        ("args: [--node_rank=$RANK]", "`$RANK`", "$(RANK)"),
        ('args: ["--world=${WORLD_SIZE}"]', "`${WORLD_SIZE}`", "$(WORLD_SIZE)"),
        ("command: [torchrun, $RUN_NAME]", "`$RUN_NAME`", "$(RUN_NAME)"),
        ('args: ["$MINE/x"]\nenv: {MINE: a}', "`$MINE`", "$(MINE)"),
        ('args: ["$HOME/x"]', "`$HOME`", "bash"),
    ],
)
def test_b022_what_only_a_shell_expands_is_an_error_without_one(
    judge: Judge, line: str, named: str, proposed: str
) -> None:
    found = only(judge(TWO + line + "\n"), "unexpanded-shell-variable")
    assert named in found.message
    assert proposed in found.help


def test_b022_a_shell_may_expand_what_it_likes(judge: Judge) -> None:
    script = '[bash, -c, "exec torchrun --rdzv_id $RUN_NAME train.py ${HOME}"]'
    assert rules(judge(TWO + f"command: {script}\n")) == []


@pytest.mark.parametrize("text", ["100$", "a$ b", "$1", "5$ + 3$", "^x$"])
def test_b022_a_dollar_that_names_nothing_is_a_dollar(judge: Judge, text: str) -> None:
    assert main(judge(CARRIER + f"args: ['{text}']\n"))["args"] == [text]


def test_b022_variables_come_after_those_that_they_refer_to(judge: Judge) -> None:
    result = judge(CARRIER + 'env: {C: "$(B)", OUT: "$(ROOT)/x", ROOT: /ckpt, B: "$(ROOT)"}\n')
    names = list(env(result))
    assert names.index("ROOT") < names.index("OUT")
    assert names.index("ROOT") < names.index("B") < names.index("C")
    assert env(result)["OUT"] == "$(ROOT)/x"


@pytest.mark.parametrize(
    "variables",
    ['{A: "$(B)", B: "$(A)"}', '{A: "$(A)"}', '{A: "$(B)", B: "$(C)", C: "x$(A)"}'],
)
def test_b022_a_circle_is_one_error(judge: Judge, variables: str) -> None:
    only(judge(CARRIER + f"env: {variables}\n"), "circular-variables")


@pytest.mark.parametrize(
    "line",
    [
        'args: ["$(NOPE)"]',
        'env: {A: "$(NOPE)"}',
        'args: {path: "$(NOPE)/x"}',
        'sidecars: [{name: s, image: gpu-exporter, args: ["$(NOPE)"]}]',
        'init: [{name: s, image: gpu-exporter, env: {A: "$(NOPE)"}}]',
        'sidecars: [{name: s, image: gpu-exporter, args: ["$(RANK0)"]}]',
    ],
)
def test_b022_a_name_that_nothing_defines_is_an_error(judge: Judge, line: str) -> None:
    assert "$$(" in only(judge(TWO + line + "\n"), "unknown-reference").help


def test_b022_a_name_that_comes_later_in_the_list_is_one_too(judge: Judge) -> None:
    """The operator appends its variables to the job's own."""
    assert rules(judge(TWO + 'args: ["--rank=$(RANK)"]\n')) == []
    found = only(judge(TWO + 'env: {A: "$(RANK)"}\n'), "unknown-reference")
    assert "command or args" in found.help


@pytest.mark.parametrize("text", ["$$(X)", "$$$$", "a $$(X) $$ $", "$(", "$()", "$$", "\\$$(X)"])
def test_b022_no_dollar_is_added_or_lost(judge: Judge, text: str) -> None:
    result = judge(CARRIER + f"args: ['{text}']\nenv: {{A: '{text}'}}\n")
    assert main(result)["args"] == [text]
    assert env(result)["A"] == text


def test_b038_a_command_in_one_text_is_split_as_a_shell_would(judge: Judge) -> None:
    result = judge(CARRIER + "command: torchrun train.py --name 'a b'\n")
    assert main(result)["command"] == ["torchrun", "train.py", "--name", "a b"]


@pytest.mark.parametrize(
    "text", ["a | b", "a && b", "a > b", "a $B", "A=b c", "a; b", "a `b`", "a *", "(a)", "a\\\n b"]
)
def test_b038_a_text_that_needs_a_shell_is_an_error(judge: Judge, text: str) -> None:
    found = only(judge(CARRIER + f"command: {json.dumps(text)}\n"), "bad-command")
    assert "[bash, -c" in found.help


@pytest.mark.parametrize(
    ("command", "rule", "fixed"),
    [
        (
            "[bash, -c, torchrun, train.py]",
            "script-in-several-words",
            '[bash, -c, "torchrun train.py"]',
        ),
        (
            "[sh, -ec, make, -j, x]",
            "script-in-several-words",
            '[sh, -ec, "make -j x"]',
        ),
        ('["torchrun train.py"]', "command-in-one-word", "[torchrun, train.py]"),
        ('["bash -c ls"]', "command-in-one-word", "[bash, -c, ls]"),
        ('["torchrun train.py | tee x"]', "command-in-one-word", "[bash, -c, "),
        ('[torchrun, "--epochs 3"]', "command-in-one-word", '--epochs, "3"'),
        ('["", x]', "command-in-one-word", "torchrun"),
    ],
)
def test_b038_words_that_are_none_are_an_error_that_shows_the_right_form(
    judge: Judge, command: str, rule: str, fixed: str
) -> None:
    assert fixed in only(judge(CARRIER + f"command: {command}\n"), rule).help


# --- reading -------------------------------------------------------------------------------------


def test_b023_a_doubled_key_is_one_finding_and_the_rest_is_checked(judge: Judge) -> None:
    between = "".join(f"  A{n}: b\n" for n in range(40))
    text = CARRIER + "memory: 1Gi\nenv:\n" + between + "  A3: c\nmemory: 2Gi\nnope: 1\n"
    result = judge(text)
    assert sorted(rules(result)) == ["duplicate-key", "duplicate-key", "unknown-key"]
    doubled = [item for item in result.findings if item.rule == "duplicate-key"]
    assert sorted((item.place.line, item.related[0].place.line) for item in doubled) == [
        (48, 11),
        (49, 6),
    ]


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_b028_line_ends_of_a_declaration_do_not_reach_the_objects(judge: Judge, end: str) -> None:
    text = CARRIER + "env:\n  SCRIPT: |\n    one\n\n    two\n  FOLDED: >-\n    a\n    b\n"
    wanted = yamlout.dump_all(objects(judge(text)))
    assert yamlout.dump_all(objects(judge(text.replace("\n", end)))) == wanted
    assert "\r" not in wanted
    assert "\\r" not in wanted


def test_b028_a_script_with_carriage_returns_is_an_error(judge: Judge) -> None:
    text = CARRIER + "files: {/run.sh: configs/windows.sh}\n"
    found = only(judge(text), "script-with-carriage-returns")
    assert (found.place.path, found.place.line) == ("configs/windows.sh", 1)
    assert judge(text.replace("windows", "plain")).usable


def test_b028_git_checks_files_out_with_lf() -> None:
    lines = (ROOT / ".gitattributes").read_text("utf-8").splitlines()
    assert "* text=auto eol=lf" in lines


@pytest.mark.parametrize(
    ("line", "rule", "spotted", "proposed"),
    [
        ("node: 4", "unknown-key", (6, 1), "`num_nodes`"),
        ("nodes: 4", "unknown-key", (6, 1), "`num_nodes`"),
        ("num_node: 4", "unknown-key", (6, 1), "`num_nodes`"),
        ("acelerators: H100:8", "unknown-key", (6, 1), "`accelerators`"),
        ("gpus: 8", "unknown-key", (6, 1), "`accelerators`"),
        ("retry: {maximum: 3}", "unknown-key", (6, 9), "`max`"),
        ("num_nodes: true", "wrong-type", (6, 12), "whole number"),
        ("num_nodes: 2.0", "wrong-type", (6, 12), "write 2"),
        ('num_nodes: "2"', "wrong-type", (6, 12), "write 2 without quotes"),
        ("num_nodes: 1_0", "wrong-type", (6, 12), "write 10"),
        ("num_nodes: 08", "wrong-type", (6, 12), "write 8"),
        ("num_nodes: 0x2", "wrong-type", (6, 12), "decimal digits"),
        ("num_nodes: 1e1", "wrong-type", (6, 12), "decimal digits"),
        ("num_nodes: [2]", "wrong-type", (6, 12), "a single value or a mapping"),
        ("host_network: 1", "wrong-type", (6, 15), "write true"),
        ("host_network: yes", "wrong-type", (6, 15), "write true"),
        ("retry: 3", "wrong-type", (6, 8), "max"),
        ("pull_secrets: regcred", "wrong-type", (6, 15), "[regcred]"),
        ("ports: {web: 8.0e1}", "wrong-type", (6, 14), "decimal digits"),
        ("retry: {max: -1}", "wrong-type", (6, 14), "decimal digits"),
        ("num_nodes: 0", "number-out-of-range", (6, 12), "whole number"),
        ("num_nodes: 123456789012345678901", "number-out-of-range", (6, 12), "10000000"),
        ("env: [A=b]", "wrong-type", (6, 6), "write {A: b}"),
        ("env: {A: {B: c}}", "wrong-type", (6, 10), "write text"),
    ],
)
def test_b030_one_mistake_of_form_is_one_finding_at_its_place_with_what_to_write(
    judge: Judge, line: str, rule: str, spotted: tuple[int, int], proposed: str
) -> None:
    found = only(judge(CARRIER + line + "\n"), rule)
    assert spot(found) == spotted
    assert proposed in found.help


@pytest.mark.parametrize(
    ("written", "rule", "proposed"),
    [
        ('"8.0"', "bad-accelerators", "H100:8"),
        ("8", "bad-accelerators", "H100:8"),
        ("true", "unknown-accelerator", "H100"),
        ("H100:8.0", "fractional-accelerators", "H100:1"),
        ("H100:0.5", "fractional-accelerators", "H100:1"),
        ("H100:0", "fractional-accelerators", "H100:1"),
        ("{H100: 8}", "bad-accelerators", "write H100:8, without a space"),
        ("h100:8", "unknown-accelerator", "`H100`"),
        ("H100:1e1", "bad-accelerators", "H100:8"),
    ],
)
def test_b030_accelerators_are_a_name_and_a_whole_number(
    judge: Judge, written: str, rule: str, proposed: str
) -> None:
    found = only(judge(CARRIER.replace("H100:8", written)), rule)
    assert spot(found) == (3, 15)
    assert proposed in found.help
    assert "8.0" not in found.help


FINE = [
    CARRIER + "---\n",
    "---\n# note\n---\n" + CARRIER,
    CARRIER.rstrip("\n"),
    CARRIER.replace("\n", "\r"),
    "\ufeff" + CARRIER,
    CARRIER + "...\n",
    CARRIER + "...\n# the end\n",
    "# first\n\n---\n" + CARRIER + "---\n\n# last\n",
]
FAULTY = [
    ("", "empty-file"),
    ("# nothing\n", "empty-file"),
    ("---\n", "empty-file"),
    (" \n\t\n", "syntax-error"),
    (CARRIER + "...\nnum_nodes: 4\n", "several-documents"),
    (CARRIER + "---\n" + CARRIER, "several-documents"),
    (CARRIER + "--- {}\n", "several-documents"),
    ("%YAML 1.1\n---\n" + CARRIER, "yaml-directive"),
    ("%YAML 1.2\n---\n" + CARRIER, "yaml-directive"),
    ("%TAG !a! tag:a,2000:\n---\n" + CARRIER, "yaml-directive"),
    ("- a\n", "top-level-not-mapping"),
    ("just text\n", "top-level-not-mapping"),
    ("7\n", "top-level-not-mapping"),
    ("null\n", "top-level-not-mapping"),
]


@pytest.mark.parametrize("text", FINE)
def test_i3_comments_markers_and_line_ends_around_a_declaration_are_fine(
    judge: Judge, text: str
) -> None:
    assert objects(judge(text)) == objects(judge(CARRIER))


@pytest.mark.parametrize(("text", "rule"), FAULTY)
def test_i3_a_file_that_is_no_declaration_is_one_finding(
    judge: Judge, text: str, rule: str
) -> None:
    result = judge(text)
    found = only(result, rule)
    assert found.help
    lines = text.splitlines()
    assert found.place.line is not None
    assert 1 <= found.place.line <= max(len(lines), 1)
    assert result.runs == []


# What readers make of one another's files: kubectl and kustomize, ruamel.yaml and PyYAML differ
# on each of these, so here they are one finding, or one meaning.
@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (CARRIER + "memory: 1Gi\nmemory: 1Gi\n", "duplicate-key"),
        (CARRIER + "env:\t{}\n", "syntax-error"),
        (CARRIER.replace("24h", "24h\t"), "syntax-error"),
        (CARRIER + "...\nmore: 1\n", "several-documents"),
        ("%YAML 1.1\n---\n" + CARRIER, "yaml-directive"),
        (CARRIER + "env: {A: b\x7f}\n", "control-character"),
        (CARRIER + 'env: {A: "b\\x7f"}\n', "text-lost-by-kustomize"),
    ],
)
def test_files_that_readers_take_differently_are_one_finding(
    judge: Judge, text: str, rule: str
) -> None:
    only(judge(text), rule)


@each_reader
def test_keys_that_readers_take_differently_are_text_to_all(
    judge: Judge, reader: Callable[[str], Any]
) -> None:
    keys = ["y", "on", "1", "010", "1e5", "true", "a.b/c"]
    fields = ", ".join(f"{key}: x" for key in keys)
    result = judge(CARRIER + f"labels: {{{fields}}}\nannotations: {{{fields}}}\n")
    read = reader(yamlout.dump(objects(result)[0]))
    pod = read["spec"]["template"]["metadata"]
    for kind in ("labels", "annotations"):
        assert {key: pod[kind][key] for key in keys} == dict.fromkeys(keys, "x")


def test_a_bare_boolean_in_a_label_is_text(judge: Judge) -> None:
    text = "labels: {a: true, b: 8}\npod: {metadata: {labels: {c: false, d: 1e5}}}\n"
    printed = yamlout.dump(objects(judge(CARRIER + text))[0])
    for line in ('a: "true"', 'b: "8"', 'c: "false"', 'd: "1e5"'):
        assert f"{line}\n" in printed


# --- printing ------------------------------------------------------------------------------------

LETTERS = {
    "long": "word " * 23 + "ends",
    "longer": "x" * 400,
    "script": "set -e\nexec torchrun \\\n  train.py\n",
    "trailing": "echo a \necho b\t\n",
    "blank": "a\n\n\n  b\n\n",
    "tabs": "if x\n\t\ty\tz\n",
    "carriage": "a\r\nb\rc",
    "breaks": "a\u2028b\u2029c",
    "quotes": "'\"\\ # : - {}[]&*!|>%@`",
    "marks": "--- \n...\n%YAML\n",
    "unicode": "é 模 🚀 👩\u200d🔬 e\u0301 \ufeff \U0010ffff",
    "controls": "\x01\x02\x1b[0m\x1f",
}


def quoted(text: str) -> str:
    """A text in double quotes, on one line."""
    return yamlout.dump(text).rstrip("\n")


@each_reader
def test_b040_any_text_is_one_line_or_a_block_and_comes_back_equal(
    judge: Judge, reader: Callable[[str], Any]
) -> None:
    args = list(LETTERS.values())
    lines = "".join(f"  T{name}: {quoted(text)}\n" for name, text in LETTERS.items())
    words = "".join(f"  - {quoted(text)}\n" for text in args)
    result = judge(CARRIER + f"env:\n{lines}args:\n{words}")
    job = objects(result)[0]
    read = reader(yamlout.dump(job))
    assert read == job
    container = read["spec"]["template"]["spec"]["containers"][0]
    given = {item["name"]: item.get("value") for item in container["env"]}
    assert {name: given[f"T{name}"] for name in LETTERS} == LETTERS
    assert container["args"] == args


def test_b040_nothing_is_folded_and_blocks_lose_nothing(judge: Judge) -> None:
    lines = "".join(f"  T{name}: {quoted(text)}\n" for name, text in LETTERS.items())
    printed = yamlout.dump(objects(judge(CARRIER + f"env:\n{lines}"))[0])
    assert f'value: "{"word " * 23}ends"\n' in printed
    assert f'value: "{"x" * 400}"\n' in printed
    assert "value: |\n" in printed
    assert 'value: "echo a \\necho b\\t\\n"\n' in printed
    assert not re.search(r"[ \t]$", printed, re.MULTILINE)


@pytest.mark.parametrize("character", ["\x7f", "\x80", "\x85", "\x9f", "\ufffe", "\uffff"])
def test_b040_what_kustomize_would_lose_is_an_error_before_it_is_lost(
    judge: Judge, character: str
) -> None:
    found = only(
        judge(CARRIER + f"env: {{X: {json.dumps(f'a{character}b')}}}\n"), "text-lost-by-kustomize"
    )
    assert f"U+{ord(character):04X}" in found.message


# --- kustomize -----------------------------------------------------------------------------------


@cache
def built(tool: kustomize.Kustomize, root: Path, overlay: Path) -> list[Any]:
    command = [*tool.command, "build"] if "kubectl" not in tool.name else [*tool.command]
    done = subprocess.run([*command, str(overlay)], capture_output=True, check=True, cwd=root)
    return list(yaml.load_all(io.BytesIO(done.stdout), yaml.CSafeLoader))


@pytest.mark.kustomize
@pytest.mark.parametrize(
    "tool", [pytest.param(t, id=t.name.replace(" ", "-")) for t in AVAILABLE] or [None]
)
def test_b026_an_overlay_adds_to_the_containers_of_its_base_and_drops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: kustomize.Kustomize | None
) -> None:
    """kustomize knows no merge keys of a PyTorchJob: its own merge replaces the whole list."""
    if tool is None:
        pytest.skip("no kustomize here")
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    root = repository(tmp_path / "repository")
    text = "on 'off' \"y\"\n\\ $$(X) 1e5 😀"
    (root / "jobs" / "one.yaml").write_text(TWO + f"env: {{B: {quoted(text)}, C: on}}\n", "utf-8")
    project = Project(Repository(root), at=TODAY)
    assert build(project, tmp_path / "out").checked.findings == []
    (overlay,) = (tmp_path / "out").glob("overlays/west/nlp/one/r1")
    (job,) = built(tool, tmp_path, overlay)
    result = Project(Repository(root), at=TODAY).judge(root / "jobs" / "one.yaml")
    assert job == objects(result)[0]
    container = job["spec"]["pytorchReplicaSpecs"]["Worker"]["template"]["spec"]["containers"][0]
    names = {item["name"]: item.get("value") for item in container["env"]}
    assert names["B"] == text
    assert names["C"] == "on"
    # From the base, from the job, and from the cluster: all three are there.
    assert {"PYTHONFAULTHANDLER", "B", "NCCL_SOCKET_IFNAME"} <= set(names)
    assert container["image"].startswith("registry.example.com/training/ddp-mini@sha256:")
    assert container["resources"]["limits"]["nvidia.com/gpu"] == "8"


# --- the table -----------------------------------------------------------------------------------

# Which tests answer which report. Names without a file are tests of this one; reading is tested
# one stage at a time in test_reading.py, printing for any document in test_yamlout_readers.py.
ANSWERS: dict[str, list[str]] = {
    "B001": ["test_b001_", "test_yamlout_readers.py::test_kubectl_returns_the_traps_unchanged"],
    "B002": ["test_b002_", "test_reading.py::test_scalars_keep_their_letters_and_style"],
    "B004": ["test_b004_"],
    "B006": ["test_b006_"],
    "B008": ["test_b008_"],
    "B009": ["test_b009_"],
    "B011": ["test_b011_"],
    "B012": ["test_b012_"],
    "B014": ["test_b014_"],
    "B016": ["test_b016_"],
    "B017": ["test_b017_"],
    "B019": ["test_b019_"],
    "B020": ["test_b020_"],
    "B022": ["test_b022_"],
    "B023": ["test_b023_", "test_reading.py::test_each_doubled_key_is_one_finding"],
    "B026": ["test_b026_", "test_overlay.py::test_the_base_carries_its_part_and_the_run_its_own"],
    "B028": ["test_b028_", "test_reading.py::test_line_ends_do_not_change_nodes_or_places"],
    "B030": ["test_b030_"],
    "B032": ["test_i3_", "test_reading.py::test_other_files_are_one_finding"],
    "B034": ["test_b034_"],
    "B035": ["test_b035_"],
    "B036": ["test_b036_"],
    "B038": ["test_b038_"],
    "B040": ["test_b040_", "test_yamlout_readers.py::test_lines_end_in_lf_and_hide_nothing"],
    "I-3": ["test_i3_"],
    "scalars": ["test_b001_bare_words", "test_b002_text_keeps_its_letters"],
    "files": [
        "test_files_that_readers_take_differently_are_one_finding",
        "test_keys_that_readers_take_differently_are_text_to_all",
        "test_a_bare_boolean_in_a_label_is_text",
        "test_reading.py::test_a_tab_between_the_parts_of_a_line_is_one_finding",
    ],
}


def named_tests(name: str) -> Iterator[str]:
    """The tests of a file, by their names."""
    text = (ROOT / "tests" / name).read_text("utf-8")
    return iter(re.findall(r"^def (test_\w+)\(", text, re.MULTILINE))


def test_every_report_has_tests_that_exist() -> None:
    for report, answers in ANSWERS.items():
        for answer in answers:
            file, _, start = answer.rpartition("::")
            names = named_tests(file or Path(__file__).name)
            assert any(name.startswith(start) for name in names), (report, answer)


def test_every_test_of_a_report_is_in_the_table() -> None:
    for name in named_tests(Path(__file__).name):
        match = re.match(r"test_(b\d{3}|i3)_", name)
        if match is not None:
            assert match[1].upper().replace("I3", "I-3") in ANSWERS
