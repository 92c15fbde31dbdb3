"""The vector channel of the embedded engine: exact cosine over all vectors, in blocks.

Every figure here is the same on any machine, in any block and on any number of threads (see
``embedders.base``), and ties stand in the order of the texts.
"""

from __future__ import annotations

import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sweeper.embedders import Embedder, Vectors, cosines, squared_lengths
from sweeper.errors import EngineError, StorageError
from sweeper.pools import FloatArray

__all__ = ["DenseIndex", "best"]

_TEXTS_PER_CALL = 2048  # embedded at a time
_BLOCK_BYTES = 64 << 20  # most for the cosines of one block of queries, and for widened rows


class DenseIndex:
    """Vectors of texts, in memory or, if they are many, in a temporary file mapped into it.

    Parameters
    ----------
    texts
        Numbered from 0.
    embedder
        Also embeds the queries.
    folder
        Where the temporary file goes; the system's place if ``None``.
    memory_map_bytes
        Vectors that take more than this go to a file.
    """

    def __init__(
        self,
        texts: Sequence[str],
        embedder: Embedder,
        *,
        folder: Path | None,
        memory_map_bytes: int,
    ) -> None:
        self._embedder = embedder
        self._remove: weakref.finalize[..., DenseIndex] | None = None
        self._vectors: Vectors = np.empty((0, 0), np.float32)
        try:
            for start in range(0, len(texts), _TEXTS_PER_CALL):
                block = _embed(embedder, texts[start : start + _TEXTS_PER_CALL])
                if start == 0:
                    shape = (len(texts), block.shape[1])
                    self._vectors = self._allocate(shape, folder, memory_map_bytes)
                if block.shape[1] != self._vectors.shape[1]:
                    raise EngineError(
                        f"{embedder.name}: vectors differ in length. Check the model."
                    )
                self._vectors[start : start + len(block)] = block
            parts = [squared_lengths(rows) for _, rows in self._row_blocks()]
            self._lengths = np.concatenate([np.empty(0), *parts])
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._vectors)

    def cosines(self, queries: Sequence[str]) -> Iterator[FloatArray]:
        """Return, block by block, the cosine of each query with each text.

        Yields
        ------
        array of shape (some queries, n_texts)
            In the order of the queries.
        """
        if not len(self):
            yield np.empty((len(queries), 0))
            return
        n_queries = max(1, _BLOCK_BYTES // (8 * len(self)))
        for start in range(0, len(queries), n_queries):
            vectors = _embed(self._embedder, queries[start : start + n_queries])
            if vectors.shape[1] != self._vectors.shape[1]:
                raise EngineError(
                    f"{self._embedder.name}: a question has {vectors.shape[1]} dimensions, "
                    f"the texts have {self._vectors.shape[1]}. Check the model."
                )
            wide = vectors.astype(np.float64)
            dots = np.empty((len(vectors), len(self)))
            for first, rows in self._row_blocks():
                dots[:, first : first + len(rows)] = wide @ rows.T.astype(np.float64)
            yield cosines(dots, squared_lengths(vectors), self._lengths)

    def close(self) -> None:
        self._vectors = self._vectors[:0]
        if self._remove is not None:
            self._remove()

    def _row_blocks(self) -> Iterator[tuple[int, Vectors]]:
        size = max(1, _BLOCK_BYTES // (8 * max(1, self._vectors.shape[1])))
        for first in range(0, len(self._vectors), size):
            yield first, self._vectors[first : first + size]

    def _allocate(
        self, shape: tuple[int, int], folder: Path | None, memory_map_bytes: int
    ) -> Vectors:
        if 4 * shape[0] * shape[1] <= memory_map_bytes:
            return np.empty(shape, np.float32)
        try:
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
            place = tempfile.TemporaryDirectory(
                prefix="vectors-", dir=folder, ignore_cleanup_errors=True
            )
            # Removed when the index is closed or forgotten, without a warning for the latter.
            self._remove = weakref.finalize(self, place.cleanup)
            return np.memmap(Path(place.name) / "vectors", np.float32, "w+", shape=shape)
        except OSError as error:
            where = folder or tempfile.gettempdir()
            raise StorageError(
                f"{where}: the vectors cannot be stored ({error.strerror or error}). Free some "
                "space, or give another cache folder."
            ) from error


def best(values: FloatArray, depth: int) -> NDArray[np.intp]:
    """Return the places of the highest values, descending; equal values in their own order.

    Parameters
    ----------
    values : shape (n,)
        No NaN.
    depth
        Most places to return, at least 1.

    Examples
    --------
    >>> best(np.array([0.5, 0.9, 0.5, 0.1]), 2).tolist()
    [1, 0]
    """
    if len(values) > depth:
        # All that reach the last value which fits: more than fit, if that value is tied.
        smallest = np.partition(values, len(values) - depth)[len(values) - depth]
        places = np.flatnonzero(values >= smallest)
    else:
        places = np.arange(len(values))
    return places[np.argsort(-values[places], kind="stable")][:depth]


def _embed(embedder: Embedder, texts: Sequence[str]) -> Vectors:
    vectors = embedder.embed(texts)
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise EngineError(
            f"{embedder.name}: an array of shape {vectors.shape} came for {len(texts)} texts. "
            "There must be one row for each."
        )
    return vectors
