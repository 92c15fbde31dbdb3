"""Fixtures that several test modules share."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# Properties are tried on fewer examples where a contributor waits.
settings.register_profile("fast", max_examples=30)
settings.register_profile("full", max_examples=100)
settings.load_profile("full" if os.environ.get("SWEEPER_FULL") else "fast")


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder ``shared`` beside the repository: real corpora and reference cases."""
    folder = Path(__file__).resolve().parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("no folder ../shared beside the repository: its corpora are not read")
    return folder


@pytest.fixture(autouse=True)
def _default_log_level() -> Iterator[None]:
    """Undo what a command that ran in this process chose for its messages."""
    yield
    logging.getLogger("sweeper").setLevel(logging.NOTSET)
