"""Every error that a user can cause or meet, and the exit code that each one carries.

::

    SweeperError
    ├── InputError           2   a file, a config or an argument is wrong; carries located problems
    ├── GateError            3   a gate ran and failed
    ├── EngineError          4   the search engine did not answer as promised
    ├── StorageError         4   results could not be written (full disk, lost permission)
    ├── ResourceError        4   the machine had no more memory or threads to give
    ├── IncompleteError      4   the sweep ended with trials missing
    ├── UndecidedError       5   the data cannot settle the question
    ├── InfeasibleError      6   no setting meets the constraints
    └── MismatchError        7   the live engine and the replay disagree

Exit codes 0 (done), 1 (our bug), 130 (interrupted) and 141 (output closed) have no class: 0 is no
error, 1 is Python's own answer to an exception that nobody foresaw, 130 is typer's for Ctrl-C, and
141 is what a shell reports of a program that a closed pipe ended. A crash can therefore never look
like a verdict.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = [
    "EXIT_CODES",
    "EngineError",
    "GateError",
    "IncompleteError",
    "InfeasibleError",
    "InputError",
    "MismatchError",
    "Problem",
    "Problems",
    "ResourceError",
    "StorageError",
    "SweeperError",
    "UndecidedError",
    "did_you_mean",
]


EXIT_CODES: Final[Mapping[int, str]] = {
    0: "done, or the gate passed",
    1: "a bug in sweep; the traceback says where",
    2: "wrong usage or input",
    3: "the gate failed",
    4: "the engine failed, disk or memory is full, or the sweep is incomplete",
    5: "undecided: the data cannot settle the question",
    6: "no setting meets the constraints",
    7: "the engine's own answers differ from the replay",
    130: "interrupted",
    141: "the reader of the output went away",
}
"""Every exit code of ``sweep`` and what it says; the help text and the pages are made of this."""


class SweeperError(Exception):
    """Base of all errors that are reported as a message, never as a traceback."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong: where it is, what it is, and how to mend it.

    ``message`` is one or more sentences: what is wrong first, the remedy after it.
    """

    message: str
    path: str | None = None
    line: int | None = None
    where: str | None = None  # a key path such as ``space.rrf_k``

    def __str__(self) -> str:
        place = self.path or ""
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
        return ": ".join(part for part in (place, self.where, self.message) if part)


class InputError(SweeperError):
    """One or more problems in what the user gave us. All of one file are reported at once.

    Parameters
    ----------
    problems
        A message, one problem, or several. At most ``shown`` are printed; the rest are counted.
    """

    exit_code = 2
    shown = 20

    def __init__(self, problems: str | Problem | Iterable[Problem]) -> None:
        if isinstance(problems, str):
            problems = [Problem(problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems = tuple(problems)
        lines = [str(problem) for problem in self.problems[: self.shown]]
        hidden = len(self.problems) - len(lines)
        if hidden > 0:
            lines.append(f"... and {hidden} more problems like these.")
        super().__init__("\n".join(lines))


class GateError(SweeperError):
    """A gate ran to its end and its verdict is: fail."""

    exit_code = 3


class EngineError(SweeperError):
    """The search engine is unreachable, refused us, or answered with something unusable."""

    exit_code = 4


class StorageError(SweeperError):
    """Results could not be written. What was already stored stays as it was."""

    exit_code = 4


class ResourceError(SweeperError):
    """The machine had no more memory or threads to give. What was already stored stays."""

    exit_code = 4


class IncompleteError(SweeperError):
    """The sweep ended, but not every trial has figures."""

    exit_code = 4


class UndecidedError(SweeperError):
    """The data cannot settle the question that was asked."""

    exit_code = 5


class InfeasibleError(SweeperError):
    """No setting meets the constraints."""

    exit_code = 6


class MismatchError(SweeperError):
    """Replayed ranks and live ranks differ."""

    exit_code = 7


class Problems:
    """Collects the problems of one file, then raises them together.

    Examples
    --------
    >>> problems = Problems("golden.jsonl")
    >>> problems.add('"query" is missing.', line=3)
    >>> str(next(iter(problems)))
    'golden.jsonl:3: "query" is missing.'
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else str(path)
        self._found: list[Problem] = []

    def add(self, message: str, *, line: int | None = None, where: str | None = None) -> None:
        self._found.append(Problem(message, self.path, line, where))

    def __iter__(self) -> Iterator[Problem]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    def raise_if_any(self) -> None:
        """Raise ``InputError`` with all problems, in line order, when there is at least one."""
        if self._found:
            raise InputError(sorted(self._found, key=lambda problem: problem.line or 0))


def did_you_mean(word: str, choices: Iterable[str]) -> str:
    """Return `` Did you mean "x"?`` for a close choice, else the list of choices, if there are any.

    Examples
    --------
    >>> did_you_mean("min_similarty", ["min_similarity", "rrf_k"])
    'Did you mean "min_similarity"?'
    >>> did_you_mean("zzz", ["a", "b"])
    'Choose from: a, b.'
    >>> did_you_mean("zzz", [])
    'There is none to choose from.'
    """
    choices = list(choices)
    if not choices:
        return "There is none to choose from."
    close = difflib.get_close_matches(word, choices, n=1)
    if close:
        return f'Did you mean "{close[0]}"?'
    return f"Choose from: {', '.join(choices)}."
