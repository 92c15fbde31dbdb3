"""Which sampler finds the best setting soonest? Measured on a space whose whole grid is known.

    python -m tests.benchmarks.regret

replays the bundled corpus over every combination once, then lets each sampler look the figures up.
Regret is what the best setting found so far lacks of the best of the grid, among settings that meet
the constraints. It writes ``docs/results/regret.json`` and ``docs/images/regret.svg``;
``docs/methods.md`` shows them.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeper.config import load_config
from sweeper.constraints import parse_constraint
from sweeper.opening import open_sweep
from sweeper.plots.lines import look_of
from sweeper.plots.style import INK, SMALL, light_grid
from sweeper.replay import Replay
from sweeper.samplers import Kind, Known, Sampler, make_sampler
from sweeper.settings import Settings
from sweeper.spaces import SearchSpace

ROOT = Path(__file__).parents[2]
SPACE: Mapping[str, tuple[Any, ...]] = {
    "rrf_k": (1, 2, 5, 10, 20, 40, 60, 100),
    "min_similarity": (None, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3),
    "recency_half_life_days": (0.0, 7.0, 30.0, 90.0, 180.0, 365.0, 730.0, 1825.0, 3650.0, 7300.0),
    "weights.vector": (0.25, 0.5, 1.0, 2.0, 4.0),
}
SAMPLERS: Mapping[str, tuple[Kind, str]] = {
    "random": ("random", ""),
    "Sobol": ("qmc", "sobol"),
    "Halton": ("qmc", "halton"),
    "TPE": ("tpe", ""),
    "NSGA-II": ("nsga2", ""),
}
OBJECTIVE = "freshness.mrr"
CONSTRAINTS = ("entity.recall@10 >= current - 0.05", "overall.mrr >= current - 0.05")
BATCH = 16


class Landscape:
    """Every figure of the space, looked up instead of replayed."""

    def __init__(self) -> None:
        config = load_config(ROOT / "configs/recency.yaml")
        self.space = SearchSpace(config.current, SPACE)
        settings = [config.current, *self.space]
        with TemporaryDirectory() as root, open_sweep(config, root=root) as opened:
            replay = Replay(opened.pool()[0], opened.inputs.golden)
            figures = replay.figures(settings, config.metrics)
            slices = [query.slice for query in opened.inputs.golden.queries]
        group, metric = figures.place(OBJECTIVE)
        gains = figures.value[:, group, metric]
        self.n_questions = slices.count(OBJECTIVE.partition(".")[0])
        bounds = [parse_constraint(text) for text in CONSTRAINTS]
        self.known: dict[str, Known] = {}
        for place, item in enumerate(settings):
            excess = []
            for bound in bounds:
                g, m = figures.place(bound.address)
                column = figures.value[:, g, m]
                excess.append(bound.excess(float(column[place]), float(column[0])))
            self.known[item.text] = Known(item, (float(gains[place]),), tuple(excess))
        self.best = max(self.worth(item) for item in self.space)
        self.today = self.worth(config.current)
        self.feasible = sum(self.worth(item) > -math.inf for item in self.space)

    def worth(self, item: Settings) -> float:
        """Return the objective of a feasible setting; minus infinity for another."""
        known = self.known[item.text]
        assert known.gains is not None
        return known.gains[0] if max(known.excess) <= 0 else -math.inf


def regrets(land: Landscape, own: Sampler, n_trials: int) -> NDArray[np.float64]:
    """Return the regret after each trial, beginning with today's setting; shape (n_trials,)."""
    tried: list[Known] = []
    while len(tried) < n_trials and (batch := own.propose(tried)):
        tried += [land.known[item.text] for item in batch]
    worth = [land.today, *(land.worth(item.settings) for item in tried)]
    best: NDArray[np.float64] = land.best - np.maximum.accumulate(worth)[1 : n_trials + 1]
    return best


def measure(
    land: Landscape, n_seeds: int, n_trials: int, only: Sequence[str] = tuple(SAMPLERS)
) -> dict[str, Any]:
    """Return the mean regret of each sampler after each trial, and what a trial took to propose."""
    found: dict[str, Any] = {}
    for name, (kind, sequence) in SAMPLERS.items():
        if name not in only:
            continue
        rows = []
        started = time.perf_counter()
        for seed in range(n_seeds):
            own = make_sampler(
                land.space,
                kind,
                n_trials=n_trials,
                batch_size=BATCH,
                sequence=sequence or "sobol",
                n_objectives=1,
                seed=seed * 10_000,
            )
            rows.append(regrets(land, own, n_trials))
        seconds = time.perf_counter() - started
        table = np.array(rows)
        found[name] = {
            "mean": table.mean(axis=0).round(6).tolist(),
            "found": (table[:, -1] < 1e-9).mean(),
            "milliseconds": 1000 * seconds / (n_seeds * n_trials),
        }
    return {
        "space": land.space.size,
        "feasible": land.feasible,
        "objective": OBJECTIVE,
        "constraints": list(CONSTRAINTS),
        "today": land.today,
        "best": land.best,
        "n_questions": land.n_questions,
        "n_seeds": n_seeds,
        "n_trials": n_trials,
        "batch": BATCH,
        "samplers": found,
    }


def draw(result: Mapping[str, Any], path: Path) -> None:
    """Draw the mean regret against trials, beside what one question is worth."""
    from matplotlib.figure import Figure

    from sweeper.plots import save

    ax = Figure(figsize=(7.2, 4.4), layout="constrained").add_subplot()
    light_grid(ax)
    trials = np.arange(1, result["n_trials"] + 1)
    for number, (name, own) in enumerate(result["samplers"].items()):
        look = look_of(number)
        ax.plot(trials, own["mean"], color=look.colour, linewidth=1.8, label=name)
    worth = 1 / result["n_questions"]
    ax.axhline(worth, color=INK, linewidth=1, linestyle=":", zorder=1)
    ax.annotate(
        "one question",
        (1, worth),
        xytext=(4, 3),
        textcoords="offset points",
        fontsize=SMALL,
        color=INK,
    )
    ax.set_xscale("log")
    ticks = [n for n in (1, 3, 10, 30, 100, 300, 1000) if n <= result["n_trials"]]
    ax.set_xticks(ticks, [str(n) for n in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("settings tried")
    ax.set_ylabel("regret in freshness MRR, mean of all seeds")
    ax.set_xlim(1, result["n_trials"])
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False, fontsize=SMALL, labelcolor=INK)
    save(ax, path)


def main(arguments: Sequence[str] | None = None, say: Callable[[str], None] = print) -> None:
    """Measure, write the numbers and the picture, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=30)
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--out", type=Path, default=ROOT / "docs")
    chosen = parser.parse_args(arguments)
    land = Landscape()
    result = measure(land, chosen.seeds, chosen.trials)
    (chosen.out / "results").mkdir(parents=True, exist_ok=True)
    (chosen.out / "results/regret.json").write_text(json.dumps(result) + "\n", "utf-8")
    draw(result, chosen.out / "images/regret")
    say(f"{result['space']} settings, {result['feasible']} feasible; best {result['best']:.4f}, ")
    for name, own in result["samplers"].items():
        after = [own["mean"][n - 1] for n in (20, 50, 100, chosen.trials) if n <= chosen.trials]
        told = " ".join(f"{value:.4f}" for value in after)
        say(f"{name:8} {told}  found {own['found']:.0%}  {own['milliseconds']:.1f} ms a trial")


if __name__ == "__main__":
    main()
