"""The histories see what they are there to see: each fault in the engine breaks a promise."""

from __future__ import annotations

import pytest
from ledgered import Ledgered
from mutants import MUTANTS, Mutant, mutated
from scripts import script
from world import Broken

SEEDS = 500


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_fault_breaks_a_promise(mutant: Mutant, record_property: pytest.RecordProperty) -> None:
    with mutated(mutant) as (fold, union):
        for seed in range(SEEDS):
            try:
                Ledgered(seed, fold, union).play(script(seed))
            except Broken:
                record_property("counted", {"mutants of the engine": {"killed": 1}})
                return
    pytest.fail(f"{SEEDS} histories do not see it: {mutant.name}")


def test_without_a_fault_the_same_histories_hold() -> None:
    # The faults are put into copies: what is imported afterwards is whole.
    for seed in range(40):
        Ledgered(seed).play(script(seed))
