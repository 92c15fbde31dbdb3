"""Errors: what a message holds, and which exit code each kind carries."""

from __future__ import annotations

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
