"""``sweep import soat``: files written, and what stands in the way."""

from __future__ import annotations

from pathlib import Path

from sweeper.formats import read_corpus, read_golden
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
