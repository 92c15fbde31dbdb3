"""What the arrays of a pool say beside what ``ranking`` says of each row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sweeper.golden import GoldenSet
from sweeper.ranking import decay_factor
from sweeper.replay import Replay
from tests.builders import found, memory, pool_of, query
from tests.property.pools import HALF_LIVES


@given(
    st.lists(st.floats(0, 1e300), max_size=20),
    st.lists(HALF_LIVES | st.floats(0, 1e300), max_size=5),
)
def test_factors_are_those_of_ranking_to_the_last_bit(
    ages: list[float], half_lives: list[float]
) -> None:
    rows = [memory(f"m{number}", 0.5, age) for number, age in enumerate(ages)]
    pool = pool_of(found(vector=rows), depth=max(1, len(rows)))
    layout = Replay(pool, GoldenSet((query(["m0"], pool.query_ids[0]),))).layout(pool.depth)
    expected = [[decay_factor(age, h) for age in layout.ages.tolist()] for h in half_lives]
    wanted = np.array(expected).reshape(len(half_lives), len(layout.ages))
    assert layout.factors(half_lives).tobytes() == wanted.tobytes()


def test_an_age_of_so_many_half_lives_that_their_number_overflows_leaves_nothing() -> None:
    pool = pool_of(found(vector=[memory("m", 0.5, 1e300)], query_id="1"))
    layout = Replay(pool, GoldenSet((query(["m"], "1"),))).layout(1)
    assert layout.factors([1e-300, 0.0]).tolist() == [[1.0, 0.0], [1.0, 1.0]]
