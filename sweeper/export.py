"""What a sweep found, in the files that other tools read: TREC runs, qrels, golden sets.

A run lists each document once, where the first of its chunks stands; trec_eval then gives the
figures of this sweep where no question returned two chunks of one document. Writing the text to a
file is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from sweeper.errors import InputError
from sweeper.formats import golden_text
from sweeper.formats.qrels import qrels_text
from sweeper.formats.trec import encode_id, run_text, trec_id_problem
from sweeper.formats.values import counted, quoted
from sweeper.golden import GoldenSet, Key, Query, QueryId
from sweeper.results import Results

__all__ = ["Exported", "export_golden", "export_qrels", "export_run"]


@dataclass(frozen=True, slots=True)
class Exported:
    """The text of a file and what its reader should know."""

    text: str
    notes: tuple[str, ...] = ()

    @property
    def n_lines(self) -> int:
        return self.text.count("\n")


def export_run(
    results: Results,
    trial: str | int = "current",
    *,
    tag: str | None = None,
    encode_ids: bool = False,
) -> Exported:
    """Return the ranked lists of one trial as a TREC run.

    Parameters
    ----------
    results
        A sweep whose pool is there.
    trial
        Number, id or ``current``.
    tag
        Names the run; ``<sweep>-<trial id>`` unless given.
    encode_ids
        Write white space in ids as ``%20`` and so on instead of refusing it.

    Returns
    -------
    Exported
        Scores fall by 1 from row to row: they say the order, and no reader can see ties.

    Raises
    ------
    InputError
        If there is no such trial, or an id cannot stand in a TREC file.
    """
    number = results.trial(trial)
    tag = tag or f"{results.manifest['name']}-{results.settings[number].trial_id}"
    if trec_id_problem(tag) is not None:
        raise InputError(f"the tag {quoted(tag)} cannot stand in a TREC run. Use no white space.")
    returned = {q: results.returned(number, q) for q in results.golden.query_ids}
    distinct = {query_id: tuple(dict.fromkeys(keys)) for query_id, keys in returned.items()}
    written = _with_trec_ids(distinct, encode_ids)
    notes = []
    n_further = sum(len(keys) - len(distinct[query_id]) for query_id, keys in returned.items())
    if n_further:
        notes.append(
            f"left out, as a run has a document once: {counted(n_further, 'further chunk')} of "
            "documents listed above them. Figures made of the run count positions without them."
        )
    empty = [query_id for query_id, keys in written.items() if not keys]
    if empty:
        notes.append(
            f"without a line, as nothing was returned: {counted(len(empty), 'question')}. "
            "trec_eval leaves them out of its means unless it is run with -c."
        )
    return Exported(run_text(written, tag), tuple(notes))


def export_qrels(golden: GoldenSet, *, encode_ids: bool = False) -> Exported:
    """Return a golden set as TREC qrels, without texts and slices.

    Raises
    ------
    InputError
        If an id cannot stand in a TREC file, or a grade is no whole number.
    """
    for query in golden.queries:
        for key, grade in query.grades.items():
            if grade != int(grade):
                raise InputError(
                    f"question {quoted(query.query_id)} grades {quoted(key)} {grade:g}: qrels hold "
                    "whole numbers, and trec_eval would cut it. Scale the grades."
                )
    judged = {q.query_id: (*q.expected, *q.judged) for q in golden.queries}
    _with_trec_ids(judged, encode_ids)
    encode: Callable[[str], str] = encode_id if encode_ids else str
    queries = tuple(_renamed(query, encode) for query in golden.queries)
    notes = []
    unjudged = sum(not keys for keys in judged.values())
    if unjudged:
        notes.append(
            f"without a line, as qrels cannot say that nothing is relevant: "
            f"{counted(unjudged, 'unanswerable question')}."
        )
    return Exported(qrels_text(GoldenSet(queries)), tuple(notes))


def export_golden(golden: GoldenSet) -> Exported:
    """Return a golden set as JSONL."""
    return Exported(golden_text(golden))


def _with_trec_ids(
    rows: Mapping[QueryId, tuple[Key, ...]], encode: bool
) -> dict[QueryId, tuple[Key, ...]]:
    """Return rows whose ids may stand in a TREC file."""
    if encode:
        return {encode_id(query): tuple(map(encode_id, keys)) for query, keys in rows.items()}
    ids = dict.fromkeys(text for query, keys in rows.items() for text in (query, *keys))
    wrong = {text: problem for text in ids if (problem := trec_id_problem(text)) is not None}
    if wrong:
        first = next(iter(wrong))
        more = f" {len(wrong)} ids are like that." if len(wrong) > 1 else ""
        raise InputError(
            f"the id {quoted(first)} cannot stand in a TREC file: {wrong[first]}.{more} "
            "Rename it, or add --encode-ids to write it as %XX in runs and qrels alike."
        )
    return dict(rows)


def _renamed(query: Query, name: Callable[[str], str]) -> Query:
    return replace(
        query,
        query_id=name(query.query_id),
        expected=tuple(map(name, query.expected)),
        grades={name(key): grade for key, grade in query.grades.items()},
        judged=tuple(map(name, query.judged)),
    )
