"""Worker processes that share nothing but memory that none of them writes.

Each has a pipe of its own, and the end of that pipe is the end of its worker. Pools whose workers
share queues and locks have moments at which a worker that is killed leaves all others, or whoever
reads their answers, waiting for ever; here a kill costs the item that its worker had, whenever it
comes.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait
from typing import IO, Any, Generic, Literal, TypeAlias, TypeVar

from sweeper.errors import EngineError

__all__ = ["Answer", "Lost", "serve", "spread"]

Item = TypeVar("Item")
Value = TypeVar("Value")
_Span: TypeAlias = tuple[int, int]

_MAPPED_BYTES = 1_000_000
"""Arrays from this size on are mapped by every worker, smaller ones copied."""

_ALIGNED = 64

_STILLBORN = 10
"""Deaths of starting workers in a row, and two more for each worker, until that is told."""

_LONGEST_WAIT = 86_400.0
"""Seconds; the system takes no more than 2**31 milliseconds."""

_ORPHANED = 1.0
"""Seconds between a worker's looks whether its parent is still there."""

_READY = "ready"

_START = "import sys; sys.path[:] = sys.argv[4:]; from sweeper.workers import serve; serve()"

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True, slots=True)
class Answer(Generic[Item, Value]):
    """What a worker made of an item."""

    item: Item
    value: Value


@dataclass(frozen=True, slots=True)
class Lost(Generic[Item]):
    """An item whose worker is gone: it ``died``, or was ended since it was ``late``."""

    item: Item
    why: Literal["died", "late"]


def spread(
    function: Callable[[Item], Value],
    waiting: deque[Item],
    n_workers: int,
    *,
    stop: Callable[[], bool],
    timeout_seconds: float | None = None,
) -> Generator[Answer[Item, Value] | Lost[Item]]:
    """Call a function for every item in worker processes; yield what becomes of each, in any order.

    Workers begin as there is something to do for them and are gone when this ends, however it ends.

    Parameters
    ----------
    function
        Sent to each worker once, with all that it holds. It raises nothing, does not return
        ``None``, and what it prints is lost.
    waiting
        Taken from the left; ``None`` is no item. Whoever consumes the answers may add to it.
    n_workers
        Most at a time.
    stop
        Asked before an item is begun; once it says yes, what runs is finished and the rest left.
    timeout_seconds
        Longest time for one item.

    Raises
    ------
    EngineError
        If workers cannot be started, or die one after another while they start.
    """
    with _shared(function) as shared, contextlib.ExitStack() as stack:
        workers: dict[Connection, _Worker] = {}
        stack.callback(_end_all, workers)
        stillborn = 0
        while True:
            todo = 0 if stop() else len(waiting)
            for worker in workers.values():
                if todo and worker.idle:
                    worker.begin(waiting.popleft(), timeout_seconds)
                    todo -= 1
            if not todo and not any(worker.busy for worker in workers.values()):
                return
            starting = sum(not worker.ready for worker in workers.values())
            for _ in range(min(n_workers - len(workers), todo - starting)):
                started = _Worker(shared, n_workers)
                workers[started.pipe] = started
            for worker in _heard(workers):
                told = worker.receive()
                if told is None:
                    del workers[worker.pipe]
                    worker.end()
                    stillborn = 0 if worker.ready else stillborn + 1
                    if stillborn >= _STILLBORN + 2 * n_workers:
                        raise EngineError(
                            f"{stillborn} worker processes were killed while they started, perhaps "
                            "for lack of memory. Take fewer (--jobs), or this process alone with "
                            "--backend sequential."
                        )
                    if worker.busy:
                        yield Lost(worker.item, "late" if worker.late else "died")
                elif worker.busy:
                    item, worker.item = worker.item, None
                    stillborn = 0
                    yield Answer(item, told)
                elif told == _READY:
                    stillborn = 0
                    worker.ready = True
                else:
                    raise EngineError(
                        f"a worker process cannot load what it needs ({told}). Take this process "
                        "alone with --backend sequential."
                    )


def _heard(workers: dict[Connection, _Worker]) -> list[_Worker]:
    """Wait until some worker has something to say or is gone; end those that are late."""
    now = time.monotonic()
    ends = [worker.until for worker in workers.values() if worker.busy]
    nearest = min((end for end in ends if end is not None), default=None)
    pause = None if nearest is None else min(max(0.0, nearest - now), _LONGEST_WAIT)
    heard = wait(list(workers), pause)
    found = [workers[pipe] for pipe in heard]  # type: ignore[index]
    now = time.monotonic()
    for worker in workers.values():
        if worker not in found and worker.busy and worker.until is not None and now > worker.until:
            worker.late = True
            worker.process.kill()
            found.append(worker)
    return found


