"""What one request carries: a block's templates, filled for a question and a setting."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from sweeper.errors import EngineError, InputError
from sweeper.golden import Query
from sweeper.http_blocks import HttpBlock
from sweeper.knobs import Value
from sweeper.request_template import LEFT_OUT, Template, put
from sweeper.settings import Settings

__all__ = ["Request", "RequestMaker"]


class Request(NamedTuple):
    """What one request carries besides its address and credentials."""

    body: dict[str, Any] | None
    params: Mapping[str, Any]
    headers: Mapping[str, str]


class RequestMaker:
    """Makes requests as a block describes them.

    Parameters
    ----------
    block
        Its templates and where its knobs go.
    """

    def __init__(self, block: HttpBlock) -> None:
        self._block = block
        self._body = Template(block.body or {})
        self._params = Template(block.params)
        self._headers = Template(block.headers)

    def make(self, query: Query, settings: Settings, place: Mapping[str, Any]) -> Request:
        """Return the request for a question under some settings.

        Parameters
        ----------
        query, settings
            Give the placeholders their values.
        place
            ``page``, ``offset``, ``cursor`` and ``page_size``, where rows come in pages.

        Raises
        ------
        InputError
            If the request has no place for the question's user or filter.
        EngineError
            If a longer text of the template needs a value that there is not.
        """
        self._check_scope(query)
        values = {**self._values(query, settings), **place}
        try:
            body = _mapping(self._body.fill(values))
            params = {
                name: json.dumps(value) if isinstance(value, dict) else value
                for name, value in _mapping(self._params.fill(values)).items()
            }
            headers = {k: str(v) for k, v in _mapping(self._headers.fill(values)).items()}
        except KeyError as error:
            name = error.args[0]
            raise EngineError(
                f"the request needs a value for {{{name}}} inside a longer text, and there is "
                f'none. Make "{{{name}}}" a field of its own: it is then left out.'
            ) from None
        has_body = self._block.method != "GET"
        for name, path in self._block.knobs.items():
            if values[name] is not LEFT_OUT:
                try:
                    put(body if has_body else params, path, values[name])
                except ValueError as error:
                    raise InputError(f"engine.knobs.{name}: {error}") from None
        return Request(body if has_body else None, params, headers)

    def _values(self, query: Query, settings: Settings) -> dict[str, Any]:
        """Return what every placeholder and knob stands for."""
        values: dict[str, Any] = {
            "query": query.text,
            "query_id": query.query_id,
            "user": LEFT_OUT if query.user is None else query.user,
            "filter": dict(query.filter) or LEFT_OUT,
            **{f"filter.{tag}": value for tag, value in query.filter.items()},
        }
        for name in (*settings.as_dict(), *self._block.tuned):
            values[name] = self._sent(settings.get(name))
        values["depth"] = settings.effective_depth
        return values

    def _sent(self, value: Value) -> Any:
        if value is None:
            return LEFT_OUT if self._block.none is None else self._block.none
        if isinstance(value, float) and value.is_integer():
            return int(value)  # 30, as a person writes it; some servers refuse 30.0
        return value

    def _check_scope(self, query: Query) -> None:
        names = self._block.names
        if query.user is not None and "user" not in names:
            raise InputError(
                f"question {query.query_id!r} is asked as user {query.user!r}, and the request has "
                'no place for a user. Put "{user}" into body, params or headers.'
            )
        for tag in query.filter:
            if "filter" not in names and f"filter.{tag}" not in names:
                raise InputError(
                    f"question {query.query_id!r} has the filter {tag!r}, and the request has no "
                    f'place for it. Put "{{filter.{tag}}}" into body, params or headers.'
                )


def _mapping(filled: Any) -> dict[str, Any]:
    return {} if filled is LEFT_OUT else dict(filled)
