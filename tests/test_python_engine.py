"""The python engine: any function as a black box, and every way in which one can disappoint."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from sweeper.config import load_config
from sweeper.engines.base import Engine
from sweeper.engines.python import PythonEngine
from sweeper.errors import EngineError, InputError
from sweeper.golden import Query
from sweeper.opening import open_sweep
from sweeper.settings import Settings
from sweeper.testing import BlackBoxSuite

QUERY = Query("q7", "s", "how long?", ("a",))

_NUMBERS = itertools.count()

Open = Callable[..., PythonEngine]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Open an engine over a module's text; its name is new each time, as imports are remembered."""
    path, engines, names = list(sys.path), [], []

    def open_engine(code: str, call: str = "search", **options: object) -> PythonEngine:
        names.append(f"mysearch_{next(_NUMBERS)}")
        (tmp_path / f"{names[-1]}.py").write_text(code, "utf-8")
        engine = PythonEngine(f"{names[-1]}:{call}", folder=tmp_path, **options)  # type: ignore[arg-type]
        engines.append(engine)
        return engine

    yield open_engine
    for engine in engines:
        engine.close()
    for name in names:
        sys.modules.pop(name, None)
    assert sys.path == path


INDEX = """
from sweeper.corpus import Chunking
from sweeper.embedders import HashEmbedder
from sweeper.engines import EmbeddedEngine
from sweeper.golden import Query
from sweeper.settings import Settings
from sweeper.testing import AS_OF, CORPUS

index = EmbeddedEngine(CORPUS, embedder=HashEmbedder(), as_of=AS_OF)

def search(query, settings, user=None, filter=None):
    asked = Query("q", "s", query, (), filter=filter or {})
    found = index.search(asked, Settings().with_values(settings))
    return [item.partition("@")[0] for item in found]
"""


class TestPythonEngine(BlackBoxSuite):
    @pytest.fixture
    def engine(self, opened: Open) -> Engine:
        return opened(INDEX)


def refusal(engine: PythonEngine, query: Query = QUERY) -> str:
    with pytest.raises(EngineError) as caught:
        engine.search(query, Settings())
    return str(caught.value)


def test_the_function_gets_text_and_settings_and_its_ids_are_the_answer(opened: Open) -> None:
    code = """
def search(query, settings, user=None, filter=None):
    return [query, str(settings["rrf_k"]), str(settings["min_similarity"]), str(user), str(filter)]
"""
    query = Query("q", "s", "how?", ("a",), filter={"team": "red"}, user="ada")
    assert opened(code).search(query, Settings(rrf_k=5)) == [
        *("how?", "5", "None", "ada", "{'team': 'red'}"),
    ]


def test_it_is_a_black_box_without_promises(opened: Open) -> None:
    engine = opened("def search(query, settings): return []")
    assert isinstance(engine, Engine)
    assert (engine.channels, engine.fingerprint, engine.knobs) == ((), None, None)
    assert engine.search(QUERY, Settings()) == []
    with pytest.raises(EngineError, match="is a black box: it shows no candidates"):
        engine.candidates([QUERY], 10)


def test_the_knobs_that_it_obeys_may_be_named(opened: Open) -> None:
    engine = opened("def search(query, settings): return []", knobs=["rrf_k"])
    assert engine.knobs == frozenset({"rrf_k"})
    assert engine.provenance["knobs"] == ["rrf_k"]


@pytest.mark.parametrize(
    "body",
    ["return ['a', 'b', 'b']", "return ('a', 'b', 'b')", "yield from 'abb'", "return iter('abb')"],
)
def test_any_sequence_of_texts_is_an_answer_and_repeats_are_positions(
    opened: Open, body: str
) -> None:
    assert opened(f"def search(query, settings): {body}").search(QUERY, Settings()) == [
        *("a", "b", "b"),
    ]


def test_rows_beyond_the_limit_are_cut_even_of_an_endless_answer(opened: Open) -> None:
    code = "import itertools\ndef search(query, settings): return map(str, itertools.count())"
    assert opened(code).search(QUERY, Settings(limit=3)) == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ("None", "returned None. Return a list of ids, best first. An empty list says that"),
        ("'a'", "returned a str. Return a list of ids"),
        ("{'a': 1.0}", "returned a dict. Return a list of ids"),
        ("{'a'}", "returned a set. Return a list of ids"),
        ("7", "returned an int. Return a list of ids"),
        ("['a', 7]", "returned the number 7 as an id. Ids are text: return str(id)."),
        ("['a', None]", "returned None in place of an id. Leave out what has no id."),
        ("[('a', 0.5)]", "returned a tuple in place of an id. Return the ids alone, as text."),
        ("['']", "returned an empty id."),
    ],
)
def test_an_answer_of_another_shape_is_an_error(opened: Open, answer: str, message: str) -> None:
    text = refusal(opened(f"def search(query, settings): return {answer}"))
    assert text.startswith("question 'q7': mysearch_")
    assert message in text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("raise KeyError('x')", "raised KeyError: 'x'."),
        ("raise SystemExit(3)", "raised SystemExit: 3."),
        ("assert False", "raised AssertionError."),
        ("yield 1 / 0", "raised ZeroDivisionError: division by zero."),
    ],
)
def test_a_failure_names_the_question_and_keeps_its_cause(
    opened: Open, body: str, message: str
) -> None:
    engine = opened(f"def search(query, settings): {body}")
    with pytest.raises(EngineError) as caught:
        engine.search(QUERY, Settings())
    assert str(caught.value) == f"question 'q7': {engine.call} {message}"
    assert caught.value.__cause__ is not None


