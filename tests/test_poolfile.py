"""Pools as Parquet files: exact round trips, and damage that is noticed."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeper.errors import InputError, StorageError
from sweeper.poolfile import COLUMNS, read_pool, write_pool
from sweeper.pools import Candidate, Pool, QueryCandidates

ODD_IDS = ["001", "1e5", "NA", "null", "None", "", " a ", "a\nb", "é東京😀", "a,b", '"', "nan"]


def _pool(ids: list[str] | None = None) -> Pool:
    ids = ids or ["a", "b", "c"]
    rows = [Candidate(f"{i}@0", i, "document", 1.0 / n) for n, i in enumerate(ids, 1)]
    memories = [Candidate(i, i, "memory", -0.0, n * 0.1) for n, i in enumerate(ids)]
    memories[-1] = memories[-1]._replace(age_days=math.nan)
    return Pool.from_candidates(
        [
            QueryCandidates("none", {}),
            QueryCandidates(
                "q1", {("vector", "document"): rows, ("vector", "memory"): memories[::-1]}
            ),
            QueryCandidates(
                "001", {("lexical", "document"): rows[:1], ("vector", "document"): rows[1:]}
            ),
            QueryCandidates("NA\n", {}),
        ],
        channels=("vector", "lexical"),
        depth=20,
        provenance={"engine": {"kind": "fake", "n": 1}, "as_of": "2026-11-01", "no": None},
    )


def _same(a: Pool, b: Pool) -> None:
    for field in dataclasses.fields(Pool):
        one, other = getattr(a, field.name), getattr(b, field.name)
        if isinstance(one, np.ndarray):
            assert one.dtype == other.dtype, field.name
            assert one.tobytes() == other.tobytes(), field.name
        else:
            assert one == other, field.name


@pytest.mark.parametrize("ids", [["a", "b", "c"], ODD_IDS])
def test_a_pool_comes_back_exactly(tmp_path: Path, ids: list[str]) -> None:
    pool = _pool(ids)
    write_pool(tmp_path / "new/pool.parquet", pool)
    _same(read_pool(tmp_path / "new/pool.parquet"), pool)


def test_a_pool_without_rows_or_queries_comes_back(tmp_path: Path) -> None:
    for candidates in ([], [QueryCandidates("q", {})]):
        pool = Pool.from_candidates(candidates, channels=("vector",), depth=1)
        write_pool(tmp_path / "p", pool)
        _same(read_pool(tmp_path / "p"), pool)


def test_items_in_another_order_or_without_rows_come_back(tmp_path: Path) -> None:
    pool = _pool()
    n_items = len(pool.item_ids)
    order = np.arange(n_items)[::-1]
    shuffled = dataclasses.replace(
        pool,
        item_ids=(*pool.item_ids[::-1], "unseen"),
        item_keys=(*pool.item_keys[::-1], "unseen"),
        item_store=np.append(pool.item_store[order], np.int8(1)),
        item_age_days=np.append(pool.item_age_days[order], 3.5),
        row_item=(n_items - 1 - pool.row_item).astype(np.int32),
    )
    write_pool(tmp_path / "p", shuffled)
    _same(read_pool(tmp_path / "p"), shuffled)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1, unique=True),
    st.floats(allow_nan=False),
)
def test_any_id_and_value_comes_back(tmp_path: Path, ids: list[str], value: float) -> None:
    rows = [Candidate(i, i[::-1], "memory", value, value) for i in ids]
    pool = Pool.from_candidates(
        [QueryCandidates(i, {("c", "memory"): rows}) for i in ids], channels=("c",), depth=len(ids)
    )
    write_pool(tmp_path / "p", pool)
    _same(read_pool(tmp_path / "p"), pool)


def test_the_file_is_a_plain_table(tmp_path: Path) -> None:
    write_pool(tmp_path / "p.parquet", _pool())
    frame = pd.read_parquet(tmp_path / "p.parquet")
    assert tuple(frame.columns) == COLUMNS
    rows = frame.astype({"query_id": str, "store": str, "item_id": str})
    first = rows[(rows.query_id == "q1") & (rows.store == "memory")]
    assert first.item_id.tolist() == ["c", "b", "a"]
    assert first.place.tolist() == [1, 2, 3]
    assert first.age_days.isna().tolist() == [True, False, False]
    second = rows[rows.query_id == "001"]
    assert second.channel.tolist() == ["vector", "vector", "lexical"]
    assert second.place.tolist() == [1, 2, 1]


def test_another_program_may_rewrite_the_table_and_keep_the_pool(tmp_path: Path) -> None:
    pool = _pool(ODD_IDS)
    write_pool(tmp_path / "a", pool)
    pq.write_table(pq.read_table(tmp_path / "a"), tmp_path / "b", row_group_size=3)
    plain = pq.read_table(tmp_path / "a")
    columns = [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for column in plain.columns
    ]
    table = pa.table(columns, names=plain.column_names)
    pq.write_table(table.replace_schema_metadata(plain.schema.metadata), tmp_path / "c")
    _same(read_pool(tmp_path / "b"), pool)
    _same(read_pool(tmp_path / "c"), pool)


def test_two_writes_of_one_pool_are_the_same_bytes(tmp_path: Path) -> None:
    write_pool(tmp_path / "a", _pool())
    write_pool(tmp_path / "b", _pool())
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_missing_file_and_a_folder_are_one_message_each(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none: there is no such pool"):
        read_pool(tmp_path / "none")
    with pytest.raises(InputError, match="is a folder"):
        read_pool(tmp_path)


def test_a_place_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((InputError, StorageError), match="file"):
        write_pool(tmp_path / "file/p", _pool())


@pytest.mark.parametrize("content", [b"", b"PAR1", b"rubbish" * 50, b"{}"])
def test_a_foreign_file_is_no_pool(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "p").write_bytes(content)
    with pytest.raises(InputError, match=r"is no captured pool \(.*capture again"):
        read_pool(tmp_path / "p")


def test_a_table_that_is_no_pool_is_refused(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "p")
    with pytest.raises(InputError, match=r"no captured pool\. Name what `sweep capture"):
        read_pool(tmp_path / "p")


def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    write_pool(tmp_path / "whole", _pool())
    data = (tmp_path / "whole").read_bytes()
    for length in range(0, len(data), 61):
        (tmp_path / "p").write_bytes(data[:length])
        with pytest.raises(InputError, match="capture again"):
            read_pool(tmp_path / "p")


def test_no_flipped_bit_gives_another_pool(tmp_path: Path) -> None:
    pool = _pool()
    write_pool(tmp_path / "whole", pool)
    data = bytearray((tmp_path / "whole").read_bytes())
    rng = np.random.default_rng(3)
    for place in rng.integers(0, len(data), 300).tolist():
        data[place] ^= 1 << int(rng.integers(8))
        (tmp_path / "p").write_bytes(data)
        data[:] = (tmp_path / "whole").read_bytes()
        try:
            read = read_pool(tmp_path / "p")
        except InputError:
            continue
        assert read.digest == pool.digest  # a bit that means nothing, or provenance


def _edit(change: Callable[[dict[str, object]], object], path: Path) -> None:
    table = pq.read_table(path)
    header = json.loads(table.schema.metadata[b"sweeper.pool"])
    change(header)
    metadata = {b"sweeper.pool": json.dumps(header).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda header: header.update(version=2), "pool version 2; this sweeper reads 1"),
        (lambda header: header.update(depth=21), "do not match its own hash"),
        (lambda header: header.pop("digest"), "damaged pool"),
        (lambda header: header.update(query_ids=["q1"]), "damaged pool"),
        (lambda header: header.update(channels=["lexical", "vector"]), "do not match its own hash"),
    ],
)
def test_a_changed_header_is_noticed(
    tmp_path: Path, change: Callable[[dict[str, object]], object], message: str
) -> None:
    write_pool(tmp_path / "p", _pool())
    _edit(change, tmp_path / "p")
    with pytest.raises(InputError, match=message):
        read_pool(tmp_path / "p")


def test_a_changed_value_is_noticed(tmp_path: Path) -> None:
    write_pool(tmp_path / "p", _pool())
    table = pq.read_table(tmp_path / "p")
    values = table.column("value").to_numpy().copy()
    values[0] += 1e-9
    place = table.column_names.index("value")
    pq.write_table(table.set_column(place, "value", pa.array(values)), tmp_path / "p")
    with pytest.raises(InputError, match="do not match its own hash"):
        read_pool(tmp_path / "p")
