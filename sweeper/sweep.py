"""The loop: propose, capture what is missing, replay or ask, keep every finished trial.

``run_sweep`` is what ``sweep run`` calls. It can be killed anywhere: the same call finishes the
rest and leaves the same tables.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sweeper.audit import audit_ages, audit_knobs
from sweeper.config import Config
from sweeper.errors import IncompleteError, InputError
from sweeper.evaluate import Figures
from sweeper.fanout import Fanout
from sweeper.files import remove_leftovers
from sweeper.interrupts import Interrupts
from sweeper.knobs import Value
from sweeper.manifest import changes, manifest_of, show_as, shown, started_before, status
from sweeper.opening import OpenSweep, Progress, open_sweep, silent, spec_hash
from sweeper.outcome import figures_of, records_of, write_outcome
from sweeper.planner import Planner
from sweeper.remarks import remarks
from sweeper.results import Results, load
from sweeper.runs import Judgments
from sweeper.samplers import Known, Sampler, make_sampler
from sweeper.settings import Settings
from sweeper.sources import Source, open_source
from sweeper.spaces import Trial
from sweeper.store import ANSWERS, JOURNAL, Journal, Lock, clear_finished, write_manifest

__all__ = ["Failure", "Summary", "address_of", "folder_of", "planned", "run_sweep"]

_WARM_KEPT = 1000
"""Trials of an earlier sweep that a sampler begins with; the best by the objectives."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A trial without figures, and why."""

    trial: Trial
    error: str

    def __str__(self) -> str:
        return f"#{self.trial.number} {self.trial.settings.text}: {self.error}"


@dataclass(frozen=True, slots=True)
class Summary:
    """What one call of ``run_sweep`` did.

    ``n_captured`` pools were captured, ``n_run`` trials run and ``n_kept`` found finished.
    ``failed`` trials have no figures; the same call tries them again.
    """

    results: Results
    n_run: int
    n_kept: int
    n_captured: int
    n_processes: int
    failed: tuple[Failure, ...]
    notes: tuple[str, ...]

    def _repr_html_(self) -> str:
        from sweeper.reprs import summary_html

        return summary_html(self)

    @property
    def captured(self) -> bool:
        """Whether anything had to be captured."""
        return self.n_captured > 0


def run_sweep(
    config: Config,
    *,
    root: str | Path = "results",
    fanout: Fanout | None = None,
    fresh: bool = False,
    fail_fast: bool = False,
    progress: Progress = silent,
) -> Summary:
    """Carry out a sweep, or what is missing of it.

    The first Ctrl-C finishes what runs, keeps it and raises ``KeyboardInterrupt``; the second
    raises at once. Either way the same call goes on from there.

    Parameters
    ----------
    config
        What to sweep.
    root
        Folder of all results.
    fanout
        Where trials are replayed: by default in this process. The results do not depend on it.
    fresh
        Repeat a finished sweep under a new id.
    fail_fast
        Stop at the first trial that fails.
    progress
        Told how far capture and replay are.

    Raises
    ------
    InputError
        If a file that the config names has problems, or the results cannot be written.
    EngineError
        If the engine fails, or another process runs the same sweep.
    StorageError
        If the disk is full. Finished trials are kept.
    """
    root = Path(root)
    with open_sweep(config, root=root) as opened:
        folder = folder_of(root / config.name, opened.spec, fresh=fresh)
        notes = changes(folder, opened.spec)
        finished = _finished(folder)
        with contextlib.suppress(OSError):  # what cannot be written can still be shown
            for place in (folder, folder / "plots", root / ".pools"):
                remove_leftovers(place)
        if finished is not None:
            clear_finished(folder)
        if finished is not None and _as_wanted(finished, config):
            notes += _findings(finished, config)
            kept = len(finished.trials)
            return Summary(finished, 0, kept, 0, 0, (), tuple(notes))
        with Lock(folder) as lock:
            finished = _finished(folder)
            if finished is not None:
                n_captured = _mend_pools(finished, opened, progress)
                results = show_as(finished, config)
                notes += _findings(results, config)
                kept = len(results.trials)
                return Summary(results, 0, kept, n_captured, 0, (), tuple(notes))
            notes += [lock.taken_over] if lock.taken_over else []
            work = _Work(opened, folder, fanout or Fanout(), progress)
            work.finish(fail_fast)
            results = Results(folder)
            told = remarks(opened, work.planner, work.source, failed=bool(work.failures))
            notes += [*told, *_findings(results, config)]
            return Summary(
                results,
                work.n_run,
                len(work.planner.trials) - work.n_run,
                work.source.n_captured,
                len(work.processes),
                tuple(work.failures),
                tuple(notes),
            )


