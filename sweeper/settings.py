"""Settings: one full assignment of all knobs, their canonical text and identity.

What a knob may be is in ``knobs``; which settings a sweep tries is in ``spaces``.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple

from sweeper.deploy import ENV_PREFIX, Form, emitted
from sweeper.knobs import (
    CAPTURE_PREFIX,
    KNOBS,
    PRIOR_DEFAULTS,
    PRIOR_KNOBS,
    ROUTING,
    TRIPLES,
    UNSET,
    WEIGHT_PREFIX,
    Value,
    knob,
)

__all__ = ["Origin", "Prior", "Settings", "safe_triples_weight"]

_SAFE_SHARE = 0.99


def safe_triples_weight(rrf_k: int, lightest: float) -> float:
    """Return a weight with which one triple cannot swap two neighbours in a channel's first ten.

    The closest of these neighbours, ranks 9 and 10, are ``lightest / ((k + 9) (k + 10))`` apart,
    and a triple adds at most ``weight / (k + 1)``. At equality rounding may decide, so the weight
    stays a hundredth below. That holds for scores as they are fused: decay and a prior may bring
    neighbours closer.

    Parameters
    ----------
    rrf_k
        The constant of reciprocal rank fusion.
    lightest
        At most the smallest positive weight of the other channels.

    Examples
    --------
    >>> round(safe_triples_weight(60, 1.0), 5)
    0.0125
    """
    return _SAFE_SHARE * lightest * (rrf_k + 1) / ((rrf_k + 9) * (rrf_k + 10))


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
    """One full assignment of the ranking knobs (``docs/semantics.md``).

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
                value = knob(WEIGHT_PREFIX + channel).parse(weight)
            except ValueError as error:
                raise ValueError(f"{WEIGHT_PREFIX}{channel}: {error}") from None
            if value is not None and (value != 1 or channel == TRIPLES):
                cleaned[channel] = float(value)
        object.__setattr__(self, "weights", MappingProxyType(cleaned))
        routing = _checked(self.routing, lambda name: ROUTING.fullmatch(name) is not None)
        routing = {n: v for n, v in routing.items() if v is not None or not n.endswith(".budget")}
        object.__setattr__(self, "routing", MappingProxyType(routing))
        usage = _checked(self.usage, lambda name: name in PRIOR_KNOBS)
        usage = {name: v for name, v in usage.items() if v != PRIOR_DEFAULTS[name]}
        object.__setattr__(self, "usage", MappingProxyType(usage))
        object.__setattr__(self, "capture", MappingProxyType(dict(sorted(self.capture.items()))))
        values = self.as_dict()
        if self.prior is None:  # then its knobs do not matter
            values = {name: value for name, value in values.items() if name not in PRIOR_KNOBS}
        text = " ".join(_said_so(name, value) for name, value in values.items())
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

        The weight of triples is safe beside any channel, whatever its name: those that were given
        no weight have 1.
        """
        if channel != TRIPLES or channel in self.weights:
            return self.weights.get(channel, 1.0)
        return safe_triples_weight(self.rrf_k, _lightest(self.weights))

    def weights_of(self, query_class: str | None, channels: Sequence[str]) -> tuple[float, ...]:
        """Return the weight of each channel for questions of one class."""
        prefix = f"routing.{query_class}.{WEIGHT_PREFIX}"
        own = {
            name.removeprefix(prefix): value
            for name, value in self.routing.items()
            if name.startswith(prefix)
        }
        if query_class is None or not own:
            return tuple(self.weight(channel) for channel in channels)
        given: dict[str, Any] = {**self.weights, **own}
        if given.get(TRIPLES) is None:
            given[TRIPLES] = safe_triples_weight(self.rrf_k, _lightest(given))
        return tuple(float(given.get(channel, 1.0)) for channel in channels)

    @property
    def prior(self) -> Prior | None:
        """How past usage counts; ``None`` where it does not."""
        if not self.usage:
            return None
        values = {**PRIOR_DEFAULTS, **self.usage}
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
        if name == WEIGHT_PREFIX + TRIPLES:
            return self.weights.get(TRIPLES)
        if name.startswith(WEIGHT_PREFIX):
            return self.weight(name.removeprefix(WEIGHT_PREFIX))
        if name in PRIOR_KNOBS:
            return self.usage.get(name, PRIOR_DEFAULTS[name])
        routed = ROUTING.fullmatch(name)
        if routed is not None and name not in self.routing:
            return self.get(WEIGHT_PREFIX + routed["channel"]) if routed["channel"] else None
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
        if value is None and name.endswith(WEIGHT_PREFIX + TRIPLES):
            of = name.split(".")[1] if name.startswith("routing.") else None
            return self.for_class(of).weight(TRIPLES)
        return value

    def given(self, name: str) -> Value:
        """Return one knob's own value; ``UNSET`` where a class has none of its own."""
        inherits = name.startswith("routing.") and name not in self.routing
        return UNSET if inherits else self.get(name)

    def with_values(self, values: Mapping[str, Value]) -> Settings:
        """Return these settings with some knobs changed."""
        plain: dict[str, Any] = {}
        weights: dict[str, Any] = dict(self.weights)
        capture, routing, usage = dict(self.capture), dict(self.routing), dict(self.usage)
        for name, value in values.items():
            if name.startswith(CAPTURE_PREFIX):
                capture[name] = value
            elif name.startswith(WEIGHT_PREFIX):
                weights[name.removeprefix(WEIGHT_PREFIX)] = value
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
        then those of question classes, of the usefulness prior (also while it is off), and of what
        is retrieved.
        """
        values: dict[str, Value] = {name: getattr(self, name) for name in KNOBS}
        if self.depth == self.limit:
            values["depth"] = None  # the same ranking under another spelling
        if self.stores == "all":
            del values["stores"]
        values.update({WEIGHT_PREFIX + name: w for name, w in self.weights.items()})
        values.update(self.routing)
        values.update(self.usage)
        values.update(self.capture)
        return values

    def emit(
        self, form: Form, *, prefix: str = ENV_PREFIX, names: Mapping[str, str] | None = None
    ) -> str:
        """Return the settings in the form that a deployment loads; as ``sweep pick --emit`` does.

        Parameters
        ----------
        form
            ``env``, ``yaml`` (a block ``current`` of a config), ``json``, or ``request``.
        prefix
            Of the variables of ``env``.
        names
            Knob to its name there, such as ``{"rrf_k": "FUSION_K"}``.

        Raises
        ------
        InputError
            If there is no such form or knob.
        """
        return emitted(self, form, prefix=prefix, names=names)

    @property
    def trial_id(self) -> str:
        """The first 12 hexadecimal digits of the SHA-256 of the canonical text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


def _lightest(weights: Mapping[str, float | None]) -> float:
    """Return the smallest positive weight of channels other than triples; at most 1."""
    others = (weight for name, weight in weights.items() if name != TRIPLES)
    return min([1.0, *(weight for weight in others if weight is not None and weight > 0)])


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
