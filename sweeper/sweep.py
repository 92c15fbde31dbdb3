"""The loop: capture what is missing, replay what is missing, keep every finished trial.

``run_sweep`` is what ``sweep run`` calls. It can be killed anywhere: the same call finishes the
rest and leaves the same tables.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from sweeper.audit import audit_ages
from sweeper.capture import capture
from sweeper.config import Config
from sweeper.corpus import Corpus
from sweeper.engines import open_engine
from sweeper.engines.base import Engine
from sweeper.errors import InputError, Problems, did_you_mean
from sweeper.evaluate import Evaluator, Figures
from sweeper.formats import read_corpus, read_golden, write_golden
from sweeper.golden import GoldenSet
from sweeper.knobs import Trial
from sweeper.metrics import Metric
from sweeper.poolfile import read_pool, write_pool
from sweeper.pools import FloatArray, Pool
from sweeper.recommend import distances, pareto_front
from sweeper.replay import Replay
from sweeper.results import Results, latest_sweep, per_query_table, write_tables
from sweeper.samplers import plan_grid
from sweeper.store import MANIFEST, Journal, Lock, read_manifest, write_manifest

__all__ = [
    "Inputs",
    "OpenSweep",
    "Progress",
    "Summary",
    "open_sweep",
    "plan",
    "plan_of",
    "read_inputs",
    "run_sweep",
    "shown",
]

_CHUNK_TRIAL_QUERIES = 400_000
"""Work per chunk: about a tenth of a second, so that progress moves and a kill costs little."""

_FRONT_KEPT = 50
"""Trials of the front whose per-query rows are stored; any other trial is replayed on demand."""


class Progress(Protocol):
    """Told how far a long step is; the command line draws bars with it."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Report ``done`` of ``total``; ``step`` is a short text such as ``capture``."""


def _silent(step: str, done: int, total: int) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Summary:
    """What one call of :func:`run_sweep` did."""

    results: Results
    n_run: int
    n_kept: int
    captured: bool
    n_processes: int
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a config names, read and checked together."""

    config: Config
    golden: GoldenSet
    corpus: Corpus


@dataclass(frozen=True, slots=True)
class OpenSweep:
    """A sweep's inputs and its engine."""

    inputs: Inputs
    engine: Engine
    root: Path

    @property
    def spec(self) -> dict[str, Any]:
        """What identifies the sweep; equal specs give equal tables."""
        return {
            "config": self.inputs.config.spec(),
            "golden": self.inputs.golden.digest,
            "corpus": self.inputs.corpus.digest,
            "engine": self.engine.fingerprint,
        }

    @property
    def pool_path(self) -> Path:
        """Where the pool is kept: named by the questions, the engine, the depth and ``as_of``."""
        config = self.inputs.config
        asked = [
            (q.query_id, q.text, sorted(q.filter.items()), q.user)
            for q in self.inputs.golden.queries
        ]
        as_of = config.as_of.isoformat() if config.as_of else "first capture"
        name = _hash([asked, self.engine.fingerprint, config.depth, as_of])[:16]
        return self.root / ".pools" / f"{name}.parquet"

    def pool(self, *, progress: Progress = _silent) -> tuple[Pool, bool]:
        """Return the candidates of every question, and whether they had to be captured.

        An engine with a fingerprint gives the same candidates for the same questions, so its pools
        are shared by all sweeps under ``root``. A pool file that cannot be read is captured again.
        """
        if self.pool_path.exists():
            with contextlib.suppress(InputError):
                return read_pool(self.pool_path), False
        pool = capture(
            self.inputs.golden,
            self.engine,
            depth=self.inputs.config.depth,
            progress=lambda done, total: progress("capture", done, total),
        )
        write_pool(self.pool_path, pool)
        return pool, True


@contextlib.contextmanager
def open_sweep(config: Config, *, root: str | Path = "results") -> Iterator[OpenSweep]:
    """Read what a config names and open its engine.

    Raises
    ------
    InputError
        With the problems of the first file that has any.
    """
    root = Path(root)
    inputs = read_inputs(config)
    as_of = config.as_of or datetime.now(UTC)
    engine = open_engine(config, inputs.corpus, as_of=as_of, cache=root / ".cache")
    with contextlib.closing(engine):
        _check_channels(config, engine)
        yield OpenSweep(inputs, engine, root)


