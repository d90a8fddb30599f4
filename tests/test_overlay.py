"""A run over its base: merged by keys, written as a small patch, and read alike by all readers.

`applied` is the oracle: RFC 6902 on plain data, which shares nothing with the code that makes the
patch.
"""

import copy
import json
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from compiler import kustomize
from compiler.backends import backends
from compiler.base import load
from compiler.manifests import parse
from compiler.overlay import desired, files, operations, same, snapshot, team_files
from compiler.repository import Repository
from compiler.yamlout import LOST_IN_PATCH

ROOT = Path(__file__).resolve().parents[1]
AVAILABLE = kustomize.all_available(ROOT)
TARGETS = {name: backend.target for name, backend in backends().items()}
JOB = load(Repository(ROOT), backends()["job"])[0]
PYTORCHJOB = load(Repository(ROOT), backends()["pytorchjob"])[0]
POD = ("spec", "template", "spec")


def applied(document, patch):
    """The document after a JSON patch, by the letter of RFC 6902."""
    document = copy.deepcopy(document)
    for operation in patch:
        steps = [s.replace("~1", "/").replace("~0", "~") for s in operation["path"].split("/")[1:]]
        target = document
        for step in steps[:-1]:
            target = target[int(step) if isinstance(target, list) else step]
        last = steps[-1]
        if operation["op"] == "remove":
            del target[int(last) if isinstance(target, list) else last]
        elif isinstance(target, list):
            assert operation["op"] == "add"
            assert last == "-"
            target.append(operation["value"])
        else:
            assert (operation["op"] == "replace") == (last in target)
            target[last] = operation["value"]
    return document


def job(**pod):
    """What the back end makes for a run on one node, as far as these tests care."""
    pod.setdefault("containers", [{"name": "pytorch", "image": "i", "env": []}])
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "a-r1", "namespace": "p-nlp"},
        "spec": {"backoffLimit": 0, "template": {"spec": pod}},
    }


def base_with(pod, fields=None):
    """The base of Jobs with this pod."""
    one = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "run"},
        "spec": {"template": {"spec": pod}},
    }
    return SimpleNamespace(object=one, fields=fields, digest="0" * 12)


def pod_of(base, emitted):
    return desired(base, emitted, TARGETS["job"])["spec"]["template"]["spec"]


def result(made, base, path="jobs/nlp/a.yaml", others=()):
    identity = SimpleNamespace(cluster="west", team="nlp", job="a", number=1)
    return SimpleNamespace(
        run=SimpleNamespace(identity=identity, path=path), objects=(made, *others), base=base
    )


