"""Golden sets: what a query is worth, slices, identity."""

from __future__ import annotations

import pytest

from sweeper.golden import OVERALL, GoldenSet, Query
from tests.builders import query


def test_an_ungraded_key_is_worth_1() -> None:
    asked = query(["a", "b"], grades={"a": 3.0})
    assert asked.grade("a") == 3.0
    assert asked.grade("b") == 1.0


def test_a_query_that_expects_nothing_is_unanswerable() -> None:
    assert query(["a"]).answerable
    assert not query([]).answerable


def test_slices_keep_the_order_in_which_they_first_appear() -> None:
    golden = GoldenSet((query(["a"], "1", "z"), query(["a"], "2", "b"), query(["a"], "3", "z")))
    assert golden.slices == ("z", "b")
    assert golden.query_ids == ("1", "2", "3")
    assert len(golden) == 3


def test_two_queries_may_not_share_an_id() -> None:
    with pytest.raises(ValueError, match="distinct"):
        GoldenSet((query(["a"], "1"), query(["b"], "1")))


def test_no_slice_may_be_called_overall() -> None:
    with pytest.raises(ValueError, match=OVERALL):
        GoldenSet((query(["a"], "1", OVERALL),))


def test_keys_that_nothing_holds_are_listed_with_their_query() -> None:
    first, second = query(["a", "b"], "1"), query(["c"], "2")
    golden = GoldenSet((first, second))
    assert golden.dangling(["a"]) == [(first, "b"), (second, "c")]
    assert golden.dangling("abc") == []


BASE = Query("1", "s", "text", ("a", "b"), {"a": 2.0}, ("x",), {"tag": "t"}, "ann")


@pytest.mark.parametrize(
    "other",
    [
        Query("2", "s", "text", ("a", "b"), {"a": 2.0}, ("x",), {"tag": "t"}, "ann"),
        Query("1", "t", "text", ("a", "b"), {"a": 2.0}, ("x",), {"tag": "t"}, "ann"),
        Query("1", "s", "Text", ("a", "b"), {"a": 2.0}, ("x",), {"tag": "t"}, "ann"),
        Query("1", "s", "text", ("b", "a"), {"a": 2.0}, ("x",), {"tag": "t"}, "ann"),
        Query("1", "s", "text", ("a", "b"), {"b": 2.0}, ("x",), {"tag": "t"}, "ann"),
        Query("1", "s", "text", ("a", "b"), {"a": 3.0}, ("x",), {"tag": "t"}, "ann"),
        Query("1", "s", "text", ("a", "b"), {"a": 2.0}, (), {"tag": "t"}, "ann"),
        Query("1", "s", "text", ("a", "b"), {"a": 2.0}, ("x",), {}, "ann"),
        Query("1", "s", "text", ("a", "b"), {"a": 2.0}, ("x",), {"tag": "t"}, None),
    ],
)
def test_the_digest_changes_with_every_part_of_a_query(other: Query) -> None:
    assert GoldenSet((BASE,)).digest != GoldenSet((other,)).digest


def test_the_digest_does_not_depend_on_the_order_of_grades_and_filters() -> None:
    one = Query("1", "s", "t", ("a", "b"), {"a": 2.0, "b": 3.0}, (), {"x": "1", "y": "2"})
    two = Query("1", "s", "t", ("a", "b"), {"b": 3.0, "a": 2.0}, (), {"y": "2", "x": "1"})
    assert GoldenSet((one,)).digest == GoldenSet((two,)).digest


def test_the_digest_depends_on_the_order_of_queries() -> None:
    a, b = query(["a"], "1"), query(["a"], "2")
    assert GoldenSet((a, b)).digest != GoldenSet((b, a)).digest