def run_sweep(
    config: Config,
    *,
    root: str | Path = "results",
    n_jobs: int = 1,
    fresh: bool = False,
    progress: Progress = _silent,
) -> Summary:
    """Carry out a sweep, or what is missing of it.

    Parameters
    ----------
    config
        What to sweep.
    root
        Folder of all results.
    n_jobs
        Worker processes; 1 replays in this one, -1 takes every core. The results do not depend on
        it.
    fresh
        Repeat a finished sweep under a new id.
    progress
        Told how far capture and replay are.

    Raises
    ------
    InputError
        If a file that the config names has problems, or the results cannot be written.
    EngineError
        If the engine fails, or another process runs the same sweep.
    StorageError
        If the disk is full. Finished trials are kept.
    """
    with open_sweep(config, root=root) as opened:
        spec = opened.spec
        folder = _folder(Path(root) / config.name, spec, fresh=fresh)
        notes = _changes(folder, spec)
        with Lock(folder):
            if _status(folder) == "complete":
                results = _shown(folder, config)
                return Summary(results, 0, len(results.trials), False, 0, tuple(notes))
            pool, captured = opened.pool(progress=progress)
            notes += [str(finding) for finding in audit_ages(pool)]
            work = _Work(opened, folder, pool)
            n_run, n_processes = work.finish(n_jobs, progress)
            n_kept = len(work.trials) - n_run
            return Summary(Results(folder), n_run, n_kept, captured, n_processes, tuple(notes))


def read_inputs(config: Config) -> Inputs:
    """Read the corpus and the golden set that a config names, and check them together.

    Raises
    ------
    InputError
        With all problems of the first file that has any.
    """
    corpus = read_corpus(config.existing(config.corpus), fields=config.corpus.fields or None)
    golden = read_golden(
        config.existing(config.golden),
        fields=config.golden.fields or None,
        corpus_keys=corpus.keys,
    )
    config.check_figures(golden)
    return Inputs(config, golden, corpus)


def plan_of(config: Config, *, root: str | Path = "results") -> dict[str, int | str]:
    """Return what a run would cost: captures, requests, trials, and how many are done already."""
    with open_sweep(config, root=root) as opened:
        folder = _folder(Path(root) / config.name, opened.spec, fresh=False)
        trials = plan(config)
        complete = _status(folder) == "complete"
        captured = complete or opened.pool_path.exists()
        n_queries = len(opened.inputs.golden)
    return {
        "sweep": f"{config.name}/{folder.name}",
        "captures": 0 if captured else 1,
        "requests": 0 if captured else n_queries,
        "settings": len(trials),
        "settings_in_space": config.space.size,
        "settings_to_run": 0 if complete else len(trials),
        "questions": n_queries,
        "depth": config.depth,
    }


def plan(config: Config) -> list[Trial]:
    """Return every trial of a sweep, numbered."""
    return plan_grid(config.space, config.current, config.table_knob)


class _Work:
    """One sweep in its folder, from the journal to the tables."""

    def __init__(self, opened: OpenSweep, folder: Path, pool: Pool) -> None:
        self.inputs = opened.inputs
        self.folder = folder
        self.trials = plan(self.inputs.config)
        self.replay = Replay(pool, self.inputs.golden)
        self.manifest = _manifest(opened, folder, pool, len(self.trials))
        self.pool = pool

    def finish(self, n_jobs: int, progress: Progress) -> tuple[int, int]:
        """Replay what the journal lacks and write the tables.

        Returns how many trials were replayed, and by how many processes.
        """
        write_manifest(self.folder, {**self.manifest, "status": "running"})
        header = {"spec": self.manifest["spec_hash"], "pool": self.pool.digest}
        journal = Journal(self.folder / "journal.jsonl", header)
        with contextlib.closing(journal):
            kept = {record["trial_id"]: record for record in journal.records}
            todo = [trial for trial in self.trials if trial.trial_id not in kept]
            processes: set[int] = set()
            progress("replay", len(self.trials) - len(todo), len(self.trials))
            metrics = self.inputs.config.metrics
            for part, value, seconds, process in _chunks(self.replay, todo, metrics, n_jobs):
                records = _records(part, value, seconds)
                journal.append(records)
                kept.update((record["trial_id"], record) for record in records)
                processes.add(process)
                progress("replay", len(kept), len(self.trials))
            self._write_tables([kept[trial.trial_id] for trial in self.trials])
            finished = datetime.now(UTC).isoformat(timespec="seconds")
            outcome = {
                "status": "complete",
                "finished": finished,
                "n_processes": len(processes),
            }
            write_manifest(self.folder, {**self.manifest, **outcome})
            journal.remove()
        return len(todo), len(processes)

    def _write_tables(self, records: Sequence[Mapping[str, Any]]) -> None:
        config, golden = self.inputs.config, self.inputs.golden
        evaluator = Evaluator(self.replay.judgments, config.metrics, config.limit)
        value = np.array(
            [[np.nan if v is None else v for v in record["figures"]] for record in records]
        ).reshape(len(records), len(evaluator.groups), len(config.metrics))
        figures = Figures(evaluator.groups, config.metrics, value, evaluator.n_queries)
        write_golden(self.folder / "golden.jsonl", golden)
        write_tables(
            self.folder,
            self.trials,
            figures,
            seconds=[record["seconds"] for record in records],
            feasible=_feasible(config, self.trials, figures),
            per_query=_kept_queries(self.inputs, self.replay, self.trials, figures),
        )


