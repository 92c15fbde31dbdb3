"""Gates: do today's figures hold against a committed baseline?

Values in, verdict out; files are read by ``baseline`` functions here because their shape is part of
the rule: a figure is compared at the decimals of the file that it came from.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import numpy as np

from sweeper.errors import InputError, Problem
from sweeper.files import read_text
from sweeper.golden import OVERALL
from sweeper.paired import sign_flip_test
from sweeper.pools import FloatArray

__all__ = [
    "GATED",
    "Baseline",
    "GatePolicy",
    "Line",
    "Verdict",
    "judge",
    "read_baseline",
    "render_baseline",
    "round_to",
]

GatePolicy = Literal["strict", "tolerance", "significant", "direction"]

GATED = ("recall@10", "mrr")
"""Metrics whose fall fails the gate; others are reported. ``recall@10`` cannot see a pure demotion,
so ``mrr`` is read too."""

_VERSION = 1
_LEVEL = 0.05
_HARD_BREAK = 0.5
"""Fall of one question's reciprocal rank that fails the ``significant`` policy by itself: an answer
that was first is no longer returned, or stands third or lower."""

_SEED = 19_930_101


@dataclass(frozen=True, slots=True)
class Baseline:
    """Committed figures.

    Attributes
    ----------
    figures
        Slice (``overall`` among them) to metric to value.
    decimals
        Most decimals of any figure in the file.
    golden, corpus, engine
        What the figures were measured on: digests and the engine's fingerprint; ``None`` if the
        file does not say.
    settings
        Canonical text of the settings, if the file says.
    first_positions
        Question id to position of its first expected document, if the file has them.
    """

    figures: Mapping[str, Mapping[str, float]]
    decimals: int
    golden: str | None = None
    corpus: str | None = None
    engine: str | None = None
    settings: str | None = None
    first_positions: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Line:
    """One slice and metric of a verdict.

    ``outcome`` is ``ok``, ``better``, ``worse``, ``undecided``, ``new``, ``vanished`` or
    ``reported``; ``reason`` says why it fails.
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

    ``changed`` says what differs from what the baseline was measured on; ``lost`` names questions
    whose answer stands lower than in the baseline, with both positions (0 is absent).
    """

    outcome: Literal["pass", "fail", "undecided"]
    policy: GatePolicy
    lines: tuple[Line, ...]
    changed: tuple[str, ...]
    lost: tuple[tuple[str, int, int], ...]
    reasons: tuple[str, ...]


def judge(
    baseline: Baseline,
    now: Baseline,
    *,
    n_queries: Mapping[str, int],
    policy: GatePolicy = "strict",
    tolerance: Mapping[str, float] | float = 0.0,
    slices: Mapping[str, str] | None = None,
    previous: Baseline | None = None,
) -> Verdict:
    """Compare today's figures with a baseline.

    Parameters
    ----------
    baseline, now
        Figures; ``now`` in full precision, with first positions.
    n_queries
        Questions per slice and overall.
    policy
        ``strict``: no gated figure may be lower. ``tolerance``: none may be lower by more than the
        slice's tolerance. ``significant``: a fall counts if a paired test over the questions has
        p <= 0.05, or one question breaks hard; needs first positions in the baseline.
        ``direction``: figures were produced, none fell to zero, and none is lower than in
        ``previous``; values of the baseline are not compared.
    tolerance
        Allowed fall, one for all or per slice.
    slices
        Question id to slice, for ``significant``.
    previous
        Figures of the last deploy, for ``direction``.
    """
    against = previous if policy == "direction" and previous is not None else baseline
    lines, reasons = [], []
    groups = list(dict.fromkeys([*against.figures, *now.figures]))
    for group in groups:
        before, after = against.figures.get(group, {}), now.figures.get(group, {})
        for metric in dict.fromkeys([*before, *after]):
            line = _line(
                group, metric, before.get(metric), after.get(metric), against, n_queries, policy
            )
            line = _decide(line, policy, tolerance, against, now, slices or {})
            lines.append(line)
            if line.reason:
                reasons.append(f"{group}.{metric}: {line.reason}")
    if not now.figures or all(v is None for line in lines for v in [line.now]):
        reasons.append("no figures were produced")
    outcome: Literal["pass", "fail", "undecided"] = "pass"
    if any(line.outcome == "undecided" for line in lines):
        outcome = "undecided"
    if any(line.outcome in {"worse", "vanished"} and line.reason for line in lines) or (
        reasons and reasons[-1] == "no figures were produced"
    ):
        outcome = "fail"
    return Verdict(
        outcome,
        policy,
        tuple(lines),
        _changes(baseline, now),
        _lost(baseline, now),
        tuple(reasons),
    )


def _line(
    group: str,
    metric: str,
    before: float | None,
    after: float | None,
    against: Baseline,
    n_queries: Mapping[str, int],
    policy: GatePolicy,
) -> Line:
    count = n_queries.get(group, 0)
    if before is None:
        return Line(group, metric, None, after, "new", count)
    if after is None or math.isnan(after):
        gated = metric in GATED
        reason = "the slice vanished" if gated else ""
        return Line(group, metric, before, None, "vanished" if gated else "reported", count, reason)
    shown = round_to(after, against.decimals)
    outcome = "ok" if shown == before else "better" if shown > before else "worse"
    return Line(group, metric, before, after, outcome, count)


def _decide(
    line: Line,
    policy: GatePolicy,
    tolerance: Mapping[str, float] | float,
    against: Baseline,
    now: Baseline,
    slices: Mapping[str, str],
) -> Line:
    """Return the line with its reason to fail, or with another outcome where it does not."""
    if line.outcome != "worse" or line.baseline is None or line.now is None:
        return line
    if line.metric not in GATED:
        return _with(line, "reported")
    fall = line.baseline - round_to(line.now, against.decimals)
    text = f"fell from {line.baseline:g} to {round_to(line.now, against.decimals):g}"
    if policy == "strict":
        return _with(line, "worse", text)
    if policy == "direction":
        return _with(line, "worse", text)
    if policy == "tolerance":
        allowed = (
            tolerance if isinstance(tolerance, int | float) else tolerance.get(line.slice, 0.0)
        )
        if fall > allowed + 1e-12:
            return _with(line, "worse", f"{text}, more than the allowed {allowed:g}")
        return _with(line, "ok")
    return _significant(line, text, against, now, slices)


def _significant(
    line: Line, text: str, against: Baseline, now: Baseline, slices: Mapping[str, str]
) -> Line:
    pairs = [
        (query, against.first_positions[query], position)
        for query, position in now.first_positions.items()
        if query in against.first_positions and line.slice in (OVERALL, slices.get(query))
    ]
    if not pairs:
        return _with(line, "undecided", f"{text}; the baseline has no positions to test")
    falls = np.array([_reciprocal(after) - _reciprocal(before) for _, before, after in pairs])
    broken = [q for (q, _, _), fall in zip(pairs, falls, strict=True) if fall <= -_HARD_BREAK]
    if broken:
        named = ", ".join(broken[:3]) + (" and more" if len(broken) > 3 else "")
        return _with(line, "worse", f"{text}; {named} broke")
    values: FloatArray = -falls
    test = sign_flip_test(values, seed=_SEED, one_sided=True, level=_LEVEL)
    if test.p_value <= _LEVEL:
        return _with(line, "worse", f"{text}, p = {test.p_value:.3f}")
    if not test.resolvable:
        return _with(line, "undecided", f"{text}; {test.n_differ} questions moved, too few to tell")
    return _with(line, "ok")


def _reciprocal(position: int) -> float:
    return 1.0 / position if position else 0.0


def _with(line: Line, outcome: str, reason: str = "") -> Line:
    return Line(line.slice, line.metric, line.baseline, line.now, outcome, line.n_queries, reason)


def _changes(baseline: Baseline, now: Baseline) -> tuple[str, ...]:
    named = (
        ("golden set", baseline.golden, now.golden),
        ("corpus", baseline.corpus, now.corpus),
        ("engine", baseline.engine, now.engine),
        ("settings", baseline.settings, now.settings),
    )
    return tuple(
        f"the {name} changed since the baseline"
        for name, before, after in named
        if before is not None and before != after
    )


def _lost(baseline: Baseline, now: Baseline) -> tuple[tuple[str, int, int], ...]:
    """Return the questions whose answer stands lower, the deepest fall first."""
    lost = [
        (query, before, now.first_positions.get(query, 0))
        for query, before in baseline.first_positions.items()
        if before and _reciprocal(now.first_positions.get(query, 0)) < _reciprocal(before)
    ]
    return tuple(sorted(lost, key=lambda item: _reciprocal(item[2]) - _reciprocal(item[1])))


def round_to(value: float, decimals: int) -> float:
    """Round a figure to the decimals of a file; 2/3 at four decimals is 0.6667."""
    return float(f"{value:.{decimals}f}")


def read_baseline(path: str | Path) -> Baseline:
    """Read a baseline: ours, or SOAT's (``metrics`` and ``by_kind`` with ``recall_at_10``).

    Raises
    ------
    InputError
        If the file is missing, broken, or holds no figures.
    """
    text = read_text(path)
    try:
        data = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(Problem(f"is no valid JSON ({error}).", str(path), line)) from error
    if not isinstance(data, dict):
        raise InputError(Problem("a baseline is a JSON object.", str(path)))
    raw = data.get("figures")
    if raw is None and "by_kind" in data:
        raw = {OVERALL: data.get("metrics", {}), **_mapping(data["by_kind"], path, "by_kind")}
    if not isinstance(raw, dict) or not raw:
        raise InputError(
            Problem(
                "holds no figures. Make it with: sweep gate CONFIG --update-baseline", str(path)
            )
        )
    figures: dict[str, dict[str, float]] = {}
    decimals = 0
    for group, table in raw.items():
        figures[group] = {}
        for metric, value in _mapping(table, path, group).items():
            if not isinstance(value, Decimal) or not value.is_finite():
                raise InputError(Problem("must be a number.", str(path), where=f"{group}.{metric}"))
            figures[group][_metric_name(metric)] = float(value)
            decimals = max(decimals, -int(value.as_tuple().exponent))
    positions = data.get("first_positions") or _soat_positions(data.get("queries"))
    return Baseline(
        figures=figures,
        decimals=decimals,
        golden=_text(data.get("golden")),
        corpus=_text(data.get("corpus")),
        engine=_text(data.get("engine")),
        settings=_text(data.get("settings")),
        first_positions={str(q): int(p) for q, p in _mapping(positions, path, "").items()},
    )


def _mapping(value: Any, path: str | Path, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(Problem("must be an object.", str(path), where=where or None))
    return value


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _metric_name(name: str) -> str:
    """Return ``recall@10`` for ``recall_at_10``."""
    return name.replace("_at_", "@")


def _soat_positions(rows: Any) -> dict[str, int]:
    if not isinstance(rows, list):
        return {}
    return {
        str(row["id"]): int(row.get("first_relevant_rank") or 0)
        for row in rows
        if isinstance(row, dict) and "id" in row
    }


def render_baseline(now: Baseline, *, decimals: int = 4) -> str:
    """Return the text of a baseline file: sorted, without times, the same for the same figures."""
    figures = {
        group: {metric: round_to(v, decimals) for metric, v in sorted(table.items()) if v == v}
        for group, table in sorted(now.figures.items())
    }
    document = {
        "version": _VERSION,
        "settings": now.settings,
        "golden": now.golden,
        "corpus": now.corpus,
        "engine": now.engine,
        "figures": {group: table for group, table in figures.items() if table},
        "first_positions": dict(sorted(now.first_positions.items())),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
