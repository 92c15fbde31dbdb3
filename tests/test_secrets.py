"""A planted secret appears in no output: messages, chains, reprs, provenance, logs, configs."""

from __future__ import annotations

import json
import logging
import traceback
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

pytest.importorskip("httpx", reason="the extra http is not installed")
pytest.importorskip("starlette", reason="the test servers need starlette and uvicorn")

from sweeper.capture import capture
from sweeper.config import load_config
from sweeper.embedders import OpenAIEmbedder
from sweeper.engines.http import HttpEngine
from sweeper.engines.soat import SoatEngine
from sweeper.errors import InputError, SweeperError
from sweeper.golden import GoldenSet, Query
from sweeper.http_blocks import HttpBlock, SoatBlock
from sweeper.settings import Settings
from tests.faulty_server import FaultyServer, Seen, answer, late, redirect, status, text
from tests.serving import Serving

NOW = datetime(2026, 11, 1, tzinfo=UTC)
# Its parts hold letters past "f": no port, date or digest can spell one of them by chance.
SECRET = 's3cr3t/"token"+w4x7yz'
SPELLINGS = (SECRET, quote(SECRET, safe=""), json.dumps(SECRET)[1:-1], "s3cr3t", "w4x7yz")
QUESTION = Query("q1", "s", "harbor", ("d1",))
QUICK = {"attempts": 2, "wait_seconds": 0.001, "max_wait_seconds": 0.01}
AUTHS: dict[str, dict[str, str]] = {
    "bearer": {"kind": "bearer", "token_env": "PLANTED"},
    "basic": {"kind": "basic", "token_env": "PLANTED", "user_env": "SEARCHER"},
    "header": {"kind": "header", "token_env": "PLANTED", "header": "X-Search-Key"},
    "file": {"kind": "bearer", "token_file_env": "PLANTED_FILE"},
}


@pytest.fixture
def planted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "token.txt").write_text(SECRET, "utf-8")
    monkeypatch.setenv("PLANTED", SECRET)
    monkeypatch.setenv("SOAT_API_TOKEN", SECRET)
    monkeypatch.setenv("SEARCHER", "ada")
    monkeypatch.setenv("PLANTED_FILE", str(tmp_path / "token.txt"))


@pytest.fixture(scope="module")
def running() -> Iterator[tuple[FaultyServer, Serving]]:
    server = FaultyServer()
    with Serving(server.app) as serving:
        yield server, serving


def credentials(seen: Seen) -> str:
    return seen.headers.get("authorization") or seen.headers["x-search-key"]


def repeats(code: int) -> Callable[[Seen], Any]:
    """Return a fault that repeats the credentials that came, as careless servers do."""
    return lambda seen: text(f"no right for {credentials(seen)}", "text/plain", code)(seen)


def repeats_in_a_row(seen: Seen) -> Any:
    return answer({"data": {"items": [{"key": credentials(seen)}]}})(seen)


def repeats_as_json(seen: Seen) -> Any:
    return answer({credentials(seen): 1})(seen)


FAULTS: dict[str, Any] = {
    "401": repeats(401),
    "422": repeats(422),
    "503": repeats(503),
    "html": lambda seen: text(f"<p>{credentials(seen)}</p>", "text/html")(seen),
    "torn": lambda seen: text(f'{{"{credentials(seen)}": ')(seen),
    "row": repeats_in_a_row,
    "keys": repeats_as_json,
    "redirect": lambda seen: redirect(f"/{quote(credentials(seen))}")(seen),
    "late": late(0.8),
    "busy": status(500),
}


def everything_of(error: BaseException) -> str:
    """Return all that an error says: with its causes, contexts, notes and attributes."""
    texts = traceback.format_exception(error)
    chain: BaseException | None = error
    while chain is not None:
        texts += [repr(chain), repr(vars(chain)), *map(repr, chain.args)]
        chain = chain.__cause__ or chain.__context__
    return "\n".join(texts)


