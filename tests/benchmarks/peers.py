"""The workload of the benchmarks, and what other people's code does with it.

Where the folder ``shared`` stands beside the repository, its generator and its plain-Python trial
are used, so that figures compare with those published there; otherwise ours, of the same shape.
"""

from __future__ import annotations

import ast
import importlib.util
import itertools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sweeper.corpus import STORES
from sweeper.golden import GoldenSet, Query
from sweeper.pools import Candidate, Pool, QueryCandidates
from sweeper.settings import Settings

PROTOTYPES = Path(__file__).resolve().parents[3] / "shared" / "prototypes"

LIMIT = 10
SLICES = ("docs", "memories", "mixed", "short", "long")

Row: TypeAlias = dict[str, Any]
Knobs: TypeAlias = tuple[float, float, float]  # rrf_k, min_similarity, half-life
Trial: TypeAlias = Callable[[list[Row], float, float, float], dict[str, tuple[float, float, float]]]


def questions(n_queries: int, per_channel: int = 20) -> list[Row]:
    """Return synthetic questions with their candidates in two channels, the same every time."""
    shared = _shared_workload()
    if shared is not None:
        rows: list[Row] = shared.make(Q=n_queries, per_channel=per_channel, seed=0).queries
        return rows
    rng = np.random.default_rng([7, n_queries, per_channel])
    return [_question(rng, number, per_channel) for number in range(n_queries)]


def grid(n_trials: int) -> list[Knobs]:
    """Return a full grid of 100, 1,000 or 10,000 settings."""
    n_k, n_floors, n_half_lives = {100: (5, 4, 5), 1000: (10, 10, 10), 10_000: (25, 20, 20)}[
        n_trials
    ]
    every = np.unique(np.round(np.geomspace(1, 200, 2 * n_k)))
    ks = every[np.linspace(0, len(every) - 1, n_k).astype(int)]
    floors = np.round(np.linspace(0, 0.9, n_floors), 4)
    half_lives = [0.0, *np.round(np.geomspace(0.5, 730, n_half_lives - 1), 4).tolist()]
    return list(itertools.product(ks.tolist(), floors.tolist(), half_lives))


def trials(n_trials: int, seed: int = 0) -> list[Knobs]:
    """Return unrelated settings, as a sampler proposes them."""
    rng = np.random.default_rng([seed, n_trials])
    ks = rng.integers(1, 201, n_trials).astype(float)
    floors = np.round(rng.uniform(0, 0.9, n_trials), 4)
    half_lives = np.round(np.exp(rng.uniform(np.log(0.5), np.log(730), n_trials)), 4)
    half_lives[rng.random(n_trials) < 0.1] = 0.0
    return list(zip(ks.tolist(), floors.tolist(), half_lives.tolist(), strict=True))


def settings_of(knobs: list[Knobs], depth: int = 20) -> list[Settings]:
    return [
        Settings(int(k), floor, half_life, limit=LIMIT, depth=depth)
        for k, floor, half_life in knobs
    ]


def pool_of(rows: list[Row], depth: int) -> tuple[Pool, GoldenSet]:
    """Return the same questions as a pool and a golden set."""
    candidates = []
    for row in rows:
        found: dict[Any, list[Candidate]] = {}
        for channel in ("vector", "lexical"):
            for item in row[channel]:
                # A billionth apart, rows of equal cosine keep the ranks that the workload gives.
                value = item["cosine"] + (depth - item["rank"]) * 1e-9 if channel == "vector" else 0
                found.setdefault((channel, item["kind"]), []).append(
                    Candidate(
                        item["id"],
                        item["id"],
                        item["kind"],
                        value if channel == "vector" else -float(item["rank"]),
                        float("nan") if item["age_days"] is None else item["age_days"],
                    )
                )
        candidates.append(QueryCandidates(row["qid"], found))
    golden = GoldenSet(
        tuple(Query(row["qid"], row["slice"], "text", tuple(row["expected"])) for row in rows)
    )
    return Pool.from_candidates(candidates, channels=("vector", "lexical"), depth=depth), golden


def plain_trial() -> Trial:
    """Return one trial as most people write it: recall@5, recall@10 and MRR per slice."""
    path = PROTOTYPES / "prototype_replay.py"
    if not path.exists():
        return _plain_trial
    tree = ast.parse(path.read_text("utf-8"))
    tree.body = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == "plain_trial"]
    names: dict[str, Any] = {}
    exec(compile(tree, str(path), "exec"), names)
    trial: Trial = names["plain_trial"]
    return trial


