"""What a sweep's results say, as tables. Files are written in ``report``; ``cli`` prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sweeper.golden import OVERALL
from sweeper.knobs import PRIOR_KNOBS, UNSET, knob
from sweeper.tables import Column, figure_label, markdown_table, signed

if TYPE_CHECKING:
    from sweeper.compare import Tally
    from sweeper.results import Results

__all__ = [
    "Table",
    "figure_columns",
    "front_table",
    "line_table",
    "queries_table",
    "slice_table",
    "top_table",
    "trials_table",
    "worth_of_a_question",
]

_FRONT_SHOWN = 20
"""Rows of a front that are printed; the frames hold all."""

_LINE = 80


@dataclass(frozen=True, slots=True)
class Table:
    """A table: a title, columns, and one tuple of values per row; ``notes`` belong below it.

    ``width`` is how wide its lines may be where nothing else says it: cells of text are folded.
    ``trials`` are the numbers of the trials that the rows show, where each row is one trial, and
    ``feasible`` says which of them meet the sweep's constraints.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    notes: tuple[str, ...] = ()
    trials: tuple[int, ...] = ()
    feasible: tuple[bool, ...] = ()
    width: int | None = None

    def markdown(self) -> str:
        """Return the table with its title and notes."""
        notes = "".join(f"\n{note}\n" for note in self.notes)
        return f"{self.title}\n\n{markdown_table(self.columns, self.rows)}{notes}"


def line_table(results: Results, name: str | None = None) -> Table:
    """Return one row per value of a knob, the other knobs as they are today.

    Parameters
    ----------
    results
        A finished sweep.
    name
        The knob; the config's choice unless given.
    """
    name = name or results.manifest["table"]["knob"]
    addresses = results.manifest["table"]["columns"]
    wide = results.wide(addresses).to_numpy().tolist()
    numbers = results.line(name)["number"].tolist()
    if name is not None and results.manifest["spec"]["config"].get("sampler"):
        # Only a grid has an order that somebody typed.
        numbers.sort(key=lambda n: knob(name).sort_key(results.settings[n].get(name)))
    today = results.settings[results.trial("current")]
    notes = worth_of_a_question(results, [address.rpartition(".")[0] for address in addresses])
    figures = figure_columns(addresses)
    others = [n for n in results.varied_knobs if n != name]
    held = ", ".join(
        f"{n} = {knob(n).format(today.given(n))}"
        for n in others
        if today.given(n) != UNSET
        and (n not in PRIOR_KNOBS or n == "prior.strength" or today.prior is not None)
    )
    held = f", with {held} as today" if held else ""
    if name is None:
        first = Column("setting", "right", key="setting")
        rows = [("current", *wide[number]) for number in numbers]
        return Table(f"Today's settings{held}", (first, *figures), tuple(rows), notes)
    own, current = knob(name), today.given(name)

    feasible = _feasible(results, numbers)
    values = [results.settings[number].given(name) for number in numbers]
    breaking = {value for value, fine in zip(values, feasible, strict=True) if not fine}

    said = _value_format(name)

    def marked(value: Any) -> str:
        star = "*" if value in breaking else ""
        return said(value) + star + (" (current)" if value == current else "")

    return Table(
        f"By {own.label}{held}",
        (Column(_heading(name), "right", marked, key=name), *figures),
        tuple((value, *wide[number]) for value, number in zip(values, numbers, strict=True)),
        (*_broken_note(results, feasible), *notes),
        tuple(numbers),
        feasible,
    )


def front_table(results: Results) -> Table:
    """Return the Pareto front of the objectives, with how many questions each setting moves."""
    front = results.pareto()
    shown = front["number"].tolist()[:_FRONT_SHOWN]
    objectives = " and ".join(figure_label(item.address) for item in results.objectives)
    hidden = len(front) - len(shown)
    notes = ["better, worse: questions compared with the current setting."]
    if hidden:
        notes.append(f"{hidden} more settings are on the front; --top {len(front)} shows them.")
    several = len(results.objectives) > 1
    title = f"Best trade-offs between {objectives}" if several else f"Best by {objectives}"
    return _settings_table(results, shown, title, notes, _table_addresses(results))


