"""Which settings a sweep tries, and in which order.

A sampler proposes settings in batches of a fixed size and is told the figures of those before, so
what it proposes never depends on how many processes replay them. The grid is our own: it is known
from the start and never repeats a point. Random and quasi-random points are numpy's and scipy's.
What learns is Optuna's, asked and told; its study lives in memory alone and is made anew from our
records for every batch.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from sweeper.knobs import Value, knob
from sweeper.settings import Settings
from sweeper.spaces import SearchSpace, Span, significant

if TYPE_CHECKING:
    import optuna

__all__ = [
    "Adaptive",
    "Grid",
    "Kind",
    "Known",
    "Listed",
    "Sampler",
    "make_sampler",
]

Kind: TypeAlias = Literal["grid", "random", "qmc", "tpe", "nsga2"]

_REPEATS = 100
"""Points that a sampler may repeat in a row before it is out of ideas."""


@dataclass(frozen=True, slots=True)
class Known:
    """What became of one settings.

    Attributes
    ----------
    gains : length n_objectives
        Larger is better; ``None`` if the trial failed or an objective is undefined.
    excess : length n_constraints
        By how much each constraint is missed; 0 or less is met.
    """

    settings: Settings
    gains: tuple[float, ...] | None
    excess: tuple[float, ...] = ()


class Sampler(Protocol):
    """Proposes settings."""

    def propose(self, known: Sequence[Known]) -> list[Settings]:
        """Return the next batch, distinct and none of it known; empty at the end.

        Parameters
        ----------
        known
            Every trial so far, in the order in which they were proposed.
        """


class Grid:
    """Every combination of a space, in the order in which it was typed."""

    def __init__(self, space: SearchSpace) -> None:
        self._space = space

    def propose(self, known: Sequence[Known]) -> list[Settings]:
        return [] if known else list(_distinct(self._space))


class Listed:
    """Settings that need no telling: random or quasi-random points, drawn at once.

    Points are drawn in the unit cube, one side per knob. Optuna's own sampler of such points draws
    them one by one, reading all before each: that takes a time that grows with their square.

    Parameters
    ----------
    space
        Knobs and their values.
    kind
        ``random``, ``sobol`` or ``halton``.
    n_trials
        How many distinct settings; fewer if the space has no more.
    seed
        Of the points.

    References
    ----------
    Bergstra, Bengio, JMLR 13, 2012 (random). Owen, J. Complexity 14(4), 1998 (scrambled nets).
    """

    def __init__(self, space: SearchSpace, kind: str, *, n_trials: int, seed: int) -> None:
        self._space, self._kind, self._n_trials, self._seed = space, kind, n_trials, seed

    def propose(self, known: Sequence[Known]) -> list[Settings]:
        if known or not self._n_trials:
            return []
        size = self._space.size
        if size is not None and size <= self._n_trials:
            return list(_distinct(self._space))
        axes = _Axes(self._space)
        draw = self._points(axes.n_sides)
        found: dict[str, Settings] = {}
        barren = 0
        while len(found) < self._n_trials and barren < _REPEATS:
            before = len(found)
            # Whole powers of two keep a Sobol sequence balanced.
            for row in draw(1 << max(4, (self._n_trials - before - 1).bit_length())):
                settings = axes.point(row)
                found.setdefault(settings.text, settings)
                if len(found) == self._n_trials:
                    break
            barren = barren + 1 if len(found) == before else 0
        return [*found.values(), *_unseen(self._space, found, self._n_trials - len(found))]

    def _points(self, n_sides: int) -> Callable[[int], Iterable[Sequence[float]]]:
        import numpy as np

        if self._kind == "random" or not n_sides:
            rng = np.random.default_rng(self._seed)
            return lambda count: rng.random((count, n_sides)).tolist()
        from scipy.stats import qmc

        kinds = {"sobol": qmc.Sobol, "halton": qmc.Halton}
        sequence = kinds[self._kind](n_sides, scramble=True, rng=np.random.default_rng(self._seed))
        return lambda count: sequence.random(count).tolist()


class Adaptive:
    """Optuna's TPE or NSGA-II, asked for a batch at a time.

    A new sampler is seeded for every batch and told all that is known, in order: so a sweep that
    was interrupted goes on exactly as it would have. Repeated points are told, not tried again.

    Parameters
    ----------
    space
    kind
        ``tpe`` or ``nsga2``.
    n_trials
        How many distinct settings; fewer if the space has no more.
    batch_size
        Settings asked before the next figures are told; of NSGA-II a generation.
    n_objectives, n_constraints
    seed

    References
    ----------
    Bergstra, Bardenet, Bengio, Kégl, NIPS 2011 (TPE). Deb, Pratap, Agarwal, Meyarivan, IEEE TEVC
    6(2), 2002 (NSGA-II).
    """

    def __init__(
        self,
        space: SearchSpace,
        kind: Literal["tpe", "nsga2"],
        *,
        n_trials: int,
        batch_size: int,
        n_objectives: int,
        seed: int,
    ) -> None:
        self._space, self._kind = space, kind
        self._n_trials, self._batch_size, self._seed = n_trials, batch_size, seed
        self._n_objectives = n_objectives
        self._axes = _Axes(space)

    def propose(self, known: Sequence[Known]) -> list[Settings]:
        mine = [item for item in known if item.settings in self._space]
        left = self._n_trials - len(mine)
        size = self._space.size
        if size is not None and size - len(mine) <= left:
            seen = {item.settings.text for item in known}
            return [item for item in _distinct(self._space) if item.text not in seen]
        if left <= 0:
            return []
        study = _study(self._sampler(len(mine)), self._n_objectives)
        for number, item in enumerate(mine):
            study.add_trial(self._told(item, number))
        seen = {item.settings.text for item in known}
        return _ask(study, self._axes, min(left, self._batch_size), seen, told=mine)

    def _sampler(self, n_done: int) -> optuna.samplers.BaseSampler:
        import optuna

        seed = (self._seed + n_done) % 2**32
        if self._kind == "tpe":
            return optuna.samplers.TPESampler(seed=seed)
        return optuna.samplers.NSGAIISampler(population_size=self._batch_size, seed=seed)

    def _told(self, item: Known, number: int) -> optuna.trial.FrozenTrial:
        import optuna

        state = optuna.trial.TrialState
        # NSGA-II reads a trial's generation where its own bookkeeping would have put it.
        generation = {"NSGAIISampler:generation": number // self._batch_size}
        trial = optuna.trial.create_trial(
            state=state.FAIL if item.gains is None else state.COMPLETE,
            values=item.gains,
            params=self._axes.params(item.settings),
            distributions=self._axes.distributions,
            system_attrs=generation if self._kind == "nsga2" else None,
        )
        for place, excess in enumerate(item.excess):
            trial.set_constraint(str(place), excess)
        return trial


def make_sampler(
    space: SearchSpace,
    kind: Kind,
    *,
    n_trials: int | None,
    batch_size: int,
    sequence: str,
    n_objectives: int,
    seed: int,
) -> Sampler:
    """Return the sampler of a config.

    Raises
    ------
    ValueError
        If a sampler that needs a budget is given none.
    """
    if kind == "grid":
        return Grid(space)
    if n_trials is None:
        raise ValueError(f"sampler {kind} needs n_trials")
    if kind in {"random", "qmc"}:
        drawn = "random" if kind == "random" else sequence
        return Listed(space, drawn, n_trials=n_trials, seed=seed)
    assert kind in {"tpe", "nsga2"}
    return Adaptive(
        space,
        "tpe" if kind == "tpe" else "nsga2",
        n_trials=n_trials,
        batch_size=batch_size,
        n_objectives=n_objectives,
        seed=seed,
    )


class _Axes:
    """A space as Optuna's distributions or a unit cube, and back.

    A list becomes the places on its axis, in axis order, so that a sampler knows what is near what.
    A span with further values becomes a span and a place: the first place is the span.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self._lists = {
            name: sorted(values, key=knob(name).sort_key) for name, values in space.choices.items()
        }

    @cached_property
    def distributions(self) -> dict[str, Any]:
        """Optuna's distributions by parameter; a list of one value has none."""
        from optuna.distributions import FloatDistribution, IntDistribution

        found: dict[str, Any] = {}
        for name in self.space.knobs:
            span = self.space.spans.get(name)
            if span is None:
                if len(self._lists[name]) > 1:
                    found[name] = IntDistribution(0, len(self._lists[name]) - 1)
                continue
            found[name] = (
                IntDistribution(int(span.low), int(span.high), log=span.log)
                if span.integer
                else FloatDistribution(span.low, span.high, log=span.log)
            )
            if span.also:
                found[f"{name}?"] = IntDistribution(0, len(span.also))
        return found

    @cached_property
    def n_sides(self) -> int:
        """Sides of the unit cube: one per knob that has more than one value."""
        return sum(1 for _ in self._sides())

    def _sides(self) -> Iterator[tuple[str, Span | None]]:
        for name in self.space.knobs:
            span = self.space.spans.get(name)
            if span is not None or len(self._lists[name]) > 1:
                yield name, span

    def point(self, row: Sequence[float]) -> Settings:
        """Return the settings at a point of the unit cube, shape (n_sides,), in [0, 1).

        The values that stand beside a span take as much room as one more would on a list of them
        and the span.
        """
        values: dict[str, Value] = {
            name: axis[0] for name, axis in self._lists.items() if len(axis) == 1
        }
        for (name, span), share in zip(self._sides(), row, strict=True):
            if span is None:
                axis = self._lists[name]
                values[name] = axis[min(int(share * len(axis)), len(axis) - 1)]
                continue
            places = len(span.also) + 1
            place, rest = divmod(share * places, 1.0)
            values[name] = span.also[int(place) - 1] if place else _drawn(rest, span)
        return self.space.settings(values)

    def settings(self, params: dict[str, Any]) -> Settings:
        """Return the settings that a sampler's numbers stand for."""
        values: dict[str, Value] = {}
        for name in self.space.knobs:
            span = self.space.spans.get(name)
            if span is None:
                values[name] = self._lists[name][params.get(name, 0)]
            elif params.get(f"{name}?", 0) > 0:
                values[name] = span.also[params[f"{name}?"] - 1]
            else:
                values[name] = _typed(params[name], span)
        return self.space.settings(values)

    def params(self, settings: Settings) -> dict[str, Any]:
        """Return numbers that stand for some settings of the space.

        A knob that does not matter there is given the first place of its axis.
        """
        params: dict[str, Any] = {}
        for name in self.space.knobs:
            value, span = settings.get(name), self.space.spans.get(name)
            if name == "depth" and value is None and None not in self.space.values("depth"):
                value = settings.effective_depth  # a depth that equals the limit is known as that
            if span is None:
                axis = self._lists[name]
                if len(axis) > 1:
                    params[name] = axis.index(value) if value in axis else 0
                continue
            inside = not isinstance(value, str | None) and span.low <= value <= span.high
            params[name] = value if inside else (int(span.low) if span.integer else span.low)
            if span.also:
                beside = not inside and value in span.also
                params[f"{name}?"] = span.also.index(value) + 1 if beside else 0
        return params


