"""What ``pick``, ``compare`` and ``explain`` found, as people read it.

The terminal, notebooks and the report say the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from sweeper.knobs import knob
from sweeper.result_tables import Table
from sweeper.tables import Column, decimals, figure_label

if TYPE_CHECKING:
    from sweeper.compare import Difference
    from sweeper.comparison import Comparison
    from sweeper.explain import Explanation, Missing
    from sweeper.picked import Answer, Pick
    from sweeper.remedies import Remedy
    from sweeper.results import Results

__all__ = [
    "change_sentences",
    "comparison_table",
    "evidence_sentences",
    "explanation_sentences",
    "explanation_table",
    "headline",
    "is_supported",
    "origin",
    "pick_table",
    "premises",
    "shown_answers",
    "validation_sentences",
]


def headline(answer: Pick) -> str:
    """Say in a few words what to do; the settings follow."""
    if answer.keep:
        return "Keep what you have:"
    if answer.policy == "dominant":
        return "Not worse on these questions:"
    if is_supported(answer):
        return "Deploy (its gain is more than luck over all settings tried):"
    return "Best feasible (its gain may be luck):"


def is_supported(answer: Pick) -> bool:
    """Return whether the recommendation is a change whose gain is more than luck."""
    same = answer.supported is not None and answer.supported.trial == answer.chosen.trial
    return same and not answer.keep


def premises(found: Results, answer: Pick) -> list[str]:
    """Say why nothing is changed if so, which bounds hold, and which of them today's breaks."""
    lines = []
    if answer.keep:
        lines.append(_why_keep(found, answer))
    bounds = "; ".join(item.text for item in answer.constraints)
    if answer.constraints == found.constraints:
        lines.append(f"Constraints: {bounds}.")
    elif not found.constraints and answer.constraints == found.default_constraints:
        lines.append(
            "No constraint is given, so no slice's recall@10 or MRR may fall below today's."
        )
    else:
        own = ", in place of the sweep's own" if found.constraints else ""
        lines.append(f"Constraints{own}: {bounds}." if bounds else f"No constraints{own}.")
    return lines + [f"What runs today does not meet {text}." for text in answer.broken]


def _why_keep(found: Results, answer: Pick) -> str:
    first = answer.objectives[0]
    before, after = (first.gain(value) for value in answer.best.figures[first.address])
    if after > before:
        if answer.policy == "dominant":
            return (
                "No setting that meets the constraints answers some question better and none worse."
            )
        return "Nothing that meets the constraints gains more than luck could."
    said = f"No other setting that meets the constraints is better in {first.address}."
    wide = found.wide([first.address, *(item.address for item in answer.constraints)])
    gains = [first.gain(value) for value in wide[first.address].tolist()]
    best = max(range(len(gains)), key=lambda n: (gains[n] == gains[n], gains[n], -n))
    today = answer.chosen.trial
    if not gains[best] > gains[today]:
        return f"No other setting is better in {first.address}."
    broken = [
        item.text
        for item in answer.constraints
        if not item.holds(
            float(wide[item.address].iloc[best]), float(wide[item.address].iloc[today])
        )
    ]
    reached = f"{float(wide[first.address].iloc[best]):.4f}"
    return f"{said} {found.named(best)} reaches {reached} and breaks {', '.join(broken)}."


def shown_answers(answer: Pick) -> list[tuple[str, Answer]]:
    """Return the answers that are worth showing, each with what it is."""
    shown = [("best feasible", answer.best)]
    if answer.supported is not None and answer.supported.trial != answer.best.trial:
        shown.append(("supported", answer.supported))
    if answer.chosen.trial not in {item.trial for _, item in shown} and not answer.keep:
        shown.append((answer.policy, answer.chosen))
    return shown


