"""Pages: a result list that comes in several answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from sweeper.engines.http_path import optional_path
from sweeper.errors import EngineError
from sweeper.http_blocks import PaginationBlock
from sweeper.request_template import LEFT_OUT

__all__ = ["Pages"]


class Pages:
    """Asks page after page.

    Parameters
    ----------
    block
        Which placeholder moves on, and by how much.
    """

    def __init__(self, block: PaginationBlock) -> None:
        self._block = block
        self._next = optional_path("pagination.next", block.next)

    def collect(
        self,
        n_rows: int,
        ask: Callable[[Mapping[str, Any]], Any],
        rows_of: Callable[[Any], list[Any]],
    ) -> list[Any]:
        """Return at most ``n_rows`` rows.

        Parameters
        ----------
        n_rows
            No page is asked for after that many.
        ask
            Given ``page``, ``offset``, ``cursor`` and ``page_size``, returns an answer's JSON.
        rows_of
            Returns the rows of an answer.

        Raises
        ------
        EngineError
            If the server does not move on.
        """
        rows: list[Any] = []
        before: list[Any] = []
        cursor: Any = LEFT_OUT
        number, size = self._block.first, self._block.size
        while len(rows) < n_rows:
            place = {"page": number, "offset": len(rows), "cursor": cursor, "page_size": size}
            answer = ask(place)
            page = rows_of(answer)
            if page and page == before:
                raise EngineError(
                    f"page {number} repeats the page before it. Does the server read "
                    f"`{self._block.kind}` where the config puts it?"
                )
            rows += page
            if not page:
                break
            if self._next is None:
                if len(page) < size:
                    break
            else:
                following = self._next.of(answer)
                if not following:
                    break
                if following == cursor:
                    raise EngineError("the server gives the same cursor again; it must move on.")
                cursor = following
            before, number = page, number + 1
        return rows[:n_rows]
