"""What a config says of knobs: today's settings, the space, the arms.

A knob's values are a list, one value, or a mapping::

    rrf_k: {low: 10, high: 100, step: 10}
    recency_half_life_days: {low: 7, high: 3650, n: 9, log: true, also: [off]}
    weights.vector: {low: 0.25, high: 4, log: true}          # drawn by a sampler
    min_similarity: {values: [none, 0.2], when: {weights.vector: "> 0"}}

Knobs that decide what is retrieved are keys of the engine's block: ``engine.lexical.match``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from sweeper.config_captures import read_captured, todays_value
from sweeper.config_file import ConfigFile
from sweeper.config_problems import Located, Location, got
from sweeper.errors import did_you_mean
from sweeper.knobs import CAPTURE_PREFIX, KNOBS, Value, knob, knob_name
from sweeper.settings import Settings
from sweeper.spaces import Condition, SearchSpace, Span, significant

__all__ = ["arm_base", "named_knobs", "read_arms", "read_current", "read_space"]

_SPAN_KEYS = ("low", "high", "step", "n", "log", "also", "values", "when")
_FROM = "from"
_MOST_VALUES = 1_000_000
_NUMBER_OR_ID = re.compile(r"\d+|[0-9a-f]{12}")
_CONDITION = re.compile(r"\s*(>=|<=|==|!=|>|<)?\s*(\S+)\s*")


def _each_once(
    flat: Sequence[tuple[str, Any, Location]], problems: Located
) -> list[tuple[str, Any, Location]]:
    """Return knobs in which each name stands once, however it is spelt.

    What overrides the file takes the place of another spelling in it; two in the file are a
    problem, as one would silently win.
    """
    kept: dict[str, tuple[str, Any, Location]] = {}
    for item in flat:
        name, _, location = item
        other = kept.get(name)
        if other is None or location in problems.overridden:
            kept[name] = item
        elif other[2] not in problems.overridden:
            said = ".".join(str(step) for step in other[2])
            problems.at(location, f"is the same knob as {said}. Keep one of them.")
    return list(kept.values())


def read_current(file: ConfigFile, problems: Located) -> Settings:
    """Return the settings that run today, with the values of every capture knob that is varied."""
    values: dict[str, Value] = {}
    for name in ("limit", "depth"):
        if name in file.model_fields_set:
            _read_knob(name, getattr(file, name), (name,), values, problems)
    for name, raw, location in _each_once(_flat(file.current, ("current",)), problems):
        if name.startswith(CAPTURE_PREFIX):
            problems.at(location, "belongs in the engine's block; today's value is read there.")
        elif isinstance(raw, list | dict):
            shape = "list" if isinstance(raw, list) else "mapping"
            problems.at(location, f"must be one value, got a {shape}.")
        else:
            _read_knob(name, raw, location, values, problems)
    for name, _ in named_knobs(file):
        if name.startswith(CAPTURE_PREFIX) and name not in values:
            values[name] = todays_value(file, name)
    try:
        return Settings().with_values(values)
    except ValueError:  # named already
        return Settings()


def read_arms(
    file: ConfigFile, current: Settings, problems: Located
) -> tuple[tuple[str, Settings], ...]:
    """Return named settings: today's, or those of the arm that ``from`` names, changed."""
    found: dict[str, Settings] = {}
    for arm, block in file.arms.items():
        named = arm.strip() and "#" not in arm and arm not in {"today", "current"}
        if not named or _NUMBER_OR_ID.fullmatch(arm):
            problems.at(
                ("arms", arm),
                "needs a name of its own: no number, no trial id, no #, not today, not current.",
            )
        base, base_name = current, arm_base(block)
        if base_name is not None and (not isinstance(base_name, str) or base_name not in found):
            above = list(found) or ["none yet"]
            problems.at(
                ("arms", arm, "from"),
                f"no arm above is called {base_name!r}. {did_you_mean(str(base_name), above)}",
            )
        elif base_name is not None:
            base = found[base_name]
        values: dict[str, Value] = {}
        for name, raw, location in _each_once(_arm_knobs(arm, block), problems):
            if name.startswith(CAPTURE_PREFIX):
                read_captured(file, name, raw, location, values, problems)
            elif isinstance(raw, list | dict):
                problems.at(location, "must be one value: an arm is one setting.")
            else:
                _read_knob(name, raw, location, values, problems)
        found[arm] = base.with_values(values)
    return tuple(found.items())


