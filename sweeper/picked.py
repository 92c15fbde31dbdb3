"""What a pick is: the recommended setting, what it gains, and how sure that is.

It is made in ``pick`` and told in ``wording``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sweeper.compare import Tally
from sweeper.constraints import Constraint, Objective
from sweeper.cross_validation import CrossValidated
from sweeper.intervals import Interval95
from sweeper.margins import Flip, Interval
from sweeper.recommend import Policy
from sweeper.settings import Settings

__all__ = ["Answer", "Pick"]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """One setting and what speaks for it.

    Attributes
    ----------
    trial
        Number of the trial.
    settings
        The trial's settings with each continuous knob moved to the middle of its plateau; every
        question's every value is the trial's.
    figures
        Figure address to (current, this) for objectives and constraints.
    ties
        The first objective's lowest and highest value under other orders of tied rows; ``None``
        where the engine shows no candidates, and then nothing is known of plateaus, flips and
        ageing either.
    interval
        Of the first objective's gain over the current setting; ``None`` for a metric that is no
        share.
    p_value
        Max-T test of the first objective over all trials.
    score
        Questions answered better and worse than today.
    n_differ
        Questions of the first objective's slice whose value differs from today's.
    plateaus
        Knob to where no figure of any slice changes, the others fixed; none where a weight is
        beyond the range of exact curves.
    flips
        Knob to its nearest harmful change.
    fails_after_days, fails
        When, as content ages unchanged, a constraint that holds today or the gain is first lost
        within the horizon, and which; ``None`` if it holds.
    known_days
        Days up to which every day is known; between them and the horizon scores underflow, and only
        the horizon itself was replayed. ``None`` without candidates.
    """

    trial: int
    settings: Settings
    figures: Mapping[str, tuple[float, float]]
    ties: tuple[float, float] | None
    interval: Interval95 | None
    p_value: float
    score: Tally
    n_differ: int
    plateaus: Mapping[str, Interval]
    flips: Mapping[str, Flip]
    fails_after_days: float | None
    fails: str | None
    known_days: float | None


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """A recommendation.

    Attributes
    ----------
    policy
        Which of the answers is the recommendation.
    chosen
        The recommendation; the current setting where nothing else is justified.
    best
        The best feasible setting, whether or not its gain is distinguishable from luck.
    supported
        The best feasible setting whose gain is; ``None`` if there is none.
    keep
        Whether the recommendation is what runs today.
    broken
        Constraints that the current setting does not meet.
    fewest_to_differ
        Questions that must differ before any result can be significant.
    validated
        The whole pick on questions that did not choose it; ``None`` where that is impossible.
    n_questions
        Questions of the first objective.
    n_trials, n_feasible
    horizon_days
    """

    policy: Policy
    objectives: tuple[Objective, ...]
    constraints: tuple[Constraint, ...]
    chosen: Answer
    best: Answer
    supported: Answer | None
    keep: bool
    broken: tuple[str, ...]
    fewest_to_differ: int
    validated: CrossValidated | None
    n_questions: int
    n_trials: int
    n_feasible: int
    horizon_days: float

    def _repr_html_(self) -> str:
        from sweeper.reprs import pick_html

        return pick_html(self)

    @property
    def optimism(self) -> float | None:
        """By how much the recommendation looks better in sample than cross-validated."""
        if self.validated is None:
            return None
        first = self.objectives[0]
        return first.gain(self.chosen.figures[first.address][1]) - first.gain(self.validated.figure)
