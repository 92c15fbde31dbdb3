"""``sweep capture``: the candidates alone, for this sweep or for others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from sweeper.poolfile import read_pool, write_pool
from tests.builders import pool_of
from tests.projects import CONFIG, QUESTIONS, invoke, sweeps, write_project
from tests.test_live_sweeps import Live
from tests.test_live_sweeps import config as config
from tests.test_live_sweeps import engine as engine
from tests.test_live_sweeps import path as path

TWICE = CONFIG.replace("  rrf_k: [1, 20]", "  engine.lexical.match: [any, all]\n  rrf_k: [20]")
BLACK_BOX = CONFIG.replace(
    "{kind: embedded, corpus: corpus.jsonl}",
    '{kind: python, call: "nothing_shown:search", path: .}',
)


def test_what_a_sweep_ranks_is_captured_once_and_the_sweep_goes_on_from_it(
    path: Path, tmp_path: Path
) -> None:
    root = tmp_path / "results"
    first = invoke("capture", path, "--results", root, "--json").document
    assert first["schema"] == "sweep.capture/1"
    [row] = first["captures"]
    assert (row["capture"], row["is_new"]) == ("current", True)
    assert (row["questions"], row["depth"]) == (len(QUESTIONS), 4)
    assert sweeps(root) == []
    [again] = invoke("capture", path, "--results", root, "--json").document["captures"]
    assert again == {**row, "is_new": False}
    run = invoke("run", path, "--results", root, "--no-plots", "--json").document
    assert run["sweep"] == first["sweep"]
    assert read_pool(row["file"]).digest == row["digest"]
    assert len(list((root / ".pools").glob("*.parquet"))) == 1


def test_it_is_said_where_each_pool_is_kept(path: Path, tmp_path: Path) -> None:
    done = invoke("capture", path, "--results", tmp_path / "results")
    assert done.exit_code == 0
    assert f"  {tmp_path / 'results/.pools'}/" in done.stdout
    assert done.stderr == ""
    again = invoke("capture", path, "--results", tmp_path / "results")
    assert again.stdout == done.stdout
    assert again.stderr == (
        "1 of 1 had been captured before (ages as of 2026-11-01T00:00:00+00:00). "
        "--fresh asks again.\n"
    )


def test_a_file_is_written_whole_and_no_other_is_overwritten(path: Path, tmp_path: Path) -> None:
    out = tmp_path / "out/pool.parquet"
    done = invoke("capture", path, "--results", tmp_path / "results", "--out", out)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith(f"\n  {out}\n")
    assert len(read_pool(out)) == len(QUESTIONS)
    out.write_text("mine", "utf-8")
    refused = invoke("capture", path, "--results", tmp_path / "results", "--out", out)
    assert refused.exit_code == 2
    assert "already there. Add --force to overwrite" in refused.stderr
    assert out.read_text("utf-8") == "mine"
    over = invoke("capture", path, "--results", tmp_path / "results", "--out", out, "--force")
    assert over.exit_code == 2
    assert "is there and no pool" in over.stderr
    assert out.read_text("utf-8") == "mine"
    write_pool(out, pool_of())
    forced = invoke("capture", path, "--results", tmp_path / "results", "--out", out, "--force")
    assert forced.exit_code == 0
    assert len(read_pool(out)) == len(QUESTIONS)


def test_every_engine_of_a_sweep_is_captured_and_one_file_holds_one(tmp_path: Path) -> None:
    path = write_project(tmp_path, TWICE)
    refused = invoke(
        "capture", path, "--results", tmp_path / "results", "--out", tmp_path / "pool.parquet"
    )
    assert refused.exit_code == 2
    assert "this sweep captures 2 times, and one file holds one" in refused.stderr
    done = invoke("capture", path, "--results", tmp_path / "results", "--json").document
    names = [row["capture"] for row in done["captures"]]
    assert names == ["engine.lexical.match=any", "engine.lexical.match=all"]
    assert len({row["file"] for row in done["captures"]}) == 2
    plan = invoke("run", path, "--results", tmp_path / "results", "--dry-run", "--json").document
    assert plan["captures"] == 0


def test_a_black_box_has_nothing_to_capture(tmp_path: Path) -> None:
    path = write_project(tmp_path, BLACK_BOX)
    (tmp_path / "nothing_shown.py").write_text(
        "def search(query, settings, **_):\n    return []\n", "utf-8"
    )
    done = invoke("capture", path, "--results", tmp_path / "results")
    assert done.exit_code == 2
    assert "shows no candidates, so there is nothing to capture" in done.stderr


def test_a_live_engine_is_asked_and_only_for_what_is_missing(
    path: Path, engine: Live, tmp_path: Path
) -> None:
    engine.fails_at = 4
    done = invoke("capture", path, "--results", tmp_path / "results")
    assert done.exit_code == 4
    assert "connection was refused" in done.stderr
    engine.fails_at = None
    engine.asked.clear()
    assert invoke("capture", path, "--results", tmp_path / "results").exit_code == 0
    assert engine.asked == ["q5", "q6"]
    assert invoke("run", path, "--results", tmp_path / "results", "--no-plots").exit_code == 0
    assert engine.asked == ["q5", "q6"]


@pytest.mark.parametrize("n_hidden", [1, 2])
def test_what_was_not_all_shown_is_said(
    path: Path, engine: Live, tmp_path: Path, n_hidden: int
) -> None:
    engine.hidden = dict.fromkeys(("q4", "q5")[:n_hidden], "rows are missing")
    done = invoke("capture", path, "--results", tmp_path / "results")
    assert done.exit_code == 0
    counted = "1 question" if n_hidden == 1 else "2 questions"
    assert f"did not show all candidates of {counted}; sweep run searches" in done.stderr


def test_a_file_that_its_only_reader_would_refuse_is_not_written(
    path: Path, engine: Live, tmp_path: Path
) -> None:
    engine.hidden = {"q4": "rows are missing"}
    out = tmp_path / "pool.parquet"
    done = invoke("capture", path, "--results", tmp_path / "results", "--out", out)
    assert done.exit_code == 4
    assert (
        "is not written: the engine did not show all candidates of 1 question (q4)" in done.stderr
    )
    assert not out.exists()


def test_what_a_sampler_may_choose_of_the_engine_is_captured_too(tmp_path: Path) -> None:
    path = write_project(tmp_path, TWICE + "sampler: {kind: tpe, n_trials: 6, seed: 1}\n")
    found = invoke("capture", path, "--results", tmp_path / "results", "--json").document
    names = {row["capture"] for row in found["captures"]}
    assert names == {"engine.lexical.match=any", "engine.lexical.match=all"}
    done = invoke("run", path, "--results", tmp_path / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    assert len(list((tmp_path / "results/.pools").glob("*.parquet"))) == 2


@pytest.mark.parametrize("out", ["-", "results/.pools/mine.parquet"])
def test_a_pool_goes_neither_to_a_terminal_nor_among_those_of_sweeps(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke("capture", path, "--out", out)
    assert done.exit_code == 2
    assert not Path(out).exists()


def test_fresh_asks_a_live_engine_again_and_a_finished_sweep_keeps_its_candidates(
    path: Path, engine: Live, tmp_path: Path
) -> None:
    root = tmp_path / "results"
    first = invoke("capture", path, "--results", root, "--json").document
    assert invoke("capture", path, "--fresh", "--results", root, "--json").document == first
    assert len(engine.asked) == 12
    assert invoke("run", path, "--results", root, "--no-plots").exit_code == 0
    assert len(engine.asked) == 12
    again = invoke("capture", path, "--fresh", "--results", root, "--json").document
    assert again["sweep"] == f"{first['sweep']}-2"
    assert len(engine.asked) == 18
    assert invoke("run", path, "--fresh", "--results", root, "--no-plots").exit_code == 0
    assert len(engine.asked) == 18


def test_a_kept_pool_of_something_else_is_captured_again(path: Path, tmp_path: Path) -> None:
    root = tmp_path / "results"
    [row] = invoke("capture", path, "--results", root, "--json").document["captures"]
    for other in (pool_of(), replace(read_pool(row["file"]), depth=2)):
        write_pool(row["file"], other)
        [again] = invoke("capture", path, "--results", root, "--json").document["captures"]
        assert again == row


def test_fresh_takes_nothing_from_a_capture_that_was_interrupted(
    path: Path, engine: Live, tmp_path: Path
) -> None:
    engine.fails_at = 4
    assert invoke("capture", path, "--results", tmp_path / "results").exit_code == 4
    engine.fails_at = None
    engine.asked.clear()
    done = invoke("capture", path, "--fresh", "--results", tmp_path / "results")
    assert done.exit_code == 0
    assert engine.asked == ["q1", "q2", "q3", "q4", "q5", "q6"]
