"""Runs an ASGI app on 127.0.0.1 in a thread, so that real connections can be refused or broken."""

from __future__ import annotations

import socket
import threading
import time
from types import TracebackType
from typing import Any

import uvicorn

__all__ = ["Serving"]


class Serving:
    """A server that can be stopped and started again at the same address.

    ``tls`` may name ``ssl_keyfile`` and ``ssl_certfile``.
    """

    def __init__(self, app: Any, **tls: str) -> None:
        self._app = app
        self._tls = tls
        self._port = 0
        self._server: uvicorn.Server | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def start(self) -> None:
        # With its protocol named, asyncio sets TCP_NODELAY; else each answer takes 40 ms.
        listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(("127.0.0.1", self._port))
        self._port = listening.getsockname()[1]
        config = uvicorn.Config(
            self._app,
            lifespan="off",
            ws="none",
            log_config=None,
            timeout_graceful_shutdown=1,
            **self._tls,  # type: ignore[arg-type]
        )
        server = uvicorn.Server(config)
        self._thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        self._thread.start()
        deadline = time.monotonic() + 30
        while not server.started:
            assert self._thread.is_alive(), "the server ended before it had started"
            assert time.monotonic() < deadline, "the server does not start"
            time.sleep(0.005)
        self._server, self._listening = server, listening

    def stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True
            self._thread.join(30)
            assert not self._thread.is_alive(), "the server does not stop"
            self._listening.close()
            self._server = None

    def __enter__(self) -> Serving:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
