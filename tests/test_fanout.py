"""Fan-out: backends that agree, workers that die, work that takes too long."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from sweeper import fanout as work
from sweeper.config import Config, load_config
from sweeper.errors import EngineError, IncompleteError, InputError
from sweeper.fanout import Done, Fanout
from sweeper.golden import GoldenSet, Query
from sweeper.metrics import Metric, parse_metrics
from sweeper.pools import Candidate, Pool, QueryCandidates
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.sweep import run_sweep
from tests.processes import Killing
from tests.projects import assert_same_frames, write_project

METRICS = parse_metrics(["mrr", "recall@5"])
ON_ITS_OWN = [Settings(rrf_k=k, recency_half_life_days=h) for k in range(1, 9) for h in (0, 30)]


def replay() -> Replay:
    rows = [Candidate(f"m{n}", f"m{n}", "memory", 1 - n / 10, 10.0 * n) for n in range(6)]
    other = [rows[n]._replace(value=float(n)) for n in (5, 4, 2)]
    pool = Pool.from_candidates(
        [
            QueryCandidates(f"q{n}", {("vector", "memory"): rows, ("lexical", "memory"): other})
            for n in range(3)
        ],
        channels=("vector", "lexical"),
        depth=10,
    )
    return Replay(pool, GoldenSet(tuple(Query(f"q{n}", "s", "text", (f"m{n}",)) for n in range(3))))


def never() -> bool:
    return False


def figures(found: Sequence[Done]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for done in found:
        assert done.value is not None
        told.update(zip((item.text for item in done.settings), done.value.tolist(), strict=True))
    return told


@pytest.fixture(scope="module")
def plain() -> dict[str, Any]:
    return figures(list(Fanout().run(replay(), METRICS, ON_ITS_OWN, never)))


def test_the_default_is_a_plain_loop_in_this_process() -> None:
    found = list(Fanout(n_jobs=4).run(replay(), METRICS, ON_ITS_OWN, never))
    assert {done.process for done in found} == {os.getpid()}
    assert [item for done in found for item in done.settings] == ON_ITS_OWN


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_every_backend_gives_the_same_figures(backend: work.Backend, plain: dict[str, Any]) -> None:
    found = list(Fanout(backend, n_jobs=2).run(replay(), METRICS, ON_ITS_OWN, never))
    assert figures(found) == plain
    assert (os.getpid() in {done.process for done in found}) == (backend != "loky")


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_what_runs_is_finished_and_the_rest_left_when_asked_to_stop(backend: work.Backend) -> None:
    many = [Settings(rrf_k=k) for k in range(1, 400)]
    seen: list[Done] = []
    for done in Fanout(backend, n_jobs=2).run(replay(), METRICS, many, lambda: len(seen) > 0):
        seen.append(done)
    assert all(done.value is not None for done in seen)
    if backend != "sequential":
        assert 0 < sum(len(done.settings) for done in seen) < len(many)


def test_a_cluster_needs_an_address_and_an_address_a_cluster() -> None:
    with pytest.raises(InputError, match="needs a scheduler"):
        Fanout("dask")
    with pytest.raises(InputError, match="of use to the backend dask alone"):
        Fanout("loky", scheduler="tcp://127.0.0.1:1")


# --- failures -------------------------------------------------------------------------------------


class Nasty(Replay):
    """A replay that does to some settings whatever its test asks for."""

    def __init__(self, deed: Callable[[Settings], None]) -> None:
        base = replay()
        self.__dict__.update(base.__dict__)
        self.deed = deed

    def figures(self, settings: Sequence[Settings], metrics: Sequence[Metric]) -> Any:
        for item in settings:
            self.deed(item)
        return super().figures(settings, metrics)


def fails(item: Settings) -> None:
    if item.rrf_k == 3:
        raise MemoryError("no room for it")


def dies(item: Settings) -> None:
    if item.rrf_k == 3:
        os.kill(os.getpid(), signal.SIGKILL)


def hangs(item: Settings) -> None:
    if item.rrf_k == 3:
        time.sleep(60)


def outcome(fanout: Fanout, deed: Callable[[Settings], None]) -> tuple[int, dict[int, str]]:
    """Return how many settings have figures, and the errors by ``rrf_k``."""
    found = list(fanout.run(Nasty(deed), METRICS, ON_ITS_OWN[::2], never))
    errors = {item.rrf_k: d.error for d in found for item in d.settings if d.error is not None}
    return sum(len(d.settings) for d in found if d.value is not None), errors


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky"])
def test_an_error_costs_its_own_settings_alone_and_is_told(backend: work.Backend) -> None:
    n_done, errors = outcome(Fanout(backend, n_jobs=2), fails)
    assert n_done == 7
    assert errors == {3: "MemoryError: no room for it"}


@pytest.mark.slow
def test_settings_that_kill_their_worker_every_time_are_found_and_told() -> None:
    n_done, errors = outcome(Fanout("loky", n_jobs=2), dies)
    assert n_done == 7
    assert errors == {
        3: "its worker process died each time (killed by the system, perhaps for lack of memory)"
    }


@pytest.mark.parametrize("backend", ["sequential", pytest.param("loky", marks=pytest.mark.slow)])
def test_settings_that_take_too_long_are_told_and_the_others_run(backend: work.Backend) -> None:
    seconds = 0.2 if backend == "sequential" else 4.0
    n_done, errors = outcome(Fanout(backend, n_jobs=2, timeout_seconds=seconds), hangs)
    assert n_done == 7
    assert errors == {3: f"it took longer than {seconds:g} seconds"}


def test_a_chunk_has_the_time_of_one_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    n_done, errors = outcome(Fanout("sequential", timeout_seconds=0.3), hangs)
    assert (n_done, list(errors)) == (7, [3])


def test_time_spent_by_whoever_keeps_the_results_is_not_counted() -> None:
    found = []
    for done in Fanout("sequential", timeout_seconds=0.2).run(replay(), METRICS, ON_ITS_OWN, never):
        time.sleep(0.3)
        found.append(done)
    assert all(done.error is None for done in found)


def test_one_job_obeys_the_timeout_whatever_the_backend() -> None:
    _, errors = outcome(Fanout("loky", n_jobs=1, timeout_seconds=0.3), hangs)
    assert list(errors) == [3]
    with pytest.raises(InputError, match="a thread cannot be stopped"):
        Fanout("threading", n_jobs=2, timeout_seconds=1)


@pytest.mark.parametrize("address", ["foo", "", "127.0.0.1:8786", "tcp://"])
def test_an_address_that_is_none_is_refused_at_once(address: str) -> None:
    with pytest.raises(InputError, match="a scheduler has an address such as tcp://"):
        Fanout("dask", scheduler=address)


# --- whole sweeps ---------------------------------------------------------------------------------

FULL = bool(os.environ.get("SWEEPER_FULL"))


def many(folder: Path, n_trials: int) -> Config:
    return load_config(write_project(folder), [f"space={{rrf_k: {list(range(1, n_trials + 1))}}}"])


@pytest.fixture
def single_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_CHUNK_TRIAL_QUERIES", 1)


@pytest.mark.usefixtures("single_steps")
def test_workers_killed_at_random_lose_and_repeat_nothing(tmp_path: Path) -> None:
    config = many(tmp_path, 500 if FULL else 120)
    one = run_sweep(config, root=tmp_path / "one")
    jobs = 16 if FULL else 4
    grew = Growing(tmp_path / "other")
    with Killing(40 if FULL else 6, pause=lambda _: 0.005, due=grew) as killing:
        other = run_sweep(config, root=tmp_path / "other", fanout=Fanout("loky", n_jobs=jobs))
    assert killing.count >= (10 if FULL else 2)
    assert other.failed == ()
    assert other.n_run == len(other.results.trials) == len(one.results.trials)
    assert_same_frames(one.results.folder, other.results.folder)


class Growing:
    """Says whether a sweep's journal grew since it last said so."""

    def __init__(self, root: Path) -> None:
        self._root, self._seen = root, 0

    def __call__(self) -> bool:
        size = sum(path.stat().st_size for path in self._root.glob("*/*/journal.jsonl"))
        grew, self._seen = size > self._seen, max(size, self._seen)
        return grew


