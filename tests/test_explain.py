"""Why a row stands where it stands, and what would bring the expected one to the front."""

from __future__ import annotations

import math

import pytest

from sweeper.explain import Explanation, Missing, Remedy, explain
from sweeper.golden import GoldenSet
from sweeper.knobs import Settings
from sweeper.pools import Pool
from sweeper.ranking import rank
from sweeper.replay import Replay
from tests.builders import document, found, memory, pool_of, query

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
