"""A sweep's usage logs: read from files, or left by simulated readers of its own engine."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sweeper.capture import capture
from sweeper.config import Config
from sweeper.config_file import ReadersBlock
from sweeper.engine_blocks import GoldenBlock
from sweeper.engines.base import Engine
from sweeper.errors import InputError, did_you_mean
from sweeper.formats import read_golden
from sweeper.formats.usage import read_usage
from sweeper.golden import GoldenSet, Key, QueryId
from sweeper.prior import UsageLog, Usefulness, canonical_question, factors
from sweeper.ranking import rank
from sweeper.readers import Readers, simulate
from sweeper.settings import Prior, Settings

__all__ = ["Usage", "read_usage_logs"]

_NAMED = 3
"""Pages that a sentence names."""

_FEEDBACK = Prior(strength=1.0, cap=2.0, half_life_days=0.0, interactions=None, log=None)
"""By which prior pages are offered to simulated readers where it feeds on its own mistakes."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a config says of usage, read: logs, and what simulated readers will ask."""

    config: Config
    logs: Mapping[str, UsageLog]
    questions: Mapping[str, GoldenSet]
    notes: tuple[str, ...] = ()
    """What is odd about the logs, in sentences."""

    @property
    def digests(self) -> dict[str, str]:
        """What identifies each log, known before any reader is simulated."""
        found = {name: log.digest for name, log in self.logs.items()}
        return {**found, **{name: golden.digest for name, golden in self.questions.items()}}

    @property
    def digest(self) -> str | None:
        """One digest of all logs, in their order; ``None`` where there are none."""
        found = json.dumps(list(self.digests.items()))
        return hashlib.sha256(found.encode()).hexdigest() if self.digests else None

    def open(self, engine: Engine, as_of: datetime) -> Usefulness | None:
        """Return the logs, simulated readers having asked the engine; ``None`` if there are none.

        Readers are offered what today's setting returns, unrouted. Their last question is asked
        before ``as_of``.

        Raises
        ------
        InputError
            If some settings learn from past usage, and there is none.
        """
        if not self.config.file.usage:
            _check_off(self.config)
            return None
        logs = {}
        for name, block in self.config.file.usage.items():
            if block.simulate is None:
                logs[name] = self.logs[name]
            else:
                offers = _Offers(self.config, engine, self.questions[name], block.simulate)
                logs[name] = offers.simulated(as_of)
        return Usefulness(logs, as_of)


def read_usage_logs(config: Config, golden: GoldenSet, keys: frozenset[Key] | None) -> Usage:
    """Read what a config says of usage.

    Parameters
    ----------
    config
        With its blocks ``usage``.
    golden
        No log may hold one of its questions: figures would be of questions learned from.
    keys
        The pages that exist, where they are known.

    Raises
    ------
    InputError
        If a file has problems, a question is in the golden set too, no page that a log offers
        exists, or a knob asks for more interactions than its log has, or for a log that there is
        not.
    """
    logs: dict[str, UsageLog] = {}
    questions: dict[str, GoldenSet] = {}
    notes: list[str] = []
    for name, block in config.file.usage.items():
        if block.path is not None:
            logs[name] = read_usage(
                config.resolve(block.path), fields=block.fields, name=name, written=block.path
            )
            if keys is not None:
                notes += _strange_pages(config, name, logs[name], keys)
            asked = {canonical_question(one.question) for one in logs[name].interactions}
        else:
            assert block.simulate is not None
            given = block.simulate.questions
            source = GoldenBlock(path=given) if isinstance(given, str) else given
            path = config.existing(source)
            questions[name] = read_golden(path, fields=source.fields or None, corpus_keys=keys)
            asked = {canonical_question(query.text) for query in questions[name].queries}
        _check_held_out(config, golden, name, asked)
    usage = Usage(config, logs, questions, tuple(notes))
    _check_knobs(usage)
    return usage


def _strange_pages(config: Config, name: str, log: UsageLog, keys: frozenset[Key]) -> Iterator[str]:
    """Say which offered pages the corpus does not hold; what is learned of them is lost.

    Raises
    ------
    InputError
        If it holds none: the log calls pages otherwise than the corpus does.
    """
    offered = dict.fromkeys(key for one in log.interactions for key in one.offered)
    strange = [key for key in offered if key not in keys]
    if not strange:
        return
    named = ", ".join(strange[:_NAMED]) + (", ..." if len(strange) > _NAMED else "")
    if len(strange) == len(offered):
        raise InputError(
            f"{config.path}: usage.{name}: no page that it offers is in the corpus: {named}. Call "
            f"pages by the keys of the corpus, such as {min(keys, default='...')}."
        )
    are = "is" if len(strange) == 1 else "are"
    yield (
        f"usage.{name}: {len(strange)} of {len(offered)} offered pages {are} not in the corpus: "
        f"{named}."
    )


