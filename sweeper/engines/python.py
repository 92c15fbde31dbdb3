"""The python engine: a function of the user answers, as a black box.

::

    def search(query, settings, user=None, filter=None):
        return ["id-of-the-best-row", "id-of-the-next-row"]

``settings`` maps a knob's name to its value (``None``: no floor; depth as the limit). ``user`` and
``filter`` are passed only to a function that takes them; a question that needs one is refused by a
function that does not. What the function prints goes to stderr: stdout belongs to the command.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from sweeper.errors import EngineError, InputError
from sweeper.functions import error_text, kind_of, load_function
from sweeper.golden import ItemId, Query
from sweeper.pools import QueryCandidates
from sweeper.settings import Settings

__all__ = ["PythonEngine"]

_WHERE = "engine.call"
_OPTIONAL = ("user", "filter")


class PythonEngine:
    """Calls a function for each question and settings.

    Parameters
    ----------
    call
        ``module:function``.
    folder
        Where modules are looked for, besides the usual places, while the engine is open.
    knobs
        What the function obeys; ``None`` for everything.

    Raises
    ------
    InputError
        If there is no such module or function, or it cannot be called as described above.
    """

    channels: tuple[str, ...] = ()
    fingerprint: str | None = None
    n_threads = 1

    def __init__(
        self, call: str, *, folder: str | Path | None = None, knobs: Iterable[str] | None = None
    ) -> None:
        self.call = call
        self.knobs = None if knobs is None else frozenset(knobs)
        self._entry = None if folder is None else str(Path(folder).resolve())
        self._closed = False
        if self._entry is not None:
            if not Path(self._entry).is_dir():
                raise InputError(f"engine.path: there is no folder {self._entry}.")
            sys.path.append(self._entry)  # last: it may not hide what sweeper imports itself
        try:
            self._function = load_function(call, self._entry, where="engine")
            self._takes = _optional_parameters(self._function, call)
        except BaseException:
            self.close()
            raise

    @property
    def provenance(self) -> dict[str, Any]:
        knobs = None if self.knobs is None else sorted(self.knobs)
        return {"kind": "python", "call": self.call, "knobs": knobs}

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        raise EngineError(
            f"{self.call} is a black box: it shows no candidates, it only answers whole searches."
        )

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        """Return the keys that the function returned, at most ``settings.limit``."""
        if self._closed:
            raise EngineError("the engine is closed; make a new one.")
        given = {"user": query.user, "filter": dict(query.filter)}
        for name in _OPTIONAL:
            if given[name] and name not in self._takes:
                raise EngineError(
                    f"question {query.query_id!r} has a {name}, which {self.call} does not take. "
                    f"Add the parameter {name}=None to it."
                )
        options = {name: given[name] or None for name in self._takes}
        try:
            with contextlib.redirect_stdout(sys.stderr):
                answer = self._function(query.text, dict(settings.as_dict()), **options)
                problem = _problem(answer)
                # A generator runs here, so that its failure is the function's too.
                rows = [] if problem else list(itertools.islice(answer, settings.limit))
        except (Exception, SystemExit) as error:
            raise EngineError(
                f"question {query.query_id!r}: {self.call} raised {error_text(error)}."
            ) from error
        if problem is None:
            problem = next((text for row in rows if (text := _row_problem(row))), None)
        if problem is not None:
            raise EngineError(f"question {query.query_id!r}: {self.call} returned {problem}")
        return [str(row) for row in rows]

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            if self._entry is not None:
                with contextlib.suppress(ValueError):  # somebody else took it out
                    sys.path.remove(self._entry)


def _optional_parameters(function: Callable[..., Any], call: str) -> tuple[str, ...]:
    """Return which of ``user`` and ``filter`` a function takes."""
    if inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function):
        raise InputError(
            f"{_WHERE}: {call} is async. Give a plain function, which may call asyncio.run."
        )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # compiled code may not tell
        return ()
    taken = tuple(
        name
        for name in _OPTIONAL
        if name in signature.parameters
        or any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    )
    try:
        signature.bind("", {}, **dict.fromkeys(taken))
    except TypeError as error:
        raise InputError(
            f"{_WHERE}: {call}{signature} cannot be called ({error}). "
            "Write it as: def search(query, settings, user=None, filter=None)."
        ) from error
    return taken


def _problem(answer: object) -> str | None:
    """Return what is wrong with an answer as a whole; its rows are not looked at."""
    if isinstance(answer, Iterable) and not isinstance(answer, str | bytes | Mapping | Set):
        return None
    if inspect.iscoroutine(answer):
        answer.close()
        return "a coroutine. Call asyncio.run within the function."
    hint = " An empty list says that nothing was found." if answer is None else ""
    return f"{kind_of(answer)}. Return a list of ids, best first.{hint}"


def _row_problem(row: object) -> str | None:
    if isinstance(row, str):
        return None if row else "an empty id. Return the ids that the golden set expects."
    if row is None:
        return "None in place of an id. Leave out what has no id."
    if isinstance(row, int) and not isinstance(row, bool):
        return f"the number {row} as an id. Ids are text: return str(id)."
    return f"{kind_of(row)} in place of an id. Return the ids alone, as text."
