"""How fast it is, beside plain Python and ranx in the same run: ``make benchmarks``.

    python -m tests.benchmarks.benchmark [--quick | --full] [--json FILE]

Contenders take turns within each round, and a ratio is the median of the ratios of all rounds:
absolute rates of a shared machine move by a third between days, ratios hardly. Nothing here fails;
a verdict is printed beside each floor and goal.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from sweeper.formats import read_golden, write_golden
from sweeper.metrics import parse_metrics
from sweeper.poolfile import read_pool, write_pool
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.store import Journal
from tests.benchmarks import asking, exact, peers, picking

METRICS = parse_metrics(["recall@5", "recall@10", "mrr"])
COMPILED = importlib.util.find_spec("numba") is not None
ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the report. ``value`` is judged: a ratio to exceed, or a cost to stay below."""

    what: str
    ours: str
    peer: str
    value: float
    unit: str
    floor: float | None
    goal: float | None
    larger_is_better: bool

    @property
    def verdict(self) -> str:
        if self.floor is None or math.isnan(self.value):
            return "-"
        if self.goal is not None and self._meets(self.goal):
            return "goal met"
        return "floor met" if self._meets(self.floor) else "MISSED"

    def _meets(self, bound: float) -> bool:
        return self.value >= bound if self.larger_is_better else self.value <= bound


def ratio(
    what: str, ours: str, peer: str, value: float, floor: float | None, goal: float | None
) -> Row:
    return Row(what, ours, peer, value, "x", floor, goal, larger_is_better=True)


def cost(what: str, value: float, unit: str, floor: float, goal: float) -> Row:
    return Row(what, f"{value:.4g} {unit}", "", value, unit, floor, goal, larger_is_better=False)


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def rate(number: float) -> str:
    """Return trial-queries a second, short."""
    for bound, suffix in ((1e6, "M"), (1e3, "k")):
        if number >= bound:
            return f"{number / bound:.3g}{suffix} tq/s"
    return f"{number:.3g} tq/s"


# --- replay against peers


def check_equal(rows: list[peers.Row], replay: Replay) -> None:
    """Make sure that all contenders compute the same figures before they race."""
    plain = peers.plain_trial()
    chosen = peers.trials(20, seed=3)
    figures = replay.figures(peers.settings_of(chosen), METRICS)
    for trial, knobs in enumerate(chosen):
        for name, expected in plain(rows, *knobs).items():
            for metric, value in zip(METRICS, expected, strict=True):
                found = figures.get(f"{name}.{metric}", trial)
                assert math.isclose(found, value, abs_tol=1e-12), (knobs, name, metric)


