"""Graphs: entities named in a text, triples walked as breadth-first search would."""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.graph import Evidence, Found, Graph
from sweeper.triples import Triple
from tests.benchmarks.atlas_large import Atlas, make_atlas
from tests.test_triples import ATLAS, fact


@pytest.fixture(scope="module")
def large() -> Atlas:
    return make_atlas()


# Names


NAMES = Graph(
    [
        fact("Door commands", "door commands design", "docs/commands"),
        fact("BRK-1042", "Door", "tickets/brk-1042"),
        fact("Amber Anvil", "C++", "entities/amber-anvil"),
        fact("[[docs/plan#two|the plan]]", "Wicket 3.0", "digests/may"),
        fact("Quay", "snake_case", "quay"),
    ]
)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("Who needs DOOR\n commands?", ("Door commands",)),
        ("the door commands design", ("door commands design",)),
        ("door, door commands", ("Door", "Door commands")),
        ("doors and indoor", ()),
        ("Door's end, (door)", ("Door",)),
        ("brk-1042", ("BRK-1042",)),
        ("BRK-10421 or XBRK-1042", ()),
        ("tickets/brk-1042", ("BRK-1042",)),
        ("see [[tickets/brk-1042]] or BRK-1042", ("BRK-1042",)),
        ("[[entities/amber-anvil|it]]", ("Amber Anvil",)),
        ("docs/commands", ("docs/commands",)),
        ("[[docs/plan]] and docs/plan", ("docs/plan",)),
        ("[[digests/may]]", ("digests/may",)),
        ("wicket 3.0.", ("Wicket 3.0",)),
        ("C++20", ("C++",)),
        ("quay then amber anvil", ("Quay", "Amber Anvil")),
        ("a snake_case_b", ()),
        ("", ()),
    ],
)
def test_a_text_names_entities(text: str, named: tuple[str, ...]) -> None:
    assert NAMES.named_in(text) == named


def test_where_names_overlap_the_longest_counts_and_then_the_first() -> None:
    graph = Graph([fact("a b", "b c d", "p"), fact("d e f", "e", "p")])
    assert graph.named_in("a b c d") == ("b c d",)
    assert graph.named_in("b c d e f") == ("b c d", "e")


def test_the_first_spelling_names_an_entity() -> None:
    graph = Graph([fact("Door", "x", "p"), fact(" DOOR ", "y", "q")])
    assert graph.named_in("dOOr") == ("Door",)
    assert [it.page for it in graph.walk("door", 1)] == ["p", "q"]


def test_a_name_without_letters_is_never_named() -> None:
    assert Graph([fact("🚢", "—", "p")]).named_in("🚢 — 🚢") == ()


@pytest.mark.parametrize("blank", ["", " ", "[[ ]]"])
def test_a_blank_name_is_refused(blank: str) -> None:
    with pytest.raises(ValueError, match="may not be blank"):
        Graph([fact("x", blank, "p")])


# Walks


CHAIN = [fact("Lantern", "Cubby", "l"), fact("Cubby", "Pantry", "c"), fact("Ada", "Cubby", "c")]


def test_a_hop_further_is_worth_half() -> None:
    first, second, third = CHAIN
    pantry = Evidence(second, 1, "Pantry")
    assert Graph(CHAIN).walk("Pantry fails", 1) == [Found("c", 1.0, (pantry,))]
    assert Graph(CHAIN).walk("Pantry fails", 2) == [
        Found("c", 1.0 + 0.5, (pantry, Evidence(third, 2, "Cubby"))),
        Found("l", 0.5, (Evidence(first, 2, "Cubby"),)),
    ]


def test_more_hops_than_there_are_change_nothing() -> None:
    assert Graph(CHAIN).walk("Pantry", 10**9) == Graph(CHAIN).walk("Pantry", 2)


def test_a_triple_between_two_named_entities_counts_once_for_the_first() -> None:
    [page, _] = Graph(CHAIN).walk("Pantry and Cubby", 1)
    assert page.value == 2.0
    assert [it.entity for it in page.evidence] == ["Pantry", "Cubby"]


def test_equal_triples_count_once() -> None:
    assert Graph([*CHAIN, *CHAIN]).walk("Cubby", 2) == Graph(CHAIN).walk("Cubby", 2)


def test_equal_values_come_in_the_order_of_the_triples() -> None:
    facts = [fact("x", "a", "p"), fact("b", "x", "q"), fact("x", "c", "r")]
    assert [it.page for it in Graph(facts).walk("x", 1)] == ["p", "q", "r"]
    assert [it.page for it in Graph(facts[::-1]).walk("x", 1)] == ["r", "q", "p"]


def test_a_page_that_is_no_entity_leads_to_what_it_tells() -> None:
    graph = Graph([fact("x", "y", "docs/one"), fact("y", "z", "docs/two")])
    one, two = graph.walk("what says docs/one?", 2)
    assert (one.page, one.value, one.evidence[0].entity) == ("docs/one", 1.0, "docs/one")
    assert (two.page, two.value, two.evidence[0].entity) == ("docs/two", 0.5, "y")


def test_a_link_leads_to_the_page_and_what_it_tells() -> None:
    graph = Graph([fact("x", "[[docs/two]]", "docs/one"), fact("y", "z", "docs/two")])
    assert [(it.page, it.value) for it in graph.walk("x", 2)] == [
        *(("docs/one", 1.0), ("docs/two", 0.5))
    ]


def test_two_triples_of_one_page_are_not_joined_by_it() -> None:
    assert len(Graph([fact("x", "y", "p"), fact("a", "b", "p")]).walk("x", 9)[0].evidence) == 1


