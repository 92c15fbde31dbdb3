"""The lexical channel of the embedded engine: SQLite FTS5, and what a query means to it.

What a user typed never reaches FTS5 as syntax: a query is read here, cut into pieces, and each
piece is quoted. ``read_web_query`` follows PostgreSQL's ``websearch_to_tsquery`` in its grammar;
the tokeniser is FTS5's ``unicode61``, so what counts as a word differs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sweeper.errors import EngineError

__all__ = ["LexicalIndex", "Match", "Piece", "read_web_query"]

Match: TypeAlias = Literal["any", "all"]

# Accents are kept: this channel finds exact tokens.
TOKENIZER = "unicode61 remove_diacritics 0"

# Characters that end a word for websearch_to_tsquery, besides white space and quotes.
_BREAKS = frozenset("!&|()<:")


@dataclass(frozen=True, slots=True)
class Piece:
    """A word or a quoted phrase: its tokens must stand side by side."""

    text: str
    excluded: bool = False


def read_web_query(text: str) -> list[list[Piece]]:
    """Read a query as a web search box does.

    Words and ``"quoted phrases"`` are all required; ``or`` between two of them separates
    alternatives and binds looser; ``-`` before one excludes it. Nothing is an error: an ``or`` with
    nothing on one side is a word, a quote that does not close runs to the end, and other operators
    only separate words.

    Returns
    -------
    list of list of Piece
        Alternatives; all pieces of one are required.

    Examples
    --------
    >>> [[piece.text for piece in branch] for branch in read_web_query('a or b "c d"')]
    [['a'], ['b', 'c d']]
    """
    branches: list[list[Piece]] = [[]]
    place, excluded, after_operand = 0, False, False
    while place < len(text):
        letter = text[place]
        if letter.isspace() or letter in _BREAKS:
            place += 1
        elif after_operand and _is_or(text, place):
            branches.append([])
            place, after_operand = place + 2, False
        elif letter == "-":
            excluded, after_operand = not excluded, False
            place += 1
        else:
            word, place = _operand(text, place)
            branches[-1].append(Piece(word, excluded))
            excluded, after_operand = False, True
    return branches


def _is_or(text: str, place: int) -> bool:
    """Return whether ``or`` stands here as an operator: a word of its own, something after it."""
    following = text[place + 2 : place + 3]
    return (
        text[place : place + 2].lower() == "or"
        and following != ""
        and not (following in "-_" or following.isalnum())
        and not text[place + 3 :].isspace()
        and text[place + 3 :] != ""
    )


def _operand(text: str, place: int) -> tuple[str, int]:
    """Return the word or phrase that begins here, and where it ends."""
    if text[place] == '"':
        end = text.find('"', place + 1)
        end = len(text) if end < 0 else end
        return text[place + 1 : end], end + 1
    end = place + 1
    while end < len(text) and not (text[end].isspace() or text[end] in _BREAKS or text[end] == '"'):
        end += 1
    return text[place:end], end


class LexicalIndex:
    """Full-text index of texts, numbered from 0.

    ``match`` ``any`` finds texts with at least one distinct token of the query, ``all`` reads the
    query as ``read_web_query`` does. An alternative that only excludes finds nothing: FTS5
    cannot list what lacks a word. The value of a text is BM25 (``k1`` 1.2, ``b`` 0.75) over all
    texts of the index, positive, higher is better; ties stand in the order of the texts.

    Raises
    ------
    EngineError
        If this Python's SQLite has no FTS5.
    """

    def __init__(self, texts: Iterable[str], *, match: Match) -> None:
        self._match = match
        # The empty name is a private database that spills to a temporary file when it is large.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        try:
            self._make(texts)
        except sqlite3.OperationalError as error:
            self._database.close()
            raise EngineError(
                f"the full-text index could not be made ({error}). The embedded engine needs an "
                "SQLite with FTS5: try another Python, or check the space for temporary files."
            ) from error

    def _make(self, texts: Iterable[str]) -> None:
        run = self._database.execute
        run(f"CREATE VIRTUAL TABLE texts USING fts5(text, content='', tokenize='{TOKENIZER}')")
        # Cuts queries into tokens, with the very tokeniser that cut the texts.
        run(f"CREATE VIRTUAL TABLE pieces USING fts5(text, content='', tokenize='{TOKENIZER}')")
        run("CREATE VIRTUAL TABLE tokens USING fts5vocab(pieces, instance)")
        run("BEGIN")
        self._database.executemany(
            "INSERT INTO texts(rowid, text) VALUES (?, ?)",
            ((number, _clean(text)) for number, text in enumerate(texts)),
        )
        run("COMMIT")
        run("INSERT INTO texts(texts) VALUES ('optimize')")

    def expressions(self, queries: Sequence[str]) -> list[str]:
        """Return the FTS5 expression of each query; empty for one that finds nothing."""
        if self._match == "any":
            found = self._tokens(queries)
            return [" OR ".join(_quoted(t) for t in dict.fromkeys(tokens)) for tokens in found]
        read = [read_web_query(query) for query in queries]
        pieces = [piece.text for query in read for branch in query for piece in branch]
        usable = iter([bool(tokens) for tokens in self._tokens(pieces)])
        return [
            _expression([[piece for piece in branch if next(usable)] for branch in query])
            for query in read
        ]

    def search(
        self, expression: str, *, first: int, last: int, depth: int, among: NDArray[np.bool_] | None
    ) -> list[tuple[int, float]]:
        """Return the best matches of an expression.

        Parameters
        ----------
        expression
            From ``expressions``.
        first, last
            Texts to search, both included.
        depth
            Most rows to return.
        among : shape (n_texts,)
            Which texts may be returned, if not all.

        Returns
        -------
        list of (number, value)
            Best first.
        """
        if not expression or last < first:
            return []
        rows = self._database.execute(
            "SELECT rowid, -bm25(texts) FROM texts WHERE texts MATCH ? AND rowid BETWEEN ? AND ?"
            " ORDER BY bm25(texts), rowid LIMIT ?",
            (expression, first, last, depth if among is None else -1),
        )
        if among is None:
            return rows.fetchall()
        found: list[tuple[int, float]] = []
        for row in rows:
            if among[row[0]]:
                found.append(row)
                if len(found) == depth:
                    rows.close()
                    break
        return found

    def close(self) -> None:
        self._database.close()

    def _tokens(self, texts: Sequence[str]) -> list[list[str]]:
        """Return the tokens of each text, as FTS5 cuts and folds them."""
        run = self._database.execute
        found: list[list[str]] = [[] for _ in texts]
        run("BEGIN")
        try:
            self._database.executemany(
                "INSERT INTO pieces(rowid, text) VALUES (?, ?)",
                ((number, _clean(text)) for number, text in enumerate(texts)),
            )
            for number, token in run("SELECT doc, term FROM tokens ORDER BY doc, offset"):
                found[number].append(token)
        finally:
            run("ROLLBACK")
        return found


def _expression(branches: Sequence[Sequence[Piece]]) -> str:
    alternatives = []
    for branch in branches:
        wanted = list(dict.fromkeys(_quoted(p.text) for p in branch if not p.excluded))
        excluded = list(dict.fromkeys(_quoted(p.text) for p in branch if p.excluded))
        if wanted:
            alternative = " AND ".join(wanted)
            if excluded:
                alternative = f"({alternative}) NOT ({' OR '.join(excluded)})"
            alternatives.append(f"({alternative})")
    return " OR ".join(alternatives)


def _quoted(text: str) -> str:
    return '"' + _clean(text).replace('"', '""') + '"'


def _clean(text: str) -> str:
    """Return text that SQLite can take: no NUL (it ends an expression), no lone surrogates."""
    return text.replace("\0", " ").encode("utf-8", "replace").decode()
