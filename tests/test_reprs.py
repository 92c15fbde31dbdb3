"""What a notebook shows: whole, escaped, without colours or scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from sweeper import load, verify_sweep
from sweeper.config import load_config
from sweeper.results import Results
from sweeper.sweep import Failure, Summary, run_sweep
from tests.projects import ENTRIES, QUESTIONS, write_project

HOSTILE = "<script>alert(1)</script> & <b>x</b>"
"""Planted wherever a project has words of its own: ids, questions, slices."""


class _Page(HTMLParser):
    """Checks that elements nest, and keeps their names, attributes and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.text += data


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    entries = [
        {**entry, "id": f"{entry['id']} {HOSTILE}", "text": f"{entry['text']} {HOSTILE}"}
        for entry in ENTRIES
    ]
    questions = [
        {
            "id": f"{item['id']} {HOSTILE}",
            "slice": item["slice"],
            "query": f"{item['query']} {HOSTILE}",
            "expected": [f"{key} {HOSTILE}" for key in item["expected"]],
        }
        for item in QUESTIONS
    ]
    return write_project(folder, entries=entries, questions=questions)


@pytest.fixture(scope="module")
def results(project: Path) -> Results:
    return run_sweep(load_config(project), root=project.parent / "results").results


def _comparison(results: Results) -> Any:
    return max((results.compare(n) for n in range(18)), key=lambda found: len(found.moved))


def _verification(results: Results) -> Any:
    config = load_config(results.folder.parents[2] / "sweep.yaml")
    return verify_sweep(results, config, {"#3": results.settings[3]})


def _summary(results: Results) -> Summary:
    trial = results.settings[0]
    failure = Failure(trial=_Trial(0, trial), error=HOSTILE)  # type: ignore[arg-type]
    return Summary(results, 17, 0, 1, 1, (failure,), (f"Note: {HOSTILE}",))


class _Trial:
    def __init__(self, number: int, settings: Any) -> None:
        self.number, self.settings = number, settings


SHOWN: dict[str, Callable[[Results], Any]] = {
    "results": lambda found: found,
    "pick": lambda found: found.pick(constraints=[], policy="best"),
    "comparison": _comparison,
    "explanation": lambda found: found.explain(found.golden.query_ids[3]),
    "missing": lambda found: found.explain(
        found.golden.query_ids[4], settings={"min_similarity": 0.9, "limit": 1}
    ),
    "curve": lambda found: found.curve("recency_half_life_days"),
    "integers": lambda found: found.curve("rrf_k"),
    "summary": _summary,
    "verification": _verification,
}


@pytest.mark.parametrize("name", SHOWN)
def test_all_text_is_escaped_and_nothing_is_coloured_or_run(name: str, results: Results) -> None:
    html = SHOWN[name](results)._repr_html_()
    page = _Page(html)
    assert page.tags <= {
        *("div", "style", "p", "strong", "code", "ul", "li"),
        *("table", "caption", "thead", "tbody", "tr", "th", "td"),
    }
    assert page.attributes <= {"class", "scope"}
    assert not re.search(r"colou?r|background|#[0-9a-f]{6}", html.partition("</style>")[0])
    if name in {"comparison", "explanation", "missing", "summary"}:
        assert HOSTILE in page.text


def test_results_show_today_first_and_then_the_front(results: Results) -> None:
    page = _Page(results._repr_html_())
    current = results.trial("current")
    assert f"#{current} current" in page.text
    for number in results.pareto()["number"]:
        assert f"#{number}" in page.text
        assert results.settings[number].text in page.text
    assert "6 questions (entity 3, fresh 2, nothing 1)" in page.text


def test_a_pick_shows_the_sentences_of_the_command(results: Results) -> None:
    found = results.pick(constraints=["entity.mrr >= current"], policy="best")
    text = _Page(found._repr_html_()).text
    assert f"p = {found.best.p_value:.4f} (one-sided max-T test over 21 settings)." in text
    assert found.best.settings.text in text
    before, after = found.best.figures["fresh.mrr"]
    assert f"{before:.4f}{after:.4f}" in text


def test_a_comparison_shows_no_interval_where_no_question_differs(results: Results) -> None:
    found = _comparison(results)
    html = found._repr_html_()
    cells = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", html)]
    rows = [row[4:] for row in cells if len(row) == 8]
    assert len(rows) == len(found.differences)
    for row, item in zip(rows, found.differences, strict=True):
        assert (row[:2] == ["=", "-"]) == (item.finding == "same")
    assert {item.finding for item in found.differences} > {"same"}


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    config = load_config(
        write_project(tmp_path), ["objectives={fresh.mrr: maximize, overall.mrr: minimize}"]
    )
    results = run_sweep(config, root=tmp_path / "results").results
    numbers = {results.trial("current"), *results.pareto()["number"]}
    text = _Page(results._repr_html_()).text
    more = re.search(r"(\d+) more settings", text)
    assert (int(more[1]) if more else 0) == max(0, len(numbers) - 10)


def test_results_can_be_shown_when_their_candidates_are_gone(project: Path, tmp_path: Path) -> None:
    results = run_sweep(load_config(project), root=tmp_path / "results").results
    for path in (tmp_path / "results/.pools").iterdir():
        path.unlink()
    assert "trials" in _Page(load(results.folder)._repr_html_()).text
