"""TREC runs, qrels and topics: read as trec_eval reads them, refused where they are something else.

Also the datasets of other tools that stand beside them: BEIR's qrels, LlamaIndex's JSON.
"""

from __future__ import annotations

import gzip
import logging
from pathlib import Path

import pytest

from sweeper.errors import InputError
from sweeper.formats import kind_of_file, read_corpus, read_golden
from sweeper.formats.qrels import golden_from_qrels, parse_qrels, qrels_text
from sweeper.formats.topics import parse_topics
from sweeper.formats.trec import TrecRun, encode_id, parse_run, read_run, run_text
from sweeper.golden import GoldenSet, Query


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(text: str) -> TrecRun:
    return parse_run(text, "v.run")


def run_refusal(text: str) -> str:
    with pytest.raises(InputError) as caught:
        run(text)
    return str(caught.value)


def qrels_refusal(text: str, name: str = "qrels.txt") -> str:
    with pytest.raises(InputError) as caught:
        parse_qrels(text, name)
    return str(caught.value)


def golden(
    text: str, topics: str | None = None, keys: set[str] | None = None
) -> tuple[GoldenSet, list[str]]:
    texts = None if topics is None else parse_topics(topics, "topics.tsv")
    return golden_from_qrels(parse_qrels(text, "qrels.txt"), texts, corpus_keys=keys)


# Runs


@pytest.mark.parametrize(
    "text",
    [
        "q1 Q0 a 1 2.5 tag\nq1 Q0 b 2 1.5 tag\n",
        "q1\tQ0\ta\t1\t2.5\ttag\nq1\tQ0\tb\t2\t1.5\ttag",
        "q1 Q0  a   1 2.5 tag  \r\n\tq1 Q0 b 2 1.5 tag\r\n",
        "# made by hand\n\nq1 Q0 a 0 2.5 tag\n   \nq1 Q0 b 1 1.5 tag\n",
        "q1 Q0 b x 1.5 tag\nq1 Q0 a y 25e-1 other\n",
        "q1 whatever b 1 1.5 tag\nq1 0 a 1 +2.5 tag\n",
    ],
)
def test_blanks_line_ends_comments_and_ranks_do_not_matter(text: str) -> None:
    assert run(text).rows == {"q1": (("a", 2.5), ("b", 1.5))}


def test_a_byte_order_mark_is_no_part_of_the_first_query() -> None:
    Path("v.run").write_bytes(b"\xef\xbb\xbfq1 Q0 a 1 2 t\n")
    assert list(read_run("v.run").rows) == ["q1"]


def test_a_no_break_space_belongs_to_an_id() -> None:
    assert run("q1 Q0 a\u00a0b 1 2 t\n").rows == {"q1": (("a\u00a0b", 2.0),)}


def test_queries_may_be_interleaved() -> None:
    found = run("q1 Q0 a 1 2 t\nq2 Q0 a 1 9 t\nq1 Q0 b 2 1 t\n")
    assert found.rows == {"q1": (("a", 2.0), ("b", 1.0)), "q2": (("a", 9.0),)}
    assert found.n_rows == 3


def test_ties_keep_the_order_of_the_file_and_are_counted() -> None:
    found = run("q1 Q0 b 1 1 t\nq1 Q0 c 2 1 t\nq1 Q0 a 3 1 t\nq1 Q0 z 4 0 t\n")
    assert [key for key, _ in found.rows["q1"]] == ["b", "c", "a", "z"]
    assert found.n_tied == 2


def test_of_a_repeated_document_the_best_row_is_kept_and_the_rest_counted() -> None:
    found = run("q1 Q0 a 1 1 t\nq1 Q0 b 2 3 t\nq1 Q0 a 3 5 t\nq2 Q0 a 1 1 t\n")
    assert found.rows["q1"] == (("a", 5.0), ("b", 3.0))
    assert found.n_repeated == 1


