"""What a single knob could do for a question that is not answered first, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sweeper.exact import exact_curve
from sweeper.golden import GoldenSet, Query
from sweeper.knobs import TRIPLES, Value
from sweeper.metrics import parse_metric
from sweeper.pools import Pool
from sweeper.ranking import rank_captured
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.staircase import ABSENT, Curve

__all__ = ["Remedy", "find_remedies"]

_METRICS = (parse_metric("mrr"),)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What one knob alone can do for a question, the others as they are.

    Attributes
    ----------
    knob
        Name of the knob, where the question's value is set: ``routing.lookup.weights.vector`` if
        its class has a weight of its own, else ``weights.vector``.
    position
        The best first position of an expected key along the knob.
    low, high
        The nearest stretch of the knob's axis on which that position is reached; equal ends are a
        single value, and ``None`` for both is the value that stands apart (off, none).
    at
        The end of that stretch which is nearer to the present value; ``None`` for the value that
        stands apart.
    item_id, other_id
        The expected row that moves there, and the row that it overtakes, where there is one.
    """

    knob: str
    position: int
    low: float | None
    high: float | None
    at: float | None
    item_id: str | None
    other_id: str | None


def find_remedies(
    pool: Pool, questions: Sequence[tuple[Query, Settings, int]]
) -> list[tuple[list[Remedy], tuple[str, ...]]]:
    """Return what single knobs can do for questions.

    Parameters
    ----------
    pool
        The captured candidates.
    questions
        Each with the settings that hold for it and the first position of an expected row under
        them; 0 is absent.

    Returns
    -------
    list of (list of Remedy, tuple of str)
        Per question: remedies, the best first, and knobs that were not tried.
    """
    constants = _along_the_constant(pool, questions)
    found = []
    for number, (query, own, now) in enumerate(questions):
        names, untried = _knobs(pool.channels, own)
        alone = _Curves(Replay(pool, GoldenSet((query,)), compiled=False), own)
        remedies = []
        for name in names:
            curves, index = constants[number] if name == "rrf_k" else (alone, 0)
            curve = curves.along(name)
            remedy = None if curve is None else _remedy(curve, curves.replay, index, now)
            if remedy is not None:
                remedies.append(remedy)
        found.append((sorted(remedies, key=lambda item: item.position), untried))
    return found


class _Curves:
    """Exact curves of some questions through one setting, each computed once."""

    def __init__(self, replay: Replay, settings: Settings) -> None:
        self.replay, self._settings = replay, settings
        self._known: dict[str, Curve | None] = {}

    def along(self, name: str) -> Curve | None:
        """Return a knob's curve; ``None`` for weights beyond the range of exact curves."""
        if name not in self._known:
            try:
                self._known[name] = exact_curve(self.replay, self._settings, name, _METRICS)
            except ValueError:
                self._known[name] = None
        return self._known[name]


def _along_the_constant(
    pool: Pool, questions: Sequence[tuple[Query, Settings, int]]
) -> list[tuple[_Curves, int]]:
    """Return for each question the curves that hold it, and its index there.

    The rank constant is enumerated, which costs as much for many questions as for one.
    """
    members: dict[Settings, list[int]] = {}
    for number, (_, own, _) in enumerate(questions):
        members.setdefault(own, []).append(number)
    found: dict[int, tuple[_Curves, int]] = {}
    for own, numbers in members.items():
        golden = GoldenSet(tuple(questions[number][0] for number in numbers))
        curves = _Curves(Replay(pool, golden, compiled=False), own)
        found |= {number: (curves, index) for index, number in enumerate(numbers)}
    return [found[number] for number in range(len(questions))]


def _knobs(channels: Sequence[str], own: Settings) -> tuple[list[str], tuple[str, ...]]:
    """Return the knobs that have exact curves, and the weights that have none."""
    names = ["recency_half_life_days", "min_similarity", "rrf_k"]
    if TRIPLES in channels and TRIPLES not in own.weights:  # its safe weight follows the others
        others = tuple(f"weights.{channel}" for channel in channels if channel != TRIPLES)
        return [*names, f"weights.{TRIPLES}"], others
    return [*names, *(f"weights.{channel}" for channel in channels)], ()