class _Work:
    """One sweep in its folder, from the journal to the tables."""

    def __init__(self, opened: OpenSweep, folder: Path, fanout: Fanout, progress: Progress) -> None:
        self.opened, self.inputs, self.folder = opened, opened.inputs, folder
        self.fanout, self.progress = fanout, progress
        self.config = self.inputs.config
        self.planner = _planner(self.config, opened.engine.channels)
        self.known: list[Known] = []
        self.kept: dict[str, dict[str, Any]] = {}
        self.n_run = 0
        self.processes: set[int] = set()
        self.source: Source

    @property
    def failures(self) -> list[Failure]:
        """Trials that have no figures."""
        found = ((trial, self.kept.get(trial.trial_id)) for trial in self.planner.trials)
        return [Failure(trial, str(r["error"])) for trial, r in found if r and "error" in r]

    def finish(self, fail_fast: bool) -> None:
        """Run what the journal lacks and write the tables."""
        with contextlib.ExitStack() as stack:
            self.source = self._open_source(stack)
            journal = Journal(self.folder / JOURNAL, self._header())
            stack.callback(journal.close)
            manifest = manifest_of(self.opened, self.folder)
            manifest["started"] = started_before(self.folder) or manifest["started"]
            write_manifest(self.folder, {**manifest, **self._state("running")})
            batches = [record["batch"] for record in journal.records if "batch" in record]
            for record in journal.records:
                if "figures" in record:
                    self.kept[record["trial_id"]] = record
            for proposed in self._batches(journal, batches):
                self.planner.extend(proposed)
                self._run(journal, fail_fast)
            outcome = {
                "finished": datetime.now(UTC).isoformat(timespec="seconds"),
                "n_processes": len(self.processes),
                "files": write_outcome(
                    self.folder, self.inputs, self.planner.trials, self.kept, self.source
                ),
            }
            state = self._state("incomplete" if self.failures else "complete")
            write_manifest(self.folder, {**manifest, **state, **outcome})
            if not self.failures:
                journal.remove()

    def _state(self, status: str) -> dict[str, Any]:
        return {
            "n_trials": len(self.planner.trials),
            **self.source.facts(),
            "status": status,
        }

    # --- what is tried ---------------------------------------------------------------------------

    def _batches(
        self, journal: Journal, stored: Sequence[Sequence[Mapping[str, Any]]]
    ) -> Iterator[list[Settings]]:
        """Yield what to try, batch by batch; what an adaptive sampler proposed is kept first."""
        if not self.config.adaptive:
            yield _sampler(self.config).propose(())
            return
        yield self._warm_settings()  # and today's setting, the arms and the printed line
        sampler = _sampler(
            self.config, n_more=sum(item.settings in self.config.space for item in self.known)
        )
        for batch in stored:
            # From the defaults: what is at its default is not written.
            yield [Settings().with_values(values) for values in batch]
        while proposed := sampler.propose(self.known):
            journal.append([{"batch": [item.as_dict() for item in proposed]}])
            yield proposed

    def _warm_settings(self) -> list[Settings]:
        """Return the settings of an earlier sweep that this space holds, its best first."""
        if self.opened.warm_start is None:
            return []
        earlier = load(self.opened.warm_start, root=self.opened.root)
        best = list(earlier.pareto()["number"]) if len(earlier.trials) else []
        order = dict.fromkeys([*best, *range(len(earlier.trials))])
        mine = (
            Settings().with_values({**self.config.current.capture, **_values(earlier, number)})
            for number in order
        )
        return [item for item in mine if item in self.config.space][:_WARM_KEPT]

    # --- running ---------------------------------------------------------------------------------

    def _open_source(self, stack: contextlib.ExitStack) -> Source:
        """Return where figures come from, ready for today's setting."""

        def answers() -> Journal:
            journal = Journal(self.folder / ANSWERS, {"spec": spec_hash(self.opened.spec)})
            stack.callback(journal.close)
            return journal

        return open_source(
            self.opened,
            self.config.current,
            fanout=self.fanout,
            owner=f"{self.config.name}/{self.folder.name}",
            answers=answers,
            progress=self.progress,
        )

    def _header(self) -> dict[str, Any]:
        """Return what the journal's trials hang on; each names its candidates besides."""
        return {"spec": spec_hash(self.opened.spec)}

    def _run(self, journal: Journal, fail_fast: bool) -> None:
        """Run the trials that have no figures yet, and keep each as it is finished."""
        planned = [trial.settings for trial in self.planner.trials]
        self.source.prepare(planned)
        for item in planned:  # candidates that were captured again have other figures
            record = self.kept.get(item.trial_id)
            if record is not None and record.get("pool") != self.source.digest_of(item):
                del self.kept[item.trial_id]
        todo = [trial for trial in self.planner.trials if trial.trial_id not in self.kept]
        settings = [trial.settings for trial in todo]
        total = max(len(self.planner.trials), self.config.file.sampler.n_trials or 0)
        self.progress("replay", len(self.kept), total)
        failed = False
        with Interrupts() as interrupts:

            def stop() -> bool:
                return interrupts.asked_to_stop() or (fail_fast and failed)

            for done in self.source.run(settings, self.config.metrics, stop):
                records = records_of(done, self.source)
                journal.append(records)
                self.kept.update((record["trial_id"], record) for record in records)
                self.processes.add(done.process)
                self.n_run += len(records)
                failed = failed or done.error is not None
                self.progress("replay", len(self.kept), total)
            if interrupts.asked_to_stop():
                raise KeyboardInterrupt
        missing = [trial for trial in todo if trial.trial_id not in self.kept]
        if fail_fast and failed:
            raise IncompleteError(
                f"{self.failures[0]}\n{len(missing)} more settings were not tried. Finished ones "
                "are kept; the same command goes on from there."
            )
        if missing:
            raise AssertionError(f"{len(missing)} settings were lost without a word")
        self._learn()

    def _learn(self) -> None:
        """Note what became of every settings, in the order in which they were proposed."""
        if not self.config.adaptive:
            return
        number = {trial.settings.text: trial for trial in self.planner.trials}
        new = self.planner.order[len(self.known) :]
        trials = [number[self.planner.alike.get(item.text, item).text] for item in new]
        today = next(trial for trial in self.planner.trials if trial.is_current)
        records = [self.kept[trial.trial_id] for trial in (today, *trials)]
        figures = figures_of(records, Judgments(self.inputs.golden), self.config.metrics)
        self.known += [
            _known(item, figures, place, self.config) for place, item in enumerate(new, start=1)
        ]


