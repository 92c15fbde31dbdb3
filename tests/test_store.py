"""A sweep's folder: torn journals, locks that outlive nobody, manifests."""

from __future__ import annotations

import copy
import errno
import functools
import json
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sweeper.errors import EngineError, InputError, StorageError, SweeperError
from sweeper.store import (
    Journal,
    Lock,
    past_sweeps,
    read_journal,
    read_manifest,
    storage_error,
    write_manifest,
)

HEADER = {"spec": "a", "pool": "b"}
RECORDS: list[dict[str, Any]] = [
    {"trial_id": "one", "figures": [0.1, None]},
    {"trial_id": "zwei", "figures": [1 / 3], "text": "é\n🚢"},
    {"trial_id": "three", "figures": [1e-300, 2.0]},
]


def written(path: Path) -> bytes:
    journal = Journal(path, HEADER)
    for record in RECORDS:
        journal.append([record])
    journal.close()
    return path.read_bytes()


def reopened(path: Path, header: dict[str, Any] = HEADER) -> list[dict[str, Any]]:
    journal = Journal(path, header)
    journal.close()
    return journal.records


def test_a_new_journal_is_empty(tmp_path: Path) -> None:
    assert reopened(tmp_path / "journal") == []


def test_records_come_back_in_order(tmp_path: Path) -> None:
    written(tmp_path / "journal")
    assert reopened(tmp_path / "journal") == RECORDS


def test_several_records_may_be_added_at_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", HEADER)
    journal.append(RECORDS[:2])
    journal.append([])
    journal.append(RECORDS[2:])
    journal.close()
    assert reopened(tmp_path / "journal") == RECORDS


def test_a_journal_torn_at_any_byte_of_its_last_record_keeps_the_others(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path)
    start = whole.rindex(b"\n", 0, -1) + 1
    for end in range(start, len(whole)):
        path.write_bytes(whole[:end])
        journal = Journal(path, HEADER)
        assert journal.records == RECORDS[:2], end
        journal.append(RECORDS[2:])
        journal.close()
        assert path.read_bytes() == whole, end


def test_reading_a_torn_journal_leaves_it_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    torn = written(path)[:-3]
    path.write_bytes(torn)
    assert read_journal(path) == RECORDS[:2]
    assert path.read_bytes() == torn


def test_a_journal_that_is_not_there_is_no_empty_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_journal(tmp_path / "journal")


@pytest.mark.parametrize("text", ["", "[]", "5", "[" * 100_000, '{"a": '])
def test_a_line_whose_checksum_fits_but_that_is_no_record_ends_a_journal(
    tmp_path: Path, text: str
) -> None:
    path = tmp_path / "journal.jsonl"
    whole = written(path)
    path.write_bytes(whole + b"%08x %s\n" % (zlib.crc32(text.encode()), text.encode()))
    assert read_journal(path) == RECORDS
    assert reopened(path) == RECORDS
    assert path.read_bytes() == whole


def test_a_journal_torn_inside_its_header_starts_afresh(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path)
    first = whole.index(b"\n") + 1
    for end in range(first):
        path.write_bytes(whole[:end])
        assert reopened(path) == []
        assert path.read_bytes() == whole[:first], end


