"""Baseline files: ours and SOAT's, read strictly, written the same for the same figures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sweeper.baseline import Baseline, read_baseline, render_baseline
from sweeper.errors import InputError

FIGURES = Baseline(
    figures={"b": {"mrr": 2 / 3, "recall@10": 1.0}, "a": {"recall@10": 0.5, "mrr": 0.25}},
    decimals=17,
    golden="g",
    corpus="c",
    engine="e",
    settings="rrf_k=60",
    first_positions={"q2": 0, "q1": 3},
)


def written(folder: Path, text: str) -> Path:
    path = folder / "baseline.json"
    path.write_text(text, "utf-8")
    return path


def test_what_is_written_is_read_back_at_four_decimals(tmp_path: Path) -> None:
    found = read_baseline(written(tmp_path, render_baseline(FIGURES)))
    assert found.figures == {
        "a": {"mrr": 0.25, "recall@10": 0.5},
        "b": {"mrr": 0.6667, "recall@10": 1.0},
    }
    assert found.decimals == 4
    assert (found.golden, found.corpus, found.engine, found.settings) == ("g", "c", "e", "rrf_k=60")
    assert found.first_positions == FIGURES.first_positions


def test_a_file_is_sorted_and_has_no_time_in_it() -> None:
    text = render_baseline(FIGURES)
    document = json.loads(text)
    assert list(document["figures"]) == ["a", "b"]
    assert list(document["figures"]["a"]) == ["mrr", "recall@10"]
    assert list(document["first_positions"]) == ["q1", "q2"]
    assert set(document) == {
        "version", "settings", "golden", "corpus", "engine", "usage", "figures", "first_positions",
        "asked",
    }  # fmt: skip
    assert text == render_baseline(FIGURES)
    assert text.endswith("}\n")


def test_a_figure_of_one_is_written_with_four_decimals(tmp_path: Path) -> None:
    perfect = Baseline({'a "b"': {"mrr": 1.0}}, 17, settings='"figures": null')
    path = written(tmp_path, render_baseline(perfect))
    assert '"mrr": 1.0000\n' in path.read_text("utf-8")
    found = read_baseline(path)
    assert (found.decimals, found.figures) == (4, {'a "b"': {"mrr": 1.0}})
    assert found.settings == '"figures": null'


def test_decimals_are_the_most_of_any_figure_of_the_file(tmp_path: Path) -> None:
    path = written(tmp_path, '{"figures": {"a": {"mrr": 1, "recall@10": 0.66670, "ap": 5e-3}}}')
    assert read_baseline(path).decimals == 5
    assert read_baseline(written(tmp_path, '{"figures": {"a": {"mrr": 1}}}')).decimals == 0
    assert read_baseline(written(tmp_path, '{"figures": {"a": {"mrr": 1e-99}}}')).decimals == 17


def test_soats_baseline_is_read(tmp_path: Path) -> None:
    document = {
        "version": 1,
        "metrics": {"recall_at_5": 0.8654, "recall_at_10": 0.9038, "mrr": 0.8072},
        "by_kind": {"semantic": {"recall_at_5": 0.5333, "recall_at_10": 0.6667, "mrr": 0.4429}},
        "queries": [
            {"id": "s1", "kind": "semantic", "first_relevant_rank": None},
            {"id": "s2", "kind": "semantic", "first_relevant_rank": 6},
        ],
    }
    found = read_baseline(written(tmp_path, json.dumps(document)))
    assert found.figures["overall"] == {"recall@5": 0.8654, "recall@10": 0.9038, "mrr": 0.8072}
    assert found.figures["semantic"]["recall@10"] == 0.6667
    assert found.first_positions == {"s1": 0, "s2": 6}
    assert (found.decimals, found.golden) == (4, None)


def test_soats_own_file_is_read(shared: Path) -> None:
    found = read_baseline(shared / "data/soat/baseline.raw.json")
    assert set(found.figures) == {"overall", "entity", "exact_name", "exact_token", "semantic"}
    assert len(found.first_positions) == 52
    ranks = [p for q, p in found.first_positions.items() if q.startswith("semantic")]
    mrr = sum(1 / p for p in ranks if p) / len(ranks)
    assert round(mrr, 4) == found.figures["semantic"]["mrr"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("{", r"baseline\.json:1: is not valid JSON"),
        ("\n\n{]", r"baseline\.json:3: is not valid JSON"),
        ("[" * 100_000, "is not valid JSON"),
        ("[]", "must be a JSON object"),
        ("{}", "holds neither recall@10 nor mrr"),
        ('{"figures": {}}', "holds neither recall@10 nor mrr"),
        ('{"figures": {"a": {}}}', "holds neither recall@10 nor mrr"),
        ('{"figures": {"a": {"recall@5": 1}}}', "holds neither recall@10 nor mrr"),
        ('{"figures": []}', "figures: must be a JSON object"),
        ('{"figures": {"a": 1}}', "a: must be a JSON object"),
        ('{"figures": {"a": {"mrr": "0.5"}}}', r"a\.mrr: must be a number"),
        ('{"figures": {"a": {"mrr": true}}}', r"a\.mrr: must be a number"),
        ('{"figures": {"a": {"mrr": NaN}}}', r"a\.mrr: must be a number"),
        ('{"figures": {"a": {"mrr": 1}}, "first_positions": {"q": 1.5}}', "must be a position"),
        ('{"figures": {"a": {"mrr": 1}}, "first_positions": {"q": -1}}', "must be a position"),
        ('{"figures": {"a": {"mrr": 1}}, "first_positions": []}', "must be a JSON object"),
        ('{"figures": {"a": {"mrr": 1}}, "queries": [1]}', "must be a list of objects"),
        ('{"figures": {"a": {"mrr": -1}}}', r"a\.mrr: must be from 0 to 1"),
        ('{"figures": {"a": {"mrr": 1, "ndcg@10": 1.01}}}', r"a\.ndcg@10: must be from 0 to 1"),
        (
            '{"figures": {"a": {"mrr": 1}}, "first_positions": {"q": 1%s}}' % ("0" * 400),
            "a position",
        ),
    ],
)
def test_a_broken_file_is_an_error_that_says_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_baseline(written(tmp_path, text))


def test_a_missing_file_says_how_to_make_it(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no such file.*--update-baseline"):
        read_baseline(tmp_path / "none.json")
