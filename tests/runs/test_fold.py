"""One publish over several jobs: order, room, names, stops, observations, and the stop guard."""

from __future__ import annotations

from datetime import datetime, timedelta
from fractions import Fraction

import pytest
from msgspec.structs import replace

from compiler.runs.declared import Declared, Facts, StopNow, Target
from compiler.runs.entries import Entry, Ledger, Moment
from compiler.runs.fold import Key, Outcome, fold
from compiler.runs.ledgerfile import dump, parse
from compiler.runs.observations import Observation, Observed
from compiler.runs.room import Limits, Room
from compiler.runs.union import Contradiction, union

NOW = datetime.fromisoformat("2026-03-01T12:00:00+00:00")
WEST = {"west": Limits({"H100": 16}, {"a": {"H100": 12}, "b": {"H100": 8}})}
Books = dict[Key, Ledger]


def job(name: str, training: str = "A", gpus: int = 4, rank: int = 1, **more: object) -> Declared:
    team, _, short = name.rpartition("/")
    wants: dict[str, object] = {"checkpoint_root": "/ckpt", "image": "sha256:one"}
    wants |= {key: more.pop(key) for key in list(more) if key in Target.__slots__}
    target = Target(training, f"{gpus}", {"H100": gpus}, **wants)  # type: ignore[arg-type]
    clusters = tuple(more.pop("clusters", ("west",)))  # type: ignore[call-overload]
    path = f"jobs/{team}/{short}.yaml"
    return Declared(
        team or "a",
        short,
        path,
        f"{training} {gpus}",
        clusters,
        dict.fromkeys(clusters, target),
        order=(rank, path),
        **more,  # type: ignore[arg-type]
    )


def published(books: Books, *jobs: Declared, **more: object) -> Outcome:
    observed = more.pop("observed", ())
    stops = more.pop("stops", ())
    facts = Facts(NOW, "c0ffee", **more.pop("facts", {}))  # type: ignore[arg-type]
    return fold(books, jobs, observed, stops, Room(WEST), facts, **more)  # type: ignore[arg-type]


def begun(*jobs: Declared) -> Books:
    """The ledgers after an earlier publish, of another commit."""
    facts = Facts(NOW, "decade")
    return fold({}, jobs, (), (), Room(WEST), facts).ledgers


def active(outcome: Outcome) -> list[str]:
    return sorted(r.name for book in outcome.ledgers.values() for r in book.runs if r.active)


def rows(outcome: Outcome) -> list[str]:
    return [f"{item.job} {item.decision.row} {item.decision.action}" for item in outcome.decisions]


def seen(hours: int = 0, complete: bool = True, **runs: str) -> Observation:
    at = (NOW + timedelta(hours=hours)).isoformat()
    found = {("a", name.replace("_", "-")): Observed(how) for name, how in runs.items()}  # type: ignore[arg-type]
    return Observation("west", at, complete, found)


def test_who_asked_first_gets_the_room() -> None:
    outcome = published({}, job("a/late", gpus=8, rank=2), job("a/early", gpus=8, rank=1))
    assert active(outcome) == ["early-r1"]
    assert outcome.ledgers["a", "late"].runs[0].state == "held"


def test_room_that_a_later_job_gives_back_goes_to_the_one_that_waits() -> None:
    books = begun(job("a/small", gpus=4, rank=1), job("a/large", gpus=8, rank=2))
    outcome = published(
        books, job("a/small", gpus=8, rank=3), job("a/large", gpus=4, rank=4, training="B")
    )
    assert active(outcome) == ["large-r2", "small-r2"]
    small = outcome.ledgers["a", "small"].runs[-1]
    assert (small.came_from, small.held) == (1, None)


def test_an_error_of_where_a_job_goes_keeps_it_where_it_is() -> None:
    books = begun(job("a/x"))
    moved = job("a/x", clusters=("east",), refused="there is no cluster east")
    outcome = published(books, moved)
    assert active(outcome) == ["x-r1"]
    assert set(rows(outcome)) == {"x a blocked"}


