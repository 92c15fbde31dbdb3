"""The loop: capture what is missing, replay what is missing, keep every finished trial.

``run_sweep`` is what ``sweep run`` calls. It can be killed anywhere: the same call finishes the
rest and leaves the same tables.
"""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import platform
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sweeper.audit import audit_ages, audit_knobs
from sweeper.config import Config
from sweeper.errors import InputError
from sweeper.evaluate import Evaluator, Figures
from sweeper.files import remove_leftovers
from sweeper.formats import write_golden
from sweeper.frames import per_query_table, write_tables
from sweeper.knobs import Trial
from sweeper.metrics import Metric
from sweeper.opening import Inputs, OpenSweep, Progress, open_sweep, silent, spec_hash
from sweeper.pools import FloatArray, Pool
from sweeper.recommend import distances, pareto_front
from sweeper.replay import Replay
from sweeper.results import Results, latest_sweep
from sweeper.samplers import plan_grid
from sweeper.store import MANIFEST, Journal, Lock, read_manifest, write_manifest

__all__ = ["Summary", "plan", "plan_of", "run_sweep", "shown"]

_CHUNK_TRIAL_QUERIES = 400_000
"""Work per chunk: about a tenth of a second, so that progress moves and a kill costs little."""

_COMPILED_FACTOR = 10
"""How much more work a chunk holds for the compiled kernel, which is as much faster."""

_FAN_OUT_TRIAL_QUERIES = 4_000_000
"""Below this, starting worker processes takes longer than all of the replay."""

_FRONT_KEPT = 50
"""Trials of the front whose per-query rows are stored; any other trial is replayed on demand."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What one call of :func:`run_sweep` did."""

    results: Results
    n_run: int
    n_kept: int
    captured: bool
    n_processes: int
    notes: tuple[str, ...]


def run_sweep(
    config: Config,
    *,
    root: str | Path = "results",
    n_jobs: int = 1,
    fresh: bool = False,
    progress: Progress = silent,
) -> Summary:
    """Carry out a sweep, or what is missing of it.

    Parameters
    ----------
    config
        What to sweep.
    root
        Folder of all results.
    n_jobs
        Worker processes, where there is work enough for them; 1 replays in this one, -1 takes
        every core. The results do not depend on it.
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
    root = Path(root)
    with open_sweep(config, root=root) as opened:
        spec = opened.spec
        folder = _folder(root / config.name, spec, fresh=fresh)
        notes = _changes(folder, spec)
        with Lock(folder):
            for place in (folder, folder / "plots", root / ".pools"):
                remove_leftovers(place)
            finished = _finished(folder)
            if finished is not None:
                captured = _mend_pool(finished, opened, progress)
                results = _shown(finished, config)
                notes += _findings(results.pool, config)
                return Summary(results, 0, len(results.trials), captured, 0, tuple(notes))
            pool, captured = opened.pool(progress=progress)
            notes += _findings(pool, config)
            work = _Work(opened, folder, pool)
            n_run, n_processes = work.finish(n_jobs, progress)
            n_kept = len(work.trials) - n_run
            return Summary(Results(folder), n_run, n_kept, captured, n_processes, tuple(notes))


def plan_of(config: Config, *, root: str | Path = "results") -> dict[str, int | str]:
    """Return what a run would cost: captures, requests, trials, and how many are done already."""
    with open_sweep(config, root=root) as opened:
        folder = _folder(Path(root) / config.name, opened.spec, fresh=False)
        trials = plan(config)
        complete = _finished(folder) is not None
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
        # Decided for the sweep as a whole: its chunks alone are all small.
        self.replay.compiled = self.replay.pays([trial.settings for trial in self.trials])
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
            files = self._write_tables([kept[trial.trial_id] for trial in self.trials])
            finished = datetime.now(UTC).isoformat(timespec="seconds")
            outcome = {
                "status": "complete",
                "finished": finished,
                "n_processes": len(processes),
                "files": files,
            }
            write_manifest(self.folder, {**self.manifest, **outcome})
            journal.remove()
        return len(todo), len(processes)

    def _write_tables(self, records: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """Write the golden set and the tables; return each file's SHA-256."""
        config, golden = self.inputs.config, self.inputs.golden
        evaluator = Evaluator(self.replay.judgments, config.metrics, 0)
        value = np.array(
            [[np.nan if v is None else v for v in record["figures"]] for record in records]
        ).reshape(len(records), len(evaluator.groups), len(config.metrics))
        figures = Figures(evaluator.groups, config.metrics, value, evaluator.n_queries)
        stored = self.folder / "golden.jsonl"
        write_golden(stored, golden)
        digests = write_tables(
            self.folder,
            self.trials,
            figures,
            seconds=[record["seconds"] for record in records],
            feasible=_feasible(config, self.trials, figures),
            per_query=_kept_queries(self.inputs, self.replay, self.trials, figures),
        )
        return {stored.name: hashlib.sha256(stored.read_bytes()).hexdigest(), **digests}


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
    n_queries = max(1, replay.judgments.n_queries)
    size = max(1, _CHUNK_TRIAL_QUERIES // n_queries)
    if replay.compiled:
        size *= _COMPILED_FACTOR
    if len(trials) * n_queries < _FAN_OUT_TRIAL_QUERIES:
        n_jobs = 1
    if n_jobs != 1:
        size = max(1, min(size, math.ceil(len(trials) / (4 * max(2, n_jobs)))))
    parts = [list(trials[start : start + size]) for start in range(0, len(trials), size)]
    if n_jobs == 1 or len(parts) < 2:
        for part in parts:
            yield _figures_of(replay, metrics, part)
        return
    from joblib import Parallel, delayed

    for depth in {trial.settings.effective_depth for trial in trials}:
        replay.layout(depth)
    n_jobs = min(n_jobs, len(parts))
    pool = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1, max_nbytes="1M")
    yield from pool(delayed(_figures_of)(replay, metrics, part) for part in parts)