def top_table(results: Results, count: int) -> Table:
    """Return the best trials by the first objective, the next ones breaking ties."""
    wide = results.wide([item.address for item in results.objectives])
    gains = [
        tuple(-item.gain(float(value)) for item, value in zip(results.objectives, row, strict=True))
        for row in wide.to_numpy().tolist()
    ]
    order = sorted(range(len(gains)), key=lambda number: (gains[number], number))[:count]
    label = figure_label(results.objectives[0].address)
    return _settings_table(
        results, order, f"The {len(order)} best by {label}", [], _table_addresses(results)
    )


def trials_table(results: Results) -> Table:
    """Return every trial with its knobs and all of its figures, for other programs."""
    names = [name for name in results.trials.columns if name.startswith("param_")]
    names = [name.removeprefix("param_") for name in names]
    marks = ("is_current", "on_line", "in_space", "feasible")
    addresses = list(results.wide().columns)
    columns = [results.trials[mark].tolist() for mark in marks]
    columns += [[item.given(name) for item in results.settings] for name in names]
    columns += results.wide().to_numpy().T.tolist()
    ids, numbers = results.trials["trial_id"].tolist(), results.trials["number"].tolist()
    return Table(
        f"Every trial of {results.address}",
        tuple(Column(n) for n in ("trial", "trial_id", *marks, *names, *addresses)),
        tuple(zip(numbers, ids, *columns, strict=True)),
        trials=tuple(numbers),
    )


def slice_table(results: Results, trial: int, group: str | None = None) -> Table:
    """Return every slice and metric of one trial beside the current setting.

    Parameters
    ----------
    results
        A finished sweep.
    trial
        Number of the trial.
    group
        One slice; all unless given.
    """
    figures = results.figures
    own_id = results.trials["trial_id"].iloc[trial]
    own = figures[figures["trial_id"] == own_id]
    today = figures[figures["trial_id"] == results.current]
    rows = [
        (row.slice, row.metric, before, row.value, row.value - before, row.n_queries)
        for row, before in zip(own.itertuples(), today["value"].tolist(), strict=True)
        if group in (None, row.slice)
    ]
    [score] = results.tallies([trial])
    return Table(
        f"{results.address}{results.named(trial)}: {results.settings[trial].text}",
        (
            Column("slice"),
            Column("metric"),
            Column("current", "right"),
            Column("this", "right"),
            Column("difference", "right", signed),
            Column("questions", "right"),
        ),
        tuple(rows),
        (_tally_text(score),),
    )


def queries_table(results: Results, trial: int, group: str | None = None) -> Table:
    """Return every question of one trial: where its first expected document stands, and stood.

    Parameters
    ----------
    results
        A finished sweep.
    trial
        Number of the trial.
    group
        One slice; all unless given.
    """
    own, today = results.per_query(trial), results.per_query("current")
    rows = [
        (row.query_id, row.slice, row.query, before or None, row.first_position or None)
        for row, before in zip(own.itertuples(), today["first_position"].tolist(), strict=True)
        if group in (None, row.slice)
    ]
    return Table(
        f"{results.address}{results.named(trial)}: {results.settings[trial].text}",
        (
            Column("question", key="query_id"),
            Column("slice"),
            Column("text", key="query"),
            Column("current", "right", key="current_position"),
            Column("this", "right", key="first_position"),
        ),
        tuple(rows),
        ("Position of the first expected document; - is not returned.",),
    )


