"""``sweep import``: golden sets and corpora of other tools."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sweeper.cli import console
from sweeper.errors import InputError

__all__ = ["import_app"]

import_app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Turn the golden set of another tool into ours.",
)

DEFAULT_FOLDER = Path("configs/corpora/soat")


def soat(
    golden: Annotated[
        Path, typer.Argument(help="The checkout's golden.json.", metavar="GOLDEN.json")
    ],
    docs: Annotated[
        Path, typer.Option(help="The checkout: sources named in golden.json start here.")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = DEFAULT_FOLDER,
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Import SOAT's knowledge golden set: sections, inline texts and memories with ages.

    For example: sweep import soat ../soat/packages/server/tests/eval/knowledge/golden.json
    --docs ../soat. Then: sweep run configs/soat-halflife.yaml
    """
    from sweeper.formats import import_soat, write_corpus, write_golden

    paths = [out / "corpus.jsonl", out / "golden.jsonl"]
    _refuse_existing(paths, force=force)
    corpus, questions = import_soat(golden, docs)
    write_corpus(paths[0], corpus)
    write_golden(paths[1], questions)
    if json:
        console.print_json(
            "sweep.import/1",
            {"files": paths, "n_entries": len(corpus), "n_queries": len(questions)},
        )
        return
    console.emit(f"{paths[0]}: {len(corpus)} entries")
    console.emit(f"{paths[1]}: {len(questions)} questions in {len(questions.slices)} slices")


def trec(
    qrels: Annotated[Path, typer.Argument(help="TREC or BEIR judgments.", metavar="QRELS")],
    topics: Annotated[
        Path | None,
        typer.Option(
            help="Texts of the questions: tab-separated lines, TREC topics, or JSONL. Without it, "
            "a question's text is its id."
        ),
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(help="Check that it holds every relevant document.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Import qrels as a golden set, to give its questions slices, say.

    A config may also name qrels themselves. For example: sweep import trec qrels.txt
    --topics topics.tsv --out configs/corpora/robust
    """
    from sweeper.formats import read_corpus, write_golden
    from sweeper.formats.judgments import read_judgments

    path = out / "golden.jsonl"
    _refuse_existing([path], force=force)
    keys = None if corpus is None else read_corpus(corpus).keys
    questions = read_judgments(qrels, topics=topics, corpus_keys=keys)
    write_golden(path, questions)
    unanswerable = sum(not query.answerable for query in questions.queries)
    if json:
        console.print_json(
            "sweep.import/1",
            {"files": [path], "n_queries": len(questions), "n_unanswerable": unanswerable},
        )
        return
    console.emit(f"{path}: {len(questions)} questions, {unanswerable} of them unanswerable")


def _refuse_existing(paths: Sequence[Path], *, force: bool) -> None:
    existing = [str(path) for path in paths if path.exists()]
    if existing and not force:
        raise InputError(f"{', '.join(existing)}: already there. Add --force to overwrite.")


import_app.command("soat")(console.with_verbosity(soat))
import_app.command("trec")(console.with_verbosity(trec))