def test_failed_settings_are_listed_kept_apart_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = many(tmp_path, 8)
    honest = Replay.figures

    def failing(self: Replay, settings: Sequence[Settings], metrics: Sequence[Metric]) -> Any:
        for item in settings:
            fails(item)
        return honest(self, settings, metrics)

    monkeypatch.setattr(Replay, "figures", failing)
    summary = run_sweep(config, root=tmp_path / "results")
    [failure] = summary.failed
    assert failure.trial.settings.rrf_k == 3
    assert str(failure).endswith("MemoryError: no room for it")
    trials = summary.results.trials
    assert trials["status"].tolist().count("failed") == 1
    assert trials.loc[trials["status"] == "failed", "error"].tolist() == [failure.error]
    assert summary.results.manifest["status"] == "incomplete"
    assert failure.trial.number not in summary.results.pareto()["number"].tolist()

    monkeypatch.setattr(Replay, "figures", honest)
    again = run_sweep(config, root=tmp_path / "results")
    assert (again.n_run, again.failed) == (1, ())
    straight = run_sweep(config, root=tmp_path / "straight").results
    assert_same_frames(again.results.folder, straight.folder)


def test_all_settings_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(self: Replay, settings: Sequence[Settings], metrics: Sequence[Metric]) -> Any:
        raise MemoryError

    monkeypatch.setattr(Replay, "figures", failing)
    summary = run_sweep(many(tmp_path, 3), root=tmp_path / "results")
    assert [item.error for item in summary.failed] == ["MemoryError"] * 4
    assert summary.results.figures["value"].isna().all()


