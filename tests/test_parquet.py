"""Parquet as golden sets, judgments, topics and corpora: the same as JSON lines of its rows."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sweeper.corpus import Entry
from sweeper.errors import InputError
from sweeper.formats import kind_of_file, read_corpus, read_golden
from sweeper.golden import Query
from sweeper.poolfile import write_pool
from tests.builders import pool_of


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_data_frame_of_questions_is_a_golden_set() -> None:
    frame = pd.DataFrame(
        {
            "qid": ["007", "8"],
            "query": ["fee?", "who?"],
            "retrieval_gt": [[["a"], ["b"]], [["c"]]],
            "generation_gt": [["20"], ["Ada"]],
        },
        index=[5, 9],
    )
    frame.to_parquet("qa.parquet")
    assert kind_of_file("qa.parquet") == "golden"
    assert read_golden("qa.parquet").queries == (
        Query("007", "all", "fee?", ("a", "b")),
        Query("8", "all", "who?", ("c",)),
    )


def test_ids_that_a_data_frame_made_fractions_are_whole_again() -> None:
    pd.DataFrame({"query": ["x?", "y?"], "expected": [7, None]}).to_parquet("g.parquet")
    with pytest.raises(InputError, match=r'g\.parquet:2: "expected" is missing'):
        read_golden("g.parquet")
    pd.DataFrame({"query": ["x?"], "expected": [7.0]}).to_parquet("g.parquet")
    assert read_golden("g.parquet").queries[0].expected == ("7",)


def test_grades_in_a_mapping_are_those_of_the_row() -> None:
    frame = pd.DataFrame({"query": ["x?", "y?"], "grades": [{"a": 2}, {"b": 1.5}]})
    frame.to_parquet("g.parquet")
    first, second = read_golden("g.parquet").queries
    assert (first.grades, second.grades) == ({"a": 2.0}, {"b": 1.5})


def test_the_three_tables_of_a_dataset_are_read() -> None:
    pd.DataFrame({"_id": ["d1"], "title": ["t"], "text": ["one"]}).to_parquet("corpus.parquet")
    pd.DataFrame({"_id": ["q1"], "text": ["what?"]}).to_parquet("queries.parquet")
    qrels = pd.DataFrame({"query-id": ["q1", "q1"], "corpus-id": ["d1", "d2"], "score": [1, 0]})
    qrels.to_parquet("qrels.parquet")
    assert read_corpus("corpus.parquet").entries == (Entry("d1", "one", "document", title="t"),)
    [query] = read_golden("qrels.parquet", topics="queries.parquet").queries
    assert query == Query("q1", "all", "what?", ("d1",), {"d1": 1.0}, ("d2",))


def test_dates_of_a_column_are_dates() -> None:
    frame = pd.DataFrame(
        {
            "id": ["m"],
            "text": ["x"],
            "source_type": ["memory"],
            "updated_at": [pd.Timestamp("2026-01-02")],
        }
    )
    frame.to_parquet("c.pq")
    assert read_corpus("c.pq").entries[0].updated_at == "2026-01-02T00:00:00"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"PAR1 and then nothing", "is no Parquet file that can be read"),
        (b'{"query": "x?", "expected": "a"}\n', None),
        (b"", "is empty"),
    ],
)
def test_what_is_only_called_parquet_is_told(content: bytes, message: str | None) -> None:
    Path("g.parquet").write_bytes(content)
    if message is None:
        assert len(read_golden("g.parquet")) == 1
        return
    with pytest.raises(InputError, match=message):
        read_golden("g.parquet")


def test_no_rows_are_refused() -> None:
    pd.DataFrame({"query": [], "expected": []}).to_parquet("g.parquet")
    with pytest.raises(InputError, match="is empty"):
        read_golden("g.parquet")


def test_columns_of_bytes_and_durations_are_left_out_and_named(
    caplog: pytest.LogCaptureFixture,
) -> None:
    frame = pd.DataFrame(
        {
            "query": ["a"],
            "expected": ["b"],
            "embedding": [b"\x00"],
            "took": [pd.Timedelta(seconds=1)],
        }
    )
    frame.to_parquet("g.parquet")
    assert read_golden("g.parquet").queries[0].expected == ("b",)
    assert "left out, as they hold neither texts" in caplog.text
    assert "embedding (binary), took (duration[" in caplog.text


def test_decimals_are_numbers_and_mappings_are_mappings() -> None:
    table = pa.table(
        {
            "query": ["a"],
            "id": pa.array([Decimal("7.00")]),
            "expected": pa.array([[("x", 2.0), ("y", 0.0)]], pa.map_(pa.string(), pa.float64())),
        }
    )
    pq.write_table(table, "g.parquet")
    [query] = read_golden("g.parquet").queries
    assert (query.query_id, query.expected, query.grades) == ("7", ("x",), {"x": 2.0})


def test_two_columns_of_one_name_are_refused() -> None:
    table = pa.table([["a"], ["b"], ["x"]], names=["query", "query", "expected"])
    pq.write_table(table, "g.parquet")
    with pytest.raises(InputError, match='two columns are called "query"'):
        read_golden("g.parquet")


def test_a_captured_pool_is_told() -> None:
    write_pool("g.parquet", pool_of())
    with pytest.raises(InputError, match="is a captured pool"):
        read_golden("g.parquet")


def test_an_infinite_grade_is_no_missing_one() -> None:
    pd.DataFrame({"qid": ["1"], "docid": ["d"], "rel": [float("inf")]}).to_parquet("g.parquet")
    with pytest.raises(InputError, match="must be a finite number"):
        read_golden("g.parquet")


def test_a_folder_called_parquet_is_a_folder() -> None:
    Path("g.parquet").mkdir()
    with pytest.raises(InputError, match="is a folder"):
        read_golden("g.parquet")
