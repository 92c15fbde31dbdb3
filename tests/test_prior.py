"""The usefulness prior against its formula, and readers that behave as they were told to."""

from __future__ import annotations

import json
import math
import pickle
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper import prior as prior_module
from sweeper.formats import read_corpus, read_golden
from sweeper.golden import Key, QueryId
from sweeper.prior import (
    PSEUDO_CITES,
    Interaction,
    UsageLog,
    Usefulness,
    canonical_question,
    factors,
)
from sweeper.readers import Readers, simulate
from sweeper.settings import Prior
from tests.projects import ROOT

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
PLAIN: dict[str, Any] = {"as_of": NOW, "strength": 1.0, "cap": 10.0, "half_life_days": 0.0}


def asked(offered: str, cited: str = "", days_ago: float = 0.0, question: str = "q") -> Interaction:
    """Return an interaction whose pages are letters."""
    return Interaction(question, tuple(offered), tuple(cited), NOW - timedelta(days=days_ago))


def learned(*interactions: Interaction, **options: Any) -> dict[Key, float]:
    return factors(UsageLog(interactions), **{**PLAIN, **options})


def by_the_formula(
    log: UsageLog, *, as_of: datetime, strength: float, cap: float, half_life_days: float
) -> dict[Key, float]:
    """Return the factors as the docstring has them, one loop per sum."""
    keys = {key for each in log.interactions for key in each.offered}

    def weight(each: Interaction) -> float:
        age = (as_of - each.at).total_seconds() / 86_400
        return float(2 ** -(age / half_life_days)) if half_life_days and age > 0 else 1.0

    def rate(place: int) -> float:
        there = [each for each in log.interactions if len(each.offered) > place]
        offers = math.fsum(weight(each) for each in there)
        cites = math.fsum(weight(each) for each in there if each.offered[place] in each.cited)
        return cites / offers if offers else 0.0

    rates = [rate(place) for place in range(max(len(e.offered) for e in log.interactions))]
    found = {}
    for key in keys:
        having = [each for each in log.interactions if key in each.offered]
        observed = math.fsum(weight(each) for each in having if key in each.cited)
        expected = math.fsum(weight(each) * rates[each.offered.index(key)] for each in having)
        ratio = (observed + PSEUDO_CITES) / (expected + PSEUDO_CITES)
        found[key] = min(cap, max(1 / cap, ratio**strength))
    return found


@st.composite
def interactions(draw: st.DrawFn) -> Interaction:
    offered = draw(st.lists(st.sampled_from("abcdef"), unique=True, max_size=5))
    cited = [key for key in offered if draw(st.booleans())]
    hours = draw(st.integers(-50, 5000))
    return Interaction("q", tuple(offered), tuple(cited), NOW - timedelta(hours=hours))


LOGS = st.lists(interactions(), min_size=1, max_size=12).map(lambda found: UsageLog(tuple(found)))
STRENGTHS = st.floats(0, 5)
CAPS = st.floats(1, 100)
HALF_LIVES = st.one_of(st.just(0.0), st.floats(0.5, 400))


# --- factors --------------------------------------------------------------------------------------


def test_a_page_that_is_cited_wherever_it_stands_rises_and_the_ignored_one_falls() -> None:
    found = learned(asked("ab", "a"), asked("ba", "a"))  # both positions have the rate 1/2
    assert found == {"a": (2 + 5) / (1 + 5), "b": (0 + 5) / (1 + 5)}


def test_cites_that_the_position_explains_move_nothing() -> None:
    assert learned(*[asked("ab", "a")] * 50) == {"a": 1.0, "b": 1.0}


def test_a_cite_low_down_is_worth_more_than_one_at_the_top() -> None:
    # position 1: 3 cites of 4 offers; position 2: 1 of 4
    found = learned(asked("ab", "a"), asked("ab", "a"), asked("ab", "a"), asked("cd", "d"))
    assert found["a"] == (3 + 5) / (3 * 3 / 4 + 5)
    assert found["d"] == (1 + 5) / (1 / 4 + 5)
    assert found["d"] > found["a"]


def test_an_interaction_weighs_a_half_after_one_half_life() -> None:
    found = learned(asked("a", "a"), asked("b", "", 30), half_life_days=30)
    rate = 1 / 1.5
    assert found == {"a": (1 + 5) / (rate + 5), "b": (0 + 5) / (0.5 * rate + 5)}


