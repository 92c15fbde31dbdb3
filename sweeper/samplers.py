"""Which settings a sweep tries, and in which order.

A sampler proposes settings in batches and is told the figures of the batch before. The grid needs
no telling: everything is known from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sweeper.knobs import SearchSpace, Settings, Trial

__all__ = ["plan_grid"]


def plan_grid(space: SearchSpace, current: Settings, line_knob: str | None) -> list[Trial]:
    """Return every trial of a grid sweep, numbered from 0.

    The combinations of the space come first, in the order in which they were typed. The current
    setting and the line of the table's knob through it follow where the space lacks them.

    Parameters
    ----------
    space
        Knobs and their values.
    current
        The settings that run today.
    line_knob
        The knob whose values the printed table lists, if any.
    """
    line = [current] if line_knob is None else [current, *space.line(line_knob, current)]
    on_line = {item.text for item in line}
    in_space = {item.text for item in space}
    return [
        Trial(
            number=number,
            settings=item,
            in_space=item.text in in_space,
            on_line=item.text in on_line,
            is_current=item.text == current.text,
        )
        for number, item in enumerate(_distinct((*space, *line)))
    ]


def _distinct(settings: Iterable[Settings]) -> Iterator[Settings]:
    seen: set[str] = set()
    for item in settings:
        if item.text not in seen:
            seen.add(item.text)
            yield item
