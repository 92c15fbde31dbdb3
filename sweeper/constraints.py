"""Addresses of figures, objectives, and constraints such as ``entity.recall@10 >= current - 0.01``.

Parsing and deciding only; which trials meet a constraint is asked by ``sweep`` and ``recommend``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from sweeper.metrics import Metric, parse_metric

__all__ = ["Constraint", "Objective", "parse_constraint", "parse_objectives", "split_address"]

Direction = Literal["maximize", "minimize"]


@dataclass(frozen=True, slots=True)
class Objective:
    """One figure to push in one direction."""

    address: str
    direction: Direction

    def gain(self, figure: float) -> float:
        """Return a number that is larger when the figure is better; NaN is worst."""
        if math.isnan(figure):
            return -math.inf
        return figure if self.direction == "maximize" else -figure


def parse_objectives(given: str | Iterable[str] | Mapping[str, str]) -> tuple[Objective, ...]:
    """Read objectives.

    Parameters
    ----------
    given
        Figure to ``maximize`` or ``minimize``, as in a config; or figures to maximise.

    Raises
    ------
    ValueError
        If there is none, or a direction is another word.

    Examples
    --------
    >>> parse_objectives("freshness.mrr")
    (Objective(address='freshness.mrr', direction='maximize'),)
    """
    if isinstance(given, str):
        given = [given]
    pairs = given if isinstance(given, Mapping) else dict.fromkeys(given, "maximize")
    found = []
    for address, word in pairs.items():
        if word not in ("maximize", "minimize"):
            raise ValueError(f'{address}: an objective is maximize or minimize, not "{word}".')
        direction: Direction = "maximize" if word == "maximize" else "minimize"
        found.append(Objective(address, direction))
    if not found:
        raise ValueError("there is no objective. Write slice.metric, e.g. overall.mrr.")
    return tuple(found)


def split_address(address: str) -> tuple[str, Metric]:
    """Split ``slice.metric`` at its last dot.

    Raises
    ------
    ValueError
        If there is no dot or the metric is unknown.

    Examples
    --------
    >>> split_address("entity.recall@10")
    ('entity', parse_metric('recall@10'))
    """
    group, dot, metric = address.strip().rpartition(".")
    if not dot or not group:
        raise ValueError(f'"{address}" is no figure. Write slice.metric, e.g. overall.mrr.')
    return group, parse_metric(metric)


_CONSTRAINT = re.compile(
    r"\s*(?P<address>.+?)\s*(?P<sign>>=|<=|==|>|<)\s*"
    r"(?:(?P<current>current)(?:\s*(?P<step>[+-])\s*(?P<offset>[0-9.]+))?|(?P<number>-?[0-9.]+))\s*"
)
_ROUNDING = 1e-12
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    ">=": lambda a, b: a >= b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    "<": lambda a, b: a < b,
    "==": lambda a, b: a == b,
}


@dataclass(frozen=True, slots=True)
class Constraint:
    """A bound on one figure: a number, or the current setting's figure plus an offset."""

    text: str
    address: str
    sign: str
    offset: float
    relative: bool

    def bound(self, current: float) -> float:
        """Return the bound, given the current setting's figure."""
        return current + self.offset if self.relative else self.offset

    def holds(self, figure: float, current: float) -> bool:
        """Return whether a figure meets the bound; NaN never does.

        0.8 - 0.1 is a hair above 0.7 in floating point: a difference of rounding is none.
        """
        above = figure - self.bound(current)
        return _SIGNS[self.sign](0.0 if abs(above) < _ROUNDING else above, 0.0)

    def excess(self, figure: float, current: float) -> float:
        """Return by how much a figure misses the bound: 0 or less is met, NaN misses by 1."""
        above = figure - self.bound(current)
        if math.isnan(above):
            return 1.0
        missed = {">": -above, ">=": -above, "<": above, "<=": above, "==": abs(above)}[self.sign]
        return min(missed, 0.0) if self.holds(figure, current) else max(missed, _ROUNDING)


def parse_constraint(text: str) -> Constraint:
    """Read a constraint.

    Raises
    ------
    ValueError
        With a sentence that shows the form.

    Examples
    --------
    >>> parse_constraint("entity.recall@10 >= current - 0.01").bound(0.9)
    0.89
    """
    reversed_sign = re.search("=[<>]", text)
    if reversed_sign is not None:
        sign = reversed_sign[0]
        raise ValueError(f'"{text}" is no constraint: write {sign[::-1]} instead of {sign}.')
    match = _CONSTRAINT.fullmatch(text)
    number = match and (match["offset"] or match["number"] or "0")
    try:
        if match is None or number is None:
            raise ValueError
        offset = float(number)
    except ValueError:
        raise ValueError(
            f'"{text}" is no constraint. Write slice.metric >= number, or >= current, '
            "or >= current - 0.01."
        ) from None
    group, metric = split_address(match["address"])
    if match["step"] == "-":
        offset = -offset
    return Constraint(
        text.strip(), f"{group}.{metric}", match["sign"], offset, match["current"] is not None
    )
