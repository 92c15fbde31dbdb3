"""Results as frames: their columns, lookups, the front, the line, and questions of any trial."""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sweeper import load
from sweeper.config import load_config
from sweeper.errors import InputError
from sweeper.frames import per_query_table
from sweeper.locating import find_sweep
from sweeper.metrics import parse_metrics
from sweeper.pictures import tradeoff_points
from sweeper.results import Results
from sweeper.sweep import run_sweep
from tests.projects import write_project


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    config = write_project(folder)
    for overrides in ((), ("space.rrf_k=[1, 2, 3]",)):
        run_sweep(load_config(config, overrides), root=folder / "results")
    return folder / "results"


@pytest.fixture
def results(root: Path) -> Results:
    return load("small", root=root)


def test_trials_have_one_row_each_and_typed_columns(results: Results) -> None:
    types = {name: str(kind) for name, kind in results.trials.dtypes.items()}
    assert types == {
        "trial_id": "str",
        "number": "int64",
        "is_current": "bool",
        "on_line": "bool",
        "in_space": "bool",
        "arm": "str",
        "error": "str",
        "status": "str",
        "feasible": "bool",
        "param_rrf_k": "Int64",
        "param_min_similarity": "Float64",
        "param_recency_half_life_days": "Float64",
        "param_limit": "Int64",
        "param_depth": "Int64",
        "duration_seconds": "float64",
        "overall.recall@1": "float64",
        "overall.mrr": "float64",
        "overall.abstention": "float64",
    }
    assert results.trials["number"].tolist() == list(range(len(results.trials)))
    assert results.trials["trial_id"].is_unique
    assert set(results.trials["status"]) == {"done"}
    assert (results.trials["duration_seconds"] >= 0).all()


def test_figures_have_one_row_per_trial_slice_and_metric(results: Results) -> None:
    figures = results.figures
    assert list(figures.columns) == ["trial_id", "slice", "metric", "value", "n_queries"]
    assert not figures.duplicated(["trial_id", "slice", "metric"]).any()
    assert len(figures) == len(results.trials) * 4 * 3
    counts = figures.drop_duplicates(["slice", "metric"]).set_index(["slice", "metric"])
    assert counts["n_queries"].to_dict() == {
        **dict.fromkeys(itertools.product(["entity"], ["recall@1", "mrr"]), 3),
        **dict.fromkeys(itertools.product(["fresh"], ["recall@1", "mrr"]), 2),
        **dict.fromkeys(itertools.product(["nothing"], ["recall@1", "mrr"]), 0),
        **dict.fromkeys(itertools.product(["overall"], ["recall@1", "mrr"]), 5),
        ("entity", "abstention"): 0,
        ("fresh", "abstention"): 0,
        ("nothing", "abstention"): 1,
        ("overall", "abstention"): 1,
    }
    assert figures["value"].isna().equals(figures["n_queries"] == 0)


def test_figures_are_the_means_of_the_questions(results: Results) -> None:
    for number in (0, results.trial("current"), len(results.trials) - 1):
        table = results.per_query(number)
        wide = results.wide().loc[number]
        for name in ("entity", "fresh"):
            values = table.loc[table["slice"] == name, "mrr"]
            assert wide[f"{name}.mrr"] == math.fsum(values) / len(values)
        known = table["mrr"].dropna()
        assert wide["overall.mrr"] == math.fsum(known) / len(known)


def test_wide_has_a_row_per_trial_and_the_columns_asked_for(results: Results) -> None:
    wide = results.wide(["fresh.mrr", "entity.recall@1", "fresh.mrr"])
    assert list(wide.columns) == ["fresh.mrr", "entity.recall@1"]
    assert wide.index.tolist() == results.trials["number"].tolist()
    figures = results.figures.set_index(["trial_id", "slice", "metric"])["value"]
    for number, trial_id in enumerate(results.trials["trial_id"]):
        assert wide.loc[number, "fresh.mrr"] == figures[trial_id, "fresh", "mrr"]
    assert len(results.wide().columns) == 12


def test_changing_a_frame_that_was_handed_out_changes_nothing_else(results: Results) -> None:
    wide = results.wide()
    wide.loc[:, :] = -1
    assert (results.wide()["overall.mrr"] >= 0).all()


def test_an_unknown_figure_is_refused_with_the_closest(results: Results) -> None:
    with pytest.raises(InputError, match=r'no figure "entity.mr". Did you mean "entity.mrr"\?'):
        results.wide(["entity.mr"])


