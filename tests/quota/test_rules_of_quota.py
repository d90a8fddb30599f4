"""What the rules about quota, cohorts and budgets say, where, and what they leave alone."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from declarations import TODAY, checked, findings, job, of, only, policy, repository, spot

from compiler.check import check
from compiler.diagnostics import Finding, Severity
from compiler.project import Project
from compiler.repository import Repository

NLP, WEST, VISION = "policy/teams/nlp.yaml", "policy/clusters/west.yaml", "policy/teams/vision.yaml"
# Of the team nlp on west: 112 guaranteed and 32 borrowed, a cap of 8 nodes and 64 accelerators.


def quota(text: str) -> dict[str, str]:
    """The example's policy with another quota of H100 for nlp."""
    return policy(NLP, ("H100: {guaranteed: 112, borrowing: 32}", f"H100: {text}"))


def test_above_quota_names_the_nodes_that_fit_and_the_line_of_the_quota() -> None:
    found = findings(job(num_nodes="4"), quota("{guaranteed: 8, borrowing: 16}"))
    (item,) = of("above-quota", found)
    assert spot(item) == "jobs/example.yaml:7:12"
    assert item.message == (
        "32 H100 on 4 nodes; the team nlp can get 24 on west (8 guaranteed, 16 borrowed)"
    )
    assert item.help == "write fewer nodes: 3 fit"
    assert [(r.place.path, r.place.line) for r in item.related] == [(NLP, 8)]


def test_above_quota_asks_for_another_accelerator_where_there_is_none_of_this_one() -> None:
    item = only("above-quota", findings(job(team="speech", cluster="west")))
    assert item.message == "the team speech has no quota for H100 on west"
    assert item.help == "take an accelerator that it has quota for: A100-80GB"
    assert spot(item) == "jobs/example.yaml:3:15"


def test_above_quota_counts_the_most_nodes_of_an_elastic_run() -> None:
    text = job(num_nodes="{min: 1, max: 4}")
    assert of("above-quota", findings(text, quota("{guaranteed: 24}")))
    assert not of("above-quota", findings(text, quota("{guaranteed: 32}")))


def test_a_run_above_a_cap_and_above_the_quota_is_told_of_the_cap_where_that_is_enough() -> None:
    # 16 nodes are above the cap of 8; 8 of them would be within the quota.
    assert of("above-quota", findings(job(num_nodes="16"), quota("{guaranteed: 64}"))) == []
    assert of("above-quota", findings(job(num_nodes="16"), quota("{guaranteed: 56}")))


def test_a_stopped_run_asks_for_no_quota() -> None:
    text = job(num_nodes="4", state="stopped")
    assert of("above-quota", findings(text, quota("{guaranteed: 8}"))) == []


def test_quota_above_nodes_stands_at_the_largest_share() -> None:
    item = only("quota-above-nodes", findings(job(), quota("{guaranteed: 150}")))
    assert spot(item) == f"{NLP}:8:24"
    assert item.message == "198 H100 are guaranteed to teams on west, which has 192"
    assert item.help == "write 144 or less"
    assert {related.place.path for related in item.related} == {WEST, VISION}


def test_sums_of_quotas_are_exact_however_large() -> None:
    huge = quota("{guaranteed: 10000000}")
    item = only("quota-above-nodes", findings(job(), huge))
    assert item.message.startswith("10000048 H100 ")


@pytest.mark.parametrize("written", ["-1", "1.5", "1e3", "10000001", "0x10", "many", "1/2"])
def test_a_guarantee_that_is_no_count_is_one_finding(written: str) -> None:
    found = findings(job(), quota(f"{{guaranteed: {written}}}"))
    assert [item.place.path for item in found] == [NLP]
    assert found[0].place.line == 8


def test_queue_without_flavor_stands_where_the_queue_names_the_accelerator() -> None:
    found = findings(job(), policy(WEST, ("    flavor: h100\n", "")))
    item = only("queue-without-flavor", found)
    assert item.message == "the queue `research` gives out H100, which has no flavor"
    line = (Path(__file__).resolve().parents[2] / WEST).read_text("utf-8").splitlines()
    assert item.place.line is not None
    # One line was taken out before it.
    assert "accelerators: [H100, A100-80GB]" in line[item.place.line]


def test_a_queue_without_a_flavor_for_nodes_without_accelerators_is_found_too() -> None:
    found = findings(job(), policy(WEST, ("  flavor: cpu\n", "")))
    messages = [item.message for item in of("queue-without-flavor", found)]
    assert [message.split("`")[1] for message in messages] == ["research", "data"]


def cohorts(text: str) -> dict[str, str]:
    return policy(WEST, ("priorities: {low", f"cohorts: {text}\npriorities: {{low"))


def test_circular_cohorts_are_told_once_for_each_circle() -> None:
    found = findings(
        job(), cohorts("{a: {parent: b}, b: {parent: c}, c: {parent: a}, d: {parent: a}, e: {}}")
    )
    item = only("circular-cohorts", found)
    assert item.message == "the cohort `a` is part of a → b → c → a"
    own = of("circular-cohorts", findings(job(), cohorts("{a: {parent: a}}")))
    assert [item.message for item in own] == ["the cohort `a` is part of itself"]


