"""Published figures of routed retrieval: measured here, committed, shown in ``docs/routing.md``.

    python -m tests.benchmarks.published     (make results)

copies ``configs/`` to a temporary folder, runs ``configs/routing.yaml`` there, writes the large
atlas into another and runs that too. ``docs/results/routing.json`` and ``routing-large.json`` hold
what was measured at full precision, and nothing that another run, place or day would change. No
input may change meanwhile. The page is made of the two files in ``tests.routing_page``.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sweeper.arms import arms_of, moves_of
from sweeper.classes import with_classes
from sweeper.config import Config, load_config
from sweeper.curves import curve_of
from sweeper.formats import read_golden
from sweeper.golden import OVERALL, GoldenSet
from sweeper.knobs import TRIPLES, knob, knob_name
from sweeper.recommend import pareto_front
from sweeper.replay import Replay
from sweeper.results import Results
from sweeper.routing import CLASSES, classify
from sweeper.scores import Scores
from sweeper.settings import Settings
from sweeper.staircase import Curve
from sweeper.sweep import run_sweep
from tests.benchmarks.atlas_large import make_atlas, write_atlas

__all__ = ["LARGE", "SMALL", "frozen", "main", "measure", "measure_large", "measure_small"]

ROOT = Path(__file__).parents[2]
SMALL = ROOT / "docs/results/routing.json"
LARGE = ROOT / "docs/results/routing-large.json"

WEIGHT = "weights.triples"
CURVED = ("recall@5", "mrr")
PRIORS: tuple[Mapping[str, float], ...] = (
    {"prior.strength": 0.05, "prior.cap": 1.05},
    {"prior.strength": 1, "prior.cap": 2},
)
INTERACTIONS = (0, 100, 1000, 10_000)
PRIOR_BASE = "routing+triples"


def measure_small(folder: Path) -> dict[str, Any]:
    """Measure the bundled corpus from a copy of ``configs/`` in a new folder."""
    skipped = shutil.ignore_patterns("soat")  # an import of somebody's own
    shutil.copytree(ROOT / "configs", folder / "configs", ignore=skipped)
    with frozen(folder / "configs"):
        return measure(load_config(folder / "configs/routing.yaml"), folder / "results")


def measure_large(folder: Path) -> dict[str, Any]:
    """Measure the large atlas, written into a new folder."""
    write_atlas(make_atlas(), folder / "atlas")
    with frozen(folder / "atlas"):
        return measure(load_config(folder / "atlas/routing.yaml"), folder / "results")


@contextmanager
def frozen(folder: Path) -> Iterator[None]:
    """Let nobody write to the files of a folder meanwhile.

    Raises
    ------
    RuntimeError
        If one of them changed all the same, is gone, or is new.
    """
    before = _digests(folder)
    for name in before:
        (folder / name).chmod(0o444)
    yield
    after = _digests(folder)
    changed = [name for name in sorted({*before, *after}) if before.get(name) != after.get(name)]
    if changed:
        raise RuntimeError(f"{folder}: changed while it was measured: {', '.join(changed)}")


def _digests(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


def measure(config: Config, root: Path) -> dict[str, Any]:
    """Run a sweep of routed retrieval; return what is published of it. JSON values only.

    Parameters
    ----------
    config
        Has arms, the channel of triples, and two objectives.
    root
        Folder of the results.
    """
    results = run_sweep(config, root=root).results
    return {
        "provenance": _provenance(results, config),
        "questions": dict(Counter(query.slice for query in results.golden.queries)),
        "n_settings": len(results.trials),
        "budgets": {name: _settings(results, "budgets").limit_of(name) for name in CLASSES},
        "arms": _arms(results),
        "moves": _moves(results),
        "classes": _classes(results, config),
        "triples_weight": {
            "safe": _settings(results, "today").with_values({WEIGHT: None}).weight(TRIPLES),
            "lines": {base: _line(results, config, base) for base in ("today", "lexical")},
            "curve": _falls(curve_of(results, WEIGHT)),
        },
        "prior": _priors(results),
        "front": _front(results),
        "one_limit": _one_limit(results, config),
    }


def _provenance(results: Results, config: Config) -> dict[str, Any]:
    """Return what the figures hang on, and nothing of the machine or the day."""
    manifest = results.manifest
    text = json.dumps(config.spec(), sort_keys=True)
    return {
        "sweep": results.manifest["name"],
        "config": hashlib.sha256(text.encode()).hexdigest(),
        "corpus": manifest["corpus"]["digest"],
        "golden": manifest["golden"]["digest"],
        "usage": dict(manifest["spec"].get("usage", [])),
        "embedder": manifest["pool"]["provenance"]["engine"]["embedder"],
        "n_pages": manifest["corpus"]["n_entries"],
        "n_triples": manifest["pool"]["provenance"]["engine"]["triples"],
        "n_questions": len(results.golden),
    }


def _settings(results: Results, arm: str) -> Settings:
    return results.settings[results.trial("current" if arm == "today" else arm)]


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


def _groups(results: Results) -> list[str]:
    return [*results.golden.slices, OVERALL]


def _arms(results: Results) -> dict[str, Any]:
    """Return each arm's figures per slice, and how many questions it answers otherwise."""
    wide = {address: column.tolist() for address, column in results.wide().items()}
    current = results.trial("current")
    places = {"today": ("today", current, current)}
    places |= {arm.name: (arm.base, arm.trial, arm.base_trial) for arm in arms_of(results)}
    numbers = [trial for _, trial, _ in places.values()]
    found = {}
    for (name, (against, trial, base)), tally in zip(
        places.items(), results.tallies(numbers), strict=True
    ):
        differs = _differing(results.scores([trial, base])).values()
        found[name] = {
            "against": against,
            "settings": results.settings[trial].text,
            "figures": {
                group: {str(m): _number(wide[f"{group}.{m}"][trial]) for m in results.metrics}
                for group in _groups(results)
            },
            "better": tally.better,
            "worse": tally.worse,
            "otherwise": int(np.logical_or.reduce(list(differs)).sum()),
        }
    return found


