"""The worker processes of a process, and their end (Linux)."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable
from pathlib import Path

__all__ = ["Killing", "children", "running"]


class Killing:
    """Kills a random worker of this process again and again.

    ``pause`` is asked for the seconds between two looks, ``due`` whether to kill then.
    """

    def __init__(
        self,
        most: int,
        *,
        pause: Callable[[random.Random], float],
        due: Callable[[], bool] = lambda: True,
        seed: int = 0,
    ) -> None:
        self._most, self._pause, self._due, self._rng = most, pause, due, random.Random(seed)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._kill)
        self.count = 0

    def __enter__(self) -> Killing:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _kill(self) -> None:
        while self.count < self._most and not self._over.wait(self._pause(self._rng)):
            if (found := children()) and self._due():
                self.count += 1
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self._rng.choice(found), signal.SIGKILL)


def children(parent: int | None = None) -> list[int]:
    """Return the workers of a process, by default of this one."""
    parent = os.getpid() if parent is None else parent
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and _parent_and_state(folder)[0] == parent:
            try:
                command = (folder / "cmdline").read_text()
            except OSError:
                continue
            if "sweeper.workers" in command:
                found.append(int(folder.name))
    return found


def running(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    return _parent_and_state(Path("/proc", str(pid)))[1] not in ("", "Z", "X")


def _parent_and_state(folder: Path) -> tuple[int, str]:
    try:
        state, parent, *_ = (folder / "stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return 0, ""
    return int(parent), state
