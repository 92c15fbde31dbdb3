"""The generated parts of ``docs/routing.md``: tables and sentences made of the published figures.

Nothing is measured here. ``tests.benchmarks.published`` measures and writes the two JSON files;
``tests.routing_verdicts`` words verdicts. So nobody types a figure or a verdict of the page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from sweeper.config_file import ConfigFile, UsageBlock
from sweeper.cost import ranks_lost
from sweeper.engine_blocks import EmbeddedBlock
from sweeper.extraction import EXTRACTION_RULES
from sweeper.knobs import PRIOR_KNOBS, knob
from sweeper.routing import FALLBACK, RULES
from sweeper.settings import Settings
from tests.benchmarks.published import LARGE, ROOT, SMALL
from tests.format_tables import triple_format, usage_format
from tests.markdown import table
from tests.routing_verdicts import (
    METRICS,
    NOT_SHOWN,
    Published,
    bullets,
    chance,
    disagreements,
    four,
    interval,
    listed,
    plural,
    said,
    three,
    verdicts,
)

__all__ = ["LARGE", "PAGE", "SMALL", "routing_parts"]

PAGE = ROOT / "docs/routing.md"


def routing_parts(small: Published, large: Published) -> dict[str, str]:
    """Return every generated part of the page by the name of its place.

    Parameters
    ----------
    small, large
        What ``measure`` returned for the bundled wiki and for the large one.
    """
    both = {"small": small, "large": large}
    return {
        "short": _short(small, large),
        "about": _about(both),
        "rules": _rules(),
        "extraction": _extraction(),
        "knobs": _knobs(),
        "keys": _keys(),
        "usage-format": usage_format(),
        "triple-format": triple_format(),
        "accuracy": _accuracy(small, large),
        "wrong-classes": _wrong_classes(both),
        "alone": _effects(small, [name for name in _learned(small) if _alone(small, name)]),
        "together": _effects(small, [n for n in _learned(small) if not _alone(small, n)]),
        "slices": _slices(small),
        "said": said(small),
        "one-limit": _one_limit(both),
        "vector": _vector(small),
        "prior": _prior(small),
        "weight": _weight(both),
        "fronts": _fronts(both),
        "large": _effects(large, [name for name in large["arms"] if name != "today"]),
        "large-said": said(large),
        "disagree": disagreements(small, large),
        "chance": chance(both),
    }


def _about(both: Mapping[str, Published]) -> str:
    lines = []
    for size, found in both.items():
        facts = found["provenance"]
        lines.append(
            f"The {size} wiki: {facts['n_pages']:,} pages, {facts['n_triples']:,} facts, "
            f"{facts['n_questions']} questions, {found['n_settings']:,} settings; embedder "
            f"`{facts['embedder']}`."
        )
    return bullets(lines)


# --- what stands in the code ----------------------------------------------------------------------


def _rules() -> str:
    rows = [
        [str(place), rule.name, f"`{rule.query_class}`", rule.description]
        for place, rule in enumerate(RULES, 1)
    ]
    last = [
        str(len(RULES) + 1),
        FALLBACK.rule,
        f"`{FALLBACK.query_class}`",
        "What no rule above meets.",
    ]
    return table(["", "rule", "class", "applies when"], [*rows, last])


def _extraction() -> str:
    rows = [[rule.name, f"`{rule.predicate}`", rule.description] for rule in EXTRACTION_RULES]
    return table(["rule", "predicate", "finds"], rows)


_MEANINGS = {
    "routing.<class>.budget": "Pages returned for questions of the class. It cuts the list and "
    "changes no rank; more than `limit` is `limit`.",
    "routing.<class>.weights.<channel>": "Weight of a channel for questions of the class.",
    "triples_weight": "Weight of the facts, another name of `weights.triples`. 0 is off.",
    "routing.<class>.triples_weight": "The same for questions of the class.",
    "prior.strength": "Exponent of what usage says; 0 is off.",
    "prior.cap": "Largest factor; the smallest is 1 / cap.",
    "prior.half_life_days": "Age at which an interaction counts half.",
    "prior.interactions": "Learn from so many, the earliest ones.",
    "prior.log": "Which log under `usage`.",
}


def _knobs() -> str:
    rows = []
    for name, meaning in _MEANINGS.items():
        real = name.replace("<class>", "lookup").replace("<channel>", "vector")
        real = real.replace("triples_weight", "weights.triples")
        default = knob(real).format(Settings().get(real))
        if name.startswith("routing.") and not name.endswith("budget"):
            default = "as all questions"
        else:
            default = f"`{default}`"
        rows.append([f"`{name}`", knob(real).domain, default, meaning])
    assert set(PRIOR_KNOBS) <= set(_MEANINGS)
    return table(["knob", "allowed", "default", "meaning"], rows)


def _keys() -> str:
    fields = {
        "classes": ConfigFile.model_fields["classes"],
        "usage": ConfigFile.model_fields["usage"],
        "usage.<name>.path": UsageBlock.model_fields["path"],
        "usage.<name>.fields": UsageBlock.model_fields["fields"],
        "usage.<name>.simulate": UsageBlock.model_fields["simulate"],
        "engine.triples": EmbeddedBlock.model_fields["triples"],
        "arms": ConfigFile.model_fields["arms"],
    }
    rows = [[f"`{name}`", field.description or ""] for name, field in fields.items()]
    return table(["key", "meaning"], rows)


# --- classes --------------------------------------------------------------------------------------


def _accuracy(small: Published, large: Published) -> str:
    told = {
        "the bundled questions": small["classes"]["rules"],
        "those of the readers": small["classes"]["readers"],
        "the large wiki": large["classes"]["rules"],
    }
    rows = []
    for name in small["questions"]:
        cells = []
        for one in told.values():
            row = one["table"][name]
            away = [f"{n} to `{to}`" for to, n in row.items() if n and to != name]
            cell = f"{row[name]} of {sum(row.values())}"
            cells.append(f"{cell} ({', '.join(away)})" if away else cell)
        rows.append([f"`{name}`", *cells])
    rows.append(["all", *(f"{one['right']} of {one['of']}" for one in told.values())])
    right = {name: f"{one['right']} of {one['of']}" for name, one in told.items()}
    sentence = (
        f"The rules agree with the labels on {right['the bundled questions']} bundled questions. "
        "That is optimistic: these questions were known when the rules were written. On the other "
        f"questions about the same wiki, those that simulated readers ask, it is "
        f"{right['those of the readers']}, and on the large wiki {right['the large wiki']}."
    )
    wrong = [
        (to, n)
        for one in told.values()
        for name, row in one["table"].items()
        for to, n in row.items()
        if to != name
    ]
    n_wrong = sum(n for _, n in wrong)
    fallen = sum(n for to, n in wrong if to == FALLBACK.query_class)
    share = "All" if fallen == n_wrong else f"{fallen}"
    sentence += (
        f" {share} of the {n_wrong} questions that are sorted wrongly go to "
        f"`{FALLBACK.query_class}`, the class of what no rule meets."
    )
    return f"{table(['label', *told], rows)}\n{sentence}\n"


def _wrong_classes(both: Mapping[str, Published]) -> str:
    rows = []
    for size, found in both.items():
        figures = found["classes"]["figures"]
        for name in figures["rules"]:
            if name == "today":
                continue
            cells = [
                f"{three(figures['rules'][name][m])} / {three(figures['golden'][name][m])}"
                for m in METRICS
            ]
            rows.append([size, f"`{name}`", *cells])
    return table(["wiki", "by rules / by labels", *METRICS.values()], rows, numbers=2)


# --- arms -----------------------------------------------------------------------------------------


def _learned(found: Published) -> list[str]:
    return [n for n in found["arms"] if n != "today" and not n.startswith("lexical")]


def _alone(found: Published, name: str) -> bool:
    return bool(found["arms"][name]["against"] == "today")


def _effects(found: Published, names: Sequence[str]) -> str:
    """Return a row per arm: each figure, and how far it moved from what it is built on."""
    rows = []
    for name in ("today", *names):
        arm, cells = found["arms"][name], []
        for metric in METRICS:
            cells.append(three(arm["figures"]["overall"][metric]))
            if name == "today":
                cells.append("")
                continue
            move = found["moves"][name][metric]["overall"]
            text = interval(move)
            cells.append(text if move["verdict"] == NOT_SHOWN else f"**{text}**")
        against = "" if name == "today" else f"`{arm['against']}`"
        returned = f"{arm['figures']['overall']['returned']:.1f}"
        rows.append([f"`{name}`", against, *cells, returned, str(arm["otherwise"])])
    heads = [head for shown in METRICS.values() for head in (shown, "moved")]
    return table(["arm", "against", *heads, "returned", "otherwise"], rows, numbers=2)


def _slices(found: Published) -> str:
    shown = ("today", "budgets", "weights", "triples", "triples-loud", "routing+triples", "all")
    rows = []
    for name in (*shown, "lexical"):
        figures = found["arms"][name]["figures"]
        cells = [
            f"{three(figures[group]['recall@5'])} / {three(figures[group]['mrr'])}"
            for group in found["questions"]
        ]
        rows.append([f"`{name}`", *cells])
    heads = [f"`{name}` ({n})" for name, n in found["questions"].items()]
    return table(["recall@5 / MRR", *heads], rows, numbers=1)


_SHORT = {
    "budgets": "a budget per class",
    "weights": "weights per class",
    "triples": "facts, at the safe weight",
    "triples-loud": "facts, as heavy as the other channels",
    "prior": "a cautious prior",
    "prior-loud": "a strong prior",
    "lexical": "the vector channel off",
}


def _short(small: Published, large: Published) -> str:
    rows = []
    for name, shown in _SHORT.items():
        cells = [
            verdicts(found["moves"][name]) if name in found["moves"] else "not measured"
            for found in (small, large)
        ]
        rows.append([f"{shown} (`{name}`)", *cells])
    n = [found["provenance"]["n_questions"] for found in (small, large)]
    pages = [f"{found['provenance']['n_pages']:,}" for found in (small, large)]
    heads = [
        f"{size} wiki: {p} pages, {q} questions"
        for size, p, q in zip(("small", "large"), pages, n, strict=True)
    ]
    return table(["alone, against one setting for all", *heads], rows)


# --- budgets, or fewer pages ----------------------------------------------------------------------


def _one_limit(both: Mapping[str, Published]) -> str:
    rows, sentences = [], []
    for size, found in both.items():
        arm = found["arms"]["budgets"]["figures"]["overall"]
        line = found["one_limit"]["line"]
        near = sorted(line, key=lambda row: abs(row["figures"]["returned"] - arm["returned"]))[:2]
        near.sort(key=lambda row: -row["figures"]["returned"])
        for row in near:
            rows.append([size, f"one limit of {row['settings']['limit']}", *_row(row["figures"])])
        rows.append([size, "`budgets`", *_row(arm)])
        beaten = [row["settings"]["limit"] for row in line if _beats(arm, row["figures"])]
        beating = [row["settings"]["limit"] for row in line if _beats(row["figures"], arm)]
        sentences.append(f"On the {size} wiki {_contest(beaten, beating)}.")
    whole = table(["wiki", "", *METRICS.values(), "returned"], rows, numbers=2)
    return f"{whole}\n{' '.join(sentences)}\n"


def _row(figures: Published) -> list[str]:
    return [*(three(figures[metric]) for metric in METRICS), f"{figures['returned']:.1f}"]


_PAIR = ("recall@5", "citation_precision")


def _beats(one: Published, other: Published) -> bool:
    """Return whether one is at least as good in recall@5 and citation precision, better in one."""
    pairs = [(one[metric], other[metric]) for metric in _PAIR]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def _contest(beaten: Sequence[str], beating: Sequence[str]) -> str:
    limits = {"beaten": _limits(beaten), "beating": _limits(beating)}
    if beaten and beating:
        return f"`budgets` beats {limits['beaten']} and is beaten by {limits['beating']}"
    if beaten:
        return f"`budgets` beats {limits['beaten']} in recall@5 and citation precision together"
    if beating:
        return f"`budgets` is beaten by {limits['beating']}"
    return (
        "no single limit beats `budgets` in recall@5 and citation precision together, and "
        "`budgets` beats none: each trades one for the other"
    )


def _limits(limits: Sequence[str]) -> str:
    return f"one limit of {listed(limits)}" if limits else "no single limit"


# --- the vector channel, facts, the prior ---------------------------------------------------------


def _vector(found: Published) -> str:
    lines = found["triples_weight"]["lines"]
    rows = []
    for on, off in zip(lines["today"], lines["lexical"], strict=True):
        cells = [
            f"{three(on['figures']['overall'][m])} / {three(off['figures']['overall'][m])}"
            for m in METRICS
        ]
        rows.append([on["weight"], *cells])
    arms = [name for name in found["arms"] if name.startswith("lexical")]
    grid = table(["`triples_weight`, vector on / off", *METRICS.values()], rows, numbers=1)
    return f"{grid}\n{_effects(found, arms)}"


def _prior(found: Published) -> str:
    rows = [
        [
            f"{row['strength']:g}, {row['cap']:g}",
            row["log"],
            f"{row['interactions']:,}",
            *(three(row["figures"][metric]) for metric in METRICS),
            f"{row['least']:.2f} to {row['most']:.2f}",
        ]
        for row in found["prior"]
    ]
    heads = ["strength, cap", "log", "interactions", *METRICS.values(), "factors"]
    return f"{table(heads, rows, numbers=2)}\n{bullets(_prior_lines(found))}"


def _prior_lines(found: Published) -> list[str]:
    def row(strength: float, log: str, n: int) -> Published:
        [one] = [
            it
            for it in found["prior"]
            if (it["strength"], it["log"], it["interactions"]) == (strength, log, n)
        ]
        figures: Published = one["figures"]
        return figures

    cautious, strong = sorted({it["strength"] for it in found["prior"]})
    counts = sorted({it["interactions"] for it in found["prior"]})
    before, after = row(cautious, "readers", 0), row(cautious, "readers", counts[-1])
    lines = [
        f"Before anything is learned every factor is 1, and every answer is as without a prior: "
        f"MRR {three(before['mrr'])}.",
        f"At strength {cautious:g}, MRR after {listed([f'{n:,}' for n in counts[1:]])} "
        f"interactions is "
        f"{listed([three(row(cautious, 'readers', n)['mrr']) for n in counts[1:]])}; "
        f"recall@5 goes from {three(before['recall@5'])} to {three(after['recall@5'])}.",
    ]
    for strength in (cautious, strong):
        own, echo = (row(strength, log, counts[-1]) for log in ("readers", "echo"))
        words = [
            f"{METRICS[m]} is {_higher(echo[m], own[m])}, {three(echo[m])} against {three(own[m])}"
            for m in ("recall@5", "mrr")
        ]
        lines.append(
            f"At strength {strength:g} the log that fed on itself (`echo`), next to the one that "
            f"did not: {'; '.join(words)}."
        )
    limit = 1000
    cap = max(it["cap"] for it in found["prior"])
    small_cap = min(it["cap"] for it in found["prior"])
    ruin = found["moves"]["prior-loud"]
    lost = [f"{METRICS[m]} {interval(ruin[m]['overall'])}" for m in METRICS]
    jump = [ranks_lost(1 / Fraction(str(value)), 60, limit) for value in (cap, small_cap)]
    ruined = all(ruin[m]["overall"]["verdict"] == "worse" for m in ("recall@5", "mrr"))
    what = "ruins" if ruined else "changes"
    lines.append(
        f"**Strength {strong:g} {what} the ranking**: {'; '.join(lost)} against today. At "
        f"`rrf_k` 60 neighbouring ranks differ by less than 2 percent, so within one channel a "
        f"factor of {cap:g} outweighs {jump[0]} ranks, and a factor of {small_cap:g} outweighs "
        f"{jump[1]}."
    )
    return lines


def _higher(one: float, other: float) -> str:
    return "higher" if one > other else "lower" if one < other else "equal"


def _weight(both: Mapping[str, Published]) -> str:
    rows, lines = [], []
    for size, found in both.items():
        figures = found["triples_weight"]["curve"]["figures"]
        for group in ("relational", "impact", "overall"):
            for metric in ("mrr", "recall@5"):
                own = figures[group][metric]
                rows.append(
                    [
                        size,
                        f"{group} {METRICS[metric]}",
                        four(own["at_0"]),
                        _falls(own),
                        four(own["highest"]),
                        _stretch(own),
                    ]
                )
        told = [
            f"{group} MRR {_fall_sentence(figures[group]['mrr'])}"
            for group in ("relational", "impact")
        ]
        worse = found["arms"]["triples"]["worse"]
        lines.append(
            f"On the {size} wiki {'; '.join(told)}. At the safe weight "
            f"{plural(worse, 'question is', 'questions are')} answered worse than today, and "
            f"{found['arms']['triples']['better']} better."
        )
    heads = ["wiki", "figure", "at 0", "first falls", "highest", "from weight"]
    return f"{table(heads, rows, numbers=2)}\n{bullets(lines)}"


def _falls(own: Published) -> str:
    fall = own["first_fall"]
    if fall is None:
        return "never"
    where = "at once" if fall["at"] == 0 else f"at {_weight_text(fall['at'])}"
    return f"{where} ({four(fall['from'])} to {four(fall['to'])})"


def _fall_sentence(own: Published) -> str:
    fall = own["first_fall"]
    if fall is None:
        return "never falls"
    below = own["first_below_0"]
    again = "at no weight below" if below is None else "at some weights below"
    where = (
        "as soon as facts count at all"
        if fall["at"] == 0
        else f"at a weight of {_weight_text(fall['at'])}"
    )
    return (
        f"first falls {where} ({four(fall['from'])} to {four(fall['to'])}) and is {again} what "
        "it is without facts"
    )


def _stretch(own: Published) -> str:
    low, high = own["highest_from"], own["highest_to"]
    return (
        f"{_weight_text(low)} on"
        if high is None
        else f"{_weight_text(low)} to {_weight_text(high)}"
    )


def _weight_text(weight: float) -> str:
    return f"{weight:.3g}"


def _fronts(both: Mapping[str, Published]) -> str:
    parts = []
    for size, found in both.items():
        rows = [[_said_budgets(row["settings"]), *_channels(row)] for row in found["front"]]
        rows += [
            [f"{row['settings']['limit']} for all", *_channels(row)]
            for row in found["one_limit"]["front"]
        ]
        head = f"pages per class ({', '.join(found['questions'])})"
        parts.append(f"The {size} wiki, with classes and without:\n")
        parts.append(
            table([head, "vector", "facts", *METRICS.values(), "returned"], rows, numbers=1)
        )
        with_classes = [row["figures"] for row in found["front"]]
        without = [row["figures"] for row in found["one_limit"]["front"]]
        beaten = sum(any(_beats(one, other) for one in with_classes) for other in without)
        losing = sum(any(_beats(other, one) for other in without) for one in with_classes)
        tried = found["one_limit"]["n_choices"]
        parts.append(
            f"Of {plural(len(without), 'setting', 'settings')} on the front without classes, "
            f"{beaten} {'is' if beaten == 1 else 'are'} beaten by one with classes; of "
            f"{len(with_classes)} with classes, {losing} by one without. Those with classes are "
            f"the best of {found['n_settings']:,}, those without of {tried}.\n"
        )
    return "\n".join(parts)


def _said_budgets(settings: Published) -> str:
    order = ("lookup", "conceptual", "relational", "impact", "code")
    return ", ".join(settings[f"routing.{name}.budget"] for name in order)


def _channels(row: Published) -> list[str]:
    settings = row["settings"]
    return [settings["weights.vector"], settings["weights.triples"], *_row(row["figures"])]


# --- both corpora, and chance ---------------------------------------------------------------------
