"""What any setting can show, and how high each question can rise."""

from __future__ import annotations

from sweeper.golden import GoldenSet, Query
from sweeper.judging import Box, judging_pool
from sweeper.replay import Replay
from sweeper.settings import Settings
from tests.builders import document, documents, found, memory, pool_of, query


def box(
    k: tuple[int, int] = (60, 60),
    floors: tuple[float | None, float | None] = (None, None),
    half_lives: tuple[float, float] | None = None,
    off: bool = True,
) -> Box:
    return Box(k, floors, half_lives, off)


def test_the_box_holds_all_settings() -> None:
    settings = [
        Settings(20, None, 7.0),
        Settings(5, 0.3, 0.0),
        Settings(60, 0.1, 365.0),
    ]
    assert Box.around(settings) == Box((5, 60), (None, 0.3), (7.0, 365.0), True)
    assert Box.around(settings[:1]) == Box((20, 20), (None, None), (7.0, 7.0), False)
    assert Box.around(settings[1:2]) == Box((5, 5), (0.3, 0.3), None, True)


def test_a_document_that_only_a_value_between_the_listed_ones_shows_is_found() -> None:
    # With rrf_k = 1 and limit 1: the memory has 1/2 * 2^(-20/h), the document at rank 2 has 1/3.
    # x, much older, leads only when decay is off.
    rows = [memory("x", 0.9, 400.0), memory("m", 0.8, 20.0), document("d@0", 0.7)]
    replay = Replay(pool_of(found(rows)), GoldenSet((query(["m"]),)))
    base = Settings(rrf_k=1, limit=1, depth=10)
    ends = judging_pool(replay, base, box((1, 1), half_lives=(7.0, 7.0)))
    assert ends.shown[0] == {"x": 1, "d": 1}
    assert ends.unreachable[0] == ("m",)
    assert ends.absent[0] == (), "a channel holds it: another knob may show it"
    # Between 20 / log2(4/3) and 380 / log2(3/2) days m stands first.
    between = judging_pool(replay, base, box((1, 1), half_lives=(7.0, 1e5)))
    assert between.shown[0] == {"x": 1, "m": 1, "d": 1}
    assert between.unreachable[0] == ()
    assert between.ceiling.tolist() == [1]


def test_a_floor_between_the_ends_can_lift_a_row() -> None:
    # Both stand in both channels. At a floor between their cosines only b keeps its vector share.
    vector = [document("b@0", 0.8), document("a@0", 0.6), document("c@0", 0.5)]
    lexical = [document("a@0", 9.0), document("c@0", 8.0), document("b@0", 7.0)]
    replay = Replay(pool_of(found(vector, lexical)), GoldenSet((query(["b"]),)))
    base = Settings(limit=3, rrf_k=1)
    # Ranks: a (2, 1) leads b (1, 3).
    assert judging_pool(replay, base, box((1, 1))).ceiling.tolist() == [2]
    assert judging_pool(replay, base, box((1, 1), (None, 0.9))).ceiling.tolist() == [1]


def test_what_to_label_leaves_out_expected_and_judged_documents() -> None:
    golden = GoldenSet((Query("q", "s", "text", ("a",), judged=("b",)),))
    replay = Replay(pool_of(found(documents("abcd"))), golden)
    found_pool = judging_pool(replay, Settings(limit=3), box())
    assert set(found_pool.shown[0]) == {"a", "b", "c"}
    assert found_pool.unjudged[0] == ("c",)


def test_an_expected_document_that_no_channel_holds_is_unreachable() -> None:
    replay = Replay(pool_of(found(documents("ab"))), GoldenSet((query(["b", "z"]),)))
    found_pool = judging_pool(replay, Settings(), box())
    assert found_pool.unreachable == found_pool.absent == (("z",),)
    assert found_pool.ceiling.tolist() == [2]


def test_a_question_for_which_nothing_was_retrieved_shows_nothing() -> None:
    replay = Replay(pool_of(found()), GoldenSet((query(["a"]),)))
    found_pool = judging_pool(replay, Settings(), box((1, 60), (None, 0.5), (7.0, 30.0)))
    assert found_pool.shown == ({},)
    assert found_pool.ceiling.tolist() == [0]


def test_rows_of_the_lexical_channel_alone_do_not_need_vector_rows() -> None:
    replay = Replay(pool_of(found([], documents("ab"))), GoldenSet((query(["b"]),)))
    assert judging_pool(replay, Settings(), box(floors=(None, 0.5))).ceiling.tolist() == [2]
