"""``sweep report``: where the page goes, and what is said about it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeper.page import html_report
from sweeper.results import load
from sweeper.settings import Settings
from sweeper.tables import html_text
from tests.projects import invoke, sweeps, write_project


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    done = invoke("run", write_project(folder), "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0
    return folder / "results"


def test_the_report_lies_with_its_sweep_and_its_path_is_printed(root: Path) -> None:
    [folder] = sweeps(root)
    done = invoke("report", "small", "--results", root)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{folder / 'report.html'}\n"
    assert (folder / "report.html").read_text("utf-8") == html_report(load(folder))


@pytest.mark.slow
def test_it_goes_where_it_is_told(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "page.html"
    found = invoke("report", "small", "--results", root, "--out", out, "--json").document
    assert found["schema"] == "sweep.report/1"
    assert found["file"] == str(out)
    assert found["bytes"] == out.stat().st_size


def test_it_recommends_what_pick_recommends_under_the_same_options(
    root: Path, tmp_path: Path
) -> None:
    bound = "fresh.mrr >= 0.2"
    options = ("--maximize", "overall.abstention", "--policy", "best", "--subject-to", bound)
    chosen = invoke("pick", "small", "--results", root, *options, "--json").document["chosen"]
    out = tmp_path / "page.html"
    assert invoke("report", "small", "--results", root, *options, "--out", out).exit_code == 0
    text = out.read_text("utf-8")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    results = load("small", root=root)
    other = results.pick()
    assert chosen["trial"] not in {other.chosen.trial, other.best.trial}
    assert data["pick"] == chosen["trial"]
    assert Settings().with_values(chosen["settings"]).text in text
    assert html_text(f"in place of the sweep's own: {bound}.") in text


def test_without_a_feasible_setting_there_is_a_report_all_the_same(
    root: Path, tmp_path: Path
) -> None:
    out = tmp_path / "page.html"
    done = invoke(
        "report", "small", "--results", root, "--subject-to", "fresh.mrr >= 2", "--out", out
    )
    assert done.exit_code == 0
    assert "no recommendation: no setting meets all constraints." in done.stderr
    assert "No recommendation" in out.read_text("utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("smal",), 'Did you mean "small"?'),
        (("small", "--horizon", "-1"), "the horizon must be a number of days of at least 0"),
        (("small", "--maximize", "fresh.mr"), 'no figure "fresh.mr"'),
        (("small", "--subject-to", "fresh.mrr"), '"fresh.mrr" is no constraint'),
    ],
)
def test_wrong_use_is_one_message(root: Path, arguments: tuple[str, ...], message: str) -> None:
    done = invoke("report", *arguments, "--results", root)
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_folder_in_the_way_is_said(root: Path, tmp_path: Path) -> None:
    done = invoke("report", "small", "--results", root, "--out", tmp_path)
    assert done.exit_code == 2
    assert str(tmp_path) in done.stderr
