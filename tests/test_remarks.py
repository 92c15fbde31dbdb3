"""What a sweep says of its inputs: classes and users that nothing else names."""

from __future__ import annotations

from pathlib import Path

from sweeper.config import load_config
from sweeper.sweep import run_sweep
from tests.projects import CONFIG, ENTRIES, QUESTIONS, write_project


def notes(folder: Path, extra: str, *, classes: dict[str, str], users: dict[str, str]) -> list[str]:
    """Return the notes of a sweep whose questions have some classes and users."""
    rows = [
        {**row, "class": classes.get(row["id"], "lookup"), "user": users.get(row["id"])}
        for row in QUESTIONS
    ]
    entries = [
        {**row, **({"principals": ["ada", "board"]} if row["id"] == "doc-boat" else {})}
        for row in ENTRIES
    ]
    config = CONFIG.replace("space:", f"{extra}space:")
    path = write_project(folder, config, entries=entries, questions=rows)
    return list(run_sweep(load_config(path), root=folder / "results").notes)


ARM = "classes: golden\narms: {a: {routing.lookup.budget: 2, routing.impact.budget: 3}}\n"


def test_a_class_that_no_knob_names_is_told_where_others_are_named(tmp_path: Path) -> None:
    classes = {"q1": "imapct", "q2": "imapct", "q3": "impact", "q4": "zzz"}
    found = notes(tmp_path, ARM, classes=classes, users={})
    assert [note for note in found if note.startswith("class ")] == [
        'class imapct (2 questions) has no budget or weights of its own. Did you mean "impact"?',
        "class zzz (1 question) has no budget or weights of its own.",
    ]


def test_classes_are_not_told_where_no_knob_names_any(tmp_path: Path) -> None:
    found = notes(tmp_path, "classes: golden\n", classes={"q1": "imapct"}, users={})
    assert not [note for note in found if note.startswith("class ")]


def test_a_user_whom_no_principals_name_is_told(tmp_path: Path) -> None:
    found = notes(tmp_path, "", classes={}, users={"q1": "ada", "q2": "bo", "q3": "bo"})
    assert [note for note in found if "principals" in note] == [
        "no principals name the user bo (2 questions), who sees what is public alone."
    ]
