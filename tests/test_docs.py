"""README and docs say what is so: blocks run, links lead somewhere, generated pages do not drift.

The convention for blocks is in CONTRIBUTING.md, under "Pages". ``make snapshots`` rewrites the
outputs of console blocks.
"""

from __future__ import annotations

import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sweeper.config import load_config
from sweeper.poolfile import COLUMNS
from sweeper.report import write_report
from sweeper.results import Results
from sweeper.sweep import run_sweep
from tests import generated_docs
from tests.generated_docs import PROJECT

DOCS = sorted((PROJECT / "docs").glob("*.md"))
PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    PROJECT / "results/README.md",
    *DOCS,
]
NAMES = [page.relative_to(PROJECT).as_posix() for page in PAGES]
UPDATE = os.environ.get("SWEEPER_UPDATE_SNAPSHOTS") == "1"

_QUICK = {"README.md", "docs/semantics.md", "docs/routing.md", "docs/data-model.md"}
"""Pages whose blocks run in the fast suite too."""

each_page = pytest.mark.parametrize("name", NAMES)


# --- blocks ---------------------------------------------------------------------------------------


@dataclass
class Block:
    """A fenced block. ``first`` is the index of its first line within the page."""

    language: str
    first: int
    lines: list[str] = field(default_factory=list)
    file: str | None = None
    skipped: str | None = None

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
            file = re.fullmatch(r"<!-- file: (.+) -->", remark)
            skipped = re.fullmatch(r"<!-- not run: (.+) -->", remark)
            current = Block(fence[1], number + 1)
            current.file = file[1] if file else None
            current.skipped = skipped[1] if skipped else None
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
    """A copy of the project in which one page's blocks run, in order."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.exit_code = 0
        self.names: dict[str, Any] = {}
        shutil.copytree(
            PROJECT / "configs", folder / "configs", ignore=shutil.ignore_patterns("soat")
        )

    def run(self, line: str) -> str:
        """Run one command and return what a terminal would show."""
        if line == "echo $?":
            return f"{self.exit_code}\n"
        assert self.exit_code == 0, "the command before failed, and the page does not say so"
        if line == "make run":
            recipe = _recipe("run")
            return f"{recipe}\n" + self.run(recipe.removeprefix(".venv/bin/"))
        words = shlex.split(line)
        if words[0] == "cd":
            self.folder /= words[1]
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


def _comparable(text: str) -> str:
    """Return output without what differs from machine to machine: ids of sweeps and times."""
    text = re.sub(r"(?<=[\w-]/)[0-9a-f]{8}\b", "<id>", text)
    return re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "<time>", text)


def _agrees(said: list[str], output: str) -> bool:
    pattern = "".join(
        r"(?:.*\n)*" if line == "..." else re.escape(_comparable(line.rstrip())) + r" *\n"
        for line in said
    )
    return re.fullmatch(pattern, _comparable(output)) is not None


def _new_lines(said: list[str], output: str) -> list[str]:
    """Return the lines to store: as many as before where a page leaves the rest out."""
    lines = [line.rstrip() for line in output.rstrip("\n").split("\n")]
    if said[-1] == "..." and "..." not in said[:-1]:
        return [*lines[: len(said) - 1], "..."]
    return said if "..." in said else lines


@pytest.mark.parametrize(
    "name",
    [n if n in _QUICK else pytest.param(n, marks=pytest.mark.slow) for n in NAMES],
)
def test_the_blocks_of_a_page_run_and_print_what_it_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = PROJECT / name
    text = page.read_text("utf-8")
    lines = text.split("\n")
    session = Session(tmp_path / "project")
    changes: list[tuple[Command, list[str]]] = []
    for block in blocks_of(text):
        if block.file is not None:
            path = session.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, "utf-8")
        if block.skipped is not None:
            continue
        if block.language == "python":
            monkeypatch.chdir(session.folder)
            session.execute(block, name)
        if block.language != "console":
            continue
        for command in commands_of(block):
            output = session.run(command.line)
            if not command.said:
                continue
            if UPDATE:
                changes.append((command, _new_lines(command.said, output)))
            else:
                place = f"{name}:{command.first}: $ {command.line}"
                assert _agrees(command.said, output), f"{place}\nprints\n{output}"
        said_so = session.exit_code == 0 or block.lines[-1] == str(session.exit_code)
        assert said_so, f"{name}:{block.first}: exit code {session.exit_code}"
        session.exit_code = 0
    for command, new in reversed(changes):
        lines[command.first : command.first + len(command.said)] = new
    if "\n".join(lines) != text:
        page.write_text("\n".join(lines), "utf-8")


@each_page
def test_configs_and_rows_on_a_page_are_valid(name: str, tmp_path: Path) -> None:
    for block in blocks_of((PROJECT / name).read_text("utf-8")):
        if block.language == "json":
            for line in block.lines:
                assert isinstance(json.loads(line), dict)
        if block.language == "yaml" and block.text.startswith("name:"):
            (tmp_path / "config.yaml").write_text(block.text, "utf-8")
            assert load_config(tmp_path / "config.yaml").space.size != 1


# --- links ----------------------------------------------------------------------------------------


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives a page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _links(text: str) -> Iterator[str]:
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if not re.match(r"[a-z]+:", link):
            yield link


@each_page
def test_relative_links_lead_somewhere(name: str) -> None:
    page = PROJECT / name
    dead = []
    for link in _links(page.read_text("utf-8")):
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            dead.append(link)
    assert dead == []


def test_the_readme_leads_to_every_page() -> None:
    linked = {link.partition("#")[0] for link in _links((PROJECT / "README.md").read_text("utf-8"))}
    assert {f"docs/{page.name}" for page in DOCS} <= linked


# --- commands and targets -------------------------------------------------------------------------


def test_generated_pages_do_not_drift() -> None:
    assert generated_docs.drifted() == [], "run: make docs"


def test_every_command_is_in_the_reference_and_in_the_readme() -> None:
    reference = (PROJECT / "docs/cli.md").read_text("utf-8")
    readme = (PROJECT / "README.md").read_text("utf-8")
    for name in generated_docs.commands():
        assert f"\n## {name}\n" in reference
        assert re.search(rf"^\| `{name}[ `]", readme, re.MULTILINE), name


def test_every_make_target_that_a_page_names_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text("utf-8"), re.M))
    for name in NAMES:
        named = re.findall(r"(?:`|\$ )make ([a-z-]+)", (PROJECT / name).read_text("utf-8"))
        assert set(named) <= targets, name


# --- figures --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bundled(tmp_path_factory: pytest.TempPathFactory) -> Results:
    config = load_config(PROJECT / "configs/recency.yaml")
    results = run_sweep(config, root=tmp_path_factory.mktemp("results")).results
    write_report(results)
    return results


def test_the_readme_quotes_the_bundled_figures(bundled: Results) -> None:
    readme = " ".join((PROJECT / "README.md").read_text("utf-8").split())
    told = re.search(
        r"At (\d+) days freshness MRR rises from ([\d.]+) to ([\d.]+) and entity recall@10 does "
        r"not fall, but entity MRR falls from ([\d.]+) to ([\d.]+):",
        readme,
    )
    assert told is not None
    line = bundled.line("recency_half_life_days")
    [chosen] = line.loc[line["param_recency_half_life_days"] == float(told[1]), "number"].tolist()
    today = bundled.trial("current")
    figures = {name: values.tolist() for name, values in bundled.wide().items()}
    quoted = [
        f"{figures[address][number]:.2f}"
        for address in ("freshness.mrr", "entity.mrr")
        for number in (today, chosen)
    ]
    assert quoted == list(told.groups()[1:])
    assert figures["entity.recall@10"][chosen] >= figures["entity.recall@10"][today]


def test_the_readmes_plot_shows_the_bundled_sweep(tmp_path: Path) -> None:
    stored = generated_docs.PLOT.read_text("utf-8")
    fresh = generated_docs.draw_plot(tmp_path / "plot.svg").read_text("utf-8")
    # Other versions of matplotlib and its fonts move labels, but not the marks.
    assert _marks(stored) == pytest.approx(_marks(fresh), abs=0.5)


def _marks(svg: str) -> list[float]:
    groups = re.findall(r'<g id="PathCollection_\d+">.*?</g>\s*</g>', svg, re.DOTALL)
    places = re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)"', "".join(groups))
    assert places
    return [float(number) for place in places for number in place]


def test_the_data_model_names_every_file_column_and_key(bundled: Results) -> None:
    page = (PROJECT / "docs/data-model.md").read_text("utf-8")
    metrics = {str(metric) for metric in bundled.metrics}
    columns = {*bundled.trials, *bundled.figures, *bundled.per_query("current")}
    columns |= set(COLUMNS)
    columns -= metrics | {f"overall.{metric}" for metric in metrics}
    for name in [*map(str, columns), "overall.<metric>", "<metric>", *bundled.manifest]:
        assert f"`{name}`" in page, name
    for path in bundled.folder.iterdir():
        assert re.search(rf"^    {re.escape(path.name)}[/, ]", page, re.MULTILINE), path.name


def test_soats_figures_are_those_of_a_fresh_run(shared: Path) -> None:
    stored = json.loads(generated_docs.SOAT_FIGURES.read_text("utf-8"))
    assert generated_docs.measure_soat(shared) == stored


def test_soats_page_counts_what_the_figures_say() -> None:
    stored = json.loads(generated_docs.SOAT_FIGURES.read_text("utf-8"))
    page = (PROJECT / "docs/soat.md").read_text("utf-8")
    other = stored["other_settings"]
    assert {entry["figure"] for entry in other} == {"exact_name.mrr", "overall.mrr"}
    for entry in other:
        n_queries = stored["n_queries"][entry["figure"].partition(".")[0]]
        assert entry["ours"] - entry["reference"] == pytest.approx(0.5 / n_queries)
    n_other = len({entry["settings"] for entry in other})
    n_all = stored["n_settings_compared"]
    assert f"{n_all} settings were compared" in page
    assert f"At {n_all - n_other} of them every" in page
    assert f"At {n_other} one slice's MRR differs" in page
    reference = stored["reference"]["figures"]
    for half_life, slices in stored["figures"].items():
        for name, figures in slices.items():
            assert figures == pytest.approx(reference[half_life][name], rel=0, abs=1e-9)
