"""A user's own function, named in a config as ``module:function``."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from sweeper.errors import InputError, did_you_mean

__all__ = ["error_text", "kind_of", "load_function"]


def load_function(call: str, folder: str | None, *, where: str) -> Callable[..., Any]:
    """Import a function.

    Parameters
    ----------
    call
        ``module:function``.
    folder
        Where the module is said to be; already among the places that are looked in.
    where
        The block of the config, such as ``engine``.

    Raises
    ------
    InputError
        If there is no such module or function.
    """
    name, colon, attribute = call.partition(":")
    parts = [*name.split("."), *attribute.split(".")]
    if not colon or not all(part.isidentifier() for part in parts):
        raise InputError(f'{where}.call: write "module:function", such as "mysearch:search".')
    importlib.invalidate_caches()  # the file may have been written a moment ago
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found: Any = importlib.import_module(name)
    except (Exception, SystemExit) as error:
        _refuse_import(name, folder, error, where)
    _check_home(found, name, folder, where)
    for part in attribute.split("."):
        if not hasattr(found, part):
            public = [text for text in vars(found) if not text.startswith("_")]
            hint = did_you_mean(part, public) if public else "It has no public names."
            raise InputError(f'{where}.call: "{name}" has no "{attribute}". {hint}')
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{where}.call: {call} is {kind_of(found)}, not a function.")
    function: Callable[..., Any] = found
    return function


def _refuse_import(name: str, folder: str | None, error: BaseException, where: str) -> NoReturn:
    place = f"{where}.path names its folder" if folder is None else f"it is below {folder}"
    remedy = "Mend the module, or run Python there to see where it fails."
    if isinstance(error, ModuleNotFoundError) and error.name is not None:
        own = error.name == name or name.startswith(f"{error.name}.")
        remedy = (
            f"Check the name, and that {place}."
            if own
            else f'The module needs "{error.name}": install it.'
        )
    raise InputError(
        f'{where}.call: cannot import "{name}" ({error_text(error)}). {remedy}'
    ) from error


def _check_home(module: Any, name: str, folder: str | None, where: str) -> None:
    """Refuse another module of the same name that was imported before ours could be."""
    if folder is None:
        return
    wanted = Path(folder, *name.split("."))
    file = getattr(module, "__file__", None)
    ours = wanted.is_dir() or wanted.with_suffix(".py").exists()
    if ours and (file is None or not Path(file).resolve().is_relative_to(folder)):
        told = file or "built in"
        raise InputError(
            f'{where}.call: "{name}" is another module already ({told}). Rename yours.'
        )


def kind_of(value: object) -> str:
    """Return a value's type with its article, for a message."""
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0] in 'aeiou' else 'a'} {name}"


def error_text(error: BaseException) -> str:
    """Return an error's type and the first line of what it says."""
    text = str(error).strip().split("\n")[0].rstrip(".")
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
