"""Rules about queues, priorities, caps and what belongs to the parts of a cluster."""

from __future__ import annotations

import pytest
from declarations import findings, job, only, policy, spot

WEST = "policy/clusters/west.yaml"
NLP = "policy/teams/nlp.yaml"
RUNS = "  runs: 12\n  duration: 7d\n"

REPORTED = {
    "a misspelt queue": (
        job(queue="reserch"),
        {},
        "unknown-queue",
        "4:8",
        "the cluster west has no queue `reserch`",
        "write `research`",
    ),
    "no queue": (
        job(queue=None),
        {},
        "missing-queue",
        "1:1",
        "Kueue admits the runs of west, and this one names no queue",
        "add `queue:` with `research`",
    ),
    "no queue for a run on CPUs": (
        job("cpu: 4\nmemory: 32Gi", queue=None, accelerators=None, image="ddp-mini"),
        {},
        "missing-queue",
        "1:1",
        "names no queue",
        "add `queue:` with one of: research, data",
    ),
    "a misspelt priority": (
        job("priority: hihg"),
        {},
        "unknown-priority",
        "7:11",
        "the cluster west has no priority `hihg`",
        "write `high`",
    ),
    "a priority that the team may not use": (
        job("priority: high"),
        policy(NLP, (RUNS, f"{RUNS}  priorities: [low, normal]\n")),
        "priority-not-allowed",
        "7:11",
        "the team nlp may not use the priority `high`",
        "write one of: low, normal",
    ),
    "a queue that the team may not use": (
        job(),
        policy(NLP, ("[research, interactive, data]", "[interactive, data]")),
        "queue-not-allowed",
        "4:8",
        "the team nlp may not use the queue `research`",
        "write one of: data, interactive",
    ),
    "a queue of other accelerators": (
        job(queue="interactive"),
        {},
        "accelerator-not-in-queue",
        "4:8",
        "the queue `interactive` gives out no H100 (its accelerators: MIG-1g.10gb)",
        "write `research`",
    ),
    "a queue without accelerators": (
        job(queue="data"),
        {},
        "accelerator-not-in-queue",
        "4:8",
        "gives out no H100 (its accelerators: none)",
        "write `research`",
    ),
    "a queue that takes no runs on CPUs": (
        job("cpu: 4\nmemory: 32Gi", accelerators=None, image="ddp-mini", queue="interactive"),
        {},
        "accelerator-not-in-queue",
        "3:8",
        "the queue `interactive` takes no runs without accelerators",
        "write one of: research, data",
    ),
    "a resource that the queue does not cover": (
        job("resources: {example.com/licence: 1}"),
        {},
        "resource-not-in-queue",
        "7:34",
        "the queue `research` does not cover example.com/licence",
        "take it out, choose another queue",
    ),
    "local disk that the queue does not cover": (
        job("ephemeral_storage: 10Gi", accelerators="MIG-1g.10gb:1", queue="interactive"),
        {},
        "resource-not-in-queue",
        "7:20",
        "does not cover ephemeral-storage",
        "take it out",
    ),
    "a resource of pod: that the queue does not cover": (
        job(
            "pod:\n  spec:\n    containers:\n      - name: pytorch\n"
            "        resources: {limits: {example.com/licence: 1}}"
        ),
        {},
        "resource-not-in-queue",
        "11:51",
        "does not cover example.com/licence",
        "take it out",
    ),
    "more nodes than the team's cap": (
        job("num_nodes: 9"),
        {},
        "nodes-above-cap",
        "7:12",
        "9 nodes; a run of the team nlp may have 8",
        "write 8 or less",
    ),
    "more nodes than the cap at the most": (
        job("num_nodes: {min: 2, max: 12}"),
        {},
        "nodes-above-cap",
        "7:26",
        "12 nodes; a run of the team nlp may have 8",
        "write 8 or less",
    ),
    "more accelerators than the team's cap": (
        job("num_nodes: 6"),
        policy(NLP, ("  accelerators: 64\n", "  accelerators: 32\n")),
        "accelerators-above-cap",
        "3:15",
        "48 accelerators on 6 nodes; a run of the team nlp may have 32",
        "write fewer nodes: 4 fit",
    ),
    "more accelerators than the cap on one node": (
        job(),
        policy(NLP, ("  accelerators: 64\n", "  accelerators: 4\n")),
        "accelerators-above-cap",
        "3:15",
        "8 accelerators on 1 nodes",
        "write H100:4 or less",
    ),
    "a duration above the cap": (
        job(max_duration="8d"),
        {},
        "duration-above-cap",
        "5:15",
        "8d is too long; a run of the team nlp may take 7d",
        "write 7d or less",
    ),
    "no duration where there is a cap": (
        job(max_duration=None),
        {},
        "duration-above-cap",
        "1:1",
        "nothing says how long the run may take",
        "add `max_duration:` with 7d or less",
    ),
    "Kueue's queue as a label": (
        job("labels: {kueue.x-k8s.io/queue-name: data}"),
        {},
        "reserved-label",
        "7:10",
        "`kueue.x-k8s.io/queue-name` is not for jobs",
        "write `queue:` instead",
    ),
    "a forced replacement": (
        job("annotations: {argocd.argoproj.io/sync-options: Replace=true}"),
        {},
        "reserved-label",
        "7:15",
        "a hook, a wave or a replacement would delete runs",
        "take it out",
    ),
    "a forced apply in pod:": (
        job("pod: {metadata: {annotations: {kustomize.toolkit.fluxcd.io/force: enabled}}}"),
        {},
        "reserved-label",
        "7:32",
        "`kustomize.toolkit.fluxcd.io/force` is not for jobs",
        "take it out",
    ),
    "the operator's label on the first node": (
        job("num_nodes: 2\nmaster: {labels: {training.kubeflow.org/job-role: worker}}"),
        {},
        "reserved-label",
        "8:19",
        "the operator writes it",
        "take it out",
    ),
    "an annotation of the compiler": (
        job("annotations: {runwright/run: 7}"),
        {},
        "reserved-label",
        "7:15",
        "the compiler writes it",
        "take it out",
    ),
    "a waiver of no rule": (
        job("waive: [{rule: part-of-node, reason: a test, until: 2126-01-31}]"),
        {},
        "ineffective-waiver",
        "7:16",
        "there is no rule `part-of-node`",
        "write `part-of-a-node`",
    ),
    "a waiver of an error": (
        job("waive: [{rule: unknown-queue, reason: a test, until: 2126-01-31}]"),
        {},
        "ineffective-waiver",
        "7:16",
        "`unknown-queue` cannot be waived",
        "take the waiver out",
    ),
}
CLEAN = {
    "a queue that is Kueue's default": (
        job(queue=None),
        policy(WEST, ("  interactive:\n    cluster", "  default:\n    cluster"))
        | policy(NLP, ("[research, interactive, data]", "[research, data]")),
    ),
    "a duration as long as the cap": (job(max_duration="168h"), {}),
    "as many accelerators as the cap": (job("num_nodes: 8"), {}),
    "a resource that the queue covers": (job("ephemeral_storage: 10Gi"), {}),
    "labels of one's own": (job("labels: {example.com/purpose: evaluation}"), {}),
    "a waiver of a warning": (
        job(
            "num_nodes: 2\nwaive: [{rule: part-of-a-node, reason: a test, until: 2126-01-31}]",
            accelerators="H100:4",
        ),
        {},
    ),
}


