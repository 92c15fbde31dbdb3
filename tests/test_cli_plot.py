"""``sweep plot``: which plot is drawn, and where it goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.projects import invoke, sweeps, write_project


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    done = invoke("run", write_project(folder), "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0
    return folder / "results"


@pytest.mark.parametrize(
    ("arguments", "stem"),
    [
        ((), "tradeoff_fresh.mrr_entity.mrr"),
        (("--x", "overall.mrr", "--y", "entity.recall@1"), "tradeoff_entity.recall-1_overall.mrr"),
        (("--knob", "rrf_k"), "curve_rrf-k_mrr"),
        (("--knob", "rrf_k", "--metric", "recall@1"), "curve_rrf-k_recall-1"),
        (
            ("--knob", "rrf_k", "--by", "min_similarity"),
            "heatmap_fresh.mrr_min-similarity_rrf-k",
        ),
    ],
)
def test_a_plot_is_drawn_twice_under_its_name(
    root: Path, arguments: tuple[str, ...], stem: str
) -> None:
    [folder] = sweeps(root)
    done = invoke("plot", "small", *arguments, "--results", root)
    assert done.exit_code == 0, done.stderr
    png, svg = (Path(line) for line in done.stdout.splitlines())
    assert (png.parent, svg.parent) == (folder / "plots", folder / "plots")
    assert png.name.startswith(stem)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "<svg" in svg.read_text("utf-8")


def test_a_plot_goes_where_it_is_told(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "v1.2"
    found = invoke("plot", "small", "--results", root, "--out", out, "--json").document
    assert found["schema"] == "sweep.plot/1"
    assert found["files"] == [f"{out}.png", f"{out}.svg"]
    assert all(Path(path).is_file() for path in found["files"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--x", "entity.mr", "--y", "fresh.mrr"), 'no figure "entity.mr". Did you mean'),
        (("--knob", "rrf_k", "--metric", "mr"), 'no metric "mr". Did you mean "mrr"?'),
        (("--knob", "limit"), '"limit" did not vary. Choose from'),
        (("--knob", "rrf_k", "--by", "rrf_k"), "--by: give another knob than rrf_k."),
        (("--knob", "rrf_k", "--x", "fresh.mrr"), "give either --x and --y, or --knob."),
        (("--by", "rrf_k"), "--by and --metric go with --knob."),
        (("--metric", "mrr"), "--by and --metric go with --knob."),
        (("--out", "/dev/null/x"), "/dev/null/x.png: a part of this path is a file"),
    ],
)
def test_a_plot_that_cannot_be_is_refused(
    root: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = invoke("plot", "small", *arguments, "--results", root)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
