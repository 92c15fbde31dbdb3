"""Baseline files: ours, and SOAT's. A figure is compared at the decimals of its file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

from sweeper.errors import InputError, Problem
from sweeper.files import read_text
from sweeper.formats.values import counted, listed
from sweeper.golden import OVERALL
from sweeper.metrics import METRICS

__all__ = [
    "GATED",
    "Baseline",
    "read_baseline",
    "render_baseline",
    "round_to",
    "without_corpus",
]

GATED = ("recall@10", "mrr")
"""Metrics whose fall fails a gate unless others are named; the rest is reported. ``recall@10``
cannot see a pure demotion, so ``mrr`` is read too."""

_VERSION = 1
_DECIMALS = 4
_MOST_DECIMALS = 17
"""More than a double has."""

_DEEPEST = 1_000_000_000
"""No ranking is as deep."""

_SHARES = frozenset(name for name, metric in METRICS.items() if metric.larger_is_better)
"""Metrics from 0 to 1."""


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
        What the figures were measured on: two digests, and the engine's fingerprint without the
        corpus's; ``None`` if the file does not say.
    settings
        Canonical text of the settings, if the file says.
    usage
        Digest of the usage logs, empty where there are none, if the file says.
    first_positions
        Question id to position of its first expected document (0 is absent), if the file has them.
    asked
        Question id to what changes with its text, filter and user, if the file has them.
    """

    figures: Mapping[str, Mapping[str, float]]
    decimals: int
    golden: str | None = None
    corpus: str | None = None
    engine: str | None = None
    settings: str | None = None
    usage: str | None = None
    first_positions: Mapping[str, int] = field(default_factory=dict)
    asked: Mapping[str, str] = field(default_factory=dict)

    def beside(self, asked: Mapping[str, str]) -> tuple[Baseline, str | None]:
        """Return it without the positions of questions whose ids now mean others, and a note.

        Parameters
        ----------
        asked
            Today's questions, as ``asked``.
        """
        other = {q for q, mark in self.asked.items() if asked.get(q, mark) != mark}
        if not other:
            return self, None
        kept = {q: place for q, place in self.first_positions.items() if q not in other}
        have = "has" if len(other) == 1 else "have"
        note = (
            f"{counted(len(other), 'id')} of the baseline now {have} another question "
            f"({listed(sorted(other))}): not compared one by one. Without ids of "
            "their own, questions are numbered by their rows"
        )
        return replace(self, first_positions=kept), note


def without_corpus(fingerprint: str | None, corpus: str | None) -> str | None:
    """Return an engine's fingerprint without the corpus's digest, which changes for itself.

    Examples
    --------
    >>> without_corpus("embedded/1 corpus=abc match=any", "abc")
    'embedded/1 match=any'
    """
    if fingerprint is None:
        return None
    return " ".join(part for part in fingerprint.split() if not part.endswith(f"={corpus}"))


def round_to(value: float, decimals: int) -> float:
    """Round a figure to the decimals of a file.

    Examples
    --------
    >>> round_to(2 / 3, 4)
    0.6667
    """
    return float(f"{value:.{decimals}f}")


