"""``sweep check``: validate a config, a golden set or a corpus without running anything."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sweeper.cli import console
from sweeper.cli.options import ResultsFolder
from sweeper.cli.run import reporting
from sweeper.errors import InputError

if TYPE_CHECKING:
    from sweeper.audit import Finding

__all__ = ["check"]


class Kind(enum.StrEnum):
    """What a file is."""

    config = "config"
    golden = "golden"
    corpus = "corpus"


def check(
    file: Annotated[Path, typer.Argument(help="A config, a golden set, or a corpus (or folder).")],
    kind: Annotated[
        Kind | None, typer.Option("--as", help="What the file is, where that is not plain.")
    ] = None,
    overrides: Annotated[
        list[str] | None,
        typer.Option("--set", help="Change a key of the config.", metavar="KEY=VALUE"),
    ] = None,
    results: ResultsFolder = Path("results"),
    capture: Annotated[
        bool, typer.Option("--capture", help="Ask a live engine for the candidates, too.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Validate a file and warn of what it cannot show.

    With a config, the golden set and the corpus are read, the candidates are captured (kept for the
    sweep), and no trial runs. For example: sweep check configs/recency.yaml
    """
    from sweeper.audit import counted

    kind = kind or _kind_of(file)
    if overrides and kind is not Kind.config:
        raise InputError("--set goes with a config.")
    if kind is Kind.config:
        facts, findings = _check_config(file, overrides or [], results, capture)
    elif kind is Kind.golden:
        facts, findings = _check_golden(file)
    else:
        facts, findings = _check_corpus(file)
    if json:
        warnings = [{"text": str(item), "query_ids": item.query_ids} for item in findings]
        console.print_json("sweep.check/1", {"kind": kind, "facts": facts, "warnings": warnings})
        return
    console.print_table((console.Column("what"), console.Column("value", "right")), facts.items())
    for item in findings:
        console.emit(f"warning: {item}")
    name = "golden set" if kind is Kind.golden else kind.value
    warned = f", {counted(len(findings), 'warning')}" if findings else ""
    console.emit(f"{file}: valid {name}{warned}")


def _kind_of(file: Path) -> Kind:
    """Tell a config, a golden set and a corpus apart by their content."""
    if file.is_dir():
        return Kind.corpus
    from sweeper.formats import kind_of_file

    return Kind(kind_of_file(file))


def _check_config(
    file: Path, overrides: list[str], root: Path, capture: bool
) -> tuple[dict[str, object], list[Finding]]:
    from sweeper.audit import (
        Finding,
        age_factors,
        audit_golden,
        audit_knobs,
        audit_pool,
        audit_settings,
    )
    from sweeper.config import load_config
    from sweeper.golden import GoldenSet
    from sweeper.opening import open_sweep
    from sweeper.replay import Replay
    from sweeper.sweep import address_of, planned

    config = load_config(file, overrides)
    with reporting() as progress, open_sweep(config, root=root) as opened:
        trials = planned(config, opened.engine.channels).trials
        golden, entries = opened.inputs.golden, opened.inputs.corpus
        pool = None
        owner = address_of(opened)
        kept = opened.pool_path(owner=owner).exists()
        if not opened.black_box and (kept or capture or opened.today.shared):
            pool, _ = opened.pool(owner=owner, progress=progress)
        elif not opened.black_box:
            console.note("a live engine is asked for candidates only with --capture.")
    settings = [trial.settings for trial in trials]
    facts: dict[str, object] = {
        "settings": len(trials),
        **({"settings to propose": config.file.sampler.n_trials} if config.adaptive else {}),
        "questions": len(golden),
        "slices": len(golden.slices),
        **({} if entries is None else {"entries": len(entries)}),
    }
    classes = {query.query_class for query in golden.queries}
    fewest = min(item.limit_of(name) for item in settings for name in classes)
    findings = [Finding(note) for note in opened.inputs.usage.notes]
    findings += audit_golden(golden, config.metrics, fewest)  # budgets are limits too
    if pool is None:
        return facts, findings
    facts["captured rows"] = pool.n_rows
    live = set(pool.provenance.get("live_questions", ()))
    if live:  # what is not all there says nothing
        facts["questions not all shown"] = len(live)
        golden = GoldenSet(tuple(q for q in golden.queries if q.query_id not in live))
    findings += audit_pool(pool, golden)
    choices = {name: config.space.values(name) for name in config.space.knobs}
    findings += audit_knobs(pool, choices, config.current)
    own = [item for item in settings if item.capture == config.current.capture]
    findings += audit_settings(Replay(pool, golden), own, findings)
    return {**facts, **age_factors(pool, own)}, findings


def _check_golden(file: Path) -> tuple[dict[str, object], list[Finding]]:
    from sweeper.audit import audit_golden
    from sweeper.formats import read_golden

    golden = read_golden(file)
    facts: dict[str, object] = {"questions": len(golden)}
    for name in golden.slices:
        facts[f"slice {name}"] = sum(query.slice == name for query in golden.queries)
    facts["unanswerable"] = sum(not query.answerable for query in golden.queries)
    return facts, audit_golden(golden, (), 10)


def _check_corpus(file: Path) -> tuple[dict[str, object], list[Finding]]:
    from sweeper.audit import Finding
    from sweeper.corpus import parse_instant
    from sweeper.formats import read_corpus

    corpus = read_corpus(file)
    dates = [entry.updated_at for entry in corpus.entries if entry.store == "memory"]
    wrong = [date for date in dates if date and date.strip() and parse_instant(date) is None]
    findings = []
    if wrong:
        many = "1 memory has" if len(wrong) == 1 else f"{len(wrong)} memories have"
        findings.append(
            Finding(
                f"{many} an updated_at that is no date, like {wrong[0]!r}, and so no age. "
                "Write 2026-12-31, or a Unix time."
            )
        )
    stores = [entry.store for entry in corpus.entries]
    restricted = {} if not corpus.restricted else {"not public": len(corpus.restricted)}
    return {
        "documents": stores.count("document"),
        "memories": stores.count("memory"),
        **restricted,
        "longest text": max(len(entry.text) for entry in corpus.entries),
    }, findings
