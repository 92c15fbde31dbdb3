"""Tables and the Markdown report of a small sweep."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from sweeper.config import load_config
from sweeper.report import file_stem, markdown_report, write_report
from sweeper.result_tables import (
    front_table,
    line_table,
    queries_table,
    slice_table,
    top_table,
    trials_table,
    worth_of_a_question,
)
from sweeper.results import Results
from sweeper.sweep import run_sweep
from tests.projects import write_project
from tests.snapshot import assert_matches_snapshot


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    config = load_config(write_project(folder))
    return run_sweep(config, root=folder / "results").results


def test_the_report_is_as_reviewed(results: Results) -> None:
    report = markdown_report(results, [("a plot", "plots/a.png")])
    assert_matches_snapshot(report, "report.md")


def test_the_line_has_a_row_per_value_and_marks_the_current_one(results: Results) -> None:
    table = line_table(results)
    first = table.columns[0]
    assert [first.text(row[0]) for row in table.rows] == ["off (current)", "7", "30.5"]
    assert [row[0] for row in table.rows] == [0, 7, 30.5]
    assert table.title == ("By recency half-life, with rrf_k = 60, min_similarity = none as today")
    wide = results.wide()
    assert [row[1] for row in table.rows] == [wide.loc[n, "fresh.mrr"] for n in table.trials]


def test_the_line_of_another_knob_holds_the_half_life(results: Results) -> None:
    table = line_table(results, "min_similarity")
    assert table.title.endswith("recency_half_life_days = off as today")
    assert [table.columns[0].text(row[0]) for row in table.rows] == ["none (current)"]


def test_the_front_counts_better_and_worse_questions(results: Results) -> None:
    table = front_table(results)
    assert list(table.trials) == results.pareto()["number"].tolist()
    places = [column.header for column in table.columns]
    current = results.per_query("current")
    for row in table.rows:
        own = results.per_query(row[0])
        rises: Any = False
        falls: Any = False
        for name in ("recall@1", "mrr", "abstention"):
            rises = rises | (own[name] > current[name])
            falls = falls | (own[name] < current[name])
        assert row[places.index("better")] == (rises & ~falls).sum()
        assert row[places.index("worse")] == (falls & ~rises).sum()


def test_the_best_come_first_and_ties_by_the_next_objective(results: Results) -> None:
    table = top_table(results, 5)
    values = [(row[4], row[5]) for row in table.rows]
    assert len(values) == 5
    assert values == sorted(values, reverse=True)
    assert len(top_table(results, 1000).rows) == len(results.trials)


def test_a_trials_slices_stand_beside_todays(results: Results) -> None:
    table = slice_table(results, 0)
    assert len(table.rows) == 12
    shown = dict(zip([(r[0], r[1]) for r in table.rows], table.rows, strict=True))
    row = shown["fresh", "mrr"]
    assert row[3] - row[2] == row[4]
    assert len(slice_table(results, 0, "fresh").rows) == 3
    assert table.columns[4].text(0.25) == "+0.2500"
    assert table.columns[4].text(-0.00001) == "0.0000"
    assert table.columns[4].text(float("nan")) == "-"
    [score] = results.tallies([0])
    assert score.better + score.worse + score.equal + score.mixed == 6


def test_a_question_that_is_not_found_has_no_position(results: Results) -> None:
    table = queries_table(results, 0)
    rows = {row[0]: row for row in table.rows}
    assert rows["q6"][3:] == (None, None)
    assert rows["q3"][2] == "E-17"
    assert [row[1] for row in queries_table(results, 0, "fresh").rows] == ["fresh", "fresh"]


def test_every_trial_has_all_of_its_figures(results: Results) -> None:
    table = trials_table(results)
    assert len(table.rows) == len(results.trials)
    assert [column.header for column in table.columns][-12:] == list(results.wide().columns)


def test_what_one_question_is_worth_is_said(results: Results) -> None:
    assert worth_of_a_question(results, ["fresh", "entity", "fresh", "nothing"]) == (
        "One question is worth: fresh 0.500, entity 0.333, nothing 1.000.",
    )


@pytest.mark.slow
def test_the_report_lies_beside_its_plots_and_names_them(results: Results) -> None:
    written = write_report(results)
    report = written[0].read_text("utf-8")
    named = re.findall(r"\]\((plots/[^)]+)\)", report)
    assert len(named) == 3
    for name in named:
        assert results.folder / name in written
        assert (results.folder / name).read_bytes().startswith(b"\x89PNG")
    before = {path: path.read_bytes() for path in written}
    assert {path: path.read_bytes() for path in write_report(results)} == before


def test_file_names_are_plain_and_distinct() -> None:
    odd = ["a/b", "a b", "a.b", "..", "é", "x" * 300, "x" * 301, "-", "a_b", "a-b"]
    stems = [file_stem("curve", part) for part in odd]
    assert all(re.fullmatch(r"[A-Za-z0-9._-]{1,110}", stem) for stem in stems)
    assert len(set(stems) - {file_stem("curve", "a_b")}) >= len(odd) - 2
    assert file_stem("tradeoff", "entity.recall@10") == "tradeoff_entity.recall-10"


def test_settings_that_break_a_constraint_are_marked(folder: Path) -> None:
    config = load_config(folder / "sweep.yaml", ["constraints=[fresh.mrr >= 0.7]"])
    results = run_sweep(config, root=folder / "marked").results
    fine = results.trials["feasible"].tolist()
    assert not all(fine)
    for table in (line_table(results), front_table(results), top_table(results, 100)):
        assert table.feasible == tuple(fine[number] for number in table.trials)
        stars = ["*" in table.columns[0].text(row[0]) for row in table.rows]
        assert stars == [not meets for meets in table.feasible]
        said = "Marked *: breaks fresh.mrr >= 0.7." in table.notes
        assert said == any(stars)
