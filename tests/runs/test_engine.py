"""Every row of the table that decides what starts and what stops."""

import pytest

from compiler.runs.engine import Decision, Wanted, decide
from compiler.runs.entries import Entry, Ledger, Moment

AT = Moment("2026-01-01T00:00:00+00:00", "c0ffee")


def run(number: int, training: str, operation: str = "x", **more: object) -> Entry:
    fields: dict[str, object] = {
        "state": "active",
        "listed": True,
        "started": AT,
        "lineage": number,
    }
    fields.update(more)
    return Entry(
        number=number,
        cluster=str(fields.pop("cluster", "west")),
        name=f"job-r{number}",
        training=training,
        operation=operation,
        **fields,  # type: ignore[arg-type]
    )


def ended(number: int, training: str, outcome: str = "unknown", **more: object) -> Entry:
    fields: dict[str, object] = {"state": "ended", "listed": False, "reason": "superseded"}
    return run(number, training, **{**fields, "outcome": outcome, **more})


def decided(
    wanted: Wanted, *runs: Entry, fits: bool = True, fits_after: bool | None = None
) -> Decision:
    ledger = Ledger("team", "job", runs)
    after = fits if fits_after is None else fits_after
    return decide(
        "west", wanted, ledger, lambda release: after if release else fits, ledger.next_number
    )


def want(training: str = "A", operation: str = "x", **more: object) -> Wanted:
    return Wanted(training, operation, names=frozenset({"west"}), **more)  # type: ignore[arg-type]


def ends(decision: Decision) -> list[tuple[int, str]]:
    return [(end.number, end.reason) for end in decision.ends]


def test_a_unusable_declaration_leaves_its_runs_alone() -> None:
    decision = decided(Wanted(unusable="does not parse"), run(1, "A"))
    assert (decision.row, decision.action, decision.ends) == ("a", "blocked", ())


def test_a_an_error_rule_blocks_what_would_start() -> None:
    decision = decided(want("B", refused="above the cap"), run(1, "A"))
    assert (decision.row, decision.action, decision.ends) == ("a", "blocked", ())


def test_a_an_error_rule_grandfathers_what_runs() -> None:
    decision = decided(want(refused="above the new cap"), run(1, "A"))
    assert (decision.row, decision.action) == ("d", "none")
    assert decision.notes == ("grandfathered: above the new cap",)


def test_a_an_error_rule_keeps_a_run_from_being_stopped() -> None:
    wanted = Wanted(ends="removed", ends_because="names wset", refused="no cluster wset")
    decision = decided(wanted, run(1, "A"))
    assert (decision.row, decision.action, decision.ends) == ("a", "blocked", ())


def test_a_an_error_rule_does_not_keep_a_held_run_of_another_declaration() -> None:
    held = run(2, "B", state="held", listed=False, started=None)
    decision = decided(want("A", refused="above the cap"), run(1, "A"), held)
    assert (decision.row, ends(decision)) == ("d", [(2, "withdrawn")])


def test_a_a_stop_of_policy_wins_over_an_unusable_file() -> None:
    wanted = Wanted(unusable="does not parse", ends="stopped", ends_because="stop")
    assert ends(decided(wanted, run(1, "A"))) == [(1, "stopped")]


@pytest.mark.parametrize("why", ["removed", "stopped", "expired"])
def test_b_ends_the_active_run_and_withdraws_the_held_one(why: str) -> None:
    held = run(2, "B", state="held", listed=False, started=None)
    decision = decided(Wanted(ends=why, ends_because="."), run(1, "A"), held)  # type: ignore[arg-type]
    assert (decision.row, decision.action) == ("b", "stop")
    assert ends(decision) == [(1, why), (2, "withdrawn")]
    assert {end.outcome for end in decision.ends} == {"unknown"}


def test_c_another_declaration_withdraws_the_held_run_and_burns_its_number() -> None:
    held = run(2, "B", state="held", listed=False, started=None)
    decision = decided(want("C"), run(1, "A"), held)
    assert ends(decision) == [(2, "withdrawn"), (1, "superseded")]
    assert (decision.row, decision.then, decision.number) == ("g", "h", 3)


def test_d_the_same_declaration_changes_nothing() -> None:
    decision = decided(want(), run(1, "A"))
    assert (decision.row, decision.action, decision.ends) == ("d", "none", ())


def test_d_says_that_the_training_has_succeeded_already() -> None:
    decision = decided(want(), ended(1, "A", "succeeded"), run(2, "A"))
    assert decision.row == "d"
    assert decision.notes == ("r1 of this training has succeeded",)


def test_e_the_held_run_starts_with_its_number_once_it_fits() -> None:
    held = run(2, "B", state="held", listed=False, started=None)
    waiting = decided(want("B"), run(1, "A"), held, fits=False)
    assert (waiting.row, waiting.action, waiting.number) == ("e", "none", 2)
    started = decided(want("B"), run(1, "A"), held, fits=False, fits_after=True)
    assert (started.row, started.action, started.number) == ("e", "start", 2)
    assert ends(started) == [(1, "superseded")]