def test_the_base_carries_its_part_and_the_run_its_own():
    made = desired(JOB, job(), TARGETS["job"])
    assert made["metadata"]["labels"] == JOB.object["metadata"]["labels"]
    (container,) = made["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "i"
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"
    patch = operations(JOB.object, made)
    assert "terminationMessagePolicy" not in json.dumps(patch)
    assert applied(JOB.object, patch) == made


def test_a_replica_type_that_the_run_does_not_have_is_left_out():
    emitted = {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {"name": "a-r1"},
        "spec": {
            "pytorchReplicaSpecs": {
                "Master": {
                    "replicas": 1,
                    "template": {"spec": {"containers": [{"name": "pytorch", "image": "i"}]}},
                }
            }
        },
    }
    made = desired(PYTORCHJOB, emitted, TARGETS["pytorchjob"])
    assert list(made["spec"]["pytorchReplicaSpecs"]) == ["Master"]
    patch = operations(PYTORCHJOB.object, made)
    assert (
        patch[0] == {"op": "add", "path": "/metadata/name", "value": "a-r1"}
        or {
            "op": "remove",
            "path": "/spec/pytorchReplicaSpecs/Worker",
        }
        in patch
    )
    assert applied(PYTORCHJOB.object, patch) == made


def test_the_order_of_keys_does_not_depend_on_the_order_of_the_input():
    emitted = job(restartPolicy="Never", priority=3)
    turned = json.loads(json.dumps(emitted), object_pairs_hook=lambda pairs: dict(reversed(pairs)))
    one = desired(JOB, emitted, TARGETS["job"])
    other = desired(JOB, turned, TARGETS["job"])
    assert json.dumps(one) == json.dumps(other)
    assert list(one) == ["apiVersion", "kind", "metadata", "spec"]


def test_neither_the_base_nor_the_run_is_changed():
    emitted = job()
    before = copy.deepcopy((JOB.object, emitted))
    desired(JOB, emitted, TARGETS["job"])
    assert (JOB.object, emitted) == before


def test_a_volume_of_another_kind_replaces_that_of_the_base():
    lower = {
        "containers": [{"name": "pytorch", "volumeMounts": [{"name": "data", "mountPath": "/d"}]}],
        "volumes": [{"name": "data", "hostPath": {"path": "/data"}}],
    }
    claim = {"name": "data", "persistentVolumeClaim": {"claimName": "c"}}
    assert pod_of(base_with(lower), job(volumes=[claim]))["volumes"] == [claim]


def test_a_variable_of_the_run_replaces_that_of_the_base_as_a_whole():
    secret = {"name": "T", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
    base = base_with({"containers": [{"name": "pytorch", "env": [secret]}]})
    ours = {"name": "T", "value": "x"}
    emitted = job(containers=[{"name": "pytorch", "image": "i", "env": [ours]}])
    assert pod_of(base, emitted)["containers"][0]["env"] == [ours]


def test_variables_of_the_base_come_first_so_that_the_run_can_refer_to_them():
    base = base_with(
        {"containers": [{"name": "pytorch", "env": [{"name": "ROOT", "value": "/r"}]}]}
    )
    emitted = job(
        containers=[{"name": "pytorch", "image": "i", "env": [{"name": "O", "value": "$(ROOT)/o"}]}]
    )
    names = [item["name"] for item in pod_of(base, emitted)["containers"][0]["env"]]
    assert names == ["ROOT", "O"]


def test_a_variable_of_the_base_stands_after_the_one_that_it_refers_to_and_the_run_sets():
    env = [{"name": "ROOT", "value": "/r"}, {"name": "OUT", "value": "$(ROOT)/out"}]
    base = base_with({"containers": [{"name": "pytorch", "env": env}]})
    ours = [{"name": "ROOT", "value": "/mine"}]
    emitted = job(containers=[{"name": "pytorch", "image": "i", "env": ours}])
    assert pod_of(base, emitted)["containers"][0]["env"] == [
        {"name": "ROOT", "value": "/mine"},
        {"name": "OUT", "value": "$(ROOT)/out"},
    ]


SHARED = {
    "containers": [
        {"name": "pytorch", "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}]}
    ],
    "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "2Gi"}}],
}


def test_shared_memory_is_mounted_once_and_the_bases_volume_does_not_stay_behind():
    mount = {"name": "shm", "mountPath": "/dev/shm"}
    volume = {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "8Gi"}}
    emitted = job(
        containers=[{"name": "pytorch", "image": "i", "volumeMounts": [mount]}], volumes=[volume]
    )
    pod = pod_of(base_with(SHARED), emitted)
    assert pod["volumes"] == [volume]
    assert pod["containers"][0]["volumeMounts"] == [mount]


def test_shared_memory_of_the_base_is_gone_where_the_run_wants_none():
    pod = pod_of(base_with(SHARED), job())
    assert "volumes" not in pod
    assert "volumeMounts" not in pod["containers"][0]


def test_a_container_of_the_base_comes_after_the_runs_own():
    extra = {"name": "exporter", "image": "e"}
    pod = pod_of(base_with({"containers": [{"name": "pytorch"}, extra]}), job())
    assert [container["name"] for container in pod["containers"]] == ["pytorch", "exporter"]


def test_empty_lists_are_left_out_and_empty_mappings_are_kept():
    emitted = job(volumes=[{"name": "v", "emptyDir": {}}], tolerations=[])
    emitted["metadata"]["annotations"] = {}
    pod = pod_of(base_with({}), emitted)
    assert "annotations" not in desired(base_with({}), emitted, TARGETS["job"])["metadata"]
    assert pod["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert "tolerations" not in pod
    assert "env" not in pod["containers"][0]


def test_numbers_and_booleans_are_not_the_same():
    assert not same(1, True)
    assert not same({"a": [0]}, {"a": [False]})
    assert not same(1, 1.0)
    assert operations({"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]


def test_pointers_are_escaped():
    patch = operations({}, {"a/b~c": 1, "": 2})
    assert [one["path"] for one in patch] == ["/a~1b~0c", "/"]
    assert applied({}, patch) == {"a/b~c": 1, "": 2}


def test_containers_are_patched_one_by_one_and_other_lists_as_a_whole():
    lower = {"containers": [{"name": "a", "args": ["1"]}]}
    upper = {"containers": [{"name": "a", "args": ["1", "2"]}, {"name": "b"}]}
    assert operations(lower, upper) == [
        {"op": "replace", "path": "/containers/0/args", "value": ["1", "2"]},
        {"op": "add", "path": "/containers/-", "value": {"name": "b"}},
    ]


def test_containers_in_another_order_are_set_as_a_whole():
    lower = {"containers": [{"name": "a"}, {"name": "b"}]}
    upper = {"containers": [{"name": "b"}, {"name": "a"}]}
    (one,) = operations(lower, upper)
    assert (one["op"], one["path"]) == ("replace", "/containers")


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("ab/~", max_size=3) | st.just("containers"), inner, max_size=4)
    ),
    max_leaves=12,
)
CONTAINERS = st.lists(
    st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional={"x": PLAIN}),
    max_size=3,
    unique_by=lambda item: item["name"],
)
OBJECTS = st.dictionaries(
    st.sampled_from(["a", "b", "c/d", "containers"]), PLAIN | CONTAINERS, max_size=4
)


@given(OBJECTS, OBJECTS)
@settings(max_examples=300, deadline=None)
def test_the_patch_makes_the_one_of_the_other(one, other):
    before = copy.deepcopy((one, other))
    assert same(applied(one, operations(one, other)), other)
    assert (one, other) == before


@given(OBJECTS)
@settings(max_examples=100, deadline=None)
def test_nothing_to_change_is_an_empty_patch(one):
    assert operations(one, copy.deepcopy(one)) == []


def test_the_files_of_an_overlay_stand_where_publish_writes_them():
    made = desired(JOB, job(), TARGETS["job"])
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a-files-1"}}
    written = files(result(made, JOB, others=[config]), JOB)
    folder = "overlays/west/nlp/a/r1"
    assert sorted(written) == [f"{folder}/{n}.yaml" for n in ("files", "kustomization", "run")]
    kustomization = yaml.safe_load(written[f"{folder}/kustomization.yaml"])
    assert kustomization["resources"] == [f"../../../base/{JOB.digest}", "files.yaml"]
    assert kustomization["patches"] == [
        {"path": "run.yaml", "target": {"kind": "Job", "name": "run"}}
    ]
    for text in written.values():
        first = text.splitlines()[0]
        assert first.startswith(
            "# nlp/a, run 1 on west, from jobs/nlp/a.yaml. Written by Runwright"
        )


@pytest.mark.parametrize("path", ["jobs/a\nkind: Secret.yaml", "jobs/a\x85b.yaml", "jobs/\u2028x"])
def test_the_name_of_a_file_cannot_leave_the_header(path):
    made = desired(JOB, job(), TARGETS["job"])
    for text in files(result(made, JOB, path), JOB).values():
        first, _, rest = text.partition("\n")
        assert first.startswith("# nlp/a")
        assert first.isprintable()
        assert parse(text) if "kustomization" in rest else yaml.safe_load(text)


def test_a_snapshot_is_the_bases_own_bytes():
    folder = f"overlays/west/base/{JOB.digest}"
    assert snapshot("west", JOB) == {
        f"{folder}/{path}": (ROOT / "base/job" / path).read_bytes()
        for path in ("job.yaml", "kustomization.yaml")
    }


def test_the_team_lists_its_runs_and_a_sentinel_that_stays():
    written = team_files("west", "nlp", "p-nlp", [("b", 2), ("a", 10), ("a", 9)])
    kustomization = yaml.safe_load(written["overlays/west/nlp/kustomization.yaml"])
    assert kustomization["resources"] == ["sentinel.yaml", "a/r9", "a/r10", "b/r2"]
    sentinel = yaml.safe_load(written["overlays/west/nlp/sentinel.yaml"])
    assert sentinel["metadata"]["name"] == "runwright-nlp"
    assert sentinel["metadata"]["namespace"] == "p-nlp"
    assert sentinel["data"]["runs"].split() == ["a-r9", "a-r10", "b-r2"]
    empty = team_files("west", "nlp", "p-nlp", [])
    kustomization = yaml.safe_load(empty["overlays/west/nlp/kustomization.yaml"])
    assert kustomization["resources"] == ["sentinel.yaml"]


# What must reach the object letter for letter: the hard cases and any other text.
TEXTS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=20),
    st.text("\"'\\$(){}#:&*!|>%@`-?, \t\n\réß😀\u2028\u00ad0x1e", max_size=20),
    st.sampled_from(
        ["on", "1e-5", "010", "~", "null", "$(RANK)", "$$(X)", "a\n", "\n", " a", "<<"]
    ),
).filter(lambda text: not LOST_IN_PATCH.search(text) and "\x00" not in text)
KEYS = st.from_regex(r"[a-z]([-a-z0-9.]{0,8}[a-z0-9])?(/[A-Za-z]{1,5})?", fullmatch=True)
RUNS = st.fixed_dictionaries(
    {
        "backend": st.sampled_from(["job", "master", "both", "worker"]),
        "command": st.lists(TEXTS, min_size=1, max_size=4),
        "env": st.dictionaries(st.from_regex(r"[A-Z_]{1,6}", fullmatch=True), TEXTS, max_size=4),
        "annotations": st.dictionaries(KEYS, TEXTS, max_size=3),
        "uid": st.none() | st.integers(0, 2**31 - 1),
        "flag": st.booleans(),
        "data": st.none() | st.dictionaries(KEYS.filter(lambda k: "/" not in k), TEXTS, max_size=2),
    }
)
# Each example is twenty runs; to make one smaller takes a kustomize for each step.
SEVERAL = settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.explicit, Phase.generate],
)


