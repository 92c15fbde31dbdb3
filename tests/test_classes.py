"""The class of a question: where it comes from, what it may be called, and where it is kept."""

from __future__ import annotations

import itertools
import json
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.classes import with_classes
from sweeper.config import Config, load_config
from sweeper.errors import InputError
from sweeper.formats import read_golden, write_golden
from sweeper.golden import GoldenSet, Query, Route
from sweeper.metrics import parse_metric
from sweeper.opening import read_inputs
from sweeper.results import load
from sweeper.routing import classify
from sweeper.runs import Judgments, Run
from sweeper.sweep import run_sweep
from tests.projects import CONFIG, QUESTIONS, write_project

NUMBERS = itertools.count()
CLASSES = {"q1": "lookup", "q3": "code", "q4": "lookup"}
LABELLED = [{**row, "class": CLASSES.get(row["id"])} for row in QUESTIONS]


def project(folder: Path, extra: str = "", **files: object) -> Config:
    config = CONFIG.replace("space:", f"{extra}space:")
    return load_config(write_project(folder, config, **files))  # type: ignore[arg-type]


def routed(config: Config) -> GoldenSet:
    return read_inputs(config).golden


def of_each(golden: GoldenSet) -> dict[str, str | None]:
    return {query.query_id: query.query_class for query in golden.queries}


def by_function(folder: Path, body: str, call: str = "classify") -> Config:
    """Write a module of a name that no other test imports."""
    name = f"own_classes_{next(NUMBERS)}"
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(body)
    return project(folder, f'classes: {{call: "{name}:{call}", path: .}}\n')


def refusal(config: Config) -> str:
    with pytest.raises(InputError) as caught:
        routed(config)
    return str(caught.value).replace(str(config.path.parent), ".")


# --- where classes come from ----------------------------------------------------------------------


def test_without_classes_in_the_config_nothing_is_routed(tmp_path: Path) -> None:
    golden = routed(project(tmp_path))
    assert set(of_each(golden).values()) == {None}
    assert golden == read_golden(tmp_path / "golden.jsonl")


@pytest.mark.parametrize(
    "extra",
    [
        "classes: rules\n",
        "arms: {small: {routing: {code: {budget: 1}}}}\n",
        "arms: {small: {routing.impact.triples_weight: safe}}\n",  # no question has it: it might
    ],
)
def test_rules_decide_where_the_config_says_so_or_a_knob_names_a_class(
    tmp_path: Path, extra: str
) -> None:
    golden = routed(project(tmp_path, extra))
    assert [query.route for query in golden.queries] == [
        classify(row["query"]) for row in QUESTIONS
    ]
    assert of_each(golden)["q3"] == "code"


def test_golden_rows_decide_and_a_slice_where_a_row_has_no_class(tmp_path: Path) -> None:
    golden = routed(project(tmp_path, "classes: golden\n", questions=LABELLED))
    routes = {query.query_id: query.route for query in golden.queries}
    assert routes["q1"] == Route("lookup", "the golden row's class")
    assert routes["q3"] == Route("code", "the golden row's class")
    assert routes["q2"] == Route("entity", "the golden row's slice")
    assert routes["q6"] == Route("nothing", "the golden row's slice")


