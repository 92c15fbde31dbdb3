"""The atlas corpus is what its README says, and its questions, pages and triples fit together."""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from sweeper.config import load_config
from sweeper.corpus import Entry
from sweeper.formats import read_corpus, read_golden
from sweeper.sweep import run_sweep
from tests.benchmarks import atlas_large
from tests.benchmarks.atlas_large import Atlas, make_atlas, write_atlas
from tests.projects import ROOT, sweeps

FOLDER = ROOT / "configs/corpora/atlas"
CORPUS = read_corpus(FOLDER / "pages")
PAGES: dict[str, Entry] = {entry.entry_id: entry for entry in CORPUS.entries}
QUESTIONS = read_golden(FOLDER / "golden.jsonl", corpus_keys=CORPUS.keys).queries
TRIPLES: list[dict[str, str]] = json.loads((FOLDER / "triples.json").read_text("utf-8"))
README = " ".join((FOLDER / "README.md").read_text("utf-8").split())
N_PAGES = {"docs": 12, "digests": 10, "tickets": 10, "entities": 8}
N_QUESTIONS = {"lookup": 15, "conceptual": 15, "relational": 15, "impact": 8, "code": 7}


def body(page: str) -> str:
    return PAGES[page].text.partition("\n")[2]


# --- pages ----------------------------------------------------------------------------------------


def test_each_category_has_its_number_of_pages() -> None:
    assert Counter(page.partition("/")[0] for page in PAGES) == N_PAGES
    assert all(f"| `{category}` | {n} |" in README for category, n in N_PAGES.items())


def test_pages_are_as_long_as_the_readme_says() -> None:
    lengths = [len(body(page).split()) for page in PAGES]
    assert 80 <= min(lengths) <= max(lengths) <= 400
    assert f"{len(PAGES)} pages of {min(lengths)} to {max(lengths)} words" in README


def test_a_page_is_a_dated_document_that_begins_with_its_title() -> None:
    for page, entry in PAGES.items():
        assert entry.store == "document", page
        assert entry.text.startswith(f"# {entry.title}\n"), page
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", entry.updated_at or ""), page
        assert (entry.updated_at or "") < "2026-11-01", page


def test_a_digest_is_called_by_the_day_of_its_meeting() -> None:
    for page in (page for page in PAGES if page.startswith("digests/")):
        assert page.startswith(f"digests/{PAGES[page].updated_at}-")


def test_a_ticket_says_its_number_and_when_it_was_opened() -> None:
    for page in (page for page in PAGES if page.startswith("tickets/")):
        assert (PAGES[page].title or "").startswith(page.partition("/")[2].upper() + ": ")
        assert re.match(r"\nOpened \d+ \w+ 2026\b", body(page)), page


def test_every_reference_leads_to_a_page() -> None:
    links = [link for page in PAGES for link in re.findall(r"\[\[(.*?)\]\]", body(page))]
    numbers = [number for page in PAGES for number in re.findall(r"BRK-\d+", body(page))]
    assert len(links) >= 10
    assert set(links) | {f"tickets/{number.lower()}" for number in numbers} <= set(PAGES)


# --- questions ------------------------------------------------------------------------------------


def test_type_is_the_slice_and_each_type_has_its_number_of_questions() -> None:
    assert Counter(query.slice for query in QUESTIONS) == N_QUESTIONS
    assert all(f"| `{kind}` | {n} |" in README for kind, n in N_QUESTIONS.items())


def test_expected_pages_exist_and_no_page_is_without_a_question() -> None:
    assert {page for query in QUESTIONS for page in query.expected} == set(PAGES)


def test_as_many_questions_as_the_readme_says_expect_several_pages() -> None:
    several = sum(len(query.expected) > 1 for query in QUESTIONS)
    assert f"{several} questions expect more than one page" in README


def test_a_question_is_asked_once_and_is_no_sentence_of_the_wiki() -> None:
    assert len({query.text.lower() for query in QUESTIONS}) == len(QUESTIONS)
    text = "\n".join(entry.text for entry in PAGES.values()).lower()
    assert [q.text for q in QUESTIONS if " " in q.text and q.text.lower() in text] == []


