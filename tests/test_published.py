"""The published figures of routing are those of a fresh run, and its page says what they say."""

from __future__ import annotations

import copy
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from sweeper.config import Config, load_config
from sweeper.opening import read_inputs
from tests.benchmarks import published
from tests.benchmarks.atlas_large import make_atlas, write_atlas
from tests.benchmarks.published import LARGE, SMALL, frozen, measure_small, written
from tests.markdown import filled
from tests.projects import ROOT
from tests.routing_page import PAGE, routing_parts
from tests.routing_verdicts import chance, disagreements, said

STORED: dict[str, dict[str, Any]] = {
    path.name: json.loads(path.read_text("utf-8")) for path in (SMALL, LARGE)
}
SMALL_FOUND, LARGE_FOUND = STORED[SMALL.name], STORED[LARGE.name]


def assert_alike(one: Any, other: Any, place: str = "") -> None:
    """Compare JSON values; floats may differ in their last digits, as versions of scipy do."""
    if isinstance(one, dict):
        assert list(one) == list(other), place
        for key, value in one.items():
            assert_alike(value, other[key], f"{place}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), place
        for number, pair in enumerate(zip(one, other, strict=True)):
            assert_alike(*pair, f"{place}[{number}]")
    elif isinstance(one, float):
        assert other == pytest.approx(one, rel=1e-9, abs=1e-12), place
    else:
        assert one == other, place


# --- what was measured ----------------------------------------------------------------------------


@pytest.mark.slow
def test_the_figures_of_the_small_wiki_are_those_of_a_fresh_run(tmp_path: Path) -> None:
    assert_alike(measure_small(tmp_path), SMALL_FOUND)


@pytest.mark.slow
def test_two_measurements_write_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "other"):
        published.main(["--out", str(tmp_path / name)], say=lambda _: None)
    for name, stored in STORED.items():
        fresh = (tmp_path / "one" / name).read_bytes()
        assert fresh == (tmp_path / "other" / name).read_bytes()
        assert_alike(json.loads(fresh), stored)


@pytest.fixture(scope="module")
def configs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Config]:
    folder = tmp_path_factory.mktemp("large")
    write_atlas(make_atlas(), folder)
    return {
        SMALL.name: load_config(ROOT / "configs/routing.yaml"),
        LARGE.name: load_config(folder / "routing.yaml"),
    }


@pytest.mark.parametrize("name", STORED)
def test_what_was_measured_is_what_there_is_today(name: str, configs: dict[str, Config]) -> None:
    facts, config = STORED[name]["provenance"], configs[name]
    inputs = read_inputs(config)
    text = json.dumps(config.spec(), sort_keys=True)
    assert facts["config"] == hashlib.sha256(text.encode()).hexdigest(), "run: make results"
    assert facts["golden"] == inputs.golden.digest
    assert facts["corpus"] == inputs.corpus_digest
    assert facts["usage"] == inputs.usage.digests


@pytest.mark.parametrize("path", [SMALL, LARGE], ids=lambda path: path.name)
def test_nothing_of_the_machine_or_the_day_is_published(path: Path) -> None:
    text = path.read_text("utf-8")
    assert text == written(json.loads(text))
    assert not re.search(r"/|\\|20\d\d-\d\d|second|version|duration", text)


@pytest.mark.parametrize("found", STORED.values(), ids=list(STORED))
def test_a_figure_is_told_where_it_was_measured_in_two_ways(found: dict[str, Any]) -> None:
    arms, classes = found["arms"], found["classes"]
    for name, figures in classes["figures"][classes["by"]].items():
        assert figures == arms[name]["figures"]["overall"]
    for row in found["triples_weight"]["lines"]["today"]:
        name = {"0": "today", "safe": "triples", "1": "triples-loud"}.get(row["weight"])
        for group, figures in row["figures"].items() if name else ():
            assert figures.items() <= arms[name]["figures"][group].items()
    for group, metrics in found["triples_weight"]["curve"]["figures"].items():
        for metric, course in metrics.items():
            assert course["at_0"] == arms["today"]["figures"][group][metric]
    assert found["one_limit"]["line"][0]["figures"] == arms["today"]["figures"]["overall"]
    for name, metrics in found["moves"].items():
        for metric, groups in metrics.items():
            for group, move in groups.items():
                own, base = (
                    arms[arm]["figures"][group][metric] for arm in (name, arms[name]["against"])
                )
                assert own - base == pytest.approx(move["difference"], abs=1e-12)


def test_the_accuracy_of_the_rules_is_the_metric_of_the_small_sweep() -> None:
    rules = SMALL_FOUND["classes"]["rules"]
    today = SMALL_FOUND["arms"]["today"]["figures"]["overall"]
    assert rules["right"] / rules["of"] == today["class_accuracy"]


def test_a_prior_that_has_learned_nothing_changes_nothing() -> None:
    for row in SMALL_FOUND["prior"]:
        if row["interactions"] == 0:
            base = SMALL_FOUND["arms"]["routing+triples"]["figures"]["overall"]
            assert row["figures"].items() <= base.items()
            assert (row["least"], row["most"]) == (1, 1)


# --- inputs stay as they are ----------------------------------------------------------------------


