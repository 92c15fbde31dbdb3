"""The embedded engine: channels, order, filters, ages, identity, and the web-search language."""

from __future__ import annotations

import dataclasses
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeper.corpus import STORES, Chunking, Corpus, Entry
from sweeper.embedders import HashEmbedder, Vectors, on_grid
from sweeper.engines.base import Engine
from sweeper.engines.dense import DenseIndex, best
from sweeper.engines.embedded import EmbeddedEngine
from sweeper.engines.lexical import LexicalIndex, Match, read_web_query
from sweeper.errors import EngineError, InputError, StorageError
from sweeper.golden import Query
from sweeper.settings import Settings

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)

CORPUS = Corpus(
    (
        Entry("m:pump", "The pump costs 6.40 USD per unit.", "memory", age_days=3.0),
        Entry("pumps", "# Pumps\nSKU-4711 is a pump.\n# Valves\nA valve.", "document", path="a/x"),
        Entry("m:old", "The pump costs 4.10 USD per unit.", "memory", updated_at="2026-10-02"),
        Entry("valves", "Valves for every pump.", "document", tags={"team": "hydro"}, path="a/y"),
    )
)


def _query(text: str, wanted: Mapping[str, str] | None = None) -> Query:
    return Query("q", "s", text, (), filter=wanted or {})


def _engine(corpus: Corpus = CORPUS, **options: Any) -> EmbeddedEngine:
    return EmbeddedEngine(corpus, **{"embedder": HashEmbedder(), "as_of": AS_OF, **options})


def _found(engine: EmbeddedEngine, query: Query, depth: int = 10) -> dict[str, list[str]]:
    [candidates] = engine.candidates([query], depth)
    return {
        f"{channel}.{store}": [row.item_id for row in candidates.rows[channel, store]]
        for channel in engine.channels
        for store in STORES
    }


def test_it_keeps_the_protocol_of_an_engine() -> None:
    with _engine() as engine:
        assert isinstance(engine, Engine)
        assert engine.channels == ("vector", "lexical")


def test_each_channel_answers_for_each_store() -> None:
    with _engine() as engine:
        found = _found(engine, _query("pump SKU-4711"))
    assert found["vector.document"][0] == "pumps@0"
    assert sorted(found["vector.memory"]) == ["m:old", "m:pump"]
    assert found["lexical.document"] == ["pumps@0", "valves@0"]
    assert found["lexical.memory"] == ["m:pump", "m:old"]


def test_near_twins_tie_exactly_and_stand_in_corpus_order() -> None:
    with _engine() as engine:
        [found] = engine.candidates([_query("what does the pump cost per unit")], 10)
    vector, lexical = found.rows["vector", "memory"], found.rows["lexical", "memory"]
    assert [row.item_id for row in vector] == ["m:pump", "m:old"]
    assert vector[0].value == vector[1].value
    assert [row.item_id for row in lexical] == ["m:pump", "m:old"]
    assert lexical[0].value == lexical[1].value


def test_depth_cuts_each_channel_and_store_by_itself() -> None:
    with _engine() as engine:
        assert _found(engine, _query("pump"), 1) == {
            "vector.document": ["valves@0"],
            "vector.memory": ["m:pump"],
            "lexical.document": ["valves@0"],  # the shorter text
            "lexical.memory": ["m:pump"],
        }
        with pytest.raises(ValueError, match="depth must be at least 1"):
            engine.candidates([_query("pump")], 0)


def test_chunks_carry_the_key_of_their_document_and_no_age() -> None:
    with _engine(chunking=Chunking("section")) as engine:
        [found] = engine.candidates([_query("valve")], 10)
    rows = {row.item_id: row for row in found.rows["vector", "document"]}
    assert set(rows) == {"pumps@0", "pumps@1", "valves@0"}
    assert rows["pumps@1"].key == "pumps"
    assert all(math.isnan(row.age_days) for row in rows.values())


