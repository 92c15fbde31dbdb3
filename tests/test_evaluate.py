"""Figures: means per slice and overall, addresses, exact sums."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sweeper.evaluate import Evaluator, evaluate, exact_sums
from sweeper.golden import GoldenSet
from sweeper.metrics import parse_metrics
from sweeper.runs import Judgments, Positions
from tests.builders import positions_of, query

METRICS = parse_metrics(["recall@2", "mrr", "ap", "abstention", "returned"])
QUERIES = (
    query(["a"], "1", "x"),
    query(["a", "b"], "2", "x"),
    query(["c"], "3", "y.z"),
    query([], "4", "y.z"),
)
RESULTS = {"1": ["n", "n", "a"], "2": ["b", "n"], "3": ["c"], "4": ["n"]}
FIGURES = evaluate(positions_of(RESULTS, *QUERIES), METRICS)


@pytest.mark.parametrize(
    ("address", "figure"),
    [
        ("x.recall@2", (0 + 1 / 2) / 2),
        ("x.mrr", (1 / 3 + 1) / 2),
        ("x.ap", (1 / 3 + 1 / 2) / 2),
        ("x.returned", (3 + 2) / 2),
        ("y.z.recall@2", 1),
        ("y.z.mrr", 1),
        ("y.z.abstention", 0),
        ("y.z.returned", 1),
        # over all queries, not over slices
        ("overall.recall@2", (0 + 1 / 2 + 1) / 3),
        ("overall.mrr", (1 / 3 + 1 + 1) / 3),
        ("overall.ap", (1 / 3 + 1 / 2 + 1) / 3),
        ("overall.abstention", 0),
        ("overall.returned", (3 + 2 + 1 + 1) / 4),
    ],
)
def test_a_figure_is_the_unweighted_mean_over_its_queries(address: str, figure: float) -> None:
    assert FIGURES.get(address) == pytest.approx(figure, abs=1e-15)


def test_a_figure_of_no_query_is_undefined() -> None:
    assert math.isnan(FIGURES.get("x.abstention"))


def test_the_number_of_queries_belongs_to_a_slice_and_metric() -> None:
    assert FIGURES.groups == ("x", "y.z", "overall")
    assert FIGURES.n_queries.tolist() == [[2, 2, 2, 0, 2], [1, 1, 1, 1, 2], [3, 3, 3, 1, 4]]


def test_an_address_is_split_at_the_last_dot() -> None:
    assert FIGURES.place("y.z.mrr") == (1, 1)


@pytest.mark.parametrize("address", ["mrr", "z.mrr", "x.recall@3", "x.", ".mrr", ""])
def test_an_unknown_address_is_refused(address: str) -> None:
    with pytest.raises(KeyError):
        FIGURES.get(address)


def test_every_trial_has_its_own_figures() -> None:
    golden = GoldenSet((query(["a"], "1"), query(["b"], "2")))
    positions = Positions(
        Judgments(golden),
        row_key=np.array([0, 1]),
        position=np.array([[1, 2], [0, 4]], np.int16),
        returned=np.array([[2, 2], [0, 4]]),
    )
    figures = evaluate(positions, parse_metrics(["mrr", "returned"]))
    assert len(figures) == 2
    assert [figures.get("overall.mrr", trial) for trial in (0, 1)] == [(1 + 1 / 2) / 2, 1 / 4 / 2]
    assert [figures.get("s.returned", trial) for trial in (0, 1)] == [2, 2]


def test_a_golden_set_of_unanswerable_questions_alone_is_evaluated() -> None:
    figures = evaluate(positions_of({"1": ["x"]}, query([], "1"), query([], "2")), METRICS)
    assert figures.get("overall.abstention") == 1 / 2
    assert math.isnan(figures.get("overall.mrr"))


def test_figures_come_from_counts_without_positions() -> None:
    metrics = parse_metrics(["recall@1", "recall@2", "mrr", "hit@2"])
    positions = positions_of(RESULTS, *QUERIES)
    evaluator = Evaluator(positions.judgments, metrics, highest_position=3)
    assert not evaluator.needs_positions
    counted = evaluator.figures(None, evaluator.count(positions))
    assert counted.get("overall.recall@1") == pytest.approx((0 + 1 / 2 + 1) / 3, abs=1e-15)
    assert counted.get("overall.hit@2") == 2 / 3
    assert Evaluator(positions.judgments, METRICS, 3).needs_positions


def test_every_question_is_counted_once_per_feature() -> None:
    metrics = parse_metrics(["recall@2", "mrr"])
    positions = positions_of(RESULTS, *QUERIES)
    counts = Evaluator(positions.judgments, metrics, 3).count(positions)
    # Three answerable questions by their first position, and the one with two keys by those found.
    assert counts.sum() == 3 + 1


def test_a_sum_of_tenths_is_rounded_once() -> None:
    values = np.array([[0.1] * 10])
    assert sum([0.1] * 10) != 1.0
    assert exact_sums(values, np.ones((10, 1))).item() == math.fsum([0.1] * 10) == 1.0


def test_sums_do_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(5)
    values = 1.0 / rng.integers(1, 100, (1, 5000))
    shuffled = rng.permutation(values[0])[None, :]
    ones = np.ones((5000, 1))
    assert exact_sums(values, ones).item() == exact_sums(shuffled, ones).item()
    assert exact_sums(values, ones).item() == math.fsum(values[0].tolist())


def test_counts_stand_for_repeats() -> None:
    values = np.array([1 / 3, 1 / 7, 0.0])
    counts = np.array([[3.0, 5.0, 9.0], [0.0, 1.0, 1.0]])
    sums = exact_sums(values, np.ones((3, 1)), counts)
    assert sums[:, 0].tolist() == [math.fsum([1 / 3] * 3 + [1 / 7] * 5), 1 / 7]


def test_sums_are_taken_per_group() -> None:
    member = np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])
    assert exact_sums(np.array([[0.25, 1 / 3, 0.5]]), member).tolist() == [
        [0.75, math.fsum([0.25, 1 / 3, 0.5])]
    ]


def test_whole_numbers_may_be_larger_than_eight() -> None:
    assert exact_sums(np.array([[1e6, 12345.0]]), np.ones((2, 1))).item() == 1_012_345
