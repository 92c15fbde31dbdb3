"""Settings as the text that a deployment loads: variables, YAML, JSON, fields of a request.

Text alone; nothing is written. Reading it back is the deployment's.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, get_args

from sweeper.errors import InputError, did_you_mean
from sweeper.knobs import CAPTURE_PREFIX, TRIPLES, Value, knob, knob_name

if TYPE_CHECKING:
    from sweeper.settings import Settings

__all__ = ["ENV_PREFIX", "Form", "emitted"]

Form = Literal["env", "yaml", "json", "request"]

ENV_PREFIX = "KNOWLEDGE_"

_NOT_IN_A_VARIABLE = re.compile(r"[^A-Za-z0-9_]")
_REQUEST_FIELDS = ("min_similarity", "limit", "depth", "stores")


def emitted(
    settings: Settings,
    form: Form,
    *,
    prefix: str = ENV_PREFIX,
    names: Mapping[str, str] | None = None,
) -> str:
    """Return settings in the form that a deployment loads.

    Parameters
    ----------
    settings
        What to deploy.
    form
        ``env``: the variables that the server reads; a floor, a limit and a depth are fields of
        each request, so they stand there as comments. ``yaml``: a block ``current`` of a config.
        ``json``: an object of all knobs. ``request``: an object of what a request may say, without
        what is unset.
    prefix
        Of the variables.
    names
        Knob to its name there, in any form; by default the knob's own.

    Raises
    ------
    InputError
        If there is no such form or knob.

    Examples
    --------
    >>> from sweeper.settings import Settings
    >>> print(emitted(Settings(rrf_k=20), "env", names={"rrf_k": "FUSION_K"}))
    FUSION_K=20
    KNOWLEDGE_RECENCY_HALF_LIFE_DAYS=0
    # request field min_similarity: none
    # request field limit: 10
    """
    if form not in get_args(Form):
        raise InputError(f'form "{form}": {did_you_mean(form, get_args(Form))}')
    renamed = _renamed(names or {})
    captured = {n: v for n, v in settings.as_dict().items() if n.startswith(CAPTURE_PREFIX)}
    values = {
        name: "safe" if value is None and name.endswith(f"weights.{TRIPLES}") else value
        for name, value in settings.as_dict().items()
        if name != "depth" and name not in captured
    }
    if settings.depth is not None:
        values["depth"] = settings.depth
    if form == "env":
        return _variables(values, captured, prefix, renamed)
    if form == "yaml":
        return "\n".join(
            f"{renamed.get(name, name)}: {knob(name).format(value)}"
            for name, value in {**values, **captured}.items()
        )
    shown: dict[str, object] = {renamed.get(name, name): value for name, value in values.items()}
    if form == "request":
        shown = {name: value for name, value in shown.items() if value is not None}
    else:
        shown.update({renamed.get(n, n): _block(value) for n, value in captured.items()})
    return json.dumps(shown, indent=2)


def _renamed(names: Mapping[str, str]) -> dict[str, str]:
    """Return names by the knobs' own words."""
    try:
        return {knob(knob_name(name)).name: text for name, text in names.items()}
    except KeyError as error:
        raise InputError(f"names: {error.args[0]}") from error


def _variables(
    values: Mapping[str, Value], captured: Mapping[str, Value], prefix: str, names: dict[str, str]
) -> str:
    lines, fields = [], []
    for name, value in values.items():
        if name in _REQUEST_FIELDS or name.endswith(".budget"):
            fields.append(f"# request field {names.get(name, name)}: {knob(name).format(value)}")
        else:
            variable = names.get(name, prefix + _NOT_IN_A_VARIABLE.sub("_", name.upper()))
            lines.append(f"{variable}={_plain(value)}")
    index = [f"# of the index: {name}: {knob(name).format(v)}" for name, v in captured.items()]
    return "\n".join([*lines, *fields, *index])


def _plain(value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return shlex.quote(value)
    return str(int(value)) if float(value) == int(value) else repr(value)


def _block(value: Value) -> object:
    """Return what a key of the engine's block holds: a mapping is known by its JSON text."""
    if isinstance(value, str) and value[:1] in {"{", "["}:
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value
