"""Any JSON search endpoint as an engine (extra ``http``).

A *black box* answers with final results only, so every setting asks the server. A *white box* also
tells each row's rank per channel; its candidates are captured by one request per question and all
settings are replayed. What a request carries is in ``http_request``, how it is sent in
``http_client``, how its answer is read in ``http_rows``, how channels come out of it in
``signals``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from sweeper.corpus import STORES, Store
from sweeper.engines.http_client import JsonClient
from sweeper.engines.http_pages import Pages
from sweeper.engines.http_request import Request, RequestMaker
from sweeper.engines.http_rows import RowReader
from sweeper.engines.signals import Answer, fusion_fault, put_together
from sweeper.errors import EngineError, InputError
from sweeper.golden import ItemId, Key, Query, QueryId
from sweeper.http_blocks import HttpBlock
from sweeper.pools import QueryCandidates
from sweeper.settings import Settings

if TYPE_CHECKING:
    import httpx

__all__ = ["HttpEngine"]

_T = TypeVar("_T")


class HttpEngine:
    """Asks a search endpoint over HTTP. Make it once, ask it often, close it.

    Nothing is remembered: the same question and setting ask again, so that answers which change
    can be seen to. Only a batch of ``candidates`` that fails keeps what was answered, for the next
    call.

    Parameters
    ----------
    block
        What to send and how to read the answer.
    as_of
        The instant that ages are measured from; a naive one is UTC.
    ca_file
        PEM file of a private authority.
    transport
        An ``httpx`` transport, for tests.

    Raises
    ------
    InputError
        If the extra is missing, an expression is no JMESPath, or a file cannot be read.
    """

    fingerprint: str | None = None

    def __init__(
        self,
        block: HttpBlock,
        *,
        as_of: datetime,
        ca_file: Path | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        as_of = as_of.replace(tzinfo=UTC) if as_of.tzinfo is None else as_of.astimezone(UTC)
        self._block = block
        self._as_of = as_of
        self._reader = RowReader(block, as_of=as_of)
        self._requests = RequestMaker(block)
        self._pages = None if block.pagination is None else Pages(block.pagination)
        self._client = JsonClient(
            block.method,
            block.url,
            connection=block,
            auth=block.auth,
            ca_file=ca_file,
            transport=transport,
        )
        self._lock = threading.Lock()
        self._n_empty = 0
        self._kept: dict[tuple[QueryId, int], QueryCandidates] = {}
        self._closed = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._block.method!r}, {self._block.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def channels(self) -> tuple[str, ...]:
        return tuple(self._block.channels)

    @property
    def knobs(self) -> frozenset[str]:
        return self._block.tuned

    @property
    def n_threads(self) -> int:
        return self._block.n_threads

    @property
    def counters(self) -> dict[str, int]:
        """Number of ``requests``, ``retries``, ``empty`` answers, and failures by kind."""
        return {**self._client.counters, "empty": self._n_empty}

    @property
    def provenance(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "kind": self._block.kind,
            "url": self._block.url,
            "knobs": sorted(self.knobs),
            "as_of": self._as_of.isoformat(),
        }
        if self._block.channels:
            found["ages"] = self._reader.ages
        return found

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        if depth < 1:
            raise ValueError(f"depth must be at least 1, got {depth}")
        self._check_open()
        if not self.channels:
            raise EngineError(
                f"{self._block.url} is a black box: it shows no channels, so that its settings are "
                "tried by asking it. If its rows tell their rank per channel, configure `channels`."
            )
        if depth > self._block.window:
            raise InputError(self._too_deep(depth))
        wanted = [query for query in queries if (query.query_id, depth) not in self._kept]

        def captured(query: Query) -> None:
            found = self._named(query, lambda: self._capture(query, depth))
            self._kept[query.query_id, depth] = found

        self._for_each(wanted, captured)
        answers = [self._kept[query.query_id, depth] for query in queries]
        for query in queries:
            self._kept.pop((query.query_id, depth), None)
        return answers

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        """Return the final ranking: item ids of a white box, keys of a black box."""
        self._check_open()
        return self._named(query, lambda: self._search(query, settings))

    def search_keys(self, query: Query, settings: Settings) -> list[Key]:
        """Return the key at each position of the final ranking."""
        self._check_open()
        if not self.channels:
            return self.search(query, settings)
        return self._named(
            query,
            lambda: [row.key for row in self._answer(query, settings, keep=False).rows],
        )

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._client.close()

    def _search(self, query: Query, settings: Settings) -> list[ItemId]:
        if self.channels:
            return [row.item_id for row in self._answer(query, settings, keep=False).rows]
        keys, seen = [], set()
        for place, row in enumerate(self._ask(query, settings, settings.limit), start=1):
            keys.append(self._reader.key(row, place))
            self._reader.score(row, place)
            own = self._reader.own_id(row, place)
            if own is not None and own in seen:
                raise EngineError(
                    f"row {place} repeats the item {own!r}. Mend the server, or `item` if several "
                    "rows may share it."
                )
            seen.add(own)
        return keys

    def _capture(self, query: Query, depth: int) -> QueryCandidates:
        window = self._block.window
        settings = Settings(rrf_k=1, recency_half_life_days=0, limit=window, depth=window)
        answer = self._answer(query, settings)
        of_store: dict[Store, Answer | None] = {}

        def ask_store(store: Store) -> Answer | None:
            if store not in of_store:
                of_store[store] = self._answer_of_store(query, settings, store)
            return of_store[store]

        found, reason = put_together(
            query.query_id,
            answer,
            channels=self.channels,
            valued=tuple(self._block.values),
            stores=STORES if self._block.source_type is not None else STORES[:1],
            depth=depth,
            ask_store=ask_store,
        )
        self._judge(query, fusion_fault(answer) or reason)
        return found

    def _answer(
        self, query: Query, settings: Settings, store: Store | None = None, *, keep: bool = True
    ) -> Answer:
        rows = self._reader.read(self._ask(query, settings, settings.limit, store), keep_ages=keep)
        # Where it cannot be told its k, or to let nothing decay, how it fused is not known.
        told = {"rrf_k", "recency_half_life_days"} <= self._block.tuned
        plain = told and settings.recency_half_life_days == 0
        # Where it cannot be told the limit, few rows do not mean that there are no more.
        limited = "limit" in self._block.tuned or self._block.pagination is not None
        n_asked = settings.limit if limited else max(1, len(rows))
        try:
            return Answer(rows, n_asked, settings.rrf_k if plain else None)
        except ValueError as error:
            reason = str(error)
        raise EngineError(
            f"{reason}. Mend `channels`, `id` or `item` in the config, or the server."
        )

    def _answer_of_store(self, query: Query, settings: Settings, store: Store) -> Answer | None:
        """Search one store alone; an engine whose API can do that overrides this."""
        return None

    def _judge(self, query: Query, reason: str | None) -> None:
        """Refuse candidates that are not all there."""
        if reason is not None:
            raise EngineError(
                f"its channels cannot be captured: {reason}. Raise `window` if the server returns "
                "more rows, lower the depth, or leave `channels` out: every setting then asks the "
                "server."
            )

    def _too_deep(self, depth: int) -> str:
        return (
            f"a depth of {depth} is more than the {self._block.window} rows of `window`. Raise "
            "engine.window if the server returns that many, or lower depth."
        )

    def _ask(
        self, query: Query, settings: Settings, n_rows: int, store: Store | None = None
    ) -> list[Any]:
        """Return at most ``n_rows`` rows, page by page where the block says so."""

        def ask(place: Mapping[str, Any]) -> Any:
            request = self._request(query, settings, store, place)
            return self._client.ask(
                body=request.body, params=request.params, headers=request.headers
            )

        if self._pages is None:
            rows = self._reader.rows(ask({}))[:n_rows]
        else:
            rows = self._pages.collect(n_rows, ask, self._reader.rows)
        if not rows:
            with self._lock:
                self._n_empty += 1
        return rows

    def _request(
        self, query: Query, settings: Settings, store: Store | None, place: Mapping[str, Any]
    ) -> Request:
        return self._requests.make(query, settings, place)

    def _check_open(self) -> None:
        if self._closed:
            raise EngineError("the engine is closed; make a new one.")

    def _named(self, query: Query, work: Callable[[], _T]) -> _T:
        """Carry out work for a question; its name goes into any failure, and no secret does."""
        try:
            return work()
        except EngineError as error:
            reason = str(error)
        # Outside the handler: the first error, which may quote a server that repeats what it was
        # sent, does not hang on to this one.
        raise EngineError(self._client.blotted(f"question {query.query_id!r}: {reason}"))

    def _for_each(self, queries: Sequence[Query], work: Callable[[Query], None]) -> None:
        """Do the work of every question, several at once; the first failure stops the rest."""
        n_workers = min(self.n_threads, len(queries))
        if n_workers <= 1:
            for query in queries:
                work(query)
            return
        with ThreadPoolExecutor(n_workers, thread_name_prefix="sweeper-http") as pool:
            tasks = [pool.submit(work, query) for query in queries]
            try:
                for task in tasks:
                    task.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
