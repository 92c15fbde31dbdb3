"""What a golden set and a pool cannot show, said before anyone trusts a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sweeper.corpus import STORES
from sweeper.errors import InputError, did_you_mean
from sweeper.golden import GoldenSet
from sweeper.knobs import Value, channel_of
from sweeper.metrics import Feature, Metric
from sweeper.paired import fewest_to_differ
from sweeper.pools import VECTOR, FloatArray, Pool
from sweeper.ranking import decay_factor
from sweeper.replay import Replay
from sweeper.settings import Settings

__all__ = [
    "SMALL_SLICE",
    "Finding",
    "age_factors",
    "audit_ages",
    "audit_golden",
    "audit_knobs",
    "audit_pool",
    "audit_settings",
    "counted",
    "refuse_idle",
]

SMALL_SLICE = 10
"""Below this, one question moves a slice's figure by more than 0.1."""

_NEAR = 0.05
"""A cosine so little below a floor is worth a look."""

_INSEPARABLE = 0.55
"""Share of well-ordered pairs below which a floor is no better than a coin."""

_NOTHING_LEFT = 1e-3
_NAMED = 5
"""Questions that a finding names; the rest are counted."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing worth knowing. ``query_ids`` are the questions that it concerns, if any."""

    text: str
    query_ids: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.query_ids:
            return self.text
        named = ", ".join(self.query_ids[:_NAMED])
        more = len(self.query_ids) - _NAMED
        return f"{self.text} {named}{f' and {more} more' if more > 0 else ''}."