def test_an_altered_byte_cuts_the_journal_before_its_record(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path)
    lines = whole.splitlines(keepends=True)
    starts = [sum(map(len, lines[:n])) for n in range(len(lines))]
    for place in range(starts[1], len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 0x01
        path.write_bytes(bytes(damaged))
        intact = sum(start <= place for start in starts) - 2
        assert reopened(path) == RECORDS[:intact], place
        assert path.read_bytes() == b"".join(lines[: intact + 1]), place


def test_an_altered_header_starts_afresh(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = bytearray(written(path))
    whole[12] ^= 0x01
    path.write_bytes(bytes(whole))
    assert reopened(path) == []


def test_a_journal_of_another_sweep_starts_afresh(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    written(path)
    assert reopened(path, {"spec": "other", "pool": "b"}) == []
    assert reopened(path) == []


def test_the_order_of_header_keys_does_not_matter(tmp_path: Path) -> None:
    written(tmp_path / "journal")
    assert reopened(tmp_path / "journal", {"pool": "b", "spec": "a"}) == RECORDS


def test_rubbish_after_the_last_record_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    whole = written(path)
    for rubbish in (b"\n", b"\0" * 500, b"deadbeef {}\n", b"zzzzzzzz {}\n", b"00000000 \xff\n"):
        path.write_bytes(whole + rubbish)
        assert reopened(path) == RECORDS
        assert path.read_bytes() == whole


def test_a_journal_is_deleted_when_its_trials_stand_in_the_tables(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal", HEADER)
    journal.remove()
    journal.remove()
    assert not (tmp_path / "journal").exists()


def test_a_journal_that_cannot_be_opened_names_the_results_option(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    with pytest.raises(InputError, match="--results"):
        Journal(tmp_path / "journal", HEADER)


def test_a_full_disk_is_a_storage_error_and_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = Journal(tmp_path / "journal", HEADER)

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(StorageError, match=r"the disk is full\. Free some space"):
        journal.append(RECORDS)
    journal.close()


@pytest.mark.parametrize(
    ("number", "kind", "exit_code"),
    [
        (errno.ENOSPC, StorageError, 4),
        (errno.EDQUOT, StorageError, 4),
        (errno.EIO, StorageError, 4),
        (errno.EACCES, InputError, 2),
        (errno.EROFS, InputError, 2),
        (errno.ENOTDIR, InputError, 2),
    ],
)
def test_a_refusal_of_the_system_has_its_exit_code(
    number: int, kind: type[SweeperError], exit_code: int
) -> None:
    error = storage_error(Path("results/x"), OSError(number, os.strerror(number)))
    assert type(error) is kind
    assert error.exit_code == exit_code
    assert str(error).startswith("results/x: ")


def test_an_error_without_a_number_is_reported_by_its_text() -> None:
    assert "odd" in str(storage_error(Path("x"), OSError("odd")))


HOLD = """
import sys, time
from pathlib import Path
from sweeper.store import Lock
with Lock(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path: Path) -> Any:
    """Return another process that holds the lock of ``tmp_path``."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_lock_that_another_process_holds_is_refused_with_its_number(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    with (
        pytest.raises(EngineError, match=f"process {holder.pid} on .* is running this sweep"),
        Lock(tmp_path),
    ):
        pass  # pragma: no cover


def test_a_lock_is_free_when_its_holder_was_killed(
    tmp_path: Path, holder: subprocess.Popen[str]
) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with Lock(tmp_path):
        assert str(os.getpid()) in (tmp_path / ".lock-holder").read_text("utf-8")


def test_a_lock_is_free_after_its_block_even_when_that_failed(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    with pytest.raises(ZeroDivisionError), Lock(folder):
        1 / 0  # noqa: B018
    with Lock(folder):
        assert folder.is_dir()
    assert not (folder / ".lock-holder").exists()


def test_a_lock_whose_holder_cannot_be_noted_is_given_back(tmp_path: Path) -> None:
    (tmp_path / ".lock-holder").mkdir()
    with pytest.raises(InputError, match="--results"), Lock(tmp_path):
        pass  # pragma: no cover
    (tmp_path / ".lock-holder").rmdir()
    with Lock(tmp_path):
        assert (tmp_path / ".lock-holder").is_file()


def test_a_lock_in_a_place_that_is_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x", "utf-8")
    with pytest.raises(InputError, match="--results"), Lock(tmp_path / "file"):
        pass  # pragma: no cover


MANIFEST: dict[str, Any] = {
    "name": "é",
    "id": "0123abcd",
    "status": "running",
    "started": "2026-11-01T00:00:00+00:00",
    "spec_hash": "0123abcd00",
    "spec": {"config": {}},
    "n_trials": 3,
    "golden": {"path": "golden.jsonl", "digest": "00", "n_queries": 2, "slices": ["entity"]},
    "corpus": {"path": None, "digest": None, "n_entries": 5},
    "pool": {"file": "x.parquet", "digest": "00", "provenance": {"fingerprint": "embedded/1"}},
    "pools": {"": {"file": "x.parquet", "digest": "00", "depth": 4, "provenance": {}}},
    "metrics": ["mrr"],
    "objectives": {"overall.mrr": "maximize"},
    "constraints": ["overall.mrr >= current"],
    "table": {"knob": "rrf_k", "columns": ["overall.mrr"]},
    "plots": [{"x": "overall.mrr", "y": "entity.mrr"}],
    "arms": {"fast": {"from": None, "trial_id": "00"}},
    "versions": {"numpy": "2.0"},
    "files": {"trials.parquet": "00"},
}


def test_a_manifest_comes_back_as_written(tmp_path: Path) -> None:
    write_manifest(tmp_path, MANIFEST)
    write_manifest(tmp_path, {**MANIFEST, "status": "complete"})
    assert read_manifest(tmp_path) == {"version": 1, **MANIFEST, "status": "complete"}
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def places(part: Any, start: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of everything inside a part of JSON, at any depth."""
    inner = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in inner:
        yield (*start, key)
        if isinstance(value, dict | list):
            yield from places(value, (*start, key))


def altered(whole: Any, place: tuple[Any, ...], **value: Any) -> Any:
    """Return JSON with another value at a place; without the place if no value is given."""
    copied = copy.deepcopy(whole)
    target = functools.reduce(lambda part, key: part[key], place[:-1], copied)
    if value:
        target[place[-1]] = value["value"]
    else:
        del target[place[-1]]
    return copied


def stored(folder: Path) -> tuple[Path, dict[str, Any]]:
    write_manifest(folder, MANIFEST)
    path = folder / "manifest.json"
    return path, json.loads(path.read_text("utf-8"))


DAMAGED: tuple[Any, ...] = (None, [], {}, "", 1, -1, True, 1e308, "x" * 300, ["x"], {"x": "x"})
PLACES = [place for place in places(MANIFEST) if place[0] != "version"]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: ".".join(map(str, place)))
def test_a_part_of_a_manifest_that_is_not_as_it_was_written_is_refused_and_no_other(
    tmp_path: Path, place: tuple[Any, ...]
) -> None:
    path, whole = stored(tmp_path)
    was = functools.reduce(lambda part, key: part[key], place, MANIFEST)
    damages = [altered(whole, place)]
    damages += [altered(whole, place, value=v) for v in DAMAGED if json.dumps(v) != json.dumps(was)]
    for damaged in damages:
        path.write_text(json.dumps(damaged), "utf-8")
        manifest = read_manifest(tmp_path)
        message = rf"manifest.json: {place[0]}[\w.]* is missing or damaged\. Run the sweep again\."
        for read in (manifest.__getitem__, manifest.get, manifest.__contains__):
            with pytest.raises(InputError, match=message):
                read(place[0])
        with pytest.raises(InputError, match=message):
            manifest.check()
        assert {name: manifest[name] for name in MANIFEST if name != place[0]} == {
            name: value for name, value in MANIFEST.items() if name != place[0]
        }


@pytest.mark.parametrize("key", MANIFEST)
@pytest.mark.parametrize("damaged", [None, 3.5, [3], {"x": 3.5}])
def test_an_older_manifest_is_refused_by_the_shape_of_its_parts(
    tmp_path: Path, key: str, damaged: object
) -> None:
    path, whole = stored(tmp_path)
    del whole["checks"]
    path.write_text(json.dumps({**whole, key: damaged}), "utf-8")
    with pytest.raises(InputError, match=rf"{key}[\w.]* is missing or damaged"):
        read_manifest(tmp_path)[key]


def test_an_older_manifest_may_lack_what_was_added_since(tmp_path: Path) -> None:
    path, whole = stored(tmp_path)
    for name in ("checks", "versions", "arms", "pools", "files"):
        del whole[name]
    path.write_text(json.dumps(whole), "utf-8")
    manifest = read_manifest(tmp_path)
    manifest.check()
    assert manifest.get("versions", {}) == {}
    assert "usage" not in manifest


@pytest.mark.parametrize("damaged", [None, 3, [], "x", {}, {"name": 3}])
def test_without_its_checksums_no_part_is_believed(tmp_path: Path, damaged: object) -> None:
    path, whole = stored(tmp_path)
    path.write_text(json.dumps({**whole, "checks": damaged}), "utf-8")
    for name in MANIFEST:
        with pytest.raises(InputError, match=f"{name} is missing or damaged"):
            read_manifest(tmp_path)[name]


def test_all_damaged_parts_are_told_at_once(tmp_path: Path) -> None:
    path, whole = stored(tmp_path)
    whole["golden"]["n_queries"] = -1
    whole["planted"] = 3
    del whole["plots"]
    path.write_text(json.dumps(whole), "utf-8")
    with pytest.raises(InputError) as caught:
        read_manifest(tmp_path).check()
    said = [problem.message.partition(" is ")[0] for problem in caught.value.problems]
    assert said == ["golden.n_queries", "plots", "planted"]


def test_a_path_that_is_no_text_is_kept_in_a_manifest(tmp_path: Path) -> None:
    write_manifest(tmp_path, {**MANIFEST, "config_path": "caf\udce9.yaml"})
    assert read_manifest(tmp_path)["config_path"] == "caf\udce9.yaml"


def test_past_sweeps_are_listed_the_latest_last_and_damaged_ones_are_empty(tmp_path: Path) -> None:
    for folder, started in (("a/1", "2026-11-02"), ("a/2", "2026-11-01"), ("b/3", "2026-11-03")):
        write_manifest(tmp_path / folder, {**MANIFEST, "started": started})
    write_manifest(tmp_path / "b" / "4", {"status": "running"})
    found = [
        (path.relative_to(tmp_path).as_posix(), manifest.get("started"))
        for path, manifest in past_sweeps(tmp_path)
    ]
    assert found == [
        ("b/4", None),
        ("a/2", "2026-11-01"),
        ("a/1", "2026-11-02"),
        ("b/3", "2026-11-03"),
    ]


def test_a_folder_without_a_manifest_holds_no_sweep(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no sweep is here"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 99_999, "\ud800".encode("utf-8", "surrogatepass"), "nul\0"]
)
def test_a_manifest_that_cannot_be_read_is_refused_with_a_remedy(
    tmp_path: Path, text: str | bytes
) -> None:
    data = text if isinstance(text, bytes) else text.encode()
    (tmp_path / "manifest.json").write_bytes(data)
    with pytest.raises(InputError, match="Run the sweep again"):
        read_manifest(tmp_path)


@pytest.mark.parametrize("content", [[], 3, {}, {"version": 99}])
def test_a_manifest_of_another_version_is_refused(tmp_path: Path, content: object) -> None:
    (tmp_path / "manifest.json").write_text(json.dumps(content), "utf-8")
    with pytest.raises(InputError, match="another version of sweeper"):
        read_manifest(tmp_path)