def _records(trials: Sequence[Trial], value: FloatArray, seconds: float) -> list[dict[str, Any]]:
    return [
        {
            "trial_id": trial.trial_id,
            "seconds": seconds / len(trials),
            "figures": [None if math.isnan(v) else v for v in row.ravel().tolist()],
        }
        for trial, row in zip(trials, value, strict=True)
    ]


def _chunks(
    replay: Replay, trials: Sequence[Trial], metrics: Sequence[Metric], n_jobs: int
) -> Iterator[tuple[list[Trial], FloatArray, float, int]]:
    """Yield trials, their figures, the seconds they took and the process that replayed them."""
    size = max(1, _CHUNK_TRIAL_QUERIES // max(1, replay.judgments.n_queries))
    if n_jobs != 1:
        size = max(1, min(size, math.ceil(len(trials) / (4 * max(2, n_jobs)))))
    parts = [list(trials[start : start + size]) for start in range(0, len(trials), size)]
    if n_jobs == 1 or len(parts) < 2:
        for number, part in enumerate(parts):
            yield _figures_of(replay, metrics, number, part)
        return
    from joblib import Parallel, delayed

    for depth in {trial.settings.effective_depth for trial in trials}:
        replay.layout(depth)
    pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, max_nbytes="1M")
    yield from pool(
        delayed(_figures_of)(replay, metrics, number, part) for number, part in enumerate(parts)
    )


def _figures_of(
    replay: Replay, metrics: Sequence[Metric], number: int, trials: list[Trial]
) -> tuple[list[Trial], FloatArray, float, int]:
    started = time.perf_counter()
    value = replay.figures([trial.settings for trial in trials], metrics).value
    return trials, value, time.perf_counter() - started, os.getpid()


def _feasible(config: Config, trials: Sequence[Trial], figures: Figures) -> list[bool]:
    current = next(trial.number for trial in trials if trial.is_current)
    verdict = [True] * len(trials)
    for constraint in config.constraints:
        group, metric = figures.place(constraint.address)
        column = figures.value[:, group, metric]
        for number, figure in enumerate(column.tolist()):
            verdict[number] &= constraint.holds(figure, float(column[current]))
    return verdict


def _kept_queries(
    inputs: Inputs, replay: Replay, trials: Sequence[Trial], figures: Figures
) -> pd.DataFrame:
    """Return per-query rows of the current setting, the printed line and the front."""
    config = inputs.config
    gains = np.stack(
        [
            figures.value[:, group, metric] * (1 if item.direction == "maximize" else -1)
            for item in config.objectives
            for group, metric in [figures.place(item.address)]
        ],
        axis=1,
    )
    settings = [trial.settings for trial in trials]
    far = distances(settings, config.current)
    front = pareto_front(gains, [(far[n], float(n)) for n in range(len(trials))])[:_FRONT_KEPT]
    chosen = [t for t in trials if t.is_current or t.on_line or t.number in set(front)]
    tables = []
    for depth in dict.fromkeys(trial.settings.effective_depth for trial in chosen):
        members = [trial for trial in chosen if trial.settings.effective_depth == depth]
        positions = replay.positions([trial.settings for trial in members])
        ids = [trial.trial_id for trial in members]
        tables.append(per_query_table(inputs.golden, positions, ids, config.metrics))
    return pd.concat(tables, ignore_index=True)


