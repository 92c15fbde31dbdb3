"""``sweep export``: a trial as a TREC run, the golden set as qrels or JSONL."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from sweeper.config import load_config
from sweeper.formats import read_golden, read_run
from sweeper.ranking import rank
from sweeper.results import load
from sweeper.settings import Settings
from sweeper.sweep import run_sweep
from tests.projects import QUESTIONS, invoke, write_project, write_rows

RANKED = {"id": "q7", "slice": "entity", "query": "boat", "expected": ["doc-boat"]}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    graded = {**RANKED, "grades": {"doc-boat": 3, "doc-oven": 0}}
    config = write_project(folder / "project", questions=(*QUESTIONS, graded))
    done = invoke("run", config, "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    return folder / "results"


@pytest.mark.parametrize("trial", ["current", "0", "5"])
def test_a_trial_is_written_in_the_order_in_which_it_ranked(
    results: Path, tmp_path: Path, trial: str
) -> None:
    path = tmp_path / "out" / "trial.run"
    done = invoke("export", "small", "--trial", trial, "-o", path, "--results", results)
    assert (done.exit_code, done.stdout) == (0, "")
    found = load("small", root=results)
    settings = found.settings[found.trial(trial)]
    expected = {}
    for number, query_id in enumerate(found.pool.query_ids):
        rows = rank(found.pool.candidates(number), settings, channels=found.pool.channels)
        if rows:
            expected[query_id] = [row.key for row in rows]
    written = read_run(path).rows
    assert {query_id: [key for key, _ in rows] for query_id, rows in written.items()} == expected
    assert path.read_text("utf-8").split("\n")[0].endswith(f" small-{settings.trial_id}")


def test_the_trial_may_stand_in_the_address_and_the_tag_may_be_chosen(results: Path) -> None:
    one = invoke("export", "small#3", "--tag", "mine", "--results", results)
    other = invoke("export", "small", "--trial", "3", "--tag", "mine", "--results", results)
    assert one.stdout == other.stdout
    assert all(line.endswith(" mine") for line in one.stdout.splitlines())


def test_judgments_are_written_with_their_grades_and_the_unanswerable_counted(
    results: Path,
) -> None:
    done = invoke("export", "small", "--format", "qrels", "--results", results)
    assert done.stdout.splitlines() == [
        "q1 0 doc-rent 1",
        "q2 0 doc-keys 1",
        "q3 0 doc-oven 1",
        "q4 0 new-chair 1",
        "q5 0 new-code 1",
        "q5 0 doc-keys 1",
        "q7 0 doc-boat 3",
        "q7 0 doc-oven 0",
    ]
    assert "nothing is relevant: 1 unanswerable question." in done.stderr


def test_the_golden_set_comes_back_equal(results: Path, tmp_path: Path) -> None:
    path = tmp_path / "golden.jsonl"
    invoke("export", "small", "--format", "golden", "-o", path, "--results", results)
    assert read_golden(path) == load("small", root=results).golden


def test_a_file_that_exists_is_replaced_only_by_force(results: Path, tmp_path: Path) -> None:
    path = tmp_path / "trial.run"
    path.write_text("mine", "utf-8")
    done = invoke("export", "small", "-o", path, "--results", results)
    assert done.exit_code == 2
    assert f"{path}: already there. Add --force to overwrite." in done.stderr
    assert path.read_text("utf-8") == "mine"
    assert invoke("export", "small", "-o", path, "--force", "--results", results).exit_code == 0
    assert read_run(path).n_rows


@pytest.mark.parametrize("option", [("--trial", "1"), ("--tag", "x")])
def test_options_of_a_run_do_not_go_with_other_formats(
    results: Path, option: tuple[str, str]
) -> None:
    done = invoke("export", "small", "--format", "qrels", *option, "--results", results)
    assert done.exit_code == 2
    assert "--trial and --tag go with --format trec-run, not qrels." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("small", "--trial", "999"), "has no trial '999'"),
        (("smell",), "no sweep 'smell'"),
        (("small", "--tag", "a b"), 'the tag "a b" cannot stand in a TREC run'),
    ],
)
def test_what_is_not_there_is_said(results: Path, arguments: tuple[str, ...], message: str) -> None:
    done = invoke("export", *arguments, "--results", results)
    assert done.exit_code == 2
    assert message in done.stderr


SPACED = """\
name: spaced
golden: golden.jsonl
engine: {kind: embedded, corpus: corpus.jsonl, chunking: {kind: size, size: 20, overlap: 0}}
as_of: 2026-11-01
limit: 8
"""


@pytest.fixture(scope="module")
def spaced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep with white space in ids, several chunks per document, and a question without rows."""
    folder = tmp_path_factory.mktemp("spaced")
    config = write_project(
        folder / "project",
        SPACED,
        entries=[{"id": "my notes", "text": "boat boat boat boat boat boat boat boat boat"}],
        questions=[{"id": "q 1", "query": "boat", "expected": "my notes", "grades": [0.5]}],
    )
    done = invoke("run", config, "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    return folder / "results"


def test_ids_with_white_space_are_refused_unless_they_may_be_encoded(spaced: Path) -> None:
    done = invoke("export", "spaced", "--results", spaced)
    assert done.exit_code == 2
    assert done.stderr == (
        'the id "q 1" cannot stand in a TREC file: it holds white space. 2 ids are like that. '
        "Rename it, or add --encode-ids to write it as %XX in runs and qrels alike.\n"
    )
    encoded = invoke("export", "spaced", "--encode-ids", "--tag", "t", "--results", spaced)
    assert encoded.stdout == "q%201 Q0 my%20notes 1 1 t\n"


def test_further_chunks_of_a_document_are_left_out_and_counted(spaced: Path) -> None:
    done = invoke("export", "spaced", "--encode-ids", "--results", spaced)
    assert "2 further chunks of documents listed above them" in done.stderr


def test_a_grade_that_qrels_cannot_hold_is_refused(spaced: Path) -> None:
    done = invoke("export", "spaced", "--format", "qrels", "--encode-ids", "--results", spaced)
    assert done.exit_code == 2
    assert 'question "q 1" grades "my notes" 0.5: qrels hold whole numbers' in done.stderr


def test_questions_that_returned_nothing_are_counted(tmp_path: Path) -> None:
    (tmp_path / "v.run").write_text("q1 Q0 a 1 1 t\n", "utf-8")
    rows = [{"id": name, "query": "x", "expected": "a"} for name in ("q1", "q2")]
    write_rows(tmp_path / "golden.jsonl", rows)
    config = tmp_path / "sweep.yaml"
    config.write_text(
        "name: r\ngolden: golden.jsonl\nengine: {kind: runs, channels: {vector: v.run}}\n", "utf-8"
    )
    results = tmp_path / "results"
    done = invoke("run", config, "--results", results, "--no-plots")
    assert done.exit_code == 0, done.stderr
    assert "1 of 2 questions is in no run: q2." in done.stderr
    done = invoke("export", "r", "--tag", "t", "--results", results)
    assert done.stdout == "q1 Q0 a 1 1 t\n"
    assert "nothing was returned: 1 question." in done.stderr


LIVE = """\
name: live
golden: golden.jsonl
engine: {kind: python, call: "search_to_export:search", path: .}
space: {rrf_k: [1, 60]}
"""


def test_what_a_black_box_answered_is_written_as_it_was_kept(tmp_path: Path) -> None:
    code = "def search(query, settings): return ['b', 'a', 'b'] if settings['rrf_k'] == 1 else []"
    (tmp_path / "search_to_export.py").write_text(code, "utf-8")
    write_rows(tmp_path / "golden.jsonl", [{"id": "q1", "query": "x", "expected": "a"}])
    (tmp_path / "sweep.yaml").write_text(LIVE, "utf-8")
    run_sweep(load_config(tmp_path / "sweep.yaml"), root=tmp_path / "results")
    sys.modules.pop("search_to_export")
    trial = Settings(rrf_k=1).trial_id
    done = invoke(
        *("export", "live", "--trial", trial, "--tag", "t", "--results", tmp_path / "results"),
    )
    assert done.stdout == "q1 Q0 b 1 2 t\nq1 Q0 a 2 1 t\n"
    [answers] = (tmp_path / "results").rglob("answers.jsonl")
    answers.write_bytes(answers.read_bytes().split(b"\n")[0] + b"\n")
    done = invoke("export", "live", "--trial", trial, "--results", tmp_path / "results")
    assert done.exit_code == 2
    assert "there is no answer to question 'q1' under" in done.stderr
