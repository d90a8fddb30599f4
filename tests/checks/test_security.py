"""Rules about images, registries and Secrets, and about text that kustomize loses."""

from __future__ import annotations

import pytest
from declarations import findings, job, of, only, policy, spot

DIGEST = f"sha256:{'7' * 64}"
LISTED = "registry.example.com/training/llm-sft"
OTHER = "registry.example.com/training/another"
WEST = "policy/clusters/west.yaml"
COMMAND = "command: [torchrun, train.py]"


@pytest.mark.parametrize(
    ("text", "place", "reference"),
    [
        (job(COMMAND, image=f"{OTHER}:2.0"), "2:8", f"{OTHER}:2.0"),
        (job(COMMAND, image=OTHER), "2:8", OTHER),
        (
            job(f"init:\n  - {{name: stage, image: '{OTHER}:1.0', command: [copy]}}"),
            "8:26",
            f"{OTHER}:1.0",
        ),
        (
            job(f"pod:\n  spec:\n    containers:\n      - {{name: helper, image: '{LISTED}:1.0'}}"),
            "10:31",
            f"{LISTED}:1.0",
        ),
    ],
)
def test_an_image_without_a_digest_is_refused(text: str, place: str, reference: str) -> None:
    item = only("unpinned-image", findings(text))
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert f"`{reference}` has no digest" in item.message
    assert "add @sha256:<64 hex digits>" in item.help
    assert "images/lock.yaml" in item.help


@pytest.mark.parametrize(
    "image", [f"{LISTED}@{DIGEST}", f"{LISTED}:2.0@{DIGEST}", f"{LISTED}:0.1.0"]
)
def test_a_digest_may_stand_in_the_reference_or_in_the_lock(image: str) -> None:
    assert findings(job(COMMAND, image=f'"{image}"')) == []


@pytest.mark.parametrize(
    "image",
    [
        f"docker.io/pytorch/pytorch@{DIGEST}",
        f"pytorch/pytorch@{DIGEST}",
        f"registry.example.com/train@{DIGEST}",
        f"registry.example.com/trainingother/x@{DIGEST}",
    ],
)
def test_a_registry_that_is_not_listed_is_refused(image: str) -> None:
    item = only("unlisted-registry", findings(job(COMMAND, image=f'"{image}"')))
    assert spot(item) == "jobs/example.yaml:2:8"
    assert item.help.endswith("registry.example.com/mirror, registry.example.com/training")
    assert [related.place.path for related in item.related] == [WEST]


def test_an_image_of_docker_hub_may_leave_its_host_out() -> None:
    files = policy(WEST, ("\nregistries:\n", "\nregistries:\n  docker.io/pytorch: {}\n"))
    image = f'"pytorch/pytorch@{DIGEST}"'
    assert findings(job(COMMAND, image=image), files) == []
    only("unlisted-registry", findings(job(COMMAND, image=f'"library/other@{DIGEST}"'), files))


@pytest.mark.parametrize(
    ("extra", "place"),
    [
        ("secrets: {TOKEN: payments/token}", "7:18"),
        ("mounts: {/keys: {secret: payments}}", "7:26"),
        (
            "sidecars: [{name: exporter, image: gpu-exporter, secrets: {T: payments/t}}]",
            "7:63",
        ),
        ("pod: {spec: {volumes: [{name: k, secret: {secretName: payments}}]}}", "7:55"),
        (
            (
                "pod: {spec: {containers: [{name: pytorch,\n"
                "  envFrom: [{secretRef: {name: payments}}]}]}}"
            ),
            "8:32",
        ),
        (
            (
                "pod: {spec: {containers: [{name: pytorch, env: [{name: T,\n"
                "  valueFrom: {secretKeyRef: {name: payments, key: token}}}]}]}}"
            ),
            "8:36",
        ),
    ],
)
def test_a_secret_that_is_not_on_the_team_s_list_is_refused(extra: str, place: str) -> None:
    item = only("secret-not-allowed", findings(job(extra)))
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert item.message == "the team nlp may not use the Secret `payments`"
    assert [related.place.path for related in item.related] == ["policy/teams/nlp.yaml"]


def test_a_secret_on_the_list_and_a_team_without_a_list_pass() -> None:
    assert findings(job("secrets: {HF_TOKEN: hf/token}\npull_secrets: [partner-registry]")) == []
    files = policy("policy/teams/nlp.yaml", ("secrets: [hf, wandb]\n", ""))
    assert findings(job("secrets: {TOKEN: payments/token}"), files) == []


@pytest.mark.parametrize(
    ("extra", "place", "code"),
    [
        ('env: {MARK: "a\\x85b"}', "7:13", "U+0085"),
        ('args: ["--mark", "a\\x7f"]', "7:18", "U+007F"),
        ('annotations: {example.com/note: "\\uFFFF"}', "7:33", "U+FFFF"),
    ],
)
def test_text_that_kustomize_loses_is_refused(extra: str, place: str, code: str) -> None:
    item = only("text-lost-by-kustomize", findings(job(extra)))
    assert spot(item) == f"jobs/example.yaml:{place}"
    assert code in item.message


def test_a_file_that_kustomize_loses_is_named_with_its_place() -> None:
    text = job("files: {/etc/train/note.txt: configs/note.txt}")
    (item,) = of("text-lost-by-kustomize", findings(text, {"configs/note.txt": "one\ntwo \x85\n"}))
    assert spot(item) == "configs/note.txt:2:5"


def test_other_text_comes_through() -> None:
    text = job('env: {A: "é\\n\\t😀\\u2028", B: "\\u00a0"}\nargs: ["日本語"]')
    assert findings(text) == []
