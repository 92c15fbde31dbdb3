"""Tables as HTML: escaped, with a head that is read aloud, and nothing but structure; labels."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from sweeper.tables import Column, figure_label, html_table, html_text

COLUMNS = (Column("question", whole=True), Column("a & b"), Column("figure", "right"))


class _Parsed(HTMLParser):
    """Elements with their attributes, and the text of each cell."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.cells: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)
        if tag in {"th", "td", "caption"}:
            self.cells.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] in {"th", "td", "caption"}:
            self.cells[-1] += data


def test_what_a_cell_says_comes_back_and_is_never_markup() -> None:
    hostile = "<script>alert('1')</script> & \"x\""
    parsed = _Parsed(html_table(COLUMNS, [(hostile, "</td>", 0.5)], caption=hostile))
    assert parsed.cells == [hostile, "question", "a & b", "figure", hostile, "</td>", "0.5000"]
    assert {tag for tag, _ in parsed.elements} == {
        *("table", "caption", "thead", "tbody", "tr", "th", "td")
    }
    assert parsed.open == []


def test_columns_have_a_scope_and_those_to_the_right_a_class() -> None:
    parsed = _Parsed(html_table(COLUMNS, [("q1", None, float("nan"))]))
    heads = [attributes for tag, attributes in parsed.elements if tag == "th"]
    cells = [attributes for tag, attributes in parsed.elements if tag == "td"]
    assert heads == [
        {"scope": "col", "class": "whole"},
        {"scope": "col"},
        {"scope": "col", "class": "right"},
    ]
    assert cells == [{"class": "whole"}, {}, {"class": "right"}]
    assert parsed.cells[3:] == ["q1", "-", "-"]


def test_a_table_without_rows_is_a_head_alone() -> None:
    parsed = _Parsed(html_table(COLUMNS, []))
    assert [tag for tag, _ in parsed.elements].count("td") == 0
    assert [tag for tag, _ in parsed.elements].count("th") == 3


def test_a_row_of_another_length_is_refused() -> None:
    with pytest.raises(ValueError, match="shorter"):
        html_table(COLUMNS, [("q1",)])


def test_what_could_steer_or_hide_text_is_written_out() -> None:
    assert html_text("a\x1b[31m\u202eb\n<") == "a\\x1b[31m\\u202eb\\n&lt;"


@pytest.mark.parametrize(
    ("address", "label"),
    [
        ("exact_token.ndcg@10", "exact_token nDCG@10"),
        ("overall.citation_precision", "overall citation precision"),
        ("mrr", "MRR"),
        ("overall.ap", "overall AP"),
        ("overall.class_accuracy", "overall class accuracy"),
        ("a.b.recall@5", "a.b recall@5"),
    ],
)
def test_figures_are_named_as_people_write_them(address: str, label: str) -> None:
    assert figure_label(address) == label
