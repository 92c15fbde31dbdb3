"""Parquet as JSON lines, a row each, so that one set of rules reads both.

Numbers are written without an empty fraction: what pandas makes of ids beside missing ones (7.0)
was 7. Missing fields of a mapping are left out, as columns of mappings have every key of all rows.
The index of a data frame is a column only if it has a name.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from pathlib import Path

from sweeper.errors import InputError, Problem
from sweeper.files import check_regular

__all__ = ["PARQUET", "is_parquet", "parquet_lines"]

PARQUET = (".parquet", ".pq")
"""File extensions, in lower case."""

_MAGIC = b"PAR1"


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
        If it cannot be read, has no rows, or holds bytes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:  # read_table would take columns from the folder's name
            rows = file.read().to_pylist()
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            Problem(f"is no Parquet file that can be read ({reason}). Write it anew.", str(path))
        ) from error
    if not rows:
        raise InputError(Problem("is empty. Give a file with at least one row.", str(path)))
    lines = []
    for number, row in enumerate(rows, start=1):
        named = {name: _plain(value) for name, value in row.items() if not _is_index(name)}
        try:
            lines.append(json.dumps(named, ensure_ascii=False, allow_nan=False))
        except (TypeError, ValueError) as error:
            raise InputError(
                Problem(f"a value is no text, number, date or list ({error}).", str(path), number)
            ) from error
    return "\n".join(lines) + "\n"


def _is_index(name: str) -> bool:
    return name.startswith("__index_level_") and name.endswith("__")


def _plain(value: object) -> object:
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items() if item is not None}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_plain(item) for item in value]
    return value
