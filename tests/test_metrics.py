"""Each metric by hand (``docs/semantics.md``, section 3), and how metrics are named."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from sweeper.golden import GoldenSet, Query, Route
from sweeper.metrics import METRICS, Feature, Metric, parse_metric, parse_metrics
from sweeper.runs import Judgments, Positions, Run
from tests.builders import positions_of, query, value_of

LOG2_3 = math.log2(3)


@pytest.mark.parametrize(
    ("metric", "returned", "expected", "value"),
    [
        # recall: distinct expected keys within the cutoff / distinct expected keys
        ("recall@1", "a", "a", 1),
        ("recall@1", "xa", "a", 0),
        ("recall@2", "xa", "a", 1),
        ("recall@3", "axb", "abc", 2 / 3),
        ("recall@3", "aaab", "ab", 1 / 2),  # the second chunk of a costs a slot
        ("recall@100", "ab", "ab", 1),
        ("recall@5", "", "a", 0),
        # hit: any expected key within the cutoff
        ("hit@1", "ab", "ab", 1),
        ("hit@1", "xab", "ab", 0),
        ("hit@2", "xab", "ab", 1),
        ("hit@2", "", "ab", 0),
        # mrr: 1 / position of the first expected key
        ("mrr", "a", "a", 1),
        ("mrr", "xxa", "a", 1 / 3),
        ("mrr", "xbxa", "ab", 1 / 2),
        ("mrr", "xyz", "a", 0),
        ("mrr", "", "a", 0),
        # precision: relevant positions within the cutoff / the cutoff
        ("precision@2", "ax", "a", 1 / 2),
        ("precision@4", "aaxb", "ab", 3 / 4),  # every chunk of a relevant document counts
        ("precision@10", "ab", "ab", 2 / 10),
        ("precision@1", "xa", "a", 0),
        # citation precision: relevant positions / returned positions, over the whole list
        ("citation_precision", "aaxb", "ab", 3 / 4),
        ("citation_precision", "xxxxxxxxxxxa", "a", 1 / 12),
        ("citation_precision", "", "a", 0),
        ("citation_precision", "a", "abc", 1),
        # ndcg: gain 1, discount log2(position + 1)
        ("ndcg@10", "a", "a", 1),
        ("ndcg@10", "xa", "a", 1 / LOG2_3),
        ("ndcg@1", "xa", "a", 0),
        ("ndcg@10", "xaxb", "ab", (1 / LOG2_3 + 1 / math.log2(5)) / (1 + 1 / LOG2_3)),
        ("ndcg@10", "aab", "ab", (1 + 1 / 2) / (1 + 1 / LOG2_3)),  # a gains at its first place only
        ("ndcg@1", "ab", "ab", 1),  # the ideal is cut off too
        ("ndcg@10", "", "a", 0),
        # ap: keys found up to each expected key's first position / that position
        ("ap", "a", "a", 1),
        ("ap", "xa", "a", 1 / 2),
        ("ap", "aab", "ab", (1 + 2 / 3) / 2),
        ("ap", "axb", "ab", (1 + 2 / 3) / 2),
        ("ap", "ba", "ab", 1),
        ("ap", "bxxa", "abc", (1 + 2 / 4 + 0) / 3),
        ("ap", "xyz", "ab", 0),
        ("ap", "", "ab", 0),
        # returned: how many positions came back
        ("returned", "xyz", "a", 3),
        ("returned", "", "a", 0),
    ],
)
def test_a_metric_equals_its_definition(
    metric: str, returned: str, expected: str, value: float
) -> None:
    assert value_of(metric, list(returned), list(expected)) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("returned", "value"),
    [
        ("ba", (3 + 1 / LOG2_3) / (3 + 1 / LOG2_3)),
        ("ab", (1 + 3 / LOG2_3) / (3 + 1 / LOG2_3)),
        ("xxb", (3 / 2) / (3 + 1 / LOG2_3)),
    ],
)
def test_ndcg_gains_the_grade_of_a_key(returned: str, value: float) -> None:
    found = value_of("ndcg@10", list(returned), ["a", "b"], {"b": 3.0})
    assert found == pytest.approx(value, abs=1e-15)


def test_the_ideal_of_ndcg_comes_from_the_golden_row_and_not_from_what_was_returned() -> None:
    # "c" is worth 4 and was never retrieved; the ideal order starts with it all the same.
    found = value_of("ndcg@2", ["a"], ["a", "c"], {"c": 4.0})
    assert found == pytest.approx(1 / (4 + 1 / LOG2_3), abs=1e-15)


@pytest.mark.parametrize("metric", ["recall@2", "hit@2", "mrr", "precision@2", "ap"])
def test_grades_do_not_change_a_binary_metric(metric: str) -> None:
    returned, expected = ["x", "a", "b"], ["a", "b"]
    plain = value_of(metric, returned, expected)
    assert value_of(metric, returned, expected, {"a": 5.0, "b": 0.5}) == plain


@pytest.mark.parametrize(
    "metric", [m for m, kind in METRICS.items() if kind.defined_on == "answerable"]
)
def test_rank_metrics_leave_unanswerable_questions_out(metric: str) -> None:
    read = parse_metric(f"{metric}@10" if METRICS[metric].takes_cutoff else metric)
    positions = positions_of(
        {"1": ["a"], "2": ["a"], "3": ["x", "b"]},
        query(["a"], "1"),
        query([], "2"),
        query(["b"], "3"),
    )
    assert read.queries(positions.judgments).tolist() == [0, 2]
    assert read.values(positions).shape == (1, 2)
    assert read.values(positions)[0, 0] > 0


def test_abstention_is_defined_on_unanswerable_questions_alone() -> None:
    positions = positions_of(
        {"1": ["a"], "2": [], "3": ["x"]}, query(["a"], "1"), query([], "2"), query([], "3")
    )
    abstention = parse_metric("abstention")
    assert abstention.queries(positions.judgments).tolist() == [1, 2]
    assert abstention.values(positions).tolist() == [[1, 0]]


def test_returned_is_defined_on_all_questions() -> None:
    positions = positions_of({"1": ["a", "x"], "2": ["y"]}, query(["a"], "1"), query([], "2"))
    assert parse_metric("returned").values(positions).tolist() == [[2, 1]]
    assert not parse_metric("returned").larger_is_better


def test_class_accuracy_is_defined_where_label_and_class_are_known() -> None:
    right, wrong = (replace(query(["a"], n), label="code") for n in "12")
    golden = (
        replace(right, route=Route("code", "rule")),
        replace(wrong, route=Route("lookup", "rule")),
        replace(query([], "3"), label="code", route=Route("code", "rule")),
        replace(query(["a"], "4"), route=Route("code", "rule")),
        replace(query(["a"], "5"), label="code"),
    )
    positions = positions_of({}, *golden)
    metric = parse_metric("class_accuracy")
    assert metric.queries(positions.judgments).tolist() == [0, 1, 2]
    assert metric.values(positions).tolist() == [[1, 0, 1]]


@pytest.mark.parametrize("metric", METRICS)
def test_a_metric_of_no_defined_question_has_no_values(metric: str) -> None:
    read = parse_metric(f"{metric}@3" if METRICS[metric].takes_cutoff else metric)
    only = query(["a"]) if read.defined_on == "unanswerable" else query([])
    positions = positions_of({"q": ["a"]}, only)
    expected = 1 if read.defined_on == "all" else 0
    assert read.values(positions).shape == (1, expected)


@pytest.mark.parametrize("metric", METRICS)
def test_each_trial_has_its_own_values(metric: str) -> None:
    read = parse_metric(f"{metric}@2" if METRICS[metric].takes_cutoff else metric)
    golden = GoldenSet((query(["a", "b"], "1"), query([], "2"), query(["c"], "3")))
    positions = Positions(
        Judgments(golden),
        row_key=np.array([0, 1, 1, 2]),
        position=np.array([[1, 2, 3, 1], [0, 0, 0, 0], [2, 0, 1, 3]], np.int16),
        returned=np.array([[3, 0, 1], [2, 1, 0], [3, 2, 3]]),
    )
    together = read.values(positions)
    for trial in range(3):
        alone = Positions(
            positions.judgments,
            positions.row_key,
            positions.position[trial : trial + 1],
            positions.returned[trial : trial + 1],
        )
        assert together[trial].tolist() == read.values(alone)[0].tolist()


@pytest.mark.parametrize("name", METRICS)
def test_a_metrics_text_is_its_identity(name: str) -> None:
    text = f"{name}@7" if METRICS[name].takes_cutoff else name
    metric = parse_metric(text)
    assert str(metric) == text
    assert parse_metric(str(metric)) == metric
    assert hash(parse_metric(text)) == hash(metric)
    assert repr(metric) == f"parse_metric({text!r})"
    assert metric.cutoff == (7 if METRICS[name].takes_cutoff else None)


def test_metrics_of_different_cutoffs_differ() -> None:
    assert parse_metric("recall@5") != parse_metric("recall@10")
    assert parse_metric("mrr") != "mrr"


def test_case_and_outer_spaces_do_not_matter() -> None:
    assert parse_metric(" Recall@5 ") == parse_metric("recall@5") == parse_metric("recall@05")


def test_several_names_are_read_without_repeats_in_their_order() -> None:
    read = parse_metrics(["mrr", "recall@5", "mrr", "recall@05"])
    assert [str(metric) for metric in read] == ["mrr", "recall@5"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("recal@5", 'unknown metric "recal@5". Did you mean "recall@5"?'),
        ("recall", 'metric "recall" needs a cutoff, for example recall@10.'),
        ("mrr@10", 'metric "mrr@10": mrr takes no cutoff. Write mrr.'),
        ("recall@0", 'metric "recall@0": the cutoff must be from 1 to 1000000.'),
        ("recall@1000001", 'metric "recall@1000001": the cutoff must be from 1 to 1000000.'),
        ("ndgc", 'unknown metric "ndgc". Did you mean "ndcg@10"?'),
        (
            "zzz",
            'unknown metric "zzz". Choose from: recall, hit, mrr, precision, citation_precision, '
            "ndcg, ap, abstention, returned, class_accuracy.",
        ),
    ],
)
def test_a_name_that_is_no_metric_is_refused_with_a_remedy(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match="metric") as caught:
        parse_metric(text)
    assert str(caught.value) == sentence


@pytest.mark.parametrize(
    "text", ["", "recall@", "recall@-1", "recall@5.5", "recall@5@6", "@5", "9" * 99]
)
def test_broken_names_are_unknown(text: str) -> None:
    with pytest.raises(ValueError, match="unknown metric"):
        parse_metric(text)


def test_a_cutoff_of_thousands_of_digits_is_refused_with_the_range() -> None:
    with pytest.raises(ValueError, match="the cutoff must be from 1 to 1000000"):
        parse_metric("recall@" + "9" * 5000)


@pytest.mark.parametrize(
    ("name", "cutoff", "sentence"),
    [
        ("recall", None, "recall needs cutoff"),
        ("mrr", 5, "mrr takes no cutoff"),
        ("recall", 0, "recall: a cutoff is at least 1, got 0"),
    ],
)
def test_a_metric_is_not_built_with_a_wrong_cutoff(
    name: str, cutoff: int | None, sentence: str
) -> None:
    with pytest.raises(ValueError, match="cutoff") as caught:
        METRICS[name](cutoff)
    assert str(caught.value) == sentence


def test_a_metric_without_a_feature_has_no_value_of_one() -> None:
    assert parse_metric("ap").feature is None
    with pytest.raises(NotImplementedError):
        parse_metric("ap").of_feature(1, 1)


def test_metrics_that_share_a_feature_are_counted_once() -> None:
    assert parse_metric("hit@3").feature == parse_metric("mrr").feature == Feature("first")
    assert parse_metric("recall@3").feature == Feature("found", 3)


def test_a_feature_is_taken_of_some_questions() -> None:
    judgments = Judgments(GoldenSet((query(["a"], "1"), query(["b", "c"], "2"), query(["d"], "3"))))
    first = np.array([[2, 0, 3, 1], [0, 5, 4, 9]], np.int16)
    some = np.array([1, 2])
    assert Feature("first").extract(first, judgments, some).tolist() == [[3, 1], [4, 9]]
    assert Feature("found", 4).extract(first, judgments, some).tolist() == [[1, 1], [1, 0]]


def test_more_than_255_found_keys_are_counted() -> None:
    keys = [f"k{number}" for number in range(300)]
    assert value_of("recall@300", keys, keys) == 1.0
    assert value_of("recall@299", keys, keys) == 299 / 300


def test_the_base_of_all_metrics_computes_nothing_itself() -> None:
    class Nothing(Metric):
        name = "nothing"
        takes_cutoff = False

    with pytest.raises(AssertionError, match="nothing must override"):
        Nothing().values(positions_of({"q": ["a"]}, query(["a"])))


def test_a_figure_does_not_depend_on_the_order_of_the_golden_row() -> None:
    keys = ("a", "b", "c", "d")
    run = Run({"q": ["a", "b", "x", "c", "x", "x", "d"]})
    values = set()
    for order in itertools.permutations(keys):
        judgments = Judgments(GoldenSet((Query("q", "s", "text", order),)))
        positions = run.positions(judgments)
        values.add(tuple(float(parse_metric(m).values(positions)[0, 0]) for m in ("ndcg@10", "ap")))
    assert len(values) == 1
