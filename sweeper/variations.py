"""Settings that somebody names: a trial's, with some knobs changed, if the sweep can show them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sweeper.audit import refuse_idle
from sweeper.errors import InputError
from sweeper.knobs import Value, knob, knob_name
from sweeper.settings import Settings

if TYPE_CHECKING:
    from sweeper.results import Results

__all__ = ["replaced", "varied"]


def varied(
    results: Results,
    trial: str | int,
    changes: Settings | Mapping[str, Value] | None = None,
    *,
    where: str = "settings",
) -> Settings:
    """Return a trial's settings with some knobs changed.

    Parameters
    ----------
    results
        A finished sweep.
    trial
        Number, ``#number``, id, arm, or ``current``.
    changes
        Knob to value; a value may be a text such as ``off`` or ``none``. Whole settings take the
        place of the trial's.
    where
        What errors call the changes: the option or argument in which somebody wrote them.

    Raises
    ------
    InputError
        If there is no such trial or knob, a value is outside its knob's domain, or the sweep did
        not capture what the settings rank.
    """
    base = results.settings[results.trial(trial)]
    if not changes:
        return base
    settings = changes if isinstance(changes, Settings) else replaced(base, changes, where=where)
    replay = results.replay
    try:
        if settings.origin.captured not in results.kept.pool_files:
            raise ValueError(f"nothing was captured for {settings.origin.captured}")
        pool = replay.of(settings).pool
    except ValueError as error:
        raise InputError(
            f"{where}: {error} in {results.address}. Add the value to the space and run the sweep."
        ) from error
    usage = pool.usefulness is not None
    refuse_idle(settings, results.golden, pool.channels, has_usage=usage)
    if settings.effective_depth > pool.depth:
        raise InputError(
            f"{where}: a depth of {settings.effective_depth} is more than the {pool.depth} rows "
            f"that {results.address} captured. Add it to the space and run the sweep."
        )
    return settings


def replaced(base: Settings, changes: Mapping[str, Value], *, where: str) -> Settings:
    """Return settings with some knobs changed; names may be short, values texts.

    Raises
    ------
    InputError
        If there is no such knob, or a value is outside its domain.
    """
    return base.with_values(dict(_parsed(name, value, where) for name, value in changes.items()))


def _parsed(name: str, value: Value, where: str) -> tuple[str, Value]:
    try:
        own = knob(knob_name(name))
        return own.name, own.parse(value)
    except KeyError as error:
        raise InputError(f"{where}: {error.args[0]}") from error
    except ValueError as error:
        raise InputError(f"{where}: {name}: {error}") from error