def test_a_function_decides_and_is_called_once_per_question(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = by_function(
        tmp_path,
        "from pathlib import Path\n"
        "def classify(text):\n"
        "    print('reading', text)\n"
        "    with Path(__file__).with_name('asked').open('a') as file:\n"
        "        file.write(text + '\\n')\n"
        "    return 'long' if len(text) > 10 else 'short'\n",
    )
    results = run_sweep(config, root=tmp_path / "results").results
    asked = (tmp_path / "asked").read_text().splitlines()
    assert asked == [row["query"] for row in QUESTIONS]
    assert of_each(results.golden) == {
        row["id"]: "long" if len(row["query"]) > 10 else "short" for row in QUESTIONS
    }
    call = config.file.classes.call  # type: ignore[union-attr]
    assert {q.route.rule for q in results.golden.queries if q.route} == {call}
    shown = capsys.readouterr()
    assert "reading" not in shown.out  # stdout belongs to the command
    assert "reading rent of the shed" in shown.err


def test_a_function_may_import_what_stands_beside_it_when_it_is_called(tmp_path: Path) -> None:
    beside = f"beside_{next(NUMBERS)}"
    (tmp_path / f"{beside}.py").write_text("NAME = 'near'\n")
    config = by_function(
        tmp_path, f"def classify(text):\n    import {beside}\n    return {beside}.NAME\n"
    )
    before = list(sys.path)
    assert set(of_each(routed(config)).values()) == {"near"}
    assert sys.path == before


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (
            "arms: {a: {routing.lokup.budget: 2}}\n",
            './sweep.yaml: routing.lokup: no question has the class "lokup". '
            'Did you mean "lookup"?',
        ),
        (
            "classes: golden\narms: {a: {routing: {impact: {weights.vector: 0}}}}\n",
            './sweep.yaml: routing.impact: no question has the class "impact". '
            "Choose from: code, entity, fresh, lookup, nothing.",
        ),
    ],
)
def test_a_knob_of_a_class_that_no_question_has_is_refused(
    tmp_path: Path, extra: str, said: str
) -> None:
    assert refusal(project(tmp_path, extra, questions=LABELLED)) == said


def test_a_slice_that_cannot_be_a_class_is_refused_with_the_question(tmp_path: Path) -> None:
    questions = [{**QUESTIONS[0], "slice": "two words"}, *QUESTIONS[1:]]
    config = CONFIG.replace("entity.mrr: maximize", "overall.mrr: maximize")
    config = config.replace("space:", "classes: golden\nspace:")
    loaded = load_config(write_project(tmp_path, config, questions=questions))
    assert refusal(loaded) == (
        "golden.jsonl: question 'q1' has no class, and its slice 'two words' cannot be one: use "
        "letters, digits, - and _, or give the row a class."
    )


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("raise KeyError(text)", "failed at question 'q1' (KeyError: 'rent of the shed')."),
        ("raise SystemExit(3)", "failed at question 'q1' (SystemExit: 3)."),
        ("import not_there_at_all", "failed at question 'q1' (ModuleNotFoundError: No module"),
        ("return None", "returned None for question 'q1'. Return a class as text of letters, "),
        ("return 7", "returned an int for question 'q1'."),
        ("return ['lookup']", "returned a list for question 'q1'."),
        ("return 'two words'", "returned 'two words' for question 'q1'."),
        ("return ''", "returned '' for question 'q1'."),
        ("return 'a.b'", "returned 'a.b' for question 'q1'."),
        ("return 'lookup\\n'", "returned 'lookup\\n' for question 'q1'."),
        ("return 'a' if 'rent' in text else None", "returned None for question 'q2'."),
    ],
)
def test_a_function_that_names_no_class_is_refused_with_the_question(
    tmp_path: Path, body: str, said: str
) -> None:
    config = by_function(tmp_path, f"def classify(text):\n    {body}\n")
    call = config.file.classes.call  # type: ignore[union-attr]
    assert refusal(config).startswith(f"classes.call: {call} {said}")


def test_a_function_or_module_that_is_missing_is_refused(tmp_path: Path) -> None:
    config = by_function(tmp_path, "def classify(text):\n    return 'a'\n", call="clasify")
    assert refusal(config).endswith('has no "clasify". Did you mean "classify"?')
    config = project(tmp_path, 'classes: {call: "not_there_at_all:f", path: sub}\n')
    assert refusal(config) == (
        'classes.call: cannot import "not_there_at_all" (ModuleNotFoundError: No module named '
        "'not_there_at_all'). Check the name, and that it is below ./sub."
    )
    config = project(tmp_path, 'classes: {call: "not_there_at_all:f"}\n')
    assert refusal(config).endswith("Check the name, and that classes.path names its folder.")
    config = project(tmp_path, "classes: {call: no-colon}\n")
    assert refusal(config) == ('classes.call: write "module:function", such as "mysearch:search".')
    config = by_function(tmp_path, "classify = 3\n")
    assert refusal(config).endswith(":classify is an int, not a function.")


