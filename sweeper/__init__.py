"""Choose the ranking settings of a hybrid search by measurement.

Capture what the search retrieves once and replay every setting over it (``run_sweep``; by hand
``Replay``, and ``rank`` is the readable definition), then read what each one costs per slice
(``load`` gives pandas frames). A sweep is described by a config (``load_config``); golden sets and
corpora come from files (``read_golden``, ``read_corpus``). Everything that the command ``sweep``
does is here under the same names.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sweeper.config import Config, load_config
    from sweeper.corpus import Chunking, Corpus, Entry
    from sweeper.cost import ranks_lost
    from sweeper.engines import EmbeddedEngine, Engine, open_engine
    from sweeper.errors import SweeperError
    from sweeper.evaluate import Figures
    from sweeper.formats import import_soat, read_corpus, read_golden, write_corpus, write_golden
    from sweeper.golden import GoldenSet, Query
    from sweeper.knobs import KNOBS, SearchSpace, Settings
    from sweeper.metrics import METRICS, Metric, parse_metric
    from sweeper.poolfile import read_pool, write_pool
    from sweeper.pools import Candidate, Pool, QueryCandidates
    from sweeper.ranking import RankedRow, rank
    from sweeper.replay import Replay
    from sweeper.report import write_report
    from sweeper.results import Results, load
    from sweeper.runs import Judgments, Positions, Run
    from sweeper.sweep import Summary, plan_of, run_sweep

# Modules are imported when one of their names is first used, so that `import sweeper` costs little.
_HOME = {
    # nouns
    "GoldenSet": "golden",
    "Query": "golden",
    "Corpus": "corpus",
    "Entry": "corpus",
    "Chunking": "corpus",
    "Pool": "pools",
    "Candidate": "pools",
    "QueryCandidates": "pools",
    "Run": "runs",
    "Judgments": "runs",
    "Positions": "runs",
    "Settings": "knobs",
    "SearchSpace": "knobs",
    "KNOBS": "knobs",
    "SweeperError": "errors",
    # arithmetic
    "rank": "ranking",
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
    "read_pool": "poolfile",
    "write_pool": "poolfile",
    "Config": "config",
    "load_config": "config",
    # work
    "Engine": "engines",
    "EmbeddedEngine": "engines",
    "open_engine": "engines",
    "run_sweep": "sweep",
    "plan_of": "sweep",
    "Summary": "sweep",
    "Results": "results",
    "load": "results",
    "write_report": "report",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return __all__