def test_scores_that_ascend_along_the_ranks_are_counted() -> None:
    assert run("q1 Q0 a 1 0.1 t\nq1 Q0 b 2 0.9 t\nq2 Q0 a 1 2 t\n").n_contradicted == 1
    assert run("q1 Q0 b 2 0.1 t\nq1 Q0 a 1 0.9 t\n").n_contradicted == 0


@pytest.mark.parametrize("score", ["nan", "NaN", "inf", "-Infinity", "1e999", "1_000", "high", "٣"])
def test_a_score_that_is_no_finite_number_is_an_error_with_its_line(score: str) -> None:
    message = run_refusal(f"q1 Q0 a 1 2 t\nq1 Q0 b 2 {score} t\n")
    assert message.startswith(f'v.run:2: the score "{score}" is no finite number. ')


def test_a_run_may_be_json_by_query_and_document() -> None:
    lines = "q1 Q0 a 2 0.5 t\nq1 Q0 007 1 1e1 t\nq2 Q0 a 1 -1 t\n"
    by_document = '{"q1": {"a": 0.5, "007": 1e1},\n "q2": {"a": -1}, "q3": {}}'
    assert run(by_document).rows == run(lines).rows


def test_json_that_is_no_run_is_located() -> None:
    assert run_refusal('{"q1": {"a": 1},\n "q2": {"a": NaN}}').startswith("v.run:2: NaN is no JSON")
    assert "is no finite number" in run_refusal('{"q1": {"a": 1e999}}')


def test_every_broken_line_is_reported_at_once() -> None:
    message = run_refusal("q1 Q0 a 1 2\nq1 Q0 b c 2 1 t\nq1 Q0 d 3 x t\n")
    assert message.splitlines() == [
        "v.run:1: this line has 5 columns, a run has six: query Q0 document rank score tag. "
        "Is a column missing, the tag say?",
        "v.run:2: this line has 7 columns, a run has six: query Q0 document rank score tag. "
        "Replace the spaces within an id or a tag.",
        'v.run:3: the score "x" is no finite number. '
        "The fifth column orders the rows: give each one a number.",
    ]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("q1 0 a 1\nq1 0 b 0\n", "qrels (query iteration document grade)"),
        ('{"query": "x"}\n', "JSON (understood is {query: {document: score}})"),
        ('{"q1": {"a": "b c"}}\n', "JSON (understood is {query: {document: score}})"),
        ("[1, 2]\n", "JSON (understood is {query: {document: score}})"),
        ("query,document,score\nq1,a,2\n", "CSV"),
        ("<top>\n<num> 1\n", "TREC topics, or another markup"),
        ("query-id\tcorpus-id\tscore\n", "BEIR's qrels, with a header"),
        ("1\t2\t3\n", "qrels without the iteration, or a ranking without scores"),
        ("Dear\n", "text"),
    ],
)
def test_a_file_of_another_kind_is_refused_by_what_it_looks_like(text: str, kind: str) -> None:
    message = run_refusal(text)
    assert f"is not a TREC run: this line has {len(text.splitlines()[0].split())} column" in message
    assert f"looks like {kind}. Give a file whose lines are: query Q0" in message


def test_a_packed_run_is_refused_as_an_archive() -> None:
    Path("v.run.gz").write_bytes(gzip.compress(b"q1 Q0 a 1 2 t\n"))
    with pytest.raises(InputError, match="is a gzip archive, not text"):
        read_run("v.run.gz")


def test_a_run_of_comments_alone_is_refused() -> None:
    assert "has no rows" in run_refusal("# nothing\n")


def test_written_scores_fall_by_one_and_repeats_are_left_out() -> None:
    assert run_text({"q1": ["b", "a", "b"], "q2": []}, "t") == (
        "q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\n"  # q2 has no line
    )