def pick_table(found: Results | None, answer: Pick) -> Table:
    """Return the figures that decide, today's beside those of the answers worth showing.

    Parameters
    ----------
    found
        The sweep, which knows the names of its arms; without it a trial has its number alone.
    answer
        A recommendation.
    """
    shown = shown_answers(answer)
    names = [
        f"{name} {f'#{item.trial}' if found is None else found.named(item.trial)}"
        for name, item in shown
    ]
    return Table(
        "What decides",
        (Column("figure"), Column("current", "right"), *(Column(n, "right") for n in names)),
        tuple(
            (address, before, *(item.figures[address][1] for _, item in shown))
            for address, (before, _) in answer.best.figures.items()
        ),
    )


def origin(found: Results, item: Answer) -> str:
    """Name the trial that settings came from, with its own values where they were moved."""
    own = found.settings[item.trial]
    moved = [name for name in own.as_dict() if own.get(name) != item.settings.get(name)]
    if not moved:
        return f"trial {found.named(item.trial)}"
    values = ", ".join(f"{name}={knob(name).format(own.get(name))}" for name in moved)
    return f"from trial {found.named(item.trial)} with {values}; every answer is the same"


def evidence_sentences(answer: Pick, item: Answer) -> list[str]:
    """Say what speaks for one setting and against it: tests, intervals, ties, plateaus, ageing."""
    if answer.keep and item.trial == answer.chosen.trial:
        return _standing_sentences(answer, item)  # nothing differs from today
    first, score = answer.objectives[0].address, item.score
    lines = [
        f"{score.better} questions better, {score.worse} worse, {score.equal} equal"
        + (f", {score.mixed} both ways" if score.mixed else "")
        + f"; {item.n_differ} of {answer.n_questions} differ in {first}."
    ]
    if item.n_differ < answer.fewest_to_differ:
        lines.append(
            f"unresolvable: at least {answer.fewest_to_differ} must differ for any test to say yes."
        )
    lines.append(f"p = {item.p_value:.4f} (one-sided max-T test over {answer.n_trials} settings).")
    if item.interval is not None:
        low, high, method = item.interval.low, item.interval.high, item.interval.method
        lines.append(f"gain in {first}: 95% from {low:+.4f} to {high:+.4f} ({method}).")
    return lines + _standing_sentences(answer, item)


def _standing_sentences(answer: Pick, item: Answer) -> list[str]:
    """Say how a setting stands by itself: ties, plateaus, ageing."""
    first = answer.objectives[0].address
    lines = []
    if item.ties is None:
        lines.append(
            "the engine shows no candidates: nothing is known of ties, plateaus and ageing content."
        )
    elif item.ties[0] < item.ties[1]:
        low, high = item.ties
        lines.append(f"other orders of tied rows give {first} from {low:.4f} to {high:.4f}.")
    else:
        lines.append(f"ties: no order of tied rows changes {first}.")
    if item.ties is not None and not item.plateaus:
        lines.append("plateaus: not known, as a weight is beyond the range of exact curves.")
    for name, interval in item.plateaus.items():
        value = item.settings.get(name)
        text = f"{name}: same figures "
        if interval.low is None or interval.high is None:
            text += "at this value alone"
        else:
            text += f"from {interval.low:.6g} to {_upper_end(interval.high)}"
            if not value and not interval.with_point:
                text += " as here"
        if name in item.flips:
            flip = item.flips[name]
            who = flip.item_id or "an expected row"
            behind = f" behind {flip.other_id}" if flip.other_id else ""
            text += f"; first harm at {flip.at:.6g}: {who} falls{behind} ({flip.query_id})"
        lines.append(text + ".")
    known, horizon = item.known_days, answer.horizon_days
    if known is None:
        return lines
    if item.fails_after_days is None and known >= horizon:
        lines.append(f"as content ages unchanged, it holds for the {horizon:g} days asked for.")
    elif item.fails_after_days is None:
        lines.append(
            f"as content ages unchanged, it holds for {known:.1f} days (known to there)"
            + (f", and on day {horizon:g}." if math.isfinite(horizon) else ".")
        )
    elif item.fails_after_days > known:
        lines.append(
            f"as content ages unchanged, it holds for {known:.1f} days (known to there), but not "
            f"on day {horizon:g}: {item.fails}."
        )
    else:
        lines.append(
            f"as content ages unchanged, it fails after {item.fails_after_days:.1f} days: "
            f"{item.fails}."
        )
    return lines