def drawn(run, number):
    """The objects of a drawn run, with the base merged in."""
    container = {
        "name": "pytorch",
        "image": "example.com/i@sha256:00",
        "command": run["command"],
        "env": [{"name": name, "value": value} for name, value in run["env"].items()],
    }
    spec = {"containers": [container], "shareProcessNamespace": run["flag"]}
    if run["uid"] is not None:
        spec["securityContext"] = {"runAsUser": run["uid"]}
    template = {"metadata": {"annotations": run["annotations"]}, "spec": spec}
    metadata = {"name": f"j{number}-r1", "namespace": "n", "annotations": run["annotations"]}
    if run["backend"] == "job":
        base, kind = JOB, "job"
        body = {"template": template}
    else:
        base, kind = PYTORCHJOB, "pytorchjob"
        roles = {"master": ["Master"], "worker": ["Worker"], "both": ["Master", "Worker"]}
        body = {
            "nprocPerNode": "8",
            "pytorchReplicaSpecs": {
                role: {"replicas": 1, "template": copy.deepcopy(template)}
                for role in roles[run["backend"]]
            },
        }
    one = {
        "apiVersion": base.object["apiVersion"],
        "kind": base.object["kind"],
        "metadata": metadata,
        "spec": body,
    }
    objects = [desired(base, one, TARGETS[kind])]
    if run["data"]:
        objects.append(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": f"j{number}-files", "namespace": "n"},
                "data": run["data"],
            }
        )
    return base, objects