def test_a_file_that_never_parsed_is_blocked_though_it_has_no_runs() -> None:
    broken = Declared("a", "x", "jobs/a/x.yaml", unusable="does not parse")
    outcome = published({}, broken)
    assert rows(outcome) == ["x a blocked"]
    assert outcome.decisions[0].cluster == ""


def test_another_compiler_changes_no_digest_that_is_written_down() -> None:
    books = begun(job("a/x"))
    today = job("a/x", training="A2")
    outcome = published(books, today, same={(("a", "x"), 1): ("A2", "4")})
    assert rows(outcome) == ["x d none"]
    assert outcome.ledgers == books
    edited = published(books, job("a/x", training="B2"), same={(("a", "x"), 1): ("A2", "4")})
    assert [run.training for run in edited.ledgers["a", "x"].runs] == ["A", "B2"]


# -- names


def test_a_renamed_job_keeps_its_run_its_numbers_and_its_ledger() -> None:
    books = begun(job("a/old"))
    outcome = published(books, job("a/new", was="old"))
    assert active(outcome) == ["old-r1"]
    assert outcome.ledgers["a", "old"].also == ("new",)
    edited = published(outcome.ledgers, job("a/new", training="B", was="old"))
    assert active(edited) == ["new-r2"]
    assert edited.decisions[0].book == "old"
    # For ever: with the line gone, and with the old file back.
    assert active(published(edited.ledgers, job("a/new", training="B"))) == ["new-r2"]
    assert active(published(edited.ledgers, job("a/old", training="B"))) == ["new-r2"]


def test_a_name_that_was_joined_stays_so_in_the_file() -> None:
    books = published(begun(job("a/old")), job("a/new", was="old")).ledgers
    ledger, problems = parse("overlays/ledger/a/old.yaml", dump(books["a", "old"]).encode())
    assert problems == []
    assert ledger == books["a", "old"]


@pytest.mark.parametrize("was", ["old", None])
def test_both_files_of_a_renamed_job_block_it(was: str | None) -> None:
    books = begun(job("a/old"))
    if was is None:
        books = published(books, job("a/new", was="old")).ledgers
    outcome = published(books, job("a/old", training="B"), job("a/new", training="C", was=was))
    assert active(outcome) == ["old-r1"]
    assert {item.decision.row for item in outcome.decisions} == {"a"}
    assert outcome.ledgers == books


def test_a_join_that_comes_too_late_is_refused_and_stops_nothing() -> None:
    books = begun(job("a/old"), job("a/new"))
    outcome = published(books, job("a/new", was="old"))
    assert active(outcome) == ["new-r1", "old-r1"]
    assert "too late" in outcome.decisions[0].decision.reason


# -- stops of policy


def test_a_stop_of_a_run_ends_it_and_lets_another_training_start() -> None:
    books = begun(job("a/x"))
    stops = [StopNow("bad data", run="a/x-r1")]
    outcome = published(books, job("a/x", training="B"), stops=stops)
    assert active(outcome) == ["x-r2"]
    assert outcome.ledgers["a", "x"].runs[0].reason == "stopped"
    back = published(outcome.ledgers, job("a/x"), stops=stops)
    assert active(back) == []


def test_a_stop_reaches_the_run_of_a_broken_file() -> None:
    books = begun(job("a/x"))
    broken = Declared("a", "x", "jobs/a/x.yaml", unusable="does not parse")
    assert active(published(books, broken, stops=[StopNow("bad", image="sha256:one")])) == []
    assert active(published(books, broken, stops=[StopNow("bad", team="a")])) == []
    assert active(published(books, broken, stops=[StopNow("bad", team="b")])) == ["x-r1"]


def test_a_stopped_image_goes_on_with_todays() -> None:
    books = begun(job("a/x", guarded=True))
    stops = [StopNow("leaks", image="sha256:one")]
    assert active(published(books, job("a/x", guarded=True), stops=stops)) == []
    outcome = published(books, job("a/x", guarded=True, image="sha256:two"), stops=stops)
    assert active(outcome) == ["x-r2"]
    assert outcome.ledgers["a", "x"].runs[1].inputs["image"] == "sha256:two"
    assert any("stopped" in note for note in outcome.decisions[0].decision.notes)