def test_an_interaction_after_as_of_weighs_one() -> None:
    late = learned(asked("ab", "a", -10), asked("ba", "a"), half_life_days=1)
    assert late == learned(asked("ab", "a"), asked("ba", "a"))


def test_strength_is_an_exponent_and_the_cap_holds_on_both_sides() -> None:
    log = [asked("ab", "a"), asked("ba", "a")] * 20
    ratio = {"a": (40 + 5) / (20 + 5), "b": 5 / (20 + 5)}
    assert learned(*log, strength=2) == {"a": ratio["a"] ** 2, "b": 1 / 10}
    assert learned(*log, strength=0.5) == {key: worth**0.5 for key, worth in ratio.items()}
    assert learned(*log, cap=1.5) == {"a": 1.5, "b": 1 / 1.5}


def test_the_largest_strength_gives_the_caps() -> None:
    found = learned(asked("ab", "a"), asked("ba", "a"), strength=1.7e308, cap=4)
    assert found == {"a": 4, "b": 1 / 4}


def test_chance_alone_moves_a_page_by_at_most_the_share_that_the_pseudo_count_allows() -> None:
    spreads = [math.sqrt(e / 10) / (e / 10 + PSEUDO_CITES) for e in range(1, 10_000)]
    assert max(spreads) == pytest.approx(1 / (2 * math.sqrt(PSEUDO_CITES)))
    assert round(max(spreads), 2) == 0.22


def test_half_of_what_the_cites_say_counts_at_as_many_expected_cites_as_pseudo_cites() -> None:
    found = learned(*[asked("ab", "a"), asked("ba", "a")] * 5)  # 10 cites of a, 5 expected
    assert found["a"] == 1 + 0.5 * (10 / 5 - 1)


@given(LOGS, STRENGTHS, CAPS, HALF_LIVES)
def test_factors_are_those_of_the_formula(
    log: UsageLog, strength: float, cap: float, half_life_days: float
) -> None:
    options: dict[str, Any] = {"strength": strength, "cap": cap, "half_life_days": half_life_days}
    found = factors(log, as_of=NOW, **options)
    assert found == pytest.approx(by_the_formula(log, as_of=NOW, **options), rel=1e-12)


@given(LOGS, STRENGTHS, CAPS, HALF_LIVES)
def test_a_factor_is_within_the_caps(
    log: UsageLog, strength: float, cap: float, half_life_days: float
) -> None:
    found = factors(log, as_of=NOW, strength=strength, cap=cap, half_life_days=half_life_days)
    assert all(1 / cap <= factor <= cap for factor in found.values())


@given(LOGS, HALF_LIVES, st.sampled_from([(0.0, 7.0), (3.0, 1.0)]))
def test_strength_0_and_cap_1_are_off(
    log: UsageLog, half_life_days: float, off: tuple[float, float]
) -> None:
    strength, cap = off
    found = factors(log, as_of=NOW, strength=strength, cap=cap, half_life_days=half_life_days)
    assert set(found.values()) <= {1.0}
    assert set(found) == {key for each in log.interactions for key in each.offered}


def test_an_empty_log_has_no_factors() -> None:
    assert factors(UsageLog(), **PLAIN) == {}
    assert learned(asked("")) == {}


def test_a_page_that_was_never_offered_has_no_factor() -> None:
    assert learned(asked("ab", "a"), n=0) == {}
    assert set(learned(asked("ab", "a", 1), asked("c", "c", 0), n=1)) == {"a", "b"}


def test_a_log_without_cites_gives_one() -> None:
    assert learned(asked("ab"), asked("bc")) == {"a": 1.0, "b": 1.0, "c": 1.0}


def test_interactions_too_old_to_weigh_anything_give_one() -> None:
    assert learned(asked("ab", "a", 10_000), asked("ba", "a", 9_999), half_life_days=0.1) == {
        "a": 1.0,
        "b": 1.0,
    }


