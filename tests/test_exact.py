"""Exact curves: worked examples and the counter-examples of the contract."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sweeper.exact import exact_curve
from sweeper.golden import GoldenSet
from sweeper.metrics import parse_metrics
from sweeper.page.knob_lines import doubtful_places
from sweeper.plots.knob_axis import KnobAxis
from sweeper.pools import Candidate, Pool, QueryCandidates
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.staircase import Curve
from tests.builders import document, documents, found, memory, pool_of, query

METRICS = parse_metrics(["mrr", "recall@1"])
MRR, RECALL = 0, 1
HALF_LIFE = "recency_half_life_days"


def curve_of(pool: Pool, name: str, settings: Settings, *expected: str, **options: int) -> Curve:
    replay = Replay(pool, GoldenSet((query(expected),)))
    return exact_curve(replay, settings, name, METRICS, **options)


def two_memories() -> Pool:
    """Return an old memory at rank 1, a document at 2 and a new memory at 3."""
    return pool_of(
        found([memory("old", 0.9, 100.0), document("doc@0", 0.8), memory("new", 0.7, 10.0)])
    )


def at_ranks(
    **ranks: tuple[tuple[int | None, ...], float],
) -> Pool:
    """Return rows at given ranks (one per channel, None for absent) and ages; fillers elsewhere."""
    names = ("vector", "lexical", "graph")[: len(next(iter(ranks.values()))[0])]
    deepest = max(rank or 0 for places, _ in ranks.values() for rank in places)
    rows: dict[tuple[str, str], list[Candidate]] = {}
    for channel, name in enumerate(names):
        held = {places[channel]: (row, age) for row, (places, age) in ranks.items()}
        for rank in range(1, deepest + 1):
            row, age = held.get(rank, (f"{name}-{rank}", math.nan))
            store = "memory" if age > 0 else "document"
            rows.setdefault((name, store), []).append(
                Candidate(row, row, store, 1 - rank / 100, age)  # type: ignore[arg-type]
            )
    candidates = QueryCandidates("q", rows)  # type: ignore[arg-type]
    return Pool.from_candidates([candidates], channels=names, depth=deepest)


def changes_along_k(pool: Pool, first: str, second: str, settings: Settings) -> list[int]:
    """Return each rrf_k at which two rows have changed places since the one before."""
    replay = Replay(pool, GoldenSet((query([first, second]),)))
    choices = [settings.with_values({"rrf_k": k}) for k in range(1, 600)]
    positions = replay.positions(choices)
    order = positions.position[:, 0] < positions.position[:, 1]
    return [k + 2 for k in np.flatnonzero(order[1:] != order[:-1]).tolist()]


def test_two_rows_cross_where_the_older_has_decayed_by_the_ratio_of_their_scores() -> None:
    # With rrf_k = 1 the old row's share is 1/2 and the new row's 1/4. Their ages differ by 90 days.
    # At a half-life of 90 days the old one has lost one half more, and 1/2 * 1/2 = 1/4.
    curve = curve_of(two_memories(), HALF_LIFE, Settings(rrf_k=1, limit=3), "new")
    crossings = curve.steps.at.tolist()
    # The document's share is 1/3 and does not decay: log2(4/3) < 0, so new never overtakes it.
    assert crossings == [pytest.approx(90.0, rel=1e-14)]
    assert curve.at(89.9)[0, MRR] == 1 / 2
    assert curve.at(90.1)[0, MRR] == 1 / 3
    assert curve.at(0.0)[0, MRR] == 1 / 3


def test_where_two_rows_tie_the_curve_says_what_a_replay_says() -> None:
    pool = two_memories()
    replay = Replay(pool, GoldenSet((query(["new"]),)))
    base = Settings(rrf_k=1, limit=3)
    curve = exact_curve(replay, base, HALF_LIFE, METRICS)
    [edge] = curve.steps.at.tolist()
    assert curve.is_doubtful(edge)
    # old * 2^(-100/90) and new * 2^(-10/90) are equal, but for rounding.
    tied = [90.0, edge, *(math.nextafter(edge, end) for end in (0, math.inf))]
    for half_life in tied:
        settings = base.with_values({HALF_LIFE: half_life})
        figures = replay.figures([settings], METRICS).value[0]
        assert curve.at(half_life).tolist() == figures.tolist()
    assert not curve.is_doubtful(90.0 * (1 + 1e-12))


def test_away_from_ties_a_curve_is_read_without_a_replay() -> None:
    pool = at_ranks(a=((1, 3), 30.0), b=((2, 1), 400.0), c=((4, 2), 0))
    for name in (HALF_LIFE, "min_similarity", "rrf_k", "weights.lexical"):
        curve = curve_of(pool, name, Settings(limit=5, depth=4), "a", highest_k=50)
        alone = replace(curve, replayed=lambda value: pytest.fail(f"replayed at {value}"))
        for cell in range(len(curve.edges) + 1):
            low, _ = curve.bounds(cell)
            value = float(round(curve.middle(cell))) if name == "rrf_k" else curve.middle(cell)
            if curve.underflow is None or low != curve.underflow[0]:
                assert alone.at(value).tolist() == curve.value[cell].tolist()


def test_beyond_its_ends_a_curve_says_what_a_replay_says() -> None:
    pool = at_ranks(a=((18, None), 0), b=((35, 3), 0))
    base = Settings(limit=40, depth=35, weights={"vector": 1.5, "lexical": 0.25})
    replay = Replay(pool, GoldenSet((query(["a"]),)))
    curve = exact_curve(replay, base, "rrf_k", METRICS, highest_k=20)
    figures = replay.figures([base.with_values({"rrf_k": 42})], METRICS).value[0]
    assert curve.at(42).tolist() == figures.tolist() != curve.at(20).tolist()


def test_an_expected_old_row_falls_behind_each_row_at_its_own_half_life() -> None:
    # old against the document: 1/2 * 2^(-100/h) = 1/3 at h = 100 / log2(3/2).
    curve = curve_of(two_memories(), HALF_LIFE, Settings(rrf_k=1, limit=3), "old")
    assert curve.edges[2:].tolist() == pytest.approx([90.0, 100 / math.log2(1.5)], rel=1e-14)
    assert [curve.at(h)[0, MRR] for h in (80.0, 100.0, 200.0)] == [1 / 3, 1 / 2, 1.0]
    assert [curve.at(h)[0, RECALL] for h in (80.0, 100.0, 200.0)] == [0.0, 0.0, 1.0]


def test_off_and_a_very_long_half_life_differ_where_scores_tie() -> None:
    pool = pool_of(found([memory("old", 0.9, 400.0)], [memory("new", 5.0, 4.0)]))
    curve = curve_of(pool, HALF_LIFE, Settings(limit=2), "new")
    assert curve.point(0.0) is not None
    assert curve.at(0.0)[0, MRR] == 1 / 2  # a tie: the vector row was inserted first
    assert curve.at(1e9)[0, MRR] == 1.0
    replay = Replay(pool, GoldenSet((query(["new"]),)))
    for half_life in (0.0, 1e9):
        figures = replay.figures([Settings(limit=2, recency_half_life_days=half_life)], METRICS)
        assert figures.value[0].tolist() == curve.at(half_life).tolist()


def test_where_rows_differ_by_rounding_alone_the_page_does_not_promise_what_a_cell_says() -> None:
    pool = at_ranks(a=((1, 7, 2), 30.0), b=((2, 1, 7), 30.0))
    curve = curve_of(pool, HALF_LIFE, Settings(limit=5), "a")
    wrong = [h for h in (25.0, 60.0) if (curve.at(h) != curve.value[curve.cell(h)]).any()]
    axis = KnobAxis(curve.knob, 1.0, 1000.0)
    told = doubtful_places(axis, curve)
    assert wrong
    for half_life in wrong:
        assert any(low <= axis.place(half_life) <= high for low, high in told)
    assert all(axis.low <= low < high <= axis.high for low, high in told)


def test_a_knob_of_whole_numbers_has_no_curve_between_them() -> None:
    pool = at_ranks(a=((1, 7), 30.0), b=((2, 1), 30.0))
    curve = curve_of(pool, "rrf_k", Settings(limit=2), "a")
    assert curve.at(20.0).tolist() == curve.at(20).tolist()
    for value in (20.6, 1e6 + 0.5, math.nan, math.inf):
        with pytest.raises(ValueError, match="must be"):
            curve.at(value)


def test_rows_that_would_change_places_at_a_weight_beyond_all_numbers_never_do() -> None:
    """2 ** -(1084 / 1.05) is subnormal: a quotient by it overflows."""
    pool = pool_of(found([memory("old", 0.9, 1084.3)], [document("doc@0", 4.0)]))
    choice = Settings(limit=2, recency_half_life_days=1.05)
    curve = curve_of(pool, "weights.vector", choice, "old")
    replay = Replay(pool, GoldenSet((query(["old"]),)))
    assert len(curve.edges) == 0
    for weight in (1e-9, 1.0, 1e9):
        figures = replay.figures([choice.with_values({"weights.vector": weight})], METRICS)
        assert figures.value[0].tolist() == curve.at(weight).tolist()


def test_a_floor_that_equals_a_cosine_keeps_the_row() -> None:
    pool = pool_of(found([document("a@0", 0.75), document("b@0", 0.5)], [document("b@0", 3.0)]))
    curve = curve_of(pool, "min_similarity", Settings(limit=2), "a")
    assert curve.right_closed
    assert curve.edges.tolist() == [0.5, 0.75]
    # b leads with two shares; cut from the vector channel it ties with a, which is inserted first.
    assert curve.at(0.5)[0, MRR] == curve.at(None)[0, MRR] == 1 / 2
    assert curve.at(math.nextafter(0.5, 1))[0, MRR] == curve.at(0.75)[0, MRR] == 1.0
    assert curve.at(math.nextafter(0.75, 1))[0, MRR] == 0.0
    assert [curve.bounds(cell) for cell in range(3)] == [(-1, 0.5), (0.5, 0.75), (0.75, 1)]


def test_a_floor_changes_nothing_where_the_vector_channel_is_off() -> None:
    pool = pool_of(found([document("a@0", 0.75)], [document("b@0", 3.0)]))
    curve = curve_of(pool, "min_similarity", Settings(weights={"vector": 0}), "b")
    assert not len(curve.edges)
    assert curve.at(0.9)[0, MRR] == 1.0


def test_a_weight_crosses_where_shares_balance() -> None:
    # v at rank 1 of one channel, l at rank 3 of the other: w / 63 = 1 / 61 at w = 63 / 61.
    lexical = [document(name, 3.0 - place) for place, name in enumerate(("x@0", "y@0", "l@0"))]
    pool = pool_of(found([document("v@0", 0.9)], lexical))
    curve = curve_of(pool, "weights.lexical", Settings(limit=4), "l")
    assert curve.edges.tolist() == [pytest.approx(63 / 61, rel=1e-14)]
    assert curve.at(1.0)[0, MRR] == 1 / 4
    assert curve.at(1.1)[0, MRR] == 1 / 3
    assert curve.at(0.0)[0, MRR] == 0.0  # switched off, l is no candidate


def test_rrf_k_is_enumerated_and_edges_lie_between_integers() -> None:
    pool = at_ranks(a=((18, None), 0), b=((35, 3), 0))
    curve = curve_of(
        pool,
        "rrf_k",
        Settings(limit=40, depth=35, weights={"vector": 1.5, "lexical": 0.25}),
        "a",
        highest_k=50,
    )
    assert curve.bounds(len(curve.edges))[1] == 50
    assert bool((curve.edges % 1 == 0.5).all())
    assert {7.5, 41.5} <= set(curve.steps.at.tolist())


@pytest.mark.parametrize(
    ("rows", "settings", "expected"),
    [
        (
            {"a": ((18, None), 0), "b": ((35, 3), 0)},
            Settings(limit=80, depth=35, weights={"vector": 1.5, "lexical": 0.25}),
            [8, 42],
        ),
        (
            {"a": ((2, 38), -math.log2(0.5061)), "b": ((None, 14), 0)},
            Settings(limit=80, depth=38, recency_half_life_days=1.0),
            [41, 418],
        ),
        (
            {"a": ((None, 3, 5), 0), "b": ((34, 1, 25), 0)},
            Settings(limit=120, depth=34),
            [6, 12],
        ),
    ],
    ids=["two weights", "a factor of 0.5061", "three channels"],
)
def test_two_rows_may_change_places_twice_as_rrf_k_grows(
    rows: dict[str, tuple[tuple[int | None, ...], float]], settings: Settings, expected: list[int]
) -> None:
    pool = at_ranks(**rows)
    assert changes_along_k(pool, "a", "b", settings) == expected


def test_scores_that_underflow_are_named_and_half_lives_above_are_exact() -> None:
    curve = curve_of(two_memories(), HALF_LIFE, Settings(rrf_k=1, limit=3), "old")
    assert curve.underflow == (10 / 1100, 100 / 900)
    assert curve.edges[:2].tolist() == list(curve.underflow)
    # Below, every memory's score is 0, and the document stands first: ties keep insertion order.
    assert curve.at(0.005)[0, MRR] == 1 / 2


def test_rows_apart_by_rounding_alone_are_named_unsettled() -> None:
    # 1/61 + 1/62 + 1/67, added up in two orders, differs in the last bit.
    one, other = (1, 2, 7), (7, 1, 2)
    assert 1 / 61 + 1 / 62 + 1 / 67 != 1 / 67 + 1 / 61 + 1 / 62
    pool = at_ranks(a=(one, 30.0), b=(other, 30.0))
    assert curve_of(pool, HALF_LIFE, Settings(limit=5, depth=7), "a").unsettled == (0,)
    fresh = at_ranks(a=(one, 0), b=(other, 0))
    assert curve_of(fresh, HALF_LIFE, Settings(limit=5, depth=7), "a").unsettled == ()


def test_scores_many_orders_of_magnitude_apart_still_cross() -> None:
    # 1/61 * 2^(-100/h) = 1e-20/61 at h = 100 / log2(1e20).
    pool = pool_of(found([document("d@0", 0.9)], [memory("m", 3.0, 100.0)]))
    curve = curve_of(pool, HALF_LIFE, Settings(weights={"vector": 1e-20}), "m")
    assert curve.steps.at.tolist() == [pytest.approx(100 / math.log2(1e20), rel=1e-14)]
    assert [curve.at(h)[0, MRR] for h in (1.0, 2.0)] == [1 / 2, 1.0]


def test_a_grid_of_half_lives_is_replayed_right_where_scores_are_far_apart() -> None:
    pool = pool_of(found([document("d@0", 0.9)], [memory("m", 3.0, 100.0)]))
    replay = Replay(pool, GoldenSet((query(["m"]),)), compiled=False)
    base = Settings(weights={"vector": 1e-20})
    grid = [base.with_values({HALF_LIFE: days}) for days in (0.5, 1.0, 1.4, 1.6, 2.0, 3.0)]
    alone = [replay.positions([choice]).position[0, 0] for choice in grid]
    assert replay.positions(grid).position[:, 0].tolist() == alone == [2, 2, 2, 1, 1, 1]


def test_a_pool_without_rows_or_questions_that_find_nothing_has_a_flat_curve() -> None:
    for name in (HALF_LIFE, "min_similarity", "rrf_k", "weights.vector"):
        curve = curve_of(pool_of(found()), name, Settings(), "a", highest_k=5)
        assert not len(curve.edges)
        assert curve.value.tolist() == [[[0.0, 0.0], [0.0, 0.0]]]


def test_slices_and_overall_add_up_the_questions() -> None:
    pool = pool_of(found(documents("ab"), query_id="p"), found(documents("ab"), query_id="q"))
    golden = GoldenSet((query(["a"], "p", "one"), query(["b"], "q", "two")))
    curve = exact_curve(Replay(pool, golden), Settings(), HALF_LIFE, METRICS)
    assert curve.groups == ("one", "two", "overall")
    assert curve.at(30.0)[:, MRR].tolist() == [1.0, 0.5, 0.75]


def test_knobs_without_an_exact_curve_are_refused() -> None:
    for name in ("limit", "depth", "weights.nothing", "nothing"):
        with pytest.raises(ValueError, match="has no exact curve"):
            curve_of(two_memories(), name, Settings(limit=3), "new")
    with pytest.raises(ValueError, match="weights of 0 or from 1e-100"):
        curve_of(two_memories(), HALF_LIFE, Settings(limit=3, weights={"vector": 1e-300}), "new")
