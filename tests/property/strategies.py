"""Strategies for golden sets and corpora with the ids and texts that formats mangle."""

from __future__ import annotations

from hypothesis import strategies as st

from sweeper.corpus import STORES, Corpus, Entry
from sweeper.golden import OVERALL, GoldenSet, Query

NASTY_TEXTS = (
    *("001", "1e5", "1.0", "-0", "NA", "null", "~", "off", "yes", "true", "12:30", "2026-11-01"),
    *(".inf", "nan", "0x10", "1_000", "=1+1", "#x", "// x", "- a", "a: b", "{a}", "[a]", "['a']"),
    *("a|b", "a;b", "a,b", "a b", " a", "a ", "\ta", 'say "so"', "it's", "back\\slash", "%x", "@x"),
    *(
        "line\nbreak",
        "cr\r\nlf",
        "old\rmac",
        "\n",
        "\u2028",
        "\x85",
        "\ufeffbom",
        "é",
        "日本",
        "🚢",
    ),
    *("<<", "&a", "*a", "!x", "|", ">", "...", "---", "\\ud800", "\x07", "\x7f"),
)


def texts(*, blank: bool = False) -> st.SearchStrategy[str]:
    """Any text that UTF-8 can hold, without NUL; not blank unless asked for."""
    alphabet = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
    anything = st.one_of(st.sampled_from(NASTY_TEXTS), st.text(alphabet, max_size=12))
    return anything if blank else anything.filter(lambda text: bool(text.strip()))


GRADES = st.one_of(st.integers(1, 5).map(float), st.floats(1e-6, 1e6))
# + 0.0: a file cannot tell -0.0 from 0.
AGES = st.one_of(st.integers(-5, 400).map(float), st.floats(-1e9, 1e300).map(lambda x: x + 0.0))
MAPPINGS = st.dictionaries(texts(), texts(blank=True), max_size=3)


@st.composite
def queries(draw: st.DrawFn) -> Query:
    """One query with an empty id; ``golden_sets`` gives ids."""
    expected = draw(st.lists(texts(), max_size=4, unique=True))
    graded = draw(st.lists(st.sampled_from(expected), unique=True)) if expected else []
    judged = draw(
        st.lists(texts().filter(lambda key: key not in expected), max_size=2, unique=True)
    )
    return Query(
        "",
        draw(texts().filter(lambda name: name != OVERALL)),
        draw(texts()),
        tuple(expected),
        {key: draw(GRADES) for key in graded},
        tuple(judged),
        draw(MAPPINGS),
        draw(st.none() | texts()),
    )


@st.composite
def golden_sets(draw: st.DrawFn) -> GoldenSet:
    ids = draw(st.lists(texts(), min_size=1, max_size=4, unique=True))
    drawn = [draw(queries()) for _ in ids]
    return GoldenSet(
        tuple(
            Query(i, q.slice, q.text, q.expected, q.grades, q.judged, q.filter, q.user)
            for i, q in zip(ids, drawn, strict=True)
        )
    )


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    ids = draw(st.lists(texts(), min_size=1, max_size=4, unique=True))
    entries = []
    for entry_id in ids:
        age = draw(st.none() | AGES)
        written = None if age is not None else draw(st.none() | texts())
        entries.append(
            Entry(
                entry_id,
                draw(texts(blank=True)),
                draw(st.sampled_from(STORES)),
                draw(st.none() | texts()),
                written,
                age,
                draw(MAPPINGS),
                draw(st.none() | texts()),
                draw(st.none() | st.lists(texts(), max_size=3, unique=True).map(tuple)),
            )
        )
    return Corpus(tuple(entries))
