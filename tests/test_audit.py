"""What a golden set and a pool cannot show."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from sweeper.audit import (
    Finding,
    age_factors,
    audit_ages,
    audit_golden,
    audit_knobs,
    audit_pool,
    audit_settings,
    refuse_idle,
)
from sweeper.errors import InputError
from sweeper.golden import GoldenSet, Route
from sweeper.knobs import Value
from sweeper.metrics import parse_metrics
from sweeper.pools import Candidate, Pool, QueryCandidates
from sweeper.replay import Replay
from sweeper.settings import Settings
from tests.builders import document, documents, found, memory, pool_of, query


def texts(findings: Sequence[Finding]) -> str:
    return "\n".join(map(str, findings))


def test_a_finding_names_five_questions_and_counts_the_rest() -> None:
    assert str(Finding("Lost:", ("a", "b"))) == "Lost: a, b."
    assert str(Finding("Lost:", tuple("abcdefg"))) == "Lost: a, b, c, d, e and 2 more."
    assert str(Finding("Odd.")) == "Odd."


def test_slices_below_ten_questions_are_small() -> None:
    golden = GoldenSet(
        tuple(query(["a"], f"q{n}", "big" if n < 10 else "small") for n in range(14))
    )
    said = texts(audit_golden(golden, (), 10))
    assert said == (
        "slice small has 4 questions: one is worth 0.250, and a test can tell no difference at all "
        "from luck."
    )


def test_the_least_difference_that_a_small_slice_can_show_is_given() -> None:
    golden = GoldenSet(tuple(query(["a"], f"q{n}") for n in range(8)))
    said = texts(audit_golden(golden, (), 10))
    assert "one is worth 0.125, and a test can tell no less than 0.75 (6 of them, all one" in said


def test_a_cutoff_beyond_the_fewest_rows_returned_is_told() -> None:
    golden = GoldenSet(tuple(query(["a"], f"q{n}") for n in range(10)))
    metrics = tuple(parse_metrics(["recall@5", "recall@6", "mrr"]))
    assert texts(audit_golden(golden, metrics, 5)) == (
        "recall@6 is computed on the 5 rows that the limit returns."
    )


def test_what_no_channel_retrieves_no_setting_can_find() -> None:
    golden = GoldenSet((query(["a"], "q1"), query(["z"], "q2"), query(["a", "z"], "q3")))
    pool = pool_of(
        *(found([document("a", 0.9)], [document("a", 1.0)], q) for q in golden.query_ids)
    )
    said = audit_pool(pool, golden)
    assert [item.query_ids for item in said] == [("q2", "q3")]
    assert "2 questions" in said[0].text


def test_channels_that_never_meet_or_are_empty_are_told() -> None:
    golden = GoldenSet((query(["a"], "q"),))
    apart = pool_of(found([document("a", 0.9)], [document("b", 1.0)]))
    assert "no row is in every channel" in texts(audit_pool(apart, golden))
    alone = pool_of(found([document("a", 0.9)]))
    assert texts(audit_pool(alone, golden)) == (
        "the lexical channel retrieves nothing for any question."
    )


BOTH = pool_of(found([document("a", 0.9), memory("m", 0.4, 3.0)], [document("a", 1.0)]))
DOCUMENTS = pool_of(found([document("a", 0.9), document("b", 0.4)], [document("a", 1.0)]))
ALONE = pool_of(found([document("a", 0.9), memory("m", 0.4, 3.0)]))


@pytest.mark.parametrize(
    ("pool", "space", "said"),
    [
        (BOTH, {"recency_half_life_days": (0.0, 7.0)}, ""),
        (
            DOCUMENTS,
            {"recency_half_life_days": (0.0, 7.0)},
            "recency_half_life_days changes nothing",
        ),
        (DOCUMENTS, {"recency_half_life_days": (0.0,)}, ""),
        (BOTH, {"min_similarity": (None, 0.5)}, ""),
        (BOTH, {"min_similarity": (None, 0.4)}, "every cosine is at or above 0.4"),
        (BOTH, {"min_similarity": (None,)}, ""),
        (BOTH, {"rrf_k": (1, 60)}, ""),
        (ALONE, {"rrf_k": (1, 60)}, "rrf_k changes nothing"),
        (ALONE, {"rrf_k": (1,)}, ""),
        (ALONE, {"weights.vector": (0.5, 1.0)}, "weights.vector changes nothing"),
        (ALONE, {"weights.vector": (0.0, 1.0)}, ""),
        (BOTH, {"weights.vector": (0.5, 1.0)}, ""),
    ],
)
def test_knobs_that_cannot_change_a_ranking_are_named(
    pool: Pool, space: Mapping[str, Sequence[Value]], said: str
) -> None:
    found_texts = texts(audit_knobs(pool, space, Settings()))
    assert said in found_texts
    assert bool(said) == bool(found_texts)


@pytest.mark.parametrize(
    ("space", "base"),
    [
        ({"recency_half_life_days": (0.0, 30.0)}, Settings()),
        ({}, Settings(recency_half_life_days=30)),
        ({"prior.strength": (0.0, 1.0)}, Settings()),
        ({}, Settings(usage={"prior.strength": 1.0})),
    ],
)
def test_where_scores_are_multiplied_a_lone_channels_knobs_count(
    space: Mapping[str, Sequence[Value]], base: Settings
) -> None:
    both = {"rrf_k": (1, 60), "weights.vector": (0.5, 1.0), **space}
    assert texts(audit_knobs(ALONE, both, base)) == ""


def test_weights_of_classes_are_named_too() -> None:
    space: dict[str, Sequence[Value]] = {"routing.code.weights.vector": (0.5, 1.0)}
    assert "routing.code.weights.vector changes nothing" in texts(
        audit_knobs(ALONE, space, Settings())
    )


def test_odd_ages_are_counted() -> None:
    ages = {"missing": 2, "unparseable": 1, "future": 0}
    pool = Pool.from_candidates(
        [found([document("a", 0.9)])],
        channels=("vector", "lexical"),
        depth=3,
        provenance={"engine": {"ages": ages}},
    )
    assert texts(audit_ages(pool)) == (
        "2 memories have no age; they do not decay.\n"
        "1 memory has an updated_at that is no date (2026-12-31, or a Unix time); it does not "
        "decay."
    )


# --- what the settings of a space can show --------------------------------------------------------


def replay_of(*rows: tuple[str, QueryCandidates]) -> Replay:
    """Return a replay of questions that each expect one key."""
    golden = GoldenSet(tuple(query([key], own.query_id) for key, own in rows))
    return Replay(pool_of(*(own for _, own in rows)), golden)


def settings(**values: Sequence[Value]) -> list[Settings]:
    names = list(values)
    return [
        Settings().with_values(dict(zip(names, row, strict=True)))
        for row in itertools.product(*values.values())
    ]


def test_questions_that_are_always_answered_first_are_told() -> None:
    replay = replay_of(
        ("a", found(documents("abc"), query_id="q1")), ("b", found(documents("abc"), query_id="q2"))
    )
    [item, inert] = audit_settings(replay, settings(rrf_k=(1, 60)))
    assert str(item) == (
        "1 of 2 questions is answered first under every setting, so they cannot tell settings "
        "apart: q1."
    )
    assert str(inert) == "rrf_k changes no answer's position under any setting."


def test_a_row_that_is_retrieved_and_never_returned_is_told() -> None:
    replay = replay_of(("c", found(documents("abc"), query_id="q1")))
    deep = [Settings(limit=2, depth=3), Settings(limit=1, depth=3)]
    [item] = audit_settings(replay, deep)
    assert str(item) == (
        "1 question: an expected document is retrieved, but no setting returns it: q1."
    )
    lost = replay_of(("z", found(documents("abc"), query_id="q1")))
    assert "retrieved" not in texts(audit_settings(lost, deep)), "audit_pool says so"


def test_a_knob_with_an_effect_or_already_named_is_not_called_inert() -> None:
    both = found(documents("abc"), [document("c", 1.0), document("b", 0.9)], "q1")
    replay = replay_of(("a", both))
    assert audit_settings(replay, settings(**{"weights.lexical": (0.0, 4.0)})) == []
    named = [Finding("rrf_k changes nothing here: why ever.")]
    alone = replay_of(("b", found(documents("abc"), query_id="q1")))
    assert audit_settings(alone, settings(rrf_k=(1, 60)), named) == []
    assert len(audit_settings(alone, settings(rrf_k=(1, 60)))) == 1


def test_settings_that_never_differ_in_one_knob_alone_accuse_no_knob() -> None:
    replay = replay_of(("b", found(documents("abc"), query_id="q1")))
    diagonal = [Settings(rrf_k=1), Settings(rrf_k=60, limit=5)]
    assert audit_settings(replay, diagonal) == []


def test_answers_lost_just_below_a_floor_are_named_with_their_margin() -> None:
    replay = replay_of(
        ("b", found([document("a", 0.9), document("b", 0.48)], query_id="near")),
        ("b", found([document("a", 0.9), document("b", 0.2)], query_id="far")),
        ("b", found([document("b", 0.48)], [document("b", 1.0)], "held")),
        ("b", found([document("b@1", 0.48), document("b@2", 0.45)], query_id="chunks")),
    )
    said = texts(audit_settings(replay, settings(min_similarity=(None, 0.1, 0.5))))
    assert (
        "min_similarity 0.5 cuts an answer that no other channel holds in 3 questions, in these by "
        "less than 0.05: near (0.020), chunks (0.020)."
    ) in said
    assert "min_similarity 0.1" not in said


@pytest.mark.parametrize(("cosine", "told"), [(0.9, False), (0.5, True), (0.1, True)])
def test_a_floor_that_cannot_tell_answers_from_the_rest_is_inseparable(
    cosine: float, told: bool
) -> None:
    rows = sorted([document("a", cosine), document("b", 0.6), document("c", 0.4)], key=_value)
    replay = replay_of(("a", found(rows, query_id="q1")))
    said = texts(audit_settings(replay, settings(min_similarity=(None, 0.3))))
    assert ("cannot tell answers from the rest" in said) == told


def _value(row: Candidate) -> float:
    return -row.value


def test_a_half_life_that_leaves_nothing_of_any_expected_memory_is_told() -> None:
    rows = [memory("young", 0.9, 1.0), memory("m", 0.8, 300.0)]
    replay = replay_of(("m", found(rows, query_id="q1")))
    said = texts(audit_settings(replay, settings(recency_half_life_days=(0, 7, 30, 365))))
    # 2 ** (-300 / 30) is just below a thousandth; the young memory is no answer.
    assert "recency_half_life_days 7 leaves every expected memory less than 0.001" in said
    assert "recency_half_life_days 30 leaves every expected memory" in said
    assert "recency_half_life_days 365" not in said


def test_an_expected_memory_without_an_age_never_decays() -> None:
    replay = replay_of(("m", found([memory("m", 0.8)], query_id="q1")))
    said = texts(audit_settings(replay, settings(recency_half_life_days=(0, 7))))
    assert "leaves every expected memory" not in said


def test_factors_are_given_at_the_median_and_late_ages() -> None:
    rows = [memory(f"m{age}", 1 - age / 1000, float(age)) for age in range(0, 101, 10)]
    pool = pool_of(found(rows), depth=11)
    assert age_factors(pool, settings(recency_half_life_days=(0, 50, 95))) == {
        "memories' age: median, 95%": "50, 95 days",
        "factor at half-life 50": "0.5, 0.268",
        "factor at half-life 95": "0.694, 0.5",
    }
    assert age_factors(pool, settings(recency_half_life_days=(0,))) == {}
    assert age_factors(DOCUMENTS, settings(recency_half_life_days=(0, 7))) == {}


ROUTED = GoldenSet((replace(query(["a"], "1"), route=Route("code", "rule")),))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"routing.cod.budget": 1}, r'no question has the class "cod"\. Did you mean "code"\?'),
        ({"weights.foo": 2}, r'weights\.foo: .* no channel "foo"\. Choose from: vector, lexical\.'),
        ({"routing.code.weights.foo": 2}, r'the engine has no channel "foo"'),
        ({"prior.strength": 1}, r"prior\.strength: there is no usage log"),
    ],
)
def test_settings_that_name_what_is_not_there_are_refused(
    values: dict[str, Value], message: str
) -> None:
    settings = Settings().with_values(values)
    with pytest.raises(InputError, match=message):
        refuse_idle(settings, ROUTED, ("vector", "lexical"), has_usage=False)


def test_settings_that_name_what_is_there_are_left_alone() -> None:
    values: dict[str, Value] = {
        "routing.code.budget": 1,
        "routing.code.weights.vector": 2,
        "weights.lexical": 0,
        "prior.strength": 1,
    }
    refuse_idle(Settings().with_values(values), ROUTED, ("vector", "lexical"), has_usage=True)
