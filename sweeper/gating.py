"""Measure one settings of a config, for a gate: ask or capture afresh, and keep the figures."""

from __future__ import annotations

import contextlib
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sweeper.audit import refuse_idle
from sweeper.baseline import GATED, Baseline, without_corpus
from sweeper.config import Config
from sweeper.engines.pool import PoolEngine
from sweeper.errors import EngineError, InputError
from sweeper.evaluate import Figures, evaluate
from sweeper.fanout import Fanout
from sweeper.formats.values import counted, listed
from sweeper.golden import GoldenSet, Key, QueryId
from sweeper.metrics import Metric, parse_metrics
from sweeper.opening import OpenSweep, Progress, open_sweep, silent
from sweeper.poolfile import read_pool
from sweeper.pools import Pool, asked_mark
from sweeper.ranking import returned_keys
from sweeper.replay import Replay
from sweeper.runs import Positions
from sweeper.settings import Settings
from sweeper.sources import open_source
from sweeper.store import Journal

__all__ = ["LIVE_ROUNDS", "Measured", "measure"]

LIVE_ROUNDS = 3
"""Times that a live engine is asked everything; what its figures differ by is no regression."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Figures of today, and what a verdict needs beside them.

    Attributes
    ----------
    settings, figures
    n_queries
        By figure address.
    slices, expected
        By question id.
    returned
        Gives the keys that stand in the answer to a question, best first.
    outdated
        Whether the candidates are of another corpus or engine than today's.
    spread
        By figure address: how far identical calls of a live engine lie apart.
    unstable
        Questions whose first expected key stood elsewhere in identical calls.
    """

    settings: Settings
    figures: Baseline
    n_queries: dict[str, int]
    slices: dict[str, str]
    expected: dict[str, tuple[str, ...]]
    returned: Callable[[QueryId], Sequence[Key]]
    outdated: bool
    spread: dict[str, float] = field(default_factory=dict)
    unstable: frozenset[QueryId] = frozenset()


@dataclass(frozen=True, slots=True)
class _Round:
    """What one round of asking everything gave."""

    positions: Positions
    fingerprint: str | None
    returned: Callable[[QueryId], Sequence[Key]]


def measure(
    config: Config,
    settings: Settings,
    *,
    gated: Sequence[str] = (),
    pool: Path | None = None,
    progress: Progress = silent,
) -> Measured:
    """Measure one settings. A live engine is asked three times, so that its noise is known.

    Parameters
    ----------
    config
        Names the golden set, the engine and the metrics.
    settings
        What to measure; at most as deep as the config asks for.
    gated
        Metrics that are measured besides, as those of ``GATED`` always are.
    pool
        A kept pool to use instead of a fresh capture, which a gate should not do: yesterday's
        candidates cannot show today's fault. The corpus and the engine are then the pool's.
    progress
        Told how far the capture is.

    Raises
    ------
    EngineError
        If the engine leaves a question without an answer.
    InputError
        If the pool is of other questions, or not deep enough.
    """
    metrics = parse_metrics([*map(str, config.metrics), *GATED, *gated])
    with contextlib.ExitStack() as stack:
        scratch = stack.enter_context(tempfile.TemporaryDirectory(prefix="sweeper-gate-"))
        opened = stack.enter_context(open_sweep(config, root=scratch))
        if isinstance(opened.engine, PoolEngine):
            raise InputError(
                f"{config.path}: its engine is a captured pool, and yesterday's candidates cannot "
                "show today's fault. Gate a config that names the search."
            )
        golden, own_digest = opened.inputs.golden, opened.inputs.corpus_digest
        usage = bool(config.file.usage)
        refuse_idle(settings, golden, opened.engine.channels, has_usage=usage)
        today = opened.engine.fingerprint
        if pool is not None:
            kept = replace(_kept(pool, golden, settings), usefulness=opened.usefulness)
            rounds = [_replayed(kept, golden, settings)]
        else:
            live = opened.black_box or not opened.today.shared
            rounds = [
                _asked(opened, settings, metrics, Path(scratch, str(number)), progress)
                for number in range(LIVE_ROUNDS if live else 1)
            ]
    fingerprint = rounds[0].fingerprint
    digest = _corpus_of(fingerprint, today, own_digest)
    figures = [evaluate(item.positions, metrics) for item in rounds]
    table = {
        group: {
            str(metric): float(value)
            for metric, value in zip(figures[0].metrics, row, strict=True)
            if not math.isnan(value)
        }
        for group, row in zip(figures[0].groups, figures[0].value[0].tolist(), strict=True)
    }
    first = [_first_positions(golden, item.positions) for item in rounds]
    return Measured(
        settings=settings,
        figures=Baseline(
            figures={group: row for group, row in table.items() if row},
            decimals=17,
            golden=golden.digest,
            corpus=digest,
            engine=without_corpus(fingerprint, digest),
            settings=settings.text,
            usage=opened.inputs.usage.digest or "",
            first_positions=first[0],
            asked={q.query_id: asked_mark(q) for q in golden.queries if q.answerable},
        ),
        n_queries=dict(_addressed(figures[0], figures[0].n_queries)),
        slices={query.query_id: query.slice for query in golden.queries},
        expected={query.query_id: query.expected for query in golden.queries},
        returned=rounds[0].returned,
        outdated=fingerprint != today,
        spread=_spread(figures),
        unstable=frozenset(q for q in first[0] if len({own[q] for own in first}) > 1),
    )