def change_sentences(answer: Pick, item: Answer, comparison: Comparison | None) -> list[str]:
    """Say which figures a setting raises and lowers, beyond luck and otherwise.

    Parameters
    ----------
    answer, item
        A recommendation, and one of its answers.
    comparison
        The answer's trial against today's setting; ``None`` if it is today's.
    """
    if comparison is None:
        return []
    first = answer.objectives[0].address
    before, after = item.figures[first]
    supported = answer.supported is not None and answer.supported.trial == item.trial
    verdict = "more than luck over all settings tried" if supported else "it may be luck"
    lines = [f"{figure_label(first)} goes from {before:.4f} to {after:.4f}: {verdict}."]
    kinds: dict[str, Callable[[Difference], bool]] = {
        "Also better beyond luck": lambda item: item.finding == "better",
        "Worse beyond luck": lambda item: item.finding == "worse",
        "Higher, but it may be luck": lambda item: _may_be_luck(item) and item.difference > 0,
        "Lower, but it may be luck": lambda item: _may_be_luck(item) and item.difference < 0,
    }
    others = [one for one in comparison.differences if f"{one.slice}.{one.metric}" != first]
    for words, belongs in kinds.items():
        found = [
            f"{figure_label(f'{one.slice}.{one.metric}')} ({one.baseline:.4f} to "
            f"{one.challenger:.4f})"
            for one in others
            if belongs(one)
        ]
        if found:
            lines.append(f"{words}: {', '.join(found)}.")
    return lines


def _may_be_luck(item: Difference) -> bool:
    return item.finding in {"unclear", "unresolvable"}


def validation_sentences(answer: Pick) -> list[str]:
    """Say how the whole pick does on questions that did not choose it."""
    first = answer.objectives[0].address
    lines = [f"{answer.n_feasible} of {answer.n_trials} settings meet the constraints."]
    if answer.validated is None:
        lines.append("An objective's slice has under 6 questions: cannot be cross-validated.")
    else:
        v = answer.validated
        lines += [
            f"On questions that did not choose it, the {answer.policy} pick has {first} "
            f"{v.figure:.4f} (current {v.current:.4f});",
            f"  {v.n_folds} folds; {v.n_repeats} repeats gave {v.spread[0]:.4f} to "
            f"{v.spread[1]:.4f}; {v.kept:.0%} of the folds kept what runs today.",
            f"  Optimism, in sample minus that: {answer.optimism:+.4f}.",
        ]
    if answer.policy == "dominant":
        lines.append(
            "By luck alone a setting that is worse nowhere turns up in a fifth of sweeps over "
            "twenty-odd questions, and in most over ten (docs/methods.md)."
        )
    return lines


def comparison_table(comparison: Comparison, group: str | None = None) -> Table:
    """Return every slice and metric of two sides; where no question differs there is no interval.

    Parameters
    ----------
    comparison
        Two trials, or a trial and a baseline.
    group
        One slice; all unless given.
    """
    return Table(
        f"{comparison.baseline} against {comparison.challenger}",
        (
            Column("slice"),
            Column("metric"),
            Column("before", "right", decimals(3), key="baseline"),
            Column("after", "right", decimals(3), key="challenger"),
            Column("change", "right", _change),
            Column("95%", "right", _range, key="interval"),
            Column("p", "right", _p_value, key="p_value"),
            Column("finding"),
        ),
        tuple(
            (
                item.slice,
                item.metric,
                item.baseline,
                item.challenger,
                item.difference,
                None if item.finding == "same" else item.interval,
                item.p_value,
                item.finding,
            )
            for item in comparison.differences
            if group in (None, item.slice)
        ),
    )


