"""``sweep pick``: the recommendation in words, as JSON, and in the form that a deployment loads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from sweeper.deploy import Form
from sweeper.results import load
from tests.projects import ROOT, Done, invoke, sweeps, write_project


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("results")
    config = ROOT / "configs/recency.yaml"
    assert invoke("run", config, "--results", root, "--no-plots").exit_code == 0
    small = write_project(tmp_path_factory.mktemp("project"))
    assert invoke("run", small, "--results", root, "--no-plots").exit_code == 0
    return root


def pick(results: Path, sweep: str, *options: object) -> Done:
    return invoke("pick", sweep, "--results", results, *options)


def test_a_supported_setting_is_recommended_in_words(results: Path) -> None:
    done = pick(results, "recency")
    assert done.exit_code == 0
    assert done.stdout.startswith("Deploy (its gain is more than luck over all settings tried):\n")
    for said in (
        "questions better,",
        "one-sided max-T test over 84 settings",
        "gain in freshness.mrr: 95% from",
        "other orders of tied rows give freshness.mrr",
        "recency_half_life_days: same figures from",
        "as content ages unchanged, it holds for the 90 days asked for.",
        "On questions that did not choose it",
        "Optimism",
        "Constraints: entity.recall@10 >= current; overall.mrr >= current - 0.01.",
        "freshness MRR goes from 0.6907 to 0.8944: more than luck over all settings tried.",
        "Worse beyond luck: entity MRR (0.8133 to 0.6221).",
    ):
        assert said in done.stdout


def test_constraints_that_replace_the_configs_are_said_to(results: Path) -> None:
    done = pick(results, "recency", "--subject-to", "overall.recall@5 >= 0.5")
    said = "Constraints, in place of the sweep's own: overall.recall@5 >= 0.5."
    assert said in done.stdout.splitlines()


def test_why_nothing_is_changed_is_said(results: Path) -> None:
    # No setting that may be chosen is better: the one that would be is named with what it breaks.
    options = ("--maximize", "overall.mrr", "--subject-to", "overall.mrr <= current")
    lines = pick(results, "recency", *options).stdout.splitlines()
    [said] = [line for line in lines if line.startswith("No other setting that meets")]
    assert said.startswith(
        "No other setting that meets the constraints is better in overall.mrr. #"
    )
    assert said.endswith("and breaks overall.mrr <= current.")
    # Today's setting beside itself: nothing is tested and nothing gained.
    assert not [line for line in lines if "unresolvable" in line or "gain in" in line]
    # The best that may be chosen gains no more than luck could.
    done = pick(results, "recency", "--subject-to", "entity.mrr >= current")
    lines = done.stdout.splitlines()
    assert "Nothing that meets the constraints gains more than luck could." in lines
    assert "  freshness MRR goes from 0.6907 to 0.7526: it may be luck." in lines


def test_settings_moved_to_the_middle_name_the_trial_with_its_own_value(results: Path) -> None:
    lines = pick(results, "recency").stdout.splitlines()
    assert "recency_half_life_days=1800" in lines[1]
    assert "#" not in lines[1]
    assert lines[2] == (
        "  from trial #33 with recency_half_life_days=1825; every answer is the same"
    )


def test_keep_what_you_have_is_an_answer(results: Path) -> None:
    done = pick(results, "small")
    assert done.exit_code == 0
    assert done.stdout.startswith("Keep what you have:\n  rrf_k=60 min_similarity=none")
    assert "unresolvable: at least 5 must differ for any test to say yes." in done.stdout
    assert "Best feasible: rrf_k=" in done.stdout
    assert "\n  trial #" in done.stdout
    assert "cannot be cross-validated" in done.stdout


def test_dominance_is_worded_as_what_it_is(results: Path) -> None:
    done = pick(results, "small", "--policy", "dominant")
    assert done.stdout.startswith("Not worse on these questions:\n")
    assert "By luck alone" in done.stdout
    assert pick(results, "small", "--policy", "best").stdout.startswith(
        "Best feasible (its gain may be luck):\n"
    )


def test_nothing_feasible_is_exit_code_6_with_the_binding_constraint(results: Path) -> None:
    done = pick(results, "recency", "--subject-to", "entity.mrr >= 1")
    assert (done.exit_code, done.stdout) == (6, "")
    assert "entity.mrr >= 1: binds, met by no setting; the nearest has 0.8" in done.stderr
    assert "Nearest settings:\n  #" in done.stderr


def test_options_replace_the_sweeps_objectives_and_constraints(results: Path) -> None:
    options = ("--maximize", "entity.mrr", "--subject-to", "overall.mrr >= current", "--json")
    found = pick(results, "recency", *options).document
    assert found["objectives"] == {"entity.mrr": "maximize"}
    assert found["constraints"] == ["overall.mrr >= current"]


def test_the_json_document_is_kept_beside_the_sweep(results: Path) -> None:
    found = pick(results, "recency", "--json").document
    assert list(found)[:4] == ["sweeper", "schema", "sweep", "policy"]
    assert found["schema"] == "sweep.pick/1"
    assert found["keep"] is False
    assert found["chosen"] == found["supported"]
    assert set(found["chosen"]["ties"]) == {"lowest", "highest"}
    [folder] = [path for path in sweeps(results) if path.parent.name == "recency"]
    kept = json.loads((folder / "pick.json").read_text("utf-8"))
    assert kept == {k: v for k, v in found.items() if k not in {"sweeper", "schema"}}


def test_emit_env_names_the_variables_and_leaves_the_floor_to_the_request(results: Path) -> None:
    done = pick(results, "small", "--emit", "env")
    assert done.stdout == (
        "KNOWLEDGE_RRF_K=60\n"
        "KNOWLEDGE_RECENCY_HALF_LIFE_DAYS=0\n"
        "# request field min_similarity: none\n"
        "# request field limit: 4\n"
    )


def test_emitted_names_are_configurable(results: Path) -> None:
    options = ("--emit", "env", "--env-prefix", "SEARCH_", "--name", "rrf_k=FUSION_K")
    done = pick(results, "small", *options)
    assert done.stdout.startswith("FUSION_K=60\nSEARCH_RECENCY_HALF_LIFE_DAYS=0\n")


@pytest.mark.parametrize("form", get_args(Form))
def test_what_is_emitted_is_what_the_settings_emit_in_python(results: Path, form: Form) -> None:
    done = pick(results, "recency", "--emit", form, "--name", "limit=top_k")
    chosen = load("recency", root=results).pick().chosen.settings
    assert done.stdout == chosen.emit(form, names={"limit": "top_k"}) + "\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--horizon", "-1"], "the horizon must be a number of days of at least 0, got -1"),
        (["--maximize", "nothing.mrr"], "nothing.mrr: no question has this figure."),
        (["--subject-to", "nothing.mrr >= 0"], "nothing.mrr: no question has this figure."),
        (["--maximize", "entitty.mrr"], 'Did you mean "entity.mrr"?'),
        (["--subject-to", "entity.mrr is fine"], '"entity.mrr is fine" is no constraint. Write'),
        (["--subject-to", "entitty.mrr >= current"], 'Did you mean "entity.mrr"?'),
        (["--name", "rrf_k"], "write knob=name"),
        (["--name", "rrfk=K"], "rrf_k"),
    ],
)
def test_wrong_options_are_bad_input(results: Path, options: list[str], said: str) -> None:
    done = pick(results, "small", *options)
    assert done.exit_code == 2
    assert said in done.stderr


def test_the_table_is_readable_at_80_columns_without_colour(
    results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    done = pick(results, "recency")
    table = done.stdout.split("\n\n")[1]
    assert max(map(len, table.splitlines())) <= 80
    assert "\x1b" not in done.stdout
    assert "| figure | current |" in pick(results, "recency", "--markdown").stdout
