"""Figures that docs/limitations.md quotes are those of the bundled sweep and of docs/methods.md."""

from __future__ import annotations

import re
from pathlib import Path

from sweeper.audit import audit_settings
from sweeper.config import load_config
from sweeper.opening import open_sweep
from sweeper.replay import Replay
from sweeper.sweep import planned
from tests.projects import ROOT

PAGE = " ".join((ROOT / "docs/limitations.md").read_text("utf-8").split())
METHODS = (ROOT / "docs/methods.md").read_text("utf-8")


def row(start: str) -> list[str]:
    """Return the cells of the table row in methods.md that begins with a text."""
    [line] = re.findall(rf"^\| {re.escape(start)} \|.*$", METHODS, re.MULTILINE)
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_share_of_saturated_questions_is_that_of_the_bundled_sweep(tmp_path: Path) -> None:
    told = re.search(r"On the bundled corpus (\d+ of \d+) are", PAGE)
    assert told is not None
    config = load_config(ROOT / "configs/recency.yaml")
    with open_sweep(config, root=tmp_path) as opened:
        replay = Replay(opened.pool()[0], opened.inputs.golden)
        trials = planned(config, opened.engine.channels).trials
    found = audit_settings(replay, [trial.settings for trial in trials])
    assert any(item.text.startswith(f"{told[1]} questions are answered first") for item in found)


def test_optimism_and_luck_are_those_that_were_measured() -> None:
    told = re.search(r"looked better than it was by ([\d.]+) to ([\d.]+) in MRR", PAGE)
    assert told is not None
    in_sample = [float(row(share)[1]) for share in ("0%", "50%", "100%")]
    assert [f"{min(in_sample):.2f}", f"{max(in_sample):.2f}"] == list(told.groups())


def test_the_power_and_the_luck_of_dominance_are_those_that_were_measured() -> None:
    assert "found in half of the sweeps at 60 questions, in nine of ten at 120" in PAGE
    found = [float(row(f"{n} | 12 | 90%")[3]) for n in (60, 120)]
    assert abs(found[0] - 0.5) < 0.05
    assert abs(found[1] - 0.9) < 0.05
    assert "Of sweeps over twenty questions in which no setting was better, a quarter" in PAGE
    assert 0.2 < float(row("20")[1]) < 0.3