# --- labels and class_accuracy --------------------------------------------------------------------


def test_a_slice_labels_a_row_only_where_it_is_one_of_the_rules_classes(tmp_path: Path) -> None:
    slices = {"q1": "lookup", "q2": "relational", "q3": "nonsense", "q4": "code"}
    questions = [
        {**row, "slice": slices.get(row["id"], "lookup"), **label}
        for row, label in zip(QUESTIONS, [{}, {}, {}, {"class": "impact"}, {}, {}], strict=True)
    ]
    config = CONFIG.replace(
        "{fresh.mrr: maximize, entity.mrr: maximize}", "{overall.mrr: maximize}"
    )
    config = config.replace("entity.mrr >=", "overall.mrr >=")
    loaded = load_config(write_project(tmp_path, config + "classes: rules\n", questions=questions))
    labels = {query.query_id: query.label for query in routed(loaded).queries}
    assert labels == {
        **{"q1": "lookup", "q2": "relational", "q3": None},
        **{"q4": "impact", "q5": "lookup", "q6": "lookup"},
    }


def routed_query(query_id: str, group: str, label: str | None, route: str | None) -> Query:
    return Query(
        query_id,
        group,
        "text",
        (),
        label=label,
        route=None if route is None else Route(route, "told"),
    )


def test_class_accuracy_is_the_share_of_labelled_and_routed_questions_that_are_right() -> None:
    golden = GoldenSet(
        (
            routed_query("1", "a", "lookup", "lookup"),
            routed_query("2", "a", "lookup", "code"),
            routed_query("3", "a", None, "code"),
            routed_query("4", "b", "code", "code"),
            routed_query("5", "b", "code", None),
        )
    )
    judgments = Judgments(golden)
    metric = parse_metric("class_accuracy")
    positions = Run(dict.fromkeys(golden.query_ids, ())).positions(judgments)
    assert metric.queries(judgments).tolist() == [0, 1, 3]
    assert metric.values(positions).tolist() == [[1.0, 0.0, 1.0]]


def test_class_accuracy_has_a_figure_per_slice_that_is_the_same_in_every_trial(
    tmp_path: Path,
) -> None:
    config = CONFIG.replace("abstention]", "abstention, class_accuracy]")
    config = config.replace("space:", "classes: rules\nspace:")
    labels = {"q1": "lookup", "q2": "conceptual", "q3": "code", "q4": "code"}
    questions = [{**row, "class": labels.get(row["id"])} for row in QUESTIONS]
    loaded = load_config(write_project(tmp_path, config, questions=questions))
    results = run_sweep(loaded, root=tmp_path / "results").results
    routes = [classify(row["query"]).query_class for row in QUESTIONS]
    assert routes[:4] == ["lookup", "lookup", "code", "relational"]
    own = results.figures[results.figures["metric"] == "class_accuracy"]
    for group, value, n_queries in (("entity", 2 / 3, 3), ("fresh", 0, 1), ("overall", 2 / 4, 4)):
        rows = own[own["slice"] == group]
        assert rows["value"].tolist() == [value] * len(results.trials)
        assert set(rows["n_queries"]) == {n_queries}
    assert own[own["slice"] == "nothing"]["value"].isna().all()


# --- what is kept ---------------------------------------------------------------------------------

PLAIN = GoldenSet(
    (
        Query(
            *("q1", "entity", "Who chairs the club?", ("ada", "ben")),
            {"ada": 2.0},
            ("cy",),
            {"team": "a"},
            "ada",
        ),
        Query("q2", "fresh", "E-17", ()),
    )
)


def test_the_digest_of_a_golden_set_without_classes_is_what_it_was() -> None:
    # As commit 1cdefd0 computed it: pools and sweeps are found by it.
    assert PLAIN.digest == "435e937813b80bc390aabff57b5aa2387300520a4d0a6a1a7d4d065a27e0712c"


