"""The candidates of a whole sweep, captured without a trial: what ``sweep capture`` calls."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeper.config import Config
from sweeper.errors import EngineError, InputError
from sweeper.formats.values import counted, listed
from sweeper.knobs import CAPTURE_PREFIX
from sweeper.opening import OpenSweep, Progress, open_sweep, silent
from sweeper.poolfile import read_pool, write_pool
from sweeper.pools import Pool
from sweeper.settings import Settings
from sweeper.sweep import address_of, planned

__all__ = ["CapturedPool", "capture_sweep"]


@dataclass(frozen=True, slots=True)
class CapturedPool:
    """The candidates of one engine of a sweep.

    Attributes
    ----------
    name
        Text of the knobs that decide what is retrieved; empty for the engine as it runs today.
    path
        Where the sweep keeps them.
    pool
    is_new
        Whether they were captured now.
    """

    name: str
    path: Path
    pool: Pool
    is_new: bool

    @property
    def not_all_shown(self) -> Sequence[str]:
        """Questions of which the engine did not show all candidates."""
        return tuple(self.pool.provenance.get("live_questions", ()))


def capture_sweep(
    config: Config,
    *,
    root: str | Path = "results",
    out: str | Path | None = None,
    fresh: bool = False,
    progress: Progress = silent,
) -> tuple[str, list[CapturedPool]]:
    """Capture the candidates that a sweep ranks, as far as they are missing, and run no trial.

    Parameters
    ----------
    config
        Names the golden set and the engine; each value of the engine's knobs gives a pool.
    root
        Folder of all results. The sweep goes on from there.
    out
        A file for the only pool of the sweep, for ``engine: {kind: pool}``.
    fresh
        Ask again for what was captured before. Where the sweep is finished, its candidates stay and
        the new ones are those of its next repetition (``run_sweep(fresh=True)``).
    progress
        Told how far each capture is.

    Returns
    -------
    tuple of str and list of CapturedPool
        The sweep, ``name/id``, and its pools.

    Raises
    ------
    InputError
        If the engine shows no candidates, or ``out`` is given and there are several pools, or it is
        a file that is no pool.
    EngineError
        If the engine fails, or ``out`` is given and it did not show all candidates of a question.
    """
    with open_sweep(config, root=root) as opened:
        if opened.black_box:
            raise InputError(
                f"{config.path}: the engine shows no candidates, so there is nothing to capture. "
                "sweep run asks it every setting."
            )
        captures = opened.captures_of(_settings(config, opened))
        if out is not None and len(captures) > 1:
            raise InputError(
                f"--out: this sweep captures {len(captures)} times, and one file holds one. Leave "
                "--out out: where each is kept is printed, in the order of the table."
            )
        if out is not None:
            _check_target(Path(out), opened)
        owner = address_of(opened, fresh=fresh)
        found = []
        for item in captures:
            if fresh:
                opened.forget(item, owner=owner)
            pool, is_new = opened.pool(item, owner=owner, progress=progress)
            path = opened.pool_path(item, owner=owner)
            found.append(CapturedPool(item.name, path, pool, is_new))
    if out is not None:
        [one] = found
        if one.not_all_shown:
            raise EngineError(
                f"{out} is not written: the engine did not show all candidates of "
                f"{counted(len(one.not_all_shown), 'question')} ({listed(one.not_all_shown)}), "
                "which it alone can rank. Sweep where it can be reached."
            )
        write_pool(out, one.pool)
    return owner, found


def _check_target(out: Path, opened: OpenSweep) -> None:
    """Refuse to write over what is no pool, or among the pools that sweeps keep."""
    if out.resolve().parent == (opened.root / ".pools").resolve():
        raise InputError(f"{out}: sweeps keep their pools there. Choose another folder.")
    if out.exists():
        try:
            read_pool(out)
        except InputError as error:
            raise InputError(f"{out}: is there and no pool. Choose another name.") from error


def _settings(config: Config, opened: OpenSweep) -> list[Settings]:
    """Return settings that rank everything the sweep may capture."""
    found = [trial.settings for trial in planned(config, opened.engine.channels).trials]
    if config.adaptive:  # what its sampler will propose is not known, but of what it chooses
        names = [name for name in config.space.knobs if name.startswith(CAPTURE_PREFIX)]
        for values in itertools.product(*(config.space.values(name) for name in names)):
            found.append(config.current.with_values(dict(zip(names, values, strict=True))))
    return found
