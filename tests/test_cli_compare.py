"""``sweep compare``: the table, its words, and the questions that moved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.projects import ROOT, Done, invoke, write_project


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    config = ROOT / "configs/recency.yaml"
    assert invoke("run", config, "--results", root, "--no-plots").exit_code == 0
    return root


def compare(results: Path, *words: object) -> Done:
    return invoke("compare", *words, "--results", results)


def test_two_trials_are_compared_per_slice_and_question(results: Path) -> None:
    done = compare(results, "recency#current", "recency#61", "--top", "3")
    assert done.exit_code == 0
    for said in ("better", "worse", "same", "unresolvable: under 6 differ"):
        assert said in done.stdout
    assert "A difference of 0.02 would take about" in done.stdout
    assert "Questions that moved most (90 moved)" in done.stdout
    assert len(done.stdout.split("moved)\n\n")[1].splitlines()) == 2 + 3


def test_what_did_not_change_has_no_interval_and_the_footnote_fits_a_line(results: Path) -> None:
    lines = compare(results, "recency#current", "recency#61").stdout.splitlines()
    [same] = [line.split() for line in lines if line.startswith("semantic") and "recall@5" in line]
    assert same[4:] == ["=", "-", "1.000", "same"]
    [note] = [line for line in lines if "unclear:" in line]
    assert note == ("p is corrected, 95% is not; unclear: p > 0.05; unresolvable: under 6 differ.")
    assert len(note) <= 80


def test_a_sweep_alone_means_its_current_setting(results: Path) -> None:
    found = compare(results, "recency", "recency", "--json").document
    assert found["schema"] == "sweep.compare/1"
    assert {item["finding"] for item in found["differences"]} == {"same"}
    assert found["moved"] == []


def test_json_has_values_intervals_and_positions(results: Path) -> None:
    found = compare(results, "recency#current", "recency#61", "--json").document
    item = found["differences"][0]
    assert set(item) >= {"slice", "metric", "baseline", "challenger", "interval", "p_value"}
    assert set(item["interval"]) == {"low", "high", "method"}
    assert set(found["moved"][0]) >= {"query_id", "expected", "before", "after", "overtook"}


def test_one_slice_can_be_asked_for(results: Path) -> None:
    done = compare(results, "recency#current", "recency#61", "--slice", "entity", "--top", "0")
    rows = [line for line in done.stdout.splitlines() if line.startswith(("entity", "overall"))]
    assert [line.split()[1] for line in rows] == ["recall@5", "recall@10", "mrr"]
    assert "Questions that moved" not in done.stdout
    wrong = compare(results, "recency", "recency", "--slice", "entitty")
    assert (wrong.exit_code, 'Did you mean "entity"?' in wrong.stderr) == (2, True)


def test_a_baseline_file_is_a_side_and_what_changed_is_said_first(
    results: Path, tmp_path: Path
) -> None:
    config = write_project(tmp_path, questions=[
        {"id": "fresh-01", "slice": "freshness", "query": "door code", "expected": ["new-code"]}
    ], config="""\
name: other
golden: golden.jsonl
engine: {kind: embedded, corpus: corpus.jsonl}
space: {rrf_k: [1, 60]}
objectives: {freshness.mrr: maximize}
""")  # fmt: skip
    file = tmp_path / "baseline.json"
    assert invoke("gate", config, "--baseline", file, "--update-baseline").exit_code == 0
    done = compare(results, file, "recency#61")
    assert done.exit_code == 0
    assert done.stdout.startswith("Note: the golden set changed.\n")
    assert "untested" in done.stdout
    assert "p: sign-flip test" not in done.stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("recency#999", "recency"), "has no trial"),
        (("none", "recency"), "no sweep 'none'"),
        (("none.json", "recency"), "no such file"),
        (("recency", "recency", "--top", "-1"), "--top"),
    ],
)
def test_wrong_words_are_bad_input(results: Path, words: tuple[str, ...], said: str) -> None:
    done = compare(results, *words)
    assert done.exit_code == 2
    assert said in done.stderr


def test_the_tables_are_readable_at_80_columns_without_colour(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = compare(results, "recency#current", "recency#61")
    tables = [line for line in done.stdout.splitlines() if "  " in line.strip()]
    assert max(map(len, tables)) <= 80
    assert all(line.split()[-1] != "able" for line in tables), "no word is broken"
    assert "\x1b" not in done.stdout
    markdown = compare(results, "recency#current", "recency#61", "--markdown").stdout
    assert "| slice | metric | before | after | change | 95% | p | finding |" in markdown
