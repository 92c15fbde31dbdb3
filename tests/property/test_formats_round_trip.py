"""What is written is read back equal, in every format, whatever the ids and texts look like."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from sweeper.corpus import Corpus, Entry
from sweeper.formats import read_corpus, read_golden, write_corpus, write_golden
from sweeper.golden import GoldenSet, Query
from tests.property.strategies import NASTY_TEXTS, corpora, golden_sets

FULL = bool(os.environ.get("SWEEPER_FULL"))
EXTENSIONS = ("jsonl", "json", "csv", "tsv", "yaml")

ALL_NASTY = GoldenSet(
    tuple(Query(text, f"slice {text}", text, (text,)) for text in NASTY_TEXTS if text.strip())
)
ALL_NASTY_ENTRIES = Corpus(
    tuple(
        Entry(text, text, "memory", text, text, path=text, principals=(text,))
        for text in NASTY_TEXTS
        if text.strip()
    )
)


@pytest.mark.parametrize("extension", EXTENSIONS)
@settings(max_examples=50 if FULL else 12, deadline=None)  # every example waits for the disk
@given(golden=golden_sets())
@example(golden=ALL_NASTY)
def test_a_golden_set_comes_back_as_it_was_written(extension: str, golden: GoldenSet) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"golden.{extension}")
        write_golden(path, golden)
        found = read_golden(path)
    assert found == golden
    assert found.digest == golden.digest


@pytest.mark.parametrize("extension", EXTENSIONS)
@settings(max_examples=50 if FULL else 12, deadline=None)  # every example waits for the disk
@given(corpus=corpora())
@example(corpus=ALL_NASTY_ENTRIES)
def test_a_corpus_comes_back_as_it_was_written(extension: str, corpus: Corpus) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"corpus.{extension}")
        write_corpus(path, corpus)
        found = read_corpus(path)
    assert found == corpus
    assert found.digest == corpus.digest
