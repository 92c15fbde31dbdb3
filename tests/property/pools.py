"""Strategies for small, nasty pools: ties everywhere, both stores, chunks, odd ages, deep lists."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st

from sweeper.corpus import STORES
from sweeper.golden import GoldenSet, Query, Route
from sweeper.knobs import Value
from sweeper.pools import Candidate, Pool, QueryCandidates
from sweeper.settings import Prior, Settings

AGES = st.one_of(
    st.sampled_from([0.0, 0.0, 1.0, 30.0, 30.0, 90.0, 365.0, math.nan, -2.0, 0.125, 5000.0]),
    st.floats(0, 2000, allow_nan=False),
)
FLOORS = st.one_of(st.none(), st.sampled_from([-1.0, 0.0, 0.25, 0.5, 1.0]), st.floats(-1, 1))
HALF_LIVES = st.one_of(
    st.sampled_from([0.0, 0.0, 1e-3, 0.01, 1.0, 7.0, 30.0, 90.0, 365.0, 1e9, 1e18, 1e300]),
    st.floats(0.05, 10_000),
)
WEIGHTS = st.sampled_from([1.0, 1.0, 1.0, 0.0, 0.5, 2.0, 0.1, 1e-40])
CLASSES = ("lookup", "impact")


@dataclass(frozen=True)
class Liked:
    """What usage says of some keys."""

    ratio: Mapping[str, float]

    def factors(self, prior: Prior) -> dict[str, float]:
        return {
            key: min(prior.cap, max(1 / prior.cap, ratio**prior.strength))
            for key, ratio in self.ratio.items()
        }


@st.composite
def pools(draw: st.DrawFn, *, channels: tuple[str, ...] | None = None) -> tuple[Pool, GoldenSet]:
    """Return a pool of one to four queries and a golden set over it."""
    if channels is None:
        channels = draw(
            st.sampled_from([("vector", "lexical"), ("lexical",), ("vector", "lexical", "triples")])
        )
    depth = draw(st.integers(1, 8))
    candidates = []
    queries = []
    for number in range(draw(st.integers(1, 4))):
        query_id = f"q{number}"
        n_items = draw(st.integers(0, 12))
        ages = draw(st.lists(AGES, min_size=n_items, max_size=n_items))
        items = [
            (f"q{number}d{i // 2}@{i % 2}", f"q{number}d{i // 2}", "document", math.nan)
            if i % 3
            else (f"q{number}m{i}", f"q{number}m{i}", "memory", age)
            for i, age in enumerate(ages)
        ]
        rows = {}
        for channel in channels:
            for store in STORES:
                own = [item for item in items if item[2] == store]
                chosen = draw(st.permutations(own))[: draw(st.integers(0, depth))]
                values = sorted(
                    draw(
                        st.lists(
                            st.sampled_from([0.9, 0.5, 0.5, 0.25, 0.25, 0.0, -0.1]),
                            min_size=len(chosen),
                            max_size=len(chosen),
                        )
                    ),
                    reverse=True,
                )
                rows[channel, store] = [
                    Candidate(i, k, store, v, a)
                    for (i, k, _, a), v in zip(chosen, values, strict=True)
                ]
        candidates.append(QueryCandidates(query_id, rows))
        keys = [*dict.fromkeys(item[1] for item in items), "nowhere"]
        expected = draw(st.lists(st.sampled_from(keys), unique=True, max_size=4))
        grades = {key: float(draw(st.integers(1, 3))) for key in expected if draw(st.booleans())}
        query = Query(query_id, draw(st.sampled_from("ab")), "text", tuple(expected), grades)
        route = draw(st.sampled_from([None, *CLASSES]))
        queries.append(replace(query, route=None if route is None else Route(route, "drawn")))
    pool = Pool.from_candidates(candidates, channels=channels, depth=depth)
    if draw(st.booleans()):
        ratios = {key: draw(st.sampled_from([0.5, 1.0, 1.5, 3.0])) for key in set(pool.item_keys)}
        pool = replace(pool, usefulness=Liked(ratios))
    return pool, GoldenSet(tuple(queries))


@st.composite
def settings_for(draw: st.DrawFn, pool: Pool) -> Settings:
    """Return any settings that the pool is deep enough for."""
    depth = draw(st.integers(1, pool.depth))
    limit = draw(st.integers(1, 12)) if draw(st.booleans()) else depth
    routing: dict[str, Value] = {}
    for name in CLASSES if draw(st.booleans()) else ():
        routing[f"routing.{name}.budget"] = draw(st.none() | st.integers(1, 6))
        for channel in pool.channels:
            if draw(st.booleans()):
                weight = draw(WEIGHTS | st.none()) if channel == "triples" else draw(WEIGHTS)
                routing[f"routing.{name}.weights.{channel}"] = weight
    usage: dict[str, Value] = {}
    if pool.usefulness is not None:
        usage["prior.strength"] = draw(st.sampled_from([0.0, 1.0, 0.3]))
        usage["prior.cap"] = draw(st.sampled_from([1.0, 1.5, 10.0]))
    weights = {channel: draw(WEIGHTS) for channel in pool.channels}
    if "triples" in weights and draw(st.booleans()):
        del weights["triples"]  # safe
    return Settings(
        rrf_k=draw(st.sampled_from([1, 2, 3, 5, 20, 60, 200, 10_000])),
        min_similarity=draw(FLOORS),
        recency_half_life_days=draw(HALF_LIVES),
        limit=limit,
        depth=depth,
        weights=weights,
        stores=draw(st.sampled_from(["all", "all", "document", "memory"])),
        routing=routing,
        usage=usage,
    )


@st.composite
def grids_for(draw: st.DrawFn, pool: Pool) -> list[Settings]:
    """Return the settings of a small grid, which takes the shared paths of the replay."""
    base = draw(settings_for(pool))
    floors = draw(st.lists(FLOORS, min_size=1, max_size=4))
    half_lives = draw(st.lists(HALF_LIVES, min_size=3, max_size=8))
    return [
        base.with_values({"min_similarity": floor, "recency_half_life_days": half_life})
        for floor in floors
        for half_life in half_lives
    ]


def random_pool(
    seed: int, n_queries: int, depth: int, channels: tuple[str, ...] = ("vector", "lexical")
) -> tuple[Pool, GoldenSet]:
    """Return a larger seeded pool whose ranks and ages collide often, for full counts."""
    rng = np.random.default_rng(seed)
    candidates, queries = [], []
    for number in range(n_queries):
        items = []
        for i in range(int(rng.integers(2, 3 * depth))):
            memory = bool(rng.random() < 0.5)
            age = float(rng.choice([0.0, 3.0, 30.0, 60.0, 365.0, float(rng.integers(0, 400))]))
            name = f"q{number}i{i // 2 if not memory else i}"
            items.append(
                Candidate(name, name, "memory", 0.0, age)
                if memory
                else Candidate(f"{name}@{i % 2}", name, "document", 0.0)
            )
        rows = {}
        for channel in ("vector", "lexical"):
            for store in STORES:
                own = [item for item in items if item.store == store]
                keep = rng.permutation(len(own))[: int(rng.integers(0, depth + 1))]
                values = np.sort(rng.integers(-2, 20, len(keep)) / 20.0)[::-1]
                rows[channel, store] = [
                    own[i]._replace(value=float(v)) for i, v in zip(keep, values, strict=True)
                ]
        candidates.append(QueryCandidates(f"q{number}", rows))
        keys = list(dict.fromkeys(item.key for item in items))
        expected = rng.choice(keys, min(len(keys), int(rng.integers(1, 4))), replace=False)
        queries.append(Query(f"q{number}", "ab"[number % 2], "text", tuple(map(str, expected))))
    pool = Pool.from_candidates(candidates, channels=channels, depth=depth)
    return pool, GoldenSet(tuple(queries))
