"""Search spaces: values, conditions, size without building, and settings that rank alike."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.knobs import Value
from sweeper.ranking import rank_captured
from sweeper.settings import Settings
from sweeper.spaces import Condition, SearchSpace, Span, plainest, significant
from tests.property.pools import FLOORS, HALF_LIVES, WEIGHTS, pools, settings_for

HALF_LIFE = "recency_half_life_days"
DECAYS = (Condition(HALF_LIFE, ">", 0.0),)


def values_of(space: SearchSpace, *names: str) -> list[tuple[Value, ...]]:
    return [tuple(item.get(name) for name in names) for item in space]


def test_a_knob_whose_condition_fails_keeps_its_base_value_and_is_tried_once() -> None:
    space = SearchSpace(
        Settings(),
        {HALF_LIFE: (0.0, 30.0), "rrf_k": (5, 60, 90)},
        when={"rrf_k": DECAYS},
    )
    assert values_of(space, HALF_LIFE, "rrf_k") == [(0, 60), (30, 5), (30, 60), (30, 90)]
    assert space.size == 4


def test_a_condition_may_name_a_knob_that_is_typed_later() -> None:
    space = SearchSpace(
        Settings(), {"rrf_k": (5, 60), HALF_LIFE: (0.0, 30.0)}, when={"rrf_k": DECAYS}
    )
    assert space.knobs == (HALF_LIFE, "rrf_k")
    assert space.size == len(list(space)) == 3


def test_conditions_chain() -> None:
    space = SearchSpace(
        Settings(),
        {"weights.vector": (0.0, 1.0), "min_similarity": (None, 0.2), "rrf_k": (5, 60)},
        when={
            "min_similarity": (Condition("weights.vector", ">", 0.0),),
            "rrf_k": (Condition("min_similarity", "!=", None),),
        },
    )
    assert values_of(space, "weights.vector", "min_similarity", "rrf_k") == [
        (0, None, 60),
        (1, None, 60),
        (1, 0.2, 5),
        (1, 0.2, 60),
    ]
    assert space.size == 4


def test_conditions_in_a_circle_are_refused() -> None:
    with pytest.raises(ValueError, match="circle: rrf_k, limit"):
        SearchSpace(
            Settings(),
            {"rrf_k": (5,), "limit": (5,)},
            when={
                "rrf_k": (Condition("limit", ">", 1),),
                "limit": (Condition("rrf_k", ">", 1),),
            },
        )


@pytest.mark.parametrize(
    ("sign", "bound", "value", "holds"),
    [
        (">", 0.0, 30.0, True),
        (">", 0.0, 0.0, False),
        (">=", 5, 5, True),
        ("<", 5, 4, True),
        ("<=", 5, 6, False),
        ("==", None, None, True),
        ("!=", None, 0.1, True),
        (">", 0.0, None, False),
        ("==", "memory", "memory", True),
        (">", 1.0, "memory", False),
    ],
)
def test_a_condition_compares_numbers_and_words(
    sign: str, bound: Value, value: Value, holds: bool
) -> None:
    assert Condition("x", sign, bound).holds(value) is holds


@given(st.data())
def test_the_size_is_the_number_of_combinations_and_all_are_distinct_members(
    data: st.DataObject,
) -> None:
    names = ("rrf_k", "limit", "depth", "weights.vector")
    choices: dict[str, tuple[Value, ...]] = {
        name: tuple(data.draw(st.sets(st.integers(1, 9), min_size=1, max_size=4)))
        for name in data.draw(st.permutations(names))
    }
    order = data.draw(st.permutations(names))
    when = {
        name: (Condition(order[place - 1], data.draw(st.sampled_from([">", "<="])), 4),)
        for place, name in enumerate(order)
        if place and data.draw(st.booleans())
    }
    space = SearchSpace(Settings(limit=5), choices, when=when)
    every = list(space)
    assert space.size == len(every)
    assert all(item in space for item in every)
    wanted = {
        space.settings(dict(zip(choices, combination, strict=True))).text
        for combination in itertools.product(*choices.values())
    }
    assert {item.text for item in every} == wanted


def test_ten_to_the_twelve_combinations_are_counted_at_once() -> None:
    many = tuple(range(1, 1_000_001))
    space = SearchSpace(Settings(), {"rrf_k": many, "limit": many})
    assert space.size == 10**12
    assert Settings(rrf_k=999_999, limit=3) in space
    assert Settings(rrf_k=999_999, min_similarity=0.5) not in space


def test_a_span_has_no_size_and_holds_numbers_between_its_ends_and_what_stands_beside() -> None:
    span = Span(7.0, 3650.0, log=True, also=(0.0,))
    space = SearchSpace(Settings(), {"rrf_k": (5, 60)}, {HALF_LIFE: span})
    assert space.size is None
    assert Settings(rrf_k=5, recency_half_life_days=365.25) in space
    assert Settings(rrf_k=5) in space
    assert Settings(rrf_k=5, recency_half_life_days=6) not in space
    assert space.values(HALF_LIFE) == (7, 3650, 0)
    with pytest.raises(ValueError, match="no list of values: recency_half_life_days"):
        list(space)


def test_a_drawn_number_is_one_that_a_person_can_type_again() -> None:
    assert significant(0.123456789) == 0.123457
    assert significant(1234567.0) == 1234570.0


# --- settings that rank every pool alike ----------------------------------------------------------


@st.composite
def any_settings(draw: st.DrawFn, depth: int) -> Settings:
    channels = ("vector", "lexical", "triples")
    return Settings(
        rrf_k=draw(st.sampled_from([1, 5, 60])),
        min_similarity=draw(FLOORS),
        recency_half_life_days=draw(HALF_LIVES),
        limit=draw(st.integers(1, 12)),
        depth=draw(st.integers(1, depth)),
        weights={name: draw(WEIGHTS) for name in channels},
        stores=draw(st.sampled_from(["all", "document", "memory"])),
    )


@given(st.data())
@pytest.mark.slow
def test_the_plainest_form_ranks_every_pool_identically(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    settings = data.draw(any_settings(pool.depth) | settings_for(pool))
    plain = plainest(settings, pool.channels)
    for query in golden.queries:
        one, other = (rank_captured(pool, query, item) for item in (settings, plain))
        assert [row.item_id for row in one] == [row.item_id for row in other]
    assert plainest(plain, pool.channels) == plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (Settings(weights={"vector": 0}), Settings(weights={"vector": 0}, min_similarity=0.3)),
        (Settings(stores="document"), Settings(stores="document", recency_half_life_days=30)),
        (Settings(weights={"vector": 0}), Settings(weights={"vector": 0}, rrf_k=5)),
        (Settings(weights={"vector": 0, "lexical": 3}), Settings(weights={"vector": 0})),
        (Settings(weights={"vector": 2, "lexical": 2}), Settings()),
        (Settings(weights={"vector": 4, "lexical": 2}), Settings(weights={"lexical": 0.5})),
        (Settings(routing={"routing.code.budget": 10}), Settings()),
        (Settings(routing={"routing.code.weights.vector": 1}), Settings()),
    ],
)
def test_spellings_of_one_ranking_have_one_plainest_form(one: Settings, other: Settings) -> None:
    channels = ("vector", "lexical")
    assert one != other
    assert plainest(one, channels) == plainest(other, channels)


VECTOR_FOR_CODE = {"routing.code.weights.vector": 0.75}


@pytest.mark.parametrize(
    "changed",
    [
        Settings(rrf_k=5, recency_half_life_days=30, weights={"vector": 0}),
        Settings(weights={"vector": 3, "lexical": 3}),
        Settings(min_similarity=-1),
        Settings(min_similarity=0.5, weights={"vector": 0}, routing=VECTOR_FOR_CODE),
        Settings(weights={"vector": 2, "lexical": 2}, routing=VECTOR_FOR_CODE),
        Settings(rrf_k=5, weights={"vector": 0}, usage={"prior.strength": 1}),
        Settings(routing={"routing.code.budget": 9}),
    ],
)
def test_what_may_rank_otherwise_is_left_as_it_is(changed: Settings) -> None:
    assert plainest(changed, ("vector", "lexical")) == changed


@pytest.mark.parametrize("weight", [5e-324, 2.0**-1060, 1e-300, 1e300, 2.0**1020])
def test_weights_at_the_ends_of_what_a_float_holds_are_left_as_they_are(weight: float) -> None:
    extreme = Settings().with_values({"weights.vector": weight, "weights.lexical": 1.0})
    assert plainest(extreme, ("vector", "lexical")) == extreme
