"""The command as a whole: exit codes, help, what it imports, and where text goes."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from sweeper import errors
from sweeper.cli import SweepGroup, app, console
from sweeper.cli.console import Column, print_table
from sweeper.tables import csv_table, decimals, markdown_table
from tests.snapshot import assert_matches_snapshot

ROOT = Path(__file__).parent.parent
HEAVY = ["pandas", "numpy", "optuna", "matplotlib", "joblib", "scipy", "pyarrow", "pydantic"]
HEAVY += ["yaml", "rich", "httpx", "numba", "sqlite3"]


@pytest.fixture(autouse=True)
def _normal_verbosity() -> Iterator[None]:
    yield
    console.set_verbosity(0)


def sweep(
    *arguments: str, env: dict[str, str] | None = None, code: str | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Run ``sweep`` in a process of its own, as a shell does."""
    command = ["-c", code] if code else ["-m", "sweeper", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.run(  # a fixed command
        [sys.executable, *command], capture_output=True, env=environment, check=False, timeout=60
    )


def fake_app(body: Callable[[], None]) -> typer.Typer:
    """Return an application with our group and one command that does ``body``."""
    fake = typer.Typer(cls=SweepGroup, pretty_exceptions_enable=False, rich_markup_mode=None)

    @fake.callback()
    def _root() -> None:
        pass

    fake.command("do")(console.with_verbosity(body))
    return fake


def do(body: Callable[[], None], *options: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(fake_app(body), ["do", *options])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.InputError, 2),
        (errors.GateError, 3),
        (errors.EngineError, 4),
        (errors.ResourceError, 4),
        (errors.StorageError, 4),
        (errors.IncompleteError, 4),
        (errors.UndecidedError, 5),
        (errors.InfeasibleError, 6),
        (errors.MismatchError, 7),
    ],
)
def test_an_error_is_text_on_stderr_and_its_exit_code(
    kind: type[errors.SweeperError], code: int
) -> None:
    def fail() -> None:
        raise kind("It went wrong. Mend it so.")

    assert do(fail) == (code, "", "It went wrong. Mend it so.\n")


@pytest.mark.parametrize(
    ("error", "lacking"),
    [
        (MemoryError(), "memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory"),
        (ImportError("libssl.so.3: failed to map segment from shared object"), "memory"),
        (RuntimeError("can't start new thread"), "threads"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "threads"),
    ],
)
def test_a_machine_with_no_more_to_give_is_one_line_and_exit_4(
    error: Exception, lacking: str
) -> None:
    def exhausted() -> None:
        raise error

    code, out, said = do(exhausted)
    assert (code, out) == (4, "")
    assert said.startswith(f"this process can get no more {lacking}. Give it more")
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    "error", [RuntimeError("dictionary changed size"), ImportError("cannot import name 'x'")]
)
def test_other_errors_of_these_kinds_are_bugs(error: Exception) -> None:
    def crash() -> None:
        raise error

    assert do(crash)[0] == 1


def test_an_unforeseen_exception_stays_a_traceback_with_exit_code_1() -> None:
    def crash() -> None:
        raise ZeroDivisionError("our bug")

    result = CliRunner().invoke(fake_app(crash), ["do"])
    assert result.exit_code == 1
    assert isinstance(result.exception, ZeroDivisionError)


def test_an_interruption_ends_with_130() -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    assert do(interrupted) == (130, "", "Interrupted.\n")


def test_a_broken_pipe_to_anything_but_our_reader_is_a_bug_and_not_a_quiet_end() -> None:
    def worker_died() -> None:
        raise BrokenPipeError(32, "Broken pipe")

    result = CliRunner().invoke(fake_app(worker_died), ["do"])
    assert result.exit_code == 1
    assert isinstance(result.exception, RuntimeError)


def test_debug_logs_show_where_an_error_was_raised() -> None:
    def fail() -> None:
        raise errors.EngineError("No answer.")

    code, _, said = do(fail, "-vv")
    assert code == 4
    assert "Traceback" in said
    assert said.endswith("No answer.\n")


def test_wrong_usage_ends_with_2() -> None:
    assert CliRunner().invoke(app, ["nonsense"]).exit_code == 2
    assert CliRunner().invoke(app, ["cost", "--nonsense"]).exit_code == 2


def test_help_is_as_reviewed() -> None:
    result = CliRunner().invoke(app, ["--help"], prog_name="sweep")
    assert result.exit_code == 0
    assert_matches_snapshot(result.stdout, "help.txt")


def test_no_arguments_show_the_help() -> None:
    result = CliRunner().invoke(app, [], prog_name="sweep")
    assert result.exit_code == 2
    assert "Usage: sweep" in result.output


