"""A sweep's folder on disk while it runs: lock, manifest, journal.

``journal.jsonl`` gets one checksummed line per finished trial, appended by one writer. A line that
a kill tore is cut off when the sweep resumes; every line before it counts. The finished tables are
written by ``frames``.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import json
import os
import socket
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from sweeper.errors import EngineError, InputError, StorageError, SweeperError
from sweeper.files import read_bytes, read_text, write_atomically
from sweeper.manifest_parts import CHECKS, MANIFEST_VERSION, Manifest, checks_of

__all__ = [
    "ANSWERS",
    "JOURNAL",
    "MANIFEST",
    "Journal",
    "Lock",
    "clear_finished",
    "is_locked",
    "journal_header",
    "past_sweeps",
    "read_journal",
    "read_manifest",
    "storage_error",
    "unreadable",
    "usage_file",
    "write_manifest",
]

MANIFEST = "manifest.json"
JOURNAL = "journal.jsonl"
ANSWERS = "answers.jsonl"
"""The journal of what an engine without candidates answered; it is kept."""
_HOLDER = ".lock-holder"


def usage_file(name: str) -> str:
    """Return the name of the file that holds a usage log of a sweep."""
    return f"usage-{name}.jsonl"


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a sweep's folder; its parts are checked when they are read.

    Raises
    ------
    InputError
        If there is none, or it cannot be read.
    """
    path = folder / MANIFEST
    if not os.path.lexists(path):
        raise InputError(f"{folder}: no sweep is here ({MANIFEST} is missing). Check the path.")
    try:
        parts = json.loads(read_text(path))
    except InputError as error:
        raise unreadable(path, error) from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({error}). Run the sweep again.") from error
    if not isinstance(parts, dict) or parts.get("version") != MANIFEST_VERSION:
        raise InputError(f"{path}: was written by another version of sweeper. Run the sweep again.")
    return Manifest(path, parts)


def unreadable(path: Path, error: InputError) -> InputError:
    """Return what to say of a sweep's own file that cannot be read: only a run mends it."""
    reason = error.problems[0].message.partition(". ")[0].rstrip(".")
    return InputError(f"{path}: cannot be read ({reason}). Run the sweep again.")


def past_sweeps(root: Path) -> list[tuple[Path, Mapping[str, Any]]]:
    """Return the folder and manifest of each sweep under a results folder, the latest last.

    A manifest that cannot be read, or not in what a list shows of it, is returned empty.
    """
    found = []
    for path in root.glob(f"*/*/{MANIFEST}"):
        manifest: Mapping[str, Any] = {}
        with contextlib.suppress(InputError):
            read = read_manifest(path.parent)
            read.check(_LISTED)
            manifest = read
        found.append((path.parent, manifest))
    return sorted(found, key=lambda item: (str(item[1].get("started", "")), str(item[0])))


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest."""
    parts = json.loads(json.dumps({"version": MANIFEST_VERSION, **manifest}))
    text = json.dumps({**parts, CHECKS: checks_of(parts)}, indent=2, ensure_ascii=False)
    # A path need not be UTF-8: the bytes that are not are escaped, as JSON can.
    write_atomically(folder / MANIFEST, f"{text}\n".encode("utf-8", "backslashreplace"))


_LISTED = ("name", "started", "status", "n_trials", "golden")


def journal_header(path: Path) -> dict[str, Any]:
    """Return what a journal's records hang on; empty if it cannot be read."""
    try:
        with path.open("rb") as file:
            found = _checked(file.readline())
    except OSError:
        return {}
    return {} if found is None else found[1]


def is_locked(folder: Path) -> bool:
    """Return whether a live process holds a sweep's folder."""
    path = folder / ".lock"
    if not path.exists():
        return False
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except (Timeout, OSError):
        return True
    lock.release()
    return False