def arm_base(block: Mapping[str, Any]) -> str | None:
    """Return the name of the arm that an arm is built on; ``None`` is today's settings."""
    name: str | None = block.get(_FROM)  # another type is a problem that read_arms names
    return name


def _arm_knobs(arm: str, block: Mapping[str, Any]) -> list[tuple[str, Any, Location]]:
    knobs = {name: raw for name, raw in block.items() if name != _FROM}
    return _flat(knobs, ("arms", arm))


def read_space(file: ConfigFile, current: Settings, problems: Located) -> SearchSpace:
    """Return the values of every knob of the space."""
    reader = _SpaceReader(file, problems)
    for name, raw, location in _each_once(_flat(file.space, ("space",)), problems):
        reader.read(name, raw, location)
    reader.check_conditions()
    _check_overlaps(file, problems)
    try:
        return SearchSpace(current, reader.choices, reader.spans, reader.when)
    except ValueError as error:
        problems.at(("space",), f"{error}.")
        return SearchSpace(current)


def named_knobs(file: ConfigFile) -> list[tuple[str, Location]]:
    """Return every knob that a config names, and where."""
    blocks = [_flat(file.current, ("current",)), _flat(file.space, ("space",))]
    blocks += [_arm_knobs(name, block) for name, block in file.arms.items()]
    return [(name, location) for block in blocks for name, _, location in block]


def _check_overlaps(file: ConfigFile, problems: Located) -> None:
    """Refuse a key of the engine beside one that holds it: one would silently win."""
    named = dict(named_knobs(file))
    for name, location in named.items():
        outer = next((other for other in named if name.startswith(f"{other}.")), None)
        if outer is not None and outer.startswith(CAPTURE_PREFIX):
            problems.at(location, f"is a part of {outer}, which is a knob too. Vary one of them.")