def _remedy(curve: Curve, replay: Replay, index: int, now: int) -> Remedy | None:
    """Return the best that a knob can do for one of a curve's questions, if better than now."""
    name, mine = curve.knob.name, curve.pieces.query == index
    low = np.maximum(curve.pieces.start[mine], curve.low)
    first = curve.pieces.first_position[mine]
    if curve.underflow is not None:
        low = np.maximum(low, curve.underflow[1])
    high = np.minimum(np.append(low[1:], curve.high), curve.high)
    position = np.where(first > 0, first.astype(np.int64), ABSENT)
    position[low >= high] = ABSENT  # floors that nobody can type
    best = int(position.min())
    for _, figures in curve.points:
        # A point has figures, which are means: the question's own value only where it is alone.
        assert replay.judgments.n_queries == 1, "a curve of several questions has no points here"
        reached = round(1 / float(figures[0, 0])) if figures[0, 0] > 0 else ABSENT
        if reached < min(best, now or ABSENT):
            return Remedy(name, reached, None, None, None, None, None)
    if best >= (now or ABSENT):
        return None
    present = _place(curve, _present(curve.settings, name))
    reaching = np.flatnonzero(position == best)
    gaps = [_gap(present, float(low[n]), float(high[n]), curve.knob.log_scale) for n in reaching]
    chosen = int(reaching[int(np.argmin(gaps))])
    upwards = present <= low[chosen]
    at = float(low[chosen] if upwards else high[chosen])
    item, other = _mover(curve, replay, index, (float(low[chosen]), float(high[chosen])), upwards)
    if name == "rrf_k":  # an edge lies between two integers
        low_k, high_k = math.ceil(low[chosen]), math.floor(high[chosen])
        return Remedy(name, best, low_k, high_k, low_k if upwards else high_k, item, other)
    return Remedy(name, best, float(low[chosen]), float(high[chosen]), at, item, other)


def _mover(
    curve: Curve, replay: Replay, index: int, stretch: tuple[float, float], upwards: bool
) -> tuple[str, str | None]:
    """Return the first expected row within a stretch, and whom it overtakes at its nearer end."""
    settings, name = curve.settings, curve.knob.name
    at = stretch[0] if upwards else stretch[1]
    inside: Value = curve.middle_of(*stretch)
    if curve.knob.integer:
        inside = math.ceil(stretch[0])
    replay = replay.of(settings)
    pool, query = replay.pool, replay.golden.queries[index]
    rows = rank_captured(pool, query, settings.with_values({name: inside}))
    item = next(row.item_id for row in rows if row.key in query.expected)
    layout = replay.layout(settings.effective_depth)
    number = layout.item[layout.target_slot, 0]
    steps = curve.steps.where(curve.steps.at == at)
    own = np.array([pool.item_ids[n] == item for n in number[steps.target]], bool)
    own &= layout.target_query[steps.target] == index
    others = steps.where(own & ((steps.step < 0) if upwards else (steps.step > 0))).other.tolist()
    if len(others) != 1 or others[0] < 0:
        return item, None
    return item, pool.item_ids[layout.item[others[0], 0]]


def _present(settings: Settings, name: str) -> Value:
    """Return a knob's value on its axis: a safe weight stands where its number does."""
    return settings.weight(TRIPLES) if name == f"weights.{TRIPLES}" else settings.get(name)


def _place(curve: Curve, value: Value) -> float:
    if curve.point(value) is not None or value is None:
        return curve.high if curve.knob.name == "recency_half_life_days" else curve.low
    return float(value)


def _gap(present: float, low: float, high: float, log_scale: bool) -> float:
    if low <= present <= high:
        return 0.0
    near = low if present < low else high
    if log_scale and math.isfinite(present) and present > 0 and near > 0:
        return abs(math.log(near / present))
    return abs(near - present) if math.isfinite(present) else -near
