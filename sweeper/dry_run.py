"""What a sweep would cost: captures, requests, trials, and time from a short calibration."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeper.capture import capture as ask
from sweeper.config import Config
from sweeper.golden import GoldenSet
from sweeper.manifest import status
from sweeper.opening import Capture, OpenSweep, open_sweep
from sweeper.poolfile import read_pool
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.store import JOURNAL, read_journal
from sweeper.sweep import folder_of, planned

__all__ = ["Outlook", "outlook"]

_QUESTIONS = 3
_TRIALS = 50
"""How much is tried to tell how long all of it takes."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """What ``sweep run`` would do.

    Attributes
    ----------
    sweep
        ``name/id``.
    n_captures, n_requests
        Pools to capture, and searches to ask of the engine for them or for its rankings.
    n_settings, n_in_space
        All settings that the sweep tries, and the combinations of its space; ``None`` if endless.
    n_to_run
        Settings that have no figures yet.
    n_questions, depth
    capture_seconds, replay_seconds
        Estimates; ``None`` for a live engine, which is not asked without leave.
    """

    sweep: str
    n_captures: int
    n_requests: int
    n_settings: int
    n_in_space: int | None
    n_to_run: int
    n_questions: int
    depth: int
    capture_seconds: float | None
    replay_seconds: float | None


def outlook(config: Config, *, root: str | Path = "results", fresh: bool = False) -> Outlook:
    """Say what a run would cost, without running it.

    An engine in this process answers a few questions to be timed; a live one is not asked.

    Raises
    ------
    InputError
        If a file that the config names has problems.
    """
    with open_sweep(config, root=root) as opened:
        folder = folder_of(Path(root) / config.name, opened.spec, fresh=fresh)
        golden = opened.inputs.golden
        plan = planned(config, opened.engine.channels)
        settings = [trial.settings for trial in plan.trials]
        n_settings = len(settings) + (config.file.sampler.n_trials or 0) * config.adaptive
        done = status(folder) == "complete"
        n_kept = n_settings if done else min(n_settings, _kept(folder))
        owner = f"{config.name}/{folder.name}"
        missing: list[Capture] = []
        if not (done or opened.black_box):
            captures = opened.captures_of(settings)
            missing = [c for c in captures if not opened.pool_path(c, owner=owner).exists()]
        requests = len(missing) * len(golden)
        if opened.black_box and not done:
            requests = (n_settings - n_kept) * len(golden)
        capture_seconds, replay_seconds = _calibrate(opened, missing, settings, golden, owner)
        if replay_seconds is not None:
            replay_seconds *= n_settings - n_kept
        return Outlook(
            sweep=owner,
            n_captures=len(missing),
            n_requests=requests,
            n_settings=n_settings,
            n_in_space=config.space.size,
            n_to_run=n_settings - n_kept,
            n_questions=len(golden),
            depth=config.depth,
            capture_seconds=capture_seconds if requests else 0.0,
            replay_seconds=replay_seconds if n_kept < n_settings else 0.0,
        )


def _kept(folder: Path) -> int:
    """Return how many settings an interrupted sweep has figures of."""
    path = folder / JOURNAL
    records = read_journal(path) if path.exists() else ()
    return len({record["trial_id"] for record in records if "figures" in record})


def _calibrate(
    opened: OpenSweep,
    missing: Sequence[Capture],
    settings: Sequence[Settings],
    golden: GoldenSet,
    owner: str,
) -> tuple[float | None, float | None]:
    """Return the seconds of all captures, and of the replay of one settings."""
    if opened.black_box:
        return None, None
    some = GoldenSet(golden.queries[:_QUESTIONS])
    seconds = 0.0
    pool = None
    for capture in missing:
        if not capture.shared:
            return None, None
        ask(some, capture.engine, depth=opened.inputs.config.depth)  # what it does only once
        started = time.perf_counter()
        found = ask(some, capture.engine, depth=opened.inputs.config.depth)
        seconds += (time.perf_counter() - started) / len(some) * len(golden)
        pool = pool or (found, some)
    if pool is None:
        path = opened.pool_path(owner=owner)
        if not path.exists():
            return seconds, None
        pool = (read_pool(path), golden)
    first = settings[0].origin
    tried = [item for item in settings if item.origin == first][:_TRIALS]
    replay = Replay(*pool)
    metrics = opened.inputs.config.metrics
    replay.figures(tried[:1], metrics)
    started = time.perf_counter()
    replay.figures(tried, metrics)
    spent = (time.perf_counter() - started) / len(tried)
    return seconds, spent * len(golden) / len(pool[1])
