"""A local stand-in for SOAT's knowledge search: its HTTP contract over a real PostgreSQL.

Written from SOAT's published API description, not from sweeper: it fuses, decays and cuts by its
own code, over ``websearch_to_tsquery``, ``ts_rank_cd`` and pgvector. ``Mode`` degrades it in the
ways that deployments do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import psycopg
from psycopg.types.json import Jsonb
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from sweeper.corpus import Chunking as Cut
from sweeper.corpus import Corpus, Item, age_of, chunk
from sweeper.embedders import Embedder

__all__ = ["TOKEN", "Mode", "SoatServer"]

TOKEN = "soat-token-for-tests"


@dataclass(frozen=True)
class Mode:
    """How a deployment differs from the newest one with everything at hand."""

    embeddings: bool = True
    lexical: bool = True
    chunk_ids: bool = True
    entry_id: bool = False  # the older name of memory_id
    switches: bool = True  # include_documents, include_memories
    knobs: bool = True  # rrf_k and the half-life are read from the request
    signals: bool = True
    clamp: int = 100
    rrf_k: int = 60
    half_life_days: float = 0.0
    floor: float | None = None
    misses: int = 0  # neighbours that each call overlooks, others each time


class SoatServer:
    """The app and its data. ``mode`` may be changed between requests; ``asked`` holds bodies."""

    def __init__(
        self,
        conninfo: str,
        corpus: Corpus,
        embedder: Embedder,
        *,
        now: datetime,
        cut: Cut,
        table: str = "soat_item",
    ) -> None:
        self.mode = Mode()
        self.asked: list[dict[str, Any]] = []
        self.now = now
        self._embedder = embedder
        self._table = table
        self._random = random.Random(7)
        self._connection = psycopg.connect(conninfo, autocommit=True)
        self._load(chunk(corpus, cut))
        self.app = Starlette(
            routes=[Route("/api/v1/knowledge/search", self._endpoint, methods=["POST"])]
        )

    def close(self) -> None:
        self._connection.execute(f"DROP TABLE {self._table}")
        self._connection.close()

    def _load(self, items: Sequence[Item]) -> None:
        vectors = self._embedder.embed([item.text for item in items])
        run = self._connection.execute
        run("CREATE EXTENSION IF NOT EXISTS vector")
        run(f"DROP TABLE IF EXISTS {self._table}")
        run(
            f"CREATE TABLE {self._table} (place serial, item_id text, key text, store text, "
            "path text, tags jsonb, content text, updated_at timestamptz, "
            "words tsvector GENERATED ALWAYS AS (to_tsvector('simple', content)) STORED, "
            f"embedding vector({vectors.shape[1]}))"
        )
        rows = []
        for item, vector in zip(items, vectors.tolist(), strict=True):
            days = age_of(item.entry, self.now).days
            written = None if math.isnan(days) else self.now - timedelta(days=days)
            tags = Jsonb(dict(item.entry.tags))
            path = item.entry.path or item.entry.tags.get("path")
            row = (item.item_id, item.key, item.store, path, tags, item.text, written, str(vector))
            rows.append(row)
        with self._connection.cursor() as cursor:
            cursor.executemany(
                f"INSERT INTO {self._table} (item_id, key, store, path, tags, content, updated_at,"
                " embedding) VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                rows,
            )

    async def _endpoint(self, request: Request) -> JSONResponse:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"error": {"code": "UNAUTHORIZED"}}, 401)
        body = await request.json()
        self.asked.append(body)
        if not body.get("query"):
            return JSONResponse({"error": {"code": "VALIDATION_FAILED"}}, 400)
        return JSONResponse({"results": await run_in_threadpool(self._search, body, self.mode)})

    def _search(self, body: dict[str, Any], mode: Mode) -> list[dict[str, Any]]:
        limit = max(1, min(int(body.get("limit", 10)), mode.clamp))
        k = int(body["rrf_k"]) if mode.knobs and body.get("rrf_k", 0) >= 1 else mode.rrf_k
        half_life = mode.half_life_days
        if mode.knobs and body.get("recency_half_life_days", -1) >= 0:
            half_life = body["recency_half_life_days"]
        floor = body.get("min_similarity", mode.floor)
        vector_rows: list[dict[str, Any]] = []
        lexical_rows: list[dict[str, Any]] = []
        for store, switch in (("document", "include_documents"), ("memory", "include_memories")):
            if mode.switches and body.get(switch) is False:
                continue
            if mode.embeddings:
                near = self._rows(body, store, "vector", limit + mode.misses)
                for _ in range(min(mode.misses, len(near))):
                    near.pop(self._random.randrange(len(near)))
                vector_rows += [r for r in near if floor is None or r["similarity"] >= floor]
            if mode.lexical:
                lexical_rows += self._rows(body, store, "lexical", limit)
        ranked: dict[str, dict[str, Any]] = {}
        for channel, rows in (("vector", vector_rows), ("lexical", lexical_rows)):
            rows.sort(key=lambda row: row["signal"], reverse=True)  # stable, documents first
            for place, row in enumerate(rows):
                kept = ranked.setdefault(row["item_id"], {**row, "score": 0.0, "signals": {}})
                kept["score"] += 1 / (k + place + 1)
                kept["signals"][channel] = place + 1
        found = sorted(ranked.values(), key=lambda row: -row["score"])
        if half_life > 0:
            for row in found:
                if row["store"] == "memory" and row["updated_at"] is not None:
                    milliseconds = (self.now - row["updated_at"]) / timedelta(milliseconds=1)
                    if milliseconds > 0:
                        row["score"] *= 2 ** (-milliseconds / 86_400_000 / half_life)
            found.sort(key=lambda row: -row["score"])
        return [self._shown(row, mode) for row in found[:limit]]

    def _rows(
        self, body: dict[str, Any], store: str, channel: str, limit: int
    ) -> list[dict[str, Any]]:
        [vector] = self._embedder.embed([body["query"]]).tolist()
        values = {
            "text": body["query"],
            "vector": str(vector),
            "store": store,
            "limit": limit,
            "tags": Jsonb(body.get("tags") or {}),
            "paths": [f"{path}%" for path in body.get("document_paths") or [""]],
        }
        similarity = "1 - (embedding <=> %(vector)s::vector)"
        query = "websearch_to_tsquery('simple', %(text)s)"
        signal = similarity if channel == "vector" else f"ts_rank_cd(words, {query})"
        scope = "store = %(store)s AND tags @> %(tags)s"
        if store == "document" and body.get("document_paths"):
            scope += " AND path LIKE ANY(%(paths)s)"
        if channel == "lexical":
            scope += f" AND words @@ {query}"
        cursor = self._connection.execute(
            f"SELECT item_id, key, store, content, updated_at, {similarity}, {signal} AS signal"
            f" FROM {self._table} WHERE {scope} ORDER BY signal DESC, place LIMIT %(limit)s",
            values,
        )
        names = ("item_id", "key", "store", "content", "updated_at", "similarity", "signal")
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def _shown(self, row: dict[str, Any], mode: Mode) -> dict[str, Any]:
        shown = {
            "source_type": row["store"],
            "content": row["content"],
            "score": row["score"],
        }
        if row["updated_at"] is not None:
            shown["updated_at"] = row["updated_at"].isoformat().replace("+00:00", "Z")
        if mode.signals:
            shown["signals"] = row["signals"]
        if mode.embeddings:
            shown["similarity_score"] = row["similarity"]
        if row["store"] == "memory":
            shown["entry_id" if mode.entry_id else "memory_id"] = row["key"]
        else:
            shown["document_id"] = row["key"]
            if mode.chunk_ids:
                shown["chunk_id"] = row["item_id"]
        return shown