def test_e_a_held_run_without_an_active_one_starts_when_there_is_room() -> None:
    held = run(1, "A", state="held", listed=False, started=None)
    assert decided(want(), held, fits=False).action == "none"
    started = decided(want(), held)
    assert (started.action, started.number) == ("start", 1)


def test_e_an_unguarded_run_waits_for_its_own_predecessor() -> None:
    held = run(2, "A", "y", state="held", listed=False, started=None)
    waiting = decided(want("A", "y"), run(1, "A", "x"), held, fits=False)
    assert (waiting.row, waiting.action, waiting.ends) == ("e", "none", ())
    started = decided(want("A", "y"), run(1, "A", "x"), held, fits=False, fits_after=True)
    assert (started.action, started.number, started.lineage) == ("resume", 2, 1)
    assert started.notes == ("unobserved: how r1 ended is not known",)


def test_f_holds_the_next_run_while_the_active_one_goes_on() -> None:
    decision = decided(want("B"), run(1, "A"), fits=False)
    assert (decision.row, decision.action, decision.number) == ("f", "hold", 2)
    assert decision.ends == ()


def test_g_supersedes_and_starts_from_zero() -> None:
    decision = decided(want("B"), run(1, "A"))
    assert ends(decision) == [(1, "superseded")]
    assert (decision.action, decision.number, decision.lineage) == ("start", 2, 2)
    assert decision.start_from is None


def test_g_another_operation_of_the_same_training_resumes() -> None:
    decision = decided(want("A", "y"), run(1, "A", "x"))
    assert ends(decision) == [(1, "superseded")]
    assert (decision.action, decision.number, decision.lineage) == ("resume", 2, 1)
    assert decision.start_from == 1


def test_g_a_revert_to_what_has_succeeded_only_stops() -> None:
    decision = decided(want("A"), ended(1, "A", "succeeded"), run(2, "B"))
    assert (decision.row, decision.then, decision.action) == ("g", "i", "stop")
    assert ends(decision) == [(2, "superseded")]


def test_h_what_never_ran_starts() -> None:
    decision = decided(want())
    assert (decision.row, decision.action, decision.number) == ("h", "start", 1)


def test_h_a_number_is_never_used_twice() -> None:
    elsewhere = run(7, "Z", cluster="east")
    assert decided(want(), elsewhere).number == 8


def test_i_success_on_a_cluster_that_is_no_longer_named_counts() -> None:
    moved = ended(1, "A", "succeeded", cluster="east")
    assert decided(want(), moved).row == "i"


def test_i_success_on_another_named_cluster_does_not_count() -> None:
    both = Wanted("A", "x", names=frozenset({"west", "east"}))
    assert decided(both, ended(1, "A", "succeeded", cluster="east")).row == "h"


def test_j_what_failed_in_the_same_way_is_not_tried_again() -> None:
    decision = decided(want(), ended(1, "A", "failed", reason="finished"))
    assert (decision.row, decision.action) == ("j", "none")


def test_k_what_failed_is_tried_in_another_way_from_its_checkpoints() -> None:
    decision = decided(want("A", "y"), ended(1, "A", "failed", reason="finished"))
    assert (decision.row, decision.action, decision.lineage) == ("k", "resume", 1)
    assert (decision.image_of, decision.base_of) == (None, None)


def test_k_says_that_an_earlier_run_may_have_come_to_its_end_unseen() -> None:
    decision = decided(want("A", "y"), ended(1, "A", "unknown"), ended(2, "A", "failed"))
    assert (decision.row, decision.action) == ("k", "resume")
    assert decision.notes == ("unobserved: how r1 ended is not known",)


def test_l_a_revert_resumes_what_was_superseded() -> None:
    decision = decided(want("A"), ended(1, "A", "incomplete"), run(2, "B"))
    assert ends(decision) == [(2, "superseded")]
    assert (decision.action, decision.number, decision.lineage) == ("resume", 3, 1)
    assert (decision.image_of, decision.base_of) == (1, 1)


def test_l_a_guarded_run_of_unknown_end_resumes() -> None:
    assert decided(want(guarded=True), ended(1, "A", guarded=True)).row == "l"


def test_m_a_marker_is_of_no_use_to_a_run_that_does_not_look_for_it() -> None:
    assert decided(want(guarded=False), ended(1, "A", guarded=True)).row == "m"


def test_m_an_unguarded_run_of_unknown_end_is_left_alone() -> None:
    decision = decided(want(), ended(1, "A"))
    assert (decision.row, decision.action) == ("m", "none")


def test_n_waits_where_nothing_is_active_and_nothing_fits() -> None:
    decision = decided(want(), fits=False)
    assert (decision.row, decision.action, decision.number) == ("n", "hold", 1)


def test_withdrawn_runs_have_never_been() -> None:
    withdrawn = ended(1, "A", reason="withdrawn")
    decision = decided(want(), withdrawn)
    assert (decision.row, decision.number) == ("h", 2)