def _check_held_out(config: Config, golden: GoldenSet, name: str, asked: set[str]) -> None:
    both = [q.query_id for q in golden.queries if canonical_question(q.text) in asked]
    if both:
        more = f" and {len(both) - 3} more" if len(both) > 3 else ""
        raise InputError(
            f"{config.path}: usage.{name}: it holds questions of the golden set "
            f"({', '.join(both[:3])}{more}), so figures would be of questions that were learned "
            "from. Leave them out of one of the two."
        )


def _check_knobs(usage: Usage) -> None:
    """Check every log and number of interactions that the config names."""
    config = usage.config
    wanted = [(i.get("prior.log"), i.get("prior.interactions")) for i in _settings(config)]
    swept = (config.space.values("prior.log"), config.space.values("prior.interactions"))
    known = list(config.file.usage)
    if "first" in known:
        raise InputError(
            f"{config.path}: usage.first: needs another name: prior.log says `first` for the first "
            "of all logs."
        )
    sizes = {
        name: len(usage.logs[name]) if block.simulate is None else block.simulate.interactions
        for name, block in config.file.usage.items()
    }
    for name, count in (*wanted, *itertools.product(*swept)):
        if name is None:
            name = next(iter(known), None)
        elif name not in known:
            hint = did_you_mean(str(name), known) if known else "Name one under usage."
            raise InputError(f'{config.path}: prior.log: there is no usage log "{name}". {hint}')
        if known and int(count or 0) > sizes[str(name)]:
            raise InputError(
                f"{config.path}: prior.interactions: must be at most {sizes[str(name)]}, as many "
                f"as the log {name} has, got {count}."
            )


def _check_off(config: Config) -> None:
    strengths = [item.get("prior.strength") for item in _settings(config)]
    if any((*strengths, *config.space.values("prior.strength"))):
        raise InputError(
            f"{config.path}: prior.strength: there is no usage log to learn from. Name one under "
            "usage."
        )


def _settings(config: Config) -> list[Settings]:
    return [config.current, *(arm for _, arm in config.arms)]


class _Offers:
    """What is shown to readers: the answers of an engine to their questions."""

    def __init__(
        self, config: Config, engine: Engine, golden: GoldenSet, block: ReadersBlock
    ) -> None:
        if not engine.channels:
            raise InputError(
                f"{config.path}: usage: readers cannot be simulated on an engine that shows no "
                "candidates. Give a log by its path."
            )
        base = config.current.with_values({"prior.strength": 0.0})
        depth = base.effective_depth
        self._settings = base.with_values({"limit": max(block.offered * 4, 1), "depth": depth})
        self._path, self._block, self._golden = config.path, block, golden
        self._pool = capture(golden, engine, depth=depth)

    def shown(self, prior: Mapping[Key, float]) -> Mapping[QueryId, Sequence[Key]]:
        """Return the first pages of each answer, a page once."""
        found = {}
        for number, query in enumerate(self._golden.queries):
            rows = rank(
                self._pool.candidates(number),
                self._settings,
                channels=self._pool.channels,
                prior=prior,
            )
            pages = dict.fromkeys(row.key for row in rows)
            found[query.query_id] = tuple(pages)[: self._block.offered]
        return found

    def simulated(self, as_of: datetime) -> UsageLog:
        block = self._block
        last = timedelta(days=max(0, block.interactions - 1) / block.per_day)
        try:
            start = as_of - last - timedelta(days=1)
        except OverflowError:
            raise InputError(
                f"{self._path}: usage: {block.interactions} interactions at {block.per_day} a day "
                "begin before the year 1. Let readers ask more often (per_day)."
            ) from None

        def learn(log: UsageLog) -> Mapping[Key, float]:
            return factors(
                log,
                as_of=log.interactions[-1].at,
                strength=_FEEDBACK.strength,
                cap=_FEEDBACK.cap,
                half_life_days=_FEEDBACK.half_life_days,
            )

        return simulate(
            self.shown,
            {query.query_id: query.expected for query in self._golden.queries},
            {query.query_id: query.text for query in self._golden.queries},
            n=block.interactions,
            start=start,
            end=as_of,
            readers=Readers(block.seed, block.position_bias, block.wrong, block.per_day),
            rounds=8,
            learn=learn if block.feedback else None,
        )
