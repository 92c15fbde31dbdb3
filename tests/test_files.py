"""Reading text whole, refusing what is no text, and replacing files without half-writing them."""

from __future__ import annotations

import errno
import gzip
import os
import random
import stat
import sys
from pathlib import Path

import pytest

from sweeper.errors import InputError, StorageError
from sweeper.files import MAX_LINE_BYTES, read_text, write_atomically


def refusal(path: str | Path) -> str:
    with pytest.raises(InputError) as caught:
        read_text(path)
    assert caught.value.exit_code == 2
    return str(caught.value)


def written(tmp_path: Path, data: bytes, name: str = "rows.jsonl") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    assert read_text(written(tmp_path, b"\xef\xbb\xbfid,query")) == "id,query"


def test_line_ends_stay_as_they_are(tmp_path: Path) -> None:
    assert read_text(written(tmp_path, b"a\r\nb\rc\n")) == "a\r\nb\rc\n"


def test_a_missing_file_is_named_and_a_similar_one_suggested(tmp_path: Path) -> None:
    written(tmp_path, b"x", "golden.jsonl")
    message = refusal(tmp_path / "goldn.jsonl")
    assert f"{tmp_path}/goldn.jsonl: there is no such file." in message
    assert f'Did you mean "{tmp_path}/golden.jsonl"?' in message


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    assert f'There is no folder "{tmp_path}/nowhere" either.' in refusal(tmp_path / "nowhere/a.csv")


def test_a_file_used_as_a_folder_is_named(tmp_path: Path) -> None:
    path = written(tmp_path, b"x")
    assert f'"{path}" is a file, not a folder.' in refusal(path / "golden.jsonl")


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"{tmp_path}: is a folder. Give a file."


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no device files")
def test_an_endless_device_is_refused_before_it_is_read() -> None:
    assert refusal("/dev/zero") == (
        "/dev/zero: is not a regular file but a pipe, socket or device. Give a file."
    )


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes")
def test_a_pipe_that_nobody_writes_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    os.mkfifo(path)
    assert "is not a regular file" in refusal(path)


def test_a_path_that_no_system_takes_is_refused() -> None:
    assert "cannot be read" in refusal("a\0b")


def test_a_file_that_may_not_be_read_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbid(*args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    path = written(tmp_path, b"x")
    monkeypatch.setattr(Path, "open", forbid)
    assert "may not be read. Check its permissions" in refusal(path)


@pytest.mark.parametrize("data", [b"", b" \n\t\r\n", b"\xef\xbb\xbf"])
def test_an_empty_file_is_refused(tmp_path: Path, data: bytes) -> None:
    assert refusal(written(tmp_path, data)).endswith("is empty. Give a file with at least one row.")


def test_an_empty_file_can_be_wanted(tmp_path: Path) -> None:
    assert read_text(written(tmp_path, b""), allow_empty=True) == ""


def test_a_byte_that_is_not_utf8_has_a_line_and_a_remedy(tmp_path: Path) -> None:
    path = written(tmp_path, "one\ntwo\ncafé\n".encode("latin-1"))
    assert refusal(path) == (
        f"{path}:3: byte 0xE9 is not UTF-8. Save it as UTF-8 "
        "(if it is Western text: iconv -f WINDOWS-1252 -t UTF-8)."
    )


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16_is_recognised(tmp_path: Path, encoding: str) -> None:
    assert "is UTF-16 text. Save it as UTF-8" in refusal(
        written(tmp_path, "id,query\n1,hello\n".encode(encoding))
    )


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (gzip.compress(b"rows", mtime=0), "a gzip archive"),
        (b"PK\x03\x04\x14\0\0\0", "a zip archive or an Excel workbook"),
        (b"PAR1\x15\0\x15", "a Parquet file"),
        (b"ARROW1\0\0", "an Arrow or Feather file"),
        (b"\x28\xb5\x2f\xfd\xff", "a zstandard archive"),
        (b"%PDF-1.7\n%\xe2\xe3", "a PDF"),
        (b"\x89PNG\r\n\x1a\n\0\0", "a PNG image"),
        (b"SQLite format 3\0", "an SQLite database"),
    ],
)
def test_known_binary_formats_are_named(tmp_path: Path, data: bytes, name: str) -> None:
    assert f"is {name}, not text." in refusal(written(tmp_path, data))


def test_a_megabyte_of_rubbish_looks_binary(tmp_path: Path) -> None:
    rubbish = random.Random(7).randbytes(1_000_000)
    assert "looks like a binary file (a NUL byte)" in refusal(written(tmp_path, rubbish))


def test_text_that_begins_like_a_signature_is_text(tmp_path: Path) -> None:
    assert read_text(written(tmp_path, b"PAR1 is a golf score")) == "PAR1 is a golf score"


def test_a_line_of_100_mb_is_refused_with_its_number(tmp_path: Path) -> None:
    path = written(tmp_path, b"one\ntwo\n" + b"x" * MAX_LINE_BYTES)
    assert refusal(path).startswith(f"{path}:3: a line of 100 MB or more.")


def test_a_large_file_of_short_lines_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeper.files.MAX_LINE_BYTES", 10)
    monkeypatch.setattr("sweeper.files._CHUNK_BYTES", 4)
    assert read_text(written(tmp_path, b"123456789\n" * 50)) == "123456789\n" * 50
    assert ":2: a line of" in refusal(written(tmp_path, b"123456789\n1234567890\n"))


def test_writing_makes_folders_and_replaces_content(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "report.md"
    write_atomically(path, "first\r\n")
    write_atomically(path, b"second\n")
    assert path.read_bytes() == b"second\n"
    assert [entry.name for entry in path.parent.iterdir()] == ["report.md"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no permission bits")
def test_permissions_of_a_replaced_file_stay(tmp_path: Path) -> None:
    path = written(tmp_path, b"x")
    path.chmod(0o640)
    write_atomically(path, "y")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_link_is_written_through(tmp_path: Path) -> None:
    path = written(tmp_path, b"x")
    link = tmp_path / "link"
    link.symlink_to(path)
    write_atomically(link, "y")
    assert link.is_symlink()
    assert path.read_text() == "y"


def failing_sync(number: int) -> object:
    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_full_disk_is_a_storage_error_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, b"old")
    monkeypatch.setattr(os, "fsync", failing_sync(errno.ENOSPC))
    with pytest.raises(StorageError, match="the disk is full") as caught:
        write_atomically(path, "new")
    assert caught.value.exit_code == 4
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["rows.jsonl"]


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EACCES, "may not be written"),
        (errno.EPERM, "may not be written"),
        (errno.EROFS, "read-only"),
    ],
)
def test_an_unwritable_folder_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    monkeypatch.setattr(os, "fsync", failing_sync(number))
    with pytest.raises(InputError, match=words) as caught:
        write_atomically(tmp_path / "new", "x")
    assert caught.value.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_failing_disk_is_a_storage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", failing_sync(errno.EIO))
    with pytest.raises(StorageError, match="cannot be written"):
        write_atomically(tmp_path / "new", "x")


def test_writing_over_a_folder_or_below_a_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, b"x")
    for target in (tmp_path, path / "below", tmp_path / ("n" * 300), "a\0b"):
        with pytest.raises(InputError):
            write_atomically(target, "y")
    assert path.read_bytes() == b"x"


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(descriptor: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(tmp_path / "new", "x")
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_refused_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError, match="is a device or a pipe"):
        write_atomically(pipe, "text")
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]
