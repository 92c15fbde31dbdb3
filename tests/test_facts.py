"""The triples channel of the embedded engine: rows, evidence, access, identity, and sweeps."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.capture import capture
from sweeper.config import Config, load_config
from sweeper.corpus import STORES, Chunking, Corpus, Entry, may_see
from sweeper.embedders import HashEmbedder
from sweeper.engines.embedded import EmbeddedEngine
from sweeper.engines.facts import FactIndex
from sweeper.errors import InputError
from sweeper.golden import GoldenSet, Key, Query
from sweeper.knobs import TRIPLES
from sweeper.poolfile import read_pool
from sweeper.ranking import rank
from sweeper.settings import Settings
from sweeper.sweep import run_sweep
from sweeper.triples import Triple
from sweeper.verify import verify_sweep
from tests.projects import invoke, write_project

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
QUAY = (
    "# Quay\nQuay draws the maps of the port.\n# Needs\nQuay depends\non Mast.\n# Past\nOld notes."
)
CORPUS = Corpus(
    (
        Entry("m:owner", "Ada owns Quay.", "memory", age_days=3.0),
        Entry("docs/quay", QUAY, "document", tags={"team": "a"}),
        Entry("docs/mast", "Mast depends on Rope. Rope is tarred.", "document"),
        Entry("docs/rope", "Bo owns Rope.", "document", tags={"team": "a"}),
        Entry("m:bo", "Bo works with Ada.", "memory", age_days=9.0),
    )
)
OWNER = Triple("Ada", "owns", "Quay", "Ada owns Quay.", "m:owner")
NEEDS = Triple("Quay", "depends on", "Mast", "Quay depends on Mast.", "docs/quay")
DRAWS = Triple("Quay", "draws", "maps", "Quay draws the maps of the port.", "docs/quay")
ROPE = Triple("Mast", "depends on", "Rope", "Mast depends on Rope.", "docs/mast")
BO = Triple("Bo", "owns", "Rope", "Bo owns Rope.", "docs/rope")
WITH = Triple("Bo", "works with", "Ada", "Bo works with Ada.", "m:bo")
TRIPLES_ = (NEEDS, OWNER, ROPE, BO, WITH)


def query(text: str, query_id: str = "q", **others: Any) -> Query:
    return Query(query_id, "s", text, (), **others)


def engine_of(
    corpus: Corpus = CORPUS, triples: tuple[Triple, ...] | None = TRIPLES_, **options: Any
) -> EmbeddedEngine:
    given = {"chunking": Chunking("section"), "as_of": AS_OF, "triples": triples, **options}
    return EmbeddedEngine(corpus, embedder=HashEmbedder(64), **given)


def rows_of(engine: EmbeddedEngine, asked: Query, depth: int = 10) -> list[list[tuple[str, float]]]:
    """Return ids and values of the triples channel, documents first, then memories."""
    [found] = engine.candidates([asked], depth)
    return [[(row.item_id, row.value) for row in found.rows[TRIPLES, store]] for store in STORES]


def facts_of(engine: EmbeddedEngine, asked: Query, depth: int = 10) -> dict[str, list[Triple]]:
    engine.candidates([asked], depth)
    found = engine.evidence[asked.query_id]
    return {one["item"]: [Triple(*fact[:5]) for fact in one["facts"]] for one in found}


# --- rows and evidence ----------------------------------------------------------------------------


def test_a_question_leads_to_pages_by_hops_and_each_store_has_its_own_list() -> None:
    with engine_of() as engine:
        assert engine.channels == ("vector", "lexical", "triples")
        documents, memories = rows_of(engine, query("What does quay need?"))
    # Hop 1 from Quay: docs/quay and m:owner. Hop 2, from Mast and Ada: docs/mast and m:bo.
    assert documents == [("docs/quay@1", 1.0), ("docs/mast@0", 0.5)]
    assert memories == [("m:owner", 1.0), ("m:bo", 0.5)]


def test_the_row_is_the_chunk_that_holds_the_sentence_of_the_first_fact() -> None:
    with engine_of(triples=(DRAWS, NEEDS)) as engine:
        assert rows_of(engine, query("quay"))[0] == [("docs/quay@0", 2.0)]
        assert rows_of(engine, query("mast"))[0] == [("docs/quay@1", 1.5)]
    with engine_of(triples=(NEEDS,), chunking=Chunking("size", 5, 0)) as engine:
        assert rows_of(engine, query("quay"))[0] == [("docs/quay@0", 1.0)]  # no chunk holds it


@pytest.mark.parametrize(("hops", "n_pages"), [(1, 2), (2, 4), (3, 5), (4, 5)])
def test_hops_are_how_far_a_walk_goes(hops: int, n_pages: int) -> None:
    with engine_of(hops=hops) as engine:
        documents, memories = rows_of(engine, query("quay"))
        assert len(documents) + len(memories) == n_pages


def test_a_question_that_names_nothing_finds_nothing_and_has_no_evidence() -> None:
    with engine_of() as engine:
        assert rows_of(engine, query("what is tarred")) == [[], []]
        assert engine.evidence["q"] == []


@pytest.mark.parametrize("depth", [1, 2])
def test_depth_is_taken_per_store_and_evidence_is_of_the_rows_alone(depth: int) -> None:
    with engine_of() as engine:
        whole = rows_of(engine, query("quay"))
        assert rows_of(engine, query("quay"), depth) == [rows[:depth] for rows in whole]
        items = [item for rows in whole for item, _ in rows[:depth]]
        assert list(facts_of(engine, query("quay"), depth)) == items


def test_evidence_is_the_facts_with_their_hop_and_the_entity_they_hang_on() -> None:
    with engine_of(triples=(DRAWS, NEEDS, ROPE)) as engine:
        engine.candidates([query("mast"), query("nobody", "other")], 10)
        assert json.loads(json.dumps(engine.evidence)) == {
            "q": [
                {
                    "item": "docs/quay@1",
                    "facts": [
                        ["Quay", "depends on", "Mast", NEEDS.sentence, "docs/quay", 1, "Mast"],
                        ["Quay", "draws", "maps", DRAWS.sentence, "docs/quay", 2, "Quay"],
                    ],
                },
                {
                    "item": "docs/mast@0",
                    "facts": [
                        ["Mast", "depends on", "Rope", ROPE.sentence, "docs/mast", 1, "Mast"]
                    ],
                },
            ],
            "other": [],
        }


def test_a_filter_leaves_pages_out_and_a_fact_on_them_is_still_a_step() -> None:
    with engine_of(hops=3) as engine:
        asked = query("quay", filter={"team": "a"})
        assert rows_of(engine, asked) == [[("docs/quay@1", 1.0), ("docs/rope@0", 0.25)], []]
        assert set(facts_of(engine, asked)) == {"docs/quay@1", "docs/rope@0"}
        assert rows_of(engine, query("quay", filter={"store": "memory"}))[0] == []


def test_search_ranks_the_three_channels_and_obeys_stores() -> None:
    with engine_of() as engine:
        asked = query("zzz rope")
        loud = Settings(limit=3, weights={"triples": 9.0, "vector": 0.0})
        assert engine.search(asked, loud)[0] == "docs/mast@0"
        assert engine.search(asked, loud.with_values({"stores": "memory"})) == ["m:bo"]
        [found] = engine.candidates([asked], 3)
        ranked = rank(found, loud, channels=engine.channels)
        assert engine.search(asked, loud) == [row.item_id for row in ranked]


# --- access ---------------------------------------------------------------------------------------

USERS = (None, "ada", "bo")
PAGES = ("docs/quay", "docs/mast", "docs/rope", "m:bo", "m:owner")
ALL = (DRAWS, *TRIPLES_)


@st.composite
def restricted(draw: st.DrawFn) -> Corpus:
    principals = st.none() | st.lists(st.sampled_from(USERS[1:]), max_size=2).map(tuple)
    return Corpus(
        tuple(
            Entry(e.entry_id, e.text, e.store, age_days=e.age_days, principals=draw(principals))
            for e in CORPUS.entries
        )
    )


@given(
    restricted(),
    st.lists(
        st.tuples(st.sampled_from(["quay", "mast", "Ada", "rope bo"]), st.sampled_from(USERS)),
        min_size=1,
        max_size=3,
    ),
    st.integers(1, 4),
    st.permutations(ALL),
)
@settings(deadline=None, max_examples=40)
def test_a_fact_on_a_forbidden_page_is_neither_evidence_nor_a_step(
    corpus: Corpus, asked: list[tuple[str, str | None]], hops: int, triples: list[Triple]
) -> None:
    with engine_of(corpus, tuple(triples), hops=hops) as engine:
        for text, user in asked:
            seen: set[Key] = {e.entry_id for e in corpus.entries if may_see(e, user)}
            public = Corpus(tuple(Entry(e.entry_id, e.text, e.store) for e in corpus.entries))
            known = tuple(triple for triple in triples if triple.page in seen)
            with engine_of(public, known, hops=hops) as other:
                wanted = rows_of(other, query(text))
                assert rows_of(engine, query(text, user=user)) == wanted
                assert engine.evidence["q"] == other.evidence["q"]
            told = [fact for one in engine.evidence["q"] for fact in one["facts"]]
            assert {fact[4] for fact in told} <= seen


def test_many_users_do_not_share_a_graph() -> None:
    entries = tuple(
        Entry(f"m{n}", f"Quay calls Tug{n}.", "memory", principals=(f"u{n}",)) for n in range(70)
    )
    triples = tuple(
        Triple("Quay", "calls", f"Tug{n}", e.text, f"m{n}") for n, e in enumerate(entries)
    )
    with engine_of(Corpus(entries), triples) as engine:
        for n in (*range(70), 0, 69):
            assert rows_of(engine, query("quay", user=f"u{n}")) == [[], [(f"m{n}", 1.0)]]


# --- identity -------------------------------------------------------------------------------------


def test_an_engine_without_triples_keeps_its_fingerprint_and_channels() -> None:
    corpus = Corpus(
        (
            Entry("docs/quay", "Quay depends on Mast.", "document"),
            Entry("m", "Ada owns Quay.", "memory", age_days=3.0),
        )
    )
    with engine_of(corpus, None, chunking=Chunking()) as engine:
        # As commit 1cdefd0 had it: captured pools are found by it.
        before, _, after = engine.fingerprint.partition(" sqlite=")
        assert before == (
            "embedded/1 embedder=hash-64 chunking=whole match=any "
            "corpus=3e9ab4928f5ffdadb35c0a40f6b17181af4e3cc194f56bba2c8c0b89f07b6d0c"
        )
        assert [part.partition("=")[0] for part in after.split(" ")[1:]] == ["tokenizer", "unicode"]
        assert engine.channels == ("vector", "lexical")
        assert engine.evidence == {}
        assert "triples" not in engine.provenance


def test_the_fingerprint_tells_triples_their_order_and_hops() -> None:
    made = [
        engine_of(triples=None),
        engine_of(triples=()),
        engine_of(triples=(OWNER,)),
        engine_of(triples=(OWNER, ROPE)),
        engine_of(triples=(ROPE, OWNER)),
        engine_of(triples=(OWNER, ROPE), hops=3),
    ]
    assert len({engine.fingerprint for engine in made}) == len(made)
    assert engine_of().fingerprint == engine_of(triples=tuple(TRIPLES_)).fingerprint
    assert made[3].provenance["triples"] == 2
    assert len(FactIndex((OWNER, ROPE), 2, [])) == 2
    for engine in made:
        engine.close()


def test_rows_of_the_other_channels_are_the_same_with_and_without_triples() -> None:
    asked = [query("what does quay need", user="ada")]
    with engine_of() as engine, engine_of(triples=None) as plain:
        [ours], [theirs] = engine.candidates(asked, 4), plain.candidates(asked, 4)
    both = {place: rows for place, rows in ours.rows.items() if place[0] != TRIPLES}
    assert repr(both) == repr(theirs.rows)


# --- sweeps ---------------------------------------------------------------------------------------

SWEEP = """\
name: facts
golden: golden.jsonl
classes: golden
engine:
  kind: embedded
  corpus: corpus.jsonl
  embedder: {kind: hash, dimensions: 64}
  chunking: {kind: section}
  triples: TRIPLES
