"""Plots: one function each, Axes in and Axes out; the only package that imports matplotlib.

Numbers arrive computed. A function draws on the Axes that it is given, or on a fresh figure, and
returns the Axes; it never shows, never saves and never touches pyplot or global style. Only
``save`` writes files. matplotlib is imported inside the functions: naming them costs nothing.
"""

from sweeper.plots.curve import plot_knob_curve
from sweeper.plots.heatmap import plot_heatmap
from sweeper.plots.saving import save
from sweeper.plots.staircase import plot_staircase
from sweeper.plots.style import PALETTE
from sweeper.plots.tradeoff import plot_tradeoff

__all__ = [
    "PALETTE",
    "plot_heatmap",
    "plot_knob_curve",
    "plot_staircase",
    "plot_tradeoff",
    "save",
]
