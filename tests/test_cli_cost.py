"""``sweep cost``."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from sweeper.cli import app
from tests.snapshot import assert_matches_snapshot


def cost(*options: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["cost", *options], prog_name="sweep")
    return result.exit_code, result.stdout, result.stderr


def test_help_is_as_reviewed() -> None:
    assert_matches_snapshot(cost("--help")[1], "help-cost.txt")


def test_the_reference_multiplier_is_tabled() -> None:
    code, out, said = cost("--rrf-k", "60,20,5", "--multiplier", "0.87")
    assert (code, said) == (0, "")
    rows = [line.split() for line in out.splitlines()[2:]]
    assert rows == [
        ["60", "0.87", "9", "30", "6.0"],
        ["20", "0.87", "3", "30", "6.0"],
        ["5", "0.87", "0", "30", "6.0"],
    ]


def test_json_has_one_row_per_constant_and_half_life() -> None:
    code, out, _ = cost("--rrf-k", "60", "--multiplier", "0.5", "--half-life", "7,30", "--json")
    document = json.loads(out)
    assert code == 0
    assert document["schema"] == "sweep.cost/1"
    assert document["depth"] == 20
    assert document["rows"] == [
        # (60 + 1) / 0.5 - 60 = 62, so ranks 2 to 20 overtake: all 19.
        {"rrf_k": 60, "multiplier": 0.5, "ranks_lost": 19, "half_life_days": 7.0, "age_days": 7.0},
        {"rrf_k": 60, "multiplier": 0.5, "ranks_lost": 19, "half_life_days": 30.0, "age_days": 30},
    ]


def test_an_age_is_turned_into_its_multiplier() -> None:
    _, out, _ = cost("--rrf-k", "60", "--age", "30", "--half-life", "30", "--json")
    assert json.loads(out)["rows"][0]["multiplier"] == 0.5


def test_an_age_of_any_length_costs_every_rank_in_the_end() -> None:
    code, out, said = cost("--rrf-k", "60", "--age", "1000000", "--half-life", "1", "--csv")
    assert code == 0
    assert out.splitlines()[1] == "60,0.0,19,1.0,1000000.0"
    assert "--depth" in said


def test_a_depth_that_is_used_up_is_said() -> None:
    assert "larger --depth" in cost("--multiplier", "0.5", "--rrf-k", "60")[2]
    assert cost("--multiplier", "0.5", "--rrf-k", "60", "--depth", "100")[2] == ""


def test_equal_values_in_a_list_count_once() -> None:
    _, out, _ = cost("--rrf-k", "60, 60,+60", "--multiplier", "0.87", "--csv")
    assert len(out.splitlines()) == 2


def test_markdown_is_a_table() -> None:
    _, out, _ = cost("--rrf-k", "5", "--multiplier", "0.87", "--markdown")
    assert out.splitlines()[1] == "| --: | --: | --: | --: | --: |"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--multiplier", "0.87", "--rrf-k", "0"], "--rrf-k: must be an integer of at least 1"),
        (["--multiplier", "0.87", "--rrf-k", "60,,5"], "--rrf-k: must be an integer of at least"),
        (["--multiplier", "x"], "--multiplier: must be a finite number of at least 0, got 'x'."),
        (["--multiplier", "0"], "--multiplier: must be a number above 0 and at most 1, got 0."),
        (["--multiplier", "1.2"], "--multiplier: must be a number above 0 and at most 1, got 1.2."),
        (["--multiplier", "nan"], "--multiplier: must be a finite number of at least 0"),
        (["--multiplier", "0.87", "--half-life", "0"], "--half-life: must be a finite number"),
        (["--multiplier", "0.87", "--half-life", "off"], "--half-life: must be a finite number"),
        (["--multiplier", "0.87", "--depth", "0"], "--depth: must be an integer of at least 1"),
        (["--multiplier", "0.87", "--depth", "limit"], "--depth: must be an integer of at least 1"),
        (["--age", "-1"], "--age: must be a finite number of days of at least 0, got -1."),
        (["--age", "inf"], "--age: must be a finite number of days"),
        ([], "give either --multiplier"),
        (["--multiplier", "0.87", "--age", "3"], "give either --multiplier"),
        (["--multiplier", "0.87", "--json", "--csv"], "give one of --json, --markdown and --csv."),
    ],
)
def test_a_bad_value_is_refused_in_a_sentence(options: list[str], sentence: str) -> None:
    code, out, said = cost(*options)
    assert (code, out) == (2, "")
    assert said.startswith(sentence)
