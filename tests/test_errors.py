"""Errors: what a message holds, and which exit code each kind carries."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sweeper import errors
from sweeper.errors import InputError, Problem, Problems, SweeperError, did_you_mean


@pytest.mark.parametrize(
    ("name", "exit_code"),
    [
        ("SweeperError", 2),
        ("InputError", 2),
        ("GateError", 3),
        ("EngineError", 4),
        ("StorageError", 4),
        ("IncompleteError", 4),
        ("UndecidedError", 5),
        ("InfeasibleError", 6),
        ("MismatchError", 7),
    ],
)
def test_each_error_carries_its_exit_code(name: str, exit_code: int) -> None:
    kind = getattr(errors, name)
    assert issubclass(kind, SweeperError)
    assert kind.exit_code == exit_code


def test_the_drawn_tree_names_every_error_with_its_code() -> None:
    drawn = {
        line.split()[1]: int(line.split()[2])
        for line in (errors.__doc__ or "").splitlines()
        if "──" in line
    }
    found = {
        name: kind.exit_code
        for name, kind in vars(errors).items()
        if isinstance(kind, type) and issubclass(kind, SweeperError) and kind is not SweeperError
    }
    assert drawn == found


@pytest.mark.parametrize(
    ("problem", "text"),
    [
        (Problem("wrong."), "wrong."),
        (Problem("wrong.", path="a.yaml"), "a.yaml: wrong."),
        (Problem("wrong.", path="a.yaml", line=3), "a.yaml:3: wrong."),
        (Problem("wrong.", line=3), "line 3: wrong."),
        (Problem("wrong.", path="a.yaml", where="space.x"), "a.yaml: space.x: wrong."),
        (Problem("wrong.", "a.yaml", 3, "space.x"), "a.yaml:3: space.x: wrong."),
    ],
)
def test_a_problem_says_where_it_is_then_what_it_is(problem: Problem, text: str) -> None:
    assert str(problem) == text


def test_an_input_error_is_made_of_a_message_a_problem_or_several() -> None:
    assert str(InputError("wrong.")) == "wrong."
    assert str(InputError(Problem("wrong.", line=3))) == "line 3: wrong."
    several = InputError([Problem("a.", line=1), Problem("b.", line=2)])
    assert str(several) == "line 1: a.\nline 2: b."
    assert [problem.line for problem in several.problems] == [1, 2]


def test_problems_beyond_the_first_twenty_are_counted() -> None:
    error = InputError([Problem("wrong.", line=n) for n in range(1, 24)])
    lines = str(error).splitlines()
    assert len(lines) == 21
    assert lines[19:] == ["line 20: wrong.", "... and 3 more problems like these."]
    assert len(error.problems) == 23


def test_twenty_problems_are_all_shown() -> None:
    lines = str(InputError([Problem("wrong.", line=n) for n in range(1, 21)])).splitlines()
    assert lines[-1] == "line 20: wrong."


def test_all_problems_of_a_file_are_raised_together_in_line_order() -> None:
    problems = Problems(Path("a.jsonl"))
    problems.raise_if_any()
    problems.add("later.", line=9)
    problems.add("earlier.", line=2, where="x")
    problems.add("whole file.")
    assert len(problems) == 3
    with pytest.raises(InputError) as caught:
        problems.raise_if_any()
    assert str(caught.value) == "a.jsonl: whole file.\na.jsonl:2: x: earlier.\na.jsonl:9: later."


def test_problems_may_belong_to_no_file() -> None:
    problems = Problems()
    problems.add("wrong.", line=1)
    assert [str(problem) for problem in problems] == ["line 1: wrong."]


@pytest.mark.parametrize(
    ("word", "choices", "hint"),
    [
        ("min_similarty", ["min_similarity", "rrf_k"], 'Did you mean "min_similarity"?'),
        ("zzz", ["a", "b"], "Choose from: a, b."),
        ("zzz", (name for name in "ab"), "Choose from: a, b."),
    ],
)
def test_a_close_word_is_proposed_else_all_are_listed(
    word: str, choices: list[str], hint: str
) -> None:
    assert did_you_mean(word, choices) == hint


# --- how all messages of the package are worded ---------------------------------------------------

RAISED = {"Problem", "Malformed", "WrongValue"} | {
    name
    for name, kind in vars(errors).items()
    if isinstance(kind, type) and issubclass(kind, SweeperError)
}
NAMES = ("HTTP", "JSON", "PostgreSQL", "SOAT", "TREC")
BLAME = re.compile(r"(?i)\b(please|invalid|illegal|oops|sorry|you (must|should)|failed to)\b|!$")
COMMAND = re.compile(r": (sweep|dask|--set) [\w .=-]+$")
SHOWN = "\x00"


def text_of(node: ast.expr) -> str | None:
    """Return a literal message, with a mark in place of each value that it shows."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(text_of(value) or SHOWN for value in values)
    return None


def messages() -> Iterator[tuple[str, str]]:
    """Yield where each literal message of the package stands, and the message."""
    package = Path(errors.__file__).parent
    for path in sorted(package.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            called = getattr(node.func, "id", getattr(node.func, "attr", None))
            if called in RAISED or called in {"add", "at", "_refuse"}:
                for text in filter(None, map(text_of, node.args)):
                    if " " in text:
                        yield f"{path.relative_to(package)}:{node.lineno}", text


MESSAGES = dict(messages())


def test_the_messages_of_the_package_are_found() -> None:
    assert len(MESSAGES) > 300
    assert any(place.startswith("engines/") for place in MESSAGES)


def test_every_message_is_whole_sentences_or_ends_with_a_command() -> None:
    open_ended = {
        place: text
        for place, text in MESSAGES.items()
        if not text.endswith((".", ".)", "?", SHOWN)) and not COMMAND.search(text)
    }
    assert open_ended == {}


def test_every_message_begins_in_lower_case_as_it_follows_a_place() -> None:
    loud = {
        place: text
        for place, text in MESSAGES.items()
        if text[0].isupper() and not text.startswith(NAMES)
    }
    assert loud == {}


def test_no_message_blames_or_pleads() -> None:
    assert {place: text for place, text in MESSAGES.items() if BLAME.search(text)} == {}
