"""The tables of a finished sweep: made from trials, figures and positions, written to its folder.

Their columns are documented in ``docs/data-model.md``. They are read in ``stored``.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sweeper.evaluate import Figures
from sweeper.files import write_atomically
from sweeper.golden import OVERALL, GoldenSet
from sweeper.knobs import UNSET, Value, knob
from sweeper.metrics import Metric
from sweeper.runs import Positions
from sweeper.spaces import Trial

__all__ = ["misfit", "per_query_table", "write_tables"]

_TEXT = "text"
# Column to NumPy's kinds (boolean, integer, float, object), or text.
_COLUMNS: Mapping[str, Mapping[str, str]] = {
    "trials": {
        **dict.fromkeys(("trial_id", "arm", "status", "error"), _TEXT),
        **dict.fromkeys(("is_current", "on_line", "in_space", "feasible"), "b"),
        "number": "i",
        "duration_seconds": "f",
    },
    "figures": {
        **dict.fromkeys(("trial_id", "slice", "metric"), _TEXT),
        "value": "f",
        "n_queries": "i",
    },
    "per_query": {
        **dict.fromkeys(("trial_id", "query_id", "slice"), _TEXT),
        "positions": "O",
        "first_position": "i",
        "returned": "if",  # a metric has that name, too
    },
}


def write_tables(
    folder: Path,
    trials: Sequence[Trial],
    figures: Figures,
    *,
    seconds: Sequence[float],
    errors: Sequence[str | None],
    feasible: Sequence[bool],
    per_query: pd.DataFrame,
) -> dict[str, str]:
    """Write the tables of a finished sweep, each in one atomic step.

    Parameters
    ----------
    folder
        ``results/<name>/<id>``.
    trials
        In order of their numbers.
    figures
        Of the trials, in the same order.
    seconds
        Time that each trial took.
    errors
        Why a trial has no figures; ``None`` for one that has.
    feasible
        Whether each trial meets the constraints.
    per_query
        Rows of the trials worth keeping, from ``per_query_table``.

    Returns
    -------
    dict
        The name of each file and the SHA-256 of its bytes.
    """
    tables = {
        "trials.parquet": _trials_table(trials, figures, seconds, errors, feasible),
        "figures.parquet": _figures_table(trials, figures),
        "per_query.parquet": per_query,
    }
    return {name: _write(folder / name, table) for name, table in tables.items()}


def misfit(name: str, table: pd.DataFrame) -> str | None:
    """Say what a table that was read lacks of the one that is written, if it does.

    Parameters
    ----------
    name
        ``trials``, ``figures`` or ``per_query``.
    table
        As it was read.
    """
    for column, kind in _COLUMNS[name].items():
        if column not in table.columns:
            return f"has no column {column}"
        if not _holds(table[column], kind):
            return f"its column {column} holds something else"
    if name == "trials":
        if table["number"].tolist() != list(range(len(table))):
            return "its rows are not those of the trials, in their order"
        if table["is_current"].sum() != 1:
            return "it has not one current setting"
    return None


def _holds(column: pd.Series[Any], kind: str) -> bool:
    if kind == _TEXT:
        return pd.api.types.infer_dtype(column) in ("string", "empty")
    return not len(column) or column.dtype.kind in kind


def _write(path: Path, table: pd.DataFrame) -> str:
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    content = buffer.getvalue()
    write_atomically(path, content)
    return hashlib.sha256(content).hexdigest()


def _trials_table(
    trials: Sequence[Trial],
    figures: Figures,
    seconds: Sequence[float],
    errors: Sequence[str | None],
    feasible: Sequence[bool],
) -> pd.DataFrame:
    columns: dict[str, Any] = {
        "trial_id": pd.Series([t.trial_id for t in trials], dtype="str"),
        "number": [t.number for t in trials],
        "is_current": [t.is_current for t in trials],
        "on_line": [t.on_line for t in trials],
        "in_space": [t.in_space for t in trials],
        "arm": pd.Series([t.arm for t in trials], dtype="str"),
        "status": pd.Series(["done" if e is None else "failed" for e in errors], dtype="str"),
        "error": pd.Series(list(errors), dtype="str"),
        "feasible": list(feasible),
    }
    for name in dict.fromkeys(name for t in trials for name in t.settings.as_dict()):
        values = [t.settings.given(name) for t in trials]
        columns[f"param_{name}"] = _column(name, values)
    columns["duration_seconds"] = list(seconds)
    overall = figures.groups.index(OVERALL)
    for place, metric in enumerate(figures.metrics):
        columns[f"{OVERALL}.{metric}"] = figures.value[:, overall, place]
    return pd.DataFrame(columns)


def _column(name: str, values: Sequence[Value]) -> pd.Series[Any]:
    """Return a knob's values; null where it is not applied, or a class has none of its own."""
    if not name.startswith(("routing.", "prior.")):
        dtype = _dtype(name, values)
        if dtype == "str":
            values = [None if value is None else knob(name).format(value) for value in values]
        return pd.Series(values, dtype=dtype)
    if None in values:  # told apart from having none
        values = [None if v == UNSET else knob(name).format(v) for v in values]
        return pd.Series(values, dtype="str")
    values = [None if value == UNSET else value for value in values]
    return pd.Series(values, dtype=_dtype(name, values))


