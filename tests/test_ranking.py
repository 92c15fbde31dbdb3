"""The ranking contract, step by step (``docs/semantics.md``, section 1)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.pools import Candidate, QueryCandidates
from sweeper.ranking import RankedRow, decay_factor, decay_factors, rank
from sweeper.settings import Settings
from tests.builders import document, documents, found, memory
from tests.property.pools import HALF_LIVES


def order(rows: list[RankedRow]) -> str:
    return "".join(row.item_id for row in rows)


def scores(rows: list[RankedRow]) -> dict[str, float]:
    return {row.item_id: row.score for row in rows}


def test_rows_of_two_disjoint_lists_tie_pairwise_and_the_vector_row_comes_first() -> None:
    rows = rank(found(vector=documents("abc"), lexical=documents("xyz")), Settings(rrf_k=60))
    assert order(rows) == "axbycz"
    assert [row.score for row in rows] == [1 / 61, 1 / 61, 1 / 62, 1 / 62, 1 / 63, 1 / 63]


FOURTH_IN_BOTH = found(vector=documents("svwB"), lexical=documents("xyzB"))


@pytest.mark.parametrize(
    ("rrf_k", "expected"),
    [
        (1, "sxB"),  # 2/5 < 1/2
        (2, "sBx"),  # 2/6 = 1/3: insertion order, and B stands in the vector list before x
        (3, "Bsx"),  # 2/7 > 1/4
    ],
)
def test_ranks_4_and_4_overtake_a_single_rank_1_between_rrf_k_1_and_3(
    rrf_k: int, expected: str
) -> None:
    rows = rank(FOURTH_IN_BOTH, Settings(rrf_k=rrf_k))
    assert order(rows)[:3] == expected
    assert scores(rows)["B"] == 1 / (rrf_k + 4) + 1 / (rrf_k + 4)
    assert scores(rows)["s"] == 1 / (rrf_k + 1)


@pytest.mark.parametrize("rrf_k", [1, 2, 60, 10_000])
@pytest.mark.parametrize("weight", [1e-6, 0.5, 1.0, 3.0, 1e6])
@pytest.mark.parametrize("channel", ["vector", "lexical"])
def test_one_channel_alone_depends_on_neither_rrf_k_nor_a_positive_weight(
    channel: str, weight: float, rrf_k: int
) -> None:
    rows = [memory("a", 0.9), document("b", 0.5), memory("c", 0.5), document("d", 0.1)]
    settings = Settings(rrf_k=rrf_k, weights={channel: weight})
    ranked = rank(found(**{channel: rows}), settings)  # type: ignore[arg-type]
    assert order(ranked) == "abcd"
    assert [row.score for row in ranked] == [weight / (rrf_k + place) for place in (1, 2, 3, 4)]


def test_a_chunk_below_the_floor_is_still_found_by_its_exact_token() -> None:
    candidates = found(
        vector=[document("a", 0.9), document("b", 0.1)],
        lexical=[document("c", 7.0), document("b", 5.0)],
    )
    assert order(rank(candidates, Settings())) == "bac"
    rows = rank(candidates, Settings(min_similarity=0.5))
    assert order(rows) == "acb"
    assert scores(rows)["b"] == 1 / 62
    assert rows[2].ranks == {"lexical": 2}
    assert rows[2].values == {"lexical": 5.0}


def test_a_row_that_the_floor_cut_stands_at_its_lexical_place_among_ties() -> None:
    candidates = found(
        vector=[document("a", 0.9), document("b", 0.1)],
        lexical=[memory("m", 3.0, 30), document("x", 2.0), document("b", 1.0)],
    )
    settings = Settings(rrf_k=1, min_similarity=0.5, recency_half_life_days=30)
    rows = rank(candidates, settings)
    # m: 1/(1+1) halved; b: 1/(1+3). Equal, and b's place in the vector list no longer counts.
    assert scores(rows) == {"a": 1 / 2, "x": 1 / 3, "m": 1 / 4, "b": 1 / 4}
    assert order(rows) == "axmb"


def test_the_floor_keeps_a_row_whose_cosine_equals_it() -> None:
    candidates = found(vector=[document("a", 0.5), document("b", math.nextafter(0.5, 0))])
    assert order(rank(candidates, Settings(min_similarity=0.5))) == "a"


def test_a_floor_of_zero_is_not_none() -> None:
    candidates = found(vector=[document("a", 0.0), document("b", -0.1)])
    assert order(rank(candidates, Settings(min_similarity=0))) == "a"
    assert order(rank(candidates, Settings(min_similarity=None))) == "ab"


def test_the_floor_does_not_touch_lexical_rows() -> None:
    candidates = found(lexical=[document("a", 0.01)])
    assert order(rank(candidates, Settings(min_similarity=1))) == "a"


def test_dropped_rows_are_not_refilled_from_below_the_depth() -> None:
    candidates = found(vector=documents("abc"))
    rows = rank(candidates, Settings(min_similarity=0.9, limit=2, depth=2))
    assert order(rows) == "a"


def test_depth_is_taken_per_store_and_channel_before_the_stores_are_merged() -> None:
    candidates = found(
        vector=[document("a", 0.9), document("b", 0.8), memory("m", 0.2), memory("n", 0.1)],
        lexical=[document("c", 9.0), document("d", 8.0)],
    )
    rows = rank(candidates, Settings(limit=10, depth=1))
    assert order(rows) == "acm"
    assert scores(rows)["m"] == 1 / 62


def test_depth_follows_the_limit_unless_it_is_set() -> None:
    candidates = found(vector=documents("abcde"), lexical=documents("edcba"))
    # Two of each: {a, b} and {e, d}, at ranks 1 and 2.
    assert order(rank(candidates, Settings(limit=2))) == "ae"
    # All five meet in the middle under a deep list: every row has ranks (r, 6 - r).
    deep = rank(candidates, Settings(rrf_k=1, limit=2, depth=5))
    assert scores(deep) == {"a": 1 / 2 + 1 / 6, "e": 1 / 6 + 1 / 2}


def test_a_limit_above_the_number_of_candidates_returns_them_all() -> None:
    assert order(rank(found(vector=documents("abc")), Settings(limit=100))) == "abc"


def test_documents_come_first_among_equal_values() -> None:
    candidates = found(vector=[memory("m", 0.5), document("d", 0.5), memory("n", 0.5)])
    assert order(rank(candidates, Settings())) == "dmn"


def test_a_better_memory_stands_before_a_document() -> None:
    candidates = found(vector=[document("d", 0.5), memory("m", 0.6)])
    assert order(rank(candidates, Settings())) == "md"


def test_rows_of_one_store_with_equal_values_keep_the_engines_order() -> None:
    candidates = found(vector=[memory("z", 0.5), memory("a", 0.5), memory("m", 0.5)])
    assert order(rank(candidates, Settings())) == "zam"


def test_a_channel_of_weight_0_is_off_and_what_it_alone_holds_is_no_candidate() -> None:
    candidates = found(vector=documents("ab"), lexical=documents("bc"))
    rows = rank(candidates, Settings(weights={"vector": 0}))
    assert order(rows) == "bc"
    assert rows[0].ranks == {"lexical": 1}
    assert rank(candidates, Settings(weights={"vector": 0, "lexical": 0})) == []


def test_a_channel_of_weight_0_adds_no_insertion_order() -> None:
    candidates = found(vector=documents("yx"), lexical=documents("x"), graph=documents("y"))
    channels = ("vector", "lexical", "graph")
    # x and y are both first in one counted channel; lexical is added before graph.
    rows = rank(candidates, Settings(weights={"vector": 0}), channels=channels)
    assert scores(rows) == {"x": 1 / 61, "y": 1 / 61}
    assert order(rows) == "xy"
    faint = rank(candidates, Settings(weights={"vector": 1e-300}), channels=channels)
    assert order(faint) == "yx"


def test_weights_scale_their_channels_share() -> None:
    candidates = found(vector=documents("ab"), lexical=documents("ba"))
    rows = rank(candidates, Settings(rrf_k=60, weights={"vector": 0.5, "lexical": 2}))
    assert scores(rows) == {"b": 0.5 / 62 + 2 / 61, "a": 0.5 / 61 + 2 / 62}
    assert order(rows) == "ba"


@pytest.mark.parametrize(("rrf_k", "ahead"), [(7, "v35"), (8, "v18"), (41, "v18"), (42, "v35")])
def test_with_weights_two_rows_can_change_places_more_than_once_as_rrf_k_grows(
    rrf_k: int, ahead: str
) -> None:
    # 1.5/(k+18) against 1.5/(k+35) + 0.25/(k+3): equal where k*k - 49k + 324 = 0.
    vector = [document(f"v{place}", 1 - place / 100) for place in range(1, 36)]
    lexical = [document("l1", 3.0), document("l2", 2.0), vector[34]._replace(value=1.0)]
    settings = Settings(rrf_k, limit=40, weights={"vector": 1.5, "lexical": 0.25})
    rows = [row.item_id for row in rank(found(vector=vector, lexical=lexical), settings)]
    assert min(("v18", "v35"), key=rows.index) == ahead


@pytest.mark.parametrize("age", [0.0, -5.0, math.nan])
def test_a_memory_of_no_positive_age_does_not_decay(age: float) -> None:
    rows = rank(found(vector=[memory("m", 0.5, age)]), Settings(recency_half_life_days=1))
    assert rows[0].factor == 1.0
    assert rows[0].score == 1 / 61


def test_a_memory_loses_half_its_score_every_half_life() -> None:
    candidates = found(vector=[memory("a", 0.9, 60), memory("b", 0.8, 30), memory("c", 0.7, 0)])
    rows = rank(candidates, Settings(rrf_k=1, recency_half_life_days=30))
    assert scores(rows) == {"a": 1 / 2 / 4, "b": 1 / 3 / 2, "c": 1 / 4}
    assert order(rows) == "cba"
    assert [(row.fused, row.factor) for row in rows] == [(1 / 4, 1.0), (1 / 3, 0.5), (1 / 2, 0.25)]


def test_documents_never_decay() -> None:
    rows = rank(found(vector=[document("d", 0.5, 999.0)]), Settings(recency_half_life_days=1))
    assert rows[0].score == 1 / 61


def test_a_half_life_of_zero_switches_decay_off() -> None:
    rows = rank(found(vector=[memory("m", 0.5, 999.0)]), Settings(recency_half_life_days=0))
    assert rows[0].factor == 1.0


def test_off_and_a_very_long_half_life_can_differ() -> None:
    candidates = found(vector=[memory("old", 0.9, 300.0)], lexical=[memory("new", 9.0, 3.0)])
    assert [r.item_id for r in rank(candidates, Settings())] == ["old", "new"]
    slow = rank(candidates, Settings(recency_half_life_days=1e9))
    assert [r.item_id for r in slow] == ["new", "old"]


def test_a_row_whose_score_underflows_is_still_returned_in_insertion_order() -> None:
    candidates = found(
        vector=[memory("a", 0.9, 2000.0), memory("b", 0.8, 1500.0), document("d", 0.1)]
    )
    rows = rank(candidates, Settings(recency_half_life_days=1))
    assert scores(rows) == {"d": 1 / 63, "a": 0.0, "b": 0.0}
    assert order(rows) == "dab"


def test_positions_count_from_one_without_gaps() -> None:
    rows = rank(found(vector=documents("abc")), Settings())
    assert [row.position for row in rows] == [1, 2, 3]


def test_a_query_without_candidates_returns_nothing() -> None:
    assert rank(QueryCandidates("q", {}), Settings()) == []


def test_a_channel_that_is_not_named_does_not_count() -> None:
    candidates = found(vector=documents("a"), graph=documents("b"))
    assert order(rank(candidates, Settings())) == "a"


def test_two_chunks_of_a_document_are_two_rows_of_one_key() -> None:
    rows = rank(found(vector=[document("d@0", 0.9), document("d@1", 0.8)]), Settings())
    assert [(row.item_id, row.key) for row in rows] == [("d@0", "d"), ("d@1", "d")]


def test_the_vector_term_is_added_before_the_lexical_one() -> None:
    # 1/61 + 1/62 + 1/63 is one double in this order and another one in the reverse order.
    one = Candidate("c", "c", "document", 0.5)
    filler = documents("xyz")
    candidates = found(
        vector=[one],
        lexical=[filler[0], one._replace(value=0.1)],
        graph=[*filler[:2], one._replace(value=0.1)],
    )
    rows = rank(candidates, Settings(), channels=("vector", "lexical", "graph"))
    assert scores(rows)["c"] == (1 / 61 + 1 / 62) + 1 / 63


@pytest.mark.parametrize(
    ("age", "half_life", "factor"),
    [
        (30.0, 30.0, 1 / 2),
        (90.0, 30.0, 1 / 8),
        (15.0, 30.0, 2.0**-0.5),
        (6.0, 30.0, 2.0**-0.2),
        (0.0, 30.0, 1.0),
        (-1.0, 30.0, 1.0),
        (30.0, 0.0, 1.0),
        (math.nan, 30.0, 1.0),
        (1e300, 1e-300, 0.0),
        (1074.0, 1.0, 2.0**-1074),
        (1076.0, 1.0, 0.0),
    ],
)
def test_the_decay_factor_is_two_to_the_minus_age_over_half_life(
    age: float, half_life: float, factor: float
) -> None:
    assert decay_factor(age, half_life) == factor


@given(
    st.lists(st.floats(-1e3, 1e300) | st.just(math.nan), max_size=20),
    HALF_LIVES | st.floats(0, 1e300),
)
def test_many_decay_factors_are_each_ones_to_the_last_bit(ages: list[float], days: float) -> None:
    wanted = np.array([decay_factor(age, days) for age in ages], np.float64)
    assert decay_factors(np.array(ages, np.float64), days).tobytes() == wanted.tobytes()


def test_an_age_of_so_many_half_lives_that_their_number_overflows_leaves_nothing() -> None:
    assert decay_factors(np.array([0.0, 1e300]), 1e-300).tolist() == [1.0, 0.0]
