"""``sweep pick``: which setting to deploy, and how sure that is."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import (
    Horizon,
    Maximize,
    PickPolicy,
    Policy,
    ResultsFolder,
    SubjectTo,
    opened,
)
from sweeper.deploy import ENV_PREFIX
from sweeper.errors import InputError, Problem

if TYPE_CHECKING:
    from sweeper.pick import Answer, Pick
    from sweeper.results import Results

__all__ = ["pick"]


class Form(enum.StrEnum):
    """How the chosen settings are printed."""

    env = "env"
    yaml = "yaml"
    json = "json"
    request = "request"


def pick(
    sweep: Annotated[str, typer.Argument(help="A folder, a name (its latest), or name/id.")],
    maximize: Maximize = None,
    subject_to: SubjectTo = None,
    policy: PickPolicy = Policy.supported,
    horizon: Horizon = 90.0,
    emit: Annotated[
        Form | None, typer.Option(help="Print only the chosen settings, in this form.")
    ] = None,
    env_prefix: Annotated[
        str, typer.Option(help="Of the variables of --emit env.", metavar="PREFIX")
    ] = ENV_PREFIX,
    name: Annotated[
        list[str] | None,
        typer.Option("--name", help="Name of a knob in what is emitted.", metavar="KNOB=NAME"),
    ] = None,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Recommend a setting, and say how sure that is.

    Exit code 6 if no setting meets the constraints.
    For example: sweep pick recency --subject-to 'entity.recall@10 >= current'
    """
    names = _names(name or [])
    found = opened(sweep, results)
    answer = found.pick(
        objectives=maximize, constraints=subject_to, policy=policy.value, horizon_days=horizon
    )
    _keep(found, answer)
    if json:
        console.print_json("sweep.pick/1", _document(found, answer))
    elif emit is not None:
        console.emit(answer.chosen.settings.emit(emit.value, prefix=env_prefix, names=names))
    else:
        _print(found, answer, markdown)


def _names(texts: list[str]) -> dict[str, str]:
    from sweeper.knobs import knob, knob_name

    names = {}
    for text in texts:
        key, sign, name = text.partition("=")
        if not sign or not name:
            raise InputError(f'--name "{text}": write knob=name, for example rrf_k=RRF_K.')
        try:
            names[knob(knob_name(key)).name] = name
        except KeyError as error:
            raise InputError(Problem(str(error.args[0]), where="--name")) from error
    return names


def _keep(found: Results, answer: Pick) -> None:
    """Write the pick beside the sweep, so that later commands can name it."""
    from sweeper.cli.documents import json_text
    from sweeper.files import write_atomically

    write_atomically(found.folder / "pick.json", json_text(_document(found, answer)) + "\n")


def _print(found: Results, answer: Pick, markdown: bool) -> None:
    from sweeper.comparison import Side, compare_trials
    from sweeper.wording import (
        change_sentences,
        evidence_sentences,
        headline,
        origin,
        pick_table,
        premises,
        shown_answers,
        validation_sentences,
    )

    chosen, current = answer.chosen, found.trial("current")
    console.emit(headline(answer))
    console.emit(f"  {chosen.settings.text}")
    console.emit(f"  {origin(found, chosen)}")
    for line in premises(found, answer):
        console.emit(line)
    console.emit()
    table = pick_table(found, answer)
    console.print_table(table.columns, table.rows, markdown=markdown)
    for name, item in shown_answers(answer):
        console.emit()
        console.emit(f"{name[0].upper()}{name[1:]}: {item.settings.text}")
        console.emit(f"  {origin(found, item)}")
        if item.trial != current:
            comparison = compare_trials(Side(found, current), Side(found, item.trial))
            for line in change_sentences(answer, item, comparison):
                console.emit(f"  {line}")
        for line in evidence_sentences(answer, item):
            console.emit(f"  {line}")
    console.emit()
    for line in validation_sentences(answer):
        console.emit(line)


def _document(found: Results, answer: Pick) -> dict[str, object]:
    def of(item: Answer) -> dict[str, object]:
        return {
            "trial": item.trial,
            "settings": item.settings.as_dict(),
            "figures": {
                a: {"current": before, "this": after} for a, (before, after) in item.figures.items()
            },
            "ties": item.ties and {"lowest": item.ties[0], "highest": item.ties[1]},
            "interval": item.interval,
            "p_value": item.p_value,
            "questions": item.score,
            "n_differ": item.n_differ,
            "plateaus": item.plateaus,
            "nearest_losses": item.flips,
            "fails_after_days": item.fails_after_days,
            "fails": item.fails,
            "known_days": item.known_days,
        }

    return {
        "sweep": found.address,
        "policy": answer.policy,
        "keep": answer.keep,
        "objectives": {item.address: item.direction for item in answer.objectives},
        "constraints": [item.text for item in answer.constraints],
        "broken_today": answer.broken,
        "chosen": of(answer.chosen),
        "best": of(answer.best),
        "supported": None if answer.supported is None else of(answer.supported),
        "cross_validated": answer.validated,
        "optimism": answer.optimism,
        "fewest_to_differ": answer.fewest_to_differ,
        "n_questions": answer.n_questions,
        "n_trials": answer.n_trials,
        "n_feasible": answer.n_feasible,
        "horizon_days": answer.horizon_days,
    }
