"""Many questions to one search, several at once, until one of them fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from sweeper.errors import SweeperError
from sweeper.golden import ItemId, Query
from sweeper.settings import Settings

__all__ = ["ask"]


def ask(
    search: Callable[[Query, Settings], Sequence[ItemId]],
    settings: Settings,
    questions: Sequence[Query],
    *,
    n_threads: int,
) -> Iterator[tuple[Query, tuple[ItemId, ...] | SweeperError]]:
    """Yield each question with its answer, in their order; a failure is the last.

    Parameters
    ----------
    search
        Returns the ids of the rows, best first.
    settings
        The same for all.
    questions
        Those that wait when one fails are not asked any more.
    n_threads
        How many are asked at once, at least 1.
    """
    from joblib import Parallel, delayed

    failed = False

    def one(query: Query) -> tuple[ItemId, ...] | SweeperError:
        nonlocal failed
        try:
            return tuple(search(query, settings))
        except SweeperError as error:
            failed = True
            return error

    def feed() -> Iterator[Query]:
        for query in questions:
            if failed:
                return
            yield query

    failure: tuple[Query, SweeperError] | None = None
    answers = Parallel(
        n_jobs=max(1, min(n_threads, len(questions))),
        backend="threading",
        return_as="generator",
    )(delayed(one)(query) for query in feed())
    for answer, query in zip(answers, questions, strict=False):
        if failure is not None:
            continue  # joblib warns of a generator that is not exhausted
        if isinstance(answer, SweeperError):
            failure = (query, answer)
        else:
            yield query, answer
    if failure is not None:
        yield failure
