"""A small JSON search that fails on request, to see what an engine makes of it.

``script`` holds what to do with the next requests, in order; when it is empty, answers are right.
Every request is recorded. Rows are ``{"id": "d1", "kind": "doc", "score": 0.9}`` and so on.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

__all__ = [
    "FaultyServer",
    "Seen",
    "answer",
    "cut_off",
    "late",
    "redirect",
    "status",
    "text",
]

Fault = Callable[["Seen"], Response | Awaitable[Response]]


class Seen:
    """One request as the server saw it."""

    def __init__(self, request: Request, body: Any) -> None:
        self.method = request.method
        self.path = request.url.path
        self.params = dict(request.query_params)
        self.headers = dict(request.headers)
        self.body = body
        self.at = time.monotonic()


class FaultyServer:
    """The app, its script and what it was asked."""

    def __init__(self, rows: list[dict[str, Any]] | None = None) -> None:
        self.rows = rows if rows is not None else _rows(25)
        self.script: list[Fault] = []
        self.seen: list[Seen] = []
        routes = [
            Route(path, self._endpoint, methods=["GET", "POST", "PUT"])
            for path in ("/search", "/moved", "/api/v1/knowledge/search")
        ]
        self.app = Starlette(routes=routes)

    async def _endpoint(self, request: Request) -> Response:
        text = await request.body()
        seen = Seen(request, json.loads(text) if text else None)
        self.seen.append(seen)
        if self.script:
            answer = self.script.pop(0)(seen)
            return answer if isinstance(answer, Response) else await answer
        return JSONResponse(self.right(seen))

    def right(self, seen: Seen) -> Any:
        """Return what a healthy server would answer."""
        asked = {**seen.params, **(seen.body or {})}
        start = int(asked.get("offset", 0))
        size = int(asked.get("size", 10))
        if "page" in asked:
            start = (int(asked["page"]) - 1) * size
        if "cursor" in asked:
            start = int(str(asked["cursor"]).removeprefix("after-"))
        page = self.rows[start : start + size]
        more = start + size < len(self.rows)
        return {"data": {"items": page}, "next": f"after-{start + size}" if more else None}


def status(code: int, **headers: str) -> Fault:
    return lambda seen: Response("busy", code, {k.replace("_", "-"): v for k, v in headers.items()})


def text(content: str, media_type: str = "application/json", code: int = 200) -> Fault:
    return lambda seen: Response(content, code, media_type=media_type)


def cut_off(seen: Seen) -> Response:
    """Promise more than comes."""
    return Response('{"data": ', 200, {"Content-Length": "100"}, "application/json")


def answer(content: Any) -> Fault:
    return lambda seen: JSONResponse(content)


def redirect(to: str, code: int = 307) -> Fault:
    return lambda seen: RedirectResponse(to, code)


def late(seconds: float) -> Fault:
    async def answered(seen: Seen) -> Response:
        await asyncio.sleep(seconds)
        return JSONResponse({"data": {"items": []}})

    return answered


def _rows(n: int) -> list[dict[str, Any]]:
    return [{"id": f"d{place}", "kind": "doc", "score": 1.0 / place} for place in range(1, n + 1)]