def _values(results: Results, number: int) -> dict[str, Value]:
    return results.settings[number].as_dict()


def planned(config: Config, channels: Sequence[str]) -> Planner:
    """Return the trials that are known before any has run.

    Everything for a grid and for points drawn at once; for an adaptive sampler, today's setting,
    the arms and the printed line.
    """
    planner = _planner(config, channels)
    planner.extend([] if config.adaptive else _sampler(config).propose(()))
    return planner


def _planner(config: Config, channels: Sequence[str]) -> Planner:
    return Planner(
        config.space,
        config.current,
        # A budget is for the sampler to spend: no further values beside today's setting.
        line_knob=config.table_knob if config.file.sampler.kind == "grid" else None,
        arms=config.arms,
        channels=channels,
    )


def _sampler(config: Config, n_more: int = 0) -> Sampler:
    block = config.file.sampler
    return make_sampler(
        config.space,
        block.kind,
        n_trials=None if block.n_trials is None else block.n_trials + n_more,
        batch_size=block.batch_size,
        sequence=block.sequence,
        n_objectives=len(config.objectives),
        seed=block.seed,
    )


def address_of(opened: OpenSweep, *, fresh: bool = False) -> str:
    """Return ``name/id`` of a sweep: of its latest repetition, or a new one (``folder_of``)."""
    name = opened.inputs.config.name
    return f"{name}/{folder_of(opened.root / name, opened.spec, fresh=fresh).name}"


def folder_of(parent: Path, spec: Mapping[str, Any], *, fresh: bool) -> Path:
    """Return the folder of a spec: its latest repetition, or a new one.

    A repetition that was interrupted is not repeated again but completed.
    """
    name = spec_hash(spec)[:8]
    number = 1
    while status(parent / _numbered(name, number + 1)) is not None:
        number += 1
    if fresh and status(parent / _numbered(name, number)) == "complete":
        number += 1
    return parent / _numbered(name, number)


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def _known(settings: Settings, figures: Figures, place: int, config: Config) -> Known:
    """Return what a sampler is told of one settings; the figures' first trial is today's."""
    gains = []
    for item in config.objectives:
        group, metric = figures.place(item.address)
        gains.append(item.gain(float(figures.value[place, group, metric])))
    if not all(math.isfinite(gain) for gain in gains):
        return Known(settings, None)
    excess = []
    for constraint in config.constraints:
        group, metric = figures.place(constraint.address)
        column = figures.value[:, group, metric]
        excess.append(constraint.excess(float(column[place]), float(column[0])))
    return Known(settings, tuple(gains), tuple(excess))


def _finished(folder: Path) -> Results | None:
    """Return a finished sweep whose files are all there, as it wrote them."""
    try:
        results = Results(folder)
        results.check_tables()
    except InputError:
        return None
    return results if results.manifest["status"] == "complete" else None


def _as_wanted(results: Results, config: Config) -> bool:
    """Return whether nothing has to be written to show a finished sweep."""
    same = all(results.manifest.get(key) == value for key, value in shown(config).items())
    try:
        _ = results.kept.pools
    except InputError:
        return False
    return same


def _mend_pools(results: Results, opened: OpenSweep, progress: Progress) -> int:
    """Capture a finished sweep's pools again where they are gone; return how many that were."""
    if opened.black_box:
        return 0
    mended = 0
    for capture in opened.captures_of(results.settings):
        try:
            results.kept.read_pool(capture.name)
        except InputError:
            with contextlib.suppress(OSError):  # a folder: writing says so
                opened.pool_path(capture, owner=results.address).unlink(missing_ok=True)
            opened.pool(capture, owner=results.address, progress=progress)
            mended += 1
    return mended


def _findings(results: Results, config: Config) -> list[str]:
    if not results.replayable:
        return []
    choices = {name: config.space.values(name) for name in config.space.knobs}
    found = audit_ages(results.pool) + audit_knobs(results.pool, choices, config.current)
    return [str(finding) for finding in found]