def counted(number: int, noun: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> counted(1, "question"), counted(0, "warning")
    ('1 question', '0 warnings')
    """
    return f"{number} {noun}{'' if number == 1 else 's'}"


def audit_golden(golden: GoldenSet, metrics: tuple[Metric, ...], limit: int) -> list[Finding]:
    """Look at the golden set alone.

    Parameters
    ----------
    golden
        The queries.
    metrics
        What will be recorded.
    limit
        The fewest rows that a setting returns, to questions of any class.
    """
    found = []
    for name in golden.slices:
        size = sum(query.slice == name for query in golden.queries)
        if size < SMALL_SLICE:
            fewest = fewest_to_differ()
            said = f"no less than {fewest / size:.2f} ({fewest} of them, all one way)"
            if size < fewest:
                said = "no difference at all"
            found.append(
                Finding(
                    f"slice {name} has {counted(size, 'question')}: one is worth {1 / size:.3f}, "
                    f"and a test can tell {said} from luck."
                )
            )
    for metric in metrics:
        if metric.cutoff is not None and metric.cutoff > limit:
            found.append(
                Finding(f"{metric} is computed on the {limit} rows that the limit returns.")
            )
    return found


def audit_pool(pool: Pool, golden: GoldenSet) -> list[Finding]:
    """Look at what was captured for the golden set."""
    replay = Replay(pool, golden)
    layout = replay.layout(pool.depth)
    judgments = replay.judgments
    found = []
    reached = np.zeros(len(judgments.keys), bool)
    reached[layout.target_key] = True
    lost = dict.fromkeys(judgments.key_query[~reached].tolist())
    if lost:
        found.append(
            Finding(
                f"{counted(len(lost), 'question')}: an expected document is retrieved by no "
                f"channel within depth {pool.depth}, so no setting can find it. Mend retrieval:",
                tuple(judgments.query_ids[query] for query in lost),
            )
        )
    held = np.asarray((layout.ranks > 0).any(axis=1))
    for number, name in enumerate(layout.channels):
        if not held[number].any():
            found.append(Finding(f"the {name} channel retrieves nothing for any question."))
    both = bool((layout.ranks > 0).all(axis=0).any())
    if held.all(axis=0).any() and not both and len(layout.channels) > 1:
        found.append(
            Finding("no row is in every channel of any question: do the channels name ids alike?")
        )
    return found + audit_ages(pool)


def audit_knobs(pool: Pool, space: Mapping[str, Sequence[Value]], base: Settings) -> list[Finding]:
    """Name knobs of a space that cannot change any ranking of what was captured.

    Parameters
    ----------
    pool
        What was captured.
    space
        Knob to its values.
    base
        Gives the knobs that the space does not name.
    """
    found = []
    channels = np.unique(pool.row_channel)
    varied = [name for name, values in space.items() if len(values) > 1]
    # Where scores are multiplied, by decay or a prior, their distances count.
    multiplied = any(
        any(space.get(name, (base.get(name),)))
        for name in ("recency_half_life_days", "prior.strength")
    )
    if len(channels) == 1 and not multiplied:
        found += [
            Finding(f"{name} changes nothing here: one channel alone retrieves anything.")
            for name in varied
            if name == "rrf_k" or ("weights." in name and min(map(_number, space[name])) > 0)
        ]
    memory = pool.item_store == STORES.index("memory")
    if (
        any(space.get("recency_half_life_days", ()))
        and not (memory & (pool.item_age_days > 0)).any()
    ):
        found.append(
            Finding(
                "recency_half_life_days changes nothing here: no memory with an age is retrieved, "
                "and documents do not decay."
            )
        )
    floors = [value for value in space.get("min_similarity", ()) if value is not None]
    if floors and VECTOR in pool.channels:
        cosines = pool.row_value[pool.row_channel == pool.channels.index(VECTOR)]
        if not (cosines < max(floors)).any():
            found.append(
                Finding(
                    "min_similarity changes nothing here: every cosine is at or above "
                    f"{max(floors):g}."
                )
            )
    return found


def _number(value: Value) -> float:
    return 0.0 if value is None else float(value)


def refuse_idle(
    settings: Settings, golden: GoldenSet, channels: Sequence[str], *, has_usage: bool
) -> None:
    """Refuse settings that name what is not there, so that nobody measures in vain.

    Parameters
    ----------
    settings
        As somebody typed them.
    golden
        Its questions have classes, or none.
    channels
        Of the engine; none of a black box.
    has_usage
        Whether there is a log that a prior could learn from.

    Raises
    ------
    InputError
        If no question has a class that is named, no channel a name that is given a weight, or a
        prior has nothing to learn from.
    """
    classes = sorted({query.query_class for query in golden.queries} - {None}, key=str)
    for name in settings.classes:
        if name not in classes:
            hint = did_you_mean(name, map(str, classes)) if classes else "The sweep is not routed."
            raise InputError(f'no question has the class "{name}". {hint}')
    for name in settings.as_dict() if channels else ():
        channel = channel_of(name)
        if channel is not None and channel not in channels:
            hint = did_you_mean(channel, channels)
            raise InputError(f'{name}: the engine has no channel "{channel}". {hint}')
    if settings.prior is not None and not has_usage:
        raise InputError(
            "prior.strength: there is no usage log to learn from. Name one under usage."
        )


def audit_settings(
    replay: Replay, settings: Sequence[Settings], named: Sequence[Finding] = ()
) -> list[Finding]:
    """Look at what the settings of a space can and cannot show of the golden set.

    Parameters
    ----------
    replay
        Pool and golden set.
    settings
        Every setting of the space.
    named
        What was found before: a knob that it names is not named again.
    """
    first, returned = _outcomes(replay, settings)
    judgments = replay.judgments
    answerable = judgments.answerable
    found = []
    top = np.flatnonzero((first == 1).all(axis=0))
    if len(top):
        found.append(
            Finding(
                f"{len(top)} of {counted(len(answerable), 'question')} "
                f"{'is' if len(top) == 1 else 'are'} answered first under every setting, so they "
                "cannot tell settings apart:",
                tuple(judgments.query_ids[answerable[n]] for n in top.tolist()),
            )
        )
    reached = np.unique(judgments.key_query[replay.layout(replay.pool.depth).target_key])
    never = [n for n in np.flatnonzero((first == 0).all(axis=0)) if answerable[n] in reached]
    if never:
        found.append(
            Finding(
                f"{counted(len(never), 'question')}: an expected document is retrieved, but no "
                "setting returns it:",
                tuple(judgments.query_ids[answerable[n]] for n in never),
            )
        )
    seen = {item.text.split(" ", 1)[0] for item in named}
    outcome = np.concatenate([first, returned], axis=1)
    for name in dict.fromkeys(name for item in settings for name in item.as_dict()):
        if name not in seen and _inert(settings, name, outcome):
            found.append(Finding(f"{name} changes no answer's position under any setting."))
    return found + _audit_floors(replay, settings) + _audit_half_lives(replay, settings)


def _outcomes(
    replay: Replay, settings: Sequence[Settings]
) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
    """Return each answerable question's first position, and each one's number of rows."""
    judgments = replay.judgments
    first = np.zeros((len(settings), len(judgments.answerable)), np.int32)
    returned = np.zeros((len(settings), judgments.n_queries), np.int32)
    feature = Feature("first")
    for origin in dict.fromkeys(item.origin for item in settings):
        members = [n for n, item in enumerate(settings) if item.origin == origin]
        positions = replay.positions([settings[n] for n in members])
        first[members] = feature.extract(positions.first(), judgments, judgments.answerable)
        returned[members] = positions.returned
    return first, returned


def _inert(settings: Sequence[Settings], name: str, outcome: NDArray[np.integer]) -> bool:
    """Return whether settings that differ in one knob alone always give the same outcome."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for number, item in enumerate(settings):
        rest = tuple((k, v) for k, v in item.as_dict().items() if k != name)
        groups.setdefault(rest, []).append(number)
    several = [group for group in groups.values() if len(group) > 1]
    return bool(several) and all(
        bool((outcome[group] == outcome[group[0]]).all()) for group in several
    )


def _audit_floors(replay: Replay, settings: Sequence[Settings]) -> list[Finding]:
    """Say which floors cut an answer that no other channel holds, and whether any can help."""
    floors = sorted({x.min_similarity for x in settings if x.min_similarity is not None})
    pool = replay.pool
    if not floors or VECTOR not in pool.channels:
        return []
    judgments = replay.judgments
    expected = set(zip(judgments.key_query.tolist(), judgments.keys, strict=True))
    query, item = pool.row_query.tolist(), pool.row_item.tolist()
    relevant = np.array(
        [(q, pool.item_keys[i]) in expected for q, i in zip(query, item, strict=True)], bool
    )
    vector = pool.row_channel == pool.channels.index(VECTOR)
    held = {(query[n], pool.item_keys[item[n]]) for n in np.flatnonzero(relevant & ~vector)}
    best: dict[tuple[int, str], float] = {}
    for n in np.flatnonzero(relevant & vector).tolist():
        place = query[n], pool.item_keys[item[n]]
        if place not in held:
            best[place] = max(best.get(place, -1.0), float(pool.row_value[n]))
    found = []
    for floor in floors:
        cut = {q: floor - cosine for (q, _), cosine in best.items() if cosine < floor}
        near = sorted((margin, q) for q, margin in cut.items() if margin <= _NEAR)
        if near:
            found.append(
                Finding(
                    f"min_similarity {floor:g} cuts an answer that no other channel holds in "
                    f"{counted(len(cut), 'question')}, in these by less than {_NEAR:g}:",
                    tuple(f"{pool.query_ids[q]} ({margin:.3f})" for margin, q in near),
                )
            )
    share = _separation(pool.row_value[vector & relevant], pool.row_value[vector & ~relevant])
    if share is not None and share <= _INSEPARABLE:
        found.append(
            Finding(
                "min_similarity cannot tell answers from the rest: of an expected and another row, "
                f"the expected one has the higher cosine in {share:.0%} of the pairs."
            )
        )
    return found


def _separation(relevant: FloatArray, others: FloatArray) -> float | None:
    """Return the share of pairs in which the relevant value is higher, ties by half."""
    if not len(relevant) or not len(others):
        return None
    order = np.sort(others)
    below = np.searchsorted(order, relevant, side="left")
    not_above = np.searchsorted(order, relevant, side="right")
    return float((below + not_above).sum() / 2 / len(relevant) / len(others))


def _audit_half_lives(replay: Replay, settings: Sequence[Settings]) -> list[Finding]:
    """Say which half-lives leave nothing of any expected memory."""
    pool = replay.pool
    wanted = set(replay.judgments.keys)
    memory = pool.item_store == STORES.index("memory")
    chosen = np.array([key in wanted for key in pool.item_keys], bool) & memory
    ages = pool.item_age_days[chosen]
    if not len(ages) or bool(np.isnan(ages).any()):
        return []
    found = []
    for days in sorted({x.recency_half_life_days for x in settings} - {0.0}):
        largest = decay_factor(float(ages.min()), days)
        if largest < _NOTHING_LEFT:
            found.append(
                Finding(
                    f"recency_half_life_days {days:g} leaves every expected memory less than "
                    f"{_NOTHING_LEFT:g} of its score (the youngest {largest:.1e}): it sorts them "
                    "out, whatever the question."
                )
            )
    return found


def age_factors(pool: Pool, settings: Sequence[Settings]) -> dict[str, str]:
    """Return what each half-life leaves of a memory's score at the median and 95th percentile age.

    The keys say the half-life, the values both factors, for a table of facts.
    """
    memory = pool.item_store == STORES.index("memory")
    ages = pool.item_age_days[memory & ~np.isnan(pool.item_age_days)]
    half_lives = sorted({item.recency_half_life_days for item in settings} - {0.0})
    if not len(ages) or not half_lives:
        return {}
    median, late = np.quantile(np.maximum(ages, 0.0), (0.5, 0.95)).tolist()
    facts = {"memories' age: median, 95%": f"{median:.0f}, {late:.0f} days"}
    for days in half_lives:
        left = (decay_factor(float(age), days) for age in (median, late))
        facts[f"factor at half-life {days:g}"] = ", ".join(f"{factor:.3g}" for factor in left)
    return facts


def audit_ages(pool: Pool) -> list[Finding]:
    """Count the memories whose age is not plain."""
    ages = pool.provenance.get("engine", {}).get("ages", {})
    wording = {
        "missing": ("has no age", "have no age"),
        "unparseable": (
            "has an updated_at that is no date (2026-12-31, or a Unix time)",
            "have an updated_at that is no date (2026-12-31, or a Unix time)",
        ),
        "future": ("is dated after as_of", "are dated after as_of"),
    }
    found = []
    for kind, (one, many) in wording.items():
        if ages.get(kind) == 1:
            found.append(Finding(f"1 memory {one}; it does not decay."))
        elif ages.get(kind):
            found.append(Finding(f"{ages[kind]} memories {many}; they do not decay."))
    return found
