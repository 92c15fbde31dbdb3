"""The Pareto front, and which of equal settings stands for them."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sweeper.knobs import Settings
from sweeper.recommend import distances, pareto_front

LEVELS = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0, math.nan])
GAINS = hnp.arrays(np.float64, st.tuples(st.integers(0, 14), st.integers(1, 4)), elements=LEVELS)


def numbered(gains: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[tuple[float, ...]]:
    return [(float(number),) for number in range(len(gains))]


@given(GAINS)
def test_the_front_is_what_no_other_trial_dominates(
    gains: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> None:
    rows = [tuple(row) for row in gains.tolist() if not any(map(math.isnan, row))]

    def dominated(row: tuple[float, ...]) -> bool:
        return any(
            other != row and all(a >= b for a, b in zip(other, row, strict=True)) for other in rows
        )

    front = pareto_front(gains, numbered(gains))
    assert {tuple(gains[t].tolist()) for t in front} == {r for r in rows if not dominated(r)}
    assert len({tuple(gains[t].tolist()) for t in front}) == len(front)


@given(GAINS)
def test_the_front_stands_best_first(
    gains: np.ndarray[tuple[int, ...], np.dtype[np.float64]],
) -> None:
    vectors = [tuple(gains[t].tolist()) for t in pareto_front(gains, numbered(gains))]
    assert vectors == sorted(vectors, reverse=True)


def test_a_trial_with_an_undefined_gain_is_never_on_the_front() -> None:
    gains = np.array([[1.0, math.nan], [0.1, 0.1], [math.nan, 2.0]])
    assert pareto_front(gains, numbered(gains)) == [1]


@pytest.mark.parametrize(
    ("preference", "chosen"),
    [
        ([(2.0,), (1.0,), (3.0,)], 1),
        ([(1.0, 9.0), (1.0, 3.0), (1.0, 5.0)], 1),
        ([(0,), (0,), (0,)], 0),
    ],
)
def test_of_equal_trials_the_preferred_one_stays(
    preference: list[tuple[float, ...]], chosen: int
) -> None:
    gains = np.array([[0.5, 0.5]] * 3)
    assert pareto_front(gains, preference) == [chosen]


def test_of_equal_trials_the_one_nearest_to_the_current_setting_stays() -> None:
    current = Settings(rrf_k=60)
    trials = [
        Settings(rrf_k=5, min_similarity=0.1),
        Settings(rrf_k=5),
        Settings(rrf_k=20),
        Settings(rrf_k=20, limit=5),
    ]
    far = distances(trials, current)
    front = pareto_front(np.full((4, 2), 0.5), [(d, float(n)) for n, d in enumerate(far)])
    assert front == [2]


def test_no_trials_have_no_front() -> None:
    assert pareto_front(np.empty((0, 2)), []) == []


def test_the_current_setting_is_at_distance_zero() -> None:
    assert distances([Settings(limit=10), Settings(weights={"vector": 1})], Settings()) == [0, 0]


def test_the_number_of_changed_knobs_counts_before_any_step() -> None:
    current = Settings(rrf_k=1)
    trials = [Settings(rrf_k=k) for k in range(1, 200)]
    two = Settings(rrf_k=2, recency_half_life_days=30)
    far = distances([*trials, two], current)
    assert max(far[:-1]) < far[-1]


def test_a_step_is_one_value_of_the_knob_among_the_trials() -> None:
    current = Settings(recency_half_life_days=30)
    trials = [Settings(recency_half_life_days=h) for h in (0, 7, 30, 90, 7300)]
    off, week, same, quarter, decades = distances(trials, current)
    assert same == 0
    assert week == quarter < decades < off, "off is infinitely long"


def test_an_unset_floor_is_one_step_from_the_lowest() -> None:
    far = distances([Settings(min_similarity=f) for f in (-0.5, 0.5)], Settings())
    assert far[0] < far[1]


def test_a_weight_is_a_knob_like_any_other() -> None:
    near, both = distances(
        [Settings(weights={"vector": 2}), Settings(weights={"vector": 2, "lexical": 2})], Settings()
    )
    assert 1 <= near < 2 <= both
