"""The triples channel of the embedded engine: pages that typed facts lead to, per question.

A walk knows only the facts on pages that the question's user may see: a fact on a forbidden page
is no step on the way to another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from sweeper.corpus import Item, may_see
from sweeper.golden import Query
from sweeper.graph import Evidence, Graph
from sweeper.triples import Triple, digest, one_spaced

__all__ = ["FactIndex", "Hit"]

_MOST_GRAPHS = 64  # one per set of pages that somebody may not see


class Hit(NamedTuple):
    """A number of an item, the value of its page, and the facts that led there."""

    item: int
    value: float
    evidence: tuple[Evidence, ...]


class FactIndex:
    """Finds items by typed facts.

    Parameters
    ----------
    triples
        On pages of the corpus.
    hops
        How far a walk goes from the entities that a question names.
    items
        All items; those of one page in order.
    """

    def __init__(self, triples: Sequence[Triple], hops: int, items: Sequence[Item]) -> None:
        self.hops = hops
        self._triples = tuple(triples)
        self._numbers: dict[str, list[int]] = {}
        for number, item in enumerate(items):
            self._numbers.setdefault(item.key, []).append(number)
        self._items = items
        self._graphs: dict[frozenset[str], Graph] = {}
        self._restricted = {i.key: i for i in items if i.entry.principals is not None}

    @property
    def fingerprint(self) -> str:
        return f"triples={digest(self._triples)}:{self.hops}"

    def __len__(self) -> int:
        """Return the number of triples."""
        return len(self._triples)

    def search(self, query: Query) -> list[Hit]:
        """Return what a question's entities lead to, best first; one item per page.

        It is the first that holds the sentence of the page's first fact.
        """
        hits = []
        for found in self._graph(query.user).walk(query.text, self.hops):
            numbers = self._numbers.get(found.page, ())
            sentence = one_spaced(found.evidence[0].triple.sentence)
            holding = (n for n in numbers if sentence in one_spaced(self._items[n].text))
            number = next(holding, numbers[0] if numbers else None)
            if number is not None:
                hits.append(Hit(number, found.value, found.evidence))
        return hits

    def _graph(self, user: str | None) -> Graph:
        """Return the graph of what a user may see; users who see the same share one."""
        hidden = frozenset(
            page for page, item in self._restricted.items() if not may_see(item.entry, user)
        )
        if hidden not in self._graphs:
            if len(self._graphs) >= _MOST_GRAPHS:
                self._graphs.clear()
            self._graphs[hidden] = Graph(t for t in self._triples if t.page not in hidden)
        return self._graphs[hidden]
