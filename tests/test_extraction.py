"""Triples found by rules: what states a fact gives it, what states none gives nothing."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.extraction import EXTRACTION_RULES, extract
from sweeper.triples import Triple, misquoted
from tests.benchmarks.atlas_large import Atlas, make_atlas
from tests.test_triples import ATLAS, PAGES


@pytest.fixture(scope="module")
def large() -> Atlas:
    return make_atlas()


def found(text: str) -> list[tuple[str, str, str]]:
    return [(it.subject, it.predicate, it.object) for it in extract({"p": text})]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Quay depends on Mast.", ("Quay", "depends on", "Mast")),
        (
            "Pickup codes depend upon the old Mast, alas.",
            ("Pickup codes", "depends on", "old Mast"),
        ),
        ("Mast is needed by Quay.", ("Quay", "depends on", "Mast")),
        ("The new lease supersedes the old lock.", ("new lease", "supersedes", "old lock")),
        (
            "Since May 2026 the lock has been superseded by the lease.",
            ("lease", "supersedes", "lock"),
        ),
        ("We know that Ada owns `quay_map`.", ("Ada", "owns", "quay_map")),
        ("Quay 3.0 is owned by Ada.", ("Ada", "owns", "Quay 3.0")),
        ("Quay calls Mast once an hour.", ("Quay", "calls", "Mast")),
        ("`claim_door` is called by a scanner.", ("scanner", "calls", "claim_door")),
        ("Release 2.3 of Quay fixes BF-1000.", ("Release 2.3 of Quay", "fixes", "BF-1000")),
        ("Decision: the lease should fix AB-12 for good.", ("lease", "fixes", "AB-12")),
        ("AB-12 is fixed in Quay 2.3.", ("Quay 2.3", "fixes", "AB-12")),
        ("The map (Quay depends on Mast) is old.", ("Quay", "depends on", "Mast")),
        ("Quay depends on Mast (a store).", ("Quay", "depends on", "Mast")),
        ('The "Big Quay" depends on `x_y` daily.', ("Big Quay", "depends on", "x_y")),
        ("The function `x_y` calls Mast.", ("x_y", "calls", "Mast")),
        ("Quay depends on [[docs/mast]].", ("Quay", "depends on", "docs/mast")),
    ],
)
def test_a_plain_statement_gives_its_triple(text: str, expected: tuple[str, str, str]) -> None:
    assert found(text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "Does Quay fail? What if Quay depends on Mast?",
        "Quay does not depend on Mast.",
        "Quay no longer depends on Mast.",
        "Quay never calls Mast.",
        "If Quay depends on Mast, wait.",
        "Wait (if Quay depends on Mast).",
        "Unless the Quay owns Mast, wait.",
        "It depends on Mast.",
        "Whoever owns Mast wants to see it.",
        "Quay depends on it.",
        "How many requests a second arrive depends on the season.",
        "A page about Mast is owned by Ada.",
        "How many calls Quay gets is unknown. Support calls people back.",
        "Ada fixes the door, not the AB of it.",
        "# Quay depends on Mast",
        "| Quay depends on Mast | yes |",
        "```\nQuay depends on Mast.\n```",
        "---\ntitle: Quay depends on Mast.\n---\n",
        "Quay depends\n\non Mast.",
        "A name of far more words than any Quay depends on Mast.",
        "",
    ],
)
def test_what_states_nothing_gives_nothing(text: str) -> None:
    assert found(text) == []


def test_each_rule_has_a_statement_that_it_alone_understands() -> None:
    assert len(EXTRACTION_RULES) <= 5
    assert [rule.predicate for rule in EXTRACTION_RULES] == [
        *("depends on", "supersedes", "owns", "calls", "fixes")
    ]
    for rule in EXTRACTION_RULES:
        statement = rule.name.replace("TICKET", "AB-12")
        assert [predicate for _, predicate, _ in found(statement)] == [rule.predicate]
        assert rule.description.endswith(".")


def test_triples_come_in_the_order_of_pages_sentences_and_verbs() -> None:
    pages = {
        "b": "Quay owns Mast. - no item\n- Mast depends on Gong, and Ada owns Gong.",
        "a": "Quay owns Mast.",
    }
    assert [(it.page, it.subject) for it in extract(pages)] == [
        *(("b", "Quay"), ("b", "Mast"), ("b", "Ada"), ("a", "Quay"))
    ]


def test_a_sentence_keeps_its_line_breaks_and_leaves_its_bullet() -> None:
    text = "---\ntitle: x\n---\nHi.\n\n* Quay\n  depends on Mast. Bye.\n"
    [triple] = extract({"p": text})
    assert triple.sentence == "Quay\n  depends on Mast."
    assert triple.subject == "Quay"


def test_a_sentence_that_a_page_repeats_is_told_once() -> None:
    assert len(extract({"a": "Quay owns Mast.\n\nQuay owns Mast.", "b": "Quay owns Mast."})) == 2


def test_the_rules_find_the_like_facts_of_the_atlas() -> None:
    # Written by hand, by somebody who did not know the rules.
    predicates = {rule.predicate for rule in EXTRACTION_RULES}
    told = {spoken(it) for it in ATLAS if it.predicate in predicates}
    extracted = {spoken(it) for it in extract(PAGES)}
    assert len(told & extracted) >= 0.9 * len(told)
    assert len(extracted) <= 1.5 * len(told)


def test_the_rules_find_the_like_facts_of_the_large_atlas_and_no_others(large: Atlas) -> None:
    facts = [Triple(**row) for row in large.triples]
    predicates = {rule.predicate for rule in EXTRACTION_RULES}
    told = {spoken(it) for it in facts if it.predicate in predicates}
    assert {spoken(it) for it in extract(large.pages)} == told


def spoken(triple: Triple) -> tuple[str, str, str, str]:
    return (triple.subject.lower(), triple.predicate, triple.object.lower(), triple.page)


PIECES = (
    *("Quay", "the Mast", "it", "AB-12", "`x_y`", "[[a/b]]", "of", "if", "not", "3.0"),
    *("depends on", "is owned by", "owns", "supersedes", "calls", "should fix", "is fixed in"),
    *(
        ".",
        "?",
        ",",
        ":",
        "\n",
        "\n\n",
        "\r\n",
        "\n- ",
        "\n# ",
        "\n```\n",
        "---\n",
        "\u2028",
        "\x1c",
    ),
)


@given(st.dictionaries(st.sampled_from("abc"), st.lists(st.sampled_from(PIECES)).map(" ".join)))
def test_extracted_sentences_stand_on_their_pages_to_the_letter(pages: dict[str, str]) -> None:
    triples = extract(pages)
    assert [it for it in triples if it.sentence not in pages[it.page]] == []
    assert misquoted(triples, pages) == []
    assert all(it.subject and it.object for it in triples)
    assert extract(pages) == triples


@given(st.text())
def test_any_text_can_be_read_for_triples(text: str) -> None:
    assert all(it.sentence in text for it in extract({"p": text}))


@pytest.mark.parametrize(
    "piece", [".", "- ", "is ", "depends on ", "A ", "\n", "---\n", "```\n", " ", "fix A-1 ", '."']
)
def test_a_page_of_100_000_characters_is_read_in_a_moment(piece: str) -> None:
    start = time.perf_counter()
    extract({"p": (piece * 100_000)[:100_000]})
    # Linear reading needs about a second at most; reading that backtracks needs minutes.
    assert time.perf_counter() - start < 20
