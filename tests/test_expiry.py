"""How long a setting holds while its content grows old."""

from __future__ import annotations

import math

import pytest

from sweeper.expiry import Expiry, expiry_of
from sweeper.golden import GoldenSet
from sweeper.metrics import parse_metrics
from sweeper.pools import Pool
from sweeper.replay import Replay
from sweeper.settings import Settings
from tests.builders import document, found, memory, pool_of, query

METRICS = parse_metrics(["mrr"])


def expiry(pool: Pool, *expected: str, half_life: float = 30.0, rrf_k: int = 1) -> Expiry:
    settings = Settings(rrf_k=rrf_k, recency_half_life_days=half_life, limit=3)
    return expiry_of(Replay(pool, GoldenSet((query(expected),))), settings, METRICS)


def test_a_memory_falls_behind_a_document_at_a_date_that_can_be_worked_out() -> None:
    # 1/2 * 2^(-(a + t)/30) = 1/4 at a + t = 30: with a = 12 that is 18 days from now.
    pool = pool_of(found([memory("m", 0.9, 12.0), document("x@0", 0.8), document("d@0", 0.7)]))
    result = expiry(pool, "m")
    # Against the document at rank 2: 1/2 * 2^(-(12 + t)/30) = 1/3.
    assert result.edges.tolist() == pytest.approx([30 * math.log2(3 / 2) - 12, 18.0])
    assert [result.at(days)[0, 0] for days in (0, 5, 6, 17.9, 18.1)] == [1, 1, 1 / 2, 1 / 2, 1 / 3]
    assert result.first_fall() == (result.edges[0], "s", "mrr")


def test_two_dated_memories_keep_their_order() -> None:
    pool = pool_of(found([memory("a", 0.9, 400.0), memory("b", 0.8, 1.0)]))
    assert not len(expiry(pool, "a").edges)
    assert expiry(pool, "a").first_fall() is None


def test_with_decay_off_nothing_ever_changes() -> None:
    pool = pool_of(found([memory("m", 0.9, 12.0), document("d@0", 0.7)]))
    result = expiry(pool, "m", half_life=0.0)
    assert not len(result.edges)
    assert result.until == math.inf


def test_memories_of_unknown_age_are_named_and_stay() -> None:
    pool = pool_of(found([memory("known", 0.9, 1.0), memory("unknown", 0.8)]))
    result = expiry(pool, "known")
    assert result.undated == ("unknown",)
    assert result.clamped == ()
    assert result.edges.tolist() == pytest.approx([30 * math.log2(3 / 2) - 1])


def test_a_memory_dated_in_the_future_begins_to_decay_on_its_date() -> None:
    # It waits 10 days, then decays for 30 log2(3/2) days until the document passes it.
    pool = pool_of(found([memory("soon", 0.9, -10.0), document("d@0", 0.8)]))
    result = expiry(pool, "soon")
    assert result.clamped == ("soon",)
    assert result.edges.tolist() == pytest.approx([10 + 30 * math.log2(3 / 2)])


def test_a_tie_of_today_is_todays_order_and_parts_at_once() -> None:
    # 1/2 * 2^(-30/30) = 1/4: the memory stands first, being inserted first, but for today only.
    rows = [memory("m", 0.9, 30.0), memory("x", 0.8, 4000.0), document("d@0", 0.7)]
    result = expiry(pool_of(found(rows)), "m")
    assert result.at(0.0)[0, 0] == 1.0
    assert result.at(1e-9)[0, 0] == 1 / 2
    assert result.edges[0] > 0


def test_a_gain_is_not_a_fall() -> None:
    pool = pool_of(found([memory("m", 0.9, 0.0), document("d@0", 0.8)]))
    result = expiry(pool, "d")
    assert result.at(0)[0, 0] == 1 / 2
    assert result.at(365)[0, 0] == 1.0
    assert result.first_fall() is None


def test_until_is_where_the_scores_of_relevant_memories_underflow() -> None:
    pool = pool_of(found([memory("m", 0.9, 12.0), memory("x", 0.8, 5000.0)]))
    assert expiry(pool, "m").until == 900 * 30 - 12
    assert expiry(pool, "nothing").until == math.inf