def test_a_team_in_an_unknown_cohort_is_found_at_its_name() -> None:
    found = findings(job(), policy(NLP, ("caps:\n", "cohort: {west: langauge}\ncaps:\n")))
    item = only("unknown-name-in-policy", found)
    assert item.message == "there is no cohort of west called `langauge`"
    assert spot(item) == f"{NLP}:11:16"


def test_a_cohort_under_an_unknown_parent_is_found_at_its_name() -> None:
    item = only("unknown-name-in-policy", findings(job(), cohorts("{a: {parent: b}}")))
    assert item.message == "there is no cohort of the cluster called `b`"


def test_cap_above_quota_is_no_matter_where_a_cluster_has_no_quota() -> None:
    wide = policy(NLP, ("accelerators: 64", "accelerators: 145"))
    item = only("cap-above-quota", findings(job(), wide))
    assert spot(item) == f"{NLP}:13:17"
    without = policy("policy/teams/vision.yaml", ("  east:\n    MI300X: {guaranteed: 24}\n", ""))
    without = {
        name: text.replace("accelerators: 32", "accelerators: 900")
        for name, text in without.items()
    }
    assert of("cap-above-quota", findings(job(), without)) == []


def test_nobody_to_borrow_from_says_how_many_there_are() -> None:
    text = (
        "A100-80GB: {guaranteed: 32, borrowing: 16}",
        "A100-80GB: {guaranteed: 32, borrowing: 17}",
    )
    item = only("nobody-to-borrow-from", findings(job(), policy(VISION, text)))
    assert item.message == "17 A100-80GB may be borrowed on west, and only 16 are there to lend"
    assert item.help == "write 16 or less"


def test_the_largest_quotas_are_no_reason_for_a_second_finding() -> None:
    found = findings(job(), quota("{guaranteed: 112, borrowing: 99999999999999999999}"))
    assert [item.place.path for item in found] == [NLP]


def told(files: dict[str, str], tmp_path: Path, at: datetime | None = None) -> list[Finding]:
    """The findings about the example repository, its jobs included, with files replaced."""
    root = repository(tmp_path / "repository", files, jobs=True)
    if at is None:
        return checked(root)
    return check(Project(Repository(root), at=at), processes=1).findings


def test_waits_for_quota_says_behind_whom_and_what_would_fit(tmp_path: Path) -> None:
    found = told({"jobs/nlp/zz.yaml": job(num_nodes="5")}, tmp_path)
    item = only("waits-for-quota", found)
    assert item.severity is Severity.NOTICE
    assert spot(item) == "jobs/nlp/zz.yaml:7:12"
    assert "the team nlp may have 144 H100 on west, and 112 are taken" in item.message
    assert "Kueue lets it wait behind nlp/dpo-elastic (32)" in item.message
    assert item.help == "now would fit: `num_nodes: 5 → 4`"


def test_waits_for_quota_tells_of_twenty_jobs_and_counts_the_rest(tmp_path: Path) -> None:
    many = {f"jobs/nlp/zz-{number:02}.yaml": job() for number in range(40)}
    found = of("waits-for-quota", told(many, tmp_path))
    # Room for 4 of the 12 runs that the team may have, with 4 of its own jobs before them.
    assert len(found) == 20
    assert sum("more jobs wait" in item.message for item in found) == 1
    assert found[-1].message.endswith("(16 more jobs wait)")


def test_runs_at_once_are_a_limit_of_the_verdict(tmp_path: Path) -> None:
    few = policy(NLP, ("runs: 12", "runs: 5"))
    item = only("waits-for-quota", told({**few, "jobs/nlp/zz.yaml": job()}, tmp_path))
    assert "the team nlp may have 5 runs on west, and 5 are taken" in item.message
    assert item.help == "nothing smaller would fit now: leave it to wait"


def test_budget_passed_asks_what_one_run_may_use_in_any_month() -> None:
    budget = ("budget: 60000", "budget: 191")
    item = only("budget-passed", findings(job(), policy(NLP, budget)))
    assert spot(item) == "jobs/example.yaml:5:15"
    assert item.message == (
        "8 accelerators may use 192 accelerator-hours in a month; the budget of the team nlp is 191"
    )
    assert item.help == "write 23h or less, or raise the budget"
    assert findings(job(), policy(NLP, ("budget: 60000", "budget: 192"))) == []
    # Of two months, each has its own budget.
    long = job(max_duration="70d", num_nodes=None)
    days = policy(
        NLP, ("budget: 60000", f"budget: {31 * 24 * 8}"), ("duration: 7d", "duration: 90d")
    )
    assert of("budget-passed", findings(long, days)) == []
    assert of("budget-passed", findings(job(state="stopped"), policy(NLP, budget))) == []


