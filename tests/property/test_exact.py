"""The exact curve equals the replay inside every cell: each question, each figure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeper.evaluate import evaluate
from sweeper.exact import exact_curve
from sweeper.golden import GoldenSet
from sweeper.knobs import TRIPLES, Value
from sweeper.metrics import parse_metrics
from sweeper.pools import FloatArray, Pool
from sweeper.ranking import rank_captured
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.staircase import Curve
from tests.property.pools import CLASSES, pools, random_pool, settings_for

METRICS = parse_metrics(["recall@2", "mrr", "ndcg@3", "citation_precision", "abstention"])
SMALLEST = 1e-280
"""Days. Half-lives near the end of what doubles can hold are not tried."""
NARROW = 1e-10
NEAR_END = 1e-9
ROUNDING = 1e-12
"""Relative. Ages, half-lives and products round by 7e-14 at most at 900 half-lives."""


@dataclass
class Tally:
    """What was compared; ``forgiven`` are questions at values where rounding alone decides."""

    compared: int = 0
    forgiven: int = 0
    unsettled: int = 0
    cells: int = 0


def values_inside(curve: Curve, cell: int) -> list[float]:
    """Return values to try in a cell: its middle, and near both ends."""
    low, high = curve.bounds(cell)
    if curve.knob.name == "rrf_k":
        first, last = math.ceil(low), math.floor(high)
        return [float(k) for k in dict.fromkeys((first, (first + last) // 2, last))]
    if curve.knob.name == "min_similarity":  # no arithmetic, so the very ends
        if low == high:
            return [low]
        return [float(np.nextafter(low, math.inf)), curve.middle(cell), high]
    if math.isinf(high):
        tried = [low * (1 + NEAR_END), low * 2, low * 1000, 1e-3, 1e4]
    elif low == 0:
        tried = [high / 3, high / 2, high * (1 - NEAR_END)]
    elif high <= low * (1 + NARROW):
        tried = []
    else:
        tried = [low * (1 + NEAR_END), curve.middle(cell), high * (1 - NEAR_END)]
    return [value for value in tried if max(low, SMALLEST) < value < high]


def is_promised(curve: Curve, cell: int) -> bool:
    return curve.underflow is None or curve.bounds(cell)[0] != curve.underflow[0]


def outcomes(
    replay: Replay, choices: Sequence[Settings]
) -> Iterator[tuple[FloatArray, FloatArray]]:
    """Yield each question's metrics, and the figures, of each setting.

    Two settings at a time, because three half-lives would be replayed by lines.
    """
    for start in range(0, len(choices), 2):
        positions = replay.positions(choices[start : start + 2])
        figures = evaluate(positions, METRICS).value
        values = np.full((len(positions), positions.judgments.n_queries, len(METRICS)), np.nan)
        for place, metric in enumerate(METRICS):
            values[:, metric.queries(positions.judgments), place] = metric.values(positions)
        yield from zip(values, figures, strict=True)


def rounding_decides(replay: Replay, choice: Settings, query: int) -> bool:
    """Return whether an expected row's score equals another's but for rounding."""
    question = replay.golden.queries[query]
    own = choice.for_class(question.query_class)
    uncut = own.with_values({"depth": own.effective_depth, "limit": 10_000})
    rows = rank_captured(replay.pool, question, uncut)
    return any(
        0 < abs(one.score - other.score) <= ROUNDING * max(one.score, other.score)
        or (one.score == other.score and one.age_days != other.age_days)
        for one in rows
        for other in rows
        if one.key in question.expected and one is not other
    )


def compare(curve: Curve, replay: Replay, seen: Tally) -> None:
    """Compare a curve with replays of single settings, which products decide."""
    tried: list[tuple[int, float]] = [
        (cell, value)
        for cell in range(len(curve.edges) + 1)
        if is_promised(curve, cell)
        for value in values_inside(curve, cell)
    ]
    typed: list[Value] = [int(v) if curve.knob.integer else v for _, v in tried]
    choices = [curve.settings.with_values({curve.knob.name: value}) for value in typed]
    for (cell, value), choice, (expected, figures) in zip(
        tried, choices, outcomes(replay, choices), strict=True
    ):
        assert curve.cell(value) == cell
        excused = set(curve.unsettled)
        seen.compared += len(expected)
        seen.unsettled += len(excused)
        # Pieces begin above the half-lives at which scores underflow.
        if curve.underflow is None or value > curve.underflow[1]:
            number = curve.pieces.at(value, right_closed=curve.right_closed)
            for query, (ours, theirs) in enumerate(
                zip(curve.pieces.values[number], expected, strict=True)
            ):
                if query in excused or np.array_equal(ours, theirs, equal_nan=True):
                    continue
                assert rounding_decides(replay, choice, query), (choice, query, ours, theirs)
                seen.forgiven += 1
                excused.add(query)
        groups = set(range(len(curve.groups)))
        if excused:
            groups -= {len(groups) - 1, *(int(replay.judgments.slice_of[q]) for q in excused)}
        for group in groups:
            np.testing.assert_array_equal(curve.value[cell, group], figures[group], str(choice))
    seen.cells += len(tried)
    for value_apart, apart in curve.points:
        choice = curve.settings.with_values({curve.knob.name: value_apart})
        [(_, expected)] = outcomes(replay, [choice])
        np.testing.assert_array_equal(apart, expected)
        assert curve.at(value_apart) is apart


def knobs_of(pool: Pool) -> Iterator[str]:
    yield from ("recency_half_life_days", "min_similarity", "rrf_k")
    yield from (f"weights.{channel}" for channel in pool.channels)
    yield from (f"routing.{c}.weights.{channel}" for c in CLASSES for channel in pool.channels)


def compare_knob(name: str, pool: Pool, golden: GoldenSet, choice: Settings, seen: Tally) -> None:
    replay = Replay(pool, golden, compiled=False)
    curve = exact_curve(replay, choice, name, METRICS, highest_k=40)
    assert bool((np.diff(curve.edges[np.abs(curve.edges) > SMALLEST]) > 0).all())
    compare(curve, replay, seen)


def drawn(data: st.DataObject) -> tuple[Pool, GoldenSet, str, Settings]:
    """Draw a pool, its questions, a knob that has a curve there, and the other knobs."""
    pool, golden = data.draw(pools())
    name = data.draw(st.sampled_from(list(knobs_of(pool))))
    choice = data.draw(settings_for(pool))
    if "weights." in name and TRIPLES in pool.channels:  # a safe weight follows the others
        safe = [name for name, weight in choice.routing.items() if weight is None]
        choice = choice.with_values(dict.fromkeys([*safe, f"weights.{TRIPLES}"], 0.5))
    return pool, golden, name, choice


def compare_random_pools(n_pools: int) -> Tally:
    seen = Tally()

    @given(st.data())
    @settings(max_examples=n_pools, deadline=None, suppress_health_check=list(HealthCheck))
    def check(data: st.DataObject) -> None:
        pool, golden, name, choice = drawn(data)
        compare_knob(name, pool, golden, choice, seen)

    check()
    return seen


def assert_few_were_excused(seen: Tally, n_pools: int) -> None:
    assert seen.compared > 3 * n_pools
    assert seen.forgiven <= 0.005 * seen.compared, seen
    assert seen.unsettled <= 0.05 * seen.compared, seen


def replayed(curve: Curve, replay: Replay, value: Value) -> FloatArray:
    [(_, figures)] = outcomes(replay, [curve.settings.with_values({curve.knob.name: value})])
    return figures


def values_around(curve: Curve, rng: np.random.Generator, most: int) -> list[float]:
    """Return values at edges and steps, the next floats, some ulps beyond, and anywhere."""
    ties = np.unique(np.concatenate([curve.edges, curve.steps.at, curve.pieces.start]))
    ties = ties[(ties > max(curve.low, SMALLEST)) & (ties < min(curve.high, 1e280))]
    if len(ties) > most:
        ties = rng.choice(ties, most, replace=False)
    tried = [value for tie in ties.tolist() for value in (tie, *beside(tie))]
    low, high = (-1.0, 1.0) if curve.low < 0 else (-6.0, 6.0)
    anywhere = rng.uniform(low, high, 6)
    tried += (anywhere if curve.low < 0 else 10.0**anywhere).tolist()
    if curve.underflow is not None:
        tried += [bound for end in curve.underflow for bound in (end, *beside(end))]
    return [value for value in tried if curve.low < value < curve.high]


def beside(value: float) -> list[float]:
    found = [float(np.nextafter(value, end)) for end in (-math.inf, math.inf)]
    return found + [value * (1 + ulps * 2.0**-52) for ulps in (-300, -20, -3, 3, 20, 300)]


def assert_exact_at_any_float(
    curve: Curve, replay: Replay, seed: int, most: int = 12
) -> tuple[int, int]:
    """Compare every value with a replay; return how many there were and how many were read off."""
    tried: list[float] = values_around(curve, np.random.default_rng(seed), most)
    if curve.knob.integer:
        tried = sorted({round(value) for value in tried})
    for value in tried:
        told, truth = curve.at(value), replayed(curve, replay, value)
        np.testing.assert_array_equal(told, truth, f"{curve.knob.name}={value!r}")
    return len(tried), sum(not curve.is_doubtful(value) for value in tried)


def check_any_float(n_pools: int) -> None:
    seen = []

    @given(st.data())
    @settings(max_examples=n_pools, deadline=None, suppress_health_check=list(HealthCheck))
    def check(data: st.DataObject) -> None:
        pool, golden, name, choice = drawn(data)
        replay = Replay(pool, golden, compiled=False)
        curve = exact_curve(replay, choice, name, METRICS, highest_k=40)
        seen.append(assert_exact_at_any_float(curve, replay, data.draw(st.integers(0, 99))))

    check()
    tried, read = np.sum(seen, axis=0)
    assert tried > 10 * n_pools / 2
    assert read > tried / 4  # away from edges nothing is replayed


def test_curves_of_any_pool_equal_the_replay_inside_each_cell() -> None:
    assert_few_were_excused(compare_random_pools(120), 120)


@pytest.mark.parametrize("seed", range(4))
def test_curves_of_crowded_pools_equal_the_replay_without_any_excuse(seed: int) -> None:
    pool, golden = random_pool(seed, n_queries=5, depth=8)
    seen = Tally()
    for k, half_life, floor in ((1, 0.0, None), (60, 45.0, 0.3), (60, 0.0, 0.3)):
        choice = Settings(k, floor, half_life, limit=6, depth=8)
        for name in knobs_of(pool):
            compare_knob(name, pool, golden, choice, seen)
    assert seen.forgiven == seen.unsettled == 0
    assert seen.cells > 200


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_curves_equal_the_replay_on_10_000_random_pools(part: int) -> None:
    assert_few_were_excused(compare_random_pools(1000), 1000)


def test_a_curve_is_read_as_a_replay_says_at_any_float() -> None:
    pool, golden = random_pool(0, n_queries=5, depth=8)
    replay = Replay(pool, golden, compiled=False)
    seen = []
    for name in ("recency_half_life_days", "min_similarity", "weights.vector", "weights.lexical"):
        curve = exact_curve(replay, Settings(60, 0.3, 45.0, limit=6, depth=8), name, METRICS)
        seen.append(assert_exact_at_any_float(curve, replay, seed=0, most=5))
    tried, read = np.sum(seen, axis=0)
    assert tried > 100
    assert read > tried / 4  # away from edges nothing is replayed


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_curves_of_5000_pools_are_read_as_a_replay_says_at_any_float(part: int) -> None:
    check_any_float(1250)