def replay_rows(n_queries: int, sizes: tuple[int, ...], n_rounds: int) -> Iterator[Row]:
    """Race one pool: grids of each size and a list of unrelated trials."""
    rows = peers.questions(n_queries)
    pool, golden = peers.pool_of(rows, depth=20)
    tiers = {"numpy": Replay(pool, golden, compiled=False)}
    if COMPILED:
        tiers["compiled"] = Replay(pool, golden, compiled=True)
    plain, ranx = peers.plain_trial(), peers.ranx_trial(rows)
    listed = peers.settings_of(peers.trials(1000))
    grids = {size: peers.settings_of(peers.grid(size)) for size in sizes}
    for replay in tiers.values():
        check_equal(rows, replay)
        replay.figures(grids[sizes[0]], METRICS)
    if ranx is not None:
        ranx(60)
    n_plain, n_ranx = max(4, 1100 // n_queries), max(2, 5500 // n_queries)
    found: dict[str, list[float]] = {}
    for number in range(n_rounds):
        chosen = peers.trials(n_plain, seed=number)
        spent = seconds(partial(_each, partial(plain, rows), chosen))
        found.setdefault("plain", []).append(n_plain * n_queries / spent)
        if ranx is not None:
            ks = [(10.0 + 7 * n + number,) for n in range(n_ranx)]
            spent = seconds(partial(_each, ranx, ks))
            found.setdefault("ranx", []).append(n_ranx * n_queries / spent)
        for tier, replay in tiers.items():
            for size, settings in grids.items():
                spent = seconds(partial(replay.figures, settings, METRICS))
                found.setdefault(f"{tier} {size}", []).append(size * n_queries / spent)
            spent = seconds(partial(replay.figures, listed, METRICS))
            found.setdefault(f"{tier} list", []).append(len(listed) * n_queries / spent)
    yield from _compared(found, n_queries, sizes)


def _each(trial: Callable[..., object], chosen: Sequence[tuple[float, ...]]) -> None:
    for knobs in chosen:
        trial(*knobs)


def _compared(
    found: dict[str, list[float]], n_queries: int, sizes: tuple[int, ...]
) -> Iterator[Row]:
    judged = n_queries >= 1000  # floors are given for large sweeps
    for tier, floors in {
        "numpy": {"plain": (50, 100), "ranx": (150, 400), "list": (8, 150)},
        "compiled": {"plain": (500, 1000), "ranx": (2000, 4000), "list": (50, 150)},
    }.items():
        for peer in ("plain", "ranx"):
            for kind in (*sizes, "list"):
                ours, theirs = found.get(f"{tier} {kind}"), found.get(peer)
                if ours is None or theirs is None or (kind == "list" and peer == "ranx"):
                    continue
                floor, goal = floors["list" if kind == "list" else peer]
                shown = f"grid of {kind:,}" if isinstance(kind, int) else "list of 1,000"
                yield ratio(
                    f"{tier}, {n_queries:,} questions, {shown}, against {peer}",
                    rate(statistics.median(ours)),
                    rate(statistics.median(theirs)),
                    statistics.median(a / b for a, b in zip(ours, theirs, strict=True)),
                    floor if judged else None,
                    goal if judged else None,
                )


def small_sweep_rows(n_rounds: int) -> Iterator[Row]:
    """Replay 55 questions under 1,000 settings, warm."""
    pool, golden = peers.pool_of(peers.questions(55), depth=20)
    settings = peers.settings_of(peers.grid(1000))
    for tier, goal in (("numpy", 40), ("compiled", 5)):
        if tier == "compiled" and not COMPILED:
            continue
        replay = Replay(pool, golden, compiled=tier == "compiled")
        replay.figures(settings, METRICS)
        spent = [seconds(partial(replay.figures, settings, METRICS)) for _ in range(5 * n_rounds)]
        median = 1000 * statistics.median(spent)
        yield cost(f"replay alone, warm, 55 x 1,000, {tier}", median, "ms", 100, goal)


# --- growth


def growth_rows(n_rounds: int, largest: int) -> Iterator[Row]:
    """Log-log exponents of time: questions, trials, candidates."""

    def exponent(small: float, large: float, factor: float) -> float:
        return math.log(large / small) / math.log(factor)

    for tier in ("numpy", "compiled") if COMPILED else ("numpy",):

        def prepared(n_queries: int, per_channel: int, tier: str = tier) -> Replay:
            pool, golden = peers.pool_of(peers.questions(n_queries, per_channel), per_channel)
            replay = Replay(pool, golden, compiled=tier == "compiled")
            replay.figures(peers.settings_of(peers.grid(100), per_channel), METRICS)
            return replay

        def spent(replay: Replay, settings: list[Settings]) -> float:
            return statistics.median(
                seconds(partial(replay.figures, settings, METRICS)) for _ in range(n_rounds)
            )

        thousand = peers.settings_of(peers.grid(1000))
        base = prepared(1000, 20)
        middle = spent(base, thousand)
        more = spent(prepared(largest, 20), thousand)
        yield cost(
            f"growth with questions, 1,000 to {largest:,}, {tier}",
            exponent(middle, more, largest / 1000),
            "exponent",
            1.1,
            1.0,
        )
        longer = spent(base, peers.settings_of(peers.grid(10_000)))
        yield cost(
            f"growth with trials, 1,000 to 10,000, {tier}",
            exponent(middle, longer, 10),
            "exponent",
            1.0,
            0.85,
        )
        wide = prepared(1000, 100)
        wider = spent(wide, peers.settings_of(peers.grid(1000), 100))
        slots = wide.layout(100).n_slots / base.layout(20).n_slots
        yield cost(
            f"growth with candidates, 20 to 100 a channel, {tier}",
            exponent(middle, wider, slots),
            "exponent",
            1.1,
            0.8,
        )


# --- memory


def memory_rows(n_queries: int, n_trials: int) -> Iterator[Row]:
    """Peak of a process that reads a pool and replays it, and what a pool's arrays hold."""
    pool, golden = peers.pool_of(peers.questions(n_queries), depth=20)
    replay = Replay(pool, golden)
    layout = replay.layout(20)
    arrays = [getattr(layout, field.name) for field in dataclasses.fields(layout)]
    held = sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))
    yield cost("bytes per candidate slot", held / (layout.n_slots * n_queries), "B", 64, 32)
    with tempfile.TemporaryDirectory() as folder:
        write_pool(Path(folder, "pool.parquet"), pool)
        write_golden(Path(folder, "golden.jsonl"), golden)
        for tier in ("numpy", "compiled") if COMPILED else ("numpy",):
            command = [sys.executable, "-m", "tests.benchmarks.benchmark", "--probe", folder]
            asked = subprocess.run(
                [*command, tier, str(n_trials)],
                cwd=ROOT,
                capture_output=True,
                text=True,
                check=True,
            )
            what = f"peak memory, {n_queries:,} x {n_trials:,}, {tier}"
            yield cost(what, float(asked.stdout), "MB", 600, 250)


