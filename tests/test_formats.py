"""Golden sets and corpora from files: spellings understood, faults located, nothing dropped."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sweeper.corpus import Corpus, Entry
from sweeper.errors import InputError
from sweeper.formats import read_corpus, read_golden, write_corpus, write_golden
from sweeper.formats.cells import split_cell
from sweeper.formats.values import WrongValue
from sweeper.golden import GoldenSet, Query


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def golden(text: str, name: str = "golden.jsonl", **options: object) -> GoldenSet:
    Path(name).write_bytes(text.encode())
    return read_golden(name, **options)  # type: ignore[arg-type]


def only(text: str, name: str = "golden.jsonl", **options: object) -> Query:
    (query,) = golden(text, name, **options).queries
    return query


def golden_refusal(text: str, name: str = "golden.jsonl", **options: object) -> str:
    with pytest.raises(InputError) as caught:
        golden(text, name, **options)
    return str(caught.value)


def corpus(text: str, name: str = "corpus.jsonl", **options: object) -> Corpus:
    Path(name).write_bytes(text.encode())
    return read_corpus(name, **options)  # type: ignore[arg-type]


def corpus_refusal(text: str, name: str = "corpus.jsonl", **options: object) -> str:
    with pytest.raises(InputError) as caught:
        corpus(text, name, **options)
    return str(caught.value)


def folder(files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = Path("docs", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return Path("docs")


def folder_refusal(files: dict[str, str]) -> str:
    with pytest.raises(InputError) as caught:
        read_corpus(folder(files))
    return str(caught.value)


# Golden sets: spellings


@pytest.mark.parametrize("slice_name", ["slice", "kind", "type", "category", "Category"])
@pytest.mark.parametrize("query", ["query", "question", "text", "q", "Query Text"])
@pytest.mark.parametrize("query_id", ["id", "query_id", "qid", "_id", "ID", "queryId"])
def test_common_spellings_are_understood(query_id: str, slice_name: str, query: str) -> None:
    row = f'{{"{query_id}": "1", "{slice_name}": "s", "{query}": "why?", "expected": "a"}}'
    assert only(row) == Query("1", "s", "why?", ("a",))


@pytest.mark.parametrize(
    "name",
    [
        "expected",
        "expected_pages",
        "expected_ids",
        "expected_id",
        "expectedIds",
        "expected_keys",
        "relevant",
        "relevant_ids",
        "relevant_docs",
        "gold",
        "gold_ids",
        "answers",
        "Expected Pages",
    ],
)
def test_common_spellings_of_expected_are_understood(name: str) -> None:
    assert only(f'{{"query": "x", "{name}": ["a", "b"]}}').expected == ("a", "b")


@pytest.mark.parametrize(
    ("expected", "keys"),
    [
        ('"a"', ("a",)),
        ('"a, b|c"', ("a, b|c",)),
        ("5", ("5",)),
        ('["a", 1e5, 1.0]', ("a", "1e5", "1.0")),
        ('[{"key": "a"}, {"id": "b", "source_type": "memory"}]', ("a", "b")),
        ('[{"doc_id": 7}]', ("7",)),
        ('{"key": "a"}', ("a",)),
        ('["a", "b", "a"]', ("a", "b")),
        ("[]", ()),
    ],
)
def test_every_form_of_expected_gives_its_keys(expected: str, keys: tuple[str, ...]) -> None:
    query = only(f'{{"query": "x", "expected": {expected}}}')
    assert query.expected == keys
    assert query.grades == {}
    assert query.answerable == bool(keys)


@pytest.mark.parametrize(
    "fields",
    [
        '"expected": {"a": 2, "b": 0.5, "c": 0, "d": -1}',
        '"expected": [{"key": "a", "grade": 2}, {"key": "b", "relevance": 0.5}, '
        '{"key": "c", "grade": 0}, {"key": "d", "grade": -1}]',
        '"expected": ["a", "b"], "grades": {"a": 2, "b": 0.5, "c": 0, "d": -1}',
        '"expected": ["a", "b", "c", "d"], "grades": [2, 0.5, 0, -1]',
        '"grades": {"a": 2, "b": 0.5, "c": 0, "d": -1}',
    ],
)
def test_every_form_of_grades_gives_the_same_query(fields: str) -> None:
    query = only(f'{{"query": "x", {fields}}}')
    assert query.expected == ("a", "b")
    assert query.grades == {"a": 2.0, "b": 0.5}
    assert query.judged == ("c", "d")


def test_a_key_without_grade_is_ungraded() -> None:
    query = only('{"query": "x", "expected": ["a", "b"], "grades": {"b": 3}}')
    assert query.grades == {"b": 3.0}
    assert query.grade("a") == 1.0


def test_an_unanswerable_query_may_have_judged_keys() -> None:
    query = only('{"query": "x", "expected": [], "grades": {"a": 0}}')
    assert (query.expected, query.judged) == ((), ("a",))


def test_filter_and_user_are_read() -> None:
    query = only(
        '{"query": "x", "expected": "a", "user": 7, '
        '"filter": {"team": "web", "n": 1.0, "on": true}}'
    )
    assert query.filter == {"team": "web", "n": "1.0", "on": "true"}
    assert query.user == "7"


ROWS = '{"id": "1", "query": "a", "expected": "x"}, {"id": "2", "query": "b", "expected": "y"}'
TWO = GoldenSet((Query("1", "all", "a", ("x",)), Query("2", "all", "b", ("y",))))


@pytest.mark.parametrize(
    "text",
    [
        f"[{ROWS}]",
        f'{{"queries": [{ROWS}]}}',
        f'{{"version": 3, "corpus": {{"documents": []}}, "queries": [{ROWS}]}}',
        f'{{"golden": [{ROWS}], "name": "x"}}',
        f'{{"golden": {{"questions": [{ROWS}]}}}}',
        '{"1": {"query": "a", "expected": "x"}, "2": {"query": "b", "expected": "y"}}',
        '{"queries": {"1": {"query": "a", "expected": "x"}, "2": {"query": "b", "expected": "y"}}}',
    ],
)
def test_bare_and_wrapped_rows_are_found(text: str) -> None:
    assert golden(text, "golden.json") == TWO


def test_one_row_alone_is_a_golden_set() -> None:
    assert len(golden('{\n"query": "a",\n"expected": "x"}', "golden.json")) == 1


def test_every_format_gives_the_same_golden_set() -> None:
    texts = {
        "a.jsonl": f"{ROWS.replace('}, ', '}' + chr(10))}",
        "a.json": f"[{ROWS}]",
        "a.csv": "id,query,expected\n1,a,x\n2,b,y\n",
        "a.tsv": "id\tquery\texpected\n1\ta\tx\n2\tb\ty\n",
        "a.yaml": "- {id: 1, query: a, expected: x}\n- id: 2\n  query: b\n  expected: [y]\n",
        "bom.csv": "\ufeffid;query;expected\r\n1;a;x\r\n2;b;y\r\n",
    }
    assert {name: golden(text, name).digest for name, text in texts.items()} == dict.fromkeys(
        texts, TWO.digest
    )


def test_cells_hold_lists_by_the_documented_rule() -> None:
    text = (
        "query,expected,grades,filter\n"
        'a,"one id, with a comma",,\n'
        "b,x | y;z,,team=web\n"
        "c,x;y,2|0,\n"
        'd,"[""p|q"", 5]",,"{""team"": ""web""}"\n'
        'e,"{""x"": 3}",,\n'
        "f,[],,\n"
    )
    found = golden(text, "golden.csv").queries
    assert [query.expected for query in found] == [
        ("one id, with a comma",),
        ("x", "y;z"),
        ("x",),
        ("p|q", "5"),
        ("x",),
        (),
    ]
    assert found[2].grades == {"x": 2.0}
    assert found[2].judged == ("y",)
    assert found[4].grades == {"x": 3.0}
    assert [query.filter for query in found[1:4]] == [{"team": "web"}, {}, {"team": "web"}]


def test_ids_and_queries_in_yaml_are_what_was_typed() -> None:
    text = "- {id: 001, slice: no, query: off, expected: [12:30, null, 1e5, ~]}\n"
    assert only(text, "golden.yaml") == Query("001", "no", "off", ("12:30", "null", "1e5", "~"))


def test_rows_without_ids_are_numbered() -> None:
    row = '{"query": "a", "expected": "x"}\n'
    assert golden(row * 2).query_ids == ("q001", "q002")
    assert golden(row * 1000).query_ids[-1] == "q1000"


def test_two_spellings_that_agree_are_one() -> None:
    assert only('{"slice": "s", "kind": "s", "query": "a", "expected": "x"}').slice == "s"


def test_metadata_is_left_alone() -> None:
    row = '{"query": "a", "expected": "x", "test": 1, "notes": {"a": [1]}, "answer": "prose"}'
    assert only(row) == Query("q001", "all", "a", ("x",))


def test_a_weak_spelling_yields_to_a_strong_one() -> None:
    row = '{"question": "why?", "text": "a passage", "expected_pages": "x", "answers": ["because"]}'
    assert only(row) == Query("q001", "all", "why?", ("x",))


def test_fields_can_be_named() -> None:
    row = (
        '{"prompt": "why?", "query": "something else", "target": ["x"], "kind": "s", "slice": "t"}'
    )
    fields = {"query": "prompt", "expected": "target", "slice": "kind"}
    assert only(row, fields=fields) == Query("q001", "s", "why?", ("x",))


# Golden sets: faults


def test_an_unknown_shape_shows_the_fields_and_the_option() -> None:
    assert golden_refusal('\n{"prompt": "x", "target": "y"}') == (
        'golden.jsonl:2: no field is known as "query" and "expected". '
        "Fields found: prompt, target. What is expected are ids of documents, not texts. "
        "Name yours, for example: "
        "golden: {path: golden.jsonl, fields: {query: prompt, expected: target}}."
    )


def test_wrong_names_in_fields_are_refused() -> None:
    found = golden_refusal(
        '{"query": "x", "expected": "y"}', fields={"query": "prompt", "expectd": "expected"}
    )
    assert found == (
        'golden.jsonl: golden.fields.query: no row has a field "prompt". '
        "Fields found: query, expected.\n"
        "golden.jsonl: golden.fields.expectd: is no field that is read. "
        'Did you mean "expected"?'
    )


@pytest.mark.parametrize(
    ("typo", "meant"),
    [("qurey", "query"), ("expectd", "expected"), ("slcie", "slice"), ("graeds", "grades")],
)
def test_a_misspelt_field_is_an_error(typo: str, meant: str) -> None:
    row = {"query": '"x"', "expected": '["a"]', "slice": '"s"', "grades": '{"a": 1}'}
    row[typo] = row.pop(meant)
    text = "{" + ", ".join(f'"{name}": {value}' for name, value in row.items()) + "}\n"
    found = golden_refusal(text * 2)
    assert found.startswith(
        f'golden.jsonl:1: unknown field "{typo}" (2 rows). Did you mean "{meant}"?'
    )
    assert "\n" not in found


def test_all_problems_of_a_file_are_reported_with_their_lines() -> None:
    rows = [
        '{"id": "1", "slice": "s", "query": " ", "expected": "x"}',
        '{"id": "1", "slice": "overall", "query": "b", "expected": null}',
        '{"id": "", "slice": "s", "query": "b", "expected": ""}',
        '{"query": "b", "expected": [""]}',
        '{"id": true, "slice": [], "query": {}, "expected": false, "filter": 1, "user": []}',
        '{"id": "6", "slice": "s", "query": "b", "expected": {}}',
        '{"id": "7", "slice": "s", "kind": "t", "query": "b", "expected": "x"}',
        '{"id": "8", "slice": "s", "expected": "x"}',
    ]
    remedy = "Give a key, a list of keys, or [] for a question without an answer."
    every_id = "Give every row an id, or none (then they are q001, q002, ...)."
    assert golden_refusal("\n".join(rows)).split("\n") == [
        'golden.jsonl:1: "query" is empty. Give the question as it is asked.',
        'golden.jsonl:2: the id "1" is taken by line 1. Rename one of them.',
        'golden.jsonl:2: a slice may not be called "overall": '
        "it names the mean over all questions. Rename it.",
        f'golden.jsonl:2: "expected" is missing. {remedy}',
        f'golden.jsonl:3: "id" is empty. {every_id}',
        f'golden.jsonl:3: "expected" is empty. {remedy}',
        f'golden.jsonl:4: "id" is missing. {every_id}',
        'golden.jsonl:4: "slice" is missing. Give every row a slice, or none of them.',
        f'golden.jsonl:4: "expected" holds an empty key. {remedy}',
        'golden.jsonl:5: "id" must be text, got true. Put it in quotes.',
        'golden.jsonl:5: "query" must be text, got an object. Give one text.',
        'golden.jsonl:5: "slice" must be text, got a list. Give one text.',
        'golden.jsonl:5: "expected" must hold keys (text), got false.',
        'golden.jsonl:5: "filter" must be name=value; name=value, got "1".',
        'golden.jsonl:5: "user" must be text, got a list. Give one text.',
        f'golden.jsonl:6: "expected" is an empty object. {remedy}',
        'golden.jsonl:7: "slice" and "kind" are both given and differ. Say which one counts: '
        "golden: {path: golden.jsonl, fields: {slice: slice}}.",
        'golden.jsonl:8: "query" is missing. Give the question as it is asked.',
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            '"expected": "a", "grades": {"a": "2"}',
            'must be a finite number without quotes, got "2"',
        ),
        ('"expected": "a", "grades": {"a": 1e999}', "finite number without quotes, got 1e999"),
        ('"expected": ["a"], "grades": [1, 2]', '"grades" has 2 grades for 1 expected keys.'),
        ('"expected": "a", "grades": {"b": 1}', 'gives "b" the grade 1, but it is not expected.'),
        ('"expected": [], "grades": {"b": 1}', 'gives "b" the grade 1, but it is not expected.'),
        ('"expected": {"a": 0}', "every grade is 0 or less, so nothing is expected."),
        ('"expected": "a", "grades": {"a": 0}', "every grade is 0 or less"),
        (
            '"expected": [{"key": "a", "grade": 1}, {"key": "a", "grade": 2}]',
            "twice with different",
        ),
        ('"expected": [{"key": "a", "grade": 1}], "grades": [2]', 'grades "a" both 1 and 2.'),
        ('"expected": [{"name": "a"}]', 'an object without a key (fields: name). Call it "key".'),
        ('"expected": ["a", null]', "must hold keys (text), got null."),
    ],
)
def test_contradictory_judgments_are_errors(fields: str, message: str) -> None:
    assert message in golden_refusal(f'{{"query": "x", {fields}}}')


def test_expected_keys_that_the_corpus_lacks_are_errors() -> None:
    text = (
        '{"query": "a", "expected": ["x", "doc1"]}\n{"query": "b", "expected": {"x": 1, "y": 0}}\n'
    )
    assert golden_refusal(text, corpus_keys=["x", "doc-1"]) == (
        'golden.jsonl:1: the corpus has no entry "doc1". Did you mean "doc-1"? '
        "Correct the key, or add the entry."
    )
    assert len(golden(text, corpus_keys=["x", "doc1"])) == 2


def test_rows_on_one_line_are_told_apart() -> None:
    text = '[{"id": "1", "query": "a", "expected": "x"}, {"id": "1", "query": "b"}]'
    assert golden_refusal(text, "golden.json").split("\n") == [
        'golden.json:1: row 2: the id "1" is taken by row 1. Rename one of them.',
        'golden.json:1: row 2: "expected" is missing. '
        "Give a key, a list of keys, or [] for a question without an answer.",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "holds no questions. Give at least one."),
        ("{}", 'no questions found. Put them under "queries", or in a list. Fields found: none.'),
        ("null", "expected a list of questions, got null."),
        ("7", "expected a list of questions, got 7."),
        ("[1, null]", "row 1 is 1. Each row is an object with named fields."),
        ('{"queries": []}', "holds no questions."),
        ('{"queries": 5}', '"queries" is 5. Give a list of questions.'),
        ('{"a": 1, "b": 2}', "Fields found: a, b."),
        ('{"1": {"id": "2", "query": "a"}}', 'the row under "1" has the id "2".'),
        (" \n", "is empty."),
    ],
)
def test_a_file_without_rows_is_an_error(text: str, message: str) -> None:
    assert message in golden_refusal(text, "golden.json")


def test_a_header_alone_holds_no_questions() -> None:
    assert "holds no questions" in golden_refusal("id,query,expected\n", "golden.csv")


@pytest.mark.parametrize(
    ("cell", "keys"),
    [
        ("['x', 'y']", ("x", "y")),
        ("['x, z', \"it's\"]", ("x, z", "it's")),
        ("['007',]", ("007",)),
        ("[['x'], ['y']]", ("x", "y")),
        ("x\ny\n", ("x", "y")),
    ],
)
def test_a_cell_may_hold_what_python_and_spreadsheets_make_of_a_list(
    cell: str, keys: tuple[str, ...]
) -> None:
    text = 'query,expected\na,"{}"\n'.format(cell.replace('"', '""'))
    assert only(text, "golden.csv").expected == keys


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("['x' 'y']", "starts like JSON, but"),  # NumPy's, which Python would read as 'xy'
        ("['x', None]", "starts like JSON, but"),
        ("{'x', 'y'}", "starts like JSON, but"),
        ("('x', 'y')", "is a Python tuple as it prints"),
        ("[['x', 'y']]", "holds a list within the list"),
        ("#N/A", "holds #N/A, the error of a spreadsheet"),
    ],
)
def test_what_is_no_list_in_a_cell_is_explained(cell: str, message: str) -> None:
    found = golden_refusal(f'query,expected\na,"{cell}"\n', "golden.csv")
    assert 'golden.csv:2: "expected"' in found
    assert message in found


def test_a_long_cell_that_is_no_list_is_refused_at_once() -> None:
    for cell in ("[" + "[a] " * 5000, "['a' " * 5000, "('a', " * 5000):
        text = f'query,expected\na,"{cell}"\n'
        assert "golden.csv:2" in golden_refusal(text, "golden.csv", corpus_keys=[])


def test_a_decimal_comma_is_told() -> None:
    found = golden_refusal("query;expected;grade\na;x;1,5\n", "golden.csv")
    assert "Write 1.5, with a point." in found


@pytest.mark.parametrize("name", ["grade", "relevance", "rating", "gain"])
@pytest.mark.parametrize("key", ["key", "docid", "corpus-id", "passage_id", "chunk_id"])
def test_the_grade_of_an_expected_object_is_kept_whatever_it_is_called(key: str, name: str) -> None:
    objects = f'{{"{key}": "a", "{name}": 2}}, {{"{key}": "b", "{name}": 0}}'
    assert only(f'{{"query": "x", "expected": [{objects}]}}') == Query(
        "q001", "all", "x", ("a",), {"a": 2.0}, ("b",)
    )


@pytest.mark.parametrize("name", ["score", "label", "relevance_score"])
def test_a_score_beside_an_expected_key_is_no_grade_and_not_silently_left(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    objects = f'{{"id": "a", "{name}": -0.2}}, {{"id": "b", "{name}": "good"}}'
    assert only(f'{{"query": "x", "expected": [{objects}]}}').expected == ("a", "b")
    assert f"beside an expected key as {name} is not read" in caplog.text


@pytest.mark.parametrize("name", ["grades", "relevances", "relevance_scores", "gains"])
def test_grades_in_a_list_beside_the_keys_are_kept(name: str) -> None:
    query = only(f'{{"query": "x", "expected": ["a", "b"], "{name}": [2, 1]}}')
    assert query.grades == {"a": 2.0, "b": 1.0}


def test_a_question_in_several_rows_is_read_as_several_and_warned_of(
    caplog: pytest.LogCaptureFixture,
) -> None:
    text = "query,expected\nx?,a\ny?,c\nx?,b\nx?,a\nx?,d\n"
    found = golden(text, "golden.csv").queries
    assert [(query.query_id, query.expected) for query in found] == [
        ("q001", ("a",)),
        ("q002", ("c",)),
        ("q003", ("b",)),
        ("q004", ("a",)),
        ("q005", ("d",)),
    ]
    assert "golden.csv: 3 rows with the question of a row above and other expected" in caplog.text
    assert "write all its keys in one row" in caplog.text


@pytest.mark.parametrize(
    ("second", "remedy"),
    [
        ("1,x?,b", "Write all keys of a question in one row."),
        ("1,x?,a", "Write all keys of a question in one row."),
        ("1,y?,b", "Rename one of them."),
    ],
)
def test_an_id_belongs_to_one_row(second: str, remedy: str) -> None:
    found = golden_refusal(f"id,query,expected\n1,x?,a\n{second}\n", "golden.csv")
    assert found == f'golden.csv:3: the id "1" is taken by line 2. {remedy}'


def test_a_question_asked_again_with_the_same_keys_counts_again_in_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found = golden("query,expected\nx?,a|b\ny?,c\nx?,b|a\n", "golden.csv").queries
    assert not caplog.records
    assert [(query.query_id, query.text) for query in found] == [
        ("q001", "x?"),
        ("q002", "y?"),
        ("q003", "x?"),
    ]


def test_the_same_text_in_another_slice_or_by_another_user_is_another_question(
    caplog: pytest.LogCaptureFixture,
) -> None:
    text = "query,slice,user,expected\nx?,s,ada,a\nx?,t,ada,b\nx?,s,ben,c\n"
    assert len(golden(text, "golden.csv")) == 3
    assert not caplog.records


@pytest.mark.parametrize(
    ("expected", "doubt"),
    [
        ("a ", "begin or end with a blank, 1 of 1"),
        ("\u200ba", "begin or end with a blank"),
        ("1.23E+12", "a spreadsheet has rounded"),
        ("The fee is 20 euros.", "look like texts"),
        ("7.0", "a data frame has made fractions"),
        ("'a'", "stand in single quotes"),
        ('"a,b"', "look like lists"),
    ],
)
def test_keys_that_may_be_none_are_doubted_where_no_corpus_knows(
    expected: str, doubt: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = f"query,expected\nx?,{expected}\n"
    read = golden(text, "golden.csv")
    assert doubt in caplog.text
    caplog.clear()
    golden(text, "golden.csv", corpus_keys=read.queries[0].expected)
    assert caplog.text == ""


def test_answers_are_doubted_where_no_corpus_knows(caplog: pytest.LogCaptureFixture) -> None:
    golden('{"question": "x?", "answers": ["Ada"]}\n')
    assert '"answers" are taken for the ids of documents' in caplog.text


@pytest.mark.parametrize(
    ("expected", "hint"),
    [
        ("a,b", "It looks like 2 of them: in a cell, | stands between two keys."),
        ("Gro\u0308\u00dfe", "in the form of its accents alone"),
        ("a\u00a0", "in blanks"),
    ],
)
def test_a_key_that_only_seems_to_differ_is_told(expected: str, hint: str) -> None:
    text = f'query,expected\nx?,"{expected}"\n'
    assert hint in golden_refusal(text, "golden.csv", corpus_keys=["a", "b", "Gr\u00f6\u00dfe"])


def test_a_table_without_a_header_is_told() -> None:
    found = golden_refusal("1048585\twhat is paula deen's brother\n2\tandrogen\n", "queries.tsv")
    assert "If these are a row, put a line above it that names the columns." in found


def test_a_separator_with_nothing_beside_it_is_an_error() -> None:
    assert 'has nothing on one side of "|"' in golden_refusal("query,expected\na,x|\n", "g.csv")


def test_a_folder_is_no_golden_set(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is a folder"):
        read_golden(tmp_path)


# Corpora


def test_a_corpus_row_may_have_everything() -> None:
    row = (
        '{"id": 1, "text": "t", "source_type": "memory", "title": "T", "updated_at": 1767225600, '
        '"tags": {"n": 1.0, "b": true, "gone": null}, "path": "/p", "other": [1]}'
    )
    assert corpus(row).entries == (
        Entry("1", "t", "memory", "T", "1767225600", None, {"n": "1.0", "b": "true"}, "/p"),
    )


@pytest.mark.parametrize("entry_id", ["id", "key", "_id", "doc_id", "document_id", "Doc ID"])
@pytest.mark.parametrize("text", ["text", "content", "body", "contents"])
@pytest.mark.parametrize("store", ["source_type", "type", "kind", "store"])
def test_common_spellings_of_a_corpus_are_understood(entry_id: str, text: str, store: str) -> None:
    row = f'{{"{entry_id}": "1", "{text}": "t", "{store}": "Memory"}}'
    assert corpus(row).entries == (Entry("1", "t", "memory"),)


def test_a_corpus_may_be_texts_by_id() -> None:
    found = corpus('{"007": "one",\n "b": ""}', "corpus.json").entries
    assert found == (Entry("007", "one", "document"), Entry("b", "", "document"))
    assert corpus('{"id": "a", "text": "b"}', "corpus.json").entries[0].entry_id == "a"


@pytest.mark.parametrize("name", ["docid", "docno", "corpus-id", "passage_id", "pid", "chunk_id"])
def test_names_that_may_mean_a_part_are_ids_where_no_other_is(name: str) -> None:
    assert corpus(f'{{"{name}": "007", "passage": "x"}}').entries[0].entry_id == "007"
    row = f'{{"id": "1", "{name}": "007", "text": "x", "passage": "y"}}'
    assert corpus(row).entries == (Entry("1", "x", "document"),)


def test_a_type_that_names_no_store_is_metadata() -> None:
    assert corpus('{"id": "1", "text": "t", "type": "faq"}').entries[0].store == "document"


def test_a_type_that_sometimes_names_a_store_always_should() -> None:
    rows = '{"id": "1", "text": "t", "type": "memory"}\n{"id": "2", "text": "t", "type": "memoy"}'
    assert corpus_refusal(rows) == (
        'corpus.jsonl:2: "type" is "memoy", which is no store. Did you mean "memory"?'
    )


@pytest.mark.parametrize(
    "text",
    [
        '{"documents": [{"id": "d", "text": "x"}], "memories": [{"key": "m", "content": "y"}]}',
        '{"corpus": {"documents": [{"id": "d", "text": "x"}], '
        '"memories": [{"id": "m", "text": "y"}]}, "queries": []}',
        '{"documents": {"d": {"text": "x"}}, "memories": {"m": {"text": "y"}}}',
        '{"entries": [{"id": "d", "text": "x"}, '
        '{"id": "m", "text": "y", "source_type": "memory"}]}',
        '{"d": {"text": "x"}, "m": {"text": "y", "source_type": "memory"}}',
        '{"corpus": [{"id": "d", "text": "x"}, {"id": "m", "text": "y", "store": "memory"}]}',
    ],
)
def test_corpora_are_found_bare_grouped_and_wrapped(text: str) -> None:
    assert corpus(text, "c.json").entries == (
        Entry("d", "x", "document"),
        Entry("m", "y", "memory"),
    )


@pytest.mark.parametrize(
    ("tags", "found"),
    [
        ('["a", "b c"]', {"a": "true", "b c": "true"}),
        ('"a, b"', {"a": "true", "b": "true"}),
        ('"team=web; urgent"', {"team": "web", "urgent": "true"}),
        ('"{\\"a\\": \\"x, y\\"}"', {"a": "x, y"}),
        ("{}", {}),
        ("null", {}),
        ('""', {}),
    ],
)
def test_every_form_of_tags_is_read(tags: str, found: dict[str, str]) -> None:
    assert corpus(f'{{"id": "1", "text": "t", "tags": {tags}}}').entries[0].tags == found


def test_an_empty_text_is_a_text_and_other_empty_fields_are_absent() -> None:
    row = '{"id": "1", "text": "", "title": "", "updated_at": "", "path": "", "age_days": null}'
    assert corpus(row).entries == (Entry("1", "", "document"),)
    assert corpus("id,text,title,age_days\n1,,,\n", "c.csv").entries == (
        Entry("1", "", "document"),
    )
    yaml = "- {id: 1, text: , title: null, age_days: ~}\n"
    assert corpus(yaml, "c.yaml").entries == (Entry("1", "", "document"),)


def test_a_future_age_stays_negative_and_a_zero_has_no_sign() -> None:
    found = corpus('{"id": 1, "text": "", "age_days": -3}\n{"id": 2, "text": "", "age_days": -0.0}')
    assert [str(entry.age_days) for entry in found.entries] == ["-3.0", "0.0"]


def test_dates_stay_as_they_were_written() -> None:
    yaml = "- {id: 1, text: t, updated_at: 2026-11-01}\n- {id: 2, text: t, updated_at: yesterday}\n"
    assert [e.updated_at for e in corpus(yaml, "c.yaml").entries] == ["2026-11-01", "yesterday"]


def test_all_problems_of_a_corpus_are_reported_with_their_lines() -> None:
    rows = [
        '{"id": "1", "text": "t", "age_days": 5, "updated_at": "2026-11-01"}',
        '{"id": "1", "text": null}',
        '{"id": "3", "text": "t", "source_type": "memmory"}',
        '{"id": "4", "text": "t", "age_days": 1e999}',
        '{"id": "5", "text": ["t"], "age_days": "5"}',
        '{"id": "6", "text": "t", "tags": {"a": [1]}, "title": 5, "path": true}',
        '{"text": "t"}',
        '{"id": " ", "text": "t", "source_type": 5, "tags": [5, ""]}',
        '{"id": "9", "text": "t", "source_type": ["memory"]}',
    ]
    assert corpus_refusal("\n".join(rows)).split("\n") == [
        'corpus.jsonl:1: "updated_at" and "age_days" are both given. Keep one of them.',
        'corpus.jsonl:2: the id "1" is taken by line 1. Rename one of them.',
        'corpus.jsonl:2: "text" is missing. Give a text ("" for an empty one).',
        'corpus.jsonl:3: "source_type" is "memmory", which is no store. Did you mean "memory"?',
        'corpus.jsonl:4: "age_days" must be a finite number without quotes, got 1e999.',
        'corpus.jsonl:5: "text" must be text, got a list. Give one text.',
        'corpus.jsonl:5: "age_days" must be a finite number without quotes, got "5".',
        'corpus.jsonl:6: "tags" must map "a" to one text, got a list.',
        'corpus.jsonl:6: "path" must be text, got true. Put it in quotes.',
        'corpus.jsonl:7: "id" is missing. Every entry needs one, to be expected by.',
        'corpus.jsonl:8: "id" is empty. Give it a text.',
        'corpus.jsonl:8: "source_type" is 5, which is no store. Choose from: document, memory.',
        'corpus.jsonl:8: "tags" must hold names, got "".',
        'corpus.jsonl:9: "source_type" is a list, which is no store. '
        "Choose from: document, memory.",
    ]


def test_two_spellings_of_one_noun_that_differ_are_an_error() -> None:
    found = corpus_refusal('{"id": "1", "key": "2", "text": "t"}')
    assert found.startswith('corpus.jsonl:1: "id" and "key" are both given and differ.')


def test_a_misspelt_field_of_a_corpus_is_an_error() -> None:
    rows = '{"id": "1", "text": "t", "soruce_type": "memory"}\n{"idd": "2", "contnet": "t"}'
    assert [line.split(" If so")[0] for line in corpus_refusal(rows).split("\n")] == [
        'corpus.jsonl:1: unknown field "soruce_type". Did you mean "source_type"?',
        'corpus.jsonl:2: unknown field "contnet". Did you mean "content"?',
        'corpus.jsonl:2: "id" is missing. Every entry needs one, to be expected by.',
    ]


def test_nan_in_a_cell_is_no_age() -> None:
    assert 'c.csv:2: "age_days" must be a finite number' in corpus_refusal(
        "id,text,age_days\n1,t,nan\n", "c.csv"
    )


def test_a_row_in_the_wrong_group_is_an_error() -> None:
    text = '{"memories": [\n{"id": "m", "text": "y", "source_type": "document"}]}'
    assert corpus_refusal(text, "c.json") == (
        'c.json:2: "source_type" is document, but it stands among memory rows. Move it.'
    )


def test_an_unknown_shape_of_a_corpus_shows_its_option() -> None:
    assert corpus_refusal('{"doc": "x", "words": "y"}') == (
        'corpus.jsonl:1: no field is known as "id" and "text". Fields found: doc, words. '
        "Name yours, for example: corpus: {path: corpus.jsonl, fields: {id: doc, text: words}}."
    )
    named = corpus('{"doc": "x", "words": "y"}', fields={"id": "doc", "text": "words"})
    assert named.entries == (Entry("x", "y", "document"),)


def test_a_corpus_without_entries_is_an_error() -> None:
    assert "holds no entries" in corpus_refusal('{"documents": [], "memories": []}', "c.json")
    assert "holds no entries" in corpus_refusal("[]", "c.json")


# Fixtures


PAGE = (
    "# Page\n\nIntro.\n\n## Setup\r\n\r\nDo it.\r\n\n"
    "### Detail\n\n```\n## no heading\n```\n\n## Next\n\nEnd.\n"
)


def test_a_section_is_cut_out_of_its_source() -> None:
    folder({"page.md": PAGE})
    rows = '{"id": "s", "source": "docs/page.md", "section": "Setup"}\n'
    rows += '{"id": "w", "source": "docs/page.md"}\n{"id": "t", "text": "own", "source": "web"}\n'
    setup, whole, own = corpus(rows).entries
    assert setup.text == "## Setup\n\nDo it.\n\n### Detail\n\n```\n## no heading\n```\n"
    assert setup.title == "Setup"
    assert whole.text == PAGE.replace("\r\n", "\n")
    assert own.text == "own"


def test_sources_start_from_the_root() -> None:
    folder({"page.md": PAGE})
    rows = '{"id": "s", "source": "page.md", "section": "Next"}'
    assert corpus(rows, root="docs").entries[0].text == "## Next\n\nEnd.\n"


def test_sources_that_cannot_be_read_are_located() -> None:
    folder({"page.md": PAGE, "binary.md": "a\0b"})
    Path("docs/out.md").symlink_to("/etc")
    rows = [
        {"source": "../secret.md"},
        {"source": "/etc/passwd"},
        {"source": "gone.md"},
        {"source": "page.md", "section": "Setpu"},
        {"source": "binary.md"},
        {"source": "out.md"},
        {"source": [], "section": "x"},
    ]
    text = "\n".join(
        f'{{"id": "{n}", {str(row)[1:-1]}}}'.replace("'", '"') for n, row in enumerate(rows)
    )
    found = corpus_refusal(text, root="docs").split("\n")
    assert [line.split(": ")[0] for line in found] == [f"corpus.jsonl:{n}" for n in range(1, 8)]
    assert 'the source "../secret.md" lies outside "docs". Give a path below it.' in found[0]
    assert 'the source "/etc/passwd" lies outside "docs".' in found[1]
    assert 'there is no source "gone.md" below "docs".' in found[2]
    assert '"page.md" has no section "Setpu". Did you mean "Setup"?' in found[3]
    assert "looks like a binary file" in found[4]
    assert 'the source "out.md" lies outside' in found[5]
    assert '"source" must be text, got a list' in found[6]


def test_a_source_without_headings_has_no_section() -> None:
    folder({"plain.txt": "plain"})
    found = corpus_refusal('{"id": "1", "source": "docs/plain.txt", "section": "x"}')
    assert found.endswith('has no section "x". It has no headings.')


def test_a_source_that_is_no_path_is_located() -> None:
    assert "is no usable path" in corpus_refusal('{"id": "1", "source": "a\\u0000b"}')


# Folders


def test_a_folder_of_texts_is_a_corpus() -> None:
    found = read_corpus(
        folder(
            {
                "prd.md": "---\ntitle: The plan\ndate: 2026-01-02\ntags: [a, b]\nlayout: x\n"
                "---\n\n# H\n",
                "guides/setup.MARKDOWN": "Intro\n\n# Setting up\r\n\r\nText\n\n",
                "guides/v1.2.txt": "plain",
                "empty.md": "",
                ".hidden.md": "no",
                ".git/x.md": "no",
                "image.png": "no",
            }
        )
    )
    assert found.entries == (
        Entry("empty", "", "document", path="empty.md"),
        Entry(
            "guides/setup",
            "Intro\n\n# Setting up\n\nText\n",
            "document",
            "Setting up",
            path="guides/setup.MARKDOWN",
        ),
        Entry("guides/v1.2", "plain\n", "document", path="guides/v1.2.txt"),
        Entry(
            "prd",
            "# H\n",
            "document",
            "The plan",
            "2026-01-02",
            tags={"a": "true", "b": "true"},
            path="prd.md",
        ),
    )


def test_front_matter_may_say_everything() -> None:
    text = (
        "---\nid: 007\nsource_type: memory\nage_days: 3\ntags: {team: web}\n"
        "title: null\n---\nFact.\n"
    )
    assert read_corpus(folder({"m.md": text})).entries == (
        Entry("007", "Fact.\n", "memory", None, None, 3.0, {"team": "web"}, "m.md"),
    )


def test_the_last_change_counts_among_several_dates() -> None:
    text = "---\ndate: 2020-01-01\nlastmod: 2026-01-01\n---\nx\n"
    assert read_corpus(folder({"a.md": text})).entries[0].updated_at == "2026-01-01"


@pytest.mark.parametrize(
    "text",
    ["---\n\nA rule, then text.\n", "---\nText between rules.\n---\nMore.\n", "--- a\nb\n"],
)
def test_a_rule_at_the_top_is_no_front_matter(text: str) -> None:
    assert read_corpus(folder({"a.md": text})).entries[0].text == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\ntitle: [a\n---\nx", "docs/a.md:3: the front matter is not valid YAML"),
        ("---\ntitle: a\ntitle: b\n---\nx", 'docs/a.md:3: the front matter "title" comes twice'),
        ("---\ntitle: a\n\nText", "docs/a.md:1: the front matter has no end."),
        ("---\na: 1\ntitle: [x]\n---\n", 'docs/a.md:3: "title" must be text, got a list.'),
        ("---\nage_days: old\n---\n", 'docs/a.md:2: "age_days" must be a finite number'),
        ("---\nsource_type: page\n---\n", 'docs/a.md:2: "source_type" is page, which is no store.'),
        ("---\ntags: {a: [b]}\n---\n", 'docs/a.md:2: "tags" must map "a" to one text'),
        (
            "---\nage_days: 1\nupdated_at: 2026-01-01\n---\n",
            'docs/a.md:3: "updated_at" and age_days are both given.',
        ),
    ],
)
def test_broken_front_matter_is_located(text: str, message: str) -> None:
    assert folder_refusal({"a.md": text}).startswith(message)


@pytest.mark.parametrize(
    "above", ["\n", " \n\n", "<!-- ours -->\n", "<!-- a\nb -->\n\n<!-- c -->\n"]
)
def test_front_matter_below_the_first_line_is_refused_as_it_would_go_unread(above: str) -> None:
    text = f"{above}---\nprincipals: [board]\n---\nSecret.\n"
    assert folder_refusal({"a.md": text}) == (
        f"docs/a.md:{above.count(chr(10)) + 1}: front matter is read from the first line on alone. "
        "Move it to the top."
    )


@pytest.mark.parametrize(
    "text",
    [
        "\n---\nText between rules.\n---\nMore.\n",
        "\n---\nnote: no key that is read\n---\nMore.\n",
        "# A page\n\n---\ntitle: an example of front matter\n---\n",
        "\n---\ntitle: [no end\n---\n",
        "<!-- no end\n---\ntitle: a\n---\n",
        "<!-- a --> ---\ntitle: a\n---\n",
        "\n---\ntitle: a\n",
        "\n\n",
    ],
)
def test_rules_below_the_first_line_are_no_front_matter(text: str) -> None:
    assert read_corpus(folder({"a.md": text})).entries[0].text.strip() == text.strip()


def test_front_matter_may_be_empty() -> None:
    assert read_corpus(folder({"a.md": "---\n# todo\n---\n\nx\n"})).entries[0].text == "x\n"


def test_a_folder_that_may_not_be_read_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(path: object) -> None:
        raise PermissionError(13, "Permission denied", "docs")

    path = folder({"a.md": "x"})
    monkeypatch.setattr(os, "scandir", forbid)
    with pytest.raises(InputError, match="docs: this folder may not be read"):
        read_corpus(path)


def test_problems_of_all_files_of_a_folder_are_reported() -> None:
    found = folder_refusal({"a.md": "x", "a.txt": "y", "b.md": "a\0b", "c.md": "---\nid: [\n---\n"})
    assert [line.split(": ")[0] for line in found.split("\n")] == [
        "docs/a.txt",
        "docs/b.md:1",
        "docs/c.md:3",
    ]
    assert 'has the id "a", as docs/a.md has. Rename one of them.' in found


def test_a_loop_of_links_ends() -> None:
    path = folder({"a.md": "x"})
    (path / "loop").symlink_to(path.resolve(), target_is_directory=True)
    assert [entry.entry_id for entry in read_corpus(path).entries] == ["a"]


def test_a_folder_without_texts_is_an_error() -> None:
    assert folder_refusal({"a.png": "x"}) == (
        "docs: this folder holds no text files (.md, .markdown, .txt). Give one that does."
    )


# Writing


def test_written_files_are_plain_to_read() -> None:
    write_golden("g.yaml", GoldenSet((Query("1e5", "s", "off", ("a", "b"), {"a": 2.0}, ("c",)),)))
    assert Path("g.yaml").read_text() == (
        '- id: "1e5"\n  slice: "s"\n  query: "off"\n  expected:\n  - "a"\n  - "b"\n'
        '  grades:\n    "a": 2\n    "c": 0\n'
    )
    write_golden(
        "g.csv", GoldenSet((Query("1", "s", 'a "b"', ("x", "y")), Query("2", "s", "c", ())))
    )
    assert Path("g.csv").read_text() == ('id,slice,query,expected\n1,s,"a ""b""",x|y\n2,s,c,[]\n')
    write_corpus("c.jsonl", Corpus((Entry("1", "é", "memory", age_days=400.0),)))
    assert Path("c.jsonl").read_text(encoding="utf-8") == (
        '{"id": "1", "text": "é", "source_type": "memory", "age_days": 400}\n'
    )


