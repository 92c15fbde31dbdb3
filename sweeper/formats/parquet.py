"""Parquet as JSON lines, a row each, so that one set of rules reads both.

Numbers are written without an empty fraction: what pandas makes of ids beside missing ones (7.0)
was 7. Missing fields of a mapping are left out, as columns of mappings have every key of all rows.
The index of a data frame is a column only if it has a name.
"""

from __future__ import annotations

import json
import logging
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from sweeper.errors import InputError, Problem
from sweeper.files import check_regular
from sweeper.formats.values import listed, quoted

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["PARQUET", "POOL_METADATA", "is_parquet", "parquet_lines"]

PARQUET = (".parquet", ".pq")
"""File extensions, in lower case."""

_MAGIC = b"PAR1"
POOL_METADATA = b"sweeper.pool"
"""Under this key a pool keeps what a table cannot say; see ``poolfile``."""

_LOG = logging.getLogger(__name__)


def is_parquet(path: str | Path) -> bool:
    """Whether a file is called and begins like Parquet; False of what cannot be opened.

    Raises
    ------
    InputError
        If it is called so and is no regular file.
    """
    if Path(path).suffix.lower() not in PARQUET:
        return False
    check_regular(path)
    try:
        with Path(path).open("rb") as handle:
            return handle.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def parquet_lines(path: str | Path) -> str:
    """Return the rows of a Parquet file as JSON lines.

    Raises
    ------
    InputError
        If it cannot be read, has no rows, or two columns of one name, or is a captured pool.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:  # read_table would take columns from the folder's name
            schema = file.schema_arrow
            _refuse_other(schema, path)
            named = [field for field in schema if not _is_index(field.name)]
            kept = [field.name for field in named if _is_readable(field.type)]
            rows = file.read(kept).to_pylist(maps_as_pydicts="strict")
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            Problem(f"is no Parquet file that can be read ({reason}). Write it anew.", str(path))
        ) from error
    left = [f"{field.name} ({field.type})" for field in named if field.name not in kept]
    if left:
        _LOG.warning(
            "%s: left out, as they hold neither texts, numbers nor dates: %s.", path, listed(left)
        )
    if not rows:
        raise InputError(Problem("is empty. Give a file with at least one row.", str(path)))
    lines = [
        json.dumps({name: _plain(value) for name, value in row.items()}, ensure_ascii=False)
        for row in rows
    ]
    return "\n".join(lines) + "\n"


def _refuse_other(schema: pa.Schema, path: str | Path) -> None:
    """Refuse two columns of one name, and our own pools."""
    if POOL_METADATA in (schema.metadata or {}):
        raise InputError(
            Problem("is a captured pool. Sweep it: engine: {kind: pool, file: ...}.", str(path))
        )
    names = Counter(schema.names)
    twice = [name for name, count in names.items() if count > 1]
    if twice:
        raise InputError(
            Problem(f"two columns are called {quoted(twice[0])}. Remove one of them.", str(path))
        )


def _is_readable(kind: pa.DataType) -> bool:
    """Whether values of a type have a plain form in JSON."""
    from pyarrow import types

    inner = [kind.field(at).type for at in range(kind.num_fields)]
    if inner or types.is_nested(kind):
        return all(map(_is_readable, inner))
    if types.is_dictionary(kind):
        return _is_readable(kind.value_type)
    return any(
        is_kind(kind)
        for is_kind in (
            *(types.is_string, types.is_large_string, types.is_string_view),
            *(types.is_integer, types.is_floating, types.is_decimal),
            *(types.is_boolean, types.is_null),
            *(types.is_date, types.is_timestamp, types.is_time),
        )
    )


def _is_index(name: str) -> bool:
    return name.startswith("__index_level_") and name.endswith("__")


def _plain(value: object) -> object:
    if isinstance(value, float):
        if math.isnan(value):
            return None
        if math.isinf(value):
            return str(value)  # no number, where a number belongs
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value
