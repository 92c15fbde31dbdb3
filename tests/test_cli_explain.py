"""``sweep explain``."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.projects import CONFIG, Done, invoke, write_project, write_rows


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explain")
    config = write_project(folder)
    done = invoke("run", config, "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    return folder / "results"


def explain(results: Path, query: str, *options: object) -> Done:
    return invoke("explain", "small", query, "--results", results, *options)


def test_every_row_stands_with_its_ranks_ages_and_score(results: Path) -> None:
    done = explain(results, "q5", "--settings", "recency_half_life_days=30")
    assert done.exit_code == 0, done.stderr
    assert "q5 (fresh): door code" in done.stdout
    assert "expected: new-code, doc-keys" in done.stdout
    [row] = [line for line in done.stdout.splitlines() if line.split()[1:2] == ["new-code"]]
    assert row.startswith("*")
    assert "20.0 d" in row
    assert f"{2 ** (-20 / 30):.4f}" in row


def test_json_holds_rows_and_remedies(results: Path) -> None:
    document = explain(results, "q4", "--json").document
    assert document["schema"] == "sweep.explain/1"
    assert document["query"] == "q4"
    assert [row["position"] for row in document["rows"]] == list(
        range(1, len(document["rows"]) + 1)
    )
    assert document["first_position"] == next(
        row["position"] for row in document["rows"] if row["key"] == "new-chair"
    )
    for remedy in document["remedies"]:
        assert remedy["position"] < document["first_position"]


def test_a_remedy_says_who_overtakes_whom_and_when(results: Path) -> None:
    # The rows tie but for age; with a little decay the newer leads.
    answers = [explain(results, query, "--json").document for query in ("q1", "q2", "q4", "q5")]
    remedies = [(a["query"], remedy) for a in answers for remedy in a["remedies"]]
    overtaking = [(query, remedy) for query, remedy in remedies if remedy["other_id"]]
    assert overtaking
    for query, remedy in overtaking:
        said = explain(results, query).stdout
        assert f"it overtakes {remedy['other_id']} at {remedy['at']:.6g}" in said


def test_a_document_that_the_floor_cuts_is_named(results: Path) -> None:
    done = explain(
        results, "q5", "--settings", "min_similarity=1", "--settings", "weights.lexical=0"
    )
    assert "is cut by the floor of 1" in done.stdout


def test_an_unanswerable_question_says_so(results: Path) -> None:
    done = explain(results, "q6")
    assert done.exit_code == 0
    assert "it has no answer" in done.stdout


def test_markdown_is_a_table(results: Path) -> None:
    assert "| --- |" in explain(results, "q4", "--markdown").stdout


def test_an_unknown_question_gets_a_hint(results: Path) -> None:
    done = explain(results, "q55")
    assert done.exit_code == 2
    assert 'has no question "q55"' in done.stderr


def test_without_classes_facts_and_a_prior_nothing_is_said_of_them(results: Path) -> None:
    said = explain(results, "q4").stdout
    lines = said.splitlines()
    assert lines[2].startswith("under: ")
    assert lines[3] == ""
    assert lines[4].split() == ["row", "vector", "lexical", "age", "factor", "score"]
    for word in ("class:", "weights:", "budget:", "prior", "Facts", "Not tried"):
        assert word not in said
    document = explain(results, "q4", "--json").document
    assert document["weights"] == {"vector": 1.0, "lexical": 1.0}
    assert [document[key] for key in ("class", "rule", "label", "budget")] == [None] * 4
    assert (document["evidence"], document["untried"]) == ({}, [])


# --- question classes, typed facts, past usage ----------------------------------------------------

STEER = "\x1b[31m"
PAGES = (
    {"id": "people-ada", "text": "Ada owns the pump. Ada chairs the club. Ada sails. Ada reads."},
    {
        "id": "docs-pump",
        "text": f"The pump {STEER} needs\nthe valve | daily.\nThe pump holds water.",
    },
    {"id": "docs-valve", "text": "The valve is made by Quay."},
    {"id": "docs-keys", "text": "Keys hang in the green box, three of them."},
)
QUESTIONS = (
    {"id": "r1", "slice": "who", "query": "Who owns the pump?", "expected": ["people-ada"]},
    {
        "id": "l1",
        "slice": "many",
        "query": "How many keys hang in the box?",
        "expected": ["docs-keys"],
        "class": "conceptual",
    },
    {
        "id": "r2",
        "slice": "who",
        "query": "Who owns the green box?",
        "expected": ["docs-pump", "docs-valve"],
    },
    {
        "id": "r3",
        "slice": "who",
        "query": "Who keeps keys of Quay in the green box?",
        "expected": ["docs-valve"],
    },
)
TRIPLES = [
    ["Ada", "owns", "pump", "Ada owns the pump.", "people-ada"],
    ["Ada", "chairs", "club", "Ada chairs the club.", "people-ada"],
    ["Ada", "does", "sailing", "Ada sails.", "people-ada"],
    ["Ada", "does", "reading", "Ada reads.", "people-ada"],
    ["pump", f"needs {STEER}", "valve", f"The pump {STEER} needs\nthe valve | daily.", "docs-pump"],
    ["valve", "made by", "Quay", "The valve is made by Quay.", "docs-valve"],
]
LOG = tuple(
    {"question": text, "offered": ["docs-pump", page], "cited": cited, "time": 1_790_000_000}
    for text, page, cited in (
        ("who sails", "people-ada", ["people-ada"]),
        ("what is green", "docs-keys", []),
    )
)
ROUTED = """\
name: routed
golden: golden.jsonl
classes: rules
engine:
  kind: embedded
  corpus: corpus.jsonl
  triples: {path: triples.json, hops: 2}
