"""`archive`: from what kubectl prints to an observation that `publish --observed` takes."""

from __future__ import annotations

import io
import json
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from declarations import repository
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.cli import main
from compiler.diagnostics import CompilerError
from compiler.runs.archive import documents, observed, read_observation

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STARTED = "2026-03-01T06:00:00Z"
LATER = "2026-03-01T09:30:00Z"


def condition(kind: str, status: str = "True", reason: str = "", at: str = LATER) -> dict[str, Any]:
    return {
        "type": kind,
        "status": status,
        "reason": reason or f"PyTorchJob{kind}",
        "message": f"PyTorchJob llm-r1 is {kind}.",
        "lastTransitionTime": at,
        "lastUpdateTime": at,
    }


def pytorchjob(*conditions: dict[str, Any], name: str = "llm-r1", **status: Any) -> dict[str, Any]:
    role = {
        "replicas": 1,
        "restartPolicy": "OnFailure",
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "pytorch",
                        "resources": {
                            "limits": {
                                "cpu": "160",
                                "nvidia.com/gpu": "8",
                                "rdma/hca_shared_devices_a": "1",
                            }
                        },
                    }
                ]
            }
        },
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": {
            "name": name,
            "namespace": "p-nlp",
            "uid": "0d8f8c0e-1111-4222-8333-444455556666",
            "annotations": {"runwright/run": name.rpartition("-r")[2]},
        },
        "spec": {
            "runPolicy": {"suspend": False},
            "pytorchReplicaSpecs": {"Master": role, "Worker": {**role, "replicas": 3}},
        },
        "status": {"startTime": STARTED, "conditions": list(conditions), **status},
    }


def batch_job(*conditions: dict[str, Any], **status: Any) -> dict[str, Any]:
    pod = {"containers": [{"name": "pytorch", "resources": {"limits": {"amd.com/gpu": "4"}}}]}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": "eval-r2",
            "namespace": "p-nlp",
            "uid": "11",
            "annotations": {"runwright/run": "2"},
        },
        "spec": {"parallelism": 1, "suspend": False, "template": {"spec": pod}},
        "status": {"startTime": STARTED, "conditions": list(conditions), **status},
    }


def owned(kind: str, name: str, by: dict[str, Any]) -> dict[str, Any]:
    owner = {
        "apiVersion": by["apiVersion"],
        "kind": by["kind"],
        "name": by["metadata"]["name"],
        "controller": True,
    }
    return {"name": name, "namespace": "p-nlp", "ownerReferences": [owner], "kind": kind}


def pod(by: dict[str, Any], code: int, finished: str, reason: str = "Error") -> dict[str, Any]:
    ended = {"exitCode": code, "finishedAt": finished, "reason": reason}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": owned("Pod", f"pod-{finished}", by),
        "status": {
            "containerStatuses": [
                {"name": "istio-proxy", "state": {"terminated": {**ended, "exitCode": 9}}},
                {"name": "pytorch", "state": {"terminated": ended}},
            ]
        },
    }


def workload(
    by: dict[str, Any], reason: str, kind: str = "Evicted", active: bool = False
) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": owned("Workload", "pytorchjob-llm-r1-5a1b2", by),
        "spec": {"active": active, "maximumExecutionTimeSeconds": 12600},
        "status": {
            "conditions": [condition("Admitted", "False"), condition(kind, reason=reason)],
        },
    }


def listed(*items: dict[str, Any]) -> dict[str, Any]:
    metadata = {"resourceVersion": ""}
    return {"apiVersion": "v1", "kind": "List", "metadata": metadata, "items": list(items)}


def only(*items: dict[str, Any]) -> dict[str, Any]:
    found = observed([listed(*items)], "west", NOW)
    assert len(found["runs"]) == 1, found
    return found["runs"][0]


# --- how a run stands ----------------------------------------------------------------------------


