"""``sweep verify``: does the engine rank as the replay says?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import ResultsFolder, assigned, opened
from sweeper.cli.run import reporting
from sweeper.errors import InputError, MismatchError, Problem

if TYPE_CHECKING:
    from sweeper.answers import Difference
    from sweeper.ranking import RankedRow
    from sweeper.results import Results
    from sweeper.settings import Settings
    from sweeper.verify import Verification

__all__ = ["verify"]


def verify(
    sweep: Annotated[str, typer.Argument(help="A folder, a name (its latest), or name/id.")],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--settings",
            help="What to check besides today's: picked, current, a trial such as 7, an arm, or "
            "rrf_k=20,limit=5. May be repeated.",
            metavar="WHICH",
        ),
    ] = None,
    trial: Annotated[
        str,
        typer.Option(help="The trial (or arm) that gives the knobs that KNOB=VALUE leaves out."),
    ] = "current",
    questions: Annotated[
        str, typer.Option(help="How many questions to sample, or all.", metavar="N")
    ] = "50",
    seed: Annotated[int, typer.Option(help="Which questions are sampled.")] = 0,
    config: Annotated[
        Path | None,
        typer.Option(help="The config whose engine is asked; the sweep's own unless given."),
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key of the config.", metavar="KEY=VALUE"),
    ] = None,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Ask the engine itself, and compare its answers with the replay, position by position.

    Exit code 7 if they differ anywhere. What was found is kept beside the sweep in verify.json.
    For example: sweep verify recency --settings picked
    """
    from sweeper.verify import config_of, verify_sweep

    n_questions = _count(questions)
    found = opened(sweep, results)
    chosen = {}
    for text in settings or []:
        name, own = _chosen(found, text, trial)
        chosen[name] = own
    loaded = config_of(found, config, overrides or ())
    with reporting() as progress:
        answer = verify_sweep(
            found, loaded, chosen, n_questions=n_questions, seed=seed, progress=progress
        )
    _keep(found, answer)
    if json:
        console.print_json("sweep.verify/1", _document(answer))
    else:
        _print(answer, markdown)
    if not answer.agrees:
        raise MismatchError(_headline(answer))


def _count(text: str) -> int | None:
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--questions: must be a number of at least 1, or all, got {text!r}.")
    return int(text)


def _chosen(found: Results, text: str, trial: str) -> tuple[str, Settings]:
    """Return a name and the settings that a text such as ``picked`` or ``rrf_k=20`` means."""
    if "=" in text:
        base = found.settings[found.trial(trial)]
        return text, assigned(base, text.split(","))
    if text == "picked":
        return text, _picked(found)
    number = found.trial(text)
    name = "current" if text in {"current", "today"} else f"#{number}"
    return name, found.settings[number]


def _picked(found: Results) -> Settings:
    import json as json_format

    from sweeper.knobs import knob
    from sweeper.settings import Settings

    path = found.folder / "pick.json"
    try:
        values = json_format.loads(path.read_text(encoding="utf-8"))["chosen"]["settings"]
        return Settings().with_values({name: knob(name).parse(v) for name, v in values.items()})
    except FileNotFoundError:
        raise InputError(
            f"--settings picked: nothing was picked yet. Run: sweep pick {found.address}"
        ) from None
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            Problem(f"cannot be read ({error}). Run sweep pick again.", str(path))
        ) from error


def _keep(found: Results, answer: Verification) -> None:
    """Write what was found beside the sweep."""
    from sweeper.cli.documents import json_text
    from sweeper.files import write_atomically

    document = {"schema": "sweep.verify/1", **_document(answer)}
    write_atomically(found.folder / "verify.json", json_text(document) + "\n")


# --- what is printed ------------------------------------------------------------------------------


