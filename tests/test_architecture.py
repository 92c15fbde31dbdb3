"""House rules: who may import whom, and what every module says of itself."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import sweeper

PACKAGE = Path(__file__).resolve().parents[1] / "sweeper"

LAYERS: tuple[str, ...] = (
    # layer 0
    "errors",
    # layer 1: nouns
    "golden",
    "corpus",
    "knobs",
    "deploy",
    "settings",
    "pools",
    "runs",
    "spaces",
    "planner",
    # layer 2: arithmetic
    "routing",
    "triples",
    "extraction",
    "graph",
    "ranking",
    "prior",
    "readers",
    "metrics",
    "evaluate",
    "paired",
    "intervals",
    "compare",
    "constraints",
    # how findings are told, before those who find
    "tables",
    "result_tables",
    "wording",
    "reprs",
    "layout",
    "counting",
    "kernels",
    "replay",
    "staircase",
    "rounding",
    "exact",
    "expiry",
    "judging",
    "tied_orders",
    "ties",
    "margins",
    "stats",
    "remedies",
    "explain",
    "cost",
    "scores",
    "recommend",
    "cross_validation",
    "picked",
    "pick",
    "audit",
    "faults",
    "causes",
    # layer 3: edges
    "files",
    "formats.values",
    "formats.json_text",
    "formats.yaml_text",
    "formats.parquet",
    "formats.records",
    "formats.spellings",
    "formats.cells",
    "formats.doubts",
    "formats.expected",
    "formats.golden_rows",
    "formats.corpus_rows",
    "formats.corpus_folder",
    "formats.triples",
    "formats.usage",
    "formats.trec",
    "formats.topics",
    "formats.qrels",
    "formats.judgments",
    "formats.llama_index",
    "formats.io",
    "formats.soat",
    "formats",
    "block",
    "request_template",
    "http_blocks",
    "engine_blocks",
    "config_file",
    "config_problems",
    "config_captures",
    "config_space",
    "config",
    "poolfile",
    "manifest_parts",
    "store",
    "baseline",
    "gates",
    "samplers",
    "http_text",
    "embedders.base",
    "embedders.hashing",
    "embedders.cached",
    "embedders.models",
    "embedders.openai",
    "embedders.precomputed",
    "embedders",
    "functions",
    "engines.base",
    "engines.dense",
    "engines.lexical",
    "engines.facts",
    "engines.embedded",
    "engines.bundled",
    "engines.postgres_source",
    "engines.postgres_sql",
    "engines.postgres_search",
    "engines.postgres_connect",
    "engines.postgres_tables",
    "engines.postgres_load",
    "engines.postgres_open",
    "engines.postgres",
    "engines.postgres_config",
    "engines.runs",
    "engines.pool",
    "engines.python",
    "engines.signals",
    "engines.http_credentials",
    "engines.http_answer",
    "engines.http_client",
    "engines.http_path",
    "engines.http_pages",
    "engines.http_request",
    "engines.http_rows",
    "engines.http",
    "engines.soat",
    "engines",
    "plots.style",
    "plots.placement",
    "plots.saving",
    "plots.knob_axis",
    "plots.lines",
    "plots.curve",
    "plots.staircase",
    "plots.heatmap",
    "plots.tradeoff",
    "plots",
    "frames",
    "kept",
    "locating",
    "stored",
    "curves",
    "variations",
    "comparison",
    "pictures",
    "results",
    "arms",
    "report",
    "bounds",
    "export",
    "page.library",
    "page.charts",
    "page.knob_lines",
    "page.findings",
    "page.document",
    "page.sections",
    "page.render",
    "page",
    # layer 4: work
    "testing",
    "capture",
    "classes",
    "usage",
    "opening",
    "manifest",
    "interrupts",
    "workers",
    "fanout",
    "live",
    "sources",
    "remarks",
    "outcome",
    "sweep",
    "dry_run",
    "capturing",
    "gating",
    "asking",
    "answers",
    "verify",
    "",  # sweeper/__init__.py: the public names
    # layer 5: the command line, one file per command
    "cli",
    "__main__",
)
"""A module imports only what stands above it. A new module is one new line here.

