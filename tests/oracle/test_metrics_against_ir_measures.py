"""Metrics equal ir_measures and trec_eval where both count the same: one chunk per document.

Both sort a run by score, so scores fall strictly with the position.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.golden import GoldenSet, Key, Query
from sweeper.metrics import parse_metric
from sweeper.runs import Judgments, Run

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what they import warns of its own past
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")

Qrels = Mapping[str, Mapping[Key, int]]
Ranked = Mapping[str, Sequence[Key]]

KEYS = [f"d{number}" for number in range(12)]


@st.composite
def judged_runs(draw: st.DrawFn, *, graded: bool) -> tuple[Qrels, Ranked]:
    qrels, ranked = {}, {}
    for number in range(draw(st.integers(1, 4))):
        expected = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=6, unique=True))
        grade = st.integers(1, 4) if graded else st.just(1)
        qrels[f"q{number}"] = {key: draw(grade) for key in expected}
        # An empty list is left out: trec_eval has no query without rows.
        ranked[f"q{number}"] = draw(
            st.lists(st.sampled_from(KEYS), min_size=1, max_size=12, unique=True)
        )
    return qrels, ranked


def ours(name: str, qrels: Qrels, ranked: Ranked) -> dict[str, float]:
    golden = GoldenSet(
        tuple(
            Query(query_id, "s", "text", tuple(grades), {k: float(g) for k, g in grades.items()})
            for query_id, grades in qrels.items()
        )
    )
    metric = parse_metric(name)
    values = metric.values(Run(ranked).positions(Judgments(golden)))[0]
    return dict(zip(golden.query_ids, values.tolist(), strict=True))


def falling(ranked: Ranked) -> dict[str, dict[Key, float]]:
    return {
        q: {key: float(100 - place) for place, key in enumerate(keys)} for q, keys in ranked.items()
    }


def theirs(measure: Any, qrels: Qrels, ranked: Ranked) -> dict[str, float]:
    return {
        result.query_id: result.value
        for result in ir_measures.iter_calc([measure], qrels, falling(ranked))
    }


BINARY = {
    "recall@1": "R@1",
    "recall@3": "R@3",
    "recall@10": "R@10",
    "hit@3": "Success@3",
    "mrr": "RR",
    "precision@1": "P@1",
    "precision@5": "P@5",
    "ap": "AP",
    "ndcg@3": "nDCG@3",
    "ndcg@10": "nDCG@10",
}


@pytest.mark.parametrize("name", BINARY)
@settings(deadline=None, max_examples=60)
@given(judged_runs(graded=False))
def test_a_binary_metric_equals_ir_measures(name: str, case: tuple[Qrels, Ranked]) -> None:
    expected = theirs(ir_measures.parse_measure(BINARY[name]), *case)
    assert ours(name, *case) == pytest.approx(expected, abs=1e-12, rel=0)


@pytest.mark.parametrize("cutoff", [1, 3, 10])
@settings(deadline=None, max_examples=60)
@given(judged_runs(graded=True))
def test_graded_ndcg_equals_ir_measures_with_the_grade_as_gain(
    cutoff: int, case: tuple[Qrels, Ranked]
) -> None:
    # "log2": gain is the grade itself, discount log2(position + 1), as trec_eval has it.
    expected = theirs(ir_measures.nDCG(dcg="log2") @ cutoff, *case)
    assert ours(f"ndcg@{cutoff}", *case) == pytest.approx(expected, abs=1e-12, rel=0)


@pytest.mark.parametrize("name", ["recall@3", "mrr", "precision@5", "ap"])
@settings(deadline=None, max_examples=30)
@given(judged_runs(graded=True))
def test_grades_count_as_relevant_in_a_binary_metric_of_ir_measures_too(
    name: str, case: tuple[Qrels, Ranked]
) -> None:
    expected = theirs(ir_measures.parse_measure(BINARY[name]), *case)
    assert ours(name, *case) == pytest.approx(expected, abs=1e-12, rel=0)


TREC = {
    "recall@5": "recall_5",
    "recall@10": "recall_10",
    "hit@5": "success_5",
    "mrr": "recip_rank",
    "precision@5": "P_5",
    "ap": "map",
    "ndcg@5": "ndcg_cut_5",
    "ndcg@10": "ndcg_cut_10",
}


def test_metrics_equal_trec_eval_on_seeded_runs() -> None:
    rng = np.random.default_rng(11)
    qrels: dict[str, dict[Key, int]] = {}
    ranked: dict[str, list[Key]] = {}
    for number in range(300):
        keys = [f"d{place}" for place in rng.permutation(60)]
        expected = rng.choice(keys, int(rng.integers(1, 15)), replace=False)
        qrels[f"q{number}"] = {str(key): int(rng.integers(1, 4)) for key in expected}
        ranked[f"q{number}"] = keys[: int(rng.integers(1, 60))]
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, set(TREC.values()))
    expected_values = evaluator.evaluate(falling(ranked))
    for name, measure in TREC.items():
        wanted = {query_id: row[measure] for query_id, row in expected_values.items()}
        assert ours(name, qrels, ranked) == pytest.approx(wanted, abs=1e-12, rel=0), name
