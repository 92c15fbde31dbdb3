"""Knobs, settings and search spaces: domains, canonical text, identity.

A *knob* is one tunable with its domain. *Settings* are one full assignment of all knobs. A *search
space* lists the values that a sweep tries per knob; their product is the grid. Values that a person
typed keep their meaning as decimals: 0.1 stays 0.1 in every file and id.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, TypeAlias

from sweeper.errors import did_you_mean

__all__ = ["KNOBS", "Knob", "SearchSpace", "Settings", "Trial", "Value", "knob"]

Value: TypeAlias = int | float | None
"""A knob's value. ``None`` means that the knob is not applied (no floor, depth follows limit)."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One tunable.

    ``null`` is the word for the value ``None`` and ``zero`` the word for 0, where the knob has one.
    ``domain`` completes the sentence "must be ..."; ``most`` bounds an integer besides.
    """

    name: str
    domain: str
    contains: Callable[[float], bool]
    integer: bool = False
    most: int | None = None
    null: str | None = None
    zero: str | None = None
    log_scale: bool = False
    label: str = ""
    unit: str = ""

    def parse(self, raw: object) -> Value:
        """Return the value that a person meant.

        Raises
        ------
        ValueError
            With the sentence "must be ..., got ..." for anything outside the domain.
        """
        typed = raw
        if isinstance(raw, str):
            word = raw.strip().lower()
            if self.null is not None and word in {self.null, "null"}:
                return None
            if self.zero is not None and word == self.zero:
                return 0.0
            if not _NUMBER.fullmatch(word):
                raise self._refuse(typed)
            raw = int(word) if len(word) < 400 and _INTEGER.fullmatch(word) else float(word)
        if raw is None and self.null is not None:
            return None
        if isinstance(raw, bool) or not isinstance(raw, int | float):
            raise self._refuse(typed)
        if self.most is not None and raw > self.most:
            raise ValueError(f"must be at most {self.most}, got {_shown(typed)}.")
        try:
            number = float(raw)
        except OverflowError:
            raise self._refuse(typed) from None
        if not math.isfinite(number) or not self.contains(raw):
            raise self._refuse(typed)
        if self.integer:
            if number != int(number):
                raise self._refuse(typed)
            return int(raw)
        return number + 0.0  # -0.0 is 0

    def format(self, value: Value) -> str:
        """Return the canonical text of a value: what a person would type.

        Examples
        --------
        >>> KNOBS["recency_half_life_days"].format(30.0), KNOBS["min_similarity"].format(None)
        ('30', 'none')
        """
        if value is None:
            return self.null or "none"
        if value == 0 and self.zero is not None:
            return self.zero
        return _number_text(value)

    def sort_key(self, value: Value) -> tuple[bool, float]:
        """Order values as an axis does: the unset one first, a half-life that is off last.

        Off is an infinitely long half-life: 7300 days are nearer to it than 7.
        """
        if value == 0 and self.zero is not None:
            return (True, math.inf)
        return (value is not None, 0.0 if value is None else float(value))

    def _refuse(self, raw: object) -> ValueError:
        return ValueError(f"must be {self.domain}, got {_shown(raw)}.")


_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")


def _shown(raw: object) -> str:
    if raw is None:
        return "null"
    if isinstance(raw, bool):
        return "true" if raw else "false"
    text = repr(raw) if isinstance(raw, str) else str(raw)
    return text if len(text) <= 60 else text[:57] + "..."


def _number_text(value: float) -> str:
    number = float(value)
    if number == int(number) and abs(number) < 1e15:
        return str(int(number))
    return repr(number)


_HALF_LIFE = Knob(
    "recency_half_life_days",
    "a finite number of days of at least 0 (`off` is 0)",
    lambda number: number >= 0,
    zero="off",
    log_scale=True,
    label="recency half-life",
    unit="days",
)

KNOBS: Mapping[str, Knob] = MappingProxyType(
    {
        item.name: item
        for item in (
            Knob(
                "rrf_k",
                "an integer of at least 1",
                lambda number: number >= 1,
                integer=True,
                most=2**53,
                log_scale=True,
                label="rrf_k",
            ),
            Knob(
                "min_similarity",
                "`none` or a cosine from -1 to 1",
                lambda number: -1 <= number <= 1,
                null="none",
                label="minimum similarity",
                unit="cosine",
            ),
            _HALF_LIFE,
            Knob(
                "limit",
                "an integer of at least 1",
                lambda number: number >= 1,
                integer=True,
                most=2**31 - 1,
                label="limit",
                unit="rows",
            ),
            Knob(
                "depth",
                "`limit` or an integer of at least 1",
                lambda number: number >= 1,
                integer=True,
                most=2**31 - 1,
                null="limit",
                label="depth",
                unit="rows per channel and store",
            ),
        )
    }
)
"""Knobs with a fixed name. A channel weight is ``weights.<channel>``; see :func:`knob`."""

_WEIGHT_PREFIX = "weights."


def knob(name: str) -> Knob:
    """Return a knob by name, also a channel weight such as ``weights.vector``.

    Raises
    ------
    KeyError
        With a sentence that names the closest knob.
    """
    if name in KNOBS:
        return KNOBS[name]
    channel = name.removeprefix(_WEIGHT_PREFIX)
    if channel != name and channel:
        return Knob(
            name,
            "a finite number of at least 0",
            lambda number: number >= 0,
            label=f"weight of the {channel} channel",
        )
    known = [*KNOBS, _WEIGHT_PREFIX + "vector", _WEIGHT_PREFIX + "lexical"]
    raise KeyError(f'unknown knob "{name}". {did_you_mean(name, known)}')


@dataclass(frozen=True, slots=True)
class Settings:
    """One full assignment of the ranking knobs (``semantics`` §1).

    ``depth`` ``None`` follows ``limit``. ``weights`` holds only channels whose weight is not 1;
    equal rankings therefore compare equal. Values are validated on construction.

    Examples
    --------
    >>> Settings(recency_half_life_days=30).text
    'rrf_k=60 min_similarity=none recency_half_life_days=30 limit=10 depth=limit'
    """

    rrf_k: int = 60
    min_similarity: float | None = None
    recency_half_life_days: float = 0.0
    limit: int = 10
    depth: int | None = None
    weights: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    text: str = field(init=False, compare=False, repr=False, default="")
    """Canonical text; two spellings of one setting have the same."""

    def __post_init__(self) -> None:
        for name, domain in KNOBS.items():
            try:
                object.__setattr__(self, name, domain.parse(getattr(self, name)))
            except ValueError as error:
                raise ValueError(f"{name}: {error}") from None
        cleaned: dict[str, float] = {}
        for channel, weight in sorted(self.weights.items()):
            try:
                value = knob(_WEIGHT_PREFIX + channel).parse(weight)
            except ValueError as error:
                raise ValueError(f"{_WEIGHT_PREFIX}{channel}: {error}") from None
            if value != 1:
                cleaned[channel] = float(value or 0.0)
        object.__setattr__(self, "weights", MappingProxyType(cleaned))
        text = " ".join(f"{n}={knob(n).format(v)}" for n, v in self.as_dict().items())
        object.__setattr__(self, "text", text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(
        self,
    ) -> tuple[Callable[[Mapping[str, Value]], Settings], tuple[dict[str, Value]]]:
        return _settings_from, (self.as_dict(),)

    @property
    def effective_depth(self) -> int:
        """Rows taken per channel and store: ``depth``, or ``limit`` unless it is set."""
        return self.limit if self.depth is None else self.depth

    def weight(self, channel: str) -> float:
        return self.weights.get(channel, 1.0)

    def get(self, name: str) -> Value:
        """Return one knob's value by its name, also ``weights.<channel>``."""
        if name.startswith(_WEIGHT_PREFIX):
            return self.weight(name.removeprefix(_WEIGHT_PREFIX))
        if name not in KNOBS:
            raise KeyError(knob(name).name)
        if name == "depth" and self.depth == self.limit:
            return None  # the same ranking under another spelling
        value: Value = getattr(self, name)
        return value

    def with_values(self, values: Mapping[str, Value]) -> Settings:
        """Return these settings with some knobs changed."""
        plain = {name: v for name, v in values.items() if not name.startswith(_WEIGHT_PREFIX)}
        weights = dict(self.weights)
        for name, value in values.items():
            if name.startswith(_WEIGHT_PREFIX):
                weights[name.removeprefix(_WEIGHT_PREFIX)] = 0.0 if value is None else float(value)
        changes: dict[str, Any] = {**plain, "weights": weights}
        return replace(self, **changes)

    def as_dict(self) -> dict[str, Value]:
        """Return knob name to value, fixed knobs first, then weights that are not 1."""
        values: dict[str, Value] = {name: self.get(name) for name in KNOBS}
        values.update({_WEIGHT_PREFIX + name: w for name, w in self.weights.items()})
        return values

    @property
    def trial_id(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of the canonical text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


def _settings_from(values: Mapping[str, Value]) -> Settings:
    return Settings().with_values(values)


@dataclass(frozen=True, slots=True)
class Trial:
    """One planned settings and its part in the sweep.

    ``in_space`` is a combination of the space, ``on_line`` one of the printed table (the table's
    knob through the current setting).
    """

    number: int
    settings: Settings
    in_space: bool
    on_line: bool
    is_current: bool

    @property
    def trial_id(self) -> str:
        return self.settings.trial_id


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """The values that a sweep tries per knob; every combination is one trial.

    Parameters
    ----------
    base
        Gives the knobs that the space does not name.
    choices
        Knob name to distinct values, in the order in which they were typed.
    """

    base: Settings
    choices: Mapping[str, tuple[Value, ...]]

    @property
    def size(self) -> int:
        """Number of combinations, computed without building them."""
        return math.prod(len(values) for values in self.choices.values())

    def __iter__(self) -> Iterator[Settings]:
        names = list(self.choices)
        for combination in itertools.product(*self.choices.values()):
            yield self.base.with_values(dict(zip(names, combination, strict=True)))

    def line(self, name: str, through: Settings) -> list[Settings]:
        """Return the settings that differ from ``through`` in one knob, over its values here."""
        return [through.with_values({name: value}) for value in self.choices.get(name, ())]
