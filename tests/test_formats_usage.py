"""Usage logs from and to files: spellings, and every problem at once."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.errors import InputError
from sweeper.formats.usage import read_usage, write_usage
from sweeper.prior import Interaction, UsageLog
from tests.property.strategies import texts

NINE = datetime(2026, 11, 1, 9, tzinfo=UTC)
ROW = {"question": "Who?", "offered": ["a", "b"], "cited": ["a"], "time": "2026-11-01T09:00:00Z"}
ONE = UsageLog((Interaction("Who?", ("a", "b"), ("a",), NINE),))


def written(folder: Path, *rows: object, name: str = "usage.jsonl") -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return path


def without(noun: str, **others: object) -> dict[str, object]:
    return {name: value for name, value in {**ROW, **others}.items() if name != noun}


def refusal(path: Path, **options: Any) -> list[str]:
    """Return the problems of a file, each without its folder."""
    with pytest.raises(InputError) as caught:
        read_usage(path, **options)
    return str(caught.value).replace(f"{path.parent}/", "").splitlines()


@pytest.mark.parametrize("question", ["question", "query", "text", "Query Text"])
@pytest.mark.parametrize("offered", ["offered", "shown", "pages"])
@pytest.mark.parametrize("cited", ["cited", "used", "citations"])
@pytest.mark.parametrize("time", ["time", "at", "timestamp"])
def test_a_row_has_many_spellings(
    tmp_path: Path, question: str, offered: str, cited: str, time: str
) -> None:
    names = (question, offered, cited, time)
    row = dict(zip(names, ROW.values(), strict=True))
    assert read_usage(written(tmp_path, row)) == ONE


def test_pages_are_what_was_offered_only_where_nothing_else_is(tmp_path: Path) -> None:
    assert read_usage(written(tmp_path, {**ROW, "pages": 7})) == ONE


@pytest.mark.parametrize(
    "time",
    ["2026-11-01T09:00:00", "2026-11-01T10:00:00+01:00", "1793523600", 1793523600, 1793523600000],
)
def test_a_time_is_iso_8601_or_unix_and_utc_where_it_does_not_say(
    tmp_path: Path, time: object
) -> None:
    assert read_usage(written(tmp_path, {**ROW, "time": time})) == ONE


def test_fields_may_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, {**without("cited"), "clicks": ["a"]})
    assert read_usage(path, fields={"cited": "clicks"}) == ONE


def test_one_key_may_stand_alone_and_nothing_may_be_shown_or_cited(tmp_path: Path) -> None:
    path = written(
        tmp_path, {**ROW, "offered": "a", "cited": []}, {**ROW, "offered": [], "cited": []}
    )
    assert [each.offered for each in read_usage(path).interactions] == [("a",), ()]


def test_a_number_is_a_key_as_it_was_typed(tmp_path: Path) -> None:
    path = tmp_path / "usage.jsonl"
    path.write_text('{"question": 7, "offered": [1e5, "001"], "cited": [1e5], "time": 1793523600}')
    assert read_usage(path) == UsageLog((Interaction("7", ("1e5", "001"), ("1e5",), NINE),))


def test_rows_are_ordered_by_time(tmp_path: Path) -> None:
    path = written(tmp_path, ROW, {**ROW, "question": "First?", "time": "2026-10-31"})
    assert [each.question for each in read_usage(path).interactions] == ["First?", "Who?"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("usage.jsonl", ""),
        ("usage.jsonl", "\n \n"),
        ("usage.jsonl", "# nobody has asked yet\n"),
        ("usage.json", ""),
        ("usage.json", "[]"),
        ("usage.json", '{"interactions": []}'),
    ],
)
def test_a_file_without_rows_is_the_empty_log(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert read_usage(path) == UsageLog()


@pytest.mark.parametrize("data", [[ROW], {"interactions": [ROW]}, ROW])
def test_json_holds_a_list_bare_or_wrapped_or_one_row(tmp_path: Path, data: object) -> None:
    path = tmp_path / "usage.json"
    path.write_text(json.dumps(data))
    assert read_usage(path) == ONE


# --- problems -------------------------------------------------------------------------------------


def test_all_problems_of_a_file_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {**ROW, "cited": ["a", "c", "d"]},
        {**ROW, "cited": ["c"]},
        {**ROW, "offered": ["a", "b", "a"], "cited": ["b", "b"]},
        {**ROW, "time": "yesterday"},
        {**ROW, "question": " "},
        without("question"),
        without("offered"),
        without("cited"),
        without("time"),
        ROW,
    )
    assert refusal(path) == [
        'usage.jsonl:1: "cited" names "c", "d", which were not offered. '
        'Correct the key, or add it to "offered" where it stood.',
        'usage.jsonl:2: "cited" names "c", which was not offered. '
        'Correct the key, or add it to "offered" where it stood.',
        'usage.jsonl:3: "offered" names "a" twice. Name a page once.',
        'usage.jsonl:3: "cited" names "b" twice. Name a page once.',
        'usage.jsonl:4: "time" must be an ISO 8601 date or time, e.g. 2026-11-01T09:30:00Z, '
        'or Unix seconds, got "yesterday".',
        'usage.jsonl:5: "question" is empty. Give the question as it was asked.',
        'usage.jsonl:6: "question" is missing. Give the question as it was asked.',
        'usage.jsonl:7: "offered" is missing. '
        "Give the pages that were shown, the first position first, or [] for none.",
        'usage.jsonl:8: "cited" is missing. Give the offered pages that were used, or [] for none.',
        'usage.jsonl:9: "time" is missing. Give the time at which it was asked.',
    ]


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ({"offered": None}, '"offered" is missing.'),
        ({"offered": [["a"]]}, '"offered" must hold keys (text), got a list.'),
        ({"offered": {"a": 1}}, '"offered" must hold keys (text), got an object.'),
        ({"cited": [True]}, '"cited" must hold keys (text), got true.'),
        ({"cited": ""}, '"cited" holds an empty key.'),
        ({"cited": ["a", " "]}, '"cited" holds an empty key.'),
        ({"question": ["Who?"]}, '"question" must be text, got a list. Give one text.'),
        ({"time": True}, '"time" must be text, got true.'),
        ({"time": 17.5}, '"time" must be an ISO 8601 date or time'),
    ],
)
def test_a_value_of_the_wrong_kind_is_told(
    tmp_path: Path, spoilt: dict[str, object], message: str
) -> None:
    (problem,) = refusal(written(tmp_path, {**ROW, **spoilt}, ROW))
    assert problem.startswith(f"usage.jsonl:1: {message}")


def test_the_field_is_called_as_in_the_file(tmp_path: Path) -> None:
    row = {"query": "Who?", "shown": ["a"], "used": ["b"], "at": "never"}
    first, second = refusal(written(tmp_path, row))
    assert first.endswith('Correct the key, or add it to "shown" where it stood.')
    assert second.startswith('usage.jsonl:1: "at" must be')


@pytest.mark.parametrize(
    ("noun", "typo"), [("question", "qestion"), ("offered", "ofered"), ("cited", "cite")]
)
def test_a_misspelt_field_is_told_once_with_what_was_meant(
    tmp_path: Path, noun: str, typo: str
) -> None:
    path = written(tmp_path, ROW, *[{**without(noun), typo: ROW[noun]}] * 2)
    (problem,) = refusal(path)
    assert problem.startswith(
        f'usage.jsonl:2: unknown field "{typo}" (2 rows). Did you mean "{noun}"?'
    )


def test_a_noun_that_no_row_has_is_told_with_the_fields_that_were_found(tmp_path: Path) -> None:
    (problem,) = refusal(written(tmp_path, {**without("cited"), "liked": ["a"]}))
    assert problem.startswith(
        'usage.jsonl:1: no field is known as "cited". '
        "Fields found: question, offered, time, liked. Name yours, for example: "
        "usage: {NAME: {path: usage.jsonl, fields: {cited: liked}}}."
    )


def test_a_noun_that_is_given_twice_must_agree(tmp_path: Path) -> None:
    assert read_usage(written(tmp_path, {**ROW, "shown": ROW["offered"]})) == ONE
    (problem,) = refusal(written(tmp_path, {**ROW, "shown": ["b", "a"]}))
    assert '"offered" and "shown" are both given and differ.' in problem


def test_rows_on_one_line_are_told_by_their_number(tmp_path: Path) -> None:
    path = tmp_path / "usage.json"
    path.write_text(json.dumps([ROW, {**ROW, "time": "never"}]))
    (problem,) = refusal(path)
    assert problem.startswith('usage.json:1: row 2: "time" must be')


@pytest.mark.parametrize("name", ["usage.csv", "usage.yaml"])
def test_another_format_is_refused_both_ways(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("question: Who?\n")
    message = [f"{name}: a usage log is JSONL or JSON. Convert it, and call it .jsonl."]
    assert refusal(path) == message
    with pytest.raises(InputError, match="is JSONL or JSON"):
        write_usage(ONE, path)
    assert path.read_text() == "question: Who?\n"


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    (problem,) = refusal(tmp_path / "usage.jsonl")
    assert problem.startswith("usage.jsonl: there is no such file.")


# --- writing --------------------------------------------------------------------------------------


def test_a_log_is_written_in_the_spellings_that_are_read(tmp_path: Path) -> None:
    write_usage(ONE, tmp_path / "new/usage.jsonl")
    assert (tmp_path / "new/usage.jsonl").read_text() == json.dumps(ROW) + "\n"
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["usage.jsonl"]


def test_a_time_of_another_zone_is_written_in_utc(tmp_path: Path) -> None:
    east = NINE.astimezone(timezone(timedelta(hours=2)))
    write_usage(UsageLog((Interaction("Who?", ("a", "b"), ("a",), east),)), tmp_path / "u.jsonl")
    assert (tmp_path / "u.jsonl").read_text() == json.dumps(ROW) + "\n"


def test_an_empty_log_is_an_empty_file(tmp_path: Path) -> None:
    write_usage(UsageLog(), tmp_path / "usage.jsonl")
    assert (tmp_path / "usage.jsonl").read_bytes() == b""


@st.composite
def interactions(draw: st.DrawFn) -> Interaction:
    offered = draw(st.lists(texts(), max_size=4, unique=True))
    cited = draw(st.lists(st.sampled_from(offered), unique=True)) if offered else []
    zone = timezone(timedelta(minutes=draw(st.integers(-720, 840))))
    at = NINE + timedelta(microseconds=draw(st.integers(-(10**15), 10**15)))
    return Interaction(draw(texts()), tuple(offered), tuple(cited), at.astimezone(zone))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("usage")


@given(log=st.lists(interactions(), max_size=4), name=st.sampled_from(["u.jsonl", "u.json", "u"]))
def test_a_log_that_was_written_reads_back_equal(
    folder: Path, log: list[Interaction], name: str
) -> None:
    usage = UsageLog(tuple(log))
    write_usage(usage, folder / name)
    read = read_usage(folder / name)
    assert read == usage
    assert read.digest == usage.digest