def _differing(scores: Scores) -> dict[str, NDArray[np.bool_]]:
    """Return which questions two trials give other values of each metric."""
    pairs = {metric: (values[0], values[1]) for metric, values in scores.values.items()}
    return {
        metric: (own != base) & ~(np.isnan(own) & np.isnan(base))
        for metric, (own, base) in pairs.items()
    }


def _moves(results: Results) -> dict[str, Any]:
    """Return what each arm moves, by arm, metric and slice.

    ``n`` questions are averaged, and ``differ`` is how many of them have another value.
    """
    found: dict[str, Any] = {}
    differing, masks = {}, {}
    for arm in arms_of(results):
        scores = results.scores([arm.trial, arm.base_trial])
        differing[arm.name] = _differing(scores)
        masks = {name: scores.slice_of == n for n, name in enumerate(scores.slices)}
        masks[OVERALL] = np.ones(len(scores.slice_of), np.bool_)
    for move in moves_of(results):
        metrics = found.setdefault(move.arm, {})
        metrics.setdefault(move.metric, {})[move.group] = {
            "n": move.n_queries,
            "differ": int((differing[move.arm][move.metric] & masks[move.group]).sum()),
            "difference": move.difference,
            "low": move.low,
            "high": move.high,
            "verdict": move.verdict,
        }
    return found


def _classes(results: Results, config: Config) -> dict[str, Any]:
    """Return how often the rules agree with the labels, and what each way of routing gives."""
    golden = results.golden
    other = "golden" if config.file.classes == "rules" else "rules"
    unrouted = GoldenSet(tuple(replace(query, route=None) for query in golden.queries))
    file = config.file.model_copy(update={"classes": other})
    elsewhere = Replay(results.pool, with_classes(replace(config, file=file), unrouted))
    arms = ["today", *(arm.name for arm in arms_of(results) if arm.name in _ROUTED)]
    settings = [_settings(results, name) for name in arms]
    by = {str(config.file.classes): results.replay, other: elsewhere}
    routed = {}
    for how, replay in by.items():
        figures = replay.figures(settings, results.metrics)
        routed[how] = {
            name: {str(m): _number(figures.get(f"{OVERALL}.{m}", n)) for m in results.metrics}
            for n, name in enumerate(arms)
        }
    usage = {
        name: _agreement(read_golden(config.resolve(block.simulate.questions)))
        for name, block in config.file.usage.items()
        if block.simulate is not None and isinstance(block.simulate.questions, str)
    }
    return {
        "by": config.file.classes,
        "rules": _agreement(golden),
        "readers": next(iter(usage.values()), None),
        "figures": {how: routed[how] for how in ("rules", "golden")},
    }


_ROUTED = ("budgets", "weights", "routing")


def _agreement(golden: GoldenSet) -> dict[str, Any]:
    """Return into which classes the rules sort the questions of each slice."""
    table = {name: dict.fromkeys(CLASSES, 0) for name in golden.slices}
    for query in golden.queries:
        table[query.slice][classify(query.text).query_class] += 1
    right = sum(row.get(name, 0) for name, row in table.items())
    return {"right": right, "of": len(golden), "table": table}


def _line(results: Results, config: Config, base: str) -> list[dict[str, Any]]:
    """Return an arm's figures at each weight of triples of the space."""
    start = _settings(results, base)
    choices = [start.with_values({WEIGHT: value}) for value in config.space.values(WEIGHT)]
    figures = results.replay.figures(choices, results.metrics)
    return [
        {
            "weight": knob(WEIGHT).format(item.get(WEIGHT)),
            "figures": {
                group: {m: _number(figures.get(f"{group}.{m}", n)) for m in _RANKED}
                for group in _groups(results)
            },
        }
        for n, item in enumerate(choices)
    ]


_RANKED = (*CURVED, "citation_precision")


