"""Results of a sweep as pandas frames, and the tables on disk that they come from.

The frames' columns are documented in ``docs/data-model.md``. Writing happens once per sweep, when
its trials are finished (:func:`write_tables`); reading never disturbs a running sweep.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from sweeper.constraints import Objective
from sweeper.errors import InputError, did_you_mean
from sweeper.evaluate import Figures
from sweeper.files import write_atomically
from sweeper.formats import read_golden
from sweeper.golden import OVERALL, GoldenSet
from sweeper.knobs import Settings, Trial, Value, knob
from sweeper.metrics import Metric, parse_metrics
from sweeper.pools import Pool
from sweeper.recommend import distances, pareto_front
from sweeper.replay import Replay
from sweeper.runs import Positions
from sweeper.store import MANIFEST, past_sweeps, read_manifest

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # noqa: TID251 (for the annotation alone)

__all__ = ["Results", "find_sweep", "latest_sweep", "load", "per_query_table", "write_tables"]


def load(sweep: str | Path, *, root: str | Path = "results") -> Results:
    """Open a finished sweep.

    Parameters
    ----------
    sweep
        A folder (``results/recency``, ``results/recency/1a2b3c4d``), a sweep's name (its latest),
        or ``name/id``.
    root
        Where names are looked up.

    Raises
    ------
    InputError
        If there is no such sweep, or it has not finished.
    """
    return Results(find_sweep(sweep, root=root))


def find_sweep(sweep: str | Path, *, root: str | Path = "results") -> Path:
    """Return the folder of a sweep; a name alone means its latest."""
    for folder in (Path(sweep), Path(root) / sweep):
        if (folder / MANIFEST).is_file():
            return folder
        latest = latest_sweep(folder)
        if latest is not None:
            return latest
    known = sorted({path.parent.name for path, _ in past_sweeps(Path(root))})
    hint = did_you_mean(str(sweep), known) if known else f"There are no sweeps under {root} yet."
    raise InputError(f"no sweep {str(sweep)!r}. {hint}")


def latest_sweep(folder: Path) -> Path | None:
    """Return the sweep under a name's folder that was started last."""
    mine = [path for path, _ in past_sweeps(folder.parent) if path.parent == folder]
    return mine[-1] if mine else None


