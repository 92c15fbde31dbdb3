"""How commands print: data to stdout, everything else to stderr, on any terminal.

A command calls ``print_table``, ``print_json`` or ``emit`` for its data, and
``note``, ``warn``, ``detail`` and ``progress`` for the rest. Ids, queries and file
names come from other people: they are shown literally, so neither markup nor an escape sequence in
them does anything. Text that a terminal cannot encode is replaced, it never ends a command.

rich is imported only where something is drawn, so that ``sweep --help`` stays quick.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import logging
import os
import select
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, TextIO, TypeAlias

import typer

from sweeper.cli.documents import json_text
from sweeper.errors import StorageError
from sweeper.tables import Column, csv_table, decimals, markdown_table, plain

__all__ = [
    "Column",
    "Quiet",
    "Verbose",
    "abandon",
    "abandon_closed_output",
    "decimals",
    "detail",
    "emit",
    "emit_file",
    "encodable",
    "error",
    "fits",
    "flush",
    "hold_standard_descriptors",
    "json_text",
    "no_color",
    "note",
    "plain",
    "print_json",
    "print_table",
    "progress",
    "set_verbosity",
    "version",
    "warn",
    "with_verbosity",
    "write",
]

Quiet: TypeAlias = Annotated[
    int,
    typer.Option(
        "--quiet", "-q", count=True, show_default=False, help="Print errors and data only."
    ),
]
Verbose: TypeAlias = Annotated[
    int,
    typer.Option(
        "--verbose", "-v", count=True, show_default=False, help="Say more; -vv adds debug logs."
    ),
]


# --- text that is safe to print -------------------------------------------------------------------

_STAND_INS = {
    "\u2013": "-",
    "\u2014": "-",
    "\u2018": "'",
    "\u2019": "'",
    "\u201c": '"',
    "\u201d": '"',
    "\u2026": "...",
    "\u2192": "->",
    "\u2212": "-",
    "\u2264": "<=",
    "\u2265": ">=",
    "\u00d7": "x",
    "\u2500": "-",
}


def encodable(text: str, stream: TextIO) -> str:
    """Return text with what the stream cannot encode replaced: a stand-in, or an escape."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except LookupError:
        return text
    except UnicodeEncodeError:
        pieces = (
            _STAND_INS.get(c, c) if ord(c) > 127 and not fits(c, encoding) else c for c in text
        )
        return "".join(pieces).encode(encoding, "backslashreplace").decode(encoding)
    return text


def fits(text: str, encoding: str) -> bool:
    """Return whether an encoding has all characters of a text."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def write(stream: TextIO, text: str) -> None:
    """Write text as it is, but for what the stream cannot encode.

    Raises
    ------
    StorageError
        If the stream goes to a full disk or cannot be written.
    """
    try:
        stream.write(encodable(text, stream))
        stream.flush()  # a closed pipe is met here, inside the command, not when Python exits
    except BrokenPipeError:
        raise
    except OSError as error:
        abandon(stream)
        raise StorageError(_unwritable(error.strerror or str(error))) from error


def _stdout() -> TextIO:
    """Return stdout; a shell may have closed it (``>&-``)."""
    stream: TextIO | None = sys.stdout
    if stream is None:
        raise StorageError(_unwritable("it is closed"))
    return stream


def _unwritable(reason: str) -> str:
    return f"the output cannot be written ({reason}). Check where it goes."


def flush() -> None:
    """Let what was printed reach stdout, if there is one.

    Raises
    ------
    StorageError
        If it cannot be written.
    """
    if sys.stdout is not None:
        write(sys.stdout, "")


def hold_standard_descriptors() -> None:
    """Open whichever of descriptors 0 to 2 is closed, so that no file of ours takes its number."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def abandon_closed_output() -> bool:
    """Return whether the reader of our output went away, and if so, stop writing to it."""
    gone = [stream for stream in (sys.stdout, sys.stderr) if _reader_is_gone(stream)]
    for stream in gone:
        abandon(stream)
    return bool(gone)


def abandon(stream: TextIO) -> None:
    """Send a stream nowhere. Otherwise Python complains when it flushes for the last time."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # a stream without a descriptor
        number = stream.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)


def _reader_is_gone(stream: TextIO) -> bool:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # no file, or no poll (Windows)
        poll = select.poll()
        poll.register(stream.fileno(), 0)
        return any(event & (select.POLLERR | select.POLLNVAL) for _, event in poll.poll(0))
    return False


def emit(text: str = "") -> None:
    """Print lines of data on stdout."""
    write(_stdout(), plain(text, keep="\n\t") + "\n")


def emit_file(text: str) -> None:
    """Print the content of a file on stdout: into a pipe as it is; a terminal would obey it."""
    stdout = _stdout()
    write(stdout, plain(text, keep="\r\n\t") if stdout.isatty() else text)


def version() -> str:
    """Return the installed version, or "unknown" when it runs from a bare checkout."""
    from importlib import metadata

    try:
        return metadata.version("sweeper")
    except metadata.PackageNotFoundError:
        return "unknown"


# --- notes, and how many of them ------------------------------------------------------------------

_level = 0  # -1 quiet, 0 normal, 1 detail, 2 debug; one process runs one command


def set_verbosity(level: int) -> None:
    """Choose what reaches stderr: -1 errors, 0 notes, 1 details, 2 the library's debug logs."""
    global _level
    _level = max(-1, min(2, level))
    logger = logging.getLogger("sweeper")
    if not any(isinstance(handler, _ToStderr) for handler in logger.handlers):
        logger.addHandler(_ToStderr())
    logger.setLevel((logging.WARNING, logging.INFO, logging.DEBUG, logging.ERROR)[_level])


