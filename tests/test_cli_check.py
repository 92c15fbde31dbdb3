"""``sweep check``: what a file is, whether it is valid, and what it cannot show."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeper.errors import InputError
from sweeper.formats import kind_of_file
from tests.projects import QUESTIONS, invoke, sweeps, write_project


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_project(tmp_path)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.yaml", "name: x\nengine: {kind: embedded}\n", "config"),
        ("a.yaml", "golden: golden.jsonl\n", "config"),
        ("a.json", '{"golden": {"path": "g.jsonl"}}', "config"),
        ("a.yaml", "golden: [{query: a, expected: b}]\n", "golden"),
        ("a.yaml", "- {q: a, expected: b}\n", "golden"),
        ("a.jsonl", '{"question": "a"}\n', "golden"),
        ("a.csv", "text,gold\na,b\n", "golden"),
        ("a.csv", "Query ID,Question,Expected IDs\n1,a,b\n", "golden"),
        ("a.json", '{"x": {"query": "a", "grades": {"b": 1}}}', "golden"),
        (
            "a.json",
            '{"corpus": {"documents": [{"text": "t"}]}, "queries": [{"expected": []}]}',
            "golden",
        ),
        ("a.jsonl", '{"id": "a", "text": "b"}\n', "corpus"),
        ("a.json", '{"documents": [{"id": "a", "content": "b"}], "memories": []}', "corpus"),
        ("a.json", '{"version": 1, "entries": [{"id": "a", "source": "b.md"}]}', "corpus"),
        ("a.csv", "id,body,type\n1,a,document\n", "corpus"),
    ],
)
def test_the_content_tells_what_a_file_is(tmp_path: Path, name: str, text: str, kind: str) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    assert kind_of_file(tmp_path / name) == kind


def test_a_folder_is_a_corpus(tmp_path: Path) -> None:
    assert kind_of_file(tmp_path) == "corpus"


@pytest.mark.parametrize("text", ["a: 1\n", "- {question: a, text: b}\n", "3\n", "[]\n"])
def test_a_file_that_could_be_anything_asks_for_as(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.yaml").write_text(text, "utf-8")
    with pytest.raises(InputError, match=r"a\.yaml.*--as config, --as golden or --as corpus"):
        kind_of_file(tmp_path / "a.yaml")


def test_a_config_is_checked_with_its_files_and_captured_for_the_sweep(
    config: Path, tmp_path: Path
) -> None:
    root = tmp_path / "results"
    found = invoke("check", config, "--results", root, "--json").document
    assert list(found) == ["sweeper", "schema", "kind", "facts", "warnings"]
    assert (found["schema"], found["kind"]) == ("sweep.check/1", "config")
    assert found["facts"]["settings"] == 21
    assert all(set(item) == {"text", "query_ids"} for item in found["warnings"])
    assert sweeps(root) == []
    outlook = invoke("run", config, "--results", root, "--dry-run", "--json").document
    assert outlook["captures"] == 0


def test_what_a_sampler_will_propose_is_counted(config: Path, tmp_path: Path) -> None:
    sampler = ("--set", "sampler={kind: tpe, n_trials: 30, seed: 1}")
    found = invoke("check", config, "--results", tmp_path / "results", *sampler, "--json").document
    assert found["facts"]["settings"] == 1
    assert found["facts"]["settings to propose"] == 30


def test_warnings_are_counted_and_small_slices_named(config: Path, tmp_path: Path) -> None:
    done = invoke("check", tmp_path / "golden.jsonl")
    assert done.exit_code == 0
    assert "warning: slice nothing has 1 question: one is worth 1.000" in done.stdout
    assert done.stdout.rstrip().endswith("golden.jsonl: valid golden set, 3 warnings")
    assert "valid corpus" in invoke("check", tmp_path / "corpus.jsonl").stdout


def test_a_config_is_audited_over_its_whole_space(config: Path, tmp_path: Path) -> None:
    done = invoke("check", config, "--results", tmp_path / "r")
    assert "are answered first under every setting" in done.stdout
    assert "factor at half-life 7" in done.stdout
    assert "memories' age: median, 95%" in done.stdout


def test_a_cutoff_beyond_the_limit_is_warned_of(config: Path, tmp_path: Path) -> None:
    done = invoke("check", config, "--results", tmp_path / "r", "--set", "metrics=[recall@9, mrr]")
    assert "recall@9 is computed on the 4 rows that the limit returns" in done.stdout


def test_questions_that_no_setting_can_answer_are_named(config: Path, tmp_path: Path) -> None:
    rows = [{**row, "filter": {"store": "memory"}} for row in QUESTIONS[:1]] + [*QUESTIONS[1:]]
    write_project(tmp_path, questions=rows)
    done = invoke("check", config, "--results", tmp_path / "r")
    assert "1 question: an expected document is retrieved by no channel" in done.stdout
    assert "Mend retrieval: q1." in done.stdout


def test_as_says_what_a_file_is(config: Path, tmp_path: Path) -> None:
    done = invoke("check", tmp_path / "golden.jsonl", "--as", "corpus")
    assert done.exit_code == 2
    assert "golden.jsonl" in done.stderr


def test_set_goes_with_a_config_alone(config: Path, tmp_path: Path) -> None:
    done = invoke("check", tmp_path / "golden.jsonl", "--set", "limit=3")
    assert (done.exit_code, done.stderr) == (2, "--set goes with a config.\n")


def test_an_expected_id_that_the_corpus_lacks_is_an_error_of_the_config(
    config: Path, tmp_path: Path
) -> None:
    rows = [{**QUESTIONS[0], "expected": ["doc-rant"]}, *QUESTIONS[1:]]
    write_project(tmp_path, questions=rows)
    done = invoke("check", config, "--results", tmp_path / "r")
    assert done.exit_code == 2
    assert "golden.jsonl:1: " in done.stderr
    assert "doc-rent" in done.stderr, "the closest id"
    assert invoke("check", tmp_path / "golden.jsonl").exit_code == 0


def test_dates_of_memories_that_are_none_are_warned_of(tmp_path: Path) -> None:
    path = tmp_path / "corpus.csv"
    path.write_text(
        "id,text,source_type,updated_at\na,x,memory,31.12.2024\nb,y,memory,NaT\nc,z,document,NaT\n"
    )
    shown = invoke("check", path).stdout
    assert "2 memories have an updated_at that is no date, like '31.12.2024'" in shown
    path.write_text("id,text,source_type,updated_at\na,x,memory,1717200000000\n")
    assert "warning" not in invoke("check", path).stdout


def test_what_a_file_is_read_as_is_said_to_who_asks(tmp_path: Path) -> None:
    path = tmp_path / "golden.csv"
    path.write_text("question,relevant_ids,note\nx?,a,later\n")
    said = invoke("check", path, "-v").stderr
    assert "read are question as query, relevant_ids as expected; left alone: note." in said
    assert "left alone" not in invoke("check", path).stderr
