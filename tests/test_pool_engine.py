"""The pool engine: a captured file in place of a search, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sweeper.capture import capture
from sweeper.config import load_config
from sweeper.corpus import Chunking
from sweeper.embedders import HashEmbedder
from sweeper.engines import EmbeddedEngine, Engine
from sweeper.engines.base import Evidenced
from sweeper.engines.pool import PoolEngine
from sweeper.errors import InputError
from sweeper.golden import GoldenSet, Query
from sweeper.poolfile import read_pool, write_pool
from sweeper.settings import Settings
from sweeper.sweep import run_sweep
from sweeper.testing import CORPUS, EngineSuite
from tests.builders import documents, found, pool_of
from tests.projects import CONFIG, QUESTIONS, assert_same_frames, invoke, write_project, write_rows
from tests.test_facts import engine_of

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
THERE = CONFIG.replace(
    "{kind: embedded, corpus: corpus.jsonl}", "{kind: pool, file: captured.parquet}"
)


class TestPoolEngine(EngineSuite):
    """A pool of the embedded engine, captured for the suite's questions."""

    filters: ClassVar[dict[tuple[str, str], frozenset[str]]] = {}  # they would be other questions

    @pytest.fixture
    def engine(self, tmp_path: Path) -> Iterator[Engine]:
        source = EmbeddedEngine(
            CORPUS, embedder=HashEmbedder(), chunking=Chunking("section"), as_of=AS_OF
        )
        pool = capture(GoldenSet(tuple(self._queries())), source, depth=50)
        source.close()
        write_pool(tmp_path / "pool.parquet", pool)
        engine = PoolEngine(tmp_path / "pool.parquet")
        yield engine
        engine.close()

    def test_odd_questions_are_answered_or_refused(self, engine: Engine) -> None:
        with pytest.raises(InputError, match=r"pool\.parquet: lacks 1 question: q-other\."):
            engine.search(Query("q-other", "s", "pump", ()), Settings())

    def test_odd_questions_find_well_formed_candidates_or_are_refused(self, engine: Engine) -> None:
        asked = [*self._queries(), *(Query(name, "s", "pump", ()) for name in ("a", "b"))]
        with pytest.raises(InputError, match=r"lacks 2 questions: a, b\. Capture again"):
            engine.candidates(asked, 5)


# --- sweeps over a file ---------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project whose candidates were captured, and a config over the file alone."""
    config = write_project(tmp_path)
    pool = tmp_path / "captured.parquet"
    done = invoke("capture", config, "--out", pool, "--results", tmp_path / "results")
    assert done.exit_code == 0, done.stderr
    (tmp_path / "corpus.jsonl").unlink()
    return write_project(tmp_path, THERE)


def test_a_sweep_over_a_captured_file_has_the_figures_of_the_search(
    project: Path, tmp_path: Path
) -> None:
    there = run_sweep(load_config(project), root=tmp_path / "there").results
    here = run_sweep(load_config(write_project(tmp_path / "project")), root=tmp_path / "here")
    assert_same_frames(here.results.folder, there.folder)
    assert there.pool.digest == here.results.pool.digest
    told = there.manifest["pool"]["provenance"]
    assert told["engine"]["kind"] == "pool"
    assert told["engine"]["captured_from"] == "embedded"
    assert told["engine"]["ages"] == here.results.pool.provenance["engine"]["ages"]
    assert told["fingerprint"] == f"pool/1 {there.pool.digest}"
    assert "asked" not in told, "what is told of each question stays in the pool"


def test_verify_says_that_a_file_proves_nothing_of_its_search(
    project: Path, tmp_path: Path
) -> None:
    run_sweep(load_config(project), root=tmp_path / "results")
    done = invoke("verify", "small", "--results", tmp_path / "results")
    assert done.exit_code == 0, done.stderr
    assert "says nothing of the search that it came from" in done.stdout
    here = write_project(tmp_path / "search")
    asked = invoke("verify", "small", "--config", here, "--results", tmp_path / "results")
    assert asked.exit_code == 0, asked.stderr
    assert "these changed" not in asked.stdout
    write_rows(tmp_path / "search/golden.jsonl", QUESTIONS[:5])
    other = invoke("verify", "small", "--config", here, "--results", tmp_path / "results")
    assert "these changed: golden." in other.stdout


def test_two_captured_files_are_swept_like_any_knob(project: Path, tmp_path: Path) -> None:
    pool = read_pool(tmp_path / "captured.parquet")
    write_pool(tmp_path / "documents.parquet", pool.within("document"))
    space = "space={engine.file: [captured.parquet, documents.parquet], rrf_k: [60]}"
    results = run_sweep(load_config(project, [space]), root=tmp_path / "results").results
    files = {item.origin.captured for item in results.settings}
    assert files == {"engine.file=captured.parquet", "engine.file=documents.parquet"}
    figures = zip(results.settings, results.wide()["fresh.recall@1"], strict=True)
    recall = {item.origin.captured: value for item, value in figures}
    assert recall["engine.file=captured.parquet"] != recall["engine.file=documents.parquet"]


