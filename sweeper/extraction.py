"""Triples found in pages by plain rules over the sentences of English prose.

The rules know a few verbs and nothing of any corpus. What a triple is stands in ``triples``;
walking triples is in ``graph``.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sweeper.golden import Key
from sweeper.triples import Triple

__all__ = ["EXTRACTION_RULES", "ExtractionRule", "extract"]

_MODAL = r"(?:(?:should|will|must|can|has|have)\s+)?"
_IS = r"(?:(?:has|have)\s+been|is|are|was|were)"
_ANYTHING = re.compile(r".+")
_NAMELIKE = re.compile(r".*[A-Z0-9_].*")
_TICKET = re.compile(r"[A-Z][A-Z0-9]+-[0-9]+\b")


def _verb(pattern: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w-])(?:{pattern})(?![\w-])")


@dataclass(frozen=True, slots=True)
class ExtractionRule:
    """A relation and the two ways in which a sentence says it.

    The words before and after ``active`` are subject and object; around ``passive`` they are object
    and subject. Of the object counts what ``object_form`` matches from its start. With
    ``needs_name``, one of the two has to hold a capital, a digit or an underscore, as names do:
    "demand depends on the season" is no fact about anything. ``description`` is one sentence for
    those who read what the rules do.
    """

    name: str
    predicate: str
    active: re.Pattern[str]
    passive: re.Pattern[str]
    object_form: re.Pattern[str]
    description: str
    needs_name: bool = True


EXTRACTION_RULES: tuple[ExtractionRule, ...] = (
    ExtractionRule(
        "X depends on Y",
        "depends on",
        _verb(rf"{_MODAL}depends?\s+(?:up)?on"),
        _verb(rf"{_IS}\s+(?:needed|required)\s+by"),
        _ANYTHING,
        '"X depends on Y" and "Y is needed by X" say that X depends on Y.',
    ),
    ExtractionRule(
        "X supersedes Y",
        "supersedes",
        _verb(rf"{_MODAL}supersedes?"),
        _verb(rf"{_IS}\s+superseded\s+by"),
        _ANYTHING,
        '"X supersedes Y" and "Y is superseded by X" say that X supersedes Y.',
        needs_name=False,
    ),
    ExtractionRule(
        "X owns Y",
        "owns",
        _verb("owns"),
        _verb(rf"{_IS}\s+owned\s+by"),
        _ANYTHING,
        '"X owns Y" and "Y is owned by X" say that X owns Y.',
    ),
    ExtractionRule(
        "X calls Y",
        "calls",
        _verb("calls"),
        _verb(rf"{_IS}\s+called\s+by"),
        _NAMELIKE,
        '"X calls Y" and "Y is called by X" say that X calls Y, if Y is written like a name.',
    ),
    ExtractionRule(
        "X fixes TICKET",
        "fixes",
        _verb(rf"{_MODAL}fix(?:es|ed)?"),
        _verb(rf"{_IS}\s+fixed\s+(?:by|in|with)"),
        _TICKET,
        '"X fixes ABC-123" and "ABC-123 is fixed by X" say that X fixes this ticket.',
    ),
)
"""All that ``extract`` knows."""


def extract(pages: Mapping[Key, str]) -> list[Triple]:
    """Return the triples that ``EXTRACTION_RULES`` find in the sentences of pages.

    A sentence ends at ``.``, ``!`` or ``?`` before white space, at a blank line or where a list
    item starts. Front matter, headings, tables, fenced code and questions are not read. What is
    denied or supposed gives nothing, nor does a pronoun. These rules miss much and err at times:
    read their triples before you rely on them.

    Parameters
    ----------
    pages
        Key of a page to its text, Markdown or plain.

    Returns
    -------
    list of Triple
        Without repeats, in the order of the pages, then of their sentences, then of the verbs. Each
        ``sentence`` is cut out of its page as it stands there; subject and object have single
        spaces.

    Examples
    --------
    >>> [found] = extract({"q": "- The Quay depends on Mast, which keeps maps."})
    >>> found.subject, found.predicate, found.object, found.sentence
    ('Quay', 'depends on', 'Mast', 'The Quay depends on Mast, which keeps maps.')
    """
    return list(
        dict.fromkeys(
            Triple(subject, predicate, object_, sentence, page)
            for page, text in pages.items()
            for sentence in _sentences(text)
            for subject, predicate, object_ in _facts(sentence)
        )
    )


_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\r?\n(?=[\w-]+:)(?s:.*?)^(?:---|\.\.\.)[ \t]*$", re.MULTILINE
)
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_NO_PROSE = re.compile(r"[ \t]*(?:[#|]|$)")
_ITEM = re.compile(r"[ \t]*(?:[-*+>]|[0-9]{1,9}[.)])[ \t]+")
_END = re.compile(r"(?<![.!?])[.!?]++[\"')\]]*+(?=\s|\Z)")


def _sentences(text: str) -> Iterator[str]:
    for start, end in _blocks(text):
        cuts = [start, *(stop.end() for stop in _END.finditer(text, start, end)), end]
        for a, b in itertools.pairwise(cuts):
            sentence = text[a:b].strip()
            if sentence and not sentence.rstrip("\"')]").endswith("?"):
                yield sentence


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Yield where each paragraph and each list item starts and ends."""
    front = _FRONT_MATTER.match(text)
    at = front.end() if front else 0
    start: int | None = None
    fenced = False
    for line in text[at:].splitlines(keepends=True):
        fence, item = _FENCE.match(line), _ITEM.match(line)
        is_prose = not (fenced or fence or _NO_PROSE.match(line))
        if start is not None and (item or not is_prose):
            yield start, at
            start = None
        if is_prose and start is None:
            start = at + (item.end() if item else 0)
        fenced ^= fence is not None
        at += len(line)
    if start is not None:
        yield start, at