def test_lexical_values_are_positive_and_higher_is_better() -> None:
    with _engine() as engine:
        [found] = engine.candidates([_query("valves pump")], 10)
    values = [row.value for row in found.rows["lexical", "document"]]
    assert values == sorted(values, reverse=True)
    assert min(values) > 0


@pytest.mark.parametrize(
    ("wanted", "documents", "memories"),
    [
        ({}, ["pumps@0", "valves@0"], ["m:pump", "m:old"]),
        ({"team": "hydro"}, ["valves@0"], []),
        ({"path": "a/"}, ["pumps@0", "valves@0"], []),
        ({"path": "a/y", "team": "hydro"}, ["valves@0"], []),
        ({"store": "memory"}, [], ["m:pump", "m:old"]),
        ({"team": "nobody"}, [], []),
    ],
)
def test_a_filter_acts_before_depth(
    wanted: dict[str, str], documents: list[str], memories: list[str]
) -> None:
    depth = max(len(documents), len(memories), 1)
    with _engine() as engine:
        found = _found(engine, _query("pump", wanted), depth)
    assert sorted(found["vector.document"]) == documents
    assert found["vector.memory"] == memories
    assert sorted(found["lexical.document"]) == documents
    assert found["lexical.memory"] == memories


def test_a_filtered_query_sees_what_a_smaller_corpus_would_show_in_the_vector_channel() -> None:
    entries = tuple(
        Entry(f"m{n}", f"fact {n % 5} of pump {n % 3}", "memory", tags={"odd": str(n % 2)})
        for n in range(60)
    )
    few = Corpus(tuple(entry for entry in entries if entry.tags["odd"] == "1"))
    with _engine(Corpus(entries)) as engine, _engine(few) as smaller:
        [filtered] = engine.candidates([_query("fact pump 1", {"odd": "1"})], 7)
        [alone] = smaller.candidates([_query("fact pump 1")], 7)
    assert filtered.rows["vector", "memory"] == alone.rows["vector", "memory"]


def test_many_filters_do_not_pile_up() -> None:
    with _engine() as engine:
        queries = [dataclasses.replace(_query("pump", {"team": str(n)})) for n in range(600)]
        engine.candidates(queries, 1)
        assert len(engine._allowed) <= 256


def test_ages_are_those_of_memories_at_the_fixed_instant_and_odd_ones_are_counted() -> None:
    entries = [
        Entry("d", "doc", "document", updated_at="2020-01-01"),
        Entry("known", "m", "memory", updated_at="2026-10-30T12:00:00"),
        Entry("typed", "m", "memory", age_days=7.5),
        Entry("missing", "m", "memory"),
        Entry("odd", "m", "memory", updated_at="last week"),
        Entry("future", "m", "memory", updated_at="2026-11-03"),
    ]
    with _engine(Corpus(tuple(entries))) as engine:
        [found] = engine.candidates([_query("m doc")], 10)
        ages = {row.item_id: row.age_days for row in found.rows["vector", "memory"]}
        assert engine.provenance["ages"] == {
            "known": 2,
            "missing": 1,
            "unparseable": 1,
            "future": 1,
        }
        assert engine.provenance["items"] == {"document": 1, "memory": 5}
    assert math.isnan(found.rows["vector", "document"][0].age_days)
    assert (ages["known"], ages["typed"], ages["future"]) == (1.5, 7.5, -2.0)
    assert math.isnan(ages["missing"])
    assert math.isnan(ages["odd"])


def test_one_instant_has_one_spelling() -> None:
    naive = datetime(2026, 11, 1)  # noqa: DTZ001 - a naive time is UTC
    zoned = datetime(2026, 11, 1, 2, tzinfo=timezone(timedelta(hours=2)))
    prints = set()
    for as_of in (AS_OF, naive, zoned):
        with _engine(as_of=as_of) as engine:
            prints.add(engine.fingerprint)
            assert engine.provenance["as_of"] == "2026-11-01T00:00:00+00:00"
    assert len(prints) == 1


