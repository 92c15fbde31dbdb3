"""Embeddings from a sentence-transformers model on this machine (extra ``models``)."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sweeper.embedders.base import Vectors, on_grid
from sweeper.errors import EngineError, InputError

__all__ = ["SentenceTransformerEmbedder"]

_HASH_BYTES = 1 << 20


class SentenceTransformerEmbedder:
    """A local model. Nothing is downloaded: it reads a folder, or the cache of earlier downloads.

    Batches differ from single texts by about 1e-7 in a cosine, so wrap it in ``CachedEmbedder``:
    vectors that were made once are never made again.

    Parameters
    ----------
    path_or_name
        Folder of the model, or the name of a model that is already in the local cache.
    batch_size
        Texts per forward pass.
    device
        As torch names it. The CPU by default: figures made on another device may differ.

    Raises
    ------
    InputError
        If the extra is not installed, or there is no such model here.
    """

    def __init__(
        self, path_or_name: str | Path, *, batch_size: int = 32, device: str = "cpu"
    ) -> None:
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {batch_size}")
        self._batch_size = batch_size
        self._model = _load(str(path_or_name), device)
        probe = self._encode([""])
        self._dimensions = int(probe.shape[1])
        self._name = f"sentence-transformers:{_identity(str(path_or_name))}:{self._dimensions}"

    def __repr__(self) -> str:
        return f"SentenceTransformerEmbedder({self._name!r})"

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.empty((0, self._dimensions), np.float32)
        return on_grid(self._encode(list(texts)), name=self._name)

    def _encode(self, texts: list[str]) -> np.ndarray[Any, Any]:
        try:
            found = self._model.encode(
                texts,
                batch_size=self._batch_size,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        except (RuntimeError, ValueError, TypeError) as error:
            raise EngineError(f"the embedding model failed: {error}") from error
        return np.asarray(found)


def _load(path_or_name: str, device: str) -> Any:
    folder = Path(path_or_name)
    # A relative or absolute path that is missing must not be taken for a name on a model hub.
    looks_like_a_path = path_or_name.startswith((".", "~", os.sep)) or folder.suffix == ".zip"
    if not folder.is_dir() and (looks_like_a_path or folder.exists()):
        raise InputError(
            f"{path_or_name}: there is no such model folder. Give the folder that holds the "
            "model's config.json or modules.json."
        )
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise InputError(
            f"a sentence-transformers model needs an extra that cannot be imported ({error}). "
            'Install it: pip install "path/to/sweeper[models]".'
        ) from error
    try:
        with _no_progress_bar():
            return SentenceTransformer(path_or_name, device=device, local_files_only=True)
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"{path_or_name}: no usable sentence-transformers model is here ({reason}). Give the "
            "folder of a model; nothing is downloaded."
        ) from error


@contextlib.contextmanager
def _no_progress_bar() -> Iterator[None]:
    """Keep the library's bar for loading weights off the terminal; leave its setting as it was."""
    settings: Any = importlib.import_module("transformers.utils.logging")
    shown = settings.is_progress_bar_enabled()
    settings.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            settings.enable_progress_bar()


def _identity(path_or_name: str) -> str:
    """Return the name of a model, and for a folder a hash of its content: weights are the model."""
    folder = Path(path_or_name)
    if not folder.is_dir():
        return path_or_name
    seen = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if _is_part_of_model(path, folder)):
        seen.update(path.relative_to(folder).as_posix().encode() + b"\0")
        seen.update(path.stat().st_size.to_bytes(8, "little"))
        with path.open("rb") as handle:
            while block := handle.read(_HASH_BYTES):
                seen.update(block)
    return f"{folder.resolve().name}@{seen.hexdigest()[:12]}"


def _is_part_of_model(path: Path, folder: Path) -> bool:
    names = path.relative_to(folder).parts
    hidden = any(name.startswith((".", "__")) for name in names)
    return path.is_file() and not hidden and path.suffix not in {".py", ".md"}
