"""Credentials of requests: read from the environment when needed, blotted out of every text."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from sweeper.errors import InputError

if TYPE_CHECKING:
    from sweeper.http_blocks import AuthBlock

__all__ = ["blot", "credentials"]


def credentials(auth: AuthBlock | None) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the headers of a request, and every spelling of the secret in them.

    Raises
    ------
    InputError
        If a variable is not set, a file cannot be read, or a header cannot hold what they say.
    """
    if auth is None:
        return {}, ()
    token = _token(auth)
    if auth.kind == "header":
        return {auth.header: token}, _spellings(token)
    if auth.kind == "bearer":
        return {"Authorization": f"Bearer {token}"}, _spellings(token)
    user = _variable(auth.user_env or "", "the user")
    pair = base64.b64encode(f"{user}:{token}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}, (*_spellings(token), pair)


def blot(text: str, secrets: tuple[str, ...]) -> str:
    """Return a text with ``***`` in place of every secret."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def _spellings(secret: str) -> tuple[str, ...]:
    plain = (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])
    return tuple(dict.fromkeys((*plain, base64.b64encode(secret.encode()).decode())))


def _token(auth: AuthBlock) -> str:
    if auth.token_env is not None:
        token = _variable(auth.token_env, "the token")
    else:
        name = auth.token_file_env or ""
        path = Path(_variable(name, "the path of the token's file"))
        try:
            token = path.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            why = type(error).__name__
            raise InputError(
                f"{path}, which {name} names, cannot be read ({why}). Check the path."
            ) from None
        if not token:
            raise InputError(f"{path}, which {name} names, is empty; it must hold the token.")
    if auth.kind != "basic" and not (token.isascii() and token.isprintable()):
        raise InputError(
            f"the token that {auth.token_env or auth.token_file_env} gives holds a character that "
            "no header may have. Set it again."
        )
    return token


def _variable(name: str, holds: str) -> str:
    value = os.environ.get(name, "").strip()
    if not value:
        raise InputError(f"the environment variable {name} is not set; it must hold {holds}.")
    return value
