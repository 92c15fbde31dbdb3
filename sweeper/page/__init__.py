"""The report of a sweep as one HTML file that needs no network.

``findings`` computes what there is to say, ``document`` and ``knob_lines`` put it into the data of
the page's script, ``charts`` are its charts, ``sections`` its markup, ``render`` the whole file.
"""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from sweeper.errors import InfeasibleError, InputError
from sweeper.files import write_atomically
from sweeper.page.document import Budget, document
from sweeper.page.findings import Findings
from sweeper.page.library import library
from sweeper.page.render import render
from sweeper.page.sections import sections
from sweeper.pick import Pick, pick
from sweeper.results import Results

__all__ = ["MAX_BYTES", "html_report", "require_room", "write_html_report"]

MAX_BYTES = 3_000_000
"""No report is larger."""

_ROOM = 1_500_000
"""For the library of the charts, and for what a page is about."""

_SMALLEST = 8
"""Halvings of the budget after which a page is as small as it gets."""


def html_report(results: Results, answer: Pick | None = None, *, problem: str | None = None) -> str:
    """Return the report of a sweep as one HTML document of less than 3 MB.

    Large sweeps are thinned: the settings that somebody may look for are drawn before an even
    sample of the rest, and the page says how many there are.

    Parameters
    ----------
    results
        A finished sweep.
    answer
        What to recommend; ``results.pick()`` unless given.
    problem
        Why nothing is recommended, where that is known.

    Raises
    ------
    InputError
        If tables or candidates of the sweep are gone or damaged, or if the config is so long that
        no page can hold it.
    """
    require_room(results)
    if answer is None and problem is None:
        try:
            answer = pick(results)
        except InfeasibleError as error:
            problem = str(error)
    findings = Findings(results, answer, problem)
    budget = Budget()
    for _ in range(_SMALLEST):
        data = document(findings, budget)
        page = render(findings, data, *library())
        if len(page.encode()) < MAX_BYTES:
            return page
        budget = budget.halved()
    sizes = {
        **{word: len(text) for word, text in sections(findings, 0, (), "").values()},
        **{f"data of {name}": len(json.dumps(part)) for name, part in data.items()},
    }
    name, size = max(sizes.items(), key=lambda item: item[1])
    raise InputError(
        f"{results.address}: a report of less than {MAX_BYTES:,} bytes has no room for it: the "
        f'largest part, "{name}", takes {size:,} characters at its smallest. Ids and names that '
        "are shorter, fewer objectives or fewer constraints make it smaller; sweep show, sweep "
        "compare and sweep curve need no report."
    )


def require_room(results: Results) -> None:
    """Say at once that no report can hold a sweep's config, which it has to show whole.

    Raises
    ------
    InputError
        If the config is too long.
    """
    size = len(yaml.safe_dump(results.manifest["spec"]["config"], allow_unicode=True).encode())
    if size > MAX_BYTES - _ROOM:
        raise InputError(
            f"{results.address}: its config has {size:,} bytes. A report shows it whole and has "
            f"room for {MAX_BYTES - _ROOM:,}. Ranges ({{low, high, n}}) are shorter than lists of "
            "values; sweep show, sweep compare and sweep curve need no report."
        )


def write_html_report(
    results: Results,
    answer: Pick | None = None,
    *,
    problem: str | None = None,
    path: str | Path | None = None,
) -> Path:
    """Write the report of a sweep and return its path.

    Parameters
    ----------
    results, answer, problem
        As in :func:`html_report`.
    path
        Where; ``report.html`` beside the sweep's tables unless given.

    Raises
    ------
    StorageError
        If the disk is full or fails.
    """
    place = results.folder / "report.html" if path is None else Path(path)
    write_atomically(place, html_report(results, answer, problem=problem))
    return place
