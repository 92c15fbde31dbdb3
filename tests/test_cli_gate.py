"""``sweep gate`` as a repository uses it: commit a baseline, change something, read the verdict."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sweeper.baseline import read_baseline
from tests.projects import ENTRIES, QUESTIONS, Done, invoke, write_project, write_rows

CONFIG = """\
name: small
golden: golden.jsonl
engine: {kind: embedded, corpus: corpus.jsonl}
as_of: 2026-11-01T00:00:00Z
limit: 10
current: {rrf_k: 60, min_similarity: none, recency_half_life_days: 3650}
space:
  rrf_k: [1, 60]
metrics: [recall@5, recall@10, mrr]
objectives: {fresh.mrr: maximize}
"""
TWIN = {"id": "a-rent-twin", "text": "rent of the shed"}
"""A document that overtakes the answer of q1 and of no other question."""


def git(*words: str, folder: Path) -> str:
    """Run git with nothing of the machine's own configuration."""
    return subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
        cwd=folder,
        check=True,
        capture_output=True,
        text=True,
    ).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A fresh repository with a committed baseline."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path / "project"
    write_project(folder, CONFIG)
    monkeypatch.chdir(folder)
    git("init", "-q", folder=folder)
    assert gate("--update-baseline").exit_code == 0
    git("add", ".", folder=folder)
    git("commit", "-qm", "baseline", folder=folder)
    return folder


def gate(*options: object) -> Done:
    return invoke("gate", "sweep.yaml", *options)


def demote(folder: Path) -> None:
    write_rows(folder / "corpus.jsonl", [*ENTRIES, TWIN])


def document(done: Done) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def outcomes(found: Mapping[str, Any]) -> dict[str, str]:
    return {f"{line['slice']}.{line['metric']}": line["outcome"] for line in found["lines"]}


def test_an_unchanged_repository_passes_and_stays_clean(repository: Path) -> None:
    done = gate()
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("Gate: pass (strict)\n")
    assert git("status", "--porcelain", folder=repository) == ""


def test_the_table_says_which_figures_are_gated(repository: Path) -> None:
    said = "gated: recall@10 and mrr; other figures are reported"
    assert said in gate().stdout.splitlines()
    assert said not in gate("--set", "metrics=[recall@10, mrr]", "--policy", "direction").stdout


def test_what_a_pool_was_captured_from_is_compared_and_not_todays(
    repository: Path, tmp_path: Path
) -> None:
    demote(repository)
    assert invoke("run", "sweep.yaml", "--results", tmp_path / "r", "--no-plots").exit_code == 0
    [pool] = (tmp_path / "r/.pools").glob("*.parquet")
    write_rows(repository / "corpus.jsonl", ENTRIES)
    done = gate("--pool", pool, "--report-only")
    assert done.stdout.startswith("Note: the corpus changed since the baseline.\n")
    assert "engine changed" not in done.stdout


def test_without_a_baseline_the_command_that_makes_one_is_named(repository: Path) -> None:
    done = gate("--baseline", "none.json")
    assert done.exit_code == 2
    assert "Make it with: sweep gate CONFIG --update-baseline" in done.stderr


def test_updating_when_nothing_changed_leaves_the_file_byte_for_byte(repository: Path) -> None:
    before = Path("baseline.json").read_bytes()
    done = gate("--update-baseline")
    assert done.stdout == "baseline.json: unchanged\n"
    assert Path("baseline.json").read_bytes() == before
    assert git("status", "--porcelain", folder=repository) == ""


def test_a_pure_demotion_fails_by_mrr_in_its_slice_alone(repository: Path) -> None:
    demote(repository)
    done = gate("--json")
    assert done.exit_code == 3
    found = document(done)
    assert found["lost"] == [{"query_id": "q1", "before": 1, "after": 2}]
    assert outcomes(found) == {
        "entity.recall@5": "ok",
        "entity.recall@10": "ok",
        "entity.mrr": "worse",
        "fresh.recall@5": "ok",
        "fresh.recall@10": "ok",
        "fresh.mrr": "ok",
        "overall.recall@5": "ok",
        "overall.recall@10": "ok",
        "overall.mrr": "worse",
    }
    [entity] = [x for x in found["lines"] if (x["slice"], x["metric"]) == ("entity", "mrr")]
    assert entity["baseline"] - entity["now"] == pytest.approx(0.5 / 3, abs=1e-4)


