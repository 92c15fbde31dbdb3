"""What a sweep's manifest says: inputs, versions, how results are shown, what changed since."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from sweeper.config import Config
from sweeper.config_space import arm_base
from sweeper.errors import InputError
from sweeper.locating import latest_sweep
from sweeper.opening import OpenSweep, spec_hash
from sweeper.pools import Pool
from sweeper.results import Results
from sweeper.store import MANIFEST, read_manifest, write_manifest

__all__ = ["changes", "manifest_of", "pool_facts", "show_as", "shown", "started_before", "status"]


def manifest_of(opened: OpenSweep, folder: Path) -> dict[str, Any]:
    """Return a sweep's manifest but for its trials, pools and status."""
    inputs, spec = opened.inputs, opened.spec
    config = inputs.config
    packages = ("sweeper", "numpy", "pandas", "pyarrow", "joblib", "optuna")
    return {
        "name": config.name,
        "id": folder.name,
        "config_path": str(config.path),
        "started": datetime.now(UTC).isoformat(timespec="microseconds"),
        "spec_hash": spec_hash(spec),
        "spec": spec,
        "golden": {
            "path": config.golden.path,
            "digest": inputs.golden.digest,
            "n_queries": len(inputs.golden),
            "slices": list(inputs.golden.slices),
        },
        "corpus": {
            "path": None if config.corpus is None else config.corpus.path,
            "digest": inputs.corpus_digest,
            "n_entries": 0 if inputs.corpus is None else len(inputs.corpus),
        },
        "metrics": [str(metric) for metric in config.metrics],
        "objectives": {item.address: item.direction for item in config.objectives},
        "constraints": [item.text for item in config.constraints],
        "versions": {
            **{name: _version(name) for name in packages},
            "python": platform.python_version(),
        },
        "git_commit": _git_commit(config.path.parent),
        **shown(config),
    }


def pool_facts(path: Path, pool: Pool) -> dict[str, Any]:
    """Return what the manifest says of one pool."""
    return {
        "file": path.name,
        "digest": pool.digest,
        "depth": pool.depth,
        "channels": list(pool.channels),
        # What is told of each question stays in the pool.
        "provenance": {k: v for k, v in pool.provenance.items() if k not in {"asked", "evidence"}},
    }


def shown(config: Config) -> dict[str, Any]:
    """Return how results are shown; a change here makes no new sweep."""
    return {
        "table": {"knob": config.table_knob, "columns": list(config.table_columns)},
        "plots": [{"x": plot.x, "y": plot.y} for plot in config.plots],
        "arms": {
            name: {"from": arm_base(config.file.arms[name]), "trial_id": item.trial_id}
            for name, item in config.arms
        },
    }


def show_as(results: Results, config: Config) -> Results:
    """Return a finished sweep after noting how the config now wants it shown."""
    wanted = shown(config)
    if all(results.manifest.get(key) == value for key, value in wanted.items()):
        return results
    write_manifest(results.folder, {**results.manifest, **wanted})
    return Results(results.folder)


def changes(folder: Path, spec: dict[str, Any]) -> list[str]:
    """Say what differs from the latest sweep of the same name, when this one is new."""
    if (folder / MANIFEST).exists():
        return []
    latest = latest_sweep(folder.parent)
    if latest is None:
        return []
    try:
        before: Mapping[str, Any] = read_manifest(latest)["spec"]
    except InputError:
        return []
    inputs = ("golden", "corpus", "usage", "engine", "warm_start")
    parts = [name for name in inputs if before.get(name) != spec.get(name)]
    old, new = before.get("config", {}), spec["config"]
    keys = dict.fromkeys([*new, *old])
    parts += [key for key in keys if old.get(key) != new.get(key) and key not in parts]
    if not parts:
        return [f"new sweep {folder.name}; it repeats {latest.name}."]
    return [f"new sweep {folder.name}; changed since {latest.name}: {', '.join(parts)}."]


def started_before(folder: Path) -> str | None:
    """Return when the sweep in a folder was first started, if it was."""
    try:
        return str(read_manifest(folder)["started"])
    except InputError:
        return None


def status(folder: Path) -> str | None:
    """Return the status of the sweep in a folder, if there is one that can be read."""
    try:
        return str(read_manifest(folder)["status"])
    except InputError:
        return None  # absent, or unreadable: then the sweep starts again


def _version(package: str) -> str | None:
    """Return an installed version; a bare checkout on the path has none."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git_commit(folder: Path) -> str | None:
    """Return the commit of the project that holds the config, if it is in a git checkout."""
    try:
        asked = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"],
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return asked.stdout.strip() or None if asked.returncode == 0 else None
