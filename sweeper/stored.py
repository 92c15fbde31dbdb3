"""What a finished sweep left on disk, checked and decoded: frames, settings, candidates.

The frames' columns are documented in ``docs/data-model.md``. They are written once per sweep, when
its trials are finished (``frames``); reading never disturbs a running sweep. What they say is
worked out in ``results``.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from sweeper.compare import Tally, tally_values
from sweeper.constraints import Constraint, Objective, parse_constraint
from sweeper.errors import InputError, did_you_mean
from sweeper.files import read_bytes
from sweeper.formats import read_golden
from sweeper.frames import misfit, per_query_table
from sweeper.golden import OVERALL, GoldenSet, Key, QueryId
from sweeper.kept import Kept
from sweeper.knobs import CAPTURE_PREFIX, Value, knob
from sweeper.metrics import Metric, parse_metrics
from sweeper.pools import Pool
from sweeper.replay import Replay
from sweeper.runs import Judgments, Positions
from sweeper.scores import Scores, scores_of
from sweeper.settings import Settings
from sweeper.store import read_manifest, unreadable, usage_file

__all__ = ["StoredSweep"]


_DIGITS = 20
"""No trial has a number as long."""


class StoredSweep:
    """The files of a finished sweep.

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
        if self.manifest["status"] not in {"complete", "incomplete"}:
            raise InputError(
                f"{self.folder}: this sweep has not finished. Run the same command again to "
                "complete it."
            )

    @property
    def address(self) -> str:
        """``name/id``, as commands take it."""
        return f"{self.manifest['name']}/{self.manifest['id']}"

    @property
    def n_failed(self) -> int:
        """How many trials have no figures; the command that ran the sweep tries them again."""
        return int((self.trials["status"] == "failed").sum())

    @property
    def trials(self) -> pd.DataFrame:
        """One row per trial, ordered by ``number``; a frame of its own each time."""
        return self._trials.copy(deep=False)

    @cached_property
    def _trials(self) -> pd.DataFrame:
        return self._table("trials")

    @property
    def figures(self) -> pd.DataFrame:
        """One row per trial, slice and metric; a frame of its own each time."""
        return self._figures.copy(deep=False)

    @cached_property
    def _figures(self) -> pd.DataFrame:
        table = self._table("figures")
        ids = table["trial_id"].to_numpy()
        n_figures = len(ids) // max(1, len(self.trials))
        if not np.array_equal(ids, self.trials["trial_id"].to_numpy().repeat(n_figures)):
            raise self._misfit()
        return table

    @cached_property
    def golden(self) -> GoldenSet:
        """The golden set as it was when the sweep ran."""
        self._stored("golden.jsonl")
        path = self.folder / "golden.jsonl"
        try:
            return read_golden(path)
        except InputError as error:
            raise unreadable(path, error) from error

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """What was recorded, in the order of the config."""
        return parse_metrics(self.manifest["metrics"])

    @cached_property
    def objectives(self) -> tuple[Objective, ...]:
        """What the config wants more or less of; the first decides, the next break ties."""
        return tuple(Objective(a, d) for a, d in self.manifest["objectives"].items())

    @cached_property
    def constraints(self) -> tuple[Constraint, ...]:
        """The bounds of the config; empty where it has none."""
        return tuple(parse_constraint(text) for text in self.manifest["constraints"])

    @cached_property
    def default_constraints(self) -> tuple[Constraint, ...]:
        """No slice's recall@10 or MRR below the current setting's, as far as they are recorded.

        They bound a pick where the config has no constraints.
        """
        figures = self.figures[self.figures["trial_id"] == self.current]
        known = figures[figures["value"].notna() & (figures["slice"] != OVERALL)]
        return tuple(
            parse_constraint(f"{group}.{metric} >= current")
            for group, metric in zip(known["slice"], known["metric"], strict=True)
            if metric in ("recall@10", "mrr")
        )

    @cached_property
    def settings(self) -> tuple[Settings, ...]:
        """The settings of each trial, ordered by ``number``."""
        return self._settings(self.trials)

    @cached_property
    def current_settings(self) -> Settings:
        """The settings that run today."""
        [settings] = self._settings(self.trials[self.trials["is_current"]])
        return settings

    def _settings(self, trials: pd.DataFrame) -> tuple[Settings, ...]:
        names = [name for name in trials.columns if name.startswith("param_")]
        columns = [trials[name].tolist() for name in names]
        base = Settings()
        try:
            found = tuple(
                base.with_values(
                    {
                        name.removeprefix("param_"): _value(name.removeprefix("param_"), value)
                        for name, value in zip(names, row, strict=True)
                        if not (name.startswith(_MAY_BE_UNSET) and _is_missing(value))
                    }
                )
                for row in zip(*columns, strict=True)
            )
            if "files" not in self.manifest and [s.trial_id for s in found] != [
                *trials["trial_id"]
            ]:
                raise ValueError("its settings do not have the ids of its trials")
        except (KeyError, TypeError, ValueError) as error:
            path, reason = self.folder / "trials.parquet", error.args[0]
            raise InputError(f"{path}: is damaged ({reason}). Run the sweep again.") from error
        return found

    @property
    def current(self) -> str:
        """Trial id of the settings that run today."""
        return str(self.trials.loc[self.trials["is_current"], "trial_id"].iloc[0])

    def trial(self, name: str | int) -> int:
        """Return a trial's number from its number, ``#number``, id, arm, ``current`` or ``today``.

        Raises
        ------
        InputError
            If there is no such trial.
        """
        text = str(name).rpartition("#")[2]
        if text in {"current", "today"}:
            text = self.current
        arms = list(dict.fromkeys(self.trials["arm"].dropna()))
        if text in arms:
            return int(self.trials.index[self.trials["arm"] == text][0])
        if text in set(self.trials["trial_id"]):
            return int(self.trials.index[self.trials["trial_id"] == text][0])
        if text.isdecimal() and len(text) < _DIGITS and int(text) < len(self.trials):
            return int(text)
        known = f"Give a number from 0 to {len(self.trials) - 1}, a trial id, "
        known += "current, or an arm." if arms else "or current."
        hint = f" {did_you_mean(text, arms)}" if arms else ""
        raise InputError(f"{self.address} has no trial {str(name)!r}. {known}{hint}")

    def named(self, trial: int) -> str:
        """Return how people tell a trial: ``#7``, or ``#7 (budgets)`` where it is an arm."""
        arm = self.trials["arm"].iloc[trial]
        return f"#{trial} ({arm})" if isinstance(arm, str) else f"#{trial}"

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
        return table.loc[:, wanted].copy()

    @cached_property
    def _pivot(self) -> pd.DataFrame:
        groups, metrics = (self.figures[name].tolist() for name in ("slice", "metric"))
        addresses = list(dict.fromkeys(zip(groups, metrics, strict=True)))
        # Rows stand by trial, then slice and metric, so a reshape is the pivot.
        values = self.figures["value"].to_numpy().reshape(-1, len(addresses))
        columns = pd.Index([f"{group}.{metric}" for group, metric in addresses])
        return pd.DataFrame(values, columns=columns, index=self.trials["number"])

    def per_query(self, trial: str | int = "current") -> pd.DataFrame:
        """Return one row per query for one trial.

        Trials that the sweep chose to keep are read; any other is replayed from the pool.

        Columns: ``trial_id``, ``query_id``, ``slice``, ``query``, ``first_position`` (0 is absent),
        ``positions`` (the first position of each expected key), ``returned``, one per metric (NaN
        where it is undefined).

        Raises
        ------
        InputError
            If there is no such trial, or it failed and its engine shows no candidates.
        """
        number = self.trial(trial)
        trial_id = self.trials["trial_id"].iloc[number]
        if trial_id in self._kept_queries:
            table = self._kept_queries[trial_id].reset_index(drop=True)
        elif not self.replayable and self.trials["status"].iloc[number] == "failed":
            raise InputError(
                f"{self.address} has no figures of trial {self.named(number)} (status failed). The "
                "same sweep run tries it again."
            )
        else:
            positions = self.positions([number])
            table = per_query_table(self.golden, positions, [trial_id], self.metrics)
        texts = pd.Series([query.text for query in self.golden.queries], dtype="str")
        table.insert(3, "query", texts)
        return table

    @cached_property
    def _kept_queries(self) -> dict[str, pd.DataFrame]:
        """The questions of each trial that the sweep kept."""
        kept = self._table("per_query").groupby("trial_id", sort=False)
        return {str(trial_id): table for trial_id, table in kept}

    def scores(self, trials: Sequence[int] | None = None) -> Scores:
        """Return each question's value of every metric, for some trials or all."""
        numbers = list(range(len(self.trials))) if trials is None else list(trials)
        if self.replayable:
            found = scores_of(self.replay, [self.settings[n] for n in numbers], self.metrics)
            failed = (self.trials["status"] == "failed").to_numpy()[numbers]
            return found.without(failed) if failed.any() else found
        judgments = Judgments(self.golden)
        kept = self._table("per_query").set_index("trial_id")
        ids = self.trials["trial_id"]
        values = {
            str(metric): np.full((len(numbers), len(self.golden)), np.nan)
            for metric in self.metrics
        }
        for row, number in enumerate(numbers):
            if ids.iloc[number] in kept.index:
                for name, table in values.items():
                    table[row] = kept.loc[ids.iloc[number], name]
        return Scores(values, judgments.slices, judgments.slice_of)

    def tallies(self, trials: Sequence[int]) -> list[Tally]:
        """Count the questions that trials answer better and worse than the current setting.

        Parameters
        ----------
        trials
            Their numbers.

        Returns
        -------
        list of Tally
            One per trial.
        """
        scores = self.scores([self.trial("current"), *trials])
        return tally_values(scores.values, self.metrics, 0)[1:]

    def positions(self, trials: Sequence[int]) -> Positions:
        """Replay some trials from the pool; all of one origin (what they rank, and how deep)."""
        return self.replay.positions([self.settings[number] for number in trials])

    @cached_property
    def kept(self) -> Kept:
        """What the sweep captured, and what its engine answered."""
        return Kept(self.folder, self.manifest, self.golden)

    @property
    def replayable(self) -> bool:
        """Whether all candidates were captured, so that settings beyond the trials can be shown."""
        return self.kept.replayable

    @property
    def replay(self) -> Replay:
        """What was captured, ready to rank under any settings.

        Raises
        ------
        InputError
            If the engine shows too few candidates, or they are gone.
        """
        return self.kept.replay

    @cached_property
    def pool(self) -> Pool:
        """The candidates that the current setting ranks."""
        return self.replay.of(self.current_settings).pool

    def returned(self, trial: int, query_id: QueryId) -> list[Key]:
        """Return the key at every raw position of one trial's answer to one question, best first.

        Raises
        ------
        InputError
            If the engine was asked and gave no answer, or the candidates are gone.
        """
        return self.kept.returned(self.settings[trial], query_id)

    @cached_property
    def varied_knobs(self) -> tuple[str, ...]:
        """Return the knobs that take more than one value in this sweep."""
        names = dict.fromkeys(name for item in self.settings for name in item.as_dict())
        return tuple(n for n in names if len({item.given(n) for item in self.settings}) > 1)

    def check_tables(self) -> None:
        """Read the whole manifest, every table once, and every usage log.

        Raises
        ------
        InputError
            If one is missing, damaged, or does not belong to the others.
        """
        read_manifest(self.folder).check()
        n_figures = len(self.golden.slices) + 1
        expected = len(self.trials) * n_figures * len(self.metrics)
        if len(self.trials) != self.manifest["n_trials"] or len(self.figures) != expected:
            raise self._misfit()
        self._table("per_query")
        for name in self.manifest.get("usage", {}).get("logs", ()):
            self._stored(usage_file(name))

    def _misfit(self) -> InputError:
        return InputError(f"{self.folder}: its tables do not fit together. Run the sweep again.")

    def _table(self, name: str) -> pd.DataFrame:
        path = self.folder / f"{name}.parquet"
        content = self._stored(path.name)
        try:
            table = pd.read_parquet(io.BytesIO(content))
        except (OSError, ValueError, pa.ArrowException) as error:
            raise InputError(f"{path}: cannot be read ({error}). Run the sweep again.") from error
        wrong = misfit(name, table)
        if wrong is not None:
            raise InputError(f"{path}: is damaged ({wrong}). Run the sweep again.")
        return table

    def _stored(self, name: str) -> bytes:
        """Return a file's content if it is what the sweep wrote; an older manifest cannot tell."""
        path = self.folder / name
        try:
            content = read_bytes(path)
        except InputError as error:
            if not os.path.lexists(path):
                raise InputError(f"{path}: there is no such file. Run the sweep again.") from None
            raise unreadable(path, error) from error
        files = self.manifest.get("files")
        wanted = files.get(name) if isinstance(files, dict) else None
        if wanted is not None and hashlib.sha256(content).hexdigest() != wanted:
            raise InputError(
                f"{path}: is damaged (it is not what the sweep wrote). Run the same command "
                "again to mend it."
            )
        return content


_MAY_BE_UNSET = ("param_routing.", "param_prior.")


def _is_missing(value: Any) -> bool:
    return value is None or bool(pd.isna(value))


def _value(name: str, value: Any) -> Value:
    own = knob(name)
    if _is_missing(value):
        return "all" if own.words else None
    if isinstance(value, str):
        return value if name.startswith(CAPTURE_PREFIX) else own.parse(value)
    return int(value) if own.integer or (own.free and value == int(value)) else float(value)
