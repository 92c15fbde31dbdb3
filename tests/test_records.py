"""Located records from every format: values as written, lines that are right, faults explained."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from sweeper.errors import InputError
from sweeper.formats.records import Source, load_yaml, parse_source, read_source
from sweeper.formats.values import Record, Value


def lines_of(source: Source) -> list[int]:
    assert isinstance(source.data, list)
    return [row.line for row in source.data if isinstance(row, Record)]


def rows_of(source: Source) -> list[Value]:
    assert isinstance(source.data, list)
    return source.data


def refusal(text: str, path: str = "rows.json") -> str:
    with pytest.raises(InputError) as caught:
        parse_source(text, path)
    return str(caught.value)


# JSON


def test_numbers_in_json_keep_the_text_that_was_typed() -> None:
    source = parse_source('[1e5, 1.0, 123456789012345678901234567890, -0, "001"]', "ids.json")
    assert source.data == ["1e5", "1.0", "123456789012345678901234567890", "-0", "001"]


def test_objects_inside_json_know_their_lines() -> None:
    text = '{\n"queries": [\n  {"id": 1},\n\n  {\n   "id": 2, "x": {"y":\n {}}}\n]}'
    data = parse_source(text, "golden.json").data
    assert isinstance(data, Record)
    assert data.line == 1
    rows = data["queries"]
    assert isinstance(rows, list)
    first, second = rows
    assert isinstance(first, Record)
    assert isinstance(second, Record)
    assert (first.line, second.line) == (3, 5)
    inner = second["x"]
    assert isinstance(inner, Record)
    assert inner.line == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"id": 001}]', '1: "001" is no JSON number. Put an id in double quotes.'),
        ("[\n NaN]", "2: NaN is no JSON number"),
        ("[\n\n -Infinity]", "3: -Infinity is no JSON number"),
        ('{"a": 1,\n "a": 2}', '2: "a" comes twice in one object. Keep one of them.'),
        ('["\\ud800"]', "1: half a surrogate pair"),
        ('{"a": 1,}', 'expected a name in double quotes, got "}". Remove the comma before it.'),
        ("[1, 2,\n]", '2: is not valid JSON: expected a value, got "]". Remove the comma'),
        ("{'a': 1}", "JSON uses double quotes."),
        ('{"a" 1}', 'expected ":" after "a", got "1".'),
        (
            '{\n"a": [1,\n2',
            '3: is not valid JSON: expected "," or "]", got the end of the text. '
            "What opens on line 2 is not closed.",
        ),
        ('["abc', "unterminated string"),
        ('["a\nb"]', "write \\n for a line break"),
        ("[True]", "True is Python, not JSON. Write true."),
        ("[1 2]", 'expected "," or "]", got "2".'),
        ("[", "expected a value, got the end of the text"),
        ('{"id": 1}\n{"id": 2}\n', '2: "{" follows the end of the value.'),
    ],
)
def test_broken_json_is_located_and_explained(text: str, message: str) -> None:
    found = refusal(text)
    assert found.startswith("rows.json:")
    assert message in found
    assert "\n" not in found


@pytest.mark.parametrize("text", ["[" * 100_000, "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000])
def test_deep_nesting_is_refused_in_json(text: str) -> None:
    assert refusal(text) == "rows.json:1: nested more than 100 levels deep. Flatten it."


def test_an_escaped_pair_of_surrogates_is_one_character() -> None:
    assert parse_source('["\\ud83d\\udea2"]', "a.json").data == ["🚢"]


# JSONL


def test_blank_and_comment_lines_are_skipped_and_counted() -> None:
    source = parse_source('# head\n\n{"id": 1}\r\n// note\n  {"id": 2}', "rows.jsonl")
    assert source.data == [{"id": "1"}, {"id": "2"}]
    assert lines_of(source) == [3, 5]


def test_a_line_separator_inside_a_text_does_not_cut_the_line() -> None:
    assert parse_source('{"q": "a\u2028b\x85c"}\n', "rows.jsonl").data == [{"q": "a\u2028b\x85c"}]


def test_all_broken_lines_of_jsonl_are_reported_at_once() -> None:
    text = '{"a": 1}\n{"a": 1\n5\n{"a": NaN}\n{"a": 1, "a": 2}\n{"a": "\\udfff"}\nx\n{"a": 1},\n'
    assert [line.split(": ")[0] for line in refusal(text, "r.jsonl").split("\n")] == [
        f"r.jsonl:{number}" for number in (2, 3, 4, 5, 6, 7, 8)
    ]


def test_commas_between_rows_of_jsonl_are_named() -> None:
    assert "Remove the commas" in refusal('{"a": 1},\n{"a": 2}\n', "rows.jsonl")


def test_a_json_document_called_jsonl_is_recognised() -> None:
    assert refusal('[\n{"a": 1},\n{"a": 2}\n]', "rows.jsonl") == (
        "rows.jsonl:1: is one JSON document, not rows. Call it .json."
    )


def test_deep_nesting_is_refused_in_jsonl() -> None:
    text = '{"a":' * 100_000 + "1" + "}" * 100_000
    assert "nested more than 100 levels" in refusal(text, "rows.jsonl")


# CSV and TSV


def test_cells_are_text_as_written() -> None:
    source = parse_source("id,query\n001, a \nNA,null\n1e5,=1+1\n", "rows.csv")
    assert source.data == [
        {"id": "001", "query": " a "},
        {"id": "NA", "query": "null"},
        {"id": "1e5", "query": "=1+1"},
    ]


def test_rows_after_a_quoted_line_break_keep_their_lines() -> None:
    source = parse_source('id,q\r\n1,"two\r\nlines"\r\n\r\n2,b\r\n', "rows.csv")
    assert source.data == [{"id": "1", "q": "two\r\nlines"}, {"id": "2", "q": "b"}]
    assert lines_of(source) == [2, 5]


@pytest.mark.parametrize(
    ("text", "path"),
    [("a;b\n1;2,5\n", "x.csv"), ("a\tb\n1\t2,5\n", "x.csv"), ("a\tb\n1\t2,5\n", "x.tsv")],
)
def test_the_delimiter_follows_from_the_header(text: str, path: str) -> None:
    assert parse_source(text, path).data == [{"a": "1", "b": "2,5"}]


def test_a_delimiter_inside_a_quoted_column_name_does_not_count() -> None:
    assert parse_source('"a;b;c",d\n1,2\n', "x.csv").data == [{"a;b;c": "1", "d": "2"}]


def test_a_cell_longer_than_csv_allows_by_default_is_read() -> None:
    page = "x" * 200_000
    assert parse_source(f"id,text\n1,{page}\n", "x.csv").data == [{"id": "1", "text": page}]


def test_empty_rows_of_spreadsheets_are_skipped() -> None:
    assert rows_of(parse_source("a,b\n,\n1,2\n,\n", "x.csv")) == [{"a": "1", "b": "2"}]


def test_short_and_long_rows_are_located() -> None:
    assert refusal("a,b\n1\n1,2,3\n", "x.csv") == (
        "x.csv:2: this row has 1 cell, the header has 2. Add the rest.\n"
        "x.csv:3: this row has 3 cells, the header has 2. Quote a cell that holds the delimiter."
    )


def test_a_header_without_names_or_with_twins_is_refused() -> None:
    assert refusal("a,,a\n1,2,3\n", "x.csv") == (
        "x.csv:1: column 2 has no name. Name it, or remove it.\n"
        'x.csv:1: two columns are called "a". Rename one.'
    )


def test_an_unclosed_quote_is_located_where_its_row_begins() -> None:
    assert refusal('a,b\n1,2\n3,"x\n5,6\n', "x.csv").startswith("x.csv:3: a quote that opens")


def test_text_after_a_closing_quote_is_refused() -> None:
    assert "x.csv:2: this row is not valid CSV" in refusal('a,b\n1,"x"y\n', "x.csv")


# YAML


def test_yaml_rows_keep_every_scalar_as_typed() -> None:
    text = "- {id: 001, q: off, e: [12:30, null, 1e5, 1_000, 2026-11-01]}\n- id: ~\n"
    source = parse_source(text, "rows.yaml")
    assert source.data == [
        {"id": "001", "q": "off", "e": ["12:30", "null", "1e5", "1_000", "2026-11-01"]},
        {"id": "~"},
    ]
    assert lines_of(source) == [1, 2]


def test_plain_yaml_data_follows_the_core_schema() -> None:
    document = load_yaml(
        "i: [1, -7, +3, 007]\nf: [1.5, 1e-3, .5, 2.]\nb: [true, False]\nn: [null, ~, ]\n"
        "t: [off, yes, 12:30, 2026-11-01, 1_000, 0x1f, 1.2.3]\nq: ['1', \"true\", !!str 5]\n",
        "c.yaml",
    )
    assert document.data == {
        "i": [1, -7, 3, 7],
        "f": [1.5, 0.001, 0.5, 2.0],
        "b": [True, False],
        "n": [None, None],
        "t": ["off", "yes", "12:30", "2026-11-01", "1_000", "0x1f", "1.2.3"],
        "q": ["1", "true", "5"],
    }


def test_infinity_and_a_huge_integer_are_left_for_the_config_to_judge() -> None:
    digits = "9" * 5000
    assert load_yaml(f"a: -.inf\nb: {digits}", "c.yaml").data == {"a": float("-inf"), "b": digits}


def test_a_location_has_a_line_even_where_it_ends_early() -> None:
    document = load_yaml("name: x\nspace:\n  rrf_k:\n    - 5\n    - 0\n", "c.yaml")
    assert document.line_of(("space", "rrf_k", 1)) == 5
    assert document.line_of(("space", "rrf_k")) == 3
    assert document.line_of(("space", "missing", "deeper")) == 2
    assert document.line_of(()) == 1


def test_the_spelling_of_a_scalar_can_be_asked_for() -> None:
    document = load_yaml("a: [1.10, '1.10']\nb: {c: 1e-3}", "c.yaml")
    assert document.text_of(("a", 0)) == "1.10"
    assert document.text_of(("b", "c")) == "1e-3"
    assert document.text_of(("b",)) is None
    assert document.text_of(("z",)) is None


def test_an_empty_document_has_no_lines() -> None:
    document = load_yaml("# nothing\n", "c.yaml")
    assert document.data is None
    assert document.line_of(("a",)) is None
    assert document.text_of(("a",)) is None


def test_aliases_and_merge_keys_are_read() -> None:
    document = load_yaml(
        "base: &b {k: 1, l: 2}\nuse: {<<: *b, k: 3}\nlist: {<<: [*b, {m: 4}]}\n"
        "after:\n  k: 5\n  <<: *b\nsame: *b\n",
        "c.yaml",
    )
    assert document.data == {
        "base": {"k": 1, "l": 2},
        "use": {"k": 3, "l": 2},
        "list": {"k": 1, "l": 2, "m": 4},
        "after": {"k": 5, "l": 2},
        "same": {"k": 1, "l": 2},
    }
    assert document.line_of(("after", "l")) == 6


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 9)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "6: aliases repeat more than 100,000 values."),
        ("a: &a [*a]", "1: *a stands inside its own anchor."),
        ("\na: *b", "2: *b has no anchor above it."),
        ("a: 1\n\na: 2", '3: "a" comes twice (first on line 1). Keep one.'),
        (
            "a: !!python/object/apply:os.system [ls]",
            "the tag !!python/object/apply:os.system is not",
        ),
        ("a: !mine 1", "the tag !mine is not read here."),
        ("? [a, b]\n: 1", "a key is a list or a mapping."),
        ("a: [1\nb: 2", "is not valid YAML"),
        ("a:\n\tb: 1", "2: is not valid YAML"),
        ("a: 1\n---\nb: 2", "2: a second document starts here."),
        ("a: 'x", "is not valid YAML"),
        ('a: "\\ud800"', "1: "),
        ("a: b\n\x07", "2: the character U+0007 may not stand in YAML."),
        ("a: {<<: [x]}", '"<<" merges mappings.'),
        ("- " * 50_000 + "a", "nested more than 100 levels"),
        ("\n".join(" " * n + "- " for n in range(300)), "nested more than 100 levels"),
        ("[" * 100_000, ""),
    ],
)
@pytest.mark.parametrize("loader", [yaml.SafeLoader, yaml.CSafeLoader])
def test_broken_or_dangerous_yaml_is_located_and_explained(
    monkeypatch: pytest.MonkeyPatch, loader: object, text: str, message: str
) -> None:
    monkeypatch.setattr("sweeper.formats.yaml_text._Loader", loader)
    found = refusal(text, "c.yaml")
    assert found.startswith("c.yaml:")
    assert message in found
    assert "\n" not in found


def test_aliases_cannot_nest_deeper_than_text_can() -> None:
    chain = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 200))
    assert "nested more than 100 levels" in refusal(chain, "c.yaml")


# Any other extension


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": 1}\n{"a": 2}\n', "jsonl"),
        ('# c\n{"a": 1}\n{"a": 2}\n', "jsonl"),
        ('{"a": 1}', "json"),
        ('{\n"a": 1}', "json"),
        ('[{"a": 1}]', "json"),
        ("- a: 1\n", "yaml"),
        ("a: 1\n", "yaml"),
        ("---\na: 1\n", "yaml"),
        ("a\tb\n1\t2\n", "tsv"),
        ("a,b\n1,2\n", "csv"),
        ("a;b\n1;2\n", "csv"),
    ],
)
def test_the_content_tells_the_format_of_an_unknown_extension(text: str, kind: str) -> None:
    assert parse_source(text, "rows.txt").format == kind


def test_a_text_of_no_format_names_the_extensions() -> None:
    assert refusal("hello world", "notes.txt") == (
        "notes.txt: its format cannot be told. Use one of these extensions: "
        ".json .jsonl .ndjson .jl .parquet .pq .csv .tsv .tab .yaml .yml."
    )


def test_a_file_on_disk_is_read(tmp_path: Path) -> None:
    path = tmp_path / "Rows.JSONL"
    path.write_bytes(b'\xef\xbb\xbf{"id": 1}\r\n')
    assert read_source(path) == Source(str(path), "jsonl", [Record(1, [("id", "1")])])


@pytest.mark.parametrize(
    "text",
    [
        "id,query\n1,a\n2,b\n",
        ",id,query\n0,1,a\n1,2,b\n",
        "id,query,,\n1,a,,\n2,b,,\n,,,\n",
        "id, query\n1, a\n2, b\n",
        'id, query\n1, "a"\n2, b\n',
        "id|query\n1|a\n2|b\n",
    ],
    ids=["plain", "index of a data frame", "empty columns", "blanks", "blanks, quotes", "bars"],
)
def test_tables_of_spreadsheets_and_data_frames_are_the_same_rows(
    text: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    assert read_source(path).data == [{"id": "1", "query": "a"}, {"id": "2", "query": "b"}]


def test_a_blank_in_a_cell_stays_where_the_header_has_none(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,query\n1, a\n")
    assert read_source(path).data == [{"id": "1", "query": " a"}]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", ",id\nx,1\ny,2\n", "Of a data frame it is the index"),
        ("a.csv", "# mine\nid,query\n1,a\n", "remove what stands above the header"),
        ("a.csv", "Mine,,\nid,query,expected\n1,a,b\n", "remove what stands above the header"),
        ("a.jsonl", '{\n  "id": 1,\n  "query": "a"\n}\n{\n  "id": 2\n}\n', "over several lines"),
    ],
)
def test_a_file_of_another_shape_is_told_once(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InputError) as caught:
        read_source(path)
    assert message in str(caught.value)
    assert len(caught.value.problems) == 1