def test_the_failure_says_what_fell_and_what_overtook_the_answer(repository: Path) -> None:
    demote(repository)
    done = gate()
    assert done.exit_code == 3
    assert done.stdout.startswith("Note: the corpus changed since the baseline.\n")
    assert "q1: was at 1, now at 2, behind a-rent-twin" in done.stdout
    assert done.stderr.startswith("the gate failed:\n  entity.mrr: fell from 1 to 0.8333\n")


def test_a_regression_in_one_slice_fails_whatever_overall_does(repository: Path) -> None:
    # Without decay the old memories come first: only the slice fresh suffers.
    done = gate("--json", "--settings", "recency_half_life_days=off")
    assert done.exit_code == 3
    failed = {name for name, word in outcomes(document(done)).items() if word == "worse"}
    assert {"fresh.mrr"} <= failed <= {"fresh.mrr", "overall.mrr"}
    assert document(done)["changed"] == ["the settings changed since the baseline"]


def test_a_vanished_slice_fails(repository: Path) -> None:
    rows = [row for row in QUESTIONS if row["slice"] != "fresh"]
    write_rows(repository / "golden.jsonl", rows)
    # The objective's slice must exist; the config moves on with the golden set.
    done = gate("--set", "objectives={entity.mrr: maximize}")
    assert done.exit_code == 3
    assert "Note: the golden set changed since the baseline." in done.stdout
    assert "fresh.mrr: the slice vanished" in done.stderr


def test_a_changed_golden_set_is_said_before_the_table(repository: Path) -> None:
    rows = [*QUESTIONS[:2], {**QUESTIONS[2], "query": "what does error E-17 mean"}, *QUESTIONS[3:]]
    write_rows(repository / "golden.jsonl", rows)
    done = gate()
    assert done.exit_code == 0
    notes, _, table = done.stdout.partition("Gate: pass")
    assert table
    assert notes.startswith(
        "Note: the golden set changed since the baseline.\n"
        "Note: 1 id of the baseline now has another question (q3): not compared one by one."
    )


def test_questions_without_ids_that_changed_places_are_not_said_to_have_moved(
    repository: Path,
) -> None:
    unnamed = [{k: v for k, v in row.items() if k != "id"} for row in QUESTIONS]
    write_rows(repository / "golden.jsonl", unnamed)
    assert gate("--update-baseline").exit_code == 0
    write_rows(repository / "golden.jsonl", [unnamed[-1], *unnamed[:-1]])
    for policy in ("strict", "significant"):
        done = gate("--policy", policy)
        assert done.exit_code == 0, done.stdout
        assert "4 ids of the baseline now have another question" in done.stdout
        assert "stood first" not in done.stdout
        assert "was at" not in done.stdout


def test_a_changed_engine_is_said_before_the_table(repository: Path) -> None:
    done = gate("--set", "engine.lexical.match=all")
    assert done.stdout.startswith("Note: the engine changed since the baseline.\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{ not json", r"baseline.json:1: is not valid JSON"),
        ("", "baseline.json: is empty"),
        ("{}", "holds neither recall@10 nor mrr"),
        (None, "baseline.json: there is no such file"),
    ],
)
def test_a_baseline_that_cannot_be_compared_is_bad_input_also_when_only_reporting(
    repository: Path, text: str | None, said: str
) -> None:
    if text is None:
        Path("baseline.json").unlink()
    else:
        Path("baseline.json").write_text(text, "utf-8")
    for options in ((), ("--report-only",)):
        done = gate(*options)
        assert (done.exit_code, done.stdout) == (2, "")
        assert said in done.stderr
        assert "--update-baseline" in done.stderr


