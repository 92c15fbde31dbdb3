"""Options that several commands share, and what they mean."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.errors import InputError, Problem

if TYPE_CHECKING:
    from sweeper.constraints import Constraint, Objective
    from sweeper.knobs import Value
    from sweeper.picked import Pick
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
    "picked",
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
    from sweeper.knobs import knob, knob_name

    values: dict[str, Value] = {}
    for text in texts:
        name, sign, raw = text.partition("=")
        if not sign:
            raise InputError(f'--settings "{text}": write knob=value, for example rrf_k=20.')
        try:
            own = knob(knob_name(name.strip()))
            values[own.name] = own.parse(raw)
        except KeyError as error:
            raise InputError(Problem(str(error.args[0]), where="--settings")) from error
        except ValueError as error:
            raise InputError(Problem(str(error), where=f"--settings {name.strip()}")) from error
    return base.with_values(values)


def changed(results: Results, trial: str, texts: list[str] | None) -> Settings:
    """Return a trial's settings with some knobs changed, if the sweep can show them.

    Raises
    ------
    InputError
        If a text cannot be read, there is no such trial, or the sweep did not capture what the
        settings rank.
    """
    from sweeper.variations import varied

    settings = assigned(results.settings[results.trial(trial)], texts or [])
    return varied(results, trial, settings, where="--settings")


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


def picked(
    found: Results,
    maximize: list[str] | None,
    subject_to: list[str] | None,
    policy: Policy,
    horizon_days: float,
) -> Pick:
    """Recommend a setting, by what the options of ``sweep pick`` say.

    Raises
    ------
    InputError
        If an option cannot be read.
    InfeasibleError
        If no setting meets the constraints.
    """
    from sweeper.pick import pick

    if not horizon_days >= 0:
        raise InputError(
            f"--horizon: must be a number of days of at least 0, got {horizon_days:g}."
        )
    return pick(
        found,
        objectives=_objectives(found, maximize),
        constraints=_constraints(found, subject_to),
        policy=policy.value,
        horizon_days=horizon_days,
    )


def _objectives(found: Results, texts: list[str] | None) -> list[Objective] | None:
    from sweeper.constraints import Objective

    if not texts:
        return None
    found.wide(texts)
    return [Objective(text, "maximize") for text in texts]


def _constraints(found: Results, texts: list[str] | None) -> list[Constraint] | None:
    from sweeper.constraints import parse_constraint

    if texts is None:
        return None
    parsed = []
    for text in texts:
        try:
            parsed.append(parse_constraint(text))
        except ValueError as error:
            raise InputError(Problem(str(error), where="--subject-to")) from error
    found.wide([item.address for item in parsed])
    return parsed
