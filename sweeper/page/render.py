"""The report as one HTML file: markup here, behaviour in ``report.js``, looks in ``report.css``.

Names, questions and settings come from other people. Here they pass through ``html_text``, in the
script they become text nodes, and the policy in the head lets nothing run but the two scripts whose
digests it names: no network, no ``eval``, no handlers in attributes.

References
----------
W3C, Content Security Policy Level 3, sections 2.3 and 6.7 (hashes of inline scripts).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from sweeper.page.findings import Findings
from sweeper.page.sections import list_items, sections
from sweeper.report import facts_of
from sweeper.tables import html_text

__all__ = ["render"]


def render(findings: Findings, data: Mapping[str, Any], library: str, licences: str) -> str:
    """Return the page.

    Parameters
    ----------
    findings
        Gives the parts that are written here: the recommendation, tables, provenance.
    data
        What the script reads.
    library
        Text of the plotting library.
    licences
        What is said of it.
    """
    script, style = (
        (resources.files("sweeper.page") / name).read_text("utf-8")
        for name in ("report.js", "report.css")
    )
    library = f"(() => {{{_inline(library)}\n}})();"
    policy = (
        "default-src 'none'; "
        f"script-src '{_digest(library)}' '{_digest(script)}'; "
        f"style-src '{_digest(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    results = findings.results
    name = html_text(results.manifest["name"])
    version = results.manifest.get("versions", {}).get("sweeper", "")
    shown = findings.addresses[: len(data["figures"])]
    parts = sections(findings, len(data["trials"]["number"]), shown, licences)
    links = "".join(f'<a href="#{key}">{word}</a>' for key, (word, _) in parts.items())
    page = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{html_text(policy)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{name}: ranking settings</title>",
        f"<style>{style}</style>",
        "</head>",
        "<body>",
        '<a class="skip" href="#recommendation">To the recommendation</a>',
        f"<header><h1>{name}</h1>",
        f'<ul class="facts">{list_items(facts_of(results))}</ul></header>',
        f'<nav aria-label="Sections"><div>{links}'
        '<button type="button" id="theme" hidden>Light or dark</button></div></nav>',
        "<main>",
        *(markup for _, markup in parts.values()),
        "</main>",
        f"<footer>Made by sweeper {html_text(version)}. This file needs no network and sends "
        "nothing.</footer>",
        '<div id="tip" role="tooltip" hidden></div>',
        f'<script type="application/json" id="data">{_json(data)}</script>',
        f"<script>{library}</script>",
        f"<script>{script}</script>",
        "</body>",
        "</html>",
    ]
    return "\n".join(page) + "\n"


def _inline(script: str) -> str:
    """Return a script as it may stand inside an element: nothing in it ends the element."""
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _json(data: Mapping[str, Any]) -> str:
    """Return data as JSON in which no character means anything to HTML."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # A lone surrogate has no UTF-8.
    return text.encode("utf-8", "backslashreplace").decode()
