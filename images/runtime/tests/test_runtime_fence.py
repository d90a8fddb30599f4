"""Of all runs that share a folder, the highest number may write."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from runwright_runtime import Fence, Superseded, Unwritable

LIMIT = 60
HOLD = """
import sys, time
from pathlib import Path
from runwright_runtime import Fence
with Fence(Path(sys.argv[1]), 7, "0", grace=int(sys.argv[2])):
    print("holds", flush=True)
    time.sleep(300)
"""


def until(reached: Callable[[], object]) -> None:
    end = time.monotonic() + LIMIT
    while not reached():
        assert time.monotonic() < end
        time.sleep(0.01)


def entry(folder: Path, name: str) -> str:
    return (folder / "OWNER" / name).read_text()


def put(folder: Path, name: str, text: str) -> None:
    (folder / "OWNER").mkdir(parents=True, exist_ok=True)
    (folder / "OWNER" / name).write_text(text)


class Waiting:
    """A successor that waits on a thread of its own."""

    def __init__(self, fence: Fence, timeout: float | None = None) -> None:
        self.fence = fence
        self.failure: Exception | None = None
        self.thread = threading.Thread(target=self._wait, args=(timeout,), daemon=True)
        self.thread.start()
        until((fence.folder / "OWNER" / f"{fence.number}.{fence.pod}").exists)

    def _wait(self, timeout: float | None) -> None:
        try:
            self.fence.acquire(timeout, poll=0.02)
        except Exception as failure:  # noqa: BLE001 (told by `end`)
            self.failure = failure

    @property
    def waits(self) -> bool:
        return self.thread.is_alive()

    def end(self) -> None:
        self.thread.join(LIMIT)
        assert not self.thread.is_alive()
        if self.failure is not None:
            raise self.failure


def test_the_first_run_of_a_folder_has_it_at_once(tmp_path: Path) -> None:
    fence = Fence(tmp_path / "new" / "r1", 1, "0", grace=600)
    assert not fence.still_owner()
    with fence as held:
        assert held.still_owner()
        assert held.successor() is None
        held.check()
        assert entry(tmp_path / "new" / "r1", "1.0") == "held 600\n"
    assert entry(tmp_path / "new" / "r1", "1.0") == "released\n"
    assert not fence.still_owner()


def test_a_fence_is_let_go_when_its_block_fails(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Fence(tmp_path, 1, "0"):
        raise ZeroDivisionError
    assert entry(tmp_path, "1.0") == "released\n"


def test_a_successor_waits_until_the_last_checkpoint_is_written(tmp_path: Path) -> None:
    first = Fence(tmp_path, 7, "0", grace=600)
    first.acquire()
    second = Waiting(Fence(tmp_path, 8, "0"))
    assert first.successor() == 8
    # It is told to stop, and may still write.
    assert first.still_owner()
    first.check()
    assert second.waits
    first.release()
    second.end()
    assert second.fence.still_owner()
    with pytest.raises(Superseded, match="run 8 owns"):
        first.check()


def test_every_pod_of_the_run_before_has_to_let_go(tmp_path: Path) -> None:
    for pod in ("a", "b", "c"):
        put(tmp_path, f"7.{pod}", "held 600\n")
    second = Waiting(Fence(tmp_path, 8, "0"))
    for pod, word in (("a", "released"), ("b", "stopped"), ("c", "taken by 9")):
        assert second.waits
        put(tmp_path, f"7.{pod}", f"{word}\n")
    second.end()


def test_who_does_not_let_go_is_taken_over_and_writes_no_more(tmp_path: Path) -> None:
    first = Fence(tmp_path, 7, "0", grace=600)
    first.acquire()
    Fence(tmp_path, 8, "0").acquire(timeout=0.05, poll=0.01)
    assert entry(tmp_path, "7.0") == "taken by 8\n"
    assert not first.still_owner()
    with pytest.raises(Superseded, match="run 8 owns"):
        first.check()


def test_a_process_that_was_killed_is_taken_over(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path), "0"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "holds\n"
    holder.send_signal(signal.SIGKILL)
    holder.communicate(timeout=LIMIT)
    assert entry(tmp_path, "7.0") == "held 0\n"
    second = Fence(tmp_path, 8, "0")
    second.acquire(timeout=0.1, poll=0.01)
    assert second.still_owner()


def test_the_run_before_gets_its_own_grace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With no timeout: the longest grace announced, or the run's own, and the margin."""
    clock = [0.0]

    def sleep(seconds: float) -> None:
        clock[0] += seconds

    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(time, "sleep", sleep)
    put(tmp_path, "6.0", "held 40\n")
    put(tmp_path, "7.0", "held 600\n")
    Fence(tmp_path, 8, "0", grace=30).acquire()
    assert clock == [615.0]
    put(tmp_path, "7.0", "what?\n")
    Fence(tmp_path, 9, "0", grace=30).acquire(poll=7)
    # 8 held with 30, and 7 counts as held with the 30 of 9.
    assert clock == [615.0 + 45.0]