def test_a_file_that_a_knob_names_and_that_changed_makes_another_sweep(
    project: Path, tmp_path: Path
) -> None:
    pool = read_pool(tmp_path / "captured.parquet")
    write_pool(tmp_path / "documents.parquet", pool.within("document"))
    space = "space={engine.file: [captured.parquet, documents.parquet], rrf_k: [60]}"
    first = run_sweep(load_config(project, [space]), root=tmp_path / "results").results
    write_pool(tmp_path / "documents.parquet", pool)
    second = run_sweep(load_config(project, [space]), root=tmp_path / "results").results
    assert first.address != second.address
    assert list(first.wide()["fresh.recall@1"]) != list(second.wide()["fresh.recall@1"])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"query": "boat"}, "1 question had another text, filter or user when captured: q1"),
        ({"filter": {"store": "document"}}, "had another text, filter or user when captured: q1"),
        ({"user": "ada"}, "had another text, filter or user when captured: q1"),
        ({"id": "q9"}, "lacks 1 question: q9"),
    ],
)
def test_questions_that_were_not_asked_so_are_refused(
    project: Path, tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    write_rows(tmp_path / "golden.jsonl", [{**QUESTIONS[0], **change}, *QUESTIONS[1:]])
    done = invoke("run", project, "--results", tmp_path / "results")
    assert done.exit_code == 2
    assert words in done.stderr
    assert "captured.parquet" in done.stderr


def test_other_judgments_and_slices_need_no_other_capture(project: Path, tmp_path: Path) -> None:
    judged = [{**row, "slice": "all", "expected": ["doc-boat"]} for row in QUESTIONS[:3]]
    write_rows(tmp_path / "golden.jsonl", judged)
    done = invoke(
        "run", project, "--results", tmp_path / "results", "--no-plots",
        "--set", "objectives={all.mrr: maximize}", "--set", "constraints=[]",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("limit=5", "reach down to 4 only, and a depth of 5 is asked for. Capture deeper"),
        ("as_of=2026-12-01T00:00:00Z", "ages are measured from 2026-11-01T00:00:00+00:00, and"),
        ("engine.file=gone.parquet", "gone.parquet: there is no such pool"),
        ("engine.file=golden.jsonl", "golden.jsonl: is no captured pool ("),
        ("space={weights.splade: [0, 1]}", 'the engine has no channel "splade"'),
    ],
)
def test_what_the_file_cannot_show_is_refused(
    project: Path, tmp_path: Path, override: str, words: str
) -> None:
    done = invoke("run", project, "--set", override, "--results", tmp_path / "results")
    assert done.exit_code == 2
    assert words in done.stderr


def test_ages_need_no_instant_in_the_config(project: Path, tmp_path: Path) -> None:
    project.write_text(THERE.replace("as_of: 2026-11-01T00:00:00Z\n", ""), "utf-8")
    results = run_sweep(load_config(project), root=tmp_path / "results").results
    assert results.manifest["pool"]["provenance"]["as_of"] == "2026-11-01T00:00:00+00:00"


def test_a_gate_refuses_a_pool_of_other_texts(tmp_path: Path) -> None:
    config = write_project(tmp_path)
    pool = tmp_path / "captured.parquet"
    invoke("capture", config, "--out", pool, "--results", tmp_path / "results")
    write_rows(tmp_path / "golden.jsonl", [{**QUESTIONS[0], "query": "x"}, *QUESTIONS[1:]])
    done = invoke("gate", config, "--pool", pool, "--update-baseline")
    assert done.exit_code == 2
    assert "1 question had another text, filter or user then: q1" in done.stderr


def test_a_gate_asks_a_search_and_no_file(project: Path, tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    done = invoke("gate", project, "--baseline", baseline, "--update-baseline")
    assert done.exit_code == 2
    assert "yesterday's candidates cannot show today's fault" in done.stderr
    assert not baseline.exists()


def test_a_pool_of_a_pool_says_where_it_came_from_first(project: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.parquet"
    done = invoke("capture", project, "--out", again, "--results", tmp_path / "other")
    assert done.exit_code == 0, done.stderr
    told = read_pool(again).provenance["engine"]
    assert (told["kind"], told["captured_from"]) == ("pool", "embedded")


# --- files that others made -----------------------------------------------------------------------

QUESTION = Query("q", "s", "text", ("a",))


def written(tmp_path: Path, **provenance: Any) -> Path:
    pool = pool_of(found(documents("ab")))
    path = tmp_path / "pool.parquet"
    write_pool(path, replace(pool, provenance=provenance))
    return path


def test_a_pool_without_marks_is_taken_as_it_is(tmp_path: Path) -> None:
    engine = PoolEngine(written(tmp_path), as_of=AS_OF)
    assert engine.search(QUESTION, Settings()) == ["a", "b"]
    assert engine.provenance["captured_from"] is None


def test_candidates_that_were_not_all_shown_are_no_candidates(tmp_path: Path) -> None:
    path = written(tmp_path, live_questions={"q": "rows are missing"})
    with pytest.raises(InputError, match=r"did not show all candidates of 1 question \(q\)"):
        PoolEngine(path)


@pytest.mark.parametrize(
    "provenance",
    [{"asked": {"q": "x"}}, {"engine": []}, {"live_questions": ["q"]}, {"evidence": "x"}],
)
def test_provenance_of_another_shape_is_damage(tmp_path: Path, provenance: dict[str, Any]) -> None:
    path = written(tmp_path, **provenance)
    with pytest.raises(InputError, match=r"pool\.parquet: is a damaged pool"):
        PoolEngine(path)


def test_the_facts_behind_rows_come_along(tmp_path: Path) -> None:
    with engine_of() as source:
        asked = GoldenSet((Query("q", "s", "What does quay need?", ("docs/quay",)),))
        write_pool(tmp_path / "pool.parquet", capture(asked, source, depth=5))
        evidence = json.loads(json.dumps(source.evidence))
    engine = PoolEngine(tmp_path / "pool.parquet")
    assert isinstance(engine, Evidenced)
    assert len(evidence["q"]) == 4
    assert engine.evidence == evidence
    again = capture(asked, engine, depth=5)
    assert again.provenance["evidence"] == evidence