def test_a_corrupt_baseline_can_be_replaced(repository: Path) -> None:
    good = Path("baseline.json").read_bytes()
    Path("baseline.json").write_text("{", "utf-8")
    done = gate("--update-baseline")
    assert done.exit_code == 0
    assert "the old file could not be read" in done.stderr
    assert Path("baseline.json").read_bytes() == good


def test_report_only_turns_a_failure_into_zero_and_still_says_so(repository: Path) -> None:
    demote(repository)
    done = gate("--report-only")
    assert done.exit_code == 0
    assert "Gate: fail (strict)" in done.stdout


def test_a_small_slice_is_undecided_under_the_significant_policy(repository: Path) -> None:
    demote(repository)
    done = gate("--policy", "significant")
    assert done.exit_code == 5
    assert done.stderr.startswith("the gate is undecided:\n  entity.mrr: fell from 1 to 0.8333; 1")
    assert gate("--policy", "significant", "--report-only").exit_code == 0


def test_tolerances_are_per_slice(repository: Path) -> None:
    demote(repository)
    each = ("--tolerance", "entity=0.2", "--tolerance", "overall=0.2")
    assert gate("--policy", "tolerance", *each).exit_code == 0
    assert gate("--policy", "tolerance", "--tolerance", "entity=0.2").exit_code == 3
    assert gate("--policy", "tolerance", "--tolerance", "0.2").exit_code == 0


def test_direction_needs_no_baseline_and_compares_with_the_previous_deploy(
    repository: Path,
) -> None:
    Path("baseline.json").rename("last.json")
    assert gate("--policy", "direction").exit_code == 0
    assert gate("--policy", "direction", "--previous", "last.json").exit_code == 0
    demote(repository)
    assert gate("--policy", "direction").exit_code == 0, "no value is pinned"
    done = gate("--policy", "direction", "--previous", "last.json")
    assert done.exit_code == 3
    assert done.stdout.startswith("Note: the corpus changed")


def test_markdown_has_two_decimals_and_what_one_question_is_worth(repository: Path) -> None:
    demote(repository)
    done = gate("--markdown", "--report-only")
    assert "| slice | metric | baseline | now | change | verdict | 1 question |" in done.stdout
    assert "| entity | mrr | 1.00 | 0.83 | -0.17 | FAIL | 0.33 |" in done.stdout
    assert "- q1: was at 1, now at 2, behind a-rent-twin" in done.stdout


def test_an_update_shows_before_and_after_and_is_a_small_diff(repository: Path) -> None:
    demote(repository)
    done = gate("--update-baseline")
    shown = [line.split() for line in done.stdout.splitlines()]
    assert ["entity", "mrr", "1.0000", "0.8333"] in shown
    assert "fresh" not in done.stdout
    removed = [
        line
        for line in git("diff", "-U0", folder=repository).splitlines()
        if line.startswith("-") and not line.startswith("---") and "rent-twin" not in line
    ]
    assert len(removed) == 4, "corpus digest, two figures and one position"
    assert gate().exit_code == 0


def test_an_update_as_json_says_whether_it_wrote(repository: Path) -> None:
    assert gate("--update-baseline", "--json").document["written"] is False
    demote(repository)
    found = gate("--update-baseline", "--json").document
    assert found["written"] is True
    assert {"slice": "entity", "metric": "mrr", "before": 1.0, "after": 0.8333} in found["changed"]


def test_an_update_names_what_the_new_file_lacks(repository: Path) -> None:
    rows = [row for row in QUESTIONS if row["slice"] != "fresh"]
    write_rows(repository / "golden.jsonl", rows)
    options = ("--update-baseline", "--set", "objectives={entity.mrr: maximize}", "--json")
    changed = gate(*options).document["changed"]
    assert {(row["slice"], row["metric"], row["after"]) for row in changed} >= {
        ("fresh", "mrr", None)
    }


def test_gated_metrics_are_measured_whatever_the_config_records(repository: Path) -> None:
    assert gate("--set", "metrics=[recall@5, mrr]").exit_code == 0
    assert set(read_baseline("baseline.json").figures["entity"]) == {"recall@5", "recall@10", "mrr"}


