"""Judgments with named fields and by query and document: one golden set whatever wrote them."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from sweeper.errors import InputError
from sweeper.formats import kind_of_file, read_golden
from sweeper.formats.judgments import read_judgments
from sweeper.golden import GoldenSet, Query


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def golden(text: str, name: str, **options: object) -> GoldenSet:
    Path(name).write_bytes(text.encode())
    return read_golden(name, **options)  # type: ignore[arg-type]


def refusal(text: str, name: str, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        golden(text, name, **options)
    return str(caught.value)


TWO = (
    Query("q1", "all", "q1", ("007",), {"007": 3.0}, ("7",)),
    Query("q2", "all", "q2", ("d3",), {"d3": 1.0}),
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "query_id,doc_id,relevance\nq1,007,3\nq1,7,0\nq2,d3,1\n"),
        ("a.csv", "query_id,iteration,doc_id,relevance\nq1,0,007,3\nq1,0,7,0\nq2,0,d3,1\n"),
        ("a.csv", ",qid,docno,label\n0,q1,007,3\n1,q1,7,0\n2,q2,d3,1\n"),
        ("a.csv", "query,docid,rating\nq1,007,3\nq1,7,0\nq2,d3,1\n"),
        ("a.csv", "Query;Doc ID;Rating\r\nq1;007;3\r\nq1;7;0\r\nq2;d3;1\r\n"),
        ("a.tsv", "query-id\tcorpus-id\tscore\nq1\t007\t3\nq1\t7\t0\nq2\td3\t1\n"),
        (
            "a.tsv",
            "query_id\tdoc_id\trelevance\titeration\nq1\t007\t3\t0\nq1\t7\t0\t0\nq2\td3\t1\t0",
        ),
        (
            "a.jsonl",
            '{"query-id": "q1", "corpus-id": "007", "score": 3}\n'
            '{"query-id": "q1", "corpus-id": 7, "score": 0.0}\n'
            '{"query-id": "q2", "corpus-id": "d3", "score": "1"}\n',
        ),
        ("a.json", '{"q1": {"007": 3, "7": 0}, "q2": {"d3": 1}}'),
    ],
)
def test_judgments_of_every_form_are_one_golden_set(name: str, text: str) -> None:
    assert golden(text, name).queries == TWO
    assert read_judgments(name).queries == TWO
    assert kind_of_file(name) == "golden"


@pytest.mark.parametrize("flag", ["relevant", "is_relevant", "Relevant"])
@pytest.mark.parametrize(("yes", "no"), [("1", "0"), ("True", "False"), ("yes", "no")])
def test_a_column_of_yes_and_no_is_a_grade_and_no_id(flag: str, yes: str, no: str) -> None:
    [query] = golden(f"query,doc_id,{flag}\nfee?,1,{no}\nfee?,a,{yes}\n", "a.csv").queries
    assert (query.expected, query.judged) == (("a",), ("1",))


def test_a_column_of_ids_beside_a_document_is_still_what_is_expected() -> None:
    [query] = golden("query,doc_id,relevant\nfee?,x,a|b\n", "a.csv").queries
    assert query.expected == ("a", "b")


def test_texts_and_slices_of_judgments_are_the_questions() -> None:
    text = (
        "query_id,query,category,doc_id,grade\n1,fee?,desk,a,2\n1,fee?,desk,b,1\n2,who?,all,c,1\n"
    )
    assert golden(text, "a.csv").queries == (
        Query("1", "desk", "fee?", ("a", "b"), {"a": 2.0, "b": 1.0}),
        Query("2", "all", "who?", ("c",), {"c": 1.0}),
    )


def test_topics_go_with_named_judgments() -> None:
    Path("topics.jsonl").write_text(
        '{"_id": "q1", "text": "fee?"}\n{"_id": "q2", "text": "who?"}\n'
    )
    text = '{"q1": {"a": 1}, "q2": {"b": 2}}'
    assert [q.text for q in golden(text, "a.json", topics="topics.jsonl").queries] == [
        "fee?",
        "who?",
    ]


def test_topics_go_with_judgments_alone() -> None:
    message = refusal('{"query": "fee?", "expected": "a"}\n', "a.jsonl", topics="topics.tsv")
    assert "holds no judgments" in message


def test_columns_of_judgments_can_be_named() -> None:
    fields = {"query": "term", "document": "sku", "grade": "stars"}
    [query] = golden("term,sku,stars\nshoe,1e5,2\n", "a.csv", fields=fields).queries
    assert query == Query("shoe", "all", "shoe", ("1e5",), {"1e5": 2.0})


def test_rows_without_a_grade_are_left_out_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        read = golden("query,docid,rating\nfee?,a,2\nfee?,b,\nwho?,c,\n", "a.csv")
    assert [query.query_id for query in read.queries] == ["fee?"]
    assert "2 rows without a grade" in caplog.text
    assert "1 query without any grade: who?" in caplog.text


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "qid,docno,score,rank\n1,a,12,1\n1,b,11,2\n", '"score" stands beside a rank'),
        ("a.csv", "qid,docno,score\n1,a,12.5\n1,b,11\n", '"score" holds fractions'),
        ("a.json", '{"q1": {"a": 0.9, "b": 0.7}}', "looks like a run by query and document"),
        ("a.json", '{"q1": {"a": 0}}', "no grade is above 0"),
        ("a.csv", "qid,docno,label\n1,a,x\n1,,1\n", 'a.csv:2: "label" must be a finite number'),
        ("a.csv", "qid,docno,label\n1,a,1\n1,,1\n", 'a.csv:3: "docno" is missing'),
        ("a.csv", "qid,docno,label\n1,a,1\n1,a,2\n", 'a.csv:3: query "1" grades document "a" 2'),
        ("a.csv", "qid,query,docno,label\n1,x?,a,1\n1,y?,b,2\n", 'has the query "y?" here'),
        ("a.csv", "qid,query,docno,label\n1,,a,1\n", '"query" is missing'),
        ("a.csv", "qid,user,docno,label\n1,ada,a,1\n", '"user" belongs to a question'),
    ],
)
def test_what_is_no_judgment_is_refused(name: str, text: str, message: str) -> None:
    assert message in refusal(text, name)


def test_judgments_need_a_question() -> None:
    message = refusal("sku,stars\na,1\n", "a.csv", fields={"document": "sku", "grade": "stars"})
    assert "no field is known as the id or the text of a question" in message


@pytest.mark.parametrize(
    "text", ["1 a 0 1\n1 b 0 0\n2 c 0 1\n", "1 a 3 0\n1 b 0 0\n2 c 3 0\n", "1 a Q0 1\n2 b Q0 1\n"]
)
def test_documents_in_the_second_column_are_told_whatever_the_grades(text: str) -> None:
    assert "documents seem to stand in the second column" in refusal(text, "a.txt")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1\ta\t1\n1\tb\t2\n1\tc\t3\n2\ta\t1\n", "counts 1, 2, 3 in every query"),
        ("1\ta\t9.25\n1\tb\t8.5\n1\tc\t8.1\n2\ta\t11\n", "holds fractions that fall"),
    ],
)
def test_ranks_and_scores_are_no_grades(rows: str, message: str) -> None:
    assert message in refusal(rows, "a.tsv")
    assert len(golden("query-id\tcorpus-id\tgrade\n" + rows, "b.tsv")) == 2


def test_fractions_that_do_not_fall_are_grades() -> None:
    [query] = golden("1\ta\t0.5\n1\tb\t0.75\n1\tc\t0.5\n", "a.tsv").queries
    assert query.grades == {"a": 0.5, "b": 0.75, "c": 0.5}


def test_a_rating_counts_where_a_flag_stands_beside_it() -> None:
    found = golden("query,doc_id,rating,relevant\nfoo,d1,3,yes\nfoo,d2,0,no\n", "j.csv")
    [query] = found.queries
    assert (query.expected, query.grades, query.judged) == (("d1",), {"d1": 3.0}, ("d2",))


def test_ids_under_relevant_are_what_is_expected_however_they_look() -> None:
    found = golden("query,doc_id,relevant\nfoo,intro,7\nbar,intro,12\n", "j.csv")
    assert [query.expected for query in found.queries] == [("7",), ("12",)]


@pytest.mark.parametrize(
    ("rows", "ids"),
    [
        ("q1,foo,d1,1\nq1,foo,d2,1\nq2,bar,d3,1\n", ["q1", "q2"]),
        ("1,foo,d1,1\n2,foo,d2,1\n3,bar,d3,1\n", ["foo", "bar"]),
    ],
)
def test_an_id_that_goes_with_the_text_is_the_questions_and_else_the_rows(
    rows: str, ids: list[str]
) -> None:
    found = golden(f"id,query,doc_id,relevance\n{rows}", "j.csv")
    assert list(found.query_ids) == ids


@pytest.mark.parametrize("name", ["overall", "  "])
def test_a_slice_without_a_name_of_its_own_is_refused(name: str) -> None:
    assert "j.csv:2: " in refusal(f'qid,docid,rel,slice\nq1,d1,1,"{name}"\n', "j.csv")


def test_doubtful_ids_of_judgments_are_told(caplog: pytest.LogCaptureFixture) -> None:
    golden("qid,docid,rel\nq1,7.0,1\nq1,1.23e+17,1\n", "j.csv")
    assert "a data frame has made fractions" in caplog.text
    assert "a spreadsheet has rounded" in caplog.text


def test_a_corpus_with_topics_and_ratings_is_a_corpus(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text('{"doc_id": "a", "text": "x", "topic": "t", "label": "spam"}\n', "utf-8")
    assert kind_of_file(path) == "corpus"


def test_a_query_without_judgments_in_json_is_not_judged() -> None:
    found = golden('{"q1": {}, "q2": {"d": 1}}', "j.json")
    assert found.query_ids == ("q2",)
