"""Reading what any HTTP server says: when to come back, and the beginning of a text."""

from __future__ import annotations

import email.utils
import re
import time

__all__ = ["excerpt", "retry_after"]

_SHOWN = 200  # characters of a server's answer that a message repeats


def retry_after(header: str | None) -> float | None:
    """Return the seconds that a ``Retry-After`` asks for (RFC 9110 §10.2.3).

    It holds seconds or a date; anything else counts as absent.

    Examples
    --------
    >>> retry_after("7"), retry_after("soon"), retry_after(None)
    (7.0, None, None)
    """
    if header is None:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", header.strip()):
        return float(header)
    try:
        instant = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, instant.timestamp() - time.time())


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "..."
