"""Knobs: what can be tuned, its domain, and one text for one value.

Values that a person typed keep their meaning as decimals: 0.1 stays 0.1 in every file and id. One
full assignment of all knobs is in ``settings``.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias

from sweeper.errors import did_you_mean
from sweeper.golden import CLASS_NAME

__all__ = [
    "CAPTURE_PREFIX",
    "KNOBS",
    "PRIOR_DEFAULTS",
    "PRIOR_KNOBS",
    "ROUTING",
    "TRIPLES",
    "UNSET",
    "WEIGHT_PREFIX",
    "Knob",
    "Value",
    "channel_of",
    "knob",
    "knob_name",
]

Value: TypeAlias = int | float | str | None
"""A knob's value. ``None`` means that the knob is not applied (no floor, depth follows limit)."""

CAPTURE_PREFIX = "engine."
"""Begins the names of knobs that decide what is retrieved, such as ``engine.lexical.match``."""

UNSET = "-"
"""Stands for the value of a class's knob where the class has none of its own."""

TRIPLES = "triples"
"""The channel that typed facts rank; its weight is *safe* unless a number is given."""


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

    @property
    def apart(self) -> str:
        """The word for the value that stands apart from the axis of a curve: off, none, or 0."""
        return self.zero or ("0" if self.null in (None, "safe") else self.null)

    def parse(self, raw: object) -> Value:
        """Return the value that a person meant.

        Raises
        ------
        ValueError
            With the sentence "must be ..., got ..." for anything outside the domain.
        """
        typed = raw
        if self.free:
            default = raw == self.null and not self.name.startswith(CAPTURE_PREFIX)
            return None if default else _free(raw)
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
"""Knobs with a fixed name that every setting has. The others are ``weights.<channel>``,
``routing.<class>.budget`` and ``routing.<class>.weights.<channel>``, those of ``PRIOR_KNOBS``, and
``engine.<key of the config>``, which decide what is retrieved; see ``knob``.
"""

PRIOR_KNOBS: Mapping[str, Knob] = MappingProxyType(
    {
        item.name: item
        for item in (
            Knob(
                "prior.strength",
                "a finite number of at least 0",
                lambda number: number >= 0,
                label="strength of the usefulness prior",
            ),
            Knob(
                "prior.cap",
                "a finite number of at least 1",
                lambda number: number >= 1,
                label="cap of the usefulness prior",
            ),
            Knob(
                "prior.half_life_days",
                "a finite number of days of at least 0 (`off` is 0)",
                lambda number: number >= 0,
                zero="off",
                log_scale=True,
                label="half-life of usage",
                unit="days",
            ),
            Knob(
                "prior.interactions",
                "`all` or an integer of at least 0",
                lambda number: number >= 0,
                integer=True,
                most=2**53,
                null="all",
                label="interactions learned from",
            ),
            Knob(
                "prior.log",
                "the name of a usage log",
                free=True,
                null="first",
                label="usage log",
            ),
        )
    }
)
"""Knobs of the usefulness prior. Without strength the others do not matter and are not written."""

PRIOR_DEFAULTS: Mapping[str, Value] = MappingProxyType(
    {
        "prior.strength": 0.0,
        "prior.cap": 2.0,
        "prior.half_life_days": 0.0,
        "prior.interactions": None,
        "prior.log": None,
    }
)
"""The values that the prior's knobs have unless they are set."""

WEIGHT_PREFIX = "weights."
"""Begins the names of channel weights, and those of a class within ``routing.<class>.``."""

_CLASS = re.compile(rf"routing\.(?P<of>{CLASS_NAME.pattern})")
ROUTING = re.compile(_CLASS.pattern + r"\.(?:budget|weights\.(?P<channel>.+))")
"""Matches the names of knobs of question classes; groups ``of`` and, for a weight, ``channel``."""


def knob_name(name: str) -> str:
    """Return a knob's name as this package writes it: ``triples_weight`` is ``weights.triples``."""
    head, dot, last = name.rpartition(".")
    if last == "triples_weight" and (not dot or _CLASS.fullmatch(head)):
        return f"{head}{dot}{WEIGHT_PREFIX}{TRIPLES}"
    return name


def channel_of(name: str) -> str | None:
    """Return the channel whose weight a knob is, of all questions or of a class."""
    if name.startswith(WEIGHT_PREFIX):
        return name.removeprefix(WEIGHT_PREFIX)
    routed = ROUTING.fullmatch(name)
    return None if routed is None else routed["channel"]


# Parsing and writing settings asks for the same few knobs again and again.
@functools.lru_cache(maxsize=1024)
def knob(name: str) -> Knob:
    """Return a knob by name, also ``weights.vector``, ``routing.lookup.budget``, ``engine.match``.

    Raises
    ------
    KeyError
        With a sentence that names the closest knob.
    """
    if name in KNOBS:
        return KNOBS[name]
    if name in PRIOR_KNOBS:
        return PRIOR_KNOBS[name]
    channel = name.removeprefix(WEIGHT_PREFIX)
    if channel != name and channel:
        return _weight_knob(name, channel, f"weight of the {channel} channel")
    routed = ROUTING.fullmatch(name)
    if routed is not None:
        of, channel = routed["of"], routed["channel"]
        if channel:
            return _weight_knob(name, channel, f"weight of the {channel} channel, {of} questions")
        return Knob(
            name,
            "`limit` or an integer of at least 1",
            lambda number: number >= 1,
            integer=True,
            most=2**31 - 1,
            null="limit",
            label=f"budget of {of} questions",
            unit="rows",
        )
    key = name.removeprefix(CAPTURE_PREFIX)
    if key != name and key:
        return Knob(name, "a value of this key", free=True, null="config", label=_said(key))
    known = [*KNOBS, *PRIOR_KNOBS, WEIGHT_PREFIX + "vector", WEIGHT_PREFIX + "lexical"]
    known += ["engine.chunking", "triples_weight", "routing.lookup.budget"]
    known += ["routing.lookup.weights.vector", "routing.lookup.triples_weight"]
    raise KeyError(f'unknown knob "{name}". {did_you_mean(name, known)}')


def _weight_knob(name: str, channel: str, label: str) -> Knob:
    safe = channel == TRIPLES
    return Knob(
        name,
        "`safe` or a finite number of at least 0" if safe else "a finite number of at least 0",
        lambda number: number >= 0,
        null="safe" if safe else None,
        label=label,
    )


def _said(key: str) -> str:
    """Return a key as words: `embedder.dimensions` is "embedder dimensions"."""
    return key.removesuffix(".kind").replace(".", " ").replace("_", " ")
