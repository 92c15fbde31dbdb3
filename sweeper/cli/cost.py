"""``sweep cost``: ranks that a multiplier costs, and the age that equals it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Annotated, TypeVar

import typer

from sweeper import cost as arithmetic
from sweeper.cli import console
from sweeper.errors import InputError, Problem
from sweeper.knobs import KNOBS

T = TypeVar("T")


def cost(
    rrf_k: Annotated[
        str, typer.Option(help="Rank constants, separated by commas.", metavar="K,K,...")
    ] = "60,20,5",
    multiplier: Annotated[
        str | None,
        typer.Option(help="The factor on a row's score, above 0 and at most 1.", metavar="FACTOR"),
    ] = None,
    age: Annotated[
        str | None,
        typer.Option(
            help="Instead of a factor: the age that recency decay makes one of.", metavar="DAYS"
        ),
    ] = None,
    half_life: Annotated[
        str, typer.Option(help="Half-lives, separated by commas.", metavar="DAYS,DAYS,...")
    ] = "30",
    depth: Annotated[
        str, typer.Option(help="Rows of the ranking to look at.", metavar="ROWS")
    ] = str(arithmetic.DEFAULT_DEPTH),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Show how many ranks a multiplier costs, and what age it equals.

    A memory that stands first in one channel is multiplied, as recency decay does: how many rows
    overtake it? For example: sweep cost --rrf-k 60,20,5 --multiplier 0.87
    """
    if (multiplier is None) == (age is None):
        raise InputError("give either --multiplier (such as 0.87) or --age (such as 6).")
    if json + markdown + csv > 1:
        raise InputError("give one of --json, --markdown and --csv.")
    constants = _each("--rrf-k", rrf_k, _rank_constant)
    half_lives = _each("--half-life", half_life, _half_life)
    rows_seen = _one("--depth", depth, _depth)
    lines = []
    for days in half_lives:
        if multiplier is not None:
            factor = multiplier.strip()
            at_age = _one("--multiplier", factor, partial(arithmetic.age_for, half_life=days))
        else:
            assert age is not None
            at_age = _one("--age", age, _age)
            factor = repr(arithmetic.multiplier_for(at_age, days))
        for k in constants:
            lost = arithmetic.ranks_lost(factor, k, rows_seen)
            lines.append((k, factor, lost, days, at_age))
    if json:
        names = ("rrf_k", "multiplier", "ranks_lost", "half_life_days", "age_days")
        document = {
            "depth": rows_seen,
            "rows": [
                dict(zip(names, line, strict=True)) | {"multiplier": float(line[1])}
                for line in lines
            ],
        }
        console.print_json("sweep.cost/1", document)
        return
    console.print_table(_COLUMNS, lines, markdown=markdown, csv=csv)
    if any(lost == rows_seen - 1 for _, _, lost, _, _ in lines):
        console.note(
            f"{rows_seen - 1} ranks are all that a depth of {rows_seen} has; "
            "a larger --depth may show more."
        )


def _number(value: float) -> str:
    return f"{value:.6g}"


def _as_typed(factor: str) -> str:
    # What decay computed has 17 digits; what a person typed is shown whole.
    return factor if len(factor) <= 12 else _number(float(factor))


def _tenths(value: float) -> str:
    return f"{value + 0.0:.1f}"


_COLUMNS = (
    console.Column("rrf_k", "right"),
    console.Column("multiplier", "right", _as_typed),
    console.Column("ranks lost", "right", key="ranks_lost"),
    console.Column("half-life (days)", "right", _number, key="half_life_days"),
    console.Column("age (days)", "right", _tenths, key="age_days"),
)


def _one(option: str, text: str, parse: Callable[[str], T]) -> T:
    try:
        return parse(text)
    except ValueError as error:
        raise InputError(Problem(str(error), where=option)) from error


def _each(option: str, text: str, parse: Callable[[str], T]) -> list[T]:
    """Return the distinct values of a list that was typed with commas, in that order."""
    return list(dict.fromkeys(_one(option, part, parse) for part in text.split(",")))


def _rank_constant(text: str) -> int:
    return int(KNOBS["rrf_k"].parse(text) or 0)


def _depth(text: str) -> int:
    if text.strip().lower() == KNOBS["depth"].null:
        raise ValueError(f"must be an integer of at least 1, got {text!r}.")
    return int(KNOBS["limit"].parse(text) or 0)


def _half_life(text: str) -> float:
    days = _days(text)
    if days <= 0:
        raise ValueError(
            f"must be a finite number of days above 0, got {text.strip()}. "
            "Without a half-life nothing decays and nothing is lost."
        )
    return days


def _age(text: str) -> float:
    days = _days(text)
    if days < 0:
        raise ValueError(f"must be a finite number of days of at least 0, got {text.strip()}.")
    return days


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not math.isfinite(days):
        raise ValueError(f"must be a finite number of days, got {text!r}.")
    return days
