"""The HTML report: it holds what the frames hold, and nothing in it can run or reach out."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import altair
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.compare import tally_values
from sweeper.config import load_config
from sweeper.errors import InputError
from sweeper.golden import GoldenSet
from sweeper.metrics import parse_metrics
from sweeper.page import MAX_BYTES, html_report, write_html_report
from sweeper.page.charts import charts
from sweeper.page.document import Budget, document
from sweeper.page.findings import Findings
from sweeper.page.knob_lines import thinned
from sweeper.page.render import render
from sweeper.pick import pick
from sweeper.pictures import tradeoff_points
from sweeper.results import Results
from sweeper.settings import Settings
from sweeper.sweep import run_sweep
from tests.builders import query as question
from tests.projects import CONFIG, ENTRIES, HOSTILE, QUESTIONS, write_planted_project, write_project


class Page(HTMLParser):
    """Elements, attributes and texts of a page, as a parser of HTML sees them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self.styles: list[str] = []
        self.texts: list[str] = []
        self._inside: str | None = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag == "style":
            self.styles.append("")
        self._inside = tag if tag in {"script", "style"} else None

    def handle_endtag(self, tag: str) -> None:
        self._inside = None

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self._inside == "style":
            self.styles[-1] += data
        else:
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())

    @property
    def policy(self) -> dict[str, list[str]]:
        [content] = [
            attributes["content"]
            for tag, attributes in self.elements
            if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
        ]
        parts = (part.split() for part in str(content).split(";"))
        return {name: sources for name, *sources in parts}

    @property
    def data(self) -> dict[str, Any]:
        [text] = [t for a, t in self.scripts if a.get("type") == "application/json"]
        found: dict[str, Any] = json.loads(text)
        return found


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def run(folder: Path, config: str = CONFIG, **rows: Any) -> Results:
    path = write_project(folder, config, **rows)
    return run_sweep(load_config(path), root=folder / "results").results


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return run(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def findings(results: Results) -> Findings:
    return Findings(results, pick(results))


@pytest.fixture(scope="module")
def page(results: Results) -> Page:
    return Page(html_report(results))


# --- one file, which reaches nothing --------------------------------------------------------------


def test_only_the_pages_own_two_scripts_may_run(page: Page) -> None:
    code = [text for attributes, text in page.scripts if attributes.get("type") is None]
    assert page.policy["default-src"] == ["'none'"]
    assert page.policy["script-src"] == [digest(text) for text in code]
    assert page.policy["style-src"] == [digest(text) for text in page.styles]
    assert page.policy["base-uri"] == page.policy["form-action"] == ["'none'"]
    assert "connect-src" not in page.policy  # so default-src holds
    assert "unsafe" not in str(page.policy)
    assert len(code) == 2


def test_nothing_is_loaded_from_elsewhere(page: Page) -> None:
    for tag, attributes in page.elements:
        assert "src" not in attributes, tag
        assert tag not in {"link", "iframe", "object", "embed", "base", "form"}
        if tag == "a":
            assert str(attributes["href"]).startswith("#")
    assert "url(" not in page.styles[0]
    assert "@import" not in page.styles[0]


@pytest.mark.slow
def test_a_page_is_small_and_the_same_every_time(results: Results) -> None:
    text = html_report(results)
    assert len(text.encode()) < 1_500_000 < MAX_BYTES == 3_000_000
    assert html_report(results) == text
    path = write_html_report(results)
    assert path == results.folder / "report.html"
    assert path.read_text("utf-8") == text


def test_every_label_and_link_leads_to_an_element(page: Page) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "href"):
            if name in attributes:
                assert str(attributes[name]).removeprefix("#") in ids
    script = page.scripts[-1][1]
    named = set(re.findall(r'byId\("([a-z-]+)"\)', script))
    assert named - set(ids) <= {"differences-chart"}