``cli`` stands for the whole folder: its commands register with the app and share its console.
"""


def modules() -> dict[str, Path]:
    """Return every module's name below ``sweeper``; a package has the name of its folder."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = list(path.relative_to(PACKAGE).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        found[".".join(parts)] = path
    return found


MODULES = modules()
TREES = {name: ast.parse(path.read_text("utf-8")) for name, path in MODULES.items()}


def layer(name: str) -> str:
    """Return the entry of ``LAYERS`` that stands for a module."""
    return "cli" if name.partition(".")[0] == "cli" else name


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the modules of ours that a module imports, wherever in it, but for annotations."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the order"
            base = node.module or ""
            below = [f"{base}.{alias.name}" for alias in node.names]
            submodules = [name for name in below if name.removeprefix("sweeper.") in MODULES]
            names = submodules if len(submodules) == len(below) else [base, *submodules]
        for name in names:
            if name == "sweeper" or name.startswith("sweeper."):
                yield name.removeprefix("sweeper").removeprefix(".")
        yield from imported(node)


def public_definitions(tree: ast.Module) -> list[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [n.name for n in tree.body if isinstance(n, kinds) and not n.name.startswith("_")]


def exported(tree: ast.Module) -> list[str] | None:
    for node in tree.body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            names: list[str] = ast.literal_eval(node.value)
            return names
    return None


def test_every_module_has_its_place_in_the_layers() -> None:
    assert {layer(name) for name in MODULES} - set(LAYERS) == set()


def test_every_place_in_the_layers_is_a_module() -> None:
    assert set(LAYERS) - set(MODULES) == set()
    assert len(set(LAYERS)) == len(LAYERS)


@pytest.mark.parametrize("name", MODULES)
def test_a_module_imports_only_what_stands_above_it(name: str) -> None:
    own = layer(name)
    for other in set(imported(TREES[name])):
        target = layer(other)
        if target == own:
            continue
        assert target in LAYERS, f"{name} imports {other}, which has no place in LAYERS"
        assert LAYERS.index(target) < LAYERS.index(own), f"{name} imports {other}"


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_is(name: str) -> None:
    docstring = ast.get_docstring(TREES[name])
    assert docstring
    assert docstring.splitlines()[0].strip().endswith((".", ":", "?"))


EXPORTING = sorted(name for name in MODULES if layer(name) not in {"cli", "__main__", ""})
"""Commands are reached through the app; ``sweeper`` itself looks its names up when asked."""


@pytest.mark.parametrize("name", EXPORTING)
def test_all_names_every_public_definition(name: str) -> None:
    tree = TREES[name]
    names = exported(tree)
    assert names is not None, "__all__ is missing"
    assert len(set(names)) == len(names)
    missing = set(public_definitions(tree)) - set(names)
    assert not missing


@pytest.mark.parametrize("name", EXPORTING)
def test_all_is_sorted_constants_then_classes_then_functions(name: str) -> None:
    names = exported(TREES[name])
    assert names is not None

    def kind(text: str) -> tuple[int, str]:
        return (0 if text.isupper() else 1 if text[0].isupper() else 2, text)

    assert names == sorted(names, key=kind)


@pytest.mark.parametrize("name", EXPORTING)
def test_all_names_nothing_that_the_module_lacks(name: str) -> None:
    if name == "kernels":
        pytest.importorskip("numba", reason="the compiled kernel is an extra (fast)")
    if name.startswith("engines.postgres"):
        pytest.importorskip("psycopg", reason="PostgreSQL is an extra (postgres)")
    module = importlib.import_module(f"sweeper.{name}")
    assert [text for text in module.__all__ if not hasattr(module, text)] == []


@pytest.mark.parametrize("name", sweeper.__all__)
def test_a_public_name_is_found_in_its_home(name: str) -> None:
    assert getattr(sweeper, name) is not None
    assert name in dir(sweeper)


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        sweeper.nothing  # type: ignore[attr-defined]  # noqa: B018


def test_no_module_is_a_drawer_of_odds_and_ends() -> None:
    assert not {"utils", "helpers", "misc", "common"} & {name.split(".")[-1] for name in MODULES}


def test_no_public_name_is_that_of_a_module() -> None:
    # The module would take the name's place as soon as anything imports it.
    assert set(sweeper.__all__) & set(MODULES) == set()
