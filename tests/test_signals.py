"""Channels put together from fused answers, against the channels that the answers were made of."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from sweeper.corpus import STORES, Store
from sweeper.engines.signals import Answer, SignalRow, fusion_fault, put_together
from sweeper.pools import LEXICAL, VECTOR
from sweeper.ranking import rank
from sweeper.settings import Settings
from tests.builders import document, found, memory

CHANNELS = (VECTOR, LEXICAL)


class Site:
    """A hybrid search over random channels, which cuts its answers at ``window`` rows."""

    def __init__(self, seed: int, n_items: int, n_matches: int, window: int) -> None:
        draw = random.Random(seed)
        self.window = window
        self.n_asked: list[Store | None] = []
        self.store: dict[str, Store] = {f"i{n}": draw.choice(STORES) for n in range(n_items)}
        self.cosine = {item: draw.choice((0.5, draw.uniform(-1, 1))) for item in self.store}
        self.match = {item: draw.uniform(0, 1) for item in draw.sample(list(self.store), n_matches)}

    def channel(self, name: str, store: Store | None = None) -> list[str]:
        """Return a channel's items, best first; documents come first among equals."""
        values = self.cosine if name == VECTOR else self.match
        items = [item for item in values if store is None or self.store[item] == store]
        return sorted(items, key=lambda item: (-values[item], self.store[item]))

    def ask(self, store: Store | None = None) -> Answer:
        self.n_asked.append(store)
        ranks: dict[str, dict[str, int]] = {}
        for name in CHANNELS:
            for place, item in enumerate(self.channel(name, store), start=1):
                ranks.setdefault(item, {})[name] = place
        score = {item: sum(1 / (1 + r) for r in held.values()) for item, held in ranks.items()}
        best = sorted(ranks, key=lambda item: -score[item])[: self.window]
        rows = [
            SignalRow(i, i, self.store[i], ranks[i], {VECTOR: self.cosine[i]}, score[i])
            for i in best
        ]
        return Answer(rows, self.window, 1)

    def truth(self, depth: int) -> dict[tuple[str, Store], list[str]]:
        return {
            (name, store): self.channel(name, store)[:depth]
            for name in CHANNELS
            for store in STORES
        }