usage:
  readers: {simulate: {questions: readers.jsonl, interactions: 200, offered: 3}}
as_of: 2026-11-01T00:00:00Z
current: {limit: 4, depth: 4, recency_half_life_days: 20, prior.strength: 1}
arms:
  routed: {routing: {who: {budget: 2, triples_weight: 0.5}, what: {weights.vector: 0}}}
space:
  triples_weight: [0, safe, 2]
metrics: [recall@2, mrr]
objectives: {overall.mrr: maximize}
"""
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"id": "q1", "slice": "what", "query": "What does Quay need?", "expected": ["docs/mast"]},
    {"id": "q2", "slice": "who", "query": "Who has to do with Rope?", "expected": ["m:bo"]},
    {"id": "q3", "slice": "who", "query": "zzz", "expected": []},
)


def project(folder: Path, triples: str = "facts.json", space: str = "") -> Config:
    entries = [
        {
            "id": e.entry_id,
            "text": e.text,
            "source_type": e.store,
            **({} if e.age_days is None else {"age_days": e.age_days}),
        }
        for e in CORPUS.entries
    ]
    config = SWEEP.replace("TRIPLES", triples).replace("space:\n", f"space:\n{space}")
    path = write_project(folder, config, entries=entries, questions=QUESTIONS)
    names = ("subject", "predicate", "object", "sentence", "page")
    rows = [{name: getattr(triple, name) for name in names} for triple in TRIPLES_]
    (folder / "facts.json").write_text(json.dumps(rows))
    readers = [
        {"id": "q1", "query": "Which things does Ada own?", "expected": ["m:owner"]},
        {"id": "u2", "query": "Where is Mast explained?", "expected": ["docs/mast"]},
    ]
    (folder / "readers.jsonl").write_text("\n".join(map(json.dumps, readers)))
    return load_config(path)


def test_evidence_is_kept_with_the_pool_and_not_in_the_manifest(tmp_path: Path) -> None:
    results = run_sweep(project(tmp_path), root=tmp_path / "results").results
    [path] = results.kept.pool_files.values()
    evidence = read_pool(path).provenance["evidence"]
    assert list(evidence) == ["q1", "q2", "q3"]  # not those of the readers
    with engine_of() as engine:
        golden = GoldenSet(tuple(query(row["query"], row["id"]) for row in QUESTIONS))
        assert evidence == capture(golden, engine, depth=4).provenance["evidence"]
    assert evidence["q1"][0]["facts"][0][3] == NEEDS.sentence
    text = (results.folder / "manifest.json").read_text()
    assert '"evidence"' not in text
    assert NEEDS.sentence not in text
    assert results.manifest["pool"]["provenance"]["engine"]["triples"] == 5


def test_evidence_is_of_the_questions_asked_even_if_others_were_asked_before() -> None:
    with engine_of() as engine:
        capture(GoldenSet((query("Ada", "q"), query("Bo", "u"))), engine, depth=4)
        pool = capture(GoldenSet((query("Quay", "q"),)), engine, depth=4)
        with engine_of() as fresh:
            alone = capture(GoldenSet((query("Quay", "q"),)), fresh, depth=4)
    assert pool.provenance["evidence"] == alone.provenance["evidence"]


@pytest.mark.parametrize("triples", ["facts.json", "{path: facts.json, hops: 2}"])
def test_hops_are_swept_like_any_knob_of_the_engine(tmp_path: Path, triples: str) -> None:
    space = "  engine.triples.hops: [1, 2, 3]\n"
    results = run_sweep(project(tmp_path, triples, space), root=tmp_path / "results").results
    assert len(results.kept.pools) == 3
    found = {}
    for name, pool in results.kept.pools.items():
        items = [one["item"] for one in pool.provenance["evidence"]["q1"]]
        found[name.rpartition("=")[2]] = set(items)
        assert pool.usefulness is not None
    assert found["1"] < found["2"] < found["3"]
    assert set(results.trials["param_engine.triples.hops"]) == {1, 2, 3}


@pytest.mark.parametrize(
    ("space", "said"),
    [
        ("  engine.triples.hops: [1, 9]\n", "engine does not take 9 as engine.triples.hops"),
        ("  engine.triples.hop: [1]\n", "engine.triples.hop"),
    ],
)
def test_hops_outside_their_range_are_refused(tmp_path: Path, space: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        project(tmp_path, space=space)


@pytest.mark.parametrize(
    ("triples", "said"),
    [
        ("{hops: 2}", "give a path, or `extract: true`."),
        ("{path: facts.json, hops: 5}", "engine.triples.hops: must be at most 4, got 5"),
        ("{path: facts.json, hops: 0}", "engine.triples.hops: must be at least 1, got 0"),
    ],
)
def test_a_block_of_triples_that_cannot_be_is_refused(
    tmp_path: Path, triples: str, said: str
) -> None:
    with pytest.raises(InputError, match=said):
        project(tmp_path, triples)


def test_triples_that_the_pages_do_not_bear_out_are_refused_with_their_line(tmp_path: Path) -> None:
    config = project(tmp_path)
    text = (tmp_path / "facts.json").read_text().replace("Bo owns Rope.", "Bo sold Rope.")
    (tmp_path / "facts.json").write_text(text)
    with pytest.raises(InputError, match=r"facts.json:1: .*Bo sold Rope"):
        run_sweep(config, root=tmp_path / "results")


def test_extracted_triples_follow_those_of_the_file_without_repeats(tmp_path: Path) -> None:
    sizes = {}
    for triples in ("facts.json", "{extract: true}", "{path: facts.json, extract: true}"):
        config = project(tmp_path, triples)
        results = run_sweep(config, root=tmp_path / "results").results
        sizes[triples] = results.manifest["pool"]["provenance"]["engine"]["triples"]
    from_file, extracted, both = sizes.values()
    assert from_file == 5
    # The rules find OWNER, NEEDS, ROPE and BO again, with NEEDS' line end in its sentence.
    assert extracted == 4
    assert both == from_file + 1


def test_a_weight_of_triples_without_the_channel_is_refused(tmp_path: Path) -> None:
    config = project(tmp_path)
    text = config.path.read_text().replace("  triples: facts.json\n", "")
    config.path.write_text(text)
    with pytest.raises(InputError, match='the engine has no channel "triples"'):
        run_sweep(load_config(config.path), root=tmp_path / "results")


def test_the_engines_own_search_agrees_with_replay_by_class_with_facts_and_prior(
    tmp_path: Path,
) -> None:
    config = project(tmp_path, space="  engine.triples.hops: [1, 2]\n")
    results = run_sweep(config, root=tmp_path / "results").results
    routed = results.settings[results.trial("routed")]
    near = routed.with_values({"engine.triples.hops": 1})
    found = verify_sweep(results, config, {"routed": routed, "near": near})
    assert not found.causes
    assert not found.n_different
    asked = {check.name: check.n_questions for check in found.checks}
    assert {asked[name] for name in ("current", "routed", "near")} == {len(QUESTIONS)}
    assert len(results.kept.returned(routed, "q2")) == 2  # its class has that budget
    done = invoke("verify", results.folder)
    assert done.exit_code == 0, done.stdout + done.stderr
