"""The HTTP engine against a server on this machine that answers, errs and breaks on request."""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("httpx", reason="the extra http is not installed")
pytest.importorskip("starlette", reason="the test servers need starlette and uvicorn")

from pydantic import ValidationError

from sweeper.capture import capture
from sweeper.config import load_config
from sweeper.engines import open_engine
from sweeper.engines.http import HttpEngine
from sweeper.errors import EngineError, InputError
from sweeper.golden import GoldenSet, Query
from sweeper.http_blocks import HttpBlock
from sweeper.pools import LEXICAL, VECTOR
from sweeper.ranking import rank
from sweeper.settings import Settings
from tests.faulty_server import FaultyServer, answer, cut_off, late, redirect, status, text
from tests.serving import Serving

NOW = datetime(2026, 11, 1, tzinfo=UTC)
QUICK = {"attempts": 3, "wait_seconds": 0.001, "max_wait_seconds": 0.2}
KNOBS = {"rrf_k": "rrf_k", "recency_half_life_days": "decay.half_life", "limit": "size"}


def question(name: str = "q1", **others: Any) -> Query:
    return Query(name, "s", f"text of {name}", ("d1",), **others)


class Site:
    """A running server, and engines on it."""

    def __init__(self, server: FaultyServer, serving: Serving) -> None:
        self.server = server
        self.serving = serving

    def block(self, **others: Any) -> HttpBlock:
        fields = {
            "kind": "http",
            "url": f"{self.serving.url}/search",
            "body": {"q": "{query}"},
            "results": "data.items",
            "id": "id",
            "knobs": KNOBS,
            "retries": QUICK,
            **others,
        }
        return HttpBlock.model_validate(fields)

    def engine(self, **others: Any) -> HttpEngine:
        return HttpEngine(self.block(**others), as_of=NOW)

    def search(self, query: Query | None = None, **others: Any) -> list[str]:
        with self.engine(**others) as engine:
            return engine.search(query or question(), Settings())

    def failure(self, **others: Any) -> str:
        with pytest.raises(EngineError) as caught:
            self.search(**others)
        assert "'q1'" in str(caught.value)
        return str(caught.value)


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[FaultyServer, Serving]]:
    server = FaultyServer()
    with Serving(server.app) as serving:
        yield server, serving


@pytest.fixture
def site(running: tuple[FaultyServer, Serving]) -> Site:
    server, serving = running
    server.rows = FaultyServer().rows
    server.script.clear()
    server.seen.clear()
    return Site(server, serving)


# What is sent


def test_the_question_and_the_knobs_stand_where_the_config_puts_them(site: Site) -> None:
    with site.engine() as engine:
        settings = Settings(rrf_k=7, recency_half_life_days=30, limit=3)
        assert engine.search(question(), settings) == ["d1", "d2", "d3"]
    [seen] = site.server.seen
    expected = {"q": "text of q1", "rrf_k": 7, "decay": {"half_life": 30}, "size": 3}
    assert seen.body == expected


def test_a_get_sends_parameters(site: Site) -> None:
    params = {"q": "{query}", "size": "{limit}"}
    site.search(method="GET", body=None, params=params, knobs={"rrf_k": "k"})
    [seen] = site.server.seen
    assert (seen.method, seen.body) == ("GET", None)
    assert seen.params == {"q": "text of q1", "size": "10", "k": "60"}


def test_the_engine_obeys_the_knobs_that_it_sends_and_no_others(site: Site) -> None:
    with site.engine(body={"q": "{query}", "w": "{weights.vector}"}) as engine:
        assert engine.knobs == {*KNOBS, "weights.vector"}


def test_no_floor_leaves_the_field_out(site: Site) -> None:
    site.search(knobs={"min_similarity": "floor"})
    assert "floor" not in site.server.seen[0].body


def test_no_floor_can_be_sent_as_a_number(site: Site) -> None:
    site.search(knobs={"min_similarity": "floor"}, none=-1)
    assert site.server.seen[0].body["floor"] == -1