def _figures_of(
    replay: Replay, metrics: Sequence[Metric], trials: list[Trial]
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


def _folder(parent: Path, spec: dict[str, Any], *, fresh: bool) -> Path:
    """Return the folder of a spec: its latest repetition, or a new one.

    A repetition that was interrupted is not repeated again but completed.
    """
    name = spec_hash(spec)[:8]
    number = 1
    while (parent / _numbered(name, number + 1) / MANIFEST).exists():
        number += 1
    if fresh and _status(parent / _numbered(name, number)) == "complete":
        number += 1
    return parent / _numbered(name, number)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def _status(folder: Path) -> str | None:
    try:
        return str(read_manifest(folder)["status"])
    except InputError:
        return None  # absent, or unreadable: then the sweep starts again


def _finished(folder: Path) -> Results | None:
    """Return a finished sweep whose files are all there, as it wrote them."""
    try:
        results = Results(folder)
        results.check_tables()
    except InputError:
        return None
    return results


def _mend_pool(results: Results, opened: OpenSweep, progress: Progress) -> bool:
    """Capture a finished sweep's pool again where it is gone; return whether that was done."""
    try:
        _ = results.pool
    except InputError:
        opened.pool_path.unlink(missing_ok=True)
        opened.pool(progress=progress)
        return True
    return False


def _findings(pool: Pool, config: Config) -> list[str]:
    found = audit_ages(pool) + audit_knobs(pool, config.space.choices)
    return [str(finding) for finding in found]


def _changes(folder: Path, spec: dict[str, Any]) -> list[str]:
    """Say what differs from the latest sweep of the same name, when this one is new."""
    if (folder / MANIFEST).exists():
        return []
    latest = latest_sweep(folder.parent)
    if latest is None or _status(latest) is None:
        return []
    before = read_manifest(latest)["spec"]
    parts = [name for name in ("golden", "corpus", "engine") if before.get(name) != spec[name]]
    old, new = before.get("config", {}), spec["config"]
    parts += [key for key in new if old.get(key) != new[key] and key not in parts]
    if not parts:
        return [f"new sweep {folder.name}; it repeats {latest.name}."]
    return [f"new sweep {folder.name}; changed since {latest.name}: {', '.join(parts)}."]


def _manifest(opened: OpenSweep, folder: Path, pool: Pool, n_trials: int) -> dict[str, Any]:
    inputs, spec = opened.inputs, opened.spec
    config = inputs.config
    packages = ("sweeper", "numpy", "pandas", "pyarrow", "joblib")
    return {
        "name": config.name,
        "id": folder.name,
        "started": datetime.now(UTC).isoformat(timespec="microseconds"),
        "spec_hash": spec_hash(spec),
        "spec": spec,
        "n_trials": n_trials,
        "golden": {
            "path": config.golden.path,
            "digest": inputs.golden.digest,
            "n_queries": len(inputs.golden),
            "slices": list(inputs.golden.slices),
        },
        "corpus": {
            "path": None if config.corpus is None else config.corpus.path,
            "digest": inputs.corpus_digest,
            "n_entries": 0 if inputs.corpus is None else len(inputs.corpus),
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
            **{name: _version(name) for name in packages},
            "python": platform.python_version(),
        },
        "git_commit": _git_commit(config.path.parent),
        **shown(config),
    }


def _version(package: str) -> str | None:
    """Return an installed version; a bare checkout on the path has none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def shown(config: Config) -> dict[str, Any]:
    """Return how results are shown; a change here makes no new sweep."""
    return {
        "table": {"knob": config.table_knob, "columns": list(config.table_columns)},
        "plots": [{"x": plot.x, "y": plot.y} for plot in config.plots],
    }


def _shown(results: Results, config: Config) -> Results:
    """Return a finished sweep after noting how the config now wants it shown."""
    wanted = shown(config)
    if all(results.manifest.get(key) == value for key, value in wanted.items()):
        return results
    write_manifest(results.folder, {**results.manifest, **wanted})
    return Results(results.folder)


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
