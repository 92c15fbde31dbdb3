"""The Pareto front, which of equal settings stands for them, and what the policies choose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sweeper.constraints import Objective, parse_constraint
from sweeper.recommend import (
    Choice,
    choose,
    distances,
    pareto_front,
)
from sweeper.scores import Scores
from sweeper.settings import Settings

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


# --- choosing -------------------------------------------------------------------------------------

MRR = (Objective("overall.mrr", "maximize"),)


def scores(mrr: list[list[float]], slices: str = "", **others: list[list[float]]) -> Scores:
    """Return trials by questions; ``slices`` has one letter per question."""
    names = slices or "s" * len(mrr[0])
    known = tuple(dict.fromkeys(names))
    tables = {"mrr": mrr, **{name.replace("_at_", "@"): rows for name, rows in others.items()}}
    return Scores(
        {name: np.array(rows, np.float64) for name, rows in tables.items()},
        known,
        np.array([known.index(name) for name in names], np.intp),
    )


def chosen(
    found: Scores, *constraints: str, objectives: tuple[Objective, ...] = MRR, current: int = 0
) -> Choice:
    return choose(
        found,
        objectives,
        [parse_constraint(text) for text in constraints],
        current=current,
        preference=[(float(n),) for n in range(found.n_trials)],
        seed=1,
    )


TODAY = [0.5] * 10
CLEAR = [1.0] * 8 + [0.5] * 2
LUCKY = [1.0] * 4 + [0.5] * 6


def test_a_clear_gain_is_best_and_supported() -> None:
    choice = chosen(scores([TODAY, CLEAR]))
    assert choice.best == choice.supported == choice.dominant == (1,)
    assert choice.of("supported") == (1,)
    assert choice.test.p_value[1] < 0.01


def test_a_gain_on_four_questions_is_best_and_not_supported() -> None:
    choice = chosen(scores([TODAY, LUCKY]))
    assert choice.best == (1,)
    assert choice.supported == () == choice.of("supported")
    assert choice.test.p_value[1] == pytest.approx(1 / 16, abs=0.02)


def test_the_supported_setting_may_be_another_than_the_best() -> None:
    # More in all, but from four questions alone: no test could tell it from luck.
    few = [9.0 / 10] * 4 + [0.1] * 36
    steady = [0.12] * 40
    choice = chosen(scores([[0.1] * 40, few, steady]))
    assert choice.best == (1,)
    assert choice.supported == (2,)


def test_a_setting_that_breaks_a_constraint_is_chosen_by_no_policy() -> None:
    worse_elsewhere = [*CLEAR, 0.0]
    choice = chosen(scores([[*TODAY, 1.0], worse_elsewhere], "s" * 10 + "t"), "t.mrr >= current")
    assert (choice.best, choice.supported, choice.dominant) == ((0,), (), ())
    assert choice.feasible.tolist() == [True, False]
    bounded = chosen(scores([TODAY, CLEAR]), "overall.mrr >= 0.95")
    assert bounded.best == bounded.dominant == ()


def test_dominance_needs_no_test_and_forgives_no_question() -> None:
    one_better, one_worse = [0.6, *TODAY[1:]], [0.4, *CLEAR[1:]]
    choice = chosen(scores([TODAY, one_better, one_worse]))
    assert choice.dominant == (1,)
    assert choice.best == (2,)


def test_dominance_reads_every_metric_of_which_more_is_better() -> None:
    recall = [[1.0] * 10, [1.0] * 9 + [0.0]]
    assert chosen(scores([TODAY, CLEAR], recall_at_5=recall)).dominant == ()
    rows = [[1.0] * 10, [9.0] * 10]
    assert chosen(scores([TODAY, CLEAR], returned=rows)).dominant == (1,)


def test_a_setting_as_good_as_todays_does_not_replace_it() -> None:
    choice = chosen(scores([[0.5, 1.0], [1.0, 0.5], [0.5, 1.0]]), current=2)
    assert choice.best == (2,)


def test_equals_stand_preferred_first_and_the_next_objective_breaks_ties() -> None:
    better = [0.75] * 10
    first = scores([TODAY, better, better, better])
    assert chosen(first).best == (1, 2, 3)
    both = (*MRR, Objective("overall.recall@5", "maximize"))
    recall = [[0.0] * 10, [0.0] * 10, [1.0] * 10, [0.0] * 10]
    assert chosen(
        scores([TODAY, better, better, better], recall_at_5=recall), objectives=both
    ).best == (2,)


def test_an_objective_may_be_to_have_less() -> None:
    fewer = (Objective("overall.returned", "minimize"),)
    rows = [[9.0] * 10, [3.0] * 10]
    choice = chosen(scores([TODAY, TODAY], returned=rows), objectives=fewer)
    assert choice.best == choice.supported == (1,)


FAILED = [math.nan] * 10


@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_trial_that_failed_is_chosen_by_no_policy_and_changes_no_other(place: int) -> None:
    rows = [TODAY, CLEAR]
    whole = chosen(scores(rows))
    rows.insert(place, FAILED)
    choice = chosen(scores(rows), current=rows.index(TODAY))
    better = rows.index(CLEAR)
    assert choice.best == choice.supported == choice.dominant == (better,)
    assert choice.feasible.tolist() == [row is not FAILED for row in rows]
    assert math.isnan(choice.figures["overall.mrr"][place])
    assert choice.test.p_value[place] == 1
    assert choice.test.p_value[better] == whole.test.p_value[1]


def test_a_trial_that_failed_meets_no_constraint() -> None:
    choice = chosen(scores([TODAY, FAILED]), "overall.mrr <= 1")
    assert choice.feasible.tolist() == [True, False]
