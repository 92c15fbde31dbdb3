"""Two trials, or a trial and a baseline file: what changed, and for which questions."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sweeper.baseline import Baseline, round_to, without_corpus
from sweeper.compare import Difference, compare_values
from sweeper.errors import InputError
from sweeper.golden import OVERALL, Key
from sweeper.pools import FloatArray, asked_mark

if TYPE_CHECKING:
    from sweeper.results import Results

__all__ = ["Comparison", "Moved", "Side", "compare_trials", "compare_with_baseline"]

_SEED = 19_930_101
_MOVED_EXPLAINED = 20


@dataclass(frozen=True, slots=True)
class Side:
    """One trial of a finished sweep."""

    results: Results
    trial: int

    @property
    def address(self) -> str:
        return f"{self.results.address}#{self.trial}"

    @property
    def title(self) -> str:
        """The address, with the trial's arm where it is one."""
        return f"{self.results.address}{self.results.named(self.trial)}"

    def returned(self, query_id: str) -> list[Key]:
        """Return the key at every position of the trial's answer to one question."""
        return self.results.returned(self.trial, query_id)


@dataclass(frozen=True, slots=True)
class Moved:
    """A question whose answer stands elsewhere; position 0 is absent.

    ``overtook`` are the keys that stand before the answer now and did not before.
    """

    query_id: str
    slice: str
    text: str
    expected: tuple[Key, ...]
    before: int
    after: int
    overtook: tuple[Key, ...]

    @property
    def gain(self) -> float:
        """Change of the reciprocal rank."""
        return _reciprocal(self.after) - _reciprocal(self.before)


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two sides.

    Attributes
    ----------
    changed
        What else differs than the settings: golden set, corpus, engine.
    missing
        Questions that only one side has; they are left out.
    differences
        Per slice and metric; without tests where a side has figures alone.
    moved
        Questions whose answer moved, the greatest change first.
    """

    baseline: str
    challenger: str
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    differences: tuple[Difference, ...]
    moved: tuple[Moved, ...]

    def _repr_html_(self) -> str:
        from sweeper.reprs import comparison_html

        return comparison_html(self)


def compare_trials(baseline: Side, challenger: Side, *, seed: int = _SEED) -> Comparison:
    """Compare two trials question by question, joined by question id.

    Parameters
    ----------
    baseline, challenger
        Of one sweep or of two.
    seed
        Of tests and intervals.

    Raises
    ------
    InputError
        If they have no question in common.
    """
    ids = _common_ids(baseline, challenger)
    if not ids:
        raise InputError(
            f"{baseline.address} and {challenger.address} have no question in common. Compare "
            "sweeps of one golden set."
        )
    metrics = [
        str(metric)
        for metric in baseline.results.metrics
        if metric.larger_is_better and metric in challenger.results.metrics
    ]
    before = _values(baseline, ids, metrics)
    after = _values(challenger, ids, metrics)
    queries = {q.query_id: q for q in challenger.results.golden.queries}
    slices = tuple(dict.fromkeys(queries[query_id].slice for query_id in ids))
    slice_of = np.array([slices.index(queries[query_id].slice) for query_id in ids], np.intp)
    known = set(ids)
    either = [*baseline.results.golden.query_ids, *challenger.results.golden.query_ids]
    return Comparison(
        baseline=baseline.address,
        challenger=challenger.address,
        changed=_changed(baseline.results, challenger.results),
        missing=tuple(dict.fromkeys(q for q in either if q not in known)),
        differences=compare_values(before, after, slices, slice_of, seed=seed),
        moved=_moved(baseline, challenger, ids),
    )


def compare_with_baseline(baseline: Baseline, path: str, challenger: Side) -> Comparison:
    """Compare a trial with the figures of a baseline file.

    Figures are compared at the decimals of the file and have no tests; where the file has first
    positions, the questions that moved are listed.
    """
    results = challenger.results
    figures = results.figures
    own = figures[figures["trial_id"] == results.trials["trial_id"].iloc[challenger.trial]]
    differences = tuple(
        Difference(
            slice=str(row.slice),
            metric=str(row.metric),
            baseline=baseline.figures[str(row.slice)][str(row.metric)],
            challenger=round_to(float(row.value), baseline.decimals),
            interval=None,
            p_value=None,
            finding="untested",
            n_queries=int(row.n_queries),
            n_differ=0,
            needed=None,
        )
        for row in own.itertuples()
        if str(row.metric) in baseline.figures.get(str(row.slice), {})
    )
    table = results.per_query(challenger.trial)
    positions = dict(zip(table["query_id"], table["first_position"].tolist(), strict=True))
    queries = {q.query_id: q for q in results.golden.queries}
    baseline, renamed = baseline.beside({name: asked_mark(q) for name, q in queries.items()})
    moved = [
        Moved(q, queries[q].slice, queries[q].text, queries[q].expected, before, positions[q], ())
        for q, before in baseline.first_positions.items()
        if q in positions and positions[q] != before
    ]
    manifest, known = results.manifest, set(results.golden.slices)
    digests = (
        ("golden set", baseline.golden, manifest["golden"]["digest"]),
        ("corpus", baseline.corpus, manifest["corpus"]["digest"]),
    )
    changed = [
        f"the {name} changed"
        for name, theirs, ours in digests
        if theirs is not None and theirs != ours
    ]
    changed += [] if renamed is None else [renamed]
    changed += [
        f"the baseline's slice {group} is not in this sweep"
        for group in baseline.figures
        if group != OVERALL and group not in known
    ]
    return Comparison(
        baseline=path,
        challenger=challenger.address,
        changed=tuple(changed),
        missing=tuple(q for q in baseline.first_positions if q not in positions),
        differences=differences,
        moved=tuple(sorted(moved, key=lambda item: -abs(item.gain))),
    )


def _common_ids(baseline: Side, challenger: Side) -> list[str]:
    """Return the questions that both were asked: an id with another text is another question."""
    asked = {q.query_id: asked_mark(q) for q in baseline.results.golden.queries}
    queries = challenger.results.golden.queries
    return [q.query_id for q in queries if asked.get(q.query_id) == asked_mark(q)]


def _values(side: Side, ids: Sequence[str], metrics: Sequence[str]) -> Mapping[str, FloatArray]:
    table = side.results.per_query(side.trial).set_index("query_id").loc[list(ids)]
    return {metric: table[metric].to_numpy(np.float64) for metric in metrics}


def _changed(one: Results, other: Results) -> tuple[str, ...]:
    found = []
    for name in ("golden", "corpus"):
        if one.manifest[name]["digest"] != other.manifest[name]["digest"]:
            found.append(f"the {'golden set' if name == 'golden' else name} changed")
    engines = [
        without_corpus(
            item.manifest["pool"]["provenance"].get("fingerprint"),
            item.manifest["corpus"]["digest"],
        )
        for item in (one, other)
    ]
    if engines[0] != engines[1]:
        found.append("the engine changed")
    return tuple(found)


def _moved(baseline: Side, challenger: Side, ids: Sequence[str]) -> tuple[Moved, ...]:
    tables = [s.results.per_query(s.trial).set_index("query_id") for s in (baseline, challenger)]
    before, after = (table.loc[list(ids), "first_position"].tolist() for table in tables)
    queries = {q.query_id: q for q in challenger.results.golden.queries}
    moved = [
        Moved(q, queries[q].slice, queries[q].text, queries[q].expected, int(b), int(a), ())
        for q, b, a in zip(ids, before, after, strict=True)
        if b != a
    ]
    moved.sort(key=lambda item: (-abs(item.gain), item.query_id))
    return tuple(
        _explained(item, baseline, challenger) if place < _MOVED_EXPLAINED else item
        for place, item in enumerate(moved)
    )


def _explained(item: Moved, baseline: Side, challenger: Side) -> Moved:
    """Add which keys stand before the answer now and did not before."""
    was = _ahead(baseline.returned(item.query_id), item.expected)
    now = _ahead(challenger.returned(item.query_id), item.expected)
    overtook = tuple(key for key in now if key not in set(was))
    return Moved(
        item.query_id, item.slice, item.text, item.expected, item.before, item.after, overtook
    )


def _ahead(keys: Sequence[Key], expected: tuple[Key, ...]) -> list[Key]:
    ahead = itertools.takewhile(lambda key: key not in expected, keys)
    return list(dict.fromkeys(ahead))


def _reciprocal(position: int) -> float:
    return 1.0 / position if position else 0.0
