"""Relevance judgments (qrels) as a golden set, and back.

A line is ``query iteration document grade``, as TREC has it, or ``query document grade``, as BEIR
has it, with a header or without. The iteration is ignored. Blanks, empty lines and comments are as
in ``trec``; grades may be fractions.

A grade above 0 makes a document expected and is its worth; 0 or less makes it judged and not
expected. A query of which nothing is relevant is an unanswerable question: rank metrics leave it
out, as they must, and the log lists it. Every question is in the slice ``all``.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sweeper.errors import InputError, Problem, Problems
from sweeper.files import read_text
from sweeper.formats.doubts import odd_keys
from sweeper.formats.golden_rows import WHOLE_FILE_SLICE
from sweeper.formats.spellings import canonical
from sweeper.formats.topics import read_topics
from sweeper.formats.trec import TREC_NUMBER, columns_of, refuse_as, trec_id_problem
from sweeper.formats.values import counted, listed, quoted
from sweeper.golden import GoldenSet, Key, Query, QueryId

__all__ = [
    "Qrels",
    "golden_from_qrels",
    "golden_of",
    "looks_like_qrels",
    "parse_qrels",
    "qrels_text",
    "read_qrels",
]

_LOG = logging.getLogger(__name__)

_SHAPE = "query iteration document grade"
_GRADE_HEADERS = ("score", "grade", "relevance", "rel", "label")
_QUERY_HEADERS = ("query_id", "qid", "query", "topic", "topic_id")


@dataclass(frozen=True, slots=True)
class Qrels:
    """One file of judgments.

    Attributes
    ----------
    grades
        Query to document to grade, in file order.
    lines
        The line of each judgment.
    n_repeated
        Lines that say again what an earlier one says.
    n_unjudged
        Rows with an empty grade.
    unjudged
        Queries that have no other rows.
    texts, slices
        By query, of a file that has them.
    """

    path: str
    grades: Mapping[QueryId, Mapping[Key, float]]
    lines: Mapping[tuple[QueryId, Key], int]
    n_repeated: int
    n_unjudged: int = 0
    unjudged: Sequence[QueryId] = ()
    texts: Mapping[QueryId, str] | None = None
    slices: Mapping[QueryId, str] | None = None


def read_qrels(
    path: str | Path,
    *,
    topics: str | Path | None = None,
    corpus_keys: Collection[Key] | None = None,
    restricted: Collection[Key] | None = None,
) -> GoldenSet:
    """Read qrels as a golden set; what was counted on the way is logged as a warning.

    Parameters
    ----------
    path
        The judgments.
    topics
        The texts of the questions (``topics``). Without it a question's text is its id, which is
        enough for an engine that knows questions by their ids.
    corpus_keys
        Ids of the corpus, if it is known.
    restricted
        Those of them that not everybody may see.

    Raises
    ------
    InputError
        With every problem of the file: judgments that conflict, a query without a topic, an
        expected document that the corpus lacks, or that is not public.
    """
    return golden_of(
        parse_qrels(read_text(path), path),
        topics=topics,
        corpus_keys=corpus_keys,
        restricted=restricted,
    )


def golden_of(
    qrels: Qrels,
    *,
    topics: str | Path | None = None,
    corpus_keys: Collection[Key] | None = None,
    restricted: Collection[Key] | None = None,
) -> GoldenSet:
    """Make a golden set of judgments as ``read_qrels`` does, and log what it notes.

    Raises
    ------
    InputError
        As ``read_qrels`` does.
    """
    texts = None if topics is None else read_topics(topics)
    golden, notes = golden_from_qrels(qrels, texts, corpus_keys=corpus_keys, restricted=restricted)
    if corpus_keys is None:
        notes = [*notes, *odd_keys(golden.queries, is_table=False)]
    for note in notes:
        _LOG.warning("%s: %s", qrels.path, note)
    return golden


def parse_qrels(text: str, path: str | Path) -> Qrels:
    """Parse the text of qrels; ``path`` only names it in messages.

    Raises
    ------
    InputError
        If it is another kind of file, or nothing in it is relevant; else with every line at fault.
    """
    problems = Problems(path)
    rows = list(columns_of(text))
    has_header = bool(rows) and _is_header(rows[0][1])
    if has_header:
        del rows[0]
    if not rows:
        raise InputError(Problem("has no judgments. Give at least one.", str(path)))
    width = len(rows[0][1])
    if width not in (3, 4):
        refuse_as("qrels", _SHAPE, text, path)
    if _documents_stand_second(rows):
        raise InputError(Problem(_REORDER, str(path), rows[0][0]))
    grades: dict[QueryId, dict[Key, float]] = {}
    lines: dict[tuple[QueryId, Key], int] = {}
    n_repeated = 0
    for line, columns in rows:
        if len(columns) != width:
            problems.add(
                f"this line has {counted(len(columns), 'column')}, those above have {width}. "
                f"A line is: {_SHAPE}.",
                line=line,
            )
            continue
        query_id, key, written = columns[0], columns[-2], columns[-1]
        grade = float(written) + 0.0 if TREC_NUMBER.fullmatch(written) else math.nan
        if not math.isfinite(grade):
            problems.add(
                f"the grade {quoted(written)} is no finite number. A line is: {_SHAPE}.", line=line
            )
            continue
        known = grades.setdefault(query_id, {})
        if known.setdefault(key, grade) != grade:
            problems.add(
                f"query {quoted(query_id)} grades document {quoted(key)} {grade:g}, "
                f"but {known[key]:g} on line {lines[query_id, key]}. Keep one of them.",
                line=line,
            )
        n_repeated += (query_id, key) in lines
        lines.setdefault((query_id, key), line)
    problems.raise_if_any()
    if not any(grade > 0 for known in grades.values() for grade in known.values()):
        raise InputError(
            Problem(
                "no grade is above 0, so nothing is relevant. The last column is the grade: "
                f"{_SHAPE}.",
                str(path),
            )
        )
    if width == 3 and not has_header:
        results = _results(grades)
        if results is not None:
            raise InputError(
                Problem(
                    f"looks like results, not like judgments: the last column {results}. If it "
                    "holds grades, put a header above: query-id corpus-id grade.",
                    str(path),
                    rows[0][0],
                )
            )
    return Qrels(str(path), grades, lines, n_repeated)


def golden_from_qrels(
    qrels: Qrels,
    topics: Mapping[QueryId, str] | None = None,
    *,
    corpus_keys: Collection[Key] | None = None,
    restricted: Collection[Key] | None = None,
) -> tuple[GoldenSet, list[str]]:
    """Make a golden set of judgments, and the texts of the questions if they are known.

    Returns
    -------
    tuple of GoldenSet and list of str
        What a reader should know: repeated judgments, questions without an answer, topics that
        nobody judged.

    Raises
    ------
    InputError
        If a judged query has no topic, the corpus lacks an expected document, or it is not public:
        qrels name no users, and a question without one finds public entries alone.
    """
    problems = Problems(qrels.path)
    if topics is not None:
        _check_topics(qrels, topics, problems)
    if corpus_keys is not None:
        known = corpus_keys if isinstance(corpus_keys, set | frozenset) else set(corpus_keys)
        for (query_id, key), line in qrels.lines.items():
            if key not in known and qrels.grades[query_id][key] > 0:
                problems.add(
                    f"the corpus has no entry {quoted(key)}, which is relevant to query "
                    f"{quoted(query_id)}. Correct the id, or add the entry.",
                    line=line,
                )
    hidden = restricted or ()
    for (query_id, key), line in qrels.lines.items():
        if key in hidden and qrels.grades[query_id][key] > 0:
            problems.add(
                f"query {quoted(query_id)} has no user, as qrels name none, and the relevant "
                f"{quoted(key)} is not public. Make a golden set of the qrels (sweep import trec) "
                "and give the question a user, or the entry no principals.",
                line=line,
            )
    problems.raise_if_any()
    texts = qrels.texts if topics is None else topics
    queries = tuple(
        Query(
            query_id,
            WHOLE_FILE_SLICE if qrels.slices is None else qrels.slices[query_id],
            query_id if texts is None else texts[query_id],
            expected=tuple(key for key, grade in known.items() if grade > 0),
            grades={key: grade for key, grade in known.items() if grade > 0},
            judged=tuple(key for key, grade in known.items() if grade <= 0),
        )
        for query_id, known in qrels.grades.items()
    )
    return GoldenSet(queries), _notes(qrels, queries, topics)


def looks_like_qrels(text: str) -> bool:
    """Return whether the first rows of a text are judgments."""
    head = [columns for _, columns in itertools.islice(columns_of(text), 20)]
    rows = head[1:] if head and _is_header(head[0]) else head
    return (
        bool(rows)
        and len(rows[0]) in (3, 4)
        and all(len(row) == len(rows[0]) and TREC_NUMBER.fullmatch(row[-1]) for row in rows)
    )


def qrels_text(golden: GoldenSet) -> str:
    """Write a golden set as TREC qrels. A question that nothing was judged for has no line.

    Raises
    ------
    ValueError
        If an id cannot stand in a column, or a grade is no whole number: trec_eval would cut it.
    """
    lines = []
    for query in golden.queries:
        grades = {key: query.grade(key) for key in query.expected} | dict.fromkeys(query.judged, 0)
        for key, grade in grades.items():
            for text in (query.query_id, key):
                problem = trec_id_problem(text)
                if problem is not None:
                    raise ValueError(f"{text!r} cannot stand in a TREC file: {problem}")
            if grade != int(grade):
                raise ValueError(f"query {query.query_id!r} grades {key!r} {grade:g}")
            lines.append(f"{query.query_id} 0 {key} {int(grade)}\n")
    return "".join(lines)


def _is_header(columns: Sequence[str]) -> bool:
    return (
        len(columns) in (3, 4)
        and canonical(columns[0]) in _QUERY_HEADERS
        and canonical(columns[-1]) in _GRADE_HEADERS
    )


_REORDER = f"the documents seem to stand in the second column. Reorder the columns: {_SHAPE}."


def _documents_stand_second(rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Tell ``query document 0 grade`` and ``query document grade 0``.

    There the second column has more values than the third, which has the iteration or the grades.
    """
    if any(len(columns) != 4 for _, columns in rows):
        return False
    seconds, thirds, fourths = ({columns[n] for _, columns in rows} for n in (1, 2, 3))
    iterations = thirds <= {"0", "Q0"} and "0" not in seconds
    grades = fourths == {"0"} and all(map(TREC_NUMBER.fullmatch, thirds))
    return len(seconds) > len(thirds) and (iterations or grades)


