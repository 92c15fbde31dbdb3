"""Plots, by reading their artists back."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes
from matplotlib.collections import PathCollection, QuadMesh
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from sweeper.knobs import KNOBS, knob
from sweeper.plots import (
    PALETTE,
    plot_heatmap,
    plot_knob_curve,
    plot_tradeoff,
    save,
)
from sweeper.plots.placement import spread
from sweeper.plots.style import fold

HALF_LIFE = KNOBS["recency_half_life_days"]
FLOOR = KNOBS["min_similarity"]
X, Y = "entity.recall@10", "freshness.mrr"


def points(*rows: tuple[float, float, str], current: int = 0) -> pd.DataFrame:
    """Return trials; a row's text starts with ``*`` when it is on the front."""
    return pd.DataFrame(
        {
            X: [x for x, _, _ in rows],
            Y: [y for _, y, _ in rows],
            "label": [text.removeprefix("*") for _, _, text in rows],
            "on_front": [text.startswith("*") for _, _, text in rows],
            "is_current": [number == current for number in range(len(rows))],
        }
    )


TRIALS = points(
    (0.6, 0.5, "off"),
    (0.5, 0.9, "*half-life 7"),
    (0.8, 0.7, "*half-life 30"),
    (0.8, 0.7, "*half-life 90"),
    (0.9, 0.4, "*half-life 365"),
    (0.5, 0.4, "half-life 1"),
)


def drawn(ax: Axes) -> Figure:
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    figure.draw_without_rendering()
    return figure


def texts(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_text()]


def scattered(ax: Axes, label: str) -> list[tuple[float, float]]:
    for artist in ax.collections:
        if isinstance(artist, PathCollection) and str(artist.get_label()).startswith(label):
            return [(float(x), float(y)) for x, y in np.asarray(artist.get_offsets())]
    raise AssertionError(f"nothing is called {label}")


def assert_no_text_overlaps(ax: Axes) -> None:
    drawn(ax)
    shown: list[Text] = [text for text in ax.texts if text.get_text().strip()]
    shown += [text for text in ax.get_xticklabels() if text.get_text()]
    boxes = [(text.get_text(), Text.get_window_extent(text)) for text in shown]
    for (one, a), (other, b) in itertools.combinations(boxes, 2):
        apart = a.x1 <= b.x0 + 1 or b.x1 <= a.x0 + 1 or a.y1 <= b.y0 + 1 or b.y1 <= a.y0 + 1
        assert apart, f"{one!r} lies on {other!r}"


# --- trade-off ------------------------------------------------------------------------------------


def test_all_trials_are_drawn_and_the_front_is_a_staircase() -> None:
    ax = plot_tradeoff(TRIALS, x=X, y=Y)
    assert scattered(ax, "trials") == [(0.5, 0.4)]
    front = [(0.5, 0.9), (0.8, 0.7), (0.9, 0.4)]
    assert scattered(ax, "Pareto front") == front
    line = ax.lines[0]
    assert np.asarray(line.get_xydata()).tolist() == [list(place) for place in front]
    assert line.get_drawstyle() == "steps-pre"
    assert scattered(ax, "current settings") == [(0.6, 0.5)]


def test_axes_are_named_as_people_write_figures() -> None:
    ax = plot_tradeoff(TRIALS, x=X, y=Y)
    assert ax.get_xlabel() == "entity recall@10"
    assert ax.get_ylabel() == "freshness MRR"
    assert ax.get_title(loc="right") == "better ↗"


def test_the_other_direction_turns_the_arrow_and_the_stairs() -> None:
    ax = plot_tradeoff(TRIALS, x=X, y=Y, x_better="lower", y_better="lower")
    assert ax.get_title(loc="right") == "better ↙"
    assert ax.lines[0].get_drawstyle() == "steps-post"


def test_front_points_and_the_current_settings_are_labelled() -> None:
    found = texts(plot_tradeoff(TRIALS, x=X, y=Y))
    assert sorted(found) == ["current", "half-life 30 (+1)", "half-life 365", "half-life 7"]


