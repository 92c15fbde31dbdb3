"""The SOAT preset against a local server with SOAT's contract over a real PostgreSQL.

What is replayed from a capture is compared with live searches, position by position, for random
settings; in every degraded mode the two are equal or the question is declared not complete.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

pytest.importorskip("httpx", reason="the extra http is not installed")
pytest.importorskip("psycopg", reason="the extra postgres is not installed")
pytest.importorskip("starlette", reason="the test servers need starlette and uvicorn")

from sweeper.capture import capture
from sweeper.corpus import Chunking, Corpus, Entry
from sweeper.embedders import HashEmbedder
from sweeper.engines.base import Engine
from sweeper.engines.bundled import BundledServer
from sweeper.engines.http import HttpEngine
from sweeper.engines.soat import SoatEngine
from sweeper.errors import EngineError, InputError
from sweeper.formats import read_corpus, read_golden
from sweeper.golden import GoldenSet, Query
from sweeper.http_blocks import HttpBlock, RetriesBlock, SoatBlock
from sweeper.knobs import Value
from sweeper.pools import LEXICAL, VECTOR, QueryCandidates
from sweeper.ranking import rank
from sweeper.settings import Settings
from sweeper.testing import AS_OF, CORPUS, BlackBoxSuite, EngineSuite
from tests.serving import Serving
from tests.soat_server import TOKEN, Mode, SoatServer

NOW = datetime(2026, 11, 1, tzinfo=UTC)
WORDS = (
    *("harbor", "tide", "crane", "ledger", "invoice", "berth", "pilot", "cargo", "manifest"),
    *("customs", "dock", "anchor", "buoy", "signal", "storm", "freight", "hull", "mast", "rope"),
    *("SKU-4711", "ferry", "toll", "winch", "lighthouse"),
)


def small_corpus(n_documents: int = 40, n_memories: int = 90) -> Corpus:
    """Return texts of a small vocabulary: channels and stores overlap, and answers are cut."""
    draw = random.Random(3)
    documents = [
        Entry(
            f"doc_{number}",
            " ".join(draw.choices(WORDS, k=draw.randint(10, 60))),
            "document",
            tags={"lang": draw.choice(("en", "fr"))},
            path=f"/{draw.choice('ab')}/{number}.md",
        )
        for number in range(n_documents)
    ]
    memories = [
        Entry(
            f"mem_{number}",
            " ".join(draw.choices(WORDS, k=draw.randint(3, 9))),
            "memory",
            tags={"lang": draw.choice(("en", "fr"))},
            age_days=round(draw.uniform(-2, 900), 3),
        )
        for number in range(n_memories)
    ]
    return Corpus((*documents, *memories))


def question(text: str, **others: Any) -> Query:
    return Query(text, "s", text, ("doc_1",), **others)


QUESTIONS = [
    question(text)
    for text in (
        *("harbor", "crane ledger", "storm", "SKU-4711", "lighthouse toll winch", "pilot"),
        *("customs dock anchor", "nothing of this", "freight -hull", '"rope mast"'),
    )
]


def random_settings(depth: int, seed: int, n: int) -> list[Settings]:
    draw = random.Random(seed)
    return [
        Settings(
            rrf_k=draw.choice((1, 2, 5, 20, 60, draw.randint(1, 300))),
            min_similarity=draw.choice((None, round(draw.uniform(-0.2, 0.9), 3))),
            recency_half_life_days=draw.choice((0, round(draw.uniform(0.5, 2000), 2))),
            limit=draw.randint(1, depth),
        )
        for _ in range(n)
    ]


@pytest.fixture(scope="module")
def conninfo() -> Iterator[str]:
    server = BundledServer()
    yield server.conninfo
    server.stop()


class Site:
    """A running SOAT and a way to open engines on it."""

    def __init__(self, soat: SoatServer, url: str, environment: Callable[[str, str], None]) -> None:
        self.soat = soat
        self._url = url
        environment("SOAT_API_TOKEN", TOKEN)

    def engine(self, **others: Any) -> SoatEngine:
        retries = RetriesBlock(attempts=1)
        block = SoatBlock(kind="soat", base_url=self._url, retries=retries, **others)
        return SoatEngine(block, as_of=NOW)


@pytest.fixture(scope="module")
def running(conninfo: str) -> Iterator[tuple[SoatServer, str]]:
    soat = SoatServer(
        conninfo, small_corpus(), HashEmbedder(256), now=NOW, cut=Chunking("size", 120, 30)
    )
    with Serving(soat.app) as serving:
        yield soat, serving.url
    soat.close()


@pytest.fixture
def site(running: tuple[SoatServer, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    soat, url = running
    soat.asked.clear()
    yield Site(soat, url, monkeypatch.setenv)
    soat.mode = Mode()


def replayed(found: QueryCandidates, settings: Settings, engine: Engine) -> list[str]:
    return [row.item_id for row in rank(found, settings, channels=engine.channels)]


def differences(
    engine: SoatEngine, queries: Sequence[Query], depth: int, n: int = 120, seed: int = 1
) -> tuple[int, list[str]]:
    """Compare replay and live search where replay is allowed; return how often, and what parts."""
    found = list(zip(queries, engine.candidates(queries, depth), strict=True))
    complete = [(q, rows) for q, rows in found if q.query_id not in engine.incomplete]
    draw = random.Random(seed)
    parted = []
    settings = random_settings(depth, seed, n if complete else 0)
    for item in settings:
        query, rows = draw.choice(complete)
        if replayed(rows, item, engine) != engine.search(query, item):
            parted.append(f"{query.text}: {item.text}")
    return len(settings), parted


@pytest.mark.slow
def test_replay_equals_the_live_search_for_random_settings(site: Site) -> None:
    with site.engine() as engine:
        n_compared, parted = differences(engine, QUESTIONS, depth=20, n=300)
        assert parted == []
        assert n_compared == 300
        assert engine.incomplete == {}


def test_one_request_captures_a_question_whose_answer_shows_enough(site: Site) -> None:
    with site.engine() as engine:
        engine.candidates([question("SKU-4711")], 20)
    assert site.soat.asked == [
        {
            "query": "SKU-4711",
            "limit": 100,
            "min_similarity": -1.0,
            "rrf_k": 1,
            "recency_half_life_days": 0,
        }
    ]


def test_requests_for_one_store_complete_an_answer_that_was_cut(site: Site) -> None:
    with site.engine() as engine:
        n_compared, parted = differences(engine, [question("harbor")], depth=40, n=60)
        assert (n_compared, parted) == (60, [])
    scoped = [b for b in site.soat.asked if b["limit"] == 100 and "include_documents" in b]
    assert len(scoped) == 1


@pytest.mark.slow
def test_at_any_depth_replay_is_equal_or_declared_impossible(site: Site) -> None:
    n_complete = 0
    for depth in (1, 45, 70, 100):
        with site.engine() as engine:
            assert differences(engine, QUESTIONS, depth, n=40)[1] == []
            n_complete += len(QUESTIONS) - len(engine.incomplete)
            for reason in engine.incomplete.values():
                assert "lexical rows" in reason or "vector rows" in reason
    assert n_complete >= 2 * len(QUESTIONS)


@pytest.mark.parametrize(
    "mode",
    [
        Mode(lexical=False),
        Mode(entry_id=True),
        Mode(chunk_ids=False),
        Mode(switches=False),
        Mode(rrf_k=7, half_life_days=30.0, floor=0.4),
    ],
    ids=["no lexical channel", "entry_id", "no chunk_id", "no switches", "own defaults"],
)
def test_replay_equals_the_live_search_of_other_deployments(site: Site, mode: Mode) -> None:
    site.soat.mode = mode
    with site.engine() as engine:
        n_compared, parted = differences(engine, QUESTIONS, depth=15, n=60)
        assert (n_compared, parted) == (60, [])
        assert len(engine.incomplete) <= 1


def test_without_embeddings_an_answer_is_refused(site: Site) -> None:
    site.soat.mode = Mode(embeddings=False)
    with site.engine() as engine, pytest.raises(EngineError) as caught:
        engine.candidates([question("harbor")], 10)
    assert "'harbor'" in str(caught.value)
    assert "channels: [lexical]" in str(caught.value)


def test_without_embeddings_the_lexical_channel_alone_can_be_tuned(site: Site) -> None:
    site.soat.mode = Mode(embeddings=False)
    with site.engine(channels=["lexical"]) as engine:
        assert engine.channels == (LEXICAL,)
        assert differences(engine, QUESTIONS, depth=15, n=60) == (60, [])


def test_a_channel_that_the_config_leaves_out_is_named(site: Site) -> None:
    with site.engine(channels=["vector"]) as engine, pytest.raises(EngineError, match="lexical"):
        engine.candidates([question("harbor")], 10)


def test_a_server_that_ignores_the_knobs_leaves_no_question_to_replay(site: Site) -> None:
    site.soat.mode = Mode(knobs=False)
    with site.engine() as engine:
        engine.candidates(QUESTIONS, 10)
        assert set(engine.incomplete) == {query.query_id for query in QUESTIONS}
        assert "the rrf_k of 1 that was sent" in engine.incomplete["harbor"]


def test_a_server_without_signals_is_refused_with_the_way_out(site: Site) -> None:
    site.soat.mode = Mode(signals=False)
    with site.engine() as engine, pytest.raises(EngineError, match="kind http without channels"):
        engine.candidates([question("harbor")], 10)


def test_a_lower_limit_of_the_server_can_be_configured(site: Site) -> None:
    site.soat.mode = Mode(clamp=30)
    with site.engine(max_limit=30) as engine:
        assert differences(engine, QUESTIONS, depth=10, n=60)[1] == []
        assert len(engine.incomplete) < len(QUESTIONS) / 2


def test_neighbours_that_differ_between_requests_are_noticed(site: Site) -> None:
    site.soat.mode = Mode(misses=40)
    with site.engine() as engine:
        engine.candidates([question("harbor")], 40)
        assert "differ between two requests" in engine.incomplete["harbor"]


def test_provenance_says_which_questions_are_replayed_and_which_are_not(site: Site) -> None:
    site.soat.mode = Mode(switches=False)
    few = question("SKU-4711", filter={"lang": "nowhere"})
    golden = GoldenSet((question("harbor"), few))
    with site.engine() as engine:
        pool = capture(golden, engine, depth=60)
    said = pool.provenance["engine"]
    assert said["questions"] == {"replayed": 1, "live": 1}
    assert list(said["live_questions"]) == ["harbor"]
    assert said["ages"]["known"] > 0


@pytest.mark.parametrize(
    "wanted", [{"lang": "fr"}, {"store": "memory"}, {"path": "/a/"}, {"lang": "en", "path": "/b/"}]
)
def test_a_filter_reaches_capture_and_live_search(site: Site, wanted: dict[str, str]) -> None:
    query = question("harbor tide", filter=wanted)
    with site.engine() as engine:
        [found] = engine.candidates([query], 10)
        for settings in random_settings(10, 5, 20):
            assert replayed(found, settings, engine) == engine.search(query, settings)
    rows = [row for listed in found.rows.values() for row in listed]
    stores = {row.store for row in rows}
    assert stores == {"store": {"memory"}, "path": {"document"}}.get(
        next(iter(wanted.keys() & {"store", "path"}), ""), {"document", "memory"}
    )


def test_a_server_that_cannot_search_one_store_is_found_out(site: Site) -> None:
    site.soat.mode = Mode(switches=False)
    query = question("harbor", filter={"store": "memory"})
    with site.engine() as engine, pytest.raises(EngineError, match="older than the switches"):
        engine.search(query, Settings())


def test_the_stores_knob_reaches_the_live_search(site: Site) -> None:
    with site.engine() as engine:
        found = engine.search(question("harbor"), replace(Settings(), stores="memory"))
        assert "stores" in engine.knobs
    assert found
    assert all(item.startswith("mem_") for item in found)


def test_a_question_with_a_user_is_refused(site: Site) -> None:
    with site.engine() as engine, pytest.raises(InputError, match="their own token_env"):
        engine.candidates([question("harbor", user="ada")], 10)


def test_paths_of_the_config_and_of_a_question_are_narrowed_to_both(site: Site) -> None:
    with site.engine(document_paths=["/a/"]) as engine:
        engine.search(question("tide", filter={"path": "/a/1"}), Settings())
        engine.search(question("tide", filter={"path": "/"}), Settings())
        with pytest.raises(InputError, match="document_paths leaves out"):
            engine.search(question("tide", filter={"path": "/b/"}), Settings())
    assert [body["document_paths"] for body in site.soat.asked] == [["/a/1"], ["/a/"]]


def test_the_scope_of_the_config_is_sent_as_it_stands(site: Site) -> None:
    scope = {"project_id": "p{1}", "memory_store_ids": ["s"], "document_paths": ["/{a}/"]}
    with site.engine(**scope) as engine:
        engine.search(question("tide"), Settings())
    [body] = site.soat.asked
    assert {name: body[name] for name in scope} == scope


def test_tags_of_the_config_and_of_a_question_must_agree(site: Site) -> None:
    with site.engine(tags={"lang": "en"}) as engine:
        engine.search(question("tide", filter={"lang": "en"}), Settings())
        with pytest.raises(InputError, match=r"engine\.tags wants lang: en"):
            engine.search(question("tide", filter={"lang": "fr"}), Settings())
    assert [body["tags"] for body in site.soat.asked] == [{"lang": "en"}]


def test_a_question_and_settings_cannot_want_different_stores(site: Site) -> None:
    query = question("tide", filter={"store": "document"})
    with site.engine() as engine, pytest.raises(InputError, match="Nothing is in both: change one"):
        engine.search(query, replace(Settings(), stores="memory"))


def test_more_rows_than_the_server_gives_are_refused(site: Site) -> None:
    with site.engine() as engine:
        with pytest.raises(InputError, match="at most 100 rows"):
            engine.candidates([question("harbor")], 101)
        with pytest.raises(InputError, match="at most 100 rows"):
            engine.search(question("harbor"), Settings(limit=101))


def test_a_wrong_token_is_named_by_its_variable(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOAT_API_TOKEN", "another")
    with site.engine() as engine, pytest.raises(EngineError, match="check SOAT_API_TOKEN"):
        engine.search(question("harbor"), Settings())


@pytest.fixture(scope="module")
def reference(shared: Path, conninfo: str) -> Iterator[tuple[SoatServer, str, GoldenSet]]:
    corpus = read_corpus(shared / "data/soat/corpus.jsonl")
    golden = read_golden(shared / "data/soat/golden.jsonl")
    soat = SoatServer(
        conninfo,
        corpus,
        HashEmbedder(1024),
        now=NOW,
        cut=Chunking("size", 1000, 200),
        table="soat_reference",
    )
    with Serving(soat.app) as serving:
        yield soat, serving.url, golden
    soat.close()


@pytest.mark.slow
def test_replay_equals_the_live_search_on_the_published_golden_set(
    reference: tuple[SoatServer, str, GoldenSet], monkeypatch: pytest.MonkeyPatch
) -> None:
    soat, url, golden = reference
    with Site(soat, url, monkeypatch.setenv).engine() as engine:
        assert differences(engine, golden.queries, depth=20, n=300) == (300, [])
        assert engine.incomplete == {}
        assert engine.counters["requests"] == 300 + len(golden)


@pytest.mark.slow
def test_captured_candidates_are_those_that_two_other_implementations_found(
    reference: tuple[SoatServer, str, GoldenSet],
    shared: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    soat, url, golden = reference
    expected = json.loads((shared / "oracle/expected_soat_v3.json").read_text("utf-8"))
    with Site(soat, url, monkeypatch.setenv).engine() as engine:
        found = engine.candidates(golden.queries, 10)
    listed = {case["id"]: case for case in expected["candidates_limit10"]}
    n_lists = 0
    for answer in found:
        case = listed[answer.query_id]
        for store in ("document", "memory"):
            cosines = [row.value for row in answer.rows[VECTOR, store]]
            assert cosines == pytest.approx([v for _, v in case["vector"][store]], abs=1e-6)
            items = [row.item_id for row in answer.rows[LEXICAL, store]]
            assert items == [item for item, _ in case["lexical"][store]]
            n_lists += 1
    assert n_lists == 2 * len(golden)


@pytest.mark.slow
def test_captures_rank_as_two_other_implementations_do(
    reference: tuple[SoatServer, str, GoldenSet],
    shared: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    soat, url, golden = reference
    expected = json.loads((shared / "oracle/expected_soat_v3.json").read_text("utf-8"))
    names = ("rrf_k", "min_similarity", "recency_half_life_days", "limit")
    with Site(soat, url, monkeypatch.setenv).engine() as engine:
        found = {answer.query_id: answer for answer in engine.candidates(golden.queries, 20)}
    n_lists = 0
    for case in expected["full_lists"]:
        settings = Settings(**{name: case[name] for name in names})
        for listed in case["queries"]:
            if not listed["tie_sensitive"]:
                ranked = rank(found[listed["id"]], settings)
                assert [row.item_id for row in ranked] == listed["items"]
                assert [row.score for row in ranked] == pytest.approx(listed["scores"], rel=1e-9)
                n_lists += 1
    assert n_lists > 300


@pytest.fixture(scope="module")
def suite_site(conninfo: str) -> Iterator[tuple[SoatServer, str]]:
    whole = Chunking("whole")
    soat = SoatServer(conninfo, CORPUS, HashEmbedder(256), now=AS_OF, cut=whole, table="soat_suite")
    with Serving(soat.app) as serving:
        yield soat, serving.url
    soat.close()


SENT = {
    "rrf_k": (1, 60),
    "min_similarity": (None, 0.2),
    "recency_half_life_days": (0, 30),
    "limit": (2, 10),
}
TEAMS = {("team", "hydro"): frozenset({"valves", "m:team"}), ("team", "none"): frozenset[str]()}


class RankedSuite(EngineSuite):
    """For engines whose lexical values are ranks: a filter changes those, and no order."""

    def test_a_filter_keeps_others_out_and_lets_all_of_its_own_in(self, engine: Engine) -> None:
        for (name, value), passing in self.filters.items():
            for text in self.queries:
                [few] = engine.candidates([question(text, filter={name: value})], 50)
                [many] = engine.candidates([question(text)], 50)
                for place, rows in many.rows.items():
                    wanted = [row.item_id for row in rows if row.key in passing]
                    assert [row.item_id for row in few.rows[place]] == wanted


class TestSoatKeepsThePromisesOfAnEngine(RankedSuite):
    """Depth and weights are no knobs of SOAT."""

    space: ClassVar[Mapping[str, Sequence[Value]]] = {**SENT, "stores": ("all", "memory")}

    @pytest.fixture
    def engine(
        self, suite_site: tuple[SoatServer, str], monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Engine]:
        with Site(*suite_site, monkeypatch.setenv).engine() as engine:
            yield engine


def as_http(url: str, **others: Any) -> HttpEngine:
    """Return SOAT described to the plain HTTP engine."""
    fields = {
        "kind": "http",
        "url": f"{url}/api/v1/knowledge/search",
        "auth": {"kind": "bearer", "token_env": "SOAT_API_TOKEN"},
        "body": {"query": "{query}", "tags": {"team": "{filter.team}"}},
        "knobs": {name: name for name in SENT},
        "none": -1,
        "results": "results",
        "source_type": "source_type",
        "ids": {"document": "document_id", "memory": "memory_id"},
        "item": "chunk_id || memory_id",
        "retries": {"attempts": 1},
        **others,
    }
    return HttpEngine(HttpBlock.model_validate(fields), as_of=AS_OF)


class TestHttpKeepsThePromisesOfAWhiteBox(RankedSuite):
    space: ClassVar[Mapping[str, Sequence[Value]]] = SENT
    filters: ClassVar[Mapping[tuple[str, str], frozenset[str]]] = TEAMS

    @pytest.fixture
    def engine(
        self, suite_site: tuple[SoatServer, str], monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Engine]:
        monkeypatch.setenv("SOAT_API_TOKEN", TOKEN)
        with as_http(
            suite_site[1],
            channels={"vector": "signals.vector", "lexical": "signals.lexical"},
            values={"vector": "similarity_score"},
            score="score",
            updated_at="updated_at",
        ) as engine:
            yield engine


class TestHttpKeepsThePromisesOfABlackBox(BlackBoxSuite):
    filters: ClassVar[Mapping[tuple[str, str], frozenset[str]]] = TEAMS

    @pytest.fixture
    def engine(
        self, suite_site: tuple[SoatServer, str], monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[Engine]:
        monkeypatch.setenv("SOAT_API_TOKEN", TOKEN)
        with as_http(suite_site[1]) as engine:
            yield engine