def test_every_colour_that_a_chart_names_is_one_of_the_page(page: Page) -> None:
    named = set(re.findall(r"@([a-z0-9-]+)", json.dumps(page.data["charts"])))
    named |= {colour.removeprefix("@") for colour in page.data["series"]}
    named |= set(re.findall(r'"@([a-z0-9-]+)"', page.scripts[-1][1]))
    assert named >= {"ink", "paper", "current", "pick", "series-0"}
    for name in named:
        assert f"--{name}:" in page.styles[0]


def test_the_licence_of_the_charts_is_in_the_file(page: Page) -> None:
    assert "University of Washington Interactive Data Lab" in page.text
    assert re.search(r"Vega \d+\.\d+\.\d+, Vega-Lite \d+\.\d+, Vega-Embed \d+", page.text)
    assert "expressionInterpreter" in page.scripts[1][1]  # or expressions would need eval


# --- text of other people -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Results:
    path = write_planted_project(tmp_path_factory.mktemp("planted"))
    return run_sweep(load_config(path), root=path.parent / "results").results


def test_markup_in_ids_questions_slices_and_names_is_shown_and_not_obeyed(
    planted: Results, page: Page
) -> None:
    text = html_report(planted)
    own = Page(text)
    assert [a.get("type") for a, _ in own.scripts] == ["application/json", None, None]
    assert {tag for tag, _ in own.elements} == {tag for tag, _ in page.elements}
    for _, attributes in own.elements:
        assert not [name for name in attributes if name.startswith("on")]
    assert own.policy["script-src"] == page.policy["script-src"]
    assert own.policy["style-src"] == page.policy["style-src"]
    assert HOSTILE in own.text
    assert any(HOSTILE in query_id for query_id in own.data["questions"]["id"])
    # Neither control characters nor what turns text around stand in it as they are.
    assert not re.search(
        "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u2028\u2029\u202e]",
        text.partition("window.vegaEmbed")[0].partition("<script>")[0],
    )


# --- what it says is what the frames say ----------------------------------------------------------


def test_figures_are_those_of_the_trials(results: Results, page: Page) -> None:
    data, wide = page.data, results.wide()
    assert data["trials"]["number"] == list(range(len(results.trials)))
    for figure, column in zip(data["figures"], data["trials"]["figure"], strict=True):
        assert column == [round(value, 8) for value in wide[figure["address"]].tolist()]
    told = {figure["address"] for figure in data["figures"]}
    assert told == {name for name in wide.columns if wide[name].notna().any()}
    assert data["trials"]["meets"] == results.trials["feasible"].astype(int).tolist()
    scores = results.scores()
    tallies = tally_values(scores.values, results.metrics, results.trial("current"))
    assert data["trials"]["better"] == [tally.better for tally in tallies]
    assert data["trials"]["worse"] == [tally.worse for tally in tallies]


def test_settings_are_those_of_the_trials(results: Results, page: Page) -> None:
    for place, knob in enumerate(page.data["knobs"]):
        told = [knob["values"][number] for number in page.data["trials"]["knob"][place]]
        pairs = [dict(part.split("=") for part in item.text.split()) for item in results.settings]
        assert told == [pair[knob["name"]] for pair in pairs]
    assert {knob["name"] for knob in page.data["knobs"]} == set(results.varied_knobs)


def test_first_positions_are_those_of_every_question(results: Results, page: Page) -> None:
    data = page.data
    now = results.per_query("current")
    assert data["questions"]["id"] == now["query_id"].tolist()
    assert data["questions"]["now"] == now["first_position"].tolist()
    others = [n for n in data["trials"]["number"] if n != data["current"]]
    assert sorted(map(int, data["moves"])) == others
    for number in others:
        places = list(data["questions"]["now"])
        moves = data["moves"][str(number)]
        fares = dict(zip(moves[::3], moves[2::3], strict=True))
        for query, place in zip(moves[::3], moves[1::3], strict=True):
            places[query] = place
        own = results.per_query(number)
        assert places == own["first_position"].tolist()
        names = [str(metric) for metric in results.metrics]
        rises = (own[names] > now[names]).any(axis=1)
        falls = (own[names] < now[names]).any(axis=1)
        for query in range(len(own)):
            fare = 2 if rises[query] and falls[query] else int(rises[query]) - int(falls[query])
            assert fares.get(query, 0) == fare
        place = data["trials"]["number"].index(number)
        assert list(fares.values()).count(1) == data["trials"]["better"][place]
        assert list(fares.values()).count(-1) == data["trials"]["worse"][place]