def test_an_identifier_stands_on_its_expected_pages_alone() -> None:
    for query in (query for query in QUESTIONS if query.slice == "code"):
        (name,) = re.findall(r"[A-Z]+-\d+|\w+[_.]\w[\w.]*", query.text)
        assert {page for page in PAGES if name in PAGES[page].text} == set(query.expected), name


@pytest.mark.parametrize(
    ("name", "question"),
    [("Tern", "impact-01"), ("Keyring", "impact-02"), ("Tollbox", "impact-08")],
)
def test_an_impact_question_expects_the_pages_that_say_what_depends(
    name: str, question: str
) -> None:
    (query,) = (query for query in QUESTIONS if query.query_id == question)
    says = {t["page"] for t in TRIPLES if (t["predicate"], t["object"]) == ("depends on", name)}
    assert name in query.text
    assert says <= set(query.expected)
    assert says == {page for page in PAGES if re.search(f"depends? on {name}", body(page))}


# --- triples --------------------------------------------------------------------------------------


def test_a_triple_has_five_texts_and_is_told_once_per_page() -> None:
    names = ["subject", "predicate", "object", "sentence", "page"]
    assert all(list(triple) == names and all(triple.values()) for triple in TRIPLES)
    assert len({tuple(triple.values()) for triple in TRIPLES}) == len(TRIPLES) >= 60
    assert f"{len(TRIPLES)} facts" in README


def test_the_sentence_of_a_triple_stands_on_its_page_word_for_word() -> None:
    assert [triple for triple in TRIPLES if triple["sentence"] not in body(triple["page"])] == []


def test_subject_and_object_are_named_in_the_sentence() -> None:
    for triple in TRIPLES:
        sentence = triple["sentence"].lower()
        assert triple["subject"].lower() in sentence, triple
        assert triple["object"].lower() in sentence, triple


def test_nothing_has_two_owners_and_nothing_depends_on_itself() -> None:
    owners = Counter(triple["object"] for triple in TRIPLES if triple["predicate"] == "owns")
    assert list(owners.values()) == [1] * 9
    assert all(triple["subject"] != triple["object"] for triple in TRIPLES)


def test_dependencies_form_chains_of_two_steps() -> None:
    needs = {(t["subject"], t["object"]) for t in TRIPLES if t["predicate"] == "depends on"}
    chains = {(a, b, d) for a, b in needs for c, d in needs if b == c}
    assert {("Lantern", "Gatehouse", "Keyring"), ("Sextant", "Cubby", "Pantry")} <= chains


# --- the sweep ------------------------------------------------------------------------------------


def figures(config: Path, root: Path) -> pd.DataFrame:
    """Run a sweep; return its figures, with the knobs of each trial."""
    run_sweep(load_config(config), root=root)
    (folder,) = sweeps(root)
    trials = pd.read_parquet(folder / "trials.parquet").filter(regex="^trial_id$|^param_")
    return pd.read_parquet(folder / "figures.parquet").merge(trials, on="trial_id")


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return figures(ROOT / "configs/atlas.yaml", tmp_path_factory.mktemp("results"))


def test_every_overall_figure_of_the_sweep_can_rise_and_fall(swept: pd.DataFrame) -> None:
    overall = swept[swept["slice"] == "overall"]
    assert set(overall["metric"]) == {"recall@5", "mrr", "citation_precision"}
    assert overall["value"].between(0, 1, inclusive="neither").all()


def test_fewer_pages_are_more_precise_and_a_limit_above_five_leaves_recall_alone(
    swept: pd.DataFrame,
) -> None:
    own = swept[(swept["slice"] == "overall") & (swept["param_weights.vector"] == 1)]
    table = own.pivot_table(index="param_limit", columns="metric", values="value")
    assert table["citation_precision"].is_monotonic_decreasing
    assert (table["recall@5"].loc[5:] == table["recall@5"].loc[5]).all()
    assert table["recall@5"].loc[3] < table["recall@5"].loc[5]


# --- the large variant ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def large() -> Atlas:
    return make_atlas()


def digest(atlas: Atlas) -> str:
    return hashlib.sha256(json.dumps(atlas).encode()).hexdigest()[:12]


def test_the_large_atlas_is_the_same_on_every_machine(large: Atlas) -> None:
    # Whoever changes the templates on purpose changes this, and every figure that came from it.
    assert digest(large) == "857e86b48e6f"