def test_the_digest_changes_with_a_route_and_its_label_and_not_with_its_rule() -> None:
    def digest(**changes: object) -> str:
        first, second = PLAIN.queries
        return GoldenSet((first, replace(second, **changes))).digest  # type: ignore[arg-type]

    seen = [
        PLAIN.digest,
        digest(route=Route("code", "one")),
        digest(route=Route("lookup", "one")),
        digest(label="code", route=Route("code", "one")),
        digest(label="lookup", route=Route("code", "one")),
    ]
    assert len(set(seen)) == len(seen)
    assert digest(route=Route("code", "another")) == seen[1]
    assert digest(label="code") == PLAIN.digest  # it counts where questions are routed


def test_a_finished_sweep_keeps_how_each_question_was_routed(tmp_path: Path) -> None:
    config = project(tmp_path, "classes: golden\n", questions=LABELLED)
    folder = run_sweep(config, root=tmp_path / "results").results.folder
    before = routed(config)
    (tmp_path / "golden.jsonl").unlink()
    kept = load(folder).golden
    assert kept.queries == before.queries
    assert kept.digest == before.digest
    assert kept.queries[0].route == Route("lookup", "the golden row's class")


@pytest.mark.parametrize("suffix", ["jsonl", "json", "yaml", "csv", "tsv"])
def test_labels_and_routes_are_read_as_they_are_written(tmp_path: Path, suffix: str) -> None:
    golden = GoldenSet(
        (
            replace(PLAIN.queries[0], label="1", route=Route("no", 'says "a, b"\nand c')),
            replace(PLAIN.queries[1], label="-_", route=None),
            Query("q3", "s", "text", (), route=Route("null-", "asks who")),
            Query("q4", "s", "text", ()),
        )
    )
    path = tmp_path / f"golden.{suffix}"
    write_golden(path, golden)
    assert read_golden(path).queries == golden.queries


NAMES = st.from_regex(r"[A-Za-z0-9_-]{1,6}", fullmatch=True)


@given(st.sampled_from(["jsonl", "json", "yaml", "csv"]), NAMES, NAMES)
def test_any_name_of_a_class_is_read_as_it_is_written(suffix: str, label: str, name: str) -> None:
    query = replace(PLAIN.queries[0], label=label, route=Route(name, "told"))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"golden.{suffix}")
        write_golden(path, GoldenSet((query,)))
        assert read_golden(path).queries == (query,)


@pytest.mark.parametrize(
    "fields",
    [
        {"class": "Question about food"},
        {"class": ["food", "drink"]},
        {"classes": "food"},
        {"routed_as": "two words", "rule": "a rule"},
        {"routed_as": "code"},
        {"rule": ["of", "somebody"]},
    ],
)
def test_what_another_tool_calls_a_class_or_rule_stops_nobody_who_does_not_route(
    tmp_path: Path, fields: dict[str, object]
) -> None:
    path = tmp_path / "golden.jsonl"
    path.write_text(json.dumps({"query": "x", "expected": [], **fields}) + "\n")
    [query] = read_golden(path).queries
    assert query.route is None
    plain = tmp_path / "plain.jsonl"
    plain.write_text('{"query": "x", "expected": []}\n')
    assert read_golden(path).digest == read_golden(plain).digest


@pytest.mark.parametrize("how", ["rules", "golden"])
def test_a_label_that_cannot_be_a_class_is_refused_only_where_it_routes(
    tmp_path: Path, how: str
) -> None:
    rows = [{**QUESTIONS[0], "class": "two words"}, *QUESTIONS[1:]]
    config = project(tmp_path, f"classes: {how}\n", questions=rows)
    if how == "golden":
        with pytest.raises(InputError, match=r"has the class 'two words', which cannot be one"):
            routed(config)
    else:
        assert with_classes(config, routed(config)).queries[0].label is None


def test_a_golden_set_with_routes_is_routed_anew(tmp_path: Path) -> None:
    row = {**QUESTIONS[0], "routed_as": "impact", "rule": "of old"}
    config = project(tmp_path, "classes: rules\n", questions=[row, *QUESTIONS[1:]])
    assert with_classes(config, routed(config)).queries[0].route == classify(row["query"])