@given(LOGS, HALF_LIVES, st.randoms(use_true_random=False))
def test_the_order_in_which_interactions_are_given_changes_no_bit(
    log: UsageLog, half_life_days: float, chance: Any
) -> None:
    shuffled = list(log.interactions)
    chance.shuffle(shuffled)
    options = {**PLAIN, "half_life_days": half_life_days}
    assert factors(UsageLog(tuple(shuffled)), **options) == factors(log, **options)


@given(LOGS, st.data())
def test_the_first_n_are_learned_from_like_a_log_of_their_own(
    log: UsageLog, data: st.DataObject
) -> None:
    n = data.draw(st.integers(0, len(log)))
    options = {**PLAIN, "half_life_days": 30.0}
    assert factors(log, n=n, **options) == factors(log.first(n), **options)


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("strength", -0.1, "strength must be a finite number of at least 0, got -0.1"),
        ("strength", math.inf, "strength must be a finite number of at least 0, got inf"),
        ("strength", math.nan, "strength must be a finite number of at least 0, got nan"),
        ("cap", 0.99, "cap must be a finite number of at least 1, got 0.99"),
        ("cap", math.inf, "cap must be a finite number of at least 1, got inf"),
        ("half_life_days", -1.0, "half_life_days must be a finite number of at least 0, got -1.0"),
        ("half_life_days", math.nan, "half_life_days must be a finite number of at least 0"),
        ("n", 3, "n must be a count from 0 to 2, got 3"),
        ("n", -1, "n must be a count from 0 to 2, got -1"),
        ("as_of", NOW.replace(tzinfo=None), "as_of must be a time with a time zone, got 2026-11"),
    ],
)
def test_a_number_outside_its_domain_is_refused(option: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        learned(asked("ab", "a"), asked("ba", "a"), **{option: value})


# --- logs -----------------------------------------------------------------------------------------


def test_a_log_is_ordered_by_time_and_keeps_the_order_of_one_instant() -> None:
    late, one, two = asked("a", "", 0), asked("b", "", 5), asked("c", "", 5)
    log = UsageLog((late, one, two))
    assert log.interactions == (one, two, late)
    assert log.first(2) == UsageLog((one, two))
    assert (len(log), len(log.first(0))) == (3, 0)


@pytest.mark.parametrize("n", [-1, 2])
def test_more_interactions_than_there_are_cannot_be_first(n: int) -> None:
    with pytest.raises(ValueError, match=f"n must be a count from 0 to 1, got {n}"):
        UsageLog((asked("a"),)).first(n)


def test_questions_are_told_apart_without_case_and_white_space() -> None:
    log = UsageLog(
        (asked("a", question="Who owns  HERON?"), asked("a", question=" who owns\theron?"))
    )
    assert log.questions == {canonical_question("Who owns Heron?")}


def test_the_digest_tells_content_and_not_time_zones() -> None:
    log = UsageLog((asked("ab", "a"),))
    moved = Interaction("q", ("a", "b"), ("a",), NOW.astimezone(timezone(timedelta(hours=2))))
    assert UsageLog((moved,)).digest == log.digest
    others = [
        asked("ab", "a", question="r"),
        asked("ba", "a"),
        asked("ab", "b"),
        asked("ab", "ab"),
        asked("ab", "a", 1e-9),
    ]
    digests = {UsageLog((other,)).digest for other in others} | {log.digest, UsageLog().digest}
    assert len(digests) == len(others) + 2


@pytest.mark.parametrize(
    ("spoilt", "message"),
    [
        ({"question": " \n"}, "question must be a text"),
        ({"offered": ("a", "b", "a")}, "offered must be distinct pages"),
        ({"cited": ("a", "a")}, "cited must be distinct pages"),
        ({"cited": ("c",)}, "cited must be offered pages, got 'c'"),
        ({"at": NOW.replace(tzinfo=None)}, "at must be a time with a time zone"),
    ],
)
def test_an_interaction_that_cannot_be_is_refused(spoilt: dict[str, Any], message: str) -> None:
    sound: dict[str, Any] = {"question": "q", "offered": ("a", "b"), "cited": ("a",), "at": NOW}
    with pytest.raises(ValueError, match=message):
        Interaction(**{**sound, **spoilt})


# --- simulated readers ----------------------------------------------------------------------------

QUESTIONS: dict[QueryId, str] = {"q1": "Who?", "q2": "Where?", "q3": "When?"}
SHOWN: dict[QueryId, tuple[Key, ...]] = {"q1": tuple("abcde"), "q2": tuple("edcba"), "q3": ("x",)}
RELEVANT: dict[QueryId, set[Key]] = {"q1": {"c"}, "q2": {"a"}, "q3": set()}


def offer_shown(_: Mapping[Key, float]) -> Mapping[QueryId, Sequence[Key]]:
    return SHOWN


def simulated(n: int, readers: Readers | None = None, **options: Any) -> UsageLog:
    options = {"offer": offer_shown, "relevant": RELEVANT, "texts": QUESTIONS, **options}
    return simulate(n=n, start=NOW, readers=readers or Readers(), **options)


def share_cited(log: UsageLog, question: str, key: Key) -> float:
    found = [key in each.cited for each in log.interactions if each.question == question]
    return sum(found) / len(found)


def test_a_wrong_page_is_cited_as_often_as_its_position_is_looked_at_and_readers_slip() -> None:
    log = simulated(30_000, Readers(position_bias=1.0, wrong=0.3))
    # about 10,000 interactions per question: five standard deviations are below 0.025
    assert share_cited(log, "Who?", "a") == pytest.approx(0.3, abs=0.025)
    assert share_cited(log, "Who?", "e") == pytest.approx(0.3 / 5, abs=0.025)
    assert share_cited(log, "Where?", "e") > 3 * share_cited(log, "Who?", "e")


def test_an_answer_is_cited_when_it_is_looked_at_and_nobody_slips() -> None:
    log = simulated(30_000, Readers(position_bias=2.0, wrong=0.2))
    assert share_cited(log, "Who?", "c") == pytest.approx(0.8 / 3**2, abs=0.025)


def test_without_bias_and_slips_exactly_the_answers_are_cited() -> None:
    log = simulated(300, Readers(position_bias=0.0, wrong=0.0))
    answers = {text: tuple(RELEVANT[name]) for name, text in QUESTIONS.items()}
    assert all(each.cited == answers[each.question] for each in log.interactions)


def test_without_slips_nothing_but_answers_is_cited() -> None:
    log = simulated(3000, Readers(position_bias=1.0, wrong=0.0))
    cited = {(each.question, key) for each in log.interactions for key in each.cited}
    assert cited == {("Who?", "c"), ("Where?", "a")}


def test_every_question_is_asked_about_as_often() -> None:
    counts = Counter(each.question for each in simulated(30_000).interactions)
    assert all(
        abs(counts[text] - 10_000) < 5 * math.sqrt(30_000 * 2 / 9) for text in QUESTIONS.values()
    )


def test_pages_are_logged_as_they_were_offered() -> None:
    shown = {text: SHOWN[name] for name, text in QUESTIONS.items()}
    assert all(each.offered == shown[each.question] for each in simulated(50).interactions)


def test_a_longer_log_begins_with_the_shorter_one() -> None:
    assert simulated(10_000).first(100) == simulated(100)


def test_a_seed_repeats_and_another_one_does_not() -> None:
    assert simulated(100, Readers(seed=3)).digest == simulated(100, Readers(seed=3)).digest
    assert simulated(100, Readers(seed=3)).digest != simulated(100, Readers(seed=4)).digest


def test_which_questions_are_asked_does_not_depend_on_what_is_offered() -> None:
    other = simulated(200, offer=lambda _: dict.fromkeys(QUESTIONS, ("z",)))
    assert [e.question for e in other.interactions] == [
        e.question for e in simulated(200).interactions
    ]


def test_questions_are_evenly_spaced_from_the_start() -> None:
    times = [each.at for each in simulated(100, Readers(per_day=24)).interactions]
    assert times[0] == NOW
    assert {later - earlier for earlier, later in pairwise(times)} == {timedelta(hours=1)}


def test_the_last_interaction_may_be_at_the_end_and_not_after_it() -> None:
    day = NOW + timedelta(days=1)
    log = simulated(25, Readers(per_day=24), end=day)
    assert log.interactions[-1].at == day
    with pytest.raises(ValueError, match=r"n must be at most 25 at 24 a day from .*, got 26"):
        simulated(26, Readers(per_day=24), end=day)
    with pytest.raises(ValueError, match="n must be at most 0 "):
        simulated(1, end=NOW - timedelta(days=3))
    assert len(simulated(0, end=NOW - timedelta(days=3))) == 0


def test_without_learning_pages_are_offered_once_without_factors() -> None:
    calls: list[Mapping[Key, float]] = []

    def offer(given: Mapping[Key, float]) -> Mapping[QueryId, Sequence[Key]]:
        calls.append(given)
        return SHOWN

    simulated(100, offer=offer, rounds=5)
    assert calls == [{}]


def test_with_learning_pages_are_offered_anew_whenever_the_log_has_doubled() -> None:
    given: list[Mapping[Key, float]] = []
    logs: list[UsageLog] = []

    def offer(learned: Mapping[Key, float]) -> Mapping[QueryId, Sequence[Key]]:
        given.append(learned)
        return dict.fromkeys(QUESTIONS, (f"page {len(given)}",))

    def learn(log: UsageLog) -> Mapping[Key, float]:
        logs.append(log)
        return {"a": float(len(log))}

    log = simulated(80, offer=offer, learn=learn, rounds=3)
    assert given == [{}, {"a": 10.0}, {"a": 20.0}, {"a": 40.0}]
    assert logs == [log.first(10), log.first(20), log.first(40)]
    shown = Counter(each.offered[0] for each in log.interactions)
    assert shown == {"page 1": 10, "page 2": 10, "page 3": 20, "page 4": 40}


def test_a_short_log_is_learned_from_less_often() -> None:
    lengths: list[int] = []

    def learn(log: UsageLog) -> Mapping[Key, float]:
        lengths.append(len(log))
        return {}

    simulated(5, learn=learn, rounds=60)
    assert lengths == [1, 2]


def test_a_prior_that_is_learned_from_readers_lifts_what_answers() -> None:
    turned = {name: tuple("abcde"[place:] + "abcde"[:place]) for place, name in enumerate("uvwxy")}
    log = simulated(
        3000,
        offer=lambda _: turned,
        relevant=dict.fromkeys(turned, ("c",)),
        texts={name: name for name in turned},
    )
    found = factors(log, **PLAIN)
    assert found["c"] > 2
    assert max(found[key] for key in "abde") < 1


def test_an_answer_that_alone_stands_at_its_position_gains_nothing() -> None:
    found = factors(simulated(3000, Readers(wrong=0.0)), **PLAIN)  # c is third for q1 and q2
    assert found["c"] == 1.0
    assert found["a"] > 1.2


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("position_bias", -1.0, "position_bias must be a finite number of at least 0, got -1.0"),
        ("position_bias", math.inf, "position_bias must be a finite number"),
        ("wrong", 1.1, "wrong must be a number from 0 to 1, got 1.1"),
        ("wrong", math.nan, "wrong must be a number from 0 to 1, got nan"),
        ("per_day", 0, "per_day must be an integer of at least 1, got 0"),
    ],
)
def test_readers_that_cannot_be_are_refused(option: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Readers(**{option: value})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": -1}, "n must be an integer of at least 0, got -1"),
        ({"rounds": -1}, "rounds must be an integer of at least 0, got -1"),
        ({"texts": {}}, "texts must be at least one question"),
        ({"relevant": {"q1": ()}}, "relevant must be given for every question, got none for 'q2'"),
        ({"offer": lambda _: {"q1": ()}}, "offered pages must be given .* got none for 'q2'"),
        ({"start": NOW.replace(tzinfo=None)}, "start must be a time with a time zone"),
        ({"end": NOW.replace(tzinfo=None)}, "end must be a time with a time zone"),
    ],
)
def test_a_simulation_that_cannot_be_is_refused(options: dict[str, Any], message: str) -> None:
    sound: dict[str, Any] = {
        **{"offer": offer_shown, "relevant": RELEVANT, "texts": QUESTIONS},
        **{"n": 3, "start": NOW, "readers": Readers()},
    }
    with pytest.raises(ValueError, match=message):
        simulate(**{**sound, **options})


