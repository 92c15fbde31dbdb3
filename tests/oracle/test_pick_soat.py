"""On the reference candidates one setting improves two questions and worsens none."""

from __future__ import annotations

import pytest

from sweeper.compare import Tally, tally
from sweeper.constraints import Objective
from sweeper.recommend import choose
from sweeper.replay import Replay
from sweeper.scores import scores_of
from sweeper.settings import Settings
from tests.oracle.test_soat_candidates import METRICS, Reference, reference

__all__ = ["reference"]

TODAY = Settings(rrf_k=60, recency_half_life_days=0)
BETTER = Settings(rrf_k=1, recency_half_life_days=365)


@pytest.fixture
def replay(reference: Reference) -> Replay:
    return Replay(reference.pool, reference.golden)


def test_two_questions_are_better_and_none_is_worse(replay: Replay) -> None:
    positions = replay.positions([TODAY, BETTER])
    assert tally(positions, METRICS, 0)[1] == Tally(better=2, worse=0, equal=56, mixed=0)


def test_the_pick_may_call_it_dominant_but_not_supported(replay: Replay) -> None:
    scores = scores_of(replay, [TODAY, BETTER], METRICS)
    choice = choose(
        scores,
        [Objective("overall.mrr", "maximize")],
        [],
        current=0,
        preference=[(0.0,), (1.0,)],
        seed=1,
    )
    assert choice.of("dominant") == choice.of("best") == (1,)
    assert choice.of("supported") == (), "two questions cannot settle it"
    assert choice.test.p_value[1] == pytest.approx(0.25, abs=0.03)


def test_the_whole_space_of_the_reference_has_dominant_settings(
    reference: Reference, replay: Replay
) -> None:
    settings = [TODAY] + [reference.choice(case) for case in reference.decided]
    settings = [item for item in settings if item.limit == 10]
    scores = scores_of(replay, settings, METRICS)
    choice = choose(
        scores,
        [Objective("overall.mrr", "maximize")],
        [],
        current=0,
        preference=[(float(n),) for n in range(len(settings))],
        seed=1,
    )
    [first, *_] = choice.of("dominant")
    found = tally(replay.positions([TODAY, settings[first]]), METRICS, 0)[1]
    assert (found.worse, found.mixed) == (0, 0)
    assert found.better >= 2
