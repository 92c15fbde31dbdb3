"""What of a capture from PostgreSQL is the server's time, and what is ours.

    python -m tests.benchmarks.capture [--questions N] [--chunks N] [--depth N] [--index hnsw]

The server is bundled, the corpus synthetic: words drawn by Zipf's law, so that some are everywhere
and most are rare. Questions are of rarer words, or the server would count what is everywhere for
most of its time. Ours is the processor time of this process (embedding, sending, reading, making
the pool) over the elapsed time; the server's work is done by processes of its own. The full size is
10,000 questions over 50,000 chunks. Nothing here fails; a verdict is printed beside each goal.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from sweeper.capture import capture
from sweeper.corpus import STORES, Corpus, Entry
from sweeper.embedders import HashEmbedder
from sweeper.engines.postgres import PostgresEngine
from sweeper.engines.postgres_source import Hnsw, Scratch
from sweeper.golden import GoldenSet, Query
from sweeper.poolfile import read_pool, write_pool

MOST_OURS = 0.15
MOST_BYTES = 60e6 / 10_000  # of one question with two channels of 100 rows
MOST_SECONDS_TO_LOAD = 1.0

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)


def texts(n: int, n_words: int, *, most_common: int, seed: int) -> list[str]:
    """Return texts over a vocabulary of 20,000 words, from the n-th most common on."""
    draw = np.random.default_rng(seed)
    words = np.arange(most_common, 20_001)
    share = 1 / words
    drawn = draw.choice(words, size=(n, n_words), p=share / share.sum())
    return [" ".join(f"word{number}" for number in row) for row in drawn]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--chunks", type=int, default=5_000)
    parser.add_argument("--depth", type=int, default=50)
    parser.add_argument("--dimensions", type=int, default=1024)
    parser.add_argument("--connections", type=int, default=None)
    parser.add_argument("--match", choices=["any", "all"], default="any")
    parser.add_argument("--index", choices=["exact", "hnsw"], default="exact")
    asked = parser.parse_args()
    corpus = Corpus(
        tuple(
            Entry(f"e{n}", text, STORES[n % 2], age_days=float(n % 700) if n % 2 else None)
            for n, text in enumerate(texts(asked.chunks, 120, most_common=1, seed=1))
        )
    )
    golden = GoldenSet(
        tuple(
            Query(f"q{n}", "all", text, (f"e{n % asked.chunks}",))
            for n, text in enumerate(texts(asked.questions, 8, most_common=100, seed=2))
        )
    )
    with PostgresEngine(
        Scratch(corpus),
        embedder=HashEmbedder(asked.dimensions),
        match=asked.match,
        hnsw=Hnsw(ef_search=max(40, asked.depth)) if asked.index == "hnsw" else None,
        as_of=AS_OF,
        n_connections=asked.connections,
    ) as engine:
        start = time.perf_counter()
        engine.candidates([], 1)
        print(f"load         {asked.chunks} chunks in {time.perf_counter() - start:.1f} s")
        start, start_ours = time.perf_counter(), time.process_time()
        pool = capture(golden, engine, depth=asked.depth)
        elapsed, ours = time.perf_counter() - start, time.process_time() - start_ours
    print(
        f"capture      {asked.questions} questions in {elapsed:.1f} s "
        f"({1000 * elapsed / asked.questions:.1f} ms each, {engine.n_threads} connections)"
    )
    verdict(
        "ours",
        f"{ours:.1f} s of processor, {ours / elapsed:.1%} of the time",
        ours / elapsed <= MOST_OURS,
        f"under {MOST_OURS:.0%}",
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pool.parquet"
        write_pool(path, pool)
        size = path.stat().st_size
        start = time.perf_counter()
        read_pool(path)
        seconds = time.perf_counter() - start
    # A question of the goal has 200 rows.
    per_200_rows = size / max(1, pool.n_rows) * 200
    verdict(
        "pool",
        f"{pool.n_rows} rows in {size / 1e6:.1f} MB, {per_200_rows:.0f} bytes per 200 rows",
        per_200_rows <= MOST_BYTES,
        f"under {MOST_BYTES:.0f}",
    )
    verdict(
        "reading it", f"{seconds:.2f} s", seconds <= MOST_SECONDS_TO_LOAD, "within 1 s at full size"
    )


def verdict(what: str, measured: str, met: bool, goal: str) -> None:
    print(f"{what:<12} {measured}: {'goal met' if met else 'MISSED'} ({goal})")


if __name__ == "__main__":
    main()
