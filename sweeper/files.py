"""Text at the disk's edge: reading a file whole, and replacing one without ever half-writing it.

What the text means is read in ``records`` and ``formats``; binary formats (Parquet) are not read
here.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import os
import re
import secrets
import socket
import stat
from pathlib import Path
from typing import BinaryIO, NoReturn

from sweeper.errors import InputError, Problem, StorageError

__all__ = [
    "MAX_LINE_BYTES",
    "check_regular",
    "decode_text",
    "read_bytes",
    "read_text",
    "refused_path",
    "remove_leftovers",
    "write_atomically",
]

MAX_LINE_BYTES = 100_000_000
"""A line this long is refused: it is a file in the wrong format, not a question or a page."""

_CHUNK_BYTES = 8_000_000

# Published signatures of files that people give by mistake.
_SIGNATURES: tuple[tuple[bytes, str, str], ...] = (
    (b"\x1f\x8b", "a gzip archive", "Unpack it first (gunzip)."),
    (b"PK\x03\x04", "a zip archive or an Excel workbook", "Unpack it, or export it as CSV."),
    (b"PAR1", "a Parquet file", "Call it .parquet, or export it as JSONL, which keeps lists."),
    (b"ARROW1", "an Arrow or Feather file", "Export it as JSONL, which keeps lists."),
    (b"%PDF-", "a PDF", "Extract its text first."),
    (b"\x89PNG", "a PNG image", "Give a text file."),
    (b"BZh", "a bzip2 archive", "Unpack it first (bunzip2)."),
    (b"\xfd7zXZ\x00", "an xz archive", "Unpack it first (unxz)."),
    (b"\x28\xb5\x2f\xfd", "a zstandard archive", "Unpack it first (unzstd)."),
    (b"SQLite format 3\x00", "an SQLite database", "Export the table as CSV."),
    (b"\xd0\xcf\x11\xe0", "an old Office document", "Export it as CSV or text."),
)
_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")
_SAVE_AS_UTF8 = "Save it as UTF-8"


def read_text(path: str | Path, *, allow_empty: bool = False) -> str:
    """Read a text file, UTF-8 with or without a byte order mark. Line ends stay as they are.

    Parameters
    ----------
    path
        A regular file.
    allow_empty
        Return an empty or blank file's text instead of refusing it.

    Raises
    ------
    InputError
        If the file is missing, not a regular file, unreadable, empty, not UTF-8, binary, or has a
        line of ``MAX_LINE_BYTES`` or more. The message names the file, the line and the remedy.
    """
    text = decode_text(_read_lines(Path(path)), path)
    if not allow_empty and not text.strip():
        _refuse(path, "is empty. Give a file with at least one row.")
    return text


def decode_text(data: bytes, path: str | Path) -> str:
    """Decode the bytes of a text file; ``path`` only names them in messages.

    Raises
    ------
    InputError
        If the bytes are not UTF-8 or look binary.
    """
    nul = data.find(b"\0")
    if data.startswith(_UTF16_MARKS) or (nul >= 0 and _every_other_byte_is_nul(data)):
        _refuse(path, f"is UTF-16 text. {_SAVE_AS_UTF8} (iconv -f UTF-16 -t UTF-8).")
    if data.startswith(b"%PDF-"):
        _refuse_binary(data, path, line=None)
    if nul >= 0:
        _refuse_binary(data, path, data.count(b"\n", 0, nul) + 1)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        if data.startswith(tuple(signature for signature, _, _ in _SIGNATURES)):
            _refuse_binary(data, path, line)
        message = (
            f"byte 0x{data[error.start]:02X} is not UTF-8. {_SAVE_AS_UTF8} "
            "(if it is Western text: iconv -f WINDOWS-1252 -t UTF-8)."
        )
        raise InputError(Problem(message, str(path), line)) from error


def _refuse_binary(data: bytes, path: str | Path, line: int | None) -> NoReturn:
    for signature, name, remedy in _SIGNATURES:
        if data.startswith(signature):
            _refuse(path, f"is {name}, not text. {remedy}")
    _refuse(path, "looks like a binary file (a NUL byte). Give a UTF-8 text file.", line)


def read_bytes(path: str | Path) -> bytes:
    """Read any file whole.

    Raises
    ------
    InputError
        If the file is missing, not a regular file, or unreadable.
    """
    path = Path(path)
    check_regular(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(Problem(_why_unreadable(path, error), str(path))) from error


def check_regular(path: str | Path) -> None:
    """Refuse what reading as a file would fail or never end.

    Raises
    ------
    InputError
        If the path is no regular file, or may not be looked at.
    """
    path = Path(path)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(Problem(_why_unreadable(path, error), str(path))) from error
    if stat.S_ISDIR(mode):
        _refuse(path, "is a folder. Give a file.")
    if not stat.S_ISREG(mode):
        _refuse(path, "is not a regular file but a pipe, socket or device. Give a file.")


def _read_lines(path: Path) -> bytes:
    check_regular(path)
    try:
        with path.open("rb") as handle:
            return _read_bounded(handle, path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InputError(Problem(_why_unreadable(path, error), str(path))) from error


def _read_bounded(handle: BinaryIO, path: Path) -> bytes:
    """Read everything, but stop at a line that is too long, before anything is done with it."""
    chunks: list[bytes] = []
    run = 0  # bytes since the last line end
    line = 1
    while chunk := handle.read(_CHUNK_BYTES):
        first = chunk.find(b"\n")
        if run + (len(chunk) if first < 0 else first) >= MAX_LINE_BYTES:
            _refuse(
                path,
                f"a line of {MAX_LINE_BYTES // 1_000_000} MB or more. "
                "Put one row on each line (JSONL), or check that this is the right file.",
                line,
            )
        run = run + len(chunk) if first < 0 else len(chunk) - chunk.rfind(b"\n") - 1
        line += chunk.count(b"\n")
        chunks.append(chunk)
    return b"".join(chunks)


def _every_other_byte_is_nul(data: bytes) -> bool:
    head = data[:1000]
    most = len(head) // 2 * 0.9
    return len(head) >= 4 and (head[0::2].count(0) >= most) != (head[1::2].count(0) >= most)


def _why_unreadable(path: Path, error: OSError | ValueError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return f"there is no such file. {_siblings(path)}"
    if isinstance(error, PermissionError):
        return "this file may not be read. Check its permissions (chmod u+r)."
    reason = getattr(error, "strerror", None) or str(error)
    return f"cannot be read ({reason}). Check the path."


def _siblings(path: Path) -> str:
    if path.parent.is_file():
        return f'"{path.parent}" is a file, not a folder. Check the path.'
    with contextlib.suppress(OSError, ValueError):
        names = [entry.name for entry in path.parent.iterdir()]
        close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.75)
        if close:
            return f'Did you mean "{path.parent / close[0]}"?'
        return "Check the path."
    return f'There is no folder "{path.parent}" either. Check the path.'


def _refuse(path: str | Path, message: str, line: int | None = None) -> NoReturn:
    raise InputError(Problem(message, str(path), line))


def write_atomically(path: str | Path, data: str | bytes) -> None:
    """Replace a file: whoever reads it sees the old content or the new, even after a power cut.

    Missing folders are made. A link is written through; permissions of an existing file stay.

    Parameters
    ----------
    path
        The file to make or replace.
    data
        Text is written as UTF-8, line ends as they are.

    Raises
    ------
    StorageError
        If the disk is full or fails.
    InputError
        If the folder may not be written, or the path is a folder.
    """
    content = data.encode() if isinstance(data, str) else data
    try:
        _replace(Path(os.path.realpath(path)), content)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise _unwritable(path, error) from error


def _replace(target: Path, content: bytes) -> None:
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if target.exists() and not target.is_file():  # a device or a pipe would be gone for good
        message = "is a device or a pipe, and a file of this name is to be written."
        raise InputError(Problem(f"{message} Choose another place.", str(target)))
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f"{_temporary_start()}{os.getpid()}-{secrets.token_hex(8)}.tmp")
    try:
        _write_synced(temporary, content)
        _keep_permissions(target, temporary)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def remove_leftovers(folder: Path) -> None:
    """Delete the temporary files in a folder whose writers were killed.

    A file's name says which process of which machine writes it; what a live one writes stays.
    """
    start = _temporary_start()
    with contextlib.suppress(OSError):
        for path in folder.iterdir():
            if path.name.startswith(start) and path.suffix == ".tmp":
                process = path.name.removeprefix(start).partition("-")[0]
                if process.isdecimal() and not _is_alive(int(process)):
                    path.unlink(missing_ok=True)


def _temporary_start() -> str:
    machine = re.sub(r"[^A-Za-z0-9.]", "", socket.gethostname())[:60]
    return f".{machine}-"


def _is_alive(process: int) -> bool:
    if os.name == "nt":  # there, os.kill ends a process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is somebody else's
    return True


def _write_synced(path: Path, content: bytes) -> None:
    # "x": the name is ours alone. Made by open, so the umask decides its mode, as for any file.
    with path.open("xb") as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())


def _keep_permissions(old: Path, new: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        new.chmod(stat.S_IMODE(old.stat().st_mode))


def _sync_folder(folder: Path) -> None:
    if os.name == "nt":  # Windows cannot open a folder; its rename is durable enough
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        # Some network file systems cannot sync a folder. The file itself is safe by then.
        with contextlib.suppress(OSError):
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = "this folder may not be written. Choose another place, or change its permissions."
_REFUSED = {
    errno.EACCES: _FORBIDDEN,
    errno.EPERM: _FORBIDDEN,
    errno.EROFS: "this file system is read-only. Choose another place.",
    errno.ENOENT: "its folder cannot be made. Choose another place.",
    errno.EISDIR: "is a folder. Give the path of a file.",
    errno.ENOTDIR: "a part of this path is a file, not a folder. Choose another place.",
    errno.EEXIST: "a part of this path is a file, not a folder. Choose another place.",
    errno.ELOOP: "is a link that leads back to itself. Choose another place.",
    errno.ENAMETOOLONG: "this name is too long for the file system. Choose a shorter one.",
}


def _unwritable(path: str | Path, error: OSError | ValueError) -> InputError | StorageError:
    number = getattr(error, "errno", None)
    if number in _REFUSED:
        return InputError(Problem(_REFUSED[number], str(path)))
    if number in _FULL:
        return StorageError(f"{path}: the disk is full. Free some space and run it again.")
    if isinstance(error, ValueError):
        return InputError(Problem(f"is no usable path ({error}). Choose another one.", str(path)))
    reason = error.strerror or str(error)
    return StorageError(f"{path}: cannot be written ({reason}). Check the disk and run it again.")


_CLOSED = "may not be opened. Choose another place, or change its permissions."
_UNUSABLE = {
    **{number: _REFUSED[number] for number in (errno.ENAMETOOLONG, errno.ENOTDIR, errno.ELOOP)},
    errno.EACCES: _CLOSED,
    errno.EPERM: _CLOSED,
}


def refused_path(error: OSError) -> InputError | None:
    """Return what to say of a path that the system refuses to look at; ``None`` of other errors.

    Whether a path exists, or is a folder, is asked in many places, and each such question can be
    refused. What is refused by its name alone is a wrong path, not a bug.
    """
    if error.filename is None or error.errno not in _UNUSABLE:
        return None
    name = os.fsdecode(error.filename)
    shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
    return InputError(Problem(_UNUSABLE[error.errno], shown))


_SHOWN = 300
"""Characters of a path that the system refuses."""
