"""Triples as a graph, walked from the entities that a question names to the pages that tell.

``Graph`` answers a question from triples alone, so that every page it returns comes with the
sentences that led to it. What a triple is stands in ``triples``; finding triples in pages is in
``extraction``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sweeper.golden import Key
from sweeper.triples import Triple, one_spaced

__all__ = ["Evidence", "Found", "Graph", "folded_name"]


class Evidence(NamedTuple):
    """A triple that was reached: at which hop, 1-based, and from which entity."""

    triple: Triple
    hop: int
    entity: str


class Found(NamedTuple):
    """A page, the sum of ``2.0 ** (1 - hop)`` over its triples, and these in order of reaching."""

    page: Key
    value: float
    evidence: tuple[Evidence, ...]


class Graph:
    """Entities and the triples between them.

    An entity is what triples have as subject or object; names are equal without case and with
    single spaces. A page is an entity too, on which the triples hang that are told there. If the
    last part of its key is the name of another entity, hyphens and underscores counting as spaces
    (``tickets/brk-1042`` and ``BRK-1042``), it is that entity instead, and nothing hangs on it.
    ``[[docs/x]]`` and ``[[docs/x#part|label]]`` as a subject or object mean the page ``docs/x``.

    Parameters
    ----------
    triples
        The facts. Of those that say the same on one page (subject, predicate and object, whatever
        their case, and whatever the sentence) the first counts. Their order breaks ties.

    Raises
    ------
    ValueError
        If a subject or an object is blank.

    Examples
    --------
    >>> facts = [
    ...     Triple("Ada", "owns", "Quay", "Ada owns Quay.", "people/ada"),
    ...     Triple("Quay", "depends on", "Mast", "Quay depends on Mast.", "docs/quay"),
    ... ]
    >>> graph = Graph(facts)
    >>> graph.named_in("Is MAST related to people/ada?")
    ('Mast', 'Ada')
    >>> [(found.page, found.value) for found in graph.walk("What fails with Mast?", 2)]
    [('docs/quay', 1.0), ('people/ada', 0.5)]
    """

    def __init__(self, triples: Iterable[Triple]) -> None:
        told: dict[tuple[str, ...], Triple] = {}
        for it in triples:
            fact = (
                folded_name(it.subject),
                folded_name(it.predicate),
                folded_name(it.object),
                it.page,
            )
            told.setdefault(fact, it)
        self._triples = tuple(told.values())
        self._names: list[str] = []  # of each entity, as first spelt
        self._touching: list[list[int]] = []  # of each entity, numbers of triples in rising order
        self._entities: dict[str, int] = {}  # by folded name
        hung_on = self._add_entities()
        self._ends = [
            (self._entities[folded_name(it.subject)], self._entities[folded_name(it.object)])
            for it in self._triples
        ]
        for number, (triple, ends) in enumerate(zip(self._triples, self._ends, strict=True)):
            page = [hung_on[triple.page]] if triple.page in hung_on else []
            for entity in {*ends, *page}:
                self._touching[entity].append(number)
        self._sizes = _sizes_by_first_word(self._entities)

    def named_in(self, text: str) -> tuple[str, ...]:
        """Return the entities that a text names, in the order in which it first names them.

        A name counts where it stands whole: no letter, digit or underscore goes on at either end.
        Case and the width of white space do not matter. Where names overlap, the longest counts,
        among equals the first. A name without any letter, digit or underscore is never found.

        Returns
        -------
        tuple of str
            Each entity once, as the triples first spell it; a page by its key.
        """
        return tuple(self._names[entity] for entity in self._named(text))

    def walk(self, text: str, hops: int) -> list[Found]:
        """Return the pages that are reached from the entities that a text names.

        Hop 1 reaches the triples that touch a named entity, from either end; hop 2 those that touch
        the other ends of these; and so on. Each triple counts once, at its smallest hop. Where it
        could be reached from two entities at that hop, the one that was named or reached first is
        its evidence.

        Parameters
        ----------
        text
            A question. One that names no entity finds nothing.
        hops : count, at least 1
            How far to go from what is named.

        Returns
        -------
        list of Found
            By value, descending; among equals the page first whose first triple was reached first.
            Triples are reached by hop, and within one in the order in which the graph got them.

        Raises
        ------
        ValueError
            If ``hops`` is less than 1.
        """
        if hops < 1:
            raise ValueError(f"hops must be at least 1, got {hops}")
        told: dict[Key, list[Evidence]] = {}
        values: dict[Key, float] = {}
        for number, hop, entity in self._reached(self._named(text), hops):
            triple = self._triples[number]
            told.setdefault(triple.page, []).append(Evidence(triple, hop, self._names[entity]))
            values[triple.page] = values.get(triple.page, 0.0) + 2.0 ** (1 - hop)
        found = [Found(page, values[page], tuple(evidence)) for page, evidence in told.items()]
        return sorted(found, key=lambda it: -it.value)

    def _reached(self, frontier: Sequence[int], hops: int) -> Iterator[tuple[int, int, int]]:
        """Yield number, hop and entity of each triple that is reached."""
        met = set(frontier)
        seen: set[int] = set()
        for hop in range(1, hops + 1):
            new: dict[int, int] = {}
            for entity in frontier:
                for number in self._touching[entity]:
                    if number not in seen:
                        new.setdefault(number, entity)
            if not new:
                return
            seen.update(new)
            numbers = sorted(new)
            for number in numbers:
                yield number, hop, new[number]
            ends = dict.fromkeys(end for number in numbers for end in self._ends[number])
            frontier = [end for end in ends if end not in met]
            met.update(frontier)

    def _named(self, text: str) -> list[int]:
        text = one_spaced(text).casefold()
        places = [
            (start, stop, self._entities[text[start:stop]])
            for word in _WORD.finditer(text)
            for offset, size in self._sizes.get(word[0], ())
            if (start := word.start() - offset) >= 0
            and text[start : (stop := start + size)] in self._entities
            and not _INSIDE.match(text, stop)
        ]
        places.sort(key=lambda place: place[0] - place[1])
        taken = bytearray(len(text))
        first: dict[int, int] = {}
        for start, stop, entity in places:
            if not any(taken[start:stop]):
                taken[start:stop] = b"\1" * (stop - start)
                first[entity] = min(start, first.get(entity, start))
        return sorted(first, key=first.__getitem__)

    def _add_entities(self) -> dict[Key, int]:
        """Give every name its entity; return those of the pages on which triples hang."""
        names = [name for it in self._triples for name in (it.subject, it.object)]
        if not all(map(folded_name, names)):
            raise ValueError("the subject and the object of a triple may not be blank")
        told_on = dict.fromkeys(it.page for it in self._triples)
        pages: dict[str, Key] = {}
        for key in (*told_on, *(_unlinked(name) for name in names if _LINK.fullmatch(name))):
            pages.setdefault(folded_name(key), key)
        ordinary: dict[str, int] = {}
        for name in names:
            folded = folded_name(name)
            if folded not in pages or "/" not in folded:
                ordinary.setdefault(_loose(folded), self._entity(folded, name))
        for folded, key in pages.items():
            same = ordinary.get(_loose(folded.rpartition("/")[2]))
            if same is None:
                self._entity(folded, key)
            else:
                self._entities.setdefault(folded, same)
        own = set(ordinary.values())
        of_pages = {key: self._entities[folded_name(key)] for key in told_on}
        return {key: entity for key, entity in of_pages.items() if entity not in own}

    def _entity(self, folded: str, name: str) -> int:
        known = self._entities.setdefault(folded, len(self._names))
        if known == len(self._names):
            self._names.append(one_spaced(name))
            self._touching.append([])
        return known


_LINK = re.compile(r"\s*\[\[([^\]|#]*)[^\]]*\]\]\s*")
_WORD = re.compile(r"\w+")


def _unlinked(name: str) -> str:
    link = _LINK.fullmatch(name)
    return link[1] if link else name


def folded_name(name: str) -> str:
    """Return a name as it is looked up: without link brackets, in one case, single-spaced."""
    return one_spaced(_unlinked(name)).casefold()


def _loose(folded: str) -> str:
    return one_spaced(re.sub("[-_]", " ", folded))


_INSIDE = re.compile(r"(?<=\w)(?=\w)")


def _sizes_by_first_word(names: Iterable[str]) -> dict[str, list[tuple[int, int]]]:
    """Map the first word of names to where it starts in them and how long they are, once each.

    So a text is looked up once for every length of name, however many names begin alike.
    """
    sizes: dict[str, dict[tuple[int, int], None]] = {}
    for name in names:
        word = _WORD.search(name)
        if word:
            sizes.setdefault(word[0], {})[word.start(), len(name)] = None
    return {word: list(found) for word, found in sizes.items()}
