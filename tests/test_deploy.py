"""Settings as text for a deployment: every form says the same, by the names asked for."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from sweeper.config import load_config
from sweeper.errors import InputError
from sweeper.settings import Settings
from tests.projects import ROOT

SETTINGS = Settings(rrf_k=60, min_similarity=0.25, recency_half_life_days=1825)


def test_variables_leave_what_a_request_says_to_the_request() -> None:
    assert SETTINGS.emit("env").splitlines() == [
        "KNOWLEDGE_RRF_K=60",
        "KNOWLEDGE_RECENCY_HALF_LIFE_DAYS=1825",
        "# request field min_similarity: 0.25",
        "# request field limit: 10",
    ]


def test_every_other_form_is_read_back_as_the_same_settings() -> None:
    values = {
        "rrf_k": 60, "min_similarity": 0.25, "recency_half_life_days": 1825, "limit": 10
    }  # fmt: skip
    assert yaml.safe_load(SETTINGS.emit("yaml")) == values
    assert json.loads(SETTINGS.emit("json")) == values
    assert json.loads(SETTINGS.emit("request")) == values


def test_a_request_leaves_an_unset_floor_out_and_json_says_null() -> None:
    without = Settings(depth=40, weights={"lexical": 0.5})
    assert json.loads(without.emit("json"))["min_similarity"] is None
    request = json.loads(without.emit("request", names={"limit": "top_k"}))
    assert "min_similarity" not in request
    assert (request["top_k"], request["depth"], request["weights.lexical"]) == (10, 40, 0.5)
    assert "KNOWLEDGE_WEIGHTS_LEXICAL=0.5" in without.emit("env").splitlines()


def test_yaml_is_a_current_block_of_a_config() -> None:
    settings = Settings(rrf_k=20, weights={"lexical": 0.5})
    lines = settings.emit("yaml").splitlines()
    assert "min_similarity: none" in lines
    block: dict[str, Any] = yaml.safe_load("\n".join(lines))
    current = json.dumps({**block, "recency_half_life_days": "off"})
    assert load_config(ROOT / "configs/recency.yaml", [f"current={current}"]).current == settings


def test_a_variable_has_a_name_that_a_shell_takes_and_the_store_is_the_requests() -> None:
    lines = (
        Settings(stores="memory", weights={"body-text": 0.5}).emit("env", prefix="").splitlines()
    )
    assert "WEIGHTS_BODY_TEXT=0.5" in lines
    assert "# request field stores: memory" in lines


def test_names_apply_to_every_form_whichever_way_a_knob_is_written() -> None:
    settings = Settings(rrf_k=20, weights={"triples": 0.25})
    names = {"rrf_k": "FUSION_K", "triples_weight": "FACTS"}
    assert {"FUSION_K=20", "FACTS=0.25"} <= set(settings.emit("env", names=names).splitlines())
    assert {"FUSION_K: 20", "FACTS: 0.25"} <= set(settings.emit("yaml", names=names).splitlines())
    assert json.loads(settings.emit("json", names=names))["FACTS"] == 0.25
    assert json.loads(settings.emit("request", names=names))["FUSION_K"] == 20


def test_an_unknown_form_or_knob_is_bad_input() -> None:
    with pytest.raises(InputError, match='form "yml": Did you mean "yaml"'):
        SETTINGS.emit("yml")  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"names: .*rrf_k"):
        SETTINGS.emit("env", names={"rrfk": "K"})
