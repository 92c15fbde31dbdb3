"""What results answer: the same as the commands, in the words of a config."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from sweeper import load
from sweeper.config import load_config
from sweeper.constraints import Objective, parse_constraint
from sweeper.errors import InfeasibleError, InputError
from sweeper.pick import pick
from sweeper.results import Results
from sweeper.staircase import Curve
from sweeper.sweep import run_sweep
from tests.projects import ROOT, invoke, write_project

HALF_LIFE = "recency_half_life_days"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    run_sweep(load_config(write_project(folder)), root=folder / "results")
    run_sweep(load_config(ROOT / "configs/recency.yaml"), root=folder / "results")
    return folder / "results"


@pytest.fixture(scope="module")
def small(root: Path) -> Results:
    return load("small", root=root)


@pytest.fixture(scope="module")
def bundled(root: Path) -> Results:
    return load("recency", root=root)


# --- pick -----------------------------------------------------------------------------------------


def test_a_pick_takes_objectives_and_constraints_as_a_config_writes_them(bundled: Results) -> None:
    found = bundled.pick(
        objectives={"freshness.mrr": "maximize"}, constraints=["entity.recall@10 >= current - 0.1"]
    )
    same = pick(
        bundled,
        objectives=[Objective("freshness.mrr", "maximize")],
        constraints=[parse_constraint("entity.recall@10 >= current - 0.1")],
    )
    assert found.chosen.settings == same.chosen.settings
    assert found.chosen.p_value == same.chosen.p_value
    assert found.constraints == same.constraints


def test_figures_alone_are_maximised_and_one_text_is_a_list_of_one(bundled: Results) -> None:
    found = bundled.pick(objectives="freshness.mrr", constraints="entity.mrr >= current")
    assert [dataclasses.astuple(item) for item in found.objectives] == [
        ("freshness.mrr", "maximize")
    ]
    assert [item.text for item in found.constraints] == ["entity.mrr >= current"]
    assert bundled.pareto(["freshness.mrr"]).equals(bundled.pareto({"freshness.mrr": "maximize"}))


@pytest.mark.slow
def test_a_pick_is_what_the_command_prints(bundled: Results, root: Path) -> None:
    printed = invoke("pick", "recency", "--results", root, "--json").document
    found = bundled.pick()
    assert printed["chosen"]["trial"] == found.chosen.trial
    assert printed["chosen"]["settings"] == found.chosen.settings.as_dict()
    assert printed["chosen"]["p_value"] == found.chosen.p_value


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"objectives": "freshness.mr"}, r'no figure "freshness.mr". Did you mean'),
        ({"objectives": {"freshness.mrr": "up"}}, "maximize or minimize"),
        ({"objectives": []}, "there is no objective"),
        ({"constraints": "entity.mrr => 1"}, "write >= instead of =>"),
        ({"constraints": ["entty.mrr >= current"]}, r'no figure "entty.mrr"'),
        ({"policy": "suported"}, r'Did you mean "supported"'),
        ({"horizon_days": math.nan}, "the horizon must be a number of days of at least 0"),
    ],
)
def test_a_pick_says_what_it_cannot_read(
    bundled: Results, asked: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        bundled.pick(**asked)


def test_a_pick_under_constraints_that_nothing_meets_names_the_one_that_binds(
    bundled: Results,
) -> None:
    with pytest.raises(InfeasibleError, match=r"freshness.mrr > 1: binds"):
        bundled.pick(constraints="freshness.mrr > 1")


# --- compare --------------------------------------------------------------------------------------


def test_a_comparison_is_what_the_command_prints(bundled: Results, root: Path) -> None:
    found = bundled.compare(61)
    printed = invoke(
        "compare", "recency#current", "recency#61", "--results", root, "--json"
    ).document
    assert found.baseline == printed["baseline"]
    assert [item.p_value for item in found.differences] == [
        item["p_value"] for item in printed["differences"]
    ]
    assert [item.query_id for item in found.moved] == [
        item["query_id"] for item in printed["moved"]
    ]


def test_the_sides_of_a_comparison_may_be_of_two_sweeps(bundled: Results, small: Results) -> None:
    found = bundled.compare(3, 0, of=bundled)
    assert found.baseline == f"{bundled.address}#0"
    assert found.challenger == f"{bundled.address}#3"
    with pytest.raises(InputError, match="no question in common"):
        bundled.compare(3, of=small)


def test_a_baseline_file_is_the_other_side_of_a_comparison(
    bundled: Results, tmp_path: Path
) -> None:
    path = tmp_path / "baseline.json"
    figures = {"overall": {"mrr": 0.5}}
    path.write_text(json.dumps({"schema": "sweep.baseline/1", "figures": figures}), "utf-8")
    found = bundled.compare("current", str(path))
    assert {(item.slice, item.metric, item.baseline) for item in found.differences} == {
        ("overall", "mrr", 0.5)
    }


# --- explain --------------------------------------------------------------------------------------


def test_an_explanation_ranks_as_the_trial_did(bundled: Results) -> None:
    table = bundled.per_query(61).set_index("query_id")
    for query_id in bundled.golden.query_ids[:5]:
        found = bundled.explain(query_id, 61)
        assert found.first_position == table.loc[query_id, "first_position"]


def test_settings_may_be_changed_by_name_or_given_whole(bundled: Results) -> None:
    query_id = bundled.golden.query_ids[0]
    today = bundled.current_settings
    changed = bundled.explain(query_id, settings={"rrf_k": 20, HALF_LIFE: 30}).settings
    assert changed == today.with_values({"rrf_k": 20, HALF_LIFE: 30.0})
    assert bundled.explain(query_id, settings=changed).settings == changed
    assert bundled.explain(query_id, 61, settings={HALF_LIFE: "off"}).settings == (
        bundled.settings[61].with_values({HALF_LIFE: 0.0})
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rrf": 20}, r'settings: unknown knob .*"rrf_k"'),
        ({"rrf_k": 0}, r"settings: rrf_k: must be an integer of at least 1, got 0"),
        ({"depth": 500}, "settings: a depth of 500 is more than"),
        ({"weights.vecto": 2}, r'the engine has no channel "vecto"\. Did you mean'),
    ],
)
def test_settings_that_cannot_be_shown_are_refused(
    bundled: Results, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        bundled.explain(bundled.golden.query_ids[0], settings=changes)


def test_an_unknown_question_is_refused_with_the_closest(bundled: Results) -> None:
    known = bundled.golden.query_ids[0]
    with pytest.raises(InputError, match=f'has no question "{known}x". Did you mean "{known}"'):
        bundled.explain(f"{known}x")


# --- curves ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [None, "min_similarity", "rrf_k", "weights.lexical"])
def test_a_curves_frame_has_the_figures_of_a_replay_in_every_cell(
    small: Results, name: str | None
) -> None:
    curve = small.curve(name)
    frame = curve.to_frame()
    assert list(frame.columns) == ["low", "high", "slice", "metric", "value", "exact"]
    assert not frame.duplicated(["low", "high", "slice", "metric"]).any()
    for cell in range(len(curve.value)):
        settings = curve.settings.with_values({curve.knob.name: _inside(curve, cell)})
        replayed = small.replay.figures([settings], small.metrics).value[0]
        own = frame[frame["low"] == curve.bounds(cell)[0]]
        assert np.array_equal(own["value"].to_numpy(), replayed.ravel(), equal_nan=True)
    apart = frame[frame["low"].isna()]
    assert len(apart) == len(curve.points) * 12
    assert apart["high"].isna().all()


def _inside(curve: Curve, cell: int) -> float:
    """Return a value of the knob inside a cell; an integer between the edges of ``rrf_k``."""
    low, high = curve.bounds(cell)
    if curve.knob.integer:
        return math.ceil(low)
    return curve.middle_of(low, high)


def test_a_curve_may_run_through_another_trial(small: Results) -> None:
    curve = small.curve("rrf_k", 2, settings={"min_similarity": 0.2})
    assert curve.settings == small.settings[2].with_values({"min_similarity": 0.2})


def test_a_figure_that_may_not_hold_in_its_cell_says_so(small: Results) -> None:
    curve = small.curve(HALF_LIFE)
    assert curve.underflow is not None
    frame = curve.to_frame()
    assert set(frame.loc[~frame["exact"], "low"]) == {curve.underflow[0]}


def test_a_knob_without_an_exact_curve_is_refused_with_those_that_have_one(small: Results) -> None:
    with pytest.raises(InputError, match=r'"limit" has no exact curve. Choose from: rrf_k'):
        small.curve("limit")
    with pytest.raises(InputError, match=r'Did you mean "min_similarity"'):
        small.margins("min_similarty")
    with pytest.raises(InputError, match="need weights of 0"):
        small.curve("rrf_k", settings={"weights.vector": 1e-300})


@pytest.mark.slow
def test_margins_surround_the_value_that_was_asked_for(bundled: Results) -> None:
    found = bundled.margins(HALF_LIFE, settings={HALF_LIFE: 1825})
    assert found.value == 1825
    assert found.plateau.low is not None
    assert found.plateau.high is not None
    assert found.plateau.low <= 1825 <= found.plateau.high
    assert pd.DataFrame(found.flips)["query_id"].isin(bundled.golden.query_ids).all()
    with pytest.raises(InputError, match="rrf_k is computed from 1 to"):
        bundled.margins("rrf_k", settings={"rrf_k": 10**6})


# --- plots ----------------------------------------------------------------------------------------


def test_a_staircase_is_drawn_with_what_the_trials_saw(bundled: Results) -> None:
    axes = bundled.plot_staircase("mrr", name=HALF_LIFE, sampled=True, intervals=False)
    line = bundled.line(HALF_LIFE)
    mrr = bundled.figures.query("metric == 'mrr'").set_index("trial_id")
    own = line[line[f"param_{HALF_LIFE}"] > 0].sort_values(f"param_{HALF_LIFE}")
    expected = mrr.loc[own["trial_id"]].dropna().groupby("slice")["value"].apply(list)
    dotted = [
        np.asarray(item.get_ydata()).tolist() for item in axes.lines if item.get_linestyle() == ":"
    ]
    assert sorted(dotted) == sorted(expected)


def test_a_staircase_of_a_metric_that_was_not_recorded_is_refused(bundled: Results) -> None:
    with pytest.raises(InputError, match=r'no metric "ndcg@10"'):
        bundled.plot_staircase("ndcg@10")


def test_a_staircase_marks_what_runs_today_whatever_trial_it_runs_through(bundled: Results) -> None:
    axes = bundled.plot_staircase(
        "mrr", name=HALF_LIFE, settings={"rrf_k": 20, HALF_LIFE: 1800}, intervals=False
    )
    assert [text.get_text() for text in axes.texts if "current" in text.get_text()] == [
        "current: off"
    ]