def _kept(path: Path, golden: GoldenSet, settings: Settings) -> Pool:
    """Read a kept pool that fits the questions and the settings."""
    pool = read_pool(path)
    if pool.query_ids != golden.query_ids:
        raise InputError(
            f"{path}: these are the candidates of other questions. Leave --pool out to capture "
            "afresh."
        )
    changed = pool.asked_otherwise(golden.queries)
    if changed:
        raise InputError(
            f"{path}: {counted(len(changed), 'question')} had another text, filter or user then: "
            f"{listed(changed)}. Leave --pool out to capture afresh."
        )
    if settings.effective_depth > pool.depth:
        raise InputError(
            f"{settings.text}: the candidates reach down to {pool.depth} only. Give the depth "
            "in the config's current settings."
        )
    return pool


def _replayed(pool: Pool, golden: GoldenSet, settings: Settings) -> _Round:
    positions = Replay(pool, golden).positions([settings])
    queries = {query.query_id: query for query in golden.queries}

    def returned(query_id: QueryId) -> list[Key]:
        return returned_keys(pool, settings, queries[query_id])

    return _Round(positions, pool.provenance.get("fingerprint"), returned)


def _asked(
    opened: OpenSweep,
    settings: Settings,
    metrics: Sequence[Metric],
    folder: Path,
    progress: Progress,
) -> _Round:
    """Capture afresh, or ask the engine for its ranking where it shows too few candidates."""
    deepest = opened.inputs.config.depth
    if not opened.black_box and settings.effective_depth > deepest:
        raise InputError(
            f"{settings.text}: the candidates reach down to {deepest} only. Give the depth in the "
            "config's current settings."
        )
    folder.mkdir()
    with contextlib.ExitStack() as stack:

        def answers() -> Journal:
            journal = Journal(folder / "answers.jsonl", {})
            stack.callback(journal.close)
            return journal

        source = open_source(
            opened,
            settings,
            fanout=Fanout(),
            owner=folder.name,
            answers=answers,
            progress=progress,
        )
        for done in source.run([settings], metrics, lambda: False):
            if done.error is not None:
                raise EngineError(f"nothing can be said of today: {done.error}.")
        positions = source.positions([settings])
    returned = partial(source.returned, settings)
    return _Round(positions, opened.engine.fingerprint, returned)


def _first_positions(golden: GoldenSet, positions: Positions) -> dict[QueryId, int]:
    first = positions.first()[0].tolist()
    stop = positions.judgments.n_keys.cumsum().tolist()
    return {
        query.query_id: min((p for p in first[end - len(query.expected) : end] if p), default=0)
        for query, end in zip(golden.queries, stop, strict=True)
        if query.answerable
    }


def _addressed(figures: Figures, table: NDArray[np.integer]) -> Iterator[tuple[str, int]]:
    for group, row in zip(figures.groups, table.tolist(), strict=True):
        for metric, count in zip(figures.metrics, row, strict=True):
            yield f"{group}.{metric}", int(count)


def _spread(rounds: Sequence[Figures]) -> dict[str, float]:
    """Return by how much figures of identical calls differ, where they do."""
    values = np.stack([figures.value[0] for figures in rounds])
    apart = values.max(axis=0) - values.min(axis=0)
    return {
        f"{group}.{metric}": float(value)
        for group, row in zip(rounds[0].groups, apart.tolist(), strict=True)
        for metric, value in zip(rounds[0].metrics, row, strict=True)
        if value > 0
    }


def _corpus_of(fingerprint: str | None, today: str | None, digest: str | None) -> str | None:
    """Return the corpus's digest in a fingerprint; today's where it names none."""
    if digest is None:
        return None
    names = [part.split("=")[0] for part in (today or "").split() if part.endswith(f"={digest}")]
    parts = dict(part.split("=", 1) for part in (fingerprint or "").split() if "=" in part)
    return next((parts[name] for name in names if name in parts), digest)
