"""Configs: what a person may write, and every kind of mistake with its line and remedy."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from sweeper.block import Block
from sweeper.config import MAX_TRIALS, Config, load_config
from sweeper.constraints import parse_constraint
from sweeper.engine_blocks import EmbeddedBlock
from sweeper.errors import InputError
from sweeper.golden import GoldenSet
from sweeper.settings import Settings
from tests.builders import query

HEAD = """\
name: demo
golden: golden.jsonl
engine:
  kind: embedded
  corpus: corpus.jsonl
"""
N_HEAD = 5


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def load(folder: Path, rest: str = "", *overrides: str, head: str = HEAD) -> Config:
    path = folder / "demo.yaml"
    path.write_text(head + rest, "utf-8")
    return load_config(path, overrides)


def refusals(folder: Path, rest: str, *overrides: str, head: str = HEAD) -> list[str]:
    """Return the lines of the error, without the folder."""
    with pytest.raises(InputError) as caught:
        load(folder, rest, *overrides, head=head)
    assert caught.value.exit_code == 2
    return [line.removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]


def test_a_config_of_the_required_keys_has_sensible_defaults(folder: Path) -> None:
    config = load(folder)
    assert config.name == "demo"
    assert config.current == Settings()
    assert list(config.space) == [Settings()]
    assert [str(metric) for metric in config.metrics] == ["recall@5", "recall@10", "mrr"]
    assert [(o.address, o.direction) for o in config.objectives] == [("overall.mrr", "maximize")]
    assert config.constraints == ()
    assert config.plots == ()
    assert config.as_of is None
    assert config.table_knob is None
    assert (config.depth, config.limit) == (10, 10)
    assert isinstance(config.file.engine, EmbeddedBlock)
    assert config.file.engine.embedder.kind == "hash"


FULL = """\
as_of: 2026-11-01
limit: 8
depth: 30
current: {rrf_k: 60, min_similarity: none, recency_half_life_days: off, weights: {lexical: 0.5}}
space:
  rrf_k: [5, 60]
  min_similarity: [none, 0.1]
  recency_half_life_days: [off, 30]
  weights: {vector: [0, 1]}
