"""What the published figures of routing say in words: what moved, what did not, what chance does.

A verdict is that of an interval; here it is only worded. Tables are in ``tests.routing_page``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from tests.markdown import table

__all__ = [
    "METRICS",
    "NOT_SHOWN",
    "Published",
    "bullets",
    "chance",
    "disagreements",
    "four",
    "interval",
    "listed",
    "plural",
    "said",
    "signed",
    "three",
    "verdicts",
]

Published: TypeAlias = Mapping[str, Any]

METRICS = {"recall@5": "recall@5", "mrr": "MRR", "citation_precision": "citation precision"}

NOT_SHOWN = "no difference shown"


def said(found: Published) -> str:
    """Return what moved, what got worse and what did not, as sentences.

    Parameters
    ----------
    found
        What ``measure`` returned. Verdicts are those of its intervals.
    """
    return (
        "\n".join(
            [
                "What got better (the interval lies above 0):\n",
                bullets(_with_verdict(found, "better")) or "- nothing\n",
                "What got worse (the interval lies below 0):\n",
                bullets(_with_verdict(found, "worse")) or "- nothing\n",
                "Where no slice and no overall figure shows a difference:\n",
                bullets(_unmoved(found)) or "- nowhere\n",
            ]
        ).rstrip("\n")
        + "\n"
    )


def _with_verdict(found: Published, verdict: str) -> list[str]:
    lines = []
    for name, metrics in found["moves"].items():
        parts = []
        for metric, groups in metrics.items():
            mine = {group: move for group, move in groups.items() if move["verdict"] == verdict}
            if not mine:
                continue
            overall = mine.pop("overall", None)
            texts = [f"overall {interval(overall)}{_few(overall)}"] if overall else []
            texts += [
                f"{group} {signed(move['difference'])}{_few(move)}" for group, move in mine.items()
            ]
            parts.append(f"{METRICS[metric]} {', '.join(texts)}")
        if parts:
            lines.append(f"`{name}` against `{found['arms'][name]['against']}`: {'; '.join(parts)}")
    return lines


def _few(move: Published) -> str:
    """Return a remark where too few questions differ for a paired test to show anything."""
    if move["differ"] >= _RESOLVABLE:
        return ""
    return f" on {plural(move['differ'], 'question', 'questions')} only"


_RESOLVABLE = 6  # two-sided; docs/methods.md, paired tests


def _unmoved(found: Published) -> list[str]:
    lines = []
    same = [n for n, arm in found["arms"].items() if n != "today" and arm["otherwise"] == 0]
    if same:
        names = listed([f"`{n}` (against `{found['arms'][n]['against']}`)" for n in same])
        lines.append(f"{names}: every question is answered as before")
    for name, metrics in found["moves"].items():
        still = [
            METRICS[metric]
            for metric, groups in metrics.items()
            if all(move["verdict"] == NOT_SHOWN for move in groups.values())
        ]
        if still and name not in same:
            n = found["arms"][name]["otherwise"]
            changed = plural(n, "question is", "questions are")
            lines.append(f"`{name}`: {listed(still)}, though {changed} answered otherwise")
    return lines


def verdicts(metrics: Published) -> str:
    """Return what one arm moves overall, in a few words."""
    parts = []
    for verdict in ("better", "worse"):
        mine = [
            f"{METRICS[metric]} {signed(groups['overall']['difference'])}"
            for metric, groups in metrics.items()
            if groups["overall"]["verdict"] == verdict
        ]
        if mine:
            parts.append(f"{verdict}: {', '.join(mine)}")
    return "; ".join(parts) or NOT_SHOWN


def disagreements(small: Published, large: Published) -> str:
    """Return where the overall verdicts of two corpora differ: a sentence and a table."""
    rows = []
    counts = {"same": 0, "one": 0, "opposite": 0}
    for name in small["moves"]:
        for metric in METRICS:
            if name not in large["moves"]:
                continue
            moves = [found["moves"][name][metric]["overall"] for found in (small, large)]
            verdicts = [move["verdict"] for move in moves]
            if verdicts[0] == verdicts[1]:
                counts["same"] += 1
                continue
            opposite = NOT_SHOWN not in verdicts
            counts["opposite" if opposite else "one"] += 1
            against = small["arms"][name]["against"]
            rows.append(
                [
                    f"`{name}` against `{against}`",
                    METRICS[metric],
                    *(f"{move['verdict']}: {interval(move)}" for move in moves),
                ]
            )
    n = sum(counts.values())
    sentence = (
        f"Of {n} overall verdicts that both wikis give, {counts['same']} "
        f"{'is' if counts['same'] == 1 else 'are'} the same. "
        f"{plural(counts['one'], 'time', 'times')} one of the two shows a difference that the "
        f"other does not, and {plural(counts['opposite'], 'time', 'times')} one says better where "
        "the other says worse."
    )
    if not rows:
        return f"{sentence}\n"
    return f"{sentence}\n\n{table(['arm', 'metric', 'small', 'large'], rows)}"


def chance(both: Mapping[str, Published]) -> str:
    """Return how many intervals exclude 0 and would by chance, and what a question is worth."""
    lines = []
    for size, found in both.items():
        moves = [
            move
            for metrics in found["moves"].values()
            for groups in metrics.values()
            for move in groups.values()
            if move["low"] is not None
        ]
        moved = [move for move in moves if move["verdict"] != NOT_SHOWN]
        few = sum(move["differ"] < _RESOLVABLE for move in moved)
        lines.append(
            f"Of the {len(moves)} intervals of 95 % on the {size} wiki, {len(moved)} exclude 0. "
            f"About {round(0.05 * len(moves))} would by chance, if no arm changed anything. "
            f"{few} of the {len(moved)} rest on fewer than {_RESOLVABLE} questions that differ."
        )
    for size, found in both.items():
        n = found["provenance"]["n_questions"]
        worth: dict[int, list[str]] = {}
        for name, count in found["questions"].items():
            worth.setdefault(count, []).append(name)
        texts = [
            f"{1 / count:.3f} of a figure of {listed(names)}" for count, names in worth.items()
        ]
        lines.append(
            f"On the {size} wiki one question is worth {1 / n:.3f} of an overall figure, "
            f"{listed(texts)}."
        )
    return bullets(lines)


def interval(move: Published) -> str:
    if move["low"] is None:
        return signed(move["difference"])
    return f"{signed(move['difference'])} ({signed(move['low'])} to {signed(move['high'])})"


def signed(value: float) -> str:
    # Exactly 0 is told apart from what rounds to it.
    return f"{value:+.3f}" if value else "0"


def three(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def four(value: float) -> str:
    return f"{value:.4f}"


def plural(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"


def listed(words: Sequence[str]) -> str:
    """Return words as English lists them."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def bullets(lines: Iterable[str]) -> str:
    return "".join(f"- {line}\n" for line in lines)