# --- the questions that readers of the atlas ask --------------------------------------------------

ATLAS = ROOT / "configs/corpora/atlas"
CORPUS = read_corpus(ATLAS / "pages")
GOLDEN = read_golden(ATLAS / "golden.jsonl").queries
USAGE = read_golden(ATLAS / "usage-questions.jsonl", corpus_keys=CORPUS.keys).queries


def test_no_usage_question_is_a_golden_question() -> None:
    asked_twice = {canonical_question(query.text) for query in (*GOLDEN, *USAGE)}
    assert len(asked_twice) == len(GOLDEN) + len(USAGE)


def test_no_usage_question_shares_most_of_its_words_with_a_golden_question() -> None:
    def words(text: str) -> set[str]:
        return set(re.findall(r"\w+", text.casefold()))

    def alike(one: str, other: str) -> float:
        return len(words(one) & words(other)) / len(words(one) | words(other))

    assert [
        (use.text, golden.text)
        for use in USAGE
        for golden in GOLDEN
        if alike(use.text, golden.text) > 0.5
    ] == []


def test_usage_questions_are_numbered_and_have_the_shape_of_the_golden_set() -> None:
    def shapes(name: str) -> set[tuple[str, ...]]:
        lines = (ATLAS / name).read_text("utf-8").splitlines()
        return {tuple(json.loads(line)) for line in lines}

    assert [query.query_id for query in USAGE] == [f"u-{number:02}" for number in range(1, 41)]
    assert shapes("usage-questions.jsonl") == shapes("golden.jsonl")
    assert {query.slice for query in USAGE} == {query.slice for query in GOLDEN}
    assert all(query.answerable for query in USAGE)


