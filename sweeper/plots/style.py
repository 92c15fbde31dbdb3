"""What all plots share: colours, scales, and text that arrives from other people."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from sweeper.knobs import Knob, Value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = [
    "PALETTE",
    "as_value",
    "figure_of",
    "figure_scale",
    "fold",
    "ignore_missing_glyphs",
    "is_off",
    "knob_label",
    "lay_out",
    "left_out",
    "light_grid",
    "mark_current",
    "new_axes",
    "not_mathematics",
    "one_line",
    "say_empty",
    "set_figure_limits",
]

PALETTE: tuple[str, ...] = (
    "#0072B2",  # blue
    "#D55E00",  # vermillion
    "#009E73",  # bluish green
    "#CC79A7",  # reddish purple
    "#E69F00",  # orange
    "#56B4E9",  # sky blue
    "#7A6A00",  # olive, for Okabe and Ito's yellow, which white paper swallows
    "#7F7F7F",  # grey
)
"""Colours that remain distinct in colour-blind eyes (Okabe and Ito, 2008). Shapes repeat them."""

INK = "#262626"
QUIET_INK = "#6b6b6b"
CURRENT = PALETTE[1]
SMALL = 8.5  # points, of text that is not an axis label


def knob_label(knob: Knob) -> str:
    """Return a knob's name and unit as an axis label."""
    return one_line(knob.label or knob.name) + (f" ({knob.unit})" if knob.unit else "")


def as_value(raw: Any) -> Value:
    """Return a knob's value from a frame, where NaN stands for "not set"."""
    if raw is None or (isinstance(raw, float) and math.isnan(raw)):
        return None
    if isinstance(raw, str):
        return raw
    return int(raw) if isinstance(raw, int) else float(raw)


def is_off(knob: Knob, value: Value) -> bool:
    """Return whether a value switches its knob off and so has no place on the knob's scale."""
    return value is None or (value == 0 and knob.zero is not None)


def new_axes(ax: Axes | None) -> Axes:
    """Return the Axes that were given, or those of a fresh figure that pyplot knows nothing of."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=(7.2, 4.8), layout="constrained").add_subplot()


def figure_of(ax: Axes) -> Figure | SubFigure:
    """Return the figure that Axes belong to."""
    figure = ax.get_figure(root=True)
    assert figure is not None, "Axes belong to a figure"
    return figure


def lay_out(ax: Axes) -> float:
    """Run the figure's layout, so that points and pixels can be compared; return pixels a point."""
    import warnings

    from matplotlib.figure import Figure

    figure = figure_of(ax)
    assert isinstance(figure, Figure)
    with warnings.catch_warnings():
        ignore_missing_glyphs()
        figure.draw_without_rendering()
    return figure.dpi / 72


def ignore_missing_glyphs() -> None:
    """A name may be in a script that the font lacks: a box is drawn, that is no failure."""
    import warnings

    warnings.filterwarnings("ignore", message="Glyph .* missing from")


def light_grid(ax: Axes) -> None:
    """Draw a quiet grid behind the data and drop the upper and right frame."""
    ax.grid(visible=True, color="#e6e6e6", linewidth=0.7)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)


_LEAST_SPAN = 0.02  # a smaller difference is not blown up to fill the plot


def figure_scale(ax: Axes, which: Literal["x", "y"], values: Sequence[float]) -> None:
    """Set the limits of an axis of figures: some room, and no difference made out of nothing."""
    if not values:
        return
    low, high = min(values), max(values)
    if high - low < _LEAST_SPAN:
        middle = (low + high) / 2
        low, high = middle - _LEAST_SPAN / 2, middle + _LEAST_SPAN / 2
    room = (high - low) * 0.08
    set_figure_limits(ax, which, low - room, high + room, max(values))


def set_figure_limits(
    ax: Axes, which: Literal["x", "y"], low: float, high: float, largest: float
) -> None:
    """Set limits and ticks; room beyond 1 gets no ticks where no figure can be beyond 1."""
    from matplotlib.ticker import MaxNLocator

    (ax.set_xlim if which == "x" else ax.set_ylim)(low, high)
    ticks = MaxNLocator(nbins=7, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    most = 1 + 1e-9 if largest <= 1 else math.inf
    kept = [tick for tick in ticks if low <= tick <= min(high, most)]
    (ax.set_xticks if which == "x" else ax.set_yticks)(kept)
    ax.ticklabel_format(axis=which, useOffset=False)


def say_empty(ax: Axes) -> None:
    """Say that there is nothing to draw, instead of an empty frame."""
    ax.text(0.5, 0.5, "no figures to draw", transform=ax.transAxes, ha="center", color=QUIET_INK)
    ax.set_xticks([])
    ax.set_yticks([])


def left_out(count: int, noun: str) -> str:
    """Return a second line for an axis label, so that nothing goes missing in silence."""
    if not count:
        return ""
    return f"\n({count} {noun}{'s' if count > 1 else ''} without a figure left out)"


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")


def one_line(text: str) -> str:
    """Return text without control characters and line breaks."""
    return _CONTROL.sub(" ", text)


def not_mathematics(text: str) -> str:
    """Return text that matplotlib neither reads as a formula nor hides from a legend."""
    text = one_line(text).replace("$", r"\$")
    return " " + text if text.startswith("_") else text


def fold(text: str, width: int, most_lines: int) -> str:
    """Break text into short lines: after commas, else between words, else at a word's joints.

    What does not fit ends in an ellipsis.

    Examples
    --------
    >>> print(fold("a_long_name_of_a_slice_that_goes_on_and_on", 16, 2))
    a_long_name_of_
    a_slice_that_…
    """
    pieces: list[str] = []
    words: list[str] = []
    for part in re.findall(r"[^,]*,\s*|[^,]+$", one_line(text)):
        words += [part] if len(part.rstrip()) <= width else re.findall(r"\S+\s*", part)
    for word in words:
        joints = re.findall(r"[^_./:=-]*[_./:=-]|[^_./:=-]+", word)
        for piece in joints if len(word.rstrip()) > width else [word]:
            pieces += [piece[at : at + width] for at in range(0, len(piece), width)]
    lines = [""]
    for piece in pieces:
        if len((lines[-1] + piece).rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    lines = [line.strip() for line in lines if line.strip()]
    if len(lines) > most_lines:
        last = lines[most_lines - 1]
        lines = [*lines[: most_lines - 1], last[: width - 1] + "…"]
    return "\n".join(lines)


def mark_current(ax: Axes, at: float, text: str) -> None:
    """Mark the value that runs today, with its name above the plot."""
    ax.axvline(at, color=CURRENT, linewidth=1.2, linestyle=(0, (1, 1.2)), zorder=1.5)
    ax.annotate(
        f"current: {text}",
        (at, 1.0),
        xycoords=ax.get_xaxis_transform(),
        xytext=(0, 4),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=SMALL,
        color=INK,
        parse_math=False,
    )
