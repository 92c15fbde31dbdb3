"""``sweep curve``."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

from sweeper.curves import margin_sentences
from sweeper.margins import Interval, Margins
from sweeper.plots import save
from sweeper.results import load
from tests.projects import Done, invoke, write_project


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("curve")
    config = write_project(folder)
    done = invoke("run", config, "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    return folder / "results"


def curve(results: Path, *options: object) -> Done:
    return invoke("curve", "small", "--results", results, *options)


def test_it_says_what_surrounds_the_current_setting_and_draws(
    results: Path, tmp_path: Path
) -> None:
    done = curve(results, "-o", tmp_path / "stairs")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith("recency_half_life_days = off:\n  no slice's figure changes ")
    assert "Where fresh MRR is highest along recency half-life" in done.stdout
    assert "steps; --csv or --json prints them all." in done.stdout
    assert {path.suffix for path in tmp_path.iterdir()} == {".png", ".svg"}


def test_what_holds_at_one_value_alone_is_said_as_a_sentence() -> None:
    alone = Margins(0.0, Interval(None, None, True), Interval(None, None, True), ())
    assert margin_sentences(alone, "recency_half_life_days")[1:] == [
        "some slice's figure changes as soon as it is not off",
        "some question gets worse as soon as it is not off",
    ]
    whole = Margins(60, Interval(59.5, 60.5, False), Interval(50.5, 70.5, False), ())
    assert margin_sentences(whole, "rrf_k")[1:] == [
        "some slice's figure changes as soon as it is not 60",
        "no question gets worse from 51 to 70",
    ]


def test_a_metric_decides_the_tables_too(results: Path, tmp_path: Path) -> None:
    done = curve(results, "--metric", "recall@1", "-o", tmp_path / "stairs")
    titles = [line for line in done.stdout.splitlines() if line.startswith("Where ")]
    assert titles == [
        f"Where {group} recall@1 is highest along recency half-life"
        for group in ("fresh", "entity")
    ]


def test_a_figure_decides_its_table_alone(results: Path, tmp_path: Path) -> None:
    done = curve(results, "--metric", "overall.mrr", "-o", tmp_path / "stairs")
    titles = [line for line in done.stdout.splitlines() if line.startswith("Where ")]
    assert titles == ["Where overall MRR is highest along recency half-life"]
    assert len(list(tmp_path.iterdir())) == 2


def test_the_best_of_a_metric_is_its_least_where_less_is_better(tmp_path: Path) -> None:
    config = write_project(tmp_path)
    options = ("--results", tmp_path / "results", "--no-plots")
    changes = ("space={min_similarity: [0, 0.4]}", "metrics=[mrr, returned]")
    done = invoke("run", config, *options, *(x for text in changes for x in ("--set", text)))
    assert done.exit_code == 0, done.stderr
    knob = ("--knob", "min_similarity", "--metric", "overall.returned")
    done = curve(tmp_path / "results", *knob, "--no-plot")
    _, _, rest = done.stdout.partition("Where overall returned is lowest along ")
    figures = [float(row.split()[-1]) for row in rest.splitlines() if re.match(r"[\d.]+ to", row)]
    assert figures == sorted(figures)
    assert figures[0] < figures[-1]


def test_csv_has_every_step_and_the_value_apart(results: Path) -> None:
    done = curve(results, "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0]["recency_half_life_days"] == "off"
    assert list(rows[0])[:4] == ["recency_half_life_days", "low", "high", "exact"]
    assert "fresh.mrr" in rows[0]
    lows = [float(row["low"]) for row in rows[1:]]
    highs = [float(row["high"]) for row in rows[1:]]
    assert lows == sorted(lows)
    assert highs[:-1] == lows[1:]
    assert (lows[0], highs[-1]) == (0.0, float("inf"))


def test_json_names_what_is_not_promised(results: Path) -> None:
    document = curve(results, "--json").document
    assert document["schema"] == "sweep.curve/1"
    assert document["knob"] == "recency_half_life_days"
    assert document["underflow"][0] < document["underflow"][1]
    assert document["unsettled"] == []
    assert {"plateau", "safe", "flips", "value"} <= set(document["margins"])
    assert sum(not step["exact"] for step in document["steps"]) == 1
    assert (document["steps"][0]["low"], document["steps"][0]["high"]) == (None, None)


@pytest.mark.parametrize("name", ["rrf_k", "min_similarity", "weights.vector"])
def test_every_other_knob_has_a_curve(results: Path, tmp_path: Path, name: str) -> None:
    done = curve(results, "--knob", name, "-o", tmp_path / "stairs")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(f"{name} = ")


def test_steps_of_rrf_k_are_whole_numbers(results: Path) -> None:
    done = curve(results, "--knob", "rrf_k", "--csv")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0]["low"] == "1.0"
    for row in rows:
        assert float(row["low"]) == int(float(row["low"]))
        assert float(row["low"]) <= float(row["high"])


def test_the_other_knobs_can_be_changed(results: Path) -> None:
    plain = curve(results, "--csv").stdout
    changed = curve(results, "--csv", "--settings", "rrf_k=1", "--settings", "min_similarity=0.3")
    assert changed.exit_code == 0
    assert changed.stdout != plain
    trial = curve(results, "--json", "--trial", "3").document
    assert trial["settings"] != curve(results, "--json").document["settings"]


def test_the_plot_is_the_methods_and_marks_what_runs_today(results: Path, tmp_path: Path) -> None:
    changes = {"rrf_k": 1, "recency_half_life_days": 300}
    texts = [word for name, value in changes.items() for word in ("--settings", f"{name}={value}")]
    done = curve(results, *texts, "-o", tmp_path / "command")
    assert done.exit_code == 0, done.stderr
    found = load("small", root=results)
    axes = found.plot_staircase("mrr", name="recency_half_life_days", settings=changes)
    assert "current: off" in [text.get_text() for text in axes.texts]
    save(axes, tmp_path / "method")
    command, method = ((tmp_path / f"{name}.svg").read_bytes() for name in ("command", "method"))
    assert command == method


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--knob", "limit"), '--knob: "limit" has no exact curve.'),
        (("--metric", "ndcg@3"), '--metric: "ndcg@3" was not recorded.'),
        (("--metric", "frsh.mrr"), '"frsh.mrr" was not recorded. Did you mean "fresh.mrr"?'),
        (("--settings", "rrf_k"), "write knob=value"),
        (("--settings", "limit=500"), "--settings: a depth of 500 is more than the"),
        (("--settings", "rrf=20"), "unknown knob"),
        (("--settings", "rrf_k=0"), "must be an integer of at least 1"),
        (
            ("--knob", "rrf_k", "--settings", "rrf_k=9000"),
            "--knob: rrf_k is computed from 1 to 5000, not at 9000.",
        ),
        (("--settings", "weights.vector=1e-200"), "weights of 0 or from 1e-100"),
    ],
)
def test_bad_input_is_named(results: Path, options: tuple[str, ...], said: str) -> None:
    done = curve(results, *options)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""
