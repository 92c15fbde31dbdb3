"""Live answers against replayed ones: does the engine rank as the sweep says it does?

``verify_sweep`` is what ``sweep verify`` calls. It asks the engine of today for its own ranking of
sampled questions and compares it, position by position, with the replay of what was captured. An
engine that shows no candidates is compared with its own earlier answers.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sweeper.answers import Answers, Check, Repeats
from sweeper.audit import refuse_idle
from sweeper.causes import Cause, find_causes
from sweeper.config import Config, load_config
from sweeper.corpus import parse_instant
from sweeper.engines.base import Boosted, Engine
from sweeper.errors import InputError
from sweeper.golden import GoldenSet, Query
from sweeper.knobs import CAPTURE_PREFIX, Value, knob
from sweeper.opening import Progress, open_sweep, silent
from sweeper.results import Results
from sweeper.settings import Settings

__all__ = ["Verification", "config_of", "sample_questions", "verify", "verify_sweep"]

_SAME_CODE = frozenset({"embedded", "runs"})
"""Kinds of engines whose own search is ``ranking.rank``, as replay is."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification found.

    Attributes
    ----------
    checks
        Today's setting, the chosen ones, then the ends of each swept knob; no question is counted
        twice under the same settings.
    causes, n_unexplained
        Named faults, and answers that differ for no reason found.
    unproved
        Knobs that no question could test, as replay does not depend on them either.
    notes
        What the reader should know of the proof itself.
    """

    sweep: str
    engine: str
    replayable: bool
    seed: int
    checks: tuple[Check, ...]
    repeats: Repeats
    causes: tuple[Cause, ...]
    n_unexplained: int
    unproved: tuple[str, ...]
    notes: tuple[str, ...]

    def _repr_html_(self) -> str:
        from sweeper.reprs import verification_html

        return verification_html(self)

    @property
    def n_different(self) -> int:
        return sum(len(check.differences) for check in self.checks)

    @property
    def agrees(self) -> bool:
        """Whether nothing was found: no difference, no idle knob, no unsteady answer."""
        return not (self.n_different or self.causes or self.repeats.unsteady)


def verify_sweep(
    results: Results,
    config: Config,
    settings: Mapping[str, Settings],
    *,
    n_questions: int | None = 50,
    seed: int = 0,
    progress: Progress = silent,
) -> Verification:
    """Open the engine of a config and verify a sweep against it; see ``verify``.

    Ages count from the instant of the capture, as far as the engine can be told one.

    Raises
    ------
    InputError
        If a file that the config names has problems, or nothing was captured for some settings.
    EngineError
        If a question is not answered. It says what was compared before.
    """
    as_of = parse_instant(str(results.manifest["pool"]["provenance"].get("as_of")))
    config = config if as_of is None else replace(config, as_of=as_of)
    with open_sweep(config, root=results.folder.parent.parent) as opened:

        def engine_of(settings: Settings) -> Engine:
            engine = opened.capture_of(settings).engine
            if isinstance(engine, Boosted):
                engine.usefulness = opened.usefulness
            return engine

        found = verify(
            results,
            engine_of,
            settings,
            n_questions=n_questions,
            seed=seed,
            progress=progress,
        )
        before = results.manifest["spec"]
        parts = [name for name, now in opened.spec.items() if before.get(name) != now]
    if before["config"]["engine"]["kind"] == "pool":  # the search behind it is another engine
        parts = [name for name in parts if name not in {"config", "corpus", "engine"}]
    if not parts:
        return found
    note = f"since the sweep ran, these changed: {', '.join(parts)}."
    return replace(found, notes=(*found.notes, note))


def verify(
    results: Results,
    engine_of: Callable[[Settings], Engine],
    settings: Mapping[str, Settings],
    *,
    n_questions: int | None = 50,
    seed: int = 0,
    progress: Progress = silent,
) -> Verification:
    """Compare an engine's own rankings with those that a sweep expects of it.

    Parameters
    ----------
    results
        A finished sweep.
    engine_of
        Returns the engine that searches under some settings.
    settings
        Name to settings, checked besides today's.
    n_questions
        How many questions are sampled, over all slices; ``None`` takes all.
    seed
        Of the sample.
    progress
        Told how many answers came.

    Raises
    ------
    InputError
        If nothing was captured, or answered, under some settings.
    EngineError
        If a question is not answered. It says what was compared before.
    """
    today = results.settings[results.trial("current")]
    questions = sample_questions(results.golden, n_questions, seed=seed)
    answers = Answers(results, engine_of, progress)
    chosen = {"current": today, **{name: own for name, own in settings.items() if own != today}}
    for own in chosen.values():  # refuse what cannot be compared before anything is asked
        usage = "usage" in results.manifest
        refuse_idle(own, results.golden, answers.channels, has_usage=usage)
        answers.expected(own, questions[0])
        engine_of(own)
    checks = [answers.check(name, own, questions) for name, own in chosen.items()]
    idle: list[Cause] = []
    unproved: list[str] = []
    swept = _swept(results) if results.replayable else {}
    for name, values in swept.items():
        ends = (values[0], values[-1])
        probe = answers.probe(name, ends, list(chosen.values()), questions)
        if probe is None:
            unproved.append(name)
            continue
        checks += probe.checks
        idle += [] if probe.idle is None else [probe.idle]
    repeats = answers.repeats(today, questions)
    steady = [one for one in answers.observations if one.query_id not in repeats.unsteady]
    stuck = {cause.knob: swept[cause.knob] for cause in idle if cause.knob is not None}
    found, n_unexplained = find_causes(steady, answers.channels, stuck=stuck)
    differing = [one.query_id for check in checks for one in check.differences]
    n_unsteady = sum(query_id in repeats.unsteady for query_id in differing)
    if not results.replayable:
        n_unexplained = len(differing) - n_unsteady
    kind = str(engine_of(today).provenance.get("kind"))
    return Verification(
        sweep=results.address,
        engine=kind,
        replayable=results.replayable,
        seed=seed,
        checks=tuple(check for check in checks if check.n_questions),
        repeats=repeats,
        causes=(*idle, *found, *_unsteady(repeats, n_unsteady)),
        n_unexplained=n_unexplained,
        unproved=tuple(unproved),
        notes=(*_notes(kind, results), *_without_prior(engine_of(today), results)),
    )


def sample_questions(golden: GoldenSet, n: int | None, *, seed: int) -> list[Query]:
    """Return some questions of every slice, in the order of the golden set.

    Parameters
    ----------
    golden
        Gives questions and slices.
    n
        How many; slices share them by size, each with one at least. ``None`` takes all.
    seed
        Which of a slice.
    """
    if n is None or n >= len(golden):
        return list(golden.queries)
    draw = random.Random(seed)
    waiting = {name: [q for q in golden.queries if q.slice == name] for name in golden.slices}
    size = {name: len(own) for name, own in waiting.items()}
    for own in waiting.values():
        draw.shuffle(own)
    taken = dict.fromkeys(waiting, 0)
    for _ in range(n):
        # The slice that is furthest behind its share; one that has nothing comes first.
        name = min(
            (own for own in waiting if taken[own] < size[own]),
            key=lambda own: (taken[own] > 0, taken[own] / size[own]),
        )
        taken[name] += 1
    kept = {q.query_id for name, own in waiting.items() for q in own[: taken[name]]}
    return [query for query in golden.queries if query.query_id in kept]


def config_of(results: Results, path: Path | None, overrides: Sequence[str] = ()) -> Config:
    """Return the config of a sweep, from the file that it was run with unless one is given.

    Raises
    ------
    InputError
        If the sweep names no file, or the file is gone or says something else now.
    """
    if path is not None:
        return load_config(path, overrides)
    give = "Give its config with --config (and --set, if it was run with that)."
    named = results.manifest.get("config_path")
    if not isinstance(named, str):
        raise InputError(f"{results.address}: the sweep does not say which config it had. {give}")
    if not Path(named).is_file():
        raise InputError(f"{named}: the config of {results.address} is not there. {give}")
    config = load_config(named, overrides)
    before, now = results.manifest["spec"].get("config", {}), config.spec()
    parts = [key for key in {**before, **now} if before.get(key) != now.get(key)]
    if parts:
        raise InputError(
            f"{named}: the config of {results.address} has changed since ({', '.join(parts)}). "
            f"{give}"
        )
    return config


def _swept(results: Results) -> dict[str, list[Value]]:
    """Return the values of each ranking knob that the sweep varied, in the order of its axis.

    A knob that decides what is retrieved is no knob of one engine: each value has its own.
    """
    return {
        name: sorted({own.get(name) for own in results.settings}, key=knob(name).sort_key)
        for name in results.varied_knobs
        if not name.startswith(CAPTURE_PREFIX)
    }


def _unsteady(repeats: Repeats, n_explained: int) -> tuple[Cause, ...]:
    if not repeats.unsteady:
        return ()
    moved = [f"{name} by up to {value:.4f}" for name, value in repeats.spread.items() if value]
    text = (
        f"{len(repeats.unsteady)} of {repeats.n_questions} answers change between "
        f"{repeats.n_calls} identical calls ({repeats.unsteady[0]!r} first). "
        + (f"That moves {', '.join(moved)}: " if moved else "No objective moves by it: ")
        + "no gain that small counts."
    )
    return (Cause("unsteady", text, n_explained),)


def _without_prior(engine: Engine, results: Results) -> tuple[str, ...]:
    if isinstance(engine, Boosted) or all(own.prior is None for own in results.settings):
        return ()
    return (
        "The engine's own search knows no usefulness prior, so its answers were compared with "
        "those of the replay without one.",
    )


def _notes(kind: str, results: Results) -> tuple[str, ...]:
    partly = len(results.kept.live_questions)
    if partly:
        named = "one question" if partly == 1 else f"{partly} questions"
        return (
            f"The engine does not show all candidates of {named}. There its answers were compared "
            "with those that it gave to the sweep: this proves that they repeat, and nothing more.",
        )
    if not results.replayable:
        return (
            "The engine shows no candidates. Its answers were compared with those that it gave to "
            "the sweep: this proves that they repeat, and nothing more.",
        )
    if kind == "pool":
        return (
            "A captured pool was asked: agreement says nothing of the search that it came from. "
            "Where that can be reached, name its config with --config.",
        )
    if kind in _SAME_CODE:
        return (
            f"The {kind} engine ranks with the code that replay uses: agreement proves only that "
            "corpus, clock and retrieval are what they were.",
        )
    return ()
