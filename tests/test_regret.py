"""What docs/methods.md says of samplers is what was measured, and the measurement measures."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

from tests.benchmarks import regret
from tests.projects import ROOT

RESULT = json.loads((ROOT / "docs/results/regret.json").read_text("utf-8"))
PAGE = (ROOT / "docs/methods.md").read_text("utf-8")


@pytest.mark.parametrize("name", list(RESULT["samplers"]))
def test_the_table_shows_what_was_measured(name: str) -> None:
    own = RESULT["samplers"][name]
    after = [f"{own['mean'][n - 1]:.4f}" for n in (20, 50, 100, 300)]
    assert f"| {name} | {' | '.join(after)} | {own['found']:.0%} |" in PAGE


def test_what_the_page_concludes_holds_of_the_numbers() -> None:
    samplers = RESULT["samplers"]
    question = 1 / RESULT["n_questions"]
    early = [own["mean"][19] for own in samplers.values()]
    assert max(early) - min(early) < question
    assert all(own["mean"][-1] < question for own in samplers.values())
    assert [name for name, own in samplers.items() if own["found"] == 1] == ["TPE"]
    assert samplers["NSGA-II"]["mean"][-1] < min(
        samplers[name]["mean"][-1] for name in ("random", "Sobol", "Halton")
    )
    assert (
        max(samplers["Sobol"]["mean"][-1], samplers["Halton"]["mean"][-1])
        < samplers["random"]["mean"][-1]
    )
    assert f"{RESULT['space']:,} settings" in PAGE
    assert f"{RESULT['feasible']:,} meet the constraints" in PAGE


@pytest.fixture(scope="module")
def land() -> regret.Landscape:
    return regret.Landscape()


def test_the_landscape_is_the_one_that_was_measured(land: regret.Landscape) -> None:
    assert (land.space.size, land.feasible) == (RESULT["space"], RESULT["feasible"])
    assert math.isclose(land.best, RESULT["best"], abs_tol=1e-12)
    assert land.worth(land.space.base) == RESULT["today"]


def test_regret_never_rises_and_random_points_repeat_what_was_measured(
    land: regret.Landscape, tmp_path: Path
) -> None:
    result = regret.measure(land, 2, 40, only=("random", "TPE"))
    for own in result["samplers"].values():
        assert (np.diff(own["mean"]) <= 1e-9).all()
        assert own["mean"][-1] >= -1e-9
    again = regret.measure(land, 2, 40, only=("random", "TPE"))
    for name, own in result["samplers"].items():
        assert own["mean"] == again["samplers"][name]["mean"]
    regret.draw(result, tmp_path / "regret")
    assert (tmp_path / "regret.svg").stat().st_size > 1000
