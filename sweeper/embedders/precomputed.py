"""Vectors that somebody computed elsewhere, looked up by text."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sweeper.embedders.base import Vectors, on_grid
from sweeper.errors import EngineError, InputError, Problem

__all__ = ["PrecomputedEmbedder"]

_REMEDY = (
    "Give a .jsonl of {text, vector}, a .parquet with the columns text and vector, or a .npz with "
    "the arrays text and vector."
)


class PrecomputedEmbedder:
    """Looks vectors up in a file. A text that is not in it is an error, never a guess.

    Parameters
    ----------
    path
        ``.jsonl`` (one object with ``text`` and ``vector`` per line), ``.parquet`` (columns
        ``text`` and ``vector``) or ``.npz`` (arrays ``text``, shape (n,), and ``vector``, shape
        (n, dimensions)). Texts must be exactly the items' texts and the queries.

    Raises
    ------
    InputError
        If the file is missing or unusable, or a text has two different vectors.
    """

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        readers = {".jsonl": _read_jsonl, ".parquet": _read_parquet, ".npz": _read_npz}
        reader = readers.get(self._path.suffix.lower())
        if reader is None:
            raise self._refuse(f"cannot be read as vectors. {_REMEDY}")
        if self._path.exists() and not (self._path.is_file() or self._path.is_dir()):
            raise self._refuse("is not a regular file but a pipe, socket or device. Give a file.")
        try:
            with self._path.open("rb") as handle:
                digest = hashlib.file_digest(handle, "sha256").hexdigest()
            texts, vectors = reader(self._path)
        except OSError as error:
            reason = error.strerror or str(error)
            raise self._refuse(f"cannot be read ({reason}). Check the path.") from error
        except (ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
            raise self._refuse(f"holds no vectors per text ({error}). {_REMEDY}") from error
        if vectors.ndim != 2 or len(texts) != len(vectors) or not vectors.size:
            raise self._refuse(f"texts and vectors do not match, or there are none. {_REMEDY}")
        self._name = f"precomputed:{digest[:12]}:{vectors.shape[1]}"
        try:
            self._vectors = on_grid(vectors, name=str(self._path))
        except EngineError as error:
            raise InputError(str(error)) from error
        self._places: dict[str, int] = {}
        for place, text in enumerate(texts):
            known = self._places.setdefault(text, place)
            if not np.array_equal(self._vectors[known], self._vectors[place]):
                raise self._refuse(
                    f"has two different vectors for {_shown(text)}. Keep one of them."
                )

    def __repr__(self) -> str:
        return f"PrecomputedEmbedder({str(self._path)!r})"

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return int(self._vectors.shape[1])

    def embed(self, texts: Sequence[str]) -> Vectors:
        missing = list(dict.fromkeys(text for text in texts if text not in self._places))
        if missing:
            shown = ", ".join(_shown(text) for text in missing[:3])
            more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
            raise self._refuse(
                f"has no vector for {shown}{more}. Add it, or check that the chunking is the one "
                "that the vectors were made with."
            )
        return self._vectors[[self._places[text] for text in texts]]

    def _refuse(self, message: str) -> InputError:
        return InputError(Problem(message, str(self._path)))


def _shown(text: str) -> str:
    return json.dumps(text if len(text) <= 60 else text[:57] + "...", ensure_ascii=False)


def _read_jsonl(path: Path) -> tuple[list[str], np.ndarray[Any, Any]]:
    texts: list[str] = []
    vectors: list[list[float]] = []
    with path.open(encoding="utf-8-sig") as handle:
        for number, line in enumerate(handle, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                texts.append(_text(row["text"]))
                vectors.append(row["vector"])
            except (ValueError, KeyError, TypeError) as error:
                raise ValueError(f"line {number}: {error}") from error
    return texts, np.array(vectors, np.float64)


def _read_parquet(path: Path) -> tuple[list[str], np.ndarray[Any, Any]]:
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=["text", "vector"])
    texts = [_text(text) for text in table.column("text").to_pylist()]
    return texts, np.array(table.column("vector").to_pylist(), np.float64)


def _read_npz(path: Path) -> tuple[list[str], np.ndarray[Any, Any]]:
    # Opened here: np.load leaves a file open that is no archive.
    with path.open("rb") as handle, np.load(handle, allow_pickle=False) as arrays:
        return [_text(text) for text in arrays["text"].tolist()], arrays["vector"]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is {value!r}")
    return value
