"""Knobs of question classes and of the usefulness prior, and the safe weight of triples."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.knobs import PRIOR_KNOBS, TRIPLES, UNSET, Value, knob, knob_name
from sweeper.pools import QueryCandidates
from sweeper.ranking import rank
from sweeper.settings import Prior, Settings, safe_triples_weight
from tests.builders import document, found

DEFAULT = Settings().text
SPACE = {
    "routing.code.budget": st.none() | st.integers(1, 9),
    "routing.code.weights.vector": st.sampled_from([0.0, 0.5, 1.0]),
    "routing.code.weights.triples": st.none() | st.sampled_from([0.0, 0.2]),
    "routing.look-up_2.weights.lexical": st.sampled_from([0.0, 0.1, 1.0]),
    "weights.triples": st.none() | st.sampled_from([0.0, 1.0, 0.01]),
    "weights.vector": st.sampled_from([0.0, 1.0, 2.0]),
    "prior.strength": st.sampled_from([0.0, 0.3, 1.0]),
    "prior.cap": st.sampled_from([1.0, 1.5, 2.0]),
    "prior.half_life_days": st.sampled_from([0.0, 30.0]),
    "prior.interactions": st.none() | st.integers(0, 9),
    "prior.log": st.none() | st.sampled_from(["readers", "echo"]),
    "depth": st.none() | st.integers(1, 12),
    "limit": st.integers(1, 12),
}
ROUTED = st.fixed_dictionaries({}, optional=SPACE).map(Settings().with_values)


# --- text and identity ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "trial_id"),
    [
        (Settings(), "4330b5ac88b3"),
        (Settings(5, 0.1, 30, 7, 20, {"vector": 0.0, "graph": 2}), "06e823ee29c1"),
        (
            Settings(rrf_k=20, stores="memory", capture={"engine.lexical.match": "all"}),
            "3d2e7afaeb97",
        ),
        (Settings(weights={"lexical": 0.5}), "986056fb7e48"),
    ],
)
def test_settings_without_classes_and_prior_keep_the_ids_they_had(
    settings: Settings, trial_id: str
) -> None:
    # As commit 1cdefd0 computed them, before there were classes: finished sweeps are found by them.
    assert settings.trial_id == trial_id


def test_the_text_has_weights_then_classes_then_the_prior_then_what_is_retrieved() -> None:
    settings = Settings(
        weights={"triples": 0.5, "lexical": 0.5},
        routing={"routing.code.weights.triples": "safe", "routing.code.budget": 3.0},
        usage={"prior.strength": 1, "prior.cap": 1.5, "prior.half_life_days": "off"},
        capture={"engine.triples.hops": 3},
    )
    assert settings.text == (
        f"{DEFAULT} weights.lexical=0.5 weights.triples=0.5 routing.code.budget=3 "
        "routing.code.weights.triples=safe prior.cap=1.5 prior.strength=1 engine.triples.hops=3"
    )


@pytest.mark.parametrize(
    "values",
    [
        {"weights.triples": "safe"},
        {"weights.triples": None},
        {"routing.code.budget": "limit"},
        {"routing.code.budget": None},
        {"prior.strength": 0},
        {"prior.cap": 3, "prior.log": "echo", "prior.interactions": 5},
        {"prior.strength": 1, "prior.cap": 1},
    ],
)
def test_what_changes_no_ranking_is_not_written(values: dict[str, Value]) -> None:
    assert Settings().with_values(values) == Settings()


def test_a_weight_of_triples_of_1_is_written_since_safe_is_the_default() -> None:
    assert Settings(weights={"triples": 1}).text == f"{DEFAULT} weights.triples=1"


def test_defaults_of_the_prior_are_not_written() -> None:
    every: dict[str, Value] = {"prior.strength": 1, "prior.cap": 2, "prior.half_life_days": 0}
    none: dict[str, Value] = {"prior.interactions": "all", "prior.log": None}
    assert Settings(usage={**every, **none}).text == f"{DEFAULT} prior.strength=1"


def test_a_prior_learns_from_all_interactions_of_the_first_log_unless_told() -> None:
    assert Settings(usage={"prior.strength": 0.5}).prior == Prior(0.5, 2.0, 0.0, None, None)
    told: dict[str, Value] = {"prior.interactions": 0, "prior.log": "echo"}
    told["prior.half_life_days"] = 30
    assert Settings(usage={"prior.strength": 1, **told}).prior == Prior(1.0, 2.0, 30.0, 0, "echo")
    assert Settings().prior is None


@given(ROUTED)
def test_settings_read_back_from_their_values(settings: Settings) -> None:
    again = Settings().with_values(settings.as_dict())
    assert again == settings
    assert again.trial_id == settings.trial_id
    own = {name: settings.given(name) for name in SPACE if settings.given(name) != UNSET}
    assert Settings().with_values(own) == settings
    assert all(knob(n).parse(knob(n).format(v)) == v for n, v in settings.as_dict().items())


@given(ROUTED, st.sampled_from([0.0, 1.0]), st.integers(1, 12))
def test_a_pickle_keeps_what_the_text_leaves_out(
    settings: Settings, strength: float, limit: int
) -> None:
    changes: dict[str, Value] = {"prior.strength": strength, "limit": limit}
    for again in (pickle.loads(pickle.dumps(settings)), copy.deepcopy(settings)):
        assert again == settings
        assert again.with_values(changes) == settings.with_values(changes)


# --- one class ------------------------------------------------------------------------------------


@given(ROUTED, st.sampled_from(["code", "look-up_2", "other", None]))
def test_the_settings_of_a_class_are_unrouted_and_as_deep(
    settings: Settings, name: str | None
) -> None:
    own = settings.for_class(name)
    assert own.effective_depth == settings.effective_depth
    assert own.routing == {}
    assert own.for_class(name) is own
    budget = settings.get(f"routing.{name}.budget")
    assert own.limit == (min(settings.limit, int(budget)) if budget else settings.limit)
    assert (own.prior, own.stores) == (settings.prior, settings.stores)


def test_a_budget_below_and_above_the_limit() -> None:
    routing = {"routing.few.budget": 2, "routing.many.budget": 50}
    settings = Settings(limit=8, routing=routing)
    assert [settings.for_class(n).limit for n in ("few", "many", "other", None)] == [2, 8, 8, 8]
    assert settings.for_class("few").depth == 8


def test_a_class_has_its_own_weights_and_those_of_all_questions_where_it_has_none() -> None:
    settings = Settings(weights={"vector": 0.5}, routing={"routing.code.weights.lexical": 0.0})
    assert [settings.for_class("code").weight(n) for n in ("vector", "lexical")] == [0.5, 0.0]
    assert settings.for_class("coder").weights == {"vector": 0.5}
    assert settings.get("routing.code.weights.vector") == 0.5
    assert settings.given("routing.code.weights.vector") == UNSET
    assert settings.given("routing.code.weights.lexical") == 0.0
    assert settings.classes == ("code",)


def test_a_safe_weight_of_a_class_is_safe_beside_its_own_weights() -> None:
    settings = Settings(
        weights={"triples": 0.0},
        routing={
            "routing.code.weights.triples": "safe",
            "routing.code.weights.vector": 0.25,
            "routing.code.weights.lexical": 0.0,
        },
    )
    assert settings.for_class("code").weight(TRIPLES) == safe_triples_weight(60, 0.25)
    assert settings.for_class("other").weight(TRIPLES) == 0.0


@pytest.mark.parametrize(
    ("weights", "lightest"),
    [
        ({}, 1.0),
        ({"vector": 0.5}, 0.5),
        ({"vector": 3.0}, 1.0),
        ({"vector": 3.0, "lexical": 2.0}, 1.0),
        ({"vector": 0.0, "lexical": 4.0}, 1.0),
        ({"graph": 0.125}, 0.125),
        ({"vector": 0.0, "lexical": 0.0}, 1.0),
    ],
)
def test_the_safe_weight_is_that_beside_any_channel_whatever_its_name(
    weights: dict[str, float], lightest: float
) -> None:
    assert Settings(rrf_k=7, weights=weights).weight(TRIPLES) == safe_triples_weight(7, lightest)


# --- names and domains ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("triples_weight", "weights.triples"),
        ("routing.code.triples_weight", "routing.code.weights.triples"),
        ("weights.triples", "weights.triples"),
        ("weights.triples_weight", "weights.triples_weight"),  # a channel of that name
        ("routing.triples_weight", "routing.triples_weight"),
        ("routing.code.weights.triples_weight", "routing.code.weights.triples_weight"),
        ("engine.triples_weight", "engine.triples_weight"),
    ],
)
def test_the_weight_of_triples_has_a_short_name(written: str, name: str) -> None:
    assert knob_name(written) == name


@pytest.mark.parametrize(
    ("name", "raw", "value", "text"),
    [
        ("weights.triples", "Safe", None, "safe"),
        ("weights.triples", None, None, "safe"),
        ("weights.triples", "0.02", 0.02, "0.02"),
        ("routing.code.weights.triples", "safe", None, "safe"),
        ("routing.code.weights.vector", 1, 1.0, "1"),
        ("routing.code.budget", "LIMIT", None, "limit"),
        ("routing.code.budget", "3", 3, "3"),
        ("prior.strength", "1e0", 1.0, "1"),
        ("prior.cap", 1, 1.0, "1"),
        ("prior.half_life_days", "off", 0.0, "off"),
        ("prior.interactions", "all", None, "all"),
        ("prior.interactions", 0, 0, "0"),
        ("prior.log", None, None, "first"),
        ("prior.log", "echo", "echo", "echo"),
    ],
)
def test_a_knob_reads_what_a_person_typed(name: str, raw: object, value: Value, text: str) -> None:
    read = knob(name).parse(raw)
    assert read == value
    assert type(read) is type(value)
    assert knob(name).format(read) == text


SAFE = "`safe` or a finite number of at least 0"
BUDGET = "`limit` or an integer of at least 1"


@pytest.mark.parametrize(
    ("name", "raw", "said"),
    [
        ("weights.triples", -1, f"must be {SAFE}, got -1."),
        ("weights.triples", "none", f"must be {SAFE}, got 'none'."),
        ("routing.code.weights.triples", math.inf, f"must be {SAFE}, got inf."),
        ("routing.code.weights.vector", "safe", "must be a finite number of at least 0, "),
        ("routing.code.weights.vector", None, "must be a finite number of at least 0, got null."),
        ("routing.code.budget", 0, f"must be {BUDGET}, got 0."),
        ("routing.code.budget", 2.5, f"must be {BUDGET}, got 2.5."),
        ("routing.code.budget", True, f"must be {BUDGET}, got true."),
        ("routing.code.budget", 2**31, f"must be at most {2**31 - 1}, got {2**31}."),
        ("prior.strength", -0.1, "must be a finite number of at least 0, got -0.1."),
        ("prior.cap", 0.9, "must be a finite number of at least 1, got 0.9."),
        ("prior.cap", math.nan, "must be a finite number of at least 1, got nan."),
        ("prior.half_life_days", -1, "must be a finite number of days of at least 0 (`off` is 0)"),
        ("prior.interactions", -1, "must be `all` or an integer of at least 0, got -1."),
        ("prior.interactions", 1.5, "must be `all` or an integer of at least 0, got 1.5."),
    ],
)
def test_a_value_outside_the_domain_is_refused_with_the_domain(
    name: str, raw: object, said: str
) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        knob(name).parse(raw)
    assert str(caught.value).startswith(said)
    with pytest.raises(ValueError, match="must be") as caught:
        Settings().with_values({name: raw})  # type: ignore[dict-item]
    assert str(caught.value).startswith(f"{name}: {said}")


@pytest.mark.parametrize(
    ("name", "closest"),
    [
        ("routing.lookup.budgets", "routing.lookup.budget"),
        ("routing.lookup.weight.vector", "routing.lookup.weights.vector"),
        ("prior.strenght", "prior.strength"),
        ("prior.halflife_days", "prior.half_life_days"),
    ],
)
def test_an_unknown_knob_names_the_closest_one(name: str, closest: str) -> None:
    with pytest.raises(KeyError) as caught:
        knob(name)
    assert caught.value.args[0] == f'unknown knob "{name}". Did you mean "{closest}"?'


@pytest.mark.parametrize("name", ["routing.a b.budget", "routing..budget", "routing.a.weights."])
def test_a_class_is_a_name_and_a_weight_needs_a_channel(name: str) -> None:
    with pytest.raises(KeyError, match="unknown knob"):
        knob(name)


@pytest.mark.parametrize(
    "values", [{"routing": {"prior.cap": 2}}, {"usage": {"routing.code.budget": 2}}]
)
def test_a_knob_of_the_other_kind_is_refused(values: dict[str, dict[str, Value]]) -> None:
    with pytest.raises(ValueError, match="is no such knob"):
        Settings(**values)  # type: ignore[arg-type]


def test_every_knob_of_the_prior_is_known_by_its_name() -> None:
    assert all(knob(name) is own for name, own in PRIOR_KNOBS.items())
    assert set(PRIOR_KNOBS) == {f"prior.{field}" for field in Prior._fields}


# --- one triple swaps no two neighbours -----------------------------------------------------------

TOP = "abcdefghij"


def with_one_triple(name: str) -> QueryCandidates:
    """Return ten rows of one channel, of which one is also first among triples."""
    rows = [document(letter, 1 - place / 100) for place, letter in enumerate(TOP)]
    return found(rows, triples=[document(name, 1.0)])


def order(settings: Settings, name: str) -> str:
    rows = rank(with_one_triple(name), settings, channels=("vector", "lexical", TRIPLES))
    return "".join(row.item_id for row in rows)


def assert_nothing_swaps(settings: Settings) -> None:
    for name in TOP:
        assert order(settings, name) == TOP, (settings.text, name)


@pytest.mark.parametrize("rrf_k", range(1, 201))
def test_one_triple_at_the_safe_weight_swaps_no_two_of_the_first_ten(rrf_k: int) -> None:
    assert_nothing_swaps(Settings(rrf_k=rrf_k))


@given(
    st.integers(1, 10**6) | st.integers(1, 10**12),
    st.floats(0.25, 4),
    st.sampled_from([0.0, 0.25, 1.0, 4.0]),
)
def test_nor_with_any_weight_of_the_channel_and_of_another_one(
    rrf_k: int, weight: float, other: float
) -> None:
    assert_nothing_swaps(Settings(rrf_k, weights={"vector": weight, "lexical": other}))


def test_the_weight_is_no_smaller_than_it_has_to_be() -> None:
    for rrf_k in range(1, 201):
        above = safe_triples_weight(rrf_k, 1.0) * 1.02
        assert order(Settings(rrf_k, weights={TRIPLES: above}), "j") == "abcdefghji"


def test_at_the_bound_itself_rounding_swaps_two_rows_that_tie() -> None:
    swapped = set()
    for rrf_k in range(1, 201):
        bound = (rrf_k + 1) / ((rrf_k + 9) * (rrf_k + 10))  # 1/(k+9) - 1/(k+10) = bound/(k+1)
        if order(Settings(rrf_k, weights={TRIPLES: bound}), "j") != TOP:
            swapped.add(rrf_k)
    assert 60 not in swapped  # today's constant happens to be spared: others are not
    assert {3, 10, 40} <= swapped


@pytest.mark.parametrize(
    "values",
    [
        {"prior.cap": 3, "prior.interactions": 7},
        {"prior.cap": 3, "prior.strength": 0.5, "prior.log": "b"},
        {"routing.code.weights.triples": None},
        {"weights.triples": 0, "routing.code.budget": 2, "depth": 10},
    ],
)
def test_settings_made_of_their_own_values_are_whole(values: dict[str, Value]) -> None:
    one = Settings().with_values(values)
    again = Settings().with_values(one.as_dict())
    assert again == one
    assert (again.usage, again.routing, again.weights) == (one.usage, one.routing, one.weights)
