"""A choice, and its cross-validation, equal a plain loop over folds, trials and questions."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.constraints import Constraint, Objective, parse_constraint
from sweeper.cross_validation import CrossValidated, cross_validate
from sweeper.metrics import parse_metric
from sweeper.recommend import Policy, choose
from sweeper.scores import Scores

SHARES = (0.0, 0.1, 0.25, 1 / 3, 0.5, 2 / 3, 0.7, 1.0)
METRICS = {"mrr": SHARES, "recall@5": SHARES, "returned": (0.0, 3.0, 8.0, 9.0)}
SPARED = st.sampled_from([0.0, 0.5, 0.9])
SEED = 5


@dataclass(frozen=True)
class Case:
    """What there is to choose among, and by what."""

    scores: Scores
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    current: int
    preference: list[tuple[float, ...]]

    @property
    def addresses(self) -> list[str]:
        named = [item.address for item in self.objectives]
        return named + [item.address for item in self.constraints]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    n_trials, n_questions = draw(st.integers(1, 7)), draw(st.integers(6, 40))
    slices = ("s", "t", "u")[: draw(st.integers(1, 3))]
    current, behind = draw(st.integers(0, n_trials - 1)), draw(st.booleans())
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    values = {}
    for name, elements in METRICS.items():
        # Some rows are copies and some values alike, so that trials are equal here and there.
        table = rng.choice(elements, (n_trials, n_questions))
        table = np.where(rng.random(table.shape) < draw(SPARED), table[0], table)
        table = table[rng.integers(0, draw(st.integers(1, n_trials)), n_trials)]
        if behind:
            table[current] = table.min(axis=0)
        table[:, rng.random(n_questions) < draw(st.sampled_from([0.0, 0.1, 0.5]))] = math.nan
        values[name] = table
    address = st.builds(
        "{}.{}".format, st.sampled_from([*slices, "overall"]), st.sampled_from([*METRICS])
    )
    objective = st.builds(Objective, address, st.sampled_from(["maximize", "minimize"]))
    bound = st.sampled_from([">= current", "<= current", ">= current - 0.1", ">= 0.3", "< 5"])
    constraint = st.builds("{} {}".format, address, bound).map(parse_constraint)
    liking = st.lists(st.integers(0, 2).map(float), min_size=n_trials, max_size=n_trials)
    return Case(
        Scores(values, slices, rng.integers(0, len(slices), n_questions).astype(np.intp)),
        tuple(draw(st.lists(objective, min_size=1, max_size=2))),
        tuple(draw(st.lists(constraint, max_size=3))),
        current,
        [(one,) for one in draw(liking)],
    )


def defined(scores: Scores, address: str, questions: list[int]) -> list[int]:
    """Return those of some questions that a figure is the mean of."""
    group, _, metric = address.rpartition(".")
    return [
        question
        for question in questions
        if group in ("overall", scores.slices[scores.slice_of[question]])
        and not all(math.isnan(row[question]) for row in scores.values[metric].tolist())
    ]


def figures(scores: Scores, address: str, questions: list[int]) -> list[float]:
    table = scores.values[address.rpartition(".")[2]].tolist()
    own = defined(scores, address, questions)
    return [math.fsum(row[q] for q in own) / len(own) if own else math.nan for row in table]


def p_values(case: Case, questions: list[int], n_permutations: int) -> list[float]:
    """Return the max-T test's p-value of every trial, each with its own statistics."""
    first = case.objectives[0]
    table = case.scores.values[first.address.rpartition(".")[2]]
    gain = table[:, defined(case.scores, first.address, questions)]
    gain = (gain - gain[case.current]) * (1 if first.direction == "maximize" else -1)
    gain = gain[:, (gain != 0).any(axis=0)]
    if not gain.size:
        return [1.0] * len(table)
    signs = np.random.default_rng(SEED).choice([-1.0, 1.0], size=(n_permutations, gain.shape[1]))
    moving = [row for row in gain if row.any()]
    by_luck = np.max([signs @ row / math.sqrt(row @ row) for row in moving], axis=0)
    found = []
    for row in gain:
        own = row.sum() / math.sqrt(row @ row) if row.any() else -math.inf
        reached = n_permutations if not row.any() else int((by_luck >= own - 1e-9).sum())
        found.append((reached + 1) / (n_permutations + 1))
    return found


def unharmed(case: Case, trial: int, questions: list[int]) -> bool:
    """Return whether a trial answers no question worse than today, and some better."""
    better = False
    for name, table in case.scores.values.items():
        for question in questions if parse_metric(name).larger_is_better else []:
            now, then = table[trial, question], table[case.current, question]
            if now < then:
                return False
            better |= bool(now > then)
    return better