@pytest.mark.parametrize(
    ("query_id", "key", "tag"),
    [("a b", "k", "t"), ("q", "", "t"), ("q", "k", "a\tb"), ("#q", "k", "t")],
)
def test_an_id_that_would_break_a_line_is_not_written(query_id: str, key: str, tag: str) -> None:
    with pytest.raises(ValueError, match="cannot stand in a TREC file"):
        run_text({query_id: [key]}, tag)


def test_encoded_ids_stay_distinct() -> None:
    ids = ["a b", "a%20b", "a\u00a0b", "#a", "a#"]
    encoded = [encode_id(text) for text in ids]
    assert encoded == ["a%20b", "a%2520b", "a%C2%A0b", "%23a", "a#"]


# Qrels


def test_grades_above_zero_are_expected_and_the_others_only_judged() -> None:
    found, notes = golden("q1 0 a 2\nq1 0 b 0\nq1 0 c -1\nq1 0 d 1\n")
    assert found.queries == (
        Query("q1", "all", "q1", ("a", "d"), {"a": 2.0, "d": 1.0}, ("b", "c")),
    )
    assert notes == []


@pytest.mark.parametrize(
    "text",
    [
        "q1\t0\ta\t1\r\n",
        "# comment\n\nq1 Q0 a 1",
        "q1 a 1\n",
        "query-id\tcorpus-id\tscore\nq1\ta\t1\n",
        "qid iter docno rel\nq1 0 a 1\n",
    ],
)
def test_trec_and_beir_judgments_are_understood(text: str) -> None:
    assert golden(text)[0].queries[0].expected == ("a",)


def test_fractional_grades_are_kept() -> None:
    assert golden("q1 0 a 0.5\n")[0].queries[0].grades == {"a": 0.5}


def test_a_query_without_a_relevant_document_is_unanswerable_and_listed() -> None:
    found, notes = golden("q1 0 a 1\nq2 0 a 0\n")
    assert [query.answerable for query in found.queries] == [True, False]
    assert notes == [
        "1 query without a relevant document: q2. They count as unanswerable: rank metrics leave "
        "them out."
    ]


def test_a_judgment_that_is_repeated_counts_once_and_is_counted() -> None:
    found, notes = golden("q1 0 a 1\nq1 1 a 1\n")
    assert found.queries[0].expected == ("a",)
    assert notes == ["1 judgment stated again; counted once."]


def test_judgments_that_conflict_are_an_error_with_both_lines() -> None:
    assert qrels_refusal("q1 0 a 1\nq1 0 b 1\nq1 0 a 2\n") == (
        'qrels.txt:3: query "q1" grades document "a" 2, but 1 on line 1. Keep one of them.'
    )


def test_documents_in_the_second_column_are_told() -> None:
    assert qrels_refusal("01 1410 0 0\n01 1572 0 0\n") == (
        "qrels.txt:1: the documents seem to stand in the second column. "
        "Reorder the columns: query iteration document grade."
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q1 0 a yes\n", 'qrels.txt:1: the grade "yes" is no finite number.'),
        ("q1 0 a nan\n", 'qrels.txt:1: the grade "nan" is no finite number.'),
        ("q1 0 a 1\nq1 a 1\n", "qrels.txt:2: this line has 3 columns, those above have 4."),
        ("q1 Q0 a 1 2.5 t\n", "looks like a TREC run"),
        ("query-id corpus-id score\n", "qrels.txt: has no judgments."),
        ("q1 0 a 0\n", "no grade is above 0"),
    ],
)
def test_faulty_judgments_are_refused(text: str, message: str) -> None:
    assert message in qrels_refusal(text)


def test_a_relevant_document_that_the_corpus_lacks_is_an_error_but_a_judged_one_is_not() -> None:
    with pytest.raises(InputError) as caught:
        golden("q1 0 a 1\nq1 0 gone 1\nq1 0 other 0\n", keys={"a"})
    assert str(caught.value) == (
        'qrels.txt:2: the corpus has no entry "gone", which is relevant to query "q1". '
        "Correct the id, or add the entry."
    )


