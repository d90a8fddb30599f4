"""One mistake in policy is one finding, however many jobs stand on it."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from declarations import ROOT, checked, job, policy, repository, spot

from compiler.causes import rooted
from compiler.diagnostics import Finding

WEST, NLP = "policy/clusters/west.yaml", "policy/teams/nlp.yaml"


def told(files: dict[str, str], moved: tuple[str, str] | None = None) -> list[Finding]:
    """What is told about the example repository, all its jobs among it, with files replaced."""
    with TemporaryDirectory() as folder:
        root = repository(Path(folder), files, jobs=True)
        if moved is not None:
            (root / moved[0]).rename(root / moved[1])
        return rooted(checked(root))


@pytest.mark.parametrize(
    ("path", "old", "new", "rule", "line"),
    [
        (NLP, "queues: [research,", "queues: [reserch,", "unknown-name-in-policy", "queues"),
        (NLP, "clusters: [west]", "clusters: [wst]", "unknown-name-in-policy", "clusters"),
        (NLP, "namespace: p-nlp", "namespce: p-nlp", "unknown-key", "namespce"),
        (WEST, "currency: USD", "curency: USD", "unknown-key", "curency"),
        (WEST, "queues:\n", "queues\n", "syntax-error", "queues"),
        (WEST, "accelerators: [H100,", "accelerators: [H10,", "unknown-name-in-policy", "    acc"),
        ("policy/rules.yaml", "severity:", "severties:", "unknown-key", "severties"),
        ("images/lock.yaml", "images:", "image:", "unknown-key", "image:"),
    ],
)
def test_a_mistake_in_policy_is_told_where_it_is_and_not_at_jobs(
    path: str, old: str, new: str, rule: str, line: str
) -> None:
    files = policy(path, (old, new))
    (item,) = told(files)
    assert (item.rule, item.place.path) == (rule, path)
    assert item.place.line is not None
    assert files[path].splitlines()[item.place.line - 1].startswith(line)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("policy/clusters/west.yaml", "policy/clusters/west.yml"),
        ("policy/teams/nlp.yaml", "policy/teams/nlp.yml"),
    ],
)
def test_a_broken_file_with_the_other_ending_hides_nobody(old: str, new: str) -> None:
    text = (ROOT / old).read_text("utf-8") + "\nnonsense: 1\n"
    (item,) = told({old: text}, (old, new))
    assert (item.rule, item.place.path) == ("unknown-key", new)


def test_what_policy_no_longer_has_is_told_at_the_jobs_that_name_it() -> None:
    found = told(policy(WEST, ("\n  checkpoints: {", "\n  models-2: {")))
    assert {item.rule for item in found} == {"unknown-claim"}
    assert len(found) > 5


def test_a_mistake_of_a_job_beside_one_of_policy_is_told_too() -> None:
    text = job(queue="reserch", retry="{mx: 3}")
    found = told({"jobs/example.yaml": text, **policy(WEST, ("currency: USD", "curency: USD"))})
    assert [(item.rule, item.place.path) for item in found] == [
        ("unknown-key", WEST),
        ("unknown-key", "jobs/example.yaml"),
    ]


def test_what_jobs_stand_on_comes_before_them() -> None:
    files = policy(NLP, ("queues: [research,", "queues: [reserch,"))
    found = told({"jobs/example.yaml": job(retry="{mx: 3}"), **files})
    assert [item.place.path for item in found] == [NLP, "jobs/example.yaml"]
    assert spot(found[1]) == "jobs/example.yaml:7:9"


def test_without_a_mistake_in_policy_nothing_is_left_out() -> None:
    with TemporaryDirectory() as folder:
        found = checked(repository(Path(folder), {"jobs/example.yaml": job(queue="reserch")}))
    assert rooted(found) == found
    assert [item.rule for item in found] == ["unknown-queue"]
