"""How far figures hang on the order of tied rows: cases that can be checked by eye."""

from __future__ import annotations

import pytest

from sweeper.golden import GoldenSet
from sweeper.metrics import parse_metrics
from sweeper.pools import Pool
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.ties import TieBounds, tie_bounds
from tests.builders import document, documents, found, memory, pool_of, query


def bounds(
    pool: Pool, *expected: str, metrics: str = "mrr", settings: Settings | None = None
) -> TieBounds:
    replay = Replay(pool, GoldenSet((query(expected),)))
    return tie_bounds(replay, settings or Settings(limit=5), parse_metrics(metrics.split()))


def span(found: TieBounds, metric: int = 0) -> tuple[float, float]:
    return float(found.lowest[0, metric]), float(found.highest[0, metric])


def test_without_ties_there_is_one_value() -> None:
    result = bounds(pool_of(found(documents("abc"))), "b")
    assert span(result) == (1 / 2, 1 / 2)
    assert result.captured[0, 0] == 1 / 2
    assert not len(result.affected_queries)


def test_twins_in_one_channel_may_stand_in_either_order() -> None:
    twins = [memory("old", 0.5), memory("new", 0.5)]
    result = bounds(pool_of(found(twins)), "new")
    assert span(result) == (1 / 2, 1.0)
    assert result.captured[0, 0] == 1 / 2
    assert result.affected_queries.tolist() == [0]


def test_a_document_and_a_memory_of_one_value_tie_too() -> None:
    result = bounds(pool_of(found([document("d@0", 0.5), memory("m", 0.5)])), "m")
    assert span(result) == (1 / 2, 1.0)


def test_rows_of_equal_score_from_two_channels_tie() -> None:
    # a leads one channel and b the other: 1/61 each.
    result = bounds(pool_of(found(documents("a"), documents("b"))), "b")
    assert span(result) == (1 / 2, 1.0)


def test_which_tied_row_the_depth_cuts_is_open() -> None:
    pool = pool_of(found([document(name, 0.5) for name in "abc"]))
    result = bounds(pool, "c", metrics="mrr recall@2", settings=Settings(limit=2, depth=2))
    assert span(result, 0) == (0.0, 1.0)
    assert span(result, 1) == (0.0, 1.0)


def test_a_tie_of_irrelevant_rows_changes_nothing() -> None:
    pool = pool_of(found([document("a@0", 0.9), *(document(f"{n}@0", 0.5) for n in range(9))]))
    result = bounds(pool, "a")
    assert span(result) == (1.0, 1.0)
    assert result.exact.all()


def test_many_interchangeable_rows_are_not_too_many() -> None:
    # The expected row has one of twenty tied places; which of the others stands where is the same.
    rows = [document(f"{n}@0", 0.5) for n in range(19)]
    pool = pool_of(found([*rows, document("a@0", 0.5)]), depth=20)
    result = bounds(pool, "a", settings=Settings(limit=20))
    assert span(result) == (1 / 20, 1.0)
    assert result.exact.all()


def test_too_many_orders_give_bounds_that_are_named_inexact() -> None:
    # Twelve rows tie in both channels, in distinct pairs of places: 12! orders and more.
    rows = [document(f"{n}@0", 0.5) for n in range(12)]
    ages = [memory(f"m{n}", 0.5, 10.0 * n) for n in range(12)]
    pool = pool_of(found([*rows, *ages], [*ages, *rows]), depth=12)
    settings = Settings(limit=12, recency_half_life_days=400.0)
    result = bounds(pool, "0", "m3", metrics="mrr ap returned", settings=settings)
    assert result.inexact_queries.tolist() == [0]
    assert (result.lowest <= result.captured).all()
    assert (result.captured <= result.highest).all()
    assert result.highest[0].tolist() == [1.0, 1.0, 12.0]


def test_the_worst_order_of_graded_rows_depends_on_the_metric() -> None:
    # a (grade 1, two chunks) and b (grade 3) tie with x. The worst for ndcg puts b last.
    rows = [document(name, 0.5) for name in ("a@0", "a@1", "b@0", "x@0")]
    replay = Replay(
        pool_of(found(rows)), GoldenSet((query(["a", "b"], grades={"a": 1.0, "b": 3.0}),))
    )
    metrics = parse_metrics(["ndcg@4", "recall@2", "ap"])
    result = tie_bounds(replay, Settings(limit=4), metrics)
    ideal = 3 / 1 + 1 / 1.584962500721156
    # x, a, a, b
    worst = 1 / 1.584962500721156 + 3 / 2.321928094887362
    assert result.lowest[0].tolist() == pytest.approx([worst / ideal, 1 / 2, (1 / 2 + 2 / 4) / 2])
    assert result.highest[0].tolist() == [1.0, 1.0, 1.0]


def test_slices_are_means_of_the_bounds_of_their_questions() -> None:
    twins = [memory("x", 0.5), memory("y", 0.5)]
    pool = pool_of(found(twins, query_id="p"), found(documents("ab"), query_id="q"))
    golden = GoldenSet((query(["y"], "p", "one"), query(["b"], "q", "two")))
    result = tie_bounds(Replay(pool, golden), Settings(), parse_metrics(["mrr"]))
    assert result.groups == ("one", "two", "overall")
    assert result.lowest[:, 0].tolist() == [0.5, 0.5, 0.5]
    assert result.highest[:, 0].tolist() == [1.0, 0.5, 0.75]


def test_an_unanswerable_question_has_bounds_where_its_metrics_are_defined() -> None:
    pool = pool_of(found([document("a@0", 0.5)]))
    result = bounds(pool, metrics="mrr abstention", settings=Settings(min_similarity=0.6))
    assert result.lowest[0, 1] == result.highest[0, 1] == 1.0
    assert str(result.lowest[0, 0]) == "nan"
