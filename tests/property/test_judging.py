"""The judging pool equals what trying every setting of a box shows, on small pools."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sweeper.golden import GoldenSet, Query
from sweeper.judging import Box, judging_pool
from sweeper.pools import VECTOR, Pool
from sweeper.ranking import rank_captured
from sweeper.replay import Replay
from sweeper.settings import Settings
from tests.property.pools import pools


def floors_within(pool: Pool, box: Box) -> list[float | None]:
    """Return floors of which every other in the box cuts as one does."""
    low, high = box.floors
    if high is None:
        return [None]
    vector = [name == VECTOR for name in pool.channels]
    cosines = {float(v) for v, c in zip(pool.row_value, pool.row_channel, strict=True) if vector[c]}
    found = [value for value in cosines if (low is None or value >= low) and value <= high]
    return [low, high, *found]


def half_lives_within(pool: Pool, query: Query, choice: Settings, box: Box) -> Iterator[float]:
    """Yield off and the ends where the box holds them, and one half-life per order of rows."""
    if box.off:
        yield 0.0
    if box.half_lives is None:
        return
    yield from box.half_lives
    low, high = (1 / value for value in reversed(box.half_lives))
    free = choice.with_values({"recency_half_life_days": 0.0, "limit": 1000})
    rows = rank_captured(pool, query, free)
    crossings = {low, high}
    for one, other in itertools.combinations(rows, 2):
        ages = [
            row.age_days if row.store == "memory" and row.age_days > 0 else 0.0
            for row in (one, other)
        ]
        if ages[0] != ages[1]:
            levels = [row.fused * row.prior for row in (one, other)]
            x = math.log2(levels[0] / levels[1]) / (ages[0] - ages[1])
            if low < x < high:
                crossings.add(x)
    for a, b in itertools.pairwise(sorted(crossings)):
        yield 2 / (a + b)


def shown_by_trying(pool: Pool, query: Query, base: Settings, box: Box) -> dict[str, int]:
    """Return every key that some setting of the box returns, with its best position."""
    best: dict[str, int] = {}
    for k in range(box.rrf_k[0], box.rrf_k[1] + 1):
        for floor in floors_within(pool, box):
            own = base.for_class(query.query_class)
            choice = own.with_values({"rrf_k": k, "min_similarity": floor})
            for half_life in half_lives_within(pool, query, choice, box):
                aged = choice.with_values({"recency_half_life_days": half_life})
                rows = rank_captured(pool, query, aged)
                for row in rows:
                    best[row.key] = min(best.get(row.key, row.position), row.position)
    return best


@st.composite
def boxes(draw: st.DrawFn) -> Box:
    first = draw(st.integers(1, 60))
    half_lives = sorted(draw(st.lists(st.sampled_from([7.0, 30.0, 90.0, 1e4]), max_size=2)))
    off = not half_lives or draw(st.booleans())
    floors = draw(
        st.sampled_from([(None, None), (None, 0.3), (None, 1.0), (0.0, 0.5), (0.25, 0.25)])
    )
    return Box(
        (first, first + draw(st.integers(0, 2))),
        floors,
        (half_lives[0], half_lives[-1]) if half_lives else None,
        off,
    )


def compare(pool: Pool, golden: GoldenSet, base: Settings, box: Box) -> int:
    found = judging_pool(Replay(pool, golden, compiled=False), base, box)
    for number, query in enumerate(golden.queries):
        expected = shown_by_trying(pool, query, base, box)
        shown = found.shown[number]
        assert set(shown) == set(expected), (base, box, query)
        assert {key: shown[key] for key in query.expected if key in shown} == {
            key: expected[key] for key in query.expected if key in expected
        }
        assert found.unreachable[number] == tuple(k for k in query.expected if k not in expected)
        assert set(found.unjudged[number]) == set(expected) - set(query.expected)
        first = min((expected[key] for key in query.expected if key in expected), default=0)
        assert found.ceiling[number] == first
    return sum(len(keys) for keys in found.shown)


def compare_random_boxes(n_pools: int) -> int:
    n_shown = 0

    @given(st.data())
    @settings(max_examples=n_pools, deadline=None, suppress_health_check=list(HealthCheck))
    def check(data: st.DataObject) -> None:
        nonlocal n_shown
        pool, golden = data.draw(pools(channels=("vector", "lexical")))
        ages = np.unique(np.append(0.0, np.nan_to_num(pool.item_age_days)))
        assume(bool((np.diff(ages) > 1e-6).all()))  # days; products must tell ages apart
        depth = data.draw(st.integers(1, pool.depth))
        base = Settings(
            limit=data.draw(st.integers(1, 4)),
            depth=depth,
            weights={"lexical": data.draw(st.sampled_from([1.0, 0.5, 0.0]))},
            routing={
                "routing.lookup.budget": data.draw(st.sampled_from([None, 1, 2])),
                "routing.impact.weights.vector": data.draw(st.sampled_from([1.0, 0.0, 2.0])),
            },
            usage={"prior.strength": data.draw(st.sampled_from([0.0, 1.0]))},
        )
        n_shown += compare(pool, golden, base, data.draw(boxes()))

    check()
    return n_shown


def test_the_judging_pool_holds_what_some_setting_shows_and_nothing_else() -> None:
    assert compare_random_boxes(40) > 30


@pytest.mark.slow
def test_the_judging_pool_holds_what_some_setting_shows_on_5_000_pools() -> None:
    assert compare_random_boxes(5000) > 5000
