"""What a golden set and a pool cannot show, said before anyone trusts a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sweeper.corpus import STORES
from sweeper.golden import GoldenSet
from sweeper.knobs import Value
from sweeper.metrics import Metric
from sweeper.pools import VECTOR, Pool
from sweeper.replay import Replay

__all__ = [
    "SMALL_SLICE",
    "Finding",
    "audit_ages",
    "audit_golden",
    "audit_knobs",
    "audit_pool",
    "counted",
]

SMALL_SLICE = 10
"""Below this, one question moves a slice's figure by more than 0.1."""

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
        The fewest rows that a setting returns.
    """
    found = []
    for name in golden.slices:
        size = sum(query.slice == name for query in golden.queries)
        if size < SMALL_SLICE:
            found.append(
                Finding(
                    f"slice {name} has {counted(size, 'question')}: one of them is worth "
                    f"{1 / size:.3f}, so small differences say nothing."
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


def audit_knobs(pool: Pool, space: Mapping[str, Sequence[Value]]) -> list[Finding]:
    """Name knobs of a space that cannot change any ranking of what was captured."""
    found = []
    channels = np.unique(pool.row_channel)
    if len(space.get("rrf_k", ())) > 1 and len(channels) == 1:
        found.append(Finding("rrf_k changes nothing here: one channel alone retrieves anything."))
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


def audit_ages(pool: Pool) -> list[Finding]:
    """Count the memories whose age is not plain."""
    ages = pool.provenance.get("engine", {}).get("ages", {})
    wording = {
        "missing": ("has no age", "have no age"),
        "unparseable": ("has an updated_at that is no date", "have an updated_at that is no date"),
        "future": ("is dated after as_of", "are dated after as_of"),
    }
    found = []
    for kind, (one, many) in wording.items():
        if ages.get(kind) == 1:
            found.append(Finding(f"1 memory {one}; it does not decay."))
        elif ages.get(kind):
            found.append(Finding(f"{ages[kind]} memories {many}; they do not decay."))
    return found
