"""The shape of a config's engines that are asked over HTTP: ``http`` and its preset ``soat``.

Secrets never stand in a config, because a config is stored with every sweep: a block names the
environment variable or file that holds one, and what looks like a secret is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from sweeper.block import Block
from sweeper.knobs import CAPTURE_PREFIX, KNOBS, knob
from sweeper.request_template import Template

__all__ = [
    "AuthBlock",
    "ConnectionBlock",
    "HttpBlock",
    "PaginationBlock",
    "RetriesBlock",
    "SoatBlock",
    "TimeoutsBlock",
    "checked_address",
]

_SECRET_NAME = re.compile(
    r"(?i)authorization|cookie|password|secret|api[-_]?key|access[-_]?key|(^|[-_])(auth|token)$|^key$"
)


class AuthBlock(Block):
    """Credentials, read from the environment or a file whenever a request is made."""

    kind: Literal["bearer", "basic", "header"] = Field(
        description="`Authorization: Bearer`, user and password, or a header of its own."
    )
    token_env: str | None = Field(
        default=None, description="Environment variable that holds the token or the password."
    )
    token_file_env: str | None = Field(
        default=None, description="Environment variable that names a file which holds it."
    )
    user_env: str | None = Field(
        default=None, description="Environment variable that holds the user (kind `basic`)."
    )
    header: str = Field(default="X-API-Key", description="Name of the header (kind `header`).")

    @model_validator(mode="after")
    def _name_one_source(self) -> AuthBlock:
        if (self.token_env is None) == (self.token_file_env is None):
            raise ValueError("give either token_env or token_file_env.")
        if (self.kind == "basic") != (self.user_env is not None):
            raise ValueError("user_env belongs to kind basic, which needs it.")
        return self


class TimeoutsBlock(Block):
    """Seconds that each phase of one request may take."""

    connect: float = Field(default=5.0, gt=0, description="Until the connection stands.")
    write: float = Field(default=10.0, gt=0, description="Between two parts sent.")
    read: float = Field(default=30.0, gt=0, description="Between two parts received.")
    pool: float = Field(default=60.0, gt=0, description="Until a connection is free.")


class RetriesBlock(Block):
    """How often a request is repeated when the server is busy, fails, is silent or is garbled."""

    attempts: int = Field(default=8, ge=1, description="Requests in all, the first included.")
    wait_seconds: float = Field(
        default=0.5, ge=0, description="First pause; it doubles, with jitter."
    )
    max_wait_seconds: float = Field(
        default=20.0, ge=0, description="Longest pause, also where the server asks for more."
    )


class ConnectionBlock(Block):
    """What every engine over HTTP is told about its connection."""

    timeouts: TimeoutsBlock = Field(
        default_factory=TimeoutsBlock, description="Seconds per phase of a request."
    )
    retries: RetriesBlock = Field(default_factory=RetriesBlock, description="Repeated requests.")
    n_threads: int = Field(default=4, ge=1, le=256, description="Requests under way at once.")
    requests_per_second: float | None = Field(
        default=None, gt=0, description="No more than this, retries included."
    )
    ca_file: str | None = Field(
        default=None, description="PEM file of a private authority, relative to the config."
    )
    follow_redirects: bool = Field(
        default=False, description="Follow redirects (307, 308) within the same host and port."
    )


class PaginationBlock(Block):
    """How to ask for further rows, where one answer holds fewer than `limit`."""

    kind: Literal["page", "offset", "cursor"] = Field(
        description="Which of the placeholders `{page}`, `{offset}`, `{cursor}` the request uses."
    )
    size: int = Field(ge=1, description="Rows of a full page: the placeholder `{page_size}`.")
    first: int = Field(default=1, ge=0, description="Number of the first page (kind `page`).")
    next: str | None = Field(
        default=None, description="JMESPath of the next cursor in an answer (kind `cursor`)."
    )

    @model_validator(mode="after")
    def _know_the_next_cursor(self) -> PaginationBlock:
        if (self.kind == "cursor") != (self.next is not None):
            raise ValueError("next belongs to kind cursor, which needs it.")
        return self


class HttpBlock(ConnectionBlock):
    """Any JSON search endpoint (extra `http`)."""

    kind: Literal["http"] = Field(description="Which engine.")
    url: str = Field(description="Address of the search, without a query.")
    method: Literal["GET", "POST", "PUT"] = Field(default="POST", description="HTTP method.")
    body: dict[str, Any] | None = Field(
        default=None, description="JSON body with placeholders such as `{query}`, `{limit}`."
    )
    params: dict[str, Any] = Field(
        default_factory=dict, description="Query parameters, with the same placeholders."
    )
    headers: dict[str, str] = Field(
        default_factory=dict, description="Further headers, with the same placeholders."
    )
    auth: AuthBlock | None = Field(default=None, description="Credentials, if it needs any.")
    results: str = Field(description="JMESPath of the list of rows, e.g. `data.items`.")
    id: str | None = Field(default=None, description="JMESPath in a row: the key it stands for.")
    ids: dict[str, str] = Field(
        default_factory=dict,
        description="The same per source type, e.g. `{document: document_id, memory: memory_id}`.",
    )
    source_type: str | None = Field(
        default=None, description="JMESPath in a row: its source type. Without it, `document`."
    )
    memory_types: list[str] = Field(
        default_factory=lambda: ["memory"], description="Source types that are memories, and age."
    )
    item: str | None = Field(
        default=None, description="JMESPath in a row: its own id, where rows may share a key."
    )
    score: str | None = Field(
        default=None, description="JMESPath in a row: its score, which must be a number."
    )
    updated_at: str | None = Field(
        default=None, description="JMESPath in a row: when a memory was last written."
    )
    channels: dict[str, str] = Field(
        default_factory=dict,
        description="Channel to the JMESPath of a row's rank in it, from 1. Given: a white box.",
    )
    values: dict[str, str] = Field(
        default_factory=dict,
        description="Channel to the JMESPath of its value; a floor needs `vector` (cosine).",
    )
    window: int = Field(
        default=100, ge=1, description="Rows asked for to capture a white box's channels."
    )
    knobs: dict[str, str] = Field(
        default_factory=dict,
        description="Knob to dotted field of the body (of the parameters, without a body).",
    )
    none: float | None = Field(
        default=None,
        description="Sent for `min_similarity: none`; without it the field is left out.",
    )
    pagination: PaginationBlock | None = Field(
        default=None, description="How to ask for further rows."
    )

    @field_validator("url")
    @classmethod
    def _hold_no_secret_in_the_url(cls, url: str) -> str:
        return checked_address(url, "the key belongs in auth, the rest in params.")

    @field_validator("body", "params", "headers")
    @classmethod
    def _be_a_template(cls, content: Any) -> Any:
        Template(content)
        for name, value in _leaves(content):
            if _SECRET_NAME.search(name) and not Template(value).names:
                raise ValueError(
                    f'"{name}" looks like a secret, which would be stored with every sweep. '
                    "Put it into the environment and name it under auth."
                )
        return content

    @field_validator("knobs")
    @classmethod
    def _name_knobs(cls, knobs: dict[str, str]) -> dict[str, str]:
        for name in knobs:
            if name.startswith(CAPTURE_PREFIX):
                raise ValueError(f"{name} is a key of the config, not of a request.")
            try:
                knob(name)
            except KeyError as error:
                raise ValueError(str(error.args[0])) from None
        return knobs

    @model_validator(mode="after")
    def _be_answerable(self) -> HttpBlock:
        if (self.id is None) == (not self.ids):
            raise ValueError("give either id, or ids with an id per source type.")
        if self.ids and self.source_type is None:
            raise ValueError("ids needs source_type, which says what a row is.")
        if self.method == "GET" and self.body is not None:
            raise ValueError("a GET has no body. Put its fields under params.")
        if not self.channels and self.values:
            raise ValueError("values belong to channels: give channels, too.")
        unknown = sorted(set(self.values) - set(self.channels))
        if unknown:
            raise ValueError(f"values names {unknown[0]}, which is not among channels.")
        if "query" not in self.names and "query_id" not in self.names:
            raise ValueError('the question is sent nowhere. Put "{query}" into body or params.')
        if self.pagination is not None and self.pagination.kind not in self.names:
            raise ValueError(
                f'pagination by {self.pagination.kind} needs "{{{self.pagination.kind}}}" in body '
                "or params."
            )
        if self.channels and "min_similarity" in self.tuned and "vector" not in self.values:
            raise ValueError(
                "min_similarity acts on cosines: give values.vector, or leave it out of knobs."
            )
        return self

    @property
    def names(self) -> frozenset[str]:
        """Every placeholder that the request uses."""
        parts = (Template(part) for part in (self.body, self.params, self.headers))
        return frozenset().union(*(part.names for part in parts))

    @property
    def tuned(self) -> frozenset[str]:
        """Every knob that the request sends."""
        sent = {name for name in self.names if name in KNOBS or name.startswith("weights.")}
        return frozenset(self.knobs) | sent


class SoatBlock(ConnectionBlock):
    """SOAT's knowledge search (extra `http`)."""

    kind: Literal["soat"] = Field(description="Which engine.")
    base_url: str = Field(description="Address up to and without `/api/v1`.")
    token_env: str | None = Field(
        default="SOAT_API_TOKEN", description="Environment variable that holds the token."
    )
    token_file_env: str | None = Field(
        default=None, description="Environment variable that names a file which holds it."
    )
    project_id: str | None = Field(default=None, description="Search this project alone.")
    memory_store_ids: list[str] = Field(
        default_factory=list, description="Search these memory stores alone."
    )
    document_paths: list[str] = Field(
        default_factory=list, description="Search documents below these paths alone."
    )
    tags: dict[str, str] = Field(
        default_factory=dict, description="Search what has every one of these tags."
    )
    channels: list[Literal["vector", "lexical"]] = Field(
        default_factory=lambda: ["vector", "lexical"],  # type: ignore[arg-type]
        min_length=1,
        description="Channels that the deployment has. An answer that lacks `vector` all the same "
        "is an error.",
    )
    max_limit: int = Field(
        default=100, ge=1, le=100_000, description="Rows to which the server cuts `limit`."
    )

    @field_validator("base_url")
    @classmethod
    def _hold_no_secret_in_the_url(cls, url: str) -> str:
        return checked_address(url, "the token belongs in the environment.").rstrip("/")


_EXAMPLE = "https://search.example/v1"


def checked_address(url: str, remedy: str) -> str:
    """Return an http(s) address as it is.

    Raises
    ------
    ValueError
        If it is none, or holds a user, password, query or fragment; it is stored.
    """
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port  # the port raises if it is no number
        secret = parts.username is not None or parts.password is not None
    except ValueError:
        raise ValueError(f"must be an http(s) address, such as {_EXAMPLE}.") from None
    if not url.isprintable() or " " in url:
        raise ValueError("may hold no space and no control character. Remove or encode it.")
    if secret or parts.query or parts.fragment:
        raise ValueError(f"may hold no user, password, query or fragment: {remedy}")
    if parts.scheme not in {"http", "https"} or not host:
        raise ValueError(f"must be an http(s) address, such as {_EXAMPLE}.")
    return url


def _leaves(content: Any) -> Iterator[tuple[str, str]]:
    """Yield the name and text of every text in a JSON value."""
    if isinstance(content, Mapping):
        for name, below in content.items():
            if isinstance(below, str):
                yield str(name), below
            else:
                yield from _leaves(below)
    elif isinstance(content, list):
        for below in content:
            yield from _leaves(below)