def _results(grades: Mapping[QueryId, Mapping[Key, float]]) -> str | None:
    """Tell lines of ``query document rank``, as MS MARCO has runs, and ``query document score``.

    Few scales of grades count 1, 2, 3 in the order of the file, or are fractions that only fall.
    """
    lists = [list(known.values()) for known in grades.values()]
    if max(map(len, lists)) < 3:
        return None
    if all(found == list(range(1, len(found) + 1)) for found in lists):
        return "counts 1, 2, 3 in every query"
    falling = all(found == sorted(found, reverse=True) for found in lists)
    n_fractions = sum(not grade.is_integer() for found in lists for grade in found)
    if falling and 2 * n_fractions > sum(map(len, lists)):
        return "holds fractions that fall in every query, like scores"
    return None


def _check_topics(qrels: Qrels, topics: Mapping[QueryId, str], problems: Problems) -> None:
    missing = [query_id for query_id in qrels.grades if query_id not in topics]
    if len(missing) == len(qrels.grades):
        problems.add(
            f"no query has a topic: the ids here are like {quoted(missing[0])}, those of the "
            f"topics like {quoted(next(iter(topics)))}. Give both the same ids."
        )
    elif missing:
        problems.add(
            f"{counted(len(missing), 'query', 'queries')} without a topic: {listed(missing)}. "
            "Add the topics, or remove the judgments."
        )


def _notes(
    qrels: Qrels, queries: Sequence[Query], topics: Mapping[QueryId, str] | None
) -> list[str]:
    notes = []
    if qrels.n_repeated:
        notes.append(f"{counted(qrels.n_repeated, 'judgment')} stated again; counted once.")
    if qrels.n_unjudged:
        notes.append(f"{counted(qrels.n_unjudged, 'row')} without a grade: not judged, left out.")
    if qrels.unjudged:
        notes.append(
            f"{counted(len(qrels.unjudged), 'query', 'queries')} without any grade: "
            f"{listed(qrels.unjudged)}. Nothing can be said of them; they are left out."
        )
    empty = [query.query_id for query in queries if not query.answerable]
    if empty:
        notes.append(
            f"{counted(len(empty), 'query', 'queries')} without a relevant document: "
            f"{listed(empty)}. They count as unanswerable: rank metrics leave them out."
        )
    unjudged = [query_id for query_id in topics or () if query_id not in qrels.grades]
    if unjudged:
        notes.append(
            f"{counted(len(unjudged), 'topic')} without a judgment: {listed(unjudged)}. "
            "Nothing can be said of them; they are left out."
        )
    return notes
