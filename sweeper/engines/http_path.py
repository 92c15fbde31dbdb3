"""Where things stand in JSON: JMESPath expressions of a config, and words for what they meet."""

from __future__ import annotations

import json
from typing import Any

from sweeper.errors import EngineError, InputError
from sweeper.http_text import excerpt

__all__ = ["JsonPath", "optional_path", "outline", "shown"]

_NAMED = 12  # keys of an object that a message lists


class JsonPath:
    """One compiled expression.

    Parameters
    ----------
    name
        The key of the engine's block that gave it.
    text
        JMESPath.

    Raises
    ------
    InputError
        If it is none, or the extra ``http`` is missing.
    """

    def __init__(self, name: str, text: str) -> None:
        try:
            import jmespath
        except ImportError as error:
            raise InputError(
                f"an engine over HTTP needs an extra that cannot be imported ({error}). "
                'Install it: pip install "path/to/sweeper[http]".'
            ) from error
        self.name = name
        self.text = text
        try:
            self._compiled = jmespath.compile(text)
        except jmespath.exceptions.JMESPathError as error:
            why = " ".join(str(error).split())
            raise InputError(f"engine.{name}: `{text}` is no JMESPath ({why}).") from None

    def of(self, value: Any) -> Any:
        """Return what stands there in a JSON value; ``None`` if nothing does.

        Raises
        ------
        EngineError
            If a function of the expression does not apply to the value.
        """
        import jmespath

        try:
            return self._compiled.search(value)
        except jmespath.exceptions.JMESPathError as error:
            why = " ".join(str(error).split())
            raise EngineError(
                f"`{self.text}` (engine.{self.name}) fails on {shown(value)}: {why}."
            ) from None


def optional_path(name: str, text: str | None) -> JsonPath | None:
    """Return the compiled expression of a key, if it has one."""
    return None if text is None else JsonPath(name, text)


def outline(value: Any) -> str:
    """Say what an object has, so that a wrong path can be mended."""
    if not isinstance(value, dict):
        return f"is {shown(value)}"
    if not value:
        return "is an empty object"
    names = [str(name) for name in value]
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"has the keys {', '.join(names[:_NAMED])}{more}"


def shown(value: Any) -> str:
    """Return the beginning of a value, as JSON."""
    return excerpt(json.dumps(value, ensure_ascii=False, default=str))
