"""Charts of the report, as Vega-Lite specifications without data.

The page puts in the rows, the titles of the axes and the colours of its theme: a colour that begins
with ``@`` names one of the page's own (``report.css``). Nothing that other people wrote stands in a
specification.

References
----------
https://vega.github.io/vega-lite/docs/
"""

from __future__ import annotations

from typing import Any

__all__ = ["SERIES", "charts"]

SERIES: tuple[str, ...] = tuple(f"@series-{number}" for number in range(8))
"""Colours of lines and metrics, in order; they repeat."""

_CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axisX": {"labelFlush": False, "labelOverlap": "greedy"},
    "axis": {
        "labelColor": "@quiet",
        "titleColor": "@ink",
        "titleFontWeight": "normal",
        "titleFontSize": 13,
        "labelFontSize": 12,
        "gridColor": "@grid",
        "domainColor": "@quiet",
        "tickColor": "@quiet",
    },
    "legend": {
        "labelColor": "@ink",
        "titleColor": "@ink",
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "bottom",
        "labelLimit": 220,
    },
    "header": {"labelColor": "@ink", "titleColor": "@ink", "labelFontSize": 12},
}


def charts() -> dict[str, dict[str, Any]]:
    """Return the specification of every chart of the page, by name."""
    return {"tradeoff": _tradeoff(), "curve": _curve(), "differences": _differences()}


def _spec(**parts: Any) -> dict[str, Any]:
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "width": "container",
        "config": _CONFIG,
        **parts,
    }


def _tradeoff() -> dict[str, Any]:
    """Return every setting by two figures: rows ``x``, ``y``, ``colour``, ``meets``, ``count``."""
    place = {
        "x": {"field": "x", "type": "quantitative", "scale": {"zero": False, "nice": True}},
        "y": {"field": "y", "type": "quantitative", "scale": {"zero": False, "nice": True}},
    }
    return _spec(
        height=420,
        layer=[
            {
                "name": "front",
                "data": {"name": "front"},
                "mark": {"type": "line", "interpolate": "step-before", "color": "@accent"},
                "encoding": {**place, "order": {"field": "order", "type": "quantitative"}},
            },
            {
                "name": "points",
                "data": {"name": "points"},
                "mark": {
                    "type": "point",
                    "filled": True,
                    "opacity": 0.85,
                    "cursor": "pointer",
                    "stroke": "@paper",
                    "strokeWidth": 0.8,
                },
                "encoding": {
                    **place,
                    "color": {"field": "colour", "type": "nominal"},
                    "shape": {
                        "field": "meets",
                        "type": "nominal",
                        "scale": {
                            "domain": ["meets every constraint", "breaks one"],
                            "range": ["circle", "cross"],
                        },
                        "legend": {"title": None, "symbolFillColor": "@quiet"},
                    },
                    "size": {
                        "field": "count",
                        "type": "quantitative",
                        "scale": {"type": "sqrt", "domain": [1, 30], "range": [70, 330]},
                        "legend": None,
                    },
                },
            },
            {
                "name": "rings",
                "data": {"name": "marks"},
                "mark": {"type": "point", "filled": False, "strokeWidth": 2.4},
                "encoding": {
                    **place,
                    **{
                        channel: {"field": channel, "type": kind, "scale": None}
                        for channel, kind in (
                            ("stroke", "nominal"),
                            ("shape", "nominal"),
                            ("size", "quantitative"),
                        )
                    },
                },
            },
            *(
                {
                    "name": name,
                    "data": {"name": "marks"},
                    "mark": {
                        "type": "text",
                        "align": "center",
                        "baseline": "top",
                        "dy": 16,
                        "fontSize": 12,
                        "color": "@ink",
                        **look,
                    },
                    "encoding": {**place, "text": {"field": "text", "type": "nominal"}},
                }
                for name, look in (
                    ("halos", {"stroke": "@paper", "strokeWidth": 4, "strokeJoin": "round"}),
                    ("names", {}),
                )
            ),
        ],
        resolve={"scale": {"shape": "independent", "size": "independent"}},
    )


def _curve() -> dict[str, Any]:
    """Return figures along one knob: rows ``at``, ``figure``, ``slice``, places of the knob."""
    at = {"field": "at", "type": "quantitative"}
    along = {
        **at,
        "scale": {"zero": False, "nice": False},
        "axis": {
            "grid": False,
            # Places that are named, and their names, are the chart's parameters.
            "labelExpr": "labels[indexof(ticks, datum.value)]",
        },
    }
    figure = {
        "field": "figure",
        "type": "quantitative",
        "scale": {"zero": False, "nice": True},
    }
    colour = {"field": "slice", "type": "nominal", "legend": {"title": None, "columns": 4}}
    return _spec(
        height=340,
        padding={"top": 28, "left": 5, "right": 5, "bottom": 5},
        params=[{"name": "ticks", "value": []}, {"name": "labels", "value": []}],
        layer=[
            {
                "name": "now",
                "data": {"name": "marks"},
                "mark": {"type": "rule", "strokeDash": [3, 3], "strokeWidth": 1.6},
                "encoding": {
                    "x": along,
                    "color": {"field": "colour", "type": "nominal", "scale": None},
                },
            },
            *(
                {
                    "name": f"now_text_{line}",
                    "data": {"name": "marks"},
                    "transform": [{"filter": f"datum.line == {line}"}],
                    "mark": {
                        "type": "text",
                        "baseline": "bottom",
                        "dy": -4 - 16 * line,
                        "fontSize": 12,
                        "color": "@ink",
                    },
                    "encoding": {
                        "x": along,
                        "y": {"value": 0},
                        "text": {"field": "text", "type": "nominal"},
                    },
                }
                for line in (0, 1)  # one above the other, so that they never touch
            ),
            {
                "name": "lines",
                "data": {"name": "lines"},
                "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.8},
                "encoding": {"x": along, "y": figure, "color": colour},
            },
            {
                "name": "apart",
                "data": {"name": "apart"},
                "mark": {"type": "point", "filled": True, "size": 60, "opacity": 1},
                "encoding": {"x": along, "y": figure, "color": colour},
            },
            {
                "name": "reading",
                "data": {"name": "reading"},
                "mark": {"type": "rule", "color": "@ink", "strokeWidth": 1},
                "encoding": {"x": along},
            },
        ],
    )


def _differences() -> dict[str, Any]:
    """Return differences from today with their intervals: ``slice``, ``metric``, ``difference``."""
    rows = {"field": "slice", "type": "nominal", "title": None, "sort": None}
    across = {
        "type": "quantitative",
        "title": "difference from today, with its 95% interval",
        "axis": {"format": "+.2f", "tickCount": 8},
    }
    own = {
        "y": {**rows, "axis": {"grid": True, "ticks": False, "labelLimit": 160}},
        "yOffset": {"field": "metric", "type": "nominal", "sort": None},
        "color": {"field": "metric", "type": "nominal", "sort": None, "title": None},
    }
    return _spec(
        height=300,  # the page knows how many rows there are
        data={"name": "differences"},
        layer=[
            {
                "name": "none",
                "mark": {"type": "rule", "color": "@quiet"},
                "encoding": {"x": {"datum": 0, "type": "quantitative"}},
            },
            {
                "name": "intervals",
                "mark": {"type": "rule", "strokeWidth": 2.2},
                "encoding": {**own, "x": {"field": "low", **across}, "x2": {"field": "high"}},
            },
            {
                "name": "means",
                "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1},
                "encoding": {**own, "x": {"field": "difference", **across}},
            },
        ],
    )
