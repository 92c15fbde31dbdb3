"""What pages say of a file's format: a table of its fields, made of the readers' own, and a row."""

from __future__ import annotations

import json
from collections.abc import Sequence

from sweeper.formats.spellings import Field
from sweeper.formats.triples import TRIPLE_FIELDS
from sweeper.formats.usage import USAGE_FIELDS
from tests.markdown import table

__all__ = ["spellings", "triple_format", "usage_format"]

_SHOWN = 8
_REQUIRED = {
    "text": "yes, or a `source`",
    "expected": "yes, or `grades` by id",
    "source": "a file, instead of `text`",
    "section": "its heading to cut out",
}


def spellings(fields: Sequence[Field]) -> str:
    """Return a table of fields: the names that are understood, and which are required."""
    rows = []
    for field in fields:
        names = [f"`{name}`" for name in field.spellings[:_SHOWN]]
        names += ["..."] if len(field.spellings) > _SHOWN else []
        names += [f"(`{name}`)" for name in field.weak]
        required = "yes" if field.required else ""
        rows.append((f"`{field.name}`", " ".join(names), _REQUIRED.get(field.name, required)))
    return table(("noun", "names that are understood", "required"), rows)


_INTERACTION = {
    "question": "Who looks after Heron?",
    "offered": ["heron", "latch"],
    "cited": ["heron"],
    "time": "2026-10-03T09:12:00Z",
}
_FACT = {
    "subject": "Heron",
    "predicate": "depends on",
    "object": "Latch",
    "sentence": "Heron depends on Latch.",
    "page": "latch",
}

_USAGE = """
A log is JSON lines, or JSON: a list of rows, bare or under `interactions`. A row is one question as
somebody asked it:

```json
{row}
```

{fields}
`offered` are the keys of the pages that were shown, the first position first; `cited` are those of
them that the reader used. Both are lists, `[]` for none. `time` is ISO 8601 (a naive time is UTC)
or a Unix time. Rows may stand in any order, and an empty file is a log in which nobody has asked
yet. A name in parentheses counts only in a file that uses none of the others. Where fields have
other names, `fields` says so:
`usage: {{clicks: {{path: clicks.jsonl, fields: {{cited: clicked}}}}}}`.

A log may not hold a question of the golden set. Pages that the corpus does not hold are named by
`sweep run`, and it is an error if the corpus holds none of them.
"""

_TRIPLES = """
Triples are JSON (a list of rows, bare or under `triples`), JSON lines, YAML, CSV or TSV; the
extension tells which. A row is one fact:

```json
{row}
```

{fields}
`page` is the key of a page of the corpus, and `sentence` has to stand on it, word for word. A fact
counts once per page, in whatever sentences: subject, predicate and object are compared without
case, and the first sentence is the one that is quoted.
"""


def usage_format() -> str:
    """Return what a page says of files of usage logs."""
    text = _USAGE.format(row=json.dumps(_INTERACTION), fields=spellings(USAGE_FIELDS))
    return text.lstrip("\n")


def triple_format() -> str:
    """Return what a page says of files of triples."""
    text = _TRIPLES.format(row=json.dumps(_FACT), fields=spellings(TRIPLE_FIELDS))
    return text.lstrip("\n")