def test_equal_trials_are_one_larger_point() -> None:
    ax = plot_tradeoff(TRIALS, x=X, y=Y)
    (front,) = [c for c in ax.collections if c.get_label() == "Pareto front"]
    assert isinstance(front, PathCollection)
    sizes = front.get_sizes()
    assert sizes[1] > sizes[0] == sizes[2]


def test_current_settings_on_the_front_say_both() -> None:
    found = texts(plot_tradeoff(points((0.5, 0.5, "*half-life 7"), (0.4, 0.4, "x")), x=X, y=Y))
    assert found == ["current: half-life 7"]


def test_a_long_front_is_not_labelled() -> None:
    many = points(
        *((n / 10, 1 - n / 10, f"*{n}") for n in range(1, 10)), (0.1, 0.1, "x"), current=9
    )
    assert texts(plot_tradeoff(many, x=X, y=Y)) == ["current"]


def test_labels_may_come_from_a_function_or_not_at_all() -> None:
    found = texts(plot_tradeoff(TRIALS, x=X, y=Y, label=lambda row: f"MRR {row[Y]}"))
    assert "MRR 0.9" in found
    assert texts(plot_tradeoff(TRIALS, x=X, y=Y, label=None)) == ["current"]


def test_trials_without_a_figure_are_counted_and_left_out() -> None:
    some = points((0.5, 0.5, "*a"), (math.nan, 0.5, "b"), (0.5, math.nan, "c"))
    ax = plot_tradeoff(some, x=X, y=Y)
    assert ax.get_xlabel() == "entity recall@10\n(2 trials without a figure left out)"
    assert scattered(ax, "current") == [(0.5, 0.5)]


def test_no_figures_at_all_are_said() -> None:
    ax = plot_tradeoff(points((math.nan, 0.5, "a")), x=X, y=Y)
    assert texts(ax) == ["no figures to draw"]
    assert "1 trial without a figure" in ax.get_xlabel()
    drawn(ax)


def test_a_single_place_gets_axes_of_some_width() -> None:
    ax = plot_tradeoff(points((0.8, 0.8, "*a"), (0.8, 0.8, "*b")), x=X, y=Y)
    low, high = ax.get_xlim()
    assert high - low >= 0.02
    drawn(ax)


def test_no_tick_stands_where_no_figure_can_be() -> None:
    ax = plot_tradeoff(points((1.0, 1.0, "*a rather long label of settings")), x=X, y=Y)
    assert max(ax.get_xticks()) <= 1.0
    assert max(ax.get_yticks()) <= 1.0