def test_waits_for_budget_counts_only_what_is_left_of_the_month(tmp_path: Path) -> None:
    small = policy(NLP, ("budget: 60000", "budget: 6000"))
    item = only("waits-for-budget", told(small, tmp_path, datetime(2026, 2, 10, 9, tzinfo=UTC)))
    assert item.place.path == "jobs/nlp/llm-train.yaml"
    assert "may use 4608 accelerator-hours in February 2026; of the 6000 of the team nlp" in (
        item.message
    )
    assert "nlp/dpo-elastic (1536), nlp/llm-sft (768)" in item.message
    # On the last day all of them together can use no more than 24 hours of their accelerators.
    assert told(small, tmp_path / "last", datetime(2026, 2, 28, 9, tzinfo=UTC)) == []


def ledger(team: str, name: str, accelerators: int, declared: str, cluster: str = "west") -> str:
    """The ledger of one active run, which began on the last day of February."""
    text = "".join(f"      {line}\n" for line in declared.splitlines())
    return (
        f"version: 1\nteam: {team}\njob: {name}\nruns:\n"
        f"  - number: 1\n    cluster: {cluster}\n    name: {name}-r1\n    state: active\n"
        "    listed: true\n    outcome: unknown\n    guarded: false\n    lineage: 1\n"
        "    training: t\n    operation: o\n    nodes: 1\n"
        "    started: {at: '2026-02-28T08:00:00+00:00'}\n    hours: {declared: '192'}\n"
        f"    accelerators: {{H100: {accelerators}}}\n    declared: |\n{text}"
    )


def test_quota_below_use_names_the_runs_and_their_latest_end(tmp_path: Path) -> None:
    files = {
        "jobs/nlp/long.yaml": job(),
        "overlays/ledger/nlp/long.yaml": ledger("nlp", "long", 8, job()),
        **quota("{guaranteed: 4}"),
    }
    root = repository(tmp_path / "repository", files)
    (item,) = of("quota-below-use", checked(root))
    assert spot(item) == f"{NLP}:8:5"
    assert item.message == (
        "8 H100 are held on west, and the team nlp may have 4: "
        "nlp/long-r1 (8, until 2026-03-01T08:00Z)"
    )


def test_the_hours_of_an_active_run_count_against_the_budget_of_both_months(
    tmp_path: Path,
) -> None:
    files = {
        "jobs/nlp/long.yaml": job(),
        "jobs/nlp/next.yaml": job(),
        "overlays/ledger/nlp/long.yaml": ledger("nlp", "long", 8, job()),
        **policy(NLP, ("budget: 60000", "budget: 255")),
    }
    root = repository(tmp_path / "repository", files)
    # `long` began on 28 February at 8 and ends at the latest a day later: 8 hours of March, on 8
    # accelerators, are 64. `next` may use 192 more.
    item = only("waits-for-budget", checked(root))
    assert item.place.path == "jobs/nlp/next.yaml"
    assert "may use 192 accelerator-hours in March 2026; of the 255" in item.message
    assert "64 are used or may be: nlp/long-r1 (64); publish holds it" in item.message
    assert item.help.startswith("now would fit: ")
    assert item.help.endswith("`max_duration: 24h → 23h`")
    (row,) = check(Project(Repository(root), at=TODAY), processes=1).verdict
    assert (row["cluster"], row["team"], row["accelerator"]) == (None, "nlp", "accelerator-hours")
    assert (row["limit"], row["held"], row["requested"]) == (255, 64, 192)
    assert row["limit_at"] == {"path": NLP, "line": 16}
    (holder,) = row["holders"]
    assert (holder["job"], holder["run"], holder["accelerators"]) == ("nlp/long", "long-r1", 64)
    assert holder["until"] == "2026-03-01T08:00:00+00:00"
    assert row["waiting"] == [{"job": "nlp/next", "accelerators": 192}]
    more = policy(NLP, ("budget: 60000", "budget: 256"))
    (root / NLP).write_text(more[NLP], "utf-8")
    assert checked(root) == []


@pytest.mark.parametrize(
    ("team", "cluster", "gone"),
    [
        ("robotics", "west", "policy/teams/robotics.yaml"),
        ("nlp", "north", "policy/clusters/north.yaml"),
    ],
)
def test_active_run_without_policy_names_the_file_that_is_gone(
    team: str, cluster: str, gone: str, tmp_path: Path
) -> None:
    path = f"overlays/ledger/{team}/arm.yaml"
    root = repository(tmp_path / "repository", {path: ledger(team, "arm", 8, job(), cluster)})
    item = only("active-run-without-policy", checked(root))
    assert item.place.path == path
    assert item.message == f"{team}/arm-r1 runs on {cluster}, and {gone} is gone"


def test_one_team_file_that_is_gone_is_one_mistake_however_many_runs_it_had(tmp_path: Path) -> None:
    files = {
        f"overlays/ledger/robotics/{name}.yaml": ledger("robotics", name, 8, job(), "west")
        for name in ("arm", "hand", "leg")
    }
    root = repository(tmp_path / "repository", files)
    item = only("active-run-without-policy", checked(root))
    assert item.message.startswith("robotics/arm-r1 runs on west, and policy/teams/robotics.yaml")
    assert "2 more runs" in item.message
    assert [one.place.path for one in item.related] == sorted(files)[1:]