def _plain_trial(
    rows: list[Row], k: float, floor: float, half_life: float
) -> dict[str, tuple[float, float, float]]:
    totals: dict[str, list[float]] = {}
    for row in rows:
        scores: dict[str, float] = {}
        ages: dict[str, float | None] = {}
        for item in row["vector"]:
            if item["cosine"] >= floor:
                scores[item["id"]] = 1.0 / (k + item["rank"])
                ages[item["id"]] = item["age_days"]
        for item in row["lexical"]:
            scores[item["id"]] = scores.get(item["id"], 0.0) + 1.0 / (k + item["rank"])
            ages[item["id"]] = item["age_days"]
        if half_life > 0:
            for name, age in ages.items():
                if age is not None:
                    scores[name] *= 2.0 ** (-age / half_life)
        ranked = [name for name, _ in sorted(scores.items(), key=lambda pair: -pair[1])[:LIMIT]]
        expected = row["expected"]
        total = totals.setdefault(row["slice"], [0.0, 0.0, 0.0, 0])
        total[0] += sum(key in ranked[:5] for key in expected) / len(expected)
        total[1] += sum(key in ranked for key in expected) / len(expected)
        total[2] += next((1 / p for p, key in enumerate(ranked, 1) if key in expected), 0.0)
        total[3] += 1
    return {name: (a / n, b / n, c / n) for name, (a, b, c, n) in totals.items()}


def ranx_trial(rows: list[Row]) -> Callable[[float], object] | None:
    """Return ranx's fastest path: fuse two runs under one ``rrf_k`` and evaluate, no other knob."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ranx
    except ImportError:
        return None
    qrels = ranx.Qrels({row["qid"]: dict.fromkeys(row["expected"], 1) for row in rows})
    runs = [
        ranx.Run(
            {row["qid"]: {item["id"]: 1 / item["rank"] for item in row[channel]} for row in rows}
        )
        for channel in ("vector", "lexical")
    ]

    def trial(k: float) -> object:
        fused = ranx.fuse(runs, norm=None, method="rrf", params={"k": int(k)})
        measures = ["recall@5", "recall@10", "mrr@10"]
        found: object = ranx.evaluate(qrels, fused, measures, save_results_in_run=False)
        return found

    return trial


def _shared_workload() -> Any:
    path = PROTOTYPES / "workload.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("shared_workload", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["shared_workload"] = module
    spec.loader.exec_module(module)
    return module


def _question(rng: np.random.Generator, number: int, per_channel: int) -> Row:
    sizes = [
        per_channel if rng.random() < 0.8 else int(rng.integers(1, per_channel + 1)) for _ in "vl"
    ]
    n_shared = min(round(0.4 * per_channel), *sizes)
    total = sum(sizes) - n_shared
    names = [f"q{number:05d}c{place:03d}" for place in range(total)]
    memory = rng.random(total) < 0.5
    days = np.floor(rng.exponential(60.0, total))  # whole days: scores tie often
    cosines = np.sort(np.round(rng.beta(5, 3, sizes[0]) * 0.8 + 0.15, 4))[::-1]

    def row(place: int, rank: int) -> Row:
        return {
            "id": names[place],
            "kind": STORES[int(memory[place])],
            "age_days": float(days[place]) if memory[place] else None,
            "rank": rank,
        }

    both = rng.choice(sizes[0], n_shared, replace=False)
    lexical = rng.permutation([*both.tolist(), *range(sizes[0], total)]).tolist()
    expected = []
    for _ in range(int(rng.choice([1, 2, 3], p=[0.7, 0.2, 0.1]))):
        source = range(sizes[0]) if rng.random() < 0.5 else lexical
        place = min(int(rng.exponential(5)), len(source) - 1)
        expected.append(names[source[place]] if rng.random() > 0.08 else f"q{number:05d}lost")
    return {
        "qid": f"q{number:05d}",
        "slice": SLICES[number % len(SLICES)],
        "expected": list(dict.fromkeys(expected)),
        "vector": [
            {**row(place, place + 1), "cosine": float(cosines[place])} for place in range(sizes[0])
        ],
        "lexical": [row(place, rank) for rank, place in enumerate(lexical, 1)],
    }
