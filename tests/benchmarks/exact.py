"""The exact half-life curve against replaying 10,000 half-lives as a list of trials."""

from __future__ import annotations

import importlib.util
import statistics
import time
from dataclasses import dataclass
from functools import partial

import numpy as np

from sweeper.exact import exact_curve
from sweeper.metrics import parse_metrics
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.staircase import Curve
from tests.benchmarks import peers

__all__ = ["ExactRow", "exact_rows"]

METRICS = parse_metrics(["recall@5", "recall@10", "mrr"])
NAME = "recency_half_life_days"
N_HALF_LIVES = 10_000
FLOOR, GOAL = 20.0, 150.0


@dataclass(frozen=True, slots=True)
class ExactRow:
    """One pool size and tier: seconds of both, their ratio, and how many figures differ."""

    n_questions: int
    tier: str
    n_steps: int
    exact_seconds: float
    replay_seconds: float
    ratio: float
    mismatches: int


def exact_rows(sizes: tuple[int, ...] = (55, 1000, 10_000), n_rounds: int = 3) -> list[ExactRow]:
    """Race both on pools of several sizes; contenders take turns within each round."""
    rows = []
    tiers = [False, True] if importlib.util.find_spec("numba") else [False]
    for n_questions in sizes:
        pool, golden = peers.pool_of(peers.questions(n_questions), depth=20)
        base = Settings(limit=10, depth=20)
        half_lives = np.round(np.geomspace(0.5, 3650, N_HALF_LIVES), 6).tolist()
        trials = [base.with_values({NAME: half_life}) for half_life in half_lives]
        for compiled in tiers:
            replay = Replay(pool, golden, compiled=compiled)
            work = partial(exact_curve, replay, base, NAME, METRICS)
            replay.figures(trials[:10], METRICS)
            curve = work()
            spent: list[tuple[float, float]] = []
            for _ in range(n_rounds):
                started = time.perf_counter()
                curve = work()
                middle = time.perf_counter()
                figures = replay.figures(trials, METRICS)
                spent.append((middle - started, time.perf_counter() - middle))
            rows.append(
                ExactRow(
                    n_questions,
                    "compiled" if compiled else "numpy",
                    len(curve.edges),
                    statistics.median(exact for exact, _ in spent),
                    statistics.median(replayed for _, replayed in spent),
                    statistics.median(replayed / exact for exact, replayed in spent),
                    _mismatches(curve, half_lives, figures.value),
                )
            )
    return rows


def _mismatches(curve: Curve, half_lives: list[float], value: FloatArray) -> int:
    """Count the half-lives whose figures differ, but for those at which scores underflow."""
    shortest = curve.underflow[1] if curve.underflow else 0.0
    return sum(
        half_life > shortest and not np.array_equal(curve.at(half_life), figures, equal_nan=True)
        for half_life, figures in zip(half_lives, value, strict=True)
    )


if __name__ == "__main__":
    for row in exact_rows():
        print(row)