def test_a_stop_of_todays_image_spares_a_run_of_an_older_one() -> None:
    books = begun(job("a/x"))
    stops = [StopNow("leaks", image="sha256:two")]
    assert active(published(books, job("a/x", image="sha256:two"), stops=stops)) == ["x-r1"]


# -- observations


def test_a_run_seen_ended_stays_listed_until_it_is_gone_or_old() -> None:
    books = begun(job("a/x"))
    done = published(books, job("a/x"), observed=[seen(1, x_r1="succeeded")]).ledgers
    (run,) = done["a", "x"].runs
    assert (run.state, run.reason, run.outcome, run.listed) == (
        "ended",
        "finished",
        "succeeded",
        True,
    )

    def listed(**more: object) -> bool:
        return published(done, job("a/x"), **more).ledgers["a", "x"].runs[0].listed

    assert listed(observed=[seen(0)])  # An older look.
    assert listed(observed=[seen(2, complete=False)])
    assert not listed(observed=[seen(2)])
    assert listed(facts={"clock": NOW + timedelta(hours=72)})
    assert not listed(facts={"clock": NOW + timedelta(hours=73)})


def test_what_publish_ended_may_turn_out_to_have_been_done() -> None:
    books = published(begun(job("a/x")), job("a/x", training="B")).ledgers
    told = published(books, job("a/x", training="B"), observed=[seen(1, x_r1="succeeded")])
    assert told.ledgers["a", "x"].runs[0].outcome == "succeeded"
    assert active(published(told.ledgers, job("a/x"))) == []


def test_a_person_may_say_that_a_run_was_not_done() -> None:
    books = published(begun(job("a/x")), job("a/x", training="B")).ledgers
    assert active(published(books, job("a/x"))) == []
    told = published(books, job("a/x"), observed=[seen(1, complete=False, x_r1="incomplete")])
    assert active(told) == ["x-r3"]
    # Of a run that goes on nobody can say so.
    still = published(begun(job("a/x")), job("a/x"), observed=[seen(1, x_r1="incomplete")])
    assert active(still) == ["x-r1"]


def test_a_reset_loses_what_ran_and_lists_nothing_of_before() -> None:
    books = begun(job("a/x"), job("a/y", guarded=True))
    books = published(books, job("a/x"), job("a/y", guarded=True)).ledgers
    outcome = published(
        books, job("a/x"), job("a/y", guarded=True), facts={"reset": frozenset({"west"})}
    )
    assert active(outcome) == ["y-r2"]
    assert [run.reason for run in outcome.ledgers["a", "x"].runs] == ["lost"]
    ended = published(books, job("a/x"), observed=[seen(1, x_r1="succeeded")]).ledgers
    reset = published(ended, job("a/x"), facts={"reset": frozenset({"west"})})
    assert not reset.ledgers["a", "x"].runs[0].listed


# -- the stop guard

FOUR = [job(f"a/{name}", gpus=2, rank=rank) for rank, name in enumerate("wxyz")]
HALF = {"stop_guard": Fraction(1, 2)}


def test_the_guard_withholds_the_stops_and_does_the_rest() -> None:
    new = job("a/new", gpus=4, rank=9)
    outcome = published(begun(*FOUR), FOUR[0], new, **HALF)
    assert active(outcome) == ["new-r1", "w-r1", "x-r1", "y-r1", "z-r1"]
    assert outcome.guard is not None
    assert (outcome.guard.runs, outcome.guard.accelerators, outcome.guard.running) == (3, 6, 8)
    assert outcome.guard.withheld
    assert outcome.guard.names == ("x-r1", "y-r1", "z-r1")
    assert [row for row in rows(outcome) if "blocked" in row] == [
        "x b blocked",
        "y b blocked",
        "z b blocked",
    ]
    # The run that has begun meanwhile does not make the stops a smaller share.
    again = published(outcome.ledgers, FOUR[0], new, **HALF)
    assert again.ledgers == outcome.ledgers


