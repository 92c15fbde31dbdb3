"""Fan-out: chunks of work over this process, its threads, worker processes, or a Dask cluster.

Results come back as they are ready and are kept by the caller, who alone writes. A worker that
dies takes its unfinished chunk along: it is sent again, and what kills its worker every time is
found by running it alone, and reported.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import re
import sys
import time
import warnings
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias

from sweeper.errors import EngineError, InputError
from sweeper.interrupts import Deadline, OutOfTime
from sweeper.metrics import Metric
from sweeper.pools import FloatArray
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.workers import Answer, spread

__all__ = ["BACKENDS", "Backend", "Done", "Fanout"]

Backend: TypeAlias = Literal["auto", "sequential", "threading", "loky", "dask"]
BACKENDS: tuple[Backend, ...] = ("auto", "sequential", "threading", "loky", "dask")

_FROM_TRIAL_QUERIES = 4_000_000
"""Below this, starting worker processes takes longer than all of the replay."""

_ADDRESS = re.compile(r"[a-z]+://[^\s:/]+(:\d+)?(/\S*)?|[a-z]+://\[[0-9a-f:]+\]:\d+")

_CHUNK_TRIAL_QUERIES = 400_000
"""Work per chunk: about a tenth of a second, so that progress moves and a kill costs little."""

_COMPILED_FACTOR = 10
"""How much more work a chunk holds for the compiled kernel, which is as much faster."""

_FRUITLESS_ROUNDS = 3
"""Rounds that break without any result before each chunk is tried alone."""

_TRIES = 3
"""Times that one settings may lose its worker before it is reported."""

_DIED = "its worker process died each time (killed by the system, perhaps for lack of memory)"


# Joblib raises the one that is no subclass of the other.
_LATE = (TimeoutError, multiprocessing.TimeoutError)


class Done(NamedTuple):
    """What became of some settings.

    ``value`` has the shape (n_settings, n_groups, n_metrics); ``None`` where ``error`` says why
    there are no figures.
    """

    settings: tuple[Settings, ...]
    value: FloatArray | None
    error: str | None
    seconds: float
    process: int


@dataclass(frozen=True, slots=True)
class Fanout:
    """How chunks are spread.

    Parameters
    ----------
    backend
        ``auto`` takes worker processes where they win, else this process.
    n_jobs
        Workers; -1 is one per core. A cluster has the workers that it has.
    timeout_seconds
        Longest time for one settings. A chunk that takes longer is tried again settings by
        settings.
    scheduler
        Address of a Dask scheduler.

    Raises
    ------
    InputError
        If the backend lacks its address or package.
    """

    backend: Backend = "auto"
    n_jobs: int = 1
    timeout_seconds: float | None = None
    scheduler: str | None = None

    def __post_init__(self) -> None:
        if self.backend == "dask" and self.scheduler is None:
            raise InputError("the backend dask needs a scheduler, such as tcp://127.0.0.1:8786.")
        if self.scheduler is not None and self.backend != "dask":
            raise InputError("a scheduler is of use to the backend dask alone.")
        if self.scheduler is not None and not _ADDRESS.fullmatch(self.scheduler):
            raise InputError(
                f"a scheduler has an address such as tcp://127.0.0.1:8786, got {self.scheduler!r}."
            )
        if self.backend == "loky" and os.name != "posix":
            raise InputError("worker processes need a POSIX system: take the backend threading.")
        if self.backend == "threading" and self.timeout_seconds is not None:
            raise InputError(
                "a thread cannot be stopped: for a timeout take the backend sequential or loky."
            )

    def run(
        self,
        replay: Replay,
        metrics: Sequence[Metric],
        settings: Sequence[Settings],
        stop: Callable[[], bool],
    ) -> Iterator[Done]:
        """Replay settings and yield their figures as they are ready, in any order.

        Parameters
        ----------
        replay
            What was captured, and the golden set.
        metrics
            What to compute.
        settings
            Distinct.
        stop
            Asked before a chunk is begun; once it says yes, what runs is finished and the rest
            left.
        """
        backend, n_jobs = self._chosen(replay, settings)
        chunks = _chunks(replay, settings, 1 if backend == "sequential" else n_jobs)
        if backend == "sequential":
            yield from self._here(replay, metrics, chunks, stop)
            return
        replay.prepare(settings)
        if backend == "loky":
            yield from self._in_processes(replay, metrics, chunks, n_jobs, stop)
            return
        with self._joblib(replay, backend, n_jobs) as parallel:
            yield from self._spread(parallel, replay, metrics, chunks, stop)

    def _chosen(self, replay: Replay, settings: Sequence[Settings]) -> tuple[Backend, int]:
        n_jobs = self.n_jobs if self.n_jobs > 0 else os.cpu_count() or 1
        if self.backend != "auto":
            alone = n_jobs == 1 and self.backend != "dask"
            return ("sequential" if alone else self.backend), n_jobs
        enough = len(settings) * max(1, replay.judgments.n_queries) >= _FROM_TRIAL_QUERIES
        pays = enough and n_jobs > 1 and os.name == "posix"
        return ("loky" if pays else "sequential"), n_jobs

    def _here(
        self,
        replay: Replay,
        metrics: Sequence[Metric],
        chunks: Sequence[tuple[Settings, ...]],
        stop: Callable[[], bool],
    ) -> Iterator[Done]:
        """Replay in this process, plainly; a chunk that fails is tried again one by one."""
        for chunk in chunks:
            if stop():
                return
            try:
                with Deadline(self.timeout_seconds):
                    done = _replayed(replay, metrics, chunk)
            except Exception as error:
                done = self._failed(chunk, error)
            if done.error is not None and len(chunk) > 1:
                yield from self._here(replay, metrics, [(one,) for one in chunk], stop)
            else:
                yield done

    def _in_processes(
        self,
        replay: Replay,
        metrics: Sequence[Metric],
        chunks: Sequence[tuple[Settings, ...]],
        n_jobs: int,
        stop: Callable[[], bool],
    ) -> Iterator[Done]:
        """Replay in processes. A chunk that is lost goes again, then settings by settings."""
        waiting = deque(chunks)
        n_lost: Counter[tuple[Settings, ...]] = Counter()
        task = partial(_done, replay, metrics)
        spreading = spread(task, waiting, n_jobs, stop=stop, timeout_seconds=self.timeout_seconds)
        with contextlib.closing(spreading):
            for found in spreading:
                chunk = found.item
                if isinstance(found, Answer):
                    again, done = False, found.value
                else:
                    n_lost[chunk] += 1
                    most = _TRIES if len(chunk) == 1 else 2
                    again = found.why == "died" and n_lost[chunk] < most
                    done = Done(chunk, None, _DIED, 0.0, os.getpid())
                    if found.why == "late":
                        done = self._failed(chunk, OutOfTime())
                if again:
                    waiting.append(chunk)
                elif done.error is not None and len(chunk) > 1:
                    waiting.extend((one,) for one in chunk)
                else:
                    yield done

    def _spread(
        self,
        parallel: Callable[..., Any],
        replay: Replay,
        metrics: Sequence[Metric],
        chunks: Sequence[tuple[Settings, ...]],
        stop: Callable[[], bool],
    ) -> Iterator[Done]:
        """Replay through joblib. What is lost with its worker is sent again."""
        waiting = dict(enumerate(chunks))
        fruitless = 0
        while waiting and not stop() and fruitless < _FRUITLESS_ROUNDS:
            fruitless += 1
            with contextlib.suppress(*_lost_worker()):
                for number, done in parallel(replay, metrics, waiting, stop, self.timeout_seconds):
                    if done.error is not None and len(done.settings) > 1:
                        continue  # which of them it was is found below
                    fruitless = 0
                    del waiting[number]
                    yield done
                if not stop():
                    break
        for one in [one for chunk in waiting.values() for one in chunk]:
            if stop():
                return
            yield self._alone(parallel, replay, metrics, (one,))

    def _alone(
        self,
        parallel: Callable[..., Any],
        replay: Replay,
        metrics: Sequence[Metric],
        chunk: tuple[Settings, ...],
    ) -> Done:
        """Replay one settings in a worker of its own; report it if the worker dies each time."""
        for _ in range(_TRIES):
            try:
                [(_, done)] = parallel(replay, metrics, {0: chunk}, _never, self.timeout_seconds)
            except _LATE:
                return self._failed(chunk, OutOfTime())
            except _lost_worker():
                continue
            return done  # type: ignore[no-any-return]
        return Done(chunk, None, _DIED, 0.0, os.getpid())

    def _failed(self, chunk: tuple[Settings, ...], error: Exception) -> Done:
        text = _told(error)
        if isinstance(error, OutOfTime):
            text = f"it took longer than {self.timeout_seconds:g} seconds"
        return Done(chunk, None, text, 0.0, os.getpid())

    @contextlib.contextmanager
    def _joblib(
        self, replay: Replay, backend: Backend, n_jobs: int
    ) -> Iterator[Callable[..., Any]]:
        """Yield a function that replays chunks on a backend of joblib."""
        from joblib import Parallel, delayed, parallel_config

        extra: dict[str, Any] = {}
        with contextlib.ExitStack() as stack:
            if backend == "dask":
                stack.enter_context(_dask_client(str(self.scheduler)))
                extra["scatter"] = [replay]  # sent once to each worker, not with every chunk
                n_jobs = -1
            stack.enter_context(parallel_config(backend=backend, n_jobs=n_jobs, **extra))

            def parallel(
                shared: Replay,
                metrics: Sequence[Metric],
                waiting: dict[int, tuple[Settings, ...]],
                stop: Callable[[], bool],
                timeout: float | None,
            ) -> Iterator[tuple[int, Done]]:
                feed = (
                    delayed(_numbered)(number, shared, metrics, chunk)
                    for number, chunk in dict(waiting).items()
                    if not stop()
                )
                with warnings.catch_warnings():
                    # A generator that is closed early says so; an interrupted sweep knows.
                    warnings.filterwarnings("ignore", message=".*unfinished.*")
                    yield from Parallel(
                        return_as="generator_unordered",
                        batch_size=1,
                        timeout=timeout,
                        pre_dispatch="2*n_jobs",
                    )(feed)

            yield parallel


def _chunks(
    replay: Replay, settings: Sequence[Settings], n_jobs: int
) -> list[tuple[Settings, ...]]:
    """Cut settings into chunks that are worth a message and leave something for every worker."""
    size = max(1, _CHUNK_TRIAL_QUERIES // max(1, replay.judgments.n_queries))
    if replay.compiled:
        size *= _COMPILED_FACTOR
    if n_jobs != 1:
        size = max(1, min(size, math.ceil(len(settings) / (4 * max(2, n_jobs)))))
    return [tuple(settings[at : at + size]) for at in range(0, len(settings), size)]


def _numbered(
    number: int, replay: Replay, metrics: Sequence[Metric], chunk: tuple[Settings, ...]
) -> tuple[int, Done]:
    return number, _done(replay, metrics, chunk)


def _done(replay: Replay, metrics: Sequence[Metric], chunk: tuple[Settings, ...]) -> Done:
    try:
        return _replayed(replay, metrics, chunk)
    except Exception as error:  # it is told by the parent, with the settings at fault
        return Done(chunk, None, _told(error), 0.0, os.getpid())


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _replayed(replay: Replay, metrics: Sequence[Metric], chunk: tuple[Settings, ...]) -> Done:
    started = time.perf_counter()
    value = replay.figures(chunk, metrics).value
    return Done(chunk, value, None, time.perf_counter() - started, os.getpid())


def _never() -> bool:
    return False


def _lost_worker() -> tuple[type[BaseException], ...]:
    """Return the errors by which a cluster says that a worker is gone."""
    if "distributed" not in sys.modules:
        return _LATE
    from distributed.scheduler import KilledWorker

    return (*_LATE, KilledWorker)


@contextlib.contextmanager
def _dask_client(scheduler: str) -> Iterator[None]:
    try:
        import dask
        from distributed import Client
    except ImportError as error:
        raise InputError(
            f"the backend dask needs an extra that cannot be imported ({error}). "
            'Install it: pip install "path/to/sweeper[dask]".'
        ) from error
    try:
        with dask.config.set({"distributed.comm.timeouts.connect": "10s"}):
            client: Any = Client(scheduler, timeout="10s", set_as_default=True)  # type: ignore[no-untyped-call]
    except (OSError, TimeoutError, ValueError) as error:
        raise EngineError(
            f"no Dask scheduler answers at {scheduler} ({type(error).__name__}). Start one with: "
            "dask scheduler"
        ) from error
    with contextlib.closing(client):
        if not client.scheduler_info()["workers"]:
            raise EngineError(
                f"the Dask scheduler at {scheduler} has no workers. Start some with: dask worker "
                f"{scheduler}"
            )
        yield