def test_users_and_filters_are_sent_where_the_config_puts_them(site: Site) -> None:
    body = {"q": "{query}", "tags": "{filter}", "lang": "{filter.lang}"}
    asked = question(user="ada", filter={"lang": "fr"})
    site.search(asked, body=body, headers={"X-User": "{user}"})
    [seen] = site.server.seen
    assert seen.body["tags"] == {"lang": "fr"}
    assert seen.body["lang"] == "fr"
    assert seen.headers["x-user"] == "ada"


def test_a_user_may_have_any_name(site: Site) -> None:
    site.search(question(user="Zoë"), headers={"X-User": "{user}"})
    assert site.server.seen[0].headers["x-user"].encode("latin-1").decode() == "Zoë"


def test_a_filter_among_parameters_is_json(site: Site) -> None:
    asked = question(filter={"lang": "fr"})
    site.search(asked, params={"where": "{filter}"})
    assert site.server.seen[0].params["where"] == '{"lang": "fr"}'


def test_a_user_that_the_request_has_no_place_for_is_refused(site: Site) -> None:
    with pytest.raises(InputError, match="no place for a user"):
        site.search(question(user="ada"))


def test_a_filter_that_the_request_has_no_place_for_is_refused(site: Site) -> None:
    with pytest.raises(InputError, match=r"\{filter.lang\}"):
        site.search(question(filter={"lang": "fr"}))


@pytest.mark.parametrize(
    ("auth", "header", "expected"),
    [
        ({"kind": "bearer", "token_env": "TOKEN"}, "authorization", "Bearer tok-123"),
        (
            {"kind": "basic", "token_env": "TOKEN", "user_env": "SEARCHER"},
            "authorization",
            "Basic YWRhOnRvay0xMjM=",
        ),
        ({"kind": "header", "token_env": "TOKEN", "header": "X-Key"}, "x-key", "tok-123"),
        ({"kind": "bearer", "token_file_env": "TOKEN_FILE"}, "authorization", "Bearer in-file"),
    ],
)
def test_credentials_come_from_the_environment(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    auth: dict[str, str],
    header: str,
    expected: str,
) -> None:
    (tmp_path / "token").write_text("in-file\n", "utf-8")
    monkeypatch.setenv("TOKEN", "tok-123")
    monkeypatch.setenv("SEARCHER", "ada")
    monkeypatch.setenv("TOKEN_FILE", str(tmp_path / "token"))
    site.search(auth=auth)
    assert site.server.seen[0].headers[header] == expected


def test_a_missing_credential_is_named_by_its_variable(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TOKEN", raising=False)
    with pytest.raises(InputError, match="TOKEN is not set"):
        site.search(auth={"kind": "bearer", "token_env": "TOKEN"})
    assert site.server.seen == []


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "which TOKEN_FILE names, cannot be read (FileNotFoundError)"),
        ("\n", "is empty; it must hold the token"),
        ("schlüssel", "holds a character that no header may have"),
    ],
)
def test_a_token_file_that_is_no_use_is_named(
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    content: str | None,
    words: str,
) -> None:
    if content is not None:
        (tmp_path / "token").write_text(content, "utf-8")
    monkeypatch.setenv("TOKEN_FILE", str(tmp_path / "token"))
    with pytest.raises(InputError) as caught:
        site.search(auth={"kind": "bearer", "token_file_env": "TOKEN_FILE"})
    assert words in str(caught.value)


