"""Triples: quoted from their pages, told apart by their fields."""

from __future__ import annotations

import hashlib
import json
from dataclasses import fields, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.formats import read_corpus
from sweeper.triples import Triple, digest, misquoted
from tests.projects import ROOT

FOLDER = ROOT / "configs/corpora/atlas"
PAGES = {entry.entry_id: entry.text for entry in read_corpus(FOLDER / "pages").entries}
ATLAS = [Triple(**row) for row in json.loads((FOLDER / "triples.json").read_text("utf-8"))]


def fact(subject: str, object_: str, page: str, predicate: str = "needs") -> Triple:
    return Triple(subject, predicate, object_, f"{subject} {predicate} {object_}.", page)


# Quotes


def test_the_sentences_of_the_atlas_stand_on_its_pages() -> None:
    assert misquoted(ATLAS, PAGES) == []


@pytest.mark.parametrize(
    ("sentence", "page", "reason"),
    [
        ("Ada owns Quay.", "q", None),
        ("Ada  owns\nQuay.", "q", None),
        ("owns Quay. Ada is", "q", None),
        ("ada owns Quay.", "q", 'the sentence "ada owns Quay." does not stand on the page "q"'),
        ("Ada owns Quay!", "q", 'the sentence "Ada owns Quay!" does not stand on the page "q"'),
        ("x" * 61, "q", f'the sentence "{"x" * 57}..." does not stand on the page "q"'),
        (" \n", "q", "the sentence is empty"),
        ("Ada owns Quay.", "r", 'there is no page "r"'),
    ],
)
def test_a_sentence_is_looked_up_word_for_word(
    sentence: str, page: str, reason: str | None
) -> None:
    pages = {"q": "# Quay\n\nAda owns\r\n Quay. Ada is kind.\n"}
    triple = Triple("Ada", "owns", "Quay", sentence, page)
    assert misquoted([triple], pages) == ([] if reason is None else [(0, reason)])


def test_faults_have_the_place_of_their_triple() -> None:
    pages = {"a": "x needs y."}
    facts = [fact("x", "y", "b"), fact("x", "y", "a"), fact("x", "z", "a")]
    assert [number for number, _ in misquoted(facts, pages)] == [0, 2]


# Digests


ADA = Triple("Ada", "owns", "Quay", "Ada owns Quay.", "people/ada")


def test_the_digest_is_over_the_fields_in_order() -> None:
    text = b'[["Ada","owns","Quay","Ada owns Quay.","people/ada"]]'
    assert digest([ADA]) == hashlib.sha256(text).hexdigest()
    assert digest([]) == hashlib.sha256(b"[]").hexdigest()


@pytest.mark.parametrize("name", [field.name for field in fields(Triple)])
def test_every_field_counts_in_the_digest(name: str) -> None:
    assert digest([replace(ADA, **{name: "other"})]) != digest([ADA])


def test_order_and_repeats_count_in_the_digest() -> None:
    other = fact("x", "y", "p")
    assert len({digest(it) for it in ([ADA], [ADA, ADA], [ADA, other], [other, ADA])}) == 4


@given(st.lists(st.builds(Triple, *[st.text()] * 5), max_size=3))
def test_any_triples_have_one_digest(triples: list[Triple]) -> None:
    assert digest(iter(triples)) == digest(tuple(triples))


def test_a_lone_surrogate_has_a_digest() -> None:
    assert digest([replace(ADA, page="\ud800")]) != digest([ADA])
