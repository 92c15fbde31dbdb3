"""Choose the ranking settings of a hybrid search by measurement.

Capture what the search retrieves once and replay every setting over it (``run_sweep``; by hand
``Replay``, and ``rank`` is the readable definition), then read what each one costs per slice
(``load`` gives pandas frames, and answers what commands do: ``pick``, ``compare``, ``explain``,
``curve``). A sweep is described by a config (``load_config``); golden sets and
corpora come from files (``read_golden``, ``read_corpus``). Everything that the command ``sweep``
does is here under the same names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sweeper.comparison import Comparison as Comparison
    from sweeper.config import Config as Config
    from sweeper.config import load_config as load_config
    from sweeper.corpus import Chunking as Chunking
    from sweeper.corpus import Corpus as Corpus
    from sweeper.corpus import Entry as Entry
    from sweeper.cost import ranks_lost as ranks_lost
    from sweeper.dry_run import outlook as outlook
    from sweeper.engines import (
        EmbeddedEngine as EmbeddedEngine,
    )
    from sweeper.engines import (
        Engine as Engine,
    )
    from sweeper.engines import (
        open_engine as open_engine,
    )
    from sweeper.errors import SweeperError as SweeperError
    from sweeper.evaluate import Figures as Figures
    from sweeper.explain import Explanation as Explanation
    from sweeper.export import Exported as Exported
    from sweeper.export import export_golden as export_golden
    from sweeper.export import export_qrels as export_qrels
    from sweeper.export import export_run as export_run
    from sweeper.fanout import Fanout as Fanout
    from sweeper.formats import (
        import_soat as import_soat,
    )
    from sweeper.formats import (
        read_corpus as read_corpus,
    )
    from sweeper.formats import (
        read_golden as read_golden,
    )
    from sweeper.formats import (
        read_run as read_run,
    )
    from sweeper.formats import (
        write_corpus as write_corpus,
    )
    from sweeper.formats import (
        write_golden as write_golden,
    )
    from sweeper.golden import GoldenSet as GoldenSet
    from sweeper.golden import Query as Query
    from sweeper.golden import Route as Route
    from sweeper.knobs import KNOBS as KNOBS
    from sweeper.margins import Margins as Margins
    from sweeper.metrics import METRICS as METRICS
    from sweeper.metrics import Metric as Metric
    from sweeper.metrics import parse_metric as parse_metric
    from sweeper.page import html_report as html_report
    from sweeper.page import write_html_report as write_html_report
    from sweeper.picked import Pick as Pick
    from sweeper.poolfile import read_pool as read_pool
    from sweeper.poolfile import write_pool as write_pool
    from sweeper.pools import (
        Candidate as Candidate,
    )
    from sweeper.pools import (
        Pool as Pool,
    )
    from sweeper.pools import (
        QueryCandidates as QueryCandidates,
    )
    from sweeper.ranking import RankedRow as RankedRow
    from sweeper.ranking import rank as rank
    from sweeper.replay import Replay as Replay
    from sweeper.report import write_report as write_report
    from sweeper.results import Results as Results
    from sweeper.results import load as load
    from sweeper.routing import classify as classify
    from sweeper.runs import Judgments as Judgments
    from sweeper.runs import Positions as Positions
    from sweeper.runs import Run as Run
    from sweeper.settings import Settings as Settings
    from sweeper.spaces import SearchSpace as SearchSpace
    from sweeper.staircase import Curve as Curve
    from sweeper.sweep import Summary as Summary
    from sweeper.sweep import run_sweep as run_sweep
    from sweeper.verify import Verification as Verification
    from sweeper.verify import verify_sweep as verify_sweep

# Modules are imported when one of their names is first used, so that `import sweeper` costs little.
_HOME = {
    # nouns
    "GoldenSet": "golden",
    "Query": "golden",
    "Route": "golden",
    "Corpus": "corpus",
    "Entry": "corpus",
    "Chunking": "corpus",
    "Pool": "pools",
    "Candidate": "pools",
    "QueryCandidates": "pools",
    "Run": "runs",
    "Judgments": "runs",
    "Positions": "runs",
    "Settings": "settings",
    "SearchSpace": "spaces",
    "KNOBS": "knobs",
    "SweeperError": "errors",
    # arithmetic
    "rank": "ranking",
    "classify": "routing",
    "RankedRow": "ranking",
    "Replay": "replay",
    "Metric": "metrics",
    "METRICS": "metrics",
    "parse_metric": "metrics",
    "Figures": "evaluate",
    "ranks_lost": "cost",
    # files
    "read_golden": "formats",
    "write_golden": "formats",
    "read_corpus": "formats",
    "write_corpus": "formats",
    "import_soat": "formats",
    "read_run": "formats",
    "read_pool": "poolfile",
    "write_pool": "poolfile",
    "Config": "config",
    "load_config": "config",
    # work
    "Engine": "engines",
    "EmbeddedEngine": "engines",
    "open_engine": "engines",
    "run_sweep": "sweep",
    "Fanout": "fanout",
    "outlook": "dry_run",
    "Summary": "sweep",
    "Results": "results",
    "load": "results",
    "Pick": "picked",
    "Comparison": "comparison",
    "Explanation": "explain",
    "Curve": "staircase",
    "Margins": "margins",
    "write_report": "report",
    "html_report": "page",
    "write_html_report": "page",
    "Exported": "export",
    "export_run": "export",
    "export_qrels": "export",
    "export_golden": "export",
    "Verification": "verify",
    "verify_sweep": "verify",
}

__all__ = sorted(_HOME)


if not TYPE_CHECKING:  # a type checker would take any name for granted

    def __getattr__(name: str) -> Any:
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
