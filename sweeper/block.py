"""The base of every block of a config."""

from __future__ import annotations

from typing import Any, get_args

from pydantic import BaseModel, ConfigDict, model_validator

__all__ = ["Block"]


class Block(BaseModel):
    """Base of every block: unknown keys are refused, nothing changes after reading."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        str_strip_whitespace=False,
        hide_input_in_errors=True,  # it may be a secret in the wrong place
    )

    @model_validator(mode="before")
    @classmethod
    def _mark_truth_values(cls, data: Any) -> Any:
        """Let `true` and `false` be no numbers: pydantic would read them as 1 and 0."""
        if not isinstance(data, dict):
            return data
        return {
            key: _Truth(value) if isinstance(value, bool) and cls._is_number(key) else value
            for key, value in data.items()
        }

    @classmethod
    def _is_number(cls, key: Any) -> bool:
        if key not in cls.model_fields:
            return False
        annotation = cls.model_fields[key].annotation
        kinds = get_args(annotation) or (annotation,)
        return bool not in kinds and (int in kinds or float in kinds)


class _Truth:
    """A truth value that no type takes for a number."""

    def __init__(self, value: bool) -> None:
        self._value = value

    def __repr__(self) -> str:
        return str(self._value).lower()