@pytest.mark.parametrize("package", ["httpx", "stamina", "jmespath"])
def test_a_missing_extra_is_named(
    site: Site, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(InputError, match=r'pip install "path/to/sweeper\[http\]"'):
        site.engine()


def test_a_value_that_is_missing_inside_a_longer_text_is_an_error(site: Site) -> None:
    message = site.failure(body={"q": "{query} site:{filter.site}"})
    assert "needs a value for {filter.site} inside a longer text" in message


def test_a_knob_cannot_stand_inside_a_text(site: Site) -> None:
    with pytest.raises(InputError, match=r'engine\.knobs\.rrf_k: "q\.k" cannot be set'):
        site.search(knobs={"rrf_k": "q.k"})


def test_never_more_requests_are_under_way_than_allowed(site: Site) -> None:
    under_way, most = 0, 0
    lock = threading.Lock()

    def counted(query: Query) -> None:
        nonlocal under_way, most
        with lock:
            under_way += 1
            most = max(most, under_way)
        engine.search(query, Settings())
        with lock:
            under_way -= 1

    with site.engine(n_threads=3) as engine:
        assert engine.n_threads == 3
        engine._for_each([question(f"q{n}") for n in range(20)], counted)
    assert most <= 3
    assert len(site.server.seen) == 20


def test_a_rate_limit_spaces_requests(site: Site) -> None:
    with site.engine(requests_per_second=50) as engine:
        started = time.monotonic()
        for _ in range(4):
            engine.search(question(), Settings())
        assert time.monotonic() - started >= 3 * 0.02


# Pages


@pytest.mark.parametrize(
    ("pagination", "field"),
    [
        ({"kind": "page", "size": 10}, "page"),
        ({"kind": "offset", "size": 10}, "offset"),
        ({"kind": "cursor", "size": 10, "next": "next"}, "cursor"),
    ],
)
def test_pages_are_asked_for_until_there_are_rows_enough(
    site: Site, pagination: dict[str, Any], field: str
) -> None:
    body = {"q": "{query}", "size": "{page_size}", field: f"{{{field}}}"}
    with site.engine(body=body, knobs={}, pagination=pagination) as engine:
        found = engine.search(question(), Settings(limit=22))
        assert found == [f"d{place}" for place in range(1, 23)]
        assert len(site.server.seen) == 3
        assert len(engine.search(question(), Settings(limit=90))) == 25


def test_a_server_that_repeats_its_first_page_is_found_out(site: Site) -> None:
    body = {"q": "{query}", "size": "{page_size}", "seite": "{page}"}
    pagination = {"kind": "page", "size": 10}
    with (
        site.engine(body=body, knobs={}, pagination=pagination) as engine,
        pytest.raises(EngineError, match="page 2 repeats the page before it"),
    ):
        engine.search(question(), Settings(limit=20))


def test_a_cursor_that_does_not_move_is_found_out(site: Site) -> None:
    row = {"id": "d1"}
    site.server.script = [
        answer({"data": {"items": [row | {"n": n}]}, "next": "x"}) for n in (1, 2)
    ]
    body = {"q": "{query}", "cursor": "{cursor}"}
    message = site.failure(body=body, pagination={"kind": "cursor", "size": 1, "next": "next"})
    assert "the same cursor again" in message


def test_pages_end_where_one_is_empty(site: Site) -> None:
    site.server.rows = site.server.rows[:20]
    body = {"q": "{query}", "size": "{page_size}", "offset": "{offset}"}
    with site.engine(body=body, knobs={}, pagination={"kind": "offset", "size": 10}) as engine:
        assert len(engine.search(question(), Settings(limit=50))) == 20
    assert len(site.server.seen) == 3


# What comes back


def test_ids_are_read_by_source_type(site: Site) -> None:
    site.server.rows = [
        {"type": "document", "document_id": "a"},
        {"type": "memory", "memory_id": 7},
        {"type": "document", "document_id": "a"},
    ]
    ids = {"document": "document_id", "memory": "memory_id"}
    assert site.search(id=None, ids=ids, source_type="type") == ["a", "7", "a"]


def test_an_unknown_source_type_is_named(site: Site) -> None:
    site.server.rows = [{"type": "image", "id": "a"}]
    message = site.failure(id=None, ids={"document": "id"}, source_type="type")
    assert 'row 1 has the source type "image", and ids names document' in message


def test_no_results_are_an_empty_list(site: Site) -> None:
    site.server.rows = []
    with site.engine() as engine:
        assert engine.search(question(), Settings()) == []
        assert engine.counters["empty"] == 1


def test_a_wrong_path_is_no_empty_list(site: Site) -> None:
    message = site.failure(results="data.rows")
    assert "nothing at `data.rows`; it has the keys data, next" in message


def test_a_row_without_an_id_is_named_with_its_keys(site: Site) -> None:
    message = site.failure(id="uuid")
    assert "row 1 has no id at `uuid`; it has the keys id, kind, score" in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"data": {"items": {"a": 1}}}, 'no list but {"a": 1} at `data.items`'),
        ({"data": {"items": ["d1"]}}, 'row 1 is no object but "d1"'),
        ({}, "it is an empty object"),
        ([1], "it is [1]"),
        ({"data": {"items": [{"id": {"x": 1}}]}}, 'no id but {"x": 1} at `id`'),
        ({"data": {"items": [{"id": ""}]}}, 'no id but "" at `id`'),
    ],
)
def test_an_answer_of_another_shape_is_described(site: Site, content: Any, words: str) -> None:
    site.server.script = [answer(content)]
    assert words in site.failure()


