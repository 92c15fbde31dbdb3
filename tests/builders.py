"""Short ways to write candidates, questions, corpora and runs down in a test."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from sweeper.corpus import STORES, Entry, Store
from sweeper.golden import GoldenSet, Key, Query
from sweeper.metrics import Metric, parse_metric
from sweeper.pools import LEXICAL, VECTOR, Candidate, Pool, QueryCandidates
from sweeper.runs import Judgments, Positions, Run


def document(item_id: str, value: float, age_days: float = math.nan) -> Candidate:
    """Return a chunk; its key is the part of its id before ``@``."""
    return Candidate(item_id, item_id.partition("@")[0], "document", value, age_days)


def memory(item_id: str, value: float, age_days: float = math.nan) -> Candidate:
    return Candidate(item_id, item_id, "memory", value, age_days)


def found(
    vector: Sequence[Candidate] = (),
    lexical: Sequence[Candidate] = (),
    query_id: str = "q",
    **others: Sequence[Candidate],
) -> QueryCandidates:
    """Return one query's candidates; each channel's rows are parted by store, order kept."""
    channels = {VECTOR: vector, LEXICAL: lexical, **others}
    return QueryCandidates(
        query_id,
        {
            (name, store): [row for row in rows if row.store == store]
            for name, rows in channels.items()
            for store in STORES
        },
    )


def documents(names: str, *, first: float = 0.9) -> list[Candidate]:
    """Return one document per letter, with values that fall by a hundredth."""
    return [document(name, round(first - 0.01 * place, 2)) for place, name in enumerate(names)]


def pool_of(*candidates: QueryCandidates, depth: int = 10) -> Pool:
    return Pool.from_candidates(candidates, channels=(VECTOR, LEXICAL), depth=depth)


def query(
    expected: Sequence[Key] = (),
    query_id: str = "q",
    name: str = "s",
    grades: Mapping[Key, float] | None = None,
) -> Query:
    return Query(query_id, name, "text", tuple(expected), dict(grades or {}))


def entry(entry_id: str, text: str = "text", store: Store = "document", **others: object) -> Entry:
    return Entry(entry_id, text, store, **others)  # type: ignore[arg-type]


def positions_of(results: Mapping[str, Sequence[Key]], *queries: Query) -> Positions:
    return Run(results).positions(Judgments(GoldenSet(queries)))


def value_of(
    metric: str | Metric,
    returned: Sequence[Key],
    expected: Sequence[Key],
    grades: Mapping[Key, float] | None = None,
) -> float:
    """Return one metric of one question's ranked list."""
    metric = parse_metric(metric) if isinstance(metric, str) else metric
    return float(
        metric.values(positions_of({"q": returned}, query(expected, grades=grades))).item()
    )
