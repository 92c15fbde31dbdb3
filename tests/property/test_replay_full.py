"""The fast path equals the readable one at full counts: 10,000 random pools."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.property.pools import grids_for, pools, settings_for
from tests.property.test_replay import assert_same_positions

pytestmark = pytest.mark.slow

FULL = settings(max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@FULL
@given(st.data())
def test_replay_of_any_settings_equals_ranking_on_10_000_pools(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    choice = data.draw(settings_for(pool))
    assert_same_positions(pool, golden, [choice])


@FULL
@given(st.data())
def test_replay_of_a_grid_equals_ranking_on_10_000_pools(data: st.DataObject) -> None:
    pool, golden = data.draw(pools())
    assert_same_positions(pool, golden, data.draw(grids_for(pool)))