def at(line: dict[str, Any], curve: dict[str, Any], place: float) -> float:
    """Return a line's figure at a place, as the page's script reads it."""
    if place == curve["apart"]:
        return float(line["apart"])
    width = (curve["high"] - curve["low"]) / curve["resolution"]
    begins = curve["low"] + np.cumsum(line["at"]) * width
    if curve["rightClosed"]:  # a floor keeps the row whose similarity it equals
        number = max(0, int(np.searchsorted(begins, place - 1e-9, side="left")) - 1)
    else:
        number = max(0, int(np.searchsorted(begins, place + 1e-12, side="right")) - 1)
    return float(line["figure"][number] / curve["units"])


def test_curves_are_right_at_every_setting_that_was_tried(results: Results, page: Page) -> None:
    wide = results.wide()
    checked = 0
    for curve in page.data["curves"]:
        if curve["base"] != "today":
            continue
        name = curve["knob"]
        for number in results.line(name)["number"].tolist():
            value = results.settings[number].on_axis(name)
            place = curve["apart"]
            if value not in {None, 0}:
                place = np.log10(value) if curve["ratio"] else value
                if not curve["low"] <= place <= curve["high"]:
                    continue
            for metric, lines in curve["lines"].items():
                for line in lines:
                    told = at(line, curve, place)
                    truth = wide.loc[number, f"{line['slice']}.{metric}"]
                    assert told == pytest.approx(truth, abs=1e-8)
                    checked += 1
    assert checked > 20


def test_the_current_and_the_picked_value_are_marked_on_every_curve(findings: Findings) -> None:
    data = document(findings, Budget())
    assert findings.settings is not None
    for curve in data["curves"]:
        wanted = [
            item.on_axis(curve["knob"])
            for item in (findings.results.current_settings, findings.settings)
        ]
        told = [mark["value"] for mark in curve["marks"]]
        assert len(told) == 2
        base = findings.results.current_settings if curve["base"] == "today" else findings.settings
        for mark, value in zip(curve["marks"], wanted, strict=True):
            settings = base.with_values({curve["knob"]: value})
            truth = findings.results.replay.figures([settings], findings.results.metrics)
            for metric, figures in mark["figures"].items():
                for group, figure in figures.items():
                    exact = truth.get(f"{group}.{metric}", 0)
                    assert figure is None or figure == pytest.approx(exact, abs=1e-8)
        assert [float(text) for text in told if text not in {"off", "none"}] == [
            value for value in wanted if value not in {None, 0}
        ]


def test_a_question_is_explained_as_the_command_explains_it(results: Results, page: Page) -> None:
    assert page.data["explained"]
    for item in page.data["explained"]:
        query_id = page.data["questions"]["id"][item["query"]]
        answer = results.explain(query_id)
        side = item["sides"][0]
        assert side["settings"] == answer.settings.text
        assert [row[1] for row in side["rows"]] == [row.item_id for row in answer.rows]
        assert item["before"] == answer.first_position


def test_the_recommendation_stands_in_words(results: Results, page: Page) -> None:
    answer = results.pick()
    assert answer.chosen.settings.text in page.text
    assert f"p = {answer.best.p_value:.4f}" in page.text
    assert page.data["pick"] == (answer.best if answer.keep else answer.chosen).trial
    comparison = results.compare(page.data["pick"])
    for item in comparison.differences:
        assert f"{item.baseline:.4f}" in page.text
        assert f"{item.challenger:.4f}" in page.text
        assert item.finding in page.text
        told = page.data["differences"][comparison.differences.index(item)]
        if not item.n_differ:  # nothing to be unsure of
            assert (told["low"], told["high"]) == (0.0, 0.0)
        elif item.interval is not None:
            assert told["low"] == pytest.approx(item.interval.low, abs=1e-8)
            assert told["high"] == pytest.approx(item.interval.high, abs=1e-8)


