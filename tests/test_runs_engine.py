"""The runs engine: files in place of a search, with or without a corpus."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sweeper.capture import capture
from sweeper.config import load_config
from sweeper.corpus import STORES, Chunking, Corpus
from sweeper.embedders import HashEmbedder
from sweeper.engines import EmbeddedEngine, Engine
from sweeper.engines.runs import RunsEngine
from sweeper.errors import EngineError, InputError
from sweeper.formats import write_corpus
from sweeper.golden import GoldenSet, Query
from sweeper.opening import open_sweep
from sweeper.pools import Candidate
from sweeper.settings import Settings
from sweeper.testing import CORPUS as SUITE_CORPUS
from sweeper.testing import EngineSuite
from tests.builders import entry

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)

CORPUS = Corpus(
    (
        entry("doc", tags={"team": "red"}),
        entry("a@b"),
        entry("fresh", store="memory", age_days=2),
        entry("old", store="memory", updated_at="2026-10-02T00:00:00Z"),
        entry("undated", store="memory"),
    )
)


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


class TestRunsEngine(EngineSuite):
    """Runs of the embedded engine, over the suite's corpus: ids of a TREC file hold no blanks."""

    queries = ("SKU-4711", "pump", "valves", "hydro")

    @pytest.fixture
    def engine(self) -> Iterator[Engine]:
        asked = [Query(f"q-{text}", "s", text, ()) for text in self.queries]
        source = EmbeddedEngine(
            SUITE_CORPUS, embedder=HashEmbedder(), chunking=Chunking("section"), as_of=AS_OF
        )
        found = source.candidates(asked, 50)
        source.close()
        files = {
            channel: write_run(
                f"{channel}.run",
                {
                    answer.query_id: [
                        (row.item_id, row.value)
                        for store in STORES
                        for row in answer.rows[channel, store]
                    ]
                    for answer in found
                },
            )
            for channel in source.channels
        }
        engine = RunsEngine(files, corpus=SUITE_CORPUS, as_of=AS_OF)
        yield engine
        engine.close()


def write_run(name: str, queries: Mapping[str, Sequence[tuple[str, float]]]) -> str:
    lines = [
        f"{query_id} Q0 {key} {rank} {score} t\n"
        for query_id, rows in queries.items()
        for rank, (key, score) in enumerate(rows, start=1)
    ]
    Path(name).write_text("".join(lines), "utf-8")
    return name


def engine(corpus: Corpus | None = None, **channels: Sequence[tuple[str, float]]) -> RunsEngine:
    files = {name: write_run(f"{name}.run", {"q": rows}) for name, rows in channels.items()}
    return RunsEngine(files, corpus=corpus, as_of=AS_OF)


def ask(query_id: str = "q", filters: Mapping[str, str] | None = None) -> Query:
    return Query(query_id, "s", "text", ("doc",), filter=filters or {})


def rows_of(
    found: RunsEngine, channel: str, store: str, depth: int = 10, query: Query | None = None
) -> list[Candidate]:
    [answer] = found.candidates([query or ask()], depth)
    return list(answer.rows[channel, store])  # type: ignore[index]


def test_without_a_corpus_every_row_is_a_document_of_no_age() -> None:
    found = engine(vector=[("x", 0.9), ("y@1", 0.5)])
    rows = rows_of(found, "vector", "document")
    assert [row[:4] for row in rows] == [
        ("x", "x", "document", 0.9),
        ("y@1", "y@1", "document", 0.5),
    ]
    assert all(math.isnan(row.age_days) for row in rows)
    assert rows_of(found, "vector", "memory") == []


def test_a_corpus_tells_stores_ages_and_whose_chunk_a_row_is() -> None:
    found = engine(CORPUS, vector=[("doc@12", 5), ("fresh", 4), ("a@b", 3), ("old", 2)])
    assert [row[:4] for row in rows_of(found, "vector", "document")] == [
        ("doc@12", "doc", "document", 5.0),
        ("a@b", "a@b", "document", 3.0),
    ]
    assert rows_of(found, "vector", "memory") == [
        Candidate("fresh", "fresh", "memory", 4.0, 2.0),
        Candidate("old", "old", "memory", 2.0, 30.0),
    ]


def test_depth_counts_rows_of_each_store() -> None:
    rows = [("doc@1", 9.0), ("doc@2", 8.0), ("fresh", 7.0), ("doc@3", 6.0), ("old", 5.0)]
    found = engine(CORPUS, vector=rows)
    assert [row.item_id for row in rows_of(found, "vector", "document", 2)] == ["doc@1", "doc@2"]
    assert [row.item_id for row in rows_of(found, "vector", "memory", 1)] == ["fresh"]


def test_ids_that_the_corpus_lacks_are_refused_and_named() -> None:
    with pytest.raises(InputError) as caught:
        engine(CORPUS, vector=[("doc", 3), ("gone", 2), ("fresh@0", 1)])
    assert str(caught.value) == (
        "vector.run: names 2 documents that the corpus lacks: gone, fresh@0. "
        "Add them to the corpus, or leave the corpus out if nothing in it ages."
    )


def test_vector_and_lexical_come_first_whatever_the_order_of_the_config() -> None:
    found = engine(splade=[("x", 1)], lexical=[("x", 1)], vector=[("x", 1)])
    assert found.channels == ("vector", "lexical", "splade")


def test_a_question_in_no_run_returned_nothing_and_is_listed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    path = write_run("v.run", {"q": [("x", 1)], "unasked": [("x", 1)]})
    found = RunsEngine({"vector": path}, as_of=AS_OF)
    pool = capture(GoldenSet((ask("q"), ask("lost"))), found, depth=5)
    assert pool.query_ids == ("q", "lost")
    assert pool.n_rows == 1
    assert pool.provenance["engine"]["missing_queries"] == ["lost"]
    with caplog.at_level(logging.WARNING):
        found.close()
        found.close()
    assert [record.getMessage() for record in caplog.records] == [
        "1 of 2 questions is in no run: lost. Nothing is returned for them, which scores 0.",
        "1 of 2 queries of the runs is not in the golden set: unasked. Not used.",
    ]