def test_the_guard_withholds_what_takes_the_place_of_a_stopped_run() -> None:
    edited = [job(f"a/{name}", training="B", gpus=2) for name in "wxyz"]
    outcome = published(begun(*FOUR), *edited, **HALF)
    assert active(outcome) == ["w-r1", "x-r1", "y-r1", "z-r1"]


@pytest.mark.parametrize(("allowed", "left"), [(2, 4), (3, 1), (4, 1)])
def test_the_guard_lets_pass_as_many_stops_as_are_allowed(allowed: int, left: int) -> None:
    outcome = published(begun(*FOUR), FOUR[0], allow_stops=allowed, **HALF)
    assert len(active(outcome)) == left
    assert (outcome.guard is None) == (left == 1)


def test_the_guard_is_silent_up_to_its_share_and_for_one_run() -> None:
    assert published(begun(*FOUR), *FOUR[:2], **HALF).guard is None
    assert published(begun(FOUR[0]), **HALF).guard is None


def test_a_pure_revert_is_only_warned_of() -> None:
    outcome = published(begun(*FOUR), FOUR[0], pure_revert=lambda: True, **HALF)
    assert active(outcome) == ["w-r1"]
    assert outcome.guard is not None
    assert not outcome.guard.withheld


def test_a_stop_of_policy_is_not_asked() -> None:
    outcome = published(begun(*FOUR), *FOUR, stops=[StopNow("incident", team="a")], **HALF)
    assert active(outcome) == []
    assert outcome.guard is None


def test_nor_is_one_where_something_else_is_declared_to_start() -> None:
    edited = [job(f"a/{name}", training="B", gpus=2, image="sha256:two") for name in "wxyz"]
    stops = [StopNow("leaks", image="sha256:one")]
    outcome = published(begun(*FOUR), *edited, stops=stops, **HALF)
    assert active(outcome) == ["w-r2", "x-r2", "y-r2", "z-r2"]
    assert outcome.guard is None
    assert published(outcome.ledgers, *edited, stops=stops, **HALF).ledgers == outcome.ledgers


# -- the union


def test_the_furthest_account_of_a_run_wins_field_by_field() -> None:
    books = begun(job("a/x"))
    first = books["a", "x"]
    later = published(books, job("a/x", training="B")).ledgers["a", "x"]
    told = published({("a", "x"): first}, job("a/x"), observed=[seen(1, x_r1="succeeded")]).ledgers[
        "a", "x"
    ]
    one, other = union([first, later, told]), union([told, first, later])
    assert one.runs[0].outcome == other.runs[0].outcome == "succeeded"
    assert one.runs[1] == later.runs[1]
    assert not one.runs[0].listed


def test_a_number_with_two_digests_is_a_contradiction() -> None:
    books = begun(job("a/x"))
    run = books["a", "x"].runs[0]
    with pytest.raises(Contradiction, match="r1 was used twice"):
        union([books["a", "x"], Ledger("a", "x", (replace(run, training="B"),))])


def test_a_held_run_takes_the_name_of_today_when_it_starts() -> None:
    held = Entry(
        1, "west", "old-r1", "held", "A", "4", 1, held=Moment(NOW.isoformat()), declared="A 4"
    )
    before = Ledger("a", "old", (held,))
    outcome = published({("a", "old"): before}, job("a/new", was="old"))
    assert active(outcome) == ["new-r1"]
    assert union([before, outcome.ledgers["a", "old"]]).runs[0].name == "new-r1"


# -- room


def test_kueue_makes_runs_wait_but_caps_hold() -> None:
    room = Room({"east": Limits({"H100": 8}, {"a": {"H100": 16}}, {"a": 2}, waits=True)})
    room.take("east", "a", {"H100": 8})
    assert room.fits("east", "a", {"H100": 8}, None)
    assert not room.fits("east", "a", {"H100": 9}, None)
    room.take("east", "a", {"H100": 8})
    assert not room.fits("east", "a", {"H100": 1}, None)
    assert room.fits("east", "a", {"H100": 1}, {})