def probe(folder: Path, tier: str, n_trials: int) -> None:
    """Print the peak memory of this process in MB after a replay from files."""
    golden = read_golden(folder / "golden.jsonl")
    replay = Replay(read_pool(folder / "pool.parquet"), golden, compiled=tier == "compiled")
    replay.figures(peers.settings_of(peers.grid(n_trials)), METRICS)
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss also counts what the parent held before this process began
        line = next(t for t in status.read_text("utf-8").splitlines() if t.startswith("VmHWM"))
        print(int(line.split()[1]) / 1024)
    else:
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


# --- the store and whole processes


def journal_rows(n_rounds: int) -> Iterator[Row]:
    """Keep finished trials in batches, as a sweep of 1,000 questions does."""
    figures = [round(random.Random(4).random(), 6) for _ in range(6 * len(METRICS))]
    records = [
        {"trial_id": settings.trial_id, "seconds": 0.001, "figures": figures}
        for settings in peers.settings_of(peers.grid(1000))
    ]
    spent = []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(n_rounds):
            journal = Journal(Path(folder, f"{number}.jsonl"), {"spec": "benchmark"})

            def keep(journal: Journal = journal) -> None:
                for start in range(0, len(records), 400):
                    journal.append(records[start : start + 400])

            spent.append(seconds(keep) / len(records))
            journal.close()
    yield cost("keeping one finished trial", 1000 * statistics.median(spent), "ms", 1, 0.1)


def asking_rows(n_trials: int) -> Iterator[Row]:
    """Compare what the parent pays for a trial with Optuna's own loop and storages."""
    for row in asking.asking_costs(n_trials):
        told = f"memory {row.memory:.2g}, journal {row.journal:.2g}, SQLite {row.sqlite:.2g} ms"
        what = f"asking for a trial, {row.kind}, {n_trials} trials"
        yield Row(what, f"{row.ours:.2g} ms", told, row.ours, "ms", None, None, False)
    with tempfile.TemporaryDirectory() as folder:
        write_project(Path(folder))
        spent = asking.bookkeeping(Path(folder))
    what = "all but replay, a trial of a random sweep of 2,000"
    yield Row(what, f"{spent:.2g} ms", "", spent, "ms", None, None, False)


def command_rows(n_rounds: int) -> Iterator[Row]:
    """Whole processes: help, and a small sweep whose pool is captured."""
    sweep = [sys.executable, "-m", "sweeper"]
    with tempfile.TemporaryDirectory() as folder:
        # Compiled modules are kept, as everywhere but in containers that forbid it.
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PYTHONPYCACHEPREFIX": str(Path(folder, "cache")),
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)

        def run(*arguments: str) -> float:
            command = [*sweep, *arguments]
            return seconds(
                partial(
                    subprocess.run,
                    command,
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    check=True,
                )
            )

        run("--help")
        shown = statistics.median(run("--help") for _ in range(3 * n_rounds))
        yield cost("sweep --help", 1000 * shown, "ms", 300, 150)
        write_project(Path(folder))
        run("run", "speed.yaml")
        spent = statistics.median(run("run", "speed.yaml", "--fresh") for _ in range(n_rounds))
        yield cost("sweep run, whole process, 55 x 1,000, pool captured", spent, "s", 3, 1.5)


