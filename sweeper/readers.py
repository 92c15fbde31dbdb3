"""Simulated readers: the usage log that people with known habits leave, to measure a prior with.

What a log says of pages is in ``prior``.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sweeper.golden import Key, QueryId
from sweeper.prior import Interaction, UsageLog

__all__ = ["Readers", "simulate"]

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Readers:
    """How simulated readers behave.

    Attributes
    ----------
    seed
        Seeds generators local to one simulation.
    position_bias : finite, at least 0
        A reader looks at position ``i`` with the probability ``i ** -position_bias``.
    wrong : from 0 to 1
        Chance that a page that was looked at is cited although it does not answer, or is not
        cited although it does.
    per_day : count, at least 1
        Questions a day, evenly spaced.

    Raises
    ------
    ValueError
        If a number is outside its domain.
    """

    seed: int = 0
    position_bias: float = 1.0
    wrong: float = 0.1
    per_day: int = 50

    def __post_init__(self) -> None:
        if not (math.isfinite(self.position_bias) and self.position_bias >= 0):
            raise ValueError(
                f"position_bias must be a finite number of at least 0, got {self.position_bias!r}"
            )
        if not 0 <= self.wrong <= 1:
            raise ValueError(f"wrong must be a number from 0 to 1, got {self.wrong!r}")
        if self.per_day < 1:
            raise ValueError(f"per_day must be an integer of at least 1, got {self.per_day!r}")


def simulate(
    offer: Callable[[Mapping[Key, float]], Mapping[QueryId, Sequence[Key]]],
    relevant: Mapping[QueryId, Collection[Key]],
    texts: Mapping[QueryId, str],
    *,
    n: int,
    start: datetime,
    end: datetime | None = None,
    readers: Readers,
    rounds: int = 4,
    learn: Callable[[UsageLog], Mapping[Key, float]] | None = None,
) -> UsageLog:
    """Let readers ask and cite, and return the log that they leave.

    Every question is drawn alike. Interaction ``i`` takes place ``i / per_day`` days after
    ``start``, so a longer log begins with the shorter one (without ``learn``). Which questions are
    asked depends on the seed alone; so do looks and slips where all answers are equally long.

    Parameters
    ----------
    offer
        Called with factors; returns the pages shown for every question of ``texts``, distinct and
        best first.
    relevant
        The pages that answer each question of ``texts``.
    texts
        Question to its text.
    n : count
        Interactions.
    start, end
        When the first takes place, and when the last may at the latest; aware.
    readers
        Their habits and the seed.
    rounds : count
        How often ``learn`` is called: after ``n / 2 ** rounds`` interactions, then each time the
        log has doubled, last at ``n / 2``. Where ``n`` is too small, less often.
    learn
        Makes factors of the log so far. From then on, answers are ranked with them, and the prior
        feeds on what it caused itself. Without it, ``offer`` is called once, with no factors.

    Returns
    -------
    UsageLog
        ``n`` interactions, in which cited pages stand as they were offered.

    Raises
    ------
    ValueError
        If a number is outside its domain, a time has no time zone, the last interaction would be
        after ``end``, or a question has no pages in ``relevant`` or in what ``offer`` returns.
    """
    _check_simulation(texts, n=n, start=start, end=end, readers=readers, rounds=rounds)
    questions = tuple(texts)
    _check_complete("relevant", relevant, questions)
    # Python promises that random() repeats in every later version; numpy does not.
    choice = random.Random(f"questions {readers.seed}")
    reading = random.Random(f"reading {readers.seed}")
    doublings = set() if learn is None else {n >> halvings for halvings in range(1, rounds + 1)}
    shown = _answers(offer, {}, questions)
    found: list[Interaction] = []
    for place in range(n):
        if learn is not None and place > 0 and place in doublings:
            shown = _answers(offer, learn(UsageLog(tuple(found))), questions)
        question = questions[int(choice.random() * len(questions))]
        cited = _read(shown[question], relevant[question], readers, reading)
        at = start + _DAY * place / readers.per_day
        found.append(Interaction(texts[question], shown[question], cited, at))
    return UsageLog(tuple(found))


def _check_simulation(
    texts: Mapping[QueryId, str],
    *,
    n: int,
    start: datetime,
    end: datetime | None,
    readers: Readers,
    rounds: int,
) -> None:
    for name, count in (("n", n), ("rounds", rounds)):
        if count < 0:
            raise ValueError(f"{name} must be an integer of at least 0, got {count!r}")
    if n > 0 and not texts:
        raise ValueError("texts must be at least one question, got none")
    for name, instant in (("start", start), ("end", end)):
        if instant is not None and instant.tzinfo is None:
            raise ValueError(f"{name} must be a time with a time zone, got {instant.isoformat()}")
    if end is not None and n > 0 and start + _DAY * (n - 1) / readers.per_day > end:
        fits = max(0, (end - start) * readers.per_day // _DAY + 1)
        raise ValueError(
            f"n must be at most {fits} at {readers.per_day} a day from {start.isoformat()} "
            f"to {end.isoformat()}, got {n}"
        )


def _check_complete(
    name: str, given: Mapping[QueryId, Any], questions: Collection[QueryId]
) -> None:
    missing = [question for question in questions if question not in given]
    if missing:
        raise ValueError(f"{name} must be given for every question, got none for {missing[0]!r}")


def _answers(
    offer: Callable[[Mapping[Key, float]], Mapping[QueryId, Sequence[Key]]],
    learned: Mapping[Key, float],
    questions: Collection[QueryId],
) -> dict[QueryId, tuple[Key, ...]]:
    shown = offer(learned)
    _check_complete("offered pages", shown, questions)
    return {question: tuple(shown[question]) for question in questions}


def _read(
    offered: Sequence[Key], answering: Collection[Key], readers: Readers, reading: random.Random
) -> tuple[Key, ...]:
    """Return what one reader cites. Two numbers are drawn per position, whatever becomes of it."""
    cited: list[Key] = []
    for position, key in enumerate(offered, start=1):
        looks = reading.random() < position**-readers.position_bias
        slips = reading.random() < readers.wrong
        if looks and (key in answering) != slips:
            cited.append(key)
    return tuple(cited)
