"""README and docs say what is so: blocks run, links lead somewhere, generated pages do not drift.

The convention for blocks is in CONTRIBUTING.md, under "Pages". ``make snapshots`` rewrites the
outputs of console blocks.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from sweeper.config import load_config
from sweeper.poolfile import COLUMNS
from sweeper.report import write_report
from sweeper.results import Results
from sweeper.sweep import run_sweep
from tests import generated_docs
from tests.pages import PROJECT, Block, Command, Session, blocks_of, commands_of

DOCS = sorted((PROJECT / "docs").glob("*.md"))
PAGES = [
    *(PROJECT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")),
    PROJECT / "results/README.md",
    *DOCS,
]
NAMES = [page.relative_to(PROJECT).as_posix() for page in PAGES]
UPDATE = os.environ.get("SWEEPER_UPDATE_SNAPSHOTS") == "1"

_QUICK = {"docs/semantics.md", "docs/data-model.md", "docs/versions.md"}
"""Pages whose blocks run in the fast suite too."""

_FROM_NOTHING = {"docs/tutorial.md"}
"""Pages that begin in an empty folder."""

each_page = pytest.mark.parametrize("name", NAMES)


# --- blocks ---------------------------------------------------------------------------------------


def _comparable(text: str) -> str:
    """Return output without what differs from machine to machine: ids of sweeps and times."""
    text = re.sub(r"(?:(?<=[\w-]/)|(?<=new sweep )|(?<=since ))[0-9a-f]{8}\b", "<id>", text)
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
    session = Session(tmp_path / "project", empty=name in _FROM_NOTHING)
    changes: list[tuple[Command, list[str]]] = []
    for block in blocks_of(text):
        session.write(block)
        if block.skipped is not None or block.tested_by is not None:
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
        if _is_config(block):
            given = set(yaml.safe_load(block.text))
            whole = "name" in given
            rest = {} if whole else {key: _REST[key] for key in _REST if key not in given}
            path = tmp_path / "config.yaml"
            path.write_text(block.text + (yaml.safe_dump(rest) if rest else ""), "utf-8")
            assert load_config(path).space.size != 1


_REST: dict[str, Any] = {
    "name": "rest",
    "golden": "golden.jsonl",
    "engine": {"kind": "embedded", "corpus": "corpus.jsonl"},
    "space": {"rrf_k": [5, 60]},
    "sampler": {"kind": "random", "n_trials": 5},
}
"""What a part of a config on a page is put into."""


def _is_config(block: Block) -> bool:
    """Return whether a block is a config or a part of one, and meant to be valid."""
    ours = block.language == "yaml" and block.tested_by is None
    return ours and block.file not in _OTHER_FILES | _BROKEN


_OTHER_FILES = {".pre-commit-config.yaml", ".github/workflows/retrieval.yml"}
"""Files of other programs; ``tests/test_howtos.py`` runs what stands in them."""

_BROKEN = {"broken.yaml"}
"""A config that shows what an error says; the page runs it."""

_NO_CODE = {"", "text"}
_RUN = {"console", "python"}
_CHECKED = {"json", "yaml"}


@each_page
def test_every_block_runs_or_is_checked_or_says_why_not(name: str) -> None:
    tests = "".join(path.read_text("utf-8") for path in (PROJECT / "tests").glob("test_*.py"))
    for block in blocks_of((PROJECT / name).read_text("utf-8")):
        place = f"{name}:{block.first}"
        if block.tested_by is not None:
            assert f"def {block.tested_by}(" in tests, place
        elif block.skipped is None and block.file is None:
            assert block.language in _NO_CODE | _RUN | _CHECKED, place


def test_few_blocks_are_left_out() -> None:
    reasons = [
        block.skipped
        for name in NAMES
        for block in blocks_of((PROJECT / name).read_text("utf-8"))
        if block.skipped is not None
    ]
    assert sorted(reasons) == ["installs", "installs"]


# --- links ----------------------------------------------------------------------------------------


def _anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives a page's headings, and those that the page sets."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
    titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    given = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    return given | set(re.findall(r'<a id="([^"]+)">', text))


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