def test_fail_fast_stops_at_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "_CHUNK_TRIAL_QUERIES", 1)
    honest = Replay.figures

    def failing(self: Replay, settings: Sequence[Settings], metrics: Sequence[Metric]) -> Any:
        for item in settings:
            fails(item)
        return honest(self, settings, metrics)

    monkeypatch.setattr(Replay, "figures", failing)
    with pytest.raises(IncompleteError, match=r"#2 rrf_k=3 .*no room(.|\n)*6 more settings were"):
        run_sweep(many(tmp_path, 8), root=tmp_path / "results", fail_fast=True)


# --- a cluster ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
    with distributed.LocalCluster(
        **options, dashboard_address=None, host="127.0.0.1", silence_logs="ERROR"
    ) as found:
        yield found.scheduler_address


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_of_two_processes_gives_the_frames_of_every_other_backend(
    tmp_path: Path, cluster: str
) -> None:
    config = many(tmp_path, 60)
    plain = run_sweep(config, root=tmp_path / "plain")
    ways = {
        "loky": Fanout("loky", n_jobs=2),
        "threading": Fanout("threading", n_jobs=2),
        "sequential": Fanout("sequential"),
        "dask": Fanout("dask", scheduler=cluster),
    }
    for name, fanout in ways.items():
        found = run_sweep(config, root=tmp_path / name, fanout=fanout)
        assert_same_frames(plain.results.folder, found.results.folder)
        assert found.n_processes >= 1


def test_a_scheduler_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed", reason="the extra `dask` is not installed")

    def refuse(address: str, **_: Any) -> None:
        raise OSError("Timed out")

    monkeypatch.setattr(distributed, "Client", refuse)
    with pytest.raises(EngineError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"):
        list(
            Fanout("dask", scheduler="tcp://127.0.0.1:9").run(replay(), METRICS, ON_ITS_OWN, never)
        )