class Results:
    """A finished sweep.

    Parameters
    ----------
    folder
        ``results/<name>/<id>``.

    Raises
    ------
    InputError
        If the sweep has not finished or a table cannot be read.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.manifest: Mapping[str, Any] = read_manifest(self.folder)
        if self.manifest.get("status") != "complete":
            raise InputError(
                f"{self.folder}: this sweep has not finished. Run the same command again to "
                "complete it."
            )

    def __repr__(self) -> str:
        return f"<Results {self.address}: {len(self.trials)} trials, {len(self.golden)} queries>"

    @property
    def address(self) -> str:
        """``name/id``, as commands take it."""
        return f"{self.manifest['name']}/{self.manifest['id']}"

    @cached_property
    def trials(self) -> pd.DataFrame:
        """One row per trial, ordered by ``number``."""
        return self._table("trials")

    @cached_property
    def figures(self) -> pd.DataFrame:
        """One row per trial, slice and metric."""
        return self._table("figures")

    @cached_property
    def golden(self) -> GoldenSet:
        """The golden set as it was when the sweep ran."""
        return read_golden(self.folder / "golden.jsonl")

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        return parse_metrics(self.manifest["metrics"])

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        return tuple(Objective(a, d) for a, d in self.manifest["objectives"].items())

    @cached_property
    def settings(self) -> tuple[Settings, ...]:
        """The settings of each trial, ordered by ``number``."""
        names = [name for name in self.trials.columns if name.startswith("param_")]
        columns = [self.trials[name].tolist() for name in names]
        return tuple(
            Settings().with_values(
                {
                    name.removeprefix("param_"): _value(name.removeprefix("param_"), value)
                    for name, value in zip(names, row, strict=True)
                }
            )
            for row in zip(*columns, strict=True)
        )

    @property
    def current(self) -> str:
        """Trial id of the settings that run today."""
        return str(self.trials.loc[self.trials["is_current"], "trial_id"].iloc[0])

    def trial(self, name: str | int) -> int:
        """Return a trial's number from its number, ``#number``, id, or ``current``.

        Raises
        ------
        InputError
            If there is no such trial.
        """
        text = str(name).rpartition("#")[2]
        if text == "current":
            text = self.current
        if text in set(self.trials["trial_id"]):
            return int(self.trials.index[self.trials["trial_id"] == text][0])
        if text.isdigit() and int(text) < len(self.trials):
            return int(text)
        raise InputError(
            f"{self.address} has no trial {str(name)!r}. Give a number from 0 to "
            f"{len(self.trials) - 1}, a trial id, or current."
        )

    def wide(self, addresses: Iterable[str] | None = None) -> pd.DataFrame:
        """Return one row per trial and one column per figure address, indexed by trial number.

        Parameters
        ----------
        addresses
            Figures such as ``entity.recall@10``; all of them unless given.

        Raises
        ------
        InputError
            If a figure is unknown.
        """
        table = self._pivot
        if addresses is None:
            return table.copy()
        wanted = list(dict.fromkeys(addresses))
        for address in wanted:
            if address not in table.columns:
                raise InputError(
                    f'this sweep has no figure "{address}". {did_you_mean(address, table.columns)}'
                )
        return table[wanted].copy()

    @cached_property
    def _pivot(self) -> pd.DataFrame:
        names = self.figures["slice"].astype(str) + "." + self.figures["metric"].astype(str)
        addresses = list(dict.fromkeys(names))
        # Rows stand by trial, then slice and metric, so a reshape is the pivot.
        values = self.figures["value"].to_numpy().reshape(-1, len(addresses))
        return pd.DataFrame(values, columns=addresses, index=self.trials["number"])

    def per_query(self, trial: str | int = "current") -> pd.DataFrame:
        """Return one row per query for one trial.

        Trials that the sweep chose to keep are read; any other is replayed from the pool.

        Columns: ``trial_id``, ``query_id``, ``slice``, ``query``, ``first_position`` (0 is absent),
        ``positions`` (the first position of each expected key), ``returned``, one per metric (NaN
        where it is undefined).
        """
        number = self.trial(trial)
        trial_id = self.trials["trial_id"].iloc[number]
        kept = self._table("per_query")
        if (kept["trial_id"] == trial_id).any():
            table = kept[kept["trial_id"] == trial_id].reset_index(drop=True)
        else:
            positions = self.positions([number])
            table = per_query_table(self.golden, positions, [trial_id], self.metrics)
        texts = pd.Series([query.text for query in self.golden.queries], dtype="str")
        table.insert(3, "query", texts)
        return table

    def positions(self, trials: Sequence[int]) -> Positions:
        """Replay some trials from the pool; all of one depth."""
        return self.replay.positions([self.settings[number] for number in trials])

    @cached_property
    def pool(self) -> Pool:
        """The captured candidates."""
        from sweeper.poolfile import read_pool

        return read_pool(self.folder.parent.parent / ".pools" / self.manifest["pool"]["file"])

    @cached_property
    def replay(self) -> Replay:
        """The pool, ready to rank under any settings."""
        return Replay(self.pool, self.golden)

    def pareto(self, objectives: Mapping[str, str] | None = None) -> pd.DataFrame:
        """Return the trials that no other beats in every objective, best first objective first.

        Of trials with equal figures the one nearest to the current setting is kept, then the one
        with the lower number.

        Parameters
        ----------
        objectives
            Figure to ``maximize`` or ``minimize``; the sweep's own unless given.
        """
        chosen = self.objectives
        if objectives is not None:
            if any(word not in {"maximize", "minimize"} for word in objectives.values()):
                raise InputError("an objective is maximize or minimize.")
            chosen = tuple(Objective(a, d) for a, d in objectives.items())  # type: ignore[arg-type]
        table = self.wide([item.address for item in chosen])
        gains = np.stack(
            [
                table[item.address].to_numpy() * (1 if item.direction == "maximize" else -1)
                for item in chosen
            ],
            axis=1,
        )
        far = distances(self.settings, self.settings[self.trial("current")])
        preference = [(far[number], float(number)) for number in range(len(gains))]
        return self.trials.iloc[pareto_front(gains, preference)].reset_index(drop=True)

    def line(self, name: str | None = None) -> pd.DataFrame:
        """Return the trials that differ from the current setting in one knob at most.

        Parameters
        ----------
        name
            The knob; the printed table's unless given.
        """
        name = name or self.manifest["table"]["knob"]
        if name is None:
            return self.trials[self.trials["is_current"]].reset_index(drop=True)
        knob(name)
        current = self.settings[self.trial("current")]
        same = [
            number
            for number, item in enumerate(self.settings)
            if item.with_values({name: current.get(name)}) == current
        ]
        return self.trials.iloc[same].reset_index(drop=True)

    def plot_tradeoff(self, x: str, y: str, *, ax: Axes | None = None) -> Axes:
        """Draw every trial by two figures, with the front and the current setting marked."""
        from sweeper.plots import plot_tradeoff

        return plot_tradeoff(self.tradeoff_points(x, y), x=x, y=y, ax=ax)

    def tradeoff_points(self, x: str, y: str) -> pd.DataFrame:
        """Return the points of :meth:`plot_tradeoff`, one row per trial."""
        points = self.wide([x, y])
        front = self.pareto({x: "maximize", y: "maximize"})["number"]
        points["is_current"] = self.trials["is_current"].to_numpy()
        points["on_front"] = points.index.isin(front)
        points["label"] = self.labels()
        return points

    def labels(self) -> list[str]:
        """Return a short text per trial: the knobs in which the sweep's trials differ."""
        names = self.varied_knobs()
        return [
            ", ".join(f"{_short(n)} {knob(n).format(item.get(n))}" for n in names)
            for item in self.settings
        ]

    def varied_knobs(self) -> list[str]:
        """Return the knobs that take more than one value in this sweep."""
        names = dict.fromkeys(name for item in self.settings for name in item.as_dict())
        return [name for name in names if len({item.get(name) for item in self.settings}) > 1]

    def plot_knob_curve(
        self, metric: str, *, name: str | None = None, ax: Axes | None = None
    ) -> Axes:
        """Draw one metric per slice along one knob, the others as they are today."""
        from sweeper.plots import plot_knob_curve

        name = name or self.manifest["table"]["knob"]
        if name is None:
            raise InputError("the space has no knob to draw.")
        line = self.line(name)
        chosen = self.figures[
            self.figures["trial_id"].isin(line["trial_id"])
            & (self.figures["metric"] == metric)
            & (self.figures["n_queries"] > 0)
        ]
        if chosen.empty:
            texts = [str(item) for item in self.metrics]
            raise InputError(f'this sweep has no metric "{metric}". {did_you_mean(metric, texts)}')
        value = {row: self.settings[n].get(name) for row, n in _pairs(line)}
        curve = pd.DataFrame(
            {
                "value": [value[t] for t in chosen["trial_id"]],
                "slice": chosen["slice"].to_numpy(),
                "figure": chosen["value"].to_numpy(),
            }
        )
        current = self.settings[self.trial("current")].get(name)
        return plot_knob_curve(curve, knob=knob(name), metric=metric, current=current, ax=ax)

    def plot_heatmap(
        self, address: str, *, rows: str, columns: str, ax: Axes | None = None
    ) -> Axes:
        """Draw one figure over two knobs, the others as they are today."""
        from sweeper.plots import plot_heatmap

        values = self.wide([address])[address]
        current = self.settings[self.trial("current")]
        cells: dict[tuple[Value, Value], float] = {}
        for number, item in enumerate(self.settings):
            if (
                item.with_values({rows: current.get(rows), columns: current.get(columns)})
                == current
            ):
                cells[item.get(rows), item.get(columns)] = float(values.loc[number])
        row_axis = sorted({row for row, _ in cells}, key=knob(rows).sort_key)
        column_axis = sorted({column for _, column in cells}, key=knob(columns).sort_key)
        frame = pd.DataFrame(
            [[cells.get((row, column), math.nan) for column in column_axis] for row in row_axis],
            index=pd.Index(row_axis, dtype=object),
            columns=pd.Index(column_axis, dtype=object),
        )
        return plot_heatmap(
            frame,
            rows=knob(rows),
            columns=knob(columns),
            metric=address,
            current=(current.get(rows), current.get(columns)),
            ax=ax,
        )

    def _table(self, name: str) -> pd.DataFrame:
        path = self.folder / f"{name}.parquet"
        try:
            return pd.read_parquet(path)
        except FileNotFoundError:
            raise InputError(f"{path} is missing. Run the sweep again.") from None
        except (OSError, ValueError) as error:
            raise InputError(f"{path} cannot be read ({error}). Run the sweep again.") from error