def _dtype(name: str, values: Sequence[Value]) -> str:
    own = knob(name)
    if own.words or any(isinstance(value, str) for value in values):
        return "str"
    whole = own.integer or (own.free and all(isinstance(v, int | None) for v in values))
    return "Int64" if whole else "Float64"


def _figures_table(trials: Sequence[Trial], figures: Figures) -> pd.DataFrame:
    n_trials, n_groups, n_metrics = figures.value.shape
    ids = pd.Series([t.trial_id for t in trials], dtype="str")
    metrics = [str(metric) for metric in figures.metrics]
    return pd.DataFrame(
        {
            "trial_id": ids.repeat(n_groups * n_metrics).reset_index(drop=True),
            "slice": np.tile(np.repeat(figures.groups, n_metrics), n_trials),
            "metric": np.tile(metrics, n_trials * n_groups),
            "value": figures.value.ravel(),
            "n_queries": np.tile(figures.n_queries.ravel(), n_trials),
        }
    )


def per_query_table(
    golden: GoldenSet, positions: Positions, trial_ids: Sequence[str], metrics: Sequence[Metric]
) -> pd.DataFrame:
    """Return one row per trial and query; the columns of ``Results.per_query`` but the text.

    Parameters
    ----------
    golden
        The queries.
    positions
        Of the trials, in the order of ``trial_ids``.
    trial_ids
        Ids of the trials.
    metrics
        One column each.
    """
    n_trials, n_queries = len(positions), len(golden)
    judgments = positions.judgments
    first = positions.first()
    stop = np.cumsum(judgments.n_keys)
    start = stop - judgments.n_keys
    lists = [
        first[trial, start[query] : stop[query]].tolist()
        for trial in range(n_trials)
        for query in range(n_queries)
    ]
    columns: dict[str, Any] = {
        "trial_id": pd.Series(np.repeat(list(trial_ids), n_queries), dtype="str"),
        "query_id": pd.Series(list(golden.query_ids) * n_trials, dtype="str"),
        "slice": pd.Series([q.slice for q in golden.queries] * n_trials, dtype="str"),
        "first_position": [min((p for p in each if p), default=0) for each in lists],
        "positions": lists,
        "returned": positions.returned.ravel(),
    }
    for metric in metrics:
        values = np.full((n_trials, n_queries), np.nan)
        values[:, metric.queries(judgments)] = metric.values(positions)
        columns[str(metric)] = values.ravel()
    return pd.DataFrame(columns)
