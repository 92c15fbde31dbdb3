"""The usefulness prior: what a usage log says of a page, as a multiplier of its score.

A log holds which pages were offered for a question, in which order, and which of them the reader
cited. ``factors`` turns it into one number per page; ``ranking`` multiplies by it after the decay.
``readers`` makes logs of readers with known habits, to measure what such a prior is worth before
there is a log. Files are read in ``formats.usage``.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sweeper.errors import InputError, did_you_mean
from sweeper.golden import Key
from sweeper.ranking import decay_factors
from sweeper.settings import Prior

__all__ = [
    "PSEUDO_CITES",
    "Interaction",
    "UsageLog",
    "Usefulness",
    "canonical_question",
    "factors",
]

PSEUDO_CITES = 5.0
"""Expected cites that every page is given on top of its own, cited exactly as often as expected.

They draw a page of which little is known towards 1: it keeps ``e / (e + 5)`` of what its cites say,
half of it at five expected cites. If cites are a Poisson count, chance alone moves the ratio of an
ordinary page by ``sqrt(e) / (e + 5)`` (one standard deviation), which is at most
``1 / (2 * sqrt(5))``, or 0.22, however much or little the page was offered.
"""

_DAY_MICROSECONDS = 86_400_000_000
_MICROSECOND = timedelta(microseconds=1)
_RATIOS_KEPT = 256
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_Ints: TypeAlias = npt.NDArray[np.int64]
_Floats: TypeAlias = npt.NDArray[np.float64]


def canonical_question(text: str) -> str:
    """Return a question's text by which repeats are told: casefolded, runs of white space as one.

    Examples
    --------
    >>> canonical_question("Who owns  Heron?") == canonical_question(" who owns heron?")
    True
    """
    return " ".join(text.casefold().split())


@dataclass(frozen=True, slots=True)
class Interaction:
    """One question as somebody asked it, and what became of the answer.

    Attributes
    ----------
    question
        Its text; not blank.
    offered
        Distinct keys of the pages that were shown, the first position first. May be empty.
    cited
        The offered pages that the reader used; distinct.
    at
        When it was asked; aware.
    """

    question: str
    offered: tuple[Key, ...]
    cited: tuple[Key, ...]
    at: datetime

    def __post_init__(self) -> None:
        if not self.question.strip():
            raise ValueError(f"question must be a text, got {self.question!r}")
        for name, keys in (("offered", self.offered), ("cited", self.cited)):
            if len(set(keys)) != len(keys):
                raise ValueError(f"{name} must be distinct pages, got {keys!r}")
        strangers = [key for key in self.cited if key not in self.offered]
        if strangers:
            raise ValueError(f"cited must be offered pages, got {strangers[0]!r}")
        if self.at.tzinfo is None:
            raise ValueError(f"at must be a time with a time zone, got {self.at.isoformat()}")


@dataclass(frozen=True)
class UsageLog:
    """Interactions by time; those of one instant stay in the order in which they were given."""

    interactions: tuple[Interaction, ...] = ()

    def __post_init__(self) -> None:
        ordered = tuple(sorted(self.interactions, key=lambda interaction: interaction.at))
        object.__setattr__(self, "interactions", ordered)

    def __len__(self) -> int:
        return len(self.interactions)

    def first(self, n: int) -> UsageLog:
        """Return the log of the ``n`` earliest interactions.

        Raises
        ------
        ValueError
            Unless ``n`` is a count from 0 to the length of the log.
        """
        return UsageLog(self.interactions[: _count(n, len(self))])

    @cached_property
    def questions(self) -> frozenset[str]:
        """Canonical texts of all questions, to keep them apart from those that judge the prior."""
        return frozenset(canonical_question(each.question) for each in self.interactions)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over the content, independent of file format and time zone."""
        rows = [
            (each.question, each.offered, each.cited, (each.at - _EPOCH) // _MICROSECOND)
            for each in self.interactions
        ]
        text = json.dumps(rows, ensure_ascii=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def _offers(self) -> _Offers:
        return _Offers.of(self.interactions)


@dataclass(frozen=True, slots=True, eq=False)
class _Offers:
    """Every page that was offered, one after another in the order of the log.

    Attributes
    ----------
    keys
        Pages in the order of their first offer.
    start : shape (n_interactions + 1,)
        Where each interaction's offers begin.
    interaction, page, position : shape (n_offers,)
        Whose offer it is, of which of ``keys``, and where it stood, from 0.
    cited : shape (n_offers,)
    at : shape (n_interactions,)
        Microseconds since 1970.
    """

    keys: tuple[Key, ...]
    start: _Ints
    interaction: _Ints
    page: _Ints
    position: _Ints
    cited: npt.NDArray[np.bool_]
    at: _Ints

    def __len__(self) -> int:
        """Return the number of interactions."""
        return len(self.at)

    @classmethod
    def of(cls, interactions: Sequence[Interaction]) -> _Offers:
        numbers: dict[Key, int] = {}
        page = [numbers.setdefault(key, len(numbers)) for i in interactions for key in i.offered]
        cited = [key in i.cited for i in interactions for key in i.offered]
        lengths = np.array([len(i.offered) for i in interactions], np.int64)
        start = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        interaction = np.repeat(np.arange(len(interactions)), lengths)
        return cls(
            keys=tuple(numbers),
            start=start,
            interaction=interaction,
            page=np.array(page, np.int64),
            position=np.arange(len(page)) - start[interaction],
            cited=np.array(cited, np.bool_),
            at=np.array([(each.at - _EPOCH) // _MICROSECOND for each in interactions], np.int64),
        )

    def ratios(self, as_of: datetime, half_life_days: float, n: int | None) -> tuple[float, ...]:
        """Return each page's cites over those expected, in the order of ``keys``.

        Pages that the ``n`` earliest interactions did not offer are left out: they come last.
        """
        n = len(self) if n is None else _count(n, len(self))
        now = (as_of - _EPOCH) // _MICROSECOND
        ages = [(now - at) / _DAY_MICROSECONDS for at in self.at[:n].tolist()]
        weights = decay_factors(np.array(ages, np.float64), half_life_days)
        some = slice(int(self.start[n]))
        page, position, cited = self.page[some], self.position[some], self.cited[some]
        weight = weights[self.interaction[some]]
        rate = np.array(
            [
                cites / offered if offered > 0 else 0.0
                for cites, offered in zip(
                    _sums(position[cited], weight[cited], _size(position)),
                    _sums(position, weight, _size(position)),
                    strict=True,
                )
            ]
        )
        observed = _sums(page[cited], weight[cited], _size(page))
        expected = _sums(page, weight * rate[position], _size(page))
        return tuple(
            (c + PSEUDO_CITES) / (e + PSEUDO_CITES) for c, e in zip(observed, expected, strict=True)
        )


def factors(
    log: UsageLog,
    *,
    as_of: datetime,
    strength: float,
    cap: float,
    half_life_days: float,
    n: int | None = None,
) -> dict[Key, float]:
    """Learn the multiplier of every page that was ever offered: its cites over those expected.

    A page high up is cited more because it is seen more. So a page's cites are compared with what
    its positions alone let expect. An interaction weighs ``w = 2 ** -(age / half_life)``; position
    ``i`` has the rate ``g_i``, weighted cites there over weighted offers there; and a page has::

        observed  c = sum of w over its cites
        expected  e = sum of w * g_i over its offers
        factor      = min(cap, max(1 / cap, ((c + m) / (e + m)) ** strength))

    with ``m = PSEUDO_CITES``. Every sum is rounded once, so the order of the interactions changes
    no bit. With a half-life, a page that is no longer offered drifts back to 1. ``g_i`` is not the
    chance of being looked at: where good pages stand high it also holds their worth, and they gain
    less than they deserve (Chapelle and Zhang).

    Parameters
    ----------
    log
        What was offered and cited.
    as_of
        The instant from which ages count; aware. A later interaction weighs 1.
    strength : finite, at least 0
        Exponent; 0 is off.
    cap : finite, at least 1
        Largest factor; the smallest is ``1 / cap``. 1 is off.
    half_life_days : finite, at least 0
        Age at which an interaction weighs a half; 0 is off: all weigh 1.
    n : count
        Learn from the ``n`` earliest interactions alone; from all if not given.

    Returns
    -------
    dict
        Page to factor. Pages that were never offered are absent and count as 1. Exactly 1.0 for
        all if ``strength`` is 0, ``cap`` is 1, or nothing was cited; empty for an empty log.

    Raises
    ------
    ValueError
        If a number is outside its domain, or ``as_of`` has no time zone.

    References
    ----------
    Zhang, Jones, "Comparing click logs and editorial labels for training query rewriting", workshop
    Query Log Analysis at WWW 2007 (clicks over expected clicks). Chapelle, Zhang, "A dynamic
    Bayesian network click model for web search ranking", WWW 2009, section 2.1 (its bias).

    Examples
    --------
    >>> noon = datetime(2026, 11, 1, 12, tzinfo=UTC)
    >>> log = UsageLog((Interaction("q", ("a", "b"), ("a",), noon),
    ...                 Interaction("r", ("b", "a"), ("a",), noon)))
    >>> found = factors(log, as_of=noon, strength=1.0, cap=2.0, half_life_days=0.0)
    >>> found == {"a": (2 + 5) / (1 + 5), "b": (0 + 5) / (1 + 5)}
    True
    """
    _check_number("strength", strength, 0)
    _check_number("cap", cap, 1)
    _check_number("half_life_days", half_life_days, 0)
    if as_of.tzinfo is None:
        raise ValueError(f"as_of must be a time with a time zone, got {as_of.isoformat()}")
    ratios = log._offers.ratios(as_of, half_life_days, n)
    return _factors(log._offers.keys, ratios, strength, cap)


def _factors(
    keys: Sequence[Key], ratios: Sequence[float], strength: float, cap: float
) -> dict[Key, float]:
    found = (_bounded(ratio, strength, cap) for ratio in ratios)
    return dict(zip(keys, found, strict=False))


def _size(group: _Ints) -> int:
    """Return how many groups there are; they are numbered from 0 without gaps."""
    return int(group.max()) + 1 if len(group) else 0


def _sums(group: _Ints, values: _Floats, n_groups: int) -> list[float]:
    """Return the sum of each group, rounded once, so that no order of the values changes it."""
    order = np.argsort(group, kind="stable")
    bounds = np.searchsorted(group[order], np.arange(n_groups + 1))
    ordered = values[order].tolist()
    return [math.fsum(ordered[start:end]) for start, end in pairwise(bounds.tolist())]


def _bounded(ratio: float, strength: float, cap: float) -> float:
    try:
        power: float = ratio**strength
    except OverflowError:
        power = math.inf
    return min(cap, max(1 / cap, power))


def _check_number(name: str, value: float, least: int) -> None:
    if not (math.isfinite(value) and value >= least):
        raise ValueError(f"{name} must be a finite number of at least {least}, got {value!r}")


def _count(n: int, most: int) -> int:
    if not 0 <= n <= most:
        raise ValueError(f"n must be a count from 0 to {most}, got {n}")
    return n


class Usefulness:
    """What named usage logs say of pages; ``pools.Pool.usefulness``.

    Parameters
    ----------
    logs
        By name, at least one. The first is used where settings name none.
    as_of
        The instant from which the ages of interactions count.
    """

    def __init__(self, logs: Mapping[str, UsageLog], as_of: datetime) -> None:
        self.logs, self.as_of = dict(logs), as_of
        self._offers = {name: log._offers for name, log in self.logs.items()}
        self._ratios: dict[tuple[str, float, int | None], tuple[float, ...]] = {}

    def __getstate__(self) -> dict[str, object]:
        """Leave out the texts, and what can be computed: workers need the offers alone."""
        return {**self.__dict__, "logs": {}, "_ratios": {}}

    @property
    def facts(self) -> dict[str, Any]:
        """What a report says of the logs. JSON values only."""
        return {
            "as_of": self.as_of.isoformat(),
            "logs": {name: len(log) for name, log in self.logs.items()},
        }

    def factors(self, prior: Prior) -> Mapping[Key, float]:
        """Return the multiplier of each page that was ever offered.

        What usage says is learned once for all strengths and caps.

        Raises
        ------
        InputError
            If there is no such log, or it has fewer interactions than are asked for.
        """
        name = next(iter(self._offers)) if prior.log is None else prior.log
        if name not in self._offers:
            hint = did_you_mean(name, self._offers)
            raise InputError(f'prior.log: there is no usage log "{name}". {hint}')
        if (prior.interactions or 0) > len(self._offers[name]):
            raise InputError(
                f"prior.interactions: must be at most {len(self._offers[name])}, as many as the "
                f"log {name} has, got {prior.interactions}."
            )
        learned = (name, prior.half_life_days, prior.interactions)
        if learned not in self._ratios:
            if len(self._ratios) >= _RATIOS_KEPT:
                self._ratios.clear()
            self._ratios[learned] = self._offers[name].ratios(
                self.as_of, prior.half_life_days, prior.interactions
            )
        return _factors(self._offers[name].keys, self._ratios[learned], prior.strength, prior.cap)
