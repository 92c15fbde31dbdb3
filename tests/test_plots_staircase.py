"""The staircase plot, by reading its artists back."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import StepPatch

from sweeper.knobs import KNOBS, Value, knob
from sweeper.plots import plot_staircase

HALF_LIFE = KNOBS["recency_half_life_days"]
FLOOR = KNOBS["min_similarity"]


def cells(
    *rows: tuple[float, float, str, float], apart: float | None = None, bands: bool = False
) -> pd.DataFrame:
    """Return a frame of cells: low, high, slice, figure."""
    frame = pd.DataFrame(rows, columns=["low", "high", "slice", "figure"])
    frame["exact"] = True
    if apart is not None:
        last = {"low": math.nan, "high": math.nan, "slice": "s", "figure": apart, "exact": True}
        frame = pd.concat([frame, pd.DataFrame([last])], ignore_index=True)
    if bands:
        frame["interval_low"] = frame["figure"] - 0.1
        frame["interval_high"] = frame["figure"] + 0.1
    return frame


STEPS = cells((0.0, 10.0, "s", 0.2), (10.0, 100.0, "s", 0.6), (100.0, math.inf, "s", 0.4))


def drawn(frame: pd.DataFrame, current: Value = 0.0, **options: object) -> Axes:
    axis = options.pop("knob", HALF_LIFE)
    ax = plot_staircase(frame, knob=axis, metric="mrr", current=current, **options)  # type: ignore[arg-type]
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    return ax


def staircases(ax: Axes) -> list[StepPatch]:
    return [patch for patch in ax.patches if isinstance(patch, StepPatch)]


def steps(ax: Axes) -> tuple[list[float], list[float]]:
    """Return heights and edges of the only staircase, as they are drawn."""
    [patch] = staircases(ax)
    heights, edges, _ = patch.get_data()
    return heights.tolist(), edges.tolist()


def tick_texts(ax: Axes) -> list[str]:
    return [label.get_text() for label in ax.get_xticklabels()]


def test_every_step_stands_at_its_edge() -> None:
    heights, edges = steps(drawn(STEPS))
    assert heights == [0.2, 0.6, 0.4]
    assert edges[1:3] == pytest.approx([1.0, 2.0])


def test_the_view_ends_a_little_beyond_the_outermost_changes() -> None:
    first, *_, last = (10**edge for edge in steps(drawn(STEPS))[1])
    assert 5 < first < 10
    assert 100 < last < 200


def test_a_given_view_is_kept() -> None:
    heights, edges = steps(drawn(STEPS, view=(20.0, 1000.0)))
    assert heights == [0.6, 0.4]
    assert [10**edge for edge in edges] == pytest.approx([20, 100, 1000])


def test_off_has_a_place_of_its_own_at_the_right() -> None:
    frame = cells((0.0, 10.0, "s", 0.2), (10.0, math.inf, "s", 0.6), apart=0.3)
    ax = drawn(frame)
    assert tick_texts(ax)[-1] == "off"
    [marker] = [line for line in ax.lines if np.asarray(line.get_ydata()).tolist() == [0.3]]
    assert float(np.asarray(marker.get_xdata())[0]) == ax.get_xticks()[-1]
    assert ax.get_xticks()[-1] > max(ax.get_xticks()[:-1])


def test_no_floor_has_a_place_of_its_own_at_the_left() -> None:
    frame = cells((-1.0, 0.2, "s", 0.2), (0.2, 1.0, "s", 0.6), apart=0.2)
    ax = drawn(frame, None, knob=FLOOR)
    assert "none" in tick_texts(ax)
    assert ax.get_xticks()[-1] < min(ax.get_xticks()[:-1])


@pytest.mark.parametrize(("current", "text"), [(0.0, "current: off"), (30.0, "current: 30")])
def test_the_current_value_is_marked(current: float, text: str) -> None:
    frame = cells((0.0, 10.0, "s", 0.2), (10.0, math.inf, "s", 0.6), apart=0.3)
    ax = drawn(frame, current)
    assert text in [note.get_text() for note in ax.texts]


def test_intervals_are_bands_under_the_staircase() -> None:
    frame = cells((0.0, 10.0, "s", 0.2), (10.0, math.inf, "s", 0.6), bands=True)
    ax = drawn(frame)
    [band] = ax.collections
    heights = np.asarray(band.get_paths()[0].vertices)[:, 1]
    assert heights.min() == pytest.approx(0.1)
    assert heights.max() == pytest.approx(0.7)
    assert not drawn(STEPS).collections


def test_points_of_a_grid_are_drawn_over_the_steps() -> None:
    grid = pd.DataFrame({"value": [5.0, 50.0, 90.0], "slice": "s", "figure": [0.2, 0.6, 0.6]})
    ax = drawn(STEPS, sampled=grid, view=(20.0, 1000.0))
    [points] = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert [10 ** float(x) for x in np.asarray(points.get_xdata())] == pytest.approx([50.0, 90.0])


def test_cells_that_are_not_exact_are_left_out() -> None:
    frame = STEPS.copy()
    frame.loc[0, "exact"] = False
    assert steps(drawn(frame, view=(1.0, 1000.0)))[0] == [0.6, 0.4]


def test_a_weight_is_drawn_by_ratio() -> None:
    frame = cells((1e-9, 0.5, "s", 0.2), (0.5, 1e9, "s", 0.6), apart=0.1)
    _, edges = steps(drawn(frame, 1.0, knob=knob("weights.lexical")))
    assert 10 ** edges[1] == pytest.approx(0.5)


@pytest.mark.parametrize("current", [0.0, 1.0])
@pytest.mark.parametrize("name", ["weights.lexical", "routing.code.weights.lexical"])
def test_a_weights_axis_begins_two_decades_below_its_first_edge(name: str, current: float) -> None:
    frame = cells((1e-9, 0.5, "s", 0.2), (0.5, 1e9, "s", 0.6), apart=0.1)
    _, edges = steps(drawn(frame, current, knob=knob(name)))
    assert 10 ** edges[0] == pytest.approx(0.5 / 100)


def test_a_weights_axis_holds_the_current_value() -> None:
    frame = cells((1e-9, 0.5, "s", 0.2), (0.5, 1e9, "s", 0.6), apart=0.1)
    _, edges = steps(drawn(frame, 1e-6, knob=knob("weights.lexical")))
    assert 10 ** edges[0] < 1e-6


def test_small_and_large_ticks_are_powers_that_do_not_touch() -> None:
    frame = cells((1e-9, 1e-7, "s", 0.2), (1e-7, 1e8, "s", 0.6), (1e8, 1e9, "s", 0.4))
    ax = drawn(frame, 1.0, knob=knob("weights.lexical"))
    texts = tick_texts(ax)
    assert {"$10^{-6}$", "1", "$10^{6}$"} <= set(texts)
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_every_slice_has_a_staircase_and_a_name() -> None:
    frame = cells(
        (0.0, 10.0, "fresh", 0.2),
        (0.0, 10.0, "overall", 0.3),
        (10.0, math.inf, "fresh", 0.6),
        (10.0, math.inf, "overall", 0.4),
    )
    ax = drawn(frame)
    assert len(staircases(ax)) == 2
    assert {"fresh", "overall"} <= {note.get_text() for note in ax.texts}


def test_a_curve_without_figures_says_so() -> None:
    ax = drawn(cells((0.0, math.inf, "s", math.nan)))
    assert not staircases(ax)
    assert ax.texts
