"""The types of the public names, as a program outside this folder meets them."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sweeper
from tests.dist_check import MYPY_CONFIG

ROOT = Path(__file__).parent.parent
CONSUMER = ROOT / "tests" / "typing" / "consumer.py"

# One wrong use on each line, and what mypy has to say of it.
MISUSE = {
    "sweeper.load(3)": "arg-type",
    "sweeper.load('recency').figurs": "attr-defined",
    "text: str = sweeper.load('recency').figures": "assignment",
    "sweeper.load('recency').pick(policy='worst')": "arg-type",
    "sweeper.run_sweep('recency.yaml')": "arg-type",
    "sweeper.Settings(rrf_k='60')": "arg-type",
    "sweeper.ranks_lost('0.87', 60).upper()": "attr-defined",
    "sweeper.GoldenSet(queries=['q1'])": "arg-type",
    "sweeper.no_such_name": "attr-defined",
}


@pytest.mark.slow
def test_a_program_outside_is_checked_and_a_wrong_use_is_reported(tmp_path: Path) -> None:
    (tmp_path / "consumer.py").write_text(CONSUMER.read_text("utf-8"), "utf-8")
    (tmp_path / "misuse.py").write_text("\n".join(["import sweeper", *MISUSE, ""]), "utf-8")
    (tmp_path / "mypy.ini").write_text(MYPY_CONFIG, "utf-8")
    cache = ROOT / ".mypy_cache" / "outside"  # without it, this takes half a minute
    command = [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "--cache-dir", str(cache)]
    done = subprocess.run(
        [*command, "consumer.py", "misuse.py"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    errors = re.findall(r"^(\S+?):(\d+): error: .*\[(.+)\]$", done.stdout, re.MULTILINE)
    expected = [
        ("misuse.py", str(line), code) for line, code in enumerate(MISUSE.values(), start=2)
    ]
    assert errors == expected, done.stdout + done.stderr


def test_the_program_uses_every_public_name() -> None:
    used = set()
    for node in ast.walk(ast.parse(CONSUMER.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "sweeper":
            used |= {alias.name for alias in node.names}
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "sweeper":
            used.add(node.attr)
    assert set(sweeper.__all__) - used == set()