class _SpaceReader:
    """Collects the knobs of a space."""

    def __init__(self, file: ConfigFile, problems: Located) -> None:
        self._file, self._problems = file, problems
        self.choices: dict[str, tuple[Value, ...]] = {}
        self.spans: dict[str, Span] = {}
        self.when: dict[str, tuple[Condition, ...]] = {}
        self._condition_places: list[tuple[Condition, Location]] = []

    def read(self, name: str, raw: Any, location: Location) -> None:
        """Read one knob's values: a list, one value, or a mapping that describes them."""
        self.choices[name] = ()
        if not isinstance(raw, dict) or (name.startswith(CAPTURE_PREFIX) and not _is_span(raw)):
            self.choices[name] = self._list(name, raw, location)
            return
        if not raw:
            self._problems.at(location, "needs values: a list, or {low: 1, high: 9, step: 2}.")
        unknown = [key for key in raw if key not in _SPAN_KEYS]
        for key in unknown:
            self._problems.at(
                (*location, key), f"unknown key. {did_you_mean(str(key), _SPAN_KEYS)}"
            )
        if unknown or not raw:
            return
        self._conditions(name, raw.get("when"), (*location, "when"))
        if "values" in raw:
            extra = [key for key in ("low", "high", "step", "n", "log", "also") if key in raw]
            if extra:
                self._problems.at(location, f"values and {extra[0]} exclude each other.")
            self.choices[name] = self._list(name, raw["values"], (*location, "values"))
            return
        also = self._list(name, raw["also"], (*location, "also")) if "also" in raw else ()
        numbers = self._numbers(name, raw, location)
        if isinstance(numbers, Span):
            if name.startswith(CAPTURE_PREFIX):
                self._problems.at(location, "each value is a capture: give step, n, or a list.")
            del self.choices[name]
            self.spans[name] = Span(numbers.low, numbers.high, numbers.log, numbers.integer, also)
        else:
            self.choices[name] = tuple(dict.fromkeys((*numbers, *also)))

    def _list(self, name: str, raw: Any, location: Location) -> tuple[Value, ...]:
        choices = raw if isinstance(raw, list) else [raw]
        if not choices:
            self._problems.at(
                location, "needs at least one value. Leave the key out to keep the current one."
            )
        found: dict[str, Value] = {}
        for number, choice in enumerate(choices):
            place = (*location, number) if isinstance(raw, list) else location
            holder: dict[str, Value] = {}
            if name.startswith(CAPTURE_PREFIX):
                read = read_captured(self._file, name, choice, place, holder, self._problems)
            elif isinstance(choice, list | dict):
                self._problems.at(place, "must be one value.")
                continue
            else:
                read = _read_knob(name, choice, place, holder, self._problems)
            if read:
                found.setdefault(knob(name).format(holder[name]), holder[name])
            elif not _is_knob(name):
                break  # an unknown knob is one problem, however many values it has
        return tuple(found.values())

    def _numbers(
        self, name: str, raw: Mapping[str, Any], location: Location
    ) -> tuple[Value, ...] | Span:
        """Return the numbers of `{low, high, ...}`: listed with a step or n, else a span."""
        ends: dict[str, Value] = {}
        for key in ("low", "high"):
            if key not in raw:
                self._problems.at(
                    location, f"{key} is missing. Write {{low: 1, high: 9, step: 2}}."
                )
                return ()
            holder: dict[str, Value] = {}
            if not _is_number(raw[key]) or not _read_knob(
                name, raw[key], (*location, key), holder, self._problems
            ):
                self._problems.at((*location, key), f"must be a number, {got(raw[key])}")
                return ()
            ends[key] = holder[name]
        low, high = (_decimal(ends[key]) for key in ("low", "high"))
        if low > high:
            self._problems.at(location, f"low must not be above high, got {low} and {high}.")
            return ()
        log = raw.get("log", False)
        if not isinstance(log, bool):
            self._problems.at((*location, "log"), f"must be true or false, {got(log)}")
            return ()
        if log and low <= 0:
            self._problems.at((*location, "low"), f"must be above 0 where log is true, got {low}.")
            return ()
        if "step" in raw and ("n" in raw or log):
            self._problems.at(location, "step and n exclude each other, and log takes n.")
            return ()
        if "step" in raw:
            return self._steps(name, low, high, raw["step"], location)
        if "n" in raw:
            return self._points(name, low, high, raw["n"], log, location)
        return Span(float(low), float(high), log, knob(name).integer)

    def _steps(
        self, name: str, low: Decimal, high: Decimal, raw: Any, location: Location
    ) -> tuple[Value, ...]:
        """Return `low, low + step, ..., high`, as decimals: 0.1 + 0.2 is 0.3."""
        if not _is_number(raw) or not math.isfinite(float(raw)) or float(raw) <= 0:
            self._problems.at((*location, "step"), f"must be a number above 0, {got(raw)}")
            return ()
        step = _decimal(raw)
        count = (high - low) / step
        if count > _MOST_VALUES:
            self._problems.at(
                (*location, "step"), f"makes more than {_MOST_VALUES} values. Take a longer one."
            )
            return ()
        if count != int(count):
            last = low + step * int(count)
            self._problems.at(
                (*location, "high"),
                f"is not reached in steps of {step}: {last} comes before it and {last + step} "
                "after. Write one of these.",
            )
            return ()
        numbers = [low + step * place for place in range(int(count) + 1)]
        return self._parsed(name, [float(number) for number in numbers], location)

    def _points(
        self, name: str, low: Decimal, high: Decimal, raw: Any, log: bool, location: Location
    ) -> tuple[Value, ...]:
        """Return n points from low to high, rounded to what a person types; the ends are exact."""
        if not isinstance(raw, int) or isinstance(raw, bool) or not 1 <= raw <= _MOST_VALUES:
            self._problems.at(
                (*location, "n"), f"must be an integer from 1 to {_MOST_VALUES}, {got(raw)}"
            )
            return ()
        first, last = float(low), float(high)
        if raw == 1 and first != last:
            self._problems.at((*location, "n"), "must be at least 2 to hold both ends, got 1.")
            return ()
        share = [place / max(1, raw - 1) for place in range(raw)]
        if log:
            inner = [first * (last / first) ** part for part in share]
        else:
            inner = [first + (last - first) * part for part in share]
        numbers = [first, *(significant(number) for number in inner[1:-1]), last]
        if knob(name).integer:
            numbers = [float(round(number)) for number in numbers]
        return self._parsed(name, numbers, location)

    def _parsed(self, name: str, numbers: Sequence[float], location: Location) -> tuple[Value, ...]:
        if name.startswith(CAPTURE_PREFIX):
            whole = [int(n) if n == int(n) else n for n in numbers]
            return self._list(name, whole, location)
        try:
            return tuple(dict.fromkeys(knob(name).parse(number) for number in numbers))
        except ValueError as error:
            self._problems.at(location, str(error))
            return ()

    def _conditions(self, name: str, raw: Any, location: Location) -> None:
        if raw is None:
            return
        if not isinstance(raw, dict) or not raw:
            self._problems.at(
                location, 'must be a mapping of knobs, such as {recency_half_life_days: "> 0"}.'
            )
            return
        found = []
        for written, text in raw.items():
            place, other = (*location, str(written)), knob_name(str(written))
            match = _CONDITION.fullmatch(str(text))
            if not _is_knob(other):
                self._problems.at(place, f"unknown knob. {did_you_mean(other, KNOBS)}")
            elif other == name:
                self._problems.at(place, "a knob cannot depend on itself.")
            elif match is None:
                self._problems.at(place, f'must be such as "> 0" or "!= none", got {text!r}.')
            else:
                holder: dict[str, Value] = {}
                if _read_knob(other, match[2], place, holder, self._problems):
                    condition = Condition(other, match[1] or "==", holder[other])
                    found.append(condition)
                    self._condition_places.append((condition, place))
        self.when[name] = tuple(found)

    def check_conditions(self) -> None:
        """Refuse conditions that always or never hold."""
        for condition, place in self._condition_places:
            other = knob(condition.knob)
            if condition.knob not in self.choices and condition.knob not in self.spans:
                self._problems.at(
                    place, f"{condition.knob} is not in the space, so it always or never holds."
                )
            elif (other.words or other.free) and condition.sign not in {"==", "!="}:
                self._problems.at(place, "words are neither above nor below: write == or !=.")
            elif other.free and condition.value not in self.choices[condition.knob]:
                known = did_you_mean(
                    other.format(condition.value),
                    [other.format(value) for value in self.choices[condition.knob]],
                )
                self._problems.at(place, f"this knob never has that value. {known}")


