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

__all__ = [
    "CAPTURE_PREFIX",
    "KNOBS",
    "PRIOR_KNOBS",
    "TRIPLES",
    "UNSET",
    "Knob",
    "Origin",
    "Prior",
    "Settings",
    "Value",
    "knob",
    "knob_name",
    "safe_triples_weight",
]

Value: TypeAlias = int | float | str | None
"""A knob's value. ``None`` means that the knob is not applied (no floor, depth follows limit)."""

CAPTURE_PREFIX = "engine."
"""Begins the names of knobs that decide what is retrieved, such as ``engine.lexical.match``."""

UNSET = "-"
"""Stands for the value of a knob that has none: a class has none of its own, the prior is off."""

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
``engine.<key of the config>``, which decide what is retrieved; see :func:`knob`.
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

_PRIOR_DEFAULTS: Mapping[str, Value] = MappingProxyType(
    {
        "prior.strength": 0.0,
        "prior.cap": 2.0,
        "prior.half_life_days": 0.0,
        "prior.interactions": None,
        "prior.log": None,
    }
)
_WEIGHT_PREFIX = "weights."
_CLASS = re.compile(r"routing\.(?P<of>[A-Za-z0-9_-]+)")
_ROUTING = re.compile(_CLASS.pattern + r"\.(?:budget|weights\.(?P<channel>.+))")
_SAFE_SHARE = 0.99


def knob_name(name: str) -> str:
    """Return a knob's name as this package writes it: ``triples_weight`` is ``weights.triples``."""
    head, dot, last = name.rpartition(".")
    if last == "triples_weight" and (not dot or _CLASS.fullmatch(head)):
        return f"{head}{dot}{_WEIGHT_PREFIX}{TRIPLES}"
    return name


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
    channel = name.removeprefix(_WEIGHT_PREFIX)
    if channel != name and channel:
        return _weight_knob(name, channel, f"weight of the {channel} channel")
    routed = _ROUTING.fullmatch(name)
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
    known = [*KNOBS, *PRIOR_KNOBS, _WEIGHT_PREFIX + "vector", _WEIGHT_PREFIX + "lexical"]
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


def safe_triples_weight(rrf_k: int, lightest: float) -> float:
    """Return a weight with which one triple cannot swap two neighbours in a channel's first ten.

    The closest of these neighbours, ranks 9 and 10, are ``lightest / ((k + 9) (k + 10))`` apart,
    and a triple adds at most ``weight / (k + 1)``. At equality rounding may decide, so the weight
    stays a hundredth below.

    Parameters
    ----------
    rrf_k
        The constant of reciprocal rank fusion.
    lightest
        The smallest positive weight of the other channels.

    Examples
    --------
    >>> round(safe_triples_weight(60, 1.0), 5)
    0.0125
    """
    return _SAFE_SHARE * lightest * (rrf_k + 1) / ((rrf_k + 9) * (rrf_k + 10))


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


class Prior(NamedTuple):
    """How much past usage counts: see ``prior``.

    ``interactions`` ``None`` learns from all, ``log`` ``None`` from the first log.
    """

    strength: float
    cap: float
    half_life_days: float
    interactions: int | None
    log: str | None


