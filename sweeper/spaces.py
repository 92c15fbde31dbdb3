"""Search spaces: which settings a sweep may try, and how many that is.

A space gives each knob its values: a list, or a *span* of numbers that a sampler draws from. Knobs
may depend on others (``when``): where the condition fails the knob keeps its base value, so that
equal rankings are not tried twice. Nothing here builds a product to count it.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from sweeper.knobs import Value, knob
from sweeper.pools import VECTOR
from sweeper.settings import Settings

__all__ = ["Condition", "SearchSpace", "Span", "Trial", "plainest", "significant"]

_DIGITS = 6
"""Significant digits of a drawn number: one that a person can type again."""

_MOST_LISTED = 1_000_000
"""Integers of a span that are listed, so that a sampler which tried them all can stop."""

_SIGNS = {
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from ``low`` to ``high``, both included, besides the values ``also``."""

    low: float
    high: float
    log: bool = False
    integer: bool = False
    also: tuple[Value, ...] = ()

    def __contains__(self, value: Value) -> bool:
        if value in self.also:
            return True
        return isinstance(value, int | float) and self.low <= value <= self.high


@functools.lru_cache(maxsize=64)
def _listed(span: Span) -> tuple[Value, ...] | None:
    """Return all values of a span, in order; ``None`` if there are too many, or no end of them."""
    if not span.integer or span.high - span.low >= _MOST_LISTED:
        return None
    numbers = range(int(span.low), int(span.high) + 1)
    return (*numbers, *(value for value in span.also if value not in numbers))


@dataclass(frozen=True, slots=True)
class Condition:
    """What another knob must be for a knob to matter, such as ``recency_half_life_days > 0``.

    ``sign`` is one of ``> >= < <= == !=``. An unset knob is neither above nor below any number.
    """

    knob: str
    sign: str
    value: Value

    def holds(self, value: Value) -> bool:
        if self.sign in {"==", "!="}:
            return (value == self.value) == (self.sign == "==")
        if not isinstance(value, int | float) or not isinstance(self.value, int | float):
            return False
        return bool(_SIGNS[self.sign](value, self.value))


