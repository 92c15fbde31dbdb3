"""Golden sets, corpora and runs from and to files: JSON, CSV, YAML, folders, TREC, SOAT checkouts.

``io`` reads and writes whole files; ``golden_rows`` and ``corpus_rows`` say which spellings a row
may have; ``records`` and what it stands on know syntax alone.
"""

from sweeper.formats.io import (
    golden_text,
    kind_of_file,
    read_corpus,
    read_golden,
    write_corpus,
    write_golden,
)
from sweeper.formats.soat import import_soat
from sweeper.formats.trec import TrecRun, read_run

__all__ = [
    "TrecRun",
    "golden_text",
    "import_soat",
    "kind_of_file",
    "read_corpus",
    "read_golden",
    "read_run",
    "write_corpus",
    "write_golden",
]
