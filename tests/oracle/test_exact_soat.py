"""The exact curves pass through every figure that two independent implementations agreed on."""

from __future__ import annotations

import pytest

from sweeper.exact import exact_curve
from sweeper.replay import Replay
from sweeper.ties import tie_bounds
from tests.oracle.test_soat_candidates import METRICS, Reference, reference

__all__ = ["reference"]  # the fixture

NAMES = ("rrf_k", "min_similarity", "recency_half_life_days", "limit")


@pytest.mark.parametrize(
    "name",
    ["recency_half_life_days", "min_similarity", pytest.param("rrf_k", marks=pytest.mark.slow)],
)
def test_the_exact_curve_passes_through_every_expected_figure(
    reference: Reference, name: str
) -> None:
    replay = Replay(reference.pool, reference.golden)
    lines: dict[tuple[object, ...], list[dict[str, object]]] = {}
    for case in reference.decided:
        rest = tuple(case[other] for other in NAMES if other != name)
        lines.setdefault(rest, []).append(case)
    assert max(len(cases) for cases in lines.values()) >= 4
    for cases in lines.values():
        choice = reference.choice(cases[0])
        curve = exact_curve(replay, choice, name, METRICS, highest_k=250)
        assert curve.unsettled == ()
        for case in cases:
            figures = curve.at(case[name])  # type: ignore[arg-type]
            for group, expected in case["slices"].items():  # type: ignore[attr-defined]
                place = curve.groups.index(group)
                for column, metric in enumerate(METRICS):
                    assert figures[place, column] == pytest.approx(
                        expected[str(metric)], abs=1e-12, rel=0
                    ), (case, group)


def test_tie_bounds_contain_both_published_freshness_figures(reference: Reference) -> None:
    [case] = [
        case for case in reference.decided if [case[name] for name in NAMES] == [60, None, 0, 10]
    ]
    replay = Replay(reference.pool, reference.golden)
    bounds = tie_bounds(replay, reference.choice(case), METRICS)
    place, mrr = bounds.groups.index("freshness"), [str(m) for m in METRICS].index("mrr")
    assert bounds.lowest[place, mrr] <= 0.6667
    assert bounds.highest[place, mrr] >= 0.8333
    assert bounds.exact[reference_slice(replay, "freshness")].all()


def test_tie_bounds_contain_the_figures_in_both_published_orders(reference: Reference) -> None:
    replay = Replay(reference.pool, reference.golden)
    n_compared = 0
    for case in reference.decided[::8]:
        bounds = tie_bounds(replay, reference.choice(case), METRICS)
        for orders in (case["slices"], case.get("slices_if_ties_reversed", {})):
            for group, expected in orders.items():
                place = bounds.groups.index(group)
                for column, metric in enumerate(METRICS):
                    low, high = bounds.lowest[place, column], bounds.highest[place, column]
                    assert low - 1e-9 <= expected[str(metric)] <= high + 1e-9, (case, group)
                    n_compared += 1
    assert n_compared > 100


def reference_slice(replay: Replay, name: str) -> list[bool]:
    return [query.slice == name for query in replay.golden.queries]
