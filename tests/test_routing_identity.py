"""What is routed alike, with silent facts and an empty prior, is unrouted bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.config import load_config
from sweeper.exact import exact_curve
from sweeper.golden import GoldenSet, Route
from sweeper.knobs import TRIPLES, Value
from sweeper.metrics import parse_metrics
from sweeper.pools import Pool
from sweeper.prior import UsageLog, Usefulness
from sweeper.ranking import RankedRow, rank_captured, returned_keys
from sweeper.replay import Replay
from sweeper.results import Results
from sweeper.settings import Settings
from sweeper.staircase import Curve
from sweeper.sweep import run_sweep
from tests.projects import CONFIG, frames, write_project, write_rows
from tests.property.pools import CLASSES, grids_for, pools, random_pool, settings_for

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
METRICS = parse_metrics(["recall@1", "recall@3", "mrr", "ndcg@3", "abstention", "returned"])
COUNTED = parse_metrics(["recall@1", "recall@3", "hit@2", "mrr"])  # what the kernel counts
EXACT = ("recency_half_life_days", "min_similarity", "rrf_k")


def unrouted(pool: Pool, golden: GoldenSet) -> tuple[Pool, GoldenSet]:
    """Return the same without facts, classes and usage, as an engine without them captures it."""
    channels = tuple(name for name in pool.channels if name != TRIPLES)
    found = []
    for number in range(len(pool)):
        one = pool.candidates(number)
        rows = {place: rows for place, rows in one.rows.items() if place[0] in channels}
        found.append(replace(one, rows=rows))
    plain = Pool.from_candidates(found, channels=channels, depth=pool.depth)
    return plain, GoldenSet(tuple(replace(query, route=None) for query in golden.queries))


def empty_prior(pool: Pool) -> Pool:
    return replace(pool, usefulness=Usefulness({"none": UsageLog()}, AS_OF))


def bare(choice: Settings) -> Settings:
    """Return settings without classes and prior, and with silent facts."""
    return replace(choice, routing={}, usage={}).with_values({f"weights.{TRIPLES}": 0.0})


def routed_alike(choice: Settings, channels: Sequence[str]) -> Settings:
    """Return settings in which each class has, by name, what all questions have."""
    routing: dict[str, Value] = {}
    for name in CLASSES:
        routing[f"routing.{name}.budget"] = choice.limit
        for channel in channels:
            routing[f"routing.{name}.weights.{channel}"] = choice.weight(channel)
    usage: dict[str, Value] = {"prior.strength": 1.0, "prior.cap": 3.0}
    return replace(choice, routing=routing, usage=usage)


def exactly(row: RankedRow) -> tuple[object, ...]:
    numbers = (row.score, row.fused, row.factor, row.prior, row.age_days)
    bits = tuple(value.hex() for value in numbers)
    return (row.position, row.item_id, row.key, row.store, bits, dict(row.ranks), dict(row.values))


def curve(replay: Replay, choice: Settings, name: str) -> Curve:
    return exact_curve(replay, choice, name, METRICS, highest_k=120)


def assert_same_curve(one: Curve, other: Curve) -> None:
    assert one.edges.tobytes() == other.edges.tobytes()
    assert one.value.tobytes() == other.value.tobytes()
    for (ours, own), (theirs, their) in zip(one.points, other.points, strict=True):
        assert ours == theirs
        assert own.tobytes() == their.tobytes()
    rest = ("knob", "groups", "low", "high", "right_closed", "underflow", "unsettled")
    assert [getattr(one, name) for name in rest] == [getattr(other, name) for name in rest]


def assert_same(pool: Pool, golden: GoldenSet, choices: Sequence[Settings]) -> None:
    """Compare rows, returned keys, per-question values and figures, with numpy and compiled."""
    plain_pool, plain_golden = unrouted(pool, golden)
    pool = empty_prior(pool)
    plain = [bare(choice) for choice in choices]
    routed = [routed_alike(choice, pool.channels) for choice in plain]
    assert all(item.prior is not None and item.routing for item in routed)
    for query, same in zip(golden.queries, plain_golden.queries, strict=True):
        for ours, theirs in zip(routed, plain, strict=True):
            rows = [exactly(row) for row in rank_captured(pool, query, ours)]
            assert rows == [exactly(row) for row in rank_captured(plain_pool, same, theirs)]
            assert returned_keys(pool, ours, query) == returned_keys(plain_pool, theirs, same)
    one, other = Replay(pool, golden), Replay(plain_pool, plain_golden)
    for metric in METRICS:
        values = metric.values(one.positions(routed))
        assert values.tobytes() == metric.values(other.positions(plain)).tobytes()
    figures = other.figures(plain, METRICS)
    assert one.figures(routed, METRICS).value.tobytes() == figures.value.tobytes()
    for compiled in (False, True):
        one.compiled = compiled
        counted = one.figures(routed, COUNTED).value
        assert counted.tobytes() == other.figures(plain, COUNTED).value.tobytes()


@given(st.data())
@settings(deadline=None)
def test_any_settings_of_any_pool(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    assert_same(pool, golden, [data.draw(settings_for(pool))])


@pytest.mark.slow
@given(st.data())
@settings(deadline=None)
def test_a_grid_of_any_pool(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    assert_same(pool, golden, data.draw(grids_for(pool)))


def with_routes(golden: GoldenSet) -> GoldenSet:
    routes = [Route(name, "told") for name in CLASSES]
    return GoldenSet(
        tuple(replace(query, route=routes[n % 2]) for n, query in enumerate(golden.queries))
    )


@pytest.mark.parametrize("seed", range(3))
def test_crowded_pools(seed: int) -> None:
    pool, golden = random_pool(seed, n_queries=6, depth=12)
    choices = [
        Settings(k, floor, half_life, limit=10, depth=12)
        for k in (1, 60)
        for floor in (None, 0.45)
        for half_life in (0.0, 0.1, 30.0, 365.0, 1e17)
    ]
    assert_same(pool, with_routes(golden), choices)


def test_it_would_be_noticed() -> None:
    pool, golden = random_pool(0, n_queries=6, depth=12)
    choice = Settings(limit=10, depth=12)
    plain = Replay(pool, golden).figures([choice], METRICS).value.tobytes()
    for change in ({"routing.lookup.weights.vector": 0.5}, {"routing.impact.budget": 2}):
        replay = Replay(pool, with_routes(golden))
        own = replay.figures([choice.with_values({**change})], METRICS)
        assert own.value.tobytes() != plain


@given(st.data(), st.sampled_from(EXACT))
@settings(deadline=None)
def test_exact_curves_of_any_pool(data: st.DataObject, name: str) -> None:
    pool, golden = data.draw(pools())
    choice = bare(data.draw(settings_for(pool)))
    plain_pool, plain_golden = unrouted(pool, golden)
    ours = curve(Replay(empty_prior(pool), golden), routed_alike(choice, pool.channels), name)
    assert_same_curve(ours, curve(Replay(plain_pool, plain_golden), choice, name))


# --- a sweep on disk ------------------------------------------------------------------------------

ROUTED = """\
classes: golden
usage: {none: {path: empty.jsonl}}
"""
CLASS = "{budget: 4, weights.vector: 1, weights.lexical: 1, triples_weight: 0}"
ON = f"""\
triples_weight: 0, prior.strength: 1, routing: {{entity: {CLASS}, fresh: {CLASS}, nothing: {CLASS}}}
"""
FACT = {
    "subject": "Ada",
    "predicate": "chairs",
    "object": "the boat club",
    "sentence": "Ada chairs the boat club.",
    "page": "old-chair",
}


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Results, Results]:
    """Return one sweep with classes, facts and a prior that say nothing, and one without any."""
    found = []
    for name in ("routed", "plain"):
        folder = tmp_path_factory.mktemp(name)
        config = CONFIG.replace("abstention]", "abstention, ndcg@3, returned]")
        if name == "routed":
            config = config.replace("space:", f"{ROUTED}space:")
            config = config.replace("half_life_days: off}", f"half_life_days: off, {ON.strip()}}}")
            config = config.replace("corpus.jsonl}", "corpus.jsonl, triples: facts.jsonl}")
        path = write_project(folder, config)
        write_rows(folder / "facts.jsonl", [FACT])
        (folder / "empty.jsonl").write_text("")
        found.append(run_sweep(load_config(path), root=folder / "results").results)
    return found[0], found[1]


def test_a_sweep_has_the_same_tables(pair: tuple[Results, Results]) -> None:
    routed, plain = pair
    assert routed.pool.channels == ("vector", "lexical", "triples")
    assert len(routed.pool.provenance["evidence"]["q4"]) == 1
    tables = []
    for results in pair:
        found = frames(results.folder)
        number = {name: place for place, name in enumerate(found["trials"]["trial_id"])}
        for table in found.values():
            table["trial_id"] = [number[name] for name in table["trial_id"]]
        own = r"^(?!param_(prior|routing|weights))"
        tables.append([table.filter(regex=own) for table in found.values()])
    for ours, theirs in zip(*tables, strict=True):
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
    assert len(routed.trials) == len(plain.trials) == 18 + 3


def test_a_sweep_returns_the_same_keys(pair: tuple[Results, Results]) -> None:
    routed, plain = pair
    for number in range(len(plain.trials)):
        for query_id in plain.golden.query_ids:
            assert routed.returned(number, query_id) == plain.returned(number, query_id)


@pytest.mark.parametrize("name", EXACT)
def test_a_sweep_has_the_same_exact_curves(pair: tuple[Results, Results], name: str) -> None:
    for number in (0, 8, 20):
        ours, theirs = (curve(r.replay, r.settings[number], name) for r in pair)
        assert_same_curve(ours, theirs)
        assert len(theirs.edges) > 0 or name == "rrf_k"
