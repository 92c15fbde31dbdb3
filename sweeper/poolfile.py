"""Pools on disk: one Parquet file that any tool can read as a table.

One row per captured row, with the columns ``query_id``, ``channel``, ``store``, ``place`` (1-based
within query, channel and store), ``item_id``, ``key``, ``value`` and ``age_days``. What a table
cannot say (channels, depth, queries for which nothing was found, provenance, the digest) is JSON in
the file's metadata, under ``sweeper.pool``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from sweeper.corpus import STORES
from sweeper.errors import InputError, Problem
from sweeper.files import check_regular, write_atomically
from sweeper.formats.parquet import POOL_METADATA
from sweeper.pools import IntArray, Pool

__all__ = ["COLUMNS", "read_pool", "write_pool"]

COLUMNS = ("query_id", "channel", "store", "place", "item_id", "key", "value", "age_days")

_VERSION = 1
_REMEDY = "Capture again, or name another file."
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, IndexError, OverflowError)


def write_pool(path: str | Path, pool: Pool) -> None:
    """Write a pool to one Parquet file; it appears whole or not at all.

    Raises
    ------
    StorageError, InputError
        If the file cannot be written.
    """
    n_rows = pool.n_rows
    store = pool.item_store[pool.row_item].astype(np.int8)
    place = _places(pool.row_query, pool.row_channel, store)
    columns = {
        "query_id": _coded(pool.row_query, pool.query_ids),
        "channel": _coded(pool.row_channel, pool.channels),
        "store": _coded(store, STORES),
        "place": pa.array(place, pa.int32()),
        "item_id": _coded(pool.row_item, pool.item_ids),
        "key": _coded(*_keys(pool)),
        "value": pa.array(pool.row_value, pa.float64()),
        "age_days": pa.array(pool.item_age_days[pool.row_item], pa.float64()),
    }
    header = {
        "version": _VERSION,
        "channels": pool.channels,
        "depth": pool.depth,
        "query_ids": pool.query_ids,
        "provenance": dict(pool.provenance),
        "digest": pool.digest,
        "told": _digest_of(pool.provenance),
    }
    if not _in_order_of_first_row(pool):
        header["items"] = {
            "item_ids": pool.item_ids,
            "keys": pool.item_keys,
            "store": pool.item_store.tolist(),
            "age_days": [None if age != age else age for age in pool.item_age_days.tolist()],
        }
    text = json.dumps(header, ensure_ascii=True, allow_nan=False)
    table = pa.table(columns).replace_schema_metadata({POOL_METADATA: text.encode()})
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        compression="zstd",
        row_group_size=max(n_rows, 1),
        # Ids stay dictionary-encoded however many there are; floats do not repeat, ages do.
        dictionary_pagesize_limit=1 << 28,
        use_dictionary=[name for name in COLUMNS if name not in {"value", "place"}],
        write_page_checksum=True,
    )
    write_atomically(path, sink.getvalue().to_pybytes())


def read_pool(path: str | Path) -> Pool:
    """Read a pool that ``write_pool`` wrote, and verify it against its own digest.

    Raises
    ------
    InputError
        If there is no such file, or it is cut off, damaged, no pool, or of a newer version.
    """
    where = str(path)
    if Path(path).exists():
        check_regular(path)
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            text = (file.schema_arrow.metadata or {}).get(POOL_METADATA)
            missing = set(COLUMNS) - set(file.schema_arrow.names)
            table = file.read() if text is not None and not missing else None
    except FileNotFoundError as error:
        raise InputError(Problem("there is no such pool. Check the path.", where)) from error
    except (pa.ArrowException, OSError, ValueError) as error:
        reason = str(error).split("\n")[0].rstrip(".")
        raise InputError(
            Problem(f"is no captured pool ({reason}). Name another file, or capture again.", where)
        ) from error
    if text is None or table is None:
        raise InputError(
            Problem(
                "is a Parquet file but no captured pool. Name what `sweep capture --out` wrote.",
                where,
            )
        )
    try:
        header = json.loads(text)
        version = header["version"]
        pool = _build(table, header) if version == _VERSION else None
        told = _digest_of(header["provenance"])
        intact = pool is not None and pool.digest == header["digest"]
        intact = intact and header.get("told", told) == told  # pools of before lack it
    except (*_DAMAGE, pa.ArrowException) as error:
        raise InputError(Problem(f"is a damaged pool ({error}). {_REMEDY}", where)) from error
    if pool is None:
        raise InputError(
            Problem(f"has pool version {version}; this sweeper reads {_VERSION}. {_REMEDY}", where)
        )
    if not intact:
        raise InputError(
            Problem(f"has been changed: its rows do not match its own hash. {_REMEDY}", where)
        )
    return pool


def _build(table: pa.Table, header: dict[str, Any]) -> Pool:
    table = table.unify_dictionaries().combine_chunks()
    row_query = _recoded(table, "query_id", header["query_ids"])
    row_channel = _recoded(table, "channel", header["channels"]).astype(np.int8)
    if "items" in header:
        items = header["items"]
        item_ids = tuple(items["item_ids"])
        row_item = _recoded(table, "item_id", item_ids)
        item_keys = tuple(items["keys"])
        item_store = np.array(items["store"], np.int8)
        item_age_days = np.array(
            [np.nan if age is None else age for age in items["age_days"]], np.float64
        )
    else:
        codes, texts = _codes(table, "item_id")
        first = _first_rows(codes, len(texts))
        order = np.argsort(first, kind="stable")
        number = np.empty(len(texts), np.int32)
        number[order] = np.arange(len(texts), dtype=np.int32)
        row_item = number[codes]
        item_ids = tuple(texts[code] for code in order)
        key_codes, keys = _codes(table, "key")
        item_keys = tuple(keys[code] for code in key_codes[first[order]])
        item_store = _recoded(table, "store", STORES).astype(np.int8)[first[order]]
        item_age_days = _floats(table, "age_days")[first[order]]
    return Pool(
        channels=tuple(header["channels"]),
        query_ids=tuple(header["query_ids"]),
        depth=header["depth"],
        item_ids=item_ids,
        item_keys=item_keys,
        item_store=item_store,
        item_age_days=item_age_days,
        row_query=row_query,
        row_channel=row_channel,
        row_item=row_item,
        row_value=_floats(table, "value"),
        provenance=_provenance(header),
    )


def _digest_of(provenance: Mapping[str, Any]) -> str:
    """Return what changes with what is told of a pool; the pool's own digest does not."""
    text = json.dumps(dict(provenance), sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _provenance(header: dict[str, Any]) -> dict[str, Any]:
    """Return what is told of the rows; it is no part of the digest, so its shape is checked."""
    told = header["provenance"]
    shapes = {"engine": dict, "asked": list, "live_questions": dict, "evidence": dict}
    if not isinstance(told, dict) or any(
        not isinstance(told[name], shape) for name, shape in shapes.items() if name in told
    ):
        raise ValueError("its provenance is of another shape")
    return told


def _coded(codes: NDArray[Any], texts: Sequence[str]) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(
        pa.array(codes.astype(np.int32)), pa.array(texts, pa.string())
    )


def _keys(pool: Pool) -> tuple[NDArray[Any], list[str]]:
    """Return each row's code of its key, and the distinct keys."""
    numbers: dict[str, int] = {}
    of_item = [numbers.setdefault(key, len(numbers)) for key in pool.item_keys]
    return np.array(of_item, np.int32)[pool.row_item], list(numbers)


def _places(
    row_query: IntArray, row_channel: NDArray[np.int8], row_store: NDArray[np.int8]
) -> IntArray:
    """Return each row's 1-based place in its list; rows of one list stand side by side."""
    n_rows = len(row_query)
    if not n_rows:
        return np.empty(0, np.int32)
    begins = np.ones(n_rows, np.bool_)
    begins[1:] = np.diff(row_query) != 0
    begins[1:] |= (np.diff(row_channel) != 0) | (np.diff(row_store) != 0)
    starts = np.flatnonzero(begins)
    lengths = np.diff(starts, append=n_rows)
    return (np.arange(n_rows) - np.repeat(starts, lengths) + 1).astype(np.int32)


def _in_order_of_first_row(pool: Pool) -> bool:
    """Return whether items are numbered as their rows appear, so that rows tell all of them."""
    first = _first_rows(pool.row_item, len(pool.item_ids))
    return bool(np.all(first < pool.n_rows) and np.all(np.diff(first) > 0))


def _first_rows(codes: IntArray, n_codes: int) -> NDArray[np.int64]:
    """Return the first row of each code; the number of rows for a code without one."""
    first = np.full(n_codes, len(codes), np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)  # the last assignment wins
    return first


def _codes(table: pa.Table, name: str) -> tuple[IntArray, list[str]]:
    column = table.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # an empty one
        column = pa.array([], column.type)
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    if column.null_count:
        raise ValueError(f"the column {name} has empty cells")
    codes = column.indices.to_numpy(zero_copy_only=False).astype(np.int32)
    return codes, column.dictionary.to_pylist()


def _recoded(table: pa.Table, name: str, texts: Sequence[str]) -> IntArray:
    """Return each row's place in ``texts``."""
    codes, known = _codes(table, name)
    places = pc.index_in(pa.array(known, pa.string()), pa.array(texts, pa.string()))
    if places.null_count:
        raise ValueError(f"the column {name} names something that the header does not")
    found: IntArray = places.to_numpy(zero_copy_only=False).astype(np.int32)[codes]
    return found


def _floats(table: pa.Table, name: str) -> NDArray[np.float64]:
    column = table.column(name)
    found: NDArray[np.float64] = column.to_numpy().astype(np.float64, copy=False)
    return found