def test_a_pytorchjob_that_succeeded_has_ended_with_what_it_used() -> None:
    item = pytorchjob(
        condition("Created"),
        condition("Running", "False"),
        condition("Succeeded"),
        completionTime="2026-03-01T09:00:00Z",
    )
    assert only(item) == {
        "name": "llm-r1",
        "namespace": "p-nlp",
        "uid": "0d8f8c0e-1111-4222-8333-444455556666",
        "outcome": "succeeded",
        "seconds": 3 * 3600,
        # 8 on each of 4 nodes; the RDMA devices are no accelerators.
        "accelerator_hours": "96",
        "began": "2026-03-01T06:00:00+00:00",
        "finished": "2026-03-01T09:00:00+00:00",
        "exit": None,
        "reason": None,
    }


@pytest.mark.parametrize(
    "conditions",
    [
        [],
        [condition("Created")],
        [condition("Created"), condition("Running")],
        [condition("Created"), condition("Restarting"), condition("Running", "False")],
        [condition("Created"), condition("Suspended")],
        # kubectl's STATE column shows the type of the last one, whatever its status.
        [condition("Running"), condition("Suspended", "False")],
        [condition("Running"), condition("Failed", "False"), condition("Succeeded", "False")],
        [condition("Running"), condition("Succeeded", "Unknown")],
    ],
)
def test_a_run_that_has_not_ended_runs(conditions: list[dict[str, Any]]) -> None:
    run = only(pytorchjob(*conditions))
    assert (run["outcome"], run["exit"], run["reason"]) == ("running", None, None)
    # Six hours until the observation.
    assert (run["seconds"], run["accelerator_hours"]) == (6 * 3600, "192")


def test_a_run_that_never_began_has_used_nothing_that_is_known() -> None:
    run = only(pytorchjob(condition("Suspended"), startTime=None))
    assert (run["outcome"], run["seconds"], run["accelerator_hours"]) == ("running", None, None)


def test_a_batch_job_ends_by_its_own_conditions() -> None:
    done = batch_job(condition("SuccessCriteriaMet"), condition("Complete"), completionTime=LATER)
    assert (only(done)["outcome"], only(done)["accelerator_hours"]) == ("succeeded", "14")
    assert only(batch_job(condition("SuccessCriteriaMet")))["outcome"] == "running"
    late = batch_job(condition("FailureTarget"), condition("Failed", reason="DeadlineExceeded"))
    assert (only(late)["outcome"], only(late)["reason"]) == ("failed", "DeadlineExceeded")


def test_a_failed_run_has_the_exit_code_of_the_process_that_failed_first() -> None:
    job = pytorchjob(condition("Running", "False"), condition("Failed"))
    pods = [
        pod(job, 143, "2026-03-01T09:29:58Z"),
        pod(job, 137, "2026-03-01T09:29:01Z", "OOMKilled"),
        pod(job, 1, "2026-03-01T09:29:40Z"),
        pod(batch_job(), 3, "2026-03-01T09:00:00Z"),
    ]
    run = only(job, *pods)
    assert (run["outcome"], run["exit"], run["reason"]) == ("failed", 137, "OOMKilled")
    plain = only(job, pod(job, 1, LATER))
    assert (plain["exit"], plain["reason"]) == (1, "PyTorchJobFailed")


def test_a_run_that_succeeded_with_pods_at_hand_has_exit_0() -> None:
    job = pytorchjob(condition("Succeeded"))
    # The workers of a PyTorchJob may go down however they like once the master has succeeded.
    run = only(job, pod(job, 0, LATER, "Completed"), pod(job, 143, LATER))
    assert (run["outcome"], run["exit"]) == ("succeeded", 0)


@pytest.mark.parametrize(
    ("kind", "reason", "cause"),
    [
        (
            "Evicted",
            "DeactivatedDueToMaximumExecutionTimeExceeded",
            "MaximumExecutionTimeExceeded",
        ),
        ("DeactivationTarget", "MaximumExecutionTimeExceeded", "MaximumExecutionTimeExceeded"),
        ("Evicted", "DeactivatedDueToRequeuingLimitExceeded", "RequeuingLimitExceeded"),
    ],
)
def test_a_run_that_kueue_gave_up_has_failed(kind: str, reason: str, cause: str) -> None:
    for job in (pytorchjob(condition("Suspended")), batch_job(condition("Suspended"))):
        spec = job["spec"].get("runPolicy", job["spec"])
        spec["suspend"] = True
        run = only(job, workload(job, reason, kind))
        assert (run["outcome"], run["reason"]) == ("failed", cause)
        assert run["seconds"] == 3.5 * 3600


