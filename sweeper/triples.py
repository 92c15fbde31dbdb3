"""Facts as triples: what one is, and whether its page bears it out.

A triple says in one sentence of one page how a subject stands to an object. Finding triples in
pages is in ``extraction``, answering a question from them in ``graph``, reading files of them in
``formats.triples``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sweeper.golden import Key

__all__ = ["Triple", "digest", "misquoted", "one_spaced"]


@dataclass(frozen=True, slots=True)
class Triple:
    """A fact: how ``subject`` stands to ``object``, the ``sentence`` that says so, and its page."""

    subject: str
    predicate: str
    object: str
    sentence: str
    page: Key


def digest(triples: Iterable[Triple]) -> str:
    """Return the SHA-256 over the fields of triples, independent of file format and spelling.

    The order of the triples counts, since it breaks ties, and so does a repeat.
    """
    rows = [(it.subject, it.predicate, it.object, it.sentence, it.page) for it in triples]
    text = json.dumps(rows, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def misquoted(triples: Iterable[Triple], pages: Mapping[Key, str]) -> list[tuple[int, str]]:
    """Return the triples that their pages do not bear out.

    Parameters
    ----------
    triples
        The facts to check.
    pages
        Key of a page to its text.

    Returns
    -------
    list of tuple
        0-based index of the triple, in rising order, and what is wrong with it: its page is not
        there, its sentence is blank, or its sentence does not stand on its page. Runs of white
        space count as one space on both sides; all else has to be equal, case too.

    Examples
    --------
    >>> misquoted([Triple("Ada", "owns", "Quay", "Ada owns Quay.", "a")], {"a": "Bram owns Quay."})
    [(0, 'the sentence "Ada owns Quay." does not stand on the page "a"')]
    """
    spaced: dict[Key, str] = {}
    faults = []
    for number, triple in enumerate(triples):
        page, sentence = triple.page, one_spaced(triple.sentence)
        if page not in pages:
            faults.append((number, f'there is no page "{page}"'))
            continue
        if page not in spaced:
            spaced[page] = one_spaced(pages[page])
        if not sentence:
            faults.append((number, "the sentence is empty"))
        elif sentence not in spaced[page]:
            shown = sentence if len(sentence) <= _SHOWN else sentence[: _SHOWN - 3] + "..."
            faults.append((number, f'the sentence "{shown}" does not stand on the page "{page}"'))
    return faults


_SHOWN = 60
"""Characters of a sentence that a message repeats."""


def one_spaced(text: str) -> str:
    """Return a text with single spaces for runs of white space, and none at its ends."""
    return " ".join(text.split())
