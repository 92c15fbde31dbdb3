"""Small sweeps on disk for tests of the work layer and the commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from typer.testing import CliRunner

from sweeper.cli import app, console

ROOT = Path(__file__).parent.parent

ENTRIES: tuple[dict[str, Any], ...] = (
    {
        "id": "doc-rent",
        "text": "The rent of the shed is due in March, every year.",
        "title": "Rent",
    },
    {"id": "doc-keys", "text": "Keys hang in the green box behind the door of the shed."},
    {"id": "doc-boat", "text": "The boat Mira needs two people and a calm sea."},
    {
        "id": "doc-oven",
        "text": "The oven takes ten minutes; error E-17 means that the fan is stuck.",
    },
    {
        "id": "old-chair",
        "text": "Ada chairs the boat club.",
        "source_type": "memory",
        "age_days": 400,
    },
    {
        "id": "new-chair",
        "text": "Ben chairs the boat club.",
        "source_type": "memory",
        "age_days": 5,
    },
    {"id": "old-code", "text": "The door code is 1234.", "source_type": "memory", "age_days": 200},
    {"id": "new-code", "text": "The door code is 9876.", "source_type": "memory", "age_days": 20},
)
QUESTIONS: tuple[dict[str, Any], ...] = (
    {"id": "q1", "slice": "entity", "query": "rent of the shed", "expected": ["doc-rent"]},
    {"id": "q2", "slice": "entity", "query": "where are the keys", "expected": ["doc-keys"]},
    {"id": "q3", "slice": "entity", "query": "E-17", "expected": ["doc-oven"]},
    {"id": "q4", "slice": "fresh", "query": "who chairs the boat club", "expected": ["new-chair"]},
    {"id": "q5", "slice": "fresh", "query": "door code", "expected": ["new-code", "doc-keys"]},
    {"id": "q6", "slice": "nothing", "query": "zzz qqq", "expected": []},
)
CONFIG = """\
name: small
golden: golden.jsonl
engine: {kind: embedded, corpus: corpus.jsonl}
as_of: 2026-11-01T00:00:00Z
limit: 4
current: {rrf_k: 60, min_similarity: none, recency_half_life_days: off}
space:
  rrf_k: [1, 20]
  min_similarity: [none, 0.1, 0.3]
  recency_half_life_days: [off, 7, 30.5]
metrics: [recall@1, mrr, abstention]
objectives: {fresh.mrr: maximize, entity.mrr: maximize}
constraints: ["entity.mrr >= current - 0.1"]
"""

HOSTILE = "</script><script>window.planted=1</script><img src=x onerror=planted()>\"'&<!--"
"""What would run, if it were ever read as markup."""


def write_rows(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


def write_project(
    folder: Path,
    config: str = CONFIG,
    *,
    entries: Sequence[Mapping[str, Any]] = ENTRIES,
    questions: Sequence[Mapping[str, Any]] = QUESTIONS,
) -> Path:
    """Write a config, its corpus and its golden set; return the config's path."""
    folder.mkdir(parents=True, exist_ok=True)
    write_rows(folder / "corpus.jsonl", entries)
    write_rows(folder / "golden.jsonl", questions)
    path = folder / "sweep.yaml"
    path.write_text(config, encoding="utf-8")
    return path


def write_planted_project(folder: Path) -> Path:
    """Write a project with markup and control characters wherever it has words of its own."""
    entries = [{**row, "id": f"{row['id']}{HOSTILE}"} for row in ENTRIES]
    questions = [
        {
            "id": f"{row['id']}{HOSTILE}\u2028\u202e",
            "slice": f"{row['slice']}{HOSTILE}",
            "query": f"{row['query']} {HOSTILE}\u0007\u2029",
            "expected": [f"{key}{HOSTILE}" for key in row["expected"]],
        }
        for row in QUESTIONS
    ]
    slices = {name: json.dumps(f"{name}{HOSTILE}.mrr") for name in ("fresh", "entity")}
    config = CONFIG.partition("objectives:")[0]
    config += f"objectives: {{{slices['fresh']}: maximize, {slices['entity']}: maximize}}\n"
    config += f"arms:\n  {json.dumps('arm' + HOSTILE[:40])}: {{rrf_k: 7}}\n"
    return write_project(folder, config, entries=entries, questions=questions)


@dataclass(frozen=True)
class Done:
    """What one call of ``sweep`` did."""

    exit_code: int
    stdout: str
    stderr: str

    @property
    def document(self) -> dict[str, Any]:
        """What ``--json`` printed."""
        assert self.exit_code == 0, self.stderr
        found: dict[str, Any] = json.loads(self.stdout)
        return found


def invoke(*arguments: object) -> Done:
    """Run ``sweep`` inside this process; an exception that no user should meet is raised."""
    try:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    finally:
        console.set_verbosity(0)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Done(result.exit_code, result.stdout, result.stderr)


def shell(*arguments: object, code: str | None = None) -> subprocess.Popen[str]:
    """Start ``sweep`` in a process of its own; ``code`` may start it in another way."""
    code = code or "from sweeper.cli import main\nmain()"
    # Whoever starts the tests in the background has it ignored, and children inherit that.
    start = [
        "-c",
        f"import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n{code}",
    ]
    return subprocess.Popen(
        [sys.executable, *start, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def sweeps(results: Path) -> list[Path]:
    """Return the folders of all sweeps, finished or not."""
    return sorted(path.parent for path in results.glob("*/*/manifest.json"))


def frames(folder: Path) -> dict[str, pd.DataFrame]:
    """Return a sweep's tables without what may differ between two runs of the same thing."""
    tables = {
        name: pd.read_parquet(folder / f"{name}.parquet")
        for name in ("trials", "figures", "per_query")
    }
    tables["trials"] = tables["trials"].drop(columns="duration_seconds")
    return tables


def assert_same_frames(one: Path, other: Path) -> None:
    first, second = frames(one), frames(other)
    for name, table in first.items():
        pd.testing.assert_frame_equal(table, second[name], check_exact=True)


def leftovers(results: Path) -> list[Path]:
    """Return what only a killed process leaves behind."""
    return [
        path
        for path in results.rglob("*")
        if path.suffix == ".tmp" or path.name in {"journal.jsonl", ".lock-holder"}
    ]
