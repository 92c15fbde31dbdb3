"""A sweep's inputs, its engine and its pool: everything before the first trial.

``sweep`` runs trials over it, ``sweep check`` and a gate stop here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from sweeper.capture import capture
from sweeper.config import Config
from sweeper.corpus import Corpus, parse_instant
from sweeper.engines import open_engine
from sweeper.engines.base import Engine
from sweeper.errors import InputError
from sweeper.formats import read_corpus, read_golden
from sweeper.golden import GoldenSet
from sweeper.poolfile import read_pool, write_pool
from sweeper.pools import Pool
from sweeper.store import past_sweeps

__all__ = ["Inputs", "OpenSweep", "Progress", "open_sweep", "read_inputs", "silent", "spec_hash"]


class Progress(Protocol):
    """Told how far a long step is; the command line draws bars with it."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Report ``done`` of ``total``; ``step`` is a short text such as ``capture``."""


def silent(step: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a config names, read and checked together."""

    config: Config
    golden: GoldenSet
    corpus: Corpus | None

    @property
    def corpus_digest(self) -> str | None:
        return None if self.corpus is None else self.corpus.digest


@dataclass(frozen=True, slots=True)
class OpenSweep:
    """A sweep's inputs and its engine."""

    inputs: Inputs
    engine: Engine
    root: Path

    @property
    def spec(self) -> dict[str, Any]:
        """What identifies the sweep; equal specs give equal tables."""
        return {
            "config": self.inputs.config.spec(),
            "golden": self.inputs.golden.digest,
            "corpus": self.inputs.corpus_digest,
            "engine": self.engine.fingerprint,
        }

    @property
    def pool_path(self) -> Path:
        """Where the pool is kept: named by the questions, the engine, the depth and ``as_of``."""
        config = self.inputs.config
        asked = [
            (q.query_id, q.text, sorted(q.filter.items()), q.user)
            for q in self.inputs.golden.queries
        ]
        as_of = config.as_of.isoformat() if config.as_of else "first capture"
        name = spec_hash([asked, self.engine.fingerprint, config.depth, as_of])[:16]
        return self.root / ".pools" / f"{name}.parquet"

    def pool(self, *, progress: Progress = silent) -> tuple[Pool, bool]:
        """Return the candidates of every question, and whether they had to be captured.

        An engine with a fingerprint gives the same candidates for the same questions, so its pools
        are shared by all sweeps under ``root``. A pool file that cannot be read is captured again.
        """
        if self.pool_path.exists():
            with contextlib.suppress(InputError):
                return read_pool(self.pool_path), False
        pool = capture(
            self.inputs.golden,
            self.engine,
            depth=self.inputs.config.depth,
            progress=lambda done, total: progress("capture", done, total),
        )
        write_pool(self.pool_path, pool)
        return pool, True


@contextlib.contextmanager
def open_sweep(config: Config, *, root: str | Path = "results") -> Iterator[OpenSweep]:
    """Read what a config names and open its engine.

    Raises
    ------
    InputError
        With the problems of the first file that has any.
    """
    root = Path(root)
    inputs = read_inputs(config)

    def opened(as_of: datetime) -> OpenSweep:
        engine = open_engine(config, inputs.corpus, as_of=as_of, cache=root / ".cache")
        return OpenSweep(inputs, engine, root)

    with contextlib.ExitStack() as stack:
        found = opened(config.as_of or datetime.now(UTC))
        stack.callback(found.engine.close)
        first = _first_capture(found.pool_path) if config.as_of is None else None
        if first is not None:
            found = opened(first)
            stack.callback(found.engine.close)
        config.check_channels(found.engine.channels)
        yield found


def _first_capture(pool_path: Path) -> datetime | None:
    """Return the instant from which sweeps over this pool measured ages, if there are any.

    A pool that was deleted is so captured again as it was, and its sweeps keep their figures.
    """
    for _, manifest in past_sweeps(pool_path.parent.parent):
        if manifest and manifest["pool"]["file"] == pool_path.name:
            return parse_instant(str(manifest["pool"]["provenance"].get("as_of")))
    return None


def read_inputs(config: Config) -> Inputs:
    """Read the corpus and the golden set that a config names, and check them together.

    Raises
    ------
    InputError
        With all problems of the first file that has any.
    """
    source, corpus = config.corpus, None
    if source is not None:
        corpus = read_corpus(config.existing(source), fields=source.fields or None)
    golden = read_golden(
        config.existing(config.golden),
        fields=config.golden.fields or None,
        corpus_keys=None if corpus is None else corpus.keys,
    )
    config.check_figures(golden)
    return Inputs(config, golden, corpus)


def spec_hash(content: Any) -> str:
    """Return the SHA-256 of what JSON can say, whatever the order of keys."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
