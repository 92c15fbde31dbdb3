"""Golden sets and corpora from and to files: JSON, JSONL, CSV, TSV, YAML, folders, SOAT checkouts.

``io`` reads and writes whole files; ``golden_rows`` and ``corpus_rows`` say which spellings a row
may have; ``records`` and what it stands on know syntax alone.
"""

from sweeper.formats.io import (
    kind_of_file,
    read_corpus,
    read_golden,
    write_corpus,
    write_golden,
)
from sweeper.formats.soat import import_soat

__all__ = [
    "import_soat",
    "kind_of_file",
    "read_corpus",
    "read_golden",
    "write_corpus",
    "write_golden",
]
