"""What worker processes and a cluster gain and cost: one list of settings on every backend.

    python -m tests.benchmarks.scaling [--questions 1000] [--settings 20000]

The settings are unrelated, as a sampler proposes them, so that nothing is shared between them. The
cluster has two processes on this machine. Start-up is part of the time.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Sequence

from sweeper.fanout import Fanout
from sweeper.metrics import parse_metrics
from sweeper.replay import Replay
from tests.benchmarks import peers

__all__ = ["main", "measure"]

KEEP_MEMORY = {
    "MALLOC_TRIM_THRESHOLD_": str(256 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(256 << 20),
}
"""Dask's workers give memory back to the system at once, and arrays of some megabytes then cost a
page fault for every 4 KB, each time. These variables of the GNU C library keep it."""

METRICS = parse_metrics(["recall@5", "recall@10", "mrr"])


def measure(replay: Replay, n_settings: int, ways: dict[str, Fanout]) -> dict[str, float]:
    """Return the seconds that each way takes, start-up included."""
    settings = peers.settings_of(peers.trials(n_settings))
    spent = {}
    for name, fanout in ways.items():
        started = time.perf_counter()
        count = sum(
            len(done.settings) for done in fanout.run(replay, METRICS, settings, lambda: False)
        )
        spent[name] = time.perf_counter() - started
        assert count == len(settings)
    return spent


def _on_cluster(replay: Replay, n_settings: int) -> float:
    from distributed import LocalCluster

    with LocalCluster(  # type: ignore[no-untyped-call]
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster:
        way = {"dask": Fanout("dask", scheduler=cluster.scheduler_address)}
        return measure(replay, n_settings, way)["dask"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one line per backend."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=1000)
    parser.add_argument("--settings", type=int, default=20_000)
    chosen = parser.parse_args(arguments)
    rows = peers.questions(chosen.questions)
    replay = Replay(*peers.pool_of(rows, 20), compiled=False)
    replay.figures(peers.settings_of(peers.trials(10)), METRICS)
    ways = {
        "one process": Fanout("sequential"),
        "two threads": Fanout("threading", n_jobs=2),
        "two processes (loky)": Fanout("loky", n_jobs=2),
    }
    spent = measure(replay, chosen.settings, ways)
    spent["two processes (dask)"] = _on_cluster(replay, chosen.settings)
    os.environ.update(KEEP_MEMORY)
    spent["the same, keeping memory"] = _on_cluster(replay, chosen.settings)
    work = chosen.questions * chosen.settings
    for name, seconds in spent.items():
        rate = work / seconds / 1e6
        print(f"{name:24} {seconds:6.1f} s  {rate:5.2f}M trial-questions a second")


if __name__ == "__main__":
    main()