@pytest.mark.parametrize(
    "objectives",
    [
        None,
        {"fresh.mrr": "maximize"},
        {"fresh.mrr": "minimize", "overall.recall@1": "maximize"},
        {"entity.mrr": "maximize", "fresh.mrr": "maximize", "overall.recall@1": "minimize"},
        {"nothing.mrr": "maximize"},
    ],
)
def test_the_front_is_what_brute_force_finds(
    results: Results, objectives: dict[str, str] | None
) -> None:
    front = results.pareto(objectives)
    chosen = objectives or {item.address: item.direction for item in results.objectives}
    signs = np.array([1 if word == "maximize" else -1 for word in chosen.values()])
    gains = results.wide(chosen).to_numpy() * signs
    best = {
        tuple(gain)
        for gain in gains
        if not np.isnan(gain).any()
        and not any((other >= gain).all() and (other > gain).any() for other in gains)
    }
    assert {tuple(gains[n]) for n in front["number"]} == best
    assert len(front) == len(best)
    values = [tuple(gains[n]) for n in front["number"]]
    assert values == sorted(values, reverse=True)


def test_an_objective_with_another_word_is_refused(results: Results) -> None:
    with pytest.raises(InputError, match="maximize or minimize"):
        results.pareto({"fresh.mrr": "up"})


def test_the_line_differs_from_the_current_setting_in_one_knob(results: Results) -> None:
    line = results.line()
    assert line["param_recency_half_life_days"].tolist() == [0, 7, 30.5]
    assert set(line["param_rrf_k"]) == {60}
    assert line["param_min_similarity"].isna().all()
    assert line["on_line"].all()
    other = results.line("rrf_k")
    assert other["param_rrf_k"].tolist() == [1, 2, 3, 60]


def test_an_unknown_knob_is_refused_with_the_closest(results: Results) -> None:
    said = 'unknown knob "rrf". Did you mean "rrf_k"?'
    for ask in (
        lambda: results.line("rrf"),
        lambda: results.plane("recency_half_life_days", "rrf"),
        lambda: results.plot_knob_curve("mrr", name="rrf"),
        lambda: results.plot_heatmap("fresh.mrr", rows="rrf", columns="rrf_k"),
        lambda: results.plot_heatmap("fresh.mrr", rows="rrf_k", columns="rrf"),
    ):
        with pytest.raises(InputError, match=re.escape(said)):
            ask()


def test_questions_of_a_trial_that_was_not_kept_equal_those_of_one_that_was(
    results: Results,
) -> None:
    kept = pd.read_parquet(results.folder / "per_query.parquet")
    numbers = [results.trial(trial_id) for trial_id in kept["trial_id"].unique()]
    assert results.trial("current") in numbers
    for number in numbers:
        stored = results.per_query(number).drop(columns="query")
        replayed = per_query_table(
            results.golden,
            results.positions([number]),
            [results.trials["trial_id"].iloc[number]],
            results.metrics,
        )
        stored["positions"] = [list(item) for item in stored["positions"]]
        pd.testing.assert_frame_equal(
            stored, replayed.astype(stored.dtypes.to_dict()), check_exact=True
        )
    missing = next(n for n in range(len(results.trials)) if n not in numbers)
    assert len(results.per_query(missing)) == 6


def test_a_question_has_the_position_of_each_expected_key(results: Results) -> None:
    table: Any = results.per_query("current").set_index("query_id")
    assert list(table.columns)[:6] == [
        "trial_id",
        "slice",
        "query",
        "first_position",
        "positions",
        "returned",
    ]
    assert table.loc["q3", "query"] == "E-17"
    assert table.loc["q6", "first_position"] == 0
    assert list(table.loc["q6", "positions"]) == []
    assert math.isnan(table.loc["q6", "mrr"])
    both = list(table.loc["q5", "positions"])
    assert len(both) == 2
    assert table.loc["q5", "first_position"] == min(p for p in both if p)


def test_settings_come_back_as_they_were_typed(results: Results) -> None:
    first = results.settings[0]
    assert first.text == (
        "rrf_k=1 min_similarity=none recency_half_life_days=off limit=4 depth=limit"
    )
    assert [item.trial_id for item in results.settings] == results.trials["trial_id"].tolist()


def test_a_trial_is_found_by_number_id_and_name(results: Results) -> None:
    trial_id = results.trials["trial_id"].iloc[3]
    for name in (3, "3", "#3", f"{results.address}#3", trial_id):
        assert results.trial(name) == 3
    assert results.trials["is_current"].iloc[results.trial("current")]
    for wrong in ("30", 30, "-1", "x", "", "²"):
        with pytest.raises(InputError, match="has no trial"):
            results.trial(wrong)