@pytest.mark.parametrize(
    ("query", "name"),
    [
        (Query("q7", "s", "x", ("a",), user="ada"), "user"),
        (Query("q7", "s", "x", ("a",), filter={"team": "red"}), "filter"),
    ],
)
def test_a_user_or_a_filter_is_never_ignored(opened: Open, query: Query, name: str) -> None:
    text = refusal(opened("def search(query, settings): return []"), query)
    assert f"question 'q7' has a {name}, which " in text
    assert text.endswith(f"Add the parameter {name}=None to it.")


def test_what_it_prints_stays_out_of_the_data(
    opened: Open, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "print('imported')\ndef search(query, settings):\n    print('asked')\n    return []"
    opened(code).search(QUERY, Settings())
    assert capsys.readouterr() == ("", "imported\nasked\n")


@pytest.mark.parametrize(
    ("code", "call", "message"),
    [
        ("def serach(query, settings): ...", "search", 'has no "search". Did you mean "serach"?'),
        ("search = 5", "search", "is an int, not a function."),
        ("def search(query): ...", "search", "search(query) cannot be called (too many positional"),
        ("def search(query, settings, *, k): ...", "search", "missing a required argument: 'k'"),
        ("async def search(query, settings): ...", "search", "is async. Give a plain function"),
        ("import no_such_thing", "search", 'The module needs "no_such_thing": install it.'),
        ("raise ValueError('boom')", "search", "(ValueError: boom). Mend the module"),
        ("def (", "search", "(SyntaxError: "),
    ],
)
def test_a_function_that_cannot_be_used_is_refused_when_the_engine_opens(
    opened: Open, code: str, call: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        opened(code, call)
    assert str(caught.value).startswith("engine.call: ")
    assert message in str(caught.value)


@pytest.mark.parametrize("call", ["mysearch", "mysearch:", ":search", "my search:x", "a.b:c()"])
def test_a_call_is_module_colon_function(call: str) -> None:
    with pytest.raises(InputError, match='write "module:function"'):
        PythonEngine(call)


def test_a_missing_module_or_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        PythonEngine("no_such_module:search", folder=tmp_path)
    assert str(caught.value) == (
        'engine.call: cannot import "no_such_module" (ModuleNotFoundError: No module named '
        f"'no_such_module'). Check the name, and that it is below {tmp_path}."
    )
    with pytest.raises(InputError, match=r"engine\.path: there is no folder"):
        PythonEngine("json:loads", folder=tmp_path / "gone")


def test_another_module_of_the_same_name_is_not_taken_for_ours(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("def search(query, settings): return []", "utf-8")
    with pytest.raises(InputError, match=r'"json" is another module already .* Rename yours'):
        PythonEngine("json:search", folder=tmp_path)


def test_a_method_of_an_object_may_be_called(opened: Open) -> None:
    code = "class Index:\n    def ask(self, query, settings, **rest): return ['a']\nindex = Index()"
    assert opened(code, "index.ask").search(QUERY, Settings()) == ["a"]


def test_a_closed_engine_does_not_answer_and_closes_twice(opened: Open) -> None:
    engine = opened("def search(query, settings): return []")
    engine.close()
    engine.close()
    assert "the engine is closed" in refusal(engine)


CONFIG = """\
name: mine
golden: golden.jsonl
engine: {kind: python, call: "mysearch_of_a_config:search", path: code, knobs: [%s]}
"""


def test_a_config_names_the_function_relative_to_itself(tmp_path: Path) -> None:
    (tmp_path / "code").mkdir()
    code = "def search(query, settings): return [query]"
    (tmp_path / "code" / "mysearch_of_a_config.py").write_text(code, "utf-8")
    (tmp_path / "golden.jsonl").write_text('{"query": "how?", "expected": "a"}\n', "utf-8")
    (tmp_path / "sweep.yaml").write_text(CONFIG % "rrf_k, weights.vector", "utf-8")
    with open_sweep(load_config(tmp_path / "sweep.yaml"), root=tmp_path / "results") as opened:
        assert opened.engine.knobs == frozenset({"rrf_k", "weights.vector"})
        assert opened.engine.search(QUERY, Settings()) == ["how long?"]
    sys.modules.pop("mysearch_of_a_config")


def test_a_knob_that_does_not_exist_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "sweep.yaml").write_text(CONFIG % "rrfk", "utf-8")
    with pytest.raises(InputError) as caught:
        load_config(tmp_path / "sweep.yaml")
    assert str(caught.value) == (
        f'{tmp_path}/sweep.yaml:3: engine.knobs: unknown knob "rrfk". Did you mean "rrf_k"?'
    )