@given(seed=st.integers(0, 10_000), share=st.floats(0, 1), window=st.integers(1, 100))
def test_an_answer_shows_a_quarter_of_its_rows_of_each_channel(
    seed: int, share: float, window: int
) -> None:
    site = Site(seed, 120, int(120 * share), window)
    answer = site.ask()
    for name in CHANNELS:
        # A row that outdoes rank r at k = 1 has a rank of at most 2r + 1 in one of two channels.
        least = min(len(site.channel(name)), (window - 2) // 4)
        assert len(answer.beginning(name)) >= least


@given(
    seed=st.integers(0, 10_000),
    n_items=st.integers(0, 60),
    share=st.floats(0, 1),
    window=st.integers(1, 80),
    depth=st.integers(1, 20),
    scoped=st.booleans(),
)
def test_what_is_called_complete_ranks_as_the_whole_channels_do(
    seed: int, n_items: int, share: float, window: int, depth: int, scoped: bool
) -> None:
    site = Site(seed, n_items, int(n_items * share), window)
    candidates, reason = put_together(
        "q",
        site.ask(),
        channels=CHANNELS,
        valued=(VECTOR,),
        depth=depth,
        ask_store=site.ask if scoped else lambda store: None,
    )
    event("complete" if reason is None else "declared")
    if n_items < window:
        assert reason is None
    if reason is not None:
        return
    shown = {place: [row.item_id for row in rows] for place, rows in candidates.rows.items()}
    assert shown == site.truth(depth)
    merged = sorted(
        (row for store in STORES for row in candidates.rows[LEXICAL, store]),
        key=lambda row: -row.value,
    )
    taken = {row.item_id for row in merged}
    assert [row.item_id for row in merged] == [i for i in site.channel(LEXICAL) if i in taken]


def row(
    item: str, store: Store = "document", score: float | None = None, **ranks: int
) -> SignalRow:
    return SignalRow(item, item, store, ranks, {VECTOR: 0.5}, score)


def test_a_channel_is_known_to_end_where_its_next_row_would_have_been_returned() -> None:
    rows = [row("a", vector=1, lexical=1), row("b", vector=2), row("c", vector=3)]
    answer = Answer(rows, 3, 1)
    assert not answer.is_whole
    assert answer.ends(LEXICAL), "rank 2 scores 1/3, more than the 1/4 of the last row"
    assert not answer.ends(VECTOR), "rank 4 scores 1/5, less than the 1/4 of the last row"


def test_without_a_known_k_only_a_short_answer_shows_where_a_channel_ends() -> None:
    rows = [row("a", vector=1, lexical=1), row("b", vector=2), row("c", vector=3)]
    assert not Answer(rows, 3).ends(LEXICAL)
    assert Answer(rows, 4).ends(LEXICAL)


def test_a_missing_rank_shows_that_a_short_answer_was_cut_all_the_same() -> None:
    rows = [row("a", vector=1), row("b", vector=3)]
    assert not Answer(rows, 10, 1).is_whole


def test_lexical_rows_of_one_store_may_follow_those_that_were_shown() -> None:
    shown = [row("a", "document", lexical=1), row("m", "memory", lexical=2)]
    more = [row("a", "document", lexical=1), row("b", "document", lexical=2)]
    answers: dict[Store, Answer] = {
        "document": Answer(more, 3),
        "memory": Answer([row("m", "memory", lexical=1)], 3),
    }
    candidates, reason = put_together(
        "q", Answer(shown, 2), channels=(LEXICAL,), valued=(), depth=2, ask_store=answers.get
    )
    assert reason is None
    values = {r.item_id: r.value for rows in candidates.rows.values() for r in rows}
    assert values == {"a": -1, "m": -2, "b": -3}


def test_lexical_rows_of_two_stores_cannot_be_merged_by_their_ranks_alone() -> None:
    shown = [row("a", "document", lexical=1)]
    answers: dict[Store, Answer] = {
        "document": Answer([row("a", lexical=1), row("b", lexical=2)], 3),
        "memory": Answer([row("m", "memory", lexical=1)], 3),
    }
    _, reason = put_together(
        "q", Answer(shown, 1), channels=(LEXICAL,), valued=(), depth=2, ask_store=answers.get
    )
    assert reason == "the order of lexical rows between the stores is unknown from rank 2 on"


def test_values_that_merge_otherwise_than_the_ranks_are_declared() -> None:
    rows = [row("m", "memory", vector=1), row("d", "document", vector=2)]
    _, reason = put_together(
        "q",
        Answer(rows, 10),
        channels=(VECTOR,),
        valued=(VECTOR,),
        depth=5,
        ask_store=lambda store: None,
    )
    assert reason is not None
    assert reason.startswith("the vector ranks order equal or unlike values")


def test_a_store_is_asked_only_where_that_can_help() -> None:
    site = Site(1, 30, 10, 100)
    put_together("q", site.ask(), channels=CHANNELS, valued=(VECTOR,), depth=5, ask_store=site.ask)
    assert site.n_asked == [None]


@pytest.mark.parametrize(
    ("rows", "fault"),
    [
        ([row("a", vector=1, score=1 / 2), row("b", vector=2, score=1 / 3)], None),
        ([row("a", vector=1, score=1 / 61)], "row 1 has the score 0.0163934"),
        ([row("a", vector=2), row("b", vector=1)], "row 2 stands below a row that its ranks outdo"),
        ([], None),
    ],
)
def test_an_answer_that_was_not_fused_as_asked_is_found_out(
    rows: Sequence[SignalRow], fault: str | None
) -> None:
    said = fusion_fault(Answer(rows, 10, 1))
    assert (said is None) == (fault is None)
    assert said is None or said.startswith(fault or "")


def test_a_row_that_counts_from_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="ranks are read as starting at 1"):
        Answer([row("a", vector=0)], 10)


def test_minus_the_rank_stands_in_for_a_value_without_changing_the_ranking() -> None:
    settings = Settings(rrf_k=5, limit=5)
    real = found([document("a", 0.9), memory("m", 0.2)], [memory("m", 8.5), document("a", 3.25)])
    ranks = found([document("a", 0.9), memory("m", 0.2)], [memory("m", -1), document("a", -2)])
    assert [r.item_id for r in rank(real, settings)] == [r.item_id for r in rank(ranks, settings)]
