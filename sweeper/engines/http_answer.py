"""What an HTTP answer is worth: the JSON it holds, or a failure in words.

A failure is *passing* if the same request may fare better later: a busy server, a page of HTML from
whatever stands in between, JSON that breaks off.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from sweeper.engines.http_credentials import blot
from sweeper.http_text import excerpt, retry_after

if TYPE_CHECKING:
    import httpx

    from sweeper.http_blocks import AuthBlock

__all__ = ["Failure", "Passing", "read_answer"]

_BUSY = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
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
        after = retry_after(answer.headers.get("Retry-After"))
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


def _auth_remedy(auth: AuthBlock | None) -> str:
    if auth is None:
        return "Credentials are needed: name them under auth."
    return f"The credentials were refused: check {auth.token_env or auth.token_file_env}."


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{_NO_NUMBER} ({name})")
