"""The class of every question of a sweep: by rules, from the golden rows, or by a function.

The rules are in ``routing``. What was decided stays with the golden set of a finished sweep, so a
function is called once per question, and never again.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from sweeper.config import Config
from sweeper.errors import InputError, Problems, did_you_mean
from sweeper.functions import error_text, kind_of, load_function
from sweeper.golden import CLASS_NAME, GoldenSet, Query, Route
from sweeper.routing import CLASSES, classify

__all__ = ["with_classes"]


def with_classes(config: Config, golden: GoldenSet) -> GoldenSet:
    """Return the golden set with the class by which each question is routed.

    A row without a ``class`` is labelled by its slice, where that is one of the rules' classes.
    Nothing changes where the config neither asks for classes nor names one.

    Raises
    ------
    InputError
        If a row lacks the class that it is to be routed by, the function fails, or the config
        names a class that no question has.
    """
    how = config.file.classes or ("rules" if config.classes else None)
    if how is None:
        return golden
    labelled = [_labelled(query, how if isinstance(how, str) else "") for query in golden.queries]
    if how == "rules":
        routed = [replace(query, route=classify(query.text)) for query in labelled]
    elif how == "golden":
        _check_labels(labelled, config)
        routed = [_by_label(query) for query in labelled]
    else:
        folder = None if how.path is None else str(config.resolve(how.path).resolve())
        with _on_path(folder):
            function = load_function(how.call, folder, where="classes")
            routed = [_by_function(query, function, how.call) for query in labelled]
    found = {query.query_class for query in routed}
    known = sorted({*map(str, found), *(CLASSES if how == "rules" else ())})
    problems = Problems(config.path)
    for name in config.classes:
        if name not in known:
            hint = did_you_mean(name, known)
            problems.add(f'routing.{name}: no question has the class "{name}". {hint}')
    problems.raise_if_any()
    return GoldenSet(tuple(routed))


def _labelled(query: Query, how: str) -> Query:
    """Return a question with a label that is the name of a class, or none."""
    label = query.label or (query.slice if query.slice in CLASSES else None)
    if how != "golden" and label is not None and CLASS_NAME.fullmatch(label) is None:
        label = None  # another tool's column
    return replace(query, label=label)


def _check_labels(queries: Sequence[Query], config: Config) -> None:
    """Refuse labels, and slices that stand for one, that cannot be a class; each once."""
    problems = Problems(config.golden.path)
    seen: set[tuple[str | None, str]] = set()
    for query in queries:
        told = (query.label, query.slice if query.label is None else "")
        if told in seen or CLASS_NAME.fullmatch(query.label or query.slice) is not None:
            continue
        seen.add(told)
        said = f"has the class {query.label!r}, which cannot be one: use letters, digits, - and _."
        if query.label is None:
            said = (
                f"has no class, and its slice {query.slice!r} cannot be one: use letters, digits, "
                "- and _, or give the row a class."
            )
        problems.add(f"question {query.query_id!r} {said}")
    problems.raise_if_any()


def _by_label(query: Query) -> Query:
    rule = "the golden row's class" if query.label is not None else "the golden row's slice"
    return replace(query, route=Route(query.label or query.slice, rule))


def _by_function(query: Query, function: Callable[..., object], call: str) -> Query:
    try:
        with contextlib.redirect_stdout(sys.stderr):
            name = function(query.text)
    except (Exception, SystemExit) as error:
        raise InputError(
            f"classes.call: {call} failed at question {query.query_id!r} ({error_text(error)})."
        ) from error
    if not isinstance(name, str) or CLASS_NAME.fullmatch(name) is None:
        shown = repr(name) if isinstance(name, str) else kind_of(name)
        raise InputError(
            f"classes.call: {call} returned {shown} for question {query.query_id!r}. Return a "
            "class as text of letters, digits, - and _."
        )
    return replace(query, route=Route(str.__str__(name), call))  # of an enum, its value


@contextlib.contextmanager
def _on_path(folder: str | None) -> Iterator[None]:
    if folder is None:
        yield
        return
    sys.path.append(folder)  # last: it may not hide what sweeper imports itself
    try:
        yield
    finally:
        sys.path.remove(folder)
