"""The loop: what is tried, kept, resumed, repeated and refused."""

from __future__ import annotations

import errno
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sweeper import fanout as work
from sweeper.config import Config, load_config
from sweeper.dry_run import outlook
from sweeper.errors import EngineError, InputError, StorageError
from sweeper.fanout import Fanout
from sweeper.results import Results
from sweeper.store import Journal, Lock, read_manifest
from sweeper.sweep import Summary, run_sweep
from tests.processes import children
from tests.projects import (
    CONFIG,
    ENTRIES,
    QUESTIONS,
    assert_same_frames,
    leftovers,
    sweeps,
    write_project,
    write_rows,
)

FULL = bool(os.environ.get("SWEEPER_FULL"))
NO_AS_OF = CONFIG.replace("as_of: 2026-11-01T00:00:00Z\n", "")


@pytest.fixture
def config(tmp_path: Path) -> Config:
    return load_config(write_project(tmp_path))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "results"


def run(config: Config, root: Path, **options: Any) -> Summary:
    return run_sweep(config, root=root, **options)


def changed(config: Config, *overrides: str) -> Config:
    return load_config(config.path, overrides)


# --- what is tried --------------------------------------------------------------------------------


def test_the_current_setting_and_its_line_are_tried_and_marked_though_the_grid_lacks_them(
    config: Config, root: Path
) -> None:
    trials = run(config, root).results.trials
    assert len(trials) == 2 * 3 * 3 + 3
    assert trials["in_space"].sum() == 18
    outside = trials[~trials["in_space"]]
    assert outside["param_rrf_k"].tolist() == [60, 60, 60]
    assert outside["param_recency_half_life_days"].tolist() == [0, 7, 30.5]
    assert outside["on_line"].all()
    assert trials["is_current"].sum() == 1
    assert trials.loc[trials["is_current"], "param_recency_half_life_days"].tolist() == [0]


def test_the_current_setting_inside_the_grid_is_tried_once_and_marked(
    config: Config, root: Path
) -> None:
    trials = run(changed(config, "current.rrf_k=20"), root).results.trials
    assert len(trials) == 18
    assert trials["in_space"].all()
    assert trials["on_line"].sum() == 3
    assert trials["is_current"].sum() == 1


@pytest.mark.parametrize(
    "space",
    ["{}", "{rrf_k: [60]}", "{rrf_k: [7]}", "{weights.vector: [0, 1]}", "{depth: [1, 9, limit]}"],
)
def test_spaces_of_any_shape_have_their_table(config: Config, root: Path, space: str) -> None:
    results = run(changed(config, f"space={space}"), root).results
    assert results.trials["is_current"].sum() == 1
    assert results.wide()["fresh.mrr"].notna().all()


# --- jobs -----------------------------------------------------------------------------------------


