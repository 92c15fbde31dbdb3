"""The importer makes of a SOAT checkout what a person converted by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeper.corpus import Entry
from sweeper.errors import InputError
from sweeper.formats import read_corpus, read_golden
from sweeper.formats.soat import import_soat
from sweeper.golden import Query


def checkout(folder: Path, golden: object, page: str = "# Page\n\n## Part\n\nText.\n") -> Path:
    (folder / "docs").mkdir()
    (folder / "docs" / "page.md").write_text(page, encoding="utf-8")
    path = folder / "golden.json"
    path.write_text(json.dumps(golden, indent=1), encoding="utf-8")
    return path


GOLDEN = {
    "version": 3,
    "corpus": {
        "documents": [
            {"key": "doc:a", "path": "/a.md", "source": "docs/page.md", "section": "Part"},
            {"key": "doc:b", "path": "/b.md", "content": "# Title\n\nInline."},
        ],
        "memories": [
            {"key": "mem:a", "content": "New.", "tags": {"account": "x"}},
            {"key": "mem:b", "content": "Old.", "age_days": 240, "memory": "prior quarter"},
        ],
    },
    "queries": [
        {
            "id": "q-1",
            "query": "part?",
            "kind": "entity",
            "expected": [{"source_type": "document", "key": "doc:a"}],
        }
    ],
}


def test_fixtures_become_entries(tmp_path: Path) -> None:
    corpus, golden = import_soat(checkout(tmp_path, GOLDEN), tmp_path)
    assert corpus.entries == (
        Entry("doc:a", "## Part\n\nText.\n", "document", "Part", tags={"path": "/a.md"}),
        Entry("doc:b", "# Title\n\nInline.", "document", "Title", tags={"path": "/b.md"}),
        Entry("mem:a", "New.", "memory", age_days=0.0, tags={"account": "x"}),
        Entry("mem:b", "Old.", "memory", age_days=240.0, tags={"memory_store": "prior quarter"}),
    )
    assert golden.queries == (Query("q-1", "entity", "part?", ("doc:a",)),)


def test_a_key_expected_in_the_wrong_store_is_an_error(tmp_path: Path) -> None:
    expected = [{"source_type": "memory", "key": "doc:a"}]
    wrong = GOLDEN | {"queries": [{"id": "q", "query": "x", "kind": "s", "expected": expected}]}
    with pytest.raises(InputError) as caught:
        import_soat(checkout(tmp_path, wrong), tmp_path)
    assert str(caught.value).endswith(
        '"doc:a" is expected as a memory, but the corpus holds it as a document. '
        "Correct one of them."
    )


def test_a_key_that_no_fixture_has_is_an_error(tmp_path: Path) -> None:
    wrong = GOLDEN | {"queries": [{"id": "q", "query": "x", "kind": "s", "expected": ["doc:c"]}]}
    with pytest.raises(InputError, match='the corpus has no entry "doc:c"'):
        import_soat(checkout(tmp_path, wrong), tmp_path)


def test_the_wrong_documentation_folder_is_named(tmp_path: Path) -> None:
    path = checkout(tmp_path, GOLDEN)
    (tmp_path / "elsewhere").mkdir()
    with pytest.raises(InputError, match='there is no source "docs/page'):
        import_soat(path, tmp_path / "elsewhere")


@pytest.mark.parametrize("wrong", [[], {}, {"queries": []}, {"corpus": [], "queries": []}])
def test_another_file_is_refused(tmp_path: Path, wrong: object) -> None:
    with pytest.raises(InputError):
        import_soat(checkout(tmp_path, wrong), tmp_path)


def test_the_real_checkout_equals_its_conversion_by_hand(shared: Path) -> None:
    folder = shared / "data" / "soat"
    corpus, golden = import_soat(folder / "golden.raw.json", folder / "docs")
    assert corpus.digest == read_corpus(folder / "corpus.jsonl").digest
    assert golden.digest == read_golden(folder / "golden.jsonl").digest


def test_the_raw_file_is_also_a_corpus_and_a_golden_set_by_itself(shared: Path) -> None:
    folder = shared / "data" / "soat"
    corpus = read_corpus(folder / "golden.raw.json", root=folder / "docs")
    golden = read_golden(folder / "golden.raw.json", corpus_keys=corpus.keys)
    assert (len(corpus), len(golden)) == (32 + 24, 58)