def laid_out(folder, runs):
    """The overlays of drawn runs in a folder, under one kustomization; the objects by name."""
    wanted, listed = {}, []
    for number, run in enumerate(runs):
        base, objects = drawn(run, number)
        made = result(objects[0], base, others=objects[1:])
        made.run.identity.job = f"j{number}"
        texts = files(made, base) | {k: v.decode() for k, v in snapshot("west", base).items()}
        for name, text in texts.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8", newline="\n")
        listed.append(f"overlays/west/nlp/j{number}/r1")
        patch = texts[f"{listed[-1]}/run.yaml"]
        assert same(applied(base.object, yaml.safe_load(patch)), objects[0])
        wanted |= {(one["kind"], one["metadata"]["name"]): one for one in objects}
    lines = "".join(f"  - {name}\n" for name in listed)
    (folder / "kustomization.yaml").write_text(f"resources:\n{lines}", "utf-8")
    return wanted


@pytest.mark.kustomize
@pytest.mark.slow
@pytest.mark.skipif(not AVAILABLE, reason="no kustomize here")
@given(st.lists(RUNS, min_size=20, max_size=20))
@SEVERAL
def test_any_text_reaches_the_object_through_every_reader(tmp_path_factory, runs):
    folder = tmp_path_factory.mktemp("runs")
    wanted = laid_out(folder, runs)
    for real in AVAILABLE:
        built = real.build(folder)
        found = {(one["kind"], one["metadata"]["name"]): one for one in built}
        assert found.keys() == wanted.keys()
        for name, one in wanted.items():
            assert same(found[name], one), (real.name, name)
    shutil.rmtree(folder)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here")
@given(st.lists(RUNS, min_size=20, max_size=20))
@SEVERAL
def test_kubectl_and_pyyaml_read_the_patch_as_it_is_meant(tmp_path_factory, runs):
    """The files as written, without kustomize in between, which repairs what others refuse."""
    folder = tmp_path_factory.mktemp("patches")
    patches = []
    for number, run in enumerate(runs):
        base, objects = drawn(run, number)
        text = files(result(objects[0], base), base)["overlays/west/nlp/a/r1/run.yaml"]
        assert same(applied(base.object, yaml.safe_load(text)), objects[0])
        patches.append((text, operations(base.object, objects[0])))
    # kubectl reads objects; each patch becomes the content of one.
    texts = [
        "apiVersion: v1\nkind: Patch\nmetadata: {name: x}\npatch:\n" + text for text, _ in patches
    ]
    (folder / "all.yaml").write_text("---\n".join(texts), "utf-8", newline="\n")
    done = subprocess.run(
        ["kubectl", "patch", "--local", "-f", "all.yaml", "--type=json", "-p", "[]", "-o", "json"],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "KUBECONFIG": "/dev/null"},
        capture_output=True,
        check=True,
        text=True,
    )
    decoder = json.JSONDecoder()
    at, found = 0, []
    while (at := done.stdout.find("{", at)) >= 0:
        one, at = decoder.raw_decode(done.stdout, at)
        found.append(one["patch"])
    assert len(found) == len(patches)
    for built, (_, wanted) in zip(found, patches, strict=True):
        assert same(built, wanted)
    shutil.rmtree(folder)