def test_an_expression_that_does_not_apply_is_named(site: Site) -> None:
    assert "`length(next)` (engine.id) fails on" in site.failure(id="length(next)")


def test_an_item_twice_is_an_error_and_a_key_twice_is_not(site: Site) -> None:
    site.server.rows = [{"id": "a", "chunk": "a@0"}, {"id": "a", "chunk": "a@1"}]
    assert site.search(item="chunk") == ["a", "a"]
    site.server.rows = [{"id": "a", "chunk": "a@0"}, {"id": "a", "chunk": "a@0"}]
    assert "row 2 repeats the item 'a@0'" in site.failure(item="chunk")


@pytest.mark.parametrize("value", ["high", True, [1]])
def test_a_score_that_is_no_number_is_an_error(site: Site, value: Any) -> None:
    site.server.rows = [{"id": "a", "score": value}]
    assert "row 1 has no number at `score`" in site.failure(score="score")


# Faults


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (status(500), "HTTP 500"),
        (status(503, Retry_After="0"), "HTTP 503"),
        (status(429, Retry_After="0.01"), "HTTP 429"),
        (text("<html>maintenance</html>", "text/html"), "no JSON"),
        (text('{"data": {"items": [{"id": "d'), "no JSON"),
        (text('{"data": {"items": [{"id": "d1", "score": NaN}]}}'), "no number"),
        (late(1.5), "read timeout"),
        (cut_off, "broken off"),
    ],
)
def test_a_passing_fault_is_survived_and_counted(site: Site, fault: Any, kind: str) -> None:
    site.server.script = [fault]
    timeouts = {"read": 0.7} if kind == "read timeout" else {}
    with site.engine(timeouts=timeouts) as engine:
        assert engine.search(question(), Settings(limit=2)) == ["d1", "d2"]
        assert engine.counters == {"requests": 2, "retries": 1, kind: 1, "empty": 0}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (status(500), "HTTP 500, no content type: busy after 3 attempts. Try again later."),
        (
            text("<html>hello</html>", "text/html"),
            "the answer is HTML; HTTP 200, text/html: <html>",
        ),
        (text('{"data": '), "the answer is no whole JSON"),
        (text('{"score": NaN}'), "holds a number that JSON has not (NaN)"),
    ],
)
def test_a_lasting_fault_says_what_came_and_how_to_mend_it(
    site: Site, fault: Any, words: str
) -> None:
    site.server.script = [fault] * 3
    assert words in site.failure()


def test_what_the_client_did_wrong_is_not_repeated(site: Site) -> None:
    site.server.script = [text('{"error": "no such field"}', code=422)]
    message = site.failure()
    assert "HTTP 422" in message
    assert "no such field" in message
    assert len(site.server.seen) == 1