def test_every_command_has_help_of_plain_ascii() -> None:
    group = typer.main.get_command(app)
    for name in group.commands:  # type: ignore[attr-defined]
        shown = CliRunner().invoke(app, [name, "--help"], prog_name="sweep").stdout
        assert f"Usage: sweep {name}" in shown
        assert shown.isascii(), f"sweep {name} --help would not print everywhere"


def test_the_version_is_printed() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"sweeper {console.version()}\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--help"], 0),
        (["--version"], 0),
        (["run", "-h"], 0),
        (["cost", "--multiplier", "0.87"], 0),
        ([], 2),
        (["nonsense"], 2),
        (["cost", "--nonsense"], 2),
        (["run"], 2),
        (["check", "none.yaml"], 2),
    ],
)
def test_the_package_run_as_a_module_is_the_command(arguments: list[str], code: int) -> None:
    command = Path(sys.executable).parent / "sweep"
    if not command.exists():
        pytest.skip("the package is not installed here: there is no command beside Python")
    as_module = sweep(*arguments)
    as_command = subprocess.run([command, *arguments], capture_output=True, check=False, timeout=60)
    assert as_module.returncode == as_command.returncode == code
    assert (as_module.stdout, as_module.stderr) == (as_command.stdout, as_command.stderr)
    assert b"python -m" not in as_module.stdout + as_module.stderr
    if code == 0 and "-h" in "".join(arguments):
        assert as_module.stdout.startswith(b"Usage: sweep ")


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['sweep', '--help']\n"
        "from sweeper.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: print('exit', end.code, file=sys.stderr)\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"
    )
    said = sweep(code=code).stderr.decode().splitlines()
    assert said == ["exit 0", "[]"]


@pytest.mark.parametrize("encoding", ["cp1252", "ascii", "utf-8"])
@pytest.mark.parametrize(
    "arguments", [("--help",), ("cost", "--multiplier", "0.87"), ("cost", "--multiplier", "—")]
)
def test_every_encoding_of_a_terminal_will_do(encoding: str, arguments: tuple[str, ...]) -> None:
    done = sweep(*arguments, env={"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"})
    assert done.returncode == (2 if "—" in arguments else 0)
    assert b"Traceback" not in done.stderr
    (done.stdout + done.stderr).decode(encoding)


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    for arguments in ("cost --multiplier 0.87", "--help", "cost --help"):
        done = subprocess.run(  # the shell closes the pipe before anything is written
            ["bash", "-c", f"({sys.executable} -m sweeper {arguments}; echo $? >&2) | true"],
            capture_output=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            check=False,
            timeout=60,
        )
        # Whether the pipe is closed in time is a race; a complaint is never right.
        assert done.stderr in {b"141\n", b"0\n"}, arguments


def _in_bash(line: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        ["bash", "-c", line.replace("sweep", f"{sys.executable} -m sweeper", 1)],
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=False,
        timeout=60,
    )


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    "arguments", ["cost --multiplier 0.87", "cost --multiplier 0.87 --json", "--version", "--help"]
)
def test_output_that_a_full_disk_refuses_is_one_line_and_exit_4(arguments: str) -> None:
    done = _in_bash(f"sweep -q {arguments} > /dev/full")
    assert (
        done.stderr
        == b"the output cannot be written (No space left on device). Check where it goes.\n"
    )
    assert done.returncode == 4
    assert _in_bash(f"sweep -q {arguments} > /dev/full 2> /dev/full").returncode == 4
    assert _in_bash(f"sweep -q {arguments} > /dev/full 2>&-").returncode == 4


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no bash")
@pytest.mark.parametrize(
    "arguments", ["cost --multiplier 0.87", "cost --multiplier 0.87 --json", "--version"]
)
def test_a_closed_output_is_one_line_and_exit_4(arguments: str) -> None:
    done = _in_bash(f"sweep -q {arguments} >&-")
    assert done.stderr == b"the output cannot be written (it is closed). Check where it goes.\n"
    assert done.returncode == 4
    assert _in_bash(f"sweep -q {arguments} >&- 2>&-").returncode == 4


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no bash")
def test_a_closed_stderr_changes_no_exit_code() -> None:
    for close in ("2>&-", "2> /dev/full"):
        assert _in_bash(f"sweep cost --multiplier 0.87 {close}").returncode == 0
        assert _in_bash(f"sweep show nothing-here {close}").returncode == 2
        assert _in_bash(f"sweep cost --nonsense {close}").returncode == 2


# --- printing -------------------------------------------------------------------------------------


def test_quiet_and_verbose_choose_what_reaches_stderr() -> None:
    def talk() -> None:
        console.emit("data")
        console.detail("detail")
        console.note("note")
        console.warn("careful")
        console.error("error")

    assert do(talk) == (0, "data\n", "note\nwarning: careful\nerror\n")
    console.set_verbosity(0)
    assert do(talk, "-q") == (0, "data\n", "error\n")
    console.set_verbosity(0)
    assert do(talk, "-v")[2] == "detail\nnote\nwarning: careful\nerror\n"