def worth_of_a_question(results: Results, groups: Sequence[str]) -> tuple[str, ...]:
    """Say what one question is worth in each of some slices."""
    figures = results.figures[results.figures["trial_id"] == results.current]
    texts = []
    for group in dict.fromkeys(groups):
        counts = figures.loc[figures["slice"] == group, "n_queries"]
        n_queries = int(counts.max()) if len(counts) else 0
        if n_queries:
            texts.append(f"{group} {1 / n_queries:.3f}")
    return (f"One question is worth: {', '.join(texts)}.",) if texts else ()


def _settings_table(
    results: Results,
    numbers: Sequence[int],
    title: str,
    notes: Sequence[str],
    addresses: Sequence[str],
) -> Table:
    current = results.trial("current")
    names = _worth_a_column(results, [*numbers, current])
    wide = results.wide(addresses).to_numpy().tolist()
    feasible = _feasible(results, numbers)
    breaking = frozenset(n for n, fine in zip(numbers, feasible, strict=True) if not fine)
    rows = []
    for number, score in zip(numbers, results.tallies(numbers), strict=True):
        values = [results.settings[number].given(name) for name in names]
        rows.append((number, *values, *wide[number], score.better, score.worse))
    return Table(
        title,
        (
            Column("trial", "left", partial(_trial_text, current, breaking), key="trial"),
            *(Column(_heading(n), "right", _value_format(n), key=n) for n in names),
            *figure_columns(addresses),
            Column("better", "right"),
            Column("worse", "right"),
        ),
        tuple(rows),
        (*_broken_note(results, feasible), *notes),
        tuple(numbers),
        feasible,
    )


def _value_format(name: str) -> Callable[[Any], str]:
    """Return how a knob's values read; a class without a budget has the limit of all questions."""
    own, unset = knob(name), UNSET
    if name.startswith("routing.") and name.endswith(".budget"):
        unset = own.format(None)
    return lambda value: unset if value == UNSET else own.format(value)


def _worth_a_column(results: Results, numbers: Sequence[int]) -> list[str]:
    """Return the knobs that varied; of classes and priors, those in which some trials differ."""
    shown = [results.settings[number] for number in numbers]
    return [
        name
        for name in results.varied_knobs
        if not name.startswith(("routing.", "prior."))
        or len({item.given(name) for item in shown}) > 1
    ]


def _feasible(results: Results, numbers: Sequence[int]) -> tuple[bool, ...]:
    meets = results.trials["feasible"].tolist()
    return tuple(bool(meets[number]) for number in numbers)


def _broken_note(results: Results, feasible: Sequence[bool]) -> tuple[str, ...]:
    """Say what the star means, where some row has it; on a line of at most 80 columns."""
    if all(feasible):
        return ()
    texts = [item.text for item in results.constraints]
    note = f"Marked *: breaks {' or '.join(texts)}."
    if len(note) > _LINE and len(texts) > 1:
        note = f"Marked *: breaks a constraint; {texts[0]} is one of {len(texts)}."
    return (note,)


def _trial_text(current: int, breaking: frozenset[int], number: int) -> str:
    star = "*" if number in breaking else ""
    return f"#{number}{star} (current)" if number == current else f"#{number}{star}"


def _table_addresses(results: Results) -> list[str]:
    """Return the objectives' figures, then the overall MRR where it is recorded."""
    wanted = [item.address for item in results.objectives]
    if f"{OVERALL}.mrr" in results.wide().columns:
        wanted.append(f"{OVERALL}.mrr")
    return list(dict.fromkeys(wanted))


_HEADINGS = {"recency_half_life_days": "half-life", "min_similarity": "floor"}


def _heading(name: str) -> str:
    return _HEADINGS.get(name, name)


def figure_columns(addresses: Sequence[str]) -> list[Column]:
    """Return a column per figure."""
    return [Column(figure_label(address), "right", key=address) for address in addresses]


def _tally_text(score: Tally) -> str:
    text = f"Compared with the current setting: {score.better} questions better, "
    text += f"{score.worse} worse, {score.equal} equal"
    return text + (f", {score.mixed} both ways." if score.mixed else ".")
