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
    from sweeper.config import Config as Config, load_config as load_config
    from sweeper.corpus import Chunking as Chunking, Corpus as Corpus, Entry as Entry
    from sweeper.cost import ranks_lost as ranks_lost
    from sweeper.engines import (
        EmbeddedEngine as EmbeddedEngine,
        Engine as Engine,
        open_engine as open_engine,
    )
    from sweeper.errors import SweeperError as SweeperError
    from sweeper.evaluate import Figures as Figures
    from sweeper.formats import (
        import_soat as import_soat,
        read_corpus as read_corpus,
        read_golden as read_golden,
        write_corpus as write_corpus,
        write_golden as write_golden,
    )
    from sweeper.golden import GoldenSet as GoldenSet, Query as Query
    from sweeper.knobs import KNOBS as KNOBS, SearchSpace as SearchSpace, Settings as Settings
    from sweeper.metrics import METRICS as METRICS, Metric as Metric, parse_metric as parse_metric
    from sweeper.poolfile import read_pool as read_pool, write_pool as write_pool
    from sweeper.pools import (
        Candidate as Candidate,
        Pool as Pool,
        QueryCandidates as QueryCandidates,
    )
    from sweeper.ranking import RankedRow as RankedRow, rank as rank
    from sweeper.replay import Replay as Replay
    from sweeper.report import write_report as write_report
    from sweeper.results import Results as Results, load as load
    from sweeper.runs import Judgments as Judgments, Positions as Positions, Run as Run
    from sweeper.sweep import Summary as Summary, plan_of as plan_of, run_sweep as run_sweep

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