def test_verbosity_may_stand_before_or_behind_the_command() -> None:
    for arguments in (["-q", "cost"], ["cost", "-q"]):
        line = [*arguments, "--multiplier", "0.1"]
        assert CliRunner().invoke(app, line).stderr == ""
    assert CliRunner().invoke(app, ["cost", "--multiplier", "0.1"]).stderr != ""


def test_library_logs_reach_stderr_once_and_only_at_their_level() -> None:
    import logging

    def log() -> None:
        logging.getLogger("sweeper.sweep").warning("careful")
        logging.getLogger("sweeper.sweep").debug("deep")

    assert do(log)[2] == "warning: careful\n"
    assert do(log, "-q")[2] == ""
    console.set_verbosity(0)
    assert "debug: sweeper.sweep: deep" in do(log, "-vv")[2]


def test_untrusted_text_is_shown_and_not_obeyed() -> None:
    hostile = "[red]x[/red]\x1b[2J\u202eabc\x9b0m\r\n"

    def show() -> None:
        print_table([Column("id")], [(hostile,)])
        console.note(hostile)
        console.print_json("test/1", {"id": hostile})

    code, out, said = do(show)
    assert code == 0
    assert "[red]x[/red]\\x1b[2J\\u202eabc\\x9b0m\\r\\n" in out.replace("\n", "")
    assert not {"\x1b", "\x9b", "\u202e", "\r"} & set(out + said)
    document = out[out.index("{") :]
    assert json.loads(document)["id"] == hostile


def test_json_names_its_schema_and_turns_nan_into_null(capsys: pytest.CaptureFixture[str]) -> None:
    import numpy as np

    console.print_json(
        "test/1",
        {"b": float("nan"), "a": [np.float64(0.5), np.int64(3), float("inf")], "s": {"y", "x"}},
    )
    text = capsys.readouterr().out
    assert json.loads(text) == {
        "sweeper": console.version(),
        "schema": "test/1",
        "b": None,
        "a": [0.5, 3, None],
        "s": ["x", "y"],
    }
    assert list(json.loads(text)) == ["sweeper", "schema", "b", "a", "s"]


COLUMNS = (Column("slice"), Column("entity MRR", "right", key="entity.mrr"))
ROWS = [("exact_token", 2 / 3), ("none|of *these*", float("nan"))]


def test_a_table_has_four_decimals_to_the_right(capsys: pytest.CaptureFixture[str]) -> None:
    print_table(COLUMNS, ROWS, title="Figures")
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "Figures",
        "",
        "slice             entity MRR",
        "────────────────────────────",
        "exact_token           0.6667",
        "none|of *these*            -",
    ]


def test_a_table_keeps_to_80_columns_where_words_allow(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    columns = [Column("settings"), *(Column(f"freshness recall@{k}", "right") for k in range(6))]
    print_table(columns, [("rrf_k=60 min_similarity=none " + "x" * 50, *[0.5] * 6)])
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert out.count("0.5000") == 6


def test_a_table_in_a_pipe_has_one_line_per_row(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    print_table([Column("id"), Column("n", "right")], [("x" * 300, 1)])
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_markdown_shows_text_as_it_is() -> None:
    assert markdown_table(COLUMNS, ROWS) == (
        "| slice | entity MRR |\n| --- | --: |\n"
        "| exact_token | 0.6667 |\n| none\\|of \\*these\\* | - |\n"
    )


def test_csv_has_the_values_themselves() -> None:
    assert csv_table(COLUMNS, ROWS) == (
        "slice,entity.mrr\nexact_token,0.6666666666666666\nnone|of *these*,\n"
    )


def test_a_rounded_zero_has_no_sign() -> None:
    assert decimals(2)(-0.001) == "0.00"


def test_a_terminal_gets_bold_headers_unless_colour_is_unwanted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_table(COLUMNS, ROWS)
    assert "\x1b[1m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    print_table(COLUMNS, ROWS)
    assert "\x1b" not in capsys.readouterr().out


def test_a_terminal_without_line_glyphs_gets_dashes_and_stand_ins() -> None:
    code = (
        "from sweeper.cli.console import Column, print_table\n"
        "print_table([Column('a → b')], [('caf\\u00e9 — x',)])"
    )
    done = sweep(code=code, env={"PYTHONIOENCODING": "ascii"})
    assert done.stdout.decode("ascii").splitlines() == ["a -> b", "-----------", "caf\\xe9 - x"]


def test_progress_is_silent_where_nobody_watches(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress("trials", 10) as advance:
        advance(10)
    assert capsys.readouterr() == ("", "")


def test_progress_is_drawn_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    with console.progress("[red]trials", 10) as advance:
        advance(10)
    out, said = capsys.readouterr()
    assert out == ""
    assert "[red]trials" in said