def test_qrels_are_written_with_judged_documents_as_zero() -> None:
    query = Query("q1", "s", "text", ("a", "b"), {"a": 2.0}, ("c",))
    assert qrels_text(GoldenSet((query, Query("q2", "s", "text", ())))) == (
        "q1 0 a 2\nq1 0 b 1\nq1 0 c 0\n"
    )


# Topics


TSV = "q1\thow long?\nq2\twhy so?\n"
TWO = {"q1": "how long?", "q2": "why so?"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.tsv", TSV),
        ("t.txt", TSV.replace("\n", "\r\n")),
        ("t.tsv", "# topics\nquery_id\ttext\n" + TSV),
        ("t.jsonl", '{"_id": "q1", "text": "how long?"}\n{"_id": "q2", "text": "why so?"}\n'),
        ("t.json", '[{"id": "q1", "query": "how long?"}, {"id": "q2", "query": "why so?"}]'),
        ("t.json", '{"q1": "how long?", "q2": "why so?"}'),
        ("t.csv", "qid,query\nq1,how long?\nq2,why so?\n"),
        (
            "t.txt",
            "<top>\n<num> Number: q1\n<title> Topic: how\n  long?\n<desc> Description:\nx\n</top>\n"
            "<top><num>q2</num><title>why so?</title></top>\n",
        ),
    ],
)
def test_topics_are_understood_in_every_usual_form(name: str, text: str) -> None:
    assert parse_topics(text, name) == TWO


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("t.tsv", "q1\ta\nq1\tb\n", 't.tsv:2: the id "q1" is taken by an earlier topic.'),
        ("t.tsv", "q1\ta\nq2\t \n", "t.tsv:2: this topic has no text."),
        ("t.tsv", "q1\ta\nq2\n", "t.tsv:2: this topic has no text."),
        ("t.txt", "<top>\n<title> x\n</top>\n", "t.txt:1: this topic has no id."),
        ("t.txt", "hello\n", "t.txt:1: is not a file of topics: this line has no tab."),
        ("t.tsv", "# none\n", "t.tsv: holds no topics."),
        ("t.jsonl", '{"id": "q1", "query": ""}\n', "t.jsonl:1: the id or the text is empty."),
        ("t.jsonl", '{"id": "q1", "title": "x"}\n', 't.jsonl:1: no field is known as "query".'),
    ],
)
def test_faulty_topics_are_refused(name: str, text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_topics(text, name)
    assert str(caught.value).startswith(message)


def test_a_topic_is_the_text_of_its_question_and_an_unjudged_one_is_listed() -> None:
    found, notes = golden("q1 0 a 1\n", TSV)
    assert [(query.query_id, query.text) for query in found.queries] == [("q1", "how long?")]
    assert notes == [
        "1 topic without a judgment: q2. Nothing can be said of them; they are left out."
    ]


def test_a_judged_query_without_a_topic_is_an_error_not_a_dropped_question() -> None:
    with pytest.raises(InputError, match=r"1 query without a topic: q3\. Add the topics, or"):
        golden("q1 0 a 1\nq3 0 a 1\n", TSV)


def test_ids_of_another_form_in_the_topics_are_told() -> None:
    with pytest.raises(InputError) as caught:
        golden("1 0 a 1\n2 0 a 1\n", "001\tx\n002\ty\n")
    assert str(caught.value) == (
        'qrels.txt: no query has a topic: the ids here are like "1", those of the topics like '
        '"001". Give both the same ids.'
    )


# As a golden set


@pytest.mark.parametrize("name", ["qrels.txt", "qrels.tsv", "test.qrels", "qrels"])
def test_qrels_are_a_golden_set_whatever_they_are_called(name: str) -> None:
    Path(name).write_text("q1\t0\ta\t1\n", "utf-8")
    assert read_golden(name).queries[0].expected == ("a",)
    assert kind_of_file(name) == "golden"


def test_topics_make_any_file_qrels() -> None:
    Path("judged.csv").write_text("q1 0 a 1\n", "utf-8")
    Path("topics.tsv").write_text(TSV, "utf-8")
    assert read_golden("judged.csv", topics="topics.tsv").queries[0].text == "how long?"


def test_what_was_counted_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    Path("qrels.txt").write_text("q1 0 a 1\nq2 0 a 0\n", "utf-8")
    with caplog.at_level(logging.WARNING):
        read_golden("qrels.txt")
    assert "qrels.txt: 1 query without a relevant document: q2." in caplog.text


def test_a_run_in_place_of_a_golden_set_is_told_where_it_belongs() -> None:
    Path("v.run").write_text("q1 Q0 a 1 2.5 t\n", "utf-8")
    with pytest.raises(InputError, match="is a TREC run, which holds results and no judgments"):
        read_golden("v.run")


def test_field_names_do_not_go_with_qrels() -> None:
    Path("qrels.txt").write_text("q1 0 a 1\n", "utf-8")
    with pytest.raises(InputError, match="qrels have no named fields"):
        read_golden("qrels.txt", fields={"query": "q"})


LLAMA = (
    '{"queries": {"u1": "how?", "u2": "why?"}, "corpus": {"n1": "text one", "n2": "text two"},'
    ' "relevant_docs": {"u1": ["n1"], "u2": ["n1", "n2"]}, "mode": "text"}'
)


def test_a_llama_index_dataset_is_a_golden_set_and_a_corpus() -> None:
    Path("dataset.json").write_text(LLAMA, "utf-8")
    corpus = read_corpus("dataset.json")
    found = read_golden("dataset.json", corpus_keys=corpus.keys)
    assert [(q.query_id, q.text, q.expected) for q in found.queries] == [
        ("u1", "how?", ("n1",)),
        ("u2", "why?", ("n1", "n2")),
    ]
    assert [(e.entry_id, e.text) for e in corpus.entries] == [
        ("n1", "text one"),
        ("n2", "text two"),
    ]
    assert kind_of_file("dataset.json") == "golden"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"u1": ["n1"], ', "", 'the question "u1" is missing in "relevant_docs".'),
        ('"u1": "how?", ', "", '"relevant_docs" names "u1", which is missing in "queries".'),
        ('"how?"', "5", None),
    ],
)
def test_a_llama_index_dataset_that_does_not_fit_together_is_refused(
    old: str, new: str, message: str | None
) -> None:
    Path("dataset.json").write_text(LLAMA.replace(old, new), "utf-8")
    if message is None:  # a number is a text as it is written
        assert read_golden("dataset.json").queries[0].text == new
        return
    with pytest.raises(InputError) as caught:
        read_golden("dataset.json")
    assert message in str(caught.value)


def test_the_first_line_of_excel_names_the_delimiter_and_lines_still_count() -> None:
    text = "sep=;\r\nid;query;expected\r\nq1;how, why;a\r\nq2;;b\r\n"
    Path("golden.csv").write_text(text, "utf-8", newline="")
    with pytest.raises(InputError, match=r'golden\.csv:4: "query" is empty'):
        read_golden("golden.csv")
    Path("golden.csv").write_text(text.replace("q2;;b", "q2;when;b"), "utf-8", newline="")
    assert [query.text for query in read_golden("golden.csv").queries] == ["how, why", "when"]


def test_the_three_files_of_a_beir_dataset_are_a_corpus_and_a_golden_set() -> None:
    Path("corpus.jsonl").write_text('{"_id": "d1", "title": "T", "text": "x"}\n', "utf-8")
    Path("queries.jsonl").write_text('{"_id": "q1", "text": "why?", "metadata": {}}\n', "utf-8")
    Path("test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n", "utf-8")
    keys = read_corpus("corpus.jsonl").keys
    found = read_golden("test.tsv", topics="queries.jsonl", corpus_keys=keys)
    assert found.queries == (Query("q1", "all", "why?", ("d1",), {"d1": 2.0}),)
