"""Whole sweeps of every kind: samplers, arms, captures, engines that show nothing, odd spaces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sweeper import fanout as work
from sweeper.config import Config, load_config
from sweeper.errors import InputError
from sweeper.results import Results, load
from sweeper.settings import Settings
from sweeper.store import read_manifest
from sweeper.sweep import Summary, run_sweep
from tests.projects import assert_same_frames, invoke, write_project

HALF_LIFE = "recency_half_life_days"
WIDE = [
    "space={rrf_k: {low: 1, high: 200}, min_similarity: {low: -0.2, high: 0.6, also: [none]}, "
    "recency_half_life_days: {low: 1, high: 5000, log: true, also: [off]}}",
    "objectives={fresh.mrr: maximize, entity.mrr: maximize}",
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_project(tmp_path)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "results"


def loaded(path: Path, *overrides: str) -> Config:
    return load_config(path, overrides)


def sampled(path: Path, kind: str, n_trials: int = 40, **more: Any) -> Config:
    extra = "".join(f", {name}: {value}" for name, value in more.items())
    return loaded(path, *WIDE, f"sampler={{kind: {kind}, n_trials: {n_trials}{extra}}}")


class _InterruptedError(Exception):
    pass


def interrupted_after(config: Config, root: Path, count: int) -> None:
    def stop(step: str, done: int, total: int) -> None:
        if step == "replay" and done >= count:
            raise _InterruptedError

    with pytest.raises(_InterruptedError):
        run_sweep(config, root=root, progress=stop)


# --- samplers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["random", "qmc", "tpe", "nsga2"])
def test_a_budget_adds_so_many_settings_to_todays(path: Path, root: Path, kind: str) -> None:
    results = run_sweep(sampled(path, kind), root=root).results
    trials = results.trials
    assert len(trials) == results.manifest["n_trials"] == 41
    assert trials["in_space"].sum() in {40, 41}
    assert trials["trial_id"].is_unique
    assert trials["param_rrf_k"].nunique() > 20


@pytest.mark.parametrize("kind", ["random", "tpe", "nsga2"])
@pytest.mark.parametrize("count", [1, 17, 30])
def test_an_interrupted_budget_is_completed_with_the_same_frames(
    path: Path, root: Path, kind: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "_CHUNK_TRIAL_QUERIES", 1)
    config = sampled(path, kind)
    straight = run_sweep(config, root=root / "straight").results
    interrupted_after(config, root / "stopped", count)
    resumed = run_sweep(config, root=root / "stopped")
    assert 0 < resumed.n_run <= 41 - count
    assert_same_frames(straight.folder, resumed.results.folder)


@pytest.mark.parametrize("kind", ["tpe", "nsga2"])
def test_resumed_trials_have_the_weights_and_stores_that_were_proposed(
    path: Path, root: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "_CHUNK_TRIAL_QUERIES", 1)
    config = loaded(
        path,
        "current={weights.vector: 2, stores: memory}",
        "space={weights.vector: [0.5, 1, 2], stores: [all, memory, document], "
        "rrf_k: {low: 1, high: 90}}",
        f"sampler={{kind: {kind}, n_trials: 40}}",
    )
    straight = run_sweep(config, root=root / "straight").results
    interrupted_after(config, root / "stopped", 25)
    assert_same_frames(straight.folder, run_sweep(config, root=root / "stopped").results.folder)
    assert {item.weight("vector") for item in straight.settings} == {0.5, 1.0, 2.0}


def test_a_budget_is_not_added_to_by_the_tables_line(path: Path, root: Path) -> None:
    config = loaded(
        path,
        "space={recency_half_life_days: {low: 1, high: 3000, step: 1}}",
        "sampler={kind: random, n_trials: 10}",
    )
    assert len(run_sweep(config, root=root).results.trials) == 11


def test_no_trials_are_todays_setting_alone(path: Path, root: Path) -> None:
    for kind in ("random", "tpe"):
        results = run_sweep(sampled(path, kind, n_trials=0), root=root / kind).results
        assert results.trials["is_current"].tolist() == [True]


def test_a_sampler_begins_with_the_settings_of_an_earlier_sweep(path: Path, root: Path) -> None:
    earlier = run_sweep(loaded(path, "name=earlier", WIDE[1]), root=root).results
    later = run_sweep(sampled(path, "tpe", n_trials=16, warm_start="earlier"), root=root).results
    space = sampled(path, "tpe").space
    inside = [item for item in earlier.settings if item in space]
    assert len(inside) > 3
    assert set(inside) <= set(later.settings[: len(inside) + 1])
    assert len(later.trials) == 16 + len(inside)


def test_an_earlier_sweep_that_is_not_there_is_named(path: Path, root: Path) -> None:
    for name, message in (("nowhere", "no sweep 'nowhere'"), ("small", "is this sweep itself")):
        with pytest.raises(InputError, match=message):
            run_sweep(sampled(path, "tpe", warm_start=name), root=root)
    assert not root.exists(), "what is refused leaves nothing behind"


def test_an_earlier_sweep_that_changed_makes_another_sweep(path: Path, root: Path) -> None:
    run_sweep(loaded(path, "name=earlier", WIDE[1]), root=root)
    config = sampled(path, "tpe", n_trials=4, warm_start="earlier")
    first = run_sweep(config, root=root).results
    assert run_sweep(config, root=root).n_run == 0
    run_sweep(loaded(path, "name=earlier", WIDE[1], "space.rrf_k=[3]"), root=root)
    second = run_sweep(config, root=root)
    assert second.results.folder != first.folder
    assert any("changed since" in text for text in second.notes)


def test_an_objective_that_is_undefined_does_not_stop_a_sampler(path: Path, root: Path) -> None:
    # No question of this slice has an MRR: the figure is undefined for every setting.
    config = loaded(
        path, *WIDE[:1], "objectives={nothing.abstention: maximize}", "metrics=[abstention, mrr]",
        "plots=[]", "table.columns=[nothing.abstention]",
        "constraints=['overall.mrr >= 2']", "sampler={kind: tpe, n_trials: 20}",
    )  # fmt: skip
    results = run_sweep(config, root=root).results
    assert len(results.trials) == 21
    assert not results.trials["feasible"].any()


def test_a_constraint_that_nothing_meets_is_said_by_pick(path: Path, root: Path) -> None:
    run_sweep(loaded(path), root=root)
    done = invoke(
        "pick", "small", "--results", root, "--subject-to", "overall.mrr >= 2",
    )  # fmt: skip
    assert done.exit_code == 6


@pytest.mark.parametrize(
    ("sampler", "size"), [("{kind: random, n_trials: 12}", 13), ("{kind: tpe, n_trials: 12}", 13)]
)
def test_a_budget_takes_a_space_of_any_size(
    path: Path, root: Path, sampler: str, size: int
) -> None:
    big = (
        "space={rrf_k: {low: 1, high: 1000, step: 1}, limit: {low: 1, high: 1000, step: 1}, "
        "weights.vector: {low: 0.001, high: 1, step: 0.001}, "
        "weights.lexical: {low: 0.001, high: 1, step: 0.001}}"
    )
    with pytest.raises(InputError, match=r"space: 1000000000000 combinations .* give a budget"):
        loaded(path, big)
    config = loaded(path, big, f"sampler={sampler}", "table={}")
    assert len(run_sweep(config, root=root).results.trials) >= size


# --- arms -----------------------------------------------------------------------------------------


def test_arms_are_found_by_name_and_equal_ones_are_noted(path: Path, root: Path) -> None:
    arms = "arms={short: {recency_half_life_days: 7}, same: {rrf_k: 60}, again: {rrf_k: 60.0}}"
    summary = run_sweep(loaded(path, arms), root=root)
    assert "arm same is the same as the current settings." in summary.notes
    results = summary.results
    assert results.settings[results.trial("short")].recency_half_life_days == 7
    assert invoke("compare", "small#current", "small#short", "--results", root).exit_code == 0
    assert "short" in results.labels()


@pytest.mark.parametrize("name", ["today", "current", "12", "0123456789ab", "' '"])
def test_an_arm_needs_a_name_of_its_own(path: Path, name: str) -> None:
    with pytest.raises(InputError, match="needs a name of its own"):
        loaded(path, f"arms={{{name!s}: {{rrf_k: 3}}}}")


def test_arms_are_tried_beside_the_space_or_instead_of_it(path: Path, root: Path) -> None:
    arms = "arms={old: {recency_half_life_days: 7}, memories: {stores: memory}}"
    beside = run_sweep(loaded(path, arms), root=root).results
    assert len(beside.trials) == 18 + 3 + 1  # the half-life of 7 is on the line
    alone = run_sweep(loaded(path, arms, "space={}", "table={}"), root=root).results
    assert alone.trials["arm"].tolist()[1:] == ["old", "memories"]
    assert [item.stores for item in alone.settings] == ["all", "all", "memory"]
    shown = invoke("show", "small", "--results", root).stdout
    assert "Named settings" in shown
    assert "What each arm moves in MRR" in shown
    assert "stores memory" in shown


def test_arms_do_not_hide_what_a_sampler_found(path: Path, root: Path) -> None:
    config = [*WIDE, "arms={low: {rrf_k: 1}}", "sampler={kind: tpe, n_trials: 8}"]
    results = run_sweep(loaded(path, *config), root=root).results
    shown = invoke("show", results.address, "--results", root).stdout
    assert "Named settings" in shown
    assert "Best trade-offs between" in shown


def test_an_arm_that_searches_memories_alone_finds_no_document(path: Path, root: Path) -> None:
    config = loaded(path, "arms={memories: {stores: memory}}", "space={}", "table={}")
    results = run_sweep(config, root=root).results
    wide = results.wide(["entity.recall@1", "fresh.mrr"])
    assert wide["entity.recall@1"].tolist()[1] == 0
    assert wide["fresh.mrr"].tolist()[1] > 0
    explained = invoke("explain", f"{results.address}", "q1", "--trial", "1", "--results", root)
    assert explained.exit_code == 0
    assert "doc-rent is retrieved by no channel" in " ".join(explained.stdout.split())


# --- knobs that decide what is retrieved ----------------------------------------------------------

CAPTURE = (
    "space={engine.lexical.match: [any, all], engine.embedder.dimensions: [64, 1024], "
    "rrf_k: [5, 60]}"
)


def test_knobs_of_the_engine_make_a_pool_each_and_their_figures_are_those_of_single_sweeps(
    path: Path, root: Path
) -> None:
    summary = run_sweep(loaded(path, CAPTURE, "table={}"), root=root)
    results = summary.results
    assert summary.n_captured == len(results.kept.pool_files) == 4
    assert results.trials["param_engine.lexical.match"].tolist()[0] == "any"
    for match in ("any", "all"):
        for size in (64, 1024):
            single = run_sweep(
                loaded(
                    path,
                    f"engine.lexical.match={match}",
                    f"engine.embedder={{kind: hash, dimensions: {size}}}",
                    "space={rrf_k: [5, 60]}",
                    "table={}",
                ),
                root=root / f"{match}{size}",
            ).results
            for number, item in enumerate(results.settings):
                own = (item.get("engine.lexical.match"), item.get("engine.embedder.dimensions"))
                if own == (match, size):
                    other = [s.rrf_k for s in single.settings].index(item.rrf_k)
                    own_figures, other_figures = results.wide(), single.wide()
                    assert own_figures.iloc[number].tolist() == pytest.approx(
                        other_figures.iloc[other].tolist(), abs=0, nan_ok=True
                    )


def test_commands_read_a_sweep_over_several_pools(path: Path, root: Path) -> None:
    results = run_sweep(loaded(path, CAPTURE, "table={}"), root=root).results
    other = next(
        n for n, s in enumerate(results.settings) if s.get("engine.lexical.match") == "all"
    )
    address = results.address
    for command in (
        ("show", address),
        ("show", f"{address}#{other}", "--queries"),
        ("compare", f"{address}#0", f"{address}#{other}"),
        ("explain", address, "q3", "--trial", str(other)),
        ("curve", address, "--knob", "rrf_k", "--trial", str(other)),
        ("pick", address),
        ("plot", address, "--x", "entity.mrr", "--y", "fresh.mrr", "--out", str(root / "p.png")),
        ("show", address, "--ties"),
        ("show", address, "--judging"),
    ):
        done = invoke(*command, "--results", root)
        assert done.exit_code in {0, 5}, (command, done.stderr)


def test_a_knob_beside_one_that_holds_it_is_refused(path: Path) -> None:
    space = (
        "space={engine.embedder: [{kind: hash, dimensions: 64}], engine.embedder.dimensions: [32]}"
    )
    with pytest.raises(InputError, match=r"is a part of engine\.embedder, which is a knob too"):
        loaded(path, space, "table={}")


def test_steps_of_a_key_of_the_engine_are_checked_like_any_value(path: Path, root: Path) -> None:
    stepped = "space={engine.embedder.dimensions: {low: 512, high: 1024, step: 512}}"
    results = run_sweep(loaded(path, stepped, "table={}"), root=root).results
    assert results.trials["param_engine.embedder.dimensions"].tolist() == [512, 1024]
    assert len(results.kept.pool_files) == 2
    with pytest.raises(InputError, match="does not take -64"):
        loaded(path, stepped.replace("low: 512", "low: -64").replace("step: 512", "step: 1088"))


def test_keys_that_change_nothing_are_noted(path: Path, root: Path) -> None:
    summary = run_sweep(
        loaded(path, "space={engine.chunking.size: [300, 600]}", "table={}"), root=root
    )
    assert any("retrieve what another one does" in text for text in summary.notes)


def test_engines_that_no_trial_asks_are_not_opened(
    path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sweeper import opening

    opened = []
    honest: Any = vars(opening)["open_engine"]

    def counted(config: Config, *rest: Any, **more: Any) -> Any:
        opened.append(config.file.engine)
        return honest(config, *rest, **more)

    monkeypatch.setattr(opening, "open_engine", counted)
    sizes = ", ".join(map(str, range(16, 1024, 8)))
    config = loaded(
        path, f"space={{engine.embedder.dimensions: [{sizes}], rrf_k: [1, 2]}}", "table={}",
        "sampler={kind: random, n_trials: 3}",
    )  # fmt: skip
    run_sweep(config, root=root)
    assert len(opened) <= 4


def test_two_spellings_of_a_block_are_one_value(path: Path, root: Path) -> None:
    space = "space={engine.chunking: [whole, {kind: whole}, {kind: whole, size: 1000}, section]}"
    config = loaded(path, space, "table={}")
    assert len(config.space.choices["engine.chunking"]) == 2
    results = run_sweep(config, root=root).results
    assert len(results.trials) == 2


@pytest.mark.parametrize(
    ("space", "message"),
    [
        ("{engine.lexical.match: [some]}", "does not take 'some' as engine.lexical.match"),
        ("{engine.corpus: [other.jsonl]}", "a sweep has one corpus"),
        ("{engine.nothing: [1]}", "does not take 1 as engine.nothing"),
        ("{engine.embedder.dimensions: {low: 8, high: 64}}", "each value is a capture"),
    ],
)
def test_a_knob_that_the_engine_lacks_is_refused(path: Path, space: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        loaded(path, f"space={space}", "table={}")


# --- engines that show no candidates --------------------------------------------------------------


class BlackBox:
    """Answers from fixed lists; counts and fails as its test asks."""

    channels: tuple[str, ...] = ()
    fingerprint = None
    n_threads = 2
    knobs = frozenset({"rrf_k", "limit"})

    def __init__(self) -> None:
        self.asked: list[tuple[str, int]] = []
        self.fails: set[str] = set()

    @property
    def provenance(self) -> dict[str, Any]:
        return {"kind": "fake"}

    def candidates(self, queries: Any, depth: int) -> Any:
        raise AssertionError("a black box is not asked for candidates")

    def search(self, query: Any, settings: Settings) -> list[str]:
        from sweeper.errors import EngineError

        if query.query_id in self.fails or "all" in self.fails:
            raise EngineError("no answer")
        self.asked.append((query.query_id, settings.rrf_k))
        found = ["doc-rent", "doc-keys", "new-chair", "new-code", "doc-oven"]
        return found[settings.rrf_k % 3 :][: settings.limit]

    def close(self) -> None:
        pass


@pytest.fixture
def box(monkeypatch: pytest.MonkeyPatch) -> BlackBox:
    engine = BlackBox()
    monkeypatch.setattr("sweeper.opening.open_engine", lambda *_, **__: engine)
    return engine


BOX = ("space={rrf_k: [1, 2, 3]}", "table={}", "current={rrf_k: 60}", "depth=null")


def boxed(path: Path, root: Path, *more: str) -> Summary:
    return run_sweep(loaded(path, *BOX, *more), root=root)


def test_a_black_box_is_asked_each_question_once_per_setting(
    path: Path, root: Path, box: BlackBox
) -> None:
    summary = boxed(path, root)
    assert len(box.asked) == len(set(box.asked)) == 4 * 6
    results = summary.results
    assert results.kept.pool_files == {}
    assert results.wide(["entity.recall@1"])["entity.recall@1"].round(4).tolist() == [
        0.3333, 0.0, 0.3333, 0.3333,
    ]  # fmt: skip
    assert len(results.per_query(1)) == 6
    assert boxed(path, root).n_run == 0
    assert len(box.asked) == 24


def test_commands_over_a_black_box_work_or_say_what_they_lack(
    path: Path, root: Path, box: BlackBox
) -> None:
    boxed(path, root)
    for command, code in (
        (("show", "small"), 0),
        (("show", "small#1", "--queries"), 0),
        (("compare", "small#0", "small#1"), 0),
        (("pick", "small"), 0),
        (("explain", "small", "q1"), 2),
        (("curve", "small", "--knob", "rrf_k"), 2),
        (("show", "small", "--ties"), 2),
    ):
        done = invoke(*command, "--results", root)
        assert done.exit_code == code, (command, done.stdout, done.stderr)
        if code:
            assert "shows no candidates" in done.stderr


def test_a_question_without_an_answer_fails_its_settings_and_is_asked_again(
    path: Path, root: Path, box: BlackBox
) -> None:
    box.fails = {"q2"}
    summary = boxed(path, root)
    assert len(summary.failed) == 4
    assert "1 of the questions were not answered ('q2': no answer)" in summary.failed[0].error
    assert summary.results.figures["value"].isna().all()
    box.fails = set()
    box.asked.clear()
    again = boxed(path, root)
    assert again.failed == ()
    assert sorted(box.asked) == [("q2", k) for k in (1, 2, 3, 60)]


def test_an_engine_that_is_down_stops_the_sweep_and_keeps_what_it_said(
    path: Path, root: Path, box: BlackBox
) -> None:
    from sweeper.errors import EngineError

    box.fails = {"all"}
    with pytest.raises(EngineError, match="the engine answers no question"):
        boxed(path, root)
    box.fails = set()
    assert boxed(path, root).failed == ()


def test_a_knob_that_a_black_box_is_not_told_is_refused(
    path: Path, root: Path, box: BlackBox
) -> None:
    with pytest.raises(InputError, match=r"space\.min_similarity: the engine is not told"):
        boxed(path, root, "space={min_similarity: [none, 0.1]}")


def test_results_say_what_kind_of_sweep_they_are(path: Path, root: Path) -> None:
    results = run_sweep(loaded(path), root=root).results
    assert isinstance(load("small", root=root), Results)
    assert read_manifest(results.folder)["pools"][""]["channels"] == ["vector", "lexical"]