def test_where_it_came_from_is_told(results: Results, page: Page) -> None:
    manifest = results.manifest
    for digest_ in (manifest["golden"]["digest"], manifest["corpus"]["digest"]):
        assert digest_[:16] in page.text
    assert manifest["spec_hash"] in page.text
    assert "recency_half_life_days:" in page.text  # the config


def test_a_setting_meets_the_constraints_of_the_recommendation(results: Results) -> None:
    figures = results.wide()["fresh.mrr"].tolist()
    middle = sorted(set(figures))[-1]
    answer = results.pick(constraints=f"fresh.mrr >= {middle}", policy="best")
    own = Page(html_report(results, answer)).data
    assert own["constraints"] == [f"fresh.mrr >= {middle}"]
    wanted = [int(value >= middle) for value in figures]
    assert own["trials"]["meets"] == wanted
    assert 0 < sum(wanted) < len(wanted)


@pytest.mark.slow
def test_a_table_that_follows_other_bounds_than_the_recommendation_says_so(
    results: Results, page: Page
) -> None:
    said = "This table follows the config's own objectives and constraints, not those asked for."
    assert said not in page.text
    for answer in (
        results.pick(constraints="fresh.mrr >= 0.1"),
        results.pick(objectives=["entity.mrr"]),
    ):
        assert said in Page(html_report(results, answer)).text


# --- whatever a sweep is like ---------------------------------------------------------------------


def test_without_a_feasible_setting_it_says_why_and_shows_the_rest(results: Results) -> None:
    own = Page(html_report(results, problem="no setting meets all constraints."))
    assert "No recommendation" in own.text
    assert "no setting meets all constraints." in own.text
    assert own.data["pick"] is None
    assert own.data["differences"] == []
    assert len(own.data["trials"]["number"]) == len(results.trials)
    assert [item["after"] for item in own.data["explained"]] == [None] * len(own.data["explained"])


@pytest.mark.parametrize(
    "space",
    [
        "{rrf_k: [1, 20]}",
        "{recency_half_life_days: [7]}",
        "{rrf_k: [60, 61]}",
    ],
)
def test_small_spaces_have_a_report(space: str, tmp_path: Path) -> None:
    config = re.sub(r"space:\n(  .*\n)+", f"space: {space}\n", CONFIG)
    own = Page(html_report(run(tmp_path, config)))
    assert own.data["nTrials"] <= 3
    assert own.data["axes"] == {"x": "entity.mrr", "y": "fresh.mrr"}


def test_one_figure_alone_is_its_own_other_axis(tmp_path: Path) -> None:
    questions = [row for row in QUESTIONS if row["slice"] == "fresh"]
    config = CONFIG.replace("metrics: [recall@1, mrr, abstention]", "metrics: [mrr]")
    config = config.partition("objectives:")[0] + "objectives: {overall.mrr: maximize}\n"
    own = Page(html_report(run(tmp_path, config, questions=questions)))
    assert set(own.data["axes"].values()) <= {"fresh.mrr", "overall.mrr"}


@pytest.mark.parametrize(
    ("metrics", "objective", "unanswerable"),
    [
        ("abstention, mrr", "fresh.mrr", False),
        ("abstention, recall@1", "fresh.recall@1", False),
        ("mrr, abstention", "fresh.mrr", True),
        ("returned", "overall.returned", False),
        ("abstention", "overall.abstention", True),
    ],
)
def test_figures_that_no_question_has_are_on_no_axis_and_no_curve(
    metrics: str, objective: str, unanswerable: bool, tmp_path: Path
) -> None:
    questions = [{**row, "expected": []} for row in QUESTIONS] if unanswerable else QUESTIONS
    if objective == "fresh.mrr" and unanswerable:
        questions = [row for row in QUESTIONS if row["expected"]]  # none to abstain from
    goal = "minimize" if "returned" in objective else "maximize"
    config = CONFIG.replace("[recall@1, mrr, abstention]", f"[{metrics}]")
    config = config.partition("objectives:")[0] + f"objectives: {{{objective}: {goal}}}\n"
    data = Page(html_report(run(tmp_path, config, questions=questions))).data
    known = {figure["address"] for figure in data["figures"]}
    assert set(data["axes"].values()) <= known
    for curve in data["curves"]:
        assert curve["lines"]
        assert all(lines for lines in curve["lines"].values())


