"""Cross-validated picks: how folds are dealt, and what a pick is worth outside of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sweeper.constraints import Objective, parse_constraint
from sweeper.cross_validation import CrossValidated, cross_validate
from sweeper.recommend import Policy
from sweeper.scores import Scores
from tests.test_recommend import LUCKY, MRR, TODAY, scores


def validated(
    found: Scores,
    *constraints: str,
    objectives: tuple[Objective, ...] = MRR,
    policy: Policy = "best",
) -> CrossValidated | None:
    return cross_validate(
        found,
        objectives,
        [parse_constraint(text) for text in constraints],
        current=0,
        preference=[(float(n),) for n in range(found.n_trials)],
        policy=policy,
        seed=1,
    )


def test_a_gain_of_every_question_survives_cross_validation() -> None:
    found = validated(scores([[0.5] * 20, [0.75] * 20]), policy="supported")
    assert found is not None
    assert (found.figure, found.current, found.kept) == (0.75, 0.5, 0.0)
    assert found.spread == (0.75, 0.75)


def test_luck_does_not_survive_cross_validation() -> None:
    rng = np.random.default_rng(2)
    table = rng.choice([0.0, 1.0], (60, 40))
    found = validated(scores(table.tolist()))
    assert found is not None
    best = table.mean(axis=1).max()
    assert found.figure < best - 0.1
    assert found.spread[0] <= found.figure <= found.spread[1]


def test_an_unsupported_gain_keeps_todays_setting_in_every_fold() -> None:
    found = validated(scores([TODAY, LUCKY]), policy="supported")
    assert found is not None
    assert (found.figure, found.kept) == (0.5, 1.0)


@pytest.mark.parametrize(
    ("slices", "constraints", "folds"),
    [
        ("s" * 30, (), 10),
        ("s" * 8, (), 8),
        ("s" * 20 + "t" * 4, ("t.mrr >= current",), 4),
        ("s" * 20 + "t" * 4, (), 10),
        ("s" * 20 + "t", ("t.mrr >= current",), 10),
    ],
)
def test_folds_are_as_many_as_the_smallest_named_slice_has_questions(
    slices: str, constraints: tuple[str, ...], folds: int
) -> None:
    table = [[0.5] * len(slices), [0.75] * len(slices)]
    objective = (Objective("s.mrr", "maximize"),)
    found = validated(scores(table, slices), *constraints, objectives=objective)
    assert found is not None
    assert found.n_folds == folds
    assert found.kept == 0, "a constraint that a fold cannot see forbids nothing"


def test_five_questions_cannot_be_cross_validated() -> None:
    assert validated(scores([[0.5] * 5, [1.0] * 5])) is None
    assert validated(scores([[0.5] * 6, [1.0] * 6])) is not None


@pytest.mark.parametrize("policy", ["best", "supported", "dominant"])
def test_a_trial_that_failed_is_picked_in_no_fold(policy: Policy) -> None:
    rows = [[0.5] * 20, [0.75] * 20]
    failed = scores([*rows, [math.nan] * 20])
    assert validated(failed, policy=policy) == validated(scores(rows), policy=policy)
    assert validated(failed, "overall.mrr <= 1", policy=policy) is not None