def test_the_fingerprint_changes_with_whatever_changes_an_answer() -> None:
    options: list[dict[str, Any]] = [
        {},
        {"embedder": HashEmbedder(512)},
        {"chunking": Chunking("section")},
        {"chunking": Chunking("size")},
        {"chunking": Chunking("size", 500)},
        {"match": "all"},
        {"corpus": Corpus(CORPUS.entries[:3])},
    ]
    prints = set()
    for chosen in options:
        with _engine(**chosen) as engine:
            prints.add(engine.fingerprint)
    assert len(prints) == len(options)
    with _engine(memory_map_bytes=0, as_of=AS_OF + timedelta(days=1)) as engine:
        assert engine.fingerprint in prints


def test_its_own_search_ranks_its_candidates() -> None:
    with _engine() as engine:
        plain = engine.search(_query("pump costs per unit"), Settings())
        decayed = engine.search(
            _query("pump costs per unit"), Settings(recency_half_life_days=1, limit=3)
        )
    assert plain[:2] == ["m:pump", "m:old"]
    assert len(decayed) == 3
    assert decayed[0] == "pumps@0"


@pytest.mark.parametrize("store", STORES)
def test_a_store_may_be_empty(store: str) -> None:
    entries = tuple(entry for entry in CORPUS.entries if entry.store == store)
    with _engine(Corpus(entries)) as engine:
        found = _found(engine, _query("pump"))
    assert {name for name, rows in found.items() if rows} == {f"vector.{store}", f"lexical.{store}"}


def test_an_empty_corpus_finds_nothing() -> None:
    with _engine(Corpus(())) as engine:
        assert not any(_found(engine, _query("pump")).values())
        assert engine.candidates([], 5) == []


def test_an_empty_document_and_an_empty_query_are_answered() -> None:
    with _engine(Corpus((Entry("d", "", "document"),))) as engine:
        assert _found(engine, _query(""))["vector.document"] == ["d@0"]


def test_two_items_of_one_id_are_an_input_error() -> None:
    corpus = Corpus((Entry("a", "x", "document"), Entry("a@0", "y", "memory")))
    with pytest.raises(InputError, match="share the id 'a@0'"):
        _engine(corpus)


def test_a_title_counts_only_where_the_text_has_it() -> None:
    with _engine(Corpus((Entry("d", "body", "document", title="Turbine"),))) as engine:
        assert _found(engine, _query("turbine"))["lexical.document"] == []


def test_it_may_be_closed_twice_and_answers_no_more() -> None:
    engine = _engine()
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="is closed"):
        engine.candidates([_query("pump")], 1)


# Embedders and files


class Slow:
    """A dense model that is counted."""

    name = "slow-3"
    dimensions = 3

    def __init__(self, broken: Callable[[Sequence[str]], Vectors] | None = None) -> None:
        self.n_texts = 0
        self.broken = broken
        self.closed = 0

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.n_texts += len(texts)
        if self.broken is not None and texts and texts[0] == "pump":
            return self.broken(texts)
        rows = [[len(text) + 1.0, text.count("p"), text.count(" ")] for text in texts]
        return on_grid(np.array(rows).reshape(-1, 3), name=self.name)

    def close(self) -> None:
        self.closed += 1


def test_a_cache_folder_spares_a_model_every_text_it_has_seen(tmp_path: Path) -> None:
    first, second = Slow(), Slow()
    with _engine(embedder=first, cache_dir=tmp_path) as engine:
        before = engine.candidates([_query("pump")], 5)
    with _engine(embedder=second, cache_dir=tmp_path) as engine:
        assert repr(engine.candidates([_query("pump")], 5)) == repr(before)
        assert engine.provenance["embedder"] == "slow-3"
    assert (first.n_texts, second.n_texts) == (5, 0)
    assert (first.closed, second.closed) == (1, 1)


def test_the_hasher_leaves_no_cache(tmp_path: Path) -> None:
    with _engine(cache_dir=tmp_path) as engine:
        engine.candidates([_query("pump")], 5)
    assert list(tmp_path.iterdir()) == []


