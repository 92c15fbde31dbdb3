"""Corpora: chunking, Markdown sections, ages, filters."""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.corpus import (
    Age,
    Chunking,
    Corpus,
    Entry,
    age_of,
    chunk,
    cut_section,
    headings,
    parse_instant,
    tags_match,
)
from tests.builders import entry


def pieces(text: str, chunking: Chunking) -> list[str]:
    return [item.text for item in chunk(Corpus((entry("d", text),)), chunking)]


def test_whole_makes_one_chunk_of_a_document() -> None:
    (item,) = chunk(Corpus((entry("d", "a\n\nb"),)), Chunking("whole"))
    assert (item.item_id, item.text, item.key, item.store) == ("d@0", "a\n\nb", "d", "document")


def test_size_cuts_windows_that_overlap() -> None:
    assert pieces("abcdefg", Chunking("size", size=4, overlap=1)) == ["abcd", "defg", "g"]


def test_the_last_window_may_lie_inside_the_one_before_it() -> None:
    text = "x" * 1000
    assert [len(piece) for piece in pieces(text, Chunking("size"))] == [1000, 200]


@pytest.mark.parametrize(
    ("length", "windows"), [(1, 1), (800, 1), (801, 2), (1000, 2), (1600, 2), (1601, 3)]
)
def test_a_window_starts_every_800_code_points_inside_the_text(length: int, windows: int) -> None:
    assert len(pieces("x" * length, Chunking("size"))) == windows


def test_windows_count_code_points_and_not_bytes() -> None:
    assert pieces("日本🚢é", Chunking("size", size=2, overlap=0)) == ["日本", "🚢é"]


@given(st.text(max_size=40), st.integers(1, 10), st.integers(0, 9))
def test_windows_put_together_are_the_text(text: str, size: int, overlap: int) -> None:
    overlap = min(overlap, size - 1)
    found = pieces(text, Chunking("size", size=size, overlap=overlap))
    assert "".join(piece[: size - overlap] for piece in found) == text


@pytest.mark.parametrize("kind", ["whole", "size", "section"])
@pytest.mark.parametrize("text", ["", " \n "])
def test_a_blank_document_is_one_item(kind: str, text: str) -> None:
    assert pieces(text, Chunking(kind)) == [text]  # type: ignore[arg-type]


def test_section_makes_one_chunk_per_heading_and_one_of_what_stands_before() -> None:
    text = "intro\n\n# One\n\na\n\n## Two\nb\n"
    assert pieces(text, Chunking("section")) == ["intro", "# One\n\na", "## Two\nb"]


def test_section_makes_no_chunk_of_blank_text_before_the_first_heading() -> None:
    assert pieces("\n\n# One\na", Chunking("section")) == ["# One\na"]


def test_a_heading_inside_a_fence_cuts_nothing() -> None:
    text = "# One\n```sh\n# a comment\n```\n# Two"
    assert pieces(text, Chunking("section")) == ["# One\n```sh\n# a comment\n```", "# Two"]


def test_memories_are_never_cut() -> None:
    items = chunk(Corpus((entry("m", "x" * 5000, "memory"),)), Chunking("size"))
    assert [(item.item_id, len(item.text)) for item in items] == [("m", 5000)]


def test_chunks_are_numbered_within_their_document() -> None:
    corpus = Corpus((entry("a", "xyz"), entry("m", "xyz", "memory"), entry("b", "xy")))
    items = chunk(corpus, Chunking("size", size=2, overlap=0))
    assert [item.item_id for item in items] == ["a@0", "a@1", "m", "b@0"]


