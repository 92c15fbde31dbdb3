"""What the how-to pages hand out for other programs: a workflow, hooks, completion, a cluster."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.pages import PROJECT, Block, blocks_of, commands_of

BIN = Path(sys.executable).absolute().parent


def blocks(page: str, language: str) -> list[Block]:
    found = blocks_of((PROJECT / "docs" / page).read_text("utf-8"))
    return [block for block in found if block.language == language]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(PROJECT / "configs", folder / "configs", ignore=shutil.ignore_patterns("soat"))
    return folder


def sh(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a step of a workflow is run, with ``sweep`` on the path."""
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=folder,
        env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", **variables},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def change(folder: Path, half_life: str) -> None:
    """Let another half-life run today."""
    path = folder / "configs/recency.yaml"
    text = path.read_text("utf-8")
    changed = re.sub(r"(current: .*recency_half_life_days: )\w+", rf"\g<1>{half_life}", text)
    assert changed != text
    path.write_text(changed, "utf-8")


# --- GitHub Actions -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def workflow() -> dict[str, Any]:
    [block] = [b for b in blocks("gate.md", "yaml") if b.file and b.file.startswith(".github")]
    # BaseLoader: YAML 1.1 reads the key `on` as true, and GitHub does not.
    found: dict[str, Any] = yaml.load(block.text, yaml.BaseLoader)
    return found


def test_the_workflow_is_one_that_github_would_accept(workflow: dict[str, Any]) -> None:
    assert set(workflow) == {"name", "on", "permissions", "jobs"}
    [job] = workflow["jobs"].values()
    assert {"runs-on", "timeout-minutes", "steps"} == set(job)
    for step in job["steps"]:
        assert set(step) <= {"name", "uses", "with", "run", "if", "env"}
        assert ("uses" in step) != ("run" in step)
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"])


@pytest.mark.slow
def test_the_workflow_decides_by_the_exit_code(
    workflow: dict[str, Any], project: Path, tmp_path: Path
) -> None:
    [job] = workflow["jobs"].values()
    steps = {step["name"]: step["run"] for step in job["steps"] if "run" in step}
    assert list(steps) == ["Install", "Gate", "Report"]
    summary = tmp_path / "summary.md"

    def gate() -> subprocess.CompletedProcess[str]:
        summary.unlink(missing_ok=True)
        return sh(steps["Gate"], project, GITHUB_STEP_SUMMARY=str(summary))

    assert gate().returncode == 2  # no baseline: a gate that did not run has not passed
    made = sh("sweep gate configs/recency.yaml --update-baseline", project)
    assert made.returncode == 0, made.stderr
    done = gate()
    assert (done.returncode, done.stdout) == (0, "")
    assert "pass" in summary.read_text("utf-8")
    change(project, "365")
    done = gate()
    assert done.returncode == 3
    assert done.stdout.startswith("::error title=retrieval gate::")
    assert "entity" in summary.read_text("utf-8")
    undecided = tmp_path / "bin/sweep"
    undecided.parent.mkdir()
    undecided.write_text("#!/bin/sh\nexit 5\n", "utf-8")
    undecided.chmod(0o755)
    path = f"{undecided.parent}{os.pathsep}{os.environ['PATH']}"
    done = sh(steps["Gate"], project, GITHUB_STEP_SUMMARY=str(summary), PATH=path)
    assert (done.returncode, done.stdout[:9]) == (0, "::warning")
    # The step that posts a comment is made of the same file.
    [comment] = yaml.safe_load(blocks("gate.md", "yaml")[1].text)
    assert "--body-file gate.md" in comment["run"]


@pytest.mark.slow
def test_the_workflow_keeps_what_the_report_step_writes(
    workflow: dict[str, Any], project: Path
) -> None:
    [job] = workflow["jobs"].values()
    [report] = [step["run"] for step in job["steps"] if step.get("name") == "Report"]
    done = sh(report, project)
    assert done.returncode == 0, done.stderr
    upload = job["steps"][-1]["with"]["path"].split()
    assert upload == ["gate.md", "results/recency/"]
    assert list(project.glob("results/recency/*/report.html"))
    [cache] = [step["with"] for step in job["steps"] if "cache@" in step.get("uses", "")]
    assert (project / cache["path"].split()[0]).is_dir()


# --- pre-commit -----------------------------------------------------------------------------------

_MANIFEST = PROJECT / ".pre-commit-hooks.yaml"
# https://pre-commit.com/#creating-new-hooks
_REQUIRED = {"id", "name", "entry", "language"}
_OPTIONAL = {"description", "files", "types", "args", "pass_filenames", "always_run"}


def test_the_manifest_for_pre_commit_follows_its_rules() -> None:
    hooks = yaml.safe_load(_MANIFEST.read_text("utf-8"))
    assert [hook["id"] for hook in hooks] == ["sweep-check", "sweep-gate"]
    for hook in hooks:
        assert _REQUIRED <= set(hook) <= _REQUIRED | _OPTIONAL
        assert hook["language"] == "python"
        assert hook["entry"].split()[0] == "sweep"
        assert hook["pass_filenames"] is False
        assert hook["always_run"] is True  # deleted files are never named to a hook


