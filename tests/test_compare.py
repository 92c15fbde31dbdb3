"""A challenger's questions against the reference's: counts, differences, intervals and tests."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.compare import Difference, Tally, compare_values, holm, tally
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


# --- values per question --------------------------------------------------------------------------


def differences(before: list[float], after: list[float], slices: str = "") -> dict[str, Difference]:
    """Compare one metric; ``slices`` has one letter per question."""
    names = slices or "s" * len(before)
    known = list(dict.fromkeys(names))
    found = compare_values(
        {"mrr": np.array(before)},
        {"mrr": np.array(after)},
        known,
        np.array([known.index(name) for name in names], np.intp),
        seed=1,
    )
    return {item.slice: item for item in found}


def test_a_gain_of_most_questions_is_better_and_its_mirror_worse() -> None:
    low, high = [0.5] * 12, [1.0] * 11 + [0.5]
    forward, back = differences(low, high), differences(high, low)
    assert forward["overall"].finding == "better"
    assert back["overall"].finding == "worse"
    assert forward["s"].difference == pytest.approx(11 * 0.5 / 12)
    assert forward["s"].p_value == back["s"].p_value


def test_every_slice_is_compared_and_p_values_are_corrected_over_all() -> None:
    before, after = [0.5] * 12, [1.0] * 6 + [0.5] * 6
    found = differences(before, after, "a" * 6 + "b" * 6)
    assert list(found) == ["a", "b", "overall"]
    # Alone 2 of 64 patterns; three tests are made, of which one has p 1.
    assert found["a"].p_value == pytest.approx(3 / 32)
    assert (found["a"].finding, found["b"].finding) == ("unclear", "same")


def test_so_few_that_nothing_could_be_significant_is_unresolvable() -> None:
    found = differences([0.5] * 40, [1.0] * 5 + [0.5] * 35)["overall"]
    assert (found.finding, found.n_differ) == ("unresolvable", 5)
    assert found.needed is not None
    assert found.needed > 40


def test_undefined_questions_are_left_out() -> None:
    found = differences([0.5, math.nan, 1.0], [0.5, math.nan, 0.5])["overall"]
    assert (found.n_queries, found.baseline, found.challenger) == (2, 0.75, 0.5)
    assert "t" not in differences([0.5, math.nan], [0.5, math.nan], "st")


def test_the_interval_holds_the_difference_and_overall_is_resampled_within_slices() -> None:
    rng = np.random.default_rng(1)
    before = np.full(60, 0.5)
    after = np.concatenate([0.9 + rng.normal(0, 0.01, 30), 0.1 + rng.normal(0, 0.01, 30)])
    apart = differences(before.tolist(), after.tolist(), "a" * 30 + "b" * 30)["overall"]
    together = differences(before.tolist(), after.tolist())["overall"]
    assert apart.interval is not None
    assert together.interval is not None
    assert apart.interval.low <= apart.difference <= apart.interval.high
    width, whole = (x.interval.high - x.interval.low for x in (apart, together) if x.interval)
    assert width < whole / 5


@given(st.lists(st.floats(0.0001, 1.0), min_size=1, max_size=12))
def test_holms_p_values_are_no_smaller_and_keep_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    assert all(p <= q <= 1 for p, q in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda n: p_values[n])
    assert [adjusted[n] for n in order] == sorted(adjusted)
    assert min(adjusted) == min(1.0, len(p_values) * min(p_values))
