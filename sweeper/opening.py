"""A sweep's inputs, its engine and its pool: everything before the first trial.

``sweep`` runs trials over it, ``sweep check`` and a gate stop here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

from sweeper.capture import capture as ask
from sweeper.classes import with_classes
from sweeper.config import Config
from sweeper.corpus import Corpus, parse_instant
from sweeper.engines import open_engine
from sweeper.engines.base import Engine, PartlyShown
from sweeper.errors import InputError
from sweeper.formats import read_corpus, read_golden
from sweeper.golden import GoldenSet
from sweeper.knobs import Value
from sweeper.poolfile import read_pool, write_pool
from sweeper.pools import KeyFactors, Pool
from sweeper.results import load
from sweeper.settings import Settings
from sweeper.store import Journal, journal_header, past_sweeps
from sweeper.usage import Usage, read_usage_logs

__all__ = [
    "Capture",
    "Inputs",
    "OpenSweep",
    "Progress",
    "open_sweep",
    "read_inputs",
    "silent",
    "spec_hash",
]


_PARTIAL = ".partial.jsonl"
"""Ends the names of journals of captures that were interrupted."""


class Progress(Protocol):
    """Told how far a long step is; the command line draws bars with it."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """Report ``done`` of ``total``; ``step`` is a short text such as ``capture``."""


def silent(step: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a config names, read and checked together."""

    config: Config
    golden: GoldenSet
    corpus: Corpus | None
    usage: Usage
    files: Mapping[str, str]
    """Digests of the files that values of the engine's keys name."""

    @property
    def corpus_digest(self) -> str | None:
        return None if self.corpus is None else self.corpus.digest


@dataclass(frozen=True, slots=True)
class Capture:
    """One engine of a sweep, and where its candidates are kept.

    Attributes
    ----------
    name
        Text of the knobs that decide what is retrieved (``Settings.origin.captured``).
    engine
    stem
        Names the pool's file, by the questions, the engine, the depth and ``as_of``. Pools of a
        live engine belong to one sweep.
    """

    name: str
    engine: Engine
    stem: str

    @property
    def shared(self) -> bool:
        """Whether the engine gives the same candidates for the same questions, for every sweep."""
        return self.engine.fingerprint is not None


