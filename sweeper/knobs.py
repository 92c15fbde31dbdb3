"""Knobs and settings: domains, canonical text, identity.

A *knob* is one tunable with its domain. *Settings* are one full assignment of all knobs. Values
that a person typed keep their meaning as decimals: 0.1 stays 0.1 in every file and id. Which
settings a sweep tries is in ``spaces``.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

from sweeper.errors import did_you_mean

__all__ = ["CAPTURE_PREFIX", "KNOBS", "Knob", "Origin", "Settings", "Value", "knob"]

Value: TypeAlias = int | float | str | None
"""A knob's value. ``None`` means that the knob is not applied (no floor, depth follows limit)."""

CAPTURE_PREFIX = "engine."
"""Begins the names of knobs that decide what is retrieved, such as ``engine.lexical.match``."""


@dataclass(frozen=True, slots=True)
class Knob:
    """One tunable.

    ``null`` is the word for the value ``None`` and ``zero`` the word for 0, where the knob has one.
    ``domain`` completes the sentence "must be ..."; ``most`` bounds an integer besides. A knob with
    ``words`` takes one of these instead of a number. A ``free`` knob takes whatever its key in the
    config takes; a list or a mapping is known by its JSON text.
    """

    name: str
    domain: str
    contains: Callable[[float], bool] = lambda number: False
    words: tuple[str, ...] = ()
    free: bool = False
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
        if self.free:
            return _free(raw)
        if self.words:
            word = raw.strip().lower() if isinstance(raw, str) else ""
            if word not in self.words:
                raise self._refuse(typed)
            return word
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
        if isinstance(value, str):
            return value
        if value == 0 and self.zero is not None:
            return self.zero
        return _number_text(value)

    def sort_key(self, value: Value) -> tuple[int, float, str]:
        """Order values as an axis does: the unset one first, a half-life that is off last.

        Off is an infinitely long half-life: 7300 days are nearer to it than 7. Words come last.
        """
        if value is None:
            return (0, 0.0, "")
        if isinstance(value, str):
            place = self.words.index(value) if value in self.words else 0
            return (2, float(place), value)
        return (1, math.inf if value == 0 and self.zero is not None else float(value), "")

    def _refuse(self, raw: object) -> ValueError:
        return ValueError(f"must be {self.domain}, got {_shown(raw)}.")


_INTEGER = re.compile(r"[+-]?\d+")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?")


def _free(raw: object) -> Value:
    """Return a value of any shape: numbers and words as they are, the rest as JSON."""
    if raw is None or (isinstance(raw, int | float) and not isinstance(raw, bool)):
        return raw
    if isinstance(raw, str):
        return raw
    return json.dumps(raw, sort_keys=True, ensure_ascii=False)


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
            Knob(
                "stores",
                "all, document or memory",
                words=("all", "document", "memory"),
                label="stores searched",
            ),
        )
    }
)
"""Knobs with a fixed name. A channel weight is ``weights.<channel>``, a knob that decides what is
retrieved is ``engine.<key of the config>``; see :func:`knob`.
"""

_WEIGHT_PREFIX = "weights."


def knob(name: str) -> Knob:
    """Return a knob by name, also ``weights.vector`` and ``engine.lexical.match``.

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
    key = name.removeprefix(CAPTURE_PREFIX)
    if key != name and key:
        return Knob(name, "a value of this key", free=True, null="config", label=_said(key))
    known = [*KNOBS, _WEIGHT_PREFIX + "vector", _WEIGHT_PREFIX + "lexical", "engine.chunking"]
    raise KeyError(f'unknown knob "{name}". {did_you_mean(name, known)}')


def _said(key: str) -> str:
    """Return a key as words: `embedder.dimensions` is "embedder dimensions"."""
    return key.removesuffix(".kind").replace(".", " ").replace("_", " ")


class Origin(NamedTuple):
    """Which candidates settings rank: what was captured, the stores in scope, and how deep.

    ``captured`` is the text of the knobs that decide what is retrieved; empty where there are none.
    """

    captured: str
    stores: str
    depth: int


@dataclass(frozen=True, slots=True)
class Settings:
    """One full assignment of the ranking knobs (``semantics`` §1).

    ``depth`` ``None`` follows ``limit``. ``stores`` is ``all``, or the one store to search.
    ``weights`` holds only channels whose weight is not 1; equal rankings therefore compare equal.
    ``capture`` holds knobs that decide what is retrieved; empty where the config alone decides.
    Values are validated on construction.

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
    stores: str = "all"
    capture: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    text: str = field(init=False, compare=False, repr=False, default="")
    """Canonical text; two spellings of one setting have the same."""

    def __post_init__(self) -> None:
        for name in KNOBS:
            given = getattr(self, name)
            try:
                plain = isinstance(given, str | int | float | None)
                parsed = _parsed(name, given) if plain else KNOBS[name].parse(given)
                object.__setattr__(self, name, parsed)
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
        object.__setattr__(self, "capture", MappingProxyType(dict(sorted(self.capture.items()))))
        text = " ".join(_said_so(name, value) for name, value in self.as_dict().items())
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

    @property
    def origin(self) -> Origin:
        """Which candidates these settings rank."""
        return Origin(
            " ".join(f"{name}={knob(name).format(v)}" for name, v in self.capture.items()),
            self.stores,
            self.effective_depth,
        )

    def weight(self, channel: str) -> float:
        return self.weights.get(channel, 1.0)

    def get(self, name: str) -> Value:
        """Return one knob's value by its name, also ``weights.<channel>`` and ``engine.<key>``."""
        if name.startswith(CAPTURE_PREFIX):
            return self.capture.get(name)
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
        plain: dict[str, Any] = {}
        weights, capture = dict(self.weights), dict(self.capture)
        for name, value in values.items():
            if name.startswith(CAPTURE_PREFIX):
                capture[name] = value
            elif name.startswith(_WEIGHT_PREFIX):
                weights[name.removeprefix(_WEIGHT_PREFIX)] = float(value or 0.0)
            else:
                plain[name] = value
        return replace(self, **plain, weights=weights, capture=capture)

    def as_dict(self) -> dict[str, Value]:
        """Return knob name to value.

        Fixed knobs come first (``stores`` where it is not ``all``), then weights that are not 1,
        then knobs that decide what is retrieved.
        """
        values: dict[str, Value] = {name: getattr(self, name) for name in KNOBS}
        if self.depth == self.limit:
            values["depth"] = None  # the same ranking under another spelling
        if self.stores == "all":
            del values["stores"]
        values.update({_WEIGHT_PREFIX + name: w for name, w in self.weights.items()})
        values.update(self.capture)
        return values

    @property
    def trial_id(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of the canonical text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


# A sweep has many settings of few values. Typed, because True equals 1 and is refused.
@functools.lru_cache(maxsize=1 << 16, typed=True)
def _parsed(name: str, value: Value) -> Value:
    return KNOBS[name].parse(value)


@functools.lru_cache(maxsize=1 << 16, typed=True)
def _said_so(name: str, value: Value) -> str:
    return f"{name}={knob(name).format(value)}"


def _settings_from(values: Mapping[str, Value]) -> Settings:
    return Settings().with_values(values)