def chosen(case: Case, policy: Policy, questions: list[int], n_permutations: int) -> list[int]:
    """Return the equal trials that a policy chooses among by some questions."""
    scores, current, trials = case.scores, case.current, range(case.scores.n_trials)
    allowed = list(trials)
    for bound in case.constraints:
        figure = figures(scores, bound.address, questions)
        allowed = [n for n in allowed if bound.holds(figure[n], figure[current])]
    if policy == "supported":
        p_value = p_values(case, questions, n_permutations)
        allowed = [n for n in allowed if p_value[n] <= 0.05]
    if policy == "dominant":
        allowed = [n for n in allowed if unharmed(case, n, questions)]
    own = [figures(scores, item.address, questions) for item in case.objectives]
    gains = {
        n: tuple(item.gain(own[m][n]) for m, item in enumerate(case.objectives))
        for n in allowed
        if not math.isnan(own[0][n])
    }
    best = [n for n in gains if gains[n] == max(gains.values())]
    return [current] if current in best else sorted(best, key=lambda n: (case.preference[n], n))


def plainly_validated(case: Case, policy: Policy, n_repeats: int) -> CrossValidated | None:
    scores, first, current = case.scores, case.objectives[0], case.current
    everything = list(range(len(scores.slice_of)))
    addresses = case.addresses
    sizes = [len(defined(scores, address, everything)) for address in addresses]
    if min(sizes[: len(case.objectives)]) < 6:
        return None
    n_folds = max(2, min(10, *(size for size in sizes if size > 1)))
    table = scores.values[first.address.rpartition(".")[2]]
    judged = defined(scores, first.address, everything)
    means, kept = [], 0
    for repeat in range(n_repeats):
        rng, dealt = np.random.default_rng([SEED, repeat]), list[int]()
        for group in sorted(set(scores.slice_of.tolist())):
            dealt += rng.permutation(np.flatnonzero(scores.slice_of == group)).tolist()
        total = 0.0
        for number in range(n_folds):
            held_out = sorted(dealt[number::n_folds])
            seen = [question for question in everything if question not in held_out]
            visible = [c for c in case.constraints if defined(scores, c.address, seen)]
            part = Case(scores, case.objectives, tuple(visible), current, case.preference)
            [trial, *_] = chosen(part, policy, seen, 999) or [current]
            kept += trial == current
            total += float(table[trial, [q for q in held_out if q in judged]].sum())
        means.append(total / len(judged))
    return CrossValidated(
        figure=float(np.mean(means)),
        current=float(table[current, judged].mean()),
        spread=(min(means), max(means)),
        n_folds=n_folds,
        n_repeats=n_repeats,
        kept=kept / (n_folds * n_repeats),
    )


@settings(deadline=None)
@given(case=cases())
def test_a_choice_is_that_of_a_plain_loop(case: Case) -> None:
    everything = list(range(len(case.scores.slice_of)))
    found = choose(
        case.scores,
        case.objectives,
        case.constraints,
        current=case.current,
        preference=case.preference,
        seed=SEED,
        n_permutations=199,
    )
    for policy in get_args(Policy):
        assert list(found.of(policy)) == chosen(case, policy, everything, 199)
    assert found.test.p_value.tolist() == p_values(case, everything, 199)
    for address, figure in found.figures.items():
        expected = figures(case.scores, address, everything)
        assert np.array_equal(figure, expected, equal_nan=True)


@pytest.mark.slow
@pytest.mark.parametrize("policy", get_args(Policy))
@settings(deadline=None, max_examples=60)
@given(case=cases())
def test_cross_validation_is_that_of_a_plain_loop(case: Case, policy: Policy) -> None:
    found = cross_validate(
        case.scores,
        case.objectives,
        case.constraints,
        current=case.current,
        preference=case.preference,
        policy=policy,
        seed=SEED,
        n_repeats=2,
    )
    assert found == plainly_validated(case, policy, n_repeats=2)


@settings(deadline=None)
@given(case=cases(), data=st.data())
def test_figures_of_sets_of_questions_are_the_correctly_rounded_means(
    case: Case, data: st.DataObject
) -> None:
    n_questions = len(case.scores.slice_of)
    sets = data.draw(st.lists(st.sets(st.integers(0, n_questions - 1)), min_size=1, max_size=4))
    member = np.array([[q in own for own in sets] for q in range(n_questions)])
    for address in case.addresses:
        found = case.scores.figures(address, member)
        expected = [figures(case.scores, address, sorted(own)) for own in sets]
        assert np.array_equal(found, np.transpose(expected), equal_nan=True)
