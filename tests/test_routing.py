"""Questions go to the class that a reader would give them, by rules that never fail or stall."""

from __future__ import annotations

import json
import re
import time
from collections import Counter

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sweeper.golden import Route
from sweeper.routing import CLASSES, FALLBACK, RULES, Rule, classify
from tests.projects import ROOT

EXPECTED = {
    "lookup": (
        "How many lockers are there?",
        "For how long is a token valid?",
        "When was the contract signed?",
        "And when does it end?",
        "On which date did we ship?",
        "What is the limit of uploads?",
        "what's the default port",
        "opening hours",
        "Tell me about the offer",
    ),
    "conceptual": (
        "Why are codes short?",
        "How does replication work?",
        "Explain the cache.",
        "What is the difference between a lease and a lock?",
        "What are the trade-offs of caching?",
        "What is the idea behind leases?",
        "Should we cache answers?",
        "Why does Quay depend on Mast?",
    ),
    "relational": (
        "Who owns Quay?",
        "Whose decision was that?",
        "By whom was it approved?",
        "It is broken, so who decides?",
        "Which team is responsible for billing?",
        "What supersedes the old design?",
        "Which service calls billing?",
        "Which ticket does the lease fix?",
    ),
    "impact": (
        "What breaks if the queue is renamed?",
        "What stops working when Quay goes down?",
        "Which teams are affected?",
        "What is the blast radius?",
        "What depends on the queue if its schema is changed?",
        "Quay is down. Which reports are late?",
        "What happens to refunds at night?",
        "We want to rename a field. Which services follow?",
        "Who has to know when we retire the old API?",
    ),
    "code": (
        "max_batch",
        "what does PICKUP_CODE_LOCKED mean",
        "where is getUserName defined",
        "parse() returns nothing",
        "who set `x`",
        "door.command topic",
        "see /etc/hosts",
        "open src/app/main",
        "README.md",
        "run it with --dry-run",
        "tar -x fails",
        "E-42 on the display",
        "E1234",
        "error 404 on login",
        "KeyError in the build",
        "fault 0x80070005",
    ),
}


@pytest.mark.parametrize(
    ("query_class", "question"), [(name, text) for name, row in EXPECTED.items() for text in row]
)
def test_a_plain_question_goes_to_its_class(query_class: str, question: str) -> None:
    assert classify(question).query_class == query_class


@pytest.mark.parametrize(
    "question",
    ["BRK-1042", "AB-1042", "and/or, he/she, 24/7", "iOS and eBay", "pre- and post-war", "-5 °C"],
)
def test_what_only_resembles_code_is_none(question: str) -> None:
    assert classify(question).query_class != "code"


def test_a_ticket_id_leaves_the_class_to_the_other_words() -> None:
    assert classify("Who fixed BRK-1042?").query_class == "relational"
    assert classify("When was BRK-1042 fixed?").query_class == "lookup"


def test_the_first_rule_that_applies_wins() -> None:
    question = "What breaks if `max_batch` is changed, and why?"
    applying = [rule for rule in RULES if rule.pattern.search(question)]
    assert {"impact", "code", "conceptual"} <= {rule.query_class for rule in applying}
    assert classify(question) == (applying[0].query_class, applying[0].name)


def test_every_rule_is_the_one_that_some_question_meets() -> None:
    met = {classify(question).rule for row in EXPECTED.values() for question in row}
    assert met == {rule.name for rule in RULES} | {FALLBACK.rule}


def test_rules_have_a_class_and_a_name_of_their_own_and_one_sentence() -> None:
    assert {rule.query_class for rule in RULES} | {FALLBACK.query_class} == set(CLASSES)
    names = [*(rule.name for rule in RULES), FALLBACK.rule]
    assert len(set(names)) == len(names)
    for rule in RULES:
        assert re.fullmatch(r"The question [^\n]*\.|A clause of [^\n]*\.", rule.description), rule


def test_nothing_goes_to_the_fallback() -> None:
    assert classify("") == classify(" \n") == FALLBACK == Route("lookup", "nothing else applies")


WORDS = sorted({word for row in EXPECTED.values() for text in row for word in text.split()})


@given(st.text() | st.lists(st.sampled_from(WORDS)).map(" ".join))
@example("\ud800")
@example("\0")
@example("İ\u017fK")
def test_any_text_has_one_class(text: str) -> None:
    routed = classify(text)
    assert routed.query_class in CLASSES
    assert classify(text) == routed


@given(st.sampled_from([text for row in EXPECTED.values() for text in row]))
def test_white_space_around_a_question_changes_nothing(question: str) -> None:
    assert classify(f"  {question}\n") == classify(question)


HOSTILE = (
    *("a", "A", "_", "`", "`\n", "a.", "/", "a/", "-", " -", "\n", " ", ", ", "...", "0x", "é"),
    *("what ", "if ", "what if ", "is down ", "what fail ", "if we change ", "who ", "when is "),
    *("which team ", "which fix ", "what is the a ", "want to change ", "how ", "KeyErro "),
    "what if if if if if if if if ",
    "if down down down down down down ",
    "what fail fail fail fail ",
)


@pytest.mark.parametrize("piece", HOSTILE)
def test_a_rule_reads_100_000_characters_in_a_moment(piece: str) -> None:
    text = (piece * 100_000)[:100_000]
    slowest = max((seconds(rule, text), rule.name) for rule in RULES)
    # Linear patterns need 0.2 s at most; one that backtracks needs minutes.
    assert slowest[0] < 5, slowest


def seconds(rule: Rule, text: str) -> float:
    start = time.perf_counter()
    rule.pattern.search(text)
    return time.perf_counter() - start


def test_most_questions_of_each_type_of_the_atlas_are_told() -> None:
    lines = (ROOT / "configs/corpora/atlas/golden.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    asked = Counter(row["type"] for row in rows)
    told = Counter(
        row["type"] for row in rows if classify(row["question"]).query_class == row["type"]
    )
    assert set(asked) == set(CLASSES)
    assert {name for name in CLASSES if told[name] * 3 < asked[name] * 2} == set()
    assert told.total() * 5 >= asked.total() * 4
