"""What a declaration or policy says in vain, and mistakes that are told once, where they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from declarations import checked, findings, job, of, only, policy, repository, spot

from compiler.report import folded

WEST = "policy/clusters/west.yaml"
TEAM = "policy/teams/nlp.yaml"


@pytest.mark.parametrize(
    ("text", "rule", "place", "message", "remedy"),
    [
        (
            job(max_duration="12h", checkpoint="{claim: checkpoints, path: /ckpt, every: 30d}"),
            "time-beyond-duration",
            "6:54",
            "a checkpoint every 30d, and the run ends after 12h",
            "write less, such as 30m",
        ),
        (
            job("stop: {grace: 24h}"),
            "time-beyond-duration",
            "7:15",
            "24h to stop, and the run ends after 24h",
            "write less",
        ),
        (
            job(max_duration="10m", checkpoint="{claim: checkpoints, path: /ckpt, every: 30m}"),
            "time-beyond-duration",
            "6:54",
            "a checkpoint every 30m, and the run ends after 10m",
            "write less",
        ),
        (
            job("rerun: {east: 2}"),
            "unknown-cluster",
            "7:9",
            "`rerun` is for east, and the job does not run there",
            "write `west`, or take it out",
        ),
        (
            job(
                checkpoint="{claim: checkpoints, path: /ckpt, every: 30m, from: {east: r2}}",
            ),
            "unknown-cluster",
            "6:66",
            "`checkpoint.from` is for east",
            "write `west`, or take it out",
        ),
        (
            job("num_nodes: 2\ntopology: {required: rack, preferred: block}"),
            "ambiguous-topology",
            "8:28",
            "beside `required` this would be dropped",
            "keep one of the two",
        ),
        (
            job("master: {memory: 400Gi}"),
            "unsupported-by-backend",
            "7:1",
            "cannot carry this (master)",
            "take it out",
        ),
        (
            job(image="llm-sft:latest"),
            "unpinned-image",
            "2:8",
            "`llm-sft:latest` has no digest",
            "write llm-sft: images/lock.yaml has its digest",
        ),
        (
            job(image="registry.example.com/training/llm-sft:9"),
            "unpinned-image",
            "2:8",
            "has no digest",
            "write llm-sft: images/lock.yaml has its digest",
        ),
    ],
)
def test_it_is_told_once_at_its_place(
    text: str, rule: str, place: str, message: str, remedy: str
) -> None:
    found = only(rule, findings(text))
    assert spot(found) == f"jobs/example.yaml:{place}"
    assert message in found.message
    assert remedy in found.help


@pytest.mark.parametrize(
    "text",
    [
        job("rerun: {west: 2}"),
        job("num_nodes: 2\ntopology: {preferred: block}"),
        # The usual grace of the team is 5m.
        job(max_duration="4m", checkpoint="{claim: checkpoints, path: /ckpt}"),
        job("stop: {grace: 1h}", max_duration="2h"),
    ],
)
def test_what_has_an_effect_is_no_finding(text: str) -> None:
    assert [f.message for f in findings(text)] == []


def test_a_level_of_the_job_over_one_of_its_team_is_a_choice() -> None:
    files = policy(
        TEAM, ("  priority: normal\n", "  priority: normal\n  topology: {required: rack}\n")
    )
    text = job("num_nodes: 2\ntopology: {preferred: block}")
    assert of("ambiguous-topology", findings(text, files)) == []


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        (
            "1900Gi, reserved_cpu: 4",
            "1900Gi, reserved_cpu: 400",
            "18:52",
            "the system is said to take 400 cores of each node, which has 188 cores",
        ),
        (
            "reserved_memory: 24Gi",
            "reserved_memory: 1900Gi",
            "18:72",
            "the system is said to take 1900Gi of each node, which has 1900Gi",
        ),
    ],
)
def test_a_node_that_the_system_takes_wholly_is_told_once_and_not_of_every_job(
    tmp_path: Path, old: str, new: str, place: str, message: str
) -> None:
    jobs = {f"jobs/{name}.yaml": job() for name in ("one", "two", "three")}
    found = checked(repository(tmp_path, {**jobs, **policy(WEST, (old, new))}))
    item = only("nothing-left-on-a-node", found)
    assert (spot(item), item.message) == (f"{WEST}:{place}", message)


def test_a_team_of_several_clusters_without_a_default_is_one_cause_at_its_line(
    tmp_path: Path,
) -> None:
    jobs = {f"jobs/{name}.yaml": job() for name in ("one", "two")}
    jobs["jobs/three.yaml"] = job("cluster: west")
    files = policy(TEAM, ("clusters: [west]\n", "clusters: [west, east]\n"))
    found = of("missing-key", checked(repository(tmp_path, {**jobs, **files})))
    ((first, others),) = folded(found)
    assert spot(first) == f"{TEAM}:5:11"
    assert "add `default_cluster:` with one of west, east here" in first.help
    places = [related.place.path for item in (first, *others) for related in item.related]
    assert sorted(places) == ["jobs/one.yaml", "jobs/two.yaml"]