def test_two_processes_write_the_same_bytes(tmp_path: Path) -> None:
    code = (
        "import pathlib, sys; from tests.benchmarks.atlas_large import make_atlas, write_atlas; "
        "write_atlas(make_atlas(12), pathlib.Path(sys.argv[1]))"
    )
    for hash_seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path / hash_seed)],
            check=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": hash_seed},
        )
    one, other = (
        {p.relative_to(tmp_path / s): p.read_bytes() for p in (tmp_path / s).rglob("*.*")}
        for s in ("1", "2")
    )
    assert len(one) == 12 * 10 + 4
    assert one == other


def test_another_seed_makes_another_world() -> None:
    assert digest(make_atlas(20, seed=1)) != digest(make_atlas(20, seed=2))


def test_the_large_golden_set_has_sixty_questions_of_each_type_about_pages_that_exist(
    large: Atlas,
) -> None:
    assert len(large.pages) == 3000
    assert Counter(row["type"] for row in large.golden) == dict.fromkeys(N_QUESTIONS, 60)
    assert len({str(row["id"]) for row in large.golden}) == len(large.golden)
    for row in large.golden:
        pages = row["expected_pages"]
        assert isinstance(pages, list)
        assert set() < set(pages) <= set(large.pages), row


def test_every_large_triple_is_told_on_its_page(large: Atlas) -> None:
    assert all(triple["sentence"] in large.pages[triple["page"]] for triple in large.triples)


def test_a_large_error_code_stands_on_one_page_alone(large: Atlas) -> None:
    codes = Counter(
        code for text in large.pages.values() for code in re.findall(r"end with (\S+)\.", text)
    )
    assert len(codes) == 1200
    assert set(codes.values()) == {1}


def test_the_written_atlas_is_read_and_swept_and_is_not_at_its_ceiling(tmp_path: Path) -> None:
    write_atlas(make_atlas(40), tmp_path / "large")
    found = figures(tmp_path / "large/atlas.yaml", tmp_path / "results")
    overall = found[(found["slice"] == "overall") & (found["metric"] == "recall@5")]
    assert overall["value"].between(0.1, 0.9).all()


def test_the_large_routing_config_is_the_small_one_without_what_learns_from_usage(
    tmp_path: Path,
) -> None:
    write_atlas(make_atlas(40), tmp_path)
    small = load_config(ROOT / "configs/routing.yaml")
    large = load_config(tmp_path / "routing.yaml")
    assert large.file.classes == "golden"
    assert large.file.usage == {}
    assert large.as_of == small.as_of
    assert (large.current, large.metrics) == (small.current, small.metrics)
    learning = [name for name, settings in small.arms if settings.prior is not None]
    arms = dict(large.arms)
    assert {"prior", "all", "lexical-all"} <= set(learning)
    assert arms == {name: item for name, item in small.arms if name in arms}
    assert {*arms, *learning} == set(dict(small.arms))


def test_of_each_budget_the_large_space_holds_the_smallest_and_the_largest(tmp_path: Path) -> None:
    write_atlas(make_atlas(40), tmp_path)
    small = load_config(ROOT / "configs/routing.yaml").space
    large = load_config(tmp_path / "routing.yaml").space
    assert large.knobs == small.knobs
    for name in large.knobs:
        values = small.values(name)
        ends = (values[0], values[-1])
        assert large.values(name) == (ends if name.endswith(".budget") else values), name


def test_a_folder_that_holds_something_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(SystemExit) as stopped:
        atlas_large.main([str(tmp_path)])
    assert stopped.value.code == 2
    assert "exists and is not an empty folder. Give a new one." in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_the_command_writes_the_atlas_and_says_how_to_sweep_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(atlas_large, "make_atlas", lambda: make_atlas(12))
    atlas_large.main([str(tmp_path / "new")])
    assert capsys.readouterr().out.splitlines()[1:] == [
        f"sweep run {tmp_path / 'new/atlas.yaml'}",
        f"sweep run {tmp_path / 'new/routing.yaml'}",
    ]
    assert load_config(tmp_path / "new/atlas.yaml").name == "atlas-large"
    assert load_config(tmp_path / "new/routing.yaml").name == "routing-large"