def test_the_wish_of_a_busy_server_is_kept_up_to_the_longest_pause(site: Site) -> None:
    site.server.script = [status(429, Retry_After="30"), status(429, Retry_After="0.1")]
    site.search()
    first, second, third = (seen.at for seen in site.server.seen)
    assert 0.2 <= second - first < 30
    assert 0.1 <= third - second < 30


def test_the_wish_of_a_busy_server_may_be_a_date(site: Site) -> None:
    past = "Wed, 21 Oct 2015 07:28:00 GMT"
    site.server.script = [status(503, Retry_After=past), status(503, Retry_After="soon")]
    assert len(site.search()) == 10


def test_what_needs_credentials_says_so(site: Site) -> None:
    site.server.script = [status(401)]
    assert "Credentials are needed: name them under auth." in site.failure()


def test_redirects_in_a_circle_end(site: Site) -> None:
    site.server.script = [redirect("/moved")] * 20
    assert "more than 5 redirects" in site.failure(follow_redirects=True)
    assert len(site.server.seen) == 6


def test_a_server_that_is_away_for_a_while_is_waited_for() -> None:
    server = FaultyServer()
    with Serving(server.app) as serving:
        site = Site(server, serving)
        serving.stop()
        waking = threading.Timer(0.3, serving.start)
        waking.start()
        retries = {"attempts": 300, "wait_seconds": 0.02, "max_wait_seconds": 0.05}
        with site.engine(retries=retries) as engine:
            assert engine.search(question(), Settings(limit=1)) == ["d1"]
            assert engine.counters["not connected"] >= 1
        waking.join()


def test_a_server_that_stays_away_is_an_error_that_names_it() -> None:
    server = FaultyServer()
    with Serving(server.app) as serving:
        site = Site(server, serving)
        serving.stop()
        message = site.failure()
    assert f"POST {serving.url}/search: no connection" in message
    assert "after 3 attempts. Check the address, and that the server runs." in message


def test_a_redirect_is_not_followed_unless_that_is_wanted(site: Site) -> None:
    site.server.script = [redirect("/moved")]
    assert "HTTP 307 redirects to" in site.failure()
    assert [seen.path for seen in site.server.seen] == ["/search"]


def test_a_redirect_within_the_host_can_be_followed(site: Site) -> None:
    site.server.script = [redirect("/moved")]
    assert len(site.search(follow_redirects=True)) == 10
    assert [(seen.method, seen.path) for seen in site.server.seen] == [
        ("POST", "/search"),
        ("POST", "/moved"),
    ]


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_to_another_host_is_never_followed(site: Site, code: int) -> None:
    elsewhere = FaultyServer()
    with Serving(elsewhere.app) as other:
        site.server.script = [redirect(f"{other.url}/search", code)]
        message = site.failure(follow_redirects=True)
        assert f"redirects to {other.url}/search, which is not followed" in message
        assert elsewhere.seen == []


def test_a_question_too_long_for_an_address_is_an_error(site: Site) -> None:
    query = Query("q1", "s", "long " * 20_000, ())
    with pytest.raises(EngineError, match="a long question fits into a body only"):
        site.search(query, method="GET", body=None, params={"q": "{query}"})


def test_half_a_character_among_parameters_is_an_error(site: Site) -> None:
    query = Query("q1", "s", "half \ud83d", ())
    with pytest.raises(EngineError, match="a parameter is no text"):
        site.search(query, method="GET", body=None, params={"q": "{query}"})


def test_half_a_character_in_a_body_is_sent(site: Site) -> None:
    assert len(site.search(Query("q1", "s", "half \ud83d", ()))) == 10