def _check_channels(config: Config, engine: Engine) -> None:
    named = [*config.current.weights]
    named += [n.removeprefix("weights.") for n in config.space.choices if n.startswith("weights.")]
    problems = Problems(config.path)
    for channel in dict.fromkeys(named):
        if channel not in engine.channels:
            hint = did_you_mean(channel, engine.channels)
            problems.add(
                f'the engine has no channel "{channel}". {hint}', where=f"weights.{channel}"
            )
    problems.raise_if_any()


def _hash(content: Any) -> str:
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _folder(parent: Path, spec: dict[str, Any], *, fresh: bool) -> Path:
    """Return the folder of a spec: its latest repetition, or a new one."""
    name = _hash(spec)[:8]
    number = 1
    while (parent / _numbered(name, number + 1) / MANIFEST).exists():
        number += 1
    if fresh and (parent / _numbered(name, number) / MANIFEST).exists():
        number += 1
    return parent / _numbered(name, number)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def _status(folder: Path) -> str | None:
    try:
        return str(read_manifest(folder).get("status"))
    except InputError:
        return None  # absent, or unreadable: then the sweep starts again


def _changes(folder: Path, spec: dict[str, Any]) -> list[str]:
    """Say what differs from the latest sweep of the same name, when this one is new."""
    if (folder / MANIFEST).exists():
        return []
    latest = latest_sweep(folder.parent)
    if latest is None:
        return []
    before = read_manifest(latest).get("spec", {})
    parts = [name for name in ("golden", "corpus", "engine") if before.get(name) != spec[name]]
    old, new = before.get("config", {}), spec["config"]
    parts += [key for key in new if old.get(key) != new[key]]
    changed = ", ".join(parts) or "nothing"
    return [f"new sweep {folder.name}; changed since {latest.name}: {changed}."]


def _manifest(opened: OpenSweep, folder: Path, pool: Pool, n_trials: int) -> dict[str, Any]:
    inputs, spec = opened.inputs, opened.spec
    config = inputs.config
    packages = ("sweeper", "numpy", "pandas", "pyarrow", "joblib")
    return {
        "name": config.name,
        "id": folder.name,
        "started": datetime.now(UTC).isoformat(timespec="microseconds"),
        "spec_hash": _hash(spec),
        "spec": spec,
        "n_trials": n_trials,
        "golden": {
            "path": config.golden.path,
            "digest": inputs.golden.digest,
            "n_queries": len(inputs.golden),
            "slices": list(inputs.golden.slices),
        },
        "corpus": {
            "path": config.corpus.path,
            "digest": inputs.corpus.digest,
            "n_entries": len(inputs.corpus),
        },
        "pool": {
            "file": opened.pool_path.name,
            "digest": pool.digest,
            "depth": pool.depth,
            "provenance": dict(pool.provenance),
        },
        "metrics": [str(metric) for metric in config.metrics],
        "objectives": {item.address: item.direction for item in config.objectives},
        "constraints": [item.text for item in config.constraints],
        "versions": {
            **{name: version(name) for name in packages},
            "python": platform.python_version(),
        },
        "git_commit": _git_commit(config.path.parent),
        **shown(config),
    }


def shown(config: Config) -> dict[str, Any]:
    """Return how results are shown; a change here makes no new sweep."""
    return {
        "table": {"knob": config.table_knob, "columns": list(config.table_columns)},
        "plots": [{"x": plot.x, "y": plot.y} for plot in config.plots],
    }


def _shown(folder: Path, config: Config) -> Results:
    """Open a finished sweep after noting how the config now wants it shown."""
    manifest = read_manifest(folder)
    if any(manifest.get(key) != value for key, value in shown(config).items()):
        write_manifest(folder, {**manifest, **shown(config)})
    return Results(folder)


def _git_commit(folder: Path) -> str | None:
    """Return the commit of the project that holds the config, if it is in a git checkout."""
    try:
        asked = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() or None if asked.returncode == 0 else None
