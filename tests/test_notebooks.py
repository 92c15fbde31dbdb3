"""Notebooks tell a story over the public API: they run, define nothing, and store no output."""

from __future__ import annotations

import ast
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import sweeper

PROJECT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((PROJECT / "notebooks").glob("*.ipynb"))

each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def _read(path: Path) -> Any:
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(notebook)
    return notebook


def _prose(path: Path) -> str:
    return "\n\n".join(c.source for c in _read(path).cells if c.cell_type == "markdown")


def _code(path: Path) -> list[str]:
    """Return the code cells without the lines that are for the notebook itself."""
    return [
        "\n".join(line for line in cell.source.split("\n") if not line.startswith("%"))
        for cell in _read(path).cells
        if cell.cell_type == "code"
    ]


def test_notebooks_are_numbered_and_each_is_one_story() -> None:
    assert [path.name[:3] for path in NOTEBOOKS] == ["01-", "02-", "03-", "04-"]
    for path in NOTEBOOKS:
        titles = re.findall(r"^# .+$", _prose(path), re.MULTILINE)
        assert len(titles) == 1


@each_notebook
def test_links_in_a_notebook_lead_somewhere(path: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", _prose(path)):
        assert (path.parent / link).exists(), link


@each_notebook
def test_a_notebook_types_no_figure_that_it_could_compute(path: Path) -> None:
    assert not re.findall(r"\b0\.\d{2,}", _prose(path))


@pytest.mark.slow
@each_notebook
def test_a_notebook_runs_from_top_to_bottom_in_an_empty_results_folder(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PROJECT / "configs", tmp_path / "configs")
    (tmp_path / "notebooks").mkdir()
    monkeypatch.setenv("PYTHONWARNINGS", "error::UserWarning,error::FutureWarning")
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = _read(path)
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path / "notebooks")}},
    )
    client.execute()
    assert list((tmp_path / "results").rglob("manifest.json")), "a sweep was carried out here"
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.get("name") == "stderr"]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@each_notebook
def test_a_notebook_is_stored_without_output(path: Path) -> None:
    for cell in _read(path).cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@each_notebook
def test_a_notebook_imports_everything_and_defines_nothing(path: Path) -> None:
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    for source in _code(path):
        assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, defined)]


@each_notebook
def test_a_notebook_uses_public_names_alone(path: Path) -> None:
    for source in _code(path):
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom):
                assert node.module is None or not node.module.startswith("sweeper")
            if isinstance(node, ast.Attribute):
                assert not node.attr.startswith("_")
                if isinstance(node.value, ast.Name) and node.value.id == "sweeper":
                    assert node.attr in sweeper.__all__


@each_notebook
def test_a_notebook_begins_with_prose_and_has_prose_before_each_step(path: Path) -> None:
    kinds = [cell.cell_type for cell in _read(path).cells]
    assert kinds[0] == "markdown"
    assert kinds.count("markdown") >= kinds.count("code") - 1
