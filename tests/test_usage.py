"""Usage logs of a sweep: read, simulated, held apart from the golden set, and kept with results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from sweeper.baseline import read_baseline
from sweeper.config import Config, load_config
from sweeper.engines.python import PythonEngine
from sweeper.errors import InputError
from sweeper.formats.usage import read_usage
from sweeper.opening import read_inputs
from sweeper.prior import factors
from sweeper.results import Results, load
from sweeper.settings import Prior
from sweeper.sweep import run_sweep
from tests.projects import CONFIG, QUESTIONS, frames, invoke, write_project, write_rows

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
LOG: tuple[dict[str, Any], ...] = (
    {"question": "boat club?", "offered": ["old-chair", "new-chair"], "cited": ["new-chair"]},
    {"question": "And the code?", "offered": ["old-code", "new-code"], "cited": ["old-code"]},
    {"question": "Heat?", "offered": ["doc-boat", "doc-oven", "doc-rent"], "cited": ["doc-oven"]},
)
READERS: tuple[dict[str, Any], ...] = (
    {"id": "q1", "query": "who leads the boat club", "expected": ["new-chair"]},
    {"id": "u2", "query": "which code opens the door", "expected": ["new-code"]},
    {"id": "u3", "query": "the fan of the oven is stuck", "expected": ["doc-oven"]},
    {"id": "u4", "query": "what hangs behind the door", "expected": ["doc-keys"]},
    {"id": "u5", "query": "is anything due in March", "expected": []},
)
SIMULATED = "{simulate: {questions: readers.jsonl, interactions: 400, seed: 3, offered: 3}}"


def project(
    folder: Path,
    usage: str,
    *,
    current: str = "prior.strength: 1",
    extra: str = "",
    log: Sequence[Mapping[str, Any]] = LOG,
) -> Config:
    config = CONFIG.replace("recency_half_life_days: off}", f"prior.cap: 3, {current}}}")
    config = config.replace("space:", f"usage: {usage}\n{extra}space:")
    path = write_project(folder, config)
    days = [{"time": f"2026-10-{day:02}T12:00:00Z", **row} for day, row in enumerate(log, 1)]
    write_rows(folder / "log.jsonl", days)
    write_rows(folder / "readers.jsonl", READERS)
    (folder / "empty.jsonl").write_text("")
    return load_config(path)


def refusal(config: Config) -> str:
    with pytest.raises(InputError) as caught:
        read_inputs(config)
    return str(caught.value).replace(str(config.path.parent), ".")


def logs_of(config: Config, root: str = "results") -> dict[str, bytes]:
    folder = run_sweep(config, root=config.path.parent / root).results.folder
    return {path.name: path.read_bytes() for path in folder.glob("usage-*.jsonl")}


# --- reading and simulating -----------------------------------------------------------------------


def test_a_log_is_read_from_its_file_and_kept_with_the_sweep(tmp_path: Path) -> None:
    config = project(tmp_path, "{asked: {path: log.jsonl}}")
    results = run_sweep(config, root=tmp_path / "results").results
    log = read_usage(tmp_path / "log.jsonl")
    assert len(log) == 3
    assert read_usage(results.folder / "usage-asked.jsonl") == log
    assert results.manifest["usage"] == {
        "as_of": "2026-11-01T00:00:00+00:00",
        "logs": {"asked": 3},
    }
    prior = results.current_settings.prior
    assert prior == Prior(1.0, 3.0, 0.0, None, None)
    wanted = factors(log, as_of=AS_OF, strength=1, cap=3, half_life_days=0)
    assert results.pool.prior_factors(results.current_settings) == wanted
    assert wanted["new-chair"] > 1 > wanted["old-chair"]


def test_what_readers_cited_moves_a_page_up(tmp_path: Path) -> None:
    time = "2026-10-01"
    others = {"question": "Sea?", "offered": ["doc-boat", "doc-keys"], "cited": ["doc-boat"]}
    liked = [{"time": time, **LOG[0]}, {"time": time, **others}] * 20
    config = project(
        tmp_path,
        "{asked: {path: log.jsonl}}",
        current="prior.strength: 1",
        extra="arms: {off: {prior.strength: 0}}\n",
        log=liked,
    )
    results = run_sweep(config, root=tmp_path / "results").results
    figure = results.wide(["fresh.mrr"])["fresh.mrr"]
    assert results.returned(results.trial("current"), "q4")[0] == "new-chair"
    assert results.returned(results.trial("off"), "q4")[0] == "old-chair"
    assert figure[results.trial("current")] > figure[results.trial("off")]


def test_simulated_readers_ask_the_other_questions_of_the_engine(tmp_path: Path) -> None:
    config = project(tmp_path, f"{{readers: {SIMULATED}}}")
    results = run_sweep(config, root=tmp_path / "results").results
    log = read_usage(results.folder / "usage-readers.jsonl")
    assert len(log) == 400
    assert {one.question for one in log.interactions} == {row["query"] for row in READERS}
    assert {len(one.offered) for one in log.interactions} == {3}
    assert all(one.at < AS_OF for one in log.interactions)
    alike = {(one.question, one.offered) for one in log.interactions}
    assert len(alike) == len(READERS)  # one answer per question: nothing is learned meanwhile
    prior = results.pool.prior_factors(results.current_settings)
    assert prior["new-chair"] > 1 > prior["old-chair"]


def test_readers_are_offered_what_todays_setting_returns_unrouted_and_without_prior(
    tmp_path: Path,
) -> None:
    plain = project(tmp_path / "plain", f"{{readers: {SIMULATED}}}", current="prior.strength: 0")
    routed = project(
        tmp_path / "routed",
        f"{{readers: {SIMULATED}}}",
        current="prior.strength: 1, routing: {fresh: {budget: 1, weights.vector: 0}}",
        extra="classes: golden\n",
    )
    other = project(tmp_path / "other", f"{{readers: {SIMULATED}}}", current="weights.vector: 0")
    assert logs_of(plain) == logs_of(routed)
    assert logs_of(plain) != logs_of(other)


def test_simulated_logs_are_the_same_in_two_runs_and_differ_by_seed(tmp_path: Path) -> None:
    config = project(tmp_path, f"{{readers: {SIMULATED}}}")
    assert logs_of(config, "once") == logs_of(config, "again")
    other = project(tmp_path, f"{{readers: {SIMULATED.replace('seed: 3', 'seed: 4')}}}")
    assert logs_of(config, "once") != logs_of(other)


def test_readers_who_are_offered_what_the_prior_likes_leave_another_log(tmp_path: Path) -> None:
    fed = SIMULATED.replace("offered: 3", "offered: 3, feedback: true")
    config = project(tmp_path, f"{{readers: {SIMULATED}, echo: {fed}}}")
    results = run_sweep(config, root=tmp_path / "results").results
    plain, echo = (
        read_usage(results.folder / f"usage-{name}.jsonl").interactions
        for name in ("readers", "echo")
    )
    assert [one.question for one in plain] == [one.question for one in echo]
    assert plain[: 400 >> 8] == echo[: 400 >> 8]  # before anything was learned
    assert [one.offered for one in plain] != [one.offered for one in echo]


def test_readers_of_an_engine_that_shows_nothing_cannot_be_simulated(tmp_path: Path) -> None:
    config = project(tmp_path, f"{{readers: {SIMULATED}}}")
    inputs = read_inputs(config)
    engine = PythonEngine("operator:getitem")
    with pytest.raises(InputError, match="cannot be simulated on an engine that shows no cand"):
        inputs.usage.open(engine, AS_OF)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("usage", ["{path: log.jsonl}", SIMULATED])
def test_a_log_that_holds_golden_questions_is_refused_by_its_name(
    tmp_path: Path, usage: str
) -> None:
    config = project(tmp_path, f"{{good: {{path: empty.jsonl}}, bad: {usage}}}")
    asked = [QUESTIONS[number]["query"] for number in (0, 3, 4, 5)]
    rows = [{**LOG[0], "question": text, "time": "2026-10-01"} for text in asked]
    write_rows(tmp_path / "log.jsonl", rows)
    write_rows(
        tmp_path / "readers.jsonl",
        [{"query": f" {text.upper()}\t", "expected": ["doc-oven"]} for text in asked],
    )
    assert refusal(config) == (
        "./sweep.yaml: usage.bad: it holds questions of the golden set (q1, q4, q5 and 1 more), "
        "so figures would be of questions that were learned from. Leave them out of one of the two."
    )


@pytest.mark.parametrize(
    ("usage", "current", "extra", "said"),
    [
        (
            "{asked: {path: log.jsonl}}",
            "prior.log: aked",
            "",
            'prior.log: there is no usage log "aked". Did you mean "asked"?',
        ),
        (
            "{asked: {path: log.jsonl}}",
            "prior.strength: 1",
            "arms: {a: {prior.log: echo}}\n",
            'prior.log: there is no usage log "echo". Choose from: asked.',
        ),
        (
            "{}",
            "prior.log: asked",
            "",
            'prior.log: there is no usage log "asked". Name one under usage.',
        ),
        (
            "{asked: {path: log.jsonl}}",
            "prior.interactions: 4",
            "",
            "prior.interactions: must be at most 3, as many as the log asked has, got 4.",
        ),
        (
            f"{{readers: {SIMULATED}, asked: {{path: log.jsonl}}}}",
            "prior.interactions: 401",
            "",
            "prior.interactions: must be at most 400, as many as the log readers has, got 401.",
        ),
        (
            f"{{readers: {SIMULATED}, asked: {{path: log.jsonl}}}}",
            "prior.interactions: 4",
            "arms: {a: {prior.log: asked}}\n",
            "prior.interactions: must be at most 3, as many as the log asked has, got 4.",
        ),
    ],
)
def test_a_log_or_a_count_that_there_is_not_is_refused(
    tmp_path: Path, usage: str, current: str, extra: str, said: str
) -> None:
    config = project(tmp_path, usage, current=current, extra=extra)
    assert refusal(config) == f"./sweep.yaml: {said}"


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (
            "prior.log: [asked, echo]",
            'prior.log: there is no usage log "echo". Choose from: asked.',
        ),
        (
            "prior.interactions: [all, 0, 5]",
            "prior.interactions: must be at most 3, as many as the log asked has, got 5.",
        ),
    ],
)
def test_swept_logs_and_counts_are_checked_too(tmp_path: Path, space: str, said: str) -> None:
    config = project(tmp_path, "{asked: {path: log.jsonl}}")
    config.path.write_text(config.path.read_text().replace("space:\n", f"space:\n  {space}\n"))
    assert refusal(load_config(config.path)) == f"./sweep.yaml: {said}"


def test_a_count_is_held_against_the_log_that_is_learned_from(tmp_path: Path) -> None:
    usage = f"{{readers: {SIMULATED}, none: {{path: empty.jsonl}}}}"
    config = project(tmp_path, usage, current="prior.strength: 1, prior.interactions: 400")
    assert len(read_inputs(config).usage.digests) == 2


@pytest.mark.parametrize("current", ["prior.strength: 1", "prior.strength: 0"])
def test_a_prior_without_any_log_is_refused(tmp_path: Path, current: str) -> None:
    extra = "" if current.endswith("1") else "arms: {a: {prior.strength: 0.5}}\n"
    config = project(tmp_path, "{}", current=current, extra=extra)
    with pytest.raises(InputError, match=r"prior.strength: there is no usage log to learn from"):
        run_sweep(config, root=tmp_path / "results")


def test_a_file_of_a_log_with_problems_is_refused_with_its_line(tmp_path: Path) -> None:
    config = project(tmp_path, "{asked: {path: log.jsonl}}")
    with (tmp_path / "log.jsonl").open("a") as file:
        file.write('{"question": "x", "offered": ["a"], "cited": ["b"], "time": "2026-10-01"}\n')
    assert refusal(config).startswith('./log.jsonl:4: "cited" names "b", which was not offered.')


def test_fields_with_other_names_are_named_as_the_error_advises(tmp_path: Path) -> None:
    clicks = [{"liked" if n == "cited" else n: v for n, v in row.items()} for row in LOG]
    config = project(tmp_path, "{asked: {path: log.jsonl}}", log=clicks)
    said = refusal(config)
    advised = said.partition("for example: ")[2].removesuffix(".")
    assert advised == "usage: {asked: {path: log.jsonl, fields: {cited: liked}}}"
    config = project(tmp_path, advised.removeprefix("usage: "), log=clicks)
    assert read_inputs(config).usage.logs["asked"].interactions[0].cited == ("new-chair",)


def test_fields_are_those_of_a_file(tmp_path: Path) -> None:
    usage = f"{{asked: {SIMULATED.replace('{simulate', '{fields: {cited: liked}, simulate')}}}"
    with pytest.raises(InputError, match="fields are those of a file"):
        project(tmp_path, usage)


def test_pages_that_the_corpus_does_not_hold_are_told(tmp_path: Path) -> None:
    row = {"question": "Gone?", "offered": ["gone", "doc-rent", "gone-too"], "cited": ["gone"]}
    config = project(tmp_path, "{asked: {path: log.jsonl}}", log=[*LOG, row])
    summary = run_sweep(config, root=tmp_path / "results")
    told = "usage.asked: 2 of 9 offered pages are not in the corpus: gone, gone-too."
    assert told in summary.notes
    whole = project(tmp_path / "whole", "{asked: {path: log.jsonl}, none: {path: empty.jsonl}}")
    assert read_inputs(whole).usage.notes == ()


def test_a_log_of_other_pages_alone_is_refused(tmp_path: Path) -> None:
    rows = [{**row, "offered": [f"/{k}.md" for k in row["offered"]], "cited": []} for row in LOG]
    assert refusal(project(tmp_path, "{asked: {path: log.jsonl}}", log=rows)) == (
        "./sweep.yaml: usage.asked: no page that it offers is in the corpus: /old-chair.md, "
        "/new-chair.md, /old-code.md, .... Call pages by the keys of the corpus, such as doc-boat."
    )


@pytest.mark.parametrize(
    "block", ["{}", "{path: log.jsonl, simulate: {questions: readers.jsonl, interactions: 1}}"]
)
def test_a_log_is_a_file_or_simulated(tmp_path: Path, block: str) -> None:
    with pytest.raises(InputError, match="give either a path, or simulate"):
        project(tmp_path, f"{{asked: {block}}}")


# --- an empty log ---------------------------------------------------------------------------------


def told(results: Results) -> list[pd.DataFrame]:
    """Return the tables without what identifies a trial."""
    tables = frames(results.folder)
    number = {name: place for place, name in enumerate(tables["trials"]["trial_id"])}
    for table in tables.values():
        table["trial_id"] = [number[name] for name in table["trial_id"]]
    return [table.filter(regex=r"^(?!param_prior\.)") for table in tables.values()]


@pytest.mark.parametrize(
    "usage", ["{path: empty.jsonl}", SIMULATED.replace("interactions: 400", "interactions: 0")]
)
def test_an_empty_log_changes_no_figure_no_position_and_no_row(tmp_path: Path, usage: str) -> None:
    with_log = project(tmp_path / "with", f"{{none: {usage}}}")
    without = project(tmp_path / "without", "{}", current="prior.strength: 0")
    one, other = (
        run_sweep(config, root=config.path.parent / "results").results
        for config in (with_log, without)
    )
    assert one.pool.prior_factors(one.current_settings) == {}
    assert one.current_settings.prior is not None
    for ours, theirs in zip(told(one), told(other), strict=True):
        pd.testing.assert_frame_equal(ours, theirs, check_exact=True)
    for number in range(len(one.trials)):
        for row in QUESTIONS:
            assert one.returned(number, row["id"]) == other.returned(number, row["id"])


# --- what is kept ---------------------------------------------------------------------------------


def test_a_reopened_sweep_learns_the_same_from_its_own_copy(tmp_path: Path) -> None:
    usage = f"{{zebra: {SIMULATED}, asked: {{path: log.jsonl}}}}"
    config = project(
        tmp_path, usage, extra="arms: {a: {prior.log: asked, prior.half_life_days: 9}}\n"
    )
    before = run_sweep(config, root=tmp_path / "results").results
    kept = [before.pool.prior_factors(before.settings[before.trial(t)]) for t in ("current", "a")]
    assert kept[0] != kept[1]
    for name in ("log.jsonl", "readers.jsonl", "corpus.jsonl", "sweep.yaml"):
        (tmp_path / name).unlink()
    after = load(before.folder)
    assert after.settings == before.settings
    assert [
        after.pool.prior_factors(after.settings[after.trial(t)]) for t in ("current", "a")
    ] == kept
    assert [s.trial_id for s in after.settings] == list(after.trials["trial_id"])
    # The first log of the config is the default one, whatever its name.
    first = read_usage(after.folder / "usage-zebra.jsonl")
    assert kept[0] == factors(first, as_of=AS_OF, strength=1, cap=3, half_life_days=0)


def test_a_trial_whose_cap_of_1_switches_the_prior_off_is_read_back_as_it_was(
    tmp_path: Path,
) -> None:
    config = project(tmp_path, "{asked: {path: log.jsonl}}")
    space = "space:\n  prior.cap: [1, 1.5, 3]\n"
    config.path.write_text(config.path.read_text().replace("space:\n", space))
    results = run_sweep(load_config(config.path), root=tmp_path / "results").results
    assert [s.trial_id for s in load(results.folder).settings] == list(results.trials["trial_id"])
    assert len(results.trials) == 18 * 3 + 3  # and the printed line


@pytest.mark.parametrize("change", ["edited", "gone"])
def test_a_kept_log_that_is_not_what_was_learned_from_is_refused_and_mended_by_a_run(
    tmp_path: Path, change: str
) -> None:
    config = project(tmp_path, "{asked: {path: log.jsonl}}")
    results = run_sweep(config, root=tmp_path / "results").results
    path = results.folder / "usage-asked.jsonl"
    content = path.read_bytes()
    if change == "edited":
        path.write_text("")
    else:
        path.unlink()
    with pytest.raises(InputError, match=r"usage-asked.jsonl: .*Run the sweep again"):
        _ = load(results.folder).pool
    run_sweep(config, root=tmp_path / "results")
    assert path.read_bytes() == content
    assert load(results.folder).pool.usefulness is not None


def test_another_log_makes_another_sweep_that_says_so(tmp_path: Path) -> None:
    config = project(tmp_path, "{asked: {path: log.jsonl}}")
    root = tmp_path / "results"
    first = run_sweep(config, root=root).results
    assert run_sweep(config, root=root).results.folder == first.folder
    rows = [{**LOG[1], "time": "2026-10-02T00:00:00Z"}]
    write_rows(tmp_path / "log.jsonl", rows)
    second = invoke("run", config.path, "--results", root)
    assert second.exit_code == 0, second.stderr
    assert f"changed since {first.folder.name}: usage." in second.stderr


def test_the_order_of_logs_counts_since_the_first_is_the_default(tmp_path: Path) -> None:
    logs = ("asked: {path: log.jsonl}", "none: {path: empty.jsonl}")
    root = tmp_path / "results"
    found = []
    for pair in (logs, logs[::-1]):
        config = project(tmp_path, "{" + ", ".join(pair) + "}")
        found.append(run_sweep(config, root=root).results)
    assert found[0].folder != found[1].folder
    asked, none = (r.pool.prior_factors(r.current_settings) for r in found)
    assert asked
    assert not none


def test_a_gate_says_first_that_the_usage_log_is_another(tmp_path: Path) -> None:
    config = project(tmp_path, "{asked: {path: log.jsonl}}")
    file = ("--baseline", tmp_path / "baseline.json")
    assert invoke("gate", config.path, *file, "--update-baseline").exit_code == 0
    assert read_baseline(file[1]).usage == read_inputs(config).usage.digest
    assert "usage log changed" not in invoke("gate", config.path, *file).stdout
    write_rows(tmp_path / "log.jsonl", [{"time": "2026-10-01T12:00:00Z", **LOG[0]}])
    done = invoke("gate", config.path, *file)
    assert done.stdout.startswith("Note: the usage log changed since the baseline.")
