"""Capture: every query asked once, in order; failures name their query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from sweeper.capture import capture
from sweeper.corpus import Corpus, Entry
from sweeper.embedders import HashEmbedder
from sweeper.engines.embedded import EmbeddedEngine
from sweeper.errors import EngineError, InputError
from sweeper.golden import GoldenSet, ItemId, Query
from sweeper.pools import Candidate, QueryCandidates, asked_mark
from sweeper.settings import Settings

GOLDEN = GoldenSet(tuple(Query(f"q{n}", "s", f"text {n}", ("a",)) for n in range(7)))

Answer = Callable[[Query], list[Candidate]]


def _one_row(query: Query) -> list[Candidate]:
    return [Candidate("a@0", "a", "document", 0.5)]


class Fake:
    """An engine with one channel that answers as it is told."""

    channels = ("vector",)
    fingerprint = "fake/1"
    knobs = None
    n_threads = 1

    def __init__(self, answer: Answer = _one_row, **provenance: Any) -> None:
        self.answer = answer
        self.provenance: dict[str, Any] = {"kind": "fake", **provenance}
        self.asked: list[list[str]] = []

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        self.asked.append([query.query_id for query in queries])
        return [
            QueryCandidates(q.query_id, {("vector", "document"): self.answer(q)}) for q in queries
        ]

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        raise NotImplementedError

    def close(self) -> None:
        raise AssertionError("capture does not close what it did not open")


def test_every_query_is_asked_once_in_batches() -> None:
    engine = Fake()
    seen: list[tuple[int, int]] = []
    pool = capture(
        GOLDEN, engine, depth=5, batch_size=3, progress=lambda done, n: seen.append((done, n))
    )
    assert engine.asked == [["q0", "q1", "q2"], ["q3", "q4", "q5"], ["q6"]]
    assert seen == [(0, 7), (3, 7), (6, 7), (7, 7)]
    assert pool.query_ids == GOLDEN.query_ids
    assert (pool.depth, pool.n_rows, pool.channels) == (5, 7, ("vector",))


def test_the_size_of_a_batch_changes_nothing() -> None:
    corpus = Corpus(tuple(Entry(f"m{n}", f"text {n % 3} fact", "memory") for n in range(20)))
    digests = set()
    for batch_size in (1, 2, 7, 100):
        with EmbeddedEngine(
            corpus, embedder=HashEmbedder(), as_of=datetime(2026, 11, 1, tzinfo=UTC)
        ) as engine:
            digests.add(capture(GOLDEN, engine, depth=5, batch_size=batch_size).digest)
    assert len(digests) == 1


def test_the_pool_says_where_it_came_from() -> None:
    pool = capture(GOLDEN, Fake(as_of="2026-11-01T00:00:00+00:00"), depth=5)
    assert pool.provenance == {
        "engine": {"kind": "fake", "as_of": "2026-11-01T00:00:00+00:00"},
        "fingerprint": "fake/1",
        "as_of": "2026-11-01T00:00:00+00:00",
        "golden": GOLDEN.digest,
        "asked": [asked_mark(query) for query in GOLDEN.queries],
    }


def test_a_mark_tells_texts_filters_and_users_apart_and_nothing_else() -> None:
    one = Query("q", "s", "text", ("a",), filter={"a": "1", "b": "2"}, user="ada")
    same = Query("other", "t", "text", ("b",), filter={"b": "2", "a": "1"}, user="ada")
    assert asked_mark(one) == asked_mark(same)
    others = [
        Query("q", "s", "Text", ("a",), filter=one.filter, user="ada"),
        Query("q", "s", "text", ("a",), filter={"a": "1"}, user="ada"),
        Query("q", "s", "text", ("a",), filter=one.filter),
        Query("q", "s", "text", ("a",), filter=one.filter, user="None"),
    ]
    assert len({asked_mark(query) for query in [one, *others]}) == 5


def test_an_empty_golden_set_gives_an_empty_pool() -> None:
    pool = capture(GoldenSet(()), Fake(), depth=5)
    assert (len(pool), pool.n_rows) == (0, 0)


def _fail_at(query_id: str, error: Exception) -> Answer:
    def answer(query: Query) -> list[Candidate]:
        if query.query_id == query_id:
            raise error
        return _one_row(query)

    return answer


def test_a_query_that_the_engine_cannot_answer_is_named() -> None:
    engine = Fake(_fail_at("q4", EngineError("the server said no")))
    with pytest.raises(EngineError, match=r"question 'q4' \('text 4'\): the server said no"):
        capture(GOLDEN, engine, depth=5)


def test_an_input_error_passes_through_at_once() -> None:
    engine = Fake(_fail_at("q4", InputError("an extra is missing.")))
    with pytest.raises(InputError, match=r"^an extra is missing\.$"):
        capture(GOLDEN, engine, depth=5)
    assert len(engine.asked) == 1, "no question is asked again"


@pytest.mark.parametrize("error", [ZeroDivisionError("bug"), ValueError("bug")])
def test_a_crash_of_an_engine_keeps_its_kind_and_names_the_query(error: Exception) -> None:
    with pytest.raises(type(error), match="bug") as caught:
        capture(GOLDEN, Fake(_fail_at("q4", error)), depth=5)
    assert caught.value.__notes__ == ["while asking question 'q4' ('text 4')"]


def test_a_failure_of_a_batch_alone_is_got_past() -> None:
    class Choosy(Fake):
        def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
            if len(queries) > 1:
                raise EngineError("too many at once")
            return super().candidates(queries, depth)

    assert len(capture(GOLDEN, Choosy(), depth=5)) == 7


def test_answers_to_other_queries_are_refused() -> None:
    class Confused(Fake):
        def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
            return super().candidates(queries, depth)[::-1]

    with pytest.raises(EngineError, match="do not belong to them in order"):
        capture(GOLDEN, Confused(), depth=5)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([Candidate("a", "a", "document", float("nan"))], "'q0'.* a value is NaN"),
        ([Candidate("a", "a", "document", 0.1), Candidate("b", "b", "document", 0.2)], "ascend"),
        ([Candidate("a", "a", "document", 0.1)] * 2, "appears twice"),
        ([Candidate(str(n), "a", "document", 0.1) for n in range(9)], "more than the depth of 5"),
        ([Candidate("a", "a", "memory", 0.1)], "belongs to the other store"),
    ],
)
def test_rows_that_break_the_promise_of_an_engine_are_refused(
    rows: list[Candidate], message: str
) -> None:
    with pytest.raises(EngineError, match=f"broke its promise: .*{message}"):
        capture(GOLDEN, Fake(lambda query: rows), depth=5)


@pytest.mark.parametrize("options", [{"depth": 0}, {"depth": 5, "batch_size": 0}])
def test_sizes_below_one_are_refused(options: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must be at least 1, got 0"):
        capture(GOLDEN, Fake(), **options)  # type: ignore[arg-type]