@pytest.mark.parametrize("seed", range(4))
def test_labels_of_a_crowded_plot_do_not_overlap(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = [(float(x), float(y), "x") for x, y in rng.uniform(0.2, 0.6, (60, 2)).round(2)]
    rows += [(0.6 + n * 0.02, 0.75 - n * 0.02, f"*half-life {n * 365}, k 60") for n in range(8)]
    assert_no_text_overlaps(plot_tradeoff(points(*rows), x=X, y=Y))


def test_labels_that_find_no_room_are_left_out_rather_than_put_on_others() -> None:
    long = "rrf_k=60 min_similarity=none recency_half_life_days=365 limit=10"
    rows = [(0.5 + n / 100, 0.5 - n / 100, f"*{long}") for n in range(8)]
    ax = plot_tradeoff(points(*rows), x=X, y=Y)
    assert_no_text_overlaps(ax)
    assert any(text.startswith("current: ") for text in texts(ax))


# --- curve ----------------------------------------------------------------------------------------


def curve(figures: dict[str, Sequence[float]], values: Sequence[float | None]) -> pd.DataFrame:
    rows = [(v, n, f) for n, line in figures.items() for v, f in zip(values, line, strict=True)]
    frame = pd.DataFrame(rows, columns=["value", "slice", "figure"])
    return frame.astype({"value": object}) if None in values else frame


def named_line(ax: Axes, name: str) -> Line2D:
    (line,) = [line for line in ax.lines if line.get_label() == name]
    return line


def labelled_ticks(ax: Axes) -> list[str]:
    return [text.get_text() for text in ax.get_xticklabels() if text.get_text()]


VALUES = [0, 7, 30, 90, 365]
CURVE = curve({"entity": [0.9, 0.5, 0.6, 0.7, 0.8], "overall": [0.8, 0.7, 0.7, 0.7, 0.7]}, VALUES)


def test_off_stands_to_the_right_of_the_longest_half_life() -> None:
    ax = plot_knob_curve(CURVE, knob=HALF_LIFE, metric="recall@10", current=0)
    line = named_line(ax, "entity")
    x = np.asarray(line.get_xdata())
    assert list(np.asarray(line.get_ydata())) == [0.5, 0.6, 0.7, 0.8, 0.9]
    assert x[:4] == pytest.approx(np.log10([7, 30, 90, 365]))
    assert x[4] > x[3]
    assert labelled_ticks(ax) == ["7", "30", "90", "365", "off"]
    assert ax.get_xlabel() == "recency half-life (days)"
    assert ax.get_ylabel() == "recall@10"


def test_the_axis_is_broken_and_the_way_across_is_dotted() -> None:
    ax = plot_knob_curve(CURVE, knob=HALF_LIFE, metric="mrr", current=0)
    (mark,) = [text for text in ax.texts if text.get_text() == "//"]
    at = float(mark.get_position()[0])
    assert math.log10(365) < at < float(np.asarray(named_line(ax, "entity").get_xdata())[-1])
    across = [line for line in ax.lines if line.get_linestyle() == ":"]
    assert len(across) == 2


def test_a_floor_of_none_stands_to_the_left() -> None:
    data = curve({"entity": [0.5, 0.6, 0.7]}, [None, 0.1, 0.2])
    ax = plot_knob_curve(data, knob=FLOOR, metric="mrr", current=None)
    x = np.asarray(named_line(ax, "entity").get_xdata())
    assert x[0] < x[1] == 0.1
    assert labelled_ticks(ax) == ["none", "0.1", "0.2"]


def test_overall_is_black_and_dashed_and_slices_differ_in_colour_and_marker() -> None:
    data = curve({name: [0.5, 0.6] for name in ("a", "b", "overall")}, [7, 30])
    ax = plot_knob_curve(data, knob=HALF_LIFE, metric="mrr", current=7)
    a, b, overall = (named_line(ax, name) for name in ("a", "b", "overall"))
    assert [a.get_color(), b.get_color(), overall.get_color()] == [*PALETTE[:2], "black"]
    assert a.get_marker() != b.get_marker()
    assert any(ln.get_color() == "black" and ln.get_linestyle() == "--" for ln in ax.lines)


def test_every_slice_is_named_beside_the_end_of_its_line() -> None:
    ax = plot_knob_curve(CURVE, knob=HALF_LIFE, metric="mrr", current=0)
    assert {"entity", "overall"} <= set(texts(ax))


def test_the_current_value_is_marked_even_if_it_was_not_tried() -> None:
    ax = plot_knob_curve(CURVE, knob=HALF_LIFE, metric="mrr", current=14.0)
    assert "current: 14" in texts(ax)
    upright = [
        np.asarray(line.get_xdata()).tolist()
        for line in ax.lines
        if np.asarray(line.get_ydata()).tolist() == [0, 1]
    ]
    assert upright == [[math.log10(14)] * 2]
    assert "14" in labelled_ticks(ax)


def test_points_without_a_figure_are_counted_and_colours_stay() -> None:
    data = curve({"a": [math.nan, math.nan], "b": [0.5, math.nan]}, [7, 30])
    ax = plot_knob_curve(data, knob=HALF_LIFE, metric="mrr", current=7)
    assert ax.get_xlabel().endswith("\n(3 points without a figure left out)")
    assert named_line(ax, "b").get_color() == PALETTE[1]


@pytest.mark.parametrize(
    "data",
    [
        curve({"only": [0.5]}, [30]),
        curve({"only": [0.5]}, [0]),
        curve({"only": [math.nan]}, [0]),
        curve({f"slice {n}": [0.5, 0.5] for n in range(8)}, [7, 30]),
        curve({f"slice {n}": [0.9, 0.9 + n / 1e4] for n in range(8)}, [0, 30]),
        curve({f"slice {n}": [0.1 * n, 0.5] for n in range(9)}, [7, 30]),
        curve({"cost in $ of $x_1$ \\frac": [0.5, 0.6], "_hidden": [0.1, 0.2]}, [7, 30]),
        curve({"a name that " * 9: [0.5, 0.6], "one_long_word_" * 9: [0.5, 0.6]}, [7, 30]),
        curve({f"slice {n}": [0.1, 0.5] for n in range(45)}, [7, 30]),
        curve({"only": [n / 400 for n in range(200)]}, list(range(1, 201))),
    ],
    ids=["point", "off", "nan", "equal", "narrow", "meeting", "math", "long", "many", "dense"],
)
def test_awkward_data_is_drawn_without_overlapping_text(data: pd.DataFrame) -> None:
    ax = plot_knob_curve(data, knob=HALF_LIFE, metric="mrr", current=7.0)
    assert_no_text_overlaps(ax)


def test_names_in_scripts_that_the_font_lacks_do_not_warn(tmp_path: Path) -> None:
    data = curve({"実体": [0.5, 0.6]}, [7, 30])
    save(plot_knob_curve(data, knob=HALF_LIFE, metric="mrr", current=7), tmp_path / "x")


# --- heat map -------------------------------------------------------------------------------------


def heat(values: list[list[float]], rows: list[Any], columns: list[Any]) -> pd.DataFrame:
    return pd.DataFrame(
        values, index=pd.Index(rows, dtype=object), columns=pd.Index(columns, dtype=object)
    )


HEAT = heat([[0.9, 0.5, 0.6], [0.8, 0.4, math.nan]], [None, 0.1], [0.0, 7.0, 30.0])


def mesh_of(ax: Axes) -> QuadMesh:
    (mesh,) = [artist for artist in ax.collections if isinstance(artist, QuadMesh)]
    return mesh


def test_cells_stand_in_the_order_of_the_knobs() -> None:
    ax = plot_heatmap(HEAT, rows=FLOOR, columns=HALF_LIFE, metric=X, current=(None, 0))
    assert labelled_ticks(ax) == ["7", "30", "off"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["none", "0.1"]
    shown: Any = np.ma.filled(np.ma.asarray(mesh_of(ax).get_array()), np.nan).ravel()
    assert shown == pytest.approx([0.5, 0.6, 0.9, 0.4, math.nan, 0.8], nan_ok=True)
    assert texts(ax) == ["0.50", "0.60", "0.90", "0.40", "0.80"]


def test_the_current_cell_is_outlined_and_the_colour_bar_named() -> None:
    ax = plot_heatmap(HEAT, rows=FLOOR, columns=HALF_LIFE, metric=X, current=(None, 0))
    (box,) = ax.patches
    assert tuple(box.get_xy()) == (2, 0)  # type: ignore[attr-defined]
    assert to_hex(box.get_edgecolor()) == PALETTE[1].lower()
    assert drawn(ax).axes[1].get_ylabel() == "entity recall@10"
    assert "(1 cell without a figure left out)" in ax.get_xlabel()


def test_current_settings_outside_the_map_are_not_outlined() -> None:
    ax = plot_heatmap(HEAT, rows=FLOOR, columns=HALF_LIFE, metric=X, current=(0.5, 0))
    assert not ax.patches


def test_a_third_decimal_is_shown_where_two_hide_a_difference() -> None:
    ax = plot_heatmap(
        heat([[0.801, 0.802]], [60], [7.0, 30.0]),
        rows=KNOBS["rrf_k"],
        columns=HALF_LIFE,
        metric=X,
        current=None,
    )
    assert texts(ax) == ["0.801", "0.802"]


def test_many_cells_carry_no_numbers_and_few_ticks() -> None:
    values = [[(r + c) / 100 for c in range(40)] for r in range(30)]
    data = heat(values, list(range(1, 31)), [float(2**n) for n in range(40)])
    ax = plot_heatmap(data, rows=KNOBS["rrf_k"], columns=HALF_LIFE, metric=X, current=None)
    assert texts(ax) == []
    assert_no_text_overlaps(ax)


@pytest.mark.parametrize("value", [0.5, math.nan])
def test_one_cell_or_none_is_drawn(value: float) -> None:
    data = heat([[value]], [60], [None])
    ax = plot_heatmap(data, rows=KNOBS["rrf_k"], columns=FLOOR, metric=X, current=(60, None))
    assert texts(ax) == ["no figures to draw" if math.isnan(value) else "0.50"]
    drawn(ax)


# --- shared ---------------------------------------------------------------------------------------


def test_given_axes_are_drawn_on_and_returned() -> None:
    left, middle, right = Figure(figsize=(15, 4), layout="constrained").subplots(1, 3)
    assert plot_tradeoff(TRIALS, x=X, y=Y, ax=left) is left
    assert plot_knob_curve(CURVE, knob=HALF_LIFE, metric="mrr", current=0, ax=middle) is middle
    assert plot_heatmap(HEAT, rows=FLOOR, columns=HALF_LIFE, metric=X, current=None, ax=right)
    for ax in (left, middle):
        assert_no_text_overlaps(ax)


def test_files_are_written_whole_and_their_bytes_repeat(tmp_path: Path) -> None:
    first = save(plot_tradeoff(TRIALS, x=X, y=Y), tmp_path / "new" / "entity.recall@10")
    assert [path.name for path in first] == ["entity.recall@10.png", "entity.recall@10.svg"]
    bytes_before = [path.read_bytes() for path in first]
    ax = plot_tradeoff(TRIALS, x=X, y=Y)
    figure = ax.get_figure(root=True)
    assert isinstance(figure, Figure)
    second = save(figure, tmp_path / "new" / "entity.recall@10")
    assert [path.read_bytes() for path in second] == bytes_before
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(
        path.name for path in first
    )
    assert bytes_before[0].startswith(b"\x89PNG")
    assert b"<dc:date>" not in bytes_before[1]


def test_naming_plots_imports_neither_matplotlib_nor_pandas() -> None:
    code = (
        "import sys, sweeper.plots\n"
        "print([n for n in ('matplotlib', 'pandas', 'numpy') if n in sys.modules])"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, check=True, text=True
    )
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_pyplot_is_never_imported() -> None:
    code = (
        "import sys, pandas as pd\n"
        "from sweeper.plots import plot_knob_curve, save\n"
        "from sweeper.knobs import KNOBS\n"
        "data = pd.DataFrame({'value': [7, 30], 'slice': 'a', 'figure': [0.5, 0.6]})\n"
        "knob = KNOBS['recency_half_life_days']\n"
        "plot_knob_curve(data, knob=knob, metric='mrr', current=7)\n"
        "print('matplotlib.pyplot' in sys.modules)"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=root, capture_output=True, check=True, text=True
    )
    assert done.stdout == "False\n"


def test_a_channel_weight_has_an_axis_of_its_own() -> None:
    weight = knob("weights.vector")
    data = curve({"a": [0.5, 0.6, 0.7]}, [0, 0.5, 1])
    ax = plot_knob_curve(data, knob=weight, metric="mrr", current=1.0)
    assert ax.get_xlabel() == "weight of the vector channel"
    assert labelled_ticks(ax) == ["0", "0.5", "1"]
    assert "//" not in texts(ax)


@given(
    wanted=st.lists(st.floats(-50, 150), min_size=1, max_size=9),
    size=st.floats(1, 10),
)
def test_spread_labels_do_not_collide_and_stay_in_order(wanted: list[float], size: float) -> None:
    placed = spread(wanted, [size] * len(wanted), 0.0, 100.0)
    ordered = [place for _, place in sorted(zip(wanted, placed, strict=True))]
    gaps = [b - a for a, b in itertools.pairwise(sorted(placed))]
    assert all(gap >= size - 1e-9 for gap in gaps)
    assert ordered == sorted(ordered) or len(set(wanted)) < len(wanted)
    assert min(placed) >= size / 2 - 1e-9
    assert max(placed) <= 100 - size / 2 + 1e-9


@given(text=st.text(max_size=200), width=st.integers(4, 30), lines=st.integers(1, 3))
def test_folded_text_keeps_to_its_width(text: str, width: int, lines: int) -> None:
    folded = fold(text, width, lines).split("\n")
    assert len(folded) <= lines
    assert all(len(line) <= width for line in folded)