def _print(answer: Verification, markdown: bool) -> None:
    console.print_table(
        (
            console.Column("settings"),
            console.Column("questions", "right"),
            console.Column("equal", "right"),
            console.Column("different", "right"),
        ),
        [
            (check.name, check.n_questions, check.n_equal, len(check.differences))
            for check in answer.checks
        ],
        title=f"{answer.sweep}: the {answer.engine} engine against {_against(answer)}",
        markdown=markdown,
    )
    console.emit()
    for text in _sentences(answer):
        console.emit(text)
    for check in answer.checks:
        if check.differences:
            console.emit()
            console.emit(f"First difference under {check.name}: {check.settings.text}")
            _print_difference(check.differences[0], markdown)


def _against(answer: Verification) -> str:
    return "the replay" if answer.replayable else "what the sweep has"


def _sentences(answer: Verification) -> list[str]:
    repeats = answer.repeats
    lines = [] if not answer.agrees else [_headline(answer)]
    lines += [f"Found: {cause.text}" for cause in answer.causes]
    if answer.n_unexplained:
        differ = "answer differs" if answer.n_unexplained == 1 else "answers differ"
        lines.append(f"{answer.n_unexplained} {differ} for no reason that is known here.")
    if not repeats.unsteady:
        lines.append(
            f"{repeats.n_calls} identical calls gave the same answer to each of "
            f"{repeats.n_questions} questions."
        )
    if answer.unproved:
        lines.append(
            f"Not tested, as replay gives the same at both ends: {', '.join(answer.unproved)}."
        )
    return [*lines, *answer.notes]


def _headline(answer: Verification) -> str:
    n_answers = sum(check.n_questions for check in answer.checks)
    if answer.agrees:
        return f"All {n_answers} answers equal {_against(answer)}, position by position."
    if not answer.n_different:
        return f"The engine does not do what the sweep assumes: {answer.causes[0].text}"
    return f"{answer.n_different} of {n_answers} answers differ from {_against(answer)}."


def _print_difference(item: Difference, markdown: bool) -> None:
    console.emit(f"{item.query_id} ({item.slice}): {item.text}")
    engine = "nothing more" if item.live is None else item.live
    expected = "nothing more" if item.replayed is None else item.replayed
    console.emit(f"At position {item.position} the engine has {engine}, expected was {expected}.")
    rows = [row for row in (item.live_row, item.replayed_row) if row is not None]
    if rows:
        _print_rows(rows, markdown)
    if rows and item.live is not None and item.live_row is None:
        console.emit(f"{item.live}: no candidate under these settings, so replay cannot rank it.")


def _print_rows(rows: Sequence[RankedRow], markdown: bool) -> None:
    channels = list(dict.fromkeys(name for row in rows for name in row.ranks))
    console.print_table(
        (
            console.Column("replay has", "right"),
            console.Column("row"),
            *(console.Column(name) for name in channels),
            console.Column("age", "right", _age),
            console.Column("factor", "right"),
            console.Column("score", "right", console.decimals(6)),
        ),
        [
            (
                row.position,
                row.item_id,
                *(
                    f"#{row.ranks[name]} ({row.values[name]:.3f})" if name in row.ranks else "-"
                    for name in channels
                ),
                row.age_days if row.store == "memory" else None,
                row.factor,
                row.score,
            )
            for row in rows
        ],
        markdown=markdown,
    )


def _age(days: float | None) -> str:
    if days is None:
        return "-"
    return "unknown" if math.isnan(days) else f"{days:.1f} d"


def _document(answer: Verification) -> dict[str, object]:
    return {
        "sweep": answer.sweep,
        "engine": answer.engine,
        "agrees": answer.agrees,
        "replayable": answer.replayable,
        "seed": answer.seed,
        "checks": [
            {
                "name": check.name,
                "settings": check.settings.as_dict(),
                "n_questions": check.n_questions,
                "n_equal": check.n_equal,
                "differences": check.differences,
            }
            for check in answer.checks
        ],
        "repeats": answer.repeats,
        "causes": answer.causes,
        "n_unexplained": answer.n_unexplained,
        "unproved": answer.unproved,
        "notes": answer.notes,
    }
