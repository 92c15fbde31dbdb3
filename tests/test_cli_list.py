"""``sweep list``: past sweeps, finished or not."""

from __future__ import annotations

import json
from pathlib import Path

from tests.projects import invoke, write_project


def test_sweeps_are_listed_the_latest_last(tmp_path: Path) -> None:
    config, root = write_project(tmp_path), tmp_path / "results"
    for k in (3, 5):
        invoke("run", config, "--results", root, "--no-plots", "--set", f"space.rrf_k=[{k}]")
    found = invoke("list", "--results", root, "--json").document
    assert found["schema"] == "sweep.list/1"
    assert [set(row) for row in found["sweeps"]] == [
        {"sweep", "status", "n_trials", "n_queries", "started"}
    ] * 2
    assert [row["n_trials"] for row in found["sweeps"]] == [12, 12]
    assert found["sweeps"][0]["started"] <= found["sweeps"][1]["started"]
    table = invoke("list", "--results", root).stdout
    assert table.count("complete") == 2
    assert invoke("list", "--results", root, "--markdown").stdout.startswith("| sweep |")
    assert invoke("list", "--results", root, "--csv").stdout.startswith("sweep,status,n_trials,")


def test_a_sweep_whose_manifest_is_damaged_is_listed_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "a" / "12345678"
    folder.mkdir(parents=True)
    for damage in ("{", "[]", json.dumps({"version": 1, "golden": []})):
        (folder / "manifest.json").write_text(damage, "utf-8")
        [row] = invoke("list", "--results", tmp_path / "results", "--json").document["sweeps"]
        assert (row["sweep"], row["status"]) == ("a/12345678", "unreadable")


def test_no_sweeps_are_said_and_are_an_empty_document(tmp_path: Path) -> None:
    done = invoke("list", "--results", tmp_path / "none")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "There are no sweeps under" in done.stderr
    assert invoke("list", "--results", tmp_path / "none", "--json").document["sweeps"] == []
