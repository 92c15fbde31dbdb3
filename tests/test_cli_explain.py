"""``sweep explain``."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.projects import Done, invoke, write_project


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    config = write_project(folder)
    done = invoke("run", config, "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    return folder / "results"


def explain(results: Path, query: str, *options: object) -> Done:
    return invoke("explain", "small", query, "--results", results, *options)


def test_every_row_stands_with_its_ranks_ages_and_score(results: Path) -> None:
    done = explain(results, "q5", "--settings", "recency_half_life_days=30")
    assert done.exit_code == 0, done.stderr
    assert "q5 (fresh): door code" in done.stdout
    assert "expected: new-code, doc-keys" in done.stdout
    [row] = [line for line in done.stdout.splitlines() if line.split()[1:2] == ["new-code"]]
    assert row.startswith("*")
    assert "20.0 d" in row
    assert f"{2 ** (-20 / 30):.4f}" in row


def test_json_holds_rows_and_remedies(results: Path) -> None:
    document = explain(results, "q4", "--json").document
    assert document["schema"] == "sweep.explain/1"
    assert document["query"] == "q4"
    assert [row["position"] for row in document["rows"]] == list(
        range(1, len(document["rows"]) + 1)
    )
    assert document["first_position"] == next(
        row["position"] for row in document["rows"] if row["key"] == "new-chair"
    )
    for remedy in document["remedies"]:
        assert remedy["position"] < document["first_position"]


def test_a_remedy_says_who_overtakes_whom_and_when(results: Path) -> None:
    # The rows tie but for age; with a little decay the newer leads.
    answers = [explain(results, query, "--json").document for query in ("q1", "q2", "q4", "q5")]
    remedies = [(a["query"], remedy) for a in answers for remedy in a["remedies"]]
    overtaking = [(query, remedy) for query, remedy in remedies if remedy["other_id"]]
    assert overtaking
    for query, remedy in overtaking:
        said = explain(results, query).stdout
        assert f"it overtakes {remedy['other_id']} at {remedy['at']:.6g}" in said


def test_a_document_that_the_floor_cuts_is_named(results: Path) -> None:
    done = explain(
        results, "q5", "--settings", "min_similarity=1", "--settings", "weights.lexical=0"
    )
    assert "is cut by the floor of 1" in done.stdout


def test_an_unanswerable_question_says_so(results: Path) -> None:
    done = explain(results, "q6")
    assert done.exit_code == 0
    assert "it has no answer" in done.stdout


def test_markdown_is_a_table(results: Path) -> None:
    assert "| --- |" in explain(results, "q4", "--markdown").stdout


def test_an_unknown_question_gets_a_hint(results: Path) -> None:
    done = explain(results, "q55")
    assert done.exit_code == 2
    assert 'has no question "q55"' in done.stderr