def _drawn(share: float, span: Span) -> Value:
    """Return the number at a share of a span, from 0 to 1."""
    if span.integer:
        if not span.log:
            return min(int(span.low + share * (span.high - span.low + 1)), int(span.high))
        low, high = math.log(span.low - 0.5 if span.low > 0.5 else 0.5), math.log(span.high + 0.5)
        number = round(math.exp(low + share * (high - low)))
        return int(min(max(number, span.low), span.high))
    if span.log:
        low, high = math.log(span.low), math.log(span.high)
        return _typed(math.exp(low + share * (high - low)), span)
    return _typed(span.low + share * (span.high - span.low), span)


def _unseen(space: SearchSpace, seen: Container[str], wanted: int) -> list[Settings]:
    """Return what was never proposed, as the space lists it; nothing if it has no end."""
    if wanted <= 0 or space.size is None:
        return []
    return list(itertools.islice((item for item in space if item.text not in seen), wanted))


def _typed(number: float, span: Span) -> Value:
    if span.integer:
        return int(number)
    return min(max(significant(number), span.low), span.high)


def _study(sampler: optuna.samplers.BaseSampler, n_objectives: int = 1) -> optuna.Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=sampler, directions=["maximize"] * n_objectives)


def _ask(
    study: optuna.Study,
    axes: _Axes,
    wanted: int,
    seen: set[str],
    told: Sequence[Known] = (),
) -> list[Settings]:
    """Ask until so many new settings are found, or the sampler only repeats itself.

    Then the rest of the batch is taken from what it never proposed, as the space lists it.
    """
    outcome = {item.settings.text: item for item in told}
    seen = set(seen)
    found: list[Settings] = []
    repeats = 0
    while len(found) < wanted and repeats < _REPEATS:
        trial = study.ask(axes.distributions)
        settings = axes.settings(trial.params)
        if settings.text not in seen:
            seen.add(settings.text)
            found.append(settings)
            repeats = 0
            continue
        repeats += 1
        if settings.text in outcome:
            _tell(study, trial, outcome[settings.text])
    return [*found, *_unseen(axes.space, seen, wanted - len(found))]


def _tell(study: optuna.Study, trial: optuna.Trial, known: Known) -> None:
    import optuna

    if known.gains is None:
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
        return
    for place, excess in enumerate(known.excess):
        trial.set_constraint(str(place), excess)
    study.tell(trial, list(known.gains))


def _distinct(settings: Iterable[Settings]) -> Iterator[Settings]:
    seen: set[str] = set()
    for item in settings:
        if item.text not in seen:
            seen.add(item.text)
            yield item