metrics: [recall@5, mrr, returned]
objectives: {entity.recall@5: maximize, overall.returned: minimize}
constraints: [entity.recall@5 >= current, "overall.mrr >= 0.8"]
plots: [{x: entity.recall@5, y: overall.mrr}]
table: {knob: rrf_k, columns: [overall.mrr]}
"""


def test_a_full_config_means_what_it_says(folder: Path) -> None:
    config = load(folder, FULL)
    assert config.current == Settings(60, None, 0, 8, 30, {"lexical": 0.5})
    assert config.space.choices == {
        "rrf_k": (5, 60),
        "min_similarity": (None, 0.1),
        "recency_half_life_days": (0.0, 30.0),
        "weights.vector": (0.0, 1.0),
    }
    assert config.space.size == 2 * 2 * 2 * 2
    assert next(iter(config.space)).weights == {"lexical": 0.5, "vector": 0.0}
    assert config.as_of == datetime(2026, 11, 1, tzinfo=UTC)
    assert config.constraints == (
        parse_constraint("entity.recall@5 >= current"),
        parse_constraint("overall.mrr >= 0.8"),
    )
    assert config.table_knob == "rrf_k"
    assert config.table_columns == ("overall.mrr",)
    assert [(plot.x, plot.y) for plot in config.plots] == [("entity.recall@5", "overall.mrr")]
    assert (config.depth, config.limit) == (30, 8)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("recency_half_life_days: off", 0.0),
        ("recency_half_life_days: 'off'", 0.0),
        ("recency_half_life_days: OFF", 0.0),
        ("recency_half_life_days: 0", 0.0),
        ("recency_half_life_days: 1e2", 100.0),
        ("min_similarity: none", None),
        ("min_similarity: None", None),
        ("min_similarity: null", None),
        ("min_similarity: ~", None),
        ("min_similarity:", None),
        ("min_similarity: .25", 0.25),
        ("rrf_k: 0060", 60),
        ("depth: limit", None),
        ("weights: {vector: 0.5}", 0.5),
        ("weights.vector: 0.5", 0.5),
    ],
)
def test_a_value_is_read_as_a_person_means_it(folder: Path, line: str, value: object) -> None:
    config = load(folder, f"current:\n  {line}\n")
    name = (
        line.partition(":")[0].removesuffix("s") if "weights:" in line else line.partition(":")[0]
    )
    name = "weights.vector" if name.startswith("weight") else name
    assert config.current.get(name) == value


def test_decimals_stay_as_typed(folder: Path) -> None:
    config = load(folder, "space: {min_similarity: [0.1, 0.2, 0.3, 0.30000000000000004]}\n")
    texts = [settings.text.split()[1] for settings in config.space]
    assert texts == [f"min_similarity={v}" for v in ("0.1", "0.2", "0.3", "0.30000000000000004")]


def test_repeated_values_collapse(folder: Path) -> None:
    rest = "space:\n  recency_half_life_days: [off, 0, 30, 30.0, 3e1]\n  rrf_k: [5, 5]\n"
    config = load(folder, rest)
    assert config.space.choices == {"recency_half_life_days": (0.0, 30.0), "rrf_k": (5,)}
    assert config.space.size == 2


def test_repeated_metrics_collapse(folder: Path) -> None:
    config = load(folder, "metrics: [mrr, recall@5, mrr]\n")
    assert [str(metric) for metric in config.metrics] == ["mrr", "recall@5"]


def test_a_single_value_stands_for_a_list_of_one(folder: Path) -> None:
    assert load(folder, "space: {rrf_k: 5}\n").space.choices == {"rrf_k": (5,)}


def test_the_deepest_and_longest_trial_decide_what_is_captured(folder: Path) -> None:
    assert load(folder, "space: {limit: [5, 20]}\n").depth == 20
    assert load(folder, "space: {limit: [5, 20]}\n").limit == 20
    assert load(folder, "space: {depth: [limit, 40]}\n").depth == 40
    assert load(folder, "limit: 5\nspace: {limit: [7], depth: [limit, 6]}\n").depth == 7
    assert load(folder, "current: {limit: 30}\nspace: {limit: [5]}\n").limit == 30


def test_a_depth_that_equals_the_limit_stays_under_other_limits(folder: Path) -> None:
    config = load(folder, "limit: 10\ndepth: 10\nspace: {limit: [5, 10]}\n")
    assert [settings.effective_depth for settings in config.space] == [10, 10]


def test_paths_are_relative_to_the_config(folder: Path) -> None:
    config = load(folder)
    assert config.resolve(config.golden.path) == folder / "golden.jsonl"
    assert config.resolve(config.corpus.path if config.corpus else "") == folder / "corpus.jsonl"
    assert config.resolve("/data/x.jsonl") == Path("/data/x.jsonl")


def test_a_missing_file_names_the_command_that_makes_it(folder: Path) -> None:
    head = HEAD.replace("golden.jsonl", "{path: g.jsonl, made_by: sweep import soat x.json}")
    config = load(folder, head=head)
    with pytest.raises(
        InputError, match=r"g\.jsonl: there is no such file\. Make it with: sweep import soat"
    ):
        config.existing(config.golden)
    (folder / "g.jsonl").touch()
    assert config.existing(config.golden) == folder / "g.jsonl"
    assert config.corpus is not None
    assert config.existing(config.corpus) == folder / "corpus.jsonl"


def test_a_source_may_say_how_its_fields_are_called(folder: Path) -> None:
    head = HEAD.replace(
        "golden: golden.jsonl", "golden: {path: g.csv, fields: {query: q, expected: gold}}"
    )
    config = load(folder, head=head)
    assert config.golden.path == "g.csv"
    assert config.golden.fields == {"query": "q", "expected": "gold"}
    assert config.corpus is not None
    assert config.corpus.fields == {}


def test_the_table_lists_the_half_life_if_it_is_swept_else_the_first_knob(folder: Path) -> None:
    swept = "space: {rrf_k: [5], recency_half_life_days: [30]}\n"
    assert load(folder, swept).table_knob == "recency_half_life_days"
    assert load(folder, "space: {limit: [5], rrf_k: [5]}\n").table_knob == "limit"


def test_the_tables_columns_beside_arms_are_overall_figures_of_all_metrics(folder: Path) -> None:
    config = load(folder, "arms: {a: {rrf_k: 3}}\nmetrics: [recall@5, mrr, returned]\n")
    assert config.table_columns == ("overall.recall@5", "overall.mrr", "overall.returned")
    named = load(folder, "arms: {a: {rrf_k: 3}}\ntable: {columns: [fresh.mrr]}\n")
    assert named.table_columns == ("fresh.mrr",)


def test_the_tables_columns_are_those_of_objectives_and_plots_without_repeats(folder: Path) -> None:
    rest = "objectives: {a.recall@5: maximize}\nplots: [{x: a.recall@5, y: b.recall@5}]\n"
    config = load(folder, rest + "metrics: [mrr, recall@5]\n")
    expected = ("a.recall@5", "b.recall@5", "a.mrr", "b.mrr", "overall.mrr")
    assert config.table_columns == expected


def test_the_first_two_objectives_make_a_plot_when_none_is_asked_for(folder: Path) -> None:
    config = load(folder, "objectives: {a.mrr: maximize, b.recall@5: maximize}\n")
    assert [(plot.x, plot.y) for plot in config.plots] == [("b.recall@5", "a.mrr")]


def test_how_results_are_shown_is_no_part_of_the_sweeps_identity(folder: Path) -> None:
    swept = "space: {rrf_k: [5]}\n"
    plain = load(folder, swept).spec()
    assert load(folder, swept + "table: {knob: rrf_k}\n").spec() == plain
    assert load(folder, swept + "plots: [{x: a.mrr, y: b.mrr}]\n").spec() == plain
    assert load(folder, swept + "limit: 5\n").spec() != plain


# --- mistakes: each with its line, its key and a remedy


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("spaces: {}\n", '6: spaces: unknown key. Did you mean "space"?'),
        ("current:\n  rrf: 5\n", '7: current.rrf: unknown knob "rrf". Did you mean "rrf_k"?'),
        (
            "space:\n  rrf_k: [5]\n  min_similarty: [0.1, 0.2]\n",
            '8: space.min_similarty: unknown knob "min_similarty". Did you mean "min_similarity"?',
        ),
        (
            "space:\n  rrf_k:\n    - 5\n    - 0\n",
            "9: space.rrf_k.1: must be an integer of at least 1, got 0. "
            "Leave the key out to keep the current value.",
        ),
        (
            "current:\n  rrf_k: 1.5\n",
            "7: current.rrf_k: must be an integer of at least 1, got 1.5. "
            "Leave the key out to keep the current value.",
        ),
        (
            "current:\n  rrf_k: true\n",
            "7: current.rrf_k: must be an integer of at least 1, got true. "
            "Leave the key out to keep the current value.",
        ),
        (
            "current:\n  recency_half_life_days: -1\n",
            "7: current.recency_half_life_days: must be a finite number of days of at least 0 "
            "(`off` is 0), got -1. Leave the key out to keep the current value.",
        ),
        (
            "current:\n  recency_half_life_days: .inf\n",
            "7: current.recency_half_life_days: must be a finite number of days of at least 0 "
            "(`off` is 0), got inf. Leave the key out to keep the current value.",
        ),
        (
            "current:\n  min_similarity: .nan\n",
            "7: current.min_similarity: must be `none` or a cosine from -1 to 1, got nan. "
            "Leave the key out to keep the current value.",
        ),
        (
            "current:\n  min_similarity: 1.5\n",
            "7: current.min_similarity: must be `none` or a cosine from -1 to 1, got 1.5. "
            "Leave the key out to keep the current value.",
        ),
        (
            "space:\n  weights:\n    vector: [1, -1]\n",
            "8: space.weights.vector.1: must be a finite number of at least 0, got -1. "
            "Leave the key out to keep the current value.",
        ),
        ("current:\n  rrf_k: [5]\n", "7: current.rrf_k: must be one value, got a list."),
        (
            "space:\n  rrf_k: []\n",
            "7: space.rrf_k: needs at least one value. Leave the key out to keep the current one.",
        ),
        (
            "limit: 0\n",
            "6: limit: must be an integer of at least 1, got 0. "
            "Leave the key out to keep the current value.",
        ),
        (
            "depth: deep\n",
            "6: depth: must be `limit` or an integer of at least 1, got 'deep'. "
            "Leave the key out to keep the current value.",
        ),
        (
            "as_of: yesterday\n",
            "6: as_of: must be an ISO 8601 date or time, e.g. 2026-11-01T00:00:00Z, "
            "got 'yesterday'.",
        ),
        (
            "metrics: [mrr, recal@5]\n",
            '6: metrics.1: unknown metric "recal@5". Did you mean "recall@5"?',
        ),
        (
            "metrics:\n  - recall\n",
            '7: metrics.0: metric "recall" needs a cutoff, for example recall@10.',
        ),
        (
            "objectives:\n  mrr: maximize\n",
            '7: objectives.mrr: "mrr" is no figure. Write slice.metric, e.g. overall.mrr.',
        ),
        (
            "objectives:\n  overall.mmr: maximize\n",
            '7: objectives.overall.mmr: unknown metric "mmr". Did you mean "mrr"?',
        ),
        (
            "constraints:\n  - overall.mrr >= 1\n  - overall.mrr is good\n",
            '8: constraints.1: "overall.mrr is good" is no constraint. Write slice.metric >= '
            "number, or >= current, or >= current - 0.01.",
        ),
        (
            "plots:\n  - x: overall.mrr\n    y: entity\n",
            '8: plots.0.y: "entity" is no figure. Write slice.metric, e.g. overall.mrr.',
        ),
        (
            "plots:\n  - x: overall.mrr\n    y: overall.mrr\n    z: 1\n",
            "9: plots.0.z: unknown key. Choose from: x, y.",
        ),
        (
            "table:\n  columns: [overall.mrr, nope]\n",
            '7: table.columns.1: "nope" is no figure. Write slice.metric, e.g. overall.mrr.',
        ),
        (
            "space: {rrf_k: [5]}\ntable:\n  knob: rff_k\n",
            '8: table.knob: must be a knob of the space. Did you mean "rrf_k"?',
        ),
        (
            "table:\n  knob: rrf_k\n",
            "7: table.knob: must be a knob of the space. The space is empty.",
        ),
    ],
)
def test_a_mistake_is_reported_with_line_key_and_remedy(
    folder: Path, rest: str, message: str
) -> None:
    assert refusals(folder, rest) == [f"demo.yaml:{message}"]


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("objectives: {overall.mrr: up}", "objectives.overall.mrr"),
        ("objectives: {}", "objectives"),
        ("metrics: []", "metrics"),
        ("metrics: mrr", "metrics"),
        ("space: [1]", "space"),
        ("current: 5", "current"),
        ("sampler: {kind: guess}", "sampler.kind"),
        ("plots: [{x: overall.mrr}]", "plots.0.y"),
        ("limit: [1]", "limit"),
        ("as_of: 12", "as_of"),
    ],
)
def test_a_wrong_shape_is_one_problem_on_its_line(folder: Path, line: str, key: str) -> None:
    found = refusals(folder, f"\n{line}\n")
    assert len(found) == 1
    assert found[0].startswith(f"demo.yaml:{N_HEAD + 2}: {key}: ")


@pytest.mark.parametrize(
    ("old", "new", "start"),
    [
        ("name: demo", "name: ../up", "demo.yaml:1: name: may hold letters, digits, dots"),
        ("name: demo", "name: ''", "demo.yaml:1: name: may hold letters, digits, dots"),
        ("name: demo\n", "", "demo.yaml:1: name: this key is missing."),
        ("kind: embedded", "kind: embeded", "demo.yaml:4: engine.kind: must be "),
        ("  kind: embedded\n", "", "demo.yaml:3: engine: needs a kind: embedded, "),
        (
            "corpus: corpus.jsonl",
            "corpus: c.jsonl\n  corpora: x",
            'demo.yaml:6: engine.corpora: unknown key. Did you mean "corpus"?',
        ),
        (
            "corpus: corpus.jsonl",
            "corpus: c\n  embedder: {kind: hsah}",
            "demo.yaml:6: engine.embedder",
        ),
        (
            "corpus: corpus.jsonl",
            "corpus: c\n  embedder: {dimensions: 5}",
            "demo.yaml:6: engine.embedder: needs a kind: hash, sentence-transformers, "
            "openai or precomputed.",
        ),
        (
            "corpus: corpus.jsonl",
            "corpus: c\n  embedder: {kind: hash, dimensions: 0}",
            "demo.yaml:6: engine.embedder.dimensions: ",
        ),
        (
            "corpus: corpus.jsonl",
            "corpus: c\n  embedder: {kind: hash, dimension: 9}",
            'demo.yaml:6: engine.embedder.dimension: unknown key. Did you mean "dimensions"?',
        ),
        (
            "corpus: corpus.jsonl",
            "corpus: c\n  lexical: {match: some}",
            "demo.yaml:6: engine.lexical.match: must be ",
        ),
        (
            "corpus: corpus.jsonl",
            "corpus: c\n  chunking: {kind: size, size: 100, overlap: 100}",
            "demo.yaml:6: engine.chunking.overlap: must be smaller than size, got 100.",
        ),
        (
            "corpus: corpus.jsonl",
            "corpus: c\n  chunking: {kind: size, size: 100}",
            "demo.yaml:6: engine.chunking.overlap: must be smaller than size, got 200.",
        ),
        ("golden: golden.jsonl", "golden: {file: x}", "demo.yaml:2: golden"),
        ("golden: golden.jsonl", "golden: 5", "demo.yaml:2: golden"),
        ("name: demo", "name: demo\nname: twice", "demo.yaml:2: "),
    ],
)
def test_a_mistake_in_the_required_part_is_reported_on_its_line(
    folder: Path, old: str, new: str, start: str
) -> None:
    found = refusals(folder, "", head=HEAD.replace(old, new, 1))
    assert found[0].startswith(start)


def test_all_problems_of_a_config_come_at_once_in_line_order(folder: Path) -> None:
    rest = (
        "current: {rrf_k: 0, min_similarity: 7}\n"
        "space:\n  rrf_k: [0, 5, -1]\n"
        "metrics: [nope]\n"
        "constraints: [bad]\n"
    )
    found = refusals(folder, rest)
    assert [line.split(": ")[:2] for line in found] == [
        ["demo.yaml:6", "current.rrf_k"],
        ["demo.yaml:6", "current.min_similarity"],
        ["demo.yaml:8", "space.rrf_k.0"],
        ["demo.yaml:8", "space.rrf_k.2"],
        ["demo.yaml:9", "metrics.0"],
        ["demo.yaml:10", "constraints.0"],
    ]


@pytest.mark.parametrize("text", ["[1, 2]\n", "just text\n", "5\n"])
def test_a_config_is_a_mapping(folder: Path, text: str) -> None:
    assert "must be a mapping of keys" in refusals(folder, "", head=text)[0]


@pytest.mark.parametrize("text", ["", " \n\n", "# only a comment\n"])
def test_an_empty_config_is_refused(folder: Path, text: str) -> None:
    assert refusals(folder, "", head=text)[0].startswith("demo.yaml")


def test_broken_yaml_is_reported_with_its_line(folder: Path) -> None:
    assert refusals(folder, "current: {rrf_k: 5\nspace: [\n")[0].startswith("demo.yaml:")


def test_a_missing_config_and_a_folder_are_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_config(folder / "none.yaml")
    with pytest.raises(InputError, match="is a folder"):
        load_config(folder)


def test_a_grid_of_more_than_a_million_is_refused_before_it_is_built(folder: Path) -> None:
    many = ", ".join(map(str, range(1, 1002)))
    rest = f"space:\n  rrf_k: [{many}]\n  limit: [{many}]\n"
    (message,) = refusals(folder, rest)
    assert message == (
        f"demo.yaml:6: space: {1001 * 1001} combinations are more than {MAX_TRIALS} "
        "(rrf_k has 1001, limit has 1001 values). Try fewer values per knob, make a knob depend on "
        "another (when), or give a budget: sampler: {kind: random, n_trials: 1000}."
    )


def test_a_grid_of_astronomic_size_is_refused_as_quickly(folder: Path) -> None:
    many = ", ".join(map(str, range(1, 1001)))
    names = ("rrf_k", "limit", "depth", "recency_half_life_days")
    rest = "space:\n" + "".join(f"  {name}: [{many}]\n" for name in names)
    assert f"space: {1000**4} combinations" in refusals(folder, rest)[0]


# --- overrides


def test_an_override_replaces_one_key(folder: Path) -> None:
    config = load(
        folder, FULL, "space.rrf_k=[7, 9]", "limit=3", "current.recency_half_life_days=30"
    )
    assert config.space.choices["rrf_k"] == (7, 9)
    assert config.current.limit == 3
    assert config.current.recency_half_life_days == 30


def test_an_override_may_name_what_the_file_lacks(folder: Path) -> None:
    config = load(folder, "", "space.recency_half_life_days=[off,30]", "space.weights.vector=[0,1]")
    assert config.space.choices == {
        "recency_half_life_days": (0.0, 30.0),
        "weights.vector": (0.0, 1.0),
    }


def test_an_override_and_the_file_may_spell_weights_differently(folder: Path) -> None:
    config = load(folder, "space: {weights: {vector: [0, 1]}}\n", "space.weights.vector=[2]")
    assert config.space.choices == {"weights.vector": (2.0,)}


@pytest.mark.parametrize("text", ["space.rrf_k", "=5", "space..rrf_k=5", ""])
def test_an_override_without_key_or_value_is_refused(folder: Path, text: str) -> None:
    with pytest.raises(InputError, match="write key=value"):
        load(folder, "", text)


def test_an_override_below_a_value_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="limit is not a mapping of keys"):
        load(folder, "limit: 5\n", "limit.x=5")


def test_a_mistake_of_an_override_says_that_it_came_from_there(folder: Path) -> None:
    (message,) = refusals(folder, FULL, "space.rrf_k=[0]")
    assert message == (
        "demo.yaml: space.rrf_k.0: must be an integer of at least 1, got 0. "
        "Leave the key out to keep the current value. (It was given by --set.)"
    )


def test_an_override_that_is_no_yaml_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match=r"--set space\.rrf_k"):
        load(folder, "", "space.rrf_k=[1")


# --- figures against the golden set

GOLDEN = GoldenSet((query(["a"], "1", "entity"), query(["b"], "2", "fresh.ness")))


def test_figures_of_known_slices_and_metrics_pass(folder: Path) -> None:
    rest = (
        "objectives: {entity.mrr: maximize, fresh.ness.recall@5: maximize, overall.mrr: maximize}\n"
    )
    load(folder, rest).check_figures(GOLDEN)


def test_figures_that_the_golden_set_lacks_are_reported_with_their_lines(folder: Path) -> None:
    rest = (
        "metrics: [mrr]\n"
        "objectives: {entty.mrr: maximize}\n"
        "constraints: [zzz.mrr >= 0.5]\n"
        "plots: [{x: overall.recall@5, y: entity.mrr}]\n"
        "table: {columns: [overall.mrr, nowhere.mrr]}\n"
    )
    with pytest.raises(InputError) as caught:
        load(folder, rest).check_figures(GOLDEN)
    lines = [line.removeprefix(f"{folder}/demo.yaml:") for line in str(caught.value).splitlines()]
    choices = "Choose from: entity, fresh.ness, overall."
    assert lines == [
        '7: objectives.entty.mrr: the golden set has no slice "entty". Did you mean "entity"?',
        f'8: constraints.0: the golden set has no slice "zzz". {choices}',
        '9: plots.0.x: "recall@5" is not among this sweep\'s metrics. Add it under metrics.',
        f'10: table.columns.1: the golden set has no slice "nowhere". {choices}',
    ]


def test_the_default_objective_needs_its_metric(folder: Path) -> None:
    with pytest.raises(InputError, match='"mrr" is not among this sweep'):
        load(folder, "metrics: [recall@5]\n").check_figures(GOLDEN)


def test_a_figure_without_a_value_for_any_question_is_reported_with_its_line(folder: Path) -> None:
    golden = GoldenSet((*GOLDEN.queries, query([], "3", "none")))
    rest = (
        "metrics: [mrr, abstention, returned]\n"
        "objectives: {none.mrr: maximize, none.abstention: maximize, none.returned: minimize}\n"
        "constraints: [entity.abstention >= 0.5, overall.abstention >= 0]\n"
        "plots: [{x: none.mrr, y: entity.mrr}]\n"
    )
    with pytest.raises(InputError) as caught:
        load(folder, rest).check_figures(golden)
    lines = [line.removeprefix(f"{folder}/demo.yaml:") for line in str(caught.value).splitlines()]
    assert lines == [
        "7: objectives.none.mrr: no question of slice none has a mrr. Choose another figure.",
        "8: constraints.0: no question of slice entity has a abstention. Choose another figure.",
    ]


def test_a_figure_given_by_an_override_cites_no_line_of_the_file(folder: Path) -> None:
    config = load(folder, "objectives: {entity.mrr: maximize}\n", "objectives={nope.mrr: maximize}")
    with pytest.raises(InputError) as caught:
        config.check_figures(GOLDEN)
    assert str(caught.value) == (
        f'{folder}/demo.yaml: objectives.nope.mrr: the golden set has no slice "nope". '
        "Choose from: entity, fresh.ness, overall. (It was given by --set.)"
    )


def test_a_weight_of_a_channel_that_does_not_exist_is_reported_by_its_whole_key(
    folder: Path,
) -> None:
    config = load(folder, "space:\n  weights:\n    vecto: [1, 2]\n", "current.weights.nope=2")
    with pytest.raises(InputError) as caught:
        config.check_channels(("vector", "lexical"))
    lines = [line.removeprefix(f"{folder}/demo.yaml:") for line in str(caught.value).splitlines()]
    assert lines == [
        ' current.weights.nope: the engine has no channel "nope". Choose from: vector, lexical. '
        "(It was given by --set.)",
        '8: space.weights.vecto: the engine has no channel "vecto". Did you mean "vector"?',
    ]


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        ("metrics: []", "metrics: needs at least one entry."),
        ("objectives: {}", "objectives: needs at least one entry."),
        ("metrics: [5]", "metrics.0: must be text, got 5."),
        ("as_of: 5", "as_of: must be text, got 5."),
        ("limit: [1]", "limit: must be one value, got a list."),
        ("current: {weights: {vector: [1]}}", "current.weights.vector: must be one value, got a"),
    ],
)
def test_a_wrong_shape_is_said_in_our_words(folder: Path, rest: str, message: str) -> None:
    (found,) = refusals(folder, f"{rest}\n")
    assert found.startswith(f"demo.yaml:{N_HEAD + 1}: {message}")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("5", "name: must be text, got 5."),
        ("null", "name: must be text, got null."),
        ("true", "name: must be text, got true."),
        ("a" * 101, "name: may have at most 100 characters, got 'aaa"),
    ],
)
def test_a_name_that_is_none_is_said_in_our_words(folder: Path, name: str, message: str) -> None:
    (found,) = refusals(folder, "", head=HEAD.replace("name: demo", f"name: {name}"))
    assert found.startswith(f"demo.yaml:1: {message}")


@pytest.mark.parametrize(
    ("key", "most"), [("rrf_k", 2**53), ("limit", 2**31 - 1), ("depth", 2**31 - 1)]
)
def test_an_integer_that_is_too_large_is_refused_with_the_largest(
    folder: Path, key: str, most: int
) -> None:
    (found,) = refusals(folder, f"current: {{{key}: 1{'0' * 21}}}\n")
    assert f"current.{key}: must be at most {most}, got 1{'0' * 21}." in found


# --- spaces, arms and samplers --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "values"),
    [
        ("{low: 0.1, high: 0.5, step: 0.1}", (0.1, 0.2, 0.3, 0.4, 0.5)),
        ("{low: 0, high: 0.3, step: 0.1, also: [none]}", (0, 0.1, 0.2, 0.3, None)),
        ("{low: 0, high: 1, n: 4}", (0, 0.333333, 0.666667, 1)),
        ("{values: [none, 0.2]}", (None, 0.2)),
        ("0.3", (0.3,)),
    ],
)
def test_a_range_is_what_a_person_means_by_it(
    folder: Path, written: str, values: tuple[float | None, ...]
) -> None:
    config = load(folder, f"space:\n  min_similarity: {written}\n")
    assert config.space.choices["min_similarity"] == values


def test_a_logarithmic_range_has_exact_ends_and_typeable_points(folder: Path) -> None:
    config = load(
        folder,
        "space:\n"
        "  recency_half_life_days: {low: 7, high: 7000, n: 4, log: true, also: [off]}\n"
        "  rrf_k: {low: 1, high: 100, n: 3, log: true}\n",
    )
    assert config.space.choices["recency_half_life_days"] == (7, 70, 700, 7000, 0)
    assert config.space.choices["rrf_k"] == (1, 10, 100)


def test_a_condition_is_read_with_its_knob(folder: Path) -> None:
    config = load(
        folder,
        "space:\n"
        "  recency_half_life_days: [off, 30]\n"
        '  rrf_k: {values: [5, 60], when: {recency_half_life_days: "> 0"}}\n'
        "  min_similarity: {low: 0, high: 0.2, step: 0.1, when: {rrf_k: 5}}\n",
    )
    assert config.space.size == 1 + 3 + 1


@pytest.mark.parametrize(
    ("rest", "start"),
    [
        ("space:\n  rrf_k: {low: 5}\n", "demo.yaml:7: space.rrf_k: high is missing."),
        ("space:\n  rrf_k: {low: 9, high: 5, step: 1}\n", "demo.yaml:7: space.rrf_k: low must not"),
        (
            "space:\n  min_similarity: {low: 0, high: 0.5, step: 0.2}\n",
            "demo.yaml:7: space.min_similarity.high: is not reached in steps of 0.2: 0.4 comes "
            "before it and 0.6 after.",
        ),
        ("space:\n  rrf_k: {low: 1, high: 9, step: 0}\n", "demo.yaml:7: space.rrf_k.step: must be"),
        (
            "space:\n  rrf_k: {low: 1, high: 9, step: 2, n: 3}\n",
            "demo.yaml:7: space.rrf_k: step an",
        ),
        (
            "space:\n  rrf_k: {low: 1, high: 9, n: 0}\n",
            "demo.yaml:7: space.rrf_k.n: must be an integer from 1",
        ),
        ("space:\n  rrf_k: {low: a, high: 9}\n", "demo.yaml:7: space.rrf_k.low: must be a number"),
        (
            "space:\n  rrf_k: {low: 0, high: 9}\n",
            "demo.yaml:7: space.rrf_k.low: must be an integer",
        ),
        (
            "space:\n  rrf_k: {low: 1, high: 9, stp: 2}\n",
            "demo.yaml:7: space.rrf_k.stp: unknown key",
        ),
        (
            "space:\n  rrf_k: {values: [1], n: 3}\n",
            "demo.yaml:7: space.rrf_k: values and n exclude",
        ),
        ("space:\n  rrf_k: {low: 1, high: 9}\n", "demo.yaml:7: space.rrf_k: has no end of values"),
        (
            "space:\n  min_similarity: {low: 0, high: 1, n: 3, log: true}\n",
            "demo.yaml:7: space.min_similarity.low: must be above 0 where log is true, got 0.",
        ),
        (
            "space:\n  rrf_k: {values: [1], when: 3}\n",
            "demo.yaml:7: space.rrf_k.when: must be a map",
        ),
        (
            "space:\n  rrf_k: {values: [1], when: {limit: 5}}\n",
            "demo.yaml:7: space.rrf_k.when.limit: limit is not in the space",
        ),
        (
            "space:\n  rrf_k: {values: [1], when: {rrf_k: 5}}\n",
            "demo.yaml:7: space.rrf_k.when.rrf_k: a knob cannot depend on itself.",
        ),
        (
            "space:\n  rrf_k: {values: [1], when: {limt: 5}}\n",
            'demo.yaml:7: space.rrf_k.when.limt: unknown knob. Did you mean "limit"?',
        ),
        (
            'space:\n  rrf_k: {values: [1], when: {limit: "> 5 or so"}}\n',
            "demo.yaml:7: space.rrf_k.when.limit: must be such as",
        ),
        (
            "space:\n  rrf_k: {values: [1], when: {limit: 5}}\n"
            "  limit: {values: [5], when: {rrf_k: 1}}\n",
            "demo.yaml:6: space: conditions go round in a circle",
        ),
        ("arms:\n  a: {rrf_k: [1, 2]}\n", "demo.yaml:7: arms.a.rrf_k: must be one value"),
        ("arms:\n  a: {rrf: 1}\n", "demo.yaml:7: arms.a.rrf: unknown knob"),
        (
            "arms:\n  a: {stores: both}\n",
            "demo.yaml:7: arms.a.stores: must be all, document or mem",
        ),
        ("sampler: {kind: tpe}\n", "demo.yaml:6: sampler: tpe needs n_trials"),
        ("sampler: {n_trials: 5}\n", "demo.yaml:6: sampler.n_trials: a grid tries every"),
        ("sampler: {kind: tpe, n_trials: 5}\n", "demo.yaml:1: space: is empty, so tpe has"),
        ("sampler: {kind: bayes}\n", "demo.yaml:6: sampler.kind: must be 'grid', 'random'"),
        (
            "space: {rrf_k: [1, 2]}\nsampler: {kind: random, n_trials: 2, warm_start: x}\n",
            "demo.yaml:7: sampler.warm_start: random is not told figures.",
        ),
        (
            "current: {engine.lexical.match: all}\n",
            "demo.yaml:6: current.engine.lexical.match: belongs in the engine's block",
        ),
    ],
)
def test_a_mistake_in_a_space_is_reported_with_its_line(
    folder: Path, rest: str, start: str
) -> None:
    assert refusals(folder, rest)[0].startswith(start)


def test_spelling_out_a_default_is_the_same_sweep(folder: Path) -> None:
    plain = load(folder).spec()
    assert load(folder, "limit: 10\nsampler: {kind: grid}\nspace: {}\n").spec() == plain


def test_the_depth_is_the_deepest_of_spans_arms_and_lists(folder: Path) -> None:
    sampler = "sampler: {kind: random, n_trials: 3}\n"
    assert load(folder, f"space: {{limit: {{low: 5, high: 40}}}}\n{sampler}").depth == 40
    assert load(folder, f"space: {{depth: {{low: 5, high: 70}}}}\n{sampler}").depth == 70
    assert load(folder, "arms: {deep: {depth: 90}}\n").depth == 90


def all_blocks(base: type[Block] = Block) -> list[type[Block]]:
    return [base, *(block for child in base.__subclasses__() for block in all_blocks(child))]


def test_no_key_of_any_block_takes_a_truth_value_for_a_number() -> None:
    asked = []
    for block in all_blocks():
        for name, field in block.model_fields.items():
            kinds: tuple[Any, ...] = get_args(field.annotation) or (field.annotation,)
            if bool in kinds or not {int, float} & set(kinds):
                continue
            with pytest.raises(ValidationError) as caught:
                block.model_validate({name: True})
            kind = {error["type"] for error in caught.value.errors() if name in error["loc"]}
            assert kind & {"int_type", "float_type"}, f"{block.__name__}.{name}"
            asked.append(f"{block.__name__}.{name}")
    assert {"TriplesBlock.hops", "SamplerBlock.seed", "TimeoutsBlock.read"} <= set(asked)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("sampler: {seed: true}", "sampler.seed: must be an integer, got true."),
        ("sampler: {batch_size: 1}", "sampler.batch_size: must be at least 2, got 1."),
        ("limit: true", "limit: must be an integer of at least 1, got true. Leave the key out"),
        ("space: {rrf_k: [true]}", "space.rrf_k.0: must be an integer of at least 1, got true."),
        ("space: {rrf_k: {low: true, high: 9}}", "space.rrf_k.low: must be a number, got true."),
        ("space: {rrf_k: {low: 1, high: 9, n: false}}", "space.rrf_k.n: must be an integer from 1"),
    ],
)
def test_a_truth_value_is_refused_where_a_number_is_wanted(
    folder: Path, line: str, message: str
) -> None:
    (said,) = refusals(folder, f"{line}\n")
    assert said.startswith(f"demo.yaml:6: {message}")


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("requests_per_second: -1", "requests_per_second: must be above 0, got -1."),
        ("requests_per_second: fast", "requests_per_second: must be a number, got 'fast'."),
        ("timeouts: {read: 0}", "timeouts.read: must be above 0, got 0."),
        ("follow_redirects: maybe", "follow_redirects: must be true or false, got 'maybe'."),
        ("n_threads: 2.5", "n_threads: must be an integer, got 2.5."),
    ],
)
def test_every_kind_of_wrong_value_is_worded_alike(folder: Path, key: str, message: str) -> None:
    head = (
        "name: demo\ngolden: golden.jsonl\nengine:\n  kind: http\n  url: http://localhost/search\n"
        '  body: {q: "{query}"}\n  results: hits\n  id: id\n'
    )
    assert refusals(folder, f"  {key}\n", head=head) == [f"demo.yaml:9: engine.{message}"]
