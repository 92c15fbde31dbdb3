"""Every engine passes the same suite, and the suite notices an engine that does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from sweeper.corpus import STORES, Chunking, chunk
from sweeper.embedders import HashEmbedder
from sweeper.engines import EmbeddedEngine, Engine
from sweeper.errors import EngineError
from sweeper.golden import ItemId, Query
from sweeper.pools import Candidate, QueryCandidates
from sweeper.settings import Settings
from sweeper.testing import AS_OF, CORPUS, BlackBoxSuite, EngineSuite, FakeEngine

SECTIONS = Chunking("section")


class TestEmbeddedEngine(EngineSuite):
    @pytest.fixture(params=["any", "all"])
    def engine(self, request: pytest.FixtureRequest) -> Iterator[Engine]:
        with EmbeddedEngine(
            CORPUS, embedder=HashEmbedder(), chunking=SECTIONS, match=request.param, as_of=AS_OF
        ) as made:
            yield made


def answers() -> dict[str, Any]:
    """Return for every usual question all items; the last are best in the lexical channel."""
    items = chunk(CORPUS, SECTIONS)
    rows = {
        (channel, store): [
            Candidate(item.item_id, item.key, store, 1 - place / 10)
            for place, item in enumerate(ordered)
            if item.store == store
        ]
        for channel, ordered in (("vector", items), ("lexical", items[::-1]))
        for store in STORES
    }
    return dict.fromkeys(EngineSuite.queries, rows)


STORE_FILTERS = {wanted: k for wanted, k in EngineSuite.filters.items() if wanted[0] == "store"}


class TestFakeEngine(EngineSuite):
    filters = STORE_FILTERS

    @pytest.fixture
    def engine(self) -> Engine:
        return FakeEngine(answers())


class TestFakeBlackBox(BlackBoxSuite):
    filters = STORE_FILTERS

    @pytest.fixture
    def engine(self) -> Engine:
        return FakeEngine(answers(), channels=())


class Faulty(FakeEngine):
    """Breaks one promise."""

    def __init__(self, fault: str) -> None:
        super().__init__(answers())
        self._fault = fault

    @property
    def provenance(self) -> dict[str, Any]:
        odd: Any = float("nan") if self._fault == "nan" else {1}
        return {"kind": "faulty", "odd": odd} if self._fault in {"nan", "set"} else {"kind": "f"}

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        found = super().candidates(queries, 50 if self._fault == "too deep" else depth)
        if self._fault == "worst first":
            found = [
                QueryCandidates(a.query_id, {k: r[::-1] for k, r in a.rows.items()}) for a in found
            ]
        return found[::-1] if self._fault == "out of order" else found

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        if self._fault == "ignores the floor":
            settings = settings.with_values({"min_similarity": None})
        return super().search(query, settings)

    def close(self) -> None:
        if self._fault != "stays open":
            super().close()


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("nan", EngineSuite.test_it_says_what_it_is_in_json),
        ("set", EngineSuite.test_it_says_what_it_is_in_json),
        ("too deep", EngineSuite.test_candidates_stand_best_first_at_most_depth_of_them),
        ("worst first", EngineSuite.test_candidates_stand_best_first_at_most_depth_of_them),
        ("out of order", EngineSuite.test_candidates_belong_to_the_queries_in_order),
        ("ignores the floor", EngineSuite.test_its_own_search_equals_the_replay_of_its_candidates),
        ("stays open", EngineSuite.test_it_may_be_closed_twice_and_is_closed_then),
    ],
)
def test_the_suite_notices_a_broken_promise(fault: str, test: Any) -> None:
    test(TestFakeEngine(), FakeEngine(answers()))
    with pytest.raises((AssertionError, ValueError, TypeError)):
        test(TestFakeEngine(), Faulty(fault))


def test_a_fake_engine_remembers_what_it_was_asked() -> None:
    engine = FakeEngine({}, fails=["b"])
    queries = [Query(text, "s", text, ()) for text in "ab"]
    assert engine.candidates(queries[:1], 5)[0].rows == {}
    with pytest.raises(EngineError, match="told to fail"):
        engine.candidates(queries, 5)
    assert engine.asked == ["a", "a", "b"]
