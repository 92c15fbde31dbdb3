"""Tables of how far figures can go, from a small sweep on disk."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sweeper.bounds import expiry_table, judging_of, judging_table, labels_table, ties_table
from sweeper.config import load_config
from sweeper.replay import Replay
from sweeper.result_tables import Table
from sweeper.results import Results
from sweeper.sweep import run_sweep
from tests.projects import write_project


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("bounds")
    config = load_config(write_project(folder))
    return run_sweep(config, root=folder / "results").results


def rows(table: Table) -> list[dict[str, object]]:
    keys = [column.key or column.header for column in table.columns]
    return [dict(zip(keys, row, strict=True)) for row in table.rows]


def test_expiry_says_what_is_left_after_some_days(results: Results) -> None:
    choice = results.settings[results.trial("current")].with_values(
        {"recency_half_life_days": 30.0}
    )
    table = rows(expiry_table(results, choice, [30, 90]))
    assert list(table[0]) == ["slice", "metric", "today", "+30 days", "+90 days"]
    later = Replay(results.pool.at(30.0), results.golden)
    today = results.replay.figures([choice], results.metrics)
    figures = later.figures([choice], results.metrics)
    for row in table:
        address = f"{row['slice']}.{row['metric']}"
        assert row["today"] == today.get(address)
        assert row["+30 days"] == pytest.approx(figures.get(address) - today.get(address))


def test_content_so_old_that_scores_underflow_is_replayed(results: Results) -> None:
    choice = results.settings[0].with_values({"recency_half_life_days": 0.01})
    table = rows(expiry_table(results, choice, [4000]))
    figures = Replay(results.pool.at(4000.0), results.golden).figures([choice], results.metrics)
    for row in table:
        later = float(str(row["today"])) + float(str(row["+4000 days"]))
        assert later == pytest.approx(figures.get(f"{row['slice']}.{row['metric']}"))


def test_with_decay_off_no_slice_ever_falls(results: Results) -> None:
    table = expiry_table(results, results.settings[results.trial("current")])
    assert table.notes[0] == "No slice ever falls below its value today."
    assert [column.header for column in table.columns][3:] == ["+30 days", "+90 days", "+365 days"]


def test_ties_stand_around_the_captured_figures(results: Results) -> None:
    table = rows(ties_table(results, results.settings[results.trial("current")]))
    assert {row["slice"] for row in table} == {"entity", "fresh", "nothing", "overall"}
    for row in table:
        low, captured, high = (float(str(row[n])) for n in ("lowest", "captured", "highest"))
        assert low <= captured <= high
        assert (row["questions"] == 0) == (low == high)


def test_the_ceiling_is_at_least_the_best_single_setting(results: Results) -> None:
    base = results.settings[results.trial("current")]
    table = rows(judging_table(results, base))
    assert {row["metric"] for row in table} == {"recall@1", "mrr"}
    for row in table:
        today, single, ceiling = (
            float(str(row[n])) for n in ("today", "best_single", "per_question")
        )
        assert today <= single <= ceiling <= 1
        assert float(str(row["routing_gain"])) == pytest.approx(ceiling - single)
        address = f"{row['slice']}.{row['metric']}"
        assert single == results.wide([address])[address].max()


def test_labels_are_complete(results: Results) -> None:
    base = results.settings[results.trial("current")]
    pool = judging_of(results, base)
    table = rows(labels_table(results, pool))
    unjudged = [(row["query_id"], row["key"]) for row in table if row["is"] == "unjudged"]
    assert len(unjudged) == sum(len(keys) for keys in pool.unjudged)
    for number, query in enumerate(results.golden.queries):
        for key in pool.unjudged[number]:
            assert (query.query_id, key) in unjudged


def test_what_the_ranges_do_not_show_is_told_apart_from_what_no_channel_holds(
    results: Results,
) -> None:
    base = results.settings[results.trial("current")]
    pool = judging_of(results, base)
    none: tuple[tuple[str, ...], ...] = ((),) * (len(results.golden) - 2)
    pool = replace(pool, unreachable=(("a",), ("b",), *none), absent=((), ("b",), *none))
    notes = judging_table(results, base, pool).notes
    first, second = (query.query_id for query in results.golden.queries[:2])
    assert (
        "2 expected documents are shown by no rrf_k, floor or half-life in these ranges, at limit "
        f"{base.limit}: {first}: a, {second}: b."
    ) in notes
    assert (
        f"1 of them are in no channel at the pool's depth; mend retrieval, not knobs: {second}: b."
    ) in notes
