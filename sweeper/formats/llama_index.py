"""LlamaIndex's ``EmbeddingQAFinetuneDataset``: one JSON with questions, their documents and texts.

``{"queries": {id: text}, "relevant_docs": {id: [document id, ...]}, "corpus": {id: text}}``. Both
functions return rows as ``golden_rows`` and ``corpus_rows`` read them, ``None`` for other files.
"""

from __future__ import annotations

from sweeper.errors import Problems
from sweeper.formats.values import Record, Value, describe, quoted

__all__ = ["dataset_entries", "dataset_questions"]


def dataset_questions(data: Value, path: str) -> list[Record] | None:
    """Return the questions of a dataset as rows with ``id``, ``query`` and ``expected``.

    Raises
    ------
    InputError
        If a question has no ``relevant_docs``, or these name a question that is not there.
    """
    if not isinstance(data, Record):
        return None
    queries, relevant = data.get("queries"), data.get("relevant_docs")
    if not isinstance(queries, Record) or not isinstance(relevant, Record) or not queries:
        return None
    problems = Problems(path)
    for query_id in queries:
        if query_id not in relevant:
            problems.add(
                f'the question {quoted(query_id)} is missing in "relevant_docs". '
                "Add its document ids, or [] if it has no answer.",
                line=queries.line,
            )
    for query_id in relevant:
        if query_id not in queries:
            problems.add(
                f'"relevant_docs" names {quoted(query_id)}, which is missing in "queries". '
                "Add the question, or remove it here.",
                line=relevant.line,
            )
    problems.raise_if_any()
    return [
        Record(
            queries.line, {"id": query_id, "query": text, "expected": relevant[query_id]}.items()
        )
        for query_id, text in queries.items()
    ]


def dataset_entries(data: Value, path: str) -> list[Record] | None:
    """Return the corpus of a dataset as rows with ``id`` and ``text``.

    Raises
    ------
    InputError
        If something else than a text stands where one belongs.
    """
    if not isinstance(data, Record):
        return None
    corpus = data.get("corpus")
    if not isinstance(corpus, Record) or not any(isinstance(t, str) for t in corpus.values()):
        return None
    problems = Problems(path)
    for entry_id, text in corpus.items():
        if not isinstance(text, str):
            problems.add(
                f"the entry {quoted(entry_id)} is {describe(text)}. Give its text.",
                line=corpus.line,
            )
    problems.raise_if_any()
    return [
        Record(corpus.line, {"id": entry_id, "text": text}.items())
        for entry_id, text in corpus.items()
    ]