class OpenSweep:
    """A sweep's inputs and its engines: one per combination of knobs that decide what is retrieved.

    The engine as it runs today is open; another is opened when its settings are first asked for.

    Parameters
    ----------
    inputs
        Config, golden set, corpus.
    today
        The engine as it runs today.
    root
        Folder of all results.
    opener
        Opens the engine under other values of the knobs that decide what is retrieved.
    warm_start
        The earlier sweep, ``name/id``, with which a sampler begins.
    """

    def __init__(
        self,
        inputs: Inputs,
        today: Capture,
        root: Path,
        opener: Callable[[Mapping[str, Value]], Capture],
        warm_start: str | None,
    ) -> None:
        self.inputs, self.root, self.warm_start = inputs, root, warm_start
        self._today, self._opener = today, opener
        self._captures = {today.name: today}

    @property
    def engine(self) -> Engine:
        """The engine as it runs today."""
        return self._today.engine

    @property
    def today(self) -> Capture:
        return self._today

    @property
    def opened(self) -> tuple[Capture, ...]:
        """The engines that were opened so far."""
        return tuple(self._captures.values())

    @property
    def black_box(self) -> bool:
        """Whether the engine shows no candidates, so that every setting is asked of it."""
        return not self.engine.channels

    @property
    def spec(self) -> dict[str, Any]:
        """What identifies the sweep; equal specs give equal tables."""
        warm = {} if self.warm_start is None else {"warm_start": self.warm_start}
        digests = self.inputs.usage.digests
        files = self.inputs.files
        return {
            **warm,
            **({"files": dict(files)} if files else {}),
            **({"usage": [[*item] for item in digests.items()]} if digests else {}),  # in order
            "config": self.inputs.config.spec(),
            "golden": self.inputs.golden.digest,
            "corpus": self.inputs.corpus_digest,
            "engine": self.engine.fingerprint,
        }

    def capture_of(self, settings: Settings) -> Capture:
        """Return the engine whose candidates some settings rank."""
        name = settings.origin.captured
        if name not in self._captures:
            self._captures[name] = self._opener(settings.capture)
        return self._captures[name]

    def captures_of(self, settings: Iterable[Settings]) -> list[Capture]:
        """Return the engines whose candidates some settings rank, each once."""
        asked = {item.origin.captured: item for item in settings}
        return [self.capture_of(item) for item in asked.values()]

    def pool_path(self, capture: Capture | None = None, *, owner: str = "") -> Path:
        """Return where candidates are kept.

        Parameters
        ----------
        capture
            Of which engine; of the one that runs today unless given.
        owner
            The sweep, ``name/id``, to which the pool of a live engine belongs.
        """
        capture = capture or self._today
        stem = capture.stem if capture.shared else spec_hash([capture.stem, owner])[:16]
        return self.root / ".pools" / f"{stem}.parquet"

    def forget(self, capture: Capture, *, owner: str = "") -> None:
        """Delete the candidates of an engine, those of an interrupted capture too."""
        path = self.pool_path(capture, owner=owner)
        path.unlink(missing_ok=True)
        path.with_suffix(_PARTIAL).unlink(missing_ok=True)

    def pool(
        self,
        capture: Capture | None = None,
        *,
        owner: str = "",
        progress: Progress = silent,
    ) -> tuple[Pool, bool]:
        """Return the candidates of every question, and whether they had to be captured.

        An engine with a fingerprint gives the same candidates for the same questions, so its pools
        are shared by all sweeps under ``root``. A pool file that cannot be read is captured again.
        """
        capture = capture or self._today
        path = self.pool_path(capture, owner=owner)
        if path.exists():
            with contextlib.suppress(InputError):
                kept_before = read_pool(path)
                if self._fits(kept_before, capture):
                    return replace(kept_before, usefulness=self.usefulness), False
        step = f"capture {capture.name}" if capture.name else "capture"
        with contextlib.ExitStack() as stack:
            kept = None
            if not capture.shared:  # its answers are dear: keep each, in case of an interruption
                path.parent.mkdir(parents=True, exist_ok=True)
                header = {"pool": path.stem, **_partial(self.spec, capture)}
                kept = Journal(path.with_suffix(_PARTIAL), header)
                stack.callback(kept.close)
            pool = ask(
                self.inputs.golden,
                capture.engine,
                depth=self.inputs.config.depth,
                progress=lambda done, total: progress(step, done, total),
                batch_size=256 if kept is None else 4 * capture.engine.n_threads,
                kept=kept,
            )
            write_pool(path, pool)
            if kept is not None:
                kept.remove()
        return replace(pool, usefulness=self.usefulness), True

    def _fits(self, pool: Pool, capture: Capture) -> bool:
        """Whether a kept pool is what this engine gave to these questions, as deep as is wanted."""
        told = pool.provenance.get("fingerprint")
        return (
            pool.query_ids == self.inputs.golden.query_ids
            and pool.depth >= self.inputs.config.depth
            and pool.channels == capture.engine.channels
            and (told == capture.engine.fingerprint or told is None)
            and not pool.asked_otherwise(self.inputs.golden.queries)
        )

    @cached_property
    def usefulness(self) -> KeyFactors | None:
        """What past usage says of pages; simulated readers ask the engine as it runs today."""
        as_of = parse_instant(str(self.engine.provenance.get("as_of"))) or datetime.now(UTC)
        return self.inputs.usage.open(self.engine, as_of)