def _end_all(workers: dict[Connection, _Worker]) -> None:
    for worker in workers.values():
        worker.process.kill()
    for worker in workers.values():
        worker.end()


class _Worker:
    """One process and this process' end of its pipe."""

    def __init__(self, shared: _Shared, n_workers: int) -> None:
        self.ready = False
        self.item: Any = None
        self.until: float | None = None
        self.late = False
        each = str(max(1, (os.cpu_count() or 1) // n_workers))
        try:
            self.pipe, theirs = Pipe()
            with theirs:
                fds = (theirs.fileno(), shared.file.fileno())
                self.process = subprocess.Popen(
                    [sys.executable, "-c", _START, *map(str, (*fds, os.getpid())), *sys.path],
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    pass_fds=fds,
                    # Ctrl-C reaches a whole group; this process decides what becomes of the others.
                    process_group=0,
                    env=dict.fromkeys(_THREADS, each) | dict(os.environ),
                )
        except OSError as error:
            raise EngineError(
                f"a worker process cannot be started ({error}). Take fewer (--jobs), or this "
                "process alone with --backend sequential."
            ) from error
        with contextlib.suppress(OSError):  # it is gone already, and that will be heard
            self.pipe.send((shared.spans, shared.head))

    @property
    def busy(self) -> bool:
        return self.item is not None

    @property
    def idle(self) -> bool:
        return self.ready and self.item is None

    def begin(self, item: object, timeout_seconds: float | None) -> None:
        self.item = item
        if timeout_seconds is not None:
            self.until = time.monotonic() + timeout_seconds
        with contextlib.suppress(OSError):  # as above
            self.pipe.send(item)

    def receive(self) -> Any:
        """Return what the worker says, or ``None`` if it is gone."""
        if self.late:
            return None
        try:
            return self.pipe.recv()
        except (EOFError, OSError):
            return None

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.pipe.close()


@dataclass(frozen=True, slots=True)
class _Shared:
    """A pickled value in memory that workers map: where the pickle lies, and each large array."""

    file: IO[bytes]
    head: _Span
    spans: list[_Span]


@contextlib.contextmanager
def _shared(value: object) -> Iterator[_Shared]:
    """Pickle a value once for all workers, its large arrays as they are (pickle protocol 5)."""
    import cloudpickle  # also functions of a notebook

    with _nameless_file() as file:
        spans: list[_Span] = []

        def keep(buffer: pickle.PickleBuffer) -> bool:
            """Say whether the buffer is pickled with the rest."""
            with buffer.raw() as raw:
                if raw.nbytes < _MAPPED_BYTES:
                    return True
                spans.append(_appended(file, raw))
                return False

        try:
            pickled = cloudpickle.dumps(value, protocol=5, buffer_callback=keep)
            head = _appended(file, memoryview(pickled))
            file.flush()
        except OSError as error:
            raise EngineError(
                f"there is no room for what worker processes share ({error}). Take this process "
                "alone with --backend sequential."
            ) from error
        del pickled
        yield _Shared(file, head, spans)


def _appended(file: IO[bytes], data: memoryview) -> _Span:
    at = -(-file.tell() // _ALIGNED) * _ALIGNED
    file.seek(at)
    file.write(data)
    return at, at + data.nbytes


def _nameless_file() -> IO[bytes]:
    """Return a file that is gone with the last process that has it open."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("sweeper"), "r+b")
    return tempfile.TemporaryFile()


# --- in a worker ----------------------------------------------------------------------------------


def serve() -> None:
    """Be a worker: answer items until the pipe ends, or the parent is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    pipe_fd, file_fd, parent = (int(text) for text in sys.argv[1:4])
    threading.Thread(target=_end_with, args=[parent], daemon=True).start()
    for fd in (pipe_fd, file_fd):
        os.set_inheritable(fd, False)
    with contextlib.suppress(EOFError, OSError), Connection(pipe_fd) as pipe:
        spans, head = pipe.recv()
        try:
            function = _loaded(file_fd, spans, head)
        except Exception as error:
            pipe.send(f"{type(error).__name__}: {error}")
            return
        pipe.send(_READY)
        with contextlib.suppress(MemoryError):  # no room for the answer: the end of the pipe tells
            while True:
                pipe.send(function(pipe.recv()))


def _end_with(parent: int) -> None:
    """End this process soon after its parent, also in the middle of an item."""
    while os.getppid() == parent:
        time.sleep(_ORPHANED)
    os._exit(1)


def _loaded(file_fd: int, spans: Sequence[_Span], head: _Span) -> Any:
    view = memoryview(mmap.mmap(file_fd, 0, access=mmap.ACCESS_READ))
    os.close(file_fd)
    buffers = [view[first:last] for first, last in spans]
    return pickle.loads(view[slice(*head)], buffers=buffers)