def assert_unseen(*texts: str) -> None:
    for said in texts:
        for spelling in SPELLINGS:
            assert spelling not in said


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("auth", AUTHS)
@pytest.mark.usefixtures("planted")
def test_no_failure_repeats_the_credentials(
    running: tuple[FaultyServer, Serving], caplog: pytest.LogCaptureFixture, fault: str, auth: str
) -> None:
    server, serving = running
    server.seen.clear()
    server.script = [FAULTS[fault]] * 2
    block = HttpBlock.model_validate(
        {
            "kind": "http",
            "url": f"{serving.url}/search",
            "body": {"q": "{query}"},
            "results": "data.items",
            "id": "id",
            "auth": AUTHS[auth],
            "retries": QUICK,
            "timeouts": {"read": 0.3},
            "follow_redirects": False,
        }
    )
    with caplog.at_level(logging.DEBUG), HttpEngine(block, as_of=NOW) as engine:
        with pytest.raises(SweeperError) as caught:
            engine.search(QUESTION, Settings())
        said = (repr(engine), str(engine.provenance), str(engine.counters), repr(vars(engine)))
    server.script.clear()
    assert credentials(server.seen[0]), "the credentials did go to the server"
    # A response's headers are in httpcore's own debug log, where a server may repeat anything.
    hidden = "httpcore" if fault == "redirect" else "nothing"
    logged = [r.getMessage() + repr(r.args) for r in caplog.records if hidden not in r.name]
    assert_unseen(everything_of(caught.value), *said, *logged)


@pytest.mark.usefixtures("planted")
def test_a_capture_of_soat_holds_no_credentials(
    running: tuple[FaultyServer, Serving], caplog: pytest.LogCaptureFixture
) -> None:
    server, serving = running
    row = {
        "source_type": "memory",
        "memory_id": "m1",
        "score": 0.5,
        "signals": {"vector": 1},
        "similarity_score": 0.5,
    }
    server.script = [status(503), answer({"results": [row]})]
    block = SoatBlock.model_validate(
        {"kind": "soat", "base_url": serving.url + "/api/v1", "retries": QUICK}
    )
    with caplog.at_level(logging.DEBUG), SoatEngine(block, as_of=NOW) as engine:
        pool = capture(GoldenSet((QUESTION,)), engine, depth=5)
    assert server.seen[-1].headers["authorization"] == f"Bearer {SECRET}"
    assert_unseen(str(pool.provenance), repr(pool), caplog.text, *map(repr, caplog.records))


@pytest.mark.usefixtures("planted")
def test_the_embedder_repeats_no_key_either(running: tuple[FaultyServer, Serving]) -> None:
    server, serving = running
    server.script = [repeats(401)]
    embedder = OpenAIEmbedder(f"{serving.url}/search", "m", api_key_env="PLANTED", attempts=1)
    with pytest.raises(SweeperError) as caught:
        embedder.embed(["text"])
    embedder.close()
    server.script.clear()
    assert_unseen(everything_of(caught.value), repr(embedder))


@pytest.mark.parametrize(
    "line",
    [
        f"headers: {{X-Api-Key: '{SECRET}'}}",
        f"params: {{access_token: '{SECRET}'}}",
        f"auth: {{kind: bearer, token: '{SECRET}'}}",
        f"token: '{SECRET}'",
        f"url: 'http://ada:{SECRET}@127.0.0.1/search'",
        f"url: 'http://127.0.0.1/search?key={SECRET}'",
    ],
)
def test_a_secret_in_a_config_is_refused_and_not_repeated(tmp_path: Path, line: str) -> None:
    path = tmp_path / "live.yaml"
    url = "" if line.startswith("url") else "url: http://127.0.0.1/search, "
    engine = f"kind: http, {url}body: {{q: '{{query}}'}}, results: items, id: id, {line}"
    path.write_text(f"name: x\ngolden: g.jsonl\nengine: {{{engine}}}\n", "utf-8")
    with pytest.raises(InputError) as caught:
        load_config(path)
    assert_unseen(everything_of(caught.value))
