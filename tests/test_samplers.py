"""Which settings a sweep tries, and how each is marked."""

from __future__ import annotations

import pytest

from sweeper.knobs import Settings
from sweeper.samplers import Grid, Planner
from sweeper.spaces import SearchSpace, Trial

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
