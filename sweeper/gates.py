"""Gate rules: do today's figures hold against committed ones? Values in, verdict out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sweeper.baseline import GATED, Baseline, round_to
from sweeper.golden import OVERALL
from sweeper.paired import fewest_to_differ, sign_flip_test

__all__ = ["GatePolicy", "Line", "Verdict", "can_be_tested", "judge"]

GatePolicy = Literal["strict", "tolerance", "significant", "direction"]

_LEVEL = 0.05
_HARD_BREAK = 0.5
"""One question whose reciprocal rank falls by more than this fails the ``significant`` policy by
itself: its answer stood first, and is now third or lower, or gone."""

_COARSE = 3
"""With fewer decimals a baseline may hide the loss of a question."""

_ROUNDING = 1e-12
_SEED = 19_930_101
_NOTHING = Baseline({}, 0)


@dataclass(frozen=True, slots=True)
class Line:
    """One slice and metric of a verdict.

    ``outcome`` is ``ok``, ``better``, ``worse``, ``undecided``, ``new``, ``vanished``, ``noise``
    (lower by no more than identical calls of a live engine differ) or ``reported`` (lower, but not
    gated); ``reason`` says why the line fails or is undecided.
    """

    slice: str
    metric: str
    baseline: float | None
    now: float | None
    outcome: str
    n_queries: int
    reason: str = ""

    @property
    def difference(self) -> float | None:
        if self.baseline is None or self.now is None:
            return None
        return self.now - self.baseline


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a gate decides: ``pass``, ``fail`` or ``undecided``.

    ``changed`` says what differs from what the baseline was measured on (and whether its figures
    are too coarse), which is to be read first; ``lost`` names questions
    whose answer stands lower than in the baseline, with both positions (0 is absent).
    """

    outcome: Literal["pass", "fail", "undecided"]
    policy: GatePolicy
    lines: tuple[Line, ...]
    changed: tuple[str, ...]
    lost: tuple[tuple[str, int, int], ...]
    reasons: tuple[str, ...]


def can_be_tested(metric: str) -> bool:
    """Return whether ``significant`` can test a metric: by where the first expected document is."""
    return _of_position(metric) is not None


def judge(
    baseline: Baseline | None,
    now: Baseline,
    *,
    n_queries: Mapping[str, int],
    policy: GatePolicy = "strict",
    tolerance: Mapping[str, float] | float = 0.0,
    slices: Mapping[str, str] | None = None,
    spread: Mapping[str, float] | None = None,
    unstable: frozenset[str] = frozenset(),
    gated: Collection[str] = GATED,
) -> Verdict:
    """Compare today's figures with a baseline.

    Parameters
    ----------
    baseline
        Committed figures; for ``direction`` those of the last deploy, or ``None``.
    now
        Today's figures in full precision, with first positions.
    n_queries
        Questions per figure address (``entity.mrr``).
    policy
        ``strict``: no gated figure may be lower. ``tolerance``: none may be lower by more than the
        slice's tolerance. ``significant``: a fall counts if a paired test over the questions has
        p <= 0.05, and where ``mrr`` is gated one question that breaks hard counts by itself; needs
        first positions in the baseline, and tests ``recall@10`` too by the first expected document;
        a fall that is not ``can_be_tested`` is undecided. ``direction``: figures
        were produced, none is zero that was not, none is lower.
    tolerance
        Allowed fall, one for all or per slice.
    slices
        Question id to slice, for ``significant``.
    spread
        Figure address to how far identical calls of a live engine lie apart: no policy counts a
        fall within it.
    unstable
        Questions that identical calls answer differently; none of them breaks hard.
    gated
        Metrics whose fall fails; others are reported. More of each is better.
    """
    before, renamed = (_NOTHING if baseline is None else baseline).beside(now.asked)
    lines = [
        _line(group, metric, before, now, n_queries, metric in gated)
        for group in dict.fromkeys([*before.figures, *now.figures])
        for metric in dict.fromkeys([*before.figures.get(group, {}), *now.figures.get(group, {})])
    ]
    if policy == "direction":
        lines = [_zero(line) if line.metric in gated else line for line in lines]
    elif policy == "tolerance":
        lines = [_tolerated(line, tolerance, before.decimals) for line in lines]
    elif policy == "significant":
        lines = [_significant(line, before, now, slices or {}) for line in lines]
    lines = [_beyond_noise(line, spread or {}, before.decimals) for line in lines]
    reasons = [f"{line.slice}.{line.metric}: {line.reason}" for line in lines if line.reason]
    failed = any(line.outcome in {"worse", "vanished"} for line in lines)
    if policy == "significant" and "mrr" in gated:
        broken = [item for item in _broken(before, now) if item[0] not in unstable]
        failed |= bool(broken)
        reasons += [f"{query}: stood first, now {_place(after)}" for query, after in broken]
    if not any(metric in gated for table in now.figures.values() for metric in table):
        failed = True
        reasons.append("no figures were produced")
    undecided = any(line.outcome == "undecided" for line in lines)
    return Verdict(
        outcome="fail" if failed else "undecided" if undecided else "pass",
        policy=policy,
        lines=tuple(lines),
        changed=(*_changes(before, now), *([] if renamed is None else [renamed])),
        lost=_lost(before, now),
        reasons=tuple(reasons),
    )


