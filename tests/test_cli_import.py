"""``sweep import``: files written, and what stands in the way."""

from __future__ import annotations

from pathlib import Path

from sweeper.formats import read_corpus, read_golden
from sweeper.golden import Query
from tests.projects import invoke

GOLDEN = """{"corpus": {"documents": [
  {"key": "doc:a", "source": "docs/a.md", "section": "One"},
  {"key": "doc:b", "content": "inline"}],
 "memories": [{"key": "mem:c", "content": "a fact", "age_days": 3}]},
 "queries": [{"id": "x-1", "kind": "entity", "query": "one?", "expected": ["doc:a"]}]}
"""


def checkout(folder: Path) -> Path:
    (folder / "docs").mkdir(parents=True)
    (folder / "docs" / "a.md").write_text("# T\n\n## One\n\nfirst\n\n## Two\n\nsecond\n", "utf-8")
    path = folder / "golden.json"
    path.write_text(GOLDEN, "utf-8")
    return path


def test_a_corpus_and_a_golden_set_are_written(tmp_path: Path) -> None:
    golden, out = checkout(tmp_path / "soat"), tmp_path / "out"
    found = invoke("import", "soat", golden, "--docs", tmp_path / "soat", "-o", out, "--json")
    assert found.document["schema"] == "sweep.import/1"
    assert (found.document["n_entries"], found.document["n_queries"]) == (3, 1)
    corpus = read_corpus(out / "corpus.jsonl")
    assert [entry.entry_id for entry in corpus.entries] == ["doc:a", "doc:b", "mem:c"]
    assert "first" in corpus.entries[0].text
    assert "second" not in corpus.entries[0].text
    assert read_golden(out / "golden.jsonl", corpus_keys=corpus.keys).slices == ("entity",)


def test_files_that_exist_are_replaced_only_by_force(tmp_path: Path) -> None:
    golden, out = checkout(tmp_path / "soat"), tmp_path / "out"
    arguments = ("import", "soat", golden, "--docs", tmp_path / "soat", "-o", out)
    assert invoke(*arguments).exit_code == 0
    (out / "corpus.jsonl").write_text("mine", "utf-8")
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert "already there. Add --force to overwrite." in done.stderr
    assert (out / "corpus.jsonl").read_text("utf-8") == "mine"
    assert invoke(*arguments, "--force").exit_code == 0
    assert len(read_corpus(out / "corpus.jsonl")) == 3


def test_a_checkout_that_lacks_a_source_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    golden, out = checkout(tmp_path / "soat"), tmp_path / "out"
    (tmp_path / "soat" / "docs" / "a.md").unlink()
    done = invoke("import", "soat", golden, "--docs", tmp_path / "soat", "-o", out)
    assert done.exit_code == 2
    assert 'golden.json:2: there is no source "docs/a.md" below' in done.stderr
    assert not out.exists()


QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 b 0\n"
TOPICS = "q1\thow long?\nq2\twhy so?\nq3\twho?\n"


def test_qrels_and_topics_become_a_golden_set(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text(QRELS, "utf-8")
    (tmp_path / "topics.tsv").write_text(TOPICS, "utf-8")
    arguments = ("import", "trec", tmp_path / "qrels.txt", "--topics", tmp_path / "topics.tsv")
    found = invoke(*arguments, "-o", tmp_path / "out", "--json")
    assert (found.document["n_queries"], found.document["n_unanswerable"]) == (2, 1)
    assert "1 topic without a judgment: q3." in found.stderr
    golden = read_golden(tmp_path / "out" / "golden.jsonl")
    assert golden.queries == (
        Query("q1", "all", "how long?", ("a",), {"a": 2.0}, ("b",)),
        Query("q2", "all", "why so?", (), {}, ("b",)),
    )
    again = invoke(*arguments, "-o", tmp_path / "out")
    assert "golden.jsonl: already there. Add --force to overwrite." in again.stderr


def test_documents_that_the_corpus_lacks_stop_an_import_of_qrels(tmp_path: Path) -> None:
    (tmp_path / "qrels.txt").write_text(QRELS, "utf-8")
    (tmp_path / "corpus.jsonl").write_text('{"id": "b", "text": "x"}\n', "utf-8")
    arguments = ("import", "trec", tmp_path / "qrels.txt", "--corpus", tmp_path / "corpus.jsonl")
    done = invoke(*arguments, "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert (
        'qrels.txt:1: the corpus has no entry "a", which is relevant to query "q1".' in done.stderr
    )
    assert not (tmp_path / "out").exists()