def _pairs(line: pd.DataFrame) -> list[tuple[str, int]]:
    return [(str(t), int(n)) for t, n in zip(line["trial_id"], line["number"], strict=True)]


_SHORT = {
    "rrf_k": "k",
    "min_similarity": "floor",
    "recency_half_life_days": "half-life",
}


def _short(name: str) -> str:
    return _SHORT.get(name, name)


def _value(name: str, value: Any) -> Value:
    if value is None or pd.isna(value):
        return None
    return int(value) if knob(name).integer else float(value)


def write_tables(
    folder: Path,
    trials: Sequence[Trial],
    figures: Figures,
    *,
    seconds: Sequence[float],
    feasible: Sequence[bool],
    per_query: pd.DataFrame,
) -> None:
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
    feasible
        Whether each trial meets the constraints.
    per_query
        Rows of the trials worth keeping, from :func:`per_query_table`.
    """
    _write(folder / "trials.parquet", _trials_table(trials, figures, seconds, feasible))
    _write(folder / "figures.parquet", _figures_table(trials, figures))
    _write(folder / "per_query.parquet", per_query)


def _write(path: Path, table: pd.DataFrame) -> None:
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    write_atomically(path, buffer.getvalue())


def _trials_table(
    trials: Sequence[Trial], figures: Figures, seconds: Sequence[float], feasible: Sequence[bool]
) -> pd.DataFrame:
    columns: dict[str, Any] = {
        "trial_id": pd.Series([t.trial_id for t in trials], dtype="str"),
        "number": [t.number for t in trials],
        "is_current": [t.is_current for t in trials],
        "on_line": [t.on_line for t in trials],
        "in_space": [t.in_space for t in trials],
        "status": pd.Series(["done"] * len(trials), dtype="str"),
        "feasible": list(feasible),
    }
    for name in dict.fromkeys(name for t in trials for name in t.settings.as_dict()):
        values = [t.settings.get(name) for t in trials]
        dtype = "Int64" if knob(name).integer else "Float64"
        columns[f"param_{name}"] = pd.Series(values, dtype=dtype)
    columns["duration_seconds"] = list(seconds)
    overall = figures.groups.index(OVERALL)
    for place, metric in enumerate(figures.metrics):
        columns[f"{OVERALL}.{metric}"] = figures.value[:, overall, place]
    return pd.DataFrame(columns)


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
    """Return one row per trial and query; the columns of :meth:`Results.per_query` but the text.

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