def test_a_sweep_is_found_by_name_path_and_address(root: Path) -> None:
    latest = load("small", root=root)
    assert latest.trials["param_rrf_k"].tolist()[0] == 1
    assert len(latest.trials) > 21, "the one that was started last"
    assert load(root / "small").folder == latest.folder
    assert load(latest.folder).address == latest.address
    assert load(latest.address, root=root).folder == latest.folder
    first = next(path for path in (root / "small").iterdir() if path != latest.folder)
    assert load(f"small/{first.name}", root=root).folder == first


def test_an_unknown_sweep_is_refused_with_the_closest(root: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match='Did you mean "small"'):
        find_sweep("smal", root=root)
    with pytest.raises(InputError, match="There are no sweeps under"):
        find_sweep("small", root=tmp_path)


def test_results_say_what_they_are(results: Results) -> None:
    assert repr(results) == f"<Results {results.address}: {len(results.trials)} trials, 6 queries>"
    assert results.metrics == parse_metrics(["recall@1", "mrr", "abstention"])


def test_feasible_trials_meet_the_constraint(results: Results) -> None:
    wide = results.wide()["entity.mrr"]
    bound = wide.loc[results.trial("current")] - 0.1
    assert results.trials["feasible"].tolist() == (wide >= bound).tolist()


def test_a_table_that_is_gone_is_named(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "small" / "copy"
    shutil.copytree(load("small", root=root).folder, folder)
    (folder / "figures.parquet").unlink()
    (folder / "trials.parquet").write_bytes(b"rubbish")
    with pytest.raises(
        InputError, match=r"figures.parquet: there is no such file. Run the sweep again"
    ):
        _ = Results(folder).figures
    with pytest.raises(InputError, match=r"trials.parquet: is damaged .* Run the same command"):
        _ = Results(folder).trials


@pytest.fixture
def copied(root: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "small" / "copy"
    shutil.copytree(load("small", root=root).folder, folder)
    return folder


def _forget_digests(folder: Path) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    del manifest["files"], manifest["checks"]
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def test_a_table_that_was_changed_but_can_be_read_is_damaged(copied: Path) -> None:
    table = pd.read_parquet(copied / "figures.parquet")
    table["value"] = 1.0
    table.to_parquet(copied / "figures.parquet", index=False)
    with pytest.raises(InputError, match=r"figures.parquet: is damaged \(it is not what the sweep"):
        _ = Results(copied).figures
    _forget_digests(copied)
    assert (Results(copied).figures["value"] == 1).all(), "an older manifest cannot tell"
    (copied / "figures.parquet").write_bytes(b"rubbish")
    with pytest.raises(InputError, match=r"cannot be read .* Run the sweep again"):
        _ = Results(copied).figures


def test_a_stored_golden_set_that_is_gone_or_damaged_names_the_sweep(copied: Path) -> None:
    (copied / "golden.jsonl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match=r"golden.jsonl: is damaged .* Run the same command"):
        _ = Results(copied).golden
    _forget_digests(copied)
    with pytest.raises(
        InputError, match=r"golden.jsonl: cannot be read .* Run the sweep again"
    ) as caught:
        _ = Results(copied).golden
    assert "iconv" not in str(caught.value)
    (copied / "golden.jsonl").unlink()
    with pytest.raises(
        InputError, match=r"golden.jsonl: there is no such file. Run the sweep again"
    ):
        _ = Results(copied).golden


def test_plots_read_the_frames(results: Results) -> None:
    points = tradeoff_points(results, "entity.mrr", "fresh.mrr")
    assert points["is_current"].sum() == 1
    assert points.loc[points["on_front"]].index.tolist() == sorted(
        results.pareto({"entity.mrr": "maximize", "fresh.mrr": "maximize"})["number"]
    )
    assert points["label"].iloc[0] == "k 1, floor none, half-life off"
    curve = results.plot_knob_curve("mrr")
    assert {"entity", "fresh", "overall"} <= set(curve.get_legend_handles_labels()[1])
    heat = results.plot_heatmap("fresh.mrr", rows="rrf_k", columns="recency_half_life_days")
    assert heat.get_ylabel().startswith("rrf_k")
    with pytest.raises(InputError, match="no metric"):
        results.plot_knob_curve("ndcg@10")