def test_an_unknown_extension_is_written_as_jsonl() -> None:
    write_golden("g.rows", TWO)
    assert read_golden("g.rows") == TWO


def test_a_nul_character_survives_where_it_can_and_is_refused_in_csv() -> None:
    odd = Corpus((Entry("1", "a\0b", "document"),))
    for name in ("c.jsonl", "c.json", "c.yaml"):
        write_corpus(name, odd)
        assert read_corpus(name) == odd
    with pytest.raises(InputError, match="a NUL character cannot stand in a CSV"):
        write_corpus("c.csv", odd)
    assert not Path("c.csv").exists()


# Real corpora


@pytest.mark.parametrize(
    ("name", "n_documents", "n_memories", "slices"),
    [
        (
            "soat",
            32,
            24,
            {"exact_token": 10, "exact_name": 15, "entity": 12, "semantic": 15, "freshness": 6},
        ),
        ("handbook", 10, 5, {"document": 6, "memory": 4}),
        (
            "neural_memory",
            0,
            30,
            {"factual": 8, "temporal": 6, "causal": 4, "pattern": 4, "coherence": 3},
        ),
        ("cranfield", 1400, 0, {"rel_10_plus": 52, "rel_5_9": 93, "rel_1_4": 80}),
        ("cacm", 3204, 0, {"long_topic": 22, "author": 5, "short_topic": 25}),
    ],
)
def test_real_corpora_are_read_whole(
    shared: Path, name: str, n_documents: int, n_memories: int, slices: dict[str, int]
) -> None:
    found = read_corpus(shared / "data" / name / "corpus.jsonl")
    stores = [entry.store for entry in found.entries]
    assert (stores.count("document"), stores.count("memory")) == (n_documents, n_memories)
    judged = read_golden(shared / "data" / name / "golden.jsonl", corpus_keys=found.keys)
    names = [query.slice for query in judged.queries]
    assert {each: names.count(each) for each in judged.slices} == slices
    if name == "cranfield":
        assert {entry.entry_id for entry in found.entries if not entry.text} == {"471", "995"}
        assert judged.queries[0].grade("29") == 3.0


def test_the_bundled_corpus_is_read() -> None:
    harbor = Path(__file__).resolve().parents[1] / "configs" / "corpora" / "harbor"
    found = read_corpus(harbor / "corpus.jsonl")
    assert len(read_golden(harbor / "golden.jsonl", corpus_keys=found.keys)) >= 140


@pytest.mark.parametrize(
    "cell",
    ["['a'" + " " * 200_000, "['a'," + " " * 200_000 + "x]", "[" + "[] " * 100_000 + "x"],
)
def test_a_long_cell_that_is_no_list_is_read_once(cell: str) -> None:
    with pytest.raises(WrongValue, match="starts like JSON, but is not"):
        split_cell(cell)