def test_an_engine_without_candidates_has_a_report_without_curves(tmp_path: Path) -> None:
    (tmp_path / "searched.py").write_text(
        "def search(query, settings):\n"
        "    names = ['new-chair', 'new-code', 'doc-rent', 'doc-keys', 'doc-oven']\n"
        "    return names[int(settings['rrf_k']) % 3 :]\n",
        "utf-8",
    )
    config = (
        "name: small\ngolden: golden.jsonl\n"
        "engine: {kind: python, call: 'searched:search', path: ., knobs: [rrf_k]}\n"
        "current: {rrf_k: 60}\nspace: {rrf_k: [1, 2, 60]}\n"
        "metrics: [recall@1, mrr]\nobjectives: {fresh.mrr: maximize}\n"
    )
    found = run(tmp_path, config)
    own = Page(html_report(found))
    assert not found.replayable
    assert own.data["curves"] == own.data["explained"] == []
    assert "The engine shows no candidates" in own.text
    assert sorted(own.data["moves"]) == [
        str(n) for n in range(len(found.trials)) if n != own.data["current"]
    ]


# --- large sweeps ---------------------------------------------------------------------------------


def test_a_large_sweep_is_thinned_and_keeps_what_somebody_may_look_for(
    findings: Findings,
) -> None:
    results = findings.results
    data = document(findings, replace(Budget(), trials=9, moves=6, explained=1))
    drawn = data["trials"]["number"]
    assert len(drawn) == 9 < len(results.trials) == data["nTrials"]
    assert drawn == sorted(drawn)
    assert {findings.current, data["pick"]} <= set(drawn)
    assert set(results.pareto()["number"]) <= set(drawn)
    assert set(map(int, data["moves"])) <= set(drawn)
    assert sum(len(moves) // 3 for moves in data["moves"].values()) <= 6
    assert len(data["explained"]) <= 1


def test_questions_beyond_the_budget_are_left_out_and_counted(findings: Findings) -> None:
    data = document(findings, replace(Budget(), characters=150))
    shown = len(data["questions"]["id"])
    assert 0 < shown < data["nQuestions"] == len(findings.results.golden)
    for moves in data["moves"].values():
        assert all(query < shown for query in moves[::3])
    assert all(item["query"] < shown for item in data["explained"])


def test_ids_of_any_length_leave_the_page_below_its_limit(tmp_path: Path) -> None:
    entries = [{**row, "id": f"{row['id']}-{'x' * 60_000}"} for row in ENTRIES]
    questions = [
        {
            **row,
            "id": f"{row['id']}-{'y' * 60_000}",
            "expected": [f"{key}-{'x' * 60_000}" for key in row["expected"]],
        }
        for row in QUESTIONS
    ]
    found = run(tmp_path, entries=entries, questions=questions)
    assert len(html_report(found).encode()) < MAX_BYTES


def test_half_a_budget_is_half_of_everything() -> None:
    whole, half = Budget(), Budget().halved()
    for name in Budget.__dataclass_fields__:
        assert getattr(half, name) == getattr(whole, name) // 2
    assert Budget(*[1] * 7).halved() == Budget(*[1] * 7)


@given(
    st.lists(st.floats(0, 1, width=32), min_size=2, max_size=60),
    st.integers(4, 30),
    st.lists(st.floats(0, 59), max_size=3),
)
def test_a_thinned_line_keeps_its_ends_its_extremes_and_what_is_marked(
    values: list[float], steps: int, marked: list[float]
) -> None:
    places, figures = np.arange(float(len(values))), np.array(values)
    kept = thinned(places, figures, steps, marked)
    assert kept.tolist() == sorted(set(kept.tolist()))
    assert kept[0] == 0
    assert kept[-1] == len(values) - 1
    assert figures[kept].min() == figures.min()
    assert figures[kept].max() == figures.max()
    assert len(kept) <= steps + 2 * len(marked)
    for place in marked:
        number = min(int(place), len(values) - 1)
        assert number in kept
        assert min(number + 1, len(values) - 1) in kept


def test_hundreds_of_slices_are_left_out_but_for_those_that_decide(tmp_path: Path) -> None:
    questions = [{**row, "id": f"q{n}-{row['id']}", "slice": f"team-{n}-{'x' * 50}"}
                 for n in range(25) for row in QUESTIONS[:1]]  # fmt: skip
    named = f"team-24-{'x' * 50}.mrr"
    config = CONFIG.replace("recall@1, mrr", ", ".join(f"recall@{k}" for k in range(1, 21)))
    config = config.replace("abstention]", "mrr]").replace("fresh.mrr: maximize, entity.mrr", named)
    config = config.partition("constraints:")[0] + f'constraints: ["{named} >= current - 0.1"]\n'
    found = run(tmp_path, config, questions=questions)
    text = html_report(found)
    own = Page(text)
    assert len(text.encode()) < MAX_BYTES
    shown = [item["address"] for item in own.data["figures"]]
    assert len(shown) == Budget().shown < len(found.wide().columns) == 26 * 21
    assert shown[0] == named
    assert {f"overall.{metric}" for metric in found.metrics} <= set(shown)
    assert "480 of 546 figures of slices and metrics are in this report" in own.text
    assert f"sweep show {found.address} --trial NUMBER" in own.text
    for curve in own.data["curves"]:
        for metric, lines in curve["lines"].items():
            assert {f"{line['slice']}.{metric}" for line in lines} <= set(shown)


def test_a_config_that_no_page_can_hold_is_refused_at_once(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    def late(*_: object) -> None:
        raise AssertionError("the recommendation was computed first")

    monkeypatch.setattr("sweeper.page.pick", late)
    monkeypatch.setattr("sweeper.page._ROOM", MAX_BYTES - 100)
    with pytest.raises(InputError, match=r"its config has \d+ bytes.* room for 100"):
        html_report(results)


def test_a_page_that_has_no_room_says_which_part_takes_it(
    results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sweeper.page._ROOM", 0)
    monkeypatch.setattr("sweeper.page._SMALLEST", 1)
    monkeypatch.setattr("sweeper.page.MAX_BYTES", 100_000)
    with pytest.raises(InputError, match=r'largest part, ".+", takes [\d,]+ characters'):
        html_report(results, problem="none")


# --- names and figures of every kind --------------------------------------------------------------


def test_slices_that_look_alike_once_escaped_stay_apart(tmp_path: Path) -> None:
    literal, control = r"a\x07", "a\x07"
    names = {"entity": control, "fresh": literal, "nothing": "b"}
    questions = [{**row, "slice": names[row["slice"]]} for row in QUESTIONS]
    config = CONFIG.partition("objectives:")[0] + "objectives: {overall.mrr: maximize}\n"
    found = run(tmp_path, config, questions=questions)
    data = Page(html_report(found)).data
    told = {control: rf"{literal} (2)", literal: literal}
    addresses = [item["address"] for item in data["figures"]]
    assert len(set(addresses)) == len(addresses)
    wide = found.wide()
    for slice_, name in told.items():
        column = data["trials"]["figure"][addresses.index(f"{name}.mrr")]
        assert column == pytest.approx(wide[f"{slice_}.mrr"].tolist(), abs=1e-8)
    assert sorted(data["questions"]["slices"]) == sorted([*told.values(), "b"])
    for curve in data["curves"]:
        assert {line["slice"] for line in curve["lines"]["mrr"]} == {*told.values(), "overall"}
        for mark in curve["marks"]:
            assert set(mark["figures"]["mrr"]) == {*told.values(), "overall"}


def test_a_metric_of_which_less_is_better_is_in_the_table_of_slices(tmp_path: Path) -> None:
    config = CONFIG.replace("[recall@1, mrr, abstention]", "[mrr, returned]")
    found = run(tmp_path, config.partition("constraints:")[0])
    floored = next(n for n, item in enumerate(found.settings) if item.min_similarity == 0.3)
    answer = found.pick(policy="best")
    chosen = replace(answer.best, trial=floored, settings=found.settings[floored])
    findings = Findings(found, replace(answer, chosen=chosen, keep=False))
    wide = found.wide()
    rows = {(item.slice, item.metric): item for item in findings.differences}
    for group in ("entity", "fresh", "nothing", "overall"):
        item = rows[group, "returned"]
        now, then = (wide.loc[n, f"{group}.returned"] for n in (findings.current, floored))
        assert (item.baseline, item.challenger) == (now, then)
        assert item.interval is not None
        assert item.interval.low <= item.difference <= item.interval.high
    assert rows["overall", "returned"].difference < 0
    # The rest is what sweep compare says.
    assert findings.comparison is not None
    assert set(findings.comparison.differences) <= set(findings.differences)
    page = render(findings, document(findings, Budget()), "", "")
    assert "returned (less is better)" in Page(page).text
    assert "The less there is of returned, the better." in Page(page).text


def test_fewer_rows_are_better_where_less_is_better() -> None:
    n = 40
    queries = tuple(question(["a"], f"q{place}", "one") for place in range(n))
    values = {"returned": np.array([[10.0] * n, [4.0] * n])}
    results = SimpleNamespace(
        metrics=parse_metrics(["returned"]),
        golden=GoldenSet(queries),
        settings=[Settings(limit=10)] * 2,
        scores=lambda trials: SimpleNamespace(values=values),
        trial=lambda name: 0,
    )
    findings = Findings(results, None)  # type: ignore[arg-type]
    findings.__dict__["subject"] = SimpleNamespace(trial=1)
    found = list(findings._where_less_is_better())
    assert [item.finding for item in found] == ["better", "better"]
    assert [(item.baseline, item.challenger) for item in found] == [(10.0, 4.0)] * 2
    values["returned"] = values["returned"][::-1]
    assert [item.finding for item in findings._where_less_is_better()] == ["worse", "worse"]


# --- charts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(charts()))
def test_a_chart_is_valid_vega_lite(name: str) -> None:
    altair.Chart.from_dict(charts()[name], validate=True)


def test_a_figure_that_never_changes_has_no_say_in_an_axis(tmp_path: Path) -> None:
    config = CONFIG.replace("[recall@1, mrr, abstention]", "[mrr, returned]")
    data = Page(html_report(run(tmp_path, config))).data
    [curve, *_] = [c for c in data["curves"] if c["knob"] == "recency_half_life_days"]
    assert curve["ratio"]
    assert "returned" in curve["lines"]


def test_the_front_of_a_figure_of_which_less_is_better_holds_the_lowest(tmp_path: Path) -> None:
    config = CONFIG.replace("[recall@1, mrr, abstention]", "[mrr, returned]")
    found = run(tmp_path, config)
    x, y = "overall.returned", "overall.mrr"
    points = tradeoff_points(found, x, y)
    for row in points[points["on_front"]].itertuples(index=False):
        values = dict(zip(points.columns, row, strict=True))
        beats = (points[x] <= values[x]) & (points[y] >= values[y])
        strictly = (points[x] < values[x]) | (points[y] > values[y])
        assert not (beats & strictly).any()
    assert points.loc[points["on_front"], x].min() == points[x].min()
    assert "better" in found.plot_tradeoff(x, y).get_title(loc="right")
