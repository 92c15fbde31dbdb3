"""Laws of the ranking that hold whatever the candidates are."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sweeper.golden import GoldenSet
from sweeper.metrics import parse_metric
from sweeper.pools import Pool, QueryCandidates
from sweeper.ranking import RankedRow, decay_factor, rank
from sweeper.replay import Replay
from sweeper.runs import Judgments, Run
from sweeper.settings import Settings
from tests.builders import found, memory, pool_of, query
from tests.property.pools import FLOORS, HALF_LIVES, pools, settings_for


def ranked(pool: Pool, number: int, choice: Settings) -> list[RankedRow]:
    return rank(pool.candidates(number), choice, channels=pool.channels)


def items(rows: list[RankedRow]) -> list[str]:
    return [row.item_id for row in rows]


@given(st.data(), st.sampled_from([math.exp, math.atan, lambda v: 3 * v - 7, lambda v: v**3]))
@settings(deadline=None)
def test_without_a_floor_fusion_ignores_increasing_rescaling_of_a_channels_values(
    data: st.DataObject, rescale: object
) -> None:
    assert callable(rescale)
    pool, _ = data.draw(pools())
    choice = data.draw(settings_for(pool)).with_values({"min_similarity": None})
    channel = data.draw(st.sampled_from(pool.channels))
    for number in range(len(pool)):
        before = pool.candidates(number)
        after = QueryCandidates(
            before.query_id,
            {
                key: [row._replace(value=rescale(row.value)) for row in rows]
                if key[0] == channel
                else rows
                for key, rows in before.rows.items()
            },
        )
        own = rank(before, choice, channels=pool.channels)
        other = rank(after, choice, channels=pool.channels)
        assert [(row.item_id, row.score, row.ranks) for row in own] == [
            (row.item_id, row.score, row.ranks) for row in other
        ]


@given(st.data(), FLOORS)
@settings(deadline=None)
def test_a_floor_leaves_the_ranks_of_the_surviving_rows_as_they_were(
    data: st.DataObject, floor: float | None
) -> None:
    pool, _ = data.draw(pools(channels=("vector", "lexical")))
    free = data.draw(settings_for(pool)).with_values({"min_similarity": None, "limit": 1000})
    free = free.with_values({"depth": pool.depth, "weights.vector": 1, "weights.lexical": 1})
    for number in range(len(pool)):
        without = {row.item_id: row for row in ranked(pool, number, free)}
        for row in ranked(pool, number, free.with_values({"min_similarity": floor})):
            before = without[row.item_id]
            assert row.ranks.get("lexical") == before.ranks.get("lexical")
            survives = "vector" in before.values and (
                floor is None or before.values["vector"] >= floor
            )
            assert row.ranks.get("vector") == (before.ranks["vector"] if survives else None)


@given(st.data())
@settings(deadline=None)
def test_a_smaller_limit_returns_the_head_of_the_same_list(data: st.DataObject) -> None:
    pool, _ = data.draw(pools())
    choice = data.draw(settings_for(pool)).with_values({"limit": 50, "depth": pool.depth})
    limit = data.draw(st.integers(1, 12))
    for number in range(len(pool)):
        shorter = choice.with_values({"limit": limit})
        assert items(ranked(pool, number, shorter)) == items(ranked(pool, number, choice))[:limit]


@given(st.data())
@settings(deadline=None)
def test_every_candidate_is_returned_once_under_a_high_limit(data: st.DataObject) -> None:
    pool, _ = data.draw(pools())
    choice = Settings(limit=1000, depth=pool.depth)
    for number in range(len(pool)):
        held = {row.item_id for rows in pool.candidates(number).rows.values() for row in rows}
        found = items(ranked(pool, number, choice))
        assert sorted(found) == sorted(held)


@given(st.data())
@settings(deadline=None)
def test_scores_fall_and_no_factor_exceeds_one(data: st.DataObject) -> None:
    pool, _ = data.draw(pools())
    choice = data.draw(settings_for(pool))
    for number in range(len(pool)):
        rows = ranked(pool, number, choice)
        assert all(a.score >= b.score for a, b in itertools.pairwise(rows))
        assert all(0 <= row.factor <= 1 for row in rows)
        assert all(row.score == row.fused * row.factor for row in rows)
        assert [row.position for row in rows] == list(range(1, len(rows) + 1))


@given(st.data())
@settings(deadline=None)
def test_swapping_two_channels_with_their_weights_changes_no_score(data: st.DataObject) -> None:
    pool, _ = data.draw(pools(channels=("one", "two")))
    weights = {name: data.draw(st.sampled_from([0.0, 0.5, 1.0, 2.0])) for name in ("one", "two")}
    choice = Settings(5, None, data.draw(HALF_LIVES), 1000, pool.depth, weights)
    for number in range(len(pool)):
        forward = rank(pool.candidates(number), choice, channels=("one", "two"))
        back = rank(pool.candidates(number), choice, channels=("two", "one"))
        # Addition of two terms commutes; only the order among ties may differ.
        assert {row.item_id: row.score for row in forward} == {
            row.item_id: row.score for row in back
        }


@given(st.floats(0, 1e6), st.floats(0, 1e6), st.floats(1e-3, 1e9))
def test_decay_never_grows_with_age(one: float, two: float, half_life: float) -> None:
    younger, older = sorted((one, two))
    assert decay_factor(older, half_life) <= decay_factor(younger, half_life)


@given(st.floats(0, 1e6), st.floats(1e-3, 1e9), st.floats(1e-3, 1e9))
def test_decay_never_shrinks_with_the_half_life(age: float, one: float, two: float) -> None:
    shorter, longer = sorted((one, two))
    assert decay_factor(age, shorter) <= decay_factor(age, longer)


@given(st.data(), st.floats(0.1, 1000))
@settings(deadline=None)
def test_as_content_ages_equally_memories_of_known_age_keep_their_order(
    data: st.DataObject, days: float
) -> None:
    pool, _ = data.draw(pools())
    assume(all(math.isnan(age) or age >= 0 for age in pool.item_age_days.tolist()))
    choice = Settings(recency_half_life_days=500, limit=1000, depth=pool.depth)
    later = pool.at(days)
    for number in range(len(pool)):
        now = {row.item_id: row for row in ranked(pool, number, choice)}
        then = {row.item_id: row for row in ranked(later, number, choice)}
        for item, row in now.items():
            if row.store == "memory" and not math.isnan(row.age_days):
                expected = row.score * 2 ** (-days / 500)
                assert then[item].score == pytest.approx(expected, rel=1e-12)
            else:
                assert then[item].score == row.score


@given(st.data(), st.integers(1, 8))
@settings(deadline=None)
def test_the_ideal_order_has_an_ndcg_of_one(data: st.DataObject, cutoff: int) -> None:
    _, golden = data.draw(pools())
    ideal = Run(
        {q.query_id: sorted(q.expected, key=lambda key: -q.grade(key)) for q in golden.queries}
    )
    values = parse_metric(f"ndcg@{cutoff}").values(ideal.positions(Judgments(golden)))
    assert values.tolist() == [[pytest.approx(1.0, abs=1e-15)] * values.shape[1]]


@given(st.data())
@settings(deadline=None)
def test_the_order_of_questions_changes_no_figure(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    choice = data.draw(settings_for(pool))
    metrics = [parse_metric(text) for text in ("recall@3", "mrr", "ndcg@3", "ap", "returned")]
    turned = GoldenSet(golden.queries[::-1])
    own = Replay(pool, golden).figures([choice], metrics)
    other = Replay(pool, turned).figures([choice], metrics)
    for group in own.groups:
        for metric in metrics:
            a, b = own.get(f"{group}.{metric}"), other.get(f"{group}.{metric}")
            assert a == b or (math.isnan(a) and math.isnan(b))


TINY = [0.0, 5e-324, 1e-320, 1e-310, 1e-300, 1e-290, 1e-100, 1.0]
HUGE = [1e9, 1e300, 1.7e308]


@given(
    st.lists(st.sampled_from([*TINY, *HUGE]), min_size=2, max_size=6),
    st.lists(st.sampled_from([*TINY, *HUGE]), min_size=3, max_size=8),
    st.sampled_from([1, 60]),
)
@settings(deadline=None)
def test_extreme_ages_and_half_lives_are_replayed_as_they_are_ranked(
    ages: list[float], half_lives: list[float], rrf_k: int
) -> None:
    rows = [memory(f"m{n}", 1 - n / 10, age) for n, age in enumerate(ages)]
    pool = pool_of(found(vector=rows, lexical=rows[::2]), depth=10)
    golden = GoldenSet((query([row.key for row in rows]),))
    choices = [Settings(rrf_k, recency_half_life_days=h) for h in half_lives]
    positions = Replay(pool, golden).positions(choices).first()
    for choice, own in zip(choices, positions.tolist(), strict=True):
        order = items(ranked(pool, 0, choice))
        assert own == [order.index(row.item_id) + 1 for row in rows]