def _is_span(raw: Any) -> bool:
    return isinstance(raw, dict) and any(key in raw for key in _SPAN_KEYS)


def _is_knob(name: str) -> bool:
    try:
        knob(name)
    except KeyError:
        return False
    return True


def _is_number(raw: Any) -> bool:
    return isinstance(raw, int | float) and not isinstance(raw, bool)


def _decimal(number: Any) -> Decimal:
    try:
        return Decimal(str(number))
    except InvalidOperation:  # pragma: no cover - numbers were checked before
        return Decimal(float(number))


def _flat(block: Mapping[str, Any], location: Location) -> list[tuple[str, Any, Location]]:
    """Return knob, value and location, with ``weights: {vector: 2}`` as ``weights.vector``."""
    found: list[tuple[str, Any, Location]] = []
    for name, raw in block.items():
        here = (*location, name)
        # A mapping below a knob describes its values; below anything else it holds knobs.
        nested = isinstance(raw, dict) and not _is_span(raw) and name not in KNOBS
        if name in {"engine", "routing"} and nested:
            found += _leaves(str(name), raw, here)
        elif nested and not str(name).startswith(CAPTURE_PREFIX):
            found += [(f"{name}.{key}", value, (*here, key)) for key, value in raw.items()]
        else:
            found.append((str(name), raw, here))
    return [(knob_name(name), raw, here) for name, raw, here in found]


def _leaves(
    name: str, block: Mapping[str, Any], location: Location
) -> list[tuple[str, Any, Location]]:
    """Return the keys of an engine's block that are given values, as dotted names."""
    found: list[tuple[str, Any, Location]] = []
    for key, raw in block.items():
        here = (*location, key)
        if isinstance(raw, dict) and not _is_span(raw):
            found += _leaves(f"{name}.{key}", raw, here)
        else:
            found.append((f"{name}.{key}", raw, here))
    return found


def _read_knob(
    name: str, raw: Any, location: Location, into: dict[str, Value], problems: Located
) -> bool:
    try:
        into[name] = knob(name).parse(raw)
    except KeyError as error:
        problems.at(tuple(step for step in location if isinstance(step, str)), str(error.args[0]))
        return False
    except ValueError as error:
        problems.at(location, f"{error} Leave the key out to keep the current value.")
        return False
    return True