def _change(value: float) -> str:
    return "=" if value == 0 else f"{value:+.3f}"


def _range(interval: Any) -> str:
    return "-" if interval is None else f"{interval.low:+.2f} {interval.high:+.2f}"


def _p_value(value: float | None) -> str:
    if value is None:
        return "-"
    return "<.001" if value < 0.001 else f"{value:.3f}"


def explanation_sentences(answer: Explanation) -> list[str]:
    """Say where expected rows are that are not returned, and what single knobs would help."""
    lines = [_missing_sentence(item, answer) for item in answer.missing]
    lines += [_remedy_sentence(remedy) for remedy in answer.remedies]
    if answer.query.answerable and answer.first_position != 1 and not answer.remedies:
        lines.append("No single knob improves this question.")
    if answer.untried:
        lines.append(
            f"Not tried: {', '.join(answer.untried)}, which the safe weight of triples follows. "
            "Give that weight a number."
        )
    return lines


def explanation_table(answer: Explanation) -> Table:
    """Return what is returned, best first: rank and value per channel, age, factors, score."""
    channels = tuple(answer.weights)
    boosted = answer.settings.prior is not None or any(row.prior != 1 for row in answer.rows)
    columns = (
        Column("", "right", key="position"),
        Column("row", key="item_id"),
        *(Column(name, key=f"{name}_rank") for name in channels),
        Column("age", "right", _days, key="age_days"),
        Column("factor", "right"),
        *([Column("prior", "right")] if boosted else []),
        Column("score", "right", decimals(6)),
    )
    rows = []
    for row in answer.rows:
        cells = [
            f"#{row.ranks[name]} ({row.values[name]:.3f})" if name in row.ranks else "-"
            for name in channels
        ]
        mark = "*" if row.key in answer.query.expected else ""
        age = row.age_days if row.store == "memory" else None
        factors = (row.factor, row.prior) if boosted else (row.factor,)
        rows.append((f"{mark}{row.position}", row.item_id, *cells, age, *factors, row.score))
    legend = "* expected. Per channel: rank and the channel's own value."
    legend += " factor and prior multiply the score." if boosted else ""
    return Table(answer.settings.text, columns, tuple(rows), (legend,))


def _days(value: float | None) -> str:
    if value is None:
        return "-"
    return "unknown" if value != value else f"{value:.1f} d"


def _missing_sentence(item: Missing, answer: Explanation) -> str:
    floor, budget = answer.settings.min_similarity, answer.budget
    if item.reason == "position":
        if budget is not None and budget < answer.settings.limit:
            name = f"routing.{answer.query.query_class}.budget"
            return f"{item.key} stands at {item.position}, beyond the budget ({name}) of {budget}."
        return f"{item.key} stands at {item.position}, beyond the limit."
    if item.reason == "floor":
        return (
            f"{item.key} is cut by the floor of {floor:g}: its cosine is {item.cosine:.4f}. "
            "A floor of at most that keeps it."
        )
    return f"{item.key} is retrieved by no channel within depth: mend retrieval, not knobs."


def _remedy_sentence(remedy: Remedy) -> str:
    place = "first" if remedy.position == 1 else f"at {remedy.position}"
    if remedy.low is None or remedy.high is None or remedy.at is None:
        return f"{remedy.knob} switched off: an expected row is {place}."
    who = remedy.item_id or "an expected row"
    unit = " days" if remedy.knob == "recency_half_life_days" else ""
    high = _upper_end(remedy.high)
    text = f"{remedy.knob} from {remedy.low:.6g} to {high}: {who} is {place}"
    if remedy.other_id:
        text += f"; it overtakes {remedy.other_id} at {remedy.at:.6g}{unit}"
    return f"{text}."


def _upper_end(value: float) -> str:
    return "any longer" if math.isinf(value) else f"{value:.6g}"
