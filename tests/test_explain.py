"""Why a row stands where it stands, and what would bring the expected one to the front."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from sweeper.explain import Explanation, Missing, explain, explain_many
from sweeper.golden import GoldenSet, Query, Route
from sweeper.graph import Evidence
from sweeper.knobs import TRIPLES
from sweeper.pools import LEXICAL, VECTOR, Candidate, Pool
from sweeper.ranking import rank
from sweeper.remedies import Remedy
from sweeper.replay import Replay
from sweeper.settings import Prior, Settings, safe_triples_weight
from sweeper.triples import Triple
from tests.builders import document, documents, found, memory, pool_of, query

OLD_AND_NEW = pool_of(
    found([memory("old", 0.9, 100.0), document("doc@0", 0.8), memory("new", 0.7, 10.0)])
)
BASE = Settings(rrf_k=1, limit=3)


def explained(pool: Pool, *expected: str, settings: Settings = BASE) -> Explanation:
    return explain(Replay(pool, GoldenSet((query(expected),))), "q", settings)


def remedy(answer: Explanation, name: str) -> Remedy:
    [chosen] = [item for item in answer.remedies if item.knob == name]
    return chosen


def test_rows_are_those_of_the_ranking() -> None:
    choice = BASE.with_values({"recency_half_life_days": 30.0})
    answer = explained(OLD_AND_NEW, "new", settings=choice)
    ranked = rank(OLD_AND_NEW.candidates(0), choice)
    assert repr(answer.rows) == repr(tuple(ranked))
    assert answer.first_position == 2


def test_a_half_life_that_helps_is_named_with_the_row_that_is_overtaken() -> None:
    # old has 1/2 and new 1/4 with rrf_k = 1; 90 days apart, they are equal at 90 days.
    answer = explained(OLD_AND_NEW, "new")
    help_ = remedy(answer, "recency_half_life_days")
    assert (help_.position, help_.item_id, help_.other_id) == (2, "new", "old")
    assert help_.at == help_.high == pytest.approx(90.0)


def test_an_expected_row_that_is_first_needs_no_remedy() -> None:
    assert explained(OLD_AND_NEW, "old").remedies == ()
    assert explained(OLD_AND_NEW, "old").first_position == 1


def test_a_question_without_an_answer_has_no_remedy() -> None:
    assert explained(OLD_AND_NEW).remedies == ()


def test_a_smaller_rrf_k_is_a_whole_number() -> None:
    # a: ranks 1 and 12, b: ranks 4 and 4. With rrf_k = 60 b leads, with a small one a does.
    vector = ["a", "x0", "x1", "b"]
    lexical = ["x2", "x3", "x4", "b", *(f"y{n}" for n in range(7)), "a"]
    pool = pool_of(
        found(
            [document(f"{name}@0", 0.9 - n / 100) for n, name in enumerate(vector)],
            [document(f"{name}@0", 30.0 - n) for n, name in enumerate(lexical)],
        ),
        depth=12,
    )
    answer = explained(pool, "a", settings=Settings(limit=10, depth=12))
    help_ = remedy(answer, "rrf_k")
    assert help_.position == 1
    assert help_.low == 1
    assert help_.at is not None
    assert help_.high == help_.at == int(help_.at)
    replay = Replay(pool, GoldenSet((query(["a"]),)))
    for k, first in ((int(help_.at), True), (int(help_.at) + 1, False)):
        choice = Settings(k, limit=10, depth=12)
        assert bool(replay.positions([choice]).position[0, 0] == 1) is first


def test_a_knob_that_only_helps_when_it_is_off_is_said_to_be_switched_off() -> None:
    pool = pool_of(found([memory("first", 0.9, 400.0)], [memory("new", 5.0, 4.0)]))
    choice = Settings(limit=2, recency_half_life_days=30.0)
    help_ = remedy(explained(pool, "first", settings=choice), "recency_half_life_days")
    assert (help_.position, help_.low, help_.high, help_.at) == (1, None, None, None)


def test_a_missing_document_is_missing_for_a_reason() -> None:
    pool = pool_of(found([document(name, 0.9 - n / 10) for n, name in enumerate("abcd")]))
    choice = Settings(limit=2, depth=4, min_similarity=0.65)
    answer = explained(pool, "c", "d", "z", settings=choice)
    assert answer.missing == (
        Missing("c", "position", position=3),
        Missing("d", "floor", cosine=pytest.approx(0.6)),  # type: ignore[arg-type]
        Missing("z", "not retrieved"),
    )
    assert answer.first_position == 0


def test_the_nearest_of_several_good_stretches_is_chosen() -> None:
    answer = explained(OLD_AND_NEW, "doc", settings=BASE)
    # The document passes old at 100 / log2(3/2) days, from above.
    help_ = remedy(answer, "recency_half_life_days")
    assert help_.at == pytest.approx(100 / math.log2(1.5))
    assert (help_.item_id, help_.other_id) == ("doc@0", "old")


def test_an_unknown_question_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        explain(Replay(OLD_AND_NEW, GoldenSet((query(["new"]),))), "nothing", BASE)


# --- question classes -----------------------------------------------------------------------------

APART = pool_of(
    found([document("a@0", 0.9), document("c@0", 0.8)], [document("b@0", 9.0)]),
    found([document("a@0", 0.9), document("c@0", 0.8)], [document("b@0", 9.0)], query_id="other"),
)
"""``a`` leads one channel and ``b`` the other: whose channel weighs more is first."""

LOOKUP = {"routing.lookup.weights.vector": 0.5, "routing.lookup.budget": 2}


def routed(*expected: str, query_class: str = "lookup") -> Query:
    return replace(query(expected), route=Route(query_class, "the rule"))


def explained_beside_another(settings: Settings, *expected: str) -> Explanation:
    other = replace(query(expected, query_id="other"), route=Route("code", "the rule"))
    return explain(Replay(APART, GoldenSet((routed(*expected), other))), "q", settings)


def test_a_routed_question_has_the_weights_and_the_budget_of_its_class() -> None:
    answer = explained_beside_another(BASE.with_values(LOOKUP), "c")
    assert answer.weights == {VECTOR: 0.5, LEXICAL: 1.0}
    assert answer.budget == 2
    assert [row.key for row in answer.rows] == ["b", "a"]
    assert answer.missing == (Missing("c", "position", position=3),)
    assert answer.own.weight(VECTOR) == 0.5
    assert answer.own.limit == 2


def test_a_question_of_another_class_has_those_of_all_questions() -> None:
    replay = Replay(APART, GoldenSet((routed("a", query_class="code"),)))
    answer = explain(replay, "q", BASE.with_values(LOOKUP))
    assert (answer.weights, answer.budget) == ({VECTOR: 1.0, LEXICAL: 1.0}, None)
    assert [row.key for row in answer.rows] == ["a", "b", "c"]


def test_a_question_without_a_class_is_told_of_no_class_whatever_one_is_called() -> None:
    settings = BASE.with_values({"routing.None.budget": 1, "routing.None.weights.vector": 0.5})
    answer = explained(APART, "b", settings=settings)
    assert (answer.budget, answer.weights[VECTOR]) == (None, 1.0)
    assert remedy(answer, "weights.vector").position == 1


def test_a_remedy_is_named_by_where_the_class_gets_its_value_from() -> None:
    # b has 1 / 2; a has weight / 2, so the vector channel has to weigh more than the lexical one.
    answer = explained_beside_another(BASE.with_values(LOOKUP), "a")
    own = remedy(answer, "routing.lookup.weights.vector")
    assert (own.position, own.item_id, own.other_id) == (1, "a@0", "b@0")
    assert own.at == own.low == pytest.approx(1.0)
    shared = remedy(answer, "weights.lexical")
    assert shared.at == shared.high == pytest.approx(0.5)
    assert {item.knob for item in answer.remedies} == {own.knob, shared.knob}


@pytest.mark.parametrize("values", [LOOKUP, {"weights.vector": 0.5, "routing.code.budget": 1}])
def test_a_remedy_under_its_name_does_what_it_says(values: Mapping[str, float]) -> None:
    settings = BASE.with_values(values)
    answer = explained_beside_another(settings, "a")
    assert answer.first_position == 2
    assert len(answer.remedies) == 2
    for item in answer.remedies:
        assert item.low is not None
        assert item.high is not None
        inside = math.sqrt(item.low * item.high)
        changed = explained_beside_another(settings.with_values({item.knob: inside}), "a")
        assert changed.first_position == item.position == 1


# --- typed facts ----------------------------------------------------------------------------------

FACTS = [
    ["Ada", "owns", "b", "Ada owns b.", "b", 1, "Ada"],
    ["b", "needs", "c", "b needs c.", "b", 2, "b"],
]


def pool_with_triples(
    told: Sequence[Mapping[str, object]] | None,
    vector: Sequence[Candidate] = (document("a@0", 0.9),),
    triples: Sequence[Candidate] = (document("b@0", 1.5),),
) -> Pool:
    rows = found(vector, [document("b@0", 9.0)], triples=triples)
    provenance = {} if told is None else {"evidence": {"q": told}}
    channels = (VECTOR, LEXICAL, TRIPLES)
    return Pool.from_candidates([rows], channels=channels, depth=10, provenance=provenance)


def test_a_row_that_facts_led_to_comes_with_them() -> None:
    told = [{"item": "b@0", "facts": FACTS}, {"item": "elsewhere@0", "facts": FACTS}]
    answer = explained(pool_with_triples(told), "b")
    assert answer.evidence == {
        "b@0": (
            Evidence(Triple("Ada", "owns", "b", "Ada owns b.", "b"), 1, "Ada"),
            Evidence(Triple("b", "needs", "c", "b needs c.", "b"), 2, "b"),
        )
    }


def test_a_row_beyond_the_limit_has_no_evidence() -> None:
    pool = pool_with_triples([{"item": "b@0", "facts": FACTS}])
    choice = BASE.with_values({"limit": 1, "depth": 3, "weights.vector": 9.0})
    answer = explained(pool, "b", settings=choice)
    assert [row.item_id for row in answer.rows] == ["a@0"]
    assert answer.evidence == {}


def test_a_channel_that_is_off_leads_nowhere() -> None:
    pool = pool_with_triples([{"item": "b@0", "facts": FACTS}])
    answer = explained(pool, "b", settings=BASE.with_values({"weights.triples": 0.0}))
    assert answer.evidence == {}
    assert answer.weights[TRIPLES] == 0.0


@pytest.mark.parametrize("told", [None, []])
def test_a_row_whose_facts_were_not_kept_is_told_apart(told: list[dict[str, object]]) -> None:
    assert explained(pool_with_triples(told), "b").evidence == {"b@0": ()}


def test_a_safe_weight_is_shown_as_the_number_that_holds_for_the_class() -> None:
    replay = Replay(pool_with_triples([]), GoldenSet((routed("b"),)))
    answer = explain(replay, "q", BASE.with_values(LOOKUP))
    assert answer.weights == {VECTOR: 0.5, LEXICAL: 1.0, TRIPLES: safe_triples_weight(1, 0.5)}


def test_weights_that_a_safe_one_follows_are_said_to_be_untried() -> None:
    pool = pool_with_triples([])
    replay = Replay(pool, GoldenSet((routed("a"),)))
    answer = explain(replay, "q", BASE.with_values(LOOKUP))
    assert answer.untried == ("routing.lookup.weights.vector", "weights.lexical")
    numbered = BASE.with_values({**LOOKUP, "weights.triples": 0.01})
    assert explain(replay, "q", numbered).untried == ()
    assert explained(pool, "b").untried == ()  # it is first: no remedy was looked for


def test_a_remedy_of_a_safe_weight_is_measured_from_its_number() -> None:
    # a has 1.005 / 2 and b 1 / 2 + weight / 2: they are equal at a weight of 0.005, safe is more.
    settings = BASE.with_values({"weights.vector": 1.005})
    assert safe_triples_weight(1, 1.0) > 0.005
    answer = explained(pool_with_triples([]), "a", settings=settings)
    help_ = remedy(answer, "weights.triples")
    assert (help_.position, help_.item_id, help_.other_id) == (1, "a@0", "b@0")
    assert help_.at == help_.high == pytest.approx(0.005)


# --- neither --------------------------------------------------------------------------------------


def test_without_classes_and_facts_there_is_nothing_to_say_of_them() -> None:
    answer = explained(OLD_AND_NEW, "new")
    assert answer.weights == {VECTOR: 1.0, LEXICAL: 1.0}
    assert (answer.budget, answer.evidence, answer.untried) == (None, {}, ())
    assert answer.own == BASE


class Twice:
    """Past usage that doubles one page."""

    def factors(self, prior: Prior) -> Mapping[str, float]:
        return {"doc": 2.0}


def test_rows_carry_the_factor_of_past_usage() -> None:
    pool = replace(OLD_AND_NEW, usefulness=Twice())
    answer = explained(pool, "doc", settings=BASE.with_values({"prior.strength": 1.0}))
    # With rrf_k = 1: doc has 2 / 3, old 1 / 2, new 1 / 4.
    assert [(row.item_id, row.prior) for row in answer.rows] == [
        ("doc@0", 2.0),
        ("old", 1.0),
        ("new", 1.0),
    ]


@pytest.mark.slow
def test_many_questions_are_explained_as_each_alone() -> None:
    pool = pool_of(
        found([memory("old", 0.9, 100.0), memory("new", 0.7, 10.0)], query_id="one"),
        found(documents("abc"), documents("cab"), query_id="two"),
        found([memory("x", 0.6, 3.0), memory("y", 0.5, 2.0)], query_id="three"),
    )
    golden = GoldenSet((query(["new"], "one"), query(["b"], "two"), query(["y"], "three")))
    replay = Replay(pool, golden)
    for values in ({}, {"recency_half_life_days": 5.0}, {"min_similarity": 0.75}):
        choice = BASE.with_values(values)
        together = explain_many(replay, golden.query_ids, choice)
        alone = [explain(replay, query_id, choice) for query_id in golden.query_ids]
        assert repr(together) == repr(alone)  # an unknown age is no number, and equals nothing
        assert any(answer.remedies for answer in together)