@pytest.mark.parametrize(
    ("reason", "active", "suspended"),
    [
        ("Preempted", True, True),
        ("PodsReadyTimeout", True, True),
        # A person has paused it, and may let it go on.
        ("Deactivated", False, True),
        # Let go on by a person after the limit: the condition is about the past.
        ("DeactivatedDueToMaximumExecutionTimeExceeded", True, True),
        # Its pods are still writing their last checkpoint.
        ("DeactivatedDueToMaximumExecutionTimeExceeded", False, False),
    ],
)
def test_a_run_that_may_come_back_has_not_ended(reason: str, active: bool, suspended: bool) -> None:
    job = pytorchjob(condition("Suspended"))
    job["spec"]["runPolicy"]["suspend"] = suspended
    assert only(job, workload(job, reason, active=active))["outcome"] == "running"


def test_the_workload_of_another_run_says_nothing_about_this_one() -> None:
    job, other = pytorchjob(condition("Suspended")), pytorchjob(name="llm-r2")
    job["spec"]["runPolicy"]["suspend"] = True
    found = observed(
        [listed(job, other, workload(other, "DeactivatedDueToMaximumExecutionTimeExceeded"))],
        "west",
        NOW,
    )
    assert [run["outcome"] for run in found["runs"]] == ["running", "running"]


# --- what is a run, and whether all of them are there ---------------------------------------------


def test_runs_are_pytorchjobs_and_our_own_jobs() -> None:
    foreign, adopted = batch_job(condition("Complete")), pytorchjob(name="by-hand")
    foreign["metadata"].update(name="nightly-backup", annotations={})
    del adopted["metadata"]["annotations"]
    deployment = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "x"}}
    found = observed([listed(foreign, adopted, batch_job(), deployment)], "west", NOW)
    assert [run["name"] for run in found["runs"]] == ["by-hand", "eval-r2"]


def test_an_observation_is_complete_if_all_of_it_is_whole_lists() -> None:
    empty = listed()
    assert observed([empty, listed(pytorchjob())], "west", NOW)["complete"] is True
    assert observed([empty, pytorchjob()], "west", NOW)["complete"] is False
    assert observed([empty], "west", NOW, partial=True)["complete"] is False
    cut = listed(pytorchjob())
    cut["metadata"]["continue"] = "eyJ2IjoibWV0YS5rOHMuaW8"
    assert observed([cut], "west", NOW)["complete"] is False


def test_several_documents_are_read_one_after_the_other() -> None:
    text = json.dumps(listed(pytorchjob()), indent=4) + "\n" + json.dumps(batch_job())
    assert [document["kind"] for document in documents(f"\n{text}\n\n")] == ["List", "Job"]


# --- what is not kubectl's -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "  \n", "[]", "3", '"kind"', "{", "No resources found\n", '{"kind": "List"} tail', "{}"],
)
def test_what_kubectl_does_not_print_is_refused(text: str) -> None:
    with pytest.raises(CompilerError, match="kubectl"):
        observed(documents(text), "west", NOW)


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(CompilerError, match="kubectl"):
        documents('{"items": ' + "[" * 100_000)


def _replaced(value: Any, path: tuple[Any, ...], by: Any) -> None:
    for step in path[:-1]:
        value = value[step]
    value[path[-1]] = by