def _falls(curve: Curve) -> dict[str, Any]:
    """Return where each figure first falls as a weight rises from 0, and where it is highest."""
    texts = [str(metric) for metric in curve.metrics]
    off = curve.point(0.0)
    assert off is not None
    found: dict[str, Any] = {}
    for number, group in enumerate(curve.groups):
        for metric in CURVED:
            place = texts.index(metric)
            values = [float(off[number, place]), *curve.value[:, number, place].tolist()]
            found.setdefault(group, {})[metric] = _course(values, curve)
    return {"n_cells": len(curve.value), "unsettled": len(curve.unsettled), "figures": found}


def _course(values: Sequence[float], curve: Curve) -> dict[str, Any]:
    """Return what happens to a figure along a curve; its first value is that at 0."""
    falls = [n for n in range(1, len(values)) if values[n] < values[n - 1]]
    below = [n for n in range(1, len(values)) if values[n] < values[0]]
    top = max(values)
    first = values.index(top)
    last = first
    while last + 1 < len(values) and values[last + 1] == top:
        last += 1

    def low(n: int) -> float:
        return 0.0 if n <= 1 else float(curve.bounds(n - 1)[0])

    return {
        "at_0": values[0],
        "first_fall": None
        if not falls
        else {"at": low(falls[0]), "from": values[falls[0] - 1], "to": values[falls[0]]},
        "first_below_0": None if not below else low(below[0]),
        "highest": top,
        "highest_from": low(first),
        "highest_to": None if last + 1 == len(values) else low(last + 1),
    }


def _priors(results: Results) -> list[dict[str, Any]]:
    """Return figures by strength, log and number of interactions; empty without usage."""
    usefulness = results.pool.usefulness
    if usefulness is None:
        return []
    base = _settings(results, PRIOR_BASE)
    found = []
    for strong in PRIORS:
        for log in results.manifest["usage"]["logs"]:
            for n in INTERACTIONS:
                values = {**strong, "prior.log": log, "prior.interactions": n}
                own = base.with_values(values)
                figures = results.replay.figures([own], results.metrics)
                assert own.prior is not None
                factors = usefulness.factors(own.prior).values()
                found.append(
                    {name.removeprefix("prior."): value for name, value in values.items()}
                    | {
                        "least": min(factors, default=1.0),
                        "most": max(factors, default=1.0),
                        "figures": {m: _number(figures.get(f"{OVERALL}.{m}")) for m in _RANKED},
                    }
                )
    return found


def _front(results: Results) -> list[dict[str, Any]]:
    """Return the settings that no other beats in both objectives, best by the first first."""
    numbers = results.pareto()["number"].tolist()
    wide = {address: column.tolist() for address, column in results.wide().items()}
    swept = [knob_name(name) for name in results.manifest["spec"]["config"]["space"]]
    return [
        {
            "settings": {n: knob(n).format(results.settings[number].given(n)) for n in swept},
            "figures": {str(m): _number(wide[f"{OVERALL}.{m}"][number]) for m in results.metrics},
            "better": tally.better,
            "worse": tally.worse,
        }
        for number, tally in zip(numbers, results.tallies(numbers), strict=True)
    ]


def _one_limit(results: Results, config: Config) -> dict[str, Any]:
    """Return what one limit for all questions gives: today's line, and the front without classes.

    The limits are all that some budget of the space has.
    """
    space, today = config.space, _settings(results, "today")
    budgets = {int(value or 0) for n in space.knobs if n in _BUDGETS for value in space.values(n)}
    limits = sorted(budgets, reverse=True)
    choices = [
        today.with_values({"limit": limit, "weights.vector": vector, WEIGHT: triples})
        for limit in limits
        for vector in space.values("weights.vector")
        for triples in space.values(WEIGHT)
    ]
    both = [today.with_values({"limit": n}) for n in range(today.limit, 0, -1)] + choices
    figures = results.replay.figures(both, results.metrics)
    rows = [
        {
            "settings": {n: knob(n).format(item.get(n)) for n in ("limit", WEIGHT, _VECTOR)},
            "figures": {str(m): _number(figures.get(f"{OVERALL}.{m}", n)) for m in results.metrics},
        }
        for n, item in enumerate(both)
    ]
    gains = np.array(
        [[figures.get(o.address, n) for o in results.objectives] for n in range(len(both))]
    )[today.limit :]
    best = pareto_front(gains, [(float(n),) for n in range(len(gains))])
    return {
        "line": rows[: today.limit],
        "n_choices": len(choices),
        "front": [rows[today.limit + n] for n in best],
    }


_VECTOR = "weights.vector"
_BUDGETS = {f"routing.{name}.budget" for name in CLASSES}


def written(found: Mapping[str, Any]) -> str:
    """Return what a published file says."""
    return json.dumps(found, indent=1, allow_nan=False) + "\n"


def main(arguments: Sequence[str] | None = None, say: Callable[[str], None] = print) -> None:
    """Measure both corpora and write the two files."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=SMALL.parent, metavar="DIR")
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    for path, measured in ((SMALL, measure_small), (LARGE, measure_large)):
        with tempfile.TemporaryDirectory() as folder:
            found = measured(Path(folder))
        (out / path.name).write_text(written(found), "utf-8")
        facts = found["provenance"]
        say(f"{path.name}: {found['n_settings']} settings, {facts['n_questions']} questions")


if __name__ == "__main__":
    main()
