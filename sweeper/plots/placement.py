"""Where labels go: beside a point without covering anything, or in a column without colliding."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["Box", "Placer", "nearest", "spread"]

Box: TypeAlias = tuple[float, float, float, float]  # left, bottom, right, top, in pixels
Point: TypeAlias = tuple[float, float]

_DISTANCES = (3, 8, 16, 26, 40, 58, 80, 110, 150)  # points from the rim of the marker
_DIRECTIONS = tuple(
    (math.cos(angle), math.sin(angle))
    for angle in (
        math.radians(degrees) for degrees in (45, -45, 0, 135, -135, 180, 90, -90, 20, 70)
    )
)


class Placer:
    """Finds free places for labels, one after the other; the first ones choose first.

    Parameters
    ----------
    frame
        Labels should stay inside.
    markers
        Boxes of everything that is drawn as a point.
    lines
        Thin boxes of everything that is drawn as a line.
    unit : pixels per point
    """

    def __init__(
        self, frame: Box, markers: Sequence[Box], lines: Sequence[Box], unit: float
    ) -> None:
        self._frame = frame
        self._markers = list(markers)
        self._lines = list(lines)
        self._labels: list[Box] = []
        self._leaders: list[tuple[Point, Point]] = []
        self._unit = unit

    def place(
        self, at: Point, radius: float, width: float, height: float
    ) -> tuple[Box, bool] | None:
        """Return the best box for a label of a size, and whether it needs a line to its point.

        ``None`` if every place lies on another label: no label is better than two illegible ones.
        """
        best = (math.inf, (0.0, 0.0, 0.0, 0.0))
        for distance in _DISTANCES:
            near = distance * self._unit  # no place this far away can cost less
            if best[0] <= near:
                break
            for direction in _DIRECTIONS:
                box = _beside(at, direction, radius + near, width, height)
                cost = near + self._cost(box, at, radius, best[0] - near)
                if cost < best[0]:
                    best = (cost, box)
        box = best[1]
        if any(_overlap(box, other) for other in self._labels):
            return None
        self._labels.append(box)
        far = math.dist(nearest(box, at), at) > radius + 10 * self._unit
        if far:
            self._leaders.append((nearest(box, at), at))
        return box, far

    def _cost(self, box: Box, at: Point, radius: float, enough: float) -> float:
        """Return what is wrong with a place; once that is ``enough``, the rest is not looked at."""
        area = (box[2] - box[0]) * (box[3] - box[1])
        cost = 20.0 * (area - _overlap(box, self._frame)) / self._unit
        cost += sum(20.0 * _overlap(box, other) for other in self._labels)
        cost += sum(8.0 * _overlap(box, other) for other in self._lines)
        cost += sum(300.0 * _passes(line, box) for line in self._leaders)
        if cost >= enough:
            return cost
        cost += sum(6.0 * _overlap(box, other) for other in self._markers)
        end = nearest(box, at)
        if cost < enough and math.dist(end, at) > radius + 10 * self._unit:
            leader = (end, at)
            cost += sum(300.0 * _passes(leader, other) for other in self._labels)
            cost += sum(40.0 * _passes(leader, other) for other in self._markers)
            cost += sum(120.0 * _passes(leader, other) for other in self._lines)
        return cost


def _beside(at: Point, direction: Point, reach: float, width: float, height: float) -> Box:
    """Return a box whose edge or corner is ``reach`` away from a point, in a direction."""
    dx, dy = direction
    x, y = at[0] + dx * reach, at[1] + dy * reach
    left = x if dx > 0.3 else x - width if dx < -0.3 else x - width / 2
    low = y if dy > 0.3 else y - height if dy < -0.3 else y - height / 2
    return (left, low, left + width, low + height)


def nearest(box: Box, at: Point) -> Point:
    """Return the point of a box that is nearest to another point."""
    return (min(max(at[0], box[0]), box[2]), min(max(at[1], box[1]), box[3]))


def _overlap(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return width * height if width > 0 and height > 0 else 0.0


def _passes(line: tuple[Point, Point], box: Box) -> bool:
    """Return whether a straight line passes through a box, its first and last tenth apart."""
    (x0, y0), (x1, y1) = line
    enters, leaves = 0.1, 0.9
    for start, change, low, high in ((x0, x1 - x0, box[0], box[2]), (y0, y1 - y0, box[1], box[3])):
        if change == 0:
            if not low < start < high:
                return False
            continue
        near, far = sorted(((low - start) / change, (high - start) / change))
        enters, leaves = max(enters, near), min(leaves, far)
    return enters < leaves


def spread(wanted: Sequence[float], sizes: Sequence[float], low: float, high: float) -> list[float]:
    """Return centres as near to the wanted ones as sizes allow, between two ends if they fit.

    Neighbours that would collide become one group around their common mean (pool adjacent
    violators, as in isotonic regression).

    Examples
    --------
    >>> spread([5.0, 5.0, 20.0], [2.0, 2.0, 2.0], 0.0, 30.0)
    [6.0, 4.0, 20.0]
    """
    order = sorted(range(len(wanted)), key=lambda i: (wanted[i], -i))
    groups: list[tuple[list[int], float]] = []  # members from the bottom up, centre

    def size(members: Sequence[int]) -> float:
        return sum(sizes[i] for i in members)

    def inside(members: Sequence[int], centre: float) -> float:
        half = size(members) / 2
        return max(low + half, min(high - half, centre)) if 2 * half <= high - low else centre

    for i in order:
        members, centre = [i], inside([i], wanted[i])
        while groups and groups[-1][1] + size(groups[-1][0]) / 2 > centre - size(members) / 2:
            earlier, _ = groups.pop()
            members = earlier + members
            centre = inside(members, sum(wanted[m] for m in members) / len(members))
        groups.append((members, centre))
    placed = [0.0] * len(wanted)
    for members, centre in groups:
        at = centre - size(members) / 2
        for i in members:
            placed[i] = at + sizes[i] / 2
            at += sizes[i]
    return placed
