"""One HTTP endpoint that answers JSON: credentials, retries, limits, redirects.

What is asked and what the answers mean is in the engines. Secrets are read from the environment
when a request is made, are not kept, go to the configured host only, and are blotted out of every
text that leaves this module.
"""

from __future__ import annotations

import json
import logging
import random
import ssl
import threading
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sweeper.engines.http_answer import Failure, Passing, read_answer
from sweeper.engines.http_credentials import blot, credentials
from sweeper.errors import EngineError, InputError

if TYPE_CHECKING:
    import httpx

    from sweeper.http_blocks import AuthBlock, ConnectionBlock

__all__ = ["JsonClient", "import_http"]

_log = logging.getLogger(__name__)

_KEEP_METHOD = frozenset({307, 308})  # other redirects would turn a POST into a GET
_MOST_REDIRECTS = 5


class JsonClient:
    """Sends requests to one address and returns what the answers' JSON says. Safe to share.

    Parameters
    ----------
    method, url
        Of every request.
    connection
        Timeouts, retries, limits, authority and redirects.
    auth
        Where credentials are; ``None`` sends none.
    ca_file
        PEM file of a private authority. Certificates are always verified.
    transport
        An ``httpx`` transport, for tests.

    Raises
    ------
    InputError
        If the extra is missing, or ``ca_file`` cannot be read.
    """

    def __init__(
        self,
        method: str,
        url: str,
        *,
        connection: ConnectionBlock,
        auth: AuthBlock | None = None,
        ca_file: Path | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        httpx, _ = import_http()
        self._method = method
        self._url = url
        self._auth = auth
        self._connection = connection
        timeouts = connection.timeouts
        self._client = httpx.Client(
            timeout=httpx.Timeout(
                connect=timeouts.connect,
                read=timeouts.read,
                write=timeouts.write,
                pool=timeouts.pool,
            ),
            limits=httpx.Limits(max_connections=connection.n_threads),
            verify=True if ca_file is None else _authority(ca_file),
            transport=transport,
            follow_redirects=False,
        )
        self._under_way = threading.BoundedSemaphore(connection.n_threads)
        self._lock = threading.Lock()
        self._next_start = 0.0  # on the monotonic clock
        self._counters: Counter[str] = Counter()
        self._jitter = random.Random()  # only ever moves a pause, never a figure

    def __repr__(self) -> str:
        return f"JsonClient({self._method!r}, {self._url!r})"

    @property
    def counters(self) -> dict[str, int]:
        """Number of ``requests``, of ``retries`` among them, and of failed ones by kind."""
        with self._lock:
            return {"requests": 0, "retries": 0, **dict(sorted(self._counters.items()))}

    def ask(
        self,
        *,
        body: Any = None,
        params: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Send one request, again while it fails in passing, and return the JSON of its answer.

        Raises
        ------
        EngineError
            Naming what was received and how to mend it.
        InputError
            If a credential is missing or malformed.
        """
        _, stamina = import_http()
        retries = self._connection.retries
        secret_headers, secrets = credentials(self._auth)
        named = {"Accept": "application/json", **(headers or {}), **secret_headers}
        if body is not None:
            named["Content-Type"] = "application/json"
        encoded = {name: value.encode("utf-8", "replace") for name, value in named.items()}
        request = {"body": body, "params": params, "headers": encoded}
        failure: Failure | None = None
        try:
            for attempt in stamina.retry_context(
                on=self._pause,
                attempts=retries.attempts,
                timeout=None,
                wait_initial=retries.wait_seconds,
                wait_jitter=retries.wait_seconds,
                wait_max=retries.max_wait_seconds,
            ):
                with attempt:
                    if attempt.num > 1:
                        self._count("retries")
                    return self._once(request, secrets)
        except Failure as error:
            failure = error
        # Raised here, so that no exception of the HTTP client, which holds the request with its
        # credentials, hangs on to this one.
        assert failure is not None
        tried = f" after {retries.attempts} attempts" if isinstance(failure, Passing) else ""
        message = f"{self._method} {self._url}: {failure}{tried}. {failure.remedy}"
        raise EngineError(blot(message, secrets))

    def blotted(self, text: str) -> str:
        """Return a text without the credentials, should a server have repeated them."""
        return blot(text, credentials(self._auth)[1])

    def close(self) -> None:
        self._client.close()

    def _count(self, what: str) -> None:
        with self._lock:
            self._counters[what] += 1

    def _pause(self, error: Exception) -> bool | float:
        """Tell stamina whether to try again, and after how many seconds if the server said so."""
        if not isinstance(error, Passing):
            return False
        _log.warning("%s %s: an attempt failed: %s", self._method, self._url, error)
        if error.after is None:
            return True
        retries = self._connection.retries
        jitter = self._jitter.uniform(0, retries.wait_seconds)
        return min(error.after, retries.max_wait_seconds) + jitter

    def _once(self, request: Mapping[str, Any], secrets: tuple[str, ...]) -> Any:
        try:
            with self._under_way:
                self._wait_for_turn()
                self._count("requests")
                answer = self._send(request)
            return read_answer(answer, secrets, self._auth)
        except Failure as error:
            self._count(error.kind)
            error.args = tuple(blot(str(part), secrets) for part in error.args)
            raise

    def _wait_for_turn(self) -> None:
        rate = self._connection.requests_per_second
        if rate is None:
            return
        with self._lock:
            now = time.monotonic()
            start = max(now, self._next_start)
            self._next_start = start + 1.0 / rate
        time.sleep(start - now)

    def _send(self, request: Mapping[str, Any]) -> httpx.Response:
        httpx, _ = import_http()
        body = request["body"]
        timeouts = self._connection.timeouts
        failure: Failure
        try:
            sent = self._client.build_request(
                self._method,
                self._url,
                params=request["params"] or None,
                # ASCII, so that no text can fail to be encoded.
                content=None if body is None else json.dumps(body).encode(),
                headers=request["headers"],
            )
            return self._redirected(self._client.send(sent))
        except httpx.ConnectTimeout:
            failure = Passing(
                "connect timeout", f"no connection within {timeouts.connect:g} s", _UNREACHABLE
            )
        except httpx.TimeoutException as error:
            phase = type(error).__name__.removesuffix("Timeout").lower()
            seconds = getattr(timeouts, phase)
            failure = Passing(
                f"{phase} timeout",
                f"no answer within {seconds:g} s ({phase})",
                f"If it needs longer, raise timeouts.{phase}.",
            )
        except httpx.ConnectError as error:
            if "CERTIFICATE_VERIFY_FAILED" in str(error):
                failure = Failure("bad certificate", f"no trust ({error})", _UNTRUSTED)
            else:
                failure = Passing("not connected", f"no connection ({error})", _UNREACHABLE)
        except httpx.RequestError as error:
            failure = Passing(
                "broken off",
                f"the answer broke off ({type(error).__name__}: {error})",
                "Look into the server's log.",
            )
        except httpx.InvalidURL as error:
            failure = Failure("bad address", f"cannot be an address ({error})", _TOO_LONG)
        except UnicodeEncodeError as error:
            failure = Failure("bad text", f"a parameter is no text ({error})", "Mend the question.")
        raise failure

    def _redirected(self, answer: httpx.Response) -> httpx.Response:
        """Follow redirects within the same scheme, host and port, if that is wanted at all."""
        for _ in range(_MOST_REDIRECTS):
            following = answer.next_request
            if following is None:
                return answer
            url, target = answer.request.url, following.url
            same = (url.scheme, url.host, url.port) == (target.scheme, target.host, target.port)
            kept = answer.status_code in _KEEP_METHOD or self._method == "GET"
            if not (self._connection.follow_redirects and same and kept):
                remedy = (
                    "Set follow_redirects: true if that is right."
                    if same and kept
                    else "If you trust that address, write it in the config."
                )
                raise Failure(
                    "redirect",
                    f"HTTP {answer.status_code} redirects to "
                    f"{target.scheme}://{target.netloc.decode()}{target.path}, which is not "
                    "followed: it would get the question and the credentials",
                    remedy,
                )
            answer = self._client.send(following)
        raise Failure("redirect", f"more than {_MOST_REDIRECTS} redirects", "Mend the address.")


_UNREACHABLE = "Check the address, and that the server runs."
_TOO_LONG = "Mend the address in the config; a long question fits into a body only."
_UNTRUSTED = "For a certificate of a private authority, give its PEM file as ca_file."


def import_http() -> tuple[Any, Any]:
    """Return ``httpx`` and ``stamina``.

    Raises
    ------
    InputError
        If the extra is not installed.
    """
    try:
        import httpx
        import stamina
    except ImportError as error:
        raise InputError(
            f"an engine over HTTP needs an extra that cannot be imported ({error}). "
            'Install it: pip install "path/to/sweeper[http]".'
        ) from error
    log = logging.getLogger("stamina")
    if not log.handlers:
        # It names every retry, as this module does with the reason. Without a handler anywhere
        # Python would print that name alone to stderr.
        log.addHandler(logging.NullHandler())
    return httpx, stamina


def _authority(ca_file: Path) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except (OSError, ssl.SSLError) as error:
        raise InputError(
            f"{ca_file}: cannot be read as certificates ({error}). Give ca_file a PEM file."
        ) from error
