"""Knobs, settings and search spaces: domains, canonical text, identity."""

from __future__ import annotations

import copy
import hashlib
import math
import pickle

import pytest

from sweeper.knobs import KNOBS, Value, knob
from sweeper.settings import Settings
from sweeper.spaces import SearchSpace, Trial


@pytest.mark.parametrize(
    ("name", "raw", "value"),
    [
        ("rrf_k", 60, 60),
        ("rrf_k", "60", 60),
        ("rrf_k", " 60 ", 60),
        ("rrf_k", 60.0, 60),
        ("rrf_k", "6e1", 60),
        ("rrf_k", 2**53, 2**53),
        ("min_similarity", None, None),
        ("min_similarity", "none", None),
        ("min_similarity", "NONE", None),
        ("min_similarity", "null", None),
        ("min_similarity", "0.1", 0.1),
        ("min_similarity", ".5", 0.5),
        ("min_similarity", -1, -1.0),
        ("min_similarity", "+1", 1.0),
        ("recency_half_life_days", "off", 0.0),
        ("recency_half_life_days", "Off", 0.0),
        ("recency_half_life_days", 0, 0.0),
        ("recency_half_life_days", "1e2", 100.0),
        ("limit", 1, 1),
        ("depth", "limit", None),
        ("depth", None, None),
        ("depth", 50, 50),
        ("weights.vector", 0, 0.0),
        ("weights.vector", "0.5", 0.5),
    ],
)
def test_a_knob_reads_what_a_person_typed(name: str, raw: object, value: Value) -> None:
    read = knob(name).parse(raw)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("name", "raw", "sentence"),
    [
        ("rrf_k", 0, "must be an integer of at least 1, got 0."),
        ("rrf_k", -3, "must be an integer of at least 1, got -3."),
        ("rrf_k", 1.5, "must be an integer of at least 1, got 1.5."),
        ("rrf_k", "x", "must be an integer of at least 1, got 'x'."),
        ("rrf_k", None, "must be an integer of at least 1, got null."),
        ("rrf_k", True, "must be an integer of at least 1, got true."),
        ("rrf_k", False, "must be an integer of at least 1, got false."),
        ("rrf_k", "none", "must be an integer of at least 1, got 'none'."),
        ("rrf_k", [5], "must be an integer of at least 1, got [5]."),
        ("rrf_k", 2**53 + 2, f"must be at most {2**53}, got {2**53 + 2}."),
        ("rrf_k", 10**400, f"must be at most {2**53}, got {'1' + '0' * 56}...."),
        ("rrf_k", "9" * 5000, f"must be at most {2**53}, got '{'9' * 56}...."),
        ("rrf_k", "1_000", "must be an integer of at least 1, got '1_000'."),
        ("min_similarity", 1.01, "must be `none` or a cosine from -1 to 1, got 1.01."),
        ("min_similarity", math.nan, "must be `none` or a cosine from -1 to 1, got nan."),
        ("min_similarity", "nan", "must be `none` or a cosine from -1 to 1, got 'nan'."),
        ("min_similarity", "off", "must be `none` or a cosine from -1 to 1, got 'off'."),
        ("min_similarity", "", "must be `none` or a cosine from -1 to 1, got ''."),
        (
            "recency_half_life_days",
            math.inf,
            "must be a finite number of days of at least 0 (`off` is 0), got inf.",
        ),
        (
            "recency_half_life_days",
            "1e999",
            "must be a finite number of days of at least 0 (`off` is 0), got '1e999'.",
        ),
        (
            "recency_half_life_days",
            -1,
            "must be a finite number of days of at least 0 (`off` is 0), got -1.",
        ),
        ("limit", 2**31, f"must be at most {2**31 - 1}, got {2**31}."),
        ("depth", 0, "must be `limit` or an integer of at least 1, got 0."),
        ("weights.lexical", -0.1, "must be a finite number of at least 0, got -0.1."),
        ("weights.lexical", None, "must be a finite number of at least 0, got null."),
    ],
)
def test_a_value_outside_the_domain_is_refused_with_the_domain(
    name: str, raw: object, sentence: str
) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        knob(name).parse(raw)
    assert str(caught.value) == sentence


def test_a_negative_zero_is_zero() -> None:
    for name in ("min_similarity", "recency_half_life_days", "weights.vector"):
        value = knob(name).parse(-0.0)
        assert isinstance(value, float)
        assert math.copysign(1, value) == 1


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("recency_half_life_days", 30.0, "30"),
        ("recency_half_life_days", 0.0, "off"),
        ("recency_half_life_days", 0.1, "0.1"),
        ("min_similarity", None, "none"),
        ("min_similarity", 0.0, "0"),
        ("min_similarity", 0.3, "0.3"),
        ("depth", None, "limit"),
        ("rrf_k", 60, "60"),
        ("weights.vector", 0.0, "0"),
        ("weights.vector", 1e300, "1e+300"),
    ],
)
def test_canonical_text_is_what_a_person_would_type(name: str, value: Value, text: str) -> None:
    assert knob(name).format(value) == text


@pytest.mark.parametrize("value", [0.1, 0.3, 1 / 3, 1e-9, 1e15, 1e22, 5e-324, 7300.0])
def test_canonical_text_reads_back_as_the_same_double(value: float) -> None:
    half_life = KNOBS["recency_half_life_days"]
    assert half_life.parse(half_life.format(value)) == value


def test_an_axis_puts_the_unset_value_first() -> None:
    floor = KNOBS["min_similarity"]
    assert sorted([0.5, None, -1.0, 0.0], key=floor.sort_key) == [None, -1.0, 0.0, 0.5]


