"""The HTML report in a real browser: it draws, answers mouse and keyboard, and runs quietly.

Chromium is taken from the system (Debian's package ``chromium``), or from ``SWEEPER_CHROMIUM``.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from sweeper.compare import outcomes
from sweeper.config import load_config
from sweeper.page import write_html_report
from sweeper.page.document import Budget, document
from sweeper.page.findings import Findings
from sweeper.page.library import library
from sweeper.page.render import render
from sweeper.results import Results
from sweeper.sweep import run_sweep
from tests.projects import HOSTILE, write_planted_project

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDTHS = (1280, 400)
"""A screen of a desk, and one of a telephone."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("SWEEPER_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on this machine: the report is not looked at in a browser")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=list(QUIET))
        yield found
        found.close()


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    config = load_config(ROOT / "configs/recency.yaml")
    return run_sweep(config, root=tmp_path_factory.mktemp("results")).results


@pytest.fixture(scope="module")
def report(results: Results) -> Path:
    return write_html_report(results)


class Opened:
    """A page, and whatever it said or asked for besides."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.said: list[str] = []
        self.asked: list[str] = []
        page.on("console", self._said)
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        self.said.append(f"{message.type}: {message.text}")

    def _asked(self, request: Request) -> None:
        self.asked.append(request.url)

    def chart(self, name: str) -> None:
        self.page.wait_for_selector(f"#{name}-chart svg")

    def point(self, number: int) -> tuple[float, float]:
        """Return where on the screen a setting is drawn."""
        self.page.locator("#tradeoff-chart").scroll_into_view_if_needed()
        place: list[float] = self.page.evaluate(
            """(number) => {
              const data = JSON.parse(document.getElementById('data').textContent);
              const numbers = data.trials.number;
              for (const mark of document.querySelectorAll('#tradeoff-chart svg path')) {
                const places = mark.__data__?.datum?.places;
                if (places && places.some((place) => numbers[place] === number)) {
                  const box = mark.getBoundingClientRect();
                  return [box.x + box.width / 2, box.y + box.height / 2];
                }
              }
              return [];
            }""",
            number,
        )
        assert place, f"#{number} is not drawn"
        return place[0], place[1]


Open = Callable[..., Opened]


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Open]:
    """Open the report; at the end of the test nothing may have been said or fetched."""
    pages: list[Opened] = []

    def open_page(path: Path = report, width: int = 1280, scheme: str = "light") -> Opened:
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,  # type: ignore[arg-type]
        )
        page.set_default_timeout(20_000)
        found = Opened(page)
        pages.append(found)
        page.goto(path.as_uri())
        page.wait_for_selector("body.ready")
        found.chart("tradeoff")
        return found

    yield open_page
    for item in pages:
        assert item.said == []
        assert [url for url in item.asked if not url.startswith("file:")] == []
        item.page.close()


def figure(results: Results, address: str, number: int) -> float:
    found: list[float] = results.wide([address])[address].tolist()
    return found[number]


def outcomes_of(results: Results, number: int) -> NDArray[np.int8]:
    scores = results.scores([results.trial("current"), number])
    found: NDArray[np.int8] = outcomes(scores.values, results.metrics, 0)[1]
    return found


def texts(page: Page, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_text_contents()]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_every_chart_is_drawn_and_nothing_sticks_out(opened: Open, width: int, scheme: str) -> None:
    found = opened(width=width, scheme=scheme)
    for name in ("tradeoff", "curve", "differences"):
        found.chart(name)
        chart = found.page.locator(f"#{name}-chart")
        assert chart.get_attribute("role") == "img"
        assert chart.get_attribute("aria-label")
        box = chart.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    assert found.page.evaluate("document.documentElement.scrollWidth") == width
    assert found.page.locator("#tradeoff-chart svg path").count() > 20
    labels = texts(found.page, "#curve-chart svg text")
    assert "off" in labels
    assert "recency half-life (days)" in labels
    paper = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.mark.parametrize("width", WIDTHS)
def test_hovering_a_point_shows_its_settings(opened: Open, results: Results, width: int) -> None:
    found = opened(width=width)
    found.page.mouse.move(*found.point(24))
    tip = found.page.locator("#tip")
    tip.wait_for(state="visible")
    text = tip.inner_text()
    assert "#24" in text
    assert "rrf_k 5" in text
    assert "recency half-life 90" in text
    assert f"freshness MRR: {figure(results, 'freshness.mrr', 24):.4f}" in text
    assert f"entity recall@10: {figure(results, 'entity.recall@10', 24):.4f}" in text
    box = tip.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    found.page.mouse.move(2, 2)
    tip.wait_for(state="hidden")


def test_clicking_a_point_shows_its_slices_and_questions(opened: Open, results: Results) -> None:
    found = opened()
    found.page.mouse.click(*found.point(24))
    panel = found.page.locator("#setting")
    panel.get_by_text("Setting #24").wait_for()
    [row] = [t for t in texts(found.page, "#setting tr") if t.startswith("entity") and "." in t]
    now, today = (figure(results, "entity.mrr", n) for n in (24, results.trial("current")))
    assert f"{now:.4f} {now - today:+.4f}" in row
    fares = outcomes_of(results, 24)
    changed = int((fares != 0).sum())
    assert f"Of {changed} questions that change, the 8 that move most" in panel.inner_text()
    assert found.page.locator("#number").input_value() == "24"
    assert "Setting #24" in found.page.locator("#questions-setting").inner_text()
    said = found.page.locator("#setting-said").text_content()
    assert said == f"Setting #24: {(fares == 1).sum()} better, {(fares == -1).sum()} worse"
    panel.get_by_role("button", name=f"List all {changed} below").click()
    assert texts(found.page, "#questions-count") == [f"{changed} of 234 questions."]


def test_the_keyboard_reaches_every_setting(opened: Open) -> None:
    found = opened()
    found.page.keyboard.press("Tab")  # the first stop leads past the navigation
    assert found.page.evaluate("document.activeElement.className") == "skip"
    number = found.page.locator("#number")
    number.focus()
    number.fill("61")
    number.press("Enter")
    found.page.locator("#setting").get_by_text("Setting #61").wait_for()
    for wrong in ("84", "-1", ""):
        number.fill(wrong)
        number.press("Enter")
        assert number.evaluate("field => field.validationMessage") == "A number from 0 to 83."
        assert "Setting #61" in found.page.locator("#setting").inner_text()
    found.page.locator("#front-table button").first.focus()
    found.page.keyboard.press("Enter")
    found.page.locator("#setting").get_by_text("Setting #24").wait_for()


def test_axes_and_colours_are_chosen(opened: Open) -> None:
    found = opened()
    found.page.select_option("#axis-x", "overall.mrr")
    found.page.locator("#tradeoff-chart svg text", has_text="overall MRR").first.wait_for()
    found.page.select_option("#colour", label="recency half-life")
    found.page.locator("#tradeoff-chart svg text", has_text="recency half-life").wait_for()
    labels = texts(found.page, "#tradeoff-chart svg text")
    assert {"off", "7", "30", "90", "365", "1825", "7300"} <= set(labels)
    found.page.select_option("#colour", "worse")
    found.page.locator("#tradeoff-chart svg text", has_text="questions worse").wait_for()


def test_a_curve_is_read_at_any_value(opened: Open, results: Results) -> None:
    found = opened()
    found.chart("curve")
    picked = results.pick().chosen.settings
    assert f"recency half-life {picked.recency_half_life_days:g} days" in " ".join(
        texts(found.page, "#curve-reading caption")
    )
    figures = results.replay.figures([picked], results.metrics)
    groups, told = (texts(found.page, f"#curve-reading td:nth-child({n})") for n in (1, 2))
    rows = dict(zip(groups, told, strict=True))
    for group in ("freshness", "entity", "overall"):
        assert rows[group] == f"{figures.get(f'{group}.mrr', 0):.4f}"
    found.page.select_option("#curve-knob", "rrf_k")
    found.page.locator("#curve-chart svg text", has_text="rrf_k").first.wait_for()
    slider = found.page.locator("#curve-at")
    before = slider.get_attribute("aria-valuetext")
    slider.focus()
    found.page.keyboard.press("End")
    assert slider.get_attribute("aria-valuetext") != before
    box = found.page.locator("#curve-chart svg").bounding_box()
    assert box is not None
    last = slider.get_attribute("aria-valuetext")
    found.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    assert slider.get_attribute("aria-valuetext") != last


@pytest.mark.parametrize("width", WIDTHS)
def test_the_places_of_a_knob_that_are_named_do_not_run_into_each_other(
    opened: Open, width: int
) -> None:
    page = opened(width=width)
    page.chart("curve")
    boxes = page.page.evaluate(
        """() => [...document.querySelectorAll(
             '#curve-chart svg g[aria-label^="X-axis"] .role-axis-label text')]
           .filter((text) => text.textContent && getComputedStyle(text).opacity !== '0')
           .map((text) => [text.textContent, text.getBoundingClientRect()])
           .map(([text, box]) => [text, box.left, box.right])"""
    )
    assert "off" in [text for text, _, _ in boxes]
    assert len(boxes) >= 3
    boxes.sort(key=lambda box: box[1])
    for (_, _, right), (_, left, _) in itertools.pairwise(boxes):
        assert left - right >= 3


@pytest.mark.parametrize("steps", [400, 30])
def test_a_reading_is_exact_at_the_value_that_it_names_or_says_that_it_is_not(
    opened: Open, results: Results, tmp_path: Path, steps: int
) -> None:
    findings = Findings(results, results.pick())
    path = tmp_path / "report.html"
    data = document(findings, replace(Budget(), steps=steps))
    path.write_text(render(findings, data, *library()), "utf-8")
    found = opened(path)
    page = found.page
    found.chart("curve")
    said = {"At": 0, "About, at": 0}
    bases = {"today": results.current_settings, "pick": results.pick().chosen.settings}
    for item in data["curves"]:
        page.select_option("#curve-knob", item["knob"])
        page.select_option("#curve-base", item["base"])
        page.select_option("#curve-metric", "mrr")
        page.wait_for_timeout(500)
        told = page.evaluate(
            """(count) => {
              const slider = document.getElementById('curve-at');
              const [low, high] = [Number(slider.min), Number(slider.max)];
              const texts = (path) => [...document.querySelectorAll(`#curve-reading ${path}`)]
                .map((cell) => cell.textContent);
              return Array.from({ length: count }, (_, n) => {
                slider.value = String(low + (n / (count - 1)) * (high - low));
                slider.dispatchEvent(new Event('input'));
                return [...texts('caption'), texts('td:nth-child(1)'), texts('td:nth-child(2)')];
              });
            }""",
            100,
        )
        for caption, groups, figures in told:
            about, _, rest = caption.partition(f" {item['label']} ")
            said[about] += 1
            if about != "At":
                continue
            word = rest.split()[0]
            value = {"none": None, "off": 0.0}.get(word) if word.isalpha() else float(word)
            value = int(word) if item["integer"] else value
            settings = bases[item["base"]].with_values({item["knob"]: value})
            truth = results.replay.figures([settings], results.metrics)
            for group, figure_told in zip(groups, figures, strict=True):
                assert figure_told == f"{truth.get(f'{group}.mrr', 0):.4f}", (item["knob"], caption)
    assert said["At"] > 50
    assert said["About, at"] > 5


def test_questions_are_searched_filtered_and_sorted(opened: Open, results: Results) -> None:
    found = opened()
    page = found.page
    worse = outcomes_of(results, results.pick().chosen.trial) == -1
    slices = results.per_query()["slice"]
    page.select_option("#filter-change", "worse")
    assert texts(page, "#questions-count") == [f"{worse.sum()} of 234 questions."]
    page.select_option("#filter-slice", "entity")
    assert texts(page, "#questions-count") == [
        f"{(worse & (slices == 'entity')).sum()} of 234 questions."
    ]
    page.select_option("#filter-change", "")
    page.select_option("#filter-slice", "")
    page.fill("#search", "FRESH-05")
    assert texts(page, "#questions-body tr td:first-child") == ["fresh-05"]
    page.fill("#search", "nothing has this text")
    assert texts(page, "#questions-body tr") == []
    page.fill("#search", "")
    page.get_by_role("button", name="question", exact=True).click()
    assert page.locator("#sort-id").get_attribute("aria-sort") == "ascending"
    ids = texts(page, "#questions-body tr td:first-child")
    assert ids == sorted(results.golden.query_ids)[: len(ids)]
    page.get_by_role("button", name="question", exact=True).click()
    assert page.locator("#sort-id").get_attribute("aria-sort") == "descending"
    page.locator("#questions-more").click()
    assert page.locator("#questions-body tr").count() == 225


def test_a_question_that_moved_is_explained(opened: Open, results: Results) -> None:
    found = opened()
    button = found.page.locator("#questions-body button").first
    query_id = button.inner_text()
    button.click()
    answer = found.page.locator("#explained-answer")
    rows = results.explain(query_id, settings={}).rows
    assert [row.item_id for row in rows] == texts(
        found.page, "#explained-answer table >> nth=0 >> tbody tr td:nth-child(2)"
    )
    assert "Recommended" in answer.inner_text()


def test_light_and_dark_are_switched_and_the_readers_place_is_kept(opened: Open) -> None:
    found = opened()
    found.chart("curve")
    found.page.locator("#curve-at").focus()
    found.page.keyboard.press("Home")
    place = found.page.locator("#curve-at").get_attribute("aria-valuetext")
    ink = "getComputedStyle(document.querySelector('#tradeoff-chart svg text')).fill"
    light = found.page.evaluate(ink)
    found.page.locator("#theme").click()
    found.page.wait_for_function(f"{ink} !== '{light}'")
    assert found.page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    found.page.wait_for_timeout(1000)  # until everything is drawn again
    assert found.page.locator("#curve-at").get_attribute("aria-valuetext") == place


def test_it_prints_black_on_white_without_its_controls(opened: Open) -> None:
    found = opened(scheme="dark")
    found.chart("curve")
    found.page.emulate_media(media="print", color_scheme="dark")
    assert not found.page.locator("nav").is_visible()
    assert not found.page.locator("#axis-x").is_visible()
    strokes = found.page.locator("#curve-chart .mark-line path").evaluate_all(
        "all => all.map((line) => getComputedStyle(line).stroke)"
    )
    assert "rgb(0, 0, 0)" in strokes  # overall, whatever the screen was
    assert "rgb(232, 234, 237)" not in strokes
    style = "getComputedStyle(document.querySelector('{}'))"
    for selector in ("body", "#tradeoff-chart .role-axis-title text"):
        part = "color" if selector == "body" else "fill"
        value = found.page.evaluate(f"{style.format(selector)}.{part}")
        assert value == "rgb(0, 0, 0)"
    assert found.page.pdf().startswith(b"%PDF")


def test_a_setting_whose_questions_are_not_held_says_so(
    opened: Open, results: Results, tmp_path: Path
) -> None:
    findings = Findings(results, results.pick())
    data = document(findings, replace(Budget(), moves=300))
    [number, *_] = [
        n for n in data["trials"]["number"] if str(n) not in data["moves"] and n != data["current"]
    ]
    path = tmp_path / "report.html"
    path.write_text(render(findings, data, *library()), "utf-8")
    found = opened(path)
    found.page.fill("#number", str(number))
    found.page.locator("#number").press("Enter")
    found.page.locator("#setting").get_by_text("does not hold this setting's questions").wait_for()
    assert set(texts(found.page, "#questions-body td:nth-child(6)")) == {"not held"}
    assert set(texts(found.page, "#questions-body td:nth-child(7)")) == {""}
    assert found.page.locator("#filter-change").is_disabled()


def test_without_scripts_the_words_and_tables_are_there(browser: Browser, report: Path) -> None:
    page = browser.new_page(java_script_enabled=False)
    page.goto(report.as_uri())
    assert page.get_by_text("This part needs JavaScript.").first.is_visible()
    assert page.locator("#recommendation .verdict").is_visible()
    assert page.locator("#slices table").is_visible()
    assert not page.locator("#axis-x").is_visible()
    page.close()


def test_planted_markup_is_text_wherever_it_is_shown(opened: Open, tmp_path: Path) -> None:
    path = write_planted_project(tmp_path)
    report = write_html_report(run_sweep(load_config(path), root=tmp_path / "results").results)
    found = opened(report)
    found.chart("curve")
    page = found.page
    numbers = page.evaluate("JSON.parse(document.getElementById('data').textContent).trials.number")
    for number in numbers:
        page.fill("#number", str(number))
        page.locator("#number").press("Enter")
    for name in ("#axis-x", "#axis-y", "#colour", "#curve-knob", "#filter-slice"):
        for value in page.locator(f"{name} option").evaluate_all("all => all.map(o => o.value)"):
            page.select_option(name, value)
    addresses = page.locator("#axis-y option").evaluate_all("all => all.map(o => o.value)")
    page.mouse.move(*found.point(numbers[0]))
    page.locator("#tip").wait_for(state="visible")
    assert page.evaluate("window.planted") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 3
    page.select_option("#filter-slice", "")
    assert HOSTILE in "".join(texts(page, "#questions-body td"))
    assert HOSTILE in "".join(texts(page, "#setting td"))
    [hostile, *_] = [value for value in addresses if HOSTILE in value]
    page.select_option("#axis-y", hostile)
    page.wait_for_function(
        "(text) => document.querySelector('#tradeoff-chart').ariaLabel.includes(text)",
        arg=HOSTILE,
    )
