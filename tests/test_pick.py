"""The pick of a finished sweep: what is chosen, where it stands, and how long it holds."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeper.config import load_config
from sweeper.constraints import Objective, parse_constraint
from sweeper.errors import EngineError, InfeasibleError, InputError
from sweeper.expiry import Expiry, expiry_of
from sweeper.pick import Answer, pick
from sweeper.results import Results
from sweeper.scores import scores_of
from sweeper.settings import Settings
from sweeper.sweep import run_sweep
from sweeper.wording import evidence_sentences
from tests.projects import ROOT, write_project
from tests.test_sweep_kinds import BOX, BlackBox

Sweep = Callable[..., Results]


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Results:
    config = load_config(ROOT / "configs/recency.yaml")
    return run_sweep(config, root=tmp_path_factory.mktemp("results")).results


@pytest.fixture
def sweep(tmp_path: Path) -> Sweep:
    """Run the small sweep with other keys of its config."""

    def run(*overrides: str) -> Results:
        config = load_config(write_project(tmp_path / "project"), overrides)
        return run_sweep(config, root=tmp_path / "results").results

    return run


def objective(address: str, direction: str = "maximize") -> list[Objective]:
    return [Objective(address, direction)]  # type: ignore[arg-type]


def test_the_bundled_sweep_has_a_supported_setting(bundled: Results) -> None:
    found = pick(bundled)
    assert not found.keep
    assert found.broken == ()
    assert found.supported is not None
    assert found.chosen is found.supported
    assert found.chosen.p_value <= 0.05
    before, after = found.chosen.figures["freshness.mrr"]
    assert after > before
    table = bundled.wide()
    assert found.chosen.figures["freshness.mrr"] == (
        table["freshness.mrr"][bundled.trial("current")],
        table["freshness.mrr"][found.chosen.trial],
    )
    assert found.n_feasible == int(bundled.trials["feasible"].sum())


def test_moving_to_the_middle_of_a_plateau_changes_no_figure_and_needs_few_digits(
    bundled: Results,
) -> None:
    answer = pick(bundled).chosen
    replay, metrics = bundled.replay, bundled.metrics
    figures = replay.figures([bundled.settings[answer.trial], answer.settings], metrics).value
    assert np.array_equal(figures[0], figures[1], equal_nan=True)
    days = answer.settings.recency_half_life_days
    plateau = answer.plateaus["recency_half_life_days"]
    assert plateau.low is not None
    assert plateau.high is not None
    ratio = (plateau.high / plateau.low) ** 0.25
    assert plateau.low * ratio <= days <= plateau.high / ratio
    assert len(f"{days:g}".replace(".", "").strip("0")) <= 3


def test_the_interval_holds_the_gain_and_the_ties_hold_the_figure(bundled: Results) -> None:
    answer = pick(bundled).chosen
    before, after = answer.figures["freshness.mrr"]
    assert answer.interval is not None
    assert answer.interval.low <= after - before <= answer.interval.high
    assert answer.ties is not None
    assert answer.ties[0] <= after <= answer.ties[1]


def test_a_gain_that_may_be_luck_keeps_todays_setting(sweep: Sweep) -> None:
    results = sweep("objectives={fresh.mrr: maximize}", "constraints=[]")
    found = pick(results)
    assert found.keep
    assert found.supported is None
    assert found.chosen.settings == results.settings[results.trial("current")]
    assert found.best.trial != found.chosen.trial
    assert found.best.n_differ < found.fewest_to_differ
    assert found.validated is None, "two questions cannot be cross-validated"
    assert found.optimism is None


@pytest.mark.parametrize("weight", ["1.0e+300", "1.0e-200"])
def test_weights_beyond_the_range_of_exact_curves_are_picked_without_a_plateau(
    sweep: Sweep, weight: str
) -> None:
    results = sweep(
        "objectives={fresh.mrr: maximize}", "constraints=[]", f"space.weights.vector=[{weight}]"
    )
    found = pick(results, policy="best")
    answer = found.chosen
    assert answer.settings == results.settings[answer.trial], "moved to no middle"
    assert answer.settings.weights["vector"] == float(weight)
    assert (answer.plateaus, answer.flips) == ({}, {})
    assert answer.ties is not None
    said = evidence_sentences(found, answer)
    assert "plateaus: not known, as a weight is beyond the range of exact curves." in said


def test_best_takes_what_supported_leaves(sweep: Sweep) -> None:
    results = sweep("objectives={fresh.mrr: maximize}", "constraints=[]")
    assert pick(results, policy="best").chosen.trial == pick(results).best.trial


def test_dominant_takes_a_setting_that_no_question_is_worse_under(sweep: Sweep) -> None:
    results = sweep("objectives={fresh.mrr: maximize}", "constraints=[]")
    found = pick(results, policy="dominant")
    assert not found.keep
    assert (found.chosen.score.worse, found.chosen.score.mixed) == (0, 0)
    assert found.chosen.score.better >= 1


def test_todays_setting_is_kept_though_it_breaks_a_bound_and_that_is_told(sweep: Sweep) -> None:
    results = sweep("objectives={fresh.mrr: maximize}")
    found = pick(results, constraints=[parse_constraint("fresh.mrr >= 0.7")])
    assert found.keep
    assert found.broken == ("fresh.mrr >= 0.7",)


def test_without_constraints_no_slices_recall_or_mrr_may_fall(bundled: Results) -> None:
    texts = [item.text for item in bundled.default_constraints]
    assert texts == [
        f"{group}.{metric} >= current"
        for group in ("exact_token", "exact_name", "entity", "semantic", "freshness")
        for metric in ("recall@10", "mrr")
    ]


def test_the_default_applies_where_the_sweep_has_no_constraints(sweep: Sweep) -> None:
    results = sweep("constraints=[]")
    assert [item.text for item in pick(results).constraints] == [
        "entity.mrr >= current",
        "fresh.mrr >= current",
    ]
    assert pick(results, constraints=[]).constraints == ()


def test_among_equals_the_widest_plateau_wins(sweep: Sweep) -> None:
    # 1000 and 3000 days rank alike; so does everything around them.
    results = sweep(
        "space={recency_half_life_days: [off, 30.5, 1000, 3000]}",
        "objectives={fresh.mrr: maximize}",
        "constraints=[]",
    )
    figures = results.wide(["fresh.mrr"])["fresh.mrr"]
    best = pick(results, policy="best").best
    equal = [n for n in figures.index if figures[n] == figures.max()]
    assert best.trial in equal
    widths = {
        n: pick_width(results, n) for n in equal if results.settings[n].recency_half_life_days > 0
    }
    assert widths[best.trial] == pytest.approx(max(widths.values()))


def pick_width(results: Results, trial: int) -> float:
    from sweeper.exact import exact_curve
    from sweeper.margins import margins_of

    name = "recency_half_life_days"
    settings = results.settings[trial]
    curve = exact_curve(results.replay, settings, name, results.metrics)
    plateau = margins_of(curve, results.replay, settings.get(name)).plateau
    assert plateau.low is not None
    assert plateau.high is not None
    return math.log(min(plateau.high, 1e7) / max(plateau.low, 1e-3))


def test_a_pick_that_ages_out_of_its_constraints_says_when(bundled: Results) -> None:
    found = pick(bundled, policy="best", horizon_days=36_500)
    answer = found.chosen
    assert answer.fails_after_days is not None
    assert answer.fails is not None
    today = bundled.settings[bundled.trial("current")]
    mine, theirs = (
        expiry_of(bundled.replay, item, bundled.metrics) for item in (answer.settings, today)
    )

    def held(days: float) -> bool:
        own, other = mine.at(days), theirs.at(days)
        places = {
            item.address: (
                mine.groups.index(item.address.split(".")[0]),
                [str(m) for m in mine.metrics].index(item.address.split(".")[1]),
            )
            for item in found.constraints
        }
        fine = all(
            item.holds(float(own[places[item.address]]), float(other[places[item.address]]))
            for item in found.constraints
        )
        gained = own[mine.groups.index("freshness"), 2] > other[mine.groups.index("freshness"), 2]
        return fine and bool(gained)

    assert held(0.99 * answer.fails_after_days)
    assert not held(answer.fails_after_days)
    sooner = pick(bundled, policy="best", horizon_days=answer.fails_after_days / 2)
    assert sooner.chosen.fails_after_days is None


def test_a_horizon_beyond_what_is_known_is_replayed(
    bundled: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(days: float) -> Answer:
        return pick(bundled, constraints=[], policy="best", horizon_days=days).best

    exact = answer(200.0)
    assert exact.known_days == 200
    assert exact.fails_after_days is not None
    assert 100 < exact.fails_after_days < 200

    def known_for_100_days(*words: Any) -> Expiry:
        return replace(expiry_of(*words), until=100.0)

    monkeypatch.setattr("sweeper.pick.expiry_of", known_for_100_days)
    beyond = answer(200.0)
    assert (beyond.known_days, beyond.fails_after_days) == (100, 200)
    assert beyond.fails == exact.fails
    within = answer(102.0)
    assert (within.known_days, within.fails_after_days) == (100, None)


def test_age_is_not_blamed_for_a_constraint_that_is_broken_today(sweep: Sweep) -> None:
    results = sweep(
        "current.recency_half_life_days=1000",
        "objectives={entity.mrr: maximize}",
        "constraints=[]",
    )
    today = results.settings[results.trial("current")]
    expiry = expiry_of(results.replay, today, results.metrics)
    later = expiry.at(float(expiry.edges[0]))[expiry.groups.index("fresh")]
    assert later[[str(metric) for metric in expiry.metrics].index("mrr")] > 0.6
    found = pick(results, constraints=[parse_constraint("fresh.mrr <= 0.6")], horizon_days=36_000)
    assert (found.keep, found.broken) == (True, ("fresh.mrr <= 0.6",))
    assert found.chosen.fails is None


def test_nothing_feasible_names_the_constraint_that_binds_and_the_nearest(sweep: Sweep) -> None:
    results = sweep()
    bounds = [parse_constraint(text) for text in ("entity.mrr >= current", "fresh.mrr >= 1.5")]
    with pytest.raises(InfeasibleError) as caught:
        pick(results, constraints=bounds)
    text = str(caught.value)
    assert "fresh.mrr >= 1.5: binds, met by no setting; the nearest has 1.0000." in text
    assert "entity.mrr >= current: met by" in text
    nearest = text.split("Nearest settings:\n")[1].splitlines()
    assert len(nearest) == 3
    assert all(line.endswith("fresh.mrr 1.0000") for line in nearest)


def test_constraints_that_exclude_each_other_are_told_apart_from_impossible_ones(
    bundled: Results,
) -> None:
    bounds = [parse_constraint(t) for t in ("freshness.mrr >= 0.95", "entity.mrr >= 0.8")]
    with pytest.raises(InfeasibleError) as caught:
        pick(bundled, constraints=bounds)
    assert "but by none of the" in str(caught.value)
    assert "met by no setting" not in str(caught.value)


def test_a_figure_without_questions_is_told(sweep: Sweep) -> None:
    results = sweep()
    with pytest.raises(InputError, match=r"^nothing\.mrr: no question has this figure\.$"):
        pick(results, constraints=[parse_constraint("nothing.mrr >= current")])
    with pytest.raises(InputError, match=r"^nothing\.mrr: no question has this figure\.$"):
        pick(results, objectives=objective("nothing.mrr"))


def test_to_return_less_is_an_objective_like_any_other(sweep: Sweep) -> None:
    results = sweep("metrics=[recall@1, mrr, returned]")
    found = pick(
        results,
        objectives=objective("overall.returned", "minimize"),
        constraints=[parse_constraint("overall.mrr >= current")],
        policy="best",
    )
    before, after = found.chosen.figures["overall.returned"]
    assert after <= before
    assert found.chosen.interval is None
    assert found.optimism is not None


def test_scores_hold_every_questions_value_and_mean_what_figures_say(bundled: Results) -> None:
    scores = scores_of(bundled.replay, bundled.settings, bundled.metrics)
    table = bundled.wide()
    for address in ("freshness.mrr", "entity.recall@10", "overall.mrr"):
        assert scores.figure(address).tolist() == table[address].tolist()


def test_settings_of_several_depths_are_picked_among(sweep: Sweep) -> None:
    results = sweep("space={rrf_k: [1, 20], limit: [2, 4]}", "constraints=[]", "metrics=[mrr]")
    assert len({item.effective_depth for item in results.settings}) == 2
    found = pick(results, objectives=objective("overall.mrr"), policy="best")
    assert found.best.figures["overall.mrr"][1] == results.wide()["overall.mrr"].max()


def test_a_sweep_repeats_its_pick(bundled: Results) -> None:
    one, two = pick(bundled), pick(bundled)
    assert (one.chosen.settings, one.chosen.p_value) == (two.chosen.settings, two.chosen.p_value)
    assert one.validated == two.validated
    assert one.chosen.interval == two.chosen.interval


def test_an_objective_of_another_slice_in_an_older_manifest_is_named(sweep: Sweep) -> None:
    results = sweep("space.rrf_k=[1, 20]")
    path = results.folder / "manifest.json"
    parts = json.loads(path.read_text("utf-8"))
    del parts["checks"]
    path.write_text(json.dumps({**parts, "objectives": {"zzz.mrr": "maximize"}}), "utf-8")
    with pytest.raises(InputError, match=r'no figure "zzz\.mrr"'):
        Results(results.folder).pick()


class Halting(BlackBox):
    """Leaves one question unanswered under one setting."""

    def search(self, query: Any, settings: Settings) -> list[str]:
        if (query.query_id, settings.rrf_k) == ("q2", 2):
            raise EngineError("no answer")
        return super().search(query, settings)


def test_settings_without_figures_are_left_out_of_the_pick(
    sweep: Sweep, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeper.opening.open_engine", lambda *_, **__: Halting())
    results = sweep(*BOX, "objectives={overall.mrr: maximize}")
    failed = results.trials.index[results.trials["status"] == "failed"].tolist()
    assert [results.settings[n].rrf_k for n in failed] == [2]
    found = pick(results, constraints=[], policy="best")
    assert found.best.trial not in failed
    assert (found.n_trials, found.n_feasible) == (3, 3)
    assert found.best.figures["overall.mrr"][1] == results.wide()["overall.mrr"].max()
    with pytest.raises(InfeasibleError) as caught:
        pick(results, constraints=[parse_constraint("overall.mrr >= 2")])
    assert "nan" not in str(caught.value)