def test_a_memory_may_not_be_called_like_a_chunk() -> None:
    with pytest.raises(ValueError, match="two items share the id 'd@0'"):
        chunk(Corpus((entry("d"), entry("d@0", store="memory"))), Chunking())


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, 11), (10, -1)])
def test_windows_must_move_forward(size: int, overlap: int) -> None:
    with pytest.raises(ValueError, match="overlap"):
        Chunking("size", size=size, overlap=overlap)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# a", [(0, 1, "a")]),
        ("###### a", [(0, 6, "a")]),
        ("####### a", []),
        ("#a", []),
        ("#5 bolt", []),
        ("#", [(0, 1, "")]),
        ("#\ta", [(0, 1, "a")]),
        ("   # a", [(0, 1, "a")]),
        ("    # a", []),
        ("# a ##", [(0, 1, "a")]),
        ("# a#", [(0, 1, "a#")]),
        ("# a # b", [(0, 1, "a # b")]),
        ("\\# a", []),
        ("x\n\n## a\r\ny", [(2, 2, "a")]),
        ("a\n===", []),
        ("```\n# a\n```\n# b", [(3, 1, "b")]),
        ("~~~\n# a\n```\n# b\n~~~\n# c", [(5, 1, "c")]),
        ("````\n```\n# a\n````\n# b", [(4, 1, "b")]),
        ("```\n# a\n``` x\n# b\n`````\n# c", [(5, 1, "c")]),
        ("```\n# never closed", []),
        ("``` a`b\n# c", [(1, 1, "c")]),
        ("    ```\n# c", [(1, 1, "c")]),
    ],
)
def test_headings_follow_commonmark(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert headings(text) == expected


@pytest.mark.parametrize("text", ["### ###", "## #", "# ##   "])
def test_a_heading_of_closing_hashes_alone_has_no_title(text: str) -> None:
    # CommonMark 0.31, example 79.
    assert [title for _, _, title in headings(text)] == [""]


def test_a_heading_with_a_long_gap_is_read_in_linear_time() -> None:
    started = time.process_time()
    assert headings("# a" + " " * 30_000 + "b")[0][2].startswith("a")
    assert time.process_time() - started < 5  # quadratic: half a minute


SECTIONED = "# A\na\n## B\nb\n\n### C\nc\n## D\nd\n# E\ne"


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("A", "# A\na\n## B\nb\n\n### C\nc\n## D\nd\n"),
        ("B", "## B\nb\n\n### C\nc\n"),
        ("C", "### C\nc\n"),
        ("E", "# E\ne\n"),
        ("a", None),
        ("F", None),
    ],
)
def test_a_section_reaches_to_the_next_heading_of_its_level(
    title: str, expected: str | None
) -> None:
    assert cut_section(SECTIONED, title) == expected


def test_the_first_section_of_a_title_counts() -> None:
    assert cut_section("# A\nx\n# A\ny", "A") == "# A\nx\n"


AS_OF = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("updated_at", "days"),
    [
        ("2026-10-31", 1.0),
        ("2026-10-31T12:00:00", 0.5),
        ("2026-10-31T12:00:00Z", 0.5),
        ("2026-10-31T12:00:00+06:00", 0.75),
        ("20261031T1200", 0.5),
        (" 2026-10-31 00:00 ", 1.0),
        ("2026-11-01", 0.0),
        ("1793404800", 1.0),  # 2026-10-31 as a Unix time
        ("1793404800000", 1.0),
        ("1793448000.0", 0.5),
    ],
)
def test_an_age_is_counted_in_days_from_one_instant(updated_at: str, days: float) -> None:
    assert age_of(entry("m", store="memory", updated_at=updated_at), AS_OF) == Age(days, "known")


def test_the_instant_may_be_in_any_time_zone() -> None:
    there = AS_OF.astimezone(timezone(timedelta(hours=9)))
    item = entry("m", store="memory", updated_at="2026-10-31")
    assert age_of(item, there) == Age(1.0, "known")


def test_an_instant_after_as_of_is_a_negative_age_in_the_future() -> None:
    assert age_of(entry("m", updated_at="2026-11-03"), AS_OF) == Age(-2.0, "future")
    assert age_of(entry("m", age_days=-1.5), AS_OF) == Age(-1.5, "future")


def test_a_typed_age_is_taken_as_it_is() -> None:
    assert age_of(entry("m", age_days=2.5), AS_OF) == Age(2.5, "known")
    assert age_of(entry("m", age_days=0.0), AS_OF) == Age(0.0, "known")


@pytest.mark.parametrize("updated_at", [None, "", "  "])
def test_no_time_at_all_is_a_missing_age(updated_at: str | None) -> None:
    age = age_of(entry("m", updated_at=updated_at), AS_OF)
    assert age.status == "missing"
    assert math.isnan(age.days)


