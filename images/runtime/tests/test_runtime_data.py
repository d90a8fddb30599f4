"""The order of the data: a permutation that is computed, and a state of one number."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from runwright_runtime import Incompatible, Unusable, WrongWorld
from runwright_runtime.data import Order, permuted

# Written down once: trainings that go on depend on them.
KNOWN = [9, 8, 0, 4, 6, 1, 3, 5, 7, 2]
SAMPLES = [807, 758, 17, 886, 123]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 63, 64, 65, 1000, 4097])
def test_each_index_goes_to_one_place(size: int) -> None:
    for key in (0, 1, 2**63 + 5):
        assert sorted(permuted(i, size, key) for i in range(size)) == list(range(size))


def test_places_are_taken_evenly() -> None:
    # Each of 10 samples at each of 10 places, over 4000 keys: 400 times, give or take 6 sigma.
    seen = Counter((i, permuted(i, 10, key)) for key in range(4000) for i in range(10))
    assert len(seen) == 100
    assert all(abs(count - 400) < 6 * (4000 * 0.1 * 0.9) ** 0.5 for count in seen.values())


def test_neighbours_do_not_stay_together() -> None:
    places = [permuted(i, 10_000, 7) for i in range(10_000)]
    near = sum(abs(a - b) <= 10 for a, b in itertools.pairwise(places))
    assert near < 60  # 20 are expected


def test_the_order_does_not_change_with_a_new_version() -> None:
    assert [permuted(i, 10, 3) for i in range(10)] == KNOWN
    assert [Order(1000, 4, seed=5).sample(at) for at in (0, 1, 999, 1000, 10**12)] == SAMPLES


def test_epochs_follow_each_other_without_a_gap() -> None:
    order = Order(samples=10, batch=4, seed=1)
    stream = [order.sample(at) for at in range(30)]
    for epoch in range(3):
        assert sorted(stream[epoch * 10 : epoch * 10 + 10]) == list(range(10))
    assert stream[:10] != stream[10:20]
    assert [Order(10, 4, seed=2).sample(at) for at in range(30)] != stream
    plain = Order(10, 4, shuffle=False)
    assert [plain.sample(at) for at in range(12)] == [*range(10), 0, 1]


@pytest.mark.parametrize("size", [1, 2, 3, 6])
@pytest.mark.parametrize("micro", [None, 1, 2])
def test_any_number_of_processes_sees_the_same_steps(size: int, micro: int | None) -> None:
    order = Order(samples=25, batch=12, seed=4, consumed=36)
    pieces = 1 if micro is None else 12 // size // micro
    loaders = [order.batches(rank, size, micro) for rank in range(size)]
    for step in range(5):
        seen = [one for loader in loaders for _ in range(pieces) for one in next(loader)]
        assert seen == [order.sample(36 + step * 12 + at) for at in range(12)]
    assert order.consumed == 36, "a loader reads ahead of the steps"


def test_a_training_goes_on_where_it_stopped() -> None:
    whole = Order(samples=25, batch=6, seed=4)
    expected = list(itertools.islice(whole.batches(), 9))
    first = Order(samples=25, batch=6, seed=4)
    for _ in range(4):
        first.advance()
    second = Order(samples=25, batch=6, seed=4)
    second.load_state_dict(first.state_dict())
    assert list(itertools.islice(second.batches(), 5)) == expected[4:]
    assert second.epoch == 24 // 25
    # Another batch goes on from the same sample.
    third = Order(samples=25, batch=5, seed=4)
    third.load_state_dict(first.state_dict())
    assert next(third.batches()) == [whole.sample(at) for at in range(24, 29)]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Order(26, 6), "samples was 25 and is 26"),
        (Order(25, 6, seed=1), "seed was 0 and is 1"),
        (Order(25, 6, shuffle=False), "shuffle was True and is False"),
    ],
)
def test_other_data_are_refused(other: Order, said: str) -> None:
    with pytest.raises(Incompatible, match=said):
        other.load_state_dict(Order(25, 6).state_dict())


@pytest.mark.parametrize("consumed", [None, -1, "3", 1.5])
def test_a_state_that_is_none_is_refused(consumed: object) -> None:
    with pytest.raises(Incompatible, match="consumed: "):
        Order(25, 6).load_state_dict({**Order(25, 6).state_dict(), "consumed": consumed})


def test_what_cannot_be_shared_or_learned_is_refused() -> None:
    with pytest.raises(WrongWorld, match="8 samples cannot be shared evenly by 3 processes"):
        Order(25, 8).batches(0, 3)
    with pytest.raises(WrongWorld, match="4 samples a step, which is no multiple of the 3"):
        Order(25, 8).batches(0, 2, micro=3)
    with pytest.raises(WrongWorld, match="no multiple of the 0"):
        Order(25, 8).batches(0, 2, micro=0)
    with pytest.raises(Unusable, match="no samples"):
        Order(0, 8)
    with pytest.raises(Unusable, match="a batch of 0"):
        Order(8, 0)
