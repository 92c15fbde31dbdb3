"""Ctrl-C in two steps: once, finish what runs and save; twice, stop now."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType

__all__ = ["Deadline", "Interrupts", "OutOfTime"]


class Interrupts:
    """Turns the first Ctrl-C into a wish that can be asked for; the second raises.

    Signals reach the main thread alone, so anywhere else this does nothing.

    Examples
    --------
    >>> with Interrupts() as interrupts:
    ...     interrupts.asked_to_stop()
    False
    """

    def __init__(self) -> None:
        self._asked = False
        self._previous: object = None

    def asked_to_stop(self) -> bool:
        return self._asked

    def __enter__(self) -> Interrupts:
        if threading.current_thread() is threading.main_thread():
            self._previous = signal.getsignal(signal.SIGINT)
            signal.signal(signal.SIGINT, self._interrupted)
        return self

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._previous is not None:
            signal.signal(signal.SIGINT, self._previous)  # type: ignore[arg-type]


_LONGEST = 1e8
"""Seconds, three years; more does not fit every system's clock."""


class OutOfTime(Exception):
    """A piece of work took longer than it may."""


class Deadline:
    """Raises ``OutOfTime`` in its block after some seconds.

    It needs the main thread and an operating system with ``SIGALRM``; elsewhere it does nothing.
    ``None`` is no limit.
    """

    def __init__(self, seconds: float | None) -> None:
        can = threading.current_thread() is threading.main_thread() and hasattr(signal, "setitimer")
        self._seconds = seconds if can else None
        self._previous: object = None

    def __enter__(self) -> Deadline:
        if self._seconds is not None:
            self._previous = signal.signal(signal.SIGALRM, self._late)
            signal.setitimer(signal.ITIMER_REAL, min(self._seconds, _LONGEST))
        return self

    def _late(self, number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._seconds is not None:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, self._previous)  # type: ignore[arg-type]
