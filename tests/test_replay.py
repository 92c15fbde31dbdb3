"""What a replay refuses, and what it leaves behind when it goes to a worker."""

from __future__ import annotations

import pickle
import sys

import pytest

from sweeper.golden import GoldenSet
from sweeper.metrics import parse_metrics
from sweeper.replay import Replay
from sweeper.settings import Settings
from tests.builders import document, documents, found, memory, pool_of, query

POOL = pool_of(
    found(vector=documents("abc"), lexical=documents("cxa"), query_id="1"),
    found(
        vector=[document("d@0", 0.9), memory("m", 0.8, 30.0), document("d@1", 0.7)], query_id="2"
    ),
    found(query_id="3"),
)
GOLDEN = GoldenSet(
    (
        query(["a", "x"], "1"),
        query(["d"], "2"),
        query(["z"], "3"),
    )
)


def test_positions_are_those_of_the_ranked_lists() -> None:
    # 1: a and c stand in both lists, at (1, 3) and (3, 1); then b at 2 and x at 2 tie.
    positions = Replay(POOL, GOLDEN).positions([Settings(), Settings(limit=1, depth=10)])
    assert positions.row_key.tolist() == [0, 1, 2, 2]
    assert positions.position.tolist() == [[1, 4, 1, 3], [1, 0, 1, 0]]
    assert positions.returned.tolist() == [[4, 3, 0], [1, 1, 0]]


def test_questions_that_the_golden_set_lacks_are_left_out() -> None:
    golden = GoldenSet((query(["d"], "2"),))
    positions = Replay(POOL, golden).positions([Settings()])
    assert positions.position.tolist() == [[1, 3]]
    assert positions.returned.tolist() == [[3]]


def test_the_golden_set_decides_the_order_of_questions() -> None:
    positions = Replay(POOL, GoldenSet(GOLDEN.queries[::-1])).positions([Settings()])
    assert positions.returned.tolist() == [[0, 3, 4]]


def test_a_question_that_the_pool_lacks_is_refused() -> None:
    golden = GoldenSet((query(["a"], "1"), query(["a"], "9"), query(["a"], "8")))
    with pytest.raises(ValueError, match="the pool lacks 2 queries, '9' first"):
        Replay(POOL, golden)


def test_a_depth_below_the_pools_is_cut_and_one_above_is_refused() -> None:
    replay = Replay(POOL, GOLDEN)
    assert replay.positions([Settings(depth=1)]).returned.tolist() == [[2, 2, 0]]
    with pytest.raises(ValueError, match="depth 11 is more than the pool's 10"):
        replay.positions([Settings(limit=11)])


def test_positions_are_of_one_depth_but_figures_of_any() -> None:
    replay, both = Replay(POOL, GOLDEN), [Settings(limit=2), Settings(limit=5)]
    with pytest.raises(ValueError, match="settings of one origin are needed, got 2"):
        replay.positions(both)
    figures = replay.figures(both, parse_metrics(["returned"]))
    # Two rows of two channels are cut to 2; five deep, four and three come back.
    assert [figures.get("overall.returned", trial) for trial in (0, 1)] == [4 / 3, 7 / 3]


def test_a_replay_goes_to_a_worker_without_its_pool() -> None:
    replay = Replay(POOL, GOLDEN)
    before = replay.figures([Settings()], parse_metrics(["mrr", "ap"]))
    copy: Replay = pickle.loads(pickle.dumps(replay))
    after = copy.figures([Settings()], parse_metrics(["mrr", "ap"]))
    with pytest.raises(ValueError, match="0 pools"):
        _ = copy.pool
    assert after.value.tobytes() == before.value.tobytes()


def test_without_numba_the_numpy_path_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "sweeper.kernels", None)  # importing it would fail
    figures = Replay(POOL, GOLDEN, compiled=True).figures([Settings()], parse_metrics(["mrr"]))
    assert figures.get("overall.mrr") == (1 + 1 + 0) / 3


def test_an_empty_pool_is_replayed() -> None:
    golden = GoldenSet((query(["a"], "1"), query([], "2")))
    replay = Replay(pool_of(found(query_id="1"), found(query_id="2")), golden)
    figures = replay.figures([Settings()], parse_metrics(["mrr", "recall@5", "ap", "abstention"]))
    assert [figures.get(f"overall.{m}") for m in ("mrr", "recall@5", "ap", "abstention")] == [
        0,
        0,
        0,
        1,
    ]
