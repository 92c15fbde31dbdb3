"""For tests of engines and plug-ins: a fake engine, a tiny corpus, and suites to subclass.

An engine keeps its promises (``~sweeper.engines.base.Engine``) if a subclass of a suite passes
under pytest::

    class TestMyEngine(EngineSuite):
        @pytest.fixture
        def engine(self) -> Iterator[Engine]:
            engine = MyEngine(CORPUS, as_of=AS_OF)
            yield engine
            engine.close()

``EngineSuite`` is for engines that show their channels, ``BlackBoxSuite`` for those that only
search. An engine that cannot hold ``CORPUS`` sets ``queries`` and ``filters`` of its own.
``AccessSuite`` is for engines that keep from a question what its user may not see; its fixture is
made over ``RESTRICTED``.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from sweeper.corpus import STORES, Corpus, Entry, Store
from sweeper.engines.base import Engine
from sweeper.errors import EngineError
from sweeper.golden import ItemId, Key, Query
from sweeper.knobs import Value
from sweeper.pools import VECTOR, Candidate, Pool, QueryCandidates
from sweeper.ranking import DEFAULT_CHANNELS, rank
from sweeper.settings import Settings

__all__ = [
    "AS_OF",
    "CORPUS",
    "RESTRICTED",
    "AccessSuite",
    "BlackBoxSuite",
    "EngineSuite",
    "FakeEngine",
]

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
"""The instant from which the ages of ``CORPUS`` count."""

CORPUS = Corpus(
    (
        Entry("m:price", "The pump costs 6.40 USD per unit.", "memory", age_days=3.0),
        Entry(
            "pumps", "# Pumps\nSKU-4711 is a pump.\n\n# Valves\nNo pump.", "document", path="a/x"
        ),
        Entry("m:was", "The pump costs 4.10 USD per unit.", "memory", updated_at="2026-10-02"),
        Entry("valves", "Valves for every pump.", "document", tags={"team": "hydro"}, path="a/y"),
        Entry("m:next", "The pump will cost 7 USD.", "memory", updated_at="2026-12-24T12:00:00Z"),
        Entry("m:odd", "Nobody knows when the valve broke.", "memory", updated_at="long ago"),
        Entry("m:team", "Hydro owns the pump.", "memory", tags={"team": "hydro"}, age_days=400.0),
        Entry("quotes", "O'Reilly's \\ \"pump\" -- 'valve' % _", "document", path="b"),
    )
)
"""Both stores, near-twins, tags, paths, and ages that are known, ahead, or unreadable."""

_PRINCIPALS: Mapping[Key, tuple[str, ...]] = {
    "m:price": ("ada",),
    "m:was": ("board", "ada"),
    "valves": ("board",),
    "m:next": (),
    "m:team": ("ada",),
    "quotes": ("O'Reilly's \\ %s {}",),
}

RESTRICTED = Corpus(
    tuple(replace(e, principals=_PRINCIPALS.get(e.entry_id)) for e in CORPUS.entries)
)
"""The same, but for two public entries, one that nobody may see, and five that some may see."""

_ODD_TEXTS = (
    "",
    " \t\n",
    "zzz-no-such-word",
    "it's \"half a phrase",
    "'; DROP TABLE document; --",
    "%s %(question)s {} \\ \\' | & ! <-> :* (",
    "-pump -valve",
    "the AND or OR not",
    "Überprüfung 温度 😀 e\u0301 \u202e\ufeff",
    "pump\0valve",
    "lone \ud800 surrogate",
    "pump " * 1_000,
    "p" * 10_000,
)


class FakeEngine:
    """Answers from a table, for tests of what asks an engine.

    Parameters
    ----------
    answers
        Text of a query to its rows; any other text finds nothing.
    channels
        Without any it is a black box, which returns keys.
    fails
        Texts of queries that raise ``EngineError``.
    fingerprint
        ``None`` plays a live engine.
    """

    knobs: frozenset[str] | None = None
    n_threads = 1

    def __init__(
        self,
        answers: Mapping[str, Mapping[tuple[str, Store], Sequence[Candidate]]],
        *,
        channels: tuple[str, ...] = DEFAULT_CHANNELS,
        fails: Sequence[str] = (),
        fingerprint: str | None = "fake",
    ) -> None:
        self.channels = channels
        self.fingerprint = fingerprint
        self.asked: list[str] = []
        """Texts in the order in which they were asked."""
        self._answers = answers
        self._fails = frozenset(fails)
        self._closed = False

    @property
    def provenance(self) -> dict[str, Any]:
        return {"kind": "fake"}

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        if depth < 1:
            raise ValueError(f"depth must be at least 1, got {depth}")
        if not self.channels:
            raise EngineError("a black box shows no candidates.")
        return [self._found(query, depth) for query in queries]

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        found = self._found(query, settings.effective_depth)
        rows = rank(found, settings, channels=self.channels or DEFAULT_CHANNELS)
        return [row.item_id if self.channels else row.key for row in rows]

    def close(self) -> None:
        self._closed = True

    def _found(self, query: Query, depth: int) -> QueryCandidates:
        if self._closed:
            raise EngineError("the engine is closed; make a new one.")
        self.asked.append(query.text)
        if query.text in self._fails:
            raise EngineError("told to fail.")
        unknown = sorted(set(query.filter) - {"store"})
        if unknown:
            raise EngineError(f"a fake engine knows no filter {unknown[0]!r}.")
        rows = {
            (channel, store): list(found[:depth])
            for (channel, store), found in self._answers.get(query.text, {}).items()
            if query.filter.get("store", store) == store
        }
        return QueryCandidates(query.query_id, rows)


class _Suite:
    """What every engine promises. A subclass gives the fixture ``engine``, newly made each time."""

    queries: ClassVar[Sequence[str]] = (
        "what does the pump cost per unit",
        "SKU-4711",
        "valves for every pump",
        "pump",
    )
    """Texts that find something."""

    filters: ClassVar[Mapping[tuple[str, str], frozenset[Key]]] = {
        ("team", "hydro"): frozenset({"valves", "m:team"}),
        ("team", "none"): frozenset(),
        ("path", "a/"): frozenset({"pumps", "valves"}),
        ("store", "document"): frozenset({"pumps", "valves", "quotes"}),
        ("store", "memory"): frozenset({"m:price", "m:was", "m:next", "m:odd", "m:team"}),
    }
    """Filter to the keys that pass it; empty if the engine has none."""

    def test_it_has_the_members_of_an_engine(self, engine: Engine) -> None:
        assert isinstance(engine, Engine)
        assert len(set(engine.channels)) == len(engine.channels)
        assert engine.n_threads >= 1
        assert engine.knobs is None or isinstance(engine.knobs, frozenset)

    def test_it_says_what_it_is_in_json(self, engine: Engine) -> None:
        assert engine.fingerprint is None or isinstance(engine.fingerprint, str)
        said = engine.provenance
        assert isinstance(said["kind"], str)
        assert json.loads(json.dumps(said, allow_nan=False)) == said

    def test_it_is_what_it_was_after_it_was_asked(self, engine: Engine) -> None:
        before = (engine.fingerprint, engine.provenance)
        engine.search(_query(self.queries[0]), Settings())
        assert (engine.fingerprint, engine.provenance) == before

    def test_a_search_returns_at_most_the_limit(self, engine: Engine) -> None:
        for text, limit in itertools.product(self.queries, (1, 2, 50)):
            found = engine.search(_query(text), Settings(limit=limit))
            assert len(found) <= limit
            assert all(isinstance(item, str) and item for item in found)

    def test_a_repeated_search_returns_the_same(self, engine: Engine) -> None:
        for text in self.queries:
            assert engine.search(_query(text), Settings()) == engine.search(
                _query(text), Settings()
            )

    def test_odd_questions_are_answered_or_refused(self, engine: Engine) -> None:
        for text in _ODD_TEXTS:
            try:
                found = engine.search(_query(text), Settings(limit=3))
            except EngineError:
                continue
            assert len(found) <= 3

    def test_it_answers_as_before_after_odd_questions(self, engine: Engine) -> None:
        before = engine.search(_query(self.queries[0]), Settings())
        self.test_odd_questions_are_answered_or_refused(engine)
        assert engine.search(_query(self.queries[0]), Settings()) == before

    def test_it_may_be_closed_twice_and_is_closed_then(self, engine: Engine) -> None:
        engine.close()
        engine.close()
        _refuses(lambda: engine.search(_query(self.queries[0]), Settings()))

    def test_it_may_be_closed_after_it_was_asked(self, engine: Engine) -> None:
        engine.search(_query(self.queries[0]), Settings())
        engine.close()
        engine.close()
        _refuses(lambda: engine.search(_query(self.queries[0]), Settings()))


class BlackBoxSuite(_Suite):
    """For an engine that only searches: ``channels`` is empty."""

    def test_it_shows_no_candidates(self, engine: Engine) -> None:
        assert engine.channels == ()
        _refuses(lambda: engine.candidates([_query(self.queries[0])], 10))

    def test_a_filter_keeps_others_out_of_a_search(self, engine: Engine) -> None:
        for (name, value), passing in self.filters.items():
            for text in self.queries:
                found = engine.search(_query(text, {name: value}), Settings())
                assert set(found) <= passing, (name, value, text)


class EngineSuite(_Suite):
    """For an engine that shows its channels, so that settings can be replayed."""

    exact: ClassVar[bool] = True
    """Whether the best rows are found whatever the depth; an approximate index may miss some."""

    space: ClassVar[Mapping[str, Sequence[Value]]] = {
        "rrf_k": (1, 60),
        "min_similarity": (None, 0.2),
        "recency_half_life_days": (0, 30),
        "limit": (2, 10),
        "depth": (None, 8),
        "stores": ("all", "memory"),
        "weights.vector": (1, 0),
        "weights.lexical": (0.5, 0),
    }
    """Knob to values; at every combination the engine's own search must equal the replay."""

    def test_candidates_belong_to_the_queries_in_order(self, engine: Engine) -> None:
        queries = self._queries()
        found = engine.candidates(queries, 3)
        assert [answer.query_id for answer in found] == [query.query_id for query in queries]
        assert engine.candidates([], 3) == []

    def test_the_usual_questions_find_something_in_every_channel(self, engine: Engine) -> None:
        found = engine.candidates(self._queries(), 10)
        for channel in engine.channels:
            assert any(answer.rows.get((channel, s)) for answer in found for s in STORES), channel

    def test_candidates_stand_best_first_at_most_depth_of_them(self, engine: Engine) -> None:
        for depth in (1, 2, 50):
            found = engine.candidates(self._queries(), depth)
            # Refuses NaN, ascending values, repeated items, lists too long, channels unknown.
            Pool.from_candidates(found, channels=engine.channels, depth=depth)
            for answer in found:
                for (channel, _), rows in answer.rows.items():
                    assert all(math.isfinite(row.value) for row in rows)
                    assert channel != VECTOR or all(abs(row.value) <= 1 + 1e-6 for row in rows)

    def test_a_repeated_question_finds_the_same(self, engine: Engine) -> None:
        first = engine.candidates(self._queries(), 10)
        assert _plain(first) == _plain(engine.candidates(self._queries(), 10))

    def test_questions_asked_alone_find_what_they_find_together(self, engine: Engine) -> None:
        together = engine.candidates(self._queries(), 10)
        alone = [engine.candidates([query], 10)[0] for query in self._queries()]
        assert _plain(alone) == _plain(together)

    def test_a_deeper_capture_begins_with_the_shallower(self, engine: Engine) -> None:
        if not self.exact:
            return
        shallow, deep = (_plain(engine.candidates(self._queries(), depth)) for depth in (2, 50))
        for place, rows in shallow.items():
            assert deep[place][: len(rows)] == rows
            assert len(rows) == min(2, len(deep[place]))

    def test_a_filter_keeps_others_out_and_lets_all_of_its_own_in(self, engine: Engine) -> None:
        for (name, value), passing in self.filters.items():
            for text in self.queries:
                [found] = engine.candidates([_query(text, {name: value})], 50)
                [all_rows] = engine.candidates([_query(text)], 50)
                for place, rows in _plain([all_rows]).items():
                    wanted = [row for row in rows if row[1] in passing]
                    got = _plain([found]).get(place, [])
                    if self.exact:
                        assert got == wanted, (name, value, text, place)
                    assert {row[1] for row in got} <= passing, (name, value, text, place)

    def test_odd_questions_find_well_formed_candidates_or_are_refused(self, engine: Engine) -> None:
        for text in _ODD_TEXTS:
            try:
                found = engine.candidates([_query(text)], 5)
            except EngineError:
                continue
            Pool.from_candidates(found, channels=engine.channels, depth=5)

    def test_its_own_search_equals_the_replay_of_its_candidates(self, engine: Engine) -> None:
        combinations = itertools.product(*self.space.values())
        grid = [Settings().with_values(dict(zip(self.space, c, strict=True))) for c in combinations]
        for query in self._queries():
            [found] = engine.candidates([query], max(s.effective_depth for s in grid))
            for settings in grid:
                replayed = rank(found, settings, channels=engine.channels)
                own = engine.search(query, settings)
                assert own == [row.item_id for row in replayed], (query.text, settings.text)

    def test_no_candidates_come_after_it_is_closed(self, engine: Engine) -> None:
        engine.close()
        _refuses(lambda: engine.candidates(self._queries(), 10))

    def _queries(self) -> list[Query]:
        return [_query(text) for text in self.queries]