@pytest.mark.parametrize(("depth", "is_said"), [(2, False), (3, True)])
def test_lists_that_were_cut_above_the_depth_are_told(
    caplog: pytest.LogCaptureFixture, depth: int, is_said: bool
) -> None:
    two = [("x", 2.0), ("y", 1.0)]
    path = write_run("v.run", {"q": two[:1], **{f"q{number}": two for number in range(10)}})
    found = RunsEngine({"vector": path}, as_of=AS_OF)
    found.candidates([ask("q")], depth)
    with caplog.at_level(logging.WARNING):
        found.close()
    assert (
        "the lists of vector end at 2 rows, and depth 3 was asked for" in caplog.text
    ) is is_said


def test_oddities_of_a_run_are_counted_and_said(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="sweeper"):
        found = engine(vector=[("x", 0.1), ("y", 0.9), ("z", 0.9), ("x", 0.05)])
    counts = found.provenance["channels"]["vector"]
    assert (counts["rows"], counts["repeated_rows"], counts["tied_rows"]) == (3, 1, 1)
    assert counts["queries_ranked_against_score"] == 1
    assert "a query has the same document with a better score: 1 row." in caplog.text
    assert "negate them if they are distances" in caplog.text
    assert "tied, in the order of the file: 1 row." in caplog.text


def test_a_filter_drops_rows_where_the_corpus_has_tags_and_is_taken_as_applied_elsewhere() -> None:
    rows = [("a@b", 2.0), ("doc", 1.0)]
    red = ask(filters={"team": "red"})
    assert [
        r.item_id for r in rows_of(engine(CORPUS, vector=rows), "vector", "document", 1, red)
    ] == ["doc"]
    assert len(rows_of(engine(vector=rows), "vector", "document", query=red)) == 2


def test_search_fuses_floors_and_ages_as_every_engine_does() -> None:
    found = engine(CORPUS, vector=[("old", 0.9), ("doc", 0.2)], lexical=[("doc", 7), ("fresh", 3)])
    assert found.search(ask(), Settings()) == ["doc", "old", "fresh"]
    assert found.search(ask(), Settings(min_similarity=0.5, limit=1)) == ["old"]
    aged = Settings(min_similarity=0.5, recency_half_life_days=10)
    assert found.search(ask(), aged) == ["doc", "fresh", "old"]


def test_the_fingerprint_changes_with_files_and_corpus_and_not_with_the_instant() -> None:
    first = engine(vector=[("doc", 1)])
    assert first.fingerprint == engine(vector=[("doc", 1)]).fingerprint
    assert first.fingerprint != engine(vector=[("doc", 2)]).fingerprint
    assert first.fingerprint != engine(CORPUS, vector=[("doc", 1)]).fingerprint
    assert first.fingerprint != engine(lexical=[("doc", 1)]).fingerprint
    later = RunsEngine({"vector": write_run("v.run", {"q": [("doc", 1)]})}, as_of=datetime.now(UTC))
    assert later.fingerprint == first.fingerprint


def test_ages_of_each_memory_are_counted_once() -> None:
    found = engine(CORPUS, vector=[("fresh", 2), ("undated", 1)], lexical=[("fresh", 1)])
    assert found.provenance["ages"] == {"known": 1, "missing": 1}
    assert found.provenance["as_of"] == "2026-11-01T00:00:00+00:00"


def test_a_closed_engine_does_not_answer() -> None:
    found = engine(vector=[("x", 1)])
    found.close()
    with pytest.raises(EngineError, match="the engine is closed"):
        found.candidates([ask()], 1)


CONFIG = """\
name: runs
golden: {path: qrels.txt, topics: topics.tsv}
engine: {kind: runs, channels: {vector: v.run, lexical: l.run}, corpus: corpus.jsonl}
"""


def test_a_config_of_runs_qrels_topics_and_a_corpus_is_a_sweep() -> None:
    write_run("v.run", {"q": [("doc", 0.9), ("old", 0.5)]})
    write_run("l.run", {"q": [("old", 3.0)]})
    Path("qrels.txt").write_text("q 0 old 1\n", "utf-8")
    Path("topics.tsv").write_text("q\twhat was it?\n", "utf-8")
    write_corpus("corpus.jsonl", CORPUS)
    Path("sweep.yaml").write_text(CONFIG, "utf-8")
    with open_sweep(load_config("sweep.yaml")) as opened:
        [query] = opened.inputs.golden.queries
        assert (query.text, query.expected) == ("what was it?", ("old",))
        assert opened.engine.search(query, Settings()) == ["old", "doc"]


@pytest.mark.parametrize(
    ("channels", "message"),
    [
        ("{}", "engine.channels: needs at least one entry."),
        ("[v.run]", "engine.channels: must be a mapping of keys, got a list."),
        ("{a b: v.run}", "engine.channels.a b: may hold letters, digits, dots, dashes and"),
        ("{vector: [v.run]}", "engine.channels.vector: must be text, got a list."),
    ],
)
def test_channels_are_a_mapping_of_name_to_file(channels: str, message: str) -> None:
    Path("sweep.yaml").write_text(
        f"name: runs\ngolden: g.jsonl\nengine: {{kind: runs, channels: {channels}}}\n", "utf-8"
    )
    with pytest.raises(InputError) as caught:
        load_config("sweep.yaml")
    assert str(caught.value).startswith(f"sweep.yaml:3: {message}")
