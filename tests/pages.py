"""Fenced blocks of a page, and a folder in which they run.

The convention is in CONTRIBUTING.md, under "Pages".
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["PROJECT", "Block", "Command", "Session", "blocks_of", "commands_of"]

PROJECT = Path(__file__).resolve().parents[1]


@dataclass
class Block:
    """A fenced block. ``first`` is the index of its first line within the page.

    ``file`` is where it is written (``appends``: to the end), ``skipped`` why it is not run, and
    ``tested_by`` the test that runs it.
    """

    language: str
    first: int
    lines: list[str] = field(default_factory=list)
    file: str | None = None
    appends: bool = False
    skipped: str | None = None
    tested_by: str | None = None

    @property
    def text(self) -> str:
        return "\n".join(self.lines) + "\n"


@dataclass
class Command:
    """A line of a console block and what stands below it."""

    line: str
    first: int
    said: list[str] = field(default_factory=list)


def blocks_of(text: str) -> list[Block]:
    found: list[Block] = []
    current: Block | None = None
    remark = ""
    for number, line in enumerate(text.split("\n")):
        fence = re.fullmatch(r"```(\w*)", line)
        if current is None and fence:
            file = re.fullmatch(r"<!-- (file|append): (.+) -->", remark)
            skipped = re.fullmatch(r"<!-- not run: (.+) -->", remark)
            tested = re.fullmatch(r"<!-- tested by: (\w+) -->", remark)
            current = Block(fence[1], number + 1)
            current.file = file[2] if file else None
            current.appends = file is not None and file[1] == "append"
            current.skipped = skipped[1] if skipped else None
            current.tested_by = tested[1] if tested else None
        elif current is not None and line == "```":
            found.append(current)
            current = None
        elif current is not None:
            current.lines.append(line)
        if line.strip():
            remark = line
    assert current is None, "a fenced block has no end"
    return found


def commands_of(block: Block) -> list[Command]:
    found: list[Command] = []
    for number, line in enumerate(block.lines, block.first):
        if line.startswith("$ "):
            found.append(Command(line[2:], number + 1))
        else:
            assert found, f"line {number + 1}: output without a command"
            found[-1].said.append(line)
    return found


class Session:
    """A folder in which one page's blocks run, in order: a copy of the project, or an empty one."""

    def __init__(self, folder: Path, *, empty: bool = False) -> None:
        self.folder = folder
        self.exit_code = 0
        self.names: dict[str, Any] = {}
        folder.mkdir()
        if not empty:
            shutil.copytree(
                PROJECT / "configs", folder / "configs", ignore=shutil.ignore_patterns("soat")
            )

    def write(self, block: Block) -> None:
        """Write a block to its file, or add it to the end."""
        if block.file is not None:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            before = path.read_text("utf-8") if block.appends else ""
            path.write_text(before + block.text, "utf-8")

    def run(self, line: str) -> str:
        """Run one command and return what a terminal would show."""
        if line == "echo $?":
            return f"{self.exit_code}\n"
        assert self.exit_code == 0, "the command before failed, and the page does not say so"
        if line == "make run":
            recipe = _recipe("run")
            return f"{recipe}\n" + self.run(recipe.removeprefix(".venv/bin/"))
        words = shlex.split(line)
        if words[0] == "mkdir":
            (self.folder / words[1]).mkdir()
            return ""
        if words[0] == "cd":
            self.folder /= words[1]
            assert self.folder.is_dir()
            return ""
        assert words[0] == "sweep", f"{line}: mark the block <!-- not run: reason -->"
        done = subprocess.run(
            [Path(sys.executable).absolute(), "-m", "sweeper", *words[1:]],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            env={
                **os.environ,
                "COLUMNS": "120",  # as wide as the widest table
                "PYTHONIOENCODING": "utf-8",
                "PYTHONPATH": str(PROJECT),
            },
            timeout=300,
            check=False,
        )
        self.exit_code = done.returncode
        return done.stdout

    def execute(self, block: Block, name: str) -> None:
        """Execute a Python block in this folder."""
        if ">>>" not in block.text:
            exec(compile(block.text, f"{name}:{block.first}", "exec"), self.names)
            return
        test = doctest.DocTestParser().get_doctest(block.text, self.names, name, name, block.first)
        report: list[str] = []
        doctest.DocTestRunner(verbose=False).run(test, out=report.append, clear_globs=False)
        self.names.update(test.globs)
        assert not report, "".join(report)


def _recipe(target: str) -> str:
    """Return what ``make TARGET`` runs and echoes, with the Makefile's variables filled in."""
    text = (PROJECT / "Makefile").read_text("utf-8")
    variables = dict(re.findall(r"^(\w+) :?\??= ?(.*)$", text, re.MULTILINE))
    found = re.search(rf"^{target}:.*\n\t(.+)$", text, re.MULTILINE)
    assert found is not None
    line = found[1]
    while (name := re.search(r"\$\((\w+)\)", line)) is not None:
        line = line.replace(name[0], variables[name[1]])
    return line