@dataclass(frozen=True, slots=True)
class Trial:
    """One planned settings and its part in the sweep.

    ``in_space`` is a combination of the space, ``on_line`` one of the printed table (the table's
    knob through the current setting). ``arm`` is its name, if the config gives it one.
    """

    number: int
    settings: Settings
    in_space: bool
    on_line: bool
    is_current: bool
    arm: str | None = None

    @property
    def trial_id(self) -> str:
        return self.settings.trial_id


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """The values that a sweep tries per knob; every combination is one trial of a grid.

    Parameters
    ----------
    base
        Gives the knobs that the space does not name, and those whose condition fails.
    choices
        Knob name to distinct values, in the order in which they were typed.
    spans
        Knob name to the numbers that a sampler draws from.
    when
        Knob name to conditions on other knobs; all must hold.

    Raises
    ------
    ValueError
        If conditions go round in a circle.

    Examples
    --------
    >>> from sweeper.settings import Settings
    >>> space = SearchSpace(Settings(), {"rrf_k": (5, 60), "limit": (5, 10)})
    >>> space.size, [item.rrf_k for item in space]
    (4, [5, 5, 60, 60])
    """

    base: Settings
    choices: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    spans: Mapping[str, Span] = field(default_factory=dict)
    when: Mapping[str, tuple[Condition, ...]] = field(default_factory=dict)
    _order: tuple[str, ...] = field(init=False, repr=False, compare=False, default=())

    def __post_init__(self) -> None:
        for name in ("choices", "spans", "when"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        object.__setattr__(self, "_order", self._sorted())

    @property
    def knobs(self) -> tuple[str, ...]:
        """The knobs of the space, those that others depend on before these."""
        return self._order

    @property
    def size(self) -> int | None:
        """Number of combinations, computed without building them; ``None`` if they are endless.

        With conditions on knobs that have more than a million combinations among themselves, the
        number that there would be without conditions.
        """
        counts = self._counts()
        if counts is None:
            return None
        plain = math.prod(counts.values())
        asked = {one.knob for conditions in self.when.values() for one in conditions}
        parents = [name for name in self._order if name in asked]
        if not parents or math.prod(counts[name] for name in parents) > 1_000_000:
            return plain
        rest = [name for name in self._order if name not in asked]
        return sum(
            math.prod(counts[n] if self._applies(n, values) else 1 for n in rest)
            for values in self._walk(parents)
        )

    def __iter__(self) -> Iterator[Settings]:
        """Yield every combination, each once, the last knob changing fastest."""
        if self._counts() is None:
            raise ValueError(f"a span has no list of values: {', '.join(self.spans)}")
        for values in self._walk(self._order):
            yield self.base.with_values(values)

    def __contains__(self, settings: Settings) -> bool:
        """Return whether some settings are a combination of this space."""
        values = {name: settings.get(name) for name in self._order}
        if self._holds(values, settings):
            return True
        # A depth that equals the limit is known as `limit`, however it was typed.
        deep = {**values, "depth": settings.effective_depth}
        return "depth" in self._order and self._holds(deep, settings)

    def _holds(self, values: Mapping[str, Value], settings: Settings) -> bool:
        possible = all(
            values[name] in (self.spans[name] if name in self.spans else self.choices[name])
            for name in self._order
            if self._applies(name, values)
        )
        return possible and self.settings(values) == settings

    def settings(self, values: Mapping[str, Value]) -> Settings:
        """Return settings with one value per knob, the base's where a condition fails."""
        kept: dict[str, Value] = {}
        for name in self._order:
            if self._applies(name, kept):
                kept[name] = values[name]
        return self.base.with_values(kept)

    def line(self, name: str, through: Settings) -> list[Settings]:
        """Return the settings that differ from ``through`` in one knob, over its values here."""
        return [through.with_values({name: value}) for value in self.choices.get(name, ())]

    def values(self, name: str) -> tuple[Value, ...]:
        """Return a knob's values; of a span, the ends and what stands beside it."""
        if name in self.spans:
            span = self.spans[name]
            ends = (int(span.low), int(span.high)) if span.integer else (span.low, span.high)
            return (*ends, *span.also)
        return self.choices.get(name, (self.base.get(name),))

    def _listed(self, name: str) -> tuple[Value, ...]:
        if name in self.spans:
            return _listed(self.spans[name]) or ()
        return self.choices[name]

    def _counts(self) -> dict[str, int] | None:
        """Return how many values each knob has; ``None`` if one has no end of them."""
        if any(_listed(span) is None for span in self.spans.values()):
            return None
        return {name: len(self._listed(name)) for name in self._order}

    def _applies(self, name: str, values: Mapping[str, Value]) -> bool:
        return all(
            one.holds(values[one.knob] if one.knob in values else self.base.get(one.knob))
            for one in self.when.get(name, ())
        )

    def _walk(self, names: Sequence[str]) -> Iterator[dict[str, Value]]:
        """Yield the values of some knobs, those left out whose condition fails."""
        stack: list[tuple[int, dict[str, Value]]] = [(0, {})]
        while stack:
            place, values = stack.pop()
            if place == len(names):
                yield values
                continue
            name = names[place]
            if not self._applies(name, values):
                stack.append((place + 1, values))
                continue
            for value in reversed(self._listed(name)):
                stack.append((place + 1, {**values, name: value}))

    def _sorted(self) -> tuple[str, ...]:
        """Return the knobs in typed order, but none before one that it depends on."""
        waiting = [*self.choices, *self.spans]
        order: list[str] = []
        while waiting:
            ready = next(
                (n for n in waiting if not any(c.knob in waiting for c in self.when.get(n, ()))),
                None,
            )
            if ready is None:
                raise ValueError(f"conditions go round in a circle: {', '.join(waiting)}")
            waiting.remove(ready)
            order.append(ready)
        return tuple(order)


def significant(number: float) -> float:
    """Return a number rounded to what a person types: six significant digits."""
    return float(f"{number:.{_DIGITS}g}")


def plainest(settings: Settings, channels: Sequence[str]) -> Settings:
    """Return the plainest settings that rank every pool of some channels identically.

    What cannot matter is set back: the floor without a vector channel, decay where documents alone
    are searched, a class's budget and weights that are those of all questions, ``rrf_k`` and the
    weight of a lone channel without decay, a power of two that all weights share. Two settings with
    the same plainest form are one.

    Parameters
    ----------
    settings
        Any.
    channels
        Names of the pool's channels, in fusion order.
    """
    routing = {name: v for name, v in settings.routing.items() if not _repeats(settings, name, v)}
    if len(routing) < len(settings.routing):
        settings = replace(settings, routing=routing)
    values: dict[str, Value] = {}
    each = [settings, *(settings.for_class(name) for name in settings.classes)]
    active = [name for name in channels if any(item.weight(name) > 0 for item in each)]
    if VECTOR not in active:
        values["min_similarity"] = None
    if settings.stores == "document":
        values["recency_half_life_days"] = 0.0
    # A multiplied score may round or underflow otherwise: nothing is scaled then.
    multiplied = values.get("recency_half_life_days", settings.recency_half_life_days) != 0
    multiplied |= settings.prior is not None
    if not multiplied and len(active) < 2:
        values["rrf_k"] = knob("rrf_k").parse(60)
        if len(each) == 1:
            values.update({f"weights.{name}": 1.0 for name in active})
    elif not multiplied and len(each) == 1:
        fraction, exponent = math.frexp(settings.weight(active[0]))
        if fraction == 0.5 and exponent != 1 and abs(exponent) < 100:
            scaled = {name: math.ldexp(settings.weight(name), 1 - exponent) for name in active}
            if all(1e-300 < weight < 1e300 for weight in scaled.values()):
                values.update({f"weights.{name}": weight for name, weight in scaled.items()})
    changes = {name: value for name, value in values.items() if settings.get(name) != value}
    return settings.with_values(changes) if changes else settings


def _repeats(settings: Settings, name: str, value: Value) -> bool:
    """Return whether a class's knob has the value that holds without it."""
    if name.endswith(".budget"):
        return value is not None and int(value) >= settings.limit
    return value == settings.get(f"weights.{name.rpartition('weights.')[2]}")