def test_a_connection_that_takes_too_long_is_named_with_its_limit(site: Site) -> None:
    import httpx

    def never(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectTimeout("late", request=request)

    block = site.block(timeouts={"connect": 1.5})
    with (
        HttpEngine(block, as_of=NOW, transport=httpx.MockTransport(never)) as engine,
        pytest.raises(EngineError, match=r"no connection within 1\.5 s after 3 attempts"),
    ):
        engine.search(question(), Settings())


def test_retries_are_logged_without_more_than_address_and_reason(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.server.script = [status(503)]
    with caplog.at_level(logging.WARNING, "sweeper"):
        site.search()
    [record] = [r for r in caplog.records if r.name == "sweeper.engines.http_client"]
    assert "HTTP 503" in record.getMessage()


def test_an_engine_can_be_closed_twice_and_says_so_when_asked_again(site: Site) -> None:
    engine = site.engine()
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="closed"):
        engine.search(question(), Settings())


@pytest.fixture(scope="module")
def certified(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A key and a certificate for 127.0.0.1 that nobody trusts."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    folder = tmp_path_factory.mktemp("tls")
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subject = ("-subj", "/CN=sweeper test", "-addext", "subjectAltName=IP:127.0.0.1")
    files = ("-keyout", str(key), "-out", str(certificate))
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *subject, *files)
    subprocess.run([openssl, *made], check=True, capture_output=True)
    return key, certificate


def test_a_certificate_that_nobody_vouches_for_is_refused_at_once(
    certified: tuple[Path, Path],
) -> None:
    key, certificate = certified
    server = FaultyServer()
    with Serving(server.app, ssl_keyfile=str(key), ssl_certfile=str(certificate)) as serving:
        message = Site(server, serving).failure()
    assert "CERTIFICATE_VERIFY_FAILED" in message
    assert "give its PEM file as ca_file" in message
    assert server.seen == []


def test_a_private_authority_is_trusted_by_option(certified: tuple[Path, Path]) -> None:
    key, certificate = certified
    server = FaultyServer()
    with Serving(server.app, ssl_keyfile=str(key), ssl_certfile=str(certificate)) as serving:
        block = Site(server, serving).block()
        with HttpEngine(block, as_of=NOW, ca_file=certificate) as engine:
            assert engine.search(question(), Settings(limit=1)) == ["d1"]


# White box


def fused(
    vector: Sequence[tuple[str, float]], lexical: Sequence[str], rrf_k: int = 1
) -> list[dict[str, Any]]:
    """Return rows as a server that fuses the two channels would."""
    rows: dict[str, dict[str, Any]] = {}
    for place, (name, cosine) in enumerate(vector, start=1):
        row = rows.setdefault(name, {"id": name, "cosine": cosine, "score": 0.0, "signals": {}})
        row["signals"]["vector"] = place
        row["score"] += 1 / (rrf_k + place)
    for place, name in enumerate(lexical, start=1):
        row = rows.setdefault(name, {"id": name, "cosine": 0.0, "score": 0.0, "signals": {}})
        row["signals"]["lexical"] = place
        row["score"] += 1 / (rrf_k + place)
    return sorted(rows.values(), key=lambda row: -row["score"])


WHITE = {
    "channels": {"vector": "signals.vector", "lexical": "signals.lexical"},
    "values": {"vector": "cosine"},
    "score": "score",
    "item": "id",
    "window": 10,
}


def test_a_black_box_shows_no_candidates(site: Site) -> None:
    with site.engine() as engine:
        assert engine.channels == ()
        with pytest.raises(EngineError, match="black box"):
            engine.candidates([question()], 5)


def test_channels_are_put_together_from_the_ranks_of_one_answer(site: Site) -> None:
    site.server.rows = fused([("a", 0.9), ("b", 0.8), ("c", 0.1)], ["c", "d"])
    with site.engine(**WHITE) as engine:
        [found] = engine.candidates([question()], 3)
        ranked = rank(found, Settings(rrf_k=60, limit=3), channels=engine.channels)
    assert [(r.item_id, r.value) for r in found.rows[VECTOR, "document"]] == [
        ("a", 0.9),
        ("b", 0.8),
        ("c", 0.1),
    ]
    assert [r.item_id for r in found.rows[LEXICAL, "document"]] == ["c", "d"]
    assert [row.item_id for row in ranked] == ["c", "a", "b"]
    assert site.server.seen[0].body["size"] == 10


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"signals": {}}, "tells its rank in no channel"),
        ({"signals": {"vector": 0}}, "ranks are read as starting at 1"),
        ({"signals": {"vector": 1}}, "share rank 1 in the vector channel"),
        ({"signals": {"vector": 2.5}}, "no whole number at `signals.vector`"),
        ({"id": "a"}, "'a' is returned twice"),
        ({"cosine": None}, "no number at `cosine`"),
        ({"cosine": 0.95}, "the vector values contradict the vector ranks"),
        ({"score": 0.9}, "its ranks give"),
    ],
)
def test_ranks_that_cannot_be_are_an_error_that_says_why(
    site: Site, change: dict[str, Any], words: str
) -> None:
    site.server.rows = fused([("a", 0.9), ("b", 0.8)], [])
    site.server.rows[1].update(change)
    with site.engine(**WHITE) as engine, pytest.raises(EngineError) as caught:
        engine.candidates([question()], 3)
    assert words in str(caught.value)
    assert "'q1'" in str(caught.value)


