"""Access control: what a question's user may not see is nowhere in what sweeper finds or shows."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sweeper.capture import capture
from sweeper.corpus import STORES, Chunking, Corpus, Entry, may_see
from sweeper.embedders import HashEmbedder
from sweeper.engines import EmbeddedEngine, Engine
from sweeper.engines.lexical import Match
from sweeper.engines.runs import RunsEngine
from sweeper.errors import InputError
from sweeper.explain import explain
from sweeper.export import export_run
from sweeper.formats import read_corpus, read_golden, write_corpus
from sweeper.golden import GoldenSet, Key, Query
from sweeper.pools import QueryCandidates
from sweeper.replay import Replay
from sweeper.results import load
from sweeper.settings import Settings
from sweeper.testing import CORPUS, RESTRICTED, AccessSuite
from tests.builders import entry
from tests.projects import CONFIG, ENTRIES, QUESTIONS, invoke, write_project

AS_OF = datetime(2026, 11, 1, tzinfo=UTC)
SMALL = Chunking("size", 14, 4)
USERS = ("ada", "bo", "cy")


def hidden(corpus: Corpus, query: Query) -> set[Key]:
    """Return what a question may not find, written out once more."""
    return {
        e.entry_id
        for e in corpus.entries
        if e.principals is not None and (query.user is None or query.user not in e.principals)
    }


def without(corpus: Corpus, keys: set[Key]) -> Corpus:
    """Return a corpus in which nothing is restricted and some entries never were."""
    left = (e for e in corpus.entries if e.entry_id not in keys)
    return Corpus(tuple(replace(e, principals=None) for e in left))


def keys_of(found: QueryCandidates) -> set[Key]:
    return {row.key for rows in found.rows.values() for row in rows}


Plain = dict[tuple[str, str], list[tuple[object, ...]]]


def plain(found: QueryCandidates) -> Plain:
    """Return rows that compare equal: NaN is not equal to itself."""
    return {
        place: [tuple(None if x != x else x for x in row) for row in rows]
        for place, rows in found.rows.items()
    }


def channel(found: Plain, name: str) -> Plain:
    return {place: rows for place, rows in found.items() if place[0] == name}


WORDS = st.sampled_from(["pump", "valve", "seal", "rotor", "the", "SKU-4711"])
TEXTS = st.lists(WORDS, max_size=7).map(" ".join)


@st.composite
def corpora(draw: st.DrawFn) -> Corpus:
    entries = []
    for number in range(draw(st.integers(1, 9))):
        store = draw(st.sampled_from(STORES))
        entries.append(
            Entry(
                f"{store[0]}{number}",
                draw(TEXTS),
                store,
                age_days=draw(st.none() | st.sampled_from([0.0, 3.0, 400.0, -1.0])),
                tags=draw(st.sampled_from([{}, {"team": "a"}, {"team": "b"}])),
                path=draw(st.sampled_from([None, "x/1", "x/2", "y"])),
                principals=draw(
                    st.none() | st.lists(st.sampled_from(USERS), max_size=2).map(tuple)
                ),
            )
        )
    return Corpus(tuple(entries))


@st.composite
def questions(draw: st.DrawFn) -> GoldenSet:
    filters = [{}, {}, {"team": "a"}, {"path": "x/"}, {"store": "memory"}, {"team": "none"}]
    return GoldenSet(
        tuple(
            Query(
                f"q{number}",
                "s",
                draw(TEXTS.filter(bool)),
                ("d0",),
                filter=draw(st.sampled_from(filters)),
                user=draw(st.none() | st.sampled_from([*USERS, "nobody", ""])),
            )
            for number in range(draw(st.integers(1, 4)))
        )
    )


SETTINGS = st.builds(
    Settings,
    rrf_k=st.sampled_from([1, 60]),
    min_similarity=st.sampled_from([None, 0.2]),
    recency_half_life_days=st.sampled_from([0.0, 30.0]),
    limit=st.integers(1, 5),
    depth=st.none() | st.integers(1, 6),
    stores=st.sampled_from(["all", "document", "memory"]),
)
DEPTHS = st.integers(1, 6)
NO_DEADLINE = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture]


def embedded(corpus: Corpus, match: Match = "any", chunking: Chunking = SMALL) -> EmbeddedEngine:
    return EmbeddedEngine(
        corpus, embedder=HashEmbedder(64), chunking=chunking, match=match, as_of=AS_OF
    )


# The rule


def test_an_entry_without_principals_is_public_and_any_other_names_who_sees_it() -> None:
    seen = {
        (principals, user): may_see(entry("e", principals=principals), user)
        for principals in (None, (), ("ada", "board"))
        for user in (None, "", "ada", "board", "Ada", "ad")
    }
    assert {place for place, sees in seen.items() if sees} == {
        *((None, user) for user in (None, "", "ada", "board", "Ada", "ad")),
        (("ada", "board"), "ada"),
        (("ada", "board"), "board"),
    }


def test_the_digest_changes_with_principals_and_not_for_corpora_without_any() -> None:
    # Computed before there were principals: pools that were captured then stay valid.
    before = "68bc02cffce32777bf4dfca2b8561927cd1972b0265758e329e1278516916713"
    assert CORPUS.digest == before
    given_to = [
        Corpus((entry("a", principals=p), entry("b", principals=q)))
        for p in (None, (), ("ada",), ("ada", "bo"))
        for q in (None, (), ("ada",), ("ada", "bo"))
    ]
    assert len({corpus.digest for corpus in given_to}) == len(given_to)
    one, other = (Corpus((entry("a", principals=p),)) for p in (("ada", "bo"), ("bo", "ada")))
    assert one.digest == other.digest


# The embedded engine


class TestEmbeddedEngine(AccessSuite):
    @pytest.fixture(params=["any", "all"])
    def engine(self, request: pytest.FixtureRequest) -> Iterator[Engine]:
        with EmbeddedEngine(
            RESTRICTED,
            embedder=HashEmbedder(),
            chunking=Chunking("section"),
            match=request.param,
            as_of=AS_OF,
        ) as made:
            yield made


@settings(deadline=None, suppress_health_check=NO_DEADLINE)
@given(
    corpus=corpora(),
    golden=questions(),
    depth=DEPTHS,
    chosen=SETTINGS,
    match=st.sampled_from(["any", "all"]),
)
def test_the_forbidden_is_in_no_list_pool_or_search(
    corpus: Corpus, golden: GoldenSet, depth: int, chosen: Settings, match: Match
) -> None:
    with embedded(corpus, match) as engine:
        pool = capture(golden, engine, depth=depth)
        for number, query in enumerate(golden.queries):
            secret = hidden(corpus, query)
            [found] = engine.candidates([query], depth)
            assert not keys_of(found) & secret
            assert plain(pool.candidates(number)) == {k: v for k, v in plain(found).items() if v}
            items = engine.search(query, chosen)
            assert not {item.partition("@")[0] for item in items} & secret


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=NO_DEADLINE)
@given(corpus=corpora(), golden=questions(), chosen=SETTINGS)
def test_the_forbidden_is_in_no_explanation(
    corpus: Corpus, golden: GoldenSet, chosen: Settings
) -> None:
    with embedded(corpus) as engine:
        replay = Replay(capture(golden, engine, depth=6), golden, compiled=False)
        query = golden.queries[0]
        answer = explain(replay, query.query_id, chosen)
        shown = [row.item_id for row in answer.rows]
        assert shown == engine.search(query, chosen)
        shown += [x for r in answer.remedies for x in (r.item_id, r.other_id) if x]
        assert not {item.partition("@")[0] for item in shown} & hidden(corpus, query)


@settings(max_examples=40, deadline=None, suppress_health_check=NO_DEADLINE)
@given(
    corpus=corpora(),
    golden=questions(),
    depth=DEPTHS,
    chosen=SETTINGS,
    match=st.sampled_from(["any", "all"]),
)
def test_the_rest_is_found_as_if_the_forbidden_had_been_deleted(
    corpus: Corpus, golden: GoldenSet, depth: int, chosen: Settings, match: Match
) -> None:
    """Vectors know nothing of each other. BM25 counts words over the whole index: its values, and
    so its order, are those of everything, of which the forbidden is left out and then depth cut.
    """
    vector_alone = chosen.with_values({"weights.lexical": 0.0})
    with embedded(corpus, match) as engine, embedded(without(corpus, set()), match) as open_to_all:
        for query in golden.queries:
            secret = hidden(corpus, query)
            [found] = map(plain, engine.candidates([query], depth))
            [whole] = map(plain, open_to_all.candidates([query], 1000))
            left = {
                place: [row for row in rows if row[1] not in secret]
                for place, rows in whole.items()
            }
            assert found == {place: rows[:depth] for place, rows in left.items()}
            with embedded(without(corpus, secret), match) as deleted:
                [theirs] = map(plain, deleted.candidates([query], depth))
                assert channel(found, "vector") == channel(theirs, "vector")
                assert engine.search(query, vector_alone) == deleted.search(query, vector_alone)
                [theirs] = map(plain, deleted.candidates([query], 1000))
                for place, rows in channel(left, "lexical").items():
                    assert {row[0] for row in rows} == {row[0] for row in theirs[place]}


def test_one_word_finds_in_the_same_order_whatever_is_forbidden() -> None:
    entries = [entry(f"e{n}", "pump " * n + "seal " * (7 - n)) for n in range(1, 7)]
    secret = [entry(f"s{n}", "pump " * 20, principals=()) for n in range(5)]
    asked = Query("q", "s", "pump", ())
    with embedded(Corpus((*secret, *entries))) as engine, embedded(Corpus(tuple(entries))) as less:
        [ours], [theirs] = engine.candidates([asked], 50), less.candidates([asked], 50)
    rows, others = ours.rows["lexical", "document"], theirs.rows["lexical", "document"]
    assert rows
    assert [row.item_id for row in rows] == [row.item_id for row in others]
    # What docs/semantics.md warns of: the statistics are the whole corpus's.
    assert [row.value for row in rows] != [row.value for row in others]


def test_two_users_do_not_share_what_was_remembered_of_a_filter() -> None:
    corpus = Corpus(
        (
            entry("a", "pump", tags={"team": "x"}, principals=("ada",)),
            entry("b", "pump", tags={"team": "x"}, principals=("bo",)),
        )
    )
    with embedded(corpus) as engine:
        for user, keys in [("ada", {"a"}), ("bo", {"b"}), (None, set()), ("ada", {"a"})]:
            asked = Query("q", "s", "pump", (), filter={"team": "x"}, user=user)
            [found] = engine.candidates([asked], 5)
            assert keys_of(found) == keys


def test_a_user_changes_nothing_where_everything_is_public() -> None:
    with embedded(CORPUS) as engine:
        for e in CORPUS.entries:
            asked = Query("q", "s", e.text, ())
            [found] = engine.candidates([asked], 5)
            [other] = engine.candidates([replace(asked, user="ada")], 5)
            assert plain(found) == plain(other)


# Runs


def run_file(path: Path, *rows: str) -> Path:
    text = "".join(f"q Q0 {row} 1 {9 - n} t\n" for n, row in enumerate(rows))
    path.write_text(text, "utf-8")
    return path


def test_a_run_that_holds_what_its_user_may_not_see_is_refused(tmp_path: Path) -> None:
    corpus = Corpus(
        (entry("open"), entry("doc", principals=("ada",)), entry("gone", principals=()))
    )
    channels = {
        "vector": run_file(tmp_path / "v.run", "open", "doc@2"),
        "lexical": run_file(tmp_path / "l.run", "open"),
    }
    engine = RunsEngine(channels, corpus=corpus, as_of=AS_OF)
    for user, said in [("bo", "as user bo"), (None, "without a user")]:
        asked = Query("q", "s", "text", (), user=user)
        with pytest.raises(InputError) as caught:
            engine.candidates([asked], 1)  # also what stands below the depth
        assert str(caught.value) == (
            f"{tmp_path / 'v.run'}: holds 1 row that the user of a question may not see: "
            f"doc@2 (question q, {said}). Make the run as the users who ask, or mend the "
            "principals of the corpus."
        )
        with pytest.raises(InputError, match="may not see"):
            engine.search(asked, Settings())
    [found] = engine.candidates([Query("q", "s", "text", (), user="ada")], 5)
    assert keys_of(found) == {"open", "doc"}
    engine.close()
    bare = RunsEngine(channels, as_of=AS_OF)  # nothing is known, nothing is claimed
    [found] = bare.candidates([Query("q", "s", "text", ())], 5)
    assert keys_of(found) == {"open", "doc@2"}


# Files


@pytest.mark.parametrize(
    ("name", "text", "principals"),
    [
        ("c.jsonl", '{"id": "1", "text": "t"}', None),
        ("c.jsonl", '{"id": "1", "text": "t", "principals": null}', None),
        ("c.jsonl", '{"id": "1", "text": "t", "principals": []}', ()),
        (
            "c.jsonl",
            '{"id": "1", "text": "t", "acl": ["bo", "ada", "bo", 17]}',
            ("bo", "ada", "17"),
        ),
        ("c.jsonl", '{"id": "1", "text": "t", "allowedUsers": "cn=ada,ou=x"}', ("cn=ada,ou=x",)),
        ("c.csv", "id,text,principals\n1,t,\n", None),
        ("c.csv", "id,text,Allowed Users\n1,t,ada|the board\n", ("ada", "the board")),
        ("c.csv", "id,text,acl\n1,t,ada; bo\n", ("ada", "bo")),
        ("c.csv", 'id,text,acl\n1,t,"[""a;b""]"\n', ("a;b",)),
        ("c.csv", "id,text,acl\n1,t,[]\n", ()),
        ("c.yaml", "- {id: 1, text: t, principals: [ada, 007]}\n", ("ada", "007")),
        ("c.yaml", "- {id: 1, text: t, principals: null}\n", None),
    ],
)
def test_principals_are_read_in_the_usual_spellings(
    tmp_path: Path, name: str, text: str, principals: tuple[str, ...] | None
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    [found] = read_corpus(tmp_path / name).entries
    assert found.principals == principals


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.jsonl", '{"id": "1", "text": "t", "acl": ""}', "[] for nobody, or leave it out for"),
        ("c.yaml", "- id: 1\n  text: t\n  acl:\n", '"acl" is empty. Write [] for nobody'),
        (
            "c.jsonl",
            '{"id": "1", "text": "t", "acl": {"ada": 1}}',
            "a list of names, got an object",
        ),
        ("c.jsonl", '{"id": "1", "text": "t", "acl": true}', "a list of names, got true"),
        ("c.jsonl", '{"id": "1", "text": "t", "acl": ["a", null]}', "a list of names, got null"),
        ("c.jsonl", '{"id": "1", "text": "t", "acl": ["a", " "]}', "holds an empty name"),
        ("c.csv", "id,text,acl\n1,t,ada|\n", "nothing on one side"),
        ("c.jsonl", '{"id": "1", "text": "t", "principal": ["ada"]}', 'mean "principals"?'),
        ("c.jsonl", '{"id": "1", "text": "t", "acl": ["a"], "principals": []}', "given and differ"),
    ],
)
def test_principals_that_could_be_misread_are_refused(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        read_corpus(tmp_path / name)
    assert message in str(caught.value)
    assert f"{name}:" in str(caught.value)


def test_a_page_says_in_its_front_matter_who_may_see_it(tmp_path: Path) -> None:
    pages = {
        "a.md": "---\nprincipals: [ada, the board]\n---\nx\n",
        "b.md": "---\nallowed_users: ada, bo\n---\nx\n",
        "c.md": "---\nacl: []\n---\nx\n",
        "d.md": "x\n",
    }
    for name, text in pages.items():
        (tmp_path / name).write_text(text, "utf-8")
    found = {e.entry_id: e.principals for e in read_corpus(tmp_path).entries}
    assert found == {"a": ("ada", "the board"), "b": ("ada", "bo"), "c": (), "d": None}
    (tmp_path / "e.md").write_text("---\ntitle: E\nacl:\n---\nx\n", "utf-8")
    (tmp_path / "f.md").write_text("---\nacl: ada\nprincipals: bo\n---\nx\n", "utf-8")
    with pytest.raises(InputError) as caught:
        read_corpus(tmp_path)
    first, second = str(caught.value).split("\n")
    assert 'e.md:3: "acl" is empty. Write [] for nobody' in first
    assert 'f.md:3: "principals" and "acl" are both given and differ' in second


def test_principals_are_written_as_they_are_read(tmp_path: Path) -> None:
    for name in ("c.jsonl", "c.json", "c.csv", "c.tsv", "c.yaml"):
        write_corpus(tmp_path / name, RESTRICTED)
        found = read_corpus(tmp_path / name)
        assert found == RESTRICTED
        assert found.digest == RESTRICTED.digest


# Golden sets

SECRETS = Corpus(
    (entry("open"), entry("doc", principals=("ada", "board")), entry("gone", principals=()))
)


def refusal(path: Path, text: str) -> list[str]:
    path.write_text(text, "utf-8")
    with pytest.raises(InputError) as caught:
        read_golden(path, corpus_keys=SECRETS.keys, restricted=SECRETS.restricted)
    return str(caught.value).replace(str(path), path.name).split("\n")


def test_a_question_that_expects_what_its_user_may_not_see_is_an_error(tmp_path: Path) -> None:
    rows = [
        {"query": "a", "expected": ["open", "doc"]},
        {"query": "b", "expected": ["doc"], "user": "bo"},
        {"query": "c", "expected": ["doc"], "user": "ada"},
        {"query": "d", "expected": {"gone": 2, "doc": 0}, "user": "bo"},
        {"query": "e", "expected": ["open"], "user": "bo"},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    assert refusal(tmp_path / "g.jsonl", text) == [
        "g.jsonl:1: a question without a user finds public entries alone, and the expected entry "
        '"doc" is for "ada", "board". Give the question such a user, or the entry no principals.',
        'g.jsonl:2: the user "bo" may not see the expected entry "doc", which is for "ada", '
        '"board". Ask as one of them, add the user to the entry\'s principals, or expect another '
        "key.",
        'g.jsonl:4: nobody may see the expected entry "gone": its principals are empty. Expect '
        "another key, or name somebody there.",
    ]
    inline = json.dumps([{"query": "a", "expected": "open"}, *rows[1:2]])
    assert refusal(tmp_path / "g.json", inline)[0].startswith('g.json:1: row 2: the user "bo" may')
    assert len(read_golden(tmp_path / "g.jsonl", corpus_keys=SECRETS.keys)) == 5


def test_every_such_question_is_counted(tmp_path: Path) -> None:
    text = "".join(f'{{"query": "{n}", "expected": "doc"}}\n' for n in range(30))
    found = refusal(tmp_path / "g.jsonl", text)
    assert len(found) == 21
    assert found[-1] == "... and 10 more problems like these."


def test_qrels_name_no_users_and_so_expect_public_entries_alone(tmp_path: Path) -> None:
    assert refusal(tmp_path / "q.qrels", "q1 0 open 1\nq1 0 doc 1\nq1 0 gone 0\n") == [
        'q.qrels:2: query "q1" has no user, as qrels name none, and the relevant "doc" is not '
        "public. Make a golden set of the qrels (sweep import trec) and give the question a user, "
        "or the entry no principals."
    ]


# Whole sweeps


def restricted_project(folder: Path, *, config: str = CONFIG) -> Path:
    """Write the small project with a chair that only Ada, and a code that nobody, may know."""
    given_to: dict[str, list[str]] = {"new-chair": ["ada"], "old-chair": ["bo"], "old-code": []}
    entries = [
        {**row, **({"acl": given_to[row["id"]]} if row["id"] in given_to else {})}
        for row in ENTRIES
    ]
    asked = [{**row, "user": "ada"} if row["id"] == "q4" else row for row in QUESTIONS]
    return write_project(folder, config, entries=entries, questions=asked)


def test_check_and_run_name_the_question_that_cannot_be_answered(tmp_path: Path) -> None:
    config = restricted_project(tmp_path)
    assert invoke("check", config, "--results", tmp_path / "r").exit_code == 0
    found = invoke("check", tmp_path / "corpus.jsonl", "--json").document
    assert found["facts"]["not public"] == 3
    rows = [{**row, "user": "bo"} if row["id"] == "q4" else row for row in QUESTIONS]
    (tmp_path / "golden.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for command in ("check", "run"):
        done = invoke(command, config, "--results", tmp_path / "r")
        assert done.exit_code == 2
        assert (
            'golden.jsonl:4: the user "bo" may not see the expected entry "new-chair", '
            'which is for "ada".'
        ) in done.stderr


def test_no_command_shows_what_a_user_may_not_see(tmp_path: Path) -> None:
    config, root = restricted_project(tmp_path), tmp_path / "results"
    done = invoke("run", config, "--results", root, "--no-plots")
    assert done.exit_code == 0, done.stderr
    found = load("small", root=root)
    for number, query in enumerate(found.golden.queries):
        seen = keys_of(found.pool.candidates(number)) & {"new-chair", "old-chair", "old-code"}
        assert seen == ({"new-chair"} if query.query_id == "q4" else set())
    for trial in range(len(found.settings)):
        text = export_run(found, trial).text
        assert "old-chair" not in text
        assert "old-code" not in text
        assert {line.split()[0] for line in text.splitlines() if "new-chair" in line} <= {"q4"}
    for query in found.golden.queries:
        shown = invoke("explain", "small", query.query_id, "--results", root, "--json").stdout
        assert ("new-chair" in shown) == (query.query_id == "q4")
        assert "old-chair" not in shown
        assert "old-code" not in shown
    shown = invoke("show", "small", "--judging", "--ties", "--results", root).stdout
    assert "old-c" not in shown
    agreed = invoke("verify", "small", "--results", root)
    assert agreed.exit_code == 0, agreed.stdout
    assert "old-c" not in agreed.stdout


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(corpus=corpora(), golden=questions())
def test_an_exported_run_holds_nothing_forbidden(corpus: Corpus, golden: GoldenSet) -> None:
    asked = [
        {"id": q.query_id, "query": q.text, "expected": [], "filter": dict(q.filter)}
        | ({"user": q.user} if q.user else {})
        for q in golden.queries
    ]
    config = (
        "name: small\ngolden: golden.jsonl\nas_of: 2026-11-01T00:00:00Z\nlimit: 3\n"
        "engine: {kind: embedded, corpus: corpus.jsonl}\nspace: {rrf_k: [1, 60]}\n"
        "metrics: [returned]\nobjectives: {overall.returned: maximize}\n"
    )
    with tempfile.TemporaryDirectory() as name:
        path = write_project(Path(name), config, questions=asked)
        write_corpus(path.parent / "corpus.jsonl", corpus)
        done = invoke("run", path, "--results", path.parent / "results", "--no-plots")
        assert done.exit_code == 0, done.stderr
        found = load("small", root=path.parent / "results")
        for trial in range(len(found.settings)):
            lines = [line.split() for line in export_run(found, trial).text.splitlines()]
            for query in golden.queries:
                keys = {line[2] for line in lines if line[0] == query.query_id}
                assert not keys & hidden(corpus, query)


def test_another_user_or_another_principal_is_captured_afresh(tmp_path: Path) -> None:
    root = tmp_path / "results"
    config = restricted_project(tmp_path)
    invoke("run", config, "--results", root, "--no-plots")
    assert len(list((root / ".pools").glob("*.parquet"))) == 1
    lines = (tmp_path / "corpus.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    rows[4]["acl"] = ["ada"]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    invoke("run", config, "--results", root, "--no-plots")
    assert len(list((root / ".pools").glob("*.parquet"))) == 2
