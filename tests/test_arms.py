"""Named settings: built on one another, and what each moves against what it is built on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sweeper.arms import arms_of, arms_table, moves_of, moves_tables, verdict_table
from sweeper.config import Config, load_config
from sweeper.errors import InputError
from sweeper.intervals import mean_interval
from sweeper.results import Results
from sweeper.sweep import run_sweep
from tests.projects import CONFIG, QUESTIONS, invoke, write_project

ARMS = (
    "arms={slow: {recency_half_life_days: 7}, "
    "alone: {from: slow, weights.vector: 0}, short: {rrf_k: 1, limit: 1}}"
)
GROUPS = {  # that a metric has a value in
    "recall@1": ["entity", "fresh", "overall"],
    "mrr": ["entity", "fresh", "overall"],
    "abstention": ["nothing", "overall"],
}


def loaded(folder: Path, *changes: str) -> Config:
    return load_config(write_project(folder), [ARMS, "space={}", "table={}", *changes])


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("arms")
    return run_sweep(loaded(folder), root=folder / "results").results


def test_an_arm_changes_the_one_that_it_is_built_on(results: Results) -> None:
    slow, alone, short = (results.settings[arm.trial] for arm in arms_of(results))
    assert (slow.recency_half_life_days, slow.weight("vector")) == (7, 1)
    assert (alone.recency_half_life_days, alone.weight("vector")) == (7, 0)
    assert (short.rrf_k, short.limit) == (1, 1)


def test_arms_know_what_they_are_compared_with(results: Results) -> None:
    arms = {arm.name: arm for arm in arms_of(results)}
    assert list(arms) == ["slow", "alone", "short"]
    assert [arm.base for arm in arms.values()] == ["today", "slow", "today"]
    assert arms["alone"].base_trial == arms["slow"].trial
    assert arms["slow"].base_trial == results.trial("current")


def test_arms_stand_in_the_order_of_the_config_whatever_their_trials(tmp_path: Path) -> None:
    config = load_config(
        write_project(tmp_path), ["arms={far: {rrf_k: 999}, near: {rrf_k: 20}}", "space.rrf_k=[20]"]
    )
    found = run_sweep(config, root=tmp_path / "results").results
    assert [arm.name for arm in arms_of(found)] == ["far", "near"]
    assert found.trial("near") < found.trial("far")


@pytest.mark.parametrize(
    ("arms", "message"),
    [
        ("{a: {from: b}, b: {rrf_k: 1}}", r"from: no arm above is called 'b'. "),
        ("{a: {from: a}}", "no arm above is called 'a'"),
        ("{b: {rrf_k: 1}, a: {from: bb}}", 'Did you mean "b"'),
        ("{b: {rrf_k: 1}, a: {from: [b]}}", "no arm above is called"),
    ],
)
def test_an_arm_is_built_on_one_above_it_alone(tmp_path: Path, arms: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        loaded(tmp_path, f"arms={arms}")


def test_a_move_is_the_mean_difference_of_the_questions_and_its_interval(results: Results) -> None:
    moves = {(m.arm, m.metric, m.group): m for m in moves_of(results)}
    arm = next(arm for arm in arms_of(results) if arm.name == "alone")
    scores = results.scores([arm.base_trial, arm.trial])
    before, after = scores.values["mrr"]
    for group in (*results.golden.slices, "overall"):
        rows = [n for n, q in enumerate(results.golden.queries) if group in (q.slice, "overall")]
        own = (after - before)[rows]
        own = own[~np.isnan(own)]
        if not len(own):
            assert ("alone", "mrr", group) not in moves
            continue
        move = moves["alone", "mrr", group]
        assert move.n_queries == len(own)
        assert move.difference == pytest.approx(own.mean())
        if group != "overall":
            interval = mean_interval([own], seed=0, bounds=(-1.0, 1.0))
            assert interval is not None
            assert (move.low, move.high) == (interval.low, interval.high)


def test_what_cannot_be_better_or_worse_is_left_out(tmp_path: Path) -> None:
    metrics = "metrics=[mrr, returned, class_accuracy]"
    config = loaded(tmp_path, metrics, "objectives={overall.mrr: maximize}", "classes=rules")
    found = run_sweep(config, root=tmp_path / "results").results
    assert {move.metric for move in moves_of(found)} == {"mrr"}


def test_the_verdict_follows_from_the_interval(results: Results) -> None:
    for move in moves_of(results):
        if move.low is None or move.high is None:
            continue
        expected = "better" if move.low > 0 else "worse" if move.high < 0 else "no difference shown"
        assert move.verdict == expected


def test_what_moved_is_listed_and_the_rest_is_counted(results: Results) -> None:
    # Six questions show nothing by themselves, so some intervals are made to exclude 0.
    moves = [
        move._replace(low=0.1, difference=0.25)
        if (move.arm, move.group) == ("short", "entity")
        else move._replace(low=-1.0, high=-0.001, difference=-0.004)
        if (move.arm, move.metric, move.group) == ("short", "mrr", "overall")
        else move._replace(low=-1.0, high=1.0)
        for move in moves_of(results)
    ]
    table = verdict_table(results, moves)
    assert table.rows == (
        ("short", "today", "recall@1", "entity +0.25", ""),
        ("short", "today", "mrr", "entity +0.25", "overall -0.004"),
    )
    n_pairs = 3 * len(GROUPS)
    assert table.notes[0] == (
        f"Of {n_pairs - 2} other pairs of arm and metric nothing is shown to move."
    )
    still = verdict_table(results, [move._replace(low=-1.0, high=1.0) for move in moves])
    assert still.rows == ()
    assert still.notes[0] == f"Of {n_pairs} pairs of arm and metric nothing is shown to move."


def test_a_table_per_metric_has_every_arm_and_slice(results: Results) -> None:
    tables = moves_tables(results, moves_of(results))
    for table in tables:
        assert [row[:2] for row in table.rows] == [
            ("slow", "today"),
            ("alone", "slow"),
            ("short", "today"),
        ]
    keys = [[column.key for column in table.columns[2:]] for table in tables]
    assert keys == list(GROUPS.values())
    for table in tables:
        assert [note.split(":")[0] for note in table.notes] == [
            "* the 95 % interval excludes 0 (--json has all of them); = no question's value "
            "differs.",
            "With fewer than 20 questions intervals are wide",
        ]
        assert table.notes[1].endswith("`sweep compare` tests a pair.")


def test_a_cell_is_short_and_overall_alone_has_its_interval(results: Results) -> None:
    moves = {
        "entity": (0.094, 0.01, 0.2, 3),
        "fresh": (0.0, -0.6, 0.6, 0),
        "overall": (-0.004, -0.0004, 0.31, 5),
    }
    made = [
        move._replace(difference=d, low=low, high=high, n_differ=n)
        for move in moves_of(results)
        if move.metric == "mrr"
        for d, low, high, n in [moves[move.group]]
    ]
    [table] = moves_tables(results, made)
    cells = [column.text(value) for column, value in zip(table.columns, table.rows[0], strict=True)]
    assert cells == ["slow", "today", "*+0.09", "=", "-0.004 (0.00 to +0.31)"]


def test_a_difference_that_cancels_out_is_not_called_no_change(results: Results) -> None:
    for move in moves_of(results):
        if move.n_differ == 0:
            assert move.difference == 0
    made = [move._replace(difference=-0.0, n_differ=2) for move in moves_of(results)]
    table = moves_tables(results, made)[0]
    assert table.columns[2].text(table.rows[0][2]).lstrip("*") == "0.00"


def test_the_only_slice_of_a_golden_set_does_not_stand_beside_overall(tmp_path: Path) -> None:
    questions = [{**row, "slice": "one"} for row in QUESTIONS]
    path = write_project(
        tmp_path,
        CONFIG.replace("fresh.mrr", "one.mrr").replace("entity.mrr", "overall.mrr"),
        questions=questions,
    )
    found = run_sweep(
        load_config(path, [ARMS, "space={}", "table={}"]), root=tmp_path / "r"
    ).results
    moves = moves_of(found)
    assert {move.group for move in moves} == {"one", "overall"}
    for table in moves_tables(found, moves):
        assert [column.key for column in table.columns[2:]] == ["overall"]
    n_intervals = sum(move.low is not None for move in moves if move.group == "overall")
    assert f"Of {n_intervals} intervals" in " ".join(verdict_table(found, moves).notes)


def test_the_table_says_what_an_arm_is_built_on(results: Results) -> None:
    table = arms_table(results)
    assert table is not None
    changes = {row[0]: row[1] for row in table.rows}
    assert changes == {
        "today": "",
        "slow": "recency_half_life_days 7",
        "alone": "slow, and weights.vector 0",
        "short": "rrf_k 1, limit 1",
    }


def test_changes_of_many_classes_are_gathered_for_people_alone(tmp_path: Path) -> None:
    names = ("lookup", "impact", "code")
    knobs = ", ".join(f"routing.{name}.budget: 2" for name in names)
    knobs += ", weights.vector: 0.5, routing.code.weights.vector: 0.25"
    config = loaded(tmp_path, f"arms={{routed: {{rrf_k: 5, {knobs}}}}}")
    found = run_sweep(config, root=tmp_path / "results").results
    table = arms_table(found)
    assert table is not None
    assert table.columns[1].text(table.rows[1][1]) == (
        "rrf_k 5, weights vector 0.5, code vector 0.25, budgets code 2, impact 2, lookup 2"
    )
    assert all(f"routing.{name}.budget 2" in table.rows[1][1] for name in names)


def test_programs_get_moves_as_numbers(tmp_path: Path) -> None:
    path = write_project(tmp_path)
    done = invoke(
        *("run", path, "--results", tmp_path / "results", "--json", "--no-plots"),
        *("--set", ARMS, "--set", "space={}", "--set", "table={}"),
    )
    moves = done.document["moves"]
    assert {move["arm"] for move in moves} == {"slow", "alone", "short"}
    assert set(moves[0]) == {
        *("arm", "metric", "group", "n_queries", "difference", "low", "high", "n_differ"),
        "verdict",
    }


def test_tables_of_arms_keep_to_a_page_and_figures_to_the_first_line_of_their_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    budgets = ", ".join(f"routing.class{n}.budget: {n + 1}" for n in range(6))
    questions = [{**row, "class": f"class{n}"} for n, row in enumerate(QUESTIONS)]
    path = write_project(tmp_path, questions=questions)
    arms = f"arms={{limited: {{{budgets}, recency_half_life_days: 30, rrf_k: 7}}}}"
    columns = "[entity.recall@1, fresh.recall@1, nothing.abstention, entity.mrr, fresh.mrr]"
    config = load_config(path, [arms, f"table={{columns: {columns}}}", "classes=golden"])
    run_sweep(config, root=tmp_path / "results")
    shown = invoke("show", "small", "--results", tmp_path / "results").stdout
    lines = shown.partition("By ")[0].splitlines()
    assert max(map(len, lines)) <= 110
    [row, below] = lines[(n := next(i for i, x in enumerate(lines) if x[:7] == "limited")) : n + 2]
    assert row.split()[-7:][0].count(".") == 1  # five figures, better and worse
    assert below.startswith("     ")


def test_an_arm_on_one_that_equals_another_is_still_compared_with_its_base(tmp_path: Path) -> None:
    arms = "arms={a: {rrf_k: 5, limit: 2}, b: {rrf_k: 5, limit: 2}, c: {from: b, limit: 1}}"
    found = run_sweep(loaded(tmp_path, arms), root=tmp_path / "results").results
    by_name = {arm.name: arm for arm in arms_of(found)}
    assert by_name["a"].trial == by_name["b"].trial
    assert by_name["c"].base_trial == by_name["b"].trial
    assert {m.difference for m in moves_of(found) if m.arm == "b"} == {
        m.difference for m in moves_of(found) if m.arm == "a"
    }


def test_a_prior_that_is_off_keeps_its_knobs_for_whoever_switches_it_on(tmp_path: Path) -> None:
    config = loaded(tmp_path, "current.prior.cap=1.05", "arms={}")
    found = run_sweep(config, root=tmp_path / "results").results
    today = found.current_settings
    assert today.prior is None
    switched = today.with_values({"prior.strength": 1.0}).prior
    assert switched is not None
    assert switched.cap == 1.05


def test_one_knob_in_two_spellings_is_refused_and_overridden_by_either(tmp_path: Path) -> None:
    twice = "current={prior: {cap: 2}, prior.cap: 3}"
    with pytest.raises(InputError, match=r"is the same knob as current\.prior\.cap"):
        load_config(write_project(tmp_path), [twice])
    with pytest.raises(InputError, match=r"is the same knob as space\.triples_weight"):
        load_config(write_project(tmp_path), ["space={triples_weight: [1], weights.triples: [2]}"])
