"""What a reader of a sweep's tables should know of how they came about, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sweeper.config import Config
from sweeper.corpus import Corpus
from sweeper.engines.base import Counted
from sweeper.errors import did_you_mean
from sweeper.golden import GoldenSet
from sweeper.knobs import knob
from sweeper.opening import OpenSweep
from sweeper.planner import Planner
from sweeper.settings import Settings
from sweeper.sources import LiveSource, Source

__all__ = ["remarks"]

_NAMED = 5
"""Questions that a sentence names."""


def remarks(opened: OpenSweep, planner: Planner, source: Source, *, failed: bool) -> list[str]:
    """Return the sentences.

    Parameters
    ----------
    opened
        Inputs and engines.
    planner
        Says what was tried, and what was left out.
    source
        Gave the figures.
    failed
        Whether some trial has no figures: then nothing is said of knobs without effect.
    """
    return [
        *opened.inputs.usage.notes,
        *_unnamed_classes(opened.inputs.config, opened.inputs.golden),
        *_unknown_users(opened.inputs.golden, opened.inputs.corpus),
        *_repetitions(planner),
        *_same_arms(opened.inputs.config),
        *_same_pools(opened),
        *_unshown(opened, source),
        *([] if failed else _idle(planner, source)),
        *_asked(opened),
    ]


def _unnamed_classes(config: Config, golden: GoldenSet) -> list[str]:
    """Say which classes of the golden rows no knob names, where others are: some are slips."""
    if config.file.classes != "golden" or not config.classes:
        return []
    counts = Counter(query.query_class for query in golden.queries)
    notes = []
    for name, count in counts.items():
        if name is not None and name not in config.classes:
            hint = did_you_mean(name, config.classes)
            notes.append(
                f"class {name} ({_questions(count)}) has no budget or weights of its own."
                + (f" {hint}" if hint.startswith("Did") else "")
            )
    return notes


def _unknown_users(golden: GoldenSet, corpus: Corpus | None) -> list[str]:
    """Say as whom questions are asked whom no entry names: they see what is public alone."""
    if corpus is None:
        return []
    named = {name for entry in corpus.restricted.values() for name in entry.principals or ()}
    counts = Counter(query.user for query in golden.queries)
    return [
        f"no principals name the user {user} ({_questions(count)}), who sees what is public alone."
        for user, count in counts.items()
        if user is not None and user not in named
    ]


def _questions(count: int) -> str:
    return f"{count} question{'' if count == 1 else 's'}"


def _repetitions(planner: Planner) -> list[str]:
    """Say which settings were left out because they rank as another one does."""
    alike = planner.alike
    if not alike:
        return []
    text, other = next(iter(alike.items()))
    one = next(item for item in planner.order if item.text == text)
    names = [n for n in {**one.as_dict(), **other.as_dict()} if one.given(n) != other.given(n)]
    own, others = (
        " ".join(f"{name}={knob(name).format(item.given(name))}" for name in names)
        for item in (one, other)
    )
    single = len(alike) == 1
    return [
        f"{len(alike)} {'setting ranks' if single else 'settings rank'} every question as "
        f"another one does and {'was' if single else 'were'} not tried twice; for one, {own} "
        f"ranks as {others} where {_rest(one, names) or 'nothing else is set'}."
    ]


def _rest(settings: Settings, names: Sequence[str]) -> str:
    """Return the knobs that are not among some and differ from their defaults."""
    plain = Settings()
    values = {n: v for n, v in settings.as_dict().items() if n not in names and v != plain.get(n)}
    return " ".join(f"{name}={knob(name).format(value)}" for name, value in values.items())


def _same_arms(config: Config) -> list[str]:
    """Say which arms are no setting of their own."""
    seen = {config.current.text: "the current settings"}
    notes = []
    for name, item in config.arms:
        if item.text in seen:
            notes.append(f"arm {name} is the same as {seen[item.text]}.")
        seen.setdefault(item.text, f"arm {name}")
    return notes


def _same_pools(opened: OpenSweep) -> list[str]:
    """Say which keys of the engine find the same rows as another value of theirs."""
    stems = Counter(item.stem for item in opened.opened if item.shared)
    same = sum(count - 1 for count in stems.values())
    if not same:
        return []
    return [
        f"{same} of {len(opened.opened)} values of the engine's keys retrieve what "
        "another one does, so their figures are equal."
    ]


def _unshown(opened: OpenSweep, source: Source) -> list[str]:
    """Say of which questions the engine does not show all candidates."""
    live = source.facts().get("live_questions", ())
    if not live:
        return []
    named = ", ".join(live[:_NAMED]) + (", ..." if len(live) > _NAMED else "")
    return [
        f"the engine does not show all candidates of {len(live)} of {len(opened.inputs.golden)} "
        f"questions; it was asked these under every setting: {named}."
    ]


def _idle(planner: Planner, source: Source) -> list[str]:
    """Say which knobs have values under which a black box answers all questions alike."""
    if not isinstance(source, LiveSource):
        return []
    settings = [trial.settings for trial in planner.trials]
    names = dict.fromkeys(name for item in settings for name in item.as_dict())
    idle = []
    for name in names:
        groups: dict[str, list[Settings]] = {}
        for item in settings:
            rest = {other: item.get(other) for other in names if other != name}
            groups.setdefault(str(rest), []).append(item)
        several = [group for group in groups.values() if len(group) > 1]
        answers = [[source.answers(item) for item in group] for group in several]
        if answers and all(own == group[0] for group in answers for own in group):
            idle.append(name)
    return [f"{name} changes no answer: does the engine obey it?" for name in idle]


def _asked(opened: OpenSweep) -> list[str]:
    """Say how often a live engine was asked, and what went wrong on the way."""
    engine = opened.engine
    if not isinstance(engine, Counted) or not engine.counters.get("requests"):
        return []
    told = [f"{count} {name}" for name, count in engine.counters.items() if count]
    return [f"the engine was asked: {', '.join(told)}."]
