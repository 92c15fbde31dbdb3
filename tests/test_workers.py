"""Worker processes: whatever is killed, and whenever, each item comes back or is told lost."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeper import workers
from sweeper.errors import EngineError
from sweeper.workers import Answer, Lost, spread
from tests.processes import Killing, children, running

FULL = bool(os.environ.get("SWEEPER_FULL"))


def never() -> bool:
    return False


def squared(item: int) -> int:
    return item * item


def heavy(item: int) -> bytes:
    """Answer with far more than a pipe holds, so that a kill comes in the middle of a message."""
    return bytes([item % 256]) * 3_000_000


def whole(
    function: Callable[[int], Any],
    n_items: int,
    n_workers: int,
    timeout_seconds: float | None = None,
) -> dict[int, Any]:
    """Return every item's answer, sending again what is lost."""
    waiting = deque(range(n_items))
    answers: dict[int, Any] = {}
    for found in spread(function, waiting, n_workers, stop=never, timeout_seconds=timeout_seconds):
        if isinstance(found, Lost):
            waiting.append(found.item)
        else:
            assert found.item not in answers
            answers[found.item] = found.value
    return answers


@pytest.mark.slow
def test_every_item_is_answered_once() -> None:
    assert whole(squared, 50, 3) == {n: n * n for n in range(50)}
    assert not children()


def test_nothing_to_do_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_Worker", None)
    assert list(spread(squared, deque[int](), 4, stop=never)) == []
    assert list(spread(squared, deque([1]), 4, stop=lambda: True)) == []


def test_a_function_that_no_module_holds_works_as_in_a_notebook() -> None:
    offset = 7
    assert whole(lambda item: item + offset, 5, 2) == {n: n + 7 for n in range(5)}


def summed(arrays: list[np.ndarray], item: int) -> tuple[float, bool]:
    return float(arrays[item].sum()), bool(arrays[item].flags.writeable)


def test_large_arrays_are_mapped_and_small_ones_copied_unchanged() -> None:
    rng = np.random.default_rng(0)
    arrays = [rng.random(10), rng.random(200_000), rng.random(200_003)[1:], np.empty(0)]
    arrays += [np.asfortranarray(rng.random((500, 400))), rng.random((500, 800))[:, ::2]]
    answers = whole(partial(summed, arrays), len(arrays), 2)
    assert [answers[n][0] for n in range(len(arrays))] == [float(a.sum()) for a in arrays]
    assert [answers[n][1] for n in range(4)] == [True, False, False, True]


# --- kills ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5 if FULL else 1))
def test_kills_in_the_middle_of_messages_and_starts_lose_nothing(seed: int) -> None:
    n_items = 400 if FULL else 100
    most = 100 if FULL else 8
    started = time.monotonic()
    whole(squared, 1, 1)
    start = time.monotonic() - started  # on a slow machine none would live to be ready
    with Killing(most, pause=lambda rng: rng.uniform(0.0, start), seed=seed) as killing:
        answers = whole(heavy, n_items, 3)
    assert killing.count >= 2
    assert answers == {n: heavy(n) for n in range(n_items)}
    assert not children()


def test_an_item_that_kills_its_worker_is_told_and_costs_no_other() -> None:
    waiting = deque(range(6))
    found = list(spread(suicidal, waiting, 2, stop=never))
    assert [f for f in found if isinstance(f, Lost)] == [Lost(3, "died")]
    assert sorted(f.item for f in found if isinstance(f, Answer)) == [0, 1, 2, 4, 5]


def suicidal(item: int) -> int:
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


@pytest.mark.slow
def test_a_time_that_no_system_can_wait_for_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert whole(squared, 3, 1, timeout_seconds=1e9) == {0: 0, 1: 1, 2: 4}


def test_an_item_that_is_late_is_told_and_its_worker_ended() -> None:
    found = list(spread(sleepy, deque(range(4)), 2, stop=never, timeout_seconds=0.5))
    assert Counter(f.item for f in found) == Counter(range(4))
    assert [f for f in found if isinstance(f, Lost)] == [Lost(2, "late")]
    assert not children()


def sleepy(item: int) -> int:
    if item == 2:
        time.sleep(60)
    return item


def test_workers_that_always_die_while_they_start_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "_START", "import os; os.kill(os.getpid(), 9)")
    with pytest.raises(EngineError, match=r"12 worker processes were killed while they started"):
        whole(squared, 3, 1)
    assert not children()


