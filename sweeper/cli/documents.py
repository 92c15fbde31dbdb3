"""JSON documents as commands print them."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import numbers
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from sweeper.tables import UNSAFE

__all__ = ["json_text"]


def json_text(document: object) -> str:
    r"""Return a document as indented JSON that is safe to print: control characters are escaped.

    Examples
    --------
    >>> json_text([float("nan"), "\x9b"])
    '[\n  null,\n  "\\u009b"\n]'
    """
    text = json.dumps(_jsonable(document), indent=2, ensure_ascii=False, allow_nan=False)
    # All that is unsafe here stands inside a string, but for the newlines of the layout.
    return UNSAFE.sub(lambda m: m[0] if m[0] == "\n" else f"\\u{ord(m[0]):04x}", text)


def _jsonable(value: Any) -> Any:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real | Decimal):
        number = float(value)
        return number if math.isfinite(number) else None
    if isinstance(value, Mapping):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, set | frozenset):
        return [_jsonable(item) for item in sorted(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _jsonable(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, PurePath):
        return str(value)
    if hasattr(value, "tolist"):  # numpy and pandas values, without importing either
        return _jsonable(value.tolist())
    if isinstance(value, Iterable):
        return [_jsonable(item) for item in value]
    raise TypeError(f"cannot be written as JSON: {type(value).__name__}")
