"""The feature hasher against reference sums and cosines that another implementation made."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sweeper.embedders import HashEmbedder, cosines, squared_lengths
from sweeper.embedders.hashing import tokens


@pytest.fixture(scope="module")
def cases(shared: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((shared / "oracle/hasher_cases.json").read_text("utf-8"))
    return loaded


def test_tokens_are_those_of_the_reference(cases: dict[str, Any]) -> None:
    assert len(cases["texts"]) == 32
    for case in cases["texts"]:
        assert tokens(case["text"]) == case["tokens"]


def test_sums_equal_the_reference_exactly(cases: dict[str, Any]) -> None:
    embedder = HashEmbedder(cases["dimensions"])
    found = embedder.embed([case["text"] for case in cases["texts"]])
    for row, case in zip(found, cases["texts"], strict=True):
        assert {str(i): float(row[i]) for i in np.flatnonzero(row)} == case["raw"], case["text"]


def test_cosines_equal_the_reference_to_1e_15(cases: dict[str, Any]) -> None:
    embedder = HashEmbedder(cases["dimensions"])
    for pair in cases["cosines"]:
        a, b = embedder.embed([pair["a"]]), embedder.embed([pair["b"]])
        dots = a.astype(np.float64) @ b.T.astype(np.float64)
        found = float(cosines(dots, squared_lengths(a), squared_lengths(b))[0, 0])
        assert found == pytest.approx(pair["cosine"], rel=1e-15, abs=0), pair
