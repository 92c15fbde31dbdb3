"""A cache on disk in front of an embedder: no text is embedded twice.

::

    <folder>/<hash of the embedder's name>/name.txt
    <folder>/<hash of the embedder's name>/<random>.npy     one *shard* per finished batch

A shard is a table of (SHA-256 of a text, CRC-32 of the row, vector). It appears whole or not at all
(``files.write_atomically``) and is never changed, so any number of processes may share a folder and
a kill loses at most the batch in flight. A damaged shard is removed, a row whose checksum is wrong
counts as absent, and their texts are embedded again.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import re
import secrets
import zlib
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeper.embedders.base import Embedder, Vectors
from sweeper.errors import EngineError
from sweeper.files import write_atomically

__all__ = ["CachedEmbedder"]

_OURS = re.compile(r"[0-9a-f]{16}\.npy")
_LOG = logging.getLogger(__name__)


class CachedEmbedder:
    """Remembers the vectors of another embedder, by its name and the SHA-256 of each text.

    Parameters
    ----------
    inner
        Asked only for texts that are not in the cache, each once.
    folder
        Made when something is first stored; may be shared by embedders and processes.
    batch_size
        Texts that are embedded, then stored, at a time.
    """

    def __init__(self, inner: Embedder, folder: str | Path, *, batch_size: int = 256) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self._inner = inner
        self._folder = Path(folder) / hashlib.sha256(inner.name.encode()).hexdigest()[:16]
        self._batch_size = batch_size
        self._places: dict[bytes, list[tuple[Path, int]]] = {}
        self._seen: set[str] = set()
        self._dimensions = inner.dimensions

    def __repr__(self) -> str:
        return f"CachedEmbedder({self._inner!r})"

    @property
    def name(self) -> str:
        return self._inner.name

    @property
    def dimensions(self) -> int | None:
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        digests = [_digest(text) for text in texts]
        wanted = dict(zip(digests, texts, strict=True))
        self._index_new_shards()
        found = self._read(list(wanted))
        missing = [digest for digest in wanted if digest not in found]
        for start in range(0, len(missing), self._batch_size):
            batch = missing[start : start + self._batch_size]
            vectors = self._inner.embed([wanted[digest] for digest in batch])
            self._write(batch, vectors)
            found.update(zip(batch, vectors, strict=True))
        if not digests:
            return np.empty((0, self._dimensions or 0), np.float32)
        if len({len(vector) for vector in found.values()}) > 1:
            raise EngineError(
                f"{self.name}: cached vectors have other dimensions than new ones. Delete "
                f'"{self._folder}" and run it again.'
            )
        vectors = np.stack([found[digest] for digest in digests])
        self._dimensions = int(vectors.shape[1])
        return vectors

    def close(self) -> None:
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()

    def _index_new_shards(self) -> None:
        """Learn which texts are stored; other processes may have added shards since."""
        if not self._folder.is_dir():
            return
        for path in sorted(self._folder.glob("*.npy")):
            if path.name in self._seen:
                continue
            self._seen.add(path.name)
            shard = _open(path)
            if shard is not None:
                for row, key in enumerate(shard["key"]):
                    self._places.setdefault(key.tobytes(), []).append((path, row))

    def _read(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        found: dict[bytes, NDArray[np.float32]] = {}
        # More than one round only if a row is damaged and stands in another shard too.
        while True:
            by_shard: dict[Path, list[tuple[bytes, int]]] = {}
            for digest in digests:
                if digest not in found and self._places.get(digest):
                    path, row = self._places[digest].pop()
                    by_shard.setdefault(path, []).append((digest, row))
            if not by_shard:
                return found
            for path, rows in by_shard.items():
                shard = _open(path)  # opened per call: thousands of open maps exhaust descriptors
                if shard is None:
                    continue
                for digest, row in rows:
                    vector = np.array(shard["vector"][row])
                    if shard["check"][row] == _check(digest, vector):
                        found[digest] = vector
                        self._places[digest].append((path, row))
                    else:
                        _LOG.warning("%s: row %d is damaged, embedded again", path, row)

    def _write(self, digests: Sequence[bytes], vectors: Vectors) -> None:
        row = np.dtype(
            [("key", "u1", 32), ("check", "<u4"), ("vector", "<f4", (vectors.shape[1],))]
        )
        shard = np.empty(len(digests), row)
        shard["key"] = np.frombuffer(b"".join(digests), np.uint8).reshape(-1, 32)
        shard["vector"] = vectors
        shard["check"] = [_check(d, v) for d, v in zip(digests, vectors, strict=True)]
        buffer = BytesIO()
        np.save(buffer, shard, allow_pickle=False)
        note = self._folder / "name.txt"
        if not note.exists():
            write_atomically(note, self.name + "\n")
        path = self._folder / f"{secrets.token_hex(8)}.npy"
        write_atomically(path, buffer.getvalue())
        self._seen.add(path.name)
        for place, digest in enumerate(digests):
            self._places.setdefault(digest, []).append((path, place))


def _open(path: Path) -> NDArray[Any] | None:
    """Map a shard, or return ``None`` if it is not one: cut off, damaged, foreign or gone."""
    try:
        shard = np.load(path, mmap_mode="r", allow_pickle=False)
    except OSError as error:
        _LOG.warning("%s: cannot be read, its texts are embedded again (%s)", path, error)
        return None
    except (ValueError, EOFError) as error:
        _LOG.warning("%s: damaged, its texts are embedded again (%s)", path, error)
        if _OURS.fullmatch(path.name):
            with contextlib.suppress(OSError):
                path.unlink()
        return None
    fields = getattr(shard, "dtype", np.dtype("u1")).names
    if fields != ("key", "check", "vector") or shard.ndim != 1 or shard["key"].shape[1:] != (32,):
        _LOG.warning("%s: not a cache file, ignored", path)
        return None
    return np.asarray(shard)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _check(digest: bytes, vector: NDArray[np.float32]) -> int:
    return zlib.crc32(np.ascontiguousarray(vector, "<f4").tobytes(), zlib.crc32(digest))
