"""What a golden set and a pool cannot show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from sweeper.audit import Finding, audit_ages, audit_golden, audit_knobs, audit_pool
from sweeper.golden import GoldenSet
from sweeper.knobs import Value
from sweeper.metrics import parse_metrics
from sweeper.pools import Pool
from tests.builders import document, found, memory, pool_of, query


def texts(findings: Sequence[Finding]) -> str:
    return "\n".join(map(str, findings))


def test_a_finding_names_five_questions_and_counts_the_rest() -> None:
    assert str(Finding("Lost:", ("a", "b"))) == "Lost: a, b."
    assert str(Finding("Lost:", tuple("abcdefg"))) == "Lost: a, b, c, d, e and 2 more."
    assert str(Finding("Odd.")) == "Odd."


def test_slices_below_ten_questions_are_small() -> None:
    golden = GoldenSet(
        tuple(query(["a"], f"q{n}", "big" if n < 10 else "small") for n in range(14))
    )
    said = texts(audit_golden(golden, (), 10))
    assert "slice small has 4 questions: one of them is worth 0.250" in said
    assert "big" not in said


def test_a_cutoff_beyond_the_fewest_rows_returned_is_told() -> None:
    golden = GoldenSet(tuple(query(["a"], f"q{n}") for n in range(10)))
    metrics = tuple(parse_metrics(["recall@5", "recall@6", "mrr"]))
    assert texts(audit_golden(golden, metrics, 5)) == (
        "recall@6 is computed on the 5 rows that the limit returns."
    )


def test_what_no_channel_retrieves_no_setting_can_find() -> None:
    golden = GoldenSet((query(["a"], "q1"), query(["z"], "q2"), query(["a", "z"], "q3")))
    pool = pool_of(
        *(found([document("a", 0.9)], [document("a", 1.0)], q) for q in golden.query_ids)
    )
    said = audit_pool(pool, golden)
    assert [item.query_ids for item in said] == [("q2", "q3")]
    assert "2 questions" in said[0].text


def test_channels_that_never_meet_or_are_empty_are_told() -> None:
    golden = GoldenSet((query(["a"], "q"),))
    apart = pool_of(found([document("a", 0.9)], [document("b", 1.0)]))
    assert "no row is in every channel" in texts(audit_pool(apart, golden))
    alone = pool_of(found([document("a", 0.9)]))
    assert texts(audit_pool(alone, golden)) == (
        "the lexical channel retrieves nothing for any question."
    )


BOTH = pool_of(found([document("a", 0.9), memory("m", 0.4, 3.0)], [document("a", 1.0)]))
DOCUMENTS = pool_of(found([document("a", 0.9), document("b", 0.4)], [document("a", 1.0)]))
ALONE = pool_of(found([document("a", 0.9), memory("m", 0.4, 3.0)]))


@pytest.mark.parametrize(
    ("pool", "space", "said"),
    [
        (BOTH, {"recency_half_life_days": (0.0, 7.0)}, ""),
        (
            DOCUMENTS,
            {"recency_half_life_days": (0.0, 7.0)},
            "recency_half_life_days changes nothing",
        ),
        (DOCUMENTS, {"recency_half_life_days": (0.0,)}, ""),
        (BOTH, {"min_similarity": (None, 0.5)}, ""),
        (BOTH, {"min_similarity": (None, 0.4)}, "every cosine is at or above 0.4"),
        (BOTH, {"min_similarity": (None,)}, ""),
        (BOTH, {"rrf_k": (1, 60)}, ""),
        (ALONE, {"rrf_k": (1, 60)}, "rrf_k changes nothing"),
        (ALONE, {"rrf_k": (1,)}, ""),
    ],
)
def test_knobs_that_cannot_change_a_ranking_are_named(
    pool: Pool, space: Mapping[str, Sequence[Value]], said: str
) -> None:
    found_texts = texts(audit_knobs(pool, space))
    assert said in found_texts
    assert bool(said) == bool(found_texts)


def test_odd_ages_are_counted() -> None:
    ages = {"missing": 2, "unparseable": 1, "future": 0}
    pool = Pool.from_candidates(
        [found([document("a", 0.9)])],
        channels=("vector", "lexical"),
        depth=3,
        provenance={"engine": {"ages": ages}},
    )
    assert texts(audit_ages(pool)) == (
        "2 memories have no age; they do not decay.\n"
        "1 memory has an updated_at that is no date; it does not decay."
    )