class AccessSuite:
    """For an engine that applies a question's user. Its fixture ``engine`` holds RESTRICTED."""

    queries: ClassVar[Sequence[str]] = (*_Suite.queries, *(e.text for e in RESTRICTED.entries))

    exact: ClassVar[bool] = True
    """Whether the best rows are found whatever the depth; an approximate index may miss some."""

    visible: ClassVar[Mapping[str | None, frozenset[Key]]] = {
        None: frozenset({"pumps", "m:odd"}),
        "ada": frozenset({"pumps", "m:odd", "m:price", "m:was", "m:team"}),
        "board": frozenset({"pumps", "m:odd", "m:was", "valves"}),
        "O'Reilly's \\ %s {}": frozenset({"pumps", "m:odd", "quotes"}),
        **dict.fromkeys(
            ("", "Ada", "ada ", "a%", "*", "ada,board", "' OR true --", "ada\0", "\ud800"),
            frozenset({"pumps", "m:odd"}),
        ),
    }
    """User to the keys that it may see."""

    def test_what_a_user_may_not_see_is_no_candidate(self, engine: Engine) -> None:
        for user, keys in self.visible.items():
            for wanted in ({}, *({name: value} for name, value in _Suite.filters)):
                asked = [_query(text, wanted, user) for text in _Suite.queries]
                for depth in (1, 2, 50) if engine.channels else ():
                    for answer in engine.candidates(asked, depth):
                        found = {row.key for rows in answer.rows.values() for row in rows}
                        assert found <= keys, (user, answer.query_id, wanted, depth)

    def test_it_takes_no_slot_and_no_rank(self, engine: Engine) -> None:
        if not engine.channels or not self.exact:
            return
        for user in self.visible:
            asked = [_query(text, user=user) for text in self.queries]
            whole = _plain(engine.candidates(asked, 50))
            for depth in (1, 2):
                cut = _plain(engine.candidates(asked, depth))
                assert cut == {place: rows[:depth] for place, rows in whole.items()}, user

    def test_a_search_returns_nothing_of_it(self, engine: Engine) -> None:
        for (user, keys), text, limit in itertools.product(
            self.visible.items(), _Suite.queries, (2, 50)
        ):
            asked, settings = _query(text, user=user), Settings(limit=limit, depth=50)
            items = engine.search(asked, settings)
            if engine.channels:
                [found] = engine.candidates([asked], 50)
                ranked = rank(found, settings, channels=engine.channels)
                assert items == [row.item_id for row in ranked], (user, text, limit)
            assert {item.rpartition("@")[0] or item for item in items} <= keys, (user, text)

    def test_what_all_may_see_and_what_only_some_may_is_found(self, engine: Engine) -> None:
        for user, keys in self.visible.items():
            found: set[Key] = set()
            for text in self.queries:
                items = engine.search(_query(text, user=user), Settings(limit=50, depth=50))
                found |= {item.rpartition("@")[0] or item for item in items}
            assert found == keys, user


def _query(text: str, wanted: Mapping[str, str] | None = None, user: str | None = None) -> Query:
    return Query(f"q-{text[:40]}", "suite", text, (), filter=dict(wanted or {}), user=user)


def _plain(
    found: Sequence[QueryCandidates],
) -> dict[tuple[str, str, Store], list[tuple[ItemId, Key, float, float | None]]]:
    """Return rows that compare equal: an unknown age is ``None``, which NaN is not to itself."""
    return {
        (answer.query_id, channel, store): [
            (row.item_id, row.key, row.value, None if math.isnan(row.age_days) else row.age_days)
            for row in rows
        ]
        for answer in found
        for (channel, store), rows in answer.rows.items()
    }


def _refuses(ask: Callable[[], object]) -> None:
    try:
        ask()
    except EngineError:
        return
    raise AssertionError("no EngineError was raised")
