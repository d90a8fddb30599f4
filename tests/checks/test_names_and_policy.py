"""Rules about names, about several files together, and about policy itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from declarations import ROOT, TODAY, checked, findings, job, of, only, policy, repository, spot

from compiler.backends.pytorchjob import emit
from compiler.diagnostics import Severity
from compiler.names import LONGEST_JOB
from compiler.project import Project
from compiler.repository import Repository

WEST = "policy/clusters/west.yaml"
NLP = "policy/teams/nlp.yaml"
SPEECH = "policy/teams/speech.yaml"
RULES = "policy/rules.yaml"
OWN = job(team=None)


@pytest.mark.parametrize(
    ("other", "text"), [("jobs/nlp/example.yaml", OWN), ("jobs/example.yml", job())]
)
def test_a_job_in_two_files_is_told_once_with_the_other_file(other: str, text: str) -> None:
    first, second = sorted(("jobs/example.yaml", other))
    item = only("job-in-two-files", findings(job(), {other: text}))
    assert spot(item) == f"{second}:1:1"
    assert item.message == f"the job example of nlp is declared in {first} too"
    assert [related.place.path for related in item.related] == [first]


def test_a_job_in_three_files_is_told_at_each_further_one() -> None:
    found = findings(job(), {"jobs/example.yml": job(), "jobs/nlp/example.yaml": OWN})
    assert len(of("job-in-two-files", found)) == len(found) == 2
    assert len({item.place.path for item in found}) == 2


def test_one_name_in_two_teams_is_two_jobs() -> None:
    other = job(team=None, image="vit", command="[torchrun, vit.py]", checkpoint=None)
    found = findings(job(), {"jobs/vision/example.yaml": other})
    assert of("job-in-two-files", found) == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("jobs/Example.yaml", job()),
        ("jobs/nlp/Example.yaml", OWN),
        ("jobs/ｅxample.yaml", job()),
    ],
)
def test_names_that_differ_only_in_case_or_form_are_told(path: str, text: str) -> None:
    (item,) = of("names-alike", findings(job(), {path: text}))
    assert {item.place.path, item.related[0].place.path} == {path, "jobs/example.yaml"}


def test_folders_that_differ_only_in_case_are_told_once() -> None:
    files = {"jobs/nlp/one.yaml": OWN, "jobs/NLP/two.yaml": OWN, "jobs/NLP/three.yaml": OWN}
    (item,) = of("names-alike", findings(job(), files))
    assert "jobs/NLP and jobs/nlp" in item.message or "jobs/nlp and jobs/NLP" in item.message


def test_policy_files_that_differ_only_in_case_are_told() -> None:
    text = policy(SPEECH, ("p-speech", "p-loud"))[SPEECH]
    (item,) = of("names-alike", findings(job(), {"policy/teams/Speech.yaml": text}))
    assert {item.place.path, item.related[0].place.path} == {"policy/teams/Speech.yaml", SPEECH}


@pytest.mark.parametrize(("name", "nodes"), [("a" * 55, 2), ("a" * 54, 12), ("a" * 41, 1)])
def test_a_name_that_overflows_with_its_pods_is_one_finding(name: str, nodes: int) -> None:
    text = job(f"num_nodes: {nodes}", accelerators="H100:4" if nodes > 8 else "H100:8")
    found = [f for f in findings(text, name=name) if f.place.line == 1]
    item = only("name-too-long-for-pods", found)
    assert spot(item) == f"jobs/{name}.yaml:1:1"
    assert f"has {len(name)} characters; {LONGEST_JOB} are possible" in item.message
    assert item.help == f"call the file {'a' * LONGEST_JOB}.yaml"


def test_a_proposed_name_ends_at_a_whole_word() -> None:
    name = "supervised-fine-tuning-of-the-support-dialogues"
    item = only("name-too-long-for-pods", findings(job(), name=name))
    assert item.help == "call the file supervised-fine-tuning-of-the-support.yaml"


def test_the_longest_name_leaves_room_for_the_last_worker_of_a_late_run(tmp_path: Path) -> None:
    name = "a" * LONGEST_JOB
    root = repository(tmp_path, {f"jobs/{name}.yaml": job("num_nodes: 8")})
    project = Project(Repository(root), at=TODAY, number=9999)
    (result,) = project.results()
    assert result.findings == []
    made = result.runs[0]
    objects = emit(made.run, made.site)
    # training-operator pkg/controller.v1/common/util.go: a pod's name, and its Service's.
    last = f"{objects[0]['metadata']['name']}-worker-9999"
    assert len(last) <= 63


def test_an_expired_declaration_is_noticed_from_the_day_after() -> None:
    item = only("expired-declaration", findings(job("expires: 2026-02-28")))
    assert (spot(item), item.severity) == ("jobs/example.yaml:7:10", "notice")
    assert "expired on 2026-02-28" in item.message
    assert findings(job("expires: 2026-03-01")) == []


POLICY = {
    "a cluster of a team": (
        policy(NLP, ("clusters: [west]", "clusters: [west, wset]\ndefault_cluster: west")),
        NLP,
        "there is no cluster called `wset`",
        "write `west`",
    ),
    "a default cluster": (
        policy(SPEECH, ("default_cluster: east", "default_cluster: easd")),
        SPEECH,
        "there is no cluster of the team called `easd`",
        "write `east`",
    ),
    "a cluster of a quota": (
        policy(NLP, ("quota:\n  west:", "quota:\n  wset:")),
        NLP,
        "there is no cluster of the team called `wset`",
        "write `west`",
    ),
    "an accelerator of a quota": (
        policy(NLP, ("    H100: {g", "    H10: {g")),
        NLP,
        "there is no accelerator of west called `H10`",
        "write `H100`",
    ),
    "a queue of a team": (
        policy(NLP, ("[research, interactive, data]", "[research, interactiv, data]")),
        NLP,
        "there is no queue of the team's clusters called `interactiv`",
        "write `interactive`",
    ),
    "a claim of a team": (
        policy(SPEECH, ("claims: [datasets, ", "claims: [dataset, ")),
        SPEECH,
        "there is no claim of the team's clusters called `dataset`",
        "write `datasets`",
    ),
    "a priority of a team": (
        policy(
            "policy/teams/vision.yaml", ("priorities: [low, normal]", "priorities: [low, norml]")
        ),
        "policy/teams/vision.yaml",
        "there is no priority of the team's clusters called `norml`",
        "write `normal`",
    ),
    "an accelerator of a queue": (
        policy(WEST, ("accelerators: [H100, A100-80GB]", "accelerators: [H100, A100-40GB]")),
        WEST,
        "there is no accelerator of the cluster called `A100-40GB`",
        "write one of: A100-80GB, H100, MIG-1g.10gb",
    ),
}


@pytest.mark.parametrize("case", POLICY)
def test_a_name_in_policy_that_stands_for_nothing(case: str) -> None:
    files, path, message, remedy = POLICY[case]
    (item,) = of("unknown-name-in-policy", findings(job(), files))
    assert item.place.path == path
    # The place is that of the name: what it stands for in the file is what the message says.
    line = files[path].splitlines()[(item.place.line or 0) - 1]
    name = item.message.rpartition(" ")[2].strip("`")
    assert line[(item.place.column or 0) - 1 :].startswith(name)
    assert item.message == message
    assert item.help == remedy


def waiver(rule: str) -> dict[str, str]:
    text = f"rule: {rule}\njobs: [nlp/*]\nreason: measured\napprover: kim-nlp\nuntil: 2126-01-31\n"
    return {"policy/waivers/measured.yaml": text}


@pytest.mark.parametrize(("key", "value"), [("team", "npl"), ("run", "npl/llm-r2")])
def test_a_stop_of_a_team_that_does_not_exist(key: str, value: str) -> None:
    """Whoever stops runs in a hurry must learn that nothing will stop."""
    path = "policy/stops/now.yaml"
    item = only("unknown-name-in-policy", findings(job(), {path: f"{key}: {value}\nreason: x\n"}))
    assert spot(item) == f"{path}:1:{len(key) + 3}"
    assert item.message == "there is no team called `npl`"
    assert item.help == "write `nlp`"
    right = value.replace("npl", "nlp")
    found = findings(job(), {path: f"{key}: {right}\nreason: x\n"})
    # That there is no such run either is another mistake.
    assert [item.rule for item in found] == (["idle-stop"] if key == "run" else [])


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("reason: x\n", "2:1", "this stop names nothing to stop"),
        (
            "team: nlp\nimage: llm-sft\nreason: x\n",
            "3:1",
            "this stop names both `team` and `image`",
        ),
        ("run: llm-r2\nreason: x\n", "2:6", "`llm-r2` is no run"),
        ("run: nlp/\nreason: x\n", "2:6", "`nlp/` is no run"),
    ],
)
def test_a_stop_that_does_not_say_what_it_stops(text: str, line: str, message: str) -> None:
    path = "policy/stops/now.yaml"
    item = only("vague-stop", findings(job(), {path: f"# A stop.\n{text}"}))
    assert spot(item) == f"{path}:{line}"
    assert item.message == message


def test_a_stop_has_ended_from_the_day_after() -> None:
    path = "policy/stops/now.yaml"
    text = "team: nlp\nreason: x\nuntil: {}\n"
    assert findings(job(), {path: text.format("2026-03-01")}) == []
    item = only("expired-stop", findings(job(), {path: text.format("2026-02-28")}))
    assert spot(item) == f"{path}:3:8"
    assert item.severity is Severity.WARNING


@pytest.mark.parametrize("image", ["llm-sft", "llm-stf"])
def test_a_stop_of_an_image_that_nobody_has(image: str) -> None:
    path = "policy/stops/now.yaml"
    found = findings(job(), {path: f"image: {image}\nreason: x\n"})
    if image == "llm-sft":
        assert found == []
    else:
        assert spot(only("idle-stop", found)) == f"{path}:1:8"
        assert found[0].help == "write `llm-sft`"


@pytest.mark.parametrize("image", ["{digest}", "{reference}", "{reference}@{digest}"])
def test_an_image_is_stopped_by_any_of_its_names(image: str) -> None:
    lock = yaml.safe_load((ROOT / "images/lock.yaml").read_text("utf-8"))["images"]["llm-sft"]
    text = f"image: {image.format(**lock)}\nreason: x\n"
    assert findings(job(), {"policy/stops/now.yaml": text}) == []


ADOPTED = """\
cluster: {}
object: {{apiVersion: kubeflow.org/v1, kind: PyTorchJob, metadata: {{name: x}}}}
"""


@pytest.mark.parametrize(
    ("path", "cluster", "where"),
    [
        ("nlp/example", "west", ""),
        ("nlp/exampel", "west", "1:1"),
        ("vision/example", "west", "1:1"),
        ("nlp/example", "east", "1:10"),
    ],
)
def test_an_adopted_run_needs_a_job_that_names_its_cluster(
    path: str, cluster: str, where: str
) -> None:
    file = f"policy/adopted/{path}.yaml"
    found = findings(job(), {file: ADOPTED.format(cluster)})
    if not where:
        assert found == []
        return
    item = only("adopted-without-job", found)
    assert spot(item) == f"{file}:{where}"
    if path == "nlp/exampel":
        assert item.help.startswith("call this file policy/adopted/nlp/example.yaml")


def test_an_adopted_run_is_not_blamed_for_a_declaration_that_cannot_be_read() -> None:
    found = findings("team: [\n", {"policy/adopted/nlp/example.yaml": ADOPTED.format("west")})
    assert [item.rule for item in found] == ["syntax-error"]


def test_a_waiver_of_a_rule_that_does_not_exist() -> None:
    item = only("unknown-name-in-policy", findings(job(), waiver("part-of-node")))
    assert spot(item) == "policy/waivers/measured.yaml:1:7"
    assert item.help == "write `part-of-a-node`"


@pytest.mark.parametrize(
    ("severity", "rule"),
    [
        ("{part-of-node: notice}", "unknown-name-in-policy"),
        ("{unknown-queue: warning}", "ineffective-weight"),
        ("{OPS813: 'off'}", "ineffective-weight"),
        ("{unknown-queue: error}", None),
        ("{part-of-a-node: error}", None),
        ("{RES416: 'off'}", None),
    ],
)
def test_weights_of_rules(severity: str, rule: str | None) -> None:
    found = findings(job(), {RULES: f"severity: {severity}\n"})
    if rule is None:
        assert found == []
    else:
        assert only(rule, found).place.path == RULES
        assert found[0].place.line == 1


@pytest.mark.parametrize("name", ["base", "platform", "sync", "ended"])
def test_a_team_cannot_have_the_name_of_a_folder_of_the_compiler(name: str) -> None:
    text = policy(SPEECH, ("p-speech", f"p-{name}"))[SPEECH]
    text = re.sub(r"(?m)^quota:\n(  .*\n)+", "", text)
    item = only("reserved-name", findings(job(), {f"policy/teams/{name}.yaml": text}))
    assert spot(item) == f"policy/teams/{name}.yaml:1:1"


def test_a_cluster_cannot_be_called_ledger() -> None:
    text = policy(WEST)[WEST]
    item = only("reserved-name", findings(job(), {"policy/clusters/ledger.yaml": text}))
    assert spot(item) == "policy/clusters/ledger.yaml:1:1"


def test_two_teams_share_a_namespace_only_on_different_clusters() -> None:
    files = policy(SPEECH, ("namespace: p-speech", "namespace: p-nlp"))
    item = only("shared-namespace", findings(job(), files))
    assert spot(item) == f"{SPEECH}:3:12"
    assert item.message == "on west the namespace p-nlp is that of the team nlp already"
    apart = policy(
        SPEECH,
        ("namespace: p-speech", "namespace: p-nlp"),
        ("clusters: [west, east]", "clusters: [east]"),
        ("  west:\n    A100-80GB: {guaranteed: 16}\n", ""),
    )
    assert findings(job(), apart) == []


def test_the_example_repository_is_clean(tmp_path: Path) -> None:
    found = checked(repository(tmp_path, jobs=True))
    assert [f"{spot(item)} {item.rule}" for item in found] == []


@pytest.mark.parametrize(
    ("path", "remedy"),
    [
        ("policy/rules.yml", "call it policy/rules.yaml"),
        ("policy/team/audio.yaml", "move it to policy/teams/audio.yaml"),
        ("policy/cluster/north.yaml", "move it to policy/clusters/north.yaml"),
        ("policy/teams/eu/audio.yaml", "move it to policy/teams/audio.yaml"),
        ("policy/audio.yaml", "move it to one of: policy/clusters/, policy/teams/"),
        ("policy/teams/nlp.yml", "keep one of the two"),
    ],
)
def test_a_policy_file_that_nobody_reads_is_told(path: str, remedy: str) -> None:
    (text,) = policy("policy/teams/nlp.yaml").values()
    (item,) = of("unread-policy-file", findings(job(), {path: text}))
    assert remedy in item.help
    assert (item.place.path, item.place.line) == (path, 1)


def test_what_is_no_yaml_under_policy_is_nobodys_business() -> None:
    assert findings(job(), {"policy/README.md": "x", "policy/teams/OWNERS": "kim"}) == []


@pytest.mark.parametrize("name", ["Robots", "robo_ts", "robots.b", "-robots", "robots-", "r" * 64])
@pytest.mark.parametrize("what", ["team", "cluster"])
def test_a_file_of_policy_whose_name_no_object_can_have_is_told_once(what: str, name: str) -> None:
    path = f"policy/{what}s/{name}.yaml"
    text = "namespace: p-x\nowners: [kim]\nclusters: [west]\n"
    if what == "cluster":
        text = (ROOT / WEST).read_text("utf-8")
    item = only("unusable-policy-name", findings(job(), {path: text}))
    assert spot(item) == f"{path}:1:1"
    assert f"call the file policy/{what}s/r" in item.help


@pytest.mark.parametrize(
    ("old", "new", "place", "remedy"),
    [
        ("resource: nvidia.com/gpu", "resource: cpu", "cpu", "nvidia.com/gpu"),
        ("resource: nvidia.com/gpu", "resource: gpu", "gpu", "nvidia.com/gpu"),
        ("[IPC_LOCK]", "[CAP_IPC_LOCK]", "CAP_IPC_LOCK", "without CAP_"),
        ("[IPC_LOCK]", "[ipc_lock]", "ipc_lock", "in capitals"),
        ("[IPC_LOCK]", "[IPC_LOCKS]", "IPC_LOCKS", "in capitals"),
        ("interface: eth0", "interface: eth 0", "eth 0", "such as eth0"),
        ("ephemeral-storage]", "ephemeral_storage]", "ephemeral_storage", "ephemeral-storage"),
        (
            "  registry.example.com/mirror:",
            "  https://registry.example.com/mirror:",
            "https://registry.example.com/mirror",
            "without https://",
        ),
        (
            "  registry.example.com/mirror:",
            "  registry.example.com/mirror/:",
            "registry.example.com/mirror/",
            "a last /",
        ),
    ],
)
def test_names_of_a_cluster_that_nothing_has_are_told_in_policy(
    old: str, new: str, place: str, remedy: str
) -> None:
    text = (ROOT / WEST).read_text("utf-8")
    assert old in text
    found = [i for i in findings(job(), {WEST: text.replace(old, new, 1)}) if i.place.path == WEST]
    (item,) = of("bad-name", found)
    assert f"`{place}`" in item.message
    assert remedy in item.help


@pytest.mark.parametrize("lines", ["queues: []", "caps: {priorities: []}"])
def test_a_list_of_what_a_team_may_name_has_something_in_it(lines: str) -> None:
    text = f"namespace: p-x\nowners: [kim]\nclusters: [west]\n{lines}\n"
    item = only("empty-value", findings(job(), {"policy/teams/x.yaml": text}))
    assert "leave the key out" in item.help


# A file, what is replaced in it, and the one finding: its rule, a part of the message, the help.
MISTAKES = {
    "a variable that no variable can be": (
        "policy/rules.yaml",
        ("NCCL_*", "NCCL-*"),
        ("bad-name", "`NCCL-*` is not the name of a variable", "such as NCCL_*"),
    ),
    "a taint's misspelt key": (
        WEST,
        ("    price:", "    taints: [{key: a, efect: NoSchedule}]\n    price:"),
        ("unknown-key", "`taints` has no key `efect`", "write `effect`"),
    ),
    "no choice at all": (
        WEST,
        ("admission: kueue", "admission:"),
        ("empty-value", "there is no value here", "write the value, or leave the key out"),
    ),
    "no image": (
        WEST,
        ("init_image: ", "init_image: https://"),
        ("bad-image-reference", "is not an image reference", "registry/name:tag"),
    ),
    "a default queue that is not there": (
        "policy/teams/nlp.yaml",
        ("defaults:\n", "defaults:\n  queue: reserch\n"),
        ("unknown-name-in-policy", "called `reserch`", "write `research`"),
    ),
    "a default image that is not there": (
        "policy/teams/nlp.yaml",
        ("defaults:\n", "defaults:\n  image: llm-sf\n"),
        ("unknown-name-in-policy", "called `llm-sf`", "write `llm-sft`"),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_in_policy_is_one_finding_there(name: str) -> None:
    path, (old, new), (rule, message, remedy) = MISTAKES[name]
    text = (ROOT / path).read_text("utf-8")
    assert old in text
    found = findings(job(), {path: text.replace(old, new, 1)})
    (item,) = (each for each in found if each.place.path == path)
    assert (item.rule, item.place.path) == (rule, path)
    assert message in item.message
    assert remedy in item.help


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("policy/clusters/north.yaml", "admission: kueue"),
        ("policy/teams/audio.yaml", "namespace: p-nlp"),
        ("policy/waivers/one.yaml", "rule: RES403"),
        ("jobs/other.yaml", "team: nlp"),
    ],
)
def test_a_file_without_anything_is_told_a_key_of_its_kind(path: str, key: str) -> None:
    item = only("empty-file", findings(job(), {path: "# soon\n"}))
    assert item.help == f"write keys such as `{key}` at the start of their lines"


def test_a_waiver_says_why() -> None:
    text = "rule: RES403\njobs: [nlp/a]\nuntil: 2027-01-01\nreason: ''\napprover: kim\n"
    path = "policy/waivers/one.yaml"
    (item,) = (each for each in findings(job(), {path: text}) if each.place.line == 4)
    assert (item.rule, item.help) == ("bad-name", "say why, in a sentence")


def test_a_cohort_is_not_told_to_be_part_of_itself() -> None:
    text = (ROOT / WEST).read_text("utf-8") + "cohorts: {a: {parent: bb}}\n"
    item = only("unknown-name-in-policy", findings(job(), {WEST: text}))
    assert item.help == "take it out: there is none"


def test_shared_memory_for_each_accelerator_is_lowered_there() -> None:
    text = (ROOT / WEST).read_text("utf-8")
    old = "shm_size: 16Gi"
    assert old in text
    item = only(
        "shm-above-memory", findings(job(), {WEST: text.replace(old, "shm_size: 400Gi", 1)})
    )
    assert item.place.path == WEST
    assert item.help.startswith("lower it until a pod gets ")


def test_levels_of_a_topology_have_labels_of_their_own() -> None:
    text = (ROOT / WEST).read_text("utf-8")
    labels = re.findall(r"label: (\S+?)}", text.partition("\ntopology:")[2])
    assert len(labels) > 1
    again = text.replace(labels[1], labels[0])
    item = only("repeated-topology-level", findings(job(), {WEST: again}))
    assert item.message.startswith(f"`{labels[0]}` is the label of `")


def test_a_guard_of_the_shell_needs_one() -> None:
    image = "entry: [torchrun, train.py]\nguard: shell\nshell: false\n"
    found = findings(job(), {"images/other/image.yaml": image})
    item = only("guard-without-shell", found)
    assert spot(item) == "images/other/image.yaml:2:8"