def test_an_answer_that_was_cut_too_early_cannot_be_captured(site: Site) -> None:
    site.server.rows = fused([(f"v{n}", 0.9 - n / 100) for n in range(20)], ["x", "y"])
    with site.engine(**WHITE) as engine:
        engine.candidates([question()], 8)  # the window shows 8, and that the other channel ends
        with pytest.raises(EngineError, match="only 8 of the best 9 vector rows"):
            engine.candidates([question()], 9)


def test_few_rows_do_not_mean_all_rows_where_the_limit_is_not_sent(site: Site) -> None:
    site.server.rows = fused([("a", 0.9), ("b", 0.8)], ["b"])
    knobs = {"rrf_k": "rrf_k"}
    with site.engine(**WHITE, knobs=knobs) as engine, pytest.raises(EngineError, match="only 2 of"):
        engine.candidates([question()], 3)


def test_a_server_that_ignores_the_k_it_was_sent_is_found_out(site: Site) -> None:
    site.server.rows = fused([("a", 0.9), ("b", 0.8)], ["b"], rrf_k=60)
    with site.engine(**WHITE) as engine, pytest.raises(EngineError, match="rrf_k of 1 that was"):
        engine.candidates([question()], 3)


def test_what_was_answered_before_a_failure_is_not_asked_again(site: Site) -> None:
    site.server.rows = fused([("a", 0.9)], [])
    questions = [question(f"q{n}") for n in range(6)]
    with site.engine(**WHITE, n_threads=1) as engine:
        right = site.server.right
        site.server.script = [lambda seen: answer(right(seen))(seen)] * 4 + [status(400)]
        golden = GoldenSet(tuple(questions))
        pool = capture(golden, engine, depth=3)
    assert len(pool) == 6
    assert [seen.body["q"] for seen in site.server.seen] == [
        *(f"text of q{n}" for n in (0, 1, 2, 3, 4)),
        *("text of q4", "text of q5"),
    ]


def test_a_question_that_never_answers_fails_the_capture_by_name(site: Site) -> None:
    site.server.rows = fused([("a", 0.9)], [])

    def broken(seen: Any) -> Any:
        if seen.body["q"] == "text of q2":
            return status(400)(seen)
        return answer(site.server.right(seen))(seen)

    site.server.script = [broken] * 20
    golden = GoldenSet(tuple(question(f"q{n}") for n in range(5)))
    with (
        site.engine(**WHITE, n_threads=2) as engine,
        pytest.raises(EngineError, match="question 'q2'"),
    ):
        capture(golden, engine, depth=3)


# The config


