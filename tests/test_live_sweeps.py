"""Sweeps over live engines: interrupted captures, partly shown questions, servers with faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sweeper.config import Config, load_config
from sweeper.corpus import Corpus
from sweeper.embedders import HashEmbedder
from sweeper.engines import EmbeddedEngine
from sweeper.engines.lexical import Match
from sweeper.errors import EngineError, InputError
from sweeper.formats import read_corpus
from sweeper.golden import ItemId, Key, Query, QueryId
from sweeper.pools import QueryCandidates
from sweeper.ranking import rank
from sweeper.settings import Settings
from sweeper.sweep import run_sweep
from tests.projects import assert_same_frames, invoke, write_project

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)


class Live(EmbeddedEngine):
    """The embedded engine as a live one: it may fail, and show too few candidates."""

    fingerprint = None  # type: ignore[assignment]
    n_threads = 1

    def __init__(self, corpus: Corpus, match: Match = "any") -> None:
        super().__init__(corpus, embedder=HashEmbedder(), as_of=AS_OF, match=match)
        self.asked: list[str] = []
        self.searched: list[tuple[str, str]] = []
        self.fails_at: int | None = None
        self.hidden: dict[QueryId, str] = {}

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        for query in queries:
            if self.fails_at is not None and len(self.asked) >= self.fails_at:
                raise EngineError("the connection was refused")
            self.asked.append(query.query_id)
        found = super().candidates(queries, depth)
        return [
            QueryCandidates(item.query_id, {key: rows[:1] for key, rows in item.rows.items()})
            if item.query_id in self.hidden
            else item
            for item in found
        ]

    @property
    def incomplete(self) -> dict[QueryId, str]:
        return {name: why for name, why in self.hidden.items() if name in self.asked}

    def search_keys(self, query: Query, settings: Settings) -> list[Key]:
        self.searched.append((query.query_id, settings.trial_id))
        [found] = super().candidates([query], settings.effective_depth)
        return [row.key for row in rank(found, settings, channels=self.channels)]

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        raise AssertionError("keys are what a sweep needs")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_project(tmp_path)


@pytest.fixture
def config(path: Path) -> Config:
    return load_config(path)


@pytest.fixture
def engine(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    found = Live(read_corpus(path.parent / "corpus.jsonl"))
    monkeypatch.setattr("sweeper.opening.open_engine", lambda *_, **__: found)
    monkeypatch.setattr(Live, "close", lambda self: None)
    yield found
    EmbeddedEngine.close(found)


def test_an_interrupted_capture_asks_only_what_is_missing(
    config: Config, engine: Live, tmp_path: Path
) -> None:
    engine.fails_at = 4
    with pytest.raises(EngineError, match="connection was refused"):
        run_sweep(config, root=tmp_path / "results")
    engine.fails_at = None
    kept = list(dict.fromkeys(engine.asked))
    assert kept == ["q1", "q2", "q3", "q4"]
    engine.asked.clear()
    results = run_sweep(config, root=tmp_path / "results").results
    assert engine.asked == ["q5", "q6"]
    straight = run_sweep(config, root=tmp_path / "straight").results
    assert_same_frames(straight.folder, results.folder)
    assert results.pool.digest == straight.pool.digest
    assert not list((tmp_path / "results").rglob("*.partial*"))


def test_a_live_pool_belongs_to_its_sweep(config: Config, engine: Live, tmp_path: Path) -> None:
    root = tmp_path / "results"
    run_sweep(config, root=root)
    assert len(engine.asked) == 6
    run_sweep(config, root=root)
    assert len(engine.asked) == 6
    run_sweep(load_config(config.path, ["space.rrf_k=[3]"]), root=root)
    assert len(engine.asked) == 12
    run_sweep(config, root=root, fresh=True)
    assert len(engine.asked) == 18


def test_questions_that_are_not_all_shown_are_searched_and_the_figures_are_right(
    config: Config, engine: Live, tmp_path: Path
) -> None:
    whole = run_sweep(config, root=tmp_path / "whole").results
    engine.hidden = {"q4": "rows are missing", "q5": "rows are missing"}
    engine.asked.clear()
    summary = run_sweep(config, root=tmp_path / "partly")
    results = summary.results
    assert results.kept.live_questions == ("q4", "q5")
    assert any("does not show all candidates of 2 of 6 questions" in text for text in summary.notes)
    assert {name for name, _ in engine.searched} == {"q4", "q5"}
    assert len(engine.searched) == len(set(engine.searched)) == 2 * len(results.trials)
    assert results.wide().equals(whole.wide())
    for number in range(len(whole.trials)):
        own, other = results.per_query(number), whole.per_query(number)
        assert own.drop(columns="positions").equals(other.drop(columns="positions"))
    engine.searched.clear()
    assert run_sweep(config, root=tmp_path / "partly").n_run == 0
    assert engine.searched == []


def test_commands_over_a_partly_shown_sweep_work_or_say_what_they_lack(
    config: Config, engine: Live, tmp_path: Path
) -> None:
    engine.hidden = {"q4": "rows are missing"}
    run_sweep(config, root=tmp_path)
    for command, code in (
        (("show", "small"), 0),
        (("compare", "small#0", "small#1"), 0),
        (("pick", "small"), 0),
        (("explain", "small", "q1"), 2),
        (("curve", "small", "--knob", "rrf_k"), 2),
    ):
        done = invoke(*command, "--results", tmp_path)
        assert done.exit_code == code, (command, done.stderr)
        if code:
            assert "too few candidates of 1 question" in done.stderr


def test_without_an_instant_an_interrupted_capture_keeps_the_ages_of_the_first(
    path: Path, engine: Live, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path.write_text(path.read_text("utf-8").replace("as_of: 2026-11-01T00:00:00Z\n", ""), "utf-8")
    asked = []

    def opened(config: Config, corpus: Corpus, *, as_of: datetime, cache: Path) -> Live:
        asked.append(as_of)
        found = Live(read_corpus(path.parent / "corpus.jsonl"))
        found._as_of = as_of
        found.fails_at = 4 if len(asked) == 1 else None
        return found

    monkeypatch.setattr("sweeper.opening.open_engine", opened)
    config = load_config(path)
    with pytest.raises(EngineError):
        run_sweep(config, root=tmp_path / "results")
    results = run_sweep(config, root=tmp_path / "results").results
    assert asked[-1] == asked[0]
    assert results.manifest["pool"]["provenance"]["as_of"] == asked[0].isoformat()


def test_which_questions_are_live_is_decided_for_each_engine(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: dict[str, Live] = {}

    def opened(config: Config, corpus: Corpus, *, as_of: datetime, cache: Path) -> Live:
        block: Any = config.file.engine
        found = Live(read_corpus(path.parent / "corpus.jsonl"), match=block.lexical.match)
        found.hidden = {"q4": "gone"} if block.lexical.match == "all" else {}
        made[block.lexical.match] = found
        return found

    monkeypatch.setattr("sweeper.opening.open_engine", opened)
    space = ["space={engine.lexical.match: [any, all], rrf_k: [1, 9]}", "table={}"]
    results = run_sweep(load_config(path, space), root=tmp_path / "partly").results
    assert made["any"].searched == []
    assert {name for name, _ in made["all"].searched} == {"q4"}
    made.clear()
    monkeypatch.undo()
    whole = run_sweep(load_config(path, space), root=tmp_path / "whole").results
    assert results.wide().equals(whole.wide())
    assert results.returned(3, "q4") == whole.returned(3, "q4")


# --- a real server, with faults -------------------------------------------------------------------

HTTP = """\
name: remote
golden: golden.jsonl
engine:
  kind: http
  url: {url}/search
  body: {{q: "{{query}}", size: "{{limit}}", k: "{{rrf_k}}"}}
  results: data.items
  id: id
  retries: {{attempts: 2, wait_seconds: 0.01, max_wait_seconds: 0.02}}
