"""The trade-off plot: every trial by two of its figures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from sweeper.plots.placement import Box, Placer, nearest
from sweeper.plots.style import (
    CURRENT,
    INK,
    PALETTE,
    QUIET_INK,
    SMALL,
    figure_scale,
    fold,
    lay_out,
    left_out,
    light_grid,
    new_axes,
    one_line,
    say_empty,
    set_figure_limits,
)
from sweeper.tables import figure_label

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = ["Better", "Label", "plot_tradeoff"]

Better: TypeAlias = Literal["higher", "lower"]
Label: TypeAlias = str | Callable[[Mapping[str, Any]], str] | None

_FRONT = PALETTE[0]
_FEW = 8  # points of a front that are labelled, by number
_DIAMOND = 150.0  # area of the current settings' mark, in square points
_ARROWS = {
    ("higher", "higher"): "↗",
    ("higher", "lower"): "↘",
    ("lower", "higher"): "↖",
    ("lower", "lower"): "↙",
}


def plot_tradeoff(
    points: pd.DataFrame,
    *,
    x: str,
    y: str,
    label: Label = "label",
    x_better: Better = "higher",
    y_better: Better = "higher",
    ax: Axes | None = None,
) -> Axes:
    """Draw every trial by two of its figures, the Pareto front and the current settings.

    Trials with equal figures are one point, the larger the more there are. The front is a
    staircase, because nothing between two of its points has been reached. Up to eight front points
    are labelled, as far as there is room. Trials without one of the figures are left out and
    counted below the x axis.

    Parameters
    ----------
    points : one row per trial
        Columns: the addresses ``x`` and ``y``, ``is_current`` and ``on_front`` (bool), and what
        ``label`` names.
    x, y
        Addresses of figures, such as ``entity.recall@10``.
    label
        A column with short texts, a function from a row to a text, or ``None`` for no labels.
    x_better, y_better
        Which way is better.
    ax
        Where to draw; a fresh figure by default.
    """
    ax = new_axes(ax)
    shown = points[points[x].notna() & points[y].notna()]
    places = _places(shown, x, y, label)
    front = sorted((place for place in places if place.on_front), key=lambda place: place.x)
    _draw_trials(ax, [place for place in places if not place.on_front and not place.is_current])
    _draw_front(ax, front, x_better)
    _draw_current(ax, [place for place in places if place.is_current])
    missing = len(points) - len(shown)
    ax.set_xlabel(one_line(figure_label(x)) + left_out(missing, "trial"), parse_math=False)
    ax.set_ylabel(one_line(figure_label(y)), parse_math=False)
    light_grid(ax)
    if not places:
        say_empty(ax)
        return ax
    figure_scale(ax, "x", [place.x for place in places])
    figure_scale(ax, "y", [place.y for place in places])
    better = f"better {_ARROWS[x_better, y_better]}"
    ax.set_title(better, loc="right", fontsize=SMALL, color=QUIET_INK)
    _put_legend(ax)
    _label_places(ax, places, front)
    return ax


@dataclass(slots=True)
class _Place:
    """One or more trials with the same two figures."""

    x: float
    y: float
    count: int = 0
    on_front: bool = False
    is_current: bool = False
    label: str = ""

    @property
    def area(self) -> float:
        """Area of the mark in square points: grows with the count, slowly enough for hundreds."""
        return min(34.0 * math.sqrt(self.count), 420.0)

    @property
    def radius(self) -> float:
        """How far the mark reaches from its middle, in points."""
        if self.is_current:
            return math.sqrt(_DIAMOND) / math.sqrt(2) + 1
        return math.sqrt(self.area) / 2

    def text(self, *, with_label: bool) -> str:
        words = self.label if with_label else ""
        if words and self.count > 1:
            words = f"{words} (+{self.count - 1})"
        if self.is_current:
            words = f"current: {words}" if words else "current"
        return fold(words, 26, 4)


def _places(shown: pd.DataFrame, x: str, y: str, label: Label) -> list[_Place]:
    places: dict[tuple[float, float], _Place] = {}
    for row in shown.to_dict("records"):
        at = (float(row[x]), float(row[y]))
        place = places.setdefault(at, _Place(*at))
        place.count += 1
        place.on_front |= bool(row["on_front"])
        is_current = bool(row["is_current"])
        # The first trial names the place, unless the current settings stand there.
        if label is not None and (is_current or not place.label):
            text = label({str(k): v for k, v in row.items()}) if callable(label) else row[label]
            place.label = one_line(str(text))
        place.is_current |= is_current
    return list(places.values())


def _draw_trials(ax: Axes, places: Sequence[_Place]) -> None:
    if not places:
        return
    several = any(place.count > 1 for place in places)
    ax.scatter(
        [place.x for place in places],
        [place.y for place in places],
        s=[place.area for place in places],
        color="#c4c4c4",
        edgecolors="#8c8c8c",
        linewidths=0.6,
        label="trials (larger: several)" if several else "trials",
        zorder=2,
    )


def _draw_front(ax: Axes, front: Sequence[_Place], x_better: Better) -> None:
    if not front:
        return
    across, up = [place.x for place in front], [place.y for place in front]
    ax.plot(
        across,
        up,
        drawstyle="steps-pre" if x_better == "higher" else "steps-post",
        color=_FRONT,
        linewidth=1.4,
        zorder=3,
    )
    ax.scatter(
        across,
        up,
        s=[place.area for place in front],
        color=_FRONT,
        edgecolors="white",
        linewidths=0.8,
        label="Pareto front",
        zorder=4,
    )


def _draw_current(ax: Axes, places: Sequence[_Place]) -> None:
    for place in places[:1]:
        ax.scatter(
            [place.x],
            [place.y],
            s=_DIAMOND,
            marker="D",
            facecolors="none" if place.on_front else "white",
            edgecolors=CURRENT,
            linewidths=2.0,
            label="current settings",
            zorder=5,
        )


def _put_legend(ax: Axes) -> None:
    """Put the legend above the plot, where no point can be."""
    ax.legend(
        loc="lower left",
        bbox_to_anchor=(-0.01, 1.0),
        ncols=3,
        frameon=False,
        fontsize=SMALL,
        borderaxespad=0.2,
        handletextpad=0.5,
        columnspacing=1.4,
    )


def _label_places(ax: Axes, places: Sequence[_Place], front: Sequence[_Place]) -> None:
    few = len(front) <= _FEW
    wanted = [place for place in places if place.is_current or (few and place.on_front)]
    # The current settings first, for they matter most; then from the right, where room is scarce.
    wanted.sort(key=lambda place: (not place.is_current, -place.x, place.y))
    notes = [(place, _write(ax, place, with_label=place.on_front and few)) for place in wanted]
    unit = lay_out(ax)
    _make_room(ax, notes, unit)
    placer = Placer(_frame(ax), *_drawn(ax, places, front, unit), unit)
    for place, note in notes:
        _move(ax, place, note, placer, unit)


def _write(ax: Axes, place: _Place, *, with_label: bool) -> Annotation:
    note = ax.annotate(
        place.text(with_label=with_label),
        (place.x, place.y),
        xytext=(0, 0),
        textcoords="offset points",
        fontsize=SMALL,
        color=INK,
        verticalalignment="bottom",
        parse_math=False,
        zorder=6,
    )
    note.set_in_layout(False)  # it will stay inside; where it is now must not shrink the axes
    return note


def _make_room(ax: Axes, notes: Sequence[tuple[_Place, Annotation]], unit: float) -> None:
    """Widen the axes so that labels of points at the right and upper edge fit beside them."""
    frame = ax.get_window_extent()
    which: Literal["x", "y"]
    for which, length in (("x", frame.width), ("y", frame.height)):
        low, high = ax.get_xlim() if which == "x" else ax.get_ylim()
        wanted = high
        for place, note in notes:
            extent = note.get_window_extent()
            taken = (extent.width if which == "x" else extent.height) + (place.radius + 8) * unit
            at = place.x if which == "x" else place.y
            if taken < length:
                wanted = max(wanted, low + (at - low) * length / (length - taken))
        largest = max((place.x if which == "x" else place.y for place, _ in notes), default=0.0)
        set_figure_limits(ax, which, low, min(wanted, high + 0.4 * (high - low)), largest)


def _frame(ax: Axes) -> Box:
    box = ax.get_window_extent()
    return (box.x0 + 2, box.y0 + 2, box.x1, box.y1 - 2)


def _drawn(
    ax: Axes, places: Sequence[_Place], front: Sequence[_Place], unit: float
) -> tuple[list[Box], list[Box]]:
    """Return the boxes of all marks, and of the staircase's lines."""
    marks = []
    for place in places:
        px, py = ax.transData.transform((place.x, place.y))
        radius = place.radius * unit
        marks.append((px - radius, py - radius, px + radius, py + radius))
    lines = []
    if front:
        before = ax.lines[-1].get_drawstyle() == "steps-pre"  # down first, then across
        ends = ax.transData.transform([(place.x, place.y) for place in front])
        for (x0, y0), (x1, y1) in itertools.pairwise(ends):
            corner = (x0, y1) if before else (x1, y0)
            for cx, cy in ((x0, y0), (x1, y1)):
                left, right = sorted((cx, corner[0]))
                low, high = sorted((cy, corner[1]))
                lines.append((left - 2, low - 2, right + 2, high + 2))
    return marks, lines


def _move(ax: Axes, place: _Place, note: Annotation, placer: Placer, unit: float) -> None:
    """Move a label to where it covers nothing, with a thin line to its point when that is far."""
    extent = note.get_window_extent()
    px, py = (float(value) for value in ax.transData.transform((place.x, place.y)))
    radius = place.radius * unit
    found = placer.place((px, py), radius, extent.width, extent.height)
    if found is None:
        note.remove()
        return
    box, far = found
    note.set_position(((box[0] - px) / unit, (box[1] - py) / unit))
    if far:
        end = nearest(box, (px, py))
        ax.annotate(
            "",
            (place.x, place.y),
            xytext=((end[0] - px) / unit, (end[1] - py) / unit),
            textcoords="offset points",
            arrowprops={
                "arrowstyle": "-",
                "color": QUIET_INK,
                "linewidth": 0.6,
                "shrinkA": 0,
                "shrinkB": place.radius,
            },
            zorder=3,
        )