def test_two_jobs_run_in_two_processes_and_give_the_frames_of_one(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = changed(config, f"space.rrf_k={list(range(1, 301))}")
    at_work: list[int] = []

    def look(step: str, done: int, total: int) -> None:
        if step == "replay" and done:
            at_work.append(len(children()))

    one = run(many, root / "one", progress=look)
    assert (one.n_processes, max(at_work)) == (1, 0)
    monkeypatch.setattr(work, "_FROM_TRIAL_QUERIES", 0)
    two = run(many, root / "two", fanout=Fanout(n_jobs=2), progress=look)
    assert max(at_work) == 2
    # One of the two may have answered everything before the other was ready.
    assert two.n_processes == read_manifest(two.results.folder)["n_processes"] <= 2
    assert_same_frames(one.results.folder, two.results.folder)


def test_little_work_is_not_worth_a_second_process(config: Config, root: Path) -> None:
    assert run(config, root, fanout=Fanout(n_jobs=2)).n_processes == 1


# --- resume, repeat, change -----------------------------------------------------------------------


@pytest.fixture
def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep every trial on its own, so that an interruption leaves some."""
    monkeypatch.setattr(work, "_CHUNK_TRIAL_QUERIES", 1)


class _InterruptedError(Exception):
    pass


def interrupted_after(config: Config, root: Path, count: int) -> None:
    def stop(step: str, done: int, total: int) -> None:
        if step == "replay" and done >= count:
            raise _InterruptedError

    with pytest.raises(_InterruptedError):
        run(config, root, progress=stop)


@pytest.mark.usefixtures("small_steps")
def test_an_interrupted_sweep_is_completed_with_the_frames_of_an_uninterrupted_one(
    config: Config, root: Path
) -> None:
    whole = run(config, root / "whole").results
    interrupted_after(config, root / "other", 5)
    [folder] = sweeps(root / "other")
    with pytest.raises(InputError, match=r"has not finished\. Run the same command again"):
        Results(folder)
    again = run(config, root / "other")
    assert (again.n_run, again.n_kept) == (16, 5)
    assert not again.captured
    assert_same_frames(whole.folder, again.results.folder)
    assert leftovers(root) == []


@pytest.mark.usefixtures("small_steps")
@pytest.mark.parametrize("damage", ["torn", "altered", "emptied"])
def test_a_damaged_journal_costs_the_damaged_trials_alone(
    config: Config, root: Path, damage: str
) -> None:
    whole = run(config, root / "whole").results
    interrupted_after(config, root / "other", 5)
    [folder] = sweeps(root / "other")
    journal = folder / "journal.jsonl"
    data = journal.read_bytes()
    lines = data.splitlines(keepends=True)
    journal.write_bytes(
        {
            "torn": data[:-7],
            "altered": b"".join([*lines[:3], lines[3].replace(b"0", b"1"), *lines[4:]]),
            "emptied": b"",
        }[damage]
    )
    again = run(config, root / "other")
    assert again.n_kept == {"torn": 4, "altered": 2, "emptied": 0}[damage]
    assert_same_frames(whole.folder, again.results.folder)


def test_a_finished_sweep_is_shown_again_without_work(config: Config, root: Path) -> None:
    first = run(config, root)
    before = {path: path.stat().st_mtime_ns for path in first.results.folder.iterdir()}
    second = run(config, root)
    assert (second.n_run, second.n_kept, second.captured) == (0, 21, False)
    assert second.results.folder == first.results.folder
    del before[first.results.folder / ".lock"]
    for path, moment in before.items():
        assert path.stat().st_mtime_ns == moment, path


def test_fresh_repeats_a_finished_sweep_under_a_second_id(config: Config, root: Path) -> None:
    first = run(config, root)
    second = run(config, root, fresh=True)
    assert second.results.folder.name == f"{first.results.folder.name}-2"
    assert any("it repeats" in text for text in second.notes)
    assert_same_frames(first.results.folder, second.results.folder)
    assert run(config, root).results.folder == second.results.folder


@pytest.mark.usefixtures("small_steps")
def test_fresh_completes_a_repetition_that_was_interrupted(config: Config, root: Path) -> None:
    run(config, root)

    def stop(step: str, done: int, total: int) -> None:
        if done == 3:
            raise _InterruptedError

    with pytest.raises(_InterruptedError):
        run(config, root, fresh=True, progress=stop)
    assert run(config, root, fresh=True).n_kept == 3
    assert sorted(path.name[8:] for path in (root / "small").iterdir()) == ["", "-2"]


def test_a_changed_spec_makes_a_new_id_and_says_what_changed(config: Config, root: Path) -> None:
    first = run(config, root)
    second = run(changed(config, "space.rrf_k=[1, 30]"), root)
    name = first.results.folder.name
    assert second.results.folder.name != name
    assert f"new sweep {second.results.folder.name}; changed since {name}: space." in second.notes


def test_a_changed_golden_set_or_corpus_makes_a_new_id(config: Config, root: Path) -> None:
    run(config, root)
    write_project(config.path.parent, questions=QUESTIONS[:5])
    assert any(text.endswith(": golden.") for text in run(config, root).notes)
    write_project(config.path.parent, entries=(*ENTRIES[:-1], {**ENTRIES[-1], "text": "new"}))
    assert any("corpus" in text for text in run(config, root).notes)
    assert len(sweeps(root)) == 3


def test_a_change_of_plots_or_table_makes_no_new_sweep(config: Config, root: Path) -> None:
    first = run(config, root).results
    other = changed(
        config, "plots=[{x: entity.mrr, y: overall.mrr}]", "table.columns=[overall.recall@1]"
    )
    second = run(other, root)
    assert second.n_run == 0
    assert second.results.folder == first.folder
    assert second.results.manifest["plots"] == [{"x": "entity.mrr", "y": "overall.mrr"}]
    assert second.results.manifest["table"]["columns"] == ["overall.recall@1"]


@pytest.mark.parametrize("name", ["trials", "figures", "per_query", "golden"])
@pytest.mark.parametrize("how", ["deleted", "damaged", "changed"])
def test_a_finished_sweep_whose_table_is_gone_is_run_again(
    config: Config, root: Path, name: str, how: str
) -> None:
    first = run(config, root).results
    run(changed(config), root / "whole")
    path = first.folder / ("golden.jsonl" if name == "golden" else f"{name}.parquet")
    if how == "deleted":
        path.unlink()
    elif how == "damaged":
        path.write_bytes(b"PAR1 nonsense")
    elif name == "golden":
        path.write_bytes(path.read_bytes().replace(b"rent of the shed", b"rent of the boat"))
    else:
        pd.read_parquet(path).iloc[::-1].to_parquet(path, index=False)
    again = run(config, root)
    assert again.n_run == 21
    assert_same_frames(sweeps(root / "whole")[0], again.results.folder)


@pytest.mark.parametrize(
    "edit",
    [
        {"table": 3},
        {"spec": "x"},
        {"metrics": None},
        {"pool": {"file": 1}},
        {"n_trials": 7},
        {"version": 99},
    ],
)
def test_a_manifest_that_was_edited_by_hand_or_is_of_another_version_is_replaced(
    config: Config, root: Path, edit: dict[str, Any]
) -> None:
    folder = run(config, root).results.folder
    path = folder / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text("utf-8")), **edit}), "utf-8")
    again = run(config, root)
    assert again.n_run == 21
    assert again.results.folder == folder
    assert len(again.results.trials) == 21


def test_an_unreadable_neighbour_does_not_stop_a_new_sweep(config: Config, root: Path) -> None:
    folder = run(config, root).results.folder
    (folder / "manifest.json").write_text("{", "utf-8")
    assert run(changed(config, "limit=3"), root).n_run > 0


def test_what_a_killed_process_left_is_removed_and_what_a_live_one_writes_stays(
    config: Config, root: Path
) -> None:
    from sweeper.files import _temporary_start

    folder = run(config, root).results.folder
    dead = folder / f"{_temporary_start()}{2**22 + 1}-00ff.tmp"
    alive = folder / f"{_temporary_start()}{os.getpid()}-00ff.tmp"
    foreign = folder / ".elsewhere-1-00ff.tmp"
    for path in (dead, alive, foreign, root / ".pools" / dead.name):
        path.touch()
    run(config, root)
    assert leftovers(root) == sorted([alive, foreign], key=leftovers(root).index)


# --- the pool and as_of ---------------------------------------------------------------------------


def only_pool(root: Path) -> Path:
    [path] = (root / ".pools").glob("*.parquet")
    return path


def test_a_pool_is_shared_by_sweeps_over_the_same_questions(config: Config, root: Path) -> None:
    assert run(config, root).captured
    assert not run(changed(config, "space.rrf_k=[3]"), root).captured
    only_pool(root)


def test_a_deeper_sweep_captures_anew(config: Config, root: Path) -> None:
    run(config, root)
    assert run(changed(config, "depth=6"), root).captured


def test_a_damaged_pool_is_captured_again(config: Config, root: Path) -> None:
    first = run(config, root).results
    path = only_pool(root)
    data = path.read_bytes()
    path.write_bytes(data[:-20])
    second = run(changed(config, "space.rrf_k=[3]"), root)
    assert second.captured
    assert path.read_bytes() == data
    assert first.pool.digest == second.results.pool.digest


def test_without_as_of_the_first_capture_gives_it_and_it_stays(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dated = [
        {**{k: v for k, v in row.items() if k != "age_days"}, "updated_at": "2026-06-01"}
        for row in ENTRIES
    ]
    config = load_config(write_project(tmp_path, NO_AS_OF, entries=dated))
    first = run(config, root).results
    as_of = first.manifest["pool"]["provenance"]["as_of"]
    digest = first.pool.digest
    time.sleep(0.01)
    other = run(changed(config, "space.rrf_k=[3]"), root).results
    assert other.manifest["pool"]["provenance"]["as_of"] == as_of
    only_pool(root).unlink()
    shown = run(config, root)
    assert shown.captured
    assert shown.results.pool.digest == digest
    only_pool(root).unlink()
    third = run(changed(config, "space.rrf_k=[4]"), root).results
    assert third.pool.digest == digest


def test_a_deleted_pool_is_named_and_a_run_captures_it_again(config: Config, root: Path) -> None:
    results = run(config, root).results
    only_pool(root).unlink()
    with pytest.raises(InputError, match="candidates of this sweep are gone"):
        _ = Results(results.folder).pool
    assert run(config, root).captured
    assert Results(results.folder).pool.digest == results.manifest["pool"]["digest"]


def test_another_pool_in_place_of_the_sweeps_own_is_refused(config: Config, root: Path) -> None:
    results = run(config, root).results
    deeper = run(changed(config, "depth=6"), root).results
    results.kept.pool_files[""].write_bytes(deeper.kept.pool_files[""].read_bytes())
    with pytest.raises(InputError, match="not the candidates that this sweep was made with"):
        _ = Results(results.folder).pool


# --- what is written ------------------------------------------------------------------------------


def written_texts(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in folder.rglob("*"):
        if path.suffix == ".parquet":
            yield path, pd.read_parquet(path).to_csv()
        elif path.suffix in {".json", ".jsonl", ".md", ".svg"}:
            yield path, path.read_text("utf-8")


def test_decimals_stand_in_every_file_as_they_were_typed(config: Config, root: Path) -> None:
    from sweeper.report import write_report

    floors = [n / 10 for n in range(-3, 4)]
    assert 0.1 + 0.2 not in floors
    text = "[none, " + ", ".join(f"{n / 10:.1f}" for n in range(-3, 4)) + "]"
    results = run(changed(config, f"space.min_similarity={text}"), root).results
    write_report(results)
    stored = results.trials["param_min_similarity"].dropna().unique().tolist()
    assert sorted(stored) == [-0.3, -0.2, -0.1, 0.0, 0.1, 0.2, 0.3]
    names = set()
    for path, content in written_texts(root):
        names.add(path.suffix)
        assert "0.30000000000000004" not in content, path
        assert "0.1000000000" not in content, path
    assert names == {".parquet", ".json", ".jsonl", ".md", ".svg"}


STRANGE = ("001", "1e5", "NA", "null", "off", "true", "12:30", "é 🚢", "two words", "a|b;c", "-x")


def test_ids_survive_as_they_were_written(tmp_path: Path, root: Path) -> None:
    entries = [{"id": name, "text": f"fact number {n}"} for n, name in enumerate(STRANGE)]
    questions = [
        {"id": name, "slice": name, "query": f"fact number {n}", "expected": [name]}
        for n, name in enumerate(STRANGE)
    ]
    config = CONFIG.replace("fresh.mrr", "'001.mrr'").replace("entity.mrr", "overall.mrr")
    loaded = load_config(write_project(tmp_path, config, entries=entries, questions=questions))
    results = run(loaded, root).results
    again = Results(results.folder)
    table = again.per_query("current")
    assert tuple(table["query_id"]) == STRANGE
    assert tuple(table["slice"]) == STRANGE
    assert [q.expected for q in again.golden.queries] == [(name,) for name in STRANGE]
    assert list(dict.fromkeys(again.figures["slice"])) == [*STRANGE, "overall"]
    assert (table["first_position"] == 1).sum() > 5
    assert set(STRANGE) >= set(again.pool.item_keys)


ODD_SLICES = ("a/b", "..", "🚢", "x" * 300, "-dash", "a.b", "$x_1$", "_A B")


def test_slices_of_any_name_are_drawn_and_reported(tmp_path: Path, root: Path) -> None:
    from sweeper.report import write_report

    questions = [
        {**QUESTIONS[n % 5], "id": str(n), "slice": name} for n, name in enumerate(ODD_SLICES)
    ]
    config = CONFIG[: CONFIG.index("objectives:")]
    config += "objectives: {🚢.mrr: maximize, '...mrr': maximize}\n"
    loaded = load_config(write_project(tmp_path, config, questions=questions))
    results = run(loaded, root).results
    assert results.wide([f"{name}.mrr" for name in ODD_SLICES]).notna().all().all()
    for path in write_report(results):
        assert path.is_file()
        assert path.parent in {results.folder, results.folder / "plots"}


ALL_METRICS = "[recall@1,hit@2,mrr,precision@3,citation_precision,ndcg@10,ap,abstention,returned]"


@pytest.mark.parametrize(
    ("entries", "questions"),
    [
        (ENTRIES[:4], QUESTIONS[:3]),  # documents alone
        (ENTRIES[4:], QUESTIONS[3:4]),  # memories alone, one question
        (ENTRIES, QUESTIONS[5:]),  # nothing that can be answered
        (ENTRIES[:1], QUESTIONS[:1]),  # one of each
    ],
)
def test_lopsided_corpora_and_golden_sets_have_figures(
    tmp_path: Path, root: Path, entries: Any, questions: Any
) -> None:
    from sweeper.report import write_report

    config = CONFIG[: CONFIG.index("metrics:")] + f"metrics: {ALL_METRICS}\n"
    loaded = load_config(write_project(tmp_path, config, entries=entries, questions=questions))
    results = run(loaded, root).results
    assert len(write_report(results)) >= 3
    answerable = any(row["expected"] for row in questions)
    assert results.wide(["overall.mrr"]).notna().all().all() == answerable
    assert results.wide(["overall.returned"]).notna().all().all()
    assert len(results.pareto()) == int(answerable)


def test_a_limit_beyond_the_corpus_returns_what_there_is(config: Config, root: Path) -> None:
    results = run(changed(config, "limit=5000", "metrics=[mrr, recall@1, returned]"), root).results
    assert results.wide()["overall.returned"].max() <= len(ENTRIES)


# --- refusals -------------------------------------------------------------------------------------


def test_a_sweep_that_another_process_runs_is_refused(config: Config, root: Path) -> None:
    interrupted_after(config, root, 0)
    [folder] = sweeps(root)
    with Lock(folder), pytest.raises(EngineError, match="is running this sweep"):
        run(config, root)


def test_a_finished_sweep_is_shown_though_nothing_can_be_written(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = run(config, root).results.folder
    with Lock(folder):
        assert run(config, root).n_run == 0

    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr("sweeper.sweep.write_manifest", full)
    monkeypatch.setattr("sweeper.sweep.remove_leftovers", full)
    assert run(config, root).n_run == 0


def test_a_results_folder_that_is_a_file_is_refused(config: Config, root: Path) -> None:
    root.write_text("x", "utf-8")
    with pytest.raises(InputError, match="Choose another --results folder"):
        run(config, root)


def test_a_results_folder_may_be_a_link(config: Config, root: Path, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    root.symlink_to(tmp_path / "disk")
    results = run(config, root).results
    assert results.folder.resolve().is_relative_to(tmp_path / "disk")
    assert run(config, root).n_run == 0


@pytest.mark.usefixtures("small_steps")
def test_a_disk_that_fills_up_keeps_finished_trials_and_nothing_half_written(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run(config, root / "whole").results
    append, calls = Journal.append, []

    def full(self: Journal, records: Any) -> None:
        calls.append(1)
        if len(calls) == 4:
            self._file.write(b"half a li")
            raise StorageError(f"{self.path}: the disk is full.")
        append(self, records)

    with monkeypatch.context() as patched:
        patched.setattr(Journal, "append", full)
        with pytest.raises(StorageError, match="the disk is full"):
            run(config, root / "other")
    again = run(config, root / "other")
    assert again.n_kept == 3
    assert_same_frames(whole.folder, again.results.folder)


@pytest.mark.parametrize("nth", [1, 2, 3, 4, 5, 6])
def test_a_full_disk_at_any_file_leaves_no_sweep_that_looks_finished(
    config: Config, root: Path, monkeypatch: pytest.MonkeyPatch, nth: int
) -> None:
    from sweeper import files

    real, calls = files._write_synced, []

    def full(path: Path, content: bytes) -> None:
        calls.append(path)
        if len(calls) == nth:
            path.write_bytes(content[: len(content) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        real(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(files, "_write_synced", full)
        with pytest.raises(StorageError) as caught:
            run(config, root)
    assert caught.value.exit_code == 4
    assert [path for path in root.rglob("*") if path.suffix == ".tmp"] == []
    for folder in sweeps(root):
        with pytest.raises(InputError, match="has not finished"):
            Results(folder)
    assert len(run(config, root).results.trials) == 21


def test_a_channel_that_the_engine_lacks_is_refused(config: Config, root: Path) -> None:
    with pytest.raises(InputError, match='no channel "graph"'):
        run(changed(config, "space.weights.graph=[0, 1]"), root)
    assert not root.exists()


# --- the outlook ----------------------------------------------------------------------------------


def test_the_outlook_counts_and_writes_nothing(config: Config, root: Path) -> None:
    before = outlook(config, root=root)
    assert (before.n_captures, before.n_requests, before.n_to_run) == (1, 6, 21)
    assert before.n_in_space == 18
    assert not root.exists()
    run(config, root)
    after = outlook(config, root=root)
    assert (after.n_captures, after.n_requests, after.n_to_run) == (0, 0, 0)
    assert after.sweep == before.sweep


@pytest.mark.usefixtures("small_steps")
def test_the_outlook_counts_what_an_interruption_left_to_do(config: Config, root: Path) -> None:
    interrupted_after(config, root, 8)
    found = outlook(config, root=root)
    assert (found.n_captures, found.n_settings, found.n_to_run) == (0, 21, 13)


def test_findings_about_ages_and_inert_knobs_are_noted(tmp_path: Path, root: Path) -> None:
    entries = [*ENTRIES[:4], {"id": "m", "text": "the shed", "source_type": "memory"}]
    loaded = load_config(write_project(tmp_path, entries=entries, questions=QUESTIONS[:3]))
    with pytest.raises(InputError, match="fresh"):
        run(loaded, root)
    config = CONFIG.replace("fresh.mrr", "overall.mrr")
    loaded = load_config(write_project(tmp_path, config, entries=entries, questions=QUESTIONS[:3]))
    for _ in range(2):  # the first time, and when it is shown again
        notes = run(loaded, root).notes
        assert "1 memory has no age; it does not decay." in notes
        assert any("recency_half_life_days changes nothing here" in text for text in notes)


def test_a_large_sweep_is_replayed_by_the_compiled_kernel_with_the_same_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = pytest.importorskip("sweeper.kernels", reason="the extra `fast` is not installed")
    calls: list[int] = []
    count = kernels.count_features

    def spy(*args: Any) -> Any:
        calls.append(len(args[2]))
        return count(*args)

    monkeypatch.setattr(kernels, "count_features", spy)
    config = load_config(
        write_project(tmp_path, CONFIG.replace("recall@1, mrr, abstention", "recall@1, mrr"))
    )
    plain = run_sweep(config, root=tmp_path / "plain").results
    assert not calls
    monkeypatch.setattr("sweeper.replay._COMPILED_FROM", 1)
    compiled = run_sweep(config, root=tmp_path / "compiled").results
    assert sum(calls) == len(compiled.trials)
    pd.testing.assert_frame_equal(plain.figures, compiled.figures)


def test_a_part_that_changed_in_the_config_and_in_its_content_is_named_once(
    config: Config, root: Path
) -> None:
    first = run(config, root).results.folder.name
    write_rows(config.path.parent / "other.jsonl", QUESTIONS[:5])
    notes = run(changed(config, "golden=other.jsonl"), root).notes
    assert any(text.endswith(f"changed since {first}: golden.") for text in notes)


# --- what a kill leaves ---------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("small_steps")
def test_a_journal_cut_anywhere_in_its_last_4_kilobytes_loses_at_most_the_torn_record(
    config: Config, root: Path
) -> None:
    many = changed(config, f"space.rrf_k={list(range(1, 16))}")
    straight = run(many, root / "straight").results.folder
    interrupted_after(many, root / "cut", 120)
    [journal] = (root / "cut").glob("*/*/journal.jsonl")
    whole = journal.read_bytes()
    assert len(whole) > 4096
    header = json.loads(whole.split(b"\n", 1)[0].split(b" ", 1)[1])
    ends = [place + 1 for place, byte in enumerate(whole) if byte == 10]
    copy = root / "copy.jsonl"
    for size in range(len(whole) - 4096, len(whole) + 1):
        copy.write_bytes(whole[:size])
        found = Journal(copy, header)
        found.close()
        complete = sum(end <= size for end in ends) - 1
        assert len(found.records) == complete, size
    every = 64 if FULL else 2048
    for size in range(len(whole) - 4096, len(whole), every):
        shutil.rmtree(root / "again", ignore_errors=True)
        shutil.copytree(root / "cut", root / "again")
        [journal] = (root / "again").glob("*/*/journal.jsonl")
        journal.write_bytes(whole[:size])
        resumed = run(many, root / "again")
        kept = sum(end <= size for end in ends) - 1
        assert resumed.n_kept == kept
        assert_same_frames(straight, resumed.results.folder)


def test_a_lock_whose_owner_died_is_taken_over_with_a_note(config: Config, root: Path) -> None:
    interrupted_after(config, root, 0)
    [folder] = sweeps(root)
    (folder / ".lock-holder").write_text("process 4194301 on elsewhere")
    notes = run(config, root).notes
    assert any("process 4194301 on elsewhere ended in the middle" in text for text in notes)


def test_an_owner_that_died_after_its_last_write_leaves_nothing(config: Config, root: Path) -> None:
    folder = run(config, root).results.folder
    (folder / ".lock-holder").write_text("process 4194301 on elsewhere")
    (folder / "journal.jsonl").write_bytes(b"")
    again = run(config, root)
    assert again.n_run == 0
    assert not any("4194301" in text for text in again.notes)
    assert leftovers(root) == []


def test_a_live_owner_of_a_finished_sweep_keeps_its_lock(config: Config, root: Path) -> None:
    folder = run(config, root).results.folder
    with Lock(folder):
        assert run(config, root).n_run == 0
        assert (folder / ".lock-holder").is_file()
