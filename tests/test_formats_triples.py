"""Triples from files: spellings understood, quotes checked, every fault located."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sweeper.errors import InputError
from sweeper.formats import read_corpus
from sweeper.formats.triples import TRIPLE_FIELDS, read_triples
from sweeper.triples import Triple
from tests.projects import ROOT
from tests.property.strategies import texts

PAGES = {"people/ada": "Ada owns\n  Quay. Nobody else does.", "docs/quay": "Quay needs Mast."}
ADA = Triple("Ada", "owns", "Quay", "Ada owns Quay.", "people/ada")
ROW = '{"subject": "Ada", "predicate": "owns", "object": "Quay", '
QUOTED = ROW + '"sentence": "Ada owns Quay.", "page": "people/ada"}'


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def triples(
    text: str, name: str = "t.jsonl", pages: Mapping[str, str] | None = PAGES
) -> tuple[Triple, ...]:
    Path(name).write_bytes(text.encode())
    return read_triples(name, pages)


def refusals(text: str, name: str = "t.jsonl") -> list[str]:
    with pytest.raises(InputError) as caught:
        triples(text, name)
    return [str(problem) for problem in caught.value.problems]


# What is understood


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"[{QUOTED}]", "t.json"),
        (f'{{"triples": [{QUOTED}]}}', "t.json"),
        (QUOTED, "t.json"),
        (f"# a comment\n{QUOTED}\n\n", "t.jsonl"),
        (f"[{QUOTED}]", "t.txt"),
        ("subject,predicate,object,quote,page\nAda,owns,Quay,Ada owns Quay.,people/ada", "t.csv"),
        (
            "triples:\n- subject: Ada\n  predicate: owns\n  object: Quay\n"
            "  sentence: Ada owns Quay.\n  page: people/ada\n",
            "t.yaml",
        ),
    ],
)
def test_every_form_of_file_gives_the_same_triple(text: str, name: str) -> None:
    assert triples(text, name) == (ADA,)


@pytest.mark.parametrize("page", ["page", "source", "Page"])
@pytest.mark.parametrize("sentence", ["sentence", "quote"])
@pytest.mark.parametrize("predicate", ["predicate", "relation"])
def test_other_spellings_are_understood(predicate: str, sentence: str, page: str) -> None:
    row = {
        "Subject": "Ada",
        predicate: "owns",
        "object": "Quay",
        sentence: "Ada owns Quay.",
        page: "people/ada",
    }
    assert triples(json.dumps(row)) == (ADA,)


def test_fields_that_look_like_none_of_the_five_are_left_alone() -> None:
    assert triples(QUOTED[:-1] + ', "id": 7, "subject_id": 3, "confidence": 0.9}') == (ADA,)


def test_the_same_text_under_two_spellings_is_no_conflict() -> None:
    assert triples(QUOTED[:-1] + ', "source": "people/ada"}') == (ADA,)


def test_numbers_keep_their_spelling() -> None:
    row = '{"subject": 7, "predicate": "is", "object": 1e3, "quote": "x", "page": 1}'
    (found,) = triples(row, pages=None)
    assert (found.subject, found.object, found.page) == ("7", "1e3", "1")


def test_without_pages_nothing_is_looked_up() -> None:
    row = QUOTED.replace("people/ada", "nowhere")
    assert [found.page for found in triples(row, pages=None)] == ["nowhere"]


def test_order_and_repeats_of_the_file_stay() -> None:
    other = QUOTED.replace('owns"', 'has"')
    assert [it.predicate for it in triples(f"{other}\n{QUOTED}\n{other}")] == ["has", "owns", "has"]


FIELDS = [field.name for field in TRIPLE_FIELDS]


@given(st.lists(st.tuples(*[texts()] * 5), min_size=1, max_size=4))
def test_any_text_is_read_back_and_found_on_its_page(rows: list[tuple[str, ...]]) -> None:
    expected = tuple(Triple(*row) for row in rows)
    told: dict[str, str] = {}
    for it in expected:
        told[it.page] = f"{told.get(it.page, '')} {it.sentence} "
    document = json.dumps([dict(zip(FIELDS, row, strict=True)) for row in rows])
    assert triples(document, "any.json", told) == expected


# What is refused


@pytest.mark.parametrize("field", FIELDS)
def test_a_missing_field_is_named_with_its_line(field: str) -> None:
    row = {name: value for name, value in json.loads(QUOTED).items() if name != field}
    (found,) = refusals(f"{QUOTED}\n{json.dumps(row)}")
    assert found.startswith(f't.jsonl:2: "{field}" is missing. ')


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("null", '"page" is missing. Give the key of the page that says so.'),
        ('" "', '"page" is empty. Give it a text.'),
        ("true", '"page" must be text, got true. Put it in quotes.'),
        ('["a"]', '"page" must be text, got a list. Give one text.'),
        ("{}", '"page" must be text, got an object. Give one text.'),
    ],
)
def test_what_is_no_text_is_refused(value: str, message: str) -> None:
    assert refusals(QUOTED.replace('"people/ada"', value)) == [f"t.jsonl:1: {message}"]


def test_an_empty_value_of_yaml_is_missing() -> None:
    text = "- subject: ~\n  predicate: owns\n  object: Quay\n  quote: Ada owns Quay.\n  page:\n"
    missing = [found.partition(" is missing")[0] for found in refusals(text, "t.yaml")]
    assert missing == ['t.yaml:1: "subject"', 't.yaml:1: "page"']


def test_a_misspelt_field_is_reported_once_for_all_its_rows() -> None:
    row = QUOTED.replace("sentence", "sentense")
    assert refusals(f"{QUOTED}\n{row}\n{row}") == [
        't.jsonl:2: unknown field "sentense" (2 rows). Did you mean "sentence"? Rename it.'
    ]


def test_two_spellings_that_differ_are_a_conflict() -> None:
    assert refusals(QUOTED[:-1] + ', "source": "docs/quay"}') == [
        't.jsonl:1: "page" and "source" are both given and differ. Keep one.'
    ]


def test_a_quote_that_is_not_on_its_page_is_shortened_and_names_the_page() -> None:
    row = QUOTED.replace("Ada owns Quay.", "Ada owns Quay, " + "and more " * 20)
    (found,) = refusals(f"\n{row}")
    assert found == (
        't.jsonl:2: the sentence "Ada owns Quay, and more and more and more and more and mo..." '
        'does not stand on the page "people/ada". Quote it as it stands there, word for word.'
    )


def test_a_quote_differs_by_case_but_not_by_white_space() -> None:
    assert triples(QUOTED.replace("Ada owns Quay", "Ada  owns\\nQuay"))
    assert len(refusals(QUOTED.replace("Ada owns Quay", "ada owns Quay"))) == 1


def test_an_unknown_page_is_suggested_where_one_is_close() -> None:
    near, far = QUOTED.replace("people/ada", "people/adda"), QUOTED.replace("people/ada", "zzz")
    assert refusals(f"{near}\n{far}") == [
        't.jsonl:1: there is no page "people/adda". Did you mean "people/ada"? '
        "Correct the key, or add the page.",
        't.jsonl:2: there is no page "zzz". Correct the key, or add the page.',
    ]


def test_only_the_first_unknown_pages_are_compared_with_all_others() -> None:
    found = refusals("\n".join([QUOTED.replace("people/ada", "people/adda")] * 30))
    assert len(found) == 30
    assert ["Did you mean" in problem for problem in found] == [True] * 20 + [False] * 10


def test_every_problem_of_a_file_is_reported_at_once_in_line_order() -> None:
    rows = [
        QUOTED.replace("Ada owns Quay.", "Ada sold Quay."),
        QUOTED,
        ROW + '"page": "people/ada"}',
        QUOTED.replace("people/ada", "nowhere"),
    ]
    found = refusals("\n".join(rows))
    assert [problem.split(": ")[0] for problem in found] == ["t.jsonl:1", "t.jsonl:3", "t.jsonl:4"]


def test_rows_on_one_line_are_told_apart_by_number() -> None:
    (found,) = refusals(f'[{QUOTED}, {ROW}"sentence": "x", "page": "docs/quay"}}]', "t.json")
    assert found.startswith('t.json:1: row 2: the sentence "x" does not stand')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "t.json: holds no triples. Give at least one."),
        ('["a"]', 't.json: row 1 is "a". Each row is an object with named fields.'),
        ('"a"', 't.json: expected a list of triples, got "a".'),
        ('{"facts": 1}', "t.json:1: no triples found. Put them under"),
        ("[{]", "t.json:1: is not valid JSON"),
    ],
)
def test_a_file_without_triples_is_refused(text: str, message: str) -> None:
    (found,) = refusals(text, "t.json")
    assert found.startswith(message)


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match=r"nowhere\.json"):
        read_triples("nowhere.json", None)


# The bundled file


def test_the_triples_of_the_atlas_stand_on_its_pages() -> None:
    folder = ROOT / "configs/corpora/atlas"
    pages = {entry.entry_id: entry.text for entry in read_corpus(folder / "pages").entries}
    found = read_triples(folder / "triples.json", pages)
    rows = json.loads((folder / "triples.json").read_text("utf-8"))
    assert found == tuple(Triple(**row) for row in rows)
    assert len(found) == 100
