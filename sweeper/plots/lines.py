"""How lines of slices look, and their names beside their right ends."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sweeper.golden import OVERALL
from sweeper.plots.placement import spread
from sweeper.plots.style import INK, PALETTE, SMALL, fold, lay_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["OVERALL_LOOK", "LineEnd", "Look", "look_of", "name_ends"]

# Shape and size in points; the sizes make their areas look alike.
_MARKERS: tuple[tuple[str, float], ...] = (
    ("o", 5.5),
    ("s", 5.2),
    ("D", 5.2),
    ("^", 6.5),
    ("v", 6.5),
    ("P", 7.0),
    ("X", 7.0),
    ("*", 9.5),
    ("<", 6.5),
    (">", 6.5),
)


@dataclass(frozen=True, slots=True)
class Look:
    """Colour, marker and stroke of one slice's line."""

    colour: str
    marker: str
    size: float
    width: float = 1.5
    dashes: str = "-"
    layer: int = 3


OVERALL_LOOK = Look("black", "o", 3.5, width=2.0, dashes="--", layer=4)


def look_of(number: int) -> Look:
    """Return colour and marker of a slice; they repeat together only after 40 slices."""
    marker, size = _MARKERS[number % len(_MARKERS)]
    return Look(PALETTE[number % len(PALETTE)], marker, size)


@dataclass(frozen=True, slots=True)
class LineEnd:
    """The right end of a line, where its name goes."""

    name: str
    look: Look
    x: float
    y: float


_NAMES_AT = 1.035  # in widths of the axes


def name_ends(ax: Axes, ends: Sequence[LineEnd]) -> None:
    """Write each slice's name beside the end of its line, moved apart where they would collide."""
    texts = [fold(end.name, 24, 2) for end in ends]
    unit = lay_out(ax)
    height = ax.get_window_extent().height / unit
    sizes = [(text.count("\n") + 1) * SMALL * 1.25 + 2 for text in texts]
    if sum(sizes) > height * 1.05:
        columns = math.ceil(len(ends) / 20)
        ax.legend(
            loc="upper left", bbox_to_anchor=(1, 1), frameon=False, fontsize=SMALL, ncols=columns
        )
        return
    low, high = ax.get_ylim()
    wanted = [(end.y - low) / (high - low) * height for end in ends]
    places = spread(wanted, sizes, 0.0, height)
    for end, text, at in zip(ends, texts, places, strict=True):
        _write_name(ax, end, text, at / height)


def _write_name(ax: Axes, end: LineEnd, text: str, at: float) -> None:
    """Write one name, with the line's own marker before it and a thin line to the line's end."""
    overall = end.name == OVERALL
    ax.annotate(
        "",
        (end.x, end.y),
        xytext=(_NAMES_AT, at),
        textcoords="axes fraction",
        arrowprops={
            "arrowstyle": "-",
            "color": end.look.colour,
            "linewidth": 0.7,
            "shrinkA": 2,
            "shrinkB": 2,
        },
        annotation_clip=False,
        zorder=2,
    )
    ax.plot(
        [_NAMES_AT],
        [at],
        transform=ax.transAxes,
        clip_on=False,
        color=end.look.colour,
        marker="_" if overall else end.look.marker,
        markersize=9 if overall else end.look.size,
        markeredgewidth=2 if overall else 0.5,
        markeredgecolor=end.look.colour if overall else "white",
        linestyle="",
        label="_",
    )
    ax.annotate(
        text,
        (_NAMES_AT, at),
        xycoords="axes fraction",
        xytext=(7, 0),
        textcoords="offset points",
        va="center",
        ha="left",
        fontsize=SMALL,
        color=INK,
        fontweight="bold" if overall else "normal",
        parse_math=False,
        annotation_clip=False,
    )
