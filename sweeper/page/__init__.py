"""The report of a sweep as one HTML file that needs no network.

``findings`` computes what there is to say, ``document`` and ``knob_lines`` put it into the data of
the page's script, ``charts`` are its charts, ``sections`` its markup, ``render`` the whole file.
"""

from __future__ import annotations

import functools
from pathlib import Path

from sweeper.errors import InfeasibleError, InputError
from sweeper.files import write_atomically
from sweeper.page.document import Budget, document
from sweeper.page.findings import Findings
from sweeper.page.render import render
from sweeper.pick import Pick, pick
from sweeper.results import Results

__all__ = ["MAX_BYTES", "html_report", "write_html_report"]

MAX_BYTES = 3_000_000
"""No report is larger."""

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
        If tables or candidates of the sweep are gone or damaged.
    """
    if answer is None and problem is None:
        try:
            answer = pick(results)
        except InfeasibleError as error:
            problem = str(error)
    findings = Findings(results, answer, problem)
    budget = Budget()
    for _ in range(_SMALLEST):
        page = render(findings, document(findings, budget), *_library())
        if len(page.encode()) < MAX_BYTES:
            return page
        budget = budget.halved()
    raise InputError(
        f"{results.address}: a report of less than {MAX_BYTES:,} bytes cannot hold its names. "
        "Shorten the ids, or the config."
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


_EXPORTS = "window.vegaEmbed = vegaEmbed;"


@functools.cache
def _library() -> tuple[str, str]:
    """Return the plotting library as one script, and its licences.

    It is Vega, Vega-Lite and Vega-Embed with their interpreter of expressions, which needs no
    ``eval``; the package vl-convert carries them.
    """
    import vl_convert

    versions = f"Vega {vl_convert.get_vega_version()}, "
    versions += f"Vega-Lite {vl_convert.get_vegalite_versions()[-1]}, "
    versions += f"Vega-Embed {vl_convert.get_vega_embed_version()}"
    return vl_convert.javascript_bundle(_EXPORTS), _LICENCES.format(versions=versions)


_LICENCES = """\
The charts of this file are drawn by {versions}, whose text it carries.

Copyright (c) 2015-2025, University of Washington Interactive Data Lab and contributors
All rights reserved.

Redistribution and use in source and binary forms, with or without modification, are permitted \
provided that the following conditions are met:

1. Redistributions of source code must retain the above copyright notice, this list of conditions \
and the following disclaimer.

2. Redistributions in binary form must reproduce the above copyright notice, this list of \
conditions and the following disclaimer in the documentation and/or other materials provided with \
the distribution.

3. Neither the name of the copyright holder nor the names of its contributors may be used to \
endorse or promote products derived from this software without specific prior written permission.

THIS SOFTWARE IS PROVIDED BY THE COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR \
IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE IMPLIED WARRANTIES OF MERCHANTABILITY AND \
FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE COPYRIGHT HOLDER OR \
CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL \
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, \
DATA, OR PROFITS; OR BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER \
IN CONTRACT, STRICT LIABILITY, OR TORT (INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT \
OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE POSSIBILITY OF SUCH DAMAGE.

They contain parts of D3 (ISC, Copyright 2010-2023 Mike Bostock), TopoJSON (ISC, Mike Bostock), \
fast-json-patch (MIT, Joachim Wester), json-stringify-pretty-compact (MIT, Simon Lydell), \
semver (ISC, Isaac Z. Schlueter and contributors) and lodash.debounce (MIT, OpenJS Foundation and \
contributors). The packaging is vl-convert (BSD-3-Clause, Jon Mease).
"""
