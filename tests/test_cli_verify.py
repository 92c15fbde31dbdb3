"""``sweep verify``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sweeper.engines import Engine, open_engine
from sweeper.errors import EngineError
from sweeper.golden import ItemId, Key, Query
from sweeper.settings import Settings
from sweeper.store import read_manifest, write_manifest
from tests.faulty_engine import FaultyEngine
from tests.projects import CONFIG, Done, invoke, sweeps, write_project

BLACK_BOX = """\
name: box
golden: golden.jsonl
engine: {kind: python, call: "search_to_verify:search", path: ., knobs: [rrf_k]}
current: {rrf_k: 60}
space: {rrf_k: [1, 60]}
metrics: [mrr]
objectives: {fresh.mrr: maximize}
"""
OWN_SEARCH = """\
import json
from pathlib import Path

def search(query, settings):
    found = json.loads(Path(__file__).with_name("answer.json").read_text())
    return found if settings["rrf_k"] > 10 else found[::-1]
"""


@pytest.fixture(scope="module")
def config(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = write_project(tmp_path_factory.mktemp("verify"))
    done = invoke("run", path, "--results", path.parent / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    return path


def verify(config: Path, *options: object, name: str = "small") -> Done:
    return invoke("verify", name, "--results", config.parent / "results", *options)


def instead(
    monkeypatch: pytest.MonkeyPatch, search: Callable[[Engine, Query, Settings], list[ItemId]]
) -> None:
    """Let the engine of the config search otherwise."""

    def open_faulty(*arguments: Any, **options: Any) -> Engine:
        engine = open_engine(*arguments, **options)
        return FaultyEngine(engine, lambda query, own: search(engine, query, own))

    monkeypatch.setattr("sweeper.opening.open_engine", open_faulty)


def test_an_honest_engine_agrees_and_the_table_says_what_was_compared(config: Path) -> None:
    done = verify(config)
    assert done.exit_code == 0, done.stderr
    assert "the embedded engine against the replay" in done.stdout
    [row] = [line.split() for line in done.stdout.splitlines() if line.startswith("current")]
    assert row == ["current", "6", "6", "0"]
    assert "answers equal the replay, position by position." in done.stdout
    assert "The embedded engine ranks with the code that replay uses" in done.stdout


def test_markdown_is_a_table(config: Path) -> None:
    assert "| --- |" in verify(config, "--markdown").stdout


def test_json_holds_every_check_and_is_kept_beside_the_sweep(config: Path) -> None:
    document = verify(config, "--json", "--settings", "rrf_k=5,limit=3").document
    assert document["schema"] == "sweep.verify/1"
    assert document["agrees"] is True
    assert [check["name"] for check in document["checks"]][:2] == ["current", "rrf_k=5,limit=3"]
    assert document["checks"][1]["settings"]["limit"] == 3
    [folder] = sweeps(config.parent / "results")
    kept = json.loads((folder / "verify.json").read_text(encoding="utf-8"))
    del document["sweeper"]
    assert kept == document


def test_knobs_may_be_changed_from_any_trial(config: Path) -> None:
    document = verify(config, "--json", "--settings", "limit=3", "--trial", "1").document
    shown = invoke("show", "small", "--results", config.parent / "results", "--trial", "1")
    assert shown.exit_code == 0
    settings = document["checks"][1]["settings"]
    assert settings["limit"] == 3
    assert settings["rrf_k"] == 1


def test_a_trial_and_what_was_picked_can_be_checked(config: Path) -> None:
    refused = verify(config, "--settings", "picked")
    assert refused.exit_code == 2
    assert "nothing was picked yet. Run: sweep pick small/" in refused.stderr
    assert invoke("pick", "small", "--results", config.parent / "results").exit_code == 0
    done = verify(config, "--json", "--settings", "picked", "--settings", "#2", "--questions", "4")
    names = [check["name"] for check in done.document["checks"]]
    assert "#2" in names
    assert done.document["checks"][0]["n_questions"] == 4


def test_a_mismatch_is_exit_7_with_the_first_difference_and_both_rows(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(engine: Engine, query: Query, own: Settings) -> list[ItemId]:
        return engine.search(query, own)[::-1]

    instead(monkeypatch, search)
    done = verify(config)
    assert done.exit_code == 7
    assert "answers differ from the replay." in done.stderr
    assert "First difference under current: rrf_k=60" in done.stdout
    assert "At position 1 the engine has" in done.stdout
    assert "replay has" in done.stdout
    printed = verify(config, "--json")
    assert printed.exit_code == 7
    document = json.loads(printed.stdout)
    assert document["agrees"] is False
    first = document["checks"][0]["differences"][0]
    assert first["live_row"]["ranks"]
    assert first["replayed_row"]["position"] == first["position"]


def test_an_ignored_knob_is_named_and_is_exit_7(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(engine: Engine, query: Query, own: Settings) -> list[ItemId]:
        return engine.search(query, own.with_values({"recency_half_life_days": 0}))

    instead(monkeypatch, search)
    done = verify(config)
    assert done.exit_code == 7
    assert "recency_half_life_days: the engine gives the same answers at 7 and at off" in (
        done.stdout
    )


def test_a_failing_engine_is_exit_4_and_says_what_was_compared(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def search(engine: Engine, query: Query, own: Settings) -> list[ItemId]:
        if query.query_id == "q3":
            raise EngineError("503 from the server.")
        return engine.search(query, own)

    instead(monkeypatch, search)
    done = verify(config)
    assert done.exit_code == 4
    assert "question 'q3': 503 from the server. 2 answers were compared before" in done.stderr


def test_a_black_box_is_compared_with_what_it_answered_before(tmp_path: Path) -> None:
    path = write_project(tmp_path, BLACK_BOX)
    (tmp_path / "search_to_verify.py").write_text(OWN_SEARCH, encoding="utf-8")
    answer = tmp_path / "answer.json"
    answer.write_text('["doc-rent", "new-chair"]', encoding="utf-8")
    done = invoke("run", path, "--results", tmp_path / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    done = verify(path, "--settings", "0", name="box")
    assert done.exit_code == 0, done.stderr
    assert "All 12 answers equal what the sweep has, position by position." in done.stdout
    assert "this proves that they repeat, and nothing more." in done.stdout
    unknown = verify(path, "--settings", "rrf_k=7", name="box")
    assert unknown.exit_code == 2
    assert "it was never asked under rrf_k=7" in unknown.stderr
    answer.write_text('["doc-boat", "new-chair"]', encoding="utf-8")
    changed = verify(path, name="box")
    assert changed.exit_code == 7
    assert "6 of 6 answers differ from what the sweep has." in changed.stderr
    assert "At position 1 the engine has doc-boat, expected was doc-rent." in changed.stdout
    sys.modules.pop("search_to_verify")


class Partly(FaultyEngine):
    """Shows too few candidates of one question, and names rows in its answers as sweeps do."""

    incomplete: ClassVar = {"q4": "rows are missing"}

    def search(self, query: Query, settings: Settings) -> list[ItemId]:
        raise AssertionError("the sweep kept keys")

    def search_keys(self, query: Query, settings: Settings) -> list[Key]:
        return [item.partition("@")[0] for item in super().search(query, settings)]


def test_a_partly_shown_engine_is_compared_with_replay_or_with_what_it_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def opened(*arguments: Any, **options: Any) -> Engine:
        engine = open_engine(*arguments, **options)
        return Partly(engine, engine.search)

    path = write_project(tmp_path)
    monkeypatch.setattr("sweeper.opening.open_engine", opened)
    done = invoke("run", path, "--results", tmp_path / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    done = verify(path, "--settings", "0")
    assert done.exit_code == 0, done.stderr
    assert "All 12 answers equal what the sweep has, position by position." in done.stdout
    assert "The engine does not show all candidates of one question." in done.stdout


def test_a_corpus_that_changed_since_is_told(tmp_path: Path) -> None:
    path = write_project(tmp_path)
    assert invoke("run", path, "--results", tmp_path / "results", "--no-plots").exit_code == 0
    with (tmp_path / "corpus.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "doc-new", "text": "the rent of the shed, the keys, the boat club"}\n')
    done = verify(path)
    assert done.exit_code == 7
    assert "the pool lacks 'doc-new@0'" in done.stdout
    assert "since the sweep ran, these changed: corpus, engine." in done.stdout


def test_an_older_sweep_asks_for_its_config(tmp_path: Path) -> None:
    path = write_project(tmp_path)
    assert invoke("run", path, "--results", tmp_path / "results", "--no-plots").exit_code == 0
    [folder] = sweeps(tmp_path / "results")
    parts = read_manifest(folder).items()
    write_manifest(folder, {name: part for name, part in parts if name != "config_path"})
    refused = verify(path)
    assert refused.exit_code == 2
    assert "Give its config with --config" in refused.stderr
    assert verify(path, "--config", path).exit_code == 0


def test_a_sweep_that_was_run_with_set_is_verified_with_set(tmp_path: Path) -> None:
    path = write_project(tmp_path, CONFIG)
    changed = ("--set", "limit=3")
    done = invoke("run", path, "--results", tmp_path / "results", "--no-plots", *changed)
    assert done.exit_code == 0
    refused = verify(path)
    assert refused.exit_code == 2
    assert "has changed since (limit)" in refused.stderr
    assert verify(path, *changed).exit_code == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--questions", "0"), "--questions: must be a number of at least 1, or all, got '0'."),
        (("--questions", "ten"), "--questions: must be a number of at least 1, or all"),
        (("--settings", "#99"), "has no trial '#99'"),
        (("--settings", "rrf_q=5"), 'unknown knob "rrf_q"'),
        (("--settings", "limit=50"), "the candidates reach down to 4 only"),
        (("--config", "missing.yaml"), "missing.yaml"),
    ],
)
def test_wrong_options_are_one_message(config: Path, options: tuple[str, ...], said: str) -> None:
    done = verify(config, *options)
    assert done.exit_code == 2
    assert said in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("text", ["{", "[]", '{"chosen": {"settings": {"rrf_k": -1}}}'])
def test_a_damaged_pick_is_told(tmp_path: Path, text: str) -> None:
    path = write_project(tmp_path)
    assert invoke("run", path, "--results", tmp_path / "results", "--no-plots").exit_code == 0
    [folder] = sweeps(tmp_path / "results")
    (folder / "pick.json").write_text(text, encoding="utf-8")
    done = verify(path, "--settings", "picked")
    assert done.exit_code == 2
    assert "Run sweep pick again." in done.stderr