@pytest.mark.parametrize("case", REPORTED)
def test_reports(case: str) -> None:
    text, files, rule, place, message, remedy = REPORTED[case]
    item = only(rule, findings(text, files))
    assert message in item.message
    assert item.help.startswith(remedy)
    assert spot(item) == f"jobs/example.yaml:{place}"


@pytest.mark.parametrize("case", CLEAN)
def test_leaves_alone(case: str) -> None:
    text, files = CLEAN[case]
    assert [f"{item.rule}: {item.message}" for item in findings(text, files)] == []


@pytest.mark.parametrize(
    ("rule", "text", "path"),
    [
        ("unknown-queue", job(queue="reserch"), WEST),
        ("nodes-above-cap", job("num_nodes: 9"), NLP),
        ("duration-above-cap", job(max_duration="8d"), NLP),
        ("unknown-priority", job("priority: hihg"), WEST),
    ],
)
def test_the_line_of_policy_is_shown(rule: str, text: str, path: str) -> None:
    item = only(rule, findings(text))
    assert [related.place.path for related in item.related] == [path]


def test_both_caps_broken_by_one_number_are_one_finding() -> None:
    # 72 accelerators are above 64 as well, but 8 nodes would not be.
    only("nodes-above-cap", findings(job("num_nodes: 9")))


def test_a_cluster_without_kueue_knows_no_queues() -> None:
    text = job(
        team="vision", cluster="east", image="vit-rocm", accelerators="MI300X:8",
        queue="anything", command="[torchrun, -m, vit.segment]", max_duration="3d",
    )  # fmt: skip
    assert [item.rule for item in findings(text) if item.severity == "error"] == []


@pytest.mark.parametrize(
    ("version", "reported"), [("0.19.2", True), ("0.18.1", False), ("1.0", True)]
)
def test_a_kueue_that_leaves_pytorchjobs_alone_is_told_once(version: str, reported: bool) -> None:
    files = policy(WEST, ("kueue: 0.17.0", f"kueue: {version}"))
    files["jobs/second.yaml"] = job("num_nodes: 2")
    found = findings(job("num_nodes: 2"), files)
    if reported:
        item = only("kind-ignored-by-kueue", found)
        assert (item.place.path, item.place.column, item.severity) == (WEST, 10, "warning")
    else:
        assert found == []
    # A batch Job is among the kinds of every version.
    assert findings(job(), policy(WEST, ("kueue: 0.17.0", f"kueue: {version}"))) == []