def test_a_lower_number_is_refused_and_lets_go(tmp_path: Path) -> None:
    with Fence(tmp_path, 8, "0"):
        pass
    first = Fence(tmp_path, 7, "0")
    with pytest.raises(Superseded, match=r"run 8 owns .* run 7 writes no more"):
        first.acquire()
    assert entry(tmp_path, "7.0") == "released\n"


def test_a_run_that_waits_gives_way_to_a_higher_one(tmp_path: Path) -> None:
    put(tmp_path, "7.0", "held 600\n")
    second = Waiting(Fence(tmp_path, 8, "0"))
    third = Waiting(Fence(tmp_path, 9, "0"))
    with pytest.raises(Superseded, match="run 9 owns"):
        second.end()
    assert entry(tmp_path, "8.0") == "released\n"
    assert third.waits
    put(tmp_path, "7.0", "released\n")
    third.end()


def test_numbers_are_compared_as_numbers(tmp_path: Path) -> None:
    put(tmp_path, "9.0", "released\n")
    with Fence(tmp_path, 10, "0") as ten:
        assert ten.successor() is None
        assert Fence(tmp_path, 9, None).successor() == 10


def test_the_same_run_begins_again_at_once(tmp_path: Path) -> None:
    put(tmp_path, "7.0", "held 600\n")
    put(tmp_path, "7.1", "stopping 600\n")
    with Fence(tmp_path, 7, "0") as fence:
        assert fence.still_owner()


def test_a_process_that_only_reads_follows_the_one_that_speaks(tmp_path: Path) -> None:
    reader = Fence(tmp_path, 7, None)
    reader.acquire()
    assert not (tmp_path / "OWNER").exists()
    assert reader.still_owner()
    with Fence(tmp_path, 7, "0"):
        put(tmp_path, "8.0", "held 30\n")
        assert reader.still_owner()
        reader.release()
    assert not reader.still_owner()
    with pytest.raises(Superseded):
        reader.check()
    with pytest.raises(Superseded):
        reader.acquire()


@pytest.mark.parametrize(
    "name", ["x", "9x.0", "99999999999999999999.0", "1e9.0", ".9.0.new", "-9.0", "٩.0"]
)
def test_what_is_no_entry_is_passed_over(name: str, tmp_path: Path) -> None:
    put(tmp_path, name, "held 300\n")
    with Fence(tmp_path, 8, "0") as fence:
        assert fence.successor() is None


@pytest.mark.parametrize("text", ["", "garbage", "held", "held many", "held -1", "held 9999999"])
def test_a_damaged_entry_counts_as_held(text: str, tmp_path: Path) -> None:
    put(tmp_path, "7.0", text)
    second = Waiting(Fence(tmp_path, 8, "0"), timeout=0.2)
    second.end()
    assert entry(tmp_path, "7.0") == "taken by 8\n"


def test_bytes_that_are_no_text_count_as_held(tmp_path: Path) -> None:
    (tmp_path / "OWNER").mkdir()
    (tmp_path / "OWNER" / "7.0").write_bytes(b"\xff\x00released")
    Fence(tmp_path, 8, "0").acquire(timeout=0.01, poll=0.01)
    assert entry(tmp_path, "7.0") == "taken by 8\n"


def test_a_fence_that_is_a_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "OWNER").write_text("7")
    with pytest.raises(Unwritable, match="cannot write to"):
        Fence(tmp_path, 8, "0").acquire()
    with pytest.raises(Unwritable, match="cannot read"):
        Fence(tmp_path, 8, None).successor()


def test_of_many_that_begin_together_only_the_highest_has_the_folder(tmp_path: Path) -> None:
    for attempt in range(10):
        folder = tmp_path / str(attempt)
        fences = [Fence(folder, number, "0") for number in (3, 1, 4, 2)]
        threads = [Waiting(fence) for fence in fences]
        # Whoever got in before the higher ones came lets go as soon as it sees them.
        end = time.monotonic() + LIMIT
        while any(thread.waits for thread in threads):
            assert time.monotonic() < end
            for fence, thread in zip(fences, threads, strict=True):
                if not thread.waits and thread.failure is None and fence.successor():
                    fence.release()
        assert [fence.number for fence in fences if fence.still_owner()] == [4]