def write_project(folder: Path) -> None:
    """Write a config of 1,000 settings, 55 questions, and a corpus of 300 entries."""
    rng = random.Random(2)
    words = [f"word{number}" for number in range(400)]
    entries = [
        {
            "id": f"e{number}",
            "text": " ".join(rng.choices(words, k=40)),
            "source_type": "memory" if number % 2 else "document",
            **({"age_days": rng.randrange(400)} if number % 2 else {}),
        }
        for number in range(300)
    ]
    asked = rng.sample(entries, 55)
    golden = [
        {
            "id": f"q{number}",
            "slice": peers.SLICES[number % len(peers.SLICES)],
            "query": " ".join(rng.sample(str(entry["text"]).split(), 3)),
            "expected": [entry["id"]],
        }
        for number, entry in enumerate(asked)
    ]
    for name, rows in (("corpus", entries), ("golden", golden)):
        text = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(text, "utf-8")
    space = {
        "rrf_k": sorted({int(k) for k, _, _ in peers.grid(1000)}),
        "min_similarity": sorted({floor for _, floor, _ in peers.grid(1000)}),
        "recency_half_life_days": sorted({half_life for _, _, half_life in peers.grid(1000)}),
    }
    config = {
        "name": "speed",
        "golden": "golden.jsonl",
        "engine": {"kind": "embedded", "corpus": "corpus.jsonl"},
        "as_of": "2026-11-01",
        "space": space,
        "objectives": {"memories.mrr": "maximize", "docs.recall@10": "maximize"},
    }
    (folder / "speed.yaml").write_text(json.dumps(config), "utf-8")  # JSON is YAML


# --- the report


def exact_curve_rows(counts: tuple[int, ...], n_rounds: int) -> Iterator[Row]:
    """Race the exact half-life curve against 10,000 replayed half-lives."""
    for row in exact.exact_rows(counts, n_rounds):
        assert row.mismatches == 0, row
        yield ratio(
            f"exact curve vs 10,000 half-lives, {row.tier}, Q={row.n_questions}",
            f"{row.exact_seconds * 1e3:.3g} ms, {row.n_steps} steps",
            f"{row.replay_seconds:.3g} s",
            row.ratio,
            exact.FLOOR,
            exact.GOAL,
        )


def pick_rows(n_settings: int, n_rounds: int) -> Iterator[Row]:
    """Race the cross-validation of a pick against as many picks as it has folds."""
    row = picking.pick_row(1000, n_settings, n_rounds)
    yield ratio(
        f"cross-validated pick, {row.n_questions:,} x {row.n_settings:,}, against a pick per fold",
        f"{row.validated_seconds:.3g} s",
        f"{row.chosen_seconds:.3g} s",
        row.ratio,
        None,
        None,
    )


def report(rows: list[Row]) -> str:
    header = ("what", "ours", "peer", "measured", "floor", "goal", "verdict")
    lines: list[tuple[str, ...]] = [header]
    for row in rows:
        measured = f"{row.value:.3g}x" if row.larger_is_better else f"{row.value:.3g} {row.unit}"
        bounds = ["-" if bound is None else f"{bound:g}" for bound in (row.floor, row.goal)]
        lines.append((row.what, row.ours, row.peer, measured, *bounds, row.verdict))
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    texts = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([texts[0], "-" * len(texts[0]), *texts[1:]])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two rounds, smaller sizes")
    parser.add_argument("--full", action="store_true", help="also 10,000 questions")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    parser.add_argument("--probe", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.probe:
        probe(Path(options.probe[0]), options.probe[1], int(options.probe[2]))
        return
    n_rounds = 2 if options.quick else 5
    sizes = (1000,) if options.quick else (1000, 10_000)
    counts = [55, 1000, *([10_000] if options.full else [])]
    parts: list[Callable[[], Iterator[Row]]] = [
        *(partial(replay_rows, n, sizes, n_rounds) for n in counts),
        lambda: small_sweep_rows(n_rounds),
        lambda: exact_curve_rows(tuple(counts), 2 if options.quick else 3),
        lambda: pick_rows(1000 if options.quick else 10_000, n_rounds),
        lambda: growth_rows(2 if options.quick else 3, 3000 if options.quick else 10_000),
        lambda: memory_rows(*((2000, 1000) if options.quick else (10_000, 10_000))),
        lambda: journal_rows(n_rounds),
        lambda: asking_rows(150 if options.quick else 300),
        lambda: command_rows(n_rounds),
    ]
    if not COMPILED:
        print("numba is not installed: no compiled tier", file=sys.stderr)
    if importlib.util.find_spec("ranx") is None:
        print("ranx is not installed: compared with plain Python alone", file=sys.stderr)
    rows: list[Row] = []
    for part in parts:
        try:
            for row in part():
                rows.append(row)
                print(f"{row.what}: {row.value:.4g} {row.unit}", file=sys.stderr)
        except subprocess.CalledProcessError as error:
            print(f"left out: {error}\n{error.stderr!r}", file=sys.stderr)
    print(report(rows))
    if options.json:
        content = [{**dataclasses.asdict(row), "verdict": row.verdict} for row in rows]
        options.json.write_text(json.dumps(content, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