usage:
  log: {path: usage.jsonl}
as_of: 2026-11-01T00:00:00Z
current: {limit: 4, depth: 4, rrf_k: 60, triples_weight: 0}
arms:
  routing:
    routing:
      relational: {budget: 2, weights.vector: 0.5, triples_weight: 0.02}
      lookup: {budget: 1}
  safe: {triples_weight: safe}
  prior: {prior.strength: 2}
metrics: [recall@1, mrr]
objectives: {overall.mrr: maximize}
"""


@pytest.fixture(scope="module")
def routed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("routed")
    config = write_project(folder, ROUTED, entries=PAGES, questions=QUESTIONS)
    names = ("subject", "predicate", "object", "sentence", "page")
    rows = [dict(zip(names, row, strict=True)) for row in TRIPLES]
    (folder / "triples.json").write_text(json.dumps(rows), encoding="utf-8")
    write_rows(folder / "usage.jsonl", LOG)
    done = invoke("run", config, "--results", folder / "results", "--no-plots")
    assert done.exit_code == 0, done.stderr
    return folder / "results"


def routed_document(results: Path, query: str, *options: object) -> Mapping[str, Any]:
    return invoke("explain", "routed", query, "--results", results, "--json", *options).document


def routed_text(results: Path, query: str, *options: object) -> str:
    done = invoke("explain", "routed", query, "--results", results, *options)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def test_a_routed_question_shows_its_class_and_what_it_changes(routed: Path) -> None:
    lines = routed_text(routed, "r1", "--trial", "routing").splitlines()
    assert lines[2].startswith("under: ")
    assert lines[3:6] == [
        "class: relational (rule: asks who)",
        "weights: vector 0.5 (1 without routing), lexical 1, triples 0.02 (0 without routing)",
        "budget: 2 (limit 4)",
    ]
    document = routed_document(routed, "r1", "--trial", "routing")
    assert document["weights"] == {"vector": 0.5, "lexical": 1.0, "triples": 0.02}
    assert (document["class"], document["rule"]) == ("relational", "asks who")
    assert document["budget"] == len(document["rows"]) == 2


def test_a_label_that_differs_from_the_class_is_shown(routed: Path) -> None:
    lines = routed_text(routed, "l1").splitlines()
    assert lines[3] == "class: lookup (rule: asks for a number or date); its row says conceptual"
    assert lines[4] == "weights: vector 1, lexical 1, triples 0"
    assert lines[5] == "budget: none (limit 4)"
    assert routed_document(routed, "l1")["label"] == "conceptual"
    assert "its row says" not in routed_text(routed, "r1")


def test_a_page_beyond_the_budget_is_not_said_to_be_beyond_the_limit(routed: Path) -> None:
    said = routed_text(routed, "r2", "--trial", "routing")
    assert "beyond the budget (routing.relational.budget) of 2." in said
    assert "beyond the limit" not in said


def test_a_safe_weight_is_said_to_be_safe_and_what_follows_it_untried(routed: Path) -> None:
    said = routed_text(routed, "r2", "--trial", "safe")
    # 0.99 times the weight 1, times 61 / (69 * 70).
    assert f"triples {0.99 * 61 / (69 * 70):.6g} (safe)" in said
    document = routed_document(routed, "r2", "--trial", "safe")
    assert document["first_position"] != 1
    assert f"Not tried: {', '.join(document['untried'])}, which" in said
    assert "weights.triples" not in "".join(document["untried"])


def test_facts_stand_below_the_rows_three_of_a_row_at_most(routed: Path) -> None:
    said = routed_text(routed, "r1", "--trial", "routing")
    _, _, facts = said.partition("Facts that led to rows:\n")
    assert facts.startswith(
        "  people-ada@0\n"
        "    Ada - owns - pump (hop 1, from pump)\n"
        '      people-ada: "Ada owns the pump."\n'
        "    Ada - chairs - club (hop 2, from Ada)\n"
    )
    assert "sailing" in facts
    assert "reading" not in facts
    assert facts.endswith("4 of 5 facts, the first 3 of a row; --json has all.\n")
    evidence = routed_document(routed, "r1", "--trial", "routing")["evidence"]
    assert [fact["object"] for fact in evidence["people-ada@0"]] == [
        *("pump", "club", "sailing", "reading")
    ]
    assert evidence["people-ada@0"][0] == {
        "subject": "Ada",
        "predicate": "owns",
        "object": "pump",
        "sentence": "Ada owns the pump.",
        "page": "people-ada",
        "hop": 1,
        "entity": "pump",
    }


def test_only_returned_rows_that_facts_led_to_are_listed(routed: Path) -> None:
    document = routed_document(routed, "r1", "--settings", "triples_weight=0.02")
    led = [row["item_id"] for row in document["rows"] if "triples" in row["ranks"]]
    assert list(document["evidence"]) == led
    assert len(led) < len(document["rows"])
    off = routed_text(routed, "r1", "--settings", "weights.triples=0")
    assert "Facts" not in off


@pytest.mark.parametrize("form", [(), ("--markdown",)])
def test_a_quoted_sentence_steers_no_terminal_and_makes_no_line(
    routed: Path, form: tuple[str, ...]
) -> None:
    said = routed_text(routed, "r1", "--settings", "triples_weight=0.02", *form)
    assert "\x1b" not in said
    assert "needs the valve" in said
    assert not any(line.startswith("the valve") for line in said.splitlines())


def test_facts_are_a_table_in_markdown(routed: Path) -> None:
    said = routed_text(routed, "r1", "--settings", "triples_weight=0.02", "--markdown")
    assert "| row | fact | hop | from | page | sentence |" in said
    assert (
        "| people-ada@0 | Ada - owns - pump | 1 | pump | people-ada | Ada owns the pump. |" in said
    )
    [row] = [line for line in said.splitlines() if line.startswith("| docs-pump@0 | pump - needs")]
    assert "valve \\| daily" in row


def test_the_prior_has_a_column_where_it_is_on(routed: Path) -> None:
    assert " prior " not in routed_text(routed, "r1")
    said = routed_text(routed, "r1", "--trial", "prior")
    [head] = [line for line in said.splitlines() if line.split()[:1] == ["row"]]
    assert head.split()[-3:] == ["factor", "prior", "score"]
    assert "factor and prior multiply the score." in said
    rows = routed_document(routed, "r1", "--trial", "prior")["rows"]
    assert any(row["prior"] != 1 for row in rows)
    for row in rows:
        [line] = [at for at in said.splitlines() if at.split()[1:2] == [row["item_id"]]]
        assert line.split()[-2:] == [f"{row['prior']:.4f}", f"{row['score']:.6f}"]
        assert row["score"] == row["fused"] * row["factor"] * row["prior"]


def test_a_remedy_is_named_by_where_the_class_sets_its_weight(routed: Path) -> None:
    options = ("--trial", "routing", "--settings", "routing.relational.budget=4")
    document = routed_document(routed, "r3", *options)
    knobs = {item["knob"] for item in document["remedies"]}
    assert "routing.relational.weights.triples" in knobs
    assert not knobs & {"weights.vector", "weights.triples"}
    for item in document["remedies"]:
        middle = item["low"] if item["knob"] == "rrf_k" else (item["low"] * item["high"]) ** 0.5
        changed = routed_document(routed, "r3", *options, "--settings", f"{item['knob']}={middle}")
        assert changed["first_position"] == item["position"] < document["first_position"]


# --- other names of a weight of triples -----------------------------------------------------------


def test_the_weight_of_triples_has_a_short_name_in_settings(routed: Path) -> None:
    for short, full in (
        ("triples_weight", "weights.triples"),
        ("routing.relational.triples_weight", "routing.relational.weights.triples"),
    ):
        one = routed_document(routed, "r1", "--settings", f"{short}=0.03")
        other = routed_document(routed, "r1", "--settings", f"{full}=0.03")
        assert one == other
        assert one["settings"][full] == one["weights"]["triples"] == 0.03
    done = invoke(
        *("explain", "routed", "r1", "--results", routed, "--settings", "triples_weight=-1")
    )
    assert done.exit_code == 2
    assert "--settings: triples_weight: must be" in done.stderr


def test_the_weight_of_triples_has_a_short_name_for_its_curve(routed: Path) -> None:
    for short, full in (
        ("triples_weight", "weights.triples"),
        ("routing.relational.triples_weight", "routing.relational.weights.triples"),
    ):
        options = ("curve", "routed", "--results", routed, "--trial", "routing", "--json")
        one, other = (invoke(*options, "--knob", name).document for name in (short, full))
        assert one == other
        assert one["knob"] == full


def test_a_curve_of_a_class_that_no_question_has_is_refused(routed: Path) -> None:
    done = invoke("curve", "routed", "--results", routed, "--knob", "routing.code.weights.vector")
    assert done.exit_code == 2
    assert "has no exact curve" in done.stderr


def test_it_is_said_as_whom_a_question_is_asked(tmp_path: Path) -> None:
    asked = [{"id": "q1", "query": "rent of the shed", "expected": ["doc-rent"], "user": "ada"}]
    plain = [{"id": "q2", "query": "where are the keys", "expected": ["doc-keys"]}]
    config = CONFIG.partition("constraints")[0].replace("fresh.", "all.").replace("entity.", "all.")
    config = config.replace(", all.mrr: maximize", "")
    path = write_project(tmp_path, config, questions=[*asked, *plain])
    results = tmp_path / "results"
    assert invoke("run", path, "--results", results, "--no-plots").exit_code == 0
    lines = explain(results, "q1").stdout.splitlines()
    assert lines[2] == "as: ada"
    assert explain(results, "q1", "--json").document["user"] == "ada"
    assert "as: " not in explain(results, "q2").stdout
    assert explain(results, "q2", "--json").document["user"] is None


def test_candidates_that_were_never_captured_are_not_explained(tmp_path: Path) -> None:
    root = tmp_path / "results"
    assert invoke("run", write_project(tmp_path), "--results", root, "--no-plots").exit_code == 0
    for command in (("explain", "small", "q1"), ("curve", "small", "--knob", "rrf_k")):
        done = invoke(*command, "--results", root, "--settings", "engine.lexical.match=any")
        assert done.exit_code == 2
        assert "nothing was captured for engine.lexical.match=any" in done.stderr
