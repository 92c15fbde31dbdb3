"""Templates: placeholders become values, and nothing else happens to what was written."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.request_template import LEFT_OUT, Template, put

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text().filter(lambda t: not set(t) & set("{}")),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner, min_size=1),
)


@given(PLAIN)
def test_what_has_no_placeholder_stays_as_it_is(content: Any) -> None:
    assert Template(content).fill({}) == content


@given(st.text())
def test_a_text_is_sent_as_it_is_whatever_it_holds(text: str) -> None:
    assert Template("{query}").fill({"query": text}) == text
    assert Template("<{query}>").fill({"query": text}) == f"<{text}>"


@given(st.text())
def test_any_text_is_a_template_or_is_refused(text: str) -> None:
    try:
        template = Template(text)
    except ValueError:
        return
    template.fill(dict.fromkeys(template.names, "x"))


@given(st.text())
def test_doubled_braces_are_braces(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")
    assert Template(doubled).fill({}) == text


@pytest.mark.parametrize("value", [10, 0.5, True, None, ["a"], {"lang": "fr"}])
def test_a_placeholder_alone_keeps_the_type_of_its_value(value: Any) -> None:
    assert Template({"x": ["{limit}"]}).fill({"limit": value}) == {"x": [value]}


def test_what_has_no_value_is_left_out() -> None:
    content = {"a": "{user}", "b": ["{user}", 1], "c": {"d": "{filter.lang}"}, "e": {}}
    assert Template(content).fill({"user": LEFT_OUT}) == {"b": [1], "e": {}}


def test_a_missing_value_inside_a_longer_text_is_an_error() -> None:
    with pytest.raises(KeyError, match="user"):
        Template("for {user}").fill({})


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"a": {"b": ["{qurey}"]}}, 'a.b[0]: unknown placeholder "{qurey}"'),
        ("{query.__class__}", "unknown placeholder"),
        ("{0}", "unknown placeholder"),
        ("{}", "unknown placeholder"),
        ("{query!r}", "unknown placeholder"),
        ("{filter.}", "unknown placeholder"),
        ("{query", 'a single "{"'),
        ("query}", 'a single "}"'),
    ],
)
def test_what_is_no_placeholder_is_refused_where_it_stands(content: Any, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        Template(content)


def test_every_placeholder_is_known_by_name() -> None:
    template = Template({"a": "{query} {{limit}}", "b": "{weights.vector}"})
    assert template.names == {"query", "weights.vector"}


def test_a_path_does_not_pass_through_a_text() -> None:
    with pytest.raises(ValueError, match='"decay" is no mapping'):
        put({"decay": "none"}, "decay.days", 30)
