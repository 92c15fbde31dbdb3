"""Plateaus, safe intervals and the nearest harmful flip."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sweeper.compare import tally
from sweeper.exact import exact_curve
from sweeper.golden import GoldenSet
from sweeper.knobs import Value
from sweeper.margins import Flip, Interval, Margins, margins_of
from sweeper.metrics import parse_metrics
from sweeper.pools import Pool
from sweeper.replay import Replay
from sweeper.settings import Settings
from tests.builders import document, found, memory, pool_of, query
from tests.property.pools import random_pool

METRICS = parse_metrics(["mrr", "recall@1"])
HALF_LIFE = "recency_half_life_days"


def margins(
    pool: Pool, name: str, value: Value, *expected: str, settings: Settings | None = None
) -> Margins:
    replay = Replay(pool, GoldenSet((query(expected),)))
    base = (settings or Settings(rrf_k=1, limit=3)).with_values({name: value})
    return margins_of(exact_curve(replay, base, name, METRICS), replay, value)


def assert_flip(found: Margins, at: float, upwards: bool, item: str, other: str | None) -> None:
    [flip] = found.flips
    assert flip.at == pytest.approx(at, rel=1e-14)
    assert (flip.upwards, flip.query_id, flip.item_id, flip.other_id) == (upwards, "q", item, other)


def old_and_new() -> Pool:
    """Old is overtaken by the document at 100 / log2(3/2) = 171 days and by new at 90 days."""
    return pool_of(
        found([memory("old", 0.9, 100.0), document("doc@0", 0.8), memory("new", 0.7, 10.0)])
    )


DOC_FALLS = 100 / math.log2(3 / 2)


def test_the_plateau_ends_where_figures_change() -> None:
    found = margins(old_and_new(), HALF_LIFE, 100.0, "old")
    assert found.plateau.low == pytest.approx(90.0)
    assert found.plateau.high == pytest.approx(DOC_FALLS)
    assert not found.plateau.with_point
    assert not found.plateau.is_point


def test_the_safe_interval_goes_on_where_changes_only_help() -> None:
    found = margins(old_and_new(), HALF_LIFE, 100.0, "old")
    assert found.safe.low == pytest.approx(90.0)
    assert found.safe.high == math.inf
    assert found.safe.with_point  # off is as good as a long half-life


def test_the_flip_names_who_falls_behind_whom() -> None:
    found = margins(old_and_new(), HALF_LIFE, 100.0, "old")
    assert_flip(found, 90.0, False, "old", "new")
    assert found.nearest == found.flips[0]


def test_off_belongs_to_the_upper_end_of_the_half_life() -> None:
    found = margins(old_and_new(), HALF_LIFE, 0.0, "old")
    assert found.plateau.low == pytest.approx(DOC_FALLS)
    assert found.plateau.high == math.inf
    assert found.plateau.with_point
    assert_flip(found, DOC_FALLS, False, "old", "doc@0")


def test_off_stands_alone_where_any_decay_parts_a_tie() -> None:
    pool = pool_of(found([memory("old", 0.9, 400.0)], [memory("new", 5.0, 4.0)]))
    found_margins = margins(pool, HALF_LIFE, 0.0, "old", settings=Settings(limit=2))
    assert found_margins.plateau == Interval(None, None, True)
    assert found_margins.plateau.is_point
    assert found_margins.safe == Interval(None, None, True)
    # new rises: nobody is worse off, so only the plateau is a point
    rising = margins(pool, HALF_LIFE, 0.0, "new", settings=Settings(limit=2))
    assert rising.plateau.is_point
    assert not rising.safe.is_point


def test_no_floor_belongs_to_the_lower_end_of_the_floor() -> None:
    pool = pool_of(found([document("a@0", 0.75), document("b@0", 0.25)]))
    found_margins = margins(pool, "min_similarity", None, "b")
    assert found_margins.plateau == Interval(-1.0, 0.25, True)
    assert found_margins.safe == Interval(-1.0, 0.25, True)
    assert found_margins.flips == (Flip(0.25, True, "q", "b@0", None),)


def test_a_floor_at_its_upper_end_is_still_inside() -> None:
    pool = pool_of(found([document("a@0", 0.75), document("b@0", 0.25)]))
    found_margins = margins(pool, "min_similarity", 0.25, "b")
    assert found_margins.plateau.high == found_margins.safe.high == 0.25
    assert found_margins.nearest == Flip(0.25, True, "q", "b@0", None)


def test_a_weight_at_which_rows_tie_belongs_to_neither_side() -> None:
    # One row per channel at rank 1: at equal weights they tie, and insertion order decides.
    pool = pool_of(found([document("v@0", 0.9)], [document("l@0", 3.0)]))
    lexical = margins(pool, "weights.lexical", 1.0, "l", settings=Settings(limit=2))
    assert lexical.plateau.low == pytest.approx(1e-9)
    assert lexical.plateau.high == pytest.approx(1.0)
    vector = margins(pool, "weights.lexical", 1.0, "v", settings=Settings(limit=2))
    assert vector.safe.high == pytest.approx(1.0)
    assert [flip.upwards for flip in vector.flips] == [True]


def test_the_nearest_flip_is_nearest_by_ratio() -> None:
    near, far = Flip(50.0, False, "q", None, None), Flip(400.0, True, "q", None, None)
    interval = Interval(50.0, 400.0, False)
    assert Margins(100.0, interval, interval, (near, far)).nearest == near
    assert Margins(250.0, interval, interval, (near, far)).nearest == far
    assert Margins(250.0, interval, interval, ()).nearest is None


def test_half_lives_at_which_scores_underflow_have_no_margins() -> None:
    found = margins(old_and_new(), HALF_LIFE, 0.05, "old")
    assert found.plateau == found.safe == Interval(0.05, 0.05, False)
    assert found.flips == ()


def test_a_value_that_the_curve_does_not_reach_is_refused() -> None:
    replay = Replay(old_and_new(), GoldenSet((query(["old"]),)))
    curve = exact_curve(replay, Settings(limit=3), "rrf_k", METRICS, highest_k=50)
    with pytest.raises(ValueError, match="from 1 to 50, not at 60"):
        margins_of(curve, replay, 60)


@pytest.mark.parametrize("name", [HALF_LIFE, "min_similarity", "rrf_k", "weights.lexical"])
@pytest.mark.parametrize("seed", range(3))
def test_no_question_gets_worse_inside_and_one_does_beyond(name: str, seed: int) -> None:
    pool, golden = random_pool(seed, n_queries=8, depth=10)
    replay = Replay(pool, golden, compiled=False)
    base = Settings(limit=8, depth=10, min_similarity=0.2, recency_half_life_days=50.0)
    base = base.with_values({"weights.lexical": 0.83})
    curve = exact_curve(replay, base, name, METRICS, highest_k=200)
    margins = margins_of(curve, replay, base.get(name))
    figures = replay.figures([base], METRICS).value[0]

    def at(value: float) -> Settings:
        return base.with_values({name: round(value) if curve.knob.integer else value})

    plateau, safe = margins.plateau, margins.safe
    assert plateau.low is not None
    assert plateau.high is not None
    assert safe.low is not None
    assert safe.high is not None
    step = 1.0 if curve.knob.integer else 0.0
    for low, high in ((plateau.low, plateau.high), (safe.low, safe.high)):
        for share in (1e-6, 0.3, 0.7, 1 - 1e-6):
            value = low + share * (min(high, 1e6) - low)
            if curve.knob.integer:
                value = min(max(math.ceil(low), round(value)), math.floor(high))
            if (low, high) == (plateau.low, plateau.high):
                np.testing.assert_array_equal(
                    replay.figures([at(value)], METRICS).value[0], figures
                )
            positions = replay.positions([base, at(value)])
            assert tally(positions, METRICS, 0)[1].worse == 0
            assert tally(positions, METRICS, 0)[1].mixed == 0
    for flip in margins.flips:
        beyond = flip.at + (1 if flip.upwards else -1) * max(step / 2, 1e-7 * abs(flip.at))
        lost = replay.positions([base, at(beyond)])
        number = replay.judgments.query_ids.index(flip.query_id)
        worse = [metric.values(lost)[1] < metric.values(lost)[0] for metric in METRICS]
        assert any(bool(part[number]) for part in worse), flip
    assert margins.flips
