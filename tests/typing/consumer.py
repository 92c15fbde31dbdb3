"""A program as somebody outside writes it: mypy reads it and Python runs it against the package.

It is given the folder of a project that ``sweep init`` wrote, and uses what ``sweeper.__all__``
promises. ``assert_type`` is a claim for mypy, a plain ``assert`` one for Python.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import assert_type

import pandas as pd
from matplotlib.axes import Axes

import sweeper
from sweeper import (
    KNOBS,
    METRICS,
    Candidate,
    Chunking,
    Comparison,
    Config,
    Corpus,
    Curve,
    EmbeddedEngine,
    Engine,
    Entry,
    Explanation,
    Exported,
    Fanout,
    Figures,
    GoldenSet,
    Judgments,
    Margins,
    Metric,
    Pick,
    Pool,
    Positions,
    Query,
    QueryCandidates,
    RankedRow,
    Replay,
    Results,
    Route,
    Run,
    SearchSpace,
    Settings,
    Summary,
    SweeperError,
    Verification,
)
from sweeper.embedders import HashEmbedder

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)


def files(project: Path) -> tuple[Corpus, GoldenSet]:
    """Read a corpus and a golden set, write them, read them again."""
    notes = project / "configs" / "corpora" / "notes"
    corpus = sweeper.read_corpus(notes / "corpus.jsonl")
    assert_type(corpus, Corpus)
    assert_type(corpus.entries, tuple[Entry, ...])
    golden = sweeper.read_golden(notes / "golden.jsonl", corpus_keys=corpus.keys)
    assert_type(golden, GoldenSet)
    assert_type(golden.queries, tuple[Query, ...])
    assert_type(golden.queries[0].expected, tuple[str, ...])
    sweeper.write_corpus(project / "again" / "corpus.jsonl", corpus)
    sweeper.write_golden(project / "again" / "golden.jsonl", golden)
    assert sweeper.read_golden(project / "again" / "golden.jsonl").digest == golden.digest
    return corpus, golden


def sweep(project: Path) -> Results:
    """Run the sweep of a config, then load it by its name."""
    config = sweeper.load_config(project / "configs" / "recency.yaml")
    assert_type(config, Config)
    assert_type(config.space, SearchSpace)
    assert_type(config.space.size, int | None)
    root = project / "results"
    assert sweeper.outlook(config, root=root).n_to_run >= 0
    summary = sweeper.run_sweep(config, root=root, fanout=Fanout(n_jobs=1))
    assert_type(summary, Summary)
    assert_type(summary.results, Results)
    assert not summary.failed
    results = sweeper.load("recency", root=root)
    assert_type(results, Results)
    verified = sweeper.verify_sweep(
        results, config, {"current": results.current_settings}, n_questions=3
    )
    assert_type(verified, Verification)
    assert_type(verified.agrees, bool)
    engine = sweeper.open_engine(config, corpus_of(config), as_of=AS_OF, cache=root / "cache")
    assert_type(engine, Engine)
    engine.close()
    assert sweeper.write_report(results)
    assert_type(sweeper.html_report(results, results.pick()), str)
    page = sweeper.write_html_report(results)
    assert_type(page, Path)
    assert page.is_file()
    return results


def corpus_of(config: Config) -> Corpus:
    """Read the corpus of a config."""
    assert config.corpus is not None
    return sweeper.read_corpus(config.resolve(config.corpus.path))


def tables(results: Results) -> None:
    """Read the frames of a sweep, and write it in the formats of others."""
    assert_type(results.figures, pd.DataFrame)
    assert_type(results.trials, pd.DataFrame)
    assert_type(results.pareto({"overall.mrr": "maximize"}), pd.DataFrame)
    assert_type(results.per_query("current"), pd.DataFrame)
    assert_type(results.wide(["overall.mrr"]), pd.DataFrame)
    assert_type(results.settings, tuple[Settings, ...])
    assert_type(results.golden, GoldenSet)
    assert_type(results.pool, Pool)
    exported = sweeper.export_run(results, encode_ids=True)
    assert_type(exported, Exported)
    run = results.folder / "current.run"
    run.write_text(exported.text, "utf-8")
    assert sum(map(len, sweeper.read_run(run).rows.values())) == exported.n_lines
    assert_type(sweeper.export_qrels(results.golden).text, str)
    assert sweeper.export_golden(results.golden).n_lines == len(results.golden.queries)
    assert len(results.trials) == len(results.settings)


def questions(results: Results) -> None:
    """Ask what the commands answer."""
    assert_type(results.pick(constraints="overall.mrr >= current - 0.1", policy="best"), Pick)
    assert_type(results.compare(0, "current"), Comparison)
    assert_type(results.curve("recency_half_life_days"), Curve)
    assert_type(results.margins("recency_half_life_days"), Margins)
    explanation = results.explain("freshness-02", settings={"recency_half_life_days": 365})
    assert_type(explanation, Explanation)
    axes = results.plot_tradeoff(x="entity.mrr", y="freshness.mrr")
    assert_type(axes, Axes)


def arithmetic(results: Results) -> float:
    """Rank by hand, replay, and score."""
    settings = Settings(rrf_k=20, weights={"vector": 2.0}).with_values({"limit": 5})
    assert_type(settings, Settings)
    assert_type(settings.trial_id, str)
    replay = Replay(results.pool, results.golden)
    figures = replay.figures([settings], [sweeper.parse_metric("recall@5"), METRICS["mrr"]()])
    assert_type(figures, Figures)
    assert_type(replay.positions([settings]), Positions)
    for_one = results.pool.candidates(0)
    assert_type(for_one, QueryCandidates)
    ranked = sweeper.rank(for_one, settings, channels=results.pool.channels)
    assert_type(ranked, list[RankedRow])
    judged = Run({results.golden.queries[0].query_id: [row.key for row in ranked]})
    assert_type(judged.positions(Judgments(results.golden)), Positions)
    assert_type(sweeper.classify("who owns the shed"), Route)
    assert_type(sweeper.ranks_lost("0.87", 60), int)
    assert_type(sweeper.parse_metric("mrr"), Metric)
    assert "rrf_k" in KNOBS
    value = figures.get("overall.recall@5")
    assert_type(value, float)
    return value


def by_hand(corpus: Corpus, folder: Path) -> list[QueryCandidates]:
    """Ask an engine of one's own making, and build a pool without one."""
    question = Query("q1", "mine", "who runs the workshop", expected=("note-09",))
    row = Candidate("note-09", "note-09", "memory", value=0.5, age_days=15.0)
    pool = Pool.from_candidates(
        [QueryCandidates("q1", {("vector", "memory"): [row]})], channels=["vector"], depth=1
    )
    assert_type(pool, Pool)
    sweeper.write_pool(folder / "mine.parquet", pool)
    assert sweeper.read_pool(folder / "mine.parquet").digest == pool.digest
    with EmbeddedEngine(
        corpus,
        embedder=HashEmbedder(256),
        chunking=Chunking("size", size=400, overlap=50),
        as_of=AS_OF,
    ) as engine:
        asked: Engine = engine
        return list(asked.candidates([question], depth=5))


def of_soat(checkout: Path) -> GoldenSet:
    """Read SOAT's golden set; nothing here has one, so this is for mypy alone."""
    corpus, golden = sweeper.import_soat(checkout / "golden.json", checkout)
    assert_type(corpus, Corpus)
    return golden


def refused(project: Path) -> str:
    """Catch what every wrong input raises."""
    try:
        sweeper.load_config(project / "none.yaml")
    except SweeperError as error:
        assert_type(error.exit_code, int)
        return str(error)
    raise AssertionError("a config that is not there was read")


def main(project: Path) -> Mapping[str, object]:
    """Do all of it."""
    corpus, _ = files(project)
    results = sweep(project)
    tables(results)
    questions(results)
    return {
        "recall@5": arithmetic(results),
        "candidates": len(by_hand(corpus, project)),
        "refused": refused(project),
    }


if __name__ == "__main__":
    sys.stdout.write(f"{main(Path(sys.argv[1]))}\n")
