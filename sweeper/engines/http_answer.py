"""What an HTTP answer is worth: the JSON it holds, or a failure in words.

A failure is *passing* if the same request may fare better later: a busy server, a page of HTML from
whatever stands in between, JSON that breaks off.
"""

from __future__ import annotations

import email.utils
import json
import re
import time
from typing import TYPE_CHECKING, Any

from sweeper.engines.http_credentials import blot

if TYPE_CHECKING:
    import httpx

    from sweeper.http_blocks import AuthBlock

__all__ = ["Failure", "Passing", "excerpt", "read_answer"]

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_SHOWN = 200  # characters of a server's answer that a message repeats
_NO_NUMBER = "a number that JSON has not"


class Failure(Exception):
    """One failed attempt.

    Parameters
    ----------
    kind
        Counts it.
    reason, remedy
        What was received, and how to mend it.
    after
        The server's own wish for the next attempt, in seconds.
    """

    def __init__(self, kind: str, reason: str, remedy: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.kind = kind
        self.remedy = remedy
        self.after = after


class Passing(Failure):
    """A failure that may be gone at the next attempt."""


def read_answer(answer: httpx.Response, secrets: tuple[str, ...], auth: AuthBlock | None) -> Any:
    """Return the JSON of an answer.

    Parameters
    ----------
    answer
        Received as a whole; no redirect.
    secrets
        Blotted out of what a failure repeats.
    auth
        Named where credentials were refused.

    Raises
    ------
    Failure
        If there is none.
    """
    status = answer.status_code
    kind = answer.headers.get("Content-Type", "no content type").partition(";")[0]
    received = f"HTTP {status}, {kind}: {excerpt(blot(answer.text, secrets))}"
    if status in _BUSY:
        after = _retry_after(answer.headers.get("Retry-After"))
        raise Passing(f"HTTP {status}", received, "Try again later.", after)
    if status in {401, 403}:
        raise Failure(f"HTTP {status}", received, _auth_remedy(auth))
    if not answer.is_success:
        raise Failure(f"HTTP {status}", received, "Check the address and the request's fields.")
    try:
        return json.loads(answer.text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        reason = str(error)
    if reason.startswith(_NO_NUMBER):
        raise Passing("no number", f"{received} holds {reason}", "Mend the server's scores.")
    what = "is HTML" if answer.text.lstrip()[:1] == "<" else f"is no whole JSON ({reason})"
    raise Passing(
        "no JSON",
        f"the answer {what}; {received}",
        "Check that the address is the search itself, and what a proxy in between answers.",
    )


def excerpt(text: str) -> str:
    """Return the beginning of a text on one line."""
    flat = " ".join(text.split())
    return flat if len(flat) <= _SHOWN else flat[:_SHOWN] + "..."


def _auth_remedy(auth: AuthBlock | None) -> str:
    if auth is None:
        return "Credentials are needed: name them under auth."
    return f"The credentials were refused: check {auth.token_env or auth.token_file_env}."


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{_NO_NUMBER} ({name})")


def _retry_after(header: str | None) -> float | None:
    """Read seconds or a date (RFC 9110 §10.2.3); anything else counts as absent."""
    if header is None:
        return None
    if re.fullmatch(r"\d{1,9}(\.\d+)?", header.strip()):
        return float(header)
    try:
        instant = email.utils.parsedate_to_datetime(header)
    except ValueError:
        return None
    return max(0.0, instant.timestamp() - time.time())
