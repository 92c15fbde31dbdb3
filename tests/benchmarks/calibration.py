"""Do the intervals cover, do the tests hold their level, is the estimate of a pick honest?

    python -m tests.benchmarks.calibration            full counts, a few minutes on one core
    python -m tests.benchmarks.calibration --quick    the same with few repetitions

Everything is seeded. Shapes of values are those of the bundled sweep (``configs/recency.yaml``):
84 settings, 234 questions. The tables stand in ``docs/methods.md``, the bounds in
``tests/property/test_calibration.py``.
"""

from __future__ import annotations

import argparse
import functools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import binom

from sweeper.config import load_config
from sweeper.constraints import Constraint, Objective, parse_constraint
from sweeper.cross_validation import cross_validate
from sweeper.intervals import bca, bounded_mean, clopper_pearson
from sweeper.pools import FloatArray
from sweeper.recommend import Choice, choose
from sweeper.scores import Scores, scores_of
from sweeper.sweep import run_sweep
from sweeper.tables import Column, decimals, markdown_table

__all__ = [
    "Calibration",
    "bca_coverage",
    "binomial_coverage",
    "bounded_coverage",
    "bundled",
    "estimates",
    "main",
    "null_sweeps",
    "power",
]

_SEED = 20_261_101
_ROOT = Path(__file__).resolve().parents[2]
_SLICES = ("exact_name", "entity", "semantic", "freshness", "overall")


@dataclass(frozen=True)
class Calibration:
    """Repetitions of each part."""

    coverage: int = 4_000
    sweeps: int = 1_000
    estimates: int = 1_500


FULL, QUICK = Calibration(), Calibration(coverage=100, sweeps=60, estimates=12)


@functools.cache
def bundled() -> tuple[Scores, int]:
    """Return every question's values under every setting of the bundled sweep, and today's."""
    with tempfile.TemporaryDirectory() as folder:
        results = run_sweep(load_config(_ROOT / "configs/recency.yaml"), root=folder).results
        scores = scores_of(results.replay, results.settings, results.metrics)
        return scores, results.trial("current")


def shapes() -> dict[str, FloatArray]:
    """Return reciprocal ranks of today's setting per slice, and one paired difference."""
    scores, current = bundled()
    found = {name: scores.rows(f"{name}.mrr")[0][current] for name in _SLICES}
    rows = scores.rows("overall.mrr")[0]
    # The setting that moves the most questions gives the widest differences.
    busiest = int((rows != rows[current]).sum(axis=1).argmax())
    found["a difference"] = rows[busiest] - rows[current]
    return found


# --- intervals ------------------------------------------------------------------------------------


def binomial_coverage(n: int) -> tuple[float, float]:
    """Return the least and the mean coverage of the exact interval over shares from 0 to 1."""
    limits = np.array([clopper_pearson(k, n) for k in range(n + 1)])
    shares = np.linspace(0.005, 0.995, 199)
    inside = (limits[:, 0] <= shares[:, None]) & (shares[:, None] <= limits[:, 1])
    covered = (binom.pmf(np.arange(n + 1), n, shares[:, None]) * inside).sum(axis=1)
    return float(covered.min()), float(covered.mean())


def bca_coverage(values: FloatArray, n: int, repetitions: int) -> float:
    """Return how often the bootstrap interval of n drawn values holds their true mean."""
    rng = np.random.default_rng([_SEED, n])
    hits = 0
    for number in range(repetitions):
        low, high = bca([rng.choice(values, n)], seed=number, n_samples=1_999)
        hits += low <= values.mean() <= high
    return hits / repetitions


def bounded_coverage(values: FloatArray, n: int, repetitions: int) -> float:
    """Return how often the bounded-mean interval of n drawn values holds their true mean."""
    bounds = (-1.0, 1.0) if values.min() < 0 else (0.0, 1.0)
    rng = np.random.default_rng([_SEED, n])
    hits = 0
    for number in range(repetitions):
        low, high = bounded_mean(rng.choice(values, n), seed=number, bounds=bounds, n_samples=2_000)
        hits += low <= values.mean() <= high
    return hits / repetitions


# --- sweeps ---------------------------------------------------------------------------------------


def drawn(
    rng: np.random.Generator, n: int | None = None, *, real: float = 0.0
) -> tuple[Scores, int]:
    """Draw questions of the bundled sweep and permute each one's results between settings.

    Parameters
    ----------
    rng
        Source of randomness.
    n
        Questions, drawn with replacement; each bundled question once unless given.
    real
        Chance of a question to keep its results where they are; 0 is the null hypothesis.
    """
    scores, current = bundled()
    total = len(scores.slice_of)
    chosen = np.arange(total) if n is None else rng.integers(0, total, n)
    order = rng.permuted(np.tile(np.arange(scores.n_trials), (len(chosen), 1)), axis=1).T
    order[:, rng.random(len(chosen)) < real] = np.arange(scores.n_trials)[:, None]
    values = {
        name: np.take_along_axis(table[:, chosen], order, axis=0)
        for name, table in scores.values.items()
    }
    return Scores(values, scores.slices, scores.slice_of[chosen]), current


def chosen_of(
    scores: Scores,
    current: int,
    address: str,
    *,
    constraints: Sequence[Constraint] = (),
    seed: int,
) -> Choice:
    return choose(
        scores,
        [Objective(address, "maximize")],
        constraints,
        current=current,
        preference=_preference(scores),
        seed=seed,
        n_permutations=1_999,
    )


def _preference(scores: Scores) -> list[tuple[float, ...]]:
    return [(float(n),) for n in range(scores.n_trials)]


@dataclass(frozen=True)
class Left:
    """Shares of null sweeps in which a policy leaves today's setting."""

    supported: float
    guarded: float
    dominant: float
    either: float


def null_sweeps(address: str, repetitions: int) -> Left:
    """Return how often the policies leave today's setting when no setting is better.

    ``supported`` has no constraints, ``guarded`` the default ones (no slice's recall@10 or MRR
    below today's); ``either`` counts sweeps that the test or dominance would leave.
    """
    scores, _ = bundled()
    guards = [
        parse_constraint(f"{name}.{metric} >= current")
        for name in scores.slices
        for metric in ("recall@10", "mrr")
        if len(scores.rows(f"{name}.{metric}")[1])
    ]
    rng = np.random.default_rng([_SEED, 1])
    found = np.zeros((repetitions, 4), bool)
    for number in range(repetitions):
        sweep, current = drawn(rng)
        free = chosen_of(sweep, current, address, seed=number)
        bound = chosen_of(sweep, current, address, constraints=guards, seed=number)
        supported, dominant = bool(free.supported), bool(free.dominant)
        found[number] = supported, bool(bound.supported), dominant, supported or dominant
    return Left(*(float(share) for share in found.mean(axis=0)))


def small_dominance(n: int, repetitions: int) -> float:
    """Return in how many null sweeps of n questions some setting is worse on none of them."""
    rng = np.random.default_rng([_SEED, 4])
    found = 0
    for number in range(repetitions):
        sweep, current = drawn(rng, n)
        found += bool(chosen_of(sweep, current, "overall.mrr", seed=number).dominant)
    return found / repetitions


def power(
    n: int, gain: float, *, agree: float, settings: int, repetitions: int
) -> tuple[float, float]:
    """Return how often one setting's true gain in overall MRR is found, and something else is.

    ``agree`` is the share of questions that the setting would answer exactly as today's does, if it
    were not better; ``settings`` are tried.
    """
    rng = np.random.default_rng([_SEED, 2])
    right = wrong = 0
    for number in range(repetitions):
        sweep, current = drawn(rng, n)
        kept = np.roll(np.arange(sweep.n_trials), -current)[:settings]
        sweep = Scores(
            {name: table[kept].copy() for name, table in sweep.values.items()},
            sweep.slices,
            sweep.slice_of,
        )
        current, winner = 0, 1
        table = sweep.values["mrr"]
        same = rng.random(n) < agree
        table[winner, same] = table[current, same]
        room = ~np.isnan(table[winner]) & (table[winner] < 1)
        # Some of the answers that did not stand first do now, so that the mean rises by ``gain``.
        missing = float(np.nanmean(1 - bundled()[0].values["mrr"]))
        table[winner, room & (rng.random(n) < gain / missing)] = 1.0
        supported = chosen_of(sweep, current, "overall.mrr", seed=number).supported
        right += winner in supported
        wrong += bool(supported) and winner not in supported
    return right / repetitions, wrong / repetitions


@dataclass(frozen=True)
class Error:
    """Mean errors against the true figure of the picked setting on fresh questions."""

    in_sample: float
    cross_validated: float
    standard_error: float


def estimates(n: int, real: float, repetitions: int) -> Error:
    """Return how far a pick's figures are from what its setting is worth on fresh questions.

    A share ``real`` of the questions keeps its results, so a setting's true figure is known: the
    mean of its own figure and that of all settings, so weighted.
    """
    scores, _ = bundled()
    rows = scores.rows("overall.mrr")[0]
    truth = real * rows.mean(axis=1) + (1 - real) * rows.mean()
    rng = np.random.default_rng([_SEED, 3])
    found = []
    objectives = [Objective("overall.mrr", "maximize")]
    for number in range(repetitions):
        sweep, current = drawn(rng, n, real=real)
        [best, *_] = chosen_of(sweep, current, "overall.mrr", seed=number).best
        validated = cross_validate(
            sweep,
            objectives,
            (),
            current=current,
            preference=_preference(sweep),
            policy="best",
            seed=number,
            n_repeats=1,
        )
        assert validated is not None
        own = float(sweep.figure("overall.mrr")[best])
        found.append((own - truth[best], validated.figure - truth[best]))
    errors = np.array(found)
    in_sample, cross_validated = errors.mean(axis=0).tolist()
    return Error(in_sample, cross_validated, float(errors[:, 1].std() / np.sqrt(repetitions)))


# --- the report -----------------------------------------------------------------------------------


def report(counts: Calibration) -> str:
    """Return every table as Markdown."""
    share = decimals(3)
    number = Column("questions", "right")
    parts = [
        "Exact binomial interval, all shares from 0.005 to 0.995:\n",
        markdown_table(
            (number, Column("least coverage", "right", share), Column("mean", "right", share)),
            [(n, *binomial_coverage(n)) for n in (8, 15, 60, 300)],
        ),
        "BCa bootstrap, reciprocal ranks of a slice of the bundled corpus:\n",
        markdown_table(
            (Column("values"), *(Column(f"n = {n}", "right", share) for n in (20, 60, 120))),
            [
                (name, *(bca_coverage(values, n, counts.coverage) for n in (20, 60, 120)))
                for name, values in shapes().items()
            ],
        ),
        "Bounded mean, the same values:\n",
        markdown_table(
            (Column("values"), *(Column(f"n = {n}", "right", share) for n in (5, 10, 19))),
            [
                (name, *(bounded_coverage(values, n, counts.coverage) for n in (5, 10, 19)))
                for name, values in shapes().items()
            ],
        ),
        "Sweeps in which no setting is better; share in which the pick leaves today's:\n",
        markdown_table(
            (
                Column("first objective"),
                Column("supported", "right", share),
                Column("with default constraints", "right", share),
                Column("dominant", "right", share),
                Column("either", "right", share),
            ),
            [
                (address, left.supported, left.guarded, left.dominant, left.either)
                for address in ("freshness.mrr", "entity.recall@10", "overall.mrr")
                for left in [null_sweeps(address, counts.sweeps)]
            ],
        ),
        "Such sweeps with few questions; share in which some setting is worse on none:\n",
        markdown_table(
            (number, Column("dominant", "right", share)),
            [(n, small_dominance(n, counts.sweeps)) for n in (5, 10, 20, 40)],
        ),
        "One setting is better by 0.1 in MRR:\n",
        markdown_table(
            (
                number,
                Column("settings", "right"),
                Column("answered as today", "right"),
                Column("found", "right", share),
                Column("another one picked", "right", share),
            ),
            [
                (n, k, f"{agree:.0%}", *power(n, 0.1, agree=agree, settings=k, repetitions=repeats))
                for repeats in [counts.sweeps]
                for n in (60, 120)
                for k in (12, 84)
                for agree in (0.0, 0.9)
            ],
        ),
        "Mean error of the best setting's figure against fresh questions (60 questions):\n",
        markdown_table(
            (
                Column("questions with a true difference", "right"),
                Column("in sample", "right", decimals(4)),
                Column("cross-validated", "right", decimals(4)),
                Column("standard error", "right", decimals(4)),
            ),
            [
                (f"{real:.0%}", error.in_sample, error.cross_validated, error.standard_error)
                for real in (0.0, 0.5, 1.0)
                for error in [estimates(60, real, counts.estimates)]
            ],
        ),
    ]
    return "\n".join(parts)


def main() -> None:
    """Print every table."""
    parser = argparse.ArgumentParser(description="Measure coverage, level, power and honesty.")
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    print(report(QUICK if parser.parse_args().quick else FULL), end="")


if __name__ == "__main__":
    main()