def test_metrics_can_be_named_that_fail_in_place_of_the_usual_ones(repository: Path) -> None:
    options = ("--metric", "NDCG@2", "--metric", "recall@1")
    assert gate(*options, "--update-baseline").exit_code == 0
    done = gate(*options)
    assert done.exit_code == 0
    assert "gated: ndcg@2 and recall@1; other figures are reported" in done.stdout
    demote(repository)
    found = outcomes(document(gate(*options, "--json")))
    assert {name for name, outcome in found.items() if outcome == "worse"} == {
        f"{group}.{metric}" for group in ("entity", "overall") for metric in ("ndcg@2", "recall@1")
    }
    assert found["entity.mrr"] == "reported"
    assert gate(*options).exit_code == 3
    assert gate("--metric", "recall@5").exit_code == 0


def test_a_metric_that_no_question_has_is_no_baseline(repository: Path) -> None:
    before = Path("baseline.json").read_bytes()
    done = gate("--metric", "class_accuracy", "--update-baseline")
    assert done.exit_code == 2
    assert "no question here has a class_accuracy" in done.stderr
    assert Path("baseline.json").read_bytes() == before


def test_yesterdays_candidates_are_used_only_when_named(repository: Path, tmp_path: Path) -> None:
    assert invoke("run", "sweep.yaml", "--results", tmp_path / "r", "--no-plots").exit_code == 0
    [pool] = (tmp_path / "r/.pools").glob("*.parquet")
    demote(repository)
    assert gate().exit_code == 3
    done = gate("--pool", pool)
    assert (done.exit_code, "changed since" in done.stdout) == (0, False)
    before = Path("baseline.json").read_bytes()
    done = gate("--pool", pool, "--update-baseline")
    assert (done.exit_code, "candidates of another corpus" in done.stderr) == (2, True)
    assert Path("baseline.json").read_bytes() == before
    write_rows(repository / "golden.jsonl", QUESTIONS[:5])
    done = gate("--pool", pool)
    assert done.exit_code == 2
    assert "candidates of other questions" in done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tolerance", "0.1"], "--tolerance goes with --policy tolerance"),
        (["--policy", "tolerance", "--tolerance", "2"], "a number from 0 to 1"),
        (["--policy", "tolerance", "--tolerance", "x=y"], "a number from 0 to 1"),
        (["--policy", "tolerance", "--tolerance", "entitty=0.1"], 'Did you mean "entity"?'),
        (
            ["--policy", "tolerance", "--tolerance", "0.1", "--tolerance", "entity=0.1"],
            "one number for all slices, or one per slice",
        ),
        (["--previous", "baseline.json"], "--previous goes with --policy direction"),
        (["--settings", "limit=50"], "reach down to 10 only"),
        (["--settings", "rrf_k"], "write knob=value"),
        (["--metric", "ndgc@10"], 'unknown metric "ndgc@10". Did you mean "ndcg@10"?'),
        (["--metric", "returned"], "less returned is better"),
        (["--metric", "ndcg@10"], "holds no ndcg@10 of any slice. Make it with: sweep gate CONFIG"),
        (["--metric", "ap", "--policy", "significant"], "tests mrr, recall@k and hit@k"),
    ],
)
def test_wrong_options_are_bad_input(repository: Path, options: list[str], said: str) -> None:
    done = gate(*options)
    assert done.exit_code == 2
    assert said in done.stderr


def test_a_golden_set_without_answers_fails_and_is_no_baseline(repository: Path) -> None:
    write_rows(repository / "golden.jsonl", QUESTIONS[5:])
    options = (
        "--set",
        "objectives={nothing.abstention: maximize}",
        "--set",
        "metrics=[abstention]",
    )
    assert gate(*options).exit_code == 3
    before = Path("baseline.json").read_bytes()
    done = gate("--update-baseline", *options)
    assert (done.exit_code, "no question has an answer" in done.stderr) == (2, True)
    assert Path("baseline.json").read_bytes() == before


def test_the_verdict_is_readable_at_80_columns_without_colour(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    demote(repository)
    done = gate("--report-only")
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout
