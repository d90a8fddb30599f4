"""`adopt`: a live PyTorchJob becomes r1, and from then on it is a run like any other."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import yaml
from company import Company, job, without_proof
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.cli import main
from compiler.diagnostics import CompilerError
from compiler.runs.adoption import adopted, checkpoint_dir, text_of, typed
from compiler.runs.ledgerfile import parse
from compiler.runs.markdown import as_markdown
from compiler.runs.reporting import as_json, as_text
from compiler.source import decode
from compiler.tree import read

FOLDER = "/ckpt/old/place"
FILE = "policy/adopted/nlp/tune.yaml"


def live(**metadata: Any) -> dict[str, Any]:
    """A PyTorchJob on two nodes as `kubectl get -o json` prints it."""
    container = {
        "name": "pytorch",
        "image": "registry.example.com/training/trainer:0.9",
        "command": ["torchrun", "train.py"],
        "args": ["--lr", "1e-4", "--name", "on"],
        "env": [{"name": "CHECKPOINT_DIR", "value": FOLDER}, {"name": "EMPTY", "value": ""}],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
        "volumeMounts": [{"name": "ckpt", "mountPath": "/ckpt"}],
    }
    volume = {"name": "ckpt", "persistentVolumeClaim": {"claimName": "checkpoints"}}
    role = {
        "replicas": 1,
        "restartPolicy": "OnFailure",
        "template": {"spec": {"containers": [container], "volumes": [volume]}},
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "name": "tune-by-hand",
            "namespace": "p-nlp",
            "uid": "42",
            "resourceVersion": "7",
            "generation": 2,
            "creationTimestamp": "2026-02-27T08:00:00Z",
            "managedFields": [{"manager": "kubectl"}],
            "labels": {"who": "kim", "kustomize.toolkit.fluxcd.io/name": "old"},
            "annotations": {
                "note": "y",
                "kubectl.kubernetes.io/last-applied-configuration": "{}",
                "argocd.argoproj.io/tracking-id": "old:x",
            },
            **metadata,
        },
        "spec": {
            "runPolicy": {"cleanPodPolicy": "Running", "suspend": False},
            "pytorchReplicaSpecs": {"Master": role, "Worker": deepcopy(role)},
        },
        "status": {"conditions": [{"type": "Running", "status": "True"}]},
    }


@pytest.fixture
def company(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Company:
    monkeypatch.setenv("COMPILER_CACHE", str(tmp_path / "cache"))
    made = Company(tmp_path)
    made.write("jobs/nlp/tune.yaml", job(num_nodes=2))
    return made


def adopt(company: Company, item: object, *words: str) -> int:
    source = company.folder / "live.json"
    source.write_text(json.dumps(item), "utf-8")
    at = company.now.isoformat()
    where = ["--repo", str(company.root), "--at", at]
    return main(["adopt", "tune", "--from", str(source), *words, *where])


def ledger(company: Company) -> Any:
    path = "overlays/ledger/nlp/tune.yaml"
    found, findings = parse(path, (company.root / path).read_bytes())
    assert found is not None, findings
    return found


def overlay(company: Company, number: int) -> Any:
    path = company.root / f"overlays/west/nlp/tune/r{number}/run.yaml"
    return yaml.safe_load(path.read_text("utf-8"))


# --- from the object to the run -------------------------------------------------------------------


@pytest.mark.kustomize
def test_an_adopted_object_is_r1_with_its_own_name_and_spec(company: Company) -> None:
    assert adopt(company, live()) == 0
    company.merge("Adopt")
    done = company.publish()
    assert done.commit is not None
    assert [item.decision.action for item in done.outcome.decisions] == ["none"]
    (run,) = ledger(company).runs
    assert (run.number, run.name, run.state, run.listed) == (1, "tune-by-hand", "active", True)
    assert (run.lineage, run.checkpoint_dir, run.guarded) == (1, FOLDER, False)
    assert run.started.by == "adopt"
    assert dict(run.accelerators) == {"H100": 16}
    made, was = overlay(company, 1), live()
    del was["spec"]["runPolicy"]["suspend"]
    assert made["spec"] == was["spec"]
    assert made["metadata"]["labels"] == {"who": "kim"}
    notes = made["metadata"]["annotations"]
    assert (notes["note"], notes["runwright/run"]) == ("y", "1")
    # Flux has to apply it once, or it would never prune it.
    assert "kustomize.toolkit.fluxcd.io/ssa" not in notes
    assert not any(name.startswith(("argocd", "kubectl")) for name in notes)
    assert "status" not in made


def test_plan_announces_an_adoption_and_publish_does_the_same(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proof(monkeypatch)
    assert adopt(company, live()) == 0
    planned = company.plan()
    text = as_text(planned.report)
    assert (
        "ADOPTS\n"
        "  nlp/tune-by-hand on west  16 × H100 on 2 nodes\n"
        "    it runs already, and becomes r1 of tune as it is (row d)\n"
    ) in text
    assert "STARTS" not in text
    assert "\n0 unchanged" in text
    assert "#### ADOPTS" in as_markdown(planned.report)
    (row,) = as_json(planned.report)["runs"]
    assert (row["action"], row["row"], row["adopted"], row["number"]) == ("none", "d", True, 1)
    company.merge("Adopt")
    # It is due now, whatever else a change does.
    company.write("jobs/nlp/other.yaml", job())
    text = as_text(company.plan().report)
    assert "ADOPTS" not in text
    assert "1 due at the next publish, with or without this change: nlp/tune-by-hand" in text
    company.write("jobs/nlp/other.yaml", None)
    done = company.publish()
    assert done.account is not None
    assert [line.adopted for line in done.account.news] == [True]
    assert company.git("log", "-1", "--format=%s") == "publish: 1 adopted"
    done = company.publish()
    assert done.account is not None
    assert done.account.news == []


def test_a_run_that_is_taken_in_only_to_be_stopped_is_both(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proof(monkeypatch)
    assert adopt(company, live()) == 0
    company.write("jobs/nlp/tune.yaml", job(num_nodes=2, state="stopped"))
    text = as_text(company.plan().report)
    assert "ADOPTS\n  nlp/tune-by-hand on west" in text
    assert "STOPS\n  nlp/tune-by-hand on west" in text


def test_publishing_again_changes_nothing(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proof(monkeypatch)
    assert adopt(company, live()) == 0
    company.merge("Adopt")
    company.publish()
    before = company.git("rev-parse", "HEAD:overlays")
    company.write("jobs/nlp/tune.yaml", "# A note.\n" + job(num_nodes=2))
    company.merge("Note")
    assert company.publish().commit is None
    # The file has done its work.
    company.write(FILE, None)
    company.merge("Clean up")
    assert company.publish().commit is None
    assert company.git("rev-parse", "HEAD:overlays") == before


def test_the_run_ends_and_its_successor_is_r2(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proof(monkeypatch)
    assert adopt(company, live()) == 0
    company.merge("Adopt")
    company.publish()
    company.write("jobs/nlp/tune.yaml", job(num_nodes=2, args="[--lr, 3e-4]"))
    company.merge("Learn faster")
    company.publish()
    first, second = ledger(company).runs
    assert (first.state, first.reason) == ("ended", "superseded")
    assert (second.number, second.name, second.state) == (2, "tune-r2", "active")
    assert second.checkpoint_dir == "/ckpt/west/nlp/tune/r2"
    assert not (company.root / "overlays/west/nlp/tune/r1").exists()


def test_a_successor_of_the_same_training_goes_on_in_the_folder_of_the_object(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proof(monkeypatch)
    assert adopt(company, live()) == 0
    company.merge("Adopt")
    company.publish()
    company.write("jobs/nlp/tune.yaml", job(num_nodes=2, max_duration="36h"))
    company.merge("Longer")
    company.publish()
    _, second = ledger(company).runs
    assert (second.lineage, second.checkpoint_dir) == (1, FOLDER)


def test_the_end_of_the_object_is_observed(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proof(monkeypatch)
    assert adopt(company, live()) == 0
    company.merge("Adopt")
    company.publish()
    company.publish(observations=(company.seen(tune_by_hand="succeeded"),))
    (run,) = ledger(company).runs
    assert (run.state, run.reason, run.outcome) == ("ended", "finished", "succeeded")


def test_a_broken_file_blocks_its_job_instead_of_starting_it_twice(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proof(monkeypatch)
    assert adopt(company, live()) == 0
    company.write(FILE, "cluster: west\n")
    company.merge("Adopt badly")
    done = company.publish()
    (item,) = done.outcome.decisions
    assert (item.decision.action, item.job) == ("blocked", "tune")
    assert FILE in item.decision.reason
    assert not (company.root / "overlays/ledger/nlp/tune.yaml").exists()
    assert main(["check", "--repo", str(company.root)]) == 1


def test_plan_starts_nothing(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    without_proof(monkeypatch)
    assert adopt(company, live()) == 0
    planned = company.plan()
    assert {line.action for line in planned.report.account.news} <= {"none", "adopt"}


# --- what cannot be adopted ----------------------------------------------------------------------


def changed(**fields: Any) -> dict[str, Any]:
    return {**live(), **fields}


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (live(name="other-r1"), "the name of run 1 of the job other"),
        (live(name="tune-r2"), "the name of run 2 of the job tune"),
        (live(namespace="p-vision"), "is in the namespace p-vision"),
        (live(annotations={"runwright/run": "1"}), "is a run already"),
        (live(deletionTimestamp="2026-03-01T00:00:00Z"), "is being deleted"),
        (changed(kind="Job", apiVersion="batch/v1"), "only a PyTorchJob"),
        (changed(kind="PyTorchJob", apiVersion="example.com/v1"), "only a PyTorchJob"),
        (changed(spec={}), "no pytorchReplicaSpecs"),
        (changed(status={"conditions": [{"type": "Failed", "status": "True"}]}), "has ended"),
        (changed(spec={**live()["spec"], "x": 1.5}), "a number that readers round: 1.5"),
        (changed(spec={**live()["spec"], "x": "a\x7f"}), "text that kustomize would change"),
        ({"kind": "List", "items": []}, "there are 0 objects"),
        ({"kind": "List", "items": [live(), live(name="b")]}, "there are 2 objects"),
        ({"kind": "List", "items": [3]}, "no list of objects"),
    ],
)
def test_what_cannot_be_r1_is_refused(
    company: Company, item: Any, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert adopt(company, item) == 2
    assert said in capsys.readouterr().err
    assert not (company.root / FILE).exists()


def test_the_name_of_its_own_first_run_is_kept(company: Company) -> None:
    assert adopt(company, live(name="tune-r1")) == 0


def test_a_job_with_runs_adopts_nothing(
    company: Company, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    without_proof(monkeypatch)
    company.merge("Begin")
    company.publish()
    assert adopt(company, live()) == 2
    assert "nlp/tune has runs already" in capsys.readouterr().err


def test_an_object_is_adopted_once(company: Company, capsys: pytest.CaptureFixture[str]) -> None:
    assert adopt(company, live()) == 0
    assert adopt(company, live(name="another")) == 2
    assert f"{FILE} is there already" in capsys.readouterr().err
    (company.root / FILE).rename(company.root / "policy/adopted/nlp/first.yaml")
    assert adopt(company, live()) == 2
    assert "policy/adopted/nlp/first.yaml has adopted tune-by-hand already" in (
        capsys.readouterr().err
    )


def test_the_cluster_is_asked_for_where_there_are_several(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    company.write("jobs/nlp/tune.yaml", job(num_nodes=2, cluster="[west, east]"))
    assert adopt(company, live()) == 2
    assert "add --cluster with one of: west, east" in capsys.readouterr().err
    assert adopt(company, live(), "--cluster", "north") == 2
    assert adopt(company, live(), "--cluster", "east") == 0
    assert "\ncluster: " in (company.root / FILE).read_text("utf-8")


def test_a_person_is_told_where_object_and_declaration_differ(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    company.write("jobs/nlp/tune.yaml", job(num_nodes=1))
    item = live()
    for role in item["spec"]["pytorchReplicaSpecs"].values():
        container = role["template"]["spec"]["containers"][0]
        container["env"], container["volumeMounts"] = [], []
    assert adopt(company, item) == 0
    said = capsys.readouterr().err
    assert "a successor begins from zero" in said
    assert "holds 16 accelerators, and jobs/nlp/tune.yaml declares 8" in said
    assert "runs registry.example.com/training/trainer:0.9" in said


@pytest.mark.parametrize("folder", ["ckpt", "/a/../b", ""])
def test_a_folder_that_is_no_clean_path_is_refused(company: Company, folder: str) -> None:
    assert adopt(company, live(), "--checkpoint-dir", folder) == 2
    assert not (company.root / FILE).exists()


def test_an_object_that_is_too_large_for_a_file_is_refused(
    company: Company, capsys: pytest.CaptureFixture[str]
) -> None:
    assert adopt(company, live(annotations={"x": "y" * 300_000})) == 2
    assert "it cannot be written down" in capsys.readouterr().err


# --- where the checkpoints are -------------------------------------------------------------------


def test_the_folder_is_the_objects_own_word_else_the_mounted_one() -> None:
    item = live()
    assert checkpoint_dir(item, "/ckpt") == FOLDER
    containers = [
        role["template"]["spec"]["containers"][0]
        for role in item["spec"]["pytorchReplicaSpecs"].values()
    ]
    for container in containers:
        container["env"] = [{"name": "CHECKPOINT_DIR", "value": "$(ROOT)/x"}]
    assert checkpoint_dir(item, "/ckpt") is None
    for container in containers:
        container["env"] = []
    assert checkpoint_dir(item, "/ckpt") == "/ckpt"
    assert checkpoint_dir(item, "/elsewhere") is None
    assert checkpoint_dir(item, None) is None


# --- the file ------------------------------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=12)
    | st.sampled_from(["on", "010", "1e-5", "~", "null", "", "a\nb\n", "# x", "<<", "2024-01-01"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abcyno-/.", min_size=1, max_size=8), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150, deadline=None)
@given(value=JSON)
def test_an_object_comes_back_from_its_file_as_it_was(value: Any) -> None:
    item = live()
    item["spec"]["extra"] = value
    try:
        kept = adopted(item, "nlp", "tune", "p-nlp")
    except CompilerError as error:
        assert "kustomize would change" in str(error)  # noqa: PT017
        return
    source, findings = decode(FILE, text_of("west", None, kept).encode())
    assert source is not None, findings
    node, findings = read(source)
    assert node is not None, findings
    assert typed(node) == {"cluster": "west", "object": kept}
