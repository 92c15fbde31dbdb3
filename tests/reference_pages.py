"""Reference pages that are made of the code: Python names, errors, exit codes, JSON documents."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sweeper
from sweeper import errors
from sweeper.errors import EXIT_CODES, SweeperError
from tests.markdown import filled, table

__all__ = [
    "api_page",
    "error_kinds",
    "error_page",
    "exit_code_table",
    "public_names",
    "schemas",
    "version_page",
]

PROJECT = Path(__file__).resolve().parents[1]


# --- exit codes and errors ------------------------------------------------------------------------

_REMEDIES = {
    "SweeperError": "Catch this one to catch all of them.",
    "InputError": "Mend what the message names; each problem has its place and its remedy.",
    "GateError": "Read the table: which slice fell, and which answers were lost. Mend the search, "
    "or accept the change with `sweep gate --update-baseline` and commit the file.",
    "EngineError": "Mend the engine or its address; the message names the question and what came "
    "back. Then run the same command again: what was answered is kept.",
    "ResourceError": "Give the process more memory (`ulimit -v`, a container's limit), take fewer "
    "processes (`--jobs`) or fewer settings. Then run the same command again.",
    "StorageError": "Free the disk, or choose another folder with `--results`. Then run the same "
    "command again.",
    "IncompleteError": "Run the same command again: it tries the settings that failed, and those "
    "alone.",
    "UndecidedError": "Add questions to the slice that is named, or decide by `--report-only` that "
    "such a result may pass.",
    "InfeasibleError": "Loosen a constraint, or try other settings: not even today's is feasible.",
    "MismatchError": "Read which knob or rows differ ([verify.md](verify.md#what-is-found)), and "
    "tune nothing on these figures before.",
}


def exit_code_table() -> str:
    """Return the table of exit codes, as the README, the help text and the pages have it."""
    return table(("code", "meaning"), [(str(code), text) for code, text in EXIT_CODES.items()])


def _first_paragraph(text: str) -> str:
    return " ".join(text.split("\n\n")[0].split()).replace("``", "`")


def _first_sentence(text: str) -> str:
    return re.split(r"(?<=[.])\s", _first_paragraph(text), maxsplit=1)[0]


def error_kinds(kind: type[SweeperError] = SweeperError) -> Iterator[type[SweeperError]]:
    """Yield every kind of error that ``sweeper.errors`` declares, a base before its children."""
    yield kind
    for child in kind.__subclasses__():
        if child.__module__ == errors.__name__:
            yield from error_kinds(child)


def error_page() -> str:
    """Return ``docs/errors.md`` with its tables made of ``sweeper/errors.py``."""
    rows = [
        (
            f"`{kind.__name__}`",
            str(kind.exit_code),
            _first_paragraph(inspect.getdoc(kind) or ""),
            _REMEDIES[kind.__name__],
        )
        for kind in error_kinds()
    ]
    tree = (errors.__doc__ or "").partition("::\n\n")[2]
    drawn = [line[4:] for line in tree.splitlines() if line.startswith("    ")]
    parts = {
        "exit codes": exit_code_table(),
        "tree": "```text\n" + "\n".join(drawn) + "\n```\n",
        "errors": table(("error", "exit code", "what happened", "what to do"), rows),
    }
    return filled((PROJECT / "docs/errors.md").read_text("utf-8"), parts)


# --- JSON documents -------------------------------------------------------------------------------

_ASKED_BY = {
    "baseline": "sweep gate --update-baseline",
    "plan": "sweep run --dry-run",
    "rows": "sweep show` with `--trial`, `--knob` or `--top",
}


def schemas() -> list[str]:
    """Return the schema of every JSON document that a command prints."""
    found: set[str] = set()
    for path in (PROJECT / "sweeper/cli").glob("*.py"):
        found |= set(re.findall(r'"(sweep\.[a-z_]+/\d+)"', path.read_text("utf-8")))
    return sorted(found)


def version_page() -> str:
    """Return ``docs/versions.md`` with its table of JSON documents."""
    rows = []
    for schema in schemas():
        name = schema.removeprefix("sweep.").partition("/")[0]
        rows.append((f"`{schema}`", f"`{_ASKED_BY.get(name, f'sweep {name}')}`"))
    parts = {"schemas": table(("schema", "printed by `--json` of"), rows)}
    return filled((PROJECT / "docs/versions.md").read_text("utf-8"), parts)


# --- the Python interface -------------------------------------------------------------------------

_API_TOP = """
# Python reference

What the command `sweep` does is done by these functions, under the same names. They are all that
`import sweeper` promises ([versions.md](versions.md)); `sweeper.__all__` lists them. A name is
loaded when it is first used, so the import itself costs little.

```python
import sweeper

summary = sweeper.run_sweep(sweeper.load_config("configs/recency.yaml"))
results = sweeper.load("recency")
best = results.pareto()
```

Errors that a caller can cause or meet are [SweeperErrors](errors.md#in-python); a function that is
called wrongly raises `ValueError` or `TypeError`.
"""

_GROUPS = {
    "nouns": ("Nouns", "What a sweep is about: judged questions, a corpus, what was retrieved."),
    "arithmetic": ("Arithmetic", "Values in, values out: no files, no clock, no printing."),
    "files": ("Files", "Reading and writing what a sweep is made of."),
    "work": ("Work", "Engines, sweeps, and what becomes of them."),
}


def public_names() -> dict[str, list[str]]:
    """Return the public names by purpose, as ``sweeper/__init__.py`` groups them."""
    source = inspect.getsource(sweeper)
    home = source.partition("_HOME = {\n")[2].partition("\n}")[0]
    found: dict[str, list[str]] = {}
    group = ""
    for line in home.splitlines():
        if (title := re.fullmatch(r" +# (\w+)", line)) is not None:
            group = title[1]
        elif (name := re.match(r' +"(\w+)":', line)) is not None:
            found.setdefault(group, []).append(name[1])
    return found


def api_page() -> str:
    """Return ``docs/api.md``: every public name with its first sentence, then its docstring."""
    parts = [_API_TOP]
    for group, names in public_names().items():
        title, about = _GROUPS[group]
        rows = [(f"[`{name}`](#{name.lower()})", _summary(name)) for name in names]
        parts.append(f"\n## {title}\n\n{about}\n\n{table(('name', 'is'), rows)}")
        for name in names:
            parts.append(f'\n<a id="{name.lower()}"></a>\n\n::: {_path(name)}\n')
    return "".join(parts)


def _found(name: str) -> Any:
    return getattr(importlib.import_module(f"sweeper.{sweeper._HOME[name]}"), name)


def _path(name: str) -> str:
    """Return where a public name is defined, not where it is exported from."""
    found = _found(name)
    if inspect.isclass(found) or inspect.isfunction(found):
        return f"{found.__module__}.{found.__qualname__}"
    return f"sweeper.{sweeper._HOME[name]}.{name}"


def _summary(name: str) -> str:
    """Return the first sentence of a docstring, or of the text below a constant."""
    found = _found(name)
    if inspect.isclass(found) or inspect.isfunction(found):
        text = inspect.getdoc(found) or ""
    else:
        module = inspect.getsource(importlib.import_module(f"sweeper.{sweeper._HOME[name]}"))
        below = re.search(rf'^{name}\b.*?^"""(.+?)"""', module, re.MULTILINE | re.DOTALL)
        assert below is not None, f"{name} has no text below it"
        text = below[1]
    return _first_sentence(text)
