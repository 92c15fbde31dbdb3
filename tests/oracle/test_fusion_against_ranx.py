"""Fusion equals ranx's reciprocal rank fusion: the same scores, and the order that they give.

Rows of equal score have no order in ranx, so they may stand either way.
"""

from __future__ import annotations

import itertools
import warnings

import numpy as np
import pytest

from sweeper.ranking import rank
from sweeper.settings import Settings
from tests.builders import document, found

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # ranx compiles when imported, and warns
    ranx = pytest.importorskip("ranx", reason="ranx is not installed: make benchmarks installs it")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rrf_k", [1, 10, 60, 200])
def test_fused_scores_and_order_equal_ranx(rrf_k: int) -> None:
    rng = np.random.default_rng(rrf_k)
    for _ in range(60):
        lists = [
            [f"d{number:03d}" for number in rng.permutation(30)[: int(rng.integers(1, 20))]]
            for _ in range(2)
        ]
        runs = [
            ranx.Run({"q": {name: 1.0 - place / 100 for place, name in enumerate(names)}})
            for names in lists
        ]
        fused = ranx.fuse(runs, norm=None, method="rrf", params={"k": rrf_k}).to_dict()["q"]
        channels = [
            [document(name, 1.0 - place / 100) for place, name in enumerate(names)]
            for names in lists
        ]
        rows = rank(found(channels[0], channels[1]), Settings(rrf_k=rrf_k, limit=100))
        assert {row.item_id: row.score for row in rows} == pytest.approx(fused, abs=1e-15)
        theirs = [fused[row.item_id] for row in rows]
        assert all(a >= b - 1e-12 for a, b in itertools.pairwise(theirs))
