"""The default embedder: a deterministic feature hasher. No model, no key, no network.

It is lexical: it proves that a change regresses nothing and cannot show what a real model gains.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sweeper.embedders.base import Vectors

__all__ = ["HashEmbedder", "tokens"]

# FNV-1a, 32 bit: http://www.isthe.com/chongo/tech/comp/fnv/
_PRIME = np.uint32(16777619)
_OFFSET = 2166136261
_SIGN_OFFSET = 1099511628

_TOKEN_WEIGHT = 1.0
_GRAM_WEIGHT = 0.25  # every sum is an exact multiple of it
_FEW = 16  # fewer long words than this (a base64 blob) are hashed faster without numpy
_TEXTS_PER_BLOCK = 1024  # bounds the memory that intermediate arrays take

# A letter or digit, then letters, digits, "_", ".", "-". Python's \w is the Unicode categories L*
# and N* and "_" (a test holds it to that).
_TOKEN = re.compile(r"[^\W_][\w.\-]*")

_Hashes = NDArray[np.uint32]
_Indices = NDArray[np.int64]


def tokens(text: str) -> list[str]:
    """Return the tokens of a text, in order.

    Examples
    --------
    >>> tokens("The SKU-4711, v1.2.3.")
    ['the', 'sku-4711', 'v1.2.3']
    """
    # A token begins with a letter or digit, so something always remains.
    return [token.rstrip("._-") for token in _TOKEN.findall(text.lower())]


class HashEmbedder:
    """Feature hashing of tokens and of 3-grams within tokens (``docs/semantics.md``).

    Rows are the un-normalised sums, exact multiples of 1/4; a text without features, or whose sums
    all cancel, is the unit vector of dimension 0.

    Parameters
    ----------
    dimensions
        At least 1.

    References
    ----------
    Weinberger, Dasgupta, Langford, Smola, Attenberg, ICML 2009.

    Examples
    --------
    >>> rows = HashEmbedder(1024).embed(["SKU-4711", "..."])
    >>> float(rows[0, 676]), float(rows[0, 95]), float(rows[1, 0])
    (-1.0, 0.25, 1.0)
    """

    def __init__(self, dimensions: int = 1024) -> None:
        if dimensions < 1:
            raise ValueError(f"dimensions must be at least 1, got {dimensions}")
        self._dimensions = dimensions

    def __repr__(self) -> str:
        return f"HashEmbedder({self._dimensions})"

    @property
    def name(self) -> str:
        return f"hash-{self._dimensions}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        found = np.empty((len(texts), self._dimensions), np.float32)
        for start in range(0, len(texts), _TEXTS_PER_BLOCK):
            block = texts[start : start + _TEXTS_PER_BLOCK]
            found[start : start + len(block)] = self._sums(block)
        return found

    def _sums(self, texts: Sequence[str]) -> NDArray[np.float64]:
        vocabulary: dict[str, int] = {}
        ids: list[int] = []
        counts: list[int] = []
        for text in texts:
            once = set(tokens(text))
            counts.append(len(once))
            ids += [vocabulary.setdefault(token, len(vocabulary)) for token in once]
        shape = (len(texts), self._dimensions)
        sums = np.zeros(shape[0] * shape[1])
        if vocabulary:
            text_of = np.repeat(np.arange(len(texts)), counts)
            token_of = np.array(ids, np.int64)
            units, starts, lengths = _utf16(["t:" + token for token in vocabulary])
            self._add(sums, text_of, token_of, units, starts, lengths, _TOKEN_WEIGHT)
            gram_units, grams, first, n_grams = _grams(list(vocabulary))
            # Each (text, token) pair becomes its 3-grams; a 3-gram counts once per text.
            repeat = n_grams[token_of]
            within = np.arange(repeat.sum()) - np.repeat(np.cumsum(repeat) - repeat, repeat)
            gram_of = grams[np.repeat(first[token_of], repeat) + within]
            n_distinct = len(gram_units)
            pairs = np.unique(np.repeat(text_of, repeat) * n_distinct + gram_of)
            self._add(
                sums,
                pairs // n_distinct,
                pairs % n_distinct,
                gram_units.ravel(),
                np.arange(n_distinct) * 5,
                np.full(n_distinct, 5),
                _GRAM_WEIGHT,
            )
        rows = sums.reshape(shape)
        rows[~rows.any(axis=1), 0] = 1.0
        return rows

    def _add(
        self,
        sums: NDArray[np.float64],
        text_of: _Indices,
        feature_of: _Indices,
        units: NDArray[np.uint16],
        starts: _Indices,
        lengths: _Indices,
        weight: float,
    ) -> None:
        """Add the features of each text to its row. ``feature_of`` indexes ``starts``."""
        dimension = _fnv(units, starts, lengths, _OFFSET) % np.uint32(self._dimensions)
        odd = _fnv(units, starts, lengths, _SIGN_OFFSET) & np.uint32(1)
        signed = np.where(odd == 1, -weight, weight)
        cells = text_of * self._dimensions + dimension[feature_of]
        sums += np.bincount(cells, weights=signed[feature_of], minlength=len(sums))


def _utf16(words: Sequence[str]) -> tuple[NDArray[np.uint16], _Indices, _Indices]:
    """Return the UTF-16 code units of all words, and where each begins and how long it is."""
    encoded = [word.encode("utf-16-le", "surrogatepass") for word in words]
    lengths = np.array([len(data) // 2 for data in encoded], np.int64)
    return np.frombuffer(b"".join(encoded), "<u2"), np.cumsum(lengths) - lengths, lengths


def _grams(
    vocabulary: Sequence[str],
) -> tuple[NDArray[np.uint16], _Indices, _Indices, _Indices]:
    """Return the 3-grams of ``^token$`` for every token.

    Returns
    -------
    units : shape (n_distinct, 5)
        Code units of ``g:`` and the 3-gram.
    grams : shape (n_grams,)
        Row of ``units`` of each 3-gram, token by token.
    first, count : shape (n_tokens,)
        Where a token's 3-grams begin in ``grams``, and how many it has.
    """
    units, starts, lengths = _utf16([f"^{token}$" for token in vocabulary])
    count = lengths - 2
    first = np.cumsum(count) - count
    within = np.arange(count.sum()) - np.repeat(first, count)
    begin = np.repeat(starts, count) + within
    wide = units.astype(np.int64)
    packed = wide[begin] << 32 | wide[begin + 1] << 16 | wide[begin + 2]
    distinct, grams = np.unique(packed, return_inverse=True)
    spelled = np.empty((len(distinct), 5), np.uint16)
    spelled[:, 0], spelled[:, 1] = ord("g"), ord(":")
    for place, shift in enumerate((32, 16, 0), 2):
        spelled[:, place] = distinct >> shift & 0xFFFF
    return spelled, grams, first, count


def _fnv(units: NDArray[np.uint16], starts: _Indices, lengths: _Indices, offset: int) -> _Hashes:
    """Hash many words at once: one pass per position, over the words that are long enough."""
    order = np.argsort(-lengths, kind="stable")
    begin, longest_first = starts[order], lengths[order]
    hashes = np.full(len(order), offset, np.uint32)
    for place in range(int(longest_first[0])):
        alive = int(np.searchsorted(-longest_first, -place, side="left"))  # length > place
        if alive < _FEW:
            for word in range(alive):
                rest = slice(begin[word] + place, begin[word] + longest_first[word])
                hashes[word] = _fnv_plain(units[rest].tolist(), int(hashes[word]))
            break
        hashes[:alive] ^= units[begin[:alive] + place]
        hashes[:alive] *= _PRIME
    found = np.empty_like(hashes)
    found[order] = hashes
    return found


def _fnv_plain(units: Sequence[int], value: int) -> int:
    prime = int(_PRIME)
    for unit in units:
        value = (value ^ unit) * prime & 0xFFFFFFFF
    return value