CONFIG = """\
name: live
golden: golden.jsonl
engine:
  kind: http
  url: {url}/search
  body: {{q: "{{query}}"}}
  results: data.items
  id: id
  {line}
space: {{rrf_k: [5, 60]}}
"""


def written(folder: Path, url: str = "http://127.0.0.1:1", line: str = "knobs: {}") -> Path:
    path = folder / "live.yaml"
    path.write_text(CONFIG.format(url=url, line=line), "utf-8")
    return path


def test_a_config_opens_the_engine(site: Site, tmp_path: Path) -> None:
    config = load_config(written(tmp_path, site.serving.url))
    engine = open_engine(config, None, as_of=NOW, cache=tmp_path)
    assert isinstance(engine, HttpEngine)
    assert engine.search(question(), Settings(limit=1)) == ["d1"]
    engine.close()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('params: {x: "{qurey}"}', 'unknown placeholder "{qurey}". Did you mean "query"?'),
        ('params: {x: "{query"}', 'a single "{"'),
        ("params: {api_key: abc}", '"api_key" looks like a secret'),
        ("headers: {Authorization: Bearer abc}", '"Authorization" looks like a secret'),
        ("knobs: {rrf: k}", 'unknown knob "rrf". Did you mean "rrf_k"?'),
        ("knobs: {engine.window: w}", "engine.window is a key of the config"),
        ("ids: {document: id}", "give either id, or ids"),
        ("auth: {kind: bearer}", "give either token_env or token_file_env."),
        ("auth: {kind: basic, token_env: A}", "user_env belongs to kind basic"),
        ("auth: {kind: bearer, token: abc}", "unknown key."),
        ("method: GET", "a GET has no body."),
        ("values: {vector: cosine}", "values belong to channels"),
        ("pagination: {kind: page, size: 10}", '"{page}"'),
        ("pagination: {kind: cursor, size: 10}", "next belongs to kind cursor"),
        ("timeouts: {reed: 1}", 'unknown key. Did you mean "read"?'),
        ("n_threads: 0", "must be at least 1"),
    ],
)
def test_a_wrong_key_is_named_with_its_line(tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        load_config(written(tmp_path, line=line))
    message = str(caught.value)
    assert words in message
    assert "live.yaml:" in message
    assert "engine" in message
    assert "abc" not in message.replace("Bearer", "")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"id": None, "ids": {"document": "id"}}, "ids needs source_type"),
        ({"channels": {"a": "b"}, "values": {"c": "d"}}, "values names c, which is not among"),
        ({"body": {"x": 1}}, "the question is sent nowhere"),
        ({"url": "ftp://x"}, "must be an http(s) address"),
        ({"url": "http://x:port"}, "must be an http(s) address, such as https://"),
        ({"url": "http://x y/search"}, "may hold no space and no control character"),
        ({"body": {"q": "{query}", "in": [{"password": "p"}]}}, '"password" looks like a secret'),
    ],
)
def test_fields_that_do_not_go_together_are_refused(
    site: Site, fields: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError) as caught:
        site.block(**fields)
    assert words in str(caught.value)


def test_a_password_in_the_address_is_refused_without_repeating_it(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_config(written(tmp_path, url="http://ada:hunter2@127.0.0.1"))
    assert "engine.url: may hold no user, password, query or fragment" in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_wrong_expression_is_named(site: Site) -> None:
    with pytest.raises(InputError, match=r"engine\.results: `data\.\[` is no JMESPath"):
        site.engine(results="data.[")


def test_a_missing_authority_is_named(site: Site, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.pem: cannot be read as certificates"):
        HttpEngine(site.block(), as_of=NOW, ca_file=tmp_path / "no.pem")


def test_a_floor_needs_cosines(site: Site) -> None:
    knobs = {**KNOBS, "min_similarity": "floor"}
    with pytest.raises(ValidationError, match="min_similarity acts on cosines"):
        site.block(**{**WHITE, "values": {}}, knobs=knobs)
