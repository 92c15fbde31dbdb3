"""What a sweep keeps: a journal record per trial, and from all of them the tables."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sweeper.config import Config
from sweeper.evaluate import Evaluator, Figures
from sweeper.fanout import Done
from sweeper.formats import write_golden
from sweeper.formats.usage import write_usage
from sweeper.frames import per_query_table, write_tables
from sweeper.golden import GoldenSet
from sweeper.metrics import Metric
from sweeper.opening import Inputs
from sweeper.prior import Usefulness
from sweeper.recommend import distances, pareto_front
from sweeper.runs import Judgments, Positions
from sweeper.sources import ReplayedSource, Source
from sweeper.spaces import Trial
from sweeper.store import usage_file

__all__ = ["figures_of", "records_of", "write_outcome"]

_FRONT_KEPT = 50
"""Trials of the front whose per-query rows are stored; any other trial is replayed on demand."""


def records_of(done: Done, source: Source) -> list[dict[str, Any]]:
    """Return a journal record per settings: its figures, or why it has none."""
    seconds = done.seconds / len(done.settings)
    common = [
        {"trial_id": item.trial_id, "pool": source.digest_of(item), "seconds": seconds}
        for item in done.settings
    ]
    if done.value is None:
        return [{**record, "error": done.error} for record in common]
    return [
        {**record, "figures": [None if math.isnan(v) else v for v in row.ravel().tolist()]}
        for record, row in zip(common, done.value, strict=True)
    ]


def figures_of(
    records: Sequence[Mapping[str, Any]], judgments: Judgments, metrics: Sequence[Metric]
) -> Figures:
    """Return the figures that records hold; NaN for one that has none."""
    evaluator = Evaluator(judgments, metrics, 0)
    shape = (len(evaluator.groups), len(metrics))
    blank = [None] * (shape[0] * shape[1])
    rows = [record.get("figures", blank) for record in records]
    value = np.array(
        [[math.nan if v is None else v for v in row] for row in rows], np.float64
    ).reshape(len(rows), *shape)
    return Figures(evaluator.groups, tuple(metrics), value, evaluator.n_queries)


def write_outcome(
    folder: Path,
    inputs: Inputs,
    trials: Sequence[Trial],
    records: Mapping[str, Mapping[str, Any]],
    source: Source,
) -> dict[str, str]:
    """Write the golden set and the tables.

    Parameters
    ----------
    folder
        The sweep's.
    inputs
        Config and golden set.
    trials
        In order of their numbers.
    records
        By trial id; every trial has one.
    source
        Gives the positions behind the figures.

    Returns
    -------
    dict
        The name of each file and the SHA-256 of its bytes.
    """
    config, golden = inputs.config, inputs.golden
    mine = [records[trial.trial_id] for trial in trials]
    figures = figures_of(mine, Judgments(golden), config.metrics)
    stored = folder / "golden.jsonl"
    write_golden(stored, golden)
    logs = _write_usage(folder, source)
    chosen = [t for t, record in zip(trials, mine, strict=True) if "error" not in record]
    if isinstance(source, ReplayedSource):  # any other trial is replayed on demand
        front = set(_front(config, trials, figures)[:_FRONT_KEPT])
        chosen = [t for t in chosen if t.is_current or t.on_line or t.arm or t.number in front]
    digests = write_tables(
        folder,
        trials,
        figures,
        seconds=[record["seconds"] for record in mine],
        errors=[record.get("error") for record in mine],
        feasible=[
            fine and "error" not in record
            for fine, record in zip(_feasible(config, trials, figures), mine, strict=True)
        ],
        per_query=_per_query(golden, config.metrics, chosen, source),
    )
    digests.update({path.name: _file_digest(path) for path in (stored, *logs)})
    return digests


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write_usage(folder: Path, source: Source) -> list[Path]:
    """Write the usage logs that the prior learned from."""
    usefulness = source.usefulness
    if not isinstance(usefulness, Usefulness):
        return []
    paths = []
    for name, log in usefulness.logs.items():
        paths.append(folder / usage_file(name))
        write_usage(log, paths[-1])
    return paths


def _per_query(
    golden: GoldenSet, metrics: Sequence[Metric], trials: Sequence[Trial], source: Source
) -> pd.DataFrame:
    tables = []
    for origin in dict.fromkeys(trial.settings.origin for trial in trials):
        members = [trial for trial in trials if trial.settings.origin == origin]
        positions = source.positions([trial.settings for trial in members])
        ids = [trial.trial_id for trial in members]
        tables.append(per_query_table(golden, positions, ids, metrics))
    if not tables:
        return per_query_table(golden, _nothing(golden), [], metrics)
    return pd.concat(tables, ignore_index=True)


def _nothing(golden: GoldenSet) -> Positions:
    """Return the positions of no trial."""
    return Positions(
        Judgments(golden),
        np.zeros(0, np.intp),
        np.zeros((0, 0), np.int32),
        np.zeros((0, len(golden)), np.int32),
    )


def _feasible(config: Config, trials: Sequence[Trial], figures: Figures) -> list[bool]:
    current = next(trial.number for trial in trials if trial.is_current)
    verdict = [True] * len(trials)
    for constraint in config.constraints:
        group, metric = figures.place(constraint.address)
        column = figures.value[:, group, metric]
        for number, figure in enumerate(column.tolist()):
            verdict[number] &= constraint.holds(figure, float(column[current]))
    return verdict


def _front(config: Config, trials: Sequence[Trial], figures: Figures) -> list[int]:
    """Return the trials of the front by the sweep's objectives."""
    places = [(item, *figures.place(item.address)) for item in config.objectives]
    gains = np.stack(
        [
            figures.value[:, group, metric] * (1 if item.direction == "maximize" else -1)
            for item, group, metric in places
        ],
        axis=1,
    )
    far = distances([trial.settings for trial in trials], config.current)
    return pareto_front(gains, [(far[n], float(n)) for n in range(len(trials))])
