"""Measure one settings of a config, for a gate: capture afresh, replay, keep the figures."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sweeper.baseline import GATED, Baseline, without_corpus
from sweeper.config import Config
from sweeper.errors import InputError
from sweeper.knobs import Settings
from sweeper.metrics import parse_metrics
from sweeper.opening import Progress, open_sweep, silent
from sweeper.poolfile import read_pool
from sweeper.replay import Replay

__all__ = ["Measured", "measure"]


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of today, and what a verdict needs beside them.

    ``n_queries`` is by figure address; ``slices`` and ``expected`` by question id. ``outdated``
    says that the candidates are of another corpus or engine than today's.
    """

    settings: Settings
    figures: Baseline
    n_queries: dict[str, int]
    slices: dict[str, str]
    expected: dict[str, tuple[str, ...]]
    replay: Replay
    outdated: bool


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
        Names the golden set, the engine and the metrics; gated ones are added.
    settings
        What to measure; at most as deep as the config asks for.
    pool
        A kept pool to use instead of a fresh capture, which a gate should not do: yesterday's
        candidates cannot show today's fault. The corpus and the engine are then the pool's.
    progress
        Told how far the capture is.
    """
    with (
        tempfile.TemporaryDirectory(prefix="sweeper-gate-") as scratch,
        open_sweep(config, root=scratch) as opened,
    ):
        golden, own_digest = opened.inputs.golden, opened.inputs.corpus_digest
        today = opened.engine.fingerprint
        captured = read_pool(pool) if pool is not None else opened.pool(progress=progress)[0]
    if captured.query_ids != golden.query_ids:
        raise InputError(
            f"{pool}: these are the candidates of other questions. Leave --pool out to capture "
            "afresh."
        )
    if settings.effective_depth > captured.depth:
        raise InputError(
            f"{settings.text}: the candidates reach down to {captured.depth} only. Give the depth "
            "in the config's current settings."
        )
    fingerprint = today if pool is None else captured.provenance.get("fingerprint")
    digest = _corpus_of(fingerprint, today, own_digest)
    replay = Replay(captured, golden)
    metrics = parse_metrics([*map(str, config.metrics), *GATED])
    figures = replay.figures([settings], metrics)
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
    return Measured(
        settings=settings,
        figures=Baseline(
            figures={group: row for group, row in table.items() if row},
            decimals=17,
            golden=golden.digest,
            corpus=digest,
            engine=without_corpus(fingerprint, digest),
            settings=settings.text,
            first_positions=first_positions,
        ),
        n_queries={
            f"{group}.{metric}": int(count)
            for group, row in zip(figures.groups, figures.n_queries.tolist(), strict=True)
            for metric, count in zip(metrics, row, strict=True)
        },
        slices={query.query_id: query.slice for query in golden.queries},
        expected={query.query_id: query.expected for query in golden.queries},
        replay=replay,
        outdated=fingerprint != today,
    )


def _corpus_of(fingerprint: str | None, today: str | None, digest: str | None) -> str | None:
    """Return the corpus's digest in a fingerprint; today's where it names none."""
    if digest is None:
        return None
    names = [part.split("=")[0] for part in (today or "").split() if part.endswith(f"={digest}")]
    parts = dict(part.split("=", 1) for part in (fingerprint or "").split() if "=" in part)
    return next((parts[name] for name in names if name in parts), digest)
