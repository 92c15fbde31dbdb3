"""Ranked lists and figures that two independent implementations agreed on, from given candidates.

Ties stand as the candidates were given, so the order, and with it every figure, must be equal.
"""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sweeper.evaluate import Figures
from sweeper.golden import GoldenSet, Query
from sweeper.metrics import parse_metrics
from sweeper.pools import Candidate, Pool, QueryCandidates
from sweeper.ranking import rank
from sweeper.replay import Replay
from sweeper.settings import Settings

METRICS = parse_metrics(["recall@5", "recall@10", "mrr"])


class Reference(NamedTuple):
    pool: Pool
    golden: GoldenSet
    settings: list[dict[str, Any]]
    full_lists: list[dict[str, Any]]

    @property
    def decided(self) -> list[dict[str, Any]]:
        return [case for case in self.settings if case["limit"] <= self.pool.depth]

    def choice(self, case: dict[str, Any]) -> Settings:
        names = ("rrf_k", "min_similarity", "recency_half_life_days", "limit")
        return Settings(**{name: case[name] for name in names})


@pytest.fixture(scope="module")
def reference(shared: Path) -> Reference:
    content = json.loads((shared / "oracle" / "expected_soat_v3.json").read_text("utf-8"))
    lines = (shared / "data" / "soat" / "corpus.jsonl").read_text("utf-8").splitlines()
    age = {row["id"]: row.get("age_days") for row in map(json.loads, lines)}
    candidates = []
    for query in content["candidates_limit10"]:
        rows: dict[Any, list[Candidate]] = {}
        for channel in ("vector", "lexical"):
            for store, listed in query[channel].items():
                rows[channel, store] = [
                    Candidate(
                        item,
                        item.partition("@")[0],
                        store,
                        value,
                        float(age[item]) if store == "memory" else float("nan"),
                    )
                    for item, value in listed
                ]
        candidates.append(QueryCandidates(query["id"], rows))
    lines = (shared / "data" / "soat" / "golden.jsonl").read_text("utf-8").splitlines()
    golden = GoldenSet(
        tuple(
            Query(row["id"], row["slice"], row["query"], tuple(row["expected"]))
            for row in map(json.loads, lines)
        )
    )
    pool = Pool.from_candidates(candidates, channels=("vector", "lexical"), depth=10)
    return Reference(pool, golden, content["settings"], content["full_lists"])


def test_the_reference_has_the_cases_that_its_description_names(reference: Reference) -> None:
    assert len(reference.golden) == len(reference.pool) == 58
    assert len(reference.settings) == 84
    # Ten candidates per channel and store decide a limit of ten at most.
    assert len(reference.decided) == 80
    assert len(reference.full_lists) == 10


def test_ranked_lists_equal_the_reference(reference: Reference) -> None:
    number = {query_id: n for n, query_id in enumerate(reference.pool.query_ids)}
    for case in reference.full_lists:
        for query in case["queries"]:
            candidates = reference.pool.candidates(number[query["id"]])
            rows = rank(candidates, reference.choice(case))
            assert [row.item_id for row in rows] == query["items"], (case["rrf_k"], query["id"])
            assert [row.score for row in rows] == pytest.approx(query["scores"], abs=1e-12, rel=0)


@pytest.mark.parametrize("compiled", [False, True], ids=["numpy", "compiled"])
def test_figures_equal_the_reference(reference: Reference, compiled: bool) -> None:
    if compiled and importlib.util.find_spec("numba") is None:
        pytest.skip("numba is not installed: the compiled kernel is an extra (fast)")
    figures = replayed(reference, compiled)
    for trial, case in enumerate(reference.decided):
        for name, expected in case["slices"].items():
            for metric in ("recall@5", "recall@10", "mrr"):
                ours = figures.get(f"{name}.{metric}", trial)
                assert ours == pytest.approx(expected[metric], abs=1e-12, rel=0), (case, name)
            group, place = figures.place(f"{name}.mrr")
            assert figures.n_queries[group, place] == expected["n"]


def test_compiled_figures_equal_numpys_bit_for_bit(reference: Reference) -> None:
    pytest.importorskip("numba", reason="the compiled kernel is an extra (fast)")
    plain, fast = replayed(reference, False), replayed(reference, True)
    assert plain.value.tobytes() == fast.value.tobytes()


def replayed(reference: Reference, compiled: bool) -> Figures:
    choices = [reference.choice(case) for case in reference.decided]
    return Replay(reference.pool, reference.golden, compiled=compiled).figures(choices, METRICS)
