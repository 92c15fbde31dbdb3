"""Two trials, two sweeps, or a trial and a baseline file."""

from __future__ import annotations

from pathlib import Path

import pytest

from sweeper.baseline import Baseline
from sweeper.comparison import Side, compare_trials, compare_with_baseline
from sweeper.config import load_config
from sweeper.errors import InputError
from sweeper.results import Results
from sweeper.sweep import run_sweep
from tests.projects import ENTRIES, QUESTIONS, write_project


def run(folder: Path, *overrides: str, **files: object) -> Results:
    config = load_config(write_project(folder, **files), overrides)  # type: ignore[arg-type]
    return run_sweep(config, root=folder / "results").results


@pytest.fixture
def small(tmp_path: Path) -> Results:
    return run(tmp_path / "one")


def trial(results: Results, **values: float | None) -> Side:
    """Return the trial that differs from today's in some knobs."""
    wanted = results.settings[results.trial("current")].with_values(values)
    return Side(results, results.settings.index(wanted))


def test_a_trial_against_itself_is_the_same_everywhere(small: Results) -> None:
    today = trial(small)
    found = compare_trials(today, today)
    assert {item.finding for item in found.differences} == {"same"}
    assert (found.changed, found.missing, found.moved) == ((), (), ())


def test_figures_are_those_of_the_trials(small: Results) -> None:
    today, weekly = trial(small), trial(small, recency_half_life_days=7)
    found = compare_trials(today, weekly)
    table = small.wide()
    for item in found.differences:
        address = f"{item.slice}.{item.metric}"
        assert item.baseline == pytest.approx(table[address][today.trial])
        assert item.challenger == pytest.approx(table[address][weekly.trial])
    assert {item.metric for item in found.differences} == {"recall@1", "mrr", "abstention"}
    assert found.baseline == today.address


def test_moved_questions_stand_greatest_change_first_with_what_overtook_them(
    small: Results,
) -> None:
    found = compare_trials(trial(small), trial(small, recency_half_life_days=7))
    gains = [abs(item.gain) for item in found.moved]
    assert gains == sorted(gains, reverse=True)
    assert all(item.before != item.after for item in found.moved)
    for item in found.moved:
        keys = trial(small, recency_half_life_days=7).returned(item.query_id)
        ahead = keys[: item.after - 1 if item.after else len(keys)]
        assert set(item.overtook) <= set(ahead)
        if item.after > item.before > 0:
            assert item.overtook, "somebody must have passed"


def test_swapping_the_sides_swaps_the_positions(small: Results) -> None:
    one, two = trial(small), trial(small, recency_half_life_days=7)
    forward, back = compare_trials(one, two), compare_trials(two, one)
    assert {(m.query_id, m.before, m.after) for m in forward.moved} == {
        (m.query_id, m.after, m.before) for m in back.moved
    }


def test_sweeps_over_other_questions_compare_those_that_both_have(
    small: Results, tmp_path: Path
) -> None:
    extra = {"id": "q9", "slice": "entity", "query": "calm sea", "expected": ["doc-boat"]}
    other = run(tmp_path / "two", questions=[*QUESTIONS[1:], extra])
    found = compare_trials(trial(small), trial(other))
    assert found.changed == ("the golden set changed",)
    assert found.missing == ("q1", "q9")
    entity = next(item for item in found.differences if item.slice == "entity")
    assert entity.n_queries == 2


def test_an_id_with_another_text_is_another_question(small: Results, tmp_path: Path) -> None:
    rows = [{**row, "query": "boat"} if row["id"] == "q2" else row for row in QUESTIONS]
    other = run_sweep(load_config(write_project(tmp_path, questions=rows)), root=tmp_path / "r")
    found = compare_trials(Side(small, 0), Side(other.results, 0))
    assert found.missing == ("q2",)
    assert all(moved.query_id != "q2" for moved in found.moved)


def test_another_corpus_is_told_and_is_no_other_engine(small: Results, tmp_path: Path) -> None:
    twin = {"id": "a-rent-twin", "text": "rent of the shed"}
    other = run(tmp_path / "two", entries=[*ENTRIES, twin])
    found = compare_trials(trial(small), trial(other))
    assert found.changed == ("the corpus changed",)
    [moved] = [item for item in found.moved if item.query_id == "q1"]
    assert (moved.before, moved.after, moved.overtook) == (1, 2, ("a-rent-twin",))


def test_another_engine_is_told(small: Results, tmp_path: Path) -> None:
    other = run(tmp_path / "two", "engine.lexical.match=all")
    assert compare_trials(trial(small), trial(other)).changed == ("the engine changed",)


def test_sweeps_without_a_common_question_cannot_be_compared(
    small: Results, tmp_path: Path
) -> None:
    renamed = [{**row, "id": f"other-{row['id']}"} for row in QUESTIONS]
    other = run(tmp_path / "two", questions=renamed)
    with pytest.raises(InputError, match="no question in common"):
        compare_trials(trial(small), trial(other))


def test_a_baseline_files_figures_are_compared_at_its_decimals_and_untested(
    small: Results,
) -> None:
    today = trial(small)
    table = small.wide()
    mrr = float(table["entity.mrr"][today.trial])
    file = Baseline(
        {"entity": {"mrr": round(mrr, 2)}, "gone": {"mrr": 1.0}},
        2,
        golden="another",
        corpus=small.manifest["corpus"]["digest"],
        first_positions={"q1": 4, "unknown": 1},
    )
    found = compare_with_baseline(file, "baseline.json", today)
    [entity] = found.differences
    assert (entity.difference, entity.finding, entity.p_value) == (0, "untested", None)
    assert found.changed == (
        "the golden set changed",
        "the baseline's slice gone is not in this sweep",
    )
    assert found.missing == ("unknown",)
    [moved] = found.moved
    assert (moved.query_id, moved.before, moved.after) == ("q1", 4, 1)
