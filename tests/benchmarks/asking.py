"""What the parent of a sweep pays for a trial: asking, keeping, book-keeping; beside Optuna's own.

Optuna's own loop asks for one trial, is told its figure, and goes on, with its study in memory, in
its journal file or in SQLite. Ours asks in batches of 16 from a study made anew, drops repeated
points, and keeps each trial in our journal.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna.storages.journal import JournalFileBackend

from sweeper.config import load_config
from sweeper.samplers import Kind, Known, make_sampler
from sweeper.settings import Settings
from sweeper.spaces import SearchSpace, Span
from sweeper.sweep import run_sweep

__all__ = ["Asked", "asking_costs", "bookkeeping"]

N_TRIALS = 300
SPACE = SearchSpace(
    Settings(),
    {"rrf_k": tuple(range(1, 201)), "limit": tuple(range(1, 21))},
    {
        "recency_half_life_days": Span(1.0, 10_000.0, log=True),
        "weights.vector": Span(0.25, 4.0, log=True),
        "min_similarity": Span(-0.2, 0.6),
    },
)


@dataclass(frozen=True, slots=True)
class Asked:
    """Milliseconds a trial, ours and Optuna's own loop by where it keeps its study."""

    kind: str
    ours: float
    memory: float
    journal: float
    sqlite: float


def asking_costs(n_trials: int = N_TRIALS) -> Iterator[Asked]:
    """Yield what asking costs, per sampler."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    kinds: tuple[tuple[Kind, Callable[[], Any]], ...] = (
        ("random", lambda: optuna.samplers.RandomSampler(seed=0)),
        ("tpe", lambda: optuna.samplers.TPESampler(seed=0)),
        ("nsga2", lambda: optuna.samplers.NSGAIISampler(seed=0)),
    )
    for kind, sampler in kinds:
        own = {
            name: _optunas(sampler(), name, n_trials) for name in ("memory", "journal", "sqlite")
        }
        yield Asked(kind, _ours(kind, n_trials), **own)


def _ours(kind: Kind, n_trials: int) -> float:
    own = make_sampler(
        SPACE, kind, n_trials=n_trials, batch_size=16, sequence="sobol", n_objectives=1, seed=0
    )
    known: list[Known] = []
    started = time.perf_counter()
    while batch := own.propose(known):
        known += [Known(item, (float(item.rrf_k % 7),)) for item in batch]
    return 1000 * (time.perf_counter() - started) / n_trials


def _optunas(sampler: Any, storage: str, n_trials: int) -> float:
    def objective(trial: optuna.Trial) -> float:
        k = trial.suggest_int("rrf_k", 1, 200)
        trial.suggest_int("limit", 1, 20)
        trial.suggest_float("recency_half_life_days", 1, 10_000, log=True)
        trial.suggest_float("weights.vector", 0.25, 4, log=True)
        trial.suggest_float("min_similarity", -0.2, 0.6)
        return float(k % 7)

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept: Any = None
        if storage == "journal":
            backend = JournalFileBackend(str(Path(folder, "study.log")))
            kept = optuna.storages.JournalStorage(backend)
        elif storage == "sqlite":
            kept = f"sqlite:///{folder}/study.db"
        study = optuna.create_study(sampler=sampler, storage=kept)
        started = time.perf_counter()
        study.optimize(objective, n_trials=n_trials)
        return 1000 * (time.perf_counter() - started) / n_trials


def bookkeeping(folder: Path, n_trials: int = 2000) -> float:
    """Return milliseconds a trial of a whole random sweep over one question: all but replay.

    Parameters
    ----------
    folder
        Holds ``speed.yaml`` (see ``benchmark.write_project``).
    n_trials
        How many settings are tried.
    """
    config = load_config(
        folder / "speed.yaml",
        [
            "space={rrf_k: {low: 1, high: 1000}, recency_half_life_days: {low: 1, high: 9999}}",
            f"sampler={{kind: random, n_trials: {n_trials}}}",
        ],
    )
    run_sweep(config, root=folder / "asking")
    started = time.perf_counter()
    summary = run_sweep(config, root=folder / "asking", fresh=True)
    spent = time.perf_counter() - started
    replayed = float(summary.results.trials["duration_seconds"].sum())
    return 1000 * (spent - replayed) / n_trials