@pytest.mark.slow
def test_hooks_for_pre_commit_run_and_stop_a_regression(project: Path) -> None:
    made = sh("sweep gate configs/recency.yaml --update-baseline", project)
    assert made.returncode == 0, made.stderr
    local, remote = (
        yaml.safe_load(block.text)["repos"][0]
        for block in blocks("gate.md", "yaml")
        if block.text.startswith("repos:")
    )
    entries = {hook["id"]: hook["entry"] for hook in yaml.safe_load(_MANIFEST.read_text("utf-8"))}
    commands = [hook["entry"] for hook in local["hooks"]]
    commands += [f"{entries[hook['id']]} {shlex.join(hook['args'])}" for hook in remote["hooks"]]
    for command in commands:
        done = sh(command, project)
        assert done.returncode == 0, done.stderr
    change(project, "365")
    codes = [sh(command, project).returncode for command in commands]
    assert codes == [0, 3, 0, 3]


# --- completion -----------------------------------------------------------------------------------


def complete(words: str, folder: Path) -> list[str]:
    """Return what bash offers for a line, its last word unfinished."""
    place = len(words.split(" ")) - 1
    done = sh(
        "sweep", folder, _SWEEP_COMPLETE="complete_bash", COMP_WORDS=words, COMP_CWORD=str(place)
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_completion_works_in_bash(tmp_path: Path) -> None:
    page = (PROJECT / "docs/shell-completion.md").read_text("utf-8")
    for line, offered in re.findall(r"`(sweep [^`]+)<TAB>`(?: becomes)\s+`([^`]+)`", page):
        assert complete(line, tmp_path) == [offered.split()[-1]], line
    # Installed, and used by a bash that starts afterwards.
    home = tmp_path / "home"
    home.mkdir()
    done = sh("bash -c 'sweep --install-completion; true'", tmp_path, HOME=str(home))
    assert "bash completion installed in" in done.stdout, done.stdout + done.stderr
    assert (home / ".bash_completions/sweep.sh").is_file()
    press = "COMP_WORDS=(sweep ru) COMP_CWORD=1; _sweep_completion sweep; echo ${COMPREPLY[@]}"
    done = sh(f"source ~/.bashrc; {press}", tmp_path, HOME=str(home))
    assert done.stdout.strip() == "run", done.stderr
    # By name, as the page says.
    [block] = blocks("shell-completion.md", "sh")
    shells = re.findall(r"source_(\w+)", block.text)
    assert shells == ["bash", "zsh", "fish", "powershell"]
    for shell in shells:
        done = sh("sweep", tmp_path, _SWEEP_COMPLETE=f"source_{shell}")
        assert done.returncode == 0
        assert f"_SWEEP_COMPLETE=complete_{shell}" in done.stdout.replace(' = "', "=")


# --- a cluster ------------------------------------------------------------------------------------


@contextlib.contextmanager
def started(script: str, folder: Path, ready: str) -> Iterator[None]:
    """Keep a script running, from when it has said a word until the end of the block."""
    log = folder / f"{ready.split()[0]}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            ["bash", "-c", script],
            cwd=folder,
            env={**os.environ, "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + 60
        while ready not in log.read_text("utf-8"):
            assert process.poll() is None, log.read_text("utf-8")
            assert time.monotonic() < deadline, log.read_text("utf-8")
            time.sleep(0.1)
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)


@pytest.mark.slow
def test_the_commands_for_a_cluster_work(project: Path) -> None:
    pytest.importorskip("distributed", reason="the extra `dask` is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    scheduler, workers, sweep = (
        block.text.replace("10.0.0.5", "127.0.0.1").replace("8786", str(port))
        for block in blocks("scaling.md", "sh")
    )
    refused = sh(sweep, project)
    assert refused.returncode == 4, refused.stderr
    with started(scheduler, project, "Scheduler at:"):
        alone = sh(sweep, project)
        assert (alone.returncode, "has no workers" in alone.stderr) == (4, True)
        with started(workers.replace("--nworkers 4", "--nworkers 2"), project, "Registered to:"):
            done = sh(sweep, project)
    assert done.returncode == 0, done.stderr
    plain = sh("sweep run configs/recency.yaml --results plain", project)
    assert plain.returncode == 0, plain.stderr
    for name in ("figures.parquet", "per_query.parquet"):
        [ours] = project.glob(f"results/recency/*/{name}")
        [same] = project.glob(f"plain/recency/*/{name}")
        assert ours.read_bytes() == same.read_bytes()


# --- SOAT -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_soats_commands_run_from_a_checkout(project: Path, shared: Path) -> None:
    pytest.importorskip("psycopg", reason="the extra `postgres` is not installed")
    checkout = project.parent / "soat"
    shutil.copytree(shared / "data/soat/docs", checkout)
    golden = checkout / "packages/server/tests/eval/knowledge/golden.json"
    golden.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(shared / "data/soat/golden.raw.json", golden)
    for block in blocks("soat.md", "console"):
        for command in commands_of(block):
            done = sh(command.line, project)
            assert done.returncode == 0, done.stderr
            if command.said:
                assert done.stdout.splitlines() == command.said