@pytest.mark.parametrize("text", ["", "Nothing known", "🚢"])
def test_who_names_nothing_finds_nothing(text: str) -> None:
    assert Graph(CHAIN).walk(text, 2) == []
    assert Graph([]).walk(text, 2) == []


@pytest.mark.parametrize("hops", [0, -1])
def test_less_than_one_hop_is_refused(hops: int) -> None:
    with pytest.raises(ValueError, match=f"hops must be at least 1, got {hops}"):
        Graph(CHAIN).walk("", hops)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Triple], list[str]]:
    entities = [f"n{number}" for number in range(draw(st.integers(1, 9)))]
    one = st.sampled_from(entities)
    pages = st.sampled_from(["p", "q", "r", "s"])
    triples = draw(st.lists(st.builds(fact, one, one, pages), max_size=20))
    return triples, draw(st.lists(one, max_size=3, unique=True))


def brute_walk(triples: Sequence[Triple], named: Sequence[str], hops: int) -> list[Found]:
    """Give every entity its distance, every triple that of its nearer end, page by page."""
    known = {end for it in triples for end in (it.subject, it.object)}
    distance = {name: 0 for name in named if name in known}
    for _ in range(len(known)):
        for it in triples:
            for a, b in ((it.subject, it.object), (it.object, it.subject)):
                if a in distance:
                    distance[b] = min(distance.get(b, distance[a] + 1), distance[a] + 1)
    unique = list(dict.fromkeys(triples))
    hop = {
        it: 1 + min(distance[it.subject], distance[it.object])
        for it in unique
        if it.subject in distance
    }
    reached = sorted((it for it in hop if hop[it] <= hops), key=lambda it: hop[it])
    # Entities in the order of reaching: the named ones, then the ends of triples, hop by hop.
    order = list(dict.fromkeys([*named, *(e for it in reached for e in (it.subject, it.object))]))
    pages = {
        page: tuple(
            Evidence(it, hop[it], nearer(it, distance, order)) for it in reached if it.page == page
        )
        for page in dict.fromkeys(it.page for it in reached)
    }
    values = {page: sum(2.0 ** (1 - it.hop) for it in told) for page, told in pages.items()}
    return sorted(
        (Found(page, values[page], told) for page, told in pages.items()),
        key=lambda found: found.value,
        reverse=True,
    )


def nearer(triple: Triple, distance: dict[str, int], order: Sequence[str]) -> str:
    ends = (triple.subject, triple.object)
    return min(ends, key=lambda end: (distance[end], order.index(end)))


@given(graphs(), st.integers(1, 6))
def test_a_walk_is_breadth_first_search(drawn: tuple[list[Triple], list[str]], hops: int) -> None:
    triples, named = drawn
    assert Graph(triples).walk(" ".join(named), hops) == brute_walk(triples, named, hops)


@given(graphs(), st.integers(1, 4))
def test_another_hop_loses_no_page_and_no_value(
    drawn: tuple[list[Triple], list[str]], hops: int
) -> None:
    triples, named = drawn
    graph = Graph(triples)
    near, far = (
        {it.page: it.value for it in graph.walk(" ".join(named), n)} for n in (hops, hops + 1)
    )
    assert all(far[page] >= value for page, value in near.items())


@given(st.lists(st.tuples(st.text(), st.text(), st.sampled_from(["p", "Q", "a/b"])), max_size=6))
def test_any_names_make_a_graph_that_finds_them(rows: list[tuple[str, str, str]]) -> None:
    triples = [fact(f"x{a}", f"{b}y", page) for a, b, page in rows]
    graph = Graph(triples)
    for it in triples:
        assert it.page in [found.page for found in graph.walk(it.subject, 1)]


def test_two_steps_from_pantry_lead_to_sextant() -> None:
    pages = [it.page for it in Graph(ATLAS).walk("What stops if Pantry is lost?", 2)]
    assert pages[0] == "entities/cubby"
    assert "docs/design-locker-finder" in pages


def test_a_walk_reaches_what_depends_on_a_service_of_the_large_atlas(large: Atlas) -> None:
    graph = Graph([Triple(**row) for row in large.triples])
    for row in large.golden:
        if row["type"] == "impact":
            expected = row["expected_pages"]
            assert isinstance(expected, list)
            assert set(expected) <= {it.page for it in graph.walk(str(row["question"]), 1)}


def test_three_hundred_questions_are_walked_in_a_moment(large: Atlas) -> None:
    graph = Graph([Triple(**row) for row in large.triples])
    start = time.perf_counter()
    for row in large.golden:
        graph.walk(str(row["question"]), 2)
    # 0.1 s; comparing each question with all of the 1,500 names takes many times as long.
    assert time.perf_counter() - start < 1.5


def test_values_fall_from_page_to_page() -> None:
    for name in ("Tern", "Gatehouse", "Dagny"):
        values = [it.value for it in Graph(ATLAS).walk(name, 3)]
        assert all(before >= after for before, after in pairwise(values))
        assert len(values) > 3


def test_a_fact_counts_once_per_page_whatever_its_sentence() -> None:
    first = Triple("Ada", "owns", "Quay", "Ada owns Quay.", "p")
    again = Triple("ADA", "Owns", "[[quay]]", "Quay is owned by Ada.", "p")
    elsewhere = Triple("Ada", "owns", "Quay", "Quay is owned by Ada.", "q")
    other = Triple("Ada", "calls", "Quay", "Ada calls Quay.", "p")
    found = Graph([first, again, elsewhere, other]).walk("Ada", 1)
    assert [(it.page, it.value) for it in found] == [("p", 2.0), ("q", 1.0)]
    assert [it.triple for it in found[0].evidence] == [first, other]
