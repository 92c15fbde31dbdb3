"""Gate rules: what fails, what does not, and what is said first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from sweeper.baseline import Baseline
from sweeper.gates import GatePolicy, Verdict, can_be_tested, judge

Positions = Mapping[str, int]


def measured(slices: Mapping[str, Positions], decimals: int = 4, **others: Any) -> Baseline:
    """Return the figures of questions with one expected document each, from its positions."""

    def figures(positions: list[int]) -> dict[str, float]:
        n = len(positions)
        return {
            "recall@5": sum(0 < p <= 5 for p in positions) / n,
            "recall@10": sum(0 < p <= 10 for p in positions) / n,
            "mrr": sum(1 / p for p in positions if p) / n,
        }

    table = {name: figures(list(own.values())) for name, own in slices.items()}
    everything = {query: p for own in slices.values() for query, p in own.items()}
    table["overall"] = figures(list(everything.values()))
    return Baseline(table, decimals, first_positions=everything, **others)


def committed(found: Baseline) -> Baseline:
    """Return figures as a file holds them."""
    rounded = {
        group: {metric: round(value, found.decimals) for metric, value in table.items()}
        for group, table in found.figures.items()
    }
    return replace(found, figures=rounded)


def questions(**positions: list[int]) -> dict[str, dict[str, int]]:
    """Return slices whose questions are numbered: ``entity0``, ``entity1``."""
    return {
        name: {f"{name}{n}": place for n, place in enumerate(own)}
        for name, own in positions.items()
    }


def verdict(
    before: Mapping[str, Positions],
    now: Mapping[str, Positions],
    policy: GatePolicy = "strict",
    tolerance: Mapping[str, float] | float = 0.0,
) -> Verdict:
    return judge(
        committed(measured(before)),
        measured(now),
        n_queries={f"{name}.mrr": len(own) for name, own in now.items()},
        policy=policy,
        tolerance=tolerance,
        slices={query: name for name, own in now.items() for query in own},
    )


def outcomes(found: Verdict, group: str) -> dict[str, str]:
    return {line.metric: line.outcome for line in found.lines if line.slice == group}


def test_nothing_changed_passes() -> None:
    same = questions(a=[1, 2, 0], b=[3, 1, 1])
    found = verdict(same, same)
    assert found.outcome == "pass"
    assert (found.reasons, found.lost, found.changed) == ((), (), ())
    assert {line.outcome for line in found.lines} == {"ok"}


def test_a_pure_demotion_leaves_recall_halves_that_rows_mrr_and_fails() -> None:
    found = verdict(questions(a=[1, 1]), questions(a=[1, 2]))
    assert found.outcome == "fail"
    assert outcomes(found, "a") == {"recall@5": "ok", "recall@10": "ok", "mrr": "worse"}
    assert "a.mrr: fell from 1 to 0.75" in found.reasons
    assert found.lost == (("a1", 1, 2),)


def test_an_overall_figure_that_hides_one_slices_collapse_fails() -> None:
    found = verdict(questions(a=[1, 1], b=[0, 0, 2]), questions(a=[0, 0], b=[1, 1, 1]))
    assert outcomes(found, "overall")["mrr"] == "better"
    assert outcomes(found, "a") == {"recall@5": "reported", "recall@10": "worse", "mrr": "worse"}
    assert found.outcome == "fail"


def test_two_thirds_pass_against_a_baseline_written_with_four_decimals() -> None:
    before = Baseline({"a": {"mrr": 0.6667, "recall@10": 1.0}}, 4)
    now = Baseline({"a": {"mrr": 2 / 3, "recall@10": 1.0}}, 17)
    assert judge(before, now, n_queries={}).outcome == "pass"
    finer = replace(before, decimals=6)
    assert judge(finer, now, n_queries={}).outcome == "fail", "0.666667 is below 0.6667"


def test_a_vanished_slice_fails() -> None:
    found = verdict(questions(a=[1, 1], b=[1]), questions(a=[1, 1]))
    assert found.outcome == "fail"
    assert "b.mrr: the slice vanished" in found.reasons
    assert outcomes(found, "b")["mrr"] == "vanished"
    assert outcomes(found, "b")["recall@5"] == "reported"


def test_a_metric_that_is_no_longer_measured_fails_if_it_is_gated() -> None:
    before = Baseline({"a": {"mrr": 0.5, "recall@10": 1.0}}, 1)
    found = judge(before, Baseline({"a": {"mrr": 0.5}}, 17), n_queries={})
    assert found.reasons == ("a.recall@10: is no longer measured",)
    assert found.outcome == "fail"


def test_a_new_slice_is_told_and_passes() -> None:
    found = verdict(questions(a=[1]), questions(a=[1], b=[0]))
    assert outcomes(found, "b")["mrr"] == "new"
    # The new slice's questions pull overall down, and that is a fall.
    assert found.outcome == "fail"
    assert all(reason.startswith("overall.") for reason in found.reasons)


def test_recall_at_five_is_reported_and_not_gated() -> None:
    before = Baseline({"a": {"recall@5": 1.0, "recall@10": 1.0, "mrr": 0.2}}, 1)
    now = Baseline({"a": {"recall@5": 0.0, "recall@10": 1.0, "mrr": 0.2}}, 17)
    found = judge(before, now, n_queries={})
    assert found.outcome == "pass"
    assert outcomes(found, "a")["recall@5"] == "reported"


def test_named_metrics_are_gated_in_place_of_the_usual_ones() -> None:
    before = Baseline({"a": {"recall@5": 1.0, "recall@10": 1.0, "mrr": 0.2}}, 1)
    now = Baseline({"a": {"recall@5": 0.5, "recall@10": 0.5, "mrr": 0.1}}, 17)
    found = judge(before, now, n_queries={}, gated=["recall@5"])
    assert found.reasons == ("a.recall@5: fell from 1 to 0.5",)
    assert outcomes(found, "a") == {"recall@5": "worse", "recall@10": "reported", "mrr": "reported"}
    other = Baseline({"a": {"recall@10": 1.0, "mrr": 0.2}}, 17)
    assert judge(before, other, n_queries={}, gated=["recall@5"]).reasons == (
        "a.recall@5: is no longer measured",
        "no figures were produced",
    )
    zero = Baseline({"a": {"recall@5": 1.0, "recall@10": 0.0, "mrr": 0.0}}, 17)
    asked = {"n_queries": {}, "policy": "direction"}
    assert judge(before, zero, gated=["recall@5"], **asked).outcome == "pass"  # type: ignore[arg-type]


def test_a_baseline_of_todays_questions_that_lacks_a_gated_figure_fails() -> None:
    whole = {"a": {"mrr": 0.5, "recall@5": 0.5}, "b": {"mrr": 0.5, "recall@5": 0.5}}
    for lacking in ({"a": whole["a"]}, {**whole, "b": {"recall@5": 0.5}}):
        now = Baseline(whole, 17, golden="g")
        found = judge(Baseline(lacking, 1, golden="g"), now, n_queries={})
        assert found.outcome == "fail"
        assert found.reasons == (
            "b.mrr: the baseline lacks it, though it is of today's golden set",
        )
        for other in ("h", None):  # of other questions, or a file that does not say
            assert judge(Baseline(lacking, 1, golden=other), now, n_queries={}).outcome == "pass"


def test_a_hard_break_counts_where_mrr_is_gated() -> None:
    before, now = committed(measured(questions(a=[1, 2]))), measured(questions(a=[4, 1]))
    asked = {"n_queries": {}, "policy": "significant"}
    assert judge(before, now, **asked).outcome == "fail"  # type: ignore[arg-type]
    assert judge(before, now, gated=["recall@10"], **asked).outcome == "pass"  # type: ignore[arg-type]


def test_a_usage_log_that_was_added_or_left_out_is_named_unless_the_file_does_not_say() -> None:
    said = ("the usage log changed since the baseline",)
    for before, now, changed in (("", "x", said), ("x", "", said), ("", "", ()), (None, "x", ())):
        found = judge(Baseline({}, 4, usage=before), Baseline({}, 17, usage=now), n_queries={})
        assert found.changed == changed


def test_a_cutoff_decides_what_is_significant() -> None:
    before, now = questions(a=[3] * 12), questions(a=[7] * 12)
    table = {"n_queries": {}, "policy": "significant", "slices": {f"a{n}": "a" for n in range(12)}}
    for metric, outcome in (("recall@5", "fail"), ("recall@10", "pass")):
        found = judge(
            committed(measured(before)),
            measured(now),
            gated=[metric],
            **table,  # type: ignore[arg-type]
        )
        assert found.outcome == outcome


def test_a_metric_that_the_first_position_does_not_tell_is_undecided_and_not_testable() -> None:
    before = Baseline({"a": {"ndcg@10": 0.5}}, 1, first_positions={"a0": 1})
    now = Baseline({"a": {"ndcg@10": 0.4}}, 17, first_positions={"a0": 1})
    found = judge(before, now, n_queries={}, policy="significant", gated=["ndcg@10"])
    assert found.outcome == "undecided"
    assert "does not tell ndcg@10" in found.reasons[0]
    assert [can_be_tested(m) for m in ("mrr", "recall@3", "hit@1", "ndcg@10", "abstention")] == [
        *[True] * 3,
        *[False] * 2,
    ]


def test_figures_that_hold_no_gated_metric_never_pass() -> None:
    before = Baseline({"a": {"mrr": 0.5}}, 1)
    found = judge(before, Baseline({}, 17), n_queries={})
    assert found.outcome == "fail"
    assert "no figures were produced" in found.reasons
    assert judge(None, Baseline({}, 17), n_queries={}, policy="direction").outcome == "fail"


@pytest.mark.parametrize(
    ("tolerance", "outcome"),
    [(0.0, "fail"), (0.25, "pass"), ({"a": 0.25, "overall": 0.25}, "pass"), ({"a": 0.25}, "fail")],
)
def test_a_tolerance_is_per_slice_and_overall_has_its_own(
    tolerance: Mapping[str, float] | float, outcome: str
) -> None:
    found = verdict(questions(a=[1, 1]), questions(a=[1, 2]), "tolerance", tolerance)
    assert found.outcome == outcome


def test_a_fall_beyond_the_tolerance_names_it() -> None:
    found = verdict(questions(a=[1, 1]), questions(a=[1, 2]), "tolerance", 0.1)
    assert "a.mrr: fell from 1 to 0.75, more than the allowed 0.1" in found.reasons


def test_a_tolerance_is_exact_at_its_edge() -> None:
    before = Baseline({"a": {"mrr": 0.8, "recall@10": 1.0}}, 1)
    now = Baseline({"a": {"mrr": 0.7, "recall@10": 1.0}}, 17)
    found = judge(before, now, n_queries={}, policy="tolerance", tolerance=0.1)
    assert found.outcome == "pass", "0.8 - 0.7 is a hair above 0.1 in floating point"


def test_a_broad_small_fall_is_significant() -> None:
    found = verdict(questions(a=[2] * 12), questions(a=[3] * 10 + [2] * 2), "significant")
    assert found.outcome == "fail"
    assert any("p = 0.001" in reason for reason in found.reasons)


def test_a_fall_that_luck_explains_passes_the_significant_policy() -> None:
    before, now = [2, 2, 2, 3, 3, 3, 3, 3], [3, 3, 3, 3, 3, 2, 2, 4]
    found = verdict(questions(a=before), questions(a=now), "significant")
    assert outcomes(verdict(questions(a=before), questions(a=now)), "a")["mrr"] == "worse"
    assert (found.outcome, found.reasons) == ("pass", ())


def test_one_hard_break_fails_by_itself_even_where_the_mean_rises() -> None:
    found = verdict(questions(a=[1, 2, 2, 2]), questions(a=[0, 1, 1, 1]), "significant")
    assert outcomes(found, "a")["mrr"] == "better"
    assert found.outcome == "fail"
    assert found.reasons[-1] == "a0: stood first, now not returned"


def test_a_demotion_from_first_to_second_is_no_hard_break() -> None:
    found = verdict(questions(a=[1] * 8), questions(a=[2] + [1] * 7), "significant")
    assert found.outcome == "undecided"
    assert "a.mrr: fell from 1 to 0.9375; 1 moved, and fewer than 5 cannot tell" in found.reasons
    assert verdict(questions(a=[1] * 8), questions(a=[3] + [1] * 7), "significant").outcome == (
        "fail"
    )


def test_figures_without_positions_leave_the_significant_policy_undecided() -> None:
    before = replace(committed(measured(questions(a=[2, 2]))), first_positions={})
    found = judge(before, measured(questions(a=[3, 3])), n_queries={}, policy="significant")
    assert found.outcome == "undecided"
    assert "has no positions to test" in found.reasons[0]


def test_a_clear_failure_outweighs_what_is_undecided() -> None:
    found = verdict(questions(a=[2] * 8, b=[2, 2]), questions(a=[3] * 8, b=[3, 2]), "significant")
    assert outcomes(found, "b")["mrr"] == "undecided"
    assert outcomes(found, "a")["mrr"] == "worse"
    assert found.outcome == "fail"


def test_direction_without_a_previous_deploy_asks_for_figures_above_zero_alone() -> None:
    low = measured(questions(a=[9, 9], b=[10]))
    assert judge(None, low, n_queries={}, policy="direction").outcome == "pass"
    zero = measured(questions(a=[9, 9], b=[0]))
    found = judge(None, zero, n_queries={}, policy="direction")
    assert (found.outcome, found.reasons) == (
        "fail",
        ("b.recall@10: is zero", "b.mrr: is zero"),
    )


def test_direction_fails_where_a_figure_fell_since_the_previous_deploy() -> None:
    before, now = questions(a=[1, 1]), questions(a=[1, 2])
    assert verdict(before, now, "direction").outcome == "fail"
    assert verdict(now, before, "direction").outcome == "pass"
    both_zero = questions(a=[1], b=[0])
    assert verdict(both_zero, both_zero, "direction").outcome == "pass"


def test_what_changed_is_listed_golden_set_first() -> None:
    before = measured(questions(a=[1]), golden="g1", corpus="c1", engine="e1", settings="s1")
    now = measured(questions(a=[1]), golden="g2", corpus="c2", engine="e2", settings="s2")
    assert judge(before, now, n_queries={}).changed == (
        "the golden set changed since the baseline",
        "the corpus changed since the baseline",
        "the engine changed since the baseline",
        "the settings changed since the baseline",
    )
    silent = replace(before, golden=None, corpus=None, engine=None, settings=None)
    assert judge(silent, now, n_queries={}).changed == (), "the file does not say"


def test_a_baseline_of_few_decimals_is_told_to_be_coarse() -> None:
    before = Baseline({"a": {"mrr": 1.0, "recall@10": 1.0}}, 1)
    found = judge(before, Baseline({"a": {"mrr": 0.96, "recall@10": 1.0}}, 17), n_queries={})
    assert found.outcome == "pass"
    assert found.changed == (
        "the baseline's figures have at most 1 decimals, so that a fall of less than 0.05 may not "
        "be seen",
    )


def test_lost_answers_stand_deepest_fall_first_and_removed_questions_are_not_lost() -> None:
    before = questions(a=[1, 2, 1, 5, 0])
    now = {"a": {"a0": 2, "a1": 0, "a2": 0, "a3": 4, "a4": 0}}
    assert verdict(before, now).lost == (("a2", 1, 0), ("a0", 1, 2), ("a1", 2, 0))
    fewer = {"a": {"a0": 1}}
    assert verdict(before, fewer).lost == ()


def test_the_difference_is_none_where_a_side_is_missing() -> None:
    found = verdict(questions(a=[1], b=[1]), questions(a=[1], c=[1]))
    by_slice = {line.slice: line.difference for line in found.lines if line.metric == "mrr"}
    assert by_slice == {"a": 0.0, "b": None, "c": None, "overall": 0.0}
