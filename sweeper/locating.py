"""Sweeps by name: which folder a text means."""

from __future__ import annotations

from pathlib import Path

from sweeper.errors import InputError, did_you_mean
from sweeper.store import MANIFEST, past_sweeps

__all__ = ["find_sweep", "latest_sweep"]


def find_sweep(sweep: str | Path, *, root: str | Path = "results") -> Path:
    """Return the folder of a sweep; a name alone means its latest."""
    for folder in (Path(sweep), Path(root) / sweep):
        if (folder / MANIFEST).is_file():
            return folder
        # One that is running, or was interrupted, has nothing to show: one before it may.
        latest = latest_sweep(folder, finished=True) or latest_sweep(folder)
        if latest is not None:
            return latest
    known = sorted({path.parent.name for path, _ in past_sweeps(Path(root))})
    hint = did_you_mean(str(sweep), known) if known else f"There are no sweeps under {root} yet."
    raise InputError(f"no sweep {str(sweep)!r}. {hint}")


def latest_sweep(folder: Path, *, finished: bool = False) -> Path | None:
    """Return the sweep under a name's folder that was started last, or the last that finished."""
    states = {"complete", "incomplete"}
    mine = [
        path
        for path, manifest in past_sweeps(folder.parent)
        if path.parent == folder and (not finished or manifest.get("status") in states)
    ]
    return mine[-1] if mine else None
