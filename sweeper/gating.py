"""Measure one settings of a config, for a gate: capture afresh, replay, keep the figures."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sweeper.config import Config
from sweeper.gates import Baseline
from sweeper.knobs import Settings
from sweeper.opening import Progress, open_sweep, silent
from sweeper.poolfile import read_pool
from sweeper.replay import Replay

__all__ = ["Measured", "measure"]


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of today, and what a verdict needs beside them."""

    settings: Settings
    figures: Baseline
    n_queries: dict[str, int]
    slices: dict[str, str]
    replay: Replay


def measure(
    config: Config,
    settings: Settings,
    *,
    pool: Path | None = None,
    progress: Progress = silent,
) -> Measured:
    """Measure one settings.

    Parameters
    ----------
    config
        Names the golden set, the engine and the metrics.
    settings
        What to measure; at most as deep as the config asks for.
    pool
        A kept pool to use instead of a fresh capture, which a gate should not do: yesterday's
        candidates cannot show today's fault.
    progress
        Told how far the capture is.
    """
    with (
        tempfile.TemporaryDirectory(prefix="sweeper-gate-") as scratch,
        open_sweep(config, root=scratch) as opened,
    ):
        golden, corpus = opened.inputs.golden, opened.inputs.corpus
        fingerprint = opened.engine.fingerprint
        captured = read_pool(pool) if pool is not None else opened.pool(progress=progress)[0]
    replay = Replay(captured, golden)
    figures = replay.figures([settings], config.metrics)
    positions = replay.positions([settings])
    first = positions.first()[0].tolist()
    judgments = positions.judgments
    stop = judgments.n_keys.cumsum()
    first_positions = {
        query.query_id: min((p for p in first[end - len(query.expected) : end] if p), default=0)
        for query, end in zip(golden.queries, stop.tolist(), strict=True)
        if query.answerable
    }
    table = {
        group: {
            str(metric): float(value)
            for metric, value in zip(figures.metrics, row, strict=True)
            if not math.isnan(value)
        }
        for group, row in zip(figures.groups, figures.value[0].tolist(), strict=True)
    }
    counts = figures.n_queries.max(axis=1).tolist()
    return Measured(
        settings=settings,
        figures=Baseline(
            figures={group: row for group, row in table.items() if row},
            decimals=17,
            golden=golden.digest,
            corpus=corpus.digest,
            engine=fingerprint,
            settings=settings.text,
            first_positions=first_positions,
        ),
        n_queries=dict(zip(figures.groups, counts, strict=True)),
        slices={query.query_id: query.slice for query in golden.queries},
        replay=replay,
    )
