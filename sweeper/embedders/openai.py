"""Embeddings from any OpenAI-compatible ``/embeddings`` endpoint (extra ``http``)."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from sweeper.embedders.base import Vectors, on_grid
from sweeper.errors import EngineError, InputError
from sweeper.http_text import excerpt, retry_after

if TYPE_CHECKING:
    import httpx

__all__ = ["OpenAIEmbedder"]

_ADDRESS = "Give the address up to /embeddings, such as https://api.openai.com/v1."
_SERVER = "Check that base_url leads to an OpenAI-compatible server."
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})


class _Again(Exception):
    """An answer or a failure that may pass. ``after`` is the server's own wish, in seconds."""

    def __init__(self, reason: str, after: float | None = None) -> None:
        super().__init__(reason)
        self.after = after


class OpenAIEmbedder:
    """A remote model. Wrap it in ``CachedEmbedder``, so that no text is paid for twice.

    The key is read from the environment when a request is made and is not kept. It goes to the
    host of ``base_url`` only: a redirect is an error, never followed.

    Parameters
    ----------
    base_url
        Address up to and without ``/embeddings``, e.g. ``https://api.openai.com/v1``.
    model
        Sent with each request.
    api_key_env
        Name of the environment variable that holds the key; ``None`` sends none (a local server).
    dimensions
        Asked of the server if set. Whatever the server sends must then have as many.
    batch_size
        Texts per request.
    timeout_seconds
        For each phase of a request: connecting, sending, waiting for an answer.
    attempts
        Requests per batch, the first included, when the server is busy, fails or is silent.
    wait_seconds, max_wait_seconds
        First and longest pause between attempts; it doubles and has jitter. A server's
        ``Retry-After`` comes first, up to the longest pause.
    transport
        An ``httpx`` transport, for tests.

    Raises
    ------
    InputError
        If the address is no http(s) address or holds a password, or the extra is missing.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key_env: str | None = "OPENAI_API_KEY",
        dimensions: int | None = None,
        batch_size: int = 128,
        timeout_seconds: float = 60.0,
        attempts: int = 6,
        wait_seconds: float = 0.5,
        max_wait_seconds: float = 60.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        for name, number in (("batch_size", batch_size), ("attempts", attempts)):
            if number < 1:
                raise ValueError(f"{name} must be at least 1, got {number}")
        self._base_url = _checked_address(base_url)
        self._model = model
        self._api_key_env = api_key_env
        self._asked = dimensions
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._timeout_seconds = timeout_seconds
        self._attempts = attempts
        self._waits = (wait_seconds, max_wait_seconds)
        self._transport = transport
        self._client: httpx.Client | None = None
        self._jitter = random.Random()  # only ever moves a pause, never a figure

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self._base_url!r}, {self._model!r})"

    @property
    def name(self) -> str:
        """Address, model and the dimensions that were asked for."""
        asked = "" if self._asked is None else f":{self._asked}"
        return f"openai:{self._base_url}:{self._model}{asked}"

    @property
    def dimensions(self) -> int | None:
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._dimensions or 0), np.float32)
        batches = [
            self._batch(texts[start : start + self._batch_size])
            for start in range(0, len(texts), self._batch_size)
        ]
        return np.concatenate(batches)

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
            self._client = None

    def _batch(self, texts: Sequence[str]) -> Vectors:
        # Servers refuse an empty input; a blank one means the same.
        payload: dict[str, Any] = {
            "model": self._model,
            "input": [text or " " for text in texts],
            "encoding_format": "float",
        }
        if self._asked is not None:
            payload["dimensions"] = self._asked
        rows = self._rows(self._post(payload), len(texts))
        return on_grid(rows, name=self.name)

    def _post(self, payload: dict[str, Any]) -> str:
        httpx, stamina = _http()
        key = self._key()
        if self._client is None:
            self._client = httpx.Client(
                timeout=self._timeout_seconds, transport=self._transport, follow_redirects=False
            )
        first, longest = self._waits
        try:
            for attempt in stamina.retry_context(
                on=self._pause,
                attempts=self._attempts,
                timeout=None,
                wait_initial=first,
                wait_jitter=first,
                wait_max=longest,
            ):
                with attempt:
                    return self._once(httpx, payload, key)
        except _Again as error:
            tried = "1 attempt" if self._attempts == 1 else f"{self._attempts} attempts"
            raise EngineError(
                f"{self._url}: no answer after {tried}: {error}. "
                "Try again later; texts that are in the cache are not sent again."
            ) from None
        raise AssertionError("a retry loop returns or raises")

    def _pause(self, error: Exception) -> bool | float:
        """Tell stamina whether to try again, and after how many seconds if the server said so."""
        if not isinstance(error, _Again):
            return False
        if error.after is None:
            return True
        first, longest = self._waits
        return min(error.after, longest) + self._jitter.uniform(0, first)

    def _once(self, httpx: Any, payload: dict[str, Any], key: str | None) -> str:
        headers = {"Content-Type": "application/json"}
        if key is not None:
            headers["Authorization"] = f"Bearer {key}"
        body = json.dumps(payload).encode()  # ASCII, so that no text can fail to be encoded
        client: Any = self._client
        try:
            answer = client.post(self._url, content=body, headers=headers)
        except httpx.TimeoutException as error:
            raise _Again(f"timed out after {self._timeout_seconds:g} s") from error
        except httpx.RequestError as error:
            raise _Again(f"{type(error).__name__}: {_excerpt(str(error), key)}") from error
        except httpx.InvalidURL as error:
            raise InputError(f"base_url is no address ({error}). {_ADDRESS}") from error
        status = answer.status_code
        if status in _RETRIED:
            after = retry_after(answer.headers.get("Retry-After"))
            raise _Again(f"HTTP {status}: {_excerpt(answer.text, key)}", after)
        if answer.is_redirect:
            host = urlsplit(answer.headers.get("Location", "")).netloc or "another address"
            raise EngineError(
                f"{self._url}: redirects to {host}, which is not followed: it would get the key. "
                "If you trust it, write it as base_url."
            )
        if status in {401, 403}:
            raise EngineError(
                f"{self._url}: HTTP {status}, the key was refused. Check the environment variable "
                f"{self._api_key_env or '(api_key_env is not set)'}."
            )
        if status != 200:
            said = _excerpt(answer.text, key)
            raise EngineError(f"{self._url}: HTTP {status}: {said}. Check base_url and model.")
        text: str = answer.text
        return text if key is None else text.replace(key, "***")

    def _rows(self, text: str, n_texts: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Read an answer: shape (n_texts, dimensions), in the order of the texts."""
        where = f"{self._url}, model {self._model}"
        try:
            data = json.loads(text)["data"]
            vectors = [(row.get("index"), row["embedding"]) for row in data]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise EngineError(
                f"{where}: the answer is no list of embeddings: {_excerpt(text)}. {_SERVER}"
            ) from error
        if len(vectors) != n_texts:
            raise EngineError(
                f"{where}: {len(vectors)} embeddings came for {n_texts} texts. {_SERVER}"
            )
        # A server that numbers no row at all keeps the order of the request.
        if any(index is not None for index, _ in vectors):
            by_index = {index: v for index, v in vectors if isinstance(index, int)}
            if sorted(by_index) != list(range(n_texts)):
                raise EngineError(
                    f"{where}: the embeddings are not numbered 0 to {n_texts - 1}. {_SERVER}"
                )
            ordered = [by_index[place] for place in range(n_texts)]
        else:
            ordered = [vector for _, vector in vectors]
        try:
            rows = np.array(ordered, np.float64)
        except (ValueError, TypeError, OverflowError) as error:
            raise EngineError(
                f"{where}: an embedding is no list of numbers, or they differ in length. {_SERVER}"
            ) from error
        if rows.ndim != 2 or not rows.shape[1]:
            raise EngineError(f"{where}: an embedding is empty or no list of numbers. {_SERVER}")
        if self._dimensions is None:
            self._dimensions = int(rows.shape[1])
        if rows.shape[1] != self._dimensions:
            raise EngineError(
                f"{where}: embeddings have {rows.shape[1]} dimensions, expected "
                f"{self._dimensions}. Check model and dimensions."
            )
        return rows

    @property
    def _url(self) -> str:
        return f"{self._base_url}/embeddings"

    def _key(self) -> str | None:
        if self._api_key_env is None:
            return None
        key = os.environ.get(self._api_key_env, "").strip()
        if not key:
            raise InputError(
                f"the environment variable {self._api_key_env} is not set; it must hold the key "
                f"for {self._base_url}. Set it, or write api_key_env: null if none is needed."
            )
        if not key.isascii() or not key.isprintable():
            raise InputError(
                f"the environment variable {self._api_key_env} holds a character that no key has. "
                "Set it again."
            )
        return key


def _http() -> tuple[Any, Any]:
    try:
        import httpx
        import stamina
    except ImportError as error:
        raise InputError(
            f"an /embeddings endpoint needs an extra that cannot be imported ({error}). "
            'Install it: pip install "path/to/sweeper[http]".'
        ) from error
    return httpx, stamina


def _checked_address(base_url: str) -> str:
    try:
        parts = urlsplit(base_url)
        host = parts.hostname
        credentials = parts.username is not None or parts.password is not None
        _ = parts.port  # raises if it is no number
    except ValueError as error:
        raise InputError(f"base_url is no address ({error}). {_ADDRESS}") from None
    if credentials or parts.query or parts.fragment:
        raise InputError(
            f"base_url may hold no user, password, query or fragment: it is stored. {_ADDRESS} "
            "The key belongs in the environment variable that api_key_env names."
        )
    if parts.scheme not in {"http", "https"} or not host:
        raise InputError(f'base_url "{base_url}" is no http(s) address. {_ADDRESS}')
    return base_url.rstrip("/").removesuffix("/embeddings")


def _excerpt(text: str, key: str | None = None) -> str:
    """Return the beginning of a server's text, without the key: some repeat what they were sent."""
    return excerpt(text if key is None else text.replace(key, "***"))
