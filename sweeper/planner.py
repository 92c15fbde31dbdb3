"""The trials of a sweep: numbered, and without those that only repeat another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sweeper.settings import Settings
from sweeper.spaces import SearchSpace, Trial, plainest

__all__ = ["Planner"]


class Planner:
    """Numbers the trials of a sweep from 0, and leaves repetitions out.

    Proposed settings come first, in their order. Today's setting, the arms, and the line of the
    table's knob through today's setting follow where they are not among these. A proposal that
    ranks every pool as an earlier one does is left out, unless it is one of these.

    Parameters
    ----------
    space
        Knobs and their values.
    current
        The settings that run today.
    line_knob
        The knob whose values the printed table lists, if any.
    arms
        Named settings.
    channels
        Names of the engine's channels; without them repetitions are not looked for.

    Attributes
    ----------
    trials
        Numbered from 0.
    alike
        Settings that were left out, and the trial's that each ranks like.
    order
        Every settings that was proposed or planned, once each, left out or not.
    """

    def __init__(
        self,
        space: SearchSpace,
        current: Settings,
        *,
        line_knob: str | None = None,
        arms: Sequence[tuple[str, Settings]] = (),
        channels: Sequence[str] = (),
    ) -> None:
        self._space, self._current, self._channels = space, current, channels
        self._line = [current]
        if line_knob is not None:
            self._line += space.line(line_knob, current)
        self._arms = [item for _, item in arms]
        self._on_line = {item.text for item in self._line}
        self._named = {item.text: name for name, item in reversed(arms)}
        self._ranked: dict[str, Settings] = {}
        self._seen: set[str] = set()
        self.trials: list[Trial] = []
        self.alike: dict[str, Settings] = {}
        self.order: list[Settings] = []

    def extend(self, proposed: Iterable[Settings]) -> None:
        """Plan what a sampler proposes; the first time also what every sweep tries."""
        first = not self.order
        for item in proposed:
            self._plan(item, proposed=True)
        if first:
            for item in (*self._line, *self._arms):
                self._plan(item, proposed=False)

    def _plan(self, item: Settings, *, proposed: bool) -> None:
        if item.text in self._seen:
            return
        self._seen.add(item.text)
        self.order.append(item)
        wanted = item.text in self._on_line or item.text in self._named
        if self._channels:
            other = self._ranked.setdefault(plainest(item, self._channels).text, item)
            if other is not item and not wanted:
                self.alike[item.text] = other
                return
        self.trials.append(
            Trial(
                number=len(self.trials),
                settings=item,
                in_space=proposed or item in self._space,
                on_line=item.text in self._on_line,
                is_current=item.text == self._current.text,
                arm=self._named.get(item.text),
            )
        )
