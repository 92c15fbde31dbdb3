"""A whole search in one statement: floor, merge, fusion, decay, order and cut in the server.

This is the ranking of ``docs/semantics.md`` written again, in SQL. It shares no code with
``ranking``, so that comparing the two proves something.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from psycopg import sql

from sweeper.corpus import STORES, Store
from sweeper.engines.postgres_source import Recipe
from sweeper.engines.postgres_sql import best_rows
from sweeper.pools import LEXICAL, VECTOR
from sweeper.settings import Settings

__all__ = ["ranking_parameters", "search_statement"]


def search_statement(
    recipe: Recipe, stores: Mapping[str, Sequence[Store]], filters: Sequence[str]
) -> sql.Composed:
    """Return a whole search: item ids, best first.

    Parameters
    ----------
    recipe
        Must have a table for every store that is named.
    stores
        Channel to the stores that it searches; none switches the channel off.
    filters
        As in ``candidates_statement``.
    """
    return sql.SQL(_SEARCH).format(
        vector=_merged(recipe, VECTOR, stores.get(VECTOR, ()), filters),
        lexical=_merged(recipe, LEXICAL, stores.get(LEXICAL, ()), filters),
    )


# A server refuses a result that underflows, Python rounds it to 0. Hence two guards: an age beyond
# ``oldest`` has the factor 0 and one below ``youngest`` the factor 1, as 2 ** x has; and a product
# that would round to 0 is 0 (2 ** 900 keeps the test itself in range).
_SEARCH = """
WITH vector AS ({vector}),
lexical AS ({lexical}),
fused AS (
  SELECT item, vector.rank AS vector_rank, lexical.rank AS lexical_rank,
    coalesce(vector.store, lexical.store) AS store, coalesce(vector.age, lexical.age) AS age,
    coalesce(%(vector_weight)s::float8 / (%(rrf_k)s::bigint + vector.rank)::float8, 0)
    + coalesce(%(lexical_weight)s::float8 / (%(rrf_k)s::bigint + lexical.rank)::float8, 0) AS fused
  FROM vector FULL JOIN lexical USING (item)
),
decayed AS (
  SELECT *, CASE
    WHEN store <> 1 OR age IS NULL OR age <= %(youngest)s::float8 THEN 1
    WHEN age >= %(oldest)s::float8 THEN 0
    ELSE power(2::float8, -(age / %(half_life)s::float8))
  END AS factor
  FROM fused
),
scored AS (
  SELECT *, CASE
    WHEN fused * (factor * power(2::float8, 900)) <= power(2::float8, -175) THEN 0
    ELSE fused * factor
  END AS score
  FROM decayed
)
SELECT item FROM scored
ORDER BY score DESC, vector_rank NULLS LAST, lexical_rank LIMIT %(limit)s::bigint
"""

_LONGEST_EXPONENT = 1075.0  # 2 ** -1075 rounds to 0
_SHORTEST_EXPONENT = 2.0**-54  # 2 ** -(2 ** -54) rounds to 1


def ranking_parameters(settings: Settings) -> dict[str, Any]:
    """Return what a search is told besides the question."""
    half_life = settings.recency_half_life_days
    off = half_life <= 0
    return {
        "vector_weight": settings.weight(VECTOR),
        "lexical_weight": settings.weight(LEXICAL),
        "rrf_k": settings.rrf_k,
        "floor": settings.min_similarity,
        "half_life": 1.0 if off else half_life,
        "youngest": float("inf") if off else half_life * _SHORTEST_EXPONENT,
        "oldest": float("inf") if off else half_life * _LONGEST_EXPONENT,
        "limit": settings.limit,
    }


def _merged(
    recipe: Recipe, channel: str, stores: Sequence[Store], filters: Sequence[str]
) -> sql.Composable:
    """Merge the stores of one channel: documents first among equals."""
    if not stores:
        return sql.SQL(
            "SELECT NULL::text AS item, NULL::int AS store, NULL::float8 AS age, "
            "NULL::bigint AS rank WHERE false"
        )
    per_store = [
        sql.SQL(
            "SELECT item, {number}::int AS store, value, age, "
            "row_number() OVER (ORDER BY value DESC, tie) AS place FROM ({found}) found"
        ).format(
            number=sql.Literal(STORES.index(store)),
            found=best_rows(recipe, channel, store, filters),
        )
        for store in STORES
        if store in stores
    ]
    # A dropped row is not refilled, and the floor never touches the lexical channel.
    floor = (
        "WHERE %(floor)s::float8 IS NULL OR value >= %(floor)s::float8" if channel == VECTOR else ""
    )
    return sql.SQL(
        "SELECT item, store, age, row_number() OVER (ORDER BY value DESC, store, place) AS rank "
        "FROM ({rows}) merged {floor}"
    ).format(rows=sql.SQL(" UNION ALL ").join(per_store), floor=sql.SQL(floor))