as_of: 2026-11-01T00:00:00Z
limit: 4
space: {{rrf_k: [1, 20]}}
metrics: [recall@1, mrr]
objectives: {{overall.mrr: maximize}}
"""


@pytest.fixture
def server() -> Iterator[tuple[Any, Any]]:
    pytest.importorskip("httpx", reason="the extra http is not installed")
    pytest.importorskip("starlette", reason="the test servers need starlette and uvicorn")
    from tests.faulty_server import FaultyServer
    from tests.serving import Serving

    rows = [{"id": name} for name in ("doc-rent", "doc-keys", "new-chair", "new-code")]
    app = FaultyServer(rows)
    serving = Serving(app.app)
    yield app, serving
    serving.stop()


def remote(folder: Path, url: str) -> Path:
    return write_project(folder, HTTP.format(url=url))


@pytest.mark.slow
def test_a_server_that_dies_for_a_while_costs_no_answer(
    tmp_path: Path, server: tuple[Any, Any]
) -> None:
    app, serving = server
    path = remote(tmp_path, serving.url)
    root = tmp_path / "results"
    whole = run_sweep(load_config(path), root=tmp_path / "whole").results

    app.seen.clear()
    app.script = [lambda seen: app_right(app, seen)] * 8 + [lambda seen: stopping(app)] * 50
    done = invoke("run", path, "--results", root)
    assert done.exit_code == 4
    assert "Traceback" not in done.stderr
    answered = 8
    serving.stop()
    down = invoke("run", path, "--results", root)
    assert down.exit_code == 4
    app.script = []
    app.seen.clear()
    serving.start()
    done = invoke("run", path, "--results", root)
    assert done.exit_code == 0, done.stderr
    assert len(app.seen) == 3 * 6 - answered
    assert "the engine was asked: 10 requests" in done.stderr
    from sweeper.results import load

    assert load("remote", root=root).wide().equals(whole.wide())


def test_a_dead_server_is_noticed_after_a_few_questions(
    tmp_path: Path, server: tuple[Any, Any]
) -> None:
    app, serving = server
    path = remote(tmp_path, serving.url)
    config = path.read_text("utf-8").replace(
        "  results: data.items", "  n_threads: 1\n  results: data.items"
    )
    path.write_text(config, "utf-8")
    app.script = [lambda seen: stopping(app)] * 500
    done = invoke("run", path, "--results", tmp_path / "results")
    assert done.exit_code == 4
    assert "answers no question" in done.stderr
    assert len(app.seen) <= 2 * 4, "three questions, each asked twice, are enough"


def test_a_knob_that_a_black_box_does_not_obey_is_noted(
    tmp_path: Path, server: tuple[Any, Any]
) -> None:
    _, serving = server
    done = invoke("run", remote(tmp_path, serving.url), "--results", tmp_path / "results")
    assert "rrf_k changes no answer: does the engine obey it?" in done.stderr


def app_right(app: Any, seen: Any) -> Any:
    from starlette.responses import JSONResponse

    return JSONResponse(app.right(seen))


def stopping(app: Any) -> Any:
    from starlette.responses import PlainTextResponse

    return PlainTextResponse("out of order", 503)


@pytest.mark.parametrize("fault", ["html", "truncated", "server error", "not found"])
def test_a_question_that_is_never_answered_fails_the_sweep_and_is_named(
    tmp_path: Path, server: tuple[Any, Any], fault: str
) -> None:
    from starlette.responses import HTMLResponse, PlainTextResponse, Response

    app, serving = server
    honest = app.right

    def broken(seen: Any) -> Any:
        return honest(seen)

    answers: dict[str, Callable[[], Any]] = {
        "html": lambda: HTMLResponse("<h1>Sign in</h1>"),
        "truncated": lambda: Response('{"data": {"items": [{"id"', media_type="application/json"),
        "server error": lambda: PlainTextResponse("boom", 500),
        "not found": lambda: PlainTextResponse("no", 404),
    }
    app.right = broken

    async def endpoint(seen: Any) -> Any:
        if seen.body["q"] == "door code":
            return answers[fault]()
        return app_right(app, seen)

    class Always(list[Any]):
        def __bool__(self) -> bool:
            return True

        def pop(self, *_: Any) -> Any:
            return endpoint

    app.script = Always()
    path = remote(tmp_path, serving.url)
    done = invoke("run", path, "--results", tmp_path / "results")
    assert done.exit_code == 4
    assert "q5" in done.stderr
    assert "Traceback" not in done.stderr
    from sweeper.results import load

    results = load("remote", root=tmp_path / "results")
    assert results.wide().isna().all().all(), "a missing answer is never a 0"
    with pytest.raises(InputError, match=r"no figures of trial #0 .* run tries it again"):
        results.compare(0, 0)


# --- gates over live engines ----------------------------------------------------------------------


class Restless(Live):
    """Answers one question otherwise at every third call."""

    calls = 0

    def candidates(self, queries: Sequence[Query], depth: int) -> list[QueryCandidates]:
        found = super().candidates(queries, depth)
        changed = []
        for item in found:
            if item.query_id == "q5":
                type(self).calls += 1
                if type(self).calls % 3 == 0:
                    item = QueryCandidates(item.query_id, {})
            changed.append(item)
        return changed


def test_a_gate_demands_more_than_the_noise_of_identical_calls(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Restless(read_corpus(path.parent / "corpus.jsonl"))
    monkeypatch.setattr("sweeper.opening.open_engine", lambda *_, **__: engine)
    monkeypatch.setattr(Live, "close", lambda self: None)
    baseline = tmp_path / "baseline.json"
    arguments = ("gate", path, "--baseline", baseline)
    try:
        Restless.calls = 0
        assert invoke(*arguments, "--update-baseline").exit_code == 0
        Restless.calls = 2  # the first of today's calls finds nothing for q5
        quiet = invoke(*arguments)
        assert quiet.exit_code == 0, quiet.stdout
        assert "noise" in quiet.stdout
        found = invoke(*arguments, "--json").document
        assert any(line["outcome"] in {"noise", "ok"} for line in found["lines"])
        engine.hidden = {"q1": "gone", "q2": "gone"}
        monkeypatch.setattr(Live, "search_keys", lambda self, query, settings: ["nothing"])
        fallen = invoke(*arguments)
        assert fallen.exit_code == 3
        assert "beyond the" in fallen.stderr or "fell from" in fallen.stderr
    finally:
        EmbeddedEngine.close(engine)


def test_a_gate_asks_a_black_box_and_names_what_it_does_not_answer(
    tmp_path: Path, server: tuple[Any, Any]
) -> None:
    app, serving = server
    path = remote(tmp_path, serving.url)
    arguments = ("gate", path, "--baseline", tmp_path / "baseline.json")
    assert invoke(*arguments, "--update-baseline").exit_code == 0
    assert len(app.seen) == 3 * 6
    assert invoke(*arguments).exit_code == 0
    app.rows.reverse()
    lower = invoke(*arguments)
    assert lower.exit_code == 3
    assert "behind new-code" in lower.stdout
    app.script = [lambda seen: stopping(app)] * 500
    down = invoke(*arguments)
    assert down.exit_code == 4
    assert "Traceback" not in down.stderr


def test_check_asks_a_live_engine_only_when_told_to(
    path: Path, engine: Live, tmp_path: Path
) -> None:
    said = invoke("check", path, "--results", tmp_path / "results")
    assert said.exit_code == 0
    assert engine.asked == []
    assert "only with --capture" in said.stderr
    asked = invoke("check", path, "--results", tmp_path / "results", "--capture")
    assert len(engine.asked) == 6
    assert "captured rows" in asked.stdout
    run_sweep(load_config(path), root=tmp_path / "results")
    assert len(engine.asked) == 6, "the sweep takes what was captured for it"