def _facts(sentence: str) -> list[tuple[str, str, str]]:
    found = []
    for rule in EXTRACTION_RULES:
        for pattern in (rule.active, rule.passive):
            for verb in pattern.finditer(sentence):
                ends = _name_before(sentence, verb.start()), _name_after(sentence, verb.end())
                subject, target = ends if pattern is rule.active else ends[::-1]
                object_ = rule.object_form.match(target)
                if not subject or object_ is None:
                    continue
                if not rule.needs_name or _NAMELIKE.match(f"{subject} {object_[0]}"):
                    found.append((verb.start(), (subject, rule.predicate, object_[0])))
    return [fact for _, fact in sorted(found, key=lambda placed: placed[0])]


def _set_of(words: str) -> frozenset[str]:
    return frozenset(words.split())


_DETERMINERS = _set_of("a an the this that these those my your his her its our their")
_JOINING = _set_of("and but because since so then while")
_OTHERS = _set_of(
    """about after against at before between by during for from in into on onto over through to
    under until up via with within without or nor as than if unless whether when whenever where why
    how who whom whose which what whoever whatever it he she they we i you him them us me there here
    is are was were be been being do does did would shall could may might not never longer no
    nobody nothing each every some any all both few many more most several somebody something
    everybody everything anybody anything one also always still only now yet once twice again"""
)
_NOT_IN_NAMES = _DETERMINERS | _JOINING | _OTHERS
_MOST_WORDS = 6
"""Words of the longest name; a longer phrase is none."""

_REACH = 200
"""Characters beside a verb that are searched for a name: six words of thirty and their spaces."""

_QUOTES = "\"'`"
_OPENS = _QUOTES + "(["
_MARKS = _OPENS + ")]{}*.,;:!?"
_BREAKS = re.compile(r"[.,;:!?)\]][\"'`*]*\Z|\A\W+\Z")


def _name_before(sentence: str, end: int) -> str:
    """Return the name that stands before a verb, or nothing."""
    start = max(0, end - _REACH)
    words = sentence[start:end].split()
    if start:
        del words[:1]  # it may be half a word
    name: list[str] = []
    while words and not _BREAKS.search(words[-1]) and _bare(words[-1]) not in _NOT_IN_NAMES:
        name.insert(0, words.pop())
        if name[0][0] in _OPENS:
            break
    before = words.pop() if words else ""
    if _bare(before) in _DETERMINERS:
        before = words.pop() if words else ""
    return "" if _bare(before) in _OTHERS else _as_name(name)


def _name_after(sentence: str, start: int) -> str:
    """Return the name that stands after a verb, or nothing."""
    words = sentence[start : start + _REACH].split()
    if start + _REACH < len(sentence):
        del words[-1:]
    if words and _bare(words[0]) in _DETERMINERS:
        del words[0]
    name: list[str] = []
    for word in words:
        if _bare(word) in _NOT_IN_NAMES or (name and word[0] in _OPENS):
            break
        name.append(word)
        if _BREAKS.search(word) or word[-1] in _QUOTES:
            break
    return _as_name(name)


def _bare(word: str) -> str:
    return word.strip(_MARKS).lower()


def _as_name(words: Sequence[str]) -> str:
    if len(words) > _MOST_WORDS or (words and _bare(words[0]) == "of"):
        return ""
    return " ".join(word for word in (word.strip(_MARKS) for word in words) if word)
