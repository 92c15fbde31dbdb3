"""Frames are plain pandas: pivots and joins work as anybody types them, and without a warning."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sweeper.config import load_config
from sweeper.golden import OVERALL
from sweeper.results import Results
from sweeper.sweep import run_sweep
from tests.projects import ROOT, write_project


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("project")
    return run_sweep(load_config(write_project(folder)), root=folder / "results").results


@pytest.fixture(autouse=True)
def no_warnings() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_a_pivot_has_a_row_per_trial_and_a_column_per_defined_figure(results: Results) -> None:
    table = results.figures.pivot_table(
        index="trial_id", columns=["slice", "metric"], values="value"
    )
    assert sorted(table.index) == sorted(results.trials["trial_id"])
    assert list(table.columns.names) == ["slice", "metric"]
    wide = results.wide().dropna(axis="columns")
    columns: list[tuple[str, str]] = table.columns.tolist()  # type: ignore[assignment]
    assert {f"{group}.{metric}" for group, metric in columns} == set(wide.columns)
    for number, trial_id in zip(results.trials["number"], results.trials["trial_id"], strict=True):
        for group, metric in columns:
            assert table.loc[trial_id, (group, metric)] == wide.loc[number, f"{group}.{metric}"]


def test_a_pivot_of_slices_over_a_knob_takes_a_join(results: Results) -> None:
    trials = results.trials.set_index("trial_id")
    joined = results.figures.join(trials["param_recency_half_life_days"], on="trial_id")
    table = joined[joined["metric"] == "mrr"].pivot_table(
        index="slice", columns="param_recency_half_life_days", values="value", aggfunc="max"
    )
    assert list(map(float, table.columns)) == [0.0, 7.0, 30.5]
    assert set(table.index) == {"entity", "fresh", OVERALL}


def test_every_frame_of_trials_joins_by_number_and_by_trial_id(results: Results) -> None:
    figures = results.figures
    for frame in (results.trials, results.pareto(), results.line()):
        merged = frame.merge(figures, on="trial_id", validate="one_to_many")
        assert len(merged) == len(frame) * 12
        joined = frame.set_index("number").join(results.wide(["fresh.mrr"]), validate="one_to_one")
        assert joined["fresh.mrr"].notna().all()


def test_questions_of_two_trials_join_by_question(results: Results) -> None:
    before, after = results.per_query("current"), results.per_query(0)
    both = before.merge(after, on="query_id", suffixes=("", "_then"), validate="one_to_one")
    assert len(both) == len(results.golden)
    assert (both["slice"] == both["slice_then"]).all()
    means = before.groupby("slice")["mrr"].mean().dropna()
    figures = results.figures.query("trial_id == @results.current and metric == 'mrr'")
    own = figures.set_index("slice")["value"].drop(OVERALL).dropna()
    assert np.allclose(means, own[means.index], rtol=0, atol=1e-15)


def test_the_columns_of_all_frames_have_the_types_that_the_page_gives(results: Results) -> None:
    page = (ROOT / "docs/data-model.md").read_text("utf-8")
    kinds = {"text": "str", "list of int64": "object"}
    documented: dict[str, set[str]] = {}
    for names, words in re.findall(r"^\| (`[^|]+`) \| ([\w, ]+) \|", page, re.MULTILINE):
        options = re.split(", | or ", words)
        for name in re.findall(r"`([^`]+)`", names):
            documented.setdefault(name, set()).update(kinds.get(word, word) for word in options)
    frames = [results.trials, results.figures, results.per_query("current")]
    frames += [results.curve("rrf_k").to_frame()]
    checked = set()
    for frame in frames:
        for name, dtype in frame.dtypes.items():
            if str(name) in documented:
                assert str(dtype) in documented[str(name)], name
                checked.add(str(name))
    assert {"trial_id", "number", "value", "n_queries", "positions", "returned", "low"} <= checked


def test_changing_a_frame_in_place_changes_no_answer(results: Results) -> None:
    trials, figures = results.trials, results.figures
    trials.loc[:, "number"] = 0
    trials["trial_id"] = "x"
    figures["value"] = -1.0
    figures.loc[:, "metric"] = "y"
    assert results.trials["number"].tolist() == list(range(len(trials)))
    assert results.trials["trial_id"].is_unique
    assert set(results.figures["metric"]) == {"recall@1", "mrr", "abstention"}
    assert (results.wide()["overall.mrr"] >= 0).all()


def test_frames_survive_csv_and_parquet(results: Results, tmp_path: Path) -> None:
    results.figures.to_csv(tmp_path / "figures.csv", index=False)
    back = pd.read_csv(tmp_path / "figures.csv")
    assert back["value"].equals(results.figures["value"])
    results.per_query("current").to_parquet(tmp_path / "questions.parquet")
    kept = pd.read_parquet(tmp_path / "questions.parquet")
    assert kept["query_id"].tolist() == list(results.golden.query_ids)