def _line(
    group: str,
    metric: str,
    before: Baseline,
    now: Baseline,
    n_queries: Mapping[str, int],
    gated: bool,
) -> Line:
    """Compare one figure strictly, at the decimals of the file."""
    old = before.figures.get(group, {}).get(metric)
    new = now.figures.get(group, {}).get(metric)
    count = n_queries.get(f"{group}.{metric}", 0)
    if new is None:
        reason = "the slice vanished" if group not in now.figures else "is no longer measured"
        outcome = "vanished" if gated else "reported"
        return Line(group, metric, old, None, outcome, count, reason if gated else "")
    if old is None:
        held = any(metric in table for table in before.figures.values())
        if gated and held and before.golden is not None and before.golden == now.golden:
            reason = "the baseline lacks it, though it is of today's golden set"
            return Line(group, metric, None, new, "vanished", count, reason)
        return Line(group, metric, None, new, "new", count)
    shown = round_to(new, before.decimals)
    if shown >= old:
        return Line(group, metric, old, new, "ok" if shown == old else "better", count)
    if not gated:
        return Line(group, metric, old, new, "reported", count)
    return Line(group, metric, old, new, "worse", count, f"fell from {old:g} to {shown:g}")


def _zero(line: Line) -> Line:
    """Fail a slice without a single hit, unless it had none before either."""
    if line.now == 0 and line.baseline != 0:
        return replace(line, outcome="worse", reason=line.reason or "is zero")
    return line


def _tolerated(line: Line, tolerance: Mapping[str, float] | float, decimals: int) -> Line:
    if line.outcome != "worse" or line.baseline is None or line.now is None:
        return line
    allowed = tolerance if isinstance(tolerance, int | float) else tolerance.get(line.slice, 0.0)
    if line.baseline - round_to(line.now, decimals) <= allowed + _ROUNDING:
        return replace(line, outcome="ok", reason="")
    return replace(line, reason=f"{line.reason}, more than the allowed {allowed:g}")


def _beyond_noise(line: Line, spread: Mapping[str, float], decimals: int) -> Line:
    """Let no fall count that identical calls of the engine show, too."""
    noise = spread.get(f"{line.slice}.{line.metric}", 0.0)
    if not noise or line.outcome not in {"worse", "undecided"} or line.baseline is None:
        return line
    if line.now is not None and line.baseline - round_to(line.now, decimals) <= noise + _ROUNDING:
        return replace(line, outcome="noise", reason="")
    return replace(line, reason=f"{line.reason}, beyond the {noise:.2g} of identical calls")


def _significant(line: Line, before: Baseline, now: Baseline, slices: Mapping[str, str]) -> Line:
    """Let a fall count if the questions themselves fell by more than luck."""
    if line.outcome != "worse":
        return line
    value = _of_position(line.metric)
    if value is None:
        reason = f"{line.reason}; where the first answer stands does not tell {line.metric}"
        return replace(line, outcome="undecided", reason=reason)
    falls = np.array(
        [
            value(before.first_positions[query]) - value(position)
            for query, position in now.first_positions.items()
            if query in before.first_positions and line.slice in (OVERALL, slices.get(query))
        ]
    )
    if not len(falls):
        reason = f"{line.reason}; the baseline has no positions to test"
        return replace(line, outcome="undecided", reason=reason)
    test = sign_flip_test(falls, seed=_SEED, one_sided=True, level=_LEVEL)
    if test.p_value <= _LEVEL:
        return replace(line, reason=f"{line.reason}, p = {test.p_value:.3f}")
    if not test.resolvable:
        fewest = fewest_to_differ(_LEVEL, one_sided=True)
        reason = f"{line.reason}; {test.n_differ} moved, and fewer than {fewest} cannot tell"
        return replace(line, outcome="undecided", reason=reason)
    return replace(line, outcome="ok", reason="")


def _broken(before: Baseline, now: Baseline) -> list[tuple[str, int]]:
    """Return the questions that break hard, with where their answer stands now."""
    return [
        (query, now.first_positions[query])
        for query, position in before.first_positions.items()
        if query in now.first_positions
        and _reciprocal(position) - _reciprocal(now.first_positions[query]) > _HARD_BREAK
    ]


def _place(position: int) -> str:
    return f"at {position}" if position else "not returned"


def _reciprocal(position: int) -> float:
    return 1.0 / position if position else 0.0


def _of_position(metric: str) -> Callable[[int], float] | None:
    """Return what a metric says of the first expected document alone, if it says anything."""
    name, at, cutoff = metric.partition("@")
    if metric == "mrr":
        return _reciprocal
    if not at or name not in {"recall", "hit"}:
        return None
    return lambda position: float(0 < position <= int(cutoff))


def _changes(baseline: Baseline, now: Baseline) -> tuple[str, ...]:
    named = (
        ("golden set", baseline.golden, now.golden),
        ("corpus", baseline.corpus, now.corpus),
        ("engine", baseline.engine, now.engine),
        ("usage log", baseline.usage, now.usage),
        ("settings", baseline.settings, now.settings),
    )
    found = [
        f"the {name} changed since the baseline"
        for name, before, after in named
        if before is not None and before != after  # a file may not say
    ]
    if baseline.figures and baseline.decimals < _COARSE:
        seen = 0.5 * 10.0**-baseline.decimals
        found.append(
            f"the baseline's figures have at most {baseline.decimals} decimals, so that a fall of "
            f"less than {seen:g} may not be seen"
        )
    return tuple(found)


def _lost(baseline: Baseline, now: Baseline) -> tuple[tuple[str, int, int], ...]:
    """Return the questions whose answer stands lower, the deepest fall first."""
    lost = [
        (query, before, now.first_positions[query])
        for query, before in baseline.first_positions.items()
        if query in now.first_positions
        and _reciprocal(now.first_positions[query]) < _reciprocal(before)
    ]
    return tuple(sorted(lost, key=lambda item: _reciprocal(item[2]) - _reciprocal(item[1])))
