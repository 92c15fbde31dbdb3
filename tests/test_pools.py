"""Pools: what is refused, what is kept, identity."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sweeper.corpus import Store
from sweeper.pools import Candidate, Pool, QueryCandidates
from tests.builders import document, documents, found, memory, pool_of


def test_candidates_come_back_in_the_engines_order() -> None:
    rows: dict[tuple[str, Store], list[Candidate]] = {
        ("vector", "document"): [document("b@0", 0.5), document("a@0", 0.5)],
        ("vector", "memory"): [memory("m", 0.9, 3.0)],
        ("lexical", "document"): [document("a@0", 7.0)],
    }
    pool = pool_of(QueryCandidates("q", rows))
    back = pool.candidates(0)
    assert back.query_id == "q"
    # Without the ages: a document's is NaN, which equals nothing.
    assert {key: [row[:4] for row in kept] for key, kept in back.rows.items()} == {
        key: [row[:4] for row in kept] for key, kept in rows.items()
    }


def test_ages_come_back_and_documents_have_none() -> None:
    pool = pool_of(found(vector=[document("d", 0.5), memory("m", 0.4, 12.5)]))
    rows = pool.candidates(0).rows
    assert rows["vector", "memory"][0].age_days == 12.5
    assert math.isnan(rows["vector", "document"][0].age_days)


def test_a_query_for_which_nothing_was_retrieved_is_kept() -> None:
    pool = pool_of(
        found(query_id="a"), found(vector=documents("x"), query_id="b"), found(query_id="c")
    )
    assert pool.query_ids == ("a", "b", "c")
    assert len(pool) == 3
    assert pool.n_rows == 1
    assert pool.candidates(0).rows == {}
    assert [row.item_id for row in pool.candidates(1).rows["vector", "document"]] == ["x"]
    assert pool.candidates(2).rows == {}


def test_a_pool_without_queries_is_empty() -> None:
    pool = pool_of()
    assert len(pool) == pool.n_rows == 0


def test_an_item_that_several_queries_hold_is_stored_once() -> None:
    pool = pool_of(
        found(vector=documents("ab"), query_id="1"), found(lexical=documents("ba"), query_id="2")
    )
    assert pool.item_ids == ("a", "b")
    assert pool.n_rows == 4


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ({("vektor", "document"): [document("a", 1)]}, "unknown channel 'vektor'"),
        ({("vector", "document"): documents("abcd")}, "4 rows are more than the depth of 3"),
        ({("vector", "document"): [document("a", 1), document("a", 1)]}, "appears twice"),
        ({("vector", "document"): [document("a", math.nan)]}, "a value is NaN"),
        ({("vector", "document"): [document("a", 1), document("b", 2)]}, "values ascend"),
        ({("vector", "document"): [memory("m", 1)]}, "belongs to the other store"),
        (
            {("vector", "memory"): [memory("m", 1, 3)], ("lexical", "memory"): [memory("m", 1, 4)]},
            "two keys, stores or ages",
        ),
        (
            {
                ("vector", "memory"): [memory("m", 1, 3)],
                ("lexical", "memory"): [memory("m", 1)],
            },
            "two keys, stores or ages",
        ),
        (
            {
                ("vector", "document"): [Candidate("a@0", "a", "document", 1)],
                ("lexical", "document"): [Candidate("a@0", "b", "document", 1)],
            },
            "two keys, stores or ages",
        ),
    ],
)
def test_what_an_engine_may_not_return_is_refused(
    rows: dict[tuple[str, Store], list[Candidate]], sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        pool_of(QueryCandidates("q", rows), depth=3)


def test_a_refusal_names_query_channel_and_store() -> None:
    with pytest.raises(ValueError, match="query 'q', lexical channel, document store: "):
        pool_of(found(lexical=[document("a", 1), document("b", 2)]))


def test_two_queries_may_not_share_an_id() -> None:
    with pytest.raises(ValueError, match="distinct"):
        pool_of(found(query_id="a"), found(query_id="a"))


def test_an_unknown_age_twice_is_one_age() -> None:
    pool = pool_of(found(vector=[memory("m", 1)], lexical=[memory("m", 1)]))
    assert pool.item_ids == ("m",)


def test_the_digest_does_not_depend_on_where_the_rows_came_from() -> None:
    candidates = [found(vector=documents("ab"))]
    one = Pool.from_candidates(candidates, channels=("vector", "lexical"), depth=5)
    two = Pool.from_candidates(
        candidates, channels=("vector", "lexical"), depth=5, provenance={"engine": "other"}
    )
    assert one.digest == two.digest


BASE = found(vector=[document("a", 0.9), document("b", 0.8), memory("m", 0.7, 3.0)])


@pytest.mark.parametrize(
    "other",
    [
        pool_of(found(vector=[document("a", 0.9), document("b", 0.8), memory("m", 0.7, 4.0)])),
        pool_of(found(vector=[document("a", 0.9), document("b", 0.8), memory("m", 0.7)])),
        pool_of(found(vector=[document("a", 0.9), document("b", 0.8), memory("m", 0.6, 3.0)])),
        pool_of(found(vector=[document("b", 0.9), document("a", 0.8), memory("m", 0.7, 3.0)])),
        pool_of(found(lexical=[document("a", 0.9), document("b", 0.8), memory("m", 0.7, 3.0)])),
        pool_of(found(vector=[document("a", 0.9), document("b", 0.8)])),
        pool_of(BASE, depth=11),
        pool_of(QueryCandidates("r", BASE.rows)),
        pool_of(BASE, found(query_id="more")),
        Pool.from_candidates([BASE], channels=("lexical", "vector"), depth=10),
        pool_of(
            found(
                vector=[
                    Candidate("a", "key", "document", 0.9),
                    document("b", 0.8),
                    memory("m", 0.7, 3.0),
                ]
            )
        ),
    ],
)
def test_the_digest_changes_with_everything_that_can_change_a_ranking(other: Pool) -> None:
    assert pool_of(BASE).digest != other.digest


def test_texts_cannot_flow_into_each_other_in_the_digest() -> None:
    one = pool_of(found(query_id="ab"), found(query_id="c"))
    two = pool_of(found(query_id="a"), found(query_id="bc"))
    assert one.digest != two.digest


def test_the_bits_of_a_missing_age_do_not_count() -> None:
    other_nan = float(np.array([0x7FF8000000000001], np.uint64).view(np.float64)[0])
    one = pool_of(found(vector=[memory("m", 0.5, math.nan)]))
    two = pool_of(found(vector=[memory("m", 0.5, other_nan)]))
    assert one.digest == two.digest


def test_a_pool_ages_with_unchanged_content() -> None:
    pool = pool_of(found(vector=[memory("m", 0.9, 3.0), memory("n", 0.8)]))
    later = pool.at(30.0)
    ages = [row.age_days for row in later.candidates(0).rows["vector", "memory"]]
    assert ages[0] == 33.0
    assert math.isnan(ages[1])
    assert pool.item_age_days[0] == 3.0