def test_vectors_in_a_file_answer_bit_for_bit_as_in_memory_and_go_when_closed(
    tmp_path: Path,
) -> None:
    queries = [_query("pump"), _query("valve costs")]
    with _engine() as engine:
        in_memory = engine.candidates(queries, 5)
    with _engine(memory_map_bytes=0, cache_dir=tmp_path / "new") as engine:
        mapped = engine.candidates(queries, 5)
        assert len(list(tmp_path.glob("new/vectors-*/vectors"))) == 2
    assert list(tmp_path.glob("new/*")) == []
    for a, b in zip(in_memory, mapped, strict=True):
        assert repr(a) == repr(b)


def test_a_place_for_vectors_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        _engine(memory_map_bytes=0, cache_dir=tmp_path / "file") as engine,
        pytest.raises(StorageError, match="cannot be stored"),
    ):
        engine.candidates([_query("pump")], 5)


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda texts: np.ones((len(texts), 2), np.float32), "2 dimensions, the texts have 3"),
        (lambda texts: np.ones((0, 3), np.float32), r"shape \(0, 3\) came for 1 texts"),
    ],
)
def test_a_model_that_breaks_its_promise_is_an_engine_error(
    broken: Callable[[Sequence[str]], Vectors], message: str
) -> None:
    with _engine(embedder=Slow(broken)) as engine, pytest.raises(EngineError, match=message):
        engine.candidates([_query("pump")], 5)


def test_importing_it_does_not_import_what_is_slow() -> None:
    code = (
        "import sys, sweeper.engines.embedded\n"
        "print([n for n in ('pandas', 'pyarrow', 'httpx', 'torch', 'scipy') if n in sys.modules])"
    )
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"


# Blocks and ties


def test_blocks_do_not_change_a_cosine(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"fact {n} about pump {n % 11} and valve {n % 4}" for n in range(700)]
    queries = [f"pump {n} valve" for n in range(30)]

    def cosines() -> np.ndarray[Any, Any]:
        index = DenseIndex(texts, HashEmbedder(), folder=None, memory_map_bytes=1 << 30)
        return np.concatenate(list(index.cosines(queries)))

    whole = cosines()
    monkeypatch.setattr("sweeper.engines.dense._BLOCK_BYTES", 60_000)
    monkeypatch.setattr("sweeper.engines.dense._TEXTS_PER_CALL", 97)
    assert np.array_equal(whole, cosines())


@pytest.mark.parametrize("depth", [1, 2, 5, 99, 100, 101])
def test_the_best_are_those_of_a_stable_sort(depth: int) -> None:
    rng = np.random.default_rng(depth)
    for n_distinct in (1, 2, 5, 1000):
        values = rng.integers(0, n_distinct, 100) / 7.0 - 0.3
        expected = sorted(range(100), key=lambda place: -values[place])[:depth]
        assert best(values, depth).tolist() == expected


# The web-search language. Expected readings are PostgreSQL's, as its websearch_to_tsquery gives
# them: "|" between alternatives, "!" before what is excluded, "<->" within a phrase.


