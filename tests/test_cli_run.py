"""``sweep run``: the table, the notes, the files, and each form of output."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.projects import CONFIG, frames, invoke, sweeps, write_project


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return write_project(tmp_path)


@pytest.fixture
def results(tmp_path: Path) -> Path:
    return tmp_path / "results"


def test_the_table_marks_the_current_setting_and_every_file_exists(
    config: Path, results: Path
) -> None:
    done = invoke("run", config, "--results", results)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0].startswith("By recency half-life, with rrf_k = 60")
    assert lines[4].split()[:3] == ["off", "(current)", "0.5000"]
    files = [Path(line.strip()) for line in lines if line.startswith("  ") and "." in line[-9:-2]]
    named = [path for path in files if path.is_absolute()]
    assert {path.suffix for path in named} == {".parquet", ".md", ".png", ".svg"}
    assert all(path.is_file() for path in named)
    assert invoke("run", config, "--results", results).stdout == done.stdout


def test_the_document_has_a_stable_shape(config: Path, results: Path) -> None:
    found = invoke("run", config, "--results", results, "--json", "--no-plots").document
    [folder] = sweeps(results)
    assert list(found) == [
        *("sweeper", "schema", "sweep", "folder", "n_trials", "n_queries"),
        *("current", "line", "front", "arms", "moves", "files"),
    ]
    assert found["schema"] == "sweep.run/1"
    assert found["sweep"] == f"small/{folder.name}"
    assert (found["n_trials"], found["n_queries"]) == (21, 6)
    assert found["files"] == []
    line = found["line"]
    assert [row["recency_half_life_days"] for row in line] == [0, 7, 30.5]
    assert [row["is_current"] for row in line] == [True, False, False]
    assert line[0]["trial"] == found["current"]
    assert set(line[0]) == {
        *("trial", "is_current", "feasible", "recency_half_life_days"),
        *("fresh.mrr", "entity.mrr", "overall.mrr"),
    }
    assert set(found["front"][0]) == {
        *("trial", "is_current", "feasible", "rrf_k", "min_similarity"),
        *("recency_half_life_days",),
        *("fresh.mrr", "entity.mrr", "overall.mrr", "better", "worse"),
    }


def test_markdown_is_the_tables_alone(config: Path, results: Path) -> None:
    done = invoke("run", config, "--results", results, "--markdown", "--no-plots")
    rows = [line for line in done.stdout.splitlines() if line.startswith("|")]
    assert rows[0] == "| half-life | fresh MRR | entity MRR | overall MRR |"
    assert "results" not in done.stdout


def test_a_dry_run_counts_and_writes_nothing(config: Path, results: Path) -> None:
    found = invoke("run", config, "--results", results, "--dry-run", "--json").document
    assert found["schema"] == "sweep.plan/1"
    assert (found["captures"], found["requests"], found["settings"]) == (1, 6, 21)
    shown = invoke("run", config, "--results", results, "--dry-run")
    assert "settings to run" in shown.stdout
    assert not results.exists()


def test_overrides_change_the_sweep_and_the_change_is_noted(config: Path, results: Path) -> None:
    invoke("run", config, "--results", results, "--no-plots")
    done = invoke(
        *("run", config, "--results", results, "--no-plots"),
        *("--set", "space.rrf_k=[3]", "--set", "limit=3"),
    )
    assert done.exit_code == 0
    assert "changed since" in done.stderr
    assert done.stderr.rstrip().endswith("limit, space.")
    assert len(sweeps(results)) == 2


def test_fresh_repeats_it(config: Path, results: Path) -> None:
    invoke("run", config, "--results", results, "--no-plots")
    done = invoke("run", config, "--results", results, "--no-plots", "--fresh")
    assert "it repeats" in done.stderr
    first, second = (frames(folder) for folder in sweeps(results))
    assert first["figures"].equals(second["figures"])


@pytest.mark.parametrize("jobs", ["0", "-2"])
def test_a_number_of_jobs_that_makes_no_sense_is_refused(config: Path, jobs: str) -> None:
    done = invoke("run", config, "--jobs", jobs)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"--jobs: must be at least 1, or -1 for every core, got {jobs}.\n"


def test_quiet_leaves_data_alone_and_verbose_adds_detail(config: Path, results: Path) -> None:
    done = invoke("run", config, "--results", results, "--no-plots", "-q")
    assert done.stderr == ""
    assert done.stdout
    done = invoke("run", config, "--results", results, "--no-plots", "-v")
    assert "0 settings replayed, 21 kept from before" in done.stderr


def test_a_path_with_spaces_and_other_letters_will_do(tmp_path: Path) -> None:
    folder = tmp_path / "my séarch 🚢"
    config = write_project(folder)
    done = invoke("run", config, "--results", folder / "out put", "--no-plots")
    assert done.exit_code == 0
    assert len(sweeps(folder / "out put")) == 1


def test_a_missing_import_names_the_command_that_makes_it(tmp_path: Path) -> None:
    config = CONFIG.replace(
        "golden: golden.jsonl", "golden: {path: gone.jsonl, made_by: sweep import soat X}"
    )
    done = invoke("run", write_project(tmp_path, config))
    assert done.exit_code == 2
    assert done.stderr == (
        f"{tmp_path}/gone.jsonl: there is no such file. Make it with: sweep import soat X\n"
    )


@pytest.mark.parametrize("name", ["recency", "soat-halflife"])
def test_the_bundled_configs_are_valid(tmp_path: Path, name: str) -> None:
    from sweeper.config import load_config

    path = Path(__file__).parent.parent / "configs" / f"{name}.yaml"
    assert load_config(path).name == name
