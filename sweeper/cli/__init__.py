"""The command ``sweep``: which commands there are, and how an error becomes an exit code.

A command is one function in ``sweeper/cli/<command>.py``. That module imports nothing heavy at its
top (``sweep --help`` imports all of them); what a command needs, it imports inside its function. To
add one, import its module here and give it a line in ``_COMMANDS``.
"""

from __future__ import annotations

import errno
import logging
import sys
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from sweeper.cli import (
    capture,
    check,
    compare,
    console,
    cost,
    curve,
    explain,
    exporting,
    gate,
    importing,
    init,
    pick,
    plot,
    report,
    run,
    show,
    verify,
)
from sweeper.cli.list import list_sweeps
from sweeper.errors import EXIT_CODES, ResourceError, SweeperError
from sweeper.files import refused_path

__all__ = ["app", "main"]

_COMMANDS: tuple[tuple[str, Callable[..., None]], ...] = (
    ("init", init.init),
    ("check", check.check),
    ("capture", capture.capture),
    ("run", run.run),
    ("show", show.show),
    ("plot", plot.plot),
    ("report", report.report),
    ("curve", curve.curve),
    ("compare", compare.compare),
    ("pick", pick.pick),
    ("gate", gate.gate),
    ("explain", explain.explain),
    ("verify", verify.verify),
    ("list", list_sweeps),
    ("cost", cost.cost),
    ("export", exporting.export),
)

_OUTPUT_CLOSED = 141  # what a shell reports of a program that SIGPIPE ended

_NO_MAP = ("failed to map segment", "annot allocate memory")
"""What the linker says of a library for which there is no room."""

_EPILOG = "\n\b\nExit codes:\n" + "".join(
    f"  {code:<4} {meaning}\n" for code, meaning in EXIT_CODES.items()
)


class SweepGroup(TyperGroup):
    """The group of all commands. Errors become text on stderr and an exit code here, once."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError as error:  # from the help text
            raise _end_of(error) from None
        except OSError as error:
            raise _refused(error) from error
        except SweeperError as error:
            raise _end(error) from error

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            console.flush()
        except SweeperError as error:
            raise _end(error) from error
        except KeyboardInterrupt:
            console.error("Interrupted.")
            raise  # typer exits with 130
        except BrokenPipeError as error:
            raise _end_of(error) from error
        except OSError as error:
            raise _refused(error) from error
        except (MemoryError, RuntimeError, ImportError) as error:
            raise _exhausted(error) from error
        return result


def _end(error: SweeperError) -> typer.Exit:
    logging.getLogger(__name__).debug("the error was raised here", exc_info=error)
    console.error(str(error))
    return typer.Exit(error.exit_code)


def _refused(error: OSError) -> Exception:
    """Return what to raise: one line of output or a path that is refused; any other is a bug."""
    try:
        console.flush()  # what could not be written is still waiting
    except SweeperError as failure:
        return _end(failure)
    if error.errno in (errno.ENOMEM, errno.EAGAIN):
        return _exhausted(error)
    refused = refused_path(error)
    return error if refused is None else _end(refused)


def _exhausted(error: Exception) -> Exception:
    """Return what to raise: one line if the machine has no more to give; any other is a bug."""
    said = str(error)
    if isinstance(error, RuntimeError) and said != "can't start new thread":
        return error
    if isinstance(error, ImportError) and not any(text in said for text in _NO_MAP):
        return error
    lacking = "threads" if isinstance(error, RuntimeError | BlockingIOError) else "memory"
    return _end(
        ResourceError(
            f"this process can get no more {lacking}. Give it more (ulimit, the limit of a "
            "container) or less to do, and run the same command again: what was finished is kept."
        )
    )


def _end_of(error: BrokenPipeError) -> Exception:
    """Return what to raise: a quiet end when our reader left; any other broken pipe is a bug."""
    if console.abandon_closed_output():
        return typer.Exit(_OUTPUT_CLOSED)
    # typer would end quietly on any broken pipe, also on one to a worker process.
    return RuntimeError(f"a pipe to another process broke: {error}")


def _show_version(wanted: bool) -> None:
    if wanted:
        console.emit(f"sweeper {console.version()}")
        raise typer.Exit


app = typer.Typer(
    name="sweep",
    cls=SweepGroup,
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def _sweep(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
    quiet: console.Quiet = 0,
    verbose: console.Verbose = 0,
) -> None:
    """Choose the ranking settings of a hybrid search by measurement.

    Capture what the search retrieves once, replay every setting, see what each one costs.
    """
    console.set_verbosity(verbose - quiet)


for _name, _command in _COMMANDS:
    app.command(_name)(console.with_verbosity(_command))
app.add_typer(importing.import_app, name="import")


def main() -> None:
    """Run ``sweep`` as a shell does."""
    console.hold_standard_descriptors()
    try:
        app(prog_name="sweep")
    except OSError as error:
        # Wrong usage that stderr could not take is still wrong usage.
        code = getattr(error.__context__, "exit_code", None)
        if code is None:
            raise
        console.abandon(sys.stderr)
        sys.exit(code)
