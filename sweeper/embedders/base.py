"""What every embedder promises, and cosines that come out bit for bit equal everywhere.

Ties between near-twin texts decide figures, so equal vectors must have equal cosines, wherever they
stand in a matrix and whatever machine, thread count or batch computes them. Floating-point sums do
not give that: a BLAS adds in another order at the edge of a block. So vectors stand on a *grid*:
every product of two components, and every partial sum of such products, is a multiple of a power
of two that a float64 holds without rounding. A dot product is then exact in any order of summation,
and a cosine is one fixed formula of three exact numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from sweeper.errors import EngineError
from sweeper.pools import FloatArray

__all__ = ["Embedder", "Vectors", "cosines", "on_grid", "squared_lengths"]

Vectors: TypeAlias = NDArray[np.float32]
"""One row per text, on a grid."""

# Unit vectors in steps of 2**-24: a component fits the 24 bits of a float32, a product has 48 bits,
# and a sum of products of two unit vectors never exceeds 1 (Cauchy-Schwarz, also for its parts).
# The step moves a cosine by 2e-8 or so (1e-7 is rare); one batch of a real model differs from the
# next by 1e-7.
_STEPS = float(2**24)


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors. Only the direction of a vector means anything."""

    @property
    def name(self) -> str:
        """Model and dimensions, as provenance and cache key: two names never share vectors."""

    @property
    def dimensions(self) -> int | None:
        """Number of dimensions; ``None`` until a remote model has answered once."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one vector per text: shape (n_texts, dimensions), on a grid, none of length 0.

        Rows have length 1 or, from the feature hasher, are its exact sums. Dense models pass their
        output through ``on_grid``. No texts give shape (0, dimensions or 0).

        Raises
        ------
        EngineError
            If the model fails or gives unusable vectors.
        """


def on_grid(vectors: NDArray[np.floating], *, name: str) -> Vectors:
    """Scale rows to length 1 and round them to the grid.

    Parameters
    ----------
    vectors : shape (n, dimensions)
        As the model gave them.
    name
        Names the model in messages.

    Raises
    ------
    EngineError
        If a value is NaN or infinite, or a row has length 0.
    """
    wide = np.asarray(vectors, np.float64)
    if not np.isfinite(wide).all():
        raise EngineError(f"{name}: a vector holds NaN or infinity. Check the model.")
    largest = np.abs(wide).max(axis=1, initial=0.0)
    if (largest == 0).any():
        raise EngineError(f"{name}: a vector is all zeros and has no direction. Check the model.")
    wide = wide / largest[:, None]  # first, so that squares neither overflow nor vanish
    # Each row by itself and in one order: a row's rounding may not depend on its neighbours.
    lengths = np.sqrt(np.cumsum(wide * wide, axis=1)[:, -1]) if len(wide) else largest
    steps: FloatArray = np.rint(wide / lengths[:, None] * _STEPS)
    return np.asarray(steps / _STEPS, np.float32)


def squared_lengths(vectors: Vectors) -> FloatArray:
    """Return the exact squared length of each row.

    Parameters
    ----------
    vectors : shape (n, dimensions)
        On a grid.

    Returns
    -------
    array of shape (n,)
    """
    wide = vectors.astype(np.float64)
    found: FloatArray = np.einsum("ij,ij->i", wide, wide)
    return found


def cosines(
    dots: FloatArray, squared_lengths_a: FloatArray, squared_lengths_b: FloatArray
) -> FloatArray:
    """Return cosines from exact dot products and squared lengths.

    ``dot / sqrt(aa * bb)``, in this form: a text has cosine 1.0 with itself and none exceeds 1,
    because the square root of a rounded square is the number itself.

    Parameters
    ----------
    dots : shape (n_a, n_b)
        Dot product of each row of a with each of b.
    squared_lengths_a : shape (n_a,)
        From ``squared_lengths``.
    squared_lengths_b : shape (n_b,)
        From ``squared_lengths``.

    Returns
    -------
    array of shape (n_a, n_b)
        In [-1, 1], never -0.0.
    """
    products = squared_lengths_a[:, None] * squared_lengths_b[None, :]
    found: FloatArray = dots / np.sqrt(products) + 0.0
    return found