def read_baseline(path: str | Path, *, gated: Sequence[str] = ()) -> Baseline:
    """Read a baseline: ours, or SOAT's (``metrics`` and ``by_kind`` with ``recall_at_10``).

    Parameters
    ----------
    path
        A JSON file.
    gated
        Metrics each of which it must hold; without any, one of ``GATED``.

    Raises
    ------
    InputError
        If the file is missing, broken, or holds no figure that a gate could compare.
    """
    name = str(path)
    if not Path(path).exists():
        raise InputError(Problem(f"there is no such file. {_REMEDY}", name))
    if Path(path).is_file() and not Path(path).stat().st_size:
        raise InputError(Problem(f"is empty. {_REMEDY}", name))
    try:
        data = json.loads(read_text(path), parse_float=Decimal, parse_int=Decimal)
    except (ValueError, ArithmeticError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise InputError(Problem(f"is not valid JSON: {error}. {_REMEDY}", name, line)) from error
    data = _mapping(data, name, None)
    raw = data.get("figures")
    if raw is None and "by_kind" in data:
        raw = {
            OVERALL: data.get("metrics", {}),
            **_mapping(data["by_kind"], name, "by_kind"),
        }
    figures, decimals = _figures(_mapping({} if raw is None else raw, name, "figures"), name)
    held = {metric for table in figures.values() for metric in table}
    for metric in gated:
        if metric not in held:
            remedy = f"{_REMEDY} --metric {metric}"
            raise InputError(Problem(f"holds no {metric} of any slice. {remedy}", name))
    if not gated and not held.intersection(GATED):
        raise InputError(Problem(f"holds neither recall@10 nor mrr of any slice. {_REMEDY}", name))
    positions = data.get("first_positions")
    if positions is None:
        positions = _soat_positions(data.get("queries"), name)
    return Baseline(
        figures=figures,
        decimals=decimals,
        golden=_text(data.get("golden")),
        corpus=_text(data.get("corpus")),
        engine=_text(data.get("engine")),
        settings=_text(data.get("settings")),
        usage=_text(data.get("usage")),
        first_positions={
            query: _position(place, name, query)
            for query, place in _mapping(positions, name, "first_positions").items()
        },
        asked={
            query: str(mark)
            for query, mark in _mapping(data.get("asked", {}), name, "asked").items()
        },
    )


_REMEDY = "Make it with: sweep gate CONFIG --update-baseline"


def _figures(raw: Mapping[str, Any], path: str) -> tuple[dict[str, dict[str, float]], int]:
    """Return the figures of every slice, and the most decimals of any."""
    figures: dict[str, dict[str, float]] = {}
    decimals = 0
    for group, table in raw.items():
        figures[group] = {}
        for metric, value in _mapping(table, path, group).items():
            if not isinstance(value, Decimal) or not value.is_finite():
                where = f"{group}.{metric}"
                raise InputError(Problem(f"must be a number. {_REMEDY}", path, where=where))
            name = metric.replace("_at_", "@")
            if name.partition("@")[0] in _SHARES and not 0 <= value <= 1:
                where = f"{group}.{metric}"
                raise InputError(Problem(f"must be from 0 to 1. {_REMEDY}", path, where=where))
            figures[group][name] = float(value)
            decimals = max(decimals, -int(value.as_tuple().exponent))
    return figures, min(decimals, _MOST_DECIMALS)


def _mapping(value: Any, path: str, where: str | None) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise InputError(Problem(f"must be a JSON object. {_REMEDY}", path, where=where))
    return value


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _position(value: Any, path: str, query: str) -> int:
    whole = isinstance(value, Decimal) and value.is_finite() and 0 <= value <= _DEEPEST
    if not whole or value != value.to_integral_value():
        message = f"must be a position: 1, 2, ... or 0 for absent. {_REMEDY}"
        raise InputError(Problem(message, path, where=f"first_positions.{query}"))
    return int(value)


def _soat_positions(rows: Any, path: str) -> dict[str, Any]:
    if rows is None:
        return {}
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        message = f"must be a list of objects with an id. {_REMEDY}"
        raise InputError(Problem(message, path, where="queries"))
    return {str(row["id"]): row.get("first_relevant_rank") or Decimal(0) for row in rows}


def render_baseline(now: Baseline) -> str:
    """Return the text of a baseline file: sorted, without times, the same for the same figures.

    Every figure has its four decimals, ``1.0000`` too: they say how finely it may be compared.
    """
    figures = ",\n".join(
        f"    {_quoted(group)}: {{\n"
        + ",\n".join(f"      {_quoted(m)}: {v:.{_DECIMALS}f}" for m, v in sorted(table.items()))
        + "\n    }"
        for group, table in sorted(now.figures.items())
    )
    document = {
        "version": _VERSION,
        "settings": now.settings,
        "golden": now.golden,
        "corpus": now.corpus,
        "engine": now.engine,
        "usage": now.usage,
        "figures": None,
        "first_positions": dict(sorted(now.first_positions.items())),
        "asked": dict(sorted(now.asked.items())),
    }
    text = json.dumps(document, indent=2, ensure_ascii=False)
    # Inside a text the quotes would be escaped, so this is the key.
    return text.replace('"figures": null', f'"figures": {{\n{figures}\n  }}', 1) + "\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
