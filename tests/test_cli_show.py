"""``sweep show``: tables of a finished sweep, in each form."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from sweeper.results import load
from tests.projects import invoke, sweeps, write_project


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    done = invoke("run", write_project(folder), "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0
    return folder / "results"


def test_a_sweep_is_shown_as_it_was_run(root: Path) -> None:
    [folder] = sweeps(root)
    for name in ("small", f"small/{folder.name}", folder, root / "small"):
        done = invoke("show", name, "--results", root)
        assert done.exit_code == 0
        assert "off (current)" in done.stdout


def test_the_document_is_that_of_run_under_its_own_name(root: Path) -> None:
    found = invoke("show", "small", "--results", root, "--json").document
    assert found["schema"] == "sweep.show/1"
    assert len(found["line"]) == 3


@pytest.mark.parametrize(
    "how", [("small#4",), ("small", "--trial", "4"), ("small", "--trial", "#4")]
)
def test_one_trial_is_shown_beside_todays(root: Path, how: tuple[str, ...]) -> None:
    found = invoke("show", *how, "--results", root, "--json").document
    assert found["schema"] == "sweep.rows/1"
    assert len(found["rows"]) == 12
    assert set(found["rows"][0]) == {
        *("slice", "metric", "current", "this", "difference", "questions")
    }
    assert found["rows"][2]["this"] is None, "undefined is null"


def test_an_arm_is_a_trial_and_is_named_beside_its_number(tmp_path: Path) -> None:
    arms = "arms={low: {rrf_k: 7}, old: {recency_half_life_days: 9}}"
    path, results = write_project(tmp_path), tmp_path / "results"
    assert not invoke("run", path, "--results", results, "--no-plots", "--set", arms).exit_code
    for how in (("--trial", "low"), ("--trial", "low", "--queries")):
        first = invoke("show", "small", *how, "--results", results).stdout.splitlines()[0]
        assert " (low): rrf_k=7 " in first
    today, current = (
        invoke("show", "small", "--trial", name, "--results", results).stdout
        for name in ("today", "current")
    )
    assert today == current
    assert "(low)" not in today
    done = invoke("show", "small", "--trial", "lov", "--results", results)
    assert done.exit_code == 2
    assert 'a trial id, current, or an arm. Did you mean "low"?' in done.stderr
    done = invoke("show", "small", "--trial", "zzz", "--results", results)
    assert "Choose from: low, old." in done.stderr
    done = invoke("compare", "small#today", "small#low", "--results", results)
    assert done.exit_code == 0
    assert " against small/" in done.stdout.splitlines()[0]
    assert done.stdout.splitlines()[0].endswith(" (low)")


def test_a_budget_that_is_not_set_reads_limit(tmp_path: Path) -> None:
    space = "space={routing.lookup.budget: [1, limit]}"
    path, results = write_project(tmp_path), tmp_path / "results"
    assert not invoke("run", path, "--results", results, "--no-plots", "--set", space).exit_code
    shown = invoke("show", "small", "--knob", "routing.lookup.budget", "--results", results).stdout
    assert [line.split()[0] for line in shown.splitlines()[4:6]] == ["1", "limit"]
    top = invoke("show", "small", "--top", "2", "--results", results).stdout
    assert {line.split()[-6] for line in top.splitlines() if line[:1] == "#"} == {"1", "limit"}


def test_one_slice_of_a_trial_is_shown(root: Path) -> None:
    found = invoke("show", "small#4", "--slice", "fresh", "--results", root, "--json").document
    assert {row["slice"] for row in found["rows"]} == {"fresh"}
    today = invoke("show", "small", "--slice", "fresh", "--results", root, "--json").document
    assert all(row["difference"] in {0, None} for row in today["rows"])


def test_questions_are_listed_with_their_positions(root: Path) -> None:
    found = invoke("show", "small#2", "--queries", "--results", root, "--json").document
    assert [row["query_id"] for row in found["rows"]] == ["q1", "q2", "q3", "q4", "q5", "q6"]
    assert found["rows"][5]["first_position"] is None


def test_the_best_are_listed(root: Path) -> None:
    found = invoke("show", "small", "--top", "3", "--results", root, "--json").document
    assert len(found["rows"]) == 3
    assert all(isinstance(row["trial"], int) for row in found["rows"])


def test_csv_holds_every_trial_in_full_precision(root: Path) -> None:
    done = invoke("show", "small", "--csv", "--results", root)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    results = load("small", root=root)
    assert len(rows) == 21
    assert [row["trial_id"] for row in rows] == results.trials["trial_id"].tolist()
    assert [float(row["fresh.mrr"]) for row in rows] == results.wide()["fresh.mrr"].tolist()
    assert rows[0]["min_similarity"] == "", "none is an empty cell"
    assert rows[0]["nothing.mrr"] == ""


def test_csv_of_one_table_is_that_table(root: Path) -> None:
    done = invoke("show", "small", "--top", "2", "--csv", "--results", root)
    assert len(done.stdout.splitlines()) == 3
    done = invoke("show", "small", "--knob", "min_similarity", "--csv", "--results", root)
    assert done.stdout.splitlines()[0].startswith("min_similarity,fresh.mrr")


def test_every_table_fits_a_terminal_of_80_columns(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    for more in ((), ("--top", "21"), ("--trial", "3"), ("--queries",)):
        lines = invoke("show", "small", *more, "--results", root).stdout.splitlines()
        table = [line for line in lines if "  " in line]
        assert max(map(len, table)) <= 80, more
        numbers = [word for line in table for word in line.split() if word.startswith("0.")]
        assert all(len(word) == 6 or word in {"0.1", "0.3"} for word in numbers), "none is broken"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("smal",), "no sweep 'smal'. Did you mean \"small\"?"),
        (("small#" + "9" * 5000,), "has no trial"),
        (("small#99",), "has no trial '99'. Give a number from 0 to 20, a trial id, or current."),
        (("small", "--top", "0"), "--top: must be at least 1, got 0."),
        (("small", "--slice", "fres"), '--slice: no slice "fres". Did you mean "fresh"?'),
        (("small", "--knob", "limit"), '--knob: "limit" did not vary. Choose from: rrf_k, '),
    ],
)
def test_what_is_not_there_is_refused(root: Path, arguments: tuple[str, ...], message: str) -> None:
    done = invoke("show", *arguments, "--results", root)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr


def test_ties_are_shown_as_bounds_around_each_figure(root: Path) -> None:
    found = invoke("show", "small", "--ties", "--results", root, "--json").document
    for row in found["rows"]:
        if row["captured"] is not None:
            assert row["lowest"] <= row["captured"] <= row["highest"]


def test_a_horizon_changes_nothing_with_decay_off_and_something_with_it(root: Path) -> None:
    still = invoke("show", "small", "--horizon", "300", "--results", root, "--json").document
    assert all(row["+300 days"] in {0, None} for row in still["rows"])
    moved = invoke(
        *("show", "small", "--trial", "1", "--horizon", "300", "--results", root, "--json")
    ).document
    assert any(row["+300 days"] for row in moved["rows"])


def test_judging_lists_what_to_label(root: Path) -> None:
    done = invoke("show", "small", "--judging", "--csv", "--results", root)
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert {"query_id", "key", "is"} <= set(rows[0])
    expected = {("q4", "new-chair"), ("q1", "doc-rent")}
    assert not expected & {(row["query_id"], row["key"]) for row in rows if row["is"] == "unjudged"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--ties", "--judging"), "one at a time"),
        (("--horizon", "-1"), "from 0 to 36500"),
        (("--horizon", "nan"), "from 0 to 36500"),
    ],
)
def test_views_that_do_not_go_together_are_refused(
    root: Path, options: tuple[str, ...], message: str
) -> None:
    done = invoke("show", "small", *options, "--results", root)
    assert done.exit_code == 2
    assert message in done.stderr
