"""What a golden set and a pool cannot show, said before anyone trusts a figure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sweeper.golden import GoldenSet
from sweeper.metrics import Metric
from sweeper.pools import Pool
from sweeper.replay import Replay

__all__ = ["SMALL_SLICE", "Finding", "audit_ages", "audit_golden", "audit_pool"]

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
                    f"slice {name} has {size} questions: one of them is worth {1 / size:.3f}, so "
                    "small differences say nothing."
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
                f"{len(lost)} questions expect a document that no channel retrieves within depth "
                f"{pool.depth}; no setting can find it. Mend retrieval:",
                tuple(judgments.query_ids[query] for query in lost),
            )
        )
    held = (layout.ranks > 0).any(axis=1)
    for name, queries in zip(layout.channels, held, strict=True):
        if not queries.any():
            found.append(Finding(f"the {name} channel retrieves nothing for any question."))
    both = (layout.ranks > 0).all(axis=0).any()
    if held.all(axis=0).any() and not both and len(layout.channels) > 1:
        found.append(
            Finding("no row is in every channel of any question: do the channels name ids alike?")
        )
    return found + audit_ages(pool)


def audit_ages(pool: Pool) -> list[Finding]:
    """Count the memories whose age is not plain."""
    ages = pool.provenance.get("engine", {}).get("ages", {})
    wording = {
        "missing": "have no age",
        "unparseable": "have an updated_at that is no date",
        "future": "are dated after as_of",
    }
    return [
        Finding(f"{ages[kind]} memories {text}; they do not decay.")
        for kind, text in wording.items()
        if ages.get(kind)
    ]
