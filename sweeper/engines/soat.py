"""SOAT's knowledge search, ``POST /api/v1/knowledge/search``: a preset of the ``http`` engine.

An answer tells each row's rank per channel after the stores were merged (``signals``) and its
cosine (``similarity_score``), so a question is captured by one request for as many rows as the
server gives, with ``rrf_k`` 1, no decay and a floor below every cosine. Each of these is sent,
because the deployment's own defaults apply to whatever is left out. Where the answer was cut too
early, requests for one store alone follow. A question that this does not complete is in
``incomplete``: replaying it would be wrong, so its settings are to be tried live.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeper.corpus import Store
from sweeper.engines.http import HttpEngine
from sweeper.engines.http_request import Request
from sweeper.engines.signals import Answer
from sweeper.errors import EngineError, InputError
from sweeper.golden import Query, QueryId
from sweeper.http_blocks import AuthBlock, HttpBlock, SoatBlock
from sweeper.pools import LEXICAL, VECTOR
from sweeper.settings import Settings

if TYPE_CHECKING:
    import httpx

__all__ = ["SoatEngine"]

_log = logging.getLogger(__name__)

_PATH = "/api/v1/knowledge/search"
_NO_FLOOR = -1.0  # no cosine is below it; a field left out would mean the deployment's own floor
_SWITCH_OF_OTHER: Mapping[str, str] = {
    "document": "include_memories",
    "memory": "include_documents",
}
"""The switch that is turned off to search a store alone."""


class SoatEngine(HttpEngine):
    """Asks a SOAT deployment. Make it once, ask it often, close it.

    The vector channel's values are cosines. The lexical channel tells ranks only: a row's value is
    minus its rank. An item is a chunk (``chunk_id``) or a memory; servers that do not name chunks
    have them called ``<document id>#<digest of the content>``.

    A query's ``filter`` may hold tags, ``path`` (a prefix) and ``store``. SOAT knows users by their
    tokens, so a query with a ``user`` is refused.

    Parameters
    ----------
    block
        Where it is and which part of it to search.
    as_of
        The instant that ages are measured from. The server measures from its own clock, so a live
        search agrees with a replay only as far as this is now.
    ca_file
        PEM file of a private authority.
    transport
        An ``httpx`` transport, for tests.

    Raises
    ------
    InputError
        If the extra is missing, or a file cannot be read.
    """

    def __init__(
        self,
        block: SoatBlock,
        *,
        as_of: datetime,
        ca_file: Path | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(_preset(block), as_of=as_of, ca_file=ca_file, transport=transport)
        self._soat = block
        scope = block.model_dump(include={"project_id", "memory_store_ids", "document_paths"})
        self._scope = {name: value for name, value in scope.items() if value}
        self._missing: dict[QueryId, str | None] = {}

    @property
    def incomplete(self) -> dict[QueryId, str]:
        """Captured questions whose candidates are not all there, each with the reason."""
        with self._lock:
            return {name: reason for name, reason in self._missing.items() if reason is not None}

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(name for name in (VECTOR, LEXICAL) if name in self._soat.channels)

    @property
    def knobs(self) -> frozenset[str]:
        return self._block.tuned | {"stores"}

    @property
    def provenance(self) -> dict[str, Any]:
        block, live = self._soat, self.incomplete
        return {
            **super().provenance,
            "kind": "soat",
            "url": block.base_url,
            "scope": block.model_dump(
                include={"project_id", "memory_store_ids", "document_paths", "tags"},
                exclude_defaults=True,
            ),
            "questions": {"replayed": len(self._missing) - len(live), "live": len(live)},
            "live_questions": live,
        }

    def _request(
        self, query: Query, settings: Settings, store: Store | None, place: Mapping[str, Any]
    ) -> Request:
        if settings.limit > self._soat.max_limit:
            raise InputError(self._too_deep(settings.limit))
        if query.user is not None:
            raise InputError(
                f"question {query.query_id!r} is asked as user {query.user!r}, and SOAT knows "
                "users by their tokens: sweep each user's questions with their own token_env."
            )
        unscoped = replace(query, filter={})
        body = {**(self._requests.make(unscoped, settings, place).body or {}), **self._scope}
        tags = dict(self._soat.tags)
        for name, value in query.filter.items():
            if name == "path":
                body["document_paths"] = self._below(query, value)
            elif name != "store" and tags.setdefault(name, value) != value:
                raise InputError(
                    f"question {query.query_id!r} wants the tag {name}: {value}, and engine.tags "
                    f"wants {name}: {tags[name]}. Nothing has both: change one of them."
                )
        if tags:
            body["tags"] = tags
        for name in _stores(query, settings, store):
            body[_SWITCH_OF_OTHER[name]] = False
        if body.get("include_documents") is body.get("include_memories") is False:
            raise InputError(
                f"question {query.query_id!r} wants one store and the settings the other. Nothing "
                "is in both: change one of them."
            )
        return Request(body, {}, {})

    def _below(self, query: Query, path: str) -> list[str]:
        """Return the paths that are below a query's path and the block's."""
        allowed = self._soat.document_paths
        if not allowed or any(path.startswith(prefix) for prefix in allowed):
            return [path]
        below = [prefix for prefix in allowed if prefix.startswith(path)]
        if not below:
            raise InputError(
                f"question {query.query_id!r} wants the path {path}, which engine.document_paths "
                "leaves out. Add it, or leave the question out."
            )
        return below

    def _answer(
        self, query: Query, settings: Settings, store: Store | None = None, *, keep: bool = True
    ) -> Answer:
        answer = super()._answer(query, settings, store, keep=keep)
        scope = _stores(query, settings, None)
        strange = next((row for row in answer.rows if scope and row.store not in scope), None)
        if strange is not None:
            raise EngineError(
                f"it was asked of one store alone, and {strange.item_id!r} is of the other: this "
                "server is older than the switches include_documents and include_memories. Drop "
                "the question's `store` or `path`, or upgrade."
            )
        told = {channel for row in answer.rows for channel in row.ranks}
        for channel in sorted(told - set(self._soat.channels)):
            raise EngineError(
                f"the server has a {channel} channel, which engine.channels leaves out. Add it."
            )
        # Rows that the lexical channel alone found have a cosine, too, as long as there is any.
        measured = any(VECTOR in row.values for row in answer.rows)
        if answer.rows and VECTOR in self._soat.channels and not measured:
            raise EngineError(
                "the answer has no similarity_score, as when SOAT cannot reach its embedding "
                "provider. Ask again when that is mended, or write channels: [lexical] if the "
                "deployment has no embeddings."
            )
        return answer

    def _answer_of_store(self, query: Query, settings: Settings, store: Store) -> Answer | None:
        scoped = _stores(query, settings, None)
        if scoped:  # the other store has nothing to give, and this one was asked just now
            return None if store in scoped else Answer((), 1)
        found = self._answer(query, settings, store)
        # A server from before the switches searches both stores all the same.
        return None if any(row.store != store for row in found.rows) else found

    def _judge(self, query: Query, reason: str | None) -> None:
        """Note whether a question can be replayed."""
        if reason is not None:
            _log.warning("question %r cannot be replayed: %s", query.query_id, reason)
        with self._lock:
            self._missing[query.query_id] = reason

    def _too_deep(self, depth: int) -> str:
        return (
            f"SOAT returns at most {self._soat.max_limit} rows, and takes as many per channel and "
            f"store; {depth} are asked for. Lower limit and depth to that."
        )


def _stores(query: Query, settings: Settings, store: Store | None) -> set[str]:
    """Return the stores that a search is scoped to; a path is a document's."""
    of_path = "document" if "path" in query.filter else None
    named = (query.filter.get("store"), settings.stores, store, of_path)
    return {name for name in named if name is not None and name in _SWITCH_OF_OTHER}