@pytest.mark.parametrize("name", ["page.txt", "new.txt"])
def test_whoever_touches_a_frozen_folder_is_told_which_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "page.txt").write_text("before")
    (tmp_path / "kept.txt").write_text("kept")
    with pytest.raises(RuntimeError, match=rf"changed while it was measured: {name}$"):
        touch(tmp_path, name)


def touch(folder: Path, name: str) -> None:
    with frozen(folder):
        (folder / name).unlink(missing_ok=True)  # even who may not write to it
        (folder / name).write_text("after")


def test_a_frozen_folder_is_read_only(tmp_path: Path) -> None:
    (tmp_path / "page.txt").write_text("before")
    with frozen(tmp_path):
        assert (tmp_path / "page.txt").stat().st_mode & 0o222 == 0


# --- the page -------------------------------------------------------------------------------------


def test_another_figure_makes_another_page() -> None:
    before = routing_parts(SMALL_FOUND, LARGE_FOUND)
    changed = copy.deepcopy(SMALL_FOUND)
    changed["arms"]["budgets"]["figures"]["overall"]["recall@5"] += 0.01
    after = routing_parts(changed, LARGE_FOUND)
    assert {name for name in before if before[name] != after[name]} >= {"alone", "one-limit"}


def test_no_figure_stands_outside_the_generated_parts() -> None:
    page = PAGE.read_text("utf-8")
    prose = re.sub(r"<!-- generated: .*?<!-- end of generated -->", "", page, flags=re.DOTALL)
    assert re.findall(r"(?<!\d)[+-]?\d\.\d{2,4}(?!\d)", prose.replace("0.05", "")) == ["1.05"]


def move(difference: float, low: float, high: float, differ: int = 30) -> dict[str, Any]:
    verdict = "better" if low > 0 else "worse" if high < 0 else "no difference shown"
    return {
        "n": 60,
        "differ": differ,
        "difference": difference,
        "low": low,
        "high": high,
        "verdict": verdict,
    }


def sweep(**arms: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return published moves: arm to metric to the overall one."""
    moves = {
        name: {metric: {"overall": one} for metric, one in metrics.items()}
        for name, metrics in arms.items()
    }
    return {
        "moves": moves,
        "arms": {name: {"against": "today", "otherwise": 7} for name in arms},
        "questions": {"all": 60},
        "provenance": {"n_questions": 60},
    }


STILL, UP, DOWN = move(0.01, -0.1, 0.1), move(0.2, 0.1, 0.3), move(-0.2, -0.3, -0.1, 4)


def test_what_moved_is_sorted_by_its_interval() -> None:
    text = said(sweep(one={"recall@5": UP, "mrr": DOWN, "citation_precision": STILL}))
    better, worse, still = re.split(r"What got worse.*|Where no slice.*", text)
    assert "- `one` against `today`: recall@5 overall +0.200 (+0.100 to +0.300)\n" in better
    assert "MRR overall -0.200 (-0.300 to -0.100) on 4 questions only\n" in worse
    assert "- `one`: citation precision, though 7 questions are answered otherwise\n" in still


def test_where_nothing_moved_that_is_said() -> None:
    text = said(sweep(one=dict.fromkeys(("recall@5", "mrr", "citation_precision"), STILL)))
    assert text.count("- nothing\n") == 2
    assert "- `one`: recall@5, MRR and citation precision" in text


def test_two_corpora_agree_differ_or_contradict_each_other() -> None:
    small = sweep(one={"recall@5": UP, "mrr": UP, "citation_precision": STILL})
    large = sweep(one={"recall@5": UP, "mrr": DOWN, "citation_precision": UP})
    text = disagreements(small, large)
    assert text.startswith(
        "Of 3 overall verdicts that both wikis give, 1 is the same. 1 time one of the two shows a "
        "difference that the other does not, and 1 time one says better where the other says worse."
    )
    assert "recall@5 |" not in text
    assert "| MRR | better: +0.200 (+0.100 to +0.300) | worse: " in text


def test_intervals_that_exclude_0_are_counted_beside_those_that_chance_would_give() -> None:
    arms = {f"arm{n}": {"mrr": STILL} for n in range(39)}
    text = chance({"small": sweep(**arms, last={"mrr": DOWN})})
    assert "Of the 40 intervals of 95 % on the small wiki, 1 exclude 0. About 2 would" in text
    assert "1 of the 1 rest on fewer than 6 questions that differ." in text
    assert f"one question is worth {1 / 60:.3f} of an overall figure" in text


# --- marked places --------------------------------------------------------------------------------

PLACE = "<!-- generated: a -->\nold\n<!-- end of generated -->\n"


def test_a_marked_place_is_filled_and_the_rest_stays() -> None:
    page = filled(f"before\n{PLACE}after\n", {"a": "new"})
    assert page == "before\n<!-- generated: a -->\n\nnew\n<!-- end of generated -->\nafter\n"
    assert filled(page, {"a": "new"}) == page


@pytest.mark.parametrize(("page", "parts"), [(PLACE, {"a": "", "b": ""}), (PLACE * 2, {"a": ""})])
def test_a_part_without_a_place_and_a_place_without_a_part_are_errors(
    page: str, parts: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match="the page has"):
        filled(page, parts)
