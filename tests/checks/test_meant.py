"""One finding that says what was meant: other tools' files, words and letters that look right."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, only, policy, spot

from compiler.causes import rooted

WEST = "policy/clusters/west.yaml"
NLP = "policy/teams/nlp.yaml"

# The declaration, its one finding's rule and place, a part of the message, what to write.
REPORTED = {
    "a count after a space": (
        job(accelerators="H100: 8"),
        "syntax-error",
        "3:15",
        "reads as a second key",
        "write `accelerators: H100:8`, without a space",
    ),
    "a count after an x": (
        job(accelerators="H100x8"),
        "unknown-accelerator",
        "3:15",
        "no accelerator `H100x8`",
        "write `H100:8`",
    ),
    "the short name of one": (
        job(accelerators="A100:8"),
        "unknown-accelerator",
        "3:15",
        "no accelerator `A100`",
        "write `A100-80GB`",
    ),
    "a folder of images": (
        job(image="images/llm-sft"),
        "bad-image-reference",
        "2:8",
        "is a folder, and an image is called by its name",
        "write llm-sft",
    ),
    "one with its memory": (
        job(accelerators="H100-80GB:8"),
        "unknown-accelerator",
        "3:15",
        "no accelerator `H100-80GB`",
        "write `H100`",
    ),
    "cores in bytes": (
        job("cpu: 4Gi"),
        "bad-quantity",
        "7:6",
        "`4Gi` is not a number of cores",
        "write cores such as 8",
    ),
    "what to run": (
        job("run: torchrun train.py"),
        "unknown-key",
        "7:1",
        "a job has no key `run`",
        "write `command`",
    ),
    "a list as for a shell": (
        job('command: [cd, /app, "&&", torchrun, train.py]'),
        "shell-words-in-list",
        "7:11",
        "`cd` is a command of the shell, and no shell runs this list",
        'write [bash, -c, "cd /app && torchrun train.py"]',
    ),
    "items without a space": (
        job("command:\n  -torchrun\n  -train.py"),
        "shell-words-in-list",
        "8:3",
        "no program is called `-torchrun`",
        "write `- ` before each word",
    ),
    "the node's network": (
        job("pod: {spec: {hostNetwork: true}}"),
        "job-field-in-pod",
        "7:14",
        "`hostNetwork` alone",
        "write host_network: true at the top of the job",
    ),
    "two commands in a list": (
        job('command: [torchrun, train.py, "&&", echo, done]'),
        "shell-words-in-list",
        "7:31",
        "`&&` is an argument of torchrun here",
        "write [bash, -c, ",
    ),
    "a variable before the program": (
        job("command: [NCCL_DEBUG=INFO, torchrun, train.py]"),
        "shell-words-in-list",
        "7:11",
        "`NCCL_DEBUG=INFO` is taken for the program",
        "write it under `env:`",
    ),
    "another spelling": (
        job(accelerators="h-100:8"),
        "unknown-accelerator",
        "3:15",
        "no accelerator `h-100`",
        "write `H100`",
    ),
    "a misspelt one": (
        job(accelerators="HH100:8"),
        "unknown-accelerator",
        "3:15",
        "no accelerator `HH100`",
        "write `H100`",
    ),
    # Not H100, though a single letter tells them apart.
    "another one": (
        job(accelerators="H200:8"),
        "unknown-accelerator",
        "3:15",
        "no accelerator `H200`",
        "write one of: A100-80GB, H100,",
    ),
    "a Cyrillic letter": (
        job(queue="rese\u0430rch"),
        "bad-name",
        "4:8",
        "`\u0430` in it is U+0430, CYRILLIC SMALL LETTER A",
        "write research",
    ),
    "a hyphen of typesetters": (
        job(queue="a\u2011b"),
        "bad-name",
        "4:8",
        "is U+2011, NON-BREAKING HYPHEN",
        "write a-b",
    ),
    "a letter that stands for no other": (
        job(queue="f\u00fcr"),
        "bad-name",
        "4:8",
        "`\u00fc` in it is U+00FC",
        "write lower-case letters",
    ),
    "a capability as Linux calls it": (
        job("security: {capabilities: [CAP_IPC_LOCK]}"),
        "bad-name",
        "7:27",
        "`CAP_IPC_LOCK` is not a capability",
        "write it in capitals and without CAP_, such as IPC_LOCK",
    ),
    "arguments in both places": (
        job("command: [bash, -c, torchrun, train.py]\nargs: [--lr, '1']"),
        "script-in-several-words",
        "7:31",
        "is not part of the script",
        'write [bash, -c, "torchrun train.py --lr 1"], and take `args` out',
    ),
    "a file mode in octal": (
        job(
            "pod: {spec: {volumes: [{name: a, configMap: {name: x, defaultMode: 0644}}]}}",
        ),
        "bad-pod-field",
        "7:68",
        "file modes are decimal here",
        "write 420",
    ),
    "a conflict": (
        "<<<<<<< HEAD\n" + job() + "=======\nimage: other\n>>>>>>> theirs\n",
        "syntax-error",
        "1:1",
        "`<<<<<<< HEAD` marks a conflict of a merge",
        "keep one of the two texts",
    ),
    "an object of Kubernetes": (
        "apiVersion: kubeflow.org/v1\nkind: PyTorchJob\nmetadata: {name: x}\nspec: {}\n",
        "unknown-key",
        "1:1",
        "this is an object of Kubernetes (PyTorchJob), and not a job",
        "`python -m compiler new JOB` writes one",
    ),
    "a file of Docker Compose": (
        "services:\n  train: {image: x}\nvolumes: {}\n",
        "unknown-key",
        "1:1",
        "this is a file of Docker Compose",
        "write a job in its own keys",
    ),
}


@pytest.mark.parametrize(
    ("text", "rule", "place", "message", "remedy"), REPORTED.values(), ids=list(REPORTED)
)
def test_what_was_meant_is_said(
    text: str, rule: str, place: str, message: str, remedy: str
) -> None:
    found = only(rule, findings(text))
    assert spot(found) == f"jobs/example.yaml:{place}"
    assert message in found.message
    assert remedy in found.help


def test_an_object_of_kubernetes_is_no_policy_either() -> None:
    text = "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nspec: {}\n"
    found = [item for item in findings(job(), {WEST: text}) if item.place.path == WEST]
    assert [item.message for item in found] == [
        "this is an object of Kubernetes (ClusterQueue), and not a cluster"
    ]


def test_a_quota_of_an_accelerator_that_is_not_there_is_told_once() -> None:
    files = policy(NLP, ("    H100: {guaranteed", "    H200: {guaranteed"))
    found = only("unknown-name-in-policy", rooted(findings(job(), files)))
    assert found.help.startswith("write one of: A100-80GB, H100,")


def test_a_list_that_is_needed_cannot_be_left_out() -> None:
    files = policy(NLP, ("owners: [kim-nlp, example-org/nlp-leads]", "owners: []"))
    (found,) = of("empty-value", findings(job(), files))
    assert found.help == "write at least one item"
    (found,) = of("empty-value", findings(job(cluster="[]")))
    assert found.help == "write at least one item, or leave the key out"


def test_a_back_end_for_one_node_is_told_once_of_an_elastic_run() -> None:
    files = policy(WEST, ("multi_node: pytorchjob", "multi_node: job"))
    found = findings(job("num_nodes: {min: 1, max: 2}"), files)
    about = [item for item in found if item.place.path == "jobs/example.yaml"]
    assert [item.rule for item in about] == ["unsupported-by-backend"]
    assert "(several-nodes)" in about[0].message
