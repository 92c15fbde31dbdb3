"""Which settings a sweep tries, and how each is marked."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from sweeper.planner import Planner
from sweeper.samplers import Adaptive, Grid, Kind, Known, Sampler, make_sampler
from sweeper.settings import Settings
from sweeper.spaces import SearchSpace, Span, Trial

HALF_LIFE = "recency_half_life_days"


def plan_grid(space: SearchSpace, current: Settings, line_knob: str | None) -> list[Trial]:
    planner = Planner(space, current, line_knob=line_knob)
    planner.extend(Grid(space).propose(()))
    return planner.trials


def marks(trials: list[Trial]) -> list[tuple[bool, bool, bool]]:
    return [(trial.in_space, trial.on_line, trial.is_current) for trial in trials]


def test_the_grid_comes_first_in_the_order_typed() -> None:
    space = SearchSpace(Settings(), {"rrf_k": (60, 5), HALF_LIFE: (0.0, 30.0)})
    trials = plan_grid(space, Settings(), HALF_LIFE)
    assert [(t.settings.rrf_k, t.settings.recency_half_life_days) for t in trials] == [
        (60, 0),
        (60, 30),
        (5, 0),
        (5, 30),
    ]
    assert [trial.number for trial in trials] == [0, 1, 2, 3]
    assert marks(trials) == [
        (True, True, True),
        (True, True, False),
        (True, False, False),
        (True, False, False),
    ]


def test_the_current_setting_is_tried_though_the_space_lacks_it() -> None:
    space = SearchSpace(Settings(), {"rrf_k": (5,)})
    trials = plan_grid(space, Settings(rrf_k=60), None)
    assert [trial.settings.rrf_k for trial in trials] == [5, 60]
    assert marks(trials) == [(True, False, False), (False, True, True)]


def test_the_line_through_the_current_setting_is_tried_though_the_space_lacks_it() -> None:
    space = SearchSpace(Settings(), {"rrf_k": (5,), HALF_LIFE: (7.0, 30.0)})
    trials = plan_grid(space, Settings(rrf_k=60), HALF_LIFE)
    assert [(t.settings.rrf_k, t.settings.recency_half_life_days) for t in trials] == [
        (5, 7),
        (5, 30),
        (60, 0),
        (60, 7),
        (60, 30),
    ]
    assert marks(trials)[2:] == [(False, True, True), (False, True, False), (False, True, False)]


def test_no_setting_is_tried_twice() -> None:
    space = SearchSpace(Settings(), {"limit": (10, 10), "depth": (None, 10)})
    trials = plan_grid(space, Settings(), "limit")
    assert len(trials) == 1
    assert marks(trials) == [(True, True, True)]


def test_an_empty_space_tries_the_current_setting_alone() -> None:
    trials = plan_grid(SearchSpace(Settings(rrf_k=7), {}), Settings(rrf_k=7), None)
    assert [trial.settings for trial in trials] == [Settings(rrf_k=7)]
    assert marks(trials) == [(True, True, True)]


@pytest.mark.parametrize("line_knob", [None, "rrf_k"])
def test_exactly_one_trial_is_the_current_setting(line_knob: str | None) -> None:
    space = SearchSpace(Settings(), {"rrf_k": (1, 2, 3), "min_similarity": (None, 0.5)})
    for current in (Settings(rrf_k=2), Settings(rrf_k=9), Settings(min_similarity=0.5)):
        trials = plan_grid(space, current, line_knob)
        assert [t.settings for t in trials if t.is_current] == [current]
        assert len({trial.trial_id for trial in trials}) == len(trials)


# --- samplers -------------------------------------------------------------------------------------

SPACE = SearchSpace(
    Settings(),
    {"rrf_k": (5, 20, 60, 120), "min_similarity": (None, 0.1, 0.2, 0.3)},
    {HALF_LIFE: Span(7.0, 3650.0, log=True, also=(0.0,)), "weights.vector": Span(0.25, 4.0)},
)
LISTS = SearchSpace(Settings(), {"rrf_k": tuple(range(1, 21)), HALF_LIFE: (0.0, 7.0, 30.0, 365.0)})


def sampler(space: SearchSpace, kind: Kind, n_trials: int = 24, **options: Any) -> Sampler:
    given: dict[str, Any] = {"batch_size": 8, "sequence": "sobol", "n_objectives": 1, "seed": 3}
    return make_sampler(space, kind, n_trials=n_trials, **{**given, **options})


def gain(item: Settings) -> float:
    """Return a smooth figure with its top at rrf_k 60 and a half-life of a year."""
    half_life = item.recency_half_life_days or 36_500.0
    return -abs(math.log(item.rrf_k / 60)) - abs(math.log(half_life / 365.0))


def told(items: Sequence[Settings], n_objectives: int = 1) -> list[Known]:
    return [Known(item, (gain(item), -gain(item))[:n_objectives]) for item in items]


def finished(own: Sampler, n_objectives: int = 1) -> list[Settings]:
    """Return all that a sampler proposes."""
    tried: list[Settings] = []
    while batch := own.propose(told(tried, n_objectives)):
        tried += batch
    return tried


@pytest.mark.parametrize("kind", ["random", "qmc", "tpe", "nsga2"])
def test_a_budget_is_spent_on_distinct_settings_of_the_space(kind: Kind) -> None:
    tried = finished(sampler(SPACE, kind))
    assert len(tried) == len({item.text for item in tried}) == 24
    assert all(item in SPACE for item in tried)


@pytest.mark.parametrize("kind", ["random", "qmc", "tpe", "nsga2"])
def test_the_same_seed_proposes_the_same_and_another_seed_does_not(kind: Kind) -> None:
    once, again, other = (finished(sampler(SPACE, kind, seed=seed)) for seed in (3, 3, 4))
    assert once == again
    assert once != other


@pytest.mark.parametrize("kind", ["tpe", "nsga2"])
def test_a_sampler_made_anew_goes_on_as_the_first_would_have(kind: Kind) -> None:
    whole = finished(sampler(SPACE, kind))
    rest = finished_from(sampler(SPACE, kind), whole[:16])
    assert rest == whole[16:]


def finished_from(own: Sampler, start: list[Settings]) -> list[Settings]:
    tried = list(start)
    while batch := own.propose(told(tried)):
        tried += batch
    return tried[len(start) :]


@pytest.mark.parametrize("kind", ["random", "qmc", "tpe", "nsga2"])
def test_a_budget_as_large_as_the_space_tries_every_combination_once(kind: Kind) -> None:
    tried = finished(sampler(LISTS, kind, n_trials=1000))
    assert {item.text for item in tried} == {item.text for item in LISTS}
    assert len(tried) == 80


@pytest.mark.parametrize("kind", ["random", "qmc", "tpe", "nsga2"])
def test_no_trials_and_one_trial_are_budgets(kind: Kind) -> None:
    assert finished(sampler(SPACE, kind, n_trials=0)) == []
    assert len(finished(sampler(SPACE, kind, n_trials=1))) == 1


@pytest.mark.parametrize("kind", ["random", "qmc", "tpe", "nsga2"])
def test_a_knob_with_one_value_is_no_obstacle(kind: Kind) -> None:
    space = SearchSpace(Settings(), {"limit": (5,), "rrf_k": tuple(range(1, 200))})
    tried = finished(sampler(space, kind))
    assert {item.limit for item in tried} == {5}
    assert len(tried) == 24


@pytest.mark.parametrize("kind", ["tpe", "nsga2"])
def test_what_is_told_leads_to_better_settings(kind: Kind) -> None:
    space = SearchSpace(
        Settings(), {"rrf_k": tuple(range(1, 201))}, {HALF_LIFE: Span(1.0, 10_000.0, log=True)}
    )
    tried = finished(sampler(space, kind, n_trials=120, batch_size=20))
    first, last = tried[:40], tried[-40:]
    assert sum(map(gain, last)) / 40 > sum(map(gain, first)) / 40 + 0.5


@pytest.mark.parametrize("kind", ["tpe", "nsga2"])
def test_several_objectives_failures_and_constraints_are_told(kind: Kind) -> None:
    own = sampler(SPACE, kind, n_objectives=2)
    first = own.propose(())
    known = [
        Known(item, None) if n % 4 == 0 else Known(item, (gain(item), -gain(item)), (n - 5.0, -1.0))
        for n, item in enumerate(first)
    ]
    second = own.propose(known)
    assert len(second) == 8
    assert not {item.text for item in first} & {item.text for item in second}


@pytest.mark.parametrize("kind", ["tpe", "nsga2"])
def test_settings_that_all_fail_or_break_the_constraints_do_not_stop_it(kind: Kind) -> None:
    for outcome in (None, (1.0,)):
        tried: list[Settings] = []
        own = sampler(SPACE, kind)
        while batch := own.propose([Known(item, outcome, (1.0,)) for item in tried]):
            tried += batch
        assert len(tried) == 24


def test_halton_and_sobol_differ() -> None:
    sobol = finished(sampler(SPACE, "qmc"))
    assert sobol != finished(sampler(SPACE, "qmc", sequence="halton"))


def test_quasi_random_points_cover_a_knob_evenly() -> None:
    space = SearchSpace(Settings(), {}, {"weights.vector": Span(0.0, 1.0)})
    tried = finished(sampler(space, "qmc", n_trials=64))
    per_quarter = [0] * 4
    for item in tried:
        per_quarter[min(3, int(item.weight("vector") * 4))] += 1
    assert all(14 <= count <= 18 for count in per_quarter)


def test_a_sampler_without_a_budget_is_refused() -> None:
    with pytest.raises(ValueError, match="tpe needs n_trials"):
        make_sampler(
            SPACE, "tpe", n_trials=None, batch_size=8, sequence="sobol", n_objectives=1, seed=0
        )


# --- repetitions ----------------------------------------------------------------------------------


def test_settings_that_rank_alike_are_planned_once_and_said() -> None:
    space = SearchSpace(Settings(), {"weights.vector": (0.0, 1.0), "min_similarity": (None, 0.2)})
    planner = Planner(space, Settings(), channels=("vector", "lexical"))
    planner.extend(space)
    assert len(planner.trials) == 3
    [(text, other)] = planner.alike.items()
    assert "min_similarity=0.2" in text
    assert other.min_similarity is None
    assert len(planner.order) == 4


def test_what_the_table_lists_is_tried_though_it_ranks_like_another() -> None:
    space = SearchSpace(Settings(weights={"vector": 0}), {"rrf_k": (5, 60, 90)})
    planner = Planner(
        space, Settings(weights={"vector": 0}), line_knob="rrf_k", channels=("vector", "lexical")
    )
    planner.extend(space)
    assert [trial.settings.rrf_k for trial in planner.trials] == [5, 60, 90]
    assert planner.alike == {}


def test_later_batches_are_numbered_on_and_the_line_is_planned_once() -> None:
    planner = Planner(SPACE, Settings(), arms=(("low", Settings(rrf_k=1)),))
    planner.extend([])
    assert [(trial.arm, trial.is_current) for trial in planner.trials] == [
        (None, True),
        ("low", False),
    ]
    planner.extend([Settings(rrf_k=5), Settings(rrf_k=1)])
    assert [trial.number for trial in planner.trials] == [0, 1, 2]
    assert planner.trials[2].settings == Settings(rrf_k=5)


@pytest.mark.parametrize("kind", ["random", "qmc", "tpe", "nsga2"])
def test_a_span_of_integers_ends_when_all_were_tried(kind: Kind) -> None:
    space = SearchSpace(Settings(), {}, {"rrf_k": Span(1, 20, integer=True)})
    assert space.size == 20
    tried = finished(sampler(space, kind, n_trials=1000))
    assert sorted(item.rrf_k for item in tried) == list(range(1, 21))
    nearly = finished(sampler(space, kind, n_trials=19))
    assert len({item.rrf_k for item in nearly}) == 19


@pytest.mark.parametrize("kind", ["random", "qmc", "tpe", "nsga2"])
def test_the_largest_seed_is_a_seed(kind: Kind) -> None:
    assert len(finished(sampler(SPACE, kind, seed=2**32 - 1))) == 24


@pytest.mark.parametrize("kind", ["random", "qmc"])
def test_drawn_numbers_lie_in_their_span_and_reach_its_ends(kind: Kind) -> None:
    space = SearchSpace(
        Settings(),
        {},
        {
            "rrf_k": Span(1, 10, log=True, integer=True),
            "limit": Span(3, 5, integer=True),
            HALF_LIFE: Span(7.0, 3650.0, log=True, also=(0.0,)),
        },
    )
    tried = finished(sampler(space, kind, n_trials=400))
    assert {item.rrf_k for item in tried} == set(range(1, 11))
    assert {item.limit for item in tried} == {3, 4, 5}
    off = sum(item.recency_half_life_days == 0 for item in tried)
    assert 20 <= off <= 220
    assert all(item in space for item in tried)


def test_a_depth_that_equals_the_limit_is_told_as_that_depth() -> None:
    space = SearchSpace(Settings(limit=10), {"depth": (5, 10, 50), "rrf_k": tuple(range(1, 90))})
    own = Adaptive(space, "tpe", n_trials=40, batch_size=8, n_objectives=1, seed=0)
    settings = Settings(limit=10, depth=10, rrf_k=3)
    assert settings in space
    assert own._axes.params(settings)["depth"] == 1
