"""Fields under `pod:` that are a key's of the job, or the cluster's, to say."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, policy
from test_pod_values import MAIN, lines_from, spec

from compiler.diagnostics import Severity

NLP = "policy/teams/nlp.yaml"
INIT = "init: [{name: a, image: llm-sft, command: [nvidia-smi], memory: 1Gi}]"


def init(fields: str) -> str:
    pod = f"pod: {{spec: {{initContainers: [{{name: a, {fields}}}]}}}}"
    return job(f"memory: 1000Gi\n{INIT}\n{pod}")


def main(fields: str) -> str:
    return job(f"{MAIN}        {fields}")


# The declaration, the rule, what the finding's place shows, parts of its message and its help.
CASES = {
    "a class of priority": (
        spec("priorityClassName: high"),
        "key-overridden-in-pod",
        "priorityClassName",
        "the key `priority` of the job",
        "write priority: high at the top",
    ),
    "a class that the cluster has for itself": (
        spec("priorityClassName: system-node-critical"),
        "key-overridden-in-pod",
        "priorityClassName",
        "the key `priority` of the job",
        "take it out; as the job's priority, write one of: high, low, normal",
    ),
    "a grace": (
        spec("terminationGracePeriodSeconds: 3"),
        "key-overridden-in-pod",
        "terminationGracePeriodSeconds",
        "the key `stop.grace` of the job",
        "write stop: {grace: 3s} at the top",
    ),
    "a grace below nothing": (
        spec("terminationGracePeriodSeconds: -1"),
        "key-overridden-in-pod",
        "terminationGracePeriodSeconds",
        "the key `stop.grace` of the job",
        "write stop: {grace: 600s} at the top",
    ),
    "a deadline": (
        spec("activeDeadlineSeconds: 500"),
        "key-overridden-in-pod",
        "activeDeadlineSeconds",
        "the key `max_duration` of the job",
        "write max_duration: 500s at the top",
    ),
    "the first node's": (
        job("master: {pod: {spec: {priorityClassName: low}}}", num_nodes="2"),
        "key-overridden-in-pod",
        "priorityClassName",
        "the key `priority` of the job",
        "write priority: low at the top",
    ),
    "a node": (
        spec("nodeName: n1"),
        "field-set-by-cluster",
        "nodeName",
        "the scheduler sets it",
        "choose nodes by `placement`",
    ),
    "a gate": (
        spec("schedulingGates: [{name: a}]"),
        "field-set-by-cluster",
        "schedulingGates",
        "waits until something lifts them",
        "a run waits in its `queue`",
    ),
    "a number": (
        spec("priority: 5"),
        "field-set-by-cluster",
        "priority: 5",
        "computed from the priority class",
        "the job's own key `priority`",
    ),
    "who is pushed out": (
        spec("preemptionPolicy: Never"),
        "field-set-by-cluster",
        "preemptionPolicy",
        "computed from the priority class",
        "the job's own key `priority`",
    ),
    "what the runtime takes": (
        spec("overhead: {cpu: 1}"),
        "field-set-by-cluster",
        "overhead",
        "computed from the runtime class",
        "the RuntimeClass says it",
    ),
    "how an init container restarts": (
        init("restartPolicy: OnFailure"),
        "pod-restart-policy",
        "restartPolicy",
        "a policy of its own does not count",
        "or write Always for a sidecar",
    ),
    "how the training container restarts": (
        main("restartPolicy: Always"),
        "pod-restart-policy",
        "restartPolicy",
        "a policy of its own does not count",
        "write retry: {max: 3} at the top",
    ),
    "when a container restarts": (
        main("restartPolicyRules: [{action: Restart}]"),
        "pod-restart-policy",
        "restartPolicyRules",
        "a policy of its own does not count",
        "write retry: {max: 3} at the top",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "rule", "shown", "message", "remedy"), CASES.values(), ids=list(CASES)
)
def test_a_field_that_is_not_the_pods_to_say_is_the_only_error(
    text: str, rule: str, shown: str, message: str, remedy: str
) -> None:
    (found,) = [f for f in findings(text) if f.severity is Severity.ERROR]
    assert found.rule == rule
    assert lines_from(found, text)[0].startswith(shown)
    assert message in found.message
    assert remedy in found.help


def test_a_class_that_the_team_may_not_use_is_not_proposed() -> None:
    files = policy(NLP, ("caps:\n", "caps:\n  priorities: [low, normal]\n"))
    (found,) = of("key-overridden-in-pod", findings(spec("priorityClassName: high"), files))
    assert found.help == "take it out; as the job's priority, write one of: low, normal"


@pytest.mark.parametrize(
    "text",
    [
        spec("priorityClassName: ''"),
        spec("nodeName: ''"),
        spec("schedulingGates: []"),
        init("restartPolicy: Always"),
        job("stop: {grace: 3s}", priority="high", max_duration="500s"),
    ],
)
def test_what_says_nothing_and_what_the_keys_say_is_no_finding(text: str) -> None:
    rules = {rule for _, rule, *_ in CASES.values()}
    assert [f for f in findings(text) if f.rule in rules] == []
