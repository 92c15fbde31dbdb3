"""What a finished sweep kept of its engine: captured candidates, or the answers it gave."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from sweeper.corpus import parse_instant
from sweeper.errors import InputError
from sweeper.files import read_bytes
from sweeper.formats.usage import read_usage
from sweeper.golden import GoldenSet, Key, QueryId
from sweeper.poolfile import read_pool
from sweeper.pools import Pool
from sweeper.prior import UsageLog, Usefulness
from sweeper.ranking import returned_keys
from sweeper.replay import Replay
from sweeper.settings import Settings
from sweeper.store import ANSWERS, read_journal, usage_file

__all__ = ["Kept"]


class Kept:
    """Pools and answers of one sweep, read when they are first asked for.

    Parameters
    ----------
    folder
        ``results/<name>/<id>``.
    manifest
        The sweep's.
    golden
        Its questions.

    Attributes
    ----------
    pool_files
        Where captured candidates are kept, by the text of the knobs that decide what is retrieved
        (``Settings.origin.captured``). Empty where the engine shows no candidates.
    live_questions
        Questions of which the engine does not show all candidates: it was asked each setting.
    """

    def __init__(self, folder: Path, manifest: Mapping[str, Any], golden: GoldenSet) -> None:
        self._folder, self._golden = folder, golden
        self._address = f"{manifest['name']}/{manifest['id']}"
        self._facts: Mapping[str, Any] = manifest.get("pools", {"": manifest["pool"]})
        pools = folder.parent.parent / ".pools"
        self.pool_files: dict[str, Path] = {
            name: pools / str(facts["file"]) for name, facts in self._facts.items() if facts["file"]
        }
        self.live_questions: tuple[QueryId, ...] = tuple(manifest.get("live_questions", ()))
        self._usage: Mapping[str, Any] | None = manifest.get("usage")
        self._files: Mapping[str, str] = manifest.get("files", {})

    @property
    def replayable(self) -> bool:
        """Whether all candidates were captured, so that settings beyond the trials can be shown."""
        return bool(self.pool_files) and not self.live_questions

    def read_pool(self, name: str) -> Pool:
        """Read one of ``pool_files``.

        Raises
        ------
        InputError
            If it is gone, damaged, or not what the sweep was made with.
        """
        path = self.pool_files[name]
        if not path.exists():
            raise InputError(f"{path}: the candidates of this sweep are gone. Run the sweep again.")
        pool = read_pool(path)
        if pool.digest != self._facts[name]["digest"]:
            raise InputError(
                f"{path}: these are not the candidates that this sweep was made with. "
                "Run the sweep again with --fresh."
            )
        return replace(pool, usefulness=self._usefulness)

    @cached_property
    def _usefulness(self) -> Usefulness | None:
        """The usage logs that the prior learned from."""
        if self._usage is None:
            return None
        as_of = parse_instant(str(self._usage["as_of"]))
        assert as_of is not None
        return Usefulness({name: self._log(name) for name in self._usage["logs"]}, as_of)

    def _log(self, name: str) -> UsageLog:
        path = self._folder / usage_file(name)
        if not path.exists():
            raise InputError(f"{path}: there is no such file. Run the sweep again.")
        if hashlib.sha256(read_bytes(path)).hexdigest() != self._files.get(path.name):
            raise InputError(
                f"{path}: is not the usage log that this sweep learned from. Run the sweep again."
            )
        return read_usage(path)

    @cached_property
    def pools(self) -> dict[str, Pool]:
        """All captured candidates, by the names of ``pool_files``."""
        return {name: self.read_pool(name) for name in self.pool_files}

    @cached_property
    def replay(self) -> Replay:
        """What was captured, ready to rank under any settings.

        Raises
        ------
        InputError
            If the engine shows too few candidates, or they are gone.
        """
        if not self.replayable:
            count = len(self.live_questions)
            shown = "no candidates"
            if count:
                shown = f"too few candidates of {count} question{'s' if count > 1 else ''}"
            raise InputError(
                f"{self._address}: its engine shows {shown}, so only the settings that it was "
                "asked can be shown. Add the setting to the space (or arms) and run the sweep."
            )
        several = len(self.pools) > 1
        return Replay(self.pools if several else next(iter(self.pools.values())), self._golden)

    def returned(self, settings: Settings, query_id: QueryId) -> list[Key]:
        """Return the key at every raw position of the answer to one question, best first.

        Raises
        ------
        InputError
            If the engine was asked and gave no answer, or the candidates are gone.
        """
        pool = self.pools.get(settings.origin.captured)
        if pool is not None and query_id not in pool.provenance.get("live_questions", ()):
            query = next(q for q in self._golden.queries if q.query_id == query_id)
            return returned_keys(pool, settings, query)
        answer = self._answers.get((settings.trial_id, query_id))
        if answer is None:
            raise InputError(
                f"{self._address}: there is no answer to question {query_id!r} under "
                f"{settings.text}. Run the sweep again."
            )
        return answer

    @cached_property
    def _answers(self) -> dict[tuple[str, QueryId], list[Key]]:
        """What an engine that shows too few candidates answered, by trial id and question."""
        records = read_journal(self._folder / ANSWERS)
        return {(r["trial"], r["query"]): list(r["keys"]) for r in records if "query" in r}