class Journal:
    """Finished trials, one line each: a CRC-32 of the JSON text, a space, the JSON text.

    Parameters
    ----------
    path
        Created when missing. Opening it cuts off a torn tail.
    header
        Identifies what the lines mean; a journal with another header is started afresh.

    Raises
    ------
    StorageError
        If the disk is full or the file cannot be written.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path = path
        self.records: list[dict[str, Any]] = []
        """What was already there, in order."""
        text = json.dumps(dict(header), sort_keys=True)
        with _storage(path):
            self._file = path.open("a+b")
            end = self._read(text)
            if end != path.stat().st_size:
                self._file.truncate(end)
            if end == 0:
                self._write([_line(text)])

    def _read(self, header: str) -> int:
        """Read whole, intact lines; return where they end."""
        self._file.seek(0)
        end = 0
        for number, raw in enumerate(self._file):
            found = _checked(raw)
            if found is None:
                break
            text, record = found
            if number == 0:
                if text != header:
                    return 0
            else:
                self.records.append(record)
            end += len(raw)
        return end

    def append(self, records: Iterable[Mapping[str, Any]]) -> None:
        """Add records and wait until the disk has them."""
        with _storage(self.path):
            self._write([_line(json.dumps(dict(record))) for record in records])

    def _write(self, lines: list[bytes]) -> None:
        self._file.write(b"".join(lines))
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; it may be called twice."""
        with contextlib.suppress(OSError):
            self._file.close()

    def remove(self) -> None:
        """Delete the journal once its trials stand in the tables."""
        self.close()
        self.path.unlink(missing_ok=True)


def read_journal(path: Path) -> list[dict[str, Any]]:
    """Return a journal's records and leave the file as it is, torn tail and all.

    Raises
    ------
    InputError
        If it cannot be read.
    """
    try:
        lines = read_bytes(path).splitlines(keepends=True)
    except InputError as error:
        raise unreadable(path, error) from error
    intact = itertools.takewhile(lambda found: found is not None, map(_checked, lines))
    return [found[1] for found in itertools.islice(intact, 1, None) if found is not None]


def _line(text: str) -> bytes:
    data = text.encode()
    return b"%08x " % zlib.crc32(data) + data + b"\n"


def _checked(raw: bytes) -> tuple[str, dict[str, Any]] | None:
    """Return the text of an intact line and its record, ``None`` for a torn or altered one."""
    if not raw.endswith(b"\n") or raw[8:9] != b" ":
        return None
    data = raw[9:-1]
    try:
        if int(raw[:8], 16) != zlib.crc32(data):
            return None
        text = data.decode()
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return (text, record) if isinstance(record, dict) else None


@contextlib.contextmanager
def _storage(path: Path) -> Iterator[None]:
    """Turn an operating system's refusal into one clear message."""
    try:
        yield
    except OSError as error:
        raise storage_error(path, error) from error


def storage_error(path: Path, error: OSError) -> SweeperError:
    """Return the error to report when a file under ``results`` cannot be written."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return StorageError(
            f"{path}: the disk is full. Free some space and run the same command again; "
            "finished settings are kept."
        )
    reason = (error.strerror or str(error)).lower()
    if error.errno in _REFUSED:
        return InputError(f"{path}: cannot be written ({reason}). Choose another --results folder.")
    return StorageError(f"{path}: cannot be written ({reason}). Check the disk.")


_REFUSED = {
    *(errno.EACCES, errno.EPERM, errno.EROFS),
    *(errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENAMETOOLONG),
}


class Lock:
    """One sweep's folder belongs to one process at a time.

    It is a lock of the operating system, so it is gone when its owner is, however that ended. The
    file beside it only says who holds it.

    Raises
    ------
    EngineError
        When another live process holds it.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._holder = folder / _HOLDER
        self._lock = FileLock(folder / ".lock")
        self.taken_over: str | None = None
        """Says whose lock this was, if its owner died without giving it back."""

    def __enter__(self) -> Lock:
        with _storage(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                holder = ""
                with contextlib.suppress(OSError):
                    holder = self._holder.read_text(encoding="utf-8", errors="replace").strip()
                raise EngineError(
                    f"{self._folder}: {holder or 'another process'} is running this sweep. "
                    "Wait for it or stop it, then run the same command again."
                ) from None
            with contextlib.suppress(OSError):
                dead = self._holder.read_text(encoding="utf-8", errors="replace").strip()
                self.taken_over = f"{dead} ended in the middle of this sweep; going on from there."
            try:
                me = f"process {os.getpid()} on {socket.gethostname()}"
                self._holder.write_text(me, "utf-8")
            except OSError:
                self._lock.release()
                raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._holder.unlink(missing_ok=True)
        self._lock.release()


def clear_finished(folder: Path) -> None:
    """Remove what a process left of a finished sweep that died after its last write.

    Nothing is touched while a live process holds the folder, or where nothing may be written.
    """
    if any((folder / name).is_file() for name in (_HOLDER, JOURNAL)):
        with contextlib.suppress(SweeperError, OSError), Lock(folder):
            (folder / JOURNAL).unlink(missing_ok=True)
