"""Whatever a person types, the full-text index answers and never takes it for syntax."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.engines.lexical import LexicalIndex, Match, read_web_query

TEXTS = (
    "SKU-4711 is a pump",
    "the billing contact at Acme",
    "a or b, never c",
    "",
    "NOT AND OR NEAR text: *",
    "Straße ÉCOLE 東京 e\u0301 \0 end",
)

# Fragments that mean something to FTS5 or to a web search box, and any text at all.
WORDS = ("a", "b", "or", "OR", "AND", "NOT", "NEAR(", "text:", "SKU-4711", "--", '""', "e\u0301")
FRAGMENTS = st.sampled_from([*WORDS, *"-\"*^+,(){}'\\—|é \0\ud800"])
QUERIES = st.one_of(
    st.text(max_size=40),
    st.text(st.characters(exclude_categories=()), max_size=40),  # lone surrogates too
    st.lists(FRAGMENTS, max_size=12).map(" ".join),
    st.lists(FRAGMENTS, max_size=12).map("".join),
)


@pytest.fixture(scope="module", params=["any", "all"])
def index(request: pytest.FixtureRequest) -> Iterator[LexicalIndex]:
    match: Match = request.param
    made = LexicalIndex(TEXTS, match=match)
    yield made
    made.close()


def _search(index: LexicalIndex, query: str) -> list[tuple[int, float]]:
    [expression] = index.expressions([query])
    return index.search(expression, first=0, last=len(TEXTS) - 1, depth=len(TEXTS), among=None)


@given(QUERIES)
def test_no_query_is_an_error_and_rows_come_best_first(index: LexicalIndex, query: str) -> None:
    rows = _search(index, query)
    assert rows == sorted(rows, key=lambda row: (-row[1], row[0]))
    assert all(value > 0 for _, value in rows)


@given(st.lists(QUERIES, max_size=5))
def test_a_batch_means_what_its_queries_mean_one_by_one(
    index: LexicalIndex, queries: list[str]
) -> None:
    assert index.expressions(queries) == [index.expressions([query])[0] for query in queries]


@given(QUERIES)
def test_reading_a_web_query_loses_no_letter(query: str) -> None:
    pieces = [piece.text for branch in read_web_query(query) for piece in branch]
    place = 0
    for piece in pieces:
        place = query.index(piece, place) + len(piece)


@pytest.mark.parametrize("match", ["any", "all"])
def test_a_query_of_ten_thousand_words_is_answered(match: Match) -> None:
    words = [f"w{number}" for number in range(10_000)]
    index = LexicalIndex([" ".join(words), "w1 w2", "w3"], match=match)
    [expression] = index.expressions([" ".join(words)])
    found = index.search(expression, first=0, last=2, depth=3, among=None)
    index.close()
    assert [number for number, _ in found][:1] == [0]
    assert len(found) == (3 if match == "any" else 1)