@pytest.mark.parametrize(
    ("query", "reading"),
    [
        ("", ""),
        ("   ", ""),
        ("-", ""),
        ("--", ""),
        ('"', ""),
        ("or", "or"),
        ("or or", "or & or"),
        ("a or", "a & or"),
        ("or a", "or & a"),
        ("a or b", "a | b"),
        ("a OR b", "a | b"),
        ("a oR b c", "a | b & c"),
        ("a or b or c", "a | b | c"),
        ("a or or b", "a | or & b"),
        ("a orb", "a & orb"),
        ("a or-b", "a & or-b"),
        ("a or_b", "a & or_b"),
        ('a "or" b', "a & or & b"),
        ("a or, b", "a | , & b"),  # a piece without a token is left out later
        ('a or"b"', "a | b"),
        ("-a", "!a"),
        ("a -b", "a & !b"),
        ("a - b", "a & !b"),
        ('a -"b c"', "a & !b c"),
        ("-a -b", "!a & !b"),
        ("--a", "a"),
        ("-(a b)", "!a & b"),
        ("a -b or c", "a & !b | c"),
        ("a or -b", "a | !b"),
        ("SKU--4711", "SKU--4711"),
        ("-a-b", "!a-b"),
        ('"a b" c', "a b & c"),
        ('"a b', "a b"),
        ('a" b', "a &  b"),
        ('a"b"c', "a & b & c"),
        ('"a or b"', "a or b"),
        ('"a -b"', "a -b"),
        ("a & b", "a & b"),
        ("a | b", "a & b"),
        ("!a", "a"),
        ("a:b", "a & b"),
        ("(a b) c", "a & b & c"),
        ("AT&T", "AT & T"),
        ("a (or b)", "a | b"),
        ("a | or b", "a | b"),
        ("a,or b", "a,or & b"),
        ("a ) or ( b", "a | b"),
        ("(or) a", "or & a"),
        ("a !or b", "a | b"),
        ("Москва or Киев", "Москва | Киев"),
    ],
)
def test_a_web_query_is_read_as_postgresql_reads_it(query: str, reading: str) -> None:
    branches = [
        " & ".join("!" * piece.excluded + piece.text for piece in branch)
        for branch in read_web_query(query)
    ]
    assert " | ".join(branches) == reading


TEXTS = ("alpha beta", "beta gamma", "gamma alpha", "alpha gamma-beta delta", "SKU-4711 é e\u0301")


def _matches(match: Match, query: str) -> set[int]:
    index = LexicalIndex(TEXTS, match=match)
    [expression] = index.expressions([query])
    found = index.search(expression, first=0, last=len(TEXTS) - 1, depth=9, among=None)
    index.close()
    return {number for number, _ in found}


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("alpha beta", {0, 3}),
        ("ALPHA Beta", {0, 3}),
        ('"alpha beta"', {0}),
        ('"beta alpha"', set()),
        ("gamma-beta", {3}),
        ("alpha or gamma", {0, 1, 2, 3}),
        ("alpha beta or gamma beta", {0, 1, 3}),
        ("alpha -beta", {2}),
        ('alpha -"gamma beta"', {0, 2}),
        ("alpha -nothing", {0, 2, 3}),
        ("-alpha", set()),  # FTS5 cannot list what lacks a word
        ("-alpha or gamma -alpha", {1}),
        ("delta or -alpha", {3}),
        ("alpha ??? ... beta", {0, 3}),
        ("??? or alpha", {0, 2, 3}),
        ("sku-4711", {4}),
        ("4711", {4}),
        ("SKU", {4}),
        ("é", {4}),
        ("e", set()),  # an accent is a difference
        ("alpha\0beta", {0}),  # one word to the reader, two tokens: a phrase
        ("NOT alpha", set()),
        ("alph*", set()),
        ("", set()),
        ("???", set()),
    ],
)
def test_match_all_wants_every_term(query: str, found: set[int]) -> None:
    assert _matches("all", query) == found


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("alpha delta", {0, 2, 3}),
        ("gamma-beta", {0, 1, 2, 3}),
        ("nothing SKU", {4}),
        ("-alpha", {0, 2, 3}),
        ('"', set()),
        ("NOT OR AND", set()),
        ("???", set()),
    ],
)
def test_match_any_wants_one_token(query: str, found: set[int]) -> None:
    assert _matches("any", query) == found


def test_a_repeated_word_weighs_once() -> None:
    index = LexicalIndex(TEXTS, match="any")
    once, twice = index.expressions(["alpha beta", "alpha beta ALPHA alpha."])
    index.close()
    assert once == twice


def test_an_index_that_failed_is_built_again_when_it_is_asked_again() -> None:
    class Late(Slow):
        def embed(self, texts: Sequence[str]) -> Vectors:
            if self.n_texts == 0:
                self.n_texts = 1
                raise EngineError("not yet")
            return super().embed(texts)

    with _engine(embedder=Late()) as engine:
        with pytest.raises(EngineError, match="not yet"):
            engine.candidates([_query("pump")], 5)
        assert len(engine.candidates([_query("pump")], 5)) == 1
