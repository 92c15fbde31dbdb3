"""The base of every block of a config."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

__all__ = ["Block"]


class Block(BaseModel):
    """Base of every block: unknown keys are refused, nothing changes after reading."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        str_strip_whitespace=False,
        hide_input_in_errors=True,  # it may be a secret in the wrong place
    )