def test_usage_is_as_much_about_often_expected_pages_as_about_others_as_the_readme_says() -> None:
    readme = " ".join((ATLAS / "README.md").read_text("utf-8").split())
    times = Counter(key for query in GOLDEN for key in query.expected)
    often = sum(any(times[key] > 1 for key in query.expected) for query in USAGE)
    unasked = CORPUS.keys - {key for query in USAGE for key in query.expected}
    assert min(often, len(USAGE) - often) >= len(USAGE) / 3
    assert (
        f"{often} of the {len(USAGE)} questions are about a page that several golden questions "
        f"expect, {len(USAGE) - often} about pages that only one expects, and {len(unasked)} pages "
        "are never asked for."
    ) in readme


def test_an_identifier_that_is_asked_for_stands_on_its_expected_pages_alone() -> None:
    texts = {entry.entry_id: entry.text for entry in CORPUS.entries}
    for query in (query for query in USAGE if query.slice == "code"):
        (name,) = re.findall(r"[A-Z]+-\d+|\w+_\w+", query.text)
        assert {page for page, text in texts.items() if name in text} == set(query.expected), name


def test_workers_get_what_usage_says_without_its_texts_or_what_was_computed() -> None:
    at = datetime(2026, 10, 1, tzinfo=UTC)
    asked = [Interaction(f"a long question {n} " * 20, ("a", "b"), ("b",), at) for n in range(500)]
    usefulness = Usefulness({"log": UsageLog(tuple(asked))}, at)
    before = len(pickle.dumps(usefulness))
    priors = [Prior(n / 100, 2.0, 0.0, count, None) for n in range(1, 50) for count in (10, None)]
    found = [usefulness.factors(prior) for prior in priors]
    stored = pickle.dumps(usefulness)
    assert len(stored) == before < 60_000
    assert [pickle.loads(stored).factors(prior) for prior in priors] == found


def test_usage_is_learned_once_for_all_strengths_and_caps(monkeypatch: pytest.MonkeyPatch) -> None:
    at = datetime(2026, 10, 1, tzinfo=UTC)
    log = UsageLog((Interaction("q", ("a", "b"), ("b",), at),))
    usefulness = Usefulness({"log": log}, at)
    learned = []
    honest = prior_module._Offers.ratios

    def counting(*arguments: Any) -> tuple[float, ...]:
        learned.append(arguments)
        return honest(*arguments)

    monkeypatch.setattr(prior_module._Offers, "ratios", counting)
    for strength in (0.1, 0.5, 1.0):
        for cap in (1.5, 2.0):
            prior = Prior(strength, cap, 0.0, None, None)
            assert usefulness.factors(prior) == factors(
                log, as_of=at, strength=strength, cap=cap, half_life_days=0.0
            )
    assert len(learned) == 1 + 6  # once, and once per call of the plain function
