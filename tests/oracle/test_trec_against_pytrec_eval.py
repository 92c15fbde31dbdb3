"""trec_eval reads the runs that are written here in our order, and gives our figures for them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from sweeper.embedders import HashEmbedder
from sweeper.engines import EmbeddedEngine
from sweeper.engines.runs import RunsEngine
from sweeper.errors import InputError
from sweeper.formats import read_corpus, read_golden
from sweeper.formats.qrels import parse_qrels, qrels_text
from sweeper.formats.trec import run_text
from sweeper.golden import GoldenSet, Key, Query, QueryId
from sweeper.metrics import parse_metric
from sweeper.ranking import rank
from sweeper.runs import Judgments, Run
from sweeper.settings import Settings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what they import warns of its own past
    ir_measures = pytest.importorskip("ir_measures", reason="ir_measures is not installed")
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")

MEASURES = {
    "ndcg@10": "ndcg_cut_10",
    "ap": "map",
    "recall@10": "recall_10",
    "mrr": "recip_rank",
    "precision@5": "P_5",
}
AS_OF = datetime(2026, 11, 1, tzinfo=UTC)


def theirs(qrels: str, run: str) -> dict[str, dict[QueryId, float]]:
    """Return trec_eval's values, of files that ir_measures reads."""
    judged: dict[str, dict[str, int]] = {}
    for row in ir_measures.read_trec_qrels(qrels):
        judged.setdefault(row.query_id, {})[row.doc_id] = row.relevance
    scored: dict[str, dict[str, float]] = {}
    for row in ir_measures.read_trec_run(run):
        scored.setdefault(row.query_id, {})[row.doc_id] = row.score
    found = pytrec_eval.RelevanceEvaluator(judged, set(MEASURES.values())).evaluate(scored)
    return {
        ours: {query_id: row[measure] for query_id, row in found.items()}
        for ours, measure in MEASURES.items()
    }


def ours(
    golden: GoldenSet, returned: Mapping[QueryId, Sequence[Key]]
) -> dict[str, dict[str, float]]:
    positions = Run(returned).positions(Judgments(golden))
    values = {name: parse_metric(name).values(positions)[0].tolist() for name in MEASURES}
    return {
        name: {
            query_id: value
            for query_id, value in zip(golden.query_ids, row, strict=True)
            if not math.isnan(value) and returned[query_id]
        }
        for name, row in values.items()
    }


def position_in_trec_eval(run: Mapping[str, float], key: Key) -> int:
    evaluator = pytrec_eval.RelevanceEvaluator({"q": {key: 1}}, {"recip_rank"})
    value: float = evaluator.evaluate({"q": dict(run)})["q"]["recip_rank"]
    return round(1 / value)


def scores_of(run: str) -> dict[str, float]:
    return {row.doc_id: row.score for row in ir_measures.read_trec_run(run)}


def test_trec_eval_reads_a_long_run_in_the_order_in_which_it_was_written() -> None:
    rng = np.random.default_rng(5)
    keys = [f"d{number}" for number in rng.permutation(120_000).tolist()]
    scores = scores_of(run_text({"q": keys}, "t"))
    for position in (1, 2, 50_001, 119_999, 120_000):
        assert position_in_trec_eval(scores, keys[position - 1]) == position


def test_trec_eval_takes_fused_scores_that_are_close_for_ties() -> None:
    # Why scores of a fusion are not written: it keeps 32 bits, and puts the higher id first.
    first, second = 1 / 60 + 1e-9, 1 / 60
    assert first > second
    assert position_in_trec_eval({"a": first, "b": second}, "a") == 2
    assert position_in_trec_eval(scores_of(run_text({"q": ["a", "b"]}, "t")), "a") == 1


def assert_equal_figures(golden: GoldenSet, returned: Mapping[QueryId, Sequence[Key]]) -> None:
    expected = theirs(qrels_text(golden), run_text(returned, "t"))
    found = ours(golden, returned)
    for name in MEASURES:
        assert found[name] == pytest.approx(expected[name], abs=1e-9, rel=0), name
    assert found["ap"]