class Unloadable:
    """Cannot be unpickled anywhere."""

    def __reduce__(self) -> tuple[Any, ...]:
        return refuse, ("no room\nfor it",)

    def __call__(self, item: int) -> int:
        raise AssertionError


def refuse(text: str) -> None:
    raise MemoryError(text)


def test_what_a_worker_cannot_load_is_told_without_a_traceback(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(EngineError, match=r"cannot load what it needs \(MemoryError: no room"):
        whole(Unloadable(), 3, 2)
    assert capfd.readouterr().err == ""


def unspeakable(item: int) -> Any:
    return Unspeakable() if item == 1 else item


class Unspeakable:
    """Has no room to be sent."""

    def __reduce__(self) -> Any:
        raise MemoryError


@pytest.mark.slow
def test_an_answer_without_room_is_a_lost_item(capfd: pytest.CaptureFixture[str]) -> None:
    found = list(spread(unspeakable, deque(range(3)), 1, stop=never))
    assert [f for f in found if isinstance(f, Lost)] == [Lost(1, "died")]
    assert len(found) == 3
    assert capfd.readouterr().err == ""


def test_a_process_that_cannot_be_started_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(subprocess, "Popen", refused)
    with pytest.raises(EngineError, match=r"cannot be started \(.*temporarily unavailable\)"):
        whole(squared, 3, 2)


# --- ends -----------------------------------------------------------------------------------------


def test_what_runs_is_finished_and_the_rest_left_when_asked_to_stop() -> None:
    seen: list[int] = []
    for found in spread(squared, deque(range(100)), 2, stop=lambda: len(seen) >= 3):
        seen.append(found.item)
    assert 3 <= len(seen) <= 5


@pytest.mark.slow
def test_whoever_stops_reading_leaves_no_process_behind() -> None:
    answers = spread(slow, deque(range(100)), 2, stop=never)
    next(answers)
    assert children()
    answers.close()
    assert not children()


def slow(item: int) -> int:
    time.sleep(0.05)
    return item


_PARENT = """
import time
from collections import deque
from sweeper.workers import spread
from tests.test_workers import never, slow
for found in spread(slow, deque(range(100_000)), 2, stop=never):
    print(found.item, flush=True)
"""

_BUSY_PARENT = """
from collections import deque
from sweeper.workers import spread
from tests.test_workers import never, told_and_asleep
list(spread(told_and_asleep, deque([1]), 1, stop=never))
"""


@contextlib.contextmanager
def parent(code: str = _PARENT) -> Iterator[subprocess.Popen[str]]:
    root = Path(__file__).resolve().parents[1]
    process = subprocess.Popen(
        [sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_workers_end_with_a_parent_that_is_killed() -> None:
    with parent() as process:
        assert process.stdout is not None
        for _ in range(5):
            process.stdout.readline()
        theirs = children(process.pid)
        assert len(theirs) == 2
        process.kill()
        process.wait()
        until = time.monotonic() + 30
        while any(running(pid) for pid in theirs):
            assert time.monotonic() < until, "workers outlive their parent"
            time.sleep(0.02)


def told_and_asleep(item: int) -> int:
    print("this is no answer", flush=True)
    print("begun", file=sys.stderr, flush=True)
    time.sleep(600)
    return item


@pytest.mark.slow
def test_a_worker_ends_with_its_parent_in_the_middle_of_an_item(tmp_path: Path) -> None:
    with parent(_BUSY_PARENT) as process:
        until = time.monotonic() + 60
        while not (theirs := children(process.pid)):
            assert time.monotonic() < until
            time.sleep(0.02)
        time.sleep(1.0)
        process.kill()
        assert process.stdout is not None
        assert process.stdout.read() == ""
        while any(running(pid) for pid in theirs):
            assert time.monotonic() < until, "a worker outlives its parent"
            time.sleep(0.02)


@pytest.mark.slow
def test_ctrl_c_in_a_terminal_does_not_reach_workers() -> None:
    answers = spread(slow, deque(range(20)), 2, stop=never)
    next(answers)
    mine = os.getpgrp()
    assert all(os.getpgid(pid) != mine for pid in children())
    for pid in children():
        os.kill(pid, signal.SIGINT)
    assert len(list(answers)) == 19
