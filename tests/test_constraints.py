"""Objectives, addresses and constraints as a person writes them."""

from __future__ import annotations

import math

import pytest

from sweeper.constraints import Constraint, Objective, parse_constraint, split_address
from sweeper.metrics import parse_metric


@pytest.mark.parametrize(
    ("text", "address", "sign", "bound"),
    [
        ("entity.recall@10 >= 0.8", "entity.recall@10", ">=", 0.8),
        ("entity.recall@10>=0.8", "entity.recall@10", ">=", 0.8),
        ("  a.b.mrr  <  .5 ", "a.b.mrr", "<", 0.5),
        ("overall.MRR > 1", "overall.mrr", ">", 1.0),
        ("overall.returned <= 7", "overall.returned", "<=", 7.0),
        ("overall.mrr == -1", "overall.mrr", "==", -1.0),
        ("a b.mrr >= 0", "a b.mrr", ">=", 0.0),
        ("overall.mrr >= current", "overall.mrr", ">=", 0.75),
        ("overall.mrr >= current - 0.25", "overall.mrr", ">=", 0.75 - 0.25),
        ("overall.mrr>=current+0.25", "overall.mrr", ">=", 0.75 + 0.25),
    ],
)
def test_a_constraint_is_read_as_written(text: str, address: str, sign: str, bound: float) -> None:
    constraint = parse_constraint(text)
    assert (constraint.address, constraint.sign) == (address, sign)
    assert constraint.bound(0.75) == bound
    assert constraint.text == text.strip()


@pytest.mark.parametrize(
    ("sign", "below", "equal", "above"),
    [
        (">=", False, True, True),
        (">", False, False, True),
        ("<=", True, True, False),
        ("<", True, False, False),
        ("==", False, True, False),
    ],
)
def test_each_sign_decides_as_it_reads(sign: str, below: bool, equal: bool, above: bool) -> None:
    constraint = parse_constraint(f"overall.mrr {sign} 0.5")
    assert [constraint.holds(figure, 0.9) for figure in (0.4, 0.5, 0.6)] == [below, equal, above]


@pytest.mark.parametrize("sign", [">=", ">", "<=", "<", "=="])
@pytest.mark.parametrize("bound", ["0.5", "current"])
def test_an_undefined_figure_meets_no_constraint(sign: str, bound: str) -> None:
    assert not parse_constraint(f"overall.mrr {sign} {bound}").holds(math.nan, 0.5)
    assert not parse_constraint("overall.mrr >= current").holds(0.5, math.nan)


@pytest.mark.parametrize("n_questions", [10, 12, 15, 30, 58])
def test_one_question_may_be_lost_where_one_questions_worth_is_allowed(n_questions: int) -> None:
    # On paper 7/10 >= 8/10 - 0.1 holds; in doubles 8/10 - 0.1 is a little more than 7/10.
    worth = f"{1 / n_questions:.17f}"
    constraint = parse_constraint(f"overall.recall@10 >= current - {worth}")
    for right in range(1, n_questions + 1):
        assert constraint.holds((right - 1) / n_questions, right / n_questions)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "overall.mrr",
        "overall.mrr >=",
        "overall.mrr >= high",
        "overall.mrr = 0.5",
        "overall.mrr >= 1.2.3",
        "overall.mrr >= .",
        "overall.mrr >= current -",
        "overall.mrr >= current * 2",
        "overall.mrr >= 0.5 overall.mrr",
        ">= 0.5",
    ],
)
def test_what_is_no_constraint_is_refused_with_the_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"is no constraint\. Write slice\.metric >= number"):
        parse_constraint(text)


def test_a_constraint_on_an_unknown_metric_names_the_closest() -> None:
    with pytest.raises(ValueError, match=r'unknown metric "mmr"\. Did you mean "mrr"'):
        parse_constraint("overall.mmr >= 0.5")


def test_an_address_is_split_at_the_last_dot() -> None:
    assert split_address(" a.b.recall@5 ") == ("a.b", parse_metric("recall@5"))


@pytest.mark.parametrize("address", ["mrr", ".mrr", "", "overall"])
def test_an_address_without_a_slice_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match=r"is no figure\. Write slice\.metric"):
        split_address(address)


def test_an_objective_gains_in_its_direction() -> None:
    up, down = Objective("overall.mrr", "maximize"), Objective("overall.returned", "minimize")
    assert up.gain(0.9) > up.gain(0.1) > up.gain(math.nan)
    assert down.gain(1) > down.gain(9) > down.gain(math.nan)


def test_a_constraint_compares_equal_by_content() -> None:
    assert parse_constraint("overall.mrr >= 0.50") == Constraint(
        "overall.mrr >= 0.50", "overall.mrr", ">=", 0.5, relative=False
    )


@pytest.mark.parametrize("sign", ["=>", "=<"])
def test_a_sign_the_wrong_way_round_is_pointed_at(sign: str) -> None:
    with pytest.raises(ValueError, match=f"write {sign[::-1]} instead of {sign}"):
        parse_constraint(f"overall.mrr {sign} 0.5")