def _paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += _paths(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += _paths(inner, (*path, index))
    return found


def _whole() -> dict[str, Any]:
    job = pytorchjob(condition("Suspended"), condition("Failed"))
    return listed(job, pod(job, 1, LATER), workload(job, "DeactivatedDueToX"), batch_job())


@settings(max_examples=150, deadline=None)
@given(
    path=st.sampled_from(_paths(_whole())),
    by=st.sampled_from([None, True, 3, "", "x", [], [3], [None], {}, {"a": 1}, -1, 1.5]),
)
def test_a_wrong_value_anywhere_is_refused_or_passed_over(path: tuple[Any, ...], by: Any) -> None:
    document = deepcopy(_whole())
    _replaced(document, path, by)
    try:
        found = observed([document], "west", NOW)
    except CompilerError as error:
        assert "kubectl" in str(error)  # noqa: PT017
    else:
        # Whatever comes out can be read back: a publish does not fall over it.
        assert {run["outcome"] for run in found["runs"]} <= {"running", "succeeded", "failed"}
        json.dumps(found)


# --- the verb ------------------------------------------------------------------------------------


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "repository")


def run(root: Path, *words: str) -> int:
    at = NOW.isoformat().replace("+00:00", "Z")
    return main(["archive", *words, "--repo", str(root), "--at", at])


def test_archive_writes_what_publish_reads(root: Path, tmp_path: Path) -> None:
    source, target = tmp_path / "kubectl.json", tmp_path / "observed.json"
    source.write_text(json.dumps(listed(pytorchjob(condition("Succeeded")))), "utf-8")
    assert run(root, "--cluster", "west", "--from", str(source), "-o", str(target)) == 0
    observation = read_observation(str(target))
    assert (observation.cluster, observation.complete) == ("west", True)
    seen = observation.runs["p-nlp", "llm-r1"]
    assert (seen.outcome, seen.seconds, seen.hours) == ("succeeded", 12600, "112")


def test_archive_reads_standard_input(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = json.dumps(pytorchjob(condition("Running"))).encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbf" + text)))
    assert run(root, "--cluster", "west", "--from", "-") == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["version"], printed["at"]) == (1, "2026-03-01T12:00:00+00:00")
    assert (printed["complete"], printed["runs"][0]["outcome"]) == (False, "running")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--from", "-"], "which cluster"),
        (["--cluster", "wets", "--from", "-"], "there is no cluster `wets`"),
        (["--cluster", "west"], "a live cluster cannot be read by this version"),
        (["--cluster", "west", "--from", "nowhere.json"], "nowhere.json cannot be read"),
        (["--cluster", "west", "--from", "."], ". cannot be read"),
    ],
)
def test_archive_says_what_it_lacks(
    root: Path, words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(root, *words) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert out == ""


def test_archive_refuses_bytes_that_are_no_text(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "odd.json").write_bytes(b'{"kind": "\xff"}')
    assert run(root, "--cluster", "west", "--from", str(tmp_path / "odd.json")) == 2
    assert "cannot be read" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"kind": "List", "apiVersion": "v1", "items": None}, "`items` is null"),
        (
            {"kind": "Status", "status": "Failure", "message": "pods is forbidden", "code": 403},
            "the API server has answered: pods is forbidden",
        ),
    ],
)
def test_an_answer_that_lists_nothing_is_not_an_empty_cluster(
    document: dict[str, Any], said: str
) -> None:
    for documents_read in ([document], [document, {"kind": "List", "items": []}]):
        with pytest.raises(CompilerError, match=said) as told:
            observed(documents_read, "west", NOW)
        assert told.value.help


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("{}", "`version` is missing"),
        ("[]", "its form is another"),
        ('{"version": 1, "at": "2026-03-01T12:00:00+00:00",\n "cluster": "we', "line 2"),
        ('{"version": 1,\n', "it breaks off in line"),
        ("version: 1\n", "it is no JSON"),
        ('{"version": 1, "at": "noon"}', "noon"),
        ('{"version": 1, "at": "2026-03-01T12:00:00+00:00", "runs": [{}]}', "is missing"),
    ],
)
def test_a_file_that_is_no_observation_is_told_from_one(
    text: str, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "seen.json"
    file.write_text(text, "utf-8")
    with pytest.raises(CompilerError, match="is no observation") as told:
        read_observation(str(file))
    assert said in str(told.value)
    assert "Error" not in str(told.value)
    assert "runwright archive" in told.value.help
