"""Runs and positions: where relevant rows stand."""

from __future__ import annotations

import pickle

import numpy as np
from numpy.typing import NDArray

from sweeper.golden import GoldenSet
from sweeper.runs import FIRST_POSITION, Judgments, Positions, lowest
from tests.builders import positions_of, query

GOLDEN = GoldenSet(
    (
        query(["a", "b"], "1", "x", {"b": 2.0}),
        query([], "2", "y"),
        query(["c"], "3", "x"),
    )
)


def test_judgments_lay_expected_keys_out_in_the_order_of_the_golden_set() -> None:
    judgments = Judgments(GOLDEN)
    assert judgments.n_queries == 3
    assert judgments.keys == ("a", "b", "c")
    assert judgments.key_query.tolist() == [0, 0, 2]
    assert judgments.gain.tolist() == [1.0, 2.0, 1.0]
    assert judgments.n_keys.tolist() == [2, 0, 1]
    assert judgments.slices == ("x", "y")
    assert judgments.slice_of.tolist() == [0, 1, 0]
    assert judgments.answerable.tolist() == [0, 2]
    assert judgments.unanswerable.tolist() == [1]
    assert judgments.key_start.tolist() == [0, 2]
    assert judgments.key_columns(np.array([2])).tolist() == [2]


def test_a_key_is_looked_up_within_its_query() -> None:
    judgments = Judgments(GoldenSet((query(["a"], "1"), query(["a"], "2"))))
    assert judgments.key_number == {(0, "a"): 0, (1, "a"): 1}


def test_judgments_go_to_a_worker_without_their_lookup() -> None:
    judgments = Judgments(GOLDEN)
    assert judgments.key_number[0, "b"] == 1
    copy = pickle.loads(pickle.dumps(judgments))
    assert "key_number" not in vars(copy)
    assert copy.key_number == judgments.key_number


def test_positions_are_raw_and_count_from_one() -> None:
    positions = positions_of({"q": ["x", "a", "x", "b"]}, query(["b", "a", "c"]))
    assert FIRST_POSITION == 1
    assert positions.position.tolist() == [[4, 2]]
    assert positions.row_key.tolist() == [0, 1]
    assert positions.first().tolist() == [[4, 2, 0]]
    assert positions.returned.tolist() == [[4]]
    assert len(positions) == 1


def test_a_document_that_fills_several_slots_is_found_at_the_first() -> None:
    positions = positions_of({"q": ["x", "d", "d", "y", "d"]}, query(["d"]))
    assert positions.position.tolist() == [[2, 3, 5]]
    assert positions.first().tolist() == [[2]]
    assert positions.returned.tolist() == [[5]]


def test_a_query_that_the_run_lacks_returned_nothing() -> None:
    positions = positions_of({}, query(["a"], "1"), query([], "2"))
    assert positions.returned.tolist() == [[0, 0]]
    assert positions.first().tolist() == [[0]]


def test_a_query_that_the_golden_set_lacks_is_not_looked_at() -> None:
    positions = positions_of({"q": ["a"], "other": ["a", "b"]}, query(["a"]))
    assert positions.returned.tolist() == [[1]]


def test_a_key_that_only_another_query_expects_is_not_relevant() -> None:
    positions = positions_of({"1": ["b"], "2": ["b"]}, query(["a"], "1"), query(["b"], "2"))
    assert positions.first().tolist() == [[0, 1]]


def test_the_lowest_position_ignores_absent_rows() -> None:
    kinds: list[type[np.integer]] = [np.int16, np.int32, np.int64]
    for kind in kinds:
        position: NDArray[np.integer] = np.array([[0, 3, 2, 0, 0], [5, 0, 0, 1, 9]], kind)
        found = lowest(position, np.array([0, 3]))
        assert found.tolist() == [[2, 0], [5, 1]]
        assert found.dtype == kind


def test_the_first_position_of_each_key_is_taken_per_trial() -> None:
    judgments = Judgments(GoldenSet((query(["a", "b", "c"]),)))
    positions = Positions(
        judgments,
        row_key=np.array([0, 0, 2]),
        position=np.array([[4, 2, 0], [0, 0, 7]], np.int16),
        returned=np.array([[9], [9]]),
    )
    assert positions.first().tolist() == [[2, 0, 0], [0, 0, 7]]


def test_questions_may_be_taken_again_and_several_times() -> None:
    judgments = Judgments(GOLDEN)
    assert judgments.answerable.tolist() == [0, 2]
    taken = judgments.take(np.array([2, 1, 0, 2]))
    assert taken.slice_of.tolist() == [0, 1, 0, 0]
    assert taken.n_keys.tolist() == [1, 0, 2, 1]
    assert taken.key_query.tolist() == [0, 2, 2, 3]
    assert taken.gain.tolist() == [1.0, 1.0, 2.0, 1.0]
    assert taken.answerable.tolist() == [0, 2, 3]
    assert taken.key_start.tolist() == [0, 1, 3]
    assert judgments.n_keys.tolist() == [2, 0, 1]