@pytest.mark.parametrize(
    "updated_at",
    ["yesterday", "2026-13-01", "2026-02-30", "12:30", "1", "2026", "0001-01-01T00:00+14:00"],
)
def test_a_time_that_cannot_be_read_is_an_unparseable_age(updated_at: str) -> None:
    age = age_of(entry("m", updated_at=updated_at), AS_OF)
    assert age.status == "unparseable"
    assert math.isnan(age.days)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1712011220304", timedelta(milliseconds=1712011220304)),  # 2024, not the year 1712
        ("17120112304", timedelta(seconds=17120112304)),
        ("999999999", timedelta(seconds=999999999)),
    ],
)
def test_a_unix_time_is_never_taken_for_a_compact_date(text: str, expected: timedelta) -> None:
    assert parse_instant(text) == datetime(1970, 1, 1, tzinfo=UTC) + expected


@given(st.one_of(st.text(), st.from_regex(r"[0-9T:+.Z -]{1,30}", fullmatch=True)))
def test_reading_an_instant_never_raises_and_gives_utc(text: str) -> None:
    instant = parse_instant(text)
    assert instant is None or instant.utcoffset() == timedelta(0)


@given(st.datetimes(timezones=st.just(UTC)))
def test_an_instant_that_was_written_reads_back(instant: datetime) -> None:
    assert parse_instant(instant.isoformat()) == instant


TAGGED = entry("m", store="memory", tags={"team": "ops", "path": "x"}, path="docs/api/a")


@pytest.mark.parametrize(
    ("wanted", "passes"),
    [
        ({}, True),
        ({"team": "ops"}, True),
        ({"team": "Ops"}, False),
        ({"region": "eu"}, False),
        ({"path": "docs/"}, True),
        ({"path": "api"}, False),
        ({"store": "memory"}, True),
        ({"store": "document"}, False),
        ({"team": "ops", "path": "docs", "store": "memory"}, True),
        ({"team": "ops", "path": "src"}, False),
    ],
)
def test_a_filter_passes_what_meets_all_of_it(wanted: dict[str, str], passes: bool) -> None:
    assert tags_match(TAGGED, wanted) is passes


def test_an_entry_of_another_store_passes_no_filter() -> None:
    assert not tags_match(TAGGED, {}, stores=["document"])


def test_an_entry_without_a_path_has_no_prefix_but_the_empty_one() -> None:
    assert tags_match(entry("a"), {"path": ""})
    assert not tags_match(entry("a"), {"path": "d"})


def test_two_entries_may_not_share_an_id() -> None:
    with pytest.raises(ValueError, match="distinct"):
        Corpus((entry("a"), entry("a", store="memory")))


def test_a_corpus_knows_its_keys() -> None:
    corpus = Corpus((entry("a"), entry("m", store="memory")))
    assert corpus.keys == {"a", "m"}
    assert len(corpus) == 2


BASE = Entry("a", "text", "memory", "title", "2026-01-01", None, {"x": "1"}, "p")


@pytest.mark.parametrize(
    "other",
    [
        Entry("b", "text", "memory", "title", "2026-01-01", None, {"x": "1"}, "p"),
        Entry("a", "Text", "memory", "title", "2026-01-01", None, {"x": "1"}, "p"),
        Entry("a", "text", "document", "title", "2026-01-01", None, {"x": "1"}, "p"),
        Entry("a", "text", "memory", None, "2026-01-01", None, {"x": "1"}, "p"),
        Entry("a", "text", "memory", "title", "2026-01-02", None, {"x": "1"}, "p"),
        Entry("a", "text", "memory", "title", None, 3.0, {"x": "1"}, "p"),
        Entry("a", "text", "memory", "title", "2026-01-01", None, {"x": "2"}, "p"),
        Entry("a", "text", "memory", "title", "2026-01-01", None, {"x": "1"}, None),
    ],
)
def test_the_digest_changes_with_every_part_of_an_entry(other: Entry) -> None:
    assert Corpus((BASE,)).digest != Corpus((other,)).digest


def test_the_digest_does_not_depend_on_the_order_of_tags() -> None:
    one = entry("a", tags={"x": "1", "y": "2"})
    two = entry("a", tags={"y": "2", "x": "1"})
    assert Corpus((one,)).digest == Corpus((two,)).digest