class _ToStderr(logging.Handler):
    """Sends log records to whatever stderr is now; a progress bar may have replaced it."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage() if _level < 2 else f"{record.name}: {record.getMessage()}"
        if record.exc_info:
            text += "\n" + logging.Formatter().formatException(record.exc_info)
        _to_stderr(f"{record.levelname.lower()}: {text}")


def with_verbosity(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options ``-q`` and ``-v``, so that they work behind its name too."""

    @functools.wraps(command)
    def wrapped(*, quiet: int, verbose: int, **options: Any) -> None:
        set_verbosity(_level + verbose - quiet)
        command(**options)

    own = inspect.signature(command, eval_str=True)
    named = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter("quiet", named, default=0, annotation=Quiet),
        inspect.Parameter("verbose", named, default=0, annotation=Verbose),
    ]
    parameters = [item.replace(kind=named) for item in own.parameters.values()] + shared
    wrapped.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    wrapped.__annotations__ = {item.name: item.annotation for item in parameters}
    return wrapped


def _to_stderr(text: str) -> None:
    # Nobody may be reading notes any more, or stderr is closed; the work goes on.
    with contextlib.suppress(BrokenPipeError, StorageError):
        if sys.stderr is not None:
            write(sys.stderr, plain(text, keep="\n\t") + "\n")


def error(text: str) -> None:
    """Print an error on stderr, whatever ``-q`` says."""
    _to_stderr(text)


def warn(text: str) -> None:
    """Print a warning on stderr, unless ``-q``."""
    if _level >= 0:
        _to_stderr(f"warning: {text}")


def note(text: str) -> None:
    """Print a note on stderr, unless ``-q``."""
    if _level >= 0:
        _to_stderr(text)


def detail(text: str) -> None:
    """Print a note on stderr that only ``-v`` asks for."""
    if _level >= 1:
        _to_stderr(text)


@contextlib.contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr while it is a terminal and ``-q`` is not given.

    Parameters
    ----------
    what
        The thing that is counted: "trials", "queries".
    total
        ``None`` when unknown.

    Yields
    ------
    callable
        ``advance(n)`` adds n.
    """
    if (
        _level < 0
        or sys.stderr is None
        or not sys.stderr.isatty()
        or os.environ.get("TERM") == "dumb"
    ):
        yield lambda n: None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    console = Console(file=sys.stderr, no_color=no_color() or None)
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(encodable(plain(what), sys.stderr), total=total)
        yield lambda n: bar.advance(task, n)


def no_color() -> bool:
    """Return whether the user asked for no colour (https://no-color.org)."""
    return bool(os.environ.get("NO_COLOR"))


# --- JSON -----------------------------------------------------------------------------------------


def print_json(schema: str, document: Mapping[str, object]) -> None:
    """Print one JSON document on stdout: version and schema first, then the given keys in order.

    Parameters
    ----------
    schema
        What the document is and its version, such as ``sweep.cost/1``. A change that could break a
        reader gets a new number.
    document
        Numbers, text, sequences and mappings; NaN and infinity become null.
    """
    text = json_text({"sweeper": version(), "schema": schema, **document})
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "")
    if encoding != "utf8":
        text = json.dumps(json.loads(text), indent=2, ensure_ascii=True)
    write(_stdout(), text + "\n")


# --- tables ---------------------------------------------------------------------------------------


def print_table(
    columns: Sequence[Column],
    rows: Iterable[Sequence[object]],
    *,
    title: str | None = None,
    markdown: bool = False,
    csv: bool = False,
    width: int | None = None,
) -> None:
    """Print a table on stdout.

    On a terminal it keeps to its width where words allow; into a pipe each row is one line, unless
    ``COLUMNS`` or ``width`` is set.

    Parameters
    ----------
    columns
        Headers, alignment and formats.
    rows
        One value per column.
    title
        A line above the table; left out of CSV.
    markdown, csv
        Print that form instead. CSV has the values themselves, in full precision.
    width
        How wide lines may be where neither a terminal nor ``COLUMNS`` says it.
    """
    stdout = _stdout()
    rows = [tuple(row) for row in rows]
    assert all(len(row) == len(columns) for row in rows), "one value per column"
    if csv:
        emit_file(csv_table(columns, rows))
        return
    if markdown:
        table = markdown_table(columns, rows)
    else:
        from sweeper.cli.drawing import drawn_table

        table = drawn_table(columns, rows, stdout, width)
    heading = "" if title is None else plain(title) + "\n\n"
    write(stdout, heading + table)