def test_an_unknown_knob_names_the_closest_one() -> None:
    with pytest.raises(KeyError) as caught:
        knob("rff_k")
    assert caught.value.args[0] == 'unknown knob "rff_k". Did you mean "rrf_k"?'


def test_a_weight_needs_a_channel() -> None:
    with pytest.raises(KeyError, match="unknown knob"):
        knob("weights.")


def test_settings_default_to_what_the_contract_names() -> None:
    assert Settings().text == (
        "rrf_k=60 min_similarity=none recency_half_life_days=off limit=10 depth=limit"
    )


@pytest.mark.parametrize(
    "spelling",
    [
        Settings(recency_half_life_days=30),
        Settings(recency_half_life_days=30.0, weights={}),
        Settings(rrf_k=60, recency_half_life_days=30, weights={"vector": 1}),
        Settings(limit=10, depth=10, recency_half_life_days=30),
        Settings().with_values({"recency_half_life_days": 30}),
    ],
)
def test_two_spellings_of_one_setting_are_one(spelling: Settings) -> None:
    plain = Settings(recency_half_life_days=30.0)
    assert spelling.text == plain.text
    assert spelling.trial_id == plain.trial_id
    assert spelling == plain
    assert hash(spelling) == hash(plain)


def test_a_trial_id_is_the_start_of_the_texts_sha256() -> None:
    settings = Settings(rrf_k=5)
    assert settings.trial_id == hashlib.sha256(settings.text.encode()).hexdigest()[:12]


def test_weights_that_are_not_1_stand_in_the_text_in_alphabetical_order() -> None:
    settings = Settings(weights={"vector": 0.5, "lexical": 2, "graph": 1})
    assert settings.text.endswith("depth=limit weights.lexical=2 weights.vector=0.5")
    assert settings.weight("graph") == settings.weight("anything") == 1.0


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"rrf_k": 0}, "rrf_k: must be an integer of at least 1, got 0."),
        ({"depth": 0}, "depth: must be `limit` or an integer of at least 1, got 0."),
        (
            {"weights": {"vector": -1}},
            "weights.vector: must be a finite number of at least 0, got -1.",
        ),
        (
            {"weights": {"vector": math.nan}},
            "weights.vector: must be a finite number of at least 0, got nan.",
        ),
    ],
)
def test_settings_outside_their_domain_cannot_be_made(
    values: dict[str, object], sentence: str
) -> None:
    with pytest.raises(ValueError, match="must be") as caught:
        Settings(**values)  # type: ignore[arg-type]
    assert str(caught.value) == sentence


def test_weights_cannot_be_changed_from_outside() -> None:
    weights = {"vector": 2.0}
    settings = Settings(weights=weights)
    weights["vector"] = 3.0
    assert settings.weight("vector") == 2.0
    with pytest.raises(TypeError):
        settings.weights["vector"] = 3.0  # type: ignore[index]


def test_depth_follows_the_limit_unless_set() -> None:
    assert Settings(limit=7).effective_depth == 7
    assert Settings(limit=7, depth=20).effective_depth == 20


def test_a_depth_that_was_set_stays_when_the_limit_changes() -> None:
    typed = Settings(limit=10, depth=10)
    assert typed.with_values({"limit": 5}).effective_depth == 10


def test_knobs_are_read_and_changed_by_name() -> None:
    settings = Settings(rrf_k=5, weights={"vector": 0.5})
    assert settings.get("rrf_k") == 5
    assert settings.get("weights.vector") == 0.5
    assert settings.get("weights.lexical") == 1.0
    changed = settings.with_values({"rrf_k": 7, "weights.vector": 1, "weights.lexical": 0})
    assert changed == Settings(rrf_k=7, weights={"lexical": 0})
    assert settings == Settings(rrf_k=5, weights={"vector": 0.5})


def test_reading_an_unknown_knob_names_the_closest_one() -> None:
    with pytest.raises(KeyError, match="min_similarity"):
        Settings().get("min_similarty")


@pytest.mark.parametrize("settings", [Settings(), Settings(5, 0.1, 30, 7, 20, {"vector": 0})])
def test_settings_come_back_from_a_pickle_and_a_copy(settings: Settings) -> None:
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert copy.deepcopy(settings) == settings
    assert Settings().with_values(settings.as_dict()) == settings


def test_a_space_lists_every_combination_in_the_order_typed() -> None:
    space = SearchSpace(Settings(), {"rrf_k": (60, 5), "min_similarity": (None, 0.1)})
    assert [(s.rrf_k, s.min_similarity) for s in space] == [
        (60, None),
        (60, 0.1),
        (5, None),
        (5, 0.1),
    ]


def test_a_space_of_no_knobs_is_its_base() -> None:
    space = SearchSpace(Settings(rrf_k=5), {})
    assert list(space) == [Settings(rrf_k=5)]
    assert space.size == 1


def test_the_size_of_a_huge_space_is_known_without_building_it() -> None:
    many = tuple(range(1, 10_001))
    space = SearchSpace(Settings(), {"rrf_k": many, "limit": many, "depth": many})
    assert space.size == 10_000**3


def test_a_line_changes_one_knob_of_the_settings_it_goes_through() -> None:
    space = SearchSpace(Settings(), {"recency_half_life_days": (0.0, 30.0)})
    through = Settings(rrf_k=5)
    assert space.line("recency_half_life_days", through) == [
        Settings(rrf_k=5),
        Settings(rrf_k=5, recency_half_life_days=30),
    ]
    assert space.line("rrf_k", through) == []


def test_a_trial_is_known_by_its_settings() -> None:
    trial = Trial(3, Settings(rrf_k=5), in_space=True, on_line=False, is_current=False)
    assert trial.trial_id == Settings(rrf_k=5).trial_id
