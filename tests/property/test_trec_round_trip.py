"""Runs and qrels come back as they were written, and no bytes make their readers stumble."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sweeper.errors import InputError
from sweeper.formats.qrels import golden_from_qrels, looks_like_qrels, parse_qrels, qrels_text
from sweeper.formats.topics import parse_topics
from sweeper.formats.trec import (
    encode_id,
    looks_like_run,
    parse_run,
    run_text,
    trec_id_problem,
)
from sweeper.golden import GoldenSet, Query

TREC_IDS = st.text(min_size=1, max_size=6).filter(lambda text: trec_id_problem(text) is None)
KEYS = st.lists(TREC_IDS, min_size=1, max_size=8, unique=True)


@st.composite
def judged(draw: st.DrawFn) -> GoldenSet:
    queries = []
    for query_id in draw(st.lists(TREC_IDS, min_size=1, max_size=4, unique=True)):
        keys = draw(KEYS)
        n_expected = draw(st.integers(1, len(keys)))
        expected = tuple(keys[:n_expected])
        grades = {key: float(draw(st.integers(1, 9))) for key in expected}
        judged = tuple(keys[n_expected:])
        queries.append(Query(query_id, "all", query_id, expected, grades, judged))
    return GoldenSet(tuple(queries))


# A column may hold whatever is no blank, so ids that look like comments or marks are in.
COLUMN = st.sampled_from(["q1", "a", "1", "-0.5", "nan", "#", "{", "<top>", "Q0", "\ufeff", "é,;"])
LINES = st.lists(st.lists(COLUMN, max_size=8).map(" ".join), max_size=6).map("\n".join)


@settings(deadline=None)
@given(st.dictionaries(TREC_IDS, KEYS, min_size=1, max_size=4))
def test_a_run_comes_back_in_the_order_in_which_it_was_written(
    results: Mapping[str, Sequence[str]],
) -> None:
    found = parse_run(run_text(results, "tag"), "x.run")
    assert {query_id: [key for key, _ in rows] for query_id, rows in found.rows.items()} == results
    assert (found.n_tied, found.n_repeated, found.n_contradicted) == (0, 0, 0)
    assert looks_like_run(run_text(results, "tag"))


@settings(deadline=None)
@given(judged())
def test_qrels_come_back_as_the_golden_set_that_they_were(golden: GoldenSet) -> None:
    text = qrels_text(golden)
    found, notes = golden_from_qrels(parse_qrels(text, "qrels.txt"))
    assert found == golden
    assert notes == []
    assert looks_like_qrels(text)


@given(st.lists(st.text(min_size=1, max_size=5), unique=True))
@example(["a b", "a%20b", "#", "%23"])
def test_encoded_ids_are_distinct_and_may_be_written(ids: list[str]) -> None:
    encoded = [encode_id(text) for text in ids]
    assert len(set(encoded)) == len(ids)
    assert [trec_id_problem(text) for text in encoded] == [None] * len(ids)


@given(TREC_IDS.filter(lambda text: "%" not in text))
def test_an_id_that_may_be_written_is_its_own_encoding(text: str) -> None:
    assert encode_id(text) == text


@pytest.mark.parametrize("parse", [parse_run, parse_qrels, parse_topics])
@settings(deadline=None)
@given(text=st.one_of(LINES, st.text(max_size=60)))
def test_any_text_is_read_or_refused_with_a_message(
    parse: Callable[[str, str], object], text: str
) -> None:
    looks_like_run(text)
    looks_like_qrels(text)
    with contextlib.suppress(InputError):
        parse(text, "file.txt")