def _preset(block: SoatBlock) -> HttpBlock:
    """Return the block of the ``http`` engine that asks SOAT."""
    body: dict[str, Any] = {
        "query": "{query}",
        "limit": "{limit}",
        "min_similarity": "{min_similarity}",
        "rrf_k": "{rrf_k}",
        "recency_half_life_days": "{recency_half_life_days}",
    }
    auth = None
    if block.token_env is not None or block.token_file_env is not None:
        in_file = block.token_file_env is not None
        auth = AuthBlock(
            kind="bearer",
            token_env=None if in_file else block.token_env,
            token_file_env=block.token_file_env,
        )
    ranks = {VECTOR: "signals.vector", LEXICAL: "signals.lexical"}
    connection = block.model_dump(
        include={"timeouts", "retries", "n_threads", "requests_per_second", "follow_redirects"}
    )
    return HttpBlock(
        kind="http",
        url=block.base_url.rstrip("/").removesuffix("/api/v1") + _PATH,
        body=body,
        none=_NO_FLOOR,
        auth=auth,
        results="results",
        source_type="source_type",
        ids={"document": "document_id", "memory": "memory_id || entry_id"},
        item="chunk_id || memory_id || entry_id",
        score="score",
        updated_at="updated_at",
        channels=ranks,
        values={VECTOR: "similarity_score"},
        window=block.max_limit,
        **connection,
    )
