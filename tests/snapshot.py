"""Golden files: text that a change may alter only on purpose."""

from __future__ import annotations

import os
from pathlib import Path

SNAPSHOTS = Path(__file__).parent / "snapshots"


def assert_matches_snapshot(text: str, name: str) -> None:
    """Compare text with ``snapshots/<name>``, or rewrite that file if asked to.

    ``SWEEPER_UPDATE_SNAPSHOTS=1`` (``make snapshots``) rewrites; the diff is then for review.
    """
    path = SNAPSHOTS / name
    if os.environ.get("SWEEPER_UPDATE_SNAPSHOTS") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
        return
    assert path.exists(), f"there is no snapshot {name}; SWEEPER_UPDATE_SNAPSHOTS=1 writes it"
    assert text == path.read_text(encoding="utf-8"), f"differs from the snapshot {name}"
