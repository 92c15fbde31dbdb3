r"""Which class a question belongs to, by plain rules over its words: the first that applies wins.

| class | asks for |
| --- | --- |
| lookup | one fact: a number, a date, a name |
| conceptual | a reason, an idea, a comparison |
| relational | who or what stands to whom: owns, depends on, supersedes |
| impact | what else is hit when something changes or fails |
| code | what an identifier, a file, an option or an error code is about |

The rules know English and nothing of any corpus. Every pattern is read in time linear in the
length of the question: how many words may lie between two that belong together is bounded.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sweeper.golden import Route

__all__ = ["CLASSES", "FALLBACK", "RULES", "Rule", "classify"]

CLASSES: tuple[str, ...] = ("lookup", "conceptual", "relational", "impact", "code")
"""Every class that ``classify`` may return."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A question in which ``pattern`` is found belongs to ``query_class``.

    ``name`` is short, distinct and stable; ``description`` is one sentence for those who read why
    a question was routed as it was.
    """

    name: str
    query_class: str
    pattern: re.Pattern[str]
    description: str


def _words(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


def _spelling(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.VERBOSE)


_ASKS = r"(?:what|which|who|whom|whose)\b"
_ASKED = rf"\A(?=(?s:.)*?\b{_ASKS})(?s:.)*?"  # what, which or who stands anywhere in the question
_GAP = r"(?:[^\w.?!\n]++\w++){0,12}?[^\w.?!\n]++"  # up to 12 words of the same sentence
_LATER = r"(?:[^\w?]++\w++){0,16}?[^\w?]++"  # up to 16 words, perhaps of the next sentence
_CLAUSE = r"(?:\A|[.?!:;,\n]|\b(?:and|but|or|so|then)\b)\W{0,8}"
_IF = r"\b(?:if|when|once|without)"
_FAILURE = r"""(?:break|fail|stop|suffer|crash|go\ down|degrade|in\ trouble|at\ risk|stuck)
               (?:s|es|ed|ing)?\b"""
_OUT = r"""(?:down|lost|gone|dead|offline|unavailable|unreachable|broken|missing|full|slow|
           removed|deleted|dropped|renamed|changed|replaced|moved|disabled|stopped|retired|
           switched\ off|turned\ off|shut\ down|taken\ down)\b"""
_FAILS = r"(?:fails?|stops?|breaks?|crash(?:es)?|dies|disappears?|goes\ away|changes?)\b"
_CHANGE = r"""(?:change|rename|remove|delete|drop|replace|move|migrate|upgrade|downgrade|deprecate|
              retire|disable|switch\ off|turn\ off|shut\ down|take\ down)\b"""
_SOMEBODY = r"(?:i|we|you|they|he|she|someone|somebody)"
_VERBS = r"""(?:call|use|own|fix|block|cause|read|write|publish|consume|send|need|change|
             solve|close|introduce|mention|decide|made|make)(?:s|es|d|ed)?\b"""

RULES: tuple[Rule, ...] = (
    Rule(
        "names an impact",
        "impact",
        _words(
            r"""\b(?:blast\ radius|impact(?:s|ed)?|affect(?:s|ed)?|knock-?on|ripple|repercussions?|
                consequences?\ of|downstream)\b"""
        ),
        "The question speaks of an impact, a blast radius, or of what is affected.",
    ),
    Rule(
        "asks what happens",
        "impact",
        _words(r"\bwhat\ (?:else\ |would\ |will\ )?(?:happens?\ (?:to|if|when|once|after)|if)\b"),
        'The question asks "what happens to", "what happens if" or "what if".',
    ),
    Rule(
        "asks what breaks",
        "impact",
        _words(rf"{_ASKED} \b{_FAILURE} {_GAP} (?:after\b|{_IF}\b)"),
        "The question asks what breaks, stops or fails if something else does.",
    ),
    Rule(
        "supposes an outage",
        "impact",
        _words(
            rf"""{_ASKED} {_IF} {_GAP} (?:{_OUT}|{_FAILS})
            | \b(?:is|are|was|were|has|have|went|goes)\ (?:been\ )?{_OUT} {_LATER}
              (?<=[.:;,]\ ){_ASKS}"""
        ),
        "The question supposes that something fails or has changed, and asks what or who.",
    ),
    Rule(
        "plans a change",
        "impact",
        _words(
            rf"""{_ASKED} \b(?:if|when|before|after|once)\ {_SOMEBODY}\ {_CHANGE}
            | \b(?:want|going|plan|like)\ to\ {_CHANGE} {_LATER} {_ASKS}"""
        ),
        "The question names a change that somebody intends, and asks what or whom it meets.",
    ),
    Rule(
        "quotes code",
        "code",
        _spelling(r"`[^`\n]+`"),
        "The question holds text in backticks.",
    ),
    Rule(
        "names an identifier",
        "code",
        _spelling(
            r"""[A-Za-z0-9]_[A-Za-z0-9]               # snake_case, ALL_CAPS
            | \b[a-z][a-z][a-z0-9]*[A-Z]              # camelCase, but not iOS or eBay
            | \b[a-z][a-z0-9]+\.[a-z][a-z0-9]         # dotted.name, file.ext
            | \w\(\)                                  # call()
            | \w::\w"""
        ),
        "The question holds a name as programs write it: snake_case, camelCase, a.dotted.name, "
        "call().",
    ),
    Rule(
        "names a path",
        "code",
        _spelling(
            r"""(?<!\S)(?:~|\.{1,2})?/[A-Za-z0-9_.]                  # /etc/hosts, ./run
            | [A-Za-z0-9_]/[\w.-]+/[A-Za-z_]                          # src/app/main
            | \w\.(?:cfg|csv|go|html|ini|java|js|json|log|md|py|rs|sh|sql|toml|ts|txt|xml|ya?ml)\b
            """
        ),
        "The question holds the path of a file.",
    ),
    Rule(
        "names an option",
        "code",
        _spelling(r"(?<!\S)(?:--[A-Za-z]|-[A-Za-z](?!\w))"),
        "The question holds a flag of a command line, such as -x or --verbose.",
    ),
    Rule(
        "names an error code",
        "code",
        _spelling(
            r"""\b[A-Z]{1,2}-[0-9]{2,3}\b                            # E-42; a ticket id is longer
            | \b[A-Z]{1,5}[0-9]{3,6}\b                               # E1234, ERR404
            | \b0x[0-9a-fA-F]+\b
            | \b(?i:http|error|errno|status|exit)\ (?:(?i:code|status)\ )?\#?[0-9]{1,5}\b
            | \b[A-Z][a-z]\w*(?:Error|Exception|Warning)\b"""
        ),
        "The question holds an error code or the name of an exception; a ticket id is neither.",
    ),
    Rule(
        "asks for a number or date",
        "lookup",
        _words(
            rf"""\bhow\ (?:many|much|long|often|old|far|large|big|high|fast|soon)\b
            | {_CLAUSE} (?:since\ |until\ |by\ )?when
              \ (?:is|are|was|were|do|does|did|will|has|had)\b
            | \b(?:what|which)\ (?:date|day|week|month|year|time|hour|number|price|version)s?\b
            | \bwhat(?:'s|\ is|\ are|\ was|\ were)\ the\ (?:\w+\ )?(?:limit|default|maximum|minimum|
                price|cost|date|deadline|number|size|length|rate|version|value|name|address)\b"""
        ),
        "The question asks how many, how much, how long, when, or what the limit is.",
    ),
    Rule(
        "asks who",
        "relational",
        _words(rf"{_CLAUSE} (?:(?:by|to|with|from|for|of|under)\ )?(?:who|whom|whose)\b"),
        "A clause of the question opens with who, whom or whose.",
    ),
    Rule(
        "asks why or how",
        "conceptual",
        _words(
            r"""\bwhy\b
            | \bhow\ (?:come|is|are|was|were|do|does|did|can|could|should|would|to)\b
            | \b(?:explain|describe)\b"""
        ),
        "The question asks why, how something works or is done, or for an explanation.",
    ),
    Rule(
        "asks for an idea",
        "conceptual",
        _words(
            r"""\b(?:differences?\ between|compared\ (?:to|with)|trade-?\ ?offs?|pros\ and\ cons|
                (?:dis)?advantages?|reasons?|rationale|motivation|purpose|concept|principle|
                idea\ (?:behind|of)|argument\ (?:for|against)|arguments|meant\ by|
                the\ point\ of|in\ favou?r\ of|sp(?:eaks?|oke)\ (?:for|against)|
                (?:better|worse)\ than)\b"""
        ),
        "The question asks for a difference, a trade-off, a reason or an idea.",
    ),
    Rule(
        "names a relation",
        "relational",
        _words(
            r"""\b(?:own(?:s|ed|er|ers)?|depend(?:s|ed)?\ (?:up)?on|dependenc(?:y|ies)|
                rel(?:y|ies|ied)\ (?:up)?on|supersed(?:e|es|ed)|replace[sd]?|
                (?:take|takes|took|taken)\ the\ place\ of|responsible\ for|in\ charge\ of|
                reports?\ to|works?\ with|stands?\ in\ for|caused\ by|assigned\ to|
                (?:approved|built|created|decided|maintained|proposed|written)\ by|
                (?:connected|linked|related)\ to|belongs?\ to|part\ of)\b"""
        ),
        "The question names a relation: owns, depends on, supersedes, works with.",
    ),
    Rule(
        "asks which one acts",
        "relational",
        _words(
            rf"""\bwhich\ (?:\w+\ )?(?:team|service|person|people|system|component|app|ticket|issue|
                release|decision|design|document|customer|partner)s?\b {_GAP} {_VERBS}"""
        ),
        "The question asks which team, service, ticket or release does something to another.",
    ),
    Rule(
        "asks for a judgement",
        "conceptual",
        _words(rf"{_CLAUSE} (?:should|would|could|shall)\b"),
        "A clause of the question opens with should, would or could.",
    ),
)
"""In the order in which they are tried. What nothing here meets goes to ``FALLBACK``."""

FALLBACK: Route = Route("lookup", "nothing else applies")
"""Where a question goes in which no rule finds anything; an empty one too."""


def classify(text: str) -> Route:
    """Return the class of a question and the rule that gave it.

    Defined for every text, and the same whenever it is asked: nothing is learned and nothing is
    counted. The time is linear in the length of the text.

    Parameters
    ----------
    text
        The question as it was typed, in any script. English words are what the rules know.

    Examples
    --------
    >>> classify("Why are codes short?")
    Route(query_class='conceptual', rule='asks why or how')
    >>> classify("What breaks if max_batch is renamed?").query_class
    'impact'
    >>> classify("max_batch").query_class, classify("opening hours").rule
    ('code', 'nothing else applies')
    """
    for rule in RULES:
        if rule.pattern.search(text):
            return Route(rule.query_class, rule.name)
    return FALLBACK
