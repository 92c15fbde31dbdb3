"""``sweep init``, and the project that it writes."""

from __future__ import annotations

import subprocess
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sweeper.cli import app
from sweeper.cli.init import write_starter
from sweeper.config import load_config
from sweeper.formats import read_corpus, read_golden
from tests.snapshot import assert_matches_snapshot

FILES = [
    ".gitignore",
    "README.md",
    "configs/corpora/notes/corpus.jsonl",
    "configs/corpora/notes/golden.jsonl",
    "configs/recency.yaml",
]


def init(*arguments: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["init", *arguments], prog_name="sweep")
    return result.exit_code, result.stdout, result.stderr


def files_below(folder: Path) -> list[str]:
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_help_is_as_reviewed() -> None:
    assert_matches_snapshot(init("--help")[1], "help-init.txt")


def test_it_writes_the_project_and_says_how_to_go_on(tmp_path: Path) -> None:
    code, out, said = init(str(tmp_path / "my demo"))
    assert (code, said) == (0, "")
    assert files_below(tmp_path / "my demo") == FILES
    assert f"cd '{tmp_path}/my demo'" in out
    assert out.endswith("  sweep run configs/recency.yaml\n")


def test_it_writes_into_the_working_directory_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, _ = init()
    assert code == 0
    assert files_below(tmp_path) == FILES
    assert "cd " not in out


def test_it_names_every_file_that_it_would_overwrite_and_writes_none(tmp_path: Path) -> None:
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "recency.yaml").write_text("mine")
    (tmp_path / "README.md").write_text("mine")
    code, out, said = init(str(tmp_path))
    assert (code, out) == (2, "")
    assert str(tmp_path / "README.md") in said
    assert str(tmp_path / "configs" / "recency.yaml") in said
    assert "--force" in said
    assert files_below(tmp_path) == ["README.md", "configs/recency.yaml"]
    assert (tmp_path / "README.md").read_text() == "mine"


def test_force_replaces_them(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    assert init(str(tmp_path), "--force")[0] == 0
    assert (tmp_path / "README.md").read_text() != "mine"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "demo").write_text("mine")
    code, _, said = init(str(tmp_path / "demo"), "--force")
    assert code == 2
    assert said == f"{tmp_path}/demo: is a file, not a folder. Choose another place.\n"


def test_a_folder_in_the_place_of_a_file_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "configs" / "recency.yaml").mkdir(parents=True)
    code, _, said = init(str(tmp_path), "--force")
    assert code == 2
    assert "is a folder" in said
    assert files_below(tmp_path) == []


def test_a_file_in_the_place_of_an_inner_folder_is_refused_before_anything_is_written(
    tmp_path: Path,
) -> None:
    (tmp_path / "configs").write_text("mine")
    code, _, said = init(str(tmp_path), "--force")
    assert code == 2
    assert str(tmp_path / "configs") in said
    assert files_below(tmp_path) == ["configs"]


def test_the_config_and_its_data_are_valid(tmp_path: Path) -> None:
    write_starter(tmp_path)
    config = load_config(tmp_path / "configs" / "recency.yaml")
    corpus = read_corpus(config.resolve(config.corpus.path if config.corpus else ""))
    golden = read_golden(config.resolve(config.golden.path), corpus_keys=corpus.keys)
    config.check_figures(golden)
    assert Counter(entry.store for entry in corpus.entries) == {"document": 16, "memory": 24}
    assert Counter(query.slice for query in golden.queries) == {
        "exact_token": 8,
        "entity": 10,
        "semantic": 9,
        "freshness": 9,
    }
    assert config.space.size == 63
    assert not golden.dangling(corpus.keys)


def test_every_expected_fact_with_a_stale_twin_is_the_newer_one(tmp_path: Path) -> None:
    write_starter(tmp_path)
    notes = tmp_path / "configs" / "corpora" / "notes"
    corpus = read_corpus(notes / "corpus.jsonl")
    ages = {entry.entry_id: entry.age_days for entry in corpus.entries}
    for query in read_golden(notes / "golden.jsonl").queries:
        if query.slice == "freshness":
            age = ages[query.expected[0]]
            assert age is not None
            assert age < 30


def test_git_ignores_the_results(tmp_path: Path) -> None:
    write_starter(tmp_path)
    assert "results/" in (tmp_path / ".gitignore").read_text().splitlines()
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "x").write_text("")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True, capture_output=True)
    status = subprocess.run(
        ["git", "-C", str(tmp_path), "status", "--porcelain"], check=True, capture_output=True
    )
    assert b"results" not in status.stdout
