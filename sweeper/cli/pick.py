"""``sweep pick``: which setting to deploy, and how sure that is."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.run import ResultsFolder
from sweeper.errors import InputError, Problem

if TYPE_CHECKING:
    from sweeper.constraints import Constraint, Objective
    from sweeper.knobs import Settings
    from sweeper.pick import Answer, Pick
    from sweeper.results import Results

__all__ = ["pick"]


class Policy(enum.StrEnum):
    """Which answer is the recommendation."""

    supported = "supported"
    best = "best"
    dominant = "dominant"


class Form(enum.StrEnum):
    """How the chosen settings are printed."""

    env = "env"
    yaml = "yaml"
    json = "json"
    request = "request"


_ENV_PREFIX = "KNOWLEDGE_"


def pick(
    sweep: Annotated[str, typer.Argument(help="A folder, a name (its latest), or name/id.")],
    maximize: Annotated[
        list[str] | None, typer.Option(help="Figure to maximise; the first one decides.")
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(help="Bound such as 'entity.recall@10 >= current'.", metavar="CONSTRAINT"),
    ] = None,
    policy: Annotated[
        Policy,
        typer.Option(
            help="supported: only a gain that is more than luck. best: the best feasible setting. "
            "dominant: no question worse."
        ),
    ] = Policy.supported,
    horizon: Annotated[
        float, typer.Option(help="Days for which it has to hold as content ages.", metavar="DAYS")
    ] = 90.0,
    emit: Annotated[
        Form | None, typer.Option(help="Print only the chosen settings, in this form.")
    ] = None,
    env_prefix: Annotated[
        str, typer.Option(help="Of the variables of --emit env.", metavar="PREFIX")
    ] = _ENV_PREFIX,
    results: ResultsFolder = Path("results"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
) -> None:
    """Recommend a setting: what it gains, what it costs, and how sure that is.

    Exit code 6 if no setting meets the constraints.
    For example: sweep pick recency --subject-to 'entity.recall@10 >= current'
    """
    from sweeper.pick import pick as pick_settings
    from sweeper.results import load

    if not horizon >= 0:
        raise InputError(f"--horizon: must be a number of days of at least 0, got {horizon:g}.")
    found = load(sweep, root=results)
    answer = pick_settings(
        found,
        objectives=_objectives(found, maximize),
        constraints=_constraints(found, subject_to),
        policy=policy.value,
        horizon_days=horizon,
    )
    _keep(found, answer)
    if json:
        console.print_json("sweep.pick/1", _document(found, answer))
    elif emit is not None:
        console.emit(emitted(answer.chosen.settings, emit.value, env_prefix))
    else:
        _print(found, answer, markdown)


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


def _keep(found: Results, answer: Pick) -> None:
    """Write the pick beside the sweep, so that later commands can name it."""
    from sweeper.cli.documents import json_text
    from sweeper.files import write_atomically

    write_atomically(found.folder / "pick.json", json_text(_document(found, answer)) + "\n")


def emitted(settings: Settings, form: str, prefix: str = _ENV_PREFIX) -> str:
    """Return settings in the form that a deployment loads.

    ``env`` gives the variables of the rank constant and the half-life; a floor is a field of each
    request, so it stands there as a comment.
    """
    import json as json_format

    from sweeper.knobs import knob

    values = settings.as_dict()
    if form == "env":
        lines = [
            f"{prefix}{name.upper().replace('.', '_')}={_plain(values[name])}"
            for name in values
            if name not in {"min_similarity", "limit", "depth"}
        ]
        floor = knob("min_similarity").format(settings.min_similarity)
        return "\n".join([*lines, f"# request field min_similarity: {floor}"])
    if form == "yaml":
        return "\n".join(f"{name}: {knob(name).format(value)}" for name, value in values.items())
    if form == "request":
        values = {name: value for name, value in values.items() if value is not None}
    return json_format.dumps(values, indent=2)


def _plain(value: float | None) -> str:
    if value is None:
        return ""
    return str(int(value)) if float(value) == int(value) else repr(value)


def _print(found: Results, answer: Pick, markdown: bool) -> None:
    first = answer.objectives[0].address
    chosen, best = answer.chosen, answer.best
    console.emit(_headline(answer))
    console.emit(f"  {chosen.settings.text}")
    if chosen.settings != found.settings[chosen.trial]:
        console.emit(
            f"  (trial #{chosen.trial}, its values moved to the middle of their plateaus; every "
            "figure is the same)"
        )
    if chosen.trial != best.trial:
        console.emit(f"Best feasible: #{best.trial} {best.settings.text}")
    console.emit()
    rows = [
        (address, before, after, after - before)
        for address, (before, after) in best.figures.items()
    ]
    console.print_table(
        (
            console.Column("figure"),
            console.Column("current", "right"),
            console.Column("best feasible", "right", key="best"),
            console.Column("difference", "right", _signed),
        ),
        rows,
        markdown=markdown,
    )
    for line in _sentences(found, answer, best, first):
        console.emit(line)


def _headline(answer: Pick) -> str:
    if answer.keep:
        return "Keep what you have:"
    word = {
        "supported": "Deploy (the gain is more than luck over all settings tried):",
        "best": "Best feasible setting (not tested against luck by this policy):"
        if not answer.supported
        else "Best feasible setting (its gain is more than luck over all settings tried):",
        "dominant": "Not worse on these questions:",
    }
    return word[answer.policy]


def _sentences(found: Results, answer: Pick, best: Answer, first: str) -> list[str]:
    score = best.score
    lines = [
        f"{score.better} questions better, {score.worse} worse, {score.equal} equal"
        + (f", {score.mixed} both ways" if score.mixed else "")
        + f"; {best.n_differ} of {answer.n_questions} differ in {first}"
        + f"; at least {answer.fewest_to_differ} must differ for any test to say yes.",
        f"p = {best.p_value:.4f} over {answer.n_trials} settings (one-sided max-T); "
        f"{answer.n_feasible} meet the constraints.",
    ]
    if best.interval is not None:
        low, high, method = best.interval.low, best.interval.high, best.interval.method
        lines.append(f"gain in {first}: 95% interval {low:+.4f} to {high:+.4f} ({method}).")
    if answer.validated is None:
        lines.append("too few questions in an objective's slice: it cannot be cross-validated.")
    else:
        v = answer.validated
        lines.append(
            f"on questions that did not choose it: {first} {v.figure:.4f}, current "
            f"{v.current:.4f} ({v.n_folds} folds, {v.n_repeats} repeats from {v.spread[0]:.4f} to "
            f"{v.spread[1]:.4f}; today's setting kept in {v.kept:.0%} of the folds)."
        )
        if answer.optimism is not None:
            lines.append(f"optimism (in sample minus that): {answer.optimism:+.4f}.")
    lines += _firmness(best, answer.horizon_days)
    if answer.policy == "dominant":
        lines.append(
            "By luck alone a setting that is worse nowhere is found in about a fifth of sweeps "
            "without any true gain."
        )
    return lines


def _firmness(best: Answer, horizon: float) -> list[str]:
    lines = []
    for name, interval in best.plateaus.items():
        if interval.low is None or interval.high is None:
            lines.append(f"{name}: its figures hold at this value alone.")
        else:
            lines.append(f"{name}: same figures from {interval.low:.6g} to {interval.high:.6g}.")
    if best.flip is not None:
        name, flip = best.flip
        who = flip.item_id or "an expected row"
        behind = f" behind {flip.other_id}" if flip.other_id else ""
        lines.append(
            f"nearest loss: at {name} {flip.at:.6g}, {who} falls{behind} ({flip.query_id})."
        )
    if best.fails_after_days is None:
        lines.append(f"as content ages unchanged, it holds for {horizon:g} days.")
    else:
        lines.append(
            f"as content ages unchanged, it fails after {best.fails_after_days:.1f} days: "
            f"{best.fails}."
        )
    return lines


def _signed(value: float) -> str:
    return f"{value:+.4f}"


def _document(found: Results, answer: Pick) -> dict[str, object]:
    def of(item: Answer) -> dict[str, object]:
        return {
            "trial": item.trial,
            "settings": item.settings.as_dict(),
            "figures": {
                a: {"current": before, "this": after} for a, (before, after) in item.figures.items()
            },
            "interval": item.interval,
            "p_value": item.p_value,
            "questions": item.score,
            "n_differ": item.n_differ,
            "plateaus": item.plateaus,
            "nearest_loss": None
            if item.flip is None
            else {"knob": item.flip[0], "flip": item.flip[1]},
            "fails_after_days": item.fails_after_days,
            "fails": item.fails,
        }

    return {
        "sweep": found.address,
        "policy": answer.policy,
        "keep": answer.keep,
        "supported": answer.supported,
        "objectives": {item.address: item.direction for item in answer.objectives},
        "constraints": [item.text for item in answer.constraints],
        "chosen": of(answer.chosen),
        "best": of(answer.best),
        "cross_validated": answer.validated,
        "optimism": answer.optimism,
        "fewest_to_differ": answer.fewest_to_differ,
        "horizon_days": answer.horizon_days,
    }
