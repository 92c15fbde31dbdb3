"""``kill -9`` at any moment, then the same command: the tables of an undisturbed run."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sweeper.results import Results
from tests.projects import CONFIG, assert_same_frames, leftovers, shell, sweeps, write_project

BIG = CONFIG.replace("rrf_k: [1, 20]", f"rrf_k: {list(range(1, 201))}")
SLOWED = """
import sys
from sweeper import fanout
fanout._CHUNK_TRIAL_QUERIES = 600  # many small steps, so that kills fall between them
from sweeper.cli import main
main()
"""
SLOWER = SLOWED.replace(
    "main()",
    """import time
replayed = fanout._replayed
def slowly(*given):
    time.sleep(0.1)  # or it may be over before it is interrupted
    return replayed(*given)
fanout._replayed = slowly
main()""",
)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """Return a finished sweep's folder and how long it took."""
    folder = tmp_path_factory.mktemp("whole")
    config = write_project(folder, BIG)
    started = time.perf_counter()
    process = shell("run", config, "--no-plots", "--results", folder / "results", code=SLOWED)
    _, said = process.communicate(timeout=120)
    assert process.returncode == 0, said
    [found] = sweeps(folder / "results")
    return found, time.perf_counter() - started


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.35, 0.55, 0.8, *random.Random(2).choices(range(100), k=20)])
def test_a_killed_sweep_is_completed_by_the_same_command(
    tmp_path: Path, undisturbed: tuple[Path, float], moment: float
) -> None:
    whole, seconds = undisturbed
    share = moment if moment < 1 else moment / 100
    config = write_project(tmp_path, BIG)
    results = tmp_path / "results"
    process = shell("run", config, "--no-plots", "--results", results, code=SLOWED)
    time.sleep(share * seconds)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    again = shell("run", config, "--no-plots", "--results", results, code=SLOWED)
    _, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    [folder] = sweeps(results)
    assert Results(folder).manifest["status"] == "complete"
    assert_same_frames(whole, folder)
    assert leftovers(results) == []
    names = {path.relative_to(folder) for path in folder.rglob("*")}
    assert names == {path.relative_to(whole) for path in whole.rglob("*")}


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(
    tmp_path: Path, undisturbed: tuple[Path, float]
) -> None:
    whole, _ = undisturbed
    config = write_project(tmp_path, BIG)
    results = tmp_path / "results"
    process = shell("run", config, "--no-plots", "--results", results, code=SLOWER)
    deadline = time.monotonic() + 60
    while not list(results.glob("*/*/journal.jsonl")):
        assert time.monotonic() < deadline
        assert process.poll() is None, "it ended before it could be interrupted"
        time.sleep(0.002)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    again = shell("run", config, "--no-plots", "--results", results, code=SLOWED)
    _, said = again.communicate(timeout=120)
    assert again.returncode == 0, said
    assert_same_frames(whole, sweeps(results)[0])
    assert leftovers(results) == []


@pytest.mark.slow
def test_ctrl_c_twice_stops_at_once_and_the_same_command_goes_on(tmp_path: Path) -> None:
    config = write_project(tmp_path)
    results = tmp_path / "results"
    process = shell("run", config, "--no-plots", "--results", results, code=ENDLESS)
    deadline = time.monotonic() + 60
    while not list(results.glob("*/*/journal.jsonl")):
        assert time.monotonic() < deadline
        assert process.poll() is None
        time.sleep(0.01)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(1)  # it finishes what runs, which here takes for ever
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "the same command goes on from there" in said
    assert "Traceback" not in said
    again = shell("run", config, "--no-plots", "--results", results)
    _, said = again.communicate(timeout=120)
    assert again.returncode == 0, said


ENDLESS = """
import time
from sweeper import fanout
replayed = fanout._replayed
def endless(*arguments):
    time.sleep(600)
    return replayed(*arguments)
fanout._replayed = endless
from sweeper.cli import main
main()
"""


@pytest.mark.slow
def test_of_two_equal_commands_at_once_one_is_refused(tmp_path: Path) -> None:
    config = write_project(tmp_path)
    results, go_on = tmp_path / "results", tmp_path / "go on"
    code = HELD.replace("GO_ON", repr(str(go_on)))
    both = [shell("run", config, "--no-plots", "--results", results, code=code) for _ in range(2)]
    deadline = time.monotonic() + 120
    while all(process.poll() is None for process in both):
        assert time.monotonic() < deadline, "neither was refused"
        time.sleep(0.01)
    go_on.touch()
    said = [process.communicate(timeout=120)[1] for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 4], said
    assert "is running this sweep. Wait for it or stop it" in said[codes.index(4)]
    [folder] = sweeps(results)
    assert Results(folder).manifest["status"] == "complete"


HELD = """
import time
from pathlib import Path
from sweeper import sweep
finish = sweep._Work.finish
def held(*arguments):
    while not Path(GO_ON).exists():
        time.sleep(0.01)
    return finish(*arguments)
sweep._Work.finish = held
from sweeper.cli import main
main()
"""
