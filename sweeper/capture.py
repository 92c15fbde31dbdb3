"""Capture: ask an engine once for the candidates of every query, and freeze them as a pool.

Files are written in ``poolfile``; everything after this is arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeGuard

from sweeper.engines.base import Engine, Evidenced, PartlyShown
from sweeper.errors import EngineError, InputError
from sweeper.golden import GoldenSet, Query, QueryId
from sweeper.knobs import TRIPLES
from sweeper.pools import Candidate, Pool, QueryCandidates, asked_mark
from sweeper.store import Journal

__all__ = ["capture"]

_SHOWN = 80  # characters of a query that a message repeats


def capture(
    golden: GoldenSet,
    engine: Engine,
    *,
    depth: int,
    progress: Callable[[int, int], None] | None = None,
    batch_size: int = 256,
    kept: Journal | None = None,
) -> Pool:
    """Ask an engine for the best rows of every query.

    Parameters
    ----------
    golden
        Queries, asked in the order of the set.
    engine
        Not closed here.
    depth
        Rows per query, channel and store; the deepest that a sweep will rank.
    progress
        Called with the number of queries done and of all, first with 0.
    batch_size
        Queries asked at a time.
    kept
        Answers are kept here as they arrive, and those in it already are not asked again.

    Returns
    -------
    Pool
        Its provenance has ``engine`` (what the engine says of itself), ``fingerprint``, ``as_of``
        (``None`` if the engine has none), ``golden`` (the digest of the set), ``asked`` (a mark of
        each question as it was asked), ``live_questions``, with reasons, where the engine does not
        show all candidates of some, and ``evidence`` where typed facts led to some.

    Raises
    ------
    EngineError
        If a query cannot be answered, or an answer breaks the engine's promises; it names the
        query.
    InputError
        As the engine raises it, at once.
    """
    if depth < 1:
        raise ValueError(f"depth must be at least 1, got {depth}")
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1, got {batch_size}")
    records = {} if kept is None else {str(r["query"]): r for r in kept.records}
    incomplete = {name: str(r["reason"]) for name, r in records.items() if r["reason"]}

    def answers() -> Iterator[QueryCandidates]:
        told = progress or _ignore
        told(0, len(golden))
        for start in range(0, len(golden), batch_size):
            batch = golden.queries[start : start + batch_size]
            asked = [query for query in batch if query.query_id not in records]
            found = {a.query_id: a for a in (_ask(asked, engine, depth) if asked else ())}
            reasons = engine.incomplete if isinstance(engine, PartlyShown) else {}
            incomplete.update({name: reasons[name] for name in found if name in reasons})
            if kept is not None and found:
                kept.append(_record(found[name], reasons.get(name)) for name in found)
            for query in batch:
                name = query.query_id
                yield found[name] if name in found else _candidates(records[name])
            told(start + len(batch), len(golden))

    try:
        pool = Pool.from_candidates(answers(), channels=engine.channels, depth=depth)
    except ValueError as error:
        if getattr(error, "__notes__", None):  # from the engine itself: not ours to reword
            raise
        raise EngineError(f"the engine broke its promise: {error}.") from error
    provenance = engine.provenance  # now, as it may tell how the questions were answered
    return replace(
        pool,
        provenance={
            "engine": provenance,
            "fingerprint": engine.fingerprint,
            "as_of": provenance.get("as_of"),
            "golden": golden.digest,
            "asked": [asked_mark(query) for query in golden.queries],
            **({"live_questions": incomplete} if incomplete else {}),
            **({"evidence": _evidence(engine, golden)} if _has_facts(engine) else {}),
        },
    )


def _has_facts(engine: Engine) -> TypeGuard[Evidenced]:
    return isinstance(engine, Evidenced) and TRIPLES in engine.channels


def _evidence(engine: Evidenced, golden: GoldenSet) -> dict[QueryId, Any]:
    """Return the facts behind these questions; the engine may have been asked others before."""
    known = engine.evidence
    return {name: known[name] for name in golden.query_ids if name in known}


def _record(answer: QueryCandidates, reason: str | None) -> dict[str, Any]:
    """Return an answer as JSON."""
    rows = [
        [channel, store, [[r.item_id, r.key, r.value, _number(r.age_days)] for r in found]]
        for (channel, store), found in answer.rows.items()
    ]
    return {"query": answer.query_id, "reason": reason, "rows": rows}


def _candidates(record: Mapping[str, Any]) -> QueryCandidates:
    return QueryCandidates(
        record["query"],
        {
            (channel, store): [
                Candidate(item, key, store, value, math.nan if age is None else age)
                for item, key, value, age in rows
            ]
            for channel, store, rows in record["rows"]
        },
    )


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _ask(batch: Sequence[Query], engine: Engine, depth: int) -> list[QueryCandidates]:
    try:
        answers = engine.candidates(batch, depth)
    except InputError:  # a missing key or package: no other question would fare better
        raise
    except Exception as error:
        if len(batch) == 1:
            _raise_named(error, batch[0])
        # One by one finds the query at fault, and gets past a failure that was of the batch alone.
        return [answer for query in batch for answer in _ask([query], engine, depth)]
    expected = [query.query_id for query in batch]
    if [answer.query_id for answer in answers] != expected:
        raise EngineError(
            f"the engine was asked {len(batch)} questions, from {expected[0]!r} on, and its "
            f"{len(answers)} answers do not belong to them in order. It must answer each, in order."
        )
    return answers


def _raise_named(error: Exception, query: Query) -> NoReturn:
    text = query.text if len(query.text) <= _SHOWN else query.text[: _SHOWN - 3] + "..."
    name = f"question {query.query_id!r} ({text!r})"
    if isinstance(error, EngineError):
        raise EngineError(f"{name}: {error}") from error
    error.add_note(f"while asking {name}")
    raise error


def _ignore(done: int, total: int) -> None:
    pass
