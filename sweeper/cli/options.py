"""Options that several commands share, and what they mean."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.errors import InputError

if TYPE_CHECKING:
    from sweeper.results import Results
    from sweeper.settings import Settings

__all__ = [
    "Assignments",
    "Horizon",
    "Maximize",
    "PickPolicy",
    "Policy",
    "ResultsFolder",
    "SubjectTo",
    "assigned",
    "changed",
    "opened",
]

ResultsFolder = Annotated[
    Path, typer.Option("--results", help="Folder of all results.", metavar="DIR")
]

Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--settings", help="Change a knob of the setting: rrf_k=20.", metavar="KNOB=VALUE"
    ),
]


class Policy(enum.StrEnum):
    """Which answer is the recommendation."""

    supported = "supported"
    best = "best"
    dominant = "dominant"


Maximize = Annotated[
    list[str] | None,
    typer.Option(help="Figure to maximise; the first one decides.", metavar="FIGURE"),
]

SubjectTo = Annotated[
    list[str] | None,
    typer.Option(
        help="Bound such as 'entity.recall@10 >= current', in place of the sweep's; repeatable.",
        metavar="CONSTRAINT",
    ),
]

PickPolicy = Annotated[
    Policy,
    typer.Option(
        help="supported: only a gain that is more than luck. best: the best feasible setting. "
        "dominant: no question worse."
    ),
]

Horizon = Annotated[
    float, typer.Option(help="Days for which it has to hold as content ages.", metavar="DAYS")
]


def assigned(base: Settings, texts: list[str]) -> Settings:
    """Return settings with some knobs changed by texts such as ``rrf_k=20``."""
    from sweeper.variations import replaced

    return replaced(base, _assignments(texts), where="--settings")


def _assignments(texts: list[str]) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for text, (_, sign, _) in zip(texts, pairs, strict=True):
        if not sign:
            raise InputError(f'--settings "{text}": write knob=value, for example rrf_k=20.')
    return {name.strip(): value for name, _, value in pairs}


def changed(results: Results, trial: str, texts: list[str] | None) -> Settings:
    """Return a trial's settings with some knobs changed, if the sweep can show them.

    Raises
    ------
    InputError
        If a text cannot be read, there is no such trial, or the sweep did not capture what the
        settings rank.
    """
    from sweeper.variations import varied

    return varied(results, trial, _assignments(texts or []), where="--settings")


def opened(sweep: str, root: Path) -> Results:
    """Open a sweep; say if some of its settings have no figures."""
    from sweeper.results import load

    found = load(sweep, root=root)
    if found.n_failed:
        console.note(
            f"{found.address} is incomplete: {found.n_failed} of {len(found.trials)} settings have "
            "no figures (status failed). The same sweep run tries them again."
        )
    return found
