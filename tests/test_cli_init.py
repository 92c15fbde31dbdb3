"""``sweep init``, and the project that it writes."""

from __future__ import annotations

import itertools
import re
import shlex
import subprocess
from collections import Counter
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sweeper.cli import app
from sweeper.cli.init import write_starter
from sweeper.config import load_config
from sweeper.formats import read_corpus, read_golden
from tests.snapshot import assert_matches_snapshot

STARTER = Path(str(resources.files("sweeper"))) / "starter"
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
    assert "\n  sweep run configs/recency.yaml\n  sweep pick recency\n" in out
    assert out.endswith("README.md says what each file holds, and how to put your own in.\n")


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


def alternatives(text: str) -> Iterator[tuple[str, str]]:
    """Yield each commented-out alternative of a config, and the config that has it.

    The rule is the one that the file states: what starts with # and no space goes, with the lines
    indented below it, into the place of the key of the same name above it.
    """
    lines = text.split("\n")
    for number, line in enumerate(lines):
        start = re.match(r"( *)#([^ #].*)", line)
        if start is None:
            continue
        indent, first = start.groups()
        end = number + 1
        while re.match(rf"{indent}#  +\S", lines[end]):
            end += 1
        wanted = [first, *(below[len(indent) + 1 :] for below in lines[number + 1 : end])]
        above = lines[:number]
        key = re.match(r"[\w.]+:", first)
        if key is not None:
            above = list(without(above, indent + key[0]))
        yield first, "\n".join([*above, *(indent + one for one in wanted), *lines[end:]])


def without(lines: list[str], key: str) -> Iterator[str]:
    """Yield lines but for a key, written with its indentation, and what is indented below it."""
    depth = len(key) - len(key.lstrip())
    inside = False
    for line in lines:
        if line.strip() and not line.lstrip().startswith("#"):
            here = len(line) - len(line.lstrip())
            inside = line.startswith(key) or (inside and here > depth)
        if not inside:
            yield line


ALTERNATIVES = dict(alternatives((STARTER / "configs" / "recency.yaml").read_text("utf-8")))


def test_the_config_shows_alternatives_of_all_that_a_newcomer_changes() -> None:
    names = Counter(re.split(r"[:.]", text)[0] for text in ALTERNATIVES)
    several = ["golden", "corpus", "embedder", "lexical", "chunking", "engine", "sampler"]
    several += ["rrf_k", "min_similarity", "recency_half_life_days", "weights", "arms", "metrics"]
    assert set(several) <= set(names)
    assert names["chunking"] == names["sampler"] == 2
    assert names["embedder"] == 3


@pytest.mark.parametrize("text", ALTERNATIVES)
def test_every_alternative_in_the_config_is_valid_once_its_comment_sign_is_gone(
    tmp_path: Path, text: str
) -> None:
    write_starter(tmp_path)
    path = tmp_path / "configs" / "recency.yaml"
    before = load_config(path)
    path.write_text(ALTERNATIVES[text], "utf-8")
    after = load_config(path)
    assert after.file != before.file
    after.check_figures(read_golden(after.resolve(after.golden.path)))


def test_every_key_of_the_config_has_a_comment_beside_or_above_it() -> None:
    lines = (STARTER / "configs" / "recency.yaml").read_text("utf-8").split("\n")
    bare = [
        line
        for above, line in itertools.pairwise(lines)
        if re.match(r"(  )?\w[\w.]*:", line) and "# " not in line and "#" not in above
    ]
    assert bare == []


@pytest.mark.slow
def test_the_commands_of_its_read_me_run_in_the_order_of_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_starter(tmp_path)
    monkeypatch.chdir(tmp_path)
    page = Path("README.md").read_text("utf-8")
    commands = re.findall(r"^    sweep ([^#\n]+)", page, re.MULTILINE)
    names = [command.split()[0] for command in commands]
    assert names == ["check", "run", "pick", "report", "explain", "gate", "check", "check", "gate"]
    said = {}
    for command in commands:
        done = CliRunner().invoke(app, shlex.split(command), prog_name="sweep")
        assert done.exit_code == 0, done.stderr
        said[command.split()[0]] = done.stdout
    assert "Gate: pass" in said["gate"]
    # What the page says of the pick.
    assert said["pick"].startswith("Keep what you have:")
    assert re.search(r"^freshness\.mrr +0\.6667 +0\.8333$", said["pick"], re.MULTILINE)
    assert "min_similarity=0.2 recency_half_life_days=7500" in said["pick"]
    assert "3 of 9 differ in freshness.mrr" in said["pick"]
