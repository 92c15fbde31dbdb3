"""Coverage, level, power and honesty at full counts: within bounds, and as docs/methods.md says.

Seeded, so a bound is met or it is not; how the figures are made is in ``tests/benchmarks``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.benchmarks import calibration
from tests.benchmarks.calibration import FULL

pytestmark = pytest.mark.slow

METHODS = (Path(__file__).resolve().parents[2] / "docs/methods.md").read_text("utf-8")


def documented(table: str, *start: str) -> list[float]:
    """Return the numbers of a row: the table by its header, the row by its first cells."""
    [body] = re.findall(rf"^\| {re.escape(table)}.*\n\|[-:| ]*\n((?:\|.*\n)+)", METHODS, re.M)
    [line] = re.findall(rf"^\| {re.escape(' | '.join(start))} \| (.*) \|$", body, re.M)
    return [float(cell) for cell in line.split(" | ")]


SHAPES = ("exact_name", "entity", "semantic", "freshness", "overall", "a difference")


@pytest.mark.parametrize("n", [8, 15, 60, 300])
def test_the_exact_interval_covers_at_least_95_percent_whatever_the_share(n: int) -> None:
    least, mean = calibration.binomial_coverage(n)
    assert 0.95 <= least <= mean < 0.99
    stated = documented("questions | least coverage", str(n))
    assert [least, mean] == pytest.approx(stated, abs=0.001)


@pytest.mark.parametrize("n", [60, 120])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bootstrap_covers_93_to_97_percent_from_60_questions_on(shape: str, n: int) -> None:
    covered = calibration.bca_coverage(calibration.shapes()[shape], n, FULL.coverage)
    assert 0.93 <= covered <= 0.97
    stated = documented("values | n = 20", shape)[(20, 60, 120).index(n)]
    assert covered == pytest.approx(stated, abs=0.01)


@pytest.mark.parametrize("n", [5, 10, 19])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_bounded_mean_covers_at_least_95_percent_of_few_questions(shape: str, n: int) -> None:
    covered = calibration.bounded_coverage(calibration.shapes()[shape], n, FULL.coverage)
    assert covered >= 0.95
    stated = documented("values | n = 5", shape)[(5, 10, 19).index(n)]
    assert covered == pytest.approx(stated, abs=0.01)


@pytest.mark.parametrize("address", ["freshness.mrr", "entity.recall@10", "overall.mrr"])
def test_without_a_true_gain_the_supported_pick_seldom_leaves_todays_setting(address: str) -> None:
    left = calibration.null_sweeps(address, FULL.sweeps)
    assert 0 < left.supported <= 0.065
    assert left.guarded <= left.supported
    measured = [left.supported, left.guarded, left.dominant, left.either]
    assert measured == pytest.approx(documented("first objective", address), abs=0.01)


def test_dominance_by_luck_is_common_with_few_questions_and_rare_with_many() -> None:
    shares = [calibration.small_dominance(n, FULL.sweeps) for n in (5, 20, 40)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.2 > shares[2]
    stated = [documented("questions | dominant", str(n))[0] for n in (5, 20, 40)]
    assert shares == pytest.approx(stated, abs=0.02)


def test_a_true_gain_is_found_more_often_than_another_setting_is_picked() -> None:
    found, another = calibration.power(60, 0.1, agree=0.9, settings=12, repetitions=FULL.sweeps)
    assert found > 5 * another
    more, _ = calibration.power(120, 0.1, agree=0.9, settings=12, repetitions=FULL.sweeps)
    assert more > found
    stated = [documented("questions | settings", str(n), "12", "90%")[0] for n in (60, 120)]
    assert [found, more] == pytest.approx(stated, abs=0.02)


@pytest.mark.parametrize("real", [0.0, 0.5, 1.0])
def test_the_cross_validated_figure_is_honest_where_the_in_sample_one_is_not(real: float) -> None:
    error = calibration.estimates(60, real, FULL.estimates)
    assert abs(error.cross_validated) < 3 * error.standard_error + 0.01
    assert error.in_sample > 0.02
    assert abs(error.cross_validated) < error.in_sample
    stated = documented("questions with a true difference", f"{real:.0%}")
    assert [error.in_sample, error.cross_validated] == pytest.approx(stated[:2], abs=0.005)
