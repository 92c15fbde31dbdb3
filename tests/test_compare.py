"""A challenger's questions against the reference's."""

from __future__ import annotations

import numpy as np

from sweeper.compare import Tally, tally
from sweeper.golden import GoldenSet
from sweeper.metrics import parse_metrics
from sweeper.runs import Judgments, Positions
from tests.builders import query


def trials(*positions: list[int], returned: list[list[int]] | None = None) -> Positions:
    """Return one trial per list; each holds the position of each question's only key."""
    n = len(positions[0])
    golden = GoldenSet(tuple(query(["a"], str(number)) for number in range(n)))
    counts = np.array(returned or [[10] * n] * len(positions))
    return Positions(Judgments(golden), np.arange(n), np.array(positions, np.int16), counts)


def test_questions_are_better_worse_or_equal() -> None:
    both = trials([2, 2, 2, 2], [1, 3, 2, 0])
    assert tally(both, parse_metrics(["mrr"]), 0)[1] == Tally(better=1, worse=2, equal=1, mixed=0)


def test_the_reference_equals_itself() -> None:
    both = trials([2, 2, 0], [1, 3, 2])
    assert tally(both, parse_metrics(["mrr", "recall@5"]), 0)[0] == Tally(0, 0, 3, 0)


def test_swapping_the_sides_swaps_better_and_worse() -> None:
    both = trials([2, 2, 2, 4], [1, 3, 0, 1])
    forward = tally(both, parse_metrics(["mrr"]), 0)[1]
    back = tally(both, parse_metrics(["mrr"]), 1)[0]
    assert (forward.better, forward.worse) == (back.worse, back.better) == (2, 2)


def test_a_question_that_rises_in_one_metric_and_falls_in_another_is_mixed() -> None:
    golden = GoldenSet((query(["a", "b"]),))
    positions = Positions(
        Judgments(golden), np.arange(2), np.array([[2, 3], [1, 9]], np.int16), np.array([[9], [9]])
    )
    # The first key comes first now, but the second left the top five.
    assert tally(positions, parse_metrics(["mrr", "recall@5"]), 0)[1] == Tally(0, 0, 0, 1)


def test_a_pure_demotion_inside_the_cutoff_is_seen_by_mrr_alone() -> None:
    both = trials([1], [5])
    assert tally(both, parse_metrics(["recall@5"]), 0)[1] == Tally(0, 0, 1, 0)
    assert tally(both, parse_metrics(["mrr"]), 0)[1] == Tally(0, 1, 0, 0)


def test_metrics_of_which_more_is_not_better_do_not_count() -> None:
    both = trials([1], [1], returned=[[3], [9]])
    assert tally(both, parse_metrics(["returned", "mrr"]), 0)[1] == Tally(0, 0, 1, 0)


def test_an_unanswerable_question_counts_by_abstention_alone() -> None:
    golden = GoldenSet((query(["a"], "1"), query([], "2")))
    positions = Positions(
        Judgments(golden),
        np.array([0]),
        np.array([[1], [1]], np.int16),
        np.array([[3, 3], [3, 0]]),
    )
    metrics = parse_metrics(["mrr", "abstention"])
    assert tally(positions, metrics, 0)[1] == Tally(better=1, worse=0, equal=1, mixed=0)
    assert tally(positions, parse_metrics(["mrr"]), 0)[1] == Tally(0, 0, 2, 0)