@contextlib.contextmanager
def open_sweep(config: Config, *, root: str | Path = "results") -> Iterator[OpenSweep]:
    """Read what a config names and open its engines.

    Raises
    ------
    InputError
        With the problems of the first file that has any.
    """
    root = Path(root)
    inputs = read_inputs(config)
    with contextlib.ExitStack() as stack:

        def opened(captured: Mapping[str, Value]) -> Capture:
            own = config.with_engine(captured)
            engine = open_engine(own, inputs.corpus, as_of=as_of, cache=root / ".cache")
            stack.callback(engine.close)
            name = config.current.with_values(captured).origin.captured
            return Capture(name, engine, _stem(inputs, engine, name, config))

        as_of = config.as_of or datetime.now(UTC)
        warm = _earlier(config, root)
        found = OpenSweep(inputs, opened(config.current.capture), root, opened, warm)
        earlier = _first_capture(found) if config.as_of is None else None
        if earlier is not None:
            found.engine.close()
            as_of = earlier
            found = OpenSweep(inputs, opened(config.current.capture), root, opened, warm)
        config.check_channels(found.engine.channels)
        if found.black_box:
            config.check_prior()
        if found.black_box or isinstance(found.engine, PartlyShown):
            config.check_knobs(found.engine.knobs)  # what is captured is replayed under any knob
        yield found


def _earlier(config: Config, root: Path) -> str | None:
    """Return the address of the sweep that a sampler begins with, as it is called today.

    Raises
    ------
    InputError
        If there is none, or it is named so that it would be this sweep itself.
    """
    name = config.file.sampler.warm_start
    if name is None:
        return None
    if name == config.name:
        raise InputError(
            f"{config.path}: sampler.warm_start: {name} is this sweep itself. Name the earlier one "
            f"with its id, such as {name}/1a2b3c4d."
        )
    return load(name, root=root).address


def _stem(inputs: Inputs, engine: Engine, name: str, config: Config) -> str:
    asked = [(q.query_id, q.text, sorted(q.filter.items()), q.user) for q in inputs.golden.queries]
    as_of = config.as_of.isoformat() if config.as_of else "first capture"
    # Live engines are told apart by what they were configured with alone.
    told = engine.fingerprint if engine.fingerprint is not None else ["live", name]
    return spec_hash([asked, told, config.depth, as_of])[:16]


def _first_capture(found: OpenSweep) -> datetime | None:
    """Return the instant from which ages were measured before, if they were.

    A pool that was deleted is so captured again as it was, and its sweeps keep their figures; a
    capture that was interrupted is completed as it was begun.
    """
    name = found.pool_path().name
    for _, manifest in past_sweeps(found.root):
        with contextlib.suppress(InputError):  # of a neighbour, which is not asked for
            if manifest and manifest["pool"]["file"] == name:
                return parse_instant(str(manifest["pool"]["provenance"].get("as_of")))
    wanted = _partial(found.spec, found.today)["spec"]
    for path in sorted((found.root / ".pools").glob(f"*{_PARTIAL}")):
        header = journal_header(path)
        if header.get("spec") == wanted:
            return parse_instant(str(header.get("as_of")))
    return None


def _partial(spec: Mapping[str, Any], capture: Capture) -> dict[str, Any]:
    """Return what the answers of an interrupted capture hang on."""
    return {"spec": spec_hash(spec), "as_of": capture.engine.provenance.get("as_of")}


def read_inputs(config: Config) -> Inputs:
    """Read the corpus and the golden set that a config names, and check them together.

    Raises
    ------
    InputError
        With all problems of the first file that has any.
    """
    source, corpus = config.corpus, None
    if source is not None:
        corpus = read_corpus(config.existing(source), fields=source.fields or None)
    topics = config.golden.topics
    golden = read_golden(
        config.existing(config.golden),
        fields=config.golden.fields or None,
        topics=None if topics is None else config.resolve(topics),
        corpus_keys=None if corpus is None else corpus.keys,
        restricted=None if corpus is None else corpus.restricted,
    )
    golden = with_classes(config, golden)
    config.check_figures(golden)
    keys = None if corpus is None else corpus.keys
    files = {
        name: hashlib.sha256(path.read_bytes()).hexdigest()
        for name, path in config.captured_files().items()
    }
    return Inputs(config, golden, corpus, read_usage_logs(config, golden, keys), files)


def spec_hash(content: Any) -> str:
    """Return the SHA-256 of what JSON can say, whatever the order of keys."""
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