@dataclass(frozen=True, slots=True)
class Settings:
    """One full assignment of the ranking knobs (``semantics`` §1).

    ``depth`` ``None`` follows ``limit``. ``stores`` is ``all``, or the one store to search.
    ``weights`` holds only channels whose weight is not 1 (triples: not safe); equal rankings
    therefore compare equal. ``capture`` holds knobs that decide what is retrieved, empty where the
    config alone decides. ``routing`` holds those of question classes and ``usage`` those of the
    usefulness prior that are not at their defaults, both by their full names.
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
    routing: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
    usage: Mapping[str, Value] = field(default_factory=lambda: MappingProxyType({}))
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
            if value is not None and (value != 1 or channel == TRIPLES):
                cleaned[channel] = float(value)
        object.__setattr__(self, "weights", MappingProxyType(cleaned))
        routing = _checked(self.routing, lambda name: _ROUTING.fullmatch(name) is not None)
        routing = {n: v for n, v in routing.items() if v is not None or not n.endswith(".budget")}
        object.__setattr__(self, "routing", MappingProxyType(routing))
        usage = _checked(self.usage, lambda name: name in PRIOR_KNOBS)
        usage = {name: v for name, v in usage.items() if v != _PRIOR_DEFAULTS[name]}
        object.__setattr__(self, "usage", MappingProxyType(usage))
        object.__setattr__(self, "capture", MappingProxyType(dict(sorted(self.capture.items()))))
        text = " ".join(_said_so(name, value) for name, value in self.as_dict().items())
        object.__setattr__(self, "text", text)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Settings) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __reduce__(self) -> tuple[Callable[..., Settings], tuple[Any, ...]]:
        """Keep what the text leaves out too: a depth equal to the limit, a prior that is off."""
        fixed = (*(getattr(self, name) for name in KNOBS if name != "stores"), dict(self.weights))
        named = (self.stores, dict(self.capture), dict(self.routing), dict(self.usage))
        return Settings, (*fixed, *named)

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
        """Return a channel's weight; that of triples is safe unless it was given.

        The weight of triples is safe beside every other channel that is switched on, vector and
        lexical and those that were given a weight.
        """
        if channel != TRIPLES or channel in self.weights:
            return self.weights.get(channel, 1.0)
        others = {"vector": 1.0, "lexical": 1.0, **self.weights}
        lightest = min((weight for weight in others.values() if weight > 0), default=1.0)
        return safe_triples_weight(self.rrf_k, lightest)

    @property
    def prior(self) -> Prior | None:
        """How past usage counts; ``None`` where it does not."""
        values = {**_PRIOR_DEFAULTS, **self.usage}
        prior = Prior(*values.values())  # type: ignore[arg-type]
        return prior if prior.strength > 0 and prior.cap > 1 else None

    @property
    def classes(self) -> tuple[str, ...]:
        """Question classes that have a budget or weights of their own."""
        return tuple(dict.fromkeys(name.split(".")[1] for name in self.routing))

    def for_class(self, query_class: str | None) -> Settings:
        """Return the settings for questions of one class, without routing.

        A budget cuts what is returned and never changes depth.
        """
        if not self.routing:
            return self
        values: dict[str, Value] = {"depth": self.effective_depth}
        prefix = f"routing.{query_class}."
        for name, value in self.routing.items():
            if query_class is not None and name.startswith(prefix):
                values[name.removeprefix(prefix)] = value
        values.pop("budget", None)
        values["limit"] = self.limit_of(query_class)
        return replace(self, routing={}).with_values(values)

    def limit_of(self, query_class: str | None) -> int:
        """Return how many rows a question of a class returns at most."""
        if query_class is None:
            return self.limit
        budget = self.routing.get(f"routing.{query_class}.budget")
        return self.limit if budget is None else min(self.limit, int(budget))

    def get(self, name: str) -> Value:
        """Return one knob's value by its name, also ``weights.<channel>`` and ``engine.<key>``.

        A class that has no value of its own has that of all questions.
        """
        if name.startswith(CAPTURE_PREFIX):
            return self.capture.get(name)
        if name == _WEIGHT_PREFIX + TRIPLES:
            return self.weights.get(TRIPLES)
        if name.startswith(_WEIGHT_PREFIX):
            return self.weight(name.removeprefix(_WEIGHT_PREFIX))
        if name in PRIOR_KNOBS:
            return self.usage.get(name, _PRIOR_DEFAULTS[name])
        routed = _ROUTING.fullmatch(name)
        if routed is not None and name not in self.routing:
            return self.get(_WEIGHT_PREFIX + routed["channel"]) if routed["channel"] else None
        if routed is not None:
            return self.routing[name]
        if name not in KNOBS:
            raise KeyError(knob(name).name)
        if name == "depth" and self.depth == self.limit:
            return None  # the same ranking under another spelling
        value: Value = getattr(self, name)
        return value

    def on_axis(self, name: str) -> Value:
        """Return where one knob stands on its axis: a safe weight is a number like any other."""
        value = self.get(name)
        if value is None and name.endswith(_WEIGHT_PREFIX + TRIPLES):
            of = name.split(".")[1] if name.startswith("routing.") else None
            return self.for_class(of).weight(TRIPLES)
        return value

    def given(self, name: str) -> Value:
        """Return one knob's own value; ``UNSET`` where it has none, or does not matter."""
        inherits = name.startswith("routing.") and name not in self.routing
        off = "prior.strength" not in self.usage  # a cap of 1 is off too, and has to be told
        idle = name in PRIOR_KNOBS and name != "prior.strength" and off
        return UNSET if inherits or idle else self.get(name)

    def with_values(self, values: Mapping[str, Value]) -> Settings:
        """Return these settings with some knobs changed."""
        plain: dict[str, Any] = {}
        weights: dict[str, Any] = dict(self.weights)
        capture, routing, usage = dict(self.capture), dict(self.routing), dict(self.usage)
        for name, value in values.items():
            if name.startswith(CAPTURE_PREFIX):
                capture[name] = value
            elif name.startswith(_WEIGHT_PREFIX):
                weights[name.removeprefix(_WEIGHT_PREFIX)] = value
            elif name.startswith("routing."):
                routing[name] = value
            elif name in PRIOR_KNOBS:
                usage[name] = value
            else:
                plain[name] = value
        return replace(
            self, **plain, weights=weights, capture=capture, routing=routing, usage=usage
        )

    def as_dict(self) -> dict[str, Value]:
        """Return knob name to value.

        Fixed knobs come first (``stores`` where it is not ``all``), then weights that are not 1,
        then those of question classes, of the usefulness prior, and of what is retrieved.
        """
        values: dict[str, Value] = {name: getattr(self, name) for name in KNOBS}
        if self.depth == self.limit:
            values["depth"] = None  # the same ranking under another spelling
        if self.stores == "all":
            del values["stores"]
        values.update({_WEIGHT_PREFIX + name: w for name, w in self.weights.items()})
        values.update(self.routing)
        if self.prior is not None:
            values.update(self.usage)
        values.update(self.capture)
        return values

    @property
    def trial_id(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of the canonical text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


def _checked(values: Mapping[str, Value], known: Callable[[str], bool]) -> dict[str, Value]:
    """Return values of named knobs, parsed and in order of their names."""
    found: dict[str, Value] = {}
    for name, value in sorted(values.items()):
        if not known(name):
            raise ValueError(f"{name}: {knob(name).name} is no such knob")
        try:
            found[name] = knob(name).parse(value)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    return found


# A sweep has many settings of few values. Typed, because True equals 1 and is refused.
@functools.lru_cache(maxsize=1 << 16, typed=True)
def _parsed(name: str, value: Value) -> Value:
    return KNOBS[name].parse(value)


@functools.lru_cache(maxsize=1 << 16, typed=True)
def _said_so(name: str, value: Value) -> str:
    return f"{name}={knob(name).format(value)}"