@pytest.mark.parametrize("settings", [Settings(limit=100), Settings(rrf_k=1, min_similarity=0.2)])
@pytest.mark.parametrize("name", [pytest.param("cranfield", marks=pytest.mark.slow), "cacm"])
def test_figures_of_a_collection_equal_trec_evals(
    shared: Path, name: str, settings: Settings
) -> None:
    folder = shared / "data" / name
    golden = read_golden(folder / "golden.jsonl")
    engine = EmbeddedEngine(
        read_corpus(folder / "corpus.jsonl"), embedder=HashEmbedder(256), as_of=AS_OF
    )
    found = engine.candidates(golden.queries, settings.effective_depth)
    engine.close()
    returned = {item.query_id: [row.key for row in rank(item, settings)] for item in found}
    assert_equal_figures(golden, returned)


def test_a_run_file_has_the_figures_that_trec_eval_gives_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    keys = [f"d{number}" for number in range(60)]
    lines, queries = [], []
    for number in range(40):
        relevant = rng.choice(keys, int(rng.integers(1, 9)), replace=False).tolist()
        grades = {key: float(rng.integers(1, 4)) for key in relevant}
        queries.append(Query(f"q{number}", "s", "text", tuple(relevant), grades))
        for key in rng.choice(keys, int(rng.integers(1, 50)), replace=False).tolist():
            lines.append(f"q{number} Q0 {key} 0 {rng.normal():.6f} t\n")
    path = tmp_path / "v.run"
    text = "".join(lines)
    path.write_text(text, "utf-8")
    golden = GoldenSet(tuple(queries))
    engine = RunsEngine({"vector": path}, as_of=AS_OF)
    returned = {query.query_id: engine.search(query, Settings(limit=1000)) for query in queries}
    engine.close()
    assert_equal_figures(golden, returned)
    expected = theirs(qrels_text(golden), text)
    for name, values in ours(golden, returned).items():
        assert values == pytest.approx(expected[name], abs=1e-9, rel=0), name


def fields(lines: Iterable[str]) -> list[list[str]]:
    return [line.split() for line in lines]


def test_cranfields_own_judgments_are_read_without_their_missing_column(shared: Path) -> None:
    folder = shared / "data" / "cranfield"
    raw = (folder / "cranqrel.raw.txt").read_text("utf-8")
    found = parse_qrels(raw, "cranqrel.raw.txt")
    rows = fields(raw.splitlines())
    assert {(q, k): g for q, grades in found.grades.items() for k, g in grades.items()} == {
        (query_id, key): float(grade) for query_id, key, grade in rows
    }
    # The golden set turns the scale round (1 is best there) and leaves code -1 out.
    golden = read_golden(folder / "golden.jsonl")
    assert {
        query_id: {key: 5 - grade for key, grade in grades.items() if grade > 0}
        for query_id, grades in found.grades.items()
    } == {query.query_id: dict(query.grades) for query in golden.queries}


def test_cacms_own_judgments_are_refused_until_their_columns_are_in_order(shared: Path) -> None:
    folder = shared / "data" / "cacm"
    raw = (folder / "qrels.raw.txt").read_text("utf-8")
    with pytest.raises(InputError, match="the documents seem to stand in the second column"):
        parse_qrels(raw, "qrels.raw.txt")
    rows = fields(raw.splitlines())
    ordered = "".join(f"{query_id} 0 {key} 1\n" for query_id, key, _, _ in rows)
    found = parse_qrels(ordered, "qrels.txt")
    golden = read_golden(folder / "golden.jsonl")
    assert {
        str(int(query_id)): {str(int(key)) for key in grades}
        for query_id, grades in found.grades.items()
    } == {query.query_id: set(query.expected) for query in golden.queries}
